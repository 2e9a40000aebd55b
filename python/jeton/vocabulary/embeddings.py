"""Applies a plan to the files of a model: writes embeddings and an output head with a row for each new id."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, FormatError, keyword
from ..util.arguments import file_path, strings
from ..util.atomic import copy_atomically, write_atomically
from .plan_rows import PlanRows
from .safetensors_file import BLOCK, ITEM_BYTES, SafetensorsFile, Tensor, from_float, to_float, write_file

__all__ = ["apply_plan", "read_embeddings"]

# A tensor has a row for each id if its name ends with one of these strings. Some of the names come from transformers,
# the others from model files published by the models' authors.
INPUTS = (
    "embed_tokens.weight",
    "wte.weight",
    "word_embeddings.weight",
    "tok_embeddings.weight",
    "embed_in.weight",
    "token_embedding.weight",
    "shared.weight",
)
OUTPUTS = (
    "lm_head.weight",
    "lm_head.bias",
    "embed_out.weight",
    "predictions.decoder.weight",
    "predictions.decoder.bias",
    "predictions.bias",
)
INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
# Names of a tokenizer's files. They are not copied, because the new tokenizer replaces them.
TOKENIZER_FILES = {
    "added_tokens.json",
    "merges.txt",
    "sentencepiece.bpe.model",
    "special_tokens_map.json",
    "spiece.model",
    "tekken.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "vocab.txt",
}


def read_embeddings(path: str | os.PathLike[str], name: str | None = None) -> NDArray[np.float32]:
    """Reads the input embeddings of a model, for `Plan.by`.

    Args:
        path: a ``.safetensors`` file, an index, or a folder.
        name: name of the tensor; None: the usual names are tried.

    Returns:
        float32[rows, width]

    Raises:
        ConfigError: the tensor does not exist, or has no values.
        UnsupportedFeatureError: the tensor's type is not floating point.
    """
    for file in _files(Path(file_path(path, "path")))[0]:
        with SafetensorsFile(file) as opened:
            for tensor in opened.tensors.values():
                if tensor.name == name or (name is None and tensor.name.endswith(INPUTS)):
                    _check_rows(tensor)
                    return _values(opened, tensor)
    raise ConfigError(f"{os.fspath(path)} has no tensor {name or 'of input embeddings'}", option="name")


def _values(opened: SafetensorsFile, tensor: Tensor) -> NDArray[np.float32]:
    """Returns float32[rows, values of a row]: all rows of a tensor, converted in blocks."""
    num_rows = tensor.shape[0]
    width = (tensor.end - tensor.start) // num_rows
    values = np.empty((num_rows, width // ITEM_BYTES[tensor.dtype]), np.float32)
    for start in range(0, num_rows, step := max(1, BLOCK // width)):
        ids = np.arange(start, min(start + step, num_rows))
        values[ids] = to_float(opened.rows(tensor, ids), tensor.dtype)
    return values


def _check_rows(tensor: Tensor, num_ids: int = 0) -> None:
    """Checks that a tensor has rows of floating-point values, at least one for each id.

    Raises:
        ConfigError: the tensor has fewer rows than there are ids, or no values.
        UnsupportedFeatureError: the tensor's type is not floating point.
    """
    if num_ids and (not tensor.shape or tensor.shape[0] < num_ids):
        raise ConfigError(
            f"{tensor.name:.200} has the shape {_spelled(tensor)}, but the tokenizer has {num_ids} ids",
            option="names",
        )
    if tensor.dtype not in ITEM_BYTES:
        to_float(np.empty((0, 1), np.uint8), tensor.dtype)  # raises an error if the type is not supported
    if not tensor.shape or tensor.start == tensor.end:
        raise ConfigError(f"{tensor.name:.200} has the shape {_spelled(tensor)}, so it has no rows", option="names")


def _spelled(tensor: Tensor) -> str:
    return f"[{', '.join(map(str, tensor.shape[:8]))}{', …' if len(tensor.shape) > 8 else ''}]"


def apply_plan(
    plan: PlanRows,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    names: Sequence[str] | None,
    multiple_of: int,
    donor: str | os.PathLike[str] | None,
) -> dict[str, list[int]]:
    """Implements `Plan.apply`."""
    files, index = _files(Path(file_path(source, "source")))
    out = Path(file_path(target, "target"))
    is_folder = index is not None or Path(source).is_dir()
    if is_folder:
        out.mkdir(parents=True, exist_ok=True)
    if any(os.path.realpath(file) == os.path.realpath(out / file.name if is_folder else out) for file in files):
        raise ConfigError("target is the same as source; pass another file or folder", option="target")
    if (plan.donors >= 0).any() and donor is None:
        raise ConfigError(f"the plan has rows of a donor; pass its file as {keyword('donor')}", option="donor")
    wanted = None if names is None else set(strings(names, "names"))
    num_rows = -(-plan.num_new // multiple_of) * multiple_of
    folder = Path(source) if Path(source).is_dir() else Path(source).parent
    config = _config(folder / "config.json", num_rows) if is_folder else None
    shapes: dict[str, list[int]] = {}
    plans = [_changed(file, plan, wanted) for file in files]  # all files are checked before any is written
    if not any(plans):
        raise ConfigError(f"no tensor of {os.fspath(source)} is an embedding; pass {keyword('names')}", option="names")
    if wanted is not None and (missing := wanted - {name for found in plans for name in found}):
        raise ConfigError(f"there is no tensor {min(missing)!r}", option="names")
    for file, changed in zip(files, plans, strict=True):
        to = out / file.name if is_folder else out
        if not changed:
            copy_atomically(file, to)
            continue
        with SafetensorsFile(file) as opened:
            listed = []
            for number, tensor in enumerate(opened.tensors.values()):
                if tensor.name not in changed:
                    size = tensor.end - tensor.start
                    listed.append((tensor.name, tensor.dtype, tensor.shape, size, opened.blocks(tensor)))
                    continue
                shape = (num_rows, *tensor.shape[1:])
                width = (tensor.end - tensor.start) // tensor.shape[0]
                rows = _new_rows(plan, opened, tensor, num_rows, number, donor)
                listed.append((tensor.name, tensor.dtype, shape, num_rows * width, rows))
                shapes[tensor.name] = list(shape)
            write_file(to, listed, opened.metadata)
    if is_folder:
        _copy_rest(folder, out, index, config, files)
    return shapes


def _files(place: Path) -> tuple[list[Path], dict[str, Any] | None]:
    """Returns the files of a model and the content of the index file; None if the model has no index file."""
    if place.is_dir():
        place = place / INDEX if (place / INDEX).exists() else place / SINGLE
    if place.suffix != ".json":
        if not place.exists():
            raise FileNotFoundError(2, "no such file", os.fspath(place))
        return [place], None
    try:
        index = json.loads(place.read_bytes())
        names = sorted(set(index["weight_map"].values()))
        if not isinstance(index.get("metadata") or {}, dict):
            raise TypeError("its metadata is not an object")
        for name in names:
            os.fsencode(name)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(f"{place}: not an index of safetensors ({error})", format="safetensors") from None
    for name in names:
        if os.path.basename(name) != name or name in ("", ".", "..") or "\0" in name:
            raise FormatError(f"{place}: {name!r:.200} is not the name of a file", format="safetensors")
    return [place.parent / name for name in names], index


def _changed(file: Path, plan: PlanRows, wanted: set[str] | None) -> set[str]:
    """Returns the names of the tensors that change in a file.

    Args:
        file: the file.
        plan: the plan.
        wanted: names of the tensors to change; None: the usual names of embeddings and output heads.

    Raises:
        ConfigError: a tensor to change has no values, or has fewer rows than the old tokenizer has ids.
        UnsupportedFeatureError: a tensor to change has a type that is not floating point.
    """
    found = set()
    with SafetensorsFile(file) as opened:
        for tensor in opened.tensors.values():
            usual = tensor.name.endswith((*INPUTS, *OUTPUTS)) or tensor.name == "output.weight"
            if not (tensor.name in wanted if wanted is not None else usual):
                continue
            _check_rows(tensor, plan.num_old)
            found.add(tensor.name)
    return found


def _new_rows(
    plan: PlanRows,
    opened: SafetensorsFile,
    tensor: Tensor,
    num_rows: int,
    number: int,
    donor: str | os.PathLike[str] | None,
) -> Iterator[bytes]:
    """Yields the rows of a changed tensor as bytes, in blocks."""
    width = (tensor.end - tensor.start) // tensor.shape[0]
    step = max(1, BLOCK // width)
    noise = _Noise(plan, opened, tensor, number, step)
    for start in range(0, plan.num_new, step):
        end = min(start + step, plan.num_new)
        block = np.zeros((end - start, width), np.uint8)
        copied = plan.copied[start:end]
        block[copied >= 0] = opened.rows(tensor, copied[copied >= 0])
        first, last = np.searchsorted(plan.mixed, [start, end])
        if first < last:
            values = to_float(opened.rows(tensor, plan.mixed_from[first:last]), tensor.dtype)
            values *= plan.weights[first:last, None]
            new, begins = np.unique(plan.mixed[first:last], return_index=True)
            block[new - start] = from_float(np.add.reduceat(values, begins, axis=0), tensor.dtype)
        donors = plan.donors[start:end]
        if donor is not None and (donors >= 0).any():
            block[donors >= 0] = _donor_rows(donor, tensor, donors[donors >= 0])
        lost = plan.noise[(plan.noise >= start) & (plan.noise < end)]
        if lost.size:
            block[lost - start] = noise.rows(lost.size)
        yield block.tobytes()
    for _ in range(plan.num_new, num_rows):
        yield bytes(width)


class _Noise:
    """Generator of normally distributed rows, with the mean and the variance of the old rows in each dimension."""

    def __init__(self, plan: PlanRows, opened: SafetensorsFile, tensor: Tensor, number: int, step: int) -> None:
        self._plan, self._opened, self._tensor, self._step = plan, opened, tensor, step
        self._moments: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        self._random = np.random.default_rng([plan.seed, number])

    def rows(self, num_rows: int) -> NDArray[np.uint8]:
        """Returns the next rows. They do not depend on the sizes of blocks, because values are drawn row after row."""
        if self._moments is None:
            self._moments = self._measured()
        mean, deviation = self._moments
        values = mean + deviation * self._random.standard_normal((num_rows, mean.size))
        return from_float(values, self._tensor.dtype)

    def _measured(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        total = squares = np.zeros(1)
        for start in range(0, self._plan.num_old, self._step):
            ids = np.arange(start, min(start + self._step, self._plan.num_old))
            values = to_float(self._opened.rows(self._tensor, ids), self._tensor.dtype)
            total = total + values.sum(axis=0)
            squares = squares + (values**2).sum(axis=0)
        mean = total / self._plan.num_old
        return mean, np.sqrt(np.maximum(squares / self._plan.num_old - mean**2, 0))


def _donor_rows(donor: str | os.PathLike[str], tensor: Tensor, ids: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Reads rows of the donor's tensor with the same name as `tensor`."""
    for file in _files(Path(file_path(donor, "donor")))[0]:
        with SafetensorsFile(file) as opened:
            found = opened.tensors.get(tensor.name)
            if found is None:
                continue
            if found.shape[1:] != tensor.shape[1:] or not found.shape or found.shape[0] <= int(ids.max()):
                raise ConfigError(
                    f"donor: {tensor.name:.200} has the shape {_spelled(found)}, which does not fit {_spelled(tensor)}",
                    option="donor",
                )
            _check_rows(found)
            return from_float(to_float(opened.rows(found, ids), found.dtype), tensor.dtype)
    raise ConfigError(f"donor: there is no tensor {tensor.name!r}", option="donor")


