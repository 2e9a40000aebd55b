"""Comparison of all ways of loading a tokenizer, with the causes of their differences.

```text
readers        each library and method that can load a folder, file or name
telling_texts  the texts that all of them encode
doctor         groups readers with equal results; diagnosis: the result
causes         causes, proved by experiment
changes        differences of two definitions, one by one; wording: their texts; marks: components that write `▁`
lock           stores the result in a file, for comparison in CI
```
"""

from __future__ import annotations

from .causes import Cause
from .diagnosis import Diagnosis, Disagreement, ReaderRow
from .doctor import doctor

__all__ = ["Cause", "Diagnosis", "Disagreement", "ReaderRow", "doctor"]
