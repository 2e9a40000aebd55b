"""Integrations into other libraries, which are imported on use.

    import jeton.integrations.transformers as fast
    tok = fast.accelerate(AutoTokenizer.from_pretrained("folder"))

Each subpackage serves one library. It needs that library, which is not a dependency of Jeton.
"""

from __future__ import annotations

__all__: list[str] = []
