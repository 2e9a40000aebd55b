"""Bundle: the file format in which a browser gets a tokenizer; `crates/jeton-wasm/src/bundle.rs` reads it."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable

from jeton import Tokenizer
from jeton.definition import Bpe
from jeton.playground.api.merge_number import first_rank

__all__ = ["bundle"]

MAGIC = b"jeton 1\n"


def bundle(tok: Tokenizer) -> bytes:
    """Returns the bundle of a tokenizer, uncompressed."""
    vocabulary = tok._core.vocabulary()
    ids, kinds, contents, merges = vocabulary.columns()
    scores = tok._core.scores()
    flags = sorted((id, flag) for id, _, _, flag in tok._core.added_tokens() if flag)
    model, unk = tok.definition.model, tok.roles.get("unk")
    facts = {
        "kind": model.type,
        "is_byte_level": tok.definition.is_byte_level,
        "by_chars": not isinstance(model, Bpe) or model.level == "char",
        "end_of_word": model.end_of_word if isinstance(model, Bpe) else None,
        "unk_id": None if unk is None else tok.token_to_id(unk),
        "chat": tok.definition.chat_template is not None,
        "byte_fallback": bool(getattr(model, "byte_fallback", False)),
        "continuing_prefix": getattr(model, "continuing_subword_prefix", None) or "",
        "first_rank": first_rank(tok),
    }
    sizes = {"entries": len(ids), "merges": len(merges), "scores": len(scores), "flags": len(flags)}
    options = json.loads(tok.definition.core_options(vocabulary))
    header = json.dumps({"options": options, "facts": facts, **sizes}, ensure_ascii=False).encode()
    return b"".join(
        (
            MAGIC,
            struct.pack("<I", len(header)),
            header,
            _numbers(_steps(ids)),
            bytes(kinds),
            _numbers(map(len, contents)),
            *contents,
            _numbers(left for left, _, _ in merges),
            _numbers(right for _, right, _ in merges),
            _numbers(_zigzag(step) for step in _steps(result for _, _, result in merges)),
            struct.pack(f"<{len(scores)}d", *scores),
            struct.pack(f"<{len(flags)}I", *(id for id, _ in flags)),
            bytes(flag for _, flag in flags),
        )
    )


def _steps(ids: Iterable[int]) -> Iterable[int]:
    """Yields, for each id, the id minus (the previous id + 1); the first id is unchanged."""
    following = 0
    for id in ids:
        yield id - following
        following = id + 1


def _zigzag(number: int) -> int:
    return 2 * number if number >= 0 else -2 * number - 1


def _numbers(numbers: Iterable[int]) -> bytes:
    """Encodes each number in LEB128."""
    written = bytearray()
    for number in numbers:
        while number >= 0x80:
            written.append(number & 0x7F | 0x80)
            number >>= 7
        written.append(number)
    return bytes(written)
