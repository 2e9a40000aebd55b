"""``jeton count``: counts tokens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from ..errors import JetonError
from .options import Command, CommonOptions, TextOptions, common_options, text_options, tokenizer_option
from .streams import InputText, holds_rows, input_files, input_texts, named, repaired, rows_of, texts_of, write

if TYPE_CHECKING:
    import jeton


@click.command(cls=Command, short_help="Count the tokens of a text.")
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@tokenizer_option
@text_options
@common_options
def count(common: CommonOptions, tok: jeton.Tokenizer, options: TextOptions, texts: tuple[str, ...]) -> None:
    """Counts the tokens of all TEXTs together, or of standard input. With --files, prints "N<TAB>name" for each file
    and then the total. Of files of rows (.jsonl, .json, .csv, .parquet, .arrow) the text field of each row is counted,
    as in training and measure.

    \b
    Examples:
      jeton count -t my.json "Hello there"
      jeton count -t my.json < book.txt
      jeton count -t my.json --files chapters/*.txt
    """
    if options.files:
        _count_files(common, tok, options, texts)
        return
    counts = []
    for text in input_texts(common, texts, options):
        with named(text):
            counts.append(_count_one(common, tok, options, text))
    write(json.dumps({"tokens": sum(counts)}) if common.as_json else str(sum(counts)))


def _count_one(common: CommonOptions, tok: jeton.Tokenizer, options: TextOptions, text: InputText) -> int:
    return repaired(common, text, options, lambda data: tok.count(data, **options.keywords))


def _count_files(common: CommonOptions, tok: jeton.Tokenizer, options: TextOptions, places: tuple[str, ...]) -> None:
    total = 0
    for file in input_files(places, options.field):
        if holds_rows(file):
            tokens = _count_rows(common, tok, options, file)
        else:
            tokens = 0
            for text in texts_of(file, options):
                with named(text):
                    tokens += _count_one(common, tok, options, text)
        total += tokens
        write(json.dumps({"file": file, "tokens": tokens}) if common.as_json else f"{tokens}\t{file}")
    write(json.dumps({"total": total}) if common.as_json else f"{total}\ttotal")


def _count_rows(common: CommonOptions, tok: jeton.Tokenizer, options: TextOptions, file: str) -> int:
    """Counts the tokens of a file's rows; encodes them in batches, because rows are many and short."""
    rows = rows_of(file, options)
    tokens = 0
    for batch in rows.batches():
        try:
            tokens += len(tok.encode_batch(batch.texts, threads=common.threads, **options.keywords).ids)
        except JetonError as error:
            error.prefix(f"{file}: ")
            raise
    for complaint in rows.complaints():
        common.warn(complaint)
    return tokens
