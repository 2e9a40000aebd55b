"""`compare_corpus`: equal to a plain implementation by the spans of the tokens."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import jeton
from tests.cli.conftest import Run, run  # noqa: F401  (a fixture)
from tests.material import CORPUS, TRICKY, byte_tokenizer, tokenizer
from tests.selection import amount

DOCS = [CORPUS, *TRICKY, "the old tale", "the older tales"]


def inner(spans: list[tuple[int, int]], size: int) -> set[int]:
    """Boundaries inside of a text."""
    return {at for span in spans for at in span} - {0, size}


def by_definition(toks: list[jeton.Tokenizer], docs: list[str]) -> tuple[np.ndarray, np.ndarray, Counter[bytes]]:
    """Shared boundaries, shared tokens, and passages."""
    size = len(toks)
    boundaries, tokens = np.zeros((size, size), int), np.zeros((size, size), int)
    passages: Counter[bytes] = Counter()
    for doc in docs:
        data = doc.encode()
        spans = [
            [each.byte_span for each in tok.tokenize(doc) if each.byte_span[0] < each.byte_span[1]] for tok in toks
        ]
        inside = [inner(each, len(data)) for each in spans]
        for row in range(size):
            for column in range(size):
                boundaries[row, column] += len(inside[row] & inside[column])
                tokens[row, column] += sum((Counter(spans[row]) & Counter(spans[column])).values())
        common = sorted(set.intersection(*inside) | {0, len(data)})
        for start, end in pairwise(common):
            if any(start < at < end for each in inside for at in each):
                passages[data[start:end]] += 1
    return boundaries, tokens, passages


@pytest.mark.parametrize("threads", [1, 3])
def test_counts_equal_the_definition(threads: int) -> None:
    toks = {kind: tokenizer(kind) for kind in ("byte o200k", "byte gpt2", "byte whitespace")} | {
        "bytes": byte_tokenizer()
    }
    found = jeton.compare_corpus(toks, DOCS, threads=threads, progress=False)
    boundaries, tokens, passages = by_definition(list(toks.values()), DOCS)
    assert (found.boundaries == boundaries).all()
    assert (found.equal_tokens == tokens).all()
    assert (found.passages, found.passage_bytes) == (passages.total(), sum(len(p) * n for p, n in passages.items()))
    expected = sorted(((p, n) for p, n in passages.items() if len(p) <= 64), key=lambda each: (-each[1], each[0]))
    assert [(each.text, each.occurrences) for each in found.differences] == expected
    assert (found.documents, found.bytes) == (len(DOCS), len("".join(DOCS).encode()))
    for index, tok in enumerate(toks.values()):
        ids = [id for doc in DOCS for id in tok.encode(doc)]
        assert found.frequencies[index].tolist() == np.bincount(ids).tolist()
        assert found.tokens[index] == len(ids)


def test_counts_of_every_model_equal_the_definition(kind: str) -> None:
    toks = [tokenizer(kind), tokenizer("byte o200k")]
    docs = [doc for doc in (CORPUS, "the old tale", "今天的天气") if toks[0].tokenize(doc) is not None]
    found = jeton.compare_corpus(toks, docs, progress=False)
    boundaries, tokens, passages = by_definition(toks, docs)
    assert (found.boundaries == boundaries).all()
    assert (found.equal_tokens == tokens).all()
    assert found.passages == passages.total()


def test_counts_of_random_texts_equal_the_definition() -> None:
    rng = random.Random(7)
    pieces = [*TRICKY, *CORPUS.split(" ")]
    toks = [tokenizer("byte o200k"), tokenizer("byte gpt4")]
    for _ in range(amount(200, default=20)):
        docs = ["".join(rng.choices(pieces, k=rng.randrange(5))) for _ in range(3)]
        found = jeton.compare_corpus(toks, docs, progress=False)
        boundaries, tokens, passages = by_definition(toks, docs)
        assert (found.boundaries == boundaries).all()
        assert (found.equal_tokens == tokens).all()
        assert found.passages == passages.total()


def test_equal_tokenizers_agree() -> None:
    tok = tokenizer("byte o200k")
    found = jeton.compare_corpus({"a": tok, "b": tok}, DOCS, progress=False)
    assert found.agreement("a", "b") == found.token_agreement("a", "b") == found.vocab_overlap("a", "b") == 1.0
    assert found.passages == 0
    assert found.differences == []
    empty = jeton.compare_corpus({"a": tok, "b": tok}, [""], progress=False)
    assert empty.agreement("a", "b") == 1.0
    assert empty.renyi_efficiency("a") == 0.0


def test_renyi_efficiency_and_vocabulary_overlap_equal_plain_python() -> None:
    tok = byte_tokenizer()
    found = jeton.compare_corpus({"bytes": tok, "trained": tokenizer("byte o200k")}, ["aab"], progress=False)
    entries = np.log(len(tok))
    shares = np.array([2 / 3, 1 / 3])
    assert found.renyi_efficiency("bytes", 1) == pytest.approx(-(shares * np.log(shares)).sum() / entries)
    assert found.renyi_efficiency("bytes", 2) == pytest.approx(-np.log((shares**2).sum()) / entries)
    contents = [{each.vocab[id] for id in each.vocab} for each in found.toks]
    shared = len(contents[0] & contents[1])
    assert found.shared_entries.tolist() == [[len(contents[0]), shared], [shared, len(contents[1])]]
    assert found.used_entries("bytes") == 2
    with pytest.raises(jeton.ConfigError, match="order=0"):
        found.renyi_efficiency("bytes", 0)
    with pytest.raises(jeton.ConfigError, match="'x' is not one of the tokenizers: bytes, trained"):
        found.agreement("x", "bytes")


def test_text_that_cannot_be_encoded_names_the_tokenizer() -> None:
    char = jeton.train(["low lower"], 9, level="char", progress=False)
    with pytest.raises(jeton.InvalidTextError, match="tokenizer narrow: "):
        jeton.compare_corpus({"bytes": byte_tokenizer(), "narrow": char}, ["low", "\U0001f9ff"], progress=False)


def test_the_command_prints_json_and_writes_a_plot(run: Run, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "a.txt").write_text(CORPUS, encoding="utf-8")
    path = tmp_path / "bytes.json"
    byte_tokenizer().save(path)
    facts = json.loads(
        run("compare-corpus", "-t", path, "-t", "default", tmp_path / "a.txt", "--json", "--top", 3).text
    )
    assert len(facts["differences"]) == 3
    assert facts["agreement"][0][0] == 1.0
    text = run("compare-corpus", "-t", path, "-t", "default", tmp_path / "a.txt", "--top", 2).text
    assert text.splitlines()[0].startswith("tokenizer")
    assert text.count("×") == 2
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    assert run("compare-corpus", "-t", path, "-t", path, tmp_path / "a.txt", "--plot", tmp_path / "p.svg").code == 0
    assert (tmp_path / "p.svg").read_bytes().startswith(b"<?xml")
