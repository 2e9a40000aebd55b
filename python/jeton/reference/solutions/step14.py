"""An answer to the exercise of step 14, with one regular expression per row."""

import re

ENDINGS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")
KINDS = ((2, r" ?[A-Za-z]+"), (3, r" ?[0-9]+"), (4, r" ?[^\sA-Za-z0-9]+"), (5, r"\s+(?!\S)"), (6, r"\s+"))


def which(text: str, name: str) -> list[tuple[int, str]]:
    """Find the row of GPT-2's pattern that matches at each position."""
    if name != "gpt2":
        raise ValueError(f"the pattern is {name!r}, expected 'gpt2'")
    found: list[tuple[int, str]] = []
    at = 0
    while at < len(text):
        ending = next((ending for ending in ENDINGS if text.startswith(ending, at)), None)
        matches = ((row, match) for row, kind in KINDS if (match := re.compile(kind, re.ASCII).match(text, at)))
        row, part = (1, ending) if ending else next((row, match[0]) for row, match in matches)
        found.append((row, part))
        at += len(part)
    return found
