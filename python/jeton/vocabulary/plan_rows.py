"""`PlanRows`: the arrays of a `Plan`, which say where each new embedding row comes from."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..tokenizer import Tokenizer
from ..util.lazy import cached_property

__all__ = ["PlanRows"]


@dataclass(frozen=True, eq=False)
class PlanRows:
    """Source of the embedding row of each new id; `Plan` describes the fields."""

    tokenizer_before: Tokenizer = field(repr=False)
    tokenizer: Tokenizer = field(repr=False)
    copied: NDArray[np.int64]
    mixed: NDArray[np.int64]
    mixed_from: NDArray[np.int64]
    weights: NDArray[np.float64]
    donors: NDArray[np.int64]
    method: str = "mean"
    seed: int = 0

    @property
    def num_old(self) -> int:
        """Number of rows of the old matrix, without padding."""
        return self.tokenizer_before.vocab_size

    @property
    def num_new(self) -> int:
        """Number of rows of the new matrix, without padding."""
        return self.copied.size

    @cached_property
    def id_map(self) -> NDArray[np.int64]:
        """int64[num_old]: for each old id, the new id, or -1 if the old id was dropped."""
        ids = np.full(self.num_old, -1, np.int64)
        kept = np.flatnonzero(self.copied >= 0)
        ids[self.copied[kept]] = kept
        return ids

    @cached_property
    def noise(self) -> NDArray[np.int64]:
        """New ids that get rows of noise: ids with an entry, but without a copied, mixed or donated row."""
        other = np.zeros(self.num_new, bool)
        other[self.tokenizer._core.ids()] = True
        other &= (self.copied < 0) & (self.donors < 0)
        other[self.mixed] = False
        return np.flatnonzero(other)
