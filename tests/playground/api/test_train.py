"""``train``: the run that the page plays back."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

import jeton
from jeton.playground.api.train import MAX_MERGES, answer
from jeton.playground.catalog import Catalog

SHELF = Catalog(cached=False)
TEXT = "old older fast faster fastest best better yes desk mess"


def sequence(run: dict[str, Any], num_merges: int) -> list[list[int]]:
    """Computed as on the page: a token is a run of symbols, and its id is the result of the run's last merge."""
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
def test_the_run_equals_that_of_the_trainer(rule: Any, level: Any, pattern: str) -> None:
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


@pytest.mark.parametrize("algorithm", ["words", "wordpiece", "sentencepiece"])
def test_algorithms_on_words_count_words(algorithm: str) -> None:
    run = answer(SHELF, {"text": "low low lower aaaa\naaaa", "algorithm": algorithm, "vocab_size": 40})
    assert [sequence["count"] for sequence in run["sequences"]] == [2, 1, 2]
    assert run["corpus_bytes"] == len("low low lower aaaa\naaaa") - (
        algorithm == "sentencepiece"
    )  # its documents are lines
    assert run["alphabet_size"] + run["num_special"] + len(run["steps"]) == run["vocab_size"]
    merged = [0] * len(run["steps"])
    for given in run["sequences"]:
        for rank in given["joined"]:
            if rank is not None:
                merged[rank] += given["count"]
    assert [step["merged"] for step in run["steps"]] == merged
    assert all(step["merged"] <= step["pair_count"] for step in run["steps"])
    overlapping = next(step for step in run["steps"] if step["merged"] < step["pair_count"])
    assert overlapping["left"] == overlapping["right"]
    tokens = sum(len(ids) * given["count"] for ids, given in zip(sequence(run, 3), run["sequences"], strict=True))
    assert tokens == run["steps"][2]["corpus_tokens"]


@pytest.mark.parametrize("algorithm", ["words", "wordpiece", "sentencepiece"])
def test_the_default_is_thirty_merges(algorithm: str) -> None:
    text = " ".join(f"{left}{right}{left}天" for left in "abcdefghijklm" for right in "nopqrstuvwxyz")
    assert len(answer(SHELF, {"text": text, "algorithm": algorithm})["steps"]) == 30


def test_runs_of_unigram_shrink_the_vocabulary() -> None:
    run = answer(SHELF, {"text": TEXT, "algorithm": "unigram"})
    sizes = [each["size"] for each in run["runs"]]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) > 4
    special = 3
    for before, after in pairwise(run["runs"]):
        dropped, added = {piece for piece, _ in after["dropped"]}, set(after["added"])
        pieces, others = ({piece for piece, _ in each["pieces"]} for each in (before, after))
        assert (dropped, added) == (pieces - others, others - pieces)
        assert len(others) + special == after["size"]
        assert all(len(piece) > 1 for piece in dropped), "single characters are kept"
    for each in run["runs"]:
        assert sum(map(len, each["tokens"])) == each["corpus_tokens"]
        assert {piece for tokens in each["tokens"] for piece in tokens} <= set(run["table"])
        assert [score for _, score in each["pieces"]] == sorted((score for _, score in each["pieces"]), reverse=True)
    assert all(len(piece) == 1 for piece, _ in run["runs"][-1]["pieces"])
    short = answer(SHELF, {"text": TEXT, "algorithm": "unigram", "vocab_size": sizes[2]})
    assert [each["size"] for each in short["runs"]] == sizes[:3]


def test_omitted_options_have_defaults() -> None:
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
        ({"text": "ab", "algorithm": "words2"}, "one of bpe, words"),
        ({"text": "ab", "algorithm": "unigram", "vocab_size": 2}, "vocab_size"),
        ({"text": "ab", "algorithm": "sentencepiece", "vocab_size": 2}, "vocab_size"),
        ({"text": "  ", "algorithm": "words"}, "no text"),
        ({"text": " ", "algorithm": "unigram"}, "no text"),
        ({"text": "ab", "pattern": "gtp2"}, "no pattern named"),
        ({"text": "ab", "pattern": "("}, "pattern|regex|parenthes"),
        ({"text": "a\ud800"}, "surrogate"),
    ],
)
def test_invalid_requests_are_refused(request_: dict[str, Any], message: str) -> None:
    with pytest.raises(jeton.JetonError, match=message):
        answer(SHELF, request_)


def test_too_many_merges_are_refused() -> None:
    text = " ".join(f"{a}{b}{c}" for a in "abcdef" for b in "ghijkl" for c in "mnopqrstu")
    with pytest.raises(jeton.ConfigError, match=f"vocabulary size of {256 + MAX_MERGES}"):
        answer(SHELF, {"text": text, "vocab_size": 2_000, "pattern": "none"})
    assert len(answer(SHELF, {"text": text, "vocab_size": 256 + MAX_MERGES, "pattern": "none"})["steps"]) == MAX_MERGES
