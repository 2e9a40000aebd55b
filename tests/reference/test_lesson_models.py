"""Lessons 18 to 21 are oracles of the engine: SentencePiece's BPE, Unigram, WordPiece.

Each lesson's encoder, the library with its algorithm, and Jeton encode the same texts, with small random vocabularies
that have ties, unused and user-defined pieces, and unknown characters, and with real vocabularies.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import exp, log
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from tokenizers import models

import jeton
from jeton.reference.sentencepiece_file import model_type, read_model, write_model
from jeton.reference.step18_sentencepiece import NEWEST, TRAINING, Piece, encode, explain, segmentations
from jeton.reference.step19_xlmr import XlmrTokenizer, normalize, one_char_len, to_ids, to_text
from jeton.reference.step20_unigram import (
    backward,
    em_round,
    forward,
    log_probabilities,
    loss,
    nbest,
    removal_costs,
    sample,
    viterbi,
)
from jeton.reference.step21_wordpiece import best_pair, encode_word, join, split_word, train

from ..selection import amount

CHARACTERS = "ab▁é小"
UNKNOWN = "xz"  # in no vocabulary


def random_words(rng: random.Random, number: int, longest: int = 5) -> list[str]:
    """Distinct words of the known characters; each character occurs."""
    words = ("".join(rng.choices(CHARACTERS, k=rng.randint(2, longest))) for _ in range(number))
    return list(dict.fromkeys([*CHARACTERS, *words]))


def random_texts(rng: random.Random, words: Sequence[str], number: int) -> Iterator[str]:
    """Words glued together, unknown characters, and runs of one character."""
    yield from ("", "a", "x", "ab" * 20, "a" * 50, "▁▁a▁x")
    for _ in range(number - 6):
        yield "".join(rng.choices([*words, *CHARACTERS, *UNKNOWN], k=rng.choice((1, 3, 8, 20))))


def load(data: bytes, folder: Path) -> tuple[Any, jeton.Tokenizer]:
    """The library's processor and Jeton's tokenizer of a `.model`."""
    (folder / "lesson.model").write_bytes(data)
    return sentencepiece.SentencePieceProcessor(model_proto=data), jeton.load(folder / "lesson.model")


# ---- lessons 18 and 19 ----------------------------------------------------------------------------------------------


def random_pieces(rng: random.Random) -> dict[str, Piece]:
    """Pieces with ties, some of them unused or user-defined, with the bytes of some characters or without."""
    scores = rng.choice(([-1.0], [-1.0, -2.0, -3.0], [-rng.random() * 9 for _ in range(50)]))
    pieces = {"<unk>": Piece(0.0, "unknown"), "<s>": Piece(0.0, "control")}
    if rng.random() < 0.3:
        pieces |= {f"<0x{byte:02X}>": Piece(0.0, "byte") for byte in range(256)}
    for word in random_words(rng, rng.randint(1, 40)):
        kind = rng.choices(("normal", "unused", "user_defined"), (12, 2, 1))[0] if len(word) > 1 else "normal"
        pieces[word] = Piece(rng.choice(scores), kind)
    return pieces


def check_bpe(number: int, folder: Path) -> int:
    """Compare the lesson, SentencePiece and Jeton; return the number of texts."""
    compared = 0
    for seed in range(number):
        rng = random.Random(seed)
        pieces = random_pieces(rng)
        peer, tok = load(write_model(pieces, "bpe", byte_fallback="<0x00>" in pieces), folder)
        words = [piece for piece, (_, kind) in pieces.items() if kind in ("normal", "unused", "user_defined")]
        for text in random_texts(rng, words, 30):
            ids = to_ids(encode(text, pieces), pieces)
            assert ids == peer.encode(text), (seed, text)
            assert ids == tok.encode(text), (seed, text)
            compared += 1
    return compared


def test_bpe_is_that_of_sentencepiece_and_jeton(tmp_path: Path) -> None:
    assert check_bpe(amount(100, default=8), tmp_path) == amount(3000, default=240)


def texts_of(data: Path, number: int) -> list[str]:
    """Paragraphs of the Universal Declaration of Human Rights in many languages, at most 300 characters of each."""
    found: list[str] = []
    for path in sorted((data / "udhr").glob("*.txt")):
        found += [line[:300] for line in path.read_text(encoding="utf-8").splitlines()[:9] if line.strip()]
    step = max(1, len(found) // number)
    return found[::step][:number]


@pytest.mark.parametrize("name", ["mistral-v1", "mistral-v3"])
def test_bpe_of_real_models(name: str, data: Path) -> None:
    file = (data / "vocabs" / f"{name}.model").read_bytes()
    pieces = {piece: Piece(*fields) for piece, fields in read_model(file).items()}
    peer = sentencepiece.SentencePieceProcessor(model_proto=file)
    tok = jeton.load(data / "vocabs" / f"{name}.model")
    texts = texts_of(data, amount(2000, default=40))
    for text in texts:
        ids = to_ids(encode(peer.normalize(text).replace(" ", "▁"), pieces), pieces)
        assert ids == peer.encode(text), text
        assert ids == tok.encode(text), text
    assert len(texts) == amount(2000, default=40)


def test_dropout_has_the_shares_of_sentencepiece(tmp_path: Path) -> None:
    peer, _ = load(write_model(NEWEST, "bpe"), tmp_path)
    number = 10_000
    drawn = Counter(
        tuple(peer.encode("▁newest", out_type=str, enable_sampling=True, alpha=0.1, nbest_size=-1))
        for _ in range(number)
    )
    for share, pieces in segmentations("▁newest", NEWEST, 0.1)[:4]:
        assert drawn[tuple(pieces)] / number == pytest.approx(share, abs=0.03)


def test_the_shares_of_dropout_add_up() -> None:
    for dropout in (0.0, 0.1, 0.5, 1.0):
        assert sum(share for share, _ in segmentations("▁train", TRAINING, dropout)) == pytest.approx(1.0)


def test_the_figures_of_lesson_18(tmp_path: Path) -> None:
    assert explain("▁the▁training", TRAINING).splitlines()[-2:] == [
        "16 pushed, 5 stale, 11 merged",
        "▁training is unused: ▁train + ing",
    ]
    peer, _ = load(write_model(TRAINING, "bpe"), tmp_path)
    assert peer.encode("▁the▁training", out_type=str) == ["▁the", "▁train", "ing"]
    assert [f"{share:.2f}" for share, _ in segmentations("▁newest", NEWEST, 0.1)[:4]] == [
        "0.69",
        "0.07",
        "0.07",
        "0.07",
    ]


def test_the_class_of_lesson_19_has_the_ids_of_fairseq(data: Path) -> None:
    path = data / "vocabs" / "mbart-en-fairseq.sentencepiece.bpe.model"
    file = path.read_bytes()
    assert model_type(file) == "unigram"
    lesson = XlmrTokenizer({piece: Piece(*fields) for piece, fields in read_model(file).items()})
    peer = sentencepiece.SentencePieceProcessor(model_proto=file)
    tok = jeton.load(path, layout="fairseq")
    first = "<s> <pad> </s> <unk> , . ▁ s ▁de -"
    assert " ".join(lesson._convert_id_to_token(id) for id in range(10)) == first
    assert " ".join(tok.id_to_token(id) for id in range(10)) == first
    assert lesson.vocab_size == tok.vocab_size == peer.get_piece_size() + 2
    for text in texts_of(data, amount(2000, default=40)):
        ids = [lesson._convert_token_to_id(piece) for piece in peer.encode(text, out_type=str)]
        assert ids == tok.encode(text)


def test_the_normalizer_of_lesson_19() -> None:
    peer = sentencepiece.SentencePieceNormalizer(rule_name="nfkc")
    for text in ("  Ｈｅllo　 ①  ", "", "   ", "ﬁne  ² a", "今天 的 天气", "e\u0301 ㈱"):
        assert normalize(text) == peer.normalize(text)


def test_the_length_of_characters() -> None:
    for code in (*range(0x80), 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF):
        data = chr(code).encode()
        assert one_char_len(data[0]) == len(data)
        assert [one_char_len(byte) for byte in data[1:]] == [1] * (len(data) - 1)


def test_decoding_gives_the_text_of_sentencepiece(tmp_path: Path) -> None:
    pieces = {"<unk>": Piece(0.0, "unknown"), **{f"<0x{byte:02X}>": Piece(0.0, "byte") for byte in range(256)}}
    pieces |= {character: Piece(-1.0) for character in "▁abc"}
    peer, tok = load(write_model(pieces, "bpe", byte_fallback=True, normalize=True), tmp_path)
    for text in ("a b", "小 a", "abc 小冬", ""):
        symbols = peer.encode(text, out_type=str)
        assert to_text(symbols) == peer.decode(peer.encode(text)) == tok.decode(tok.encode(text)) == text


# ---- lesson 20 ------------------------------------------------------------------------------------------------------


def check_unigram(number: int, folder: Path) -> int:
    """Compare the lesson with SentencePiece, Hugging Face's library, and Jeton; return the number of texts.

    Scores are multiples of 1/1024, so that sums are exact in 32 bits as in 64.
    """
    compared = 0
    for seed in range(number):
        rng = random.Random(seed)
        words = random_words(rng, rng.randint(1, 30))
        step = rng.choice((512, 1))  # coarse steps have many ties
        scores = {word: -rng.randrange(step, 8192, step) / 1024 for word in words}
        pieces = {"<unk>": (0.0, "unknown")} | {word: (score, "normal") for word, score in scores.items()}
        peer, tok = load(write_model(pieces, "unigram"), folder)
        hf = models.Unigram([(piece, score) for piece, (score, _) in pieces.items()], 0, False)
        kinds = {piece: Piece(*fields) for piece, fields in pieces.items()}
        for text in random_texts(rng, words, 30):
            ids = to_ids(viterbi(text, scores)[1], kinds)
            assert ids == peer.encode(text), (seed, text)
            assert ids == tok.encode(text), (seed, text)
            assert ids == [token.id for token in hf.tokenize(text)], (seed, text)
            compared += 1
    return compared


def test_viterbi_is_that_of_three_libraries(tmp_path: Path) -> None:
    assert check_unigram(amount(100, default=6), tmp_path) == amount(3000, default=180)


@pytest.mark.parametrize("name", ["spm-unigram-en", "mbart-en-fairseq.sentencepiece.bpe"])
def test_viterbi_of_real_models(name: str, data: Path) -> None:
    file = (data / "vocabs" / f"{name}.model").read_bytes()
    pieces = {piece: Piece(*fields) for piece, fields in read_model(file).items()}
    scores = {piece: score for piece, (score, kind) in pieces.items() if kind == "normal"}
    peer = sentencepiece.SentencePieceProcessor(model_proto=file)
    tok = jeton.load(data / "vocabs" / f"{name}.model")
    texts = texts_of(data, amount(2000, default=25))
    for text in texts:
        ids = to_ids(viterbi(peer.normalize(text).replace(" ", "▁"), scores)[1], pieces)
        assert ids == peer.encode(text), text
        assert ids == tok.encode(text), text
    assert len(texts) == amount(2000, default=25)


def all_segmentations(text: str, scores: dict[str, float]) -> list[tuple[float, list[str]]]:
    """Every segmentation into pieces, best first."""
    if not text:
        return [(0.0, [])]
    found = [
        (scores[text[:end]] + score, [text[:end], *rest])
        for end in range(1, len(text) + 1)
        if text[:end] in scores
        for score, rest in all_segmentations(text[end:], scores)
    ]
    return sorted(found, key=lambda path: -path[0])


@pytest.mark.parametrize("seed", range(amount(50, default=10)))
def test_sums_and_best_paths_are_those_over_all_segmentations(seed: int) -> None:
    rng = random.Random(seed)
    scores = {word: -rng.random() * 5 for word in random_words(rng, 20)}
    for _ in range(10):
        text = "".join(rng.choices(CHARACTERS, k=rng.randint(1, 9)))
        everything = all_segmentations(text, scores)
        assert viterbi(text, scores)[1] == everything[0][1]
        # Permutations of the same pieces have equal scores, so the order of paths may differ.
        found = nbest(text, scores, 5)
        assert [score for score, _ in found] == pytest.approx([score for score, _ in everything[:5]])
        assert all(pieces in [path for _, path in everything] for _, pieces in found)
        total = sum(exp(score) for score, _ in everything)
        assert forward(text, scores)[-1] == pytest.approx(total)
        assert backward(text, scores)[0] == pytest.approx(total)
        expected = Counter[str]()
        for score, pieces in everything:
            for piece in pieces:
                expected[piece] += exp(score) / total  # type: ignore[assignment]
        likelihood, model = em_round({text: 1}, scores)
        assert likelihood == pytest.approx(log(total))
        whole = sum(expected.values())
        assert {piece: exp(score) for piece, score in model.items() if score > -600} == pytest.approx(
            {piece: count / whole for piece, count in expected.items() if count}
        )


def test_samples_have_the_shares_of_the_segmentations() -> None:
    scores = log_probabilities({"a": 4, "b": 3, "ab": 2, "ba": 1, "aba": 1})
    everything = all_segmentations("ababa", scores)
    rng, number = random.Random(1), 4000
    for alpha in (1.0, 0.3):
        total = sum(exp(alpha * score) for score, _ in everything)
        drawn = Counter(tuple(sample("ababa", scores, rng, alpha)) for _ in range(number))
        for score, pieces in everything:
            assert drawn[tuple(pieces)] / number == pytest.approx(exp(alpha * score) / total, abs=0.03)


def test_the_figures_of_lesson_20() -> None:
    from jeton.reference.step20_unigram import CORPUS, COUNTS

    scores: dict[str, float] = log_probabilities(COUNTS)
    assert f"{loss(CORPUS, scores):.1f}" == "169.8"
    costs = removal_costs(CORPUS, scores)
    assert (round(costs["hug"], 1), round(costs["pu"], 9)) == (23.5, 0.0)
    likelihoods = []
    for _ in range(6):
        likelihood, scores = em_round(CORPUS, scores)
        likelihoods.append(round(likelihood, 2))
    assert likelihoods == sorted(likelihoods)
    assert (likelihoods[0], likelihoods[-1]) == (-145.55, -115.65)


# ---- lesson 21 ------------------------------------------------------------------------------------------------------


def check_wordpiece(number: int, folder: Path) -> int:
    """Compare the lesson with Hugging Face's library and Jeton; return the number of words."""
    letters = "abcdé小"
    compared = 0
    for seed in range(number):
        rng = random.Random(seed)
        some = ["".join(rng.choices(letters[:-1], k=rng.randint(1, 4))) for _ in range(30)]
        vocab = list(dict.fromkeys(["[UNK]", *some[:10], *("##" + word for word in some[10:])]))
        hf = models.WordPiece({token: id for id, token in enumerate(vocab)}, unk_token="[UNK]")
        (folder / "vocab.txt").write_text("\n".join(vocab) + "\n", encoding="utf-8")
        tok = jeton.load(folder / "vocab.txt")
        for _ in range(30):
            word = "".join(rng.choices(letters, (5, 5, 5, 5, 5, 1), k=rng.choice((1, 2, 4, 8, 100, 101))))
            tokens = encode_word(word, vocab)
            assert tokens == [token.value for token in hf.tokenize(word)], (seed, word)
            if (
                "é" not in word and "小" not in word
            ):  # BERT's normalizer removes accents and isolates Chinese characters
                assert tokens == [tok.id_to_token(id) for id in tok.encode(word)], (seed, word)
                compared += 1
    return compared


