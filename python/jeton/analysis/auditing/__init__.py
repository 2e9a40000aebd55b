"""Audit of a tokenizer: entries without use, unsafe tokens, policies of digits and white space, chat templates.

```text
audit           runs the rules; their results are findings (finding), and those a report
entries         rules on entries, from the core's facts
policies        digits and white space
glitches        glitch tokens, from embeddings
templates       chat templates, with template_tokens, on the conversations of renderings
template_check  the same without a tokenizer
```
"""

from __future__ import annotations

from .audit import audit
from .finding import Example, Finding
from .report import Audit
from .template_check import TemplateCheck, chat_check

__all__ = ["Audit", "Example", "Finding", "TemplateCheck", "audit", "chat_check"]
