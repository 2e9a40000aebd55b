"""Audit of a tokenizer: unused entries, unsafe tokens, treatment of digits and white space, chat templates.

```text
audit           runs the rules; the results are findings (finding), collected in an Audit (report)
entries         rules on entries, from the core's search
policies        digits and white space
glitches        glitch tokens, from embeddings
templates       rules on chat templates; template_tokens: on their special tokens; renderings: test conversations
template_check  the rules on chat templates, with a tokenizer or without
```
"""

from __future__ import annotations

from .audit import audit
from .finding import Example, Finding
from .report import Audit
from .template_check import TemplateCheck, chat_check

__all__ = ["Audit", "Example", "Finding", "TemplateCheck", "audit", "chat_check"]
