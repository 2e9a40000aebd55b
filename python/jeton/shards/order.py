"""Permutations of 0, 1, …, size - 1. Each item is computed by itself, without memory for the other items.

A Feistel network with two halves of n bits permutes all numbers of 2n bits. While the result is too large (not
below the size), the network is applied to the result again (cycle walking: at most 4 applications per item, on
average). The round function is the finalizer of splitmix64, and the round keys come from a hash, so that an order is
the same on every machine and in every version.

Sources: Black and Rogaway, Ciphers with Arbitrary Finite Domains (CT-RSA 2002), for cycle walking; Steele, Lea and
Flood, Fast Splittable Pseudorandom Number Generators (OOPSLA 2014), for splitmix64.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from .layouts import Int64

__all__ = ["permuted"]

ROUNDS = 6  # 4 suffice for large sizes; small sizes need more, because one round on few bits mixes less


def permuted(numbers: Int64, size: int, *key: int) -> Int64:
    """Returns the items at some positions of a permutation.

    Args:
        numbers: positions, from 0 to size - 1.
        size: number of items.
        key: selects the permutation.

    Examples:
        >>> permuted(np.arange(8), 8, 7).tolist(), permuted(np.array([2]), 8, 7).tolist()
        ([7, 5, 6, 1, 0, 4, 3, 2], [6])
    """
    half = np.uint64(max(1, ((size - 1).bit_length() + 1) // 2))
    low = np.uint64((1 << int(half)) - 1)
    keys = np.frombuffer(hashlib.sha512(repr(key).encode()).digest(), "<u8")[:ROUNDS]
    found = numbers.astype(np.uint64)
    outside = np.arange(len(found))
    while len(outside):
        left, right = found[outside] >> half, found[outside] & low
        for each in keys:
            left, right = right, left ^ (_mixed(right + each) & low)
        found[outside] = walked = left << half | right
        outside = outside[walked >= size]
    return found.astype(np.int64)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Applies the finalizer of splitmix64 to each value."""
    values = (values ^ values >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ values >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return values ^ values >> np.uint64(31)
