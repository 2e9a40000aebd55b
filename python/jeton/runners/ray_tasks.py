"""Runner on a Ray cluster: each call of the function is one Ray task, with small arguments and a small result.

No data enters Ray's object store: tasks read and write files that all nodes can access. Tasks are spread over the nodes
(``SPREAD``). Each task gets one CPU and uses one thread. By default, twice as many tasks as CPUs are in flight.

```text
a worker or node is lost     Ray runs the task elsewhere (`max_retries`)
a transient OSError          Ray runs the task again (`retry_exceptions`): timeouts, lost connections, EIO
every other exception        not repeated; raised here as the worker raised it, with a note that names the node
the driver is lost           Ray ends its tasks; the caller has to start again
```

A worker first compares its version of Jeton with the driver's. The task is pickled by value, so that a node without
Jeton can report that Jeton is missing.

Sources: Ray, "Task fault tolerance", "Scheduling: SPREAD", `ray.cancel`.
"""

from __future__ import annotations

import errno
import os
import pickle
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from ..errors import ConfigError, JetonError, keyword
from ..util.optional import import_optional
from .threads import IDLE_S

__all__ = ["run_ray"]

T = TypeVar("T")
R = TypeVar("R")

MAX_RETRIES = 3  # Ray's default
GRACE_S = 1.0  # seconds that canceled tasks have to remove their temporary files, before their processes are killed
CAPACITY_S = 1.0  # seconds between two checks of the cluster's size
MIN_IN_FLIGHT = 16  # minimum number of submitted tasks; an autoscaler adds nodes only when tasks wait
OBJECT_STORE = 100 << 20  # bytes of the object store if Ray is started locally; small, because results do not use it
# Error numbers of `OSError` whose cause is not in the data, so that a retry can succeed.
TRANSIENT = {
    errno.EAGAIN, errno.EINTR, errno.EIO, errno.ESTALE, errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTUNREACH,
    errno.ETIMEDOUT,
}  # fmt: skip


