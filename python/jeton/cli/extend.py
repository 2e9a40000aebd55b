"""``jeton extend``: continues training from the merges of a tokenizer."""

from __future__ import annotations

from typing import Any

import click

import jeton

from .options import (
    Command,
    CommonOptions,
    Count,
    common_options,
    corpus_options,
    memory_options,
    sample_options,
    tokenizer_option,
)
from .streams import input_corpus
from .surgery import SurgeryOutput, surgery_options

__all__ = ["extend"]


@click.command(cls=Command, short_help="Extend a vocabulary with merges learned from a corpus.")
@click.option("-n", "--merges", "n", type=Count(1), required=True, metavar="N", help="Number of merges: 5000, 5k.")
@click.option("--protect", multiple=True, metavar="PLACE", help="Text whose encoding stays unchanged (repeatable).")
@click.option("--other", multiple=True, metavar="PLACE", help="Text on which changes are measured (repeatable).")
@click.option("--min-frequency", type=Count(0), default=1, metavar="N", help="Minimum count of a merged pair.")
@surgery_options
@corpus_options
@sample_options
@memory_options
@tokenizer_option
@common_options
def extend(
    common: CommonOptions,
    tok: jeton.Tokenizer,
    output: SurgeryOutput,
    corpus: tuple[str, ...],
    reading: dict[str, Any],
    weights: tuple[float, ...],
    n: int,
    protect: tuple[str, ...],
    other: tuple[str, ...],
    min_frequency: int,
    limits: jeton.Limits,
) -> None:
    """Continues training from the merges of a tokenizer on CORPUS, appends N merges, and writes the tokenizer to OUT.
    Existing ids and merges do not change.

    \b
    Examples:
      jeton extend -t r50k_base -n 5000 chinese/ japanese/ -o more.json
      jeton extend -t my.json -n 2k medical.jsonl.gz --protect english.txt -o more.json --plan plan.json
      jeton extend -t folder -n 5k thai/ -o more --model model/ more-model/ --multiple-of 64
    """
    output.check()
    whole = {**reading, "sample_bytes": None}

    def text(places: tuple[str, ...]) -> jeton.Corpus | None:
        return jeton.Corpus(input_corpus(common, places), **whole) if places else None

    done = jeton.extend(
        tok,
        jeton.Corpus(input_corpus(common, corpus, weights), **reading),
        n,
        protect=text(protect),
        other=text(other),
        min_frequency=min_frequency,
        threads=common.threads,
        progress=common.progress,
        limits=limits,
    )
    output.save(common, done)
