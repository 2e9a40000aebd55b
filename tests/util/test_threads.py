"""Python threads that share tokenizers, streams and growing texts get the results of a single thread.

With the global interpreter lock they overlap where the core releases it. `PYTHON_GIL=0` and a free-threaded
interpreter make everything overlap; the workflow `release` runs this module so.
"""

from __future__ import annotations

import io
import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jeton
from tests.material import CORPUS, KINDS, TRICKY, byte_tokenizer, tokenizer

THREADS = 6
TEXTS = [CORPUS, *TRICKY[:20], "low lower lowest " * 400]


def on_threads(work: Callable[[int], Any], threads: int = THREADS) -> list[Any]:
    """Results of `work` on each thread; all threads begin at once."""
    barrier = threading.Barrier(threads)
    results: list[Any] = [None] * threads

    def run(index: int) -> None:
        barrier.wait()
        try:
            results[index] = work(index)
        except BaseException as error:
            results[index] = error

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        started = [threading.Thread(target=run, args=(index,)) for index in range(threads)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    return results


def everything(tok: jeton.Tokenizer) -> list[Any]:
    """Results of the methods of a tokenizer, comparable with ==."""
    texts = [text for text in TEXTS if encodable(tok, text)]
    ids = [tok.encode(text) for text in texts]
    batch = tok.encode_batch(texts, threads=2)
    stream = tok.stream()
    pieces = [stream.push(ids[0]), stream.push(ids[-1]), stream.finish()]
    growing = tok.growing()
    for text in texts[:3]:
        growing.append(text)
    return [
        [list(map(int, each)) for each in ids],
        [list(map(int, row)) for row in batch],
        [tok.decode(each) for each in ids],
        tok.decode_batch(ids),
        tok.count_batch(texts),
        [token.byte_span for token in tok.tokenize(texts[0])],
        [tok.id_to_bytes(id) for id in ids[0]],
        np.asarray(tok.encode_array(texts[-1], threads=2)).tolist(),
        pieces,
        growing.num_tokens,
        str(tok.explain(texts[0][:20])),
        [chunk.text for chunk in tok.split(texts[-1], 50)],
    ]


def encodable(tok: jeton.Tokenizer, text: str) -> bool:
    try:
        tok.encode(text)
    except jeton.JetonError:
        return False
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_threads_share_a_tokenizer(kind: str) -> None:
    expected = everything(tokenizer(kind))
    fresh = pickle.loads(pickle.dumps(tokenizer(kind)))  # its tables and caches are still empty
    for result in on_threads(lambda _: everything(fresh)):
        assert result == expected


def test_threads_train_at_once() -> None:
    def train(_: int) -> list[Any]:
        return jeton.train([CORPUS], 300, threads=2, progress=False).merges

    expected = train(0)
    assert on_threads(train) == [expected] * THREADS


def test_threads_write_and_release_a_shared_column() -> None:
    tok = byte_tokenizer()

    def fill(index: int) -> bool:
        same = True
        for _ in range(50):
            column = tok.encode_array("low lower lowest " * 60)
            column[:] = index
            same &= bool((column == index).all())
            same &= len(memoryview(column)) == len(column)
        return same

    assert on_threads(fill) == [True] * THREADS


def test_threads_share_counts() -> None:
    counts = jeton.count_pretokens([CORPUS], pattern="gpt2")
    expected = jeton.train(counts, 300, pattern="gpt2", progress=False).merges

    def use(_: int) -> tuple[list[Any], int]:
        return jeton.train(counts, 300, pattern="gpt2", progress=False).merges, len(counts)

    assert on_threads(use) == [(expected, len(counts))] * THREADS


def test_errors_stay_on_their_thread() -> None:
    tok = byte_tokenizer()

    def fail(index: int) -> Any:
        if index % 2:
            return tok.encode("low")
        return tok.encode_batch(["a" * index, "\ud800"])

    results = on_threads(fail)
    for index, result in enumerate(results):
        if index % 2:
            assert result == tok.encode("low")
        else:
            assert isinstance(result, jeton.InvalidTextError)


def test_threads_save_and_load_one_tokenizer() -> None:
    tok = byte_tokenizer()

    def save(_: int) -> str:
        return pickle.load(io.BytesIO(pickle.dumps(tok))).fingerprint

    assert on_threads(save) == [tok.fingerprint] * THREADS
