"""Keeps the arrows of ARCHITECTURE.md in the Rust core (import-linter keeps those in Python).

    python tools/check_layers.py

Each module of `jeton-core` may use only what stands below it, and siblings do not know each other. The binding is the
only crate that knows Python.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "crates" / "jeton-core"

# module -> the modules it may use
SHARED = {"alloc", "atomic_cell", "buffer_pool", "cancel", "error", "hash", "huge_pages", "simd", "spill"}
BASE = SHARED | {"alphabet", "byte_alphabet", "merge_boundaries", "utf8", "vocab"}
MAY_USE = {
    "alloc": {"error"},
    "error": set(),
    "hash": {"atomic_cell"},
    "cancel": {"error"},
    "spill": {"alloc", "error", "huge_pages"},
    "huge_pages": {"error"},
    "simd": {"atomic_cell"},
    "atomic_cell": set(),
    "buffer_pool": {"atomic_cell"},
    "utf8": {"simd", "buffer_pool"},
    "byte_alphabet": SHARED,
    "vocab": SHARED,
    "alphabet": SHARED | {"vocab"},
    "classes": SHARED,
    "merge_boundaries": SHARED | {"alphabet", "utf8", "vocab"},
    "regex": SHARED | {"classes"},
    "aligned_text": SHARED,
    "special": SHARED | {"aligned_text"},
    "normalize": SHARED | {"aligned_text", "byte_alphabet", "regex"},
    "pretokenize": SHARED | {"aligned_text", "byte_alphabet", "classes", "regex", "merge_boundaries"},
    "model": BASE,
    "encode": BASE | {"model", "pretokenize"},
    "postprocess": SHARED,
    "decode": BASE,
    "parallel": SHARED | {"pretokenize"},
    "jsonl": SHARED,
    "tokenizer": BASE
    | {"aligned_text", "special", "normalize", "pretokenize", "model", "postprocess", "decode", "parallel", "encode"},
    "train": BASE | {"classes", "aligned_text", "special", "normalize", "pretokenize", "parallel"},
    "format": BASE | {"model"},
}
# What the core must never name: Python, files and the network.
FORBIDDEN = re.compile(r"\b(pyo3|std::fs|std::net|std::path)\b")


def modules() -> dict[str, list[Path]]:
    """Top-level module -> its files."""
    found: dict[str, list[Path]] = {}
    for path in sorted((CORE / "src").rglob("*.rs")):
        top = path.relative_to(CORE / "src").parts[0].removesuffix(".rs")
        found.setdefault(top, []).append(path)
    return found


def problems() -> list[str]:
    """Every arrow that points the wrong way."""
    found = []
    for module, paths in modules().items():
        for path in paths:
            text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
            name = path.relative_to(ROOT)
            for match in FORBIDDEN.finditer(text):
                found.append(f"{name}: the core does not know {match[0]}")
            if module == "lib":
                continue
            if module not in MAY_USE:
                found.append(f"{name}: the module {module!r} has no place in tools/check_layers.py")
                continue
            for used in re.findall(r"\bcrate::(\w+)", text):
                if used != module and used not in MAY_USE[module]:
                    found.append(f"{name}: {module} may not use {used}")
    if "pyo3" in (CORE / "Cargo.toml").read_text(encoding="utf-8"):
        found.append("crates/jeton-core/Cargo.toml: the core does not know pyo3")
    return found


def main() -> int:
    """Prints what is wrong."""
    found = problems()
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
