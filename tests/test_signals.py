"""Signal handlers that use an object during a long call on it never wait for a lock that the call holds.

The tests run in processes of their own, which hang where there is such a defect. `tools/signal_handlers.py` has long
calls of all objects, and handlers that call all methods.
"""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from tools import signal_handlers

from .selection import rest_is_slow

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signal.setitimer")

BEGIN = """
import signal, jeton
tok = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
text = "a" * 30_000_000  # takes several intervals between two checks for signals
times = 0

def every(seconds, handle):
    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)

def stop():
    signal.setitimer(signal.ITIMER_REAL, 0)
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", BEGIN + code], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_growing_text_is_readable_during_an_append() -> None:
    code = """
growing = tok.growing()
seen = set()

def handle(*_):
    copy = growing.copy()
    assert copy.append("b")[0] == copy.num_tokens - 1
    seen.add((growing.num_tokens, growing.stable_tokens, len(growing), repr(growing), copy.num_tokens))

expected = None
while expected not in seen:
    growing = tok.growing()
    growing.append("ab")
    expected = (2, growing.stable_tokens, 2, repr(growing), 3)
    every(0.01, handle)
    growing.append(text)
    stop()
print(growing.num_tokens == len(text) + 2)
"""
    assert run(code) == "True\n"


def test_appending_during_an_append_is_refused() -> None:
    code = """
raised = []

def handle(*_):
    try:
        growing.append("b")
    except jeton.ConfigError as error:
        raised.append(str(error))

while not raised:
    growing = tok.growing()
    every(0.01, handle)
    growing.append(text)
    stop()
assert growing.append("c") == (growing.num_tokens - 1, [99])
print(raised[0])
"""
    assert "a signal handler or a finalizer uses an object during a call that changes the same object" in run(code)


def test_an_append_ended_by_a_handler_leaves_the_text_unchanged() -> None:
    code = """
class Ended(Exception):
    pass

def handle(*_):
    if growing.num_tokens == 2:
        stop()
        raise Ended

while True:
    growing = tok.growing()
    growing.append("ab")
    every(0.01, handle)
    try:
        growing.append(text)
    except Ended:
        break
    stop()
print(repr(growing), growing.append("c"))
"""
    assert run(code) == "GrowingText(2 bytes, 2 tokens, 1 of them stable) (2, [99])\n"


def test_a_finalizer_may_use_the_stream_during_its_error() -> None:
    """Creating the exception may run the garbage collector."""
    code = """
import gc
stream = jeton.Tokenizer.from_merges({0x61: b"a", 0xFF: b"\\xff"}, []).stream(invalid_utf8="strict")
used = []

class Garbage:
    def __init__(self):
        self.itself = self

    def __del__(self):
        used.append(stream.text)

gc.disable()
for number in range(50):
    Garbage()
gc.set_threshold(1)
gc.enable()
try:
    stream.push(0xFF)
except jeton.errors.DecodeError:
    pass
gc.collect()
print(set(used))
"""
    assert run(code) == "{''}\n"


CASES = ("growing", "stream_slices", "counts", "encode_batch", "count_pretokens", "catalog", "tiktoken", "transformers")


@pytest.mark.parametrize("case", rest_is_slow(CASES, lambda case: False, "handlers of growing texts and streams"))
@pytest.mark.timeout(300)
def test_handlers_may_make_every_call(case: str) -> None:
    if case == "transformers":
        pytest.importorskip("transformers")
    report = signal_handlers.check(case)
    assert report is not None, "a handler waits for a lock that the call holds"
    assert report.startswith("returned"), report
