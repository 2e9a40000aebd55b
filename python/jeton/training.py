"""corpus → counts → tokenizer.

`count_pretokens` reads and counts, `train` counts and learns. Options are decided here; counting and learning are the
core's, with the interpreter released. The result depends on the documents and their order alone: not on threads, and not
on how documents are spread over files.

Left out: Unigram and WordPiece, spilling to disk, sampling. Plain version: reference/step04_train.py.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import _core
from .atomic import write_atomically
from .corpus import Corpus, CorpusLike, open_corpus
from .definition import Definition, EndOfWordStyle, Level, Pattern, TieBreak
from .errors import ConfigError, TrainingError
from .progress import Progress, ProgressEvent, Reporter, make_reporter
from .tokenizer import Tokenizer, num_threads
from .trace import trace_training

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PRESETS", "Counts", "TrainingFacts", "TrainingLog", "TrainingStep", "count_pretokens", "train"]

_log = logging.getLogger("jeton")

# Documents go to the core in batches of this size: large enough that joining the threads' tables costs little beside
# counting, small enough that a batch of files fits beside its counts.
BATCH_BYTES = 64 << 20

TIE_BREAKS = ("first", "lowest_ids", "highest_pair", "shortest")


class _Preset(NamedTuple):
    """Defaults that make training equal to a peer's."""

    tie_break: TieBreak
    pattern: str
    special_tokens_first: bool = False
    by_code_point: bool = False


PRESETS: Mapping[str, _Preset] = {
    # karpathy/minbpe: BasicTokenizer; with pattern="gpt4" its RegexTokenizer
    "minbpe": _Preset("first", "none"),
    # HF tokenizers: BpeTrainer over ByteLevel() with initial_alphabet=ByteLevel.alphabet()
    "hf": _Preset("lowest_ids", "gpt2", special_tokens_first=True, by_code_point=True),
}


class Counts:
    """Distinct pretokens and how often each stands in a corpus, in order of first appearance.

    Attributes:
        pattern: how the text was split; None for counts that a caller gave.
        documents: how many documents were counted.
        corpus_bytes: their bytes.
        special_tokens: the special tokens that cut the documents.
        special_tokens_found: how often one of them stood in a document.

    Examples:
        >>> import jeton
        >>> counts = jeton.count_pretokens(["low low lower"], pattern="gpt2")
        >>> counts.items()
        [(b'low', 1), (b' low', 1), (b' lower', 1)]
        >>> (counts + counts).total
        6
    """

    def __init__(
        self,
        core: _core.Counts,
        *,
        pattern: Pattern | None,
        documents: int,
        corpus_bytes: int,
        special_tokens: Sequence[str] = (),
        special_tokens_found: int = 0,
    ) -> None:
        self._core = core
        self.pattern = pattern
        self.documents = documents
        self.corpus_bytes = corpus_bytes
        self.special_tokens = tuple(special_tokens)
        self.special_tokens_found = special_tokens_found

    @classmethod
    def from_mapping(cls, counts: Mapping[str, int] | Mapping[bytes, int]) -> Counts:
        """Counts that somebody else made: pretoken -> count.

        Raises:
            ConfigError: a count that is no integer from 0 to 2⁶⁴ - 1.
        """
        items = []
        for pretoken, count in counts.items():
            if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < 1 << 64:
                raise ConfigError(f"the count of {pretoken!r} is {count!r}, not an integer from 0 to 2^64 - 1")
            items.append((pretoken.encode() if isinstance(pretoken, str) else pretoken, count))
        corpus_bytes = sum(len(pretoken) * count for pretoken, count in items)
        return cls(_core.Counts.from_items(items), pattern=None, documents=0, corpus_bytes=corpus_bytes)

    def __len__(self) -> int:
        """Distinct pretokens."""
        return len(self._core)

    @property
    def total(self) -> int:
        """Pretokens, with repetition."""
        return self._core.total

    def items(self) -> list[tuple[bytes, int]]:
        """(pretoken, count) in order of first appearance."""
        return self._core.items()

    def most_common(self, n: int | None = None) -> list[tuple[bytes, int]]:
        """The n most frequent, most frequent first; ties by first appearance."""
        return sorted(self.items(), key=lambda item: -item[1])[:n]

    def __add__(self, other: Counts) -> Counts:
        """Both corpora together, this one first."""
        if not isinstance(other, Counts):
            return NotImplemented
        if self.pattern != other.pattern or self.special_tokens != other.special_tokens:
            raise ConfigError("counts made with different patterns or special tokens cannot be added")
        return Counts(
            self._core.merged(other._core),
            pattern=self.pattern,
            documents=self.documents + other.documents,
            corpus_bytes=self.corpus_bytes + other.corpus_bytes,
            special_tokens=self.special_tokens,
            special_tokens_found=self.special_tokens_found + other.special_tokens_found,
        )

    def __repr__(self) -> str:
        return f"Counts({len(self)} distinct pretokens, {self.total} in all)"


