"""Differences between a model's own tokenizer and its GGUF file, as far as the metadata of the file shows them.

The tokenizer that `gguf` reads gives a text the same ids as llama.cpp with this file. The model's own tokenizer can
give other ids where the format has no field for a feature, or where llama.cpp implements a feature in its own way.

Source: the tokenizer.json of each model (whether it normalizes to NFC); ggml-org/llama.cpp src/llama-vocab.cpp and
src/unicode.cpp (all other differences).
"""

from __future__ import annotations

from .error_context import error_context
from .gguf import CONTROL_TYPE, FORMAT, KEYS, UNKNOWN_TYPE, Metadata, is_tokenizer_key
from .gguf_file import read_header
from .gguf_pre import PRE, has_case

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

__all__ = ["differences"]

# Pre-tokenizer names (values of `tokenizer.ggml.pre`) whose models normalize text to NFC.
_NFC = {"qwen2", "qwen35", "command-r", "mpt", "olmo", "modern-bert"}


def differences(path: str) -> dict[str, str]:
    """Returns how llama.cpp, given this GGUF file, differs from the model's own tokenizer: cause -> description."""
    with error_context(path, FORMAT):
        values = read_header(path, is_tokenizer_key).values
        return dict(_differences(Metadata(values), values))


def _differences(metadata: Metadata, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    pre = metadata.pre or "default"
    match metadata.model:
        case "gpt2" if metadata.pre is None:
            yield (
                "pre",
                "the file names no pre-tokenizer, so llama.cpp splits text with its default pattern, which no "
                "model uses",
            )
        case "gpt2" if pre == "default":
            yield "pre", "the file names llama.cpp's default pre-tokenizer, which no model uses"
        case "gpt2" if pre in PRE and has_case(PRE[pre]):
            yield "pattern", "llama.cpp treats letters beyond ASCII as both upper and lower case"
        case "llama" if metadata.flag("add_space_prefix", True):
            yield "prefix", "llama.cpp adds a space after each special token, SentencePiece only before the text"
        case "bert":
            yield "normalizer", "llama.cpp's normalizer differs from BERT's for Hangul, marks and control characters"
        case "t5" if not metadata.bytes("precompiled_charsmap"):
            yield "normalizer", "the file has no table of characters (precompiled_charsmap), which the model may have"
    if metadata.model == "gpt2" and pre in _NFC:
        yield "normalizer", "the model normalizes text to NFC, but llama.cpp does not"
    adds_bos = metadata.model == "llama" or (metadata.model == "gpt2" and pre in PRE and PRE[pre].add_bos)
    flag = "add_bos_token" if adds_bos else "add_eos_token" if metadata.model == "t5" else None
    if flag is not None and f"{KEYS}{flag}" not in values:
        yield "template", f"the file does not set {flag}, which is true by default in llama.cpp"
    added = metadata.added()
    for id, kind in enumerate(metadata.types):
        is_special = id in added and added[id].special
        if is_special != (kind in (CONTROL_TYPE, UNKNOWN_TYPE)):
            what = "special" if is_special else "not special"
            yield (
                "special_tokens",
                f"the token {metadata.tokens[id]!r:.60} is {what} in llama.cpp because of its spelling",
            )
            break
