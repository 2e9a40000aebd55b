"""``jeton languages``: measures tokenizers on parallel text in many languages."""

from __future__ import annotations

import click

import jeton

from ..analysis.parallel.table import FIGURES, GROUPINGS
from ..util.messages import translate
from .options import Command, CommonOptions, common_options, tokenizers_option
from .outputs import check_plot
from .streams import write, write_json


@click.command(cls=Command, short_help="Compare languages: tokens of parallel text, relative to English.")
@click.argument("folder", required=False, type=click.Path(file_okay=False))
@tokenizers_option()
@click.option("--by", type=click.Choice(["language", *GROUPINGS]), default="language", help="Lines of the table.")
@click.option(
    "--figure",
    type=click.Choice(FIGURES),
    default="relative",
    help="Figure of each cell. fertility: tokens per word, or per character of scripts without spaces.",
)
@click.option(
    "--relative-to",
    metavar="CODE",
    default="eng",
    show_default=True,
    help="Language to compare with: name of its file.",
)
@click.option(
    "--sort", type=click.Choice(["tokens", "key"]), help="Sort the languages: the most tokens first, or by code."
)
@click.option("--csv", "as_csv", is_flag=True, help="Output CSV with a header: all figures by language and tokenizer.")
@click.option("--plot", type=click.Path(dir_okay=False), metavar="FILE", help="Save a heat map: .png, .svg or .pdf.")
@common_options
def languages(
    common: CommonOptions,
    folder: str | None,
    names: tuple[str, ...],
    pattern: str | None,
    by: str,
    figure: str,
    relative_to: str,
    sort: str | None,
    as_csv: bool,
    plot: str | None,
) -> None:
    """Measures tokenizers on the same text in many languages. FOLDER has a file for each language, named by its code of
    ISO 639, as eng.txt or cmn_hans.txt; for example the Universal Declaration of Human Rights
    (https://www.unicode.org/udhr/). Default: a paragraph in twenty languages that comes with Jeton.

    A text with less than a fifth of the characters of the English text is left out.

    \b
    Examples:
      jeton languages
      jeton languages -t o200k -t my.json udhr/ --by script
      jeton languages -t o200k -t my.json udhr/ --plot languages.svg
      jeton languages -t my.json udhr/ --figure fertility --by family
      jeton languages -t my.json udhr/ --json | jq .gini
    """
    check_plot(plot)
    if as_csv and common.as_json:
        raise click.UsageError("--csv and --json cannot be combined")
    toks = {name: jeton.load(name, pattern=pattern) for name in names}
    table = jeton.languages(toks, folder, relative_to=relative_to, threads=common.threads, progress=common.progress)
    if sort is not None:
        table = table.sorted_by(sort)  # type: ignore[arg-type]
    if common.as_json:
        write_json(table)
    elif as_csv:
        write(table.to_csv().removesuffix("\n"))
    else:
        write(table.to_terminal(by=by, figure=figure))  # type: ignore[arg-type]
    if plot is not None:
        table.plot(plot)
        common.say(translate("plotted {path}", path=plot))
