"""``jeton chat``: renders messages with a chat template and encodes the result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from ..drawing import to_terminal
from ..errors import ChatTemplateError, FormatError
from .options import Command, CommonOptions, common_options, permission, special_option, tokenizer_option
from .streams import terminal_look, write

if TYPE_CHECKING:
    import jeton


@click.command(cls=Command, short_help="Render messages with a chat template, and encode them.")
@click.argument("file", type=click.File("rb"), default="-")
@click.option(
    "--template",
    metavar="NAME|FILE",
    help="Name of one of the tokenizer's templates or of Jeton's (chatml, llama3, mistral, gemma, phi3), or a Jinja "
    "file. Default: the tokenizer's template.",
)
@click.option("--generation-prompt", is_flag=True, help="Append the generation prompt, which begins the reply.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "ids", "tokens", "json"]),
    default="text",
    help="text: the rendered text; ids: numbers; tokens: drawn; json: text, ids, and the tokens of each message.",
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
    """Renders messages with a chat template. FILE, or standard input, is JSON: a list of messages, or an object with
    "messages" and optionally "tools" and "variables". Special tokens that messages spell are plain text unless
    --special permits them.

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
        try:
            mask: list[bool] | None = made.mask
        except ChatTemplateError:  # the template does not show what the model generates
            mask = None
        write(json.dumps({"text": made.text, "ids": made.ids, "turns": turns, "mask": mask}))
    elif form == "ids":
        write(" ".join(map(str, made.ids)))
    elif form == "tokens":
        color, width = terminal_look()
        write(to_terminal(made.encoding.drawing(), color=color, width=width if color else None, break_lines=color))
    else:
        write(made.text)


def _read(file: BinaryIO) -> tuple[Any, Any, Any]:
    """Reads (messages, tools, variables)."""
    try:
        data = json.loads(file.read())
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the messages are not JSON: {str(error)[:100]}", format="json") from None
    if isinstance(data, dict):
        return data.get("messages"), data.get("tools"), data.get("variables")
    return data, None, None
