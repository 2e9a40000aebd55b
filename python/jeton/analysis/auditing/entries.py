"""Rules for the entries of a vocabulary. The core classifies the entries; this module writes the findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _core
from ...drawing import visible
from ...tokenizer import Tokenizer
from ...tokens.kinds import ADDED, GIANT_BYTES, SPECIAL
from ...util.messages import translate
from ...vocabulary.trees import column
from .finding import Example, Finding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["FATES", "Entries", "rules"]

# Names of the variants of the core's `audit::Fate`, by number.
FATES = (
    "hole",
    "reached",
    "undecided",
    "special",
    "spelling",
    "unused piece",
    "empty",
    "not UTF-8",
    "normalizer",
    "removed",
    "split",
    "merges",
    "scores",
    "form",
    "character",
    "added token",
    "extended",
)
HOLE, REACHED, UNDECIDED, IS_SPECIAL, SPELLING = range(5)
WHY = {
    "spelling": "its spelling has a character outside the byte alphabet",
    "unused piece": "the file marks it as unused",
    "empty": "it has no bytes",
    "not UTF-8": "its bytes occur in no UTF-8 text",
    "normalizer": "the normalizer replaces or removes one of its characters",
    "removed": "the pre-tokenizer removes one of its characters",
    "split": "the pre-tokenizer always splits between two of its characters",
    "merges": "merging its bytes gives other tokens, in any context",
    "scores": "other pieces that spell it have a higher sum of scores",
    "form": "the model matches single characters or single words only",
    "character": "its character never falls back to bytes",
    "added token": "it contains an added token, which is matched first",
    "extended": "it ends inside a character, and each continuation merges with it or is in another pretoken",
}
# Bits of the core's `audit::Shape`.
PART, DIGITS, WHITE, LEADING_SPACE, NEWLINE, TAB = (1 << bit for bit in range(6))
PRIVATE = {
    1 << 6: "e-mail address",
    1 << 7: "URL or host",
    1 << 8: "number with separators, as of a telephone",
    1 << 9: "hexadecimal string",
    1 << 10: "base64 string",
    1 << 11: "host in a private domain",
    1 << 12: "home folder",
    1 << 13: "IP address",
}


# Entries of up to this many characters are shown in full. All ordinary entries are shorter than this limit.
MAX_SHOWN = GIANT_BYTES
SHOWN = 64  # number of characters that a report shows of a longer entry or text


class Entries:
    """The core's classification of the entries of a tokenizer.

    Attributes:
        tok: the tokenizer.
        reach: the core's search for texts that produce the entries.
        kinds: int64[n]: kind of each id (`vocab_view`).
        fates: int64[n]: index into `FATES`.
        is_alone: bool[n]: True if the text of the entry, encoded without other text, results in exactly this id.
        shapes: int64[n]: bits of the core's `audit::Shape`.
        num_chars: int64[n]: characters of the decoded entry.
    """

    def __init__(self, tok: Tokenizer, budget: int) -> None:
        self.tok = tok
        self.reach = _core.Reachability(tok._core, budget)
        self.fates = column(self.reach.fates())
        self.is_alone = column(self.reach.alone()) != 0
        self.kinds, self.shapes, self.num_chars = map(column, tok._core.entry_shapes())

    @property
    def is_unreached(self) -> NDArray[np.bool_]:
        """bool[n]: True for an entry if it is proved that no text produces it."""
        unreached: NDArray[np.bool_] = self.fates >= SPELLING
        return unreached

    def spelled(self, id: int) -> str:
        """Returns the entry's text for a report; a long text is cut off."""
        if self.kinds[id] in (ADDED, SPECIAL):
            return _beginning(visible(self.tok.id_to_token(id).encode()))
        return _beginning(visible(self.tok.id_to_bytes(id) or self.tok.id_to_token(id).encode()))

    def examples(self, ids: Iterable[int], why: Any, most: int) -> tuple[Example, ...]:
        """Returns examples for at most `most` of the ids; `why` maps an id to the reason."""
        return tuple(Example(self.spelled(int(id)), why(int(id)), int(id)) for id in list(ids)[:most])


def rules(found: Entries, most: int) -> dict[str, Finding | None]:
    """Returns a dict from the name of each rule to its finding, or to None if the rule found no fault."""
    return {
        "unreachable": _unreachable(found, most),
        "undecided": _undecided(found, most),
        "special-from-text": _special(found, most),
        "not-canonical": _not_canonical(found, most),
        "partial-characters": _parts(found, most),
        "duplicates": _duplicates(found, most),
        "unused-merges": _unused_merges(found, most),
        "holes": _holes(found),
        "private-data": _private(found, most),
        "giant-tokens": _giants(found, most),
    }


