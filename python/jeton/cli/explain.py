"""``jeton explain``: shows every step from a text to its ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .options import Command, CommonOptions, TextOptions, common_options, text_options, tokenizer_option
from .streams import input_texts, named, repaired, terminal_look, write, write_json

if TYPE_CHECKING:
    import jeton


@click.command(cls=Command, short_help="Show every step from a text to its ids.")
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@tokenizer_option
@text_options
@common_options
def explain(common: CommonOptions, tok: jeton.Tokenizer, options: TextOptions, texts: tuple[str, ...]) -> None:
    """Shows every step from each TEXT, each text of the files with --files, or standard input to its ids: the
    pretokens, the regex alternative that matched each of them, and every merge with its pair, its rank and the other
    candidates. For SentencePiece's BPE it shows the agenda with scores, positions and stale entries, for a Unigram
    model the scores of the best segmentations, for WordPiece the attempted matches. With --json, prints one complete
    object per text.

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
            write_json(explanation)
        else:
            write("\n" * (index > 0) + explanation.to_terminal(color=color, width=width))
