"""`blend`: combines folders of shards, each with a share, into one source of rows for a loader; nothing is copied.

In an epoch, each folder contributes a fixed number of rows, its quota. A folder is read as an endless series of passes.
Each epoch continues where the previous one ended, so that over the epochs all rows of a folder are read equally often.
The loader's seed shuffles the rows of each epoch. If the quota is not a whole number of passes, the seed also shuffles
each pass, so that the rows of an incomplete pass are chosen at random.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..errors import ConfigError, keyword
from ..util.arguments import integer, is_finite, wrong
from .dataset import ShardDataset
from .layouts import Int64
from .order import permuted

__all__ = ["Blend", "blend"]

SHARES = ("weight", "epochs", "tokens")


class Share(NamedTuple):
    """Share of a folder: the kind (one of `SHARES`) and the amount."""

    kind: str
    amount: Fraction


def blend(
    sources: Mapping[Any, float | Mapping[str, float]] | Sequence[tuple[Any, float | Mapping[str, float]]],
    *,
    tokens: int | None = None,
) -> Blend:
    """Blends folders of shards for `loader`.

    Args:
        sources: a mapping from each folder (or dataset returned by `open`) to its share of an epoch, or a sequence of
            pairs (folder, share). A share is:

            - a number, or ``{"weight": number}``: weight of the folder's tokens, relative to the weights of the other
              folders;
            - ``{"epochs": number}``: this many passes over the folder; fractions such as 0.5 are allowed;
            - ``{"tokens": number}``: this many tokens of the folder; a folder with fewer tokens is repeated.
        tokens: number of tokens in an epoch. Allowed only if the shares are weights. None: the epoch is as large as
            possible without reading a row twice.

    Raises:
        ConfigError: an invalid share, weights mixed with other shares, or folders with different tokenizers or rows.
        ShardError, FormatError, UnsupportedFeatureError: as `open`.

    Examples:
        >>> import jeton, pathlib, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> for name, text in (("a", "to be or not to be"), ("b", "that is the question")):
        ...     _ = pathlib.Path(folder, f"{name}.txt").write_text(text * 100)
        ...     _ = jeton.shards.make(f"{folder}/{name}.txt", f"{folder}/{name}", jeton.default(), progress=False)
        >>> mix = jeton.shards.blend({f"{folder}/a": 0.75, f"{folder}/b": 0.25})
        >>> list(mix.rows(16).values())
        [37, 12]
        >>> mix = jeton.shards.blend({f"{folder}/a": {"epochs": 2}, f"{folder}/b": {"tokens": 160}})
        >>> list(mix.rows(16).values())
        [74, 10]
    """
    if not isinstance(sources, (Mapping, Sequence)) or isinstance(sources, (str, bytes)):
        raise wrong("sources", sources, "a mapping of folders to shares")
    pairs = list(sources.items() if isinstance(sources, Mapping) else sources)
    if not pairs:
        raise ConfigError(f"{keyword('sources')} is empty: a blend needs at least one folder", option="sources")
    shares = [_share(source, share) for source, share in pairs]
    kinds = {share.kind for share in shares}
    if "weight" in kinds and len(kinds) > 1:
        message = "a blend has either weights, or epochs and tokens: a weight is relative to the other folders"
        raise ConfigError(message, option="sources")
    if tokens is not None:
        integer(tokens, "tokens", 1)
        if "weight" not in kinds:
            message = (
                f"{keyword('tokens', tokens)} sets the size of a blend of weights, but here each folder has its "
                "own size"
            )
            raise ConfigError(message, option="tokens")
    datasets = [source if isinstance(source, ShardDataset) else ShardDataset(source) for source, _ in pairs]
    return Blend(datasets, shares, tokens)


def _share(source: Any, given: Any) -> Share:
    """Converts the share of a folder, as given to `blend`, to a `Share`.

    Raises:
        ConfigError: the share is invalid.
    """
    kind, amount = "weight", given
    if isinstance(given, Mapping):
        kind, amount = next(iter(given.items())) if len(given) == 1 else ("", None)
    if kind not in SHARES or isinstance(amount, bool) or not isinstance(amount, Real):
        what = 'a weight, or one of {"weight": …}, {"epochs": …}, {"tokens": …}'
        raise ConfigError(f"the share of {_name(source)} is {given!r:.80}; expected {what}", option="sources")
    if not is_finite(amount) or amount <= 0:
        raise ConfigError(f"{kind} of {_name(source)} is {amount!r}; it must be above 0", option="sources")
    return Share(kind, Fraction(amount if isinstance(amount, (int, Fraction)) else float(amount)))


def _name(source: Any) -> str:
    folders = source.folders if isinstance(source, ShardDataset) else [source]
    return ", ".join(map(str, folders))


class Blend:
    """Folders of shards, each with the share that it contributes to an epoch; made by `blend`.

    Attributes:
        datasets: the folders, opened.
        row_length: number of ids of a row; None if no folder has packed shards.

    Examples:
        >>> import jeton, pathlib, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> _ = pathlib.Path(folder, "a.txt").write_text("to be or not to be")
        >>> _ = jeton.shards.make(f"{folder}/a.txt", f"{folder}/out", jeton.default(), progress=False)
        >>> mix = jeton.shards.blend({f"{folder}/out": {"epochs": 3}})
        >>> mix, list(mix.rows(2).values())
        (Blend(1 folder, 6 tokens), [9])
    """

    def __init__(self, datasets: Sequence[ShardDataset], shares: Sequence[Share], tokens: int | None = None) -> None:
        self.datasets = tuple(datasets)
        self._shares, self._tokens = tuple(shares), tokens
        for noun, name, values in (
            ("the tokenizer", "tokenizer", [dataset.manifest["tokenizer"] for dataset in datasets]),
            ("the length of rows", "rows", [dataset.row_length for dataset in datasets]),
        ):
            known = [(one, value) for one, value in zip(datasets, values, strict=True) if value is not None]
            for other, value in known[1:]:
                if value != known[0][1]:
                    one = _name(known[0][0])
                    message = f"{one} and {_name(other)} cannot be blended: {noun} is {known[0][1]} in the first"
                    raise ConfigError(f"{message} and {value} in the second", option=name)
        self.row_length = next((one.row_length for one in datasets if one.row_length is not None), None)

    @classmethod
    def of(cls, dataset: ShardDataset) -> Blend:
        """Returns a blend of one dataset; each epoch has every row of the dataset once."""
        return cls([dataset], [Share("epochs", Fraction(1))])

    def rows(self, length: int | None = None) -> dict[str, int]:
        """Returns the number of rows of each folder in an epoch.

        Args:
            length: number of ids in a row; None: the row length with which the shards were packed.

        Raises:
            ConfigError: the same errors as from the method `length`; also if a folder has less than one row, or if the
                share of a folder is less than one row.
        """
        length = self.length(length)
        names = [_name(dataset) for dataset in self.datasets]
        return dict(zip(names, self.quotas(length), strict=True))

    def length(self, length: int | None) -> int:
        """Returns the row length to use: `length`, or, if `length` is None, the row length of packed shards.

        Raises:
            ConfigError: `length` is None and no shards are packed, or `length` differs from the row length of packed
                shards.
        """
        packed = self.row_length
        if length is None:
            if packed is None:
                message = f"the shards are not packed; pass {keyword('rows')}, the number of ids of a row"
                raise ConfigError(message, option="rows")
            return packed
        length = integer(length, "rows", 1, (1 << 31) - 1)
        if packed not in (None, length):
            message = f"{keyword('rows', length)} contradicts the shards, which are packed in rows of {packed:,} ids"
            raise ConfigError(f"{message}: leave {keyword('rows')} out", option="rows")
        return length

    def sizes(self, length: int) -> list[int]:
        """Returns the number of whole rows in each folder.

        Raises:
            ConfigError: a folder has less than one row.
        """
        sizes = [dataset.num_tokens // length for dataset in self.datasets]
        for dataset, size in zip(self.datasets, sizes, strict=True):
            if not size:
                message = f"{_name(dataset)} has {dataset.num_tokens:,} tokens, fewer than a row of {length:,}"
                raise ConfigError(f"{message}; pass smaller {keyword('rows')}", option="rows")
        return sizes

    def quotas(self, length: int) -> list[int]:
        """Returns the number of rows that each folder contributes to an epoch, in the order of the folders.

        Raises:
            ConfigError: the share of a folder is less than one row.
        """
        sizes, shares = self.sizes(length), self._shares
        amounts = [share.amount for share in shares]
        if shares[0].kind == "weight":
            parts = [amount / sum(amounts) for amount in amounts]
            most = min(size / part for size, part in zip(sizes, parts, strict=True))
            total = int(most) if self._tokens is None else self._tokens // length
            quotas = _rounded([total * part for part in parts], total)
        else:
            quotas = [
                int(share.amount * size if share.kind == "epochs" else share.amount / length)
                for share, size in zip(shares, sizes, strict=True)
            ]
        for dataset, quota in zip(self.datasets, quotas, strict=True):
            if not quota:
                message = f"the share of {_name(dataset)} is less than a row of {length:,} ids in an epoch"
                raise ConfigError(f"{message}; give it more, or pass smaller {keyword('rows')}", option="sources")
        return quotas

    def __repr__(self) -> str:
        tokens = sum(dataset.num_tokens for dataset in self.datasets)
        folders = f"{len(self.datasets)} folder{'s' * (len(self.datasets) > 1)}"
        return f"Blend({folders}, {tokens:,} tokens)"


def _rounded(parts: Sequence[Fraction], total: int) -> list[int]:
    """Rounds `parts` to integers whose sum is `total`: the parts with the largest remainders are rounded up.

    If remainders are equal, the first part is rounded up.

    Examples:
        >>> _rounded([Fraction(7, 2), Fraction(7, 2), Fraction(3)], 10)
        [4, 3, 3]
    """
    rounded = [int(part) for part in parts]
    order = sorted(range(len(parts)), key=lambda index: rounded[index] - parts[index])
    for index in order[: total - sum(rounded)]:
        rounded[index] += 1
    return rounded


class RowOrder:
    """Order of the rows of a blend in each epoch.

    Attributes:
        num_rows: number of rows of an epoch.
    """

    def __init__(self, blend: Blend, length: int, seed: int | None) -> None:
        """`seed`: None keeps the rows in the order of the files, which is only possible for a blend of one folder."""
        self._sizes, self._quotas = blend.sizes(length), blend.quotas(length)
        self._ends, self._seed = np.cumsum(self._quotas), seed
        self.num_rows = int(self._ends[-1])

    def locate(self, numbers: Int64, epoch: int) -> tuple[Int64, Int64]:
        """Returns, for each position in an epoch, the index of the folder, and the number of the row in this folder."""
        if self._seed is not None:
            numbers = permuted(numbers, self.num_rows, self._seed, epoch)
        sources = np.searchsorted(self._ends, numbers, "right")
        rows = np.empty_like(numbers)
        for source, (size, quota) in enumerate(zip(self._sizes, self._quotas, strict=True)):
            own = np.flatnonzero(sources == source)
            passes, at = np.divmod(numbers[own] - (int(self._ends[source]) - quota) + epoch * quota, size)
            if quota % size and self._seed is not None:
                for number in np.unique(passes).tolist():
                    some = passes == number
                    at[some] = permuted(at[some], size, self._seed, source, number)
            rows[own] = at
        return sources, rows