def _config(path: Path, num_rows: int) -> bytes | None:
    """Returns the content of a configuration with the new number of ids; None if the file does not exist.

    Raises:
        FormatError: the configuration is not a JSON object.
    """
    if not path.is_file():
        return None
    try:
        config = json.loads(path.read_bytes())
        for part in (config, config.get("text_config")):
            if isinstance(part, dict) and "vocab_size" in part:
                part["vocab_size"] = num_rows
        return json.dumps(config, indent=2, ensure_ascii=False).encode() + b"\n"
    except (ValueError, AttributeError, RecursionError) as error:
        raise FormatError(f"{path}: not a configuration ({error})", format="config.json") from None


def _copy_rest(source: Path, out: Path, index: dict[str, Any] | None, config: bytes | None, files: list[Path]) -> None:
    """Writes the index and the configuration, and copies the other files of a folder, except the tokenizer's."""
    if index is not None:
        size = 0
        for file in files:
            with SafetensorsFile(out / file.name) as opened:
                size += sum(tensor.end - tensor.start for tensor in opened.tensors.values())
        index = {**index, "metadata": {**(index.get("metadata") or {}), "total_size": size}}
        with write_atomically(out / INDEX) as writer:
            writer.write(json.dumps(index, indent=2, sort_keys=True).encode() + b"\n")
    for file in sorted(source.iterdir()):
        to = out / file.name
        if not file.is_file() or file.suffix == ".safetensors" or file.name in {INDEX, *TOKENIZER_FILES} or to.exists():
            continue
        if file.name == "config.json" and config is not None:
            with write_atomically(to) as writer:
                writer.write(config)
        else:
            copy_atomically(file, to)
