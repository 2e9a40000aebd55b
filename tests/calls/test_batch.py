"""`encode_batch` with its options and its result; `parity/test_batches_parity.py` compares them with transformers."""

from __future__ import annotations

import dataclasses
import json
import pickle
import random
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton.calls import truncation
from tests.selection import amount

from ..material import BYTE_KINDS, CORPUS, TRICKY, byte_strings, byte_tokenizer, texts, tokenizer
from ..timing import fastest

TEMPLATE = {
    "single": [{"ids": [1], "type_id": 0}, {"sequence": "A", "type_id": 0}, {"ids": [2], "type_id": 0}],
    "pair": [
        {"ids": [1], "type_id": 0},
        {"sequence": "A", "type_id": 0},
        {"ids": [2], "type_id": 0},
        {"sequence": "B", "type_id": 1},
        {"ids": [2], "type_id": 1},
    ],
}
BYTES = byte_tokenizer()
BERT = jeton.Tokenizer(dataclasses.replace(BYTES.definition, template=TEMPLATE), BYTES._core.vocabulary()).with_options(
    add_special_tokens=True
)


def shown(batch: jeton.TokenBatch) -> list[str]:
    """Rows as text: the template is ``[``, ``|``."""
    return [bytes(row.tolist()).decode().replace("\1", "[").replace("\2", "|") for row in batch]


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_pairs_have_the_template(kind: str) -> None:
    tok = tokenizer(kind)
    batch = tok.encode_batch(TRICKY, TRICKY[::-1], special="all")
    assert [row.tolist() for row in batch] == [
        tok.encode(text, pair, special="all") for text, pair in zip(TRICKY, TRICKY[::-1], strict=True)
    ]
    assert batch.overflow_to_sample_mapping is None


def test_type_ids_and_mask_are_those_of_tokenize() -> None:
    texts, pairs = ["abc", "", "d"], ["e", "fg", ""]
    for options in ({}, {"max_length": 100}, {"add_special_tokens": False}, {"max_length": 100, "overflow": True}):
        for batch, encodings in (
            (BERT.encode_batch(texts, **options), [BERT.tokenize(text, **_known(options)) for text in texts]),
            (
                BERT.encode_batch(texts, pairs, **options),
                [BERT.tokenize(text, pair, **_known(options)) for text, pair in zip(texts, pairs, strict=True)],
            ),
        ):
            assert batch.ids.tolist() == [id for encoding in encodings for id in encoding.ids]
            assert batch.type_ids.tolist() == [id for encoding in encodings for id in encoding.type_ids]
            mask = [added for encoding in encodings for added in encoding.special_tokens_mask]
            assert batch.special_tokens_mask.tolist() == mask
            assert (batch.ids.dtype, batch.offsets.dtype, batch.type_ids.dtype) == (np.uint32, np.int64, np.int64)
            if "overflow" in options:
                assert batch.overflow_to_sample_mapping is not None
                assert batch.overflow_to_sample_mapping.tolist() == [0, 1, 2]


def test_each_text_without_a_limit_is_a_row_of_its_own() -> None:
    for number in range(4):
        mapping = BERT.encode_batch(["ab"] * number, overflow=True).overflow_to_sample_mapping
        assert mapping is not None
        assert mapping.tolist() == [*range(number)]


def test_a_notebook_shows_24_ids_of_a_row() -> None:
    shown_ids = BYTES.encode_batch(["a" * 24, "b" * 25])._repr_html_()
    assert f"<td>{' '.join(['97'] * 24)}</td>" in shown_ids
    assert f"<td>{' '.join(['98'] * 24)} … 1 more</td>" in shown_ids


def _known(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name == "add_special_tokens"}


def test_a_text_that_is_twice_in_the_template() -> None:
    text = {"sequence": "A", "type_id": 0}
    template = {"single": [{"ids": [1], "type_id": 0}, text, text], "pair": TEMPLATE["pair"]}
    twice = jeton.Tokenizer(dataclasses.replace(BYTES.definition, template=template), BYTES._core.vocabulary())
    for overflow in (False, True):
        options = {"max_length": 9, "overflow": overflow}
        assert shown(twice.encode_batch(["ab"], add_special_tokens=True, **options)) == ["[abab"]
        assert shown(twice.encode_batch(["ab"], add_special_tokens=False, **options)) == ["ab"]


def test_a_cut_text_has_one_or_several_rows() -> None:
    assert shown(BERT.encode_batch(["abcdefg", "h"], max_length=5)) == ["[abc|", "[h|"]
    assert shown(BERT.encode_batch(["abcdefg", "h"], max_length=5, side="left")) == ["[efg|", "[h|"]
    assert shown(BERT.encode_batch(["ab", "c"], max_length=3)) == ["[a|", "[c|"]
    batch = BERT.encode_batch(["abcdefg", "h"], max_length=5, stride=1, overflow=True)
    assert shown(batch) == ["[abc|", "[cde|", "[efg|", "[h|"]
    assert batch.overflow_to_sample_mapping is not None
    assert batch.overflow_to_sample_mapping.tolist() == [0, 0, 0, 1]
    assert batch.overflow_to_sample_mapping.dtype == np.int64
    left = BERT.encode_batch(["abcdefg"], max_length=5, side="left", overflow=True)
    assert shown(left) == ["[efg|", "[bcd|", "[a|"]


