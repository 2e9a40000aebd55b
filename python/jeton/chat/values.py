"""Describes the first difference of two JSON values: its path, the two texts, and the kind of text.

Left out: differences after the first one.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from ..util.messages import translate

__all__ = [
    "KINDS",
    "difference_of_tools",
    "difference_of_values",
    "dumped",
    "first_difference",
    "num_shared",
    "skipped",
]

_SHOWN = 40  # a description quotes at most this many characters of a text
_MONTHS = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
# Kinds of text that programs put into prompts and that change with each request. If two texts differ, the description
# of the difference names the first kind whose pattern matches in both texts at the difference.
KINDS = {
    "a time": re.compile(r"\d{1,2}:\d\d(?::\d\d)?(?:\.\d+)?"),
    "a date": re.compile(
        r"\d{4}[-/.年]\d{1,2}[-/.月]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}"
        rf"|\d{{1,2}}(?:st|nd|rd|th)?,? {_MONTHS},?(?: \d{{2,4}})?|{_MONTHS} \d{{1,2}}(?:st|nd|rd|th)?,?(?: \d{{4}})?"
        r"|\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b",
        re.IGNORECASE,
    ),
    "an identifier": re.compile(
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{12,30}|\b(?=[a-z_-]*\d)[0-9a-z_-]{16,}\b", re.IGNORECASE
    ),
    "a number": re.compile(r"[-+]?\d+(?:[.,]\d+)*"),
}


def num_shared(a: Sequence[Any], b: Sequence[Any]) -> int:
    """Returns the number of items that two texts or lists have in common at the start.

    Examples:
        >>> num_shared("abc", "abd"), num_shared([1, 2], [1, 2, 3])
        (2, 2)
    """
    low, high = 0, min(len(a), len(b))
    while low < high:  # bisection: comparing two slices is much faster than a Python loop over the items
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def first_difference(a: Sequence[Any], b: Sequence[Any]) -> int | None:
    """Returns the first index at which two texts or lists differ; None if they are equal.

    If one of them begins with the other, the index is the length of the shorter one.

    Examples:
        >>> first_difference("abc", "abd"), first_difference("ab", "abd"), first_difference("ab", "ab")
        (2, 2, None)
    """
    return None if a == b else num_shared(a, b)


def dumped(value: Any) -> str:
    """Returns a value as JSON. Keys are not sorted, because templates print them in the order of the value."""
    return json.dumps(value, ensure_ascii=False)


def skipped(items: Sequence[str], others: Sequence[str]) -> int:
    """Returns the index of `items[0]` in `others`; 0 if it is not there, or the length of `others` if `items` is empty.

    Examples:
        >>> skipped(["b", "c"], ["x", "b", "c"]), skipped(["b"], ["x"]), skipped([], ["x", "y"])
        (1, 0, 2)
    """
    if not items:
        return len(others)
    return others.index(items[0]) if items[0] in others else 0


def difference_of_values(one: Any, two: Any, name: str = "") -> str:
    """Describes the first difference of two JSON values, with its path.

    `name` is the path of `one` and `two` in their document. The path of the difference starts with `name`. A value that
    is None is described as missing.

    Examples:
        >>> difference_of_values({"a": 1, "b": 2}, {"b": 2, "a": 1})
        'same JSON, other key order'
        >>> difference_of_values(["10:30"], ["10:31"], "at")
        "at[0]: differs at character 4: '10:30' / '10:31' (a time)"
    """
    path, words = _difference(one, two)
    place = _joined(name, path) if name else path
    return translate("{place}: {words}", place=place, words=words) if place else words


def difference_of_tools(
    one: Sequence[Mapping[str, Any]], two: Sequence[Mapping[str, Any]], index: int | None = None
) -> tuple[str, str]:
    """Describes the first difference of two lists of tools.

    Args:
        one, two: the tools, which differ.
        index: index of the tool in which the rendered texts first differ, if that is known.

    Returns:
        ``"tool"`` if a single tool differs, else ``"tools"``; and a description of the difference.

    Examples:
        >>> difference_of_tools([{"name": "f"}, {"name": "g"}], [{"name": "g"}, {"name": "f"}])
        ('tools', 'tools in another order: f, g / g, f')
    """
    if not one or not two:
        return "tools", translate("tools are only in B") if two else translate("tools are only in A")
    names = [[dumped(tool) for tool in tools] for tools in (one, two)]
    sorted_keys = [[json.dumps(tool, sort_keys=True) for tool in tools] for tools in (one, two)]
    first = first_difference(*names) or 0
    if sorted_keys[0] != sorted_keys[1] and sorted(sorted_keys[0]) == sorted(sorted_keys[1]):
        orders = [", ".join(_tool_name(tool) for tool in tools) for tools in (one, two)]
        return "tools", translate("tools in another order: {one} / {two}", one=orders[0], two=orders[1])
    for side, number in enumerate((skipped(*_tails(sorted_keys, first)), skipped(*_tails(sorted_keys[::-1], first)))):
        if number:
            tool = translate("tool {number}", number=first) + f" ({_tool_name((two, one)[side][first])})"
            what = "{tool} is only in A" if side else "{tool} is only in B"
            return "tool", translate(what, tool=tool)
    if index is None or index >= min(len(one), len(two)) or names[0][index] == names[1][index]:
        index = first
    tool = translate("tool {number}", number=index) + f" ({_tool_name(one[index])})"
    return "tool", translate("{place}: {words}", place=tool, words=difference_of_values(one[index], two[index]))


def _tails(lists: Sequence[Sequence[str]], first: int) -> list[Sequence[str]]:
    return [each[first:] for each in lists]


def _tool_name(tool: Mapping[str, Any]) -> str:
    function = tool.get("function")
    name = (function if isinstance(function, Mapping) else tool).get("name")
    return name if isinstance(name, str) else "?"


def _difference(one: Any, two: Any) -> tuple[str, str]:
    """Returns the path of the first difference, and a description of it."""
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        return _of_objects(one, two)
    if isinstance(one, list | tuple) and isinstance(two, list | tuple):
        for index, (left, right) in enumerate(zip(one, two, strict=False)):
            if dumped(left) != dumped(right):
                path, words = _difference(left, right)
                return _joined(f"[{index}]", path), words
        return "", translate("{one} items / {two} items", one=len(one), two=len(two))
    if one is None or two is None:
        return "", translate("only in B") if one is None else translate("only in A")
    if isinstance(one, str) and isinstance(two, str):
        return "", _of_texts(one, two)
    return "", f"{dumped(one):.{_SHOWN}} / {dumped(two):.{_SHOWN}}"


def _of_objects(one: Mapping[str, Any], two: Mapping[str, Any]) -> tuple[str, str]:
    for name in one:
        if name not in two:
            return name, translate("only in A")
    for name in two:
        if name not in one:
            return name, translate("only in B")
    is_order = list(one) != list(two)
    for name, value in one.items():
        if dumped(value) != dumped(two[name]):
            if is_order:
                return "", translate("other key order, and other values")
            path, words = _difference(value, two[name])
            return _joined(name, path), words
    return "", translate("same JSON, other key order")


def _joined(name: str, path: str) -> str:
    return f"{name}{path}" if not path or path.startswith("[") else f"{name}.{path}"


def _of_texts(one: str, two: str) -> str:
    at = first_difference(one, two)
    if at is None:
        return translate("the same text")
    words = translate(
        "differs at character {number}: {one} / {two}", number=at, one=repr(_word(one, at)), two=repr(_word(two, at))
    )
    kind = _kind(one, two, at)
    return f"{words} ({kind})" if kind else words


def _word(text: str, at: int) -> str:
    """Returns the word around an index, from white space to white space, but at most `_SHOWN` characters of it."""
    start = at
    while start > max(0, at - _SHOWN // 2) and not text[start - 1].isspace():
        start -= 1
    end = at
    while end < min(len(text), at + _SHOWN // 2) and not (text[end].isspace() and end > at):
        end += 1
    return text[start:end]


def _kind(one: str, two: str, at: int) -> str:
    """Returns a phrase for the kind of text that differs; an empty text if the kind is unknown."""
    if "".join(one.split()) == "".join(two.split()):
        return translate("white space only")
    if unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", two):
        return translate("the same characters in another Unicode normalization form")
    if one.casefold() == two.casefold():
        return translate("case only")
    for kind, pattern in KINDS.items():
        if all(_matches(pattern, text, at) for text in (one, two)):
            return translate(kind)
    return ""


def _matches(pattern: re.Pattern[str], text: str, at: int) -> bool:
    """Tests whether a match of a pattern contains the character at an index, or ends directly before this character."""
    start = max(0, at - _SHOWN)
    window = text[start : at + _SHOWN]
    return any(match.start() <= at - start <= match.end() for match in pattern.finditer(window))
