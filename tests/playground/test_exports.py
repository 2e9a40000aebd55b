"""The menu *Export*: copied code gives the shown result, and files are self-contained pictures and pages."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import jeton

from ..material import tokenizer
from ..selection import rest_is_slow
from .conftest import Problems, axe_violations

Open = Callable[..., Any]

SMALL = tokenizer("byte gpt2")
# Quotes, what shells expand, a leading hyphen, line ends, a character in several tokens, right-to-left, a bidi control
HOSTILE = "-t 'it''s' \"$HOME\" `ls` $(ls) \\n \\' 100% !!\n\t今天 naïve 😉 שלום\u202e\u2028x\r\nend\\"
STATES: dict[str, dict[str, Any]] = {
    "tokens": {"tokenizer": "small", "text": HOSTILE},
    "why": {"tokenizer": "small", "text": "the 'oldest' tale\n今", "pretoken": 2},
    "train": {"example": "low 'lower' lowest\nlow", "size": 262, "step": 2, "text": "a"},
    "compare": {"compare": ["small", "characters"], "text": "the old 'tale'\nwas told"},
    "chat": {"tokenizer": "small", "messages": [{"role": "user", "content": 'it\'s "old"\n'}], "prompt": True},
    "vocabulary": {"tokenizer": "small", "find": "ol"},
    "classics": {"tokenizer": "bytes"},
}


@pytest.fixture
def open_page(open_page: Open, page: Any) -> Open:  # of conftest.py
    """Opens a view with its text, and permission to use the clipboard."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    def open_view(view: str, **state: Any) -> Any:
        page = open_page(view=view, **STATES[view] | state)
        page.wait_for_selector(f"#view-{view} :is(.t, .stage:not([hidden]) .t, .chip, td)")
        page.wait_for_selector(f"#view-{view}:not([aria-busy])")
        return page

    return open_view


def items(page: Any) -> list[str]:
    page.get_by_role("button", name="Export").click()
    names = page.get_by_role("menuitem").all_inner_texts()
    page.keyboard.press("Escape")
    return list(names)


def copied(page: Any, name: str) -> str:
    page.evaluate("navigator.clipboard.writeText('')")
    page.locator(".menu > button").click()
    page.get_by_role("group", name="Copy").get_by_role("menuitem", name=name, exact=True).click()
    page.locator(".menu > button", has_text="Copied").wait_for()
    return str(page.evaluate("navigator.clipboard.readText()"))


def saved(page: Any, name: str) -> tuple[str, bytes]:
    page.locator(".menu > button").click()
    with page.expect_download() as download:
        page.get_by_role("group", name="Save as").get_by_role("menuitem", name=name, exact=True).click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def value_of(program: str) -> Any:
    """Runs a copied program; returns the value of its last line, or of `tok` if that is not an expression."""
    tree = ast.parse(program)
    names: dict[str, Any] = {}
    *body, last = tree.body
    if not isinstance(last, ast.Expr):
        body.append(last)
        last = ast.Expr(ast.Name("tok", ast.Load()))
    exec(compile(ast.fix_missing_locations(ast.Module(body, [])), "copied", "exec"), names)
    return eval(compile(ast.fix_missing_locations(ast.Expression(last.value)), "copied", "eval"), names)


def output_of(command: str) -> str:
    """Runs a copied command in a shell, with this Python's `jeton`."""
    shell = f'jeton() {{ "{sys.executable}" -m jeton.cli "$@"; }}\n{command}'
    done = subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


# ── copies ────────────────────────────────────────────────────────────────────────────────────────────────────────