def test_pairs_are_truncated_and_split_into_rows() -> None:
    def rows(**options: Any) -> list[str]:
        return shown(BERT.encode_batch(["abcdef"], ["xyz"], **options))

    assert rows(max_length=9) == ["[abc|xyz|"]
    assert rows(max_length=8) == ["[abc|xy|"]
    assert rows(max_length=7) == ["[ab|xy|"]
    assert rows(max_length=8, truncation="only_first") == ["[ab|xyz|"]
    assert rows(max_length=11, truncation="only_second") == ["[abcdef|xy|"]
    assert rows(max_length=3) == ["[||"]
    assert rows(max_length=7, overflow=True) == [
        "[ab|xy|",
        "[cd|xy|",
        "[cd|z|",
        "[ef|xy|",
        "[ef|z|",
        "[ab|z|",
    ]


def test_truncation_of_a_long_batch_does_not_depend_on_threads() -> None:
    tok = tokenizer("byte gpt2")
    texts = [CORPUS[start : start + 90] for start in range(0, 600, 7)] * 20
    expected = [tok.encode(text)[:11] for text in texts]
    for threads in (1, 2):
        batch = tok.encode_batch(texts, max_length=11, threads=threads)
        assert [row.tolist() for row in batch] == expected
    assert tok.decode_batch(batch)[3] == tok.decode(expected[3])


def test_a_batch_without_texts_is_empty() -> None:
    for batch in (
        BERT.encode_batch([]),
        BERT.encode_batch([], []),
        BERT.encode_batch([], max_length=5, overflow=True),
    ):
        assert len(batch) == 0
        assert batch.offsets.tolist() == [0]
        assert batch.to_dict()["input_ids"] == []
        assert batch.padded(pad_id=0).input_ids.shape == (0, 0)
        assert batch.padded(4, pad_id=0).input_ids.shape == (0, 4)


def test_a_template_without_items_gives_empty_rows() -> None:
    template = {"single": [], "pair": [{"ids": [7], "type_id": 3}]}
    tok = jeton.Tokenizer(dataclasses.replace(BYTES.definition, template=template), BYTES._core.vocabulary())
    for options in ({}, {"max_length": 4}):
        assert shown(tok.encode_batch(["ab", "c"], add_special_tokens=True, **options)) == ["", ""]
        assert tok.encode_batch(["ab"], ["c"], add_special_tokens=True, **options).type_ids.tolist() == [3]
        assert shown(tok.encode_batch(["ab", "c"], add_special_tokens=False, **options)) == ["ab", "c"]


# ── offsets ───────────────────────────────────────────────────────────────────────────────────────────────────────


def offsets_of(encodings: Iterable[jeton.Encoding]) -> list[list[int]]:
    return [list(span) for encoding in encodings for span in encoding.hf_offsets]


def columns_of(batch: jeton.TokenBatch) -> list[list[int]]:
    assert batch.hf_offsets is not None
    assert (batch.hf_offsets.dtype, batch.hf_offsets.shape) == (np.int64, (len(batch.ids), 2))
    found: list[list[int]] = batch.hf_offsets.tolist()
    return found


def test_offsets_are_those_of_tokenize(kind: str) -> None:
    tok = tokenizer(kind)
    for special in ("none", "all"):
        batch = tok.encode_batch(TRICKY, special=special, offsets=True)
        assert columns_of(batch) == offsets_of(tok.tokenize(text, special=special) for text in TRICKY)
        assert batch.ids.tolist() == tok.encode_batch(TRICKY, special=special).ids.tolist()
    pairs = tok.encode_batch(TRICKY, TRICKY[::-1], offsets=True, add_special_tokens=True)
    both = zip(TRICKY, TRICKY[::-1], strict=True)
    assert columns_of(pairs) == offsets_of(tok.tokenize(text, pair, add_special_tokens=True) for text, pair in both)


@settings(deadline=None)
@given(data=st.data())
def test_offsets_of_random_batches_equal_those_of_tokenize(kind: str, data: st.DataObject) -> None:
    tok = tokenizer(kind)
    some = data.draw(st.lists(texts(kind), max_size=4))
    if kind in BYTE_KINDS:
        some += data.draw(st.lists(byte_strings(kind), max_size=3))  # type: ignore[arg-type]
    assert columns_of(tok.encode_batch(some, offsets=True)) == offsets_of(tok.tokenize_batch(some))


@pytest.mark.parametrize(
    "name",
    [
        "mistral-v1.model",
        "phi-3-mini.tokenizer.json",
        "t5-small.tokenizer.json",
        "bert-uncased.vocab.txt",
        "mbart-en-fairseq.tokenizer.json",
        "spm-unigram-en.model",
    ],
)
def test_offsets_by_character_for_real_vocabularies(name: str, data: Path) -> None:
    """With normalizers that map each character to one, and with texts in which they do not."""
    tok, rng = jeton.load(data / "vocabs" / name), random.Random(name)
    odd = (
        *(" ", "  ", "\n", "\r\n", "▁", "▁▁", "é", "e\u0301", "ﬁ", "İ", "今", "😉", "[UNK]"),
        *("<0x41>", "</s>", "~", "\u00a0", "##a", ","),
    )
    some = []
    for _ in range(amount(400, default=80)):
        start = rng.randrange(len(CORPUS) - 1)
        some.append(rng.choice(("", *odd)) + CORPUS[start : start + rng.randrange(40)] + rng.choice(("", *odd)))
        some.append("".join(rng.choice((*odd, "the old tale")) for _ in range(rng.randrange(4))))
    assert columns_of(tok.encode_batch(some, offsets=True)) == offsets_of(tok.tokenize_batch(some))


