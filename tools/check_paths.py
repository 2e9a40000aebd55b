#!/usr/bin/env python3
"""Checks that names in documentation and comments refer to existing files, folders, modules and tests.

Prints ``file:line: name`` for each name that refers to nothing; the exit code is then 1. It reads Markdown pages,
comments and docstrings of Python, Rust and JavaScript, and comments of TOML, YAML, shell and make. These count as
names:

- a path with the suffix of a source file, or one that begins with a folder of the repository;
- a path in backticks, such as `util/forks` or `encode/`; the suffix of a module may be left out;
- ``jeton.module.name``: the module must exist and contain `name`; in longer names, the rest is not checked;
- ``test_…``; in test files, this includes strings that give a reason, for example why a test is slow.

A path is relative to the repository, to a package (`PACKAGES`), to a folder above the file that names it, or to the
folder of a path in the same page or comment. Left out: files of other projects, which are named under ``Source:`` or
after ``owner/repository``; doctests; names in `ALLOWED`; and paths of Rust items, which rustdoc checks.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

PACKAGES = (
    "python",
    "python/jeton",
    "python/jeton/playground",
    "python/jeton/playground/static",
    "crates",
    "crates/jeton-core",
    "crates/jeton-core/src",
    "crates/jeton-python/src",
    "crates/jeton-wasm/src",
)
HIDDEN_FOLDERS = (".ci", ".github")  # hidden folders that are searched
SKIPPED_FOLDERS = ("target", "node_modules")

# Names of files that are not in the repository, grouped by the reason why they may be named.
ALLOWED = {
    name: reason
    for reason, names in {
        "a file or folder of the reader": "texts/ my_file.py script.py job.sh two.sh tests/file.py stepNN_name.*",
        "in a folder of shards": "spool/ done/ mix.toml report.md",
        "in a folder of a tokenizer": "additional_chat_templates/ *.jinja tokenization_qwen.py",
        "in the test data": "corpora/ vocabs/ udhr/ data/gguf",
        "made by a tool, and ignored by git": "target/* dist/ fuzz/findings/ fuzz/corpus/",
        "in the documentation site": "zensical.toml lessons/* lessons/en/*",
        "of a pinned library": "tiktoken_ext/openai_public.py npyffi/array.rs gen_stubs_test.py tokenization_note.md",
        "removed, in decision 17": "short_calls.py json.rs",
    }.items()
    for name in names.split()
}

SUFFIX = r"\.(?:rs|pyi?|m?js|css|toml|ya?ml|sh|md|jinja)"
NAME = re.compile(r"(?<![\w./:@~$\\-])(?:\.(?=github|ci))?[\w*<{][\w.*<>{}-]*(?:/[\w.*<>{},-]+)*/?")
MODULE = re.compile(r"(?<![\w./-])jeton(?:\.[A-Za-z_]\w*)+(?![\w/-])")
TEST = re.compile(r"(?<![\w./*])test_\w+(?![\w./*])")
# Text that is removed before the search: web addresses; the text of a Markdown link, if it is the name of a `.rs` file;
# and `../` (parent folders are searched anyway).
URL = re.compile(r"\w+://\S+|\b[\w.-]+\.rs\]\(|(?:\.\./)+")
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)
# Two kinds of text may name files of other projects: the text after "Source:", up to the next label with a colon or the
# end of the paragraph; and a path directly after the name of a repository.
SOURCE = re.compile(
    r"(?:\bSources?(?: of [\w ]+)?:|\bShown by\b|来源：|依据：)"
    r"(?:(?!\n\s*\n|[.;]\s+(?:[A-Z][a-z]+ )?[A-Za-z]+ ?[a-z]*:\s).)*"
    r"|\b[\w-]+/[\w.-]+,? `?(?!tests/|tools/|docs/)[\w/.-]+\.(?:py|rs|md)|\bgithub/[\w-]+, [\w/.-]+",
    re.DOTALL,
)
DOCTEST = re.compile(r"^\s*>>>.*?(?=^\s*$|\Z)", re.MULTILINE | re.DOTALL)
STRING = re.compile(r'(^[ \t]*r?)?"""(.*?)"""', re.MULTILINE | re.DOTALL)
REASON = re.compile(r'"(?=[^"\n]* )[^"\n]*\btest_[^"\n]*"')
COMMENTS = {
    ".rs": re.compile(r"(?:^|(?<=\s))//[/!]?(?=\s)(.*)$", re.MULTILINE),
    ".js": re.compile(r"(?:^|(?<=\s))(?://([^\n]*)|/\*.*?\*/)", re.MULTILINE | re.DOTALL),
    "": re.compile(r"(?:^|(?<=\s))#[ !](.*)$", re.MULTILINE),
}


def main() -> int:
    """Prints the names that refer to nothing; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    default = Path(__file__).parent.parent
    parser.add_argument(
        "root", nargs="?", type=Path, default=default, help="folder to search (default: the repository)"
    )
    repository = Repository(parser.parse_args().root.resolve())
    stale: list[str] = []
    checked = 0
    for path in sorted(repository.documents()):
        for line, name, exists in repository.names(path):
            checked += 1
            if not exists:
                stale.append(f"{path.relative_to(repository.root)}:{line}: {name}")
    print("\n".join([*stale, f"{len(stale)} of {checked} names do not exist"]))
    return bool(stale)


