#!/usr/bin/env python3
"""Checks built wheels: size, tag, contents, licenses, exported symbols, machine-specific paths, unfilled placeholders.

``python tools/release/check_wheel.py dist/*.whl`` prints a line for each wheel and for each finding. The exit code is 1
if there are findings. For manylinux wheels it also runs ``auditwheel show``, which must report the tag in the file's
name. Linux wheels need auditwheel (with pyelftools).
"""

from __future__ import annotations

import argparse
import io
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MAX_BYTES = 12 * 1024 * 1024
LICENSES = ("LICENSE", "NOTICE", "THIRD_PARTY_LICENSES.txt")
LIBRARY = re.compile(r"jeton/_core(\.abi3|\.cp\d+t?-[\w-]+|\.cpython-\d+t?-[\w-]+)?\.(so|pyd)")
# Absolute paths of sources and home folders. The regex requires a name after a prefix such as `/home/`. A prefix with
# no name after it is allowed: it is a string constant of `jeton audit`, which searches for such prefixes.
# `/rustc/<hash>` is allowed too, since the standard library's binaries contain it.
MACHINE_PATHS = re.compile(rb"(?:/home/|/root/|/Users/|/tmp/|/runner/|[A-Z]:\\(?:Users|a)\\)\w[\w./\\-]{2,60}")


def main() -> int:
    """Checks the wheels of the command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("wheels", nargs="+", type=Path)
    failed = False
    for wheel in parser.parse_args().wheels:
        findings = list(check(wheel))
        failed |= bool(findings)
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, {len(findings)} findings")
        print("".join(f"  {finding}\n" for finding in findings), end="")
    return int(failed)


def check(wheel: Path) -> Iterator[str]:
    """Yields the findings of a wheel."""
    if wheel.stat().st_size > MAX_BYTES:
        yield f"larger than {MAX_BYTES:,} bytes"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        libraries = [name for name in names if LIBRARY.fullmatch(name)]
        if len(libraries) != 1:
            yield f"expected one extension module, found {libraries}"
        for name in LICENSES:
            if not any(re.search(rf"\.dist-info/licenses/{re.escape(name)}$", other) for other in names):
                yield f"has no {name}"
        for name in ("jeton/py.typed", "jeton/_core.pyi", "jeton/formats/default.tiktoken.gz"):
            if name not in names:
                yield f"has no {name}"
        for name in names:
            if re.search(r"__pycache__|/tests?/|\.rs$|\.DS_Store", name):
                yield f"contains {name}"
            content = archive.read(name)
            yield from machine_paths(name, content)
            yield from placeholders(name, content)
        if libraries and "linux" in wheel.name:
            yield from symbols(archive.read(libraries[0]))
        if libraries and "musllinux" in wheel.name:
            yield from needed_besides_musl(archive.read(libraries[0]))
    if "manylinux" in wheel.name:
        yield from audit(wheel)


def machine_paths(name: str, content: bytes) -> Iterator[str]:
    """Yields a finding if a file contains paths of this machine.

    The extension module and the wheel's metadata are also searched for paths of other machines.
    """
    found = {path for path in (os.fsencode(ROOT), os.fsencode(Path.cwd())) if path in content}
    if LIBRARY.fullmatch(name) or ".dist-info/" in name:
        found |= {match[0] for match in MACHINE_PATHS.finditer(content)}
    if found:
        shown = sorted(path.decode(errors="replace") for path in found)
        yield f"{name} contains {len(found)} paths of a machine: {', '.join(shown[:5])}"


def placeholders(name: str, content: bytes) -> Iterator[str]:
    """Yields addresses in the metadata that are still placeholders."""
    if name.endswith(".dist-info/METADATA"):
        headers = content.decode().partition("\n\n")[0]
        for line in re.findall(r"(?m)^(?:Project-URL|Home-page|Download-URL): .*$", headers):
            if re.search(r"example\.|OWNER|ORGANIZATION|USERNAME|TODO|placeholder", line, re.IGNORECASE):
                yield f"{name} has a placeholder: {line}"


def symbols(library: bytes) -> Iterator[str]:
    """Yields the symbols that a Linux extension exports besides its entry point."""
    from elftools.elf.elffile import ELFFile

    table = ELFFile(io.BytesIO(library)).get_section_by_name(".dynsym")
    exported = {
        symbol.name
        for symbol in (table.iter_symbols() if table else ())
        if symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["bind"] in ("STB_GLOBAL", "STB_WEAK")
    }
    if exported != {"PyInit__core"}:
        yield f"exports {sorted(exported)[:10]}, expected PyInit__core alone"


def needed_besides_musl(library: bytes) -> Iterator[str]:
    """Yields a finding if an extension for musl needs shared libraries other than musl's own.

    Versions of symbols are not checked, because musl's symbols have none. auditwheel cannot check such wheels on a
    machine with glibc's headers: it mistakes glibc's `libc.so`, which is a linker script, for musl's library.
    """
    from elftools.elf.elffile import ELFFile

    section = ELFFile(io.BytesIO(library)).get_section_by_name(".dynamic")
    needed = {tag.needed for tag in (section.iter_tags("DT_NEEDED") if section else ())}
    if needed != {"libc.so"}:
        yield f"needs {sorted(needed)}, expected libc.so of musl alone"


def audit(wheel: Path) -> Iterator[str]:
    """Yields a finding if auditwheel does not grant the tag in the file's name."""
    command = [sys.executable, "-m", "auditwheel", "show", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    granted = granted_tag(done.stdout)
    claimed = wheel.stem.rpartition("-")[2].split(".")
    if done.returncode or granted is None:
        yield f"auditwheel: {(done.stdout + done.stderr).strip()[-300:]}"
    elif granted not in claimed:
        yield f"auditwheel grants {granted}, the name claims {claimed}"
    else:
        print(f"  auditwheel: {granted}")


def granted_tag(report: str) -> str | None:
    """Returns the platform tag that auditwheel grants.

    The regex is specific, because auditwheel's report also quotes the tags in the wheel's file name.
    """
    found = re.search(r'following\s+platform\s+tag:\s+"([^"]+)"', report)
    return found[1] if found else None


if __name__ == "__main__":
    sys.exit(main())
