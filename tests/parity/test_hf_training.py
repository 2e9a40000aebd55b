"""`preset="hf"` with the options of `BpeTrainer`, and WordPiece, against Hugging Face's own trainers.

With a prefix or a suffix, and at the alphabet's cut, HF's order is that of a hash map. There the comparison is on texts
where the order cannot matter: every merge is of a pair that is more frequent than all others (`without_ties`), or
what is compared are the strings and not the ids.
"""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import jeton
from jeton.training.presets import Bert, Hf
from tests.material import CORPUS
from tests.parity.test_training_parity import read, synthetic
from tests.selection import amount

WHITESPACE: list[dict[str, Any]] = [{"type": "Whitespace"}]


def by_hf(texts: list[str], vocab_size: int, byte_level: bool, **options: Any) -> tuple[dict[str, int], list[Any]]:
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False) if byte_level else pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, show_progress=False, **options)
    tok.train_from_iterator(texts, trainer)
    model = json.loads(tok.to_str())["model"]
    return model["vocab"], [tuple(merge) for merge in model["merges"]]


def spelled(tok: jeton.Tokenizer) -> tuple[dict[str, int], list[Any]]:
    """Vocabulary and merges of a Jeton tokenizer, as in its tokenizer.json."""
    model = json.loads(jeton.formats.tokenizer_json.render(tok, ()))["model"]
    return model["vocab"], [tuple(merge) for merge in model["merges"]]


ALPHABET = pre_tokenizers.ByteLevel.alphabet()


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"initial_alphabet": ALPHABET, "max_token_length": 3}, {"max_token_length": 3}),
        ({"initial_alphabet": ALPHABET, "max_token_length": 2}, {"max_token_length": 2}),
        (
            {"initial_alphabet": ALPHABET, "max_token_length": 8, "min_frequency": 3},
            {"max_token_length": 8, "min_frequency": 3},
        ),
        ({}, {"initial_alphabet": ()}),
        ({"initial_alphabet": ["z", "é", "Ġ"]}, {"initial_alphabet": ["z", "é", "Ġ"]}),
    ],
    ids=["length 3", "length 2", "length 8, frequency 3", "alphabet of the corpus", "alphabet with three more"],
)
@pytest.mark.parametrize("seed", range(2))
def test_byte_level_training_equals_hf(seed: int, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    texts = [synthetic(seed), CORPUS]
    expected = by_hf(texts, 900, True, special_tokens=["<s>", "<pad>"], **theirs)
    tok = jeton.train(texts, 900, preset=Hf(**ours), special_tokens=["<s>", "<pad>"], progress=False)
    assert spelled(tok) == expected


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"initial_alphabet": ["z", "中", "ß"]},
        {"max_token_length": 5},
        {"min_frequency": 4, "max_token_length": 4},
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_character_training_equals_hf(seed: int, options: dict[str, Any]) -> None:
    texts = [synthetic(seed), CORPUS]
    expected = by_hf(texts, 900, False, special_tokens=["[UNK]"], **options)
    preset = Hf(pre_tokenizer=WHITESPACE, **options)
    tok = jeton.train(texts, 900, preset=preset, unk_token="[UNK]", progress=False)
    vocab, merges = spelled(tok)
    assert merges == expected[1]
    assert vocab == expected[0]


def zipf(letters: str, seed: int, num_words: int = 400) -> list[str]:
    """Words with counts so far apart that no two characters, and few pairs, are equally frequent."""
    rng = random.Random(seed)
    weights = [1.7**-i for i in range(len(letters))]
    words = ["".join(rng.choices(letters, weights, k=rng.randint(1, 8))) for _ in range(num_words)]
    return [" ".join([word] * rng.randint(1, 500)) for word in words]


def without_ties(texts: list[str], vocab_size: int, preset: Hf | Bert) -> int:
    """Number of merges before the first one as frequent as its neighbor in the list, where ids decide."""
    tok = jeton.train(texts, vocab_size, preset=preset, unk_token="[UNK]", progress=False)
    assert tok.training is not None
    assert tok.training.log is not None
    counts = [step.pair_count for step in tok.training.log]
    first = next((i for i, (a, b) in enumerate(pairwise(counts)) if a == b), len(counts) - 1)
    return tok.vocab_size - len(counts) + first


@pytest.mark.parametrize(
    "options",
    [
        {"continuing_subword_prefix": "##"},
        {"end_of_word_suffix": "</w>"},
        {"continuing_subword_prefix": "@@", "end_of_word_suffix": "</w>"},
        {"continuing_subword_prefix": "##", "max_token_length": 4},
        {"limit_alphabet": 9, "end_of_word_suffix": "</w>"},
        {"limit_alphabet": 7},
        {"limit_alphabet": 9, "initial_alphabet": ["x", "y"]},
    ],
)
@pytest.mark.parametrize("seed", range(amount(3, default=1)))
def test_prefix_suffix_and_limit_give_equal_entries(seed: int, options: dict[str, Any]) -> None:
    texts = zipf("abcdefghijkl", seed)
    preset = Hf(pre_tokenizer=WHITESPACE, **options)
    size = without_ties(texts, 400, preset)
    vocab, merges = by_hf(texts, size, False, special_tokens=["[UNK]"], **options)
    assert len(merges) > 20
    tok = jeton.train(texts, size, preset=preset, unk_token="[UNK]", progress=False)
    ours = spelled(tok)
    assert ours[1] == merges
    assert set(ours[0]) == set(vocab)
    marked = ("##", "@@")
    plain = {token: id for token, id in vocab.items() if not token.startswith(marked) and not token.endswith("</w>")}
    if "continuing_subword_prefix" not in options and "end_of_word_suffix" not in options:
        assert ours[0] == vocab
    else:  # the alphabet comes first and is ordered
        assert all(ours[0][token] == id for token, id in plain.items() if len(token) == 1 or token == "[UNK]")


