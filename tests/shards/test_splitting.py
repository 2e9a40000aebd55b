"""Parts of a corpus by a hash of the documents: each document is in one part, and stays there."""

from __future__ import annotations

import hashlib
import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.errors import ConfigError, ShardError
from jeton.shards.hashing import bounds_of
from jeton.shards.splitting import parts_of

from .conftest import EOS, facts_of, stored, texts
from .test_identity import IDS

PARTS = {"validation": 0.1, "test": 0.25}


def part_of(text: str) -> str:
    """The part of a document, computed plainly."""
    share = Fraction(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big"), 1 << 64)
    return "validation" if share < Fraction("0.1") else "test" if share < Fraction("0.35") else "train"


def make(corpus: Any, folder: Path, tok: jeton.Tokenizer, **options: Any) -> dict[str, jeton.shards.Report]:
    options = {"append_eos": True, "progress": False, "task_bytes": 4000, "validation": PARTS, **options}
    return jeton.shards.make_split(corpus, folder, tok, **options)


@pytest.mark.parametrize("format", IDS)
def test_each_document_is_in_its_part(format: str, corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    from jeton.corpus import open_corpus

    reports = make(corpus, tmp_path / "out", tok, format=format)
    documents = [document.data.decode() for document in open_corpus(corpus) if document.data]
    for part, report in reports.items():
        expected = [[*tok.encode(text), EOS] for text in documents if part_of(text) == part]
        assert stored(tmp_path / "out" / part) == expected
        assert report.documents == len(expected) > 0
    assert sum(report.documents for report in reports.values()) == len(documents)
    assert list(reports) == ["train", "validation", "test"]


@pytest.mark.parametrize("options", [{"shuffle": 5}, {"pack": 16, "packing": "best_fit"}, {"keep": ["id"]}])
def test_parts_are_ordinary_folders(
    options: dict[str, Any], corpus: Path, tok: jeton.Tokenizer, documents: list[list[int]], tmp_path: Path
) -> None:
    reports = make(corpus, tmp_path / "out", tok, format="bin", **options)
    for part in reports:
        found = jeton.shards.verify(tmp_path / "out" / part, progress=False)
        assert found.is_valid
        assert found.compared > 10
        assert jeton.shards.status(tmp_path / "out" / part).merged
    if "pack" not in options:
        together = [ids for part in reports for ids in stored(tmp_path / "out" / part)]
        assert sorted(together) == sorted(documents)
    first, second = (
        facts_of(tmp_path / "out" / part / "manifest.json")["hash_range"] for part in ("validation", "test")
    )
    assert (first[0], first[1], second[1]) == (0, second[0], int(Fraction("0.35") * (1 << 64)))


def test_documents_stay_when_the_corpus_grows_and_equal_ones_are_together(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    rng, before = random.Random(1), {}
    found = [text for text in texts(9, 300) if text]
    for run, number in enumerate((100, 200, 300)):
        rows = [*found[:number], *rng.choices(found[:number], k=50)]  # some documents occur twice
        rng.shuffle(rows)
        (tmp_path / f"{run}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in rows))
        make(tmp_path / f"{run}.jsonl", tmp_path / str(run), tok, format="bin")
        parts: dict[tuple[int, ...], str] = {}
        for part in ("train", "validation", "test"):
            for ids in stored(tmp_path / str(run) / part):
                assert parts.setdefault(tuple(ids), part) == part
        assert len(parts) == len(set(found[:number]))
        assert before.items() <= parts.items()
        before = parts


def test_a_larger_share_takes_documents_from_train_only(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    make(corpus, small, tok, validation=0.1)
    make(corpus, large, tok, validation=0.3)
    held = [{tuple(ids) for ids in stored(folder / "validation")} for folder in (small, large)]
    assert held[0] < held[1]
    with pytest.raises(ConfigError, match="was planned with hash_range"):
        make(corpus, small, tok, validation=0.3)


def test_conversations_and_counts_have_parts(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    chat_tok = tok.add_tokens(["<|im_start|>", "<|im_end|>"]).with_chat_template("chatml")
    rows = [{"messages": [{"role": "user", "content": text}]} for text in texts(3, 60)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    reports = make(tmp_path / "a.jsonl", tmp_path / "chat", chat_tok, chat=True, append_eos=False, format="bin")
    assert [report.documents > 0 for report in reports.values()] == [True, True, True]
    assert sum(report.documents for report in reports.values()) == 60
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts(3, 60))
    (tmp_path / "b.jsonl").write_text(lines)
    reports = make(tmp_path / "b.jsonl", tmp_path / "counts", None, append_eos=False, format="counts")  # type: ignore[arg-type]
    whole = jeton.count_pretokens(tmp_path / "b.jsonl")
    assert sum(report.tokens for report in reports.values()) == whole.total


def test_planned_parts_are_run_one_by_one(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    plans = jeton.shards.plan_split(corpus, tmp_path / "out", tok, validation=0.2, append_eos=True)
    for name, made in plans.items():
        jeton.shards.run(tmp_path / "out" / name, progress=False)
        assert made == jeton.shards.Plan.from_json(facts_of(tmp_path / "out" / name / "plan.json"))
        jeton.shards.merge(tmp_path / "out" / name)
    made = jeton.shards.make_split(
        corpus, tmp_path / "out", tok, validation=0.2, append_eos=True, progress=False, verify=False
    )
    assert list(made) == list(plans)


def test_parts_are_reported_at_a_url(corpus: Path, tok: jeton.Tokenizer) -> None:
    reports = make(corpus, "memory://bucket/split", tok, format="bin")  # type: ignore[arg-type]
    assert jeton.shards.report("memory://bucket/split/test") == reports["test"]


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        (0, "0 is not a share between 0 and 1"),
        (1.0, r"1\.0 is not a share between 0 and 1"),
        ({"validation": 0.5, "test": 0.5}, "its shares add up to 1, and leave nothing to 'train'"),
        ({"train": 0.5}, "has 'train', which is reserved for the remaining documents"),
        ({"../out": 0.5}, r"'\.\./out' is not the name of a folder"),
        ({}, "is not a share, or a mapping with one"),
        (True, "True is not a share between 0 and 1"),
    ],
)
def test_wrong_shares_are_refused(validation: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parts_of(validation)


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.5,), "01", (0, 2), (float("nan"), 1), (True, 1), (0, 1e-30)])
def test_wrong_ranges_are_refused(shares: Any) -> None:
    with pytest.raises(ConfigError, match="is not a pair of numbers from 0 to 1, the first of which is smaller"):
        bounds_of(shares)


def test_a_folder_with_shards_is_not_split(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    jeton.shards.plan(corpus, tmp_path / "out", tok)
    with pytest.raises(ConfigError, match="has shards of its own; pass another folder"):
        make(corpus, tmp_path / "out", tok)


def test_a_part_without_documents_of_an_input_is_valid(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """All valid records of a file with bad records may be in other parts."""
    for name in ("a", "b"):
        rows = [json.dumps({"text": f"{name} {number}"}) for number in range(4)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(["{", *rows]))
    corpus = jeton.Corpus([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], errors="skip")
    for task_bytes in (20, 10**6):
        reports = make(corpus, tmp_path / f"{task_bytes}", tok, validation=0.001, task_bytes=task_bytes)
        assert [(report.documents, report.num_skipped) for report in reports.values()] == [(8, 2), (0, 2)]
    (tmp_path / "b.jsonl").write_text("{\n{\n")
    with pytest.raises(ShardError, match=r"all 2 records of .*b\.jsonl are skipped"):
        make(corpus, tmp_path / "none", tok, validation=0.5)
