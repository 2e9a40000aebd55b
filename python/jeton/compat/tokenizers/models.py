"""The models of Hugging Face's `tokenizers`.

The vocabulary of a model and its merges are two JSON texts. They are parsed only if a caller requests entries. For a
tokenizer from a file, even these two texts are created only on request.

Source: huggingface/tokenizers 0.23.3, bindings/python/src/models.rs and tokenizers/src/models (behavior).
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from itertools import accumulate, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

from ...errors import JetonError
from .entries import (
    Entries,
    Members,
    check_merges,
    merge_of,
    merges_of,
    pieces_of,
    read_merges,
    read_vocab_json,
    read_vocab_txt,
    reported,
    vocab_of,
)
from .parts import Cell, Option, Part
from .token import Token
from .values import flag, ignored, number, optional, shown, single, size, size_32, text, to_json, widened

__all__ = ["BPE", "Model", "Unigram", "WordLevel", "WordPiece"]

_BYTE = re.compile("<0x[0-9A-F]{2}>")


class Model(Part):
    """Base class of models. An object of this class itself is an empty `BPE`."""

    kind = "model"
    __slots__ = ()
    _order: ClassVar[tuple[str, ...]] = ()  # keys of the model's JSON, in the order in which they are written

    def __init__(self) -> None:
        self.cell = BPE().cell

    @classmethod
    def of(cls, options: Mapping[str, Any], members: Callable[[], Members]) -> Model:
        """Creates a model from options, and from entries that are built on use.

        Args:
            options: the model's JSON, without ``"vocab"`` and ``"merges"``.
            members: function that returns the vocabulary and the merges as JSON, with None for the merges if the model
                has none.

        Examples:
            >>> model = Model.of({"type": "WordLevel", "unk_token": "?"}, lambda: (b'{"low":0,"?":1}', None))
            >>> model
            WordLevel(vocab={"low":0, "?":1}, unk_token="?")
        """
        return cls._of_entries(options, Entries(members))

    @classmethod
    def _of_entries(cls, options: Mapping[str, Any], entries: Entries) -> Model:
        own = cls.types.get(options.get("type", ""))
        if own is None:
            raise Exception("data did not match any variant of untagged enum ModelUntagged")
        cell = own._of_state(options)
        cell.entries = entries
        return cls._of_cell(cell)

    @classmethod
    def _of_parsed(cls, state: Mapping[str, Any]) -> Model:
        """Creates a model from parsed JSON."""
        vocab, merges = state.get("vocab"), state.get("merges")
        if not isinstance(vocab, dict | list) or (merges is None and state.get("type") == "BPE"):
            raise Exception("Missing vocab/merges")
        vocab = vocab if isinstance(vocab, dict) else list(map(tuple, vocab))
        return cls._of_entries(state, Entries.of(vocab, None if merges is None else list(map(merge_of, merges))))

    def adopt(self, other: Model) -> None:
        """Replaces options and entries by those of another model, such as the result of training."""
        self.cell.entries = other.cell.entries
        self.cell.replace(other.cell._state)

    @property
    def entries(self) -> Entries:
        """The vocabulary."""
        entries: Entries = self.cell.entries
        return entries

    @property
    def options(self) -> dict[str, Any]:
        """The model's JSON without vocabulary and merges."""
        state, order = self.cell._state, self._typed()._order
        return {name: state[name] for name in order if name in state}

    def members(self) -> Members:
        """Returns two JSON texts: the vocabulary, and the merges (None if the model has no merges)."""
        return self.entries.members

    def entries_members(self) -> Callable[[], Members]:
        """Returns a function that gives the current `members`. Later training does not change the result."""
        entries = self.entries
        return lambda: entries.members

    @property
    def state(self) -> dict[str, Any]:
        """The model in the form of `tokenizer.json`; callers must not change it."""
        return self._with(self.options, self.entries.vocab, self.entries.merges)

    def _with(self, options: Mapping[str, Any], vocab: Any, merges: Any) -> dict[str, Any]:
        if isinstance(vocab, dict):
            vocab = dict(sorted(vocab.items(), key=itemgetter(1)))
        found = {**options, "vocab": vocab, "merges": merges}
        return {name: found[name] for name in self._typed()._order}

    def json(self) -> bytes:
        """Returns the model's JSON, with its members in the order of the original."""
        vocab, merges = self.members()
        written = {name: to_json(value).encode() for name, value in self.options.items()}
        written |= {"vocab": vocab, "merges": merges or b""}
        return b"{%s}" % b",".join(b'"%s":%s' % (name.encode(), written[name]) for name in self._typed()._order)

    def _typed(self) -> type[Model]:
        return self.types[self.cell._state["type"]]  # type: ignore[return-value]

    # ── calls ──

    def tokenize(self, sequence: Any) -> list[Any]:
        """Returns the tokens of a text, which is passed to the model unchanged.

        Examples:
            >>> [token.value for token in WordPiece({"low": 0, "##er": 1, "[UNK]": 2}).tokenize("lower")]
            ['low', '##er']
        """
        sequence = text(sequence)
        found = self._tokens(sequence)
        if found is None:
            found = [token.as_tuple() for token in self.original().tokenize(sequence)]
        return [Token(*each) for each in found]

    def _tokens(self, sequence: str) -> list[tuple[int, str, tuple[int, int]]] | None:
        """Returns (id, token, range in bytes) for each token of a text; None if Jeton does not support the model."""
        state = vars(self.entries).get("alone")
        if state is None:
            state = import_module(".state", __package__).State.of_model(self)
            vars(self.entries)["alone"] = state
        if not sequence and self.cell._state["type"] == "WordLevel":
            return None  # the original treats an empty text as a word, and returns a token or an error
        options, built, data = self.cell._state, state.current(), sequence.encode()
        if built is None or options.get("dropout") or options.get("alpha") is not None:
            return None
        try:
            encoded = built.tok.tokenize(sequence)
        except JetonError:
            return None
        spans, names = encoded.byte_spans, self.entries.tokens
        values = [names[id] for id in encoded.ids]
        if options["type"] == "Unigram":
            # For a byte token, the original returns the range of all adjacent unknown characters. Jeton does not.
            if any(map(_BYTE.fullmatch, values)):
                return None
            values = [data[at:end].decode() for at, end in spans]  # unknown characters are shown as themselves
        # The original leaves out unknown characters, and counts its ranges as if the text did not contain them.
        if options["type"] == "BPE" and options["unk_token"] is None:
            ends = [*accumulate(map(len, map(str.encode, self._bare(values, sequence))), initial=0)]
            if ends[-1] < len(data):
                spans = list(pairwise(ends))
        return list(zip(encoded.ids, values, spans, strict=True))

    def _bare(self, tokens: list[str], sequence: str) -> Iterable[str]:
        """Yields the tokens of a pretoken without prefix and suffix."""
        prefix = self.cell._state["continuing_subword_prefix"] or ""
        suffix = self.cell._state["end_of_word_suffix"] or ""
        for at, token in enumerate(tokens):
            if self.cell._state["byte_fallback"] and _BYTE.fullmatch(token):
                yield "?"  # a placeholder of one byte, because the token is one byte
                continue
            bare = token if at == 0 and sequence.startswith(token) else token.removeprefix(prefix)
            yield bare.removesuffix(suffix) if at == len(tokens) - 1 else bare

    def token_to_id(self, token: Any) -> int | None:
        """Returns the id of a token; None if there is none."""
        return self.entries.ids.get(text(token))

    def id_to_token(self, id: Any) -> str | None:
        """Returns the token with an id; None if there is none."""
        return self.entries.tokens.get(size_32(id))

    def save(self, folder: Any, prefix: Any = None, name: Any = None) -> list[str]:
        """Saves the model's files in a folder, and returns their paths.

        Args:
            folder: the folder.
            prefix: prefix of the names of the files, followed by a hyphen.
            name: former name of the argument `prefix`.
        """
        folder, prefix, name = text(folder), optional(text)(prefix), optional(text)(name)
        if name is not None:
            warnings.warn(
                "Deprecated in 0.10.0: Parameter `name` of Model.save has been renamed `prefix`",
                DeprecationWarning,
                stacklevel=2,
            )
            prefix = name if prefix is None else prefix
        paths = []
        for file, content in self._typed()._files(self).items():
            path = os.path.join(folder, file if prefix is None else f"{prefix}-{file}")
            reported(partial(Path(path).write_bytes, content), "")
            paths.append(path)
        return paths

    def _files(self) -> dict[str, bytes]:
        """Returns file name → content, for each file of the model."""
        return {"vocab.json": self.members()[0]}

    def get_trainer(self) -> Any:
        """Returns a trainer for this type of model, with default options."""
        trainers = import_module(".trainers", __package__)  # imported here because it needs this module
        return getattr(trainers, f"{self.cell._state['type'].replace('BPE', 'Bpe')}Trainer")()

    def __getstate__(self) -> bytes:
        return self.json()

    def __repr__(self) -> str:
        return self._shown(100, None)

    def __str__(self) -> str:
        return self._shown(6, 100)

    def _shown(self, most: int, longest: int | None) -> str:
        options, entries = self.options, self.entries
        if "dropout" in options:
            options["dropout"] = widened(options["dropout"])
        vocab = entries.vocab[:most] if isinstance(entries.vocab, list) else entries.vocab
        return shown(self._with(options, vocab, (entries.merges or [])[:most]), most=most, longest=longest)


