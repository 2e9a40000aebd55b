"""``jeton decode``: ids to text."""

from __future__ import annotations

import json
from array import array
from typing import TYPE_CHECKING, BinaryIO, Literal

import click

from ..errors import FormatError
from .options import Common, common_options, tokenizer_option
from .streams import binary_output, standard_input, write

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    import jeton

# Bytes of digits parsed at a time, so that a large file of ids is never a list of Python strings.
CHUNK = 1 << 20
# More digits than any id has, leading zeros allowed for.
LONGEST = 64
# From here on an array is worth the import of numpy.
LARGE = 1 << 16


@click.command(short_help="Ids to text.")
@click.argument("ids", nargs=-1, type=click.IntRange(0, 2**32 - 1), metavar="[ID]...")
@click.option(
    "--errors", type=click.Choice(["strict", "replace"]), help="Write text, and what to do where the bytes are none."
)
@click.option("--skip-special-tokens", is_flag=True, help="Leave special tokens out.")
@tokenizer_option
@common_options
def decode(
    common: Common,
    tok: jeton.Tokenizer,
    ids: tuple[int, ...],
    errors: Literal["strict", "replace"] | None,
    skip_special_tokens: bool,
) -> None:
    """Turns ids into the bytes they stand for, and adds nothing, not even a line end. Without ID, standard input
    holds ids between spaces or line ends.

    \b
    Examples:
      jeton decode -t my.json 72 101 108 108 111
      jeton encode -t my.json < book.txt | jeton decode -t my.json | cmp - book.txt
      jeton decode -t my.json --errors replace < some.ids
    """
    numbers = array("I", ids) if ids else _read_ids(standard_input(common))
    sequence = numbers if len(numbers) < LARGE else _as_array(numbers)
    if errors is None:
        data = tok.decode_bytes(sequence, skip_special_tokens=skip_special_tokens)
    else:
        data = tok.decode(sequence, errors=errors, skip_special_tokens=skip_special_tokens).encode()
    if common.as_json:
        write(json.dumps({"text": data.decode("utf-8", "replace"), "bytes_hex": data.hex()}, ensure_ascii=False))
    else:
        binary_output().write(data)


def _as_array(numbers: array[int]) -> NDArray[np.uint32]:
    """The same memory as a NumPy array, which decodes without a Python integer for each id."""
    import numpy as np

    return np.frombuffer(numbers, dtype=np.uint32)


def _read_ids(stream: BinaryIO) -> array[int]:
    """All numbers of a stream."""
    numbers = array("I")
    rest = b""
    while block := stream.read(CHUNK):
        block = rest + block
        end = max(block.rfind(space) for space in (b" ", b"\n", b"\t", b"\r")) + 1
        if not end and len(block) > LONGEST:
            end = len(block)  # no id is that long, which parsing it says
        _parse(block[:end].split(), numbers)
        rest = block[end:]
    _parse(rest.split(), numbers)
    return numbers


def _parse(words: list[bytes], numbers: array[int]) -> None:
    """Appends what the words say."""
    try:
        if words and not b"".join(words).isdigit():  # int() takes more than digits: "1_0", "+1"
            raise ValueError
        numbers.extend(map(int, words))
    except (ValueError, OverflowError):
        for word in words:
            if not word.isdigit() or len(word) > LONGEST or int(word) >= 2**32:
                shown = word[:40].decode("utf-8", "backslashreplace")
                message = f"standard input: {shown!r} is not an id, which is a number from 0 to {2**32 - 1}"
                raise FormatError(message, format="ids", place=f"{shown!r}") from None
        raise
