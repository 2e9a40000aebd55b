"""``train``: a training run on a short text, with every step.

The page reconstructs the symbols of each step. For this, it has the initial symbols and, for each boundary between two
of them, the rank of the merge that removed the boundary. BPE of bytes and characters trains on the text in order.
The word-based algorithms train on each distinct word once, with its count. Unigram has no merges: each step is a
separate run with a smaller vocabulary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ...corpus import open_corpus
from ...definition import Pattern, SymbolLevel, TieBreak
from ...drawing import draw
from ...errors import ConfigError
from ...tokenizer import Tokenizer
from ...tokens.spelling import Spelling
from ...training import Counts, Limits, Replay, train
from ...training.count import count
from ...training.presets import Bert, SentencePiece, SentencePieceUnigram, TrainingPreset, resolve
from ...training.replay import replay
from ...training.request import TIE_BREAKS, TrainingRequest
from ..catalog import Catalog
from . import request_fields

__all__ = ["ALGORITHMS", "MAX_MERGES", "MAX_TEXT_BYTES", "answer"]

ALGORITHMS = ("bpe", "words", "wordpiece", "sentencepiece", "unigram")
# Every training step counts all pairs again; with these limits, a replay takes one or two seconds.
MAX_TEXT_BYTES = 10_000
MAX_MERGES = 500
# Upper bound of the alphabet's size plus the number of merges: a text has at most as many characters as bytes.
MAX_VOCAB_SIZE = MAX_TEXT_BYTES + MAX_MERGES
# Maximum number of times that Unigram is trained for a replay; each training takes some milliseconds.
MAX_RUNS = 20

END_OF_WORD = "</w>"
# Number of merges that word-based algorithms learn if no vocabulary size is given.
DEFAULT_MERGES = 30
RESERVED_PIECES = 3  # pieces of SentencePiece that are not learned: <unk>, <s>, </s>
# Training rules of the peer libraries, adapted to a text of a few words: rare characters and pairs are not dropped, and
# a small vocabulary is accepted.
PRESETS: Mapping[str, TrainingPreset] = {
    "wordpiece": Bert(min_frequency=1, limit_alphabet=None),
    "sentencepiece": SentencePiece(character_coverage=1.0, hard_vocab_limit=False),
    "unigram": SentencePieceUnigram(character_coverage=1.0, hard_vocab_limit=False, bug_compatible=False),
}


def answer(catalog: Catalog, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the names of all patterns, the steps of the training, and a table of how the page draws each token.

    The table takes the place of the bytes of the tokens.

    Examples:
        >>> run = answer(Catalog(cached=False), {"text": "abab abab", "vocab_size": 258, "pattern": "gpt2"})
        >>> [(step["id"], step["pair_count"], step["corpus_tokens"]) for step in run["steps"]]
        [(256, 4, 5), (257, 2, 3)]
        >>> run["table"]["257"]["parts"]
        [['text', 'abab', 'abab']]
        >>> words = answer(Catalog(cached=False), {"text": "low low lower", "algorithm": "words", "vocab_size": 9})
        >>> [(len(sequence["ids"]), sequence["count"]) for sequence in words["sequences"]]
        [(4, 2), (6, 1)]
    """
    text = request_fields.text(request, "text")
    num_bytes = len(text.encode())
    if num_bytes > MAX_TEXT_BYTES:
        raise ConfigError(
            f"the text has {num_bytes:,} bytes; the limit of this view is {MAX_TEXT_BYTES:,}",
            option="text",
        )
    algorithm = request_fields.one_of(request, "algorithm", ALGORITHMS, "bpe")
    vocab_size = request_fields.integer(request, "vocab_size", 276, 1, MAX_VOCAB_SIZE)
    given = vocab_size if "vocab_size" in request else None
    if algorithm == "unigram":
        return _common(algorithm, _unigram(text, given))
    if algorithm == "bpe":
        tok = _bpe(text, vocab_size, request)
        corpus: Sequence[str] | Counts = [text]
    else:
        tie_break = request_fields.one_of(request, "tie_break", TIE_BREAKS, "lowest_ids")
        corpus, tok = _words(text, given, algorithm, cast(TieBreak, tie_break))
    log = tok.training.log if tok.training else None
    num_merges = len(log or ())
    if num_merges > MAX_MERGES:
        raise ConfigError(
            f"the run has {num_merges:,} merges; the limit of this view is {MAX_MERGES:,}, a vocabulary size of "
            f"{len(tok) - num_merges + MAX_MERGES:,}",
            option="vocab_size",
        )
    run = replay(tok, corpus)
    facts = run.to_json()
    facts["table"] = _looks(run, facts.pop("tokens"))
    merged = _num_merged(run)
    for step in facts["steps"]:
        step["merged"] = merged[step["rank"]]
    facts["alphabet_size"] = len(tok) - num_merges - len(tok.special_tokens)
    facts["num_special"] = len(tok.special_tokens)
    facts["vocab_size"] = len(tok)
    return _common(algorithm, facts)


def _common(algorithm: str, facts: dict[str, Any]) -> dict[str, Any]:
    return {**facts, "algorithm": algorithm, "patterns": Pattern.names()}


def _bpe(text: str, vocab_size: int, request: Mapping[str, Any]) -> Tokenizer:
    """Trains BPE with Jeton's own rules, within the pretokens of a pattern."""
    level = cast(SymbolLevel, request_fields.one_of(request, "level", ("byte", "char"), "byte"))
    return train(
        [text],
        vocab_size,
        level=level,
        pattern=request_fields.text(request, "pattern", "none" if level == "char" else "o200k"),
        tie_break=cast(TieBreak, request_fields.one_of(request, "tie_break", TIE_BREAKS, "lowest_ids")),
        threads=1,
        progress=False,
    )


