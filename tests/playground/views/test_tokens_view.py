"""The Tokens view: typing, pointing, keys, copying, saving; hostile, long and very long texts."""

from __future__ import annotations

import base64
import itertools
import json
import re
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.drawing import draw
from jeton.playground.catalog import Catalog

from ...material import CORPUS, TRICKY, tokenizer
from ...selection import rest_is_slow
from ..conftest import Problems, axe_violations, running

Open = Callable[..., Any]

SMALL = tokenizer("byte gpt2")
TEXT = "The old man told\tthe tale.\n\n  今天 naïve café 😉\n"
IDS = SMALL.encode(TEXT)
PANE, LIST = ".pane:not(.list) .t", ".pane.list .t"


@pytest.fixture
def open_page(open_page: Open) -> Open:  # of conftest.py
    """With the list of ids, which is behind *Options*, unless a test names another."""
    return lambda **state: open_page(**({"list": "ids"} if state.get("view", "tokens") == "tokens" else {}) | state)


@pytest.fixture
def view(open_page: Open) -> Any:
    """The view with a text that has everything."""
    page = open_page(tokenizer="small", text=TEXT)
    for tokens in (LIST, PANE):  # the pane is painted after the counts are there
        page.locator(tokens).nth(len(IDS) - 1).wait_for(state="attached")
    return page


def counts(page: Any) -> dict[str, str]:
    return dict(
        zip(page.locator(".figures dt").all_inner_texts(), page.locator(".figures dd").all_inner_texts(), strict=True)
    )


def face(page: Any) -> int:
    """The id that the card is about."""
    return int(page.locator(".card dd").first.inner_text())


def current(page: Any) -> list[int]:
    """The places of the tokens that are looked at, in the text and in the list."""
    return page.evaluate(
        """['.pane:not(.list) .t', '.pane.list .t'].map(
            (s) => [...document.querySelectorAll(s)].findIndex((t) => t.classList.contains('current')))"""
    )


