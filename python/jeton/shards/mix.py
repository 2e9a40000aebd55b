"""`Mix`: how much of each source a mix takes, computed from the counts in the manifests of the sources.

    OUT/web, OUT/code    an ordinary folder of shards for each source
    OUT/mix.json         the amounts: weights, epochs, ids or samples

Weights are not stored in shards, so you can change a mix without encoding again. All numbers are computed as fractions:

- epochs, ids and samples of a source are taken as given;
- sources with weights share the rest of ``tokens``, in proportion to the weights; without ``tokens``, they share as
  many ids as their ``max_epochs`` permit.

The number of ids of a source is the number of ids in all documents of the source. If the shards are packed, it is the
number of ids in all rows, including padding.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..errors import ConfigError, ShardError, call
from .blend import Blend, blend
from .folder import MANIFEST, MIX, TRAIN, ShardFolder
from .layouts import COUNTS
from .mix_file import MixFile, SourceSettings
from .splitting import folder_in

__all__ = ["Mix", "MixedSource", "is_mix", "mix", "resolved", "write_mix"]

VERSION = 1
ALIKE = ("format", "dtype", "tokenizer", "bos", "eos", "row_length", "pad", "loss_mask")


@dataclass(frozen=True)
class MixedSource:
    """A source of a mix.

    Attributes:
        folder: folder of the source's shards.
        documents: number of documents.
        items: number of items of the dataset. An item is a row in packed shards, and a document in other shards.
        tokens: number of ids.
        epochs: number of passes over the source in the mix, as an exact fraction.

    Examples:
        >>> MixedSource("out/web", 10, 10, 3000, Fraction(3, 2)).taken
        4500
    """

    folder: str
    documents: int
    items: int
    tokens: int
    epochs: Fraction

    @property
    def taken(self) -> int:
        """Number of ids that the mix takes from the source, rounded."""
        return round(self.epochs * self.tokens)


@dataclass(frozen=True)
class Mix:
    """Mix of sources, as read by `mix`.

    Attributes:
        folder: folder of the mix.
        sources: name -> source, in the order of the mix file.

    Examples:
        >>> import jeton, pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> for name, number in (("a", 100), ("b", 300)):
        ...     _ = (folder / f"{name}.txt").write_text("to be\\n" * number)
        >>> one = {"documents": "line", "weight": 1}
        >>> sources = {name: {"paths": str(folder / f"{name}.txt"), **one} for name in "ab"}
        >>> made = jeton.shards.make_mix({"sources": sources}, folder / "out", jeton.default(), progress=False)
        >>> made.tokens, made.shares, float(made.sources["b"].epochs)
        (400, {'a': 0.5, 'b': 0.5}, 0.3333333333333333)
    """

    folder: str
    sources: Mapping[str, MixedSource]

    @property
    def tokens(self) -> int:
        """Number of ids that the mix takes from all sources, rounded."""
        return sum(source.taken for source in self.sources.values())

    @property
    def shares(self) -> dict[str, float]:
        """Name of each source -> its share of the ids of the mix, from 0 to 1."""
        exact = {name: source.epochs * source.tokens for name, source in self.sources.items()}
        total = sum(exact.values())
        return {name: float(taken / total) for name, taken in exact.items()}

    def blend(self) -> Blend:
        """Returns the mix as a `Blend` for `loader`.

        One epoch of the blend is one pass over the mix, in which each source is read `MixedSource.epochs` times.

        Raises:
            UnsupportedFeatureError: a source is at a URL, or is in a format that `open` does not support.

        Examples:
            >>> import jeton, pathlib, tempfile
            >>> folder = pathlib.Path(tempfile.mkdtemp())
            >>> _ = (folder / "a.txt").write_text("to be or not to be")
            >>> made = {"sources": {"a": {"paths": str(folder / "a.txt"), "epochs": 3}}}
            >>> _ = jeton.shards.make_mix(made, folder / "out", jeton.default(), progress=False)
            >>> jeton.shards.loader(mix(folder / "out").blend(), rows=2).num_rows
            9
        """
        shares: list[tuple[str, Any]] = [
            (source.folder, {"epochs": source.epochs}) for source in self.sources.values() if source.tokens
        ]
        return blend(shares)

    def to_json(self) -> dict[str, Any]:
        """Returns the mix as JSON."""
        shares = self.shares
        sources = {
            name: {**vars(source), "epochs": float(source.epochs), "taken": source.taken, "share": shares[name]}
            for name, source in self.sources.items()
        }
        return {"folder": self.folder, "tokens": self.tokens, "sources": sources}

    def to_markdown(self) -> str:
        """Returns the mix as a table."""
        rows = [("source", "documents", "tokens", "epochs", "tokens of the mix", "share"), ("---",) * 6]
        for name, source in self.sources.items():
            has, share = f"{source.documents:,}", f"{self.shares[name]:.2%}"
            rows.append((name, has, f"{source.tokens:,}", f"{float(source.epochs):.4g}", f"{source.taken:,}", share))
        return "".join(f"| {' | '.join(row)} |\n" for row in rows)

    def __repr__(self) -> str:
        shares = ", ".join(f"{name} {share:.1%}" for name, share in self.shares.items())
        return f"Mix({self.tokens:,} tokens: {shares})"


def is_mix(output: str | os.PathLike[str]) -> bool:
    """True if a folder has ``mix.json``."""
    return ShardFolder(output).has(MIX)


def mix(output: str | os.PathLike[str]) -> Mix:
    """Reads the mix of a folder, with the counts of its sources.

    Raises:
        ShardError: the folder has no mix, or a source is not merged.
        ConfigError: the mix cannot be computed: for example, it takes more of a source than ``max_epochs`` permits,
            or two sources differ in format or tokenizer.
        FormatError: ``mix.json`` or a manifest is damaged, or has another version number.

    Examples:
        >>> import jeton, pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.txt").write_text("to be")
        >>> made = {"sources": {"a": {"paths": str(folder / "a.txt"), "epochs": 3}}}
        >>> _ = jeton.shards.make_mix(made, folder / "out", jeton.default(), progress=False)
        >>> mix(folder / "out")
        Mix(6 tokens: a 100.0%)
    """
    folder = ShardFolder(output)
    if not folder.has(MIX):
        message = f"{folder}: no {MIX}; {call('jeton.shards.make_mix', 'jeton shards make --mix')} writes it"
        if ShardFolder(folder_in(output, TRAIN)).has(MIX):
            message += f"; {folder_in(output, TRAIN)} has one"
        raise ShardError(message, path=str(folder))
    facts = folder.read(MIX, "mix", VERSION)
    return resolved(MixFile.from_json(facts, folder.storage.location(MIX)), output)


def write_mix(output: str | os.PathLike[str], settings: MixFile) -> None:
    """Writes ``mix.json``."""
    ShardFolder(output).write(MIX, {"version": VERSION, **settings.to_json()})


def resolved(settings: MixFile, output: str | os.PathLike[str], folders: Mapping[str, str] | None = None) -> Mix:
    """Computes the amounts of a mix from the manifests of its sources.

    Args:
        settings: settings of the mix.
        output: folder of the mix.
        folders: name -> folder of each source; None: folders with these names in the folder of the mix.

    Raises:
        ShardError: a source is not merged.
        ConfigError: as `mix`.
    """
    manifests: dict[str, dict[str, Any]] = {}
    folders = folders or {name: folder_in(output, name) for name in settings.sources}
    for name, folder in folders.items():
        place = ShardFolder(folder)
        if not place.has(MANIFEST):
            message = f"{settings.name}: the source {name!r} is not complete: {place} has no {MANIFEST}"
            raise ShardError(f"{message}; run and merge it", path=str(place))
        manifests[name] = place.load_manifest()
    _check_alike(manifests, settings.name)
    sizes = {name: _size(manifest) for name, manifest in manifests.items()}
    for name, (_, tokens) in sizes.items():
        if not tokens and settings.sources[name].amount != "epochs":  # an empty source cannot have a share
            raise ConfigError(f"{settings.name}: the source {name!r} has no tokens; leave it out", option="mix")
    if not any(tokens for _, tokens in sizes.values()):
        raise ConfigError(f"{settings.name}: its sources have no tokens", option="mix")
    amounts = _amounts(settings, sizes)
    sources = {}
    for name, (items, tokens) in sizes.items():
        epochs = amounts[name] / tokens if tokens else settings.sources[name].value
        _check_epochs(settings.sources[name], name, settings.name, epochs, tokens)
        sources[name] = MixedSource(folders[name], manifests[name]["documents"], items, tokens, epochs)
    return Mix(os.fspath(output), sources)


def _check_alike(manifests: Mapping[str, Mapping[str, Any]], where: str) -> None:
    """Checks that all sources can be read as one dataset.

    Raises:
        ConfigError: the sources differ, or have counts of pretokens.
    """
    (first, one), *others = manifests.items()
    if one["format"] == COUNTS:
        raise ConfigError(f"{where}: a mix needs ids, but {first!r} has counts of pretokens", option="mix")
    for name, other in others:
        for entry in ALIKE:
            if one.get(entry) != other.get(entry):
                was = f"{first!r} has {entry} {one.get(entry)!r}, and {name!r} {other.get(entry)!r}"
                raise ConfigError(f"{where}: its sources differ: {was}; make them with the same options", option="mix")


def _size(manifest: Mapping[str, Any]) -> tuple[int, int]:
    """Returns the number of items of a folder (rows in packed shards, otherwise documents) and the number of ids."""
    length = manifest.get("row_length")
    items = sum(shard["documents" if length is None else "rows"] for shard in manifest["shards"])
    return items, manifest["tokens"] if length is None else items * length


def _amounts(settings: MixFile, sizes: Mapping[str, tuple[int, int]]) -> dict[str, Fraction]:
    """Returns the number of ids that a mix takes from each source."""
    found: dict[str, Fraction] = {}
    weights: dict[str, Fraction] = {}
    for name, source in settings.sources.items():
        items, tokens = sizes[name]
        if source.amount == "weight":
            weights[name] = source.value
        else:
            factor = {"epochs": Fraction(tokens), "tokens": Fraction(1), "samples": Fraction(tokens, max(items, 1))}
            found[name] = source.value * factor[source.amount]
    if not weights:
        return found
    whole = sum(weights.values(), Fraction(0))
    shares = {name: weight / whole for name, weight in weights.items()}
    if settings.tokens is None:
        left = min(settings.sources[name].max_epochs * sizes[name][1] / share for name, share in shares.items())
    else:
        left = settings.tokens - sum(found.values(), Fraction(0))
        if left <= 0:
            message = (
                f"{settings.name}: tokens is {float(settings.tokens):,g}, but the sources without a weight "
                "already take all of them"
            )
            raise ConfigError(f"{message}; give more tokens", option="mix")
    return {**found, **{name: share * left for name, share in shares.items()}}


def _check_epochs(source: SourceSettings, name: str, where: str, epochs: Fraction, tokens: int) -> None:
    """Checks that the mix does not take more epochs of a source than the ``max_epochs`` of the source.

    Raises:
        ConfigError: the mix takes more epochs.
    """
    if source.amount == "epochs" or epochs <= source.max_epochs:
        return
    needs = f"{name!r} has {tokens:,} tokens, but the mix takes {round(epochs * tokens):,} ({float(epochs):.4g} epochs)"
    limit = f"at most {float(source.max_epochs):.4g}" if source.max_epochs != 1 else "no repetition"
    hint = f"take less, or set max_epochs = {-(-epochs.numerator // epochs.denominator)}"
    raise ConfigError(f"{where}: {needs}, and max_epochs permits {limit}; {hint}", option="mix")
