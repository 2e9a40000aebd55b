"""Translates messages for people into the language chosen for the command line.

The English text stays in the code and is the key of the catalog: ``translate("{left} or {right}", left=a, right=b)``.
A catalog maps each English message to the message in another language, which has the same named placeholders. Without a
catalog, messages are English. The library has no catalog by default; the command line sets the catalog.

Left out (see `jeton.util.language`): choosing a language, reading catalogs, and translating the messages of errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Catalog", "counted", "is_translated", "translate", "use_catalog"]

Catalog = Mapping[str, str]

# A context variable, because the language can differ between threads: a playground that was started in Chinese also
# answers requests in English.
_catalog: ContextVar[Catalog | None] = ContextVar("jeton_catalog", default=None)


@contextmanager
def use_catalog(catalog: Catalog | None) -> Iterator[None]:
    """Context manager in which this thread's messages are translated with a catalog; None: English.

    Examples:
        >>> with use_catalog({"{number} tokens": "{number} 个词元"}):
        ...     counted(1200, "token")
        '1,200 个词元'
    """
    token = _catalog.set(catalog)
    try:
        yield
    finally:
        _catalog.reset(token)


def is_translated() -> bool:
    """Tests whether messages are in another language than English."""
    return _catalog.get() is not None


def translate(message: str, /, **values: object) -> str:
    """Returns a message in the chosen language, with values in place of its placeholders. A message that is not in the
    catalog stays English.

    Examples:
        >>> translate("wrote {path}", path="out.json")
        'wrote out.json'
    """
    catalog = _catalog.get()
    if catalog is not None:
        message = catalog.get(message, message)
    return message.format_map(values) if values else message


def counted(number: int, noun: str) -> str:
    """Formats a number with its noun in the singular or plural.

    The catalog translates the singular and the plural separately: ``{number} merge`` and ``{number} merges``.

    Examples:
        >>> counted(1, "file"), counted(1234, "merge"), counted(2, "entry")
        ('1 file', '1,234 merges', '2 entries')
    """
    if number != 1:
        noun = f"{noun[:-1]}ies" if noun == "entry" else f"{noun}s"
    return translate("{number} " + noun, number=f"{number:,}")
