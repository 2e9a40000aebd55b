"""Input and output of commands: texts from arguments, files or standard input, corpora, and UTF-8 standard output."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple, TypeVar

import click

from ..corpus import CorpusLike, DocumentReader, Rules, Source, list_files, open_corpus, open_path
from ..corpus.kinds import kind_of
from ..corpus.paths import file_name
from ..drawing import wants_color
from ..errors import InvalidTextError, JetonError
from ..util.compression import decompressed
from ..util.messages import translate
from .options import CommonOptions, TextOptions

__all__ = [
    "InputText",
    "binary_output",
    "holds_rows",
    "input_corpus",
    "input_files",
    "input_texts",
    "named",
    "repaired",
    "rows_of",
    "terminal_look",
    "texts_of",
    "write",
    "write_json",
]

T = TypeVar("T")


class InputText(NamedTuple):
    """One text, and its name in error messages (empty if it is the only text)."""

    data: bytes
    name: str = ""


def input_texts(
    common: CommonOptions, arguments: tuple[str, ...], options: TextOptions, *, lines: bool = False
) -> Iterator[InputText]:
    """Yields the input texts.

    With --files, these are the texts of the files. Without --files, each argument is one text. If there are no
    arguments, standard input is one text; with `lines`, each line of standard input (line end removed) is one text.

    Arguments have exactly the bytes that the shell passed, even if these are not UTF-8.
    """
    if options.files:
        for file in input_files(arguments, options.field):
            yield from texts_of(file, options)
        return
    if arguments:
        if names := [argument for argument in arguments if is_file(argument)]:
            more = f" and {len(names) - 1} more" if names[1:] else ""
            common.warn(f"{names[0]}{more} is the name of a file, but is encoded as text; --files reads the file")
        for number, argument in enumerate(arguments, start=1):
            yield InputText(os.fsencode(argument), f"text {number}" if len(arguments) > 1 else "")
        return
    stream = standard_input(common)
    if not lines:
        yield InputText(stream.read())
        return
    for number, line in enumerate(stream, start=1):
        yield InputText(line.removesuffix(b"\n").removesuffix(b"\r"), f"line {number}")


def input_files(places: tuple[str, ...], field: str) -> list[str]:
    """Resolves all arguments to files, before any file is read."""
    if not places:
        raise click.UsageError("--files needs at least one file, glob or folder")
    return list_files(places, Rules(field))


def is_file(argument: str) -> bool:
    """Tests whether an argument is the path of an existing file."""
    try:
        return os.path.isfile(argument)
    except ValueError:  # the argument contains a NUL
        return False


def holds_rows(file: str) -> bool:
    """Tests by the suffix whether a file consists of rows with one text each; any other file is one text."""
    return kind_of(file) != "text"


def texts_of(file: str, options: TextOptions) -> Iterator[InputText]:
    """Yields the texts of a file: its rows, or its whole content."""
    if holds_rows(file):
        for document in rows_of(file, options):
            yield InputText(document.data, document.source)
        return
    with open_path(file) as raw, decompressed(raw, file_name(file)) as stream:
        yield InputText(stream.read(), file)


def rows_of(file: str, options: TextOptions) -> DocumentReader:
    """Opens a file of rows as a corpus."""
    return open_corpus(file, field=options.field, errors="replace" if options.replace else "strict")


def input_corpus(common: CommonOptions, places: tuple[str, ...], weights: tuple[float, ...] = ()) -> CorpusLike:
    """Converts the arguments CORPUS... to a corpus: ``-`` becomes standard input, a path becomes a weighted source."""
    if weights and len(weights) != len(places):
        raise click.UsageError(f"{len(weights)} --weight for {len(places)} CORPUS; pass one --weight for each CORPUS")
    if "-" not in places:
        return [Source(place, weight) for place, weight in zip(places, weights or [1] * len(places), strict=True)]
    if len(places) > 1:
        raise click.UsageError("'-' (standard input) cannot be combined with another CORPUS")
    return standard_input(common)


def standard_input(common: CommonOptions) -> BinaryIO:
    """Returns standard input; if it is a terminal, prints that the command reads from it."""
    if sys.stdin.isatty():
        common.say(translate("reading standard input; end it with Ctrl-D"))
    return sys.stdin.buffer


def binary_output() -> BinaryIO:
    """Returns standard output as a binary stream."""
    return sys.stdout.buffer


def write(line: str) -> None:
    """Writes one line of data in UTF-8, independent of the locale."""
    binary_output().write(line.encode("utf-8", "surrogateescape") + b"\n")


def write_json(value: Any) -> None:
    """Writes a value, or the `to_json()` of a result, as one line of JSON."""
    write(json.dumps(value.to_json() if hasattr(value, "to_json") else value, ensure_ascii=False))


def terminal_look() -> tuple[bool, int | None]:
    """Returns whether to color standard output, and its width in columns if it is a terminal."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    return wants_color(sys.stdout), width


@contextmanager
def named(text: InputText) -> Iterator[None]:
    """Prefixes errors with the name of the text."""
    try:
        yield
    except JetonError as error:
        if text.name:
            error.prefix(f"{text.name}: ")
        raise


def repaired(common: CommonOptions, text: InputText, options: TextOptions, use: Callable[[bytes | str], T]) -> T:
    """Applies `use` to a text. If invalid UTF-8 is rejected, ``--errors replace`` replaces it by U+FFFD and retries."""
    try:
        return use(text.data)
    except InvalidTextError:
        sound = text.data.decode("utf-8", "replace")
        places = sound.count("\ufffd") - text.data.count("\ufffd".encode())
        if not options.replace or not places:
            raise  # the text is valid UTF-8, and the error has another cause
        result = use(sound)
    common.warn(f"{text.name or 'the text'}: replaced bytes that are not UTF-8 with U+FFFD at {places:,} places")
    return result
