"""Pruning: removes entries, and keeps all merges that encoding needs to form the remaining entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corpus import Corpus, CorpusLike
from ..definition import Bpe, Pieces, Unigram, WordPiece
from ..errors import ConfigError, UnknownTokenError, UnsupportedFeatureError, keyword, named
from ..tokenizer import Tokenizer
from ..tokens.kinds import UNREACHABLE
from ..training import Counts
from ..util.arguments import flag, instance, integer, wrong
from .changes import checked_corpus, counts_of_ids
from .first_merges import first_merges
from .plan import Plan
from .removing import check_removed, without_tokens
from .renumber import with_ids
from .scores import counted_scores
from .surgery import Surgery
from .trees import MergeTrees

__all__ = ["prune"]


def prune(
    tok: Tokenizer,
    corpus: CorpusLike | Corpus | Counts | Mapping[int, int] | NDArray[Any] | None = None,
    *,
    vocab_size: int | None = None,
    keep: Iterable[int | str | bytes] | None = None,
    remove: Iterable[int | str | bytes] | None = None,
    drop_references: bool = False,
    compact: bool = True,
) -> Surgery:
    """Removes entries from the vocabulary.

    Initial symbols, added tokens, byte tokens and tokens of the kind "unused" stay, unless `remove` contains them. If a
    token stays, all tokens of its merge tree stay, and encoding forms it as before. If all tokens in the encoding of a
    text stay, its encoding is therefore the same, with the new ids (WordPiece: if the text has no unknown word).
    `plan.id_map` has the new id of each old id.

    Args:
        tok: a tokenizer with a BPE model (merges, ranks or SentencePiece's pieces), a Unigram or a WordPiece model.
        corpus: source of the number of uses of each token: a corpus, which is encoded; counts of this tokenizer's
            pretokens; or counts by id. Without `vocab_size`, all tokens with uses stay. With it, tokens are removed one
            by one until `vocab_size` is reached. The token removed next is always the least used one that is not a
            part of another token. Its uses are added to those of its two parts.
        vocab_size: total number of entries. If it is the only criterion, a BPE model keeps its first merges, which are
            those that training with this size learns.
        keep: tokens that stay: ids, spellings or bytes.
        remove: tokens that are removed, also special and added tokens: ids, spellings or bytes. If it is the only
            criterion, all other tokens stay. Text that does not spell a removed token has the same encoding, with the
            new ids.
        drop_references: what happens if roles, template, padding, chat template or configuration refer to a token of
            `remove`. False: an error lists these references. True: the references are dropped, and the report lists
            them; a chat template is dropped as a whole.
        compact: True: ids without gaps, in the order of the old ids. False: tokens keep their ids.

    Returns:
        The smaller tokenizer. `report["unreachable"]` lists tokens that stay although merges do not reach them;
        `report["for_merges"]` is the number of tokens that stay only because the merge trees of other tokens need them.

    Raises:
        ConfigError: there is no criterion, a token is unknown, or the size is below the number of entries that must
            stay; or a token of `remove` is needed by other tokens or referred to.
        UnsupportedFeatureError: the model is WordLevel or SentencePiece's word or character model, or SentencePiece's
            BPE with a piece that has characters which are not pieces.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], 262, pattern="gpt2", special_tokens=["<|end|>"], progress=False)
        >>> small = jeton.prune(tok, keep=[" lowe"]).tokenizer
        >>> [small.vocab[new] for _, _, new in small.merges], small.special_tokens["<|end|>"]
        ([b'lo', b'low', b' low', b' lowe'], 260)
        >>> len(jeton.prune(tok, remove=["<|end|>"]).tokenizer.special_tokens)
        0

    Source:
        Removal of leaves: Purason et al. 2025, arXiv 2512.03989. Proof for text of remaining tokens: docs/surgery.md.
    """
    instance(tok, "tok", Tokenizer, "a Tokenizer")
    flag(compact, "compact")
    flag(drop_references, "drop_references")
    if keep is None and corpus is None and vocab_size is None and remove is None:
        raise ConfigError(
            f"pass a corpus, {keyword('vocab_size')}, {keyword('keep')} or {keyword('remove')}", option="vocab_size"
        )
    if keep is None and corpus is None and remove is None:
        made = first_merges(tok, vocab_size)  # type: ignore[arg-type]
        return Surgery(made, Plan.make(tok, made, _same_tokens(tok, made)), _report(tok, made))
    model = tok.definition.model
    if not isinstance(model, Bpe | Pieces | Unigram | WordPiece):
        raise UnsupportedFeatureError(f"prune does not support {model.type} models", feature=model.type)
    trees = MergeTrees.of(tok)
    removed = np.zeros(tok.vocab_size, bool) if remove is None else _mask(tok, remove, "remove")
    chosen = _required(tok, trees, removed)
    if keep is not None:
        chosen |= _kept(tok, keep, removed)
    elif corpus is None and vocab_size is None:
        chosen = (trees.kinds > 0) & ~removed
    asked = chosen.copy()
    chosen = trees.closed(chosen)
    if corpus is not None:
        uses = _uses(tok, corpus)
        uses[removed] = 0
        if vocab_size is None:
            asked |= (uses > 0) & (trees.kinds > 0)
            chosen = trees.closed(asked)
        else:
            entries = (trees.kinds > 0) & (chosen | ~removed)
            chosen = _most_used(tok, entries, chosen, uses, integer(vocab_size, "vocab_size", 1))
            asked = chosen
    elif vocab_size is not None:
        given = keyword("remove" if keep is None else "keep")
        raise ConfigError(
            f"{given} and {keyword('vocab_size')} together need a corpus, which determines the other entries that stay",
            option="corpus",
        )
    referring, dropped = tok, list[str]()
    if remove is not None:
        check_removed(tok, trees, removed, chosen)
        referring, dropped = without_tokens(tok, removed, drop=drop_references)
    new_ids = np.full(tok.vocab_size, -1, np.int64)
    ids = np.flatnonzero(chosen)
    new_ids[ids] = np.arange(ids.size) if compact else ids
    made, _ = with_ids(referring, new_ids)
    copied = np.full(made.vocab_size, -1, np.int64)
    copied[new_ids[ids]] = ids
    unreachable = (
        chosen & trees.is_ordinary & ~trees.is_reached if isinstance(model, Bpe | Pieces) else ~chosen & chosen
    )
    extra = {
        "for_merges": int((chosen & ~asked).sum()),
        "unreachable": new_ids[np.flatnonzero(unreachable)].tolist(),
    }
    if dropped:
        extra["dropped_references"] = dropped
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
    """Returns the old id of each id of `made`, the result of `first_merges`; -1 for an id without an entry.

    Only added tokens have other ids than before.
    """
    copied = np.arange(made.vocab_size)
    is_entry = np.zeros(made.vocab_size, bool)
    is_entry[made._core.ids()] = True
    copied[~is_entry] = -1
    old = [*tok.added_tokens]
    copied[[*made.added_tokens]] = old
    return copied


def _required(tok: Tokenizer, trees: MergeTrees, removed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns bool[n]: True for entries that pruning must keep, except those in `removed`.

    Pruning must keep initial symbols, added tokens, byte tokens, unused tokens, the unknown token and, for Unigram, a
    piece with the lowest score, which determines the penalty of unknown characters.
    """
    required: NDArray[np.bool_] = (
        (trees.kinds > 0) & (~trees.is_ordinary | trees.is_unit) & (trees.kinds != UNREACHABLE)
    )
    model = tok.definition.model
    if model.unk_token is not None and (unk := tok._core.vocabulary().find_any(model.unk_token.encode())) is not None:
        required[unk] = True
    required &= ~removed
    if isinstance(model, Unigram):
        scores = np.where(removed, np.inf, counted_scores(tok))
        if np.isfinite(scores).any():
            required[int(np.argmin(scores))] = True
    return required


