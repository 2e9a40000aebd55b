"""OpenAI's published encodings, as the plugin ``tiktoken_ext.openai_public``.

Each constructor returns the arguments of `Encoding`, with the ranks as a dict. `arguments` returns the same arguments,
but with a `RankFile`, so that the ranks stay in the core.

Source: openai/tiktoken, tiktoken_ext/openai_public.py (facts: URLs, hashes, patterns, special tokens).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ..._core import Vocabulary, pattern_text
from ...tokens.kinds import TOKEN
from ._tiktoken import R50K as r50k_pat_str  # noqa: N811 (tiktoken's name)
from .load import cached_path, data_gym_to_mergeable_bpe_ranks, read_rank_file
from .ranks import RankFile

__all__ = [
    "ENCODING_CONSTRUCTORS",
    "ENDOFPROMPT",
    "ENDOFTEXT",
    "FIM_MIDDLE",
    "FIM_PREFIX",
    "FIM_SUFFIX",
    "arguments",
    "cl100k_base",
    "gpt2",
    "o200k_base",
    "o200k_harmony",
    "p50k_base",
    "p50k_edit",
    "r50k_base",
    "r50k_pat_str",
]

ENDOFTEXT = "<|endoftext|>"
FIM_PREFIX = "<|fim_prefix|>"
FIM_MIDDLE = "<|fim_middle|>"
FIM_SUFFIX = "<|fim_suffix|>"
ENDOFPROMPT = "<|endofprompt|>"

_URL = "https://openaipublic.blob.core.windows.net"
_SHA256 = {
    "r50k_base": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "vocab.bpe": "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
    "encoder.json": "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
}
_HARMONY = {
    199998: "<|startoftext|>",
    200002: "<|return|>",
    200003: "<|constrain|>",
    200005: "<|channel|>",
    200006: "<|start|>",
    200007: "<|end|>",
    200008: "<|message|>",
    200012: "<|call|>",
}


def _base(name: str) -> RankFile:
    return read_rank_file(f"{_URL}/encodings/{name}.tiktoken", _SHA256[name])


def _gpt2_ranks() -> RankFile:
    """Reads GPT-2's ranks from its two files, or from the cached file of r50k_base, which has the same ranks."""
    path = cached_path(f"{_URL}/encodings/r50k_base.tiktoken")
    if path is not None and os.path.exists(path):
        return _base("r50k_base")
    folder = f"{_URL}/gpt-2/encodings/main"
    ranks = data_gym_to_mergeable_bpe_ranks(
        f"{folder}/vocab.bpe", f"{folder}/encoder.json", _SHA256["vocab.bpe"], _SHA256["encoder.json"]
    )
    return RankFile(Vocabulary(list(ranks.values()), [TOKEN] * len(ranks), list(ranks), []))


def _encoding(
    name: str, ranks: RankFile, pat_str: str | None, special_tokens: dict[str, int], n_vocab: int | None = None
) -> dict[str, Any]:
    facts = {"name": name, "pat_str": pat_str, "mergeable_ranks": ranks, "special_tokens": special_tokens}
    return facts if n_vocab is None else {"explicit_n_vocab": n_vocab, **facts}


def _gpt2() -> dict[str, Any]:
    return _encoding("gpt2", _gpt2_ranks(), r50k_pat_str, {ENDOFTEXT: 50256}, 50257)


def _r50k_base() -> dict[str, Any]:
    return _encoding("r50k_base", _base("r50k_base"), r50k_pat_str, {ENDOFTEXT: 50256}, 50257)


def _p50k_base() -> dict[str, Any]:
    return _encoding("p50k_base", _base("p50k_base"), r50k_pat_str, {ENDOFTEXT: 50256}, 50281)


def _p50k_edit() -> dict[str, Any]:
    special = {ENDOFTEXT: 50256, FIM_PREFIX: 50281, FIM_MIDDLE: 50282, FIM_SUFFIX: 50283}
    return _encoding("p50k_edit", _base("p50k_base"), r50k_pat_str, special)


def _cl100k_base() -> dict[str, Any]:
    special = {ENDOFTEXT: 100257, FIM_PREFIX: 100258, FIM_MIDDLE: 100259, FIM_SUFFIX: 100260, ENDOFPROMPT: 100276}
    return _encoding("cl100k_base", _base("cl100k_base"), pattern_text("cl100k"), special)


def _o200k_base() -> dict[str, Any]:
    special = {ENDOFTEXT: 199999, ENDOFPROMPT: 200018}
    return _encoding("o200k_base", _base("o200k_base"), pattern_text("o200k"), special)


def _o200k_harmony() -> dict[str, Any]:
    """Returns o200k with the tokens of chats. <|endofprompt|> and <|reserved_200018|> have the same id."""
    special = {ENDOFTEXT: 199999, ENDOFPROMPT: 200018}
    special |= {token: id for id, token in _HARMONY.items()}
    special |= {f"<|reserved_{id}|>": id for id in range(200000, 201088) if id not in _HARMONY}
    return _encoding("o200k_harmony", _base("o200k_base"), pattern_text("o200k"), special)


def _constructor(lazy: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    def construct() -> dict[str, Any]:
        facts = lazy()
        return {**facts, "mergeable_ranks": facts["mergeable_ranks"].ranks}

    construct.__name__ = construct.__qualname__ = lazy.__name__.removeprefix("_")
    construct.__doc__ = f"Arguments of `Encoding` for {construct.__name__}."
    return construct


gpt2 = _constructor(_gpt2)
r50k_base = _constructor(_r50k_base)
p50k_base = _constructor(_p50k_base)
p50k_edit = _constructor(_p50k_edit)
cl100k_base = _constructor(_cl100k_base)
o200k_base = _constructor(_o200k_base)
o200k_harmony = _constructor(_o200k_harmony)

ENCODING_CONSTRUCTORS: dict[str, Callable[[], dict[str, Any]]] = {
    "gpt2": gpt2,
    "r50k_base": r50k_base,
    "p50k_base": p50k_base,
    "p50k_edit": p50k_edit,
    "cl100k_base": cl100k_base,
    "o200k_base": o200k_base,
    "o200k_harmony": o200k_harmony,
}

_LAZY: dict[Callable[[], dict[str, Any]], Callable[[], dict[str, Any]]] = {
    gpt2: _gpt2,
    r50k_base: _r50k_base,
    p50k_base: _p50k_base,
    p50k_edit: _p50k_edit,
    cl100k_base: _cl100k_base,
    o200k_base: _o200k_base,
    o200k_harmony: _o200k_harmony,
}


def arguments(constructor: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Calls a constructor; for a published encoding, the result has a `RankFile` instead of the dict of ranks."""
    return _LAZY.get(constructor, constructor)()
