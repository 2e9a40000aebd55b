"""Limits of the text report and of HTML, which give the number of items left out. The JSON is not limited.

Together they bound the output to a few thousand lines, about the scrollback of a terminal.
"""

from __future__ import annotations

MAX_PRETOKENS_SHOWN = 100
MAX_MERGES_SHOWN = 40  # in one pretoken; edges of a lattice too
MAX_SYMBOLS_SHOWN = 40  # in one line
# Initial symbols of a pretoken whose agenda is replayed, which takes some microseconds each.
MAX_AGENDA_SYMBOLS = 2_000
MAX_PART_SHOWN = 60  # characters of a regex alternative
# Drawn tokens of the whole text; a browser lays out this many without a noticeable delay.
MAX_TOKENS_SHOWN = 2_000