def _beginning(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[:SHOWN] + "…"


def _unreachable(found: Entries, most: int) -> Finding | None:
    ids = np.flatnonzero(found.is_unreached)
    if not ids.size:
        return None
    # In a vocabulary with all 256 bytes, it is normal that some of the bytes are unreachable: those that UTF-8 never
    # uses, and those that occur only in characters which are entries themselves.
    is_byte = np.isin(found.fates, [FATES.index("not UTF-8"), FATES.index("character")])
    fates, counts = np.unique(found.fates[ids], return_counts=True)
    by_reason = {FATES[fate]: int(count) for fate, count in zip(fates.tolist(), counts.tolist(), strict=True)}
    order = ids[np.argsort(is_byte[ids], kind="stable")]
    reasons = translate(", ").join(f"{translate(name)} {count:,}" for name, count in by_reason.items())
    return Finding(
        "unreachable",
        "note" if is_byte[ids].all() else "warning",
        translate(
            "{count} entries are unreachable: no text encodes to them ({reasons}).",
            count=f"{ids.size:,}",
            reasons=reasons,
        ),
        translate(
            "They never occurred in training, so their embeddings are untrained: mask them in the model's "
            "output, or remove them with jeton prune."
        ),
        int(ids.size),
        found.examples(order, lambda id: translate(WHY[FATES[int(found.fates[id])]]), most),
        {"by_reason": by_reason, "ids": ids.tolist()},
    )


def _undecided(found: Entries, most: int) -> Finding | None:
    ids = np.flatnonzero(found.fates == UNDECIDED)
    if not ids.size:
        return None
    return Finding(
        "undecided",
        "note",
        translate(
            "For {count} entries, the search found neither a text that encodes to them nor a proof that there is none.",
            count=f"{ids.size:,}",
        ),
        translate("Raise the search budget (max_texts), or inspect them with jeton explain."),
        int(ids.size),
        found.examples(ids, lambda _: translate("no text and no proof"), most),
        {"ids": ids.tolist()},
    )


def _special(found: Entries, most: int) -> Finding | None:
    is_special = (found.kinds == SPECIAL) & (found.fates == REACHED)
    unk = found.tok.definition.model.unk_token
    ids = [id for id in np.flatnonzero(is_special).tolist() if found.tok.id_to_token(id) != unk]
    if not ids:
        return None
    return Finding(
        "special-from-text",
        "error",
        translate("{count} special tokens are produced by plain text, without permission.", count=f"{len(ids):,}"),
        translate("Remove them from the model's entries: any text that spells them yields them."),
        len(ids),
        found.examples(ids, lambda id: _in_ids(found, id), most),
        {"ids": ids},
    )


def _not_canonical(found: Entries, most: int) -> Finding | None:
    is_whole = (found.fates == REACHED) & ((found.shapes & PART) == 0) & (found.kinds != SPECIAL)
    ids = np.flatnonzero(is_whole & ~found.is_alone)
    if not ids.size:
        return None
    return Finding(
        "not-canonical",
        "note",
        translate(
            "{count} entries occur in the ids of some text, but their own text, encoded alone, has other ids.",
            count=f"{ids.size:,}",
        ),
        translate("Do not use encode(decode([id])) == [id] as a test of reachability."),
        int(ids.size),
        found.examples(ids, lambda id: _in_ids(found, id), most),
        {"ids": ids.tolist()},
    )


def _in_ids(found: Entries, id: int) -> str:
    text = found.reach.text(id)
    if text is None:
        return translate("in the ids of a text")
    return translate("in the ids of {text}", text=_beginning(repr(text.decode("utf-8", "replace"))))


def _parts(found: Entries, most: int) -> Finding | None:
    is_part = (found.shapes & PART) != 0
    ids = np.flatnonzero(is_part)
    if not ids.size:
        return None
    longer = ids[found.num_chars[ids] > 1]
    order = np.concatenate([longer, ids[found.num_chars[ids] <= 1]])
    return Finding(
        "partial-characters",
        "note",
        translate(
            "{count} entries contain part of a character; {longer} of them have more than one byte.",
            count=f"{ids.size:,}",
            longer=f"{longer.size:,}",
        ),
        translate("Decode whole sequences of ids, or with Tokenizer.stream: one such id alone decodes to U+FFFD."),
        int(ids.size),
        found.examples(
            order, lambda id: translate("bytes {hex}", hex=_beginning(found.tok.id_to_bytes(id).hex(" "))), most
        ),
        {"ids": ids.tolist()},
    )


def _duplicates(found: Entries, most: int) -> Finding | None:
    groups = found.tok._core.duplicate_entries()
    if not groups:
        return None
    examples = []
    for ids, is_equal in groups[:most]:
        others = ", ".join(f"{id} {found.spelled(id)}" for id in ids[1:])
        message = "same bytes as {entries}" if is_equal else "same text after normalization as {entries}"
        why = translate(message, entries=others)
        examples.append(Example(found.spelled(ids[0]), why, ids[0]))
    return Finding(
        "duplicates",
        "warning",
        translate(
            "{count} groups of entries share one text, decoded or normalized.",
            count=f"{len(groups):,}",
        ),
        translate("Ordinary text uses at most one entry of a group; the others do not benefit from its training."),
        len(groups),
        tuple(examples),
        {"groups": [ids for ids, _ in groups]},
    )


def _unused_merges(found: Entries, most: int) -> Finding | None:
    ranks = column(found.reach.unused_merges(found.tok._core))
    if not ranks.size or not found.tok.merges:
        return None
    merges = found.tok.merges
    examples = []
    for rank in ranks[:most].tolist():
        left, right, made = merges[rank]
        examples.append(
            Example(f"{found.spelled(left)} + {found.spelled(right)}", translate("merge {rank}", rank=rank), made)
        )
    return Finding(
        "unused-merges",
        "note",
        translate("{count} of {all} merges are never used.", count=f"{ranks.size:,}", all=f"{len(merges):,}"),
        translate("They do not affect any ids; a conversion to another format may omit them."),
        int(ranks.size),
        tuple(examples),
        {"ranks": ranks.tolist()},
    )


def _holes(found: Entries) -> Finding | None:
    ids = np.flatnonzero(found.fates == HOLE)
    if not ids.size:
        return None
    breaks = np.flatnonzero(np.diff(ids) > 1) + 1
    runs = [(int(run[0]), int(run[-1])) for run in np.split(ids, breaks)]
    shown = ", ".join(f"{first}" if first == last else f"{first}–{last}" for first, last in runs[:10])
    return Finding(
        "holes",
        "note",
        translate(
            "{count} ids below the highest have no entry: {ids}.",
            count=f"{ids.size:,}",
            ids=shown + (" …" if len(runs) > 10 else ""),
        ),
        translate("If a model samples one of them, the id cannot be decoded: mask these rows of its output."),
        int(ids.size),
        facts={"runs": runs},
    )


def _private(found: Entries, most: int) -> Finding | None:
    bits = found.shapes & sum(PRIVATE)
    ids = np.flatnonzero(bits)
    if not ids.size:
        return None

    def why(id: int) -> str:
        forms = [translate(name) for bit, name in PRIVATE.items() if bits[id] & bit]
        return translate("looks like: {forms}", forms=translate(" and ").join(forms))

    by_form = {name: int(np.count_nonzero(bits & bit)) for bit, name in PRIVATE.items() if (bits & bit).any()}
    return Finding(
        "private-data",
        "warning",
        translate("{count} entries look like private or identifying data.", count=f"{ids.size:,}"),
        translate(
            "The form alone proves nothing: an address may be public. Frequent strings of the training corpus "
            "become entries; review each one before you publish the vocabulary."
        ),
        int(ids.size),
        found.examples(ids, why, most),
        {"by_form": by_form, "ids": ids.tolist()},
    )


def _giants(found: Entries, most: int) -> Finding | None:
    is_learned = ~np.isin(found.kinds, (ADDED, SPECIAL))
    can_be = np.flatnonzero(is_learned & (found.num_chars > GIANT_BYTES // 4))  # a character has at most four bytes
    sizes = {id: len(found.tok.id_to_bytes(id)) for id in can_be.tolist() if found.fates[id] != HOLE}
    ids = sorted((id for id, size in sizes.items() if size > GIANT_BYTES), key=lambda id: -sizes[id])
    if not ids:
        return None
    return Finding(
        "giant-tokens",
        "warning",
        translate(
            "{count} entries have more than {limit} bytes; the longest has {longest}.",
            count=f"{len(ids):,}",
            limit=GIANT_BYTES,
            longest=f"{sizes[ids[0]]:,}",
        ),
        translate(
            "They come from long runs of a character or a string in the training corpus, and other texts "
            "rarely contain them: train with jeton train --max-token-length N, or Rules(max_token_length=N)."
        ),
        len(ids),
        found.examples(ids, lambda id: translate("{number} bytes", number=f"{sizes[id]:,}"), most),
        {"limit": GIANT_BYTES, "longest": sizes[ids[0]], "ids": sorted(ids)},
    )
