"""Training presets for options of SentencePiece that Jeton's own presets lack: any normalizer, word and character
models, texts that the caller has already split.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ...definition import Chars, Component, Words
from ...training.presets import SentencePiece
from ...training.presets.base import Learned, LearningContext, Recipe, TrainingPreset
from ...training.request import TrainingRequest

__all__ = ["BOUNDARY", "Adapted", "WordModel"]

BOUNDARY = "\x1f"  # SentencePiece's boundary character; no piece crosses it
_SPACE = "\u2581"


@dataclass(frozen=True)
class Adapted(TrainingPreset):
    """A preset with another normalizer and additional boundaries.

    Attributes:
        base: the preset.
        normalizer: the normalizer of the tokenizer.
        boundaries: texts that no piece crosses.
        is_normalized: whether the documents are normalized already.
    """

    name: ClassVar[str] = "sentencepiece-drop-in"
    base: SentencePiece
    normalizer: Mapping[str, Any]
    boundaries: tuple[str, ...] = ()
    is_normalized: bool = False

    def recipe(self, request: TrainingRequest) -> Recipe:
        """Implements `TrainingPreset.recipe`."""
        recipe = self.base.recipe(request)
        stages = recipe.stages
        own: Component = dict(self.normalizer)
        rest = stages.normalizer[1:]  # additional stages, if the base is a `WordModel`
        stages = replace(
            stages,
            normalizer=rest if self.is_normalized else (own, *rest),
            boundaries=(*stages.boundaries, *self.boundaries),
            skip_over_bytes=None if self.is_normalized else stages.skip_over_bytes,
            skip_with=None if self.is_normalized else stages.skip_with,
        )
        definition = replace(recipe.definition, normalizer=(own,))
        return replace(recipe, stages=stages, definition=definition)

    def to_json(self) -> dict[str, Any]:
        """Implements `TrainingPreset.to_json`."""
        return self.base.to_json()


@dataclass(frozen=True)
class WordModel(SentencePiece):
    """Preset for a word or character model.

    Attributes:
        model_type: ``"word"`` or ``"char"``.
        use_all_vocab: whether all words or characters become pieces.
    """

    name: ClassVar[str] = "sentencepiece-words"
    model_type: str = "word"
    use_all_vocab: bool = False

    def recipe(self, request: TrainingRequest) -> Recipe:
        """Implements `TrainingPreset.recipe`."""
        reserved = self._reserved(request.vocab_size)
        recipe = super().recipe(request)
        # A user-defined symbol inside of a word gets boundaries, so the word that contains it does not become a piece.
        symbols = sorted({content for _, _, content in reserved}, key=len, reverse=True)
        marks = tuple({"type": "Replace", "pattern": {"String": s}, "content": BOUNDARY} for s in symbols)
        words: Component = {
            "type": "Split",
            "pattern": {"String": _SPACE},
            "behavior": "MergedWithNext",
            "invert": False,
        }
        is_word = self.model_type == "word"
        stages = replace(
            recipe.stages,
            normalizer=(*recipe.stages.normalizer, *marks),
            pretokenizer=(words,) if is_word else (),
            boundaries=(),
        )
        kind = Words if is_word else Chars
        model = kind(self.unk_piece, byte_fallback=self.byte_fallback)
        options = json.dumps(
            {
                "model_type": self.model_type,
                "vocab_size": request.vocab_size - len(reserved),
                "use_all_vocab": self.use_all_vocab,
                "character_coverage": self.character_coverage,
                "required_chars": self.required_chars,
            }
        )

        def learn(context: LearningContext) -> Learned:
            vocabulary = context.counts._core.learn_sentencepiece_words(options, reserved)
            if is_word and not self.use_all_vocab:
                self._check_size(vocabulary.next_id(), request.vocab_size)
            return Learned(vocabulary, 0, ([], [], []), [])

        definition = replace(recipe.definition, model=model)
        return replace(recipe, stages=stages, learn=learn, definition=definition, tie_break=None, unit="pieces")
