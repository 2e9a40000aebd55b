"""`PackedRows`: rows of a packed shard, with position ids and boundaries of their documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .layouts import Int64, positions

__all__ = ["PackedRows"]


@dataclass(frozen=True)
class PackedRows:
    """Consecutive rows of a packed shard.

    Attributes:
        ids: ids, of shape (rows, length); a view of the file.
        lengths: number of ids of each document or piece of a document, in order, over all rows; padding counts as a
            piece.
        loss_mask: uint8, of the same shape as `ids`: 0 for padding, and for ids of a conversation that do not
            contribute to the loss.

    Examples:
        >>> rows = PackedRows(np.array([[5, 6, 7, 8], [9, 5, 5, 5]]), np.array([3, 1, 2, 2]), np.ones((2, 4), np.uint8))
        >>> rows.position_ids.tolist(), rows.cu_seqlens.tolist()
        ([[0, 1, 2, 0], [0, 1, 0, 1]], [0, 3, 4, 6, 8])
    """

    ids: NDArray[Any]
    lengths: Int64
    loss_mask: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def position_ids(self) -> NDArray[np.int32]:
        """Position ids, which begin at 0 with each document; of shape (rows, length)."""
        return positions(self.lengths).reshape(self.ids.shape)

    @property
    def cu_seqlens(self) -> NDArray[np.int32]:
        """0, then the end of each document in the flattened rows, for FlashAttention's variable-length kernels."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int32)
