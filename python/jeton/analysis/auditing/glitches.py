"""Finds candidates of glitch tokens in the embeddings of a model.

If a model was hardly trained on a token, the token's row of the embedding matrix stays near its initial value or
decays: the norm of the row is small, or the row has the direction of rows that were certainly not trained. Such
untrained rows belong to entries that no text produces, and to special tokens whose names say "reserved" or "unused".

Source: Land and Bartolo 2024, "Fishing for Magikarp", arXiv 2405.05417: the norm of input embeddings, and the cosine
distance to the mean of untrained rows after removing the first principal component. Left out: verification by prompting
the model. The results are therefore only candidates.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ConfigError
from ...util.messages import translate
from .entries import REACHED, Entries
from .finding import Example, Finding

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["glitches", "indicators"]

RESERVED = re.compile(r"reserved|unused|extra_id|placeholder|dummy", re.IGNORECASE)
MIN_REFERENCE = 4  # minimum number of untrained rows; the mean of fewer rows is unreliable
LOW = 5.0  # a norm is low if its logarithm is this many robust standard deviations below the median
SHARE = 0.02  # maximum share of candidates that the distance may select; the paper verifies the same share


def indicators(
    rows: NDArray[np.float32], untrained: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Returns each row's norm, and its cosine distance to the mean of untrained rows (None if too few are untrained).

    Args:
        rows: float32[n, width].
        untrained: int64[k]: rows that were certainly not trained.

    Examples:
        >>> rows = np.eye(8, dtype=np.float32)
        >>> norms, distances = indicators(rows, np.array([0, 1]))
        >>> norms.tolist() == [1.0] * 8, distances
        (True, None)
    """
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    if untrained.size < MIN_REFERENCE:
        return norms, None
    products = rows.T.astype(np.float64) @ rows.astype(np.float64)
    first = np.linalg.eigh(products)[1][:, -1]
    rest = rows - np.outer(rows @ first, first)
    mean = rest[untrained].mean(axis=0)
    lengths = np.sqrt(np.einsum("ij,ij->i", rest, rest)) * np.linalg.norm(mean)
    return norms, 1 - (rest @ mean) / np.where(lengths > 0, lengths, 1)


def glitches(found: Entries, rows: NDArray[np.float32], most: int) -> Finding | None:
    """Returns a finding of entries that texts can produce, but whose embedding rows resemble untrained rows.

    Raises:
        ConfigError: the matrix has fewer rows than the vocabulary has ids.
    """
    size = found.fates.size
    if rows.ndim != 2 or rows.shape[0] < size:
        raise ConfigError(
            f"embeddings have shape {rows.shape}, but the vocabulary has {size} ids; pass one row for each id",
            option="embeddings",
        )
    rows = rows[:size]
    reserved = [id for token, id in found.tok.special_tokens.items() if RESERVED.search(token) and id < size]
    untrained = np.union1d(np.flatnonzero(found.is_unreached), np.array(reserved, np.int64))
    norms, distances = indicators(rows, untrained)
    logs = np.log(np.maximum(norms, np.finfo(np.float32).tiny))
    is_candidate = found.fates == REACHED
    middle = float(np.median(logs[is_candidate])) if is_candidate.any() else 0.0
    spread = 1.4826 * float(np.median(np.abs(logs[is_candidate] - middle))) if is_candidate.any() else 0.0
    is_low = is_candidate & (logs < middle - LOW * max(spread, 1e-3))
    is_near = np.zeros(size, bool)
    if distances is not None:
        # A row is near if its distance to the mean is at most the 75th percentile of the untrained rows' distances.
        # If many rows are near, the distance does not discriminate and is not used.
        limit = float(np.quantile(distances[untrained], 0.75))
        near = is_candidate & (distances <= limit)
        if np.count_nonzero(near) <= SHARE * max(int(is_candidate.sum()), 1):
            is_near = near
    ids = np.flatnonzero(is_low | is_near)
    ids = ids[np.argsort(logs[ids], kind="stable")]
    if not ids.size:
        return None

    def why(id: int) -> str:
        norm = translate("norm {norm}, median {median}", norm=f"{norms[id]:.4g}", median=f"{np.exp(middle):.4g}")
        if distances is None:
            return norm
        distance = translate("cosine distance to untrained rows {distance}", distance=f"{distances[id]:.3f}")
        return norm + translate("; ") + distance

    return Finding(
        "glitch-candidates",
        "warning",
        translate("{count} reachable entries have embeddings like those of untrained tokens.", count=f"{ids.size:,}"),
        translate("Verify them by prompting the model to repeat them; retrain their rows, or prune them."),
        int(ids.size),
        tuple(Example(found.spelled(int(id)), why(int(id)), int(id)) for id in ids[:most]),
        {"ids": ids.tolist(), "reference_rows": int(untrained.size), "median_norm": float(np.exp(middle))},
    )
