"""``jeton prune``: removes entries from a vocabulary."""

from __future__ import annotations

from typing import Any

import click

import jeton

from .options import Command, CommonOptions, Count, common_options, tokenizer_option
from .surgery import SurgeryOutput, surgery_options

__all__ = ["prune"]


@click.command(cls=Command, short_help="Remove tokens from a vocabulary.")
@click.argument("corpus", nargs=-1, metavar="[CORPUS]...")
@click.option("-s", "--vocab-size", type=Count(1), metavar="N", help="Number of entries to keep: 64000, 64k.")
@click.option(
    "--keep",
    type=click.File(encoding="utf-8"),
    multiple=True,
    metavar="FILE",
    help="File of tokens to keep, one per line.",
)
@click.option(
    "--remove",
    type=click.File(encoding="utf-8"),
    multiple=True,
    metavar="FILE",
    help="File of tokens to remove, one per line, special tokens too. Without other options, all others stay.",
)
@click.option(
    "--drop-references",
    is_flag=True,
    help="Drop roles, template, padding and chat template that refer to a token of --remove.",
)
@click.option("--keep-ids", is_flag=True, help="Keep the ids of the remaining tokens, with gaps between them.")
@surgery_options
@tokenizer_option
@common_options
def prune(
    common: CommonOptions,
    tok: jeton.Tokenizer,
    output: SurgeryOutput,
    corpus: tuple[str, ...],
    vocab_size: int | None,
    keep: tuple[Any, ...],
    remove: tuple[Any, ...],
    drop_references: bool,
    keep_ids: bool,
) -> None:
    """Removes tokens, and writes the smaller tokenizer to OUT. With CORPUS (files, globs, folders or counts, .jtc),
    the most used tokens stay; -s alone keeps the first merges, as training with this size learns them. The remaining
    tokens keep the merges that produce them; the alphabet and added tokens stay, unless --remove names them. Text of
    remaining tokens is encoded as before.

    \b
    Examples:
      jeton prune -t o200k_base -s 64k texts/ -o small.json
      jeton prune -t my.json --keep tokens.txt -o small.json --model model.safetensors small.safetensors
      jeton prune -t my.json -s 8000 -o small.json
      jeton prune -t my.json --remove unused.txt --keep-ids -o small.json
    """
    output.check()
    places: Any = corpus[0] if len(corpus) == 1 else [jeton.Source(place) for place in corpus]
    done = jeton.prune(
        tok,
        places if corpus else None,
        vocab_size=vocab_size,
        keep=_tokens(keep),
        remove=_tokens(remove),
        drop_references=drop_references,
        compact=not keep_ids,
    )
    output.save(common, done)


def _tokens(lists: tuple[Any, ...]) -> list[str] | None:
    """Returns the lines of files, without empty lines; None if no file is given."""
    lines = [line.rstrip("\r\n") for file in lists for line in file]
    return [line for line in lines if line] if lists else None
