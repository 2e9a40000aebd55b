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

from .util import forks as _forks  # noqa: F401  (forks wait for the imports of all other modules)

__version__ = "0.1.0"

# Module -> its public names. The first use of a name imports its module, so a program that only counts tokens does not
# import training. Type checkers read `__init__.pyi`, which a test compares with this table.
_PUBLIC = {
    "_core": ("GrowingText", "TextStream"),
    "tokens.added": ("AddedToken",),
    "analysis": (
        "audit",
        "chat_check",
        "compare",
        "compare_corpus",
        "cost",
        "doctor",
        "languages",
        "measure",
        "sizes",
    ),
    "chat.count": ("ChatCount", "chat_count"),
    "chat.difference": ("ChatDifference", "chat_diff"),
    "calls.batch": ("PaddedBatch", "TokenBatch"),
    "chat.canonical": ("CanonicalIds",),
    "chat.drift": ("Drift",),
    "corpus": ("Corpus", "Source"),
    "calls.cutting": ("Chunk",),
    "encoding": ("Encoding", "Token"),
    "errors": (
        "ConfigError",
        "FormatError",
        "InvalidTextError",
        "JetonError",
        "SpecialTokenError",
        "TrainingError",
        "UnknownTokenError",
        "UnsupportedFeatureError",
    ),
    "explanation": ("Explanation",),
    "formats": ("default", "load", "names"),
    "integrations.arrow": ("encode_arrow",),
    "integrations.datasets": ("map_dataset",),
    "util.progress": ("ProgressEvent",),
    "tokenizer": ("Tokenizer",),
    "training": ("Counts", "Limits", "Rules", "Superwords", "count_pretokens", "replay", "train"),
    "vocabulary": ("Surgery", "add_words", "align", "extend", "merge_vocab", "prune", "renumber"),
}
# Public modules, which are attributes of the package.
_MODULES = ("analysis", "chat", "compat", "errors", "formats", "shards", "training", "vocabulary")
_MODULE_OF = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return __import__(f"{__name__}.{name}", fromlist=[name])
    module = _MODULE_OF.get(name)
    if module is None:
        from .util.hints import NAMES

        hint = f"; in Jeton: {NAMES[name]}" if name in NAMES else ""
        message = f"module {__name__!r} has no attribute {name!r}{hint}"
        raise AttributeError(message, name=name, obj=__import__("sys").modules[__name__])
    value: object = getattr(__import__(f"{__name__}.{module}", fromlist=[name]), name)  # `importlib` would be imported
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({name for name in globals() if not name.isupper()} | {*__all__})
