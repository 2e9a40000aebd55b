"""Unigram training by `train`: results, independence of threads and order, and refused options."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from tokenizers import Tokenizer

import jeton
from jeton.definition import Unigram
from jeton.training.presets import SentencePieceUnigram

IDENTITY = {"normalization_rule_name": "identity", "hard_vocab_limit": False}


def train(*args: Any, **options: Any) -> jeton.Tokenizer:
    return jeton.train(*args, progress=False, **options)


def lines(seed: int = 0, num: int = 800) -> list[str]:
    """Lines of words of few syllables in three scripts; all seeds draw from the same words."""
    stable, rng = random.Random(0), random.Random(seed)
    syllables = [
        stable.choice("bdgkmnrst") + stable.choice("aeioué") + stable.choice(["", "n", "st"]) for _ in range(50)
    ]
    syllables += ["今天", "天气", "かな", ",", "12"]
    words = ["".join(stable.choices(syllables, k=stable.randint(1, 4))) for _ in range(2_000)]
    return [" ".join(words[int(2_000 * rng.random() ** 3)] for _ in range(rng.randint(1, 30))) for _ in range(num)]


def vocabulary(tok: jeton.Tokenizer) -> list[tuple[str, float]]:
    scores = tok._core.scores()
    return [(tok.id_to_token(id), scores[id]) for id in range(tok.vocab_size)]


def test_the_trained_tokenizer_has_roles_and_sorted_scores() -> None:
    tok = train(lines(), 400, preset="unigram")
    assert tok.vocab_size == 400
    assert [tok.id_to_token(id) for id in range(3)] == ["<unk>", "<s>", "</s>"]
    assert tok.roles == {"unk": "<unk>", "bos": "<s>", "eos": "</s>"}
    assert tok.definition.model == Unigram("<unk>", single_precision=True)
    assert tok.training is not None
    assert tok.training.algorithm == "unigram"
    assert tok.training.stopped is None
    scores = [score for _, score in vocabulary(tok)[3:]]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] < 0
    line = " ".join(lines(1)[0].split())
    assert tok.decode(tok.encode(line)) == line


def test_sentencepiece_gives_equal_ids_after_training(tmp_path: Path) -> None:
    tok = train(lines(), 400, preset="unigram")
    tok.save(tmp_path / "unigram.model")
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "unigram.model"))
    ours = jeton.load(tmp_path / "unigram.model")
    assert ours.fingerprint == tok.fingerprint
    for line in [*lines(2, 100), "never seen: Ωß 🦀", "  ", ""]:
        assert tok.encode(line) == theirs.encode(line) == ours.encode(line)


def test_hf_gives_equal_ids_after_training(tmp_path: Path) -> None:
    tok = train(lines(), 400, preset=SentencePieceUnigram(**IDENTITY))
    with pytest.warns(jeton.errors.LossyConversionWarning, match="32 bits"):
        tok.save(tmp_path / "unigram.json", accept_loss=["single_precision"])
    theirs = Tokenizer.from_file(str(tmp_path / "unigram.json"))
    for line in lines(2, 100):
        assert tok.encode(line) == theirs.encode(line, add_special_tokens=False).ids


def test_reserved_pieces_have_the_first_ids() -> None:
    preset = SentencePieceUnigram(byte_fallback=True, user_defined_symbols=["<sep>"], **IDENTITY)
    tok = train(lines(), 600, preset=preset)
    assert [tok.id_to_token(id) for id in (3, 4, 259)] == ["<sep>", "<0x00>", "<0xFF>"]
    assert tok.decode(tok.encode("Ω")) == "Ω"
    named = train(lines(), 300, preset="unigram", special_tokens=["<pad>"], unk_token="[UNK]")
    assert [named.id_to_token(id) for id in range(4)] == ["[UNK]", "<s>", "</s>", "<pad>"]


@pytest.mark.parametrize("bug_compatible", [True, False])
def test_threads_order_and_files_change_nothing(tmp_path: Path, bug_compatible: bool) -> None:
    documents = lines(3, 6_000)
    preset = SentencePieceUnigram(bug_compatible=bug_compatible, **IDENTITY)
    tok = train(documents, 700, preset=preset, threads=1)
    (tmp_path / "one").write_text("\n".join(documents[:2_000]), "utf-8")
    (tmp_path / "two").write_text("\n".join(documents[2_000:]), "utf-8")
    for corpus in (documents, documents[::-1], [tmp_path / "two", tmp_path / "one"]):
        again = train(corpus, 700, preset=preset, threads=3)
        assert vocabulary(again) == vocabulary(tok)  # scores to the last bit
        assert again.fingerprint == tok.fingerprint


def test_training_on_counts_equals_training_on_text() -> None:
    preset = SentencePieceUnigram(**IDENTITY, bug_compatible=False)  # a mapping lacks the text after a word
    counts: dict[str, int] = {}
    for line in lines():
        for word in line.split():
            counts["▁" + word] = counts.get("▁" + word, 0) + 1
    assert vocabulary(train(counts, 300, preset=preset)) == vocabulary(train(lines(), 300, preset=preset))


def test_rare_characters_are_unknown() -> None:
    documents = ["common words common words"] * 200 + ["Ω"]
    tok = train(documents, 40, preset="unigram")
    assert "Ω" not in dict(vocabulary(tok))
    assert 0 in tok.encode("Ω")
    assert "Ω" in dict(vocabulary(train(documents, 40, preset=SentencePieceUnigram(required_chars="Ω", **IDENTITY))))


def test_a_size_too_small_or_too_large_is_refused() -> None:
    with pytest.raises(
        jeton.ConfigError, match=r"vocab_size=10 is too small: \d+ characters and 3 other entries"
    ) as caught:
        train(lines(), 10, preset="unigram")
    assert caught.value.option == "vocab_size"
    tok = train(["low low lower"], 1_000, preset="unigram")
    assert tok.training is not None
    assert tok.training.stopped is not None
    assert tok.training.stopped.startswith(f"{tok.vocab_size} of 1000 entries")
    with pytest.raises(jeton.TrainingError, match="fewer than vocab_size=1000"):
        train(["low low lower"], 1_000, preset="sentencepiece-unigram")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"level": "byte"}, "level"),
        ({"tie_break": "first"}, "tie_break"),
        ({"end_of_word": "</w>"}, "end_of_word"),
        ({"pattern": "gpt2"}, "pattern"),
    ],
)
def test_options_of_other_algorithms_are_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(jeton.ConfigError, match=match):
        train(lines(), 300, preset="unigram", **options)


@pytest.mark.parametrize(
    "options",
    [
        {"shrinking_factor": 0.99},
        {"num_sub_iterations": 0},
        {"character_coverage": 0.5},
        {"split_by_whitespace": False},
        {"treat_whitespace_as_suffix": True},
        {"max_sentencepiece_length": 300},
        {"seed_sentencepiece_size": -1},
    ],
)
def test_options_of_the_preset_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(jeton.ConfigError, match=next(iter(options))):
        SentencePieceUnigram(**options)


def test_a_corpus_without_text_is_refused() -> None:
    with pytest.raises(jeton.TrainingError, match="no text"):
        train(["", "  "], 300, preset="unigram")


@pytest.mark.parametrize(
    "word", ["a" * 50_000, "ab" * 25_000, "▁" * 10_000, "今" * 10_000, "1," * 10_000, "\u0301" * 10_000, "\0\x1f▅"]
)
def test_hostile_words_are_trained_on(word: str) -> None:
    tok = train({word: 3, "▁low": 2, "▁lower": 1}, 40, preset=SentencePieceUnigram(**IDENTITY))
    assert tok.encode("lower")
