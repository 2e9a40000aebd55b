#!/usr/bin/env python3
"""Collects the licenses of the crates in the extension module, for `THIRD_PARTY_LICENSES.txt` in the wheel.

``python tools/release/licenses.py`` writes the file, ``--check`` compares it with the crates of `Cargo.lock`. The
crates are the normal dependencies of `jeton-python` on every released platform; build scripts and procedural macros are
not in the binary, so they are left out. For a crate without a license file, the name of its license is written.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from wheel import PLATFORMS, ROOT

FILE = ROOT / "THIRD_PARTY_LICENSES.txt"
NAMES = ("license", "licence", "copying", "unlicense", "notice", "copyright")
HEADER = """\
The extension module of Jeton contains these crates, and the standard library of Rust (MIT or Apache-2.0,
https://www.rust-lang.org/policies/licenses). Their licenses follow, equal texts once. tools/release/licenses.py makes
this file.

"""


def main() -> int:
    """Writes the file of licenses, or compares it with the present one; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="compare only")
    text = collect()
    if parser.parse_args().check:
        same = FILE.exists() and FILE.read_text(encoding="utf-8") == text
        print(f"{FILE.name} is {'current' if same else 'outdated: run tools/release/licenses.py'}")
        return int(not same)
    FILE.write_text(text, encoding="utf-8")
    print(f"{FILE.name}: {len(text):,} characters")
    return 0


def collect() -> str:
    """Returns the text of `THIRD_PARTY_LICENSES.txt`."""
    crates: dict[str, dict[str, Any]] = {}
    for target, _ in PLATFORMS.values():
        crates |= linked(metadata(target))
    texts: dict[str, int] = {}  # text of a license -> its number
    parts = [HEADER]
    for _, crate in sorted(crates.items()):
        folder = Path(crate["manifest_path"]).parent
        files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.lower().startswith(NAMES))
        numbers = [texts.setdefault(normalized(path), len(texts) + 1) for path in files]
        listed = f"; texts {', '.join(map(str, numbers))}" if numbers else ""
        parts.append(f"{crate['name']} {crate['version']}: {crate['license']}{listed}\n")
    parts += [f"\n{f' text {number} ':=^100}\n\n{text}\n" for text, number in texts.items()]
    return "".join(parts)


def metadata(target: str) -> dict[str, Any]:
    """Returns the resolved dependencies for a target."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def linked(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the crates that are linked into the extension: name and version → package."""
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    queue = [key for key, package in packages.items() if package["name"] == "jeton-python"]
    seen: set[str] = set()
    while queue:
        key = queue.pop()
        if key in seen or any("proc-macro" in target["kind"] for target in packages[key]["targets"]):
            continue
        seen.add(key)
        for dependency in nodes[key]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                queue.append(dependency["pkg"])
    members = set(found["workspace_members"])
    return {f"{packages[key]['name']} {packages[key]['version']}": packages[key] for key in seen - members}


def normalized(path: Path) -> str:
    """Returns a license with Unix line ends and without trailing white space."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(line.rstrip() for line in lines).strip("\n")


if __name__ == "__main__":
    sys.exit(main())
