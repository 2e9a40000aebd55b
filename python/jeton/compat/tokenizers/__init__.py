"""Drop-in for Hugging Face's `tokenizers`: ``import jeton.compat.tokenizers as tokenizers``.

It has the public interface of tokenizers 0.23.3, with the same ids, tokens, offsets, files and exceptions.
`docs/migrating.md` lists the differences. Components that are Python objects, and a few calls whose results are not
known to be equal, run on the original package if it is installed. If it is not, they raise an error that names the
feature.

```text
core, state            the mutable `Tokenizer`; its components, from which an engine of `hf_backend` is built on use
parts                  base class of components: normalizers, pre_tokenizers, models, processors, decoders, trainers
encoding, calls        results, whose columns are computed on access; streams: ids that arrive one by one
inputs, values         checks and conversions of arguments
original               loads the original package
```

Examples:
    >>> from jeton.compat.tokenizers import Tokenizer, models, pre_tokenizers
    >>> tok = Tokenizer(models.WordLevel({"low": 0, "lower": 1, "[UNK]": 2}, unk_token="[UNK]"))
    >>> tok.pre_tokenizer = pre_tokenizers.Whitespace()
    >>> tok.encode("low lower!").tokens
    ['low', 'lower', '[UNK]']
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from .. import report
from . import decoders, implementations, models, normalizers, pre_tokenizers, processors, tools, trainers
from .added_token import AddedToken, Regex
from .core import Tokenizer
from .encoding import Encoding
from .token import Token

__all__ = [
    "AddedToken",
    "EncodeInput",
    "Encoding",
    "InputSequence",
    "OffsetReferential",
    "OffsetType",
    "Offsets",
    "PreTokenizedEncodeInput",
    "PreTokenizedInputSequence",
    "Regex",
    "SplitDelimiterBehavior",
    "TextEncodeInput",
    "TextInputSequence",
    "Token",
    "Tokenizer",
    "decoders",
    "implementations",
    "models",
    "normalizers",
    "pre_tokenizers",
    "processors",
    "tools",
    "trainers",
]

__version__ = "0.23.3"  # version of tokenizers with this interface

Offsets = tuple[int, int]
TextInputSequence = str
PreTokenizedInputSequence = list[str] | tuple[str]
TextEncodeInput = TextInputSequence | tuple[TextInputSequence, TextInputSequence] | list[TextInputSequence]
PreTokenizedEncodeInput = (
    PreTokenizedInputSequence
    | tuple[PreTokenizedInputSequence, PreTokenizedInputSequence]
    | list[PreTokenizedInputSequence]
)
InputSequence = TextInputSequence | PreTokenizedInputSequence
EncodeInput = TextEncodeInput | PreTokenizedEncodeInput

# Classes that are imported from the original package. Components written in Python receive objects of these classes
# and modify them.
_ORIGINAL = {"NormalizedString", "PreTokenizedString"}
_IMPLEMENTATIONS = {
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
}


class OffsetReferential(Enum):
    """Text to which offsets refer."""

    ORIGINAL = "original"
    NORMALIZED = "normalized"


class OffsetType(Enum):
    """Unit of offsets."""

    BYTE = "byte"
    CHAR = "char"


class SplitDelimiterBehavior(Enum):
    """What happens to the delimiters: the parts of a text that match the pattern of a split."""

    REMOVED = "removed"
    ISOLATED = "isolated"
    MERGED_WITH_PREVIOUS = "merged_with_previous"
    MERGED_WITH_NEXT = "merged_with_next"
    CONTIGUOUS = "contiguous"


def __getattr__(name: str) -> Any:
    if name in _ORIGINAL:
        from . import original

        return getattr(original.extension(name), name)
    if name in _IMPLEMENTATIONS:
        return getattr(implementations, name)
    if not report.is_private(name) and not report.is_module(__name__, name):
        report.missing(f"tokenizers.{name}")
    raise AttributeError(f"module 'tokenizers' has no attribute {name!r}")
