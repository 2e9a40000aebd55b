"""What a tokenizer is, beside its vocabulary: the neutral form between files, training and the core.

How it was trained is part of it, though it changes no id.

Every format reads into a `Definition` and a core vocabulary, and writes from them. Vocabulary entries and merges stay
in the core; Python never looks inside.

The stages around the model are lists of *parts*: JSON objects with a ``"type"``, in the words of Hugging Face's
`tokenizer.json` for what that has, and a few of our own for what it lacks: ``Pattern`` (a split in tiktoken's dialect,
by name or regex), ``SentencePiece`` (the whole of its normalizer, and its decoder), ``Join`` (tokens with a separator).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

from . import _core
from .arguments import instance
from .errors import ConfigError
from .readonly import read_only

__all__ = [
    "Bpe",
    "Chars",
    "Component",
    "Definition",
    "EndOfWordStyle",
    "Model",
    "Pattern",
    "Pieces",
    "SymbolLevel",
    "TieBreak",
    "TrainingFacts",
    "TrainingStep",
    "Unigram",
    "WordLevel",
    "WordPiece",
    "Words",
]

Component: TypeAlias = Mapping[str, Any]  # {"type": "Replace", …}; never changed
SymbolLevel = Literal["byte", "char"]
TieBreak = Literal["first", "lowest_ids", "highest_pair", "shortest"]
EndOfWordStyle = Literal["symbol", "suffix"]


@dataclass(frozen=True, slots=True)
class Pattern:
    """How text is split: a name, or a regex in tiktoken's dialect.

    Attributes:
        text: one of the names of `Pattern.names`, or the regex.
        is_regex: which of the two it is.

    Examples:
        >>> Pattern.of("o200k").is_regex, Pattern.of(r"\\w+|\\s+").is_regex
        (False, True)
    """

    text: str
    is_regex: bool

    @staticmethod
    def names() -> list[str]:
        """The patterns that have a name."""
        return _core.pattern_names()

    @classmethod
    def of(cls, pattern: str | None) -> Pattern:
        """A name where it is one, else a regex; None is ``"none"``.

        Raises:
            ConfigError: the regex does not compile, or a bare word is no name. (A regex of letters only would split
                text at that word; nobody has wanted that yet, and a misspelled name is common.)
        """
        if pattern is None:
            return cls("none", False)
        instance(pattern, "pattern", str, "a string: a name or a regex")
        try:
            pattern.encode()
        except UnicodeEncodeError:
            raise ConfigError("the pattern holds a lone surrogate and is no Unicode text", option="pattern") from None
        names = cls.names()
        if pattern in names:
            return cls(pattern, False)
        if re.fullmatch(r"[A-Za-z0-9_-]+", pattern):
            known = ", ".join(names)
            raise ConfigError(
                f"there is no pattern named {pattern!r}; names: {known}; or pass a regex", option="pattern"
            )
        _core.split_text("", pattern, is_regex=True)  # compiles it, so that the error comes here and not later
        return cls(pattern, True)

    def part(self) -> Component | None:
        """The pre-tokenizer that splits like this; None where there is nothing to split.

        Examples:
            >>> Pattern.of("o200k").part()
            {'type': 'Pattern', 'name': 'o200k'}
        """
        if self.text == "none" and not self.is_regex:
            return None
        return {"type": "Pattern", "regex" if self.is_regex else "name": self.text}

    def split(self, text: str | bytes) -> list[tuple[int, int]]:
        """The byte ranges of the pretokens of a text, in its UTF-8.

        Examples:
            >>> Pattern.of("gpt2").split("two words")
            [(0, 3), (3, 9)]
            >>> data = "naïve café".encode()
            >>> [data[start:end].decode() for start, end in Pattern.of("gpt2").split("naïve café")]
            ['naïve', ' café']
        """
        instance(text, "text", (str, bytes), "str or bytes")
        return _core.split_text(text, self.text, is_regex=self.is_regex)


class TrainingStep(NamedTuple):
    """One merge, and the corpus after it: a row of the training log."""

    rank: int
    id: int
    left: int
    right: int
    token: bytes
    pair_count: int
    corpus_tokens: int
    tokens_in_use: int
    bytes_per_token: float


@dataclass(frozen=True, slots=True)
class TrainingFacts:
    """How a tokenizer was trained. Saved with it, save for what differs from run to run.

    Attributes:
        algorithm: ``"bpe"``, ``"wordpiece"`` or ``"unigram"``.
        preset_options: what was said to the preset beyond its defaults; None is nothing.
        preset, tie_break, min_frequency: as asked; Unigram has no ties.
        rules, superwords: the rules of merging and the second stage, as asked; None is none.
        vocab_size: as asked; the tokenizer may have stopped short of it.
        num_merges: how many were learned.
        stopped: why training ended before `vocab_size`, or None.
        documents, corpus_bytes, pretokens, distinct_pretokens: what was counted.
        special_tokens_found: how often a special token stood in the corpus, where it cut the document.
        records_skipped: records of the corpus that could not be read and were left out (``errors="skip"``).
        sample_bytes, seed: the sample of the corpus that was asked for; None: all of it.
        seconds: counting and learning, wall time; only in the process that trained.
        log: every merge; only in the process that trained.

    Examples:
        >>> import jeton
        >>> facts = jeton.train(["low lower"], vocab_size=258, pattern="gpt2", progress=False).training
        >>> facts.num_merges, facts.distinct_pretokens, facts.log[0].token
        (2, 2, b'lo')
    """

    algorithm: str
    preset: str | None
    tie_break: TieBreak | None
    min_frequency: int
    vocab_size: int
    num_merges: int
    stopped: str | None
    documents: int
    corpus_bytes: int
    pretokens: int
    distinct_pretokens: int
    special_tokens_found: int
    records_skipped: int = 0
    sample_bytes: int | None = None
    seed: int | None = None
    preset_options: Mapping[str, Any] | None = None
    rules: Mapping[str, Any] | None = None
    superwords: Mapping[str, Any] | None = None
    seconds: float | None = field(default=None, compare=False)
    log: Sequence[TrainingStep] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("preset_options", "rules", "superwords"):
            object.__setattr__(self, name, read_only(getattr(self, name)))


@dataclass(frozen=True, slots=True)
class Bpe:
    """Byte-pair encoding by a list of merges, or by the ids of what pairs make.

    Attributes:
        level: the unit of an initial symbol.
        ranks: what gives a pair its rank: the list of merges, or the id of the token it makes (tiktoken).
        whole_first: a pretoken that is an entry is that entry, whatever the merges say (``ignore_merges`` in HF).
        end_of_word: how the mark at the end of a word is spelled; None when there is none.
        end_of_word_style: whether that mark is a symbol of its own or glued to the last unit.
        unk_token: what stands in for characters that are not in the vocabulary; None raises instead.
        fuse_unk: neighboring unknown characters are one token.
        byte_fallback: characters that are not in the vocabulary become bytes, ``<0x0A>``.
        continuing_subword_prefix: what symbols inside a word begin with.
    """

    type: ClassVar = "BPE"
    level: SymbolLevel = "byte"
    ranks: Literal["merges", "tokens"] = "merges"
    whole_first: bool = False
    end_of_word: str | None = None
    end_of_word_style: EndOfWordStyle = "symbol"
    unk_token: str | None = None
    fuse_unk: bool = False
    byte_fallback: bool = False
    continuing_subword_prefix: str | None = None


@dataclass(frozen=True, slots=True)
class Pieces:
    """SentencePiece's BPE: neighbors merge when together they are a piece, the best score first."""

    type: ClassVar = "Pieces"
    unk_token: str | None
    byte_fallback: bool = False


