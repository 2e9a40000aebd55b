"""Pages of the lessons, in the order of reading, in English and Chinese.

A page has a picture (drawn by `tools/draw_lessons.py`), the prose, the code, and the exercise of its lesson. Two boxes
follow. One has the libraries that the lesson was checked against (`lessons.toml`); the other has the citation and the
sources of the lesson (docs/bibliography.md). Links to the previous and the next lesson are at the start and the end.
The title of a picture is also its alternative text.
"""

from __future__ import annotations

import ast
import html
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jeton
from jeton.reference import contents
from jeton.reference.check import find, statement

from .examples import fenced_examples

LANGUAGES = ("en", "zh")
YEAR = 2026  # year of the citations
FACTS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("lessons.toml").read_text(encoding="utf-8"))
VERSIONS: dict[str, str] = FACTS.pop("versions") | {"jeton": jeton.__version__}
EXAMPLES = "tests/reference/test_lessons.py::test_every_example_{}runs"
WORDS: dict[str, dict[str, Any]] = {
    "en": {
        "checked": "Checked against",
        "cite": "Cite this lesson",
        "code": "Code",
        "columns": "| library | version | cases | test |",
        "examples": "{count} examples on this page",
        "exercise": "Exercises",
        "run": "Write the functions into a file; `python -m jeton.reference.check {step} my_file.py` checks it. "
        "It names the first case that fails, and gives a hint.",
        "next": "Next: {title}",
        "notebook": "Notebook",
        "other": '<a href="{address}" lang="zh-Hans" hreflang="zh-Hans">中文</a>',
        "overview": "All lessons",
        "previous": "Previous: {title}",
        "sources": "Sources: {links}",
        "steps": ("Neighboring lessons", "Neighboring lessons, at the end"),
        "try": "Open it here",
    },
    "zh": {
        "checked": "核对依据",
        "cite": "引用本课",
        "code": "代码",
        "columns": "| 库 | 版本 | 用例 | 测试 |",
        "examples": "本页的 {count} 个示例",
        "exercise": "练习",
        "run": "把函数写进一个文件，用 `python -m jeton.reference.check {step} my_file.py` 检查。"
        "它会指出第一个未通过的用例，并给出提示。",
        "next": "下一课：{title}",
        "notebook": "Notebook",
        "other": '<a href="{address}" lang="en" hreflang="en">English</a>',
        "overview": "全部课程",
        "previous": "上一课：{title}",
        "sources": "参考文献：{links}",
        "steps": ("相邻课程", "相邻课程（页尾）"),
        "try": "在此打开",
    },
}


# An indented block that consists of a single address of the playground, as `jeton play` serves it.
ADDRESS = re.compile(r"(?m)^ {4}http://127\.0\.0\.1:7777/(#\S+)$")


class Lesson(NamedTuple):
    """A lesson in one language, with its addresses and its page."""

    path: str  # "lessons/en/step01_levels.md"
    title: str  # in HTML, for the navigation
    text: str
    picture: str  # "step01_levels.en.svg"
    group: str  # title of the group of lessons


def lessons(folder: Path, pictures: Path, *, playground: bool = False) -> Iterator[Lesson]:
    """Yields all lessons in reading order, once for each language. `playground`: True if the site has a playground."""
    order = [(group, entry) for group, entries in contents.lessons(folder) for entry in entries]
    for language in LANGUAGES:
        for at, (group, entry) in enumerate(order):
            before = order[at - 1][1] if at else None
            after = order[at + 1][1] if at + 1 < len(order) else None
            picture = f"{entry.name}.{language}.svg"
            both = links(language, entry, before, after)
            text = "\n\n".join(
                [
                    "---\nhide:\n  - footer\n---",
                    *page(folder / f"{entry.name}.py", language, entry, figure(pictures / picture), both),
                ]
            )
            if playground:
                text = with_playground(text, language)
            plain = html.escape(number_and_title(entry, language).replace("`", ""))
            yield Lesson(
                f"lessons/{language}/{entry.name}.md",
                plain,
                in_chinese(text) if language == "zh" else text + "\n",
                picture,
                group.chinese if language == "zh" else group.english,
            )


