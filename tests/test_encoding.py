"""`Encoding`: tokens with spans. Spans are ordered and disjoint, and tile the text that is not dropped."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton

from .material import CORPUS, KINDS, LOSSLESS, TRICKY, byte_strings, byte_tokenizer, texts, tokenizer


def check_spans(tok: jeton.Tokenizer, text: str | bytes) -> jeton.Encoding:
    """Checks the documented properties of spans, by their definitions."""
    data = text.encode() if isinstance(text, str) else text
    encoding = tok.tokenize(text, special="all")
    assert encoding.ids == tok.encode(text, special="all")
    assert len(encoding) == len(encoding.ids) == len(encoding.tokens) == len(encoding.byte_spans)
    covered = sorted([*encoding.byte_spans, *encoding.dropped])
    assert [span for span in covered if span in set(encoding.byte_spans)] == encoding.byte_spans, "in order"
    at = 0
    for start, end in covered:
        assert start == at
        assert start <= end
        at = end
    assert at == len(data), "covered and dropped text join to the whole"
    chars = character_spans(data)
    for (start, end), char_span in zip(encoding.byte_spans, encoding.char_spans, strict=True):
        if start == end:
            assert char_span[0] == char_span[1]
            continue
        touched = [i for i, (first, last) in enumerate(chars) if first < end and start < last]
        assert char_span == (touched[0], touched[-1] + 1)
    assert all(start < end for start, end in encoding.dropped)
    return encoding


def character_spans(data: bytes) -> list[tuple[int, int]]:
    """Span of each character of the text; invalid bytes form characters as in Python's decoding to U+FFFD."""
    spans, at = [], 0
    while at < len(data):
        length = next((n for n in range(1, 5) if _is_char(data[at : at + n])), 0)
        if not length:
            try:
                data[at:].decode()
            except UnicodeDecodeError as error:
                length = error.end - error.start
        spans.append((at, at + length))
        at += length
    assert len(spans) == len(data.decode("utf-8", "replace"))
    return spans


def _is_char(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_spans_tile_any_text(kind: str, data: st.DataObject) -> None:
    check_spans(tokenizer(kind), data.draw(texts(kind)))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("byte")])
@given(data=st.data())
def test_spans_tile_any_bytes(kind: str, data: st.DataObject) -> None:
    check_spans(tokenizer(kind), data.draw(byte_strings(kind)))


def test_spans_of_tricky_texts(kind: str) -> None:
    tok = tokenizer(kind)
    for text in TRICKY:
        encoding = check_spans(tok, text)
        if kind in LOSSLESS:
            assert encoding.dropped == []
            assert encoding.tokens == [text.encode()[start:end] for start, end in encoding.byte_spans]


def test_pretokens_hold_the_tokens(kind: str) -> None:
    encoding = tokenizer(kind).tokenize(CORPUS, special="all")
    edges = {edge for pretoken in encoding.pretokens for edge in pretoken}
    for start, end in encoding.byte_spans:
        assert not any(start < edge < end for edge in range(start + 1, end) if edge in edges)
    assert encoding.pretokens == sorted(encoding.pretokens)


def test_words_report_dropped_white_space() -> None:
    tok = tokenizer("words symbol")
    encoding = tok.tokenize(" the  old\n")
    assert encoding.dropped == [(0, 1), (4, 6), (9, 10)]
    assert encoding.pretokens == [(1, 4), (6, 9)]
    assert encoding.byte_spans[0][0] == 1
    assert tok.decode(encoding.ids) == "the old"


def test_the_mark_covers_no_bytes() -> None:
    tok = jeton.train({"ab": 1}, 3, end_of_word="</w>", progress=False)
    encoding = tok.tokenize("b ab")
    assert [(token.bytes, token.byte_span, token.char_span) for token in encoding] == [
        (b"b", (0, 1), (0, 1)),
        (b" ", (1, 1), (1, 1)),
        (b"a", (2, 3), (2, 3)),
        (b"b", (3, 4), (3, 4)),
        (b" ", (4, 4), (4, 4)),
    ]


def test_tokens_inside_one_character_share_its_span() -> None:
    encoding = byte_tokenizer((0xE5, 0xB0, 256)).tokenize("a小b")
    assert encoding.tokens == [b"a", b"\xe5\xb0", b"\x8f", b"b"]
    assert encoding.char_spans == [(0, 1), (1, 2), (1, 2), (2, 3)]
    assert encoding.byte_spans == [(0, 1), (1, 3), (3, 4), (4, 5)]


def test_the_span_of_a_token_across_characters_covers_each() -> None:
    encoding = byte_tokenizer((0x8F, 0xE5, 256), pattern="none").tokenize("小冬")
    assert encoding.tokens == [b"\xe5", b"\xb0", b"\x8f\xe5", b"\x86", b"\xac"]
    assert encoding.char_spans == [(0, 1), (0, 1), (0, 2), (1, 2), (1, 2)]


