"""Rules of subword-nmt's ``learn-bpe``.

Spaces separate words in a line; the last character of a word has the suffix ``</w>``. Of pairs with equal counts, the
larger pair of strings is merged; pairs with a count below `min_frequency` are not merged. The merges, in order, equal
the lines of subword-nmt's codes file.

One deliberate difference: in a word with a Unicode space other than U+0020 (such as U+00A0), subword-nmt's regex for
merging treats this space as the end of a symbol, so it counts pairs that it does not merge. Here these pairs are
merged.

Source: rsennrich/subword-nmt 0.3.8, learn_bpe.py (facts).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...definition import Bpe, Definition
from ...errors import ConfigError, keyword
from ...tokens.added import AddedToken, with_added_tokens
from ..request import TrainingRequest
from ..stages import Stages
from .base import (
    DEFAULT_VOCAB_SIZE,
    OWN_RULES,
    Learned,
    LearningContext,
    Recipe,
    TrainingPreset,
    checked,
    given_or_own,
    integer,
)

__all__ = ["SubwordNmt"]

_END = "</w>"
_SPACES = {"type": "Split", "pattern": {"Regex": "[ \\r\\n]+"}, "behavior": "Removed", "invert": False}


@dataclass(frozen=True)
class SubwordNmt(TrainingPreset):
    """Rules of ``subword-nmt learn-bpe``; options have the names of its flags.

    Attributes:
        symbols: number of merges; None: as many as fit into `vocab_size`.
        min_frequency: pairs with a lower count are not merged.
        total_symbols: subtract the size of the alphabet from `symbols`. A character inside words and the same character
            at the end of words count as two symbols.

    Examples:
        >>> import jeton
        >>> from jeton.training.presets import SubwordNmt
        >>> tok = jeton.train({"low": 5, "lower": 2, "newest": 6}, preset=SubwordNmt(symbols=4), progress=False)
        >>> [(tok.id_to_token(left), tok.id_to_token(right)) for left, right, _ in tok.merges]
        [('w', 'e'), ('l', 'o'), ('we', 's'), ('wes', 't</w>')]
    """

    name: ClassVar[str] = "subword-nmt"
    symbols: int | None = integer(None, 1)
    min_frequency: int = integer(2, 0)
    total_symbols: bool = False

    def __post_init__(self) -> None:
        checked(self)
        if self.total_symbols and self.symbols is None:
            raise ConfigError(
                f"total_symbols subtracts from symbols; pass {keyword('symbols')}, too", option="total_symbols"
            )

    def recipe(self, request: TrainingRequest) -> Recipe:
        """Implements `TrainingPreset.recipe`."""
        request.refuse(
            self.name,
            {
                "level": "symbols are characters",
                "pattern": "spaces separate words",
                "tie_break": "ties go to the highest pair",
                "end_of_word": f"the mark is {_END}",
                "special_tokens": "its words have none; add them afterwards with add_tokens",
            }
            | OWN_RULES,
        )
        if self.symbols is not None and request.vocab_size != DEFAULT_VOCAB_SIZE:
            raise ConfigError(
                f"{keyword('vocab_size', request.vocab_size)} and {keyword('symbols', self.symbols)} both limit the "
                "vocabulary; pass one",
            )
        min_frequency = given_or_own(request.min_frequency, self.min_frequency, "min_frequency", default=2)
        special = () if request.unk_token is None else (request.unk_token,)
        model = Bpe(level="char", end_of_word=_END, end_of_word_style="suffix", unk_token=request.unk_token)
        definition = Definition(model, pretokenizer=(_SPACES,))

        def learn(context: LearningContext) -> Learned:
            symbols = context.counts._core.alphabet_size("char", "suffix")
            max_entries = self._size(request.vocab_size - len(special), symbols)
            vocabulary, num_symbols, *columns = context.counts._core.learn(
                level="char",
                end_of_word=_END,
                end_of_word_style="suffix",
                tie_break="highest_pair",
                min_frequency=max(min_frequency, 1),
                vocab_size=max_entries,
                run=context.run(),
            )
            for token in special:
                vocabulary = with_added_tokens(vocabulary, [(vocabulary.next_id(), AddedToken(token))])
            return Learned(vocabulary, max_entries - num_symbols, (columns[0], columns[1], columns[2]))

        return Recipe(
            tie_break="highest_pair",
            min_frequency=min_frequency,
            stages=Stages.of(definition),
            learn=learn,
            definition=definition,
            special_tokens=special,
            by_line=True,
        )

    def _size(self, max_entries: int, alphabet: int) -> int:
        """Returns the number of entries to learn, including the alphabet."""
        if self.symbols is None:
            return max_entries
        return max(self.symbols, alphabet) if self.total_symbols else alphabet + self.symbols
