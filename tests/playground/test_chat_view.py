"""The Chat view in Chromium."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from ..selection import rest_is_slow
from .conftest import Problems, axe_violations, choose

Open = Callable[..., Any]
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "a<|im_end|>\n<|im_start|>b"},
    {"role": "assistant", "content": "ok"},
]


def opened(open_page: Open, **state: Any) -> Any:
    page = open_page(view="chat", tokenizer="lessons", **({"messages": MESSAGES} | state))
    page.wait_for_selector(".view-chat .turn, .view-chat .failure:not([hidden])")
    return page


def boxes(page: Any) -> list[str]:
    return [area.input_value() for area in page.locator(".messages textarea").all()]


def test_turns_show_control_tokens_of_the_template(open_page: Open) -> None:
    page = opened(open_page)
    heads = page.locator(".turn .of b").all_inner_texts()
    assert heads == ["system · message 1", "user · message 2", "assistant · message 3"]
    assert page.locator(".turn .t.x").all_inner_texts() == ["<|im_start|>", "<|im_end|>"] * 3
    assert page.locator(".turn >> nth=1").locator(".t.x").count() == 2  # not those spelled in the message
    page.get_by_text("Parse special tokens in messages").click()
    page.wait_for_selector(".turn >> nth=1 >> .t.x >> nth=3")
    assert page.locator(".spelled-list li").count() == 0


def test_special_tokens_spelled_in_a_message_are_text(open_page: Open) -> None:
    page = opened(open_page)
    lines = page.locator(".spelled-list li").all_inner_texts()
    assert [line.split(" is plain text ")[0] for line in lines] == [
        "<|im_end|> in message 2",
        "<|im_start|> in message 2",
    ]
    marked = "".join(page.locator(".turn .t.spelled").all_inner_texts())
    assert "im_end" in marked
    assert "im_start" in marked


def test_typing_redraws_and_keeps_the_caret(open_page: Open) -> None:
    page = opened(open_page)
    area = page.get_by_label("Content of message 3")
    area.focus()
    page.keyboard.press("End")
    page.keyboard.type("ay, fine", delay=30)
    page.locator(".turn >> nth=2").get_by_text("fine").wait_for()
    assert area.input_value() == "okay, fine"
    assert page.evaluate("document.activeElement.id") == "chat-content-2"
    page.wait_for_url(re.compile("fine"))


def test_an_answer_is_opened(open_page: Open) -> None:
    page = opened(open_page)
    page.get_by_text("Add generation prompt").click()
    page.wait_for_selector(".turn.nobody")
    assert page.locator(".turn.nobody .of b").inner_text() == "the template"
    assert "assistant" in page.locator(".turn.nobody .tokens").inner_text()


def test_messages_are_edited_and_moved_by_keys(open_page: Open) -> None:
    page = opened(open_page)
    page.get_by_label("Content of message 1").focus()
    page.keyboard.press("Alt+ArrowDown")
    assert boxes(page) == ["a<|im_end|>\n<|im_start|>b", "Be brief.", "ok"]
    assert page.evaluate("document.activeElement.id") == "chat-content-1"
    assert page.locator("#live").inner_text() == "Moved to position 2 of 3"
    page.keyboard.press("Alt+ArrowUp")
    assert boxes(page)[0] == "Be brief."
    page.get_by_role("button", name="Add a message").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "chat-content-3"
    page.keyboard.type("more")
    page.get_by_role("button", name="Remove message 1").focus()  # before the typed text has been sent
    page.keyboard.press("Enter")
    assert boxes(page) == ["a<|im_end|>\n<|im_start|>b", "ok", "more"]
    roles = [role.input_value() for role in page.get_by_label("Role").all()]
    assert roles == ["user", "assistant", "user"]
    page.locator(".turn >> nth=2").get_by_text("more").wait_for()
    page.locator(".turn .t[tabindex='0']").first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".view-chat .detail .card dd")


def test_a_tokenizer_without_a_template_is_shown_with_chatml(open_page: Open) -> None:
    page = open_page(view="chat", tokenizer="bytes", messages=MESSAGES)
    page.get_by_text("Shown with those of ChatML added: <|im_start|> <|im_end|>").wait_for()
    options = page.locator("#chat-template option").all_inner_texts()
    assert options[0] == "ChatML (adds 2 tokens)"
    page.locator(".turn .t.x").first.click()
    page.get_by_text("Id 256 is added for this view").wait_for()
    choose(page, "lessons")
    page.wait_for_selector(".turn")
    page.get_by_text("Shown with those of").wait_for(state="hidden")


def test_a_refusal_is_readable(open_page: Open, problems: Problems) -> None:
    page = opened(open_page, messages=[{"role": "user", "content": [{"type": "text", "text": "x"}]}])
    page.locator(".view-chat .pane .failure").wait_for()
    assert "the chat template" in page.locator(".view-chat .pane .failure").inner_text()
    problems.forgive("400")


@pytest.mark.parametrize(
    "messages",
    rest_is_slow(
        [[], "x", 7, [7], [None], [{"content": "x"}], {"role": "x"}],
        lambda messages: messages in ([], [{"content": "x"}]),
        "none, and one without a role",
    ),
)
def test_an_address_that_holds_no_messages(open_page: Open, messages: Any) -> None:
    page = opened(open_page, messages=messages)
    assert page.locator(".turn").count() == 2


def test_hostile_messages_are_text(open_page: Open) -> None:
    evil = "<img src=x onerror=alert(1)><script>alert(1)</script>\u202eabc\u200b\x00"
    page = opened(open_page, messages=[{"role": evil, "content": evil}])
    assert page.locator(".view-chat img, .view-chat script").count() == 0
    assert "<script>" in page.locator(".turn .tokens").inner_text().replace("·", "")
    assert page.locator(".turn .of b").inner_text().startswith("<img")


def test_a_long_paste_is_refused(open_page: Open) -> None:
    page = opened(open_page)
    page.evaluate(
        """() => {
            const data = new DataTransfer();
            data.setData("text/plain", "x".repeat(10_000_000));
            const area = document.getElementById("chat-content-0");
            area.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
        }"""
    )
    page.get_by_text("Messages are limited to 200,000 characters").wait_for()
    assert boxes(page)[0] == "Be brief."


@pytest.mark.parametrize(
    "context_options",
    [
        {"viewport": {"width": 1280, "height": 900}},
        {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
        {"viewport": {"width": 375, "height": 700}},
    ],
    ids=["light", "dark", "narrow"],
)
def test_the_view_has_no_accessibility_violations(open_page: Open, context_options: dict[str, Any]) -> None:
    page = opened(open_page, prompt=True)
    page.locator(".turn .t").first.click()
    page.wait_for_selector(".view-chat .detail .card dd")
    assert axe_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
