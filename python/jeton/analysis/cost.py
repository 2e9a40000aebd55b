"""Cost of a corpus for a model: its tokens, their price, and the documents that exceed the context window."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

from ..corpus import Corpus, CorpusLike, open_corpus
from ..drawing.display_width import aligned
from ..errors import ConfigError, keyword
from ..tokenizer import Tokenizer
from ..util.arguments import MAX_INT64, integer, is_finite, wrong
from ..util.progress import Progress, ProgressEvent, make_reporter
from .named import named_tokenizers

__all__ = ["Cost", "CostTable", "cost"]

NUM_LARGEST = 5
NONE = "–"
BATCH_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a corpus for one tokenizer: number of tokens, price, and use of the context window.

    Attributes:
        tokenizer: name of the tokenizer.
        documents: number of documents.
        bytes: number of UTF-8 bytes of the documents.
        tokens: number of tokens of the documents.
        price_per_million: price of a million tokens; None if it was not given.
        window: size of the context window, in tokens; None if it was not given.
        over_window: number of documents with more tokens than the window.
        windows: number of context windows for all documents, if each document begins a new window: the sum over
            documents of ceil(tokens / window).
        largest: tokens and source of the largest documents, the largest first.

    Examples:
        >>> Cost("o200k", 1, 8_000_000, 2_000_000, price_per_million=2.5, window=128_000).price
        5.0
    """

    tokenizer: str
    documents: int
    bytes: int
    tokens: int
    price_per_million: float | None = None
    window: int | None = None
    over_window: int = 0
    windows: int = 0
    largest: tuple[tuple[int, str], ...] = ()

    @property
    def price(self) -> float | None:
        """Price of all tokens, in the unit of `price_per_million`; None if no price was given."""
        return None if self.price_per_million is None else self.tokens * self.price_per_million / 1e6

    @property
    def bytes_per_token(self) -> float:
        """UTF-8 bytes per token; 0.0 if there are no tokens."""
        return self.bytes / self.tokens if self.tokens else 0.0

    def to_json(self) -> dict[str, Any]:
        """Returns the cost as JSON."""
        return {**asdict(self), "price": self.price, "bytes_per_token": self.bytes_per_token}


@dataclass(frozen=True, slots=True, repr=False)
class CostTable:
    """Costs of one corpus, for each of several tokenizers. ``str(costs)`` is a plain-text table.

    Attributes:
        costs: a `Cost` for each tokenizer.

    Examples:
        >>> import jeton
        >>> print(jeton.cost(jeton.default(), ["Hello there! " * 100, "short"], price=2.5, window=200, progress=False))
        tokenizer  tokens  bytes/tok   price  over window  windows
        tok           401      3.254  0.0010            1        3
        price: 2.5 per million tokens; window: 200 tokens
        largest documents: corpus[0] (400 tokens), corpus[1] (1)
    """

    costs: tuple[Cost, ...]

    def __getitem__(self, tokenizer: str) -> Cost:
        for each in self.costs:
            if each.tokenizer == tokenizer:
                return each
        names = ", ".join(each.tokenizer for each in self.costs)
        raise ConfigError(f"{keyword('tokenizer', tokenizer)} is not in the table; it has: {names}")

    def to_json(self) -> list[dict[str, Any]]:
        """Returns the table as JSON, a row for each tokenizer."""
        return [each.to_json() for each in self.costs]

    def __str__(self) -> str:
        return _text(self.costs)

    def __repr__(self) -> str:
        return f"CostTable({', '.join(f'{each.tokenizer}: {each.tokens:,} tokens' for each in self.costs)})"


def cost(
    toks: Tokenizer | Mapping[str, Tokenizer] | Sequence[Tokenizer],
    corpus: CorpusLike | Corpus,
    *,
    price: float | Mapping[str, float] | None = None,
    window: int | Mapping[str, int] | None = None,
    threads: int | None = None,
    progress: Progress = None,
) -> CostTable:
    """Counts the tokens of a corpus, their price, and the documents that exceed a context window.

    Args:
        toks: a tokenizer; or several: a mapping name -> tokenizer, or a list, in which they are named 1, 2, …
        corpus: as in `jeton.train`; weights of sources have no effect.
        price: price of a million tokens, in any currency: a number for all tokenizers, or name -> price.
        window: size of the context window, in tokens: a number for all tokenizers, or name -> size.
        threads, progress: as in `jeton.train`.

    Raises:
        ConfigError: there are no tokenizers, a price is negative, a window is below 1, or a name has no tokenizer.
        FileNotFoundError, FormatError, InvalidTextError: as `jeton.train`.

    Examples:
        >>> import jeton
        >>> found = jeton.cost(jeton.default(), ["Hello there! " * 1000], price=2.50, progress=False)
        >>> found["tok"].tokens, found["tok"].price
        (4000, 0.01)
    """
    named = {"tok": toks} if isinstance(toks, Tokenizer) else named_tokenizers(toks, "toks", "measure")
    prices, windows = _by_name(price, named, "price"), _by_name(window, named, "window")
    for name in named:
        _check_price(prices[name])
        if windows[name] is not None:
            integer(windows[name], "window", 1, MAX_INT64)
    counters = [_Counter(name, tok, prices[name], windows[name]) for name, tok in named.items()]
    reader = open_corpus(corpus)
    with make_reporter(progress) as report:
        for batch in reader.batches(BATCH_BYTES):
            for counter in counters:
                counter.add(batch, threads)
            report(ProgressEvent("encode", batch.bytes_read, reader.total_bytes, "B"))
    reader.log_complaints()
    return CostTable(tuple(counter.cost() for counter in counters))


