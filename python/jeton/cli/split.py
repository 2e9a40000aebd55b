"""``jeton split``: divides texts into chunks with a maximum number of tokens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ..calls.cutting import SPLIT_UNITS
from .cutting import cut_options, text_argument
from .options import Command, CommonOptions, Count, TextOptions, common_options, text_options, tokenizer_option
from .streams import binary_output, input_texts, named

if TYPE_CHECKING:
    import jeton


@click.command(cls=Command, short_help="Split a text into chunks with a limited number of tokens.")
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@cut_options(SPLIT_UNITS)
@click.option(
    "--overlap",
    type=Count(0),
    default=0,
    metavar="N",
    help="Maximum number of tokens that a chunk repeats from the end of the previous one.",
)
@click.option("--separator", metavar="TEXT", help="Print the chunks as they are, with this line between them.")
@tokenizer_option
@text_options
@common_options
def split(
    common: CommonOptions,
    tok: jeton.Tokenizer,
    options: TextOptions,
    texts: tuple[str, ...],
    max_tokens: int,
    at: Any,
    overlap: int,
    separator: str | None,
) -> None:
    """Prints each text in chunks of at most -n tokens, as long as possible, one JSON object per line: {"text",
    "num_tokens", "char_span", "byte_span"}, and "source" with --files or several TEXTs. TEXT is a text, or with
    --files a file of texts; without TEXT, standard input is one text.

    \b
    Examples:
      jeton split -n 512 < book.txt > chunks.jsonl
      jeton split -n 512 --overlap 64 --at sentence --files chapters/*.txt
      jeton split -n 512 --at markdown --files docs/*.md > chunks.jsonl
      jeton split -t cl100k -n 20 --at word --separator "----" < page.txt
    """
    if separator is not None and common.as_json:
        raise click.UsageError("--separator prints texts; it cannot be combined with --json")
    out = binary_output()
    is_first = True
    for text in input_texts(common, texts, options):
        with named(text):
            data = text_argument(common, text, options)
            chunks = tok.split(data, max_tokens, overlap=overlap, at=at, **options.keywords)
        for chunk in chunks:
            if separator is None:
                facts = {
                    "text": chunk.text,
                    "num_tokens": chunk.num_tokens,
                    "char_span": chunk.char_span,
                    "byte_span": chunk.byte_span,
                }
                if text.name:
                    facts["source"] = text.name
                out.write(json.dumps(facts, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
            else:
                out.write((b"" if is_first else separator.encode() + b"\n") + chunk.text.encode() + b"\n")
                is_first = False
