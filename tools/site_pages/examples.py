"""Examples in docstrings."""

from __future__ import annotations

import re


def fenced_examples(text: str) -> str:
    """Puts prompts that are not in a section of examples into blocks of code."""
    return re.sub(r"(?m)^(>>> (?:.+\n?)+)", lambda match: f"```python\n{match[1].rstrip()}\n```\n", text)
