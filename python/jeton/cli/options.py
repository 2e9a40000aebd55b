"""Options that several commands share. Decorators add the options and pass their values to a command as one object."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import click

import jeton

from ..corpus import MAX_EXPANSION
from ..corpus.kinds import INPUT_TYPES
from ..errors import MARK, JetonError
from ..formats.builtin import NAME as DEFAULT
from ..util.language import in_language
from ..util.messages import translate
from ..util.progress import Progress, json_lines
from .help_text import Context

__all__ = [
    "DEFAULT_USED",
    "ByteSize",
    "Command",
    "CommonOptions",
    "Count",
    "Share",
    "TextOptions",
    "common_options",
    "corpus_options",
    "memory_options",
    "permission",
    "sample_options",
    "selection_options",
    "special_option",
    "text_options",
    "tokenizer_option",
    "tokenizers_option",
]

Function: TypeAlias = Callable[..., None]
DEFAULT_USED = "jeton: using the default tokenizer, which does not belong to any model; select another with -t"


class Command(click.Command):
    """Click command that raises an error if an option that takes one value is given several times.

    In error messages from the library, the command replaces names of Python keyword arguments by names of options.
    """

    context_class = Context

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the arguments.

        Raises:
            UsageError: an option that takes one value is given several times; click would silently use the last value.
                A required option is missing.
        """
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for param in self.params:
            times = sum(each is param for each in given)
            if isinstance(param, click.Option) and times > 1 and not (param.multiple or param.is_flag or param.count):
                several = "; jeton compare takes several tokenizers" if param.opts[0] == "-t" else ""
                message = f"{' / '.join(param.opts)} is given {times} times, but {self.name} takes one{several}"
                raise click.UsageError(message, ctx)
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter as error:
            if error.param and error.param.multiple and "-t" in error.param.opts:
                raise click.UsageError(
                    f"no tokenizer is given; give each its own -t: {ctx.command_path} -t A -t B", ctx
                ) from None
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; in the message of an error, replaces keyword arguments by the command's options."""
        try:
            return super().invoke(ctx)
        except JetonError as error:
            error.args = (in_options(error, self.params),)
            raise


def in_options(error: JetonError, params: Sequence[click.Parameter]) -> str:
    """Returns the message of an error with keyword arguments replaced by the command's options of the same name.

    A Python call is replaced by the equivalent command. If a keyword argument of `jeton.Corpus` is replaced, the
    words "of jeton.Corpus" are removed. A hint (text after a semicolon) is left out in two cases: the hint names a
    keyword argument for which the command has no option, or the hint gives an option a value that the option does not
    accept.

    Examples:
        >>> from jeton.errors import keyword
        >>> params = click.Option(["--vocab-size", "-s"]), click.Option(["--accept-loss"], multiple=True)
        >>> message = f"{keyword('vocab_size', 100)} is below the 256 bytes; pass {keyword('pattern')}"
        >>> in_options(JetonError(message), params)
        '--vocab-size 100 is below the 256 bytes'
        >>> in_options(JetonError(f"pass {keyword('accept_loss', ['pattern', 'roles'])}"), params)
        'pass --accept-loss pattern --accept-loss roles'
    """
    options = {opt.lstrip("-").replace("-", "_"): param for param in params for opt in param.opts}
    options |= {str(param.name): param for param in params}
    clauses, known = [""], [True]
    for index, part in enumerate(error.marked.split(MARK)):
        if index % 2 == 0:
            first, *rest = part.split("; ")
            clauses[-1] += first
            clauses += rest
            known += [True] * len(rest)
            continue
        code, _, command = part.removesuffix(")").rpartition(" (")
        if code and command.startswith("jeton "):  # `jeton.errors.call` made this part
            clauses[-1] += command
            continue
        name, equals, value = re.sub(r" (of|to) jeton\.Corpus$", "", part).partition("=")
        if param := options.get(name.partition("[")[0]):  # for `tokens[0]`, uses the option of `tokens`
            clauses[-1] += _with_value(param, value)
            known[-1] &= not isinstance(param.type, click.Choice) or not value or _literal(value) in param.type.choices
        elif equals and value and "settings" in options:  # an option of a training preset
            clauses[-1] += f"--set {part}"
        else:
            clauses[-1] += part
            known[-1] &= not equals
    return "; ".join(clause for index, clause in enumerate(clauses) if known[index] or index == 0)


def _with_value(param: click.Parameter, value: str) -> str:
    """Returns the name of an option or argument, then its value. For a list, the name is repeated before each value.

    `value` is Python source. A value that is empty or contains white space is quoted.
    """
    name = max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name.strip("[].")
    if not value or (isinstance(param, click.Option) and param.is_flag):
        return name
    literal = _literal(value)
    if literal is None:
        return f"{name} {value}"
    values = literal if isinstance(literal, list | tuple | set) else [literal]
    shown = [each if each and not re.search(r"\s", each) else repr(each) for each in map(str, values)]
    return " ".join(f"{name} {each}" for each in shown) or name


