"""Small GGUF files for tests, written independently of the package's own code."""

from __future__ import annotations

import math
import struct
from typing import Any

_I8 = 24  # type of the tensors
_U32, _I32, _F32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9


def string(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(data)) + data


def value(given: Any) -> bytes:
    """A value with its type: booleans, integers (u32), strings, and lists of strings, floats, integers (i32)."""
    if isinstance(given, bool):
        return struct.pack("<IB", _BOOL, given)
    if isinstance(given, int):
        return struct.pack("<II", _U32, given)
    if isinstance(given, str | bytes):
        return struct.pack("<I", _STRING) + string(given)
    if not given:
        return struct.pack("<IIQ", _ARRAY, _STRING, 0)
    kind = _STRING if isinstance(given[0], str | bytes) else _F32 if isinstance(given[0], float) else _I32
    if kind == _STRING:
        body = b"".join(map(string, given))
    else:
        body = struct.pack(f"<{len(given)}{'f' if kind == _F32 else 'i'}", *given)
    return struct.pack("<IIQ", _ARRAY, kind, len(given)) + body


def gguf(
    values: dict[str, Any], *, version: int = 3, tensors: dict[str, tuple[int, ...]] | None = None, alignment: int = 32
) -> bytes:
    """A file with this metadata; tensors are name -> dimensions, of bytes that count up."""
    pairs = b"".join(string(key) + value(given) for key, given in values.items())
    head, infos, data = b"GGUF" + struct.pack("<IQQ", version, len(tensors or {}), len(values)) + pairs, b"", b""
    for name, dimensions in (tensors or {}).items():
        data += bytes(-len(data) % alignment)
        infos += string(name) + struct.pack(f"<I{len(dimensions)}Q", len(dimensions), *dimensions)
        infos += struct.pack("<IQ", _I8, len(data))
        data += bytes(i % 251 for i in range(math.prod(dimensions)))
    head += infos
    return head + (bytes(-len(head) % alignment) + data if tensors else b"")


def metadata(model: str, tokens: list[str | bytes] | list[str], **others: Any) -> dict[str, Any]:
    """Metadata of a tokenizer; other keys of ``tokenizer.ggml`` by name."""
    given = {"model": model, "tokens": tokens, **others}
    return {"general.architecture": "test"} | {f"tokenizer.ggml.{name}": one for name, one in given.items()}
