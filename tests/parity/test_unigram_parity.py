"""Unigram training and SentencePiece 0.2.3's, on the same lines or words: nearly the same pieces, and a text as likely.

The pieces cannot all be equal: SentencePiece adds in 32 bits, and the pieces dropped in one round change the
next. So both are measured: how many pieces are shared, and the likelihood of the words, by one and the same scorer.
"""

from __future__ import annotations

import lzma
import math
import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import sentencepiece

import jeton
from jeton.training.presets import SentencePieceUnigram
from tests.selection import amount, rest_is_slow

UNKNOWN = -25.0  # score of a character without a piece, in either vocabulary

Words = dict[str, int]


def likelihood(words: Words, pieces: dict[str, float]) -> float:
    """The logarithm of the probability of all words, over all segmentations."""
    longest = max(map(len, pieces))
    probabilities = {piece: math.exp(score) for piece, score in pieces.items()}
    total = 0.0
    for word, count in words.items():
        sums, scale = [1.0] + [0.0] * len(word), 0.0
        for start in range(len(word)):
            window = range(start, min(len(word), start + longest) + 1)
            most = max(sums[place] for place in window)
            if most < 1e-100:
                for place in window:
                    sums[place] /= most
                scale += math.log(most)
            if word[start] not in probabilities:
                sums[start + 1] += sums[start] * math.exp(UNKNOWN)
            for end in window[1:]:
                if (probability := probabilities.get(word[start:end])) is not None:
                    sums[end] += sums[start] * probability
        total += count * (scale + math.log(sums[-1]))
    return total


def by_sentencepiece(words: Words, vocab_size: int, folder: Path) -> dict[str, float]:
    table = folder / "words.tsv"
    table.write_text("".join(f"{word}\t{count}\n" for word, count in words.items()), "utf-8", newline="\n")
    sentencepiece.SentencePieceTrainer.train(
        input=str(table),
        input_format="tsv",
        model_prefix=str(folder / "theirs"),
        model_type="unigram",
        vocab_size=vocab_size,
        normalization_rule_name="identity",
        add_dummy_prefix=False,
        remove_extra_whitespaces=False,
        max_sentence_length=1_000_000,
        num_threads=2,
        minloglevel=2,
    )
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(folder / "theirs.model"))
    return {theirs.id_to_piece(id): theirs.get_score(id) for id in range(3, theirs.get_piece_size())}


def by_us(words: Words, vocab_size: int, *, bug_compatible: bool) -> dict[str, float]:
    preset = SentencePieceUnigram(normalization_rule_name="identity", bug_compatible=bug_compatible)
    tok = jeton.train(words, vocab_size, preset=preset, progress=False)
    scores = tok._core.scores()
    return {tok.id_to_token(id): scores[id] for id in range(3, tok.vocab_size)}


def check(words: Words, vocab_size: int, folder: Path) -> None:
    theirs = by_sentencepiece(words, vocab_size, folder)
    ours = by_us(words, vocab_size, bug_compatible=True)
    assert len(ours) == len(theirs)
    assert len(ours.keys() & theirs.keys()) >= 0.99 * len(theirs)
    assert likelihood(words, ours) == pytest.approx(likelihood(words, theirs), rel=0.001)
    # Without SentencePiece's bugs, the text is more likely.
    assert likelihood(words, by_us(words, vocab_size, bug_compatible=False)) > likelihood(words, theirs)


