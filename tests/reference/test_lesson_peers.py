"""Statements of the lessons about other libraries, checked with these libraries."""

from __future__ import annotations

import contextlib
import io
import json
import random
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import regex

import jeton
from jeton.reference.step01_levels import BYTES
from jeton.reference.step03_merge import vocabulary
from jeton.reference.step04_train import train, train_bytes
from jeton.reference.step08_split import PATTERNS, split

# step 4: the bytes in the order of Hugging Face's byte-level alphabet
HUGGING_FACE = [*range(33, 127), *range(161, 173), *range(174, 256), *range(33), *range(127, 161), 173]


def by_hugging_face(documents: list[str], vocab_size: int) -> list[list[str]]:
    """The merges of `BpeTrainer` over the whole byte alphabet, without a pattern."""
    tokenizers: Any = pytest.importorskip("tokenizers")
    tok = tokenizers.Tokenizer(tokenizers.models.BPE())
    level = tokenizers.pre_tokenizers.ByteLevel
    tok.pre_tokenizer = level(add_prefix_space=False, use_regex=False)
    options = {"vocab_size": vocab_size, "initial_alphabet": level.alphabet(), "show_progress": False}
    tok.train_from_iterator(documents, tokenizers.trainers.BpeTrainer(**options))
    merges: list[list[str]] = json.loads(tok.to_str())["model"]["merges"]
    return merges


def random_documents(seed: int) -> list[str]:
    """Few letters, many spaces: many ties between pairs with a space and pairs without."""
    rng = random.Random(seed)
    return ["".join(rng.choices("ab  !é小\n", k=rng.randrange(2, 30))) for _ in range(rng.randrange(1, 4))]


def test_hugging_faces_alphabet_is_in_the_order_of_step_4() -> None:
    tokenizers: Any = pytest.importorskip("tokenizers")
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())  # by code point, as the trainer sorts
    assert alphabet.index("Ġ") == HUGGING_FACE.index(ord(" ")) == 220
    hf = jeton.train(["x a b"], 257, preset="hf", pattern="none", progress=False)
    assert [hf.vocab[id][0] for id in range(256)] == HUGGING_FACE
    assert [hf.id_to_token(id) for id in range(256)] == alphabet


def test_lowest_ids_over_hugging_faces_ids_gives_its_merges_and_over_bytes_it_does_not() -> None:
    strings = {id: bytes([byte]) for id, byte in enumerate(HUGGING_FACE)}
    letters = sorted(map(ord, "".join(by_hugging_face_letters())))
    of_byte = {byte: chr(letters[id]) for id, byte in enumerate(HUGGING_FACE)}
    different = 0
    for seed in range(60):
        documents = random_documents(seed)
        sequences = [[HUGGING_FACE.index(byte) for byte in text.encode()] for text in documents]
        merges = train(sequences, None, strings, 20, tie_break="lowest_ids")
        spelling = vocabulary(strings, merges)
        spelled = [
            ["".join(of_byte[byte] for byte in spelling[id]) for id in (left, right)] for left, right, _, _ in merges
        ]
        assert spelled == by_hugging_face(documents, 276)
        by_bytes = vocabulary(BYTES, train_bytes(documents, 276, tie_break="lowest_ids"))
        different += [by_bytes[id] for id in range(256, len(by_bytes))] != [
            spelling[id] for id in range(256, len(spelling))
        ]
    assert different > 30


def by_hugging_face_letters() -> list[str]:
    """The byte alphabet."""
    tokenizers: Any = pytest.importorskip("tokenizers")
    alphabet: list[str] = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    return alphabet


@pytest.mark.parametrize("text", ["x a b", "abcababcaabc", " b a", "b a é"])
def test_rustbpe_takes_the_lowest_bytes(text: str) -> None:
    rustbpe: Any = pytest.importorskip("rustbpe", reason="rustbpe comes with the extra bench")
    tok = rustbpe.Tokenizer()
    tok.train_from_iterator(iter([text]), 258, pattern=r"[\s\S]+")
    merges = train_bytes(text, 258, tie_break="lowest_ids")
    assert [bytes(token) for token, _ in tok.get_mergeable_ranks()] == list(vocabulary(BYTES, merges).values())


