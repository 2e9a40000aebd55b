"""Checks the JSON files of a shard folder when they are read: types, ranges, and names of files.

These files are plans, manifests, reports, and completions (a completion records that a task is done). A check is a
function that returns True for a valid value. If the check of an entry fails, `check_fields` raises an error. Other
modules therefore never get a value of a wrong type, a negative number, or the name of a file outside of the shard
folder.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

__all__ = [
    "READ_FACTS",
    "Check",
    "check_fields",
    "either",
    "files_of",
    "is_count",
    "is_count_or_none",
    "is_id",
    "is_largest",
    "is_number",
    "is_skipped",
    "is_text",
    "is_text_or_none",
    "list_of",
    "map_of",
    "record",
]

Check: TypeAlias = Callable[[Any], bool]

MAX_COUNT = (1 << 63) - 1
MAX_SHOWN = 60  # messages show at most this many characters of a wrong value
SUFFIX = re.compile(r"(\.[a-z]{1,16}){1,3}")  # matches the file suffixes of all layouts


def is_count(value: Any) -> bool:
    """True for an integer from 0 to 2⁶³ - 1.

    Examples:
        >>> is_count(3), is_count(True), is_count(-1), is_count(1.0)
        (True, False, False, False)
    """
    return type(value) is int and 0 <= value <= MAX_COUNT


def is_id(value: Any) -> bool:
    """True for an id, and for -1. The highest id is stored as -1 if there are no ids."""
    return type(value) is int and -1 <= value < 1 << 32


def is_text(value: Any) -> bool:
    """True for a string."""
    return isinstance(value, str)


def is_text_or_none(value: Any) -> bool:
    """True for a string, and for None."""
    return value is None or isinstance(value, str)


def is_count_or_none(value: Any) -> bool:
    """True for an integer from 0 to 2⁶³ - 1, and for None."""
    return value is None or is_count(value)


def is_number(value: Any) -> bool:
    """True for a finite number."""
    return type(value) in (int, float) and math.isfinite(value)


def either(*values: Any) -> Check:
    """Returns a check for values that equal one of `values`, and have its type."""
    return lambda value: any(value == known and type(value) is type(known) for known in values)


def list_of(*checks: Check, length: int | None = None) -> Check:
    """Returns a check for lists and tuples.

    If one check is given, every item must pass this check; `length` is the required number of items, if any. If several
    checks are given, there must be as many items, and item i must pass check i.
    """
    if len(checks) == 1:
        return lambda value: (
            isinstance(value, list | tuple) and length in (None, len(value)) and all(map(checks[0], value))
        )
    return lambda value: (
        isinstance(value, list | tuple)
        and len(value) == len(checks)
        and all(check(item) for check, item in zip(checks, value, strict=True))
    )


def map_of(check: Check) -> Check:
    """Returns a check for objects: all values must pass `check`, and the names are arbitrary."""
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def record(**checks: Check) -> Check:
    """Returns a check for objects with exactly the names in `checks`: each value must pass the check of its name."""
    return lambda value: (
        isinstance(value, dict)
        and value.keys() == checks.keys()
        and all(check(value[name]) for name, check in checks.items())
    )


def _is_hash(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64


_is_file = record(bytes=is_count, sha256=_is_hash)


def files_of(stem: str) -> Check:
    """Returns a check for objects that map each file name to the size and the hash of the file.

    A file name must be `stem` followed by one to three suffixes such as ``.bin``, so no file name can point to
    another folder.

    Examples:
        >>> file = {"bytes": 3, "sha256": "0" * 64}
        >>> files_of("joined")({"joined.bin": file}), files_of("joined")({"joined./../../etc/passwd": file})
        (True, False)
    """
    return lambda value: (
        isinstance(value, dict)
        and len(value) > 0
        and all(name.startswith(stem) and SUFFIX.fullmatch(name, len(stem)) is not None for name in value)
        and all(map(_is_file, value.values()))
    )


is_skipped = map_of(list_of(is_count, list_of(is_text)))
is_largest = list_of(list_of(is_count, is_text, is_count_or_none))
# Entry of a completion (the file that records that a task is done) -> check. Only for tasks that read documents.
READ_FACTS: dict[str, Check] = {
    "bytes": is_count,
    "highest_id": is_id,
    "empty": is_count,
    "skipped": is_skipped,
    "replaced": map_of(is_count),
    "special": map_of(is_count),
    "largest": is_largest,
    "lines": map_of(is_count),
}


def check_fields(
    facts: Mapping[str, Any], required: Mapping[str, Check], optional: Mapping[str, Check] | None = None
) -> None:
    """Checks the entries of an object.

    Raises:
        ValueError: an entry is missing or wrong; the message names it.

    Examples:
        >>> check_fields({"tokens": -1}, {"tokens": is_count})
        Traceback (most recent call last):
            ...
        ValueError: its 'tokens' is -1
    """
    if not isinstance(facts, Mapping):
        raise ValueError("it is not an object")
    for name in required:
        if name not in facts:
            raise ValueError(f"it has no {name!r}")
    for name, check in {**required, **(optional or {})}.items():
        if name in facts and not check(facts[name]):
            raise ValueError(f"its {name!r} is {_shown(facts[name])}")


def _shown(value: Any) -> str:
    """Returns the `repr` of a value for a message, except for lists and dicts: their `repr` can overflow the stack."""
    if isinstance(value, list | dict):
        return "not as expected"
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
