"""``jeton chat``: renders messages with a chat template, and encodes them; checks templates; compares requests."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

import jeton

from ..chat import PRESETS
from ..drawing import to_terminal
from ..errors import ChatTemplateError, ConfigError, FormatError
from ..formats.detection import is_json, is_rank_file
from ..util.messages import use_catalog
from .help_text import Context
from .options import Command, CommonOptions, common_options, permission, special_option, tokenizer_option
from .running import DIFFERENT
from .streams import terminal_look, write, write_json

if TYPE_CHECKING:
    from datetime import datetime

DEFAULT_COMMAND = "render"


class _Group(click.Group):
    """Click group that runs `DEFAULT_COMMAND` if no command is given.

    The help of the group lists the options of the default command.
    """

    command_class = Command
    context_class = Context

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, *ctx.help_option_names):
            args = [DEFAULT_COMMAND, *args]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*self.commands[DEFAULT_COMMAND].collect_usage_pieces(ctx), "| COMMAND [ARGS]..."]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.commands[DEFAULT_COMMAND].format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


@click.group(
    cls=_Group, short_help="Render messages with a chat template; check a template; count or compare requests."
)
def chat() -> None:
    """Renders messages with a chat template. FILE, or standard input, is JSON: a list of messages, or an object with
    "messages" and optionally "tools" and "variables". Special tokens that messages spell are plain text unless
    --special permits them.

    \b
    Examples:
      jeton chat -t folder/ chat.json
      echo '[{"role": "user", "content": "hi"}]' | jeton chat -t chat.json --template chatml --format ids
      jeton chat -t folder/ --template mine.jinja --generation-prompt --format tokens chat.json
      jeton chat check folder/
      jeton chat count -t gpt-4o request.json
      jeton chat diff -t folder/ yesterday.json today.json
    """


@chat.command(short_help="Render messages, and encode them: the default, if no command is given.")
@click.argument("file", type=click.File("rb"), default="-")
@click.option(
    "--template",
    metavar="NAME|FILE",
    help=f"Name of one of the tokenizer's templates or of Jeton's ({', '.join(PRESETS)}), or a Jinja file. Default: "
    "the tokenizer's template.",
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
def render(
    common: CommonOptions,
    tok: jeton.Tokenizer,
    file: BinaryIO,
    template: str | None,
    generation_prompt: bool,
    form: str,
    special: tuple[str, ...],
) -> None:
    """Renders messages with a chat template, as jeton chat does without a command.

    \b
    Example:
      jeton chat render -t folder/ chat.json
    """
    messages, tools, variables = _read(file)
    made = tok.chat(
        messages,
        tools=tools,
        template=_source(template),
        add_generation_prompt=generation_prompt,
        special=permission(special),
        variables=variables,
    )
    if common.as_json or form == "json":
        turns = [{"message": turn.message, "role": turn.role, "token_spans": turn.token_spans} for turn in made.turns]
        try:
            mask: list[bool] | None = made.mask
        except ChatTemplateError:  # the renderings do not show which text the model generates
            mask = None
        write(json.dumps({"text": made.text, "ids": made.ids, "turns": turns, "mask": mask}))
    elif form == "ids":
        write(" ".join(map(str, made.ids)))
    elif form == "tokens":
        color, width = terminal_look()
        write(to_terminal(made.encoding.drawing(), color=color, width=width if color else None, break_lines=color))
    else:
        write(made.text)


@chat.command(short_help="Check a chat template: prefixes, stop token, tools, injection, dates.")
@click.argument("template", metavar="TEMPLATE|FOLDER", required=False)
@click.option(
    "-t",
    "--tokenizer",
    "name",
    metavar="PATH|NAME",
    help="The tokenizer of the template: a file or folder of any supported format, or a name. Default: none; checks "
    "that need ids are then skipped.",
)
@click.option("--pattern", metavar="NAME|REGEX", help="Pattern, for formats without one (rank files).")
@click.option("--variables", metavar="JSON", help="Variables of the template, as a JSON object.")
@common_options
def check(
    common: CommonOptions, template: str | None, name: str | None, pattern: str | None, variables: str | None
) -> None:
    """Checks a chat template by rendering conversations. TEMPLATE is a Jinja file, a template of the tokenizer or of
    Jeton by its name, or a tokenizer with a template: a FOLDER, a file or a name. Reports whether each rendering is a
    prefix of the next, which token ends replies, which parts of system, tools and reasoning are rendered, whether
    special tokens are single ids, whether messages can spell them, and what depends on the date. Exit code 4 if a
    finding is an error.

    \b
    Examples:
      jeton chat check folder/
      jeton chat check mine.jinja -t folder/
      jeton chat check mine.jinja --variables '{"enable_thinking": false}'
      jeton chat check mine.jinja --json | jq .facts.prefix
    """
    tok, source = _template(template, name, pattern)
    given = None if variables is None else _json(variables, "--variables")
    if not isinstance(given, dict | None):
        raise click.UsageError("--variables is not a JSON object")
    with use_catalog(None) if common.as_json else nullcontext():
        found = jeton.chat_check(tok, source, variables=given)
        if common.as_json:
            write_json(found)
        else:
            write(str(found))
    if any(each.severity == "error" for each in found.findings):
        raise click.exceptions.Exit(DIFFERENT)


@chat.command(short_help="Estimate the tokens that OpenAI's API bills for a request.")
@click.argument("file", type=click.File("rb"), default="-")
@tokenizer_option
@common_options
def count(common: CommonOptions, tok: jeton.Tokenizer, file: BinaryIO) -> None:
    """Estimates the prompt tokens of a request to OpenAI's chat completions, with functions: usage.prompt_tokens of
    the response. FILE, or standard input, is the JSON of the request, or of its messages. Images, audio and schemas of
    replies are refused, because their counts are not published.

    \b
    Examples:
      jeton chat count -t gpt-4o request.json
      jeton chat count -t gpt-4o request.json --json | jq .tokens
    """
    request = _json(file.read(), getattr(file, "name", "-"))
    with use_catalog(None) if common.as_json else nullcontext():
        found = jeton.chat_count(tok, request)
        if common.as_json:
            write_json(found)
        else:
            write(str(found))


@chat.command(short_help="Explain why two requests do not share a cached prompt.")
@click.argument("a", type=click.File("rb"))
@click.argument("b", type=click.File("rb"))
@click.option(
    "--template",
    metavar="NAME|FILE",
    help=f"Name of one of the tokenizer's templates or of Jeton's ({', '.join(PRESETS)}), or a Jinja file. Default: "
    "the tokenizer's template.",
)
@click.option(
    "--dates",
    type=click.DateTime(),
    nargs=2,
    metavar="DATE DATE",
    help="Times of both requests, for templates that write the date: 2026-11-26 or 2026-11-26T10:20:30. Default: now.",
)
@tokenizer_option
@special_option
@common_options
def diff(
    common: CommonOptions,
    tok: jeton.Tokenizer,
    a: BinaryIO,
    b: BinaryIO,
    template: str | None,
    dates: tuple[datetime, datetime] | None,
    special: tuple[str, ...],
) -> None:
    """Compares the prompts of two requests: how many ids at the start are shared, who wrote the first character that
    differs, and why. A and B are JSON: lists of messages, or requests of OpenAI's chat completions or responses or of
    Anthropic's messages. Exit code 4 if the ids differ before the shorter prompt ends.

    \b
    Examples:
      jeton chat diff -t folder/ yesterday.json today.json
      jeton chat diff -t folder/ request.json request.json --dates 2026-11-26 2026-11-27
      jeton chat diff -t folder/ a.json b.json --json | jq .cause
    """
    requests = [_json(file.read(), getattr(file, "name", "-")) for file in (a, b)]
    with use_catalog(None) if common.as_json else nullcontext():
        found = jeton.chat_diff(
            tok, *requests, template=_source(template), special=permission(special), dates=dates or None
        )
        if common.as_json:
            write_json(found)
        else:
            write(str(found))
    if found.position is not None:
        raise click.exceptions.Exit(DIFFERENT)


def _source(template: str | None) -> str | None:
    """Reads the file of a template; a name is returned unchanged."""
    if template is not None and Path(template).is_file():
        return Path(template).read_text(encoding="utf-8") + "\n"
    return template


def _template(template: str | None, name: str | None, pattern: str | None) -> tuple[jeton.Tokenizer | None, str | None]:
    """Returns the tokenizer and the template that the arguments of ``check`` refer to."""
    if name is not None:
        return jeton.load(name, pattern=pattern), _source(template)
    if template is None:
        raise click.UsageError("pass a template, the folder of a tokenizer that has one, or -t")
    if template in PRESETS:
        return None, template
    path = Path(template)
    if path.is_file():
        data = path.read_bytes()
        if not is_json(data) and not is_rank_file(data):
            try:
                return None, data.decode() + "\n"
            except UnicodeDecodeError:
                pass  # not a text file: a tokenizer in a binary format
    tok = jeton.load(template, pattern=pattern)
    if not tok.definition.chat_template:
        raise ConfigError(f"the tokenizer {template} has no chat template")
    return tok, None


def _json(data: str | bytes, name: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{name} is not JSON: {str(error)[:100]}", format="json") from None


def _read(file: BinaryIO) -> tuple[Any, Any, Any]:
    """Reads messages, tools and variables from a JSON file."""
    try:
        data = json.loads(file.read())
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the messages are not JSON: {str(error)[:100]}", format="json") from None
    if isinstance(data, dict):
        if "messages" not in data:
            keys = ", ".join(f"{key!r:.40}" for key in list(data)[:8]) or "no keys"
            message = f'the object has no key "messages" (a list of messages); it has {keys}'
            raise FormatError(message, format="json")
        return data["messages"], data.get("tools"), data.get("variables")
    return data, None, None
