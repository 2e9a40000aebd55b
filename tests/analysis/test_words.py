"""Words follow the rules of UAX 29, written out here one by one; scripts without spaces form runs."""

from __future__ import annotations

from itertools import pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from jeton import _core
from jeton.errors import InvalidTextError

from ..material import CORPUS, TRICKY

UNSPACED_SCRIPTS = (
    *("Han", "Hiragana", "Katakana", "Bopomofo", "Yi", "Tangut", "Nushu", "Khitan_Small_Script"),
    *("Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Tai_Le", "New_Tai_Lue", "Tai_Tham", "Tai_Viet", "Ahom"),
    *("Balinese", "Javanese"),
)

WORD_BREAK = (
    *("CR", "LF", "Newline", "Extend", "ZWJ", "Format", "Katakana", "Hebrew_Letter", "ALetter", "Single_Quote"),
    *("Double_Quote", "MidNumLet", "MidLetter", "MidNum", "Numeric", "ExtendNumLet"),
)
CLASSES = {name: regex.compile(rf"\p{{WB={name}}}") for name in WORD_BREAK}
ALPHANUMERIC = regex.compile(r"(?V1)[[\p{Alphabetic}\p{N}]--[\p{WB=Extend}\p{WB=Format}]]")
UNSPACED = regex.compile(
    "(?V1)[[" + "".join(rf"\p{{sc={script}}}" for script in UNSPACED_SCRIPTS) + r"]&&[\p{L}\p{N}]]"
)
EMOJI = regex.compile(r"\p{Extended_Pictographic}")
LINE_ENDS, MARKS = {"CR", "LF", "Newline"}, {"Extend", "Format", "ZWJ"}
LETTERS, QUOTES = {"ALetter", "Hebrew_Letter"}, {"MidNumLet", "Single_Quote"}
# every class of the rules, marks, joiners, and characters of four lengths in UTF-8
SPACED = "aé한ד'\"’.,:;_·1٣½\u0301\u00ad\u200d\u200b \n-ªऩ्ि😉👩𐐀\ufeff\U0001f1e6"
# A joiner keeps the emoji after it (WB3c). unicode-segmentation 1.13 deviates after ideographs and after the
# punctuation of WB6; sequences of emoji are in TRICKY.
JOINED = regex.compile(r"\u200d\p{Extended_Pictographic}")
LONE_UNSPACED = "今天のสวัสดีโລກ"  # each is a segment by the default rules


def is_boundary(text: str, kinds: list[str], at: int) -> bool:
    """True if a word boundary is between two characters, by the default rules in order, without those for flags."""
    if {kinds[at - 1], kinds[at]} & LINE_ENDS:  # WB3a, WB3b
        return True
    if kinds[at - 1] == "ZWJ" and EMOJI.match(text[at]):  # WB3c
        return False
    if kinds[at] in MARKS:  # WB4
        return False
    before = [kind for index, kind in enumerate(kinds[:at]) if not (kind in MARKS and is_attached(kinds, index))]
    after = [kind for kind in kinds[at:] if kind not in MARKS]
    x, a, b, y = [*([""] * 2), *before][-2], before[-1], after[0], [*after, ""][1]
    words = LETTERS | {"Numeric", "Katakana", "ExtendNumLet"}
    joins = (
        (a in LETTERS and b in LETTERS)  # WB5
        or (a in LETTERS and b in QUOTES | {"MidLetter"} and y in LETTERS)  # WB6
        or (x in LETTERS and a in QUOTES | {"MidLetter"} and b in LETTERS)  # WB7
        or (a == "Hebrew_Letter" and b == "Single_Quote")  # WB7a
        or (a == y == "Hebrew_Letter" and b == "Double_Quote")  # WB7b
        or (x == b == "Hebrew_Letter" and a == "Double_Quote")  # WB7c
        or (a in LETTERS | {"Numeric"} and b in LETTERS | {"Numeric"})  # WB8, WB9, WB10
        or (x == b == "Numeric" and a in QUOTES | {"MidNum"})  # WB11
        or (a == y == "Numeric" and b in QUOTES | {"MidNum"})  # WB12
        or (a == b == "Katakana")  # WB13
        or (a in words and b == "ExtendNumLet")  # WB13a
        or (a == "ExtendNumLet" and b in words)  # WB13b
    )
    return not joins


