#!/usr/bin/env python3
"""Opens pages of the built site in Chromium; checks accessibility (by axe), requests and scrolling; takes screenshots.

    python tools/view_site.py [PAGE]... [--into FOLDER]

Each page is opened in the light and the dark palette, 1280 and 390 pixels wide. The exit code is 1 if there are
findings. Needs `tools/build_site.py`, the extra ``test`` and Chromium.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

SITE = Path(__file__).parents[1] / "target" / "site" / "site"
PAGES = [
    "index.html",
    "api/tokenizer.html",
    "commands/encode.html",
    "lessons/en/step05_encode.html",
    "lessons/zh/step11_compression.html",
]
SCHEMES = ("light", "dark")
WIDTHS = (1280, 390)


def main() -> int:
    """Opens the pages; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("pages", nargs="*", default=PAGES, metavar="PAGE")
    parser.add_argument("--into", type=Path, help="folder of screenshots of the first screen; default: none are taken")
    parser.add_argument("--browser", default=shutil.which("chromium"))
    options = parser.parse_args()
    findings: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.browser, args=["--no-sandbox"])
        for name in options.pages:
            findings += look(browser, name, options.into)
        browser.close()
    print("\n".join(findings))
    print(f"{len(options.pages)} pages, {len(SCHEMES)} palettes, {len(WIDTHS)} widths: {len(findings)} findings")
    return bool(findings)


def look(browser: Browser, name: str, folder: Path | None) -> Iterator[str]:
    """Yields the findings of a page."""
    for scheme in SCHEMES:
        for width in WIDTHS:
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            requests: list[str] = []
            page.on("request", lambda request, requests=requests: requests.append(request.url))
            page.goto((SITE / name).resolve(strict=True).as_uri())
            page.wait_for_load_state("networkidle")
            yield from (f"{name}, {scheme}, {width} px: {finding}" for finding in check(page))
            others = {address for address in requests if address.startswith(("http:", "https:"))}
            yield from (f"{name}, {scheme}, {width} px: requests {address}" for address in sorted(others))
            if folder:
                folder.mkdir(parents=True, exist_ok=True)
                page.screenshot(path=folder / f"{name.replace('/', '-').removesuffix('.html')}-{scheme}-{width}.png")
            page.close()


def check(page: Page) -> Iterator[str]:
    """Yields violations that axe finds, pictures that do not load, and horizontal scrolling of the page."""
    for violation in Axe().run(page).response["violations"]:
        yield f"{violation['id']}: {violation['nodes'][0]['html'][:120]}"
    for source in page.evaluate("() => [...document.images].filter(one => !one.naturalWidth).map(one => one.src)"):
        yield f"{source} does not load"
    if page.evaluate("() => document.documentElement.scrollWidth > innerWidth"):
        yield "scrolls horizontally"


if __name__ == "__main__":
    sys.exit(main())
