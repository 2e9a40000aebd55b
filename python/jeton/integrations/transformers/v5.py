"""The common class of accelerated tokenizers for transformers 5.

It is a base class between the common class of fast tokenizers and their own classes, so that what a tokenizer's own
class overrides keeps its effect.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from transformers.tokenization_utils_base import (
    BatchEncoding,
    PaddingStrategy,
    TruncationStrategy,
)
from transformers.tokenization_utils_tokenizers import TokenizersBackend
from transformers.utils import to_py_obj

from ...compat.hf_backend import Unproven
from .counts import fell_back, joined, ran
from .decoding import decode_one, decode_rows
from .encoding import Call, state_of, tokens_of, with_masks
from .inputs import Inputs, batch_inputs, one_input

__all__ = ["JetonBackend"]

SEQUENCE = (list, tuple)
INTEGERS = {int}


class JetonBackend(TokenizersBackend):
    """Runs the calls of `TokenizersBackend` on Jeton where the result is known to be equal."""

    def _encode_plus(
        self,
        text: Any,
        text_pair: Any = None,
        add_special_tokens: bool = True,
        padding_strategy: Any = PaddingStrategy.DO_NOT_PAD,
        truncation_strategy: Any = TruncationStrategy.DO_NOT_TRUNCATE,
        max_length: int | None = None,
        stride: int = 0,
        is_split_into_words: bool = False,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_tensors: Any = None,
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        verbose: bool = True,
        split_special_tokens: bool | None = None,
        **kwargs: Any,
    ) -> BatchEncoding:
        call = Call(
            add_special_tokens,
            padding_strategy,
            truncation_strategy,
            max_length,
            stride,
            is_split_into_words,
            pad_to_multiple_of,
            padding_side,
            return_tensors,
            return_token_type_ids,
            return_attention_mask,
            return_overflowing_tokens,
            return_special_tokens_mask,
            return_offsets_mapping,
            return_length,
            verbose,
            self.split_special_tokens if split_special_tokens is None else split_special_tokens,
        )
        state = state_of(self)
        shape = ""
        try:
            if kwargs and any(kwargs.values()):
                raise Unproven(f"options {', '.join(name for name, value in kwargs.items() if value)}")
            inputs, is_batched = _inputs(text, text_pair, is_split_into_words)
            shape = inputs.shape
            result = call.run(self, inputs, is_batched=is_batched)
        except Unproven as reason:
            fell_back(state.counts, "encode", joined(shape, call.shape()), str(reason))
        else:
            ran(state.counts, "encode", joined(shape, call.shape()))
            return result
        return super()._encode_plus(
            text,
            text_pair,
            add_special_tokens=add_special_tokens,
            padding_strategy=padding_strategy,
            truncation_strategy=truncation_strategy,
            max_length=max_length,
            stride=stride,
            is_split_into_words=is_split_into_words,
            pad_to_multiple_of=pad_to_multiple_of,
            padding_side=padding_side,
            return_tensors=return_tensors,
            return_token_type_ids=return_token_type_ids,
            return_attention_mask=return_attention_mask,
            return_overflowing_tokens=return_overflowing_tokens,
            return_special_tokens_mask=return_special_tokens_mask,
            return_offsets_mapping=return_offsets_mapping,
            return_length=return_length,
            verbose=verbose,
            split_special_tokens=split_special_tokens,
            **kwargs,
        )

    def apply_chat_template(self, *args: Any, **kwargs: Any) -> Any:
        """Applies a chat template; assistant masks need no encodings."""
        return with_masks(partial(super().apply_chat_template, *args), kwargs)

    def tokenize(self, text: Any, pair: Any = None, add_special_tokens: bool = False, **kwargs: Any) -> list[str]:
        """Returns the tokens of a text."""
        if kwargs:
            return super().tokenize(text, pair, add_special_tokens, **kwargs)
        result = self._encode_plus(text=text, text_pair=pair, add_special_tokens=add_special_tokens)
        return tokens_of(self, result, add_special_tokens)

    def _decode(
        self,
        token_ids: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **kwargs: Any,
    ) -> str:
        counts = state_of(self).counts
        cleans = (
            self.clean_up_tokenization_spaces if clean_up_tokenization_spaces is None else clean_up_tokenization_spaces
        )
        try:
            if cleans and self._is_bpe():
                raise Unproven("clean_up_tokenization_spaces with BPE")
            text = decode_one(self, token_ids, skip_special_tokens)
        except Unproven as reason:
            fell_back(counts, "decode", "", str(reason))
            return super()._decode(token_ids, skip_special_tokens, clean_up_tokenization_spaces, **kwargs)
        ran(counts, "decode", "")
        return self.clean_up_tokenization(text) if cleans else text

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, **kwargs: Any) -> Any:
        """Decodes one sequence, or many."""
        if type(self)._decode is not JetonBackend._decode:  # the tokenizer's own class has something to add
            return super().decode(token_ids, skip_special_tokens=skip_special_tokens, **kwargs)
        if type(token_ids) is not list or set(map(type, token_ids)) != INTEGERS:
            token_ids = to_py_obj(token_ids)
        if type(token_ids) is list and token_ids and isinstance(token_ids[0], SEQUENCE):
            counts = state_of(self).counts
            cleans = kwargs.get("clean_up_tokenization_spaces")
            cleans = self.clean_up_tokenization_spaces if cleans is None else cleans
            try:
                if cleans and self._is_bpe():
                    raise Unproven("clean_up_tokenization_spaces with BPE")
                texts = decode_rows(self, token_ids, skip_special_tokens)
            except Unproven as reason:
                fell_back(counts, "decode", "batch", str(reason))
            else:
                ran(counts, "decode", "batch")
                return list(map(self.clean_up_tokenization, texts)) if cleans else texts
            return super().decode(token_ids, skip_special_tokens=skip_special_tokens, **kwargs)
        return self._decode(token_ids=token_ids, skip_special_tokens=skip_special_tokens, **kwargs)

    def _is_bpe(self) -> bool:
        return type(self._tokenizer.model).__name__ == "BPE"


def _inputs(text: Any, pair: Any, is_split: bool) -> tuple[Inputs, bool]:
    """The texts of a call, and whether they are a batch.

    Raises:
        Unproven: another form.
    """
    if not isinstance(text, SEQUENCE) or (is_split and not (len(text) > 0 and isinstance(text[0], SEQUENCE))):
        return one_input(text, pair, is_split), False
    if pair is None:
        return batch_inputs(text, is_split), True
    if isinstance(pair, SEQUENCE) and len(text) == len(pair):
        return batch_inputs(list(zip(text, pair, strict=True)), is_split), True
    raise Unproven("pairs of another number")
