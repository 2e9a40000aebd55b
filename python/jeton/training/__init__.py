"""corpus → counts → tokenizer.

`counts` reads and counts, `learn` turns counts into a tokenizer, `options` fills in defaults, `presets` are the rules
of the peers, which `by_preset` runs; `log` and `trace` show how it came about.
"""

from __future__ import annotations

from .counts import Counts, count_pretokens
from .learn import train
from .log import TrainingLog
from .presets import PRESETS

__all__ = ["PRESETS", "Counts", "TrainingLog", "count_pretokens", "train"]