def page(step: Path, language: str, entry: contents.Lesson, drawing: str, steps: tuple[str, str]) -> Iterator[str]:
    """Yields the sections of a lesson's page."""
    words = WORDS[language]
    source = step.read_text(encoding="utf-8")
    tree = ast.parse(source)
    summary, _, rest = (ast.get_docstring(tree) or "").partition("\n\n")
    code = "\n".join(source.splitlines()[tree.body[0].end_lineno :]).strip()
    title, prose = summary.rstrip("."), fenced_examples(rest)
    if language == "zh":
        heading, _, prose = step.with_suffix(".zh.md").read_text(encoding="utf-8").partition("\n")
        title = heading.removeprefix("# ")
    yield f"# {title}"
    yield steps[0]
    yield drawing
    yield prose.strip("\n")  # only line ends are stripped: the first line may be indented code
    yield f"## {words['code']}"
    yield f"```python\n{code}\n```"
    if name := find(step.stem):
        text = statement(name, language)
        yield f"## {words['exercise']}"
        # The English text begins with a title, and its examples are not in fences.
        yield text if language == "zh" else fenced_examples(text.partition("\n\n")[2]).strip()
        yield words["run"].format(step=name)
    yield box("check", words["checked"], checked(step.stem, language, (prose + source).count("\n>>> ")))
    yield box("quote", words["cite"], cite(entry, language))
    yield steps[1]


def with_playground(text: str, language: str) -> str:
    """Adds a frame with the playground below each address of the playground in a page.

    The frame is inside a closed `details` element. The page in the frame is made by `tools/build_page.py` and is loaded
    when the reader opens the element.
    """
    label = WORDS[language]["try"]

    def embedded(address: re.Match[str]) -> str:
        source = html.escape(f"../../playground/{jeton.__version__}/index.html{address[1]}&lang={language}")
        frame = f'<iframe src="{source}" title="Jeton" loading="lazy"></iframe>'
        return f'{address[0]}\n\n<details class="try"><summary>{label}</summary>{frame}</details>'

    return ADDRESS.sub(embedded, text)


def number_and_title(entry: contents.Lesson, language: str) -> str:
    """Returns a lesson's number and title, for the navigation and links."""
    return f"{entry.number} {entry.title(language)}"


def links(
    language: str, entry: contents.Lesson, before: contents.Lesson | None, after: contents.Lesson | None
) -> tuple[str, str]:
    """Returns two blocks of links, for the start and the end of a page.

    Both have the same links: to the lessons before and after, the overview, the other language, and the notebook. They
    differ in their labels for screen readers.
    """
    words = WORDS[language]

    def neighbor(key: str, lesson: contents.Lesson | None) -> str:
        if lesson is None:
            return "<span></span>"
        relation = "prev" if key == "previous" else "next"
        text = html.escape(words[key].format(title=number_and_title(lesson, language).replace("`", "")))
        return f'<a class="{relation}" rel="{relation}" href="{lesson.name}.html">{text}</a>'

    other = "zh" if language == "en" else "en"
    middle = " · ".join(
        [
            f'<a href="{"../zh/" if language == "zh" else "../"}index.html">{words["overview"]}</a>',
            words["other"].format(address=f"../{other}/{entry.name}.html"),
            f'<a href="{entry.name}.ipynb" download>{words["notebook"]}</a>',
        ]
    )
    inner = f"{neighbor('previous', before)}<span>{middle}</span>{neighbor('next', after)}"
    first, last = (f'<nav class="lesson-steps" aria-label="{label}">{inner}</nav>' for label in words["steps"])
    return first, last


def box(kind: str, title: str, text: str) -> str:
    """Returns an admonition in Markdown."""
    lines = [f"    {line}" if line else "" for line in text.splitlines()]
    return "\n".join([f'!!! {kind} "{title}"', "", *lines])


def checked(name: str, language: str, examples: int) -> str:
    """Returns the table of a lesson's comparisons with libraries."""
    words = WORDS[language]
    rows = [
        (
            "Python",
            "≥ 3.11",
            words["examples"].format(count=examples),
            EXAMPLES.format("" if language == "en" else "of_the_translation_"),
        )
    ]
    for row in FACTS.get(name[:6], {}).get("checked", ()):
        library = "Jeton" if row["library"] == "jeton" else row["library"]
        rows.append((library, VERSIONS[row["library"]], row["cases"][language == "zh"], row["test"]))
    lines = [f"| {library} | {version} | {cases} | {test_name(test)} |" for library, version, cases, test in rows]
    return "\n".join([words["columns"], "|---|---|---|---|", *lines])