def _literal(value: str) -> Any:
    """Returns the value of a Python literal; None if the text is cut off, or not a literal."""
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return None


@dataclass(frozen=True)
class CommonOptions:
    """Options of every command: output format, verbosity, progress and threads."""

    as_json: bool
    quiet: bool
    progress_mode: str
    threads: int | None

    def say(self, message: str = "") -> None:
        """Prints a message to standard error, unless ``--quiet`` is given."""
        if not self.quiet:
            sys.stdout.flush()  # so that output written before the message also appears before it
            click.echo(message, err=True)

    def warn(self, message: str) -> None:
        """Prints a warning to standard error, even with ``--quiet``."""
        click.echo(translate("jeton: warning: {message}", message=in_language(message)), err=True)

    @property
    def progress(self) -> Progress:
        """Value of the ``progress=`` argument of the library's functions."""
        if self.progress_mode == "json":
            return json_lines()
        return False if self.quiet or self.progress_mode == "none" else None


@dataclass(frozen=True)
class TextOptions:
    """Options for reading and encoding texts.

    Attributes:
        files: whether the arguments are files, globs and folders.
        field: field of a row that holds the text.
        special: permitted special tokens, as in `Tokenizer.encode`.
        add_special_tokens: whether to apply the tokenizer's template.
        replace: whether to replace invalid UTF-8 with U+FFFD, if the tokenizer needs valid UTF-8.
    """

    files: bool
    field: str
    special: str | set[str]
    add_special_tokens: bool
    replace: bool

    @property
    def keywords(self) -> dict[str, Any]:
        """Returns the keyword arguments for the encoding methods of `Tokenizer`."""
        return {"special": self.special, "add_special_tokens": self.add_special_tokens}


def common_options(command: Function) -> Function:
    """Adds --json, -q, --progress and --threads; passes their values as first argument, a `CommonOptions`."""

    @click.option("--json", "as_json", is_flag=True, help="Output JSON, one object per line.")
    @click.option("-q", "--quiet", is_flag=True, help="Print only results, warnings and errors.")
    @click.option(
        "--progress",
        "progress_mode",
        type=click.Choice(["auto", "none", "json"]),
        default="auto",
        help="auto: a bar when standard error is a terminal; json: one object per line on standard error.",
    )
    @click.option("--threads", type=click.IntRange(1), metavar="N", help="Number of threads. Default: all cores.")
    @functools.wraps(command)
    def wrapped(as_json: bool, quiet: bool, progress_mode: str, threads: int | None, **rest: Any) -> None:
        command(CommonOptions(as_json, quiet, progress_mode, threads), **rest)

    return wrapped


def tokenizer_option(command: Function) -> Function:
    """Adds -t and --pattern, and passes the loaded tokenizer as `tok`; without -t, loads the default tokenizer."""

    @click.option(
        "-t",
        "--tokenizer",
        "name",
        metavar="PATH|NAME",
        help="The tokenizer: a file or folder of any supported format, or a name (see jeton names). Default: the one "
        "that ships with Jeton.",
    )
    @click.option("--pattern", metavar="NAME|REGEX", help="Pattern, for formats without one (rank files).")
    @functools.wraps(command)
    def wrapped(*args: Any, name: str | None, pattern: str | None, quiet: bool, **rest: Any) -> None:
        if name is not None:
            tok = jeton.load(name, pattern=pattern)
        elif pattern is not None:
            raise click.UsageError("--pattern applies to a rank file, given with -t")
        else:
            tok = jeton.default()
            if not quiet:
                click.echo(translate(DEFAULT_USED), err=True)
        command(*args, tok=tok, quiet=quiet, **rest)

    return wrapped


def tokenizers_option(*, required: bool = False) -> Callable[[Function], Function]:
    """Adds --pattern, and a -t that can be given several times.

    Their values are passed as `pattern` and `names`. Without -t, `names` contains the default tokenizer.
    """

    def decorate(command: Function) -> Function:
        default = "" if required else " Default: the one that ships with Jeton."

        @click.option(
            "-t",
            "--tokenizer",
            "names",
            required=required,
            multiple=True,
            metavar="PATH|NAME",
            help=f"A tokenizer: a file or folder of any supported format, or a name (repeatable).{default}",
        )
        @click.option("--pattern", metavar="NAME|REGEX", help="Pattern, for formats without one (rank files).")
        @functools.wraps(command)
        def wrapped(*args: Any, names: tuple[str, ...], quiet: bool, **rest: Any) -> None:
            if not names and not quiet:
                click.echo(translate(DEFAULT_USED), err=True)
            command(*args, names=names or (DEFAULT,), quiet=quiet, **rest)

        return wrapped

    return decorate


