"""Download of tokenizer files from repositories of the Hugging Face hub.

Only data files are downloaded: no code, weights or pickles. Each file is verified by the hash that the hub lists.
huggingface_hub (extra ``hub``) implements the protocol and the cache, which is shared with other programs.

The listing of each downloaded repository (commit, files, hashes) is cached with Jeton's own downloads. With this
listing, a revision that is a full commit hash needs no network access; in offline mode, no revision needs the network.

`remote_code` handles repositories whose tokenizer is code.

Left out: other types of repositories, folders inside them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import ConfigError, DownloadError, FormatError
from ...util.atomic import write_atomically
from ...util.optional import import_optional
from ..detection import MORE_TEMPLATES
from ..remote_code import SELF_CONTAINED, code_files, refuse_code
from .downloads import MAX_BYTES, TIMEOUT_S, cache_folder, is_on

__all__ = ["PREFIX", "fetch_repository", "hub_cache"]

_LOG = logging.getLogger("jeton")

PREFIX = "hf:"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
# Characters that git forbids in branch and tag names. They are rejected, because the hub's cache uses the revision as a
# path.
_NO_REVISION = re.compile(r"^/|\.\.|[\\:\s\0]")

_MORE_TEMPLATES = re.compile(rf"{MORE_TEMPLATES}/[^/]+\.jinja")

# files that are downloaded if there is no self-contained file
_PARTS = ("vocab.json", "merges.txt", "vocab.txt")
_PART_SUFFIXES = (".model", ".tiktoken")
# config.json is used only for its auto_map
_BESIDE = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "config.json",
)


class _RemoteFile(NamedTuple):
    """File in the hub's listing: its size, and the SHA-256 of its content (LFS) or git's blob hash."""

    size: int | None
    sha256: str | None
    git: str | None


class _RepositoryInfo(NamedTuple):
    commit: str
    files: dict[str, _RemoteFile]  # files to download
    code: list[str]  # Python files that define tokenizers


def fetch_repository(name: str) -> Path:
    """Returns the folder with the tokenizer files of ``hf:owner/name[@revision]``; see `fetch`."""
    repository, _, revision = name.removeprefix(PREFIX).partition("@")
    if _NAME.fullmatch(repository) is None or ".." in repository or "--" in repository:
        raise ConfigError(
            f"{name!r} is not the name of a repository; expected {PREFIX}owner/name[@revision]",
            option="path_or_name",
        )
    revision = revision or "main"
    if _NO_REVISION.search(revision):
        raise ConfigError(f"{revision!r} is not a branch, tag or commit", option="path_or_name")
    listing = _list(repository, revision)
    if listing is None:
        return _cached_by_others(repository, revision)
    if not any(file in SELF_CONTAINED + _PARTS or file.endswith(_PART_SUFFIXES) for file in listing.files):
        raise FormatError(f"{PREFIX}{repository} has no supported tokenizer file (at {listing.commit[:10]})")
    folder = _get(repository, listing)
    refuse_code(f"{PREFIX}{repository}", folder, listing.files, listing.code)
    return folder


# ── listing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _list(repository: str, revision: str) -> _RepositoryInfo | None:
    """Returns the listing of a revision; None if it is not cached and Jeton is offline."""
    record = _record(repository, revision)
    known = _read_record(record)
    if known is not None and (_COMMIT.fullmatch(revision) or _is_offline()):
        return known
    if _is_offline():
        return None
    hub = _library()
    try:
        info = hub.HfApi(endpoint=_endpoint(), library_name="jeton").model_info(
            repository, revision=revision, files_metadata=True, timeout=TIMEOUT_S
        )
    except Exception as error:
        status = _status(error)
        if known is None or status in (401, 403, 404):
            raise _failure(repository, revision, error) from error
        _LOG.warning("the hub does not respond (%s): %s%s from the cache", _first_line(error), PREFIX, repository)
        return known
    listing = _chosen(str(info.sha), info.siblings or [])
    _write_record(record, listing)
    return listing


def _chosen(commit: str, siblings: list[Any]) -> _RepositoryInfo:
    found = {
        file.rfilename: _RemoteFile(file.size, file.lfs.sha256 if file.lfs else None, file.blob_id) for file in siblings
    }
    whole = next((name for name in SELF_CONTAINED if name in found), None)
    names = [name for name in _BESIDE if name in found]
    if whole:
        names.append(whole)
    else:  # in the root folder only; files in subfolders belong to other components
        names += [name for name in found if "/" not in name and (name in _PARTS or name.endswith(_PART_SUFFIXES))]
    names += [name for name in found if _MORE_TEMPLATES.fullmatch(name)] if names else []
    if _COMMIT.fullmatch(commit) is None:
        raise FormatError(f"the hub sent an invalid commit: {commit[:50]!r}", format="hub")
    return _RepositoryInfo(commit, {name: found[name] for name in names}, code_files(found))


def _record(repository: str, revision: str) -> Path:
    key = "\n".join((_endpoint() or "", repository, revision))
    return cache_folder() / "hub" / f"{hashlib.sha256(key.encode()).hexdigest()[:40]}.json"


def _read_record(path: Path) -> _RepositoryInfo | None:
    try:
        facts = json.loads(path.read_bytes())
        files = {str(name): _RemoteFile(*file) for name, file in facts["files"].items()}
        return _RepositoryInfo(str(facts["commit"]), files, [*map(str, facts["code"])])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # missing or damaged: the caller gets a new listing


def _write_record(path: Path, listing: _RepositoryInfo) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with write_atomically(path) as file:
            file.write(json.dumps(listing._asdict()).encode())
    except OSError as error:  # the listing is needed only for later offline loads
        _LOG.warning("%s cannot be written (%s): a later load needs the network again", path, error.strerror or error)


# ── download ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _get(repository: str, listing: _RepositoryInfo) -> Path:
    hub = _library()
    options: dict[str, Any] = {"revision": listing.commit, "cache_dir": hub_cache()}
    paths = []
    for name, file in listing.files.items():
        if file.size is not None and file.size > MAX_BYTES:
            raise FormatError(f"{PREFIX}{repository}: {name} has {file.size} bytes, too large for a tokenizer")
        cached = hub.try_to_load_from_cache(repository, name, **options)
        path = Path(cached) if isinstance(cached, str) else None
        if path is not None and not _is_sound(path, file):
            if _is_offline():
                raise _failure(repository, listing.commit, None)
            _LOG.warning("%s is damaged, and is downloaded again", path)
            _remove(path)
            path = None
        paths.append(path or _download(repository, listing.commit, name, file, options))
    return paths[0].parent


def _download(repository: str, commit: str, name: str, file: _RemoteFile, options: dict[str, Any]) -> Path:
    if _is_offline():
        raise _failure(repository, commit, None)
    try:
        path = Path(
            _library().hf_hub_download(
                repository, name, **options, endpoint=_endpoint(), library_name="jeton", etag_timeout=TIMEOUT_S
            )
        )
    except Exception as error:
        raise _failure(repository, commit, error) from error
    if not _is_sound(path, file):
        _remove(path)
        raise DownloadError(
            f"{PREFIX}{repository}: the hash of the downloaded {name} differs from the one that the hub lists; the "
            "file was deleted. Try again later, or without a proxy or mirror",
            url=f"{_endpoint() or 'https://huggingface.co'}/{repository}",
            path=str(path),
        )
    return path


def _is_sound(path: Path, file: _RemoteFile) -> bool:
    """Tests whether the content has the hash that the hub lists."""
    data = path.read_bytes()
    if file.sha256 is not None:
        return hashlib.sha256(data).hexdigest() == file.sha256
    if file.git is not None:
        # git's blob hash
        named = b"blob %d\0" % len(data) + data
        return hashlib.sha1(named, usedforsecurity=False).hexdigest() == file.git
    return file.size in (None, len(data))


def _remove(path: Path) -> None:
    """Deletes a file from the hub's cache: the symbolic link, and the link's target if it is in the cache."""
    target = os.path.realpath(path)
    path.unlink(missing_ok=True)
    repository = next((folder.parent for folder in path.parents if folder.name == "snapshots"), path.parent)
    # Check where the link points, because other programs can write to the cache.
    if os.path.dirname(target) == os.path.realpath(repository / "blobs"):
        Path(target).unlink(missing_ok=True)


def _cached_by_others(repository: str, revision: str) -> Path:
    """In offline mode, returns the snapshot that another program has downloaded to the cache of huggingface_hub."""
    hub = _library()
    try:
        folder = Path(
            hub.snapshot_download(
                repository,
                revision=revision,
                cache_dir=hub_cache(),
                local_files_only=True,
                allow_patterns=[*SELF_CONTAINED, *_BESIDE, f"{MORE_TEMPLATES}/*.jinja"],
            )
        )
    except Exception as error:
        raise _failure(repository, revision, error) from error
    files = {entry.name for entry in folder.iterdir()}
    refuse_code(f"{PREFIX}{repository}", folder, files, code_files(files))
    return folder


# ── huggingface_hub ─────────────────────────────────────────────────────────────────────────────────────────────────


def _library() -> Any:
    return import_optional("huggingface_hub", "a tokenizer from the hub", "hub")


# Environment variables are read on each call, unlike in huggingface_hub, because a program can set them after the
# import.


def _is_offline() -> bool:
    return any(map(is_on, ("JETON_OFFLINE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")))


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT") or None


def hub_cache() -> str | None:
    """Returns the hub's cache folder from the environment, or None if huggingface_hub's default applies."""
    if cache := os.environ.get("HF_HUB_CACHE"):
        return os.path.expanduser(cache)
    home = os.environ.get("HF_HOME")
    return os.path.join(os.path.expanduser(home), "hub") if home else None


def _status(error: BaseException) -> int | None:
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _failure(repository: str, revision: str, error: BaseException | None) -> DownloadError:
    what = f"{PREFIX}{repository}" + ("" if revision == "main" else f"@{revision}")
    status = None if error is None else _status(error)
    kind = type(error).__name__
    if error is None or _is_offline():
        message = (
            f"{what} is not completely cached, and the network is off (JETON_OFFLINE, HF_HUB_OFFLINE). Load it once "
            "with network access, and copy the caches (HF_HOME, JETON_CACHE_DIR) here"
        )
    elif kind == "RevisionNotFoundError":
        message = f"{what} has no such revision. A revision is a branch, a tag or a commit"
    elif kind == "GatedRepoError" or status == 403:
        message = f"{what} is gated. Accept its conditions on the hub, and set HF_TOKEN or run `hf auth login`"
    elif status in (401, 404):
        message = (
            f"{what} does not exist, or is private. Check the spelling; for a private one set HF_TOKEN or run "
            "`hf auth login`"
        )
    else:
        message = (
            f"{what} cannot be downloaded: {_first_line(error)}. Try again; or download the tokenizer's files by "
            "other means and load their folder"
        )
    endpoint = _endpoint() or "https://huggingface.co"
    return DownloadError(message, url=f"{endpoint}/{repository}")
