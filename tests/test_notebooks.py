"""Notebooks of the lessons: their examples run and give what the lessons say, in both languages."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parent.parent / "tools"
REFERENCE = TOOLS.parent / "python" / "jeton" / "reference"
sys.path.insert(0, str(TOOLS))

from site_pages.notebooks import notebook, write  # noqa: E402

sys.path.remove(str(TOOLS))

LESSONS = sorted(path.stem for path in REFERENCE.glob("step*.py"))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", LESSONS)
def test_a_notebook_runs(name: str, language: str) -> None:
    """Making it runs it: an output that differs from the lesson is an error."""
    made = notebook(REFERENCE / f"{name}.py", language, "The exercise.\n\n>>> 1\n1")
    cells = made["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 4
    assert sum(bool(cell["outputs"]) for cell in code) >= 3
    assert not any(line.lstrip().startswith("from .") for line in code[0]["source"])
    assert len({cell["id"] for cell in cells}) == len(cells)
    exercise = next("".join(cell["source"]) for cell in cells if "The exercise." in "".join(cell["source"]))
    assert exercise.endswith("```python\n>>> 1\n1\n```")
    assert all(
        ">>> " not in "".join(cell["source"]).partition("```")[0] for cell in cells if cell["cell_type"] == "markdown"
    )


def test_a_notebook_is_json_of_format_4() -> None:
    read = json.loads(write(REFERENCE / "step05_encode.py", "zh", ""))
    assert (read["nbformat"], read["nbformat_minor"]) == (4, 5)
    assert read["metadata"]["kernelspec"]["language"] == "python"


def test_an_example_that_gives_something_else_is_an_error(tmp_path: Path) -> None:
    step = tmp_path / "step01_x.py"
    step.write_text('"""Step 1. X.\n\n>>> 1 + 1\n3\n"""\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"step01_x.py, en: 1 \+ 1 gives '2\\n', expected '3\\n'"):
        notebook(step, "en", "")


def test_an_exception_is_an_output_and_does_not_stop_a_run(tmp_path: Path) -> None:
    step = tmp_path / "step01_x.py"
    step.write_text(
        '"""Step 1. X.\n\n>>> [][0]\nTraceback (most recent call last):\n    ...\n'
        'IndexError: list index out of range\n"""\n',
        encoding="utf-8",
    )
    cell = notebook(step, "en", "")["cells"][-1]
    assert cell["metadata"]["tags"] == ["raises-exception"]
    assert cell["outputs"][0]["ename"] == "IndexError"
