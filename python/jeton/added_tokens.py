"""Added tokens: matched in the text as a whole, before the model runs, with flags for their matching.

Left out: which special tokens a caller permits (`special`), and how each format spells the flags (`formats`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from struct import unpack
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ._core import Tokenizer as Core
from ._core import Vocabulary
from .arguments import flag, items
from .definition import Definition, WordLevel
from .errors import ConfigError
from .special import spell
from .spelling import HasSpelling, Spelling
from .vocab_view import TOKEN

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "FLAGS",
    "AddedToken",
    "AddedTokenMatch",
    "AddedTokenMatcher",
    "HasAddedTokens",
    "add_tokens",
    "added_tokens",
    "model_entries",
    "special_pairs",
    "with_added_tokens",
]

# Field of `AddedToken` -> the core's bit.
FLAGS = {"lstrip": 1, "rstrip": 2, "single_word": 4, "normalized": 8}
_IS_ENTRY = 16  # the core's bit of an added token that the model has as an entry, too


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that is matched in the text as a whole. The fields have the meaning of Hugging Face's `AddedToken`.

    Attributes:
        content: its spelling.
        special: True: a special token, matched by permission only. False: always matched.
        lstrip, rstrip: it takes the white space to its left, to its right.
        single_word: it is not matched inside of a word.
        normalized: it is matched in the normalized text, not in the raw text.

    Raises:
        ConfigError: a content that is empty or not Unicode text.

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

    def __post_init__(self) -> None:
        spell(self.content, "content")
        for name in ("special", *FLAGS):
            flag(getattr(self, name), name)

    @property
    def is_exact(self) -> bool:
        """True if it is matched exactly as spelled, in the raw text: no flag is set."""
        return not _bits(self)


def added_tokens(core: Core) -> dict[int, AddedToken]:
    """Id -> added token, in the core's order."""
    return {
        id: AddedToken(content, special, **{name: bool(bits & bit) for name, bit in FLAGS.items()})
        for id, content, special, bits in core.added_tokens()
    }


def special_pairs(special_tokens: Mapping[str, int]) -> list[tuple[int, AddedToken]]:
    """Pairs of id and special token, from a mapping spelling -> id that a caller passed as `special_tokens`.

    Raises:
        ConfigError: a spelling that is not a token.
    """
    return [(id, AddedToken(spell(content).decode())) for content, id in special_tokens.items()]


def model_entries(core: Core) -> list[int]:
    """Ids of the added tokens that the model has as entries, too."""
    return [id for id, _, _, bits in core.added_tokens() if bits & _IS_ENTRY]


def with_added_tokens(
    vocabulary: Vocabulary, tokens: Iterable[tuple[int, AddedToken]], entries: Collection[int] = ()
) -> Vocabulary:
    """The vocabulary with added tokens.

    Args:
        vocabulary: the entries of the model.
        tokens: pairs of id and token; one with the id of an entry replaces it.
        entries: ids of those that the model keeps as entries.
    """
    rows = [
        (id, token.content.encode(), token.special, _bits(token) | (_IS_ENTRY if id in entries else 0))
        for id, token in tokens
    ]
    ids, contents, special, bits = zip(*rows, strict=True) if rows else ((), (), (), ())
    return vocabulary.with_added(ids, contents, special, bits)


def _bits(token: AddedToken) -> int:
    """The flags in the core's form."""
    return sum(bit for name, bit in FLAGS.items() if getattr(token, name))


class HasAddedTokens(HasSpelling, Protocol):
    """Members of a tokenizer that `add_tokens` uses."""

    @property
    def vocab_size(self) -> int: ...  # noqa: D102
    @property
    def added_tokens(self) -> Mapping[int, AddedToken]: ...  # noqa: D102
    @property
    def _special_matcher(self) -> AddedTokenMatcher: ...


def add_tokens(tok: HasAddedTokens, tokens: Iterable[str | AddedToken], *, special: bool) -> Vocabulary | None:
    """Implements `Tokenizer.add_tokens`; None if there is nothing to add."""
    if isinstance(tokens, str):
        raise ConfigError(f"add_tokens takes a list of tokens; pass [{tokens!r}]", option="tokens")
    added: dict[int, AddedToken] = {}
    contents: set[str] = set()
    next_id = tok.vocab_size
    for given in items(tokens, "tokens", "a list of tokens"):
        content = given.content if isinstance(given, AddedToken) else spell(given, "tokens").decode()
        id = _entry(tok, content)
        known = None if id is None else tok.added_tokens.get(id)
        if isinstance(given, AddedToken):
            token = given
        else:
            token = AddedToken(content, special) if known is None else replace(known, content=content, special=special)
        if id is None and not token.special:
            id = tok._core.find(content.encode(), False)
        is_special = known is not None and known.special
        if content in contents or (id is not None and (not token.special or is_special)):
            continue
        contents.add(content)
        added[next_id if id is None else id] = token
        next_id += id is None
    return with_added_tokens(tok._core.vocabulary(), added.items()) if added else None


