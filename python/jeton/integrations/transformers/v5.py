"""Base class that all accelerated tokenizers share, for transformers 5.

In the method resolution order (MRO), it is between the class of a tokenizer, such as `LlamaTokenizer`, and the base
class of transformers' fast tokenizers, so that overrides in the class of the tokenizer keep their effect.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from transformers.tokenization_utils_base import BatchEncoding
from transformers.tokenization_utils_tokenizers import TokenizersBackend
from transformers.utils import to_py_obj

from ...compat.hf_backend import Unproven
from .counts import fell_back, ran
from .decoding import decode_one, decode_rows
from .encoding import Call, state_of, tokens_of, with_masks
from .inputs import Inputs, batch_inputs, one_input

__all__ = ["JetonBackend"]

SEQUENCE = (list, tuple)
INTEGERS = {int}
CLEANED_BPE = "clean_up_tokenization_spaces with BPE"


class JetonBackend(TokenizersBackend):
    """Base class that runs calls of `TokenizersBackend` on Jeton where the result is known to be equal."""

    def _encode_plus(self, text: Any, text_pair: Any = None, *args: Any, **options: Any) -> BatchEncoding:
        call, unknown = Call.of(args, options)
        if call.split_special_tokens is None:
            call.split_special_tokens = self.split_special_tokens
        result = call.on_jeton(self, partial(_inputs, text, text_pair, call.is_split_into_words, unknown))
        return super()._encode_plus(text, text_pair, *args, **options, **unknown) if result is None else result

    def apply_chat_template(self, *args: Any, **kwargs: Any) -> Any:
        """Applies a chat template; computes assistant masks without creating `tokenizers.Encoding` objects."""
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
                raise Unproven(CLEANED_BPE)
            text = decode_one(self, token_ids, skip_special_tokens)
        except Unproven as reason:
            fell_back(counts, "decode", "", str(reason))
            return super()._decode(token_ids, skip_special_tokens, clean_up_tokenization_spaces, **kwargs)
        ran(counts, "decode", "")
        return self.clean_up_tokenization(text) if cleans else text

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, **kwargs: Any) -> Any:
        """Decodes one sequence, or many."""
        if type(self)._decode is not JetonBackend._decode:  # the class of the tokenizer overrides `_decode`
            return super().decode(token_ids, skip_special_tokens=skip_special_tokens, **kwargs)
        if type(token_ids) is not list or set(map(type, token_ids)) != INTEGERS:
            token_ids = to_py_obj(token_ids)
        if type(token_ids) is list and token_ids and isinstance(token_ids[0], SEQUENCE):
            cleans = kwargs.get("clean_up_tokenization_spaces")
            cleans = self.clean_up_tokenization_spaces if cleans is None else cleans
            unproven = CLEANED_BPE if cleans and self._is_bpe() else ""
            texts = decode_rows(self, token_ids, skip_special_tokens, unproven)
            if texts is None:
                return super().decode(token_ids, skip_special_tokens=skip_special_tokens, **kwargs)
            return list(map(self.clean_up_tokenization, texts)) if cleans else texts
        return self._decode(token_ids=token_ids, skip_special_tokens=skip_special_tokens, **kwargs)

    def _is_bpe(self) -> bool:
        return type(self._tokenizer.model).__name__ == "BPE"


def _inputs(text: Any, pair: Any, is_split: bool, unknown: dict[str, Any]) -> tuple[Inputs, bool]:
    """Returns the texts of a call, and whether they are a batch.

    Raises:
        Unproven: the inputs have an unexpected form, or an option is unknown.
    """
    if any(unknown.values()):
        raise Unproven(f"options {', '.join(name for name, value in unknown.items() if value)}")
    if not isinstance(text, SEQUENCE) or (is_split and not (len(text) > 0 and isinstance(text[0], SEQUENCE))):
        return one_input(text, pair, is_split), False
    if pair is None:
        return batch_inputs(text, is_split), True
    if isinstance(pair, SEQUENCE) and len(text) == len(pair):
        return batch_inputs(list(zip(text, pair, strict=True)), is_split), True
    raise Unproven("a different number of pairs")
