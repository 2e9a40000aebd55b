"""Merges two vocabularies: all entries of the first, and entries of the second that the first lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corpus import Corpus, CorpusLike
from ..definition import Bpe, Pieces
from ..errors import UnsupportedFeatureError
from ..tokenizer import Tokenizer
from ..tokens.added import with_added_tokens
from ..util.arguments import instance
from .changes import agreement, checked_corpus
from .growth import check_merges, grown
from .surgery import Surgery
from .trees import MergeTrees, column

__all__ = ["merge_vocab"]

APPENDED, EXISTING, CROSSED, NO_SYMBOL, ADDED, _, WHOLE = range(7)  # values of the core's `Fate`
REASONS = {
    CROSSED: "merges of the first tokenizer cross its parts",
    NO_SYMBOL: "a unit of it is an added token of the first tokenizer",
    ADDED: "an added token of the first tokenizer has its spelling",
    WHOLE: "reached as a whole pretoken only: merges of the first tokenizer cross its parts",
}


def merge_vocab(
    a: Tokenizer,
    b: Tokenizer,
    *,
    corpus_a: CorpusLike | Corpus | None = None,
    corpus_b: CorpusLike | Corpus | None = None,
) -> Surgery:
    """Appends the entries of `b` to `a`, with merges that produce them.

    All ids of `a` stay. Merges of `a` come first. Then each entry of `b`, in the order of b's merges, is encoded with
    all merges so far. If the result is two tokens, their merge is appended. If the result is more than two tokens, a
    single merge cannot produce the entry, so the entry is left out. (But if the model looks up whole pretokens, the
    entry is appended and found as a whole pretoken.) The normalizer, pre-tokenizer, decoder and template are those of
    `a`. Added tokens of `b` follow as added tokens.

    Args:
        a: a tokenizer with BPE merges or ranks at byte or character level, or SentencePiece's BPE.
        b: a tokenizer of the same kind.
        corpus_a, corpus_b: text for `a` and text for `b`. The report compares `a` with the merged
            tokenizer on the first text, and `b` on the second. It gives the share of tokens for which the merged
            tokenizer has the same token at the same position.

    Returns:
        The merged tokenizer. `report["left_out"]`: reason -> ids in `b` of entries that no merges produce;
        `report["unreachable"]`: ids of entries that `a` and `b` share, but that the merges of `a` do not produce;
        `report["split"]`: ids of entries whose text is one token in `b`, but is split by the pre-tokenizer of `a`.

    Raises:
        UnsupportedFeatureError: the models are of different kinds, or a model cannot get new merges.

    Examples:
        >>> import jeton
        >>> a = jeton.train(["low lower lowest"], 259, pattern="gpt2", progress=False)
        >>> b = jeton.train(["new newer newest"], 259, pattern="gpt2", progress=False)
        >>> both = jeton.merge_vocab(a, b)
        >>> both.tokenizer.tokenize("low new").tokens, both.report["shared"]
        ([b'low', b' new'], 256)
    """
    for name, tok in (("a", a), ("b", b)):
        instance(tok, name, Tokenizer, "a Tokenizer")
        check_merges(tok, "merge_vocab", pieces=True, place=f", as {name} has")
    checked_corpus(corpus_a, "corpus_a")
    checked_corpus(corpus_b, "corpus_b")
    _check_kinds(a, b)
    order = _order(b)
    vocabulary, found, fates, num_merges = a._core.append_vocabulary(
        b._core, order.astype("<u4").view(np.uint8), next_id=a.vocab_size
    )
    ids, fate = column(found), column(fates)
    known = {token.content for token in a.added_tokens.values()}
    next_id = max(vocabulary.next_id(), a.vocab_size)
    more = [token for token in b.added_tokens.values() if token.content not in known]
    more = [token for token in more if a._core.find(token.content.encode(), False) is None]
    vocabulary = with_added_tokens(vocabulary, enumerate(more, start=next_id))
    made, plan, trees = grown(a, vocabulary)
    to_merged = np.full(b.vocab_size, -1, np.int64)
    has_id = np.isin(fate, [APPENDED, EXISTING, WHOLE])
    to_merged[order[has_id]] = ids[has_id]
    ours = np.unique(ids[np.isin(fate, [APPENDED, EXISTING])])
    report: dict[str, Any] = {
        "verb": "merge_vocab",
        "before": len(a),
        "after": len(made),
        "shared": int((fate == EXISTING).sum()),
        "appended": int(np.isin(fate, [APPENDED, WHOLE]).sum()),
        "new_merges": num_merges,
        "added_tokens": len(more),
        "left_out": _left_out(order, fate),
        "unreachable": ours[~trees.is_reached[ours]].tolist(),
        "split": _split(b, made, np.where(trees.is_reached[to_merged], to_merged, -1)),
    }
    for name, parent, corpus in (("a", a, corpus_a), ("b", b, corpus_b)):
        if corpus is not None:
            to_child = np.arange(a.vocab_size) if parent is a else to_merged
            report[f"agreement_{name}"] = agreement(parent, made, to_child, corpus)
    return Surgery(made, plan, report)


def _check_kinds(a: Tokenizer, b: Tokenizer) -> None:
    """Checks that the vocabularies of two models can be merged.

    Raises:
        UnsupportedFeatureError: they cannot; the error names both models.
    """
    one, other = a.definition.model, b.definition.model
    names = [f"{model.type} ({model.level} level)" if isinstance(model, Bpe) else model.type for model in (one, other)]
    if isinstance(one, Bpe) and isinstance(other, Bpe) and one.byte_fallback != other.byte_fallback:
        names = [
            f"{name} with byte_fallback={model.byte_fallback}" for name, model in zip(names, (one, other), strict=True)
        ]
    if names[0] != names[1]:
        message = f"merge_vocab does not combine {names[0]} and {names[1]}"
        raise UnsupportedFeatureError(message, feature=names[1])


def _order(tok: Tokenizer) -> NDArray[np.int64]:
    """Returns the ids of ordinary entries: initial symbols by id, then others in the order of merges or scores."""
    trees = MergeTrees.of(tok)
    ordinary = np.flatnonzero(trees.is_ordinary)
    if isinstance(tok.definition.model, Pieces):
        ranks = -np.array(tok._core.scores())
    else:
        results = np.array(tok._core.merges(), np.int64).reshape(-1, 3)[:, 2]
        ranks = np.full(tok.vocab_size, results.size)  # entries that are not results of merges come last
        # If several merges have the same result, the last assignment below sets the rank of the first of these merges.
        ranks[results[::-1]] = np.arange(results.size)[::-1]
    return ordinary[np.lexsort((ranks[ordinary], ~trees.is_unit[ordinary]))]


def _left_out(order: NDArray[np.int64], fate: NDArray[np.int64]) -> dict[str, list[int]]:
    lists = {reason: order[fate == kind].tolist() for kind, reason in REASONS.items()}
    return {reason: ids for reason, ids in lists.items() if ids}


def _split(b: Tokenizer, merged: Tokenizer, to_merged: NDArray[np.int64]) -> list[int]:
    """Returns entries, as ids of `merged`: their text is one token in `b`, but more than one token in `merged`."""
    if not merged.definition.is_byte_level:
        # Not computed: an entry that continues a word cannot be tested alone, because the tokenizer would treat the
        # entry as the start of a text.
        return []
    ids = np.flatnonzero(to_merged >= 0)
    contents = b.decode_tokens_bytes(ids)
    split = _is_alone(b, contents, ids) & ~_is_alone(merged, contents, to_merged[ids])
    found: list[int] = to_merged[ids[split]].tolist()
    return found


def _is_alone(tok: Tokenizer, contents: list[bytes], ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns True for each content that the tokenizer encodes as a single token with the content's id."""
    batch = tok.encode_batch(contents, special="none", add_special_tokens=False)
    offsets = batch.offsets.astype(np.int64)
    alone: NDArray[np.bool_] = np.diff(offsets) == 1
    alone[alone] = batch.ids[offsets[:-1][alone]] == ids[alone]
    return alone