def special_option(command: Function) -> Function:
    """Adds --special; the command converts the values of this option with `permission`."""
    return click.option(
        "--special",
        multiple=True,
        metavar="none|all|raise|TOKEN",
        help="Special tokens permitted in the text: none (the default: their spelling is plain text), all, or those "
        "named (repeatable); raise: fail if the text contains one.",
    )(command)


def text_options(command: Function) -> Function:
    """Adds --files, --field, --special, --add-special-tokens and --errors; passes `options`, a `TextOptions`."""

    @click.option(
        "--files",
        is_flag=True,
        help="Read the arguments as files, globs and folders. A text file is one text; in files of rows (.jsonl, "
        ".json, .csv, .parquet, .arrow), each row is one.",
    )
    @click.option("--field", default="text", show_default=True, help="Field that holds the text, in files of rows.")
    @special_option
    @click.option("--add-special-tokens", is_flag=True, help="Add the template's special tokens (BOS, [CLS], …).")
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


_READING = (
    "documents", "field", "errors", "encoding", "sample_bytes", "seed", "include", "exclude", "input_type"
)  # fmt: skip


def selection_options(command: Function) -> Function:
    """Adds --include, --exclude and --input-type.

    Their values are passed as `include`, `exclude` and `input_type`: keyword arguments of `jeton.Corpus`.
    """

    @click.option(
        "--include",
        multiple=True,
        metavar="GLOB",
        help="Read only matching files, including types that are otherwise skipped in folders, such as '*.md' "
        "(repeatable).",
    )
    @click.option("--exclude", multiple=True, metavar="GLOB", help="Skip matching files (repeatable).")
    @click.option(
        "--input-type",
        type=click.Choice(INPUT_TYPES),
        default="auto",
        help="Type of all files. Default: by suffix, and by content for .json.",
    )
    @functools.wraps(command)
    def wrapped(*args: Any, **rest: Any) -> None:
        command(*args, **rest)

    return wrapped


def corpus_options(command: Function) -> Function:
    """Adds CORPUS..., --documents, --field, --encoding, --max-expansion, --errors and the `selection_options`.

    The command gets `corpus`, and a dict `reading` of keyword arguments for `jeton.Corpus`. `reading` has the values of
    all these options, and of --sample and --seed (see `sample_options`).
    """

    @click.argument("corpus", nargs=-1, required=True, metavar="CORPUS...")
    @click.option(
        "--documents",
        type=click.Choice(["file", "line"]),
        default="file",
        help="What is a document of a text file: the whole file, or a line.",
    )
    @click.option("--field", default="text", show_default=True, help="Field that holds the text, in files of rows.")
    @click.option(
        "--encoding", default="utf-8", show_default=True, metavar="NAME", help="Encoding of text files: gb18030, …"
    )
    @click.option(
        "--max-expansion",
        type=click.IntRange(0),
        default=MAX_EXPANSION,
        show_default=True,
        metavar="N",
        help="Maximum ratio of decompressed to compressed size of a file; 0: unlimited.",
    )
    @click.option(
        "--errors",
        type=click.Choice(["strict", "replace", "skip"]),
        default="strict",
        show_default=True,
        help="Policy for bytes that are not UTF-8: fail; replace them with U+FFFD and count them; or skip the record. "
        "skip also omits rows and files that cannot be read, with a warning and exit code 3.",
    )
    @selection_options
    @functools.wraps(command)
    def wrapped(*args: Any, max_expansion: int, **rest: Any) -> None:
        reading = {name: rest.pop(name) for name in _READING if name in rest}
        command(*args, reading={**reading, "max_expansion": max_expansion or None}, **rest)

    return wrapped


def sample_options(command: Function) -> Function:
    """Adds --weight, --sample and --seed.

    The command gets the weights as `weights`. `corpus_options` puts the other two options into `reading`.
    """

    @click.option(
        "--weight",
        "weights",
        type=float,
        multiple=True,
        metavar="W",
        help="Weight of the counts of a CORPUS (repeatable: one for each, in order).",
    )
    @click.option(
        "--sample",
        "sample_bytes",
        type=ByteSize(),
        metavar="SIZE",
        help="Train on a random sample of whole documents of this size (2GB, 500MB).",
    )
    @click.option("--seed", type=click.IntRange(0, (1 << 64) - 1), default=0, metavar="N", help="Seed of the sample.")
    @functools.wraps(command)
    def wrapped(*args: Any, **rest: Any) -> None:
        command(*args, **rest)

    return wrapped


