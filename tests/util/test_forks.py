"""Forks while another thread imports, builds tables or changes an object: children never wait for a lock of the parent.

The tests run in processes of their own, whose modules are not imported yet, and which may hang where there is such a
defect. `tools/fork_first_calls.py` forks hundreds of times for every function.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tools import fork_first_calls

from ..selection import rest_is_slow

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

ROOT = Path(__file__).parent.parent.parent
BEGIN = """
import os, signal, sys, threading, time
import jeton

def ended(call):
    '''The status of a child that makes the call; 14 if it hangs.'''
    child = os.fork()
    if not child:
        signal.alarm(10)
        call()
        os._exit(0)
    return os.waitpid(child, 0)[1]
"""


def run(code: str, before: str = "") -> str:
    done = subprocess.run([sys.executable, "-c", before + BEGIN + code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


FIRST_CALLS = {
    "encode_batch": "tok.encode_batch(['a', 'b'])",
    "tokenize": "tok.tokenize('ab')",
    "explain": "str(tok.explain('ab'))",
    "decode_batch": "tok.decode_batch([[97], [98]])",
    "split": "tok.split('a b c', 2)",
    "attribute": "jeton.train",
}


@pytest.mark.parametrize("call", rest_is_slow(FIRST_CALLS, lambda call: call in ("explain", "split"), "two calls"))
def test_children_forked_during_a_first_call_return(call: str) -> None:
    code = f"""
tok = jeton.Tokenizer.from_merges({{i: bytes([i]) for i in range(256)}}, [])
call = lambda: {FIRST_CALLS[call]}
thread = threading.Thread(target=call)
thread.start()
statuses = [ended(call)]
while thread.is_alive():
    statuses.append(ended(call))
print(set(statuses))
"""
    assert run(code) == "{0}\n"


@pytest.mark.slow(reason="explain and split, in the same way with fewer moments")
@pytest.mark.timeout(900)
def test_children_forked_at_random_moments_return() -> None:
    calls = ["encode_batch_pairs", "tokenize", "chat", "stream", "train", "to_bytes", "compat_tiktoken"]
    for call, ended in fork_first_calls.check(calls, 12).items():
        assert set(ended) == {"returned"}, (call, ended)


# A module that waits at import, except in a child.
SLOW_FINDER = """
from importlib.machinery import PathFinder

SLOW = "jeton.calls.cutting"

class SlowFinder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != SLOW or os.getpid() != parent:
            return None
        spec = PathFinder.find_spec(name, path, target)
        execute = spec.loader.exec_module

        def wait(module):
            is_importing.set()
            may_go_on.wait(60)
            execute(module)

        spec.loader.exec_module = wait
        return spec

parent, is_importing, may_go_on = os.getpid(), threading.Event(), threading.Event()
sys.meta_path.insert(0, SlowFinder)
tok = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
thread = threading.Thread(target=lambda: tok.split("a b c", 2))
"""


def test_a_fork_waits_for_an_import() -> None:
    code = """
thread.start()
is_importing.wait()
threading.Timer(0.2, may_go_on.set).start()
before = time.monotonic()
print(ended(lambda: sys.modules["jeton.calls.cutting"].split), time.monotonic() - before > 0.15)
"""
    assert run(SLOW_FINDER + code) == "0 True\n"


def test_an_import_that_begins_after_the_wait_is_undone() -> None:
    """The hook registered first runs last before a fork; here it lets the thread begin its import."""
    hook = """
import os

def begin():
    thread.start()
    is_importing.wait()

os.register_at_fork(before=begin)
"""
    code = """
print(ended(lambda: tok.split("a b c", 2)))
may_go_on.set()
"""
    assert run(SLOW_FINDER + code, hook) == "0\n"


def test_a_fork_does_not_wait_for_an_import_that_waits_for_it() -> None:
    """`logging`, if imported later, locks its loggers before a fork; then the hook of this package runs."""
    code = """
import logging
thread.start()
is_importing.wait()
may_go_on.set()
before = time.monotonic()
print(ended(lambda: tok.split("a b c", 2)), time.monotonic() - before < 5)
"""
    makes_logger = SLOW_FINDER.replace("execute(module)", "time.sleep(0.2); logging.getLogger('new'); execute(module)")
    assert run(makes_logger + code) == "0 True\n"


def test_forks_do_not_wait_for_imports_of_other_modules(tmp_path: Path) -> None:
    """For example, a module that is a server, whose import never ends."""
    (tmp_path / "server.py").write_text("import jeton, time\njeton.default\ntime.sleep(60)\n")
    code = f"""
sys.path.insert(0, {str(tmp_path)!r})
threading.Thread(target=__import__, args=("server",), daemon=True).start()
time.sleep(0.3)
before = time.monotonic()
print(ended(lambda: jeton.default), time.monotonic() - before < 5)
os._exit(0) if sys.stdout.flush() is None else None
"""
    assert run(code) == "0 True\n"


def test_a_fork_during_an_append_leaves_the_child_usable() -> None:
    code = """
tok = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
growing = tok.growing()
growing.append("ab")
thread = threading.Thread(target=growing.append, args=("a" * 6_000_000,))
thread.start()

def use():
    assert growing.num_tokens == 2, growing
    assert growing.append("c") == (2, [99])
    assert growing.copy().num_tokens == 3

time.sleep(0.02)
print(ended(use))
thread.join()
"""
    assert run(code) == "0\n"


def test_a_fork_during_a_push_leaves_the_child_usable() -> None:
    """During a push the state is inconsistent: the child gets an error, or the state before or after the ids."""
    code = """
tok = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
ids = [97] * 1_000_000
tok.encode("a")

def use():
    try:
        stream.push(98)
        assert set(stream.text) <= {"a", "b"}, len(stream.text)
    except jeton.ConfigError as error:
        assert "make a copy" in str(error)

statuses = set()
for number in range(3):
    stream = tok.stream()
    thread = threading.Thread(target=stream.push, args=(ids,))
    thread.start()
    time.sleep(0.01 * number)
    statuses.add(ended(use))
    thread.join()
print(statuses)
"""
    assert run(code) == "{0}\n"


def test_a_corpus_that_the_parent_reads() -> None:
    code = """
from jeton.corpus.batches import PrefetchQueue
from jeton.errors import ConfigError
queue = PrefetchQueue(1)
thread = threading.Thread(target=lambda: queue._changed.__enter__() and time.sleep(0.5))
thread.start()
time.sleep(0.05)

def use():
    queue.close()
    try:
        queue.get()
    except ConfigError:
        return
    os._exit(9)

print(ended(use))
os._exit(0) if sys.stdout.flush() is None else None
"""
    assert run(code) == "0\n"


def test_computed_attributes_have_no_lock() -> None:
    """Before Python 3.12, `functools.cached_property` has one lock for all objects of a class."""
    using = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "python" / "jeton").rglob("*.py"))
        if "reference" not in path.parts
        and any(
            line.startswith("from functools import") and "cached_property" in line
            for line in path.read_text("utf-8").splitlines()
        )
    ]
    assert using == []
