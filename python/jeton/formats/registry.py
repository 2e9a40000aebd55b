"""Tokenizers that have a name: where their file is published, its hash, and what the file does not say.

Source: openai/tiktoken, tiktoken_ext/openai_public.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["REGISTRY", "Known"]

_OPENAI = "https://openaipublic.blob.core.windows.net/encodings/"


class Known(NamedTuple):
    """One tokenizer with a name.

    Attributes:
        name: what `jeton.load` takes.
        url: where the file is published.
        sha256: of the file's content, in hex.
        pattern: how text is split, which a rank file does not say.
        special_tokens: spelling -> id, which it does not say either.
    """

    name: str
    url: str
    sha256: str
    pattern: str
    special_tokens: Mapping[str, int]


_END = "<|endoftext|>"

REGISTRY: dict[str, Known] = {
    known.name: known
    for known in (
        Known(
            "r50k_base",
            _OPENAI + "r50k_base.tiktoken",
            "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
            "gpt2",
            {_END: 50256},
        ),
        Known(
            "p50k_base",
            _OPENAI + "p50k_base.tiktoken",
            "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
            "gpt2",
            {_END: 50256},
        ),
        Known(
            "cl100k_base",
            _OPENAI + "cl100k_base.tiktoken",
            "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
            "cl100k",
            {
                _END: 100257,
                "<|fim_prefix|>": 100258,
                "<|fim_middle|>": 100259,
                "<|fim_suffix|>": 100260,
                "<|endofprompt|>": 100276,
            },
        ),
        Known(
            "o200k_base",
            _OPENAI + "o200k_base.tiktoken",
            "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
            "o200k",
            {_END: 199999, "<|endofprompt|>": 200018},
        ),
    )
}
