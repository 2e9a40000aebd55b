"""``jeton sizes``: which vocabulary size a corpus is worth."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

import jeton

from .options import Command, CommonOptions, Count, common_options, corpus_options, sample_options
from .outputs import check_plot, check_tokenizer, save_tokenizer
from .quantities import counted, size
from .streams import input_corpus, write

if TYPE_CHECKING:
    from typing import Literal


class _Sizes(click.ParamType[list[int]]):
    """Sizes with commas between them: 8000,16000 or 8k,16k."""

    name = "sizes"

    def convert(self, value: str | list[int], param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        """The integers."""
        if not isinstance(value, str):
            return value
        number = Count()
        try:
            return [number.convert(part.strip(), param, ctx) for part in value.split(",")]
        except click.BadParameter:
            self.fail(f"{value!r} is not a list of sizes like 8000,16000 or 8k,16k", param, ctx)


@click.command(cls=Command, short_help="What each vocabulary size is worth, and what it costs.")
@click.option("-s", "--sizes", type=_Sizes(), metavar="N,N,…", help="The sizes: 8k,16k,32k; 1,024 doubled by default.")
@click.option("--hidden", type=Count(1), metavar="N", help="A model's width, to say what each size costs it.")
@click.option("--tied", is_flag=True, help="The model's output head is its embedding, which counts once.")
@click.option("--test", multiple=True, metavar="PLACE", help="Text to measure on (repeatable); else some is held out.")
@click.option("--held-out", type=float, default=0.05, show_default=True, metavar="SHARE", help="How much is held out.")
@click.option("--level", type=click.Choice(["byte", "char"]), help="What merges begin from; bytes by default.")
@click.option("--pattern", metavar="NAME|REGEX", help="How text is split first: o200k (the default), gpt2, none, …")
@click.option("--special-token", "special_tokens", multiple=True, metavar="T", help="A special token (repeatable).")
@click.option("--unk-token", metavar="T", help="Stands in for characters that training did not see (level char).")
@click.option("--plot", type=click.Path(dir_okay=False), metavar="FILE", help="Draw it: .png, .svg or .pdf.")
@click.option("-o", "--output", metavar="OUT", help="Save the tokenizer of the largest size.")
@corpus_options
@sample_options
@common_options
def sizes(
    common: CommonOptions,
    corpus: tuple[str, ...],
    errors: Literal["strict", "replace", "skip"],
    encoding: str,
    max_expansion: int | None,
    weights: tuple[float, ...],
    test: tuple[str, ...],
    plot: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Trains once on CORPUS and measures every vocabulary size on text that was not trained on: bytes per token, and
    with --hidden the parameters of embedding and output head.

    \b
    Examples:
      jeton sizes texts/ --hidden 1024
      jeton sizes 'data/*.jsonl.gz' -s 16k,32k,64k,128k --hidden 4096 --tied --plot sizes.svg
      jeton sizes train/ --test test/ --sample 2GB --json
    """
    check_plot(plot)
    check_tokenizer(output)
    found = jeton.sizes(
        input_corpus(common, corpus, weights),
        test=input_corpus(common, test) if test else None,
        errors=errors,
        encoding=encoding,
        max_expansion=max_expansion,
        threads=common.threads,
        progress=common.progress,
        **options,
    )
    for row in found:
        if common.as_json:
            write(json.dumps(row._asdict()))
    if not common.as_json:
        write(str(found))
    common.say(f"measured on {size(found.held_out_bytes)}, {counted(len(found.tok.merges), 'merge')} learned")
    if plot is not None:
        found.plot(plot)
        common.say(f"plotted {plot}")
    if output is not None:
        save_tokenizer(common, found.tok, output)
        common.say(f"saved   {output}: {counted(found.tok.num_tokens, 'token')}")
