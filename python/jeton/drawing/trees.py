"""The tree of merges that built a token, as data.

A tree is a list of nodes, children before their parents, and not nested: a token may be thousands of bytes long and its
tree as deep, which neither JSON writers nor recursive code survive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from .colors import hue
from .drawing import Look
from .look_parts import LookPart, LookPartKind, parts_of

__all__ = ["Node", "Tree"]


class MergeLike(Protocol):
    """What a tree needs to know of a merge."""

    @property
    def rank(self) -> int: ...
    @property
    def result(self) -> int: ...
    @property
    def position(self) -> int: ...


class SplitLike(Protocol):
    """What a tree needs to know of a piece that was taken apart again."""

    @property
    def position(self) -> int: ...
    @property
    def middle(self) -> int: ...
    @property
    def left(self) -> int: ...
    @property
    def right(self) -> int: ...


class PretokenLike(Protocol):
    """What a tree needs to know of a pretoken that was merged (`jeton.explanation.ExplainedPretoken`)."""

    @property
    def start_ids(self) -> Sequence[int]: ...
    @property
    def start_lengths(self) -> Sequence[int] | None: ...
    @property
    def merges(self) -> Sequence[MergeLike]: ...
    @property
    def splits(self) -> Sequence[SplitLike]: ...


class Node(NamedTuple):
    """A symbol that stood there at some moment.

    Attributes:
        id: its id.
        rank: of the merge that made it; None for a first symbol.
        start, end: the bytes of the pretoken it covers.
        left, right: its parts, as places in `Tree.nodes`; None for a first symbol.
    """

    id: int
    rank: int | None
    start: int
    end: int
    left: int | None
    right: int | None


@dataclass(frozen=True, repr=False)
class Tree:
    """The trees of merges of one pretoken.

    Attributes:
        nodes: all symbols, each after its parts.
        roots: the last ones, as places in `nodes`, from left to right: one for each token.
        looks: what each node looks like, by its place; cut characters are named, long tokens cut short.
        note: what is to be said where merges do not tell all; else empty.

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
        """The trees of a pretoken whose merges are known; `describe`: id -> the bytes of that token."""
        lengths = pretoken.start_lengths
        if lengths is None:
            lengths = [len(describe(id)) for id in pretoken.start_ids]
        nodes: list[Node] = []
        at: dict[int, int] = {}  # where a symbol starts -> its node
        empty: list[int] = []  # symbols that cover nothing, such as an end-of-word mark
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
            # What covers nothing stands last and merges with what ends there.
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
                else:  # it was built of other parts than those it is taken apart into
                    at[start] = len(nodes)
                    nodes.append(Node(id, None, start, end, None, None))
        roots = [*(at[start] for start in sorted(at)), *empty]
        return cls(nodes, roots, _looks(nodes, describe), note)

    @classmethod
    def listed(
        cls,
        id: int,
        merges: Mapping[int, tuple[int, int, int]],
        describe: Callable[[int], bytes],
        note: str = "",
    ) -> Tree:
        """The tree of an id by a list of merges, id -> (left, right, rank); of ids that it lacks, a node alone."""
        order: list[int] = []  # the ids of the nodes: a parent, then all on its right, then all on its left
        open_ = [id]
        while open_:
            order.append(open_.pop())
            open_ += merges[order[-1]][:2] if order[-1] in merges else ()
        nodes: list[Node] = []
        done: list[int] = []  # nodes that wait for their parent, the leftmost last
        start = 0
        for each in reversed(order):
            if each in merges:
                left, right = done.pop(-2), done.pop()
                nodes.append(Node(each, merges[each][2], nodes[left].start, nodes[right].end, left, right))
            else:
                nodes.append(Node(each, None, start, start + len(describe(each)), None, None))
                start = nodes[-1].end
            done.append(len(nodes) - 1)
        return cls(nodes, done, _looks(nodes, describe), note)

    def __repr__(self) -> str:
        return f"Tree({len(self.nodes)} nodes, {len(self.roots)} roots)"

    def __str__(self) -> str:
        from .tree_views import tree_to_terminal

        return tree_to_terminal(self, color=False)

    def walk(self) -> Iterator[tuple[int, int]]:
        """Every node with its depth, parents before their parts, from left to right."""
        open_ = [(root, 0) for root in reversed(self.roots)]
        while open_:
            place, depth = open_.pop()
            yield place, depth
            node = self.nodes[place]
            if node.left is not None and node.right is not None:
                open_ += [(node.right, depth + 1), (node.left, depth + 1)]

    @property
    def height(self) -> int:
        """How many merges the highest of the trees is high."""
        heights: list[int] = []
        for node in self.nodes:
            parts = (heights[part] for part in (node.left, node.right) if part is not None)
            heights.append(max((height + 1 for height in parts), default=0))
        return max(heights, default=0)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it.

        Examples:
            >>> import jeton
            >>> tok = jeton.Tokenizer.from_merges({97: b"a", 98: b"b", 256: b"ab"}, [(97, 98, 256)])
            >>> tok.tree(256).to_dict()["nodes"][2]
            {'id': 256, 'rank': 0, 'start': 0, 'end': 2, 'left': 0, 'right': 1, 'hue': 282, 'shown': 'ab'}
        """
        nodes = [
            {**node._asdict(), "hue": look.hue, "shown": look.shown}
            for node, look in zip(self.nodes, self.looks, strict=True)
        ]
        return {"nodes": nodes, "roots": list(self.roots), "note": self.note}

    def _repr_html_(self) -> str:
        from .tree_views import tree_to_html

        return tree_to_html(self)


# Bytes of a node that are shown: trees of long tokens have many long nodes.
MOST_SHOWN = 96


def _looks(nodes: Sequence[Node], describe: Callable[[int], bytes]) -> list[Look]:
    """What each node looks like between its neighbors, which complete the characters that it cuts."""
    spelled = {id: describe(id) for id in {node.id for node in nodes}}
    text = b"".join(spelled[node.id] for node in nodes if node.left is None)
    looks = []
    for node in nodes:
        data = spelled[node.id]
        long = len(data) > MOST_SHOWN
        data, rest = data[:MOST_SHOWN], data[MOST_SHOWN : MOST_SHOWN + 3]
        end = node.start + len(data)
        before, after = b"", rest
        if text[node.start : end] == data:  # not where symbols cover what they do not spell
            before, after = text[max(node.start - 3, 0) : node.start], text[end : end + 3]
        parts = parts_of(before + data + after, len(before), len(before) + len(data))
        parts = (*parts, LookPart(LookPartKind.TEXT, "…", "")) if long else parts
        looks.append(Look(node.id, hue(node.id), False, data, parts))
    return looks
