"""Adds words to a vocabulary, with merges that produce the words. If a model has no merges, `whole_words` is used."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..corpus import Corpus, CorpusLike
from ..definition import Unigram, WordPiece
from ..errors import ConfigError
from ..tokenizer import Tokenizer
from ..util.arguments import instance, strings
from .changes import checked_corpus, effect
from .growth import check_merges, grown
from .surgery import Surgery
from .trees import column
from .whole_words import add_whole_words

__all__ = ["add_words"]

WORD_START = "▁".encode()
EXISTING, NO_SYMBOL, ADDED = 1, 3, 4  # values of the core's `Fate`


def add_words(tok: Tokenizer, words: Iterable[str], *, corpus: CorpusLike | Corpus | None = None) -> Surgery:
    """Adds words to the vocabulary of the model. The model then finds these words inside pretokens.

    BPE: the new merges follow all existing merges, so an encoding changes only where it contains the former tokens of a
    word next to each other. A word of more than two tokens also gets entries for its prefixes. WordPiece and Unigram: a
    word gets an entry, so the word itself is one token. The model can also use this token inside longer words; the
    encoding of other text does not change. `Tokenizer.add_tokens`, in contrast, splits the text at a token before the
    model runs.

    Args:
        tok: a tokenizer with BPE merges or ranks, SentencePiece's BPE, a Unigram or a WordPiece model.
        words: words as spelled in text. BPE: a leading space is part of the word: `" word"` is found after white space,
            `"word"` at the beginning of a text or inside another word. For a model with ``▁``, a space becomes ``▁``.
            WordPiece and Unigram: the entry is the word's pretoken, that is, the normalized word, with a ``▁`` in front
            if the tokenizer adds a ``▁``.
        corpus: text on which the report counts the words and the changed tokens.

    Raises:
        ConfigError: the tokenizer splits a word, or matches a word as an added token. For BPE, two more cases:
            normalization changes a word, or a word has a character that is not in the vocabulary.
        UnsupportedFeatureError: the model is of another type, or BPE with an end-of-word mark or a continuing prefix.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], 260, pattern="gpt2", progress=False)
        >>> more = jeton.add_words(tok, [" slower"]).tokenizer
        >>> more.tokenize("a slower lower").tokens
        [b'a', b' slower', b' lowe', b'r']
        >>> tok = jeton.train(["low lower lowest"], 40, preset="bert", progress=False)
        >>> jeton.add_words(tok, ["Slower"]).tokenizer.tokenize("lower slower").tokens
        [b' lowe', b'r', b' slower']

    Source:
        Proofs: `whole_words` and docs/surgery.md.
    """
    instance(tok, "tok", Tokenizer, "a Tokenizer")
    wanted = list(dict.fromkeys(strings(words, "words")))
    checked_corpus(corpus, "corpus")
    if isinstance(tok.definition.model, Unigram | WordPiece):
        return add_whole_words(tok, wanted, corpus)
    check_merges(tok, "add_words", pieces=True)
    contents = [_content(tok, word) for word in wanted]
    vocabulary, ids, fates, num_merges = tok._core.append_entries(contents, next_id=tok.vocab_size, bridges=True)
    found, fate = column(ids), column(fates)
    _check(wanted, fate)
    made, plan, trees = grown(tok, vocabulary)
    by_text = [
        (word, id)
        for word, content, id in zip(wanted, contents, found.tolist(), strict=True)
        if tok.definition.is_byte_level or content.startswith(WORD_START)  # a piece without `▁` is only inside words
    ]
    _check_encoding(made, [word for word, _ in by_text], [id for _, id in by_text])
    new = np.arange(tok.vocab_size, made.vocab_size)
    report = {
        "verb": "add_words",
        "before": len(tok),
        "after": len(made),
        "words": len(wanted),
        "new_entries": int(new.size),
        "new_merges": num_merges,
        "unreachable": new[~trees.is_reached[new]].tolist(),
    }
    if (existing := int((fate == EXISTING).sum())) > 0:
        report["existing"] = existing
    if corpus is not None:
        report |= effect(tok, made, corpus, tok.vocab_size)
    return Surgery(made, plan, report)


def _content(tok: Tokenizer, word: str) -> bytes:
    try:
        content = word.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"words: {word!r} contains a lone surrogate", option="words") from None
    if not content:
        raise ConfigError("words: a word is empty", option="words")
    has_mark = not tok.definition.is_byte_level and tok._core.find(WORD_START, False) is not None
    return content.replace(b" ", WORD_START) if has_mark else content


def _check(words: list[str], fates: np.ndarray) -> None:
    for kind, why in (
        (NO_SYMBOL, "has a character that is not in the vocabulary"),
        (ADDED, "is an added token, which is matched before the model runs"),
    ):
        if (found := np.flatnonzero(fates == kind)).size:
            raise ConfigError(f"words: {words[found[0]]!r:.80} {why}", option="words")


def _check_encoding(tok: Tokenizer, words: list[str], ids: list[int]) -> None:
    """Checks that the encoding of each word contains the id of the word's entry.

    Other ids are allowed in the encoding, for example the id of a prefix that the tokenizer adds to the text.

    Raises:
        ConfigError: the id is missing.
    """
    batch = tok.encode_batch(words, special="none", add_special_tokens=False)
    rows = np.repeat(np.arange(len(words)), np.diff(batch.offsets).astype(np.int64))
    holds = np.zeros(len(words), bool)
    holds[rows[batch.ids == np.array(ids, np.int64)[rows]]] = True
    if not holds.all():
        word = words[int(np.flatnonzero(~holds)[0])]
        shown = tok.tokenize(word, special="none").tokens
        raise ConfigError(
            f"words: {word!r:.80} is not one token: the tokenizer normalizes or splits it before the model runs, into "
            f"{shown}",
            option="words",
        )
