"""`TrainingPreset`: the base class of presets, which reproduce the training rules of a peer library.

A preset defines counting, learning and the resulting tokenizer. It is a frozen dataclass whose fields are the peer's
options, with the peer's names and defaults. `TrainingPreset.recipe` combines it with the other arguments of `train`
into a `Recipe`, and refuses contradictions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any, ClassVar, NamedTuple

from ... import _core, arguments
from ...definition import Definition, EndOfWordStyle, SymbolLevel, TieBreak
from ...errors import ConfigError
from ...special import spell
from ...vocab_view import MAX_ID
from ..counts import Counts
from ..options import TIE_BREAKS
from ..stages import Stages

__all__ = ["DEFAULT_VOCAB_SIZE", "LearnedVocabulary", "Recipe", "TrainingPreset", "TrainingRequest", "checked"]

DEFAULT_VOCAB_SIZE = 32_000  # default of `train`


@dataclass(frozen=True)
class TrainingRequest:
    """Arguments of `train` other than the corpus and the preset; None: not given."""

    vocab_size: int
    level: SymbolLevel | None = None
    pattern: str | None = None
    tie_break: TieBreak | None = None
    min_frequency: int | None = None
    special_tokens: tuple[str, ...] = ()
    unk_token: str | None = None
    end_of_word: str | None = None
    end_of_word_style: EndOfWordStyle | None = None

    def to_json(self) -> dict[str, Any]:
        """The arguments that determine the merges, without the vocabulary size."""
        return {name: value for name, value in asdict(self).items() if name != "vocab_size"}

    @classmethod
    def make(
        cls,
        vocab_size: int,
        level: SymbolLevel | None,
        pattern: str | None,
        tie_break: TieBreak | None,
        min_frequency: int | None,
        special_tokens: Sequence[str],
        unk_token: str | None,
        end_of_word: str | None,
        end_of_word_style: EndOfWordStyle | None,
    ) -> TrainingRequest:
        """Checks the arguments of `train` that are common to all presets.

        Raises:
            ConfigError: an invalid argument.
        """
        if isinstance(vocab_size, bool) or not isinstance(vocab_size, int) or not 1 <= vocab_size <= MAX_ID + 1:
            raise ConfigError(
                f"vocab_size={vocab_size!r} is not an integer from 1 to {MAX_ID + 1}", option="vocab_size"
            )
        for option, value, choices in (
            ("level", level, ("byte", "char")),
            ("tie_break", tie_break, TIE_BREAKS),
            ("end_of_word_style", end_of_word_style, ("symbol", "suffix")),
        ):
            if value is not None and value not in choices:
                raise ConfigError(f"{option}={value!r} is none of {', '.join(choices)}", option=option)
        if min_frequency is not None and (
            isinstance(min_frequency, bool) or not isinstance(min_frequency, int) or not 0 <= min_frequency < 1 << 64
        ):
            raise ConfigError(
                f"min_frequency={min_frequency!r} is not an integer from 0 to 2^64 - 1", option="min_frequency"
            )
        arguments.strings(special_tokens, "special_tokens")
        for option, text in (("end_of_word", end_of_word), ("unk_token", unk_token)):
            if text is not None:
                spell(text, option)
        return cls(
            vocab_size, level, pattern, tie_break, min_frequency, tuple(special_tokens), unk_token, end_of_word,
            end_of_word_style,
        )  # fmt: skip

    def refuse(self, preset: str, decides: Mapping[str, str]) -> None:
        """Refuses options that the preset determines itself; `decides` maps option -> explanation.

        Raises:
            ConfigError: one of the options was given.
        """
        for option, instead in decides.items():
            value = getattr(self, option)
            if value not in (None, ()):
                raise ConfigError(f"preset={preset!r} does not support {option}=; {instead}", option=option)


class LearnedVocabulary(NamedTuple):
    """Result of learning in the core; `merges` is None if the vocabulary holds them."""

    vocabulary: _core.Vocabulary
    num_symbols: int
    merges: list[tuple[int, int, int]] | None
    columns: tuple[list[int], list[int], list[int]]  # pair count, corpus tokens, tokens in use
    stopped: str | None = None  # reason for a smaller vocabulary, if it does not follow from the merges


@dataclass(frozen=True)
class Recipe:
    """Complete description of a training run.

    Attributes:
        algorithm: ``"bpe"``, ``"wordpiece"`` or ``"unigram"``.
        tie_break, min_frequency: as saved with the tokenizer; Unigram has no ties.
        stages: stages that turn documents into pretokens.
        special_tokens: tokens that split the documents first.
        by_line: True if the peer reads each line of a file as a document.
        unit: unit of progress.
        learn: (counts, run settings) -> learned vocabulary.
        definition: definition of the tokenizer.
        num_merges: number of initial symbols -> requested number of merges.
    """

    algorithm: str
    tie_break: TieBreak | None
    min_frequency: int
    stages: Stages
    learn: Callable[[Counts, _core.Run], LearnedVocabulary]
    definition: Definition
    num_merges: Callable[[int], int]
    special_tokens: tuple[str, ...] = ()
    by_line: bool = False
    unit: str = "merges"


@dataclass(frozen=True)
class TrainingPreset:
    """Training rules of a peer library; base class."""

    name: ClassVar[str]

    def recipe(self, request: TrainingRequest) -> Recipe:
        """Builds the training run from the preset and the other arguments of `train`.

        Raises:
            ConfigError: contradicting options.
        """
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """The options that differ from the defaults, as saved with the tokenizer.

        Examples:
            >>> from jeton.training.presets import Hf
            >>> Hf(max_token_length=8).to_json()
            {'max_token_length': 8}
        """
        given = asdict(self)
        return {each.name: given[each.name] for each in fields(self) if getattr(self, each.name) != _default(each)}


def _default(each: Any) -> Any:
    return each.default if each.default is not MISSING else each.default_factory()


def checked(preset: TrainingPreset) -> None:
    """Checks the fields of a preset by their annotated types; the range of an integer is in the field's metadata.

    Raises:
        ConfigError: a value of the wrong type or outside its range.
    """
    for each in fields(preset):
        value, kind = getattr(preset, each.name), str(each.type)
        if value is None and "None" in kind:
            continue
        if "range" in each.metadata:
            low, high = each.metadata["range"]
            arguments.integer(value, each.name, low, high)
            continue
        match kind.removesuffix(" | None"):
            case "bool":
                arguments.flag(value, each.name)
            case "str":
                arguments.string(value, each.name)
            case "tuple[str, ...]":
                if "" in (found := arguments.strings(value, each.name)):
                    raise ConfigError(f"{each.name} contains an empty string", option=each.name)
                object.__setattr__(preset, each.name, tuple(found))
            case "Sequence[Component]":
                arguments.components(value, each.name)
            case "Mapping[str, str]":
                pairs = arguments.instance(value, each.name, Mapping, "a mapping from string to string")
                if not all(isinstance(text, str) for pair in pairs.items() for text in pair):
                    raise arguments.wrong(each.name, value, "a mapping from string to string")


def integer(default: int | None, low: int, high: int = (1 << 63) - 1) -> Any:
    """Field for an integer in a range, or None if that is the default."""
    return field(default=default, metadata={"range": (low, high)})