class TrainingStep(NamedTuple):
    """One merge, and the corpus after it: a row of the training log."""

    rank: int
    id: int
    left: int
    right: int
    token: bytes
    count: int
    corpus_tokens: int
    tokens_in_use: int
    bytes_per_token: float


class TrainingLog(Sequence[TrainingStep]):
    """Every merge in order, as it was learned; held in columns, and known only in the process that trained."""

    def __init__(self, columns: tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint32]], corpus_bytes: int) -> None:
        self._columns = columns
        self._corpus_bytes = corpus_bytes
        self._tok: Tokenizer | None = None

    def __len__(self) -> int:
        return len(self._columns[0])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        rank = range(len(self))[index]
        count, corpus_tokens, tokens_in_use = (int(column[rank]) for column in self._columns)
        bytes_per_token = self._corpus_bytes / corpus_tokens
        if self._tok is None:
            raise RuntimeError("a training log belongs to a tokenizer")
        left, right, id = self._tok.merges[rank]
        token = self._tok._spelled(id)
        return TrainingStep(rank, id, left, right, token, count, corpus_tokens, tokens_in_use, bytes_per_token)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the log as tab-separated text, one merge a line under a line of names, atomically."""
        with write_atomically(path) as file:
            file.write(("\t".join([*TrainingStep._fields[:4], "pair", *TrainingStep._fields[4:]]) + "\n").encode())
            for step in self:
                pair = "+".join(_readable(self._tok._spelled(id)) for id in (step.left, step.right))
                row = [*step[:4], pair, _readable(step.token), *step[5:8], f"{step.bytes_per_token:.4f}"]
                file.write(("\t".join(map(str, row)) + "\n").encode())


def _readable(token: bytes) -> str:
    """A token on one line of a table: Python's spelling of the string, or of the bytes where they are no text."""
    try:
        return repr(token.decode())
    except UnicodeDecodeError:
        return repr(token)


@dataclass(frozen=True, slots=True)
class TrainingFacts:
    """How a tokenizer was trained. Saved with it, save for what differs from run to run.

    Attributes:
        algorithm: ``"bpe"``.
        preset, tie_break, min_frequency: as asked.
        vocab_size: as asked; the tokenizer may have stopped short of it.
        num_merges: how many were learned.
        stopped: why training ended before `vocab_size`, or None.
        documents, corpus_bytes, pretokens, distinct_pretokens: what was counted.
        special_tokens_found: how often a special token stood in the corpus, where it cut the document.
        seconds: counting and learning, wall time; only in the process that trained.
        log: every merge; only in the process that trained.
    """

    algorithm: str
    preset: str | None
    tie_break: TieBreak
    min_frequency: int
    vocab_size: int
    num_merges: int
    stopped: str | None
    documents: int
    corpus_bytes: int
    pretokens: int
    distinct_pretokens: int
    special_tokens_found: int
    seconds: float | None = field(default=None, compare=False)
    log: TrainingLog | None = field(default=None, compare=False, repr=False)


def count_pretokens(
    corpus: CorpusLike,
    *,
    pattern: str | None = "o200k",
    special_tokens: Sequence[str] = (),
    documents: Literal["file", "line"] = "file",
    field: str = "text",
    errors: Literal["strict", "replace"] = "strict",
    threads: int | None = None,
    progress: Progress = None,
) -> Counts:
    """Counts the pretokens of a corpus.

    Args:
        corpus: a path, glob or folder; an iterable of documents (`str`, `bytes`) or of `Path`s.
        pattern: how to split: a name or a regex. None does not split.
        special_tokens: cut the documents where they stand and are never counted.
        documents: a text file is one document, or one a line.
        field: the field of JSONL that holds the text.
        errors: what to do with bytes that are not UTF-8: ``"strict"`` raises, ``"replace"`` puts U+FFFD and says so.
        threads: all cores by default, or what RAYON_NUM_THREADS says.
        progress: None draws a bar in a terminal; True, False, or a function that gets each event.

    Returns:
        64-bit counts in order of first appearance; the same for any number of threads.

    Raises:
        FileNotFoundError: a path that is not there; says how to pass text instead.
        InvalidTextError: bytes that are not UTF-8; names the file and the byte.
        FormatError: a compressed file or a row of JSONL that is broken.

    Examples:
        >>> import jeton
        >>> jeton.count_pretokens(["to be or not to be"], pattern="gpt2").most_common(1)
        [(b' be', 2)]
    """
    opened = open_corpus(corpus, documents=documents, field=field, errors=errors)
    with make_reporter(progress) as report:
        return _count(opened, Pattern.of(pattern), list(special_tokens), num_threads(threads), report)


