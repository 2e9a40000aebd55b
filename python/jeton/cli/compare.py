"""``jeton compare``: compares several tokenizers on one text."""

from __future__ import annotations

import click

import jeton

from .options import Command, CommonOptions, TextOptions, common_options, text_options, tokenizers_option
from .streams import input_texts, named, repaired, terminal_look, write, write_json


@click.command(cls=Command, short_help="Compare tokenizers on one text: counts, and boundaries that differ.")
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@tokenizers_option(required=True)
@text_options
@common_options
def compare(
    common: CommonOptions,
    names: tuple[str, ...],
    pattern: str | None,
    options: TextOptions,
    texts: tuple[str, ...],
) -> None:
    """Compares tokenizers on each TEXT, on each text of the files with --files, or on standard input: number of
    tokens, token boundaries that differ, and the tokens of each. The own tokens of a tokenizer are those that no other
    has at the same position.

    \b
    Examples:
      jeton compare -t my.json -t other.json "Hello there"
      jeton compare -t gpt2.tiktoken -t o200k_base --json < book.txt | jq .spread
    """
    if options.add_special_tokens:
        raise click.UsageError("compare does not support --add-special-tokens: it compares the text's own tokens")
    toks = {name: jeton.load(name, pattern=pattern) for name in names}
    color, width = terminal_look()
    for number, text in enumerate(input_texts(common, texts, options)):
        with named(text):
            found = repaired(common, text, options, lambda data: jeton.compare(toks, data, special=options.special))
        if common.as_json:
            write_json(found)
        else:
            write(("\n" if number else "") + found.to_terminal(color=color, width=width))
