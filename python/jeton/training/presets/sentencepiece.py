"""Rules of SentencePiece's BPE trainer.

Each line, which ends with LF or CR LF, is a document. A line is normalized, then split at control and user-defined
symbols and before white space. The most frequent characters enter the vocabulary until they cover `character_coverage`
of the text. All other characters split the words, and pieces are learned from the resulting parts, in the order of
count, then length, then string. In the vocabulary, the characters follow the pieces. Saved as a `.model`, the tokenizer
has the same pieces, scores and ids as SentencePiece's own.

Left out (these options raise an error): sampling (``input_sentence_size``, which uses the C++ library's random
numbers); ``auto_character_coverage``; a pre-tokenizer for training.

Source: google/sentencepiece 0.2.3, trainer_interface.cc, bpe_model_trainer.cc, sentencepiece_model.proto (facts).
"""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ... import _core
from ...definition import Component, Definition, Pieces
from ...errors import ConfigError, TrainingError, keyword
from ...tokens.special import spell
from .. import character_maps
from ..request import TrainingRequest
from ..stages import Stages
from .base import OWN_RULES, Learned, LearningContext, Recipe, TrainingPreset, checked, integer

__all__ = ["SentencePiece"]

NORMALIZATIONS = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity")
_SPACE, _RARE = "\u2581", "\u2585"
_SPECIAL, _USER_DEFINED, _BYTE = 4, 3, 6  # the core's numbers for kinds of entries


