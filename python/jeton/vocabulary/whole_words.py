"""Adds words as entries of Unigram and WordPiece models, which have no merges.

WordPiece: the longest match of an added word is the word itself. Encodings change only where a new entry is a longer
match than before.

Unigram: the new piece w, of n characters, gets the least score s (in single precision) that meets two conditions:

- s >= best(w) + (n + 1)·e, where best(w) is the highest score of a split of w into other pieces, and e is the
  rounding error of an addition. Then, if the best path has a piece boundary at the start and at the end of an
  occurrence of w, the best path uses the piece w there. Proof: let S be the sum of scores before w. The sum after w is
  at least S + s - e if the path uses the piece w. It is at most S + best(w) + k·e if the path uses k <= n other pieces
  instead. If the two sums are equal, Viterbi keeps the first sum, which is the sum with the longest piece, w.
- s >= the lowest score of the old model, so the penalty of unknown characters is the same.

If a text does not contain w, none of its paths uses w, and the scores of its paths do not change. If the score were
lower than s, the word could become several tokens, or the encoding of text with unknown characters could change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import Vocabulary
from ..corpus import Corpus, CorpusLike
from ..definition import Unigram, WordPiece
from ..errors import ConfigError, UnsupportedFeatureError
from ..tokenizer import Tokenizer
from ..tokens.added import model_entries, with_added_tokens
from ..tokens.kinds import ADDED, SPECIAL, TOKEN
from .changes import effect
from .plan import Plan
from .scores import counted_scores
from .surgery import Surgery, built

__all__ = ["add_whole_words"]

# Rounding error of one addition. SentencePiece adds in f32, with absolute sums below 2^17, since it resets a sum beyond
# -100,000. Hugging Face adds in f64, with absolute sums below 2^30, which even a pretoken of 100 MB does not exceed.
SINGLE_ERROR, DOUBLE_ERROR = 2.0**-8, 2.0**-22

Edge = tuple[int, int, float]  # start, end, score


@dataclass(frozen=True)
class _Word:
    """A word to add, as the model processes it.

    Attributes:
        text: the word as it was given.
        content: the pretoken of the word.
        pieces: ids of its encoding by the old tokenizer.
        edges: for Unigram: the occurrences of pieces in the word, by byte offset.
    """

    text: str
    content: bytes
    pieces: list[int]
    edges: list[Edge]


def add_whole_words(tok: Tokenizer, words: list[str], corpus: CorpusLike | Corpus | None) -> Surgery:
    """Implements `add_words` for Unigram and WordPiece."""
    model = tok.definition.model
    seen = [_word(tok, text) for text in words]
    found = {word.content: word for word in reversed(seen)}
    first_new = tok.vocab_size
    new: dict[bytes, int] = {}
    ids: dict[bytes, int] = {}
    for word in seen:
        id = tok._core.find(word.content, False)
        ids[word.content] = new.setdefault(word.content, first_new + len(new)) if id is None else id
    scores = _scores(tok, found, ids) if isinstance(model, Unigram) else None
    made = built(tok, _with_entries(tok, new, scores))
    for word in seen:
        if made.encode(word.text, special="none", add_special_tokens=False) != [ids[word.content]]:
            raise _not_one(made, word.text)
    copied = np.where(np.arange(made.vocab_size) < first_new, np.arange(made.vocab_size), -1)
    unk = None if model.unk_token is None else tok._core.vocabulary().find_any(model.unk_token.encode())
    pairs = [(new[content], id) for content in new for id in found[content].pieces if id != unk]
    rows, pieces = (np.array(column, np.int64) for column in zip(*pairs, strict=True)) if pairs else (None, None)
    parts = None if rows is None or pieces is None else (rows, pieces)
    report: dict[str, Any] = {
        "verb": "add_words",
        "before": len(tok),
        "after": len(made),
        "words": len(words),
        "new_entries": len(new),
    }
    if len(new) < len(ids):
        report["existing"] = len(ids) - len(new)
    if corpus is not None:
        report |= effect(tok, made, corpus, first_new, in_place=False)
    return Surgery(made, Plan.make(tok, made, copied, parts), report)


def _word(tok: Tokenizer, text: str) -> _Word:
    """Returns a word with its pretoken. The tokenizer must not split the word into several pretokens.

    Raises:
        ConfigError: the word is empty, an added token, or split into several pretokens; or it is longer than
            WordPiece's limit.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"words: {text!r} contains a lone surrogate", option="words") from None
    if not text:
        raise ConfigError("words: a word is empty", option="words")
    found = tok._core.explain(text, None, most=2)[0]
    if len(found) != 1:
        raise _not_one(tok, text)
    _, content, is_added, _, _, ids, _, lattice, _ = found[0]
    kind = None if (id := tok._core.vocabulary().find_any(content)) is None else tok._core.kind(id)
    if is_added or kind in (ADDED, SPECIAL):
        raise ConfigError(f"words: {text!r} is an added token, which is matched before the model runs", option="words")
    if kind not in (None, TOKEN):
        raise ConfigError(f"words: {text!r} is an entry that the model does not use", option="words")
    model = tok.definition.model
    if isinstance(model, WordPiece) and len(content.decode()) > model.max_chars_per_word:
        raise ConfigError(
            f"words: {text!r:.80} has more than {model.max_chars_per_word} characters, the model's limit for a word",
            option="words",
        )
    edges = [] if lattice is None else [(start, end, score) for start, end, _, score in lattice[0]]
    if lattice is not None and len(edges) < lattice[1]:
        raise ConfigError(f"words: {text[:20]!r}… is too long", option="words")
    return _Word(text, content, ids, edges)