class Repository:
    """The files of a repository, with lookups of the names that documents use."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = list(files(root))
        self.paths = {self.relative(path) for path in self.files}
        self.paths |= {self.relative(folder) for path in self.files for folder in self.above(path)} - {"."}
        self.folders = {path.partition("/")[0] for path in self.paths if "/" in path}
        tests = [path for path in self.files if path.suffix == ".py" and path.name.startswith(("test_", "conftest"))]
        defined = re.compile(r"\bdef (test_\w+)|^(test_\w+)\b", re.MULTILINE)
        self.tests = {path.stem for path in tests}
        self.tests |= {name for path in tests for pair in defined.findall(read(path)) for name in pair if name}

    def relative(self, path: Path) -> str:
        """Returns a path relative to the repository, with slashes."""
        return path.relative_to(self.root).as_posix()

    def above(self, path: Path) -> Iterator[Path]:
        """Yields the folders above a file: first the file's own folder, last the root of the repository."""
        return (folder for folder in path.parents if folder.is_relative_to(self.root))

    def documents(self) -> Iterator[Path]:
        """Yields the files that have documentation or comments."""
        for path in self.files:
            if path.suffix in (".md", ".py", ".pyi", ".rs", ".js", ".mjs", ".toml", ".yml", ".sh") or (
                path.name == "Makefile"
            ):
                yield path

    def names(self, path: Path) -> Iterator[tuple[int, str, bool]]:
        """Yields each name in a document: its line, the name, and whether it exists."""
        above = [self.relative(folder) for folder in self.above(path)]
        bases = list(dict.fromkeys(["" if base == "." else base for base in (*above[::-1], *above, *PACKAGES)]))
        for first, text in prose(path):
            for group in [text] if path.suffix == ".md" else re.split(r"(?<=\n)(?=\s*\n)", text):
                yield from ((first + line, name, exists) for line, name, exists in self.in_text(group, bases))
                first += group.count("\n")

    def in_text(self, text: str, bases: list[str]) -> Iterator[tuple[int, str, bool]]:
        """Yields each path, module and test that a text names: its line, the name, and whether it exists.

        A path may be relative to any folder of `bases`.
        """
        beside: dict[str, None] = {}  # folders of the paths found so far in this text
        missing = []
        fences = [match.span() for match in FENCE.finditer(text)]
        for match in NAME.finditer(text):
            name = match[0].rstrip(".,:;")
            in_code = text[match.start() - 1 : match.start()] == "`" == text[match.start() + len(name) :][:1]
            if not self.is_path(name, in_code, any(start < match.start() < end for start, end in fences), bases):
                continue
            line = text.count("\n", 0, match.start())
            if found := self.find(name, bases):
                beside |= dict.fromkeys([found, found.rpartition("/")[0]])
                yield line, name, True
            elif not is_allowed(name):
                missing.append((line, name))
        for line, name in missing:
            yield line, name, self.find(name, list(beside)) is not None
        for match in MODULE.finditer(text):
            yield text.count("\n", 0, match.start()), match[0], self.has_module(match[0])
        for match in TEST.finditer(text):
            yield text.count("\n", 0, match.start()), match[0], match[0] in self.tests

    def is_path(self, path: str, in_code: bool, is_fenced: bool, bases: list[str]) -> bool:
        """Tests whether a name is meant as a path of the repository."""
        first, slash, _ = path.partition("/")
        if slash and first in self.folders:
            return True
        if is_fenced:
            return False
        if re.search(rf"\w[\w*<>{{}}]*{SUFFIX}$", path):
            return True
        if path.endswith("/"):
            return in_code
        return bool(in_code and slash and "." not in path and self.find(first, bases) is not None)

    def find(self, name: str, bases: Iterable[str]) -> str | None:
        """Returns the path of the file or folder that a name refers to; None if there is none."""
        for base in bases:
            for suffix in ("", ".py", ".rs", ".pyi"):
                path = f"{base}/{name}".strip("/") + suffix
                if path in self.paths:
                    return path
                if re.search(r"[*<{]|NAME|NN", path) and (found := self.find_pattern(path)):
                    return found
        return None

    def find_pattern(self, pattern: str) -> str | None:
        """Returns a path that matches a pattern (``*``, ``{a,b}``, ``<placeholder>``, ``NAME``, ``NN``), or None."""
        return next(filter(re.compile(glob(pattern)).fullmatch, self.paths), None)

    def has_module(self, name: str) -> bool:
        """Tests whether a name like ``jeton.module.name`` refers to a module, a folder, or a definition in a module."""
        path = self.root / "python"
        for part in name.split("."):
            if (path / part).is_dir():
                path /= part
                continue
            module = next((file for file in (path / f"{part}.py", path / f"{part}.pyi") if file.is_file()), None)
            if module is not None and not path.is_file():
                path = module
                continue
            texts = [path] if path.is_file() else [path / "__init__.py", path / "__init__.pyi"]
            return any(defines(file, part) for file in texts if file.is_file())
        return True


