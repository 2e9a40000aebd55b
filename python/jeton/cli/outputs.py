"""Checks output paths before a command does its work, and saves to a fallback path if saving fails."""

from __future__ import annotations

import errno
import os
import tempfile
import warnings
from collections.abc import Callable, Collection
from pathlib import Path

import click

import jeton

from ..errors import JetonError, LossyConversionWarning
from ..formats import format_of
from ..util.atomic import is_stream, write_atomically
from ..util.optional import import_optional
from .options import CommonOptions

__all__ = ["check_file", "check_plot", "check_tokenizer", "save_tokenizer"]


def check_file(path: str | None) -> None:
    """Checks that a file can be written to a path; None is accepted.

    Raises:
        UsageError: the path is empty.
        OSError: its folder does not exist or is not writable, or the path is a folder.
    """
    if path is None:
        return
    if not path:
        raise click.UsageError("the name of an output is empty")
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, "is a folder, but the output must be a file", path)
    if not is_stream(path):
        _check_folder(Path(path).parent)


def check_plot(path: str | None) -> None:
    """Checks the path of a plot, and that matplotlib is installed.

    Raises:
        OSError: as `check_file`.
        MissingDependencyError: matplotlib is not installed.
    """
    check_file(path)
    if path is not None:
        if Path(path).suffix.lower() not in (".png", ".svg", ".pdf"):
            raise click.UsageError(f"{path}: the suffix of a plot is .png, .svg or .pdf")
        import_optional("matplotlib", "a plot", "plot")


def check_tokenizer(
    path: str | None, accept_loss: Collection[str] = (), small: Callable[[], jeton.Tokenizer | None] = lambda: None
) -> None:
    """Checks the output path of a tokenizer: its suffix must name a format, and the format must support the tokenizer.

    Args:
        path: output path; None is accepted.
        accept_loss: as in `Tokenizer.save`.
        small: function that returns a small tokenizer of the same kind, to save as a trial; if it returns None, no
            trial is made.

    Raises:
        ConfigError: no format has the suffix.
        UnsupportedFeatureError: the format cannot store the small tokenizer.
    """
    if path is None:
        return
    if not path:
        raise click.UsageError("the name of an output is empty")
    target = Path(path)
    format = format_of(path)
    if not is_stream(path):
        _check_folder(target if target.is_dir() else target.parent)
    if (format == "tokenizer.json" and not accept_loss) or (tok := small()) is None:
        return
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", LossyConversionWarning)
        tok.save(Path(folder, target.name or "out"), format=format, accept_loss=accept_loss)


def save_tokenizer(common: CommonOptions, tok: jeton.Tokenizer, path: str, accept_loss: Collection[str] = ()) -> None:
    """Saves a tokenizer. If saving fails, saves a tokenizer.json beside the path or in the temporary folder, prints its
    path, and raises the error.
    """
    try:
        tok.save(path, accept_loss=accept_loss)
    except (JetonError, OSError):
        beside = Path(path).absolute()
        for folder in (beside.parent, Path(tempfile.gettempdir())):
            rescued = folder / f"{beside.name}.tokenizer.json"
            try:
                with write_atomically(rescued, replace=False) as file:
                    file.write(tok.to_bytes())
            except (JetonError, OSError):
                continue
            common.warn(
                f"{path} could not be saved; the tokenizer was saved to {rescued} instead, and jeton convert can "
                "convert it"
            )
            break
        raise


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder to save in does not exist", str(folder))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "the folder to save in cannot be written", str(folder))
