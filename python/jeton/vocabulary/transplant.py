"""Rows for new entries: weighted sums of the rows of old tokens, with weights computed from a donor's embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError
from ..tokenizer import Tokenizer
from .align import vocabulary_map
from .plan_rows import PlanRows

__all__ = ["donor_rows", "mixed_rows"]

Terms = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]

BLOCK = 256  # new entries per block; their similarities to 200,000 anchors take 400 MB


def donor_rows(tok: Tokenizer, donor: Tokenizer) -> NDArray[np.int64]:
    """Returns int64[n]: for each id of `tok`, the donor's id with the same bytes, or -1."""
    return vocabulary_map(tok, donor)


def mixed_rows(
    method: str, plan: PlanRows, new: NDArray[np.int64], donor: Tokenizer, embeddings: NDArray[Any], k: int
) -> Terms:
    """Computes rows of new entries as weighted sums of rows of old tokens; returns the terms of the sums.

    New weights are computed for each new entry that the donor has. The other new entries keep the weights of `plan`:
    the mean of their pieces. If the donor's row of a token is zero (the donor was never trained on the token), the
    donor is treated as if it did not have the token.

    Args:
        method: ``"focus"`` or ``"omp"``.
        plan: a plan in which the row of each new entry is the mean of the rows of the entry's pieces.
        new: ids of the new entries.
        donor: the donor's tokenizer.
        embeddings: float[rows of the donor, width].
        k: maximum number of terms of a row.
    """
    matrix = np.asarray(embeddings)
    if matrix.ndim != 2 or matrix.dtype.kind != "f" or matrix.shape[0] < donor.vocab_size:
        raise ConfigError(
            f"embeddings: the shape is {list(matrix.shape)}, but the donor has {donor.vocab_size} ids",
            option="embeddings",
        )
    has_row = np.append(matrix[: donor.vocab_size].any(axis=1), False)  # the last item is for the id -1
    anchors = vocabulary_map(plan.tokenizer_before, donor)  # old id -> the donor's id, or -1
    old = np.flatnonzero(has_row[anchors])
    theirs = vocabulary_map(plan.tokenizer, donor)[new]
    is_known = has_row[theirs]
    known = new[is_known]
    if not old.size:
        raise ConfigError("the donor and the old tokenizer share no token that has a row", option="donor")
    basis = matrix[anchors[old]].astype(np.float32)
    targets = matrix[theirs[is_known]].astype(np.float32)
    terms = (_focus if method == "focus" else _omp)(basis, targets, min(k, old.size))
    rest = ~np.isin(plan.mixed, known)
    rows = np.concatenate([plan.mixed[rest], np.repeat(known, [ids.size for ids, _ in terms])])
    ids = np.concatenate([plan.mixed_from[rest], *(old[ids] for ids, _ in terms)])
    weights = np.concatenate([plan.weights[rest], *(weights for _, weights in terms)])
    order = np.lexsort((ids, rows))
    return rows[order], ids[order], weights[order]


def _unit(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    return unit


def _focus(
    basis: NDArray[np.float32], targets: NDArray[np.float32], k: int
) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Computes weights as the sparsemax of the cosine similarities between a target and its k nearest anchors.

    The weights of a target have the sum 1. Sparsemax sets most weights to 0; anchors with weight 0 are not returned.
    """
    basis, targets = _unit(basis), _unit(targets)
    found = []
    for start in range(0, len(targets), BLOCK):
        similar = targets[start : start + BLOCK] @ basis.T
        near = np.argpartition(-similar, k - 1, axis=1)[:, :k]
        values = np.take_along_axis(similar, near, axis=1).astype(np.float64)
        order = np.argsort(-values, axis=1, kind="stable")
        near, values = np.take_along_axis(near, order, axis=1), np.take_along_axis(values, order, axis=1)
        sums = np.cumsum(values, axis=1)
        ranks = np.arange(1, k + 1)
        support = (1 + ranks * values > sums).sum(axis=1)
        threshold = (np.take_along_axis(sums, support[:, None] - 1, axis=1)[:, 0] - 1) / support
        weights = np.maximum(values - threshold[:, None], 0)
        found += [
            (row[row_weights > 0], row_weights[row_weights > 0]) for row, row_weights in zip(near, weights, strict=True)
        ]
    return found


def _omp(
    basis: NDArray[np.float32], targets: NDArray[np.float32], k: int
) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Finds weights by orthogonal matching pursuit.

    A step adds one anchor to the sum: the anchor with the highest absolute cosine similarity to the residual. Then the
    step fits the weights of all added anchors again. There are at most k steps.
    """
    norms = np.maximum(np.linalg.norm(basis, axis=1), 1e-12)
    found = []
    for row in targets:
        target = row.astype(np.float64)
        chosen: list[int] = []
        weights = np.empty(0)
        residual = target
        for _ in range(k):
            if np.linalg.norm(residual) <= 1e-6 * max(float(np.linalg.norm(target)), 1e-12):
                break
            scores = np.abs(basis @ residual.astype(np.float32)) / norms
            scores[chosen] = -1
            chosen.append(int(np.argmax(scores)))
            columns = basis[chosen].T.astype(np.float64)
            weights = np.linalg.lstsq(columns, target, rcond=None)[0]
            residual = target - columns @ weights
        found.append((np.array(chosen, np.int64), weights))
    return found
