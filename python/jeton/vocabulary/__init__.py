"""Transformations tokenizer → tokenizer."""

from __future__ import annotations

from .prune import prune

__all__ = ["prune"]
