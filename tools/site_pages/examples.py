"""Conversion of the examples in docstrings to Markdown."""

from __future__ import annotations

import re


def fenced_examples(text: str) -> str:
    """Puts the doctest examples of a text into code fences. The text must not be an `Examples` section."""
    return re.sub(r"(?m)^(>>> (?:.+\n?)+)", lambda match: f"```python\n{match[1].rstrip()}\n```\n", text)
