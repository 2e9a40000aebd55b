"""Type checkers and editors see every public name of the libraries that the drop-ins replace."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from types import ModuleType
from typing import Any

import pytest

CLASSES = {
    "sentencepiece": ("SentencePieceProcessor", "SentencePieceTrainer", "SentencePieceNormalizer", "ThreadPool"),
    "tiktoken": ("Encoding",),
}


def written(body: list[ast.stmt]) -> set[str]:
    """Names that statements define, as a type checker reads them."""
    names: set[str] = set()
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names.update(target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.ImportFrom(names=imported) | ast.Import(names=imported):
                names.update(alias.asname or alias.name for alias in imported)
            case ast.If(body=inner, orelse=other):
                names |= written(inner) | written(other)
    return names


def members(kind: type[Any]) -> set[str]:
    """Names of the members of a class, with those of its bases."""
    names: set[str] = set()
    for base in kind.__mro__[:-1]:
        definition = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        assert isinstance(definition, ast.ClassDef)
        names |= written(definition.body)
        for node in ast.walk(definition):  # attributes that methods assign
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.attr)
    return names


def public(names: Any) -> set[str]:
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("library", CLASSES)
def test_every_public_name_is_written_in_the_source(library: str) -> None:
    original = pytest.importorskip(library)
    ours = importlib.import_module(f"jeton.compat.{library}")
    theirs = {name for name in public(vars(original)) if not isinstance(getattr(original, name), ModuleType)}
    assert theirs - written(ast.parse(inspect.getsource(ours)).body) == set()


@pytest.mark.parametrize(("library", "name"), [(library, name) for library in CLASSES for name in CLASSES[library]])
def test_every_public_member_is_written_in_the_source(library: str, name: str) -> None:
    original = getattr(pytest.importorskip(library), name)
    ours = getattr(importlib.import_module(f"jeton.compat.{library}"), name)
    assert public(dir(original)) - members(ours) == set()
    assert members(ours) - {"report"} >= public(vars(ours))  # also members that only the drop-in has
