"""Applies `transformers` configurations to a tokenizer: roles, templates, and special tokens missing in its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .. import _core
from ..definition import Definition
from ..errors import FormatError, UnsupportedFeatureError
from ..tokenizer import Tokenizer
from ..tokens.added import with_added_tokens
from . import layout as layouts
from .config import added_tokens, kept, roles_of, special_tokens
from .error_context import error_context

__all__ = ["entries_listed", "is_of_class", "with_config", "with_named"]


def is_of_class(definition: Definition) -> bool:
    """True if the tokenizer is from a `.model` file and the configured transformers class reads such files.

    Examples:
        >>> from jeton.definition import Unigram
        >>> is_of_class(Definition(Unigram("<unk>"), config={"tokenizer_class": "T5Tokenizer"}))
        False
    """
    is_model = any(part["type"] == "SentencePiece" for part in definition.normalizer)
    return is_model and layouts.class_name(definition.config) in layouts.FILES


def with_named(tok: Tokenizer, config: Mapping[str, Any]) -> Tokenizer:
    """Adds the special tokens that are named in a configuration but are missing in the tokenizer file.

    As in transformers, an existing entry becomes special and keeps its id; a new token gets the next id, in the order
    of `special_tokens`.

    Raises:
        UnsupportedFeatureError: the next id differs from the id in the configuration or in transformers.
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
        is_next = id < tok.vocab_size or len(tok) == tok.vocab_size  # transformers takes len(tok) as the next free id
        if not is_next or ids.get(content, id) != id:
            raise UnsupportedFeatureError(
                f"the configuration names the token {content!r:.60}, which the tokenizer's file lacks; "
                "assigning it an id, as transformers does, is not supported",
                place="tokenizer_config.json",
                feature="added_tokens",
            )
        added[id] = token
    with error_context("tokenizer_config.json", "tokenizer_config.json"):
        return Tokenizer(entries_listed(tok), with_added_tokens(vocabulary, added.items(), range(tok.vocab_size)))


def entries_listed(tok: Tokenizer) -> Definition:
    """Returns the definition with `hf_vocab_size` set, so that tokens added later do not count as model entries."""
    size = tok.definition.hf_vocab_size
    return replace(tok.definition, hf_vocab_size=tok.vocab_size if size is None else size)


def with_config(tok: Tokenizer, config: Mapping[str, Any], *, is_json: bool) -> Tokenizer:
    """Applies a configuration: roles, chat template and other keys.

    A role (such as "bos") is omitted if its token is not in the vocabulary. This can happen if the configuration
    belongs to a rank file or a tekken.json: some tokens exist only after transformers has converted the file.

    Args:
        tok: the tokenizer.
        config: the configuration.
        is_json: whether the tokenizer is from a tokenizer.json.
    """
    known = {token.content for token in tok.added_tokens.values()}
    roles = {**tok.definition.roles, **{role: token for role, token in roles_of(config).items() if token in known}}
    is_model = any(part["type"] == "SentencePiece" for part in tok.definition.normalizer)
    if tok.definition.template is None and is_model:
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
    is_of_class = is_model and not is_json and layouts.class_name(config) in layouts.FILES
    more = kept(config, roles, keeps_class=is_json or is_of_class, keeps_added=is_of_class)
    return tok._with_facts(roles=roles, chat_template=template, config=more)
