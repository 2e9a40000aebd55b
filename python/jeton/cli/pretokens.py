"""``jeton pretokens``: counts the pretokens of a corpus, or merges files of counts; saves and reports them."""

from __future__ import annotations

from typing import Any

import click

import jeton

from ..util.messages import translate
from .options import Command, CommonOptions, Count, common_options, corpus_options, memory_options
from .outputs import check_file, check_plot
from .quantities import counted, size
from .streams import input_corpus, write, write_json


@click.command(cls=Command, short_help="Count the pretokens of a corpus, for training or for a report.")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), metavar="FILE", help="Save the counts, for example counts.jtc."
)
@click.option("--pattern", default="o200k", show_default=True, metavar="NAME|REGEX", help="Pre-tokenization regex.")
@click.option(
    "--special-token",
    "special_tokens",
    multiple=True,
    metavar="T",
    help="Special token, at which documents are split (repeatable).",
)
@click.option("--min-count", type=Count(1), default=1, metavar="N", help="Omit rarer pretokens.")
@memory_options
@click.option("--report", is_flag=True, help="Show the most frequent pretokens, scripts, and vocabulary growth.")
@click.option(
    "--top", type=Count(0), default=20, show_default=True, metavar="N", help="Number of pretokens in --report."
)
@click.option(
    "--plot", type=click.Path(dir_okay=False), metavar="FILE", help="Plot vocabulary growth: growth.svg, growth.png."
)
@corpus_options
@common_options
def pretokens(
    common: CommonOptions,
    corpus: tuple[str, ...],
    reading: dict[str, Any],
    output: str | None,
    pattern: str,
    special_tokens: tuple[str, ...],
    min_count: int,
    limits: jeton.Limits,
    report: bool,
    top: int,
    plot: str | None,
) -> None:
    """Counts the pretokens of CORPUS: files, globs and folders, or - for standard input; or merges files of counts
    (.jtc) that were made with the same options.

    \b
    Examples:
      jeton pretokens texts/ -o counts.jtc --report
      jeton pretokens big/ -o counts.jtc --memory-limit 2GB --checkpoint state/
      jeton pretokens one.jtc two.jtc -o both.jtc
      jeton train both.jtc -o my.json -s 32000
    """
    from ..training.count import counts_of

    if output is None and plot is None and not report:
        raise click.UsageError("no output: pass -o FILE, --report or --plot FILE")
    check_file(output)
    check_plot(plot)
    places = input_corpus(common, corpus)
    counts = counts_of(places)
    if counts is None:
        counts = jeton.count_pretokens(
            jeton.Corpus(places, **reading),
            pattern=pattern,
            special_tokens=special_tokens,
            min_count=min_count,
            threads=common.threads,
            progress=common.progress,
            limits=limits,
        )
    elif min_count > 1:
        counts = counts.without_rare(min_count)
    if output is not None:
        counts.save(output)
        message = "counted  {size} in {documents}; {pretokens}, {distinct} of them distinct"
        common.say(
            translate(
                message,
                size=size(counts.corpus_bytes),
                documents=counted(counts.documents, "document"),
                pretokens=counted(counts.total, "pretoken"),
                distinct=f"{len(counts):,}",
            )
        )
        common.say(translate("saved    {path}", path=output))
    described = counts.report(top)
    if plot is not None:
        described.plot(plot)
    if common.as_json:
        write_json(described)
    elif report:
        write(str(described))
