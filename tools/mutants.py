"""Mutation tests of the Python modules that decide policy, in seeded samples, resumable.

    python tools/mutants.py --seed 1 --number 150 --minutes 60 --output mutants.jsonl
    python tools/mutants.py --report mutants.jsonl

Each mutant changes one place of one module: a comparison, an operand of `and` and `or`, a condition, a constant, a
sign, a returned value, or a call whose result is not used. The tests of that module run on it in a copy of the package,
until the first one fails. A mutant that no test fails has survived: it is either equivalent, or a missing test. The
output has a JSON line for each; a later run with the same output continues where the earlier one stopped.

Strings, type annotations, `__repr__`, `raise` statements and branches for type checkers are left out: their mutants
change words or nothing. Mutants of the core are made by cargo-mutants (docs/testing.md).
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "jeton"
# Stratum, sampled equally often -> its modules, and the tests that run for each.
STRATA: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "special tokens": (
        ("tokens/*.py",),
        ("tests/tokens", "tests/chat/test_trust.py", "tests/test_derived.py", "tests/test_tokenizer.py"),
    ),
    "chat": (
        ("chat/encode.py", "chat/template.py", "chat/prepared.py", "chat/masks.py", "chat/conversation.py"),
        ("tests/chat",),
    ),
    "formats": (("formats/*.py",), ("tests/formats", "tests/test_hostile.py")),
    "truncation": (
        ("calls/truncation.py", "calls/batch.py", "calls/batch_encoding.py"),
        ("tests/calls", "tests/test_encoding.py", "tests/test_tokenizer.py"),
    ),
    "cutting": (("calls/cutting.py", "calls/structure.py", "calls/structured_split.py"), ("tests/calls",)),
    "surgery": (("vocabulary/*.py",), ("tests/vocabulary",)),
    "plans": (("shards/plan.py", "shards/planning.py", "shards/validity.py", "shards/tasks.py"), ("tests/shards",)),
}
TIMEOUT_S = 300  # seconds for the tests of a mutant; one that runs longer counts as caught
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
    """One change: the characters `start` to `end` of a module become `after`."""

    stratum: str
    path: str  # below `python/jeton`
    line: int
    start: int
    end: int
    before: str
    after: str

    @property
    def key(self) -> str:
        """Names the mutant in the output, even after changes elsewhere in the repository."""
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
    """Yields the nodes that decide something."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.arguments):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.FunctionDef) and child.name in ("__repr__", "__str__", "_repr_html_"):
            continue
        if isinstance(child, ast.AnnAssign):  # its annotation is not code
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
    """Yields the source of each mutant of a node."""
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
    """Returns a sample with equally many mutants of each stratum, in an order that mixes them."""
    chance = random.Random(seed)  # noqa: S311
    groups = []
    for stratum, (patterns, _) in STRATA.items():
        paths = sorted({path for pattern in patterns for path in PACKAGE.glob(pattern)})
        every = [mutant for path in paths for mutant in mutants(stratum, path)]
        groups.append(chance.sample(every, min(len(every), -(-number // len(STRATA)))))
    mixed = [group[at] for at in range(max(map(len, groups))) for group in groups if at < len(group)]
    return mixed[:number]


def is_caught(mutant: Mutant | None, stratum: str, copy: Path) -> tuple[bool, float]:
    """Runs the tests of a stratum on a mutant, or on the package as it is; returns whether one failed, and seconds."""
    target = copy / "jeton" / mutant.path if mutant else None
    original = target.read_bytes() if target else b""
    if mutant and target:
        target.write_bytes(original[: mutant.start] + mutant.after.encode() + original[mutant.end :])
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *STRATA[stratum][1]]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    began = time.monotonic()
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=TIMEOUT_S, check=False)
        failed = done.returncode != 0
    except subprocess.TimeoutExpired:
        failed = True
    finally:
        if target:
            target.write_bytes(original)
    return failed, time.monotonic() - began


def run(arguments: argparse.Namespace) -> None:
    """Runs mutants until the sample or the time ends."""
    output = Path(arguments.output)
    known = {row["key"] for row in rows(output)} if output.exists() else set()
    end = time.monotonic() + 60 * arguments.minutes
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        shutil.copytree(PACKAGE, copy / "jeton", ignore=shutil.ignore_patterns("__pycache__"))
        checked: set[str] = set()
        for mutant in sampled(arguments.seed, arguments.number):
            if mutant.key in known:
                continue
            if time.monotonic() > end:
                print("the time is over; run the command again to go on")
                return
            if mutant.stratum not in checked:
                if is_caught(None, mutant.stratum, copy)[0]:
                    raise SystemExit(f"the tests of {mutant.stratum} fail without a mutant")
                checked.add(mutant.stratum)
            caught, seconds = is_caught(mutant, mutant.stratum, copy)
            row = {"key": mutant.key, "seed": arguments.seed, **mutant._asdict(), "caught": caught}
            with output.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**row, "seconds": round(seconds, 1)}, ensure_ascii=False) + "\n")
            print(f"{'caught  ' if caught else 'SURVIVED'} {seconds:5.1f} s  {mutant.path}:{mutant.line}", flush=True)


def rows(output: Path) -> list[dict[str, Any]]:
    """Reads an output."""
    return [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]


def report(output: Path) -> None:
    """Prints mutants by stratum, and the survivors with their change."""
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
            print(f"\n{row['path']}:{row['line']}\n  - {row['before']}\n  + {row['after']}")


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=150, help="mutants of the sample")
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after so many minutes")
    parser.add_argument("--output", default="mutants.jsonl", help="JSON lines; an existing file is continued")
    parser.add_argument("--report", metavar="FILE", help="print the results in a file")
    arguments = parser.parse_args()
    if arguments.report:
        report(Path(arguments.report))
    else:
        run(arguments)


if __name__ == "__main__":
    main()