def train(
    corpus: CorpusLike | Mapping[str, int] | Counts,
    vocab_size: int = 32_000,
    *,
    algorithm: str = "bpe",
    level: Level | None = None,
    pattern: str | None = None,
    normalizer: None = None,
    tie_break: TieBreak | None = None,
    min_frequency: int = 1,
    special_tokens: Sequence[str] = (),
    unk_token: str | None = None,
    end_of_word: str | None = None,
    end_of_word_style: EndOfWordStyle = "symbol",
    preset: Literal["minbpe", "hf"] | None = None,
    threads: int | None = None,
    progress: Progress = None,
    documents: Literal["file", "line"] = "file",
    field: str = "text",
    errors: Literal["strict", "replace"] = "strict",
    log: str | os.PathLike[str] | None = None,
    trace: bool | Callable[[str], None] = False,
) -> Tokenizer:
    """Trains a BPE tokenizer.

    Args:
        corpus: a path, glob or folder; an iterable of documents (`str`, `bytes`) or of `Path`s; a mapping pretoken ->
            count; or `Counts`.
        vocab_size: all entries: alphabet, merges and special tokens.
        algorithm: ``"bpe"``.
        level: ``"byte"`` starts from the 256 bytes, ``"char"`` from the characters of the corpus. By default ``"char"``
            when `end_of_word` is set, else ``"byte"``.
        pattern: how text is split before merging: a name or a regex (tiktoken's dialect); ``"none"`` does not split. By
            default ``"o200k"`` at byte level, ``"none"`` at character level, white-space words with `end_of_word`.
        normalizer: none is carried yet.
        tie_break: which of several most frequent pairs goes first: ``"lowest_ids"`` (the default), ``"first"``,
            ``"highest_pair"``, ``"shortest"``.
        min_frequency: pairs less frequent than this are not merged.
        special_tokens: control tokens. They cut the documents, are never learned, and get the last ids.
        unk_token: stands in for characters that training did not see; one of the special tokens, or one more.
        end_of_word: mark the end of each word with this, as in ``"</w>"``.
        end_of_word_style: the mark is a symbol of its own, or a suffix of the word's last character.
        preset: defaults that make the merges equal to a peer's: ``"minbpe"``, ``"hf"``. What is given wins.
        threads: all cores by default, or what RAYON_NUM_THREADS says. Does not change the result.
        progress: None draws a bar in a terminal; True, False, or a function that gets each `ProgressEvent`.
        documents, field, errors: how files are read, as in `count_pretokens`.
        log: a file to write the training log to: each merge with pair, count, token, tokens in use, bytes per token.
        trace: on small input, print the whole sequence before and after each merge; or a function that gets the lines.

    Returns:
        The tokenizer; `tok.training` says what was counted, and why training stopped when it stopped early.

    Raises:
        ConfigError: options that cannot work, such as a vocabulary size under the alphabet.
        TrainingError: a corpus without text.
        FileNotFoundError, InvalidTextError, FormatError: as `count_pretokens`.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], vocab_size=259, pattern="gpt2", progress=False)
        >>> [tok.vocab[new] for _, _, new in tok.merges]
        [b'lo', b'low', b' low']
        >>> jeton.train({"low": 5, "newest": 6}, 12, end_of_word="</w>", tie_break="first").merges[0]
        (0, 1, 8)

    Source:
        Sennrich et al. 2016, arXiv 1508.07909, section 3.2; tie rules as in DESIGN. Plain version:
        reference/step04_train.py.
    """
    plan = _Plan.make(
        vocab_size, algorithm, level, pattern, normalizer, tie_break, min_frequency, special_tokens, unk_token,
        end_of_word, end_of_word_style, preset,
    )  # fmt: skip
    began = time.perf_counter()
    kept: list[bytes] | None = [] if trace else None
    with make_reporter(progress) as report:
        if isinstance(corpus, Mapping):
            counts = Counts.from_mapping(corpus)
        elif isinstance(corpus, Counts):
            counts = plan.check_counts(corpus, pattern)
        else:
            opened = open_corpus(corpus, documents=documents, field=field, errors=errors)
            counts = _count(opened, plan.pattern, plan.special_tokens, num_threads(threads), report, kept)
        if not len(counts):
            raise TrainingError("the corpus holds no text to learn from")
        tok = _learn(counts, plan, report, began)
    if tok.training is not None and tok.training.log is not None and log is not None:
        tok.training.log.write(log)
    if trace:
        texts = kept or [pretoken for pretoken, _ in counts.items()]
        trace_training(tok, texts, split=bool(kept), write=trace if callable(trace) else print)
    return tok


