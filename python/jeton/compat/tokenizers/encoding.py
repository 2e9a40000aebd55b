"""`Encoding`: the ids of one text or pair, with the columns that Hugging Face's `Encoding` has.

An encoding that a call returns has its ids and a reference to the call (`calls.Call`). Each column is computed on first
access, for all texts of the call at once. Pickling, and methods that change an encoding in place, first convert all
columns to lists.

Source: huggingface/tokenizers, tokenizer/encoding.rs (behavior of each method).
"""

from __future__ import annotations

import json
import operator
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Encoding", "merged"]

COLUMNS = ("ids", "type_ids", "tokens", "words", "offsets", "special_tokens_mask", "attention_mask")
Ranges = dict[int, tuple[int, int]]  # sequence (0 or 1) -> range of its tokens
_MAX_U32 = (1 << 32) - 1
_MAX_USIZE = (1 << 64) - 1


class Encoding:
    """Ids, tokens, offsets and masks of a text or a pair.

    Examples:
        >>> from jeton.compat.tokenizers import Tokenizer, models
        >>> tok = Tokenizer(models.WordLevel({"low": 0, "[UNK]": 1}, unk_token="[UNK]"))
        >>> encoding = tok.encode("low")
        >>> encoding.ids, encoding.tokens, encoding.offsets, len(encoding)
        ([0], ['low'], [(0, 3)], 1)
    """

    __slots__ = ("__dict__", "_call", "_columns", "_ids", "_row")

    def __init__(self) -> None:
        self._call: Any = None
        self._row = 0
        self._ids: list[int] | None = None
        self._columns: dict[str, Any] | None = {name: [] for name in COLUMNS} | {"overflowing": [], "ranges": {}}

    @classmethod
    def of_call(cls, call: Any, row: int, ids: list[int] | None = None) -> Encoding:
        """Creates the encoding of one text or pair of a call; `row` is its index in the call."""
        made = _new(cls)
        made._call = call
        made._row = row
        made._ids = ids
        made._columns = None
        return made

    @classmethod
    def from_columns(
        cls, *, overflowing: Iterable[Encoding] = (), ranges: Ranges | None = None, **columns: list[Any]
    ) -> Encoding:
        """Creates an encoding from lists, without copying them.

        Args:
            overflowing: pieces that truncation removed.
            ranges: sequence → (start, end) of its tokens; empty if a single sequence has all tokens.
            columns: ``ids``, ``type_ids``, ``tokens``, ``words``, ``offsets``, ``special_tokens_mask``,
                ``attention_mask``.

        Examples:
            >>> one = {"type_ids": [0], "words": [0], "special_tokens_mask": [0], "attention_mask": [1]}
            >>> Encoding.from_columns(ids=[7], tokens=["low"], offsets=[(0, 3)], **one).tokens
            ['low']
        """
        made = cls()
        made._columns = {name: columns[name] for name in COLUMNS} | {
            "overflowing": list(overflowing),
            "ranges": dict(ranges or {}),
        }
        return made

    def columns(self) -> dict[str, Any]:
        """Returns all columns, named like the arguments of `from_columns`: the encoding's own lists, not copies."""
        own = self._columns
        if own is None:
            call, row = self._call, self._row
            own = {name: call.column(name, row) for name in COLUMNS}
            own["overflowing"] = call.overflowing(row)
            own["ranges"] = call.ranges(row)
            self._columns = own
            self._call = self._ids = None
        return own

    def _column(self, name: str) -> list[Any]:
        own = self._columns
        return list(own[name]) if own is not None else self._call.column(name, self._row)

    def _copy(self) -> Encoding:
        own = self.columns()
        made = type(self)()
        made._columns = {name: list(own[name]) for name in COLUMNS} | {
            "overflowing": [each._copy() for each in own["overflowing"]],
            "ranges": dict(own["ranges"]),
        }
        return made

    def __repr__(self) -> str:
        names = "ids, type_ids, tokens, offsets, attention_mask, special_tokens_mask, overflowing"
        return f"Encoding(num_tokens={len(self)}, attributes=[{names}])"

    def __len__(self) -> int:
        own = self._columns
        if own is not None:
            return len(own["ids"])
        return len(self._ids) if self._ids is not None else self._call.length(self._row)

    # ── pickling ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def __getstate__(self) -> bytes:
        return json.dumps(_to_json(self), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

    def __setstate__(self, state: bytes) -> None:
        if not isinstance(state, bytes):
            raise TypeError(f"'{type(state).__name__}' object is not an instance of 'bytes'")
        try:
            own = _of_json(json.loads(state))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Exception(f"Error while attempting to unpickle Encoding: {error}") from None
        self._columns, self._call, self._ids = own._columns, None, None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (), self.__getstate__()

    def __copy__(self) -> Encoding:
        return self._copy()

    def __deepcopy__(self, memo: Any) -> Encoding:
        return self._copy()

    # ── columns ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def ids(self) -> list[int]:
        """The ids."""
        own = self._ids
        return own.copy() if own is not None else self._column("ids")

    @property
    def tokens(self) -> list[str]:
        """The spelling of each id."""
        return self._column("tokens")

    @property
    def word_ids(self) -> list[int | None]:
        """For each id, the index of its pretoken in the text; None for ids of the template and of padding."""
        return self._column("words")

    @property
    def words(self) -> list[int | None]:
        """`word_ids`, under a deprecated name."""
        message = "Deprecated in 0.9.4: Encoding.words is deprecated, please use Encoding.word_ids instead."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.word_ids

    @property
    def type_ids(self) -> list[int]:
        """Type id of each id."""
        return self._column("type_ids")

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """For each id, the range of characters that it covers in its text."""
        return self._column("offsets")

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for each id of the template and of padding, else 0."""
        return self._column("special_tokens_mask")

    @property
    def attention_mask(self) -> list[int]:
        """0 for each id of padding, else 1."""
        return self._column("attention_mask")

    @property
    def overflowing(self) -> list[Encoding]:
        """The pieces that truncation removed."""
        own = self.columns() if self._columns is None and self._call.may_overflow(self._row) else self._columns
        return [] if own is None else [each._copy() for each in own["overflowing"]]

    @property
    def n_sequences(self) -> int:
        """Number of texts."""
        return len(self._ranges()) or 1

    @property
    def sequence_ids(self) -> list[int | None]:
        """For each id, the index of its text: 0, or 1 for the second text of a pair; None for ids of the template."""
        size = len(self)
        found: list[int | None] = [None] * size
        for sequence in range(self.n_sequences):
            start, end = self._range(sequence)
            found[start:end] = [sequence] * (end - start)
        return found

    def _ranges(self) -> Ranges:
        own = self._columns
        ranges: Ranges = own["ranges"] if own is not None else self._call.ranges(self._row)
        return ranges

    def _range(self, sequence: int) -> tuple[int, int]:
        return self._ranges().get(sequence) or (0, len(self))

    # ── alignment ────────────────────────────────────────────────────────────────────────────────────────────────────

    def token_to_sequence(self, token_index: int) -> int | None:
        """Returns the index of the text that contains a token."""
        token_index = _size(token_index, "token_index")
        ranges = self._ranges()
        if token_index > len(self):
            return None
        if not ranges:
            return 0
        return next((sequence for sequence, (start, end) in ranges.items() if start <= token_index < end), None)

    def token_to_chars(self, token_index: int) -> tuple[int, int] | None:
        """Returns the range of characters of a token in its text."""
        found = self.token_to_sequence(token_index)
        offsets = self._column("offsets")
        return None if found is None or not token_index < len(offsets) else offsets[token_index]

    def token_to_word(self, token_index: int) -> int | None:
        """Returns the index of the pretoken of a token."""
        found = self.token_to_sequence(token_index)
        words = self._column("words")
        return None if found is None or not token_index < len(words) else words[token_index]

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Returns the range of tokens of a pretoken."""
        word, sequence = _u32(word_index, "word_index"), _size(sequence_index, "sequence_index")
        start, end = self._range(sequence)
        words = self._column("words")[start:end]
        # The word indices of one text's tokens ascend; tokens without a word have None.
        first = next((at for at, own in enumerate(words) if own is not None and own >= word), None)
        if first is None or words[first] != word:
            return None
        last = next((at for at in range(first, len(words)) if words[at] is not None and words[at] > word), len(words))
        while words[last - 1] != word:
            last -= 1
        return start + first, start + last

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Returns the range of characters of a pretoken."""
        found = self.word_to_tokens(word_index, sequence_index)
        if found is None:
            return None
        offsets = self._column("offsets")
        return offsets[found[0]][0], offsets[found[1] - 1][1]

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Returns the index of the first token that contains a character."""
        char, sequence = _size(char_pos, "char_pos"), _size(sequence_index, "sequence_index")
        first, last = self._range(sequence)
        offsets = self._column("offsets")
        found = (at for at in range(first, last) if offsets[at][0] <= char < offsets[at][1])
        return next(found, None)

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Returns the index of the pretoken that contains a character."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    # ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def set_sequence_id(self, sequence_id: int) -> None:
        """Assigns all tokens to one text."""
        sequence = _size(sequence_id, "sequence_id")
        self.columns()["ranges"][sequence] = (0, len(self))

    def pad(self, length: int, **options: Any) -> None:
        """Pads the encoding to a length, in place.

        Args:
            length: number of ids.
            options: ``direction`` ("right" or "left"), ``pad_id``, ``pad_type_id``, ``pad_token``.
        """
        length = _size(length, "length")
        fill = {"direction": "right", "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
        for name, value in options.items():
            if name not in fill:
                print(f"Ignored unknown kwarg option {name}")  # noqa: T201 - as the original
            elif name in ("pad_id", "pad_type_id"):
                fill[name] = _u32(value, name)
            elif not isinstance(value, str):
                raise TypeError(f"'{type(value).__name__}' object is not an instance of 'str'")
            elif name == "direction" and value not in ("left", "right"):
                raise ValueError(f"Unknown `direction`: `{value}`. Use one of `left` or `right`")
            else:
                fill[name] = value
        self._pad(length, fill)

    def _pad(self, length: int, fill: dict[str, Any]) -> None:
        own = self.columns()
        for each in own["overflowing"]:
            each._pad(length, fill)
        missing = length - len(own["ids"])
        if missing <= 0:
            return
        values = {
            "ids": fill["pad_id"], "type_ids": fill["pad_type_id"], "tokens": fill["pad_token"], "words": None,
            "offsets": (0, 0), "special_tokens_mask": 1, "attention_mask": 0,
        }  # fmt: skip
        is_left = fill["direction"] == "left"
        for name, value in values.items():
            column = own[name]
            at = 0 if is_left else len(column)
            column[at:at] = [value] * missing
        if is_left:
            own["ranges"] = {of: (start + missing, end + missing) for of, (start, end) in own["ranges"].items()}

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Truncates the encoding to at most `max_length` ids, in place; removed ids are in `overflowing`.

        Args:
            max_length: number of ids.
            stride: number of ids that each piece shares with the one before it.
            direction: the end that is removed, "right" or "left".
        """
        limit, stride = _size(max_length, "max_length"), _size(stride, "stride")
        if not isinstance(direction, str):
            raise TypeError(f"argument 'direction': '{type(direction).__name__}' object is not an instance of 'str'")
        if direction not in ("left", "right"):
            raise ValueError(f"Invalid truncation direction value : {direction}")
        own = self.columns()
        size = len(own["ids"])
        if limit >= size:
            return
        if limit == 0:
            whole = self._copy()
            self._columns = type(self)().columns()
            self._columns["overflowing"] = [whole]
            return
        if stride >= limit:
            raise Exception(  # the original panics here
                f"`stride` must be strictly less than `max_len={limit}` (note that `max_len` may be shorter than the "
                "max length of the original model, as it subtracts the number of special characters"
            )
        step = limit - stride
        pieces: list[tuple[int, int]] = []
        if direction == "right":
            pieces = [(start, min(start + limit, size)) for start in range(0, max(size - stride, 1), step)]
        else:
            pieces = [(max(end - limit, 0), end) for end in range(size, stride, -step)]
        made = [{name: own[name][start:end] for name in COLUMNS} | {"ranges": {}} for start, end in pieces]
        rest = [Encoding.from_columns(**piece) for piece in made[1:]]
        self._columns = made[0] | {"overflowing": rest}

    @staticmethod
    def merge(encodings: list[Encoding], growing_offsets: bool = True) -> Encoding:
        """Concatenates encodings.

        Args:
            encodings: the encodings, in order.
            growing_offsets: whether the offsets of an encoding continue those of the encoding before it.
        """
        if not isinstance(growing_offsets, bool):
            raise TypeError(
                f"argument 'growing_offsets': '{type(growing_offsets).__name__}' object is not an instance of 'bool'"
            )
        if isinstance(encodings, str) or not hasattr(encodings, "__getitem__"):
            raise TypeError(
                f"argument 'encodings': '{type(encodings).__name__}' object is not an instance of 'Sequence'"
            )
        for each in encodings:
            if not isinstance(each, Encoding):
                raise TypeError(f"'{type(each).__name__}' object is not an instance of 'Encoding'")
        return merged(encodings, growing_offsets)


_new = object.__new__


def merged(encodings: Iterable[Encoding], growing_offsets: bool) -> Encoding:
    """Implements `Encoding.merge`."""
    made = Encoding()
    for each in encodings:
        _append(made, each, growing_offsets)
    return made


def _append(first: Encoding, second: Encoding, growing: bool) -> None:
    """Appends `second` to `first`, and combines their overflowing pieces.

    Each overflowing piece of `first` is joined to `second` and to each overflowing piece of `second`. Then the old
    `first` is joined to each overflowing piece of `second`.
    """
    own, other = first.columns(), second.columns()
    combined = []
    for piece in own["overflowing"]:
        for right in (second, *other["overflowing"]):
            left = piece._copy()
            _append(left, right, growing)
            combined.append(left)
    for right in other["overflowing"]:
        left = first._copy()
        _append(left, right, growing)
        combined.append(left)
    size = len(own["ids"])
    own["ranges"] |= {of: (size + start, size + end) for of, (start, end) in other["ranges"].items()}
    shift = own["offsets"][-1][1] if growing and own["offsets"] else 0
    for name in COLUMNS:
        values = other[name]
        if name == "offsets" and shift:
            values = [(start + shift, end + shift) for start, end in values]
        own[name] += values
    own["overflowing"] = combined


def _to_json(encoding: Encoding) -> dict[str, Any]:
    own = encoding.columns()
    return {
        **{name: own[name] for name in COLUMNS},
        "overflowing": [_to_json(each) for each in own["overflowing"]],
        "sequence_ranges": {str(of): {"start": start, "end": end} for of, (start, end) in own["ranges"].items()},
    }


def _of_json(facts: dict[str, Any]) -> Encoding:
    columns = {name: list(facts[name]) for name in COLUMNS}
    columns["offsets"] = [(start, end) for start, end in columns["offsets"]]
    ranges = {int(of): (each["start"], each["end"]) for of, each in facts["sequence_ranges"].items()}
    return Encoding.from_columns(**columns, overflowing=map(_of_json, facts["overflowing"]), ranges=ranges)


def _size(value: Any, name: str) -> int:
    return _integer(value, name, _MAX_USIZE)


def _u32(value: Any, name: str) -> int:
    return _integer(value, name, _MAX_U32)


def _integer(value: Any, name: str, most: int) -> int:
    """Converts an argument of an unsigned integer type.

    Raises:
        TypeError: the value is not an integer.
        OverflowError: the value is out of the type's range.
    """
    try:
        found = operator.index(value)
    except TypeError:
        raise TypeError(
            f"argument '{name}': '{type(value).__name__}' object cannot be interpreted as an integer"
        ) from None
    if found < 0:
        raise OverflowError(f"argument '{name}': can't convert negative int to unsigned")
    if found > most:
        raise OverflowError(f"argument '{name}': out of range integral type conversion attempted")
    return found
