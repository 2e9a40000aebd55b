"""Visualization of tokens: one description, and renderers for terminals, notebooks, SVG and the playground.

`Drawing` describes the tokens to display. `to_terminal`, `to_html` and `to_svg` only style it, and the playground's
page renders `Drawing.to_json`, so all of them display the same content.

```text
look_parts     bytes → parts (text, white space, controls, hexadecimal) with displayed form and copied text
drawing        `Drawing`: the tokens of a text as columns, and a table of their distinct looks
describe       tokens and their spans → a drawing
colors         bytes → hue
display_width  columns that text takes in a terminal
terminal       ANSI; stream: incremental output
page           HTML
picture        SVG; bidi: visual order of left-to-right and right-to-left runs
trees          merge trees, as data, text and HTML; tree_nodes: builds them
card           small table of names and values, for notebooks
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
from .trees import Node, Tree, tree_to_html, tree_to_terminal

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
