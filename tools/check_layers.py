"""Checks the layer rules of ARCHITECTURE.md in the Rust core (import-linter checks the rules of the Python package).

    python tools/check_layers.py

Each package of `jeton-core` may import only the packages listed below, and only the binding may use Python. Neither the
core, nor the binding, nor the Python package may have import cycles, except for the `EXCEPTIONS` of
`tools/import_graph.py`.
"""

from __future__ import annotations

import re
import sys

from import_graph import CORE, GRAPHS, ROOT, cycles, rust_graph

# Package, or module of `util` or `vocab` → packages or modules that it may import.
UTIL = {
    f"util::{name}"
    for name in (
        "alloc",
        "atomic_cell",
        "best_fit",
        "buffer_pool",
        "cancel",
        "hash",
        "huge_pages",
        "pair_effect",
        "pattern_set",
        "process",
        "property_table",
        "scripts",
        "short_key",
        "simd",
        "spill",
        "text_unit",
        "trie",
        "utf8",
        "words",
    )
}
SHARED = UTIL | {"error"}
BASE = SHARED | {"vocab", "vocab::alphabet", "vocab::byte_alphabet", "vocab::marks", "vocab::merge_boundaries"}
MAY_USE = {
    "error": set(),
    "util": set(),
    "util::alloc": {"error"},
    "util::atomic_cell": set(),
    "util::best_fit": {"error", "util::alloc"},
    "util::buffer_pool": {"util::atomic_cell"},
    "util::cancel": {"error"},
    "util::class_bits": set(),
    "util::classes": SHARED | {"util::class_bits"},
    "util::hash": {"util::atomic_cell"},
    "util::huge_pages": {"error"},
    "util::pair_effect": set(),
    "util::pattern_set": {"util::simd", "util::trie"},
    "util::scripts": {"util::atomic_cell"},
    "util::short_key": set(),
    "util::simd": {"util::atomic_cell"},
    "util::process": set(),
    "util::spill": {"util::alloc", "error", "util::huge_pages", "util::process"},
    "util::property_table": set(),
    "util::text_unit": {"util::atomic_cell", "util::property_table"},
    "util::trie": set(),
    "util::utf8": {"util::simd", "util::buffer_pool"},
    "util::words": {"error", "util::atomic_cell", "util::cancel", "util::property_table", "util::text_unit"},
    "vocab": SHARED,
    "vocab::alphabet": SHARED | {"vocab"},
    "vocab::byte_alphabet": SHARED,
    "vocab::marks": {"vocab::alphabet"},
    "vocab::merge_boundaries": SHARED | {"vocab", "vocab::marks"},
    "regex": SHARED | {"util::classes"},
    "aligned_text": SHARED,
    "added_tokens": SHARED | {"aligned_text"},
    "normalize": SHARED | {"aligned_text", "vocab::byte_alphabet", "regex"},
    "pretokenize": SHARED
    | {"aligned_text", "vocab::byte_alphabet", "util::classes", "regex", "vocab::merge_boundaries"},
    "model": BASE,
    "encode": BASE | {"model", "pretokenize"},
    "postprocess": SHARED,
    "decode": BASE | {"normalize", "regex"},
    "documents": SHARED,
    "parallel": SHARED | {"pretokenize"},
    "tokenizer": BASE
    | {
        "aligned_text",
        "added_tokens",
        "normalize",
        "pretokenize",
        "model",
        "postprocess",
        "decode",
        "parallel",
        "encode",
    },
    "audit": BASE | {"aligned_text", "normalize", "pretokenize", "model", "tokenizer"},
    "train": BASE | {"util::classes", "aligned_text", "added_tokens", "normalize", "pretokenize", "parallel"},
    "format": BASE | {"model"},
    "sentencepiece": BASE | {"model", "normalize", "tokenizer", "format"},
}
# Rust names that must not occur in the core, because they give access to Python, files or the network.
FORBIDDEN = re.compile(r"\b(pyo3|std::fs|std::net|std::path)\b")


def package(module: str) -> str:
    """Returns the key of `MAY_USE` for the package that a module belongs to."""
    parts = module.split("::")
    return "::".join(parts[: 2 if parts[0] in ("util", "vocab") else 1])


def problems() -> list[str]:
    """Returns a line for every import that is not allowed, and every cycle."""
    found = []
    for path in sorted(CORE.rglob("*.rs")):
        for match in FORBIDDEN.finditer(re.sub(r"//.*", "", path.read_text(encoding="utf-8"))):
            found.append(f"{path.relative_to(ROOT)}: the core does not know {match[0]}")
    core = rust_graph()
    for module, imports in core.items():
        user = package(module)
        if user not in MAY_USE and module != "crate":
            found.append(f"{module}: no entry {user!r} in tools/check_layers.py")
            continue
        for used in sorted({package(other) for other in imports} - {user}):
            if module != "crate" and used not in MAY_USE[user]:
                found.append(f"{module}: {user} may not use {used}")
    for name, (graph, _) in GRAPHS.items():
        found += [f"import cycle ({name}): {', '.join(cycle)}" for cycle in cycles(graph())]
    if "pyo3" in (CORE.parent / "Cargo.toml").read_text(encoding="utf-8"):
        found.append("crates/jeton-core/Cargo.toml: the core does not know pyo3")
    return found


def main() -> int:
    """Prints violations; returns 1 if there are any."""
    found = problems()
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
