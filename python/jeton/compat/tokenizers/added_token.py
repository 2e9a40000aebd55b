"""`AddedToken`, and `Regex` with the converter of patterns.

Source: huggingface/tokenizers 0.23.3, bindings/python/src/tokenizer.rs and utils/regex.rs (behavior).
"""

from __future__ import annotations

from typing import Any

from ..._core import pretokenize_text
from ...errors import JetonError
from .values import Named, flag, ignored, text, to_json, wrong

__all__ = ["AddedToken", "Regex", "pattern"]

_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


class AddedToken:
    """A token that a `Tokenizer` finds before it normalizes and splits a text.

    Args:
        content: the token's text.
        single_word: whether it only matches as a whole word.
        lstrip, rstrip: whether its match includes the white space on its left or right.
        normalized: whether it is searched for in the normalized text; by default True, except for special tokens.
        special: whether decoding can skip it.

    Examples:
        >>> AddedToken("<mask>", lstrip=True)
        AddedToken("<mask>", rstrip=False, lstrip=True, single_word=False, normalized=True, special=False)
    """

    def __init__(self, content: Any = None, **options: Any) -> None:
        self.content = "" if content is None else text(content)
        self._options: dict[str, bool] = {}
        for name, value in options.items():
            if name in _FLAGS:
                self._options[name] = flag(value)
            else:
                ignored(name, "kwarg")

    @property
    def content(self) -> str:
        """The token's text."""
        return self._content

    @content.setter
    def content(self, value: Any) -> None:
        self._content = text(value)

    @property
    def single_word(self) -> bool:
        """True if the token only matches as a whole word."""
        return self._options.get("single_word", False)

    @property
    def lstrip(self) -> bool:
        """True if the token's match includes the white space on its left."""
        return self._options.get("lstrip", False)

    @property
    def rstrip(self) -> bool:
        """True if the token's match includes the white space on its right."""
        return self._options.get("rstrip", False)

    @property
    def normalized(self) -> bool:
        """True if the token is searched for in the normalized text."""
        return self._options.get("normalized", not self.special)

    @property
    def special(self) -> bool:
        """True if decoding can skip the token."""
        return self._options.get("special", False)

    @special.setter
    def special(self, value: Any) -> None:
        self._options["special"] = flag(value)

    def __getstate__(self) -> dict[str, Any]:
        return {"content": self._content, **{name: getattr(self, name) for name in _FLAGS}}

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, dict):
            raise TypeError(f"{type(state).__name__!r} object is not an instance of 'dict'")
        self.__init__(state.get("content"), **{name: state[name] for name in _FLAGS if name in state})  # type: ignore[misc]

    def _of_trainer(self) -> AddedToken:
        """Makes this token special, as a trainer does, and returns a copy of it."""
        self.special = True
        token = AddedToken.__new__(AddedToken)
        token.__setstate__(self.__getstate__())
        return token

    def __str__(self) -> str:
        return self._content

    def __repr__(self) -> str:
        names = ("rstrip", "lstrip", "single_word", "normalized", "special")
        return f'AddedToken("{self._content}", {", ".join(f"{name}={getattr(self, name)}" for name in names)})'

    def __eq__(self, other: object) -> bool:
        return self.__getstate__() == other.__getstate__() if isinstance(other, AddedToken) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._content)

    def _unordered(self, other: object) -> bool:
        return False if isinstance(other, AddedToken) else NotImplemented

    __lt__ = __le__ = __gt__ = __ge__ = _unordered


class Regex:
    """A regular expression in Oniguruma's syntax, for `Replace` and `Split`.

    Args:
        s: the expression.

    Raises:
        Exception: the expression is invalid or not supported.

    Examples:
        >>> from jeton.compat.tokenizers.pre_tokenizers import Split
        >>> Split(Regex(r"\\d+"), "isolated").pre_tokenize_str("low42")
        [('low', (0, 3)), ('42', (3, 5))]
    """

    __slots__ = ("_pattern",)

    def __init__(self, s: Any) -> None:
        self._pattern = text(s)
        split = {"type": "Split", "pattern": {"Regex": self._pattern}, "behavior": "Isolated", "invert": False}
        try:
            pretokenize_text(to_json([split]), "")
        except JetonError as error:
            raise Exception(str(error)) from None

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle 'tokenizers.Regex' object")


def pattern(value: Any) -> Named:
    """Converts a string or a `Regex` to a pattern in JSON.

    Examples:
        >>> pattern(" ")
        {'String': ' '}
    """
    if isinstance(value, Regex):
        return Named("Regex", {"Regex": value._pattern})
    if not isinstance(value, str):
        raise TypeError(f"failed to extract enum PyPattern ('str | tokenizers.Regex')\n{wrong(value, 'str')}")
    return Named("String", {"String": text(value)})


# A pickle then refers to the class by the package, not by this module. Pickles of Hugging Face's classes do the same.
for _class in (AddedToken, Regex):
    _class.__module__ = __package__