@dataclass(frozen=True)
class SentencePiece(TrainingPreset):
    """Rules of ``spm_train --model_type=bpe``; options have the names of its flags.

    Attributes:
        normalization_rule_name: ``"nmt_nfkc"``, ``"nfkc"``, or ``"identity"``; ``"nmt_nfkc_cf"`` and ``"nfkc_cf"`` also
            fold case.
        normalization_rules: additional rules, text -> text, which override the named rules
            (``normalization_rule_tsv``).
        add_dummy_prefix: add a space to each line.
        remove_extra_whitespaces: remove leading, trailing and repeated spaces.
        character_coverage: share of the text that must consist of characters in the vocabulary, from 0.98 to 1.
        required_chars: characters that are always in the vocabulary.
        max_sentence_length: maximum length of a line, in bytes; longer lines are skipped.
        max_sentencepiece_length: maximum length of a piece, in characters.
        split_by_unicode_script: all characters of a piece have the same script.
        split_by_number: digits count as a script of their own, so pieces do not mix them with letters.
        split_by_whitespace: a piece does not cross white space.
        split_digits: every digit is a separate piece.
        treat_whitespace_as_suffix: white space ends a word instead of beginning it.
        allow_whitespace_only_pieces: runs of white space can become pieces.
        control_symbols: pieces that encoding never produces from text.
        user_defined_symbols: texts that are always one piece.
        byte_fallback: add 256 byte pieces, for characters that are not in the vocabulary.
        hard_vocab_limit: True: it is an error if fewer pieces than requested are found; False: the vocabulary is
            smaller.
        unk_id, bos_id, eos_id, pad_id: ids of these pieces; -1: no such piece.
        unk_piece, bos_piece, eos_piece, pad_piece: spellings of these pieces.
        unk_surface: decoded text of the unknown piece.

    Examples:
        >>> import jeton
        >>> from jeton.training.presets import SentencePiece
        >>> by = SentencePiece(user_defined_symbols=["<sep>"], normalization_rule_name="identity")
        >>> tok = jeton.train(["low lower<sep>lowest"], 16, preset=by, progress=False)
        >>> tok.tokenize("low<sep>lower").tokens, tok.id_to_token(4)
        ([b' ', b'low', b'<sep>', b'lowe', b'r'], 'lo')
    """

    name: ClassVar[str] = "sentencepiece"
    normalization_rule_name: str = "nmt_nfkc"
    normalization_rules: Mapping[str, str] | None = None
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    character_coverage: float = 0.9995
    required_chars: str = ""
    max_sentence_length: int = integer(4192, 10, 1_073_741_824)
    max_sentencepiece_length: int = integer(16, 1, 512)
    split_by_unicode_script: bool = True
    split_by_number: bool = True
    split_by_whitespace: bool = True
    split_digits: bool = False
    treat_whitespace_as_suffix: bool = False
    allow_whitespace_only_pieces: bool = False
    control_symbols: tuple[str, ...] = ()
    user_defined_symbols: tuple[str, ...] = ()
    byte_fallback: bool = False
    hard_vocab_limit: bool = True
    unk_id: int = integer(0, 0)
    bos_id: int = integer(1, -1)
    eos_id: int = integer(2, -1)
    pad_id: int = integer(-1, -1)
    unk_piece: str = "<unk>"
    bos_piece: str = "<s>"
    eos_piece: str = "</s>"
    pad_piece: str = "<pad>"
    unk_surface: str = " \u2047 "

    def __post_init__(self) -> None:
        checked(self)
        name = self.normalization_rule_name
        if name not in NORMALIZATIONS:
            raise ConfigError(
                f"normalization_rule_name: there is no normalization {name!r}; names: {', '.join(NORMALIZATIONS)}",
                option="normalization_rule_name",
            )
        coverage = self.character_coverage
        if isinstance(coverage, bool) or not isinstance(coverage, int | float) or not 0.98 <= coverage <= 1:
            raise ConfigError(f"{keyword('character_coverage', coverage)} is not a number from 0.98 to 1")
        for option in ("unk_piece", "bos_piece", "eos_piece", "pad_piece"):
            spell(getattr(self, option), option)
        for symbol in (*self.control_symbols, *self.user_defined_symbols):
            spell(symbol, "user_defined_symbols")

    def recipe(self, request: TrainingRequest) -> Recipe:
        """Implements `TrainingPreset.recipe`."""
        request.refuse(
            self.name,
            {
                "level": "symbols are characters",
                "pattern": "words are split before white space: see split_by_whitespace and the other flags",
                "tie_break": "ties go to the shortest",
                "min_frequency": "SentencePiece has no such limit",
                "special_tokens": "pass control_symbols or user_defined_symbols to the preset",
                "unk_token": "pass unk_piece to the preset",
                "end_of_word": "see treat_whitespace_as_suffix",
            }
            | OWN_RULES,
        )
        reserved = self._reserved(request.vocab_size)
        max_entries = request.vocab_size - len(reserved)
        if max_entries < 1:
            raise ConfigError(
                f"{keyword('vocab_size', request.vocab_size)} is too small for {len(reserved)} reserved pieces",
            )
        normalizer = self._normalizer()
        stages = Stages(
            (normalizer,),
            self._words(),
            boundaries=tuple(dict.fromkeys(content for _, _, content in reserved)),
            skip_over_bytes=self.max_sentence_length,
            skip_with=_RARE,
        )
        decoder = {
            "type": "SentencePiece",
            "add_dummy_prefix": self.add_dummy_prefix,
            "remove_extra_whitespaces": self.remove_extra_whitespaces,
            "treat_whitespace_as_suffix": self.treat_whitespace_as_suffix,
            "unk_surface": self.unk_surface,
        }
        roles = {role: piece for role, id, piece in self._named() if id >= 0}
        definition = Definition(
            Pieces(self.unk_piece, byte_fallback=self.byte_fallback),
            normalizer=(normalizer,),
            decoder=(decoder,),
            roles=roles,
        )

        def learn(context: LearningContext) -> Learned:
            vocabulary, num_symbols, merges, columns = context.counts._core.learn_sentencepiece(
                self._options(max_entries), reserved, context.run()
            )
            self._check_size(vocabulary.next_id(), request.vocab_size)
            return Learned(vocabulary, max_entries - num_symbols, columns, merges)

        return Recipe(
            tie_break="shortest",
            min_frequency=1,
            stages=stages,
            learn=learn,
            definition=definition,
            by_line=True,
        )

    def _named(self) -> list[tuple[str, int, str]]:
        return [(role, getattr(self, f"{role}_id"), getattr(self, f"{role}_piece")) for role in _ROLES]

    def _reserved(self, vocab_size: int) -> list[tuple[int, int, str]]:
        """Returns (id, kind, content) of unlearned pieces. A piece without an id gets the lowest free id."""
        at: dict[int, tuple[int, str]] = {}
        for role, id, piece in self._named():
            if id >= vocab_size or (id >= 0 and (id in at or piece in {content for _, content in at.values()})):
                raise ConfigError(
                    f"{role}_id={id} with {role}_piece={piece!r}: the id is taken, or is not below "
                    f"{keyword('vocab_size', vocab_size)}, or the piece already has another role",
                    option=f"{role}_id",
                )
            if id >= 0:
                at[id] = (_SPECIAL, piece)
        of_name = {piece: id for _, id, piece in self._named() if id >= 0}
        others = [(symbol, _SPECIAL) for symbol in self.control_symbols]
        others += [(symbol, _USER_DEFINED) for symbol in self.user_defined_symbols]
        if self.byte_fallback:
            others += [(f"<0x{byte:02X}>", _BYTE) for byte in range(256)]
        seen = set()
        next_id = 0
        for symbol, kind in others:
            if symbol in seen or symbol == self.unk_piece:
                raise ConfigError(f"the symbol {symbol!r} is defined twice", option="user_defined_symbols")
            seen.add(symbol)
            if symbol in of_name:
                at[of_name[symbol]] = (kind, symbol)
                continue
            while next_id in at:
                next_id += 1
            at[next_id] = (kind, symbol)
        return [(id, *entry) for id, entry in sorted(at.items())]

    def _normalizer(self) -> Component:
        rules = tuple(sorted((self.normalization_rules or {}).items()))
        return {
            "type": "SentencePiece",
            "precompiled_charsmap": character_map(self.normalization_rule_name, rules),
            "add_dummy_prefix": self.add_dummy_prefix,
            "remove_extra_whitespaces": self.remove_extra_whitespaces,
            "escape_whitespaces": True,
            "treat_whitespace_as_suffix": self.treat_whitespace_as_suffix,
        }

    def _words(self) -> tuple[Component, ...]:
        """Returns the components that split a normalized line into words."""
        if not self.split_by_whitespace:
            return ()
        if self.allow_whitespace_only_pieces:  # keeps runs of white space together
            run, rest = f"{_SPACE}+", f"[^{_SPACE}]"
            ends = self.treat_whitespace_as_suffix
            return ({"type": "Pattern", "regex": f"{rest}*{run}|{rest}+" if ends else f"{run}{rest}*|{rest}+"},)
        behavior = "MergedWithPrevious" if self.treat_whitespace_as_suffix else "MergedWithNext"
        return ({"type": "Split", "pattern": {"String": _SPACE}, "behavior": behavior, "invert": False},)

    def _options(self, max_entries: int) -> str:
        names = (
            "character_coverage", "required_chars", "max_sentencepiece_length", "split_by_unicode_script",
            "split_by_number", "split_by_whitespace", "split_digits", "treat_whitespace_as_suffix",
            "allow_whitespace_only_pieces",
        )  # fmt: skip
        return json.dumps({"vocab_size": max_entries} | {name: getattr(self, name) for name in names})

    def _check_size(self, size: int, vocab_size: int) -> None:
        if self.hard_vocab_limit and size < vocab_size:
            raise TrainingError(
                f"the corpus yields {size} pieces, fewer than {keyword('vocab_size', vocab_size)}; reduce it to "
                f"{size}, or pass {keyword('hard_vocab_limit', False)} to the preset"
            )


_ROLES = ("unk", "bos", "eos", "pad")


@functools.lru_cache(maxsize=8)
def character_map(name: str, rules: tuple[tuple[str, str], ...]) -> str | None:
    """Returns normalization rules in the format of a `.model`, in base64; None if there are none.

    Examples:
        >>> character_map("identity", ()) is None, len(character_map("identity", (("a", "b"),))) > 1000
        (True, True)
    """
    if name == "identity" and not rules:
        return None
    if rules:
        blob = _core.character_map(None if name == "identity" else name, list(rules))
    else:
        blob = character_maps.character_map(name)
    return base64.b64encode(blob).decode()
