"""``jeton add-words``: adds words to a vocabulary."""

from __future__ import annotations

from typing import Any

import click

import jeton

from .options import Command, CommonOptions, common_options, tokenizer_option
from .surgery import SurgeryOutput, surgery_options

__all__ = ["add_words"]


@click.command("add-words", cls=Command, short_help="Add words to a vocabulary.")
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option(
    "--from",
    "lists",
    type=click.File(encoding="utf-8"),
    multiple=True,
    metavar="FILE",
    help="File of words, one per line.",
)
@click.option("--corpus", multiple=True, metavar="PLACE", help="Text on which changes are counted (repeatable).")
@surgery_options
@tokenizer_option
@common_options
def add_words(
    common: CommonOptions,
    tok: jeton.Tokenizer,
    output: SurgeryOutput,
    words: tuple[str, ...],
    lists: tuple[Any, ...],
    corpus: tuple[str, ...],
) -> None:
    """Adds each WORD as an entry, for BPE with merges, so that it is found inside of pretokens like any other token,
    and writes the tokenizer to OUT. For BPE, a leading space is part of a word; for WordPiece and Unigram, the word is
    one token where it occurs as a whole word. jeton add-tokens, in contrast, splits the text at a token before the
    model runs.

    \b
    Examples:
      jeton add-words -t my.json -o more.json ' tokenizer' tokenizer
      jeton add-words -t o200k_base -o more.json --from words.txt --corpus texts/
    """
    output.check()
    listed = [line.rstrip("\r\n") for file in lists for line in file]
    wanted = [*words, *(line for line in listed if line)]
    if not wanted:
        raise click.UsageError("no words are given: pass WORD, or --from FILE")
    places = [jeton.Source(place) for place in corpus]
    output.save(common, jeton.add_words(tok, wanted, corpus=places if corpus else None))
