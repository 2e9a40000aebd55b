#!/usr/bin/env python3
"""Draws the pictures of the lessons in docs/pictures/lessons/: ``python tools/draw_lessons.py``.

This script needs only the installed package. A test compares the files with what the script draws. For slides and
papers, which cannot use SVG, `--png FOLDER` and `--pdf FOLDER` write the same pictures in other formats, in their light
colors. These options need the extra ``test``, Chromium, and fonts with Chinese characters.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).parent))

from lesson_pictures import FOLDER, pictures

SCALE = 4  # pixels of a PNG for each pixel of the picture, so a PNG is 1,600 pixels wide
PAGE = "<style>@page {{ margin: 0 }} body {{ margin: 0 }} svg {{ display: block }}</style>{}"


def main() -> None:
    """Writes all pictures in the selected formats."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--png", type=Path, metavar="FOLDER", help="write PNG files, 1,600 pixels wide, instead")
    parser.add_argument("--pdf", type=Path, metavar="FOLDER", help="write PDF files of the size of the picture instead")
    parser.add_argument("--browser", default=shutil.which("chromium"))
    options = parser.parse_args()
    drawn = dict(pictures())
    if options.png or options.pdf:
        write_others(drawn, options.png, options.pdf, options.browser)
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, svg in drawn.items():
        (FOLDER / name).write_text(svg, encoding="utf-8")
    print(f"{len(drawn)} pictures in {FOLDER}")


def write_others(drawn: dict[str, str], png: Path | None, pdf: Path | None, browser: str | None) -> None:
    """Writes the pictures as PNG and PDF, which a browser renders."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(device_scale_factor=SCALE, color_scheme="light")
        for name, svg in drawn.items():
            root = ElementTree.fromstring(svg)  # noqa: S314 -- written by this program
            width, height = int(root.attrib["width"]), int(root.attrib["height"])
            page.set_viewport_size({"width": width, "height": height})
            page.set_content(PAGE.format(svg))
            if png:
                write(png, name, ".png", page.screenshot(omit_background=True))
            if pdf:
                options: dict[str, Any] = {"width": f"{width}px", "height": f"{height}px", "print_background": True}
                write(pdf, name, ".pdf", page.pdf(**options))
        chromium.close()
    print(f"{len(drawn)} pictures in " + " and ".join(str(folder) for folder in (png, pdf) if folder))


def write(folder: Path, name: str, suffix: str, content: bytes) -> None:
    """Writes a file, and creates its folder if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).with_suffix(suffix).write_bytes(content)


if __name__ == "__main__":
    main()
