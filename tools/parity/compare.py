"""Comparison of Jeton with a peer on batches of strings, with minimized differences.

Each check counts four kinds of strings: strings that were compared, strings with different results, strings refused
only by Jeton, and strings refused only by the peer. Refused strings are never counted as equal. Each check also records
its first messages of refusals, and its first differences with minimized strings. Checks of single texts (offsets,
tiling, decoding) take about ten times as long as checks of ids, so they are limited to the first `DEEP` generated
strings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

import jeton

from .peers import Mode, Peer
from .texts import batches

__all__ = ["DEEP", "Difference", "Tally", "compare_bytes", "compare_details", "compare_ids", "compare_pairs", "decoded"]

DEEP = 20_000
EXAMPLES = 3
SHRINK_CALLS = 400

_T = TypeVar("_T")


@dataclass
class Difference:
    """A minimized string for which the results differ, with both results."""

    text: str
    ours: str
    theirs: str


@dataclass
class Tally:
    """Result of one check of one vocabulary.

    Attributes:
        check: name of the check: ids, decode, offsets, spans, bytes, pairs, random ids.
        library, mode: the peer library and its mode.
        compared: number of strings compared, without refused ones.
        differ: number of strings with different results.
        refused: number of strings that only Jeton refuses.
        failed: number of strings that only the peer refuses.
        both: number of strings that both refuse.
        alone: number of strings on which this peer differs from Jeton, while Jeton agrees with the vocabulary's
            original library.
        examples: the first differences.
        reasons: the first messages of refusals.
    """

    check: str
    library: str
    mode: str
    compared: int = 0
    differ: int = 0
    refused: int = 0
    failed: int = 0
    both: int = 0
    alone: int = 0
    examples: list[Difference] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Returns the tally as plain data."""
        return asdict(self)

    def count(self, ours: object, theirs: object, equal: bool, example: Callable[[], Difference]) -> None:
        """Counts one string, given Jeton's result and the peer's result. Each result can be a `Refusal`."""
        match ours, theirs:
            case Refusal(), Refusal():
                self.both += 1
            case Refusal() as refusal, _:
                self.refused += 1
                self._because(f"Jeton: {refusal}")
            case _, Refusal() as refusal:
                self.failed += 1
                self._because(f"{self.library}: {refusal}")
            case _:
                self.compared += 1
                if not equal:
                    self.differ += 1
                    if len(self.examples) < EXAMPLES:
                        self.examples.append(example())

    def _because(self, reason: str) -> None:
        if len(self.reasons) < EXAMPLES:
            self.reasons.append(reason[:200])


