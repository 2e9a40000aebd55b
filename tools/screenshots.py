"""Takes the screenshots of the playground in docs/pictures/.

    python tools/screenshots.py VOCABS [NAME]... [--into FOLDER]

VOCABS is a folder with ``o200k_base.tiktoken``, ``cl100k_base.tiktoken``, ``r50k_base.tiktoken`` and
``t5-small.tokenizer.json``. Needs the extra ``play``, playwright, Chromium, and the fonts Noto Sans, Noto Sans CJK and
Noto Color Emoji, without which the pictures have boxes in place of characters. By default, it takes those pictures that
exist in docs/pictures/. If a NAME has no picture there, pass ``--into``. A NAME stands for a view in light colors, in
dark colors (``-dark``), or on a narrow screen (``-narrow``).
"""

from __future__ import annotations

import argparse
import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

from jeton.playground.catalog import Catalog
from jeton.playground.server import bind, make_server

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
TEXT = (
    "The tokenizer’s first rule: count twice, cut once.\n\n"
    "def naïve(x):\n\treturn x ** 2   # 平方 of x 👩‍🔬\n\n"
    "مرحبا بالعالم — Größenordnung 12345\n"
)
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


def press(place: int) -> Callable[[Page], None]:
    """Returns an action that clicks on a token and waits for its details."""

    def act(page: Page) -> None:
        page.locator(".pane .t").nth(place).click()
        page.locator(".card dl").wait_for()

    return act


def nothing(page: Page) -> None:
    """Does nothing; the action of views that need none."""


def to_the_languages(page: Page) -> None:
    """Scrolls the page to the chart of languages."""
    page.locator(".costs").evaluate("one => one.scrollIntoView()")


class Shot(NamedTuple):
    """One screenshot: a view, its state, and how the page is displayed."""

    state: dict[str, Any]
    wait: str
    act: Callable[[Page], None] = nothing
    scheme: str = "light"
    viewport: dict[str, int] = WIDE


def everywhere(name: str, state: dict[str, Any], wait: str) -> dict[str, Shot]:
    """Returns the screenshots of a view: light, dark, and narrow."""
    return {
        name: Shot(state, wait),
        f"{name}-dark": Shot(state, wait, scheme="dark"),
        f"{name}-narrow": Shot(state, wait, viewport=NARROW),
    }


TOKENS = {"view": "tokens", "tokenizer": "cl100k_base", "text": TEXT}
WHY = {"view": "why", "tokenizer": "cl100k_base", "text": "The tokenizers’ naïve rule 12345", "pretoken": 1, "step": 3}
WORDS = "old older fast faster fastest best better yes desk mess"
TRAIN = {"view": "train", "text": WORDS, "size": 270, "pattern": "none", "ties": "first", "step": 9}
COMPARE = {
    "view": "compare",
    "text": "def greet(name):\n    return f'Hello, {name}!'\n\nnaïve strawberry, 天气, 12345.67",
    "compare": ["r50k_base", "o200k_base", "t5-small"],
}
VOCABULARY = {"view": "vocabulary", "tokenizer": "o200k_base", "find": "berr", "id": 101_830}
SHOTS = {
    "play-tokens-light": Shot(TOKENS, ".pane .t", press(1)),
    "play-tokens-dark": Shot(TOKENS, ".pane .t", press(1), scheme="dark"),
    "play-tokens-narrow": Shot(TOKENS, ".pane .t", press(1), viewport=NARROW),
    "play-why-light": Shot(WHY, ".symbols .t"),
    "play-why-dark": Shot(WHY, ".symbols .t", scheme="dark"),
    "play-why-narrow": Shot(WHY, ".symbols .t", viewport=NARROW),
    "play-why-unigram": Shot({**WHY, "tokenizer": "t5-small"}, ".lattice .best"),
    **everywhere("play-train", TRAIN, ".bars tbody tr"),
    **everywhere("play-compare", COMPARE, ".column .t"),
    "play-languages": Shot(COMPARE, ".chart tbody tr", to_the_languages),
    "play-chat": Shot({"view": "chat", "tokenizer": "lessons"}, "#view-chat .tokens .t"),
    **everywhere("play-vocabulary", VOCABULARY, ".card dl"),
    **everywhere("play-classics", {"view": "classics", "classic": "cut-character"}, ".panel .t"),
}


def main() -> None:
    """Starts a playground and takes the selected screenshots."""
    parser = argparse.ArgumentParser(description="Take the pictures of the playground.")
    parser.add_argument("vocabs", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="; ".join(SHOTS))
    parser.add_argument("--into", type=Path, default=PICTURES)
    parser.add_argument("--browser", default=shutil.which("chromium"))
    args = parser.parse_args()
    with bind() as listener, sync_playwright() as playwright:
        port = listener.getsockname()[1]
        server = make_server(Catalog(folder=args.vocabs, cached=False), port)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            browser = playwright.chromium.launch(executable_path=args.browser)
            shown = [name for name in SHOTS if (PICTURES / f"{name}.png").exists()]
            for name in args.names or shown:
                shot = SHOTS[name]
                page = browser.new_page(viewport=shot.viewport, color_scheme=shot.scheme, reduced_motion="reduce")
                page.on("console", lambda message, name=name: print(f"{name}: {message.text}"))
                pairs = [(k, v) if isinstance(v, str) else (f"{k}:", json.dumps(v)) for k, v in shot.state.items()]
                page.goto(f"http://127.0.0.1:{port}/#{urlencode(pairs)}")
                page.locator(shot.wait).first.wait_for()
                shot.act(page)
                page.wait_for_timeout(700)  # time for the request after a click, and for loading fonts
                page.screenshot(path=args.into / f"{name}.png")
                page.close()
                print(name)
            browser.close()
        finally:
            server.should_exit = True
            thread.join()


if __name__ == "__main__":
    main()