def _by_name(value: Any, named: Mapping[str, Tokenizer], option: str) -> dict[str, Any]:
    """Returns the value of an option for each tokenizer."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(named, value)
    for name in value:
        if name not in named:
            message = (
                f"{keyword(option)} has {name!r}, which is not the name of a tokenizer; tokenizers: {', '.join(named)}"
            )
            raise ConfigError(message)
    return {name: value.get(name) for name in named}


def _check_price(price: Any) -> None:
    is_number = isinstance(price, Real) and not isinstance(price, bool)
    if price is not None and not (is_number and is_finite(price) and price >= 0):
        raise wrong("price", price, "a number of at least 0, the price of a million tokens")


class _Counter:
    """Totals of one tokenizer."""

    def __init__(self, name: str, tok: Tokenizer, price: float | None, window: int | None) -> None:
        self._name, self._tok, self._price, self._window = name, tok, price, window
        self._documents = self._bytes = self._tokens = self._over = self._windows = 0
        self._largest: list[tuple[int, str]] = []

    def add(self, batch: Any, threads: int | None) -> None:
        """Adds the documents of a batch."""
        import numpy as np

        counts = np.array(self._tok.count_batch(batch.texts, threads=threads), np.int64)
        self._documents += len(counts)
        self._bytes += sum(map(len, batch.texts))
        self._tokens += int(counts.sum())
        if self._window is not None:
            self._over += int(np.count_nonzero(counts > self._window))
            self._windows += int((-(-counts // self._window)).sum())
        largest = np.argsort(-counts, kind="stable")[:NUM_LARGEST].tolist()
        found = self._largest + [(int(counts[index]), batch.source(index)) for index in largest]
        self._largest = sorted(found, key=lambda each: -each[0])[:NUM_LARGEST]

    def cost(self) -> Cost:
        """Returns the totals."""
        return Cost(
            tokenizer=self._name,
            documents=self._documents,
            bytes=self._bytes,
            tokens=self._tokens,
            price_per_million=self._price,
            window=self._window,
            over_window=self._over,
            windows=self._windows,
            largest=tuple(self._largest),
        )


def _text(costs: Sequence[Cost]) -> str:
    """Returns the table as lines of text; columns without figures are omitted."""
    columns = {"tokenizer": [each.tokenizer for each in costs], "tokens": [f"{each.tokens:,}" for each in costs]}
    columns["bytes/tok"] = [f"{each.bytes_per_token:.3f}" for each in costs]
    if any(each.price is not None for each in costs):
        columns["price"] = [_money(each.price) for each in costs]
    if any(each.window is not None for each in costs):
        columns["over window"] = [NONE if each.window is None else f"{each.over_window:,}" for each in costs]
        columns["windows"] = [NONE if each.window is None else f"{each.windows:,}" for each in costs]
    lines = aligned(list(zip(*([heading, *cells] for heading, cells in columns.items()), strict=True)), num_names=1)
    lines += _footer(costs)
    return "\n".join(lines)


def _footer(costs: Sequence[Cost]) -> list[str]:
    lines, facts = [], []
    prices, windows = ({getattr(each, name) for each in costs} for name in ("price_per_million", "window"))
    if len(prices) == 1 and (price := prices.pop()) is not None:
        facts.append(f"price: {price:g} per million tokens")
    if len(windows) == 1 and (window := windows.pop()) is not None:
        facts.append(f"window: {window:,} tokens")
    if facts:
        lines.append("; ".join(facts))
    if costs[0].documents > 1:
        first, *others = costs[0].largest
        shown = [f"{first[1]} ({first[0]:,} tokens)", *(f"{source} ({tokens:,})" for tokens, source in others)]
        lines.append(f"largest documents: {', '.join(shown)}")
    return lines


def _money(price: float | None) -> str:
    """Formats a price with at least two significant digits."""
    if price is None:
        return NONE
    digits = 2 if price >= 1 or price == 0 else min(1 - math.floor(math.log10(price)), 9)
    return f"{price:,.{max(digits, 2)}f}"
