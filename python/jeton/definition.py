"""`Definition`: all options of a tokenizer other than its vocabulary, independent of any file format.

Every format reads into a `Definition` and a core vocabulary, and writes from them. Vocabulary entries and merges stay
in the core; Python does not read them. The `Definition` also records facts of the training run, which change no id.

The stages around the model are lists of components: JSON objects with a ``"type"``. Names and fields are those of
Hugging Face's `tokenizer.json`. Jeton adds ``Pattern`` (splits by a named pattern or a regex in tiktoken's dialect),
``SentencePiece`` (SentencePiece's whole normalizer, or its decoder) and ``Join`` (joins tokens with a separator).
"""

from __future__ import annotations

import json

from . import _core
from .errors import ConfigError
from .util.arguments import instance
from .util.readonly import read_only
from .util.record import field, record, replace

TYPE_CHECKING = False  # importing typing takes as long as reading a small vocabulary
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, ClassVar, Literal, TypeAlias

    from .training_step import TrainingStep

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
    "Unigram",
    "WordLevel",
    "WordPiece",
    "Words",
    "template_of",
]

Component: TypeAlias = "Mapping[str, Any]"  # {"type": "Replace", …}; read-only
SymbolLevel: TypeAlias = 'Literal["byte", "char"]'
TieBreak: TypeAlias = 'Literal["first", "lowest_ids", "highest_pair", "shortest"]'
EndOfWordStyle: TypeAlias = 'Literal["symbol", "suffix"]'

BYTE_LEVEL: Component = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}


@record(frozen=True)
class Pattern:
    """Pre-tokenization pattern: a name, or a regex in tiktoken's dialect.

    Attributes:
        text: a name from `Pattern.names`, or the regex.
        is_regex: True for a regex.

    Examples:
        >>> Pattern.of("o200k").is_regex, Pattern.of(r"\\w+|\\s+").is_regex
        (False, True)
    """

    text: str
    is_regex: bool

    @staticmethod
    def names() -> list[str]:
        """Returns the names of the built-in patterns."""
        return _core.pattern_names()

    @classmethod
    def of(cls, pattern: str | None) -> Pattern:
        """Parses a pattern: a built-in name or, failing that, a regex. None means ``"none"``.

        Raises:
            ConfigError: the regex does not compile, or `pattern` consists of letters, digits, ``_`` and ``-`` only and
                is not a built-in name. (It is more likely a misspelled name than a regex that matches one literal
                word.)
        """
        if pattern is None:
            return cls("none", False)
        instance(pattern, "pattern", str, "a string (a name or a regex)")
        try:
            pattern.encode()
        except UnicodeEncodeError:
            message = "the pattern contains a lone surrogate; expected valid Unicode text"
            raise ConfigError(message, option="pattern") from None
        names = cls.names()
        if pattern in names:
            return cls(pattern, False)
        if pattern.isascii() and pattern.replace("_", "a").replace("-", "a").isalnum():
            known = ", ".join(names)
            raise ConfigError(
                f"there is no pattern named {pattern!r}; names: {known}; or pass a regex", option="pattern"
            )
        _core.split_text("", pattern, is_regex=True)  # compiles the regex, to raise errors here and not on first use
        return cls(pattern, True)

    def part(self) -> Component | None:
        """Returns the pre-tokenizer component for this pattern; None for ``"none"``.

        Examples:
            >>> Pattern.of("o200k").part()
            {'type': 'Pattern', 'name': 'o200k'}
        """
        if self.text == "none" and not self.is_regex:
            return None
        return {"type": "Pattern", "regex" if self.is_regex else "name": self.text}

    def split(self, text: str | bytes) -> list[tuple[int, int]]:
        """Returns the pretokens of a text as ranges of its UTF-8 bytes.

        Examples:
            >>> Pattern.of("gpt2").split("two words")
            [(0, 3), (3, 9)]
            >>> data = "naïve café".encode()
            >>> [data[start:end].decode() for start, end in Pattern.of("gpt2").split("naïve café")]
            ['naïve', ' café']
        """
        instance(text, "text", (str, bytes), "str or bytes")
        return _core.split_text(text, self.text, is_regex=self.is_regex)


