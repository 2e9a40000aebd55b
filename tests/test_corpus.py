"""Kinds of corpora, their order, and that no text is lost."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import json
import lzma
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from jeton.corpus import DocumentReader, Source, open_corpus, paths, streams
from jeton.errors import ConfigError, FormatError, InvalidTextError
from jeton.util.compression import decompressed

TEXT = "Ein Jeton, 一枚筹码: naïve café 😀\n" * 50
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}


def texts(corpus: DocumentReader) -> list[str]:
    return [document.data.decode() for document in corpus]


def sources(corpus: DocumentReader, root: Path) -> list[str]:
    return [document.source.removeprefix(str(root) + os.sep).replace(os.sep, "/") for document in corpus]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.txt", "a/z.txt", "a-b/x.txt", "a/deep/y.txt", ".hidden", ".git/config", "a/.secret/s.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


class TestPlaces:
    def test_a_folder_is_read_recursively_in_order_without_hidden_files(self, folder: Path) -> None:
        corpus = open_corpus(folder)
        assert sources(corpus, folder) == ["a/deep/y.txt", "a/z.txt", "a-b/x.txt", "b.txt"]
        assert texts(corpus) == ["a/deep/y.txt", "a/z.txt", "a-b/x.txt", "b.txt"]
        assert (corpus.num_files, corpus.num_documents) == (4, 4)

    def test_a_glob_names_no_file_twice(self, folder: Path) -> None:
        assert sources(open_corpus(f"{folder}/**"), folder) == ["a/deep/y.txt", "a/z.txt", "a-b/x.txt", "b.txt"]
        assert sources(open_corpus(folder / "a*"), folder) == ["a/deep/y.txt", "a/z.txt", "a-b/x.txt"]

    def test_a_name_with_magic_characters_that_exists_is_that_file(self, tmp_path: Path) -> None:
        (tmp_path / "a[1].txt").write_text("brackets")
        (tmp_path / "a1.txt").write_text("one")
        assert texts(open_corpus(tmp_path / "a[1].txt")) == ["brackets"]

    def test_a_list_of_paths_keeps_its_order_and_has_each_file_once(self, folder: Path) -> None:
        paths = [folder / "b.txt", folder / "a", folder / "a" / ".." / "b.txt", folder / "a/deep", f"{folder}/**/*.txt"]
        corpus = open_corpus([Path(path) for path in paths])
        assert texts(corpus) == ["b.txt", "a/deep/y.txt", "a/z.txt", "a-b/x.txt"]
        assert corpus.total_bytes == len("b.txta/deep/y.txta/z.txta-b/x.txt") == corpus.bytes_read

    def test_strings_in_a_list_are_texts_even_when_a_file_has_that_name(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(folder)
        assert texts(open_corpus(["b.txt", b"bytes", bytearray(b"array")])) == ["b.txt", "bytes", "array"]
        assert [d.source for d in open_corpus(iter(["x", "y"]))] == ["corpus[0]", "corpus[1]"]

    def test_paths_and_texts_are_mixed_in_one_iterable(self, folder: Path) -> None:
        assert texts(open_corpus([folder / "b.txt", "text"])) == ["b.txt", "text"]

    def test_a_missing_path_says_how_to_pass_text(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"for a text itself, pass \[text\]") as caught:
            open_corpus("To be, or not to be")
        assert caught.value.filename == "To be, or not to be"
        with pytest.raises(FileNotFoundError, match=r"\[text\]") as caught:
            open_corpus("lorem ipsum " * 10_000)
        assert len(str(caught.value)) < 300
        with pytest.raises(FileNotFoundError):
            open_corpus("nul\0inside")
        with pytest.raises(FileNotFoundError):
            open_corpus([tmp_path / "missing"])
        with pytest.raises(FileNotFoundError):
            open_corpus(tmp_path / "*.txt")

    def test_a_folder_without_files_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / ".hidden").write_text("x")
        with pytest.raises(FileNotFoundError, match=r"no file is read as documents: 1 hidden \(\.hidden\)"):
            open_corpus(tmp_path)
        with pytest.raises(FileNotFoundError, match="there are no files"):
            open_corpus(tmp_path / "s*")

    def test_a_dangling_link_is_not_left_out_in_silence(self, folder: Path) -> None:
        (folder / "c.txt").symlink_to(folder / "gone")
        corpus = open_corpus(folder)
        assert corpus.total_bytes is None
        with pytest.raises(FileNotFoundError):
            list(corpus)

    def test_an_unreadable_folder_is_not_left_out_in_silence(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The error is simulated, because the tests may run as root, who can read everything."""
        scandir = os.scandir

        def refuse(path: str) -> object:
            if str(path).endswith("deep"):
                raise PermissionError(errno.EACCES, "Permission denied", path)
            return scandir(path)

        monkeypatch.setattr(os, "scandir", refuse)
        with pytest.raises(PermissionError):
            open_corpus(folder)

    def test_an_unreadable_file_stays_an_os_error(self, folder: Path) -> None:
        (folder / "b.txt").chmod(0)
        if os.access(folder / "b.txt", os.R_OK):
            pytest.skip("this user may read every file")
        with pytest.raises(PermissionError):
            list(open_corpus(folder))

    def test_a_pipe_is_read_as_a_file_of_unknown_size(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(b"through a pipe",))
        writer.start()
        corpus = open_corpus(pipe)
        assert corpus.total_bytes is None
        documents = iter(corpus)
        assert next(documents).data == b"through a pipe"
        assert corpus.bytes_read == 0
        assert list(documents) == []
        writer.join()