WORD_PIECES = ["[UNK]", "a", "b", "##b", "##!", "##", "!", "##a!", "ab", "é", "##é", "#", ",", "##bab"]
WORD_LEVEL = {"type": "WordLevel", "unk_token": "[UNK]"}
WORD_PIECE = {
    "type": "WordPiece",
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 9,
}
MARKS = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
UNIGRAM = {
    "type": "Unigram",
    "unk_id": 0,
    "vocab": [
        ["<unk>", 0.0],
        *([piece, -2.0 - at / 9] for at, piece in enumerate(("▁", "a", "b", "▁a", "ab", "é", "!"))),
    ],
}


@pytest.mark.parametrize("model", [WORD_LEVEL, WORD_PIECE, UNIGRAM], ids=lambda model: model["type"])
@pytest.mark.parametrize("splitter", ["BertPreTokenizer", "WhitespaceSplit", "Whitespace"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_offsets_inside_words_equal_those_of_tokenize(model: dict[str, Any], splitter: str, lowercase: bool) -> None:
    """Covers unknown tokens, and pieces spelled like continuations of a word."""
    entries = model if "vocab" in model else {**model, "vocab": {piece: id for id, piece in enumerate(WORD_PIECES)}}
    parts = [{"type": splitter}, MARKS] if "vocab" in model else [{"type": splitter}]
    pretokenizer = {"type": "Sequence", "pretokenizers": parts}
    normalizer = {"type": "Lowercase"} if lowercase else None
    source = {"model": entries, "pre_tokenizer": pretokenizer, "normalizer": normalizer}
    tok, rng = jeton.Tokenizer.from_bytes(json.dumps(source).encode()), random.Random(splitter)
    alphabet = ("a", "b", "B", "#", "##", "!", " ", "  ", "é", "x", "今", ",", "\n", "▁", "ab")
    some = ["".join(rng.choices(alphabet, k=rng.randrange(9))) for _ in range(amount(3_000, default=300))]
    assert columns_of(tok.encode_batch(some, offsets=True)) == offsets_of(tok.tokenize_batch(some))


def test_offsets_of_added_tokens_with_white_space() -> None:
    tokens = [jeton.AddedToken("<l>", lstrip=True), jeton.AddedToken("<r>", rstrip=True), "<x>"]
    for special in (True, False):
        tok = tokenizer("byte gpt2").add_tokens(tokens, special=special)
        some = ["a  <l> <r>  é<x>", "<r> ", "  <l>", "<x><x> é", "the old"]
        for permitted in ("none", "all"):
            found = columns_of(tok.encode_batch(some, special=permitted, offsets=True))
            assert found == offsets_of(tok.tokenize(text, special=permitted) for text in some)


def trimming(*, add_prefix_space: bool) -> jeton.Tokenizer:
    """Byte-level BPE with a template that trims offsets."""
    template = {**TEMPLATE, "trim_offsets": True, "add_prefix_space": add_prefix_space}
    tok = tokenizer("byte gpt2").add_tokens(["é <x> "])
    definition = dataclasses.replace(tok.definition, template=template)
    return jeton.Tokenizer(definition, tok._core.vocabulary()).with_options(add_special_tokens=True, special="all")


@pytest.mark.parametrize("add_prefix_space", [True, False])
def test_trimmed_offsets_equal_those_of_tokenize(add_prefix_space: bool) -> None:
    tok = trimming(add_prefix_space=add_prefix_space)
    some = [*TRICKY, " the old é <x> é <x> tale  ", "  the"]
    for max_length in (None, 1000):  # nothing is cut
        found = columns_of(tok.encode_batch(some, offsets=True, max_length=max_length))
        assert found == offsets_of(map(tok.tokenize, some))
    batch = tok.encode_batch(["a the old the"], offsets=True, max_length=4, stride=1, overflow=True)
    spans = tok.tokenize("a the old the").hf_offsets[1:-1]
    assert len(spans) == 4
    rows = [columns_of(batch)[start + 1 : end - 1] for start, end in pairwise(batch.offsets.tolist())]
    kept = int(add_prefix_space)  # the first token of a row keeps the space before it, as in Hugging Face
    assert rows[1:] == [[[spans[at][0] - kept, spans[at][1]], list(spans[at + 1])] for at in (1, 2)]
    pairs = tok.encode_batch(["a"], ["a the old the"], max_length=6, stride=1, overflow=True, offsets=True)
    rows = [columns_of(pairs)[start:end] for start, end in pairwise(pairs.offsets.tolist())]
    assert [row[3:5] for row in rows[1:]] == [
        [[spans[at][0] - kept, spans[at][1]], list(spans[at + 1])] for at in (1, 2)
    ]


def test_offsets_of_overflowing_rows_are_those_in_the_text() -> None:
    batch = BERT.encode_batch(["äbcdefg", "h"], max_length=5, stride=1, overflow=True, offsets=True)
    assert len(batch) == 5
    rows = [columns_of(batch)[start:end] for start, end in pairwise(batch.offsets.tolist())]
    assert rows[0] == [[0, 0], [0, 1], [0, 1], [1, 2], [0, 0]]
    assert rows[1] == [[0, 0], [1, 2], [2, 3], [3, 4], [0, 0]]
    padded = batch.padded(pad_id=0)
    assert padded.offset_mapping is not None
    assert padded.offset_mapping.shape == (5, 5, 2)
    assert padded.offset_mapping[4].tolist() == [[0, 0], [0, 1], [0, 0], [0, 0], [0, 0]]
    assert list(padded)[-2:] == ["overflow_to_sample_mapping", "offset_mapping"]
    assert [row.tolist() for row in batch.to_dict()["offset_mapping"]] == rows
    assert pickle.loads(pickle.dumps(padded)) == padded
    empty = BERT.encode_batch([], offsets=True)
    assert columns_of(empty) == empty.to_dict()["offset_mapping"] == []
    assert "offset_mapping" not in BERT.encode_batch(["a"]).to_dict()
    with pytest.raises(jeton.ConfigError, match="offsets=1 is neither True nor False"):
        BERT.encode_batch(["a"], offsets=1)  # type: ignore[arg-type]


def test_offsets_of_truncated_rows_with_a_template() -> None:
    rows = BERT.encode_batch(["abcdef", "x"], max_length=4, offsets=True, overflow=True)
    assert shown(rows) == ["[ab|", "[cd|", "[ef|", "[x|"]
    inside = [[[0, 1], [1, 2]], [[2, 3], [3, 4]], [[4, 5], [5, 6]], [[0, 1]]]
    assert columns_of(rows) == [span for row in inside for span in [[0, 0], *row, [0, 0]]]


def test_offsets_do_not_depend_on_threads() -> None:
    tok = tokenizer("byte gpt2")
    some = [CORPUS[start : start + 900] for start in range(0, 600, 7)] * 20 + [CORPUS * 2_000]
    alone, two = (tok.encode_batch(some, threads=threads, offsets=True) for threads in (1, 2))
    assert np.array_equal(columns_of(alone), columns_of(two))
    whole = tok.tokenize(some[-1])
    assert columns_of(two)[-len(whole) :] == offsets_of([whole])


# ── tokenize_batch ────────────────────────────────────────────────────────────────────────────────────────────────


def test_tokenize_batch_equals_tokenize_of_each_text() -> None:
    assert BERT.tokenize_batch(["ab", "c"]) == [BERT.tokenize("ab"), BERT.tokenize("c")]
    assert BERT.tokenize_batch(["ab"], iter(["c"])) == [BERT.tokenize("ab", "c")]
    assert BERT.tokenize_batch([]) == BERT.tokenize_batch([], []) == []
    with pytest.raises(jeton.InvalidTextError, match=r"text 1 of the batch: .*surrogate") as caught:
        BERT.tokenize_batch(["a", "b\ud800"])
    assert (caught.value.index, caught.value.position) == (1, 1)
    with pytest.raises(jeton.SpecialTokenError, match=r"^the tokenizer has no special token"):
        BERT.tokenize_batch(["a"], special={"<x>"})


# ── decoding ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_batches_are_decoded_from_any_rows() -> None:
    tok = tokenizer("byte gpt2")
    some = ["the old tale", "", "今天 <|im_end|>", "é" * 9_000]
    batch = tok.encode_batch(some, special="all")
    rows = [row.tolist() for row in batch]
    for given_rows in (
        batch,
        rows,
        iter(rows),
        list(batch),
        [np.array(row, np.int64) for row in rows],
        map(tuple, rows),
    ):
        assert tok.decode_batch(given_rows) == some  # type: ignore[arg-type]
    assert tok.decode_batch(batch, skip_special_tokens=True)[2] == "今天 "
    assert tok.decode_batch(np.array([[104, 105], [105, 104]])) == ["hi", "ih"]
    assert tok.decode_bytes_batch(batch[:2]) == [text.encode() for text in some[:2]]
    assert tok.decode_batch(rows * 300, threads=2) == some * 300
    assert tok.decode_batch([]) == tok.decode_bytes_batch([]) == []
    part = dataclasses.replace(batch, offsets=batch.offsets[2:])
    assert tok.decode_batch(part) == some[2:]


def test_rows_that_are_not_utf8() -> None:
    rows = [[104], [0xE5, 0xB0], [0x8F]]
    assert BYTES.decode_batch(rows) == ["h", "\ufffd", "\ufffd"]
    assert BYTES.decode_batch(rows, invalid_utf8="ignore") == ["h", "", ""]
    assert BYTES.decode_bytes_batch(rows) == [b"h", b"\xe5\xb0", b"\x8f"]
    with pytest.raises(
        jeton.errors.DecodeError, match=r"^text 1 of the batch: the bytes of these ids are not UTF-8 at byte 0"
    ) as caught:
        BYTES.decode_batch(rows, invalid_utf8="strict")
    assert (caught.value.index, caught.value.position) == (1, 0)
    with pytest.raises(jeton.ConfigError, match="invalid_utf8='surrogateescape' is not"):
        BYTES.decode_batch(rows, invalid_utf8="surrogateescape")  # type: ignore[arg-type]


def test_decoding_names_the_row_and_position_of_an_unknown_id() -> None:
    batch = BYTES.encode_batch(["a", "bc"])
    wrong = dataclasses.replace(batch, ids=np.array([97, 98, 999], np.uint32))
    for rows, index, position, id in (
        ([[104], [105, 300]], 1, 1, 300),
        ([[104, 1 << 40], [105, 300]], 0, 1, 1 << 40),
        ([[], [-1]], 1, 0, -1),
        (wrong, 1, 1, 999),
    ):
        for decode in (BYTES.decode_batch, BYTES.decode_bytes_batch):
            with pytest.raises(
                jeton.UnknownTokenError, match=rf"^text {index} of the batch: id {id} at position"
            ) as caught:
                decode(rows)  # type: ignore[operator]
            assert (caught.value.index, caught.value.position, caught.value.id) == (index, position, id)
    for rows in ([["a"]], [[1.5]], [5], 5, ["ab"]):
        with pytest.raises(TypeError):
            BYTES.decode_batch(rows)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="offsets of a batch"):
        BYTES.decode_batch(dataclasses.replace(batch, offsets=np.array([0, 5])))


def test_bytes_of_tokens_join_to_the_text() -> None:
    tok = tokenizer("byte gpt2")
    ids = tok.encode("né the old<|im_end|>é", special="all")
    assert b"".join(tok.decode_tokens_bytes(ids)) == "né the old<|im_end|>é".encode()
    assert tok.decode_tokens_bytes(np.array(ids, np.uint32)) == [tok.id_to_bytes(id) for id in ids]
    assert tok.decode_tokens_bytes([]) == []
    for id in (9_999, -1, 1 << 40):
        with pytest.raises(jeton.UnknownTokenError, match=f"id {id} at position 1") as caught:
            tok.decode_tokens_bytes([97, id])
        assert caught.value.position == 1


def test_offsets_of_a_long_run_of_byte_pieces_take_linear_time() -> None:
    """The decoder holds back the whole run. Copying it for each id would take over ten seconds."""
    pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    decoder = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}
    model = {
        "type": "BPE",
        "vocab": {piece: id for id, piece in enumerate(pieces)},
        "merges": [],
        "byte_fallback": True,
    }
    tok = jeton.Tokenizer.from_bytes(json.dumps({"model": model, "decoder": decoder}).encode())
    ids = "中".encode() * 20_000 + b"\xe4"
    assert fastest(lambda: tok.decode_with_offsets(ids), 2) < 2
    text, starts = tok.decode_with_offsets(ids)
    assert text == "\ufffd" * 60_001  # Hugging Face replaces each byte of a run that is not UTF-8
    assert starts == [at // 3 for at in range(60_001)]


def test_decoding_gives_the_start_of_each_token() -> None:
    text, starts = BYTES.decode_with_offsets("aé中!".encode())
    assert (text, starts) == ("aé中!", [0, 1, 1, 2, 2, 2, 3])
    assert BYTES.decode_with_offsets([]) == ("", [])
    assert BYTES.decode_with_offsets([97, 0xE5, 98]) == ("a\ufffdb", [0, 1, 2])
    assert BYTES.decode_with_offsets([0xE5, 98], invalid_utf8="ignore") == ("b", [0, 0])
    with pytest.raises(jeton.errors.DecodeError):
        BYTES.decode_with_offsets([0xE5, 98], invalid_utf8="strict")
    with pytest.raises(jeton.ConfigError, match="invalid_utf8="):
        BYTES.decode_with_offsets([97], invalid_utf8="x")  # type: ignore[arg-type]
    with pytest.raises(jeton.UnknownTokenError, match="id 256 at position 1"):
        BYTES.decode_with_offsets([97, 256])
    tok = BYTES.add_tokens(["<|end|>"])
    assert tok.decode_with_offsets([97, 256, 98]) == ("a<|end|>b", [0, 1, 8])
    assert tok.decode_with_offsets([97, 256, 98], skip_special_tokens=True) == ("ab", [0, 1, 1])
    words = tokenizer("words suffix")
    assert words.decode_with_offsets(words.encode("the old"))[1][0] == 0


def test_offsets_of_a_sequence_are_those_of_tiktoken() -> None:
    tiktoken = pytest.importorskip("tiktoken")
    tok = tokenizer("byte o200k")
    ranks = {content: id for id, content in tok.vocab.items() if id not in tok.special_tokens.values()}
    peer = tiktoken.Encoding("small", pat_str=r"[\s\S]+", mergeable_ranks=ranks, special_tokens={})  # only decodes
    for text in (*TRICKY, CORPUS):
        ids = tok.encode(text)
        assert tok.decode_with_offsets(ids) == peer.decode_with_offsets(ids)
        assert tok.decode_tokens_bytes(ids) == peer.decode_tokens_bytes(ids)


# ── lone surrogates ───────────────────────────────────────────────────────────────────────────────────────────────


def test_surrogates_are_replaced() -> None:
    tok = tokenizer("byte gpt2")
    for broken, replaced in (
        ("a\ud83d", "a\ufffd"),
        ("\ude09b", "\ufffdb"),
        ("\ud83d\ude09", "😉"),
        ("\ude09\ud83d", "\ufffd\ufffd"),
        ("é\ud83d\ud83d\ude09\U0001f609", "é\ufffd😉😉"),
        ("plain é", "plain é"),
        (b"\xed\xa0\x80", b"\xed\xa0\x80"),
    ):
        ids = tok.encode(replaced)
        assert tok.encode(broken, errors="replace") == ids
        assert tok.encode_array(broken, errors="replace").tolist() == ids
        assert tok.count(broken, errors="replace") == len(ids)
        assert [row.tolist() for row in tok.encode_batch([broken, "x"], errors="replace")] == [ids, tok.encode("x")]
        pair = tok.encode_batch(["x"], [broken], errors="replace", max_length=5)
        assert pair.ids.tolist() == [*tok.encode("x"), *ids][:5]
        assert tok.encode("x", broken, errors="replace", special="all") == tok.encode("x", replaced, special="all")
    spans = BYTES.encode_batch(["\ud83d\ude09a"], errors="replace", offsets=True).hf_offsets
    assert spans is not None
    assert spans.tolist() == [[0, 1]] * 4 + [[1, 2]]


def test_surrogates_are_errors_by_default() -> None:
    chars = tokenizer("char none")
    for call in (chars.encode, chars.encode_array, chars.count, lambda text: chars.encode_batch([text])):
        with pytest.raises(jeton.InvalidTextError, match="lone surrogate at position 1"):
            call("a\ud800")  # type: ignore[operator]
    for call in (chars.encode, chars.encode_array, chars.count):
        with pytest.raises(jeton.ConfigError, match='errors=\'ignore\' is not "strict" or "replace"'):
            call("a", errors="ignore")  # type: ignore[operator]
        with pytest.raises(jeton.InvalidTextError, match="UTF-8"):
            call(b"a\xff", errors="replace")  # type: ignore[operator]
    with pytest.raises(jeton.ConfigError, match="errors='x'"):
        chars.encode_batch(["a"], errors="x")  # type: ignore[arg-type]
    with pytest.raises(jeton.SpecialTokenError):
        chars.encode("\ud800<|im_end|>", errors="replace", special="raise")


# ── padding ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_rows_are_padded_with_masks() -> None:
    batch = BERT.encode_batch(["ab", "c"], ["d", ""])
    padded = batch.padded(pad_id=9)
    assert padded.to_json() == {
        "input_ids": [[1, 97, 98, 2, 100, 2], [1, 99, 2, 2, 9, 9]],
        "attention_mask": [[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]],
        "token_type_ids": [[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 0, 0]],
        "special_tokens_mask": [[1, 0, 0, 1, 0, 1], [1, 0, 1, 1, 1, 1]],
    }
    left = batch.padded(side="left", multiple_of=8, pad_id=9)
    assert left.input_ids.tolist() == [[9, 9, 1, 97, 98, 2, 100, 2], [9, 9, 9, 9, 1, 99, 2, 2]]
    assert left.attention_mask.sum(axis=1).tolist() == [6, 4]
    assert batch.padded(7, 4, pad_id=0).input_ids.shape == (2, 8)
    assert {array.dtype for array in padded.values()} == {np.dtype(np.int64)}
    assert repr(padded) == "PaddedBatch(2 rows of 6 ids)"


def test_a_padded_batch_is_a_mapping() -> None:
    batch = BERT.encode_batch(["abcdef", "c"], max_length=5, overflow=True)
    padded = batch.padded(pad_id=0)
    assert list(padded)[-1] == "overflow_to_sample_mapping"
    assert len({**padded}) == len(padded) == 5
    assert padded["input_ids"] is padded.input_ids
    assert "labels" not in padded
    assert pickle.loads(pickle.dumps(padded)) == padded != batch.padded(pad_id=1)
    again = pickle.loads(pickle.dumps(batch))
    assert again.padded(pad_id=0) == padded
    assert padded != {}
    with pytest.raises(KeyError):
        padded["labels"]
    with pytest.raises(TypeError):
        hash(padded)


def test_the_padding_token_defaults_to_the_pad_role() -> None:
    tok = BERT.add_tokens(["<pad>"])
    with pytest.raises(jeton.ConfigError, match=r"no padding token: pass pad_id=.*with_roles") as caught:
        tok.encode_batch(["a"]).padded()
    assert caught.value.option == "pad_id"
    for pad, id in (("<pad>", 256), ("a", 97)):  # an entry may serve, too
        known = tok._with_facts(roles={"pad": pad})
        assert known.encode_batch(["ab", ""]).padded().input_ids.tolist() == [[1, 97, 98, 2], [1, 2, id, id]]
    assert tok._with_facts(roles={"pad": "<no>"}).encode_batch(["ab"]).pad_id is None


def test_to_dict_has_the_columns_of_datasets() -> None:
    batch = BERT.encode_batch(["abcdef", "c"], max_length=5, overflow=True)
    columns = batch.to_dict()
    assert [row.tolist() for row in columns["input_ids"]] == [row.tolist() for row in batch]
    assert {row.dtype for name in list(columns)[:4] for row in columns[name]} == {np.dtype(np.int64)}
    assert [row.tolist() for row in columns["special_tokens_mask"]] == [[1, 0, 0, 0, 1], [1, 0, 0, 0, 1], [1, 0, 1]]
    assert columns["overflow_to_sample_mapping"].tolist() == [0, 0, 1]
    assert repr(batch) == "TokenBatch(3 rows, 13 ids)"


@pytest.mark.slow(reason="test_to_dict_has_the_columns_of_datasets; importing datasets takes seconds")
@pytest.mark.filterwarnings("ignore")
def test_datasets_map_takes_batches() -> None:
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"text": ["abcdef", "c", ""]})

    def encode(some: Any) -> Any:
        return BERT.encode_batch(some["text"], max_length=5, overflow=True).to_dict()

    mapped = rows.map(encode, batched=True, remove_columns=["text"], load_from_cache_file=False)
    assert mapped["input_ids"][:] == [[1, 97, 98, 99, 2], [1, 100, 101, 102, 2], [1, 99, 2], [1, 2]]
    assert mapped["overflow_to_sample_mapping"][:] == [0, 0, 1, 2]
    padded = rows.map(
        lambda some: BERT.encode_batch(some["text"]).padded(8, pad_id=0), batched=True, load_from_cache_file=False
    )
    assert padded["attention_mask"][:] == [[1] * 8, [1] * 3 + [0] * 5, [1] * 2 + [0] * 6]
    assert padded["text"][:] == ["abcdef", "c", ""]


