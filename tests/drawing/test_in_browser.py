"""Fragments for notebooks in a real browser: what is copied, what is executed, which way lines run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import jeton
from jeton.drawing import described, draw, to_html, to_svg

from .material import cut

TEXTS = [
    "The old man told the old tale.\n\tIndented  twice\n",
    "今天的天气很好，明天的天气不好。𠮷野家",
    "😀 👍🏽 👩‍👩‍👧 🇫🇷 ❤️",
    "مرحبا بالعالم، كيف حالك اليوم؟",
    "a\u202eb\u2066c\u200bd\ufeffe\u0301 \u0301x\u3164",
    "<script>document.title = 'x'</script><img src=x onerror=\"document.title = 'x'\">&lt;&amp;",
]


@pytest.fixture(scope="module")
def page(chromium: Any) -> Iterator[Any]:
    made = chromium.new_page()
    yield made
    made.close()


def show(page: Any, fragment: str) -> None:
    page.set_content(f"<!doctype html><meta charset=utf-8><title>t</title><body>{fragment}")


def copied(page: Any) -> str:
    """What a reader selects and copies, of the drawing alone."""
    return str(
        page.evaluate(
            "() => { const s = getSelection(); s.selectAllChildren(document.querySelector('.jeton-tokens'));"
            " return s.toString() }"
        )
    )


BYTES = jeton.Tokenizer.from_merges({byte: bytes([byte]) for byte in range(256)}, [])


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("step", [1, 2, 7])
def test_what_is_copied_is_the_text(page: Any, text: str, step: int) -> None:
    data = text.encode()
    show(page, to_html(draw(cut(data, *range(step, len(data), step)))))
    assert copied(page).rstrip("\n") == text.rstrip("\n")
    assert page.title() == "t"


def test_dropped_text_is_copied_too(page: Any) -> None:
    show(page, to_html(described(b"a  b c", [1, 2, 3], [b"a", b" b", b"c"], [(0, 1), (3, 4), (5, 6)], None, {})))
    assert copied(page) == "a  b c"


def test_signs_are_seen_and_not_copied(page: Any) -> None:
    show(page, BYTES.tokenize("a b")._repr_html_())
    sign = page.evaluate("() => getComputedStyle(document.querySelector('i.space'), '::before').content")
    assert sign == '"·"'


def test_arabic_is_read_from_the_right(page: Any) -> None:
    text = "مرحبا بكم"
    show(page, to_html(draw([(1, text[:3].encode()), (2, text[3:].encode())])))
    first, second = page.evaluate(
        "() => [...document.querySelectorAll('.t')].map(token => token.getBoundingClientRect().left)"
    )
    assert first > second


def test_an_override_turns_nothing_round(page: Any) -> None:
    show(page, to_html(draw([(1, b"ab"), (2, "\u202e".encode()), (3, b"cd"), (4, b"ef")])))
    lefts = page.evaluate("() => [...document.querySelectorAll('.t')].map(token => token.getBoundingClientRect().left)")
    assert lefts == sorted(lefts)


def test_a_picture_is_as_wide_as_it_says(page: Any) -> None:
    drawing = draw([(id, word) for id, word in enumerate([b"the", b" older", " 天气".encode(), b"\n", b"man"])])
    show(page, to_svg(drawing))
    boxes, texts = page.evaluate(
        "() => ['rect:not(:first-of-type)', 'text'].map(kind => "
        "[...document.querySelectorAll('svg ' + kind)].map(each => each.getBBox().x + each.getBBox().width))"
    )
    assert len(boxes) == 5
    assert max(texts) <= max(boxes) + 1


def test_everything_at_once_has_no_error(page: Any) -> None:
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    for text in TEXTS:
        encoding = BYTES.tokenize(text)
        for fragment in (
            encoding._repr_html_(),
            BYTES.explain(text).html,
            BYTES._repr_html_(),
            to_svg(encoding.drawing()),
        ):
            show(page, fragment)
    assert errors == []
    assert page.evaluate("() => performance.getEntriesByType('resource').length") == 0
