"""Drawings in a terminal: color or borders, narrow lines, no control characters."""

from __future__ import annotations

import io
import re
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.drawing import TerminalStream, described, display_width, draw, hue, to_terminal, wants_color
from jeton.drawing.terminal import PALETTE, SEPARATOR

from .material import ACTS, ESCAPE, tokenized


def test_a_color_depends_on_the_bytes_alone() -> None:
    line = to_terminal(draw([(5, b"a"), (9, b"b"), (5, b"a"), (5, b"a")]), color=True)
    codes = re.findall("\x1b\\[38;5;16;48;5;(\\d+)(;4)?m", line)
    five, nine = (PALETTE[hue(token) * len(PALETTE) // 360] for token in (b"a", b"b"))
    assert five != nine
    assert [int(color) for color, _ in codes] == [five, nine, five, five]
    assert [underline for _, underline in codes] == ["", ";4", "", ";4"]
    assert ESCAPE.sub("", line) == "abaa"


def test_no_color_draws_borders_that_tell_tokens_apart() -> None:
    assert to_terminal(draw([(1, b"a"), (2, b"b")]), color=False) == "a│b"
    assert to_terminal(draw([(1, b"\n"), (1, b"\n")]), color=False) == "↵│\n↵"
    assert to_terminal(draw([(1, b"\n\n")]), color=False) == "↵\n↵"
    assert to_terminal(draw([]), color=False) == ""


def test_special_tokens_look_different() -> None:
    plain, special = (to_terminal(draw([(1, b"<s>")], special=ids), color=True) for ids in ({}, {1: b"<s>"}))
    assert plain != special
    assert ESCAPE.sub("", special) == "<s>"


def test_text_without_a_token_looks_different() -> None:
    drawing = described(b"a  b\n", [1, 2], [b"a", b"b"], [(0, 1), (3, 4)], None, {})
    assert to_terminal(drawing, color=False) == "a│‹··›│b│‹↵\n›"
    assert to_terminal(drawing, color=True).count("\x1b[2m") == 2


def test_every_line_has_the_indent() -> None:
    assert to_terminal(draw([(1, b"a\nb")]), color=False, indent="  ") == "  a↵\n  b"


def test_line_breaks_are_optional() -> None:
    assert to_terminal(draw([(1, b"a\n"), (2, b"b")]), color=False, break_lines=False) == "a↵│b"


def test_tokens_go_whole_to_the_next_line() -> None:
    tokens = [(i, word) for i, word in enumerate([b"the", b" quick", b" brown", b" fox"])]
    assert to_terminal(draw(tokens), color=False, width=12) == "the│·quick│\n·brown│·fox"


@given(tokenized(), st.integers(4, 30), st.booleans())
def test_no_line_is_wider_than_the_terminal(tokens: list[tuple[int, bytes]], width: int, color: bool) -> None:
    lines = to_terminal(draw(tokens), color=color, width=width).split("\n")
    assert all(display_width(ESCAPE.sub("", line)) <= width for line in lines)
    shown = "".join(token.shown for token in draw(tokens))
    joined = ESCAPE.sub("", "".join(lines))
    assert joined.replace(SEPARATOR, "") == shown.replace(SEPARATOR, "")


@given(tokenized())
def test_control_characters_never_reach_the_terminal(tokens: list[tuple[int, bytes]]) -> None:
    assert not ACTS.search(ESCAPE.sub("", to_terminal(draw(tokens), color=True)))


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
def test_color_follows_terminal_and_environment(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], terminal: bool, wanted: bool
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)
    assert wants_color(stream, environ) is wanted


@given(tokenized(), st.integers(4, 30) | st.none(), st.booleans(), st.booleans(), st.integers(1, 3))
def test_tokens_given_in_chunks_are_drawn_as_one_text(
    tokens: list[tuple[int, bytes]], width: int | None, color: bool, break_lines: bool, at_a_time: int
) -> None:
    text = b"".join(data for _, data in tokens)
    ends = list(accumulate(len(data) for _, data in tokens))
    spans = list(zip([0, *ends[:-1]], ends, strict=True)) if ends else []
    # Some text is covered by no token, and some tokens differ from the text that they cover.
    kept = [index for index, (id, _) in enumerate(tokens) if id % 5 != 3]
    ids = [tokens[index][0] for index in kept]
    datas = [tokens[index][1] if ids[at] % 7 != 4 else b"x" for at, index in enumerate(kept)]
    spans = [spans[index] for index in kept]
    drawing = described(text, ids, datas, spans, None, {2: b"<s>"})
    drawn: list[str] = []
    stream = TerminalStream(
        text, {2: b"<s>"}, drawn.append, color=color, width=width, indent="  ", break_lines=break_lines
    )
    for start in range(0, len(ids), at_a_time):
        end = start + at_a_time
        stream.add(ids[start:end], datas[start:end], spans[start:end])
    stream.finish()
    expected = to_terminal(drawing, color=color, width=width, indent="  ", break_lines=break_lines)
    assert "".join(drawn) == expected