class TestCopies:
    def test_ids_and_calls_of_tokens(self, open_page: Open) -> None:
        page = open_page("tokens")
        ids = SMALL.encode(HOSTILE)
        assert [int(id) for id in copied(page, "Ids").split()] == ids
        assert ast.literal_eval(copied(page, "Ids in Python")) == ids
        program = copied(page, "Call in Python")
        assert value_of(program).ids == ids
        assert not re.search("[\u202e\u2028]", program), "invisible characters are escaped"
        assert output_of(copied(page, "Shell command")).split() == [str(id) for id in ids]
        facts = json.loads(copied(page, "JSON"))
        assert facts["text"] == HOSTILE
        assert (facts["jeton"], facts["tokenizer"], facts["num_tokens"]) == (jeton.__version__, "small", len(ids))
        assert b"".join(bytes.fromhex(token["bytes_hex"]) for token in facts["tokens"]) == HOSTILE.encode()
        assert [tuple(token["byte_span"]) for token in facts["tokens"]] == SMALL.tokenize(HOSTILE).byte_spans
        assert [tuple(token["char_span"]) for token in facts["tokens"]] == SMALL.tokenize(HOSTILE).char_spans

    def test_calls_with_options(self, open_page: Open) -> None:
        page = open_page("tokens", tokenizer="default", text="a<|endoftext|>", special=True, template=True)
        ids = ast.literal_eval(copied(page, "Ids in Python"))
        program = copied(page, "Call in Python")
        assert 'jeton.load("default").tokenize("a<|endoftext|>", special="all", add_special_tokens=True)' in program
        assert value_of(program).ids == ids
        assert output_of(copied(page, "Shell command")).split() == [str(id) for id in ids]

    def test_calls_of_why(self, open_page: Open) -> None:
        page = open_page("why")
        text = STATES["why"]["text"]
        explanation = value_of(copied(page, "Call in Python"))
        assert str(explanation) == str(SMALL.explain(text))
        assert str(explanation).strip() in output_of(copied(page, "Shell command"))
        assert ast.literal_eval(copied(page, "Ids in Python")) == SMALL.encode(text)

    @pytest.mark.parametrize("algorithm", ["bpe", "words", "wordpiece", "sentencepiece", "unigram"])
    def test_calls_of_train(self, open_page: Open, algorithm: str) -> None:
        page = open_page("train", algorithm=algorithm, size=262 if algorithm == "bpe" else None, step=1)
        facts = json.loads(copied(page, "JSON"))
        tok = value_of(copied(page, "Call in Python").replace("print(jeton.replay(tok, corpus))\n", ""))
        assert len(tok) == facts["vocab_size"]
        if algorithm == "unigram":
            assert facts["runs"][1]["pieces"][0][0] in {tok.id_to_token(id) for id in tok.vocab}
        else:
            assert len(tok.merges or facts["steps"]) == len(facts["steps"])
            log = tok.training.log
            assert [(step["left"], step["right"]) for step in facts["steps"]] == [(e.left, e.right) for e in log]

    def test_the_caption_of_train_names_the_step_and_the_settings(self, open_page: Open) -> None:
        _, content = saved(open_page("train", pattern="none", ties="first"), "SVG")
        caption = (
            "BPE on text · 258 of 262 entries · step 2 of 6 · ties: first in the text · pattern: none"
            f" · initial symbols: bytes · Jeton {jeton.__version__}"
        )
        assert caption in re.sub(r"\s+", " ", "".join(ElementTree.fromstring(content.decode()).itertext()))

    def test_calls_of_compare(self, open_page: Open) -> None:
        page = open_page("compare")
        text = STATES["compare"]["text"]
        ids = ast.literal_eval(copied(page, "Ids in Python"))
        assert ids == {"small": SMALL.encode(text), "characters": tokenizer("char gpt2").encode(text)}
        assert copied(page, "Ids").splitlines()[0] == "small: " + " ".join(map(str, ids["small"]))
        comparison = value_of(copied(page, "Call in Python"))
        expected = jeton.compare({"small": SMALL, "characters": tokenizer("char gpt2")}, text)
        assert str(comparison) == str(expected)
        assert str(len(ids["small"])) in output_of(copied(page, "Shell command"))

    def test_calls_of_chat(self, open_page: Open) -> None:
        page = open_page("chat")
        chat = value_of(copied(page, "Call in Python"))
        assert chat.ids == ast.literal_eval(copied(page, "Ids in Python"))
        assert chat.text == json.loads(copied(page, "JSON"))["text"]

    def test_calls_of_chat_for_a_shell(self, open_page: Open) -> None:
        page = open_page("chat", tokenizer="default")
        names = items(page)
        assert ("Shell command" in names) == (
            "Call in Python" in names and "add_tokens" not in copied(page, "Call in Python")
        )
        if "Shell command" in names:
            ids = copied(page, "Ids").split()
            assert output_of(copied(page, "Shell command")).split() == ids

    @pytest.mark.parametrize("search", [{"find": "ol"}, {"find": "6f 6c", "by": "hex"}, {"find": "250", "by": "id"}])
    def test_calls_of_vocabulary(self, open_page: Open, search: dict[str, str]) -> None:
        page = open_page("vocabulary", **search)
        found = value_of(copied(page, "Call in Python"))
        facts = json.loads(copied(page, "JSON"))
        assert facts["num"] == len(found) > 1
        assert [entry["id"] for entry in facts["entries"]] == sorted(found)[:100]
        if "by" not in search:
            assert len(output_of(copied(page, "Shell command")).splitlines()) >= len(found)

    def test_an_open_entry_is_exported(self, open_page: Open) -> None:
        id = max(SMALL.vocab)
        page = open_page("vocabulary", id=id)
        page.wait_for_selector(".card")
        assert value_of(copied(page, "Call in Python")).to_json() == SMALL.tree(id).to_json()
        assert "Link to this token" in items(page)

    def test_calls_of_classics(self, open_page: Open) -> None:
        page = open_page("classics")
        assert len(json.loads(copied(page, "JSON"))["panels"]) > 1

    def test_the_link_to_a_token_pins_it(self, open_page: Open) -> None:
        page = open_page("tokens", text="the old tale")
        assert "Link to this view" in items(page)
        page.locator(".pane .t").nth(1).click()
        assert "Link to this token" in items(page)
        page.locator(".menu > button").click()
        page.get_by_role("menuitem", name="Link to this token").click()
        page.get_by_text("Link copied.").wait_for()
        address = page.evaluate("navigator.clipboard.readText()")
        page.goto("about:blank")
        page.goto(address)
        page.locator(".pane .t.current").wait_for()
        assert page.locator(".card dd").first.inner_text() == str(SMALL.encode("the old tale")[1])

    def test_the_citation_names_no_address_of_this_machine(self, open_page: Open) -> None:
        entry = copied(open_page("tokens"), "Citation (BibTeX)")
        assert entry.startswith("@software{jeton,")
        assert jeton.__version__ in entry
        assert "127.0.0.1" not in entry

    def test_a_tokenizer_that_cannot_be_loaded_by_name_has_no_call(self, open_page: Open) -> None:
        names = items(open_page("tokens", tokenizer="bytes"))
        assert "Ids" in names
        assert not {"Call in Python", "Shell command"} & set(names)

    def test_copying_a_long_text_states_its_extent(self, open_page: Open) -> None:
        page = open_page("tokens", tokenizer="bytes", text="a" * 30_000)
        page.locator(".menu > button").click()
        page.get_by_text("Ids and JSON have the first 20,000 tokens, which are drawn.").wait_for()


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────

