"""Upper bounds of the memory and work of methods and filters, computed from their arguments before they run.

`METHODS` and `FILTERS` list all methods and filters that templates may use. Each bound is a function with the
parameters of its operation, so Python binds positional and keyword arguments in the same way. A bound passes the
operation's peak memory to the `RenderBudget` (`afford`). If the work is more than linear in the size of values that
have already been charged, the bound passes the work, too (`step`). The result is charged after the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import log2
from typing import Any

from jinja2.exceptions import TemplateError
from jinja2.filters import make_attrgetter, make_multi_attrgetter

from .formatting import check_percent
from .limits import MAX_BITS, RUN, SLOT, VALUE, RenderBudget, bytes_of, is_traced, piece_bytes, width
from .markup import TracedMarkup, escaped
from .provenance import TracedStr, runs_of

__all__ = ["FILTERS", "METHODS", "OF_TEXT", "check_number", "joined"]

Cost = Callable[..., None]

_DIGITS_PER_BIT = 0.3010
_MAX_DIGITS = int(MAX_BITS * _DIGITS_PER_BIT)


def _count(value: Any) -> int:
    """Returns a count, at least 0. Returns 0 for a value that is not an integer: the operation will raise an error."""
    return max(value, 0) if isinstance(value, int) else 0


def _widest(*texts: Any) -> int:
    return max((width(text) for text in texts if isinstance(text, str)), default=1)


def check_number(value: Any) -> None:
    """Rejects integers of more than `MAX_BITS` bits, with which arithmetic would be slow."""
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise TemplateError(f"an integer has more than {MAX_BITS} bits")


# ── texts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _linear(state: RenderBudget, text: str, *args: Any) -> None:
    state.step(len(text) + sum(len(arg) for arg in args if isinstance(arg, str)))


def _cased(state: RenderBudget, text: str) -> None:
    # A change of case turns one character into at most three: ŉ → ʼN, ΐ → three characters.
    state.afford(bytes_of(text) + 3 * len(text) * max(width(text), 2))


def _padded(state: RenderBudget, text: str, width: Any, fillchar: Any = " ") -> None:
    state.afford(bytes_of(text) + max(len(text), _count(width)) * _widest(text, fillchar))


def _zfill(state: RenderBudget, text: str, width: Any) -> None:
    _padded(state, text, width)


def _expandtabs(state: RenderBudget, text: str, tabsize: Any = 8) -> None:
    state.afford((len(text) + text.count("\t") * _count(tabsize)) * width(text))


def _matched(state: RenderBudget, text: str, affix: Any, *span: Any) -> None:
    state.step(state.size(affix))


def _found_backwards(state: RenderBudget, text: str, sub: Any, *span: Any) -> None:
    state.step(len(text) * len(sub))  # CPython's reverse search is O(n·m)


def _stripped(state: RenderBudget, text: str, chars: Any = None) -> None:
    state.afford(bytes_of(text))
    state.step(len(text) * len(chars or ""))


def _without_affix(state: RenderBudget, text: str, affix: Any) -> None:
    state.afford(bytes_of(text))


def _pieces(state: RenderBudget, text: str, most: int, maxsplit: Any = -1) -> None:
    """Bounds the memory of a split into at most `most` substrings."""
    if isinstance(maxsplit, int) and maxsplit >= 0:
        most = min(most, maxsplit + 1)
    state.afford(2 * bytes_of(text) + most * piece_bytes(text))


def _split(state: RenderBudget, text: str, sep: Any = None, maxsplit: Any = -1) -> None:
    if isinstance(sep, str):
        _pieces(state, text, text.count(sep) + 1 if sep else 0, maxsplit)
    else:
        state.afford(len(text) * VALUE // 2)  # memory of the split: at most every second character begins a word
        _pieces(state, text, len(str.split(text)) + 1, maxsplit)


def _rsplit(state: RenderBudget, text: str, sep: Any = None, maxsplit: Any = -1) -> None:
    if isinstance(sep, str):
        _found_backwards(state, text, sep)
    _split(state, text, sep, maxsplit)


def _lines(state: RenderBudget, text: str) -> int:
    state.afford(len(text) * VALUE // 2)
    return len(str.splitlines(text)) + 1


def _splitlines(state: RenderBudget, text: str, keepends: Any = False) -> None:
    _pieces(state, text, _lines(state, text))


def _partition(state: RenderBudget, text: str, sep: Any) -> None:
    _pieces(state, text, 3)


def _rpartition(state: RenderBudget, text: str, sep: Any) -> None:
    _found_backwards(state, text, sep)
    _pieces(state, text, 3)


def _replace(state: RenderBudget, text: str, old: Any, new: Any, count: Any = -1) -> None:
    if not isinstance(old, str) or not isinstance(new, str):
        return  # the operation raises an error
    times = text.count(old)
    times = min(times, count) if isinstance(count, int) and count >= 0 else times
    per_time = len(new) * _widest(text, new)
    if isinstance(text, TracedStr) or isinstance(new, TracedStr):
        per_time += 2 * piece_bytes(text) + SLOT + RUN * (len(new._runs) if isinstance(new, TracedStr) else 1)
    state.afford(bytes_of(text) + len(text) * _widest(new) + times * per_time)


def _translate(state: RenderBudget, text: str, table: Any) -> None:
    longest, wide = 1, 4
    for item in state.leaves(table):
        longest = max(longest, len(item) if isinstance(item, str) else 1)
    state.afford(len(text) * longest * wide)


def joined(state: RenderBudget, separator: str, items: Any) -> str:
    """Evaluates ``separator.join(items)`` with provenance."""
    texts = state.hold(items)
    if isinstance(separator, TracedMarkup):
        texts = [escaped(text) for text in texts]
    if isinstance(texts, str):
        state.afford(len(texts) * (piece_bytes(texts) + SLOT))
        texts = list(texts)
    elif not isinstance(texts, list | tuple):
        texts = list(texts)
    state.charge(SLOT * len(texts))
    chars, wide, runs = 0, width(separator), 0
    between = len(separator), len(separator._runs) if isinstance(separator, TracedStr) else 1
    for text in texts:
        if not isinstance(text, str):
            raise TemplateError(f"join() of {type(text).__name__}: only strings can be joined")
        chars += len(text) + between[0]
        runs += between[1] + (len(text._runs) if isinstance(text, TracedStr) else 1)
        wide = max(wide, width(text))
        state.charge()
    traced = isinstance(separator, TracedStr) or any(isinstance(text, TracedStr) for text in texts)
    state.afford(chars * wide + (2 * RUN + 2 * SLOT) * runs * traced)
    if traced and not isinstance(separator, TracedStr):
        separator = TracedStr(separator, runs_of(separator))
    result = separator.join(texts)
    state.charge(bytes_of(result))
    return result


def _striptags(state: RenderBudget, text: str) -> None:
    state.step(2 * text.count("<") * len(text))  # Jinja copies the text for each tag
    state.afford(len(text) * VALUE)


def _unescape(state: RenderBudget, text: str) -> None:
    state.afford(len(text) * VALUE)


# Methods of `str` and `Markup`. `encode` is left out, because `bytes` cannot record the origin of characters.
METHODS: dict[str, Cost] = {
    **dict.fromkeys((
        "count", "find", "index", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower",
        "isnumeric", "isprintable", "isspace", "istitle", "isupper",
    ), _linear),
    **dict.fromkeys(("capitalize", "casefold", "lower", "swapcase", "title", "upper"), _cased),
    **dict.fromkeys(("center", "ljust", "rjust"), _padded),
    **dict.fromkeys(("startswith", "endswith"), _matched),
    **dict.fromkeys(("rfind", "rindex"), _found_backwards),
    **dict.fromkeys(("strip", "lstrip", "rstrip"), _stripped),
    **dict.fromkeys(("removeprefix", "removesuffix"), _without_affix),
    "expandtabs": _expandtabs,
    "partition": _partition,
    "replace": _replace,
    "rpartition": _rpartition,
    "rsplit": _rsplit,
    "split": _split,
    "splitlines": _splitlines,
    "striptags": _striptags,
    "translate": _translate,
    "unescape": _unescape,
    "zfill": _zfill,
}  # fmt: skip


# ── filters of a text ───────────────────────────────────────────────────────────────────────────────────────────────


def _text(state: RenderBudget, text: str) -> None:
    pass


def _center(state: RenderBudget, text: str, width: Any = 80) -> None:
    _padded(state, text, width)


def _format(state: RenderBudget, text: str, *args: Any, **kwargs: Any) -> None:
    check_percent(state, text, kwargs or args)
    state.afford(2 * (text.count("%s") + 1) * piece_bytes(text) if is_traced((text, args, kwargs)) else 0)


def _indent(state: RenderBudget, text: str, width: Any = 4, first: Any = False, blank: Any = False) -> None:
    lines = _lines(state, text)
    indention = len(width) if isinstance(width, str) else _count(width)
    state.afford(2 * bytes_of(text) + lines * (2 * (indention + 1) * _widest(text, width) + piece_bytes(text)))


def _per_word(state: RenderBudget, text: str, *args: Any) -> None:
    state.afford(2 * len(text) * VALUE)


def _truncate(
    state: RenderBudget, text: str, length: Any = 255, killwords: Any = False, end: Any = "...", leeway: Any = None
) -> None:
    state.afford(2 * bytes_of(text) + len(text) * _widest(text, end))


def _wordwrap(
    state: RenderBudget,
    text: str,
    width: Any = 79,
    break_long_words: Any = True,
    wrapstring: Any = None,
    break_on_hyphens: Any = True,
) -> None:
    state.afford(len(text) * (4 * VALUE + len(wrapstring or "\n") * _widest(text, wrapstring)))
    # For each line, textwrap copies the rest of a long word; at each hyphen, it scans this rest.
    state.step(4 * len(text) * max(map(len, str.split(text)), default=0))


def _tojson(
    state: RenderBudget,
    value: Any,
    ensure_ascii: Any = False,
    indent: Any = None,
    separators: Any = None,
    sort_keys: Any = False,
) -> None:
    """Bounds only the longest string, because JSON is encoded and charged incrementally, one string at a time."""
    if (len(indent) if isinstance(indent, str) else _count(indent)) > 100:
        raise TemplateError("JSON indented by more than 100 spaces is not supported")
    for leaf in state.leaves(value):
        if isinstance(leaf, str):
            state.afford((12 if ensure_ascii else 6) * len(leaf) * width(leaf))


def _join(state: RenderBudget, value: Any, d: Any = "", attribute: Any = None) -> None:
    pass  # `joined` charges it


# ── filters of other values ─────────────────────────────────────────────────────────────────────────────────────────


def _free(state: RenderBudget, *args: Any, **kwargs: Any) -> None:
    """Does nothing: the cost of the operation is constant, so it needs no bound."""


def _number(state: RenderBudget, value: Any, *args: Any, **kwargs: Any) -> None:
    check_number(value)


def _int(state: RenderBudget, value: Any, default: Any = 0, base: Any = 10) -> None:
    check_number(value)
    if isinstance(value, str) and len(value) > MAX_BITS // 6 and base != 10:  # at most 6 bits per digit
        raise TemplateError("an integer has too many digits")


def _round(state: RenderBudget, value: Any, precision: Any = 0, method: Any = "common") -> None:
    check_number(value)
    if isinstance(precision, int) and abs(precision) > _MAX_DIGITS:
        raise TemplateError(f"a number is rounded to more than {_MAX_DIGITS} digits")


def _listed(state: RenderBudget, value: Any, *args: Any, **kwargs: Any) -> None:
    """Bounds the memory of an operation that creates a list of a value's elements."""
    made = _length(value) * _per_item(value)
    state.afford(made + _length(value) * SLOT)
    state.charge(made)


