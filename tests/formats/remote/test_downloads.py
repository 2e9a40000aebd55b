"""Names of the registry: caches, hashes, and a network that fails in every way."""

from __future__ import annotations

import base64
import hashlib
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

import jeton
from jeton.formats.registry import REGISTRY, KnownRankFile
from jeton.formats.remote import downloads, fetch

from .conftest import Server, reply

RANKS = b"".join(
    base64.b64encode(token) + b" %d\n" % rank
    for rank, token in enumerate([*(bytes([byte]) for byte in range(256)), b"th", b"the"])
)
URL = "https://example.invalid/encodings/tiny_base.tiktoken"
KNOWN = KnownRankFile("tiny_base", URL, hashlib.sha256(RANKS).hexdigest(), "gpt2", {"<|end|>": 300})
NAME = f"tiny_base-{KNOWN.sha256[:8]}.tiktoken"
PATH = f"/{NAME}"


@pytest.fixture(autouse=True)
def tiny(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTRY, "tiny_base", KNOWN)
    server.answers[PATH] = RANKS


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "cache" / NAME


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_name_is_downloaded_once(server: Server, place: Path) -> None:
    tok = jeton.load("tiny_base")
    assert tok.encode("the<|end|>", special="all") == [257, 300]
    assert tok.definition.pattern.text == "gpt2"
    assert place.read_bytes() == RANKS
    assert jeton.load("tiny_base") == tok
    assert server.requests == [PATH]


def test_given_arguments_replace_registered_facts(server: Server) -> None:
    tok = jeton.load("tiny_base", pattern="o200k", special_tokens={})
    assert tok.definition.pattern.text == "o200k"
    assert tok.special_tokens == {}


def test_a_path_comes_before_a_name(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    jeton.train(["low lower"], 258, progress=False).save("tiny_base", format="tokenizer.json")
    assert len(jeton.load("tiny_base")) == 258
    assert server.requests == []


def test_an_unknown_name_lists_the_names(server: Server) -> None:
    with pytest.raises(FileNotFoundError, match=r"'o300k_base'.*o200k_base.*hf:owner/name"):
        jeton.load("o300k_base")
    with pytest.raises(FileNotFoundError):  # a path object is never a name
        jeton.load(Path("tiny_base"))
    assert server.requests == []


def test_offline_mode_uses_the_cache_only(server: Server, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JETON_OFFLINE", "1")
    with pytest.raises(jeton.errors.DownloadError, match="JETON_OFFLINE") as caught:
        fetch("tiny_base")
    assert caught.value.path == str(place)
    assert str(place) in str(caught.value)
    assert server.requests == []
    place.parent.mkdir()
    place.write_bytes(RANKS)
    assert fetch("tiny_base") == place


def test_a_cached_file_under_its_published_name_is_used(server: Server, tmp_path: Path) -> None:
    by_hand = tmp_path / "cache" / "tiny_base.tiktoken"
    by_hand.parent.mkdir()
    by_hand.write_bytes(RANKS)
    assert fetch("tiny_base") == by_hand
    assert server.requests == []


def test_two_files_of_one_name(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    others = RANKS + base64.b64encode(b"they") + b" 258\n"
    other = replace(KNOWN, name="other", sha256=hashlib.sha256(others).hexdigest())
    monkeypatch.setitem(REGISTRY, "other", other)
    server.answers[f"/tiny_base-{other.sha256[:8]}.tiktoken"] = others
    for _ in range(2):
        assert (len(jeton.load("tiny_base")), len(jeton.load("other"))) == (259, 260)
    assert len(server.requests) == 2


def test_a_cache_folder_can_be_served_as_a_mirror(server: Server, place: Path) -> None:
    fetch("tiny_base")
    assert f"/{place.name}" in server.answers


def test_tiktokens_cache_is_used_and_filled(
    server: Server, tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "tiktoken" / hashlib.sha1(URL.encode()).hexdigest()
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(tmp_path / "nobody"))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(shared.parent))
    assert fetch("tiny_base") == shared
    assert shared.read_bytes() == RANKS
    assert fetch("tiny_base") == shared
    assert server.requests == [PATH]
    assert not place.exists()
    assert not (tmp_path / "nobody").exists()


def test_tiktoken_reads_the_same_file(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = pytest.importorskip("tiktoken.load")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "tiktoken"))
    fetch("tiny_base")
    assert load.load_tiktoken_bpe(URL, KNOWN.sha256)[b"the"] == 257  # no such host exists, so the file was read


def test_jetons_cache_is_used_when_tiktokens_is_empty(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = fetch("tiny_base")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "empty"))
    assert fetch("tiny_base") == ours
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert fetch("tiny_base") == ours
    assert server.requests == [PATH]


def test_a_wrong_file_in_the_cache_is_replaced(server: Server, place: Path, caplog: pytest.LogCaptureFixture) -> None:
    place.parent.mkdir()
    place.write_bytes(RANKS[:-5])
    assert fetch("tiny_base").read_bytes() == RANKS
    assert "does not match that of tiny_base" in caplog.text


def truncated(handler: BaseHTTPRequestHandler) -> None:
    reply(handler, RANKS[:1000], length=len(RANKS))


def unlimited(handler: BaseHTTPRequestHandler) -> None:
    reply(handler, RANKS * 2)


def moved_to_http(handler: BaseHTTPRequestHandler) -> None:
    reply(handler, b"", status=302, Location="http://example.invalid/tiny_base.tiktoken")


def moved_to_file(handler: BaseHTTPRequestHandler) -> None:
    reply(handler, b"", status=302, Location="file:///etc/passwd")


