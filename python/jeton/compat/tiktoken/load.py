"""Reads and writes rank files, with tiktoken's cache.

    TIKTOKEN_CACHE_DIR, else DATA_GYM_CACHE_DIR    folder of the cache; an empty value disables the cache
    neither is set                                 data-gym-cache in the temporary folder

The name of a file in the cache is the SHA-1 of its URL. A file with a wrong SHA-256 is removed and read again.

Source: openai/tiktoken, tiktoken/load.py (behavior).
"""

from __future__ import annotations

import binascii
import contextlib
import os
from functools import partial
from operator import itemgetter, methodcaller
from typing import Any

from ..._core import spell_bytes
from ...errors import FormatError
from ...util.atomic import write_atomically
from .ranks import RankFile

__all__ = [
    "cached_path",
    "check_hash",
    "data_gym_to_mergeable_bpe_ranks",
    "dump_tiktoken_bpe",
    "load_tiktoken_bpe",
    "read_file",
    "read_file_cached",
    "read_rank_file",
]

_TIMEOUT_S = 60.0  # timeout in seconds of each network operation
_OTHER_TOKENS = (b"<|endoftext|>", b"<|startoftext|>")  # tokens of an encoder.json that no merge creates


def read_file(blobpath: str) -> bytes:
    """Reads a file: a path, a URL of http or https, or a URL that the package `blobfile` reads.

    Raises:
        OSError: the file cannot be read.
        ImportError: `blobfile` is not installed.
    """
    if "://" not in blobpath:
        with open(blobpath, "rb") as file:
            return file.read()
    if blobpath.startswith(("http://", "https://")):
        from urllib.request import urlopen

        with urlopen(blobpath, timeout=_TIMEOUT_S) as answer:  # noqa: S310 (http and https only)
            data: bytes = answer.read()
        return data
    content: bytes = _blobfile().read_bytes(blobpath)
    return content


def check_hash(data: bytes, expected_hash: str) -> bool:
    """Tests whether the SHA-256 of the data is equal to the expected one, in hexadecimal.

    Examples:
        >>> check_hash(b"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        True
    """
    from hashlib import sha256  # imported on use: with OpenSSL, the import takes as long as loading an encoding

    return sha256(data).hexdigest() == expected_hash


def cached_path(blobpath: str) -> str | None:
    """Returns the path of a file in the cache, even if the file does not exist; None if there is no cache."""
    from hashlib import sha1

    folder = _cache_folder()[0]
    name = sha1(blobpath.encode(), usedforsecurity=False).hexdigest()
    return os.path.join(folder, name) if folder else None


def read_file_cached(blobpath: str, expected_hash: str | None = None) -> bytes:
    """Reads a file through the cache.

    Args:
        blobpath: as for `read_file`.
        expected_hash: SHA-256 in hexadecimal.

    Raises:
        ValueError: the content has another hash.
        OSError: the file cannot be read; or the cache folder is set by an environment variable and cannot be written.
    """
    path = cached_path(blobpath)
    if path is None:
        return read_file(blobpath)
    if os.path.exists(path):
        data = read_file(path)
        if expected_hash is None or check_hash(data, expected_hash):
            return data
        with contextlib.suppress(OSError):
            os.remove(path)
    data = read_file(blobpath)
    if expected_hash and not check_hash(data, expected_hash):
        raise ValueError(f"{blobpath}: the SHA-256 of the content is not {expected_hash}; download it again")
    folder, is_chosen = _cache_folder()
    try:
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103 (pathlib is not imported)
        with write_atomically(path) as file:
            file.write(data)
    except OSError:
        if is_chosen:
            raise
    return data


