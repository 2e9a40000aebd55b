"""`encode_arrow` and `map_dataset`: equal to `encode_batch`, for every kind of Arrow data."""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import jeton
from jeton.errors import ConfigError, FormatError, InvalidTextError
from jeton.integrations import arrow

TEXTS = ["to be", "", "naïve 一枚筹码 <|endoftext|>", "a\nb", "x" * 1000]


@pytest.fixture(scope="module")
def tok() -> jeton.Tokenizer:
    return jeton.default()


def _fails(batch: object, **options: object) -> None:
    raise AssertionError("a batch is encoded again")


def expected(tok: jeton.Tokenizer, texts: list[str | None], after: tuple[int, ...] = ()) -> list[list[int] | None]:
    return [None if text is None else [*tok.encode(text, special="none"), *after] for text in texts]


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.dictionary(pa.int32(), pa.string())],
    ids=str,
)
def test_each_type_of_text(tok: jeton.Tokenizer, kind: pa.DataType) -> None:
    for texts in (TEXTS, [*TEXTS, None, "after"], [None, None], []):
        column = pa.array(texts, pa.large_binary() if pa.types.is_large_binary(kind) else pa.string()).cast(kind)
        found = jeton.encode_arrow(pa.record_batch({"text": column}), tok, append_eos=True)
        assert isinstance(found, pa.RecordBatch)
        assert found.schema.names == ["input_ids"]
        assert found.schema.field("input_ids").type == pa.list_(pa.int32())
        assert found["input_ids"].to_pylist() == expected(tok, texts, (tok.eos_id or 0,))
        found["input_ids"].validate(full=True)


def test_slices_of_arrays_are_encoded(tok: jeton.Tokenizer) -> None:
    """Offsets of a slice do not begin at 0."""
    column = pa.array(["left out", *TEXTS, None, "left out"])
    batch = pa.record_batch({"text": column}).slice(1, len(TEXTS) + 1)
    assert jeton.encode_arrow(batch, tok)["input_ids"].to_pylist() == expected(tok, [*TEXTS, None])


@pytest.mark.parametrize("size", [1, 7, 1 << 28])
def test_tables_have_chunks_of_limited_size(tok: jeton.Tokenizer, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow, "SLICE_BYTES", size)
    column = pa.chunked_array([TEXTS, [], ["one", None]])
    table = pa.table({"id": pa.chunked_array([range(4), range(4, 7)]), "text": column})
    found = jeton.encode_arrow(table, tok, keep=["id"])
    assert isinstance(found, pa.Table)
    assert found.schema.names == ["id", "input_ids"]
    assert found["id"].to_pylist() == list(range(7))
    assert found["input_ids"].to_pylist() == expected(tok, [*TEXTS, "one", None])
    assert jeton.encode_arrow(table.slice(0, 0), tok)["input_ids"].to_pylist() == []
    batch = table.combine_chunks().to_batches()[0]
    assert jeton.encode_arrow(batch, tok)["input_ids"].to_pylist() == found["input_ids"].to_pylist()


def test_a_pickled_partial_maps_batches(tok: jeton.Tokenizer) -> None:
    """Ray Data's `map_batches` and PySpark's `mapInArrow` call it so, in another process."""
    mapped = partial(jeton.encode_arrow, tok=tok, column="body", prepend_bos="<|endoftext|>")
    encode = pickle.loads(pickle.dumps(mapped))
    batches = [pa.record_batch({"body": texts}) for texts in (TEXTS, ["one"])]
    found = list(encode(iter(batches)))
    bos = tok.special_tokens["<|endoftext|>"]
    for batch, ids in zip(batches, found, strict=True):
        plain = expected(tok, batch["body"].to_pylist())
        assert ids["input_ids"].to_pylist() == [[bos, *own] for own in plain if own is not None]