def _words(text: str, vocab_size: int | None, algorithm: str, tie_break: TieBreak) -> tuple[Counts, Tokenizer]:
    """Counts words, and trains a word-based algorithm on them.

    Without a size, training learns up to `DEFAULT_MERGES` merges.
    """
    preset = PRESETS.get(algorithm)
    if preset is None:
        own: dict[str, Any] = {"end_of_word": END_OF_WORD, "tie_break": tie_break}
        recipe = resolve(None).recipe(TrainingRequest(vocab_size=vocab_size or MAX_VOCAB_SIZE, **own))
    else:
        own = {"preset": preset}
        recipe = preset.recipe(TrainingRequest(vocab_size=vocab_size or MAX_VOCAB_SIZE))
    documents = text.split("\n") if recipe.by_line else [text]
    cuts = list(recipe.special_tokens)
    counts = count(open_corpus(documents), recipe.stages, cuts, lambda event: None, limits=Limits.of(None, 1))
    if vocab_size is None:
        words = [word.decode() for word, _ in counts.items()]
        alphabet = len({*"".join(words)}) + (preset is None)  # plus the end-of-word mark
        if algorithm == "wordpiece":
            # Characters after a word's first character get the prefix ##, and are then symbols of their own.
            alphabet += len({char for word in words for char in word[1:]})
        num_special = RESERVED_PIECES if algorithm == "sentencepiece" else len(recipe.special_tokens)
        vocab_size = alphabet + num_special + DEFAULT_MERGES
    return counts, train(counts, vocab_size, threads=1, progress=False, **own)


def _num_merged(run: Replay) -> Counter[int]:
    """Returns rank -> number of pairs that the merge of this rank joined.

    If occurrences of the pair overlap, this is less than the count of the pair.
    """
    merged: Counter[int] = Counter()
    for sequence in run.sequences:
        for rank in sequence.joined:
            if rank is not None:
                merged[rank] += sequence.count
    return merged


def _unigram(text: str, vocab_size: int | None) -> dict[str, Any]:
    """Trains Unigram several times, with ever smaller vocabularies.

    Their sizes descend from the largest vocabulary that the text yields to `vocab_size`. If `vocab_size` is None, the
    last vocabulary has only special tokens and single characters.
    """
    documents = text.split("\n")

    def trained(size: int) -> Tokenizer:
        return train(documents, size, preset=PRESETS["unigram"], threads=1, progress=False)

    tok = trained(MAX_VOCAB_SIZE)
    runs = [_unigram_run(tok, documents, None)]
    smallest = len(tok.special_tokens) + sum(len(piece) == 1 for piece in _pieces(tok))
    table = _piece_looks(tok)
    for size in _sizes(len(tok), smallest if vocab_size is None else vocab_size):
        before, tok = tok, trained(size)
        runs.append(_unigram_run(tok, documents, before))
        table = _piece_looks(tok) | table
    return {
        "runs": runs,
        "table": table,
        "corpus_bytes": sum(len(document.encode()) for document in documents),
        "vocab_size": len(tok),
    }


def _piece_looks(tok: Tokenizer) -> dict[str, Any]:
    """Returns piece -> look (how it is drawn), for pieces and special tokens."""
    spell = Spelling(tok)
    return {spell(id).decode(): draw([(id, spell(id))]).to_json()["table"][0] for id in sorted(tok.vocab)}


def _sizes(largest: int, smallest: int) -> list[int]:
    """Returns the vocabulary sizes of the runs after the first. They descend to `smallest` by a constant ratio.

    Examples:
        >>> _sizes(26, 22), _sizes(20, 30), len(_sizes(2_000, 100))
        ([25, 24, 23, 22], [], 20)
    """
    if smallest >= largest:
        return []
    if largest - smallest <= MAX_RUNS:
        return list(range(largest - 1, smallest - 1, -1))
    ratio = (smallest / largest) ** (1 / MAX_RUNS)
    return sorted({round(largest * ratio**run) for run in range(1, MAX_RUNS)} | {smallest}, reverse=True)


def _unigram_run(tok: Tokenizer, documents: Sequence[str], before: Tokenizer | None) -> dict[str, Any]:
    """Returns the facts of one training: pieces with scores, pieces that differ from `before`, tokens of the text."""
    spell, pieces = Spelling(tok), _pieces(tok)
    earlier = pieces if before is None else _pieces(before)
    tokens = [[spell(id).decode() for id in tok.encode(document)] for document in documents]
    return {
        "size": len(tok),
        "pieces": sorted(pieces.items(), key=lambda item: -item[1]),
        "dropped": sorted((item for item in earlier.items() if item[0] not in pieces), key=lambda item: item[1]),
        "added": [piece for piece in pieces if piece not in earlier],
        "tokens": tokens,
        "corpus_tokens": sum(map(len, tokens)),
    }


def _pieces(tok: Tokenizer) -> dict[str, float]:
    """Returns piece -> score, without special tokens."""
    spell, scores, special = Spelling(tok), tok._core.scores(), set(tok.special_tokens.values())
    return {spell(id).decode(): scores[id] for id in sorted(tok.vocab) if id not in special}


def _looks(run: Replay, tokens: Mapping[int, str]) -> dict[str, Any]:
    """Returns id -> look: how the token is drawn by itself."""
    drawn = {id: draw([(id, bytes.fromhex(data))]).to_json()["table"][0] for id, data in tokens.items()}
    return {str(id): look for id, look in drawn.items()}
