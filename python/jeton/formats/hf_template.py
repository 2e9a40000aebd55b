"""Conversion between HF's post-processors in `tokenizer.json` and templates of a `Definition`.

A template is ``{"single": [item…], "pair": [item…], "trim_offsets": bool, "add_prefix_space": bool}``; an item is
``{"sequence": "A" | "B", "type_id": n}`` or ``{"ids": [id…], "type_id": n}``. If there is no template (None), no tokens
are added.

A template has ``"overflow_type_ids"`` in only two cases: it comes from a RobertaProcessing that does not trim offsets
(as in CLIP); or it comes from a TemplateProcessing with the same items as a RobertaProcessing, and a ByteLevel trims
the offsets.

Source: huggingface/tokenizers, processors/ (bert.rs, roberta.rs, template.rs, sequence.rs) and
pre_tokenizers/byte_level.rs.

Not supported, and rejected with an error that names the feature: two post-processors that both add tokens; two that
both trim offsets (HF trims twice); a post-processor after a template (HF then counts each item of the template as a
sequence of its own). The names of tokens in a template are not preserved; the spellings in the vocabulary are used.
"""

from __future__ import annotations

from ..definition import sets_overflow_types
from ..errors import FormatError, UnsupportedFeatureError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    JSON = dict[str, Any]

__all__ = ["read_template", "write_template"]

MOST_IDS = 1 << 16  # maximum number of ids in a template; a short file can repeat a token many times

_SINGLE: list[JSON] = [{"sequence": "A", "type_id": 0}]
_PAIR: list[JSON] = [{"sequence": "A", "type_id": 0}, {"sequence": "B", "type_id": 1}]


def read_template(post_processor: JSON | None, place: str = "$.post_processor") -> JSON | None:
    """Converts a post-processor to a template.

    Args:
        post_processor: HF's JSON.
        place: JSON path of the post-processor, for error messages.

    Raises:
        FormatError: HF would reject the JSON; the error has the JSON path.
        UnsupportedFeatureError: a post-processor, or the combination of several, is not supported.

    Example:
        >>> bert = {"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}
        >>> read_template(bert)["single"]
        [{'ids': [101], 'type_id': 0}, {'sequence': 'A', 'type_id': 0}, {'ids': [102], 'type_id': 0}]
    """
    if post_processor is None:
        return None
    single, pair = _SINGLE, _PAIR
    trimmer: JSON | None = None
    adds = has_roberta = False
    for part, where in _flat(post_processor, place):
        kind = part.get("type")
        if adds:
            raise _refuse(kind, where, "it follows one that adds tokens")
        if kind == "ByteLevel":
            trims = _field(part, "trim_offsets", bool, where)
            _field(part, "add_prefix_space", bool, where)
        elif kind == "RobertaProcessing":
            trims = _field(part, "trim_offsets", bool, where)
            _field(part, "add_prefix_space", bool, where)
            cls, sep = _named(part, "cls", where), _named(part, "sep", where)
            single = [_ids(cls), _text("A"), _ids(sep)]
            pair = [*single, _ids(sep), _text("B"), _ids(sep)]
            adds = has_roberta = True
        elif kind == "BertProcessing":
            trims = False
            cls, sep = _named(part, "cls", where), _named(part, "sep", where)
            single = [_ids(cls), _text("A"), _ids(sep)]
            pair = [*single, _text("B", 1), _ids(sep, 1)]
            adds = True
        elif kind == "TemplateProcessing":
            trims = False
            single = _read_items(part, "single", where)
            pair = _read_items(part, "pair", where)
            adds = True
        else:
            raise _refuse(kind, where)
        if trims:
            if trimmer is not None:
                raise _refuse(kind, where, "two post-processors trim offsets")
            trimmer = part
    if trimmer is None and single == _SINGLE and pair == _PAIR:
        return None
    template = {
        "single": single,
        "pair": pair,
        "trim_offsets": trimmer is not None,
        "add_prefix_space": trimmer is not None and trimmer["add_prefix_space"],
    }
    if sets_overflow_types(template) != has_roberta:
        template["overflow_type_ids"] = has_roberta
    return template


def write_template(template: JSON | None, token: Callable[[int], str]) -> JSON | None:
    """Converts a template to a post-processor.

    Args:
        template: as returned by `read_template`. If its ``"pair"`` is None, a pair is A followed by B, without added
            tokens.
        token: id -> the token's content.

    Example:
        >>> write_template({"single": [{"ids": [1], "type_id": 0}, {"sequence": "A", "type_id": 0}], "pair": None,
        ...     "trim_offsets": False, "add_prefix_space": False}, {1: "<s>"}.__getitem__)["special_tokens"]
        {'<s>': {'id': '<s>', 'ids': [1], 'tokens': ['<s>']}}
    """
    if template is None:
        return None
    single: list[JSON] = template["single"]
    pair: list[JSON] = _PAIR if template.get("pair") is None else template["pair"]
    if sets_overflow_types(template):
        return {
            "type": "RobertaProcessing",
            "sep": [token(single[2]["ids"][0]), single[2]["ids"][0]],
            "cls": [token(single[0]["ids"][0]), single[0]["ids"][0]],
            "trim_offsets": bool(template.get("trim_offsets")),
            "add_prefix_space": bool(template.get("add_prefix_space")),
        }
    parts: list[JSON] = []
    if template.get("trim_offsets"):
        prefix = bool(template.get("add_prefix_space"))
        parts.append({"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": True})
    if single != _SINGLE or pair != _PAIR:
        names: dict[tuple[int, ...], str] = {}
        for item in (*single, *pair):
            if "ids" in item:
                _name(tuple(item["ids"]), names, token)
        parts.append(
            {
                "type": "TemplateProcessing",
                "single": [_write_item(item, names) for item in single],
                "pair": [_write_item(item, names) for item in pair],
                "special_tokens": {
                    name: {"id": name, "ids": list(ids), "tokens": [token(id) for id in ids]}
                    for ids, name in sorted(names.items(), key=lambda item: item[1])
                },
            }
        )
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else {"type": "Sequence", "processors": parts}


