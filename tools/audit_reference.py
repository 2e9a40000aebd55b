"""Compares `jeton.audit` with a simple implementation of BPE by ranks, on every id of a rank file.

    python tools/audit_reference.py o200k_base.tiktoken o200k
    python tools/audit_reference.py llama3.tiktoken llama3

The reference has its own reader, splits with the package `regex`, and merges with a loop over pairs. The checks are:

- for each id that the audit reports as reached: the reference encodes the audit's example text with that id;
- for each id that the audit reports as unreachable: the token's bytes are made into texts, by appending bytes to the
  last character if it is incomplete. Between any two of `CONTEXTS`, none of these texts is encoded with the id. If no
  text can be made, no code point has UTF-8 that contains the token's bytes;
- for each id whose bytes are whole characters: audit and reference agree on whether the token's text alone is encoded
  as that id.

Needs the packages regex and numpy.
"""

from __future__ import annotations

import argparse
import base64
import sys
import time
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import regex

import jeton
from jeton import _core
from jeton.analysis.auditing.entries import FATES, REACHED, SPELLING, Entries

CONTEXTS = ("", " ", "a", "A", "1", "\n", ".", "'", "天", "é", "я", "ض", "۲", "क")


class Reference:
    """BPE by ranks, as tiktoken defines it."""

    def __init__(self, path: Path, pattern: str) -> None:
        lines = path.read_bytes().split(b"\n")
        self.ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines if line)}
        self.pattern = regex.compile(pattern)

    def encode(self, text: str) -> list[int]:
        """Returns the ids of a text."""
        ids = []
        for match in self.pattern.finditer(text):
            piece = match.group().encode()
            ids += [self.ranks[piece]] if piece in self.ranks else self.merged(piece)
        return ids

    def merged(self, piece: bytes) -> list[int]:
        """Returns the ids of a piece that is not an entry; merges the pair of lowest rank until no pair has a rank."""
        parts = [piece[at : at + 1] for at in range(len(piece))]
        while len(parts) > 1:
            ranks = [self.ranks.get(a + b, sys.maxsize) for a, b in pairwise(parts)]
            lowest = min(ranks)
            if lowest == sys.maxsize:
                break
            at = ranks.index(lowest)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        return [self.ranks[part] for part in parts]


def completions(token: bytes) -> list[str]:
    """Returns the texts that begin with the token's bytes and end with the token's last character.

    A token of whole characters gives one text. If the last character is incomplete, there is one text for each way to
    complete this character with one or two bytes.
    """
    found = []
    for size in range(4):
        for rest in product(range(0x80, 0xC0), repeat=size) if size < 3 else ():
            try:
                found.append((token + bytes(rest)).decode())
            except UnicodeDecodeError:
                continue
    return found


def unreached(reference: Reference, token: bytes, id: int, every: bytes) -> bool:
    """Returns true if none of the tried texts is encoded with the id."""
    texts = completions(token)
    if not texts:
        return token not in every
    return not any(
        id in reference.encode(left + text + right) for text in texts for left in CONTEXTS for right in CONTEXTS
    )


def main() -> None:
    """Compares all ids; exits with 1 if there are differences."""
    parser = argparse.ArgumentParser(description="Compare jeton.audit with a plain implementation.")
    parser.add_argument("file", type=Path)
    parser.add_argument("pattern")
    arguments = parser.parse_args()
    tok = jeton.load(arguments.file, pattern=arguments.pattern)
    start = time.process_time()
    found = Entries(tok, 1_000_000)
    seconds = time.process_time() - start
    reference = Reference(arguments.file, _core.pattern_text(arguments.pattern) or arguments.pattern)
    # The spaces make sure that the bytes of a token are found only if they are inside of one code point.
    every = b" ".join(chr(code).encode() for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    wrong, counts = [], np.zeros(len(FATES), np.int64)
    for token, id in sorted(reference.ranks.items(), key=lambda entry: entry[1]):
        fate = int(found.fates[id])
        counts[fate] += 1
        if fate == REACHED:
            text = found.reach.text(id)
            if text is None or id not in reference.encode(text.decode()):
                wrong.append((id, token, "its text does not have it"))
        elif fate >= SPELLING and not unreached(reference, token, id, every):
            wrong.append((id, token, "a text has it"))
        try:
            alone = reference.encode(token.decode()) == [id]
        except UnicodeDecodeError:
            continue
        if alone != bool(found.is_alone[id]):
            wrong.append((id, token, f"alone: {alone}"))
    said = ", ".join(f"{name} {count:,}" for name, count in zip(FATES, counts.tolist(), strict=True) if count)
    print(f"{arguments.file.name}: {said}; {len(wrong)} differences; audit {seconds:.2f} s of processor time")
    for each in wrong[:20]:
        print(*each)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
