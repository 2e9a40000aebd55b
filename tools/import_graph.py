"""Draws the import graphs of the Rust core, the binding and the Python package, and finds import cycles.

    python tools/import_graph.py                     levels and cycles of each; exit code 1 if there is a cycle
    python tools/import_graph.py --mermaid core      a Mermaid diagram of the core's packages
    python tools/import_graph.py --dot python        the same for Graphviz: … | dot -Tsvg

A module is a file. In Rust, an import is a path that begins with `crate`, `super`, `self` or the name of a child
module, outside of tests; a path counts as an import of the last module in the path. In Python, an import is an import
statement anywhere in a file: an import in a function, or for annotations only, closes no cycle at run time, but is a
dependency all the same. `EXCEPTIONS` lists permitted imports that close a cycle. Calls of `import_module` are left out:
code in `compat/tokenizers` uses these calls to import modules that depend on the calling module.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "crates" / "jeton-core" / "src"
BINDING = ROOT / "crates" / "jeton-python" / "src"
PACKAGE = ROOT / "python" / "jeton"

Graph = dict[str, set[str]]  # module → the modules that it imports

# Imports of the package that are allowed to close a cycle: (module, imported module) → reason.
EXCEPTIONS = {
    ("jeton.tokenizer", "jeton.formats"): "`save`, `to_bytes`, `from_bytes` and pickling are methods of `Tokenizer`",
    ("jeton.compat.tiktoken._tiktoken", "jeton.compat.tiktoken.unstable"): "a method of tiktoken's `CoreBPE`",
    ("jeton.compat.tiktoken.core", "jeton.compat.tiktoken.registry"): "registered encodings are pickled by name",
    (
        "jeton.integrations.transformers.classes",
        "jeton.integrations.transformers.in_place",
    ): "`from_pretrained` of an accelerated class accelerates what it loads",
}

# ── Rust ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


# Comments, strings and character literals of Rust. They are removed, because they may contain braces and quotes.
NO_CODE = re.compile(r"""//[^\n]*|\br(#*)"[\s\S]*?"\1|"(?:\\[\s\S]|[^"\\])*"|'(?:\\[^']+|\\'|[^\\'])'""")


def rust_graph(source: Path = CORE) -> Graph:
    """Returns the graph of a crate's modules. Modules are named like `a::b`, and the root is named `crate`."""
    files = {rust_name(path, source): path for path in sorted(source.rglob("*.rs"))}
    return {module: rust_imports(module, path.read_text("utf-8"), files.keys()) for module, path in files.items()}


def rust_name(path: Path, source: Path) -> str:
    """Returns the path of a file's module in its crate, without `crate::`."""
    parts = path.relative_to(source).with_suffix("").parts
    return "crate" if parts == ("lib",) else "::".join(parts[:-1] if parts[-1] == "mod" else parts)


def rust_imports(module: str, text: str, modules: Collection[str]) -> set[str]:
    """Returns the modules imported by a Rust file. A path counts as an import of the last module in the path."""
    here = [] if module == "crate" else module.split("::")
    children = {name.rpartition("::")[2] for name in modules if name.rpartition("::")[0] == "::".join(here)}
    text = without_tests(NO_CODE.sub("", text))
    text = re.sub(r"\bmod \w+;|\bpub\((?:crate|super|self|in [\w:]+)\)", "", text)
    inline = [(found.start(), closing(text, found.end())) for found in re.finditer(r"\bmod \w+ \{", text)]
    found = set()
    for at, parts in rust_paths(text):
        base = here + ["inline"] * sum(start < at < end for start, end in inline)
        if parts[0] == "crate":
            base, parts = [], parts[1:]
        elif parts[0] not in ("super", "self") and (parts[0] not in children or base != here):
            continue
        while parts and parts[0] in ("super", "self"):
            base, parts = base[:-1] if parts[0] == "super" else base, parts[1:]
        while parts and "::".join([*base, parts[0]]) in modules:
            base, parts = [*base, parts[0]], parts[1:]
        found.add(
            "::".join(base[: len(here)] if base[: len(here)] == here and base[len(here) :] == ["inline"] else base)
        )
    return {name or "crate" for name in found} - {module}


def closing(text: str, start: int) -> int:
    """Returns the position after the closing brace that matches the brace before `start`."""
    depth, at = 1, start
    while depth and at < len(text):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return at


def without_tests(text: str) -> str:
    """Removes `#[cfg(test)] mod … { … }`."""
    while found := re.search(
        r"#\[cfg\((?:test|all\(test[^\]]*)\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\(\w+\))? )?mod \w+ \{", text
    ):
        text = text[: found.start()] + text[closing(text, found.end()) :]
    return re.sub(r"#\[cfg\(test\)\]\s*mod \w+;", "", text)


