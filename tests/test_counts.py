"""Counts of pretokens: stages, arithmetic, files and reports."""

from __future__ import annotations

import json
import random
import struct
import zlib
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton import _core
from jeton.definition import Pattern
from jeton.errors import ConfigError
from jeton.training import DroppedPretokens, Stages
from jeton.training.limits import make_memory

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
    """Counts in plain Python: stage by stage, text by text, in a dict."""
    counts: Counter[bytes] = Counter()
    for text in texts:
        [(normalized, _)] = _core.normalize_texts(json.dumps(normalizer), [text], [])
        counts.update(piece.encode() for piece, _ in _core.pretokenize_text(json.dumps(pretokenizer), normalized))
    return list(counts.items())


@pytest.mark.parametrize("normalizer", NORMALIZERS, ids=len)
@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS, ids=lambda parts: "+".join(part["type"] for part in parts))
def test_any_stages_are_counted(normalizer: list[dict], pretokenizer: list[dict]) -> None:
    texts = TEXTS * 3
    counts = jeton.count_pretokens(texts, normalizer=normalizer, pretokenizer=pretokenizer)
    assert counts.items() == plainly(normalizer, pretokenizer, texts)
    assert (counts.documents, counts.corpus_bytes) == (15, 3 * sum(len(text.encode()) for text in TEXTS))


def test_a_pattern_splits_normalized_text() -> None:
    counts = jeton.count_pretokens(["Ein Wort"], pattern="gpt2", normalizer=[{"type": "Lowercase"}])
    assert counts.items() == [(b"ein", 1), (b" wort", 1)]
    assert counts.pattern is None
    assert counts.stages is not None
    assert counts.stages.describe() == "the stages Lowercase, Pattern"


