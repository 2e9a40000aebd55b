"""Words as entries of Unigram and WordPiece models: scores, published vocabularies, peers, refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.analysis.generated_texts import generate_texts
from jeton.errors import ConfigError, UnsupportedFeatureError
from jeton.tokenizer import Tokenizer
from jeton.vocabulary.scores import counted_scores
from jeton.vocabulary.whole_words import _best, _edges_of, _single

from ..selection import amount

TEXTS = amount(3000, default=60)
WORDS = ["tokenizer", "tokenizers", "Unbelievably", "zyxxq", "naïvely", "ab", "abab", "the", "Привет", "今天的天气"]
PUBLISHED = {
    "t5-small.tokenizer.json": WORDS,
    "mbart-en-fairseq.tokenizer.json": WORDS,
    "bert-uncased.vocab.txt": WORDS[:-1],
    "spm-unigram-en.model": [*WORDS, "new york"],
    "spm-ja.model": WORDS,
    "mbart-en-fairseq.sentencepiece.bpe.model": WORDS,
}


def unigram(vocab: list[tuple[str, float]], **more: Any) -> Tokenizer:
    facts = {"model": {"type": "Unigram", "vocab": [["<unk>", 0.0], *vocab], "unk_id": 0}, **more}
    return Tokenizer.from_bytes(json.dumps(facts).encode())


def spells(tok: Tokenizer, text: str, contents: list[bytes]) -> bool:
    return any(content in pretoken[1] for pretoken in tok._core.explain(text, most=1 << 30)[0] for content in contents)


@pytest.mark.parametrize("name", PUBLISHED)
def test_words_added_to_published_vocabularies_are_one_token(data: Path, tmp_path: Path, name: str) -> None:
    """Words are one token, also after a long text; other text keeps its ids; ids equal those of the model's library."""
    tok = jeton.load(data / "vocabs" / name)
    if tok.definition.model.type not in ("Unigram", "WordPiece"):
        pytest.skip("another model")
    words = PUBLISHED[name]
    done = jeton.add_words(tok, words, corpus=[" ".join(words)])
    done.plan.verify()
    made = done.tokenizer
    contents = [tok._core.explain(word, None, most=1)[0][0][1] for word in words]
    ids = [made._core.find(content, False) for content in contents]
    assert made.encode(" ".join(words)) == ids
    assert done.report["tokens_after"] == len(words)
    texts = list(generate_texts(tok, TEXTS))
    random = Random(1)
    for text in texts:
        if not spells(tok, text, contents):
            assert made.encode(text) == tok.encode(text), text
    texts += ["".join(random.choice([" ", "", word]) + word for word in random.choices(words, k=9)) for _ in texts[:99]]
    long = "the old tale of a town " * 5000
    assert made.encode(long + words[0])[-1] == ids[0]
    check_peer(made, tmp_path, name, [*texts, long + words[0]])


def check_peer(tok: Tokenizer, folder: Path, name: str, texts: list[str]) -> None:
    if name.endswith(".model"):
        processor = pytest.importorskip("sentencepiece").SentencePieceProcessor
        tok.save(folder / "m.model")
        theirs = processor(str(folder / "m.model"))
        assert [theirs.encode(text) for text in texts] == [tok.encode(text) for text in texts]
        return
    hf, transformers = pytest.importorskip("tokenizers"), pytest.importorskip("transformers")
    expected = [tok.encode(text, special="all", add_special_tokens=True) for text in texts]
    own = hf.Tokenizer.from_str(tok.to_bytes().decode())
    assert [own.encode(text).ids for text in texts] == expected
    tok.save(folder / "saved")
    fast = transformers.AutoTokenizer.from_pretrained(str(folder / "saved"))
    assert fast(texts).input_ids == expected


def test_a_word_gets_the_lowest_score_that_wins() -> None:
    """A score just above the sum of the pieces, but not below the lowest one, which sets the penalty of unknowns."""
    tok = unigram([("a", -1.0), ("b", -1.5), ("ab", -2.25), ("c", -9.0), ("bc", -9.5)])
    made = jeton.add_words(tok, ["aab", "abab", "ccc"]).tokenizer
    scores = {made._core.content(id): score for id, score in enumerate(made._core.scores())}
    least = -1 - 2.25
    assert least < scores[b"aab"] < least + 1e-5
    assert -4.5 < scores[b"abab"] < -4.5 + 1e-5
    assert scores[b"ccc"] == -9.5
    assert made.tokenize("caab").tokens == [b" c", b" aab"]
    assert np.float32(scores[b"aab"]) == scores[b"aab"]
    for score in np.nextafter(np.float32(scores[b"aab"]), np.float32(-99)), -4.0:  # below it, the pieces win
        worse = made._core.scores()
        worse[made.token_to_id("aab")] = float(score) - 1e-5
        assert len(made._derived(vocabulary=made._core.vocabulary().with_scores(worse)).encode("aab")) == 2