def rust_paths(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yields the position and the names of each path with `::`. `a::{b, c}` is yielded as two paths."""
    for found in re.finditer(r"\b(?:crate|super|self|[a-z_][a-z0-9_]*)(?:::(?:\w+|\{|\*))+", text):
        path = found[0]
        if path.endswith("{"):
            head = tuple(path[:-3].split("::"))
            inner = text[found.end() : closing(text, found.end()) - 1]
            yield from ((found.start(), (*head, *rest)) for rest in in_braces(inner))
        else:
            yield found.start(), tuple(path.split("::"))


def in_braces(text: str) -> Iterator[tuple[str, ...]]:
    """Yields each path of a list in braces, such as `a, b::{c, d as e}`."""
    depth, start, parts = 0, 0, []
    for at, char in enumerate(text + ","):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and not depth:
            parts.append(text[start:at].strip())
            start = at + 1
    for part in filter(None, parts):
        head, brace, rest = part.partition("{")
        names = tuple(name for name in re.sub(r" as \w+", "", head).strip().split("::") if name)
        if brace:
            yield from ((*names, *inner) for inner in in_braces(rest.rpartition("}")[0]))
        else:
            yield names


# ── Python ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def python_graph(package: Path = PACKAGE) -> Graph:
    """Returns the graph of a package's modules. A subpackage is the module of its `__init__.py`."""
    files = {python_name(path, package): path for path in sorted(package.rglob("*.py"))}
    return {name: python_imports(name, path, files.keys()) - {name} for name, path in files.items()}


def python_name(path: Path, package: Path) -> str:
    """Returns the name of a file's module."""
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def python_imports(name: str, path: Path, modules: Collection[str]) -> set[str]:
    """Returns which modules of the package a file imports. Leaves out `_core` and the imports in `EXCEPTIONS`."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            base = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
            base = ".".join(filter(None, [base, node.module]))
            paths = {f"{base}.{alias.name}" for alias in node.names if alias.name != "_core"}
            found |= {each if each in modules else base for each in paths}
    return {each for each in found if each in modules and (name, each) not in EXCEPTIONS}


# ── graphs ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def cycles(graph: Graph) -> list[list[str]]:
    """Returns the strongly connected components of more than one module (Tarjan 1972)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        order[module] = low[module] = len(order)
        stack.append(module)
        for other in sorted(graph[module]):
            if other not in order:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], order[other])
        if low[module] == order[module]:
            component = [stack.pop()]
            while component[-1] != module:
                component.append(stack.pop())
            if len(component) > 1:
                found.append(sorted(component))

    for module in sorted(graph):
        if module not in order:
            visit(module)
    return sorted(found)


def contracted(graph: Graph, package_of: Callable[[str], str]) -> Graph:
    """Returns the graph of the imports between packages."""
    found: Graph = {package_of(module): set() for module in graph}
    for module, imports in graph.items():
        found[package_of(module)] |= {package_of(other) for other in imports} - {package_of(module)}
    return found


def levels(graph: Graph) -> list[list[str]]:
    """Returns the modules of an acyclic graph by level, lowest first. A module has a higher level than its imports."""
    level: dict[str, int] = {}
    while len(level) < len(graph):
        ready = [module for module in graph if module not in level and graph[module] <= level.keys()]
        level |= {module: 1 + max((level[other] for other in graph[module]), default=-1) for module in ready}
    return [sorted(m for m in level if level[m] == at) for at in range(max(level.values()) + 1)]


def reduced(graph: Graph) -> Graph:
    """Returns the graph without redundant imports (transitive reduction), for a readable drawing.

    An import is redundant if the module also imports the target indirectly, through another module.
    """
    reach: Graph = {}
    for module in (module for row in levels(graph) for module in row):
        reach[module] = set().union(*(reach[other] | {other} for other in graph[module]))
    return {m: {o for o in graph[m] if not any(o in reach[p] for p in graph[m])} for m in graph}


def rust_package(module: str) -> str:
    """Returns the top-level module that contains a module."""
    return module.split("::")[0]


def python_package(module: str) -> str:
    """Returns the package that contains a module, or the module itself if no package contains it."""
    return ".".join(module.split(".")[:2])


GRAPHS: dict[str, tuple[Callable[[], Graph], Callable[[str], str]]] = {
    "core": (rust_graph, rust_package),
    "binding": (partial(rust_graph, BINDING), rust_package),
    "python": (python_graph, python_package),
}


def main() -> int:
    """Prints the selected graph; returns 1 if there is a cycle."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mermaid", choices=GRAPHS, help="a Mermaid diagram of the packages")
    parser.add_argument("--dot", choices=GRAPHS, help="a Graphviz diagram of the packages")
    arguments = parser.parse_args()
    if which := arguments.mermaid or arguments.dot:
        make, package_of = GRAPHS[which]
        graph = reduced(contracted(make(), package_of))
        arrow = "-->" if arguments.mermaid else "->"
        edges = [f'    "{a}" {arrow} "{b}"' for a in sorted(graph) for b in sorted(graph[a])]
        if arguments.mermaid:
            edges = [edge.replace('"', "").replace("jeton.", "") for edge in edges]
        print("graph TD" if arguments.mermaid else f"digraph {which} {{", *edges, sep="\n")
        if arguments.dot:
            print("}")
        return 0
    problems = 0
    for which, (make, package_of) in GRAPHS.items():
        graph = make()
        packages = contracted(graph, package_of)
        print(f"{which}: {len(graph)} modules, {sum(map(len, graph.values()))} imports, {len(packages)} packages")
        for kind, found in (("modules", cycles(graph)), ("packages", cycles(packages))):
            problems += len(found)
            for cycle in found:
                print(f"  cycle of {len(cycle)} {kind}: {', '.join(cycle)}")
        if not cycles(packages):
            for row in reversed(levels(packages)):
                print("  " + ", ".join(row))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
