"""Jeton, the tokenizer workbench: train, run and inspect subword tokenizers.

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

# Modules are imported on first use: a program that only counts tokens does not import training.
TYPE_CHECKING = False  # not imported from `typing`, which takes longer to load than this whole module
if TYPE_CHECKING:
    # understanding
    from .analysis.compare import Comparison as Comparison
    from .analysis.compare import compare as compare
    from .analysis.measure import Measure as Measure
    from .analysis.measure import measure as measure
    from .analysis.sizes import Size as Size
    from .analysis.sizes import Sizes as Sizes
    from .analysis.sizes import sizes as sizes

    # messages → text → ids
    from .chat import Chat as Chat

    # corpus → counts → tokenizer
    from .corpus import Source
    from .definition import TrainingFacts

    # text → ids → text
    from .encoding import Encoding, Token, TokenBatch

    # errors
    from .errors import (
        ChatTemplateError,
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
    from .training import Counts, Replay, Rules, Superwords, count_pretokens, train
    from .training.replay import replay as replay

    # tokenizer → tokenizer
    from .vocabulary.prune import prune as prune

__version__ = "0.1.0"

__all__ = [
    "Chat",
    "ChatTemplateError",
    "Comparison",
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
    "Replay",
    "Rules",
    "Size",
    "Sizes",
    "Source",
    "SpecialTokenError",
    "Superwords",
    "Token",
    "TokenBatch",
    "Tokenizer",
    "TrainingError",
    "TrainingFacts",
    "UnknownTokenError",
    "UnsupportedFeatureError",
    "compare",
    "count_pretokens",
    "load",
    "measure",
    "prune",
    "replay",
    "sizes",
    "train",
]

# module -> its public names
_NAMES = {
    "analysis": (
        "Comparison",
        "Measure",
        "Size",
        "Sizes",
        "compare",
        "measure",
        "sizes",
    ),
    "chat": ("Chat",),
    "corpus": ("Source",),
    "definition": ("TrainingFacts",),
    "encoding": (
        "Encoding",
        "Token",
        "TokenBatch",
    ),
    "errors": (
        "ChatTemplateError",
        "ConfigError",
        "DecodeError",
        "DownloadError",
        "FormatError",
        "InvalidTextError",
        "JetonError",
        "LossyConversionWarning",
        "MissingDependencyError",
        "SpecialTokenError",
        "TrainingError",
        "UnknownTokenError",
        "UnsupportedFeatureError",
    ),
    "explanation": ("Explanation",),
    "formats": ("load",),
    "progress": ("ProgressEvent",),
    "tokenizer": ("Tokenizer",),
    "training": (
        "Counts",
        "Replay",
        "Rules",
        "Superwords",
        "count_pretokens",
        "replay",
        "train",
    ),
    "vocabulary": ("prune",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in ("analysis", "chat", "formats", "training", "vocabulary"):
        return import_module("." + name, __name__)
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module("." + module, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({name for name in globals() if not name.isupper()} | {*__all__})
