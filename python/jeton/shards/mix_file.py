"""`MixFile`: the sources of a mix and their amounts, read from ``mix.toml`` or a mapping with the same entries.

```toml
tokens = "20B"              # size of the mix, divided among the sources by weight

[sources.web]
paths = ["data/web/*.jsonl", "data/more/"]
weight = 0.7

[sources.code]
paths = "data/code.parquet"
field = "content"
weight = 0.3
max_epochs = 2
```

A source has one of `AMOUNTS`: a weight, relative to the weights of the other sources; epochs; ids; or samples, that is,
documents or, in packed shards, rows. Numbers are exact: decimals are converted to fractions.

Paths are relative to the folder of the TOML file. ``mix.json`` in a folder of shards has the amounts without the paths.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..corpus import Corpus
from ..corpus.paths import is_remote
from ..errors import FormatError
from .plan import INPUT_TYPE, READING
from .splitting import NAME

__all__ = ["AMOUNTS", "MixFile", "SourceSettings"]

AMOUNTS = ("weight", "epochs", "tokens", "samples")
NUMBER = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?) ?([kKMBT]?)")
UNITS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
MAX_EPOCHS = 1000
OPTIONS = (*READING, INPUT_TYPE, "include", "exclude")  # options of a `Corpus`
MAX_AMOUNT = 10**18


@dataclass(frozen=True)
class SourceSettings:
    """Settings of a source.

    Attributes:
        amount: one of `AMOUNTS`.
        value: number of epochs, ids or samples, or the weight.
        max_epochs: maximum number of passes over the source in the mix; not used if `amount` is ``"epochs"``.
        corpus: files of the source, with options of reading; None if the settings are from ``mix.json``.
    """

    amount: str
    value: Fraction
    max_epochs: Fraction = Fraction(1)
    corpus: Corpus | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns the amount and the limit, for ``mix.json``."""
        limit = {"max_epochs": str(self.max_epochs)} if self.max_epochs != 1 else {}
        return {self.amount: str(self.value), **limit}


@dataclass(frozen=True)
class MixFile:
    """Settings of a mix.

    Attributes:
        name: name of the file, for errors.
        sources: name -> settings, in order.
        tokens: number of ids of the mix; None: the amounts of its sources determine it.

    Examples:
        >>> made = MixFile.of({"sources": {"a": {"paths": "a.txt", "weight": 0.5}, "b": {"paths": "b/", "weight": 2}}})
        >>> {name: (source.amount, str(source.value)) for name, source in made.sources.items()}
        {'a': ('weight', '1/2'), 'b': ('weight', '2')}
    """

    name: str
    sources: Mapping[str, SourceSettings]
    tokens: Fraction | None = None

    @classmethod
    def of(cls, mix: str | os.PathLike[str] | Mapping[str, Any]) -> MixFile:
        """Reads a file, or a mapping. The paths in a mapping are relative to the working folder.

        Raises:
            FormatError: not TOML, or an entry is missing, unknown or invalid; the message names the entry.
            FileNotFoundError: no such file.
        """
        if isinstance(mix, Mapping):
            return cls._parsed(mix, "mix", Path())
        import tomllib  # imported here because few calls need it

        path = Path(mix)
        try:
            facts = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise FormatError(f"{path}: not TOML ({error})", format="mix") from None
        return cls._parsed(facts, str(path), path.parent)

    @classmethod
    def from_json(cls, facts: Mapping[str, Any], name: str) -> MixFile:
        """Reads the output of `to_json`.

        Raises:
            FormatError: an entry is missing, unknown or invalid.
        """
        return cls._parsed({key: value for key, value in facts.items() if key != "version"}, name, None)

    @classmethod
    def _parsed(cls, facts: Mapping[str, Any], name: str, folder: Path | None) -> MixFile:
        _check_keys(facts, ("sources", "tokens"), name)
        sources = facts.get("sources")
        if not isinstance(sources, Mapping) or not sources:
            raise FormatError(f"{name}: it has no sources; add [sources.NAME] with paths and a weight", format="mix")
        tokens = _number(facts["tokens"], f"{name}: tokens") if "tokens" in facts else None
        made = {one: _source(settings, one, f"{name}: sources.{one}", folder) for one, settings in sources.items()}
        weighted = [one for one, settings in made.items() if settings.amount == "weight"]
        if tokens is not None and not weighted:
            message = f"{name}: tokens is divided among sources with weights, but there are none"
            raise FormatError(f"{message}; remove it, or give weights", format="mix")
        if tokens is None and 0 < len(weighted) < len(made):
            other = next(one for one in made if one not in weighted)
            message = f"{name}: {weighted[0]!r} has a weight, but {other!r} has {made[other].amount}"
            raise FormatError(f"{message}; add tokens, the total number", format="mix")
        return cls(name, made, tokens)

    def to_json(self) -> dict[str, Any]:
        """Returns the amounts, for ``mix.json``."""
        tokens = {} if self.tokens is None else {"tokens": str(self.tokens)}
        return {**tokens, "sources": {name: source.to_json() for name, source in self.sources.items()}}

    def each_once(self) -> MixFile:
        """Returns a mix for validation data: it has the same sources, and takes all of each source exactly once."""
        once = {name: SourceSettings("epochs", Fraction(1), corpus=one.corpus) for name, one in self.sources.items()}
        return MixFile(self.name, once)


