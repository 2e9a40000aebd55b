"""Running a command: its exit code, and one clear line instead of a traceback for everything that can go wrong
outside Jeton.

Left out: errors of Jeton itself. What is neither a `JetonError` nor the system's is a bug, and keeps its traceback.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import click

from ..errors import JetonError

__all__ = ["DIFFERENT", "DONE", "FAILED", "INTERRUPTED", "SKIPPED", "USAGE", "run"]

DONE, FAILED, USAGE, SKIPPED, DIFFERENT, INTERRUPTED = 0, 1, 2, 3, 4, 130


def run(command: click.Group, args: list[str] | None) -> int:
    """Runs a command line and says how it went; all messages go to standard error."""
    if "_JETON_COMPLETE" in os.environ:
        command.main(args, "jeton")  # a shell asks for completions, and click answers
    try:
        with (
            _logged() as logged,
            command.make_context("jeton", list(sys.argv[1:] if args is None else args)) as context,
        ):
            command.invoke(context)
        sys.stdout.flush()  # here, so that a reader who has gone away is noticed here
        return SKIPPED if logged.skipped else DONE
    except click.exceptions.Exit as finished:
        return finished.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has what it wanted (`jeton vocab | head`). Python would complain once more when it closes the
        # stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except JetonError as error:
        _say(str(error))
        return FAILED
    except OSError as error:
        _say(_system_words(error))
        return FAILED
    except MemoryError:
        _say("out of memory")
        return FAILED


class _Handler(logging.StreamHandler[TextIO]):
    """Writes what the library logs, and remembers whether records were skipped."""

    skipped = False

    def emit(self, record: logging.LogRecord) -> None:
        self.skipped = self.skipped or bool(getattr(record, "skipped", 0))
        super().emit(record)


@contextmanager
def _logged() -> Iterator[_Handler]:
    """What the library logs (training that stopped early, replaced bytes) becomes warnings on standard error."""
    logger, handler = logging.getLogger("jeton"), _Handler()
    handler.setFormatter(logging.Formatter("jeton: warning: %(message)s"))
    logger.addHandler(handler)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)


def _say(message: str) -> None:
    """One line, whatever the message holds."""
    print("jeton: " + " ".join(message.splitlines()), file=sys.stderr)


def _system_words(error: OSError) -> str:
    """The system's error without its number. What follows a semicolon is a hint for Python callers (see ``corpus``)."""
    if error.strerror is None:
        return str(error)
    reason = error.strerror.partition(";")[0]
    return f"{os.fsdecode(error.filename)}: {reason}" if isinstance(error.filename, str | bytes) else reason
