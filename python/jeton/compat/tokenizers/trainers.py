"""The trainers of Hugging Face's `tokenizers`, over the presets of `jeton.training`.

`learn` is what a `Tokenizer` calls. Texts are counted as the trainers do: special tokens are text like any other.

Differences: `UnigramTrainer` learns as SentencePiece does, so pieces and scores are close, not equal; a special token
that is also a token of the corpus is refused; `ParityBpeTrainer` is the original's.

Source: huggingface/tokenizers 0.23.3, bindings/python/src/trainers.rs and tokenizers/src/models (behavior).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import ConfigError, JetonError, UnsupportedFeatureError
from . import original
from .added_token import AddedToken
from .parts import Option, Part, from_state
from .values import (
    Named,
    Word,
    character,
    flag,
    ignored,
    items,
    number,
    optional,
    shown,
    size,
    size_32,
    text,
    to_json,
    wrong,
)

if TYPE_CHECKING:
    from ...training.counts import Counts
    from .models import Model

__all__ = [
    "BpeTrainer",
    "ParityBpeTrainer",
    "Trainer",
    "UnigramTrainer",
    "WordLevelTrainer",
    "WordPieceTrainer",
]

Stages = Mapping[str, Any]
_FORMATS = {"json": "JsonLines", "silent": "Silent"}
_MOST = (1 << 63) - 1


def _special_tokens(name: str) -> Any:
    def converted(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise wrong(value, "list")
        tokens = []
        for token in value:
            if isinstance(token, str):
                token = AddedToken(token, special=True)
            elif not isinstance(token, AddedToken):
                raise TypeError(f"{name} must be a List[Union[str, AddedToken]]")
            token.special = True
            tokens.append(Named("AddedToken", token.__getstate__()))
        return tokens

    return converted


class _SpecialTokens(Option):
    """The special tokens, as `AddedToken`s."""

    def __init__(self) -> None:
        super().__init__(_special_tokens("special_tokens"), [], get=_added_tokens, load=_named)

    def __set__(self, part: Part, value: Any) -> None:
        part.cell.replace({**part.cell.state, self.key: _special_tokens("Special tokens")(value)})


def _added_tokens(tokens: list[dict[str, Any]]) -> list[AddedToken]:
    return [AddedToken(**token) for token in tokens]


def _named(tokens: list[dict[str, Any]]) -> list[Any]:
    return [Named("AddedToken", token) for token in tokens]


class _Alphabet(Option):
    """Characters; the constructor takes the first one of each text."""

    def __init__(self) -> None:
        super().__init__(lambda value: _distinct(each[0] for each in items(text)(value) if each), [], get=list)

    def __set__(self, part: Part, value: Any) -> None:
        part.cell.replace({**part.cell.state, self.key: _distinct(items(character)(value))})


def _distinct(characters: Iterable[str]) -> list[str]:
    return sorted(set(characters))


class Trainer(Part):
    """A trainer; base class."""

    kind = "trainer"
    __slots__ = ()
    _keywords_only = True
    _words: ClassVar[Mapping[str, int]] = {}

    def __init__(self, **options: Any) -> None:
        known = {option.argument for option in self._options}
        for name in [name for name in options if name not in known]:
            if type(self) is not Trainer:
                ignored(name)
            del options[name]
        super().__init__(**options)

    @property
    def state(self) -> dict[str, Any]:
        """The trainer in the form that it is pickled; not to be changed."""
        name = type(self).__name__
        return Named(name, {name: Named(name, self._written())})

    def _written(self) -> dict[str, Any]:
        return {key: value for key, value in self.cell.state.items() if key != "type"} | {"words": {}}

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, bytes):
            raise wrong(state, "bytes")
        try:
            [(name, facts)] = json.loads(state).items()
            self.cell = Trainer.types[name]._of_state(facts.get("bpe_trainer", facts))
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            raise Exception(f"Error while attempting to unpickle PyTrainer: {error}") from None

    def __repr__(self) -> str:
        return shown(self.state)

    def __str__(self) -> str:
        return shown(self.state, most=6, longest=100)

    # ── training ──

    def learn(
        self, texts: Iterable[str], stages: Stages, added: list[AddedToken], model: Model | None = None
    ) -> tuple[Model, list[AddedToken]]:
        """Learns a model.

        Args:
            texts: the corpus.
            stages: ``"normalizer"`` and ``"pre_tokenizer"`` that texts go through, as objects or in JSON; None for one
                that is not there.
            added: added tokens of the tokenizer so far; not used.
            model: the model that is trained: its other options are kept.

        Returns:
            The model, and the special tokens.

        Raises:
            Exception: the model is of another type, or cannot be learned.
        """
        from . import models

        kind = self._kind()
        base = getattr(models, kind)() if model is None else model
        if base.options["type"] != kind:
            raise Exception(f"{type(self).__name__} can only train a {kind}")
        try:
            made = self._learned(self._count(texts, stages), base)
        except UnsupportedFeatureError:
            raise
        except JetonError as error:
            raise Exception(str(error)) from None
        return made, self.special_tokens  # type: ignore[attr-defined]

    @classmethod
    def _kind(cls) -> str:
        return cls.__name__.removesuffix("Trainer").replace("Bpe", "BPE")

    def _learned(self, counts: Counts, model: Model) -> Model:
        raise NotImplementedError

    @property
    def _special(self) -> tuple[str, ...]:
        """The contents of the special tokens, each once."""
        return tuple(dict.fromkeys(token["content"] for token in self.cell.state["special_tokens"]))

    def _count(self, texts: Iterable[str], stages: Stages) -> Counts:
        from ...corpus import open_corpus
        from ...formats.hf_parts import read_parts
        from ...training.count import count
        from ...training.counts import Counts
        from ...training.limits import Limits
        from ...training.stages import Stages as OwnStages
        from ...util.progress import make_reporter

        if any(isinstance(stage, Part) and stage.is_custom for stage in stages.values()):
            return Counts.from_mapping(Counter(_words(texts, stages)))
        spelled = {name: stage.state if isinstance(stage, Part) else stage for name, stage in stages.items()}
        read = read_parts(spelled, byte_level_model=False, suffix="")
        own = OwnStages(read["normalizer"], read["pretokenizer"], byte_level=False)
        with make_reporter(None if self.cell.state["show_progress"] else False) as report:
            return count(open_corpus(texts), own, [], report, limits=Limits.of(None, None))


def _words(texts: Iterable[str], stages: Stages) -> Iterator[str]:
    """The pretokens of texts, by stages of which one is an object of Python."""
    normalizer, splitter = (
        stage if stage is None or isinstance(stage, Part) else from_state(name, stage)
        for name, stage in ((name, stages.get(name)) for name in ("normalizer", "pre_tokenizer"))
    )
    for content in texts:
        content = content if normalizer is None else normalizer.normalize_str(content)  # type: ignore[attr-defined]
        if splitter is None:
            yield content
        else:
            yield from (word for word, _ in splitter.pre_tokenize_str(content))  # type: ignore[attr-defined]


class BpeTrainer(Trainer):
    """Learns a `models.BPE`.

    Args:
        vocab_size: number of entries, with special tokens and alphabet.
        min_frequency: pairs with a lower count are not merged.
        show_progress: whether a bar is drawn in a terminal.
        progress_format: ``"indicatif"``, ``"json"`` or ``"silent"``.
        special_tokens: entries with the first ids.
        limit_alphabet: number of characters that are kept, the most frequent ones.
        initial_alphabet: characters that are kept in any case.
        continuing_subword_prefix: prefix of tokens inside a word.
        end_of_word_suffix: suffix of tokens at the end of a word.
        max_token_length: number of characters of the longest token.

    Examples:
        >>> model, _ = BpeTrainer(vocab_size=8, show_progress=False).learn(["low low lower"], {}, [])
        >>> model.token_to_id("lo")
        6
    """

    __slots__ = ()
    min_frequency = Option(size, 0)
    vocab_size = Option(size, 30000)
    show_progress = Option(flag, True)
    progress_format = Option(
        lambda value: Word(_FORMATS.get(text(value), "Indicatif")),
        "indicatif",
        load=Word,
        get=lambda value: next((name for name, format in _FORMATS.items() if format == value), "indicatif"),
    )
    special_tokens = _SpecialTokens()
    limit_alphabet = Option(optional(size), None)
    initial_alphabet = _Alphabet()
    continuing_subword_prefix = Option(optional(text), None)
    end_of_word_suffix = Option(optional(text), None)
    max_token_length = Option(optional(size), None)

    def __init__(self, **options: Any) -> None:
        _check_given(options)
        super().__init__(**options)

    def get_word_count(self) -> int:
        """0: words are counted and learned from in one call."""
        return 0

    def _learned(self, counts: Counts, model: Model) -> Model:
        options, entries = _bpe(self, counts, keeps_merges=True)
        return model.of({**model.options, **options}, entries)


def _check_given(options: Mapping[str, Any]) -> None:
    """Checks the options that the constructor, unlike a setter, does not take as None."""
    for name in ("continuing_subword_prefix", "end_of_word_suffix"):
        if name in options:
            text(options[name])
    for name in ("limit_alphabet", "max_token_length"):
        if name in options and options[name] is None:
            size(None)


def _bpe(trainer: Trainer, counts: Counts, *, keeps_merges: bool) -> tuple[dict[str, Any], Any]:
    """Learns merges; returns options of the model, and the members of its JSON."""
    from ...definition import Bpe, Definition
    from ...formats.tokenizer_json import written_members
    from ...tokenizer import Tokenizer
    from ...tokens.added import AddedToken as Token
    from ...tokens.added import with_added_tokens
    from ...training.checkpoint import checkpointed_run
    from ...training.limits import Limits
    from ...training.presets.hf import _check_special

    state, special = trainer.cell.state, trainer._special
    prefix, suffix = state["continuing_subword_prefix"] or None, state["end_of_word_suffix"] or None
    alphabet = [ord(char) for char in state["initial_alphabet"]]
    _check_special(special, alphabet, "char")
    options = {
        "byte_level": False,
        "tie_break": "lowest_ids",
        "vocab_size": max(state["vocab_size"] - len(special), 1),
        "first_id": len(special),
        "min_frequency": min(state["min_frequency"], _MOST),
        "limit_alphabet": state["limit_alphabet"],
        "initial_alphabet": alphabet,
        "prefix": prefix,
        "suffix": suffix,
        "max_token_length": state.get("max_token_length"),
    }
    run = checkpointed_run(counts, {}, Limits.of(None, None))
    try:
        learned = counts._core.learn_hf(json.dumps(options), keeps_merges, run)
    except ConfigError:  # the alphabet alone is larger than the vocabulary: the trainer keeps it, and merges nothing
        options |= {"vocab_size": 1 << 24, "min_frequency": _MOST}
        learned = counts._core.learn_hf(json.dumps(options), keeps_merges, run)
    for token in special:
        if learned[0].find(token.encode()) is not None:
            raise UnsupportedFeatureError(
                f"the special token {token!r} is also a token that is learned. The original gives both one id, "
                "which is not supported: choose another special token",
                feature="special_tokens",
            )
    vocabulary = with_added_tokens(learned[0], [(id, Token(token)) for id, token in enumerate(special)])
    model = Bpe("char", end_of_word=suffix, end_of_word_style="suffix" if suffix else "symbol")
    tok = Tokenizer(Definition(model), vocabulary)
    given = {"continuing_subword_prefix": prefix, "end_of_word_suffix": suffix}
    return given, lambda: written_members(tok)


class WordPieceTrainer(Trainer):
    """Learns a `models.WordPiece`: the tokens of `BpeTrainer`, without the merges.

    Args:
        vocab_size, min_frequency, show_progress, special_tokens, limit_alphabet, initial_alphabet: as for `BpeTrainer`.
        continuing_subword_prefix: prefix of tokens inside a word.
        end_of_word_suffix: suffix of tokens at the end of a word.
    """

    __slots__ = ()
    min_frequency = Option(size, 0)
    vocab_size = Option(size, 30000)
    show_progress = Option(flag, True)
    special_tokens = _SpecialTokens()
    limit_alphabet = Option(optional(size), None)
    initial_alphabet = _Alphabet()
    continuing_subword_prefix = Option(optional(text), "##")
    end_of_word_suffix = Option(optional(text), None)

    def __init__(self, **options: Any) -> None:
        _check_given(options)
        super().__init__(**options)

    def _written(self) -> dict[str, Any]:
        own = {key: value for key, value in self.cell.state.items() if key != "type"}
        order = {option.key: None for option in BpeTrainer._options}
        facts = order | {"progress_format": Word("Indicatif"), **own, "words": {}}
        return {"bpe_trainer": Named("BpeTrainer", facts)}

    def _learned(self, counts: Counts, model: Model) -> Model:
        options, members = _bpe(self, counts, keeps_merges=False)
        prefix = options["continuing_subword_prefix"] or model.options["continuing_subword_prefix"]
        return model.of({**model.options, "continuing_subword_prefix": prefix}, lambda: (members()[0], None))


class WordLevelTrainer(Trainer):
    """Learns a `models.WordLevel`: the most frequent words.

    Args:
        vocab_size, min_frequency, show_progress, special_tokens: as for `BpeTrainer`.

    Examples:
        >>> stages = {"pre_tokenizer": {"type": "Whitespace"}}
        >>> model, _ = WordLevelTrainer(vocab_size=1, show_progress=False).learn(["low low lower"], stages, [])
        >>> model
        WordLevel(vocab={"low":0}, unk_token="<unk>")
    """

    __slots__ = ()
    min_frequency = Option(size, 0)
    vocab_size = Option(size, 30000)
    show_progress = Option(flag, True)
    special_tokens = _SpecialTokens()

    def _learned(self, counts: Counts, model: Model) -> Model:
        least, most = self.min_frequency, self.vocab_size
        words = [(-num, word) for word, num in counts.items() if num >= least]
        words.sort()
        contents = [*(token["content"] for token in self.cell.state["special_tokens"])]
        contents += [word.decode() for _, word in words[: max(most - len(contents), 0)]]
        vocab = {word: id for id, word in enumerate(contents[:most])}
        return model.of(model.options, lambda: (to_json(vocab).encode(), None))


class UnigramTrainer(Trainer):
    """Learns a `models.Unigram`, as SentencePiece's trainer does.

    Args:
        vocab_size, show_progress, special_tokens, initial_alphabet: as for `BpeTrainer`.
        n_sub_iterations: iterations of EM before each pruning.
        shrinking_factor: share of the pieces that a pruning keeps.
        unk_token: the token of unknown characters.
        max_piece_length: characters of the longest piece.
        seed_size: number of pieces that training starts with.
    """

    __slots__ = ()
    show_progress = Option(flag, True)
    vocab_size = Option(size_32, 8000)
    n_sub_iterations = Option(size_32, 2, is_hidden=True)
    shrinking_factor = Option(number, 0.75, is_hidden=True)
    special_tokens = _SpecialTokens()
    initial_alphabet = _Alphabet()
    unk_token = Option(optional(text), None, is_hidden=True)
    max_piece_length = Option(size, 16, is_hidden=True)
    seed_size = Option(size, 1_000_000, is_hidden=True)

    def _learned(self, counts: Counts, model: Model) -> Model:
        from ...definition import Definition, Unigram
        from ...tokenizer import Tokenizer
        from ...training.checkpoint import checkpointed_piece_run
        from ...training.limits import Limits
        from ...training.presets.unigram import LONGEST

        state = self.cell.state
        reserved = [token["content"] for token in state["special_tokens"]]
        unk = state["unk_token"]
        if unk is not None and unk not in reserved:
            reserved.insert(0, unk)
        options = {
            "vocab_size": state["vocab_size"],
            "num_reserved": len(reserved),
            "character_coverage": 1.0,
            "required_chars": "".join(state["initial_alphabet"]),
            "max_sentencepiece_length": min(state["max_piece_length"], LONGEST),
            "split_by_unicode_script": False,
            "split_by_number": False,
            "split_digits": False,
            "seed_sentencepiece_size": max(state["seed_size"], 1),
            "shrinking_factor": state["shrinking_factor"],
            "num_sub_iterations": state["n_sub_iterations"],
            "bug_compatible": True,  # pieces that only end words are no seeds there, either
            "single_precision": False,
        }
        run = checkpointed_piece_run(counts, {}, state["vocab_size"], Limits.of(None, None))
        try:
            vocabulary, _ = counts._core.learn_unigram(json.dumps(options), [], run)
        except ConfigError:
            raise Exception("The vocabulary is not large enough to contain all chars") from None
        core = Tokenizer(Definition(Unigram(None)), vocabulary)._core
        pieces = zip(map(bytes.decode, vocabulary.columns()[2]), core.scores(), strict=True)
        known = set(reserved)
        entries = [(token, 0.0) for token in reserved] + [each for each in pieces if each[0] not in known]
        facts = {"type": "Unigram", "unk_id": None if unk is None else reserved.index(unk), "byte_fallback": False}
        return model.of(facts, lambda: (to_json(entries).encode(), None))


class ParityBpeTrainer:
    """Learns the merges of several languages at once; by the original, where it is installed.

    Args:
        options: those of the original.

    Raises:
        UnsupportedFeatureError: it is not installed.
    """

    def __init__(self, **options: Any) -> None:
        if options.get("special_tokens") is not None:
            options["special_tokens"] = list(map(_original_token, options["special_tokens"]))
        vars(self)["_trainer"] = original.module("trainers").ParityBpeTrainer(**options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._trainer, name)
        return [AddedToken(**token.__getstate__()) for token in value] if name == "special_tokens" else value

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._trainer, name, list(map(_original_token, value)) if name == "special_tokens" else value)

    def train_from_iterator(
        self, tokenizer: Any, train_iterators: Any, dev_iterators: Any = None, ratio: Any = None
    ) -> None:
        """Trains a tokenizer on the texts of each language.

        Args:
            tokenizer: the tokenizer, whose model is replaced.
            train_iterators: texts of each language.
            dev_iterators: texts of each language by which languages are chosen.
            ratio: the wanted ratio of lengths.
        """
        theirs = original.module().Tokenizer.from_str(tokenizer.to_str())
        self._trainer.train_from_iterator(theirs, train_iterators, dev_iterators, ratio)
        tokenizer.model = from_state("model", json.loads(theirs.to_str())["model"])
        tokenizer.add_special_tokens(self.special_tokens)

    def __getstate__(self) -> Any:
        return self._trainer.__getstate__()

    def __setstate__(self, state: Any) -> None:
        vars(self)["_trainer"] = original.module("trainers").ParityBpeTrainer()
        self._trainer.__setstate__(state)

    def __repr__(self) -> str:
        return repr(self._trainer)


def _original_token(token: Any) -> Any:
    if not isinstance(token, AddedToken):
        return token
    facts = token.__getstate__()
    return original.module().AddedToken(facts.pop("content"), **facts)
