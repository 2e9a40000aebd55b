"""What goes in and out: texts from arguments or standard input, corpora, and data on standard output as UTF-8 bytes."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple, TypeVar

import click

from ..corpus import CorpusLike, Source
from ..drawing import wants_color
from ..errors import InvalidTextError, JetonError
from .options import Common, TextOptions

__all__ = [
    "Text",
    "binary_output",
    "input_corpus",
    "input_texts",
    "named",
    "repaired",
    "terminal_look",
    "write",
]

T = TypeVar("T")


class Text(NamedTuple):
    """One text and what to call it when something is wrong with it (empty when there is only this one)."""

    data: bytes
    name: str = ""


def input_texts(common: Common, arguments: tuple[str, ...], *, lines: bool = False) -> Iterator[Text]:
    """The arguments as texts, else standard input as one text, or as one text for each of its lines without the line
    end.

    Arguments keep the bytes the shell gave, UTF-8 or not.
    """
    if arguments:
        for number, argument in enumerate(arguments, start=1):
            yield Text(os.fsencode(argument), f"text {number}" if len(arguments) > 1 else "")
        return
    stream = standard_input(common)
    if not lines:
        yield Text(stream.read())
        return
    for number, line in enumerate(stream, start=1):
        yield Text(line.removesuffix(b"\n").removesuffix(b"\r"), f"line {number}")


def input_corpus(common: Common, places: tuple[str, ...], weights: tuple[float, ...] = ()) -> CorpusLike:
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


def standard_input(common: Common) -> BinaryIO:
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
def named(text: Text) -> Iterator[None]:
    """Puts the text's name before an error about it."""
    try:
        yield
    except JetonError as error:
        if text.name:
            error.args = (f"{text.name}: {error}", *error.args[1:])
        raise


def repaired(common: Common, text: Text, options: TextOptions, use: Callable[[bytes | str], T]) -> T:
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