VIEWS = rest_is_slow(list(STATES), lambda view: view in ("tokens", "train"), "two of the views")


class TestFiles:
    @pytest.mark.parametrize("view", VIEWS)
    def test_svg_is_a_picture_of_its_own(self, open_page: Open, view: str) -> None:
        name, content = saved(open_page(view), "SVG")
        text = content.decode()
        root = ElementTree.fromstring(text)
        assert name.endswith(".svg")
        assert {child.tag.rpartition("}")[2] for child in root.iter()} <= {
            *("svg", "title", "rect", "g", "text", "clipPath", "line", "polyline", "circle", "path", "tspan")
        }
        assert not re.search(r"hsl\(|rgb|var\(|light-dark|color-mix|href|<style| style=", text)
        colors = {value for e in root.iter() for key, value in e.items() if key in ("fill", "stroke")}
        assert all(re.fullmatch("none|#[0-9a-f]{6}", color) for color in colors)
        assert f"Jeton {jeton.__version__}</text>" in text
        sizes = [float(root.get(name, "0")) for name in ("width", "height")]
        for element in root.iter("{http://www.w3.org/2000/svg}text"):
            assert -20 <= float(element.get("x", "0")) <= sizes[0] + 20
            assert 0 <= float(element.get("y", "0")) <= sizes[1]

    @pytest.mark.parametrize("view", VIEWS)
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_html_opens_from_disk(
        self, open_page: Open, chromium: Any, problems: Problems, tmp_path: Path, view: str, scheme: str
    ) -> None:
        name, content = saved(open_page(view), "HTML")
        (tmp_path / name).write_bytes(content)
        assert b"<script" not in content
        with chromium.new_context(offline=True, color_scheme=scheme) as context:
            page = context.new_page()
            problems.watch(page)
            requests: list[str] = []
            page.on("request", lambda request: requests.append(request.url))
            page.goto((tmp_path / name).as_uri())
            assert page.locator(".caption").inner_text().endswith(f"Jeton {jeton.__version__}")
            assert page.locator("button, input, select, textarea, [tabindex]").count() == 0
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            dark = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g)[0] < 128")
            assert dark == (scheme == "dark")
            assert axe_violations(page) == []
        assert len(requests) == 1, "the page loads no other resource"

    def test_html_has_the_text_and_the_facts_of_a_card(self, open_page: Open, chromium: Any, tmp_path: Path) -> None:
        text = "the 今天 tale"
        name, content = saved(open_page("tokens", text=text), "HTML")
        (tmp_path / name).write_bytes(content)
        with chromium.new_context() as context:
            page = context.new_page()
            page.goto((tmp_path / name).as_uri())
            assert page.locator(".tokens").evaluate("(e) => e.textContent") == text
            first = SMALL.tokenize(text).ids[0]
            assert page.locator(".t").first.get_attribute("title").startswith(f"id {first} · 74")

    def test_png_has_twice_the_size_of_the_svg(self, open_page: Open) -> None:
        page = open_page("tokens")
        name, content = saved(page, "PNG")
        assert name == "tokens.png"
        assert content.startswith(b"\x89PNG\r\n\x1a\n")
        width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
        root = ElementTree.fromstring(saved(page, "SVG")[1].decode())
        assert (width, height) == tuple(2 * int(root.get(name, "0")) for name in ("width", "height"))

    def test_a_split_character_is_drawn_in_slices(self, open_page: Open) -> None:
        text = saved(open_page("tokens", text="今"), "SVG")[1].decode()
        num = len(SMALL.encode("今"))
        assert num > 1
        assert text.count("<clipPath") == text.count(">今</text>") == num

    @pytest.mark.parametrize(("text", "left"), [("a" * 30_000, 25_000), ("a b\n" * 2_000, 3_000)])
    def test_a_picture_counts_omitted_tokens(self, open_page: Open, text: str, left: int) -> None:
        content = saved(open_page("tokens", tokenizer="bytes", text=text), "SVG")[1].decode()
        assert f"… {left:,} tokens more" in content
        assert content.count("<rect") < 5_100
        assert len(content) < 2_000_000

    def test_brackets_in_right_to_left_text_are_mirrored(self, open_page: Open) -> None:
        content = saved(open_page("tokens", tokenizer="bytes", text="مرحبا <a>"), "SVG")[1].decode()
        assert re.search(r'<text [^>]*direction="rtl"[^>]*>&lt;</text>', content)
        content = saved(open_page("tokens", tokenizer="bytes", text="hello <a>"), "SVG")[1].decode()
        assert "direction" not in content


