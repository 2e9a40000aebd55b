"""``jeton measure``: measures the compression of a tokenizer on a corpus."""

from __future__ import annotations

import json
from typing import Any

import click

import jeton

from .options import Command, CommonOptions, common_options, corpus_options, tokenizer_option
from .streams import input_corpus, write


@click.command(cls=Command, short_help="Measure how well a tokenizer compresses a corpus.")
@tokenizer_option
@corpus_options
@common_options
def measure(
    common: CommonOptions,
    tok: jeton.Tokenizer,
    corpus: tuple[str, ...],
    reading: dict[str, Any],
) -> None:
    """Measures a tokenizer on CORPUS: files, globs and folders, or - for standard input.

    \b
    Examples:
      jeton measure -t my.json texts/
      jeton measure -t my.json --json test.jsonl.gz | jq .bytes_per_token
      xzcat big.txt.xz | jeton measure -t my.json -
    """
    result = jeton.measure(
        tok,
        jeton.Corpus(input_corpus(common, corpus), **reading),
        threads=common.threads,
        progress=common.progress,
    )
    facts = result.to_json()
    if common.as_json:
        write(json.dumps(facts))
        return
    for name, value in facts.items():
        write(
            f"{name.replace('_', ' '):<18} {value:>16,.4f}" if isinstance(value, float) else f"{name:<18} {value:>16,}"
        )
