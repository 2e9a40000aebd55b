"""Limits of the text report and the HTML page. The JSON report has no limits.

If a limit leaves out items, the report shows their number. The limits together keep a report to a few thousand lines,
about the scrollback of a terminal.
"""

from __future__ import annotations

MAX_PRETOKENS_SHOWN = 100
MAX_MERGES_SHOWN = 40  # merges of one pretoken, or edges of the lattice of one pretoken
MAX_SYMBOLS_SHOWN = 40  # symbols in one line
# The agenda of a pretoken (the priority queue of merges) is replayed only if the pretoken has at most this many initial
# symbols. A replay takes some microseconds per symbol.
MAX_AGENDA_SYMBOLS = 2_000
MAX_PART_SHOWN = 60  # characters of a regex alternative
# Maximum number of tokens in the drawing of a text; a browser lays out so many tokens without a noticeable delay.
MAX_TOKENS_SHOWN = 2_000
