"""Replays a training run: shows the text before and after every merge, with the counts of its pairs.

The learner does not store the text after each merge, so the merges are applied again. Plain Python recounts all pairs
for every merge, so the time is proportional to text × merges.

WordPiece and SentencePiece models store no merges, so the merges are read from the training log. These models do not
split a text into the same pretokens in training as in encoding, so a replay needs the pretoken counts of the training.

Left out: Unigram, which prunes pieces instead of merging, and second stages that merge across words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from ..corpus import Corpus, CorpusLike, open_corpus
from ..definition import Bpe, Pieces, WordPiece
from ..drawing import quoted
from ..errors import ConfigError, TrainingError, keyword
from ..tokenizer import Tokenizer
from ..tokens.spelling import Spelling
from ..util.arguments import instance, integer
from .counts import Counts
from .replay_result import PairCount, Replay, ReplayedSequence, ReplayedStep
from .rules import Rules

__all__ = ["replay", "replay_texts"]

# Limits: every step recounts the whole text. 10,000 bytes and 1,000 merges take about two seconds.
MAX_BYTES = 10_000
MAX_MERGES = 10_000

_WALL = -1  # separator after each sequence; it is never an id


def replay(tok: Tokenizer, corpus: CorpusLike | Corpus | Mapping[str, int] | Counts, *, top: int = 10) -> Replay:
    """Replays a training run.

    Args:
        tok: the trained tokenizer. `jeton.prune` reduces a large tokenizer to its first merges. A tokenizer that stores
            no merges (``preset="bert"``, ``"sentencepiece"``) can only be replayed in the process that trained it.
        corpus: the training corpus of the tokenizer, or another text; at most 10,000 bytes. In another text, the pair
            that is merged is not always the most frequent pair. For a tokenizer without stored merges, and for a
            tokenizer with a prefix on its symbols, `corpus` must be the `Counts` of the training.
        top: number of most frequent pairs to list in each step.

    Raises:
        ConfigError: the tokenizer has no merges; the tokenizer has merges across words; documents were passed where
            counts are needed; the text is too long; there are too many merges; or a character is not in the vocabulary.
        TrainingError: the corpus has no text.
        FileNotFoundError, InvalidTextError, FormatError: as `train`.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], 258, pattern="gpt2", progress=False)
        >>> print(jeton.replay(tok, ["low lower lowest"]))
        ['l', 'o', 'w'] | [' ', 'l', 'o', 'w', 'e', 'r'] | [' ', 'l', 'o', 'w', 'e', 's', 't']
        (108, 111) -> 256 'lo' ×3  ['lo', 'w'] | [' ', 'lo', 'w', 'e', 'r'] | [' ', 'lo', 'w', 'e', 's', 't']
        (256, 119) -> 257 'low' ×3  ['low'] | [' ', 'low', 'e', 'r'] | [' ', 'low', 'e', 's', 't']
        >>> [pair.pair_count for pair in jeton.replay(tok, ["low lower lowest"], top=4).steps[0].pairs]
        [3, 3, 2, 2]

    Source:
        Sennrich et al. 2016, arXiv 1508.07909, section 3.2. Plain version: reference/step04_train.py.
    """
    instance(tok, "tok", Tokenizer, "a Tokenizer")
    integer(top, "top", 0)
    if isinstance(corpus, Mapping | Counts):
        counts = corpus if isinstance(corpus, Counts) else Counts.from_mapping(corpus)
        items = counts.items()
        texts, numbers = [text for text, _ in items], [count for _, count in items]
        return replay_texts(tok, texts, numbers, split=False, top=top, num_bytes=counts.corpus_bytes)
    texts = []
    for batch in open_corpus(corpus).batches(MAX_BYTES):
        if batch.weight != 1:
            raise ConfigError("replay does not support weighted sources; pass counts instead", option="corpus")
        texts += batch.texts
        _check_size(sum(map(len, texts)))  # after each batch, so that a file that is too large is not read to its end
    return replay_texts(tok, texts, top=top)


def replay_texts(
    tok: Tokenizer,
    texts: Sequence[bytes],
    counts: Sequence[int] | None = None,
    *,
    split: bool = True,
    top: int = 10,
    num_bytes: int = 0,
) -> Replay:
    """Implements `replay` for documents, or with split=False for pretokens with their counts.

    `num_bytes`: size of the corpus; 0: the size of the texts.

    Examples:
        >>> import jeton
        >>> tok = jeton.train({"low": 5, "newest": 6}, 9, end_of_word="</w>", progress=False)
        >>> replay_texts(tok, [b"low", b"newest"], [5, 6], split=False).steps[0].pair_count
        6
    """
    facts, merges = tok.training, _merges(tok)
    if facts is not None and facts.superwords:
        raise ConfigError("two stages of training cannot be replayed; tok.training.log has their merges")
    if split and _is_by_words(tok):
        raise ConfigError(
            f"a {tok.definition.model.type} model is replayed on the counts of its training; pass these instead of "
            "documents",
            option="corpus",
        )
    if len(merges) > MAX_MERGES:
        raise ConfigError(
            f"{len(merges)} merges exceed the maximum of a replay, {MAX_MERGES}; jeton.prune with a smaller "
            "vocab_size keeps the first ones",
            option="tok",
        )
    _check_size(sum(map(len, texts)))
    run = _ReplayRun(tok, top)
    weighted = list(zip(texts, counts or [1] * len(texts), strict=True))
    num_bytes = num_bytes or sum(len(text) * count for text, count in weighted)
    for text, count in weighted:
        for pretoken in _pretokens(tok, text) if split else [text]:
            run.add(_symbols(tok, pretoken), count)
    if not run.starts:
        raise TrainingError("the corpus contains no text")
    steps = [run.merge(rank, *merge, num_bytes) for rank, merge in enumerate(merges)]
    tie_break = facts.tie_break if facts else None
    return Replay(run.sequences(), steps, num_bytes, tie_break, facts.stopped if facts else None, run.spell)


def _merges(tok: Tokenizer) -> Sequence[tuple[int, int, int]]:
    """Returns the merges of the model, or else those in the log of its training.

    Raises:
        ConfigError: there are no merges.
    """
    model, facts = tok.definition.model, tok.training
    if isinstance(model, Bpe):
        return tok.merges
    if isinstance(model, Pieces | WordPiece) and facts is not None and facts.log is not None:
        return [(step.left, step.right, step.id) for step in facts.log]
    raise ConfigError(f"a {model.type} model has no merges that can be replayed", option="tok")


def _is_by_words(tok: Tokenizer) -> bool:
    """True if training and encoding use different pretokens, or if symbols have a prefix that is not in the text."""
    model = tok.definition.model
    return not isinstance(model, Bpe) or bool(model.continuing_subword_prefix)


def _check_size(num_bytes: int) -> None:
    if num_bytes > MAX_BYTES:
        raise ConfigError(
            f"a replay processes the whole text once per merge: {num_bytes} bytes exceed the maximum of {MAX_BYTES}; "
            f"{keyword('log')} of jeton.train writes a line per merge for any corpus",
            option="corpus",
        )


class _ReplayRun:
    """State of a replay at one step: all sequences, concatenated, with a separator after each."""

    def __init__(self, tok: Tokenizer, top: int) -> None:
        facts = tok.training
        self.spell = Spelling(tok)
        self.starts: list[tuple[int, int]] = []  # (start, count) of each sequence
        self._top = top
        self._tie_break = facts.tie_break if facts else None
        self._rules = Rules(**facts.rules) if facts and facts.rules else None
        model = tok.definition.model
        self._by_character = not isinstance(model, Bpe) or model.level == "char"
        self._first: list[int] = []  # symbols before the first merge, with separators
        self._joined: list[int | None] = []  # for each symbol: rank of the merge that removed the boundary after it
        self._ids: list[int] = []  # current symbols, with separators
        self._ends: list[int] = []  # for each item of `_ids`: index in `_first` of the item's last symbol
        self._weighted = False
        self._symbols: dict[int, int] = {}  # id -> number of alphabet symbols in the token
        self._allowed: dict[tuple[int, int], bool] = {}

    def add(self, ids: list[int], count: int) -> None:
        """Appends a sequence of ids that occurs `count` times."""
        if not ids:
            return
        self.starts.append((len(self._first), count))
        self._weighted |= count != 1
        self._first += [*ids, _WALL]
        self._joined += [None] * (len(ids) + 1)
        self._ids += [*ids, _WALL]
        self._ends = list(range(len(self._first)))

    def sequences(self) -> list[ReplayedSequence]:
        """Returns the sequences, with the rank of the merge that removed each boundary."""
        ends = [start - 1 for start, _ in self.starts[1:]] + [len(self._first) - 1]
        return [
            ReplayedSequence(tuple(self._first[start:end]), tuple(self._joined[start : end - 1]), count)
            for (start, count), end in zip(self.starts, ends, strict=True)
        ]

    def merge(self, rank: int, left: int, right: int, new: int, num_bytes: int) -> ReplayedStep:
        """Counts all pairs, then merges every occurrence of one pair, from left to right."""
        pairs = self._pairs()
        best = self._best(pairs)
        self._join(rank, left, right, new)
        self._symbols[new] = self._symbols.get(left, 1) + self._symbols.get(right, 1)
        tokens = self._num_tokens()
        token, pair_count = self.spell(new), pairs.get((left, right), 0)
        return ReplayedStep(
            rank, left, right, new, token, pair_count, best, len(pairs), tokens, num_bytes / tokens if tokens else 0.0
        )

    def _pairs(self) -> dict[tuple[int, int], int]:
        """Returns all pairs with their counts, in order of first appearance."""
        if self._weighted:
            counted: Counter[tuple[int, int]] = Counter()
            counts = iter([count for _, count in self.starts])
            count = next(counts)
            for pair in pairwise(self._ids):
                counted[pair] += count
                if pair[0] == _WALL:
                    count = next(counts)
        else:
            counted = Counter(pairwise(self._ids))
        return {pair: count for pair, count in counted.items() if _WALL not in pair}

    def _best(self, pairs: Mapping[tuple[int, int], int]) -> tuple[PairCount, ...]:
        """Returns the most frequent pairs that the rules permit.

        Pairs with equal counts are in order of first appearance, unless the tie rule gives another order.
        """
        if self._rules:
            pairs = {pair: count for pair, count in pairs.items() if self._may_merge(pair)}
        counts = sorted(pairs.values(), reverse=True)[: self._top]
        if not counts:
            return ()
        found = [pair for pair, count in pairs.items() if count >= counts[-1]]
        match self._tie_break:
            case "lowest_ids":
                found.sort()
            case "highest_pair":
                found.sort(key=lambda pair: (-pair[0], -pair[1]))
                found.sort(key=lambda pair: (self.spell(pair[0]), self.spell(pair[1])), reverse=True)
            case "shortest":
                found.sort(key=lambda pair: (self._size(pair), self.spell(pair[0]) + self.spell(pair[1]), pair))
        found.sort(key=lambda pair: -pairs[pair])  # a stable sort, which keeps the order of equal counts
        return tuple(PairCount(*pair, pairs[pair]) for pair in found[: self._top])

    def _size(self, pair: tuple[int, int]) -> int:
        return self._symbols.get(pair[0], 1) + self._symbols.get(pair[1], 1)

    def _may_merge(self, pair: tuple[int, int]) -> bool:
        if pair not in self._allowed and self._rules:
            token = self.spell(pair[0]) + self.spell(pair[1])
            self._allowed[pair] = self._rules.holds([token], by_character=self._by_character)[0]
        return self._allowed.get(pair, True)

    def _join(self, rank: int, left: int, right: int, new: int) -> None:
        ids, ends = self._ids, self._ends
        kept_ids: list[int] = []
        kept_ends: list[int] = []
        done = at = 0
        while True:
            try:
                at = ids.index(left, at)
            except ValueError:
                break
            if ids[at + 1] != right:  # `at + 1` is in range, because the last item is a separator
                at += 1
                continue
            self._joined[ends[at]] = rank
            kept_ids += [*ids[done:at], new]
            kept_ends += [*ends[done:at], ends[at + 1]]
            done = at = at + 2
        if done:
            self._ids = kept_ids + ids[done:]
            self._ends = kept_ends + ends[done:]

    def _num_tokens(self) -> int:
        if not self._weighted:
            return len(self._ids) - len(self.starts)
        total, sequence = 0, 0
        for id in self._ids:
            if id == _WALL:
                sequence += 1
            else:
                total += self.starts[sequence][1]
        return total


def _pretokens(tok: Tokenizer, text: bytes) -> Iterator[bytes]:
    """Yields the pretokens that training counted in a document; the special tokens between them are left out."""
    *_, pretokens, _ = tok._core.tokenize(text, "all")
    added = {token.content.encode() for token in tok.added_tokens.values()}
    for start, end, _ in pretokens:
        if text[start:end] not in added:
            yield text[start:end]


def _symbols(tok: Tokenizer, pretoken: bytes) -> list[int]:
    """Returns the ids of a pretoken's symbols before the first merge."""
    model = tok.definition.model
    if isinstance(model, Bpe) and model.level == "byte":
        units = [bytes([byte]) for byte in pretoken]
    else:
        units = [char.encode() for char in pretoken.decode()]
    if isinstance(model, Bpe | WordPiece) and (prefix := model.continuing_subword_prefix):
        units[1:] = [prefix.encode() + unit for unit in units[1:]]
    if not isinstance(model, Bpe) or model.end_of_word is None:
        return [_find(tok, unit, False) for unit in units]
    if model.end_of_word_style == "suffix":
        return [_find(tok, unit, index == len(units) - 1) for index, unit in enumerate(units)]
    return [*(_find(tok, unit, False) for unit in units), _find(tok, b"", True)]


def _find(tok: Tokenizer, unit: bytes, ends_word: bool) -> int:
    id = tok._core.find(unit, ends_word)
    if id is None:
        raise ConfigError(
            f"{quoted(unit)} is in the text, but not in the vocabulary: this is not the tokenizer's training corpus",
            option="corpus",
        )
    return id
