"""Options that commands share, each as a decorator that hands the command one object instead of many arguments."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import click

import jeton

from ..corpus import MAX_EXPANSION
from ..errors import ConfigError, JetonError
from ..progress import Progress, json_lines
from .option_names import in_options

__all__ = [
    "ByteSize",
    "Command",
    "CommonOptions",
    "Count",
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

Function: TypeAlias = Callable[..., None]


class Command(click.Command):
    """A command that refuses an option given twice, where one value holds, and speaks of options in its errors."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the arguments.

        Raises:
            UsageError: an option that takes one value is given several times; click would take the last in silence.
        """
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for param in self.params:
            times = sum(each is param for each in given)
            if isinstance(param, click.Option) and times > 1 and not (param.multiple or param.is_flag or param.count):
                several = "; jeton compare takes several tokenizers" if param.opts[0] == "-t" else ""
                message = f"{' / '.join(param.opts)} is given {times} times, and {self.name} takes one{several}"
                raise click.UsageError(message, ctx)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; an error of the library names options, not keyword arguments."""
        try:
            return super().invoke(ctx)
        except JetonError as error:
            bare = isinstance(error, ConfigError)
            error.args = (in_options(str(error), self.params, bare=bare), *error.args[1:])
            raise


@dataclass(frozen=True)
class CommonOptions:
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
    """What is read as text, and how it becomes ids.

    Attributes:
        files: whether the arguments are files, globs and folders.
        field: the field of a row that holds the text.
        special: as in `Tokenizer.encode`: which special tokens a text may hold.
        add_special_tokens: whether the template's tokens are added.
        replace: whether bytes that are not UTF-8 become U+FFFD where the tokenizer needs UTF-8.
    """

    files: bool
    field: str
    special: str | set[str]
    add_special_tokens: bool
    replace: bool

    @property
    def keywords(self) -> dict[str, Any]:
        """As keyword arguments of `Tokenizer`'s methods."""
        return {"special": self.special, "add_special_tokens": self.add_special_tokens}


def common_options(command: Function) -> Function:
    """--json, -q, --progress and --threads, handed on as `CommonOptions`, the first argument."""

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
        command(CommonOptions(as_json, quiet, progress_mode, threads), **rest)

    return wrapped


def tokenizer_option(command: Function) -> Function:
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


def special_option(command: Function) -> Function:
    """--special alone; `permission` says what it means."""
    return click.option(
        "--special",
        multiple=True,
        metavar="none|all|raise|TOKEN",
        help="Which special tokens the text may hold: none of them (the default: their spelling is plain text), all, "
        "or those named (repeatable); raise: end with an error if it holds one.",
    )(command)


def text_options(command: Function) -> Function:
    """--files, --field, --special, --add-special-tokens and --errors, handed on as `options`."""

    @click.option(
        "--files",
        is_flag=True,
        help="The arguments are files, globs and folders: each file is a text, and of .jsonl, .ndjson and .parquet "
        "each row.",
    )
    @click.option("--field", default="text", show_default=True, help="The field of a row that holds the text.")
    @special_option
    @click.option("--add-special-tokens", is_flag=True, help="Add what the tokenizer's template adds (BOS, [CLS], …).")
    @errors_option
    @functools.wraps(command)
    def wrapped(
        *args: Any,
        files: bool,
        field: str,
        special: tuple[str, ...],
        add_special_tokens: bool,
        errors: str,
        **rest: Any,
    ) -> None:
        options = TextOptions(files, field, permission(special), add_special_tokens, errors == "replace")
        command(*args, options=options, **rest)

    return wrapped


def corpus_options(command: Function) -> Function:
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


def sample_options(command: Function) -> Function:
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
        type=ByteSize(),
        metavar="SIZE",
        help="Read a sample of this size (2GB, 500MB), in whole documents from all over the corpus.",
    )
    @click.option("--seed", type=click.IntRange(0, (1 << 64) - 1), default=0, metavar="N", help="Which sample.")
    @functools.wraps(command)
    def wrapped(*args: Any, **rest: Any) -> None:
        command(*args, **rest)

    return wrapped


def memory_options(command: Function) -> Function:
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


_UNITS = ("", "k", "m", "g", "t")


def _amount(value: str, pattern: str) -> int | None:
    """A number with a unit: decimal, or binary with an i; None where it is none, or no whole number."""
    match = re.fullmatch(pattern, value.strip(), re.IGNORECASE)
    if match is None:
        return None
    amount = Fraction(match[1]) * (1024 if match[3] else 1000) ** _UNITS.index(match[2].lower())
    return int(amount) if amount.denominator == 1 else None


class ByteSize(click.ParamType[int]):
    """A number of bytes: 1500, 500MB, 2GB, 1.5GiB."""

    name = "size"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes; a unit is decimal, or binary with an i."""
        amount = _amount(str(value), r"(\d+(?:\.\d+)?) ?([kmgt]?)(i?)b?")
        if not amount:
            self.fail(f"{value!r} is not a size like 500MB or 2GB", param, ctx)
        return amount


class Count(click.ParamType[int]):
    """A number of tokens, merges or texts: 32000, 32k, 1.5M; a unit is decimal, or binary with an i: 32Ki is 32768."""

    name = "number"

    def __init__(self, least: int | None = None) -> None:
        self.least = least

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        amount = value if isinstance(value, int) else _amount(value, r"(-?\d+(?:\.\d+)?)([kmgt]?)(i?)")
        if amount is None:
            self.fail(f"{value!r} is not a whole number like 32000, 32k or 1.5M", param, ctx)
        if self.least is not None and amount < self.least:
            self.fail(f"{value!r} is under {self.least}", param, ctx)
        return amount


def errors_option(command: Function) -> Function:
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
