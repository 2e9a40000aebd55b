"""Adapters of peer libraries for three operations: strings → ids, ids → text, and Hugging Face's offsets.

A `Mode` is one way of calling a library, together with the corresponding options of Jeton. Results of peers are not
corrected. If the ids of two libraries differ by a known rule (as fairseq's and SentencePiece's do), the rule is applied
to the peer's ids, and the name of the mode states it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

__all__ = [
    "Mode",
    "Peer",
    "bert",
    "bpe_openai",
    "fairseq",
    "hugging_face",
    "hugging_face_pair",
    "mistral",
    "published",
    "quicktok",
    "sentencepiece",
    "tiktoken",
    "tiktoken_after_nfc",
]

Lists = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Mode:
    """One way of encoding with a peer.

    Attributes:
        name: name in the table.
        encode: batch of strings -> ids, by the peer.
        special, template: the options with which Jeton encodes in the same way.
    """

    name: str
    encode: Callable[[list[str]], Lists]
    special: Literal["none", "all"] = "none"
    template: bool = False


@dataclass(frozen=True)
class Peer:
    """A library with a vocabulary that it has loaded.

    Attributes:
        library: name and version of the library.
        modes: ways of encoding.
        decode: skip_special_tokens -> function that decodes a batch of ids to texts. This is independent of the modes.
        details: (texts, pairs or None, add_special_tokens) -> Hugging Face's `Encoding`s; None for other libraries.
    """

    library: str
    modes: tuple[Mode, ...]
    decode: Mapping[bool, Callable[[list[list[int]]], list[str]]] = field(default_factory=dict)
    details: Callable[[list[str], list[str] | None, bool], list[Any]] | None = None


# ── tiktoken and similar libraries ────────────────────────────────────────────────────────────────────────────────


def published(name: str) -> tuple[str, dict[str, int]]:
    """Returns an encoding's pattern and special tokens, as the installed tiktoken publishes them; fetches no file."""
    from unittest import mock

    from tiktoken_ext import openai_public

    nothing: Callable[..., dict[bytes, int]] = lambda *_, **__: {}  # noqa: E731
    with (
        mock.patch.object(openai_public, "load_tiktoken_bpe", nothing),
        mock.patch.object(openai_public, "data_gym_to_mergeable_bpe_ranks", nothing),
    ):
        facts = getattr(openai_public, name)()
    return facts["pat_str"], dict(facts["special_tokens"])


def tiktoken(ranks: dict[bytes, int], pattern: str, special_tokens: dict[str, int]) -> Peer:
    """Returns tiktoken with these ranks."""
    import tiktoken as library

    peer = library.Encoding("compared", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special_tokens)
    return Peer(
        f"tiktoken {version('tiktoken')}",
        (
            Mode("encode_ordinary", lambda texts: peer.encode_ordinary_batch(texts, num_threads=1)),
            Mode(
                'allowed_special="all"',
                lambda texts: peer.encode_batch(texts, num_threads=1, allowed_special="all"),
                special="all",
            ),
        ),
        {False: lambda batch: [peer.decode(ids) for ids in batch]},
    )


def tiktoken_after_nfc(ranks: dict[bytes, int], pattern: str, special_tokens: dict[str, int]) -> Peer:
    """Returns tiktoken for texts that Hugging Face's NFC normalizes first, as in Qwen's original tokenizers.

    The Unicode table of Hugging Face is older than others, so its NFC orders some marks differently. Special tokens are
    matched before normalization, as in Hugging Face's library.
    """
    from tokenizers.normalizers import NFC

    peer, nfc = tiktoken(ranks, pattern, {}), NFC()
    ordinary = peer.modes[0].encode
    spelled = "|".join(re.escape(token) for token in sorted(special_tokens, key=len, reverse=True))

    def plain(texts: list[str]) -> Lists:
        return ordinary([nfc.normalize_str(text) for text in texts])

    def special(texts: list[str]) -> Lists:
        split = [re.split(f"({spelled})", text) for text in texts]  # every second part is a special token
        # All texts are passed in a single call, because every call starts a thread.
        ids = iter(plain([part for parts in split for part in parts[::2]]))
        found: list[list[int]] = []
        for parts in split:
            found.append([*next(ids)])
            for token in parts[1::2]:
                found[-1] += [special_tokens[token], *next(ids)]
        return found

    modes = (Mode("NFC, ordinary", plain), Mode("special tokens, NFC, ordinary", special, special="all"))
    return Peer(f"{peer.library} after tokenizers {version('tokenizers')}", modes)


def bpe_openai(name: str) -> Peer:
    """Returns the encoding with that name in the wheel of bpe-openai."""
    import bpe_openai as library

    peer = library.get_encoding(name)
    return Peer(
        f"bpe-openai {version('bpe-openai')}",
        (Mode("encode_ordinary", lambda texts: [peer.encode_ordinary(text) for text in texts]),),
    )


