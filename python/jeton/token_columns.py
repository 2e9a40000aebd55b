"""Columns of the tokens of a text or a pair, computed on access: the contents of an `Encoding`.

The ids are known; spans follow from them in the core. The template is joined to the columns item by item, so no loop
visits tokens. Pretokens and dropped ranges are the only attributes for which the text is encoded again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from . import _core
from .arguments import wrong

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["COLUMNS", "Column", "TokenColumns", "array_of", "with_none"]

Column: TypeAlias = Literal[
    "ids",
    "byte_spans",
    "char_spans",
    "hf_offsets",
    "type_ids",
    "special_tokens_mask",
    "sequence_ids",
    "word_ids",
]
COLUMNS: tuple[str, ...] = get_args(Column)
SPANS = {"byte_spans": 0, "char_spans": 1, "hf_offsets": 2}  # kinds of the core
SINGLE = ({"sequence": "A", "type_id": 0},)
PAIR = (*SINGLE, {"sequence": "B", "type_id": 1})


class TokenColumns:
    """Columns of one text or a pair, with the template around it.

    Attributes:
        core: the tokenizer.
        texts: the text, or both of a pair.
        ids: uint32[n] for each text, without the template.
        special: permission for special tokens, in the core's form.
        items: items of the template that are applied.
        special_tokens: id -> spelling.
    """

    __slots__ = ("core", "ids", "items", "special", "special_tokens", "texts")

    def __init__(
        self,
        core: _core.Tokenizer,
        texts: tuple[str | bytes, ...],
        ids: tuple[NDArray[np.uint32], ...],
        special: Literal["all", "raise"] | list[int] | None,
        items: Sequence[Mapping[str, Any]],
        special_tokens: Mapping[int, bytes],
    ) -> None:
        """Stores the ids; see the attributes."""
        self.core = core
        self.texts = texts
        self.ids = ids
        self.special = special
        self.items = items
        self.special_tokens = special_tokens

    def array(self, column: Column) -> NDArray[Any]:
        """Implements `Encoding.array`."""
        if column not in COLUMNS:
            raise wrong("column", column, ", ".join(f'"{name}"' for name in COLUMNS))
        if len(self.items) == 1 and "sequence" in self.items[0]:
            return self._of_text(column, self.items[0])
        import numpy as np

        parts = [
            self._of_text(column, item) if "sequence" in item else _of_template(column, item) for item in self.items
        ]
        return np.concatenate(parts) if parts else array_of(column, [])

    def _of_text(self, column: Column, item: Mapping[str, Any]) -> NDArray[Any]:
        """The part of a column that a text has."""
        import numpy as np

        of = "AB".index(item["sequence"])
        if column == "ids":
            return self.ids[of]
        if column in SPANS:
            ids = self.ids[of].view(np.uint8)
            spans = _core.known_spans(self.core, self.texts[of], ids, self.special, SPANS[column])
            return np.frombuffer(spans, "<i8").reshape(-1, 2)
        if column == "word_ids":
            *_, words = _core.encode_batch_with_words(self.core, [self.texts[of]], self.special, 1)
            return np.frombuffer(words, "<i8")
        if column == "special_tokens_mask":
            return np.zeros(len(self.ids[of]), np.bool_)
        return np.full(len(self.ids[of]), of if column == "sequence_ids" else item["type_id"], np.int64)

    def attribute(self, name: str) -> Any:
        """The attribute of an `Encoding`."""
        if name == "tokens":
            return _core.decode_tokens(self.core, self.array("ids").tolist())
        if name in SPANS:
            spans = self.array(cast("Column", name))
            return list(zip(spans[:, 0].tolist(), spans[:, 1].tolist(), strict=True))
        if name == "sequence_ids":
            return with_none(self.array("sequence_ids"))
        if name in COLUMNS:
            return self.array(cast("Column", name)).tolist()
        if name in ("text", "pair_text"):
            text = self.texts[name == "pair_text"] if name == "text" or len(self.texts) == 2 else b""
            return text if isinstance(text, bytes) else text.encode()
        if name == "special_tokens":
            return self.special_tokens
        if name == "first_tokens":
            return tuple([first for *_, first in self._pretokens(of)] + [len(ids)] for of, ids in enumerate(self.ids))
        if name == "pretokens":
            return [(start, end) for start, end, _ in self._pretokens(0)]
        return self.core.tokenize(self.texts[0], self.special)[2]  # dropped

    def _pretokens(self, of: int) -> list[tuple[int, int, int]]:
        """Start, end and index of the first token of the pretokens of a text."""
        return self.core.tokenize(self.texts[of], self.special)[1]


def items_of(template: Mapping[str, Any] | None, *, is_pair: bool, adds: bool) -> Sequence[Mapping[str, Any]]:
    """Items of a template for a text or a pair; without special tokens (`adds`), its texts only."""
    items = (template or {}).get("pair" if is_pair else "single")
    if items is None:
        return PAIR if is_pair else SINGLE
    return [item for item in items if adds or "sequence" in item]


def _of_template(column: Column, item: Mapping[str, Any]) -> NDArray[Any]:
    """The part of a column that ids of the template have."""
    import numpy as np

    if column == "ids":
        return np.array(item["ids"], np.uint32)
    if column in SPANS:
        return np.zeros((len(item["ids"]), 2), np.int64)
    if column == "special_tokens_mask":
        return np.ones(len(item["ids"]), np.bool_)
    return np.full(len(item["ids"]), item["type_id"] if column == "type_ids" else -1, np.int64)


def array_of(column: Column, values: Any) -> NDArray[Any]:
    """Values of an attribute as a column."""
    import numpy as np

    if column not in COLUMNS:
        raise wrong("column", column, ", ".join(f'"{name}"' for name in COLUMNS))
    if column in SPANS:
        return np.array(values, np.int64).reshape(-1, 2)
    if column in ("sequence_ids", "word_ids"):
        return np.nan_to_num(np.array(values, np.float64), nan=-1).astype(np.int64)  # None becomes NaN
    return np.array(values, {"ids": np.uint32, "special_tokens_mask": np.bool_}.get(column, np.int64))


def with_none(values: NDArray[np.int64]) -> list[int | None]:
    """A list with None for -1."""
    objects = values.astype(object)
    objects[values < 0] = None
    listed: list[int | None] = objects.tolist()
    return listed
