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

from .conftest import TABLES, WORDS, digest, rehash, stored, tables

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
    if format in TABLES:
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
        assert "differs from that of its source" in problems or "differ from those of their source" in problems


@pytest.mark.parametrize("format", ["bin", "parquet"])
@pytest.mark.parametrize("shuffle", [None, 5])
def test_packed_conversations_keep_ids_and_masks(
    format: str, shuffle: int | None, chats: tuple[Path, list[Messages]], chat_tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    corpus, messages = chats
    options: dict[str, Any] = {
        "format": format,
        "shuffle": shuffle,
        "pack": 64,
        "packing": "best_fit",
        "too_long": "cut",
    }
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
        joined = np.fromfile(tmp_path / "out" / "joined" / "joined.mask", np.uint8).tolist()
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


def test_bad_conversations_are_refused_or_skipped(chat_tok: jeton.Tokenizer, tmp_path: Path) -> None:
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


def test_a_column_of_strings_is_refused(chat_tok: jeton.Tokenizer, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"messages": ["low"]}), tmp_path / "a.parquet")
    with pytest.raises(FormatError, match="the column 'messages' is of type string, expected a list"):
        make(tmp_path / "a.parquet", tmp_path / "out", chat_tok)


def test_invalid_chat_options_are_refused(
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
        refused("needs a template with markers", tokenizer=tok.with_chat_template(unmarked), mask={"source": "markers"})
    refused("has no option 'roles'; options: turns, reasoning, stop, source", mask={"roles": 1})
    refused("turns of mask= is 'first'", mask={"turns": "first"})
    refused("mask= must be a mapping", mask="last")
    refused("too_long='half'", too_long="half", pack=64, packing="best_fit")
    refused("applies to rows with whole conversations", too_long="drop")
    refused("applies to rows with whole conversations", too_long="drop", pack=64)
    for option in ({"too_long": "drop"}, {"mask": {"stop": False}}):
        refused("is for conversations: pass chat=True", chat=False, **option)
    (tmp_path / "a.txt").write_text("low")
    refused(r"reads conversations from .jsonl, .*, \.arrow and \.tar, not from ", places=tmp_path / "a.txt")
    with pytest.raises(ConfigError, match="chat= applies to formats of ids"):
        jeton.shards.plan(corpus, tmp_path / "out", format="counts", chat=True)
    make(corpus, tmp_path / "made", chat_tok, verify=False)
    with pytest.raises(ConfigError, match="was planned with chat ") as caught:
        make(corpus, tmp_path / "made", tok.with_chat_template(TEMPLATE + "{{ '' }}"))
    assert caught.value.option == "chat"
    assert len(str(caught.value)) < 1000


UNMARKED = """\
{%- for message in messages %}
    {{- '<|begin|>' + message.role + '\\n' + message.content + '<|end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|begin|>assistant\\n' }}{% endif %}
"""


def test_replies_are_found_without_markers(
    chats: tuple[Path, list[Messages]], chat_tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    corpus, messages = chats
    tok = chat_tok.with_chat_template(UNMARKED)
    make(corpus, tmp_path / "out", tok)
    assert stored(tmp_path / "out") == [tok.chat(one, special="none").ids for one in messages]
    assert masks(tmp_path / "out", "bin") == [mask for _, mask in expected(chat_tok, messages)]
    make(corpus, tmp_path / "last", tok, mask={"turns": "last", "stop": False})
    made = [tok.chat(one, special="none").reply_mask("last", stop=False) for one in messages]
    assert masks(tmp_path / "last", "bin") == [list(map(int, mask)) for mask in made]
    assert jeton.shards.verify(tmp_path / "last", progress=False).is_valid
    hidden = tok.with_chat_template("{{ messages[0].content }}")
    with pytest.raises(FormatError, match=r"a\.jsonl:.*does not render the assistant's messages"):
        make(corpus, tmp_path / "hidden", hidden)


LONG = [
    [
        {"role": "user", "content": "low"},
        {"role": "assistant", "content": "new"},
        {"role": "user", "content": "low " * 9},
        {"role": "assistant", "content": "new " * 9},
        {"role": "user", "content": "low"},
        {"role": "assistant", "content": "new " * 40},
    ],
    [{"role": "user", "content": "low " * 90}, {"role": "assistant", "content": "new"}],
    [{"role": "user", "content": "low"}, {"role": "assistant", "content": "new"}],
]


@pytest.mark.parametrize("shuffle", [None, 3])
@pytest.mark.parametrize(
    ("policy", "kept", "counts"),
    [
        (None, [LONG[0][:4], LONG[2]], {"truncated": 1, "split": 0, "dropped": 1, "replies_dropped": 2}),
        ("drop", [LONG[2]], {"truncated": 0, "split": 0, "dropped": 2, "replies_dropped": 4}),
        (
            "split",
            [LONG[0][:4], LONG[0][4:], LONG[2]],
            {"truncated": 0, "split": 1, "dropped": 1, "replies_dropped": 1},
        ),
    ],
)
def test_conversations_longer_than_a_row_follow_the_policy(
    policy: str | None,
    kept: list[Messages],
    counts: dict[str, int],
    shuffle: int | None,
    chat_tok: jeton.Tokenizer,
    tmp_path: Path,
) -> None:
    tok = chat_tok.with_chat_template(UNMARKED)
    lengths = [len(tok.chat(one).ids) for one in (LONG[0][:4], LONG[0][4:])]
    row = max(lengths) + 4
    assert min(len(tok.chat(one).ids) for one in LONG[:2]) > row
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"messages": one}) + "\n" for one in LONG))
    options: dict[str, Any] = {"pack": row, "packing": "best_fit", "shuffle": shuffle, "too_long": policy}
    report = make(tmp_path / "a.jsonl", tmp_path / "out", tok, **options)
    rows = next(jeton.shards.open(tmp_path / "out").rows(len(kept)))
    assert rows.loss_mask is not None
    found = []
    for ids, mask in zip(rows.ids.tolist(), rows.loss_mask.tolist(), strict=True):
        at = 0
        for chat in (tok.chat(one, special="none") for one in kept):
            if ids[at : at + len(chat.ids)] == chat.ids and mask[at : at + len(chat.ids)] == list(map(int, chat.mask)):
                at += len(chat.ids)
                found.append(chat.ids)
        assert set(ids[at:]) <= {chat_tok.eos_id}
    assert sorted(found) == sorted(tok.chat(one).ids for one in kept)
    assert report.conversations == {"policy": policy or "truncate", "too_long": 2, **counts}
    assert jeton.shards.report(tmp_path / "out") == report
    dropped = counts["replies_dropped"]
    assert f"{dropped} {'reply is' if dropped == 1 else 'replies are'} left out" in report.to_markdown()
    assert report.documents == len(kept)
    assert jeton.shards.verify(tmp_path / "out", progress=False).is_valid
    make(tmp_path / "a.jsonl", tmp_path / "again", tok, workers=3, task_bytes=500, **options)
    assert jeton.shards.verify(tmp_path / "again", progress=False).is_valid
    assert jeton.shards.report(tmp_path / "again").conversations == report.conversations


