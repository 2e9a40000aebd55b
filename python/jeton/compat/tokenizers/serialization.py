"""Conversion of padding and truncation to and from the form of `tokenizer.json`; indentation of such a file."""

from __future__ import annotations

import json
from typing import Any

from .values import Named, Word

__all__ = ["padding_json", "padding_of_json", "pretty", "shown_settings", "truncation_json", "truncation_of_json"]

_STRATEGIES = {"longest_first": "LongestFirst", "only_first": "OnlyFirst", "only_second": "OnlySecond"}
_NAMES = {spelled: name for name, spelled in _STRATEGIES.items()}
_NO_PADDING = {"pad_to_multiple_of": None, "pad_type_id": 0, "pad_token": "[PAD]"}
_SIDES = {"Left": "left", "Right": "right"}


def truncation_json(options: dict[str, Any] | None) -> dict[str, Any] | None:
    """Converts options of `enable_truncation` to the form of ``tokenizer.json``.

    Examples:
        >>> truncation_json({"max_length": 8, "stride": 0, "strategy": "only_first", "direction": "left"})
        {'direction': 'Left', 'max_length': 8, 'strategy': 'OnlyFirst', 'stride': 0}
    """
    if options is None:
        return None
    return {
        "direction": options["direction"].title(),
        "max_length": options["max_length"],
        "strategy": _STRATEGIES[options["strategy"]],
        "stride": options["stride"],
    }


def truncation_of_json(facts: Any) -> dict[str, Any] | None:
    """Reads the output of `truncation_json`.

    Raises:
        KeyError, TypeError: the JSON is damaged.
    """
    if facts is None:
        return None
    return {
        "max_length": facts["max_length"],
        "stride": facts["stride"],
        "strategy": _NAMES[facts["strategy"]],
        "direction": _SIDES[facts.get("direction", "Right")],
    }


def padding_json(options: dict[str, Any] | None) -> dict[str, Any] | None:
    """Converts options of `enable_padding` to the form of ``tokenizer.json``."""
    if options is None:
        return None
    length = options["length"]
    return {
        "strategy": "BatchLongest" if length is None else {"Fixed": length},
        "direction": options["direction"].title(),
        "pad_to_multiple_of": options["pad_to_multiple_of"],
        "pad_id": options["pad_id"],
        "pad_type_id": options["pad_type_id"],
        "pad_token": options["pad_token"],
    }


def padding_of_json(facts: Any) -> dict[str, Any] | None:
    """Reads the output of `padding_json`.

    Raises:
        KeyError, TypeError: the JSON is damaged.
    """
    if facts is None:
        return None
    strategy = facts["strategy"]
    return {
        "length": None if strategy == "BatchLongest" else strategy["Fixed"],
        "pad_to_multiple_of": facts.get("pad_to_multiple_of"),
        "pad_id": facts["pad_id"],
        "pad_token": facts["pad_token"],
        "pad_type_id": facts["pad_type_id"],
        "direction": _SIDES[facts["direction"]],
    }


def shown_settings(truncation: dict[str, Any] | None, padding: dict[str, Any] | None) -> tuple[Any, Any]:
    """Returns truncation and padding in the form that `repr` shows.

    Examples:
        >>> shown_settings(None, {"length": 8, "direction": "left", "pad_id": 0})[1]["strategy"]
        {'Fixed': 8}
    """
    written = [truncation_json(truncation), None if padding is None else padding_json({**_NO_PADDING, **padding})]
    for each in filter(None, written):
        each["direction"] = Word(each["direction"])
        strategy = each["strategy"]
        each["strategy"] = Word(strategy) if isinstance(strategy, str) else Named("Fixed", strategy)
    names = ("TruncationParams", "PaddingParams")
    named = [None if each is None else Named(name, each) for name, each in zip(names, written, strict=True)]
    return named[0], named[1]


def pretty(text: str) -> str:
    """Formats a tokenizer's JSON on several lines, indented by two spaces.

    Examples:
        >>> print(pretty('{"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":[["a","b"]]}}'))
        {
          "model": {
            "type": "BPE",
            "vocab": {
              "a": 0,
              "b": 1
            },
            "merges": [
              [
                "a",
                "b"
              ]
            ]
          }
        }
    """
    top = json.loads(text)
    model, large = top["model"], {}
    for name in ("vocab", "merges"):  # written separately, because indentation by `json` is slow for long lists
        if model.get(name):
            large[name], model[name] = _entry_lines(model[name]), 0
    written = json.dumps(top, ensure_ascii=False, indent=2)
    for name, lines in large.items():
        before, _, after = written.rpartition(f'\n    "{name}": 0')
        written = f'{before}\n    "{name}": {lines}{after}'
    return written


def _entry_lines(entries: Any) -> str:
    if isinstance(entries, dict):
        inner = json.dumps(entries, ensure_ascii=False, separators=(",\n      ", ": "))[1:-1]
        return f"{{\n      {inner}\n    }}"
    # The separator is NUL. `json.dumps` escapes every NUL in a string, so each NUL in the output is a separator.
    inner = json.dumps(entries, ensure_ascii=False, separators=("\0", ""))[2:-2]
    inner = inner.replace("]\0[", "\n      ],\n      [\n        ").replace("\0", ",\n        ")
    return f"[\n      [\n        {inner}\n      ]\n    ]"