def test_large_lists_have_64_bit_offsets(tok: jeton.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = pa.record_batch({"text": [*TEXTS, None]})
    found = jeton.encode_arrow(batch, tok, large_list=True, output="ids")
    assert found.schema.field("ids").type == pa.large_list(pa.int32())
    assert found["ids"].to_pylist() == expected(tok, [*TEXTS, None])
    monkeypatch.setattr(arrow, "SLICE_BYTES", 1)
    monkeypatch.setattr(arrow, "MAX_OFFSET", tok.vocab_size)
    many = pa.record_batch({"text": ["ab " * 20_000] * 4})
    with pytest.raises(FormatError, match="pass large_list=True, a table, or smaller batches"):
        jeton.encode_arrow(many, tok)
    jeton.encode_arrow(pa.Table.from_batches([many]), tok)
    jeton.encode_arrow(many, tok, large_list=True)


def test_invalid_text_names_the_row(tok: jeton.Tokenizer) -> None:
    table = pa.table({"text": pa.chunked_array([[b"one", None], [b"caf\xe9"]], pa.binary())})
    with pytest.raises(InvalidTextError, match="row 2: byte 3 is not valid UTF-8") as raised:
        jeton.encode_arrow(table, tok)
    assert (raised.value.position, raised.value.source) == (3, "row 2")
    letters = jeton.Tokenizer.from_merges({98: b"b"}, [])
    with pytest.raises(InvalidTextError, match="row 1: "):
        jeton.encode_arrow(pa.table({"text": ["b", "ab"]}), letters)


def test_wrong_arguments_are_refused(tok: jeton.Tokenizer) -> None:
    batch = pa.record_batch({"text": ["a"], "id": [1]})
    for options, error, words in [
        ({"column": "txt"}, FormatError, "no column 'txt'"),
        ({"column": "id"}, FormatError, "is of type int64, expected a string"),
        ({"keep": ["number"]}, FormatError, "no column 'number'.*keep="),
        ({"keep": ["id", "id"]}, ConfigError, "names a column twice"),
        ({"keep": ["input_ids"]}, ConfigError, "or the output 'input_ids'"),
        ({"append_eos": "<x>"}, ConfigError, "append_eos='<x>' is not a special token"),
    ]:
        with pytest.raises(error, match=words):
            jeton.encode_arrow(batch, tok, **options)
    with pytest.raises(ConfigError, match="is not a pyarrow RecordBatch or Table"):
        jeton.encode_arrow(["a"], tok)


def shared_offsets(data: bytes, kind: pa.DataType) -> tuple[pa.Array, Any]:
    """Three strings, and their offsets to be damaged later, because pyarrow checks some offsets in new batches."""
    offsets = np.array([0, 1, 2, 3], np.int32 if kind in (pa.string(), pa.binary()) else np.int64)
    return pa.Array.from_buffers(kind, 3, [None, pa.py_buffer(offsets), pa.py_buffer(data)]), offsets


@pytest.mark.parametrize("wrong", [[0, 3, 2, 6], [1, 2, 3, 9], [0, -4, 2, 6], [0, 2, 4, 1 << 30]], ids=str)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()], ids=str)
def test_offsets_are_checked_before_the_text_is_read(kind: pa.DataType, wrong: list[int], tok: jeton.Tokenizer) -> None:
    for keep in ([], ["kept"]):
        array, offsets = shared_offsets(b"abcdef", kind)
        batch = pa.record_batch({"text": ["a", "b", "c"], "kept": array} if keep else {"text": array})
        data = [batch, batch.slice(1), pa.table({name: batch[name] for name in batch.schema.names})]
        offsets[:] = wrong
        for one in data:
            with pytest.raises(FormatError, match="the Arrow data is not valid"):
                jeton.encode_arrow(one, tok, keep=keep)
        with pytest.raises(FormatError, match="the Arrow data is not valid"):
            list(jeton.encode_arrow(iter([batch]), tok, keep=keep))


def test_a_dictionary_is_checked(tok: jeton.Tokenizer) -> None:
    indices = np.zeros(2, np.int32)
    numbers = pa.Array.from_buffers(pa.int32(), 2, [None, pa.py_buffer(indices)])
    values, offsets = shared_offsets(b"abc", pa.string())
    batch = pa.record_batch({"text": pa.DictionaryArray.from_arrays(numbers, values)})
    assert jeton.encode_arrow(batch, tok)["input_ids"].to_pylist() == expected(tok, ["a", "a"])
    for shared, wrong in ((indices, [0, 7]), (offsets, [0, 1, 9, 3])):
        before = shared.copy()
        shared[:] = wrong
        with pytest.raises(FormatError, match="the Arrow data is not valid"):
            jeton.encode_arrow(batch, tok)
        shared[:] = before


def test_text_that_is_not_utf_8_may_be_kept(tok: jeton.Tokenizer) -> None:
    text = pa.array([b"a", b"\xff"]).view(pa.string())
    with pytest.raises(InvalidTextError, match="row 1: byte 0 is not valid UTF-8"):
        jeton.encode_arrow(pa.record_batch({"text": text}), tok)
    batch = pa.record_batch({"text": ["a", "b"], "kept": text})
    assert jeton.encode_arrow(batch, tok, keep=["kept"])["kept"].equals(text)


