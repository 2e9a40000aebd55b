"""Options that commands share, each as a decorator that hands the command one object instead of many arguments."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import click

import jeton

from ..corpus import MAX_EXPANSION
from ..progress import Progress, json_lines

__all__ = [
    "Common",
    "TextOptions",
    "common_options",
    "corpus_options",
    "memory_options",
    "permission",
    "sample_options",
    "special_option",
    "text_options",
    "tokenizer_option",
]

Command: TypeAlias = Callable[..., None]


@dataclass(frozen=True)
class Common:
    """What every command has: how to answer, and how much to say meanwhile."""

    as_json: bool
    quiet: bool
    progress_mode: str
    threads: int | None

    def say(self, message: str = "") -> None:
        """Tells the person something, on standard error, unless they want quiet."""
        if not self.quiet:
            sys.stdout.flush()  # what was written before stands before it
            click.echo(message, err=True)

    def warn(self, message: str) -> None:
        """Tells the person what must not be lost, quiet or not."""
        click.echo(f"jeton: warning: {message}", err=True)

    @property
    def progress(self) -> Progress:
        """The ``progress=`` of the library's functions."""
        if self.progress_mode == "json":
            return json_lines()
        return False if self.quiet or self.progress_mode == "none" else None


@dataclass(frozen=True)
class TextOptions:
    """How texts become ids.

    Attributes:
        special: as in `Tokenizer.encode`: which special tokens a text may hold.
        add_special_tokens: whether the template's tokens are added.
        replace: whether bytes that are not UTF-8 become U+FFFD where the tokenizer needs UTF-8.
    """

    special: str | set[str]
    add_special_tokens: bool
    replace: bool

    @property
    def keywords(self) -> dict[str, Any]:
        """As keyword arguments of `Tokenizer`'s methods."""
        return {"special": self.special, "add_special_tokens": self.add_special_tokens}


def common_options(command: Command) -> Command:
    """--json, -q, --progress and --threads, handed on as `Common`, the first argument."""

    @click.option("--json", "as_json", is_flag=True, help="Answer in JSON, one object per line.")
    @click.option("-q", "--quiet", is_flag=True, help="Say nothing but results, warnings and errors.")
    @click.option(
        "--progress",
        "progress_mode",
        type=click.Choice(["auto", "none", "json"]),
        default="auto",
        help="auto: a bar when standard error is a terminal; json: one object per line on standard error.",
    )
    @click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads for long work; all cores by default.")
    @functools.wraps(command)
    def wrapped(as_json: bool, quiet: bool, progress_mode: str, threads: int | None, **rest: Any) -> None:
        command(Common(as_json, quiet, progress_mode, threads), **rest)

    return wrapped


def tokenizer_option(command: Command) -> Command:
    """-t and --pattern, handed on as the loaded `tok`."""

    @click.option(
        "-t",
        "--tokenizer",
        "name",
        required=True,
        metavar="PATH|NAME",
        help="The tokenizer: a file or folder in any known format, or a name.",
    )
    @click.option("--pattern", metavar="NAME|REGEX", help="The pattern of a file that does not say it (rank files).")
    @functools.wraps(command)
    def wrapped(*args: Any, name: str, pattern: str | None, **rest: Any) -> None:
        command(*args, tok=jeton.load(name, pattern=pattern), **rest)

    return wrapped


def special_option(command: Command) -> Command:
    """--special alone; `permission` says what it means."""
    return click.option(
        "--special",
        multiple=True,
        metavar="none|all|raise|TOKEN",
        help="Which special tokens the text may hold: none of them (the default: their spelling is plain text), all, "
        "or those named (repeatable); raise: end with an error if it holds one.",
    )(command)


def text_options(command: Command) -> Command:
    """--special, --add-special-tokens and --errors, handed on as `options`."""

    @special_option
    @click.option("--add-special-tokens", is_flag=True, help="Add what the tokenizer's template adds (BOS, [CLS], …).")
    @errors_option
    @functools.wraps(command)
    def wrapped(*args: Any, special: tuple[str, ...], add_special_tokens: bool, errors: str, **rest: Any) -> None:
        options = TextOptions(permission(special), add_special_tokens, errors == "replace")
        command(*args, options=options, **rest)

    return wrapped


