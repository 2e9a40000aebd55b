"""Figures of every size from one run equal those of a tokenizer of that size; held-out text is not trained on."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton.corpus import open_corpus
from jeton.errors import ConfigError, MissingDependencyError, TrainingError

from ..material import TRICKY
from ..selection import rest_is_slow

RNG = random.Random(5)
WORDS = [
    "low",
    "lower",
    "newest",
    "widest",
    "naïve",
    "今天",
    "天气",
    "aaaaaaaa",
    "abababab",
    "the",
    "there",
    "'ll",
    "😀",
]
CORPUS = [" ".join(RNG.choices(WORDS, k=60)) for _ in range(60)]
TEST = [" ".join(RNG.choices(WORDS, k=60)) + " unseen words here" for _ in range(5)]

KINDS: dict[str, dict[str, Any]] = {
    "bytes": {},
    "bytes, first": {"tie_break": "first"},
    "bytes, highest_pair, no pattern": {"tie_break": "highest_pair", "pattern": "none"},
    "bytes, hf": {"preset": "hf", "special_tokens": ["<|end|>"]},
    "bytes, special": {"special_tokens": ["<|end|>", "low new"]},
    "characters": {"level": "char", "unk_token": "<unk>", "pattern": "gpt2"},
    "words": {"end_of_word": "</w>", "unk_token": "<unk>"},
    "words, suffix": {
        "end_of_word": "</w>",
        "end_of_word_style": "suffix",
        "unk_token": "<unk>",
        "tie_break": "shortest",
    },
}


def num_tokens(tok: jeton.Tokenizer, texts: list[str]) -> int:
    return sum(len(tok.encode(text, special="all")) for text in texts)


@pytest.mark.parametrize("kind", KINDS)
def test_figures_of_each_size_equal_those_of_a_tokenizer_of_that_size(kind: str) -> None:
    options = KINDS[kind]
    largest = 560 if "suffix" in kind else 360 if kind.startswith("bytes") else 110
    found = jeton.sizes(CORPUS, [largest], test=TEST, progress=False, **options)
    assert found.tok == jeton.train(CORPUS, largest, progress=False, **options)
    num_bytes = sum(len(text.encode()) for text in TEST)
    for vocab_size in range(found.tok.vocab_size - len(found.tok.merges), found.tok.vocab_size + 1):
        small = found.tokenizer(vocab_size)
        row = found.at(vocab_size)
        assert row.tokens == num_tokens(small, TEST)
        assert row.bytes_per_token == num_bytes / row.tokens
        assert row.num_merges == len(small.merges)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pruned_tokenizer_equals_one_trained_with_its_size(kind: str) -> None:
    options = KINDS[kind]
    tok = jeton.train(CORPUS, 1000, progress=False, **options)
    num_merges = len(tok.merges)
    assert num_merges > 20
    for fewer in (0, 1, num_merges // 3, num_merges - 1, num_merges):
        vocab_size = tok.vocab_size - fewer
        expected = jeton.train(CORPUS, vocab_size, progress=False, **options)
        done = jeton.prune(tok, vocab_size=vocab_size)
        done.plan.verify()
        small = done.tokenizer
        assert small == expected
        assert small.fingerprint == expected.fingerprint
        assert small.special_tokens == expected.special_tokens
        assert small.vocab_size == vocab_size


@settings(max_examples=40)
@given(
    corpus=st.lists(st.text("ab c\n", min_size=1, max_size=60), min_size=1, max_size=4),
    test=st.lists(st.text("abc \n", min_size=1, max_size=60), min_size=1, max_size=3),
    pattern=st.sampled_from(["none", "gpt2", "o200k"]),
)
def test_token_counts_of_all_sizes_of_random_texts(corpus: list[str], test: list[str], pattern: str) -> None:
    found = jeton.sizes(corpus, [280], test=test, pattern=pattern, progress=False)
    for vocab_size in range(256, found.tok.vocab_size + 1):
        assert found.at(vocab_size).tokens == num_tokens(found.tokenizer(vocab_size), test)


def test_a_pruned_rank_file_round_trips(data: Path) -> None:
    """The special tokens of cl100k follow a gap in the ids; pruning moves them."""
    tok = jeton.load(data / "vocabs" / "cl100k_base.tiktoken")
    small = jeton.prune(tok, vocab_size=5000).tokenizer
    assert small.vocab_size == 5000
    assert sorted(small.special_tokens.values()) == list(range(5000 - len(tok.special_tokens), 5000))
    limit = 5000 - len(tok.special_tokens)
    for text in TRICKY:
        ids = small.encode(text)
        assert max(ids, default=0) < limit
        assert small.decode(ids) == text
        assert len(ids) >= len(tok.encode(text))


class TestPruneRefuses:
    @pytest.mark.parametrize(
        ("vocab_size", "message"),
        [
            (301, "is not an integer up to 300"),
            (2.5, "is not an integer"),
            (257, "size=257 is too small: the alphabet and the added tokens need 258"),
            (0, "is too small"),
        ],
    )
    def test_invalid_sizes(self, vocab_size: Any, message: str) -> None:
        tok = jeton.train(CORPUS, 300, special_tokens=["<a>", "<b>"], progress=False)
        with pytest.raises(ConfigError, match=message):
            jeton.prune(tok, vocab_size=vocab_size)

    def test_merges_with_unordered_ids(self) -> None:
        vocab = {97: b"a", 98: b"b", 256: b"abb", 257: b"ab"}
        tok = jeton.Tokenizer.from_merges(vocab, [(97, 98, 257), (257, 98, 256)])
        with pytest.raises(ConfigError, match="not in the order of its merges"):
            jeton.prune(tok, vocab_size=257)


class TestHeldOut:
    def test_training_and_held_out_parts_join_to_the_corpus(self, tmp_path: Path) -> None:
        long = "".join(f"line {i} of a long document\n" for i in range(20_000))
        path = tmp_path / "long.txt"
        path.write_text(long)
        for corpus in ([path], iter([long, "short"]), [long]):
            learn, measure = open_corpus(corpus).split(0.1)  # type: ignore[arg-type]
            sides = [[document.data.decode() for document in side] for side in (learn, measure)]
            size = [sum(map(len, side)) for side in sides]
            assert 0.03 < size[1] / sum(size) < 0.3
            whole = "".join(
                sorted((text for side in sides for text in side), key=lambda text: (long + "short").index(text))
            )
            assert whole.removesuffix("short") == long

    def test_share_and_seed_determine_the_held_out_documents(self) -> None:
        documents = [f"document {i}" for i in range(4_000)]

        def held_out(share: float, seed: int) -> set[bytes]:
            return {document.data for document in open_corpus(documents).split(share, seed)[1]}

        some = held_out(0.05, 0)
        assert 150 < len(some) < 250
        assert held_out(0.05, 0) == some < held_out(0.2, 0)
        assert len(some & held_out(0.05, 1)) < 30

    def test_held_out_documents_are_not_trained_on(self) -> None:
        documents = [f"word{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(600)]
        found = jeton.sizes(documents, [2000], held_out=0.2, pattern="gpt2", progress=False)
        learn, measure = open_corpus(documents).split(0.2)
        assert found.held_out_bytes == sum(len(document.data) for document in measure)
        assert found.tok.training is not None
        assert found.tok.training.documents == len(list(learn))
        tokens = set(found.tok.vocab.values())
        assert not any(document.data in tokens for document in measure)

    @pytest.mark.parametrize("share", [0, 1, 1.5, -1, True, "0.1"])
    def test_an_invalid_share_is_refused(self, share: Any) -> None:
        with pytest.raises(ConfigError, match="held_out="):
            jeton.sizes(CORPUS, held_out=share, progress=False)


class TestSizes:
    def test_default_sizes_end_when_no_pair_is_left(self) -> None:
        found = jeton.sizes(CORPUS, test=TEST, progress=False)
        assert found.tok.vocab_size < 1024
        assert [row.vocab_size for row in found] == [found.tok.vocab_size]
        assert found.tok.training is not None
        assert found.tok.training.stopped

    def test_parameters_follow_from_size_and_hidden(self) -> None:
        rows = jeton.sizes(CORPUS, [300, 260], hidden=8, test=TEST, progress=False)
        assert [(row.vocab_size, row.parameters) for row in rows] == [(260, 260 * 16), (300, 300 * 16)]
        assert jeton.sizes(CORPUS, [300], hidden=8, tied=True, test=TEST, progress=False)[0].parameters == 2400

    def test_the_table_is_aligned(self) -> None:
        lines = str(jeton.sizes(CORPUS, [260, 300, 330], hidden=8, test=TEST, progress=False)).splitlines()
        assert len(lines) == 4
        assert len({len(line) for line in lines}) == 1
        assert "█" in lines[1]

    @pytest.mark.parametrize("suffix", rest_is_slow([".png", ".svg", ".pdf"], lambda suffix: suffix == ".svg", "SVG"))
    def test_plots_are_reproducible_files(self, tmp_path: Path, suffix: str) -> None:
        found = jeton.sizes(CORPUS, [260, 300, 330], hidden=8, test=TEST, progress=False)
        magic = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix]
        pictures = []
        for _ in range(2):
            found.plot(tmp_path / f"sizes{suffix}")
            pictures.append((tmp_path / f"sizes{suffix}").read_bytes())
        assert pictures[0].startswith(magic)
        assert pictures[0] == pictures[1]

    def test_a_plot_needs_a_png_suffix_and_matplotlib(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        found = jeton.sizes(CORPUS, [260], test=TEST, progress=False)
        with pytest.raises(ConfigError, match=r"a plot ends in \.png"):
            found.plot(tmp_path / "sizes.txt")
        monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
        with pytest.raises(MissingDependencyError, match=r"jeton\[plot\]"):
            found.plot(tmp_path / "sizes.png")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"sizes": []}, "sizes is empty"),
            ({"sizes": [300, 0]}, r"sizes\[1\]=0 is not a positive integer"),
            ({"sizes": [200, 300]}, "sizes=200 is too small: the alphabet and the added tokens need 256"),
            ({"hidden": 0}, "hidden=0 is not a positive integer"),
            ({"preset": "unigram"}, "preset='unigram': sizes are prefixes of a list of merges"),
            ({"preset": "bert"}, "preset='bert': sizes are prefixes of a list of merges"),
        ],
    )
    def test_invalid_options_are_refused(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            jeton.sizes(CORPUS, **{"sizes": [300], "test": TEST, "progress": False, **options})

    def test_a_size_that_was_not_learned(self) -> None:
        found = jeton.sizes(CORPUS, [300], test=TEST, progress=False)
        for vocab_size in (255, 301):
            with pytest.raises(ConfigError, match=r"is not between 256 \(the alphabet\) and 300"):
                found.at(vocab_size)

    def test_models_without_merges_are_refused(self) -> None:
        with pytest.raises(ConfigError, match="model has no list of merges to shorten"):
            jeton.sizes(CORPUS, [100], test=TEST, preset="sentencepiece", progress=False)

    def test_an_empty_held_out_part_is_an_error(self) -> None:
        with pytest.raises(TrainingError, match="no text to measure on"):
            jeton.sizes(["one document"], [260], progress=False)