def test_byte_level_stages_count_bytes_or_characters_of_the_byte_alphabet() -> None:
    parts = ({"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},)
    for byte_level, expected in [(True, [b"ol\xc3\xa1", b" x"]), (False, ["olÃ¡".encode(), "Ġx".encode()])]:
        counter = _core.Counter(Stages(pretokenizer=parts, byte_level=byte_level).core_json(), special_tokens=[])
        counter.add([_core.TextColumn(["olá x".encode()])], threads=1)
        assert [pretoken for pretoken, _ in counter.finish([], 1)[0].items()] == expected


def test_user_defined_tokens_cut_normalized_text_and_are_not_counted() -> None:
    stages = Stages(({"type": "Lowercase"},), ({"type": "Pattern", "name": "gpt2"},), user_defined=("<x>",))
    counter = _core.Counter(stages.core_json(), special_tokens=[])
    counter.add([_core.TextColumn([b"A<X>b <x>"])], threads=1)
    assert counter.finish([], 1)[0].items() == [(b"a", 1), (b"b", 1), (b" ", 1)]


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_counts_do_not_depend_on_threads(threads: int) -> None:
    texts = [f"{i} words, {'word ' * (i % 7)}\n" * 300 for i in range(200)]  # large enough for threads
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
        ({"normalizer": {"type": "NFC"}}, "is not a list of components"),
        ({"pretokenizer": "gpt2"}, "is not a list of components"),
        ({"pretokenizer": [{"type": "Nothing"}]}, "Nothing"),
    ],
)
def test_unknown_stages_are_refused(options: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        jeton.count_pretokens(["a"], **options)


# --- arithmetic ---------------------------------------------------------------------------------------------------


def counted(*texts: str, **options) -> jeton.Counts:
    return jeton.count_pretokens(list(texts), pattern="gpt2", progress=False, **options)


def test_any_grouping_of_the_same_documents_gives_the_same_bytes(tmp_path: Path) -> None:
    texts = [f"document {i}, and {'more ' * i}ü日本" for i in range(12)]
    whole = counted(*texts)
    for cut in range(len(texts) + 1):
        parts = counted(*texts[:cut]) + counted(*texts[cut:])
        assert parts == whole
        whole.save(tmp_path / "whole.jtc")
        parts.save(tmp_path / "parts.jtc")
        assert (tmp_path / "whole.jtc").read_bytes() == (tmp_path / "parts.jtc").read_bytes()


@given(st.lists(st.text(alphabet="ab é日 \n", max_size=12), max_size=6), st.lists(st.text(alphabet="ab ü", max_size=9)))
def test_subtraction_undoes_addition(one: list[str], two: list[str]) -> None:
    both = counted(*one) + counted(*two)
    assert dict(both.items()) == dict(Counter(dict(counted(*one).items())) + Counter(dict(counted(*two).items())))
    left = both - counted(*one)
    assert Counter(dict(left.items())) == Counter(dict(counted(*two).items()))
    assert (left.documents, left.corpus_bytes) == (len(two), sum(len(text.encode()) for text in two))
    order = [pretoken for pretoken, _ in both.items()]
    assert [pretoken for pretoken, _ in left.items()] == [p for p in order if p in dict(counted(*two).items())]


def test_subtracting_more_than_was_counted_is_refused() -> None:
    with pytest.raises(ConfigError, match=r'"low" was counted 1 times; 2 cannot be subtracted'):
        counted("low") - counted("low", "low")
    with pytest.raises(ConfigError, match=r'"high" was counted 0 times'):
        counted("low") - counted("high")


@given(
    st.dictionaries(st.text(alphabet="abc", min_size=1, max_size=3), st.integers(0, 1 << 40), max_size=8),
    st.one_of(st.integers(0, 9), st.fractions(0, 9, max_denominator=999), st.floats(0, 9, allow_nan=False)),
)
def test_weights_are_exact_and_halves_go_to_the_even(counts: dict[str, int], weight: int | float | Fraction) -> None:
    exact = Fraction(weight)
    if exact.denominator >= 1 << 64:
        with pytest.raises(ConfigError, match="64 bits"):
            jeton.Counts.from_mapping(counts).scaled(weight)
        return
    expected = [(pretoken.encode(), round(count * exact)) for pretoken, count in counts.items()]
    scaled = jeton.Counts.from_mapping(counts).scaled(weight)
    assert scaled.items() == [item for item in expected if item[1]]


@pytest.mark.parametrize("weight", [-1, -0.5, float("nan"), float("inf"), "much", None, 1 << 64, 1e-300])
def test_invalid_weights_are_refused(weight: object) -> None:
    with pytest.raises(ConfigError, match="weight="):
        jeton.Counts.from_mapping({"a": 1}).scaled(weight)  # type: ignore[arg-type]


def test_a_weight_over_64_bits_is_an_error() -> None:
    with pytest.raises(jeton.TrainingError, match="a count exceeds 2"):
        jeton.Counts.from_mapping({"a": 1 << 63}).scaled(2)


def test_rare_pretokens_go_only_when_asked_and_are_recorded(caplog: pytest.LogCaptureFixture) -> None:
    text = "to be or not to be, that is to be"
    all_of_it = counted(text)
    kept = counted(text, min_count=2)
    assert all_of_it.dropped is None
    assert kept.items() == [(pretoken, count) for pretoken, count in all_of_it.items() if count >= 2]
    rare = [(pretoken, count) for pretoken, count in all_of_it.items() if count < 2]
    assert kept.dropped == DroppedPretokens(2, len(rare), len(rare), sum(len(pretoken) for pretoken, _ in rare))
    assert kept.total + kept.dropped.occurrences == all_of_it.total
    assert "with fewer than 2 occurrences" in caplog.text
    assert all_of_it.without_rare(2) == kept
    assert (kept + kept).dropped == DroppedPretokens(2, 2 * len(rare), 2 * len(rare), 2 * kept.dropped.bytes)


@pytest.mark.parametrize("preset", [None, "hf", "subword-nmt"])
def test_training_drops_rare_pretokens_of_given_counts(preset: str | None, caplog: pytest.LogCaptureFixture) -> None:
    words = {"low": 5, "lower": 1, "newest": 6, "wide": 2}
    common: dict[str, Any] = {"vocab_size": 300, "preset": preset, "progress": False}
    expected = jeton.train({"low": 5, "newest": 6, "wide": 2}, **common)
    for corpus in (words, jeton.Counts.from_mapping(words)):
        caplog.clear()
        assert jeton.train(corpus, min_count=2, **common) == expected
        assert "dropped 1 pretokens with fewer than 2 occurrences (1 of all 14 occurrences)" in caplog.text
    with pytest.raises(jeton.TrainingError, match="no text"):
        jeton.train(words, min_count=7, **common)


# --- files --------------------------------------------------------------------------------------------------------


def test_a_file_keeps_all_facts_of_counts(tmp_path: Path) -> None:
    options = {"normalizer": [{"type": "NFKC"}], "special_tokens": ["<|end|>", "é"], "min_count": 1}
    counts = jeton.count_pretokens(["Ａ b<|end|>c b", "日本 " * 9], **options)
    counts = counts.without_rare(2)
    counts.save(tmp_path / "a.jtc")
    loaded = jeton.Counts.load(tmp_path / "a.jtc")
    assert loaded == counts
    assert (loaded.special_tokens, loaded.special_tokens_found) == (("<|end|>", "é"), 1)
    assert (loaded + loaded) == (counts + counts)
    loaded.save(tmp_path / "b.jtc")
    assert (tmp_path / "a.jtc").read_bytes() == (tmp_path / "b.jtc").read_bytes()


@given(st.dictionaries(st.binary(min_size=1, max_size=40), st.integers(0, (1 << 64) - 1), max_size=30))
def test_any_bytes_and_counts_round_trip_through_a_file(tmp_path_factory: pytest.TempPathFactory, counts: dict) -> None:
    path = tmp_path_factory.mktemp("counts") / "any.jtc"
    made = jeton.Counts.from_mapping(counts)
    made.save(path)
    assert jeton.Counts.load(path) == made


def test_training_on_a_file_of_counts_equals_training_on_text(tmp_path: Path) -> None:
    texts = ["low lower lowest", "new newer newest", "日本語 日本"]
    counts = counted(*texts)
    counts.save(tmp_path / "counts.jtc")
    plain = jeton.train(texts, 280, pattern="gpt2", progress=False)
    for source in (str(tmp_path / "counts.jtc"), tmp_path / "counts.jtc", counts):
        assert jeton.train(source, 280, pattern="gpt2", progress=False).fingerprint == plain.fingerprint


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("saved") / "counts.jtc"
    counted("to be or not to be, that is the question; 日本語 and a pretoken_of_more_than_fifteen_bytes").save(path)
    return path.read_bytes()


def test_every_damaged_byte_is_found(saved: bytes, tmp_path: Path) -> None:
    path = tmp_path / "damaged.jtc"
    for at in range(len(saved)):
        for wrong in (saved[at] ^ 1, saved[at] ^ 0x80, 0xFF - saved[at]):
            path.write_bytes(saved[:at] + bytes([wrong]) + saved[at + 1 :])
            with pytest.raises(jeton.FormatError):
                jeton.Counts.load(path)


def test_every_cut_is_found(saved: bytes, tmp_path: Path) -> None:
    path = tmp_path / "cut.jtc"
    for at in range(len(saved)):
        path.write_bytes(saved[:at])
        with pytest.raises(jeton.FormatError):
            jeton.Counts.load(path)


def integer(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def hostile_run(*entries: tuple[int, bytes, int, int], length: int | None = None) -> bytes:
    """A run with a valid checksum; entries: (shared, rest, count, first)."""
    body = b""
    for shared, rest, count, first in entries:
        size = len(rest) if length is None else length
        body += integer(shared) + integer(size) + rest + integer(count) + integer(first)
    body += struct.pack("<QQ", len(entries), sum(entry[2] for entry in entries))
    return body + struct.pack("<I", zlib.crc32(body)) + b"JTR1"


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (hostile_run((0, b"b", 1, 0), (0, b"a", 1, 1)), "out of order"),
        (hostile_run((0, b"a", 1, 0), (0, b"a", 1, 1)), "out of order"),
        (hostile_run((0, b"a", 1, 0), (0, b"b", 1, 0)), "at the same position"),
        (hostile_run((5, b"a", 1, 0)), "impossible pretoken length"),
        (hostile_run((0, b"", 1, 0)), "impossible pretoken length"),
        (hostile_run((0, b"a", 1, 0), length=1 << 62), "impossible pretoken length"),
        (hostile_run((0, b"a", 1, 99)), "a position after the last"),
        (hostile_run((0, b"a", 1, 0))[:-1] + b"2", "checksum"),
        (b"\xff" * 40, "64 bits|cannot be"),
        (b"", "too early"),
    ],
)
def test_hostile_entries_are_refused(run: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(run)
    with pytest.raises(jeton.FormatError, match=words):
        _core.Counts.from_run(str(tmp_path / "run"), 0, 50, make_memory())
    good = tmp_path / "good"
    good.write_bytes(hostile_run((0, b"a", 2, 1), (1, b"b", 3, 0)))
    assert _core.Counts.from_run(str(good), 0, 50, make_memory()).items() == [(b"ab", 3), (b"a", 2)]


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"documents": -1},
        {"documents": "many"},
        {"end": 1 << 70},
        {"stages": 5},
        {"stages": {"normalizer": 1}},
        {"special_tokens": [1]},
        {"dropped": {"min_count": "x"}},
        {"dropped": {"other": 1}},
    ],
    ids=str,
)
def test_hostile_facts_are_refused(saved: bytes, change: dict, tmp_path: Path) -> None:
    (length,) = struct.unpack("<I", saved[8:12])
    facts = json.dumps({**json.loads(saved[12 : 12 + length]), **change}).encode()
    path = tmp_path / "facts.jtc"
    path.write_bytes(
        saved[:8] + struct.pack("<I", len(facts)) + facts + struct.pack("<I", zlib.crc32(facts)) + saved[16 + length :]
    )
    with pytest.raises(jeton.FormatError):
        jeton.Counts.load(path)


