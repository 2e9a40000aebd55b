"""`Tokenizer`: a mutable tokenizer, as in Hugging Face's package, over Jeton's immutable tokenizers.

A tokenizer has four parts: a `State`, padding, truncation and the flag `encode_special_tokens`. Every change replaces a
part atomically, and every call reads each part once. So a thread can change a tokenizer while other threads encode.

Source: huggingface/tokenizers, bindings/python/src/tokenizer.rs and tokenizer/mod.rs (behavior).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self

from ...errors import JetonError, UnsupportedFeatureError
from ...util.locks import ForkLock
from .. import report
from ..hf_backend import Unproven
from . import models, original
from .added_token import AddedToken
from .calls import Call, FramedCall, TextCall, columns_of
from .encoding import Encoding, merged
from .inputs import batch_input, flag, id_list, items, known_options, one_input, owned_input, string, u32, usize
from .parts import BASES, Part
from .serialization import padding_json, padding_of_json, pretty, shown_settings, truncation_json, truncation_of_json
from .state import Added, Built, State
from .values import shown

__all__ = ["Tokenizer", "report_missing_attributes"]

_DIRECTIONS = ("left", "right")
_STRATEGIES = ("longest_first", "only_first", "only_second")
LONG_TEXT = 1 << 16  # characters; texts of at least this length are encoded on several threads


class Tokenizer:
    """A tokenizer with a model and optional components, which can be assigned at any time.

    Examples:
        >>> from jeton.compat.tokenizers import models, pre_tokenizers
        >>> tok = Tokenizer(models.WordLevel({"low": 0, "lower": 1, "[UNK]": 2}, unk_token="[UNK]"))
        >>> tok.pre_tokenizer = pre_tokenizers.Whitespace()
        >>> tok.enable_padding(pad_id=9)
        >>> [encoding.ids for encoding in tok.encode_batch(["low lower", "low"])]
        [[0, 1], [0, 9]]
    """

    def __init__(self, model: Any) -> None:
        if not isinstance(model, models.Model):
            raise TypeError(f"'{type(model).__name__}' object is not an instance of 'Model'")
        self._start(State.of_model(model))

    def _start(self, state: State) -> None:
        self._lock = ForkLock()
        self._state = state
        self._truncation: dict[str, Any] | None = None
        self._padding: dict[str, Any] | None = None
        self._splits_special = False

    def _engine(self) -> Built:
        """Returns Jeton's engine for the current state.

        Raises:
            JetonError: Jeton does not support the state; calls must use the original package.
        """
        state = self._state
        built = state.current()
        if built is None:
            raise state.error or UnsupportedFeatureError("the state changed meanwhile", feature="tokenizer")
        return built

    # ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def _of_json(cls, data: bytes) -> Tokenizer:
        """Reads a `tokenizer.json`.

        Raises:
            Exception: Jeton rejects the file, and the original package rejects the file, too, or is not installed.
        """
        made = object.__new__(Tokenizer)
        try:
            state, top = State.of_json(data)
            truncation = truncation_of_json(top.get("truncation"))
            padding = padding_of_json(top.get("padding"))
        except (JetonError, KeyError, TypeError, ValueError, AttributeError) as error:
            return _read_by_original(made, data, error)
        made._start(state)
        made._truncation, made._padding = truncation, padding
        if state.error is not None:
            _check_by_original(data, state.error)
        return made

    @staticmethod
    def from_str(json: str) -> Tokenizer:
        """Reads the content of a `tokenizer.json`.

        Examples:
            >>> tok = Tokenizer.from_str('{"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}')
            >>> tok.encode("a").ids
            [0]
        """
        if not isinstance(json, str):
            raise TypeError(f"argument 'json': '{type(json).__name__}' object is not an instance of 'str'")
        return Tokenizer._of_json(json.encode())

    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> Tokenizer:
        """Reads a `tokenizer.json`."""
        name = os.fspath(path)
        if not isinstance(name, str):
            raise TypeError(f"argument 'path': '{type(path).__name__}' object is not an instance of 'str'")
        try:
            with open(name, "rb") as file:
                data = file.read()
        except OSError as error:
            raise Exception(f"{error.strerror} (os error {error.errno})") from None
        return Tokenizer._of_json(data)

    @staticmethod
    def from_buffer(buffer: bytes) -> Tokenizer:
        """Creates a tokenizer from `bytes` with the content of a `tokenizer.json`."""
        if not isinstance(buffer, bytes):
            raise TypeError(f"argument 'buffer': '{type(buffer).__name__}' object is not an instance of 'bytes'")
        try:
            return Tokenizer._of_json(buffer)
        except UnsupportedFeatureError:
            raise
        except Exception as error:
            raise ValueError(f"Cannot instantiate Tokenizer from buffer: {error}") from None

    @staticmethod
    def from_pretrained(identifier: str, revision: str = "main", token: str | None = None) -> Tokenizer:
        """Reads the `tokenizer.json` of a repository on the Hugging Face Hub, with the package ``huggingface_hub``."""
        from huggingface_hub import hf_hub_download

        return Tokenizer.from_file(
            hf_hub_download(repo_id=identifier, filename="tokenizer.json", revision=revision, token=token)
        )

    def to_str(self, pretty: bool = False) -> str:
        """Returns the content of a `tokenizer.json`.

        Args:
            pretty: whether the JSON is on several lines and indented.
        """
        has_lines = flag(pretty, "pretty")
        return _pretty(self._json()) if has_lines else self._json()

    def save(self, path: str, pretty: bool = True) -> None:
        """Writes a `tokenizer.json`."""
        from ...util.atomic import write_atomically

        text = self.to_str(pretty)
        name = os.fspath(path)
        try:
            with write_atomically(name, streams=True) as file:
                file.write(text.encode())
        except OSError as error:
            raise Exception(f"{error.strerror} (os error {error.errno})") from None

    def _json(self, state: State | None = None) -> str:
        settings = {"truncation": truncation_json(self._truncation), "padding": padding_json(self._padding)}
        return (state or self._state).to_json(settings)

    def __repr__(self) -> str:
        return self._shown()

    def __str__(self) -> str:
        return self._shown(most=6, longest=100)

    def _shown(self, **limits: Any) -> str:
        settings = shown_settings(self._truncation, self._padding)
        return shown(self._state.shown_facts(*settings), "Tokenizer", **limits)

    def __getstate__(self) -> bytes:
        return self._json().encode()

    def __setstate__(self, state: bytes) -> None:
        if not isinstance(state, bytes):
            raise TypeError(f"'{type(state).__name__}' object is not an instance of 'bytes'")
        try:
            other = Tokenizer._of_json(state)
        except Exception as error:
            raise Exception(f"Error while attempting to unpickle Tokenizer: {error}") from None
        self.__dict__.update(other.__dict__)

    def __reduce__(self) -> tuple[Any, ...]:
        return _empty, (), self.__getstate__()

    def __copy__(self) -> Self:
        return self.__deepcopy__(None)

    def __deepcopy__(self, memo: Any) -> Self:
        made = object.__new__(type(self))
        made.__setstate__(self.__getstate__())
        return made

    # ── text → ids ───────────────────────────────────────────────────────────────────────────────────────────────────

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Encoding:
        """Encodes a text or a pair.

        Args:
            sequence: the text; if `is_pretokenized` is true, the words of the text.
            pair: a second text.
            is_pretokenized: whether texts are sequences of words.
            add_special_tokens: whether the post-processor adds its tokens.
        """
        if (
            type(sequence) is str
            and pair is None
            and is_pretokenized is False
            and (add_special_tokens is True or add_special_tokens is False)
            and len(sequence) < LONG_TEXT
        ):
            built = self._state.current()
            if built is not None:
                if self._padding is None and self._truncation is None and self._splits_special is False:
                    try:
                        ids = built.core.encode(sequence, "all", 1, add_special_tokens)
                    except (JetonError, UnicodeError):
                        pass
                    else:
                        call = TextCall(built, sequence, add_special_tokens, ids, self._by_original)
                        return Encoding.of_call(call, 0, ids)
                else:
                    settings = self._settings(False, add_special_tokens)
                    framed = FramedCall.of_text(built, sequence, settings, self._by_original)
                    if framed is not None:
                        return Encoding.of_call(framed, 0, framed.ids)
        is_pretokenized = flag(is_pretokenized, "is_pretokenized")
        add_special_tokens = flag(add_special_tokens, "add_special_tokens")
        first = one_input(sequence, is_pretokenized)
        second = None if pair is None else one_input(pair, is_pretokenized)
        return self._encoded([(first, second)], is_pretokenized, add_special_tokens, "char")[0]

    def encode_batch(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Encodes many texts or pairs, on several threads.

        Args:
            input: texts, or tuples or lists of two of them.
            is_pretokenized, add_special_tokens: as for `encode`.
        """
        return self._batch(input, is_pretokenized, add_special_tokens, "char")

    def encode_batch_fast(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Encodes as `encode_batch` does, but the results have no offsets, words or tokens."""
        return self._batch(input, is_pretokenized, add_special_tokens, "")

    def _batch(self, input: Any, is_pretokenized: bool, adds: bool, kind: str) -> list[Encoding]:
        is_pretokenized = flag(is_pretokenized, "is_pretokenized")
        adds = flag(adds, "add_special_tokens")
        texts = items(input)
        if not is_pretokenized and set(map(type, texts)) == {str}:
            found = self._rows(texts, None, self._settings(False, adds), kind)
            if found is not None:
                return found
        given = [batch_input(each, is_pretokenized) for each in texts]
        return self._encoded(given, is_pretokenized, adds, kind)

    def _settings(self, is_pretokenized: bool, adds: bool) -> dict[str, Any]:
        return {
            "is_pretokenized": is_pretokenized,
            "add_special_tokens": adds,
            "splits_special": self._splits_special,
            "truncation": self._truncation,
            "padding": self._padding,
        }

    def _rows(
        self, texts: list[Any], pairs: list[Any] | None, settings: dict[str, Any], kind: str
    ) -> list[Encoding] | None:
        """Encodes with Jeton's engine; returns None if the result may differ from the original's."""
        built = self._state.current()
        if built is None:
            return None
        try:
            rows = built.encode(texts, pairs, **settings)
        except Unproven:
            return None
        call = Call(built, texts, pairs, settings, self._by_original, kind, rows)
        return [Encoding.of_call(call, row) for row in range(len(texts))]

    def _encoded(self, given: Sequence[tuple[Any, Any]], is_words: bool, adds: bool, kind: str) -> list[Encoding]:
        if not given:
            return []
        settings = self._settings(is_words, adds)
        num_pairs = sum(second is not None for _, second in given)
        if num_pairs in (0, len(given)):
            texts = [first for first, _ in given]
            found = self._rows(texts, [second for _, second in given] if num_pairs else None, settings, kind)
            return self._all_by_original(given, settings, kind) if found is None else found
        padding, settings["padding"] = settings["padding"], None
        each = [self._rows([first], None if second is None else [second], settings, kind) for first, second in given]
        encodings = [found[0] for found in each if found]
        if len(encodings) < len(given):
            settings["padding"] = padding
            return self._all_by_original(given, settings, kind)
        if padding is not None:
            length = max(map(len, encodings)) if padding["length"] is None else padding["length"]
            multiple = padding["pad_to_multiple_of"] or 0
            length += -length % multiple if multiple > 0 else 0
            for encoding in encodings:
                encoding._pad(length, padding)
        return encodings

    # ── by the original ──────────────────────────────────────────────────────────────────────────────────────────────

    def _on_replica(self, state: State | Built, settings: dict[str, Any], why: str, call: Callable[[Any], Any]) -> Any:
        """Calls a function with a replica: a tokenizer of the original package with the given state and settings.

        No other call uses the replica at the same time.
        """
        extension = original.extension("Tokenizer", why)
        with self._lock as lock:
            replica = state.replica(extension, is_new=lock.depth > 1 or lock.was_forked)
            lock.was_forked = False
            if settings["truncation"] is None:
                replica.no_truncation()
            else:
                _truncates(replica, settings["truncation"])
            if settings["padding"] is None:
                replica.no_padding()
            else:
                replica.enable_padding(**settings["padding"])
            replica.encode_special_tokens = settings["splits_special"]
            try:
                return call(replica)
            except BaseException as error:
                if type(error).__name__ != "PanicException":
                    raise
                raise Exception(str(error)) from None

    def _all_by_original(self, given: Sequence[tuple[Any, Any]], settings: dict[str, Any], kind: str) -> list[Encoding]:
        state = self._state
        inputs = [first if second is None else (first, second) for first, second in given]
        options = {name: settings[name] for name in ("is_pretokenized", "add_special_tokens")}

        def call(replica: Any) -> list[Any]:
            if kind == "byte":
                return [_async_encoded(replica, first, second, options) for first, second in given]
            return list((replica.encode_batch if kind else replica.encode_batch_fast)(inputs, **options))

        found = self._on_replica(state, settings, self._reason(state, given, settings), call)
        return [columns_of(each.__getstate__()) for each in found]

    def _reason(self, state: State, given: Sequence[tuple[Any, Any]], settings: dict[str, Any]) -> str:
        """Returns the reason why Jeton does not run a call."""
        built = state.current()
        if built is None:
            return str(state.error)
        try:
            texts, pairs = [first for first, _ in given], [second for _, second in given]
            built.encode(texts, None if None in pairs else pairs, **settings)
        except Unproven as error:
            return str(error)
        return "a column of its result"

    def _by_original(self, call: Call, row: int) -> Encoding:
        """Encodes one text of a call with the original package."""
        settings = dict(call.settings)
        rows = call.rows
        if settings["padding"] is not None:
            settings["padding"] = {**settings["padding"], "length": rows.width, "pad_to_multiple_of": None}
        options = {name: settings[name] for name in ("is_pretokenized", "add_special_tokens")}
        text, pair = call.texts[row], None if call.pairs is None else call.pairs[row]

        def encode(replica: Any) -> Any:
            if call.kind == "byte":
                return _async_encoded(replica, text, pair, options)
            if call.kind:
                return replica.encode(text, pair, **options)
            return replica.encode_batch_fast([text if pair is None else (text, pair)], **options)[0]

        found = self._on_replica(call.built, settings, "a column of an encoding", encode)
        return columns_of(found.__getstate__())

    # ── in the background ────────────────────────────────────────────────────────────────────────────────────────────

    def async_encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        """Returns an awaitable that runs `encode` on a thread; offsets are in bytes, as in the original."""
        is_words = flag(is_pretokenized, "is_pretokenized")
        given = [(one_input(sequence, is_words), None if pair is None else one_input(pair, is_words))]
        adds = flag(add_special_tokens, "add_special_tokens")
        return _in_background(lambda: self._encoded(given, is_words, adds, "byte")[0])

    def async_encode_batch(self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True) -> Any:
        """Returns an awaitable that runs `encode_batch` on a thread."""
        return self._async_batch(input, is_pretokenized, add_special_tokens, "char")

    def async_encode_batch_fast(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        """Returns an awaitable that runs `encode_batch_fast` on a thread."""
        return self._async_batch(input, is_pretokenized, add_special_tokens, "")

    def _async_batch(self, input: Any, is_pretokenized: bool, adds: bool, kind: str) -> Any:
        is_pretokenized, adds = flag(is_pretokenized, "is_pretokenized"), flag(adds, "add_special_tokens")
        given = [owned_input(each, is_pretokenized) for each in items(input)]
        return _in_background(lambda: self._encoded(given, is_pretokenized, adds, kind))

    def async_decode_batch(self, sequences: Any, skip_special_tokens: bool = True) -> Any:
        """Returns an awaitable that runs `decode_batch` on a thread."""
        rows, skips = list(map(id_list, items(sequences))), flag(skip_special_tokens, "skip_special_tokens")
        return _in_background(lambda: self.decode_batch(rows, skips))

    # ── ids → text ───────────────────────────────────────────────────────────────────────────────────────────────────

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str:
        """Returns the text of ids. Ids that are not in the vocabulary are left out.

        Args:
            ids: the ids.
            skip_special_tokens: whether special tokens are left out.
        """
        if skip_special_tokens is not True and skip_special_tokens is not False:
            skip_special_tokens = flag(skip_special_tokens, "skip_special_tokens")
        built = self._state.current()
        if built is not None and type(ids) is list and not (skip_special_tokens and built.kept_ids):
            try:
                return built.core.decode_text(ids, skip_special_tokens)
            except (JetonError, TypeError, OverflowError):
                pass
        return self._decoded([id_list(ids)], skip_special_tokens)[0]

    def decode_batch(self, sequences: Any, skip_special_tokens: bool = True) -> list[str]:
        """Returns the text of many sequences of ids, on several threads."""
        skip_special_tokens = flag(skip_special_tokens, "skip_special_tokens")
        rows = items(sequences)
        built = self._state.current()
        if built is not None and set(map(type, rows)) <= {list} and not (skip_special_tokens and built.kept_ids):
            try:
                return built.decode_batch(rows, skip_special_tokens=skip_special_tokens)
            except Unproven:
                pass
        return self._decoded(list(map(id_list, rows)), skip_special_tokens)

    def _decoded(self, rows: list[list[int]], skips: bool) -> list[str]:
        state = self._state
        built = state.current()
        if built is not None:
            known = built.core.content
            rows = [[id for id in row if id < built.core.vocab_size and known(id) is not None] for row in rows]
            try:
                if not skips or built.kept_ids.isdisjoint(id for row in rows for id in row):
                    return built.decode_batch(rows, skip_special_tokens=skips)
            except Unproven:
                pass
        why = "decoding with these components"
        found: list[str] = self._on_replica(
            state,
            self._settings(False, True),
            why,
            lambda replica: replica.decode_batch(rows, skip_special_tokens=skips),
        )
        return found

    # ── vocabulary ───────────────────────────────────────────────────────────────────────────────────────────────────

    def token_to_id(self, token: str) -> int | None:
        """Returns the id of a token; None if there is none."""
        if not isinstance(token, str):
            raise TypeError(f"argument 'token': '{type(token).__name__}' object is not an instance of 'str'")
        return self._state.token_to_id(token)

    def id_to_token(self, id: int) -> str | None:
        """Returns the spelling of an id; None if there is none."""
        return self._state.id_to_token(u32(id))

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Returns spelling → id for all entries of the model and, with `with_added_tokens`, for the added tokens."""
        return self._state.vocab(with_added=flag(with_added_tokens, "with_added_tokens"))

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Returns the number of entries, with or without added tokens."""
        state = self._state
        state.current()
        if not flag(with_added_tokens, "with_added_tokens"):
            return state.size
        return state.size + sum(state.entry(token.content) is None for token in state.added.values())

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Returns id → added token, in the order of ids."""
        return {id: AddedToken(**token._asdict()) for id, token in sorted(self._state.added.items())}

    def add_tokens(self, tokens: list[str | AddedToken]) -> int:
        """Adds tokens that are matched in texts before the model runs; returns the number of new or changed tokens.

        Args:
            tokens: spellings or `AddedToken`s.
        """
        return self._add([_added(each, is_special=False) for each in _token_list(tokens)])

    def add_special_tokens(self, tokens: list[str | AddedToken]) -> int:
        """Adds tokens as `add_tokens` does, but as special tokens, which `decode` can leave out."""
        return self._add([_added(each, is_special=True) for each in _token_list(tokens)])

    def _add(self, tokens: Iterable[Added]) -> int:
        with self._lock:
            self._state, num_new = self._state.with_tokens(tokens)
        return num_new

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Returns the number of tokens that the post-processor adds to a text or a pair."""
        is_pair = flag(is_pair, "is_pair")
        processor = self._state.stage("post_processor")
        return 0 if processor is None else processor.num_special_tokens_to_add(is_pair)

    # ── settings ─────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def encode_special_tokens(self) -> bool:
        """True if special tokens in texts are encoded as plain text."""
        return self._splits_special

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        self._splits_special = flag(value, "value")

    @property
    def truncation(self) -> dict[str, Any] | None:
        """Options of `enable_truncation`; None if there is no truncation."""
        return None if self._truncation is None else dict(self._truncation)

    @property
    def padding(self) -> dict[str, Any] | None:
        """Options of `enable_padding`; None if there is no padding."""
        return None if self._padding is None else dict(self._padding)

    def enable_truncation(self, max_length: int, **options: Any) -> None:
        """Truncates texts in all later calls.

        Args:
            max_length: maximum number of ids of a text or pair, including those that the post-processor adds.
            options: ``stride``, ``strategy`` ("longest_first", "only_first", "only_second"), ``direction`` ("right",
                "left").
        """
        chosen: dict[str, Any] = {"max_length": usize(max_length), "stride": 0}
        chosen |= {"strategy": "longest_first", "direction": "right"}
        for name, value in known_options(options, ("stride", "strategy", "direction")).items():
            if name == "stride":
                chosen[name] = usize(value)
            elif string(value, name) not in (_STRATEGIES if name == "strategy" else _DIRECTIONS):
                several = (
                    "`longest_first`, `only_first`, or `only_second`" if name == "strategy" else "`left` or `right`."
                )
                raise ValueError(f"Unknown `{name}`: `{value}`. Use one of {several}")
            else:
                chosen[name] = value
        num_added = self.num_special_tokens_to_add(False)
        limit, stride = chosen["max_length"], chosen["stride"]
        left = (limit - num_added) % (1 << 64)  # unsigned subtraction, which wraps in the original
        if left < stride:
            raise ValueError(
                f"tokenizer stride set to {stride}, which is greater than or equal to its effective max length of "
                f"{left} (= {limit} original max length - {num_added} added special tokens), "
            )
        self._truncation = chosen

    def no_truncation(self) -> None:
        """Turns truncation off."""
        self._truncation = None

    def enable_padding(self, **options: Any) -> None:
        """Pads texts in all later calls.

        Args:
            options: ``direction`` ("right", "left"), ``pad_id``, ``pad_type_id``, ``pad_token``, ``length`` (None means
                the length of the longest text of a batch), ``pad_to_multiple_of``.
        """
        chosen = {
            "length": None, "pad_to_multiple_of": None, "pad_id": 0, "pad_token": "[PAD]", "pad_type_id": 0,
            "direction": "right",
        }  # fmt: skip
        if "max_length" in options:
            print("enable_padding(max_length=X) is deprecated, use enable_padding(length=X) instead")  # noqa: T201
        for name, value in known_options(options, (*chosen, "max_length")).items():
            if name in ("length", "max_length", "pad_to_multiple_of"):
                if value is not None or name != "pad_to_multiple_of":
                    chosen["length" if name == "max_length" else name] = None if value is None else usize(value)
            elif name in ("pad_id", "pad_type_id"):
                chosen[name] = u32(value)
            elif name == "direction" and string(value, name) not in _DIRECTIONS:
                raise ValueError(f"Unknown `direction`: `{value}`. Use one of `left` or `right`")
            else:
                chosen[name] = string(value, name)
        self._padding = chosen

    def no_padding(self) -> None:
        """Turns padding off."""
        self._padding = None

    # ── components ───────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def model(self) -> Any:
        """The model."""
        return self._state.model_object()

    @model.setter
    def model(self, model: Any) -> None:
        if not isinstance(model, models.Model):
            raise TypeError(f"argument 'model': '{type(model).__name__}' object is not an instance of 'Model'")
        with self._lock:
            self._state = self._state.with_model(model)

    @property
    def normalizer(self) -> Any:
        """The normalizer, or None."""
        return self._state.stage("normalizer")

    @normalizer.setter
    def normalizer(self, part: Any) -> None:
        self._assign("normalizer", part)

    @property
    def pre_tokenizer(self) -> Any:
        """The pre-tokenizer, or None."""
        return self._state.stage("pre_tokenizer")

    @pre_tokenizer.setter
    def pre_tokenizer(self, part: Any) -> None:
        self._assign("pre_tokenizer", part)

    @property
    def post_processor(self) -> Any:
        """The post-processor, or None."""
        return self._state.stage("post_processor")

    @post_processor.setter
    def post_processor(self, part: Any) -> None:
        self._assign("post_processor", part)

    @property
    def decoder(self) -> Any:
        """The decoder, or None."""
        return self._state.stage("decoder")

    @decoder.setter
    def decoder(self, part: Any) -> None:
        self._assign("decoder", part)

    def _assign(self, kind: str, part: Any) -> None:
        if part is not None and (not isinstance(part, Part) or part.kind != kind):
            raise TypeError(f"'{type(part).__name__}' object is not an instance of '{BASES[kind]}'")
        with self._lock:
            self._state = self._state.with_stage(kind, part)

    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Truncates encodings, applies the post-processor, and pads."""
        adds = flag(add_special_tokens, "add_special_tokens")
        for each in (encoding,) if pair is None else (encoding, pair):
            if not isinstance(each, Encoding):
                raise TypeError(f"argument 'encoding': '{type(each).__name__}' object is not an instance of 'Encoding'")
        texts = [each._copy() for each in (encoding, pair) if each is not None]
        if self._truncation is not None:
            num_added = self.num_special_tokens_to_add(len(texts) == 2) if adds else 0
            _truncate(texts, self._truncation, num_added)
        processor = self._state.stage("post_processor")
        if processor is not None:
            found: Encoding = processor.process(*texts, add_special_tokens=adds)
        elif len(texts) == 1:
            found = texts[0]
        else:
            for index, each in enumerate(texts):
                each.set_sequence_id(index)
            found = merged(texts, False)
        padding = self._padding
        if padding is not None:
            length = len(found) if padding["length"] is None else padding["length"]
            multiple = padding["pad_to_multiple_of"] or 0
            found._pad(length + (-length % multiple if multiple > 0 else 0), padding)
        return found

    # ── training ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def train(self, files: Sequence[str], trainer: Any = None) -> None:
        """Trains the model on files, line by line.

        Args:
            files: paths of texts in UTF-8.
            trainer: a trainer of `trainers`; None means the default trainer of the model.
        """
        paths = [string(path, "files") for path in items(files)]
        for path in paths:
            try:
                os.stat(path)
            except OSError as error:
                raise Exception(f"{error.strerror} (os error {error.errno})") from None
        self._train(_lines(paths), trainer)

    def train_from_iterator(self, iterator: Any, trainer: Any = None, length: int | None = None) -> None:
        """Trains the model on texts.

        Args:
            iterator: texts, or iterables of texts.
            trainer: as for `train`.
            length: number of texts, for the progress bar; unused.
        """
        if length is not None:
            usize(length)
        self._train(_texts(iter(iterator)), trainer)

    def _train(self, texts: Iterable[str], trainer: Any) -> None:
        state = self._state
        model = state.model_object()
        chosen = model.get_trainer() if trainer is None else trainer
        stages = {kind: state.stage(kind) for kind in ("normalizer", "pre_tokenizer")}
        trained, special = chosen.learn(texts, stages, [], model)
        model.adopt(trained)  # in place: the caller may hold the model object, and expects a trained model
        with self._lock:
            self._state = self._state.with_model(model)
            self._state, _ = self._state.with_tokens([_added(each, is_special=True) for each in special])


_pretty = pretty


def _empty() -> Tokenizer:
    return object.__new__(Tokenizer)


def _read_by_original(made: Tokenizer, data: bytes, error: Exception) -> Tokenizer:
    """Reads a file that Jeton rejects. If the original package is installed, it reads the file or raises its own error.

    Raises:
        Exception: the original package rejects the file, too, or is not installed.
    """
    extension = original.extension_or_none()
    if extension is None:
        raise Exception(str(error)) from error
    text = extension.Tokenizer.from_str(data.decode()).to_str()  # raises the original's error
    state, top = State.of_json(text.encode())
    made._start(state)
    made._truncation = truncation_of_json(top.get("truncation"))
    made._padding = padding_of_json(top.get("padding"))
    return made


def _check_by_original(data: bytes, error: JetonError) -> None:
    """Lets the original package check a file from which Jeton cannot build a tokenizer.

    Raises:
        Exception: the original package rejects the file. If the package is not installed, the
            exception has the message of Jeton's error.
    """
    extension = original.extension_or_none()
    if extension is None:
        raise Exception(str(error)) from error
    extension.Tokenizer.from_str(data.decode())


def _truncates(replica: Any, options: dict[str, Any]) -> None:
    """Enables truncation in a replica, even if the original rejects the options for the current post-processor.

    The original accepts such options if truncation is enabled first and the post-processor is assigned afterward. In
    the replica, the post-processor is already assigned.
    """
    try:
        replica.enable_truncation(**options)
    except ValueError:
        processor, replica.post_processor = replica.post_processor, None
        replica.enable_truncation(**options)
        replica.post_processor = processor


def _token_list(tokens: Any) -> list[Any]:
    if not isinstance(tokens, list):
        raise TypeError(f"argument 'tokens': '{type(tokens).__name__}' object is not an instance of 'list'")
    return tokens


def _added(token: Any, *, is_special: bool) -> Added:
    if isinstance(token, str):
        return Added(token, normalized=not is_special, special=is_special)
    if not isinstance(token, AddedToken):
        raise TypeError("Input must be a List[Union[str, AddedToken]]")
    if is_special:
        token.special = True
    flags = {name: getattr(token, name) for name in Added._fields}
    return Added(**flags)


def _truncate(texts: list[Encoding], options: dict[str, Any], num_added: int) -> None:
    """Truncates the encodings of a text or a pair in place.

    Raises:
        Exception: the strategy selects the second text, and there is no second text; or the selected text is too short
            to remove enough ids.
    """
    limit, stride, side = options["max_length"] - num_added, options["stride"], options["direction"]
    if limit <= 0:
        for each in texts:
            each.truncate(0, stride, side)
        return
    sizes = list(map(len, texts))
    excess = sum(sizes) - limit
    if excess <= 0:
        return
    if options["strategy"] == "longest_first":
        if len(texts) == 1:
            texts[0].truncate(limit, stride, side)
            return
        shorter, longer = sorted(sizes)
        longer = shorter if shorter > limit else max(shorter, limit - shorter)
        if shorter + longer > limit:
            shorter, longer = limit // 2, limit // 2 + limit % 2
        kept = (longer, shorter) if sizes[0] > sizes[1] else (shorter, longer)
        for each, size in zip(texts, kept, strict=True):
            each.truncate(size, stride, side)
        return
    index = 0 if options["strategy"] == "only_first" else 1
    if index >= len(texts):
        raise Exception("Truncation error: Second sequence not provided")
    if sizes[index] <= excess:
        raise Exception("Truncation error: Sequence to truncate too short to respect the provided max_length")
    texts[index].truncate(sizes[index] - excess, stride, side)


def _lines(paths: Iterable[str]) -> Iterator[str]:
    """Yields the lines of files, with their line ends."""
    for path in paths:
        try:
            with open(path, encoding="utf-8", newline="\n") as file:
                yield from file
        except OSError as error:
            raise Exception(f"{error.strerror} (os error {error.errno})") from None
        except UnicodeDecodeError:
            raise Exception("stream did not contain valid UTF-8") from None


def _texts(iterator: Iterator[Any]) -> Iterator[str]:
    """Yields all texts of an iterator. Each element of the iterator is a text or an iterable of texts."""
    for each in iterator:
        if isinstance(each, str):
            yield each
        else:
            for text in each:
                yield string(text, "iterator")


def _in_background(call: Any) -> Any:
    import asyncio

    return asyncio.get_running_loop().run_in_executor(None, call)


def _async_encoded(replica: Any, text: Any, pair: Any, options: dict[str, Any]) -> Any:
    """Encodes with the original's `async_encode`, which is its only method that returns offsets in bytes."""
    import asyncio

    async def encode() -> Any:
        return await replica.async_encode(text, pair, **options)

    return asyncio.run(encode())


def report_missing_attributes() -> None:
    """Begins to record lookups of attributes that these classes do not have, for the report of `jeton.compat.run`."""
    report.missing_attributes(Tokenizer, "tokenizers.Tokenizer")
    report.missing_attributes(Encoding, "tokenizers.Encoding")
