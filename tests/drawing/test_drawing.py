"""Drawings of tokens: cut characters, white space, invisible characters, copied text, and speed."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton.drawing import Drawing, LookPartKind, described, draw, hue, quoted, visible
from jeton.drawing.look_parts import cut_character

from ..material import CORPUS, KINDS, TRICKY, tokenizer
from ..timing import fastest
from .material import ACTS, cut, tokenized


def shown(drawing: Drawing) -> list[str]:
    return [look.shown for look in drawing]


def copied(drawing: Drawing) -> list[str]:
    return [look.text for look in drawing]


@pytest.mark.parametrize(
    ("tokens", "looks", "groups", "texts"),
    [
        ([(7, b"ab"), (8, b"c")], ["ab", "c"], [0, 1], ["ab", "c"]),
        (cut("天气".encode(), 3), ["天", "气"], [0, 1], ["天", "气"]),
        (cut("天气".encode(), 2), ["⟨天 e5 a4⟩", "⟨a9⟩气"], [0, 0], ["天", "气"]),
        (cut("😀".encode(), 1, 2, 3), ["⟨😀 f0⟩", "⟨9f⟩", "⟨98⟩", "⟨80⟩"], [0, 0, 0, 0], ["😀", "", "", ""]),
        (cut("a天b".encode(), 2, 3), ["a⟨天 e5⟩", "⟨a4⟩", "⟨a9⟩b"], [0, 0, 0], ["a天", "", "b"]),
        (cut("天天".encode(), 1, 4), ["⟨天 e5⟩", "⟨a4 a9⟩⟨天 e5⟩", "⟨a4 a9⟩"], [0, 0, 0], ["天", "天", ""]),
        # bytes that only resemble two halves of a character form no group
        (cut(b"\xe5a", 1), ["⟨e5⟩", "a"], [0, 1], ["", "a"]),
        (cut(b"\xe5\xa4", 1), ["⟨e5⟩", "⟨a4⟩"], [0, 1], ["", ""]),
        (cut(b"\xed\xa0\x80", 1), ["⟨ed⟩", "⟨a0 80⟩"], [0, 1], ["", ""]),  # an encoded surrogate is no character
        (cut(b"\xc0\x80", 1), ["⟨c0⟩", "⟨80⟩"], [0, 1], ["", ""]),  # overlong
        (cut(b"a\x80\x80\x80\x80", 1, 3), ["a", "⟨80 80⟩", "⟨80 80⟩"], [0, 1, 2], ["a", "", ""]),
        ([(1, b"a"), (2, b""), (3, b"b")], ["a", "∅", "b"], [0, 1, 2], ["a", "", "b"]),
        ([], [], [], []),
    ],
)
def test_tokens_of_a_cut_character_show_its_bytes(
    tokens: list[tuple[int, bytes]], looks: list[str], groups: list[int], texts: list[str]
) -> None:
    drawing = draw(tokens)
    assert shown(drawing) == looks
    assert drawing.groups == groups
    assert copied(drawing) == texts


@pytest.mark.parametrize(
    ("text", "looks"),
    [
        (" a\tb\n", "·a→b↵"),
        ("\x00\x1b[31m\r\x7f", "␀␛[31m␍␡"),
        ("\x85\xa0\u3000\u2028", "⟨U+0085⟩⟨U+00A0⟩⟨U+3000⟩⟨U+2028⟩"),
        ("👩\u200d💻\ufeff\u202e", "👩⟨U+200D⟩💻⟨U+FEFF⟩⟨U+202E⟩"),
        ("e\u0301", "e\u0301"),
        ("\u0301e", "◌\u0301e"),  # a mark must not fall on the token before
        (" \u0301", "·◌\u0301"),
        ("❤\ufe0f", "❤\ufe0f"),  # a selector is seen by what it does to the sign before it
        ("\ufe0f", "⟨U+FE0F⟩"),
        ("\u3164\u115f\u034f", "⟨U+3164⟩⟨U+115F⟩⟨U+034F⟩"),
        ("\uffff\ufdd0\U0001fffe", "⟨U+FFFF⟩⟨U+FDD0⟩⟨U+1FFFE⟩"),
        ("\ue000", "⟨U+E000⟩"),
    ],
)
def test_invisible_characters_are_made_visible(text: str, looks: str) -> None:
    assert visible(text.encode()) == looks


def test_invalid_bytes_are_shown_in_place() -> None:
    assert visible(b"a\xff\xfeb \x80") == "a⟨ff fe⟩b·⟨80⟩"
    assert quoted(b"\xff") == "b'\\xff'"


def test_an_invisible_cut_character_is_shown_by_code_point() -> None:
    assert shown(draw(cut("\u202e".encode(), 1))) == ["⟨⟨U+202E⟩ e2⟩", "⟨80 ae⟩"]


@given(tokenized())
def test_every_byte_is_drawn_once(tokens: list[tuple[int, bytes]]) -> None:
    for look, (id, data) in zip(draw(tokens), tokens, strict=True):
        assert (look.id, look.data, look.hue) == (id, data, hue(data))
        rebuilt = b""
        for part in look.parts:
            if part.kind is LookPartKind.BYTES:
                rebuilt += bytes.fromhex(re.findall("(?:[0-9a-f]{2} ?)+(?=⟩$)", part.shown)[0])
            else:
                rebuilt += part.text.encode()
        assert rebuilt == data


@given(tokenized())
def test_copied_text_equals_the_text(tokens: list[tuple[int, bytes]]) -> None:
    text = b"".join(data for _, data in tokens).decode("utf-8", "ignore")
    drawing = draw(tokens)
    assert drawing.text == text
    assert "".join(copied(drawing)) == text


@given(tokenized())
def test_control_characters_are_never_shown(tokens: list[tuple[int, bytes]]) -> None:
    for look in draw(tokens):
        assert not ACTS.search(look.shown)
        assert "\n" not in look.shown


@given(tokenized())
def test_a_group_is_whole_characters_and_no_larger_than_needed(tokens: list[tuple[int, bytes]]) -> None:
    text = b"".join(data for _, data in tokens)
    inside = set()  # offsets inside a character
    offset = 0
    for character in text.decode("utf-8", "surrogateescape"):
        size = 1 if "\udc80" <= character <= "\udcff" else len(character.encode())
        inside.update(range(offset + 1, offset + size))
        offset += size
    drawing = draw(tokens)
    for start, (left, right) in zip(drawing.byte_starts[1:], pairwise(drawing.groups), strict=True):
        assert (left == right) == (start in inside)
    assert all((cut_character(text, place) is not None) == (place in inside) for place in range(len(text) + 1))


BYTES = jeton.Tokenizer.from_merges({byte: bytes([byte]) for byte in range(256)}, [])


@given(tokenized())
def test_spans_equal_those_of_the_core(tokens: list[tuple[int, bytes]]) -> None:
    text = b"".join(data for _, data in tokens)
    drawing, core = draw(cut(text, *range(1, len(text)))), BYTES.tokenize(text)
    if text:
        assert list(zip(drawing.byte_starts, drawing.byte_ends, strict=True)) == core.byte_spans
        assert list(zip(drawing.char_starts, drawing.char_ends, strict=True)) == core.char_spans
    assert (drawing.text_bytes, drawing.text_chars) == (len(text), len(text.decode("utf-8", "replace")))


class TestTokensThatAreNotTheirText:
    """The token is shown, and the text that it covers is copied."""

    def test_an_unknown_token_copies_its_character(self) -> None:
        drawing = described("a天b".encode(), [1, 0, 2], [b"a", b"[UNK]", b"b"], [(0, 1), (1, 4), (4, 5)], None, {})
        assert (shown(drawing), copied(drawing)) == (["a", "[UNK]", "b"], ["a", "天", "b"])

    def test_a_normalized_token_copies_the_original_text(self) -> None:
        drawing = described("Éa".encode(), [1, 2], [b"e", b"a"], [(0, 2), (2, 3)], None, {})
        assert (shown(drawing), copied(drawing)) == (["e", "a"], ["É", "a"])

    def test_a_space_missing_from_the_text_is_shown_and_not_copied(self) -> None:
        drawing = described(b"ab", [1], [b" ab"], [(0, 2)], None, {})
        assert (shown(drawing), copied(drawing), drawing.text) == (["·ab"], ["ab"], "ab")
        assert [(part.shown, part.text) for part in drawing.table[0].parts] == [("·", ""), ("ab", "ab")]

    def test_a_dropped_space_is_copied_with_the_next_token(self) -> None:
        drawing = described(b"a  b", [1, 2], [b" a", b" b"], [(0, 1), (3, 4)], None, {})
        assert (shown(drawing), copied(drawing), drawing.text) == (["·a", "·b"], ["a", " b"], "a  b")
        ((before, parts),) = drawing.dropped
        assert (before, [part.text for part in parts]) == (1, [" "])

    def test_a_space_behind_a_word_belongs_to_its_token(self) -> None:
        drawing = described(b"a b", [1, 2], [b"a ", b"b "], [(0, 1), (2, 3)], None, {})
        assert (shown(drawing), copied(drawing), drawing.dropped) == (["a·", "b·"], ["a ", "b"], [])

    def test_text_that_is_dropped_at_the_end(self) -> None:
        drawing = described(b"a\n\n", [1], [b"a"], [(0, 1)], None, {})
        assert drawing.text == "a\n\n"
        assert drawing.dropped[0].before == 1

    def test_a_page_of_dropped_white_space_is_one_part(self) -> None:
        text = b"a" + b" " * 5000 + b"b"
        drawing = described(text, [1, 2], [b"a", b"b"], [(0, 1), (5001, 5002)], None, {})
        ((_, parts),) = drawing.dropped
        assert [part.shown for part in parts] == ["⟨5,000 bytes that no token covers⟩"]
        assert drawing.text == text.decode()

    @given(st.text(max_size=12), st.data())
    def test_unknown_tokens_copy_all_of_the_text(self, text: str, data: st.DataObject) -> None:
        whole = text.encode()
        places = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
        edges = [0, *places, len(whole)]
        spans = list(pairwise(edges))
        drawing = described(whole, [0] * len(spans), [b"[UNK]"] * len(spans), spans, None, {})
        assert drawing.text == text
        assert all(look.shown == "[UNK]" for look in drawing)

    def test_a_gap_inside_a_character_ends_a_group(self) -> None:
        text = "天".encode()
        drawing = described(text, [1, 2], [text[:1], text[2:]], [(0, 1), (2, 3)], None, {})
        assert drawing.groups == [0, 1]
        assert [dropped.before for dropped in drawing.dropped] == [1]
        assert drawing.text == "天"

    def test_a_template_s_token_covers_nothing(self) -> None:
        drawing = described(b"a", [9, 1], [b" <s>", b"a"], [(0, 0), (0, 1)], None, {9: b"<s>"})
        assert (shown(drawing), copied(drawing)) == (["<s>", "a"], ["", "a"])
        assert [look.special for look in drawing] == [True, False]

    def test_only_the_first_token_of_a_character_copies_it(self) -> None:
        drawing = described("ﬁ".encode(), [1, 2], [b"f", b"i"], [(0, 3), (3, 3)], None, {})
        assert (shown(drawing), copied(drawing)) == (["f", "i"], ["ﬁ", ""])

    def test_equal_ids_over_different_text_look_different(self) -> None:
        drawing = described(b"ab b", [1, 2, 2], [b"a", b"b", b"b"], [(0, 1), (1, 2), (3, 4)], None, {})
        assert [drawing.table[look].text for look in drawing.looks] == ["a", "b", "b"]
        assert drawing.text == "ab b"


@pytest.mark.parametrize("kind", KINDS)
def test_drawings_of_every_tokenizer_copy_the_text(kind: str) -> None:
    tok = tokenizer(kind)
    for text in (*TRICKY, CORPUS[:700]):
        try:
            encoding = tok.tokenize(text)
        except jeton.InvalidTextError:
            continue  # a character that this vocabulary lacks
        drawing = encoding.drawing()
        assert drawing.text == text
        assert list(drawing.ids) == encoding.ids
        assert len(drawing) == len(encoding)


@given(st.text(max_size=40))
def test_a_tiling_drawing_joins_to_the_text(text: str) -> None:
    drawing = tokenizer("byte gpt2").tokenize(text).drawing()
    assert "".join(copied(drawing)) == text
    assert not drawing.dropped


def test_a_pair_is_drawn_as_two_consecutive_texts() -> None:
    file = (
        '{"model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "é": 3, '
        '"b": 4}}, "pre_tokenizer": {"type": "WhitespaceSplit"}, "added_tokens": ['
        '{"id": 0, "content": "[UNK]", "special": true, "single_word": false, "lstrip": false, "rstrip": false, '
        '"normalized": false}, '
        '{"id": 1, "content": "[CLS]", "special": true, "single_word": false, "lstrip": false, "rstrip": false, '
        '"normalized": false}, '
        '{"id": 2, "content": "[SEP]", "special": true, "single_word": false, "lstrip": false, "rstrip": false, '
        '"normalized": false}], '
        '"post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}}'
    )
    tok = jeton.Tokenizer.from_bytes(file.encode())
    drawing = tok.tokenize("é b", "b é ", add_special_tokens=True).drawing()
    assert shown(drawing) == ["[CLS]", "·é", "·b", "[SEP]", "·b", "·é", "[SEP]"]
    assert drawing.text == "é bb é "
    assert list(drawing.byte_starts) == [0, 0, 3, 4, 4, 6, 9]
    assert list(drawing.char_starts) == [0, 0, 2, 3, 3, 5, 7]


def test_json_has_the_documented_form() -> None:
    data = draw([(1, b"a"), (2, "天".encode()[:2]), (3, "天".encode()[2:])], special={1: b"a"}).to_json()
    assert list(data) == [
        *("ids", "looks", "groups", "byte_starts", "byte_ends", "char_starts", "char_ends", "table", "dropped"),
        *("text_bytes", "text_chars"),
    ]
    assert (data["ids"], data["looks"], data["groups"]) == ([1, 2, 3], [0, 1, 2], [0, 1, 1])
    assert (data["char_starts"], data["char_ends"]) == ([0, 1, 1], [1, 2, 2])
    assert data["table"][0] == {"id": 1, "hue": hue(b"a"), "special": True, "hex": "61", "parts": [["text", "a", "a"]]}
    assert data["table"][1]["parts"] == [["bytes", "⟨天 e5 a4⟩", "天", "ltr", ["天", 0, 2, 3]]]
    assert (data["text_bytes"], data["text_chars"]) == (4, 2)


@given(tokenized(), st.integers(0, 9))
def test_the_head_equals_the_beginning_of_the_drawing(tokens: list[tuple[int, bytes]], num_tokens: int) -> None:
    whole = draw(tokens)
    head = whole.head(num_tokens)
    assert list(head) == list(whole)[:num_tokens]
    assert len(head.table) <= len(head) or head is whole
    assert (head.text_bytes, head.text_chars) == (whole.text_bytes, whole.text_chars)


def test_a_color_belongs_to_the_bytes_whatever_their_id() -> None:
    assert draw([(1, b"tale")]).table[0].hue == draw([(9, b"tale")]).table[0].hue
    hues = [hue(f" {number}".encode()) for number in range(3600)]
    assert all(0 <= each < 360 for each in hues)
    assert len(set(hues)) > 350


def test_a_hundred_thousand_tokens_are_drawn_within_two_seconds() -> None:
    tok = tokenizer("byte gpt2")
    text = CORPUS * (100_000 // len(tok.encode(CORPUS)) + 1)
    # 0.2 s on an idle machine; a description for each token would take far longer.
    assert fastest(lambda: tok.tokenize(text).drawing(), 2) < 2
    encoding = tok.tokenize(text)
    assert len(encoding) >= 100_000
    assert len(encoding.drawing().table) < 1000
