"""``jeton count``: how many tokens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from ..compression import decompressed
from ..corpus import files_of, open_place
from .options import Common, TextOptions, common_options, text_options, tokenizer_option
from .streams import Text, input_texts, named, repaired, write

if TYPE_CHECKING:
    import jeton


@click.command(short_help="How many tokens a text is.")
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--files", is_flag=True, help="The arguments are files, globs and folders; count each file, total last.")
@tokenizer_option
@text_options
@common_options
def count(common: Common, tok: jeton.Tokenizer, options: TextOptions, texts: tuple[str, ...], files: bool) -> None:
    """Counts the tokens of all TEXTs together, or of standard input. With --files, prints "N<TAB>name" for each file
    and the total last.

    \b
    Examples:
      jeton count -t my.json "Hello there"
      jeton count -t my.json < book.txt
      jeton count -t my.json --files chapters/*.txt
    """
    if files:
        if not texts:
            raise click.UsageError("--files needs the names of files")
        _count_files(common, tok, options, texts)
        return
    counts = []
    for text in input_texts(common, texts):
        with named(text):
            counts.append(_count_one(common, tok, options, text))
    write(json.dumps({"tokens": sum(counts)}) if common.as_json else str(sum(counts)))


def _count_one(common: Common, tok: jeton.Tokenizer, options: TextOptions, text: Text) -> int:
    return repaired(common, text, options, lambda data: tok.count(data, **options.keywords))


def _count_files(common: Common, tok: jeton.Tokenizer, options: TextOptions, places: tuple[str, ...]) -> None:
    total = 0
    for path in [path for place in places for path in files_of(place)]:
        with open_place(path) as raw, decompressed(raw, path) as stream:
            text = Text(stream.read(), path)
        with named(text):
            tokens = _count_one(common, tok, options, text)
        total += tokens
        write(json.dumps({"file": text.name, "tokens": tokens}) if common.as_json else f"{tokens}\t{text.name}")
    write(json.dumps({"total": total}) if common.as_json else f"{total}\ttotal")
