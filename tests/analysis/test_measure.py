"""`measure`: compression, by its definitions; tables of tokenizers × sources."""

from __future__ import annotations

import csv
import json
import logging
import os
import signal
import threading
import time
from functools import partial
from pathlib import Path

import pytest

import jeton
from jeton import _core
from jeton.analysis import measure_run
from tests.material import CORPUS, TRICKY, byte_tokenizer, tokenizer

from ..timing import least

DOCS = [CORPUS, "the old tale", "", "今天的天气", *TRICKY]


def by_definition(tok: jeton.Tokenizer, docs: list[str]) -> jeton.analysis.Measure:
    """The measure of documents, from the spans of their tokens."""
    found = jeton.analysis.Measure()
    for doc in docs:
        data, tokens = doc.encode(), tok.tokenize(doc)
        segments = _core.Words([doc])
        words, runs = segments.ranges(0)
        spans = [token.byte_span for token in tokens]

        def num_tokens(start: int, end: int, spans: list[tuple[int, int]] = spans) -> int:
            overlapping = sum(a < end and b > start for a, b in spans if a < b)
            return max(overlapping, 1) + sum(start < a <= end for a, b in spans if a == b)

        in_words = [num_tokens(start, end) for start, end in words]
        in_runs = [num_tokens(start, end) for start, end in runs]
        unk = getattr(tok.definition.model, "unk_token", None)
        found += jeton.analysis.Measure(
            tokens=len(tokens),
            bytes=len(data),
            chars=len(doc),
            documents=1,
            unknown=0 if unk is None else tokens.ids.count(tok.token_to_id(unk)),
            words=len(words),
            word_tokens=sum(in_words),
            whole_words=in_words.count(1),
            unspaced_chars=segments.num_run_chars,
            unspaced_tokens=sum(in_runs),
        )
    return found


def test_figures_by_their_definitions(kind: str) -> None:
    tok = tokenizer(kind)
    docs = [CORPUS, "the old tale", "", "今天的天气"]
    found = jeton.measure(tok, docs, progress=False)
    assert found == by_definition(tok, docs)
    for threads in (1, 2, 4):
        assert jeton.measure(tok, iter(docs), threads=threads, progress=False) == found


def test_lengths_of_tokens_and_their_spans_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    tok = tokenizer("byte gpt2")
    fast = jeton.measure(tok, DOCS, progress=False)
    assert fast == by_definition(tok, DOCS)
    monkeypatch.setattr(measure_run, "SPLITS", ())
    assert jeton.measure(tok, DOCS, progress=False) == fast


def test_figures_of_a_hand_counted_text() -> None:
    tok = byte_tokenizer((97, 98, 256))
    found = jeton.measure(tok, ["abab ab 今"], progress=False)
    assert (found.tokens, found.bytes, found.chars, found.words) == (8, 11, 9, 2)
    assert found.tokens_per_word == 3 / 2
    assert found.whole_word_share == 1 / 2
    assert found.tokens_per_unspaced_char == 3
    assert (found.bytes_per_token, found.chars_per_token) == (11 / 8, 9 / 8)


def test_words_inside_one_token_count_as_whole() -> None:
    tok = jeton.train(["low low"] * 9, 260, pattern="none", progress=False)
    found = jeton.measure(tok, ["low low"], progress=False)
    assert (found.tokens, found.words, found.tokens_per_word, found.whole_word_share) == (1, 2, 1.0, 1.0)


def test_tokens_of_an_expanded_character_belong_to_its_word() -> None:
    """The second part of a ligature has no bytes of its own."""
    file = {
        "model": {"type": "BPE", "vocab": {"f": 0, "i": 1, "n": 2, "e": 3, " ": 4}, "merges": []},
        "normalizer": {"type": "NFKC"},
        "added_tokens": [],
    }
    tok = jeton.Tokenizer.from_bytes(json.dumps(file).encode())
    found = jeton.measure(tok, ["ﬁne ﬁ", "ﬁ"], progress=False)
    assert (found.tokens, found.words, found.word_tokens) == (9, 3, 8)


def test_unknown_tokens_are_counted() -> None:
    tok = jeton.train(["abc"], 6, level="char", unk_token="<unk>", progress=False)
    assert jeton.measure(tok, ["abxyc"], progress=False).unknown == 2
    assert jeton.measure(byte_tokenizer(), ["abxyc"], progress=False).unknown == 0


def test_an_empty_corpus_has_no_ratios() -> None:
    assert jeton.measure(byte_tokenizer(), [], progress=False) == jeton.analysis.Measure()
    empty = jeton.measure(byte_tokenizer(), [""], progress=False)
    assert empty == jeton.analysis.Measure(documents=1)
    assert (empty.bytes_per_token, empty.tokens_per_word, empty.tokens_per_unspaced_char) == (0.0, None, None)


