"""corpus → counts → tokenizer.

`counts` reads and counts; `stages` says what, `spilling` and `memory` where it is meanwhile. `counted` holds what came
of it, `counts_file` saves it and `counts_report` describes it. `learn` turns counts into a tokenizer, `options` fills
in defaults, `presets` are the rules of the peers, which `by_preset` runs; `log` and `trace` show how it came about.
"""

from __future__ import annotations

from .counted import Counts, Dropped
from .counts import count_pretokens
from .counts_report import CountsReport
from .learn import train
from .log import TrainingLog
from .presets import PRESETS
from .rules import Rules
from .stages import Stages
from .superwords import Superwords

__all__ = [
    "PRESETS",
    "Counts",
    "CountsReport",
    "Dropped",
    "Rules",
    "Stages",
    "Superwords",
    "TrainingLog",
    "count_pretokens",
    "train",
]