def corpus_options(command: Command) -> Command:
    """CORPUS... with --documents, --field, --encoding, --max-expansion and --errors, handed on under these names."""

    @click.argument("corpus", nargs=-1, required=True, metavar="CORPUS...")
    @click.option(
        "--documents",
        type=click.Choice(["file", "line"]),
        default="file",
        help="Whether a text file is one document, or each of its lines.",
    )
    @click.option("--field", default="text", show_default=True, help="The field of a row that holds the text.")
    @click.option("--encoding", default="utf-8", show_default=True, metavar="NAME", help="Of text files: gb18030, …")
    @click.option(
        "--max-expansion",
        type=click.IntRange(0),
        default=MAX_EXPANSION,
        show_default=True,
        metavar="N",
        help="How many times the size of its compressed file a text may have; 0 for any.",
    )
    @click.option(
        "--errors",
        type=click.Choice(["strict", "replace", "skip"]),
        default="strict",
        help="What to do with bytes that are not UTF-8: stop, put U+FFFD there and count, or skip the record; skip "
        "also leaves out rows and files that cannot be read, says so, and the exit code is 3.",
    )
    @functools.wraps(command)
    def wrapped(*args: Any, max_expansion: int, **rest: Any) -> None:
        command(*args, max_expansion=max_expansion or None, **rest)

    return wrapped


def sample_options(command: Command) -> Command:
    """--weight, --sample and --seed, handed on as `weights`, `sample_bytes` and `seed`."""

    @click.option(
        "--weight",
        "weights",
        type=float,
        multiple=True,
        metavar="W",
        help="What the counts of a CORPUS are multiplied by (repeatable: one for each, in their order).",
    )
    @click.option(
        "--sample",
        "sample_bytes",
        type=Size(),
        metavar="SIZE",
        help="Read a sample of this size (2GB, 500MB), in whole documents from all over the corpus.",
    )
    @click.option("--seed", type=click.IntRange(0, (1 << 64) - 1), default=0, metavar="N", help="Which sample.")
    @functools.wraps(command)
    def wrapped(*args: Any, **rest: Any) -> None:
        command(*args, **rest)

    return wrapped


def memory_options(command: Command) -> Command:
    """--memory-limit, --spill-folder and --checkpoint, handed on as `memory_limit` and so on."""

    @click.option(
        "--memory-limit", metavar="SIZE", help="Go to disk over this: 500MB, 2GiB; a quarter of the machine's."
    )
    @click.option("--spill-folder", type=click.Path(file_okay=False), metavar="FOLDER", help="Where on disk.")
    @click.option(
        "--checkpoint", type=click.Path(file_okay=False), metavar="FOLDER", help="Go on from here when called again."
    )
    @functools.wraps(command)
    def wrapped(*args: Any, **rest: Any) -> None:
        command(*args, **rest)

    return wrapped


class Size(click.ParamType[int]):
    """A number of bytes: 1500, 500MB, 2GB, 1.5GiB."""

    name = "size"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes; a unit is decimal, or binary with an i."""
        match = re.fullmatch(r"([0-9.]+) ?([kmgt]?)(i?)b?", str(value).strip(), re.IGNORECASE)
        try:
            amount = float(match[1]) if match else 0.0
        except ValueError:
            amount = 0.0
        if match is None or not amount:
            self.fail(f"{value!r} is not a size like 500MB or 2GB", param, ctx)
        return max(1, int(amount * (1024 if match[3] else 1000) ** " kmgt".index(match[2].lower() or " ")))


def errors_option(command: Command) -> Command:
    """--errors alone."""
    help = "What to do with bytes that are not UTF-8, where UTF-8 is needed: stop, or put U+FFFD there and count."
    return click.option("--errors", type=click.Choice(["strict", "replace"]), default="strict", help=help)(command)


def permission(special: tuple[str, ...]) -> Literal["none", "all", "raise"] | set[str]:
    """What --special means, given once or several times."""
    match special:
        case () | ("none",):
            return "none"
        case ("all",):
            return "all"
        case ("raise",):
            return "raise"
    if mixed := {"none", "all", "raise"} & set(special):
        raise click.UsageError(f"--special {min(mixed)} goes with no other --special")
    return set(special)