def test_split_keeps_system_messages(chat_tok: jeton.Tokenizer, tmp_path: Path) -> None:
    tok = chat_tok.with_chat_template(UNMARKED)
    system = {"role": "system", "content": "est"}
    turns = [[{"role": "user", "content": "low " * 5}, {"role": "assistant", "content": f"new {n}"}] for n in range(6)]
    long = [system, *(message for turn in turns for message in turn)]
    row = len(tok.chat(long[:5]).ids) + 2
    (tmp_path / "a.jsonl").write_text(json.dumps({"messages": long}) + "\n")
    report = make(tmp_path / "a.jsonl", tmp_path / "out", tok, pack=row, packing="best_fit", too_long="split")
    assert (report.documents, report.conversations["replies_dropped"]) == (3, 0)  # type: ignore[index]
    parts = [[system, *long[start : start + 4]] for start in (1, 5, 9)]
    shard = jeton.shards.open(tmp_path / "out").shard(0)
    for number, part in enumerate(parts):
        ids = tok.chat(part, special="none").ids
        assert shard.tokens[number * row : number * row + len(ids)].tolist() == ids


def test_plans_of_older_versions_stay_valid(
    chats: tuple[Path, list[Messages]], chat_tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    """The digest of such a plan stays; a folder with cut conversations continues only with ``too_long="cut"``."""
    corpus, _ = chats
    options: dict[str, Any] = {"chat": True, "format": "bin"}
    assert "conversations" not in jeton.shards.plan(corpus, tmp_path / "a", chat_tok, **options).to_json()
    options |= {"pack": 64}
    assert "conversations" not in jeton.shards.plan(corpus, tmp_path / "b", chat_tok, **options).to_json()
    options |= {"packing": "best_fit"}
    old = jeton.shards.plan(corpus, tmp_path / "c", chat_tok, too_long="cut", **options)
    assert "conversations" not in old.to_json()
    with pytest.raises(ConfigError, match="was planned with too_long 'cut', but this call has 'truncate'"):
        jeton.shards.plan(corpus, tmp_path / "c", chat_tok, **options)
    assert jeton.shards.plan(corpus, tmp_path / "c", chat_tok, too_long="cut", **options).digest == old.digest
    with pytest.raises(ConfigError, match=r"was planned with mask \{\}, but this call has"):
        jeton.shards.plan(corpus, tmp_path / "c", chat_tok, too_long="cut", mask={"stop": False}, **options)
    new = jeton.shards.plan(corpus, tmp_path / "d", chat_tok, **options)
    facts = new.to_json()
    assert jeton.shards.Plan.from_json(facts) == new
    for wrong in ({}, {"too_long": "cut"}, {"mask": {"turns": "first"}}, {"more": 1}, []):
        with pytest.raises(FormatError, match="not a plan"):
            jeton.shards.Plan.from_json({**facts, "conversations": wrong})
    with pytest.raises(FormatError, match="without rows"):
        jeton.shards.Plan.from_json({name: value for name, value in facts.items() if name != "packing"})
    with pytest.raises(FormatError, match="not a plan"):
        jeton.shards.Plan.from_json({name: value for name, value in facts.items() if name != "chat"})


def test_a_broken_template_is_refused(
    chats: tuple[Path, list[Messages]], chat_tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    broken = chat_tok._with_facts(chat_template="{% generation %}{{ undefined_function() }}{% endgeneration %}")
    with pytest.raises(ChatTemplateError):
        jeton.shards.plan(chats[0], tmp_path / "out", broken, chat=True, format="bin")
