"""Added tokens, which are matched in the text before pre-tokenization and the model, with flags for matching.

Left out: which special tokens a caller permits (`special`), and how each format spells the flags (`formats`).
"""

from __future__ import annotations

from ..util.arguments import flag
from ..util.record import record
from .special import spell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from .._core import Tokenizer as Core
    from .._core import Vocabulary

__all__ = [
    "FLAGS",
    "AddedToken",
    "added_tokens",
    "model_entries",
    "special_pairs",
    "token_of_json",
    "with_added_tokens",
]

# Field of `AddedToken` -> bit of the flag in the core.
FLAGS = {"lstrip": 1, "rstrip": 2, "single_word": 4, "normalized": 8}  # the flags of Hugging Face
_ALL_FLAGS = {**FLAGS, "ascii_space": 32}
_IS_ENTRY = 16  # the core's bit for an added token that is also an entry of the model


@record(frozen=True)
class AddedToken:
    """A token that is matched in the text before it is split. Fields mean the same as in Hugging Face's `AddedToken`.

    Attributes:
        content: spelling of the token.
        special: True: a special token, matched by permission only. False: always matched.
        lstrip: the match includes the white space before the token.
        rstrip: the match includes the white space after the token.
        single_word: the token is not matched inside a word.
        normalized: the token is matched in the normalized text, not in the raw text. (SentencePiece's models match all
            tokens in the raw text.)
        ascii_space: `lstrip` and `rstrip` apply to ASCII white space only, as in llama.cpp; Hugging Face has no such
            flag.

    Raises:
        ConfigError: `content` is empty or not Unicode text.

    Examples:
        >>> import jeton
        >>> tok = jeton.Tokenizer.from_merges({97: b"a", 32: b" "}, [])
        >>> tok = tok.add_tokens([AddedToken("<mask>", lstrip=True)])
        >>> tok.encode("a <mask>", special="all"), tok.added_tokens[98].lstrip
        ([97, 98], True)
    """

    content: str
    special: bool = True
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False
    ascii_space: bool = False

    def __post_init__(self) -> None:
        spell(self.content, "content")
        for name in ("special", *_ALL_FLAGS):
            flag(getattr(self, name), name)

    @property
    def is_exact(self) -> bool:
        """True if no flag is set: the token is matched exactly as spelled, in the raw text."""
        return not _bits(self)


def added_tokens(core: Core) -> dict[int, AddedToken]:
    """Returns id -> added token, in the core's order."""
    return {
        id: AddedToken(content, special, **{name: bool(bits & bit) for name, bit in _ALL_FLAGS.items()})
        for id, content, special, bits in core.added_tokens()
    }


def special_pairs(special_tokens: Mapping[str, int]) -> list[tuple[int, AddedToken]]:
    """Converts a caller's `special_tokens`, a mapping spelling -> id, to pairs of id and special token.

    Raises:
        ConfigError: a spelling is empty or not Unicode text.
    """
    return [(id, AddedToken(spell(content).decode())) for content, id in special_tokens.items()]


def token_of_json(content: str, special: bool, facts: Mapping[str, Any]) -> AddedToken:
    """Builds an added token with the flags of a JSON object."""
    return AddedToken(content, special, **{name: bool(facts.get(name)) for name in FLAGS})


def model_entries(core: Core) -> list[int]:
    """Returns the ids of added tokens that are also entries of the model."""
    return [id for id, _, _, bits in core.added_tokens() if bits & _IS_ENTRY]


def with_added_tokens(
    vocabulary: Vocabulary, tokens: Iterable[tuple[int, AddedToken]], entries: Collection[int] = ()
) -> Vocabulary:
    """Returns a copy of a vocabulary with added tokens.

    Args:
        vocabulary: the entries of the model.
        tokens: pairs of id and token; a token with the id of an entry replaces that entry.
        entries: the ids of those added tokens that are also entries of the model.
    """
    rows = [
        (id, token.content.encode(), token.special, _bits(token) | (_IS_ENTRY if id in entries else 0))
        for id, token in tokens
    ]
    ids, contents, special, bits = zip(*rows, strict=True) if rows else ((), (), (), ())
    return vocabulary.with_added(ids, contents, special, bits)


def _bits(token: AddedToken) -> int:
    """Returns the flags as the core's bits."""
    return sum(bit for name, bit in _ALL_FLAGS.items() if getattr(token, name))
