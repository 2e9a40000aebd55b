"""`jeton.load` reads unchanged files once, and changed ones again."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.formats import cache, registry
from jeton.formats.remote import downloads

TOK = jeton.train(["low lower lowest"] * 3, 262, pattern="gpt2", progress=False)
OTHER = jeton.train(["new newer newest"] * 3, 262, pattern="gpt2", progress=False)


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty cache that also keeps files written just now."""
    monkeypatch.setattr(cache, "SETTLED_NS", 0)
    cache.clear()
    yield
    cache.clear()


def later() -> None:
    """Waits for the next tick of the file system's clock."""
    time.sleep(0.03)


def file(tmp_path: Path) -> Path:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(TOK.to_bytes())
    return path


def test_an_unchanged_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file(tmp_path)
    tok = jeton.load(path)
    assert tok == TOK
    assert jeton.load(path) is jeton.load(str(path)) is tok
    monkeypatch.chdir(tmp_path)
    assert jeton.load("tokenizer.json") is tok
    assert jeton.load(tmp_path) is not tok  # a folder, with its configuration


def test_relative_paths_are_those_of_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, tok in (("a", TOK), ("b", OTHER)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.json").write_bytes(tok.to_bytes())
        monkeypatch.chdir(tmp_path / name)
        assert jeton.load("t.json") == tok


def test_a_file_that_was_just_written_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "SETTLED_NS", 2_000_000_000)
    path = file(tmp_path)
    assert jeton.load(path) is not jeton.load(path)
    os.utime(path, (0, 0))  # an old modification time does not mean that the file is no longer written
    assert jeton.load(path) is not jeton.load(path)


def test_a_replaced_file_is_read_again(tmp_path: Path) -> None:
    path = file(tmp_path)
    assert jeton.load(path) == TOK
    OTHER.save(path)
    assert jeton.load(path) == OTHER
    path.unlink()
    with pytest.raises(FileNotFoundError):
        jeton.load(path)


def test_a_file_with_the_same_size_and_time_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    TOK.add_tokens(["<a>"]).save(path)
    facts = path.stat()
    assert [*jeton.load(path).special_tokens] == ["<a>"]
    later()
    new = path.read_bytes().replace(b"<a>", b"<b>")
    with path.open("r+b") as opened:  # the inode is unchanged
        opened.write(new)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    after = path.stat()
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (facts.st_ino, facts.st_size, facts.st_mtime_ns)
    assert [*jeton.load(path).special_tokens] == ["<b>"]


@pytest.mark.parametrize(
    "name",
    ["tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja", "additional_chat_templates/x.jinja"],
)
def test_a_folder_whose_configuration_changes_is_read_again(tmp_path: Path, name: str) -> None:
    TOK.add_tokens(["<s>"]).with_roles(bos="<s>").with_chat_template("{{ 1 }}").save(tmp_path)
    tok = jeton.load(tmp_path)
    assert jeton.load(tmp_path) is tok
    changed = tmp_path / name
    changed.parent.mkdir(exist_ok=True)
    later()
    changed.write_text("{{ 2 }}" if name.endswith("jinja") else '{"eos_token": "<s>", "bos_token": "<s>"}')
    assert jeton.load(tmp_path) is not tok
    later()
    changed.unlink()
    assert jeton.load(tmp_path) is not tok


def test_a_change_of_either_file_of_a_pair_is_read(tmp_path: Path) -> None:
    TOK.save(tmp_path, format="merges.txt")
    for asked in ("vocab.json", "merges.txt"):
        tok = jeton.load(tmp_path / asked)
        assert jeton.load(tmp_path / asked) is tok
        for other in ("vocab.json", "merges.txt", "tokenizer_config.json"):
            later()
            data = (tmp_path / other).read_bytes() if (tmp_path / other).exists() else b"{}"
            (tmp_path / other).write_bytes(data)
            changed = jeton.load(tmp_path / asked)
            assert changed is not tok
            tok = changed


def test_options_are_part_of_the_cache_key(tmp_path: Path) -> None:
    path = tmp_path / "t.tiktoken"
    jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, []).save(path, accept_loss=["pattern"])
    toks = [jeton.load(path, pattern=pattern) for pattern in ("gpt2", "o200k", "gpt2", "o200k")]
    assert toks[0] is toks[2]
    assert toks[1] is toks[3]
    assert toks[0] != toks[1]
    special = {"<s>": 300}
    tok = jeton.load(path, pattern="gpt2", special_tokens=special)
    special["<s>"] = 301
    assert (tok.special_tokens["<s>"], jeton.load(path, "gpt2", special).special_tokens["<s>"]) == (300, 301)
    with pytest.raises(jeton.ConfigError):
        jeton.load(path)


