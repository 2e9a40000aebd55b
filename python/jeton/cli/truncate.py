"""``jeton truncate``: shortens texts to a number of tokens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ..calls.cutting import UNITS
from .cutting import cut_options, text_argument
from .options import Command, CommonOptions, TextOptions, common_options, text_options, tokenizer_option
from .streams import binary_output, input_texts, named

if TYPE_CHECKING:
    import jeton


@click.command(cls=Command, short_help="Shorten a text to a number of tokens.")
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@cut_options(UNITS)
@click.option(
    "--side",
    type=click.Choice(["right", "left", "middle"]),
    default="right",
    show_default=True,
    help="Where text is removed. middle keeps both ends, with the marker between them.",
)
@click.option("--marker", default="…", show_default=True, help="Text in place of a removed middle; its tokens count.")
@tokenizer_option
@text_options
@common_options
def truncate(
    common: CommonOptions,
    tok: jeton.Tokenizer,
    options: TextOptions,
    texts: tuple[str, ...],
    max_tokens: int,
    at: Any,
    side: Any,
    marker: str,
) -> None:
    """Prints the longest part of each text whose own number of tokens is at most -n. TEXT is a text, or with --files a
    file of texts; without TEXT, standard input is one text. Each result is followed by a line end.

    With --json: {"text", "num_tokens", "truncated"} for each text.

    \b
    Examples:
      jeton truncate -n 100 < book.txt
      jeton truncate -t cl100k -n 8 --at word "The old man told the old tale"
      jeton truncate -n 500 --side middle --marker " […] " --files log.txt
      jeton truncate -n 512 --side left --json --files rows.jsonl
    """
    for text in input_texts(common, texts, options):
        with named(text):
            data = text_argument(common, text, options)
            cut = tok.truncate(data, max_tokens, side=side, marker=marker, at=at, **options.keywords)
            if common.as_json:
                facts = {"text": cut, "num_tokens": tok.count(cut, **options.keywords), "truncated": cut != data}
                binary_output().write(json.dumps(facts, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
            else:
                binary_output().write(cut.encode() + b"\n")
