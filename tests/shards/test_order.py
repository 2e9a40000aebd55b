"""Permutations computed item by item: equal to plain Python, complete, and without a pattern."""

from __future__ import annotations

import hashlib
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.shards.order import permuted

FULL = (1 << 64) - 1


def mixed(value: int) -> int:
    """The finalizer of splitmix64."""
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & FULL
    value = (value ^ value >> 27) * 0x94D049BB133111EB & FULL
    return value ^ value >> 31


def plain(number: int, size: int, *key: int) -> int:
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    low = (1 << half) - 1
    digest = hashlib.sha512(repr(key).encode()).digest()
    while True:
        left, right = number >> half, number & low
        for at in range(6):
            each = int.from_bytes(digest[8 * at : 8 * at + 8], "little")
            left, right = right, left ^ mixed(right + each & FULL) & low
        number = left << half | right
        if number < size:
            return number


@given(st.integers(1, 1 << 40), st.integers(0, 1 << 70), st.lists(st.integers(0), max_size=2), st.data())
def test_items_are_those_of_plain_python(size: int, seed: int, key: list[int], data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, size - 1), max_size=5))
    assert permuted(np.array(numbers, np.int64), size, seed, *key).tolist() == [
        plain(number, size, seed, *key) for number in numbers
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 16, 17, 1000, 4096, 65_537])
def test_each_item_occurs_once(size: int) -> None:
    found = permuted(np.arange(size), size, 1, 2)
    assert np.array_equal(np.sort(found), np.arange(size))
    assert size < 16 or not np.array_equal(found, permuted(np.arange(size), size, 1, 3))


def test_orders_show_no_pattern() -> None:
    # All permutations of four items, and the items at each place, are about equally frequent.
    orders = Counter(tuple(permuted(np.arange(4), 4, seed).tolist()) for seed in range(2400))
    assert len(orders) == 24
    assert 60 < min(orders.values()) <= max(orders.values()) < 150
    # In a shuffle of many items, half of the adjacent pairs ascend, and few items stay adjacent.
    order = permuted(np.arange(100_000), 100_000, 5)
    steps = np.diff(order)
    assert abs((steps > 0).mean() - 0.5) < 0.01
    assert (np.abs(steps) == 1).sum() < 12
    assert abs(np.corrcoef(order, np.arange(len(order)))[0, 1]) < 0.02


def test_memory_does_not_depend_on_the_size() -> None:
    numbers = np.arange(1000)
    permuted(numbers, 1000, 1)
    tracemalloc.start()
    permuted(numbers, 1 << 62, 1)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
