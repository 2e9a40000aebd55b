"""Comparison of all ways of loading a tokenizer, with the causes of their differences.

```text
readers        each library and way that loads a place
telling_texts  the texts that all of them encode
doctor         groups readers with equal results; diagnosis: the result
causes         causes, proved by experiment
changes        differences of two definitions, one by one, in wording; marks: those of the components that write `▁`
lock           result as a file, for CI
```
"""

from __future__ import annotations

from .causes import Cause
from .diagnosis import Diagnosis, Disagreement, ReaderRow
from .doctor import doctor

__all__ = ["Cause", "Diagnosis", "Disagreement", "ReaderRow", "doctor"]
