"""Merge tree of a vocabulary entry, from the merges of its own bytes."""

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
    """Returns the merge tree of an entry.

    Args:
        id: id of the entry.
        describe: id -> bytes of the token.
        merged: result of merging the entry's bytes; None if the model's input would be other than these bytes.
        merges: (left, right, new) by rank, used if `merged` is None; None if the model has no list of merges.
        by_chars: whether initial symbols may cover other bytes than they spell.
        alone: reason why the entry has no tree; empty if it has one.
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
        note = f"id {id} is not reachable by merges: its bytes merge into {len(ids)} tokens"
        return Tree.of(pretoken, describe, note)
    if merges is None:
        return Tree.listed(id, {}, describe, "this model has no list of merges")
    by_result: dict[int, tuple[int, int, int]] = {}
    for rank, (left, right, new) in enumerate(merges):
        by_result.setdefault(new, (left, right, rank))
    return Tree.listed(id, by_result, describe)
