"""`compare` of two texts: shared runs of tokens are equal, and the rest is removed or added."""

from __future__ import annotations

import json
import random
from difflib import SequenceMatcher

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton.analysis.matching import Run, common_runs
from tests.material import BYTE_KINDS, TRICKY, tokenizer

from ..timing import growth

BYTES = jeton.Tokenizer.from_merges({byte: bytes([byte]) for byte in range(256)}, [])
ids = st.lists(st.integers(0, 9), max_size=60)


def checked(a: list[int], b: list[int]) -> list[Run]:
    """Returns the runs. Checks that they are equal on both sides, ascending and of maximum length."""
    runs = common_runs(np.array(a, np.uint32), np.array(b, np.uint32))
    at = other_at = 0
    for start, other, length in runs:
        assert start >= at
        assert other >= other_at
        assert not (start == at > 0 and other == other_at)  # adjacent runs are joined
        assert a[start : start + length] == b[other : other + length] != []
        at, other_at = start + length, other + length
    return runs


@given(a=ids, b=ids)
def test_runs_are_common_to_both(a: list[int], b: list[int]) -> None:
    runs = checked(a, b)
    shared = next((index for index, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    assert not shared or (runs[0][:2] == (0, 0) and runs[0].length >= shared)
    assert bool(runs) or not set(a) & set(b) or len(a) * len(b) > 4096


@given(text=st.lists(st.integers(0, 200), min_size=20, max_size=200), data=st.data())
def test_an_edited_text_has_long_equal_runs(text: list[int], data: st.DataObject) -> None:
    changed = list(text)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(changed)))
        changed[at : at + data.draw(st.integers(0, 3))] = data.draw(st.lists(st.integers(201, 220), max_size=3))
    ours = sum(run.length for run in checked(text, changed))
    theirs = sum(block.size for block in SequenceMatcher(None, text, changed, autojunk=False).get_matching_blocks())
    assert ours >= theirs - len(text) // 20


def test_a_moved_paragraph_keeps_the_longer_part() -> None:
    a = [*range(100), *range(1000, 1040)]
    b = [*range(1000, 1040), *range(100)]
    assert checked(a, b) == [Run(0, 40, 100)]


def test_changes_in_repeated_text_are_matched() -> None:
    a = [*range(100)] * 40
    b = [999 if id == 50 else id for id in a]
    assert sum(run.length for run in checked(a, b)) == len(a) - 40


@pytest.mark.parametrize("name", ["edits", "random", "ones", "period", "moved"])
def test_time_is_near_linear(name: str) -> None:
    def lists(n: int) -> tuple[list[int], list[int]]:
        rng = random.Random(n)
        a = [rng.randrange(5000) for _ in range(n)]
        b = list(a)
        if name == "edits":
            for _ in range(n // 50):
                b[rng.randrange(n)] = rng.randrange(5000)
        elif name == "random":
            rng.shuffle(b)
        elif name == "ones":
            a, b = [1] * n, [1] * (n // 2) + [2] + [1] * (n // 2) + [3]
        elif name == "period":
            a, b = [1, 2, 3] * (n // 3), [2, 1, 3] * (n // 3)
        else:
            b = a[n // 2 :] + a[: n // 2]
        return a, b

    arrays = {n: [np.array(ids, np.uint32) for ids in lists(n)] for n in (4000, 32_000)}
    assert growth(lambda n: common_runs(*arrays[n]), (4000, 32_000), 40) < 40  # quadratic: 64


@pytest.mark.parametrize("kind", BYTE_KINDS)
def test_figures_follow_from_the_tokens(kind: str) -> None:
    tok = tokenizer(kind)
    for a in TRICKY[::4]:
        for b in (a, a + "x", "x" + a, a[: len(a) // 2] + "low" + a[len(a) // 2 :]):
            found = jeton.compare(tok, (a, b))
            ours, theirs = tok.encode(a), tok.encode(b)
            assert (found.removed + found.common, found.added + found.common) == (len(ours), len(theirs))
            rebuilt = list(ours)
            for change in reversed(found.changes):
                rebuilt[change.start : change.end] = theirs[change.other_start : change.other_end]
            assert rebuilt == theirs
            assert ours[: found.shared] == theirs[: found.shared]
            assert found.shared == min(len(ours), len(theirs)) or ours[found.shared] != theirs[found.shared]
            spans = tok.tokenize(a).byte_spans[: found.shared]
            assert found.shared_bytes == max((end for _, end in spans), default=0)


def test_differences_as_text_json_and_repr() -> None:
    found = jeton.compare(BYTES, ("low tower", b"low power!"))
    assert str(found) == (
        "9 tokens → 10: 1 removed, 2 added; the first 4 (4 bytes) are shared\n\n"
        "token 4:\n  - t\n  + p\n\ntoken 9:\n  + !"
    )
    assert json.loads(json.dumps(found.to_json()))["changes"][1] == {
        "start": 9,
        "end": 9,
        "other_start": 9,
        "other_end": 10,
        "removed": [],
        "added": [33],
    }
    assert found.to_html().startswith("<!doctype html>")
    assert found._repr_html_() in found.to_html()
    many = jeton.compare(BYTES, ("ab" * 30, "cb" * 30))
    assert str(many).endswith("and 10 more changes")
    long = jeton.compare(BYTES, ("", "a" * 1000))
    assert "and 940 more tokens" in str(long)
    assert repr(long) == "TextDifference(0 tokens → 1,000: 0 removed, 1,000 added; the first 0 (0 bytes) are shared)"


def test_special_tokens_need_permission() -> None:
    tok = BYTES.add_tokens(["<|end|>"])
    assert jeton.compare(tok, ("a<|end|>", "a"), special="all").removed == 1
    assert jeton.compare(tok, ("a<|end|>", "a")).removed == 7


@pytest.mark.parametrize("text", ["ab", ("a",), ("a", "b", "c"), ("a", 1), 5])
def test_a_tokenizer_without_a_pair_of_texts_is_refused(text: object) -> None:
    with pytest.raises(jeton.ConfigError, match="a pair of texts"):
        jeton.compare(BYTES, text)  # type: ignore[call-overload]
