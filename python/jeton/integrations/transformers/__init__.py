"""transformers on Jeton: tokenizers that keep their classes, results and files, and run on Jeton's core.

    from jeton.integrations.transformers import accelerate
    tok = accelerate(AutoTokenizer.from_pretrained("folder"))

Needs transformers 4.57 or 5 (``pip install 'transformers>=4.57,<6'``), which is imported on use.

```text
in_place                `accelerate`: changes the class of a tokenizer; classes, v4, v5: these classes, by major version
state, changes          the engine for each state of a `tokenizers.Tokenizer`; detection of its changes
encoding, decoding      encode and decode calls; inputs: texts of calls; encodings: results of calls
tokenizer, deferred     a class that loads with Jeton; its `tokenizers.Tokenizer`, built on demand
conversion              tokenizers of Jeton -> tokenizers of transformers
comparison, counts      equality on a corpus; numbers of calls that ran on Jeton, or not
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .comparison import Report, parity
    from .conversion import to_transformers
    from .counts import Stats
    from .in_place import accelerate, restore, stats

__all__ = ["Report", "Stats", "accelerate", "parity", "restore", "stats", "to_transformers"]

_MODULES = {
    "JetonTokenizer": "tokenizer",
    "Report": "comparison",
    "Stats": "counts",
    "accelerate": "in_place",
    "parity": "comparison",
    "register": "tokenizer",
    "restore": "in_place",
    "stats": "in_place",
    "to_transformers": "conversion",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    from .library import major

    major()  # raises an error if transformers is missing
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