def quicktok(name: str) -> Peer:
    """Returns the encoding with that name in the wheel of quicktok-v1."""
    import quicktok as library

    peer = library.get_encoding(name)

    def encode(special: bool) -> Callable[[list[str]], Lists]:
        def batch(texts: list[str]) -> Lists:
            ids, offsets = peer.encode_batch(texts, 1, special)
            return [ids[start:end] for start, end in pairwise(offsets)]

        return batch

    return Peer(
        f"quicktok-v1 {version('quicktok-v1')}",
        (
            Mode("with_special=False", encode(False)),
            Mode("with_special=True", encode(True), special="all"),
        ),
        {False: lambda batch: [peer.decode(ids) for ids in batch]},
    )


def mistral(path: Path) -> Peer:
    """Returns mistral-common's Tekkenizer."""
    from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    peer = Tekkenizer.from_file(path)
    policies = {False: SpecialTokenPolicy.KEEP, True: SpecialTokenPolicy.IGNORE}
    return Peer(
        f"mistral-common {version('mistral-common')}",
        (
            Mode("bos=False", lambda texts: [peer.encode(text, bos=False, eos=False) for text in texts]),
            Mode("bos=True", lambda texts: [peer.encode(text, bos=True, eos=False) for text in texts], template=True),
        ),
        {
            skip: lambda batch, policy=policy: [peer.decode(ids, special_token_policy=policy) for ids in batch]  # type: ignore[misc]
            for skip, policy in policies.items()
        },
    )


# ── Hugging Face ──────────────────────────────────────────────────────────────────────────────────────────────────


def _of(peer: Any, modes: Sequence[bool] = (False, True)) -> Peer:
    """Returns a peer for a `tokenizers.Tokenizer`."""

    def encode(template: bool) -> Callable[[list[str]], Lists]:
        return lambda texts: [got.ids for got in peer.encode_batch_fast(texts, add_special_tokens=template)]

    def details(texts: list[str], pairs: list[str] | None, template: bool) -> list[Any]:
        given = texts if pairs is None else list(zip(texts, pairs, strict=True))
        return list(peer.encode_batch(given, add_special_tokens=template))

    return Peer(
        f"tokenizers {version('tokenizers')}",
        tuple(
            Mode(f"add_special_tokens={template}", encode(template), special="all", template=template)
            for template in modes
        ),
        {
            skip: lambda batch, skip=skip: list(peer.decode_batch(batch, skip_special_tokens=skip))  # type: ignore[misc]
            for skip in (False, True)
        },
        details,
    )


def hugging_face(path: Path) -> Peer:
    """Loads a tokenizer.json in the library `tokenizers`, and disables padding and truncation."""
    from tokenizers import Tokenizer

    peer = Tokenizer.from_file(str(path))
    peer.no_padding()
    peer.no_truncation()
    return _of(peer)


def hugging_face_pair(vocab: Path, merges: Path) -> Peer:
    """Returns a tokenizer of `tokenizers` that reads GPT-2's two files itself, and adds no space before a text."""
    from tokenizers import AddedToken
    from tokenizers.implementations import ByteLevelBPETokenizer

    peer = ByteLevelBPETokenizer(str(vocab), str(merges), add_prefix_space=False, trim_offsets=False)
    peer.add_special_tokens([AddedToken("<|endoftext|>", special=True)])
    return _of(peer._tokenizer)


def bert(vocab: Path) -> Peer:
    """Returns a lower-casing BERT tokenizer of `tokenizers`, which reads the vocab.txt itself."""
    from tokenizers.implementations import BertWordPieceTokenizer

    peer = BertWordPieceTokenizer(str(vocab), lowercase=True)
    return _of(peer._tokenizer)


# ── SentencePiece ─────────────────────────────────────────────────────────────────────────────────────────────────


def sentencepiece(path: Path) -> Peer:
    """Returns SentencePiece with a model."""
    from sentencepiece import SentencePieceProcessor

    peer = SentencePieceProcessor(model_file=str(path))
    return Peer(
        f"sentencepiece {version('sentencepiece')}",
        (Mode("encode", lambda texts: peer.encode(texts, num_threads=1)),),
        {False: lambda batch: peer.decode(batch, num_threads=1)},
    )


def fairseq(path: Path) -> Peer:
    """Returns SentencePiece with the ids of fairseq: each id is one higher, except that the unknown piece has id 3."""
    from sentencepiece import SentencePieceProcessor

    peer = SentencePieceProcessor(model_file=str(path))
    unk = peer.unk_id()

    def encode(texts: list[str]) -> Lists:
        return [[3 if id == unk else id + 1 for id in ids] for ids in peer.encode(texts, num_threads=1)]

    return Peer(f"sentencepiece {version('sentencepiece')}", (Mode("encode, ids + 1, unk = 3", encode),))