class BPE(Model):
    """Byte-pair encoding.

    Args:
        vocab: token → id, or the path of a `vocab.json`.
        merges: pairs of tokens by rank, or the path of a `merges.txt`.
        cache_capacity: not used.
        dropout: probability that a merge is skipped.
        unk_token: the token of unknown characters; None leaves them out.
        continuing_subword_prefix: prefix of tokens inside a word.
        end_of_word_suffix: suffix of tokens at the end of a word.
        fuse_unk: whether adjacent unknown characters are one token.
        byte_fallback: whether unknown characters become tokens such as ``<0x61>``.
        ignore_merges: whether a pretoken that is an entry of the vocabulary becomes one token, without any merges.

    Raises:
        ValueError: only one of vocabulary and merges is given.
        Exception: a merge has a token that is not an entry, or a file cannot be read.

    Examples:
        >>> model = BPE({"l": 0, "o": 1, "lo": 2}, [("l", "o")])
        >>> model.token_to_id("lo")
        2
    """

    __slots__ = ()
    dropout = Option(optional(single), None, get=widened)
    unk_token = Option(optional(text), None)
    continuing_subword_prefix = Option(optional(text), None)
    end_of_word_suffix = Option(optional(text), None)
    fuse_unk = Option(flag, False)
    byte_fallback = Option(flag, False)
    ignore_merges = Option(flag, False)
    _order = (
        "type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
        "ignore_merges", "vocab", "merges",
    )  # fmt: skip

    def __init__(self, vocab: Any = None, merges: Any = None, **options: Any) -> None:
        vocab, merges = optional(vocab_of)(vocab), optional(merges_of)(merges)
        if (vocab is None) != (merges is None):
            raise ValueError("`vocab` and `merges` must be both specified")
        if isinstance(vocab, str) != isinstance(merges, str):
            raise ValueError("`vocab` and `merges` must be both be from memory or both filenames")
        state = dict(self._of_state({})._state)
        for name, value in options.items():
            if name == "cache_capacity":
                size(value)
            elif name not in state or name == "type":
                ignored(name, "kwarg")
            elif name in ("dropout", "unk_token"):
                if value is not None:
                    state[name] = (single if name == "dropout" else text)(value)
            else:
                state[name] = (text if state[name] is None else flag)(value)
        prefix = "Error while initializing BPE: "
        if state["dropout"] is not None and not 0 <= state["dropout"] <= 1:
            raise Exception(prefix + "Dropout should be between 0 and 1, inclusive")
        if isinstance(vocab, str):
            vocab, merges = reported(lambda: (read_vocab_json(vocab), read_merges(merges)), prefix)
        vocab, merges = vocab or {}, merges or []
        if len(set(merges)) != len(merges):  # a merge that is repeated has the rank of its last occurrence
            merges = list(dict.fromkeys(reversed(merges)))[::-1]
        check_merges(vocab, merges, len((state["continuing_subword_prefix"] or "").encode()))
        self.cell = Cell(state)
        self.cell.entries = Entries.of(vocab, merges)

    @staticmethod
    def read_file(vocab: Any, merges: Any) -> tuple[dict[str, int], list[tuple[str, str]]]:
        """Reads a `vocab.json` and a `merges.txt`."""
        vocab, merges = text(vocab), text(merges)
        prefix = "Error while reading vocab & merges files: "
        found: tuple[dict[str, int], list[tuple[str, str]]] = reported(
            lambda: (read_vocab_json(vocab), read_merges(merges)), prefix
        )
        return found

    @classmethod
    def from_file(cls, vocab: Any, merges: Any, **options: Any) -> BPE:
        """Creates a model from a `vocab.json` and a `merges.txt`."""
        vocab, merges = text(vocab), text(merges)
        prefix = "Error while reading BPE files: "
        return cls(*reported(lambda: (read_vocab_json(vocab), read_merges(merges)), prefix), **options)

    def _files(self) -> dict[str, bytes]:
        merges = "".join(f"{line}\n" for line in map(" ".join, self.entries.merges or ()))
        return {"vocab.json": self.members()[0], "merges.txt": f"#version: 0.2\n{merges}".encode()}

    def _clear_cache(self) -> None:
        """Does nothing, because the cache is valid for any state of the model."""

    def _resize_cache(self, capacity: Any) -> None:
        """Does nothing."""
        size(capacity)