@dataclass(frozen=True)
class _Plan:
    """Options of `train` with every default filled in."""

    vocab_size: int
    level: Level
    pattern: Pattern
    tie_break: TieBreak
    min_frequency: int
    special_tokens: list[str]
    unk_token: str | None
    end_of_word: str | None
    end_of_word_style: EndOfWordStyle
    preset: str | None

    @classmethod
    def make(
        cls,
        vocab_size: int,
        algorithm: str,
        level: Level | None,
        pattern: str | None,
        normalizer: object,
        tie_break: TieBreak | None,
        min_frequency: int,
        special_tokens: Sequence[str],
        unk_token: str | None,
        end_of_word: str | None,
        end_of_word_style: EndOfWordStyle,
        preset: str | None,
    ) -> _Plan:
        if algorithm != "bpe":
            raise ConfigError(f"algorithm={algorithm!r} is not carried yet; this version trains 'bpe'", option="algorithm")
        if normalizer is not None:
            raise ConfigError("normalizer= is not carried yet: normalize the documents before", option="normalizer")
        if preset is not None and preset not in PRESETS:
            raise ConfigError(f"there is no preset {preset!r}; presets: {', '.join(PRESETS)}", option="preset")
        given = PRESETS[preset] if preset else None
        if tie_break is None:
            tie_break = given.tie_break if given else "lowest_ids"
        if tie_break not in TIE_BREAKS:
            raise ConfigError(f"there is no tie rule {tie_break!r}; rules: {', '.join(TIE_BREAKS)}", option="tie_break")
        if level is None:
            level = "byte" if end_of_word is None else "char"
        if level not in ("byte", "char"):
            raise ConfigError(f"level={level!r} is neither 'byte' nor 'char'", option="level")
        if end_of_word == "":
            raise ConfigError("end_of_word is an empty string; None means no mark", option="end_of_word")
        if end_of_word_style not in ("symbol", "suffix"):
            raise ConfigError(
                f"end_of_word_style={end_of_word_style!r} is neither 'symbol' nor 'suffix'", option="end_of_word_style"
            )
        if pattern is None:
            default = "o200k" if level == "byte" else "none"
            pattern = "whitespace" if end_of_word else given.pattern if given and level == "byte" else default
        if end_of_word and pattern != "whitespace":
            raise ConfigError(
                f"end_of_word marks words, which are what white space separates; pattern={pattern!r} cuts them otherwise",
                option="pattern",
            )
        if isinstance(min_frequency, bool) or not isinstance(min_frequency, int) or min_frequency < 0:
            raise ConfigError(f"min_frequency={min_frequency!r} is not a natural number", option="min_frequency")
        specials = _special_tokens(special_tokens, unk_token)
        if isinstance(vocab_size, bool) or not isinstance(vocab_size, int):
            raise ConfigError(f"vocab_size={vocab_size!r} is not an integer", option="vocab_size")
        alphabet = 0 if level == "char" else 512 if end_of_word and end_of_word_style == "suffix" else 256 + bool(end_of_word)
        least = alphabet + len(specials)
        if vocab_size < max(least, 1):
            what = f"the {alphabet} symbols of the alphabet" if alphabet else "nothing"
            what += f" and {len(specials)} special tokens" if specials else ""
            raise ConfigError(f"vocab_size={vocab_size} has no room: {what} take {max(least, 1)}", option="vocab_size")
        return cls(
            vocab_size, level, Pattern.of(pattern), tie_break, min_frequency, specials, unk_token, end_of_word,
            end_of_word_style, preset,
        )  # fmt: skip

    def check_counts(self, counts: Counts, pattern: str | None) -> Counts:
        """Counts carry the pattern they were made with; another one would make a tokenizer that splits otherwise."""
        if counts.pattern is not None and counts.pattern != self.pattern:
            asked = f"pattern={pattern!r}" if pattern else f"the default pattern {self.pattern.text!r}"
            raise ConfigError(
                f"the counts were made with pattern {counts.pattern.text!r}, and {asked} is another; pass the same",
                option="pattern",
            )
        return counts


