"""Repositories of the hub, served on this machine: files taken, errors, and work without a network."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.formats.remote import fetch
from jeton.formats.remote import hub as module

from .conftest import COMMIT, Hub, Server, reply

OTHER = "f" * 40
TOK = jeton.train(["low lower lowest"] * 3, 262, pattern="gpt2", special_tokens=["<|end|>"], progress=False)
FILE = TOK.to_bytes()
FOLDER = {"tokenizer.json": FILE, "tokenizer_config.json": b'{"tokenizer_class": "PreTrainedTokenizerFast"}'}


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def asked(server: Server) -> set[str]:
    """The requested files."""
    return {path.rpartition("/")[2] for path in server.requests if "/resolve/" in path}


def test_a_repository_is_downloaded_once(hub: Hub, server: Server) -> None:
    hub.put(FOLDER)
    assert jeton.load("hf:owner/name") == TOK
    first = len(server.requests)
    assert jeton.load("hf:owner/name") == TOK
    assert len(server.requests) == first + 1, "one request: is the branch still at this commit?"
    assert jeton.load(f"hf:owner/name@{COMMIT}") == TOK
    before = len(server.requests)
    assert jeton.load(f"hf:owner/name@{COMMIT}") == TOK
    assert len(server.requests) == before, "a commit never changes"


def test_names_without_owner_are_loaded(hub: Hub, server: Server) -> None:
    single = Hub(server, "name")
    single.put(FOLDER)
    assert jeton.load("hf:name") == TOK


def test_a_moved_branch_is_downloaded_again(hub: Hub) -> None:
    hub.put(FOLDER)
    jeton.load("hf:owner/name")
    other = jeton.train(["other texts"], 260, progress=False)
    hub.put({"tokenizer.json": other.to_bytes()}, commit=OTHER)
    assert jeton.load("hf:owner/name") == other
    assert jeton.load(f"hf:owner/name@{COMMIT}") == TOK


def test_only_the_tokenizers_files_are_taken(hub: Hub, server: Server) -> None:
    others = {
        "model.safetensors": b"weights",
        "pytorch_model.bin": b"pickle",
        "tokenizer.pkl": b"pickle",
        "tokenization_x.py": b"raise SystemExit",
        "README.md": b"read me",
        "original/tokenizer.model": b"deeper",
        "tokenizer.model": b"not needed beside a tokenizer.json",
        "vocab.json": b"{}",
    }
    beside = {"special_tokens_map.json": b"{}", "chat_template.jinja": b"{{ x }}", "config.json": b"{}"}
    hub.put({**FOLDER, **others, **beside}, large=("tokenizer.json",))
    folder = fetch("hf:owner/name")
    assert names(folder) == sorted([*FOLDER, *beside])
    assert asked(server) == {*FOLDER, *beside}
    assert jeton.load(folder) == TOK


def test_without_a_whole_file_the_parts_are_taken(hub: Hub) -> None:
    parts = {"tokenizer.model": b"m", "a.tiktoken": b"t", "vocab.json": b"{}", "merges.txt": b"", "vocab.txt": b""}
    hub.put({**parts, "deep/b.model": b"", "x.bin": b""})
    assert names(fetch("hf:owner/name")) == sorted(parts)
    hub.put({**parts, "tekken.json": b"{}"}, commit=OTHER)
    assert names(fetch("hf:owner/name")) == ["tekken.json"]


def test_a_repository_without_tokenizer_is_an_error(hub: Hub) -> None:
    hub.put({"config.json": b"{}", "model.safetensors": b""})
    with pytest.raises(jeton.FormatError, match="hf:owner/name has no supported tokenizer"):
        jeton.load("hf:owner/name")


# ── code ──────────────────────────────────────────────────────────────────────────────────────────────────────────

AUTO: list[dict[str, Any]] = [
    {"tokenizer_config.json": {"auto_map": {"AutoTokenizer": ["tokenization_x.XTokenizer", None]}}},
    {"tokenizer_config.json": {"auto_map": {"AutoTokenizer": "owner/code--tokenization_x.XTokenizer"}}},
    {"tokenizer_config.json": {"auto_map": ["tokenization_x.XTokenizer", None]}},
    {"tokenizer_config.json": {}, "config.json": {"auto_map": {"AutoTokenizer": [None, "tokenization_x.XFast"]}}},
    {"tokenizer_config.json": {"tokenizer_class": "DeepSeekTokenizerFast"}, "tokenization_deep_seek.py": 1},
]
PLAIN: list[dict[str, Any]] = [
    {"tokenizer_config.json": {"tokenizer_class": "LlamaTokenizer"}, "tokenization_other.py": 1, "convert.py": 1},
    {"config.json": {"auto_map": {"AutoModel": "modeling_x.X", "AutoConfig": "configuration_x.X"}}},
    {"tokenizer_config.json": {"auto_map": None}},
]


def encoded(files: dict[str, Any]) -> dict[str, bytes]:
    return {name: json.dumps(content).encode() for name, content in files.items()}


@pytest.mark.parametrize("files", AUTO)
def test_parts_for_code_are_refused(hub: Hub, server: Server, files: dict[str, Any]) -> None:
    hub.put({**encoded(files), "tokenizer.model": b"pieces"})
    for _ in range(2):
        with pytest.raises(jeton.UnsupportedFeatureError, match="never runs") as caught:
            jeton.load("hf:owner/name")
    assert caught.value.feature == "auto_map"
    assert not [name for name in asked(server) if name.endswith(".py")]


@pytest.mark.parametrize("files", AUTO)
def test_a_whole_file_beside_code_is_loaded_with_a_warning(
    hub: Hub, files: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    hub.put({**encoded(files), "tokenizer.json": FILE})
    assert jeton.load("hf:owner/name") == TOK
    assert "never runs" in caplog.text


@pytest.mark.parametrize("files", PLAIN)
def test_code_that_is_not_the_tokenizers_causes_no_warning(
    hub: Hub, files: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    hub.put({**encoded(files), "tokenizer.model": b"pieces"})
    fetch("hf:owner/name")
    assert caplog.text == ""


@pytest.mark.parametrize("content", [b"{", b"[" * 100_000, b'{"a": "\\ud800"}', b"[]", b"\xff"])
def test_a_damaged_configuration_is_an_error(hub: Hub, content: bytes) -> None:
    hub.put({"tokenizer.json": FILE, "tokenizer_config.json": content})
    with pytest.raises(jeton.FormatError, match=r"tokenizer_config\.json"):
        fetch("hf:owner/name")


# ── what goes wrong ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("status", "headers", "words"),
    [
        (401, {"X_Error_Code": "RepoNotFound"}, "HF_TOKEN"),
        (404, {"X_Error_Code": "RepoNotFound"}, "does not exist, or is private"),
        (404, {"X_Error_Code": "RevisionNotFound"}, "no such revision"),
        (401, {"X_Error_Code": "GatedRepo"}, "accept its conditions"),
        (403, {"X_Error_Code": "GatedRepo"}, "ccept its conditions"),
        (403, {}, "ccept its conditions"),
        (500, {}, "cannot be downloaded"),
    ],
)
def test_refusals_of_the_hub_are_explained(hub: Hub, status: int, headers: dict[str, str], words: str) -> None:
    hub.fail(status, **headers)
    with pytest.raises(jeton.errors.DownloadError, match=f"(?i)hf:owner/name .*{words}") as caught:
        jeton.load("hf:owner/name")
    assert caught.value.url == f"{hub.server.url}/owner/name"


def test_a_refusal_is_not_answered_from_the_cache(hub: Hub) -> None:
    hub.put(FOLDER)
    jeton.load("hf:owner/name")
    hub.fail(401, X_Error_Code="GatedRepo")
    with pytest.raises(jeton.errors.DownloadError, match="gated"):
        jeton.load("hf:owner/name")


def test_gated_files_are_an_error(hub: Hub) -> None:
    """The hub lists the files of a gated repository, and refuses to serve them."""
    hub.put(FOLDER)
    for path in list(hub.server.answers):
        if "/resolve/" in path:
            hub.server.answers[path] = lambda handler: reply(handler, b"", status=403, X_Error_Code="GatedRepo")
    with pytest.raises(jeton.errors.DownloadError, match="gated"):
        jeton.load("hf:owner/name")


def test_the_token_is_sent(hub: Hub, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.put(FOLDER)
    jeton.load("hf:owner/name")
    assert {headers.get("authorization") or headers.get("Authorization") for headers in server.headers} == {
        "Bearer hf_secret"
    }


@pytest.mark.parametrize("large", [(), ("tokenizer.json",)])
def test_content_that_differs_from_the_hubs_listing_is_not_kept(
    hub: Hub, server: Server, tmp_path: Path, large: tuple[str, ...]
) -> None:
    hub.put(FOLDER, large=large)
    path = f"/owner/name/resolve/{COMMIT}/tokenizer.json"
    good = server.answers[path]
    wrong = FILE.replace(b"low", b"luw", 1)
    server.answers[path] = lambda handler: reply(handler, wrong, ETag='"x"', X_Repo_Commit=COMMIT)
    with pytest.raises(jeton.errors.DownloadError, match="differs from the one that the hub lists"):
        jeton.load("hf:owner/name")
    assert not [entry for entry in (tmp_path / "hf").rglob("*") if entry.is_file() and entry.read_bytes() == wrong]
    server.answers[path] = good
    assert jeton.load("hf:owner/name") == TOK


@pytest.mark.parametrize("name", ["hf:owner/name", f"hf:owner/name@{COMMIT}"])
def test_a_damaged_file_in_the_cache_is_downloaded_again(
    hub: Hub, name: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.put(FOLDER)
    path = fetch(name) / "tokenizer.json"
    path.write_bytes(FILE.replace(b"low", b"luw", 1))  # a valid file with other content
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(jeton.errors.DownloadError, match="not completely cached"):
        jeton.load(name)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    assert jeton.load(name) == TOK
    assert "is damaged" in caplog.text


def test_a_truncated_download_is_an_error(hub: Hub, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.put(FOLDER)

    def truncated(handler: BaseHTTPRequestHandler) -> None:
        reply(handler, FILE[:100], length=len(FILE), ETag='"x"', X_Repo_Commit=COMMIT)

    monkeypatch.setattr("time.sleep", lambda seconds: None)  # huggingface_hub tries again after a while
    server.answers[f"/owner/name/resolve/{COMMIT}/tokenizer.json"] = truncated
    with pytest.raises(jeton.errors.DownloadError):
        jeton.load("hf:owner/name")


def test_a_file_that_is_too_large(hub: Hub, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    hub.put({"tokenizer.json": FILE})
    with pytest.raises(jeton.FormatError, match="too large for a tokenizer"):
        jeton.load("hf:owner/name")
    assert asked(server) == set()


def test_an_invalid_commit_is_refused(hub: Hub) -> None:
    hub.put(FOLDER, commit="../../x")
    with pytest.raises(jeton.FormatError, match="commit"):
        jeton.load("hf:owner/name")


@pytest.mark.parametrize(
    "name",
    ["hf:", "hf:a/b/c", "hf:../x", "hf:a/..", "hf:a//b", "hf:a b/c", "hf:a--b/c", "hf:/etc", "hf:ä/b", "hf:a/b\n"],
)
def test_invalid_names_are_refused_without_a_request(server: Server, name: str) -> None:
    with pytest.raises(jeton.ConfigError, match="is not the name of a repository"):
        jeton.load(name)
    assert server.requests == []


@pytest.mark.parametrize("revision", ["../../../x", "/etc/passwd", "a/../../b", "a\\b", "a b", "a\n"])
def test_invalid_revisions_are_refused_without_a_request(
    server: Server, revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache of the hub uses the revision as a path, and reads it when the network is off."""
    for offline in ("0", "1"):
        monkeypatch.setenv("HF_HUB_OFFLINE", offline)
        with pytest.raises(jeton.ConfigError, match="not a branch, tag or commit"):
            jeton.load(f"hf:owner/name@{revision}")
    assert server.requests == []


