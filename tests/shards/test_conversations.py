"""Conversations as documents: ids and loss mask of `tok.chat`, in each format that has a mask."""

from __future__ import annotations

import gzip
import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.errors import ChatTemplateError, ConfigError, FormatError
from jeton.shards.layouts import LAYOUTS

from .conftest import WORDS, digest, rehash, stored, tables

TEMPLATE = """\
{%- for message in messages %}
    {%- if message.role == 'assistant' %}
        {{- '<|begin|>assistant\\n' }}{% generation %}{{ message.content + '<|end|>' }}{% endgeneration %}{{ '\\n' }}
    {%- elif message.role == 'user' %}
        {{- '<|begin|>user\\n' + message.content + '<|end|>\\n' }}
    {%- else %}
        {{- raise_exception('no role ' + message.role) }}
    {%- endif %}
{%- endfor %}
"""
MASKED = [name for name, layout in LAYOUTS.items() if layout.can_mask]
Messages = list[dict[str, str]]


@pytest.fixture(scope="session")
def chat_tok(tok: jeton.Tokenizer) -> jeton.Tokenizer:
    pytest.importorskip("jinja2")
    return tok.with_chat_template(TEMPLATE)


def conversations(seed: int, number: int) -> list[Messages]:
    rng = random.Random(seed)
    roles = ("user", "assistant")
    return [
        [{"role": roles[turn % 2], "content": " ".join(rng.choices(WORDS, k=5))} for turn in range(rng.randrange(1, 5))]
        for _ in range(number)
    ]


