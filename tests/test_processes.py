"""Threads, forked and spawned processes, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest

import jeton

from .material import CORPUS, tokenizer
from .selection import amount, rest_is_slow

# ── threads ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_threads_share_one_tokenizer(kind: str) -> None:
    tok = tokenizer(kind)
    many = [line for line in (CORPUS * 4).splitlines() if line]
    expected = [tok.encode(line) for line in many]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(tok.encode, many)) == expected
        assert list(pool.map(tok.count, many)) == [len(ids) for ids in expected]
        batches = list(pool.map(lambda _: tok.encode_batch(many, threads=2), range(8)))
        arrays = list(pool.map(lambda line: tok.encode_array(line, threads=2).tolist(), many))
        texts = list(pool.map(tok.decode, expected))
    assert arrays == expected
    assert texts == [tok.decode(ids) for ids in expected]
    assert all([ids.tolist() for ids in batch] == expected for batch in batches)


def test_encoding_lets_other_threads_run(tok: jeton.Tokenizer) -> None:
    """The GIL is released: a Python thread continues while another encodes."""
    text = CORPUS * 6_000
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.wait(0.001):
            ticks += 1

    ticker = threading.Thread(target=tick)
    ticker.start()
    began = time.perf_counter()
    for call in (
        lambda: tok.encode_array(text, threads=1),
        lambda: tok.count(text),
        lambda: jeton.count_pretokens([text], progress=False),
    ):
        call()
    seconds = time.perf_counter() - began
    done.set()
    ticker.join()
    assert ticks > seconds * 50, f"{ticks} ticks in {seconds:.2f} s"


# ── the end of the interpreter ────────────────────────────────────────────────────────────────────────────────────

# Daemon threads are inside of the named call when the interpreter is finalized.
UNTIL_THE_END = """
import random, sys, threading, time
import jeton

name = sys.argv[1]
tok = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [], special_tokens={"<|end|>": 300})
long = "the old man and the sea. " * 40_000
ids = tok.encode(long)
words = " ".join("".join(random.Random(i).choices("abcdefgh", k=7)) for i in range(50_000))
counts = jeton.count_pretokens([words], progress=False) if name == "save" else None
begun = threading.Barrier(4)

class Id:
    def __index__(self):
        return 97

def failing():
    for call in (tok.encode, tok.count, lambda text, **options: tok.encode_batch(["a", text], **options)):
        try:
            call("a <|end|>", special="raise")
        except jeton.JetonError:
            pass

TEMPLATE = "{% for message in messages %}{{ '<|end|>' + message.content }}{% endfor %}"
CALLS = {
    "encode": lambda: tok.encode(long, special="none"),
    "encode_short": lambda: tok.encode("hello", special="none"),
    "encode_array": lambda: (tok.encode_array(long), tok.encode_array("hello", threads=1)),
    "encode_batch": lambda: tok.encode_batch([long[:2_000]] * 300),
    "count": lambda: tok.count(long),
    "mixed": lambda: (tok.encode_array(long), tok.encode_batch([long] * 2), tok.count(long)),
    "decode": lambda: (tok.decode(ids), tok.decode([Id()] * 1_000)),
    "train": lambda: jeton.train([words], vocab_size=3_000, progress=lambda *_: sum(range(1_000))),
    "chat": lambda: tok.chat([{"role": "user", "content": long[:20_000]}] * 3, template=TEMPLATE),
    "errors": failing,
    "save": lambda: counts.save(f"{sys.argv[3]}/{threading.get_ident()}.jtc"),
}

def work():
    begun.wait()
    while True:
        CALLS[name]()

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
begun.wait()
time.sleep(float(sys.argv[2]))
"""
# With such a defect only some runs crash; JETON_EXIT_RUNS=50 makes more runs.
EXIT_RUNS = int(os.environ.get("JETON_EXIT_RUNS") or amount(2, default=1))


@pytest.mark.parametrize(
    "call",
    rest_is_slow(
        "encode encode_short encode_array encode_batch count mixed decode train chat errors save".split(),  # noqa: SIM905
        lambda call: call in ("encode_short", "mixed", "decode", "train", "errors"),
        "short and long calls, training, errors",
    ),
)
@pytest.mark.timeout(60 * EXIT_RUNS)
def test_the_interpreter_ends_while_daemon_threads_work(call: str, tmp_path: Path) -> None:
    script = tmp_path / "until_the_end.py"
    script.write_text(UNTIL_THE_END)
    for run in range(EXIT_RUNS):
        command = [sys.executable, str(script), call, str(0.1 + 0.37 * run % 0.4), str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")


# ── processes ─────────────────────────────────────────────────────────────────────────────────────────────────────

# Scripts of their own: forking pytest, which has threads, is what newer Pythons warn about.
MANY_PROCESSES = """
import multiprocessing, sys, warnings
import jeton

TEXT = "the old man <|im_start|> 今天" * 20_000  # long enough for two threads

def work(tok):
    return tok.encode_array(TEXT, threads=2).sum(), tok.encode(TEXT[:90], special="all"), tok.fingerprint

if __name__ == "__main__":
    method, path = sys.argv[1:]
    tok = jeton.load(path)
    expected = work(tok)  # threads have run before the fork
    if method == "os.fork":
        import os
        for _ in range(3):
            child = os.fork()
            if child == 0:
                os._exit(0 if work(tok) == expected else 1)
            assert os.waitpid(child, 0)[1] == 0
        print("equal")
    else:
        with multiprocessing.get_context(method).Pool(2) as pool:
            print("equal" if pool.map(work, [tok] * 4) == [expected] * 4 else "different")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver", "os.fork"])
