"""Options of roles and chat templates, shared by ``jeton train`` and ``jeton add-tokens``."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import click

import jeton

from ..chat import PRESETS
from ..errors import ConfigError
from ..tokens.roles import ROLES
from .options import Function

__all__ = ["RoleOptions", "role_options"]

_HELP = {
    "bos": "begins a text",
    "eos": "ends a text",
    "unk": "is recorded as the unknown token, without effect on encoding",
    "sep": "separates two texts",
    "pad": "fills the rows of a batch",
    "cls": "begins a text that is classified",
    "mask": "hides a token",
}


@dataclass(frozen=True)
class RoleOptions:
    """Values of the options of roles and chat templates.

    Attributes:
        roles: role -> special token.
        chat_template: name of a preset, or Jinja source; None if not given.
    """

    roles: dict[str, str]
    chat_template: str | None

    @property
    def tokens(self) -> list[str]:
        """Returns the special tokens that the roles and the preset need, in order, without duplicates."""
        preset = PRESETS.get(self.chat_template or "")
        return [*dict.fromkeys((*self.roles.values(), *(preset.tokens if preset else ())))]

    def applied(self, tok: jeton.Tokenizer, tokens: Iterable[str] = ()) -> jeton.Tokenizer:
        """Returns a copy of `tok` with these roles and this chat template.

        Missing special tokens are added first: `tokens`, the tokens of the roles, and the tokens needed by a preset.
        """
        missing = [token for token in (*tokens, *self.roles.values()) if token not in tok.special_tokens]
        if preset := PRESETS.get(self.chat_template or ""):  # its tokens need not be special
            added = {token.content for token in tok.added_tokens.values()}
            missing += [token for token in preset.tokens if token not in added]
        tok = tok.add_tokens(missing).with_roles(**self.roles)
        return tok if self.chat_template is None else tok.with_chat_template(self.chat_template)


def role_options(command: Function) -> Function:
    """Adds --chat-template and an option for each role, such as --bos; `command` gets their values as `roles`."""

    @click.option(
        "--chat-template",
        metavar="NAME|FILE",
        help=f"Chat template: one of Jeton's ({', '.join(PRESETS)}), or a Jinja file.",
    )
    @functools.wraps(command)
    def wrapped(*args: object, chat_template: str | None, **rest: object) -> None:
        given = {role: token for role in ROLES if (token := rest.pop(f"{role}_role")) is not None}
        if empty := [role for role, token in given.items() if not token]:
            raise click.UsageError(f"--{empty[0]} is empty")
        command(
            *args,
            roles=RoleOptions({role: str(token) for role, token in given.items()}, _source(chat_template)),
            **rest,
        )

    for role in reversed(ROLES):
        help = f"Special token that {_HELP[role]} (role {role})."
        wrapped = click.option(f"--{role}", f"{role}_role", metavar="T", help=help)(wrapped)
    return wrapped


def _source(template: str | None) -> str | None:
    """Reads the file of a template; a name is returned unchanged."""
    if template is None or template in PRESETS:
        return template
    if not Path(template).is_file():
        raise ConfigError(
            f"there is no chat template {template!r:.60}: neither a file, nor one of {', '.join(PRESETS)}",
            option="chat_template",
        )
    return Path(template).read_text(encoding="utf-8")