def _source(settings: object, name: str, where: str, folder: Path | None) -> SourceSettings:
    """Reads the settings of a source. `folder`: folder to which paths are relative; None if settings have no paths."""
    if not NAME.fullmatch(name):
        message = f"{where}: {name!r} is not the name of a folder, of letters, digits, '-', '_' and '.'"
        raise FormatError(message, format="mix")
    if not isinstance(settings, Mapping):
        raise FormatError(f"{where}: it is not a table with paths and a weight", format="mix")
    reading = ("paths", *OPTIONS) if folder is not None else ()
    _check_keys(settings, (*reading, *AMOUNTS, "max_epochs"), where)
    given = [amount for amount in AMOUNTS if amount in settings]
    if len(given) != 1:
        has = f"both {given[0]} and {given[1]}" if given else f"none of {', '.join(AMOUNTS)}"
        raise FormatError(f"{where}: it has {has}; give one of them", format="mix")
    amount = given[0]
    value = _number(settings[amount], f"{where}: {amount}")
    if amount == "epochs" and "max_epochs" in settings:
        raise FormatError(f"{where}: max_epochs has no effect beside epochs; remove one of them", format="mix")
    limit = _number(settings.get("max_epochs", 1), f"{where}: max_epochs")
    if (amount == "epochs" and value > MAX_EPOCHS) or not 1 <= limit <= MAX_EPOCHS:
        what = "epochs" if amount == "epochs" else "max_epochs"
        raise FormatError(f"{where}: {what} is {settings[what]!r}, expected 1 to {MAX_EPOCHS:,}", format="mix")
    return SourceSettings(amount, value, limit, None if folder is None else _corpus(settings, where, folder))


def _corpus(settings: Mapping[str, Any], where: str, folder: Path) -> Corpus:
    paths = settings.get("paths")
    paths = [paths] if isinstance(paths, str) else paths
    if not isinstance(paths, list | tuple) or not paths or not all(isinstance(one, str) and one for one in paths):
        message = (
            f"{where}: paths is {settings.get('paths')!r:.60}" if "paths" in settings else f"{where}: it has no paths"
        )
        raise FormatError(f"{message}; give a path, glob, folder or URL, or a list of them", format="mix")
    places = [one if is_remote(one) else folder / one for one in paths]
    reading = {name: settings[name] for name in OPTIONS if name in settings}
    try:
        return Corpus(places, **reading)
    except ValueError as error:
        raise FormatError(f"{where}: {error}", format="mix") from None


def _number(value: object, where: str) -> Fraction:
    """Reads a positive number: an integer, a decimal, or a text such as ``"20B"``."""
    found = None
    if isinstance(value, str) and (match := NUMBER.fullmatch(value)):
        found = Fraction(match[1]) * UNITS[match[2]]
    elif isinstance(value, str) and re.fullmatch(r"[0-9]{1,40}/[0-9]{1,40}", value) and not value.endswith("/0"):
        found = Fraction(value)  # a fraction such as ``"1/3"``, as `to_json` writes it
    elif isinstance(value, int | float | Fraction) and not isinstance(value, bool) and 0 <= value <= MAX_AMOUNT:
        found = Fraction(str(value))
    if found == 0:
        raise FormatError(f"{where} is 0; leave the source out, or give it more", format="mix")
    if found is None or found > MAX_AMOUNT:
        raise FormatError(f"{where} is {value!r:.60}, expected a positive number, like 0.7 or '20B'", format="mix")
    return found


def _check_keys(facts: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    """Checks that there are no unknown entries.

    Raises:
        FormatError: there is an unknown entry; the message suggests a similar known name.
    """
    for key in facts:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it may have {', '.join(known)}"
            raise FormatError(f"{where}: unknown entry {key!r}; {hint}", format="mix")