# ── without network ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("variable", ["HF_HUB_OFFLINE", "JETON_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_offline_mode_uses_the_cache_only(
    hub: Hub, server: Server, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.put(FOLDER)
    monkeypatch.setenv(variable, "1")
    with pytest.raises(jeton.errors.DownloadError, match="the network is off"):
        jeton.load("hf:owner/name")
    assert server.requests == []
    monkeypatch.delenv(variable)
    jeton.load("hf:owner/name")
    before = len(server.requests)
    monkeypatch.setenv(variable, "1")
    assert jeton.load("hf:owner/name") == TOK
    assert len(server.requests) == before


def test_files_downloaded_by_other_programs_are_used_offline(
    hub: Hub, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "hf" / "hub" / "models--owner--name"
    snapshot = repository / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    (snapshot / "tokenizer.json").write_bytes(FILE)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert jeton.load("hf:owner/name") == TOK
    (snapshot / "tokenizer_config.json").write_text(json.dumps({"auto_map": {"AutoTokenizer": ["a.B"]}}))
    (snapshot / "tokenizer.json").rename(snapshot / "tokenizer.model")
    with pytest.raises(jeton.UnsupportedFeatureError):
        jeton.load("hf:owner/name")
    assert server.requests == []


def test_the_cache_folder_is_that_of_the_hub(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "elsewhere"))
    hub.put(FOLDER)
    assert tmp_path / "elsewhere" in fetch("hf:owner/name").parents


