"""The workflow of Miri runs the tests of every module with unsafe code.

Miri cannot run in these tests, because it needs the nightly toolchain.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORKFLOW = ROOT / ".github" / "workflows" / "miri.yml"
SOURCES = ROOT / "crates" / "jeton-core" / "src"

pytestmark = pytest.mark.skipif(not SOURCES.is_dir() or not WORKFLOW.is_file(), reason="needs the source tree")

# Modules whose system calls Miri does not support.
UNSUPPORTED = {"util::spill", "util::huge_pages"}


def modules() -> Iterator[tuple[str, str]]:
    """Yields the path of each module of the core, as in `util::simd`, and its code without comments."""
    for file in sorted(SOURCES.rglob("*.rs")):
        parts = file.relative_to(SOURCES).with_suffix("").parts
        path = "::".join(parts[:-1] if parts[-1] == "mod" else parts)
        yield path, re.sub(r"//.*", "", file.read_text(encoding="utf-8"))


def filters() -> list[str]:
    """Returns the arguments of the test program: it runs the tests whose paths contain one of them."""
    text = WORKFLOW.read_text(encoding="utf-8")
    command = re.search(r"miri test .*? -- (.*)", text.replace("\\\n", " "))
    assert command is not None
    return command[1].split()


def test_modules_with_unsafe_code_are_run() -> None:
    unsafe = {path for path, code in modules() if re.search(r"\bunsafe\b", code)}
    assert unsafe >= UNSUPPORTED, "a module of UNSUPPORTED has no unsafe code"
    missing = {path for path in unsafe - UNSUPPORTED if not any(each in f"{path}::" for each in filters())}
    assert not missing, f"add to the filter in {WORKFLOW.name}: {sorted(missing)}"


def test_every_filter_selects_tests() -> None:
    tested = [f"{path}::tests::" for path, code in modules() if "#[test]" in code]
    unused = [each for each in filters() if not any(each in path for path in tested)]
    assert not unused, f"no tests have these paths: {unused}"
