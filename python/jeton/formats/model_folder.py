"""Folders with a SentencePiece `.model` and a `transformers` class; the class can renumber pieces and add tokens.

`read` builds the tokenizer that the class builds: with the id layout and the decoder of the class, and the special
tokens of the class and the configuration. The ids of text are SentencePiece's, as with the slow class of transformers
4.57, unless the configuration uses a feature that SentencePiece lacks (`class_pipelines`).

`render` is the inverse. It is used for tokenizers that `tokenizer.json` cannot represent, because Hugging Face's
library applies SentencePiece's character map to grapheme clusters. Before `render` returns the files, it rebuilds a
tokenizer from them with `read`. If the rebuilt tokenizer differs from the original, for example because entries of the
original were changed, `render` raises an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import FormatError, UnsupportedFeatureError
from ..tokenizer import Tokenizer
from ..tokens.added import FLAGS, AddedToken
from . import class_pipelines, sentencepiece
from . import layout as layouts
from .config import ADDED_TOKENS, added_tokens, check_added, kept, render_config, with_tokens
from .configured import entries_listed, with_config, with_named
from .error_context import error_context

__all__ = ["read", "render"]


def read(
    data: bytes,
    config: Mapping[str, Any],
    *,
    source: str,
    layout: Any = None,
    version: class_pipelines.Version | None = None,
) -> Tokenizer:
    """Reads the tokenizer of a model and a configuration, without roles and chat template.

    Args:
        data: content of the model.
        config: the configuration; empty if there is only a model.
        source: name of the file, for messages.
        layout: id layout; None means the layout of the class.
        version: major version of transformers whose `AutoTokenizer` is reproduced. With None, the ids are those of
            SentencePiece (see the docstring of this module).

    Raises:
        UnsupportedFeatureError: the class or an added token is not supported.
    """
    if version is None and layout is None and class_pipelines.is_asked(config):
        version = 4
    if version is not None:
        return class_pipelines.read(data, config, source=source, version=version)
    layout = layouts.of_folder(config) if layout is None else layout
    name = layouts.class_name(config)
    decoder = class_pipelines.class_decoder(name) if name in layouts.FILES else ()
    tok = _with_added(sentencepiece.read(data, source=source, layout=layout, decoder=decoder), config)
    return check_added(with_named(tok, config), config)


def _with_added(tok: Tokenizer, config: Mapping[str, Any]) -> Tokenizer:
    """Adds the special tokens of a configuration to a SentencePiece tokenizer.

    Raises:
        UnsupportedFeatureError: an added token is not special.
    """
    known = tok.added_tokens
    added = {**layouts.sentinels(config, tok.vocab_size), **added_tokens(config)}
    if (mask := tok.special_tokens.get("<mask>")) is not None and layouts.class_name(config) == "NllbTokenizer":
        added.setdefault(mask, AddedToken("<mask>", lstrip=True))  # the mask's id is before or after the languages
    if layouts.class_name(config) == "BarthezTokenizer":
        id = tok._core.vocabulary().find_any(b"<mask>")
        added.setdefault(tok.vocab_size if id is None else id, AddedToken("<mask>", lstrip=True))
    # a special token of the model is added again only if the configuration gives it other flags
    same = {id for id, token in added.items() if id in known and known[id].content == token.content}
    added = {id: token for id, token in added.items() if id not in same or (token.special and known[id] != token)}
    if not added:
        return tok
    pieces = tok._core.vocabulary()
    for id, token in added.items():
        is_entry = tok._core.content(id) is not None or pieces.find_any(token.content.encode()) is not None
        if id not in same and (not token.special or is_entry):
            raise UnsupportedFeatureError(
                f"the added token {token.content!r:.60} with id {id} is not a special token after the pieces of a "
                "SentencePiece model; the .model file itself loads",
                place="tokenizer_config.json: added_tokens_decoder",
                feature="added_tokens",
            )
    with error_context("tokenizer_config.json", "tokenizer_config.json"):
        return Tokenizer(entries_listed(tok), with_tokens(pieces, added))


def render(tok: Tokenizer) -> dict[str, bytes]:
    """Returns name -> content of the model and the configuration of a tokenizer for which `is_of_class` is true.

    Raises:
        UnsupportedFeatureError: the class would not rebuild the tokenizer.
    """
    definition = tok.definition
    name = layouts.class_name(definition.config)
    layout = layouts.of_folder(definition.config)
    end = _end(tok, layout)
    data = sentencepiece.render_pieces(tok, layout, end)
    given = added_tokens(definition.config)
    added = {id: token for id, token in tok.added_tokens.items() if id in given or id >= end}
    config = dict(definition.config)
    if added:
        config[ADDED_TOKENS] = {
            str(id): {
                "content": token.content,
                **{flag: getattr(token, flag) for flag in FLAGS},
                "special": token.special,
            }
            for id, token in sorted(added.items())
        }
    config = kept(config, tok.roles, keeps_class=True, keeps_added=True)
    again = _rebuilt(data, config)
    if changed := {role: token for role, token in tok.roles.items() if again.roles.get(role) != token}:
        config |= {f"{role}_token": token for role, token in changed.items()}
        again = _rebuilt(data, config)
    if again != tok or again.roles != tok.roles:
        names = ("model", "normalizer", "decoder", "template")
        differing = [one for one in names if getattr(again.definition, one) != getattr(tok.definition, one)]
        differing += ["roles"] if again.roles != tok.roles else []
        raise _other(name, f"{', '.join(differing) or 'the vocabulary'} would differ")
    return {
        layouts.FILES[name]: data,
        "tokenizer_config.json": render_config(replace(definition, roles={}, config=config)),
    }


def _rebuilt(data: bytes, config: Mapping[str, Any]) -> Tokenizer:
    name = layouts.class_name(config)
    try:
        return with_config(read(data, config, source=layouts.FILES[name]), config, is_json=False)
    except (FormatError, UnsupportedFeatureError) as error:
        raise _other(name, str(error)) from None


def _end(tok: Tokenizer, layout: Mapping[str, Any] | None) -> int:
    """Returns the id after the last piece."""
    layout = layout or {}
    for token in (*layout.get("languages", ()), layout.get("mask")):  # the first one in `tok` follows the last piece
        if token in tok.special_tokens:
            return tok.special_tokens[token]
    size = tok.definition.hf_vocab_size
    return tok.vocab_size if size is None else size


def _other(name: str, why: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"the class {name} does not rebuild this tokenizer from a .model: {why}",
        format="folder",
        feature="tokenizer_class",
    )
