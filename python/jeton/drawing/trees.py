"""`Tree`: merge trees of tokens as data, indented lines for terminals, and nested lists in HTML.

Trees are traversed iteratively. Nodes beyond `MAX_NODES` or `MAX_DEPTH` are left out, and their number is displayed.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .drawing import Look
from .page import CSS, look_html
from .terminal import look_ansi
from .tree_nodes import Node, PretokenLike, listed, merged

__all__ = ["Node", "Tree", "tree_to_html", "tree_to_terminal"]

MAX_NODES = 400
MAX_DEPTH = 24


@dataclass(frozen=True, repr=False)
class Tree:
    """Merge forest of one pretoken.

    Attributes:
        nodes: all symbols, children before parents.
        roots: the final symbols, as indices into `nodes`, from left to right; one for each token.
        looks: for each node, the form in which the node is displayed. A node with only a part of a character shows the
            bytes of the part; if the part begins with the character's first byte, the node also shows the character.
            Long tokens are truncated.
        note: remark on an incomplete tree; else empty.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], vocab_size=260, pattern="gpt2", progress=False)
        >>> tree = tok.tree(tok.token_to_id(b" lowe"))
        >>> [tree.looks[node].shown for node, _ in tree.walk()]
        ['·lowe', '·low', '·', 'low', 'lo', 'l', 'o', 'w', 'e']
        >>> print(tok.tree(tok.token_to_id(b"lo")))
        lo  id 256, rank 0
        ├─ l  id 108
        └─ o  id 111
    """

    nodes: Sequence[Node]
    roots: Sequence[int]
    looks: Sequence[Look]
    note: str = ""

    @classmethod
    def of(cls, pretoken: PretokenLike, describe: Callable[[int], bytes], note: str = "") -> Tree:
        """Builds the forest of a pretoken from its merges; `describe` maps an id to the bytes of the token."""
        return cls(*merged(pretoken, describe), note)

    @classmethod
    def listed(
        cls, id: int, merges: Mapping[int, tuple[int, int, int]], describe: Callable[[int], bytes], note: str = ""
    ) -> Tree:
        """Builds the tree of an id from `merges`: id -> (left, right, rank). An id without a merge is a leaf."""
        return cls(*listed(id, merges, describe), note)

    def __repr__(self) -> str:
        return f"Tree({len(self.nodes)} nodes, {len(self.roots)} roots)"

    def __str__(self) -> str:
        return tree_to_terminal(self, color=False)

    def walk(self) -> Iterator[tuple[int, int]]:
        """Yields (node, depth) in preorder, from left to right."""
        open_ = [(root, 0) for root in reversed(self.roots)]
        while open_:
            index, depth = open_.pop()
            yield index, depth
            node = self.nodes[index]
            if node.left is not None and node.right is not None:
                open_ += [(node.right, depth + 1), (node.left, depth + 1)]

    @property
    def height(self) -> int:
        """Height of the tallest tree, in merges."""
        heights: list[int] = []
        for node in self.nodes:
            parts = (heights[part] for part in (node.left, node.right) if part is not None)
            heights.append(max((height + 1 for height in parts), default=0))
        return max(heights, default=0)

    def to_json(self) -> dict[str, Any]:
        """Returns the tree as JSON-compatible objects.

        Examples:
            >>> import jeton
            >>> tok = jeton.Tokenizer.from_merges({97: b"a", 98: b"b", 256: b"ab"}, [(97, 98, 256)])
            >>> tok.tree(256).to_json()["nodes"][2]
            {'id': 256, 'rank': 0, 'start': 0, 'end': 2, 'left': 0, 'right': 1, 'hue': 5, 'shown': 'ab'}
        """
        nodes = [
            {**node._asdict(), "hue": look.hue, "shown": look.shown}
            for node, look in zip(self.nodes, self.looks, strict=True)
        ]
        return {"nodes": nodes, "roots": list(self.roots), "note": self.note}

    def _repr_html_(self) -> str:
        return tree_to_html(self)


class _Line(NamedTuple):
    """A node to display: its index and depth, whether it is the last child, and whether its children are left out."""

    place: int
    depth: int
    last: bool
    folded: bool


def _lines(tree: Tree) -> Iterator[_Line]:
    open_ = [(root, 0, True) for root in reversed(tree.roots)]
    shown = 0
    while open_ and shown < MAX_NODES:
        place, depth, last = open_.pop()
        node = tree.nodes[place]
        has_parts = node.left is not None and node.right is not None
        yield _Line(place, depth, last, has_parts and depth == MAX_DEPTH)
        shown += 1
        if has_parts and depth < MAX_DEPTH:
            open_ += [(node.right, depth + 1, True), (node.left, depth + 1, False)]  # type: ignore[list-item]


def _left_out(tree: Tree, shown: int, folded: int) -> str:
    if shown == len(tree.nodes):
        return ""
    why = "deeper" if folded and shown < MAX_NODES else "more"
    return f"… {len(tree.nodes) - shown:,} symbols {why}"


def tree_to_terminal(tree: Tree, *, color: bool) -> str:
    """Renders a tree as lines: each symbol with its id and the rank of its merge, and its children below it.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], vocab_size=260, pattern="gpt2", progress=False)
        >>> print(tree_to_terminal(tok.tree(tok.token_to_id(b" low")), color=False))
        ·low  id 258, rank 2
        ├─ ·  id 32
        └─ low  id 257, rank 1
           ├─ lo  id 256, rank 0
           │  ├─ l  id 108
           │  └─ o  id 111
           └─ w  id 119
    """
    lines = [tree.note] if tree.note else []
    bars: list[str] = []
    shown = folded = 0
    for place, depth, last, is_folded in _lines(tree):
        del bars[max(depth - 1, 0) :]
        branch = ("└─ " if last else "├─ ") if depth else ""
        node, look = tree.nodes[place], tree.looks[place]
        begin, end = (look_ansi(look), "\x1b[0m") if color else ("", "")
        rank = "" if node.rank is None else f", rank {node.rank}"
        lines.append(f"{''.join(bars)}{branch}{begin}{look.shown}{end}  id {node.id}{rank}{' …' * is_folded}")
        if depth:
            bars.append("   " if last else "│  ")
        shown += 1
        folded += is_folded
    if more := _left_out(tree, shown, folded):
        lines.append(more)
    return "\n".join(lines)


_TREE_CSS = (
    ".jeton-tree ul{list-style:none;margin:0;padding-left:1.4em;border-left:1px solid #8888}"
    ".jeton-tree>ul{border:0;padding-left:0}.jeton-tree li{margin:1px 0}"
    ".jeton-tree small{opacity:.8;margin-left:.6em;font-family:system-ui,sans-serif}"
)


def tree_to_html(tree: Tree) -> str:
    """Renders a tree as nested lists, a self-contained HTML fragment without scripts.

    Examples:
        >>> import jeton
        >>> tok = jeton.Tokenizer.from_merges({97: b"a", 98: b"b", 256: b"ab"}, [(97, 98, 256)])
        >>> tree_to_html(tok.tree(256)).count("<li>")
        3
    """
    inside: list[str] = []
    level = -1
    shown = folded = 0
    for place, depth, _, is_folded in _lines(tree):
        if depth > level:
            inside.append("<ul>")
        else:
            inside.append("</li>" + "</ul></li>" * (level - depth))
        level = depth
        node = tree.nodes[place]
        rank = "" if node.rank is None else f", rank {node.rank}"
        inside.append(f"<li>{look_html(tree.looks[place])}<small>id {node.id}{rank}{' …' * is_folded}</small>")
        shown += 1
        folded += is_folded
    inside.append("</li></ul>" * (level + 1))
    note = f"<p>{html.escape(tree.note)}</p>" if tree.note else ""
    more = _left_out(tree, shown, folded)
    more = f"<p>{more}</p>" if more else ""
    return f'<div class="jeton-tokens jeton-tree"><style>{CSS}{_TREE_CSS}</style>{note}{"".join(inside)}{more}</div>'