class Refusal:
    """An exception that a call raised, stored in place of a result."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __str__(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"


def tried(call: Callable[[], _T]) -> _T | Refusal:
    """Returns the result of a call, or its exception as a `Refusal`. Peers may panic, which is a `BaseException`."""
    try:
        return call()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return Refusal(error)


# ── ids ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def compare_ids(tok: jeton.Tokenizer, peers: Sequence[Peer], texts: Iterable[str]) -> list[Tally]:
    """Compares the ids of all texts, in every mode of every peer.

    The first peer is the vocabulary's original library. If the ids of another peer differ from Jeton's ids, and Jeton's
    ids equal those of the original library, the string is counted in `Tally.alone` and not as a difference of Jeton.
    """
    pairs = [(peer, mode) for peer in peers for mode in peer.modes]
    tallies = [Tally("ids", peer.library, mode.name) for peer, mode in pairs]
    for batch in batches(texts):
        known: dict[tuple[str, bool], _Flat | Refusal] = {}
        for (peer, mode), tally in zip(pairs, tallies, strict=True):
            ways = (mode.special, mode.template)
            if ways not in known:
                known[ways] = tried(lambda batch=batch, mode=mode: _encoded(tok, mode, batch))  # type: ignore[misc]
            own = None if peer is peers[0] else _mode_like(peers[0], mode)
            _compare_batch(tok, mode, own, batch, known[ways], tally)
    return tallies


def _compare_batch(
    tok: jeton.Tokenizer, mode: Mode, own: Mode | None, batch: list[str], ours: _Flat | Refusal, tally: Tally
) -> None:
    theirs = tried(lambda: _flat(mode.encode(batch)))
    if isinstance(ours, Refusal) or isinstance(theirs, Refusal):
        both = ((text, *_both(tok, mode, text)) for text in batch)
    elif _same(ours, theirs):
        tally.compared += len(batch)
        return
    else:
        split = zip(batch, _split(ours), _split(theirs), strict=True)
        both = ((text, mine.tolist(), other.tolist()) for text, mine, other in split)
    for text, mine, other in both:
        equal = mine == other
        if (
            not equal
            and own
            and isinstance(mine, list)
            and tried(lambda text=text: list(own.encode([text])[0])) == mine
        ):  # type: ignore[misc]
            tally.alone += 1
            tally.compared += 1
        else:
            tally.count(mine, other, equal, lambda text=text: _smallest(tok, mode, text))  # type: ignore[misc]


def _mode_like(peer: Peer, mode: Mode) -> Mode | None:
    return next((own for own in peer.modes if (own.special, own.template) == (mode.special, mode.template)), None)


# The ids of all texts in one array, and offsets: text i has the ids from offsets[i] up to offsets[i + 1].
_Flat = tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]


def _encoded(tok: jeton.Tokenizer, mode: Mode, texts: Sequence[str]) -> _Flat:
    batch = tok.encode_batch(texts, threads=1, special=mode.special, add_special_tokens=mode.template)
    return batch.ids, batch.offsets


def _flat(lists: Sequence[Sequence[int]]) -> _Flat:
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(ids) for ids in lists], out=offsets[1:])
    ids = np.fromiter((id for ids in lists for id in ids), np.uint32, int(offsets[-1]))
    return ids, offsets


def _same(ours: _Flat, theirs: _Flat) -> bool:
    return np.array_equal(ours[1], theirs[1]) and np.array_equal(ours[0], theirs[0])


def _split(flat: _Flat) -> list[np.ndarray[Any, Any]]:
    return np.split(flat[0], flat[1][1:-1])


def _both(tok: jeton.Tokenizer, mode: Mode, text: str) -> tuple[list[int] | Refusal, list[int] | Refusal]:
    return (
        tried(lambda: tok.encode(text, special=mode.special, add_special_tokens=mode.template)),
        tried(lambda: [int(id) for id in mode.encode([text])[0]]),
    )


def _smallest(tok: jeton.Tokenizer, mode: Mode, text: str) -> Difference:
    def differs(part: str) -> bool:
        mine, other = _both(tok, mode, part)
        return isinstance(mine, list) and isinstance(other, list) and mine != other

    small = shrink(text, differs)
    mine, other = _both(tok, mode, small)
    return Difference(_shown(small), _shown(mine), _shown(other))


def shrink(text: str, differs: Callable[[str], bool]) -> str:
    """Shortens a text as far as `differs` stays true for the result; calls `differs` at most `SHRINK_CALLS` times."""
    calls, size = 0, max(len(text) // 2, 1)
    while True:
        at = 0
        while at < len(text) and calls < SHRINK_CALLS:
            part = text[:at] + text[at + size :]
            calls += 1
            if differs(part):
                text = part
            else:
                at += size
        if size == 1 or calls >= SHRINK_CALLS:
            return text
        size = max(size // 2, 1)


def _shown(value: object) -> str:
    """Returns a value as text, escaped and shortened."""
    text = ascii(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 240 else f"{text[:160]} … {text[-60:]}"


# ── decoding ──────────────────────────────────────────────────────────────────────────────────────────────────────


def decoded(tok: jeton.Tokenizer, peer: Peer, lists: Iterable[list[int]], check: str = "decode") -> Iterator[Tally]:
    """Compares the texts that ids decode to; yields a tally for each way of decoding that the peer has."""
    tallies = {skip: Tally(check, peer.library, f"skip_special_tokens={skip}") for skip in peer.decode}
    for batch in batches(lists):
        for skip, decode in peer.decode.items():
            ours = tried(lambda batch=batch, skip=skip: tok.decode_batch(batch, skip_special_tokens=skip))  # type: ignore[misc]
            theirs = tried(lambda batch=batch, decode=decode: decode(batch))  # type: ignore[misc]
            if not isinstance(ours, Refusal) and ours == theirs:
                tallies[skip].compared += len(batch)
                continue
            for ids in batch:
                mine = tried(lambda ids=ids, skip=skip: tok.decode(ids, skip_special_tokens=skip))  # type: ignore[misc]
                other = tried(lambda ids=ids, decode=decode: decode([ids])[0])  # type: ignore[misc]
                tallies[skip].count(
                    mine,
                    other,
                    mine == other,
                    lambda ids=ids, skip=skip, decode=decode: _smallest_ids(tok, ids, skip, decode),  # type: ignore[misc]
                )
    yield from tallies.values()


def _smallest_ids(
    tok: jeton.Tokenizer, ids: list[int], skip: bool, decode: Callable[[list[list[int]]], list[str]]
) -> Difference:
    def sides(part: list[int]) -> tuple[object, object]:
        return tried(lambda: tok.decode(part, skip_special_tokens=skip)), tried(lambda: decode([part])[0])

    # `shrink` takes text, so the character with code i stands for the id at index i of the list. The id itself cannot
    # be the code, because ids go up to 2^24 - 1, and codes only up to 0x10FFFF.
    def differs(part: str) -> bool:
        mine, other = sides([ids[ord(place)] for place in part])
        return isinstance(mine, str) and isinstance(other, str) and mine != other

    if len(ids) < 0xD800:
        ids = [ids[ord(place)] for place in shrink("".join(map(chr, range(len(ids)))), differs)]
    mine, other = sides(ids)
    tokens = [tok.id_to_token(id) for id in ids[:12]]
    return Difference(_shown(f"{ids[:40]} {tokens}"), _shown(mine), _shown(other))


# ── offsets and spans ─────────────────────────────────────────────────────────────────────────────────────────────


def compare_details(tok: jeton.Tokenizer, peer: Peer, texts: Iterable[str], template: bool) -> Iterator[Tally]:
    """Compares offsets, type ids and special-token masks with those of Hugging Face; checks that spans tile the text.

    For other peers, only the tiling is checked.
    """
    offsets = Tally("offsets", peer.library, f"add_special_tokens={template}")
    spans = Tally("spans", "jeton", f"add_special_tokens={template}")
    mode = next((mode for mode in peer.modes if mode.template == template), peer.modes[0])

    def ours(text: str) -> jeton.Encoding | Refusal:
        return tried(lambda: tok.tokenize(text, special=mode.special, add_special_tokens=template))

    for batch in batches(texts, 2000, 500_000):
        theirs = _theirs(peer, batch, template)
        for text, other in zip(batch, theirs, strict=True):
            mine = ours(text)
            if isinstance(mine, Refusal):
                spans.count(mine, text, True, _nothing)
                continue
            fault = untiled(mine, text)
            spans.count(
                mine,
                text,
                fault is None,
                lambda text=text: _smallest_detail(  # type: ignore[misc]
                    text,
                    lambda part: (untiled(got, part) if not isinstance(got := ours(part), Refusal) else None, None),
                ),
            )
            if other is not None:
                offsets.count(
                    mine,
                    other,
                    _their_facts(other) == _our_facts(mine),
                    lambda text=text: _smallest_detail(  # type: ignore[misc]
                        text, lambda part: (_facts_of(ours(part)), _their_facts(_theirs(peer, [part], template)[0]))
                    ),
                )
    yield spans
    if peer.details:
        yield offsets


def _theirs(peer: Peer, texts: list[str], template: bool) -> list[Any]:
    """Returns the peer's encoding of each text, or a refusal; None if the peer has no `details`."""
    if peer.details is None:
        return [None] * len(texts)
    got = tried(lambda: peer.details(texts, None, template))  # type: ignore[misc]
    if not isinstance(got, Refusal):
        return got
    return [tried(lambda text=text: peer.details([text], None, template)[0]) for text in texts]  # type: ignore[misc]