def _special_tokens(special_tokens: Sequence[str], unk_token: str | None) -> list[str]:
    if isinstance(special_tokens, str):
        raise ConfigError(f"special_tokens is a list; pass [{special_tokens!r}]", option="special_tokens")
    tokens = list(dict.fromkeys(special_tokens))
    if unk_token is not None and unk_token not in tokens:
        tokens.insert(0, unk_token)
    for token in tokens:
        if not isinstance(token, str) or not token:
            raise ConfigError(f"a special token is a string that is not empty, not {token!r}", option="special_tokens")
    return tokens


def _batches(corpus: Corpus, report: Reporter, kept: list[bytes] | None) -> Iterator[list[bytes]]:
    """The documents in groups of about BATCH_BYTES."""
    batch: list[bytes] = []
    size = 0
    for document in corpus:
        batch.append(document.data)
        size += len(document.data) + 64
        if kept is not None:
            kept.append(document.data)
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
            report(ProgressEvent("count", corpus.bytes_read, corpus.total_bytes, "B"))
    yield batch
    total = corpus.total_bytes if corpus.total_bytes is not None else corpus.bytes_read
    report(ProgressEvent("count", corpus.bytes_read, total, "B"))


def _count(
    corpus: Corpus,
    pattern: Pattern,
    special_tokens: list[str],
    threads: int,
    report: Reporter,
    kept: list[bytes] | None = None,
) -> Counts:
    counter = _core.Counter(pattern.text, is_regex=pattern.is_regex, special_tokens=special_tokens)
    for batch in _batches(corpus, report, kept):
        counter.add(batch, threads=threads)
    core, documents, corpus_bytes, found = counter.finish()
    for file, places in corpus.replaced.items():
        _log.warning("%s: %d places that are not UTF-8 became U+FFFD", file, places)
    return Counts(
        core,
        pattern=pattern,
        documents=documents,
        corpus_bytes=corpus_bytes,
        special_tokens=special_tokens,
        special_tokens_found=found,
    )


def _learn(counts: Counts, plan: _Plan, report: Reporter, began: float) -> Tokenizer:
    preset = PRESETS[plan.preset] if plan.preset else None
    first = len(plan.special_tokens) if preset and preset.special_tokens_first else 0
    room = plan.vocab_size - len(plan.special_tokens)
    vocabulary, num_symbols, *columns = counts._core.learn(
        level=plan.level,
        end_of_word_style=plan.end_of_word_style if plan.end_of_word else None,
        end_of_word=plan.end_of_word or "",
        tie_break=plan.tie_break,
        vocab_size=room,
        first_id=first,
        by_code_point=bool(preset and preset.by_code_point),
        min_frequency=plan.min_frequency,
        progress=lambda done: report(ProgressEvent("merge", done, room, "merges")),
    )
    num_merges = len(columns[0])
    asked = room - num_symbols
    report(ProgressEvent("merge", num_merges, num_merges, "merges"))
    stopped = None
    if num_merges < asked:
        least = max(plan.min_frequency, 1)
        what = "no pair is left" if least == 1 else f"no pair occurs {least} times"
        stopped = f"{what} after {num_merges} of {asked} merges"
        _log.warning("training stopped early: %s; the vocabulary has %d entries", stopped, len(vocabulary) + len(plan.special_tokens))
    log = TrainingLog((columns[0], columns[1], columns[2]), counts.corpus_bytes)
    facts = TrainingFacts(
        algorithm="bpe",
        preset=plan.preset,
        tie_break=plan.tie_break,
        min_frequency=plan.min_frequency,
        vocab_size=plan.vocab_size,
        num_merges=num_merges,
        stopped=stopped,
        documents=counts.documents,
        corpus_bytes=counts.corpus_bytes,
        pretokens=counts.total,
        distinct_pretokens=len(counts),
        special_tokens_found=counts.special_tokens_found,
        seconds=time.perf_counter() - began,
        log=log,
    )
    definition = Definition(
        level=plan.level,
        pattern=plan.pattern,
        end_of_word=plan.end_of_word,
        end_of_word_style=plan.end_of_word_style,
        unk_token=plan.unk_token,
        training=facts,
    )
    start = 0 if first else vocabulary.next_id()
    special = {token: start + i for i, token in enumerate(plan.special_tokens)}
    vocabulary = vocabulary.with_added(list(special.values()), [token.encode() for token in special], [True] * len(special))
    tok = Tokenizer(definition, vocabulary, special)
    log._tok = tok
    return tok