@pytest.mark.parametrize("texts", [[], [""], ["a"], ["abcdefgh"], ["a", "abcdefgh"]])
def test_a_stride_over_the_length_is_an_error_for_any_text(texts: list[str]) -> None:
    for max_length, stride, adds in ((4, 3, True), (4, 9, True), (2, 1, True), (4, 5, False)):
        for overflow in (False, True):
            with pytest.raises(jeton.ConfigError, match=rf"stride={stride} exceeds the \d ids") as caught:
                BERT.encode_batch(
                    texts, max_length=max_length, stride=stride, overflow=overflow, add_special_tokens=adds
                )
            assert caught.value.option == "stride"
    for stride in (3, 5):
        with pytest.raises(jeton.ConfigError, match="stride="):
            BERT.encode_batch(texts, texts, max_length=4, stride=stride, add_special_tokens=True)
    assert len(BERT.encode_batch(["a"], max_length=4, stride=2, add_special_tokens=True)) == 1  # as transformers


# ── errors ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("options", "option", "message"),
    [
        ({"max_length": -1}, "max_length", "max_length=-1 is not an integer from 0"),
        ({"max_length": True}, "max_length", "max_length=True"),
        ({"max_length": 1 << 40}, "max_length", "max_length="),
        ({"max_length": 1}, "max_length", "max_length=1 is below the 2 ids that the template adds"),
        ({"max_length": 2, "pairs": ["a", "b"]}, "max_length", "below the 3 ids"),
        ({"truncation": True}, "truncation", "truncation=True is not .*; omit it to truncate with max_length= alone"),
        ({"truncation": "longest"}, "truncation", "truncation='longest'"),
        ({"stride": -1}, "stride", "stride=-1"),
        ({"stride": "1"}, "stride", "stride='1'"),
        (
            {"max_length": 4, "stride": 2},
            "stride",
            "stride=2 is too large: text 1 of the batch keeps 2 of its",
        ),
        ({"side": "top"}, "side", 'side=\'top\' is not "right" or "left"'),
        ({"overflow": 1}, "overflow", "overflow=1 is neither True nor False"),
        ({"pairs": "ab"}, "pairs", "pass \\[text\\], \\[pair\\]"),
        ({"pairs": ["a"]}, "pairs", "pairs has 1 texts, but texts has 2"),
        (
            {"pairs": ["a", "abcdef"], "max_length": 7, "truncation": "only_first"},
            "truncation",
            "text 1 of the batch has 6 ids in its second text, which is not shortened",
        ),
        (
            {"pairs": ["a", "b"], "max_length": 6, "truncation": "only_second"},
            "truncation",
            "text 1 of the batch has 5 ids in its first text",
        ),
        (
            {"max_length": 5, "truncation": "only_second"},
            "truncation",
            "text 1 of the batch has 5 ids but no second text",
        ),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], option: str, message: str) -> None:
    with pytest.raises(jeton.ConfigError, match=message) as caught:
        BERT.encode_batch(["ab", "abcde"], **options)
    assert caught.value.option == option


