"""Targets of the encoder, by row: figures relative to the best of named peers, or absolute bounds.

The columns "at least" and "goal" of the table come from here.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["HF", "HF_RC", "RIVALS", "TARGETS", "Conditions", "Target", "target"]

HF, HF_RC = "tokenizers 0.23", "tokenizers 1.0rc"
ENGINES = ("toktok", "splintr", "gigatoken", "fastokens", "tiktoken", "sentencepiece", HF_RC, HF)  # all others


@dataclass(frozen=True)
class Target:
    """A bound.

    Attributes:
        kind: "faster" (times as fast as the best peer), "share" (of the best peer's time), "at most" (the figure
            itself), "threads" (one thread's time over that of more), "linear" (time per MB, longest over shortest).
        least, goal: required and desired value.
    """

    kind: str
    least: float | None = None
    goal: float | None = None

    def verdict(self, value: float) -> str:
        """ "goal", "yes" or "UNDER"; empty without a bound."""
        if self.least is None or self.goal is None:
            return ""
        rising = self.kind in ("faster", "threads")
        if value >= self.goal if rising else value <= self.goal:
            return "goal"
        return "yes" if (value >= self.least if rising else value <= self.least) else "UNDER"


RIVALS = {
    "english and code": ("gigatoken", HF_RC, "fastokens"),
    "other scripts": ("fastokens", "toktok", "gigatoken", HF_RC),
    "sentencepiece bpe": ("gigatoken", "sentencepiece", HF_RC),
    "unigram, wordpiece": ("sentencepiece", HF, HF_RC),
    "models": ("gigatoken", "fastokens", HF, HF_RC),
    **dict.fromkeys(
        ("call of 13 bytes", "call of up to 1 KB", "1,000 short texts", "decode of up to 50 ids"),
        ENGINES,
    ),
    "decode": ("tiktoken", "gigatoken"),
    "count": ("tiktoken", "gigatoken"),
    "load": ("tiktoken",),
    "start": ENGINES,
}

TARGETS = {
    ("english and code", "unseen"): Target("faster", 1.4, 2.0),
    ("english and code", "warm"): Target("faster", 1.1, 1.6),
    ("other scripts", "unseen"): Target("faster", 1.8, 3.0),
    ("other scripts", "warm"): Target("faster", 1.1, 1.6),
    ("sentencepiece bpe", "unseen"): Target("faster", 1.5, 3.0),
    ("unigram, wordpiece", "unseen"): Target("faster", 1.5, 3.0),
    ("models", "unseen"): Target("faster", 1.4, 2.0),
    ("models", "warm"): Target("faster", 1.1, 1.6),
    ("call of 13 bytes", "unseen"): Target("faster", 0.7, 1.0),
    ("call of 13 bytes", "warm"): Target("faster", 0.7, 1.0),
    ("call of up to 1 KB", "unseen"): Target("faster", 1.2, 1.5),
    ("call of up to 1 KB", "warm"): Target("faster", 1.2, 1.5),
    ("1,000 short texts", "unseen"): Target("faster", 1.2, 1.5),
    ("1,000 short texts", "warm"): Target("faster", 1.2, 1.5),
    ("decode of up to 50 ids", "unseen"): Target("faster", 1.2, 1.5),
    ("decode of up to 50 ids", "warm"): Target("faster", 1.2, 1.5),
    ("decode", "decode"): Target("faster", 1.0, 2.0),
    ("count", "unseen"): Target("faster", 1.0, 2.0),
    ("worst", "cold"): Target("at most", 50.0, 15.0),
    ("length", "cold"): Target("linear"),
    ("threads", "unseen"): Target("threads", 1.6, 1.8),
    ("threads", "warm"): Target("threads"),
    ("memory", "memory"): Target("at most", 64.0, 64.0),
    ("load", "load"): Target("share", 1.0, 0.5),
    **dict.fromkeys(
        (("start", phase) for phase in ("import", "load", "first text", "process")), Target("share", 1.0, 0.5)
    ),
    ("import", "import"): Target("at most", 60.0, 30.0),
}
LESS_SIMD = Target("faster", 1.2, 1.5)  # peers keep their full width
LOADED = {"unseen": Target("faster", 1.2, 1.5), "warm": Target("faster", 1.0, 1.2)}


@dataclass(frozen=True)
class Conditions:
    """Conditions of a run that change targets.

    Attributes:
        simd: maximum instruction set of Jeton; None: that of the processor.
        load: beside neighbors that keep the memory busy.
    """

    simd: str | None = None
    load: bool = False


def target(row: str, phase: str, conditions: Conditions) -> Target:
    """Target of a figure; without a bound, the kind of comparison."""
    if row in ("english and code", "other scripts") and phase in ("unseen", "warm"):
        if conditions.load:
            return LOADED[phase]
        if conditions.simd not in (None, "avx512"):
            return LESS_SIMD
    return TARGETS.get((row, phase), Target("faster"))
