"""The page in Chinese: no visible text or label of it is English, in any view and in any error.

Data is English all the same: tokens, names, code. The page marks it as `translate=no`, or its element says so; a few
names and the words of the state remain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import jeton
from jeton.playground.catalog import Catalog
from jeton.util.language import read_catalog

from ..material import CORPUS, tokenizer
from ..selection import rest_is_slow
from .conftest import Problems, axe_violations, running

# Names, English terms in parentheses, and words of questions, which Chinese texts do not translate.
NAMES = {
    *("Jeton", "Playground", "ChatML", "JSON", "YAML", "Python", "Unicode", "Unigram", "WordPiece", "SentencePiece"),
    *("Hugging", "Face"),
    *("generation", "prompt", "glitch", "token", "strawberry", "aaabdaaabac", "abcababcaabc"),
}
ENGLISH = re.compile(r"[A-Za-z]{4,}")
# Special tokens, quotations, commands, paths, names of files, hosts and vocabularies.
QUOTED = re.compile(r"<\|\w+\|>|/[\w./-]+|“[^”]*”|jeton play( --port)?|\w+(\.\w+)+|\w*\d\w*")
# Visible texts and labels outside of data, as [where, text]. What is folded is unfolded before.
TEXTS = """() => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
  const isSeen = (element) => element.checkVisibility({ visibilityProperty: true });
  const isData = (element) => element.closest("[translate=no], [lang=en], code, pre, script, style");
  const found = [["title", document.title]];
  const add = (element, name, text) => { if (isSeen(element)) found.push([`${element.className} ${name}`, text]); };
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    const element = node.parentElement;
    if (!isData(element)) add(element, element.localName, node.data.trim());
  }
  for (const name of ["aria-label", "aria-description", "aria-valuetext", "alt", "placeholder", "title"]) {
    for (const element of document.body.querySelectorAll(`[${name}]`)) {
      const own = isData(element) ? element.textContent.trim() : ""; // a token in its label
      add(element, name, element.getAttribute(name).replace(own, ""));
    }
  }
  return found;
}"""
# Languages of the elements with Chinese characters, which select their font.
HAN = """() => [...document.querySelectorAll(".pane .t, .paragraph p, .story p, textarea")]
  .filter((element) => /\\p{Script=Han}/u.test(element.value ?? element.textContent))
  .map((element) => element.closest("[lang]").lang)"""

TEXT = "The strawberry 今天的天气很好 麒麟\n<|endoftext|> 👩‍🔬"
CHAT = [{"role": "user", "content": "zebra <|im_end|>"}, {"role": "assistant", "content": "猫"}]
# view -> its state, and the selector to wait for
VIEWS: dict[str, tuple[dict[str, Any], str]] = {
    "first": ({}, ".view-tokens .finding em"),
    "tokens": ({"view": "tokens", "tokenizer": "bpe", "text": TEXT, "token": 2}, ".card dl"),
    "tokens-ids": (
        {"view": "tokens", "tokenizer": "bpe", "text": TEXT, "list": "ids", "special": True},
        ".pane.list .t",
    ),
    "why": ({"view": "why", "tokenizer": "bpe", "text": TEXT, "pretoken": 1, "step": 1}, ".symbols .t"),
    "why-unigram": ({"view": "why", "tokenizer": "uni", "text": TEXT, "pretoken": 0}, ".lattice .best"),
    "why-wordpiece": ({"view": "why", "tokenizer": "wp", "text": "lower 麒"}, ".longest tr"),
    "train": ({"view": "train", "text": "zebra zebras", "step": 2}, ".bars tbody tr"),
    **{
        f"train-{name}": (
            {"view": "train", "text": "low lower lowest new newer", "algorithm": name, "step": 1},
            "#view-train .made .t",
        )
        for name in ("words", "wordpiece", "sentencepiece", "unigram")
    },
    "compare": ({"view": "compare", "text": TEXT, "compare": ["bpe", "uni", "wp"]}, ".chart tbody tr"),
    "compare-language": ({"view": "compare", "compare": ["bpe"], "language": "ja"}, ".paragraph p"),
    "chat": ({"view": "chat", "tokenizer": "bpe", "messages": CHAT, "prompt": True}, "#view-chat .tokens .t"),
    "vocabulary": ({"view": "vocabulary", "tokenizer": "bpe"}, "#view-vocabulary tbody tr"),
    "vocabulary-entry": ({"view": "vocabulary", "tokenizer": "bpe", "find": "er", "id": 300}, ".card dl"),
    **{
        f"classics-{name}": ({"view": "classics", "classic": name}, ".panel .t")
        for name in ("strawberry", "cut-character", "rare-characters", "bytes", "endoftext", "glitch-token")
    },
}
# A wrong state, and a part of the message
ERRORS: dict[str, tuple[dict[str, Any], str]] = {
    "no tokenizer": ({"view": "tokens", "tokenizer": "zbr", "text": "a"}, "没有名为"),
    "torn file": ({"view": "why", "tokenizer": "torn", "text": "a"}, "torn"),
    "one of two": ({"view": "compare", "compare": ["bpe", "torn"], "text": "a"}, "torn"),
    "search": ({"view": "vocabulary", "tokenizer": "bpe", "find": "xyz", "by": "hex"}, "不是十六进制"),
    "id": ({"view": "vocabulary", "tokenizer": "bpe", "find": "xyz", "by": "id"}, "不是 ID"),
    "pattern": ({"view": "train", "text": "a", "pattern": "("}, "无法编译"),
    "size": ({"view": "train", "text": "ab ab " * 1700}, "字节"),
    "chat": ({"view": "chat", "tokenizer": "bpe", "messages": CHAT * 600}, "最多"),
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A playground with short names that are not English words."""
    folder = tmp_path_factory.mktemp("zh")
    tokenizer("byte gpt2").save(folder / "bpe.json")
    for name, preset, size in (("uni.model", "sentencepiece-unigram", 110), ("wp.json", "bert", 200)):
        jeton.train([CORPUS], size, preset=preset, progress=False).save(folder / name)
    (folder / "torn.json").write_text('{"model": {"type": "BPE"')
    with running(Catalog(folder=folder, cached=False)) as address:
        yield address


