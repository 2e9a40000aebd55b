"""Error policy for invalid text and unreadable records.

``"strict"`` raises the first error; ``"replace"`` replaces invalid UTF-8 by U+FFFD, and raises all other errors;
``"skip"`` skips the record. Replacements and skipped records are counted, and reported once, at the end. A record is
one potential document: a row, a line, a file, or the rest of a corrupt file.

A path or glob for which there is no file is an error under every policy. Under ``"skip"``, `source_reader` and
`jeton.shards` skip files that cannot be opened, and `paths` skips folders that cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .._core import find_invalid_utf8
from ..errors import ConfigError, InvalidTextError, JetonError, keyword, named

__all__ = ["ErrorHandler", "ErrorPolicy", "OnSkip", "Skipped", "check_policy", "complaint_lines"]

ErrorPolicy: TypeAlias = Literal["strict", "replace", "skip"]
OnSkip: TypeAlias = Callable[[str, str, str], object]  # kind, place, reason

# First bytes of a format that is often passed by mistake -> name of the format in the error message.
MAGIC = {
    b"\x1f\x8b": "gzip (.gz)",
    b"BZh": "bzip2 (.bz2)",
    b"\xfd7zXZ": "xz (.xz)",
    b"\x28\xb5\x2f\xfd": "Zstandard (.zst)",
    b"PAR1": "Parquet (.parquet)",
    b"PK\x03\x04": "a zip archive",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
REPLACEMENT = "\ufffd".encode()
MAX_SOURCES = 3
# These hints are appended to error messages: other policies that can be chosen, or another encoding.
_REPLACE, _SKIP = named('errors="replace" to jeton.Corpus'), named('errors="skip"')
_SKIP_ONLY = named('errors="skip" to jeton.Corpus')
_UTF_16 = named('encoding="utf-16" to jeton.Corpus')
_OTHER_HINT = f"if it has another encoding, pass {named('encoding= to jeton.Corpus')}"
HINT = f"or pass {_REPLACE} to put U+FFFD there, or {_SKIP} to leave it out"
ROW_HINT = f"repair the row, or pass {_SKIP_ONLY} to leave it out"
_SHOWN_HINTS = (f", {JetonError(HINT)}", f"; {JetonError(ROW_HINT)}", f"; {JetonError(_OTHER_HINT)}")


@dataclass(frozen=True, slots=True)
class Skipped:
    """Records that were skipped because of the same kind of error.

    Attributes:
        count: number of records.
        places: sources of the first few records, as in `Document.source`.

    Examples:
        >>> Skipped(2, ("rows.jsonl:3", "rows.jsonl:8")).count
        2
    """

    count: int
    places: tuple[str, ...]


def check_policy(errors: object) -> None:
    """Checks the value of `errors=`.

    Raises:
        ConfigError: no policy has this name.
    """
    if errors not in ("strict", "replace", "skip"):
        raise ConfigError(f'{keyword("errors", errors)}: expected "strict", "replace" or "skip"')


class ErrorHandler:
    """Applies an error policy and counts replacements and skipped records.

    Attributes:
        replaced: file (or ``"corpus"`` for documents in memory) -> number of replacements by U+FFFD.
        skipped: kind of error -> skipped records.

    Examples:
        >>> handler = ErrorHandler("skip")
        >>> handler.check(b"caf\\xe9", "menu.txt", file="menu.txt")
        >>> handler.complaints()
        ['skipped 1 record: 1 not UTF-8 (menu.txt)']
    """

    def __init__(self, policy: ErrorPolicy, on_skip: OnSkip | None = None) -> None:
        """Stores the policy. `on_skip` is called with kind, place and reason of each skipped record."""
        check_policy(policy)
        self.policy, self._on_skip = policy, on_skip
        self.reset()

    def reset(self) -> None:
        """Clears the counts."""
        self.replaced: dict[str, int] = {}
        self.skipped: dict[str, Skipped] = {}

    @property
    def num_skipped(self) -> int:
        """Number of skipped records of all kinds."""
        return sum(kind.count for kind in self.skipped.values())

    def skip(self, kind: str, source: object, error: JetonError) -> None:
        """Counts an unreadable record. `source` is converted to a `str` only if its text is needed for a report.

        Raises:
            JetonError: `error`, unless the policy is ``"skip"``.
        """
        if self.policy != "skip":
            raise error from None
        before = self.skipped.get(kind, Skipped(0, ()))
        places = before.places if len(before.places) == MAX_SOURCES else (*before.places, str(source))
        self.skipped[kind] = Skipped(before.count + 1, places)
        if self._on_skip is not None:
            place = str(source)
            reason = str(error).removeprefix(f"{place}: ")
            for hint in _SHOWN_HINTS:
                reason = reason.replace(hint, "")
            self._on_skip(kind, place, reason)

    def encode(self, text: str, source: object, *, file: str) -> bytes | None:
        """Encodes a `str` as UTF-8; returns None if the policy skips it. Only a lone surrogate can cause an error."""
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            if self.policy == "replace":
                repaired, places = LONE_SURROGATE.subn("\ufffd", text)
                self.replaced[file] = self.replaced.get(file, 0) + places
                return repaired.encode()
            surrogate = f"U+{ord(text[error.start]):04X}"
            message = f"{source}: character {error.start} is the lone surrogate {surrogate}, which UTF-8 cannot encode"
            wrong = InvalidTextError(f"{message}; remove it, {HINT}", position=error.start, source=str(source))
        self.skip("lone surrogate", source, wrong)
        return None

    def check(self, data: bytes, source: object, *, file: str, offset: int = 0) -> bytes | None:
        """Returns the bytes if they are UTF-8; else repairs them under ``"replace"``, or returns None under ``"skip"``.

        `offset` is the position in the file at which `data` begins.
        """
        invalid = find_invalid_utf8(data)
        if invalid is None:
            return data
        if self.policy == "replace":
            repaired = data.decode("utf-8", "replace").encode()
            places = repaired.count(REPLACEMENT) - data.count(REPLACEMENT)
            self.replaced[file] = self.replaced.get(file, 0) + places
            return repaired
        place = offset + invalid
        kind = next((name for magic, name in MAGIC.items() if offset == 0 and data.startswith(magic)), None)
        if kind == "UTF-16":
            hint = f"it looks like {kind}; pass {_UTF_16}"
        elif kind:
            hint = f"it looks like {kind}"
        else:
            hint = f"repair the text, {HINT}; {_OTHER_HINT}"
        message = f"{source}: byte {place} (0x{data[invalid]:02x}) is not valid UTF-8; {hint}"
        self.skip("not UTF-8", source, InvalidTextError(message, position=place, source=str(source)))
        return None

    def complaints(self) -> list[str]:
        """Returns lines for a report: one for each file with replacements, and one for all skipped records."""
        return complaint_lines(self.replaced, {kind: (one.count, one.places) for kind, one in self.skipped.items()})


def complaint_lines(replaced: Mapping[str, int], skipped: Mapping[str, tuple[int, Sequence[str]]]) -> list[str]:
    """Returns lines for a report of replacements and skipped records.

    Args:
        replaced: file -> number of replacements.
        skipped: kind of error -> number of records, and the places of the first few.

    Returns:
        Printable lines, in which bytes of names that are not UTF-8 are escaped.

    Examples:
        >>> complaint_lines({"a": 1}, {"not a JSON row": (1, ["b\\udcff:2"])})
        ['a: replaced invalid UTF-8 at 1 places with U+FFFD', 'skipped 1 record: 1 not a JSON row (b\\\\udcff:2)']
    """
    lines = [f"{file}: replaced invalid UTF-8 at {count} places with U+FFFD" for file, count in replaced.items()]
    if skipped:
        kinds = [
            f"{count:,} {kind} ({', '.join(places)}{', …' if count > len(places) else ''})"
            for kind, (count, places) in skipped.items()
        ]
        total = sum(count for count, _ in skipped.values())
        lines.append(f"skipped {total:,} {'record' if total == 1 else 'records'}: {', '.join(kinds)}")
    return [line.encode("utf-8", "backslashreplace").decode() for line in lines]
