"""Tests signal handlers that use an object while a long call of the same object runs.

    python tools/signal_handlers.py                 all cases; two minutes on two cores
    python tools/signal_handlers.py --only growing stream

For each case, a process makes a long call while a timer raises a signal fifty times a second. Python runs the handler
whenever the call checks for signals. The handler reads every public attribute of the object, and calls the methods.
Prints how often the handler ran, which exceptions the methods raised, and the cases whose process had to be killed,
because a handler waited for a lock of the interrupted call. The exit status is 1 if there are such cases.
"""

from __future__ import annotations

import argparse
import copy
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

INTERVAL_S = 0.02
LIMIT_S = 120

# Case -> two expressions: an object, and a long call of this object. They use the names that `_names` defines.
CASES = {
    "encode": ("tok", "tok.encode(LONG)"),
    "encode_special": ("tok", "tok.encode(LONG, special='all')"),
    "encode_array": ("tok", "tok.encode_array(LONG)"),
    "encode_batch": ("tok", "tok.encode_batch([LONG] * 4, threads=4)"),
    "encode_pairs": ("tok", "tok.encode_batch([LONG] * 4, [LONG] * 4, max_length=100)"),
    "dropout": ("tok", "tok.encode(LONG[: 1 << 21], dropout=0.1)"),
    "count": ("tok", "tok.count(LONG)"),
    "count_batch": ("tok", "tok.count_batch([LONG] * 4)"),
    "count_up_to": ("tok", "tok.count_up_to(LONG, 10_000_000)"),
    "tokenize": ("tok", "tok.tokenize(LONG[: 1 << 21])"),
    "explain": ("tok", "tok.explain(LONG[: 1 << 20])"),
    "truncate": ("tok", "tok.truncate(LONG, 5_000_000)"),
    "split": ("tok", "tok.split(LONG, 1000)"),
    "decode": ("tok", "tok.decode(IDS)"),
    "decode_batch": ("tok", "tok.decode_batch([IDS] * 4)"),
    "stream": ("stream", "stream.push(IDS * 10)"),
    "stream_slices": ("stream", "[stream.push(IDS[i : i + 5000]) for i in range(0, len(IDS), 5000)]"),
    "growing": ("growing", "growing.append(LONG)"),
    "growing_run": ("growing", "[growing.append('a' * 100_000) for _ in range(30)]"),
    "counts": ("counts", "[counts + counts for _ in range(100)]"),
    "train": ("jeton", "jeton.train([LONG], 20_000, progress=lambda event: handle())"),
    "train_unigram": ("jeton", "jeton.train([LONG], 500, preset='unigram', progress=lambda event: handle())"),
    "count_pretokens": ("jeton", "jeton.count_pretokens([LONG] * 4, progress=lambda event: handle())"),
    "extend": ("tok", "jeton.extend(tok, [LONG], 100, progress=lambda event: handle())"),
    "shards": ("jeton.shards", "jeton.shards.make(CORPUS, OUT, tok, workers=2, progress=lambda event: handle())"),
    "dataset": ("dataset", "[dataset[i % len(dataset)] for i in range(100_000)]"),
    "audit": ("tok", "[jeton.audit(tok) for _ in range(10)]"),
    "compare": ("tok", "jeton.compare([tok, tok], LONG[: 1 << 20])"),
    "measure": ("tok", "jeton.measure(tok, [LONG], progress=False)"),
    "encoding": ("encoding", "[(encoding.char_spans, encoding.drawing(), list(encoding)) for _ in range(5)]"),
    "batch": ("batch", "[batch.padded(pad_id=0) for _ in range(20)]"),
    "chat": ("tok", "tok.chat([{'role': 'user', 'content': LONG[: 1 << 21]}])"),
    "tiktoken": ("tiktoken", "tiktoken.encode_batch([LONG] * 2)"),
    "sentencepiece": ("sentencepiece", "sentencepiece.encode([LONG[: 1 << 20]] * 2)"),
    "catalog": ("catalog", "[catalog.add('a', data) for _ in range(100)]"),
    "transformers": ("fast", "[fast(LONG[:100_000]) for _ in range(10)]"),
}

# Method -> its required arguments. Other methods are called without arguments.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("append", "encode", "encode_array", "tokenize", "count", "explain", "encode_ordinary"), ("ab",)),
    **dict.fromkeys(("encode_batch", "tokenize_batch", "count_batch", "count_pretokens"), (["ab"],)),
    **dict.fromkeys(("push", "tree", "id_to_bytes", "id_to_token", "is_special"), (97,)),
    **dict.fromkeys(("decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets"), ([97],)),
    **dict.fromkeys(("decode_batch", "decode_bytes_batch", "batch_decode"), ([[97]],)),
    **dict.fromkeys(("count_up_to", "truncate", "split", "nbest"), ("ab", 1)),
    "token_to_id": ("a",),
    "add_tokens": (["<new>"],),
    "with_chat_template": ("{{ messages }}",),
    "train": (["ab"], 257),
    **dict.fromkeys(("chat", "conversation"), ([{"role": "user", "content": "a"}],)),
    "from_bytes": (b"{}",),
    "get": ("bytes",),
    "most_common": (3,),
    "add": ("b", b"{}"),
    "open": ([("b", b"{}")],),
    "__getitem__": (0,),
    "__call__": ("ab",),
    "convert_ids_to_tokens": ([5],),
}
OPTIONS = {"train": {"progress": False}, "count_pretokens": {"progress": False}}
# Methods that are not called, because they write files, end the object's work, or take long.
SKIPPED = {
    "save", "save_pretrained", "push_to_hub", "from_pretrained", "names", "languages", "run", "make", "plan", "merge",
    "verify", "load", "default", "map_dataset", "downloads", "plot", "measure", "audit", "finish",
}  # fmt: skip