def not_http(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"\xff\xfe nothing that HTTP is\r\n\r\n")
    handler.close_connection = True


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (RANKS.replace(b"0", b"1", 1), "sha256"),
        (b"", "sha256"),
        (truncated, "1000 of"),
        (unlimited, "more than"),
        (lambda handler: reply(handler, b"", status=404), "404"),
        (lambda handler: reply(handler, b"", status=503), "503"),
        (moved_to_http, "not https"),
        (moved_to_file, "file:"),
        (not_http, "failed"),
    ],
)
def test_a_failed_download_leaves_no_file(
    server: Server, place: Path, answer: object, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "MAX_BYTES", len(RANKS) + 10)
    server.answers[PATH] = answer  # type: ignore[assignment]
    with pytest.raises(jeton.errors.DownloadError, match=words) as caught:
        jeton.load("tiny_base")
    assert isinstance(caught.value, OSError)
    assert caught.value.url == server.url + PATH
    assert caught.value.path == str(place)
    assert str(place) in str(caught.value)
    assert server.url + PATH in str(caught.value)
    assert not place.parent.exists() or files(place.parent) == []


def test_redirects_on_this_machine_are_followed(server: Server) -> None:
    server.answers["/other"] = RANKS
    server.answers[PATH] = lambda handler: reply(handler, b"", status=302, Location=f"{server.url}/other")
    assert fetch("tiny_base").read_bytes() == RANKS


def test_a_silent_server_times_out(server: Server, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "TIMEOUT_S", 0.2)
    over = threading.Event()
    server.answers[PATH] = lambda handler: bool(over.wait(10)) and None  # type: ignore[assignment,func-returns-value]
    began = time.monotonic()
    with pytest.raises(jeton.errors.DownloadError, match="timed out"):
        fetch("tiny_base")
    over.set()
    assert time.monotonic() - began < 5


def test_a_refused_connection_is_a_download_error(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("JETON_REGISTRY_URL", f"http://127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(jeton.errors.DownloadError, match=r"(?i)refused"):
            fetch("tiny_base")


@pytest.mark.parametrize("url", ["http://example.com/x", "ftp://127.0.0.1/", "file:///tmp", "nonsense", "http://[::2]"])
def test_a_mirror_without_encryption_is_refused(server: Server, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JETON_REGISTRY_URL", url)
    with pytest.raises(jeton.ConfigError, match="JETON_REGISTRY_URL"):
        fetch("tiny_base")


def test_concurrent_loads_share_one_file(server: Server, place: Path) -> None:
    gate = threading.Barrier(8)

    def load(_: int) -> jeton.Tokenizer:
        gate.wait()
        return jeton.load("tiny_base")

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(load, range(8)))) == 1
    assert files(place.parent) == [place]
    assert place.read_bytes() == RANKS


def test_an_unwritable_cache_is_an_error(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("JETON_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(jeton.errors.DownloadError, match="JETON_CACHE_DIR"):
        fetch("tiny_base")


def test_progress_is_reported(server: Server) -> None:
    seen: list[jeton.ProgressEvent] = []
    fetch("tiny_base", progress=seen.append)
    assert (seen[-1].stage, seen[-1].done, seen[-1].total) == ("download", len(RANKS), len(RANKS))


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/xdg"}, "/xdg/jeton"),
        ("linux", {}, "/home/x/.cache/jeton"),
        ("darwin", {"XDG_CACHE_HOME": "/xdg"}, "/home/x/Library/Caches/jeton"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/jeton"),
        ("linux", {"JETON_CACHE_DIR": "/own"}, "/own"),
        ("win32", {"JETON_CACHE_DIR": "~/own"}, "/home/x/own"),
    ],
)
def test_the_cache_folder_follows_platform_and_environment(
    platform: str, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("JETON_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/x", "USERPROFILE": "/home/x", **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", platform)
    assert downloads.cache_folder() == Path(expected)


def test_registry_entries_have_urls_and_hashes() -> None:
    for name, known in REGISTRY.items():
        assert name == known.name
        assert known.url.startswith("https://")
        assert len(bytes.fromhex(known.sha256)) == 32


def test_the_registry_equals_tiktokens() -> None:
    """Hashes and special tokens are taken from calls that tiktoken's own functions make, without a network."""
    public = pytest.importorskip("tiktoken_ext.openai_public")
    asked: list[tuple[str, ...]] = []
    for name, constructor in public.ENCODING_CONSTRUCTORS.items():
        if name not in REGISTRY:
            continue
        asked.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(public, "load_tiktoken_bpe", lambda *file, **hash: asked.append((*file, *hash.values())))
            patch.setattr(public, "data_gym_to_mergeable_bpe_ranks", lambda **_: None)
            theirs = constructor()
        ours = REGISTRY[name]
        theirs["special_tokens"].pop("<|reserved_200018|>", None)  # a second name for one id
        assert dict(ours.special_tokens) == theirs["special_tokens"]
        if asked:
            assert asked == [(ours.url, ours.sha256)]


def test_published_files_in_the_cache_folder_are_used(
    data: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files under their published names, as copied there by a user without a network."""
    monkeypatch.setenv("JETON_OFFLINE", "1")
    monkeypatch.setenv("JETON_CACHE_DIR", str(data / "vocabs"))
    assert jeton.load("o200k_base").encode("hello world") == [24912, 2375]
    assert jeton.load("cl100k_base").encode("hello world") == [15339, 1917]
    assert jeton.load("r50k_base").encode("hello world") == [31373, 995]
