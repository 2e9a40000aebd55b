"""`SentencePieceNormalizer`: normalizes as a model does, or by given rules.

Source: google/sentencepiece 0.2.3, python/src/sentencepiece, src/builder.cc (behavior).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ... import _core
from ...errors import ConfigError, JetonError
from . import specs
from .loading import read_file

__all__ = [
    "FLAGS",
    "SentencePieceNormalizer",
    "charsmap_of",
    "component",
    "populated",
    "rules_of_file",
    "spec_of_model",
]

FLAGS = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
DEFAULT_NAME = "nmt_nfkc"

Spec = dict[str, Any]  # values of a `NormalizerSpec`, by name


def spec_of_model(data: bytes) -> Spec:
    """Returns the normalizer's spec from the content of a model file.

    Raises:
        RuntimeError: the data is not a model.
    """
    if not isinstance(data, bytes):
        raise TypeError(f"a serialized model must be bytes, not {type(data).__name__}")
    try:
        found = _core.sentencepiece_specs(data)
        return specs.parse(specs.NORMALIZER, b"".join(content for number, content in found if number == 3))
    except (JetonError, ValueError) as error:
        raise RuntimeError(f"not a SentencePiece model: {error}") from None


@lru_cache(maxsize=8)
def charsmap_of(name: str) -> bytes:
    """Returns the built-in character map of the given name.

    Raises:
        RuntimeError: there is no such map.
        ValueError: there is no such map, and the name has characters other than lowercase letters, ``_`` and ``-``.
    """
    if name == "identity":
        return b""
    from ...training.character_maps import character_map  # imported on use: needed only for named rules

    try:
        return character_map(name)
    except ConfigError as error:
        if name.replace("_", "").replace("-", "").isalpha() and name.islower():
            raise RuntimeError(str(error)) from None
        raise ValueError(f"there are no normalization rules named {name!r}") from None


def rules_of_file(path: str) -> list[tuple[str, str]]:
    """Returns the rules of a file.

    Each line has code points in hexadecimal, a tab, and the code points that replace them.

    Raises:
        RuntimeError: the file cannot be read, or has another format.
    """
    rules: dict[str, str] = {}
    for line in read_file(path).decode("utf-8", "replace").splitlines():
        fields = line.split("\t")
        source, replacement = (_characters(field) for field in (*fields, "")[:2])
        if not source:
            raise RuntimeError(f"{path}: a rule without code points: {line!r}")
        rules[source] = replacement
    return list(rules.items())


def _characters(field: str) -> str:
    try:
        return "".join(chr(int(code.removeprefix("U+"), 16)) for code in field.split(" ") if code)
    except (ValueError, OverflowError):
        raise RuntimeError(f"{field!r} is not a list of hexadecimal code points") from None


def compiled(rules: Sequence[tuple[str, str]]) -> bytes:
    """Compiles rules to a character map.

    Raises:
        RuntimeError: there are no rules.
        ValueError: a rule has no source, or changes nothing.
    """
    if not rules:
        raise RuntimeError("there are no rules")
    if any(not source for source, _ in rules):
        raise ValueError("the source of a rule is empty")
    if any(source == replacement for source, replacement in rules):
        raise ValueError("a rule changes nothing")
    return _core.character_map(None, list(rules))


def populated(spec: Mapping[str, Any]) -> Spec:
    """Returns a copy of a spec with its character map filled in.

    Raises:
        RuntimeError: the spec names built-in rules that do not exist; the spec names a file of rules that cannot be
            read; or the spec has both a file of rules and a character map.
        ValueError: as `charsmap_of` and `compiled`.
    """
    spec = dict(spec)
    if spec.get("normalization_rule_tsv"):
        if spec.get("precompiled_charsmap"):
            raise RuntimeError("both normalization_rule_tsv and precompiled_charsmap are given")
        return spec | {
            "precompiled_charsmap": compiled(rules_of_file(spec["normalization_rule_tsv"])),
            "name": "user_defined",
        }
    spec["name"] = spec.get("name") or DEFAULT_NAME
    if not spec.get("precompiled_charsmap"):
        spec["precompiled_charsmap"] = charsmap_of(spec["name"])
    return spec


def component(spec: Mapping[str, Any], *, treat_whitespace_as_suffix: bool = False) -> dict[str, Any]:
    """Converts a spec to the normalizer component of a definition.

    Examples:
        >>> component({"add_dummy_prefix": False})["add_dummy_prefix"]
        False
    """
    from base64 import b64encode  # imported on use, like `json`: programs that only encode need neither of the two

    blob = spec.get("precompiled_charsmap")
    return {
        "type": "SentencePiece",
        "precompiled_charsmap": b64encode(blob).decode() if blob else None,
        **{flag: spec.get(flag, True) for flag in FLAGS},
        "treat_whitespace_as_suffix": treat_whitespace_as_suffix,
    }


class SentencePieceNormalizer:
    """Normalizer of a model, or of given rules.

    Args:
        model_file: path of a model.
        model_proto: content of a model, as bytes or as a ``ModelProto``.
        normalizer_spec: a ``NormalizerSpec``, as bytes or as a protobuf message.
        rule_tsv: path of a file of rules.
        rule_name: ``"nmt_nfkc"``, ``"nfkc"``, ``"nmt_nfkc_cf"``, ``"nfkc_cf"`` or ``"identity"``.
        norm_map: rules, as pairs of texts.
        add_dummy_prefix, escape_whitespaces, remove_extra_whitespaces: override the flags of the model or spec.

    Raises:
        ValueError: no argument selects a normalizer, or rules are wrong.
        RuntimeError: a file cannot be read.

    Examples:
        >>> SentencePieceNormalizer(rule_name="nfkc_cf", add_dummy_prefix=False).normalize("Ｌｏｗ  Low")
        'low▁low'
        >>> SentencePieceNormalizer(norm_map=[("low", "high")]).normalize("low", with_offsets=True)
        ('▁high', [0, 0, 0, 0, 0, 3])
    """

    def __init__(
        self,
        model_file: Any = None,
        model_proto: Any = None,
        normalizer_spec: Any = None,
        rule_tsv: Any = None,
        rule_name: Any = None,
        norm_map: Any = None,
        add_dummy_prefix: Any = None,
        escape_whitespaces: Any = None,
        remove_extra_whitespaces: Any = None,
    ) -> None:
        if model_file:
            spec = spec_of_model(read_file(model_file))
        elif model_proto:
            spec = spec_of_model(_serialized(model_proto))
        elif normalizer_spec:
            spec = _spec_of(_serialized(normalizer_spec))
        elif rule_tsv:
            spec = populated({"normalization_rule_tsv": rule_tsv})
        elif rule_name:
            spec = populated({"name": rule_name})
        elif norm_map:
            spec = {"precompiled_charsmap": compiled(_pairs(norm_map))}
        else:
            raise ValueError("no model is specified")
        flags = dict(zip(FLAGS, (add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces), strict=True))
        self._load(spec | {flag: bool(value) for flag, value in flags.items() if value is not None})

    def _load(self, spec: Spec) -> None:
        from json import dumps

        self._spec = spec
        try:
            self._normalizer = _core.PieceNormalizer(dumps(component(spec)), [])
        except JetonError as error:
            raise RuntimeError(str(error)) from None

    def normalize(self, input: Any, with_offsets: Any = None) -> Any:
        """Returns the normalized text, or a list of results for a list of texts.

        With offsets, each result is a pair: the normalized text, and for each of its characters the start in the input.
        """
        return self._normalizer.normalize(input, bool(with_offsets))

    def decompile(self) -> list[tuple[str, str]]:
        """Returns the rules, sorted by source.

        Raises:
            RuntimeError: there are no rules.
        """
        blob = self._spec.get("precompiled_charsmap")
        if not blob:
            raise RuntimeError("the normalizer has no rules")
        return _core.character_rules(blob)

    def serialized_model_proto(self) -> bytes:
        """Returns a serialized model with this normalizer and without pieces."""
        return _core.write_message([(3, self.serialized_normalizer_spec())])

    def serialized_normalizer_spec(self) -> bytes:
        """Returns the serialized ``NormalizerSpec``."""
        return specs.serialize(specs.NORMALIZER, self._spec)

    Normalize = normalize
    Decompile = decompile

    def __getstate__(self) -> bytes:
        return self.serialized_model_proto()

    def __setstate__(self, serialized_model_proto: bytes) -> None:
        self._load(spec_of_model(serialized_model_proto))


def _serialized(message: Any) -> Any:
    return message.SerializeToString() if hasattr(message, "SerializeToString") else message


def _spec_of(data: Any) -> Spec:
    if not isinstance(data, bytes):
        raise TypeError(f"a serialized spec must be bytes, not {type(data).__name__}")
    try:
        return specs.parse(specs.NORMALIZER, data)
    except ValueError as error:
        raise RuntimeError(f"not a NormalizerSpec: {error}") from None


def _pairs(norm_map: Any) -> list[tuple[str, str]]:
    if isinstance(norm_map, str | bytes | dict):
        raise TypeError("norm_map must be a list of pairs of texts")
    rules: dict[str, str] = {}
    for pair in norm_map:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(isinstance(t, str | bytes) for t in pair):
            raise TypeError("norm_map must be a list of pairs of texts")
        source, replacement = (text.decode() if isinstance(text, bytes) else text for text in pair)
        if source in rules:
            raise ValueError(f"norm_map has two rules for {source!r}")
        rules[source] = replacement
    return list(rules.items())