def use(thing: Any) -> Counter[str]:
    """Uses all attributes of an object; returns the raised exceptions, counted by name."""
    raised: Counter[str] = Counter()
    names = [name for name in dir(thing) if not name.startswith("_") and name not in SKIPPED]
    special = [name for name in ("__call__", "__getitem__") if hasattr(type(thing), name)]
    uses = [repr, str, copy.copy, copy.deepcopy, pickle.dumps, hash, len]
    if type(thing).__name__ != "module":
        uses += [lambda thing, name=name: _call(thing, name) for name in special]
    for work in [*uses, *(lambda thing, name=name: _call(thing, name) for name in names)]:
        try:
            work(thing)
        except Exception as error:
            raised[type(error).__name__] += 1
    return raised


def _call(thing: Any, name: str) -> None:
    value = getattr(thing, name)
    if callable(value) and not isinstance(value, type):
        value(*ARGUMENTS.get(name, ()), **OPTIONS.get(name, {}))


def _names(case: str, folder: Path) -> dict[str, Any]:
    """Returns the names that the expressions of a case use, with their values."""
    import jeton
    import jeton.shards

    text = "low lower<|end|> lowest the world na\u00efve 1234 \u4eca\u5929\n"
    tok = jeton.train([text * 9], 300, special_tokens=["<|end|>"], progress=False)
    tok = tok.with_chat_template("{% for m in messages %}{{ m.content }}<|end|>{% endfor %}")
    long = text * 300_000
    found: dict[str, Any] = {"jeton": jeton, "tok": tok, "LONG": long, "OUT": str(folder / "shards")}
    found["IDS"] = tok.encode(text) * 100_000
    found["CORPUS"] = str(folder / "corpus.txt")
    Path(found["CORPUS"]).write_text(text * 100_000, "utf-8")
    wanted = CASES[case][0]
    if wanted == "stream":
        found["stream"] = tok.stream(stop=["never"])
    elif wanted == "growing":
        found["growing"] = tok.growing()
    elif wanted == "counts":
        texts = [f"{number:x} {number * 7919:x}" for number in range(100_000)]
        found["counts"] = jeton.count_pretokens(texts, progress=False)
    elif wanted == "dataset":
        jeton.shards.make(jeton.Corpus(found["CORPUS"], documents="line"), folder / "made", tok, progress=False)
        found["dataset"] = jeton.shards.open(folder / "made")
    elif wanted == "encoding":
        found["encoding"] = tok.tokenize(long[: 1 << 16])
    elif wanted == "batch":
        found["batch"] = tok.encode_batch([text] * 20_000)
    elif wanted == "tiktoken":
        from jeton.compat.tiktoken import Encoding

        ranks = {bytes([byte]): byte for byte in range(256)}
        found["tiktoken"] = Encoding("x", pat_str=r"\w+|\W+", mergeable_ranks=ranks, special_tokens={})
    elif wanted == "sentencepiece":
        from jeton.compat.sentencepiece import SentencePieceProcessor

        model = jeton.train([text * 9], 29, preset="sentencepiece-unigram", progress=False)
        model.save(folder / "a.model", format="sentencepiece")
        found["sentencepiece"] = SentencePieceProcessor(str(folder / "a.model"))
    elif wanted == "catalog":
        from jeton.playground.catalog import Catalog

        found["catalog"], found["data"] = Catalog(cached=False), tok.to_bytes()
    elif wanted == "fast":
        from transformers import PreTrainedTokenizerFast

        from jeton.integrations.transformers import accelerate

        tok.save(folder / "tokenizer.json")
        found["fast"] = accelerate(PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json")))
    return found


def one(case: str) -> str:
    """Runs the long call of a case with signal handlers; returns the report."""
    expression, call = CASES[case]
    raised: Counter[str] = Counter()
    times, is_handling = 0, False
    with tempfile.TemporaryDirectory() as folder:
        names = _names(case, Path(folder))
        thing = eval(expression, names)  # noqa: S307

        def handle(*_: Any) -> None:
            nonlocal times, is_handling
            if is_handling:
                return
            is_handling = True
            raised.update(use(thing))
            times, is_handling = times + 1, False

        names["handle"] = handle
        signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, INTERVAL_S, INTERVAL_S)
        began = time.perf_counter()
        try:
            eval(call, names)  # noqa: S307
            outcome = "returned"
        except Exception as error:
            outcome = f"raised {type(error).__name__}: {error!s:.80}"
        took = time.perf_counter() - began
        signal.setitimer(signal.ITIMER_REAL, 0)
    return f"{outcome} after {took:.2f} s and {times} handlers; exceptions in them: {dict(raised)}"


def check(case: str, limit_s: float = LIMIT_S) -> str | None:
    """Runs a case in a process; returns its report, or None if the process had to be killed."""
    command = [sys.executable, __file__, "--one", case]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout.strip() or f"failed: {done.stderr[-1000:]}"


def main() -> int:
    """Runs the selected cases; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=list(CASES), choices=list(CASES), metavar="CASE")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(one(chosen.one))
        return 0
    is_bad = False
    for case in chosen.only:
        report = check(case)
        print(f"{case:16} {report or 'DEADLOCK'}", flush=True)
        is_bad |= report is None or report.startswith("failed")
    return int(is_bad)


if __name__ == "__main__":
    sys.exit(main())
