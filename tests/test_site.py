"""The documentation site: output of its generator, and findings of its checks. `.ci/run` builds the whole site."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest

import jeton
from jeton.cli import COMMANDS, _jeton

TOOLS = Path(__file__).parent.parent / "tools"
sys.path.insert(0, str(TOOLS))

from site_pages import lessons as lesson_pages  # noqa: E402
from site_pages import public  # noqa: E402
from site_pages.check import Site  # noqa: E402
from site_pages.commands import command_pages, describe  # noqa: E402
from site_pages.lessons import introduction, lessons  # noqa: E402
from site_pages.navigation import configuration, navigation  # noqa: E402
from site_pages.repository import Repository, convert  # noqa: E402

sys.path.remove(str(TOOLS))


def test_every_name_of_the_package_has_one_place() -> None:
    places = [name.name for page in public.api_pages() for name in page.names]
    assert {f"jeton.{name}" for name in jeton.__all__} <= set(places)
    assert {f"jeton.shards.{name}" for name in jeton.shards.__all__} <= set(places)
    assert len(places) == len(set(places))


def test_a_public_module_without_a_title_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(public.TITLES, "jeton.shards")
    with pytest.raises(ValueError, match=r"no title for jeton\.shards"):
        public.api_pages()


@pytest.mark.slow(reason="`.ci/run` builds the site; reading all sources takes seconds")
def test_api_pages_have_signatures_and_docstrings() -> None:
    pytest.importorskip("griffe", reason="needs the extra docs")
    from site_pages.api import Reference

    names = [public.PublicName("jeton.TextStream", "jeton._core.TextStream")]
    names.append(public.PublicName("jeton.Chunk", "jeton.calls.cutting.Chunk"))
    text = Reference(TOOLS.parent / "python", [page := public.ApiPage("x", "X", "", names)]).page(page)
    assert "## `jeton.TextStream` { #jeton.TextStream }" in text
    assert "```python\nTextStream.push(" in text
    assert ">>> " in text
    pages = [
        public.ApiPage("a", "A", "", [public.PublicName("jeton.Encoding", "jeton.encoding.Encoding")]),
        public.ApiPage(
            "b", "B", "", [public.PublicName("jeton.compat.tiktoken.Encoding", "jeton.compat.tiktoken.Encoding")]
        ),
        public.ApiPage("c", "C", "", [names[1]]),
    ]
    anchors = Reference(TOOLS.parent / "python", pages).anchors
    assert anchors["a"]["Encoding"] == anchors["c"]["Encoding"] == "a.md#jeton.Encoding"
    assert anchors["b"]["Encoding"] == "b.md#jeton.compat.tiktoken.Encoding"
    gone = public.ApiPage("x", "X", "", [public.PublicName("jeton.nothing", "jeton.nothing")])
    with pytest.raises(LookupError, match=r"jeton\.nothing"):
        Reference(TOOLS.parent / "python", [gone])


def test_every_option_of_every_command_is_shown() -> None:
    pages = dict(command_pages())
    assert list(pages) == list(COMMANDS)
    for name, page in pages.items():
        command = _jeton.get_command(click.Context(_jeton), name)
        assert command is not None
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                assert all(spelling in page for spelling in option.opts), (name, option.opts)


def test_help_is_escaped() -> None:
    command = click.Command("x", help="Takes *all* of <these>.\n\n\b\nkept\n  lines", params=[click.Option(["--a-b"])])
    text = "\n".join(describe(command, click.Context(_jeton, info_name="jeton"), "x", 1))
    assert "Takes \\*all\\* of &lt;these&gt;." in text
    assert "```text\nkept\n  lines\n```" in text
    assert "- <code>--a-b TEXT</code>" in text


REFERENCE = TOOLS.parent / "python" / "jeton" / "reference"


@pytest.fixture(scope="module")
def made() -> list[lesson_pages.Lesson]:
    """The pages of the lessons."""
    return list(lessons(REFERENCE, TOOLS.parent / "docs" / "pictures" / "lessons"))


def test_lessons_in_both_languages(made: list[lesson_pages.Lesson]) -> None:
    paths = [lesson.path for lesson in made]
    assert len(paths) == 2 * len(list(REFERENCE.glob("step*.py")))
    assert {path.replace("/zh/", "/en/") for path in paths} == {path for path in paths if "/en/" in path}
    for lesson in made:
        assert "\n\n<img src=" in lesson.text
        assert ('<div lang="zh-Hans" markdown="1">' in lesson.text) == ("/zh/" in lesson.path)
        assert f'pictures/lessons/{lesson.picture}" alt="' in lesson.text
    ending = next(lesson for lesson in made if lesson.path == "lessons/en/step10_words.md")
    assert ending.title.startswith("10 Words with an end mark, &lt;/w&gt;, ")
    assert "make newest&lt;/w&gt;." in ending.text
    assert "\n\n    python step10_words.py " in ending.text  # a block of code, not a paragraph


def test_lessons_link_to_their_neighbors_in_the_order_of_reading(made: list[lesson_pages.Lesson]) -> None:
    for language in ("en", "zh"):
        own = [lesson for lesson in made if f"/{language}/" in lesson.path]
        names = [Path(lesson.path).stem for lesson in own]
        assert names[:3] == ["step01_levels", "step02_pairs", "step03_merge"]
        for at, lesson in enumerate(own):
            before = re.findall(r'rel="prev" href="(\w+)\.html"', lesson.text)
            after = re.findall(r'rel="next" href="(\w+)\.html"', lesson.text)
            assert set(before) == set(names[:at][-1:])
            assert set(after) == set(names[at + 1 : at + 2])
            assert lesson.text.count('<nav class="lesson-steps"') == 2
        overview = introduction(REFERENCE, language)
        folder = "en/" if language == "en" else ""
        assert [name for name in names if f"({folder}{name}.md)" not in overview] == []


def test_lessons_have_an_exercise_and_boxes(made: list[lesson_pages.Lesson]) -> None:
    words = {"en": ("## Exercises", "Checked against", "Cite"), "zh": ("## 练习", "核对依据", "引用本课")}
    for lesson in made:
        language = lesson.path.split("/")[1]
        exercise, checked, cite = words[language]
        assert (exercise in lesson.text) == ("step24" not in lesson.path)
        assert f'!!! check "{checked}' in lesson.text
        assert f'!!! quote "{cite}' in lesson.text
        assert re.search(r"<pre><code>@misc\{jeton-step\d\d-[a-z0-9-]+,\n", lesson.text)


def test_facts_about_lessons_name_tests_that_exist() -> None:
    extras = (TOOLS.parent / "pyproject.toml").read_text(encoding="utf-8")
    for step, facts in lesson_pages.FACTS.items():
        for row in facts["checked"]:
            file, _, name = row["test"].partition("::")
            assert f"def {name}(" in (TOOLS.parent / file).read_text(encoding="utf-8"), row["test"]
            assert len(row["cases"]) == 2
            if row["library"] != "jeton":
                assert f'"{row["library"]}' in extras, step


def test_the_bibliography_gives_the_sources_of_a_lesson() -> None:
    assert lesson_pages.sources("step18_sentencepiece") == [
        "Sennrich, Haddow and Birch 2016",
        "Kudo and Richardson 2018",
        "Provilkov, Emelianenko and Voita 2020",
    ]
    text = (TOOLS.parent / "docs" / "bibliography.md").read_text(encoding="utf-8")
    assert len(re.findall(r"(?m)^## ", text)) == text.count("```bibtex") == 12
    assert set(re.findall(r"reference/(step\w+)\.py", text)) <= {path.stem for path in REFERENCE.glob("step*.py")}


@pytest.mark.slow(reason="`.ci/run` has these versions, other machines may have others; that each is named remains")
@pytest.mark.parametrize("library", lesson_pages.VERSIONS)
def test_the_versions_in_the_boxes_are_those_that_are_tested(library: str) -> None:
    assert lesson_pages.VERSIONS[library] == version(library), f"write it into {TOOLS / 'site_pages' / 'lessons.toml'}"


def test_links_of_the_repository_become_links_of_the_site() -> None:
    repository = Repository(TOOLS.parent)
    assert repository.target("docs/encoder.md", "../CHANGELOG.md#x") == "project/changelog.md#x"
    assert repository.target("CONTRIBUTING.md", "docs/testing.md") == "../testing.md"
    assert repository.target("docs/encoder.md", "../tools/fuzz.py") == "source/tools/fuzz.py.md"
    assert repository.sources == {"source/tools/fuzz.py.md": "tools/fuzz.py"}
    assert repository.target("docs/encoder.md", "https://x.org/a.md") == "https://x.org/a.md"
    with pytest.raises(FileNotFoundError, match=r"gone\.md"):
        repository.target("docs/encoder.md", "gone.md")


def test_code_keeps_its_text() -> None:
    text = "| `a\\|b` | [`x`](y.md) |\n`[e](z.md)` [f](z.md)\n```\n[g](z.md)\n```\n"
    assert convert(text, lambda target: "to-" + target) == (
        "| <code>a&#124;b</code> | [`x`](to-y.md) |\n`[e](z.md)` [f](to-z.md)\n```\n[g](z.md)\n```\n"
    )


def test_broken_links_and_requests_to_others_are_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.html").write_text('<h1 id="there">B</h1>')
    good = '<a href="sub/b.html#there">b</a><a href="https://x.org/y">y</a><link rel="canonical" href="https://x.org/">'
    bad = '<a href="gone.html">g</a><a href="sub/b.html#not">n</a><script src="https://cdn.org/x.js"></script>'
    (tmp_path / "a.html").write_text(good + bad)
    (tmp_path / "a.css").write_text("a { background: url('data:x') } b { background: url(//fonts.org/f.woff) }")
    assert list(Site(tmp_path).findings()) == [
        "a.css: //fonts.org/f.woff: is loaded from another host",
        "a.html: https://cdn.org/x.js: is loaded from another host",
        "a.html: gone.html: no such file",
        "a.html: sub/b.html#not: no such anchor",
    ]


def test_the_navigation_has_all_pages_of_the_repository() -> None:
    nav = str(navigation({}, {}, [], {}))
    addresses = {address for address in Repository(TOOLS.parent).addresses.values() if "/" not in address}
    assert [address for address in sorted(addresses) if f"'{address}'" not in nav] == []


def test_the_configuration_is_toml() -> None:
    import tomllib

    read = tomllib.loads(configuration([{"A": [{'"中"': "a.md"}]}], "a description"))
    assert read["project"]["nav"] == [{"A": [{'"中"': "a.md"}]}]
    assert read["project"]["theme"]["font"] is False


def test_lessons_show_the_playground_if_the_site_has_it() -> None:
    text = "Look:\n\n    http://127.0.0.1:7777/#view=why&text=a\n\nThen `http://127.0.0.1:7777/` is free."
    shown = lesson_pages.with_playground(text, "zh")
    assert shown.count("<iframe") == 1
    assert f'src="../../playground/{jeton.__version__}/index.html#view=why&amp;text=a&amp;lang=zh"' in shown
