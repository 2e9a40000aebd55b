"""`Call`: the inputs of one call of `encode` or `encode_batch`, and the columns of its results, computed on access.

A call computes only ids, because most callers use only these. On the first access to offsets, words or tokens, all
texts of the call are encoded again. A call keeps the engine with which it began, so later changes of the tokenizer do
not affect the results.

If a result of the engine may differ from that of Hugging Face's package, Hugging Face's package computes it instead
(`fallback`). If that package is not installed, the call raises an error.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...errors import JetonError
from ..hf_backend import Rows, Unproven, width_of
from .encoding import Encoding
from .state import Built, Frame

__all__ = ["PLAIN", "Call", "FramedCall", "TextCall", "columns_of"]

# Settings of calls that neither truncate nor pad: index 0 is without the template, index 1 with it.
PLAIN: tuple[dict[str, Any], ...] = tuple(
    {
        "is_pretokenized": False,
        "add_special_tokens": adds,
        "splits_special": False,
        "truncation": None,
        "padding": None,
    }
    for adds in (False, True)
)

_NAMES = {
    "ids": "input_ids",
    "type_ids": "token_type_ids",
    "attention_mask": "attention_mask",
    "special_tokens_mask": "special_tokens_mask",
}


class Call:
    """Texts or pairs that were encoded with the same options.

    Args:
        built: the engine.
        texts: the texts, or lists of words.
        pairs: the second texts, or None.
        settings: ``is_pretokenized``, ``add_special_tokens``, ``splits_special``, ``truncation`` and ``padding``.
        fallback: function that encodes one text of the call, given by its index, with the original package.
        kind: unit of offsets: ``"char"``, ``"byte"``, or ``""`` for `encode_batch_fast`, whose results have neither
            offsets, words nor tokens.
        rows: the rows, if they have already been computed.
    """

    __slots__ = ("_cache", "_rows", "built", "fallback", "kind", "pairs", "settings", "texts")

    def __init__(
        self,
        built: Built,
        texts: list[Any],
        pairs: list[Any] | None,
        settings: dict[str, Any],
        fallback: Callable[[Call, int], Encoding],
        kind: str = "char",
        rows: Rows | None = None,
    ) -> None:
        self.built = built
        self.texts = texts
        self.pairs = pairs
        self.settings = settings
        self.fallback = fallback
        self.kind = kind
        self._rows = rows
        self._cache: dict[str, Any] = {}

    @property
    def rows(self) -> Rows:
        """The rows, one for each text."""
        if self._rows is None:
            self._rows = self.built.encode(self.texts, self.pairs, **self.settings)
        return self._rows

    def length(self, row: int) -> int:
        """Returns the number of ids of a row, including padding."""
        rows = self.rows
        return max(rows.width, int(rows.lengths[row]))

    def column(self, name: str, row: int) -> list[Any]:
        """Returns the values of a column for a row, as a new list."""
        found = self._cache.get(name)
        if found is None:
            if name == "tokens":
                return self._tokens(row)
            if name == "offsets" and self.kind and not self.built.untrimmed_ids.isdisjoint(self.column("ids", row)):
                return list(self._original(row)[name])
            try:
                found = self._cache[name] = self._made(name)
            except Unproven:
                return list(self._original(row)[name])
        values: list[Any] = found[row]
        return values.copy()

    def _original(self, row: int) -> dict[str, Any]:
        cache = self._cache.setdefault("original", {})
        found: dict[str, Any] | None = cache.get(row)
        if found is None:
            found = cache[row] = self.fallback(self, row).columns()
        return found

    def _made(self, name: str) -> list[list[Any]]:
        if name in _NAMES:
            if (
                name == "type_ids"
                and not self.kind
                and self.pairs
                and not self.built.state.stage_json("post_processor")
            ):
                return self.rows.constant(0, self.rows.pad_type_id)
            return self.rows.lists(_NAMES[name])
        if name == "offsets":
            if not self.kind:
                return [[(0, 0)] * self.length(row) for row in range(len(self.texts))]
            if self.kind == "byte" and not self._is_ascii():
                raise Unproven("offsets in bytes")
            if self.built.drops(self._strings()):
                return self._offsets_by_text()
            rows = self._again(offsets=True)
            return rows.lists("offset_mapping")
        if not self.kind:  # here and below, `name` is "words"
            return [[None] * self.length(row) for row in range(len(self.texts))]
        rows = self._again(words=True)
        return [rows.word_ids(row) for row in range(len(self.texts))]

    def _offsets_by_text(self) -> list[list[Any]]:
        """Computes the offsets text by text, which is slow; used if the model leaves out characters of a text."""
        settings = self.settings
        is_plain = not (settings["truncation"] or settings["padding"] or settings["is_pretokenized"])
        if not is_plain or self.built._shares_spaces or not self._is_ascii():
            raise Unproven("offsets of texts that the model drops parts of")
        pairs = self.pairs or [None] * len(self.texts)
        special = _permission(settings["splits_special"])
        tokenize = self.built.core.tokenize
        try:
            return [
                tokenize(text, special, pair=pair, template=settings["add_special_tokens"])[0][4]
                for text, pair in zip(self.texts, pairs, strict=True)
            ]
        except JetonError as error:
            raise Unproven(type(error).__name__) from None

    def _is_ascii(self) -> bool:
        return all(map(str.isascii, self._strings()))

    def _strings(self) -> Iterator[str]:
        for each in (*self.texts, *(self.pairs or ())):
            if isinstance(each, str):
                yield each
            else:
                yield from each

    def _again(self, **columns: Any) -> Rows:
        """Encodes the texts again, with the same padding."""
        settings = self.settings
        if settings["padding"] is not None and self._rows is not None:
            settings = {**settings, "padding": _fixed(settings["padding"], self._rows.width)}
        return self.built.encode(self.texts, self.pairs, **settings, **columns)

    def _tokens(self, row: int) -> list[str]:
        built = self.built
        ids, special = self.column("ids", row), self.column("special_tokens_mask", row)
        if not self.kind:
            tokens = [""] * len(ids)
            for at, is_special in enumerate(special):
                if is_special:
                    tokens[at] = built.template_names.get(ids[at]) or built.spellings[ids[at]]
            return self._with_padding(tokens, row)
        tokens = list(map(built.spellings.__getitem__, self._known(ids, row)))
        named = built.template_names
        if named and not named.keys().isdisjoint(ids):
            for at, id in enumerate(ids):
                if special[at] and id in named:
                    tokens[at] = named[id]
        if not built.shown_ids.isdisjoint(ids):
            try:
                self._show_texts(tokens, ids, special, row)
            except Unproven:
                return list(self._original(row)["tokens"])
        return self._with_padding(tokens, row)

    def _show_texts(self, tokens: list[str], ids: list[int], special: list[int], row: int) -> None:
        """Replaces the spelling of a token of `shown_ids` by the text that the token matched, as Hugging Face does."""
        built = self.built
        if built._shares_spaces:
            raise Unproven("added tokens that may share a white space")
        shown = built.shown_ids
        ranges = self._ranges(row)
        truncation = self.settings["truncation"]
        is_left = truncation is not None and truncation["direction"] == "left"
        for sequence, (start, end) in ranges.items():
            own = [at for at in range(start, end) if ids[at] in shown and not special[at]]
            if not own:
                continue
            text = (self.texts if sequence == 0 else self.pairs or [])[row]
            texts = [
                each
                for part in ([text] if isinstance(text, str) else text)
                for each in built.core.token_texts(part, list(shown), _permission(self.settings["splits_special"]))
            ]
            texts = texts[len(texts) - len(own) :] if is_left else texts[: len(own)]
            for at, each in zip(own, texts, strict=True):
                tokens[at] = each

    def _known(self, ids: list[int], row: int) -> list[int]:
        """Replaces the ids of padding by an id that has a spelling, because a padding id can be any integer."""
        own = int(self.rows.lengths[row])
        if own == len(ids):
            return ids
        pad = [0] * (len(ids) - own)
        some = next(iter(self.built.spellings), None)
        fill = pad if some is None else [some] * len(pad)
        return fill + ids[len(pad) :] if self.rows.is_left else ids[:own] + fill

    def _with_padding(self, tokens: list[str], row: int) -> list[str]:
        padding = self.settings["padding"]
        own = int(self.rows.lengths[row])
        if padding is None or own == len(tokens):
            return tokens
        fill = [padding["pad_token"]] * (len(tokens) - own)
        return fill + tokens[len(fill) :] if self.rows.is_left else tokens[:own] + fill

    def ranges(self, row: int) -> dict[int, tuple[int, int]]:
        """Returns sequence -> range of its tokens; empty for a single text without a post-processor."""
        built, is_pair = self.built, self.pairs is not None
        if not is_pair and built.state.stage_json("post_processor") is None:
            return {}
        return self._ranges(row)

    def _ranges(self, row: int) -> dict[int, tuple[int, int]]:
        rows, is_pair = self.rows, self.pairs is not None
        items = self.built._items[is_pair, self.settings["add_special_tokens"]]
        own = int(rows.lengths[row])
        at = rows.width - own if rows.is_left and rows.width > own else 0
        segments = rows.batch.segments
        if segments is None:
            return {0: (at, at + own)}
        lengths = segments.lengths[row if len(segments.lengths) > 1 or len(rows.batch) == 1 else 0].tolist()
        found: dict[int, tuple[int, int]] = {}
        for item, length in zip(items, lengths, strict=True):
            if item.text is not None:
                found[item.text] = (at, at + length)
            at += length
        return found

    # ── overflow ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def may_overflow(self, row: int) -> bool:
        """Returns True if truncation may have removed ids from a row; False only if it removed none."""
        truncation = self.settings["truncation"]
        return truncation is not None and int(self.rows.lengths[row]) >= min(
            truncation["max_length"], max(truncation["max_length"] - 1, 0)
        )

    def overflowing(self, row: int) -> list[Encoding]:
        """Returns the pieces that truncation removed from a row."""
        if not self.may_overflow(row):
            return []
        settings = dict(self.settings)
        if settings["padding"] is not None:
            settings["padding"] = _fixed(settings["padding"], self.rows.width)
        pairs = None if self.pairs is None else [self.pairs[row]]
        try:
            rows = self.built.encode([self.texts[row]], pairs, overflow=True, **settings)
            if len(rows.batch) == 1:
                return []
            call = _Overflow(self.built, [self.texts[row]], pairs, settings, self.fallback, self.kind, rows)
            pieces = [Encoding.of_call(call, at) for at in range(1, len(rows.batch))]
            if pairs is not None and len(pieces) > 1:
                raise Unproven("pieces of both texts of a pair")
            for piece in pieces:
                piece.columns()
            if pairs is not None and self.built.state.stage_json("post_processor") is None:
                _forget_range(pieces, self._cut_text(row))
        except Unproven:
            found: list[Encoding] = self._original(row)["overflowing"]
            return found
        return pieces

    def _cut_text(self, row: int) -> int:
        """Returns 0 if truncation removed ids from the first text of a pair, else 1."""
        settings = {**self.settings, "truncation": None, "padding": None, "add_special_tokens": False}
        whole = self.built.encode([self.texts[row]], **settings)
        start, end = self._ranges(row)[0]
        return 0 if int(whole.lengths[0]) > end - start else 1


def _forget_range(pieces: list[Encoding], sequence: int) -> None:
    """Removes the range of the truncated text: without a post-processor, Hugging Face's library does not set it."""
    for piece in pieces:
        piece.columns()["ranges"].pop(sequence, None)


