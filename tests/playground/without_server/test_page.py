"""The page without a server in Chromium, opened from a plain file server, with no other network."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import build_page
import pytest

import jeton

from ...timing import fastest
from ..conftest import Problems

VIEWS = ("tokens", "why", "train", "compare", "vocabulary", "classics")


@pytest.fixture
def requests() -> list[str]:
    return []


@pytest.fixture
def static_page(chromium: Any, static_address: str, problems: Problems, requests: list[str]) -> Iterator[Any]:
    """A new page that can reach only the file server; errors on it fail the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(15_000)
    context.route(lambda url: not url.startswith(static_address), lambda route: route.abort())
    page = context.new_page()
    problems.watch(page)
    page.on("request", lambda request: requests.append(request.url))
    yield page
    context.close()
    assert not problems, "\n".join(problems)
    assert all(url.startswith((static_address, "blob:", "data:")) for url in requests)


def show(page: Any, address: str, **state: str) -> Any:
    page.goto(f"{address}#{urlencode(state)}")
    page.wait_for_selector("html[data-ready]", state="attached")
    return page.locator(f".view-{state.get('view', 'tokens')}")


def test_tokens_appear_within_a_second(static_page: Any, static_address: str, requests: list[str]) -> None:
    def shows() -> None:
        requests.clear()
        static_page.goto("about:blank")
        static_page.goto(static_address)
        static_page.locator(".view-tokens .t").first.wait_for()

    assert fastest(shows, 1 + 2, time.monotonic) < 1 + 2  # 0.4 s on an idle machine
    fetched = [url.rpartition("/")[2].partition(".")[0] for url in requests if "/vocabularies/" in url]
    assert fetched == ["default"]


def test_the_folder_of_versions_leads_to_this_one(chromium: Any, static_address: str) -> None:
    versions = static_address.removesuffix(f"{jeton.__version__}/")
    page = chromium.new_page()
    page.goto(f"{versions}#view=why&text=lower")
    page.wait_for_url(re.compile(re.escape(static_address) + "#.*text=lower"))
    page.locator(".view-why .t").first.wait_for()
    page.close()


def test_only_a_folder_of_versions_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SystemExit, match="is not empty"):
        build_page.version_folder(tmp_path)
    (tmp_path / "notes.txt").unlink()
    build_page.lead_to_version(tmp_path)
    assert build_page.version_folder(tmp_path) == tmp_path / jeton.__version__


def test_every_view_works(static_page: Any, static_address: str) -> None:
    for view in VIEWS:
        root = show(static_page, static_address, view=view, text="low lower lowest")
        root.locator(".t, .symbol, table, ul, .token").first.wait_for()
        assert root.locator(".failure:visible").all_inner_texts() == []
    root = show(static_page, static_address, view="chat")
    assert "pip install 'jeton[play]'" in root.locator(".failure:visible").inner_text()


def test_a_link_opens_another_tokenizer(static_page: Any, static_address: str, requests: list[str]) -> None:
    show(static_page, static_address, tokenizer="wordpiece", text="the old tale")
    static_page.locator("#facts", has_text="WordPiece").wait_for()
    assert not any(
        "the" in url.partition("#")[0].rpartition("/")[2] and "tale" in url.partition("#")[0] for url in requests
    )


def test_an_opened_file_is_not_sent(
    static_page: Any, static_address: str, requests: list[str], files: list[str]
) -> None:
    show(static_page, static_address, text="the old tale")
    before = len(requests)
    static_page.set_input_files("#file", next(file for file in files if file.endswith("pieces.model")))
    static_page.locator("#facts", has_text="Pieces").wait_for()
    assert [url for url in requests[before:] if not url.endswith("icon.svg")] == []


def test_the_shared_address_is_that_of_the_page(static_page: Any, static_address: str) -> None:
    show(static_page, static_address, text="the old tale")
    static_page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    static_page.locator("#share").click()
    static_page.locator("#notice").wait_for()
    address = static_page.evaluate("navigator.clipboard.readText()")
    assert address.startswith(f"{static_address}#")


def test_nothing_is_fetched_without_a_click(static_page: Any, static_address: str, requests: list[str]) -> None:
    root = show(static_page, static_address, view="compare", text="the old tale")
    root.locator(".t").first.wait_for()
    assert root.locator(".chosen .pick").count() == 1
    picker = root.get_by_role("combobox", name="+ compare")
    picker.fill("words")
    root.get_by_role("option", name="words").filter(has_text=" MB").wait_for()
    assert [url.rpartition("/")[2].partition(".")[0] for url in requests if "/vocabularies/" in url] == ["default"]
    picker.press("Enter")
    root.locator(".chosen .pick").nth(1).wait_for()
    root.locator(".found .t").nth(4).wait_for()
    assert any("/vocabularies/words" in url for url in requests)


def test_the_page_in_chinese(static_page: Any, static_address: str) -> None:
    root = show(static_page, static_address, lang="zh", view="tokens", tokenizer="not here", text="a")
    assert "没有名为" in root.locator(".failure").inner_text()
    assert "不会离开本页面" in static_page.locator(".bottom").inner_text()
    assert "本页面没有" in static_page.locator("#tokenizer input").input_value()
    root = show(static_page, static_address, lang="zh", view="classics", classic="strawberry")
    assert root.locator(".telling").first.inner_text().isascii() is False
    root = show(static_page, static_address, lang="zh", view="train", algorithm="unigram", text="low lower")
    assert "jeton play" in root.locator(".failure").inner_text()
