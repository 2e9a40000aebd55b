"""Forks while another thread calls a function of Jeton for the first time, and calls the function in the child, too.

    python tools/fork_first_calls.py                      about 200 forks for each call; half an hour on two cores
    python tools/fork_first_calls.py --forks 20 --only explain split

The first call of a function imports modules and builds tables. For each of `CALLS`, new processes start a thread that
makes the call, and fork at random moments until the call ends. Each child makes the same call. A child that takes
longer than `--limit` seconds counts as hung and is killed. Such a child waits for a lock that was held by a thread of
the parent at the fork. Prints, for each call, the numbers of children that returned, hung and failed. The exit status
is 1 if any child hung or failed. Needs `os.fork`.

Left out: `encode_arrow`. If a process forks while its first call of `pyarrow.table` is running, `pyarrow.table` hangs
in the child (pyarrow 26.0, also without Jeton).
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Name of a call -> expression that makes it. Expressions can use the module `jeton`, the list `TEXTS`, the tokenizer
# `tok`, and these paths: PATH (the file of `tok`), CORPUS (a text file), MODEL (a SentencePiece model) and OUT (output,
# another path in each process). A module before a semicolon is imported before the thread starts.
CALLS = {
    "encode": "tok.encode(TEXTS[0], special='all')",
    "encode_dropout": "tok.encode(TEXTS[0], dropout=0.1, seed=1)",
    "encode_surrogates": "tok.encode('a\\ud800', errors='replace')",
    "encode_array": "tok.encode_array(TEXTS[0])",
    "encode_batch": "tok.encode_batch(TEXTS)[0]",
    "encode_batch_pairs": "tok.encode_batch(TEXTS, pairs=TEXTS, max_length=5)",
    "tokenize": "tok.tokenize(TEXTS[0])",
    "tokenize_columns": "[tok.tokenize(TEXTS[0]).char_spans, tok.tokenize(TEXTS[0]).hf_offsets]",
    "tokenize_batch": "tok.tokenize_batch(TEXTS)",
    "count": "tok.count(TEXTS[0])",
    "count_batch": "tok.count_batch(TEXTS)",
    "count_up_to": "tok.count_up_to(TEXTS[0], 3)",
    "truncate": "tok.truncate(TEXTS[0], 3)",
    "split": "tok.split(TEXTS[0], 3)",
    "growing": "tok.growing().append(TEXTS[0])",
    "stream": "tok.stream(stop=['x']).push(tok.encode(TEXTS[0]))",
    "explain": "str(tok.explain(TEXTS[0]))",
    "explain_html": "tok.explain(TEXTS[0])._repr_html_()",
    "drawing": "tok.tokenize(TEXTS[0]).drawing().to_json()",
    "tree": "tok.tree(258)",
    "card": "tok._repr_html_()",
    "chat": "tok.chat([{'role': 'user', 'content': 'hi'}]).ids",
    "decode": "tok.decode([97, 98])",
    "decode_errors": "tok.decode([97, 98], invalid_utf8='ignore')",
    "decode_batch": "tok.decode_batch([[97], [98]])",
    "decode_bytes_batch": "tok.decode_bytes_batch([[97], [98]])",
    "decode_with_offsets": "tok.decode_with_offsets([97, 98])",
    "vocab": "len(tok.get_vocab()) + len(tok.vocab) + len(tok.merges) + len(tok.added_tokens)",
    "facts": "[tok.fingerprint, repr(tok), tok.special_tokens, dict(tok.roles), tok.eos_id, tok.training]",
    "add_tokens": "tok.add_tokens(['<new>'])",
    "with_roles": "tok.with_roles(eos='<|end|>')",
    "to_bytes": "jeton.Tokenizer.from_bytes(tok.to_bytes())",
    "pickle": "pickle; pickle.loads(pickle.dumps(tok))",
    "save": "tok.save(OUT)",
    "load": "jeton.load(PATH)",
    "default": "jeton.default().encode('a')",
    "names": "jeton.names()",
    "train": "jeton.train(TEXTS, 260, progress=False)",
    "train_bar": "jeton.train(TEXTS, 260, progress=True)",
    "train_unigram": "jeton.train(TEXTS, 30, preset='unigram', progress=False)",
    "count_pretokens": "jeton.count_pretokens(TEXTS, progress=False).most_common(3)",
    "replay": "jeton.replay(tok, TEXTS)",
    "extend": "jeton.extend(tok, TEXTS, 1, progress=False)",
    "add_words": "jeton.add_words(tok, [' slower'])",
    "merge_vocab": "jeton.merge_vocab(tok, tok)",
    "prune": "jeton.prune(tok, vocab_size=270)",
    "renumber": "jeton.renumber(tok, {5: 1000})",
    "align": "jeton.align(tok, tok).spans(TEXTS[0])",
    "compare": "str(jeton.compare({'a': tok, 'b': tok}, TEXTS[0]))",
    "compare_corpus": "jeton.compare_corpus({'a': tok, 'b': tok}, TEXTS, progress=False)",
    "measure": "str(jeton.measure(tok, TEXTS, progress=False))",
    "cost": "jeton.cost(tok, TEXTS, progress=False)",
    "audit": "str(jeton.audit(tok))",
    "sizes": "jeton.sizes(TEXTS * 50, [260, 262], progress=False)",
    "shards": "jeton.shards.make(CORPUS, OUT, PATH, progress=False)",
    "compat_tiktoken": "__import__('jeton.compat.tiktoken', fromlist='x').Encoding("
    "'x', pat_str='a|.', mergeable_ranks={bytes([i]): i for i in range(256)}, special_tokens={}).encode_batch(TEXTS)",
    "compat_sentencepiece": "__import__('jeton.compat.sentencepiece', fromlist='x').SentencePieceProcessor(MODEL)"
    ".encode(TEXTS)",
}
TEXTS = ["low lower<|end|> lowest", "the lower world", "na\u00efve e\u0301"]
MOST_AT_ONCE = 4  # maximum number of children of a process at a time


def one(call: str, path: str, forks: int, limit: int, seed: int) -> dict[str, int]:
    """Forks while a thread makes a first call; returns outcome -> number of child processes with this outcome."""
    import jeton

    rng = random.Random(seed)  # noqa: S311
    before, _, expression = CALLS[call].rpartition("; ")
    names: dict[str, Any] = {
        "jeton": jeton,
        "tok": jeton.load(path),
        "TEXTS": TEXTS,
        "PATH": path,
        "MODEL": f"{path}.model",
    }
    if before:
        names[before] = importlib.import_module(before)
    ended: Counter[str] = Counter()
    children: set[int] = set()

    def make_call() -> None:
        eval(expression, names | {"OUT": f"{names['FOLDER']}/{os.getpid()}"})  # noqa: S307

    def wait() -> None:
        child, status = os.wait()
        children.discard(child)
        ended["hung" if os.WIFSIGNALED(status) else "failed" if status else "returned"] += 1

    with tempfile.TemporaryDirectory() as folder:
        names["FOLDER"], names["CORPUS"] = folder, f"{folder}/corpus.txt"
        Path(names["CORPUS"]).write_text("\n".join(TEXTS), "utf-8")
        thread = threading.Thread(target=make_call)
        thread.start()
        while sum(ended.values()) + len(children) < forks:
            time.sleep(rng.random() ** 3 * 0.02)
            child = os.fork()
            if not child:
                faulthandler.register(signal.SIGALRM, chain=True)  # prints where a child hangs
                signal.alarm(limit)
                code = 1
                try:
                    make_call()
                    code = 0
                except BaseException:
                    sys.excepthook(*sys.exc_info())
                finally:
                    os._exit(code)
            children.add(child)
            if len(children) >= MOST_AT_ONCE:
                wait()
            if not thread.is_alive():
                break
        while children:
            wait()
        thread.join()
    return dict(ended)


def run(call: str, path: Path, forks: int, limit: int) -> Counter[str]:
    """Makes about `forks` forks, in as many processes as necessary."""
    ended: Counter[str] = Counter()
    seed = 0
    while sum(ended.values()) < forks:
        left = forks - sum(ended.values())
        command = [sys.executable, __file__, "--one", call, "--path", str(path), "--seed", str(seed)]
        done = subprocess.run(
            [*command, "--forks", str(left), "--limit", str(limit)], capture_output=True, text=True, check=False
        )
        seed += 1
        if done.returncode:
            ended["failed"] += 1
        else:
            ended.update(json.loads(done.stdout.splitlines()[-1]))
        if done.returncode or "failed" in done.stdout or "hung" in done.stdout:
            print(done.stderr[-2000:], file=sys.stderr)
    return ended


def check(calls: Sequence[str], forks: int, limit: int = 30) -> dict[str, Counter[str]]:
    """Returns call -> outcome of a child process -> number of child processes with this outcome."""
    import jeton

    tok = jeton.train(["low lower lowest the lower world"], 270, special_tokens=["<|end|>"], progress=False)
    tok = tok.with_chat_template("{% for m in messages %}{{ m.content }}<|end|>{% endfor %}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        tok.save(path)
        jeton.train(["low lower lowest"], 13, preset="sentencepiece-unigram", progress=False).save(
            f"{path}.model", format="sentencepiece"
        )
        return {call: run(call, path, forks, limit) for call in calls}


def main() -> int:
    """Runs the selected calls; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forks", type=int, default=200, help="for each call")
    parser.add_argument("--only", nargs="+", default=list(CALLS), choices=list(CALLS), metavar="CALL")
    parser.add_argument("--limit", type=int, default=30, help="seconds of a child")
    for internal in ("--one", "--path", "--seed"):
        parser.add_argument(internal, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(one(chosen.one, chosen.path, chosen.forks, chosen.limit, int(chosen.seed))))
        return 0
    is_bad = False
    for call in chosen.only:
        ended = check([call], chosen.forks, chosen.limit)[call]
        print(f"{call:24} {dict(ended)}", flush=True)
        is_bad |= bool(ended["hung"] or ended["failed"])
    return int(is_bad)


if __name__ == "__main__":
    sys.exit(main())
