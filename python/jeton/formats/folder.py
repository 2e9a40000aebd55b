"""Folders of `transformers`: a tokenizer file, tokenizer_config.json, and chat templates.

Of several tokenizer files the most complete one is read: tokenizer.json, then tekken.json, a SentencePiece model, the
pair of entries and merges, vocab.txt, a rank file. The configuration sets roles and the chat template; for a
SentencePiece model also the id layout (by its class), the template and the tokens after the pieces; for vocab.txt also
lowercasing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import _core
from ..added_tokens import with_added_tokens
from ..atomic import write_atomically
from ..definition import Definition
from ..errors import ConfigError, FormatError, UnsupportedFeatureError
from ..tokenizer import Tokenizer
from . import layout as layouts
from . import tokenizer_json
from .config import (
    MORE_TEMPLATES,
    TEMPLATE,
    added_tokens,
    kept,
    render_config,
    roles_of,
    special_tokens,
    template_files,
    with_tokens,
)
from .error_context import error_context

__all__ = ["check_templates", "choose", "layout_of", "with_added", "with_config", "with_named", "write"]

# in order of precedence
_NAMES = ("tokenizer.json", "tekken.json", "*.model", "vocab.json", "encoder.json", "vocab.txt", "*.tiktoken")


def choose(folder: Path) -> Path:
    """Returns the tokenizer file of a folder.

    Raises:
        FileNotFoundError: there is none.
    """
    for name in _NAMES:
        found = sorted(path for path in folder.glob(name) if path.is_file())
        if found:
            return found[0]
    names = ", ".join(sorted(entry.name for entry in folder.iterdir())[:8]) or "nothing"
    raise FileNotFoundError(
        f"the folder {folder} contains no tokenizer: none of {', '.join(_NAMES)} (it contains: {names})"
    )


def layout_of(config: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Returns the id layout of a configuration."""
    return layouts.for_class(config)


def with_added(tok: Tokenizer, config: Mapping[str, Any]) -> Tokenizer:
    """Adds the special tokens of a configuration to a SentencePiece tokenizer.

    Raises:
        UnsupportedFeatureError: an added token is not special.
    """
    known = {(id, token.content) for id, token in tok.added_tokens.items()}
    added = {**layouts.sentinels(config, tok.vocab_size), **added_tokens(config)}
    added = {id: token for id, token in added.items() if (id, token.content) not in known}
    if not added:
        return tok
    pieces = tok._core.vocabulary()
    for id, token in added.items():
        is_entry = tok._core.content(id) is not None or pieces.find_any(token.content.encode()) is not None
        if not token.special or is_entry:
            raise UnsupportedFeatureError(
                f"the added token {token.content!r:.60} with id {id} is not a special token after the pieces of a "
                "SentencePiece model; the .model file itself loads",
                place="tokenizer_config.json: added_tokens_decoder",
                feature="added_tokens",
            )
    with error_context("tokenizer_config.json", "tokenizer_config.json"):
        return Tokenizer(_listed(tok), with_tokens(pieces, added))


def with_named(tok: Tokenizer, config: Mapping[str, Any]) -> Tokenizer:
    """Adds special tokens that a configuration names and the tokenizer file lacks.

    As in transformers, an existing entry becomes special and keeps its id; a new token gets the next id, in the order
    of `special_tokens`.

    Raises:
        UnsupportedFeatureError: the next id differs from that of the configuration or of transformers.
    """
    known = {token.content for token in tok.added_tokens.values()}
    listed = sorted(added_tokens(config).items())
    ids = {token.content: id for id, token in listed}
    wanted = {token.content: token for _, token in listed}
    wanted |= {token.content: token for token in special_tokens(config) if token.content not in wanted}
    missing = {content: token for content, token in wanted.items() if content not in known}
    if not missing:
        return tok
    vocabulary, added, next_id = tok._core.vocabulary(), {}, tok.vocab_size
    for content, token in missing.items():
        spelled = _core.read_bytes(content) if tok.definition.is_byte_level else content.encode()
        id = None if spelled is None else tok._core.find(spelled, False)
        if id is None:
            id, next_id = next_id, next_id + 1
        is_next = id < tok.vocab_size or tok.num_tokens == tok.vocab_size  # transformers counts the entries
        if not is_next or ids.get(content, id) != id:
            raise UnsupportedFeatureError(
                f"the configuration names the token {content!r:.60}, which the tokenizer's file lacks; the id that "
                "transformers would give it is not supported",
                place="tokenizer_config.json",
                feature="added_tokens",
            )
        added[id] = token
    with error_context("tokenizer_config.json", "tokenizer_config.json"):
        return Tokenizer(_listed(tok), with_added_tokens(vocabulary, added.items(), range(tok.vocab_size)))