def test_files_without_counts_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jtc"
    for content in (b"", b"words", b"JTCOUNT1", b"JTCOUNT1\xff\xff\xff\xff"):
        path.write_bytes(content)
        with pytest.raises(jeton.FormatError, match=r"a\.jtc"):
            jeton.Counts.load(path)
    with pytest.raises(FileNotFoundError):
        jeton.Counts.load(tmp_path / "none.jtc")


# --- the report ---------------------------------------------------------------------------------------------------


def test_the_report_equals_plain_python() -> None:
    texts = ["To be, or not to be: Быть или не быть 日本 123 " * 3, "ελληνικά and more, 한국어 " * 2]
    counts = counted(*texts)
    report = counts.report(top=3)
    assert (report.distinct, report.total) == (len(counts.items()), sum(count for _, count in counts.items()))
    assert report.once == sum(count == 1 for _, count in counts.items())
    assert report.top == sorted(counts.items(), key=lambda item: -item[1])[:3]
    shares = {share.script: share for share in report.scripts}
    assert set(shares) == {"Latin", "Cyrillic", "Han", "Greek", "Hangul", "None"}
    assert sum(share.bytes for share in report.scripts) == counts.corpus_bytes
    assert shares["Cyrillic"].occurrences == 12
    assert json.loads(json.dumps(report.to_json()))["distinct"] == report.distinct
    assert "Cyrillic" in str(report)


