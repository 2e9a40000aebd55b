"""Runs a command: returns exit codes, and prints one-line messages for `JetonError` and `OSError`.

Left out: other exceptions, which are bugs of Jeton and keep their traceback.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TextIO

import click

from ..errors import JetonError
from ..util.language import chosen_language, in_language, use_language
from ..util.messages import is_translated, translate

__all__ = ["DIFFERENT", "DONE", "FAILED", "INTERRUPTED", "SKIPPED", "USAGE", "run"]

DONE, FAILED, USAGE, SKIPPED, DIFFERENT, INTERRUPTED = 0, 1, 2, 3, 4, 130


def run(command: click.Group, args: list[str] | None) -> int:
    """Runs a command line and returns its exit code; all messages are written to standard error."""
    if "_JETON_COMPLETE" in os.environ:
        command.main(args, "jeton")  # shell completion, implemented by click
    with use_language(chosen_language(os.environ)):
        _write_utf8()
        return _run(command, args)


def _run(command: click.Group, args: list[str] | None) -> int:
    try:
        with (
            _logged() as logged,
            command.make_context("jeton", list(sys.argv[1:] if args is None else args)) as context,
        ):
            command.invoke(context)
        sys.stdout.flush()  # raises BrokenPipeError here if the reader has closed the pipe
        return SKIPPED if logged.skipped else DONE
    except click.exceptions.Exit as finished:
        return finished.exit_code
    except click.ClickException as error:
        _show(error)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        _say(translate("interrupted"))
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe (`jeton vocab | head`). Standard output is redirected, because otherwise Python
        # would report the closed pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except JetonError as error:
        _say(in_language(str(error)))
        return FAILED
    except OSError as error:
        _say(in_language(_system_message(error)))
        return FAILED
    except MemoryError:
        _say(translate("out of memory"))
        return FAILED


class _Handler(logging.StreamHandler[TextIO]):
    """Log handler that records whether the library skipped corpus records."""

    skipped = False

    def __init__(self) -> None:
        super().__init__()
        self._once: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        self.skipped = self.skipped or bool(getattr(record, "skipped", 0))
        if getattr(record, "once", False):  # a command that opens a corpus several times logs such a record each time
            if record.getMessage() in self._once:
                return
            self._once.add(record.getMessage())
        super().emit(record)

    def format(self, record: logging.LogRecord) -> str:
        return translate("jeton: warning: {message}", message=in_language(record.getMessage()))


@contextmanager
def _logged() -> Iterator[_Handler]:
    """Prints what the library logs, for example that training stopped early, as warnings to standard error."""
    logger, handler = logging.getLogger("jeton"), _Handler()
    logger.addHandler(handler)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)


def _write_utf8() -> None:
    """Sets standard output to UTF-8, because a file or a pipe may have another encoding (Windows)."""
    if is_translated() and isinstance(sys.stdout, TextIOWrapper) and sys.stdout.encoding.lower() != "utf-8":
        sys.stdout.reconfigure(encoding="utf-8")


def _show(error: click.ClickException) -> None:
    """Prints a usage error in click's form, in the chosen language."""
    # Without arguments, a group raises its help as an error (click 8.2); the formatter has translated it already.
    if not is_translated() or isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
        error.show()
        return
    if isinstance(error, click.UsageError) and (context := error.ctx) is not None:
        click.echo(context.get_usage(), err=True)
        click.echo(translate("Try '{command} --help' for help.", command=context.command_path) + "\n", err=True)
    click.echo(translate("Error: {message}", message=in_language(error.format_message())), err=True)


def _say(message: str) -> None:
    """Prints a message on one line of standard error, after the name of the program."""
    print("jeton: " + " ".join(message.splitlines()), file=sys.stderr)


def _system_message(error: OSError) -> str:
    """Formats an `OSError` without its number, and without a hint for Python callers (text after a semicolon)."""
    if error.strerror is None:
        return str(error)
    reason = error.strerror.partition(";")[0]
    return f"{os.fsdecode(error.filename)}: {reason}" if isinstance(error.filename, str | bytes) else reason