def test_errors_of_texts_have_their_index() -> None:
    with pytest.raises(jeton.InvalidTextError, match=r"^text 1 of the batch") as caught:
        BERT.encode_batch(["a", "b\ud800"], max_length=5)
    assert caught.value.index == 1
    with pytest.raises(jeton.InvalidTextError, match=r"^pairs: text 0 of the batch") as caught:
        BERT.encode_batch(["a", "b"], ["\ud800", "c"])
    assert (caught.value.index, caught.value.position) == (0, 0)
    for call in (BERT.encode_batch, BERT.tokenize_batch):
        with pytest.raises(TypeError, match="pairs must be a sequence of str or bytes, not int"):
            call(["a"], 5)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="a text must be str or bytes, not int"):
            call(["a"], [5])  # type: ignore[list-item]
        with pytest.raises(jeton.ConfigError, match="takes a list of texts"):
            call("a")


def test_one_text_of_a_pair_is_shortened_to_one_id_at_least() -> None:
    options: dict[str, Any] = {"max_length": 3, "truncation": "only_first"}
    assert shown(BYTES.encode_batch(["abc"], ["xy"], **options)) == ["axy"]
    with pytest.raises(jeton.ConfigError, match="text 0 of the batch has 3 ids in its second text"):
        BYTES.encode_batch(["a"], ["xyz"], **options)
    with pytest.raises(jeton.ConfigError, match="text 0 of the batch has 3 ids but no second text"):
        BYTES.encode_batch(["abc"], max_length=2, truncation="only_second")


