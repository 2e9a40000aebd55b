"""Levels of the lines of small texts, each with one rule of `boundaries`."""

from __future__ import annotations

import pytest

from jeton.calls.structure import BLOCK, HEADED, LINE, MAX_INDENT, boundaries

MARKDOWN: dict[str, list[int]] = {  # text -> levels of all lines but the first
    "": [],
    "a line": [],
    "a\n\nb\n": [LINE, BLOCK, LINE],
    "- a\n\nb\n": [LINE, BLOCK, LINE],
    "x\n\n- a\n  - b\n\ny\n": [LINE, BLOCK, BLOCK + 2, LINE, BLOCK, LINE],  # the outermost block that begins at a line
    "# h\n\na\n\nb\n": [LINE, HEADED, LINE, BLOCK, LINE],
    "# h\n## i\na\n": [HEADED, HEADED, LINE],
    "a\n# h\nb\n": [1, HEADED, LINE],
    "a\n\n###### h\n": [LINE, 6, LINE],
    "---\nt: 1\n---\n# h\n": [LINE, LINE, BLOCK, LINE],
    "---\nt: 1\n---\n": [LINE, LINE, BLOCK],
    "> a\n> # h\n> b\n\nc\n": [BLOCK + 1, BLOCK + 1, LINE, BLOCK, LINE],  # a heading in a block is a block
    "1. # h\n\n   a\n\nb\n": [LINE, BLOCK + 2, LINE, BLOCK, LINE],
}


def code(indent: int, depth: int = 0, *, after_blank: bool = False) -> int:
    """Level of a line of code."""
    return indent << 16 | depth << 1 | (not after_blank)


CODE: dict[str, list[int]] = {
    "a line": [],
    "a\nb": [code(0)],
    "a\n\nb": [LINE, code(0, after_blank=True)],
    "/**/\nb\n": [LINE, LINE],  # a comment belongs to the line after it
    "/*/\na\n*/\nb\n": [LINE] * 4,
    "f(\na,\n)\ng\n": [code(0, 1), LINE, code(0), LINE],
    "f({\n[\na\n]\n})\nb\n": [code(0, 2), code(0, 3), LINE, LINE, code(0), LINE],
    "[[[\na\n]\nb\nc\n": [code(0, 3), LINE, code(0, 2), code(0, 2), LINE],
    ")\n)\na(\nb\n": [LINE, code(0), code(0, 1), LINE],  # a closing bracket without an opening one
    "if a:\n  b\n\n  c\nelse:\n  d\ne\n": [LINE, LINE, code(2, after_blank=True), LINE, LINE, code(0), LINE],
    "x\n{\ny\n}\nz\n": [LINE, code(0, 1), LINE, code(0), LINE],
    "x\n\n\n{\ny\n": [LINE, LINE, LINE, code(0, 1), LINE],
    "a;\n{\nb\n}\n": [code(0), code(0, 1), LINE, LINE],
    's = """\na\n"""\nb\n': [LINE, LINE, code(0), LINE],
    "'''\n(\n'''(\na\n": [LINE, LINE, code(0, 1), LINE],
    '"(\n(\na\n': [code(0), code(0, 1), LINE],  # a string ends with its line
    "it's (\na\n": [code(0, 1), LINE],
    "# c\na\n# d\n\nb\n": [LINE, code(0), LINE, code(0, after_blank=True), LINE],
    "@d\ndef f():\n\tx\n": [LINE, LINE, LINE],
    "\tx\n    y\n": [code(4), LINE],
    "\r\n\r\na\rb\r\n": [LINE, LINE, code(0), LINE],
    f"{' ' * 80}a\n{' ' * 80}b\n": [code(MAX_INDENT), LINE],
    f"{'(' * 20}\na\n": [code(0, 15), LINE],
}


@pytest.mark.parametrize("text", MARKDOWN)
def test_markdown(text: str) -> None:
    assert boundaries(text, "markdown").levels == MARKDOWN[text]


@pytest.mark.parametrize("text", CODE)
def test_code(text: str) -> None:
    assert boundaries(text, "code").levels == CODE[text]


def test_a_brace_belongs_to_code_at_most_80_characters_before_it() -> None:
    assert boundaries("x" + "\n" * 79 + "{\n", "code").levels[78] == LINE
    assert boundaries("x" + "\n" * 80 + "{\n", "code").levels[79] == code(0, after_blank=True)
