"""Packing: documents → rows of one length, as pieces of documents and padding.

``"concatenate"`` joins the ids of all documents and cuts them at multiples of the row length. ``"best_fit"`` cuts only
documents that are longer than a row; the pieces are placed by best-fit decreasing. Both methods pack each shard
separately.

The result is a table of pieces in the order of the file; this module does not read ids. In ``"best_fit"``, rows are
sorted by document number: a row has the number of the document that was placed first in the row. The pieces inside a
row are sorted by document number, too. So if the documents were shuffled, the rows are also in shuffled order.

Source: Ding et al., Fewer Truncations Improve Language Modeling (arXiv 2404.10830).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core import best_fit
from ..errors import ConfigError, keyword
from ..util.arguments import choice, integer
from .layouts import Int64

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

__all__ = ["PADDING", "Packed", "check_packing", "pack", "packing_of"]

METHODS = ("concatenate", "best_fit")
RESTS = ("pad", "drop")
MAX_LENGTH = 1 << 24
PADDING = -1  # "document" of padding


class Packed(NamedTuple):
    """Pieces in the order of the file. The lengths of the pieces in each row add up to the row length.

    Attributes:
        documents: index of the document of each piece, or `PADDING`.
        firsts: for each piece, the position of the piece's first id in the document.
        lengths: number of ids of each piece.
        row_ends: number of pieces before the end of each row.
        cut: number of documents with more than one piece.
        padding: number of padding ids.
        dropped: number of ids after the last whole row, which are not written.
    """

    documents: Int64
    firsts: Int64
    lengths: Int64
    row_ends: Int64
    cut: int
    padding: int
    dropped: int


def packing_of(
    tok: Tokenizer, pack: int | None, method: str, rest: str, pad: str | None, eos: int | None
) -> dict[str, Any] | None:
    """Returns the options of packing for a plan; None without packing.

    Raises:
        ConfigError: an invalid option, or the tokenizer has no token for padding.
    """
    choice(method, "packing", METHODS)
    choice(rest, "rest", RESTS)
    if pack is None:
        for option, value, default in (("packing", method, METHODS[0]), ("rest", rest, RESTS[0]), ("pad", pad, None)):
            if value != default:
                raise ConfigError(
                    f"{keyword(option, value)} is for packing: pass {keyword('pack')}, the length of a row"
                )
        return None
    integer(pack, "pack", 2, MAX_LENGTH)
    if rest == "drop":
        if method == "best_fit":
            message = (
                f"{keyword('rest', 'drop')} is for {keyword('packing', 'concatenate')}: rows of best_fit end with "
                "padding anywhere"
            )
            raise ConfigError(message)
        if pad is not None:
            raise ConfigError(f"{keyword('pad')} has no effect with {keyword('rest', 'drop')}, which needs no padding")
        return {"length": pack, "method": method, "rest": rest, "pad": None}
    return {"length": pack, "method": method, "rest": rest, "pad": _pad_id(tok, pad, eos)}


def check_packing(options: Mapping[str, Any]) -> None:
    """Checks options that were read from a plan.

    Raises:
        ValueError: an option is missing, unknown or invalid, so the options do not come from `packing_of`.
    """
    if set(options) != {"length", "method", "rest", "pad"}:
        raise ValueError("unknown options of packing")
    integer(options["length"], "pack", 2, MAX_LENGTH)
    choice(options["method"], "packing", METHODS)
    choice(options["rest"], "rest", RESTS)
    if options["rest"] == "pad":
        integer(options["pad"], "pad", 0)


def _pad_id(tok: Tokenizer, pad: str | None, eos: int | None) -> int:
    """Returns the padding id: the id of `pad` if given, else the tokenizer's pad id, else `eos`, else its eos id."""
    if pad is not None:
        if pad not in tok.special_tokens:
            some = ", ".join(map(repr, list(tok.special_tokens)[:8])) or "none"
            raise ConfigError(f"{keyword('pad', pad)} is not a special token of the tokenizer (it has {some})")
        return tok.special_tokens[pad]
    for id in (tok.pad_id, eos, tok.eos_id):
        if id is not None:
            return id
    message = (
        "rows are padded, but the tokenizer has neither the role pad nor eos: name a special token with "
        f"{keyword('pad')}"
    )
    raise ConfigError(
        f"{message}, or pass {keyword('packing', 'concatenate')} with {keyword('rest', 'drop')}", option="pad"
    )


