"""SentencePiece's `.model`.

The reader uses all fields that affect ids or decoded text. Training options, self-test data and unknown fields are not
preserved. sentencepiece 0.2 loads the written files with equal ids. The rules of normalization and denormalization are
preserved, but not the names of the rules, which have no effect. `sentencepiece_parts` converts tokenizers with Hugging
Face's components before they are written.

A layout (see `layout`) renumbers the pieces and can add a template. SentencePiece itself has no templates.

Source: google/sentencepiece src/sentencepiece_model.proto, src/sentencepiece_processor.cc (facts).
"""

from __future__ import annotations

import json

from .. import _core
from ..definition import Chars, Definition, Model, Pieces, Unigram, Words
from ..errors import ConfigError, UnsupportedFeatureError
from ..tokenizer import Tokenizer
from .error_context import error_context, refuse_losses
from .sentencepiece_parts import FORMAT, converted, is_sentencepiece, unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Mapping
    from types import ModuleType
    from typing import Any

    from ..definition import Component

__all__ = ["read", "write"]

_ROLES = ("bos", "eos", "pad", "unk")
_NORMALIZER = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces", "treat_whitespace_as_suffix")
_DECODER = ("add_dummy_prefix", "remove_extra_whitespaces", "treat_whitespace_as_suffix", "unk_surface")


def read(
    data: bytes,
    *,
    source: str,
    layout: str | Mapping[str, Any] | None = None,
    decoder: tuple[Component, ...] = (),
) -> Tokenizer:
    """Reads a tokenizer from a model.

    Args:
        data: content of the file.
        source: name of the file, for messages.
        layout: id layout; None means SentencePiece's own ids.
        decoder: components that decode in place of SentencePiece's decoder. ``ByteFallback`` is appended if the model
            has byte fallback and no component is ``ByteFallback``. If `decoder` is empty, SentencePiece's decoder is
            used.

    Raises:
        FormatError: the data is not a protobuf, or not a model that SentencePiece would load; the error states the
            piece and the byte offset.
        UnsupportedFeatureError: the model has a denormalizer, and `decoder` is given.
        ConfigError: the layout does not match the model.
    """
    asked = None if layout is None else _layouts().resolve(layout)
    with error_context(source, FORMAT):
        text, vocabulary = _read(data, asked)
        facts = json.loads(text)
        if decoder and facts["denormalizer"]:
            raise UnsupportedFeatureError(
                "the model has a denormalizer (denormalizer_spec), which the decoder of its class does not apply; load "
                "the model file alone",
                place="denormalizer_spec",
                feature="denormalizer_spec",
            )
        roles = {role: facts[role] for role in _ROLES if facts[role] is not None}
        template = None
        if asked is not None:
            roles |= {role: token for role, token in (asked.get("roles") or {}).items() if _has(vocabulary, token)}
            template = _layouts().template(asked.get("template"), vocabulary)
        return Tokenizer(_definition(facts, roles, template, decoder), vocabulary)


def _read(data: bytes, asked: Mapping[str, Any] | None) -> tuple[str, _core.Vocabulary]:
    if asked is None:
        return _core.Vocabulary.from_sentencepiece(data)
    try:
        return _core.Vocabulary.from_sentencepiece(data, _layouts().to_core(asked))
    except ConfigError as error:
        raise ConfigError(str(error), option="layout") from None


def _layouts() -> ModuleType:
    """Imports the module of layouts. The import is not at the top, because most models have no layout."""
    from . import layout

    return layout


def _has(vocabulary: _core.Vocabulary, token: str) -> bool:
    return vocabulary.find_any(token.encode()) is not None


def _definition(
    facts: Mapping[str, Any], roles: Mapping[str, str], template: Any, components: tuple[Component, ...]
) -> Definition:
    unk, byte_fallback = facts["unk"], facts["byte_fallback"]
    model: Model
    match facts["model_type"]:
        case "unigram":
            model = Unigram(unk, byte_fallback=byte_fallback, single_precision=True)
        case "bpe":
            model = Pieces(unk, byte_fallback=byte_fallback)
        case "char":
            model = Chars(unk, byte_fallback=byte_fallback)
        case _:
            model = Words(unk, byte_fallback=byte_fallback)
    normalizer = {
        "type": "SentencePiece",
        "precompiled_charsmap": facts["precompiled_charsmap"],
        **{name: facts[name] for name in _NORMALIZER},
    }
    decoder = {"type": "SentencePiece", **{name: facts[name] for name in _DECODER}}
    if facts["denormalizer"]:
        decoder["denormalizer"] = facts["denormalizer"]
    if components:
        has_bytes = any(part["type"] == "ByteFallback" for part in components)
        bytes_too = ({"type": "ByteFallback"},) if byte_fallback and not has_bytes else ()
        decoder["components"] = (*components, *bytes_too)
    return Definition(model=model, normalizer=(normalizer,), decoder=(decoder,), template=template, roles=roles)


