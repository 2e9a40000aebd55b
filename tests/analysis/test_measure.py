"""`measure`: compression, by its definitions."""

from __future__ import annotations

from pathlib import Path

import pytest

import jeton
from tests.material import CORPUS, TRICKY, byte_tokenizer, tokenizer


def test_figures_by_their_definitions(kind: str) -> None:
    tok = tokenizer(kind)
    docs = [CORPUS, "the old tale", "", "今天的天气"]
    found = jeton.measure(tok, docs, progress=False)
    tokens = sum(len(tok.encode(doc)) for doc in docs)
    num_bytes = sum(len(doc.encode()) for doc in docs)
    words = sum(len(doc.split()) for doc in docs)
    assert found == (num_bytes / tokens, sum(map(len, docs)) / tokens, tokens / words, tokens, num_bytes)
    for threads in (1, 2, 4):
        assert jeton.measure(tok, iter(docs), threads=threads, progress=False) == found


def test_by_hand() -> None:
    tok = byte_tokenizer((97, 98, 256))
    assert jeton.measure(tok, ["abab 今"], progress=False) == jeton.Measure(8 / 6, 6 / 6, 6 / 2, 6, 8)


def test_an_empty_corpus_has_no_ratios() -> None:
    assert jeton.measure(byte_tokenizer(), [], progress=False) == (0.0, 0.0, 0.0, 0, 0)
    assert jeton.measure(byte_tokenizer(), [""], progress=False) == (0.0, 0.0, 0.0, 0, 0)


def test_white_space_alone_has_no_words() -> None:
    assert jeton.measure(byte_tokenizer(), ["  "], progress=False).tokens_per_word == 0.0


def test_special_tokens_in_the_corpus_are_text() -> None:
    tok = byte_tokenizer(special_tokens={"<|end|>": 300})
    assert jeton.measure(tok, ["<|end|>"], progress=False).tokens == 7


def test_files_and_memory_agree(tmp_path: Path) -> None:
    tok = tokenizer("byte gpt2")
    for number, text in enumerate(TRICKY):
        (tmp_path / f"{number:02}.txt").write_bytes(text.encode())
    expected = jeton.measure(tok, TRICKY, progress=False)
    assert jeton.measure(tok, tmp_path, progress=False) == expected
    assert jeton.measure(tok, str(tmp_path / "*.txt"), progress=False) == expected


def test_documents_beyond_one_batch() -> None:
    """A batch is 16 MiB; one document is longer, and many short ones are longer together."""
    tok = tokenizer("byte gpt2")
    text = "the old man told the older tale\n"
    long = text * (18 * 2**20 // len(text))
    found = jeton.measure(tok, ["short", long, "short"], progress=False)
    assert found.tokens == tok.count(long) + 2 * tok.count("short")


def test_progress_reaches_the_end() -> None:
    events: list[jeton.ProgressEvent] = []
    jeton.measure(tokenizer("byte gpt2"), [CORPUS], progress=events.append)
    assert {event.stage for event in events} == {"encode"}
    assert events[-1].done == len(CORPUS.encode())


def test_a_memory_limit_makes_smaller_batches() -> None:
    tok, docs = tokenizer("byte gpt2"), ["the old man told the older tale\n" * 2000] * 60  # 3.8 MB
    limited: list[jeton.ProgressEvent] = []
    unlimited: list[jeton.ProgressEvent] = []
    limits = jeton.Limits(memory_limit=1 << 20, threads=1)
    found = jeton.measure(tok, docs, limits=limits, progress=limited.append)
    assert found == jeton.measure(tok, docs, progress=unlimited.append)
    assert len(limited) > len(unlimited)
    with pytest.raises(jeton.ConfigError, match="twice"):
        jeton.measure(tok, docs, limits=limits, threads=1)


def test_text_the_tokenizer_cannot_express() -> None:
    tok = jeton.train(["abc"], 5, level="char", progress=False)
    with pytest.raises(jeton.InvalidTextError):
        jeton.measure(tok, ["abcd"], progress=False)