def _listed(tok: Tokenizer) -> Definition:
    """Returns the definition, which says that all tokens so far are entries of the model, and those added are not."""
    size = tok.definition.hf_vocab_size
    return replace(tok.definition, hf_vocab_size=tok.vocab_size if size is None else size)


def with_config(tok: Tokenizer, config: Mapping[str, Any], *, keeps_class: bool) -> Tokenizer:
    """Applies a configuration: roles, chat template and other keys.

    Roles with missing tokens are omitted. They occur with rank files and tekken.json, which transformers converts.

    Args:
        tok: the tokenizer.
        config: the configuration.
        keeps_class: see `kept`.
    """
    known = {token.content for token in tok.added_tokens.values()}
    roles = {**tok.definition.roles, **{role: token for role, token in roles_of(config).items() if token in known}}
    if tok.definition.template is None and any(part["type"] == "SentencePiece" for part in tok.definition.normalizer):
        bos, eos = (tok.special_tokens.get(roles.get(role, "")) for role in ("bos", "eos"))
        around = layouts.around(config, bos, eos)
        if around is not None:
            tok = Tokenizer(replace(tok.definition, template=around), tok._core.vocabulary())
    template = config.get("chat_template")
    template = tok.definition.chat_template if template is None else template
    named = template if isinstance(template, list) else [{"template": template}]
    if not all(isinstance(one, dict) and isinstance(one.get("template"), str | None) for one in named):
        place = "tokenizer_config.json: chat_template"
        raise FormatError("a chat template is a string, or a list of named strings", place=place)
    more = kept(config, roles, keeps_class=keeps_class)
    return tok._with_facts(roles=roles, chat_template=template, config=more)


def check_templates(tok: Tokenizer, folder: Path) -> None:
    """Checks that a folder to save in has no chat templates that `write` would not replace.

    Raises:
        ConfigError: it has one.
    """
    templates = template_files(tok.definition.chat_template)
    for old in (folder / TEMPLATE, *sorted((folder / MORE_TEMPLATES).glob("*.jinja"))):
        name = old.relative_to(folder).as_posix()
        if old.is_file() and name not in templates:
            raise ConfigError(f"{folder} has the {name} of another tokenizer: remove it", option="path")


def write(tok: Tokenizer, path: str | os.PathLike[str], accept_loss: Collection[str]) -> None:
    """Writes the files into the folder, which is created if necessary. Each file is replaced atomically.

    A chat template is a file of its own, as transformers writes it. An existing special_tokens_map.json, which precedes
    the configuration, is replaced, too.

    Raises:
        ConfigError: the folder has a chat template of another tokenizer, which would be read as this one's.
    """
    files = {"tokenizer.json": tokenizer_json.render(tok, accept_loss)}
    definition = replace(tok.definition, roles=tok.roles)
    files["tokenizer_config.json"] = render_config(definition)
    folder = Path(path)
    if (folder / "special_tokens_map.json").is_file():
        config = json.loads(files["tokenizer_config.json"])
        roles = {f"{role}_token": config[f"{role}_token"] for role in tok.roles}
        files["special_tokens_map.json"] = (json.dumps(roles, indent=2, ensure_ascii=False) + "\n").encode()
    check_templates(tok, folder)
    templates = template_files(definition.chat_template)
    for name, data in (files | templates).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with write_atomically(folder / name) as file:
            file.write(data)
