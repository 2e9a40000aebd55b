"""corpus → counts → tokenizer: worked examples, options, and equal results by every path."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import logging
import lzma
import pickle
import random
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.definition import Bpe, Pattern
from jeton.reference.step08_split import split
from jeton.tokens.spelling import Spelling
from jeton.training import PRESETS

from .material import CORPUS, KINDS, SPECIAL, TESTDATA

CASES = tomllib.loads((TESTDATA / "cases" / "worked_examples.toml").read_text("utf-8"))["train"]


def train(*args: Any, **options: Any) -> jeton.Tokenizer:
    return jeton.train(*args, progress=False, **options)


# ── the worked examples ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_worked_examples_give_the_recorded_merges(case: dict[str, Any]) -> None:
    options = {key: case[key] for key in ("tie_break", "min_frequency")}
    if case["level"] == "byte":
        tok = train([case["text"]], 256 + case["num_merges"], pattern="none", **options)
    else:
        options |= {key: case[key] for key in ("end_of_word", "end_of_word_style")}
        tok = train(dict(case["word_counts"]), len(case["alphabet"]) + case["num_merges"], **options)
        assert [tok.id_to_token(id).encode().hex() for id in range(len(case["alphabet"]))] == case["alphabet"]
    assert tok.training is not None
    assert tok.training.log is not None
    spelling = Spelling(tok)
    rows = [
        {
            "left": spelling(step.left).hex(),
            "right": spelling(step.right).hex(),
            "ids": [step.left, step.right, step.id],
            "count": step.pair_count,
        }
        for step in tok.training.log
    ]
    assert rows == case["merges"]
    if "final" in case:
        assert tok.encode(case["text"]) == case["final"]


def test_words_by_default_are_white_space_words() -> None:
    by_text = train(["low low newest low  lower\nlow newest low"], 20, end_of_word="</w>")
    by_counts = train({"low": 5, "newest": 2, "lower": 1}, 20, end_of_word="</w>")
    assert by_text.merges == by_counts.merges
    assert by_text.definition.pattern == Pattern("whitespace", is_regex=False)
    assert by_text.definition.model == Bpe("char", end_of_word="</w>")


# ── one result whatever the road ──────────────────────────────────────────────────────────────────────────────────


def documents(seed: int = 1, size: int = 60_000) -> list[str]:
    """Seven documents in many scripts, together long enough for two threads."""
    rng = random.Random(seed)
    words = [*CORPUS.split(), "\n\n", "  ", "<|endoftext|>", "今天的天气很好", "x" * 30]
    return [" ".join(rng.choices(words, k=size // 6)) for _ in range(7)]


@pytest.mark.parametrize(
    "options",
    [
        {"pattern": "o200k"},
        {"pattern": "gpt2", "tie_break": "first"},
        {"pattern": r"(?<=\s)\w+|\S", "tie_break": "first"},
        {"level": "char", "pattern": "gpt2", "tie_break": "shortest"},
        {"end_of_word": "</w>", "tie_break": "highest_pair"},
        {"end_of_word": "</w>", "end_of_word_style": "suffix", "tie_break": "first"},
    ],
    ids=lambda options: ", ".join(map(str, options.values())),
)
def test_equal_documents_from_any_source_give_equal_bytes(options: dict[str, Any], tmp_path: Path) -> None:
    docs = documents()
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"text": doc}) + "\n" for doc in docs), "utf-8")
    folder = tmp_path / "files"
    folder.mkdir()
    for number, doc in enumerate(docs):
        (folder / f"{number}.txt").write_bytes(doc.encode())
    packed = tmp_path / "packed"
    packed.mkdir()
    for number, doc in enumerate(docs):
        if number % 2:
            (packed / f"{number}.txt.gz").write_bytes(gzip.compress(doc.encode()))
        else:
            (packed / f"{number}.txt.xz").write_bytes(lzma.compress(doc.encode(), preset=0))
    roads: list[Any] = [rows, folder, str(folder / "*.txt"), packed, sorted(folder.iterdir()), docs]
    made = set()
    for threads in (1, 2, 5):
        for road in roads:
            made.add(train(road, 800, special_tokens=["<|endoftext|>"], threads=threads, **options).to_bytes())
        made.add(train(iter(docs), 800, special_tokens=["<|endoftext|>"], threads=threads, **options).to_bytes())
        counts = jeton.count_pretokens(
            (doc.encode() for doc in docs),
            pattern=options.get("pattern", "whitespace"),
            special_tokens=["<|endoftext|>"],
            threads=threads,
        )
        made.add(train(counts, 800, special_tokens=["<|endoftext|>"], **options).to_bytes())
    assert len(made) == 1


@pytest.mark.parametrize("rule", ["lowest_ids", "highest_pair", "shortest"])
def test_the_order_of_documents_does_not_matter_at_byte_level(rule: Any) -> None:
    docs = documents(size=6_000)
    one = train(docs, 700, tie_break=rule)
    other = train(docs[::-1], 700, tie_break=rule)
    assert one == other
    assert one.merges == other.merges


LONG = {
    "spaced": " ".join(random.Random(3).choices(CORPUS.split(), k=90_000)),
    "unspaced Chinese": "".join(random.Random(4).choices("今天的天气很好，我们出去走走吧。明也没关系！", k=250_000)),
    "special tokens inside": "".join(
        random.Random(5).choices(["<|endoftext|>", "今天", " the old", "\n", "<|endof"], k=120_000)
    ),
    "letters and runs": "".join(random.Random(6).choices(["a", "b", "aaaaaaaaaa", " ", "\r\n", "12345"], k=200_000)),
}


@pytest.mark.parametrize("pattern", ["gpt2", "gpt4", "cl100k", "o200k", r"(?<=a|^)b+|\s+|(?<!\w)\w", r"\w{1,7}|\W"])
@pytest.mark.parametrize("name", LONG)
def test_counts_of_a_long_document_do_not_depend_on_threads(name: str, pattern: str) -> None:
    text = LONG[name]
    assert len(text.encode()) > 1 << 19
    options: dict[str, Any] = {"pattern": pattern, "special_tokens": ["<|endoftext|>"], "progress": False}
    alone = jeton.count_pretokens([text], threads=1, **options)
    for threads in (2, 3, 7):
        cut = jeton.count_pretokens([text], threads=threads, **options)
        assert cut.items() == alone.items()
        assert cut.special_tokens_found == alone.special_tokens_found
    assert alone.corpus_bytes == len(text.encode())
    joined = sum(len(pretoken) * count for pretoken, count in alone.items())
    assert joined == len(text.replace("<|endoftext|>", "").encode())


@pytest.mark.parametrize("pattern", ["gpt2", "gpt4", "cl100k", "o200k"])
def test_counts_are_those_of_the_plain_split(pattern: str) -> None:
    docs = [CORPUS, "the old tale", CORPUS[::-1]]
    expected = Counter(pretoken for doc in docs for pretoken in split(doc, pattern))
    counts = jeton.count_pretokens(docs, pattern=pattern)
    assert counts.items() == [(pretoken.encode(), count) for pretoken, count in expected.items()]
    assert counts.total == sum(expected.values())
    assert len(counts) == len(expected)
    assert [count for _, count in counts.most_common(5)] == [count for _, count in expected.most_common(5)]


# ── corpora ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_no_pair_is_counted_across_documents_or_pretokens() -> None:
    assert train(["a", "b"] * 50, 300, pattern="none").merges == ()
    assert train(["ab", "ab"], 300, pattern="none").merges == ((97, 98, 256),)
    assert train(["a b a b"], 300, pattern=" |a|b").merges == ()


def test_pairs_do_not_cross_lines_that_are_documents(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("ab\nab\nb\n")
    whole = train(path, 300, pattern="none")
    lines = train(jeton.Corpus(path, documents="line"), 300, pattern="none")
    assert whole.merges != lines.merges
    assert lines.merges == train(["ab", "ab", "b"], 300, pattern="none").merges
    assert lines.training is not None
    assert lines.training.documents == 3


def test_another_field_or_a_stream_is_trained_on(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"body": "abab"}\n\n{"body": "ab"}\n')
    expected = train(["abab", "ab"], 258, pattern="none")
    assert train(jeton.Corpus(path, field="body"), 258, pattern="none") == expected
    assert train(io.BytesIO(b"abab"), 257, pattern="none") == train(["abab"], 257, pattern="none")


def test_counts_add_up_and_stay_in_order() -> None:
    one = jeton.count_pretokens(["b a b"], pattern="gpt2")
    two = jeton.count_pretokens(["c a  "], pattern="gpt2")
    both = one + two
    assert both.items() == [(b"b", 1), (b" a", 2), (b" b", 1), (b"c", 1), (b"  ", 1)]
    assert (both.documents, both.corpus_bytes) == (2, 10)
    assert one.items() == [(b"b", 1), (b" a", 1), (b" b", 1)], "adding changes neither"
    with pytest.raises(jeton.ConfigError, match="pattern 'gpt4' cannot be added"):
        one + jeton.count_pretokens(["x"], pattern="gpt4")
    with pytest.raises(jeton.ConfigError, match="gpt2") as caught:
        train(one, 300, pattern="gpt4")
    assert caught.value.option == "pattern"
    assert train(both, 258, pattern="gpt2").merges == train(["b a b", "c a  "], 258, pattern="gpt2").merges


def test_a_mapping_gives_counts() -> None:
    assert train({"ab": 2**61, "bc": 2**61 - 1}, 258).merges == ((97, 98, 256), (98, 99, 257))
    assert train({b"\xff\xfe": 2}, 257).vocab[256] == b"\xff\xfe"
    for wrong in ({"a": -1}, {"a": 2**64}, {"a": 1.5}, {"a": True}, {"a": "3"}, {3: 3}):
        with pytest.raises((jeton.ConfigError, TypeError)):
            train(wrong, 300)


def test_a_count_that_passes_64_bits_is_refused() -> None:
    counts = jeton.training.Counts.from_mapping({"ab": 2**64 - 1})
    with pytest.raises(jeton.TrainingError, match="64"):
        counts + counts


def test_symbols_that_pass_63_bits_are_refused() -> None:
    """A count never wraps around: four times 2⁶² symbols is the first that does not fit."""
    with pytest.raises(jeton.TrainingError, match=r"2\^63"):
        train({"aaaa": 2**62}, 258, pattern="none")
    assert train({"aaaa": 2**60, "bc": 2**60}, 258, pattern="none").merges[0] == (97, 97, 256)


@pytest.mark.parametrize("corpus", [[], [""], ["", b""], {}, {"": 3}, {"a": 0}, ["<|end|>"]], ids=repr)
def test_a_corpus_without_text_is_refused(corpus: Any) -> None:
    with pytest.raises(jeton.TrainingError, match="no text"):
        train(corpus, 300, special_tokens=["<|end|>"])


def test_a_corpus_of_white_space_is_refused() -> None:
    with pytest.raises(jeton.TrainingError):
        train(["  \n "], 300, end_of_word="</w>")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="for a text itself"):
        train("just some text", 300)
    with pytest.raises(FileNotFoundError):
        train(tmp_path / "missing.txt", 300)


def test_invalid_utf8_is_named_with_file_and_byte(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "broken.txt"
    path.write_bytes(b"abab \xff abab")
    with pytest.raises(jeton.InvalidTextError, match=r"broken\.txt.*byte 5") as caught:
        train(path, 300)
    assert caught.value.position == 5
    assert caught.value.source == str(path)
    with caplog.at_level(logging.WARNING, "jeton"):
        tok = train(jeton.Corpus(path, errors="replace"), 300)
    assert b"ab" in tok.vocab.values()
    assert any("1 places" in message for message in caplog.messages)


# ── options ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"vocab_size": 255}, "vocab_size"),
        ({"vocab_size": 257, "special_tokens": ["<a>", "<b>"]}, "vocab_size"),
        ({"vocab_size": 0, "level": "char"}, "vocab_size"),
        ({"vocab_size": -1}, "vocab_size"),
        ({"vocab_size": True}, "vocab_size"),
        ({"vocab_size": 300.0}, "vocab_size"),
        ({"vocab_size": 511, "level": "byte", "end_of_word": "</w>", "end_of_word_style": "suffix"}, "vocab_size"),
        ({"level": "word"}, "level"),
        ({"tie_break": "highest"}, "tie_break"),
        ({"preset": "tiktoken"}, "preset"),
        ({"pattern": "gpt5"}, "pattern"),
        ({"pattern": "gpt2", "end_of_word": "</w>"}, "pattern"),
        ({"end_of_word": ""}, "end_of_word"),
        ({"end_of_word": "</w>", "end_of_word_style": "prefix"}, "end_of_word_style"),
        ({"min_frequency": -1}, "min_frequency"),
        ({"min_frequency": 1.5}, "min_frequency"),
        ({"special_tokens": "<a>"}, "special_tokens"),
        ({"special_tokens": [""]}, "special_tokens"),
        ({"special_tokens": [3]}, "special_tokens"),
        ({"threads": 0}, "threads"),
    ],
    ids=str,
)
def test_invalid_options_are_refused(options: dict[str, Any], option: str) -> None:
    with pytest.raises(jeton.ConfigError) as caught:
        train(["some text"], **{"vocab_size": 600, **options})
    assert caught.value.option == option
    assert isinstance(caught.value, ValueError)


def test_integers_of_numpy_are_accepted() -> None:
    tok = train(["low lower"], np.int64(258), min_frequency=np.uint8(1))
    assert tok.training == train(["low lower"], 258).training
    assert jeton.Tokenizer.from_bytes(tok.to_bytes()).training == tok.training


def test_a_vocabulary_smaller_than_the_characters_is_refused() -> None:
    with pytest.raises(jeton.ConfigError, match="6") as caught:
        train(["今天天气好，今天天晴"], 5, level="char")
    assert caught.value.option == "vocab_size"
    assert train(["今天天气好，今天天晴"], 6, level="char").merges == ()
    with pytest.raises(jeton.ConfigError):
        train(["ab"], 2, end_of_word="</w>")
    assert len(train(["ab"], 3, end_of_word="</w>")) == 3


def test_characters_are_numbered_by_count_then_first_appearance() -> None:
    tok = train(["今天天气好，今天天晴"], 9, level="char", tie_break="first")
    assert [content.decode() for content in tok.vocab.values()] == [*list("天今气好，晴"), "今天", "今天天", "今天天气"]


def test_an_early_stop_is_recorded_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "jeton"):
        tok = train(["abab"], 300, pattern="none", special_tokens=["<a>"])
    assert len(tok) == 256 + 2 + 1
    assert tok.special_tokens == {"<a>": 258}
    facts = tok.training
    assert facts is not None
    assert facts.stopped == "no pair is left after 2 of 43 merges"
    assert facts.num_merges == 2
    assert len(caplog.messages) == 1
    assert "no pair is left after 2 of 43 merges" in caplog.messages[0]
    rare = train(["ababcd"], 300, pattern="none", min_frequency=2).training
    assert rare is not None
    assert rare.stopped == "no pair occurs 2 times after 1 of 44 merges"


def test_min_frequency_zero_and_one_are_the_same() -> None:
    one, zero = (train(["abcab"], 300, pattern="none", min_frequency=least) for least in (1, 0))
    assert one == zero


def test_special_tokens_cut_the_corpus_and_are_never_learned() -> None:
    tok = train(["ab<|end|>ab<|end|>ab"], 300, pattern="none", special_tokens=["<|end|>"])
    assert tok.merges == ((97, 98, 256),)
    assert tok.training is not None
    assert tok.training.special_tokens_found == 2
    assert tok.special_tokens == {"<|end|>": 257}
    longest = train(["x<a>bx<a>b"], 300, pattern="none", special_tokens=["<a>", "<a>b"])
    assert longest.merges == ()
    without = train(["ab<|end|>ab<|end|>ab"], 300, pattern="none")
    assert b"<|end|>" in b"".join(without.vocab.values())


def test_special_tokens_take_the_last_ids_in_the_order_given() -> None:
    tok = train([CORPUS], 305, special_tokens=["<z>", "<a>", "<z>", "<m>"], unk_token="<unk>")
    assert tok.special_tokens == {"<unk>": 301, "<z>": 302, "<a>": 303, "<m>": 304}
    assert [tok.vocab[byte] for byte in range(256)] == [bytes([byte]) for byte in range(256)]
    assert tok.vocab_size == len(tok) == 305
    listed = train([CORPUS], 305, special_tokens=["<z>", "<unk>"], unk_token="<unk>")
    assert listed.special_tokens == {"<z>": 303, "<unk>": 304}


def test_presets_set_options_that_arguments_override() -> None:
    assert {"hf", "minbpe"} <= set(PRESETS)
    text = ["the old man's 12345 tale " * 3]
    minbpe = train(text, 280, preset="minbpe")
    assert minbpe == train(text, 280, pattern="none", tie_break="first")
    assert train(text, 280, preset="minbpe", pattern="gpt4") == train(text, 280, pattern="gpt4", tie_break="first")
    hf = train(text, 280, preset="hf", special_tokens=["<s>", "</s>"])
    assert hf.special_tokens == {"<s>": 0, "</s>": 1}
    assert hf.definition.pattern.text == "gpt2"
    assert hf.vocab[2] == b"!", "the byte alphabet by code point"
    assert train(text, 280, preset="hf", tie_break="first").training != hf.training, "explicit options win"


def test_every_kind_records_its_training() -> None:
    for kind, options in KINDS.items():
        tok = train([CORPUS, CORPUS], special_tokens=SPECIAL, **options)
        facts = tok.training
        assert facts is not None, kind
        assert facts.documents == 2
        assert facts.corpus_bytes == 2 * len(CORPUS.encode())
        assert facts.num_merges == len(tok.merges)
        assert facts.vocab_size == options["vocab_size"]
        assert facts.pretokens >= facts.distinct_pretokens > 0
        assert facts.seconds is not None


def test_the_log_tells_every_merge(tmp_path: Path) -> None:
    path = tmp_path / "log.tsv"
    tok = train(["abababcab", "abc"], 260, pattern="none", tie_break="first", log=path)
    assert tok.training is not None
    log = tok.training.log
    assert log is not None
    ids = [list(b"abababcab"), list(b"abc")]
    for step, (left, right, new) in zip(log, tok.merges, strict=True):
        pairs = Counter(pair for doc in ids for pair in itertools.pairwise(doc))
        assert step.pair_count == pairs[left, right]
        ids = [_merge(doc, left, right, new) for doc in ids]
        assert step.corpus_tokens == sum(map(len, ids))
        assert step.bytes_per_token == 12 / step.corpus_tokens
        assert step.token == tok.vocab[new]
        assert (step.rank, step.id) == (new - 256, new)
        assert step.tokens_in_use == len({id for doc in ids for id in doc})
    assert log[-1] == log[len(log) - 1]
    assert list(log[1:3]) == [log[1], log[2]]
    names, *rows = [line.split("\t") for line in path.read_text().splitlines()]
    assert names == [
        "rank",
        "id",
        "left",
        "right",
        "pair",
        "token",
        "pair_count",
        "corpus_tokens",
        "tokens_in_use",
        "bytes_per_token",
    ]
    assert len(rows) == len(log)
    assert rows[0][:6] == ["0", "256", "97", "98", "'a'+'b'", "'ab'"]
    assert pickle.loads(pickle.dumps(tok)).training.log is None, "the log is not saved"


def _merge(ids: list[int], left: int, right: int, new: int) -> list[int]:
    out: list[int] = []
    for id in ids:
        out.append(id)
        if out[-2:] == [left, right]:
            out[-2:] = [new]
    return out


def test_logged_bytes_per_token_equal_those_of_measure() -> None:
    tok = train([CORPUS], 500, pattern="o200k")
    assert tok.training is not None
    assert tok.training.log is not None
    assert jeton.measure(tok, [CORPUS], progress=False).bytes_per_token == tok.training.log[-1].bytes_per_token
    assert len(tok.encode(CORPUS)) == tok.training.log[-1].corpus_tokens


def test_progress_events_cover_both_phases() -> None:
    events: list[jeton.ProgressEvent] = []
    jeton.train([CORPUS], 400, progress=events.append)
    phases = list(dict.fromkeys(event.stage for event in events))
    assert phases == ["count", "merge"]
    for phase in phases:
        done = [event.done for event in events if event.stage == phase]
        assert done == sorted(done)
        assert events[-1].done == events[-1].total


def test_an_error_in_the_progress_callback_propagates() -> None:
    def fail(event: jeton.ProgressEvent) -> None:
        if event.stage == "merge":
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        jeton.train([CORPUS], 400, progress=fail)
