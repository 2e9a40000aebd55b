"""corpus → counts → tokenizer.

Counting: `counts` reads and counts a corpus, `stages` prepares documents, `spilling` and `memory_limit` bound memory,
`interrupted` handles Ctrl-C. `counted` holds the result, `counts_file` saves it, `counts_report` describes it.

Learning: `learn` turns counts into a tokenizer, `options` fills in defaults, `merging` calls the core, `rules` and
`superwords` constrain merges, `checkpoint` resumes. `presets` are the rules of peer libraries, which `by_preset` runs.
`facts` and `log` record a run, `replay` replays small ones, `trace` prints them.
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
