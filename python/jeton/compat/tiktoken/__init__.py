"""Drop-in for tiktoken: ``import jeton.compat.tiktoken as tiktoken``.

It has the whole public interface of tiktoken 0.9 to 0.14, with the same ids, types and exceptions. `docs/migrating.md`
lists the differences.

Examples:
    >>> import jeton.compat.tiktoken as tiktoken
    >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"hi": 256}
    >>> enc = tiktoken.Encoding("tiny", pat_str=r"\\w+|\\W+", mergeable_ranks=ranks, special_tokens={})
    >>> enc.encode("hi!")
    [256, 33]
"""

from __future__ import annotations

from .. import report
from .core import Encoding
from .model import encoding_for_model, encoding_name_for_model
from .registry import get_encoding, list_encoding_names

__all__ = ["Encoding", "encoding_for_model", "encoding_name_for_model", "get_encoding", "list_encoding_names"]

__version__ = "0.14.0"  # version of tiktoken with this interface


def __getattr__(name: str) -> object:
    # Programs use `tiktoken.load` without an import: tiktoken imports this module when it loads the first encoding.
    if name == "load":
        from importlib import import_module

        return import_module(".load", __name__)
    if not report.is_private(name) and not report.is_module(__name__, name):
        report.missing(f"tiktoken.{name}")
    raise AttributeError(f"module 'tiktoken' has no attribute {name!r}")