def compare_pairs(tok: jeton.Tokenizer, peer: Peer, texts: Sequence[str]) -> Iterator[Tally]:
    """Compares Jeton and a peer on pairs of texts, encoded with the pair template: ids, offsets, type ids, mask."""
    if peer.details is None:
        return
    tally = Tally("pairs", peer.library, "add_special_tokens=True")
    left, right = list(texts[::2]), list(texts[1::2])
    size = min(len(left), len(right))
    for mine_text, pair_text, other in zip(
        left[:size], right[:size], peer.details(left[:size], right[:size], True), strict=True
    ):
        mine = tried(
            lambda a=mine_text, b=pair_text: tok.tokenize(a, b, special="all", add_special_tokens=True)  # type: ignore[misc]
        )
        facts = _facts_of(mine)
        tally.count(
            mine,
            other,
            facts == _their_facts(other),
            lambda a=mine_text, b=pair_text, facts=facts, other=other: Difference(  # type: ignore[misc]
                _shown(a + " + " + b), _shown(facts), _shown(_their_facts(other))
            ),
        )
    yield tally


def _fault(encoding: jeton.Encoding | Refusal, text: str) -> str | None:
    return None if isinstance(encoding, Refusal) else untiled(encoding, text)


def untiled(encoding: jeton.Encoding, text: str) -> str | None:
    """Returns what is wrong with the spans of an encoding, or None.

    The spans must ascend without overlap. Together with the spans of dropped text, they must tile the text.
    """
    at = 0
    size = len(text.encode())
    own = [
        span
        for span, sequence in zip(encoding.byte_spans, encoding.sequence_ids, strict=True)
        if sequence is not None and span[0] != span[1]
    ]
    if any(before[1] > after[0] for before, after in pairwise(own)):
        return f"spans overlap or go back: {encoding.byte_spans[:20]}"
    dropped = [span for span in encoding.dropped if span[0] != span[1]]
    for start, end in sorted([*own, *dropped]):
        if start != at:
            return f"byte {at} to {start} of {size}: spans {encoding.byte_spans[:20]} dropped {dropped[:20]}"
        at = end
    return None if at == size else f"byte {at} of {size}: spans {encoding.byte_spans[:20]} dropped {dropped[:20]}"


