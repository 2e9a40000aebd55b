"""Broken or hostile files end quickly in an error of Jeton with a position, never in a panic.

`testdata/hostile/index.toml` names each file and its error. Then a sound file is changed at random: whatever comes of
it, only our own errors do.
"""

from __future__ import annotations

import base64
import copy
import json
import subprocess
import sys
import time
import tomllib
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton.errors import ConfigError, FormatError
from jeton.formats import bpe_pair, sentencepiece, tekken, tiktoken, vocab_txt

from .hostile import model_file, piece
from .material import TESTDATA, byte_tokenizer, tokenizer
from .selection import amount
from .timing import fastest

HOSTILE = TESTDATA / "hostile"
FILES: list[dict[str, str]] = tomllib.loads((HOSTILE / "index.toml").read_text("utf-8"))["file"]


VOCAB_JSON = json.dumps({"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4}).encode()


def load(path: Path) -> jeton.Tokenizer:
    """Loads a file by the module of its format, without detection of the format."""
    data, source = path.read_bytes(), path.name
    match path.suffix:
        case ".model":
            return sentencepiece.read(data, source=source)
        case ".tekken":
            return tekken.read(data, source=source)
        case ".txt":
            return vocab_txt.read(data, source=source)
        case ".bpe":
            return bpe_pair.read(VOCAB_JSON, data, source=source)
        case ".tiktoken":
            return jeton.load(path, pattern="none")
    return jeton.load(path)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file["name"]))
def test_each_file_gives_its_error(file: dict[str, str]) -> None:
    path = HOSTILE / file["name"]
    if not file["error"]:
        assert load(path).encode("ab")
        return
    with pytest.raises(jeton.JetonError) as caught:
        load(path)
    error = caught.value
    assert type(error).__name__ == file["error"], str(error)
    assert isinstance(error, jeton.FormatError)
    assert file.get("place", "") in (error.place or ""), error.place
    assert file.get("message", "") in str(error)
    assert file["name"] in str(error), "the message names the file"
    assert len(str(error)) < 1_000

    def refused() -> None:
        with suppress(jeton.FormatError):
            load(path)

    assert fastest(refused, 2, time.perf_counter) < 2


def test_the_index_lists_every_file() -> None:
    assert sorted(file["name"] for file in FILES) == sorted(p.name for p in HOSTILE.iterdir() if p.suffix != ".toml")
    assert all(path.stat().st_size < 1 << 16 for path in HOSTILE.iterdir())


def small(kind: str) -> bytes:
    """A sound file of a few kilobytes."""
    if kind == "ranks":
        return byte_tokenizer((97, 98, 256), (256, 99, 257), special_tokens={"<a>": 300}).to_bytes()
    options: dict[str, Any] = {"end_of_word": "</w>"} if kind == "words" else {"level": "char", "pattern": "gpt2"}
    return jeton.train(["low lower lowest 今天"], 25, unk_token="<unk>", progress=False, **options).to_bytes()


SMALL = {kind: small(kind) for kind in ("ranks", "words", "char")}


