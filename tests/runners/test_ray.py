"""Tasks on a Ray cluster with three nodes on this machine give the results of threads."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.errors import ConfigError, FormatError, ShardError
from jeton.runners import ray_tasks, run_ray

from ..shards.conftest import date, digest

__all__ = ["date"]  # a fixture for all tests here

ray = pytest.importorskip("ray", reason="Ray has no wheel for this Python or system")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="nodes are killed by signals")
starts_cluster = pytest.mark.slow(reason="starts a cluster; test_runners has the other runners")

Check = Callable[[], None]
NODE = {"num_cpus": 1, "object_store_memory": 80 << 20}
# Detect a lost node after one second instead of 15: it refuses connections. The timeout is for nodes that answer
# slowly: Ray treats such a node as lost, and kills the driver on a lost node.
HEALTH = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 30_000,
    "health_check_failure_threshold": 2,
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False, "_system_config": HEALTH})
    for _ in range(2):
        made.add_node(**NODE)
    made.wait_for_nodes()
    yield made
    made.shutdown()


@pytest.fixture
def connected(cluster: Any) -> Iterator[Any]:
    """The cluster, to which this process is connected."""
    ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
    yield cluster
    ray.shutdown()


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    rng = random.Random(5)
    words = ["low", "lower", "new", "wide", "日本", "\n"]
    lines = (json.dumps({"text": " ".join(rng.choices(words, k=8))}) for _ in range(1500))
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    return tmp_path / "rows.jsonl"


@pytest.fixture
def tok() -> jeton.Tokenizer:
    return jeton.train(["low lower lowest new newer newest wide"] * 3, 270, progress=False)


OPTIONS: dict[str, Any] = {"task_bytes": 5000, "progress": False}


def square(item: int, check: Check) -> tuple[int, str, str]:
    time.sleep(0.05)
    return item * item, ray.get_runtime_context().get_node_id(), os.environ["RAYON_NUM_THREADS"]


@starts_cluster
def test_several_nodes_give_all_results(connected: Any) -> None:
    """At most the requested number of tasks are in flight."""
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for item in range(30):
            taken += 1
            yield item

    results = []
    for result in run_ray(square, items(), 4):
        results.append(result)
        assert taken <= len(results) + 4
    assert sorted(number for number, _, _ in results) == [item * item for item in range(30)]
    assert len({node for _, node, _ in results}) >= 2
    assert {threads for _, _, threads in results} == {"1"}


class Marks:
    """A task that fails, and records its calls in files of a folder."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder, self.kind = folder, kind

    def __call__(self, item: int, check: Check) -> int:
        runs = len(list(self.folder.glob(f"{item}-*")))
        (self.folder / f"{item}-{runs}").touch()
        if self.kind == "connection" and runs == 0:
            raise ConnectionResetError("reset by peer")
        if self.kind == "data" and item == 2:
            raise FormatError("rows.jsonl:3: not JSON", format="jsonl", place="line 3")
        if self.kind == "always":
            raise TimeoutError("slow file system")
        if self.kind == "killed" and runs == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    def fail(self) -> None:
        raise ShardError("out: the tokenizer is another", path="out")


