"""``jeton chat``: messages to one text and its ids, by a chat template."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from ..drawing import to_terminal
from ..errors import FormatError
from .options import Command, CommonOptions, common_options, permission, special_option, tokenizer_option
from .streams import terminal_look, write

if TYPE_CHECKING:
    import jeton


@click.command(cls=Command, short_help="Messages to text and ids, by a chat template.")
@click.argument("file", type=click.File("rb"), default="-")
@click.option(
    "--template",
    metavar="NAME|FILE",
    help="A template of the tokenizer's by name, one of Jeton's (chatml, llama3, mistral, gemma, phi3), or a Jinja "
    "file; the tokenizer's own by default.",
)
@click.option("--generation-prompt", is_flag=True, help="End the text with what opens an answer.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "ids", "tokens", "json"]),
    default="text",
    help="text: as the template writes it; ids: numbers; tokens: drawn; json: all of it, and which token is whose.",
)
@tokenizer_option
@special_option
@common_options
def chat(
    common: CommonOptions,
    tok: jeton.Tokenizer,
    file: BinaryIO,
    template: str | None,
    generation_prompt: bool,
    form: str,
    special: tuple[str, ...],
) -> None:
    """Writes messages down as a chat template does. FILE, or standard input, is JSON: a list of messages, or an object
    with "messages", and perhaps "tools" and "variables" of the template. What messages spell is text, also where it
    looks like a special token.

    \b
    Examples:
      jeton chat -t folder/ chat.json
      echo '[{"role": "user", "content": "hi"}]' | jeton chat -t chat.json --template chatml --format ids
      jeton chat -t folder/ --template mine.jinja --generation-prompt --format tokens chat.json
    """
    messages, tools, variables = _read(file)
    if template is not None and Path(template).is_file():
        template = Path(template).read_text(encoding="utf-8") + "\n"
    made = tok.chat(
        messages,
        tools=tools,
        template=template,
        add_generation_prompt=generation_prompt,
        special=permission(special),
        variables=variables,
    )
    if common.as_json or form == "json":
        turns = [{"message": turn.message, "role": turn.role, "token_spans": turn.token_spans} for turn in made.turns]
        write(json.dumps({"text": made.text, "ids": made.ids, "turns": turns, "mask": made.mask}))
    elif form == "ids":
        write(" ".join(map(str, made.ids)))
    elif form == "tokens":
        color, width = terminal_look()
        write(to_terminal(made.encoding.drawing(), color=color, width=width if color else None, break_lines=color))
    else:
        write(made.text)


def _read(file: BinaryIO) -> tuple[Any, Any, Any]:
    """Messages, tools and variables."""
    try:
        data = json.loads(file.read())
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the messages are no JSON: {str(error)[:100]}", format="json") from None
    if isinstance(data, dict):
        return data.get("messages"), data.get("tools"), data.get("variables")
    return data, None, None
