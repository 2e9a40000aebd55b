"""`Stages`: normalization and pre-tokenization of a document before counting.

These are the stages of a `Definition` that precede its model. If they consist of a single pattern, the core has a fast
path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..definition import Component, Definition, Pattern, core_json, ordered
from ..util.arguments import components

__all__ = ["Stages"]


@dataclass(frozen=True, slots=True)
class Stages:
    """Normalizer and pre-tokenizer that turn a document into the pretokens to count.

    Attributes:
        normalizer: components that rewrite text, in order, as in `Definition`.
        pretokenizer: components that split the normalized text, in order.
        user_defined: tokens that SentencePiece's normalizer does not change; they split the normalized text and are not
            counted.
        boundaries: tokens that also split the normalized text; each counts as one character U+001F, as in
            SentencePiece's trainer.
        skip_over_bytes: documents with more bytes are skipped; None: no limit.
        skip_with: documents that contain this text are skipped.
        mark_ends: append U+000A to the last pretoken of a document.
        byte_level: True if a ``ByteLevel`` component yields bytes, for byte-level models; False if it yields characters
            of the byte alphabet.

    Examples:
        >>> Stages.of("gpt2").pattern.text
        'gpt2'
        >>> Stages(normalizer=({"type": "NFC"},)).pattern is None
        True
    """

    normalizer: tuple[Component, ...] = ()
    pretokenizer: tuple[Component, ...] = ()
    user_defined: tuple[str, ...] = ()
    byte_level: bool = True
    boundaries: tuple[str, ...] = ()
    skip_over_bytes: int | None = None
    skip_with: str | None = None
    mark_ends: bool = False

    @classmethod
    def of(cls, what: str | Pattern | Definition | Stages | None) -> Stages:
        """Converts a pattern or a `Definition` to stages.

        A pattern is given as a name or a regex. If the pattern is None, the stages do not split the text.

        Raises:
            ConfigError: as `Pattern.of`.

        Examples:
            >>> import jeton
            >>> tok = jeton.train(["low lower"], 258, pattern="gpt2", progress=False)
            >>> Stages.of(tok.definition) == Stages.of("gpt2")
            True
        """
        if isinstance(what, Stages):
            return what
        if isinstance(what, Definition):
            return cls(what.normalizer, what.pretokenizer, byte_level=what.is_byte_level)
        part = (what if isinstance(what, Pattern) else Pattern.of(what)).part()
        return cls(pretokenizer=(part,) if part else ())

    @classmethod
    def make(
        cls,
        pattern: str | None,
        normalizer: Sequence[Component] = (),
        pretokenizer: Sequence[Component] | None = None,
    ) -> Stages:
        """Builds the stages from the arguments of `count_pretokens`.

        Raises:
            ConfigError: the components are not a list of objects with a type.
        """
        cut = cls.of(pattern).pretokenizer if pretokenizer is None else components(pretokenizer, "pretokenizer")
        return cls(components(normalizer, "normalizer"), cut)

    @property
    def pattern(self) -> Pattern | None:
        """Pattern of the stages, if they consist of a single pattern; else None."""
        if self.normalizer or self.user_defined or any(self._rare().values()):
            return None
        return Definition(pretokenizer=self.pretokenizer).pattern

    def to_json(self) -> dict[str, Any]:
        """Returns the stages as one JSON object."""
        return {
            "normalizer": ordered(self.normalizer),
            "pretokenizer": ordered(self.pretokenizer),
            "user_defined": list(self.user_defined),
            "byte_level": self.byte_level,
        } | {name: value for name, value in self._rare().items() if value}

    def _rare(self) -> dict[str, Any]:
        """Returns the rarely used options. A file contains only those that differ from their defaults."""
        return {
            "boundaries": list(self.boundaries),
            "skip_over_bytes": self.skip_over_bytes,
            "skip_with": self.skip_with,
            "mark_ends": self.mark_ends,
        }

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Stages:
        """Reads the output of `to_json`.

        Raises:
            KeyError, TypeError: `facts` is not the output of `to_json`.
        """
        lists = [facts[name] for name in ("normalizer", "pretokenizer", "user_defined")]
        if not all(isinstance(items, list) for items in lists) or not isinstance(facts["byte_level"], bool):
            raise TypeError("stages must be three lists and a boolean")
        normalizer, pretokenizer, user_defined = lists
        if not all(isinstance(part, dict) for part in normalizer + pretokenizer):
            raise TypeError("a stage must be a list of objects")
        if not all(isinstance(token, str) for token in user_defined):
            raise TypeError("user-defined tokens must be strings")
        rare = {
            "boundaries": list | None,
            "skip_over_bytes": int | None,
            "skip_with": str | None,
            "mark_ends": bool | None,
        }
        for name, kind in rare.items():
            if not isinstance(facts.get(name), kind):
                raise TypeError(f"{name} has the wrong type")
        return cls(
            tuple(normalizer), tuple(pretokenizer), tuple(user_defined), facts["byte_level"],
            tuple(facts.get("boundaries") or ()), facts.get("skip_over_bytes"), facts.get("skip_with"),
            bool(facts.get("mark_ends")),
        )  # fmt: skip

    def is_same(self, other: Stages) -> bool:
        """True if this object and `other` have the same components, and therefore yield the same pretokens.

        Examples:
            >>> Stages.of("gpt2").is_same(Stages((), ({"name": "gpt2", "type": "Pattern"},), byte_level=False))
            True
        """
        mine, others = self.to_json(), other.to_json()
        if not any(part.get("type") == "ByteLevel" for part in (*self.normalizer, *self.pretokenizer)):
            others["byte_level"] = mine["byte_level"]  # `byte_level` has no effect without a ByteLevel component
        return mine == others

    def describe(self) -> str:
        """Returns a short description for messages."""
        if self.pattern is not None:
            return f"pattern {self.pattern.text!r}"
        names = [part.get("type", "?") for part in (*self.normalizer, *self.pretokenizer)]
        return "the stages " + (", ".join(names) or "none")

    def core_json(self) -> str:
        """Returns the stages as JSON for the core."""
        return core_json(self.to_json())
