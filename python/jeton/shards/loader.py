"""`loader`: shuffled batches of rows of shards, for each rank of a training program; it can resume after any batch.

The global order of an epoch is a permutation of the rows that is computed, not stored (`order`, `blend`). Batch i of
this order goes to rank i mod `world_size`. So a position is the same number for all ranks: the number of batches
that all ranks together have read.

Threads prepare batches in advance, because the GIL is released while rows are copied and while the disk is read.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..errors import ConfigError, keyword
from ..util.arguments import choice, flag, integer, wrong
from ..util.lazy import cached_property
from ..util.optional import import_optional
from .blend import Blend, RowOrder
from .dataset import DTYPES, ShardDataset
from .layouts import Int64
from .mix import is_mix, mix

__all__ = ["ShardLoader", "loader"]

IGNORED = -100  # label that the losses of PyTorch and transformers ignore
MAX_IDS = (1 << 31) - 1  # maximum number of ids of a batch, limited by the type of `cu_seqlens`
ORDERED_ROWS = 4096  # number of rows for which the permuted positions are computed at once
AHEAD = 2  # batches that each worker prepares in advance


def loader(
    source: ShardDataset | Blend | str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    rows: int | None = None,
    batch: int = 1,
    *,
    rank: int = 0,
    world_size: int = 1,
    workers: int = 0,
    seed: int | None = 0,
    epoch: int = 0,
    shift_labels: bool = False,
    drop_last: bool = False,
    dtype: str = "int64",
    tensors: str = "numpy",
) -> ShardLoader:
    """Makes batches of rows of shards.

    A batch is a dict of new arrays:

    - ``input_ids``: shape (`batch`, `rows`).
    - ``position_ids``: begin at 0 with each document and with each row.
    - ``loss_mask`` (uint8): 0 for padding, and for ids of a conversation that do not contribute to the loss.
    - ``cu_seqlens`` (int32): 0, then the end of each document in the flattened batch, as FlashAttention's
      variable-length kernels expect. Padding counts as a document.
    - ``labels`` (int64): the ids; -100 where the loss mask is 0, and for the first id of each document, because no
      earlier id predicts it.

    If the shards are not packed, all ids back to back are cut into rows, and the remainder at the end is left out.

    Args:
        source: a folder, including one of `make_mix`; several folders that are read as one; a dataset of `open`; or a
            `blend`.
        rows: number of ids in a row. Packed shards have a fixed row length: pass it, or None.
        batch: rows of a batch. The last batch of an epoch can have fewer.
        rank, world_size: batch i of the global order goes to rank i mod `world_size`.
        workers: threads that prepare batches in advance; 0: each batch is made on request. The number of threads does
            not change the batches.
        seed: seed of the order; None: the order of the files.
        epoch: number of the first epoch; each epoch has its own order.
        shift_labels: False: the label at a position is the id there, for transformers, TRL and axolotl, which shift
            labels in the model. True: the label is the next id, for training loops that do not shift.
        drop_last: leaves out an incomplete last batch, then further batches at the end until all ranks get the same
            number.
        dtype: type of ``input_ids`` and ``position_ids``: ``"int64"`` or ``"int32"``.
        tensors: ``"numpy"`` for arrays; ``"torch"`` for tensors, and the loader is then an `IterableDataset` of
            PyTorch.

    Raises:
        ConfigError: an invalid option, or shards with fewer ids than one row.
        MissingDependencyError: PyTorch is not installed.
        ShardError, FormatError, UnsupportedFeatureError: as `open`.

    Examples:
        >>> import jeton, pathlib, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> _ = pathlib.Path(folder, "a.txt").write_text("to be or not to be " * 100)
        >>> _ = jeton.shards.make(f"{folder}/a.txt", f"{folder}/out", jeton.default(), progress=False)
        >>> batches = jeton.shards.loader(f"{folder}/out", rows=16, batch=4, rank=0, world_size=2)
        >>> {name: array.shape for name, array in next(iter(batches)).items()}
        {'input_ids': (4, 16), 'position_ids': (4, 16), 'loss_mask': (4, 16), 'cu_seqlens': (5,), 'labels': (4, 16)}
    """
    choice(tensors, "tensors", ("numpy", "torch"))
    made = ShardLoader if tensors == "numpy" else _torch_loader()
    return made(
        source, rows, batch, rank=rank, world_size=world_size, workers=workers, seed=seed, epoch=epoch,
        shift_labels=shift_labels, drop_last=drop_last, dtype=dtype,
    )  # fmt: skip


class _Located(NamedTuple):
    """Rows of a batch that is to be made.

    Attributes:
        sources: index of the folder of each row.
        rows: index of each row in its folder.
    """

    sources: Int64
    rows: Int64


class ShardLoader:
    """Iterable of batches of rows; made by `loader`, whose documentation describes options and batches.

    A loader has one position. An iteration yields the batches from the position to the end of the epoch; the next
    iteration begins the next epoch. ``state_dict`` has the position after the last batch that was returned, regardless
    of batches prepared in advance.

    Attributes:
        epoch: the current epoch.
        num_batches: number of batches in an epoch, of all ranks; ``len`` of the loader is the number for this rank.
        num_rows: number of rows in an epoch.

    Examples:
        >>> import jeton, pathlib, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> _ = pathlib.Path(folder, "a.txt").write_text("to be or not to be " * 100)
        >>> _ = jeton.shards.make(f"{folder}/a.txt", f"{folder}/out", jeton.default(), progress=False)
        >>> batches = jeton.shards.loader(f"{folder}/out", rows=16, batch=4)
        >>> first = next(iter(batches))
        >>> state = batches.state_dict()
        >>> other = jeton.shards.loader(f"{folder}/out", rows=16, batch=4, rank=1, world_size=2)
        >>> other.load_state_dict(state)
        >>> batches.num_batches, len(list(other)), other.epoch
        (10, 5, 1)
    """

    def __init__(
        self,
        source: ShardDataset | Blend | str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        rows: int | None = None,
        batch: int = 1,
        *,
        rank: int = 0,
        world_size: int = 1,
        workers: int = 0,
        seed: int | None = 0,
        epoch: int = 0,
        shift_labels: bool = False,
        drop_last: bool = False,
        dtype: str = "int64",
    ) -> None:
        self._batch = integer(batch, "batch", 1, MAX_IDS)
        self._world_size = integer(world_size, "world_size", 1)
        self._rank = integer(rank, "rank", 0, world_size - 1)
        self._workers = integer(workers, "workers", 0, 1024)
        self._seed = None if seed is None else integer(seed, "seed", 0)
        self.epoch = integer(epoch, "epoch", 0)
        self._shift, self._drop_last = flag(shift_labels, "shift_labels"), flag(drop_last, "drop_last")
        self._dtype = np.dtype(choice(dtype, "dtype", DTYPES))
        if isinstance(source, ShardDataset):
            source = Blend.of(source)
        elif isinstance(source, str | os.PathLike) and is_mix(source):
            source = mix(source).blend()
        self._blend = source if isinstance(source, Blend) else Blend.of(ShardDataset(source))
        if self._seed is None and len(self._blend.datasets) > 1:
            message = (
                f"{keyword('seed', None)} keeps the order of files, which is possible for one folder only; a "
                "blend is always shuffled"
            )
            raise ConfigError(f"{message}: pass a number", option="seed")
        self._length = self._blend.length(rows)
        if self._length * batch > MAX_IDS:
            message = f"{keyword('batch', batch)}: batches of {self._length * batch:,} ids; at most {MAX_IDS:,} fit"
            raise ConfigError(message, option="batch")
        self._order = RowOrder(self._blend, self._length, self._seed)
        self.num_rows = self._order.num_rows
        self.num_batches = self.num_rows // batch if drop_last else -(-self.num_rows // batch)
        if self.num_batches < (world_size if drop_last else 1):
            message = f"{keyword('drop_last', True)}: {self.num_rows:,} rows are less than a batch for each rank"
            raise ConfigError(f"{message}; pass smaller {keyword('batch')}", option="batch")
        self._places = np.arange(batch * self._length, dtype=self._dtype)
        self._position = 0  # number of batches that all ranks together have read in the epoch

    def __len__(self) -> int:
        return len(self._numbers(0))

    def _numbers(self, position: int, part: int = 0, num_parts: int = 1) -> range:
        """Returns the numbers of the batches that process `part` of this rank reads, starting at `position`."""
        first = position + (self._rank - position) % self._world_size
        end = self.num_batches
        if self._drop_last:
            end -= (end - position) % self._world_size
        return range(first + part * self._world_size, end, num_parts * self._world_size)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        part, num_parts = self._part()
        position = self._position
        numbers = self._numbers(position, part, num_parts)
        for made in _ahead(self._made, self._located(numbers, self.epoch), self._workers):
            position = min(position + num_parts * self._world_size, self.num_batches)
            self._position = position
            yield self._given(made)
        self.epoch, self._position = self.epoch + 1, 0

    def _part(self) -> tuple[int, int]:
        """Returns the index of this process, and the number of processes that share the batches of a rank."""
        return 0, 1

    def _given(self, made: dict[str, Any]) -> dict[str, Any]:
        """Converts a batch to the form in which the loader yields it; overridden by subclasses."""
        return made

    def _located(self, numbers: range, epoch: int) -> Iterator[_Located]:
        """Yields the rows of each batch."""
        step = max(1, ORDERED_ROWS // self._batch)
        for at in range(0, len(numbers), step):
            firsts = np.asarray(numbers[at : at + step], np.int64) * self._batch
            places = (firsts[:, None] + np.arange(self._batch)).ravel()
            located = self._order.locate(places[places < self.num_rows], epoch)
            for start in range(0, len(located[0]), self._batch):
                span = slice(start, start + self._batch)
                yield _Located(located[0][span], located[1][span])

    def _made(self, located: _Located) -> dict[str, Any]:
        """Makes a batch."""
        length, num = self._length, len(located.rows)
        ids, mask = np.empty((num, length), self._dtype), np.ones((num, length), np.uint8)
        found = []
        for source, dataset in enumerate(self._blend.datasets):
            own = np.flatnonzero(located.sources == source)
            if len(own):
                found.append(dataset.copy_rows(located.rows[own], own, ids, mask))
        starts = np.sort(np.concatenate(found))
        bounds = np.append(starts, ids.size)
        places = np.repeat(starts.astype(self._dtype, copy=False), bounds[1:] - starts)
        positions = np.subtract(self._places[: ids.size], places, out=places)
        labels = ids.astype(np.int64)
        if not mask.all():
            np.putmask(labels, mask == 0, IGNORED)
        labels.reshape(-1)[starts] = IGNORED
        if self._shift:
            labels[:, :-1] = labels[:, 1:]
            labels[:, -1] = IGNORED
        return {
            "input_ids": ids,
            "position_ids": positions.reshape(ids.shape),
            "loss_mask": mask,
            "cu_seqlens": bounds.astype(np.int32),
            "labels": labels,
        }

    def set_epoch(self, epoch: int) -> None:
        """Begins an epoch; does nothing if `epoch` is the current one.

        Training programs call this before each epoch, also before an epoch that they resume in the middle.

        Examples:
            >>> import jeton, pathlib, tempfile
            >>> folder = tempfile.mkdtemp()
            >>> _ = pathlib.Path(folder, "a.txt").write_text("to be or not to be")
            >>> _ = jeton.shards.make(f"{folder}/a.txt", f"{folder}/out", jeton.default(), progress=False)
            >>> batches = jeton.shards.loader(f"{folder}/out", rows=2)
            >>> batches.set_epoch(3)
            >>> batches.epoch
            3
        """
        if integer(epoch, "epoch", 0) != self.epoch:
            self.epoch, self._position = epoch, 0

    @cached_property
    def _facts(self) -> dict[str, Any]:
        """Values that determine the order: name of the option -> value."""
        data = hashlib.sha256()
        for dataset in self._blend.datasets:
            data.update(dataset.content.encode())
        return {
            "rows": self._length,
            "batch": self._batch,
            "seed": self._seed,
            "num_rows": self.num_rows,
            "data": data.hexdigest(),
        }

    def state_dict(self) -> dict[str, Any]:
        """Returns the epoch, the position, and the facts that determine the order, as a dict of JSON values.

        All ranks that have read equally many batches have the same position.

        Examples:
            >>> import jeton, pathlib, tempfile
            >>> folder = tempfile.mkdtemp()
            >>> _ = pathlib.Path(folder, "a.txt").write_text("to be or not to be")
            >>> _ = jeton.shards.make(f"{folder}/a.txt", f"{folder}/out", jeton.default(), progress=False)
            >>> state = jeton.shards.loader(f"{folder}/out", rows=2).state_dict()
            >>> state["epoch"], state["position"], list(state["order"])
            (0, 0, ['rows', 'batch', 'seed', 'num_rows', 'data'])
        """
        return {"epoch": self.epoch, "position": self._position, "order": dict(self._facts)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues at the position of another loader, even with another `world_size`, rank or `workers`.

        Raises:
            ConfigError: `state` is not the state of a loader, or that loader had another order: other data, or another
                value of `rows`, `batch` or `seed`.

        Examples:
            >>> import jeton, pathlib, tempfile
            >>> folder = tempfile.mkdtemp()
            >>> _ = pathlib.Path(folder, "a.txt").write_text("to be or not to be")
            >>> _ = jeton.shards.make(f"{folder}/a.txt", f"{folder}/out", jeton.default(), progress=False)
            >>> batches = jeton.shards.loader(f"{folder}/out", rows=2)
            >>> batches.load_state_dict({**batches.state_dict(), "position": 2})
            >>> len(list(batches))
            1
        """
        if not isinstance(state, Mapping) or not {"epoch", "position", "order"} <= set(state):
            raise wrong("state", state, "a state_dict of a loader")
        order = state["order"]
        if not isinstance(order, Mapping):
            raise wrong("state", state, "a state_dict of a loader")
        for name, value in self._facts.items():
            if order.get(name) != value:
                message = (
                    f"the state belongs to another order: {name} is {order.get(name)!r:.80} in it, but {value!r} here"
                )
                raise ConfigError(f"{message}; pass the folders and options that the state was saved with")
        epoch = integer(state["epoch"], "epoch", 0)
        position = integer(state["position"], "position", 0, -(-self.num_rows // self._batch))
        self.epoch, self._position = epoch, position

    def _options(self) -> dict[str, Any]:
        return {
            "rows": self._length, "batch": self._batch, "rank": self._rank, "world_size": self._world_size,
            "workers": self._workers, "seed": self._seed, "epoch": self.epoch, "shift_labels": self._shift,
            "drop_last": self._drop_last, "dtype": self._dtype.name,
        }  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._blend, self._options(), "numpy", self._position)

    def __repr__(self) -> str:
        share = f", rank {self._rank} of {self._world_size}" if self._world_size > 1 else ""
        rows = f"{self._batch:,} rows of {self._length:,} ids"
        return f"ShardLoader({len(self):,} batches of {rows}{share}, epoch {self.epoch})"


def _restored(blend: Blend, options: dict[str, Any], tensors: str, position: int) -> ShardLoader:
    """Makes a loader again from its pickled arguments."""
    made = loader(blend, tensors=tensors, **options)
    made._position = position
    return made


def _ahead(
    make: Callable[[_Located], dict[str, Any]], located: Iterator[_Located], workers: int
) -> Iterator[dict[str, Any]]:
    """Yields batches in order; worker threads prepare some in advance."""
    if not workers:
        yield from map(make, located)
        return
    with ThreadPoolExecutor(workers, "jeton-loader") as pool:
        held = deque(pool.submit(make, one) for one in islice(located, AHEAD * workers))
        try:
            while held:
                made = held.popleft().result()
                held.extend(pool.submit(make, one) for one in islice(located, 1))
                yield made
        finally:
            for future in held:
                future.cancel()


@cache
def _torch_loader() -> type[ShardLoader]:
    """Returns the subclass of `ShardLoader` whose batches are PyTorch tensors."""
    torch = import_optional("torch", "tensors='torch'")
    data = import_optional("torch.utils.data", "tensors='torch'")

    class TorchShardLoader(ShardLoader, data.IterableDataset):  # type: ignore[misc, name-defined]
        """A `ShardLoader` whose batches are tensors. The processes of a `DataLoader` divide the batches of the rank."""

        def _part(self) -> tuple[int, int]:
            info = data.get_worker_info()
            return (0, 1) if info is None else (info.id, info.num_workers)

        def _given(self, made: dict[str, Any]) -> dict[str, Any]:
            return {name: torch.from_numpy(array) for name, array in made.items()}

        def __reduce__(self) -> tuple[Any, ...]:
            return _restored, (self._blend, self._options(), "torch", self._position)

    return TorchShardLoader
