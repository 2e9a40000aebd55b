"""The decoders of Hugging Face's `tokenizers`.

Source: huggingface/tokenizers 0.23.3, bindings/python/src/decoders.rs (behavior).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar

from ... import _core
from ...errors import JetonError
from ...tokens.kinds import TOKEN
from .normalizers import Pattern
from .parts import Cell, Option, Part, from_state
from .pre_tokenizers import prepend_scheme
from .streams import DecodeStream
from .values import Word, character, flag, items, size, text, wrong

__all__ = [
    "CTC",
    "BPEDecoder",
    "ByteFallback",
    "ByteLevel",
    "DecodeStream",
    "Decoder",
    "Fuse",
    "Metaspace",
    "Replace",
    "Sequence",
    "Strip",
    "WordPiece",
]


class Decoder(Part):
    """Base class of decoders."""

    kind = "decoder"

    @staticmethod
    def custom(decoder: Any) -> Decoder:
        """Creates a decoder from a Python object with ``decode`` or ``decode_chain``; the original package runs it."""
        return Decoder._of_cell(Cell({"type": "Custom"}, decoder))

    def decode(self, tokens: Any) -> str:
        """Returns the text of tokens.

        Examples:
            >>> WordPiece().decode(["low", "##er"])
            'lower'
        """
        tokens = items(text)(tokens)
        if not self.is_custom:
            with suppress(JetonError):
                return _decode(self.cell.core_json(), tokens)
        return str(self.original().decode(tokens))


def _decode(parts_json: str, tokens: list[str]) -> str:
    """Decodes tokens with a temporary vocabulary that consists of these tokens."""
    ids = {token: id for id, token in enumerate(dict.fromkeys(tokens))}
    vocabulary = _core.Vocabulary(list(ids.values()), [TOKEN] * len(ids), [token.encode() for token in ids], [])
    return vocabulary.decode_parts(parts_json, False, [ids[token] for token in tokens], False)[1]


class BPEDecoder(Decoder):
    """Joins tokens, and replaces the suffix at the end of a word by a space."""

    suffix = Option(text, "</w>")


class ByteFallback(Decoder):
    """Decodes tokens such as ``<0x61>`` to bytes, and the bytes to characters."""


class ByteLevel(Decoder):
    """Decodes characters of the byte alphabet to bytes."""

    _fixed: ClassVar = {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    _ignores_others = True


class CTC(Decoder):
    """Removes repeated tokens and padding, and replaces the word delimiter by spaces.

    Args:
        pad_token: the padding token, which also separates two equal tokens.
        word_delimiter_token: the token for a space.
        cleanup: whether spaces before punctuation and in English contractions are removed.
    """

    pad_token = Option(text, "<pad>")
    word_delimiter_token = Option(text, "|")
    cleanup = Option(flag, True)


class Fuse(Decoder):
    """Joins the tokens, so that later decoders get one text."""


class Metaspace(Decoder):
    """Replaces the marks of the pre-tokenizer `Metaspace` by the spaces for which they stand.

    Args:
        replacement: the mark.
        prepend_scheme: as for the pre-tokenizer; unless it is ``"never"``, the first token loses its mark.
        split: not used.
    """

    replacement = Option(character, "▁")
    prepend_scheme = Option(prepend_scheme, "always", load=Word, get=str)
    split = Option(flag, True)

    @classmethod
    def _of_state(cls, state: Mapping[str, Any]) -> Cell:
        if "add_prefix_space" in state and "prepend_scheme" not in state:  # written by a version before 0.15
            state = {**state, "prepend_scheme": "always" if state["add_prefix_space"] else "never"}
        return super()._of_state(state)


class Replace(Decoder):
    """Replaces matches of a pattern in each token."""

    pattern = Pattern("replace")
    content = Option(text, is_hidden=True)


class Strip(Decoder):
    """Removes a character at the ends of each token.

    Args:
        content: the character.
        left, right: maximum number of removed characters at each end; the attributes are ``start`` and ``stop``.
    """

    content = Option(character, " ")
    start = Option(size, 0, argument="left")
    stop = Option(size, 0, argument="right")


class WordPiece(Decoder):
    """Joins tokens; puts a space before each token that does not begin with the prefix.

    Args:
        prefix: prefix of tokens inside a word.
        cleanup: whether spaces before punctuation and in English contractions are removed.
    """

    prefix = Option(text, "##")
    cleanup = Option(flag, True)


def _states(decoders: Any) -> list[dict[str, Any]]:
    if not isinstance(decoders, list):
        raise wrong(decoders, "list")
    for decoder in decoders:
        if not isinstance(decoder, Decoder):
            raise wrong(decoder, "Decoder")
    return [decoder.state for decoder in decoders]


class Sequence(Decoder):
    """Several decoders that are applied one after the other.

    Examples:
        >>> Sequence([Replace("▁", " "), Fuse()]).decode(["▁low", "er"])
        ' lower'
    """

    decoders = Option(_states, load=lambda parts: [from_state("decoder", part).state for part in parts], is_hidden=True)
    _new_arguments = ([],)
