"""Models of Ollama: names, manifests and blobs, as Ollama lays them out."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.formats.remote.ollama import PREFIX, ollama_models
from tests.formats.gguf_writer import gguf, metadata

FILE = gguf(metadata("gpt2", ["a", "b", "ab"], merges=["a b"], pre="gpt-2"))
MODEL = "application/vnd.ollama.image.model"


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path))
    return tmp_path


def pull(models: Path, name: str, data: bytes = FILE, *, separator: str = "-", media: str = MODEL) -> Path:
    """Puts a model into the folder; returns its blob."""
    digest = hashlib.sha256(data).hexdigest()
    blob = models / "blobs" / f"sha256{separator}{digest}"
    blob.parent.mkdir(exist_ok=True)
    blob.write_bytes(data)
    layers = [{"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:" + "0" * 64, "size": 3}]
    put(models, name, {"schemaVersion": 2, "layers": [*layers, {"mediaType": media, "digest": f"sha256:{digest}"}]})
    return blob


def put(models: Path, name: str, manifest: Any) -> None:
    path = models / "manifests" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("registry.ollama.ai/library/llama3.2/latest", ["llama3.2", "Llama3.2:latest", "library/llama3.2"]),
        ("registry.ollama.ai/library/qwen2.5/7b-instruct", ["qwen2.5:7b-instruct"]),
        ("registry.ollama.ai/me/my-model/v1", ["me/my-model:v1", "registry.ollama.ai/me/my-model:v1"]),
        ("hf.co/owner/name-GGUF/Q4_K_M", ["hf.co/owner/name-GGUF:Q4_K_M", "hf.co/owner/name-gguf:q4_k_m"]),
        ("localhost:5000/me/model/latest", ["localhost:5000/me/model"]),
    ],
)
def test_models_load_by_their_names(path: str, names: list[str], models: Path) -> None:
    pull(models, path)
    for name in names:
        assert jeton.load(PREFIX + name).encode("ab") == [2]
    assert [*ollama_models()] == [PREFIX + names[0]]


def test_blobs_of_older_versions_are_found(models: Path) -> None:
    pull(models, "registry.ollama.ai/library/a/latest", separator=":")
    assert jeton.load("ollama:a").encode("ab") == [2]


def test_loading_writes_nothing(models: Path) -> None:
    blob = pull(models, "registry.ollama.ai/library/a/latest")
    before = sorted((path, path.stat().st_mtime_ns) for path in models.rglob("*"))
    jeton.load("ollama:a")
    assert sorted((path, path.stat().st_mtime_ns) for path in models.rglob("*")) == before
    assert blob.read_bytes() == FILE


def test_models_are_listed_among_the_names(models: Path) -> None:
    pull(models, "registry.ollama.ai/library/a/latest")
    (listed,) = (named for named in jeton.names() if named.source == "ollama")
    assert (listed.name, listed.is_local) == ("ollama:a", True)


@pytest.mark.parametrize("name", ["b", "a:other", "../../a", "", ":", "a/b/c/d", "/"])
def test_a_missing_model_lists_the_models(name: str, models: Path) -> None:
    pull(models, "registry.ollama.ai/library/a/latest")
    pull(models, "registry.ollama.ai/me/c/v1")
    with pytest.raises(FileNotFoundError, match=r"there is no model .* in .*; models: ollama:a, ollama:me/c:v1"):
        jeton.load(PREFIX + name)


def test_a_folder_without_models_is_an_error(models: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no models of Ollama in .*; set OLLAMA_MODELS"):
        jeton.load("ollama:a")


def test_a_missing_blob_is_an_error(models: Path) -> None:
    pull(models, "registry.ollama.ai/library/a/latest").unlink()
    with pytest.raises(FileNotFoundError, match=r"is missing, although .*latest names it; pull the model again"):
        jeton.load("ollama:a")


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ([], "not a manifest of Ollama"),
        ({"layers": 1}, "not a manifest of Ollama"),
        ({"layers": [1]}, "not a manifest of Ollama"),
        ({"layers": [{"mediaType": MODEL, "digest": 5}]}, "not a manifest of Ollama"),
        ({"layers": []}, "does not name a GGUF file"),
        ({"layers": [{"mediaType": MODEL, "digest": "sha256:../../../etc/passwd"}]}, "does not name a GGUF file"),
    ],
)
def test_damaged_manifests_are_an_error(manifest: Any, message: str, models: Path) -> None:
    put(models, "registry.ollama.ai/library/a/latest", manifest)
    with pytest.raises(jeton.FormatError, match=message):
        jeton.load("ollama:a")


def test_the_default_folder_is_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLLAMA_MODELS", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    pull_into = tmp_path / ".ollama" / "models"
    pull_into.mkdir(parents=True)
    pull(pull_into, "registry.ollama.ai/library/jeton-test/latest")
    assert jeton.load("ollama:jeton-test").encode("ab") == [2]


def test_a_user_without_a_home_has_no_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in containers whose user is only a number; `jeton.names` lists the other tokenizers."""
    monkeypatch.setenv("JETON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    for folder in (None, "~nobody-of-this-name/models"):
        if folder is None:
            monkeypatch.delenv("OLLAMA_MODELS", raising=False)
        else:
            monkeypatch.setenv("OLLAMA_MODELS", folder)
        with pytest.raises(FileNotFoundError, match="no model 'ollama:jeton-test'"):
            jeton.load("ollama:jeton-test")
        assert jeton.names()