def is_attached(kinds: list[str], index: int) -> bool:
    """True for a mark that belongs to a character before it."""
    while index > 0 and kinds[index] in MARKS:
        index -= 1
    return kinds[index] not in MARKS | LINE_ENDS


def expected(text: str) -> tuple[list[str], list[str], int]:
    """Words, runs and the number of their characters, by the rules above and the properties of the package `regex`."""
    kinds = [next((name for name, kind in CLASSES.items() if kind.match(each)), "Other") for each in text]
    cuts = [0, *(at for at in range(1, len(text)) if is_boundary(text, kinds, at)), len(text)]
    found: list[str] = []
    runs: list[str] = []
    chars, end_of_run = 0, -1
    for start, end in pairwise(cuts):
        segment = text[start:end]
        if UNSPACED.match(segment):
            if start == end_of_run:
                runs[-1] += segment
            else:
                runs.append(segment)
            chars, end_of_run = chars + 1, end
        elif ALPHANUMERIC.search(segment):
            found.append(segment)
    return found, runs, chars


def ours(text: str) -> tuple[list[str], list[str], int]:
    data = text.encode()
    found = _core.Words([b"before", data])
    words, runs = found.ranges(1)
    assert found.num_words == 1 + len(words)
    assert _core.Words([text]).ranges(0) == (words, runs)
    return (
        [data[start:end].decode() for start, end in words],
        [data[start:end].decode() for start, end in runs],
        found.num_run_chars,
    )


@pytest.mark.parametrize("text", [*TRICKY, CORPUS])
def test_words_of_tricky_texts_equal_uax_29(text: str) -> None:
    assert ours(text) == expected(text)


@given(st.text(SPACED, max_size=30).filter(lambda text: not JOINED.search(text)))
def test_words_of_random_texts_equal_uax_29(text: str) -> None:
    assert ours(text) == expected(text)


@given(st.text(SPACED + LONE_UNSPACED, max_size=30).filter(lambda text: not JOINED.search(text)))
def test_words_beside_scripts_without_spaces_equal_uax_29(text: str) -> None:
    assert ours(text) == expected(text)


@pytest.mark.parametrize(
    ("text", "runs", "chars"),
    [
        ("今天天气很好。", ["今天天气很好"], 6),
        ("データベースを、使う", ["データベースを", "使う"], 9),
        ("ｶﾀｶﾅ", ["ｶﾀｶﾅ"], 4),
        ("สวัสดีชาวโลก", ["สวัสดีชาวโลก"], 10),  # two vowels are marks
        ("བོད་སྐད་ཡིག །", ["བོད་སྐད་ཡིག"], 6),  # tsheg and subjoined letters belong to the preceding letter
        ("မြန်မာ", ["မြန်မာ"], 3),
        ("ភាសាខ្មែរ", ["ភាសាខ្មែរ"], 5),
        ("ꦧꦱꦗꦮ", ["ꦧꦱꦗꦮ"], 4),  # letters that form one word by the default rules
        ("ꆈꌠꉙ", ["ꆈꌠꉙ"], 3),
    ],
)
def test_scripts_without_spaces_have_characters(text: str, runs: list[str], chars: int) -> None:
    assert ours(text) == ([], runs, chars)


def test_korean_has_words() -> None:
    assert ours("안녕하세요 세계") == (["안녕하세요", "세계"], [], 0)


def test_a_text_that_is_not_utf8_is_an_error() -> None:
    with pytest.raises(InvalidTextError) as caught:
        _core.Words([b"ok", b"ab\xff"])
    assert caught.value.position == 2


def test_an_index_without_text_has_no_words() -> None:
    assert _core.Words([]).ranges(0) == ([], [])
