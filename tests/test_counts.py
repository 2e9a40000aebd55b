"""Counts: what is counted, and through which stages."""

from __future__ import annotations

import json
from collections import Counter

import pytest

import jeton
from jeton import _core
from jeton.errors import ConfigError
from jeton.training.stages import Stages

TEXTS = [
    "To be, or not to be: that is the question.",
    "",
    "Ａ①ﬁ  naïve café\n",
    "日本語のテキスト、です。",
    "  spaces  ",
]

SENTENCEPIECE = {
    "type": "Metaspace",
    "replacement": "▁",
    "prepend_scheme": "always",
    "split": True,
}
NORMALIZERS = [[], [{"type": "NFKC"}], [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]]
PRETOKENIZERS = [
    [],
    [{"type": "Whitespace"}],
    [{"type": "BertPreTokenizer"}],
    [SENTENCEPIECE],
    [{"type": "Digits", "individual_digits": True}, {"type": "Pattern", "name": "gpt2"}],
]


def plainly(normalizer: list[dict], pretokenizer: list[dict], texts: list[str]) -> list[tuple[bytes, int]]:
    """Stage by stage, text by text, in a dict."""
    counts: Counter[bytes] = Counter()
    for text in texts:
        normalized, _ = _core.normalize_text(json.dumps(normalizer), text, [])
        counts.update(piece.encode() for piece, _ in _core.pretokenize_text(json.dumps(pretokenizer), normalized))
    return list(counts.items())


@pytest.mark.parametrize("normalizer", NORMALIZERS, ids=len)
@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS, ids=lambda parts: "+".join(part["type"] for part in parts))
def test_any_stages_are_counted(normalizer: list[dict], pretokenizer: list[dict]) -> None:
    texts = TEXTS * 3
    counts = jeton.count_pretokens(texts, normalizer=normalizer, pretokenizer=pretokenizer)
    assert counts.items() == plainly(normalizer, pretokenizer, texts)
    assert (counts.documents, counts.corpus_bytes) == (15, 3 * sum(len(text.encode()) for text in TEXTS))


def test_a_pattern_after_a_normalizer() -> None:
    counts = jeton.count_pretokens(["Ein Wort"], pattern="gpt2", normalizer=[{"type": "Lowercase"}])
    assert counts.items() == [(b"ein", 1), (b" wort", 1)]
    assert counts.pattern is None
    assert counts.stages is not None
    assert counts.stages.describe() == "the stages Lowercase, Pattern"


def test_byte_level_parts_hand_on_bytes_or_their_stand_ins() -> None:
    parts = ({"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},)
    for byte_level, expected in [(True, [b"ol\xc3\xa1", b" x"]), (False, ["olÃ¡".encode(), "Ġx".encode()])]:
        counter = _core.Counter(Stages(pretokenizer=parts, byte_level=byte_level).core_json(), special_tokens=[])
        counter.add(["olá x"], threads=1)
        assert [pretoken for pretoken, _ in counter.finish()[0].items()] == expected


def test_user_defined_tokens_cut_normalized_text_and_are_not_counted() -> None:
    stages = Stages(({"type": "Lowercase"},), ({"type": "Pattern", "name": "gpt2"},), user_defined=("<x>",))
    counter = _core.Counter(stages.core_json(), special_tokens=[])
    counter.add(["A<X>b <x>"], threads=1)
    assert counter.finish()[0].items() == [(b"a", 1), (b"b", 1), (b" ", 1)]


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_stages_count_alike_on_any_number_of_threads(threads: int) -> None:
    texts = [f"{i} words, {'word ' * (i % 7)}\n" * 300 for i in range(200)]  # over the size that is worth threads
    stages = {"normalizer": [{"type": "NFKC"}, {"type": "Lowercase"}], "pretokenizer": [SENTENCEPIECE]}
    assert sum(map(len, texts)) > 1 << 20
    assert jeton.count_pretokens(texts, threads=threads, **stages).items() == plainly(*stages.values(), texts)


def test_stages_of_a_tokenizer_are_those_of_its_model() -> None:
    tok = jeton.train(["low lower lowest"], 260, pattern="gpt2", progress=False)
    assert Stages.of(tok.definition).is_same(Stages.of("gpt2"))
    counts = jeton.count_pretokens(["low lower"], pretokenizer=tok.definition.pretokenizer)
    assert counts.pattern == tok.definition.pattern


def test_counts_of_different_stages_are_not_added() -> None:
    plain = jeton.count_pretokens(["a b"], pattern="gpt2")
    lower = jeton.count_pretokens(["a b"], pattern="gpt2", normalizer=[{"type": "Lowercase"}])
    with pytest.raises(ConfigError, match=r"pattern 'gpt2' and with the stages Lowercase, Pattern cannot be added"):
        plain + lower
    with pytest.raises(ConfigError, match="made with the stages Lowercase, Pattern"):
        jeton.train(lower, 260, pattern="gpt2", progress=False)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"normalizer": [{"type": "Nothing"}]}, 'the normalizer "Nothing" is not known'),
        ({"normalizer": {"type": "NFC"}}, "is not a list of parts"),
        ({"pretokenizer": "gpt2"}, "is not a list of parts"),
        ({"pretokenizer": [{"type": "Nothing"}]}, "Nothing"),
    ],
)
def test_parts_that_are_none(options: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        jeton.count_pretokens(["a"], **options)
