"""Nodes of merge trees, from the merges of a pretoken or of a vocabulary.

A tree is a flat list of nodes in postorder, because a tree can be thousands of levels deep, which exceeds the recursion
limits of JSON writers and of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from .colors import hue
from .drawing import Look
from .look_parts import LookPart, LookPartKind, parts_of

__all__ = ["Forest", "Node", "listed", "merged"]


class MergeLike(Protocol):
    """The attributes of a merge that are used to build a tree."""

    @property
    def rank(self) -> int: ...
    @property
    def result(self) -> int: ...
    @property
    def position(self) -> int: ...


class SplitLike(Protocol):
    """The attributes of a split that are used to build a tree. A split divides an unused piece into two parts."""

    @property
    def position(self) -> int: ...
    @property
    def middle(self) -> int: ...
    @property
    def left(self) -> int: ...
    @property
    def right(self) -> int: ...


class PretokenLike(Protocol):
    """The attributes of a merged pretoken that are used to build a tree (`jeton.explanation.ExplainedPretoken`)."""

    @property
    def start_ids(self) -> Sequence[int]: ...
    @property
    def start_lengths(self) -> Sequence[int] | None: ...
    @property
    def merges(self) -> Sequence[MergeLike]: ...
    @property
    def splits(self) -> Sequence[SplitLike]: ...


class Node(NamedTuple):
    """Symbol of a merge tree: an initial symbol, or the result of a merge.

    Attributes:
        id: id of the symbol.
        rank: rank of the merge that created the symbol; None for an initial symbol.
        start, end: half-open range of the pretoken's bytes that the symbol covers.
        left, right: children of the node, as indices into `Tree.nodes`; None for an initial symbol.
    """

    id: int
    rank: int | None
    start: int
    end: int
    left: int | None
    right: int | None


Forest: TypeAlias = tuple[list[Node], list[int], list[Look]]  # nodes, roots and looks of a `Tree`


def merged(pretoken: PretokenLike, describe: Callable[[int], bytes]) -> Forest:
    """Builds the forest of a pretoken from its merges; `describe` maps an id to the bytes of the token."""
    lengths = pretoken.start_lengths
    if lengths is None:
        lengths = [len(describe(id)) for id in pretoken.start_ids]
    nodes: list[Node] = []
    at: dict[int, int] = {}  # start of a symbol -> its node
    empty: list[int] = []  # symbols that cover no bytes, such as an end-of-word mark
    start = 0
    for id, length in zip(pretoken.start_ids, lengths, strict=True):
        if length:
            at[start] = len(nodes)
        else:
            empty.append(len(nodes))
        nodes.append(Node(id, None, start, start + length, None, None))
        start += length
    for merge in pretoken.merges:
        left = at[merge.position]
        end = nodes[left].end
        # If no symbol starts at `end`, the right symbol has no bytes. Symbols without bytes occur only at the end of a
        # pretoken.
        right = at.pop(end) if end in at else empty.pop(0)
        at[merge.position] = len(nodes)
        nodes.append(Node(merge.result, merge.rank, merge.position, nodes[right].end, left, right))
    for split in pretoken.splits:
        whole = nodes[at[split.position]]
        halves = ((split.left, whole.start, split.middle), (split.right, split.middle, whole.end))
        built = (whole.left, whole.right)
        for part, (id, start, end) in zip(built, halves, strict=True):
            if part is not None and (nodes[part].id, nodes[part].start, nodes[part].end) == (id, start, end):
                at[start] = part
            else:  # this part is not one of the two symbols that were merged into the piece
                at[start] = len(nodes)
                nodes.append(Node(id, None, start, end, None, None))
    roots = [*(at[start] for start in sorted(at)), *empty]
    return nodes, roots, _looks(nodes, describe)


def listed(id: int, merges: Mapping[int, tuple[int, int, int]], describe: Callable[[int], bytes]) -> Forest:
    """Builds the tree of an id from `merges`: id -> (left, right, rank). An id without a merge is a leaf."""
    order: list[int] = []  # ids in reverse postorder: node, right subtree, left subtree
    open_ = [id]
    while open_:
        order.append(open_.pop())
        open_ += merges[order[-1]][:2] if order[-1] in merges else ()
    nodes: list[Node] = []
    done: list[int] = []  # stack of nodes that have no parent yet, the leftmost on top
    start = 0
    for each in reversed(order):
        if each in merges:
            left, right = done.pop(-2), done.pop()
            nodes.append(Node(each, merges[each][2], nodes[left].start, nodes[right].end, left, right))
        else:
            nodes.append(Node(each, None, start, start + len(describe(each)), None, None))
            start = nodes[-1].end
        done.append(len(nodes) - 1)
    return nodes, done, _looks(nodes, describe)


# Maximum number of bytes displayed per node, because a tree of a long token has many long nodes.
MOST_SHOWN = 96


def _looks(nodes: Sequence[Node], describe: Callable[[int], bytes]) -> list[Look]:
    """Computes the look of each node. If a node has only a part of a character, adjacent bytes supply the rest."""
    spelled = {id: describe(id) for id in {node.id for node in nodes}}
    text = b"".join(spelled[node.id] for node in nodes if node.left is None)
    looks = []
    for node in nodes:
        data = spelled[node.id]
        long = len(data) > MOST_SHOWN
        data, rest = data[:MOST_SHOWN], data[MOST_SHOWN : MOST_SHOWN + 3]
        end = node.start + len(data)
        before, after = b"", rest
        if text[node.start : end] == data:  # false if the token's bytes differ from the text at this place
            before, after = text[max(node.start - 3, 0) : node.start], text[end : end + 3]
        parts = parts_of(before + data + after, len(before), len(before) + len(data))
        parts = (*parts, LookPart(LookPartKind.TEXT, "…", "")) if long else parts
        looks.append(Look(node.id, hue(spelled[node.id]), False, data, parts))
    return looks