class WordPiece(Model):
    """Greedy longest match from the left, the model of BERT.

    Args:
        vocab: token → id, or the path of a `vocab.txt`.
        unk_token: the token of words that cannot be split into entries.
        max_input_chars_per_word: longer words become the unknown token.
        continuing_subword_prefix: prefix of tokens inside a word.

    Examples:
        >>> WordPiece({"low": 0, "[UNK]": 1}).unk_token
        '[UNK]'
    """

    __slots__ = ()
    unk_token = Option(text, "[UNK]")
    continuing_subword_prefix = Option(text, "##")
    max_input_chars_per_word = Option(size, 100)
    _order = ("type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab")

    def __init__(self, vocab: Any = None, **options: Any) -> None:
        vocab = optional(vocab_of)(vocab)
        state = dict(self._of_state({})._state)
        for option in self._options:
            if option.name in options:
                state[option.name] = option.convert(options.pop(option.name))
        for name in options:
            ignored(name)
        if isinstance(vocab, str):
            vocab = reported(lambda: read_vocab_txt(vocab), "Error while initializing WordPiece: ")
        self.cell = Cell(state)
        self.cell.entries = Entries.of(vocab or {}, None)

    @staticmethod
    def read_file(vocab: Any) -> dict[str, int]:
        """Reads a `vocab.txt`."""
        vocab = text(vocab)
        found: dict[str, int] = reported(lambda: read_vocab_txt(vocab), "Error while reading WordPiece file: ")
        return found

    @classmethod
    def from_file(cls, vocab: Any, **options: Any) -> WordPiece:
        """Creates a model from a `vocab.txt`."""
        return cls(cls.read_file(vocab), **options)

    def _files(self) -> dict[str, bytes]:
        vocab = sorted(self.entries.ids.items(), key=itemgetter(1))
        return {"vocab.txt": "".join(f"{token}\n" for token, _ in vocab).encode()}


