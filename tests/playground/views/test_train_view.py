"""The Train view in Chromium: a run, walked along by mouse, keys and by itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import jeton

from ...selection import rest_is_slow
from ..conftest import Problems, axe_violations

Open = Callable[..., Any]

TEXT = "abcababcaabc"
EXAMPLE = {"view": "train", "text": TEXT, "pattern": "none", "ties": "first", "size": 260}


def at_step(page: Any, step: int, last: int) -> None:
    words = f"Merge {step} of {last}" if step else f"Before the first of {last} merge"
    page.locator(".headline", has_text=words).wait_for()


def drawn(page: Any, title: str) -> list[str]:
    """The tokens of the sequence under a title."""
    return page.get_by_label(title).locator(".t").evaluate_all("all => all.map((one) => one.textContent)")  # type: ignore[no-any-return]


def test_every_step_is_that_of_the_run(open_page: Open) -> None:
    page = open_page(**EXAMPLE)
    at_step(page, 0, 4)
    tok = jeton.train([TEXT], 260, pattern="none", tie_break="first", progress=False)
    run = jeton.replay(tok, [TEXT])
    spelled = [[tok.vocab[id].decode() for id in run.at(step)[0]] for step in range(5)]
    assert drawn(page, "The text before this merge") == spelled[0]
    for step in range(1, 5):
        page.get_by_role("button", name="Step forwards").click()
        at_step(page, step, 4)
        assert drawn(page, "The text before this merge") == spelled[step - 1]
        assert drawn(page, "The text after this merge") == spelled[step]
        merge = run.steps[step - 1]
        rows = page.locator(".bars tbody tr")
        assert [int(text) for text in rows.locator(".figure").all_inner_texts()] == [p.pair_count for p in merge.pairs]
        assert rows.first.get_attribute("class") == "chosen"
        marked = page.locator(".t.left, .t.right").all_inner_texts()
        assert "".join(marked) == merge.token.decode() * (len(marked) // 2)
        new = page.locator(".pane .t.new").all_inner_texts()
        assert set(new) == {merge.token.decode()}
        assert len(new) == len(marked) // 2
        figures = page.locator(".figures dd").all_inner_texts()
        assert figures[:3] == [str(merge.corpus_tokens), f"{merge.bytes_per_token:.3f}", str(256 + step)]
    assert page.locator(".made li").count() == 4
    assert page.locator(".made li.latest").inner_text().startswith("abcababc")


@pytest.mark.parametrize("step", [0, 3])
def test_a_text_from_the_right_stays_so_at_every_step(open_page: Open, step: int) -> None:
    """Whether or not the bytes of a letter are merged by then."""
    page = open_page(view="train", text="\u05e9\u05dc\u05d5\u05dd \u05e9\u05dc\u05d5\u05dd", pattern="o200k", step=step)
    page.wait_for_selector(".stage .pane .t >> nth=5")
    lefts = (
        page.get_by_label("The text before this merge")
        .locator(".t")
        .evaluate_all("all => all.map((one) => one.getBoundingClientRect().left)")
    )
    assert lefts == sorted(lefts, reverse=True)


def test_keys_slider_list_and_address_move_the_same_step(open_page: Open) -> None:
    page = open_page(**EXAMPLE, step=2)
    at_step(page, 2, 4)
    page.get_by_role("button", name="Step back").focus()
    page.keyboard.press("ArrowRight")
    at_step(page, 3, 4)
    page.keyboard.press("Home")
    at_step(page, 0, 4)
    page.keyboard.press("End")
    at_step(page, 4, 4)
    page.keyboard.press("Enter")  # the button itself: a step back
    at_step(page, 3, 4)
    page.get_by_label("Step", exact=True).focus()
    page.keyboard.press("ArrowLeft")
    at_step(page, 2, 4)
    assert page.get_by_label("Step", exact=True).get_attribute("aria-valuetext") == "step 2 of 4: ab and c merged"
    page.get_by_role("button", name="ab, id 256: go to its merge").press("Enter")
    at_step(page, 1, 4)
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "ab, id 256: go to its merge"
    page.wait_for_url(re.compile("step%3A=1"))
    assert page.locator("#live").inner_text() == "Merge 1 of 4: a and b become ab, 4 times"


def test_it_plays_by_itself_and_stops_at_the_end(open_page: Open) -> None:
    page = open_page(**EXAMPLE)
    at_step(page, 0, 4)
    page.get_by_label("Speed").select_option("80")
    page.get_by_role("button", name="Play").click()
    at_step(page, 4, 4)
    page.get_by_role("button", name="Play").wait_for()
    page.get_by_label("Speed").select_option("2000")
    page.get_by_role("button", name="Play").click()
    at_step(page, 0, 4)
    page.get_by_role("button", name="Pause").click()
    page.wait_for_timeout(2_300)
    at_step(page, 0, 4)


@pytest.mark.parametrize("context_options", [{"reduced_motion": "reduce"}])
def test_who_wants_less_motion_gets_it_slowly(open_page: Open) -> None:
    assert open_page(**EXAMPLE).get_by_label("Speed").input_value() == "2000"


def test_rules_levels_and_patterns_change_the_run(open_page: Open) -> None:
    page = open_page(**EXAMPLE, step=4)
    at_step(page, 4, 4)
    page.get_by_label("Break ties by").select_option("lowest_ids")
    at_step(page, 0, 4)
    page.get_by_role("button", name="End").click()
    page.locator(".made .latest", has_text="ababc").wait_for()
    page.get_by_label("Initial symbols").select_option("char")
    page.locator(".headline", has_text="Before the first of").wait_for()
    page.get_by_role("heading", name="The vocabulary: 3 characters and 0 new tokens").wait_for()
    page.get_by_label("Text to train on").fill("the theme then")
    page.get_by_label("Initial symbols").select_option("byte")
    page.get_by_label("Pattern").fill("gpt2")
    page.get_by_label("Pattern").press("Enter")
    page.locator(".t.begins").nth(2).wait_for()
    assert page.locator(".t.begins").count() == 3


def test_an_example_is_one_click_away(open_page: Open) -> None:
    page = open_page(view="train")
    page.get_by_text("Write or paste a few lines").wait_for()
    page.get_by_role("button", name="ten words").click()
    at_step(page, 0, 14)
    assert axe_violations(page) == []
    page.get_by_role("button", name="Chinese").click()
    at_step(page, 0, 12)
    page.get_by_role("button", name="End").click()
    assert axe_violations(page) == []


@pytest.mark.parametrize(
    ("state", "message"),
    rest_is_slow(
        [
            ({"text": "ab", "size": 10**9}, "integer from 1 to"),
            ({"text": "ab", "size": 100}, "256"),
            ({"text": "ab", "pattern": "(("}, "pattern"),
            ({"text": "天" * 3_400}, "the limit of this view is 10,000"),
            ({"text": "ab", "ties": "best"}, "one of lowest_ids"),
            ({"text": "ab", "step": -7}, None),
            ({"text": "ab", "step": "x"}, None),
        ],
        lambda case: case[1] in ("pattern", "256") or case[0].get("step") == "x",
        "the endpoint's own tests have all",
    ),
)
def test_what_cannot_be_is_said(
    open_page: Open, problems: Problems, state: dict[str, Any], message: str | None
) -> None:
    page = open_page(view="train", **state)
    if message is None:
        at_step(page, 0, 1)
        return
    page.locator(".failure", has_text=message).wait_for()
    problems.forgive("400")
    page.get_by_role("button", name="abcababcaabc").click()
    at_step(page, 0, 4)


def test_hostile_text_is_text(open_page: Open) -> None:
    text = "<script>alert(1)</script><img src=x onerror=alert(2)> \u202eright\u202c zero\u200bwidth \u0000\x1b[31m"
    page = open_page(view="train", text=text, size=280, step=3)
    page.locator(".headline", has_text="Merge 3 of").wait_for()
    assert page.locator(".view-train script, .view-train img").count() == 0
    assert "\u202e" not in page.locator(".stage").inner_text()


def test_the_longest_text_can_be_walked(open_page: Open) -> None:
    text = " ".join(f"word{i} and number {i * 37}" for i in range(400))[:9_900]
    page = open_page(view="train", text=text, size=400, pattern="none", step=100)
    page.locator(".headline", has_text="Merge 100 of 144").wait_for(timeout=30_000)
    page.get_by_text("are drawn.").first.wait_for()
    page.get_by_role("button", name="End").click()
    page.locator(".headline", has_text="Merge 144 of 144").wait_for()