def defines(module: Path, name: str) -> bool:
    """Tests whether a module defines a name, imports it, or contains it as a string."""
    own = rf"^[ \t]*(?:(?:async )?def |class )?{name}\b(?=[(:,= \[\n])|\bimport [^\n]*\b{name}\b|[\"']{name}[\"']"
    return re.search(own, read(module), re.MULTILINE) is not None


@cache
def is_allowed(name: str) -> bool:
    """Tests whether a name is in `ALLOWED`."""
    return any(re.fullmatch(glob(allowed) + "/?", name) for allowed in ALLOWED)


def glob(pattern: str) -> str:
    """Returns the regex for a path with placeholders."""
    pattern = re.sub(r"<[\w ]+>|\{[\w,]+\}|\bNAME\b|(?<=[a-z])NN", "*", pattern)
    return re.escape(pattern.rstrip("/")).replace(r"\*", "[^/]*")


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the line number and the text of each page or comment in a file, without the parts that are not checked."""
    text = read(path)
    if path.suffix == ".md":
        yield 1, blank(SOURCE, blank(URL, text))
        return
    if path.suffix in (".py", ".pyi"):
        for match in STRING.finditer(text):
            if match[1] is not None:  # a docstring
                yield text.count("\n", 0, match.start(2)) + 1, unsourced(match[2])
        for match in REASON.finditer(text) if path.name.startswith("test_") else ():
            yield text.count("\n", 0, match.start()) + 1, " ".join(TEST.findall(match[0]))
    pattern = COMMENTS[".rs" if path.suffix == ".rs" else ".js" if path.suffix in (".js", ".mjs") else ""]
    end, first, block = 0, 1, ""
    for match in pattern.finditer(text):  # adjacent comment lines are one comment
        between = text[end : match.start()]
        if block and (between.count("\n") > 1 or between.strip()):
            yield first, unsourced(block)
            block = ""
        if not block:
            first = text.count("\n", 0, match.start()) + 1
        block += ("\n" if block else "") + (match[1] if match[1] is not None else match[0])
        end = match.end()
    yield first, unsourced(block)


def unsourced(text: str) -> str:
    """Removes addresses, doctests and citations of other projects' files; keeps the line numbers."""
    return blank(SOURCE, blank(DOCTEST, blank(URL, text)))


def blank(pattern: re.Pattern[str], text: str) -> str:
    """Removes matches but keeps their line ends, so that line numbers stay the same."""
    return pattern.sub(lambda match: "\n" * match[0].count("\n"), text)


@cache
def read(path: Path) -> str:
    """Returns the text of a file."""
    return path.read_text(encoding="utf-8")


def files(folder: Path) -> Iterator[Path]:
    """Yields the files below a folder, except those in hidden folders and build outputs."""
    for path in folder.iterdir():
        if not path.is_dir():
            yield path
        elif path.name in HIDDEN_FOLDERS or not (path.name.startswith(".") or path.name in SKIPPED_FOLDERS):
            yield from files(path)


if __name__ == "__main__":
    sys.exit(main())