class WordLevel(Model):
    """Model whose tokens are whole words.

    Args:
        vocab: word → id, or the path of a `vocab.json`.
        unk_token: the token for words that are not in the vocabulary.

    Examples:
        >>> WordLevel({"low": 0, "<unk>": 1}).token_to_id("low")
        0
    """

    __slots__ = ()
    unk_token = Option(text, "<unk>")
    _order = ("type", "vocab", "unk_token")

    def __init__(self, vocab: Any = None, unk_token: Any = None) -> None:
        vocab, unk_token = optional(vocab_of)(vocab), optional(text)(unk_token)
        if isinstance(vocab, str):
            vocab = reported(lambda: read_vocab_json(vocab), "")
        self.cell = Cell({"type": "WordLevel", "unk_token": "<unk>" if unk_token is None else unk_token})
        self.cell.entries = Entries.of(vocab or {}, None)

    @staticmethod
    def read_file(vocab: Any) -> dict[str, int]:
        """Reads a `vocab.json`."""
        vocab = text(vocab)
        found: dict[str, int] = reported(lambda: read_vocab_json(vocab), "Error while reading WordLevel file: ")
        return found

    @classmethod
    def from_file(cls, vocab: Any, unk_token: Any = None) -> WordLevel:
        """Creates a model from a `vocab.json`."""
        return cls(cls.read_file(vocab), unk_token)


