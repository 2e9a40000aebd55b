"""Conversion between the pipeline stages of `tokenizer.json` and the stages of a `Definition`.

A `Definition` uses HF's names and fields, so most components are copied. The differences:

- A Sequence is a tuple.
- A Split by a known regex is a Pattern with the name of the regex.
- Plain concatenation is the default, so the definition has no decoder for it.
- A byte-level model implies ByteLevel at the end of the pre-tokenizer, so the definition omits this component. It is
  kept if it adds a space or follows another ByteLevel.
- A byte-level model also implies the decoder ByteLevel. This decoder is kept if it changes an added token.

To support a new component, add its name here and:

- a variant in ``normalize/mod.rs``, ``pretokenize/parts/mod.rs`` or ``decode/parts.rs`` of the core, read from JSON and
  applied there;
- its effect on two adjacent characters in ``pair_effect.rs``, which the compiler requires; ``Unknown`` is always
  correct, but slows the search for positions at which a text can be cut;
- a comparison with its library in ``tests/parity/``, a generator in ``fuzz/src/cases.rs`` and its name in
  ``fuzz/src/targets/parts.rs``;
- a row in the table of ``docs/files.md``.
"""

from __future__ import annotations

import re

from .. import _core
from ..definition import BYTE_LEVEL, Bpe, Definition, Pattern, ordered
from ..errors import ConfigError, FormatError, UnsupportedFeatureError
from ..util.record import record
from .hf_template import read_template, write_template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ..definition import Component

    JSON = dict[str, Any]

__all__ = ["PipelineJson", "read_parts", "write_parts"]

NORMALIZERS = (
    "BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "Prepend",
    "Replace", "Strip", "StripAccents",
)  # fmt: skip
PRE_TOKENIZERS = (
    "BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Digits", "FixedLength", "Metaspace", "Punctuation", "Split",
    "UnicodeScripts", "Whitespace", "WhitespaceSplit",
)  # fmt: skip
DECODERS = (
    "BPEDecoder", "ByteFallback", "ByteLevel", "CTC", "Fuse", "Metaspace", "Replace", "Strip", "WordPiece",
)  # fmt: skip

_BYTES: JSON = dict(BYTE_LEVEL)
_MAX_REPLACED = 64  # maximum number of replaced strings; HF searches every token for every one of these strings
_JOIN: JSON = {"type": "Join", "separator": " "}  # HF joins tokens in this way if there is no decoder
_FUSE: JSON = {"type": "Fuse"}
# Used instead of HF's Strip, which panics on an empty text.
_STRIP_LAST_SPACE: JSON = {"type": "Replace", "pattern": {"Regex": r" \z"}, "content": ""}


@record(frozen=True)
class PipelineJson:
    """Pipeline stages in HF's JSON.

    Attributes:
        normalizer, pre_tokenizer, post_processor, decoder: HF's JSON of the stage; None if it has no components.
        mark: end-of-word mark that the spellings of tokens contain.
        losses: name -> description of a feature that HF does not support.
    """

    normalizer: JSON | None
    pre_tokenizer: JSON | None
    post_processor: JSON | None
    decoder: JSON | None
    mark: str
    losses: dict[str, str]


def _byte_level(*, use_regex: bool = False) -> JSON:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def _sequence(key: str, parts: list[JSON]) -> JSON | None:
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else {"type": "Sequence", key: parts}


def _split(regex: str) -> JSON:
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}


def _replace(old: str, new: str) -> JSON:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def _without(regex: str) -> JSON:
    return {"type": "Replace", "pattern": {"Regex": regex}, "content": ""}


# ── writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def write_parts(
    definition: Definition, mark: str, token: Callable[[int], str], added: Iterable[tuple[str, bool]]
) -> PipelineJson:
    """Converts a definition to HF's JSON.

    Args:
        definition: the definition.
        mark: the end-of-word suffix, or the private-use character that represents an end-of-word symbol.
        token: id -> spelling.
        added: the content of each added token, and whether it is normalized.
    """
    losses: dict[str, str] = {}
    normalizer = _write_normalizer(definition.normalizer, losses)
    splits = _write_pretokenizer(definition, losses)
    decoder = _write_decoder(definition, mark, losses)
    model = definition.model
    if definition.decoder is None and definition.is_byte_level and decoder is not None:
        decoder = _keep_added(decoder, definition.changed_by_byte_level(added), losses)
    if isinstance(model, Bpe) and model.end_of_word is not None and model.end_of_word_style == "symbol":
        if model.level == "byte":
            losses["end_of_word"] = "an end-of-word symbol at byte level"
        normalizer = [{"type": "Replace", "pattern": {"Regex": r"(?<=\S)(?=\s|$)"}, "content": mark}]
    return PipelineJson(
        _sequence("normalizers", normalizer),
        _sequence("pretokenizers", splits),
        write_template(ordered(definition.template), token),
        decoder,
        mark,
        losses,
    )


