"""What builds an entry of a vocabulary: its own bytes, merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..drawing import Tree
from .facts import MergeResult, explained

__all__ = ["entry_tree"]


def entry_tree(
    id: int,
    describe: Callable[[int], bytes],
    merged: MergeResult | None,
    merges: Iterable[tuple[int, int, int]] | None,
    *,
    by_chars: bool,
    alone: str = "",
) -> Tree:
    """The tree of merges of an entry.

    Args:
        id: the entry's.
        describe: id -> the bytes of that token.
        merged: what the model makes of the entry's bytes alone, where it sees no more and no less than these.
        merges: (left, right, new) by rank, to look the entry up in where it does; None: there is no list.
        by_chars: whether first symbols may cover what they do not spell.
        alone: why it has no tree, if it has none.
    """
    if alone:
        return Tree.listed(id, {}, describe, alone)
    if merged is not None:
        data = describe(id)
        pretoken = explained((0, len(data)), data, False, False, None, [], merged, None, None, by_chars=by_chars)
        tree = Tree.of(pretoken, describe)
        ids = [tree.nodes[root].id for root in tree.roots]
        if ids == [id]:
            return tree
        note = f"no merges lead to id {id}: by merges alone, its bytes become {len(ids)} tokens"
        return Tree.of(pretoken, describe, note)
    if merges is None:
        return Tree.listed(id, {}, describe, "this model does not say by which merges")
    by_result: dict[int, tuple[int, int, int]] = {}
    for rank, (left, right, new) in enumerate(merges):
        by_result.setdefault(new, (left, right, rank))
    return Tree.listed(id, by_result, describe)
