"""What a person reads: beyond these, words and HTML stop and say what they leave out. The JSON holds everything.

Together they bound the output at a few thousand lines, about what a terminal keeps.
"""

from __future__ import annotations

MAX_PRETOKENS_SHOWN = 100
MAX_MERGES_SHOWN = 40  # in one pretoken; edges of a lattice too
MAX_SYMBOLS_SHOWN = 40  # in one line
MAX_PART_SHOWN = 60  # characters of a part of the pattern
# Drawn tokens of the whole text; a screenful of screens, and what a browser lays out without a pause.
MAX_TOKENS_SHOWN = 2_000
