"""Masks: for each id of a chat, whether the model generates it. They are computed from ranges of characters.

The ranges come from one of two sources: the ``{% generation %}`` blocks of the template (`marked_spans`), or the
module `replies`, which derives ranges for any template. `differences` compares the ranges of the two sources.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple

from .replies import RenderedMessages, ReplySpans, Span, traced
from .template import RenderedRun

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["MaskDifference", "MaskSource", "MaskTurns", "differences", "ids_of", "marked_spans", "without"]

MaskTurns = Literal["all", "last"]
MaskSource = Literal["auto", "markers", "provenance"]


class MaskDifference(NamedTuple):
    """A range of characters that only one of two sources, ``{% generation %}`` and `replies`, marks as generated.

    Attributes:
        start, end: the range.
        text: its text.
        is_marked: whether it is inside a ``{% generation %}`` block.
        reason: which text it is, for example "the stop token of message 2"; derived from the renderings.
    """

    start: int
    end: int
    text: str
    is_marked: bool
    reason: str


def without(spans: Iterable[Span], removed: Sequence[Span]) -> list[Span]:
    """Returns the ranges `spans` without the parts in the ranges `removed`. Both are sorted and disjoint.

    Examples:
        >>> without([(0, 5), (7, 9)], [(2, 3), (4, 8)])
        [(0, 2), (3, 4), (8, 9)]
    """
    kept = []
    at = 0
    for start, end in spans:
        while at < len(removed) and removed[at][1] <= start:
            at += 1
        index = at
        while index < len(removed) and removed[index][0] < end:
            low, high = removed[index]
            if start < low:
                kept.append((start, low))
            start = max(start, high)
            index += 1
        if start < end:
            kept.append((start, end))
    return kept


def ids_of(spans: Sequence[Span], stops: Sequence[Span], char_spans: NDArray[np.int64]) -> list[bool]:
    """Returns for each token whether it lies within one of the ranges.

    A token that covers generated text and also other text does not lie within a range: the text before was given to
    the model, and the text after did not exist yet when the model generated its tokens. An empty span is treated as
    one character.

    Args:
        spans: ranges of characters, sorted and disjoint; at least one.
        stops: ranges of stop tokens. The span of a stop token may end after its range, because the span includes the
            white space that the token strips.
        char_spans: int64[n, 2], spans of the tokens.
    """
    import numpy as np

    first, last = np.array(spans).T
    starts, ends = char_spans.T
    at = first.searchsorted(starts, side="right") - 1
    is_inside = (at >= 0) & (np.maximum(ends, starts + 1) <= last[at])
    mask: list[bool] = (is_inside | np.isin(starts, [start for start, _ in stops])).tolist()
    return mask


def differences(
    chat: RenderedMessages, text: str, pieces: Sequence[RenderedRun], found: Sequence[ReplySpans]
) -> list[MaskDifference]:
    """Compares the text in a template's ``{% generation %}`` blocks with the replies derived from its renderings.

    Args:
        chat, text, pieces: as for `find_replies`.
        found: the result of `find_replies`.
    """
    marked = marked_spans(pieces)
    derived = [span for reply in found for span in reply.spans]
    stops = [(*stop, f"the stop token of message {reply.message}") for reply in found for stop in reply.stops]
    inside = [(*span, f"the model's text in message {reply.message}") for reply in found for span in reply.spans]
    outside = []
    whole = traced(text, pieces)
    for mark in whole.marks:
        role = None if mark.message is None else chat.messages[mark.message]["role"]
        what = "the caller's text" if role is None else f"the text of message {mark.message} ({role})"
        outside.append((mark.start, mark.end, what))
    begins = sorted(reply.spans[0][0] for reply in found)
    result = []
    for is_marked, spans in ((True, without(marked, derived)), (False, without(derived, marked))):
        for start, end in spans:
            known = outside if is_marked else [*stops, *inside]
            reason = next((what for low, high, what in known if low < end and start < high), None)
            if reason is None:
                at = bisect_left(begins, end)
                is_header = at < len(begins) and begins[at] == end
                reason = "the prompt has it, before the reply" if is_header else "the template writes it after the turn"
            result.append(MaskDifference(start, end, text[start:end], is_marked, reason))
    return sorted(result)


def marked_spans(pieces: Iterable[RenderedRun]) -> list[Span]:
    """Returns the ranges of characters in ``{% generation %}`` blocks."""
    pieces = list(pieces)
    ends = accumulate(piece.length for piece in pieces)
    return [(end - piece.length, end) for piece, end in zip(pieces, ends, strict=True) if piece.origin.generated]
