"""Finds the names that an installed library defines, by reading its source, without importing the library."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path

__all__ = ["names_of"]

_HUMP = re.compile("(?<!^)(?=[A-Z])")


def names_of(library: str, without: Iterable[str] = ()) -> set[str]:
    """Returns the names of an installed package's modules, of the objects that they define, and of class attributes.

    Args:
        library: name of the package.
        without: folders of `sys.path` that are not searched.

    Returns:
        The names, prefixed by the library, such as ``tiktoken.load`` and ``tiktoken.Encoding.encode``. The name of a
        class omits its module, because programs import classes from the package. Empty if the library is not installed.

    Examples:
        >>> {"json.load", "json.decoder", "json.JSONDecoder.decode"} <= names_of("json")
        True
        >>> names_of("a_library_that_does_not_exist")
        set()
    """
    skipped = set(without)
    spec = PathFinder.find_spec(library, [folder for folder in sys.path if folder not in skipped])
    names: set[str] = set()
    for folder in spec.submodule_search_locations or () if spec else ():
        for path in Path(folder).iterdir():
            if path.suffix not in (".py", ".so", ".pyd"):
                continue
            module = path.name.partition(".")[0]
            prefix = library if module == "__init__" else f"{library}.{module}"
            names.add(prefix)
            if path.suffix == ".py":
                with suppress(OSError, SyntaxError, ValueError):  # skips a module that this interpreter cannot parse
                    names.update(_defined(library, prefix, path.read_text(encoding="utf-8")))
    return names


def _defined(library: str, prefix: str, source: str) -> Iterator[str]:
    both_cases = "_add_snake_case" in source  # function that SentencePiece calls to add all names in snake case
    for name, attributes in _statements(ast.parse(source).body):
        yield f"{prefix}.{name}"
        for attribute in attributes:
            yield f"{library}.{name}.{attribute}"
            if both_cases:
                yield f"{library}.{name}.{_HUMP.sub('_', attribute).lower().replace('n_best', 'nbest')}"


def _statements(body: list[ast.stmt]) -> Iterator[tuple[str, list[str]]]:
    """Yields each name that statements define, and its attributes if it is a class."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield node.name, [name for name, _ in _statements(node.body)]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, []
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((name.asname or name.name.partition(".")[0], []) for name in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((name.id, []) for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
        elif isinstance(node, ast.If | ast.Try | ast.With):
            inner = [*node.body, *getattr(node, "orelse", ()), *getattr(node, "finalbody", ())]
            yield from _statements(inner + [line for case in getattr(node, "handlers", ()) for line in case.body])