def test_words_that_contain_words_are_added_in_any_order() -> None:
    tok = unigram([("a", -1.0), ("b", -1.0), ("x", -50.0)])
    for words in (["ab", "abab", "ababab"], ["ababab", "abab", "ab"]):
        made = jeton.add_words(tok, words).tokenizer
        assert [len(made.encode(word)) for word in words] == [1, 1, 1]
        scores = sorted(made._core.scores()[4:])
        assert all(a < b for a, b in pairwise(scores))


def test_an_existing_entry_gets_a_higher_score() -> None:
    tok = unigram([("a", -1.0), ("b", -1.0), ("ab", -5.0), ("x", -50.0)])
    assert tok.encode("ab") == [1, 2]
    done = jeton.add_words(tok, ["ab", "x"])
    assert done.tokenizer.encode("abx") == [3, 4]
    assert (done.report["new_entries"], done.report["existing"]) == (0, 2)
    assert done.tokenizer._core.scores()[4] == -50.0
    with pytest.raises(ConfigError, match="'ab' has the lowest score"):
        jeton.add_words(unigram([("a", -1.0), ("b", -1.0), ("ab", -5.0)]), ["ab"])


def test_a_report_counts_existing_entries_only_if_there_are_any() -> None:
    tok = unigram([("a", -1.0), ("b", -1.0)])
    assert "existing" not in jeton.add_words(tok, ["ab"]).report


def test_wordpiece_normalizes_a_word() -> None:
    tok = jeton.train(["low lower lowest slow newer"], 60, preset="bert", progress=False)
    done = jeton.add_words(tok, ["Slower", " slower", "slower"], corpus=["slower slow slowers"])
    assert done.report["new_entries"] == 1
    assert done.tokenizer.tokenize("SLOWER").tokens == [b" slower"]
    assert done.tokenizer.encode("slow newer") == tok.encode("slow newer")
    old, new = tok.tokenize("slower slow slowers"), done.tokenizer.tokenize("slower slow slowers")
    same = {(token.id, token.byte_span) for token in old} & {(token.id, token.byte_span) for token in new}
    assert done.report["changed_tokens"] == pytest.approx(1 - len(same) / len(old))
    assert done.plan.of(tok.vocab_size)[0] == "mean"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["two words"], "is not one token: the tokenizer normalizes or splits"),
        ([" "], "is not one token"),
        ([""], "a word is empty"),
        (["\ud800"], "lone surrogate"),
        (["l" * 101], "more than 100 characters"),
    ],
)
def test_words_that_cannot_be_added(words: list[str], message: str) -> None:
    tok = jeton.train(["low lower lowest slow newer"], 60, preset="bert", progress=False)
    with pytest.raises(ConfigError, match=message):
        jeton.add_words(tok, words)


def test_words_that_collide_with_added_tokens_are_refused() -> None:
    facts = {"id": 3, "content": "ab", "special": False, "single_word": True, "lstrip": False, "rstrip": False}
    tok = unigram([("a", -1.0), ("b", -1.0)], added_tokens=[{**facts, "normalized": False}])
    with pytest.raises(ConfigError, match="'ab' is an added token"):
        jeton.add_words(tok, ["ab"])
    with pytest.raises(UnsupportedFeatureError, match="added token 'ab' with single_word"):
        jeton.add_words(tok, ["aba"])


@pytest.mark.parametrize(
    ("edges", "size", "expected"),
    [
        ([], 1, -np.inf),
        ([(0, 2, -1.0)], 2, -np.inf),  # the word itself
        ([(0, 1, -1.0), (1, 2, -2.0)], 2, -3.0),
        ([(1, 2, -2.0), (0, 1, -1.0)], 2, -3.0),
        ([(0, 1, -1.0), (1, 3, -5.0), (1, 2, -1.0), (2, 3, -1.0), (0, 2, -4.0)], 3, -3.0),
        ([(0, 1, -1.0), (1, 3, -1.5), (1, 2, -1.0), (2, 3, -1.0), (0, 3, 0.0)], 3, -2.5),
        ([(0, 1, -1.0), (2, 3, -1.0)], 3, -np.inf),
    ],
)
def test_highest_sum_of_two_or_more_pieces(edges: list[Any], size: int, expected: float) -> None:
    assert _best(edges, size) == expected


def test_words_inside_of_another_word() -> None:
    made = {b"ab": -1.0, b"b": -2.0, b"abab": -3.0, b"xyzab": -4.0}
    found = [(0, 2, -1.0), (2, 4, -1.0), (1, 2, -2.0), (3, 4, -2.0), (0, 4, -3.0)]
    assert sorted(_edges_of(made, {1, 2, 4, 5}, b"abab")) == sorted(found)
    assert list(_edges_of(made, {2}, b"b")) == []


