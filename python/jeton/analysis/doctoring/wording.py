"""Sentences that describe the differences of two definitions, with the second tokenizer as the subject."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...definition import Bpe, Component, Model, ordered
from ...tokenizer import Tokenizer
from ...tokens.added import AddedToken
from ...util.messages import translate

__all__ = [
    "model_of", "names_of", "of_entries", "of_field", "of_flag", "of_marks", "of_option", "of_part", "parts_of",
    "quoted", "template_of",
]  # fmt: skip

MAX_NAMES = 4


def quoted(text: str | None) -> str:
    """Quotes a text as in JSON; a lone surrogate, which UTF-8 cannot encode, is escaped.

    Examples:
        >>> quoted("é\\ud800")
        '"é\\\\ud800"'
    """
    return json.dumps(text, ensure_ascii=False).encode(errors="backslashreplace").decode()


def names_of(names: Iterable[str]) -> str:
    """Returns a text with the first few names of a list, and the number of the other names."""
    listed = list(names)
    shown = ", ".join(repr(name) if len(name) <= 40 else f"{name[:40]!r}…" for name in listed[:MAX_NAMES])
    more = len(listed) - MAX_NAMES
    return shown if more <= 0 else translate("{names} and {number} more", names=shown, number=f"{more:,}")


def of_marks(a: str, b: str) -> tuple[str, str]:
    """Returns the cause, and a sentence that says where each tokenizer adds ▁, or that they mark spaces differently."""
    meanings: dict[str, Callable[[], str]] = {
        "always": lambda: translate("before the text and after each added token"),
        "first": lambda: translate("before the text only"),
        "never": lambda: translate("nowhere"),
    }
    if a == b:
        return "prefix_space", translate("its components write ▁ in place of spaces otherwise")
    cause = "prefix_space" if "never" in (a, b) else "legacy"
    words = translate("it adds ▁ {place}, not {other}", place=meanings[b](), other=meanings[a]())
    options = {
        "legacy": translate("the option legacy"),
        "prefix_space": translate("the options add_prefix_space and add_dummy_prefix"),
    }
    return cause, f"{words} ({options[cause]})"


_CAUSES = {"normalizer": "normalizer", "pretokenizer": "pattern"}


def of_part(stage: str, a: Component | None, b: Component | None) -> tuple[str, str]:
    """Returns the name of a cause of differences, and a sentence: a component is missing or has another type."""
    cause = _CAUSES[stage]
    adds = [part is not None and bool(part.get("add_prefix_space")) for part in (a, b)]
    if stage == "pretokenizer" and None in (a, b) and any(adds):
        return _of_prefix(adds[1], "add_prefix_space")
    if b is None:
        part = _part(a)
        if stage == "normalizer":
            return cause, translate("it lacks the normalizer {part}", part=part)
        return cause, translate("it does not split by {part}", part=part)
    if a is None:
        part = _part(b)
        if stage == "normalizer":
            return cause, translate("it has the normalizer {part} in addition", part=part)
        return cause, translate("it splits by {part} in addition", part=part)
    part, other = _part(b), _part(a)
    if stage == "normalizer":
        return cause, translate("its normalizer is {part}, not {other}", part=part, other=other)
    return cause, translate("it splits by {part}, not by {other}", part=part, other=other)


def of_field(stage: str, kind: str, field: str, a: Any, b: Any) -> tuple[str, str]:
    """Returns the name of a cause of differences, and a sentence: an option of a component has another value."""
    if field in ("add_prefix_space", "add_dummy_prefix"):
        return _of_prefix(bool(b), field)
    if field == "precompiled_charsmap":
        if not b:
            return "normalizer", translate("it lacks the character map of the model's normalization, such as NFKC")
        if not a:
            return "normalizer", translate("it has a character map of the model's normalization, such as NFKC")
        return "normalizer", translate("its character map differs")
    name = f"{kind}.{field}"
    words = translate("{name} is {value}, not {other}", name=name, value=_short(b), other=_short(a))
    return _CAUSES[stage], words


def _of_prefix(adds: bool, option: str) -> tuple[str, str]:
    words = translate("it adds a space before the text") if adds else translate("it adds no space before the text")
    return "prefix_space", f"{words} ({option})"


def of_flag(flag: str, ids: Sequence[int], ours: Mapping[int, AddedToken], theirs: Mapping[int, AddedToken]) -> str:
    """Returns a sentence which says that `flag` has another value in these added tokens of the second tokenizer."""
    names = names_of(ours[id].content for id in ids)
    value = getattr(theirs[ids[0]], flag)
    return translate("{flag} is {value} for the added tokens {names}", flag=flag, value=_short(value), names=names)


def of_option(option: str, a: Any, b: Any) -> tuple[str, str]:
    """Returns the name of a cause of differences, and a sentence: an option of the model has another value."""
    cause = {"whole_first": "ignore_merges", "unk_token": "unknown_token", "fuse_unk": "unknown_token"}
    name = cause.get(option, option)
    spelled = "ignore_merges" if option == "whole_first" else option
    return name, translate("{name} is {value}, not {other}", name=spelled, value=_short(b), other=_short(a))


def of_entries(a: Tokenizer, b: Tokenizer, ours: Mapping[int, bytes], theirs: Mapping[int, bytes]) -> str:
    """Returns a sentence that describes how two sets of entries (id → content) differ."""
    missing = [id for id in ours if id not in theirs]
    extra = [id for id in theirs if id not in ours]
    other = [id for id in ours if id in theirs and ours[id] != theirs[id]]
    words = []
    if missing:
        names = names_of(map(a.id_to_token, missing))
        words.append(translate("it lacks {number} entries: {names}", number=f"{len(missing):,}", names=names))
    if extra:
        names = names_of(map(b.id_to_token, extra))
        words.append(translate("it has {number} additional entries: {names}", number=f"{len(extra):,}", names=names))
    if other:
        first = other[0]
        words.append(
            translate(
                "{number} of its ids are other tokens: {id} is {token}, not {other}",
                number=f"{len(other):,}",
                id=first,
                token=repr(b.id_to_token(first)),
                other=repr(a.id_to_token(first)),
            )
        )
    return "; ".join(words)


def template_of(tok: Tokenizer) -> str:
    """Returns the template for one text, with … in place of the text."""
    items: Sequence[Any] = (tok.definition.template or {}).get("single") or [{"sequence": "A"}]
    return " ".join(
        "…" if "sequence" in item else " ".join(tok.id_to_token(id) for id in item["ids"]) for item in items
    )


def model_of(model: Model) -> str:
    """Returns the name of the model's type."""
    return f"{model.type} ({model.level})" if isinstance(model, Bpe) else model.type


def _part(part: Component | None) -> str:
    """Describes a component and its options briefly."""
    if part is None:
        return ""
    if part["type"] == "Pattern":
        return _short(part.get("name", part.get("regex")))
    if part["type"] == "Precompiled":
        return translate("Precompiled (the model's character map, such as NFKC)")
    options = {key: value for key, value in part.items() if key != "type"}
    if part["type"] in ("SentencePiece", "Metaspace", "ByteLevel"):  # their options are long or many
        return str(part["type"])
    if part["type"] == "Split":
        pattern = part.get("pattern")
        return _short(next(iter(pattern.values())) if isinstance(pattern, Mapping) else pattern)
    if not options:
        return str(part["type"])
    return f"{part['type']}({', '.join(f'{key}={_short(value)}' for key, value in options.items())})"


def parts_of(parts: Iterable[Component]) -> str:
    """Describes the components of a stage briefly."""
    return ", ".join(map(_part, parts)) or translate("nothing")


def _short(value: Any, longest: int = 48) -> str:
    if isinstance(value, str):
        return repr(value) if len(value) <= longest else f"{value[:longest]!r}…"
    text = json.dumps(ordered(value), ensure_ascii=False, default=str)
    return text if len(text) <= longest else f"{text[:longest]}…"