def _flat(part: object, place: str) -> list[tuple[JSON, str]]:
    """Flattens nested Sequences into a list of post-processors with their JSON paths."""
    found: list[tuple[JSON, str]] = []
    waiting: list[tuple[object, str]] = [(part, place)]
    while waiting:
        part, place = waiting.pop()
        if not isinstance(part, dict):
            raise FormatError(f"a post-processor must be an object, not {part!r:.60}", place=place)
        if part.get("type") != "Sequence":
            found.append((part, place))
            continue
        parts = _field(part, "processors", list, place)
        inner = [(processor, f"{place}.processors[{i}]") for i, processor in enumerate(parts)]
        waiting.extend(reversed(inner))
    return found


def _field(part: JSON, name: str, kind: type, place: str) -> Any:
    value = part.get(name)
    if not isinstance(value, kind):
        expected = {bool: "true or false", str: "a string", list: "a list", dict: "an object"}[kind]
        raise FormatError(f"{name} must be {expected}, not {value!r:.60}", place=f"{place}.{name}")
    return value


def _number(value: object, place: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**32:
        raise FormatError(f"an id must be an integer from 0 to 4294967295, not {value!r:.60}", place=place)
    return value


def _named(part: JSON, name: str, place: str) -> int:
    """Reads the id of HF's pair (content, id)."""
    value = part.get(name)
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], str):
        raise FormatError(f"{name} must be a token and its id, not {value!r:.60}", place=f"{place}.{name}")
    return _number(value[1], f"{place}.{name}[1]")


def _text(sequence: str, type_id: int = 0) -> JSON:
    return {"sequence": sequence, "type_id": type_id}


def _ids(id: int, type_id: int = 0) -> JSON:
    return {"ids": [id], "type_id": type_id}


def _read_items(part: JSON, name: str, place: str) -> list[JSON]:
    special = _field(part, "special_tokens", dict, place)
    items: list[JSON] = []
    added = 0
    for i, piece in enumerate(_field(part, name, list, place)):
        where = f"{place}.{name}[{i}]"
        kind = next(iter(piece)) if isinstance(piece, dict) and len(piece) == 1 else None
        if not isinstance(piece, dict) or kind not in ("Sequence", "SpecialToken") or not isinstance(piece[kind], dict):
            raise FormatError(f"a piece must be a Sequence or a SpecialToken, not {piece!r:.60}", place=where)
        inside, where = piece[kind], f"{where}.{kind}"
        id, type_id = _field(inside, "id", str, where), _number(inside.get("type_id"), f"{where}.type_id")
        if kind == "SpecialToken":
            if not isinstance(special.get(id), dict):
                raise FormatError(f"special_tokens has no entry for {id!r}", place=f"{where}.id")
            at = f"{place}.special_tokens[{id!r}]"
            added += len(_field(special[id], "ids", list, at))
            if added > MOST_IDS:
                raise FormatError(f"a template that adds more than {MOST_IDS} ids to every text", place=at)
            items.append(
                {"ids": [_number(id, f"{at}.ids") for id in _field(special[id], "ids", list, at)], "type_id": type_id}
            )
        elif id == "A" or (id == "B" and name == "pair"):
            items.append(_text(id, type_id))
        else:
            raise FormatError(f"{name} contains the sequence {id!r}", place=f"{where}.id")
    return items


def _name(ids: tuple[int, ...], names: dict[tuple[int, ...], str], token: Callable[[int], str]) -> None:
    """Assigns a unique name to the tokens of an item; the ids are appended if the name is taken."""
    if ids not in names:
        name = " ".join(map(token, ids))
        names[ids] = name if name not in names.values() else f"{name} {ids}"


def _write_item(item: JSON, names: dict[tuple[int, ...], str]) -> JSON:
    if "ids" in item:
        return {"SpecialToken": {"id": names[tuple(item["ids"])], "type_id": item["type_id"]}}
    return {"Sequence": {"id": item["sequence"], "type_id": item["type_id"]}}


def _refuse(kind: object, place: str, why: str = "") -> UnsupportedFeatureError:
    details = f" ({why})" if why else ""
    return UnsupportedFeatureError(
        f"the post-processor {kind!r} is not supported{details}", place=place, feature=str(kind)
    )