@dataclass(frozen=True, slots=True)
class Unigram:
    """The segmentation whose scores add up to most.

    Attributes:
        unk_token: what stands in for characters that no piece covers; None raises instead.
        byte_fallback: these characters become bytes instead, ``<0x0A>``.
        fuse_unk: neighboring unknown characters are one token.
        single_precision: scores are added in 32 bits, as SentencePiece does, and user-defined pieces always win; HF
            adds in 64 bits.
    """

    type: ClassVar = "Unigram"
    unk_token: str | None
    byte_fallback: bool = False
    fuse_unk: bool = True
    single_precision: bool = False


@dataclass(frozen=True, slots=True)
class WordPiece:
    """Greedy, the longest entry first; a word that cannot be covered is one unknown token."""

    type: ClassVar = "WordPiece"
    unk_token: str
    continuing_subword_prefix: str = "##"
    max_chars_per_word: int = 100


@dataclass(frozen=True, slots=True)
class WordLevel:
    """Pretokens are entries, or unknown (HF)."""

    type: ClassVar = "WordLevel"
    unk_token: str | None


@dataclass(frozen=True, slots=True)
class Words:
    """SentencePiece's word model: what stands between white space is an entry, or unknown."""

    type: ClassVar = "Words"
    unk_token: str | None
    byte_fallback: bool = False