def synthetic(seed: int, num: int = 15_000) -> Words:
    """Words of stems and endings, in three scripts, with counts that fall as in text."""
    rng = random.Random(seed)
    syllables = [
        rng.choice("bcdfghklmnprst") + rng.choice("aeiou") + rng.choice(["", "", "n", "r", "st"]) for _ in range(60)
    ]
    syllables += [chr(rng.randrange(0x4E00, 0x4E60)) for _ in range(60)] + [*",.()", "12", "2026"]
    stems = ["".join(rng.choices(syllables, k=rng.randint(1, 3))) for _ in range(num // 4)]
    endings = ["", "", "s", "ed", "ing", ",", ".", "er"]
    words: Words = {}
    for _ in range(num):
        word = "▁" + stems[int(len(stems) * rng.random() ** 2)] + rng.choice(endings)
        words[word] = words.get(word, 0) + 1 + int(1 / (rng.random() + 0.001))
    return words


def test_generated_words_give_equal_pieces(tmp_path: Path) -> None:
    check(synthetic(1), 800, tmp_path)


def check_lines(text: str, vocab_size: int, folder: Path, symbols: Sequence[str] = ()) -> None:
    """Lines show what follows each word, which decides whether the word is a seed piece."""
    path = folder / "lines.txt"
    path.write_text(text, "utf-8", newline="\n")
    sentencepiece.SentencePieceTrainer.train(
        input=str(path), model_prefix=str(folder / "theirs"), model_type="unigram", vocab_size=vocab_size,
        user_defined_symbols=list(symbols), num_threads=2, minloglevel=2,
    )  # fmt: skip
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "theirs.model"))
    theirs = {model.id_to_piece(id): model.get_score(id) for id in range(3 + len(symbols), vocab_size)}
    preset = SentencePieceUnigram(user_defined_symbols=tuple(symbols))
    tok = jeton.train(jeton.Corpus(path, documents="line"), vocab_size, preset=preset, progress=False)
    scores = tok._core.scores()
    ours = {tok.id_to_token(id): scores[id] for id in range(3 + len(symbols), vocab_size)}
    assert len(ours.keys() & theirs.keys()) >= 0.99 * len(theirs)
    words: Words = {}
    for symbol in symbols:
        text = text.replace(symbol, " ")
    for word in model.normalize(text).replace(" ", " ▁").split(" "):
        words[word] = words.get(word, 0) + 1
    words.pop("", None)
    assert likelihood(words, ours) == pytest.approx(likelihood(words, theirs), rel=0.001)


def test_generated_lines_give_equal_pieces(tmp_path: Path) -> None:
    rng = random.Random(2)
    words = [word[1:] for word in synthetic(2, 3_000)]
    lines = (
        " ".join(words[int(len(words) * rng.random() ** 2)] for _ in range(rng.randint(1, 12)))
        for _ in range(amount(9_000, default=3_000))
    )
    text = "".join(line + rng.choice(["", "", "<sep>", " <sep> a"]) + "\n" for line in lines)
    # SentencePiece takes the end of the last line as a seed substring, so no other line ends like it.
    check_lines(text + "q\n", 500, tmp_path, ["<sep>"])


CORPORA = ["english", "chinese", "code", "docs_es_pt_ja"]
VOCAB_SIZE = amount(8_000, default=3_000)


def corpus_text(corpus: str) -> str:
    path = Path(os.environ["JETON_TEST_DATA"]) / "corpora" / f"{corpus}.txt.xz"
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return file.read(amount(2_000_000, default=200_000)).replace("\u2585", "").replace("\0", "")


@pytest.mark.skipif("JETON_TEST_DATA" not in os.environ, reason="JETON_TEST_DATA names no folder")
@pytest.mark.parametrize("corpus", rest_is_slow(CORPORA, lambda corpus: corpus == "english", "English"))
@pytest.mark.timeout(600)
def test_lines_of_corpora_give_equal_pieces(corpus: str, tmp_path: Path) -> None:
    check_lines(corpus_text(corpus), VOCAB_SIZE, tmp_path)


@pytest.mark.skipif("JETON_TEST_DATA" not in os.environ, reason="JETON_TEST_DATA names no folder")
@pytest.mark.parametrize("corpus", rest_is_slow(CORPORA[:3], lambda corpus: corpus == "chinese", "Chinese"))
@pytest.mark.timeout(600)
def test_words_of_corpora_give_equal_pieces(corpus: str, tmp_path: Path) -> None:
    text = corpus_text(corpus).replace("\t", " ")
    words: Words = {}
    for word in text.split():
        if len(word) < 1_000:
            words["▁" + word.replace("▁", "_")] = words.get("▁" + word.replace("▁", "_"), 0) + 1
    check(words, VOCAB_SIZE, tmp_path)