def _kept(tok: Tokenizer, keep: Iterable[int | str | bytes], removed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns bool[n]: True for the tokens to keep. Rejects tokens that are also removed."""
    kept = _mask(tok, keep, "keep")
    if (both := np.flatnonzero(kept & removed)).size:
        raise ConfigError(
            f"{named('keep')} and {named('remove')} both contain {tok.id_to_token(int(both[0]))!r}", option="remove"
        )
    return kept


def _mask(tok: Tokenizer, tokens: Iterable[int | str | bytes], option: str) -> NDArray[np.bool_]:
    """Returns bool[n]: True for the tokens that an argument contains."""
    if isinstance(tokens, str | bytes) or not isinstance(tokens, Iterable):
        raise wrong(option, tokens, "a list of ids or tokens")
    mask = np.zeros(tok.vocab_size, bool)
    if isinstance(tokens, np.ndarray) and tokens.dtype.kind in "iu":
        ids = tokens.astype(np.int64).ravel()
    else:
        ids = np.array([_id(tok, token, option, index) for index, token in enumerate(tokens)], np.int64)
    is_entry = np.zeros(tok.vocab_size, bool)
    is_entry[tok._core.ids()] = True
    bad = ids[(ids < 0) | (ids >= tok.vocab_size)]
    bad = bad if bad.size else ids[~is_entry[ids]]
    if bad.size:
        raise ConfigError(f"{option}: {bad[0]} is not an id of the tokenizer", option=option)
    mask[ids] = True
    return mask


def _id(tok: Tokenizer, token: Any, option: str, index: int) -> int:
    if isinstance(token, str) and token in tok.special_tokens:
        return tok.special_tokens[token]
    if isinstance(token, str) and (id := tok._core.find(token.encode(errors="surrogatepass"), False)) is not None:
        return id  # the content of a token; any other string is looked up below as the spelling of a token
    if isinstance(token, str | bytes):
        try:
            return tok.token_to_id(token)
        except UnknownTokenError as error:
            raise ConfigError(f"{option}: {error.args[0]}", option=option) from None
    return integer(token, f"{option}[{index}]", 0, tok.vocab_size - 1)


def _uses(tok: Tokenizer, counts: Any) -> NDArray[np.int64]:
    """Returns the number of uses of each id."""
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
    tok: Tokenizer, entries: NDArray[np.bool_], required: NDArray[np.bool_], uses: NDArray[np.int64], size: int
) -> NDArray[np.bool_]:
    """Removes the least used leaves of merge trees from `entries` until `size` entries remain."""
    least = int(required.sum())
    if size < least:
        raise ConfigError(f"{keyword('vocab_size', size)} is too small: alphabet, added and kept tokens need {least}")
    num_entries = int(entries.sum())
    if size > num_entries:
        raise ConfigError(f"{keyword('vocab_size', size)} is above {num_entries}, the size of the tokenizer")

    def as_bytes(column: NDArray[Any], dtype: str) -> NDArray[np.uint8]:
        return column.astype(dtype).view(np.uint8)

    remains = tok._core.without_rare(
        as_bytes(uses, "<i8"),
        as_bytes(entries, "<u4"),
        as_bytes(entries & ~required, "<u4"),
        num_entries - size,
    )
    chosen: NDArray[np.bool_] = np.frombuffer(remains, "<u4") != 0
    return chosen
