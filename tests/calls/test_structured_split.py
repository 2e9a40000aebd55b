"""Chunks end at paragraphs, blocks of Markdown and definitions of code, are within the limit, and lose no text."""

from __future__ import annotations

import ast
import random
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton.calls.structure import HEADED, LINE, STRUCTURES, boundaries
from jeton.errors import MissingDependencyError
from tests.material import KINDS, tokenizer
from tests.selection import amount

from ..timing import growth

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
SOURCES = sorted((ROOT / "python" / "jeton").glob("*/*.py"))
RUST = sorted((ROOT / "crates").glob("*/src/**/*.rs"))
STRUCTURED = (("paragraph", PAGES), ("markdown", PAGES), ("code", SOURCES), ("code", RUST))
BYTES = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
# Lines that begin, end and nest blocks of Markdown, or continue and hide lines of code.
LINES = (
    *("", "", "", " ", "a", "b c", "# h", "## h", "===", "---", "```", "~~~", "- a", "  - b", "1. c", "> q", "> - q"),
    *("    code", "|a|b|", "|-|-|", "<div>", "</div>", "<!--", "-->", "[a]: b", "\tx", "def f():", "    return 1", "}"),
    *("@d", "// c", "# c", "/*", "*/", '"""', "'''", "x = {", "{", "else:", "今天", "é", 'f("{")', "'"),
)
texts = st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(("\n", "\n", "\n", "\r\n", "\r")))).map(
    lambda lines: "".join(line + end for line, end in lines)
)


@cache
def read(path: Path) -> str:
    return path.read_text("utf-8")


def checked(tok: jeton.Tokenizer, text: str, limit: int, at: str, overlap: int = 0) -> list[jeton.Chunk]:
    """Returns the chunks. Checks that they are within the limit and cover the text."""
    chunks = tok.split(text, limit, at=at, overlap=overlap)  # type: ignore[arg-type]
    data = text.encode()
    for chunk in chunks:
        assert chunk.num_tokens == len(tok.encode(chunk.text)) <= limit
        assert chunk.text == text[slice(*chunk.char_span)] != ""
        assert chunk.text.encode() == data[slice(*chunk.byte_span)]
    if not overlap:
        assert "".join(chunk.text for chunk in chunks) == text
    for before, after in pairwise(chunks):
        assert before.char_span[0] < after.char_span[0] <= before.char_span[1] < after.char_span[1]
        shared = text[after.char_span[0] : before.char_span[1]]
        assert len(tok.encode(shared)) <= overlap
    assert not text or (chunks[0].char_span[0], chunks[-1].char_span[1]) == (0, len(text))
    return chunks


def expected_end(text: str, start: int, limit: int, at: str) -> int | None:
    """End of a chunk of bytes, without windows or bisection; None if no line ends within the limit."""
    places = dict(zip(*boundaries(text, at), strict=True))
    reach = [place for place in places if place > start and len(text[start:place].encode()) <= limit]
    inner = [place for place in [*places, len(text)] if places.get(place, 0) < LINE]
    for place in reach:
        end = next((end for end in inner if end > place), len(text))
        if places[place] == HEADED and len(text[place:end].encode()) > limit:
            places[place] = sys.maxsize  # the text after the heading is split anyway
    reach = [place for place in reach if places[place] < sys.maxsize]
    return max(reach, key=lambda place: (-places[place], place), default=None)


def test_the_slash_that_opens_a_comment_does_not_close_it() -> None:
    assert boundaries("x\n/*/ a\nb\nc */\n", "code").levels[1:] == [LINE] * 3


def test_brackets_in_a_comment_open_nothing() -> None:
    assert (
        boundaries("x\n# (\ny\nz\n", "code").levels == boundaries("x\n# -\ny\nz\n", "code").levels == [1, LINE, 1, LINE]
    )


def test_a_line_after_a_multi_line_string_has_no_blank_line_before_it() -> None:
    text = 'x = """\n\na\n"""\n'
    assert boundaries(f"{text}y\n", "code").levels[3] == boundaries("x\ny\n", "code").levels[0] == 1
    assert boundaries(f"{text}\ny\n", "code").levels[4] == 0


def test_a_brace_on_a_line_of_its_own_belongs_to_the_line_before() -> None:
    assert boundaries("x\n{\n", "code").levels[0] == LINE
    assert boundaries(",\n{\n", "code").levels[0] < LINE