# ── the menu ──────────────────────────────────────────────────────────────────────────────────────────────────────


class TestMenu:
    def test_the_menu_works_with_keys(self, open_page: Open) -> None:
        page = open_page("tokens")
        page.locator(".menu > button").focus()
        page.keyboard.press("ArrowDown")
        focused = "document.activeElement.textContent"
        assert page.evaluate(focused) == "Link to this view"
        page.keyboard.press("ArrowDown")
        assert page.evaluate(focused) == "Ids"
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")
        assert page.evaluate(focused) == "JSON"
        page.keyboard.press("Home")
        assert axe_violations(page) == []
        page.keyboard.press("Escape")
        assert page.evaluate(focused) == "Export"
        assert page.get_by_role("menu").count() == 0
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.get_by_role("menu").count() == 0

    @pytest.mark.parametrize(
        "context_options", [{"viewport": {"width": 390, "height": 844}, "has_touch": True}], ids=["narrow"]
    )
    def test_the_menu_fits_a_narrow_screen(self, open_page: Open) -> None:
        page = open_page("tokens", text="the old tale")
        assert not page.locator("#share").is_visible()
        page.locator(".menu > button").tap()
        box = page.get_by_role("menu").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert axe_violations(page) == []

    def test_the_menu_is_in_chinese(self, open_page: Open) -> None:
        page = open_page("tokens", lang="zh")
        page.get_by_role("button", name="导出").click()
        assert "Python 调用" in page.get_by_role("menuitem").all_inner_texts()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name="SVG").click()
        assert "个词元 · Jeton" in Path(download.value.path()).read_text(encoding="utf-8")
