"""What tokens look like: characters cut across tokens, whitespace, controls, colors, narrow terminals, hostile text."""

from __future__ import annotations

import html
import io
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.drawing import PALETTE, SEPARATOR, PartKind, cells, draw, to_html, to_terminal, visible, wants_color

ESCAPE = re.compile("\x1b\\[[0-9;]*m")


def cut(text: bytes, *places: int) -> list[tuple[int, bytes]]:
    """The text as tokens with ids 0, 1, …, cut at these places."""
    edges = [0, *places, len(text)]
    return [(id, text[start:end]) for id, (start, end) in enumerate(pairwise(edges))]


@st.composite
def tokenized(draw_from: st.DrawFn) -> list[tuple[int, bytes]]:
    piece = st.text(max_size=4).map(lambda text: text.encode(errors="surrogatepass")) | st.binary(max_size=3)
    text = b"".join(draw_from(st.lists(piece, max_size=8)))
    places = draw_from(st.lists(st.integers(0, len(text)), max_size=8))
    return cut(text, *sorted(places))


class TestDescription:
    @pytest.mark.parametrize(
        ("tokens", "shown", "groups"),
        [
            ([(7, b"ab"), (8, b"c")], ["ab", "c"], [0, 1]),
            (cut("天气".encode(), 3), ["天", "气"], [0, 1]),
            (cut("天气".encode(), 2), ["⟨天 e5 a4⟩", "⟨a9⟩气"], [0, 0]),
            (cut("😀".encode(), 1, 2, 3), ["⟨😀 f0⟩", "⟨9f⟩", "⟨98⟩", "⟨80⟩"], [0, 0, 0, 0]),
            (cut("a天b".encode(), 2, 3), ["a⟨天 e5⟩", "⟨a4⟩", "⟨a9⟩b"], [0, 0, 0]),
            (cut("天天".encode(), 1, 4), ["⟨天 e5⟩", "⟨a4 a9⟩⟨天 e5⟩", "⟨a4 a9⟩"], [0, 0, 0]),
            # bytes that only look like the two halves of a character share nothing
            (cut(b"\xe5a", 1), ["⟨e5⟩", "a"], [0, 1]),
            (cut(b"\xe5\xa4", 1), ["⟨e5⟩", "⟨a4⟩"], [0, 1]),
            (cut(b"\xed\xa0\x80", 1), ["⟨ed⟩", "⟨a0 80⟩"], [0, 1]),  # an encoded surrogate is no character
            (cut(b"\xc0\x80", 1), ["⟨c0⟩", "⟨80⟩"], [0, 1]),  # overlong
            (cut(b"a\x80\x80\x80\x80", 1, 3), ["a", "⟨80 80⟩", "⟨80 80⟩"], [0, 1, 2]),
            ([(1, b"a"), (2, b""), (3, b"b")], ["a", "∅", "b"], [0, 1, 2]),
        ],
    )
    def test_cut_characters(self, tokens: list[tuple[int, bytes]], shown: list[str], groups: list[int]) -> None:
        drawn = draw(tokens)
        assert [token.shown for token in drawn] == shown
        assert [token.group for token in drawn] == groups

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            (" a\tb\n", "·a→b↵"),
            ("\x00\x1b[31m\r\x7f", "␀␛[31m␍␡"),
            ("\x85\xa0\u3000\u2028", "⟨U+0085⟩⟨U+00A0⟩⟨U+3000⟩⟨U+2028⟩"),
            ("👩\u200d💻\ufeff\u202e", "👩⟨U+200D⟩💻⟨U+FEFF⟩⟨U+202E⟩"),
            ("e\u0301", "e\u0301"),
            ("\u0301e", "◌\u0301e"),  # a mark must not fall on the token before
            (" \u0301", "·◌\u0301"),
        ],
    )
    def test_what_cannot_be_seen_is_made_visible(self, text: str, shown: str) -> None:
        assert visible(text.encode()) == shown

    def test_invalid_bytes_stand_where_they_are(self) -> None:
        assert visible(b"a\xff\xfeb \x80") == "a⟨ff fe⟩b·⟨80⟩"

    def test_the_name_of_a_cut_character_is_made_visible_too(self) -> None:
        assert [t.shown for t in draw(cut("\u202e".encode(), 1))] == ["⟨⟨U+202E⟩ e2⟩", "⟨80 ae⟩"]

    @given(tokenized())
    def test_every_byte_is_there_once(self, tokens: list[tuple[int, bytes]]) -> None:
        for token, (id, data) in zip(draw(tokens), tokens, strict=True):
            assert (token.id, token.data) == (id, data)
            rebuilt = b""
            for part in token.parts:
                if part.kind is PartKind.BYTES:
                    assert part.text == ""
                    rebuilt += bytes.fromhex(re.findall("(?:[0-9a-f]{2} ?)+(?=⟩$)", part.shown)[0])
                else:
                    rebuilt += part.text.encode()
            assert rebuilt == data

    @given(tokenized())
    def test_a_group_is_whole_characters_and_no_larger_than_needed(self, tokens: list[tuple[int, bytes]]) -> None:
        text = b"".join(data for _, data in tokens)
        inside = set()  # offsets inside a character
        offset = 0
        for character in text.decode("utf-8", "surrogateescape"):
            size = 1 if "\udc80" <= character <= "\udcff" else len(character.encode())
            inside.update(range(offset + 1, offset + size))
            offset += size
        drawn = draw(tokens)
        offset = 0
        for left, right in pairwise(drawn):
            offset += len(left.data)
            assert (left.group == right.group) == (offset in inside)


