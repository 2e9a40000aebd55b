"""Smoke test of an installed wheel: ``python -I tools/release/smoke.py``. It needs Jeton's core dependencies only.

It trains, saves, loads, encodes, decodes, counts on threads, explains and runs the command line, and checks that the
package was imported from the environment and that none of the imported modules needs an extra.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import jeton


def check(name: str, value: object, expected: object) -> None:
    """Exits with an error if a value is not the expected one."""
    if value != expected:
        sys.exit(f"smoke test: {name}: {value!r}, expected {expected!r}")


def main() -> None:
    """Runs all checks."""
    place = Path(jeton.__file__).resolve()
    if not place.is_relative_to(Path(sysconfig.get_path("platlib")).resolve()):
        sys.exit(f"smoke test: jeton was imported from {place}, which is not the environment")

    tok = jeton.train(["low lower lowest", "new newer newest"], vocab_size=264, pattern="gpt2", progress=False)
    check("ids", tok.encode("newest lower"), [258, 263, 259, 262])
    check("text", tok.decode([258, 263, 259, 262]), "newest lower")
    check("steps", "ne  rank 2, id 258" in str(tok.explain("new")), True)

    default = jeton.default()
    text = "Wörter, 单词, слова, 👩‍🔬 and def f(x): return x ** 2\n" * 2000
    check("round trip", default.decode(default.encode(text)), text)
    check("batch", [len(ids) for ids in default.encode_batch([text, "hi"])], [default.count(text), default.count("hi")])

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        tok.save(path)
        check("fingerprint", jeton.load(path).fingerprint, tok.fingerprint)

    command = [sys.executable, "-I", "-m", "jeton.cli", "encode", "--json", "-q", "hello"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    check("exit code", (done.returncode, done.stderr), (0, ""))
    check("ids of the command", json.loads(done.stdout)["ids"], default.encode("hello"))
    tag = "free-threaded" if sysconfig.get_config_var("Py_GIL_DISABLED") else "with the lock"
    print(f"smoke test passed: jeton {jeton.__version__}, Python {sys.version.split()[0]} ({tag}), {sys.platform}")


if __name__ == "__main__":
    main()