class TextCall(Call):
    """A call with one text that is neither truncated nor padded.

    The columns are computed directly, not from the arrays of a batch.

    Args:
        built, text, fallback: as for `Call`.
        adds: whether the template is applied.
        ids: the ids.
    """

    __slots__ = ("_adds", "_ids")

    def __init__(
        self, built: Built, text: str, adds: bool, ids: list[int], fallback: Callable[[Call, int], Encoding]
    ) -> None:
        self.built = built
        self.texts = [text]
        self.pairs = None
        self.settings = PLAIN[adds]
        self.fallback = fallback
        self.kind = "char"
        self._rows = None
        self._cache = {}
        self._adds = adds
        self._ids = ids

    def length(self, row: int) -> int:
        """Returns the number of ids."""
        return len(self._ids)

    def _known(self, ids: list[int], row: int) -> list[int]:
        return ids

    def _with_padding(self, tokens: list[str], row: int) -> list[str]:
        return tokens

    def may_overflow(self, row: int) -> bool:
        """Returns False, because no text is truncated."""
        return False

    def _ranges(self, row: int) -> dict[int, tuple[int, int]]:
        frame = self.built.frames[self._adds]
        if frame is None:
            return super()._ranges(row)
        return {0: (len(frame.before), len(self._ids) - len(frame.after))}

    def _made(self, name: str) -> list[list[Any]]:
        frame = self.built.frames[self._adds]
        if name == "ids":
            return [self._ids]
        if frame is None:
            return super()._made(name)
        before, after = len(frame.before), len(frame.after)
        size = len(self._ids) - before - after
        if name == "type_ids":
            return [[*frame.before, *([frame.type_id] * size), *frame.after]]
        if name == "attention_mask":
            return [[1] * len(self._ids)]
        if name == "special_tokens_mask":
            return [[1] * before + [0] * size + [1] * after]
        if self.built._shares_spaces:
            raise Unproven("added tokens that may share a white space")
        if name == "offsets" and self.built.drops(self.texts):
            return self._offsets_by_text()
        own = memoryview(array("I", self._ids[before : before + size])).cast("B")
        try:
            values = self.built.core.known_spans(self.texts[0], own, "all", 2 if name == "offsets" else 3)
        except (JetonError, UnicodeError) as error:
            raise Unproven(type(error).__name__) from None
        flat = values.cast("q").tolist()
        if name == "offsets":
            return [[(0, 0)] * before + list(zip(flat[::2], flat[1::2], strict=True)) + [(0, 0)] * after]
        return [[None] * before + flat + [None] * after]