class TestStreams:
    def test_a_binary_stream_is_one_document(self) -> None:
        corpus = open_corpus(io.BytesIO(TEXT.encode()))
        assert texts(corpus) == [TEXT]
        assert corpus.total_bytes is None
        assert corpus.bytes_read == len(TEXT.encode())

    def test_a_binary_stream_is_read_by_line(self) -> None:
        assert texts(open_corpus(io.BytesIO(b"a\nb\r\n\nc"), documents="line")) == ["a", "b", "", "c"]

    def test_a_text_stream_is_refused_with_a_hint(self) -> None:
        with pytest.raises(ConfigError, match="binary mode"):
            list(open_corpus(io.StringIO("text")))  # type: ignore[arg-type]


class TestCompression:
    @pytest.mark.parametrize("suffix", COMPRESS)
    def test_each_kind_of_compression_is_read(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"text.txt{suffix.upper() if suffix == '.gz' else suffix}"
        path.write_bytes(COMPRESS[suffix](TEXT.encode()))
        corpus = open_corpus(path)
        assert texts(corpus) == [TEXT]
        assert corpus.total_bytes == corpus.bytes_read == path.stat().st_size
        assert "".join(line + "\n" for line in texts(open_corpus(path, documents="line"))) == TEXT

    @pytest.mark.parametrize("suffix", COMPRESS)
    def test_several_streams_in_one_file_are_one_text(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"text{suffix}"
        path.write_bytes(b"".join(COMPRESS[suffix](part) for part in (b"one ", b"", b"two")))
        assert texts(open_corpus(path)) == ["one two"]

    @pytest.mark.parametrize("suffix", COMPRESS)
    @pytest.mark.parametrize("documents", ["file", "line"])
    def test_a_file_truncated_at_any_byte_is_an_error(self, tmp_path: Path, suffix: str, documents: str) -> None:
        whole = COMPRESS[suffix](TEXT.encode())
        path = tmp_path / f"text{suffix}"
        for length in range(0, len(whole), max(1, len(whole) // 40)):
            path.write_bytes(whole[:length])
            with pytest.raises(FormatError, match="text\\" + suffix):
                list(open_corpus(path, documents=documents))  # type: ignore[arg-type]

    @pytest.mark.parametrize("suffix", COMPRESS)
    def test_damaged_bytes_are_an_error_that_names_the_file(self, tmp_path: Path, suffix: str) -> None:
        compress = COMPRESS[suffix]
        whole = bytearray(
            zstandard.ZstdCompressor(write_checksum=True).compress(TEXT.encode())
            if suffix == ".zst"
            else compress(TEXT.encode())
        )
        whole[len(whole) // 2] ^= 0xFF
        path = tmp_path / f"text{suffix}"
        path.write_bytes(whole)
        with pytest.raises(FormatError, match="text\\" + suffix):
            list(open_corpus(path))
        path.write_bytes(b"plain text under a wrong name")
        with pytest.raises(FormatError, match="text\\" + suffix):
            list(open_corpus(path))

    def test_a_large_zst_file_is_read_in_blocks(self, tmp_path: Path) -> None:
        data = b"".join(b"%d squared is %d\n" % (i, i * i) for i in range(200_000))
        path = tmp_path / "squares.zst"
        path.write_bytes(zstandard.compress(data))
        assert b"".join(d.data + b"\n" for d in open_corpus(path, documents="line")) == data

    def test_the_position_inside_a_compressed_file_is_on_disk(self, tmp_path: Path) -> None:
        path = tmp_path / "noise.gz"
        path.write_bytes(gzip.compress(os.urandom(1 << 18).hex().encode() + b"\nend"))
        corpus = open_corpus(path, documents="line")
        seen = [corpus.bytes_read for _ in corpus]
        assert 0 < seen[0] <= seen[1] <= path.stat().st_size == corpus.total_bytes

    def test_no_zstandard_names_the_extra(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "text.zst"
        path.write_bytes(zstandard.compress(b"x"))
        monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
        with pytest.raises(ImportError, match=r"jeton\[data\]") as caught:
            list(open_corpus(path))
        assert caught.value.extra == "data"  # type: ignore[attr-defined]


class TestRows:
    def write(self, path: Path, *rows: object) -> Path:
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        return path

    def test_each_row_is_a_document(self, tmp_path: Path) -> None:
        path = self.write(tmp_path / "rows.jsonl", {"text": "eins\nzwei", "id": 1}, {"text": ""}, {"text": "三"})
        corpus = open_corpus(path)
        assert [(d.data.decode(), d.source) for d in corpus] == [
            ("eins\nzwei", f"{path}:1"),
            ("", f"{path}:2"),
            ("三", f"{path}:3"),
        ]
        assert corpus.num_documents == 3

    def test_compressed_rows_may_have_blank_lines_and_a_byte_order_mark(self, tmp_path: Path) -> None:
        path = tmp_path / "rows.jsonl.gz"
        path.write_bytes(gzip.compress(b'\xef\xbb\xbf{"body": "a"}\r\n\n  \n{"body": "b"}'))
        assert texts(open_corpus(path, field="body")) == ["a", "b"]

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ('{"text": "cut', "not a JSON row"),
            ("[" * 100_000, "not a JSON row"),
            ('["text"]', "the row is a list, expected an object"),
            ('{"text": null}', "the field 'text' is a null"),
            ('{"text": 3}', "the field 'text' is a number"),
            ('{"body": "x"}', r"the row has no field 'text' \(it has: 'body'\)"),
            ("{}", r"the row has no field 'text' \(it has: none\)"),
        ],
    )
    def test_a_broken_row_names_file_and_line(self, tmp_path: Path, row: str, message: str) -> None:
        path = tmp_path / "rows.jsonl"
        path.write_text('{"text": "fine"}\n' + row + "\n")
        with pytest.raises(FormatError, match=r"rows\.jsonl:2: " + message) as caught:
            list(open_corpus(path))
        assert caught.value.place == "line 2"

    def test_an_escaped_surrogate_is_not_text(self, tmp_path: Path) -> None:
        path = tmp_path / "rows.jsonl"
        path.write_text('{"text": "ok"}\n{"text": "a\\ud800b"}\n')
        with pytest.raises(InvalidTextError, match=r"rows\.jsonl:2: character 1 .* U\+D800"):
            list(open_corpus(path))
        corpus = open_corpus(path, errors="replace")
        assert texts(corpus) == ["ok", "a\ufffdb"]
        assert corpus.replaced == {str(path): 1}


class TestText:
    def test_empty_files_are_counted(self, tmp_path: Path) -> None:
        for name in ("a.txt", "b.txt", "c.jsonl"):
            (tmp_path / name).write_bytes(b"")
        (tmp_path / "d.txt").write_text("x")
        corpus = open_corpus(tmp_path)
        assert texts(corpus) == ["", "", "x"]
        assert (corpus.num_files, corpus.num_empty) == (4, 3)

    def test_lines_are_documents_without_their_ends(self, tmp_path: Path) -> None:
        path = tmp_path / "lines.txt"
        path.write_bytes("a\r\nb\u2028c\rd\n\ne".encode())
        corpus = open_corpus(path, documents="line")
        assert [(d.data.decode(), d.source.rpartition(":")[2]) for d in corpus] == [
            ("a", "1"),
            ("b\u2028c\rd", "2"),
            ("", "3"),
            ("e", "4"),
        ]

    def test_invalid_utf8_names_file_and_byte(self, tmp_path: Path) -> None:
        path = tmp_path / "latin.txt"
        path.write_bytes(b"one line\n" + "caf\xe9".encode("latin-1"))
        for documents in ("file", "line"):
            with pytest.raises(InvalidTextError, match=r"latin\.txt(:2)?: byte 12 \(0xe9\)") as caught:
                list(open_corpus(path, documents=documents))  # type: ignore[arg-type]
            assert caught.value.position == 12
        with pytest.raises(InvalidTextError, match=r"corpus\[1\]: byte 0"):
            list(open_corpus(["fine", b"\xff"]))

    def test_a_compressed_file_without_its_suffix_gets_a_hint(self, tmp_path: Path) -> None:
        path = tmp_path / "data.txt"
        path.write_bytes(gzip.compress(b"text"))
        with pytest.raises(InvalidTextError, match=r"looks like gzip"):
            list(open_corpus(path))

    def test_replace_continues_and_counts(self, tmp_path: Path) -> None:
        path = tmp_path / "mixed.txt"
        path.write_bytes(b"a\xff\xfeb\xe5\xb0 \xef\xbf\xbd")  # 2 invalid bytes, a cut character, a real U+FFFD
        corpus = open_corpus([path, b"\xff" * 3, "x\udc80"], errors="replace")
        assert texts(corpus) == ["a\ufffd\ufffdb\ufffd \ufffd", "\ufffd" * 3, "x\ufffd"]
        assert corpus.replaced == {str(path): 3, "corpus": 4}

    def test_a_lone_surrogate_is_named(self) -> None:
        with pytest.raises(InvalidTextError, match=r"corpus\[0\]: character 2 .* U\+DC80") as caught:
            list(open_corpus(["ab\udc80"]))
        assert caught.value.position == 2

    @given(st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.binary()))
    def test_documents_in_memory_are_unchanged(self, documents: list[str | bytes]) -> None:
        corpus = open_corpus(documents, errors="replace")
        for document, given_document in zip(corpus, documents, strict=True):
            expected = given_document if isinstance(given_document, str) else given_document.decode(errors="replace")
            assert document.data.decode() == expected


class TestMisuse:
    @pytest.mark.parametrize(
        ("corpus", "message"),
        [
            (b"text", r"give it in a list: \[text\]"),
            (3, "of type int"),
            (None, "of type NoneType"),
            ({"low": 5}, "of type dict"),
        ],
    )
    def test_a_wrong_type_is_refused(self, corpus: object, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            open_corpus(corpus)  # type: ignore[arg-type]

    def test_a_wrong_type_of_an_element_is_refused(self) -> None:
        with pytest.raises(ConfigError, match=r"corpus\[1\] is of type int"):
            list(open_corpus(["a", 1]))  # type: ignore[list-item]

    @pytest.mark.parametrize("options", [{"documents": "lines"}, {"errors": "ignore"}])
    def test_an_invalid_option_is_refused(self, options: dict[str, str]) -> None:
        with pytest.raises(ConfigError, match="expected") as caught:
            open_corpus([], **options)  # type: ignore[arg-type]
        assert caught.value.option in options

    def test_iterating_again_starts_again(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_bytes(b"\xff")
        corpus = open_corpus(tmp_path, errors="replace")
        assert texts(corpus) == texts(corpus) == ["\ufffd"]
        assert (corpus.num_documents, corpus.replaced) == (1, {str(tmp_path / "a.txt"): 1})


def bomb(suffix: str, num_mb: int, byte: bytes = b"\0") -> bytes:
    """A number of megabytes of one byte, in members or frames of a megabyte."""
    return COMPRESS[suffix](byte * (1 << 20)) * num_mb


class TestBombs:
    @pytest.mark.parametrize("documents", ["file", "line"])
    @pytest.mark.parametrize("suffix", COMPRESS)
    def test_a_bomb_is_refused_before_it_is_in_memory(
        self, tmp_path: Path, suffix: str, documents: Literal["file", "line"]
    ) -> None:
        path = tmp_path / f"bomb.txt{suffix}"
        path.write_bytes(bomb(suffix, 50))
        tracemalloc.start()
        try:
            with pytest.raises(FormatError, match="max_expansion="):
                list(open_corpus(path, documents=documents))
            assert tracemalloc.get_traced_memory()[1] < 20 << 20
        finally:
            tracemalloc.stop()

    def test_the_limit_can_be_lifted(self, tmp_path: Path) -> None:
        path = tmp_path / "repeated.txt.zst"
        path.write_bytes(bomb(".zst", 5, b"a"))
        assert [len(text) for text in texts(open_corpus(path, max_expansion=None))] == [5 << 20]
        assert [len(text) for text in texts(open_corpus(path, max_expansion=100_000))] == [5 << 20]
        for wrong in (0, -1, 1.5, True, "1"):
            with pytest.raises(ConfigError, match="max_expansion="):
                open_corpus(path, max_expansion=wrong)  # type: ignore[arg-type]

    def test_a_read_of_zstandard_is_bounded(self) -> None:
        """Without the bound, one block of input became gigabytes of output, and each read copied the rest of it."""
        with decompressed(io.BufferedReader(io.BytesIO(bomb(".zst", 300))), "a.zst", max_expansion=None) as stream:
            tracemalloc.start()
            try:
                assert sum(len(data) for data in iter(lambda: stream.read1(1 << 18), b"")) == 300 << 20
                assert tracemalloc.get_traced_memory()[1] < 4 << 20
            finally:
                tracemalloc.stop()

    @given(
        st.lists(st.binary(max_size=300) | st.integers(1, 300_000).map(lambda size: b"ab" * size), max_size=4),
        st.integers(1, 5),
        st.booleans(),
        st.booleans(),
    )
    def test_truncated_frames_of_zstandard_are_an_error(
        self, parts: list[bytes], level: int, checksum: bool, with_size: bool
    ) -> None:
        """Frames of any kind are read completely; truncated anywhere, they are an error."""
        packer = zstandard.ZstdCompressor(level=level, write_checksum=checksum, write_content_size=with_size)
        skipped = b"\x53\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"123"
        frames = [packer.compress(part) for part in parts]
        packed = skipped + skipped.join(frames)

        def read(data: bytes) -> bytes:
            with decompressed(io.BufferedReader(io.BytesIO(data)), "a.zst", max_expansion=None) as stream:
                return stream.read()

        assert read(packed) == b"".join(parts)
        for cut in {1, 5, len(packed) // 2, len(packed) - 1}:
            ends = {sum(len(frame) + len(skipped) for frame in frames[:n]) for n in range(len(frames) + 1)}
            ends |= {end + len(skipped) for end in ends}
            if 0 < cut < len(packed) and cut not in ends:
                with pytest.raises(FormatError, match="truncated"):
                    read(packed[:cut])

    @pytest.mark.parametrize("name", ["a.jsonl", "a.txt"])
    def test_a_line_has_a_bound(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        monkeypatch.setattr(streams, "LONGEST_LINE", 1 << 20)
        path = tmp_path / name
        path.write_bytes(b'{"text": "one"}\n{"text": "' + b"x" * (6 << 20) + b'"}\n{"text": "two"}\n')
        with pytest.raises(FormatError, match="one document has more than 1,048,576 bytes"):
            list(open_corpus(path, documents="line"))
        corpus = open_corpus(path, documents="line", errors="skip")
        assert len(texts(corpus)) == 1
        assert corpus.num_skipped == 1

    def test_a_file_has_a_bound_that_is_checked_before_it_is_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "sparse.txt"
        with path.open("wb") as file:
            file.truncate(1 << 42 if os.name == "posix" else 1 << 20)
        monkeypatch.setattr(streams, "available", lambda: 1 << 20)
        with pytest.raises(FormatError, match="half of this machine's memory"):
            list(open_corpus(path))
        with pytest.raises(FormatError, match="half of this machine's memory"):
            list(open_corpus(io.BytesIO(b"x" * (2 << 20))))


@pytest.mark.skipif(sys.platform != "linux", reason="what a process takes is known on Linux")
def test_generated_bombs_end_in_an_error() -> None:
    """Some of the bombs of tools/corpus_bombs.py, which generates hundreds."""
    tool = Path(__file__).parents[1] / "tools" / "corpus_bombs.py"
    done = subprocess.run([sys.executable, str(tool), "--variants", "2"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout


class TestPipesAndDevices:
    @pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="this system has no /dev/zero")
    @pytest.mark.parametrize("options", [{}, {"sample_bytes": 1000}, {"documents": "line"}])
    def test_a_device_is_refused(self, options: dict[str, Any]) -> None:
        with pytest.raises(ConfigError, match="is a device"):
            list(open_corpus("/dev/zero", **options))

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
    def test_waiting_for_a_named_pipe_is_logged(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(paths, "WAIT_S", 0.05)
        monkeypatch.setattr(paths, "WARN_AFTER_S", 0.1)
        pipe = tmp_path / "pipe.txt"
        os.mkfifo(pipe)

        def write() -> None:
            deadline = time.monotonic() + 30
            while not caplog.messages and time.monotonic() < deadline:
                time.sleep(0.01)
            pipe.write_text(TEXT * 1000, "utf-8")

        writer = threading.Thread(target=write)
        writer.start()
        found = [text for batch in open_corpus(pipe).batches() for text in batch.texts]
        writer.join()
        assert found == [(TEXT * 1000).encode()]
        assert "into which nothing has been written" in caplog.text

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
    def test_ctrl_c_ends_the_wait_for_a_pipe(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.json")
        for call in ("jeton.train(sys.argv[1], progress=False)", "jeton.load(sys.argv[1])"):
            script = f"import sys, jeton; print('ready', flush=True); {call}"
            command = [sys.executable, "-c", script, str(tmp_path / "pipe.json")]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=20)
            assert "KeyboardInterrupt" in said


CHINESE = "今天的天气很好，明天的天气也很好。\nnaïve café 筹码\n" * 30


class TestEncodings:
    @pytest.mark.parametrize("encoding", ["gb18030", "utf-16", "utf-16-le", "utf-32-be", "utf-8-sig", "utf-7", "UTF8"])
    @pytest.mark.parametrize("documents", ["file", "line"])
    def test_text_in_another_encoding_equals_that_in_utf8(
        self, tmp_path: Path, encoding: str, documents: Literal["file", "line"], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(streams, "READ_BYTES", 7)  # reads end inside of characters
        plain, other = tmp_path / "plain.txt", tmp_path / "other.txt.gz"
        plain.write_text(CHINESE, "utf-8")
        other.write_bytes(gzip.compress(CHINESE.encode(encoding)))
        expected = texts(open_corpus(plain, documents=documents))
        assert texts(open_corpus(other, documents=documents, encoding=encoding)) == expected
        assert (
            texts(open_corpus(io.BytesIO(CHINESE.encode(encoding)), documents=documents, encoding=encoding)) == expected
        )
        assert texts(open_corpus([Source(other, encoding=encoding, documents=documents)])) == expected
        assert texts(open_corpus([CHINESE.encode(encoding), "ein Jeton"], encoding=encoding)) == [CHINESE, "ein Jeton"]

    @pytest.mark.parametrize("errors", ["strict", "replace"])
    @pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
    def test_a_missing_byte_order_mark_is_an_error(
        self, tmp_path: Path, encoding: str, errors: Literal["strict", "replace"]
    ) -> None:
        (tmp_path / "a.txt").write_bytes("tale".encode(f"{encoding}-le"))
        with pytest.raises(InvalidTextError, match=f"a.txt: .* byte order mark.*encoding='{encoding}-le' or"):
            list(open_corpus(tmp_path / "a.txt", encoding=encoding, errors=errors))
        assert texts(open_corpus(tmp_path / "a.txt", encoding=f"{encoding}-le")) == ["tale"]

    def test_rows_in_another_encoding_are_read(self, tmp_path: Path) -> None:
        path = tmp_path / "rows.jsonl"
        path.write_bytes("".join(f'{{"text": "第{i}行"}}\n' for i in range(50)).encode("gb18030"))
        assert texts(open_corpus(path, encoding="gb18030")) == [f"第{i}行" for i in range(50)]

    def test_bytes_invalid_in_the_encoding_are_refused_replaced_or_skipped(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "menu.txt"
        path.write_bytes("第一\n第".encode("gb18030") + b"\xff" + "二\n第三\n".encode("gb18030") + b"\x81")
        for size in (1, 2, 3, 1000):
            monkeypatch.setattr(streams, "READ_BYTES", size)
            with pytest.raises(InvalidTextError, match=r"menu.txt: byte 7 \(0xff\) is not valid gb18030") as caught:
                list(open_corpus(path, documents="line", encoding="gb18030"))
            assert caught.value.position == 7
            corpus = open_corpus(path, documents="line", encoding="gb18030", errors="replace")
            assert texts(corpus) == ["第一", "第\ufffd二", "第三", "\ufffd"]
            corpus = open_corpus(path, documents="line", encoding="gb18030", errors="skip")
            assert texts(corpus) == ["第一", "第三"]
            assert corpus.num_skipped == 2
        with pytest.raises(InvalidTextError, match=r"corpus\[0\]: byte 0 \(0xff\) is not valid gb18030"):
            list(open_corpus([b"\xff"], encoding="gb18030"))
        assert texts(open_corpus([b"\xff"], encoding="gb18030", errors="replace")) == ["\ufffd"]

    @pytest.mark.parametrize("encoding", ["klingon", "zlib", "", "rot13", "hex"])
    def test_unknown_encodings_are_refused(self, encoding: str) -> None:
        with pytest.raises(ConfigError, match="encoding="):
            open_corpus(["a"], encoding=encoding)


def test_documents_that_are_all_file_names_cause_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("inside")
    with pytest.warns(UserWarning, match="pass pathlib.Path objects"):
        texts = [document.data for document in open_corpus([str(path)])]
    assert texts == [str(path).encode()]
    assert [document.data for document in open_corpus([str(path), "no file"])] == [str(path).encode(), b"no file"]
    assert [document.data for document in open_corpus([path])] == [b"inside"]
