"""Base class that all accelerated tokenizers share, for transformers 4.57; for its place in the MRO, see `v5`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from transformers.tokenization_utils_base import BatchEncoding
from transformers.tokenization_utils_fast import PreTrainedTokenizerFast
from transformers.utils import to_py_obj

from ...compat.hf_backend import Unproven
from .counts import fell_back, ran
from .decoding import decode_one, decode_rows
from .encoding import Call, state_of, tokens_of, with_masks
from .inputs import Inputs, batch_inputs, one_input

__all__ = ["JetonBackend"]


@dataclass(slots=True)
class Call4(Call):
    """`Call` with the defaults of transformers 4."""

    split_special_tokens: bool | None = False


class JetonBackend(PreTrainedTokenizerFast):
    """Base class that runs calls of `PreTrainedTokenizerFast` on Jeton where the result is known to be equal."""

    def _batch_encode_plus(self, batch_text_or_text_pairs: Any, *args: Any, **options: Any) -> BatchEncoding:
        call, unknown = Call4.of(args, options)
        inputs = partial(_batch, batch_text_or_text_pairs, call.is_split_into_words)
        result = None if unknown else call.on_jeton(self, inputs)
        return super()._batch_encode_plus(batch_text_or_text_pairs, *args, **options) if result is None else result

    def _encode_plus(self, text: Any, text_pair: Any = None, *args: Any, **options: Any) -> BatchEncoding:
        call, unknown = Call4.of(args, options)
        result, encode = None, self._batch_encode_plus  # the class of the tokenizer can override this method
        if not unknown and type(self)._batch_encode_plus is JetonBackend._batch_encode_plus:
            result = call.on_jeton(self, lambda: (one_input(text, text_pair, call.is_split_into_words), False))
            encode = super()._batch_encode_plus
        if result is None:
            given = {each.name: getattr(call, each.name) for each in fields(call)}
            result = encode([(text, text_pair)] if text_pair else [text], **given, **unknown)
            if call.return_tensors is None and not call.return_overflowing_tokens:
                data = {
                    key: (value[0] if len(value) > 0 and isinstance(value[0], list) else value)
                    for key, value in result.items()
                }
                result = BatchEncoding(data, result.encodings, n_sequences=result.n_sequences)
        self._eventual_warn_about_too_long_sequence(result["input_ids"], call.max_length, call.verbose)
        return result

    def apply_chat_template(self, *args: Any, **kwargs: Any) -> Any:
        """Applies a chat template, and computes assistant masks without building encodings of `tokenizers`."""
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
        unproven = "" if is_plain and not kwargs else "a class that decodes in its own way, or an unknown option"
        texts = decode_rows(self, to_py_obj(sequences), skip_special_tokens, unproven)
        if texts is None:
            return super().batch_decode(sequences, skip_special_tokens, clean_up_tokenization_spaces, **kwargs)
        self._decode_use_source_tokenizer = False
        return list(map(self.clean_up_tokenization, texts)) if self._cleans(clean_up_tokenization_spaces) else texts

    def _cleans(self, asked: bool | None) -> bool:
        return bool(self.clean_up_tokenization_spaces if asked is None else asked)


def _batch(texts: Any, is_split: bool) -> tuple[Inputs, bool]:
    if not isinstance(texts, (list, tuple)):
        raise Unproven("texts that are not a list")
    return batch_inputs(texts, is_split), True
