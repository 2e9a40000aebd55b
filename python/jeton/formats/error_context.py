"""Errors of the core, made errors of a file: with its name and format."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import ConfigError, FormatError, JetonError, UnsupportedFeatureError

__all__ = ["LOSSES", "error_context", "refuse_losses"]

# what `accept_loss` takes: the names that the formats give to what they leave out
LOSSES = (
    "added_tokens", "byte_fallback", "chat_template", "decoder", "end_of_word", "model", "normalizer", "pattern",
    "precompiled_charsmap", "pretokenizer", "roles", "scores", "single_precision", "special_tokens", "template",
    "treat_whitespace_as_suffix", "unk_token", "unused", "user_defined", "whole_first",
)  # fmt: skip


@contextmanager
def error_context(source: str, format: str) -> Iterator[None]:
    """What goes wrong while a file is read names the file.

    Raises:
        FormatError, UnsupportedFeatureError: with source and format. Entries that contradict each other are the file's
            fault; an option that the caller gave stays a `ConfigError`.
    """
    try:
        yield
    except UnsupportedFeatureError as error:
        raise UnsupportedFeatureError(
            f"{source}: {error}", format=format, place=error.place, feature=error.feature
        ) from None
    except FormatError as error:
        raise FormatError(f"{source}: {error}", format=format, place=error.place) from None
    except ConfigError as error:
        if error.option is not None:
            raise
        raise FormatError(f"{source}: {error}", format=format, place="its entries") from None
    except JetonError as error:
        raise FormatError(f"{source}: {error}", format=format, place="its entries") from None


def refuse_losses(losses: dict[str, str], accept_loss: object, format: str) -> None:
    """Refuses what a format cannot hold, unless the caller accepts its loss by name.

    Raises:
        UnsupportedFeatureError: a loss that was not accepted.
    """
    for name, what in losses.items():
        if not isinstance(accept_loss, (list, tuple, set, frozenset, dict)) or name not in accept_loss:
            raise UnsupportedFeatureError(
                f"{format} cannot hold {what}; to write it all the same, pass accept_loss={list(losses)}",
                format=format,
                feature=name,
            )
