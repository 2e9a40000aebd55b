"""corpus → counts → tokenizer.

```text
count          corpus → counts: stages prepares documents, limits and spill bound the memory
counts         `Counts`, the distinct pretokens; counts_file, counts_report, dropped: their parts
train          corpus → counts → tokenizer, by the recipe that a preset makes of a request
request        the arguments of `train`, checked; rules: its constraints on merges, required: its required tokens
presets/       Jeton's own rules and those of peer libraries: counts → vocabulary
checkpoint     saves merges, to resume from
facts          facts, log and trace of a run; replay shows a small one step by step, as a replay_result
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