def _our_facts(encoding: jeton.Encoding) -> tuple[object, ...]:
    mask = [int(special) for special in encoding.special_tokens_mask]
    return encoding.ids, encoding.hf_offsets, encoding.type_ids, mask


def _their_facts(encoding: Any) -> tuple[object, ...] | Refusal:
    if isinstance(encoding, Refusal):
        return encoding
    return encoding.ids, encoding.offsets, encoding.type_ids, encoding.special_tokens_mask


def _facts_of(got: jeton.Encoding | Refusal) -> tuple[object, ...] | Refusal:
    return got if isinstance(got, Refusal) else _our_facts(got)


def _smallest_detail(text: str, sides: Callable[[str], tuple[object, object]]) -> Difference:
    def differs(part: str) -> bool:
        mine, other = sides(part)
        return not isinstance(mine, Refusal) and mine != other

    small = shrink(text, differs)
    mine, other = sides(small)
    return Difference(_shown(small), _shown(mine), _shown(other))


def _nothing() -> Difference:
    return Difference("", "", "")


# ── bytes ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def compare_bytes(tok: jeton.Tokenizer, strings: Iterable[bytes]) -> Tally:
    """Checks that decode_bytes(encode(x)) equals x, mostly for bytes that are invalid UTF-8.

    If the bytes are valid UTF-8, their ids must equal those of the string that they decode to.
    """
    tally = Tally("bytes", "jeton", "decode_bytes(encode(x)) == x")
    for data in strings:
        ids = tried(lambda data=data: tok.encode(data))  # type: ignore[misc]
        back = ids if isinstance(ids, Refusal) else tried(lambda ids=ids: tok.decode_bytes(ids))  # type: ignore[misc]
        equal = back == data
        if equal:
            with suppress(UnicodeDecodeError):
                equal = tok.encode(data.decode()) == ids
        tally.count(back, data, equal, lambda data=data, back=back: Difference(_shown(data), _shown(back), ""))  # type: ignore[misc]
    return tally
