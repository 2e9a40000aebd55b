"""corpus → counts → tokenizer.

```text
count          corpus → counts: `stages` prepares documents; `limits` and `runs` bound the memory
counts         `Counts`: pretokens with counts; `counts_file` saves them, `counts_report` and `dropped` describe them
train          corpus → counts → tokenizer, by the recipe that a preset makes from a request
request        checked arguments of `train`; `rules` has constraints on merges, `required` adds required tokens
presets/       Jeton's own rules and those of peer libraries: counts → vocabulary
checkpoint     saves merges or pieces, so that learning can resume
facts          facts, log and trace of a run; `replay` shows the steps of a small run, as a `replay_result`
```
"""

from __future__ import annotations

from ..definition import TrainingFacts
from .count import count_pretokens
from .counts import Counts
from .counts_report import CountsReport
from .dropped import DroppedPretokens
from .facts import TrainingLog
from .limits import Limits
from .presets import PRESETS
from .replay import replay
from .replay_result import Replay
from .rules import Rules, Superwords
from .stages import Stages
from .train import train

__all__ = [
    "PRESETS",
    "Counts",
    "CountsReport",
    "DroppedPretokens",
    "Limits",
    "Replay",
    "Rules",
    "Stages",
    "Superwords",
    "TrainingFacts",
    "TrainingLog",
    "count_pretokens",
    "replay",
    "train",
]