Open = Callable[..., Any]


@pytest.fixture
def open_page(page: Any) -> Open:
    """Opens the page in Chinese."""

    def open_page(state: dict[str, Any], wait: str) -> Any:
        pairs = [(k, v) if isinstance(v, str) else (f"{k}:", json.dumps(v)) for k, v in {**state, "lang": "zh"}.items()]
        page.goto("/#" + urlencode(pairs))
        page.locator(wait).first.wait_for()
        page.wait_for_selector("[aria-busy]", state="detached")
        return page

    return open_page


def english(page: Any, state: dict[str, Any]) -> list[tuple[str, str]]:
    """Texts and labels with English words that are neither names nor of the state."""
    words = json.dumps(state)
    found = [(where, QUOTED.sub("", text)) for where, text in page.evaluate(TEXTS)]
    return [
        (where, text) for where, text in found if any(word not in words for word in set(ENGLISH.findall(text)) - NAMES)
    ]


@pytest.mark.parametrize(
    "name", rest_is_slow(VIEWS, lambda name: "-" not in name or "cut" in name, "one state of each view is kept")
)
def test_no_text_of_a_view_is_english(open_page: Open, name: str) -> None:
    state, wait = VIEWS[name]
    page = open_page(state, wait)
    assert english(page, state) == []
    assert set(page.evaluate(HAN)) <= {"zh", "zh-Hans", *(["ja"] if name == "compare-language" else [])}
    assert axe_violations(page) == []


@pytest.mark.parametrize(
    "name", rest_is_slow(ERRORS, lambda name: name in ("search", "torn file"), "two errors are kept")
)
def test_no_error_is_english(open_page: Open, problems: Problems, name: str) -> None:
    state, part = ERRORS[name]
    page = open_page(state, ".failure")
    messages = page.locator(".failure").all_inner_texts()
    assert part in messages[0]
    assert re.search("[一-鿿]", messages[0])
    assert english(page, state) == []
    problems[:] = [problem for problem in problems if "400" not in problem]


def test_a_missing_translation_is_found(open_page: Open) -> None:
    """The checks above find a text of a view, a label and an error message missing from the catalog."""
    page = open_page(*VIEWS["vocabulary"])
    assert english(page, {}) == []
    page.evaluate("""() => {
      document.querySelector("#view-vocabulary").append("Entries of the vocabulary");
      document.querySelector("#view-vocabulary input").title = "Search entries";
    }""")
    assert [text for _, text in english(page, {})] == ["Entries of the vocabulary", "Search entries"]
    page.reload()
    page.route("**/strings.zh.json", lambda route: route.fulfill(json=without("Search by")))
    page.goto("about:blank")
    page = open_page(*VIEWS["vocabulary"])
    assert [text for _, text in english(page, {})] == ["Search by"]


def without(message: str) -> dict[str, str]:
    """The catalog of the page without a message."""
    catalog = dict(read_catalog("strings", "zh"))
    del catalog[message]
    return catalog


def test_notices_of_a_broken_file_and_of_a_stopped_server(open_page: Open, tmp_path: Path, problems: Problems) -> None:
    page = open_page(*VIEWS["tokens"])
    (tmp_path / "zbr.json").write_text("[]")
    page.locator("#file").set_input_files(tmp_path / "zbr.json")
    page.locator("#notice").wait_for()
    assert english(page, VIEWS["tokens"][0]) == []
    page.route("**/api/**", lambda route: route.abort("connectionrefused"))
    page.get_by_role("tab", name="词表").click()
    page.locator("#notice", has_text="没有响应").wait_for()
    assert english(page, VIEWS["tokens"][0]) == []
    problems.forgive("CONNECTION_REFUSED")


def test_the_lists_of_the_pickers(open_page: Open) -> None:
    page = open_page(*VIEWS["compare"])
    page.locator("input[role=combobox]").last.click()
    page.locator("[role=option]").first.wait_for()
    assert english(page, VIEWS["compare"][0]) == []
    assert axe_violations(page) == []
