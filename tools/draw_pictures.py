"""Draws the pictures of tokens in docs/pictures/: five texts in a terminal and in a notebook, and a merge tree.

    python tools/draw_pictures.py VOCABS [--browser /usr/bin/chromium]

VOCABS is a folder with ``r50k_base.tiktoken`` and ``o200k_base.tiktoken``. Needs playwright and Chromium. Text
widths depend on the installed fonts.
"""

from __future__ import annotations

import argparse
import html
import re
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

import jeton
from jeton.drawing import to_svg, to_terminal, tree_to_html, tree_to_svg, tree_to_terminal
from jeton.drawing.display_width import display_width

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
VOCABULARIES = {"GPT-2": "r50k_base.tiktoken", "o200k": "o200k_base.tiktoken"}
TEXTS = {
    "English": "The quick brown fox doesn't jump over 12,345 lazy dogs. Unbelievable tokenization!",
    "Chinese": "今天的天气很好，我们出去走走吧。𠮷野家",
    "Emoji": "😀 👍🏽 👩‍👩‍👧 🇫🇷 ❤️ ok",
    "Code": "def total(xs):\n    # naïve\n\treturn sum(x ** 2 for x in xs)\n",
    "Arabic": "مرحبا بالعالم، كيف حالك اليوم؟",
}
CELL = 10  # width of a cell in pixels
WORD = " tokenization"

# Terminal colors 16 to 255: a color cube, then grays.
LEVELS = (0, 95, 135, 175, 215, 255)


def rgb(code: int) -> str:
    """Returns the RGB value of one of the 256 terminal colors."""
    if code >= 232:
        return "#" + f"{8 + 10 * (code - 232):02x}" * 3
    if code < 16:
        return "#000"
    code -= 16
    return "#" + "".join(f"{LEVELS[each]:02x}" for each in (code // 36, code // 6 % 6, code % 6))


def screen(ansi: str) -> str:
    """Renders terminal output as HTML, one box for each cell, because terminals neither join nor reorder letters."""
    lines = []
    for line in ansi.split("\n"):
        boxes = []
        style = ""
        for escape, run in re.findall("(?:\x1b\\[([0-9;]*)m)|([^\x1b]+)", line):
            if run:
                sizes = ((each, min(display_width(each), 2) * CELL) for each in characters(run))
                boxes += [f'<b style="width:{size}px;{style}">{html.escape(each)}</b>' for each, size in sizes]
            else:
                style = look([int(code or 0) for code in escape.split(";")])
        lines.append(f"<div>{''.join(boxes) or ' '}</div>")
    return "".join(lines)


def characters(run: str) -> Iterator[str]:
    """Splits a text into letters, each with its combining marks."""
    held = ""
    for character in run:
        if held and display_width(character) and character != "\ufe0f":
            yield held
            held = ""
        held += character
    if held:
        yield held


def look(codes: list[int]) -> str:
    """Returns the CSS for the parameters of an escape sequence."""
    ink, ground, style = "", "", ""
    while codes:
        code = codes.pop(0)
        if code in (38, 48):
            _, tone = codes.pop(0), rgb(codes.pop(0))
            ink, ground = (tone, ground) if code == 38 else (ink, tone)
        style += {1: "font-weight:bold;", 2: "opacity:.6;", 4: "text-decoration:underline;"}.get(code, "")
        if code == 7:
            style += "--turned:1;"
    if "--turned" in style:
        ink, ground = "#111", ink
    return style + (f"color:{ink};" if ink else "") + (f"background:{ground};" if ground else "")


PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; padding: 18px 22px; width: {width}px; background: {ground}; color: {ink};
  font: 15px/1.5 "Noto Sans", "DejaVu Sans", sans-serif; color-scheme: {scheme} }}
h2 {{ font-size: 14px; margin: 16px 0 4px; font-weight: 600 }} h2:first-child {{ margin-top: 0 }}
.terminal {{ font: 16px/22px "DejaVu Sans Mono", "Noto Sans Mono CJK SC", monospace }}
.terminal b {{ display: inline-block; font-weight: inherit; white-space: pre; overflow: visible; height: 22px }}
.terminal div {{ height: 22px; white-space: pre }}
</style>{body}"""


def photograph(browser: Browser, name: str, body: str, *, dark: bool, width: int = 860) -> None:
    """Renders a page and saves a picture of it."""
    scheme = "dark" if dark else "light"
    page = browser.new_page(viewport={"width": width + 44, "height": 400}, device_scale_factor=1.5, color_scheme=scheme)
    colors = {"ground": "#16181d", "ink": "#e8e8e8"} if dark else {"ground": "#ffffff", "ink": "#1a1a1a"}
    page.set_content(PAGE.format(body=body, width=width, scheme=scheme, **colors))
    page.screenshot(path=PICTURES / name, full_page=True)
    page.close()


def main() -> None:
    """Draws all pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vocabs", type=Path)
    parser.add_argument("--browser", default="/usr/bin/chromium")
    options = parser.parse_args()
    toks = {name: jeton.load(options.vocabs / file) for name, file in VOCABULARIES.items()}

    def sections(draw_one: object, **marks: object) -> str:
        made = []
        for name, text in TEXTS.items():
            for vocabulary, tok in toks.items():
                encoding = tok.tokenize(text)
                made.append(f"<h2>{name}, {vocabulary}: {len(encoding)} tokens</h2>")
                made.append(draw_one(encoding, **marks))  # type: ignore[operator]
        return "".join(made)

    def terminal(encoding: jeton.Encoding, color: bool, width: int) -> str:
        drawn = to_terminal(encoding.drawing(), color=color, width=width)
        return f'<div class="terminal">{screen(drawn)}</div>'

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.browser)
        photograph(browser, "terminal.png", sections(terminal, color=True, width=84), dark=True)
        narrow = sections(terminal, color=False, width=40)
        photograph(browser, "terminal-no-color-narrow.png", narrow, dark=False, width=400)
        for dark in (False, True):
            name = f"notebook-{'dark' if dark else 'light'}.png"
            photograph(browser, name, sections(lambda encoding: encoding._repr_html_()), dark=dark)
        gpt2 = toks["GPT-2"]
        tree = gpt2.tree(gpt2.tokenize(WORD)[0].id)
        words = f'<div class="terminal">{screen(tree_to_terminal(tree, color=True))}</div>'
        photograph(browser, "tree-terminal.png", words, dark=True, width=420)
        photograph(browser, "tree-notebook.png", tree_to_html(tree) + gpt2._repr_html_(), dark=False, width=640)
        browser.close()
    (PICTURES / "tree.svg").write_text(tree_to_svg(tree) + "\n")
    mixed = "\n".join([TEXTS["English"], TEXTS["Chinese"], TEXTS["Emoji"]])
    (PICTURES / "tokens.svg").write_text(to_svg(gpt2.tokenize(mixed).drawing(), width=72) + "\n")


if __name__ == "__main__":
    main()
