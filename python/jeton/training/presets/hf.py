"""Hugging Face's `BpeTrainer` and `WordPieceTrainer`.

Merges and ids equal the trainer's, including ties, with these differences:

- In two cases the trainer's order depends on a hash map and differs between processes. Here the order is fixed: if
  `limit_alphabet` must choose among equally frequent characters, lower code points stay; and symbols with a prefix or a
  suffix are sorted by their string.
- If the corpus contains special tokens, the text is split at them. The trainer treats special tokens in the corpus as
  ordinary text and learns from this text.
- Here counts have 64 bits; in the trainer, 32 bits.

Source: huggingface/tokenizers 0.23.3, models/bpe/trainer.rs, models/wordpiece/trainer.rs, and
implementations/bert_wordpiece.py for BERT's defaults (facts).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ... import _core
from ...definition import Bpe, Component, Definition, Pattern, SymbolLevel, WordPiece, template_of
from ...errors import ConfigError, keyword
from ...tokens.added import AddedToken, with_added_tokens
from ...tokens.special import spell
from ..request import TrainingRequest, with_unk
from ..stages import Stages
from .base import OWN_RULES, Learned, LearningContext, Recipe, TrainingPreset, checked, given_or_own, integer

__all__ = ["Bert", "Hf"]

BERT_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_BERT_ROLES = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}


@dataclass(frozen=True)
class Hf(TrainingPreset):
    """Rules of `BpeTrainer`, by default with ``ByteLevel(add_prefix_space=False)`` and the whole byte alphabet.

    Attributes:
        min_frequency: pairs with a lower count are not merged.
        limit_alphabet: maximum number of initial symbols; the most frequent ones are kept, the others are removed from
            words.
        initial_alphabet: characters that are kept even if the corpus lacks them. At byte level, these are bytes,
            written in the byte alphabet (``ByteLevel.alphabet()``), as for the trainer. None keeps all 256 bytes at
            byte level, but no characters at character level; ``()`` keeps no characters at either level.
        continuing_subword_prefix: prefix of symbols inside a word, such as ``"##"``; only at character level.
        end_of_word_suffix: suffix of the last symbol of a word, such as ``"</w>"``.
        max_token_length: tokens of more than two symbols must be shorter than this, as in the trainer.
        pre_tokenizer: components of a `tokenizer.json` that split the text; None splits by ``pattern=``.

    Examples:
        >>> import jeton
        >>> from jeton.training.presets import Hf
        >>> tok = jeton.train(["low lower lowest"], 300, preset=Hf(max_token_length=4), progress=False)
        >>> max(map(len, tok.vocab.values()))
        3
        >>> words = Hf(end_of_word_suffix="</w>", pre_tokenizer=[{"type": "Whitespace"}])
        >>> tok = jeton.train(["low lower lowest"], 14, preset=words, progress=False)
        >>> [tok.id_to_token(new) for *_, new in tok.merges]
        ['lo', 'we', 'lowe', 'st</w>']
    """

    name: ClassVar[str] = "hf"
    min_frequency: int = integer(0, 0)
    limit_alphabet: int | None = integer(None, 0)
    initial_alphabet: Sequence[str] | None = None
    continuing_subword_prefix: str | None = None
    end_of_word_suffix: str | None = None
    max_token_length: int | None = integer(None, 0)
    pre_tokenizer: Sequence[Component] | None = None

    def __post_init__(self) -> None:
        checked(self)
        _check_alphabet(self.initial_alphabet)
        for option in ("continuing_subword_prefix", "end_of_word_suffix"):
            if getattr(self, option) is not None:
                spell(getattr(self, option), option)

    def recipe(self, request: TrainingRequest) -> Recipe:
        """Implements `TrainingPreset.recipe`."""
        request.refuse(self.name, OWN_RULES)
        suffix = _suffix(self.end_of_word_suffix, request)
        tie_break = request.tie_break or "lowest_ids"
        if tie_break in ("highest_pair", "shortest") and (suffix or self.continuing_subword_prefix):
            raise ConfigError(
                f"{keyword('tie_break', tie_break)} compares strings; with a prefix or a suffix Hugging Face "
                "compares ids",
            )
        level, parts = self._split(request, suffix)
        if level == "byte" and self.continuing_subword_prefix:
            raise ConfigError(
                f"continuing_subword_prefix needs {keyword('level', 'char')}: bytes have none",
                option="continuing_subword_prefix",
            )
        min_frequency = given_or_own(request.min_frequency, self.min_frequency, "min_frequency", default=0)
        special = with_unk(request.special_tokens, request.unk_token)
        initial = _initial_symbols(self.initial_alphabet, level)
        _check_special(special, initial, level)
        options = {
            "byte_level": level == "byte",
            "tie_break": tie_break,
            "vocab_size": _num_learned_entries(request.vocab_size, special),
            "first_id": len(special),
            "min_frequency": min_frequency,
            "limit_alphabet": self.limit_alphabet,
            "initial_alphabet": initial,
            "prefix": self.continuing_subword_prefix,
            "suffix": suffix,
            "max_token_length": self.max_token_length,
        }
        model = Bpe(
            level=level,
            end_of_word=suffix,
            end_of_word_style="suffix" if suffix else "symbol",
            unk_token=request.unk_token,
            continuing_subword_prefix=self.continuing_subword_prefix,
        )
        decoder: tuple[Component, ...] | None = None
        if self.continuing_subword_prefix:
            decoder = ({"type": "WordPiece", "prefix": self.continuing_subword_prefix, "cleanup": False},)
        return _recipe(options, special, Definition(model, pretokenizer=parts, decoder=decoder))

    def _split(self, request: TrainingRequest, suffix: str | None) -> tuple[SymbolLevel, tuple[Component, ...]]:
        """Returns the symbol level, and the components of the pre-tokenizer."""
        if self.pre_tokenizer is None:
            level = request.level or ("char" if suffix or self.continuing_subword_prefix else "byte")
            default = "gpt2" if level == "byte" else "whitespace" if suffix else "none"
            part = Pattern.of(request.pattern or default).part()
            return level, (part,) if part else ()
        if request.pattern is not None:
            raise ConfigError(
                f"{keyword('pattern')} and {keyword('pre_tokenizer')} both split the text; pass one of them"
            )
        parts = Stages.make(None, (), self.pre_tokenizer).pretokenizer
        level = "byte" if any(part.get("type") == "ByteLevel" for part in parts) else "char"
        if request.level not in (None, level):
            raise ConfigError(
                f"{keyword('level', request.level)}: this pre_tokenizer outputs {level}s; a ByteLevel component "
                "outputs bytes",
            )
        return level, parts


@dataclass(frozen=True)
class Bert(TrainingPreset):
    """Rules of `BertWordPieceTokenizer`: `WordPieceTrainer` with BERT's normalizer and pre-tokenizer.

    `WordPieceTrainer` is `BpeTrainer` with a prefix, and keeps only the learned vocabulary, not the merges. Without
    `special_tokens`, the tokenizer gets BERT's five special tokens. `WordPieceTrainer`'s own defaults are
    ``Bert(min_frequency=0, limit_alphabet=None)``.

    Attributes:
        clean_text, handle_chinese_chars, strip_accents, lowercase: options of ``BertNormalizer``.
        min_frequency, limit_alphabet, initial_alphabet: as in `Hf`.
        wordpieces_prefix: prefix of entries inside a word.

    Examples:
        >>> import jeton
        >>> from jeton.training.presets import Bert
        >>> tok = jeton.train(["low lower lowest"], 20, preset=Bert(min_frequency=0), progress=False)
        >>> [tok.id_to_token(id) for id in tok.encode("Lowest", add_special_tokens=True)]
        ['[CLS]', 'low', '##e', '##s', '##t', '[SEP]']
    """

    name: ClassVar[str] = "bert"
    algorithm: ClassVar[str] = "wordpiece"
    clean_text: bool = True
    handle_chinese_chars: bool = True
    strip_accents: bool | None = None
    lowercase: bool = True
    min_frequency: int = integer(2, 0)
    limit_alphabet: int | None = integer(1000, 0)
    initial_alphabet: Sequence[str] = ()
    wordpieces_prefix: str = "##"

    def __post_init__(self) -> None:
        checked(self)
        _check_alphabet(self.initial_alphabet)
        spell(self.wordpieces_prefix, "wordpieces_prefix")

    def recipe(self, request: TrainingRequest) -> Recipe:
        """Implements `TrainingPreset.recipe`."""
        request.refuse(
            self.name,
            {
                "level": "symbols are characters",
                "pattern": "BERT's pre-tokenizer splits the text",
                "tie_break": "ties go to the lowest ids",
                "end_of_word": f"WordPiece marks entries inside a word: {keyword('wordpieces_prefix')}",
            }
            | OWN_RULES,
        )
        unk = request.unk_token or "[UNK]"
        special = with_unk(request.special_tokens or BERT_TOKENS, unk)
        initial = _initial_symbols(self.initial_alphabet, "char")
        _check_special(special, initial, "char")
        options = {
            "byte_level": False,
            "tie_break": "lowest_ids",
            "vocab_size": _num_learned_entries(request.vocab_size, special),
            "first_id": len(special),
            "min_frequency": given_or_own(request.min_frequency, self.min_frequency, "min_frequency", default=2),
            "limit_alphabet": self.limit_alphabet,
            "initial_alphabet": initial,
            "prefix": self.wordpieces_prefix,
            "suffix": None,
            "max_token_length": None,
        }
        normalizer = {
            "type": "BertNormalizer",
            "clean_text": self.clean_text,
            "handle_chinese_chars": self.handle_chinese_chars,
            "strip_accents": self.strip_accents,
            "lowercase": self.lowercase,
        }
        definition = Definition(
            WordPiece(unk, continuing_subword_prefix=self.wordpieces_prefix),
            normalizer=(normalizer,),
            pretokenizer=({"type": "BertPreTokenizer"},),
            decoder=({"type": "WordPiece", "prefix": self.wordpieces_prefix, "cleanup": True},),
            template=_bert_template(special),
            roles={role: token for role, token in (_BERT_ROLES | {"unk": unk}).items() if token in special},
        )
        return _recipe(options, special, definition)


def _recipe(options: dict[str, Any], special: tuple[str, ...], definition: Definition) -> Recipe:
    def learn(context: LearningContext) -> Learned:
        vocabulary, num_symbols, merges, columns = context.counts._core.learn_hf(
            json.dumps(options), isinstance(definition.model, Bpe), context.run()
        )
        vocabulary = with_added_tokens(vocabulary, [(id, AddedToken(token)) for id, token in enumerate(special)])
        return Learned(vocabulary, options["vocab_size"] - num_symbols, columns, merges)

    return Recipe(
        tie_break=options["tie_break"],
        min_frequency=options["min_frequency"],
        stages=Stages.of(definition),
        learn=learn,
        definition=definition,
        special_tokens=special,
    )


def _suffix(suffix: str | None, request: TrainingRequest) -> str | None:
    if request.end_of_word is None:
        return suffix
    if request.end_of_word_style != "suffix":
        raise ConfigError(
            f"{keyword('preset', 'hf')} appends the end-of-word mark to the last symbol; pass "
            f"{keyword('end_of_word_style', 'suffix')}",
            option="end_of_word_style",
        )
    return str(given_or_own(request.end_of_word, suffix, "end_of_word", default=None))


def _num_learned_entries(vocab_size: int, special: Sequence[str]) -> int:
    max_entries = vocab_size - len(special)
    if max_entries < 1:
        raise ConfigError(f"{keyword('vocab_size', vocab_size)} is too small for {len(special)} special tokens")
    return max_entries


def _check_alphabet(alphabet: object) -> None:
    if alphabet is None:
        return
    if isinstance(alphabet, str) or not isinstance(alphabet, Sequence):
        raise ConfigError(f"{keyword('initial_alphabet', alphabet)} is not a list of characters")
    for item in alphabet:
        if not isinstance(item, str) or len(item) != 1 or "\ud800" <= item <= "\udfff":
            raise ConfigError(f"initial_alphabet contains {item!r}, not a character", option="initial_alphabet")


def _initial_symbols(alphabet: Sequence[str] | None, level: SymbolLevel) -> list[int]:
    """Returns the initial alphabet as bytes or code points."""
    if level == "char":
        return [ord(char) for char in alphabet or ()]
    if alphabet is None:
        return list(range(256))
    units: list[int] = []
    for char in alphabet:
        spelled = _core.read_bytes(char)
        if spelled is None:
            raise ConfigError(
                f"initial_alphabet contains {char!r}, which is not in the byte alphabet",
                option="initial_alphabet",
            )
        units += spelled
    return units


def _check_special(special: Sequence[str], initial: Sequence[int], level: SymbolLevel) -> None:
    """Raises an error if a special token is also an initial symbol: Hugging Face would give both the same id."""
    for token in special:
        symbol = _core.read_bytes(token) if level == "byte" else token.encode("utf-32-le")[:4]
        if len(token) == 1 and symbol and int.from_bytes(symbol, "little") in set(initial):
            raise ConfigError(
                f"the special token {token!r} is also a symbol of the alphabet, and both would get the same id, as "
                "with Hugging Face; choose a longer token",
                option="special_tokens",
            )


def _bert_template(special: Sequence[str]) -> Component | None:
    """Returns the template ``[CLS] A [SEP] B [SEP]``; None if one of these tokens is missing."""
    if not {"[CLS]", "[SEP]"} <= set(special):
        return None
    cls, sep = special.index("[CLS]"), special.index("[SEP]")
    return template_of([cls, "A", sep], [cls, "A", sep, ("B", 1), (sep, 1)])
