#!/usr/bin/env python3
"""Builds the playground that needs no server: run ``python tools/build_page.py OUT``, then serve OUT by any web server.

The page is that of ``jeton play``. A worker with the core as WebAssembly answers its requests, so a text never leaves
the browser. The default tokenizer is read when the page is opened. For each further tokenizer (option ``-t``), the
folder has a file, which is fetched when the tokenizer is selected.

The page is in a folder named by the version, such as ``OUT/0.1.0``, and ``OUT/index.html`` redirects to it. Later
versions are built beside it, so links to the earlier ones stay valid.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from page.bundle import bundle
from page.compiler import HOW_TO_GET, compile_core, find_toolchain
from page.data import engine_catalogs, engine_data

import jeton
from jeton.playground.catalog import Catalog
from jeton.util.language import LANGUAGES, read_catalog

ROOT = Path(__file__).parent.parent
STATIC = ROOT / "python" / "jeton" / "playground" / "static"
ENGINE = Path(__file__).parent / "page" / "engine"
LEADS = "<!-- leads to the newest version -->"
# The browser loads only files of the page's own folder.
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data: blob:; font-src 'self'; base-uri 'none'; form-action 'none'"
)


def main() -> int:
    """Builds the page and prints the sizes of its files; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("output", type=Path, metavar="OUT", help="folder of all versions; only OUT/VERSION is replaced")
    parser.add_argument("-t", dest="names", action="append", default=[], help="another vocabulary: a name or a file")
    parser.add_argument("--wasm", type=Path, help="a compiled core, instead of compiling it")
    parser.add_argument("--if-possible", action="store_true", help="succeed without a compiler, too, after a message")
    arguments = parser.parse_args()
    if arguments.if_possible and not arguments.wasm and find_toolchain() is None:
        print(f"the playground without a server is not built. {HOW_TO_GET}")
        return 0
    try:
        module = arguments.wasm.read_bytes() if arguments.wasm else compile_core()
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(build(version_folder(arguments.output), module, arguments.names)))
    lead_to_version(arguments.output)
    return 0


def version_folder(output: Path) -> Path:
    """Returns the folder of this version's page."""
    index = output / "index.html"
    if (
        output.exists()
        and any(output.iterdir())
        and not (index.exists() and LEADS in index.read_text(encoding="utf-8"))
    ):
        raise SystemExit(
            f"{output} is not empty, and has no versions of the page that were built before; name another folder"
        )
    return output / jeton.__version__


def lead_to_version(output: Path) -> None:
    """Writes `index.html`, which redirects to this version's page and passes on the state in the address."""
    script = f'location.replace("{jeton.__version__}/" + location.search + location.hash)'
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    _write(
        output / "index.html",
        f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-{allowed}'">
<title>Jeton: the playground</title>
{LEADS}<script>{script}</script>
<p><a href="{jeton.__version__}/">Jeton {jeton.__version__}</a></p>
</html>
""",
    )


def build(output: Path, module: bytes, names: list[str]) -> list[str]:
    """Writes the page; returns lines that state the sizes of its files.

    Args:
        output: folder of one version, which is replaced.
        module: the core as WebAssembly.
        names: further tokenizers, in any form that `jeton.load` takes.
    """
    if output.exists():
        if not (output / "engine").exists() and any(output.iterdir()):
            raise SystemExit(f"{output} is not empty, and not a page that was built before")
        shutil.rmtree(output)
    shutil.copytree(STATIC, output)
    for language in LANGUAGES:
        _write(output / f"strings.{language}.json", json.dumps(read_catalog("strings", language), ensure_ascii=False))

    catalog = Catalog(names, cached=False)
    tokenizers, vocabularies = [], 0
    # The default tokenizer is the first entry: the page opens with the first one, and fetches others when they are
    # selected.
    for entry in sorted(catalog.describe(), key=lambda entry: entry["key"] != "default"):
        packed = _packed(bundle(catalog.get(entry["key"])))
        name = f"{re.sub(r'[^A-Za-z0-9.-]+', '_', entry['key'])}.{_digest(packed)}.bin"
        _write(output / "vocabularies" / name, packed)
        vocabularies += len(packed)
        place = {"file": f"../../vocabularies/{name}", "bytes": len(packed)}
        facts = {fact: entry[fact] for fact in ("key", "name", "models")}
        # A path is shortened to the file name, because visitors of the page do not have the folders of this machine.
        source = entry["source"]
        here = Path(source).name if source and Path(source).exists() else source
        tokenizers.append({**facts, "source": here, **place})
    files = {file.name: file.read_bytes() for file in sorted(ENGINE.glob("*.js"))}
    files["data.json"] = _packed_json(engine_data(tokenizers))
    files |= {f"language.{language}.json": _packed_json(engine_catalogs(language)) for language in LANGUAGES}
    files["jeton.wasm"] = _packed(module)
    # The folder is named by a hash of its content, so a browser never combines files of two builds.
    folder = f"engine/{_digest(*files.values())}"
    for name, data in files.items():
        _write(output / folder / name, data)
    page = (output / "index.html").read_text(encoding="utf-8")
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="jeton-engine" content="{folder}/worker.js">\n'
    )
    page = page.replace('"jeton-version" content=""', f'"jeton-version" content="{jeton.__version__}"')
    before, mark, after = page.partition('<meta name="viewport"')
    _write(output / "index.html", f"{before}{head}{mark}{after}")

    sizes = [path.stat().st_size for path in output.rglob("*") if path.is_file()]
    first = next(each["bytes"] for each in tokenizers if each["key"] == "default")
    return [
        f"{len(sizes)} files, {sum(sizes):,} bytes: {output}",
        f"the core {len(files['jeton.wasm']):,} bytes, data {len(files['data.json']):,}, "
        f"the default vocabulary {first:,}, all {len(tokenizers)} vocabularies {vocabularies:,}",
    ]


def _packed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _packed_json(value: Any) -> bytes:
    return _packed(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()[:12]


def _write(path: Path, data: bytes | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


if __name__ == "__main__":
    sys.exit(main())
