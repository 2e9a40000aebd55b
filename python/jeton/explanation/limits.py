"""Limits of the text report and of HTML, which show the number of items left out. The JSON is not limited.

Together they bound the output to a few thousand lines, about the scrollback of a terminal.
"""

from __future__ import annotations

MAX_PRETOKENS_SHOWN = 100
MAX_MERGES_SHOWN = 40  # for one pretoken: merges, or edges of its lattice
MAX_SYMBOLS_SHOWN = 40  # symbols in one line
# Maximum number of initial symbols of a pretoken whose agenda is replayed; a replay takes some microseconds per symbol.
MAX_AGENDA_SYMBOLS = 2_000
MAX_PART_SHOWN = 60  # characters of a regex alternative
# Maximum number of tokens in the drawing of a text; a browser lays out so many tokens without a noticeable delay.
MAX_TOKENS_SHOWN = 2_000
