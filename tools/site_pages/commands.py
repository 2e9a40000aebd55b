"""Pages of the command line, generated from the commands: usage, description, and every option with its default."""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Iterator

import click

from jeton.cli import COMMANDS, _jeton


def command_pages() -> Iterator[tuple[str, str]]:
    """Yields the file name (without extension) and the Markdown of each command."""
    for name in COMMANDS:
        context = click.Context(_jeton, info_name="jeton")
        command = _jeton.get_command(context, name)
        if command is None:
            raise LookupError(f"jeton {name} is listed and does not exist")
        yield name, "\n\n".join(describe(command, context, name, 1)) + "\n"


def describe(command: click.Command, parent: click.Context, name: str, level: int) -> Iterator[str]:
    """Yields the parts of a command's page. Its subcommands follow, one level deeper."""
    context = click.Context(command, info_name=name, parent=parent)
    yield f"{'#' * level} {context.command_path}"
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```"
    yield description(command.help or "")
    rows = [row for option in command.get_params(context) if (row := option_item(option, context))]
    if rows:
        yield "\n".join(rows)
    if command.epilog:
        yield description(command.epilog)
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            if found is not None:
                yield from describe(found, context, child, level + 1)


def option_item(option: click.Parameter, context: click.Context) -> str | None:
    """Returns an option as a list item (a table would fit narrow screens worse); None if the option is hidden."""
    record = option.get_help_record(context)
    if record is None:
        return None
    names, effect = (" ".join(text.split()) for text in record)
    return f"- {code(names)}: {escaped(effect)}" if effect else f"- {code(names)}"


def description(text: str) -> str:
    r"""Converts help to Markdown. Paragraphs after ``\b`` keep their lines, so they become blocks of code."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if paragraph.startswith("\b"):
            lines = paragraph.removeprefix("\b").strip("\n")
            parts.append(f"```text\n{lines}\n```")
        else:
            parts.append(escaped(" ".join(paragraph.split())))
    return "\n\n".join(parts)


def code(text: str) -> str:
    """Formats a text as code in Markdown. A line can break after each vertical bar of the text."""
    return f"<code>{html.escape(text, quote=False)}</code>".replace("|", "&#124;<wbr>")


def escaped(text: str) -> str:
    """Escapes plain text for Markdown."""
    return re.sub(r"([\\`*_\[\]#])", r"\\\1", html.escape(text, quote=False)).replace("|", "&#124;<wbr>")
