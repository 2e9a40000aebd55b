"""Generates docs/parity.md: ids, decoded text and offsets of each vocabulary compared with its original library.

    JETON_TEST_DATA=… python tools/parity_table.py [--vocab NAME…] [--corpus NAME…] [--generated N] [--processes 2]
        [--out docs/parity.md] [--json FILE]

The result for each (vocabulary, corpus) is cached, so an interrupted run resumes. The cache key depends on Jeton's
code, the comparison's code and the versions of the compared libraries. So all results on a page are from the same code
and the same versions. The exit code is 4 if anything differs. On two idle cores, a run with 26 vocabularies, all
corpora and 100,000 generated strings takes twelve minutes. With a million generated strings, the run takes about twenty
minutes longer.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(Path(__file__).resolve().parent))
# Libraries get one thread in each process, because there are as many processes as usable cores.
os.environ.update(TOKENIZERS_PARALLELISM="false", RAYON_NUM_THREADS="1", HF_HUB_OFFLINE="1")

from parity.compare import DEEP, Refusal  # noqa: E402
from parity.peers import Peer  # noqa: E402

import jeton  # noqa: E402
from parity import catalog, job, page, texts  # noqa: E402

PEERS = ("tokenizers", "tiktoken", "sentencepiece", "mistral-common", "bpe-openai", "quicktok-v1")
DIFFERENT = 4
BEGUN = time.monotonic()


def main() -> int:
    """Compares the selected vocabularies and writes the page."""
    options = _options()
    data = _data_folder()
    cache = options.cache / _engine(options.generated)
    cache.mkdir(parents=True, exist_ok=True)
    vocabularies = [
        vocab
        for vocab in catalog.catalog(data)
        if not options.vocab or any(name in vocab.name for name in options.vocab)
    ]
    corpora = [name for name in page.COLUMNS if name in (options.corpus or page.COLUMNS)]
    jobs = [
        (vocab.name, data, corpora, options.generated, cache)
        for vocab in sorted(vocabularies, key=lambda vocab: -sum(file.stat().st_size for file in vocab.files))
        if vocab.same_as is None
    ]
    _say(f"{len(jobs)} vocabularies, {', '.join(corpora)}; results in {cache}")
    if options.processes == 1:
        for one in jobs:
            _job(*one)
    else:
        with ProcessPoolExecutor(options.processes, get_context("spawn"), max_tasks_per_child=1) as pool:
            for done in as_completed([pool.submit(_job, *one) for one in jobs]):
                done.result()
    facts, found = _facts(options.generated), _collected(vocabularies, corpora, cache)
    if options.json:
        options.json.write_text(json.dumps({"facts": facts, "vocabularies": found}, indent=1), "utf-8")
    options.out.write_text(page.render(facts, found), "utf-8")
    differ = sum(tally["differ"] for vocab in found for result in vocab["results"].values() for tally in result)
    refused = [vocab["name"] for vocab in found if vocab["error"] and not vocab["peer_errors"]]
    _say(f"{options.out}: {differ} differences; refused by us alone: {', '.join(refused) or 'none'}")
    return DIFFERENT if differ or refused else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--vocab", nargs="*", help="vocabularies whose name contains one of these (default: all)")
    parser.add_argument("--corpus", nargs="*", choices=page.COLUMNS, help="corpora (default: all)")
    parser.add_argument(
        "--generated", type=int, default=1_000_000, help="number of generated strings for each vocabulary"
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "parity.md")
    parser.add_argument("--json", type=Path, help="output file for all results as JSON")
    parser.add_argument("--cache", type=Path, default=ROOT / "target" / "parity", help="folder of cached results")
    return parser.parse_args()


def _data_folder() -> Path:
    folder = os.environ.get("JETON_TEST_DATA")
    if not folder:
        raise SystemExit("set JETON_TEST_DATA to the folder that holds vocabs/, corpora/ and udhr/")
    return Path(folder)


# ── one job ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _job(name: str, data: Path, corpora: list[str], generated: int, cache: Path) -> None:
    """Compares one vocabulary. Runs in a separate process, whose exit frees the memory."""
    missing = [corpus for corpus in corpora if not _stored(cache, name, corpus).exists()]
    about = _stored(cache, name, "about")
    if about.exists() and not missing:
        return
    vocab = next(vocab for vocab in catalog.catalog(data) if vocab.name == name)
    tok, opened = job.opened(vocab)
    peers = [peer for peer in opened if isinstance(peer, Peer)]
    failed = [str(peer) for peer in opened if isinstance(peer, Refusal)]
    refused = str(tok) if isinstance(tok, Refusal) else None
    _store(about, {"error": refused, "peer_errors": failed})
    if isinstance(tok, Refusal) or not peers:
        _say(f"{name}: refused: {refused} / {failed}")
        return
    for corpus in missing:
        started = time.monotonic()
        result = job.compare(tok, peers, data, corpus, generated, lambda what: None)
        _store(_stored(cache, name, corpus), result)
        bad = [f"{tally['check']} {tally['mode']} {tally['differ']}" for tally in result if tally["differ"]]
        refused = {tally["check"]: tally["refused"] for tally in result if tally["refused"]}
        strings = max(tally["compared"] for tally in result if tally["check"] == "ids")
        verdict = ("; DIFFER: " + ", ".join(bad) if bad else "") + (f"; we refuse {refused}" if refused else "")
        _say(f"{name} × {corpus}: {strings:,} strings in {time.monotonic() - started:.0f} s{verdict}")


def _stored(cache: Path, name: str, what: str) -> Path:
    safe = "".join(char if char.isalnum() or char in "._-" else "_" for char in name)
    return cache / f"{safe}--{what}.json"


def _store(path: Path, value: object) -> None:
    new = path.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(value), "utf-8")
    new.replace(path)


def _say(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


# ── all jobs ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _collected(vocabularies: list[catalog.Vocabulary], corpora: list[str], cache: Path) -> list[Mapping[str, Any]]:
    found = []
    for vocab in vocabularies:
        about = _stored(cache, vocab.name, "about")
        known = json.loads(about.read_text("utf-8")) if about.exists() else {"error": None, "peer_errors": []}
        results = {
            corpus: json.loads(path.read_text("utf-8"))
            for corpus in corpora
            if (path := _stored(cache, vocab.name, corpus)).exists()
        }
        found.append({"name": vocab.name, "same_as": vocab.same_as, **known, "results": results})
    return found


def _engine(generated: int) -> str:
    """Returns the cache key: a hash of the code, versions of compared libraries, and number of generated strings.

    The code is the files of the package (engine and Python modules) and of the comparison (`parity/` without
    `page.py`).
    """
    digest = hashlib.sha256(f"{generated} {list(_versions())}".encode())
    package = Path(jeton.__file__).parent
    files = [*package.glob("*.so"), *package.rglob("*.py"), *Path(__file__).parent.glob("parity/*.py")]
    for file in sorted(files):
        if file.name != "page.py":
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _facts(generated: int) -> dict[str, Any]:
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit.stdout.strip(),
        "engine": _engine(generated),
        "versions": list(_versions()),
        "generated": generated,
        "deep": min(DEEP, generated),
        "seed": texts.SEED,
    }


def _versions() -> Iterator[str]:
    for name in PEERS:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            yield f"without {name}"


if __name__ == "__main__":
    sys.exit(main())
