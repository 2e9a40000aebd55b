"""``jeton encode``: encodes text."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ..drawing import TerminalStream
from .options import Command, CommonOptions, TextOptions, common_options, text_options, tokenizer_option
from .streams import (
    InputText,
    binary_output,
    holds_rows,
    input_files,
    input_texts,
    named,
    repaired,
    terminal_look,
    write,
)

if TYPE_CHECKING:
    import jeton

# Texts with fewer bytes are encoded to a list, because importing numpy would take longer than encoding them.
LARGE = 1 << 20
# Number of ids formatted at a time, which limits memory: digits take several times the memory of ids.
CHUNK = 1 << 18


@click.command(cls=Command, short_help="Text to ids.")
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--lines", is_flag=True, help="Encode each line of standard input separately, without its line end.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["ids", "tokens", "json", "npy", "bin"]),
    default="ids",
    help="ids: numbers, one line per text; tokens: drawn; json: ids with bytes and spans; npy: a NumPy uint32 array; "
    "bin: raw little-endian uint32.",
)
@tokenizer_option
@text_options
@common_options
def encode(
    common: CommonOptions,
    tok: jeton.Tokenizer,
    options: TextOptions,
    texts: tuple[str, ...],
    lines: bool,
    form: str,
) -> None:
    """Encodes text to ids. Each TEXT is a text, or with --files a file of texts. Without TEXT, standard input is one
    text.

    \b
    Examples:
      jeton encode -t my.json "Hello there"
      jeton encode -t my.json --format tokens "Hello there"
      jeton encode -t my.json < book.txt > book.ids
      jeton encode -t my.json --files rows.jsonl chapters/*.txt
      jeton encode -t my.json --format npy < book.txt > book.npy
      jeton encode -t chat.json --special all "<|im_start|>user"
      jeton encode -t my.json --lines < lines.txt | wc -l
    """
    if lines and (texts or options.files):
        raise click.UsageError("--lines applies to standard input; it cannot be combined with TEXT or --files")
    if common.as_json and form not in ("ids", "json"):
        raise click.UsageError(f"--format {form} and --json cannot be combined")
    form = "json" if common.as_json else form
    if form in ("npy", "bin"):
        files = input_files(texts, options.field) if options.files else []
        if lines or len(files or texts) > 1 or any(map(holds_rows, files)):
            raise click.UsageError(f"--format {form} supports one text; use json for several")
        if sys.stdout.isatty():
            raise click.UsageError(f"--format {form} is binary; redirect it to a file: > ids.{form}")
    for text in input_texts(common, texts, options, lines=lines):
        with named(text):
            _encode_one(common, tok, options, text, form)


def _encode_one(common: CommonOptions, tok: jeton.Tokenizer, options: TextOptions, text: InputText, form: str) -> None:
    """Encodes one text, then writes it. It writes only after encoding has succeeded, so no output is partial."""

    def use(data: bytes | str) -> tuple[Any, bytes | str]:
        if form == "tokens":
            return tok.count(data, **options.keywords), data
        if len(data) < LARGE and form in ("ids", "json"):
            return tok.encode(data, **options.keywords), data
        return tok.encode_array(data, threads=common.threads, **options.keywords), data

    ids, data = repaired(common, text, options, use)
    if form == "tokens":
        _write_tokens(tok, data, options)
    elif form == "json":
        _write_json(tok, data, options, ids)
    elif form == "ids":
        _write_ids(ids)
        binary_output().write(b"\n")
    else:
        _write_array(ids, header=form == "npy")


def _write_ids(ids: Sequence[int], separator: str = " ") -> None:
    out = binary_output()
    for start in range(0, len(ids), CHUNK):
        if start:
            out.write(separator.encode())
        out.write(separator.join(map(str, ids[start : start + CHUNK])).encode())


def _write_array(ids: Any, *, header: bool) -> None:
    """Writes the array's bytes; `numpy.save` does not work on a pipe, because it calls `tell`."""
    import numpy as np
    from numpy.lib import format as npy

    array = np.ascontiguousarray(ids, dtype="<u4")
    out = binary_output()
    if header:
        npy.write_array_header_1_0(out, npy.header_data_from_array_1_0(array))
    out.write(array.data)


def _write_json(tok: jeton.Tokenizer, data: bytes | str, options: TextOptions, ids: Sequence[int]) -> None:
    """Writes one JSON object incrementally, because all tokens at once take a hundred times the memory of the text."""
    out = binary_output()
    is_first = True

    def each(ids: list[int], tokens: list[bytes], byte_spans: list[tuple[int, int]], from_text: bool) -> None:
        nonlocal is_first
        entries = [
            {"id": id, "bytes_hex": token.hex(), "byte_span": list(span) if from_text else [0, 0]}
            for id, token, span in zip(ids, tokens, byte_spans, strict=True)
        ]
        if entries:
            out.write(b"" if is_first else b", ")
            out.write(json.dumps(entries)[1:-1].encode())
            is_first = False

    out.write(b'{"ids": [')
    _write_ids(ids, ", ")
    out.write(b'], "tokens": [')
    tok._tokenize_in_chunks(data, each, **options.keywords)
    out.write(b"]}\n")


def _write_tokens(tok: jeton.Tokenizer, data: bytes | str, options: TextOptions) -> None:
    """Draws the tokens: in a terminal in color and wrapped, else with separators, one line for each text."""
    color, width = terminal_look()
    stream = TerminalStream(
        data.encode() if isinstance(data, str) else data,
        tok._special_spelling,
        lambda drawn: binary_output().write(drawn.encode("utf-8", "surrogateescape")),
        color=color,
        width=width if color else None,
        break_lines=color,
    )
    tok._tokenize_in_chunks(data, lambda *columns: stream.add(*columns[:3]), **options.keywords)
    stream.finish()
    write("")
