"""``jeton merge-vocab``: appends one vocabulary to another."""

from __future__ import annotations

import click

import jeton

from .options import Command, CommonOptions, common_options
from .surgery import SurgeryOutput, surgery_options

__all__ = ["merge_vocab"]


@click.command("merge-vocab", cls=Command, short_help="Merge two vocabularies.")
@click.option(
    "-t",
    "--tokenizer",
    "names",
    multiple=True,
    required=True,
    metavar="PATH|NAME",
    help="The two tokenizers A and B, in this order: files or folders of any supported format, or names.",
)
@click.option("--pattern", metavar="NAME|REGEX", help="Pattern, for formats without one (rank files).")
@click.option("--corpus-a", multiple=True, metavar="PLACE", help="Text on which the agreement with A is measured.")
@click.option("--corpus-b", multiple=True, metavar="PLACE", help="Text on which the agreement with B is measured.")
@surgery_options
@common_options
def merge_vocab(
    common: CommonOptions,
    names: tuple[str, ...],
    pattern: str | None,
    corpus_a: tuple[str, ...],
    corpus_b: tuple[str, ...],
    output: SurgeryOutput,
) -> None:
    """Appends the entries of tokenizer B to tokenizer A, with merges that reach them, and writes the tokenizer to OUT.
    All ids of A stay.

    \b
    Examples:
      jeton merge-vocab -t english.json -t chinese.json -o both.json
      jeton merge-vocab -t r50k_base -t chinese.json -o both.json --corpus-a english.txt --corpus-b chinese.txt --json
    """
    if len(names) != 2:
        raise click.UsageError(f"-t is given {len(names)} times, but merge-vocab takes two tokenizers")
    output.check()
    a, b = (jeton.load(name, pattern=pattern) for name in names)

    def text(places: tuple[str, ...]) -> list[jeton.Source] | None:
        return [jeton.Source(place) for place in places] or None

    output.save(common, jeton.merge_vocab(a, b, corpus_a=text(corpus_a), corpus_b=text(corpus_b)))
