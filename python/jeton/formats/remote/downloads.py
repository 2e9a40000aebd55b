"""Files of the registry: read from the cache, or else downloaded from their publisher.

A file is valid only if it has the hash that the registry pins, both in the cache and after a download. The cache can
therefore be shared or filled by hand, and a mirror is a cache folder served over HTTP. Concurrent downloads are safe:
each writes a temporary file and renames it.

Source: openai/tiktoken, tiktoken/load.py (names of files in its cache).
"""

from __future__ import annotations

import hashlib
import http.client
import ipaddress
import logging
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from ...errors import ConfigError, DownloadError
from ...util.atomic import write_atomically
from ...util.progress import Progress, ProgressEvent, make_reporter
from ..registry import REGISTRY, KnownRankFile

__all__ = ["cache_folder", "fetch_known", "find_known", "is_on"]

_LOG = logging.getLogger("jeton")

# Timeout of each network operation, in seconds; the whole download can take longer.
TIMEOUT_S = 30.0
# Maximum size of a file; the registry's largest file has 4 MB.
MAX_BYTES = 1 << 28
CHUNK_BYTES = 1 << 16


def is_on(variable: str) -> bool:
    """Reads a boolean environment variable, as huggingface_hub does."""
    return os.environ.get(variable, "").upper() in ("1", "ON", "YES", "TRUE")


def cache_folder() -> Path:
    """Returns the cache folder, which may not exist yet."""
    if own := os.environ.get("JETON_CACHE_DIR"):
        return Path(own).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "jeton"


def fetch_known(name: str, *, progress: Progress = None) -> Path:
    """Returns the file of a registered name; see `fetch`."""
    known = REGISTRY.get(name)
    if known is None:
        raise ConfigError(f"there is no tokenizer named {name!r}; names: {', '.join(REGISTRY)}", option="path_or_name")
    if (found := find_known(known)) is not None:
        return found
    target = _places(known)[0]
    url = _address(known)
    if is_on("JETON_OFFLINE"):
        raise _failure(known, url, target, "and JETON_OFFLINE disables downloads")
    data = _download(known, url, target, progress)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with write_atomically(target) as file:
            file.write(data)
    except OSError as error:
        # On Windows, the write fails if another program has the cached file open. This is fine if the file is valid.
        if not _holds(target, known):
            raise DownloadError(
                f"{known.name} was downloaded but cannot be cached: {target}: {error.strerror or error}; "
                "set JETON_CACHE_DIR to a writable folder",
                url=url,
                path=str(target),
            ) from error
    return target


def find_known(known: KnownRankFile) -> Path | None:
    """Returns the path of the cached file if it is valid, else None. Does not access the network."""
    return next((path for path in _places(known) if _holds(path, known)), None)


def _places(known: KnownRankFile) -> list[Path]:
    """Returns the paths at which the file is looked up; a download is written to the first path.

    The last path has the publisher's file name, for files that users copied there by hand.
    """
    own = [cache_folder() / _filename(known), cache_folder() / known.url.rpartition("/")[2]]
    # For tiktoken, an empty variable means "no cache". Jeton treats an empty variable as if it were not set, and uses
    # its own cache.
    shared = os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR")
    if not shared:
        return own
    # tiktoken's file name; SHA-1 is not used for security here
    return [Path(shared) / hashlib.sha1(known.url.encode(), usedforsecurity=False).hexdigest(), *own]


def _filename(known: KnownRankFile) -> str:
    """Returns the file name in the cache and on a mirror.

    The name contains a hash, because many files are called tokenizer.model.
    """
    stem, dot, suffix = known.url.rpartition("/")[2].rpartition(".")
    return f"{stem}-{known.sha256[:8]}{dot}{suffix}"


def _holds(path: Path, known: KnownRankFile) -> bool:
    """Tests whether the file exists and has the right hash; logs a warning if the hash differs."""
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        return False
    if hashlib.sha256(path.read_bytes()).hexdigest() == known.sha256:
        return True
    _LOG.warning("%s is ignored: its sha256 does not match that of %s", path, known.name)
    return False


def _address(known: KnownRankFile) -> str:
    """Returns the URL to download from.

    Raises:
        ConfigError: the URL of the mirror is not encrypted, which would expose the requested name. (The hash protects
            the content.)
    """
    mirror = os.environ.get("JETON_REGISTRY_URL")
    if not mirror:
        return known.url
    url = f"{mirror.rstrip('/')}/{_filename(known)}"
    if not _is_permitted(url):
        raise ConfigError(f"JETON_REGISTRY_URL={mirror!r} does not begin with https:// (or http://localhost)")
    return url


def _is_permitted(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and _is_this_machine(parts.hostname))


def _is_this_machine(host: str | None) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Handler that follows redirects to permitted URLs only."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if not _is_permitted(newurl):
            fp.close()
            raise urllib.error.URLError(f"the server redirects to {newurl}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _download(known: KnownRankFile, url: str, target: Path, progress: Progress) -> bytes:
    """Downloads the file and verifies its hash."""
    opener = urllib.request.build_opener(_Redirects)  # uses the proxies of the environment
    request = urllib.request.Request(url, headers={"User-Agent": "jeton"})  # noqa: S310 (checked by _address)
    data = bytearray()
    try:
        with make_reporter(progress) as report, opener.open(request, timeout=TIMEOUT_S) as answer:
            length = answer.headers.get("Content-Length", "")
            total = int(length) if length.isdecimal() and len(length) < 20 else None
            while chunk := answer.read(CHUNK_BYTES):
                data += chunk
                report(ProgressEvent("download", len(data), total, "B"))
                if len(data) > MAX_BYTES:
                    raise _failure(known, url, target, f"and the server sends more than {MAX_BYTES} bytes")
    except urllib.error.HTTPError as error:
        with error:
            raise _failure(known, url, target, f"and the server says {error.code} {error.reason}") from None
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, DownloadError):
            raise
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise _failure(known, url, target, f"and downloading it failed: {_words(reason)}") from None
    if total is not None and len(data) < total:
        raise _failure(known, url, target, f"and the download ended after {len(data)} of {total} bytes")
    digest = hashlib.sha256(data).hexdigest()
    if digest != known.sha256:
        raise _failure(
            known, url, target, f"and the server sent another file: sha256 {digest}, expected {known.sha256}"
        )
    return bytes(data)


def _words(reason: object) -> str:
    text = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
    return text or type(reason).__name__


def _failure(known: KnownRankFile, url: str, target: Path, why: str) -> DownloadError:
    return DownloadError(
        f"the file of {known.name!r} is not on this machine {why}. Download {url} where there is a network and put it "
        f"at {target}, or set JETON_CACHE_DIR to a folder that has {_filename(known)}",
        url=url,
        path=str(target),
    )
