"""Every error that Jeton raises, in one tree.

Each class is also the builtin that fits, so ``except ValueError`` keeps working for whoever does not know Jeton. The
message says what was given, what was expected and what to do; the facts in it are attributes too. All facts are
keyword-only and optional: the Rust binding makes an error from its message alone and sets attributes afterwards, and
pickling needs nothing else.

Left out: files that are missing or unreadable stay plain `OSError`, as everywhere in Python. This module imports
nothing of ours.
"""

from __future__ import annotations

__all__ = [
    "ChatTemplateError",
    "ConfigError",
    "DecodeError",
    "DownloadError",
    "FormatError",
    "InvalidTextError",
    "JetonError",
    "LossyConversionWarning",
    "MissingDependencyError",
    "SpecialTokenError",
    "TrainingError",
    "UnknownTokenError",
    "UnsupportedFeatureError",
]


class JetonError(Exception):
    """The root of the tree: ``except jeton.JetonError`` catches all that Jeton raises on purpose.

    Examples:
        >>> issubclass(ConfigError, JetonError) and issubclass(ConfigError, ValueError)
        True
    """


class ConfigError(JetonError, ValueError):
    """An option or a combination of options that cannot work.

    Attributes:
        option: the option's name as the caller wrote it (``"vocab_size"``), if one alone is to blame.

    Examples:
        >>> ConfigError("vocab_size=100 is below the 256 bytes of the alphabet", option="vocab_size").option
        'vocab_size'
    """

    def __init__(self, message: str = "", *, option: str | None = None) -> None:
        super().__init__(message)
        self.option = option


class FormatError(JetonError, ValueError):
    """A file that is not what its format says: truncated, corrupt, contradictory or hostile.

    Attributes:
        format: the format's name (``"tokenizer.json"``, ``"gzip"``, ``"jsonl"``).
        place: where in the file: a line, a byte or a JSON path, in words.

    Examples:
        >>> FormatError("no such token", format="tokenizer.json", place="model.merges[3]").place
        'model.merges[3]'
    """

    def __init__(self, message: str = "", *, format: str | None = None, place: str | None = None) -> None:
        super().__init__(message)
        self.format = format
        self.place = place


class UnsupportedFeatureError(FormatError):
    """A sound file with a feature that Jeton does not carry; refused by name, for a wrong id would be worse.

    Attributes:
        feature: the feature's name as the format spells it.

    Examples:
        >>> UnsupportedFeatureError("Parquet is not carried yet", format="parquet", feature="parquet").feature
        'parquet'
    """

    def __init__(
        self, message: str = "", *, format: str | None = None, place: str | None = None, feature: str | None = None
    ) -> None:
        super().__init__(message, format=format, place=place)
        self.feature = feature


class UnknownTokenError(JetonError, KeyError):
    """An id outside the vocabulary or in one of its holes, or a token that is not in it.

    Attributes:
        id: the id, when an id was given.
        position: its index in the sequence that was given.

    Examples:
        >>> print(UnknownTokenError("id 999 at position 2 is not in the vocabulary", id=999, position=2))
        id 999 at position 2 is not in the vocabulary
    """

    def __init__(self, message: str = "", *, id: int | None = None, position: int | None = None) -> None:
        super().__init__(message)
        self.id = id
        self.position = position

    # KeyError prints the repr of its only argument; a sentence in quotes with escapes is not for people.
    __str__ = Exception.__str__


class SpecialTokenError(JetonError, ValueError):
    """A special token's spelling in a text that must not hold one, or a special token that the tokenizer does not have.

    Attributes:
        token: the special token's spelling.
        position: where it begins in the text, in characters for `str` and in bytes for `bytes`.
        index: the text's index in a batch.

    Examples:
        >>> SpecialTokenError("the text holds <|end|> at 5", token="<|end|>", position=5).token
        '<|end|>'
    """

    def __init__(
        self, message: str = "", *, token: str | None = None, position: int | None = None, index: int | None = None
    ) -> None:
        super().__init__(message)
        self.token = token
        self.position = position
        self.index = index


class InvalidTextError(JetonError, ValueError):
    """Text that is not Unicode: invalid UTF-8, a lone surrogate, or a character the tokenizer cannot express.

    Attributes:
        position: where: the byte for `bytes` and files, the character for `str`.
        source: the file (or document of a corpus) that holds it, if it is known.
        index: the text's index in a batch.

    Examples:
        >>> InvalidTextError("notes.txt: byte 17 is not UTF-8", position=17, source="notes.txt").position
        17
    """

    def __init__(
        self, message: str = "", *, position: int | None = None, source: str | None = None, index: int | None = None
    ) -> None:
        super().__init__(message)
        self.position = position
        self.source = source
        self.index = index


class ChatTemplateError(JetonError, ValueError):
    """A chat template that is broken, missing or hostile, or that refuses the messages.

    Attributes:
        line: the line of the template, where one is known.

    Examples:
        >>> ChatTemplateError("the chat template refuses in line 3: roles must alternate", line=3).line
        3
    """

    def __init__(self, message: str = "", *, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class DecodeError(JetonError, ValueError):
    """Ids whose bytes are not UTF-8, where ``errors="strict"`` asked for text.

    Attributes:
        position: the first byte of the decoded bytes that is not UTF-8.

    Examples:
        >>> DecodeError("the bytes of these ids are not UTF-8 at byte 2", position=2).position
        2
    """

    def __init__(self, message: str = "", *, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


class DownloadError(JetonError, OSError):
    """A tokenizer that has a name, is not on this machine, and cannot be downloaded; the message says what to do.

    Attributes:
        url: where it was looked for.
        path: where the file belongs on this machine, if it belongs at one place.

    Examples:
        >>> issubclass(DownloadError, OSError)
        True
    """

    def __init__(self, message: str = "", *, url: str | None = None, path: str | None = None) -> None:
        super().__init__(message)
        self.url = url
        self.path = path


class TrainingError(JetonError, RuntimeError):
    """Training that cannot go on: an empty corpus, a count that does not fit.

    Examples:
        >>> issubclass(TrainingError, RuntimeError)
        True
    """


class MissingDependencyError(JetonError, ImportError):
    """An optional package that is needed here and not installed; the message says which extra brings it.

    Attributes:
        extra: the extra to install (``pip install 'jeton[data]'``).

    Examples:
        >>> MissingDependencyError("reading .zst needs zstandard: pip install 'jeton[data]'", extra="data").extra
        'data'
    """

    def __init__(self, message: str = "", *, extra: str | None = None) -> None:
        super().__init__(message)
        self.extra = extra


class LossyConversionWarning(UserWarning):
    """A conversion that lost something the caller accepted by name; the file records it too.

    Examples:
        >>> issubclass(LossyConversionWarning, UserWarning)
        True
    """
