"""Nested fields: ``content.body`` is the field ``body`` in ``content``, and ``text.0`` the first item of a list.

At each level, a key that is equal to the whole rest of the name takes precedence: ``{"a.b": "x"}`` has the field
``a.b``. The rule is the same for rows of JSON, and for columns of Parquet, Arrow and CSV.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["MISSING", "ColumnPath", "value_at"]

MISSING: Any = object()


def value_at(row: object, field: str) -> Any:
    """Returns the value of a field of a row, or `MISSING`.

    Examples:
        >>> value_at({"content": {"body": "a"}}, "content.body"), value_at({"text": ["a", "b"]}, "text.1")
        ('a', 'b')
        >>> value_at({"a.b": "literal", "a": {"b": "nested"}}, "a.b")
        'literal'
        >>> value_at({"text": []}, "text.0") is MISSING
        True
    """
    while True:
        head, dot, rest = field.partition(".")
        if isinstance(row, Mapping):
            if field in row:
                return row[field]
            row = row.get(head, MISSING) if dot else MISSING
        elif isinstance(row, list) and _is_index(head):
            row = row[int(head)] if int(head) < len(row) else MISSING
            if not dot:
                return row
        else:
            return MISSING
        field = rest


def _is_index(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) < 10


class ColumnPath:
    """Path to a column of an Arrow schema. A field name is resolved as in `value_at`.

    Attributes:
        column: name of the column in the schema.
        type: Arrow type of the values.
        dotted: column to request from pyarrow's Parquet reader: a dotted path like ``content.body``, so that only this
            child of the struct is read; for a path through a list, the name of the whole column.

    Examples:
        >>> import pyarrow as pa
        >>> table = pa.table({"content": [{"body": "a"}, None], "text": [["b"], []]})
        >>> body, first = (ColumnPath.find(table.schema, field) for field in ("content.body", "text.0"))
        >>> body.of(table["content"].chunk(0)).to_pylist(), first.of(table["text"].chunk(0)).to_pylist()
        (['a', None], ['b', None])
        >>> ColumnPath.find(table.schema, "content.title") is None
        True
    """

    def __init__(self, column: str, steps: tuple[int | str, ...], type: Any, dotted: str) -> None:
        self.column, self._steps, self.type, self.dotted = column, steps, type, dotted

    @classmethod
    def find(cls, schema: Any, field: str) -> ColumnPath | None:
        """Returns the path of a field; None if the schema has no column, or several columns, of this name."""
        import pyarrow.types as types

        names = schema.names
        if names.count(field) > 1:
            return None
        column, _, rest = (field, "", "") if field in names else field.partition(".")
        if names.count(column) != 1:
            return None
        kind = schema.field(column).type
        steps: list[int | str] = []
        while rest:
            head, _, after = rest.partition(".")
            if types.is_struct(kind):
                head, after = (rest, "") if kind.get_field_index(rest) >= 0 else (head, after)
                if kind.get_field_index(head) < 0:
                    return None
                kind = kind.field(head).type
                steps.append(head)
            elif (types.is_list(kind) or types.is_large_list(kind)) and _is_index(head):
                kind = kind.value_type
                steps.append(int(head))
            else:
                return None
            rest = after
        only_structs = all(isinstance(step, str) for step in steps)
        return cls(column, tuple(steps), kind, ".".join((column, *map(str, steps))) if only_structs else column)

    def of(self, array: Any) -> Any:
        """Returns each row's value at the path; null if a struct or list on the path is null or lacks the item."""
        import pyarrow as pa

        if self._steps:
            array.validate(full=True)  # checks the offsets, which can be invalid in a file
        for step in self._steps:
            if isinstance(step, str):
                # `flatten` makes the fields of a null struct null; `field` does not.
                array = array.flatten()[array.type.get_field_index(step)]
                continue
            import numpy as np

            starts = np.asarray(array.offsets, np.int64)
            is_there = np.diff(starts) > step
            if array.null_count:
                is_there &= ~np.asarray(array.is_null())
            array = array.values.take(pa.array(starts[:-1] + step, pa.int64(), mask=~is_there))
        return array
