"""Objects are displayed in the theme of the notebook, whatever the theme of the system is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

import jeton

TOK = jeton.train(
    ["the old keeper reads the older weather"], 290, special_tokens=["<|im_start|>", "<|im_end|>"], progress=False
).with_chat_template("chatml")
BYTES = jeton.Tokenizer.from_merges({byte: bytes([byte]) for byte in range(256)}, [])
TEXT = "the <b>old</b> keeper & weather 今天"
MESSAGES = [{"role": "user", "content": TEXT}, {"role": "assistant", "content": "old"}]
OBJECTS: dict[str, Callable[[], Any]] = {
    "Tokenizer": lambda: TOK,
    "Encoding": lambda: TOK.tokenize(TEXT),
    "Explanation": lambda: TOK.explain(TEXT),
    "Tree": lambda: TOK.tree(270),
    "Comparison": lambda: jeton.compare({"trained": TOK, "bytes": BYTES}, TEXT * 4),
    "TextDifference": lambda: jeton.compare(TOK, (TEXT, TEXT.replace("keeper", "reader"))),
    "Measure": lambda: jeton.measure(TOK, [TEXT], progress=False),
    "MeasureTable": lambda: jeton.measure({"a": TOK, "b": BYTES}, {"one": [TEXT]}, progress=False),
    "Chat": lambda: TOK.chat(MESSAGES),
    "Chunk": lambda: TOK.split(TEXT, 9)[0],
    "TokenBatch": lambda: TOK.encode_batch([TEXT] * 20),
    "Audit": lambda: jeton.audit(TOK, progress=False),
    "TemplateCheck": lambda: jeton.chat_check(TOK),
}
NAMED = ("Tokenizer", "Comparison", "TextDifference", "Chat", "Audit", "TemplateCheck")
# Attributes by which notebooks declare their theme, and the background of the cell.
THEMES = {
    "system": ("", "#fff", "#111"),
    "JupyterLab": ('data-jp-theme-light="{is_light}"', "#fff", "#111"),
    "VS Code": ('class="vscode-{theme}"', "#fff", "#1e1e1e"),
    "Colab": ('theme="{theme}"', "#fff", "#1e1e1e"),
}
# The lowest contrast of a text with the first opaque background around it. Tokens have their own colors.
CONTRAST = """() => {
  const light = color => {
    const [r, g, b] = color.map(part => part / 255).map(p => p <= 0.04045 ? p / 12.92 : ((p + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const parts = color => color.match(/[\\d.]+/g).map(Number);
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || element.closest("style, .t") || !element.checkVisibility()) continue;
    let opacity = 1, ground = null;
    for (let at = element; at; at = at.parentElement) {
      opacity *= Number(getComputedStyle(at).opacity);
      const [r, g, b, alpha = 1] = parts(getComputedStyle(at).backgroundColor);
      if (!ground && alpha === 1) ground = [r, g, b];
    }
    const color = parts(getComputedStyle(element).color).slice(0, 3);
    const ink = color.map((part, i) => part * opacity + ground[i] * (1 - opacity));
    const [low, high] = [light(ink), light(ground)].sort((a, b) => a - b);
    found.push([(high + 0.05) / (low + 0.05), walker.currentNode.data]);
  }
  return found.sort((a, b) => a[0] - b[0])[0];
}"""


class Balanced(HTMLParser):
    """Open elements, and all tags."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", OBJECTS)
def test_a_fragment_is_self_contained(name: str) -> None:
    fragment = OBJECTS[name]()._repr_html_()
    parser = Balanced()
    parser.feed(fragment)
    assert parser.open == []
    assert not parser.tags & {"script", "link", "img", "iframe", "html", "body"}
    assert "color-scheme:light" not in fragment.replace("(prefers-color-scheme:", "")
    assert "<b>old" not in fragment
    if name in NAMED:
        assert TOK.fingerprint[:15] in fragment


@pytest.fixture(scope="module")
def page(chromium: Any) -> Iterator[Any]:
    made = chromium.new_page()
    yield made
    made.close()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", OBJECTS)
def test_text_can_be_read_in_every_theme(page: Any, name: str, theme: str) -> None:
    fragment = OBJECTS[name]()._repr_html_()
    attribute, light, dark = THEMES[theme]
    for is_dark in (False, True):
        for system in ("light", "dark"):
            if theme == "system" and system != ("dark" if is_dark else "light"):
                continue
            page.emulate_media(color_scheme=system)
            told = attribute.format(theme="dark" if is_dark else "light", is_light=str(not is_dark).lower())
            style = f"background:{dark if is_dark else light};color:{'#ddd' if is_dark else '#222'}"
            page.set_content(f'<!doctype html><meta charset=utf-8><body {told} style="{style}">{fragment}')
            lowest = page.evaluate(CONTRAST)
            assert lowest is None or lowest[0] >= 4.5, (is_dark, system, lowest)
            scheme = page.evaluate("() => getComputedStyle(document.body.lastElementChild).colorScheme")
            assert scheme == "normal"


def test_long_values_are_cut_off() -> None:
    many = jeton.compare([BYTES], "a" * 1000)._repr_html_()
    assert "and 800 more tokens" in many
    assert "more rows" in TOK.encode_batch(["the"] * 20)._repr_html_()
    assert len(TOK.split("a" * 9000, 8000)[0]._repr_html_()) < 4000
    assert "10 messages more" in TOK.chat([{"role": "user", "content": "a"}] * 60)._repr_html_()
    assert TOK.encode_batch([])._repr_html_()
