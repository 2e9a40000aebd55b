"""Drawings as SVG: well-formed, measured, complete."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.drawing import described, display_width, draw, picture, to_svg
from jeton.drawing.picture import CELL, LINE, MARGIN, MAX_LINES, MAX_TOKENS, Theme

from .material import cut, tokenized

NAME = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[ET.Element]:
    return ET.fromstring(svg).findall(f"{NAME}text")


@given(tokenized(), st.integers(4, 40))
def test_svg_is_well_formed_and_complete(tokens: list[tuple[int, bytes]], width: int) -> None:
    drawing = draw(tokens)
    svg = to_svg(drawing, width=width)
    shown = "".join(element.text or "" for element in texts(svg))
    wanted = "".join(part.shown for look in drawing for part in look.parts)
    assert shown.replace(" ", "") == wanted.replace(" ", "")
    root = ET.fromstring(svg)
    assert {element.tag.removeprefix(NAME) for element in root.iter()} <= {
        *("svg", "title", "rect", "text", "line", "circle"),
    }
    for element in texts(svg):
        length = float(element.get("textLength", "0"))
        assert length == pytest.approx(display_width(element.text or "") * CELL, abs=0.06)
        right = float(element.get("x", "0")) + (0 if element.get("direction") == "rtl" else length)
        assert right <= MARGIN + width * CELL + 0.1


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_picture_marks_special_tokens_groups_and_gaps(theme: Theme) -> None:
    tokens = [b"a", b"<s>", *(bytes([byte]) for byte in "天".encode())]
    spans = [(0, 1), (2, 2), (2, 3), (3, 4), (4, 5)]
    drawing = described("a 天".encode(), [1, 2, 3, 4, 5], tokens, spans, None, {2: b"<s>"})
    root = ET.fromstring(to_svg(drawing, theme=theme, title="a & b"))
    assert root.findtext(f"{NAME}title") == "a & b"
    assert len(root.findall(f"{NAME}circle")) == 2
    assert len(root.findall(f"{NAME}rect")) == 6  # and the ground
    assert [element.text for element in root.findall(f"{NAME}text[@font-weight='bold']")] == ["<s>"]


def test_a_picture_grows_with_its_lines() -> None:
    one, two = (ET.fromstring(to_svg(draw(cut(text, 2)))) for text in (b"abcd", b"a\ncd"))
    assert float(two.get("height", "0")) > float(one.get("height", "0"))


def test_a_long_text_counts_its_omitted_tokens() -> None:
    drawing = draw([(1, b"a")] * (MAX_TOKENS + 7))
    assert texts(to_svg(drawing))[-1].text == "… 7 tokens more"


@pytest.mark.parametrize(
    ("tokens", "left_out"),
    [
        ([(1, b"\n" * 16)] * 3_000, "… 2,938 tokens more"),  # 62 are whole, half of the next fits
        ([(1, b"\n")] * (MAX_LINES + 1), "… 1 token more"),
        ([(1, b"a" * 1_000_000)], "… 1 token more"),
        ([(1, b"a"), (2, b"\n" * 2_000_000)], "… 1 token more"),
    ],
)
def test_a_long_picture_is_cut_off_with_a_count(tokens: list[tuple[int, bytes]], left_out: str) -> None:
    svg = to_svg(draw(tokens))
    assert texts(svg)[-1].text == left_out
    assert float(ET.fromstring(svg).get("height", "0")) <= (MAX_LINES + 1) * LINE + 2 * MARGIN
    assert len(svg) < 1_000_000


@pytest.mark.parametrize(
    ("lines", "times", "words"), [(200, 6, "… 1 token more"), (200, 9, "… 4 tokens more"), (240, 5, "… more")]
)
def test_long_text_without_tokens_is_cut_off(lines: int, times: int, words: str) -> None:
    text = (b"a" + b"\n" * lines) * times
    spans = [(start, start + 1) for start in range(0, len(text), lines + 1)]
    drawing = described(text, [1] * times, [b"a"] * times, spans, None, {})
    assert texts(to_svg(drawing))[-1].text == words


def test_a_picture_of_the_maximum_height_is_not_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "MAX_TOKENS", MAX_LINES)
    assert "more" not in (texts(to_svg(draw([(1, b"\n")] * MAX_LINES)))[-1].text or "")