def test_wordpiece_is_that_of_hugging_face_and_jeton(tmp_path: Path) -> None:
    assert check_wordpiece(amount(300, default=10), tmp_path) > amount(2000, default=70)


def test_wordpiece_of_a_real_vocabulary(data: Path) -> None:
    path = data / "vocabs" / "bert-uncased.vocab.txt"
    vocab = {token: id for id, token in enumerate(path.read_text(encoding="utf-8").splitlines())}
    hf, tok = models.WordPiece(vocab, unk_token="[UNK]"), jeton.load(path)
    words = sorted({word for text in texts_of(data, 3000) for word in text.lower().split() if word.isalpha()})
    words = [word for word in words if word.isascii()][: amount(3000, default=500)]
    for word in words:
        tokens = encode_word(word, vocab)
        assert tokens == [token.value for token in hf.tokenize(word)], word
        assert tokens == [tok.id_to_token(id) for id in tok.encode(word, add_special_tokens=False)], word
    assert len(words) > amount(2000, default=400)


def trained_again(corpus: dict[str, int], num_merges: int, rule: str) -> list[str]:
    """The vocabulary by the definition: exact fractions, positions instead of lists of symbols, no shortcuts.

    The cuts of each word are kept as a set of positions, and a merge removes cuts.
    """
    cuts = {word: set(range(len(word) + 1)) for word in corpus}

    def symbols(word: str) -> list[tuple[int, int, str]]:
        return [(a, b, word[a:b] if a == 0 else "##" + word[a:b]) for a, b in pairwise(sorted(cuts[word]))]

    alphabet = {symbol for word in corpus for _, _, symbol in symbols(word)}
    vocab = sorted(alphabet, key=lambda symbol: (symbol[0] == "#", symbol))
    for _ in range(num_merges):
        order: list[tuple[str, str]] = []
        for word in corpus:
            order += [(left[2], right[2]) for left, right in pairwise(symbols(word))]
        if not order:
            break

        def number(wanted: str) -> int:
            return sum(count * [s for _, _, s in symbols(word)].count(wanted) for word, count in corpus.items())

        def value(pair: tuple[str, str]) -> Fraction:
            together = sum(
                count * sum((left[2], right[2]) == pair for left, right in pairwise(symbols(word)))
                for word, count in corpus.items()
            )
            return Fraction(together, 1 if rule == "frequency" else number(pair[0]) * number(pair[1]))

        values = {pair: value(pair) for pair in order}
        best = next(pair for pair in order if values[pair] == max(values.values()))
        for word in corpus:
            end_of_last = -1
            for left, right in pairwise(symbols(word)):
                if (left[2], right[2]) == best and left[0] >= end_of_last:
                    cuts[word].discard(left[1])
                    end_of_last = right[1]
        result = best[0] + best[1][2:]
        vocab += [result] if result not in vocab else []
    return vocab


@pytest.mark.parametrize("rule", ["likelihood", "frequency"])
def test_training_equals_its_definition(rule: str) -> None:
    number = amount(2000, default=60)
    for seed in range(number):
        rng = random.Random(seed)
        words = ["".join(rng.choices("abc", k=rng.randint(1, 6))) for _ in range(rng.randint(1, 6))]
        corpus = {word: rng.randint(1, 9) for word in words}
        assert train(corpus, 6, rule) == trained_again(corpus, 6, rule), corpus


def test_the_figures_of_lesson_21() -> None:
    from jeton.reference.step20_unigram import CORPUS

    words = {word: split_word(word) for word in CORPUS}
    assert best_pair(CORPUS, words, "likelihood") == (("##g", "##s"), 5 / (20 * 5))
    assert best_pair(CORPUS, words, "frequency") == (("##u", "##g"), 20)
    assert join("##g", "##s") == "##gs"
