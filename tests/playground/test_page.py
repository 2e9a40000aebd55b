"""The page around the views: tabs, tokenizers, files by drop, the address, themes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from ..material import TESTDATA, tokenizer
from .conftest import Problems, axe_violations

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

    def test_the_title_and_the_address_follow(self, open_page: Open) -> None:
        page = open_page(view="tokens", tokenizer="bytes")
        page.get_by_role("tab", name="Why").click()
        page.wait_for_url(re.compile("view=why"))
        assert page.title() == "Why · Jeton"

    def test_only_one_tab_is_in_the_order_of_tab(self, open_page: Open) -> None:
        page = open_page(view="tokens", tokenizer="bytes")
        assert page.locator("[role=tab][tabindex='0']").count() == 1


class TestTokenizers:
    def test_the_list_says_what_there_is(self, open_page: Open) -> None:
        page = open_page(tokenizer="small", text="the old tale")
        assert page.locator("#tokenizer option").all_inner_texts() == [
            "characters",
            "small",
            "torn",
            "lessons (trained here, on Jeton's teaching text)",
            "bytes (no merges: every byte is a token)",
        ]
        page.get_by_text("BPE · 400 ids · 5 special").wait_for()

    def test_another_one_draws_other_tokens(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes", text="the old")
        page.locator("dd", has_text=re.compile("^7$")).first.wait_for()
        page.get_by_label("Tokenizer", exact=True).select_option("small")
        num_tokens = tokenizer("byte gpt2").count("the old")
        assert num_tokens < 7
        page.locator(".figures dd", has_text=re.compile(f"^{num_tokens}$")).first.wait_for()

    def test_what_is_wrong_with_one_is_said_at_it(self, open_page: Open, problems: Problems) -> None:
        page = open_page(tokenizer="torn", text="a")
        page.locator("#facts.wrong").wait_for()
        assert "torn.json" in page.locator("#facts").inner_text()
        assert page.locator("#tokenizer option", has_text="torn").inner_text() == "torn (cannot be loaded)"
        problems.forgive("400")

    def test_one_that_is_not_here_is_named(self, open_page: Open, problems: Problems) -> None:
        page = open_page(tokenizer="o999k", text="a")
        page.get_by_text("there is no tokenizer 'o999k' here; drop its file on the page").wait_for()
        assert page.locator("#tokenizer option:checked").inner_text() == "o999k (not on this machine)"
        problems.forgive("400")


class TestDrop:
    def test_a_dropped_file_is_opened_and_used(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes", text="the old tale")
        tok = tokenizer("byte none")
        drop(page, "mine.json", tok.to_bytes())
        page.get_by_text("mine.json is open: BPE").wait_for()
        assert page.locator("#tokenizer option:checked").inner_text() == "mine.json"
        page.locator(".figures dd", has_text=re.compile(f"^{tok.count('the old tale')}$")).first.wait_for()

    def test_a_chosen_file_too(self, open_page: Open, tmp_path: Path) -> None:
        page = open_page(tokenizer="bytes", text="the old tale")
        tokenizer("byte cl100k").save(tmp_path / "chosen.json")
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Open a file").click()
        chooser.value.set_files(tmp_path / "chosen.json")
        page.get_by_text("chosen.json is open").wait_for()

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("<img src=x onerror=alert(1)>.json", b"{"),
            ("empty.json", b""),
            ("bytes.bin", bytes(range(256)) * 10),
            ("deep.json", b"[" * 300_000),
            ("not-utf8.json", b'{"model": "\xff\xfe"}'),
            ("truncated_in_string.json", (TESTDATA / "hostile" / "truncated_in_string.json").read_bytes()),
        ],
    )
    def test_a_broken_one_gets_a_readable_error(
        self, open_page: Open, problems: Problems, name: str, content: bytes
    ) -> None:
        page = open_page(tokenizer="bytes", text="a")
        before = page.locator("#tokenizer option").count()
        drop(page, name, content)
        notice = page.locator("#notice.wrong")
        notice.wait_for()
        assert notice.inner_text().startswith(f"{name} cannot be opened. ")
        assert page.locator("#tokenizer option").count() == before
        assert page.evaluate("document.querySelectorAll('img').length") == 1  # ours
        problems.forgive("400")
        page.get_by_role("button", name="Close the message").click()
        assert notice.is_hidden()

    def test_one_that_is_too_large_is_not_sent(self, open_page: Open) -> None:
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
    def test_it_holds_the_state_and_opens_it_again(self, open_page: Open) -> None:
        page = open_page(tokenizer="small")
        page.get_by_label("Text", exact=True).fill("a + b & c = 100% ✓ # 天\n")
        page.get_by_label("Permit special tokens").check()
        page.wait_for_url(re.compile("special%3A=true"))
        state = parse_qs(page.url.partition("#")[2])
        assert state["text"] == ["a + b & c = 100% ✓ # 天\n"]
        assert state["special:"] == ["true"]
        page.reload()
        page.wait_for_selector(".pane .t")
        assert page.get_by_label("Text", exact=True).input_value() == "a + b & c = 100% ✓ # 天\n"
        assert page.get_by_label("Permit special tokens").is_checked()

    def test_a_longer_text_is_packed_and_never_in_a_query(self, open_page: Open) -> None:
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

    def test_one_too_long_for_an_address_is_left_out_and_said(self, open_page: Open) -> None:
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

    def test_share_copies_it(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes", text="share me")
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.wait_for_selector(".pane .t")
        page.get_by_role("button", name="Share").click()
        page.get_by_text("The address is copied. It holds all that is shown").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert "share+me" in copied.partition("#")[2]
        page.goto("about:blank")
        page.goto(copied)
        page.wait_for_selector(".pane .t >> nth=7")

    def test_a_new_fragment_is_followed(self, open_page: Open) -> None:
        page = open_page(tokenizer="bytes", text="one")
        page.evaluate("location.hash = '#view=tokens&tokenizer=bytes&text=fours'")
        page.wait_for_selector(".pane .t >> nth=4")

    @pytest.mark.parametrize(
        "fragment",
        ["z=%%%", "z=AAAA", "z=", "text:={", "view=nowhere", "%", "text:=3&tokenizer:=[]", "__proto__=1", "=&=&&"],
    )
    def test_one_that_is_broken_opens_the_page_all_the_same(self, page: Any, fragment: str) -> None:
        page.goto("/#" + fragment)
        page.wait_for_selector("html[data-ready]", state="attached")
        assert page.get_by_role("tab", selected=True).inner_text() == "Tokens"

    def test_one_that_unpacks_to_very_much_is_given_up(self, page: Any) -> None:
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


class TestTheme:
    @pytest.mark.parametrize(
        "context_options", [{"color_scheme": "light"}, {"color_scheme": "dark"}], ids=["light", "dark"]
    )
    def test_as_the_system_has_it_and_as_chosen(self, open_page: Open, context_options: dict[str, Any]) -> None:
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


def test_a_server_that_is_gone_is_said(page: Any, problems: Problems) -> None:
    page.goto("/#tokenizer=bytes")
    page.wait_for_selector("html[data-ready]", state="attached")
    page.context.set_offline(True)
    page.get_by_label("Text", exact=True).fill("a")
    page.get_by_text("The playground does not answer: has it ended in the terminal?").wait_for()
    problems.forgive("ERR_INTERNET_DISCONNECTED")


def test_the_page_asks_nobody_else(open_page: Open, address: str) -> None:
    page = open_page(tokenizer="bytes")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    page.get_by_label("Text", exact=True).fill("secret")
    page.wait_for_selector(".pane .t")
    assert asked
    assert all(url.startswith(address + "/") for url in asked)
    assert page.evaluate("JSON.stringify(Object.keys(localStorage))") == json.dumps([])
