"""``jeton decode``: the exact bytes, and errors for invalid ids."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import jeton

from .conftest import Run


def test_ids_are_read_from_arguments_or_standard_input(run: Run, path: Path) -> None:
    assert run("decode", "-t", path, 72, 105) == (0, b"Hi", "")
    assert run("decode", "-t", path, input=b" 72\t105\r\n\n33 ") == (0, b"Hi!", "")
    assert run("decode", "-t", path, input=b"") == (0, b"", "")


def test_bytes_that_are_not_utf8_are_written_unchanged(run: Run, path: Path) -> None:
    assert run("decode", "-t", path, 0xE5, 0xB0).out == b"\xe5\xb0"


def test_invalid_utf8_option_replaces_or_refuses_bytes(run: Run, path: Path) -> None:
    assert run("decode", "-t", path, "--invalid-utf8", "replace", 72, 0xE5, 0xB0).text == "H\ufffd"
    strict = run("decode", "-t", path, "--invalid-utf8", "strict", 72, 0xE5, 0xB0)
    assert (strict.code, strict.out) == (1, b"")
    assert "byte 1" in strict.err


def test_skip_special_tokens_omits_them(run: Run, tok: jeton.Tokenizer, path: Path) -> None:
    end = tok.special_tokens["<|end|>"]
    assert run("decode", "-t", path, 72, end).out == b"H<|end|>"
    assert run("decode", "-t", path, "--skip-special-tokens", 72, end).out == b"H"
    assert run("decode", "-t", path, "--skip-special-tokens", "--invalid-utf8", "strict", 72, end).out == b"H"


def test_json_has_text_and_bytes(run: Run, path: Path) -> None:
    result = run("decode", "-t", path, "--json", 72, 0xE5, 0xB0)
    assert json.loads(result.text) == {"text": "H\ufffd", "bytes_hex": "48e5b0"}


def test_large_inputs_decode_through_arrays_with_equal_results(
    run: Run, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jeton.cli.decode.LARGE", 0)
    assert run("decode", "-t", path, input=b"72 105") == (0, b"Hi", "")
    assert run("decode", "-t", path, "--invalid-utf8", "replace", 72, 0xE5, 0xB0).text == "H\ufffd"
    assert run("decode", "-t", path, input=b"72 9999").code == 1
    assert run("decode", "-t", path, input=b"") == (0, b"", "")


def test_ids_across_block_boundaries_are_decoded(run: Run, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"low lower lowest newest widest " * 20
    ids = run("encode", "-t", path, input=text).out
    for size in (1, 2, 3, 7):
        monkeypatch.setattr("jeton.cli.decode.CHUNK", size)
        assert run("decode", "-t", path, input=ids).out == text


@pytest.mark.parametrize(
    ("ids", "shown"),
    [(b"1 two 3", "'two'"), (b"72 -1", "'-1'"), (b"1_0", "'1_0'"), (b"+1", "'+1'"), (b"4294967296", "'4294967296'"),
     (b"9" * 5000, "'9999"), (b"1.5", "'1.5'"), (b"72\xff", "'72\\\\xff'"), ("٣".encode(), "'")],
)  # fmt: skip
def test_an_invalid_id_is_named(run: Run, path: Path, ids: bytes, shown: str) -> None:
    result = run("decode", "-t", path, input=ids)
    assert (result.code, result.out) == (1, b"")
    assert f"standard input: {shown}" in result.err
    assert "is not an id" in result.err
    assert len(result.err) < 200


def test_an_unknown_id_is_named_with_its_position(run: Run, path: Path) -> None:
    result = run("decode", "-t", path, input=b"72 9999")
    assert (result.code, result.out) == (1, b"")
    assert "9999" in result.err
    assert "position 1" in result.err


def test_an_invalid_id_argument_is_a_usage_error(run: Run, path: Path) -> None:
    assert run("decode", "-t", path, "two").code == 2
    assert run("decode", "-t", path, 2**32).code == 2


@pytest.mark.parametrize("ids", ["[72, 105]", " [72,105]\n", '{"ids": [72, 105], "tokens": []}'])
def test_ids_are_read_from_json(run: Run, path: Path, ids: str) -> None:
    assert run("decode", "-t", path, ids) == (0, b"Hi", "")
    assert run("decode", "-t", path, input=ids.encode()) == (0, b"Hi", "")


def test_json_output_of_encode_is_decoded(run: Run, path: Path) -> None:
    encoded = run("encode", "-t", path, "--json", "lower 天气").out
    assert run("decode", "-t", path, input=encoded).text == "lower 天气"


@pytest.mark.parametrize("ids", ["[72", '[72, "105"]', "[72, -1]", "[4294967296]", '{"id": 3}', "[true]", "[[72]]"])
def test_json_without_ids_is_an_error(run: Run, path: Path, ids: str) -> None:
    assert run("decode", "-t", path, ids).code == 2
    result = run("decode", "-t", path, input=ids.encode())
    assert (result.code, result.out) == (1, b"")
    assert result.err.startswith("jeton: standard input: ")


def test_a_stream_writes_the_text_of_decode(run: Run, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "low lower newest 今天的天气很好\n" * 5
    ids = run("encode", "-t", path, input=text.encode()).out
    for size in (1, 2, 7, 1 << 20):
        monkeypatch.setattr("jeton.cli.decode.CHUNK", size)
        assert run("decode", "-t", path, "--stream", input=ids).text == text
    assert run("decode", "-t", path, "--stream", 72, 0xE5, 0xB0).text == "H\ufffd"
    assert run("decode", "-t", path, "--stream", "--invalid-utf8", "strict", 72, 0xE5, 0xB0).code == 1
    assert run("decode", "-t", path, "--stream", input=b"") == (0, b"", "")


def test_a_stream_ends_before_a_stop_string(run: Run, path: Path) -> None:
    ids = run("encode", "-t", path, input=b"low lower newest").out
    assert run("decode", "-t", path, "--stream", "--stop", "er n", "--stop", "x", input=ids) == (0, b"low low", "")


def test_a_stream_refuses_invalid_ids(run: Run, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jeton.cli.decode.CHUNK", 3)
    wrong = run("decode", "-t", path, "--stream", input=b"72 73 99999")
    assert (wrong.code, wrong.out) == (1, b"HI")
    assert "id 99999 at position 0 is not in the vocabulary" in wrong.err
    assert "after the first 2 ids" in wrong.err
    assert "'[72,' is not an id" in run("decode", "-t", path, "--stream", input=b"[72, 73]").err
    assert "'" + "9" * 40 in run("decode", "-t", path, "--stream", input=b"9" * 100).err
    assert "omit --json" in run("decode", "-t", path, "--stream", "--json", 72).err
    assert "--stop needs --stream" in run("decode", "-t", path, "--stop", "x", 72).err


def test_a_stream_writes_before_the_input_ends(path: Path) -> None:
    main = "import sys; from jeton.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", main, "decode", "-t", str(path), "--stream"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for ids, text in ((b"72 ", b"H"), (b"229 176 143\n", "小".encode())):
            process.stdin.write(ids)
            process.stdin.flush()
            assert process.stdout.read(len(text)) == text
        process.stdin.close()
        assert process.wait(60) == 0
