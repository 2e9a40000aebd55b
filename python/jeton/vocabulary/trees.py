"""Merge trees of a tokenizer's entries as NumPy columns, and closures: sets that contain all parts of each entry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..definition import Unigram
from ..tokenizer import Tokenizer
from ..tokens.kinds import BYTE, ENDS_WORD, TOKEN

__all__ = ["MergeTrees", "column"]

NO_PART = (1 << 32) - 1


def column(view: memoryview, dtype: str = "<u4") -> NDArray[np.int64]:
    """Converts a column of the core to int64."""
    return np.frombuffer(view, dtype).astype(np.int64)


@dataclass(frozen=True, eq=False)
class MergeTrees:
    """For each vocabulary entry, the two parts joined by its last merge. An entry has the same parts in every text.

    Attributes:
        kinds: int64[n]: kind of each id (`vocab_view`), 0 for a gap.
        left, right: int64[n]: ids of the two parts from which an entry is merged; -1 for initial symbols, for added
            tokens, and for entries that cannot be formed (merging the bytes of such an entry gives other tokens).
        is_unit: bool[n]: True for initial symbols.

    Examples:
        >>> import jeton
        >>> trees = MergeTrees.of(jeton.train(["low lower"], 258, pattern="gpt2", progress=False))
        >>> trees.left[257], trees.right[257], np.flatnonzero(trees.closed(np.arange(258) == 257))
        (np.int64(256), np.int64(119), array([108, 111, 119, 256, 257]))
    """

    kinds: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    is_unit: NDArray[np.bool_]

    @classmethod
    def of(cls, tok: Tokenizer) -> MergeTrees:
        """Returns the trees of a tokenizer.

        Raises:
            UnsupportedFeatureError: the model is SentencePiece's BPE, and a piece has characters that are not pieces.
        """
        kinds, left, right, is_unit = map(column, tok._core.merge_trees())
        left[left == NO_PART] = -1
        right[right == NO_PART] = -1
        model = tok.definition.model
        if isinstance(model, Unigram) and model.byte_fallback:
            # Hugging Face's byte tokens are ordinary entries of the model: the literal text `<0x0A>` in an input
            # becomes the byte token.
            found = [tok._core.find(f"<0x{byte:02X}>".encode(), False) for byte in range(256)]
            ids = [id for id in found if id is not None and kinds[id] == TOKEN]
            kinds[ids] = BYTE
            is_unit[ids] = 1
        return cls(kinds, left, right, is_unit != 0)

    @property
    def is_ordinary(self) -> NDArray[np.bool_]:
        """bool[n]: True for entries of the model, except added, unused and byte tokens."""
        ordinary: NDArray[np.bool_] = (self.kinds == TOKEN) | (self.kinds == ENDS_WORD)
        return ordinary

    @property
    def is_reached(self) -> NDArray[np.bool_]:
        """bool[n]: True for each ordinary entry that is an initial symbol or the result of merging initial symbols."""
        reached: NDArray[np.bool_] = self.is_ordinary & (self.is_unit | (self.left >= 0))
        return reached

    def closed(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Returns the chosen entries together with their parts, the parts of these parts, and so on."""
        closed = chosen.copy()
        new = np.flatnonzero(chosen)
        while new.size:
            parts = np.concatenate([self.left[new], self.right[new]])
            parts = np.unique(parts[parts >= 0])
            new = parts[~closed[parts]]
            closed[new] = True
        return closed

    def pieces(
        self, ids: NDArray[np.int64], is_known: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Splits each of the given entries into the known entries from which it is merged (its pieces).

        The entries are in the order of `ids`. The pieces of one entry are not in the order of its text.

        Args:
            ids: int64[m]: the ids to expand.
            is_known: bool[n]: True for known entries, which are not expanded further.

        Returns:
            Two columns, int64[k]: an index into `ids`, and the id of one piece of the entry at this index. If a part
            is neither known nor made by a merge, the whole entry is left out of the columns.
        """
        rows, open_ids = np.arange(ids.size), ids.astype(np.int64)
        done_rows, done_ids = [], []
        failed = np.zeros(ids.size, bool)
        while rows.size:
            known = is_known[open_ids]
            done_rows.append(rows[known])
            done_ids.append(open_ids[known])
            rows, open_ids = rows[~known], open_ids[~known]
            stuck = self.left[open_ids] < 0
            failed[rows[stuck]] = True
            rows, open_ids = rows[~stuck], open_ids[~stuck]
            open_ids = np.concatenate([self.left[open_ids], self.right[open_ids]])
            rows = np.concatenate([rows, rows])
        rows = np.concatenate(done_rows) if done_rows else np.empty(0, np.int64)
        found = np.concatenate(done_ids) if done_ids else np.empty(0, np.int64)
        order = np.argsort(rows[~failed[rows]], kind="stable")
        kept = ~failed[rows]
        return rows[kept][order], found[kept][order]
