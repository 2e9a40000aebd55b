"""Texts for the tests of drawing, and tokens cut at any byte."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import strategies as st

ESCAPE = re.compile("\x1b\\[[0-9;]*m")

# Characters that affect a display: controls, bidi overrides, isolates, zero-width characters, fillers, noncharacters.
ACTS = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\U000e0001-\U000e007f]"
)


def cut(text: bytes, *places: int) -> list[tuple[int, bytes]]:
    """The text as tokens with ids 0, 1, …, cut at these places."""
    edges = [0, *places, len(text)]
    return [(id, text[start:end]) for id, (start, end) in enumerate(pairwise(edges))]


@st.composite
def tokenized(draw_from: st.DrawFn) -> list[tuple[int, bytes]]:
    odd = st.sampled_from("\u202e\u200d\u2066\x1b\x00\r\ufeff\ufe0f\u3164\uffff\U000e0041<&\"']>")
    characters = st.text(max_size=4) | st.lists(odd, max_size=3).map("".join)
    piece = characters.map(lambda text: text.encode(errors="surrogatepass")) | st.binary(max_size=3)
    text = b"".join(draw_from(st.lists(piece, max_size=8)))
    places = draw_from(st.lists(st.integers(0, len(text)), max_size=8))
    return cut(text, *sorted(places))
