"""`measure` finds how well tokenizers compress corpora: bytes per token, fertility, unknown tokens, time.

This module checks the arguments and assigns names to tokenizers and sources; `measure_run` measures.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, overload

from ..corpus import Corpus, CorpusLike, Source, open_corpus
from ..errors import ConfigError, keyword
from ..tokenizer import Tokenizer
from ..training import Limits
from ..util.arguments import flag, instance, integer
from ..util.progress import Progress, make_reporter
from .measure_run import MeasureRun
from .measure_table import Measure, MeasureTable
from .named import named_tokenizers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["encode_texts", "measure"]

MAX_REPEAT = 1000


@overload
def measure(
    tok: Tokenizer,
    corpus: CorpusLike | Corpus,
    *,
    words: bool = True,
    repeat: int = 0,
    max_bytes: int | None = None,
    by_file: Literal[False] = False,
    threads: int | None = None,
    progress: Progress = None,
    limits: Limits | None = None,
) -> Measure: ...
@overload
def measure(
    tok: Mapping[str, Tokenizer] | Sequence[Tokenizer],
    corpus: Mapping[str, CorpusLike | Corpus] | CorpusLike | Corpus,
    *,
    words: bool = True,
    repeat: int = 0,
    max_bytes: int | None = None,
    by_file: bool = False,
    threads: int | None = None,
    progress: Progress = None,
    limits: Limits | None = None,
) -> MeasureTable: ...
def measure(
    tok: Tokenizer | Mapping[str, Tokenizer] | Sequence[Tokenizer],
    corpus: Mapping[str, CorpusLike | Corpus] | CorpusLike | Corpus,
    *,
    words: bool = True,
    repeat: int = 0,
    max_bytes: int | None = None,
    by_file: bool = False,
    threads: int | None = None,
    progress: Progress = None,
    limits: Limits | None = None,
) -> Measure | MeasureTable:
    """Encodes a corpus and measures its compression; several tokenizers give a table of tokenizers × sources.

    Args:
        tok: a tokenizer. For a table, several tokenizers: name -> tokenizer, or a list. In a list, each tokenizer is
            named by its number, from 1. The first tokenizer is the baseline of the table.
        corpus: as in `jeton.train`; weights of sources have no effect. If the corpus is a list of `Source` objects and
            paths, a table has a row for each of them, named by its path. To choose the names, pass name -> corpus.
        words: also count words, and characters of scripts without spaces, for the figures of `Measure` that need these
            counts.
        repeat: to measure time, encode each batch this many times, and add up the shortest time of each batch. Reading
            is not included. The first repetition fills the tokenizer's caches. 0: time is not measured.
        max_bytes: measure only this many bytes at the start of each source of a table, or of the corpus. The last
            document is cut at its last line end within the limit or, without one, between two characters.
        by_file: if a source is a folder or glob, make a row for each of its files instead of one row.
        threads, progress: as in `jeton.train`.
        limits: as in `jeton.train`. The memory limit bounds the size of a batch of documents. Nothing is written to
            disk, so there is no checkpoint.

    Returns:
        A `Measure`; for several tokenizers, a `MeasureTable`.

    Raises:
        ConfigError: there are no tokenizers or no sources, or an option is invalid.
        InvalidTextError: one of the tokenizers cannot encode a text; the error names the tokenizer and the source.
        FileNotFoundError, FormatError: as `jeton.train`.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], vocab_size=260, pattern="gpt2", progress=False)
        >>> jeton.measure(tok, ["lower lowest"])
        Measure(bytes_per_token=2.000, chars_per_token=2.000, tokens_per_word=3.000, tokens=6, bytes=12)
    """
    toks = _tokenizers(tok)
    limits = Limits.of(limits, threads)
    flag(words, "words")
    flag(by_file, "by_file")
    integer(repeat, "repeat", 0, MAX_REPEAT)
    if max_bytes is not None:
        integer(max_bytes, "max_bytes", 1)
    is_table = not isinstance(tok, Tokenizer)
    if is_table:
        sources = _sources(corpus, by_file)
    elif by_file:
        raise ConfigError(f"{keyword('by_file', True)} needs a table: pass a list of tokenizers")
    else:
        sources = [("corpus", Corpus.of(corpus))]
    run = MeasureRun(toks, limits, words, repeat, max_bytes)
    opened = [(name, open_corpus(source)) for name, source in sources]  # before any work: a file can be missing
    with make_reporter(progress) as report:
        cells = [tuple(row) for row in run.measure(opened, report)]
    if not is_table:
        return cells[0][0]
    return MeasureTable(tuple(toks), tuple(name for name, _ in sources), tuple(cells), next(iter(toks)))


def encode_texts(tok: Tokenizer, texts: list[bytes], **options: Any) -> NDArray[np.uint32]:
    """Returns the ids of all texts, concatenated. Even a single text is encoded on all threads."""
    if len(texts) == 1:
        return tok.encode_array(texts[0], **options)
    return tok.encode_batch(texts, **options).ids


def _tokenizers(tok: Any) -> dict[str, Tokenizer]:
    """Checks the tokenizers and assigns names to them."""
    if isinstance(tok, Mapping | list | tuple):
        return named_tokenizers(tok, "tok", "measure")
    return {"tok": instance(tok, "tok", Tokenizer, "a Tokenizer; jeton.load loads one from a path or a name")}


def _sources(corpus: Any, by_file: bool) -> list[tuple[str, Corpus]]:
    """Returns the rows of a table: names and corpora."""
    if isinstance(corpus, Mapping):
        named = [(name, Corpus.of(each)) for name, each in corpus.items()]
        for name, _ in named:
            instance(name, "corpus", str, "a name of a source (a string)")
    else:
        whole = Corpus.of(corpus)
        places = _places(whole.sources)
        named = [(_name(place, number), replace(whole, sources=place)) for number, place in enumerate(places, 1)]
    if by_file:
        named = [row for name, each in named for row in _files(name, each)]
    if not named:
        raise ConfigError("corpus is empty: there are no sources to measure", option="corpus")
    return named


def _places(sources: Any) -> list[Any]:
    """Returns the members of a list of sources and paths; for any other corpus, a list with this corpus only."""
    if not isinstance(sources, list | tuple) or not sources:
        return [sources]
    return list(sources) if all(isinstance(each, Source | os.PathLike) for each in sources) else [sources]


def _name(place: Any, number: int) -> str:
    """Returns the name of a source: its path, the name of its stream, or its number."""
    if isinstance(place, Source):
        place = place.place
    if isinstance(place, str | os.PathLike):
        return os.fspath(place)
    name = getattr(place, "name", None)
    return name.strip("<>") if isinstance(name, str) and hasattr(place, "read") else f"source {number}"


def _files(name: str, corpus: Corpus) -> Iterator[tuple[str, Corpus]]:
    """Yields one row for each file if the source is a path, else a single row."""
    source = corpus.sources
    place: Any = source.place if isinstance(source, Source) else source
    if not isinstance(place, str | os.PathLike):
        yield name, corpus
        return
    for file in corpus.listing().files:
        one: Any = replace(source, place=file) if isinstance(source, Source) else file
        yield file, replace(corpus, sources=one, include=(), exclude=())