@dataclass(frozen=True, slots=True)
class Chars:
    """SentencePiece's character model."""

    type: ClassVar = "Chars"
    unk_token: str | None
    byte_fallback: bool = False


Model: TypeAlias = Bpe | Pieces | Unigram | WordPiece | WordLevel | Words | Chars
_MODELS: dict[str, type[Model]] = {
    model.type: model for model in (Bpe, Pieces, Unigram, WordPiece, WordLevel, Words, Chars)
}


def ordered(part: Any) -> Any:
    """JSON with its keys in one order: ``"type"`` first, then by name.

    Examples:
        >>> ordered({"content": "", "type": "Strip"})
        {'type': 'Strip', 'content': ''}
    """
    if isinstance(part, Mapping):
        return {name: ordered(part[name]) for name in sorted(part, key=lambda name: (name != "type", name))}
    return [ordered(item) for item in part] if isinstance(part, list | tuple) else part


def _components(spelled: Any) -> tuple[Component, ...]:
    """Parts as a file has them: a list of objects with a type."""
    if not isinstance(spelled, list) or not all(
        isinstance(part, dict) and isinstance(part.get("type"), str) for part in spelled
    ):
        raise TypeError("the parts of a stage are a list of objects with a type")
    return tuple(spelled)


# what options of models are
_TYPES: dict[str, Any] = {
    "level": str,
    "ranks": str,
    "whole_first": bool,
    "end_of_word": str | None,
    "end_of_word_style": str,
    "unk_token": str | None,
    "fuse_unk": bool,
    "byte_fallback": bool,
    "continuing_subword_prefix": str | None,
    "single_precision": bool,
    "max_chars_per_word": int,
}
_CHOICES = {"level": ("byte", "char"), "ranks": ("merges", "tokens"), "end_of_word_style": ("symbol", "suffix")}

# what the core calls options
_SHORT = {
    "continuing_subword_prefix": "prefix",
    "max_chars_per_word": "max_chars",
}