def test_rows_and_ids_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "a" * 20_000
    with pytest.raises(jeton.ConfigError, match=r"overflow=True: 4e\+08 rows, .* from text 1 .*smaller stride"):
        BYTES.encode_batch(["a", long], ["b", long], max_length=2, overflow=True)
    assert len(BYTES.encode_batch([long], [long], max_length=2)) == 1
    monkeypatch.setattr("jeton.calls.truncation.MAX_ROWS", 2)  # beside one row for each text
    assert len(BYTES.encode_batch([*"abcdef", "abcdef"], max_length=2, overflow=True)) == 9
    with pytest.raises(jeton.ConfigError, match="10 rows"):
        BYTES.encode_batch([*"abcdef", "abcdefg"], max_length=2, overflow=True)
    monkeypatch.undo()
    monkeypatch.setattr("jeton.calls.batch_encoding.MAX_IDS", 50)
    assert len(BYTES.encode_batch([long[:50]], max_length=5, overflow=True)) == 10
    assert len(BYTES.encode_batch([long[:40], long[:40]], max_length=30).ids) == 60  # without overflow
    with pytest.raises(jeton.ConfigError, match="overflow=True: the rows have 230 ids; the limit is 50"):
        BYTES.encode_batch([long[:50]], max_length=5, stride=4, overflow=True)


