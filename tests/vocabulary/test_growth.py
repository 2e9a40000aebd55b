"""Adding words, extending and merging: reports, published vocabularies, refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton._core import Vocabulary
from jeton.definition import Bpe, Definition, Pieces, template_of
from jeton.errors import ConfigError, UnsupportedFeatureError
from jeton.tokenizer import Tokenizer
from jeton.vocabulary.changes import _num_same, agreement, check_counts, checked_corpus, counts_of_ids, effect
from jeton.vocabulary.growth import check_merges
from jeton.vocabulary.merge_vocab import REASONS, _check_kinds, _left_out, _order
from jeton.vocabulary.surgery import _shown, renumbered_definition

ENGLISH = "low lower lowest new newer newest wide wider widest slow slowly the wind and the rain of an evening " * 5
CHINESE = "今天的天气很好，明天的天气也很好。今天我们去公园，明天我们在家。" * 5


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return jeton.train([ENGLISH], 290, pattern="gpt2", special_tokens=["<|end|>"], progress=False)


def test_words_are_found_inside_of_pretokens(tok: Tokenizer) -> None:
    text = "a slowest widest-slowest day"
    done = jeton.add_words(tok, ["slowest", " slowest", "天气"], corpus=[text, text])
    made = done.tokenizer
    tokens = made.tokenize(text + "今天的天气好").tokens
    assert b" slowest" in tokens
    assert b"slowest" in tokens
    assert "天气".encode() in tokens
    assert done.report["documents"] == 2
    old, new = tok.encode(text), made.encode(text)
    assert done.report["tokens_before"] == 2 * len(old)
    assert done.report["tokens_after"] == 2 * len(new)
    changed = len(old) - sum(id < tok.vocab_size for id in new)
    assert done.report["changed_tokens"] == changed / len(old)
    assert jeton.add_words(made, ["slowest"]).tokenizer == made
    assert len(jeton.add_words(tok, []).tokenizer) == len(tok)
    assert json.loads(json.dumps(done.to_json()))["report"]["words"] == 3


def test_adding_an_unreachable_entry_makes_it_reachable() -> None:
    vocab = {0: b"a", 1: b"b", 2: b"c", 3: b"abc"}
    tok = Tokenizer.from_merges(vocab, [])
    assert tok.encode("abc") == [0, 1, 2]
    done = jeton.add_words(tok, ["abc"])
    assert done.tokenizer.encode("xabc".replace("x", "a")) == [0, 3]
    assert done.report["new_entries"] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["low slow"], "is not one token: the tokenizer normalizes or splits"),
        ([""], "a word is empty"),
        (["\ud800"], "lone surrogate"),
        (["<|end|>"], "is an added token"),
        ("word", "is not a list of strings"),
        (["a" * 5000], "over 1024"),
    ],
)
def test_words_that_cannot_be_added(tok: Tokenizer, words: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        jeton.add_words(tok, words)


def test_extending_continues_training(tok: Tokenizer) -> None:
    """Extending on the training corpus equals training with a larger size."""
    plain = jeton.train([ENGLISH], 280, pattern="gpt2", progress=False)
    more = jeton.extend(plain, [ENGLISH], 10, progress=False).tokenizer
    assert more == jeton.train([ENGLISH], 290, pattern="gpt2", progress=False)
    counts = jeton.count_pretokens([ENGLISH], pattern="gpt2", progress=False)
    assert jeton.extend(plain, counts, 10, progress=False).tokenizer == more


def test_protected_text_does_not_change(tok: Tokenizer) -> None:
    other = "newly lowly widely"
    free = jeton.extend(tok, [other * 9, CHINESE], 30, other=[other], progress=False)
    assert free.tokenizer.encode(other) != tok.encode(other)
    assert free.report["other"]["changed_tokens"] > 0
    bound = jeton.extend(tok, [other * 9, CHINESE], 30, protect=[other], other=[other], progress=False)
    assert bound.tokenizer.encode(other) == tok.encode(other)
    assert bound.report["other"]["changed_tokens"] == 0
    assert bound.report["bytes_per_token_after"] > bound.report["bytes_per_token_before"]


def test_protected_text_may_contain_special_tokens(tok: Tokenizer) -> None:
    text = "low<|end|>low newly"
    made = jeton.extend(tok, [text * 9, "<|newly end|>" * 9], 30, protect=[text], progress=False).tokenizer
    for special in ("none", "all"):
        assert made.encode(text, special=special) == tok.encode(text, special=special)
    with pytest.raises(ConfigError, match="read twice"):
        jeton.extend(tok, [text], 3, protect=iter([text]), progress=False)


def test_a_checkpoint_resumes(tok: Tokenizer, tmp_path: Path) -> None:
    limits = jeton.Limits(checkpoint=tmp_path / "kept")
    first = jeton.extend(tok, [CHINESE], 5, limits=limits, progress=False)
    more = jeton.extend(tok, [CHINESE], 9, limits=limits, progress=False)
    assert more.tokenizer == jeton.extend(tok, [CHINESE], 9, progress=False).tokenizer
    assert more.tokenizer.merges[: len(first.tokenizer.merges)] == first.tokenizer.merges


@pytest.mark.parametrize("name", ["r50k_base.tiktoken", "llama3.tiktoken", "phi-3-mini.tokenizer.json"])
def test_extending_published_vocabularies_keeps_protected_text(data: Path, name: str) -> None:
    tok = jeton.load(data / "vocabs" / name)
    amharic, english = ((data / "udhr" / f"{code}.txt").read_text() for code in ("amh", "eng"))
    half = len(amharic) // 2
    done = jeton.extend(tok, [amharic[:half]], 100, protect=[english], progress=False)
    made = done.tokenizer
    assert done.report["unreachable"] == []
    assert made.encode(english) == tok.encode(english)
    if "phi" not in name:  # in this vocabulary its characters are byte tokens, which do not merge
        assert len(made.encode(amharic[half:])) < 0.9 * len(tok.encode(amharic[half:]))
    again = Tokenizer.from_bytes(made.to_bytes())
    assert again.encode(amharic) == made.encode(amharic)


def test_merging_keeps_the_encodings_of_both() -> None:
    """As in the lesson: two vocabularies of 256 bytes and 26 merges."""
    english = jeton.train([ENGLISH], 282, pattern="gpt2", progress=False)
    chinese = jeton.train([CHINESE], 282, pattern="gpt2", progress=False)
    done = jeton.merge_vocab(english, chinese, corpus_a=[ENGLISH], corpus_b=[CHINESE])
    assert len(done.tokenizer) == 308
    assert done.report["agreement_a"] == done.report["agreement_b"] == 1
    assert done.tokenizer.encode(ENGLISH) == english.encode(ENGLISH)
    assert done.tokenizer.tokenize(CHINESE).tokens == chinese.tokenize(CHINESE).tokens
    assert done.report["left_out"] == {}
    assert done.report["split"] == []


def test_entries_that_merges_cross_are_listed() -> None:
    a = Tokenizer.from_merges({0: b"a", 1: b"b", 2: b"c", 3: b"d", 4: b"bc"}, [(1, 2, 4)])
    b = Tokenizer.from_merges(
        {0: b"a", 1: b"b", 2: b"c", 3: b"d", 4: b"ab", 5: b"cd", 6: b"abcd"}, [(0, 1, 4), (2, 3, 5), (4, 5, 6)]
    )
    done = jeton.merge_vocab(a, b)
    assert done.report["left_out"] == {"merges of the first tokenizer cross its parts": [6]}
    assert done.tokenizer.tokenize("abcdab").tokens == [b"a", b"bc", b"d", b"ab"]


def test_merging_appends_added_tokens_of_the_second(tok: Tokenizer) -> None:
    other = jeton.train([CHINESE], 270, pattern="gpt2", special_tokens=["<|end|>", "<|other|>"], progress=False)
    done = jeton.merge_vocab(tok, other)
    made = done.tokenizer
    source, pieces = done.plan.of(made.vocab_size - 1)
    assert (source, {*pieces}) == ("mean", {*tok.encode("<|other|>", special="none")})
    assert made.special_tokens["<|end|>"] == tok.special_tokens["<|end|>"]
    assert made.special_tokens["<|other|>"] == made.vocab_size - 1


def test_merging_sentencepiece_models_keeps_the_first_encoding(data: Path) -> None:
    mistral = jeton.load(data / "vocabs" / "mistral-v1.model")
    japanese = jeton.train(
        (data / "udhr" / "jpn.txt").read_text().splitlines(), 900, preset="sentencepiece", progress=False
    )
    done = jeton.merge_vocab(mistral, japanese)
    made = done.tokenizer
    reached = len(made) - len(mistral)
    listed = sum(map(len, done.report["left_out"].values()))
    ordinary = len(japanese._core.ids_of(1))
    assert done.report["unreachable"] == []
    scores = np.array(made._core.scores(), np.float32)[mistral.vocab_size :]  # Mistral's lowest score is -1e9
    assert (np.diff(scores) < 0).all()
    assert done.report["shared"] + done.report["appended"] + listed == ordinary
    assert reached == done.report["appended"] + done.report["added_tokens"]
    text = "すべての人間は、生まれながらにして自由であり"
    assert len(made.encode(text)) < len(mistral.encode(text))
    assert made.decode(made.encode(text)) == text
    again = Tokenizer.from_bytes(made.to_bytes())
    assert again.encode(text) == made.encode(text)


@pytest.mark.parametrize("verb", ["add_words", "extend", "merge_vocab"])
def test_models_without_support_for_new_merges_are_refused(verb: str, tok: Tokenizer) -> None:
    unigram = jeton.train([ENGLISH], 40, preset="unigram", progress=False)
    words = jeton.train({"low": 5, "newest": 6}, 30, end_of_word="</w>", progress=False)
    arguments = {"add_words": (["x"],), "extend": ([ENGLISH], 3), "merge_vocab": (tok,)}[verb]
    refused = ((words, "end_of_word"),) if verb == "add_words" else ((unigram, "Unigram"), (words, "end_of_word"))
    for other, named in refused:
        with pytest.raises(UnsupportedFeatureError, match=named):
            getattr(jeton, verb)(other, *arguments)


@pytest.mark.parametrize("verb", ["add_words", "extend", "merge_vocab"])
def test_a_name_in_place_of_a_tokenizer(verb: str, tok: Tokenizer) -> None:
    arguments = {"add_words": (["x"],), "extend": ([ENGLISH], 3), "merge_vocab": (tok,)}[verb]
    with pytest.raises(ConfigError, match="is not a Tokenizer"):
        getattr(jeton, verb)("gpt2", *arguments)


def test_a_piece_that_is_an_added_token_of_whole_words() -> None:
    file = {
        "added_tokens": [{"id": 0, "content": "<pad>", "special": True, "single_word": True}],
        "model": {"type": "Unigram", "unk_id": 1, "vocab": [["<pad>", 0.0], ["<unk>", 0.0], ["a", -3.0], ["p", -3.0]]},
    }
    tok = Tokenizer.from_bytes(json.dumps(file).encode())
    assert jeton.add_words(tok, ["pa"]).tokenizer.encode("papa") == [4, 4]
    after = tok.add_tokens([jeton.AddedToken("<x>", single_word=True)])
    with pytest.raises(UnsupportedFeatureError, match="single_word after the pieces"):
        jeton.add_words(after, ["pa"])


def test_models_of_two_kinds_are_not_merged(tok: Tokenizer) -> None:
    characters = jeton.train([ENGLISH], 60, level="char", progress=False)
    with pytest.raises(UnsupportedFeatureError, match=r"BPE \(byte level\) and BPE \(char level\)"):
        jeton.merge_vocab(tok, characters)


def test_wrong_corpora_are_refused(tok: Tokenizer) -> None:
    with pytest.raises(jeton.TrainingError, match="no text"):
        jeton.extend(tok, [""], 3, progress=False)
    with pytest.raises(ConfigError, match="pattern 'o200k'"):
        jeton.extend(tok, jeton.count_pretokens([ENGLISH], progress=False), 3)
    stopped = jeton.extend(tok, ["ab"], 30, progress=False)
    assert stopped.report["stopped"].startswith("no pair is left")


TOKENS = {0: b"a", 1: b"b", 2: b"c", 3: b" ", 4: b"ab"}
AB = Tokenizer.from_merges(TOKENS, [(0, 1, 4)])


@pytest.mark.parametrize("batch_bytes", [1, 16 << 20])
def test_effect_of_new_merges(monkeypatch: pytest.MonkeyPatch, batch_bytes: int) -> None:
    monkeypatch.setattr("jeton.vocabulary.changes.BATCH_BYTES", batch_bytes)
    made = jeton.add_words(AB, ["abc"]).tokenizer
    corpus = ["abcab", "", "ca"]  # ab c ab, c a -> abc ab, c a
    assert effect(AB, made, corpus, 5) == {
        "documents": 3,
        "bytes": 7,
        "tokens_before": 5,
        "tokens_after": 4,
        "bytes_per_token_before": 7 / 5,
        "bytes_per_token_after": 7 / 4,
        "changed_tokens": 2 / 5,
    }
    assert effect(AB, made, corpus, 5, in_place=False)["changed_tokens"] == 2 / 5
    assert effect(AB, AB, corpus, 5, in_place=False)["changed_tokens"] == 0
    nothing: dict[str, Any] = effect(AB, made, [], 5)
    assert nothing == dict.fromkeys(nothing, 0)
    assert agreement(AB, made, np.arange(5), corpus) == 3 / 5
    assert counts_of_ids(AB, corpus).tolist() == [1, 0, 2, 0, 2]


def test_agreement_is_by_position() -> None:
    other = jeton.renumber(AB, {0: 1, 1: 0}).tokenizer
    assert agreement(AB, other, np.array([1, 0, 2, 3, 4]), ["ab ac"]) == 1
    assert agreement(AB, other, np.array([0, 1, 2, 3, 4]), ["ab ac"]) == 3 / 4
    assert agreement(AB, other, np.array([-1, 0, -1, 3, 4]), ["ab ac"]) == 2 / 4
    assert agreement(other, AB, np.array([1, 0, 2, 3, 4]), ["baab"]) == 1  # the token 0 counts as any
    assert agreement(AB, AB, np.arange(5), [""]) == 1


@pytest.mark.parametrize(
    ("theirs", "ours", "number"),
    [
        ([], [], 0),
        ([[1, 0, 1]], [], 0),
        ([[1, 0, 1]], [[1, 0, 1]], 1),
        ([[1, 0, 1]], [[2, 0, 1]], 0),
        ([[1, 0, 1]], [[1, 0, 2]], 0),
        ([[1, 0, 2]], [[1, 1, 2]], 0),
        ([[1, 0, 1], [1, 1, 2], [2, 2, 3]], [[1, 1, 2], [2, 0, 1], [2, 2, 3]], 2),
    ],
)
def test_number_of_rows_that_two_encodings_share(theirs: list[Any], ours: list[Any], number: int) -> None:
    rows = (np.array(each, np.int64).reshape(-1, 3) for each in (theirs, ours))
    assert _num_same(*rows) == number


def test_words_change_no_tokens_of_other_documents() -> None:
    """Documents are compared one by one: nothing is put between them, and a token without bytes is not changed."""
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    vocab = [["<unk>", 0.0], ["a", -1.0], ["b", -1.0], ["▁", -2.0]]
    file = {"model": {"type": "Unigram", "vocab": vocab, "unk_id": 0}, "pre_tokenizer": metaspace}
    tok = Tokenizer.from_bytes(json.dumps(file).encode())
    assert jeton.add_words(tok, ["bb"], corpus=["ab"] * 3).report["changed_tokens"] == 0
    assert jeton.add_words(tok, ["bb"], corpus=["ab", "bb"]).report["changed_tokens"] == 2 / 6


def test_counts_of_a_mapping_are_trusted() -> None:
    check_counts(AB, jeton.training.Counts.from_mapping({"ab": 2}))
    assert counts_of_ids(AB, jeton.training.Counts.from_mapping({"ab": 2, "ba": 1})).tolist() == [1, 1, 0, 0, 2]


def test_corpora_are_checked_by_type() -> None:
    for value in (None, ["a"], jeton.training.Counts.from_mapping({"ab": 2})):
        assert checked_corpus(value, "corpus") is value
    with pytest.raises(ConfigError, match="protect is of type int"):
        checked_corpus(3, "protect")


@pytest.mark.parametrize(
    ("model", "pieces", "refused"),
    [
        (Bpe(), False, None),
        (Bpe(), True, None),
        (Bpe(level="char", end_of_word="</w>"), True, "end_of_word"),
        (Bpe(level="char", continuing_subword_prefix="##"), True, "continuing_subword_prefix"),
        (Bpe(level="char", end_of_word="</w>", continuing_subword_prefix="##"), False, "end_of_word"),
    ],
)
def test_models_that_get_new_merges(model: Any, pieces: bool, refused: str | None) -> None:
    class Fake:
        definition = Definition(model)

    if refused is None:
        check_merges(Fake(), "extend", pieces=pieces)  # type: ignore[arg-type]
        return
    with pytest.raises(UnsupportedFeatureError, match=f"^extend does not support {refused}$"):
        check_merges(Fake(), "extend", pieces=pieces)  # type: ignore[arg-type]


def test_sentencepiece_gets_merges_only_by_words() -> None:
    pieces = jeton.train(ENGLISH.split(), 60, preset="sentencepiece", progress=False)
    check_merges(pieces, "add_words", pieces=True)
    with pytest.raises(UnsupportedFeatureError, match=r"extend does not support SentencePiece's BPE \(Pieces\)"):
        check_merges(pieces, "extend", pieces=False)
    wordpiece = jeton.train(ENGLISH.split(), 60, preset="bert", progress=False)
    with pytest.raises(UnsupportedFeatureError, match="add_words does not support a WordPiece model"):
        check_merges(wordpiece, "add_words", pieces=True)


def test_report_of_added_words() -> None:
    done = jeton.add_words(AB, ["abc", "abc", "ab", "cbab"])
    assert dict(done.report) == {
        "verb": "add_words",
        "before": 5,
        "after": 8,
        "words": 3,
        "new_entries": 3,
        "new_merges": 3,
        "unreachable": [],
        "existing": 1,
    }
    assert "existing" not in jeton.add_words(AB, ["abc"]).report
    assert [done.tokenizer.vocab[id] for id in (5, 6, 7)] == [b"abc", b"cb", b"cbab"]
    assert [done.plan.of(id)[1] for id in (5, 6)] == [{2: 0.5, 4: 0.5}, {1: 0.5, 2: 0.5}]
    with pytest.raises(ConfigError, match="'xa' has a character that is not in the vocabulary"):
        jeton.add_words(AB, ["ab", "xa"])


def test_report_of_an_extension() -> None:
    done = jeton.extend(AB, ["abcabc", "cc"], 1, other=["abc"], protect=["cc"], progress=False)
    assert dict(done.report) == {
        "verb": "extend",
        "before": 5,
        "after": 6,
        "new_entries": 1,
        "stopped": None,
        "unreachable": [],
        "bytes_per_token_before": 8 / 6,
        "bytes_per_token_after": 8 / 4,
        "protected_pretokens": 1,
        "other": effect(AB, done.tokenizer, ["abc"], 5),
    }
    assert done.tokenizer.vocab[5] == b"abc"
    few = jeton.extend(AB, ["abcabc", "cc"], 9, min_frequency=2, progress=False)
    assert few.report["stopped"] == "no pair occurs 2 times after 1 of 9 merges"
    assert few.report["new_entries"] == 1
    none = jeton.extend(AB, ["abcabc", "ca"], 9, min_frequency=0, progress=False)
    assert none.report["stopped"].startswith("no pair is left")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n=0"),
        ({"n": True}, "n=True"),
        ({"min_frequency": -1}, "min_frequency=-1"),
        ({"min_frequency": 1 << 64}, "min_frequency="),
        ({"tie_break": "longest"}, "tie_break='longest'"),
        ({"protect": 3}, "protect is of type int"),
        ({"other": 3}, "other is of type int"),
        ({"corpus": None}, "corpus is None"),
    ],
)
def test_invalid_options_of_an_extension(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        jeton.extend(AB, **{"corpus": ["ab"], "n": 1, "progress": False, **options})


def test_ties_are_broken_as_in_training() -> None:
    """All pairs of the corpus occur once: `zy` is the first, `ab` has the lowest ids."""
    found = {}
    for tie_break in ("first", "lowest_ids", "highest_pair"):
        tok = jeton.train(["qq"], 257, tie_break=tie_break, pattern="gpt2", progress=False)
        again = jeton.extend(tok, ["zyab"], 1, progress=False).tokenizer
        assert again == jeton.extend(tok, ["zyab"], 1, tie_break=tie_break, progress=False).tokenizer
        found[tie_break] = again.vocab[257]
    assert found == {"first": b"zy", "lowest_ids": b"ab", "highest_pair": b"zy"}
    untrained = Tokenizer.from_merges({id: bytes([id]) for id in range(256)}, [])
    assert jeton.extend(untrained, ["zyab"], 1, progress=False).tokenizer.vocab[256] == b"ab"


def test_protected_counts_are_taken_as_they_are(tok: Tokenizer, tmp_path: Path) -> None:
    """Counts with special tokens in their text cannot be read a second time."""
    counts = jeton.count_pretokens(["low<|end|>newly"], pattern="gpt2", special_tokens=["<|end|>"], progress=False)
    saved = tmp_path / "low.jtc"
    counts.save(saved)
    made = jeton.extend(tok, ["newly " * 9], 5, protect=counts, progress=False).tokenizer
    assert made.encode("newly") == tok.encode("newly")
    assert jeton.extend(tok, ["newly " * 9], 5, protect=saved, progress=False).tokenizer == made


def test_report_of_a_merged_vocabulary() -> None:
    a = Tokenizer.from_merges(TOKENS, [(0, 1, 4)], special_tokens={"<s>": 6})
    b = Tokenizer.from_merges(
        {0: b"c", 1: b"b", 2: b"a", 3: b"d", 4: b"bc", 5: b"ab", 6: b"abc", 7: b"ca"},
        [(1, 0, 4), (2, 1, 5), (5, 0, 6), (0, 2, 7)],
        special_tokens={"<s>": 8, "<x>": 9, "d ": 10},
    )
    done = jeton.merge_vocab(a, b, corpus_a=["ab c"], corpus_b=["cabc"])
    made = done.tokenizer
    assert [made.vocab[id] for id in range(7, len(made) + 1)] == [b"d", b"bc", b"abc", b"ca", b"<x>", b"d "]
    agreements = {name: done.report[name] for name in ("agreement_a", "agreement_b")}
    assert {name: value for name, value in done.report.items() if name not in agreements} == {
        "verb": "merge_vocab",
        "before": 6,
        "after": 12,
        "shared": 4,
        "appended": 4,
        "new_merges": 3,
        "added_tokens": 2,
        "left_out": {},
        "unreachable": [],
        "split": [],
    }
    assert done.report["agreement_a"] == agreement(a, made, np.arange(7), ["ab c"]) == 1
    assert done.report["agreement_b"] == 0  # c abc, not ca bc
    alone = jeton.merge_vocab(a, b)
    assert not {"agreement_a", "agreement_b"} & {*alone.report}
    assert alone.tokenizer == made


@pytest.mark.parametrize("level", ["byte", "char"])
def test_symbols_that_the_first_cannot_encode_get_noise(level: Any) -> None:
    """Without an unknown token, they cannot be spelled by old tokens; other entries without merges can."""
    model = Bpe(level=level)
    a = Tokenizer(Definition(model), Vocabulary([0, 1], [1, 1], [b"a", b"b"], []))
    b = Tokenizer(Definition(model), Vocabulary([0, 1], [1, 1], [b"a", b"c"], [])).add_tokens(["ab", "ac"])
    done = jeton.merge_vocab(a, b)
    done.plan.verify()
    assert [done.tokenizer.id_to_bytes(id) for id in (2, 3, 4)] == [b"c", b"ab", b"ac"]
    assert [done.plan.of(id) for id in (2, 3, 4)] == [("noise", 0), ("mean", {0: 0.5, 1: 0.5}), ("noise", 0)]


def test_order_of_merging() -> None:
    """Initial symbols by id, then entries by their first merge, then those without."""
    tok = Tokenizer.from_merges(
        {0: b"xyz", 1: b"ba", 2: b"a", 3: b"ab", 4: b"b", 5: b"aba", 7: b"bab"},
        [(2, 4, 3), (3, 2, 5), (4, 2, 1), (2, 1, 5)],
        special_tokens={"<s>": 6},
    )
    assert _order(tok).tolist() == [2, 4, 3, 5, 1, 0, 7]


@pytest.mark.parametrize(
    ("fate", "expected"),
    [
        ([0, 1], {}),
        ([2, 0], {REASONS[2]: [7]}),
        ([3, 3], {REASONS[3]: [7, 5]}),
        ([4, 6], {REASONS[4]: [7], REASONS[6]: [5]}),
    ],
)
def test_entries_left_out_by_reason(fate: list[int], expected: dict[str, list[int]]) -> None:
    assert _left_out(np.array([7, 5]), np.array(fate)) == expected


def test_entries_that_the_first_pretokenizer_splits() -> None:
    plain = {id: bytes([id]) for id in range(256)}
    a = jeton.train(["12 ab"], 257, pattern="gpt2", progress=False)
    b = Tokenizer.from_merges(
        {**plain, 256: b"a1", 257: b"1a", 258: b"zz"}, [(97, 49, 256), (49, 97, 257), (122, 122, 258)]
    )
    done = jeton.merge_vocab(a, b)
    made = done.tokenizer
    assert [made.vocab[id] for id in done.report["split"]] == [b"a1", b"1a"]


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (Bpe(), Bpe(level="char"), r"BPE \(byte level\) and BPE \(char level\)"),
        (
            Bpe(level="char", byte_fallback=True),
            Bpe(level="char"),
            r"BPE \(char level\) with byte_fallback=True and BPE \(char level\) with byte_fallback=False",
        ),
        (Bpe(), Pieces("<unk>"), r"BPE \(byte level\) and Pieces"),
        (Bpe(), Bpe(ranks="tokens"), None),
        (Pieces("<unk>"), Pieces("<unk>"), None),
    ],
)
def test_kinds_of_models_that_merge(one: Any, other: Any, message: str | None) -> None:
    class Fake:
        def __init__(self, model: Any) -> None:
            self.definition = Definition(model)

    if message is None:
        _check_kinds(Fake(one), Fake(other))  # type: ignore[arg-type]
        return
    with pytest.raises(UnsupportedFeatureError, match=message):
        _check_kinds(Fake(one), Fake(other))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1234567.891, "1.235e+06"),
        (0.123456, "0.1235"),
        (1234567, "1,234,567"),
        (True, "True"),
        (None, "None"),
        ("text", "text"),
        ({}, "none"),
        ({"a": 1000, "b": {"c": 0.5}}, "a 1,000, b c 0.5"),
        ([], "[]"),
        ((1, 2), "[1, 2]"),
        ([1] * 8, "[1, 1, 1, 1, 1, 1, 1, 1]"),
        (list(range(2009)), "2,009: [0, 1, 2, 3, 4, 5, 6, 7, …]"),
    ],
)
def test_facts_as_text(value: Any, expected: str) -> None:
    assert _shown(value) == expected


def test_a_surgery_shows_its_report() -> None:
    done = jeton.Surgery(AB, jeton.add_words(AB, ["abc"]).plan, {"verb": "v", "before": 1000, "after": 5, "a_b": [1]})
    lines = ["v: 1,000 → 5 entries", "  a_b   [1]", "  plan  5 copied, 1 by mean of pieces"]
    assert repr(done).split("\n") == lines
    assert done.to_json() == {
        "report": {"verb": "v", "before": 1000, "after": 5, "a_b": [1]},
        "plan": done.plan.to_json(),
        "fingerprint": AB.fingerprint,
    }
    with pytest.raises(TypeError):
        done.report["x"] = 1  # type: ignore[index]


@pytest.mark.parametrize(("pad_id", "expected"), [(0, 5), (2, 0), (3, 3), (-1, -1), ("0", "0"), (None, None)])
def test_a_definition_with_other_ids(pad_id: Any, expected: Any) -> None:
    new_ids = np.array([5, 4, -1])
    definition = Definition(template=template_of([1, "A"], [0, "A", ("B", 1), 1]), padding={"pad_id": pad_id, "x": 1})
    made = renumbered_definition(definition, new_ids)
    assert made.padding == {"pad_id": expected, "x": 1}
    assert made.template is not None
    assert made.template["single"] == template_of([4, "A"])["single"]
    assert made.template["pair"] == template_of(["A"], [5, "A", ("B", 1), 4])["pair"]
    assert renumbered_definition(Definition(), new_ids) == Definition()


def test_pieces_of_new_entries_are_without_special_tokens() -> None:
    template = template_of([6, "A"])
    a = Tokenizer.from_merges(TOKENS, [(0, 1, 4)], special_tokens={"<s>": 6})
    a = a._derived(definition=replace(a.definition, template=template), vocabulary=a._core.vocabulary())
    assert a.encode("abc", add_special_tokens=True) == [6, 4, 2]
    b = Tokenizer.from_merges(TOKENS, []).add_tokens(["abc"])
    assert jeton.merge_vocab(a, b).plan.of(7) == ("mean", {2: 0.5, 4: 0.5})


def test_the_id_0_can_be_split() -> None:
    entries = {0: b"a1", **{byte + 1: bytes([byte]) for byte in range(256)}}
    merges = [(ord("a") + 1, ord("1") + 1, 0)]
    a = Tokenizer.from_merges(entries, merges, pattern="gpt2")
    b = Tokenizer.from_merges(entries, merges)
    assert jeton.merge_vocab(a, b).report["split"] == [0]
    assert jeton.merge_vocab(b, b).report["split"] == []


def test_saved_counts_are_uses(tmp_path: Path) -> None:
    counts = jeton.count_pretokens(["ab ab c"], pattern="none", progress=False)
    counts.save(tmp_path / "x.jtc")
    assert counts_of_ids(AB, tmp_path / "x.jtc").tolist() == counts_of_ids(AB, counts).tolist() == [0, 0, 1, 2, 2]
