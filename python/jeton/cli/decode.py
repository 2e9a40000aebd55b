"""``jeton decode``: decodes ids."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator
from io import BufferedIOBase, BytesIO
from typing import TYPE_CHECKING, BinaryIO, Literal, cast

import click

from ..errors import FormatError, UnknownTokenError
from ..util.messages import translate
from .options import Command, CommonOptions, common_options, tokenizer_option
from .streams import binary_output, standard_input, write_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    import jeton

# Number of bytes that are parsed at a time, which limits the memory for Python strings.
CHUNK = 1 << 20
# Maximum length of an id in digits, leading zeros included.
LONGEST = 64
# Minimum number of ids for a numpy array: with fewer ids, importing numpy takes more time than the array saves.
LARGE = 1 << 16


@click.command(cls=Command, short_help="Ids to text.")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option(
    "--invalid-utf8",
    type=click.Choice(["strict", "replace"]),
    help="Output UTF-8 text; policy for bytes that are not UTF-8.",
)
@click.option("--skip-special-tokens", is_flag=True, help="Omit special tokens.")
@click.option(
    "--stream",
    "is_stream",
    is_flag=True,
    help="Read ids as they arrive; write and flush UTF-8 text as soon as it is final.",
)
@click.option(
    "--stop", multiple=True, metavar="TEXT", help="End --stream before TEXT, which may span tokens. Repeatable."
)
@tokenizer_option
@common_options
def decode(
    common: CommonOptions,
    tok: jeton.Tokenizer,
    ids: tuple[str, ...],
    invalid_utf8: Literal["strict", "replace"] | None,
    skip_special_tokens: bool,
    is_stream: bool,
    stop: tuple[str, ...],
) -> None:
    """Decodes ids to bytes, and adds nothing, not even a line end. Without ID, ids are read from standard input,
    separated by white space. JSON is accepted, too: a list, or the output of encode --json.

    --stream needs ids separated by white space. It writes text, with U+FFFD for invalid UTF-8 unless
    --invalid-utf8 says otherwise, and never half a character. After a --stop text it exits without reading the other
    ids.

    \b
    Examples:
      jeton decode -t my.json 72 101 108 108 111
      jeton decode -t my.json "[72, 101, 108, 108, 111]"
      jeton encode -t my.json < book.txt | jeton decode -t my.json | cmp - book.txt
      jeton decode -t my.json --invalid-utf8 replace < some.ids
      my-model | jeton decode -t my.json --stream --stop "User:"
    """
    if is_stream:
        if common.as_json:
            raise click.UsageError("--stream writes text, not JSON; omit --json")
        stream = tok.stream(invalid_utf8=invalid_utf8 or "replace", skip_special_tokens=skip_special_tokens, stop=stop)
        return _stream(
            stream, [_from_arguments(ids)] if ids else _arriving_ids(cast(BufferedIOBase, standard_input(common)))
        )
    if stop:
        raise click.UsageError("--stop needs --stream")
    numbers = _from_arguments(ids) if ids else _read_ids(standard_input(common))
    sequence = numbers if len(numbers) < LARGE else _as_array(numbers)
    if invalid_utf8 is None:
        data = tok.decode_bytes(sequence, skip_special_tokens=skip_special_tokens)
    else:
        data = tok.decode(sequence, invalid_utf8=invalid_utf8, skip_special_tokens=skip_special_tokens).encode()
    if common.as_json:
        write_json({"text": data.decode("utf-8", "replace"), "bytes_hex": data.hex()})
    else:
        binary_output().write(data)


def _stream(stream: jeton.TextStream, batches: Iterable[array[int]]) -> None:
    """Writes the text of ids while they arrive."""
    output, count = binary_output(), 0
    for batch in batches:
        try:
            text = stream.push(batch)
        except UnknownTokenError as error:
            after = f" after the first {count:,} ids" if count else ""
            raise UnknownTokenError(f"{error}{after}", id=error.id, position=error.position) from None
        if text:
            output.write(text.encode())
            output.flush()
        if stream.stopped is not None:
            return
        count += len(batch)
    output.write(stream.finish().encode())


def _arriving_ids(stream: BufferedIOBase, name: str = "standard input") -> Iterator[array[int]]:
    """Yields arrays of the ids that can be read without waiting; they are separated by white space."""
    rest = b""
    while block := stream.read1(CHUNK):
        end = _end_of_ids(rest + block)
        numbers = array("I")
        _parse((rest + block)[:end].split(), numbers, name)
        rest = (rest + block)[end:]
        if numbers:
            yield numbers
    numbers = array("I")
    _parse(rest.split(), numbers, name)
    yield numbers


def _end_of_ids(block: bytes) -> int:
    """Returns the length of a block without the last id, which may continue in the next block."""
    end = max(block.rfind(space) for space in (b" ", b"\n", b"\t", b"\r")) + 1
    # A block without white space that is too long for an id is returned whole, so that parsing it raises the error.
    return len(block) if not end and len(block) > LONGEST else end


def _from_arguments(ids: tuple[str, ...]) -> array[int]:
    try:
        return _read_ids(BytesIO(" ".join(ids).encode("utf-8", "surrogateescape")), translate("the arguments"))
    except FormatError as error:
        raise click.UsageError(str(error)) from None


def _as_array(numbers: array[int]) -> NDArray[np.uint32]:
    """Wraps the ids as a NumPy array without a copy; decoding an array creates no Python integer for each id."""
    import numpy as np

    return np.frombuffer(numbers, dtype=np.uint32)


def _read_ids(stream: BinaryIO, name: str = "standard input") -> array[int]:
    """Reads all ids of a stream, which are separated by white space, or are JSON."""
    numbers = array("I")
    rest = b""
    is_first = True
    while block := stream.read(CHUNK):
        block = rest + block
        if is_first and (start := block.lstrip()[:1]):
            if start in b"[{":
                return _from_json(block + stream.read(), name)
            is_first = False
        end = _end_of_ids(block)
        _parse(block[:end].split(), numbers, name)
        rest = block[end:]
    _parse(rest.split(), numbers, name)
    return numbers


def _from_json(data: bytes, name: str) -> array[int]:
    """Reads ids from a JSON list, or from an object with the list ``ids``."""
    try:
        ids = json.loads(data)
        ids = ids.get("ids") if isinstance(ids, dict) else ids
        if not isinstance(ids, list) or not all(type(id) is int for id in ids):
            raise ValueError("expected a list of integers, or an object with such a list as ids")
        return array("I", ids)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{name}: not a JSON list of ids ({error})", format="ids") from None
    except OverflowError:
        message = f"{name}: ids are integers from 0 to {2**32 - 1}"
        raise FormatError(message, format="ids") from None


def _parse(words: list[bytes], numbers: array[int], name: str) -> None:
    """Parses decimal literals, and appends their values to `numbers`."""
    try:
        if words and not b"".join(words).isdigit():  # int() also accepts "1_0" and "+1"
            raise ValueError
        numbers.extend(map(int, words))
    except (ValueError, OverflowError):
        for word in words:
            if not word.isdigit() or len(word) > LONGEST or int(word) >= 2**32:
                shown = word[:40].decode("utf-8", "backslashreplace")
                message = f"{name}: {shown!r} is not an id; ids are integers from 0 to {2**32 - 1}"
                raise FormatError(message, format="ids", place=f"{shown!r}") from None
        raise