class TestDatasets:
    @pytest.fixture
    def datasets(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        module = pytest.importorskip("datasets", reason="the package datasets is not installed")
        monkeypatch.setattr(module.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
        module.disable_progress_bars()
        yield module
        module.enable_progress_bars()

    @pytest.fixture
    def rows(self, datasets: Any, tmp_path: Path) -> Any:
        """A dataset of a file: one in memory is not cached."""
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"text": TEXTS * 3, "id": range(15)}), tmp_path / "rows.parquet")
        return datasets.Dataset.from_parquet(str(tmp_path / "rows.parquet"), cache_dir=str(tmp_path / "cache"))

    def test_datasets_are_mapped_to_ids(self, datasets: Any, rows: Any, tok: jeton.Tokenizer) -> None:
        found = jeton.map_dataset(rows, tok, keep=["id"], batch_rows=4)
        assert found.column_names == ["id", "input_ids"]
        assert found.features["input_ids"] == datasets.List(datasets.Value("int32"))
        assert found["input_ids"][:] == expected(tok, TEXTS * 3)
        assert found["id"][:] == list(range(15))
        chosen = jeton.map_dataset(rows.select([3, 0]), tok, large_list=True)
        assert chosen["input_ids"][:] == expected(tok, [TEXTS[3], TEXTS[0]])
        assert chosen.features["input_ids"] == datasets.LargeList(datasets.Value("int32"))

    def test_a_repeated_call_is_read_from_the_cache(
        self, rows: Any, tok: jeton.Tokenizer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = jeton.map_dataset(rows, tok, append_eos=True)
        assert first.cache_files
        again = jeton.Tokenizer.from_bytes(tok.to_bytes())
        monkeypatch.setattr("jeton.integrations.datasets.encode_arrow", _fails)
        cached = jeton.map_dataset(rows, again, append_eos=True, threads=1, batch_rows=3)
        assert cached._fingerprint == first._fingerprint
        assert cached.cache_files == first.cache_files
        assert cached["input_ids"][:] == first["input_ids"][:]
        monkeypatch.undo()
        others = [
            jeton.map_dataset(rows, tok),
            jeton.map_dataset(rows, tok, append_eos=True, output="ids"),
            jeton.map_dataset(rows.select([1, 2]), tok, append_eos=True),
            jeton.map_dataset(rows, tok.with_roles(eos=None), append_eos="<|endoftext|>"),
        ]
        assert len({first._fingerprint, *(other._fingerprint for other in others)}) == 5

    def test_streams_and_dictionaries_are_mapped(self, datasets: Any, rows: Any, tok: jeton.Tokenizer) -> None:
        stream = jeton.map_dataset(rows.to_iterable_dataset(), tok, keep=["id"], batch_rows=4)
        assert [row["input_ids"] for row in stream] == expected(tok, TEXTS * 3)
        assert [row["id"] for row in stream] == list(range(15))
        both = jeton.map_dataset(datasets.DatasetDict(train=rows, test=rows.select([0])), tok)
        assert isinstance(both, datasets.DatasetDict)
        assert both["test"]["input_ids"][:] == expected(tok, TEXTS[:1])

    def test_wrong_arguments_are_refused(self, rows: Any, tok: jeton.Tokenizer) -> None:
        with pytest.raises(ConfigError, match="is not a Dataset, an IterableDataset"):
            jeton.map_dataset([{"text": "a"}], tok)
        with pytest.raises(ConfigError, match="keep='number' is not a column"):
            jeton.map_dataset(rows, tok, keep=["number"])
        with pytest.raises(FormatError, match="no column 'body'"):
            jeton.map_dataset(rows, tok, column="body")


CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def test_a_dataset_of_conversations_is_encoded(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    pytest.importorskip("jinja2")
    chat_tok = tok.add_tokens(["<|im_start|>", "<|im_end|>"]).with_chat_template(CHATML)
    turns = [{"role": "user", "content": "to be"}, {"role": "assistant", "content": "or not"}]
    rows = [
        turns,
        [*turns, {**turns[0], "content": "x " * 50}, turns[1]],
        [{"role": "user", "content": "y " * 80}, turns[1]],
    ]
    dataset = datasets.Dataset.from_dict({"messages": rows, "id": [1, 2, 3]})
    made = jeton.map_dataset(dataset, chat_tok, "messages", chat=True, mask={"stop": False})
    assert made.column_names == ["input_ids", "loss_mask"]
    for row, messages in zip(made, rows, strict=True):
        chat = chat_tok.chat(messages, special="none")
        assert (row["input_ids"], row["loss_mask"]) == (chat.ids, list(map(int, chat.reply_mask(stop=False))))
    short = chat_tok.chat(turns).ids
    for policy, expected_rows in (("truncate", [short, short]), ("drop", [short])):
        found = jeton.map_dataset(dataset, chat_tok, "messages", chat=True, max_length=40, too_long=policy)
        assert found["input_ids"][:] == expected_rows
    split = jeton.map_dataset(dataset, chat_tok, "messages", chat=True, max_length=70, too_long="split")
    assert split["input_ids"][:] == [short, short, chat_tok.chat(rows[1][2:]).ids]
    stream = jeton.map_dataset(dataset.to_iterable_dataset(), chat_tok, "messages", chat=True)
    assert [row["input_ids"] for row in stream] == [chat_tok.chat(one).ids for one in rows]
    with pytest.raises(ConfigError, match="is for conversations: pass chat=True"):
        jeton.map_dataset(dataset, chat_tok, "messages", max_length=40)
    with pytest.raises(ConfigError, match="append_eos= is not supported with chat=True"):
        jeton.map_dataset(dataset, chat_tok, "messages", chat=True, append_eos="<|im_end|>")
    with pytest.raises(ConfigError, match="has no option 'roles'"):
        jeton.map_dataset(dataset, chat_tok, "messages", chat=True, mask={"roles": 1})