def _not_one(tok: Tokenizer, text: str) -> ConfigError:
    shown = tok.tokenize(text, special="none").tokens
    return ConfigError(
        f"words: {text!r} is not one token: the tokenizer normalizes or splits it before the model runs, into {shown}",
        option="words",
    )


def _scores(tok: Tokenizer, words: Mapping[bytes, _Word], ids: Mapping[bytes, int]) -> NDArray[np.float64]:
    """Returns the scores by id, with those of new words. Words are scored before longer words that contain them."""
    model = tok.definition.model
    single = isinstance(model, Unigram) and model.single_precision
    error = SINGLE_ERROR if single else DOUBLE_ERROR
    counted = counted_scores(tok)
    lowest = float(counted.min(initial=np.inf))
    lowest = 0.0 if lowest == np.inf else lowest
    given = np.array(tok._core.scores(), np.float64)
    scores = np.full(max(tok.vocab_size, *(id + 1 for id in ids.values()), 0), lowest)
    scores[: given.size] = given
    _check_after(tok, given.size)
    made: dict[bytes, float] = {}  # word scored so far -> its score
    lengths: set[int] = set()
    for content in sorted(ids, key=lambda content: (len(content.decode()), content)):
        id, word = ids[content], words[content]
        best = _best([*word.edges, *_edges_of(made, lengths, content)], len(content))
        least = _single(max(best + (len(content.decode()) + 1) * error, lowest))
        is_one = word.pieces == [id] and best == _best(word.edges, len(content))
        if not is_one and (id >= tok.vocab_size or scores[id] < least):
            scores[id] = least
        made[content] = float(scores[id])
        lengths.add(len(content))
    if (np.where(np.isfinite(counted), scores[: tok.vocab_size], np.inf).min(initial=np.inf)) > lowest:
        text = next(words[content].text for content, id in ids.items() if id < tok.vocab_size and counted[id] == lowest)
        raise ConfigError(
            f"words: {text!r} has the lowest score, which determines the penalty of unknown characters", option="words"
        )
    return scores


def _check_after(tok: Tokenizer, num_scores: int) -> None:
    """Checks the added tokens with ids higher than all pieces. In the new model, these tokens are pieces too.

    Raises:
        UnsupportedFeatureError: one of these tokens is matched only as a whole word (`single_word`). A piece would
            also be found inside words.
    """
    for id, token in tok.added_tokens.items():
        if id >= num_scores and token.single_word:
            what = "single_word"
            message = f"add_words does not support the added token {token.content!r} with {what} after the pieces"
            raise UnsupportedFeatureError(message, feature=what)


def _edges_of(made: Mapping[bytes, float], lengths: Iterable[int], content: bytes) -> Iterator[Edge]:
    """Yields the occurrences of new words inside a longer word, as edges of its lattice."""
    for length in lengths:
        for start in range(len(content) - length + 1):
            if (score := made.get(content[start : start + length])) is not None:
                yield start, start + length, score


def _best(edges: list[Edge], size: int) -> float:
    """Returns the highest sum of scores on a path of at least two edges; -infinity if there is no such path."""
    best = np.full(size + 1, -np.inf)
    best[0] = 0.0
    for start, end, score in sorted(edges):
        if end - start < size:
            best[end] = max(best[end], best[start] + score)
    return float(best[size])


def _single(score: float) -> float:
    """Returns the least f32 number that is not below a score, because a `.model` stores scores as f32."""
    rounded = np.float32(score)
    # `float(rounded)`, because NumPy would compare an f32 number and `score` in single precision.
    return float(rounded if float(rounded) >= score else np.nextafter(rounded, np.float32(np.inf)))


def _with_entries(tok: Tokenizer, new: Mapping[bytes, int], scores: NDArray[np.float64] | None) -> Vocabulary:
    """Returns the vocabulary with additional ordinary entries."""
    ids, kinds, contents, merges = tok._core.vocabulary().columns()
    given = None if scores is None else scores.tolist()
    listed = Vocabulary([*ids, *new.values()], [*kinds, *[TOKEN] * len(new)], [*contents, *new], merges, given)
    # The columns do not contain the flags of added tokens. So the flags are copied from the tokenizer.
    return with_added_tokens(listed, tok.added_tokens.items(), model_entries(tok._core))
