"""Sources of a corpus beside local text: Parquet, URLs, rows, datasets; weights, samples, and skipped records."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton._core import TextColumn
from jeton.corpus import DocumentReader, Source, open_corpus
from jeton.corpus.streams import BLOCK_BYTES, line_blocks
from jeton.errors import ConfigError, FormatError, InvalidTextError, MissingDependencyError

ROWS = [{"id": i, "text": f"row {i}: naïve café 一枚筹码\n" * (i % 5)} for i in range(5000)]
TEXTS = [str(row["text"]) for row in ROWS]


def texts(corpus: DocumentReader) -> list[str]:
    return [document.data.decode() for document in corpus]


def in_batches(corpus: DocumentReader, size: int = 1 << 16) -> list[tuple[str, str]]:
    return [
        (text.decode(), batch.source(index)) for batch in corpus.batches(size) for index, text in enumerate(batch.texts)
    ]


def jsonl(path: Path, *lines: object) -> Path:
    path.write_bytes(
        b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)
    )
    return path


def parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path, row_group_size=700)
    return path


class TestParquet:
    def test_each_row_is_a_document_in_order(self, tmp_path: Path) -> None:
        path = parquet(tmp_path / "rows.parquet", id=list(range(5000)), text=TEXTS)
        corpus = open_corpus(path)
        assert texts(corpus) == TEXTS
        assert [document.source for document in corpus][699:701] == [f"{path}:700", f"{path}:701"]
        assert corpus.num_documents == 5000
        assert corpus.bytes_read == corpus.total_bytes == path.stat().st_size

    @pytest.mark.parametrize(
        "kind", [pa.large_string(), pa.binary(), pa.large_binary(), pa.dictionary(pa.int32(), pa.string())]
    )
    def test_columns_of_text_of_every_type_are_read(self, tmp_path: Path, kind: pa.DataType) -> None:
        column = pa.array(TEXTS[:100]).cast(kind)
        assert texts(open_corpus(parquet(tmp_path / "rows.parquet", body=column), field="body")) == TEXTS[:100]

    def test_a_compressed_parquet_file_is_read(self, tmp_path: Path) -> None:
        path = parquet(tmp_path / "rows.parquet", text=TEXTS)
        packed = tmp_path / "rows.parquet.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        assert texts(open_corpus(packed)) == TEXTS

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"body": ["x"]}, r"no column 'text' \(there are: 'body'\); name the right one with field="),
            ({"text": [1]}, "the column 'text' is of type int64, expected a string"),
            ({"text": ["x", None]}, r"rows\.parquet:2: the field 'text' is a null"),
        ],
    )
    def test_wrong_columns_are_named(self, tmp_path: Path, columns: dict[str, Any], message: str) -> None:
        path = parquet(tmp_path / "rows.parquet", **columns)
        with pytest.raises(FormatError, match=message):
            list(open_corpus(path))

    def test_damaged_files_are_errors(self, tmp_path: Path) -> None:
        whole = parquet(tmp_path / "whole.parquet", text=TEXTS).read_bytes()
        path = tmp_path / "rows.parquet"
        damaged = bytearray(whole)
        damaged[len(whole) // 2 :] = bytes(len(whole) - len(whole) // 2)
        for data in (b"", b"PAR1", whole[: len(whole) // 2], bytes(damaged), whole[:-8] + b"\xff" * 4 + b"PAR1"):
            path.write_bytes(data)
            with pytest.raises(FormatError, match=r"rows\.parquet"):
                list(open_corpus(path))

    def test_a_damaged_name_of_a_column(self, tmp_path: Path) -> None:
        path = parquet(tmp_path / "rows.parquet", text=["x"], other=["y"])
        path.write_bytes(path.read_bytes().replace(b"other", b"\xd3ther"))
        with pytest.raises(FormatError, match=r"rows\.parquet: corrupt Parquet data"):
            list(open_corpus(path))

    def test_conversations_that_are_not_utf8(self, tmp_path: Path) -> None:
        tok = jeton.default().with_chat_template("{% generation %}{{ messages[0].content }}{% endgeneration %}")
        content = pa.array([b"caf\xe9"]).view(pa.string())
        messages = pa.StructArray.from_arrays([pa.array(["user"]), content], ["role", "content"])
        path = parquet(tmp_path / "rows.parquet", messages=pa.ListArray.from_arrays([0, 1], messages))
        with pytest.raises(FormatError, match=r"rows\.parquet: corrupt Parquet data"):
            jeton.shards.make(path, tmp_path / "out", tok, chat=True, format="bin", progress=False)

    def test_text_that_is_not_utf8(self, tmp_path: Path) -> None:
        path = parquet(tmp_path / "rows.parquet", text=pa.array([b"fine", b"caf\xe9"]))
        with pytest.raises(InvalidTextError, match=r"rows\.parquet:2: byte 3"):
            list(open_corpus(path))
        assert texts(open_corpus(path, errors="replace")) == ["fine", "caf\ufffd"]

    def test_no_pyarrow_names_the_extra(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = parquet(tmp_path / "rows.parquet", text=["x"])
        monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
        with pytest.raises(MissingDependencyError, match=r"jeton\[data\]"):
            list(open_corpus(path))


class TestUrls:
    @pytest.fixture
    def memory(self) -> Iterator[Any]:
        import fsspec

        system = fsspec.filesystem("memory")
        files = {
            "b.txt": b"b",
            "a/z.txt": b"z",
            "a-b/x.txt.gz": gzip.compress(b"x"),
            "a/.hidden": b"no",
            ".git/c": b"no",
        }
        for name, data in files.items():
            system.pipe(f"/corpus/{name}", data)
        yield system
        system.store.clear()

    def test_a_folder_a_glob_and_a_file_are_read(self, memory: Any) -> None:
        corpus = open_corpus("memory://corpus")
        assert texts(corpus) == ["z", "x", "b"]
        assert [document.source for document in corpus] == [
            "memory:///corpus/a/z.txt", "memory:///corpus/a-b/x.txt.gz", "memory:///corpus/b.txt",
        ]  # fmt: skip
        assert corpus.total_bytes == corpus.bytes_read
        assert texts(open_corpus("memory://corpus/a*")) == ["z", "x"]
        assert texts(open_corpus(["memory://corpus/b.txt"])) == ["memory://corpus/b.txt"]  # a str in a list is text
        assert texts(open_corpus([Source("memory://corpus/b.txt")])) == ["b"]

    def test_wildcards_do_not_match_hidden_files(self, memory: Any) -> None:
        listing = jeton.Corpus("memory://corpus/*").listing()
        assert listing.files == (
            "memory:///corpus/a/z.txt", "memory:///corpus/a-b/x.txt.gz", "memory:///corpus/b.txt",
        )  # fmt: skip
        assert list(map(str, listing.unread)) == ["2 hidden (.git/c, a/.hidden)"]
        memory.pipe("/corpus/.d.txt", b"no")
        assert texts(open_corpus("memory://corpus/*.txt")) == ["b"]
        assert texts(open_corpus("memory://corpus/.*.txt")) == ["no"]

    def test_rows_and_parquet_are_read_from_urls(self, memory: Any, tmp_path: Path) -> None:
        memory.pipe("/rows/a.jsonl", b'{"text": "one"}\n{"text": "two"}')
        memory.pipe("/rows/b.parquet", parquet(tmp_path / "b.parquet", text=["three"]).read_bytes())
        assert in_batches(open_corpus("memory://rows"))[1:] == [
            ("two", "memory:///rows/a.jsonl:2"), ("three", "memory:///rows/b.parquet:1"),
        ]  # fmt: skip

    def test_missing_files_and_unknown_protocols_are_errors(self, memory: Any) -> None:
        for url in ("memory://nowhere", "memory://corpus/*.md"):
            with pytest.raises(FileNotFoundError):
                open_corpus(url)
        with pytest.raises(ConfigError, match="nosuchprotocol"):
            open_corpus("nosuchprotocol://a")

    def test_no_fsspec_names_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
        with pytest.raises(MissingDependencyError, match=r"jeton\[data\]"):
            open_corpus("s3://bucket/key")

    def test_a_server_that_fails_is_an_os_error(self, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        class GoneError(Exception):
            pass

        def gone(*_: object, **__: object) -> None:
            raise GoneError("the line is dead")

        corpus = open_corpus("memory://corpus/b.txt")
        monkeypatch.setattr(type(memory), "open", gone)
        with pytest.raises(OSError, match="GoneError: the line is dead"):
            list(corpus)


class TestRows:
    def test_mappings_are_rows(self) -> None:
        assert texts(open_corpus(iter(ROWS))) == TEXTS
        assert texts(open_corpus([{"body": "a"}, "b", b"c"], field="body")) == ["a", "b", "c"]
        with pytest.raises(FormatError, match=r"corpus\[1\]: the row has no field 'text' \(it has: 'body'\)"):
            list(open_corpus([{"text": "a"}, {"body": "b"}]))

    def test_a_dataset_of_damaged_arrow_data_is_refused(self) -> None:
        datasets = pytest.importorskip("datasets")
        offsets = np.array([0, 3, 2, 6], np.int32)
        wrong = pa.Array.from_buffers(pa.string(), 3, [None, pa.py_buffer(offsets), pa.py_buffer(b"abcdef")])
        dataset = datasets.Dataset(datasets.table.InMemoryTable(pa.table({"text": wrong})))
        with pytest.raises(FormatError, match="the dataset has Arrow data that is not valid"):
            texts(open_corpus(dataset))
        assert texts(open_corpus(datasets.Dataset.from_dict({"text": TEXTS[:9]}))) == TEXTS[:9]

    def test_datasets_are_read_by_row(self, tmp_path: Path) -> None:
        datasets = pytest.importorskip("datasets")
        columns = {"id": list(range(5000)), "text": TEXTS}
        dataset = datasets.Dataset.from_dict(columns)
        for corpus in (dataset, dataset.to_iterable_dataset(num_shards=3)):
            assert in_batches(open_corpus(corpus)) == [(text, f"corpus[{i}]") for i, text in enumerate(TEXTS)]
        with pytest.raises(ConfigError, match=r"no column 'body' \(it has: 'id', 'text'\)"):
            list(open_corpus(dataset, field="body"))
        with_null = datasets.Dataset.from_dict({"text": ["a", None, "c"]})
        with pytest.raises(FormatError, match=r"corpus\[1\]: the field 'text' is a null"):
            list(open_corpus(with_null))
        assert texts(open_corpus(with_null, errors="skip")) == ["a", "c"]

    @given(
        st.lists(
            st.dictionaries(
                st.sampled_from(["text", "t", "b"]), st.text() | st.integers() | st.none() | st.lists(st.text())
            )
            | st.text(max_size=8)
            | st.floats(),
            max_size=8,
        ),
        st.booleans(),
    )
    def test_the_core_reads_rows_as_python_does_or_declines(self, rows: list[Any], ascii: bool) -> None:
        lines = b"".join(json.dumps(row, ensure_ascii=ascii).encode("utf-8", "surrogatepass") + b"\n" for row in rows)
        column, unread = TextColumn.from_json_rows(lines, "text")
        for index, (row, text) in enumerate(zip(rows, column.to_list(), strict=True)):
            value = row.get("text") if isinstance(row, dict) else None
            if index not in unread:
                assert text.decode() == value
            elif isinstance(value, str):
                assert not all(math_ok(other) for other in row.values()) or any(
                    "\ud800" <= c <= "\udfff" for c in value
                )

    def test_blocks_are_whole_lines_whatever_a_stream_gives(self) -> None:
        rng = random.Random(1)
        data = b"\n".join(b"x" * rng.choice([0, 1, 7, 300_000]) for _ in range(60))
        for tail in (b"", b"\n", b"\n\n"):
            blocks = list(line_blocks(io.BytesIO(data + tail), "x"))
            assert b"".join(block.data for block in blocks) == data + tail
            assert all(block.data.endswith(b"\n") for block in blocks[:-1])
            offset = number = 0
            for block in blocks:
                assert (block.offset, block.first) == (offset, number + 1)
                offset, number = offset + len(block.data), number + block.data.count(b"\n")

    def test_a_line_longer_than_a_block_is_read_whole(self, tmp_path: Path) -> None:
        long = "é" * BLOCK_BYTES
        path = jsonl(tmp_path / "rows.jsonl", {"text": "a"}, {"text": long}, {"text": "b"})
        assert texts(open_corpus(path)) == ["a", long, "b"]


def math_ok(value: object) -> bool:
    return not isinstance(value, float)


class TestWeights:
    EN, ZH = ["low low lower", "lowest"], ["今天 天气", "low"]

    def test_counts_are_multiplied_and_rounded_half_to_even(self) -> None:
        plain = [jeton.count_pretokens(text, pattern="gpt2") for text in (self.EN, self.ZH)]
        for weights in ([2, 1], [1, 3], [0.5, 1.5], [Fraction(1, 3), 2], [0.1, 7]):
            sources = [Source(text, weight) for text, weight in zip((self.EN, self.ZH), weights, strict=True)]
            expected: dict[bytes, int] = {}
            for counts, source in zip(plain, sources, strict=True):
                for pretoken, count in counts.items():
                    weighed = round(count * source.exact_weight)  # Python rounds fractions half to even
                    if weighed:
                        expected[pretoken] = expected.get(pretoken, 0) + weighed
            assert jeton.count_pretokens(sources, pattern="gpt2").items() == list(expected.items())

    def test_an_integer_weight_equals_repeated_documents(self) -> None:
        weighted = jeton.train([Source(self.EN, 3), Source(self.ZH)], 262, pattern="gpt2", progress=False)
        repeated = jeton.train(self.EN * 3 + self.ZH, 262, pattern="gpt2", progress=False)
        assert weighted.merges == repeated.merges

    def test_weight_one_changes_nothing(self, tmp_path: Path) -> None:
        paths = [tmp_path / f"{i}.txt" for i in range(30)]
        for i, path in enumerate(paths):
            path.write_text(f"text number {i}")
        plain, sources = jeton.count_pretokens(paths), jeton.count_pretokens([Source(path) for path in paths])
        assert plain.items() == sources.items()
        assert (sources.documents, sources.corpus_bytes) == (30, plain.corpus_bytes)

    def test_a_source_has_options_of_its_own(self, tmp_path: Path) -> None:
        rows = jsonl(tmp_path / "rows.jsonl", {"body": "a"})
        lines = tmp_path / "lines.txt"
        lines.write_text("b\nc\n")
        assert texts(open_corpus([Source(rows, field="body"), Source(lines, documents="line"), lines])) == [
            "a", "b", "c", "b\nc\n",
        ]  # fmt: skip

    def test_weights_apply_with_little_memory_and_from_a_checkpoint(self, tmp_path: Path) -> None:
        rng = random.Random(3)
        texts = [[f"{rng.randrange(10**7)} " * 3 for _ in range(20_000)] for _ in range(2)]
        sources = [Source(texts[0], 2), Source(texts[1], 0.5)]
        expected = jeton.count_pretokens(sources, pattern="gpt2", progress=False)
        spilled = jeton.count_pretokens(
            sources, pattern="gpt2", limits=jeton.Limits(memory_limit="1MiB"), progress=False
        )
        assert spilled == expected
        seen = []

        def stop(event: jeton.ProgressEvent) -> None:
            seen.append(event)
            if len(seen) == 2:
                raise KeyboardInterrupt

        folder = tmp_path / "checkpoint"
        options: dict[str, Any] = {"pattern": "gpt2", "limits": jeton.Limits(checkpoint=folder)}
        with pytest.raises(KeyboardInterrupt):
            jeton.count_pretokens(sources, progress=stop, **options)
        assert (folder / "source-0000" / "state.json").exists()
        assert jeton.count_pretokens(sources, progress=False, **options) == expected
        assert jeton.count_pretokens(sources, progress=False, **options) == expected
        with pytest.raises(ConfigError, match="belongs to another corpus"):
            jeton.count_pretokens([Source(texts[1], 2), sources[1]], progress=False, **options)

    def test_rare_pretokens_are_left_out_of_the_sum(self) -> None:
        counts = jeton.count_pretokens([Source(["a b"], 2), Source(["a c c c"], 1)], pattern="gpt2", min_count=3)
        assert counts.items() == [(b"a", 3), (b" c", 3)]
        assert counts.dropped is not None
        assert (counts.dropped.distinct, counts.dropped.occurrences) == (1, 2)

    @pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), True, "2"])
    def test_an_invalid_weight_is_refused(self, weight: Any) -> None:
        with pytest.raises(ConfigError, match=r"weight=.* is not a positive number"):
            Source("x", weight)

    def test_documents_among_sources_are_refused(self) -> None:
        with pytest.raises(ConfigError, match=r"corpus\[1\] is of type str, but other items are sources"):
            open_corpus([Source(["a"]), "b"])  # type: ignore[list-item]
        with pytest.raises(ConfigError, match="put sources into a list"):
            list(open_corpus(iter([Source(["a"])])))


class TestSamples:
    DOCUMENTS = tuple(f"document {i} " * (i % 50 + 1) for i in range(3000))

    def sample(self, corpus: Any, num_bytes: int = 100_000, seed: int = 0, **options: Any) -> list[str]:
        return texts(open_corpus(corpus, sample_bytes=num_bytes, seed=seed, **options))

    def test_a_sample_has_whole_documents_in_order_from_the_whole_corpus(self) -> None:
        chosen = self.sample(self.DOCUMENTS)
        positions = [self.DOCUMENTS.index(text) for text in chosen]
        assert positions == sorted(positions)
        size = sum(map(len, chosen))
        assert 100_000 <= size < 100_000 + 2 * max(map(len, self.DOCUMENTS))
        quarters = [sum(1 for p in positions if p * 4 // 3000 == q) / len(positions) for q in range(4)]
        assert all(0.15 < share < 0.35 for share in quarters)

    def test_a_sample_does_not_depend_on_grouping_or_streaming(self, tmp_path: Path) -> None:
        expected = self.sample(self.DOCUMENTS)
        for cut in (1, 700, 2999):
            folder = tmp_path / str(cut)
            folder.mkdir()
            for number, part in enumerate((self.DOCUMENTS[:cut], self.DOCUMENTS[cut:])):
                jsonl(folder / f"{number}.jsonl", *({"text": text} for text in part))
            assert self.sample(folder) == expected
            assert [text for text, _ in in_batches(open_corpus(folder, sample_bytes=100_000))] == expected
            assert self.sample([Source(folder / "0.jsonl"), Source(folder / "1.jsonl", 2)]) == expected
        assert self.sample(iter(self.DOCUMENTS)) == expected
        assert self.sample(io.BytesIO("\n".join(self.DOCUMENTS).encode()), documents="line") == expected

    def test_a_larger_sample_contains_the_smaller_one(self) -> None:
        small, large = self.sample(self.DOCUMENTS, 50_000), self.sample(self.DOCUMENTS, 200_000)
        assert set(small) < set(large)
        assert self.sample(self.DOCUMENTS, 10**9) == list(self.DOCUMENTS) == self.sample(iter(self.DOCUMENTS), 10**9)
        other = self.sample(self.DOCUMENTS, 50_000, seed=1)
        assert len(set(small) & set(other)) < len(small) / 4

    def test_the_sample_is_recorded_in_the_training_facts(self) -> None:
        tok = jeton.train(jeton.Corpus(self.DOCUMENTS, sample_bytes=20_000, seed=7), 300, progress=False)
        assert tok.training is not None
        assert (tok.training.sample_bytes, tok.training.seed) == (20_000, 7)
        assert 20_000 <= tok.training.corpus_bytes < 22_000

    @pytest.mark.parametrize("options", [{"sample_bytes": 0}, {"sample_bytes": 1.5}, {"sample_bytes": 1, "seed": -1}])
    def test_invalid_options_are_refused(self, options: dict[str, Any]) -> None:
        with pytest.raises(ConfigError, match="integer"):
            open_corpus(["a"], **options)

    @given(st.lists(st.integers(0, 40), max_size=60), st.integers(1, 800), st.integers(0, (1 << 64) - 1))
    def test_a_sample_equals_that_of_plain_python(self, sizes: list[int], num_bytes: int, seed: int) -> None:
        documents = [chr(65 + i % 26) * size for i, size in enumerate(sizes)]
        bins = [splitmix(index + 1, splitmix(1, seed)) >> 44 for index in range(len(documents))]
        taken: set[int] = set()
        for bin in sorted(set(bins)):
            if sum(sizes[i] for i in taken) >= num_bytes:
                break
            taken |= {i for i in range(len(documents)) if bins[i] == bin}
        expected = [documents[i] for i in sorted(taken)]
        assert self.sample(documents, num_bytes, seed) == expected
        assert self.sample(iter(documents), num_bytes, seed) == expected


def splitmix(steps: int, state: int) -> int:
    """The output of SplitMix64 after a number of steps from a state, as published by its authors."""
    mask = (1 << 64) - 1
    z = (state + steps * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


class TestSkipped:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """Valid records, and broken ones of every kind."""
        jsonl(
            tmp_path / "a.jsonl",
            {"text": "one"}, b'{"text": "cut', {"body": "x"}, {"text": 3}, b'{"text": "\\ud800"}', b'{"text": "\xff"}',
            ["x"], {"text": "two"}, b'{"text"', b"", b'{"id": NaN, "text": "three"}',
        )  # fmt: skip
        whole = gzip.compress(b"".join(b'{"text": "%d"}\n' % i for i in range(100_000)))
        (tmp_path / "b.jsonl.gz").write_bytes(whole[: len(whole) // 2])
        (tmp_path / "c.txt").write_bytes(b"caf\xe9")
        (tmp_path / "d.parquet").write_bytes(b"PAR1")
        (tmp_path / "e.txt").write_text("last")
        return tmp_path

    def test_skipped_records_are_counted_by_kind_with_first_places(self, folder: Path) -> None:
        corpus = open_corpus(folder, errors="skip")
        found = texts(corpus)
        assert found[:3] == ["one", "two", "three"]
        assert found[-1] == "last"
        assert found[3:-1] == [str(i) for i in range(len(found) - 4)]
        assert len(found) > 40_000  # the rows before the truncation
        skipped = {kind: (s.count, [Path(place).name for place in s.places]) for kind, s in corpus.skipped.items()}
        assert skipped == {
            "not a JSON row": (2, ["a.jsonl:2", "a.jsonl:9"]),
            "without the field 'text'": (1, ["a.jsonl:3"]),
            "without a string in 'text'": (1, ["a.jsonl:4"]),
            "lone surrogate": (1, ["a.jsonl:5"]),
            "not UTF-8": (2, ["a.jsonl:6", "c.txt"]),
            "not an object": (1, ["a.jsonl:7"]),
            "file that cannot be read": (2, ["b.jsonl.gz", "d.parquet"]),
        }
        assert corpus.num_skipped == 10
        assert [text for text, _ in in_batches(corpus)] == found
        assert corpus.num_skipped == 10

    def test_skipped_records_are_reported_once_and_recorded(
        self, folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        tok = jeton.train(jeton.Corpus(folder, errors="skip"), 300, progress=False)
        assert tok.training is not None
        assert tok.training.records_skipped == 10
        (message,) = [record.getMessage() for record in caplog.records if "skipped" in record.getMessage()]
        assert message.startswith("skipped 10 records: 2 not a JSON row (")
        with pytest.raises(jeton.JetonError):
            jeton.train(folder, 300, progress=False)
        counts = jeton.count_pretokens(jeton.Corpus(folder, errors="skip"), progress=False)
        assert sum(counts.skipped.values()) == 10
        assert (counts + counts).skipped["lone surrogate"] == 2
        counts.save(tmp_path / "counts.jtc")
        assert jeton.Counts.load(tmp_path / "counts.jtc") == counts

    def test_invalid_documents_in_memory_are_skipped(self) -> None:
        corpus = open_corpus(["a", b"\xff", "x\udc80", {"b": 1}, "c"], errors="skip")
        assert [document.source for document in corpus] == ["corpus[0]", "corpus[4]"]
        assert corpus.num_skipped == 3

    def test_invalid_lines_are_skipped(self) -> None:
        corpus = open_corpus(io.BytesIO(b"a\r\n\xff\nb\n"), documents="line", errors="skip")
        assert [(d.data, d.source) for d in corpus] == [(b"a", "stream:1"), (b"b", "stream:3")]

    def test_a_file_that_cannot_be_opened(self, tmp_path: Path) -> None:
        (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
        (tmp_path / "loop.txt").symlink_to(tmp_path / "loop.txt")
        (tmp_path / "z.txt").write_text("sound")
        corpus = open_corpus(tmp_path, errors="skip")
        assert texts(corpus) == ["sound"]
        assert corpus.skipped["file that cannot be read"].places == tuple(
            str(tmp_path / name) for name in ("gone.txt", "loop.txt")
        )
        for errors in ("strict", "replace"):
            with pytest.raises(OSError, match=r"gone\.txt"):
                list(open_corpus(tmp_path, errors=errors))


class TestBatches:
    def test_batches_contain_the_documents(self, tmp_path: Path) -> None:
        paths = [jsonl(tmp_path / "a.jsonl", *ROWS), tmp_path / "b.txt", parquet(tmp_path / "c.parquet", text=TEXTS)]
        paths[1].write_text("text" * 50_000)
        corpus = open_corpus(tmp_path)
        documents = [(document.data.decode(), document.source) for document in corpus]
        for size in (1, 1000, 1 << 20):
            assert in_batches(corpus, size) == documents
        assert corpus.num_documents == len(documents) == 10_001

    def test_the_reading_thread_ends_with_the_loop(self, tmp_path: Path) -> None:
        path = tmp_path / "lines.txt"
        path.write_bytes(b"line\n" * 5_000_000)
        before = threading.active_count()
        for batch in open_corpus(path, documents="line").batches(1000):
            assert batch.texts[0] == b"line"
            break
        assert threading.active_count() == before
        with pytest.raises(InvalidTextError):
            list(open_corpus([path, jsonl(tmp_path / "x.txt", b"\xff")]).batches())
        assert threading.active_count() == before

    def test_ctrl_c_ends_reading_from_an_idle_pipe(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        code = f"import jeton; print('ready', flush=True); jeton.count_pretokens({str(pipe)!r})"
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        with open(pipe, "wb") as writer:
            writer.write(b"some text")
            writer.flush()
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            began = time.perf_counter()
            _, err = process.communicate(timeout=30)
        assert b"KeyboardInterrupt" in err
        assert time.perf_counter() - began < 5  # a second on an idle machine

    def test_read_ahead_is_bounded(self, tmp_path: Path) -> None:
        for i in range(20):
            (tmp_path / f"{i}.txt").write_bytes(b"x" * 1_000_000)
        corpus = open_corpus(tmp_path)
        batches = corpus.batches(1_000_000)
        next(batches)
        time.sleep(0.05)
        assert corpus.num_files <= 3
        assert len(list(batches)) == 19


def test_large_documents_of_bytes_are_not_read_far_ahead() -> None:
    drawn = 0

    def documents() -> Iterator[bytes]:
        nonlocal drawn
        for _ in range(200):
            drawn += 1
            yield b"x" * 1_000_000

    read = iter(open_corpus(documents()).batches(1 << 20))
    for _ in range(20):
        next(read)
    assert drawn < 120


def test_sampled_lines_fill_batches() -> None:
    lines = "\n".join("a line of some length " * 4 for _ in range(20_000)).encode()
    corpus = open_corpus(io.BytesIO(lines), documents="line", sample_bytes=100_000)
    assert max(len(batch.texts) for batch in corpus.batches()) > 500


def test_a_corpus_has_the_options_of_reading(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(b'{"body": "to be"}\n{"body": "or not to be"}\n')
    corpus = jeton.Corpus(tmp_path / "rows.jsonl", field="body")
    expected = jeton.count_pretokens(["to be", "or not to be"], pattern="gpt2")
    assert jeton.count_pretokens(corpus, pattern="gpt2") == expected
    assert jeton.train(corpus, 260, progress=False) == jeton.train(["to be", "or not to be"], 260, progress=False)
    tok = jeton.train(corpus, 260, progress=False)
    assert jeton.measure(tok, corpus) == jeton.measure(tok, ["to be", "or not to be"])
    for options in ({"documents": "page"}, {"errors": "ignore"}, {"field": 3}):
        with pytest.raises(ConfigError) as caught:
            jeton.Corpus(["some text"], **options)  # type: ignore[arg-type]
        assert caught.value.option == next(iter(options))


def test_counts_in_a_corpus_are_counts(tmp_path: Path) -> None:
    counts = jeton.count_pretokens(["low low lower"], pattern="gpt2")
    counts.save(tmp_path / "low.jtc")
    corpus = jeton.Corpus([Source(tmp_path / "low.jtc", 2)])
    expected = jeton.train(counts + counts, 258, pattern="gpt2", progress=False)
    assert jeton.train(corpus, 258, pattern="gpt2", progress=False) == expected


def test_threads_are_given_once() -> None:
    with pytest.raises(ConfigError, match="threads= is given twice"):
        jeton.count_pretokens(["a"], threads=1, limits=jeton.Limits(threads=2))
    with pytest.raises(ConfigError, match=r"limits=3 is not a jeton\.Limits or None"):
        jeton.count_pretokens(["a"], limits=3)  # type: ignore[arg-type]


class TestSmallFiles:
    """Small files are read in groups; results equal reading them one by one."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        for i, data in enumerate([b"one", b"", "zwölf".encode(), b"x" * 70_000 + b"\n", b"last"]):
            (tmp_path / f"{i}.txt").write_bytes(data)
        return tmp_path

    def test_a_group_is_one_chunk_that_names_each_file(self, folder: Path) -> None:
        corpus = open_corpus(folder)
        (batch,) = corpus.batches()
        assert len(batch.chunks) == 1
        assert batch.texts == [document.data for document in open_corpus(folder)]
        assert [batch.source(i) for i in range(5)] == [document.source for document in open_corpus(folder)]
        assert batch.place(3) == (str(folder / "3.txt"), None)
        assert (corpus.num_files, corpus.num_documents, corpus.num_empty) == (5, 5, 1)
        assert corpus.bytes_read == corpus.total_bytes
        chosen = batch.chunks[0].select([4, 2])
        assert [chosen.source(i) for i in range(2)] == [str(folder / "4.txt"), str(folder / "2.txt")]

    def test_both_sides_of_a_split_name_their_files(self, folder: Path) -> None:
        sides = open_corpus(folder).split(0.5, seed=1)
        found = [batch.source(i) for side in sides for batch in side.batches() for i in range(len(batch))]
        assert sorted(set(found)) == [str(folder / f"{i}.txt") for i in range(5)]

    def test_an_invalid_file_in_a_group_is_reported_by_its_name(self, folder: Path) -> None:
        (folder / "2.txt").write_bytes(b"caf\xe9")
        with pytest.raises(InvalidTextError, match=r"2\.txt: byte 3"):
            list(open_corpus(folder).batches())
        skipping = open_corpus(folder, errors="skip")
        assert [text for batch in skipping.batches() for text in batch.texts][2:] == [b"x" * 70_000 + b"\n", b"last"]
        assert (skipping.num_skipped, skipping.num_files) == (1, 5)

    def test_a_file_that_changed_its_size_is_read_completely(self, folder: Path) -> None:
        corpus = open_corpus(folder)
        (folder / "0.txt").write_bytes(b"longer than before")
        (folder / "4.txt").write_bytes(b"")
        texts = [text for batch in corpus.batches() for text in batch.texts]
        assert (texts[0], texts[4]) == (b"longer than before", b"")
        (folder / "4.txt").unlink()
        with pytest.raises(FileNotFoundError):
            list(corpus.batches())

    def test_no_column_of_files_that_differ_from_their_sizes(self, folder: Path) -> None:
        paths = [str(folder / "0.txt"), str(folder / "2.txt")]
        column = TextColumn.from_files(paths, [3, 6], 2)
        assert column is not None
        assert column.to_list() == [b"one", "zwölf".encode()]
        for sizes in ([2, 6], [4, 6], [3], [3, 1 << 40]):
            assert TextColumn.from_files(paths, sizes, 1) is None