def test_ids_are_deterministic_where_hf_orders_randomly() -> None:
    tok = jeton.train(
        ["ba ab bab"], 30, preset=Hf(pre_tokenizer=WHITESPACE, continuing_subword_prefix="##"), progress=False
    )
    assert [tok.id_to_token(id) for id in range(4)] == ["a", "b", "##a", "##b"]
    limited = jeton.train(["cab"], 10, preset=Hf(pre_tokenizer=WHITESPACE, limit_alphabet=2), progress=False)
    assert [limited.id_to_token(id) for id in limited.vocab] == ["a", "b", "ab"]


@pytest.mark.parametrize("name", ["english", "chinese", "code"])
def test_training_on_corpora_equals_hf(data: Path, name: str) -> None:
    texts = read(data, name, amount(2_000_000, default=100_000)).splitlines(keepends=True)
    for theirs, ours in (
        ({"initial_alphabet": ALPHABET}, {}),
        (
            {"initial_alphabet": ALPHABET, "max_token_length": 6, "min_frequency": 5},
            {"max_token_length": 6, "min_frequency": 5},
        ),
        ({}, {"initial_alphabet": ()}),
    ):
        expected = by_hf(texts, 6_000, True, special_tokens=["<|s|>"], **theirs)
        tok = jeton.train(texts, 6_000, preset=Hf(**ours), special_tokens=["<|s|>"], progress=False)
        assert spelled(tok) == expected
    expected = by_hf(texts, 8_000, False, special_tokens=["[UNK]"])
    tok = jeton.train(texts, 8_000, preset=Hf(pre_tokenizer=WHITESPACE), unk_token="[UNK]", progress=False)
    assert spelled(tok) == expected


# ── WordPiece ─────────────────────────────────────────────────────────────────────────────────────────────────────

FIVE = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def wordpiece_by_hf(texts: list[str], vocab_size: int, **options: Any) -> dict[str, int]:
    tok = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tok.normalizer = normalizers.BertNormalizer()
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=FIVE, show_progress=False, **options)
    tok.train_from_iterator(texts, trainer)
    return tok.get_vocab()


@pytest.mark.parametrize(
    "options", [{}, {"limit_alphabet": 8}, {"min_frequency": 100}, {"initial_alphabet": ["z", "q"]}]
)
@pytest.mark.parametrize("seed", range(amount(3, default=1)))
def test_wordpiece_gives_equal_entries(seed: int, options: dict[str, Any]) -> None:
    texts = zipf("abcdefghijkl", seed)
    preset = Bert(**{"min_frequency": 0, "limit_alphabet": None, **options})
    size = without_ties(texts, 400, preset)
    tok = jeton.train(texts, size, preset=preset, progress=False)
    assert {tok.id_to_token(id) for id in tok.vocab} == set(wordpiece_by_hf(texts, size, **options))
    assert [tok.id_to_token(id) for id in range(5)] == FIVE


def test_wordpiece_is_bpe_with_a_prefix() -> None:
    """WordPiece training gives the ids of the BPE trainer with the prefix, including ties."""
    texts = [synthetic(3), CORPUS]
    tok = jeton.train(texts, 700, preset="bert", min_frequency=2, progress=False)
    parts = [*tok.definition.pretokenizer]
    words = jeton.count_pretokens(texts, normalizer=tok.definition.normalizer, pretokenizer=parts)
    bpe = Hf(pre_tokenizer=parts, continuing_subword_prefix="##", min_frequency=2, limit_alphabet=1000)
    mapping = {word.decode(): count for word, count in words.items()}
    other = jeton.train(mapping, 700, preset=bpe, special_tokens=FIVE, progress=False)
    assert [tok.id_to_token(id) for id in tok.vocab] == [other.id_to_token(id) for id in other.vocab]


@pytest.mark.parametrize("lowercase", [True, False])
def test_wordpiece_files_load_in_hf_and_transformers(tmp_path: Path, lowercase: bool) -> None:
    """tokenizer.json and vocab.txt are loaded by HF and transformers, with equal ids."""
    texts = [synthetic(4), CORPUS]
    tok = jeton.train(texts, 600, preset=Bert(lowercase=lowercase), progress=False)
    tok.save(tmp_path / "tokenizer.json")
    theirs = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    tok.save(tmp_path / "folder")
    import transformers  # here: imported with the module, it would read the environment of other tests

    fast = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "folder"))
    old = tmp_path / "bert"  # vocab.txt alone, as BERT came
    old.mkdir()
    tok.save(old / "vocab.txt", accept_loss=("normalizer",))
    config = {"tokenizer_class": "BertTokenizer", "do_lower_case": lowercase}
    (old / "tokenizer_config.json").write_text(json.dumps(config))
    slow = transformers.AutoTokenizer.from_pretrained(str(old))
    for text in [CORPUS, synthetic(5, 300), "The newest, Wider!", "naïve Ünïcode 今天", ""]:
        ids = tok.encode(text)
        assert theirs.encode(text, add_special_tokens=False).ids == ids
        assert fast.encode(text, add_special_tokens=False) == ids
        assert slow.encode(text, add_special_tokens=False) == ids
        assert fast.encode(text) == tok.encode(text, add_special_tokens=True)
