"""``jeton sizes``: compares vocabulary sizes on a corpus."""

from __future__ import annotations

from typing import Any

import click

import jeton

from ..util.messages import translate
from .options import Command, CommonOptions, Count, common_options, corpus_options, sample_options
from .outputs import check_plot, check_tokenizer, save_tokenizer
from .quantities import counted, size
from .streams import input_corpus, write, write_json


class _Sizes(click.ParamType[list[int]]):
    """Type of a parameter that is a comma-separated list of sizes: 8000,16000 or 8k,16k."""

    name = "sizes"

    def convert(self, value: str | list[int], param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        """Parses the sizes."""
        if not isinstance(value, str):
            return value
        number = Count()
        try:
            return [number.convert(part.strip(), param, ctx) for part in value.split(",")]
        except click.BadParameter:
            self.fail(f"{value!r} is not a list of sizes like 8000,16000 or 8k,16k", param, ctx)


@click.command(cls=Command, short_help="Compare vocabulary sizes: compression and parameters.")
@click.option(
    "-s", "--sizes", type=_Sizes(), metavar="N,N,…", help="Sizes: 8k,16k,32k. Default: powers of two from 1,024."
)
@click.option("--hidden", type=Count(1), metavar="N", help="Hidden size of a model, to compute parameter counts.")
@click.option("--tied", is_flag=True, help="The model's output head and embedding are tied, and count once.")
@click.option("--test", multiple=True, metavar="PLACE", help="Text to measure on (repeatable). Default: held-out text.")
@click.option(
    "--held-out", type=float, default=0.05, show_default=True, metavar="SHARE", help="Share of held-out text."
)
@click.option("--level", type=click.Choice(["byte", "char"]), help="Initial symbols. Default: byte.")
@click.option("--pattern", metavar="NAME|REGEX", help="Pre-tokenization regex: o200k (the default), gpt2, none, …")
@click.option("--special-token", "special_tokens", multiple=True, metavar="T", help="A special token (repeatable).")
@click.option("--unk-token", metavar="T", help="Token for characters that are not in the vocabulary (level char).")
@click.option("--plot", type=click.Path(dir_okay=False), metavar="FILE", help="Save a plot: .png, .svg or .pdf.")
@click.option("-o", "--output", metavar="OUT", help="Save the tokenizer of the largest size.")
@corpus_options
@sample_options
@common_options
def sizes(
    common: CommonOptions,
    corpus: tuple[str, ...],
    reading: dict[str, Any],
    weights: tuple[float, ...],
    test: tuple[str, ...],
    plot: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Trains once on CORPUS and measures every vocabulary size on held-out text: bytes per token, and with --hidden the
    parameters of embedding and output head.

    \b
    Examples:
      jeton sizes texts/ --hidden 1024
      jeton sizes 'data/*.jsonl.gz' -s 16k,32k,64k,128k --hidden 4096 --tied --plot sizes.svg
      jeton sizes train/ --test test/ --sample 2GB --json
    """
    check_plot(plot)
    check_tokenizer(output)
    found = jeton.sizes(
        jeton.Corpus(input_corpus(common, corpus, weights), **reading),
        test=jeton.Corpus(input_corpus(common, test), **{**reading, "sample_bytes": None}) if test else None,
        threads=common.threads,
        progress=common.progress,
        **options,
    )
    for row in found:
        if common.as_json:
            write_json(row)
    if not common.as_json:
        write(str(found))
    learned = counted(len(found.tok.merges), "merge")
    common.say(translate("measured on {size}, {merges} learned", size=size(found.held_out_bytes), merges=learned))
    if plot is not None:
        found.plot(plot)
        common.say(translate("plotted {path}", path=plot))
    if output is not None:
        save_tokenizer(common, found.tok, output)
        common.say(translate("saved    {path}: {tokens}", path=output, tokens=counted(len(found.tok), "token")))
