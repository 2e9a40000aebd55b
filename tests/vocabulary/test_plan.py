"""Plans of embedding rows: sources, summaries, and the faults that `verify` finds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.vocabulary.plan import Plan
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
