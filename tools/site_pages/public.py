"""Public names of ``jeton``, of its public modules, and of modules for other libraries (drop-ins and integrations).

`api_pages` distributes the names over the pages of the reference. Each module with public names must have a title in
`TITLES`. A missing title is an error, so that no new public module is forgotten.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple

import jeton


class PublicName(NamedTuple):
    """A name as users write it, and the path of its definition for griffe."""

    name: str  # "jeton.train"
    path: str  # "jeton.training.train"


class ApiPage(NamedTuple):
    """A page of the reference. `opening` is a paragraph about the module, or empty if users never import the module."""

    slug: str
    title: str
    opening: str
    names: list[PublicName]


# Module → title of its page, in the order of the navigation. A name that `jeton` exports is on the page of the module
# that defines it.
TITLES = {
    "jeton.tokenizer": "Tokenizer",
    "jeton.encoding": "Encodings and tokens",
    "jeton.calls.batch": "Batches",
    "jeton._core": "Streams and growing texts",
    "jeton.calls.cutting": "Chunks",
    "jeton.tokens.added": "Added tokens",
    "jeton.chat": "Chat",
    "jeton.chat.canonical": "Canonical ids",
    "jeton.chat.drift": "Drift of ids",
    "jeton.chat.count": "Tokens of requests",
    "jeton.chat.difference": "Differences of prompts",
    "jeton.formats": "Loading and names",
    "jeton.training": "Training",
    "jeton.corpus": "Corpora",
    "jeton.util.progress": "Progress",
    "jeton.vocabulary": "Changing vocabularies",
    "jeton.shards": "Token shards",
    "jeton.analysis": "Comparing and measuring",
    "jeton.explanation": "Explanations",
    "jeton.errors": "Errors and warnings",
    "jeton.compat": "Replacing libraries",
    "jeton.compat.tiktoken": "Drop-in for tiktoken",
    "jeton.compat.sentencepiece": "Drop-in for SentencePiece",
    "jeton.integrations.transformers": "transformers on Jeton",
    "jeton.integrations.arrow": "Columns of Arrow",
    "jeton.integrations.datasets": "Hugging Face datasets",
    "jeton.integrations.llguidance": "llguidance",
    "jeton.integrations.outlines": "outlines-core",
    "jeton.integrations.xgrammar": "xgrammar",
}
BESIDE_THE_PACKAGE = (
    *("jeton.compat.tiktoken", "jeton.compat.sentencepiece", "jeton.integrations.transformers"),
    *("jeton.integrations.llguidance", "jeton.integrations.outlines", "jeton.integrations.xgrammar"),
)


def api_pages() -> list[ApiPage]:
    """Returns the pages of the reference, in the order of the navigation.

    Raises:
        ValueError: a module with public names has no title.
    """
    names: dict[str, list[PublicName]] = {}
    for module, exported in jeton._PUBLIC.items():
        names[f"jeton.{module}"] = [PublicName(f"jeton.{name}", f"jeton.{module}.{name}") for name in exported]
    openings: dict[str, str] = {}
    for module in (*(f"jeton.{name}" for name in jeton._MODULES), *BESIDE_THE_PACKAGE):
        summary = inspect.getdoc(import_module(module)) or ""
        openings[module] = f"Module `{module}`. {summary.partition(chr(10) * 2)[0]}"
        page = names.setdefault(module, [])
        known = {public.path for public in page}
        page += [public for public in exports(module) if public.path not in known]
    if without := sorted(set(names) - set(TITLES)):
        raise ValueError(f"tools/site_pages/public.py: TITLES has no title for {', '.join(without)}")
    return [ApiPage(slug(module), title, openings.get(module, ""), names[module]) for module, title in TITLES.items()]


def exports(module: str) -> Iterator[PublicName]:
    """Yields the names that a module exports, including those that it imports on first use."""
    loaded = import_module(module)
    lazy = getattr(loaded, "_MODULES", {})
    for name in sorted({*loaded.__all__, *lazy}):
        yield PublicName(f"{module}.{name}", f"{module}.{lazy[name]}.{name}" if name in lazy else f"{module}.{name}")


def slug(module: str) -> str:
    """Returns the file name of a module's page, without extension."""
    return module.removeprefix("jeton.").strip("_").replace(".", "-")