def _write_normalizer(parts: Iterable[Component], losses: dict[str, str]) -> list[JSON]:
    """Converts SentencePiece's normalizer to equivalent HF components. Features that HF lacks are added to `losses`."""
    written: list[JSON] = []
    for part in parts:
        if part["type"] != "SentencePiece":
            written.append(ordered(part))
            continue
        if part["precompiled_charsmap"]:
            losses["precompiled_charsmap"] = (
                "SentencePiece's use of its character map (HF applies it to grapheme clusters)"
            )
            written.append({"type": "Precompiled", "precompiled_charsmap": part["precompiled_charsmap"]})
        space = "▁" if part["escape_whitespaces"] else " "
        if part["remove_extra_whitespaces"]:
            written.append(_without(r"\A +"))
            written.append({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})
        if part["add_dummy_prefix"]:
            if part["treat_whitespace_as_suffix"]:
                losses["treat_whitespace_as_suffix"] = "a dummy prefix at the end of the text"
            written.append({"type": "Prepend", "prepend": space})
        if part["escape_whitespaces"]:
            written.append(_replace(" ", "▁"))
        if part["remove_extra_whitespaces"]:
            # If spaces have been escaped to ▁ above, this also removes a literal ▁ at the end of the text.
            written.append(_without(r"\x{2581}+\z" if part["escape_whitespaces"] else r" +\z"))
    return written


def _write_pretokenizer(definition: Definition, losses: dict[str, str]) -> list[JSON]:
    """Converts the pre-tokenizer, and appends ByteLevel for a byte-level model."""
    splits: list[JSON] = []
    bytes_done = not definition.is_byte_level or _has_byte_level(definition)
    for part in definition.pretokenizer:
        if part["type"] != "Pattern":
            splits.append(ordered(part))
            continue
        name = part.get("name")
        spelled = str(part["regex"] if name is None else name)
        if name == "whitespace":
            splits.append({"type": "WhitespaceSplit"})
        elif name == "gpt2" and not bytes_done and len(definition.pretokenizer) == 1:
            return [_byte_level(use_regex=True)]
        else:
            translated, construct = _core.oniguruma_pattern(spelled, is_regex=name is None)
            if translated is None:
                losses["pattern"] = f"the pattern {spelled!r}: {construct} is not supported, or differs, in Oniguruma"
            else:
                splits.append(_split(translated))
    return splits if bytes_done else [*splits, _byte_level()]


def _has_byte_level(definition: Definition) -> bool:
    return any(part["type"] == "ByteLevel" for part in (*definition.normalizer, *definition.pretokenizer))


def _write_decoder(definition: Definition, mark: str, losses: dict[str, str]) -> JSON | None:
    model = definition.model
    if definition.decoder is None:
        if isinstance(model, Bpe) and model.end_of_word is not None:
            if model.end_of_word_style == "symbol":
                return _sequence("decoders", [_replace(mark, " "), _FUSE, _STRIP_LAST_SPACE])
            if model.level == "byte":
                space = "\u0120"  # a space in the byte alphabet
                return _sequence("decoders", [_replace(mark, space), _BYTES, _STRIP_LAST_SPACE])
            return {"type": "BPEDecoder", "suffix": mark}
        return _BYTES if definition.is_byte_level else _FUSE
    if definition.decoder == (_JOIN,):
        return None
    written: list[JSON] = []
    for part in definition.decoder:
        if part["type"] == "Join":
            losses["decoder"] = f"a decoder that joins with {part['separator']!r}"
        elif part["type"] == "Respell":
            # HF has no equivalent component: how HF decodes these tokens depends on the version of `tokenizers`.
            continue
        elif part.get("components"):
            written += map(ordered, part["components"])
        elif part["type"] == "SentencePiece":
            if part.get("denormalizer"):
                losses["decoder"] = "a denormalizer, which rewrites decoded text"
            written += [_replace("▁", " "), {"type": "ByteFallback"}, _FUSE]
            if part["add_dummy_prefix"]:
                written.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
        else:
            written.append(ordered(part))
    return _sequence("decoders", written)


def _keep_added(decoder: JSON, texts: list[str], losses: dict[str, str]) -> JSON:
    """Returns a decoder in which ByteLevel does not change the added tokens `texts`.

    A step before ByteLevel replaces each added token by its spelling in the byte alphabet. ByteLevel decodes this
    spelling to the text of the added token.
    """
    if len(texts) > _MAX_REPLACED:
        losses["decoder"] = f"the text of added tokens such as {texts[0]!r:.60}, which HF decodes as byte letters"
        return decoder
    kept = [
        {
            "type": "Replace",
            "pattern": {"Regex": rf"\A{re.escape(text)}\z"},
            "content": _core.spell_bytes(text.encode()),
        }
        for text in sorted(texts)
    ]
    own = decoder["decoders"] if decoder["type"] == "Sequence" else [decoder]
    return decoder if not kept else {"type": "Sequence", "decoders": [*kept, *own]}


# ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_parts(top: JSON, *, byte_level_model: bool, suffix: str, is_inside: bool = False) -> JSON:
    """Converts the stages of a file to fields of a `Definition`; the result also has the key ``is_byte_level``.

    If a byte-level model without end-of-word suffix has ByteLevel as its decoder, the result has no decoder, and
    ``reads_added`` is True. Later, `Definition.with_byte_level` restores the decoder if it changes an added token.

    Args:
        top: the parsed file.
        byte_level_model: whether the model's initial symbols are bytes if the pipeline has a ByteLevel, as in BPE.
        suffix: end-of-word suffix; empty if there is none.
        is_inside: True if the suffix also occurs inside a token, not only at the end. A decoder that replaces the
            suffix would change this token.

    Raises:
        UnsupportedFeatureError: a component is not supported; the error has its JSON path.
    """
    normalizer = _flatten(top.get("normalizer"), "normalizers", "$.normalizer", "normalizer", NORMALIZERS)
    pre = _flatten(top.get("pre_tokenizer"), "pretokenizers", "$.pre_tokenizer", "pre-tokenizer", PRE_TOKENIZERS)
    decoders = _flatten(top.get("decoder"), "decoders", "$.decoder", "decoder", DECODERS)
    num_spelled = [part["type"] for part in (*normalizer, *pre)].count("ByteLevel")
    is_byte_level = byte_level_model and num_spelled > 0
    pretokenizer: list[Component] = []
    for index, part in enumerate(pre):
        # If there are two ByteLevels, the second one encodes the output of the first, so both are kept.
        is_only = num_spelled == 1 and index == len(pre) - 1
        if part["type"] == "ByteLevel" and is_only and is_byte_level and not part.get("add_prefix_space", True):
            if part.get("use_regex", True):
                pretokenizer.append({"type": "Pattern", "name": "gpt2"})
        elif part["type"] == "WhitespaceSplit":
            pretokenizer.append({"type": "Pattern", "name": "whitespace"})
        elif part["type"] == "Split":
            pretokenizer.append(_read_split(part))
        else:
            pretokenizer.append(part)
    decoder = _read_decoder(top.get("decoder"), decoders, is_byte_level, suffix, is_inside)
    return {
        "normalizer": tuple(normalizer),
        "pretokenizer": tuple(pretokenizer),
        "decoder": decoder,
        "reads_added": decoder is None and is_byte_level and not suffix,
        "template": read_template(top.get("post_processor"), "$.post_processor"),
        "is_byte_level": is_byte_level,
    }


def _read_decoder(
    spelled: object, parts: list[Component], is_byte_level: bool, suffix: str, is_inside: bool
) -> tuple[Component, ...] | None:
    """Converts the decoder; returns None if the decoder is the default one for the model.

    The default decoder concatenates the tokens and, if there is an end-of-word suffix, replaces the suffix by a space.
    """
    if spelled is None:
        return (_JOIN,)
    types = [part["type"] for part in parts]
    if suffix:
        plain = Definition(Bpe("byte" if is_byte_level else "char", end_of_word=suffix, end_of_word_style="suffix"))
        return None if _write_decoder(plain, suffix, {}) == spelled and not is_inside else tuple(parts)
    if types == (["ByteLevel"] if is_byte_level else ["Fuse"]):
        return None
    return tuple(parts)


def _flatten(spelled: object, key: str, place: str, role: str, known: tuple[str, ...]) -> list[Component]:
    """Flattens nested Sequences into a list of components."""
    if spelled is None:
        return []
    flat: list[Component] = []
    pending: list[tuple[object, str]] = [(spelled, place)]
    while pending:
        part, where = pending.pop()
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(part, dict) or not isinstance(kind, str):
            raise FormatError(f'a {role} is an object with a "type"', place=where)
        if kind == "Sequence":
            inner = part.get(key)
            if not isinstance(inner, list):
                raise FormatError("a Sequence needs a list", place=f"{where}.{key}")
            pending.extend((inner[i], f"{where}.{key}[{i}]") for i in reversed(range(len(inner))))
        elif kind not in known:
            raise UnsupportedFeatureError(f"the {role} {kind!r} is not supported", place=where, feature=kind)
        else:
            flat.append(part)
    return flat


def _read_split(part: Component) -> Component:
    """Converts a Split to a Pattern, if its regex is a built-in pattern or means the same in Oniguruma and Jeton."""
    spelled = part.get("pattern")
    regex = spelled.get("Regex") if isinstance(spelled, dict) else None
    if not isinstance(regex, str) or part.get("behavior") != "Isolated" or part.get("invert"):
        return part
    for name in Pattern.names():
        if _core.oniguruma_pattern(name, is_regex=False)[0] == regex:
            return {"type": "Pattern", "name": name}
    try:
        same = _core.oniguruma_pattern(regex, is_regex=True)[0] == regex
    except ConfigError:
        return part
    return Pattern.of(regex).part() or part if same else part
