"""Messages in the sources: those of `translate` and `counted`, of ``--help``, and of errors."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import click

import jeton
from jeton.analysis.auditing.entries import FATES, PRIVATE, WHY
from jeton.analysis.auditing.finding import SEVERITIES
from jeton.analysis.auditing.policies import SPACE_PROBES
from jeton.analysis.auditing.renderings import SCENARIOS
from jeton.analysis.auditing.template_check import GROUPS
from jeton.analysis.auditing.template_tokens import PLACES
from jeton.analysis.auditing.templates import STATUSES, UNITS
from jeton.analysis.compare import HEADINGS
from jeton.analysis.measure_views import _FIGURES, LEGEND
from jeton.analysis.parallel.texts import parallel_texts
from jeton.analysis.parallel.views import HEADINGS as LANGUAGE_HEADINGS
from jeton.analysis.parallel.views import TITLES
from jeton.chat.values import KINDS
from jeton.cli import SECTIONS, _jeton
from jeton.cli.demo import SENTENCES
from jeton.cli.help_text import paragraphs
from jeton.cli.options import DEFAULT_USED
from jeton.explanation.entry import NOT_MERGED
from jeton.util.progress import STAGE_WORDS

PACKAGE = Path(jeton.__file__).parent
_PARAGRAPH = PACKAGE / "analysis" / "parallel" / "paragraph"
# Functions with a message, and the index of the argument.
CALLS = {"translate": 0, "counted": 1, "_more": 1}
# Messages in tables, which are translated when they are shown.
TABLES = (
    *FATES[4:],
    *WHY.values(),
    *PRIVATE.values(),
    *SPACE_PROBES,
    *SEVERITIES,
    *HEADINGS,
    *(heading for heading in (*_FIGURES, "source") if heading != "ms/MB"),
    LEGEND,
    *LANGUAGE_HEADINGS["language"],
    "languages",
    *TITLES.values(),
    *STAGE_WORDS.values(),
    *("spool", "shuffle", "verify"),  # stages of shards
    *("merges", "pieces", "texts"),  # units of progress
    *SENTENCES,
    *(*SCENARIOS, *PLACES, *STATUSES, *UNITS, *GROUPS.values(), *KINDS),
    *("definitions", "calls", "results", "last turn", "earlier turns", "between calls"),  # facts of templates
    *("Python source", "English lessons", "Chinese lessons"),
    *NOT_MERGED.values(),
    DEFAULT_USED,
    *SECTIONS,
    *("Options", "Commands", "required", "Show this message and exit."),  # of click
    *{
        f"{name} ({kind})"
        for each in parallel_texts(_PARAGRAPH, "eng")[0]
        for name, kind in zip(each[1:], LANGUAGE_HEADINGS["language"], strict=True)
    },
)


@cache
def messages() -> set[str]:
    """All messages that `strings.<language>.json` must have."""
    return {*TABLES, *_of_calls(), *_of_help(_jeton), *_of_page()}


def placeholders(message: str) -> list[str]:
    return sorted(re.findall(r"\{(\w+)\}", message))


def _of_calls() -> Iterator[str]:
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] == "reference" or path.name == "messages.py":
            continue
        tree = ast.parse(path.read_bytes())
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                yield from _of_function(function)


def _of_function(function: ast.FunctionDef) -> Iterator[str]:
    """Messages of the calls in a function, also those in variables of the function."""
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            values.setdefault(node.targets[0].id, []).append(node.value)
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in CALLS:
            continue
        argument = node.args[CALLS[node.func.id]]
        found = values.get(argument.id, []) if isinstance(argument, ast.Name) else [argument]
        for text in (text for each in found for text in _literals(each)):
            yield from [text] if node.func.id == "translate" else _numbers(text)


def _literals(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _literals(node.body)
        yield from _literals(node.orelse)


def _numbers(noun: str) -> list[str]:
    plural = f"{noun[:-1]}ies" if noun == "entry" else f"{noun}s"
    return ["{number} " + noun, "{number} " + plural]


def _of_page() -> Iterator[str]:
    """Messages of the page: arguments of the functions of `language.js`, and texts of `index.html`."""
    static = PACKAGE / "playground" / "static"
    for path in static.rglob("*.js"):
        if path.name == "language.js":
            continue
        source = path.read_text()
        for call in re.finditer(r"(?:(?<=\.\.\.)|(?<![.\w]))(say|sayNodes|message|counted)\(", source):
            arguments = _arguments(source, call.end())
            if call[1] == "counted":
                for noun in arguments[1]:
                    yield from _numbers(noun)
            else:
                yield from arguments[0]
    page = _Page()
    page.feed((static / "index.html").read_text())
    yield from page.messages


def _arguments(source: str, start: int) -> list[list[str]]:
    """The string literals of each argument of a call whose parenthesis has been opened."""
    found: list[list[str]] = [[]]
    depth, at = 1, start
    while depth:
        match = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`|[^"`]').match(source, at)
        assert match, source[start : start + 80]
        text, at = match[0], match.end()
        depth += (text in "([{") - (text in ")]}")
        if text[0] == '"':
            found[-1].append(json.loads(text))
        elif text == "," and depth == 1:
            found.append([])
    return found


class _Page(HTMLParser):
    """Collects the texts of a body and the attributes that are translated."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: set[str] = set()
        self._is_body = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_body |= tag == "body"
        if self._is_body:
            self.messages.update(
                text for name, text in attrs if text and name in ("aria-label", "title", "placeholder")
            )

    def handle_data(self, data: str) -> None:
        if self._is_body and data.strip() not in ("", "Jeton"):
            self.messages.add(data.strip())


def commands_of_jeton() -> list[tuple[str, ...]]:
    """Arguments that name each command and group; none for `jeton`."""
    return [tuple(context.command_path.split()[1:]) for context in commands(_jeton)]


def commands(command: click.Command, context: click.Context | None = None) -> Iterator[click.Context]:
    """A command and those of its group, as contexts."""
    here = command.context_class(command, info_name=command.name if context else "jeton", parent=context)
    yield here
    if isinstance(command, click.Group):
        for name in command.list_commands(here):
            found = command.get_command(here, name)
            assert found is not None
            yield from commands(found, here)


def _of_help(command: click.Command) -> Iterator[str]:
    for context in commands(command):
        found = context.command
        yield from (message for message, _ in paragraphs(inspect.cleandoc(found.help or "")))
        if found.short_help:
            yield found.short_help
        for param in found.get_params(context):
            if isinstance(param, click.Option) and param.help:
                yield param.help