def memory_options(command: Function) -> Function:
    """Adds --memory-limit, --spill-folder and --checkpoint, passed as `limits`."""

    @click.option(
        "--memory-limit",
        metavar="SIZE",
        help="Spill to disk above this size: 500MB, 2GiB. Default: a quarter of the machine's memory.",
    )
    @click.option("--spill-folder", type=click.Path(file_okay=False), metavar="FOLDER", help="Folder for spilled data.")
    @click.option(
        "--checkpoint",
        type=click.Path(file_okay=False),
        metavar="FOLDER",
        help="Save checkpoints here, and resume from them.",
    )
    @functools.wraps(command)
    def wrapped(
        *args: Any, memory_limit: str | None, spill_folder: str | None, checkpoint: str | None, **rest: Any
    ) -> None:
        limits = jeton.Limits(memory_limit=memory_limit, spill_folder=spill_folder, checkpoint=checkpoint)
        command(*args, limits=limits, **rest)

    return wrapped


_UNITS = ("", "k", "m", "g", "t")


def _amount(value: str, pattern: str) -> int | None:
    """Parses an integer with a decimal unit (k) or binary unit (Ki); None if it is invalid or not an integer."""
    match = re.fullmatch(pattern, value.strip(), re.IGNORECASE)
    if match is None or len(match[1]) > 40:  # a limit, because Python rejects very long numbers
        return None
    amount = Fraction(match[1]) * (1024 if match[3] else 1000) ** _UNITS.index(match[2].lower())
    return int(amount) if amount.denominator == 1 else None


class ByteSize(click.ParamType[int]):
    """Type of a parameter that is a number of bytes: 1500, 500MB, 2GB, 1.5GiB."""

    name = "size"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parses the size; units are decimal (MB) or binary (MiB)."""
        amount = _amount(str(value), r"(\d+(?:\.\d+)?) ?([kmgt]?)(i?)b?")
        if not amount:
            self.fail(f"{value!r} is not a size like 500MB or 2GB", param, ctx)
        return amount


class Count(click.ParamType[int]):
    """Type of a parameter that is a number of tokens, merges or texts: 32000, 32k, 1.5M, or binary 32Ki (32768)."""

    name = "number"

    def __init__(self, least: int | None = None) -> None:
        self.least = least

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parses the number."""
        amount = value if isinstance(value, int) else _amount(value, r"(-?\d+(?:\.\d+)?)([kmgt]?)(i?)")
        if amount is None:
            self.fail(f"{value!r} is not a whole number like 32000, 32k or 1.5M", param, ctx)
        if self.least is not None and amount < self.least:
            self.fail(f"{value!r} is less than {self.least}", param, ctx)
        return amount


class RowLength(click.ParamType[int]):
    """Type of a parameter that is the length of a row: 2048, 2Ki. 2k is rejected: it could be 2000 or 2048."""

    name = "length"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parses the length."""
        match = re.fullmatch(r"([0-9]{1,15})(ki)?", str(value).strip(), re.IGNORECASE)
        if match is None:
            self.fail(f"{value!r} is not a length like 2048 or 2Ki; 2k could be 2000 or 2048", param, ctx)
        length = int(match[1]) * (1024 if match[2] else 1)
        if length < 2:
            self.fail(f"{value!r} is less than 2", param, ctx)
        return length


class Share(click.ParamType[tuple[str, Fraction]]):
    """Type of a parameter that is a share from 0 to 1, with an optional name: ``0.01``, ``test=0.01``."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Fraction]:
        """Parses the name and the share."""
        name, equals, text = str(value).rpartition("=")
        if not re.fullmatch(r"0?\.[0-9]{1,30}", text):
            self.fail(f"{value!r} is not a share between 0 and 1, like 0.01 or test=0.01", param, ctx)
        return name if equals else "validation", Fraction(text)


def errors_option(command: Function) -> Function:
    """Adds --errors."""
    help = "Policy for bytes that are not UTF-8, if the tokenizer needs UTF-8: fail, or replace them with U+FFFD."
    return click.option(
        "--errors", type=click.Choice(["strict", "replace"]), default="strict", show_default=True, help=help
    )(command)


def permission(special: tuple[str, ...]) -> Literal["none", "all", "raise"] | set[str]:
    """Converts the values of --special to the argument of `Tokenizer.encode`."""
    match special:
        case () | ("none",):
            return "none"
        case ("all",):
            return "all"
        case ("raise",):
            return "raise"
    if mixed := {"none", "all", "raise"} & set(special):
        raise click.UsageError(f"--special {min(mixed)} cannot be combined with another --special")
    return set(special)