@dataclass(frozen=True, slots=True)
class Definition:
    """All options of a tokenizer that its vocabulary does not show.

    Attributes:
        model: pretoken → ids.
        normalizer: parts that rewrite text, in order.
        pretokenizer: parts that cut it, in order.
        decoder: parts that make text of tokens, in order; None joins what the tokens spell.
        template: what is added around one text or a pair: ``{"single": [...], "pair": [...]}`` of items ``{"sequence":
            "A", "type_id": 0}`` and ``{"ids": [1], "type_id": 0}``, and how offsets are trimmed.
        roles: role -> special token: ``{"bos": "<s>"}``. Changes no id.
        chat_template: Jinja source, as its file has it. Changes no id.
        training: how it was trained, where that is known. Changes no id.
        truncation: what its `tokenizer.json` says of it, kept for the next file. Nothing here applies it.
        padding: likewise.
        config: what its `tokenizer_config.json` says beside, kept for the next folder: ``{"model_max_length": 512}``.

    Examples:
        >>> import jeton
        >>> spec = jeton.train(["low lower"], 258, progress=False).definition
        >>> spec.model.level, spec.pattern.text
        ('byte', 'o200k')
    """

    model: Model = field(default_factory=Bpe)
    normalizer: tuple[Component, ...] = ()
    pretokenizer: tuple[Component, ...] = ()
    decoder: tuple[Component, ...] | None = None
    template: Component | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    chat_template: Any = None
    training: TrainingFacts | None = None
    truncation: Component | None = None
    padding: Component | None = None
    config: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # What tokenizers hand out cannot be changed: the core has been built from it.
        for name in ("normalizer", "pretokenizer", "decoder", "template", "roles", "chat_template"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @property
    def pattern(self) -> Pattern | None:
        """The pattern, where splitting is by one pattern alone, ``none`` included; else None."""
        match self.pretokenizer:
            case ():
                return Pattern("none", False)
            case ({"type": "Pattern", "name": str(name)},):
                return Pattern(name, False)
            case ({"type": "Pattern", "regex": str(regex)},):
                return Pattern(regex, True)
        return None

    @property
    def is_byte_level(self) -> bool:
        """Whether the model's units are bytes, so that its entries need not be UTF-8."""
        return isinstance(self.model, Bpe) and self.model.level == "byte"

    @property
    def _suffix(self) -> str | None:
        """The mark that is glued to the last unit of a word, if there is one."""
        if isinstance(self.model, Bpe) and self.model.end_of_word_style == "suffix":
            return self.model.end_of_word or None
        return None

    def to_json(self) -> dict[str, Any]:
        """Everything that can change ids or decoded bytes, as one JSON object."""
        return {
            "model": ordered({"type": self.model.type, **asdict(self.model)}),
            "normalizer": ordered(self.normalizer),
            "pretokenizer": ordered(self.pretokenizer),
            "decoder": ordered(self.decoder),
            "template": ordered(self.template),
        }

    @classmethod
    def from_json(cls, facts: Mapping[str, Any], **others: Any) -> Definition:
        """Reads what `to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError: it did not write that.
        """
        options = dict(facts["model"])
        kind = _MODELS[options.pop("type")]
        for name, value in options.items():
            if not isinstance(value, _TYPES[name]) or (name in _CHOICES and value not in _CHOICES[name]):
                raise ValueError(f"{name}={value!r} is no option of a model")
        decoder, template = facts["decoder"], facts["template"]
        if template is not None and not isinstance(template, dict):
            raise TypeError("the template is no object")
        return cls(
            kind(**options),
            normalizer=_components(facts["normalizer"]),
            pretokenizer=_components(facts["pretokenizer"]),
            decoder=None if decoder is None else _components(decoder),
            template=template,
            **others,
        )

    def canonical(self) -> bytes:
        """What of it can change ids or decoded bytes, as JSON with sorted keys."""
        facts = self.to_json()
        if isinstance(self.model, Bpe):  # how the mark is spelled changes nothing
            end = self.model.end_of_word
            facts["model"] |= {"end_of_word": None, "end_of_word_style": self.model.end_of_word_style if end else None}
            if self._suffix and self.decoder is not None:  # its parts see the mark
                facts["model"]["end_of_word"] = self._suffix
        return json.dumps(facts, sort_keys=True, ensure_ascii=True).encode()

    def build(self, vocabulary: _core.Vocabulary) -> _core.Tokenizer:
        """The core's tokenizer for this definition.

        Raises:
            ConfigError: the vocabulary does not fit, a part is not what its type needs, or the template adds an id
                that is not in the vocabulary.
        """
        facts = self.to_json()
        model = facts["model"]
        unk = model.pop("unk_token")  # a file may name one that it does not have: then the unknown is an error
        model["unk"] = None if unk is None else vocabulary.find_any(unk.encode())
        if model["unk"] is None and isinstance(self.model, WordPiece | Pieces | Words | Chars):
            raise ConfigError(f"the unknown token {unk!r} is not in the vocabulary", option="unk_token")
        for name, short in _SHORT.items():
            if name in model:
                model[short] = model.pop(name)
        if isinstance(self.model, Unigram):
            model["precision"] = "f32" if model.pop("single_precision") else "f64"
        if isinstance(self.model, Bpe):
            model["end_of_word"] = self.model.end_of_word_style if self.model.end_of_word else None
        if facts["decoder"]:  # copies: the parts are the definition's own
            unk = {"unk": model["unk"]}
            facts["decoder"] = [
                {**part, **unk} if part["type"] == "SentencePiece" else part for part in facts["decoder"]
            ]
        facts["suffix"] = self._suffix
        core = _core.Tokenizer(vocabulary, json.dumps(facts))
        template = self.template or {}
        for item in (*template.get("single", ()), *(template.get("pair") or ())):
            for id in item.get("ids", ()):
                if core.content(id) is None:
                    raise ConfigError(f"template: it adds the id {id}, which is not in the vocabulary")
        return core
