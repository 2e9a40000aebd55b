"""Accelerated subclasses of the classes of fast tokenizers; they have importable names, so tokenizers can be pickled.

The subclass of ``transformers.models.gpt2.tokenization_gpt2.GPT2Tokenizer`` is the attribute
``transformers/models/gpt2/tokenization_gpt2:GPT2Tokenizer`` of this module. The bases of the subclass are the original
class and the common base of all accelerated classes. If the common base already inherits from the original class, the
common base is the only base. The subclass has the `__name__` of the original class, because transformers writes this
name to files.
"""

from __future__ import annotations

from functools import reduce
from importlib import import_module
from typing import Any

from ...util.locks import ForkLock
from .library import base_class, fast_class

__all__ = ["accelerated_class", "original_class"]

_CLASSES: dict[type[Any], type[Any]] = {}
_lock = ForkLock()


def accelerated_class(original: type[Any]) -> type[Any]:
    """Returns the accelerated subclass of a class of fast tokenizers. Each call returns the same subclass.

    Raises:
        TypeError: `original` is not a class of fast tokenizers.
    """
    if not (isinstance(original, type) and issubclass(original, fast_class())):
        raise TypeError(f"{original!r} is not a class of fast tokenizers")
    with _lock:
        # `setdefault` instead of an assignment, because a signal handler may have stored the class during `_made`
        return _CLASSES.get(original) or _CLASSES.setdefault(original, _made(original))


def original_class(accelerated: type[Any]) -> type[Any]:
    """Returns the original class of an accelerated class."""
    found: type[Any] = accelerated._jeton_original
    return found


def _made(original: type[Any]) -> type[Any]:
    base = base_class()

    def from_pretrained(cls: type[Any], *args: Any, **options: Any) -> Any:
        if cls is not made:
            return super(made, cls).from_pretrained(*args, **options)  # type: ignore[arg-type]
        from .in_place import accelerate

        return accelerate(original.from_pretrained(*args, **options), strict=False)

    namespace = {
        "__module__": __name__,
        "__qualname__": f"{original.__module__}:{original.__qualname__}".replace(".", "/"),
        "__doc__": original.__doc__,
        "_jeton_original": original,
        "from_pretrained": classmethod(from_pretrained),
    }
    bases = (base,) if issubclass(base, original) else (original, base)
    made = type(original.__name__, bases, namespace)
    return made


def __getattr__(name: str) -> Any:
    module, colon, path = name.partition(":")
    if not colon:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        original = reduce(getattr, path.split("/"), import_module(module.replace("/", ".")))
        return accelerated_class(original)  # type: ignore[arg-type]
    except (ImportError, TypeError) as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: {error}") from error
