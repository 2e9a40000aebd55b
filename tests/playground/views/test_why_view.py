"""The Why view: splits and their pattern, merges step by step, lattices, longest matches; hostile and long texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.playground.catalog import Catalog

from ...material import tokenizer
from ..conftest import Problems, axe_violations, running

Open = Callable[..., Any]

SMALL = tokenizer("byte gpt2")
TEXT = "the oldest tale, naïve 天"


def symbols(page: Any) -> list[str]:
    return [str(text) for text in page.locator(".symbols .t").all_text_contents()]


@pytest.fixture(scope="module")
def elsewhere(data: Path) -> Iterator[str]:
    """A playground with real vocabularies of other models."""
    names = ("t5-small.tokenizer.json", "bert-uncased.vocab.txt", "mistral-v1.model")
    with running(Catalog([str(data / "vocabs" / name) for name in names], cached=False)) as address:
        yield address


class TestSplits:
    def test_every_pretoken_is_there_with_its_number_of_tokens(self, open_page: Open) -> None:
        page = open_page(view="why", tokenizer="small", text=TEXT)
        page.wait_for_selector(".split")
        explanation = SMALL.explain(TEXT)
        assert page.locator(".split small").all_text_contents() == [str(len(p.ids)) for p in explanation.pretokens]
        assert "".join(page.locator(".split span").all_text_contents()) == TEXT.replace(" ", "·")

    def test_the_part_of_the_pattern_that_made_one(self, open_page: Open) -> None:
        page = open_page(view="why", tokenizer="small", text=TEXT)
        page.wait_for_selector(".split")
        explanation = SMALL.explain(TEXT).to_json()
        for index, pretoken in enumerate(explanation["pretokens"]):
            page.locator(".split").nth(index).click()
            page.get_by_text(f"Matched by regex alternative {pretoken['part'] + 1}:").wait_for()
            assert page.locator(".pattern code").text_content() == explanation["pattern"][pretoken["part"]]
        assert page.locator(".parts li").count() == len(explanation["pattern"])

    def test_arrow_keys_go_from_split_to_split(self, open_page: Open) -> None:
        page = open_page(view="why", tokenizer="small", text=TEXT)
        page.locator(".split").first.focus()
        page.keyboard.press("ArrowRight")
        page.locator(".split[aria-pressed=true]", has_text="·oldest").wait_for()
        assert page.locator(".split[tabindex='0']").count() == 1
        page.keyboard.press("ArrowLeft")
        page.locator(".split[aria-pressed=true]", has_text="the").wait_for()

    def test_a_special_token_is_matched_whole(self, open_page: Open) -> None:
        page = open_page(view="why", tokenizer="small", text="a<|endoftext|>", special=True, pretoken=1)
        page.get_by_text("A special or added token, which is matched before").wait_for()


class TestRightToLeft:
    """Symbols and signs stand in the order in which they are read."""

    def test_symbols_from_the_right_and_pairs_around_their_signs(self, open_page: Open) -> None:
        page = open_page(view="why", tokenizer="bytes", text="\u05e9\u05dc\u05d5\u05dd")
        page.wait_for_selector(".symbols .t >> nth=7")
        lefts = page.evaluate(
            "[...document.querySelectorAll('.symbols .t')].map((symbol) => symbol.getBoundingClientRect().left)"
        )
        assert lefts == sorted(lefts, reverse=True)

    def test_a_merge_is_read_from_the_left(self, page: Any) -> None:
        word = "\u05e9\u05dc"
        tok = jeton.train([f"{word} {word}"], 5, level="char", pattern="none", progress=False)
        catalog = Catalog(cached=False)
        catalog.add("hebrew.json", tok.to_bytes())
        with running(catalog) as address:
            page.goto(f"{address}/#view=why&tokenizer=hebrew.json&text={word}")
            page.wait_for_selector(".verdict code >> nth=2")
            lefts = page.evaluate(
                "[...document.querySelectorAll('.verdict code')].map((name) => name.getBoundingClientRect().left)"
            )
            assert lefts == sorted(lefts), "one + other → both"
            page.goto("about:blank")


def test_where_nothing_merges_there_is_no_step(open_page: Open) -> None:
    page = open_page(view="why", tokenizer="bytes", text="ab")
    page.get_by_text("No mergeable pair left: done.").wait_for()
    assert page.locator(".stepper").is_hidden()
    assert "step 0 of 0" not in page.locator("main").inner_text()


def test_entries_that_are_not_in_use_are_taken_apart_again(open_page: Open, page: Any) -> None:
    """An answer as models with unused pieces have it."""

    def with_split(route: Any) -> None:
        answer = route.fetch().json()
        (pretoken,) = answer["pretokens"]
        last = pretoken["merges"][-1]
        middle = last["position"] + 1
        pretoken["splits"] = [
            {**{k: last[k] for k in ("position", "left", "right")}, "id": last["result"], "middle": middle}
        ]
        pretoken["ids"] = [last["left"], last["right"]]
        route.fulfill(json=answer)

    page.route("**/api/why", with_split)
    tok = SMALL
    word = next(tok.id_to_token(id) for id in range(258, 400) if len(tok.tree(id).nodes) == 3)
    open_page(view="why", tokenizer="small", text=word.replace("\u0120", " "))
    page.get_by_role("button", name="Last step").click()
    page.locator(".place", has_text="step 2 of 2").wait_for()
    assert len(symbols(page)) == 2
    page.get_by_role("button", name="Step back").click()
    page.locator(".verdict", has_text="is re-segmented because unused").wait_for()
    assert len(symbols(page)) == 1


class TestMerges:
    @pytest.fixture
    def steps(self) -> list[list[str]]:
        """What the symbols of ``·oldest`` are at each step."""
        explanation = SMALL.explain(TEXT)
        return [[explanation.name(id) for id in ids] for ids in explanation.sequences(explanation.pretokens[1])]

    def test_forwards_and_back_by_buttons(self, open_page: Open, steps: list[list[str]]) -> None:
        page = open_page(view="why", tokenizer="small", text=TEXT, pretoken=1)
        page.wait_for_selector(".symbols .t")
        assert len(steps) > 3
        assert symbols(page) == steps[0]
        assert page.get_by_label("Step back").is_disabled()
        for step in steps[1:]:
            page.get_by_label("Step forward").click()
            assert symbols(page) == step
        assert page.get_by_label("Step forward").is_disabled()
        page.get_by_text("No mergeable pair left: done.").wait_for()
        for step in steps[-2::-1]:
            page.get_by_label("Step back").click()
            assert symbols(page) == step
        page.get_by_label("Last step").click()
        assert symbols(page) == steps[-1]
        page.get_by_label("First step").click()
        assert symbols(page) == steps[0]

    def test_by_the_slider_and_its_keys(self, open_page: Open, steps: list[list[str]]) -> None:
        page = open_page(view="why", tokenizer="small", text=TEXT, pretoken=1)
        page.get_by_label("Step", exact=True).focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert symbols(page) == steps[2]
        page.keyboard.press("End")
        assert symbols(page) == steps[-1]
        page.keyboard.press("ArrowLeft")
        assert symbols(page) == steps[-2]

    def test_the_pairs_that_compete_have_their_ranks(self, open_page: Open) -> None:
        page = open_page(view="why", tokenizer="small", text=TEXT, pretoken=1)
        page.wait_for_selector(".rivals tbody tr")
        explanation = SMALL.explain(TEXT)
        for index, merge in enumerate(explanation.pretokens[1].merges):
            rows = page.locator(".rivals tbody tr").all_inner_texts()
            pairs = [(merge.left, merge.right, merge.rank), *merge.rivals]
            expected = [f"{explanation.name(a)} + {explanation.name(b)} {rank}" for a, b, rank in pairs]
            assert [" ".join(row.split()) for row in rows] == expected
            marked = page.locator(".symbols .next").all_text_contents()
            assert marked == [explanation.name(merge.left), explanation.name(merge.right)]
            assert page.locator(".steps .merges li").count() == index
            page.get_by_label("Step forward").click()

    def test_the_address_holds_the_step(self, open_page: Open, steps: list[list[str]]) -> None:
        page = open_page(view="why", tokenizer="small", text=TEXT, pretoken=1, step=3)
        page.wait_for_selector(".symbols .t")
        assert symbols(page) == steps[3]
        page.get_by_text(f"step 3 of {len(steps) - 1}", exact=True).wait_for()

    @pytest.mark.parametrize(("pretoken", "step"), [(99, 99), (-1, -1), ("x", 1.5), ([], {})])
    def test_one_that_is_not_there_is_another(self, open_page: Open, pretoken: object, step: object) -> None:
        page = open_page(view="why", tokenizer="small", text=TEXT, pretoken=pretoken, step=step)
        page.wait_for_selector(".symbols .t")

    def test_every_kind_of_tokenizer_of_merges_ends_at_its_tokens(self, open_page: Open) -> None:
        tok = tokenizer("char gpt2")
        page = open_page(view="why", tokenizer="characters", text="the oldest tale")
        page.wait_for_selector(".split")
        explanation = tok.explain("the oldest tale")
        for index, pretoken in enumerate(explanation.pretokens):
            page.locator(".split").nth(index).click()
            if pretoken.merges:
                page.get_by_label("Last step").click()
                assert symbols(page) == [explanation.name(id) for id in pretoken.ids]


class TestOthers:
    @pytest.fixture
    def there(self, elsewhere: str, chromium: Any, problems: Problems) -> Iterator[Any]:
        page = chromium.new_page(base_url=elsewhere)
        problems.watch(page)
        yield page
        page.close()
        assert not problems

    def test_unigram_shows_the_lattice_and_its_scores(self, there: Any, data: Path) -> None:
        there.goto("/#view=why&tokenizer=t5-small&text=lower+tokens&pretoken:=1")
        there.wait_for_selector(".lattice .best")
        tok = jeton.load(data / "vocabs" / "t5-small.tokenizer.json")
        explanation = tok.explain("lower tokens")
        lattice = explanation.pretokens[1].lattice
        assert lattice is not None
        best = there.locator(".lattice .best text:not(.score)").all_text_contents()
        assert best == [explanation.name(edge.id) for edge in lattice.best.edges if edge.id is not None]
        assert there.locator(".lattice .edge").count() == lattice.num_edges
        scores = [float(text) for text in there.locator(".ways .rank").all_inner_texts()]
        assert scores == [round(path.score, 3) for path in (lattice.best, *lattice.others)]
        assert scores == sorted(scores, reverse=True)
        assert axe_violations(there) == []

    def test_wordpiece_shows_the_longest_entries(self, there: Any, data: Path) -> None:
        there.goto("/#view=why&tokenizer=bert-uncased&text=tokenizers")
        there.wait_for_selector(".longest tbody tr")
        tok = jeton.load(data / "vocabs" / "bert-uncased.vocab.txt")
        ids = [int(text) for text in there.locator(".longest .rank").all_inner_texts()]
        assert ids == tok.encode("tokenizers")
        assert "".join(there.locator(".longest .chip").all_inner_texts()) == "tokenizers"
        assert axe_violations(there) == []

    def test_merges_of_sentencepiece(self, there: Any, data: Path) -> None:
        there.goto("/#view=why&tokenizer=mistral-v1&text=hello+world")
        there.wait_for_selector(".symbols .t")
        there.get_by_label("Last step").click()
        tok = jeton.load(data / "vocabs" / "mistral-v1.model")
        explanation = tok.explain("hello world")
        assert symbols(there) == [explanation.name(id) for id in explanation.pretokens[0].ids]


class TestHostile:
    @pytest.mark.parametrize(
        "text", ["<img src=x onerror=alert(1)>", "a\u202eb\u200bc", "\x00\x1b[31m", "z" + "\u0301" * 50]
    )
    def test_it_is_shown_and_does_nothing(self, open_page: Open, text: str) -> None:
        page = open_page(view="why", tokenizer="bytes", text=text)
        page.on("dialog", lambda dialog: pytest.fail("a dialog"))
        page.wait_for_selector(".symbols .t")
        assert page.locator("main img").count() == 0
        shown = "".join(symbols(page))
        assert not {"\u202e", "\u200b", "\x00", "\x1b"} & set(shown)

    def test_a_long_text_is_explained_as_far_as_one_reads(self, open_page: Open) -> None:
        page = open_page(view="why", tokenizer="small")
        page.get_by_label("Text", exact=True).fill("the oldest tale " * 10_000)
        page.get_by_text("The first 10,000 characters of 160,000 are explained").wait_for()
        page.wait_for_selector(".split")

    def test_one_long_word_can_be_stepped_through(self, open_page: Open) -> None:
        page = open_page(view="why", tokenizer="small", text="oldtale" * 100)
        page.get_by_label("Last step").click()
        page.get_by_text("No mergeable pair left: done.").wait_for()
        tokens = [SMALL.explain("").name(id) for id in SMALL.encode("oldtale" * 100)]
        assert symbols(page) == tokens


@pytest.mark.parametrize(
    "context_options", [{"color_scheme": "light"}, {"color_scheme": "dark"}], ids=["light", "dark"]
)
def test_no_violation_of_accessibility(open_page: Open, context_options: dict[str, Any]) -> None:
    page = open_page(view="why", tokenizer="small", text=TEXT, pretoken=1, step=2)
    page.wait_for_selector(".symbols .t")
    page.locator("summary").click()
    assert axe_violations(page) == []
