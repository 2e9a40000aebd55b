"""``--help`` in the chosen language: translates the texts of commands, and click's headings, which are English only.

Lines are wrapped here as well, because Chinese has no spaces between words, and its characters are two columns wide.
English help is written by click.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

from ..util.messages import is_translated, translate

__all__ = ["Context", "paragraphs"]

EXAMPLES = ("Examples:", "Example:")


class Context(click.Context):
    """Click context that formats a command's help in the chosen language."""

    def make_formatter(self) -> click.HelpFormatter:
        """Creates the formatter of help and usage."""
        if not is_translated():
            return super().make_formatter()
        return _Formatter(width=self.terminal_width, max_width=self.max_content_width)


def paragraphs(text: str) -> list[tuple[str, str]]:
    """Splits a help text into paragraphs. Each is a pair: a message to translate, and the untranslated text after it.

    Paragraphs that click wraps are joined to one line. In a list of examples, only the heading is a message, unless an
    example has a note beside it; then the whole list is one message.

    Examples:
        >>> paragraphs("Counts\\ntokens.\\n\\n\\b\\nExamples:\\n  jeton count")
        [('Counts tokens.', ''), ('Examples:', '\\n  jeton count')]
    """
    found = []
    for paragraph in text.strip("\n ").split("\n\n"):
        lines = paragraph.split("\n")
        if lines[0] != "\b":
            found.append((" ".join(line.strip() for line in lines), ""))
        elif lines[1] in EXAMPLES and not any(re.search(r"\S {3,}\S", line) for line in lines):
            found.append((lines[1], "\n" + "\n".join(lines[2:])))
        else:
            found.append(("\n".join(lines[1:]), ""))
    return found


class _Formatter(click.HelpFormatter):
    """Formatter that translates texts, and wraps them by their width in terminal columns."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Writes the usage line."""
        from ..drawing.display_width import display_width, wrapped

        start = (translate("Usage: {command}", command=prog) if prefix is None else f"{prefix} {prog}") + " "
        size = display_width(start)
        first, *rest = wrapped(args, max(self.width - size, 20)) or [""]
        self.write("\n".join([(start + first).rstrip(), *(" " * size + line for line in rest)]) + "\n")

    def write_heading(self, heading: str) -> None:
        """Writes the heading of a section."""
        self.write(f"{' ' * self.current_indent}{translate('{heading}:', heading=translate(heading))}\n")

    def write_text(self, text: str) -> None:
        """Writes a help text."""
        from ..drawing.display_width import wrapped

        indent = " " * self.current_indent
        blocks = []
        for message, rest in paragraphs(text):
            found = translate(message) + rest
            lines = found.split("\n") if "\n" in found else wrapped(found, max(self.width - len(indent), 20))
            blocks.append("\n".join((indent + line).rstrip() for line in lines))
        self.write("\n\n".join(blocks) + "\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Writes a list of options or commands, each with its help text."""
        from ..drawing.display_width import wrapped

        listed = list(rows)
        indent = " " * self.current_indent
        widest = max((len(term) for term, _ in listed), default=0)
        column = min(widest, col_max) + col_spacing
        for term, text in listed:
            lines = wrapped(_with_extra(text), max(self.width - column - 2, 10)) or [""]
            if len(term) > column - col_spacing:
                self.write(f"{indent}{term}\n")
                term = ""
            self.write(f"{indent}{term.ljust(column)}{lines[0]}".rstrip() + "\n")
            for line in lines[1:]:
                self.write(f"{indent}{' ' * column}{line}\n")


def _with_extra(text: str) -> str:
    """Translates the help text of an option, and click's additions in brackets: default, range, required."""
    match = re.fullmatch(r"(.*?)(?:(?:^|  )\[([^\[\]]+)\])?", text, re.DOTALL)
    if match is None or match[2] is None:
        return translate(text)
    extras = []
    for extra in match[2].split("; "):
        name, colon, value = extra.partition(": ")
        extras.append(translate("default: {value}", value=value) if colon and name == "default" else translate(extra))
    return f"{translate(match[1])}  [{translate('; ').join(extras)}]".strip()