def test_the_cache_evicts_the_oldest_tokenizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / f"{at}.json" for at in range(cache.MAX_TOKENIZERS + 1)]
    for path in paths:
        path.write_bytes(TOK.to_bytes())
    first, *rest = [jeton.load(path) for path in paths]
    assert len(cache._entries) == cache.MAX_TOKENIZERS
    assert [jeton.load(path) for path in paths[1:]] == rest
    assert all(jeton.load(path) is tok for path, tok in zip(paths[1:], rest, strict=True))
    assert jeton.load(paths[0]) is not first  # this evicts the least recently used tokenizer
    assert jeton.load(paths[1]) is not rest[0]
    assert jeton.load(paths[-1]) is rest[-1]
    monkeypatch.setattr(cache, "MAX_IDS", 2 * len(TOK))
    kept = jeton.load(paths[0])
    jeton.load(paths[2])
    assert len(cache._entries) <= cache.MAX_TOKENIZERS
    cache.clear()
    for path in paths:
        kept = jeton.load(path)
    assert len(cache._entries) == 2
    monkeypatch.setattr(cache, "MAX_IDS", len(TOK) - 1)
    cache.clear()
    assert jeton.load(paths[0]) is not kept
    assert cache._entries == ()


def test_a_name_of_the_registry_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = _ranks()
    known = registry.replace(registry.REGISTRY["o200k_base"], sha256=__import__("hashlib").sha256(ranks).hexdigest())
    monkeypatch.setitem(registry.REGISTRY, "o200k_base", known)
    monkeypatch.setenv("JETON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("JETON_OFFLINE", "1")
    path = tmp_path / downloads._filename(known)
    path.write_bytes(ranks)
    tok = jeton.load("gpt-4o")
    with monkeypatch.context() as patch:
        patch.setattr(downloads, "_holds", lambda *_: pytest.fail("hashed again"))
        assert jeton.load("gpt-4o") is jeton.load("o200k_base") is tok
    later()
    path.write_bytes(ranks[:-1] + b"\r")  # damaged: refused, as on the first call
    with pytest.raises(jeton.errors.DownloadError):
        jeton.load("gpt-4o")


def test_threads_share_tokenizers_while_files_change(tmp_path: Path) -> None:
    paths = [tmp_path / f"{at}.json" for at in range(cache.MAX_TOKENIZERS + 2)]
    for path in paths:
        shutil.copy(file(tmp_path), path)

    def load(at: int) -> list[int]:
        path = paths[at % len(paths)]
        if at % 7 == 0:
            (OTHER if at % 2 else TOK).save(path)
        return jeton.load(path).encode("low newer")

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(load, range(400)))
    assert {tuple(ids) for ids in results} == {tuple(tok.encode("low newer")) for tok in (TOK, OTHER)}
    assert len(cache._entries) <= cache.MAX_TOKENIZERS


def test_cached_tokenizers_cannot_be_changed_by_callers(tmp_path: Path) -> None:
    shared = TOK.add_tokens(["<s>"]).with_roles(bos="<s>").with_chat_template("{{ 1 }}")
    shared.save(tmp_path)
    tok: Any = jeton.load(tmp_path)
    before = (tok.fingerprint, dict(tok.roles), dict(tok.special_tokens), tok.definition)
    for change in (
        lambda: setattr(tok, "roles", {}),
        lambda: tok.roles.update(eos="<s>"),
        lambda: tok.special_tokens.update(x=1),
        lambda: tok.added_tokens.clear(),
        lambda: tok.vocab.update({1: b"x"}),
        lambda: tok.definition.config.update(x=1),
        lambda: tok.definition.pretokenizer[0].update(x=1),
        lambda: setattr(tok.definition, "roles", {}),
    ):
        with pytest.raises((AttributeError, TypeError)):
            change()
    tok.get_vocab().clear()  # a new dict for each call
    tok.add_tokens(["<t>"]), tok.with_roles(bos=None), tok.with_options(special="all")
    again = jeton.load(tmp_path)
    assert again is tok
    assert (again.fingerprint, dict(again.roles), dict(again.special_tokens), again.definition) == before


def _ranks() -> bytes:
    from base64 import b64encode

    return b"".join(b"%s %d\n" % (b64encode(bytes([byte])), byte) for byte in range(256))
