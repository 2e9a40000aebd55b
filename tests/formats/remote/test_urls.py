"""Tokenizers and counts at URLs: the same as local ones, and errors that name the URL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.corpus import Source
from jeton.errors import ConfigError, FormatError, UnsupportedFeatureError
from jeton.formats import url
from jeton.training.count import counts_of

from ..gguf_writer import gguf, metadata
from .conftest import Server

TEXT = "low lower lowest new newer newest <|end|>"


@pytest.fixture
def memory() -> Iterator[Any]:
    import fsspec

    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()


@pytest.fixture(scope="module")
def tok() -> jeton.Tokenizer:
    made = jeton.train([TEXT] * 3, 270, progress=False).add_tokens(["<|im_start|>", "<|im_end|>"])
    return made.with_roles(eos="<|im_end|>").with_chat_template("chatml")


def put(memory: Any, folder: Path, place: str) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            memory.pipe(f"{place}/{path.relative_to(folder)}", path.read_bytes())


def test_a_file_at_a_web_address_is_loaded(server: Server, tok: jeton.Tokenizer) -> None:
    server.answers["/a/tokenizer.json"] = tok.to_bytes()
    for address in (f"{server.url}/a/tokenizer.json", f"{server.url}/a/tokenizer.json?download=true"):
        assert jeton.load(address) == tok
    with pytest.raises(FileNotFoundError) as caught:
        jeton.load(f"{server.url}/b/tokenizer.json")
    assert f"{server.url}/b/tokenizer.json" in str(caught.value)
    server.answers["/a/broken.json"] = b'{"model": '
    with pytest.raises(FormatError, match=f"{server.url}/a/broken.json"):
        jeton.load(f"{server.url}/a/broken.json")


def test_a_pair_at_a_web_address_needs_both_files(server: Server, tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text('{"l": 0, "o": 1, "w": 2, "lo": 3, "low": 4}')
    (tmp_path / "merges.txt").write_text("#version: 0.2\nl o\nlo w\n")
    expected = jeton.load(tmp_path / "vocab.json")
    server.answers["/a/vocab.json"] = (tmp_path / "vocab.json").read_bytes()
    with pytest.raises(FileNotFoundError, match=r"a/vocab\.json needs merges\.txt, which is not"):
        jeton.load(f"{server.url}/a/vocab.json")
    server.answers["/a/merges.txt"] = (tmp_path / "merges.txt").read_bytes()
    assert jeton.load(f"{server.url}/a/vocab.json") == jeton.load(f"{server.url}/a/merges.txt") == expected


def test_a_folder_at_a_url_is_loaded(memory: Any, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path / "tok")
    (tmp_path / "tok" / "weights.safetensors").write_bytes(b"x")
    put(memory, tmp_path / "tok", "/models/tok")
    for place in ("memory://models/tok", "memory://models/tok/"):
        loaded = jeton.load(place)
        assert loaded == tok
        assert loaded.roles == tok.roles
        assert loaded.definition.chat_template == tok.definition.chat_template
    memory.pipe("/models/none/README.md", b"#")
    with pytest.raises(FileNotFoundError, match="the folder memory://models/none contains no tokenizer"):
        jeton.load("memory://models/none")
    with pytest.raises(FileNotFoundError, match="memory://models/gone"):
        jeton.load("memory://models/gone")


def test_the_first_gguf_file_of_a_folder_is_read(memory: Any, tmp_path: Path) -> None:
    """As in a local folder, the first file is read; projectors come last."""
    values = metadata("gpt2", [*"abc", "ab"], merges=["a b"], pre="gpt-2")
    memory.pipe("/models/x.gguf", gguf(values))
    memory.pipe("/models/mmproj.gguf", b"GGUF")
    memory.pipe("/models/README.md", b"x")
    assert jeton.load("memory://models").encode("abc") == [3, 2]
    with url.local_copy("memory://models", 10_000) as copy:
        assert [path.name for path in Path(copy).iterdir()] == ["x.gguf"]


def test_gguf_files_beside_a_tokenizer_are_not_copied(memory: Any) -> None:
    memory.pipe("/models/x.gguf", b"GGUF")
    memory.pipe("/models/vocab.txt", b"[UNK]\na\nb\n")
    with url.local_copy("memory://models", 10_000) as copy:
        assert [path.name for path in Path(copy).iterdir()] == ["vocab.txt"]


def test_the_partner_in_a_folder_that_is_named_as_the_file(memory: Any, tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text('{"l": 0, "o": 1, "w": 2, "lo": 3, "low": 4}')
    (tmp_path / "merges.txt").write_text("#version: 0.2\nl o\nlo w\n")
    put(memory, tmp_path, "/my-vocab.json")
    for name in ("vocab.json", "merges.txt"):
        assert jeton.load(f"memory://my-vocab.json/{name}") == jeton.load(tmp_path / name)


def test_a_tokenizer_that_is_code_is_refused(memory: Any) -> None:
    memory.pipe("/m/tokenization_own.py", b"raise SystemExit")
    memory.pipe("/m/tokenizer_config.json", b'{"auto_map": {"AutoTokenizer": ["tokenization_own.Own", null]}}')
    memory.pipe("/m/own.model", b"x")
    with pytest.raises(UnsupportedFeatureError, match="the tokenizer of memory://m needs remote code"):
        jeton.load("memory://m")


def test_a_large_file_is_refused(memory: Any) -> None:
    memory.pipe("/tokenizer.json", b"x" * 2000)
    with (
        pytest.raises(FormatError, match=r"memory://tokenizer\.json: more than 1,000 bytes"),
        url.local_copy("memory://tokenizer.json", 1000),
    ):
        pass


def test_an_unknown_protocol_is_refused() -> None:
    with pytest.raises(ConfigError, match="nosuchprotocol"):
        jeton.load("nosuchprotocol://a/tokenizer.json")


class TestCounts:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        for number, text in enumerate(("low lower", "newest low")):
            jeton.count_pretokens([text], progress=False).save(tmp_path / f"shard-{number}.jtc")
        return tmp_path

    def test_counts_at_a_url(self, server: Server, memory: Any, folder: Path) -> None:
        expected = counts_of(folder)
        assert expected is not None
        put(memory, folder, "/counts")
        server.answers["/one.jtc"] = (folder / "shard-0.jtc").read_bytes()
        assert jeton.Counts.load(f"{server.url}/one.jtc") == jeton.Counts.load(folder / "shard-0.jtc")
        for place in ("memory://counts", "memory://counts/", "memory://counts/*.jtc", f"{folder}/*.jtc"):
            assert counts_of(place) == expected
        server.answers["/broken.jtc"] = b"JTCOUNT2"
        with pytest.raises(FormatError, match=f"{server.url}/broken.jtc: not a file of counts"):
            jeton.Counts.load(f"{server.url}/broken.jtc")

    def test_a_folder_means_its_files(self, folder: Path) -> None:
        one, two = (jeton.Counts.load(folder / f"shard-{number}.jtc") for number in range(2))
        (folder / "report.md").write_text("#")
        assert counts_of(folder) == one + two
        assert counts_of([folder, folder / "shard-1.jtc"]) == one + two
        assert counts_of([Source(folder, 2)]) == (one + two).scaled(2)
        assert jeton.train(folder, 260, progress=False) == jeton.train(one + two, 260, progress=False)
        with pytest.raises(ConfigError, match="two sources with different weights"):
            counts_of([Source(folder), Source(folder / "shard-0.jtc", 2)])

    def test_incomplete_shards_of_counts_are_refused(self, folder: Path) -> None:
        expected = counts_of(folder)
        assert expected is not None
        expected.save(folder / "joined.jtc")
        assert counts_of(folder) == expected
        (folder / "plan.json").write_text("{}")
        with pytest.raises(ConfigError, match="shards of counts that are not complete"):
            counts_of(folder)
        (folder / "manifest.json").write_text("{}")
        assert counts_of(folder) == expected

    def test_counts_mixed_with_other_files_are_refused(self, folder: Path, tmp_path: Path) -> None:
        (folder / "a.txt").write_text("low")
        with pytest.raises(ConfigError, match=r"contains files of counts and a\.txt"):
            counts_of(folder)
        with pytest.raises(ConfigError, match=r"shard-0\.jtc is a file of counts, but .*a\.txt is not"):
            counts_of([folder / "shard-0.jtc", folder / "a.txt"])