class TransientError(Exception):
    """Transient OSError of a worker; a retry of the task can succeed.

    Attributes:
        error: the OSError.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(error)
        self.error = error


def run_ray(
    work: Callable[[T, Callable[[], None]], R],
    items: Iterable[T],
    workers: int | None = None,
    idle: Callable[[], object] = lambda: None,
    *,
    prepare: Callable[[], object] = lambda: None,
    address: str | None = None,
) -> Generator[R]:
    """Yields the results of a function for items, in the order of completion; `work`, `items`, `idle` as `run_threads`.

    Args:
        work, items, idle: as `run_threads`; `work` is pickled. The cancellation check that `work` receives has no
            effect: Ray interrupts the task instead.
        workers: maximum number of tasks in flight; None: twice the number of CPUs of the cluster, updated when it
            grows.
        prepare: called in the worker before each item, so all calls after the first must be fast. If it raises a
            `JetonError`, the node's name is added.
        address: address of a cluster; None: the address in ``RAY_ADDRESS``, else Ray is started on this machine while
            the iterator runs. If `ray.init` was called before, the cluster of that call is used.

    Raises:
        MissingDependencyError: Ray is not installed.
        ConfigError: there is no cluster at the address; or a node has another version of Jeton, or no Jeton.
        OSError: Ray lost the workers of a task several times.
        Exception: the first exception that `work` raises.
    """
    ray = import_optional("ray", keyword("runner", "ray"), "ray")
    payload = ray.cloudpickle.dumps((work, prepare))
    with _cluster(ray, address, workers):
        task = ray.remote(_task(_version())).options(
            num_cpus=1, scheduling_strategy="SPREAD", max_retries=MAX_RETRIES, retry_exceptions=[TransientError]
        )
        iterator, running = iter(items), set[Any]()
        capacity = _Capacity(ray, workers)
        try:
            while True:
                missing = capacity.tasks() - len(running)
                running |= {task.remote(payload, item) for item in islice(iterator, max(missing, 0))}
                if not running:
                    break
                done, _ = ray.wait(list(running), timeout=IDLE_S)
                if not done:
                    idle()
                    continue
                done, _ = ray.wait(list(running), num_returns=len(running), timeout=0)  # all that are complete
                running.difference_update(done)
                for ref in done:
                    yield _result(ray, ref)
        finally:
            _cancel(ray, list(running))


def _version() -> str:
    import jeton

    return jeton.__version__


@contextmanager
def _cluster(ray: Any, address: str | None, workers: int | None) -> Iterator[None]:
    """Connects to a cluster, or starts one."""
    if ray.is_initialized():
        known = ray.get_runtime_context().gcs_address
        if address not in (None, "auto", known):
            message = (
                f"{keyword('ray_address', address)}: this process is connected to {known}; call ray.shutdown() first"
            )
            raise ConfigError(message)
        yield
        return
    address = address or os.environ.get("RAY_ADDRESS")
    options: dict[str, Any] = {}
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        options = {"num_cpus": workers, "include_dashboard": False, "object_store_memory": OBJECT_STORE}
    try:
        ray.init(address or "local", log_to_driver=False, logging_level="ERROR", **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        message = f"{keyword('ray_address', address)}: {error}" if address else f"Ray could not be started: {error}"
        raise ConfigError(message, option="ray_address") from None
    try:
        yield
    finally:
        ray.shutdown()


class _Capacity:
    """Maximum number of tasks in flight, which depends on the size of the cluster."""

    def __init__(self, ray: Any, workers: int | None) -> None:
        self._ray, self._workers, self._tasks, self._until = ray, workers, 0, 0.0

    def tasks(self) -> int:
        """Returns the maximum number of tasks in flight for the current size of the cluster."""
        if self._workers is not None:
            return self._workers
        if time.monotonic() >= self._until:
            cpus = int(self._ray.cluster_resources().get("CPU", 0))
            self._tasks, self._until = max(2 * cpus, MIN_IN_FLIGHT), time.monotonic() + CAPACITY_S
        return self._tasks


def _task(version: str) -> Callable[[bytes, Any], tuple[bool, Any]]:
    """Returns the function that a task calls.

    The function returns (True, result), or (False, error) if a retry would not help. If the function raises an error,
    Ray retries the task.
    """

    # A nested function, so that it is pickled by value; it must not use globals of this module.
    def call(payload: bytes, item: Any) -> tuple[bool, Any]:
        import ray

        context = ray.get_runtime_context()
        node = f"{ray.util.get_node_ip_address()} ({context.get_node_id()[:8]})"
        try:
            import jeton
        except ImportError as error:
            return False, f"node {node} cannot import Jeton: {error}; install version {version} there"
        if jeton.__version__ != version:
            return (
                False,
                f"node {node} has Jeton {jeton.__version__}, but the driver has {version}; install the same version",
            )
        from jeton.runners.ray_tasks import call_here

        return call_here(payload, item, node, context.get_assigned_resources())

    return call


def call_here(payload: bytes, item: Any, node: str, assigned: dict[str, float]) -> tuple[bool, Any]:
    """Runs one item in a worker."""
    os.environ["RAYON_NUM_THREADS"] = str(max(int(assigned.get("CPU", 1)), 1))
    work, prepare = pickle.loads(payload)  # noqa: S301 (comes from the driver)
    try:
        try:
            prepare()
        except JetonError as error:
            error.prefix(f"node {node}: ")
            raise
        return True, work(item, lambda: None)
    except Exception as error:
        error.add_note(f"on node {node}")
        if isinstance(error, OSError) and _is_transient(error):
            raise TransientError(error) from None
        return False, error.with_traceback(None)


def _is_transient(error: OSError) -> bool:
    if isinstance(error, JetonError):
        return False
    return isinstance(error, ConnectionError | TimeoutError) or error.errno in TRANSIENT


def _result(ray: Any, ref: Any) -> Any:
    """Returns the result of a task that has ended, or raises its error."""
    try:
        is_result, value = ray.get(ref)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, TransientError):
            raise error.cause.error from None
        raise
    except ray.exceptions.RayError as error:
        reason = " ".join(str(error).split())
        message = f"a task was given up after its workers were lost {MAX_RETRIES + 1} times: {reason}"
        raise OSError(errno.ECHILD, message) from None
    if is_result:
        return value
    raise ConfigError(value, option="ray_address") if isinstance(value, str) else value


def _cancel(ray: Any, running: list[Any]) -> None:
    """Stops tasks: each is interrupted as by Ctrl-C, and killed if it has not ended after `GRACE_S`."""
    if not running:
        return
    for ref in running:
        ray.cancel(ref)
    _, left = ray.wait(running, num_returns=len(running), timeout=GRACE_S)
    for ref in left:
        ray.cancel(ref, force=True)
