"""``jeton compare``: compares several tokenizers on one text."""

from __future__ import annotations

import click

import jeton

from .options import Command, CommonOptions, TextOptions, common_options, text_options, tokenizers_option
from .running import DIFFERENT
from .streams import InputText, input_texts, named, repaired, terminal_look, write, write_json


@click.command(cls=Command, short_help="Compare tokenizers on one text: counts, and boundaries that differ.")
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--diff", is_flag=True, help="Compare two texts by one tokenizer: tokens removed and added.")
@tokenizers_option(required=True)
@text_options
@common_options
def compare(
    common: CommonOptions,
    names: tuple[str, ...],
    pattern: str | None,
    options: TextOptions,
    texts: tuple[str, ...],
    diff: bool,
) -> None:
    """Compares tokenizers on each TEXT, on each text of the files with --files, or on standard input: number of
    tokens, token boundaries that differ, and the tokens of each. A tokenizer's own tokens are those that no other has
    at the same position. With --diff, two texts by one tokenizer: exit code 4 if their ids differ.

    \b
    Examples:
      jeton compare -t my.json -t other.json "Hello there"
      jeton compare -t gpt2.tiktoken -t o200k_base --json < book.txt | jq .spread
      jeton compare -t o200k_base --diff --files prompt1.txt prompt2.txt
    """
    if options.add_special_tokens:
        raise click.UsageError("compare does not support --add-special-tokens: it compares the text's own tokens")
    toks = {name: jeton.load(name, pattern=pattern) for name in names}
    color, width = terminal_look()
    if diff:
        _diff(common, toks, [*input_texts(common, texts, options)], options)
        return
    for number, text in enumerate(input_texts(common, texts, options)):
        with named(text):
            found = repaired(common, text, options, lambda data: jeton.compare(toks, data, special=options.special))
        if common.as_json:
            write_json(found)
        else:
            write(("\n" if number else "") + found.to_terminal(color=color, width=width))


def _diff(
    common: CommonOptions, toks: dict[str, jeton.Tokenizer], texts: list[InputText], options: TextOptions
) -> None:
    """Compares the tokens that one tokenizer makes of two texts."""
    if len(toks) != 1 or len(texts) != 2:
        raise click.UsageError("--diff takes one tokenizer and two texts")
    (tok,) = toks.values()
    read: list[bytes | str] = []
    for text in texts:
        with named(text):
            read.append(repaired(common, text, options, lambda data: _checked(tok, data, options)))
    found = jeton.compare(tok, (read[0], read[1]), special=options.special)
    if common.as_json:
        write_json(found)
    else:
        color, width = terminal_look()
        write(found.to_terminal(color=color, width=width))
    if found.changes:
        raise click.exceptions.Exit(DIFFERENT)


def _checked(tok: jeton.Tokenizer, data: bytes | str, options: TextOptions) -> bytes | str:
    """Returns the text unchanged if the tokenizer can encode it; otherwise raises an error."""
    tok.count(data, special=options.special)
    return data
