"""Every example in the docstrings of the package runs. (The lessons of `jeton.reference` have tests of their own.)"""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator

import pytest

import jeton
from jeton.compat import PEERS

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(jeton.__path__, "jeton.")
    if not module.name.startswith(("jeton.reference", "jeton._core")) and not module.name.endswith("__main__")
)


@pytest.fixture
def peers() -> Iterator[None]:
    """Undoes replacements of libraries by examples: a later test compares with the library itself."""
    roots = {name.partition(".")[0] for names in PEERS.values() for name in names}

    def loaded() -> dict[str, object]:
        return {name: module for name, module in list(sys.modules.items()) if name.partition(".")[0] in roots}

    before = loaded()
    yield
    for name in loaded():
        if name not in before:
            del sys.modules[name]


@pytest.mark.usefixtures("peers")
@pytest.mark.parametrize("name", ["jeton", *MODULES])
def test_examples_of_every_module_run(name: str) -> None:
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module)
    assert failed == 0


def test_examples_of_classes_of_the_core() -> None:
    tests = [test for test in doctest.DocTestFinder().find(jeton.TextStream, "TextStream", False) if test.examples]
    assert {test.name for test in tests} == {
        "TextStream",
        *(f"TextStream.{name}" for name in ("copy", "finish", "push")),
    }
    for test in tests:
        assert doctest.DocTestRunner().run(test).failed == 0


def test_every_public_name_has_an_example() -> None:
    without = []
    for name in jeton.__all__:
        thing = getattr(jeton, name)
        if not inspect.isclass(thing) and not callable(thing):
            continue
        if ">>>" not in (inspect.getdoc(thing) or ""):
            without.append(name)
        for method, member in vars(thing).items() if name in ("Tokenizer", "Counts") else ():
            function = inspect.unwrap(member.__func__ if isinstance(member, classmethod | staticmethod) else member)
            if (
                inspect.isfunction(function)
                and not method.startswith("_")
                and ">>>" not in (inspect.getdoc(function) or "")
            ):
                without.append(f"{name}.{method}")
    assert not without, " ".join(without)
