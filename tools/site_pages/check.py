"""Checks of the built site: links and anchors, and requests to other hosts by pages and style sheets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

THEME_ANCHORS = {"__skip"}  # targets that the theme's script adds
STYLE_URL = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])((?:https?:)?//[^"')\s]+)""")
# Elements and attributes by which a browser requests files when it shows a page.
LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href")}


class Page(HTMLParser):
    """Anchors, links and requests that are in an HTML page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collects anchors, links and requests from the attributes of a tag."""
        values = {name: value or "" for name, value in attrs}
        for name, value in values.items():
            if name in ("id", "name"):
                self.anchors.add(value)
            if (tag, name) in LOADED and values.get("rel") not in ("canonical", "prev", "next"):
                self.loaded.append(value)
            elif (tag, name) == ("a", "href"):
                self.links.append(value)


class Site:
    """The HTML pages of a folder, with checks of their links."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def pages(self) -> dict[Path, Page]:
        """Returns path → page."""
        return {path: Page(path) for path in sorted(self.folder.rglob("*.html"))}

    def findings(self) -> Iterator[str]:
        """Yields all requests to other hosts and all broken links, as ``file: link: reason``."""
        for style in sorted(self.folder.rglob("*.css")):
            for link in STYLE_URL.findall(style.read_text(encoding="utf-8")):
                yield f"{style.relative_to(self.folder)}: {link}: is loaded from another host"
        for path, page in self.pages.items():
            name = path.relative_to(self.folder)
            for link in page.loaded:
                if urlsplit(link).netloc:
                    yield f"{name}: {link}: is loaded from another host"
            if name.as_posix() == "404.html":  # its links are relative to the address that was requested
                continue
            for link in (*page.links, *page.loaded):
                reason = self.broken(path, link)
                if reason:
                    yield f"{name}: {link}: {reason}"

    def broken(self, path: Path, link: str) -> str | None:
        """Returns the reason why a link is broken, or None if the link works. Links to other hosts are not checked."""
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            return None
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if target.is_dir():
            target /= "index.html"
        if not target.is_file():
            return "no such file"
        page = self.pages.get(target)
        is_state = parts.fragment.startswith("view=")  # the anchor is a state of the playground
        if parts.fragment and page and not is_state and unquote(parts.fragment) not in page.anchors | THEME_ANCHORS:
            return "no such anchor"
        return None

    def anchors(self) -> set[str]:
        """Returns the anchors of all pages."""
        return {anchor for page in self.pages.values() for anchor in page.anchors}
