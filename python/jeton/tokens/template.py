"""Templates in the notation of `tokenizers`, such as ``"<s> $A </s>"``: the special tokens around a text or a pair.

Left out: applying a template (`_core`), and templates in files (`formats.hf_template`).
"""

from __future__ import annotations

from typing import Any

from ..definition import sets_overflow_types
from ..errors import ConfigError, keyword
from ..util.arguments import string
from .protocols import HasSpelling
from .roles import TEMPLATE_KEYS

__all__ = ["with_template"]

_PAIR = "$A $B:1"  # the default pair template of TemplateProcessing in `tokenizers`
_A, _B = ({"sequence": text, "type_id": 0} for text in "AB")
_NOTHING = {"single": [_A], "pair": [_A, _B]}


def with_template(tok: HasSpelling, single: str | None, pair: str | None) -> dict[str, Any]:
    """Implements `Tokenizer.with_template`; returns the fields of the definition that change."""
    config = {key: value for key, value in tok.definition.config.items() if key not in TEMPLATE_KEYS}
    old = tok.definition.template or {}
    # The new template keeps the settings for trimming offsets, which depend on how the pretokenizer adds spaces.
    trims = {**_NOTHING, **{name: old.get(name, False) for name in ("trim_offsets", "add_prefix_space")}}
    if single is None:
        if pair is not None:
            raise ConfigError(f"{keyword('pair')} needs {keyword('single')}, the template of one text", option="pair")
        return {"template": trims if trims["trim_offsets"] else None, "config": config}
    ids = {content: id for id, content, _, _ in tok._core.added_tokens()}
    template = {
        "single": _items(string(single, "single"), "single", ids, texts=("A",)),
        "pair": _items(_PAIR if pair is None else string(pair, "pair"), "pair", ids, texts=("A", "B")),
        "trim_offsets": trims["trim_offsets"],
        "add_prefix_space": trims["add_prefix_space"],
    }
    # Without ``overflow_type_ids``, this template would be treated as a RobertaProcessing, which sets overflow types.
    if sets_overflow_types(template):
        template["overflow_type_ids"] = False
    return {"template": template, "config": config}


def _items(notation: str, option: str, ids: dict[str, int], texts: tuple[str, ...]) -> list[dict[str, Any]]:
    """Parses a template: texts and added tokens, separated by spaces. In ``$B:1``, the type id of the item is 1."""
    items: list[dict[str, Any]] = []
    for word in notation.split():
        name, colon, number = word.rpartition(":")
        if word in ids or not colon or not number.isdecimal() or len(number) > 9:
            name, number = word, "0"
        if name.startswith("$") and name[1:] in texts:
            items.append({"sequence": name[1:], "type_id": int(number)})
        elif name in ids:
            items.append({"ids": [ids[name]], "type_id": int(number)})
        else:
            expected = " nor ".join(f"${text}" for text in texts)
            hint = "" if name.startswith("$") else f"; add_tokens([{name!r}]) makes it one"
            raise ConfigError(
                f"{keyword(option, notation)}: {name!r} is neither {expected}, nor an added token of the tokenizer"
                f"{hint}",
                option=option,
            )
    given = [item["sequence"] for item in items if "sequence" in item]
    if sorted(given) != list(texts):
        wanted = " and ".join(f"${text}" for text in texts)
        raise ConfigError(f"{keyword(option, notation)} must contain {wanted} exactly once", option=option)
    return items
