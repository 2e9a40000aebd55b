"""Conversion of errors of the core to errors of a file, with its name and format."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import ConfigError, FormatError, JetonError, UnsupportedFeatureError

__all__ = ["LOSSES", "error_context", "refuse_losses"]

# names of losses that `accept_loss` accepts
LOSSES = (
    "added_tokens", "byte_fallback", "chat_template", "decoder", "end_of_word", "model", "normalizer", "pattern",
    "precompiled_charsmap", "pretokenizer", "roles", "scores", "single_precision", "special_tokens", "template",
    "treat_whitespace_as_suffix", "unk_token", "unused", "user_defined", "whole_first",
)  # fmt: skip


@contextmanager
def error_context(source: str, format: str) -> Iterator[None]:
    """Adds the file's name and format to errors that are raised while it is read.

    Raises:
        FormatError, UnsupportedFeatureError: with source and format. Contradictory entries are a `FormatError`; an
            error in an argument of the caller stays a `ConfigError`.
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
    """Rejects losses that the caller has not accepted by name.

    Raises:
        UnsupportedFeatureError: a loss that was not accepted.
    """
    for name, what in losses.items():
        if not isinstance(accept_loss, (list, tuple, set, frozenset, dict)) or name not in accept_loss:
            raise UnsupportedFeatureError(
                f"{format} does not support {what}; to write the file without it, pass accept_loss={list(losses)}",
                format=format,
                feature=name,
            )
