"""Plans of embedding rows: sources, summaries, and the faults that `verify` finds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.vocabulary.plan import Plan
from jeton.vocabulary.transplant import _focus, _omp
from jeton.vocabulary.trees import MergeTrees

# Special tokens at the ids 0 and 1; bytes after them.
TOK = jeton.Tokenizer.from_merges({id + 2: bytes([id]) for id in range(256)}, [], special_tokens={"<a>": 0, "<b>": 1})
DONE = jeton.add_words(TOK, ["low"])
LOW = DONE.tokenizer.token_to_id("low")


def changed(column: str, at: int | list[int], value: Any) -> dict[str, np.ndarray[Any, Any]]:
    values = getattr(DONE.plan, column).copy()
    values[at] = value
    return {column: values}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"copied": DONE.plan.copied[:-1]}, "the plan has 258 rows for 260 ids|rows for"),
        ({"donors": DONE.plan.donors[:-1]}, "rows for"),
        ({"weights": DONE.plan.weights[:-1]}, "columns of mixed rows differ in length"),
        (changed("copied", 5, 258), "copied contains 258, which is not an id: ids are 0 to 257"),
        (changed("copied", 5, -2), "copied contains -2"),
        (changed("mixed_from", 0, 258), "mixed_from contains 258"),
        (changed("mixed_from", 0, -1), "mixed_from contains -1"),
        (changed("mixed", -1, DONE.tokenizer.vocab_size), "mixed contains 260"),
        (changed("mixed", 0, -1), "mixed contains -1"),
        (changed("copied", 5, 6), "an old row is copied to two new ids"),
        (changed("mixed", 0, 5), "the new id 5 has two sources"),
        (changed("donors", 5, 0), "the new id 5 has two sources"),
        (changed("mixed", 0, LOW), "not in ascending order"),
        (changed("weights", 0, np.nan), "not a finite number"),
        (changed("copied", [0, 1], [1, 0]), "the row of the special token '<a>' would go to the id 1"),
        (changed("copied", [0, 1], [1, -1]), "the row of the special token '<b>' would go to the id 0"),
    ],
)
def test_verify_finds_a_fault(columns: dict[str, Any], message: str) -> None:
    DONE.plan.verify()
    with pytest.raises(jeton.ConfigError, match=message):
        replace(DONE.plan, **columns).verify()


def test_special_tokens_may_be_dropped() -> None:
    replace(DONE.plan, **changed("copied", [0, 1], [-1, -1])).verify()


def test_the_token_0_is_a_piece_as_any() -> None:
    tok = jeton.Tokenizer.from_merges({0: b"a", 1: b"b"}, [])
    assert jeton.add_words(tok, ["abab"]).plan.of(3) == ("mean", {0: 0.5, 1: 0.5})


def test_no_entries_have_no_pieces() -> None:
    rows, pieces = MergeTrees.of(TOK).pieces(np.empty(0, np.int64), np.ones(TOK.vocab_size, bool))
    assert (rows.size, pieces.size) == (0, 0)


def test_a_word_without_merges_is_the_mean_of_its_old_pieces() -> None:
    tok = jeton.train(["low lower lowest newest newer"] * 5, 60, preset="unigram", progress=False)
    pieces = tok.encode("lowne", add_special_tokens=False)
    plan = jeton.add_words(tok, ["lowne"]).plan
    assert plan.of(tok.vocab_size) == ("mean", dict.fromkeys(sorted(pieces), pytest.approx(1 / len(pieces))))


def test_a_plan_without_rows_has_a_summary() -> None:
    empty = jeton.Tokenizer.from_merges({}, [])
    plan = Plan.make(empty, empty, np.empty(0, np.int64))
    plan.verify()
    assert plan.summary() == "no rows"


def growing(before: int, after: int) -> Plan:
    """A plan from a tokenizer of some entries to one of more, which are new."""
    old, new = (
        jeton.Tokenizer.from_merges({id: str(id).encode() for id in range(size)}, []) for size in (before, after)
    )
    ids = np.arange(after)
    return Plan.make(old, new, np.where(ids < before, ids, -1))


def test_sources_of_each_kind() -> None:
    gaps = jeton.Tokenizer.from_merges({0: b"a", 1: b"b", 2: b"ab", 4: b"ba", 6: b"bb"}, [])
    old = jeton.Tokenizer.from_merges({0: b"a", 1: b"b"}, [])
    pieces = np.array([4, 2, 4, 2, 4]), np.array([1, 1, 0, 0, 1])
    plan = Plan.make(old, gaps, np.array([0, 1, -1, -1, -1, -1, -1]), pieces)
    plan.verify()
    third = pytest.approx(1 / 3)
    expected = [
        *(("copy", 0), ("copy", 1), ("mean", {0: 0.5, 1: 0.5}), ("zero", None)),
        *(("mean", {0: third, 1: pytest.approx(2 / 3)}), ("zero", None), ("noise", 0)),
    ]
    assert [plan.of(id) for id in range(7)] == expected
    for id in (-1, 7):
        with pytest.raises(jeton.ConfigError, match=f"id={id}"):
            plan.of(id)
    assert plan.summary() == "2 copied, 2 by mean of pieces, 1 noise, 2 unused"
    assert (plan.num_old, plan.num_new, plan.noise.tolist()) == (2, 7, [6])
    given = replace(plan, donors=np.array([-1, -1, -1, -1, -1, -1, 0]), method="donor", seed=3)
    assert given.of(6) == ("donor", 0)
    assert given.summary() == "2 copied, 2 by donor, 1 rows of the donor, 2 unused"
    assert given.noise.tolist() == []
    assert given.to_json() == {
        "method": "donor",
        "seed": 3,
        "rows_before": 2,
        "rows": 7,
        "copied": [0, 1, -1, -1, -1, -1, -1],
        "mixed": [2, 2, 4, 4],
        "mixed_from": [0, 1, 0, 1],
        "weights": [0.5, 0.5, third, pytest.approx(2 / 3)],
        "donors": [-1, -1, -1, -1, -1, -1, 0],
    }


def test_id_map_is_the_inverse_of_the_copies() -> None:
    made = jeton.renumber(jeton.Tokenizer.from_merges({0: b"a", 1: b"b", 2: b"c"}, []), {0: 4, 2: 0})
    assert made.plan.copied.tolist() == [2, 1, -1, -1, 0]
    assert made.plan.id_map.tolist() == [4, 1, 0]
    few = jeton.prune(jeton.Tokenizer.from_merges({0: b"a", 1: b"b", 2: b"ab"}, [(0, 1, 2)]), keep=[])
    assert few.plan.id_map.tolist() == [0, 1, -1]


def test_methods_for_new_entries() -> None:
    plan = growing(3, 5)
    assert [plan.by("noise", seed=7).of(id) for id in (2, 3, 4)] == [("copy", 2), ("noise", 7), ("noise", 7)]
    mixed = plan.by(lambda id, token: {2: 0.5, 0: 2} if token == b"4" else {}, seed=(1 << 63) - 1)
    mixed.verify()
    assert [mixed.of(id) for id in (3, 4)] == [("noise", (1 << 63) - 1), ("mean", {0: 2.0, 2: 0.5})]
    assert (mixed.method, mixed.summary()) == ("<lambda>", "3 copied, 1 by <lambda>, 1 noise")
    assert mixed.mixed_from.tolist() == [0, 2]  # in order, as from every other method
    donor = jeton.Tokenizer.from_merges({0: b"4", 1: b"x", 2: b"0"}, [])
    theirs = mixed.by("donor", donor=donor, seed=1)
    theirs.verify()
    assert [theirs.of(id) for id in range(5)] == [*(("copy", id) for id in range(3)), ("noise", 1), ("donor", 0)]
    mean = DONE.plan.by("mean", seed=2)
    assert (mean.of(LOW), mean.seed) == (DONE.plan.of(LOW), 2)


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("sum", {}, "method='sum' is not one of"),
        ("noise", {"seed": -1}, "seed=-1"),
        ("noise", {"seed": 1 << 63}, "seed="),
        ("donor", {}, "donor="),
        ("focus", {"donor": "gpt2"}, "donor='gpt2' is not a Tokenizer"),
        ("omp", {"donor": TOK}, "needs embeddings="),
        ("focus", {"donor": TOK, "embeddings": np.ones((257, 2))}, r"the shape is \[257, 2\], but the donor has 258"),
        ("focus", {"donor": TOK, "embeddings": np.ones((258, 2), int)}, r"shape is \[258, 2\]"),
        ("focus", {"donor": TOK, "embeddings": np.ones(258)}, r"shape is \[258\]"),
        ("focus", {"donor": TOK, "embeddings": np.zeros((258, 2))}, "share no token that has a row"),
        ("omp", {"donor": TOK, "embeddings": np.ones((258, 2)), "k": 0}, "k=0"),
        (lambda id, token: {258: 1.0}, {}, "method=258"),
        (lambda id, token: {-1: 1.0}, {}, "method=-1"),
    ],
)
def test_methods_that_do_not_fit(method: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(jeton.ConfigError, match=message):
        DONE.plan.by(method, **options)


def test_pieces_are_asked_of_the_first_plan() -> None:
    with pytest.raises(jeton.ConfigError, match="a plan by noise no longer has the pieces"):
        DONE.plan.by("noise").by("mean")


def sparsemax(values: list[float]) -> np.ndarray[Any, Any]:
    """By bisection of the threshold at which the weights add up to 1."""
    low, high = min(values) - 1, max(values)
    for _ in range(100):
        middle = (low + high) / 2
        total = sum(max(value - middle, 0) for value in values)
        low, high = (middle, high) if total > 1 else (low, middle)
    return np.array([max(value - low, 0) for value in values])


@pytest.mark.parametrize("k", [1, 2, 4, 9, 50])
@pytest.mark.parametrize("block", [1, 3, 256])
def test_focus_is_sparsemax_of_the_nearest(monkeypatch: pytest.MonkeyPatch, k: int, block: int) -> None:
    monkeypatch.setattr("jeton.vocabulary.transplant.BLOCK", block)
    random = np.random.default_rng(k)
    basis, targets = random.normal(size=(9, 3)), random.normal(size=(7, 3))
    found = _focus(basis.astype(np.float32), targets.astype(np.float32), min(k, 9))
    assert len(found) == 7
    for target, (ids, weights) in zip(targets, found, strict=True):
        similar = basis @ target / np.linalg.norm(basis, axis=1) / np.linalg.norm(target)
        nearest = np.argsort(-similar)[:k]
        expected = np.zeros(9)
        expected[nearest] = sparsemax([float(similar[id]) for id in nearest])
        dense = np.zeros(9)
        dense[ids] = weights
        assert dense == pytest.approx(expected, abs=1e-6)
        assert (weights > 0).all()
        assert weights.tolist() == sorted(weights, reverse=True)


def test_focus_finds_the_nearest_of_many() -> None:
    random = np.random.default_rng(3)
    basis, targets = random.normal(size=(500, 3)), random.normal(size=(20, 3))
    for k in (1, 2, 40):
        for target, (ids, _) in zip(
            targets, _focus(basis.astype(np.float32), targets.astype(np.float32), k), strict=True
        ):
            similar = basis @ target / np.linalg.norm(basis, axis=1)
            assert ids[0] == np.argmax(similar)
            assert {*ids.tolist()} <= {*np.argsort(-similar)[:k].tolist()}
    plan = growing(3, 4).by("omp", donor=growing(4, 4).tokenizer, embeddings=np.eye(4, dtype=np.float32), k=1)
    assert len(plan.of(3)[1]) == 1


def test_matching_pursuit_follows_the_residual() -> None:
    """The second anchor has the highest cosine with the residual of the first, not with the target or by length."""
    basis = np.array([[3, 0, 0], [0, 0.5, 0], [0, 0, 40], [0.9, 0.1, 0]], np.float32)
    targets = np.array([[6, 2, 0.25], [0, 0, 0], [0, 0, 20]], np.float32)
    (first, weights), (none, empty), (one, half) = _omp(basis, targets, 2)
    assert (first.tolist(), weights.tolist()) == ([3, 1], pytest.approx([6 / 0.9, (2 - 6 / 9) * 2], abs=1e-5))
    assert (none.size, empty.size) == (0, 0)
    assert (one.tolist(), half.tolist()) == ([2], pytest.approx([0.5]))


def test_rows_of_a_donor_replace_only_the_entries_that_it_has() -> None:
    plan = growing(3, 6)
    plan = replace(
        plan,
        mixed=np.array([3, 3, 4, 5]),
        mixed_from=np.array([0, 1, 2, 0]),
        weights=np.array([0.25, 0.75, 1.0, 1.0]),
    )
    donor = jeton.Tokenizer.from_merges({0: b"4", 1: b"2", 2: b"0", 3: b"5"}, [])
    rows = np.array([[0, 2], [0, 1], [1, 0], [0, 0], [9, 9]], np.float32)  # one row more than ids, of a padded matrix
    for method, weight in (("focus", 1.0), ("omp", 2.0)):
        made = plan.by(method, donor=donor, embeddings=rows, k=64)  # type: ignore[arg-type]
        made.verify()
        assert [made.of(id) for id in (3, 4, 5)] == [
            ("mean", {0: 0.25, 1: 0.75}),
            ("mean", {2: pytest.approx(weight)}),
            ("mean", {0: 1.0}),  # the donor's row is zero
        ]


def closed_by_force(trees: MergeTrees, ids: set[int]) -> set[int]:
    while (more := ids | {part for id in ids for part in (trees.left[id], trees.right[id]) if part >= 0}) != ids:
        ids = {int(id) for id in more}
    return ids


def pieces_by_force(trees: MergeTrees, id: int, known: set[int]) -> list[int] | None:
    if id in known:
        return [id]
    if trees.left[id] < 0:
        return None
    parts = [pieces_by_force(trees, int(part[id]), known) for part in (trees.left, trees.right)]
    return None if None in parts else sorted(parts[0] + parts[1])  # type: ignore[operator]


def test_merge_trees_are_expanded_as_one_by_one() -> None:
    """The trees have the id 0 as a part of others, an entry without parts, and gaps."""
    random = np.random.default_rng(5)
    size = 40
    left, right = np.full(size, -1), np.full(size, -1)
    for id in range(6, size):
        if random.random() < 0.8:
            left[id], right[id] = random.integers(0, id, 2)
    trees = MergeTrees(np.ones(size, np.int64), left, right, left < 0)
    for _ in range(60):
        chosen = random.random(size) < 0.1
        expected = closed_by_force(trees, {int(id) for id in np.flatnonzero(chosen)})
        assert set(np.flatnonzero(trees.closed(chosen)).tolist()) == expected
        known = random.random(size) < random.choice([0.1, 0.5])
        known[:6] |= random.random(6) < 0.9
        ids = random.permutation(size)[:9]
        rows, pieces = trees.pieces(ids, known)
        assert (np.diff(rows) >= 0).all()
        for row, id in enumerate(ids.tolist()):
            by_force = pieces_by_force(trees, id, {int(each) for each in np.flatnonzero(known)})
            assert sorted(pieces[rows == row].tolist()) == (by_force or [])


def test_kinds_of_entries() -> None:
    kinds = np.arange(8)
    trees = MergeTrees(kinds, np.array([-1, 0, -1, 0, 0, 0, 0, 0]), kinds, kinds == 2)
    assert trees.is_ordinary.tolist() == [False, True, True, *[False] * 5]  # a token, one that ends a word
    assert trees.is_reached.tolist() == [False, True, True, *[False] * 5]


def test_a_plan_shows_its_columns_only() -> None:
    assert "okenizer" not in repr(growing(1, 2)).replace("tokenizers", "")
