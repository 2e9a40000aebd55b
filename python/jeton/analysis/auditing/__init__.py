"""Audit of a tokenizer: entries without use, unsafe tokens, policies of digits and white space, chat templates."""

from __future__ import annotations

from .audit import audit
from .finding import Example, Finding
from .report import Audit
from .template_check import TemplateCheck, chat_check

__all__ = ["Audit", "Example", "Finding", "TemplateCheck", "audit", "chat_check"]
