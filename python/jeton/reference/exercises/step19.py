"""Exercises of step 19: characters in UTF-8, and the ids of fairseq.

**1.** Write `one_char_len(first)`: the number of bytes, 1 to 4, of a character whose first byte is `first`. For a byte
that continues a character, return 1, as SentencePiece does, so that reading a damaged text continues at the next byte.

>>> [one_char_len(byte) for byte in (0x61, 0xC3, 0xE5, 0xF0, 0x80)]
[1, 2, 3, 4, 1]

**2.** XLM-R has a SentencePiece model, whose first pieces are `<unk>`, `<s>`, `</s>`, but XLM-R assigns its own ids:
`<s>` 0, `<pad>` 1, `</s>` 2, `<unk>` 3; every other piece has its id in the model plus 1; `<mask>` has the id after the
last piece. Write `fairseq_id(piece, pieces)`, where `pieces` is the list of the model's pieces; an unknown piece has
the id of `<unk>`.

>>> pieces = ["<unk>", "<s>", "</s>", ",", ".", "▁", "s"]
>>> [fairseq_id(piece, pieces) for piece in ("<s>", "<unk>", ",", "s", "<mask>", "?")]
[0, 3, 4, 7, 8, 3]
"""

from __future__ import annotations

from collections.abc import Iterator

from . import Case, Task

PIECES = ["<unk>", "<s>", "</s>", ",", ".", "▁", "s", "▁de", "-", "▁a"]
EXPECTED = {
    "<s>": 0,
    "<pad>": 1,
    "</s>": 2,
    "<unk>": 3,
    ",": 4,
    ".": 5,
    "▁": 6,
    "s": 7,
    "▁de": 8,
    "-": 9,
    "▁a": 10,
    "<mask>": 11,
    "?": 3,
    "": 3,
}
FIRST = (
    "look at the four named specials first: in the model, <unk> is 0, and 0 + 1 would be <pad>",
    "先查四个特殊词元：模型中 <unk> 是 0，而 0 + 1 会变成 <pad>",
)
MASK = (
    "<mask> is not in the model; its id is the number of pieces plus 1",
    "<mask> 不在模型里；它的 ID 是子词的个数加 1",
)


def cases() -> Iterator[Case]:
    """Yield each special token, each piece, and unknown pieces."""
    for piece, id in EXPECTED.items():
        yield Case((piece, PIECES), id, MASK if piece == "<mask>" else FIRST)
    yield Case(("<mask>", PIECES[:5]), 6, MASK)


def lengths() -> Iterator[Case]:
    """Yield all 256 bytes, each with the length of the character that it begins; 1 for continuation bytes."""
    starts = {0: 1, 0x80: 1, 0xC0: 2, 0xE0: 3, 0xF0: 4}  # first byte of a range -> length
    for byte in range(256):
        yield Case((byte,), starts[max(start for start in starts if start <= byte)])


TASKS = (
    Task(
        "one_char_len",
        lengths,
        (
            "the high bits: 0xxxxxxx 1, 110xxxxx 2, 1110xxxx 3, 1111xxxx 4, and 10xxxxxx continues: 1",
            "看高位：0xxxxxxx 为 1，110xxxxx 为 2，1110xxxx 为 3，1111xxxx 为 4；10xxxxxx 是后续字节，为 1",
        ),
    ),
    Task("fairseq_id", cases, FIRST),
)
