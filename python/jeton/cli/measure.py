"""``jeton measure``: measures the compression of tokenizers on corpora, as a table of tokenizers × sources."""

from __future__ import annotations

from typing import Any

import click

import jeton

from ..analysis.measure_table import FIGURES
from ..util.messages import translate
from .options import ByteSize, Command, CommonOptions, Count, common_options, corpus_options, tokenizers_option
from .outputs import check_plot
from .streams import input_corpus, terminal_look, write, write_json


@click.command(cls=Command, short_help="Measure how well tokenizers compress texts: a table.")
@tokenizers_option()
@click.option("--by-file", is_flag=True, help="Output a row for each file, instead of for each CORPUS.")
@click.option("--baseline", metavar="NAME", help="The tokenizer to compare with, as in -t. Default: the first.")
@click.option(
    "--sort",
    type=click.Choice(["name", *FIGURES]),
    metavar="FIGURE",
    help=f"Sort the rows by name, or by a figure of the baseline, the largest first: {', '.join(FIGURES)}.",
)
@click.option(
    "--max-bytes",
    "--limit",
    type=ByteSize(),
    metavar="SIZE",
    help="Measure only the first bytes of each row: 500k, 2M.",
)
@click.option(
    "--repeat",
    type=Count(0),
    default=0,
    metavar="N",
    help="Measure the time of encoding, without reading: encode N times, and take the shortest time.",
)
@click.option("--no-words", is_flag=True, help="Leave out the figures of words, which take most of the time.")
@click.option("--csv", "as_csv", is_flag=True, help="Output CSV with a header.")
@click.option("--plot", type=click.Path(dir_okay=False), metavar="FILE", help="Save a plot: .png, .svg or .pdf.")
@corpus_options
@common_options
def measure(
    common: CommonOptions,
    names: tuple[str, ...],
    pattern: str | None,
    corpus: tuple[str, ...],
    reading: dict[str, Any],
    baseline: str | None,
    sort: str | None,
    no_words: bool,
    as_csv: bool,
    plot: str | None,
    **options: Any,
) -> None:
    """Measures tokenizers on each CORPUS: a file, glob or folder, or - for standard input. Each is a row, and with
    several, the last row has their totals.

    tok/word (fertility): tokens that a word overlaps, on average. Words are those of Unicode (UAX #29). Scripts
    without spaces between words (Chinese, Japanese, Thai, …) are measured in tokens per character instead, tok/char.
    whole words: share of words that no token boundary splits. vs: number of tokens, divided by the baseline's.

    \b
    Examples:
      jeton measure -t my.json texts/
      jeton measure -t my.json -t o200k_base english.txt chinese.txt --sort bytes_per_token
      jeton measure -t my.json -t o200k_base udhr/ --by-file --csv > languages.csv
      jeton measure -t my.json --repeat 3 --limit 20M --json test.jsonl.gz | jq .seconds_per_mb
      xzcat big.txt.xz | jeton measure -t my.json --documents line -
    """
    check_plot(plot)
    if as_csv and common.as_json:
        raise click.UsageError("--csv and --json cannot be combined")
    if baseline is not None and baseline not in names:
        raise click.UsageError(f"--baseline {baseline} is not one of the tokenizers given with -t: {', '.join(names)}")
    table = jeton.measure(
        {name: jeton.load(name, pattern=pattern) for name in names},
        jeton.Corpus(input_corpus(common, corpus), **reading),
        words=not no_words,
        threads=common.threads,
        progress=common.progress,
        **options,
    )
    if baseline is not None:
        table = table.relative_to(baseline)
    if sort is not None:
        table = table.sorted_by(sort)
    if common.as_json:
        for record in table.records():
            write_json(record)
    elif as_csv:
        write(table.to_csv().removesuffix("\n"))
    else:
        write(table.to_terminal(width=terminal_look()[1]))
    if plot is not None:
        table.plot(plot)
        common.say(translate("plotted {path}", path=plot))
