"""The catalog: the list of tokenizers, and the errors of broken ones."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

import pytest

import jeton
from jeton.errors import ConfigError, FormatError, JetonError
from jeton.formats.registry import REGISTRY
from jeton.playground import catalog as module
from jeton.playground.catalog import MAX_DROPPED, Catalog

from ..material import TESTDATA, byte_tokenizer, tokenizer


def keys(catalog: Catalog) -> list[str]:
    return [entry["key"] for entry in catalog.describe()]


def entry(catalog: Catalog, key: str) -> dict[str, object]:
    return next(entry for entry in catalog.describe() if entry["key"] == key)


def named(number: int) -> bytes:
    """The file of a tokenizer that is different for each number."""
    return byte_tokenizer((97, 98, 256), special_tokens={f"<|{number}|>": 300}).to_bytes()


class TestWithoutFiles:
    def test_three_tokenizers_are_built_in(self) -> None:
        assert keys(Catalog(cached=False)) == ["default", "lessons", "bytes"]
        assert Catalog(cached=False).get("default") is jeton.default()

    def test_bytes_are_the_baseline(self) -> None:
        tok = Catalog(cached=False).get("bytes")
        assert tok.encode("é\n") == [0xC3, 0xA9, 0x0A]

    def test_the_tokenizer_of_the_lessons_is_trained(self) -> None:
        catalog = Catalog(cached=False)
        assert entry(catalog, "lessons")["loaded"] is False
        tok = catalog.get("lessons")
        assert tok.decode(tok.encode("the tokenizer 词元")) == "the tokenizer 词元"
        assert len(tok.encode(" the tokenizer")) <= 4
        facts = entry(catalog, "lessons")
        assert (facts["loaded"], facts["kind"], facts["has_merges"]) == (True, "BPE", True)
        assert facts["vocab_size"] == tok.vocab_size

    def test_an_unknown_key_is_an_error(self) -> None:
        with pytest.raises(ConfigError, match=r"there is no tokenizer 'nowhere' here"):
            Catalog(cached=False).get("nowhere")


class TestNamed:
    def test_named_tokenizers_are_listed_first_by_file_name(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.tokenizer.json"
        tokenizer("byte gpt2").save(path)
        folder = tmp_path / "chat"
        tokenizer("byte gpt2").save(folder)
        catalog = Catalog([str(path), str(folder)], cached=False)
        assert keys(catalog)[:2] == ["mine", "chat"]
        assert catalog.get("mine") == tokenizer("byte gpt2")

    def test_files_of_equal_names_are_numbered(self, tmp_path: Path) -> None:
        paths = [tmp_path / folder / "tok.json" for folder in "ab"]
        for path in paths:
            path.parent.mkdir()
            tokenizer("byte gpt2").save(path)
        assert keys(Catalog(map(str, paths), cached=False))[:2] == ["tok", "tok (2)"]

    def test_a_missing_file_is_an_error_at_once(self) -> None:
        with pytest.raises(FileNotFoundError, match="nowhere"):
            Catalog(["nowhere.json"], cached=False)


class TestFolder:
    def test_files_are_listed_by_content(self, tmp_path: Path) -> None:
        tokenizer("byte gpt2").save(tmp_path / "b.json")
        tokenizer("byte gpt2").save(tmp_path / "a-folder")
        shutil.copy(tmp_path / "b.json", tmp_path / "no-suffix")
        (tmp_path / "ranks.tiktoken").write_text("aGk= 0\n")
        (tmp_path / "words.vocab.txt").write_text("[PAD]\n[UNK]\nthe\n")
        for name, content in {
            "README.md": "not a tokenizer",
            "tokenizer_config.json": '{"a": 1}',
            "merges.txt": "#version: 0.2\n",
            ".hidden.json": "{}",
            "empty": "",
            "table.csv": "a,b\n1,2\n",
        }.items():
            (tmp_path / name).write_text(content)
        (tmp_path / "not-a-tokenizer").mkdir()
        assert keys(Catalog(folder=tmp_path, cached=False)) == [
            "a-folder",
            "b",
            "no-suffix",
            "ranks",
            "words",
            "default",
            "lessons",
            "bytes",
        ]

    def test_listing_loads_nothing_and_concurrent_gets_load_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tokenizer("byte gpt2").save(tmp_path / "a.json")
        calls: list[str] = []
        monkeypatch.setattr(module, "load", lambda path: calls.append(str(path)) or jeton.load(path))
        catalog = Catalog(folder=tmp_path, cached=False)
        assert calls == []
        threads = [threading.Thread(target=catalog.get, args=("a",)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(calls) == 1

    def test_a_load_error_is_shown_at_the_entry(self, tmp_path: Path) -> None:
        (tmp_path / "broken.json").write_text('{"model": {')
        catalog = Catalog(folder=tmp_path, cached=False)
        assert entry(catalog, "broken")["error"] is None
        with pytest.raises(JetonError) as caught:
            catalog.get("broken")
        facts = entry(catalog, "broken")
        assert facts["error"] == str(caught.value)
        assert facts["loaded"] is False
        with pytest.raises(JetonError):  # a second time, without loading again
            catalog.get("broken")

    def test_a_file_that_goes_away_is_an_error_at_the_entry(self, tmp_path: Path) -> None:
        tokenizer("byte gpt2").save(tmp_path / "a.json")
        catalog = Catalog(folder=tmp_path, cached=False)
        (tmp_path / "a.json").unlink()
        with pytest.raises(FormatError, match="a cannot be read"):
            catalog.get("a")

    def test_published_files_are_listed_by_name(self, data: Path) -> None:
        catalog = Catalog(folder=data / "vocabs", cached=False)
        found = keys(catalog)
        assert found[:3] == ["o200k_base", "cl100k_base", "llama3"]
        assert {"gpt2", "r50k_base", "t5-small", "mistral-v1", "bert-uncased", "roberta-base"} <= set(found)
        assert (
            catalog.get("gpt2").encode("hello world") == catalog.get("r50k_base").encode("hello world") == [31373, 995]
        )
        catalog.get("t5-small")
        assert (entry(catalog, "t5-small")["kind"], entry(catalog, "t5-small")["has_merges"]) == ("Unigram", False)


class TestCaches:
    @pytest.fixture(autouse=True)
    def _caches(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR", "HF_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("JETON_CACHE_DIR", str(tmp_path / "jeton"))
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))

    def test_missing_caches_are_not_an_error(self) -> None:
        assert keys(Catalog()) == ["default", "lessons", "bytes"]

    def test_jetons_downloads_are_listed(self, data: Path, tmp_path: Path) -> None:
        (tmp_path / "jeton").mkdir()
        shutil.copy(data / "vocabs" / "cl100k_base.tiktoken", tmp_path / "jeton" / "cl100k_base.tiktoken")
        catalog = Catalog()
        assert keys(catalog)[:2] == ["default", "cl100k_base"]
        assert catalog.get("cl100k_base").encode("hello world") == [15339, 1917]

    @pytest.mark.filterwarnings("ignore")
    def test_a_damaged_download_is_not_offered(self, tmp_path: Path) -> None:
        (tmp_path / "jeton").mkdir()
        (tmp_path / "jeton" / "cl100k_base.tiktoken").write_text("aGk= 0\n")
        assert "cl100k_base" in REGISTRY
        assert keys(Catalog()) == ["default", "lessons", "bytes"]

    def test_snapshots_of_the_hub_are_listed(self, tmp_path: Path) -> None:
        repository = tmp_path / "hub" / "models--owner--name"
        tokenizer("byte gpt2").save(repository / "snapshots" / ("0" * 40))
        (tmp_path / "hub" / "models--owner--weights" / "snapshots" / ("1" * 40)).mkdir(parents=True)
        catalog = Catalog()
        assert keys(catalog) == ["default", "hf:owner/name", "lessons", "bytes"]
        assert catalog.get("hf:owner/name").encode("old tale") == tokenizer("byte gpt2").encode("old tale")


class TestDropped:
    def test_the_key_is_the_file_name(self) -> None:
        """Links contain the key, so a tokenizer that is opened again gets the same key."""
        catalog = Catalog(cached=False)
        tok, other = tokenizer("byte gpt2"), tokenizer("byte none")
        facts = catalog.add("mine.json", tok.to_bytes())
        assert (facts["key"], facts["name"], facts["dropped"]) == ("mine.json", "mine.json", True)
        assert catalog.get("mine.json") == tok
        assert catalog.add("mine.json", other.to_bytes())["key"] == "mine.json (2)"
        assert catalog.add("mine.json", tok.to_bytes())["key"] == "mine.json"
        assert catalog.add("bytes", tok.to_bytes())["key"] == "bytes (2)", "a built-in tokenizer keeps its key"
        assert (catalog.get("mine.json"), catalog.get("mine.json (2)")) == (tok, other)

    def test_the_oldest_file_is_evicted(self) -> None:
        catalog = Catalog(cached=False)
        added = [catalog.add(f"{n}.json", named(n))["key"] for n in range(MAX_DROPPED + 3)]
        assert [entry["key"] for entry in catalog.describe() if entry["dropped"]] == added[3:]

    @pytest.mark.parametrize("name", sorted(path.name for path in (TESTDATA / "hostile").iterdir() if path.is_file()))
    def test_hostile_files_are_refused_in_words(self, name: str) -> None:
        catalog = Catalog(cached=False)
        before = keys(catalog)
        try:
            catalog.add(name, (TESTDATA / "hostile" / name).read_bytes())
        except JetonError as error:
            assert "jeton-" not in str(error), "the error names a temporary folder"
            assert str(error).strip()
            assert keys(catalog) == before
        else:
            assert len(keys(catalog)) == len(before) + 1

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\x00",
            b"{",
            b"[" * 1_000_000,
            b'{"model":' * 100_000,
            b"\xff\xfe" * 1000,
            b"just a text",
            b"PK\x03\x04" + b"\0" * 99,
        ],
    )
    def test_files_without_a_tokenizer_are_refused(self, content: bytes) -> None:
        with pytest.raises(JetonError) as caught:
            Catalog(cached=False).add("x.json", content)
        assert len(str(caught.value)) < 1000

    @pytest.mark.parametrize("names", [("vocab.json", "merges.txt"), ("small-encoder.json", "small-vocab.bpe")])
    def test_a_pair_is_one_tokenizer(self, names: tuple[str, str], tmp_path: Path) -> None:
        tok = jeton.train(["the old tale"], 262, pattern="gpt2", progress=False)
        tok.save(tmp_path, format="merges.txt")
        stored = ("vocab.json", "merges.txt")
        files = [(name, (tmp_path / path).read_bytes()) for name, path in zip(names, stored, strict=True)]
        catalog = Catalog(cached=False)
        for order in (files, files[::-1]):
            opened = catalog.open(order)
            assert (opened["errors"], [entry["key"] for entry in opened["entries"]]) == ([], [names[0]])
        assert catalog.get(names[0]).encode("the old tale") == tok.encode("the old tale")

    def test_a_configuration_belongs_to_the_file_beside_it(self, tmp_path: Path) -> None:
        tok = tokenizer("byte gpt2")
        tok.save(tmp_path / "folder")
        files = [(path.name, path.read_bytes()) for path in sorted((tmp_path / "folder").iterdir())]
        assert [name for name, _ in files] == ["tokenizer.json", "tokenizer_config.json"]
        opened = Catalog(cached=False).open([*files, ("other.json", tokenizer("byte none").to_bytes())])
        assert ([entry["key"] for entry in opened["entries"]], opened["errors"]) == (
            ["tokenizer.json", "other.json"],
            [],
        )

    def test_a_broken_file_does_not_affect_the_others(self) -> None:
        opened = Catalog(cached=False).open([("a.json", b"{"), ("b.json", tokenizer("byte gpt2").to_bytes())])
        assert [entry["key"] for entry in opened["entries"]] == ["b.json"]
        assert [error["name"] for error in opened["errors"]] == ["a.json"]
        assert "a.json" in opened["errors"][0]["error"]

    def test_an_empty_vocabulary_is_refused(self, tmp_path: Path) -> None:
        empty = b'{"version":"1.0","added_tokens":[],"model":{"type":"BPE","vocab":{},"merges":[]}}'
        with pytest.raises(FormatError, match=r"mine\.json has an empty vocabulary"):
            Catalog(cached=False).add("mine.json", empty)
        (tmp_path / "empty.json").write_bytes(empty)
        catalog = Catalog(folder=tmp_path, cached=False)
        with pytest.raises(FormatError, match="empty has an empty vocabulary"):
            catalog.get("empty")

    def test_a_single_file_of_a_pair_is_refused(self) -> None:
        with pytest.raises(FormatError, match="one of two files"):
            Catalog(cached=False).add("vocab.json", json.dumps({"a": 0, "b": 1}).encode())

    @pytest.mark.parametrize(
        ("given", "shown"),
        [
            ("../../etc/passwd", "passwd"),
            ("C:\\files\\my.json", "my.json"),
            ("a\u202ejson.exe", "a\ufffdjson.exe"),
            ("", "a file without name"),
            ("x" * 500, "x" * 120),
            ("<b>bold</b>", "b>"),
            ("天.json", "天.json"),
        ],
    )
    def test_only_the_file_name_of_a_path_is_shown(self, given: str, shown: str) -> None:
        assert Catalog(cached=False).add(given, tokenizer("byte gpt2").to_bytes())["name"] == shown