@record(frozen=True)
class TrainingFacts:
    """Facts of a training run. Saved with the tokenizer, except `seconds` and `log`.

    Attributes:
        algorithm: ``"bpe"``, ``"wordpiece"`` or ``"unigram"``.
        preset_options: options of the preset that differ from its defaults; None if there are none.
        preset, tie_break, min_frequency: as passed to `train`; Unigram has no ties.
        rules, superwords: merge rules and the superword stage, as passed to `train`; None if not used.
        vocab_size: as passed to `train`; training may have stopped below it.
        num_merges: number of learned merges.
        stopped: reason why training ended before `vocab_size`, or None.
        documents, corpus_bytes, pretokens, distinct_pretokens: totals of counting.
        special_tokens_found: number of special tokens in the corpus; documents were split at each of them.
        records_skipped: unreadable records of the corpus that were skipped (``errors="skip"``).
        sample_bytes, seed: size and seed of the requested sample of the corpus; None means the whole corpus.
        seconds: wall time of counting and learning; None after loading from a file.
        log: every merge; None after loading from a file.

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


@record(frozen=True)
class Bpe:
    """Byte-pair encoding; a pair's rank comes from a list of merges or from the id of the merged token.

    Attributes:
        level: whether the initial symbols are bytes (``"byte"``) or characters (``"char"``).
        ranks: source of a pair's rank: its index in the list of merges, or the id of the merged token (tiktoken).
        whole_first: a pretoken that is an entry is encoded as that entry, without merging (HF's ``ignore_merges``).
        end_of_word: spelling of the end-of-word mark; None means no mark.
        end_of_word_style: ``"symbol"``: the mark is a separate symbol; ``"suffix"``: the mark is part of the last unit.
        unk_token: replaces characters that are not in the vocabulary; None: such characters raise an error.
        fuse_unk: adjacent unknown characters are one token.
        byte_fallback: characters that are not in the vocabulary become byte tokens, ``<0x0A>``.
        continuing_subword_prefix: prefix of every symbol but the first of a word.
        drop_unknown: if True, characters that are not in the vocabulary are omitted and raise no error. HF does the
            same if there is no `unk_token`. Only the drop-in replacements in `compat` set this flag.
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
    drop_unknown: bool = False


@record(frozen=True)
class Pieces:
    """SentencePiece's BPE: adjacent symbols merge if their concatenation is a piece, highest score first."""

    type: ClassVar = "Pieces"
    unk_token: str | None
    byte_fallback: bool = False


@record(frozen=True)
class Unigram:
    """Unigram model: Viterbi finds the segmentation with the highest sum of scores.

    Attributes:
        unk_token: replaces characters that no piece covers; None: such characters raise an error.
        byte_fallback: characters that no piece covers become byte tokens, ``<0x0A>``, instead of `unk_token`.
        fuse_unk: adjacent unknown characters are one token.
        single_precision: adds scores in f32 and always prefers user-defined pieces, as SentencePiece does. HF adds in
            f64.
    """

    type: ClassVar = "Unigram"
    unk_token: str | None
    byte_fallback: bool = False
    fuse_unk: bool = True
    single_precision: bool = False


@record(frozen=True)
class WordPiece:
    """WordPiece: greedy longest match from the left; a word that cannot be covered by entries is one unknown token."""

    type: ClassVar = "WordPiece"
    unk_token: str
    continuing_subword_prefix: str = "##"
    max_chars_per_word: int = 100


@record(frozen=True)
class WordLevel:
    """HF's WordLevel: each pretoken is one token, or the unknown token if it is not an entry."""

    type: ClassVar = "WordLevel"
    unk_token: str | None


@record(frozen=True)
class Words:
    """SentencePiece's word model: splits at white space; a word that is not an entry becomes the unknown token."""

    type: ClassVar = "Words"
    unk_token: str | None
    byte_fallback: bool = False


@record(frozen=True)
class Chars:
    """SentencePiece's character model: one token per character."""

    type: ClassVar = "Chars"
    unk_token: str | None
    byte_fallback: bool = False


Model: TypeAlias = Bpe | Pieces | Unigram | WordPiece | WordLevel | Words | Chars
_MODELS: dict[str, type[Model]] = {
    model.type: model for model in (Bpe, Pieces, Unigram, WordPiece, WordLevel, Words, Chars)
}


def ordered(part: Any) -> Any:
    """Returns a copy of JSON data with the keys of objects sorted, ``"type"`` first.

    Examples:
        >>> ordered({"content": "", "type": "Strip"})
        {'type': 'Strip', 'content': ''}
    """
    if hasattr(part, "keys"):
        return {name: ordered(part[name]) for name in sorted(part, key=lambda name: (name != "type", name))}
    return [ordered(item) for item in part] if isinstance(part, list | tuple) else part


def core_json(facts: Mapping[str, Any]) -> str:
    """Serializes data as JSON for the core.

    Raises:
        ConfigError: a string contains a lone surrogate.

    Examples:
        >>> core_json({"type": "Prepend", "prepend": "▁"})
        '{"type": "Prepend", "prepend": "▁"}'
    """
    text = json.dumps(facts, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"a string contains the lone surrogate {text[error.start]!a}") from None
    return text


def template_of(
    single: Sequence[Any], pair: Sequence[Any] | None = None, *, trim_offsets: bool = False
) -> dict[str, Any]:
    """Returns the template that has these items for one text and for a pair of texts.

    An item is an id, or ``"A"`` or ``"B"`` for the first or second text. Its type id is 0, unless it is given as a
    tuple ``(item, type_id)``.

    Examples:
        >>> template_of([1, "A"], [1, "A", ("B", 1)])["pair"][1:]
        [{'sequence': 'A', 'type_id': 0}, {'sequence': 'B', 'type_id': 1}]
    """

    def items(parts: Sequence[Any]) -> list[dict[str, Any]]:
        typed = (part if isinstance(part, tuple) else (part, 0) for part in parts)
        return [
            {"sequence": of, "type_id": type_id} if isinstance(of, str) else {"ids": [of], "type_id": type_id}
            for of, type_id in typed
        ]

    pairs = None if pair is None else items(pair)
    return {"single": items(single), "pair": pairs, "trim_offsets": trim_offsets, "add_prefix_space": False}


def is_roberta(template: Mapping[str, Any] | None) -> bool:
    """Tests whether a template has the items of HF's RobertaProcessing. HF's TemplateProcessing can have them, too."""
    if not template or len(template["single"]) != 3:
        return False
    cls, text, sep = template["single"]
    second = {"sequence": "B", "type_id": 0}
    return (
        all(part["type_id"] == 0 and len(part.get("ids", ())) == 1 for part in (cls, sep))
        and text == {"sequence": "A", "type_id": 0}
        and template.get("pair") == [cls, text, sep, sep, second, sep]
    )


def sets_overflow_types(template: Mapping[str, Any] | None) -> bool:
    """Tests whether the overflowing pieces of a text (cut off by truncation) get the template's type ids, too.

    Of Hugging Face's post-processors, only RobertaProcessing sets the type ids of overflowing pieces. With the others,
    the type id of an overflowing piece is the index of the text. A template counts as a RobertaProcessing if it has the
    same items and ``overflow_type_ids`` is true. If the template lacks this key, ``trim_offsets`` decides instead.
    """
    if not template:
        return False
    return bool(template.get("overflow_type_ids", template.get("trim_offsets"))) and is_roberta(template)


def _components(spelled: Any) -> tuple[Component, ...]:
    """Validates the components of a stage as read from a file: a list of objects with a type."""
    if not isinstance(spelled, list) or not all(
        isinstance(part, dict) and isinstance(part.get("type"), str) for part in spelled
    ):
        raise TypeError("a stage must be a list of objects with a type")
    return tuple(spelled)


# Option of a model -> its type
_TYPES: dict[str, Any] = {
    "level": str,
    "ranks": str,
    "whole_first": bool,
    "end_of_word": str | None,
    "end_of_word_style": str,
    "unk_token": str | None,
    "fuse_unk": bool,
    "byte_fallback": bool,
    "drop_unknown": bool,
    "continuing_subword_prefix": str | None,
    "single_precision": bool,
    "max_chars_per_word": int,
}
_CHOICES = {"level": ("byte", "char"), "ranks": ("merges", "tokens"), "end_of_word_style": ("symbol", "suffix")}

# Option -> its name in the core
_SHORT = {
    "continuing_subword_prefix": "prefix",
    "max_chars_per_word": "max_chars",
}


@record(frozen=True)
class Definition:
    """All options of a tokenizer other than its vocabulary.

    Attributes:
        model: pretoken → ids.
        normalizer: components that rewrite text, in order.
        pretokenizer: components that split the normalized text, in order.
        decoder: components that turn tokens into text, in order; None: the bytes of the tokens are concatenated.
        template: lists of items for one text and for a pair, ``{"single": [...], "pair": [...]}``. An item is
            ``{"sequence": "A", "type_id": 0}`` or ``{"ids": [1], "type_id": 0}``. Further keys are
            ``trim_offsets``, ``add_prefix_space`` and ``overflow_type_ids`` (see `sets_overflow_types`).
        roles: role -> special token: ``{"bos": "<s>"}``. Changes no id.
        chat_template: Jinja source, as read from its file. Changes no id.
        training: facts of the training run, if known. Changes no id.
        truncation: truncation settings in `tokenizer.json`, kept for saving and never applied.
        padding: padding settings in `tokenizer.json`, also kept for saving and never applied.
        config: other settings in `tokenizer_config.json`, kept for saving: ``{"model_max_length": 512}``.
        hf_vocab_size: number of the model's entries in `tokenizer.json` (transformers' `vocab_size`). Set if special
            tokens have ids after the model's entries. Kept for saving; changes no id.
        reads_added: whether `tokenizer.json` has HF's decoder ByteLevel, which maps the characters of all tokens to
            bytes, even those of added tokens. `decoder` contains ByteLevel only if this mapping changes an added
            token, such as ``naïve``.

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
    hf_vocab_size: int | None = field(default=None, compare=False)
    reads_added: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        # Make the values read-only, because the core is built from them and callers of `jeton.load` share a tokenizer.
        for name in (
            *("normalizer", "pretokenizer", "decoder", "template", "roles", "chat_template"),
            *("truncation", "padding", "config"),
        ):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @property
    def pattern(self) -> Pattern | None:
        """The pattern, if it is the only pre-tokenizer; the pattern ``none``, if nothing splits the text; else None."""
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
        """True if the model's units are bytes. The entries of such a model can be any bytes, also invalid UTF-8."""
        return isinstance(self.model, Bpe) and self.model.level == "byte"

    @property
    def _suffix(self) -> str | None:
        """The spelling of the end-of-word mark if the mark is part of the last unit of a word; otherwise None."""
        if isinstance(self.model, Bpe) and self.model.end_of_word_style == "suffix":
            return self.model.end_of_word or None
        return None

    def to_json(self) -> dict[str, Any]:
        """Returns everything that can change ids or decoded bytes, as one JSON object."""
        model = {"type": self.model.type, **vars(self.model)}
        if not model.get("drop_unknown", True):  # omitted if False, to keep the fingerprints of older versions
            del model["drop_unknown"]
        return {
            "model": ordered(model),
            "normalizer": ordered(self.normalizer),
            "pretokenizer": ordered(self.pretokenizer),
            "decoder": ordered(self.decoder),
            "template": ordered(self.template),
        }

    @classmethod
    def from_json(cls, facts: Mapping[str, Any], **others: Any) -> Definition:
        """Builds a definition from the output of `to_json`.

        Raises:
            KeyError, TypeError, ValueError: not the output of `to_json`.
        """
        options = dict(facts["model"])
        kind = _MODELS[options.pop("type")]
        for name, value in options.items():
            if not isinstance(value, _TYPES[name]) or (name in _CHOICES and value not in _CHOICES[name]):
                raise ValueError(f"{name}={value!r} is not a valid option of a model")
        decoder, template = facts["decoder"], facts["template"]
        if template is not None and not isinstance(template, dict):
            raise TypeError("the template is not an object")
        return cls(
            kind(**options),
            normalizer=_components(facts["normalizer"]),
            pretokenizer=_components(facts["pretokenizer"]),
            decoder=None if decoder is None else _components(decoder),
            template=template,
            **others,
        )

    def canonical(self) -> bytes:
        """Returns the options that can change ids or decoded bytes, as JSON with sorted keys, for the fingerprint."""
        facts = self.to_json()
        if isinstance(self.model, Bpe):
            # The spelling of the end-of-word mark changes no id. The style changes ids only if there is a mark.
            end = self.model.end_of_word
            facts["model"] |= {"end_of_word": None, "end_of_word_style": self.model.end_of_word_style if end else None}
            if self._suffix and self.decoder is not None:  # keep the mark, because the decoder reads it
                facts["model"]["end_of_word"] = self._suffix
        return json.dumps(facts, sort_keys=True, ensure_ascii=True).encode()

    def changed_by_byte_level(self, added: Iterable[tuple[str, bool]]) -> list[str]:
        """Returns the added tokens that HF's decoder ByteLevel changes, because it maps their characters to bytes.

        All characters of such a token are in the byte alphabet, and some are not ASCII. An example is ``naïve``: its
        ``ï`` is decoded to the byte EF. If a token has the flag ``normalized``, HF decodes its normalized content, so
        this content is tested and returned.

        Args:
            added: the content of each added token, and whether it is normalized.
        """
        added = list(added)
        texts = [content for content, is_normalized in added if not (is_normalized and self.normalizer)]
        if len(texts) < len(added):
            normalized = [content for content, is_normalized in added if is_normalized]
            parts = core_json(ordered(self.normalizer))
            texts += [text for text, _ in _core.normalize_texts(parts, normalized, [])]
        return [text for text in texts if not text.isascii() and _core.read_bytes(text) is not None]

    def with_byte_level(self, added: Iterable[tuple[str, bool]]) -> Definition:
        """Returns a copy with the decoder ByteLevel if this decoder changes an added token; otherwise, with no decoder.

        If `reads_added` is False, or if this definition has another decoder, the definition is returned unchanged.

        Args:
            added: the content of each added token, and whether it is normalized.
        """
        if not self.reads_added or self.decoder not in (None, (BYTE_LEVEL,)):
            return self
        decoder = (BYTE_LEVEL,) if self.changed_by_byte_level(added) else None
        changed: Definition = self if decoder == self.decoder else replace(self, decoder=decoder)
        return changed

    def core_options(self, vocabulary: _core.Vocabulary) -> str:
        """Returns the definition as JSON for the core, with ids in place of tokens.

        Raises:
            ConfigError: the vocabulary lacks the unknown token of a model that needs one.
        """
        facts = self.to_json()
        model = facts["model"]
        unk = model.pop("unk_token")  # if the vocabulary lacks this token, unknown characters raise an error
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
        if facts["decoder"]:  # copied, so that the definition's own components do not change
            unk = {"unk": model["unk"]}
            facts["decoder"] = [
                {**part, **unk} if part["type"] == "SentencePiece" else part for part in facts["decoder"]
            ]
        facts["suffix"] = self._suffix
        return core_json(facts)

    def build(self, vocabulary: _core.Vocabulary) -> _core.Tokenizer:
        """Builds the core's tokenizer for this definition.

        Raises:
            ConfigError: the vocabulary does not fit the model, a component is invalid, or the template adds an id that
                is not in the vocabulary.
        """
        core = _core.Tokenizer(vocabulary, self.core_options(vocabulary))
        # HF does not check the template, so the drop-in replacements in `compat` must accept any template, too.
        template = {} if getattr(self.model, "drop_unknown", False) else self.template or {}
        for item in (*template.get("single", ()), *(template.get("pair") or ())):
            for id in item.get("ids", ()):
                if core.content(id) is None:
                    message = f"template: it adds the id {id}, which is not in the vocabulary"
                    raise ConfigError(message, stage="template")
        return core
