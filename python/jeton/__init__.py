"""Jeton, the tokenizer workbench: train subword tokenizers, run them, see what they do.

    text    ─ match added tokens ─ normalize ─ pretokenize ─ model ─ postprocess ─►  ids
    ids     ─ decode ─►  bytes / text
    corpus  ─ read documents ─ count pretokens ─►  Counts  ─ learn merges ─►  Tokenizer  ─ save ─►  files

Examples:
    >>> import jeton
    >>> tok = jeton.train(["low lower lowest"], vocab_size=260, pattern="gpt2", progress=False)
    >>> tok.decode(tok.encode("lower"))
    'lower'
"""

from __future__ import annotations

# understanding
from .analysis import Measure, measure

# corpus → counts → tokenizer
from .definition import TrainingFacts

# text → ids → text
from .encoding import Encoding, Token, TokenBatch

# what can go wrong
from .errors import (
    ConfigError,
    DecodeError,
    DownloadError,
    FormatError,
    InvalidTextError,
    JetonError,
    LossyConversionWarning,
    MissingDependencyError,
    SpecialTokenError,
    TrainingError,
    UnknownTokenError,
    UnsupportedFeatureError,
)
from .explanation import Explanation

# tokenizer ↔ files
from .formats import load
from .progress import ProgressEvent
from .tokenizer import Tokenizer
from .training import Counts, count_pretokens, train

__version__ = "0.1.0"

__all__ = [
    "ConfigError",
    "Counts",
    "DecodeError",
    "DownloadError",
    "Encoding",
    "Explanation",
    "FormatError",
    "InvalidTextError",
    "JetonError",
    "LossyConversionWarning",
    "Measure",
    "MissingDependencyError",
    "ProgressEvent",
    "SpecialTokenError",
    "Token",
    "TokenBatch",
    "Tokenizer",
    "TrainingError",
    "TrainingFacts",
    "UnknownTokenError",
    "UnsupportedFeatureError",
    "count_pretokens",
    "load",
    "measure",
    "train",
]
