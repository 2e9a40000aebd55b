"""The trainers of Hugging Face's `tokenizers`, implemented by the presets of `jeton.training`.

`Tokenizer.train` calls `learn`. As in the original, special tokens in the training texts are counted as text.

Differences: `UnigramTrainer` learns by SentencePiece's algorithm, so pieces and scores are close, but not equal. A
special token that is also learned from the corpus is an error. `ParityBpeTrainer` needs the original package.

Source: huggingface/tokenizers 0.23.3, bindings/python/src/trainers.rs and tokenizers/src/models (behavior).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import JetonError, UnsupportedFeatureError
from . import original
from .added_token import AddedToken
from .learning import counted, learn_bpe, learn_unigram
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
    """Option for special tokens, given as strings or `AddedToken`s."""

    def __init__(self) -> None:
        super().__init__(_special_tokens("special_tokens"), [], get=_added_tokens, load=_named)

    def __set__(self, part: Part, value: Any) -> None:
        part.cell.replace({**part.cell.state, self.key: _special_tokens("Special tokens")(value)})


def _added_tokens(tokens: list[dict[str, Any]]) -> list[AddedToken]:
    return [AddedToken(**token) for token in tokens]


def _named(tokens: list[dict[str, Any]]) -> list[Any]:
    return [Named("AddedToken", token) for token in tokens]


class _Alphabet(Option):
    """Option for a list of characters. The constructor takes strings, and uses the first character of each string."""

    def __init__(self) -> None:
        super().__init__(lambda value: _distinct(each[0] for each in items(text)(value) if each), [], get=list)

    def __set__(self, part: Part, value: Any) -> None:
        part.cell.replace({**part.cell.state, self.key: _distinct(items(character)(value))})


def _distinct(characters: Iterable[str]) -> list[str]:
    return sorted(set(characters))


class Trainer(Part):
    """Base class of trainers."""

    kind = "trainer"
    __slots__ = ()
    _keywords_only = True

    def __init__(self, **options: Any) -> None:
        known = {option.argument for option in self._options}
        for name in [name for name in options if name not in known]:
            if type(self) is not Trainer:
                ignored(name)
            del options[name]
        super().__init__(**options)

    @property
    def state(self) -> dict[str, Any]:
        """Content of the trainer's pickle, also used for `repr`. Callers must not change this dictionary."""
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
        """Learns a model from texts.

        Args:
            texts: the corpus.
            stages: the ``"normalizer"`` and the ``"pre_tokenizer"`` to apply to the texts. Each is an object, JSON, or
                None for a missing stage.
            added: added tokens of the tokenizer so far; not used.
            model: the model to train; options that training does not set are kept.

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
            made = self._learned(counted(texts, stages, self.cell.state["show_progress"]), base)
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


class BpeTrainer(Trainer):
    """Learns a `models.BPE`.

    Args:
        vocab_size: number of entries, with special tokens and alphabet.
        min_frequency: pairs with a lower count are not merged.
        show_progress: whether a bar is drawn in a terminal.
        progress_format: ``"indicatif"``, ``"json"`` or ``"silent"``.
        special_tokens: entries with the first ids.
        limit_alphabet: number of characters to keep; the most frequent ones are kept.
        initial_alphabet: characters that are always kept.
        continuing_subword_prefix: prefix of tokens inside a word.
        end_of_word_suffix: suffix of tokens at the end of a word.
        max_token_length: a learned token must have fewer characters than this. As in the original, tokens of two
            characters are exempt.

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
        """Always returns 0: a trainer stores no word counts. Each training call counts the words of its own texts."""
        return 0

    def _learned(self, counts: Counts, model: Model) -> Model:
        options, members = learn_bpe(self.cell.state, counts, keeps_merges=True)
        return model.of({**model.options, **options}, lambda: members)


def _check_given(options: Mapping[str, Any]) -> None:
    """Raises an error if one of four options is None in the constructor. Later, these options can be set to None."""
    for name in ("continuing_subword_prefix", "end_of_word_suffix"):
        if name in options:
            text(options[name])
    for name in ("limit_alphabet", "max_token_length"):
        if name in options and options[name] is None:
            size(None)


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
        options, (vocab, _) = learn_bpe(self.cell.state, counts, keeps_merges=False)
        prefix = options["continuing_subword_prefix"] or model.options["continuing_subword_prefix"]
        return model.of({**model.options, "continuing_subword_prefix": prefix}, lambda: (vocab, None))


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
    """Learns a `models.Unigram` by the algorithm of SentencePiece's trainer.

    Args:
        vocab_size, show_progress, special_tokens, initial_alphabet: as for `BpeTrainer`.
        n_sub_iterations: iterations of EM before each pruning.
        shrinking_factor: share of the pieces that each pruning keeps.
        unk_token: the token of unknown characters.
        max_piece_length: maximum number of characters of a piece.
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
        options, members = learn_unigram(self.cell.state, counts)
        return model.of(options, lambda: members)


class ParityBpeTrainer:
    """Learns merges for several languages at once, with the trainer of the original package.

    Args:
        options: keyword arguments of the class of the same name in the original package.

    Raises:
        UnsupportedFeatureError: the original package is not installed.
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
            dev_iterators: development texts of each language, used to choose the language of the next merge.
            ratio: target compression rate of each language; only used without `dev_iterators`.
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
