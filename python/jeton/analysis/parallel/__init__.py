"""`languages`: numbers of tokens of the same text in many languages (parallel texts).

```text
registry    codes of languages -> name and family
texts       folder of parallel texts -> languages and texts; paragraph/ has the built-in texts
table       the result, with its figures by language, script and family
views       text, CSV and HTML of the table
heat_map    plot of the table
measuring   the public function
```
"""

from __future__ import annotations

from .measuring import languages
from .table import LanguageGroup, LanguageTable
from .texts import Language

__all__ = ["Language", "LanguageGroup", "LanguageTable", "languages"]
