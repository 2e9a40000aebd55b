"""Pruning: fewer entries, closed under the merges that text reaches them by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corpus import Corpus, CorpusLike
from ..definition import Bpe, Pieces, Unigram, WordPiece
from ..errors import ConfigError, UnknownTokenError, UnsupportedFeatureError, keyword
from ..tokenizer import Tokenizer
from ..tokens.kinds import UNREACHABLE
from ..training import Counts
from ..util.arguments import flag, instance, integer, wrong
from .changes import checked_corpus, counts_of_ids
from .first_merges import first_merges
from .plan import Plan
from .renumber import with_ids
from .surgery import Surgery
from .trees import MergeTrees

__all__ = ["prune"]


def prune(
    tok: Tokenizer,
    corpus: CorpusLike | Corpus | Counts | Mapping[int, int] | NDArray[Any] | None = None,
    *,
    vocab_size: int | None = None,
    keep: Iterable[int | str | bytes] | None = None,
    compact: bool = True,
) -> Surgery:
    """Removes entries from the vocabulary.

    Initial symbols, added tokens, byte and unused tokens stay. A token that stays keeps the merge tree through which
    text reaches it. Text whose encoding holds only tokens that stay therefore has the same encoding, with the new ids
    (WordPiece: if it holds no unknown word). `plan.id_map` has the new id of each old one.

    Args:
        tok: a tokenizer with a BPE model, of merges, ranks or SentencePiece's pieces, a Unigram or a WordPiece model.
        corpus: uses of each token: a corpus, which is encoded; counts of this tokenizer's pretokens; or counts by id.
            Without `vocab_size`, all tokens with uses stay. With it, the least used leaf of the merge trees is removed
            until the vocab_size is reached; its uses are added to those of its two parts.
        vocab_size: total number of entries. Alone, for BPE: the first merges, as training with this size learns them.
        keep: tokens that stay: ids, spellings or bytes.
        compact: True: ids without gaps, in the order of the old ids. False: tokens keep their ids.

    Returns:
        The smaller tokenizer. `report["unreachable"]` lists tokens that stay although merges do not reach them;
        `report["for_merges"]` is the number of tokens that stay for the merge trees of others.

    Raises:
        ConfigError: no criterion, unknown tokens, or a size below what must stay.
        UnsupportedFeatureError: WordLevel, word and character models; SentencePiece's BPE with a piece of characters
            that are no pieces.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], 262, pattern="gpt2", special_tokens=["<|end|>"], progress=False)
        >>> small = jeton.prune(tok, keep=[" lowe"]).tokenizer
        >>> [small.vocab[new] for _, _, new in small.merges], small.special_tokens["<|end|>"]
        ([b'lo', b'low', b' low', b' lowe'], 260)

    Source:
        Removal of leaves: Purason et al. 2025, arXiv 2512.03989. Proof for text of remaining tokens: docs/surgery.md.
    """
    instance(tok, "tok", Tokenizer, "a Tokenizer")
    flag(compact, "compact")
    if keep is None and corpus is None and vocab_size is None:
        raise ConfigError(f"pass a corpus, {keyword('vocab_size')} or {keyword('keep')}", option="vocab_size")
    if keep is None and corpus is None:
        made = first_merges(tok, vocab_size)  # type: ignore[arg-type]
        return Surgery(made, Plan.make(tok, made, _same_tokens(tok, made)), _report(tok, made))
    model = tok.definition.model
    if not isinstance(model, Bpe | Pieces | Unigram | WordPiece):
        raise UnsupportedFeatureError(f"prune does not support {model.type} models", feature=model.type)
    trees = MergeTrees.of(tok)
    chosen = _required(tok, trees)
    if keep is not None:
        chosen |= _kept(tok, keep)
    asked = chosen.copy()
    chosen = trees.closed(chosen)
    if corpus is not None:
        uses = _uses(tok, corpus)
        if vocab_size is None:
            asked |= (uses > 0) & (trees.kinds > 0)
            chosen = trees.closed(asked)
        else:
            chosen = _most_used(tok, trees, chosen, uses, integer(vocab_size, "vocab_size", 1))
            asked = chosen
    elif vocab_size is not None:
        raise ConfigError(
            f"{keyword('keep')} and {keyword('vocab_size')} together need a corpus, which tells what else stays",
            option="corpus",
        )
    new_ids = np.full(tok.vocab_size, -1, np.int64)
    ids = np.flatnonzero(chosen)
    new_ids[ids] = np.arange(ids.size) if compact else ids
    made, _ = with_ids(tok, new_ids)
    copied = np.full(made.vocab_size, -1, np.int64)
    copied[new_ids[ids]] = ids
    unreachable = (
        chosen & trees.is_ordinary & ~trees.is_reached if isinstance(model, Bpe | Pieces) else ~chosen & chosen
    )
    extra = {
        "for_merges": int((chosen & ~asked).sum()),
        "unreachable": new_ids[np.flatnonzero(unreachable)].tolist(),
    }
    return Surgery(made, Plan.make(tok, made, copied), {**_report(tok, made), **extra})


def _report(tok: Tokenizer, made: Tokenizer) -> dict[str, Any]:
    return {
        "verb": "prune",
        "before": len(tok),
        "after": len(made),
        "removed": len(tok) - len(made),
        "merges": len(made.merges),
    }


def _same_tokens(tok: Tokenizer, made: Tokenizer) -> NDArray[np.int64]:
    """For the first merges: old id of each new id. Only added tokens have moved."""
    copied = np.arange(made.vocab_size)
    is_entry = np.zeros(made.vocab_size, bool)
    is_entry[made._core.ids()] = True
    copied[~is_entry] = -1
    old = [*tok.added_tokens]
    copied[[*made.added_tokens]] = old
    return copied


def _required(tok: Tokenizer, trees: MergeTrees) -> NDArray[np.bool_]:
    """Initial symbols, added, byte and unused tokens, the unknown token and, for Unigram, a piece of the lowest score.

    That score determines the penalty of unknown characters.
    """
    required: NDArray[np.bool_] = (
        (trees.kinds > 0) & (~trees.is_ordinary | trees.is_unit) & (trees.kinds != UNREACHABLE)
    )
    model = tok.definition.model
    if model.unk_token is not None and (unk := tok._core.vocabulary().find_any(model.unk_token.encode())) is not None:
        required[unk] = True
    if isinstance(model, Unigram):
        scores = np.full(tok.vocab_size, np.inf)
        given = np.array(tok._core.scores())
        scores[: given.size] = given
        scores[trees.kinds != 1] = np.inf
        if np.isfinite(scores).any():
            required[int(np.argmin(scores))] = True
    return required


def _kept(tok: Tokenizer, keep: Iterable[int | str | bytes]) -> NDArray[np.bool_]:
    """Ids of the tokens to keep."""
    if isinstance(keep, str | bytes) or not isinstance(keep, Iterable):
        raise wrong("keep", keep, "a list of ids or tokens")
    kept = np.zeros(tok.vocab_size, bool)
    if isinstance(keep, np.ndarray) and keep.dtype.kind in "iu":
        ids = keep.astype(np.int64).ravel()
    else:
        ids = np.array([_id(tok, token) for token in keep], np.int64)
    is_entry = np.zeros(tok.vocab_size, bool)
    is_entry[tok._core.ids()] = True
    bad = ids[(ids < 0) | (ids >= tok.vocab_size)]
    bad = bad if bad.size else ids[~is_entry[ids]]
    if bad.size:
        raise ConfigError(f"keep: {bad[0]} is not an id of the tokenizer", option="keep")
    kept[ids] = True
    return kept


def _id(tok: Tokenizer, token: Any) -> int:
    if isinstance(token, str) and (id := tok._core.find(token.encode(errors="surrogatepass"), False)) is not None:
        return id  # a text, else the spelling in files
    if isinstance(token, str | bytes):
        try:
            return tok.token_to_id(token)
        except UnknownTokenError as error:
            raise ConfigError(f"keep: {error.args[0]}", option="keep") from None
    return integer(token, "keep", 0, tok.vocab_size - 1)


def _uses(tok: Tokenizer, counts: Any) -> NDArray[np.int64]:
    """Uses of each id."""
    if isinstance(counts, Mapping):
        uses = np.zeros(tok.vocab_size, np.int64)
        ids = [integer(id, "corpus", 0, tok.vocab_size - 1) for id in counts]
        uses[ids] = [integer(count, "corpus", 0, (1 << 63) - 1) for count in counts.values()]
        return uses
    if isinstance(counts, np.ndarray):
        if counts.ndim != 1 or counts.dtype.kind not in "iu" or counts.size > tok.vocab_size:
            raise wrong("corpus", counts, f"an array of up to {tok.vocab_size} counts, by id")
        return np.concatenate([counts.astype(np.int64), np.zeros(tok.vocab_size - counts.size, np.int64)])
    return counts_of_ids(tok, checked_corpus(counts, "corpus"))


def _most_used(
    tok: Tokenizer, trees: MergeTrees, required: NDArray[np.bool_], uses: NDArray[np.int64], size: int
) -> NDArray[np.bool_]:
    """Removes the least used leaves until `size` entries remain."""
    entries = trees.kinds > 0
    least = int(required.sum())
    if size < least:
        raise ConfigError(f"{keyword('vocab_size', size)} is too small: alphabet, added and kept tokens need {least}")
    if size > len(tok):
        raise ConfigError(f"{keyword('vocab_size', size)} is above {len(tok)}, the size of the tokenizer")

    def as_bytes(column: NDArray[Any], dtype: str) -> NDArray[np.uint8]:
        return column.astype(dtype).view(np.uint8)

    remains = tok._core.without_rare(
        as_bytes(uses, "<i8"),
        as_bytes(entries, "<u4"),
        as_bytes(entries & ~required, "<u4"),
        len(tok) - size,
    )
    chosen: NDArray[np.bool_] = np.frombuffer(remains, "<u4") != 0
    return chosen
