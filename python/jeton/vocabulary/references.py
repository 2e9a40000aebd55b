"""References to tokens by their content or id: roles, template, padding, chat template, configuration."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..definition import Definition
from ..tokens.roles import TEMPLATE_KEYS, TEMPLATE_ROLES

__all__ = ["references", "without_references"]

CHAT_TEMPLATE = "chat template"
# Keys of tokenizer_config.json that only list special tokens. A removed token is always dropped from these lists,
# because transformers would add it again otherwise.
_LISTS = ("additional_special_tokens", "extra_special_tokens", "added_tokens_decoder")
_DROPPED: Any = object()


def references(definition: Definition, tokens: Mapping[int, str]) -> dict[str, str]:
    """Returns the parts of a definition that refer to any of `tokens`: name of the part -> the first such token in it.

    Args:
        definition: the definition.
        tokens: id -> content.

    Examples:
        >>> from jeton.definition import Definition, template_of
        >>> definition = Definition(roles={"bos": "<s>"}, template=template_of([1, "A"]), chat_template="{{ 'low' }}")
        >>> references(definition, {1: "<s>"})
        {"the role 'bos'": '<s>', 'the template': '<s>'}
    """
    contents = set(tokens.values())
    found = {f"the role {role!r}": token for role, token in definition.roles.items() if token in contents}
    for items in _lists_of_items(definition.template):
        for id in (id for item in items for id in item.get("ids", ()) if id in tokens):
            found.setdefault("the template", tokens[id])
    for name, source in _chat_templates(definition):
        if (token := _named(source, tokens, definition.roles)) is not None:
            found[f"the {CHAT_TEMPLATE}" if name is None else f"the {CHAT_TEMPLATE} {name!r}"] = token
    if definition.padding is not None and (token := _padded(definition.padding, tokens)) is not None:
        found["padding"] = token
    for key, value in definition.config.items():
        role = key.removesuffix("_token")
        is_role = role != key and f"the role {role!r}" in found
        if not is_role and _without(value, contents, key in _LISTS) is _DROPPED:
            found[f"the configuration's {key!r}"] = next(token for token in _strings(value) if token in contents)
    return found


def without_references(definition: Definition, tokens: Mapping[int, str]) -> Definition:
    """Returns the definition without its references to some tokens.

    The template loses the items of these tokens. A chat template that names such a token is dropped as a whole. If a
    role such as `bos` loses its token, the configuration loses the keys from which transformers would build a template
    with this role.

    Args:
        definition: the definition.
        tokens: id -> content.

    Examples:
        >>> from jeton.definition import Definition, template_of
        >>> made = without_references(Definition(template=template_of([1, "A", 2])), {1: "<s>"})
        >>> made.template["single"]
        [{'sequence': 'A', 'type_id': 0}, {'ids': [2], 'type_id': 0}]
    """
    contents = set(tokens.values())
    template, padding, chat = definition.template, definition.padding, definition.chat_template
    if "the template" in references(definition, tokens):
        template = {**template, **{name: _kept_items(template[name], tokens) for name in ("single", "pair")}}  # type: ignore[dict-item,index]
    if padding is not None and _padded(padding, tokens) is not None:
        padding = None
    named = {name for name, source in _chat_templates(definition) if _named(source, tokens, definition.roles)}
    if None in named:
        chat = None
    elif named:
        chat = [each for each in chat if str(each.get("name")) not in named] or None
    config = {}
    for key, value in definition.config.items():
        if (stays := _without(value, contents, key in _LISTS)) is not _DROPPED:
            config[key] = stays
    roles = {role: token for role, token in definition.roles.items() if token not in contents}
    if any(role in definition.roles and role not in roles for role in TEMPLATE_ROLES):
        config = {key: value for key, value in config.items() if key not in TEMPLATE_KEYS}
    return replace(definition, roles=roles, template=template, padding=padding, chat_template=chat, config=config)


def _lists_of_items(template: Any) -> list[Any]:
    return [items for items in (template["single"], template.get("pair")) if items] if template else []


def _kept_items(items: Any, tokens: Mapping[int, str]) -> Any:
    if items is None:
        return None
    kept = []
    for item in items:
        ids = [id for id in item.get("ids", ()) if id not in tokens]
        if "ids" not in item or len(ids) == len(item["ids"]):
            kept.append(item)
        elif ids:
            kept.append({**item, "ids": ids})
    return kept


def _chat_templates(definition: Definition) -> Iterator[tuple[str | None, str]]:
    """Yields name and source of each chat template; the name is None if there is only one."""
    chat = definition.chat_template
    if isinstance(chat, str):
        yield None, chat
    elif isinstance(chat, list | tuple):  # the form in which transformers lists several templates
        for each in chat:
            if isinstance(each, Mapping) and isinstance(each.get("template"), str):
                yield str(each.get("name")), each["template"]


def _named(source: str, tokens: Mapping[int, str], roles: Mapping[str, str]) -> str | None:
    """Returns the first of `tokens` that a chat template names, as text or by a variable such as ``eos_token``."""
    for token in tokens.values():
        variables = [f"{role}_token" for role, of in roles.items() if of == token]
        if token in source or any(re.search(rf"\b{re.escape(name)}\b", source) for name in variables):
            return token
    return None


def _padded(padding: Mapping[str, Any], tokens: Mapping[int, str]) -> str | None:
    """Returns the removed token with which rows are padded; None if the padding token is not removed."""
    id, token = padding.get("pad_id"), padding.get("pad_token")
    if isinstance(id, int) and id in tokens:
        return tokens[id]
    return token if isinstance(token, str) and token in tokens.values() else None


def _without(value: Any, contents: Collection[str], is_list: bool) -> Any:
    """Returns a configuration's value without removed tokens; `_DROPPED` if the value itself refers to one.

    Args:
        value: the value.
        contents: contents of the removed tokens.
        is_list: whether the value only lists tokens; the list then stays, without the removed tokens.
    """
    if isinstance(value, str):
        return _DROPPED if value in contents else value
    if isinstance(value, Mapping):
        if isinstance(value.get("content"), str):  # an AddedToken as JSON
            return _DROPPED if value["content"] in contents else value
        kept = {name: _without(each, contents, False) for name, each in value.items()}
        if any(each is _DROPPED for each in kept.values()):
            return {name: each for name, each in kept.items() if each is not _DROPPED} if is_list else _DROPPED
        return value
    if isinstance(value, list | tuple):
        items = [_without(each, contents, False) for each in value]
        if any(each is _DROPPED for each in items):
            return [each for each in items if each is not _DROPPED] if is_list else _DROPPED
    return value


def _strings(value: Any) -> Iterator[str]:
    """Yields all strings in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _strings(each)
