"""Language of the command line and the playground: how it is chosen, its catalogs, and translation of error messages.

``strings.<language>.json`` maps the English messages of `jeton.util.messages` and the texts of ``--help`` to another
language. ``errors.<language>.json`` maps messages of errors and warnings. These are not translated where they are
raised, because ``str(error)`` is English for every caller of the library. Instead, the interface that shows an error
compares its message with the messages of the catalog, in which placeholders stand for the variable parts. A catalog is
read only if its language is chosen, and the catalog of errors only when an error is shown.

Left out: JSON, CSV, and names and values of options. Programs read them, so they are the same in each language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TypeAlias

from .messages import translate, use_catalog

__all__ = ["LANGUAGES", "chosen_language", "current_language", "in_language", "read_catalog", "use_language"]

# Languages with catalogs. English has none: its text is in the code.
LANGUAGES = ("zh",)
# Placeholders whose value is itself a message to translate.
NESTED = ("message", "reason", "feature")
# Placeholders whose value lists kinds of files or records: "2 hidden (.a, .b), 1 symlink (x)". Each kind is a message
# to translate.
LISTED = ("kinds",)
_KIND = re.compile(r"(^|, )([\d,]+) ([^(]+) \((.*?)\)(?=, [\d,]+ |, …$|$)")

_language: ContextVar[str] = ContextVar("jeton_language", default="en")
_Templates: TypeAlias = tuple[tuple[re.Pattern[str], str], ...]  # (message, translation)


def chosen_language(environ: Mapping[str, str]) -> str:
    """Returns the language of an environment: ``JETON_LANG``, else the POSIX locale of messages; default: English.

    For a language without a catalog, English is returned, as with gettext. The region (``zh_TW``) has no effect.

    Examples:
        >>> chosen_language({"LANG": "zh_CN.UTF-8"}), chosen_language({"LANG": "zh_CN.UTF-8", "JETON_LANG": "en"})
        ('zh', 'en')
        >>> chosen_language({"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}), chosen_language({"JETON_LANG": "zh-Hans"})
        ('en', 'zh')
    """
    for name in ("JETON_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environ.get(name):
            language = re.split(r"[_.@-]", value, maxsplit=1)[0].lower()
            return language if language in LANGUAGES else "en"
    return "en"


@cache
def read_catalog(name: str, language: str) -> dict[str, str]:
    """Reads a catalog: ``strings`` or ``errors``."""
    import json
    from importlib import resources

    file = resources.files(__package__) / "catalogs" / f"{name}.{language}.json"
    found: dict[str, str] = json.loads(file.read_bytes())
    return found


@contextmanager
def use_language(language: str) -> Iterator[None]:
    """Context manager in which messages are translated into a language."""
    token = _language.set(language)
    try:
        with use_catalog(None if language == "en" else read_catalog("strings", language)):
            yield
    finally:
        _language.reset(token)


def current_language() -> str:
    """Returns the language of the enclosing `use_language` block, or else English.

    Examples:
        >>> with use_language("zh"):
        ...     current_language()
        'zh'
        >>> current_language()
        'en'
    """
    return _language.get()


def in_language(message: str) -> str:
    """Translates the message of an error or a warning into the chosen language, clause by clause: the problem, and
    hints after semicolons. A clause that the catalog lacks stays English, and so do the semicolons next to it.

    Examples:
        >>> with use_language("zh"):
        ...     print(in_language("texts/: no such file, folder or glob; ask a friend"))
        texts/: 没有这个文件或目录，也没有匹配的文件; ask a friend
        >>> in_language("out of memory")
        'out of memory'
    """
    language = _language.get()
    return message if language == "en" else _translated(message, _templates(language))


def _translated(message: str, templates: _Templates) -> str:
    found, was_translated = "", False
    for index, clause in enumerate(message.split("; ")):
        translation = _clause(clause, templates)
        is_translated = translation != clause
        if index:
            found += translate("; ") if was_translated and is_translated else "; "
        found += translation
        was_translated = is_translated
    return found


def _clause(clause: str, templates: _Templates) -> str:
    """Translates a clause, which may be preceded by a file name or another location."""
    starts = [0, *(match.end() for match in re.finditer(": ", clause))]
    for start in starts:
        for pattern, translation in templates:
            if match := pattern.fullmatch(clause, start):
                values = {name: _value(name, value, templates) for name, value in match.groupdict("").items()}
                return clause[:start] + translation.format_map(values)
    return clause


def _value(name: str, value: str, templates: _Templates) -> str:
    """Translates the value of a placeholder, if the value is a message or a list of kinds (see `LISTED`)."""
    if name in NESTED:
        value = _translated(value, templates)
        # In the middle of a sentence, a space separates words in Latin script from the Chinese before them.
        return f" {value}" if name == "feature" and value[:1].isascii() else value
    return _kinds(value, templates) if name in LISTED else value


def _kinds(text: str, templates: _Templates) -> str:
    """Translates the kinds in a list (see `LISTED`). A kind may have a count before it and file names after it."""
    if not _KIND.search(text):
        return translate(", ").join(_clause(kind, templates) for kind in text.split(", "))

    def item(match: re.Match[str]) -> str:
        comma, count, kind, places = match.groups()
        shown = translate("{count} {kind} ({places})", count=count, kind=_clause(kind, templates), places=places)
        return translate(", ") + shown if comma else shown

    return _KIND.sub(item, text)


@cache
def _templates(language: str) -> _Templates:
    """Returns the messages of errors as regular expressions, with their translations; the most specific first."""
    catalog = read_catalog("errors", language)
    # A message that begins with a placeholder comes last: the placeholder matches nearly any text, even another
    # message.
    keys = sorted(catalog, key=lambda key: (key.startswith("{"), -len(re.sub(r"\{\w*\}", "", key))))
    return tuple((_pattern(key), catalog[key]) for key in keys)


def _pattern(message: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", message)
    # The placeholder `option` does not match ": ", so it never includes a file name or other place before the option.
    values = {"option": r"(?P<option>(?:(?!: ).)+?)"}
    named = [values.get(part, f"(?P<{part}>.+?)") if index % 2 else re.escape(part) for index, part in enumerate(parts)]
    return re.compile("".join(named), re.DOTALL)