def test_white_space_alone_has_no_words() -> None:
    assert jeton.measure(byte_tokenizer(), ["  "], progress=False).tokens_per_word is None


def test_words_can_be_left_out() -> None:
    tok = tokenizer("byte gpt2")
    found = jeton.measure(tok, [CORPUS], words=False, progress=False)
    assert (found.tokens, found.words, found.tokens_per_word) == (len(tok.encode(CORPUS)), None, None)


def test_special_tokens_in_the_corpus_are_text() -> None:
    tok = byte_tokenizer(special_tokens={"<|end|>": 300})
    assert jeton.measure(tok, ["<|end|>"], progress=False).tokens == 7


def test_files_and_memory_agree(tmp_path: Path) -> None:
    tok = tokenizer("byte gpt2")
    for number, text in enumerate(TRICKY):
        (tmp_path / f"{number:02}.txt").write_bytes(text.encode())
    expected = jeton.measure(tok, TRICKY, progress=False)
    assert jeton.measure(tok, tmp_path, progress=False) == expected
    assert jeton.measure(tok, str(tmp_path / "*.txt"), progress=False) == expected


@pytest.mark.parametrize("name", ["byte gpt2", "char none"])
def test_figures_do_not_depend_on_batches(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tok = tokenizer(name)
    text = "the old man told the older tale\n"
    docs = ["old", text * 100, *["old man "] * 300]
    whole = jeton.measure(tok, docs, progress=False)
    monkeypatch.setattr(measure_run, "BATCH_BYTES", 1000)
    assert jeton.measure(tok, docs, progress=False) == whole
    assert whole.words == 1 + 700 + 600


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    events: list[jeton.ProgressEvent] = []
    toks = [tokenizer("byte gpt2"), tokenizer("byte none")]
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(CORPUS, encoding="utf-8")
    jeton.measure(toks, [tmp_path / "a.txt", tmp_path / "b.txt"], progress=events.append)
    assert {event.stage for event in events} == {"encode"}
    done = [event.done for event in events]
    assert done == sorted(done)
    assert done[-1] == events[-1].total == 2 * len(CORPUS.encode())


def test_a_memory_limit_makes_smaller_batches() -> None:
    tok, docs = tokenizer("byte gpt2"), ["the old man told the older tale\n" * 2000] * 60  # 3.8 MB
    limited: list[jeton.ProgressEvent] = []
    unlimited: list[jeton.ProgressEvent] = []
    limits = jeton.Limits(memory_limit=1 << 20, threads=1)
    found = jeton.measure(tok, docs, limits=limits, progress=limited.append)
    assert found == jeton.measure(tok, docs, progress=unlimited.append)
    assert len(limited) > len(unlimited)
    with pytest.raises(jeton.ConfigError, match="twice"):
        jeton.measure(tok, docs, limits=limits, threads=1)


def test_spans_and_ids_give_the_same_counts(kind: str) -> None:
    """The fast path for tokens that are the bytes of the text, and the path for all tokenizers."""
    tok = tokenizer(kind)._core
    docs = [CORPUS, "", "the old tale", "今天的天气", *TRICKY]
    words = _core.Words(docs)
    batch = tokenizer(kind).encode_batch(docs)
    found = words.count_ids(tok, batch.ids.view("u1"), batch.offsets[1:].tolist())
    assert found in (None, words.count(tok, docs, None, 1))
    assert words.count(tok, docs, None, 1) == words.count(tok, docs, None, 3)
    short = words.count_ids(tok, batch.ids[:-1].view("u1"), [*batch.offsets[1:-1].tolist(), len(batch.ids) - 1])
    assert short is None  # the tokens are not the whole text


@pytest.mark.skipif(os.name == "nt", reason="a process cannot send itself Ctrl-C")
@pytest.mark.parametrize("kind", ["byte o200k", "char gpt2"])
def test_ctrl_c_stops_within_a_second(kind: str) -> None:
    tok, doc = tokenizer(kind), CORPUS * (20_000_000 // len(CORPUS))

    def measure() -> None:
        jeton.measure(tok, [doc], threads=2, progress=False)
        time.sleep(30)  # the measurement was faster

    def seconds_after_interrupt(delay: float) -> float:
        sent: list[float] = []

        def interrupt() -> None:
            sent.append(time.process_time())  # of computation
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(delay, interrupt)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            measure()
        seconds = time.process_time() - sent[0]
        timer.join()
        return seconds

    for delay in (0.05, 0.5):
        assert least(partial(seconds_after_interrupt, delay), 1) < 1


def test_text_that_the_tokenizer_cannot_encode_is_an_error() -> None:
    tok = jeton.train(["abc"], 5, level="char", progress=False)
    with pytest.raises(jeton.InvalidTextError):
        jeton.measure(tok, ["abcd"], progress=False)
    with pytest.raises(jeton.InvalidTextError, match="second, tokenizer chars: "):
        jeton.measure({"bytes": byte_tokenizer(), "chars": tok}, {"first": ["abc"], "second": ["d"]}, progress=False)


def test_time_is_measured_on_request() -> None:
    tok = tokenizer("byte gpt2")
    assert jeton.measure(tok, [CORPUS], progress=False).seconds_per_mb is None
    found = jeton.measure(tok, [CORPUS], repeat=2, progress=False)
    assert found.seconds is not None
    assert found.seconds_per_mb == pytest.approx(found.seconds * 1e6 / found.bytes)
    assert found == jeton.measure(tok, [CORPUS], progress=False)


@pytest.mark.parametrize(
    ("docs", "size", "kept"),
    [
        (["one\ntwo\nthree"], 9, ["one\ntwo\n"]),
        (["one", "two", "three"], 6, ["one", "two"]),
        (["one", "two", "three"], 7, ["one", "two", "t"]),
        (["今天"], 5, ["今"]),
        (["今天"], 6, ["今天"]),
        (["今天"], 2, []),
        (["one"], 99, ["one"]),
    ],
)
def test_max_bytes_measures_the_first_bytes_only(docs: list[str], size: int, kept: list[str]) -> None:
    tok = tokenizer("byte gpt2")
    assert jeton.measure(tok, docs, max_bytes=size, progress=False) == jeton.measure(tok, kept, progress=False)


class TestTables:
    def test_cells_equal_single_measurements(self) -> None:
        toks = {name: tokenizer(name) for name in ("byte gpt2", "char none")}
        texts = {"mixed": [CORPUS], "english": ["the old tale", "told"]}
        table = jeton.measure(toks, texts, progress=False)
        assert (table.tokenizers, table.sources) == (tuple(toks), tuple(texts))
        for source, docs in texts.items():
            for name, tok in toks.items():
                assert table[source, name] == jeton.measure(tok, docs, progress=False)
        assert table.totals[0] == table["mixed", "byte gpt2"] + table["english", "byte gpt2"]

    def test_sources_are_named_by_path_or_number(self, tmp_path: Path) -> None:
        tok = byte_tokenizer()
        for name in ("a.txt", "b.txt"):
            (tmp_path / name).write_text(name)
        a, b = tmp_path / "a.txt", tmp_path / "b.txt"

        def names(corpus: object, **options: bool) -> tuple[str, ...]:
            return jeton.measure([tok], corpus, progress=False, **options).sources  # type: ignore[call-overload,no-any-return]

        assert names(tmp_path) == (str(tmp_path),)
        assert names([a, b]) == (str(a), str(b))
        assert names([jeton.Source(str(a)), jeton.Source(["text"])]) == (str(a), "source 2")
        assert names(jeton.Corpus([jeton.Source(b), a])) == (str(b), str(a))
        assert names(["one", "two"]) == ("source 1",)
        assert names({"x": a, "y": ["two"]}) == ("x", "y")
        with a.open("rb") as stream:
            assert names(stream) == (str(a),)
        assert names(tmp_path, by_file=True) == (str(a), str(b))
        assert names(str(tmp_path / "*.txt"), by_file=True) == (str(a), str(b))
        assert names([jeton.Source(tmp_path), jeton.Source(["text"])], by_file=True) == (str(a), str(b), "source 2")

    def test_options_of_reading_apply_to_each_source(self) -> None:
        rows = [jeton.Source([{"body": "one two"}]), jeton.Source([{"title": "three"}], field="title")]
        table = jeton.measure([byte_tokenizer()], jeton.Corpus(rows, field="body"), progress=False)
        assert [cells[0].tokens for cells in table.cells] == [7, 5]

    def test_skipped_records_are_logged_by_source(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING, "jeton"):
            texts = {"good": [b"ok"], "bad": jeton.Corpus([b"\xff", b"ok"], errors="skip")}
            table = jeton.measure([byte_tokenizer()], texts, progress=False)
        assert table["bad", "1"].documents == 1
        assert [record.getMessage().startswith("bad: ") for record in caplog.records] == [True]

    def test_ratios_are_relative_to_the_baseline(self) -> None:
        toks = {"fine": byte_tokenizer(), "coarse": tokenizer("byte gpt2")}
        texts = {"z": ["the old tale"], "a": ["x" * 40], "none": ["  "]}
        table = jeton.measure(toks, texts, progress=False)
        assert table.relative(table.cells[0]) == (1.0, table["z", "coarse"].tokens / 12)
        other = table.relative_to("coarse")
        assert other.relative(other.cells[0]) == (12 / table["z", "coarse"].tokens, 1.0)
        assert table.sorted_by("name").sources == ("a", "none", "z")
        assert table.sorted_by("bytes").sources == ("a", "z", "none")
        assert table.sorted_by("tokens_per_word").sources == ("a", "z", "none")  # the source "none" has no words
        assert table.sorted_by("name")["z", "fine"] == table["z", "fine"]
        with pytest.raises(jeton.ConfigError, match="sort='size': expected name, tokens"):
            table.sorted_by("size")
        with pytest.raises(jeton.ConfigError, match="baseline='other' is not in the table; it has: fine, coarse"):
            table.relative_to("other")
        with pytest.raises(jeton.ConfigError, match="source='b' is not in the table"):
            table["b", "fine"]

    def test_records_are_written_as_csv_and_json(self) -> None:
        toks = {"fine": byte_tokenizer(), "coarse": tokenizer("byte gpt2")}
        table = jeton.measure(toks, {"a, b": ["the old tale"], "c": ["今天"]}, progress=False)
        records = table.records()
        assert [(record["source"], record["tokenizer"]) for record in records[:3]] == [
            ("a, b", "fine"),
            ("a, b", "coarse"),
            ("c", "fine"),
        ]
        assert len(records) == 6
        assert {"tokens": 12, "tokens_per_unspaced_char": None, "relative_tokens": 1.0}.items() <= records[0].items()
        rows = list(csv.DictReader(table.to_csv().splitlines()))
        assert [row["source"] for row in rows] == [record["source"] for record in records]
        assert (rows[0]["tokens"], rows[0]["tokens_per_unspaced_char"]) == ("12", "")
        facts = json.loads(json.dumps(table.to_json()))
        assert facts["cells"][0][1]["tokens"] == table["a, b", "coarse"].tokens

    def test_a_table_of_one_source_has_no_total(self) -> None:
        table = jeton.measure([byte_tokenizer()], ["the old tale"], progress=False)
        assert len(table.records()) == 1
        assert str(table).splitlines() == [
            "source    tokens  bytes/tok  chars/tok  tok/word  whole words",
            "source 1      12      1.000      1.000     3.333         0.0%",
        ]

    @pytest.mark.parametrize("width", [60, 70, 80, 120])
    def test_table_fits_the_terminal_width(self, width: int) -> None:
        toks = {
            f"folder/{'very/' * 9}long{i}.json": tokenizer(name) for i, name in enumerate(("byte gpt2", "byte none"))
        }
        table = jeton.measure(toks, {"texts/" * 9 + "今天.txt": [CORPUS], "short": ["old"]}, repeat=1, progress=False)
        lines = table.to_terminal(width=width).splitlines()
        assert all(len(line) <= width for line in lines)
        assert "bytes/tok" in lines[0]
        assert "tok/word" in lines[0]
        assert any("0.json" in line for line in lines)

    def test_html_is_escaped(self) -> None:
        table = jeton.measure({"<b>": byte_tokenizer()}, {"a & b": ["text"]}, progress=False)
        page = table._repr_html_()
        assert "&lt;b&gt;" in page
        assert "a &amp; b" in page
        assert page.count("<tr>") == page.count("</tr>") == 2

    @pytest.mark.parametrize("suffix", [".svg", ".png"])
    def test_plots_are_reproducible_files(self, tmp_path: Path, suffix: str) -> None:
        table = jeton.measure({"_a$1$": byte_tokenizer(), "b": byte_tokenizer()}, {"_x": ["text"]}, progress=False)
        for name in ("one", "two"):
            table.plot(tmp_path / f"{name}{suffix}")
        assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()
        with pytest.raises(jeton.ConfigError, match=r"a plot ends in \.png"):
            table.plot(tmp_path / "plot.txt")

    def test_wrong_arguments_are_refused(self) -> None:
        tok = byte_tokenizer()
        for call, message in (
            (lambda: jeton.measure([], ["text"]), "tok is empty"),
            (lambda: jeton.measure([tok], {}), "corpus is empty"),
            (lambda: jeton.measure([tok, "gpt2"], ["text"]), r"tok\['2'\]='gpt2' is not a Tokenizer"),
            (lambda: jeton.measure(tok, ["text"], by_file=True), "pass a list of tokenizers"),
            (lambda: jeton.measure(tok, ["text"], max_bytes=0), "max_bytes=0 is not a positive integer"),
            (lambda: jeton.measure(tok, ["text"], repeat=-1), "repeat=-1 is not an integer from 0"),
            (lambda: jeton.measure([tok], {"x": 5}), "corpus is of type int"),
        ):
            with pytest.raises(jeton.ConfigError, match=message):
                call()
