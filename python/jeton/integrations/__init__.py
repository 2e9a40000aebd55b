"""Integrations into other libraries. Each library is imported on use.

    import jeton.integrations.transformers as fast
    tok = fast.accelerate(AutoTokenizer.from_pretrained("folder"))

Each module or subpackage serves one library. It needs that library, which is not a dependency of Jeton.

```text
transformers/                     fast tokenizers that run on Jeton
arrow, datasets                   columns of Arrow data; Hugging Face datasets
llguidance, outlines, xgrammar    vocabularies for constrained decoding
renderers, verl                   interfaces for training on conversations; prompts: their cache of prompts
```
"""

from __future__ import annotations

__all__: list[str] = []
