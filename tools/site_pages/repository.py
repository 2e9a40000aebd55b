"""Markdown files of the repository as pages of the site: their addresses, their links, and GitHub's dialect.

The text of a page stays unchanged except for its links. Links to a file that is another page get the address of that
page. For a file that is not a page, such as a script or a record, the site gets a page that shows the file, or a copy
of the file.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath

FENCE = re.compile(r"(?m)(^ {0,3}```[\s\S]*?^ {0,3}```[ \t]*$)")
LINK = re.compile(r"(\]\()([^()\s]+)(\))")
CODE = re.compile(r"((?<!`)(`+)(?!`)(?:.+?)(?<!`)\2(?!`))")
CODE_IN_TABLE = re.compile(r"(`+)((?:(?!\1).)*\\\|(?:(?!\1).)*)\1")

SHOWN = {".py": "python", ".toml": "toml", ".rs": "rust", ".txt": "text", ".pyi": "python", ".md": "markdown"}
COPIED = {".svg", ".png", ".csv", ".json"}

# File of the repository → page of the site. Files of `docs/` keep their names.
PAGES = {
    "benchmarks/README.md": "benchmarks.md",
    "benchmarks/encoder.md": "encoder_speed.md",
    "benchmarks/encoder_costs.md": "encoder_costs.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "README.md": "index.md",
    "docs/README.md": "project/pages.md",
    "python/jeton/reference/__init__.py": "lessons/index.md",
    "python/jeton/reference/zh.md": "lessons/zh/index.md",
    "docs/first_user.py": "first_user.md",
    "docs/decisions": "project/pages.md",
}


class Repository:
    """Lookup of the page, or the file, that a page's link leads to."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.addresses = dict(PAGES)
        for path in sorted((root / "docs").rglob("*.md")):
            name = path.relative_to(root).as_posix()
            self.addresses.setdefault(name, name.removeprefix("docs/"))
        for step in sorted((root / "python/jeton/reference").glob("step*")):
            chinese = step.name.endswith(".zh.md")
            stem = step.name.removesuffix(".zh.md").removesuffix(".py")
            name = step.relative_to(root).as_posix()
            self.addresses[name] = f"lessons/{'zh' if chinese else 'en'}/{stem}.md"
        self.sources: dict[str, str] = {}  # page → file that it shows
        self.copies: dict[str, str] = {}  # address → file that is copied

    def page(self, name: str) -> str:
        """Returns the Markdown of the page for a file of the repository."""
        text = (self.root / name).read_text(encoding="utf-8")
        return convert(text, lambda target: self.target(name, target))

    def target(self, name: str, link: str) -> str | None:
        """Returns the site's address for a link in a file; None if the site has no page for the target.

        Raises:
            FileNotFoundError: the link leads nowhere.
        """
        path, hash_sign, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link) or not path:
            return link
        linked_name = PurePosixPath(os.path.normpath(PurePosixPath(name).parent / path)).as_posix()
        folder = PurePosixPath(self.addresses[name]).parent
        if (address := self.address(linked_name)) is None:
            return None
        return os.path.relpath(address, folder) + hash_sign + anchor

    def address(self, name: str) -> str | None:
        """Returns the page of the site that shows a file or folder of the repository."""
        path = self.root / name
        if not path.exists():
            raise FileNotFoundError(f"a link leads to {name}, which does not exist")
        if name in self.addresses:
            return self.addresses[name]
        if path.is_dir():
            return self.addresses.get(f"{name}/README.md") or self.addresses.get(f"{name}/__init__.py")
        if path.suffix in COPIED:
            address = name.removeprefix("docs/")
            self.copies[address] = name
            return address
        if path.suffix in SHOWN or path.name in ("LICENSE", "NOTICE"):
            address = f"source/{name}.md"
            self.sources[address] = name
            return address
        return None

    def source(self, name: str) -> str:
        """Returns the Markdown of a page that shows a file."""
        path = self.root / name
        text = path.read_text(encoding="utf-8").rstrip()
        fence = "`" * 4
        return f"# {name}\n\n{fence}{SHOWN.get(path.suffix, 'text')}\n{text}\n{fence}\n"


def convert(text: str, target: Callable[[str], str | None]) -> str:
    """Replaces links, and writes the code in tables so that Python-Markdown shows it as GitHub does."""
    parts = FENCE.split(text)
    parts[::2] = [outside_code(table_code(part), target) for part in parts[::2]]
    return "".join(parts)


def outside_code(text: str, target: Callable[[str], str | None]) -> str:
    """Replaces links outside of inline code, in a text that has no blocks of code."""
    kept, end = [], 0
    for code in CODE.finditer(text):
        kept += [LINK.sub(lambda match: linked(match, target), text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*kept, LINK.sub(lambda match: linked(match, target), text[end:])])


def linked(match: re.Match[str], target: Callable[[str], str | None]) -> str:
    """Returns a link with the address of its target on the site."""
    address = target(match[2])
    return match[0] if address is None else f"]({address})"


def table_code(text: str) -> str:
    """In tables, writes vertical bars in code as entities, because GitHub's escape, a backslash, would be visible."""

    def entity(match: re.Match[str]) -> str:
        code = html.escape(match[2].strip(), quote=False)
        return f"<code>{code.replace(chr(92) + '|', '&#124;')}</code>"

    return re.sub(r"(?m)^\|.*$", lambda line: CODE_IN_TABLE.sub(entity, line[0]), text)