def test_processes_give_equal_ids(tmp_path: Path, method: str) -> None:
    script, path = tmp_path / "script.py", tmp_path / "tokenizer.json"
    script.write_text(MANY_PROCESSES, "utf-8")
    tokenizer("byte gpt2").save(path)
    run = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", str(script), method, str(path)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "equal\n", "")


TRAIN_IN_CHILD = """
import os, jeton
docs = ["the old man told the old tale " * 20_000] * 2
parent = jeton.train(docs, 300, threads=2, progress=False).to_bytes()
reader, writer = os.pipe()
if os.fork() == 0:
    os.write(writer, jeton.train(docs, 300, threads=2, progress=False).fingerprint.encode())
    os._exit(0)
os.wait()
print(os.read(reader, 100).decode() == jeton.Tokenizer.from_bytes(parent).fingerprint)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_trains_with_threads() -> None:
    run = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", TRAIN_IN_CHILD]
    done = subprocess.run(run, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


FORKS_WHILE_A_LIMIT_IS_KEPT = """
import os, sys, threading, time, jeton

def texts(seed):
    return [" ".join(str((seed + i) * 2_654_435_761 % 1_000_003) for i in range(100_000))]

def train(seed):
    return jeton.train(texts(seed), 600, pattern="gpt2", progress=False, limits=jeton.Limits("1MiB", threads=1))

counts = jeton.count_pretokens(texts(0), pattern="gpt2", progress=False, limits=jeton.Limits(memory_limit="1MiB"))
expected = train(1).fingerprint
done = threading.Event()

def work():
    while not done.is_set():
        train(0)

thread = threading.Thread(target=work, daemon=True)
thread.start()
began = time.monotonic()
for number in range(6):
    time.sleep(0.03)
    child = os.fork()
    if child == 0:
        doubled = counts + counts
        equal = len(doubled) == len(counts) and (number % 3 or train(1).fingerprint == expected)
        del doubled
        os._exit(0 if equal else 1)
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        if time.monotonic() - began > 60:
            os.kill(child, 9)
            print("a child hangs")
            os._exit(1)
        time.sleep(0.005)
    if status:
        print("a child failed", status)
        os._exit(1)
done.set()
thread.join()
print("equal")
"""


@pytest.mark.slow(reason="other forks: test_processes_give_equal_ids, test_a_forked_child_trains_with_threads")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_while_a_limit_of_memory_is_kept() -> None:
    """A thread that keeps mapped lists within their limit holds a lock most of the time; no child may wait for it."""
    run = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKS_WHILE_A_LIMIT_IS_KEPT]
    done = subprocess.run(run, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "equal\n"), done.stderr


# ── Ctrl-C ────────────────────────────────────────────────────────────────────────────────────────────────────────

# Each script prints when its long work begins; making the text by `random` would take longer than the work. Arrays are
# used once before, because NumPy turns a Ctrl-C during its import into an ImportError.
INTERRUPTED = {
    "counting": """
doc = ("the old man %d told " * 400_000) % tuple(range(400_000))
def documents():
    while True:
        yield doc
work = lambda: jeton.train(documents(), 1000, log=sys.argv[1], threads=THREADS, progress=started("count"))
""",
    "counting with a regex": r"""
doc = "a b" * 20_000_000
work = lambda: jeton.count_pretokens([doc] * 50, pattern=r"(?<=a) |\w", threads=THREADS, progress=started("count"))
""",
    "learning": """
import hashlib
doc = "".join(hashlib.sha256(b"%d" % i).hexdigest() for i in range(120_000))
work = lambda: jeton.train([doc], 500_000, pattern="none", log=sys.argv[1], threads=THREADS, progress=started("merge"))
""",
    "learning, first": """
import hashlib
doc = "".join(hashlib.sha256(b"%d" % i).hexdigest() for i in range(120_000))
work = lambda: jeton.train([doc], 500_000, pattern="none", tie_break="first", progress=started("merge"))
""",
    "encoding": """
tok = jeton.train(["the old man told the old tale"], 265, pattern="gpt2", progress=False)
text = "the old man told the older tale, " * 2_000_000
def work():
    tok.encode_array("old")
    say("started")
    while True:
        tok.encode_array(text, threads=THREADS)
""",
}

HARNESS = """
import sys, time, jeton
def say(word):
    print(word, flush=True)
def started(stage):
    said = []
    def report(event):
        if event.stage == stage and not said:
            said.append(1)
            say("started")
    return report
"""

RUN = """
say("ready")
try:
    work()
except KeyboardInterrupt:
    print("stopped", time.time(), flush=True)
else:
    print("finished", flush=True)
"""


@pytest.fixture
def interrupted(tmp_path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    running: list[subprocess.Popen[str]] = []
    yield running
    for process in running:
        process.kill()
        process.communicate()


@pytest.mark.alone
@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
@pytest.mark.parametrize(
    ("work", "threads", "delay"),
    rest_is_slow(
        product(INTERRUPTED, [1, 2], [0.05, 0.7]),
        lambda case: case[1:] == (2, 0.7) or case == ("encoding", 1, 0.05),
        "each work once",
    ),
)
def test_ctrl_c_stops_within_a_second(
    tmp_path: Path, interrupted: list[subprocess.Popen[str]], work: str, threads: int, delay: float
) -> None:
    log = tmp_path / "log.tsv"
    code = HARNESS + INTERRUPTED[work].replace("THREADS", str(threads)) + RUN
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(log)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    interrupted.append(process)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    assert process.stdout.readline() == "started\n"
    time.sleep(delay)
    sent = time.time()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out.startswith("stopped"), (out, err)
    assert float(out.split()[1]) - sent < 1.0
    assert err == ""
    assert list(tmp_path.iterdir()) == [], "no partial file is left"
