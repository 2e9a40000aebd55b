"""Compression of a corpus by a tokenizer: bytes per token, characters per token, fertility."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..arguments import instance
from ..corpus import Corpus, CorpusLike, open_corpus
from ..progress import Progress, ProgressEvent, make_reporter
from ..tokenizer import Tokenizer
from ..training import Limits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Measure", "encode_texts", "measure"]

_log = logging.getLogger("jeton")

# Documents are encoded in batches of this size; the ids of a batch take about as much memory as its text.
BATCH_BYTES = 16 << 20


class Measure(NamedTuple):
    """Result of `measure`.

    Attributes:
        bytes_per_token: UTF-8 bytes per token; higher means fewer tokens.
        chars_per_token: characters per token.
        tokens_per_word: fertility: tokens per white-space-separated word. Not meaningful for text without spaces.
        tokens: total number of tokens.
        bytes: total number of UTF-8 bytes.

    Examples:
        >>> Measure(bytes_per_token=4.0, chars_per_token=4.0, tokens_per_word=1.5, tokens=3, bytes=12).tokens
        3
    """

    bytes_per_token: float
    chars_per_token: float
    tokens_per_word: float
    tokens: int
    bytes: int

    def to_json(self) -> dict[str, Any]:
        """The result as JSON."""
        return self._asdict()


def measure(
    tok: Tokenizer,
    corpus: CorpusLike | Corpus,
    *,
    documents: Literal["file", "line"] | None = None,
    field: str | None = None,
    errors: Literal["strict", "replace", "skip"] | None = None,
    threads: int | None = None,
    progress: Progress = None,
    limits: Limits | None = None,
) -> Measure:
    """Encodes a corpus and measures its compression. Ratios are 0.0 for an empty corpus.

    Args:
        tok: the tokenizer.
        corpus: as in `jeton.train`.
        documents, field, errors, threads, progress: as in `jeton.train`.
        limits: as in `jeton.train`: the memory limit bounds the size of a batch of documents. Nothing is written to
            disk, so there is no checkpoint.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], vocab_size=260, pattern="gpt2", progress=False)
        >>> jeton.measure(tok, ["lower lowest"])
        Measure(bytes_per_token=2.0, chars_per_token=2.0, tokens_per_word=3.0, tokens=6, bytes=12)
    """
    instance(tok, "tok", Tokenizer, "a Tokenizer; jeton.load makes one of a path or a name")
    limits = Limits.of(limits, threads)
    opened = open_corpus(corpus, documents=documents, field=field, errors=errors)
    tokens = num_bytes = chars = words = 0
    with make_reporter(progress) as report:
        for batch in opened.batches(min(BATCH_BYTES, limits.batch_bytes)):
            tokens += len(encode_texts(tok, batch.texts, threads=limits.num_threads))
            for data in batch.texts:
                text = data.decode()
                num_bytes += len(data)
                chars += len(text)
                words += len(text.split())
            report(ProgressEvent("encode", batch.bytes_read, opened.total_bytes, "B"))
    for complaint in opened.complaints():
        _log.warning(complaint, extra={"skipped": opened.num_skipped})
    return Measure(_ratio(num_bytes, tokens), _ratio(chars, tokens), _ratio(tokens, words), tokens, num_bytes)


def encode_texts(tok: Tokenizer, texts: list[bytes], **options: Any) -> NDArray[np.uint32]:
    """Ids of all texts, concatenated. A single text is encoded on all threads, too."""
    if len(texts) == 1:
        return tok.encode_array(texts[0], **options)
    return tok.encode_batch(texts, **options).ids


def _ratio(a: int, b: int) -> float:
    return a / b if b else 0.0
