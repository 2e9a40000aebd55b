"""Integrations into other libraries, which are imported on use.

    import jeton.integrations.transformers as fast
    tok = fast.accelerate(AutoTokenizer.from_pretrained("folder"))

Each module or subpackage serves one library. It needs that library, which is not a dependency of Jeton.

```text
transformers/                     fast tokenizers that run on Jeton
arrow, datasets                   columns of Arrow data; Hugging Face datasets
llguidance, outlines, xgrammar    vocabularies for constrained decoding
renderers, verl                   interfaces of training on conversations, with the cache of prompts
```
"""

from __future__ import annotations

__all__: list[str] = []
