"""Permission for special tokens, converted to the core's form.

A special token's spelling is ordinary text unless the caller of `encode` permits the token. This module implements that
policy; the core matches the tokens.
"""

from __future__ import annotations

from ..errors import ConfigError, SpecialTokenError, keyword
from ..util.arguments import wrong

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Literal, TypeAlias

__all__ = ["Special", "permission", "spell"]

MAX_SHOWN = 8  # maximum number of special tokens that an error lists

Special: TypeAlias = 'Literal["none", "all", "raise"] | Collection[str]'


def permission(special: Special, special_tokens: Mapping[str, int]) -> Literal["all", "raise"] | list[int] | None:
    """Returns the permitted special tokens in the core's form.

    Args:
        special: ``"none"``, ``"all"``, ``"raise"``, or the collection of permitted special tokens.
        special_tokens: spelling -> id, the special tokens of the tokenizer.

    Returns:
        None for no tokens, ``"all"``, ``"raise"``, or the permitted ids.

    Raises:
        SpecialTokenError: the tokenizer lacks one of the given special tokens.
        ConfigError: ``special`` has another value.

    Examples:
        >>> permission({"<|end|>"}, {"<|start|>": 299, "<|end|>": 300})
        [300]
    """
    if special == "none":
        return None
    if special == "all":
        return "all"
    if special == "raise":
        return "raise"
    from collections.abc import Collection

    if isinstance(special, str) or not isinstance(special, Collection):
        raise ConfigError(
            f'{keyword("special", special)} is not one of "none", "all", "raise" or a set of special tokens such as '
            f'{{"<|end|>"}}',
        )
    for token in special:
        if token not in special_tokens:
            some = [*map(repr, list(special_tokens)[:MAX_SHOWN]), *(["…"] if len(special_tokens) > MAX_SHOWN else [])]
            known = f"it has: {', '.join(some)}" if some else "it has no special tokens"
            raise SpecialTokenError(f"the tokenizer has no special token {token!r}; {known}", token=token)
    if len(special) >= len(special_tokens) and all(token in special for token in special_tokens):
        return "all"
    return [special_tokens[token] for token in special] or None


def spell(token: object, option: str = "special_tokens") -> bytes:
    """Returns the bytes of an added token.

    Raises:
        ConfigError: the token is empty, has a lone surrogate, or is not a string.

    Examples:
        >>> spell("<|end|>")
        b'<|end|>'
    """
    if not isinstance(token, str) or not token:
        raise wrong(option, token, "a token (a non-empty string)")
    try:
        return token.encode()
    except UnicodeEncodeError:
        message = f"{option}: {token!r} contains a lone surrogate; expected valid Unicode text"
        raise ConfigError(message, option=option) from None
