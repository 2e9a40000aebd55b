"""The common class of accelerated tokenizers for transformers 4.57; `v5` says where it stands."""

from __future__ import annotations

from functools import partial
from typing import Any

from transformers.tokenization_utils_base import BatchEncoding, PaddingStrategy, TruncationStrategy
from transformers.tokenization_utils_fast import PreTrainedTokenizerFast
from transformers.utils import to_py_obj

from ...compat.hf_backend import Unproven
from .counts import fell_back, joined, ran
from .decoding import decode_one, decode_rows
from .encoding import Call, state_of, tokens_of, with_masks
from .inputs import batch_inputs, one_input

__all__ = ["JetonBackend"]


class JetonBackend(PreTrainedTokenizerFast):
    """Runs the calls of `PreTrainedTokenizerFast` on Jeton where the result is known to be equal."""

    def _batch_encode_plus(
        self,
        batch_text_or_text_pairs: Any,
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
        split_special_tokens: bool = False,
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
            split_special_tokens,
        )
        result = self._on_jeton(
            call, lambda: batch_inputs(_sequence(batch_text_or_text_pairs), is_split_into_words), True
        )
        if result is not None:
            return result
        return super()._batch_encode_plus(
            batch_text_or_text_pairs,
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
        )

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
        split_special_tokens: bool = False,
        **kwargs: Any,
    ) -> BatchEncoding:
        options: dict[str, Any] = {
            "add_special_tokens": add_special_tokens,
            "padding_strategy": padding_strategy,
            "truncation_strategy": truncation_strategy,
            "max_length": max_length,
            "stride": stride,
            "is_split_into_words": is_split_into_words,
            "pad_to_multiple_of": pad_to_multiple_of,
            "padding_side": padding_side,
            "return_tensors": return_tensors,
            "return_token_type_ids": return_token_type_ids,
            "return_attention_mask": return_attention_mask,
            "return_overflowing_tokens": return_overflowing_tokens,
            "return_special_tokens_mask": return_special_tokens_mask,
            "return_offsets_mapping": return_offsets_mapping,
            "return_length": return_length,
            "verbose": verbose,
            "split_special_tokens": split_special_tokens,
        }
        result, encode = None, self._batch_encode_plus  # which the tokenizer's own class may override
        if not kwargs and type(self)._batch_encode_plus is JetonBackend._batch_encode_plus:
            inputs = partial(one_input, text, text_pair, is_split_into_words)
            result, encode = self._on_jeton(Call(**options), inputs, False), super()._batch_encode_plus
        if result is None:
            result = encode([(text, text_pair)] if text_pair else [text], **options, **kwargs)
            if return_tensors is None and not return_overflowing_tokens:
                data = {
                    key: (value[0] if len(value) > 0 and isinstance(value[0], list) else value)
                    for key, value in result.items()
                }
                result = BatchEncoding(data, result.encodings, n_sequences=result.n_sequences)
        self._eventual_warn_about_too_long_sequence(result["input_ids"], max_length, verbose)
        return result

    def _on_jeton(self, call: Call, inputs_of: Any, is_batched: bool) -> BatchEncoding | None:
        """Runs a call on Jeton; None if it falls back."""
        counts, shape = state_of(self).counts, ""
        try:
            inputs = inputs_of()
            shape = inputs.shape
            result = call.run(self, inputs, is_batched=is_batched)
        except Unproven as reason:
            fell_back(counts, "encode", joined(shape, call.shape()), str(reason))
            return None
        ran(counts, "encode", joined(shape, call.shape()))
        return result

    def apply_chat_template(self, *args: Any, **kwargs: Any) -> Any:
        """Applies a chat template; assistant masks need no encodings."""
        return with_masks(partial(super().apply_chat_template, *args), kwargs)

    def tokenize(self, text: Any, pair: Any = None, add_special_tokens: bool = False, **kwargs: Any) -> list[str]:
        """Returns the tokens of a text."""
        if kwargs:
            return super().tokenize(text, pair, add_special_tokens, **kwargs)
        result = self.encode_plus(text=text, text_pair=pair, add_special_tokens=add_special_tokens)
        return tokens_of(self, result, add_special_tokens)

    def _decode(
        self,
        token_ids: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **kwargs: Any,
    ) -> str:
        counts = state_of(self).counts
        try:
            text = decode_one(self, token_ids, skip_special_tokens)
        except Unproven as reason:
            fell_back(counts, "decode", "", str(reason))
            return super()._decode(token_ids, skip_special_tokens, clean_up_tokenization_spaces, **kwargs)
        self._decode_use_source_tokenizer = kwargs.pop("use_source_tokenizer", False)
        ran(counts, "decode", "")
        return self.clean_up_tokenization(text) if self._cleans(clean_up_tokenization_spaces) else text

    def batch_decode(
        self,
        sequences: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Decodes many sequences."""
        is_plain = type(self)._decode is JetonBackend._decode and type(self).decode is PreTrainedTokenizerFast.decode
        counts = state_of(self).counts
        try:
            if not is_plain or kwargs:
                raise Unproven("a class that decodes in its own way, or an unknown option")
            texts = decode_rows(self, to_py_obj(sequences), skip_special_tokens)
        except Unproven as reason:
            fell_back(counts, "decode", "batch", str(reason))
            return super().batch_decode(sequences, skip_special_tokens, clean_up_tokenization_spaces, **kwargs)
        self._decode_use_source_tokenizer = False
        ran(counts, "decode", "batch")
        return list(map(self.clean_up_tokenization, texts)) if self._cleans(clean_up_tokenization_spaces) else texts

    def _cleans(self, asked: bool | None) -> bool:
        return bool(self.clean_up_tokenization_spaces if asked is None else asked)


def _sequence(texts: Any) -> Any:
    if not isinstance(texts, (list, tuple)):
        raise Unproven("texts that are no list")
    return texts
