"""``jeton prune``: removes entries from a vocabulary."""

from __future__ import annotations

from typing import Any

import click

import jeton

from .options import Command, CommonOptions, Count, common_options, tokenizer_option
from .surgery import SurgeryOutput, surgery_options

__all__ = ["prune"]


@click.command(cls=Command, short_help="Remove tokens from a vocabulary.")
@click.option("-s", "--size", type=Count(1), metavar="N", help="Number of entries that stay: 64000, 64k.")
@click.option(
    "--counts",
    multiple=True,
    metavar="PLACE",
    help="Text whose tokens stay, the most used first: files, globs, folders, or counts (.jtc) (repeatable).",
)
@click.option(
    "--keep",
    "lists",
    type=click.File(encoding="utf-8"),
    multiple=True,
    metavar="FILE",
    help="Tokens that stay, one a line.",
)
@surgery_options
@tokenizer_option
@common_options
def prune(
    common: CommonOptions,
    tok: jeton.Tokenizer,
    output: SurgeryOutput,
    size: int | None,
    counts: tuple[str, ...],
    lists: tuple[Any, ...],
) -> None:
    """Removes tokens, and writes the smaller tokenizer to OUT. Tokens that stay keep the merges through which text
    reaches them; alphabet and added tokens stay. Text of remaining tokens is encoded as before. -s alone keeps the
    first merges, as training with this size learns them.

    \b
    Examples:
      jeton prune -t o200k_base -s 64k --counts texts/ -o small.json
      jeton prune -t my.json --keep tokens.txt -o small.json --model model.safetensors small.safetensors
      jeton prune -t my.json -s 8000 -o small.json
    """
    output.check()
    lines = [line.rstrip("\r\n") for file in lists for line in file]
    places: Any = counts[0] if len(counts) == 1 else [jeton.Source(place) for place in counts]
    done = jeton.prune(
        tok, keep=[line for line in lines if line] if lists else None, counts=places if counts else None, size=size
    )
    output.save(common, done)
