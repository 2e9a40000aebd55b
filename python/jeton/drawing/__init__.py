"""Drawing tokens for people: one description, and what draws it for terminals, notebooks, pictures and pages.

`Drawing` says what there is to see. `to_terminal`, `to_html` and `to_svg` only give it looks, and the playground's page
draws `Drawing.to_dict`: what one shows, all show.

```text
parts      bytes → text, white space, controls, bytes: what is shown, and what is copied
drawing    the tokens of a text: columns, and a table of looks
describe   tokens and their places → a drawing
colors     id → hue            cells      how wide text is in a terminal
terminal   page   picture      ANSI, HTML, SVG; stream: a terminal's, while tokens come
bidi       the order in which runs of both directions stand in a line of a picture
trees      the merges that built a token, and tree_views of them
card       facts in a table, for notebooks
```
"""

from __future__ import annotations

from .card import to_card
from .colors import hue
from .describe import described, draw
from .display_width import display_width
from .drawing import Drawing, DroppedText, Look
from .look_parts import LookPart, LookPartKind, quoted, visible
from .page import to_html
from .picture import to_svg, tree_to_svg
from .stream import TerminalStream
from .terminal import to_terminal, wants_color
from .tree_views import tree_to_html, tree_to_terminal
from .trees import Node, Tree

__all__ = [
    "Drawing",
    "DroppedText",
    "Look",
    "LookPart",
    "LookPartKind",
    "Node",
    "TerminalStream",
    "Tree",
    "described",
    "display_width",
    "draw",
    "hue",
    "quoted",
    "to_card",
    "to_html",
    "to_svg",
    "to_terminal",
    "tree_to_html",
    "tree_to_svg",
    "tree_to_terminal",
    "visible",
    "wants_color",
]
