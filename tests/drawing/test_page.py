"""Drawings as HTML: escaped, well-formed, copied as the text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from hypothesis import given

from jeton.drawing import described, draw, hue, to_html

from .material import ACTS, cut, tokenized


class Copied(HTMLParser):
    """The text that a reader copies from the page, and the page's elements."""

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


def copied(page: str) -> Copied:
    reader = Copied()
    reader.feed(page)
    return reader


def test_text_is_escaped_and_nothing_is_loaded() -> None:
    page = to_html(draw([(1, b'<script src="//x">'), (2, b"&amp;' onload=")]))
    reader = copied(page)
    assert set(reader.tags) == {"div", "style", "span", "i"}
    assert reader.text == '<script src="//x">&amp;\' onload='
    assert not re.search(r"url\(|@import|https?:|<script", page)


def test_html_has_ids_bytes_and_cues() -> None:
    page = to_html(draw([(5, b"a"), (9, b"b"), (5, b"a")], special={9: b"b"}))
    assert 'title="id 9 · bytes 62"' in page
    assert re.findall('class="([a-z ]+)" style="--h:(\\d+)"', page) == [
        ("t", str(hue(b"a"))),
        ("t", str(hue(b"b"))),
        ("t", str(hue(b"a"))),
    ]
    assert '<span class="x">b</span>' in page


def test_tokens_of_one_character_share_a_frame() -> None:
    page = to_html(draw(cut("a天b".encode(), 1, 2, 3, 4)))
    (frame,) = re.findall('<span class="g">(.*?)</span></span>', page)
    assert frame.count('<span class="t') == 3


def test_text_without_a_token_has_no_color() -> None:
    page = to_html(described(b"a b", [1, 2], [b"a", b"b"], [(0, 1), (2, 3)], None, {}))
    assert '<s><i class="space" data-s="·"> </i></s>' in page
    assert copied(page).text == "a b"


CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@given(tokenized())
def test_html_is_well_formed_and_copied_as_the_text(tokens: list[tuple[int, bytes]]) -> None:
    page = to_html(draw(tokens))
    reader = copied(page)
    assert reader.tags.count("style") == 1
    assert page.count('<span class="t') == len(tokens)
    text = b"".join(data for _, data in tokens).decode("utf-8", "ignore")
    assert reader.text == CONTROLS.sub("", text)  # HTML has no way to write them


@given(tokenized())
def test_control_characters_occur_only_in_text_to_copy(tokens: list[tuple[int, bytes]]) -> None:
    page = re.sub(
        '(<b(?: class="(?:rtl|ltr)")? data-s="[^"]*"><span>)[^<]*(</span></b>)', "\\1\\2", to_html(draw(tokens))
    )
    assert not ACTS.search(page.replace("\t", ""))