class FramedCall(Call):
    """A call with one text that is truncated or padded. Ids, type ids and masks are computed as lists, without arrays.

    Args:
        built, text, settings, fallback: as for `Call`.
        frame: the template around the text.
        ids: the ids of the text, without template.

    Attributes:
        ids: the ids of the encoding.
    """

    __slots__ = ("_columns", "_is_cut", "ids")

    def __init__(
        self,
        built: Built,
        text: str,
        settings: dict[str, Any],
        fallback: Callable[[Call, int], Encoding],
        frame: Frame,
        ids: list[int],
    ) -> None:
        super().__init__(built, [text], None, settings, fallback)
        before, after = frame.ids
        num_before, num_after = len(before), len(after)
        truncation, padding = settings["truncation"], settings["padding"]
        self._is_cut = False
        if truncation is not None:
            room = truncation["max_length"] - num_before - num_after
            self._is_cut = len(ids) > room
            if self._is_cut:
                ids = ids[len(ids) - room :] if truncation["direction"] == "left" else ids[:room]
        size = len(ids)
        columns = (
            ("ids", [*before, *ids, *after], "pad_id"),
            ("type_ids", [*frame.before, *([frame.type_id] * size), *frame.after], "pad_type_id"),
            ("special_tokens_mask", [1] * num_before + [0] * size + [1] * num_after, 1),
            ("attention_mask", [1] * (num_before + size + num_after), 0),
        )
        if padding is not None:
            own = num_before + size + num_after
            missing = max(width_of(own if padding["length"] is None else padding["length"], padding) - own, 0)
            at = 0 if padding["direction"] == "left" else own
            for _, values, fill in columns:
                values[at:at] = [padding[fill] if isinstance(fill, str) else fill] * missing
        self._columns = {name: values for name, values, _ in columns}
        self.ids = self._columns["ids"]

    @classmethod
    def of_text(
        cls, built: Built, text: str, settings: dict[str, Any], fallback: Callable[[Call, int], Encoding]
    ) -> FramedCall | None:
        """Creates the call; returns None if its result may differ from that of a batch.

        Args:
            built, text, settings, fallback: as for `Call`.
        """
        frame, truncation = built.frames[settings["add_special_tokens"]], settings["truncation"]
        if frame is None:
            return None
        if truncation is not None:
            room = truncation["max_length"] - sum(map(len, frame.ids))
            if room <= truncation["stride"] or truncation["strategy"] == "only_second":
                return None
        try:
            ids = built.core.encode(text, _permission(settings["splits_special"]), 1)
        except (JetonError, UnicodeError):
            return None
        return cls(built, text, settings, fallback, frame, ids)

    def length(self, row: int) -> int:
        """Returns the number of ids."""
        return len(self.ids)

    def may_overflow(self, row: int) -> bool:
        """Tests whether truncation removed ids."""
        return self._is_cut

    def _made(self, name: str) -> list[list[Any]]:
        return [self._columns[name]] if name in self._columns else super()._made(name)


