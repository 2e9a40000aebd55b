"""Conversion of the examples in docstrings to Markdown."""

from __future__ import annotations

import re


def fenced_examples(text: str) -> str:
    """Puts doctest prompts into code fences; for text outside of sections of examples."""
    return re.sub(r"(?m)^(>>> (?:.+\n?)+)", lambda match: f"```python\n{match[1].rstrip()}\n```\n", text)
