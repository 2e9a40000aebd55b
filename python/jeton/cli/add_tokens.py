"""``jeton add-tokens``: adds tokens to a tokenizer, and sets roles and the chat template."""

from __future__ import annotations

from typing import Any

import click

import jeton

from ..util.messages import translate
from .options import Command, CommonOptions, common_options, tokenizer_option
from .outputs import check_tokenizer, save_tokenizer
from .quantities import counted
from .roles import RoleOptions, role_options
from .streams import write_json

__all__ = ["add_tokens"]


@click.command("add-tokens", cls=Command, short_help="Add tokens, roles and a chat template.")
@click.argument("tokens", nargs=-1, metavar="[TOKEN]...")
@click.option("-o", "--output", required=True, metavar="OUT", help="Output: my.json, or a folder (no suffix).")
@click.option(
    "--from",
    "lists",
    type=click.File(encoding="utf-8"),
    multiple=True,
    metavar="FILE",
    help="File with one token per line (repeatable).",
)
@click.option(
    "--plain", is_flag=True, help="Add tokens that are always matched; default: special tokens, matched by permission."
)
@click.option(
    "--accept-loss",
    multiple=True,
    metavar="NAME",
    help="Save without this feature, which OUT's format cannot express; errors state its name (repeatable).",
)
@role_options
@tokenizer_option
@common_options
def add_tokens(
    common: CommonOptions,
    tok: jeton.Tokenizer,
    roles: RoleOptions,
    tokens: tuple[str, ...],
    output: str,
    lists: tuple[Any, ...],
    plain: bool,
    accept_loss: tuple[str, ...],
) -> None:
    """Adds each TOKEN at the next free id, sets roles and the chat template, and writes the tokenizer to OUT. Existing
    ids do not change. A token that the tokenizer has keeps its id. Special tokens that a role or a template of Jeton
    needs are added, too.

    \b
    Examples:
      jeton add-tokens -t my.json -o chat --chat-template chatml --eos '<|im_end|>' --pad '<|pad|>'
      jeton add-tokens -t my.json -o more.json '<think>' '</think>'
      jeton add-tokens -t my.json -o more.json --from names.txt --plain
    """
    listed = [line.rstrip("\r\n") for file in lists for line in file]
    wanted = [*tokens, *(line for line in listed if line)]
    check_tokenizer(output, accept_loss)
    made = roles.applied(tok.add_tokens(wanted, special=False) if plain else tok, () if plain else wanted)
    save_tokenizer(common, made, output, accept_loss)
    added = {token.content: id for id, token in made.added_tokens.items() if tok.added_tokens.get(id) != token}
    if common.as_json:
        facts = {"path": output, "added": added, "roles": dict(made.roles), "vocab_size": made.vocab_size}
        write_json({**facts, "fingerprint": made.fingerprint})
        return
    for token, id in added.items():
        common.say(translate("added    {id}  {token}", id=id, token=token))
    if made.roles:
        roles_set = ", ".join(f"{role} {token}" for role, token in made.roles.items())
        common.say(translate("roles    {roles}", roles=roles_set))
    common.say(translate("saved    {path}: {tokens}", path=output, tokens=counted(len(made), "token")))
