"""``jeton explain``: every step between a text and its ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .options import Command, CommonOptions, TextOptions, common_options, text_options, tokenizer_option
from .streams import input_texts, named, repaired, terminal_look, write

if TYPE_CHECKING:
    import jeton


@click.command(cls=Command, short_help="Why a text becomes these ids.")
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@tokenizer_option
@text_options
@common_options
def explain(common: CommonOptions, tok: jeton.Tokenizer, options: TextOptions, texts: tuple[str, ...]) -> None:
    """Explains how each TEXT, each text of the files with --files, or standard input becomes ids: its pretokens, the
    part of the pattern that made each of them, and in each every merge with the pair, its rank, and what else could
    have merged. Of a Unigram model it shows the scores of the best ways, of WordPiece what was tried. With --json,
    everything as one object per text.

    \b
    Examples:
      jeton explain -t my.json "oldest"
      jeton explain -t my.json --json "oldest" | jq '.pretokens[].merges'
      jeton explain -t chat.json --special all "<|im_start|>user"
    """
    color, width = terminal_look()
    for index, text in enumerate(input_texts(common, texts, options)):
        with named(text):
            explanation = repaired(common, text, options, lambda data: tok.explain(data, special=options.special))
        if common.as_json:
            write(explanation.json)
        else:
            write("\n" * (index > 0) + explanation.to_terminal(color=color, width=width))