def test_a_hub_that_is_down_is_answered_from_the_cache_with_a_warning(
    hub: Hub, caplog: pytest.LogCaptureFixture
) -> None:
    hub.put(FOLDER)
    jeton.load("hf:owner/name")
    hub.fail(503)
    with caplog.at_level(logging.WARNING, "jeton"):
        assert jeton.load("hf:owner/name") == TOK
    assert "from the cache" in caplog.text


def test_an_unreachable_hub_is_a_download_error(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(jeton.errors.DownloadError, match="cannot be downloaded"):
        jeton.load("hf:owner/name")


def test_a_file_missing_from_the_cache_is_downloaded_again(
    hub: Hub, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.put(FOLDER)
    path = fetch("hf:owner/name") / "tokenizer.json"
    path.unlink()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(jeton.errors.DownloadError, match="not completely cached"):
        jeton.load("hf:owner/name")
    monkeypatch.delenv("HF_HUB_OFFLINE")
    assert jeton.load("hf:owner/name") == TOK


def test_a_damaged_listing_is_written_anew(hub: Hub, tmp_path: Path) -> None:
    hub.put(FOLDER)
    jeton.load("hf:owner/name")
    (record,) = (tmp_path / "cache" / "hub").iterdir()
    for content in (b"", b"[]", b'{"files": {"tokenizer.json": 3}}', b"{"):
        record.write_bytes(content)
        assert jeton.load("hf:owner/name") == TOK
        assert json.loads(record.read_bytes())["commit"] == COMMIT


def test_concurrent_loads_give_equal_tokenizers(hub: Hub) -> None:
    hub.put(FOLDER)
    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(lambda _: jeton.load("hf:owner/name"), range(6))) == {TOK}


def test_a_missing_huggingface_hub_names_the_extra(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(jeton.errors.MissingDependencyError, match=r"jeton\[hub\]") as caught:
        jeton.load("hf:owner/name")
    assert caught.value.extra == "hub"


def test_variables_that_are_set_before_python_starts(hub: Hub, server: Server) -> None:
    """huggingface_hub reads these variables itself, when it is imported."""
    hub.put(FOLDER)
    code = "import jeton; print(jeton.load('hf:owner/name').fingerprint)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, TOK.fingerprint), done.stderr
