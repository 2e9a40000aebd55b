"""Rules of karpathy/minbpe: those of `BasicTokenizer` or, with a pattern, of `RegexTokenizer`.

Source: karpathy/minbpe, minbpe/basic.py and minbpe/regex.py (facts).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ...definition import TieBreak
from ..request import TrainingRequest
from .base import Recipe, given_or_own
from .native import Native

__all__ = ["MinBpe"]


@dataclass(frozen=True)
class MinBpe(Native):
    """Rules of minbpe's trainers: BPE on bytes; among pairs with equal counts, the first in the corpus is merged.

    Attributes:
        pattern: None: the text is not split, as in `BasicTokenizer`; ``"gpt4"``: the pattern of `RegexTokenizer`.

    Examples:
        >>> import jeton
        >>> from jeton.training.presets import MinBpe
        >>> jeton.train(["aaabdaaabac"], 259, preset=MinBpe(), progress=False).merges
        ((97, 97, 256), (256, 97, 257), (257, 98, 258))
    """

    name: ClassVar[str] = "minbpe"
    default_tie_break: ClassVar[TieBreak] = "first"
    default_byte_pattern: ClassVar[str] = "none"
    pattern: str | None = None

    def recipe(self, request: TrainingRequest) -> Recipe:
        """Implements `TrainingPreset.recipe`."""
        pattern = given_or_own(request.pattern, self.pattern, "pattern", default=None)
        return super().recipe(replace(request, pattern=pattern))

    def facts(self) -> dict[str, Any]:
        """Implements `TrainingPreset.facts`. The facts omit the pattern, which the tokenizer itself stores."""
        return {"preset": self.name}
