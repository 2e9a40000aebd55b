"""Transformations tokenizer → tokenizer."""

from __future__ import annotations

from .prefix import prefix

__all__ = ["prefix"]