def load_tiktoken_bpe(tiktoken_bpe_file: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """Reads a rank file.

    Args:
        tiktoken_bpe_file: as for `read_file`.
        expected_hash: SHA-256 in hexadecimal.

    Returns:
        Token -> rank, in the order of the file.

    Raises:
        ValueError: a line is not a token in base64 and a rank.
    """
    data = read_file_cached(tiktoken_bpe_file, expected_hash)
    try:
        return RankFile.read(data).ranks
    except FormatError:  # the core's parser is stricter than tiktoken's
        return _lenient(data, tiktoken_bpe_file)


def read_rank_file(url: str, sha256: str) -> RankFile:
    """Reads a rank file like `load_tiktoken_bpe`, but into the core instead of a dict."""
    return RankFile.read(read_file_cached(url, sha256))


def _lenient(data: bytes, source: str) -> dict[bytes, int]:
    """Parses a rank file as tiktoken does: any white space separates token and rank, and `int` parses the rank."""
    from base64 import b64decode

    ranks = {}
    for line in filter(None, data.splitlines()):
        try:
            token, rank = line.split()
            ranks[b64decode(token)] = int(rank)
        except Exception as error:
            raise ValueError(f"{source}: {line!r} is not a token in base64 and a rank") from error
    return ranks


def dump_tiktoken_bpe(bpe_ranks: dict[bytes, int], tiktoken_bpe_file: str) -> None:
    """Writes a rank file, in the order of the ranks.

    Args:
        bpe_ranks: token -> rank.
        tiktoken_bpe_file: a path, or a URL that the package `blobfile` writes.

    Examples:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/h.tiktoken"
        >>> dump_tiktoken_bpe({b"i": 1, b"h": 0}, path)
        >>> read_file(path)
        b'aA== 0\\naQ== 1\\n'
    """
    rows = sorted(bpe_ranks.items(), key=itemgetter(1))
    spelled = map(partial(binascii.b2a_base64, newline=False), map(itemgetter(0), rows))
    lines = map(b"%b %d\n".__mod__, zip(spelled, map(itemgetter(1), rows), strict=True))
    opened = _blobfile().BlobFile if "://" in tiktoken_bpe_file else open
    with opened(tiktoken_bpe_file, "wb") as file:
        file.write(b"".join(lines))


def data_gym_to_mergeable_bpe_ranks(
    vocab_bpe_file: str,
    encoder_json_file: str,
    vocab_bpe_hash: str | None = None,
    encoder_json_hash: str | None = None,
    clobber_one_byte_tokens: bool = False,
) -> dict[bytes, int]:
    """Reads GPT-2's pair of files.

    Args:
        vocab_bpe_file: the merges.
        encoder_json_file: token -> id, in GPT-2's byte alphabet.
        vocab_bpe_hash: SHA-256 of the merges.
        encoder_json_hash: SHA-256 of the ids.
        clobber_one_byte_tokens: whether the ids of single bytes are taken from the second file.

    Returns:
        Token -> rank: the single bytes, and the merges in their order.

    Raises:
        AssertionError: the two files disagree.
        KeyError: a character is not in the byte alphabet.
    """
    import json

    merges = read_file_cached(vocab_bpe_file, vocab_bpe_hash).decode().split("\n")[1:-1]
    pairs = list(map(str.split, merges))
    if not set(map(len, pairs)) <= {2}:
        raise ValueError(f"{vocab_bpe_file}: a line does not have two symbols")
    alphabet = sorted(range(256), key=lambda byte: ord(spell_bytes(bytes([byte]))))  # printable bytes are first
    tokens = [bytes([byte]) for byte in alphabet] + _unspelled(map("".join, pairs))
    ranks = dict(zip(tokens, range(len(tokens)), strict=True))
    spelled: dict[str, Any] = json.loads(read_file_cached(encoder_json_file, encoder_json_hash))
    encoder = dict(zip(_unspelled(spelled), spelled.values(), strict=True))
    for token in _OTHER_TOKENS:
        encoder.pop(token, None)
    if clobber_one_byte_tokens:
        ranks.update((token, id) for token, id in encoder.items() if len(token) == 1)
    if ranks != encoder:
        raise AssertionError(f"{vocab_bpe_file} and {encoder_json_file} have different tokens or ranks")
    return ranks


def _unspelled(tokens: Any) -> list[bytes]:
    """Converts tokens in GPT-2's byte alphabet to bytes.

    Raises:
        KeyError: a character is not in the alphabet.
    """
    letters = {ord(spell_bytes(bytes([byte]))): byte for byte in range(256)}
    table = dict.fromkeys(range(256), "\uffff") | letters  # other characters become U+FFFF, which Latin-1 cannot encode
    try:
        return list(map(methodcaller("encode", "latin-1"), map(methodcaller("translate", table), tokens)))
    except UnicodeEncodeError as error:
        raise KeyError(error.object[error.start]) from None


def _cache_folder() -> tuple[str, bool]:
    """Returns the folder of the cache, and whether an environment variable sets it."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return os.environ[variable], True
    import tempfile

    return os.path.join(tempfile.gettempdir(), "data-gym-cache"), False


def _blobfile() -> Any:
    try:
        import blobfile
    except ImportError as error:
        raise ImportError("URLs that are neither http nor https need blobfile: pip install blobfile") from error
    return blobfile
