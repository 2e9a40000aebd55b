"""Pictures of the lessons: the files are what the code draws, and their labels fit."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

TOOLS = Path(__file__).parent.parent / "tools"
sys.path.insert(0, str(TOOLS))

from lesson_pictures import FOLDER, PICTURES, pictures  # noqa: E402
from lesson_pictures.canvas import WIDTH, Canvas  # noqa: E402

sys.path.remove(str(TOOLS))


def test_the_files_equal_the_drawn_pictures() -> None:
    drawn = dict(pictures())
    assert sorted(drawn) == sorted(path.name for path in FOLDER.iterdir())
    outdated = [name for name, svg in drawn.items() if (FOLDER / name).read_text(encoding="utf-8") != svg]
    assert outdated == [], "run tools/draw_lessons.py"


def test_every_lesson_has_a_picture_with_a_title_of_its_language() -> None:
    steps = {path.stem for path in (TOOLS.parent / "python" / "jeton" / "reference").glob("step*.py")}
    assert set(PICTURES) == steps
    for step in steps:
        titles = [
            ElementTree.parse(FOLDER / f"{step}.{language}.svg").getroot()[0].text or "" for language in ("en", "zh")
        ]
        assert len(titles[0]) > 30
        assert any("\u4e00" <= letter <= "\u9fff" for letter in titles[1])
        assert titles[0] != titles[1]


def test_every_class_has_a_rule_and_every_color_is_a_number() -> None:
    """Programs other than browsers draw a box black if they do not know its color."""
    for path in FOLDER.iterdir():
        root = ElementTree.parse(path).getroot()
        style = root.findtext("{http://www.w3.org/2000/svg}style") or ""
        light, _, dark = style.partition("@media(prefers-color-scheme:dark)")
        assert re.search(r"hsl|var\(", style) is None
        for box in root.iter("{http://www.w3.org/2000/svg}rect"):
            assert re.search(rf"\.{box.get('class')}\{{[^}}]*(fill|stroke):#[0-9a-f]{{3,6}}", light), path.name
            assert f".{box.get('class')}{{" in dark, path.name


@pytest.mark.parametrize(
    ("x", "text", "options", "message"),
    [
        (10, "too wide" * 9, {}, "does not fit"),
        (WIDTH - 10, "right", {}, "does not fit"),
        (10, "wide", {"limit": 30}, "does not fit: 34 of 30"),
        (30, "below", {}, "overlaps 'first'"),
    ],
)
def test_labels_that_do_not_fit_are_errors(x: float, text: str, options: dict[str, Any], message: str) -> None:
    canvas = Canvas("title")
    canvas.text(20, 20, "first")
    with pytest.raises(ValueError, match=message):
        canvas.text(x, 22, text, **options)


def test_markup_is_escaped() -> None:
    canvas = Canvas("<a> & b")
    canvas.text(20, 20, "</w>")
    root = ElementTree.fromstring(canvas.svg())
    assert root[0].text == "<a> & b"
    assert root[-1].text == "</w>"


@pytest.mark.slow(reason="measures the labels of 26 pictures in a browser")
def test_labels_are_inside_of_the_pictures_in_a_browser(chromium: Any) -> None:
    outside = """() => [...document.querySelectorAll("text")].filter(text => {
        const [box, all] = [text.getBBox(), text.ownerSVGElement.viewBox.baseVal];
        return box.x < 0 || box.y < 0 || box.x + box.width > all.width || box.y + box.height > all.height;
    }).map(text => text.textContent)"""
    page = chromium.new_page()
    page.set_content("".join(path.read_text(encoding="utf-8") for path in sorted(FOLDER.iterdir())))
    assert page.locator("text").count() > 500
    assert page.evaluate(outside) == []
    page.close()
