"""`tools/import_graph.py` finds imports in every form, and cycles."""

from __future__ import annotations

from pathlib import Path

from tools import import_graph as tool


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_rust_imports_in_every_form(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod a;\nmod b;\nmod c;\nmod d;",
        "a/mod.rs": "mod x;\npub use x::X; // crate::d::D",
        "a/x.rs": "use crate::{b::{self, B}, c};\nmod inner { use super::super::y::Y; }",
        "a/y.rs": "fn f() { let quote = '\"'; let brace = '{'; crate::d::f(r#\"crate::c::f()\"#); }",
        "b.rs": "#[cfg(test)]\n#[allow(unused)]\nmod tests { use crate::a::X; }",
        "c.rs": "use super::d::*;",
        "d.rs": '"crate::a::X";',
    }
    assert tool.rust_graph(write(tmp_path, files)) == {
        "crate": set(),
        "a": {"a::x"},
        "a::x": {"b", "c", "a::y"},
        "a::y": {"d"},
        "b": set(),
        "c": {"d"},
        "d": set(),
    }


def test_python_imports_in_every_form(tmp_path: Path) -> None:
    files = {
        "p/__init__.py": "",
        "p/a.py": "from . import b, _core\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .c import C",
        "p/b.py": "def f():\n    from . import d",
        "p/c.py": "import p.a\ntry:\n    from .b import f\nexcept ImportError:\n    pass",
        "p/d.py": "from . import f",
    }
    graph = tool.python_graph(write(tmp_path, files) / "p")
    assert graph == {"p": set(), "p.a": {"p.b", "p.c"}, "p.b": {"p.d"}, "p.c": {"p.a", "p.b"}, "p.d": {"p"}}


def test_cycles_and_levels() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"a"}}
    assert tool.cycles(graph) == [["a", "b", "c"]]
    whole = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert tool.cycles(whole) == []
    assert tool.levels(whole) == [["c"], ["b"], ["a"]]
    assert tool.reduced(whole) == {"a": {"b"}, "b": {"c"}, "c": set()}


def test_the_project_has_no_cycle() -> None:
    assert set(tool.GRAPHS) == {"core", "binding", "python"}
    for make, _ in tool.GRAPHS.values():
        graph = make()
        assert len(graph) > 40
        assert tool.cycles(graph) == []


def test_every_exception_is_needed() -> None:
    exceptions, tool.EXCEPTIONS = tool.EXCEPTIONS, {}
    graph = tool.python_graph()
    tool.EXCEPTIONS = exceptions
    cycles = [set(cycle) for cycle in tool.cycles(graph)]
    assert len(cycles) == len(exceptions)
    assert all(any({module, imported} <= cycle for cycle in cycles) for module, imported in exceptions)
