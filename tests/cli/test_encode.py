"""``jeton encode``: every format, texts from arguments and standard input, special tokens, bytes that are not UTF-8."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import jeton
from jeton.drawing import to_terminal

from .conftest import Run

TEXTS = [
    b"",
    b"low lower\n",
    "今天的天气\r\n\r\n".encode(),
    b"a\xff\xfe\x00b\n",
    bytes(range(256)) * 5,
    b"\n",
    b"no line end",
]


@pytest.mark.parametrize("text", TEXTS)
def test_decode_gives_the_input_back_byte_for_byte(run: Run, path: Path, text: bytes) -> None:
    encoded = run("encode", "-t", path, input=text)
    assert encoded.code == 0
    assert encoded.out.count(b"\n") == 1
    assert run("decode", "-t", path, input=encoded.out) == (0, text, "")


def test_ids_are_printed_on_one_line_per_text(run: Run, tok: jeton.Tokenizer, path: Path) -> None:
    result = run("encode", "-t", path, "lowest", "newest 今天")
    assert result.text.splitlines() == [" ".join(map(str, tok.encode(text))) for text in ("lowest", "newest 今天")]


def test_a_large_text_is_encoded_through_arrays_with_equal_results(
    run: Run, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "lowest 今天 newest\n".encode() * 300
    small = run("encode", "-t", path, input=text)
    monkeypatch.setattr("jeton.cli.encode.LARGE", 0)
    monkeypatch.setattr("jeton.cli.encode.CHUNK", 7)
    assert run("encode", "-t", path, "--threads", "2", input=text) == small


def test_lines_are_texts_without_their_ends(run: Run, tok: jeton.Tokenizer, path: Path) -> None:
    result = run("encode", "-t", path, "--lines", input=b"low\nlower\r\n\nlast")
    assert result.text.split("\n") == [*(" ".join(map(str, tok.encode(t))) for t in ("low", "lower", "", "last")), ""]
    assert run("encode", "-t", path, "--lines", "text").code == 2


def test_json_is_one_object_per_text(run: Run, tok: jeton.Tokenizer, path: Path) -> None:
    for args in (["--json"], ["--format", "json"]):
        first, second = map(json.loads, run("encode", "-t", path, *args, "low", "天").text.splitlines())
        assert first["ids"] == tok.encode("low")
        assert b"".join(bytes.fromhex(token["bytes_hex"]) for token in second["tokens"]).decode() == "天"
        assert second["tokens"][0]["byte_span"][0] == 0
        assert second["tokens"][-1]["byte_span"][1] == 3


def test_binary_formats_contain_the_ids(run: Run, tok: jeton.Tokenizer, path: Path) -> None:
    text = "lowest 今天 newest"
    ids = tok.encode(text)
    raw = run("encode", "-t", path, "--format", "bin", text)
    assert np.frombuffer(raw.out, dtype="<u4").tolist() == ids
    array = np.load(io.BytesIO(run("encode", "-t", path, "--format", "npy", text).out))
    assert (array.dtype, array.tolist()) == (np.uint32, ids)
    empty = np.load(io.BytesIO(run("encode", "-t", path, "--format", "npy").out))
    assert empty.shape == (0,)


@pytest.mark.parametrize("form", ["npy", "bin"])
def test_binary_formats_hold_one_text_and_stay_off_the_terminal(run: Run, path: Path, form: str) -> None:
    assert run("encode", "-t", path, "--format", form, "a", "b").code == 2
    assert run("encode", "-t", path, "--format", form, "--lines", input=b"a\nb").code == 2
    result = run("encode", "-t", path, "--format", form, "a", terminal=True)
    assert (result.code, result.out) == (2, b"")
    assert f"> ids.{form}" in result.err


@pytest.mark.parametrize("form", ["npy", "bin", "tokens"])
def test_json_excludes_other_formats(run: Run, path: Path, form: str) -> None:
    result = run("encode", "-t", path, "--format", form, "--json", "a")
    assert (result.code, result.out) == (2, b"")
    assert f"--format {form} and --json cannot be combined" in result.err


def test_tokens_are_drawn(run: Run, tok: jeton.Tokenizer, path: Path) -> None:
    plain = run("encode", "-t", path, "--format", "tokens", "low\nlow x")
    assert plain.text.replace("│", "") == "low↵low·x\n"
    assert plain.text.count("│") == len(tok.encode("low\nlow x")) - 1
    colored = run("encode", "-t", path, "--format", "tokens", "low\nlow x", terminal=True)
    assert re.sub("\x1b\\[[0-9;]*m", "", colored.text) == "low↵\nlow·x\n"
    assert colored.text.count("\x1b[0m") == len(tok.encode("low\nlow x"))


def test_special_tokens_need_permission(run: Run, tok: jeton.Tokenizer, path: Path) -> None:
    end = tok.special_tokens["<|end|>"]
    text = "low<|end|>"

    def ids(*args: str) -> list[int]:
        result = run("encode", "-t", path, *args, text)
        assert result.code == 0, result.err
        return [int(word) for word in result.text.split()]

    assert ids() == ids("--special", "none") == tok.encode(text)
    assert end not in ids()
    assert ids("--special", "all") == ids("--special", "<|end|>") == tok.encode(text, special="all")
    refused = run("encode", "-t", path, "--special", "raise", text)
    assert (refused.code, refused.out) == (1, b"")
    assert "<|end|>" in refused.err
    assert run("encode", "-t", path, "--special", "all", "--special", "<|end|>", text).code == 2
    assert run("encode", "-t", path, "--special", "<|no|>", text).code == 1


def test_an_error_names_the_text(run: Run, path: Path) -> None:
    result = run("encode", "-t", path, "--special", "raise", "--lines", input=b"fine\nlow<|end|>\n")
    assert result.code == 1
    assert result.err.startswith("jeton: line 2: ")
    assert len(result.text.splitlines()) == 1
    assert run("encode", "-t", path, "--special", "raise", "a", "<|end|>").err.startswith("jeton: text 2: ")


def test_invalid_utf8_is_refused_or_replaced_by_the_errors_option(run: Run, char_path: Path) -> None:
    strict = run("encode", "-t", char_path, input=b"low\xff")
    assert (strict.code, strict.out) == (1, b"")
    replaced = run("encode", "-t", char_path, "--errors", "replace", input=b"low\xff \xe4\xbb")
    assert replaced.code == 0
    assert replaced.err == "jeton: warning: the text: replaced bytes that are not UTF-8 with U+FFFD at 2 places\n"
    assert run("decode", "-t", char_path, input=replaced.out).text == "low\ufffd \ufffd"
    unseen = run("encode", "-t", char_path, "--errors", "replace", "Ω")
    assert (unseen.code, unseen.out) == (1, b"")
    assert "Ω" in unseen.err


def test_reading_from_a_terminal_prints_a_hint(run: Run, path: Path) -> None:
    assert run("encode", "-t", path, keyboard=True).err == "reading standard input; end it with Ctrl-D\n"
    assert run("encode", "-t", path, "-q", keyboard=True).err == ""
    assert run("encode", "-t", path, "text", keyboard=True).err == ""


def test_files_and_rows_are_texts(run: Run, tok: jeton.Tokenizer, path: Path, tmp_path: Path) -> None:
    rows, text = tmp_path / "rows.jsonl", tmp_path / "a.txt"
    rows.write_text('{"text": "low"}\n{"text": "lower"}\n')
    text.write_bytes(b"wide\nwider\n")
    lines = run("encode", "-t", path, "--files", rows, text).text.splitlines()
    assert [[int(id) for id in line.split()] for line in lines] == [
        *(tok.encode("low"), tok.encode("lower"), tok.encode("wide\nwider\n"))
    ]
    assert len(run("explain", "-t", path, "--files", "--json", rows).text.splitlines()) == 2
    assert json.loads(run("compare", "-t", path, "--files", "--json", text).text)["num_bytes"] == 11
    assert run("encode", "-t", path, "--files", "--format", "bin", text).code == 0
    assert run("encode", "-t", path, "--files", "--format", "bin", rows).code == 2
    assert run("encode", "-t", path, "--files").code == 2
    assert "is encoded as text" in run("encode", "-t", path, text).err
    assert "is encoded as text" in run("compare", "-t", path, text).err


@pytest.mark.parametrize("form", ["tokens", "json"])
@pytest.mark.parametrize("terminal", [False, True])
def test_output_of_a_long_text_shows_no_chunk_boundaries(
    run: Run, path: Path, form: str, terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tokens are written in chunks of 16,384, whose boundaries do not show in the output."""
    monkeypatch.setenv("COLUMNS", "80")
    text = ("low lower 天气 é\n<|end|> " * 4_000).encode()
    options = ("encode", "-t", path, "--format", form, "--special", "all")
    long = run(*options, input=text, terminal=terminal).out
    tok = jeton.load(path)
    encoding = tok.tokenize(text, special="all")
    assert len(encoding) > 2 * 16_384
    if form == "json":
        tokens = [
            {"id": token.id, "bytes_hex": token.bytes.hex(), "byte_span": list(token.byte_span)} for token in encoding
        ]
        assert long.decode() == json.dumps({"ids": encoding.ids, "tokens": tokens}) + "\n"
    else:
        drawn = to_terminal(encoding.drawing(), color=terminal, width=80 if terminal else None, break_lines=terminal)
        assert long.decode() == drawn + "\n"


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc")
def test_drawing_tokens_takes_bounded_memory(path: Path) -> None:
    """A text of 3 MB with up to one token per byte: as Python objects, its tokens would take a gigabyte."""
    code = (
        "import io, sys; from jeton.cli import main; "
        "sys.stdin = io.TextIOWrapper(io.BytesIO(b'older men low ' * 200_000)); sys.stdout = open('/dev/null', 'w'); "
        f"code = main(['encode', '-t', {str(path)!r}, '--format', 'tokens']); "
        # Not ru_maxrss, which a child inherits from its parent.
        "status = dict(line.split(':', 1) for line in open('/proc/self/status')); "
        "print(code, int(status['VmHWM'].split()[0]) // 1024, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    exit_code, megabytes = map(int, done.stderr.split())
    assert exit_code == 0
    assert megabytes < 300
