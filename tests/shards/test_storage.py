"""Object stores: files equal those in a local folder, even if the server fails in between; and local storage."""

from __future__ import annotations

import gzip
import os
import random
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.errors import ConfigError, ShardError, UnsupportedFeatureError
from jeton.shards.folder import ShardFolder
from jeton.shards.storage import RemoteStorage, storage_of

from ..selection import amount, rest_is_slow
from .conftest import digest

OPTIONS: dict[str, Any] = {"append_eos": True, "task_bytes": 10000, "progress": False}


class Server:
    """moto's server on the loopback address, which can fail after a number of requests.

    Attributes:
        left: number of requests until it fails; None: it does not.
        failure: "503", or "closed": connections are closed without an answer.
    """

    def __init__(self) -> None:
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import WSGIRequestHandler, make_server

        class Quiet(WSGIRequestHandler):
            def log(self, *arguments: Any) -> None:
                pass

        self.left: int | None = None
        self.failure = "503"
        self._app = DomainDispatcherApplication(create_backend_app)
        self._lock = threading.Lock()
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True, request_handler=Quiet)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def _answer(self, environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        with self._lock:
            if self.left is not None:
                self.left -= 1
            fails = self.left is not None and self.left < 0
        if not fails:
            return self._app(environ, start)
        if self.failure == "closed":
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
        start("503 Service Unavailable", [("Content-Length", "0"), ("Connection", "close")])
        return []

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    pytest.importorskip("moto")
    s3fs = pytest.importorskip("s3fs")
    made = Server()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_ENDPOINT_URL", made.url)
        patch.setenv("AWS_MAX_ATTEMPTS", "1")
        patch.setattr(s3fs.S3FileSystem, "retries", 1)
        yield made
        s3fs.S3FileSystem.clear_instance_cache()
    made.close()


@pytest.fixture
def bucket(server: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    import s3fs

    server.left = None
    name = "b" + str(abs(hash(request.node.nodeid)))
    s3fs.S3FileSystem().mkdir(f"s3://{name}")
    yield f"s3://{name}"
    server.left = None


def copied(url: str, folder: Path) -> Path:
    """A copy of a folder, without the completion files."""
    import s3fs

    system = s3fs.S3FileSystem()
    folder.mkdir()
    for path in system.ls(url, detail=False, refresh=True):
        if not path.endswith(("/done", "/spool", "/joined")):
            system.get_file(path, str(folder / path.rpartition("/")[2]))
    return folder


@pytest.mark.parametrize(
    "format",
    rest_is_slow(["megatron", "parquet", "counts"], lambda name: name == "megatron", "one format by default"),
)
def test_a_url_has_the_files_of_a_local_folder(
    format: str, bucket: str, corpus: Path, tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    """Inputs are also at a URL: rows and tables are read by ranges."""
    import s3fs

    s3fs.S3FileSystem().put(str(corpus), f"{bucket}/corpus", recursive=True)
    options = {**OPTIONS, "format": format, "join": format != "parquet"}
    if format == "counts":
        del options["append_eos"]
    used = None if format == "counts" else tok
    report = jeton.shards.make(f"{bucket}/corpus", f"{bucket}/out", used, workers=2, **options)
    jeton.shards.make(f"{bucket}/corpus", tmp_path / "local", used, **options)
    assert digest(copied(f"{bucket}/out", tmp_path / "copy")) == digest(tmp_path / "local")
    if options["join"]:
        joined = copied(f"{bucket}/out/joined", tmp_path / "copy" / "joined")
        assert digest(joined) == digest(tmp_path / "local" / "joined")
    assert report.shards > 2
    assert jeton.shards.status(f"{bucket}/out").merged
    direct = jeton.shards.make(corpus, tmp_path / "direct", used, **options)
    assert (direct.tokens, direct.documents) == (report.tokens, report.documents)


@pytest.mark.parametrize("failure", rest_is_slow(["503", "closed"], lambda name: name == "503", "one way to fail"))
def test_runs_complete_after_failures_of_the_server(
    failure: str, server: Server, bucket: str, corpus: Path, tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    """Each call fails after some requests, until one of them completes the folder."""
    jeton.shards.make(corpus, tmp_path / "local", tok, join=True, **OPTIONS)
    rng = random.Random(failure)
    server.failure = failure
    for trial in range(amount(5, default=1)):
        folder = f"{bucket}/out-{trial}"
        failed = 0
        while True:
            server.left = rng.randrange(1, 40) if failed < 6 else None
            try:
                jeton.shards.make(corpus, folder, tok, workers=2, join=True, **OPTIONS)
                break
            except OSError as error:
                assert folder in str(error)
                failed += 1
        server.left = None
        assert failed > 2
        assert digest(copied(folder, tmp_path / f"copy-{trial}")) == digest(tmp_path / "local")


@pytest.mark.slow(reason="one stage by default")
def test_a_shuffle_at_a_url_equals_a_local_one(bucket: str, corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """The second stage reads sections of files by ranges."""
    options = {**OPTIONS, "shuffle": 5, "pack": 64}
    jeton.shards.make(corpus, f"{bucket}/out", tok, workers=2, **options)
    jeton.shards.make(corpus, tmp_path / "local", tok, **options)
    assert digest(copied(f"{bucket}/out", tmp_path / "copy")) == digest(tmp_path / "local")


def test_changed_and_vanished_inputs_are_named(bucket: str, tok: jeton.Tokenizer) -> None:
    import s3fs

    system = s3fs.S3FileSystem()
    for name in ("a", "b"):
        system.pipe_file(f"{bucket}/in/{name}.jsonl", b'{"text": "low"}\n' * 300)
    jeton.shards.plan(f"{bucket}/in/*.jsonl", f"{bucket}/out", tok, task_bytes=1000)
    jeton.shards.run(f"{bucket}/out", job=(0, 3), progress=False)
    system.pipe_file(f"{bucket}/in/b.jsonl", b'{"text": "new"}\n' * 300)  # the same size
    with pytest.raises(ShardError, match=r"in/b\.jsonl has changed since it was planned"):
        jeton.shards.run(f"{bucket}/out", progress=False)
    system.rm_file(f"{bucket}/in/b.jsonl")
    with pytest.raises(FileNotFoundError, match=r"in/b\.jsonl"):
        jeton.shards.run(f"{bucket}/out", progress=False)
    assert 0 < jeton.shards.status(f"{bucket}/out").done < 10


def test_unsupported_calls_on_a_url_are_refused(bucket: str, corpus: Path, tok: jeton.Tokenizer) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"s3://.*/out: memory-mapping shards at a URL"):
        jeton.shards.open(f"{bucket}/out")
    with pytest.raises(ShardError, match=r"s3://.*/out is not a folder of shards \(no plan\.json\)"):
        jeton.shards.run(f"{bucket}/out")
    with pytest.raises(FileNotFoundError, match="s3://no-such-bucket/out"):
        jeton.shards.make(corpus, "s3://no-such-bucket/out", tok, **OPTIONS)
    with pytest.raises(ConfigError, match=r"has one of the characters"):
        jeton.shards.make(corpus, f"{bucket}/out[1]", tok, **OPTIONS)
    with pytest.raises(ConfigError, match="Protocol not known"):
        jeton.shards.make(corpus, "nothing://out", tok, **OPTIONS)


def test_verify_reads_a_url(bucket: str, corpus: Path, tok: jeton.Tokenizer) -> None:
    import s3fs

    folder = f"{bucket}/out"
    jeton.shards.make(corpus, folder, tok, **OPTIONS)
    system = s3fs.S3FileSystem()
    data = system.cat_file(f"{folder}/shard-00001.bin")
    system.pipe_file(f"{folder}/shard-00001.bin", data[:-1] + bytes([data[-1] ^ 1]))
    system.rm_file(f"{folder}/shard-00002.idx")
    problems = "\n".join(jeton.shards.verify(folder, progress=False).problems)
    assert f"{folder}/shard-00001.bin: its bytes have changed" in problems
    assert f"{folder}/shard-00002.idx: it is missing" in problems


@pytest.mark.slow(reason="120 MB; the default selection has uploads of one part")
def test_an_upload_appears_when_it_is_complete(bucket: str) -> None:
    storage = RemoteStorage(f"{bucket}/out")
    block = random.Random(1).randbytes(1 << 20)
    with storage.write("large.bin") as file:
        for _ in range(120):
            file.write(block)
        assert storage.size("large.bin") is None
    assert storage.size("large.bin") == 120 << 20
    with storage.fetch(["large.bin"]) as folder, (folder / "large.bin").open("rb") as file:
        assert all(file.read(1 << 20) == block for _ in range(120))


def test_an_error_publishes_nothing(bucket: str, tmp_path: Path) -> None:
    for output in (f"{bucket}/out", str(tmp_path)):
        storage = storage_of(output)
        with pytest.raises(ValueError, match="stop"), storage.write("a.bin") as file:  # noqa: PT012
            file.write(b"abc")
            raise ValueError("stop")
        assert storage.names() == []


def test_two_machines_run_the_same_tasks(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    jeton.shards.make(corpus, tmp_path / "one", tok, **OPTIONS)
    jeton.shards.plan(corpus, tmp_path / "two", tok, append_eos=True, task_bytes=10000)
    errors: list[BaseException] = []

    def run() -> None:
        try:
            jeton.shards.run(tmp_path / "two", workers=2, progress=False)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    jeton.shards.merge(tmp_path / "two")
    assert digest(tmp_path / "two") == digest(tmp_path / "one")


@pytest.mark.skipif(os.name != "posix", reason="Windows flushes no folders")
def test_names_are_durable_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is flushed before a completion is published, and its own folder after it."""
    folder = ShardFolder(tmp_path)
    folder.create()
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def flush(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        done.append("fsync " + ("file" if path.is_file() else path.name))
        fsync(descriptor)

    def rename(source: str, target: str) -> None:
        done.append(f"rename {Path(target).name}")
        replace(source, target)

    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc")
    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(os, "replace", rename)
    with folder.outputs() as files:
        files.open("shard-00000.bin").write(b"abc")
    folder.write_done(0, {})
    assert done == [
        "fsync file", "rename shard-00000.bin", f"fsync {tmp_path.name}",
        "fsync file", "rename 00000.json", "fsync done",
    ]  # fmt: skip


def test_a_tokenizer_and_inputs_of_every_kind_are_read(bucket: str, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """A folder at a URL is read like a local one: files with documents are read, and the others are reported."""
    import s3fs

    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "c4.json.gz").write_bytes(gzip.compress(b'{"text": "low"}\n{"text": "new"}\n'))
    (folder / "array.json").write_text('[{"text": "wide"}]')
    (folder / "rows.csv").write_text("text\nlower\n")
    (folder / "plan.json").write_text('{"version": 2}')
    (folder / "README.md").write_text("# low")
    s3fs.S3FileSystem().put(str(folder), f"{bucket}/corpus", recursive=True)
    tok.save(tmp_path / "tok")
    s3fs.S3FileSystem().put(str(tmp_path / "tok"), f"{bucket}/tok", recursive=True)
    unread = jeton.Corpus(f"{bucket}/corpus").listing().unread
    assert [str(one) for one in unread] == ["1 .md (README.md)", "1 JSON without rows (plan.json)"]
    assert jeton.load(f"{bucket}/tok") == tok == jeton.load(f"{bucket}/tok/tokenizer.json")
    jeton.shards.make(f"{bucket}/corpus", f"{bucket}/counts", format="counts", progress=False)
    counts = jeton.count_pretokens(folder, progress=False)
    assert counts.documents == 4
    assert jeton.train(f"{bucket}/counts", 260, progress=False) == jeton.train(counts, 260, progress=False)
