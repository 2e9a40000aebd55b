"""Mixture settings of Megatron and OLMo-core, written from the manifests of a folder.

Megatron (``--format megatron``) reads the settings from the file for ``--data-args-path``: weight and prefix of each
shard, or of the joined file if shards are joined. The share of a source is divided among its shards in proportion to
their ids. During training, Megatron takes the source's share of all samples from the source. If the source has too few
samples, Megatron repeats the source. For the parts of a split, the file is JSON for ``--per-split-data-args-path``,
with the parts ``train``, ``validation`` (or ``valid``) and ``test``.

OLMo-core (``--format olmo``) reads the settings with ``SourceMixtureList.from_yaml``: each source has its
``target_ratio``, the paths of its shards, and its epochs as ``max_repetition_ratio`` if there are more than one. Loss
masks are not included.

Sources: NVIDIA/Megatron-LM, megatron/core/datasets/utils.py (`get_blend_from_list`) and
megatron/training/utils/common_utils.py (`get_blend_and_blend_per_split`); allenai/OLMo-core,
src/olmo_core/data/source_mixture.py.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from ..corpus.paths import absolute
from ..errors import ConfigError
from ..util.arguments import choice
from .folder import MANIFEST, MIX, TRAIN, ShardFolder
from .layouts import LAYOUTS
from .mix import Mix, mix, resolved
from .mix_file import MixFile, SourceSettings
from .splitting import VALIDATION, folder_in

__all__ = ["SYSTEMS", "mixture_settings"]

SYSTEMS = ("megatron", "olmo")
MILLION = 10**6
# Key in Megatron's file -> possible names of the corresponding part of a split.
SPLITS = {"train": (TRAIN,), "valid": (VALIDATION, "valid"), "test": ("test",)}


def mixture_settings(output: str | os.PathLike[str], system: str) -> str:
    """Returns the settings with which a training system reads a mix, a folder of shards, or the parts of a split.

    Args:
        output: a folder written by `make_mix`, `make` or `make_split`.
        system: ``"megatron"`` or ``"olmo"``.

    Returns:
        The text of the settings file. For OLMo-core, the text is YAML. For Megatron, it consists of pairs of weight and
        path prefix; for the parts of a split, the pairs are written as JSON. Paths are absolute.

    Raises:
        ConfigError: the system cannot read the format of the shards; or, for Megatron, a path contains white space.
        ShardError: the folder is not merged.
        FormatError: a manifest is damaged, or of another version.

    Examples:
        >>> import jeton, pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> for name in ("web", "code"):
        ...     _ = (folder / f"{name}.txt").write_text("to be")
        >>> sources = {name: {"paths": str(folder / f"{name}.txt"), "weight": 1} for name in ("web", "code")}
        >>> _ = jeton.shards.make_mix({"sources": sources}, folder / "out", jeton.default(), progress=False)
        >>> print(mixture_settings(folder / "out", "megatron").replace(str(folder), "…"))
        0.5 …/out/web/shard-00000
        0.5 …/out/code/shard-00000
    """
    choice(system, "system", SYSTEMS)
    if not _is_made(output) and _is_made(folder_in(output, TRAIN)):
        return _per_split(output, system)
    made = _mix(output)
    if system == "olmo":
        return _olmo(made)
    items = list(_megatron(made))
    for _, prefix in items:
        if len(prefix.split()) != 1:
            message = f"{prefix!r} contains white space, at which Megatron splits its file"
            raise ConfigError(f"{message}; move the folder to a path without any", option="output")
    return "\n".join(f"{weight} {prefix}" for weight, prefix in items)


def _is_made(folder: str | os.PathLike[str]) -> bool:
    return ShardFolder(folder).has(MIX) or ShardFolder(folder).has(MANIFEST)


def _mix(output: str | os.PathLike[str]) -> Mix:
    """Returns the mix of a folder. An ordinary folder of shards is a mix with one source, taken once."""
    if ShardFolder(output).has(MIX) or not ShardFolder(output).has(MANIFEST):
        return mix(output)
    folder = os.fspath(output)
    name = os.path.basename(absolute(folder).rstrip("/" + os.sep))
    return resolved(MixFile(folder, {name: SourceSettings("epochs", Fraction(1))}), output, {name: folder})


def _per_split(output: str | os.PathLike[str], system: str) -> str:
    """Returns Megatron's settings for the parts of a split, such as ``train`` and ``validation``."""
    if system != "megatron":
        train = folder_in(output, TRAIN)
        raise ConfigError(f"{os.fspath(output)} has parts, but {system} takes one; pass {train}", option="output")
    found: dict[str, list[str] | None] = {}
    for split, names in SPLITS.items():
        folders = [folder for name in names if _is_made(folder := folder_in(output, name))]
        items = _megatron(_mix(folders[0])) if folders else ()
        found[split] = [text for weight, prefix in items for text in (repr(weight), prefix)] or None
    return json.dumps(found, indent=1)


def _megatron(made: Mix) -> Iterator[tuple[float, str]]:
    """Yields weight and path prefix of each shard that has documents."""
    total = sum((source.epochs * source.tokens for source in made.sources.values()), Fraction(0))
    for source in made.sources.values():
        folder, manifest = absolute(source.folder), _manifest(source.folder, "megatron")
        if not source.tokens:
            continue
        share = source.epochs * source.tokens / total
        if "joined" in manifest:
            yield float(share), folder_in(folder, min(manifest["joined"]).partition(".")[0])
            continue
        for number, shard in enumerate(manifest["shards"]):
            length = manifest.get("row_length")
            tokens = shard["tokens"] if length is None else shard["rows"] * length
            if tokens:
                yield float(share * tokens / source.tokens), folder_in(folder, ShardFolder.stem(number))


def _olmo(made: Mix) -> str:
    """Returns the settings as YAML, with strings in the form of JSON."""
    lines = [f"# requested_tokens: {made.tokens}", "sources:"]
    shares = made.shares
    for name, source in made.sources.items():
        manifest, folder = _manifest(source.folder, "olmo"), absolute(source.folder)
        if not source.tokens:
            continue
        lines += [f"  - source_name: {json.dumps(name)}", f"    target_ratio: {shares[name]!r}"]
        if source.epochs > 1:
            most = -(-source.epochs * MILLION // 1)  # rounded up, because it is an upper limit
            lines.append(f"    max_repetition_ratio: {most / MILLION!r}")
        lines.append("    paths:")
        suffix = LAYOUTS["olmo"].suffix
        for number, shard in enumerate(manifest["shards"]):
            if shard["tokens"]:
                path = folder_in(folder, ShardFolder.stem(number) + suffix)
                lines.append(f"      - {json.dumps(path, ensure_ascii=False)}")
    return "\n".join(lines)


def _manifest(folder: str, format: str) -> Mapping[str, Any]:
    """Returns the manifest of a source, after checking its format."""
    manifest = ShardFolder(folder).load_manifest()
    if manifest["format"] != format:
        message = f"{folder} has shards of format {manifest['format']!r}, but {format} reads only its own"
        raise ConfigError(f"{message}; make them in the format {format}", option="system")
    return manifest
