"""Columns of the tokens of a text or a pair, computed on access: the contents of an `Encoding`.

The ids are given, and the core computes the spans from them. A column is joined from the items of the template (texts
and added ids), without a loop over tokens. The text is encoded again only for pretokens and dropped ranges.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from .. import _core
from ..util.arguments import wrong
from ..util.numpy_arrays import array_constructor

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["COLUMNS", "Column", "TokenColumns", "array_of", "dtype_of", "items_of"]

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
SPANS = {"byte_spans": 0, "char_spans": 1, "hf_offsets": 2}  # name of a kind of span -> its number in the core
KINDS = {**SPANS, "word_ids": 3}
SINGLE = ({"sequence": "A", "type_id": 0},)
PAIR = (*SINGLE, {"sequence": "B", "type_id": 1})


Part: TypeAlias = "memoryview | tuple[int, int]"  # integers, or (value, number of repetitions)
Permission: TypeAlias = Literal["all", "raise"] | list[int] | None


class TokenColumns:
    """Columns of one text or a pair, with the template around it. NumPy is imported only when an array is requested.

    Attributes:
        core: the tokenizer.
        texts: the single text, or the two texts of a pair.
        ids: little-endian u32 for each text, without the template.
        special: permitted special tokens, in the core's form.
        items: items of the template that are applied.
        special_tokens: id -> spelling.
    """

    __slots__ = ("core", "ids", "items", "special", "special_tokens", "texts")

    def __init__(
        self,
        core: _core.Tokenizer,
        texts: tuple[str | bytes, ...],
        ids: tuple[memoryview, ...],
        special: Permission,
        items: Sequence[Mapping[str, Any]],
        special_tokens: Mapping[int, bytes],
    ) -> None:
        """Stores the arguments; see the attributes of the class."""
        self.core = core
        self.texts = texts
        self.ids = ids
        self.special = special
        self.items = items
        self.special_tokens = special_tokens

    def array(self, column: Column) -> NDArray[Any]:
        """Implements `Encoding.array`."""
        items = self.items
        if len(items) == 1 and column in KINDS and items[0].get("sequence") == "A":
            part = self.core.known_spans_array(self.texts[0], self.ids[0], self.special, KINDS[column])
            if type(part) is not memoryview:
                return part
        else:
            part = None
        dtype = dtype_of(column)
        array_constructor()  # imports NumPy, or raises an error that names the extra to install
        import numpy as np

        if part is not None:
            flat = np.frombuffer(part, dtype)
            return flat.reshape(-1, 2) if column in SPANS else flat
        parts = [
            np.full(part[1], part[0], dtype) if isinstance(part, tuple) else np.frombuffer(part, dtype)
            for part in self._parts(column)
        ]
        joined = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype), *parts])
        return joined.reshape(-1, 2) if column in SPANS else joined

    def _list(self, column: Column) -> list[Any]:
        """Returns the values of a column as integers. A missing value, which is stored as -1, becomes None."""
        values: list[Any] = []
        for part in self._parts(column):
            if isinstance(part, tuple):
                values += [None if part[0] < 0 else part[0]] * part[1]
            else:
                values += part.cast("I" if column == "ids" else "q")
        return values

    def _parts(self, column: Column) -> list[Part]:
        """Returns the values of a column for each item of the template; a span is stored as two integers."""
        return [self._of_text(column, item) if "sequence" in item else of_template(column, item) for item in self.items]

    def _of_text(self, column: Column, item: Mapping[str, Any]) -> Part:
        of = 0 if item["sequence"] == "A" else 1
        ids = self.ids[of]
        if column == "ids":
            return ids
        if column in KINDS:
            return self.core.known_spans(self.texts[of], ids, self.special, KINDS[column])
        value = {"special_tokens_mask": 0, "sequence_ids": of, "type_ids": item["type_id"]}[column]
        return value, ids.nbytes // 4

    def attribute(self, name: str) -> Any:
        """Computes an attribute of an `Encoding`."""
        if name == "tokens":
            return self.core.decode_tokens(self._list("ids"))
        if name in SPANS:
            flat = self._list(cast("Column", name))
            return list(zip(flat[::2], flat[1::2], strict=True))
        if name == "special_tokens_mask":
            return list(map(bool, self._list("special_tokens_mask")))
        if name in COLUMNS:
            return self._list(cast("Column", name))
        if name in ("text", "pair_text"):
            text = b"" if name == "pair_text" and len(self.texts) == 1 else self.texts[name == "pair_text"]
            return text if isinstance(text, bytes) else str.encode(text)  # a subclass may override `encode`
        if name == "special_tokens":
            return self.special_tokens
        if name == "first_tokens":
            return tuple(
                [first for *_, first in self._pretokens(of)] + [ids.nbytes // 4] for of, ids in enumerate(self.ids)
            )
        if name == "pretokens":
            return [(start, end) for start, end, _ in self._pretokens(0)]
        return self.core.tokenize(self.texts[0], self.special)[2]  # ranges of dropped text

    def word_ids(self) -> list[int | None]:
        """Implements `Encoding.word_ids`."""
        return self._list("word_ids")

    def _pretokens(self, of: int) -> list[tuple[int, int, int]]:
        """Returns the pretokens of a text: start, end and index of the first token."""
        return self.core.tokenize(self.texts[of], self.special)[1]


def items_of(template: Mapping[str, Any] | None, *, is_pair: bool, adds: bool) -> Sequence[Mapping[str, Any]]:
    """Returns the items of a template for a text or a pair; if not `adds`, only its texts, without special tokens."""
    items = (template or {}).get("pair" if is_pair else "single")
    if items is None:
        return PAIR if is_pair else SINGLE
    return [item for item in items if adds or "sequence" in item]


def of_template(column: Column, item: Mapping[str, Any]) -> Part:
    """Returns the values of a column for an item of ids that the template adds."""
    count = len(item["ids"])
    if column == "ids":
        return memoryview(array("I", item["ids"])).cast("B")
    if column in SPANS:
        return 0, 2 * count
    return {"special_tokens_mask": 1, "type_ids": item["type_id"]}.get(column, -1), count


def dtype_of(column: Column) -> str:
    """Returns the dtype of a column. Raises an error if there is no column of this name."""
    if column not in COLUMNS:
        raise wrong("column", column, f"one of {', '.join(COLUMNS)}")
    return {"ids": "<u4", "special_tokens_mask": "?"}.get(column, "<i8")


def array_of(column: Column, values: Any) -> NDArray[Any]:
    """Converts the values of an attribute to the array of a column."""
    import numpy as np

    dtype = dtype_of(column)
    if column in ("sequence_ids", "word_ids"):
        values = np.nan_to_num(np.array(values, np.float64), nan=-1)  # None becomes NaN, then -1
    found = np.array(values).astype(dtype)
    return found.reshape(-1, 2) if column in SPANS else found
