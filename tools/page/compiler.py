"""Compilation of the core to WebAssembly, with an installed toolchain."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

__all__ = ["HOW_TO_GET", "compile_core", "find_toolchain", "is_current", "module_path", "tools_folder"]

ROOT = Path(__file__).parent.parent.parent
TARGET = "wasm32-unknown-unknown"
HOW_TO_GET = (
    f"The core is compiled for {TARGET}: run `rustup target add {TARGET}`; or, on Debian, tools/setup_tools.sh, which "
    "unpacks a compiler with the sources of its standard library."
)
# SIMD is supported by all current browsers: Chrome 91, Firefox 89, Safari 16.4 (March 2023).
FEATURES = "-C target-feature=+simd128"


def tools_folder() -> Path:
    """Returns the folder into which `tools/setup_tools.sh` installs programs."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("JETON_TOOLS") or Path(cache) / "jeton-tools")


def find_toolchain() -> tuple[list[str], dict[str, str]] | None:
    """Returns options and environment of ``cargo build`` for WebAssembly; None if there is no toolchain."""
    environment = {"RUSTFLAGS": FEATURES}
    try:
        library = _output("rustc", "--print", "target-libdir", "--target", TARGET)
    except (OSError, subprocess.CalledProcessError):
        return None
    if Path(library).exists():
        return [], environment
    unpacked = tools_folder() / "wasm" / "usr"
    compiler, sources = unpacked / "bin" / "rustc", unpacked / "lib" / "rustlib" / "src" / "rust" / "library"
    linkers = sorted(Path(_output("rustc", "--print", "sysroot")).glob("lib/rustlib/*/bin/rust-lld"))
    if not (compiler.exists() and sources.exists() and linkers):
        return None
    environment |= {
        "RUSTC": str(compiler),
        "RUSTC_BOOTSTRAP": "1",  # permits -Z options, with which the standard library is compiled, too
        "LD_LIBRARY_PATH": str(next(unpacked.glob("lib/*/libLLVM*")).parent),
        f"CARGO_TARGET_{TARGET.upper().replace('-', '_')}_LINKER": str(linkers[0]),
    }
    return ["-Z", "build-std=std,panic_abort"], environment


def compile_core() -> bytes:
    """Compiles the core; returns the WebAssembly module.

    Raises:
        RuntimeError: there is no toolchain, or the compilation fails; the message has a remedy.
    """
    toolchain = find_toolchain()
    if toolchain is None:
        raise RuntimeError(HOW_TO_GET)
    options, environment = toolchain
    command = [
        "cargo",
        "build",
        "--locked",
        "--package",
        "jeton-wasm",
        "--lib",
        "--profile",
        "page",
        "--target",
        TARGET,
    ]
    done = subprocess.run([*command, *options], cwd=ROOT, env=os.environ | environment, check=False)
    if done.returncode:
        raise RuntimeError("cargo cannot compile the core; its messages are above")
    return module_path().read_bytes()


def module_path() -> Path:
    """Returns the path to which `compile_core` writes the module."""
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    return target / TARGET / "page" / "jeton_wasm.wasm"


def is_current() -> bool:
    """Tests whether the module exists and is newer than its sources."""
    module = module_path()
    sources = [path for crate in ("jeton-core", "jeton-wasm") for path in (ROOT / "crates" / crate).rglob("*.rs")]
    return module.exists() and module.stat().st_mtime >= max(path.stat().st_mtime for path in sources)


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
