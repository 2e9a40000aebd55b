"""Equality test of two tokenizers: equal ids and equal decoded bytes on texts chosen to reveal differences.

Both tokenizers encode each text with all combinations of options: special tokens as ordinary text and matched, with and
without the template, as a single text and as a pair. Byte-level tokenizers also encode invalid UTF-8. The ids are
decoded, too. Both tokenizers must refuse the same texts. The test stops at the first difference and minimizes its text.

The result is evidence, not proof, unless the fingerprints are equal, which `Equality.same_fingerprint` reports.

Cost: each tokenizer encodes each text two to five times.

Left out: spans, spellings of tokens, names of special tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import Any, NamedTuple

from ..errors import JetonError
from ..tokenizer import Tokenizer
from ..util.progress import Progress, ProgressEvent, make_reporter
from ..util.threads import num_threads
from .comparison_texts import ComparisonTexts

__all__ = ["Difference", "Equality", "same_ids"]

# Maximum number of texts in a batch.
BATCH = 256
# Maximum number of characters in a batch.
BATCH_CHARS = 1 << 20
# Tokens shown before and after a difference.
AROUND = 3


class Difference(NamedTuple):
    """A text with different results of two tokenizers.

    Attributes:
        text: minimized text.
        call: the call, as a Python expression: ``encode(text, special="all")``.
        left, right: result of each tokenizer: ids, or decoded bytes; None if it refused the text.
        position: index of the first id or byte that differs.
        left_tokens, right_tokens: the tokens around this position.
        left_error, right_error: message of the tokenizer's refusal, if it refused the text.
    """

    text: str | bytes
    call: str
    left: list[int] | bytes | None
    right: list[int] | bytes | None
    position: int
    left_tokens: list[str]
    right_tokens: list[str]
    left_error: str | None = None
    right_error: str | None = None

    def __str__(self) -> str:
        lines = [f"{self.call} of {_shown(self.text)} differs at {self.position}:"]
        sides = (("first ", self.left, self.left_tokens, self.left_error),)
        for name, value, tokens, error in (*sides, ("second", self.right, self.right_tokens, self.right_error)):
            if error is not None:
                lines.append(f"  {name}  fails: {error}")
            elif isinstance(value, list):
                start = max(self.position - AROUND, 0)
                dots = "… " if start else ""
                ids = " ".join(map(str, value[start : start + len(tokens)]))
                lines.append(f"  {name}  {dots}{ids}  {' '.join(tokens)}  ({_ids(len(value))})")
            else:
                start = max(self.position - 8, 0)
                lines.append(f"  {name}  {(value or b'')[start : self.position + 24]!r}  ({len(value or b'')} bytes)")
        return "\n".join(lines)


class Equality(NamedTuple):
    """Result of `same_ids`.

    Attributes:
        compared: number of texts compared.
        refused: number of texts that both tokenizers refuse.
        same_fingerprint: True if the fingerprints are equal, so that the results are equal for all texts.
        first: the first difference, or None.
    """

    compared: int
    refused: int
    same_fingerprint: bool
    first: Difference | None

    @property
    def equal(self) -> bool:
        """True if no difference was found."""
        return self.first is None


def same_ids(
    a: Tokenizer,
    b: Tokenizer,
    texts: Iterable[str | bytes] | None = None,
    *,
    decode: bool = True,
    threads: int | None = None,
    progress: Progress = None,
) -> Equality:
    """Compares two tokenizers text by text, up to the first difference.

    Args:
        a: the first tokenizer.
        b: the second tokenizer. Names of special tokens are allowed to differ; their ids are not.
        texts: texts to compare on; None: `ComparisonTexts`.
        decode: compare decoded bytes, too; a conversion can preserve ids and lose the decoder.
        threads, progress: as in `jeton.train`.

    Examples:
        >>> import jeton
        >>> a = jeton.train(["low lower lowest"], 260, pattern="gpt2", progress=False)
        >>> b = jeton.train(["low lower lowest"], 257, pattern="gpt2", progress=False)
        >>> same_ids(a, a, ["lower"]).equal
        True
        >>> print(same_ids(a, b, ["new", "lower"], progress=False).first)
        encode(text) of 'low' differs at 0:
          first   257  low  (1 id)
          second  256 119  lo w  (2 ids)
    """
    both = _TokenizerPair(a, b, decode, num_threads(threads))
    texts = ComparisonTexts(a, b) if texts is None else texts
    total = len(texts) if isinstance(texts, Sized) else None
    compared = refused = 0
    with make_reporter(progress) as report:
        for batch in _batches(texts):
            difference, unencodable = both.difference(batch)
            refused += unencodable
            if difference is not None:
                compared += batch.index(difference.text) + 1
                return Equality(compared, refused, False, both.smallest(difference))
            compared += len(batch)
            report(ProgressEvent("compare", compared, total, "texts"))
    return Equality(compared, refused, a.fingerprint == b.fingerprint, None)


def _batches(texts: Iterable[str | bytes]) -> Iterator[list[str | bytes]]:
    batch: list[str | bytes] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if len(batch) >= BATCH or size >= BATCH_CHARS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class _TokenizerPair:
    """Two tokenizers, compared on batches of texts."""

    def __init__(self, a: Tokenizer, b: Tokenizer, decode: bool, threads: int) -> None:
        self._sides = (a, b)
        self._decode = decode
        self._threads = threads
        self._ways: list[dict[str, Any]] = [{}]
        if a.special_tokens or b.special_tokens:
            self._ways.append({"special": "all"})
        if _arranges(a) or _arranges(b):
            self._ways += [{**way, "add_special_tokens": True} for way in self._ways]
            self._ways.append({"pair": "a second text", "add_special_tokens": True})

    def difference(self, batch: list[str | bytes]) -> tuple[Difference | None, int]:
        """Returns the first difference in a batch, and the number of texts that both tokenizers refuse.

        The fast path compares the whole batch at once. If it finds a difference or a refusal, texts are compared one by
        one.
        """
        try:
            if all(self._same_batch(batch, way) for way in self._ways):
                return None, 0
        except JetonError:
            pass
        refused = 0
        for text in batch:
            difference, is_refused = self._of_one(text)
            if difference is not None:
                return difference, refused
            refused += is_refused
        return None, refused

    def _same_batch(self, batch: list[str | bytes], way: dict[str, Any]) -> bool:
        if "pair" in way:
            one, other = self._sides
            return all(one.encode(text, **way) == other.encode(text, **way) for text in batch)
        left, right = (tok.encode_batch(batch, threads=self._threads, **way) for tok in self._sides)
        if left.ids.tobytes() != right.ids.tobytes() or left.offsets.tobytes() != right.offsets.tobytes():
            return False
        a, b = self._sides
        return not self._decode or all(a.decode_bytes(ids) == b.decode_bytes(ids) for ids in left)

    def _of_one(self, text: str | bytes) -> tuple[Difference | None, bool]:
        """Returns two values: the difference on one text, or None; and whether both tokenizers refuse the text."""
        is_refused = False
        for way in self._ways:
            options = "".join(f", {name}={value!r}" for name, value in way.items()).replace("'", '"')
            call = f"encode(text{options})"
            (left, left_error), (right, right_error) = (_tried(tok, text, way) for tok in self._sides)
            if left != right:
                return self._described(text, call, left, right, left_error, right_error), False
            if left is None:
                is_refused = True
            elif self._decode:
                one, other = (tok.decode_bytes(left) for tok in self._sides)
                if one != other:
                    return self._described(text, f"decode_bytes({call})", one, other), False
        return None, is_refused

    def smallest(self, difference: Difference) -> Difference:
        """Minimizes the text of a difference."""
        size = len(difference.text) // 2
        while size:
            text = difference.text
            for part in (text[size:], text[:-size]):
                smaller, _ = self._of_one(part)
                if smaller is not None:
                    difference = smaller
                    size = min(size, len(part) // 2)
                    break
            else:
                size //= 2
        return difference

    def _described(
        self,
        text: str | bytes,
        call: str,
        left: list[int] | bytes | None,
        right: list[int] | bytes | None,
        left_error: str | None = None,
        right_error: str | None = None,
    ) -> Difference:
        place = _first_difference(left or [], right or [])
        a, b = self._sides
        around = _tokens_around(a, left, place), _tokens_around(b, right, place)
        return Difference(text, call, left, right, place, *around, left_error, right_error)


def _arranges(tok: Tokenizer) -> bool:
    """Tests whether the template adds tokens to a text or a pair, or reorders a pair."""
    template = tok.definition.template or {}
    plain = (("single", ["A"]), ("pair", ["A", "B"]))
    return any([item.get("sequence") for item in template.get(name) or ()] not in ([], order) for name, order in plain)


def _tried(tok: Tokenizer, text: str | bytes, way: dict[str, Any]) -> tuple[list[int] | None, str | None]:
    try:
        return tok.encode(text, **way), None
    except JetonError as error:
        return None, str(error)


def _first_difference(left: Any, right: Any) -> int:
    return next((i for i, (x, y) in enumerate(zip(left, right, strict=False)) if x != y), min(len(left), len(right)))


def _tokens_around(tok: Tokenizer, ids: list[int] | bytes | None, place: int) -> list[str]:
    if not isinstance(ids, list):
        return []
    near = ids[max(place - AROUND, 0) : place + AROUND + 1]
    return [tok.id_to_token(id) for id in near]


def _ids(number: int) -> str:
    return "1 id" if number == 1 else f"{number:,} ids"


def _shown(text: str | bytes, longest: int = 200) -> str:
    shown = repr(text)
    return shown if len(shown) <= longest else f"{shown[:longest]}… ({len(text)} long)"
