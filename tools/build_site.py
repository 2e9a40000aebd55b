#!/usr/bin/env python3
"""Builds the documentation site: ``python tools/build_site.py``, then open ``target/site/site/index.html``.

The pages are the files of `docs/`, the lessons, and pages that are generated from docstrings (by griffe) and commands
(by click). Zensical converts them to HTML. The build fails on warnings, broken links and anchors, requests to other
hosts, and public names without documentation. Needs the installed package and the extra `docs`.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path, PurePosixPath

sys.path.insert(0, str(Path(__file__).parent))

from site_pages.api import Reference
from site_pages.check import Site
from site_pages.commands import command_pages
from site_pages.lessons import Lesson, in_chinese, introduction, lessons
from site_pages.navigation import Entry, configuration, navigation
from site_pages.notebooks import write as notebook_file
from site_pages.public import api_pages
from site_pages.repository import Repository

import jeton
from jeton.reference.check import find, statement

ROOT = Path(__file__).parent.parent
DESCRIPTION = "Trains, runs, converts and explains tokenizers, in Python with a Rust core."


def main() -> int:
    """Builds and checks the site; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT / "target" / "site", help="folder of the build")
    parser.add_argument(
        "--playground",
        type=Path,
        default=ROOT / "target" / "playground",
        help="folder of tools/build_page.py; the lessons show its page if it has one of this version",
    )
    arguments = parser.parse_args()
    folder: Path = arguments.output.resolve()
    playground: Path | None = arguments.playground if (arguments.playground / jeton.__version__).exists() else None
    started = time.monotonic()
    pages, config, names = assemble(folder, playground=playground is not None)
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "-f", str(config)],
        cwd=folder,
        text=True,
        capture_output=True,
        check=False,
    )
    output = done.stdout + done.stderr
    warnings = [line for line in output.splitlines() if re.search(r"warning|error", line, re.IGNORECASE)]
    if done.returncode or warnings:
        print(output)
        return 1
    if playground:
        shutil.copytree(playground, folder / "site" / "playground")
    site = Site(folder / "site")
    anchors = site.anchors()
    findings = [*site.findings(), *(f"{name}: a public name without documentation" for name in names - anchors)]
    print("\n".join(findings))
    print(
        f"{len(site.pages)} pages ({len(pages)} of Markdown), {len(names)} public names, {len(findings)} findings, "
        f"{time.monotonic() - started:.1f} s: {site.folder / 'index.html'}"
    )
    return bool(findings)


def assemble(folder: Path, *, playground: bool = False) -> tuple[list[str], Path, set[str]]:
    """Writes the Markdown pages and the configuration; returns the pages, the configuration and the public names."""
    repository = Repository(ROOT)
    api = api_pages()
    made: dict[str, str] = dict(documents(repository))
    reference = Reference(ROOT / "python", api)
    made |= {f"api/{page.slug}.md": reference.page(page) for page in api}
    commands = dict(command_pages())
    made |= {f"commands/{name}.md": text for name, text in commands.items()}
    drawn = "docs/pictures/lessons"
    steps = list(lessons(ROOT / "python" / "jeton" / "reference", ROOT / drawn, playground=playground))
    made |= {lesson.path: lesson.text for lesson in steps}
    repository.copies |= {f"pictures/lessons/{lesson.picture}": f"{drawn}/{lesson.picture}" for lesson in steps}
    made["lessons/index.md"] = introduction(ROOT / "python" / "jeton" / "reference", "en")
    made["lessons/zh/index.md"] = introduction(ROOT / "python" / "jeton" / "reference", "zh")
    while missing := {page: name for page, name in repository.sources.items() if page not in made}:
        made |= {page: repository.source(name) for page, name in missing.items()}

    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    for name, text in made.items():
        write(pages / name, text)
    for address, name in repository.copies.items():
        (pages / address).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, pages / address)
    shutil.copyfile(Path(__file__).parent / "site_pages" / "site.css", pages / "site.css")
    for lesson in steps:
        step = ROOT / "python" / "jeton" / "reference" / f"{PurePosixPath(lesson.path).stem}.py"
        language = PurePosixPath(lesson.path).parts[1]
        exercise = statement(name, language) if (name := find(step.stem)) else ""
        write((pages / lesson.path).with_suffix(".ipynb"), notebook_file(step, language, exercise))
    nav = navigation(
        {page.title: f"api/{page.slug}.md" for page in api},
        {name: f"commands/{name}.md" for name in commands},
        [{"English": grouped(steps, "en")}, {"中文": [{"教程": "lessons/zh/index.md"}, *grouped(steps, "zh")]}],
        {heading(made[name]): name for name in sorted(made) if name.startswith("decisions/")},
    )
    config = folder / "zensical.toml"
    write(config, configuration(nav, DESCRIPTION))
    return list(made), config, {public.name for page in api for public in page.names}


def documents(repository: Repository) -> Iterator[tuple[str, str]]:
    """Yields the address and the Markdown of each page that is a file of the repository."""
    for name, address in repository.addresses.items():
        if name.endswith(".md") and not address.startswith("lessons/") and name != "README.md":
            text = repository.page(name)
            yield address, in_chinese(text) if address == "zh.md" else text
    story = ROOT / "docs" / "first_user.py"
    output = story.with_suffix(".txt").read_text(encoding="utf-8").rstrip()
    code = story.read_text(encoding="utf-8").rstrip()
    yield "first_user.md", f"# A complete example\n\n```python\n{code}\n```\n\nIt prints:\n\n```text\n{output}\n```\n"


def grouped(steps: list[Lesson], language: str) -> list[Entry]:
    """Returns the navigation entries of a language's lessons, in their groups."""
    own = [lesson for lesson in steps if f"/{language}/" in lesson.path]
    return [
        {group: [{lesson.title: lesson.path} for lesson in members]}
        for group, members in groupby(own, key=lambda lesson: lesson.group)
    ]


def heading(text: str) -> str:
    """Returns the title of a page: its first heading."""
    return text.partition("\n")[0].removeprefix("# ").replace("`", "")


def write(path: Path, text: str) -> None:
    """Writes a text file, and creates the folders that it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
