"""Merge tree of a vocabulary entry: the merges that are applied when the entry's bytes are encoded."""

from __future__ import annotations

from ..definition import Bpe, Pieces
from ..drawing import Tree
from ..tokens.kinds import (
    ADDED,
    BYTE,
    SPECIAL,
    UNREACHABLE,
    UNUSED,
)
from ..tokens.spelling import Spelling
from ..util.messages import counted, translate
from .explain import ExplainableTokenizer, covers_other_bytes
from .facts import explained

__all__ = ["NOT_MERGED", "entry_tree"]

# Kind of entries that are not built by merges -> note in their tree.
NOT_MERGED = {
    ADDED: "an added token: matched as a whole, not built by merges",
    SPECIAL: "a special token: matched as a whole, not built by merges",
    UNUSED: "an unused piece, which no text yields",
    BYTE: "a byte token: it encodes part of a character that is not in the vocabulary",
    UNREACHABLE: "its spelling has a character outside the byte alphabet, so no text yields it",
}


def entry_tree(tok: ExplainableTokenizer, id: int) -> Tree:
    """Implements `Tokenizer.tree`; the id must be in the vocabulary."""
    describe, model = Spelling(tok), tok.definition.model
    if note := NOT_MERGED.get(tok._core.kind(id)):
        return Tree.listed(id, {}, describe, translate(note))
    if not isinstance(model, Bpe | Pieces):
        return Tree.listed(id, {}, describe, translate("this model has no merges"))
    merged = tok._core.explain_entry(id)
    if merged is not None:
        data, by_chars = describe(id), covers_other_bytes(tok.definition)
        pretoken = explained((0, len(data)), data, False, False, None, [], merged, None, None, by_chars=by_chars)
        tree = Tree.of(pretoken, describe)
        ids = [tree.nodes[root].id for root in tree.roots]
        if ids == [id]:
            return tree
        message = "id {id} is not reachable by merges: its bytes merge into {tokens}"
        return Tree.of(pretoken, describe, translate(message, id=id, tokens=counted(len(ids), "token")))
    if not isinstance(model, Bpe):
        return Tree.listed(id, {}, describe, translate("this model has no list of merges"))
    by_result: dict[int, tuple[int, int, int]] = {}
    for rank, (left, right, new) in enumerate(tok.merges):
        by_result.setdefault(new, (left, right, rank))
    return Tree.listed(id, by_result, describe)
