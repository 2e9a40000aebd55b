"""``jeton encode``: text to ids."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ..drawing import to_terminal
from .options import Common, TextOptions, common_options, text_options, tokenizer_option
from .streams import Text, binary_output, input_texts, named, repaired, terminal_look, write

if TYPE_CHECKING:
    import jeton

# Below this many bytes a list of ids is as good as an array, and numpy's import would take longer than the encoding.
LARGE = 1 << 20
# Ids turned into digits at a time: the digits of all ids together take several times the memory of the ids.
CHUNK = 1 << 18


@click.command(short_help="Text to ids.")
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--lines", is_flag=True, help="Each line of standard input is a text of its own, without its line end.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["ids", "tokens", "json", "npy", "bin"]),
    default="ids",
    help="ids: numbers, one line per text; tokens: drawn; json: ids with bytes and spans; npy: a NumPy uint32 array; "
    "bin: uint32, little-endian, nothing else.",
)
@tokenizer_option
@text_options
@common_options
def encode(
    common: Common,
    tok: jeton.Tokenizer,
    options: TextOptions,
    texts: tuple[str, ...],
    lines: bool,
    form: str,
) -> None:
    """Turns text into ids. Each TEXT is a text; without any, standard input is one text, byte for byte.

    \b
    Examples:
      jeton encode -t my.json "Hello there"
      jeton encode -t my.json --format tokens "Hello there"
      jeton encode -t my.json < book.txt > book.ids
      jeton encode -t my.json --format npy < book.txt > book.npy
      jeton encode -t chat.json --special all "<|im_start|>user"
      jeton encode -t my.json --lines < lines.txt | wc -l
    """
    if lines and texts:
        raise click.UsageError("--lines is about standard input; it goes with no TEXT")
    form = "json" if common.as_json else form
    if form in ("npy", "bin"):
        if lines or len(texts) > 1:
            raise click.UsageError(f"--format {form} holds one text; take json for several")
        if sys.stdout.isatty():
            raise click.UsageError(f"--format {form} is binary; send it to a file: > ids.{form}")
    for text in input_texts(common, texts, lines=lines):
        with named(text):
            _encode_one(common, tok, options, text, form)


def _encode_one(common: Common, tok: jeton.Tokenizer, options: TextOptions, text: Text, form: str) -> None:
    """Encodes and writes one text."""
    if form in ("tokens", "json"):
        encoding = repaired(common, text, options, lambda data: tok.tokenize(data, **options.keywords))
        _write_json(encoding) if form == "json" else _write_tokens(encoding)
        return

    def use(data: bytes | str) -> Any:
        if len(data) < LARGE and form == "ids":
            return tok.encode(data, **options.keywords)
        return tok.encode_array(data, threads=common.threads, **options.keywords)

    ids = repaired(common, text, options, use)
    if form == "ids":
        _write_ids(ids)
    else:
        _write_array(ids, header=form == "npy")


def _write_ids(ids: Sequence[int]) -> None:
    out = binary_output()
    for start in range(0, len(ids), CHUNK):
        if start:
            out.write(b" ")
        out.write(" ".join(map(str, ids[start : start + CHUNK])).encode())
    out.write(b"\n")


def _write_array(ids: Any, *, header: bool) -> None:
    """The array's bytes; `numpy.save` itself asks a pipe for its position, which it has not."""
    import numpy as np
    from numpy.lib import format as npy

    array = np.ascontiguousarray(ids, dtype="<u4")
    out = binary_output()
    if header:
        npy.write_array_header_1_0(out, npy.header_data_from_array_1_0(array))
    out.write(array.data)


def _write_json(encoding: Any) -> None:
    tokens = [
        {"id": token.id, "bytes_hex": token.bytes.hex(), "byte_span": list(token.byte_span)} for token in encoding
    ]
    write(json.dumps({"ids": list(encoding.ids), "tokens": tokens}))


def _write_tokens(encoding: Any) -> None:
    """The tokens drawn: in color on lines of their own, else between bars on one line per text."""
    color, width = terminal_look()
    write(to_terminal(encoding.drawing(), color=color, width=width if color else None, break_lines=color))