def test_vocabulary_growth_equals_plain_python() -> None:
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefgh", k=rng.randint(1, 6))) for _ in range(4000)]
    text = " ".join(words)
    report = counted(text[: len(text) // 2], text[len(text) // 2 :]).report()
    ends = Pattern.of("gpt2").split(text[: len(text) // 2])
    half = len(text) // 2
    spans = ends + [(start + half, end + half) for start, end in Pattern.of("gpt2").split(text[half:])]
    for at, distinct in report.growth:
        assert distinct == len({text[start:end] for start, end in spans if start < at})
    assert report.growth[-1] == (len(text), report.distinct)
    assert report.heaps is not None
    assert 0.3 < report.heaps[1] < 1


def test_the_plot_is_a_file(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    report = counted(" ".join(f"word{i}" for i in range(2000))).report()
    report.plot(tmp_path / "growth.svg")
    assert b"<svg" in (tmp_path / "growth.svg").read_bytes()


def test_rare_pretokens_are_left_out_after_weighting_whatever_the_number_of_sources() -> None:
    one = jeton.count_pretokens([jeton.Source(["a b b"], weight=2)], min_count=2)
    two = jeton.count_pretokens([jeton.Source(["a b b"], weight=2), jeton.Source([""])], min_count=2)
    assert one.items() == two.items() == [(b"a", 2), (b" b", 4)]


def test_a_file_is_not_much_larger_in_memory(tmp_path: Path) -> None:
    """An entry shares at most 64 bytes with the one before, even if more are equal."""
    long = "a" * 5_000
    counts = jeton.Counts.from_mapping({long + str(n): 1 for n in range(50)})
    path = tmp_path / "x.jtc"
    counts.save(path)
    assert path.stat().st_size > 50 * 4_900
    assert jeton.Counts.load(path) == counts


@pytest.mark.parametrize("value", [b"[]", b"1", b'{"distinct": -1, "occurrences": 1, "below": 2}'])
def test_invalid_facts_are_refused(tmp_path: Path, value: bytes) -> None:
    path = tmp_path / "x.jtc"
    jeton.Counts.from_mapping({"low": 1}).save(path)
    data = path.read_bytes()
    length = int.from_bytes(data[8:12], "little")
    facts = data[12 : 12 + length].replace(b'"dropped":null', b'"dropped":' + value)
    assert facts != data[12 : 12 + length]
    spelled = data[:8] + len(facts).to_bytes(4, "little") + facts + zlib.crc32(facts).to_bytes(4, "little")
    path.write_bytes(spelled + data[16 + length :])
    with pytest.raises(jeton.FormatError, match="facts"):
        jeton.Counts.load(path)
