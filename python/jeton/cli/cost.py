"""``jeton cost``: tokens and price of a corpus, and documents longer than a context window."""

from __future__ import annotations

from typing import Any

import click

import jeton

from .options import Command, CommonOptions, Count, common_options, corpus_options, tokenizers_option
from .streams import input_corpus, write, write_json


@click.command(cls=Command, short_help="Compute the price of texts, and find documents longer than a context window.")
@tokenizers_option()
@click.option(
    "--price",
    "prices",
    multiple=True,
    type=click.FloatRange(0),
    metavar="AMOUNT",
    help="Price of a million tokens, in any currency. One for all tokenizers, or one after each -t.",
)
@click.option(
    "--window",
    "windows",
    multiple=True,
    type=Count(1),
    metavar="TOKENS",
    help="Tokens of the context window: 8192, 128k. One for all tokenizers, or one after each -t.",
)
@corpus_options
@common_options
def cost(
    common: CommonOptions,
    names: tuple[str, ...],
    pattern: str | None,
    prices: tuple[float, ...],
    windows: tuple[int, ...],
    corpus: tuple[str, ...],
    reading: dict[str, Any],
) -> None:
    """Counts the tokens of each CORPUS together (a file, glob or folder, or - for standard input): their price, and the
    documents that exceed the context window. windows: how many are needed if each document begins a new one.

    \b
    Examples:
      jeton cost report.txt --price 2.50
      jeton cost -t o200k --price 2.50 -t cl100k --price 10 --window 128k tickets.jsonl
      jeton cost -t my.json --window 8192 docs/ --json | jq '.[0].over_window'
    """
    table = jeton.cost(
        {name: jeton.load(name, pattern=pattern) for name in names},
        jeton.Corpus(input_corpus(common, corpus), **reading),
        price=_by_name("--price", names, prices),
        window=_by_name("--window", names, windows),
        threads=common.threads,
        progress=common.progress,
    )
    if common.as_json:
        write_json(table)
    else:
        write(str(table))


def _by_name(option: str, names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """Returns the values of an option: one value for all tokenizers, a dict by tokenizer, or None if not given."""
    if len(values) <= 1:
        return values[0] if values else None
    if len(values) != len(names):
        raise click.UsageError(
            f"{option} is given {len(values)} times for {len(names)} tokenizers; pass one for all, or one after each -t"
        )
    return dict(zip(names, values, strict=True))