@pytest.mark.parametrize("text", ["abcababcaabc", "aaabdaaabac", " b a x b"])
def test_tiktokens_teaching_code_takes_the_first(text: str) -> None:
    educational: Any = pytest.importorskip("tiktoken._educational")
    merges = train_bytes(text, 259, tie_break="first")
    with contextlib.redirect_stdout(io.StringIO()):
        ranks = educational.bpe_train(text, 256 + len(merges), r"[\s\S]+", visualise=None)
    assert list(ranks) == list(vocabulary(BYTES, merges).values())


# ── step 2: every library counts `aa` twice in `aaa` ──────────────────────────────────────────────────────────────

# `aa` 8 times with overlaps, 4 times without; `bc` 7 times
OVERLAPPING = ["aaax"] * 4 + ["bcx"] * 7


def test_hugging_face_counts_overlaps() -> None:
    assert by_hugging_face(OVERLAPPING, 257) == [["a", "a"]]


def test_sentencepiece_counts_overlaps() -> None:
    sentencepiece: Any = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    options = {"vocab_size": 9, "model_type": "bpe", "hard_vocab_limit": False, "add_dummy_prefix": False}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(OVERLAPPING), model_writer=model, minloglevel=2, character_coverage=1.0, **options
    )
    assert sentencepiece.SentencePieceProcessor(model_proto=model.getvalue()).id_to_piece(3) == "aa"


def test_subword_nmt_counts_overlaps() -> None:
    learn_bpe: Any = pytest.importorskip("subword_nmt.learn_bpe")
    codes = io.StringIO()
    with contextlib.redirect_stderr(io.StringIO()):
        learn_bpe.learn_bpe([line + "\n" for line in OVERLAPPING], codes, 1)
    assert codes.getvalue().splitlines()[1] == "a a"


# ── steps 7, 8 and 11 ─────────────────────────────────────────────────────────────────────────────────────────────


def test_split_is_that_of_a_regex_engine_with_categories() -> None:
    rng = random.Random(8)
    # U+0295 is a letter without case in one version of Unicode, and a lowercase letter in another
    known = [c for c in map(chr, range(0x110000)) if unicodedata.category(c) not in ("Cn", "Cs") and c != "\u0295"]
    frequent = " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u180e\u2028\u200b'sStTſKll'VE019٣½Ⅷǅʰ\u0301.,!/天"
    for _ in range(2000):
        text = "".join(rng.choice(frequent if rng.random() < 0.7 else known) for _ in range(rng.randrange(40)))
        for name, pattern in PATTERNS.items():
            assert split(text, name) == [found for found in regex.findall(pattern, text) if found]


@pytest.mark.parametrize("pattern", [r"\p{L}+", r"[^\p{Ll}\s]", r"\P{L}+", r"[\S]\s*", r"\\s|[\]\p{N}]", r"\p{Zs}"])
def test_character_classes_equal_those_of_regex_inside_and_outside_of_brackets(pattern: str) -> None:
    text = "Ab c\x1c1\\s]٣\u3000小 é\t_"
    assert [part for part in split(text, pattern) if regex.fullmatch(pattern, part)] == regex.findall(pattern, text)


def test_a_category_that_unicode_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match="no general category 'Han'"):
        split("小", r"\p{Han}+")


def test_of_gpt_2_and_later_vocabularies_only_the_later_have_tokens_of_several_spaces(data: Path) -> None:
    def tokens_of_spaces(name: str) -> int:
        vocab = jeton.load(data / "vocabs" / f"{name}.tiktoken").vocab.values()
        return sum(len(token) > 1 and set(token) == {32} for token in vocab)

    assert tokens_of_spaces("r50k_base") == 0
    assert min(tokens_of_spaces("cl100k_base"), tokens_of_spaces("o200k_base")) > 50


def test_the_figures_of_step_11_are_those_of_the_vocabularies(data: Path) -> None:
    cl100k = jeton.load(data / "vocabs" / "cl100k_base.tiktoken")
    assert cl100k.encode("Byte Pair Encoding") == [7300, 27086, 30430]
    assert (cl100k.vocab_size, jeton.load(data / "vocabs" / "o200k_base.tiktoken").vocab_size) == (100_277, 200_019)


def test_sentencepiece_and_bert_have_special_tokens_at_the_front(data: Path) -> None:
    sentencepiece = jeton.load(data / "vocabs" / "mistral-v1.model")
    assert [sentencepiece.id_to_token(id) for id in range(3)] == ["<unk>", "<s>", "</s>"]
    bert = jeton.load(data / "vocabs" / "bert-uncased.vocab.txt")
    assert bert.token_to_id("[PAD]") == 0
    assert max(bert.special_tokens.values()) < 200
