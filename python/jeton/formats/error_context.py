"""Conversion of errors of the core to errors that name the file and its format."""

from __future__ import annotations

from ..errors import ConfigError, FormatError, JetonError, UnsupportedFeatureError, keyword

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["LOSSES", "error_context", "refuse_losses"]

# names of losses that the argument `accept_loss` can contain
LOSSES = (
    "added_tokens", "byte_fallback", "chat_template", "decoder", "end_of_word", "model", "normalizer", "pattern",
    "precompiled_charsmap", "pretokenizer", "roles", "scores", "single_precision", "special_tokens", "template",
    "treat_whitespace_as_suffix", "unk_token", "unused", "user_defined", "whole_first",
)  # fmt: skip
MAX_LOSSES = 400  # maximum number of characters of the list of losses in a message


class error_context:  # noqa: N801  (used as a function, like those of `contextlib`)
    """Context manager that adds a file's name and format to errors that are raised while the file is read.

    Raises:
        FormatError, UnsupportedFeatureError: with source and format. A `ConfigError` about entries of the file becomes
            a `FormatError`; a `ConfigError` about an argument of the caller stays as it is.
    """

    def __init__(self, source: str, format: str) -> None:
        self._source = source
        self._format = format

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, JetonError):
            return
        message = f"{self._source}: {error.marked}"
        if isinstance(error, UnsupportedFeatureError):
            raise UnsupportedFeatureError(
                message, format=self._format, place=error.place, feature=error.feature
            ) from None
        if isinstance(error, FormatError):
            raise FormatError(message, format=self._format, place=error.place) from None
        if isinstance(error, ConfigError) and error.option is not None:
            return
        raise FormatError(message, format=self._format, place="its entries") from None


def refuse_losses(
    losses: dict[str, str], accept_loss: Collection[str], format: str, *, file: str | None = None
) -> None:
    """Rejects losses that the caller has not accepted by name.

    Raises:
        UnsupportedFeatureError: a loss was not accepted.
    """
    for name, what in losses.items():
        if name not in accept_loss:
            raise UnsupportedFeatureError(
                f"{file or format} does not support {what}; to accept this loss, pass "
                f"{keyword('accept_loss', list(losses), most=MAX_LOSSES)}",
                format=format,
                feature=name,
            )
