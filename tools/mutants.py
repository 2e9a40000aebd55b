"""Mutation tests of the core and of the Python modules that decide policy, on seeded samples of mutants.

    python tools/mutants.py --seed 1 --number 203 --output mutants.jsonl
    python tools/mutants.py --core core-1 --seed 1 --number 98 --output mutants-core.jsonl
    python tools/mutants.py --report mutants.jsonl

Each mutant changes one place of one module: a comparison, an operand of `and` and `or`, a condition, a constant, a
sign, a returned value, or a call whose result is not used. The tests that execute this place run on the mutant until
one fails. Tests of files that are named like the module run first, then the shortest tests. If no test fails, the
mutant has survived: either it behaves like the original, or a test is missing. The output has a JSON line for each
mutant. A later run with the same output continues where the earlier one stopped.

The first run records which tests execute which lines (`--map`). Delete this map so that new tests are included. Mutants
of functions run in forks of one process (`mutation_plugin`); mutants of statements that run at import have a process of
their own. `mutants_core` creates the mutants of the core.

Strings, type annotations, `__repr__`, `raise` statements, branches for type checkers and `zip(strict=)` are left out:
their mutants change only texts, or have no effect.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import mutants_core

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "jeton"
# Stratum -> its modules, and the tests that run for each module. All strata are sampled equally often.
STRATA: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "special tokens": (
        ("tokens/*.py",),
        ("tests/tokens", "tests/chat/test_trust.py", "tests/test_derived.py", "tests/test_tokenizer.py"),
    ),
    "chat": (
        ("chat/encode.py", "chat/template.py", "chat/prepared.py", "chat/masks.py", "chat/conversation.py"),
        ("tests/chat",),
    ),
    "formats": (("formats/*.py",), ("tests/formats", "tests/test_hostile.py", "tests/util/test_atomic.py")),
    "truncation": (
        ("calls/truncation.py", "calls/batch.py", "calls/batch_encoding.py"),
        ("tests/calls", "tests/test_encoding.py", "tests/test_tokenizer.py", "tests/compat/test_hf_backend.py"),
    ),
    "cutting": (("calls/cutting.py", "calls/structure.py", "calls/structured_split.py"), ("tests/calls",)),
    "surgery": (("vocabulary/*.py",), ("tests/vocabulary",)),
    "plans": (("shards/plan.py", "shards/planning.py", "shards/validity.py", "shards/tasks.py"), ("tests/shards",)),
}
DOCTESTS = "tests/test_doctests.py"
# Tests for mutants of the core. For each mutant, only the tests that execute the mutated code are run.
CORE_TESTS = (
    *("tests/oracle", "tests/calls", "tests/explanation", "tests/analysis", "tests/formats", "tests/vocabulary"),
    *("tests/parity", "tests/compat", "tests/tokens", "tests/chat"),
    *("tests/test_character_maps.py", "tests/test_counts.py", "tests/test_normalizers.py"),
    *("tests/test_encoding.py", "tests/test_fuzz_cases.py", "tests/test_regressions.py", "tests/test_replay.py"),
    *("tests/test_rules.py", "tests/test_spilling.py", "tests/test_stream.py", "tests/test_tables.py"),
    *("tests/test_tokenizer.py", "tests/test_trace.py", "tests/test_training.py", "tests/test_unigram_training.py"),
)
TIMEOUT_S = 120  # maximum seconds of a mutant's tests; a mutant that takes longer counts as caught
BUDGET_S = 60.0  # maximum total seconds of the tests that are run on a mutant
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}


class Mutant(NamedTuple):
    """One change: the bytes from `start` to `end` of a module are replaced by `after`."""

    stratum: str
    path: str  # relative to `python/jeton`
    line: int
    start: int
    end: int
    before: str
    after: str

    @property
    def key(self) -> str:
        """Key of the mutant in the output. It stays the same after changes elsewhere in the repository."""
        return hashlib.sha256("\0".join(map(str, self)).encode()).hexdigest()[:16]


def mutants(stratum: str, path: Path) -> Iterator[Mutant]:
    """Yields all mutants of a module."""
    source = path.read_text(encoding="utf-8")
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    data = source.encode()

    def changed(node: ast.expr | ast.stmt, after: str) -> Mutant:
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        name = path.relative_to(PACKAGE).as_posix()
        return Mutant(stratum, name, node.lineno, start, end, data[start:end].decode(), after)

    for node in _policy(ast.parse(source)):
        for after in _changes(node):
            yield changed(node, after)


def _policy(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Yields the nodes whose mutants change decisions. Texts, annotations, imports and errors are left out."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.arguments):
            continue
        if isinstance(child, ast.keyword) and child.arg == "strict":
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.FunctionDef) and child.name in ("__repr__", "__str__", "_repr_html_"):
            continue
        if isinstance(child, ast.AnnAssign):  # the annotation is left out, but not the assigned value
            if child.value is not None:
                yield from _policy(ast.Expr(child.value))
            continue
        if isinstance(child, ast.FunctionDef):
            for statement in child.body:
                yield from _policy(ast.Module([statement], []))
            continue
        if isinstance(child, ast.expr | ast.stmt):
            yield child
        yield from _policy(child)


def _changes(node: ast.expr | ast.stmt) -> Iterator[str]:
    """Yields the source code of each replacement for a node."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in SWAPS:
            other: Any = SWAPS[type(op)]()
            yield ast.unparse(ast.Compare(left, [other], [right]))
        case ast.BoolOp(op=op, values=values):
            for index in range(len(values)):
                rest = [value for at, value in enumerate(values) if at != index]
                yield f"({ast.unparse(rest[0] if len(rest) == 1 else ast.BoolOp(op, rest))})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in SWAPS:
            swapped: Any = SWAPS[type(op)]()
            yield f"({ast.unparse(ast.BinOp(left, swapped, right))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"({ast.unparse(operand)})"
        case ast.IfExp(body=body, orelse=orelse):
            yield f"({ast.unparse(body)})"
            yield f"({ast.unparse(orelse)})"
        case ast.Constant(value=bool() as value):
            yield str(not value)
        case ast.Constant(value=int() as number):
            yield f"({number + 1})"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "return None"
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Delete():
            yield "pass"
        case ast.Continue():
            yield "pass"
        case ast.Break():
            yield "pass"


