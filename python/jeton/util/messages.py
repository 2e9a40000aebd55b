"""Translation of messages that people read, into the language that the command line has chosen.

The English text stays in the code and is the key of the catalog: ``translate("{left} or {right}", left=a, right=b)``.
A catalog is a mapping from English messages to messages of another language with the same named placeholders. Without a
catalog, as for every caller other than the command line, messages are English.

Left out: the choice of a language, reading of catalogs, and messages of errors, which are in `jeton.util.language`.
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
    """Formats a number with its noun in the singular or plural. Each form is a message, such as ``{number} merges``.

    Examples:
        >>> counted(1, "file"), counted(1234, "merge"), counted(2, "entry")
        ('1 file', '1,234 merges', '2 entries')
    """
    if number != 1:
        noun = f"{noun[:-1]}ies" if noun == "entry" else f"{noun}s"
    return translate("{number} " + noun, number=f"{number:,}")
