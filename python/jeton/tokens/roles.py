"""Roles of special tokens. They do not affect the ids that encoding returns.

A role names a special token: `eos` ends a text, `pad` fills the rows of a batch. transformers calls them ``eos_token``
and so on. `ROLES` has transformers' standard roles; a tokenizer that was loaded can have other roles, which are kept.

Left out: reading roles from files and writing them to files (`formats.config`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, Protocol

from ..errors import ConfigError, SpecialTokenError, UnknownTokenError, keyword
from ..util.arguments import Keep, strings, wrong
from ..util.readonly import ReadOnlyDict
from .protocols import HasSpelling
from .spelling import Spelling

__all__ = ["ROLES", "TEMPLATE_KEYS", "TEMPLATE_ROLES", "Roles", "role_id", "with_roles"]

# in the order of transformers
ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
# Keys in tokenizer_config.json for special tokens without a role: the key of transformers 4, then that of version 5.
_ADDITIONAL = ("additional_special_tokens", "extra_special_tokens")
# Keys in tokenizer_config.json with which a tokenizer class of transformers builds its template from `bos` and `eos`.
TEMPLATE_KEYS = ("tokenizer_class", "add_bos_token", "add_eos_token")
TEMPLATE_ROLES = ("bos", "eos", "cls", "sep")


class Roles(ReadOnlyDict):
    """Roles of a tokenizer: role -> special token. Read-only.

    Examples:
        >>> Roles({"eos": "</s>"})["bos"]
        Traceback (most recent call last):
            ...
        jeton.errors.UnknownTokenError: the tokenizer has no role 'bos' (it has: eos); tok.with_roles(bos=…) sets it
    """

    __slots__ = ()

    def __missing__(self, role: object) -> NoReturn:
        has = f"it has: {', '.join(self)}" if self else "it has none"
        remedy = f"tok.with_roles({role}=…) sets it" if role in ROLES else f"the roles are {', '.join(ROLES)}"
        raise UnknownTokenError(f"the tokenizer has no role {role!r:.60} ({has}); {remedy}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Roles, (dict(self),)


class _RoleTokenizer(HasSpelling, Protocol):
    @property
    def special_tokens(self) -> Mapping[str, int]: ...
    @property
    def roles(self) -> Mapping[str, str]: ...


def with_roles(
    tok: _RoleTokenizer, given: Mapping[str, str | Keep | None], additional: Iterable[str] | Keep | None
) -> dict[str, Any]:
    """Implements `Tokenizer.with_roles`; returns the fields of the definition that change."""
    definition = tok.definition
    changes = {role: token for role, token in given.items() if not isinstance(token, Keep)}
    for role, token in changes.items():
        if token is not None:
            _check_token(tok, role, token)
    own = definition.model.unk_token
    if own is not None and changes.get("unk", own) != own:
        raise ConfigError(f"{keyword('unk', changes['unk'])} contradicts the model, whose unknown token is {own!r}")
    roles = {role: token for role, token in {**definition.roles, **changes}.items() if token is not None}
    config = dict(definition.config)
    for role in changes:
        config.pop(f"{role}_token", None)
    if any(roles.get(role) != definition.roles.get(role) for role in TEMPLATE_ROLES):
        for key in TEMPLATE_KEYS:
            config.pop(key, None)
    if not isinstance(additional, Keep):
        tokens = [] if additional is None else strings(additional, "additional")
        for token in tokens:
            _check_token(tok, "additional", token)
        for key in _ADDITIONAL:
            if isinstance(config.get(key), list):
                del config[key]
        if tokens:
            config[_ADDITIONAL[0]] = tokens
    return {"roles": roles, "config": config}


def _check_token(tok: _RoleTokenizer, role: str, token: object) -> None:
    if not isinstance(token, str) or not token:
        raise wrong(role, token, "a special token (a string)")
    if token in tok.special_tokens:
        return
    try:
        Spelling(tok).id(token)
        state = "is an entry of the vocabulary, but not a special token"
    except UnknownTokenError:
        state = "is not in the vocabulary"
    raise SpecialTokenError(
        f"{keyword(role, token)} {state}; add_tokens([{token!r}]) makes it a special token", token=token
    )


def role_id(tok: _RoleTokenizer, role: str) -> int | None:
    """Returns the id of a role's token; None if the tokenizer has no such role."""
    token = tok.roles.get(role)
    if token is None:
        return None
    try:
        return Spelling(tok).id(token)
    except UnknownTokenError:
        return None
