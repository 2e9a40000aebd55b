"""Audit of a tokenizer: entries without use, unsafe tokens, policies of digits and white space, chat templates."""

from __future__ import annotations

from .audit import audit
from .finding import Audit, Example, Finding

__all__ = ["Audit", "Example", "Finding", "audit"]
