"""tiktoken's rank files: one token a line, base64 and rank. The rank of a pair is the rank of its concatenated bytes.

A rank file holds neither pattern nor special tokens. Files that are known by the sha256 of their content bring both;
for any other the caller gives the pattern.

Source: openai/tiktoken, tiktoken/load.py and tiktoken_ext/openai_public.py (hashes, special tokens).
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from .. import _core
from ..atomic import write_atomically
from ..definition import Bpe, Definition, Pattern
from ..errors import ConfigError, FormatError, UnsupportedFeatureError
from ..special import spell
from ..tokenizer import Tokenizer

__all__ = ["looks_like", "read", "write"]


class _Known(NamedTuple):
    name: str
    pattern: str
    special_tokens: Mapping[str, int]


KNOWN = {
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": _Known(
        "cl100k_base",
        "cl100k",
        {
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    ),
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": _Known(
        "o200k_base", "o200k", {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
    ),
}


def looks_like(data: bytes) -> bool:
    """Whether the content begins like a rank file."""
    first = data.split(b"\n", 1)[0].rstrip(b"\r")
    return re.fullmatch(rb"[A-Za-z0-9+/]+={0,2} [0-9]+", first) is not None


def read(data: bytes, *, source: str, pattern: str | None, special_tokens: Mapping[str, int] | None) -> Tokenizer:
    """A tokenizer from a rank file.

    Raises:
        FormatError: a line that is no base64, a rank twice, a byte without a rank.
        ConfigError: an unknown file without `pattern`.
    """
    known = KNOWN.get(hashlib.sha256(data).hexdigest())
    if pattern is None:
        if known is None:
            names = ", ".join(Pattern.names())
            raise ConfigError(
                f"{source} is a rank file, which does not say how text is split, and its content is not known: "
                f"pass pattern= with a name ({names}) or a regex",
                option="pattern",
            )
        pattern = known.pattern
    if special_tokens is None:
        special_tokens = known.special_tokens if known else {}
    part = Pattern.of(pattern).part()
    definition = Definition(Bpe(ranks="tokens", whole_first=True), pretokenizer=(part,) if part else ())
    spelled = [spell(token) for token in special_tokens]
    try:
        vocabulary = _core.Vocabulary.from_ranks(data)
        missing = [byte for byte in range(256) if vocabulary.find(bytes([byte])) is None]
        if missing:
            raise FormatError(f"byte 0x{missing[0]:02x} has no rank, so not every text could be encoded")
        taken = set(vocabulary.ids()) & set(special_tokens.values())
        if not taken:
            vocabulary = vocabulary.with_added(list(special_tokens.values()), spelled, [True] * len(spelled))
            return Tokenizer(definition, vocabulary)
    except (FormatError, ConfigError) as error:  # a rank or a token given twice is the file's fault
        raise FormatError(f"{source}: {error}", format="tiktoken", place=getattr(error, "place", None)) from None
    raise ConfigError(
        f"id {min(taken)} is given to a special token and is the rank of a token", option="special_tokens"
    )


def write(tok: Tokenizer, path: str | os.PathLike[str], accept_loss: Collection[str]) -> None:
    """Writes the ranks. The file holds neither pattern nor special tokens, so these must be accepted as lost.

    Raises:
        UnsupportedFeatureError: a tokenizer whose ids are no ranks, or a loss that was not accepted.
    """
    model, pattern = tok.definition.model, tok.definition.pattern
    if not isinstance(model, Bpe) or model.ranks != "tokens":
        raise UnsupportedFeatureError(
            "a rank file orders merges by the ids of what they make, and this tokenizer has a list of merges",
            format="tiktoken",
            feature="merges",
        )
    losses = {"pattern": f"the pattern {pattern.text!r}" if pattern else "how text is split"}
    if tok.special_tokens:
        losses["special_tokens"] = f"the special tokens {', '.join(tok.special_tokens)}"
    for name, what in losses.items():
        if name not in accept_loss:
            raise UnsupportedFeatureError(
                f"a rank file cannot hold {what}; to write it all the same, pass accept_loss={list(losses)}",
                format="tiktoken",
                feature=name,
            )
    with write_atomically(path) as file:
        file.write(tok._core.rank_file().encode())
