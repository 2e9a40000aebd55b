"""Measurements on a corpus: number of uses of each id, and differences of two tokenizers' encodings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corpus import Corpus, CorpusLike, Source, check_corpus, open_corpus
from ..errors import ConfigError
from ..tokenizer import Tokenizer
from ..training import Counts
from ..training.count import counts_of
from ..training.stages import Stages
from ..util.threads import num_threads

__all__ = ["agreement", "check_counts", "checked_corpus", "counts_of_ids", "effect"]

BATCH_BYTES = 16 << 20


def checked_corpus(value: Any, option: str) -> Any:
    """Checks that a value is a corpus, a `Counts` object or None, and returns the value.

    Raises:
        ConfigError: the value has another type.
    """
    if value is not None and not isinstance(value, Corpus | Counts | Source):
        check_corpus(value, option)
    return value


def counts_of_ids(tok: Tokenizer, corpus: CorpusLike | Corpus | Counts) -> NDArray[np.int64]:
    """Returns int64[n]: for each id, the number of its uses in the encoding of a corpus or of counted pretokens.

    Raises:
        ConfigError: the counts were made with other stages than the tokenizer's.
    """
    saved = counts_of(corpus)
    corpus = corpus if saved is None else saved
    if isinstance(corpus, Counts):
        counts = corpus
        check_counts(tok, counts)
        return np.frombuffer(tok._core.count_ids(counts._core), "<i8").copy()
    uses = np.zeros(tok.vocab_size, np.int64)
    for batch in open_corpus(corpus).batches(BATCH_BYTES):
        uses += np.bincount(_encoded(tok, batch.texts), minlength=tok.vocab_size)
    return uses


def check_counts(tok: Tokenizer, counts: Counts) -> None:
    """Checks that counts were made with a tokenizer's stages. Counts made from a mapping are accepted without a check.

    Raises:
        ConfigError: the counts were made with other stages.
    """
    stages = Stages.of(tok.definition)
    if counts.stages is not None and not counts.stages.is_same(stages):
        raise ConfigError(
            f"the counts were made with {counts.stages.describe()}, but the tokenizer has {stages.describe()}",
            option="counts",
        )


def _encoded(tok: Tokenizer, texts: list[bytes]) -> NDArray[np.uint32]:
    """Returns all ids of some documents; special tokens in the documents are matched."""
    ids, _ = tok._core.encode_batch(texts, "all", num_threads(None))
    return np.frombuffer(ids, "<u4")


def effect(
    before: Tokenizer, after: Tokenizer, corpus: CorpusLike | Corpus, first_new: int, *, in_place: bool = True
) -> dict[str, Any]:
    """Measures the effect of new entries on the encoding of a corpus.

    New merges come after all old merges, so each new token replaces two or more old tokens, and all other tokens stay
    in place. The share of replaced tokens therefore follows from the numbers of tokens alone.

    Args:
        before, after: the tokenizers.
        corpus: documents.
        first_new: the first id of a new entry.
        in_place: True: the new entries have merges, as described above. False: tokens are compared by position in the
            text.
    """
    num_bytes = old = new = changed = documents = 0
    for batch in open_corpus(corpus).batches(BATCH_BYTES):
        now = _encoded(after, batch.texts)
        num_bytes += sum(map(len, batch.texts))
        documents += len(batch.texts)
        num_before = _encoded(before, batch.texts).size
        old += num_before
        new += now.size
        if in_place:
            changed += num_before - int((now < first_new).sum())
            continue
        for text in batch.texts:
            placed = _placed(before, text)
            changed += len(placed) - _num_same(placed, _placed(after, text))
    return {
        "documents": documents,
        "bytes": num_bytes,
        "tokens_before": old,
        "tokens_after": new,
        "bytes_per_token_before": num_bytes / old if old else 0.0,
        "bytes_per_token_after": num_bytes / new if new else 0.0,
        "changed_tokens": changed / old if old else 0.0,
    }


def agreement(parent: Tokenizer, child: Tokenizer, to_child: NDArray[np.int64], corpus: CorpusLike | Corpus) -> float:
    """Returns how much of the parent's encoding of a corpus the child reproduces, as a share of the parent's tokens.

    A token counts as reproduced if the child yields the same token at the same place.

    Args:
        parent, child: the tokenizers.
        to_child: int64: for each id of the parent, the child's id, or -1.
        corpus: documents.
    """
    same = total = 0
    for batch in open_corpus(corpus).batches(BATCH_BYTES):
        for text in batch.texts:
            theirs, ours = (_placed(tok, text) for tok in (parent, child))
            theirs[:, 0] = to_child[theirs[:, 0]]
            total += len(theirs)
            same += _num_same(theirs[theirs[:, 0] >= 0], ours)
    return same / total if total else 1.0


def _num_same(theirs: NDArray[np.int64], ours: NDArray[np.int64]) -> int:
    """Returns the number of rows that two arrays share. In each array, rows are unique."""
    rows = np.concatenate([theirs, ours])
    order = np.lexsort(rows.T)
    return int((np.diff(rows[order], axis=0) == 0).all(axis=1).sum())


def _placed(tok: Tokenizer, text: bytes) -> NDArray[np.int64]:
    """Returns rows (id, start, end) of the tokens of a text, with byte offsets. Tokens without bytes are left out."""
    ids = np.frombuffer(tok._core.encode_array(text, "all", num_threads(None)), "<u4").astype(np.int64)
    spans = np.frombuffer(tok._core.byte_spans(text, "all"), "<i8").reshape(-1, 2)
    rows = np.column_stack([ids, spans])
    return rows[rows[:, 1] < rows[:, 2]]
