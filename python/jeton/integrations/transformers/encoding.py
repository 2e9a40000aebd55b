"""Encode calls of an accelerated tokenizer: arguments → `BatchEncoding`.

`Call` holds the arguments of one encode call. Transformers 4 and transformers 5 pass the same arguments to the
base class of all fast tokenizers.

A call on Jeton also sets truncation, padding and ``encode_special_tokens`` of the `tokenizers.Tokenizer`. So the state
of the `tokenizers.Tokenizer` after the call is the same as without Jeton.

Source: huggingface/transformers, tokenization_utils_tokenizers.py and tokenization_utils_fast.py (`_encode_plus`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import index
from typing import TYPE_CHECKING, Any

from transformers import PreTrainedTokenizerFast
from transformers.tokenization_utils_base import BatchEncoding, PaddingStrategy, TensorType, TruncationStrategy

from ...compat.hf_backend import Rows, Unproven
from .counts import fell_back, ran
from .encodings import EncodeArguments, LazyEncodings, character_indexes, wants_characters
from .inputs import Inputs
from .state import BackendState, SharedEngine, Use

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Call", "state_of", "tokens_of", "with_masks"]

STATE = "_jeton_state"  # key in the `__dict__` of a tokenizer
NUMPY = ("np", TensorType.NUMPY)
PLAIN = TruncationStrategy.DO_NOT_TRUNCATE
SET_OPTIONS = PreTrainedTokenizerFast.set_truncation_and_padding


def state_of(tok: Any) -> BackendState:
    """Returns the state of an accelerated tokenizer; creates the state if the tokenizer has none yet.

    This is the case if transformers, not Jeton, created the tokenizer from another accelerated tokenizer.
    """
    state: BackendState | None = tok.__dict__.get(STATE)
    if state is None:
        state = tok.__dict__[STATE] = BackendState()
    return state


@dataclass(slots=True)
class Call:
    """Options of an encode call, with the names, order and defaults of transformers' `_encode_plus`."""

    add_special_tokens: bool = True
    padding_strategy: Any = PaddingStrategy.DO_NOT_PAD
    truncation_strategy: Any = PLAIN
    max_length: int | None = None
    stride: int = 0
    is_split_into_words: bool = False
    pad_to_multiple_of: int | None = None
    padding_side: str | None = None
    return_tensors: Any = None
    return_token_type_ids: bool | None = None
    return_attention_mask: bool | None = None
    return_overflowing_tokens: bool = False
    return_special_tokens_mask: bool = False
    return_offsets_mapping: bool = False
    return_length: bool = False
    verbose: bool = True
    split_special_tokens: bool | None = None

    @classmethod
    def of(cls, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Self, dict[str, Any]]:
        """Returns the call and a dictionary of unknown options. The unknown options are removed from `options`."""
        try:
            return cls(*args, **options), {}
        except TypeError:
            unknown = {name: options.pop(name) for name in options.keys() - NAMES}
            return cls(*args, **options), unknown

    def shape(self, form: str) -> str:
        """Returns the name under which the call is counted, such as ``pair of words, padded``.

        The name consists of `form`, which is the kind of input, and of the options that determine how the call runs.
        """
        names = [form] if form else []
        if self.padding_strategy != PaddingStrategy.DO_NOT_PAD:
            names.append("padded")
        if self.truncation_strategy != PLAIN:
            names.append("truncated")
        if self.return_overflowing_tokens:
            names.append("overflow")
        if self.return_offsets_mapping:
            names.append("offsets")
        return ", ".join(names)

    def on_jeton(self, tok: Any, inputs_of: Callable[[], tuple[Inputs, bool]]) -> BatchEncoding | None:
        """Runs the call on Jeton and counts it. Returns None if the call must run on transformers instead.

        `inputs_of` returns the texts and `is_batched`.
        """
        counts, form = state_of(tok).counts, ""
        try:
            inputs, is_batched = inputs_of()
            form = inputs.shape
            result = self.run(tok, inputs, is_batched=is_batched)
        except Unproven as reason:
            fell_back(counts, "encode", self.shape(form), str(reason))
            return None
        ran(counts, "encode", self.shape(form))
        return result

    def run(self, tok: Any, inputs: Inputs, *, is_batched: bool) -> BatchEncoding:
        """Encodes on Jeton.

        Args:
            tok: the tokenizer of transformers.
            inputs: the texts.
            is_batched: True: the result has a row for each text; False: it has the values of a single text.

        Raises:
            Unproven: the result might differ from the result of transformers.
        """
        if not (
            type(self.add_special_tokens) is bool
            and type(self.is_split_into_words) is bool
            and type(self.split_special_tokens) is bool
        ):
            raise Unproven("an option that is neither True nor False")
        backend = tok._tokenizer
        if "encode_batch" in backend.__dict__:
            raise Unproven("the encode_batch method of the tokenizers.Tokenizer is replaced")
        state = state_of(tok)
        snapshot = state.current(backend)
        engine = snapshot.engine
        if engine is None:
            raise Unproven(snapshot.reason)
        has_index = wants_characters() and inputs.pairs is None
        use = Use() if has_index else state.next_use()
        if use is None:
            raise Unproven("encodings of nearly every result are read")
        settings = self._settings(tok, backend)
        if backend.encode_special_tokens != self.split_special_tokens:
            backend.encode_special_tokens = self.split_special_tokens
        settings["add_special_tokens"] = self.add_special_tokens
        settings["splits_special"] = self.split_special_tokens
        arguments = EncodeArguments(
            inputs.original, settings, self.is_split_into_words, bool(self.return_overflowing_tokens)
        )
        names = self._names(tok)
        rows = None
        data = None if is_batched or has_index else self._short(engine, inputs, arguments, names)
        if data is None:
            offsets = bool(self.return_offsets_mapping) or has_index
            rows = arguments.rows(engine, inputs.texts, inputs.pairs, offsets=offsets)
            data = self._long(tok, rows, arguments, names, is_batched)
        elif self.max_length is None and self.verbose and len(data["input_ids"]) > tok.model_max_length:
            tok._eventual_warn_about_too_long_sequence(data["input_ids"], self.max_length, self.verbose)
        lazy = LazyEncodings(engine, arguments, use, rows if has_index else None)
        num_texts = 1 if inputs.pairs is None else 2
        return BatchEncoding(data, lazy, tensor_type=self.return_tensors, n_sequences=num_texts)

    def _settings(self, tok: Any, backend: Any) -> dict[str, Any]:
        """Sets ``truncation`` and ``padding`` of the `tokenizers.Tokenizer`, and returns this call's values.

        The values are not read back from the tokenizer, because another thread may have set other values in between.
        Methods of transformers check and convert the values.
        """
        tok.set_truncation_and_padding(
            padding_strategy=self.padding_strategy,
            truncation_strategy=self.truncation_strategy,
            max_length=self.max_length,
            stride=self.stride,
            pad_to_multiple_of=self.pad_to_multiple_of,
            padding_side=self.padding_side,
        )
        if type(tok).set_truncation_and_padding is not SET_OPTIONS:  # an override may change the values
            return {"truncation": backend.truncation, "padding": backend.padding}
        truncation = padding = None
        if self.truncation_strategy != PLAIN:
            truncation = {
                "max_length": index(self.max_length),  # type: ignore[arg-type]
                "stride": index(self.stride),
                "strategy": self.truncation_strategy.value,
                "direction": tok.truncation_side,
            }
        if self.padding_strategy != PaddingStrategy.DO_NOT_PAD:
            own = {
                "length": self.max_length if self.padding_strategy == PaddingStrategy.MAX_LENGTH else None,
                "direction": tok.padding_side if self.padding_side is None else self.padding_side,
                "pad_to_multiple_of": self.pad_to_multiple_of,
            }
            padding = backend.padding
            if padding is None or any(padding[name] != value for name, value in own.items()):
                padding = {
                    **own,
                    "pad_id": tok.pad_token_id,
                    "pad_token": tok.pad_token,
                    "pad_type_id": tok.pad_token_type_id,
                }
        return {"truncation": truncation, "padding": padding}

    def _names(self, tok: Any) -> list[str]:
        """Returns the names of the result's values, in order."""
        inputs = tok.model_input_names
        segments, mask = self.return_token_type_ids, self.return_attention_mask
        names = ["input_ids"]
        if "token_type_ids" in inputs if segments is None else segments:
            names.append("token_type_ids")
        if "attention_mask" in inputs if mask is None else mask:
            names.append("attention_mask")
        if self.return_special_tokens_mask:
            names.append("special_tokens_mask")
        if self.return_offsets_mapping:
            names.append("offset_mapping")
        if self.return_length:
            names.append("length")
        return names

    def _short(
        self, engine: SharedEngine, inputs: Inputs, arguments: EncodeArguments, names: list[str]
    ) -> dict[str, Any] | None:
        """Returns the values of one text or pair, if the options are the most common ones; None for other options."""
        if (
            self.is_split_into_words
            or self.return_tensors is not None
            or self.return_offsets_mapping
            or arguments.overflow
        ):
            return None
        return engine.row(
            inputs.texts[0],
            None if inputs.pairs is None else inputs.pairs[0],
            names,
            **arguments.settings,
        )

    def _long(
        self, tok: Any, rows: Rows, arguments: EncodeArguments, names: list[str], is_batched: bool
    ) -> dict[str, Any]:
        """Returns the values of all rows. Unlike `_short`, supports all options."""
        self._warn(tok, rows)
        data = {}
        for name in names:
            column = rows.array(name) if self.return_tensors in NUMPY and rows.longest else None
            data[name] = rows.lists(name) if column is None else column
        if arguments.overflow:
            mapping = rows.batch.overflow_to_sample_mapping
            data["overflow_to_sample_mapping"] = [] if mapping is None else mapping.tolist()
        if not is_batched and self.return_tensors is None and not arguments.overflow:
            data = {name: value if name == "length" else value[0] for name, value in data.items()}
        return data

    def _warn(self, tok: Any, rows: Rows) -> None:
        """Logs a warning for the first row that is too long for the model, as transformers does."""
        limit = tok.model_max_length
        if self.max_length is None and self.verbose and rows.longest > limit:
            longer = (rows.lengths.clip(min=rows.width) > limit).nonzero()[0]
            ids = range(max(rows.width, int(rows.lengths[longer[0]])))  # only the number of these ids is used
            tok._eventual_warn_about_too_long_sequence(ids, self.max_length, self.verbose)


NAMES = frozenset(each.name for each in fields(Call))


def with_masks(apply: Any, options: Any) -> Any:
    """Calls `apply`, the base class's `apply_chat_template`, so that assistant masks need no `tokenizers.Encoding`.

    Transformers computes the masks from `char_to_token` or `offsets` of the encodings. In a `character_indexes` block,
    Jeton answers these two without building encodings.
    """
    if not options.get("return_assistant_tokens_mask"):
        return apply(**options)
    with character_indexes():
        return apply(**options)


def tokens_of(tok: Any, result: BatchEncoding, adds: bool) -> list[str]:
    """Returns the same list as `result.tokens()`. If the ids determine the tokens, no encodings are built."""
    lazy, ids = result._encodings, result.get("input_ids")
    if adds or not isinstance(lazy, LazyEncodings) or not isinstance(ids, list):
        return result.tokens()
    engine = state_of(tok).current(tok._tokenizer).engine
    row = ids[0] if ids and isinstance(ids[0], list) else ids
    found = None if engine is None else engine.tokens(row, tok._tokenizer)
    return result.tokens() if found is None else found