def test_name(test: str) -> str:
    """Returns the name of a test, with places where a narrow column may break it."""
    parts = re.split(r"(?<=[_/:])(?![_/:])", test)
    return f"<code>{'<wbr>'.join(parts)}</code>"


def cite(entry: contents.Lesson, language: str) -> str:
    """Returns Markdown that cites a lesson: its BibTeX entry, and links to its sources in the bibliography."""
    title = entry.title(language).replace("`", "").replace("{", r"\{").replace("}", r"\}")
    lines = [
        f"@misc{{jeton-{entry.name.replace('_', '-')}{'-zh' if language == 'zh' else ''},",
        f"  title        = {{{title}}},",
        "  author       = {{The Jeton authors}},",
        f"  howpublished = {{Jeton {jeton.__version__}, lesson {entry.number}}},",
        f"  year         = {{{YEAR}}}" + (",\n  language     = {Chinese}" if language == "zh" else ""),
        "}",
    ]
    # Not a fence, because Markdown does not render fences in a `div`.
    text = "<pre><code>" + html.escape("\n".join(lines), quote=False) + "</code></pre>"
    if found := sources(entry.name):
        links = ", ".join(f"[{heading}](../../bibliography.md#{slug(heading)})" for heading in found)
        text += "\n\n" + WORDS[language]["sources"].format(links=links)
    return text


def sources(name: str) -> list[str]:
    """Returns the headings of the bibliography under which a lesson is mentioned."""
    text = (Path(__file__).parents[2] / "docs" / "bibliography.md").read_text(encoding="utf-8")
    sections = [section.partition("\n") for section in re.split(r"(?m)^## ", text)[1:]]
    return [heading for heading, _, section in sections if f"/{name}.py)" in section]


def slug(heading: str) -> str:
    """Returns the anchor of a heading, formed as on GitHub."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def in_chinese(text: str) -> str:
    """Marks Markdown as Chinese, for screen readers and fonts, because the language of the site is English."""
    front = match[0] if (match := re.match(r"---\n[\s\S]*?\n---\n", text)) else ""
    text = text.removeprefix(front)
    return f'{front}<div lang="zh-Hans" markdown="1">\n\n{text.strip()}\n\n</div>\n'


def figure(picture: Path) -> str:
    """Returns the HTML of a lesson's picture, with an address relative to `lessons/en` or `lessons/zh`."""
    title = re.search(r"<title>(.*?)</title>", picture.read_text(encoding="utf-8"))
    if title is None:
        raise ValueError(f"{picture} has no title")
    alternative = html.escape(html.unescape(title[1]))
    return f'<img src="../../pictures/lessons/{picture.name}" alt="{alternative}">'


def introduction(folder: Path, language: str) -> str:
    """Returns the first page of the English or Chinese lessons: overview of the package, and links to all lessons."""
    chinese = language == "zh"
    if chinese:
        parts = [(folder / "zh.md").read_text(encoding="utf-8").strip()]
    else:
        text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
        parts = ["# Lessons", without_table(text)]
    own, other = ("", "../en/") if chinese else ("en/", "zh/")
    for group, entries in contents.lessons(folder):
        parts.append(f"## {group.chinese if chinese else group.english}")
        parts.append(
            "\n".join(
                f"- [{number_and_title(entry, language)}]({own}{entry.name}.md)"
                f" · [{'English' if chinese else '中文'}]({other}{entry.name}.md)"
                for entry in entries
            )
        )
    if chinese:
        parts.append("另见[参考文献](../../bibliography.md)和 [Jeton 中文简介](../../zh.md)。")
        return in_chinese("\n\n".join(parts))
    parts.append("The papers are in the [bibliography](../bibliography.md).")
    return "\n\n".join(parts) + "\n"


def without_table(text: str) -> str:
    """Removes the table of lessons from the overview; the first page has links to all lessons instead."""
    return re.sub(r":\n\n(?: {4}.*\n)+", ".\n", text).strip()
