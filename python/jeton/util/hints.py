"""Hints in errors: Jeton's counterparts of the attributes, keywords and top-level names of other libraries.

Source: the interfaces of transformers 4.57 and 5, tokenizers 0.22, tiktoken 0.12 and sentencepiece 0.2.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, NoReturn

__all__ = ["ATTRIBUTES", "KEYWORDS", "NAMES", "RESULTS", "attribute_hint", "called", "refuse_keywords", "result_error"]

_LOAD = "jeton.load(path_or_name)"
_TRAIN = "jeton.train(corpus, vocab_size)"
_PADDED = "tok.encode_batch(texts).padded()"
_ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
_WITH_ID = ("bos", "eos", "pad")

# Attribute of another library's tokenizer -> the expression that replaces it in Jeton.
ATTRIBUTES: dict[str, str] = {
    # transformers
    **{f"{role}_token": f'tok.roles.get("{role}")' for role in _ROLES},
    **{f"{role}_token_id": f"tok.{role}_id" for role in _WITH_ID},
    **{f"{role}_token_id": f'tok.token_to_id(tok.roles["{role}"])' for role in _ROLES if role not in _WITH_ID},
    **dict.fromkeys(("all_special_tokens", "additional_special_tokens"), "list(tok.special_tokens)"),
    "all_special_ids": "list(tok.special_tokens.values())",
    "special_tokens_map": "tok.roles",
    "added_tokens_decoder": "tok.added_tokens",
    "added_tokens_encoder": "tok.added_tokens",
    "get_added_vocab": "tok.added_tokens",
    "add_special_tokens": "tok.add_tokens(tokens), which returns a new tokenizer; in calls, add_special_tokens=True",
    "num_special_tokens_to_add": 'tok.count("", add_special_tokens=True)',
    "encode_plus": "tok.tokenize(text) for tokens and spans, or tok.encode(text)",
    "batch_encode_plus": "tok.encode_batch(texts)",
    "batch_decode": "tok.decode_batch(batch)",
    "convert_tokens_to_ids": "tok.token_to_id(token), for one",
    "convert_ids_to_tokens": "tok.id_to_token(id), for one",
    "convert_tokens_to_string": "tok.decode(ids)",
    "apply_chat_template": "tok.chat(messages)",
    "chat_template": "tok.definition.chat_template; tok.with_chat_template(template) sets it",
    "pad": _PADDED,
    "padding_side": 'tok.encode_batch(texts).padded(side="left")',
    "truncation_side": 'tok.encode_batch(texts, max_length=n, side="left")',
    "model_max_length": 'tok.definition.config.get("model_max_length")',
    "from_pretrained": 'jeton.load("folder"), or jeton.load("hf:owner/name")',
    "save_pretrained": 'tok.save("folder")',
    "train_new_from_iterator": _TRAIN,
    "backend_tokenizer": "jeton.integrations.transformers.to_transformers(tok)",
    # tokenizers
    "from_file": _LOAD,
    "from_str": "jeton.Tokenizer.from_bytes(text.encode())",
    "from_buffer": "jeton.Tokenizer.from_bytes(data)",
    "to_str": "tok.to_bytes().decode()",
    "get_vocab_size": "tok.vocab_size",
    "get_added_tokens_decoder": "tok.added_tokens",
    "encode_batch_fast": "tok.encode_batch(texts)",
    "enable_padding": _PADDED,
    "no_padding": "tok.encode_batch(texts), which does not pad",
    "enable_truncation": "tok.encode_batch(texts, max_length=n), or tok.truncate(text, n)",
    "no_truncation": "tok.encode_batch(texts), which does not truncate",
    **dict.fromkeys(("train", "train_from_iterator"), _TRAIN),
    **{name: f"tok.definition.{name}" for name in ("model", "normalizer", "decoder")},
    "pre_tokenizer": "tok.definition.pretokenizer",
    "post_processor": "tok.definition.template; tok.with_template(single, pair) sets it",
    # tiktoken
    "encode_ordinary": "tok.encode(text)",
    "encode_ordinary_batch": "tok.encode_batch(texts)",
    "encode_to_numpy": "tok.encode_array(text)",
    "encode_single_token": "tok.token_to_id(token)",
    "decode_single_token_bytes": "tok.id_to_bytes(id)",
    "n_vocab": "tok.vocab_size",
    "max_token_value": "tok.vocab_size - 1",
    "eot_token": 'tok.eos_id, or tok.special_tokens["<|endoftext|>"]',
    "special_tokens_set": "set(tok.special_tokens)",
    "is_special_token": "id in tok.special_tokens.values()",
    "token_byte_values": "list(tok.vocab.values())",
    "encode_with_unstable": "jeton.compat.tiktoken, which has it",
    # sentencepiece
    **dict.fromkeys(("EncodeAsIds", "encode_as_ids", "Encode", "Tokenize"), "tok.encode(text)"),
    **dict.fromkeys(("EncodeAsPieces", "encode_as_pieces"), "[tok.id_to_token(id) for id in tok.encode(text)]"),
    **dict.fromkeys(("DecodeIds", "decode_ids", "Decode", "Detokenize", "detokenize"), "tok.decode(ids)"),
    **dict.fromkeys(("DecodePieces", "decode_pieces"), "tok.decode(ids)"),
    **dict.fromkeys(("GetPieceSize", "get_piece_size", "piece_size"), "tok.vocab_size"),
    **dict.fromkeys(("IdToPiece", "id_to_piece"), "tok.id_to_token(id)"),
    **dict.fromkeys(("PieceToId", "piece_to_id"), "tok.token_to_id(piece)"),
    **dict.fromkeys(("SampleEncodeAsIds", "sample_encode_as_ids"), "tok.encode(text, alpha=0.1)"),
    **dict.fromkeys(("NBestEncodeAsIds", "nbest_encode_as_ids"), "tok.nbest(text, n)"),
    **dict.fromkeys(("Load", "LoadFromFile", "load", "load_from_file"), _LOAD),
    "unk_id": 'tok.token_to_id(tok.roles["unk"])',
}

# Keyword argument of another library's method -> the call of Jeton that does the same.
KEYWORDS: dict[str, str] = {
    # transformers, tokenizers
    "padding": _PADDED,
    "truncation": "tok.encode_batch(texts, max_length=n), or tok.truncate(text, n)",
    "max_length": "tok.encode_batch(texts, max_length=n), or tok.truncate(text, n)",
    "padding_side": "tok.encode_batch(texts).padded(side=…)",
    "truncation_side": "side=, of tok.encode_batch",
    "pad_to_multiple_of": "tok.encode_batch(texts).padded(multiple_of=…)",
    "return_tensors": "tok.encode_array(text), or tok.encode_batch(texts).padded()",
    "return_offsets_mapping": "tok.encode_batch(texts, offsets=True), or tok.tokenize(text).hf_offsets",
    "return_overflowing_tokens": "overflow=True, of tok.encode_batch",
    **{
        f"return_{name}": f"tok.encode_batch(texts).padded().{name}"
        for name in ("attention_mask", "token_type_ids", "special_tokens_mask")
    },
    "return_length": "tok.count(text)",
    "text_pair": "pair=, of tok.encode and tok.tokenize, or pairs=, of tok.encode_batch",
    "split_special_tokens": 'special="none" (the default), or special="all"',
    "clean_up_tokenization_spaces": "tok.decode(ids), which changes no spaces",
    # tiktoken
    "allowed_special": 'special="all", or a set of special tokens',
    "disallowed_special": 'special="raise", or special="none" (the default)',
    "num_threads": "threads=",
    # sentencepiece
    "out_type": "tok.encode(text) for ids, tok.tokenize(text).tokens for tokens",
    **dict.fromkeys(("add_bos", "add_eos"), "add_special_tokens=True, for the tokenizer's template"),
    "enable_sampling": "alpha=, or dropout=, of tok.encode",
    "nbest_size": "nbest=, of tok.encode",
}
_OF_DECODE = {"errors": "invalid_utf8="}
# Keywords of `truncate` and `split` in other libraries, including text splitters -> the counterpart in Jeton.
_OF_CUTTING = {
    **dict.fromkeys(("max_length", "chunk_size", "max_chunk_size", "limit"), "max_tokens="),
    **dict.fromkeys(("chunk_overlap", "stride"), "overlap=, of tok.split"),
    "truncation_side": "side=, of tok.truncate",
}
_OF_STREAM = {
    **dict.fromkeys(("stop_strings", "stop_sequences"), "stop="),
    **dict.fromkeys(("ids", "skip_prompt"), "prompt_ids="),
}
_OF_LOAD = {
    "revision": '"hf:owner/name@revision"',
    "trust_remote_code": "code of a repository is never run",
    "cache_dir": "the environment variables HF_HUB_CACHE and JETON_CACHE_DIR",
    "token": "the environment variable HF_TOKEN",
    "local_files_only": "the environment variable JETON_OFFLINE=1",
    "model_file": "path_or_name=",
    "pat_str": "pattern=",
    "warm_up": "jeton.load(name).warm_up()",
}
_OF_METHODS = {
    "decode_batch": _OF_DECODE,
    "load": _OF_LOAD,
    "make": dict.fromkeys(("add_eos", "eos"), "append_eos="),
    "split": _OF_CUTTING,
    "stream": _OF_STREAM,
    "truncate": _OF_CUTTING,
}

# Name in another package -> its counterpart in Jeton.
NAMES: dict[str, str] = {
    "get_encoding": "jeton.load(name)",
    "encoding_for_model": "jeton.load(model)",
    "encoding_name_for_model": "jeton.names()",
    "list_encoding_names": "jeton.names()",
    **dict.fromkeys(("AutoTokenizer", "PreTrainedTokenizerFast", "from_pretrained", "from_file"), _LOAD),
    **dict.fromkeys(("SentencePieceProcessor", "Processor"), _LOAD),
    **dict.fromkeys(("SentencePieceTrainer", "ByteLevelBPETokenizer"), _TRAIN),
}

# Class of a result in Jeton -> name of an attribute in another library -> expression that replaces it in Jeton.
RESULTS: dict[str, dict[str, str]] = {
    "Encoding": {
        "input_ids": "encoding.ids",
        "offsets": "encoding.hf_offsets, or encoding.char_spans",
        "words": "encoding.word_ids",
        "attention_mask": "tok.encode_batch(texts).padded().attention_mask",
    },
    "TokenBatch": {
        "input_ids": "batch.padded().input_ids, or batch.ids of all rows",
        **{name: f"batch.padded().{name}" for name in ("attention_mask", "token_type_ids", "offset_mapping")},
    },
}


def result_error(result: object, name: str) -> AttributeError:
    """Builds the error for an attribute that a result lacks, with Jeton's counterpart if it is known.

    Args:
        result: an `Encoding` or a `TokenBatch`.
        name: name of the attribute.
    """
    owner = type(result).__name__
    hint = RESULTS.get(owner, {}).get(name)
    suffix = f"; in Jeton: {hint}" if hint else ""
    return AttributeError(f"{owner!r} object has no attribute {name!r}{suffix}", name=name, obj=result)


def attribute_hint(name: str) -> str:
    """Returns the error message for an attribute of another library's tokenizer.

    Examples:
        >>> attribute_hint("batch_decode")
        "'Tokenizer' object has no attribute 'batch_decode'; in Jeton: tok.decode_batch(batch)"
    """
    return f"'Tokenizer' object has no attribute {name!r}; in Jeton: {ATTRIBUTES[name]}"


def called() -> NoReturn:
    """Raises the error for ``tok(text)``, a call of a tokenizer."""
    raise TypeError(
        "'Tokenizer' object is not callable; in Jeton: tok.encode(text) for ids, tok.tokenize(text) for tokens and "
        f"spans, {_PADDED} for a batch"
    )


def refuse_keywords(method: Callable[..., Any], unknown: Mapping[str, Any], *others: Callable[..., Any]) -> NoReturn:
    """Raises the error for a call with keywords that a method does not have.

    Args:
        method: the method that was called.
        unknown: the unknown keywords, at least one.
        others: functions that receive further keywords from the method; the error suggests their parameters, too.
    """
    import inspect
    from difflib import get_close_matches

    name = next(iter(unknown))
    hint = _OF_METHODS.get(method.__name__, {}).get(name)
    if hint is None and method.__name__ != "load":
        hint = KEYWORDS.get(name)
    if hint is None:
        parameters = [one for each in (method, *others) for one in inspect.signature(each).parameters.values()]
        own = [one.name for one in parameters if one.kind is not one.VAR_KEYWORD]
        close = get_close_matches(name, own, 1)
        hint = f"{close[0]}=" if close else None
    suffix = f"; in Jeton: {hint}" if hint else ""
    raise TypeError(f"{method.__qualname__}() got an unexpected keyword argument {name!r}{suffix}")