def pack(lengths: Int64, options: Mapping[str, Any]) -> Packed:
    """Packs documents, given by their lengths. Documents must not be empty.

    Examples:
        >>> made = pack(np.array([3, 4]), {"length": 5, "method": "concatenate", "rest": "pad"})
        >>> made.documents.tolist(), made.firsts.tolist(), made.lengths.tolist()
        ([0, 1, 1, -1], [0, 0, 2, 0], [3, 2, 2, 3])
        >>> made = pack(np.array([3, 4, 2]), {"length": 5, "method": "best_fit", "rest": "pad"})
        >>> made.documents.tolist(), made.lengths.tolist(), made.row_ends.tolist()
        ([0, 2, 1, -1], [3, 2, 4, 1], [2, 4])
    """
    place = _concatenate if options["method"] == "concatenate" else _best_fit
    return place(lengths, int(options["length"]), options["rest"] == "drop")


def _concatenate(lengths: Int64, row: int, drop: bool) -> Packed:
    document_ends = np.cumsum(lengths)
    total = int(document_ends[-1]) if len(lengths) else 0
    ends = np.union1d(document_ends, np.arange(row, total, row))
    starts = np.concatenate([np.zeros(min(1, len(ends)), np.int64), ends[:-1]])
    documents = np.searchsorted(document_ends, starts, "right")
    cut = int(np.count_nonzero(np.bincount(documents, minlength=1) > 1))
    firsts, pieces = starts - (document_ends - lengths)[documents], ends - starts
    rest = total % row
    if rest and drop:
        kept = starts < total - rest
        documents, firsts, pieces = documents[kept], firsts[kept], pieces[kept]
    elif rest:
        documents, firsts, pieces = np.append(documents, PADDING), np.append(firsts, 0), np.append(pieces, row - rest)
    return Packed(
        documents, firsts, pieces, _row_ends(pieces, row), cut, 0 if drop else -total % row, rest if drop else 0
    )


def _best_fit(lengths: Int64, row: int, drop: bool) -> Packed:
    num_pieces = -(-lengths // row)
    documents = np.repeat(np.arange(len(lengths)), num_pieces)
    firsts = row * (np.arange(len(documents)) - np.repeat(np.cumsum(num_pieces) - num_pieces, num_pieces))
    pieces = np.minimum(lengths[documents] - firsts, row)
    rows = np.frombuffer(best_fit(pieces.astype("<u4").view(np.uint8), row), "<u4").astype(np.int64)
    # `order` lists the pieces in the order in which `best_fit` places them; `opening` has, for each row, the index in
    # `order` of the row's first piece.
    order = np.argsort(-pieces, kind="stable")
    _, opening = np.unique(rows[order], return_index=True)
    ranks = np.empty(len(opening), np.int64)
    ranks[np.argsort(order[opening])] = np.arange(len(opening))
    free = row - np.bincount(rows, pieces, len(opening)).astype(np.int64)
    padded = np.flatnonzero(free)
    order = np.lexsort(
        (np.append(np.arange(len(rows)), np.full(len(padded), len(rows))), ranks[np.append(rows, padded)])
    )
    pieces = np.append(pieces, free[padded])[order]
    return Packed(
        np.append(documents, np.full(len(padded), PADDING))[order],
        np.append(firsts, np.zeros(len(padded), np.int64))[order],
        pieces,
        _row_ends(pieces, row),
        int(np.count_nonzero(num_pieces > 1)),
        int(free.sum()),
        0,
    )


def _row_ends(pieces: NDArray[np.int64], row: int) -> Int64:
    """Returns the number of pieces before the end of each row."""
    return np.flatnonzero(np.cumsum(pieces) % row == 0) + 1