def test_an_encoding_is_a_sequence_of_tokens(tok: jeton.Tokenizer) -> None:
    encoding = tok.tokenize("the old")
    tokens = list(encoding)
    assert [token.id for token in tokens] == encoding.ids
    assert encoding[-1] == tokens[-1]
    assert encoding[:2] == tokens[:2]
    assert tokens[0] in encoding
    assert tokens[0].bytes == tok.vocab[tokens[0].id]
    with pytest.raises(IndexError):
        encoding[len(encoding)]
    assert "Encoding(" in repr(encoding)
    assert not tok.tokenize("")
    assert encoding == tok.tokenize("the old")


def test_words_and_characters_of_tokens(kind: str) -> None:
    """By definition: the pretoken that contains a token's bytes, and the first token that contains a character."""
    tok = tokenizer(kind)
    for text in (*TRICKY, CORPUS):
        encoding = tok.tokenize(text, special="all")
        for word, (start, end) in zip(encoding.word_ids, encoding.byte_spans, strict=True):
            assert word is not None
            assert encoding.pretokens[word][0] <= start <= end <= encoding.pretokens[word][1]
        assert encoding.word_ids == sorted(encoding.word_ids, key=lambda word: -1 if word is None else word)
        for char in range(min(len(text) + 2, 60)):
            holders = [i for i, (start, end) in enumerate(encoding.hf_offsets) if start <= char < end]
            assert encoding.char_to_token(char) == (holders[0] if holders else None)
        assert [encoding.token_to_chars(i) for i in range(len(encoding))] == encoding.hf_offsets


def test_words_of_a_pair_and_its_template() -> None:
    template = {
        "single": [{"sequence": "A", "type_id": 0}, {"ids": [60], "type_id": 0}, {"sequence": "A", "type_id": 0}],
        "pair": [{"ids": [60], "type_id": 0}, {"sequence": "B", "type_id": 0}, {"sequence": "A", "type_id": 1}],
    }
    made = byte_tokenizer(pattern="gpt2")
    tok = jeton.Tokenizer(dataclasses.replace(made.definition, template=template), made._core.vocabulary())
    pair = tok.tokenize("a b", "c! d", add_special_tokens=True)
    assert pair.sequence_ids == [None, 1, 1, 1, 1, 0, 0, 0]
    assert pair.word_ids == [None, 0, 1, 2, 2, 0, 1, 1]
    assert [pair.char_to_token(i) for i in range(4)] == [5, 6, 7, None]
    assert [pair.char_to_token(i, 1) for i in range(5)] == [1, 2, 3, 4, None]
    assert [pair.token_to_chars(i) for i in (0, 1, 5, -1, 8, -9)] == [None, (0, 1), (0, 1), (2, 3), None, None]
    twice = tok.tokenize("a b", add_special_tokens=True)
    assert twice.word_ids == [0, 1, 1, None, 0, 1, 1]
    assert [twice.char_to_token(i) for i in range(3)] == [4, 5, 6]
    assert twice.char_to_token(0, 1) is None
    empty = tok.tokenize("")
    assert (empty.word_ids, empty.char_to_token(0), empty.token_to_chars(0)) == ([], None, None)


def test_repeated_text_gives_the_token_of_each_character() -> None:
    """A normalizer repeats the text, so offsets do not ascend."""
    encoding = dataclasses.replace(byte_tokenizer().tokenize("abc"), hf_offsets=[(2, 3), (0, 1), (1, 2)])
    assert [encoding.char_to_token(i) for i in range(4)] == [1, 2, 0, None]


def test_wrong_positions_are_refused() -> None:
    encoding = byte_tokenizer().tokenize("abc")
    for call, option in (
        (lambda: encoding.char_to_token(-1), "char"),
        (lambda: encoding.char_to_token("a"), "char"),  # type: ignore[arg-type]
        (lambda: encoding.char_to_token(0, 2), "sequence_index"),
    ):
        with pytest.raises(jeton.ConfigError, match=option):
            call()
    with pytest.raises(TypeError):
        encoding.token_to_chars("a")  # type: ignore[arg-type]


def test_a_batch_is_a_sequence_of_arrays(tok: jeton.Tokenizer) -> None:
    batch = tok.encode_batch(["the", "", "old man"])
    assert len(batch) == 3
    assert batch[1].tolist() == []
    assert batch[-1].tolist() == tok.encode("old man")
    assert [part.tolist() for part in batch[::2]] == [tok.encode("the"), tok.encode("old man")]
    assert np.array_equal(np.concatenate(list(batch)), batch.ids)
    with pytest.raises(IndexError):
        batch[3]
    assert "3 texts" in repr(batch)