def sampled(seed: int, number: int) -> list[Mutant]:
    """Returns a sample with equally many mutants of each stratum. The strata alternate in the sample."""
    chance = random.Random(seed)  # noqa: S311
    groups = []
    for stratum, (patterns, _) in STRATA.items():
        paths = sorted({path for pattern in patterns for path in PACKAGE.glob(pattern)})
        every = [mutant for path in paths for mutant in mutants(stratum, path)]
        groups.append(chance.sample(every, min(len(every), -(-number // len(STRATA)))))
    mixed = [group[at] for at in range(max(map(len, groups))) for group in groups if at < len(group)]
    return mixed[:number]


class Where(NamedTuple):
    """Lines of a mutant's statement, and of the function that contains it."""

    statement: range
    function: range | None


def where(mutant: Mutant) -> Where:
    """Finds the innermost statement and the outermost function around a mutant."""
    source = (PACKAGE / mutant.path).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def holds(node: ast.stmt) -> bool:
        start = starts[node.lineno - 1] + node.col_offset
        return start <= mutant.start and mutant.end <= starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)

    around = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt) and holds(node)]
    if not around:  # the mutant is in a decorator
        return Where(range(mutant.line, mutant.line + 1), None)
    functions = [node for node in around if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    statement = max(around, key=lambda node: (node.lineno, -(node.end_lineno or 0)))
    outermost = min(functions, key=lambda node: node.lineno) if functions else None
    in_body = outermost is not None and mutant.line >= outermost.body[0].lineno
    return Where(span(statement), span(outermost) if outermost and in_body else None)


def span(node: ast.stmt) -> range:
    """Returns the lines of a statement."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


class Map:
    """For each line of a module, and for each mutant of the core: the tests that reach it."""

    def __init__(self, path: Path) -> None:
        found = json.loads(path.read_text(encoding="utf-8"))
        self.seconds: dict[str, float] = found["seconds"]
        self.lines: dict[str, dict[str, list[str]]] = found["lines"]

    def reaching(self, path: str, numbers: Iterable[int]) -> list[str]:
        """Returns the tests that reach these lines, but only as many as run within `BUDGET_S` seconds.

        The tests of files that are named like the module come first, then the shortest ones.
        """
        lines = self.lines.get(path, {})
        tests = {test for number in numbers for test in lines.get(str(number), [])}
        name = Path(path).stem
        ordered = sorted(tests, key=lambda test: (name not in test.partition("::")[0], self.seconds[test], test))
        sums = itertools.accumulate(self.seconds[test] for test in ordered)
        return [test for test, total in zip(ordered, sums, strict=True) if total <= BUDGET_S] or ordered[:1]

    def for_mutant(self, mutant: Mutant) -> list[str]:
        """Returns the tests that execute a mutant's lines, else its statement; at import: all tests of the module."""
        path = str(PACKAGE / mutant.path)
        if where(mutant).function is None:
            return self.reaching(path, map(int, self.lines.get(path, {})))
        own = range(mutant.line, mutant.line + mutant.before.count("\n") + 1)
        return self.reaching(path, own) or self.reaching(path, where(mutant).statement)


def run_tests(
    task: dict[str, Any], paths: Iterable[str], package: Path | None = None, limit: float | None = None
) -> int:
    """Runs pytest with the plugin; returns its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "task.json").write_text(json.dumps(task), encoding="utf-8")
        (Path(folder) / "tests").write_text("\n".join(paths), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "mutation_plugin"]
        places = [str(package)] if package else []
        environment = {
            **os.environ,
            "CI": "1",  # makes random test cases the same each time
            "JETON_MUTATION": str(Path(folder) / "task.json"),
            "PYTHONPATH": os.pathsep.join([*places, str(Path(__file__).parent)]),
        }
        if package:
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
        if "record" not in task:
            command.append("-x")
        arguments = ["--timeout", str(TIMEOUT_S), f"@{folder}/tests"]
        done = subprocess.run(
            [*command, *arguments], cwd=ROOT, env=environment, stdout=subprocess.PIPE, timeout=limit, check=False
        )
        if done.returncode and not package:
            print(done.stdout.decode()[-2000:])
        return done.returncode


def record(path: Path, tests: Iterable[str], files: Iterable[str], package: Path | None = None) -> None:
    """Runs some tests, and writes a map of the lines that each of them executes."""
    if run_tests({"record": str(path), "files": list(files)}, tests, package) not in (0, 1):
        raise SystemExit("the tests did not run")


def in_own_process(mutant: Mutant, tests: list[str], copy: Path) -> bool:
    """Tests a mutant in a new process, because its code runs at import or in processes that the tests start."""
    target = copy / "jeton" / mutant.path
    original = target.read_bytes()
    target.write_bytes(original[: mutant.start] + mutant.after.encode() + original[mutant.end :])
    try:
        return run_tests({}, tests or STRATA[mutant.stratum][1], copy, limit=3 * TIMEOUT_S) != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        target.write_bytes(original)


def run(arguments: argparse.Namespace) -> None:
    """Runs mutants until the sample or the time is used up."""
    output = Path(arguments.output)
    map_path = Path(arguments.map)
    known = {row["key"] for row in rows(output)} if output.exists() else set()
    end = time.time() + 60 * arguments.minutes
    every_test = sorted({DOCTESTS, *(test for _, tests in STRATA.values() for test in tests)})
    if not map_path.exists():
        modules = [path for patterns, _ in STRATA.values() for pattern in patterns for path in PACKAGE.glob(pattern)]
        record(map_path, every_test, map(str, modules))
    reaching = Map(map_path)
    jobs = []
    alone = []  # mutants that run in processes of their own
    for mutant in sampled(arguments.seed, arguments.number):
        if mutant.key in known or (arguments.only and mutant.stratum not in arguments.only):
            continue
        module = ".".join(("jeton", *Path(mutant.path).with_suffix("").parts))
        row = {"key": mutant.key, "seed": arguments.seed, **mutant._asdict(), "module": module}
        tests = reaching.for_mutant(mutant)
        if tests and where(mutant).function is not None:
            limit = 30 + 10 * sum(reaching.seconds[test] for test in tests)
            jobs.append({**row, "file": str(PACKAGE / mutant.path), "tests": tests, "limit": min(limit, TIMEOUT_S)})
        else:
            alone.append({**row, "tests": tests})
    print(f"{len(jobs)} mutants in forks, {len(alone)} in processes of their own", flush=True)
    if jobs:
        tests = sorted({test for job in jobs for test in job["tests"]})
        run_tests({"jobs": jobs, "output": str(output), "end": end}, tests)
        known = {row["key"] for row in rows(output)}
        alone += [job for job in jobs if job["key"] not in known]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        shutil.copytree(PACKAGE, copy / "jeton")
        for job in alone:
            if time.time() > end:
                print("the time is over; run the command again to go on")
                return
            began = time.monotonic()
            caught = in_own_process(Mutant(*(job[name] for name in Mutant._fields)), job["tests"], copy)
            result = {"caught": caught, "tests": len(job["tests"]), "seconds": round(time.monotonic() - began, 1)}
            with output.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**job, **result}, ensure_ascii=False) + "\n")


def run_core(arguments: argparse.Namespace) -> None:
    """Runs mutants of the core, all of them in one build."""
    folder = Path(arguments.core).resolve()
    package = folder / "python"
    if not (folder / "mutants.json").exists():
        mutants_core.build(arguments.seed, arguments.number, folder)
    if not package.exists():
        shutil.copytree(PACKAGE, package / "jeton")
        shutil.copy2(folder / "_core.abi3.so", package / "jeton" / "_core.abi3.so")
    map_path = folder / "map.json"
    if not map_path.exists():
        record(map_path, CORE_TESTS, [], package)
    reaching = Map(map_path)
    output = Path(arguments.output)
    known = {row["key"] for row in rows(output)} if output.exists() else set()
    jobs = []
    for number, mutant in json.loads((folder / "mutants.json").read_text(encoding="utf-8")).items():
        key = "-".join(["core", str(arguments.seed), number])
        tests = reaching.reaching("core", [int(number)])
        row = {
            "key": key,
            "seed": arguments.seed,
            "number": int(number),
            **mutant,
            "stratum": f"core: {mutant['stage']}",
        }
        row["file"], row["path"] = row["path"], "core"
        limit = min(30 + 10 * sum(reaching.seconds[test] for test in tests), TIMEOUT_S)
        if key not in known:
            jobs.append({**row, "tests": tests, "limit": limit})
    tests = sorted({test for job in jobs for test in job["tests"]})
    end = time.time() + 60 * arguments.minutes
    if jobs:
        run_tests({"jobs": jobs, "output": str(output), "end": end}, tests, package)
    executables = mutants_core.tests_of(folder)
    for row in rows(output):
        if not row["caught"] and "own" not in row and time.time() < end:
            own = mutants_core.is_caught(executables, row)
            with output.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**row, "caught": own, "own": own}, ensure_ascii=False) + "\n")


def rows(output: Path) -> list[dict[str, Any]]:
    """Reads the rows of an output file, without mutants that still have to be tested in a new process."""
    every = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    return list({row["key"]: row for row in every if row["caught"] is not None}.values())


def report(output: Path) -> None:
    """Prints the number of mutants by stratum, and each survivor with its change."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows(output):
        found[row["stratum"]].append(row)
    for stratum, some in sorted(found.items()):
        caught = sum(row["caught"] for row in some)
        print(f"{stratum:<16}{len(some):>5} mutants {caught:>5} caught {caught / len(some):>7.1%}")
    every = [row for some in found.values() for row in some]
    caught = sum(row["caught"] for row in every)
    print(f"{'all':<16}{len(every):>5} mutants {caught:>5} caught {caught / max(len(every), 1):>7.1%}")
    for row in every:
        if not row["caught"]:
            path = row["file"] if row["path"] == "core" else row["path"]
            print(f"\n{path}:{row['line']}\n  - {row['before']}\n  + {row['after']}")


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=150, help="mutants of the sample")
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after so many minutes")
    parser.add_argument("--output", default="mutants.jsonl", help="JSON lines; an existing file is continued")
    parser.add_argument(
        "--map", default="mutants.map.json", help="which tests reach which lines; made if it is missing"
    )
    parser.add_argument("--only", nargs="*", metavar="STRATUM", help="only mutants of these strata of the sample")
    parser.add_argument("--core", metavar="FOLDER", help="mutants of the core, built and kept in this folder")
    parser.add_argument("--report", metavar="FILE", help="print the results in a file")
    arguments = parser.parse_args()
    if arguments.core:
        run_core(arguments)
    elif arguments.report:
        report(Path(arguments.report))
    else:
        run(arguments)


if __name__ == "__main__":
    main()
