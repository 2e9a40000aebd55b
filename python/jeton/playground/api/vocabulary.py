"""``vocabulary``: paged listing and substring search of a tokenizer's entries.

The search index is one byte string of all entries, so a search runs at the speed of `bytes.find`. The index is built on
the first request and has the lifetime of the tokenizer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any
from weakref import WeakKeyDictionary

from ...drawing import draw
from ...errors import ConfigError
from ...tokenizer import Tokenizer
from ..catalog import Catalog
from . import request_fields

__all__ = ["KINDS", "answer"]

MAX_ENTRIES = 500
# In lists, entries are truncated to this length, because a hostile file can have entries of megabytes. The page shows a
# selected entry in full.
MAX_SHOWN_BYTES = 200
KINDS = ("special", "byte", "part", "ordinary")


def answer(catalog: Catalog, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the number of matching entries, and one page of them.

    `by` says how to interpret `query`: for ``"text"`` and ``"hex"`` (bytes), it is a substring to search for; for
    ``"id"``, it is the first id to list. `kind` is one of `KINDS`: special tokens, single bytes, partial characters,
    and others.

    Examples:
        >>> found = answer(Catalog(cached=False), {"tokenizer": "bytes", "query": "e2", "by": "hex"})
        >>> found["num"], found["entries"][0]["id"], found["entries"][0]["kind"]
        (1, 226, 'byte')
    """
    index = _index_of(catalog.get(request_fields.text(request, "tokenizer")))
    query = request_fields.text(request, "query", "")
    by = request_fields.one_of(request, "by", ("text", "hex", "id"), "text")
    kind = request_fields.one_of(request, "kind", ("all", *KINDS), "all")
    first = request_fields.integer(request, "from", 0, 0, 1 << 30)
    limit = request_fields.integer(request, "limit", 100, 1, MAX_ENTRIES)
    places = index.search(_needle(query, by)) if by != "id" else index.since(_id(query))
    if kind != "all":
        wanted = KINDS.index(kind)
        places = [place for place in places if index.kinds[place] == wanted]
    return {
        "num": len(places),
        "num_tokens": len(index.ids),
        "by_kind": dict(zip(KINDS, map(index.kinds.count, range(len(KINDS))), strict=True)),
        "from": first,
        "entries": [index.entry(place) for place in places[first : first + limit]],
    }


def _needle(query: str, by: str) -> bytes:
    if by == "text":
        return query.encode()
    try:
        return bytes.fromhex(query.replace("\\x", " ").replace("0x", " "))
    except ValueError:
        raise ConfigError(f"{query!r:.60} is not hexadecimal; write bytes like e2 96 81", option="query") from None


def _id(query: str) -> int:
    if not query.strip():
        return 0
    if not query.strip().isdecimal() or len(query) > 10:
        raise ConfigError(f"{query!r:.60} is not an id; ids are integers from 0", option="query")
    return int(query)


@dataclass(frozen=True)
class _Index:
    """Search index of entries in the order of ids: their ids, kinds (indices into `KINDS`) and offsets into `data`."""

    ids: Sequence[int]
    kinds: bytes
    data: bytes
    starts: Sequence[int]
    spell: Callable[[int], str]

    @classmethod
    def of(cls, tok: Tokenizer) -> _Index:
        special = {id: spelling.encode() for spelling, id in tok.special_tokens.items()}
        entries = [(id, special.get(id, data)) for id, data in tok.vocab.items()]
        model_of_bytes = tok.definition.is_byte_level
        kinds = bytes(
            0 if id in special else _kind(data, is_byte=len(data) == 1 and (model_of_bytes or _is_byte(tok, id)))
            for id, data in entries
        )
        contents = [data for _, data in entries]
        starts = list(accumulate(map(len, contents), initial=0))
        return cls([id for id, _ in entries], kinds, b"".join(contents), starts, tok.id_to_token)

    def __getitem__(self, place: int) -> bytes:
        return self.data[self.starts[place] : self.starts[place + 1]]

    def search(self, needle: bytes) -> Sequence[int]:
        """Returns the indices of the entries that contain `needle`; all indices if it is empty."""
        return list(self._found(needle)) if needle else range(len(self.ids))

    def _found(self, needle: bytes) -> Iterator[int]:
        at = self.data.find(needle)
        while at >= 0:
            place = bisect_right(self.starts, at) - 1
            end = self.starts[place + 1]
            if at + len(needle) <= end:
                yield place
                at = self.data.find(needle, end)
            else:  # skip a match across the boundary of two entries
                at = self.data.find(needle, at + 1)

    def since(self, id: int) -> Sequence[int]:
        """Returns the indices of the entries whose ids are `id` or higher."""
        return range(bisect_right(self.ids, id - 1), len(self.ids))

    def entry(self, place: int) -> dict[str, Any]:
        id, data = self.ids[place], self[place]
        kind, shown = KINDS[self.kinds[place]], data[:MAX_SHOWN_BYTES]
        look = draw([(id, shown)], special={id: shown} if kind == "special" else {}).to_json()["table"][0]
        return {**look, "spelling": self.spell(id)[:MAX_SHOWN_BYTES], "kind": kind, "num_bytes": len(data)}


def _kind(data: bytes, *, is_byte: bool) -> int:
    if is_byte:
        return KINDS.index("byte")
    try:
        data.decode()
    except UnicodeDecodeError:
        return KINDS.index("part")
    return KINDS.index("ordinary")


def _is_byte(tok: Tokenizer, id: int) -> bool:
    """Tests whether an id is a byte-fallback entry such as ``<0x0A>``."""
    spelling = tok.id_to_token(id)
    return len(spelling) == 6 and spelling.startswith("<0x") and spelling.endswith(">")


_indices: WeakKeyDictionary[Tokenizer, _Index] = WeakKeyDictionary()


def _index_of(tok: Tokenizer) -> _Index:
    if (index := _indices.get(tok)) is None:
        index = _indices[tok] = _Index.of(tok)
    return index
