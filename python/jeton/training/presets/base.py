"""`TrainingPreset`: base class of presets. A preset defines counting, learning and the resulting tokenizer.

A preset is a frozen dataclass whose fields are its options. The preset of a peer library has the peer's names and
defaults. `TrainingPreset.recipe` combines the preset with the other arguments of `train` into a `Recipe`, and raises an
error if they contradict each other. `train` runs the recipe: `Recipe.learn` turns a `LearningContext` into a `Learned`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from typing import Any, ClassVar

from ... import _core
from ...definition import Definition, TieBreak
from ...errors import ConfigError, keyword
from ...util import arguments
from ..checkpoint import checkpointed_piece_run, checkpointed_run
from ..counts import Counts
from ..limits import Limits
from ..request import TrainingRequest
from ..stages import Stages

__all__ = [
    "DEFAULT_VOCAB_SIZE",
    "OWN_RULES",
    "Learned",
    "LearningContext",
    "Recipe",
    "TrainingPreset",
    "checked",
    "given_or_own",
]

DEFAULT_VOCAB_SIZE = 32_000  # default of `vocab_size=` of `train`

# Options that presets of peer libraries refuse -> the reason.
OWN_RULES = {"rules": "it has its own rules", "superwords": "it has its own rules"}


@dataclass(frozen=True)
class LearningContext:
    """Input of `Recipe.learn`.

    Attributes:
        counts: counts of the pretokens to learn from.
        limits: memory, threads, and the folder of the checkpoint.
        options: preset and arguments, as saved with the checkpoint.
        progress: called with the number of merges learned so far.
        recount: function that counts the corpus again with `Recipe.second_stages`; None if the recipe has none.
    """

    counts: Counts
    limits: Limits
    options: Mapping[str, Any]
    progress: Callable[[int], object]
    recount: Callable[[], Counts] | None = None

    def run(self, options: Mapping[str, Any] | None = None) -> _core.Run:
        """Returns the core's run settings.

        Args:
            options: options to save with the checkpoint instead of `self.options`: everything that determines the
                merges, except the vocabulary size.

        Raises:
            ConfigError: the checkpoint was made from other counts or options.
            FormatError: the checkpoint is corrupt.
        """
        return checkpointed_run(self.counts, self.options if options is None else options, self.limits, self.progress)

    def piece_run(self, vocab_size: int, progress: Callable[[int], object]) -> _core.Run:
        """Returns the core's run settings for Unigram; `progress` is called with the number of remaining pieces.

        Raises:
            ConfigError, FormatError: as `run`.
        """
        return checkpointed_piece_run(self.counts, self.options, vocab_size, self.limits, progress)

    def second_stage(self, num_merges: int) -> LearningContext:
        """Counts the corpus again; returns the context for the stage of learning that follows `num_merges` merges."""
        if self.recount is None:
            raise RuntimeError("the recipe has no second_stages")
        return replace(
            self,
            counts=self.recount(),
            limits=self.limits.of_part("across"),
            progress=lambda done: self.progress(num_merges + done),
            recount=None,
        )


@dataclass(frozen=True)
class Learned:
    """Result of `Recipe.learn`.

    Attributes:
        vocabulary: all entries of the tokenizer.
        num_requested: number of merges that were requested.
        columns: columns of the training log, with a row for each merge: pair counts, corpus tokens, tokens in use.
        merges: the merges; None if the vocabulary stores them.
        stopped: reason why the vocabulary is smaller than requested; None if it is not, or if merges ran out.
    """

    vocabulary: _core.Vocabulary
    num_requested: int
    columns: tuple[list[int], list[int], list[int]]
    merges: list[tuple[int, int, int]] | None = None
    stopped: str | None = None


@dataclass(frozen=True)
class Recipe:
    """Complete description of a training run.

    Attributes:
        tie_break, min_frequency: values to save with the tokenizer; `tie_break` is None for Unigram, which has no ties.
        stages: stages that turn documents into pretokens.
        learn: function that learns the vocabulary.
        definition: definition of the tokenizer.
        special_tokens: tokens that split the documents before the stages.
        second_stages: stages for a second count of the corpus, from which learning continues; None: no second count.
        by_line: True if the peer reads each line of a file as a document.
        unit: unit of the progress that `learn` reports.
    """

    tie_break: TieBreak | None
    min_frequency: int
    stages: Stages
    learn: Callable[[LearningContext], Learned]
    definition: Definition
    special_tokens: tuple[str, ...] = ()
    second_stages: Stages | None = None
    by_line: bool = False
    unit: str = "merges"


@dataclass(frozen=True)
class TrainingPreset:
    """Base class of training rules.

    Attributes:
        name: name of the preset for ``preset=``.
        algorithm: ``"bpe"``, ``"wordpiece"`` or ``"unigram"``.
    """

    name: ClassVar[str]
    algorithm: ClassVar[str] = "bpe"

    def recipe(self, request: TrainingRequest) -> Recipe:
        """Builds the training run from the preset and the other arguments of `train`.

        Raises:
            ConfigError: options contradict each other.
        """
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Returns the options that differ from the defaults, as saved with the tokenizer.

        Examples:
            >>> from jeton.training.presets import Hf
            >>> Hf(max_token_length=8).to_json()
            {'max_token_length': 8}
        """
        given = asdict(self)
        return {each.name: given[each.name] for each in fields(self) if getattr(self, each.name) != _default(each)}

    def facts(self) -> dict[str, Any]:
        """Returns the fields of `TrainingFacts` that describe the preset.

        Examples:
            >>> from jeton.training.presets import Hf
            >>> Hf(max_token_length=8).facts()
            {'preset': 'hf', 'preset_options': {'max_token_length': 8}}
        """
        return {"preset": self.name, "preset_options": self.to_json() or None}


def _default(each: Any) -> Any:
    return each.default if each.default is not MISSING else each.default_factory()


def checked(preset: TrainingPreset) -> None:
    """Checks that each field of a preset has its annotated type, and lies in the range that `integer` declared, if any.

    Raises:
        ConfigError: a value has the wrong type or is outside its range.
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
    """Returns a dataclass field for an integer from `low` to `high`; None is also valid if it is the default."""
    return field(default=default, metadata={"range": (low, high)})


def given_or_own(given: Any, own: Any, option: str, default: Any) -> Any:
    """Returns the value of an option that both `train` and the preset have; `default`: the preset's default.

    Raises:
        ConfigError: both values were given, and they differ.
    """
    if given is not None and own != default and given != own:
        raise ConfigError(f"{keyword(option, given)} was given, and {own!r} to the preset; pass one of them")
    return own if given is None else given