def test_an_overlap_begins_at_a_block_but_not_below_its_heading() -> None:
    text = "# aaaa\n\nbbb\n\nccc\n\ndddd\n\neeee\n\n"
    chunks = checked(BYTES, text, 20, "markdown", overlap=11)  # "bbb\n\nccc\n\n" fits, too
    assert [chunk.text for chunk in chunks] == ["# aaaa\n\nbbb\n\nccc\n\n", "ccc\n\ndddd\n\neeee\n\n"]


def test_the_block_after_a_heading_ends_where_the_next_line_begins_a_block() -> None:
    chunks = checked(BYTES, "# h\nab\n# i\nabcdefghij\n", 5, "markdown")
    assert [chunk.text for chunk in chunks][:2] == ["# h\n", "ab\n"]


def test_an_overlap_is_all_but_the_first_character_of_a_chunk() -> None:
    chunks = checked(BYTES, "\nabc\nddddd\n", 5, "paragraph", overlap=4)
    assert [chunk.char_span for chunk in chunks] == [(0, 5), (1, 6), (5, 10), (6, 11)]
    chunks = checked(BYTES, "\na\nb\ncc\n", 5, "paragraph", overlap=4)  # a line after it begins in the overlap, too
    assert [chunk.char_span for chunk in chunks] == [(0, 5), (1, 6), (3, 8)]


@given(text=texts, limit=st.integers(4, 60), at=st.sampled_from(STRUCTURES))
def test_chunks_end_at_the_last_of_the_strongest_boundaries(text: str, limit: int, at: str) -> None:
    for chunk in checked(BYTES, text, limit, at):
        start, end = chunk.char_span
        if end < len(text) and (expected := expected_end(text, start, limit, at)):
            assert end == expected


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_of_every_model_are_within_the_limit(kind: str) -> None:
    tok, rng = tokenizer(kind), random.Random(kind)
    for _ in range(amount(60, default=4)):
        text = "".join(rng.choice(("the old ", "today", *LINES)) + "\n" for _ in range(rng.randrange(40)))
        at, limit = rng.choice(STRUCTURES), rng.choice((6, 9, 20, 60))
        try:
            checked(tok, text, limit, at)
            checked(tok, text, limit, at, overlap=rng.randrange(limit))
        except jeton.InvalidTextError:  # a model without an unknown token
            with pytest.raises(jeton.InvalidTextError):
                tok.encode(text)


