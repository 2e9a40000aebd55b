"""``jeton names``: lists the tokenizers that can be loaded by name."""

from __future__ import annotations

import click

import jeton

from ..util.messages import translate
from .options import Command, CommonOptions, common_options
from .streams import write, write_json


@click.command(cls=Command, short_help="List the tokenizers that can be loaded by name.")
@click.argument("words", nargs=-1, metavar="[WORD]...")
@common_options
def names(common: CommonOptions, words: tuple[str, ...]) -> None:
    """Lists the tokenizers that -t accepts by name, with their other names and the models that use them; with WORDs,
    only those with a name that contains all of them. A star marks those that load without network access. Any other
    tokenizer of the Hugging Face hub loads as hf:owner/name. Models that Ollama has pulled are listed, too.

    \b
    Examples:
      jeton names
      jeton names gpt-4
      jeton names --json | jq -r 'select(.is_local).name'
    """
    is_found = False
    for named in jeton.names():
        spelled = (named.name, *named.aliases, *named.models, *(f"{prefix}*" for prefix in named.model_prefixes))
        if not all(any(word.lower() in name.lower() for name in spelled) for word in words):
            continue
        is_found = True
        if common.as_json:
            write_json(named)
        else:
            others = ", ".join(spelled[1:])
            write(f"{'*' if named.is_local else ' '} {named.name:<16}{'  ' + others if others else ''}".rstrip())
    if not is_found:
        common.say(translate("no name or model contains {words}", words=", ".join(map(repr, words))))