@pytest.fixture
def chats(tmp_path: Path) -> tuple[Path, list[Messages]]:
    """A folder with rows, compressed rows and a table, and their conversations."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path / "chats"
    folder.mkdir()
    parts = [conversations(seed, number) for seed, number in ((1, 20), (2, 6), (3, 12))]
    rows = ["".join(json.dumps({"id": 1, "messages": one}) + "\n" for one in part) for part in parts[:2]]
    (folder / "a.jsonl").write_text(rows[0])
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(rows[1].encode()))
    table = pa.table({"messages": [[{**message, "name": None} for message in one] for one in parts[2]]})
    pq.write_table(table, folder / "c.parquet", row_group_size=4)
    return folder, [one for part in parts for one in part]


def make(corpus: Any, folder: Path, tok: jeton.Tokenizer, **options: Any) -> jeton.shards.Report:
    options = {"chat": True, "progress": False, "task_bytes": 3000, "format": "bin", "verify": False, **options}
    return jeton.shards.make(corpus, folder, tok, **options)


def expected(tok: jeton.Tokenizer, messages: list[Messages]) -> list[tuple[list[int], list[int]]]:
    made = [tok.chat(one, special="none") for one in messages]
    return [(one.ids, [int(value) for value in one.mask or ()]) for one in made]


def masks(folder: Path, format: str) -> list[list[int]]:
    """The loss mask of each document."""
    if format in ("parquet", "arrow"):
        return [row for table in tables(folder) for row in table["loss_mask"].to_pylist()]
    found = []
    suffix = ".ds.loss" if format == "datatrove" else ".mask"
    dataset = jeton.shards.open(folder)
    for number in range(dataset.num_shards):
        shard = dataset.shard(number)
        mask = np.fromfile(folder / f"shard-{number:05}{suffix}", np.bool_).astype(int).tolist()
        ends = [0, *shard.ends.tolist()]
        found += [mask[start:end] for start, end in pairwise(ends)]
    return found


@pytest.mark.parametrize("format", MASKED)
def test_ids_and_mask_are_those_of_chat(
    format: str, chats: tuple[Path, list[Messages]], chat_tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    corpus, messages = chats
    report = make(corpus, tmp_path / "out", chat_tok, format=format, workers=2)
    documents = expected(chat_tok, messages)
    assert stored(tmp_path / "out") == [ids for ids, _ in documents]
    assert masks(tmp_path / "out", format) == [mask for _, mask in documents]
    texts = [chat_tok.chat(one, tokenize=False) for one in messages]
    assert (report.documents, report.bytes) == (len(messages), sum(len(text.encode()) for text in texts))
    spelled = sum(message["content"].count("<|end|>") for one in messages for message in one)
    assert report.special == {"<|end|>": spelled}
    found = jeton.shards.verify(tmp_path / "out", progress=False)
    assert (found.is_valid, found.compared > 10, found.decoded) == (True, True, 0)


def test_a_mask_that_is_not_that_of_the_source(
    chats: tuple[Path, list[Messages]], chat_tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    for options in ({}, {"shuffle": 1}):
        folder = tmp_path / f"out-{len(options)}"
        make(chats[0] / "a.jsonl", folder, chat_tok, **options)
        path = folder / "shard-00000.mask"
        path.write_bytes(bytes(path.stat().st_size))
        rehash(folder, path.name)
        problems = "; ".join(jeton.shards.verify(folder, progress=False).problems)
        assert "not that of its source" in problems or "not those of their source" in problems


@pytest.mark.parametrize("format", ["bin", "parquet"])
@pytest.mark.parametrize("shuffle", [None, 5])
def test_packed_conversations(
    format: str, shuffle: int | None, chats: tuple[Path, list[Messages]], chat_tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    corpus, messages = chats
    options: dict[str, Any] = {"format": format, "shuffle": shuffle, "pack": 64, "packing": "best_fit"}
    make(corpus, tmp_path / "out", chat_tok, join=format == "bin", **options)
    if format == "parquet":
        rows = [
            (ids, positions, mask)
            for table in tables(tmp_path / "out")
            for ids, positions, mask in zip(*(column.to_pylist() for column in table.columns), strict=True)
        ]
    else:
        rows = [
            (rows.ids[0].tolist(), rows.position_ids[0].tolist(), rows.loss_mask[0].tolist())  # type: ignore[index]
            for rows in jeton.shards.open(tmp_path / "out").rows()
        ]
        joined = np.fromfile(tmp_path / "out" / "joined.mask", np.uint8).tolist()
        assert joined == [value for _, _, mask in rows for value in mask]
    assert rows
    documents = expected(chat_tok, messages)
    short = {tuple(ids): mask for ids, mask in documents if len(ids) <= 64}
    found = 0
    for ids, positions, mask in rows:
        starts = [index for index, position in enumerate(positions) if position == 0]
        for start, end in zip(starts, [*starts[1:], 64], strict=True):
            own = tuple(ids[start:end])
            if set(own) == {chat_tok.eos_id}:
                assert not any(mask[start:end])
            elif own in short:
                assert mask[start:end] == short[own]
                found += 1
    assert found == sum(len(ids) <= 64 for ids, _ in documents)
    assert sum(sum(mask) for _, _, mask in rows) == sum(sum(mask) for _, mask in documents)


def test_bad_conversations(chat_tok: jeton.Tokenizer, tmp_path: Path) -> None:
    good = json.dumps({"messages": [{"role": "user", "content": "low"}]})
    bad = {
        5: json.dumps({"messages": [{"role": "system", "content": "low"}]}),
        70: json.dumps({"messages": []}),
        71: json.dumps({"messages": "low"}),
        72: json.dumps({"text": "low"}),
        73: "nonsense",
        150: json.dumps({"messages": [{"role": "system", "content": "new"}]}),
    }
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(bad.get(line, good) for line in range(1, 201)))
    (tmp_path / "b.jsonl").write_text(f"{good}\n" * 150 + bad[5])
    with pytest.raises(FormatError, match=r"b\.jsonl:151: .*no role system"):
        make(tmp_path / "b.jsonl", tmp_path / "strict", chat_tok, task_bytes=1000)
    corpus = jeton.Corpus(path, errors="skip")
    report = make(corpus, tmp_path / "skip", chat_tok, task_bytes=1000)
    assert report.skipped == {
        "conversation that the template refuses": (3, tuple(f"{path}:{line}" for line in (5, 70, 150))),
        "without a list in 'messages'": (1, (f"{path}:71",)),
        "without the field 'messages'": (1, (f"{path}:72",)),
        "not a JSON row": (1, (f"{path}:73",)),
    }
    assert (report.documents, report.empty) == (194, 0)
    make(corpus, tmp_path / "again", chat_tok, workers=3, task_bytes=1000)
    assert digest(tmp_path / "skip") == digest(tmp_path / "again")
    with pytest.raises(FormatError, match="no field 'other'"):
        make(jeton.Corpus(path, field="other"), tmp_path / "field", chat_tok)


def test_a_table_without_conversations(chat_tok: jeton.Tokenizer, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"messages": ["low"]}), tmp_path / "a.parquet")
    with pytest.raises(FormatError, match="the column 'messages' is of type string, expected a list"):
        make(tmp_path / "a.parquet", tmp_path / "out", chat_tok)


def test_what_cannot_be_chats(
    chats: tuple[Path, list[Messages]], tok: jeton.Tokenizer, chat_tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    corpus, _ = chats

    def refused(match: str, places: Any = corpus, tokenizer: Any = chat_tok, **options: Any) -> None:
        with pytest.raises(ConfigError, match=match):
            jeton.shards.plan(places, tmp_path / "out", tokenizer, **{"chat": True, "format": "bin", **options})
        assert not (tmp_path / "out").exists()

    refused("not supported for format 'megatron', which has no loss mask; bin, llmc", format="megatron")
    refused("the chat template writes bos and eos", append_eos=True)
    refused("the chat template writes bos and eos", prepend_bos="<|begin|>")
    refused("the tokenizer has no; tok.with_chat_template", tokenizer=tok)
    refused("has several", tokenizer=tok.with_chat_template({"a": TEMPLATE, "b": TEMPLATE}))
    for unmarked in ("{{ messages[0].content }}", "{# {% generation %} #}{{ messages[0].content }}"):
        refused("marks what the model generates", tokenizer=tok.with_chat_template(unmarked))
    (tmp_path / "a.txt").write_text("low")
    refused("reads conversations from .jsonl, .ndjson and .parquet, not from ", places=tmp_path / "a.txt")
    with pytest.raises(ConfigError, match="chat= is for formats of ids"):
        jeton.shards.plan(corpus, tmp_path / "out", format="counts", chat=True)
    make(corpus, tmp_path / "made", chat_tok, verify=False)
    with pytest.raises(ConfigError, match="was planned with chat ") as caught:
        make(corpus, tmp_path / "made", tok.with_chat_template(TEMPLATE + "{{ '' }}"))
    assert caught.value.option == "chat"
    assert len(str(caught.value)) < 1000


def test_a_broken_template(chats: tuple[Path, list[Messages]], chat_tok: jeton.Tokenizer, tmp_path: Path) -> None:
    broken = chat_tok._with_facts(chat_template="{% generation %}{{ undefined_function() }}{% endgeneration %}")
    with pytest.raises(ChatTemplateError):
        jeton.shards.plan(chats[0], tmp_path / "out", broken, chat=True, format="bin")
