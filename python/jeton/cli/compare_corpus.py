"""``jeton compare-corpus``: agreement of tokenizers on a corpus, and the passages that they split differently."""

from __future__ import annotations

from typing import Any

import click

import jeton

from ..util.messages import translate
from .options import Command, CommonOptions, Count, common_options, corpus_options, tokenizers_option
from .outputs import check_plot
from .streams import input_corpus, terminal_look, write, write_json


@click.command(cls=Command, short_help="Compare tokenizers on a corpus: agreement, vocabularies, differences.")
@tokenizers_option(required=True)
@click.option(
    "--top",
    type=Count(0),
    default=10,
    show_default=True,
    metavar="N",
    help="Number of differences to print, the most frequent ones.",
)
@click.option("--plot", type=click.Path(dir_okay=False), metavar="FILE", help="Save a plot: .png, .svg or .pdf.")
@corpus_options
@common_options
def compare_corpus(
    common: CommonOptions,
    names: tuple[str, ...],
    pattern: str | None,
    top: int,
    plot: str | None,
    corpus: tuple[str, ...],
    reading: dict[str, Any],
) -> None:
    """Compares tokenizers on all of CORPUS (files, globs or folders, or - for standard input): token boundaries and
    tokens in common, entries that both vocabularies have, entries that occur, Rényi efficiency, and the passages that
    are split differently most often. compare shows one text in detail.

    \b
    Examples:
      jeton compare-corpus -t cl100k -t o200k books/
      jeton compare-corpus -t my.json -t o200k --documents line --top 50 texts.txt
      jeton compare-corpus -t my.json -t o200k texts/ --plot compared.svg
      jeton compare-corpus -t my.json -t o200k texts/ --json | jq .agreement
    """
    check_plot(plot)
    found = jeton.compare_corpus(
        {name: jeton.load(name, pattern=pattern) for name in names},
        jeton.Corpus(input_corpus(common, corpus), **reading),
        max_differences=top,
        threads=common.threads,
        progress=common.progress,
    )
    if common.as_json:
        write_json(found)
    else:
        write(found.to_terminal(color=terminal_look()[0], most=top))
    if plot is not None:
        found.plot(plot)
        common.say(translate("plotted {path}", path=plot))