@starts_cluster
def test_infrastructure_errors_are_retried_and_data_errors_are_not(connected: Any, tmp_path: Path) -> None:
    assert sorted(run_ray(Marks(tmp_path, "connection"), [0, 1], 2)) == [0, 1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0-0", "0-1", "1-0", "1-1"]
    assert sorted(run_ray(Marks(tmp_path, "killed"), [20, 21], 2)) == [20, 21]
    with pytest.raises(FormatError) as caught:
        list(run_ray(Marks(tmp_path, "data"), range(2, 50), 2))
    assert (str(caught.value), caught.value.place) == ("rows.jsonl:3: not JSON", "line 3")
    assert caught.value.__notes__[0].startswith("on node ")
    assert len(list(tmp_path.glob("2-*"))) == 1
    with pytest.raises(TimeoutError, match="slow file system"):
        list(run_ray(Marks(tmp_path, "always"), [99], 1))
    assert len(list(tmp_path.glob("99-*"))) == ray_tasks.MAX_RETRIES + 1


@starts_cluster
def test_errors_of_a_node_name_the_node(connected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marks = Marks(tmp_path, "")
    with pytest.raises(ShardError, match=r"^node \S+ \(\w+\): out: the tokenizer is another\n") as caught:
        list(run_ray(marks, [0], prepare=marks.fail))
    assert caught.value.path == "out"
    monkeypatch.setattr(ray_tasks, "_version", lambda: "99.0")
    with pytest.raises(ConfigError, match=rf"^node .* has Jeton {jeton.__version__}, but the driver has 99\.0"):
        list(run_ray(marks, [0]))
    with pytest.raises(ConfigError, match="this process is connected to"):
        list(run_ray(marks, [0], address="192.0.2.1:1"))
    assert not list(tmp_path.iterdir())


class Endless:
    """Runs until it is stopped, and then removes its file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, item: int, check: Check) -> int:
        path = self.folder / str(item)
        path.touch()
        try:
            while True:
                time.sleep(0.01)
        finally:
            path.unlink()


@starts_cluster
def test_ctrl_c_cancels_tasks(connected: Any, tmp_path: Path) -> None:
    began = 0.0

    def idle() -> None:
        nonlocal began
        if len(list(tmp_path.iterdir())) == 2:
            began = time.monotonic()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(run_ray(Endless(tmp_path), range(9), 2, idle))
    assert time.monotonic() - began < ray_tasks.GRACE_S + 1
    assert not list(tmp_path.iterdir())


@starts_cluster
def test_shards_of_a_cluster_that_loses_a_node(cluster: Any, rows: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    jeton.shards.make(rows, tmp_path / "local", tok, join=True, **OPTIONS)
    lost = cluster.add_node(**{**NODE, "num_cpus": 2})
    cluster.wait_for_nodes()
    killed = []

    def kill(event: jeton.ProgressEvent) -> None:
        if event.done and not killed:
            killed.append(event)
            cluster.remove_node(lost, allow_graceful=False)

    report = jeton.shards.make(
        rows,
        tmp_path / "ray",
        tok,
        join=True,
        runner="ray",
        ray_address=cluster.address,
        **{**OPTIONS, "progress": kill},
    )
    assert killed
    assert killed[0].done < killed[0].total
    assert report.documents == 1500
    assert digest(tmp_path / "ray") == digest(tmp_path / "local")
    assert not ray.is_initialized()


SCRIPT = """
import sys
import jeton
rows, output, tok, address = sys.argv[1:]
jeton.shards.make(rows, output, jeton.load(tok), task_bytes=5000, runner="ray", ray_address=address, progress=False)
"""


@starts_cluster
def test_a_driver_that_is_killed(cluster: Any, rows: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    jeton.shards.make(rows, tmp_path / "local", tok, **OPTIONS)
    tok.save(tmp_path / "tok.json")
    (tmp_path / "make.py").write_text(SCRIPT)
    folder = tmp_path / "ray"
    arguments = [sys.executable, tmp_path / "make.py", rows, folder, tmp_path / "tok.json", cluster.address]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not list(folder.glob("done/*.json")) and process.poll() is None:
            time.sleep(0.01)
        process.kill()
    before = jeton.shards.status(folder)
    assert before.done > 0
    jeton.shards.make(rows, folder, tok, runner="ray", ray_address=cluster.address, **OPTIONS)
    assert digest(folder) == digest(tmp_path / "local")


@starts_cluster
def test_training_on_counts_of_a_cluster(cluster: Any, rows: Path, tmp_path: Path) -> None:
    jeton.shards.make(rows, tmp_path / "out", format="counts", runner="ray", ray_address=cluster.address, **OPTIONS)
    files = sorted((tmp_path / "out").glob("*.jtc"))
    assert len(files) > 5
    assert jeton.train(files, 300, progress=False).to_bytes() == jeton.train(rows, 300, progress=False).to_bytes()


@starts_cluster
def test_a_shuffle_on_a_cluster_equals_a_local_one(
    cluster: Any, rows: Path, tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    options = {**OPTIONS, "shuffle": 3}
    jeton.shards.make(rows, tmp_path / "local", tok, **options)
    jeton.shards.make(rows, tmp_path / "ray", tok, runner="ray", ray_address=cluster.address, **options)
    assert digest(tmp_path / "ray") == digest(tmp_path / "local")


@starts_cluster
def test_a_broken_record_is_an_error_or_skipped(cluster: Any, rows: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    lines = rows.read_text().split("\n")
    lines[700] = "{"
    rows.write_text("\n".join(lines))
    with pytest.raises(FormatError, match=r"rows\.jsonl:701"):
        jeton.shards.make(rows, tmp_path / "out", tok, runner="ray", ray_address=cluster.address, **OPTIONS)
    report = jeton.shards.make(
        jeton.Corpus(rows, errors="skip"), tmp_path / "skip", tok, runner="ray", ray_address=cluster.address, **OPTIONS
    )
    assert report.num_skipped == 1


def test_a_ray_address_needs_the_ray_runner(tok: jeton.Tokenizer, rows: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ray_address= applies only to runner='ray'"):
        jeton.shards.make(rows, tmp_path / "out", tok, ray_address="127.0.0.1:1", **OPTIONS)
