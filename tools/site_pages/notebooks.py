"""Notebooks of the lessons: code and prose of a lesson as cells, and its examples as cells with their output.

The examples are run here, in plain Python, and must give the results that the lesson states. A notebook imports the
definitions of earlier lessons from the installed package. The format of a notebook is nbformat 4.5, which is JSON.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import json
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .examples import fenced_examples

Cell = dict[str, Any]

TEXTS = {
    "en": (
        "This notebook is made from `{name}`, a lesson of Jeton, and needs the package `jeton`. The next cell has the "
        "code of the lesson: open it to read it, change it and run it again.",
        "## Exercise",
        "## The same with Jeton",
    ),
    "zh": (
        "本 notebook 由 Jeton 教程的 `{name}` 生成，需要安装 `jeton`。"
        "下一个单元格是本课代码：展开即可阅读、修改并重新运行。",
        "## 练习",
        "## 用 Jeton 运行同一示例",
    ),
}


class Part(NamedTuple):
    """A paragraph of prose, or one example."""

    text: str
    example: doctest.Example | None = None


def notebook(step: Path, language: str, exercise: str) -> dict[str, Any]:
    """Returns the notebook of a lesson in one language. `exercise` is the statement of its exercise; it may be empty.

    Raises:
        ValueError: an example does not give what the lesson says.
    """
    source = step.read_text(encoding="utf-8")
    tree = ast.parse(source)
    summary, _, prose = (ast.get_docstring(tree) or "").partition("\n\n")
    title, body = f"# {summary.rstrip('.')}", prose
    if language == "zh":
        title, _, body = step.with_suffix(".zh.md").read_text(encoding="utf-8").partition("\n")
        body = re.sub(r"(?m)^```python\n((?:>>> )[\s\S]*?)^```$", lambda block: block[1], body)
    opening, task, beside = TEXTS[language]
    code = alone(source, tree)
    cells = [markdown(title), markdown(opening.format(name=step.name)), code_cell(code, [], hidden=True)]
    namespace: dict[str, Any] = {"__name__": "__main__"}
    execute(code, namespace)
    for part in parts(body):
        if part.example is None:
            cells.append(markdown(part.text))
        elif part.example.options.get(doctest.SKIP):
            cells.append(markdown(f"```python\n{part.example.source.rstrip()}\n```"))
        else:
            cells.append(run(part.example, namespace, f"{step.name}, {language}"))
    if exercise:
        cells.append(markdown(f"{task}\n\n{fenced(exercise)}"))
    if "beside_jeton" in namespace:
        cells += [markdown(beside), code_cell("beside_jeton()", [])]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    return {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def write(step: Path, language: str, exercise: str) -> str:
    """Returns the content of a notebook's file."""
    return json.dumps(notebook(step, language, exercise), ensure_ascii=False, indent=1) + "\n"


def alone(source: str, tree: ast.Module) -> str:
    """Returns the code of a lesson without its docstring and without the part that runs it as a script."""
    dropped = [tree.body[0]]
    for node in tree.body:
        if isinstance(node, ast.If) and any(name in ast.unparse(node.test) for name in ("__package__", "__name__")):
            dropped.append(node)
    lines = source.splitlines()
    for node in reversed(dropped):
        del lines[node.lineno - 1 : node.end_lineno]
    return re.sub(r"(?m)^( *from )\.(?=\w)", r"\1jeton.reference.", "\n".join(lines)).strip()


def parts(text: str) -> Iterator[Part]:
    """Yields prose and doctest examples, in order. A doctest prompt inside of a code block starts an example, too."""
    prose = ""
    for found in doctest.DocTestParser().parse(text):
        if isinstance(found, str):
            prose += found
        else:
            if prose.strip():
                yield Part(prose.strip("\n"))
            prose = ""
            yield Part("", found)
    if prose.strip():
        yield Part(prose.strip("\n"))


def fenced(text: str) -> str:
    """Puts doctest prompts into code fences."""
    return text if "```" in text else fenced_examples(text).strip()


def markdown(text: str) -> Cell:
    """Returns a cell of prose."""
    return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}


def code_cell(source: str, outputs: list[dict[str, Any]], *, hidden: bool = False, fails: bool = False) -> Cell:
    """Returns a cell of code. With `fails`, a run of the notebook continues after the cell's exception."""
    metadata: dict[str, Any] = {"jupyter": {"source_hidden": True}} if hidden else {}
    metadata |= {"tags": ["raises-exception"]} if fails else {}
    lines = source.rstrip().splitlines(keepends=True)
    return {"cell_type": "code", "execution_count": None, "metadata": metadata, "outputs": outputs, "source": lines}


def run(example: doctest.Example, namespace: dict[str, Any], place: str) -> Cell:
    """Runs an example and compares its output with that of the lesson.

    Raises:
        ValueError: the outputs differ.
    """
    printed, value, error = execute(example.source, namespace)
    flags = sum(flag for flag, on in example.options.items() if on)
    if example.exc_msg is not None:
        got, want = "".join(traceback.format_exception_only(error)) if error else "", example.exc_msg
    else:
        got, want = printed + (f"{value!r}\n" if value is not None else ""), example.want
        if error:
            got += "".join(traceback.format_exception_only(error))
    if not doctest.OutputChecker().check_output(want, got, flags):
        raise ValueError(f"{place}: {example.source.strip()} gives {got!r}, expected {want!r}")
    outputs: list[dict[str, Any]] = []
    if printed:
        outputs.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        outputs.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    if error:
        lines = traceback.format_exception_only(error)
        name = type(error).__name__
        outputs.append({"ename": name, "evalue": str(error), "output_type": "error", "traceback": lines})
    return code_cell(example.source, outputs, fails=example.exc_msg is not None)


def execute(source: str, namespace: dict[str, Any]) -> tuple[str, Any, Exception | None]:
    """Runs a cell; returns what it prints, the value of its last line if that is an expression, and its exception."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value, error = None, None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            exec(compile(tree, "<cell>", "exec", dont_inherit=True), namespace)  # noqa: S102
            if isinstance(last, ast.Expr):
                flags = sys.modules["__future__"].annotations.compiler_flag
                value = eval(compile(ast.Expression(last.value), "<cell>", "eval", flags, True), namespace)  # noqa: S307
        except Exception as raised:
            error = raised
    return printed.getvalue(), value, error
