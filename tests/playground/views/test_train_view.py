"""The Train view in Chromium: a run, walked along by mouse, keys and by itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import jeton
from jeton.drawing import visible

from ...selection import rest_is_slow
from ..conftest import Problems, axe_violations

Open = Callable[..., Any]

TEXT = "abcababcaabc"
TEN_WORDS = "old older fast faster fastest best better yes desk mess"
EXAMPLE = {"view": "train", "text": TEXT, "pattern": "none", "ties": "first", "size": 260}


def at_step(page: Any, step: int, last: int) -> None:
    words = f"Merge number {step} of {last}" if step else f"Before the first of {last} merge"
    page.locator(".headline", has_text=words).wait_for()


def drawn(page: Any, title: str) -> list[str]:
    """The tokens of the sequence under a title."""
    return page.get_by_label(title).locator(".t").evaluate_all("all => all.map((one) => one.textContent)")  # type: ignore[no-any-return]


def test_every_step_equals_that_of_the_run(open_page: Open) -> None:
    page = open_page(**EXAMPLE)
    at_step(page, 0, 4)
    tok = jeton.train([TEXT], 260, pattern="none", tie_break="first", progress=False)
    run = jeton.replay(tok, [TEXT])
    spelled = [[tok.vocab[id].decode() for id in run.at(step)[0]] for step in range(5)]
    assert drawn(page, "The text before this merge") == spelled[0]
    for step in range(1, 5):
        page.get_by_role("button", name="Step forward").click()
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
        pair = " + ".join(tok.vocab[id].decode() for id in (merge.left, merge.right))
        said = page.locator(".run .verdict").inner_text()
        assert said.startswith(f"{pair} merges: it ")
        times = "once" if merge.pair_count == 1 else f"{merge.pair_count} times"
        assert f" {times}" in said
        tied = sum(other.pair_count == merge.pair_count for other in merge.pairs) > 1
        assert ("Of equal pairs, the one that comes first in the text merges." in said) == tied
        assert len(new) == len(marked) // 2
        figures = page.locator(".figures dd").all_inner_texts()
        assert figures[:3] == [str(merge.corpus_tokens), f"{merge.bytes_per_token:.3f}", str(256 + step)]
    assert page.locator(".made li").count() == 4
    assert page.locator(".made li.latest").inner_text().startswith("abcababc")


@pytest.mark.parametrize("step", [0, 3])
def test_right_to_left_text_keeps_its_order_at_every_step(open_page: Open, step: int) -> None:
    """Whether or not the bytes of a letter are merged by then."""
    page = open_page(view="train", text="\u05e9\u05dc\u05d5\u05dd \u05e9\u05dc\u05d5\u05dd", pattern="o200k", step=step)
    page.wait_for_selector(".stage .pane .t >> nth=5")
    lefts = (
        page.get_by_label("The text before this merge")
        .locator(".t")
        .evaluate_all("all => all.map((one) => one.getBoundingClientRect().left)")
    )
    assert lefts == sorted(lefts, reverse=True)


def test_keys_slider_list_and_address_set_the_step(open_page: Open) -> None:
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
    assert page.get_by_label("Step", exact=True).get_attribute("aria-valuetext") == "step 2 of 4: ab + c"
    page.get_by_role("button", name="ab, id 256: go to its merge").press("Enter")
    at_step(page, 1, 4)
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "ab, id 256: go to its merge"
    page.wait_for_url(re.compile("step%3A=1"))
    said = "Merge number 1 of 4: a + b merges: it occurs 4 times, the highest count."
    assert page.locator("#live").inner_text() == said


def test_play_advances_and_stops_at_the_end(open_page: Open) -> None:
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
def test_reduced_motion_selects_the_slowest_speed(open_page: Open) -> None:
    assert open_page(**EXAMPLE).get_by_label("Speed").input_value() == "2000"


def test_rules_levels_and_patterns_change_the_run(open_page: Open) -> None:
    page = open_page(**EXAMPLE, step=4)
    at_step(page, 4, 4)
    page.get_by_label("Break ties by").select_option("lowest_ids")
    at_step(page, 0, 4)
    page.get_by_role("button", name="Last step").click()
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


def test_overlapping_occurrences_are_counted_apart_from_merges(open_page: Open) -> None:
    """``aaa`` has the pair ``a + a`` twice, and one of them merges."""
    page = open_page(view="train", text="aaabdaaabac", size=259, pattern="none", ties="lowest_ids", step=1)
    at_step(page, 1, 3)
    said = page.locator(".run .verdict").inner_text()
    assert said == (
        "a + a merges: it occurs 4 times, the highest count. "
        "Occurrences overlap, as in aaa, so 2 of the 4 merge, from left to right."
    )
    assert page.locator(".pane .t.new").count() == 2
    page = open_page(view="train", text="ab", size=257, pattern="none", step=1)
    page.locator(".run .verdict", has_text="a + b merges: it is the only pair left. It occurs once.").wait_for()


RULES = {
    "lowest_ids": "Of equal pairs, the one with the lowest ids merges, here {left} and {right}.",
    "first": "Of equal pairs, the one that comes first in the text merges.",
    "highest_pair": "Of equal pairs, the one whose spelling is last in byte order merges; left symbols are compared",
    "shortest": "Of equal pairs, the one that makes the shortest token merges; of equally short ones, the first",
}


@pytest.mark.parametrize("rule", RULES)
def test_the_explanation_of_a_tie_names_the_chosen_pair(open_page: Open, rule: Any) -> None:
    """The pair that the words choose among the pairs of equal count is the pair that merges."""
    tok = jeton.train([TEN_WORDS], 275, pattern="none", tie_break=rule, progress=False)
    run = jeton.replay(tok, [TEN_WORDS], top=100)
    page = open_page(view="train", text=TEN_WORDS, size=275, pattern="none", ties=rule)
    at_step(page, 0, len(run.steps))
    num_ties = 0
    for step in run.steps:
        page.get_by_role("button", name="Step forward").click()
        at_step(page, step.rank + 1, len(run.steps))
        said = page.locator(".run .verdict").inner_text()
        tied = [pair[:2] for pair in step.pairs if pair.pair_count == step.pair_count]
        assert (RULES[rule].format(left=step.left, right=step.right) in said) == (len(tied) > 1)
        num_ties += len(tied) > 1
        assert (" once" if step.pair_count == 1 else f" {step.pair_count} times") in said
        assert ("and no pair occurs more often." in said) == (len(tied) > 1)
        if len(tied) == 2:
            other = next(pair for pair in tied if pair != (step.left, step.right))
            assert f"it and {visible(run.spell(other[0]))} + {visible(run.spell(other[1]))} both occur" in said
        spelled = {pair: tuple(run.spell(id) for id in pair) for pair in tied}
        text = b"".join(b"|" + run.spell(id) + b"|" for id in run.at(step.rank)[0])
        best = {
            "lowest_ids": min(tied),
            "first": min(tied, key=lambda pair: text.index(b"|%s||%s|" % spelled[pair])),
            "highest_pair": max(tied, key=lambda pair: spelled[pair]),
            "shortest": min(tied, key=lambda pair: (len(b"".join(spelled[pair])), b"".join(spelled[pair]))),
        }[rule]
        assert best == (step.left, step.right)
    assert num_ties > 5


@pytest.mark.parametrize("algorithm", ["words", "wordpiece", "sentencepiece"])
def test_algorithms_of_words_show_each_word_once(open_page: Open, algorithm: str) -> None:
    text = "low low low lower newest newest widest"
    page = open_page(view="train", text=text, algorithm=algorithm)
    page.locator(".headline", has_text="Before the first of").wait_for()
    assert page.locator(".times").all_inner_texts() == ["×3", "×2"]
    assert page.locator(".begins").count() == 4
    first = {
        "words": "low</w>lower</w>newest</w>widest</w>",
        "wordpiece": "l##o##wl##o##w##e##r",
        "sentencepiece": "▁low",
    }
    assert "".join(drawn(page, "The text before this merge")).startswith(first[algorithm])
    assert page.get_by_label("Pattern").is_hidden()
    assert page.get_by_label("Break ties by").is_hidden() == (algorithm != "words")
    page.get_by_role("button", name="Last step").click()
    page.locator(".run .verdict", has_text="Then no pair is left, so training stops early.").wait_for()
    page.get_by_role("button", name="First step").click()
    page.get_by_role("button", name="Step forward").click()
    page.locator(".run .verdict", has_text="occur").wait_for()
    assert axe_violations(page) == []


def test_pairs_excluded_by_sentencepiece_are_explained(open_page: Open) -> None:
    page = open_page(view="train", text="x1 x1 x1 ab ab", algorithm="sentencepiece", size=20)
    page.get_by_role("button", name="Step forward").click()
    said = page.locator(".run .verdict", has_text="may not merge: a piece is of one script")
    for _ in range(6):
        if said.count():
            break
        page.get_by_role("button", name="Step forward").click()
    assert said.inner_text().endswith(
        "x + 1 would come before it, but may not merge: a piece is of one script, and digits do not join letters."
    )


def test_unigram_drops_pieces_run_by_run(open_page: Open) -> None:
    page = open_page(view="train", text=TEN_WORDS, algorithm="unigram")
    page.locator(".headline", has_text="The largest vocabulary of this text: 26 entries").wait_for()
    assert "Each step here is a training run of its own" in page.locator(".introduction").inner_text()
    page.get_by_role("button", name="Step forward").click()
    page.locator(".headline", has_text="Run 1 of 9: 25 entries").wait_for()
    said = page.locator(".run .verdict").inner_text()
    assert said.startswith(
        "▁faste is dropped: of the pieces of more than one character it has the lowest score, -4.09."
    )
    assert "The text needs 1 token more." in said
    assert page.get_by_label("The text before this run").locator(".new").all_inner_texts() == ["▁faste"]
    assert drawn(page, "The text after this run").count("▁faste") == 0
    assert axe_violations(page) == []
    page.get_by_role("button", name="Last step").click()
    page.locator(".headline", has_text="Run 9 of 9: 17 entries").wait_for()
    assert all(len(piece) == 1 for piece in drawn(page, "The text after this run"))


def test_the_curve_has_labeled_axes(open_page: Open) -> None:
    page = open_page(**EXAMPLE, step=2)
    page.locator(".curve svg").wait_for()
    ticks = page.locator(".curve .tick").all_text_contents()
    assert ticks == ["0", "2", "4", "0", "4", "number of merges"] or ticks[-3:] == ["0", "4", "number of merges"]
    assert page.locator(".curve h3").inner_text() == "Bytes per token"


def test_the_run_is_explained_in_chinese(open_page: Open) -> None:
    page = open_page(view="train", lang="zh", step=2)
    page.locator(".headline", has_text="第 2 次合并").wait_for()
    assert "。频次相同时" in page.locator(".view-train .verdict").inner_text()  # no space between sentences
    words = {*re.findall(r"\b[a-z]{4,}\b", page.locator(".view-train").inner_text())}
    assert words <= {*TEN_WORDS.split(), "abcababcaabc", "aaabdaaabac"}


def test_an_example_fills_an_empty_text(open_page: Open) -> None:
    page = open_page(view="train")
    at_step(page, 0, 14)  # ten words, until there is a text
    assert page.get_by_label("Text to train on").input_value() == TEN_WORDS
    page.get_by_label("Text to train on").fill("")
    page.get_by_text("Write or paste a few lines").wait_for()
    page.get_by_role("button", name="ten words").click()
    at_step(page, 0, 14)
    assert axe_violations(page) == []
    page.get_by_role("button", name="Chinese").click()
    at_step(page, 0, 12)
    page.get_by_role("button", name="Last step").click()
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
def test_invalid_settings_show_an_error(
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
    page.locator(".headline", has_text="Merge number 3 of").wait_for()
    assert page.locator(".view-train script, .view-train img").count() == 0
    assert "\u202e" not in page.locator(".stage").inner_text()


def test_the_longest_text_can_be_stepped_through(open_page: Open) -> None:
    text = " ".join(f"word{i} and number {i * 37}" for i in range(400))[:9_900]
    page = open_page(view="train", text=text, size=400, pattern="none", step=100)
    page.locator(".headline", has_text="Merge number 100 of 144").wait_for(timeout=30_000)
    page.get_by_text("are drawn.").first.wait_for()
    page.get_by_role("button", name="Last step").click()
    page.locator(".headline", has_text="Merge number 144 of 144").wait_for()
