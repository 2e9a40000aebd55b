"""karpathy/minbpe: `BasicTokenizer`, and with a pattern its `RegexTokenizer`.

Source: karpathy/minbpe, minbpe/basic.py and minbpe/regex.py (facts).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .base import TrainingPreset

__all__ = ["MinBpe"]


@dataclass(frozen=True)
class MinBpe(TrainingPreset):
    """minbpe's trainers: byte level; ties go to the pair that occurs first.

    Attributes:
        pattern: None does not split (`BasicTokenizer`); ``"gpt4"`` is the pattern of `RegexTokenizer`.

    Examples:
        >>> import jeton
        >>> from jeton.training.presets import MinBpe
        >>> jeton.train(["aaabdaaabac"], 259, preset=MinBpe(), progress=False).merges
        ((97, 97, 256), (256, 97, 257), (257, 98, 258))
    """

    name: ClassVar[str] = "minbpe"
    pattern: str | None = None
