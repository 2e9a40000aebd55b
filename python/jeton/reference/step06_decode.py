"""Step 6. Decoding, and bytes that are not text.

    python step06_decode.py                 also without Jeton
    python -m jeton.reference.step06_decode

Decoding is the easy direction: look up the bytes of every id and join them. Each id has one spelling.

>>> merges = train_bytes("old older fast faster fastest best better yes desk mess", 270)
>>> spelling = vocabulary(BYTES, merges)
>>> decode([263, 265], spelling)
'oldest'

The difficulty comes afterwards, when the bytes must become text. Every text has UTF-8 bytes, but not every list of
bytes is the UTF-8 of a text. 小 is `e5 b0 8f`. A model that has written `e5 b0` and stopped, because it reached its
length limit, leaves two thirds of a character. The caller chooses how to handle it:

>>> decode([0xE5, 0xB0, 0x8F], spelling)
'小'
>>> decode([0xE5, 0xB0], spelling)  # "replace": the broken place becomes U+FFFD, the replacement character
'�'
>>> decode([0xE5, 0xB0], spelling, errors="strict")
Traceback (most recent call last):
    ...
UnicodeDecodeError: 'utf-8' codec can't decode bytes in position 0-1: unexpected end of data

For showing an answer to a person, `replace` is right: better one � than a program that stops. For a pipeline that
prepares data, `strict` is right: there a broken character means that an earlier step has gone wrong. `decode_bytes`
returns the bytes and leaves this choice to its caller.

**Join first, decode afterwards.** It is tempting to decode each token and to join the strings. With Chinese it
fails at once, because one character is often spread over two or three tokens:

>>> "".join(decode([id], spelling) for id in [0xE5, 0xB0, 0x8F])
'���'

**Round trip.** Encoding is lossless: `decode(encode(text)) == text` for every text, because merging never changes the
bytes, only their grouping. The converse, `encode(decode(ids)) == ids`, does not hold: many lists of ids spell the same
text, and the encoder gives only one of these lists:

>>> decode([111, 108, 100], spelling), decode([263], spelling)
('old', 'old')
>>> encode(list(b"old"), ranks(merges))
[263]

Left out: special tokens, whose ids stand for no text. Next: step07_special.py.

**With Jeton.** `tok.decode` replaces invalid UTF-8 unless `invalid_utf8="strict"`. `tok.stream()` takes one id after
the other and returns only complete characters. The command line writes the bytes unless `--invalid-utf8` is given:

    tok = jeton.train([text], 270, level="byte", pattern="none", tie_break="first", min_frequency=1, progress=False)
    tok.decode([0xE5, 0xB0], invalid_utf8="replace")
    stream.push(id) for id in [0xE5, 0xB0, 0x8F]

    $ jeton decode -t tok.json --invalid-utf8 replace 229 176
    �
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import chdir
from tempfile import TemporaryDirectory

if not __package__:  # run as a file: `python step06_decode.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step01_levels import BYTES
from .step03_merge import vocabulary
from .step04_train import train_bytes
from .step05_encode import encode, ranks

ERRORS = ("replace", "strict")


def decode_bytes(ids: Iterable[int], spelling: Mapping[int, bytes]) -> bytes:
    r"""Join the bytes of the tokens.

    Raises:
        KeyError: If an id is not in the vocabulary; the message names it and its position.

    Examples:
        >>> decode_bytes([0xE5, 0xB0], BYTES)
        b'\xe5\xb0'
        >>> decode_bytes([104, 105, 999], BYTES)
        Traceback (most recent call last):
            ...
        KeyError: 'id 999 at position 2 is not in the vocabulary'
    """
    parts: list[bytes] = []
    for position, id in enumerate(ids):
        if id not in spelling:
            raise KeyError(f"id {id} at position {position} is not in the vocabulary")
        parts.append(spelling[id])
    return b"".join(parts)


def decode(ids: Iterable[int], spelling: Mapping[int, bytes], errors: str = "replace") -> str:
    """Join the bytes of the tokens and read them as UTF-8.

    Args:
        ids: The ids to decode.
        spelling: The vocabulary: id -> bytes.
        errors: What to do about bytes that are not UTF-8: "replace": write U+FFFD for them; "strict": raise an error.

    Raises:
        KeyError: If an id is not in the vocabulary.
        UnicodeDecodeError: If the bytes are not UTF-8 and `errors` is "strict".
        ValueError: If `errors` is neither "replace" nor "strict".

    Examples:
        >>> decode("今天".encode(), BYTES)
        '今天'
        >>> decode([97, 0xFF, 98], BYTES)
        'a�b'
    """
    if errors not in ERRORS:
        raise ValueError(f"errors is {errors!r}, expected one of {', '.join(ERRORS)}")
    return decode_bytes(ids, spelling).decode("utf-8", errors)


def main() -> None:
    """Decode every prefix of the bytes of a short text."""
    text = "小 cat"
    data = text.encode()
    for end in range(len(data) + 1):
        print(f"{end} bytes {data[:end].hex(' '):<21} {decode(data[:end], BYTES)}")
    spelling = vocabulary(BYTES, merges := train_bytes(text, 260))
    print("there and back:", decode(encode(list(data), ranks(merges)), spelling))


def beside_jeton() -> None:
    """Decode the examples of this lesson with Jeton, first in one call each, then id by id in a stream."""
    import jeton

    text = "old older fast faster fastest best better yes desk mess"
    spelling = vocabulary(BYTES, train_bytes(text, 270))
    tok = jeton.train([text], 270, level="byte", pattern="none", tie_break="first", min_frequency=1, progress=False)
    for ids in ([263, 265], [0xE5, 0xB0, 0x8F], [0xE5, 0xB0]):
        assert tok.decode_bytes(ids) == decode_bytes(ids, spelling)
        assert tok.decode(ids, invalid_utf8="replace") == decode(ids, spelling, errors="replace")
    assert tok.decode([0xE5, 0xB0], invalid_utf8="replace") == "�"
    stream = tok.stream()
    pushed = [stream.push(id) for id in [0xE5, 0xB0, 0x8F]]
    assert pushed == ["", "", "小"]
    print("jeton, stream:", pushed)
    with TemporaryDirectory() as folder, chdir(folder):
        tok.save("tok.json")
        assert jeton_command("jeton decode -t tok.json --invalid-utf8 replace 229 176") == "�"
        print()


if __name__ == "__main__":
    main()
    with_jeton(beside_jeton)