def test_scores_of_single_precision_are_not_below() -> None:
    for score in (-1.0, 0.0, -0.1, 0.1, -3.3333333, -1e-9, -np.inf):
        single = _single(score)
        assert np.float32(single) == single >= score
        assert single == -np.inf or float(np.nextafter(np.float32(single), np.float32(-np.inf))) < score


@pytest.mark.parametrize("single", [False, True])
def test_a_new_score_wins_by_rounding_errors(single: bool) -> None:
    tok = unigram([("a", -1.0), ("b", -2.0), ("é", -4.0), ("x", -100.0)])
    model = replace(tok.definition.model, single_precision=single)
    tok = tok._derived(definition=replace(tok.definition, model=model), vocabulary=tok._core.vocabulary())
    made = jeton.add_words(tok, ["éa", "abab"]).tokenizer
    error = 2.0**-8 if single else 2.0**-22
    scores = made._core.scores()
    assert scores[5] == _single(-5 + 3 * error)  # of two characters
    assert scores[6] == _single(-6 + 5 * error)


def test_report_of_added_whole_words() -> None:
    tok = unigram([("a", -1.0), ("b", -2.0), ("ab", -9.0), ("x", -100.0)])
    done = jeton.add_words(tok, ["ab", "aab", "bx", "ay", "x"])
    assert dict(done.report) == {
        "verb": "add_words",
        "before": 5,
        "after": 8,
        "words": 5,
        "new_entries": 3,
        "existing": 2,
    }
    ids = [done.tokenizer.token_to_id(word) for word in ("ab", "aab", "bx", "ay")]
    assert ids == [3, 5, 6, 7]
    third = pytest.approx(1 / 3)
    assert [done.plan.of(id) for id in ids] == [
        ("copy", 3),
        ("mean", {1: pytest.approx(2 / 3), 2: third}),
        ("mean", {2: 0.5, 4: 0.5}),
        ("mean", {1: 1.0}),  # without the unknown token
    ]


@pytest.mark.parametrize(("size", "refused"), [(100, False), (101, True)])
def test_the_longest_word_of_wordpiece(size: int, refused: bool) -> None:
    tok = jeton.train(["low lower lowest slow newer"], 60, preset="bert", progress=False)
    if not refused:
        word = "l" + "o" * (size - 1)
        assert len(jeton.add_words(tok, [word]).tokenizer.encode(word)) == 1
        return
    with pytest.raises(ConfigError, match="more than 100 characters"):
        jeton.add_words(tok, ["l" + "o" * (size - 1)])


def test_scores_that_count_for_the_lowest() -> None:
    """Hugging Face counts all pieces of the list, SentencePiece only ordinary ones; neither counts added tokens."""
    tok = unigram([("a", -1.0), ("b", -5.0)]).add_tokens(["<x>"])
    assert counted_scores(tok).tolist() == [0.0, -1.0, -5.0, np.inf]
    trained = jeton.train(["low lower lowest"], 14, preset="unigram", progress=False)
    other = [trained.token_to_id(token) for token in ("<unk>", "<s>", "</s>")]
    scores = counted_scores(trained)
    assert np.flatnonzero(scores == np.inf).tolist() == sorted(other)
    assert np.delete(scores, other).max() < 0


def test_the_word_with_the_lowest_score_is_named() -> None:
    tok = unigram([("a", -1.0), ("b", -1.0), ("ba", -4.0), ("ab", -5.0)])
    for words in (["ba", "ab"], ["ab", "ba"]):
        with pytest.raises(ConfigError, match="'ab' has the lowest score"):
            jeton.add_words(tok, words)


def test_an_entry_that_new_words_would_split_gets_a_higher_score() -> None:
    tok = unigram([("a", -1.0), ("b", -1.0), ("abab", -3.9999995), ("x", -50.0)])
    assert tok.encode("abab") == [3]
    alone = jeton.add_words(tok, ["abab"]).tokenizer
    assert alone._core.scores() == tok._core.scores()
    made = jeton.add_words(tok, ["ab", "abab"]).tokenizer
    assert (made.encode("ab"), made.encode("abab")) == ([5], [3])
    assert made._core.scores()[3] > -3.9999995


def test_words_are_added_whatever_the_template_adds() -> None:
    processor = {"type": "BertProcessing", "sep": ["</s>", 3], "cls": ["</s>", 3]}
    added = [{"id": 3, "content": "</s>", "special": True}]
    tok = unigram([("a", -1.0), ("b", -1.0)], post_processor=processor, added_tokens=added)
    assert tok.encode("ab", add_special_tokens=True) == [3, 1, 2, 3]
    assert jeton.add_words(tok, ["ab"]).tokenizer.encode("ab") == [4]
    views = tok.with_options(add_special_tokens=True)
    assert jeton.add_words(views, ["ab"]).tokenizer.encode("ab") == [3, 4, 3]
