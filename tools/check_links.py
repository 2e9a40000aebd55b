#!/usr/bin/env python3
"""Checks the internal links of all Markdown files: each target must exist, and each anchor must be a heading.

Prints ``file:line: target: reason`` for each broken link. The exit code is 1 if there is one. Anchors are formed as on
GitHub: the heading in lower case, without punctuation, with hyphens for spaces, and with ``-1``, ``-2`` … appended for
repeated headings.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
LINK = re.compile(
    r"\]\(\s*<?([^()\s<>]*(?:\([^()\s]*\)[^()\s<>]*)*)>?(?:\s+[\"'][^)]*)?\s*\)"  # [text](target "title")
    r"|^ {0,3}\[[^\]\n]+\]:[ \t]*<?([^\s>]+)"  # [name]: target
    r"|\b(?:href|src)=[\"']([^\"']*)[\"']",
    re.MULTILINE,
)
HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$", re.MULTILINE)
HTML_ANCHOR = re.compile(r"<[^>]*\b(?:id|name)=[\"']([^\"']+)[\"']")
EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
SKIPPED_FOLDERS = ("target", "node_modules")  # hidden folders are skipped, too


def main() -> int:
    """Prints broken links; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    root = Path(__file__).parent.parent
    parser.add_argument("root", nargs="?", type=Path, default=root, help="folder to search (default: the repository)")
    root = parser.parse_args().root.resolve()
    pages = sorted(markdown_files(root))
    broken = [f"{page.relative_to(root)}:{finding}" for page in pages for finding in check_page(page, root)]
    print("\n".join([*broken, f"{len(broken)} broken links in {len(pages)} Markdown files"]))
    return bool(broken)


def markdown_files(folder: Path) -> Iterator[Path]:
    """Yields the Markdown files below a folder, except those in hidden folders and build outputs."""
    for path in folder.iterdir():
        if path.is_dir():
            if not path.name.startswith(".") and path.name not in SKIPPED_FOLDERS:
                yield from markdown_files(path)
        elif path.suffix == ".md":
            yield path


def check_page(page: Path, root: Path) -> Iterator[str]:
    """Yields the broken links of a page, as ``line: target: reason``."""
    text = without_code(page.read_text(encoding="utf-8"))
    for match in LINK.finditer(text):
        target = next(group for group in match.groups() if group is not None)
        reason = "no target" if not target else None if EXTERNAL.match(target) else check_target(target, page, root)
        if reason:
            yield f"{text.count(chr(10), 0, match.start()) + 1}: {target}: {reason}"


def check_target(target: str, page: Path, root: Path) -> str | None:
    """Returns the reason why an internal link is broken; None if it is not broken."""
    name, _, anchor = unquote(target).partition("#")
    path = (root / name.lstrip("/") if name.startswith("/") else page.parent / name).resolve() if name else page
    if not path.exists():
        return "no such file"
    if not path.is_relative_to(root):
        return "outside of the repository"
    if anchor and path.suffix == ".md" and anchor not in anchors(path):
        return "no such heading"
    return None


@cache
def anchors(page: Path) -> frozenset[str]:
    """Returns the anchors of a page's headings."""
    text = blank(FENCE, page.read_text(encoding="utf-8"))
    seen: Counter[str] = Counter()
    result = set(HTML_ANCHOR.findall(text))
    for heading in HEADING.findall(text):
        shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        result.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return frozenset(result)


def without_code(text: str) -> str:
    """Removes code blocks and inline code."""
    return blank(CODE, blank(FENCE, text))


def blank(pattern: re.Pattern[str], text: str) -> str:
    """Removes matches but keeps their line ends, so that line numbers stay the same."""
    return pattern.sub(lambda match: "\n" * match[0].count("\n"), text)


if __name__ == "__main__":
    sys.exit(main())
