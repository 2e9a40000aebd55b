"""Pruning and renumbering: kept entries and refusals. Random cases are in `test_random_surgeries`."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton._core import Vocabulary
from jeton.definition import Bpe, Definition
from jeton.errors import ConfigError, UnsupportedFeatureError
from jeton.tokenizer import Tokenizer
from jeton.tokens.added import AddedToken, model_entries, with_added_tokens
from jeton.tokens.kinds import MAX_ID
from jeton.vocabulary.first_merges import _limit, first_merges
from jeton.vocabulary.prune import _mask, _uses
from jeton.vocabulary.renumber import _checked

CORPUS = ["low lower lowest new newer newest wide wider widest the wind and the rain " * 3, "今天的天气很好"]


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return jeton.train(CORPUS, 300, pattern="gpt2", special_tokens=["<a>", "<b>"], progress=False)


def test_tokens_are_kept_by_id_spelling_or_bytes(tok: Tokenizer) -> None:
    id = tok.token_to_id("Ġlower")
    found = [
        jeton.prune(tok, keep=keep).tokenizer
        for keep in ([id], ["Ġlower"], [" lower"], [b" lower"], np.array([id]), iter([id]))
    ]
    assert all(each == found[0] for each in found)
    assert found[0].encode(" lower") == [found[0].token_to_id("Ġlower")]
    assert found[0].special_tokens == {"<a>": len(found[0]) - 2, "<b>": len(found[0]) - 1}


def test_compact_false_keeps_ids(tok: Tokenizer) -> None:
    done = jeton.prune(tok, keep=[" lower"], compact=False)
    assert all(tok.id_to_bytes(id) == content for id, content in done.tokenizer.vocab.items())
    assert done.tokenizer.vocab_size == tok.vocab_size
    assert (done.plan.id_map[done.plan.copied >= 0] == np.flatnonzero(done.plan.copied >= 0)).all()


def test_counts_of_every_kind_prune_alike(tok: Tokenizer) -> None:
    text = "low lowest wider"
    uses = np.bincount(tok.encode(text), minlength=tok.vocab_size)
    counts = jeton.count_pretokens([text], pattern="gpt2", progress=False)
    kinds: list[Any] = [[text], counts, uses, {id: int(count) for id, count in enumerate(uses) if count}]
    found = [jeton.prune(tok, corpus=each, vocab_size=270) for each in kinds]
    assert all(each.tokenizer == found[0].tokenizer for each in found)
    assert len(found[0].tokenizer) == 270
    used = jeton.prune(tok, corpus=[text])
    assert used.tokenizer.tokenize(text).tokens == tok.tokenize(text).tokens
    assert used.report["for_merges"] > 0


def test_the_least_used_leaf_is_removed_first() -> None:
    vocab = {0: b"a", 1: b"b", 2: b"ab", 3: b"aba", 4: b"abb"}
    tok = Tokenizer.from_merges(vocab, [(0, 1, 2), (2, 0, 3), (2, 1, 4)])
    assert [*jeton.prune(tok, corpus={2: 0, 3: 2, 4: 1}, vocab_size=4).tokenizer.vocab.values()] == [
        b"a",
        b"b",
        b"ab",
        b"aba",
    ]
    # The uses of `aba` become those of `ab`, which stays, although no text has used it.
    assert [*jeton.prune(tok, corpus={2: 0, 3: 2, 4: 1}, vocab_size=3).tokenizer.vocab.values()] == [b"a", b"b", b"ab"]


@pytest.mark.parametrize(("size", "message"), [(0, "is not a positive integer"), (1, "vocab_size=1 is too small")])
def test_a_vocabulary_smaller_than_the_alphabet_is_refused(size: int, message: str) -> None:
    tok = Tokenizer.from_merges({0: b"a", 1: b"b", 2: b"ab"}, [(0, 1, 2)])
    with pytest.raises(jeton.ConfigError, match=message):
        jeton.prune(tok, corpus={2: 1}, vocab_size=size)


def test_a_template_and_padding_are_renumbered(data: Path) -> None:
    tok = jeton.load(data / "vocabs" / "roberta-base.tokenizer.json")
    done = jeton.prune(tok, corpus=CORPUS, vocab_size=3000)
    made = done.tokenizer
    assert len(made) == 3000
    ids = made.encode("low", add_special_tokens=True)
    assert [made.id_to_token(id) for id in ids] == [
        tok.id_to_token(id) for id in tok.encode("low", add_special_tokens=True)
    ]
    assert (done.plan.id_map[tok.encode("low", add_special_tokens=True)] == ids).all()


def test_the_id_of_padding_is_renumbered() -> None:
    entries = {i: bytes([i]) for i in range(256)} | {257: b"lo", 258: b"low"}
    tok = jeton.Tokenizer.from_merges(
        entries, [(ord("l"), ord("o"), 257), (257, ord("w"), 258)], special_tokens={"<pad>": 300}
    )
    tok = tok._with_facts(padding={"strategy": "BatchLongest", "pad_id": 300, "pad_token": "<pad>"})
    made = jeton.prune(tok, keep=["<pad>"]).tokenizer
    assert made.definition.padding is not None
    assert made.definition.padding["pad_id"] == made.special_tokens["<pad>"] == 256


def test_a_unigram_keeps_a_piece_of_the_lowest_score() -> None:
    """The lowest score is the penalty of unknown characters, so removing it would change ids of other texts."""
    pieces = [["<unk>", 0.0], ["a", -1.0], ["b", -2.0], ["ab", -9.0], ["ba", -3.0]]
    file = {"model": {"type": "Unigram", "unk_id": 0, "vocab": pieces}}
    tok = jeton.Tokenizer.from_bytes(json.dumps(file).encode())
    made = jeton.prune(tok, keep=["a", "b"]).tokenizer
    assert set(made.get_vocab()) == {"<unk>", "a", "b", "ab"}


@pytest.mark.parametrize("name", ["o200k_base.tiktoken", "mistral-v1.model", "t5-small.tokenizer.json"])
def test_pruned_published_vocabularies_map_their_ids(data: Path, name: str) -> None:
    tok = jeton.load(data / "vocabs" / name)
    text = (data / "udhr" / "eng.txt").read_text()
    done = jeton.prune(tok, corpus=[text], vocab_size=len(tok) // 3)
    done.plan.verify()
    made = done.tokenizer
    assert len(made) == len(tok) // 3
    assert made.encode(text) == done.plan.id_map[tok.encode(text)].tolist()


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({}, "pass a corpus, vocab_size=, keep= or remove="),
            ({"keep": [0, "nothing like it"]}, "nothing like it"),
            ({"keep": [300]}, r"keep\[0\]=300"),
            ({"keep": [-1]}, r"keep\[0\]=-1"),
            ({"keep": np.array([300])}, "keep: 300"),
            ({"keep": "low"}, "keep='low' is not a list"),
            ({"keep": [], "vocab_size": 260}, "need a corpus"),
            ({"corpus": [CORPUS[0]], "vocab_size": 257}, "vocab_size=257 is too small: .* kept tokens need 258"),
            ({"corpus": [CORPUS[0]], "vocab_size": 301}, "vocab_size=301 is above"),
            ({"corpus": {300: 1}}, "corpus=300"),
            ({"corpus": {1: -1}}, "corpus=-1"),
            ({"corpus": np.zeros(301, int)}, "up to 300 counts"),
            ({"corpus": np.zeros(3)}, "up to 300 counts"),
        ],
    )
    def test_invalid_options(self, tok: Tokenizer, options: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            jeton.prune(tok, **options)

    def test_counts_of_another_pattern(self, tok: Tokenizer) -> None:
        with pytest.raises(ConfigError, match="pattern 'o200k', but the tokenizer has pattern 'gpt2'"):
            jeton.prune(tok, corpus=jeton.count_pretokens(CORPUS, progress=False))

    def test_unsupported_models(self) -> None:
        words = Tokenizer.from_bytes(
            b'{"model": {"type": "WordLevel", "vocab": {"a": 0, "[UNK]": 1}, "unk_token": "[UNK]"}}'
        )
        with pytest.raises(UnsupportedFeatureError, match="WordLevel"):
            jeton.prune(words, keep=["a"])
        assert jeton.renumber(words, {0: 1, 1: 0}).tokenizer.encode("a") == [1]
        unigram = jeton.train(CORPUS, 40, preset="unigram", progress=False)
        with pytest.raises(ConfigError, match="a corpus or keep="):
            jeton.prune(unigram, vocab_size=30)

    @pytest.mark.parametrize(
        ("map", "message"),
        [
            ({0: 1}, "the new id 1 would have two entries"),
            ({300: 1}, "map: the old id 300"),
            ({0: -1}, r"map\[0\]=-1"),
            ([1, 2], "an array of 300 new ids"),
            (np.arange(300) - 1, "new ids are integers from 0"),
            ("x", "map='x'"),
        ],
    )
    def test_invalid_maps(self, tok: Tokenizer, map: Any, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            jeton.renumber(tok, map)


def test_an_array_may_have_the_highest_id(monkeypatch: pytest.MonkeyPatch) -> None:
    tok = Tokenizer.from_merges({0: b"a", 1: b"b"}, [])
    monkeypatch.setattr(import_module("jeton.vocabulary.renumber"), "MAX_ID", 3)
    assert jeton.renumber(tok, np.array([3, 0])).tokenizer.encode("ab") == [3, 0]
    with pytest.raises(ConfigError, match="new ids are integers from 0 to 3"):
        jeton.renumber(tok, np.array([4, 0]))


def test_ranks_become_merges_only_if_their_order_changes(data: Path) -> None:
    tok = jeton.load(data / "vocabs" / "r50k_base.tiktoken")
    shifted = jeton.renumber(tok, np.arange(tok.vocab_size) + 10)
    assert shifted.tokenizer.definition.model.ranks == "tokens"  # type: ignore[union-attr]
    turned = jeton.renumber(tok, np.arange(tok.vocab_size)[::-1].copy())
    assert turned.tokenizer.definition.model.ranks == "merges"  # type: ignore[union-attr]
    assert "a list of merges" in turned.report["ranks"]
    text = "".join(CORPUS) + " The quick brown foxes' 1234 \n\n  end<|endoftext|>"
    ids = np.array(tok.encode(text, special="all"))
    assert shifted.tokenizer.encode(text, special="all") == (ids + 10).tolist()
    assert turned.tokenizer.encode(text, special="all") == (tok.vocab_size - 1 - ids).tolist()


# Ids with gaps: a and b, their merges in order, and added tokens before, between and after.
CHAIN = {1: b"a", 2: b"b", 4: b"ab", 5: b"aba", 7: b"abab"}
GAPS = Tokenizer.from_merges(CHAIN, [(1, 2, 4), (4, 1, 5), (4, 4, 7)], special_tokens={"<a>": 0, "<b>": 8})


@pytest.mark.parametrize(
    ("options", "ids", "report"),
    [
        ({"keep": []}, [0, 1, 2, 8], {"removed": 3, "merges": 0, "for_merges": 0}),
        ({"keep": [7]}, [0, 1, 2, 4, 7, 8], {"removed": 1, "merges": 2, "for_merges": 1}),
        ({"keep": ["aba", b"abab"]}, [0, 1, 2, 4, 5, 7, 8], {"removed": 0, "merges": 3, "for_merges": 1}),
        ({"remove": [7]}, [0, 1, 2, 4, 5, 8], {"removed": 1, "merges": 2, "for_merges": 0}),
        ({"remove": ["<a>", 5], "keep": [4]}, [1, 2, 4, 8], {"removed": 3, "merges": 1, "for_merges": 0}),
        ({"corpus": {5: 1, 7: 0, 3: 9}}, [0, 1, 2, 4, 5, 8], {"removed": 1, "merges": 2, "for_merges": 1}),
        ({"corpus": {5: 1}, "keep": [7]}, [0, 1, 2, 4, 5, 7, 8], {"removed": 0, "merges": 3, "for_merges": 1}),
        ({"corpus": {5: 1, 7: 1}, "remove": [7]}, [0, 1, 2, 4, 5, 8], {"removed": 1, "merges": 2, "for_merges": 1}),
        ({"corpus": {5: 1}, "vocab_size": 4}, [0, 1, 2, 8], {"removed": 3, "merges": 0, "for_merges": 0}),
        ({"corpus": {5: 1}, "vocab_size": 6}, [0, 1, 2, 4, 5, 8], {"removed": 1, "merges": 2, "for_merges": 0}),
        ({"corpus": {7: 1}, "vocab_size": 7}, [0, 1, 2, 4, 5, 7, 8], {"removed": 0, "merges": 3, "for_merges": 0}),
        ({"corpus": np.arange(8) // 7}, [0, 1, 2, 4, 7, 8], {"removed": 1, "merges": 2, "for_merges": 1}),
        ({"corpus": ["abab"]}, [0, 1, 2, 4, 7, 8], {"removed": 1, "merges": 2, "for_merges": 1}),
    ],
)  # fmt: skip
def test_entries_that_stay(options: dict[str, Any], ids: list[int], report: dict[str, Any]) -> None:
    done = jeton.prune(GAPS, **options)
    done.plan.verify()
    assert done.plan.copied.tolist() == ids
    assert [done.tokenizer.id_to_bytes(new) for new in range(len(ids))] == [GAPS.id_to_bytes(id) for id in ids]
    facts = {"verb": "prune", "before": 7, "after": len(ids), "unreachable": []}
    assert dict(done.report) == {**facts, **report}
    gaps = jeton.prune(GAPS, **options, compact=False)
    assert gaps.plan.copied.tolist() == [id if id in ids else -1 for id in range(max(ids) + 1)]
    assert dict(gaps.report) == {**facts, **report}


def test_entries_that_no_merge_reaches_are_listed() -> None:
    tok = Tokenizer.from_merges({0: b"a", 1: b"b", 3: b"ab", 4: b"ba"}, [(1, 0, 4)])
    assert jeton.prune(tok, keep=[3]).report["unreachable"] == [2]
    assert jeton.prune(tok, keep=[3], compact=False).report["unreachable"] == [3]
    unigram = jeton.train(CORPUS, 40, preset="unigram", progress=False)
    assert jeton.prune(unigram, keep=[]).report["unreachable"] == []


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([], []),
        ([0, 7], [0, 7]),
        (["<b>", "ab", b"aba"], [4, 5, 8]),
        (np.array([[1], [8]]), [1, 8]),
        ((id for id in (2, 2)), [2]),
    ],
)
def test_tokens_of_an_argument(tokens: Any, expected: list[int]) -> None:
    assert np.flatnonzero(_mask(GAPS, tokens, "keep")).tolist() == expected


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([3], "keep: 3 is not an id of the tokenizer"),
        ([9], "keep.*9"),
        ([-1], "keep.*-1"),
        (np.array([9]), "keep: 9 is not an id"),
        (np.array([-1]), "keep: -1 is not an id"),
        (np.array([6, 9]), "keep: 9 is not an id"),
        (np.array([0.0]), "keep"),
        ([None], "keep.*None"),
        (["ab", "abc"], "abc"),
        ([b"\xff"], "keep: "),
        (b"ab", "keep=b'ab' is not a list of ids or tokens"),
        (3, "keep=3 is not a list of ids or tokens"),
    ],
)
def test_tokens_that_are_none_of_the_tokenizer(tokens: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        _mask(GAPS, tokens, "keep")


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({}, [0] * 9),
        ({0: 3, 8: (1 << 63) - 1}, [3, *[0] * 7, (1 << 63) - 1]),
        (np.array([1, 2]), [1, 2, *[0] * 7]),
        (np.arange(9, dtype=np.uint16), [*range(9)]),
        (["abab a"], None),
    ],
)
def test_uses_by_id(counts: Any, expected: list[int] | None) -> None:
    if expected is None:
        with pytest.raises(jeton.errors.InvalidTextError):  # a space is not in the vocabulary
            _uses(GAPS, counts)
        assert _uses(GAPS, ["abab<b>", "ab", "a"]).tolist() == [0, 1, 0, 0, 1, 0, 0, 1, 1]
        return
    assert _uses(GAPS, counts).tolist() == expected


@pytest.mark.parametrize(
    "counts", [np.zeros((3, 3), int), np.zeros(10, int), np.zeros(3), {9: 1}, {0: 1 << 63}, {0: -1}]
)
def test_uses_that_do_not_fit(counts: Any) -> None:
    with pytest.raises(ConfigError, match="corpus"):
        _uses(GAPS, counts)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (3, "vocab_size=3 is too small: alphabet, added and kept tokens need 4"),
        (8, "vocab_size=8 is above 7"),
        (0, "=0"),
    ],
)
def test_sizes_that_uses_cannot_reach(size: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        jeton.prune(GAPS, corpus={4: 1}, vocab_size=size)


MERGED = {0: b"a", 1: b"b", 2: b"ab", 3: b"aba", 4: b"abab"}


@pytest.mark.parametrize(
    ("special", "size", "limit", "expected"),
    [
        ({}, 5, 5, {}),
        ({}, 3, 3, {}),
        ({"<s>": 5}, 6, 6, {"<s>": 5}),
        ({"<s>": 5}, 5, 4, {"<s>": 4}),
        ({"<s>": 5, "<t>": 6}, 4, 2, {"<s>": 2, "<t>": 3}),
        ({"<s>": 5, "<t>": 9}, 5, 3, {"<s>": 3, "<t>": 4}),
    ],
)
def test_first_merges_of_each_size(special: dict[str, int], size: int, limit: int, expected: dict[str, int]) -> None:
    tok = Tokenizer.from_merges(MERGED, [(0, 1, 2), (2, 0, 3), (2, 2, 4)], special_tokens=special)
    assert _limit(tok, size) == limit
    made = first_merges(tok, size)
    first = min(limit, 5)
    assert made.merges == tok.merges[: first - 2]
    assert dict(made.special_tokens) == expected
    assert made.vocab_size == len(made) == size
    done = jeton.prune(tok, vocab_size=size)
    done.plan.verify()
    assert done.tokenizer == made
    assert done.plan.copied.tolist() == [*range(first), *special.values()]
    assert dict(done.report) == {
        "verb": "prune",
        "before": 5 + len(special),
        "after": size,
        "removed": 5 + len(special) - size,
        "merges": first - 2,
    }


def test_a_tokenizer_of_added_tokens_has_no_alphabet() -> None:
    tok = Tokenizer.from_merges({}, [], special_tokens={"<s>": 0})
    assert first_merges(tok, 1) == tok


@pytest.mark.parametrize("option", ["compact", "drop_references"])
def test_flags_are_booleans(option: str) -> None:
    with pytest.raises(ConfigError, match=f"{option}=1"):
        jeton.prune(GAPS, keep=[], **{option: 1})  # type: ignore[arg-type]


def test_first_merges_have_facts_of_training() -> None:
    tok = jeton.train(CORPUS, 270, pattern="gpt2", special_tokens=["<s>"], progress=False)
    facts = first_merges(tok, 260).definition.training
    assert facts is not None
    assert (facts.vocab_size, facts.num_merges, facts.stopped, facts.log) == (260, 3, None, None)
    assert first_merges(tok, 260) == jeton.train(CORPUS, 260, pattern="gpt2", special_tokens=["<s>"], progress=False)


@pytest.mark.parametrize(
    ("vocab", "merges", "special", "size", "message"),
    [
        (MERGED, [(0, 1, 2), (2, 0, 3), (2, 2, 4)], {}, 6, "vocab_size=6 is not an integer up to 5"),
        (MERGED, [(0, 1, 2), (2, 0, 3), (2, 2, 4)], {}, True, "vocab_size=True is not an integer"),
        (MERGED, [(0, 1, 2), (2, 0, 3), (2, 2, 4)], {}, "3", "vocab_size='3' is not an integer"),
        (MERGED, [(0, 1, 2), (2, 0, 3), (2, 2, 4)], {}, 1, "vocab_size=1 is too small: .* need 2"),
        (MERGED, [(0, 1, 2), (2, 0, 3), (2, 2, 4)], {"<s>": 5}, 2, "vocab_size=2 is too small: .* need 3"),
        (MERGED, [(0, 1, 2), (2, 2, 4), (2, 0, 3)], {}, 4, "not in the order of its merges"),
        (MERGED, [(0, 1, 2), (2, 2, 4), (2, 0, 3)], {}, 5, "not in the order of its merges"),
        (MERGED, [(0, 1, 2), (2, 2, 4)], {}, 4, None),
        (MERGED, [(0, 1, 2), (2, 2, 4)], {}, 3, "vocab_size=3 is too small: .* need 4"),
    ],
)  # fmt: skip
def test_first_merges_that_do_not_exist(
    vocab: dict[int, bytes], merges: Any, special: dict[str, int], size: Any, message: str | None
) -> None:
    tok = Tokenizer.from_merges(vocab, merges, special_tokens=special)
    if message is None:
        assert first_merges(tok, size).vocab == {0: b"a", 1: b"b", 2: b"ab", 3: b"aba"}
        return
    with pytest.raises(ConfigError, match=message):
        first_merges(tok, size)


@pytest.mark.parametrize(
    ("map", "expected", "moved"),
    [
        ({}, [0, 1, 2, -1, 4, 5, -1, 7, 8], 0),
        ({0: 3}, [3, 1, 2, -1, 4, 5, -1, 7, 8], 1),
        ({1: 2, 2: 1, 4: 4}, [0, 2, 1, -1, 4, 5, -1, 7, 8], 2),
        (list(range(9)), [0, 1, 2, -1, 4, 5, -1, 7, 8], 0),
        (tuple(range(8, -1, -1)), [8, 7, 6, -1, 4, 3, -1, 1, 0], 6),
        (np.array([1, 0, 2, 9, 4, 5, 9, 7, 8], np.uint8), [1, 0, 2, -1, 4, 5, -1, 7, 8], 2),
    ],
)
def test_new_ids_by_old_id(map: Any, expected: list[int], moved: int) -> None:
    assert _checked(GAPS, map).tolist() == expected
    done = jeton.renumber(GAPS, map)
    assert dict(done.report) == {"verb": "renumber", "before": 7, "after": 7, "moved": moved, "ranks": "as before"}
    assert done.plan.id_map.tolist() == expected
    assert [done.tokenizer.id_to_bytes(new) for new in expected if new >= 0] == [
        GAPS.id_to_bytes(id) for id in (0, 1, 2, 4, 5, 7, 8)
    ]


@pytest.mark.parametrize(
    ("map", "message"),
    [
        ({3: 9}, "map: 3 is not an id of the tokenizer"),
        ({9: 3}, "map.*9"),
        ({0: 1}, "the new id 1 would have two entries"),
        ({1: MAX_ID + 1}, "map"),
        (list(range(10)), "an array of 9 new ids"),
        (np.zeros((9, 1), int), "an array of 9 new ids"),
        (np.zeros(9), "an array of 9 new ids"),
        (np.array([0, 1, 2, -1, 4, 5, 6, 7, 8]), "new ids are integers from 0"),
        (np.array([0, 1, 2, 3, 4, 5, 6, 7, 7]), "the new id 7 would have two entries"),
        ({0, 1}, "map="),
        (None, "map=None"),
    ],
)
def test_new_ids_that_do_not_fit(map: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        jeton.renumber(GAPS, map)


def test_ranks_stay_in_order() -> None:
    """A rank file whose entries move, but not past each other, still ranks merges by id."""
    ids = {id: bytes([id]) for id in range(256)}
    base = Tokenizer.from_merges(ids, [])
    definition = Definition(Bpe(ranks="tokens", whole_first=True), pretokenizer=base.definition.pretokenizer)
    vocabulary = Vocabulary([*range(258)], [1] * 258, [*ids.values(), b"ab", b"abc"], [])
    tok = Tokenizer(definition, vocabulary).add_tokens(["<s>"])
    for map, ranks in (
        ({257: 300, 258: 0, 0: 257}, "merges"),
        ({257: 300, 258: 257}, "tokens"),
        ({257: 256, 256: 257}, "merges"),
    ):
        done = jeton.renumber(tok, map)
        model = done.tokenizer.definition.model
        assert isinstance(model, Bpe)
        assert (model.ranks, model.whole_first) == (ranks, True)
        assert done.report["ranks"] == ("as before" if ranks == "tokens" else "a list of merges instead of ranks by id")
        text = "abcab c<s>ab"
        assert done.tokenizer.encode(text, special="all") == [map.get(id, id) for id in tok.encode(text, special="all")]
        assert done.tokenizer.added_tokens[map.get(258, 258)] == tok.added_tokens[258]
    few = jeton.prune(tok, keep=[257]).tokenizer
    assert few.definition.model.ranks == "tokens"  # type: ignore[union-attr]


def test_added_tokens_that_are_entries_stay_entries() -> None:
    merges = Tokenizer.from_merges(MERGED, [(0, 1, 2), (2, 0, 3), (2, 2, 4)])
    tokens = [(5, AddedToken("x", special=False)), (6, AddedToken("y", special=False))]
    tok = merges._derived(
        definition=merges.definition, vocabulary=with_added_tokens(merges._core.vocabulary(), tokens, [6])
    )
    assert model_entries(tok._core) == [6]
    made = first_merges(tok, 5)
    assert [token.content for token in made.added_tokens.values()] == ["x", "y"]
    assert model_entries(made._core) == [4]
