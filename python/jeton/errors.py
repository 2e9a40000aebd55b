"""Exception hierarchy of Jeton.

Each class also derives from a matching builtin, so generic code such as ``except ValueError`` works. A message states
the given value, the expected value and the remedy; the details are attributes, too. All attributes are keyword-only
and optional: the Rust binding and pickling construct an error from its message alone and set attributes afterwards.

In a message, each option is enclosed in two `MARK`s, which functions such as `keyword` insert. ``str(error)`` shows
the option as a keyword argument, without the marks. The command line replaces the keyword argument by the command's
option, such as ``--vocab-size``.

Left out: missing or unreadable files, which raise plain `OSError`. This module imports no other module of Jeton.
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
    "ShardError",
    "SpecialTokenError",
    "TrainingError",
    "UnknownTokenError",
    "UnsupportedFeatureError",
]

MAX_SHOWN = 80  # in a message, a longer value is cut off after this many characters
MARK = "\x1f\x1e"  # delimits options in a message; occurs in no `repr` and in no file name


def keyword(name: str, *value: object, most: int = MAX_SHOWN) -> str:
    """Returns a keyword argument for a message, between two `MARK`s, with or without its value.

    Args:
        name: name of the argument, or an item of the argument: ``"sizes[1]"``.
        value: one value, which is shown after the name; or no value: then only the name is shown.
        most: longer values are cut off after this many characters.

    Examples:
        >>> print(ConfigError(f"{keyword('vocab_size', 7)} is too small; pass {keyword('pattern')}"))
        vocab_size=7 is too small; pass pattern=
    """
    return named(f"{name}={''.join(shown(each, most) for each in value)}")


def named(option: str) -> str:
    """Encloses an option in two `MARK`s for a message. `option` is a bare name, or ``name=value``.

    Examples:
        >>> print(ConfigError(f"{named('end_of_word')} marks words"))
        end_of_word marks words
    """
    return f"{MARK}{option}{MARK}"


def call(code: str, command: str) -> str:
    """Returns a Python call, followed by the equivalent command in parentheses, for use in a message.

    The returned text is enclosed in two `MARK`s. The command line finds the text by these marks, and shows only the
    command.

    Examples:
        >>> print(ConfigError(f"{call('jeton.shards.merge', 'jeton shards merge')} writes it"))
        jeton.shards.merge (jeton shards merge) writes it
    """
    return named(f"{code} ({command})")


def shown(value: object, most: int = MAX_SHOWN) -> str:
    """Returns the shortened `repr` of a value. If `repr` fails (integers of over 4,300 digits), returns the type.

    Examples:
        >>> shown("a"), shown(10**5000)
        ("'a'", '<int>')
    """
    try:
        text = repr(value)
    except Exception:
        return f"<{type(value).__name__}>"
    return text if len(text) <= most else f"{text[:most]}… ({type(value).__name__})"


class JetonError(Exception):
    """Base class of Jeton's errors: ``except jeton.JetonError`` catches every error that Jeton raises deliberately.

    Attributes:
        marked: the message, in which each option is between two `MARK`s.

    Examples:
        >>> issubclass(ConfigError, JetonError) and issubclass(ConfigError, ValueError)
        True
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(message.replace(MARK, ""))
        self.marked = message

    def prefix(self, where: str) -> None:
        """Prepends the location of the error to its message.

        Examples:
            >>> error = JetonError("no such field")
            >>> error.prefix("rows.jsonl: ")
            >>> str(error)
            'rows.jsonl: no such field'
        """
        self.marked = where + self.marked
        self.args = (self.marked.replace(MARK, ""),)

    def rename(self, path: str, name: str) -> None:
        """Replaces a path in the message by a name, for example the path of a temporary copy by the original URL.

        Examples:
            >>> error = JetonError("/tmp/x/a.jtc: corrupt")
            >>> error.rename("/tmp/x/a.jtc", "s3://bucket/a.jtc")
            >>> str(error)
            's3://bucket/a.jtc: corrupt'
        """
        self.marked = self.marked.replace(path, name)
        self.args = (self.marked.replace(MARK, ""),)


class ConfigError(JetonError, ValueError):
    """Invalid option or combination of options.

    Attributes:
        option: name of the option (``"vocab_size"``) if a single option is invalid; by default the option at the start
            of the message.
        stage: pipeline stage to which the option belongs: ``"normalizer"``, ``"pretokenizer"``, ``"model"``,
            ``"template"`` or ``"decoder"``.
        feature: name of the requested feature, if other libraries have it and Jeton does not.
        position: if a character of the input text conflicts with the option, the offset of this character, in
            characters.

    Examples:
        >>> ConfigError(f"{keyword('vocab_size', 100)} is below the 256 bytes of the alphabet").option
        'vocab_size'
    """

    def __init__(
        self,
        message: str = "",
        *,
        option: str | None = None,
        stage: str | None = None,
        feature: str | None = None,
        position: int | None = None,
    ) -> None:
        super().__init__(message)
        if option is None and message.startswith(MARK):
            option = message.split(MARK)[1].partition("=")[0].partition("[")[0]
        self.option = option
        self.stage = stage
        self.feature = feature
        self.position = position


