"""Plain reading of shards, without Jeton: documents, rows, masks and positions, one id after the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

NO_TASK = (1 << 32) - 1
SUFFIXES = {  # ids, their first byte, ends of documents, loss mask
    "megatron": (".bin", 0, ".documents", ".mask"),
    "bin": (".bin", 0, ".documents", ".mask"),
    "llmc": (".bin", 1024, ".documents", ".mask"),
    "datatrove": (".ds", 0, ".ds.index", ".ds.loss"),
    "olmo": (".npy", 0, ".documents", ".mask"),
}


class Id(NamedTuple):
    """An id of a shard: its number, whether its loss counts, and whether its document begins with it."""

    id: int
    mask: int
    is_first: bool


class Row(NamedTuple):
    """A row: lists of equal lengths."""

    ids: tuple[int, ...]
    mask: tuple[int, ...]
    positions: tuple[int, ...]


def ids_of_folder(folder: Path) -> list[list[Id]]:
    """All ids, of each document, or of each piece of one."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    suffix, first, ends_suffix, mask_suffix = SUFFIXES[manifest["format"]]
    found: list[list[Id]] = []
    for number in range(len(manifest["shards"])):
        stem = f"shard-{number:05}"
        ids = np.fromfile(folder / (stem + suffix), manifest["dtype"], offset=first).tolist()
        if (folder / (stem + ends_suffix)).exists():
            ends = np.fromfile(folder / (stem + ends_suffix), "<u8").tolist()
        else:
            index = folder / f"{stem}.idx"
            num = int(np.fromfile(index, "<u8", 1, offset=18)[0])
            ends = np.cumsum(np.fromfile(index, "<i4", num, offset=34)).tolist()
        has_mask = (folder / (stem + mask_suffix)).exists()
        mask = np.fromfile(folder / (stem + mask_suffix), "u1").tolist() if has_mask else [1] * len(ids)
        if "row_length" in manifest:
            tasks = np.fromfile(folder / f"{stem}.origins", "<u4").reshape(-1, 3)[:, 0].tolist()
        else:
            tasks = [0] * len(ends)
        start = 0
        for end, task in zip(ends, tasks, strict=True):
            found.append([Id(ids[at], 0 if task == NO_TASK else mask[at], at == start) for at in range(start, end)])
            start = end
    return found


def rows_of(documents: list[list[Id]], length: int) -> list[Row]:
    """Rows of all ids back to back, without the rest at the end."""
    flat = [id for document in documents for id in document]
    rows = []
    for start in range(0, len(flat) - length + 1, length):
        own = flat[start : start + length]
        positions: list[int] = []
        for id in own:
            positions.append(0 if id.is_first or not positions else positions[-1] + 1)
        rows.append(Row(tuple(id.id for id in own), tuple(id.mask for id in own), tuple(positions)))
    return rows
