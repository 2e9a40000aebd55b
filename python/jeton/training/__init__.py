"""corpus → counts → tokenizer.

`counts` reads and counts; `stages` says what, `spilling` and `memory_limit` where it is meanwhile. `counted` holds what came
of it, `counts_file` saves it and `counts_report` describes it. `learn` turns counts into a tokenizer, `options` fills
in defaults, `presets` are the rules of the peers, which `by_preset` runs; `log` shows how it came about, `replay` plays
small runs back, and `trace` prints them.
"""

from __future__ import annotations

from .counted import Counts, Dropped
from .counts import count_pretokens
from .counts_report import CountsReport
from .learn import train
from .log import TrainingLog
from .presets import PRESETS
from .replay import Replay, replay
from .rules import Rules
from .stages import Stages
from .superwords import Superwords

__all__ = [
    "PRESETS",
    "Counts",
    "CountsReport",
    "Dropped",
    "Replay",
    "Rules",
    "Stages",
    "Superwords",
    "TrainingLog",
    "count_pretokens",
    "replay",
    "train",
]
