"""Conversion of examples in docstrings."""

from __future__ import annotations

import re


def fenced_examples(text: str) -> str:
    """Encloses prompts that are outside of a section of examples in fences of code."""
    return re.sub(r"(?m)^(>>> (?:.+\n?)+)", lambda match: f"```python\n{match[1].rstrip()}\n```\n", text)