def test_numbers_at_their_limits() -> None:
    rows = BYTES.encode_batch(["ab", "c"], max_length=(1 << 31) - 1, stride=(1 << 31) - 1)
    assert shown(rows) == ["ab", "c"]
    assert rows.padded(pad_id=(1 << 32) - 1).input_ids.tolist() == [[97, 98], [99, (1 << 32) - 1]]
    for option in ("max_length", "stride"):
        with pytest.raises(jeton.ConfigError, match=option):
            BYTES.encode_batch(["ab"], **{"max_length": 5, option: 1 << 31})
    for option, value in (("pad_id", 1 << 32), ("length", 1 << 31), ("multiple_of", 1 << 31), ("multiple_of", 0)):
        with pytest.raises(jeton.ConfigError, match=option):
            rows.padded(**{"pad_id": 0, option: value})


def test_wrong_padding_is_refused() -> None:
    batch = BERT.encode_batch(["ab", "abcd"])
    for options, message in (
        ({"length": 5}, r"row 1 has 6 ids, more than length=5; to shorten rows, pass max_length=5"),
        ({"length": 3, "multiple_of": 5}, "row 1 has 6 ids, more than length=3"),
        ({"length": 0}, "row 1 has 6 ids, more than length=0"),
        ({"length": -1}, "length=-1 is not an integer"),
        ({"length": "max"}, "length='max'"),
        ({"multiple_of": 0}, "multiple_of=0"),
        ({"side": True}, "side=True"),
        ({"pad_id": -100}, "pad_id=-100"),
    ):
        with pytest.raises(jeton.ConfigError, match=message) as caught:
            batch.padded(**{"pad_id": 0, **options})  # type: ignore[arg-type]
        assert caught.value.option == next(iter(options))


