"""Names and families of languages, by ISO 639 code.

``languages.csv`` lists the languages in which Unicode publishes the Universal Declaration of Human Rights, and all
other languages that have a code of two letters. The family of a language is the largest commonly accepted group that
contains it.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["KnownLanguage", "known_language"]

FILE = Path(__file__).with_name("languages.csv")


class KnownLanguage(NamedTuple):
    """A row of the registry: name and family."""

    name: str
    family: str


@cache
def _registry() -> dict[str, KnownLanguage]:
    """Reads the registry: code of two or three letters -> language."""
    found = {}
    with FILE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            known = KnownLanguage(row["name"], row["family"])
            found[row["code"]] = known
            if row["code2"]:
                found[row["code2"]] = known
    return found


def known_language(code: str) -> KnownLanguage | None:
    """Returns the language of an ISO 639-1 or 639-3 code in lower case; None if it is not in the registry.

    Examples:
        >>> known_language("amh")
        KnownLanguage(name='Amharic', family='Afro-Asiatic')
        >>> known_language("am") == known_language("amh")
        True
    """
    return _registry().get(code)