class TestTerminal:
    def test_a_color_depends_on_the_id_alone(self) -> None:
        line = to_terminal([(5, b"a"), (9, b"b"), (5, b"c"), (5, b"d")], color=True)
        codes = re.findall("\x1b\\[38;5;16;48;5;(\\d+)(;4)?m", line)
        assert [int(color) for color, _ in codes] == [PALETTE[5], PALETTE[9], PALETTE[5], PALETTE[5]]
        assert [underline for _, underline in codes] == ["", ";4", "", ";4"]
        assert ESCAPE.sub("", line) == "abcd"

    def test_no_color_draws_borders_that_tell_tokens_apart(self) -> None:
        assert to_terminal([(1, b"a"), (2, b"b")], color=False) == "a│b"
        assert to_terminal([(1, b"\n"), (1, b"\n")], color=False) == "↵│\n↵"
        assert to_terminal([(1, b"\n\n")], color=False) == "↵\n↵"
        assert to_terminal([], color=False) == ""

    def test_special_tokens_look_different(self) -> None:
        plain, special = (to_terminal([(1, b"<s>")], color=True, special=ids) for ids in ((), {1}))
        assert plain != special
        assert ESCAPE.sub("", special) == "<s>"

    def test_an_indent_stands_before_every_line(self) -> None:
        assert to_terminal([(1, b"a\nb")], color=False, indent="  ") == "  a↵\n  b"

    def test_lines_may_stay_together(self) -> None:
        assert to_terminal([(1, b"a\n"), (2, b"b")], color=False, break_lines=False) == "a↵│b"

    def test_tokens_go_whole_to_the_next_line(self) -> None:
        tokens = [(i, word) for i, word in enumerate([b"the", b" quick", b" brown", b" fox"])]
        assert to_terminal(tokens, color=False, width=12) == "the│·quick│\n·brown│·fox"

    @given(tokenized(), st.integers(4, 30), st.booleans())
    def test_no_line_is_wider_than_the_terminal(self, tokens: list[tuple[int, bytes]], width: int, color: bool) -> None:
        lines = to_terminal(tokens, color=color, width=width).split("\n")
        assert all(cells(ESCAPE.sub("", line)) <= width for line in lines)
        shown = "".join(token.shown for token in draw(tokens))
        joined = ESCAPE.sub("", "".join(lines))
        assert joined.replace(SEPARATOR, "") == shown.replace(SEPARATOR, "")

    @given(tokenized())
    def test_nothing_in_a_text_commands_the_terminal(self, tokens: list[tuple[int, bytes]]) -> None:
        drawn = ESCAPE.sub("", to_terminal(tokens, color=True))
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", drawn)

    @pytest.mark.parametrize(
        ("environ", "terminal", "wanted"),
        [
            ({}, True, True),
            ({}, False, False),
            ({"NO_COLOR": "1"}, True, False),
            ({"NO_COLOR": ""}, True, True),
            ({"FORCE_COLOR": "1"}, False, True),
            ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
            ({"TERM": "dumb"}, True, False),
        ],
    )
    def test_who_gets_color(
        self, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], terminal: bool, wanted: bool
    ) -> None:
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)
        assert wants_color(stream, environ) is wanted


class Copied(HTMLParser):
    """What a reader copies from the page, and which elements it is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.tags, self._style = "", list[str](), False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._style = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._style = False

    def handle_data(self, data: str) -> None:
        self.text += "" if self._style else data


class TestHtml:
    def test_text_is_escaped_and_nothing_is_loaded(self) -> None:
        page = to_html([(1, b'<script src="//x">'), (2, b"&amp;' onload=")])
        copied = Copied()
        copied.feed(page)
        assert set(copied.tags) == {"div", "style", "span", "i"}
        assert copied.text == '<script src="//x">&amp;\' onload='
        assert not re.search(r"url\(|@import|https?:|src=[^&]", page.replace(html.escape('src="//x"'), ""))

    def test_copying_gives_the_text_back(self) -> None:
        text = "a b\n\tc  d\n"
        copied = Copied()
        copied.feed(to_html(cut(text.encode(), 2, 5)))
        assert copied.text == text

    def test_ids_bytes_and_cues(self) -> None:
        page = to_html([(5, b"a"), (9, b"b"), (5, b"c")], special={9})
        assert 'title="id 9 · bytes 62"' in page
        assert re.findall('class="([a-z ]+)" style="--h:(\\d+)"', page) == [("e", "328"), ("o x", "158"), ("e", "328")]

    @given(tokenized())
    def test_it_is_well_formed_for_every_text(self, tokens: list[tuple[int, bytes]]) -> None:
        copied = Copied()
        copied.feed(to_html(tokens))
        assert copied.tags.count("span") == len(tokens)
        assert "\x1b" not in copied.text
