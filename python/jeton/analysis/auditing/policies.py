"""Policies for digits and white space, derived from encodings of probe texts and from the entries of the vocabulary."""

from __future__ import annotations

import numpy as np

from ...errors import JetonError
from ...tokenizer import Tokenizer
from ...util.messages import translate
from .entries import DIGITS, LEADING_SPACE, NEWLINE, TAB, WHITE, Entries
from .finding import Example, Finding

__all__ = ["rules"]

DIGIT_PROBE = "123456789012345678901234567890"
SPACE_PROBES = {
    "two spaces": "a  b",
    "eight spaces": "a        b",
    "line feed": "a\nb",
    "two line feeds": "a\n\nb",
    "CRLF": "a\r\nb",
    "tab": "a\tb",
    "indented line": "a\n    b",
    "space at the end": "a ",
}


def rules(found: Entries, most: int) -> dict[str, Finding | None]:
    """Returns the findings for digits and white space, by name. Both describe the tokenizer, so neither is None."""
    return {"digits": _digits(found), "white-space": _white_space(found, most)}


def _tokens(tok: Tokenizer, text: str) -> list[bytes] | None:
    """Returns the bytes of each token of a text; None if the tokenizer cannot encode it."""
    try:
        return [tok.id_to_bytes(id) for id in tok.encode(text, special="none")]
    except JetonError:
        return None


def _digits(found: Entries) -> Finding:
    is_digits = (found.shapes & DIGITS) != 0
    lengths, counts = np.unique(found.num_chars[is_digits], return_counts=True)
    by_length = {int(length): int(count) for length, count in zip(lengths, counts, strict=True)}
    tokens = _tokens(found.tok, DIGIT_PROBE)
    groups = [len(token.strip()) for token in tokens or [] if token.strip().isdigit()]
    longest = max([*by_length, *groups], default=0)
    is_cut = sum(groups) != len(DIGIT_PROBE)
    if tokens is None or is_cut:
        policy, severity = translate("not every digit is an entry"), "warning"
    elif longest == 1:
        policy, severity = translate("one digit per token"), "note"
    elif longest <= 3 and by_length.get(longest) == 10**longest:
        policy = translate(
            "up to {size} digits per token, and all {groups} groups of {size} are entries",
            size=longest,
            groups=f"{10**longest:,}",
        )
        severity = "note"
    else:
        sizes = [size for size in range(2, min(longest, 4) + 1) if size in by_length]
        policy = translate("; ").join([_by_frequency(longest), *(_groups(by_length, size) for size in sizes)])
        severity = "warning"
    remedy = ""
    if severity == "warning":
        remedy = translate(
            "Numbers of equal length are split in different ways, which makes arithmetic harder for the "
            "model. For a new tokenizer, "
            "choose a pattern that splits digits, and require all groups of that length (jeton.Rules)."
        )
    shown = " | ".join(token.decode("utf-8", "replace") for token in tokens or [])
    return Finding(
        "digits",
        severity,
        translate("Policy of digits: {policy}.", policy=policy),
        remedy,
        0,
        (Example(DIGIT_PROBE, shown or translate("cannot be encoded")),),
        {
            "entries": int(is_digits.sum()),
            "entries_by_length": by_length,
            "longest": longest,
            "groups_of_probe": groups,
        },
    )


def _by_frequency(longest: int) -> str:
    return translate("digits merge by frequency, up to {size} in a token", size=longest)


def _groups(by_length: dict[int, int], size: int) -> str:
    message = "{count} of {all} groups of {size} are entries"
    return translate(message, count=f"{by_length[size]:,}", all=f"{10**size:,}", size=size)


def _white_space(found: Entries, most: int) -> Finding:
    shapes = found.shapes
    is_white = (shapes & WHITE) != 0
    runs = is_white & ((shapes & (NEWLINE | TAB)) == 0)
    facts = {
        "white_space_entries": int(is_white.sum()),
        "longest_run_of_spaces": int(found.num_chars[runs].max(initial=0)),
        "entries_with_newline": int(((shapes & NEWLINE) != 0).sum()),
        "entries_with_tab": int(((shapes & TAB) != 0).sum()),
        "words_with_leading_space": int(((shapes & LEADING_SPACE) != 0).sum()),
    }
    examples, lost = [], []
    for name, text in SPACE_PROBES.items():
        tokens = _tokens(found.tok, text)
        decoded = "" if tokens is None else found.tok.decode(found.tok.encode(text, special="none"))
        if decoded.strip("\0") != text:
            lost.append(name)
        shown = (
            translate("cannot be encoded")
            if tokens is None
            else " | ".join(repr(t.decode("utf-8", "replace"))[1:-1] for t in tokens)
        )
        examples.append(Example(repr(text)[1:-1], translate("{probe}: {tokens}", probe=translate(name), tokens=shown)))
    probes = ", ".join(map(translate, lost))
    if lost:
        kept = translate("White space is not preserved: {probes} decode to other text.", probes=probes)
    else:
        kept = translate("White space is preserved.")
    summary = translate(
        "{kept} {count} entries are white space, with up to {spaces} spaces; {words} begin with one space.",
        kept=kept,
        count=f"{facts['white_space_entries']:,}",
        spaces=facts["longest_run_of_spaces"],
        words=f"{facts['words_with_leading_space']:,}",
    )
    remedy = "Do not use this tokenizer for code, tables or text that must come back unchanged."
    return Finding(
        "white-space",
        "warning" if lost else "note",
        summary,
        translate(remedy) if lost else "",
        len(lost),
        tuple(examples[:most]),
        {**facts, "lost": lost},
    )