class FormatError(JetonError, ValueError):
    """File that violates its format: truncated, corrupt, contradictory or hostile.

    Attributes:
        format: name of the format (``"tokenizer.json"``, ``"gzip"``, ``"jsonl"``).
        place: location in the file: a line, a byte or a JSON path.

    Examples:
        >>> FormatError("no such token", format="tokenizer.json", place="model.merges[3]").place
        'model.merges[3]'
    """

    def __init__(self, message: str = "", *, format: str | None = None, place: str | None = None) -> None:
        super().__init__(message)
        self.format = format
        self.place = place


class UnsupportedFeatureError(FormatError):
    """Valid file with a feature that Jeton does not support. The error names the feature; no wrong ids are produced.

    Attributes:
        feature: name of the feature in the format.

    Examples:
        >>> UnsupportedFeatureError("Parquet is not supported yet", format="parquet", feature="parquet").feature
        'parquet'
    """

    def __init__(
        self, message: str = "", *, format: str | None = None, place: str | None = None, feature: str | None = None
    ) -> None:
        super().__init__(message, format=format, place=place)
        self.feature = feature


class ShardError(JetonError, RuntimeError):
    """Shards that are incomplete or corrupt, or whose inputs differ from the plan.

    Attributes:
        path: the file or folder.
        failed: with ``keep_going=True``, the pair (number, error message) of each failed task.

    Examples:
        >>> ShardError("out/: 2 of 8 tasks are not complete", path="out/").path
        'out/'
    """

    def __init__(
        self, message: str = "", *, path: str | None = None, failed: tuple[tuple[int, str], ...] | None = None
    ) -> None:
        super().__init__(message)
        self.path = path
        self.failed = failed


class UnknownTokenError(JetonError, KeyError):
    """Id that is out of range or has no entry in the vocabulary, or token that is not in the vocabulary.

    Attributes:
        id: the id, if an id was given.
        position: index of the id in the given sequence.
        index: index of the sequence in a batch.

    Examples:
        >>> print(UnknownTokenError("id 999 at position 2 is not in the vocabulary", id=999, position=2))
        id 999 at position 2 is not in the vocabulary
    """

    def __init__(
        self, message: str = "", *, id: int | None = None, position: int | None = None, index: int | None = None
    ) -> None:
        super().__init__(message)
        self.id = id
        self.position = position
        self.index = index

    # KeyError prints the repr of its only argument, which quotes and escapes the message.
    __str__ = Exception.__str__


class SpecialTokenError(JetonError, ValueError):
    """Special token that occurs in a text without permission, or string that is not a special token of the tokenizer.

    Attributes:
        token: spelling of the special token.
        position: start of the token in the text, in characters for `str` and in bytes for `bytes`.
        index: index of the text in a batch.

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
    """Invalid text: invalid UTF-8, a lone surrogate, or a character that the tokenizer cannot encode.

    Attributes:
        position: offset of the error, in bytes for `bytes` and files, in characters for `str`.
        source: the file or document of a corpus, if known.
        index: index of the text in a batch.

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
    """Chat template that is broken, missing or hostile, or that refuses the messages.

    Attributes:
        line: line of the template, if known.

    Examples:
        >>> ChatTemplateError("the chat template rejects the messages in line 3: roles must alternate", line=3).line
        3
    """

    def __init__(self, message: str = "", *, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class DecodeError(JetonError, ValueError):
    """Ids whose decoded bytes are not UTF-8. This error is raised only for ``invalid_utf8="strict"``.

    Attributes:
        position: index of the first decoded byte that is not UTF-8.
        index: the index of the ids in a batch.

    Examples:
        >>> DecodeError("the bytes of these ids are not UTF-8 at byte 2", position=2).position
        2
    """

    def __init__(self, message: str = "", *, position: int | None = None, index: int | None = None) -> None:
        super().__init__(message)
        self.position = position
        self.index = index


class DownloadError(JetonError, OSError):
    """Named tokenizer that is not on this machine and cannot be downloaded; the message says what to do.

    Attributes:
        url: URL of the failed download.
        path: expected location of the file on this machine, if there is exactly one.

    Examples:
        >>> issubclass(DownloadError, OSError)
        True
    """

    def __init__(self, message: str = "", *, url: str | None = None, path: str | None = None) -> None:
        super().__init__(message)
        self.url = url
        self.path = path


class TrainingError(JetonError, RuntimeError):
    """Training that cannot continue, for example because the corpus is empty or a count overflows.

    Examples:
        >>> issubclass(TrainingError, RuntimeError)
        True
    """


class MissingDependencyError(JetonError, ImportError):
    """Optional package that is needed but not installed; the message names the extra to install.

    Attributes:
        extra: the extra to install (``pip install 'jeton[data]'``).

    Examples:
        >>> MissingDependencyError("reading .zst needs zstandard: pip install 'jeton[data]'", extra="data").extra
        'data'
    """

    def __init__(self, message: str = "", *, extra: str | None = None) -> None:
        super().__init__(message)
        self.extra = extra

    __str__ = Exception.__str__  # `ImportError.__str__` shows the original message even after `prefix`


class LossyConversionWarning(UserWarning):
    """Warning of a lossy conversion. The caller accepted each loss by name, and the written file records it.

    Examples:
        >>> issubclass(LossyConversionWarning, UserWarning)
        True
    """