@pytest.mark.parametrize(("at", "files"), STRUCTURED, ids=lambda each: each if isinstance(each, str) else "")
def test_chunks_of_real_files_are_within_the_limit(at: str, files: list[Path]) -> None:
    tok = jeton.default()
    for path in files[:: amount(1, default=len(files) // 3)]:
        text = read(path)
        for limit, overlap in ((12, 0), (100, 0), (300, 60)):
            checked(tok, text, limit, at, overlap)


@pytest.mark.parametrize("limit", [60, 250])
def test_a_fenced_block_within_the_limit_stays_whole(limit: int) -> None:
    tok = jeton.default()
    num_whole = 0
    for path in PAGES[:: amount(1, default=4)]:
        text, at, begin = read(path), 0, None
        cuts = {chunk.char_span[1] for chunk in tok.split(text, limit, at="markdown")}
        for line in text.splitlines(keepends=True):
            at += len(line)
            if line.startswith("```"):
                if begin is None:
                    begin = at - len(line)
                    continue
                if tok.count(text[begin:at]) <= limit:
                    assert not any(begin < cut < at for cut in cuts), (path.name, text[begin:at])
                    num_whole += 1
                begin = None
    assert num_whole > 5


def test_sections_and_headings_stay_with_their_paragraphs() -> None:
    text = "# A\n\nintro\n\n## B\n\none\n\ntwo\n\n## C\n\n- x\n- y\n  - z\n\n# D\n## E\nend\n"
    parts = [chunk.text for chunk in BYTES.split(text, 24, at="markdown")]
    assert parts == ["# A\n\nintro\n\n", "## B\n\none\n\ntwo\n\n", "## C\n\n- x\n- y\n  - z\n\n", "# D\n## E\nend\n"]
    # A block too long for the chunk of its heading moves to the next chunk only if it fits there whole.
    assert [chunk.text for chunk in BYTES.split("# Head\n\n" + "a b\n" * 3 + "\n", 16, at="markdown")] == [
        "# Head\n\n",
        "a b\n" * 3 + "\n",
    ]
    assert BYTES.split("# Head\n\n" + "a b\n" * 9, 16, at="markdown")[0].text == "# Head\n\na b\na b\n"


def test_front_matter_is_one_block() -> None:
    text = "---\ntitle: a\nurl: b\n---\n\n# A\n\nb\n"
    places = dict(zip(*boundaries(text, "markdown"), strict=True))
    assert [place for place, level in places.items() if level < HEADED] == [text.index("\n\n#") + 1, text.index("#")]


@pytest.mark.parametrize("limit", [300, 900])
def test_a_definition_within_the_limit_stays_whole(limit: int) -> None:
    """`ast` finds the definitions. A top-level definition stays whole if it and the blank lines after it fit."""
    tok = jeton.default()
    num_whole = 0
    for path in SOURCES[:: amount(1, default=8)]:
        text = read(path)
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        cuts = {chunk.char_span[1] for chunk in tok.split(text, limit, at="code")}
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.end_lineno:
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                begin, end = starts[first - 1], starts[node.end_lineno]
                next_code = len(text) - len(text[end:].lstrip())  # a chunk ends before code, not before blank lines
                if tok.count(text[begin:next_code]) <= limit:
                    assert not any(begin < cut < end for cut in cuts), (path.name, node.name)
                    num_whole += 1
    assert num_whole > 10


def test_code_with_braces_is_split_between_definitions() -> None:
    text = "\n".join(
        (
            *("namespace a {", "", "// First.", "int f(int x)", "{", '    if (x) { return "}"; }', "    else {"),
            *(
                "        g();",
                "    }",
                "}",
                "",
                "#[test]",
                "fn g<'a>(x: &'a str) {",
                "    call(",
                "        x,",
                "    );",
            ),
            *("}", "", "/* A", "comment { */", "void h() {}", "", "} // namespace a", ""),
        )
    )
    strong = [place for place, level in zip(*boundaries(text, "code"), strict=True) if level < LINE]
    starts = [text[place:].split("\n", 1)[0] for place in strong]
    assert starts == ["// First.", "#[test]", "/* A"]


def test_a_line_over_the_limit_is_split_inside() -> None:
    text = "One two three. Four five six. Seven\n"
    assert [chunk.text for chunk in BYTES.split(text, 16, at="paragraph")] == [
        "One two three. ",
        "Four five six. ",
        "Seven\n",
    ]
    assert BYTES.split("abcdefgh(x) + y\n", 9, at="code")[0].text == "abcdefgh("


def test_errors_have_positions_in_the_text() -> None:
    with pytest.raises(
        jeton.ConfigError, match="the character at position 4 takes 3 tokens, more than the limit of 2"
    ) as of:
        BYTES.split("a\n\nb今", 2, at="paragraph")
    assert (of.value.position, of.value.option) == (4, "max_tokens")
    with pytest.raises(jeton.InvalidTextError, match="at position 4"):
        BYTES.split("a\n\nb\ud83d", 2, at="code")
    with pytest.raises(jeton.ConfigError, match="at="):
        BYTES.split("a", 2, at="line")  # type: ignore[arg-type]
    with pytest.raises(jeton.ConfigError, match="at="):
        BYTES.truncate("a", 2, at="code")  # type: ignore[arg-type]
    assert BYTES.split("", 1, at="markdown") == []


def test_special_tokens_count_if_they_are_permitted() -> None:
    tok = BYTES.add_tokens(["<|end|>"])
    assert [chunk.num_tokens for chunk in tok.split("a\n\n<|end|>", 4, at="paragraph", special="all")] == [4]
    with pytest.raises(jeton.SpecialTokenError):
        tok.split("a\n\n<|end|>", 4, at="paragraph", special="raise")


def test_a_missing_markdown_parser_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'jeton\[markdown\]'"):
        BYTES.split("a b", 2, at="markdown")


@pytest.mark.parametrize(
    ("at", "line"),
    [
        ("markdown", "- a\n"),
        ("markdown", "a\n\n"),
        ("markdown", "[a](<b\n"),
        ("code", "/*\n"),
        ("code", '"\\"'),
        ("code", "(\n"),
        ("paragraph", " \n"),
    ],
)
def test_time_is_linear(at: str, line: str) -> None:
    tok = jeton.default()

    def split(num_lines: int) -> None:
        tok.split(line * num_lines, 100, at=at)  # type: ignore[arg-type]

    assert growth(split, (1000, 8000), 40) < 40  # quadratic: 64
