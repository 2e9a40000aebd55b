"""Options and input of the commands that cut texts: ``truncate`` and ``split``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from ..errors import InvalidTextError
from .options import CommonOptions, Count, TextOptions
from .streams import InputText, repaired

__all__ = ["cut_options", "text_argument"]

Function = TypeVar("Function", bound=Callable[..., Any])


def cut_options(units: Sequence[str]) -> Callable[[Function], Function]:
    """Adds the options -n and --at (one of `units`), passed as `max_tokens` and `at`."""
    limit = click.option(
        "-n", "--max-tokens", "max_tokens", type=Count(0), required=True, metavar="N", help="Maximum number of tokens."
    )
    unit = click.option(
        "--at",
        type=click.Choice(units),
        default="character",
        show_default=True,
        help="Cut only at boundaries of this unit. If not even one unit fits, the next smaller unit is used.",
    )
    return lambda command: limit(unit(command))


def text_argument(common: CommonOptions, text: InputText, options: TextOptions) -> str:
    """Returns the text as `str`; invalid UTF-8 raises an error, or becomes U+FFFD with ``--errors replace``."""

    def decoded(data: bytes | str) -> str:
        try:
            return data if isinstance(data, str) else data.decode()
        except UnicodeDecodeError as error:
            raise InvalidTextError(
                f"the text is not UTF-8 at byte {error.start} ({error.reason}); --errors replace writes U+FFFD instead",
                position=error.start,
            ) from None

    return repaired(common, text, options, decoded)
