"""What goes in and out: texts from arguments or standard input, corpora, and data on standard output as UTF-8 bytes."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple, TypeVar

import click

from ..compression import decompressed, split_suffix
from ..corpus import Corpus, CorpusLike, Source, files_of, open_corpus, open_place
from ..corpus.places import file_name
from ..corpus.reader import ROW_SUFFIXES
from ..drawing import wants_color
from ..errors import InvalidTextError, JetonError
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
]

T = TypeVar("T")


class InputText(NamedTuple):
    """One text and what to call it when something is wrong with it (empty when there is only this one)."""

    data: bytes
    name: str = ""


def input_texts(
    common: CommonOptions, arguments: tuple[str, ...], options: TextOptions, *, lines: bool = False
) -> Iterator[InputText]:
    """The arguments as texts, or with --files the texts in the files they name; else standard input as one text, or as
    one text for each of its lines without the line end.

    Arguments keep the bytes the shell gave, UTF-8 or not.
    """
    if options.files:
        for file in input_files(arguments):
            yield from texts_of(file, options)
        return
    if arguments:
        if names := [argument for argument in arguments if is_file(argument)]:
            more = f" and {len(names) - 1} more" if names[1:] else ""
            common.warn(f"{names[0]}{more} is the name of a file, and is taken as text; --files reads the file")
        for number, argument in enumerate(arguments, start=1):
            yield InputText(os.fsencode(argument), f"text {number}" if len(arguments) > 1 else "")
        return
    stream = standard_input(common)
    if not lines:
        yield InputText(stream.read())
        return
    for number, line in enumerate(stream, start=1):
        yield InputText(line.removesuffix(b"\n").removesuffix(b"\r"), f"line {number}")


def input_files(places: tuple[str, ...]) -> list[str]:
    """The files that the arguments name, all of them looked up before one is read."""
    if not places:
        raise click.UsageError("--files needs the names of files")
    return [file for place in places for file in files_of(place)]


def is_file(argument: str) -> bool:
    """Whether an argument that is taken as text is the name of a file."""
    try:
        return os.path.isfile(argument)
    except ValueError:  # a NUL
        return False


def holds_rows(file: str) -> bool:
    """Whether a file holds rows, each with a text, as in a corpus; any other file is one text."""
    return split_suffix(file_name(file))[0].lower().endswith((*ROW_SUFFIXES, ".parquet"))


def texts_of(file: str, options: TextOptions) -> Iterator[InputText]:
    """The texts of a file: its rows, or all of it."""
    if holds_rows(file):
        for document in rows_of(file, options):
            yield InputText(document.data, document.source)
        return
    with open_place(file) as raw, decompressed(raw, file_name(file)) as stream:
        yield InputText(stream.read(), file)


def rows_of(file: str, options: TextOptions) -> Corpus:
    """A file of rows as a corpus."""
    return open_corpus(file, field=options.field, errors="replace" if options.replace else "strict")


def input_corpus(common: CommonOptions, places: tuple[str, ...], weights: tuple[float, ...] = ()) -> CorpusLike:
    """CORPUS... as the library's corpus: ``-`` is standard input, everything else a place, with its weight."""
    if weights and len(weights) != len(places):
        raise click.UsageError(
            f"--weight is given {len(weights)} times for {len(places)} CORPUS; give each one its own"
        )
    if "-" not in places:
        return [Source(place, weight) for place, weight in zip(places, weights or [1] * len(places), strict=True)]
    if len(places) > 1:
        raise click.UsageError("'-' (standard input) is a corpus of its own; give it alone")
    return standard_input(common)


def standard_input(common: CommonOptions) -> BinaryIO:
    """Standard input; somebody who sits before it is told that it is being read."""
    if sys.stdin.isatty():
        common.say("reading standard input; end it with Ctrl-D")
    return sys.stdin.buffer


def binary_output() -> BinaryIO:
    """Standard output for raw bytes."""
    return sys.stdout.buffer


def write(line: str) -> None:
    """One line of data, in UTF-8 whatever the locale: data must not depend on it."""
    binary_output().write(line.encode("utf-8", "surrogateescape") + b"\n")


def terminal_look() -> tuple[bool, int | None]:
    """Whether standard output wants color, and how wide it is if it is a terminal."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    return wants_color(sys.stdout), width


@contextmanager
def named(text: InputText) -> Iterator[None]:
    """Puts the text's name before an error about it."""
    try:
        yield
    except JetonError as error:
        if text.name:
            error.args = (f"{text.name}: {error}", *error.args[1:])
        raise


def repaired(common: CommonOptions, text: InputText, options: TextOptions, use: Callable[[bytes | str], T]) -> T:
    """What `use` makes of a text; if it needs UTF-8 and ``--errors replace`` allows it, of the text with U+FFFD."""
    try:
        return use(text.data)
    except InvalidTextError:
        sound = text.data.decode("utf-8", "replace")
        places = sound.count("\ufffd") - text.data.count("\ufffd".encode())
        if not options.replace or not places:
            raise  # the text is UTF-8: what the tokenizer cannot take is something else
        result = use(sound)
    common.warn(f"{text.name or 'the text'}: bytes that are not UTF-8 at {places:,} places became U+FFFD")
    return result
