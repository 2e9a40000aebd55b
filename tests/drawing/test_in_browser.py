"""Fragments for notebooks in a real browser: copied text, executed code, direction of lines."""

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
    """The text that a reader selects and copies from the drawing."""
    return str(
        page.evaluate(
            "() => { const s = getSelection(); s.selectAllChildren(document.querySelector('.jeton-tokens'));"
            " return s.toString() }"
        )
    )


BYTES = jeton.Tokenizer.from_merges({byte: bytes([byte]) for byte in range(256)}, [])


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("step", [1, 2, 7])
def test_copied_text_equals_the_text(page: Any, text: str, step: int) -> None:
    data = text.encode()
    show(page, to_html(draw(cut(data, *range(step, len(data), step)))))
    assert copied(page).rstrip("\n") == text.rstrip("\n")
    assert page.title() == "t"


def test_dropped_text_is_copied_too(page: Any) -> None:
    show(page, to_html(described(b"a  b c", [1, 2, 3], [b"a", b" b", b"c"], [(0, 1), (3, 4), (5, 6)], None, {})))
    assert copied(page) == "a  b c"


def test_signs_are_shown_and_not_copied(page: Any) -> None:
    show(page, BYTES.tokenize("a b")._repr_html_())
    sign = page.evaluate("() => getComputedStyle(document.querySelector('i.space'), '::before').content")
    assert sign == '"·"'


def test_arabic_is_displayed_from_right_to_left(page: Any) -> None:
    text = "مرحبا بكم"
    show(page, to_html(draw([(1, text[:3].encode()), (2, text[3:].encode())])))
    first, second = page.evaluate(
        "() => [...document.querySelectorAll('.t')].map(token => token.getBoundingClientRect().left)"
    )
    assert first > second


MIXED = [
    "the \u05e9\u05dc\u05d5\u05dd and \u05e2\u05d5\u05dc\u05dd",
    "\u05e9\u05dc\u05d5\u05dd the end",
    "a 12 \u05e9\u05dc 34 \u05dd 56 b 78",
    "\u0645\u0631\u062d\u0628\u0627\u060c 123 \u0643\u064a\u0641 abc 45",
    "caf\u00e9 \u05dd",
]


@pytest.mark.parametrize("text", MIXED)
@pytest.mark.parametrize("cuts", ["characters", "bytes"])
def test_a_picture_has_the_order_of_a_page(page: Any, text: str, cuts: str) -> None:
    """The browser computes the order of the page by UAX 9."""
    tokens = [character.encode() for character in text] if cuts == "characters" else [bytes([b]) for b in text.encode()]
    drawing = draw(enumerate(tokens))
    show(page, f'<div style="width:5000px">{to_html(drawing)}</div>{to_svg(drawing, width=1000)}')
    on_page, in_picture = page.evaluate(
        """() => ["span.t", "svg rect:not(:first-of-type)"].map((kind) =>
            [...document.querySelectorAll(kind)].map((one, index) => [one.getBoundingClientRect().left, index])
                .sort((a, b) => a[0] - b[0]).map(([, index]) => index))"""
    )
    assert in_picture == on_page


@pytest.mark.parametrize("word", ["\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627"])
def test_cut_letters_of_a_word_from_the_right_are_in_reading_order(page: Any, word: str) -> None:
    show(page, BYTES.tokenize(f"say {word} now")._repr_html_())
    lefts = page.evaluate("() => [...document.querySelectorAll('.t')].map(token => token.getBoundingClientRect().left)")
    size = len(word.encode())
    say, inside, now = lefts[:4], lefts[4 : 4 + size], lefts[4 + size :]
    assert say == sorted(say)
    assert inside == sorted(inside, reverse=True)
    assert max(say) < min(inside)
    assert max(inside) < min(now)


def test_a_special_token_that_stripped_a_line_end(page: Any) -> None:
    """The pill of the token is on one line, and the following text begins the next line."""
    drawing = described(b"a <s>\nb", [1, 2, 3], [b"a", b"<s>", b"b"], [(0, 1), (1, 6), (6, 7)], None, {2: b"<s>"})
    show(page, to_html(drawing))
    assert copied(page) == "a <s>\nb"
    boxes = page.evaluate(
        """() => ["span.x", ".t:last-child"].map((kind) => {
            const one = document.querySelector(kind);
            return [one.getClientRects().length, one.getBoundingClientRect().top, one.getBoundingClientRect().bottom];
        })"""
    )
    (num_boxes, _, bottom), (_, top, _) = boxes
    assert (num_boxes, top >= bottom - 4) == (1, True)


def test_a_right_to_left_override_does_not_reorder_tokens(page: Any) -> None:
    show(page, to_html(draw([(1, b"ab"), (2, "\u202e".encode()), (3, b"cd"), (4, b"ef")])))
    lefts = page.evaluate("() => [...document.querySelectorAll('.t')].map(token => token.getBoundingClientRect().left)")
    assert lefts == sorted(lefts)


def test_a_picture_has_its_declared_width(page: Any) -> None:
    drawing = draw([(id, word) for id, word in enumerate([b"the", b" older", " 天气".encode(), b"\n", b"man"])])
    show(page, to_svg(drawing))
    boxes, texts = page.evaluate(
        "() => ['rect:not(:first-of-type)', 'text'].map(kind => "
        "[...document.querySelectorAll('svg ' + kind)].map(each => each.getBBox().x + each.getBBox().width))"
    )
    assert len(boxes) == 5
    assert max(texts) <= max(boxes) + 1


def test_all_fragments_display_without_errors(page: Any) -> None:
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
