"""Data for the web worker of the page that runs without a server.

With a server, the server reads files, catalogs of translations, and Python's Unicode tables. Without a server, the
worker reads the data of this module instead.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

from jeton.definition import Pattern
from jeton.explanation.entry import NOT_MERGED
from jeton.formats.registry import REGISTRY, KnownRankFile
from jeton.formats.tiktoken import facts_of
from jeton.playground.api.train import END_OF_WORD, MAX_VOCAB_SIZE, PRESETS
from jeton.playground.data import paragraph, read
from jeton.training.presets import resolve
from jeton.training.request import TrainingRequest
from jeton.util.language import read_catalog

__all__ = ["engine_catalogs", "engine_data"]

# English messages that `engine/` shows, except error messages. They are the keys of the translations.
MESSAGES = (
    *NOT_MERGED.values(),
    "this model has no merges",
    "this model has no list of merges",
    "id {id} is not reachable by merges: its bytes merge into {tokens}",
    "{number} token",
    "{number} tokens",
    "; ",
)


def engine_catalogs(language: str) -> dict[str, dict[str, str]]:
    """Returns the content of ``language.<language>.json``."""
    strings = read_catalog("strings", language)
    return {"strings": {name: strings[name] for name in MESSAGES}, "errors": read_catalog("errors", language)}


def engine_data(tokenizers: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the content of ``data.json``. Each item of `tokenizers` is the key, name, file and size of a bundle."""
    return {
        "tokenizers": tokenizers,
        "characters": {name: list(_steps(test)) for name, test in PROPERTIES.items()},
        "ranks": {known.sha256: _rank_file(known) for known in REGISTRY.values()},
        "classics": read("classics.json"),
        "recorded": read("recorded.json"),
        "paragraph": paragraph(),
        "training": {"words": _words(), "wordpiece": _wordpiece()},
    }


def _words() -> dict[str, Any]:
    stages = resolve(None).recipe(TrainingRequest(vocab_size=MAX_VOCAB_SIZE, end_of_word=END_OF_WORD)).stages
    return {"stages": stages.to_json(), "special_tokens": [], "end_of_word": END_OF_WORD}


def _wordpiece() -> dict[str, Any]:
    recipe = PRESETS["wordpiece"].recipe(TrainingRequest(vocab_size=MAX_VOCAB_SIZE))
    prefix = recipe.definition.model.continuing_subword_prefix
    return {"stages": recipe.stages.to_json(), "special_tokens": list(recipe.special_tokens), "prefix": prefix}


def _rank_file(known: KnownRankFile) -> dict[str, Any]:
    """Returns the properties of a known tokenizer that its rank file does not contain, such as its special tokens."""
    part, facts = Pattern.of(known.pattern).part(), facts_of(known)
    return {
        "normalizer": list(known.normalizer),
        "pretokenizer": [part] if part else [],
        "special_tokens": list(known.special_tokens.items()),
        "template": facts["template"],
        "chat": facts["chat_template"] is not None,
    }


def _is_hidden(character: str) -> bool:
    category = unicodedata.category(character)
    is_noncharacter = ord(character) & 0xFFFE == 0xFFFE or "\ufdd0" <= character <= "\ufdef"
    return category in ("Cc", "Cf", "Co") or category[0] == "Z" or (category == "Cn" and is_noncharacter)


# Character properties, as `jeton.drawing.look_parts` uses them.
PROPERTIES: dict[str, Callable[[str], bool]] = {
    "mark": lambda character: unicodedata.category(character)[0] == "M",
    "nonspacing": lambda character: unicodedata.category(character) == "Mn",
    "hidden": _is_hidden,
    "ltr": lambda character: unicodedata.bidirectional(character) == "L",
    "rtl": lambda character: unicodedata.bidirectional(character) in ("R", "AL"),
}


def _steps(test: Callable[[str], bool]) -> Iterator[int]:
    """Yields the starts and ends of the ranges of characters that pass a test.

    Each number is the difference from the previous start or end; the first number is the difference from 0.
    """
    before, last = False, 0
    for code in range(sys.maxunicode + 2):
        now = code <= sys.maxunicode and not 0xD800 <= code < 0xE000 and test(chr(code))
        if now != before:
            yield code - last
            before, last = now, code