class TestPinned:
    def test_a_link_restores_the_pinned_token(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes", text="abc")
        page.locator(PANE).nth(1).click()
        page.wait_for_url(re.compile("token%3A=1"))
        page.reload()
        page.wait_for_selector(".card dl")
        assert face(page) == 98
        assert current(page)[0] == 1
        page.get_by_label("Text", exact=True).fill("abcd")
        page.wait_for_url(re.compile("^(?!.*token%3A)"))
        page.locator(f"{PANE} >> nth=3").wait_for()
        assert page.locator(".card").count() == 0, "it was of another text"


class TestTyping:
    def test_tokens_equal_those_of_the_tokenizer(self, view: Any) -> None:
        assert [int(text) for text in view.locator(LIST).all_text_contents()] == IDS
        assert view.locator(PANE).count() == len(IDS)

    def test_counts_are_shown_and_announced(self, view: Any) -> None:
        assert counts(view) == {
            "tokens": str(len(IDS)),
            "bytes": str(len(TEXT.encode())),
            "characters": str(len(TEXT)),
            "bytes per token": f"{len(TEXT.encode()) / len(IDS):.2f}",
        }
        view.locator("#live", has_text=f"{len(IDS)} tokens, ").wait_for(state="attached")

    def test_late_answers_do_not_replace_newer_ones(self, view: Any) -> None:
        """Answers to the first keys come after the answer to the last."""
        held: list[Any] = []

        def hold(route: Any) -> None:
            if len(held) < 2 and "first" in json.loads(route.request.post_data)["text"]:
                held.append(route)
            else:
                route.continue_()

        view.route("**/api/tokens", hold)
        box = view.get_by_label("Text", exact=True)
        for text in ("first", "first!", "the oldest"):
            box.fill(text)
            view.wait_for_timeout(150)
        view.locator(".figures dd", has_text=re.compile(f"^{SMALL.count('the oldest')}$")).first.wait_for()
        for route in held:
            route.continue_()
        view.wait_for_timeout(300)
        assert len(held) == 2
        assert [int(text) for text in view.locator(LIST).all_text_contents()] == SMALL.encode("the oldest")

    def test_counts_are_not_announced_after_an_error(self, open_page: Open, problems: Problems) -> None:
        """The counts are told when typing pauses; by then there may be none."""
        page = open_page(tokenizer="bytes", text="abc")
        page.wait_for_selector(LIST)
        page.get_by_label("Text", exact=True).fill("abcd")
        page.locator(".figures dd", has_text=re.compile("^4$")).first.wait_for()
        page.evaluate("location.hash = location.hash.replace('tokenizer=bytes', 'tokenizer=torn')")
        page.locator(".pane .failure").wait_for()
        page.wait_for_timeout(1_000)
        assert "4 tokens" not in page.locator("#live").text_content()
        problems.forgive("400")

    def test_typing_updates_the_counts(self, open_page: Open) -> None:
        page = open_page(tokenizer="small")
        page.get_by_label("Text", exact=True).press_sequentially("the old tale", delay=15)
        page.locator(".figures dd", has_text=re.compile(f"^{SMALL.count('the old tale')}$")).first.wait_for()

    def test_an_empty_text_has_no_tokens(self, open_page: Open) -> None:
        page = open_page(tokenizer="small")
        page.locator(".figures dd").first.wait_for()
        assert counts(page) == {"tokens": "0", "bytes": "0", "characters": "0", "bytes per token": "–"}

    def test_special_tokens_are_text_without_permission(self, open_page: Open) -> None:
        page = open_page(tokenizer="small", text="a<|endoftext|>")
        page.wait_for_selector(LIST)
        assert page.locator(".pane .t.x").count() == 0
        page.get_by_label("Parse special tokens").check()
        page.wait_for_selector(".pane:not(.list) .t.x")
        assert [int(t) for t in page.locator(LIST).all_text_contents()] == SMALL.encode("a<|endoftext|>", special="all")

    def test_a_template_adds_its_tokens(self, data: Path, chromium: Any, problems: Problems) -> None:
        with running(Catalog([str(data / "vocabs" / "bert-uncased.vocab.txt")], cached=False)) as address:
            page = chromium.new_page()
            problems.watch(page)
            page.goto(f"{address}/#text=the")
            page.locator(".figures dd", has_text=re.compile("^1$")).first.wait_for()
            page.locator(".view-tokens .settings summary").click()
            page.get_by_label("Add special tokens").check()
            page.locator(".figures dd", has_text=re.compile("^3$")).first.wait_for()
            page.locator(".pane:not(.list) .t.x").nth(1).wait_for()
            assert page.locator(".pane:not(.list) .t.x").count() == 2
            page.close()
        assert not problems


class TestLooks:
    def test_equal_bytes_have_equal_colors(self, open_page: Open) -> None:
        colors = f"""[...document.querySelectorAll("{PANE}")].map((t) => getComputedStyle(t).backgroundImage)"""
        page = open_page(tokenizer="bytes", text="abab")
        page.wait_for_selector(PANE)
        a, b, *again = page.evaluate(colors)
        assert again == [a, b]
        assert a != b

    def test_adjacent_tokens_have_equal_gaps_and_no_line(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes", text="ab")
        page.wait_for_selector(PANE)
        style = page.locator(PANE).first.evaluate(
            "t => (s => [s.backgroundImage, s.borderBottomWidth, s.textDecorationLine])(getComputedStyle(t))"
        )
        assert re.search(r"transparent 1px|rgba\(0, 0, 0, 0\) 1px", style[0])
        assert "calc(100% - 1px)" in style[0]
        assert style[1:] == ["0px", "none"]

    def test_white_space_and_controls_are_visible(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes", text=" \t\n\x07\u202e")
        page.wait_for_selector(PANE)
        signs = page.evaluate(
            f"""[...document.querySelectorAll("{PANE} i")].map(
                (i) => [i.className, i.dataset.s, getComputedStyle(i, "::before").content])"""
        )
        assert [sign[:2] for sign in signs[:4]] == [["space", "·"], ["tab", "→"], ["newline", "↵"], ["control", "␇"]]
        assert all(content.strip('"\u200b\u2066\u2069') == shown for _, shown, content in signs if shown)

    def test_a_character_in_three_tokens_is_one_group_with_its_bytes(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes", text="a天b")
        page.wait_for_selector(LIST)
        classes = page.evaluate(
            f"""[...document.querySelectorAll("{PANE}")].map(
                (t) => ["gs", "gm", "ge"].filter((c) => t.classList.contains(c)).join())"""
        )
        assert classes == ["", "gs", "gm", "ge", ""]
        slices = page.locator(f"{PANE} i.slice")
        titles = [slices.nth(at).get_attribute("title") for at in range(3)]
        assert titles == ["e5: byte 1 of the 3 of 天", "a4: byte 2 of the 3 of 天", "a9: byte 3 of the 3 of 天"]
        boxes = page.evaluate(f"""[...document.querySelectorAll("{PANE} .of")].map(
            (e) => (b => [b.left, b.width])(e.getBoundingClientRect()))""")
        assert max(width for _, width in boxes) - min(width for _, width in boxes) < 0.1, "slices of one character"
        size = page.locator(PANE).first.evaluate("t => parseFloat(getComputedStyle(t).fontSize)")
        assert sum(width for _, width in boxes) < 1.3 * size, "which is drawn once"
        assert all(abs(a + width - b) < 0.1 for (a, width), (b, _) in itertools.pairwise(boxes))
        assert page.locator(f"{PANE} i.bytes").count() == 0
        page.locator(PANE).nth(2).click()
        page.get_by_text("Shares a character with 2 neighbors: ids 229, 164, 169.").wait_for()

    @pytest.mark.parametrize("as_", ["ids", "bytes", "nothing"])
    def test_the_side_pane_shows_the_chosen_column(self, view: Any, as_: str) -> None:
        view.get_by_label(as_, exact=True).check()
        if as_ == "nothing":
            view.locator(".pane.list").wait_for(state="hidden")
        elif as_ == "bytes":
            view.wait_for_selector(".tokens.as-bytes")
            shown = view.locator(LIST).all_text_contents()
            assert b"".join(bytes.fromhex(text) for text in shown) == TEXT.encode()
            assert axe_violations(view) == []


RUNS = """selector => [...document.querySelectorAll(selector)].map((token) => {
    const box = token.getBoundingClientRect();
    return [box.left, box.top];
})"""


class TestRightToLeft:
    """Tokens of a right-to-left word stand in the order in which it is read, also where a character is cut."""

    @pytest.mark.parametrize(
        "text",
        ["The word \u05e9\u05dc\u05d5\u05dd here", "a \u0645\u0631\u062d\u0628\u0627", "\u05e9\u05dc\u05d5\u05dd abc"],
    )
    @pytest.mark.parametrize("where", ["page", "notebook"])
    def test_bytes_of_a_right_to_left_word_keep_its_direction(self, open_page: Open, text: str, where: str) -> None:
        page = open_page(tokenizer="bytes", text=text)
        page.wait_for_selector(PANE)
        selector = PANE
        if where == "notebook":
            fragment = jeton.Tokenizer.from_merges({b: bytes([b]) for b in range(256)}, []).tokenize(text)._repr_html_()
            page = page.context.new_page()
            page.set_content(f"<!doctype html><meta charset=utf-8><body>{fragment}")
            selector = ".jeton-tokens .t"
        lefts = [left for left, _ in page.evaluate(RUNS, selector)]
        owners = [index for index, character in enumerate(text) for _ in character.encode()]
        is_rtl = [text[owner] > "\u0590" for owner in owners]
        spans = [place for place, rtl in enumerate(is_rtl) if rtl]
        word = [lefts[place] for place in spans]
        assert word == sorted(word, reverse=True), "its bytes, from the right"
        for place, rtl in enumerate(is_rtl):  # the other tokens are on one side of the word, none is inside
            assert rtl or lefts[place] > max(word) or lefts[place] < min(word)

    def test_a_cut_last_character_is_drawn_at_the_left(self, open_page: Open) -> None:
        """Three letters in one token, the first byte of the fourth with them or alone."""
        word = "\u05e9\u05dc\u05d5\u05dd"
        page = open_page(tokenizer="bytes", text="a")
        page.wait_for_selector(PANE)
        drawing = draw([(1, b"say "), (2, word.encode()[:7]), (3, word.encode()[7:]), (4, b" now")])
        lefts = page.evaluate(
            """async (drawing) => {
                const { drawTokens } = await import("./draw.js");
                const pane = document.querySelector(".pane");
                pane.replaceChildren(drawTokens(drawing, { label: "Tokens" }));
                return [...pane.querySelectorAll(".t")].map((token) => token.getBoundingClientRect().left);
            }""",
            drawing.to_json(),
        )
        say, first, last, now = lefts
        assert say < last < first < now

    def test_hexadecimal_bytes_are_ordered_from_left_to_right(self, open_page: Open) -> None:
        """Where a character is not drawn in slices, as in the card of one token."""
        page = open_page(tokenizer="bytes", text="\u05e9\u05dc\u05d5\u05dd")
        page.locator(PANE).first.click()
        contents = page.locator(".card .face i").evaluate("i => getComputedStyle(i, '::before').content")
        assert contents == '"\u200f\u2066\u27e8d7\u27e9\u2069\u200f"'


# The colors of a picture a few pixels below its top, from left to right.
ROW = """async (picture) => {
    const image = new Image();
    image.src = `data:image/png;base64,${picture}`;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    canvas.getContext("2d").drawImage(image, 0, 0);
    const { data } = canvas.getContext("2d").getImageData(0, 9, image.width, 1);
    return Array.from({ length: image.width }, (_, x) => data.slice(4 * x, 4 * x + 3).join());
}"""


class TestNeighbors:
    def test_tokens_of_equal_color_are_separated_by_a_gap(self, open_page: Open) -> None:
        """Where equal colors meet, the ground shows through."""
        page = open_page(tokenizer="bytes", text="aaaa")
        page.wait_for_selector(PANE)
        picture = base64.b64encode(page.locator(".pane:not(.list) .block").screenshot()).decode()
        start = page.locator(".pane:not(.list) .block").bounding_box()["x"]
        second, third = (page.locator(PANE).nth(at).bounding_box()["x"] - start for at in (1, 2))
        row = page.evaluate(ROW, picture)
        ground = row[-1]
        assert ground in row[round(second) : round(second) + 3]
        assert ground not in row[round(second) + 3 : round(third) - 1]

    def test_the_gap_has_no_width(self, open_page: Open) -> None:
        """So that the letters of Arabic join across tokens."""
        page = open_page(tokenizer="bytes", text="aaaa")
        page.wait_for_selector(PANE)
        boxes = page.evaluate(
            f"""[...document.querySelectorAll("{PANE}")].map(
                t => t.getBoundingClientRect()).map(b => [b.left, b.right])"""
        )
        assert all(abs(one[1] - other[0]) < 0.1 for one, other in itertools.pairwise(boxes))


class TestSpecialTokens:
    """One that strips its neighbors covers white space of the text."""

    @pytest.fixture
    def stripping(self, open_page: Open) -> Any:
        tok = tokenizer("byte gpt2")
        facts = json.loads(tok.to_bytes())
        for token in facts["added_tokens"]:
            token["lstrip"] = token["rstrip"] = True
        page = open_page(tokenizer="bytes", text="old <|endoftext|>\ntale", special=True)
        page.locator("#file").set_input_files(
            {"name": "stripping.json", "mimeType": "application/json", "buffer": json.dumps(facts).encode()}
        )
        page.locator(".pane .t.x").first.wait_for()
        return page

    def test_stripped_white_space_is_shown_beside_the_pill(self, stripping: Any) -> None:
        token = stripping.locator(".pane:not(.list) .t.x")
        assert token.evaluate("t => [...t.children].map(e => [e.className, e.dataset.s ?? e.textContent])") == [
            ["space", "·"],
            ["pill", "<|endoftext|>"],
            ["newline", "↵"],
        ]
        assert token.evaluate("t => t.textContent") == " <|endoftext|>\n"

    def test_the_pill_is_on_one_line(self, stripping: Any) -> None:
        pill = stripping.locator(".pane:not(.list) .pill")
        assert pill.evaluate("t => t.getClientRects().length") == 1
        heights = pill.evaluate("t => [t.getBoundingClientRect().height, parseFloat(getComputedStyle(t).lineHeight)]")
        assert heights[0] < 1.5 * heights[1], "on one line"
        following = stripping.locator(PANE).last.bounding_box()
        assert following["y"] > pill.bounding_box()["y"] + heights[0] / 2, "what follows begins a line"


class TestPointing:
    def test_hover_shows_a_token_until_the_pointer_leaves(self, view: Any) -> None:
        view.locator(PANE).nth(3).hover()
        view.wait_for_selector(".card dl")
        assert face(view) == IDS[3]
        assert current(view) == [3, 3]
        view.locator(LIST).nth(5).hover()
        view.locator(".card dd", has_text=re.compile(f"^{IDS[5]}$")).first.wait_for()
        assert current(view) == [5, 5]
        view.mouse.move(5, 5)
        view.get_by_text("Point at a token").wait_for()
        assert current(view) == [-1, -1]

    @pytest.mark.parametrize(
        ("before", "at"),
        rest_is_slow(
            product(["nothing", "caret", "tab", "press"], [0, 2]),
            lambda case: case[1] == 0 or case[0] == "press",
            "each way, and each token",
        ),
    )
    def test_a_press_shows_the_token_after_caret_tab_or_press(self, open_page: Open, at: int, before: str) -> None:
        """Each of these may have pinned the token already, and a press must not let it go."""
        page = open_page(tokenizer="bytes", text="abc")
        page.wait_for_selector(f"{LIST} >> nth=2")
        box = page.get_by_label("Text", exact=True)
        if before == "caret":
            box.focus()
            page.evaluate("at => document.querySelector('textarea').setSelectionRange(at, at)", at)
        elif before == "tab":
            box.focus()
            for _ in range(3):  # over the switches
                page.keyboard.press("Tab")
        elif before == "press":
            page.locator(PANE).nth(at).click()
        page.mouse.move(5, 5)
        page.wait_for_timeout(200)
        page.locator(PANE).nth(at).click()
        page.mouse.move(5, 5)
        page.wait_for_timeout(200)
        assert current(page) == [at, at]
        assert face(page) == 97 + at

    def test_a_delayed_hover_on_a_removed_token_is_ignored(self, open_page: Open) -> None:
        """The card waits a moment; the text may be shorter by then."""
        page = open_page(tokenizer="bytes", text="abcdef")
        page.wait_for_selector(f"{LIST} >> nth=5")
        page.evaluate(
            f"""() => {{
                const token = document.querySelectorAll('{PANE}')[5];
                const over = () => token.dispatchEvent(
                    new PointerEvent('pointerover', {{ bubbles: true, pointerType: 'mouse' }}));
                const timer = setInterval(() => token.isConnected ? over() : clearInterval(timer), 5);
            }}"""
        )
        page.get_by_label("Text", exact=True).fill("a")
        page.locator(f"{PANE} >> nth=1").wait_for(state="detached")
        page.wait_for_timeout(200)
        assert page.locator(PANE).count() == 1

    def test_a_press_pins_the_token_and_selects_its_text(self, view: Any) -> None:
        place = next(i for i, token in enumerate(SMALL.tokenize(TEXT)) if token.char_span[0] > TEXT.index("😉") - 1)
        for at in (2, place):
            view.locator(LIST).nth(at).click()
            view.mouse.move(5, 5)
            view.wait_for_timeout(200)
            assert current(view) == [at, at]
            start, end = SMALL.tokenize(TEXT)[at].char_span
            selected = view.evaluate(
                "(a => a.value.slice(a.selectionStart, a.selectionEnd))(document.querySelector('textarea'))"
            )
            assert selected == TEXT[start:end]

    def test_the_caret_marks_its_token(self, view: Any) -> None:
        view.get_by_label("Text", exact=True).focus()
        for place, token in enumerate(SMALL.tokenize(TEXT)):
            if place % 3 or token.char_span[0] == token.char_span[1]:
                continue
            unit = len(TEXT[: token.char_span[0]].encode("utf-16-le")) // 2
            view.evaluate("unit => document.querySelector('textarea').setSelectionRange(unit, unit)", unit)
            view.wait_for_timeout(60)
            found = current(view)
            assert found[0] == found[1]
            start, end = SMALL.tokenize(TEXT)[found[0]].char_span
            assert start <= token.char_span[0] < end

    def test_the_card_has_all_facts_of_a_token(self, view: Any) -> None:
        place, id = next((i, id) for i, id in enumerate(IDS) if len(SMALL.id_to_bytes(id)) > 2)
        view.locator(PANE).nth(place).click()
        view.wait_for_selector(".card .merges li")
        facts = dict(
            zip(view.locator(".card dt").all_inner_texts(), view.locator(".card dd").all_inner_texts(), strict=True)
        )
        tree = SMALL.tree(id)
        assert facts == {
            "id": str(id),
            "bytes": SMALL.id_to_bytes(id).hex(" "),
            "spelling": SMALL.id_to_token(id),
            "merge number": f"{tree.nodes[-1].rank + 1:,}",
        }
        merges = [node for node in tree.nodes if node.left is not None]
        assert view.locator(".card .merges li").count() == len(merges)
        assert view.locator(".card .tree .bar").count() == len(tree.nodes)

    def test_other_occurrences_are_marked(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes", text="a-b-a-c-a")
        page.locator(PANE).nth(0).click()
        page.get_by_text("occurrence 1 of 3: character 1").wait_for()
        marked = page.evaluate(
            f"""[...document.querySelectorAll("{PANE}")].map(t => getComputedStyle(t).getPropertyValue("--same"))"""
        )
        assert [place for place, mark in enumerate(marked) if mark == "1"] == [0, 4, 8]
        page.get_by_role("button", name="next occurrence").click()
        page.get_by_text("occurrence 2 of 3: character 5").wait_for()
        page.keyboard.press("Enter")
        page.get_by_text("occurrence 3 of 3: character 9").wait_for()
        page.get_by_role("button", name="previous occurrence").press("Enter")
        page.get_by_text("occurrence 2 of 3").wait_for()

    def test_characters_are_counted_from_one(self, open_page: Open) -> None:
        page = open_page(tokenizer="default", text="a strawberry")
        page.locator(PANE).last.click()
        page.get_by_text("Only occurrence: characters 8 to 12").wait_for()


TAP = """([selector, at, finger]) => {
    const token = document.querySelectorAll(selector)[at];
    token.scrollIntoView({ block: "nearest" });
    const box = token.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
}"""
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def tap(page: Any, selector: str, at: int) -> None:
    """A tap of a finger, which covers more than a token of one letter; Playwright's own covers a point."""
    x, y = page.evaluate(TAP, [selector, at, 12])
    session = page.context.new_cdp_session(page)
    finger = {"x": x, "y": y, "radiusX": 12, "radiusY": 12, "force": 1}
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [finger]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_timeout(200)
    session.detach()


@pytest.mark.parametrize("context_options", [PHONE], ids=["phone"])
class TestTouch:
    @pytest.mark.parametrize("selector", rest_is_slow([PANE, LIST], lambda selector: selector == PANE, "the text"))
    def test_a_tap_selects_the_token_under_the_finger(self, open_page: Open, selector: str) -> None:
        """And not its neighbor that holds the focus."""
        page = open_page(tokenizer="bytes", text="abcdefghij")
        page.wait_for_selector(f"{LIST} >> nth=9")
        for at in (1, 2, 4, 3, 5, 0):
            tap(page, selector, at)
            assert current(page) == [at, at]
            page.keyboard.press("Escape")  # the card, which may lie over the next one
            page.wait_for_timeout(100)

    def test_a_tap_in_compare_selects_the_token_under_the_finger(self, open_page: Open) -> None:
        page = open_page(view="compare", text="abcdefghij", compare=["bytes"])
        page.wait_for_selector(".column .t >> nth=9")
        for at in (1, 2, 4, 3):
            tap(page, ".column .t", at)
            assert page.locator(".column .one-line").inner_text().startswith(f"id {97 + at} ")

    @pytest.mark.parametrize(
        "view", rest_is_slow(["tokens", "chat", "vocabulary"], lambda view: view == "tokens", "one view")
    )
    def test_the_close_button_closes_the_card(self, open_page: Open, view: str) -> None:
        token = {"tokens": PANE, "chat": ".turn .t", "vocabulary": ".entries tbody button"}[view]
        page = open_page(view=view, tokenizer="lessons", text="abc def")
        page.locator(token).first.tap()
        page.wait_for_selector(f"#view-{view} .card dl")
        assert axe_violations(page) == []
        close = page.get_by_role("button", name="Close", exact=True)
        box, sheet = close.bounding_box(), page.locator(f"#view-{view} .detail").bounding_box()
        assert box["width"] >= 40 <= box["height"]
        assert sheet["y"] <= box["y"] < 844 - box["height"], "in sight, at the bottom of the screen"
        close.tap()
        page.locator(f"#view-{view} .card").wait_for(state="detached")
        assert page.locator(".t.current").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(
    ("focus", "view"),
    rest_is_slow(
        product(["token", "card", "nowhere"], ["tokens", "chat", "vocabulary"]),
        lambda case: case[1] == "tokens" or case[0] == "token",
        "each focus, and each view",
    ),
)
def test_escape_closes_the_card(open_page: Open, view: str, focus: str) -> None:
    token = {"tokens": PANE, "chat": ".turn .t", "vocabulary": ".entries tbody button"}[view]
    page = open_page(view=view, tokenizer="lessons", text="abc def")
    page.locator(token).first.wait_for()
    if focus == "token":
        page.locator(token).first.focus()
        page.keyboard.press("Enter")
    else:
        page.locator(token).first.click()
    page.wait_for_selector(f"#view-{view} .card dl")
    if focus == "card":
        page.locator(".card .close").focus()
    elif focus == "nowhere":
        page.evaluate("document.activeElement.blur()")
    page.mouse.move(5, 5)
    page.keyboard.press("Escape")
    page.locator(f"#view-{view} .card").wait_for(state="detached")
    assert page.locator(".t.current").count() == 0
    if focus != "nowhere":
        assert page.evaluate("s => document.activeElement === document.querySelector(s)", token)
        page.wait_for_timeout(200)
        assert page.locator(".card").count() == 0
        page.keyboard.press("Enter")
        page.wait_for_selector(f"#view-{view} .card dl")


class TestKeys:
    def test_the_view_works_with_keys_alone(self, open_page: Open) -> None:
        """From the address bar: to the box, the switches, the tokens, the card, the list."""
        page = open_page(tokenizer="bytes")
        reached: list[str] = []

        def tab_to(selector: str) -> None:
            for _ in range(40):
                page.keyboard.press("Tab")
                if page.evaluate("s => document.activeElement.matches(s)", selector):
                    outline = page.evaluate("(e => getComputedStyle(e).outlineStyle)(document.activeElement)")
                    assert outline != "none", f"{selector} does not show that it has the focus"
                    reached.append(selector)
                    return
            raise AssertionError(f"Tab does not reach {selector} after {reached}")

        tab_to(".skip")
        tab_to("#tab-tokens")
        tab_to("#share")
        tab_to("#theme")
        tab_to("#tokenizer input")
        tab_to("#compare")
        tab_to("#choose")
        tab_to("textarea")
        page.keyboard.type("one two one\nthree")
        page.wait_for_selector(f"{LIST} >> nth=16")
        tab_to(".pane:not(.list) .t")
        assert current(page) == [0, 0]
        page.keyboard.press("ArrowRight")
        assert current(page) == [1, 1]
        page.keyboard.press("End")
        assert current(page) == [16, 16]
        page.keyboard.press("ArrowUp")
        assert current(page)[0] == 4
        page.keyboard.press("ArrowDown")
        assert current(page)[0] == 16
        page.keyboard.press("Home")
        page.keyboard.press("ArrowLeft")
        assert current(page) == [0, 0]
        name = page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert name == "o, token 1 of 17, id 111"
        assert page.locator(f"{PANE}[tabindex]").count() == 1
        tab_to(".finding button")
        tab_to(".question")
        tab_to(".settings summary")
        tab_to("input[type=checkbox]")
        tab_to("input[type=radio]")
        tab_to(".pane.list .t")
        page.keyboard.press("ArrowRight")
        assert current(page) == [1, 1]
        page.keyboard.press("Shift+Tab")
        for _ in range(20):
            page.keyboard.press("Shift+Tab")
            if page.evaluate("document.activeElement.matches('.card .next')"):
                break
        page.keyboard.press("Enter")

    def test_the_skip_link_leads_to_the_text(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes", text="a")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"


class TestCopying:
    @pytest.mark.parametrize(
        "text",
        rest_is_slow(
            [TEXT, *(text for text in TRICKY if text and "\x00" not in text and "\r" not in text)],
            lambda text: text == TEXT or "\u3000" in text or "😉" in text or "\n" in text,
            "white space of all kinds, line ends, emoji",
        ),
    )
    def test_copied_tokens_are_the_text(self, open_page: Open, text: str) -> None:
        page = open_page(tokenizer="small", text=text)
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.wait_for_selector(PANE)
        page.evaluate("getSelection().selectAllChildren(document.querySelector('.pane:not(.list) .tokens'))")
        page.keyboard.press("ControlOrMeta+C")
        assert page.evaluate("navigator.clipboard.readText()") == text

    def test_copying_over_many_blocks_gives_the_text(self, open_page: Open) -> None:
        text = "".join(f"line {n} of the old tale\n" for n in range(200))
        page = open_page(tokenizer="small", text=text)
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.wait_for_selector(LIST)
        assert page.locator(".pane:not(.list) .block").count() > 5
        page.evaluate("getSelection().selectAllChildren(document.querySelector('.pane:not(.list) .tokens'))")
        page.keyboard.press("ControlOrMeta+C")
        assert page.evaluate("navigator.clipboard.readText()") == text


HOSTILE = {
    "script": "<script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">",
    "attributes": "\" onmouseover=\"document.title='pwned'\" x=\"' onfocus='document.title=1' autofocus '",
    "css": '</style><style>*{display:none!important}</style> style="position:fixed" url(javascript:alert(1))',
    "template": "${document.title='pwned'} {{constructor.constructor('return 1')()}} &lt;b&gt; &#60;",
    "overrides": "a\u202e\u202dfdp.exe\u2066\u2067\u2069\u202c\u200f\u061c b",
    "zero width": "a\u200b\u200c\u200d\u2060\ufeff\u00ad\u180eb\u115f\u3164\uffa0",
    "tags": "flag \U000e0067\U000e0062\U000e007f end",
    "marks": "z" + "\u0301\u0489\u20dd" * 200,
    "controls": "".join(map(chr, (*range(1, 32), *range(127, 160)))),
    "noncharacters": "\ufffe\uffff\U0010ffff\ufdd0",
    "separators": "a\u2028b\u2029c\x85d\x0be\x0cf",
    "prototype": "__proto__ constructor hasOwnProperty toString",
}


class TestHostileText:
    @pytest.mark.parametrize(
        ("name", "tokenizer_"),
        rest_is_slow(
            product(HOSTILE, ["bytes", "small", "characters"]),
            lambda case: case[1] == "bytes" or case[0] == next(iter(HOSTILE)),
            "each text in bytes, each tokenizer with one text",
        ),
    )
    def test_hostile_text_is_shown_and_not_executed(self, open_page: Open, name: str, tokenizer_: str) -> None:
        text = HOSTILE[name]
        page = open_page(tokenizer=tokenizer_, text=text)
        page.on("dialog", lambda dialog: pytest.fail("a dialog"))
        page.wait_for_selector(LIST)
        page.locator(PANE).first.hover()
        page.wait_for_selector(".card dl")
        assert page.title() == "Tokens · Jeton"
        elements = page.evaluate(
            "[...new Set([...document.querySelectorAll('main *')].map(e => e.tagName.toLowerCase()))]"
        )
        assert not {"script", "img", "style", "iframe", "object", "b", "svg"} & set(elements)
        assert page.evaluate(
            """[...document.querySelectorAll('main *')].every(
                (e) => [...e.attributes].every((a) => !a.name.startsWith('on')))"""
        )
        if tokenizer_ == "bytes":
            assert [int(text) for text in page.locator(LIST).all_text_contents()] == list(text.encode())

    def test_a_right_to_left_override_does_not_move_tokens(self, open_page: Open) -> None:
        """Behind a right-to-left override the tokens still stand from left to right."""
        page = open_page(tokenizer="bytes", text="ab\u202ecd")
        page.wait_for_selector(PANE)
        lefts = page.evaluate(f"""[...document.querySelectorAll("{PANE}")].map(t => t.getBoundingClientRect().left)""")
        assert lefts == sorted(lefts)

    def test_a_lone_surrogate_shows_an_error(self, open_page: Open, problems: Problems) -> None:
        page = open_page(tokenizer="small", text="ab")
        page.wait_for_selector(LIST)
        page.evaluate(
            """() => {
                const area = document.querySelector("textarea");
                area.value = "ab\\ud800c";
                area.dispatchEvent(new InputEvent("input"));
            }"""
        )
        page.locator(".pane .failure").wait_for()
        said = page.locator(".pane .failure").inner_text()
        assert "a lone surrogate" in said
        assert "encode" not in said  # advice for programs
        problems.forgive("400")
        page.get_by_label("Text", exact=True).fill("ab")
        page.wait_for_selector(LIST)


# ── how fast ────────────────────────────────────────────────────────────────────────────────────────────────────────

PAINT = """async ([text, limit, key]) => {
    const body = JSON.stringify({ tokenizer: key, text, limit });
    const answer = await (await fetch("api/tokens", { method: "POST", body })).json();
    const { drawTokens } = await import("./draw.js");
    const pane = document.querySelector(".pane");
    pane.replaceChildren();
    const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    await painted();
    const start = performance.now();
    const element = drawTokens(answer.drawing, { label: "Tokens" });
    pane.replaceChildren(element);
    await element.filled;
    await painted();
    return [answer.drawing.ids.length, element.querySelectorAll(".t").length, performance.now() - start];
}"""


@pytest.mark.alone
@pytest.mark.parametrize(
    ("num_tokens", "limit_ms"),
    rest_is_slow([(10_000, 100), (100_000, 500)], lambda case: case[0] == 10_000, "10,000 tokens"),
)
def test_painting_stays_within_the_time_limit(
    open_page: Open, num_tokens: int, limit_ms: int, record_property: Callable[[str, object], None]
) -> None:
    """Time from the answer to the painted page, all tokens in place. The best of several, because other work disturbs:
    eight, and up to 24 with pauses while the limit is not met."""
    page = open_page(tokenizer="small", text="a")
    page.wait_for_selector(LIST)
    text = CORPUS * (num_tokens * 6 // len(CORPUS) + 1)
    best = float("inf")
    for attempt in range(24):
        drawn, there, took = page.evaluate(PAINT, [text, num_tokens, "small"])
        assert drawn == there == num_tokens
        best = min(best, took)
        if best < limit_ms * (0.7 if attempt < 7 else 1):
            break
        if attempt >= 7:
            page.wait_for_timeout(1000)
    record_property("milliseconds", best)
    print(f"{num_tokens:,} tokens painted in {best:.0f} ms")
    assert best < limit_ms


GAPS = """() => {
    window.gaps = [];
    let last = performance.now();
    const tick = (now) => { window.gaps.push(now - last); last = now; requestAnimationFrame(tick); };
    requestAnimationFrame(tick);
}"""


class TestTenMegabytes:
    TEXT = (CORPUS * (10_000_000 // len(CORPUS.encode()) + 1)).encode()[:10_000_000].decode("utf-8", "ignore")

    @pytest.mark.alone
    @pytest.mark.slow(reason="test_a_word_of_a_megabyte_is_shown, and ten megabytes in test_long_texts.py")
    def test_a_paste_does_not_freeze_the_page(self, open_page: Open) -> None:
        page = open_page(tokenizer="small", text="a")
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.wait_for_selector(LIST)
        page.evaluate("text => navigator.clipboard.writeText(text)", self.TEXT)
        page.get_by_label("Text", exact=True).fill("")
        page.wait_for_timeout(300)
        page.evaluate(GAPS)
        start = time.perf_counter()
        page.get_by_label("Text", exact=True).press("ControlOrMeta+V")
        expected = SMALL.count(self.TEXT)
        page.locator(".figures dd", has_text=re.compile(f"^{expected:,}$")).first.wait_for(timeout=30_000)
        took = time.perf_counter() - start
        longest = page.evaluate("Math.max(...window.gaps)")
        print(f"10 MB: counted after {took:.1f} s, longest pause of the page {longest:.0f} ms")
        assert longest < 1500
        assert counts(page)["bytes"] == f"{len(self.TEXT.encode()):,}"
        page.get_by_text(f"The first 20,000 of {expected:,} tokens are drawn").wait_for()
        page.wait_for_selector(f"{LIST} >> nth=19999", state="attached")
        ids = page.evaluate(f"""[...document.querySelectorAll("{LIST}")].map(t => Number(t.textContent))""")
        assert ids == SMALL.encode_array(self.TEXT)[:20_000].tolist()
        box = page.get_by_label("Text", exact=True)
        assert box.get_attribute("readonly") is not None
        assert 9_000 < len(box.input_value()) <= 10_000  # 10,000 as browsers count
        page.get_by_text("only its beginning is shown").wait_for()

        page.get_by_role("button", name="Draw 100,000").click()
        page.get_by_text(f"The first 100,000 of {expected:,} tokens are drawn").wait_for(timeout=30_000)

        page.get_by_role("button", name="Clear").click()
        page.locator(".figures dd", has_text=re.compile("^0$")).first.wait_for()
        box.fill("short again")
        page.locator(".figures dd", has_text=re.compile(f"^{SMALL.count('short again')}$")).first.wait_for()

    def test_a_word_of_a_megabyte_is_shown(self, open_page: Open) -> None:
        page = open_page(tokenizer="small", text="a")
        page.wait_for_selector(LIST)
        text = "oldtale" * 150_000
        page.evaluate(
            """(text) => {
                const data = new DataTransfer();
                data.setData("text/plain", text);
                const area = document.querySelector("textarea");
                area.select();
                const options = { clipboardData: data, bubbles: true, cancelable: true };
                area.dispatchEvent(new ClipboardEvent("paste", options));
            }""",
            text,
        )
        page.locator(".figures dd", has_text=re.compile(f"^{SMALL.count(text):,}$")).first.wait_for(timeout=30_000)
        page.locator(PANE).nth(100).click()
        page.wait_for_selector(".card dl")


@pytest.mark.parametrize(
    "context_options", [{"color_scheme": "light"}, {"color_scheme": "dark"}], ids=["light", "dark"]
)
def test_the_view_has_no_accessibility_violations(open_page: Open, context_options: dict[str, Any]) -> None:
    page = open_page(tokenizer="small", text=TEXT + "<|endoftext|>", special=True)
    page.wait_for_selector(LIST)
    assert axe_violations(page) == []
    page.locator(PANE).nth(4).click()
    page.wait_for_selector(".card dl")
    assert axe_violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_hue_has_contrast(open_page: Open, scheme: str) -> None:
    """Letters on all 360 colors, as the browser computes them: at least 4.5:1, signs of white space too."""
    page = open_page(tokenizer="small", text="a b")
    page.get_by_label("Theme").select_option(scheme)
    page.wait_for_selector(PANE)
    ratios = page.evaluate(
        """() => {
            const light = (rgb) => {
                const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                const [r, g, b] = rgb.map((v) => linear(v / 255));
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
            const ratio = (one, other) => {
                const [a, b] = [light(one), light(other)].sort((x, y) => y - x);
                return (a + 0.05) / (b + 0.05);
            };
            const root = document.querySelector(".pane .block");
            const sign = parseFloat(getComputedStyle(document.querySelector(".pane i.space"), "::before").opacity);
            return Array.from({ length: 360 }, (_, hue) => {
                const token = document.createElement("span");
                token.className = `t h${hue}`;
                root.append(token);
                const style = getComputedStyle(token);
                const [ground, ink] = [numbers(style.backgroundImage.match(/rgb\\([^)]*\\)/)[0]), numbers(style.color)];
                const faint = ink.map((v, i) => v * sign + ground[i] * (1 - sign));
                token.remove();
                return [ratio(ground, ink), ratio(ground, faint)];
            });
        }"""
    )
    assert len(ratios) == 360
    assert min(letters for letters, _ in ratios) >= 4.5
    assert min(signs for _, signs in ratios) >= 4.5
