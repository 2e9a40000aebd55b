"""Human-readable vocabulary dump: one entry per line, with the merge that creates it. Write-only.

Tab-separated columns: id, kind, bytes in hexadecimal, token as a Python literal, and for a merged token its two parts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..drawing import quoted
from ..tokenizer import Tokenizer
from ..tokens.kinds import (
    ADDED,
    BYTE,
    ENDS_WORD,
    SPECIAL,
    TOKEN,
    UNREACHABLE,
    UNUSED,
)
from ..tokens.spelling import Spelling
from ..util.atomic import write_atomically

__all__ = ["lines", "write"]

_KINDS = {
    TOKEN: "token",
    ENDS_WORD: "token",
    ADDED: "added",
    SPECIAL: "special",
    UNUSED: "unused",
    BYTE: "byte",
    UNREACHABLE: "unreachable",
}


def lines(tok: Tokenizer) -> Iterator[str]:
    """Yields the lines of the dump, without line ends.

    Examples:
        >>> tok = Tokenizer.from_merges({97: b"a", 256: b"aa"}, [(97, 97, 256)])
        >>> for line in lines(tok):
        ...     print(line.replace("\\t", "  "))
        # id  kind  hex  token  left+right
        97  token  61  'a'
        256  token  6161  'aa'  97+97 'a'+'a'
    """
    yield "# id\tkind\thex\ttoken\tleft+right"
    made = {new: (left, right) for left, right, new in tok.merges}
    spelling = Spelling(tok)
    for id in tok._core.ids():
        spelled = spelling(id)
        columns = [str(id), _KINDS[tok._core.kind(id)], spelled.hex(), quoted(spelled)]
        if id in made:
            left, right = made[id]
            columns.append(f"{left}+{right} {quoted(spelling(left))}+{quoted(spelling(right))}")
        yield "\t".join(columns)


def write(tok: Tokenizer, path: str | os.PathLike[str]) -> None:
    """Writes the dump, atomically."""
    with write_atomically(path, streams=True) as file:
        for line in lines(tok):
            file.write((line + "\n").encode())
