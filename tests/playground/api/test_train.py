"""``train``: the run that the page plays back."""

from __future__ import annotations

from typing import Any

import pytest

import jeton
from jeton.playground.api.train import MAX_MERGES, answer
from jeton.playground.catalog import Catalog

SHELF = Catalog(cached=False)
TEXT = "old older fast faster fastest best better yes desk mess"


def sequence(run: dict[str, Any], num_merges: int) -> list[list[int]]:
    """As the page does it: a token is a run of symbols, and its id is what the last merge inside the run made."""
    made = [step["id"] for step in run["steps"]]
    result = []
    for given in run["sequences"]:
        ids, last = [], -1
        for index, id in enumerate(given["ids"]):
            rank = given["joined"][index] if index < len(given["joined"]) else None
            if rank is not None and rank < num_merges:
                last = max(last, rank)
            else:
                ids.append(id if last < 0 else made[last])
                last = -1
        result.append(ids)
    return result


@pytest.mark.parametrize("rule", ["first", "lowest_ids", "highest_pair", "shortest"])
@pytest.mark.parametrize(
    ("level", "pattern"), [("byte", "none"), ("byte", "gpt2"), ("char", "none"), ("byte", r"\S+|\s+")]
)
def test_the_run_is_that_of_the_trainer(rule: Any, level: Any, pattern: str) -> None:
    request = {"text": TEXT, "vocab_size": 270, "tie_break": rule, "level": level, "pattern": pattern}
    run = answer(SHELF, request)
    tok = jeton.train([TEXT], 270, tie_break=rule, level=level, pattern=pattern, progress=False)
    assert [(step["left"], step["right"], step["id"]) for step in run["steps"]] == list(tok.merges)
    assert [id for ids in sequence(run, len(run["steps"])) for id in ids] == tok.encode(TEXT)
    assert run["alphabet_size"] == tok.vocab_size - len(tok.merges)
    assert {step["tie_break"] for step in [run]} == {rule}
    drawn = {id for ids in sequence(run, 3) for id in ids} | {step["id"] for step in run["steps"]}
    assert {str(id) for id in drawn} <= set(run["table"])
    assert "".join(part[1] for part in run["table"][str(run["steps"][0]["id"])]["parts"])


def test_all_defaults() -> None:
    run = answer(SHELF, {"text": TEXT})
    assert (run["tie_break"], run["alphabet_size"], run["vocab_size"]) == ("lowest_ids", 256, 276)
    assert "o200k" in run["patterns"]
    assert answer(SHELF, {"text": TEXT, "level": "char"})["alphabet_size"] == len(set(TEXT))


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, 'lacks "text"'),
        ({"text": ""}, "no text"),
        ({"text": "天" * 4_000}, "12,000"),
        ({"text": "ab", "vocab_size": 10**9}, "integer from 1 to"),
        ({"text": "ab", "vocab_size": 100}, "256"),
        ({"text": "ab", "tie_break": "best"}, "one of lowest_ids"),
        ({"text": "ab", "level": "word"}, "one of byte, char"),
        ({"text": "ab", "pattern": "gtp2"}, "no pattern named"),
        ({"text": "ab", "pattern": "("}, "pattern|regex|parenthes"),
        ({"text": "a\ud800"}, "surrogate"),
    ],
)
def test_what_cannot_be_is_said(request_: dict[str, Any], message: str) -> None:
    with pytest.raises(jeton.JetonError, match=message):
        answer(SHELF, request_)


def test_too_many_merges_to_watch() -> None:
    text = " ".join(f"{a}{b}{c}" for a in "abcdef" for b in "ghijkl" for c in "mnopqrstu")
    with pytest.raises(jeton.ConfigError, match=f"vocabulary size of {256 + MAX_MERGES}"):
        answer(SHELF, {"text": text, "vocab_size": 2_000, "pattern": "none"})
    assert len(answer(SHELF, {"text": text, "vocab_size": 256 + MAX_MERGES, "pattern": "none"})["steps"]) == MAX_MERGES
