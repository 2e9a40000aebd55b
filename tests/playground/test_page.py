"""The page around the views: tabs, tokenizers, files by drop, the address, themes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest

import jeton
from jeton import playground
from jeton.playground.catalog import Catalog

from ..material import TESTDATA, tokenizer
from ..selection import rest_is_slow
from .conftest import Problems, Send, axe_violations, choose, running, wait_until

Open = Callable[..., Any]

# Puts a file on the page as a drag does; bytes go as a list.
DROP = """([name, bytes]) => {
    const files = new DataTransfer();
    files.items.add(new File([new Uint8Array(bytes)], name));
    const target = document.querySelector("main");
    for (const type of ["dragenter", "dragover", "drop"])
        target.dispatchEvent(new DragEvent(type, { dataTransfer: files, bubbles: true, cancelable: true }));
}"""


def drop(page: Any, name: str, content: bytes) -> None:
    page.evaluate(DROP, [name, list(content)])


class TestTabs:
    def test_arrow_keys_go_from_tab_to_tab(self, open_page: Open) -> None:
        page = open_page(view="tokens", tokenizer="bytes")
        page.get_by_role("tab", name="Tokens").focus()
        page.keyboard.press("ArrowRight")
        assert page.get_by_role("tab", selected=True).inner_text() == "Why"
        assert page.evaluate("document.activeElement.textContent") == "Why"
        page.keyboard.press("ArrowLeft")
        assert page.get_by_role("tab", selected=True).inner_text() == "Tokens"
        assert page.get_by_role("tabpanel").count() == 1

    def test_title_and_address_follow_the_tab(self, open_page: Open) -> None:
        page = open_page(view="tokens", tokenizer="bytes")
        page.get_by_role("tab", name="Why").click()
        page.wait_for_url(re.compile("view=why"))
        assert page.title() == "Why · Jeton"

    def test_only_one_tab_is_reached_by_the_tab_key(self, open_page: Open) -> None:
        page = open_page(view="tokens", tokenizer="bytes")
        assert page.locator("[role=tab][tabindex='0']").count() == 1


class TestOpening:
    def test_a_new_page_has_a_sample_and_the_focus_in_the_box(self, page: Any) -> None:
        page.goto("/#")
        page.wait_for_selector("html[data-ready]", state="attached")
        box = page.get_by_label("Text", exact=True)
        sample = box.input_value()
        assert sample == "strawberry: how many r's?\n今天的天气很好"
        assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
        page.get_by_text("A language model does not read your text").wait_for()
        first = page.locator(".pane:not(.list) .t").first
        assert first.bounding_box()["y"] < 250, "in sight, and live beside the text"
        assert page.locator(".card").count() == 0
        page.keyboard.type("mine")  # replaces the sample, which is selected
        page.wait_for_url(re.compile("text=mine"))
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.press("Delete")
        page.wait_for_url(re.compile("#(?!.*text=)"))
        page.reload()
        page.wait_for_selector("html[data-ready]", state="attached")
        assert box.input_value() == ""  # the sample does not come back

    @pytest.mark.parametrize("context_options", [{"viewport": {"width": 390, "height": 844}}], ids=["phone"])
    def test_the_first_token_is_visible_on_a_phone(self, page: Any) -> None:
        page.goto("/#")
        token = page.locator(".pane:not(.list) .t").first
        token.wait_for()
        assert token.bounding_box()["y"] < 300
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    def test_a_text_of_the_address_is_not_selected(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes", text="mine")
        page.get_by_label("Text", exact=True).press("End")
        page.keyboard.type("!")
        page.wait_for_url(re.compile("text=mine%21"))

    @pytest.mark.parametrize("context_options", [{"viewport": {"width": 1280, "height": 800}}], ids=["wide"])
    def test_details_of_a_token_do_not_move_the_questions(self, open_page: Open) -> None:
        page = open_page(tokenizer="default", text="strawberry: how many r's?")
        page.locator(".finding button").wait_for()
        questions = page.locator(".view-tokens .questions")
        place = questions.bounding_box()
        assert place["y"] + place["height"] < 800
        page.locator(".pane:not(.list) .t").first.hover()
        page.locator(".card .merges").wait_for()
        assert questions.bounding_box() == place

    def test_details_name_a_byte_without_its_character(self, open_page: Open) -> None:
        page = open_page(tokenizer="default", text="猫", token=0)
        page.locator(".card .merges li", has_text="⟨e7⟩ + ⟨8c⟩ → ⟨e7 8c⟩").wait_for()
        page = open_page(tokenizer="bytes", text="猫", token=0)
        page.locator(".card .face [data-s='⟨e7⟩']").wait_for()

    def test_a_sentence_describes_the_tokens_and_links_to_why(self, open_page: Open) -> None:
        page = open_page(tokenizer="default", text="How many r's are in strawberry?")
        sentence = page.locator(".finding")
        ids = jeton.default().encode(" strawberry")
        told = f"strawberry is st | raw | berry: 3 numbers ({', '.join(map(str, ids))}), no letters."
        sentence.filter(has_text=told).wait_for()
        page.get_by_role("button", name="See why").click()
        page.locator(".view-why .split[aria-pressed=true]", has_text="strawberry").wait_for()

    @pytest.mark.parametrize(
        ("text", "told"),
        rest_is_slow(
            [
                ("天", "天 is one character, and 3 tokens share its bytes."),
                ("%", "% is one token: number 37."),
                ("ab", ""),
                ("", ""),
            ],
            lambda case: case[0] == "天",
            "a character",
        ),
    )
    def test_the_sentence_depends_on_the_text(self, open_page: Open, text: str, told: str) -> None:
        page = open_page(tokenizer="bytes", text=text)
        page.locator(".figures dd", has_text=re.compile(f"^{len(text.encode())}$")).first.wait_for()
        assert page.locator(".finding").inner_text().startswith(told)

    @pytest.mark.parametrize(
        ("name", "text", "told"),
        [
            ("t5-small", "我家的猫", "4 characters became <unk>: the model cannot see them."),
            ("t5-small", "a 猫", "1 character became <unk>: the model cannot see it."),
            ("t5-small", "strawberry <unk>", "strawberry is "),
            ("o200k_base", "猫", "猫 is one token: number 48091."),
        ],
    )
    def test_the_sentence_reports_unknown_characters(
        self, page: Any, data: Path, name: str, text: str, told: str
    ) -> None:
        with running(Catalog(folder=data / "vocabs", cached=False)) as address:
            page.goto(f"{address}/#view=tokens&special:=true&tokenizer={name}&text={text}")
            page.locator(".finding", has_text=told).wait_for()
            page.get_by_role("button", name="See why").click()
            page.locator(".view-why .split[aria-pressed=true]").wait_for()
            page.goto("about:blank")

    def test_questions_lead_to_the_classics_and_keep_the_text(self, open_page: Open) -> None:
        page = open_page(text="mine")
        questions = page.locator(".view-tokens .question")
        assert questions.count() == 3
        for index, classic in enumerate(["strawberry", "numbers", "endoftext"]):
            questions.nth(index).click()
            page.wait_for_url(re.compile(f"classic={classic}"))
            page.locator(f".titles button[data-id='{classic}'][aria-current='true']").wait_for()
            page.get_by_role("tab", name="Tokens").click()
            assert page.get_by_label("Text", exact=True).input_value() == "mine"


class TestExamples:
    @pytest.mark.parametrize("view", ["why", "train", "compare"])
    def test_an_example_keeps_the_text_of_other_views(self, open_page: Open, view: str) -> None:
        page = open_page(view=view, text="mine", tokenizer="small")
        box = page.locator(f".view-{view} textarea")
        back = page.locator(f".view-{view} .examples button", has_text="Back to your text")
        assert (box.input_value(), back.is_visible()) == ("mine", False)
        page.locator(f".view-{view} .examples button").first.click()
        page.wait_for_url(re.compile("example="))
        example = box.input_value()
        assert example != "mine"
        page.get_by_role("tab", name="Tokens").click()
        assert page.locator(".view-tokens textarea").input_value() == "mine"
        page.get_by_role("tab", name=view.title()).click()
        box.fill(f"{example} and more")  # changes the example only
        page.wait_for_url(re.compile("and.more"))
        assert "text=mine" in page.url
        back.click()
        page.wait_for_url(re.compile("^(?!.*example)"))
        assert box.input_value() == "mine"

    def test_examples_of_the_vocabulary_are_searches(self, open_page: Open) -> None:
        page = open_page(view="vocabulary", text="mine", tokenizer="small")
        page.get_by_role("button", name="special tokens").click()
        page.wait_for_url(re.compile("kind=special"))
        page.get_by_role("button", name="words that begin with a space").click()
        page.wait_for_url(re.compile(r"find=(\+|%20)the"))
        assert page.get_by_label("Search", exact=True).input_value() == " the"
        assert "text=mine" in page.url


class TestTokenizers:
    def test_the_list_groups_tokenizers_with_their_facts(self, open_page: Open) -> None:
        page = open_page(tokenizer="small", text="the old tale")
        page.get_by_text("BPE · 400 ids · 5 special").wait_for()
        box = page.get_by_role("combobox", name="Tokenizer")
        assert box.input_value() == "small"
        box.click()
        here = page.get_by_role("group", name="On this machine").get_by_role("option").locator(".name")
        assert here.all_inner_texts() == [
            "characters",
            "small",
            "torn",
            "default (ships with Jeton)",
            "lessons (trained here, on Jeton's teaching text)",
            "bytes (no merges: every byte is a token)",
        ]
        assert page.locator("#tokenizer [aria-selected=true] .name").inner_text() == "small"
        assert axe_violations(page) == []

    def test_the_tokenizer_field_is_a_combobox(self, open_page: Open) -> None:
        """Typing filters, by names and by models; arrows move; Enter chooses; Escape and leaving restore."""
        page = open_page(tokenizer="small", text="the old")
        box = page.get_by_role("combobox", name="Tokenizer")
        options = page.locator("#tokenizer [role=option]")
        box.press("ArrowDown")
        assert box.get_attribute("aria-expanded") == "true"
        box.fill("GPT 4o")
        options.filter(has_text="o200k_base").wait_for()  # the list of downloads is read on the first focus
        assert options.locator(".name").all_inner_texts() == ["o200k_base"]
        assert options.locator(".words").first.inner_text() == "gpt-4o, gpt-5, gpt-4.1, …"
        assert options.locator(".note").inner_text() == "3.6 MB"
        box.fill("qwen3")
        assert options.locator(".name").all_inner_texts() == ["Qwen/Qwen3-8B"]
        assert options.locator(".note").inner_text() == "huggingface.co"
        box.fill("nothing of this name")
        assert options.count() == 0
        box.press("Escape")
        assert (box.get_attribute("aria-expanded"), box.input_value()) == ("false", "small")
        box.fill("s")
        first, second = (options.nth(at).get_attribute("id") for at in range(2))
        assert box.get_attribute("aria-activedescendant") == first
        box.press("ArrowDown")
        assert box.get_attribute("aria-activedescendant") == second
        box.press("ArrowUp")
        box.press("Tab")
        assert box.input_value() == "small"
        choose(page, "bytes")
        page.wait_for_url(re.compile("tokenizer=bytes"))
        box.click()
        page.get_by_role("option", name="characters").click()
        page.wait_for_url(re.compile("tokenizer=characters"))

    def test_comparison_takes_two_clicks(self, open_page: Open) -> None:
        """A press on *+ compare*, and one on the other tokenizer."""
        page = open_page(tokenizer="small", text="the old tale")
        page.get_by_role("button", name="+ compare").click()
        page.get_by_role("option", name="characters").click()
        page.locator(".column .t").first.wait_for()
        assert page.locator(".column h3").all_inner_texts() == ["small", "characters"]
        assert "needs the fewest tokens" in page.locator(".verdict").inner_text()

    def test_missing_tokenizers_are_downloaded_from_the_list(self, open_page: Open, problems: Problems) -> None:
        page = open_page(tokenizer="bytes", text="the old")
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.get_by_role("combobox", name="Tokenizer").click()
        option = page.get_by_role("group", name="To download from its publisher").get_by_role("option", name="cl100k")
        option.wait_for()
        assert axe_violations(page) == []
        choose(page, "gpt-4")  # JETON_OFFLINE is set
        page.get_by_text(re.compile("cl100k_base cannot be downloaded.*JETON_OFFLINE")).wait_for()
        assert page.get_by_role("combobox", name="Tokenizer").input_value().startswith("bytes")
        problems.forgive("400")
        entry = next(
            entry
            for entry in page.evaluate("fetch('api/tokenizers').then((all) => all.json())")
            if entry["key"] == "small"
        )
        page.route("**/api/download", lambda route: route.fulfill(json={"entry": entry, "downloads": []}))
        page.get_by_role("combobox", name="Tokenizer").focus()
        choose(page, "gpt-4")
        page.get_by_text("cl100k_base is on this machine").wait_for()
        page.wait_for_url(re.compile("tokenizer=small"))
        assert all("127.0.0.1" in url for url in requests)

    def test_choosing_a_tokenizer_redraws_the_tokens(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes", text="the old")
        page.locator("dd", has_text=re.compile("^7$")).first.wait_for()
        choose(page, "small")
        num_tokens = tokenizer("byte gpt2").count("the old")
        assert num_tokens < 7
        page.locator(".figures dd", has_text=re.compile(f"^{num_tokens}$")).first.wait_for()

    def test_a_load_error_is_shown_next_to_the_tokenizer(self, open_page: Open, problems: Problems) -> None:
        page = open_page(tokenizer="torn", text="a")
        page.locator("#facts.wrong").wait_for()
        assert "torn.json" in page.locator("#facts").inner_text()
        page.get_by_role("combobox", name="Tokenizer").click()
        assert page.get_by_role("option", name="torn").locator(".note").inner_text() == "cannot be loaded"
        problems.forgive("400")

    def test_a_missing_tokenizer_is_named(self, open_page: Open, problems: Problems) -> None:
        page = open_page(tokenizer="o999k", text="a")
        page.get_by_text("there is no tokenizer 'o999k' here; drop its file on the page").wait_for()
        assert page.locator("#tokenizer input").input_value() == "o999k (not on this machine)"
        problems.forgive("400")


class TestDrop:
    def test_a_dropped_file_is_opened_and_used(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes", text="the old tale")
        tok = tokenizer("byte none")
        drop(page, "mine.json", tok.to_bytes())
        page.get_by_text("mine.json is open: BPE").wait_for()
        assert page.locator("#tokenizer input").input_value() == "mine.json"
        page.locator(".figures dd", has_text=re.compile(f"^{tok.count('the old tale')}$")).first.wait_for()

    def test_a_chosen_file_is_opened(self, open_page: Open, tmp_path: Path) -> None:
        page = open_page(tokenizer="bytes", text="the old tale")
        tokenizer("byte cl100k").save(tmp_path / "chosen.json")
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Open a file").click()
        chooser.value.set_files(tmp_path / "chosen.json")
        page.get_by_text("chosen.json is open").wait_for()

    @pytest.mark.parametrize(
        ("name", "content"),
        rest_is_slow(
            [
                ("<img src=x onerror=alert(1)>.json", b"{"),
                ("empty.json", b""),
                ("bytes.bin", bytes(range(256)) * 10),
                ("deep.json", b"[" * 300_000),
                ("not-utf8.json", b'{"model": "\xff\xfe"}'),
                ("truncated_in_string.json", (TESTDATA / "hostile" / "truncated_in_string.json").read_bytes()),
            ],
            lambda case: case[0].startswith(("<img", "truncated")),
            "a name that is markup, a truncated file; test_hostile.py has all",
        ),
    )
    def test_a_broken_file_gets_a_readable_error(self, open_page: Open, name: str, content: bytes) -> None:
        page = open_page(tokenizer="bytes", text="a")
        count = "fetch('api/tokenizers').then((all) => all.json()).then((all) => all.length)"
        before = page.evaluate(count)
        drop(page, name, content)
        notice = page.locator("#notice.wrong")
        notice.wait_for()
        assert notice.inner_text().startswith(f"{name} cannot be opened. ")
        assert page.evaluate(count) == before
        assert page.evaluate("document.querySelectorAll('img').length") == 1  # ours
        page.get_by_role("button", name="Close the message").click()
        assert notice.is_hidden()

    def test_a_pair_of_files_is_opened_as_one_tokenizer(self, open_page: Open, tmp_path: Path) -> None:
        """vocab.json and merges.txt, chosen together."""
        tok = jeton.train(["the old tale"], 262, pattern="gpt2", progress=False)
        tok.save(tmp_path, format="merges.txt")
        page = open_page(tokenizer="bytes", text="the old tale")
        page.locator("#file").set_input_files([tmp_path / "merges.txt", tmp_path / "vocab.json"])
        page.get_by_text("vocab.json is open: BPE · 262 ids").wait_for()
        page.locator(".figures dd", has_text=re.compile(f"^{tok.count('the old tale')}$")).first.wait_for()
        page.wait_for_url(re.compile("tokenizer=vocab.json&"))
        page.get_by_role("tab", name="Compare").click()
        page.wait_for_url(re.compile("view=compare"))
        assert tok.fingerprint not in page.url

    def test_an_empty_vocabulary_is_refused(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes", text="a")
        drop(page, "empty.json", b'{"added_tokens":[],"model":{"type":"BPE","vocab":{},"merges":[]}}')
        page.locator("#notice.wrong", has_text="empty.json cannot be opened.").wait_for()
        assert "has an empty vocabulary" in page.locator("#notice").inner_text()
        assert page.locator("#tokenizer input").input_value().startswith("bytes")

    def test_a_dropped_file_named_in_the_link_fills_the_view(self, open_page: Open, problems: Problems) -> None:
        """The view that lacked it goes on by itself."""
        page = open_page(tokenizer="late.json", text="the old tale")
        page.locator(".pane .failure").wait_for()
        tok = tokenizer("byte o200k")
        drop(page, "late.json", tok.to_bytes())
        page.locator(".figures dd", has_text=re.compile(f"^{tok.count('the old tale')}$")).first.wait_for()
        assert page.locator("#tokenizer input").input_value() == "late.json"
        problems.forgive("400")

    def test_a_file_over_the_limit_is_not_sent(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes", text="a")
        page.evaluate(
            """() => {
                const files = new DataTransfer();
                files.items.add(new File([new Uint8Array(33 * 1024 * 1024)], "large.json"));
                const options = { dataTransfer: files, bubbles: true, cancelable: true };
                document.body.dispatchEvent(new DragEvent("drop", options));
            }"""
        )
        page.get_by_text("large.json has more than 32 MB").wait_for()


class TestAddress:
    def test_the_address_restores_the_state(self, open_page: Open) -> None:
        page = open_page(tokenizer="small")
        page.get_by_label("Text", exact=True).fill("a + b & c = 100% ✓ # 天\n")
        page.locator(".view-tokens .settings summary").click()
        page.get_by_label("Parse special tokens").check()
        page.wait_for_url(re.compile("special%3A=true"))
        state = parse_qs(page.url.partition("#")[2])
        assert state["text"] == ["a + b & c = 100% ✓ # 天\n"]
        assert state["special:"] == ["true"]
        page.reload()
        page.wait_for_selector(".pane .t")
        assert page.get_by_label("Text", exact=True).input_value() == "a + b & c = 100% ✓ # 天\n"
        assert page.get_by_label("Parse special tokens").is_checked()

    def test_a_long_text_is_packed_into_the_fragment(self, open_page: Open) -> None:
        text = "".join(f"line {n} 天气 \n" for n in range(400))
        page = open_page(tokenizer="bytes")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.get_by_label("Text", exact=True).fill(text)
        page.wait_for_url(re.compile("#z="))
        assert len(page.url) < 4000
        page.reload()
        page.wait_for_selector(".pane .t")
        assert page.get_by_label("Text", exact=True).input_value() == text
        assert not [url for url in asked if "?" in url or "line" in url]

    @pytest.mark.slow(reason="TestLongTexts.test_a_link_without_the_text_shows_a_notice")
    def test_a_text_too_long_for_the_address_is_left_out_with_a_notice(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes")
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        noise = page.evaluate(
            """[1, 2].flatMap(() => [...crypto.getRandomValues(new Uint16Array(30_000))])
                .map((n) => String.fromCharCode(0x4e00 + n % 0x5000)).join('')"""
        )
        page.get_by_label("Text", exact=True).fill(noise)
        page.wait_for_selector(".pane .t")
        page.get_by_role("button", name="Share").click()
        page.get_by_text("without the text, which is too long").wait_for()
        assert len(page.url) < 500

    def test_share_copies_the_address(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes", text="share me")
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.wait_for_selector(".pane .t")
        page.get_by_role("button", name="Share").click()
        page.get_by_text("Link copied. It opens only where Jeton runs (this machine)").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert "share+me" in copied.partition("#")[2]
        page.goto("about:blank")
        page.goto(copied)
        page.wait_for_selector(".pane .t >> nth=7")

    @pytest.mark.parametrize(
        "context_options",
        [{"viewport": {"width": 1280, "height": 800}}, {"viewport": {"width": 390, "height": 844}}],
        ids=["wide", "phone"],
    )
    def test_the_notice_of_a_copied_link_moves_nothing_and_ends(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes", text="share me")
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        notice = page.locator("#notice")
        page.wait_for_selector(".pane .t >> nth=7")
        page.wait_for_load_state("networkidle")  # all that is below the tokens
        place = page.locator("#main").bounding_box()

        def share() -> None:
            if page.locator("#share").is_visible():
                page.locator("#share").click()
            else:
                page.get_by_role("button", name="Export").click()
                page.get_by_role("menuitem", name="Link to this").click()
            notice.get_by_text("Link copied.").wait_for()
            assert page.locator("#main").bounding_box() == place
            box, size = notice.bounding_box(), page.viewport_size
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= size["width"]
            assert box["y"] + box["height"] <= size["height"]

        share()
        page.get_by_label("Text", exact=True).press("!")
        notice.wait_for(state="hidden")
        share()
        page.locator(".view-tokens .intro").click()
        notice.wait_for(state="hidden")
        share()
        page.get_by_role("tab", name="Tokens").press("ArrowRight")
        notice.wait_for(state="hidden")
        page.get_by_role("tab", name="Tokens").click()
        share()
        page.mouse.move(0, 0)
        notice.wait_for(state="hidden")  # after a time

    @pytest.mark.parametrize(
        ("state", "keys"),
        [
            ({"view": "tokens"}, {"view", "tokenizer", "text"}),
            ({"view": "classics", "classic": "numbers"}, {"view", "classic"}),
            ({"view": "train", "example": "abab", "size:": "258"}, {"view", "example", "size:"}),
            ({"view": "train"}, {"view", "text"}),
            ({"view": "vocabulary", "find": "the"}, {"view", "tokenizer", "find"}),
        ],
        ids=["tokens", "classics", "train-example", "train-text", "vocabulary"],
    )
    def test_a_copied_link_has_only_what_its_view_uses(self, page: Any, state: dict[str, str], keys: set[str]) -> None:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.goto("/#" + urlencode({"tokenizer": "small", "text": "mine", "why.pretoken:": "1", **state}))
        page.wait_for_selector("html[data-ready]", state="attached")
        page.get_by_role("button", name="Share").click()
        page.get_by_text("Link copied.").wait_for()
        assert set(parse_qs(page.evaluate("navigator.clipboard.readText()").partition("#")[2])) == keys
        assert "text=mine" in page.url

    def test_a_new_fragment_changes_the_state(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes", text="one")
        page.evaluate("location.hash = '#view=tokens&tokenizer=bytes&text=fours'")
        page.wait_for_selector(".pane .t >> nth=4")

    @pytest.mark.parametrize(
        "fragment",
        rest_is_slow(
            ["z=%%%", "z=AAAA", "z=", "text:={", "view=nowhere", "%", "text:=3&tokenizer:=[]", "__proto__=1", "=&=&&"],
            lambda fragment: fragment in ("z=AAAA", "text:={", "__proto__=1"),
            "three of the fragments",
        ),
    )
    def test_a_broken_fragment_opens_the_page(self, page: Any, fragment: str) -> None:
        page.goto("/#" + fragment)
        page.wait_for_selector("html[data-ready]", state="attached")
        assert page.get_by_role("tab", selected=True).inner_text() == "Tokens"

    def test_a_fragment_that_unpacks_to_40_mb_is_dropped(self, page: Any) -> None:
        page.goto("/")
        bomb = page.evaluate(
            """async () => {
                const text = JSON.stringify({ text: "a".repeat(40_000_000) });
                const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
                const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
                let binary = ""; for (const byte of bytes) binary += String.fromCharCode(byte);
                return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
            }"""
        )
        page.goto("about:blank")
        page.goto(f"/#z={bomb}")
        page.wait_for_selector("html[data-ready]", state="attached")
        assert page.get_by_label("Text", exact=True).input_value() == ""


NOISE = """[1, 2].flatMap(() => [...crypto.getRandomValues(new Uint16Array(30_000))])
    .map((n) => String.fromCharCode(0x4e00 + n % 0x5000)).join('')"""


class TestLongTexts:
    """What is too long for the address is kept in the tab, or is said to be lost."""

    @pytest.mark.slow(reason="TestHistory.test_back_restores_a_replaced_text; the other tests of long texts")
    def test_a_long_text_survives_reload_and_back(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes")
        noise = page.evaluate(NOISE)
        box = page.locator(".view-tokens textarea")
        box.fill(noise)
        page.wait_for_url(re.compile("without"))
        page.reload()
        page.wait_for_selector(".pane .t")
        assert box.input_value() == noise
        page.get_by_role("tab", name="Why").click()
        page.wait_for_url(re.compile("view=why"))
        page.locator(".view-why textarea").fill("short")
        page.wait_for_url(re.compile("text=short"))
        page.go_back()
        page.wait_for_selector("#tab-tokens[aria-selected=true]")
        assert box.input_value() == noise

    def test_a_link_without_the_text_shows_a_notice(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes")
        page.get_by_label("Text", exact=True).fill(page.evaluate(NOISE))
        page.wait_for_url(re.compile("without"))
        url = page.url
        other = page.context.new_page()  # another tab, or another day
        other.goto(url)
        other.get_by_text(
            "The text was too long for this address, which does not contain it. Paste it again."
        ).wait_for()
        other.close()

    def test_full_storage_shows_a_warning(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes")
        page.evaluate(
            "() => { Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError'); } }"
        )
        page.get_by_label("Text", exact=True).fill(page.evaluate(NOISE))
        page.get_by_text("it will be lost when the page is reloaded").wait_for()

    @pytest.mark.slow(reason="test_a_link_without_the_text_shows_a_notice, of a text")
    def test_long_messages_of_a_chat_are_kept_with_their_view(self, open_page: Open) -> None:
        page = open_page(view="chat", tokenizer="lessons")
        noise = page.evaluate(NOISE)
        box = page.get_by_label("Content of message 2")
        box.fill(noise)
        page.wait_for_url(re.compile("without"))
        page.reload()
        page.wait_for_selector("#view-chat .turn .t")
        assert box.input_value() == noise


class TestHistory:
    """The Back and Forward buttons go through what was opened, and every view shows what it showed."""

    def test_back_returns_to_the_previous_view(self, open_page: Open) -> None:
        page = open_page(view="tokens", tokenizer="bytes", text="one")
        page.get_by_role("tab", name="Why").click()
        page.wait_for_url(re.compile("view=why"))
        page.get_by_role("tab", name="Train").click()
        page.wait_for_url(re.compile("view=train"))
        page.go_back()
        page.wait_for_selector("#tab-why[aria-selected=true]")
        page.go_back()
        page.wait_for_selector("#tab-tokens[aria-selected=true]")
        page.go_forward()
        page.wait_for_selector("#tab-why[aria-selected=true]")
        assert page.title() == "Why · Jeton"

    def test_back_restores_text_and_tokenizer(self, open_page: Open) -> None:
        page = open_page(tokenizer="small", text="one")
        page.get_by_label("Text", exact=True).fill("the old tale")
        page.get_by_label("Tokenizer", exact=True).focus()  # at once: what was typed a moment ago is not lost
        choose(page, "bytes")
        page.locator(".figures dd", has_text=re.compile("^12$")).first.wait_for()
        page.wait_for_url(re.compile("tokenizer=bytes"))
        page.go_back()
        page.locator(
            ".figures dd", has_text=re.compile(f"^{tokenizer('byte gpt2').count('the old tale')}$")
        ).first.wait_for()
        assert page.get_by_label("Text", exact=True).input_value() == "the old tale", "what was typed is of that entry"
        assert page.get_by_label("Tokenizer", exact=True).input_value() == "small"
        page.go_forward()
        page.locator(".figures dd", has_text=re.compile("^12$")).first.wait_for()

    def test_each_view_keeps_its_step(self, open_page: Open) -> None:
        page = open_page(view="why", tokenizer="small", text="the oldest", pretoken=1, step=2)
        page.locator(".view-why .place", has_text="step 2 of ").wait_for()
        page.get_by_role("tab", name="Train").click()
        page.get_by_role("heading", name=re.compile("Before the first of")).wait_for()
        page.get_by_role("button", name="Step forward").click()
        page.get_by_role("heading", name=re.compile("Merge number 1 of")).wait_for()
        page.get_by_role("tab", name="Why").click()
        assert page.locator(".view-why .place").inner_text().startswith("step 2 of ")
        page.wait_for_url(re.compile(r"train\.step"))
        page.reload()
        page.locator(".view-why .place", has_text="step 2 of ").wait_for()
        page.get_by_role("tab", name="Train").click()
        page.get_by_role("heading", name=re.compile("Merge number 1 of")).wait_for()

    def test_back_restores_a_replaced_text(self, open_page: Open) -> None:
        page = open_page(view="train", text="mine mine mine", size=260, pattern="none")
        page.get_by_role("heading", name=re.compile("Before the first of")).wait_for()
        page.get_by_role("button", name="aaabdaaabac").click()
        page.wait_for_url(re.compile("example=aaabdaaabac"))
        page.go_back()
        page.wait_for_url(re.compile("^(?!.*example)"))
        wait_until(page, "document.querySelector('.view-train textarea').value === 'mine mine mine'")
        assert page.get_by_label("Vocabulary size").input_value() == "260"

    def test_back_returns_to_the_previous_classic(self, open_page: Open) -> None:
        page = open_page(view="classics", tokenizer="bytes")
        titles = page.locator(".titles button")
        titles.nth(2).click()
        page.locator(".titles button[aria-current=true]", has_text=titles.nth(2).inner_text()).wait_for()
        page.wait_for_url(re.compile("classic="))
        page.go_back()
        page.locator(".titles button[aria-current=true]", has_text=titles.nth(0).inner_text()).wait_for()

    def test_an_open_entry_is_in_the_address(self, open_page: Open) -> None:
        page = open_page(view="vocabulary", tokenizer="small", find="old")
        page.locator(".entries tbody tr").first.wait_for()
        id = page.locator(".entries tbody tr button").first.inner_text()
        page.locator(".entries tbody tr").first.click()
        page.locator(f".card[aria-label='Token {id}']").wait_for()
        page.wait_for_url(re.compile(f"id%3A={id}"))
        choose(page, "bytes")
        page.locator(".view-vocabulary .card").wait_for(state="detached")
        page.wait_for_url(re.compile("tokenizer=bytes"))
        page.go_back()
        page.locator(f".card[aria-label='Token {id}']").wait_for()
        assert page.get_by_role("searchbox", name="Search").input_value() == "old"
        page.go_back()
        page.locator(".view-vocabulary .card").wait_for(state="detached")


class TestTheme:
    @pytest.mark.parametrize(
        "context_options", [{"color_scheme": "light"}, {"color_scheme": "dark"}], ids=["light", "dark"]
    )
    def test_the_theme_follows_the_system_or_the_choice(self, open_page: Open, context_options: dict[str, Any]) -> None:
        page = open_page(tokenizer="bytes", text="a")
        is_dark = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0] < 128"
        assert page.evaluate(is_dark) == (context_options["color_scheme"] == "dark")
        for choice in ("dark", "light"):
            page.get_by_label("Theme").select_option(choice)
            assert page.evaluate(is_dark) == (choice == "dark")
        page.reload()
        page.wait_for_selector("html[data-ready]", state="attached")
        assert page.get_by_label("Theme").input_value() == "light"


@pytest.mark.parametrize(
    "context_options", [{"viewport": {"width": 360, "height": 740}, "has_touch": True}], ids=["narrow"]
)
def test_a_narrow_screen_scrolls_in_one_direction(open_page: Open) -> None:
    page = open_page(tokenizer="small", text="the oldest tale " * 40 + "x" * 500)
    page.wait_for_selector(".pane .t")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator(".pane .t").first.tap()
    page.wait_for_selector(".card dl")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert axe_violations(page) == []


@pytest.mark.parametrize("context_options", [{"reduced_motion": "reduce"}], ids=["reduced motion"])
def test_reduced_motion_moves_nothing(open_page: Open) -> None:
    page = open_page(tokenizer="bytes", text="a")
    durations = page.evaluate(
        """[...document.querySelectorAll('*')].map((e) => getComputedStyle(e)).flatMap(
            (style) => [style.transitionDuration, style.animationDuration])"""
    )
    assert set(durations) == {"0s"}


def test_a_stopped_server_shows_a_notice(page: Any, problems: Problems) -> None:
    page.goto("/#tokenizer=bytes")
    page.wait_for_selector("html[data-ready]", state="attached")
    page.context.set_offline(True)
    page.get_by_label("Text", exact=True).fill("a")
    page.get_by_text("The playground does not respond. Was it stopped in the terminal?").wait_for()
    problems.forgive("ERR_INTERNET_DISCONNECTED")


@pytest.mark.parametrize(
    "view",
    rest_is_slow(
        ["tokens", "why", "train", "compare", "chat", "vocabulary", "classics"],
        lambda view: view in ("tokens", "chat"),
        "two of the views",
    ),
)
def test_views_continue_when_the_server_is_back(page: Any, problems: Problems, view: str) -> None:
    """Every view waits with its question, and gets the answer without being touched again."""
    page.goto(f"/#view={'classics' if view == 'tokens' else 'tokens'}&tokenizer=lessons&text=the+old+tale")
    page.wait_for_selector(".view:not([hidden]) .t")
    page.context.set_offline(True)
    page.get_by_role("tab", name=view.capitalize()).click()
    page.get_by_text("The playground does not respond. Was it stopped in the terminal?").wait_for()
    page.context.set_offline(False)
    page.wait_for_selector(f"#view-{view} :is(.t, .split, .stage, .chip)")
    page.locator("#notice").wait_for(state="hidden")
    assert page.locator(f"#view-{view} .failure:visible").count() == 0
    problems.forgive("ERR_INTERNET_DISCONNECTED")


def test_the_page_sends_requests_to_its_server_only(open_page: Open, address: str) -> None:
    page = open_page(tokenizer="bytes")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    page.get_by_label("Text", exact=True).fill("secret")
    page.wait_for_selector(".pane .t")
    assert asked
    assert all(url.startswith(address + "/") for url in asked)
    assert page.evaluate("JSON.stringify(Object.keys(localStorage))") == json.dumps([])


class TestLanguage:
    def test_the_address_chooses_the_language(self, open_page: Open) -> None:
        page = open_page(view="tokens", tokenizer="bytes", lang="zh")
        assert page.get_by_role("tab", selected=True).inner_text() == "词元"
        assert page.locator("html").get_attribute("lang") == "zh-Hans"
        assert page.title() == "词元 · Jeton"

    def test_names_of_built_in_tokenizers_are_translated(self, open_page: Open) -> None:
        page = open_page(view="tokens", tokenizer="bytes", lang="zh")
        box = page.get_by_role("combobox", name="分词器")
        assert box.input_value() == "字节（不合并：每个字节是一个词元）"

    def test_a_chosen_language_is_kept_in_address_and_browser(self, open_page: Open) -> None:
        page = open_page(view="tokens", tokenizer="bytes", text="the weather")
        page.get_by_label("Language").select_option("zh")
        page.get_by_role("tab", name="词元").wait_for()
        assert "lang=zh" in page.url
        assert "weather" in page.url
        page = open_page(view="tokens", tokenizer="bytes")
        assert page.get_by_role("tab", selected=True).inner_text() == "词元"

    def test_answers_and_errors_are_in_the_language_of_the_request(self, send: Send) -> None:
        request = {"tokenizer": "nowhere", "text": ""}
        assert "没有" in send("POST", "/api/tokens", request, {"Accept-Language": "zh"}).json["error"]
        assert "nowhere" in send("POST", "/api/tokens", request, {"Accept-Language": "eo"}).json["error"]

    def test_the_browser_chooses_the_default_language(self, chromium: Any, address: str) -> None:
        with chromium.new_context(base_url=address, locale="zh-CN") as context:
            page = context.new_page()
            page.goto("/")
            page.wait_for_selector("html[data-ready]", state="attached")
            assert page.get_by_role("tab", selected=True).inner_text() == "词元"


def test_style_sheets_use_five_font_sizes() -> None:
    """Only sizes relative to the text around them, and 0 for hidden characters, besides the five."""
    sheets = (Path(playground.__file__).parent / "static").glob("*.css")
    sizes = {size for sheet in sheets for size in re.findall(r"font-size: ([^;}]+)", sheet.read_text(encoding="utf-8"))}
    assert {size for size in sizes if "--size" in size} == {f"var(--size-{step})" for step in range(1, 6)}
    assert {size for size in sizes if "--size" not in size} <= {"0", "inherit", "0.8em", "0.9em", "var(--em)"}