def write(tok: Tokenizer, path: str | os.PathLike[str], accept_loss: Collection[str]) -> None:
    """Writes a model file, atomically. SentencePiece gives the same ids with this model.

    Raises:
        UnsupportedFeatureError: the tokenizer has a model or feature that SentencePiece does not support.
    """
    from ..util.atomic import write_atomically

    data = render(tok, accept_loss)
    with write_atomically(path, streams=True) as file:
        file.write(data)


def render(tok: Tokenizer, accept_loss: Collection[str]) -> bytes:
    """Returns the content of the file that `write` writes."""
    from ..tokens.added import model_entries

    losses: dict[str, str] = {}
    if not is_sentencepiece(tok.definition):
        tok = converted(tok, losses)
    definition = tok.definition
    facts = _facts(definition)
    if definition.template is not None:
        losses["template"] = "what add_special_tokens adds"
    others = {role: token for role, token in definition.roles.items() if role not in _ROLES}
    if others:
        losses["roles"] = f"the roles {', '.join(others)}"
    if definition.chat_template is not None:
        losses["chat_template"] = "a chat template"
    if any("components" in part for part in definition.decoder or ()):
        losses["decoder"] = "the decoder of its class, which shows special tokens"
    if not all(token.is_exact for token in tok.added_tokens.values()) or model_entries(tok._core):
        losses["added_tokens"] = "how added tokens take the white space around them"
    refuse_losses(losses, accept_loss, FORMAT)
    return _write(tok, facts)


def render_pieces(tok: Tokenizer, layout: Mapping[str, Any] | None, end: int) -> bytes:
    """Renders a model file with only the pieces. It has SentencePiece's own ids, not the ids of the layout.

    Tokens whose id is `end` or higher are left out.

    Raises:
        UnsupportedFeatureError: the tokenizer has a model or feature that SentencePiece does not support.
    """
    facts = _facts(tok.definition)
    for role, piece in (("bos", "<s>"), ("eos", "</s>"), ("pad", "<pad>")):  # pieces of the model, not roles of `tok`
        if piece in tok.special_tokens:
            facts[role] = piece
    return _write(tok, facts, _layouts().to_core(layout or {}), end)


def _write(tok: Tokenizer, facts: Mapping[str, Any], layout: str | None = None, end: int | None = None) -> bytes:
    try:
        return tok._core.sentencepiece_file(json.dumps(facts), layout, end)
    except ConfigError as error:
        raise UnsupportedFeatureError(
            f"a SentencePiece model cannot hold this vocabulary: {error}", format=FORMAT, feature="vocabulary"
        ) from None


def _facts(definition: Definition) -> dict[str, Any]:
    model = definition.model
    kinds = {Unigram: "unigram", Pieces: "bpe", Chars: "char", Words: "word"}
    if not isinstance(model, (Unigram, Pieces, Chars, Words)):
        raise unsupported("model", f"a model of the type {model.type}")
    if isinstance(model, Unigram) and (not model.single_precision or not model.fuse_unk):
        raise unsupported("model", "a Unigram model that adds scores as Hugging Face does")
    if model.unk_token is None:
        raise unsupported("unk_token", "a model without an unknown token")
    match definition.normalizer:
        case ({"type": "SentencePiece", **normalizer},):
            pass
        case _:
            raise unsupported("normalizer", "a normalizer that is not SentencePiece's own")
    if definition.pretokenizer:
        raise unsupported("pretokenizer", f"the pre-tokenizer {definition.pretokenizer[0].get('type')}")
    match definition.decoder:
        case ({"type": "SentencePiece", **decoder},) if all(
            decoder.get(name) == normalizer.get(name) for name in _DECODER if name in _NORMALIZER
        ):
            pass
        case _:
            raise unsupported("decoder", "a decoder that is not SentencePiece's own")
    return {
        "model_type": kinds[type(model)],
        "byte_fallback": model.byte_fallback,
        "unk": model.unk_token,
        "unk_surface": decoder.get("unk_surface", " \u2047 "),
        "normalizer": "user_defined" if normalizer.get("precompiled_charsmap") else "identity",
        "precompiled_charsmap": normalizer.get("precompiled_charsmap"),
        "denormalizer": decoder.get("denormalizer"),
        **{name: bool(normalizer.get(name)) for name in _NORMALIZER},
        **{role: definition.roles.get(role) for role in ("bos", "eos", "pad")},
    }
