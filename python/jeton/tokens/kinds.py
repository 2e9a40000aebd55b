"""Kinds of entries and the limit of ids, both constants of the core, and the size of giant tokens."""

from __future__ import annotations

__all__ = ["ADDED", "BYTE", "ENDS_WORD", "GIANT_BYTES", "MAX_ID", "SPECIAL", "TOKEN", "UNREACHABLE", "UNUSED"]

TOKEN, ENDS_WORD, ADDED, SPECIAL, UNUSED, BYTE, UNREACHABLE = 1, 2, 3, 4, 5, 6, 7  # values of the core's `Kind`

# The core's limit. If larger ids were allowed, arrays indexed by id would have far more rows than any embedding matrix.
MAX_ID = (1 << 24) - 1

# Training and the audit warn of tokens with more than this number of bytes. The longest tokens of GPT-2, cl100k and
# o200k have 128 bytes.
GIANT_BYTES = 256
