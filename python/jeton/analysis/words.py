"""Words of a text, and runs of scripts that are written without spaces, in vectorized form.

A word is a segment of Unicode's default word boundaries (UAX #29, rules WB4 to WB13b) that holds a letter or a number.
Without a dictionary these rules find no words in Chinese, Japanese, Thai, …: they break after each character, or, where
the property is ALetter as in Tibetan, not at all within a clause. Therefore letters and numbers of such scripts form
*runs* instead of words, and a run is measured in characters, each with its combining marks. Tibetan's intersyllabic
mark belongs to the character before it. Punctuation and white space are in no run.

Properties of characters are those of the core's regexes, looked up once for each distinct character of the texts.

Cost: some ten passes of NumPy over the code points; memory: about 30 bytes per byte of a block (`BLOCK_BYTES`).

Source: Unicode Standard Annex #29, section 4.1.1 (rules) and section 4 (on scripts without spaces); the list of scripts
follows the classes SA, ID and AK of UAX #14.

Left out: rules for emoji and regional indicators, which are in no word; an underscore next to Katakana is no part of a
run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..definition import Pattern

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["WordRanges", "segments"]

# Bytes that are segmented at once. Blocks end before white space, or after `MAX_BLOCK_BYTES` at any character.
BLOCK_BYTES = 1 << 20
MAX_BLOCK_BYTES = 8 * BLOCK_BYTES

UNSPACED_SCRIPTS = (
    *("Han", "Hiragana", "Katakana", "Bopomofo", "Yi", "Tangut", "Nushu", "Khitan_Small_Script"),
    *("Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Tai_Le", "New_Tai_Lue", "Tai_Tham", "Tai_Viet", "Ahom"),
    *("Balinese", "Javanese"),
)
_UNSPACED = "".join(rf"\p{{sc={script}}}" for script in UNSPACED_SCRIPTS)

# Classes of characters. OTHER is in no word; LONE is a word by itself (`½`).
OTHER, LETTER, HEBREW, NUMERIC, EXTEND_NUM_LET, UNSPACED, LONE, EXTEND = range(8)
MID_LETTER, MID_NUM, MID_NUM_LET, SINGLE_QUOTE, DOUBLE_QUOTE, UNKNOWN = range(8, 14)
NUM_CLASSES = 14

# Class -> its characters; a later class takes precedence.
_CLASSES = {
    LONE: r"[\p{Alphabetic}\p{N}]",
    LETTER: r"[\p{wb=ALetter}]",
    HEBREW: r"[\p{wb=Hebrew_Letter}]",
    NUMERIC: r"[\p{wb=Numeric}]",
    EXTEND_NUM_LET: r"[\p{wb=ExtendNumLet}]",
    UNSPACED: rf"[[{_UNSPACED}&&[\p{{L}}\p{{N}}]]\p{{wb=Katakana}}]",
    EXTEND: r"[\p{wb=Extend}\p{wb=Format}\p{wb=ZWJ}\x{F0B}\x{F0C}]",
    MID_LETTER: r"[\p{wb=MidLetter}]",
    MID_NUM: r"[\p{wb=MidNum}]",
    MID_NUM_LET: r"[\p{wb=MidNumLet}]",
    SINGLE_QUOTE: r"[\p{wb=Single_Quote}]",
    DOUBLE_QUOTE: r"[\p{wb=Double_Quote}]",
}


class WordRanges(NamedTuple):
    """Words and runs of a block of text: half-open byte ranges, ascending.

    Attributes:
        words: int64[n, 2].
        runs: int64[m, 2].
        run_chars: number of characters of all runs, combining marks not counted.
    """

    words: NDArray[np.int64]
    runs: NDArray[np.int64]
    run_chars: int


def segments(data: bytes) -> Iterator[WordRanges]:
    """Yields the words and runs of a valid UTF-8 text, block by block. A newline separates texts.

    Examples:
        >>> found = next(segments("don't 今天, ok".encode()))
        >>> found.words.tolist(), found.runs.tolist(), found.run_chars
        ([[0, 5], [14, 16]], [[6, 12]], 2)
    """
    start = 0
    while start < len(data):
        end = _block_end(data, start)
        yield _segment(data[start:end], start)
        start = end


def _block_end(data: bytes, start: int) -> int:
    """End of a block: before white space, so that no word is split, else before any character."""
    end = start + BLOCK_BYTES
    if end >= len(data):
        return len(data)
    for space in (b"\n", b" "):
        found = data.find(space, end, start + MAX_BLOCK_BYTES)
        if found >= 0:
            return found
    end = start + MAX_BLOCK_BYTES
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return min(end, len(data))


def _segment(data: bytes, offset: int) -> WordRanges:
    if data.isascii():
        chars: NDArray[np.unsignedinteger] = np.frombuffer(data, np.uint8)
        starts = None  # character i starts at byte i
    else:
        chars = np.frombuffer(data.decode().encode("utf-32-le"), "<u4")
        starts = np.empty(len(chars) + 1, np.int64)
        starts[0] = 0
        lengths = 1 + (chars > 0x7F).view(np.uint8) + (chars > 0x7FF).view(np.uint8) + (chars > 0xFFFF).view(np.uint8)
        np.cumsum(lengths, out=starts[1:])
    classes = _classes_of(chars)
    base = np.flatnonzero(classes != EXTEND)  # WB4: a mark belongs to the character before it
    classes = classes[base]
    firsts = np.flatnonzero(np.concatenate(([True], ~_joined(classes))))  # segments, as indices into `base`
    if not len(classes):
        return WordRanges(np.empty((0, 2), np.int64), np.empty((0, 2), np.int64), 0)
    lasts = np.append(firsts[1:], len(base))
    is_run = classes[firsts] == UNSPACED
    is_word = np.logical_or.reduceat(_IS_WORD[classes], firsts)
    bounds = np.append(base, len(chars))
    ranges = np.stack([bounds[firsts], bounds[lasts]], axis=1)
    if starts is not None:
        ranges = starts[ranges]
    ranges += offset
    return WordRanges(ranges[is_word], ranges[is_run], int((lasts - firsts)[is_run].sum()))


def _joined(classes: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """bool[n - 1]: True where no boundary separates a character from the next."""
    joined: NDArray[np.bool_] = _JOINS[classes[:-1].astype(np.intp) * NUM_CLASSES + classes[1:]]
    # WB6, WB7, WB7b, WB7c, WB11, WB12: one mark between two letters or two numbers separates neither
    at = np.flatnonzero(_IS_MID[classes[1:-1]]) + 1
    before, mid, after = classes[at - 1], classes[at], classes[at + 1]
    inside = at[_JOINS_OVER[(before.astype(np.intp) * NUM_CLASSES + mid) * NUM_CLASSES + after]]
    joined[inside - 1] = joined[inside] = True
    return joined


def _classes_of(chars: NDArray[np.unsignedinteger]) -> NDArray[np.uint8]:
    """Class of each character."""
    found: NDArray[np.uint8] = _table[chars]
    if (found == UNKNOWN).any():
        _look_up(np.unique(chars[found == UNKNOWN]))
        found = _table[chars]
    return found


def _look_up(chars: NDArray[np.unsignedinteger]) -> None:
    """Adds the classes of distinct characters to the table."""
    # U+0000, in no class, and each character between two of them: the match, if it is one, is a pretoken of its own
    text = "\0" + "\0".join(map(chr, chars.tolist())) + "\0"
    found = np.full(len(chars), OTHER, np.uint8)
    sizes = np.array([len(character.encode()) for character in text[1::2]])
    starts = np.cumsum(np.append(1, sizes + 1))[:-1]
    for kind, regex in _CLASSES.items():
        spans = np.array(Pattern(regex, True).split(text), np.int64).reshape(-1, 2)
        is_start = np.isin(starts, spans[:, 0])
        found[is_start] = kind
    _table[chars] = found


def _tables() -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """`_JOINS`, `_JOINS_OVER`, `_IS_MID` and `_IS_WORD`."""
    joins = np.zeros((NUM_CLASSES, NUM_CLASSES), np.bool_)
    over = np.zeros((NUM_CLASSES, NUM_CLASSES, NUM_CLASSES), np.bool_)
    letters, mid_letters = [LETTER, HEBREW], [MID_LETTER, MID_NUM_LET, SINGLE_QUOTE]
    for a in (*letters, NUMERIC, EXTEND_NUM_LET):  # WB5, WB8, WB9, WB10, WB13a, WB13b
        joins[a, [*letters, NUMERIC, EXTEND_NUM_LET]] = True
    joins[UNSPACED, UNSPACED] = True
    joins[HEBREW, SINGLE_QUOTE] = True  # WB7a
    for a in letters:
        for mid in mid_letters:
            over[a, mid, letters] = True
    over[HEBREW, DOUBLE_QUOTE, HEBREW] = True
    over[NUMERIC, [MID_NUM, MID_NUM_LET, SINGLE_QUOTE], NUMERIC] = True
    is_mid, is_word = np.zeros(NUM_CLASSES, np.bool_), np.zeros(NUM_CLASSES, np.bool_)
    is_mid[[*mid_letters, MID_NUM, DOUBLE_QUOTE]] = True
    is_word[[*letters, NUMERIC, LONE]] = True
    return joins.ravel(), over.ravel(), is_mid, is_word


_JOINS, _JOINS_OVER, _IS_MID, _IS_WORD = _tables()
_table = np.full(0x110000, UNKNOWN, np.uint8)  # code point -> class; grows as texts are segmented