# ── truncation ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_pieces_cover_the_text() -> None:
    for length in range(9):
        for kept in range(1, 7):
            for stride in range(kept):
                for side in ("right", "left"):
                    options = truncation.Truncation(stride=stride, side=side, overflow=True)  # type: ignore[arg-type]
                    pieces = truncation.split(np.array([length]), np.array([kept]), options)
                    spans = list(zip(pieces.starts.tolist(), (pieces.starts + pieces.lengths).tolist(), strict=True))
                    spans = spans if side == "right" else spans[::-1]
                    assert (spans[0][0], spans[-1][1]) == (0, length)
                    assert all(end - start <= kept for start, end in spans)
                    overlaps = {end - start for (_, end), (start, _) in pairwise(spans)}
                    assert overlaps <= {stride}


def test_a_text_that_keeps_no_id_is_its_own_second_row() -> None:
    template = {"single": [{"ids": [7], "type_id": 0}, {"sequence": "A", "type_id": 0}]}
    tok = jeton.Tokenizer(dataclasses.replace(BYTES.definition, template=template), BYTES._core.vocabulary())
    for side in ("right", "left"):
        for stride in (0, 1):  # of a row that is shorter than the template
            options: dict[str, Any] = {"max_length": 0, "stride": stride, "side": side, "overflow": True}
            rows = tok.encode_batch(["abc", "", "de"], add_special_tokens=False, **options)
            assert shown(rows) == ["", "abc", "", "", "de"]


def test_rows_convert_to_lists() -> None:
    """Ids below and above the limit of shared integers, in a batch, in one text, and decoded."""
    wide = 1 << 18
    tok = jeton.Tokenizer.from_merges({97: b"a", wide - 1: b"b", wide: b"c", wide + 5: b"d"}, [])
    texts = ["abcd", "", "dd", "a" * 3000]
    expected = [[97, wide - 1, wide, wide + 5], [], [wide + 5] * 2, [97] * 3000]
    for _ in range(2):  # the second iteration shares integers
        assert tok.encode_batch(texts).tolist() == expected
        assert [tok.encode(text) for text in texts] == expected
        assert [tok.decode(ids) for ids in expected] == texts
    assert tok.encode_batch([]).tolist() == []
    with pytest.raises(jeton.errors.UnknownTokenError):
        tok.decode([97, 1 << 70])
    with pytest.raises(jeton.errors.UnknownTokenError):
        tok.decode_bytes([-1])


def test_arrays_of_short_and_long_texts_have_equal_types() -> None:
    tok = jeton.Tokenizer.from_merges({97: b"a", 98: b"b"}, [])
    for length in (0, 1, 1024, 1025, 100_000):
        ids = tok.encode_array("ab" * length)
        assert ids.dtype == np.uint32
        assert ids.ndim == 1
        assert ids.flags.writeable
        assert ids.flags.c_contiguous
        assert ids.tolist() == [97, 98] * length
