"""Data of the page: a paragraph in twenty languages, the classics, and recorded tokenizations of the classics.

A text that the page displays is an object, language → text; `localized` chooses the language.

``tools/record_classics.py`` generates `recorded.json` from the real vocabularies; a test checks the file against them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, TypeVar

from ...analysis.parallel.texts import PARAGRAPH
from ...util.language import current_language

__all__ = ["localized", "paragraph", "read"]

_Text = TypeVar("_Text")


@cache
def read(name: str) -> Any:
    """Returns the parsed content of a file, cached; callers must not modify it.

    Examples:
        >>> len(read("paragraph.json"))
        20
    """
    return json.loads(resources.files(__name__).joinpath(name).read_bytes())


def localized(texts: Mapping[str, _Text]) -> _Text:
    """Returns the text in the language of the response.

    Examples:
        >>> localized({"en": "Cats", "zh": "猫"})
        'Cats'
    """
    return texts[current_language()]


@cache
def paragraph() -> list[dict[str, Any]]:
    """Returns the code, names and paragraph of each language; `jeton.languages` measures the same paragraphs.

    Examples:
        >>> paragraph()[0]["text"][:29]
        'The public library opens ever'
    """
    return [
        {
            "code": language["code"],
            "name": language["name"],
            "own_name": language["own_name"],
            "text": (PARAGRAPH / f"{language['file']}.txt").read_text(encoding="utf-8").strip(),
        }
        for language in read("paragraph.json")
    ]