class _Overflow(Call):
    """A call with one text. Truncation divides the text into pieces; each piece is a row of the call."""

    __slots__ = ()

    def may_overflow(self, row: int) -> bool:
        """Returns False, because a piece does not overflow again."""
        return False

    def _again(self, **columns: Any) -> Rows:
        return self.built.encode(self.texts, self.pairs, overflow=True, **self.settings, **columns)

    def _show_texts(self, tokens: list[str], ids: list[int], special: list[int], row: int) -> None:
        raise Unproven("texts of the tokens of a piece")

    def _original(self, row: int) -> dict[str, Any]:
        raise Unproven("a column of a piece")

    def _made(self, name: str) -> list[list[Any]]:
        if name == "words" and self.kind:
            rows = self._again(words=True)
            return [rows.word_ids(row) for row in range(len(rows.batch))]
        if not self.kind:
            raise Unproven("pieces without offsets")
        return super()._made(name)


def _fixed(padding: Mapping[str, Any], width: int) -> dict[str, Any]:
    return {**padding, "length": width, "pad_to_multiple_of": None}


def columns_of(state: bytes) -> Encoding:
    """Creates an encoding from the pickled state of an `Encoding` of Hugging Face's package."""
    made = Encoding()
    made.__setstate__(state)
    return made


def _permission(splits_special: bool) -> Any:
    return "raise" if splits_special else "all"
