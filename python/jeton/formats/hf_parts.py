"""The pipeline parts of `tokenizer.json`: how HF spells what a `Definition` says, and back.

Each shape that is written here is one that is read here; anything else is refused by the name HF gives it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .. import _core
from ..definition import Definition, Pattern
from ..errors import FormatError, UnsupportedFeatureError

__all__ = ["Parts", "read_parts", "write_parts"]

JSON = dict[str, Any]


@dataclass
class Parts:
    """What surrounds the model in the file.

    Attributes:
        normalizer, pre_tokenizer, decoder: as HF spells them; None where there is none.
        mark: what tokens that end a word are spelled with at their end.
        losses: name -> what HF cannot express.
    """

    normalizer: JSON | None
    pre_tokenizer: JSON | None
    decoder: JSON | None
    mark: str
    losses: dict[str, str] = field(default_factory=dict)


def _byte_level(*, use_regex: bool = False) -> JSON:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def _sequence(key: str, parts: list[JSON]) -> JSON | None:
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else {"type": "Sequence", key: parts}


def _split(regex: str) -> JSON:
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}


def _replace(old: str, new: str) -> JSON:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


_BYTES: JSON = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
# Not HF's Strip, which panics on an empty text.
_STRIP_LAST_SPACE: JSON = {"type": "Replace", "pattern": {"Regex": r" \z"}, "content": ""}


def write_parts(definition: Definition, mark: str) -> Parts:
    """HF's spelling of a definition.

    Args:
        definition: what to spell.
        mark: for a mark of its own, the private-use character that stands for it; for a suffix, the suffix.
    """
    byte_level = definition.level == "byte"
    losses: dict[str, str] = {}
    splits, use_regex = _write_pattern(definition.pattern, byte_level, losses)
    pre = [*splits, *([_byte_level(use_regex=use_regex)] if byte_level else [])]
    decoder = _BYTES if byte_level else {"type": "Fuse"}
    parts = Parts(None, _sequence("pretokenizers", pre), decoder, mark, losses)
    if definition.end_of_word is None:
        return parts
    if definition.end_of_word_style == "symbol":
        if byte_level:
            losses["end_of_word"] = "an end-of-word symbol at byte level"
        parts.normalizer = {"type": "Replace", "pattern": {"Regex": r"(?<=\S)(?=\s|$)"}, "content": mark}
        parts.decoder = _sequence("decoders", [_replace(mark, " "), {"type": "Fuse"}, _STRIP_LAST_SPACE])
    elif byte_level:
        space = "\u0120"  # a space in the byte alphabet
        parts.decoder = _sequence("decoders", [_replace(mark, space), _BYTES, _STRIP_LAST_SPACE])
    else:
        parts.decoder = {"type": "BPEDecoder", "suffix": mark}
    return parts


def _write_pattern(pattern: Pattern, byte_level: bool, losses: dict[str, str]) -> tuple[list[JSON], bool]:
    """Pre-tokenizers that split as the pattern does, and whether ByteLevel's own regex is one of them."""
    if pattern.text == "none" and not pattern.is_regex:
        return [], False
    if pattern.text == "whitespace" and not pattern.is_regex:
        return [{"type": "WhitespaceSplit"}], False
    if pattern.text == "gpt2" and not pattern.is_regex and byte_level:
        return [], True
    regex, construct = _core.oniguruma_pattern(pattern.text, is_regex=pattern.is_regex)
    if regex is None:
        losses["pattern"] = f"the pattern {pattern.text!r}: {construct} means something else, or nothing, in Oniguruma"
        return [], False
    return [_split(regex)], False


def read_parts(top: JSON, model: JSON) -> JSON:
    """The fields of a `Definition` from a file that is not ours, and ``spelling``, the mark's.

    Raises:
        UnsupportedFeatureError: a part that is not carried; names it and its place.
    """
    if top.get("normalizer") is not None:
        raise _refuse("normalizer", top["normalizer"], "$.normalizer")
    pre = top.get("pre_tokenizer")
    chain = pre.get("pretokenizers") if isinstance(pre, dict) and pre.get("type") == "Sequence" else [pre]
    if not isinstance(chain, list):
        raise FormatError("a Sequence needs a list", place="$.pre_tokenizer.pretokenizers")
    byte_level, pattern = False, Pattern("none", False)
    for part in chain:
        if part is None:
            continue
        kind = part.get("type") if isinstance(part, dict) else None
        first = pattern == Pattern("none", False)
        if kind == "ByteLevel" and not byte_level and not part.get("add_prefix_space", True):
            byte_level = True
            if part.get("use_regex", True):
                if not first:
                    raise _refuse("pre-tokenizer", part, "$.pre_tokenizer", "a second split")
                pattern = Pattern("gpt2", False)
        elif kind == "WhitespaceSplit" and first and not byte_level:
            pattern = Pattern("whitespace", False)
        elif kind == "Split" and first and not byte_level:
            pattern = _read_split(part)
        else:
            raise _refuse("pre-tokenizer", part, "$.pre_tokenizer")
    suffix = model.get("end_of_word_suffix") or None
    if suffix is not None and pattern.text != "whitespace":
        raise UnsupportedFeatureError(
            "end_of_word_suffix is carried with WhitespaceSplit only",
            place="$.model.end_of_word_suffix",
            feature="end_of_word_suffix",
        )
    decoder = top.get("decoder")
    expected = write_parts(
        Definition(
            level="byte" if byte_level else "char", pattern=pattern, end_of_word=suffix, end_of_word_style="suffix"
        ),
        suffix or "",
    ).decoder
    kind = decoder.get("type") if isinstance(decoder, dict) else None
    if expected is None or (decoder != expected and not (kind == expected["type"] and kind in ("ByteLevel", "Fuse"))):
        raise _refuse("decoder", decoder, "$.decoder")
    parts: JSON = {"level": "byte" if byte_level else "char", "pattern": pattern, "spelling": suffix or ""}
    if suffix is not None:
        parts |= {"end_of_word": suffix, "end_of_word_style": "suffix"}
    return parts


def _read_split(part: JSON) -> Pattern:
    spelled = part.get("pattern")
    regex = spelled.get("Regex") if isinstance(spelled, dict) else None
    if not isinstance(regex, str) or part.get("behavior") != "Isolated" or part.get("invert"):
        raise _refuse("pre-tokenizer", part, "$.pre_tokenizer", "only isolated matches of a regex are carried")
    for name in Pattern.names():
        if _core.oniguruma_pattern(name, is_regex=False)[0] == regex:
            return Pattern(name, False)
    translated, construct = _core.oniguruma_pattern(regex, is_regex=True)
    if translated != regex:  # what reads the same in both dialects means the same in both
        what = construct or "a construct of Oniguruma"
        raise UnsupportedFeatureError(
            f"the regex {regex!r} holds {what}, which means something else here",
            place="$.pre_tokenizer",
            feature="Split",
        )
    return Pattern.of(regex)


def _refuse(role: str, part: object, place: str, why: str = "") -> UnsupportedFeatureError:
    name = part.get("type") if isinstance(part, dict) else part
    details = f" ({why})" if why else ""
    return UnsupportedFeatureError(f"the {role} {name!r} is not carried yet{details}", place=place, feature=str(name))