def _length(value: Any) -> int:
    return len(value) if hasattr(value, "__len__") else 0


def _per_item(value: Any) -> int:
    """Returns the size in bytes of each object that iteration over a value creates, without its slot in a list."""
    if isinstance(value, str):
        return piece_bytes(value) - SLOT
    return 0 if isinstance(value, list | tuple | dict) else 2 * VALUE


def _items(state: RenderBudget, value: Any) -> None:
    state.charge(2 * VALUE * _length(value))


def _batch(state: RenderBudget, value: Any, linecount: Any, fill_with: Any = None) -> None:
    _listed(state, value)
    state.charge(SLOT * _length(value) + VALUE * (_length(value) // max(_count(linecount), 1)))
    state.charge(SLOT * _count(linecount) if fill_with is not None else 0)


def _slice(state: RenderBudget, value: Any, slices: Any, fill_with: Any = None) -> None:
    _listed(state, value)
    state.charge(2 * SLOT * _length(value) + (VALUE + SLOT) * _count(slices))


def _sum(state: RenderBudget, value: Any, attribute: Any = None, start: Any = 0, *, environment: Any) -> None:
    number = total = 0
    get = None if attribute is None else make_attrgetter(environment, attribute)
    for item in value:
        state.charge()
        of = item if get is None else get(item)
        check_number(of)
        number, total = number + 1, total + (len(of) if isinstance(of, list | tuple) else 0)
    if isinstance(start, list | tuple):  # each addition copies the sum so far
        total += len(start)
        state.afford(2 * SLOT * total)
        state.step(SLOT * total * number)


def _sorted(state: RenderBudget, keys: Iterable[Any], case_sensitive: Any, *, sorts: bool) -> None:
    """Bounds the cost of comparing keys. Unless `case_sensitive`, lowercase copies of all keys are created first."""
    number = total = copies = longest = 0
    for key in keys:
        size = state.size(key)
        state.charge()
        number, total, longest = number + 1, total + size, max(longest, size)
        copies += 0 if case_sensitive or not isinstance(key, str) else 3 * bytes_of(key)
    if sorts:
        state.afford(copies + 4 * SLOT * number)
        state.step(min(number * int(log2(number + 1) + 1) * longest, total * number))
    else:
        state.step(copies + 2 * total)


def _keys(state: RenderBudget, environment: Any, value: Any, attribute: Any, sorts: bool, case_sensitive: Any) -> None:
    state.charge(_length(value) * _per_item(value))
    if attribute is None:
        keys: Iterable[Any] = value
    else:
        getter = (make_multi_attrgetter if sorts else make_attrgetter)(environment, attribute)
        keys = map(getter, value)
        if sorts:
            keys = (key for several in keys for key in several)
    _sorted(state, keys, case_sensitive, sorts=sorts)


def _sort(
    state: RenderBudget,
    value: Any,
    reverse: Any = False,
    case_sensitive: Any = False,
    attribute: Any = None,
    *,
    environment: Any,
) -> None:
    _keys(state, environment, value, attribute, True, case_sensitive)


def _groupby(
    state: RenderBudget,
    value: Any,
    attribute: Any,
    default: Any = None,
    case_sensitive: Any = False,
    *,
    environment: Any,
) -> None:
    _sort(state, value, False, case_sensitive, attribute, environment=environment)
    state.charge(4 * VALUE * _length(value))


def _extreme(
    state: RenderBudget, value: Any, case_sensitive: Any = False, attribute: Any = None, *, environment: Any
) -> None:
    _keys(state, environment, value, attribute, False, case_sensitive)


def _unique(
    state: RenderBudget, value: Any, case_sensitive: Any = False, attribute: Any = None, *, environment: Any
) -> None:
    _keys(state, environment, value, attribute, False, case_sensitive)
    state.afford(2 * VALUE * _length(value))


def _dictsort(
    state: RenderBudget, value: Any, case_sensitive: Any = False, by: Any = "key", reverse: Any = False
) -> None:
    if isinstance(value, dict):
        _sorted(state, value.values() if by == "value" else value, case_sensitive, sorts=True)
        state.charge(2 * VALUE * len(value))


def _reverse(state: RenderBudget, value: Any) -> None:
    if isinstance(value, str):
        state.afford(2 * bytes_of(value))


# Filters whose first argument is converted to text. Their result (except of `wordcount`) is text from the arguments.
OF_TEXT: dict[str, Cost] = {
    **dict.fromkeys(("capitalize", "lower", "upper"), _cased),
    **dict.fromkeys(("e", "escape", "forceescape", "safe", "string"), _text),  # `escaped` charges itself
    **dict.fromkeys(("title", "wordcount"), _per_word),
    "center": _center,
    "format": _format,
    "indent": _indent,
    "replace": _replace,
    "striptags": _striptags,
    "trim": _stripped,
    "truncate": _truncate,
    "wordwrap": _wordwrap,
}
FILTERS: dict[str, Cost] = {
    **OF_TEXT,
    **dict.fromkeys((
        "attr", "count", "d", "default", "filesizeformat", "first", "float", "last", "length", "map", "reject",
        "rejectattr", "select", "selectattr",
    ), _free),
    **dict.fromkeys(("max", "min"), _extreme),
    "abs": _number,
    "batch": _batch,
    "dictsort": _dictsort,
    "groupby": _groupby,
    "int": _int,
    "items": _items,
    "join": _join,
    "list": _listed,
    "reverse": _reverse,
    "round": _round,
    "slice": _slice,
    "sort": _sort,
    "sum": _sum,
    "tojson": _tojson,
    "unique": _unique,
}  # fmt: skip