class Unigram(Model):
    """Model that selects the segmentation with the highest score.

    Args:
        vocab: pairs of piece and score, by id; None means a vocabulary with only an unknown token.
        unk_id: the id of unknown characters.
        byte_fallback: whether unknown characters become tokens such as ``<0x61>``.
        alpha: smoothing of sampling.
        nbest_size: number of segmentations to sample from.

    Examples:
        >>> Unigram([("<unk>", 0.0), ("low", -1.0)], unk_id=0).token_to_id("low")
        1
    """

    __slots__ = ()
    unk_id = Option(optional(size), None, is_hidden=True)
    byte_fallback = Option(flag, False, is_hidden=True)
    alpha = Option(optional(number), None)
    nbest_size = Option(optional(size), None)
    _order = ("type", "unk_id", "vocab", "byte_fallback")

    def __init__(
        self,
        vocab: Any = None,
        unk_id: Any = None,
        byte_fallback: Any = None,
        alpha: Any = None,
        nbest_size: Any = None,
    ) -> None:
        vocab, unk_id = optional(pieces_of)(vocab), optional(size)(unk_id)
        state = {
            "type": "Unigram",
            "unk_id": unk_id,
            "byte_fallback": bool(optional(flag)(byte_fallback)),
            "alpha": optional(number)(alpha),
            "nbest_size": optional(size)(nbest_size),
        }
        if vocab is None:
            if unk_id is not None:
                raise ValueError("`vocab` and `unk_id` must be both specified")
            vocab = [("<unk>", 0.0)]
            state |= {"unk_id": 0, "byte_fallback": False}
        elif unk_id is not None and unk_id >= len(vocab):
            what = (
                "`unk_id` is larger than vocabulary size"
                if vocab
                else "vocabulary is empty but at least <unk> is needed"
            )
            raise Exception(f"Error while loading Unigram: The {what}")
        self.cell = Cell(state)
        self.cell.entries = Entries.of(vocab, None)

    def _files(self) -> dict[str, bytes]:
        return {"unigram.json": json.dumps(self.state, ensure_ascii=False, indent=2).encode()}

    def _clear_cache(self) -> None:
        """Does nothing, because the cache is valid for any state of the model."""

    def _resize_cache(self, capacity: Any) -> None:
        """Does nothing."""
        size(capacity)