def _entry(tok: HasAddedTokens, content: str) -> int | None:
    """Id of the existing entry for a token: it decodes to the token and has the same spelling in files."""
    encoded = content.encode()
    id = tok._added.get(encoded)
    if id is None:
        id = Spelling(tok).entry(content)
        id = id if id is not None and tok._core.content(id) == encoded else None
    return id


# ── location in a text ──────────────────────────────────────────────────────────────────────────────────────────────


class AddedTokenMatch(NamedTuple):
    """An added token in a text: its id and its range of characters."""

    id: int
    start: int
    end: int


class AddedTokenMatcher:
    """Locates the special tokens of a text, all of them permitted, without running the model.

    Its core tokenizer matches the same added tokens, and makes one unknown token of the text between two of them. So
    a search takes a fraction of the time of encoding.

    Attributes:
        controls: ids of the special tokens.
        is_complete: whether every special token of an encoding is a match; false if the model may make one of text.

    Examples:
        >>> import jeton
        >>> tok = jeton.Tokenizer.from_merges({}, [], special_tokens={"<|end|>": 1})
        >>> AddedTokenMatcher(tok._core, tok.definition)("é<|end|>")
        [AddedTokenMatch(id=1, start=1, end=8)]
    """

    def __init__(self, core: Core, definition: Definition) -> None:
        tokens = added_tokens(core)
        self._contents = {id: token.content for id, token in tokens.items()}
        self._is_exact = all(token.is_exact for token in tokens.values())
        self.controls = frozenset(id for id, token in tokens.items() if token.special)
        # Tokens of such a model have the bytes of the text, in which a special token is a match.
        self.is_complete = self._is_exact and definition.is_byte_level and not definition.normalizer
        unk = "\ue000"
        while any(unk in content for content in self._contents.values()):
            unk += "\ue000"
        vocabulary = with_added_tokens(Vocabulary([core.vocab_size], [TOKEN], [unk.encode()], []), tokens.items())
        normalizer = definition.normalizer if any(token.normalized for token in tokens.values()) else ()
        self._vocab_size = core.vocab_size
        self._is_control: NDArray[np.bool_] | None = None
        self._core = Definition(model=WordLevel(unk), normalizer=normalizer).build(vocabulary)

    def __call__(self, text: str) -> list[AddedTokenMatch]:
        """Returns the special tokens in order."""
        if not self.controls:
            return []
        ids = self._core.encode(text, "all")
        spans = self._starts(text, ids) if self._is_exact else self._spans(text)
        return [
            AddedTokenMatch(id, start, end)
            for id, (start, end) in zip(ids, spans, strict=True)
            if id in self.controls and start < end
        ]

    def _starts(self, text: str, ids: list[int]) -> Iterator[tuple[int, int]]:
        """Range of characters of each exact added token: the next occurrence of its content."""
        end = 0
        for id in ids:
            content = self._contents.get(id, "")
            start = text.index(content, end)
            end = start + len(content)
            yield start, end

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Range of characters of each token."""
        view = self._core.byte_spans(text, "all")
        numbers = unpack(f"<{len(view) // 8}q", view)
        spans = zip(numbers[::2], numbers[1::2], strict=True)
        if text.isascii():
            return [*spans]
        data = text.encode()
        at_byte = at_char = 0
        ranges = []
        for start, end in spans:
            first = at_char + len(data[at_byte:start].decode())
            at_byte, at_char = end, first + len(data[start:end].decode())
            ranges.append((first, at_char))
        return ranges

    def num_controls(self, ids: NDArray[np.uint32], *, but: int | None) -> int:
        """Number of special tokens among ids, without the id `but`."""
        import numpy as np

        if self._is_control is None:
            self._is_control = np.zeros(self._vocab_size, bool)
            self._is_control[[*self.controls]] = True
        return int(self._is_control[ids].sum()) - (0 if but is None else int((ids == but).sum()))
