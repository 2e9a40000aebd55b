"""Rules of SentencePiece's Unigram trainer.

In the model, the pieces of a text are drawn independently. Training maximizes the likelihood of the corpus: it starts
from frequent substrings as seeds, then alternates between EM, which estimates probabilities, and pruning, which removes
the pieces that contribute least to the likelihood. Reading, normalization, splitting and reserved pieces are the same
as for SentencePiece's BPE (`sentencepiece`).

Sums are computed in f64 in a fixed order, so scores are equal bit for bit with any number of threads.
SentencePiece adds in f32, thread by thread. All but a few of SentencePiece's pieces are the same as here.

Left out (these options raise an error): the options that `sentencepiece` leaves out, pieces across white space, white
space at the end of words, seeds from a file, ``use_sparse_pruning``.

Source: Kudo 2018, arXiv 1804.10959; google/sentencepiece 0.2.3, unigram_model_trainer.cc (facts).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import ClassVar

from ...definition import Unigram
from ...errors import ConfigError, keyword
from ..request import TrainingRequest
from ..stages import Stages
from .base import Learned, LearningContext, Recipe, integer
from .sentencepiece import SentencePiece

__all__ = ["SentencePieceUnigram"]

_MOST_SEEDS = 1 << 23  # maximum number of seeds; keeps their ids below the maximum id
LONGEST = 254  # characters; the core stores the length of a piece in 8 bits


@dataclass(frozen=True)
class SentencePieceUnigram(SentencePiece):
    """Rules of ``spm_train --model_type=unigram``. Options are its flags: those of `SentencePiece` and the following.

    Attributes:
        seed_sentencepiece_size: number of seeds; 0: eight times the vocabulary size, but at least 100,000.
        shrinking_factor: share of the pieces kept by each pruning, from 0.5 to 0.95.
        num_sub_iterations: number of EM iterations before each pruning.
        bug_compatible: reproduce two bugs of SentencePiece. (1) It omits seeds that occur only at the end of a line,
            and seeds whose following characters all have the same first byte (such as a space). (2) It adds the counts
            of characters that are not pieces to the most frequent character. ``preset="unigram"`` sets False, which
            gives a higher likelihood of the corpus.

    Examples:
        >>> import jeton
        >>> from jeton.training.presets import SentencePieceUnigram
        >>> by = SentencePieceUnigram(byte_fallback=True, hard_vocab_limit=False)
        >>> tok = jeton.train(["low low lower", "lowest slowest low"], 400, preset=by, progress=False)
        >>> tok.tokenize("slower").tokens, tok.id_to_token(3)
        ([b' ', b's', b'lowe', b'r'], '<0x00>')
        >>> tok.training.stopped
        '270 of 400 entries: no further piece improves the model'
    """

    name: ClassVar[str] = "sentencepiece-unigram"
    algorithm: ClassVar[str] = "unigram"
    seed_sentencepiece_size: int = integer(1_000_000, 0, _MOST_SEEDS)
    shrinking_factor: float = 0.75
    num_sub_iterations: int = integer(2, 1, 10)
    bug_compatible: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        factor = self.shrinking_factor
        if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0.5 <= factor <= 0.95:
            raise ConfigError(f"{keyword('shrinking_factor', factor)} is not a number from 0.5 to 0.95")
        for option, value in (
            ("split_by_whitespace", True),
            ("treat_whitespace_as_suffix", False),
            ("allow_whitespace_only_pieces", False),
        ):
            if getattr(self, option) is not value:
                raise ConfigError(
                    f"{keyword(option, not value)} is not supported for Unigram: pieces begin with white space or "
                    "have none",
                )
        if self.max_sentencepiece_length > LONGEST:
            raise ConfigError(
                f"{keyword('max_sentencepiece_length', self.max_sentencepiece_length)} exceeds {LONGEST}, the "
                "supported maximum for Unigram",
            )

    def recipe(self, request: TrainingRequest) -> Recipe:
        """Implements `TrainingPreset.recipe`.

        Special tokens become control symbols, and the unknown token becomes `unk_piece`.
        """
        if request.special_tokens or request.unk_token is not None:
            symbols = dict.fromkeys((*self.control_symbols, *request.special_tokens))
            unk_piece = request.unk_token or self.unk_piece
            symbols.pop(unk_piece, None)
            named = replace(self, control_symbols=tuple(symbols), unk_piece=unk_piece)
            return named.recipe(replace(request, special_tokens=(), unk_token=None))
        recipe = super().recipe(request)
        reserved = self._reserved(request.vocab_size)

        def learn(context: LearningContext) -> Learned:
            return self._learn(context, request.vocab_size, reserved)

        model = Unigram(self.unk_piece, byte_fallback=self.byte_fallback, single_precision=True)
        return replace(
            recipe,
            stages=replace(recipe.stages, mark_ends=self.bug_compatible),
            tie_break=None,
            learn=learn,
            definition=replace(recipe.definition, model=model),
            unit="pieces",
        )

    def _learn(self, context: LearningContext, vocab_size: int, reserved: list[tuple[int, int, str]]) -> Learned:
        most = 0

        def progress(left: int) -> None:
            """Reports the share of the excess pieces that has been pruned."""
            nonlocal most
            most = max(most, left)
            above = most - vocab_size
            context.progress(vocab_size * (most - left) // above if above > 0 else 0)

        vocabulary, _ = context.counts._core.learn_unigram(
            self._unigram_options(vocab_size, len(reserved), context.counts.stages),
            reserved,
            context.piece_run(vocab_size, progress),
        )
        size = len(vocabulary)
        self._check_size(size, vocab_size)
        stopped = None
        if size < vocab_size:
            stopped = f"{size} of {vocab_size} entries: no further piece improves the model"
        return Learned(vocabulary, 0, ([], [], []), [], stopped)

    def _unigram_options(self, vocab_size: int, num_reserved: int, stages: Stages | None = None) -> str:
        names = (
            "character_coverage", "required_chars", "max_sentencepiece_length", "split_by_unicode_script",
            "split_by_number", "split_digits", "seed_sentencepiece_size", "shrinking_factor", "num_sub_iterations",
            "bug_compatible",
        )  # fmt: skip
        others = {
            "vocab_size": vocab_size,
            "num_reserved": num_reserved,
            "single_precision": True,
            "marked_ends": stages is not None and stages.mark_ends,
            "starts_alike": self.add_dummy_prefix,
        }
        return json.dumps(others | {name: getattr(self, name) for name in names})