def load_or_refuse(data: bytes) -> None:
    """Loads a file: only Jeton's errors occur, and a loaded tokenizer can be used and written."""
    began = time.perf_counter()
    with suppress(jeton.JetonError):
        tok = jeton.Tokenizer.from_bytes(data)
        with suppress(jeton.InvalidTextError):
            tok.decode(tok.encode("low 今天 ab", special="all"))
            assert json.dumps(tok.explain("low").to_json())
        _ = tok.fingerprint, tok.merges, repr(tok)
        assert jeton.Tokenizer.from_bytes(tok.to_bytes()).fingerprint == tok.fingerprint
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize("kind", SMALL)
@given(data=st.data())
@settings(max_examples=amount(300, default=40))
def test_files_with_random_bytes_load_or_are_refused(kind: str, data: st.DataObject) -> None:
    file = bytearray(SMALL[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        if not file:
            break
        at = data.draw(st.integers(0, len(file) - 1))
        match data.draw(st.sampled_from(["set", "delete", "insert", "copy", "cut"])):
            case "set":
                file[at] = data.draw(st.one_of(st.sampled_from(b'"{}[],:0-9\\u \xff'), st.integers(0, 255)))
            case "delete":
                del file[at : at + data.draw(st.integers(1, 20))]
            case "insert":
                file[at:at] = data.draw(
                    st.one_of(st.binary(max_size=8), st.sampled_from([b'"', b"null,", b"-1", b"[[", b"1e99"]))
                )
            case "copy":
                file[at:at] = file[at : at + data.draw(st.integers(1, 60))]
            case "cut":
                del file[at:]
    load_or_refuse(bytes(file))


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 40),
    st.sampled_from([2**28, 2**28 + 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64, -(2**63), 0.5, 1e300]),
    st.sampled_from(
        ["", "a", "low", "</w>", "byte", "char", "suffix", "tokens", "gpt2", "(", "\\p{L}+", "\x00", "今", "\ue000"]
    ),
    st.sampled_from([[], {}, [[]], ["a", "b"], [["l", "o"]], {"type": "ByteLevel"}, {"name": "gpt2"}, {"regex": "a|"}]),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every value in a JSON document; of large members, only a few."""
    found = [path] if path else []
    items = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    for key, part in items[:30]:
        found += places(part, (*path, key))
    return found


@pytest.mark.parametrize("kind", SMALL)
@given(data=st.data())
@settings(max_examples=amount(400, default=50))
def test_files_with_exchanged_parts_load_or_are_refused(kind: str, data: st.DataObject) -> None:
    file = copy.deepcopy(json.loads(SMALL[kind]))
    if data.draw(st.booleans()):
        del file["model"]["jeton"]
    for _ in range(data.draw(st.integers(1, 3))):
        *folders, key = data.draw(st.sampled_from(places(file)))
        place = file
        for folder in folders:
            place = place[folder]
        match data.draw(st.sampled_from(["set", "delete", "rename", "copy"])):
            case "set":
                place[key] = copy.deepcopy(data.draw(VALUES))  # Hypothesis may reuse a drawn object
            case "delete":
                del place[key]
            case "rename" if isinstance(place, dict):
                place[data.draw(st.sampled_from(["", "a", "low", "</w>", "unk_token", "type", "Ġ", "\ue000"]))] = (
                    place.pop(key)
                )
            case _:
                path = data.draw(st.sampled_from(places(file) or [()]))
                value = file
                for step in path:
                    value = value[step]
                place[key] = copy.deepcopy(value)
    load_or_refuse(json.dumps(file).encode())


@given(data=st.data())
@settings(max_examples=amount(200, default=40))
def test_rank_files_changed_at_random(data: st.DataObject) -> None:
    lines = [b"%s %d" % (token, rank) for rank, token in enumerate(_base64())]
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        other = data.draw(
            st.one_of(
                st.binary(max_size=12), st.sampled_from([b"", b"YWI= 256", b"YWI= 4", b"YQ== 900", b"YWI= -1", b"= 3"])
            )
        )
        lines[at : at + data.draw(st.integers(0, 1))] = [other]
    with suppress(jeton.JetonError):
        tok = tiktoken.read(b"\n".join(lines), source="ranks", pattern="none", special_tokens={"<a>": 70_000})
        assert tok.decode(tok.encode("ab<a>", special="all")) == "ab<a>"


def _base64() -> list[bytes]:

    return [base64.b64encode(bytes([byte])) for byte in range(256)]


def test_a_file_larger_than_any_tokenizer_is_not_read(tmp_path: Any) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate((1 << 30) + 1)  # a sparse file: it takes no space on the disk
    with pytest.raises(jeton.FormatError, match="limit"):
        jeton.load(path)


def test_many_added_tokens_are_read_in_linear_time() -> None:
    """Each is looked up in the vocabulary; a linear search for each would take minutes."""
    tok = byte_tokenizer(special_tokens={f"<|{number}|>": 300 + number for number in range(20_000)})
    data = tok.to_bytes()
    assert fastest(lambda: jeton.Tokenizer.from_bytes(data), 2) < 2
    assert jeton.Tokenizer.from_bytes(data) == tok


@pytest.mark.parametrize("kind", [3, 4], ids=["control", "user-defined"])
def test_pieces_that_begin_with_others_are_loaded_in_linear_time(kind: int) -> None:
    """An Aho-Corasick automaton would take quadratic time for them."""
    for model_type in (1, 2):
        data = model_file((piece(f"x{number}", 0.0, kind) for number in range(40_000)), model_type)
        tok = sentencepiece.read(data, source="a.model")
        assert model_type == 1 or tok.encode("x39999", special="all") == [40_000]
        assert fastest(partial(sentencepiece.read, data, source="a.model"), 0.7) < 0.7


def test_pieces_that_contain_others_are_saved_in_linear_size() -> None:
    """Writing every split of every piece would already take ten times the size of the file here."""
    for scores in (lambda number: -float(number), lambda _: -1.0):
        data = model_file((piece("a" * number, scores(number)) for number in range(1, 150)), 2)
        tok = sentencepiece.read(data, source="a.model")
        written = tok.to_bytes()
        assert len(written) < 4 * len(data)
        assert jeton.Tokenizer.from_bytes(written) == tok
        assert tok.encode("a" * 149) == jeton.Tokenizer.from_bytes(written).encode("a" * 149)


def test_a_long_piece_is_saved_and_audited_in_linear_time() -> None:
    data = model_file([piece("a"), piece("b", -1.0), piece("a" * 100_000, -2.0), piece("b" * 100_000, -3.0)], 2)
    unigram = model_file([piece("a"), piece("a" * 100_000, -2.0)], 1)

    def saved_and_audited() -> None:
        for file in (data, unigram):
            tok = sentencepiece.read(file, source="a.model")
            assert len(tok.to_bytes()) < 4 * len(file)
            assert jeton.audit(tok, progress=False)

    assert fastest(saved_and_audited, 2) < 2


@pytest.mark.timeout(600)
def test_generated_files_take_time_and_memory_of_their_size() -> None:
    tool = TESTDATA.parent / "tools" / "hostile_files.py"
    done = subprocess.run(
        [sys.executable, str(tool), "--variants", str(amount(20, default=1)), "--bytes", "40000"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_sound_file_of_every_kind_is_still_sound(kind: str) -> None:
    load_or_refuse(tokenizer(kind).to_bytes())
    assert jeton.Tokenizer.from_bytes(tokenizer(kind).to_bytes()) == tokenizer(kind)


def changed(**members: object) -> bytes:
    """A sound file with other members."""
    return json.dumps(json.loads((HOSTILE / "fine.json").read_bytes()) | members).encode()


@pytest.mark.timeout(60)
def test_a_long_added_token_takes_time_in_proportion() -> None:
    long = "x" * 1_000_000
    id = len(json.loads((HOSTILE / "fine.json").read_bytes())["model"]["vocab"])
    token = {"id": id, "content": long, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    tok = jeton.Tokenizer.from_bytes(changed(added_tokens=[token | {"special": True}]))
    assert tok.encode(long * 2, special="all") == [id, id]


def test_a_template_that_multiplies_is_refused() -> None:
    special = {"<many>": {"id": "<many>", "ids": [0] * 1000, "tokens": ["<many>"] * 1000}}
    pieces = [{"SpecialToken": {"id": "<many>", "type_id": 0}}] * 100_000
    template = {"type": "TemplateProcessing", "single": pieces, "pair": [], "special_tokens": special}
    with pytest.raises(FormatError, match="more than 65536 ids"):
        jeton.Tokenizer.from_bytes(changed(post_processor=template))


@pytest.mark.parametrize("regex", [r"\p{L}" * 100_000, "[" + "a-zé" * 100_000 + "]", "|".join(["ab"] * 100_000)])
def test_a_long_regex_is_refused(regex: str) -> None:
    split = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    with pytest.raises(FormatError, match="more than 32768 bytes"):
        jeton.Tokenizer.from_bytes(changed(pre_tokenizer=split))
    with pytest.raises(ConfigError, match="more than 32768 bytes"):
        jeton.train(["abc"], 257, pattern=regex, progress=False)


def test_a_git_lfs_pointer_is_named(tmp_path: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 3\n"
    for name in ("tokenizer.model", "tokenizer.json", "vocab.txt", "a.tiktoken"):
        (tmp_path / name).write_text(pointer)
        with pytest.raises(FormatError, match=f"{name}.*Git LFS pointer"):
            jeton.load(tmp_path / name)
