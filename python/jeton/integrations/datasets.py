"""`map_dataset`: ids of a Hugging Face dataset, encoded in Arrow batches and cached by `datasets`.

The fingerprint of the result depends only on the dataset's fingerprint, the tokenizer's fingerprint and the options. So
an equal call is answered from the cache, even in another process. By default, `datasets` would instead hash the
pickled function, which can differ between processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

from ..errors import ConfigError, keyword
from ..shards.conversations import ConversationFitter, chat_template, mask_options
from ..shards.plan import TOO_LONG
from ..tokenizer import Tokenizer
from ..util.arguments import choice, flag, integer, wrong
from ..util.optional import import_optional
from .arrow import ArrowEncoder, encode_arrow

__all__ = ["map_dataset"]

BATCH_ROWS = 1000
LOSS_MASK = "loss_mask"
VERSION = 1  # part of the fingerprint; increased when an option changes its meaning


def map_dataset(
    dataset: Any,
    tok: Tokenizer,
    column: str = "text",
    *,
    output: str = "input_ids",
    keep: Sequence[str] = (),
    append_eos: bool | str = False,
    prepend_bos: bool | str = False,
    large_list: bool = False,
    batch_rows: int = BATCH_ROWS,
    threads: int | None = None,
    chat: bool = False,
    mask: Mapping[str, Any] | None = None,
    max_length: int | None = None,
    too_long: Literal["truncate", "drop", "split"] = "truncate",
) -> Any:
    """Encodes a column of a dataset of the package `datasets`: texts, or conversations with a loss mask.

    Args:
        dataset: a `Dataset`, an `IterableDataset`, or a dictionary of them (`DatasetDict`, …).
        tok: the tokenizer.
        column, output, keep, append_eos, prepend_bos, large_list, threads: as in `encode_arrow`.
        batch_rows: number of rows that are encoded at a time.
        chat: the column has conversations, that is, lists of messages. They are encoded with the tokenizer's chat
            template, and the result also has a column ``loss_mask``: whether the model generates each id. `append_eos`,
            `prepend_bos` and `keep` are not supported with it.
        mask: options of the loss mask, as for `Chat.reply_mask`.
        max_length: maximum number of ids of a conversation; None means no limit.
        too_long: policy for conversations over `max_length`: ``"truncate"`` ends them with the last reply that fits,
            ``"drop"`` leaves them out, ``"split"`` divides them into several, each with the system messages.

    Returns:
        A dataset of the same kind, with the columns `keep` and `output` and without a format. The result for a
        `Dataset` is in the cache of `datasets`; `threads` and `batch_rows` do not change its fingerprint.

    Raises:
        ConfigError: `dataset` has another type, or an option is invalid.
        ChatTemplateError: the template refuses a conversation, or does not show which text of it the model generates.
        FormatError, InvalidTextError: as `encode_arrow`.
        MissingDependencyError: `datasets` is not installed.

    Examples:
        >>> import datasets, jeton
        >>> tok = jeton.default()
        >>> found = map_dataset(datasets.Dataset.from_dict({"text": ["to be", "or not"]}), tok)
        >>> tok.decode(found[1]["input_ids"])
        'or not'
    """
    datasets = import_optional("datasets", "map_dataset")
    integer(batch_rows, "batch_rows", 1)
    options: dict[str, Any] = {
        "column": column,
        "output": output,
        "keep": keep,
        "append_eos": append_eos,
        "prepend_bos": prepend_bos,
        "large_list": large_list,
    }
    ArrowEncoder(tok, threads=threads, **options)  # checks the options before any work
    chats = _chat_options(tok, options, mask, max_length, too_long) if flag(chat, "chat") else None
    if chats is None and (mask is not None or max_length is not None or too_long != "truncate"):
        option = "mask" if mask is not None else "max_length" if max_length is not None else "too_long"
        raise ConfigError(f"{keyword(option)} is for conversations: pass {keyword('chat', True)}")
    options["keep"] = list(keep)
    if isinstance(dataset, datasets.DatasetDict | datasets.IterableDatasetDict):
        more = {"batch_rows": batch_rows, "threads": threads, "chat": chat, **options}
        more |= {"mask": mask, "max_length": max_length, "too_long": too_long}
        return type(dataset)({name: map_dataset(split, tok, **more) for name, split in dataset.items()})
    if not isinstance(dataset, datasets.Dataset | datasets.IterableDataset):
        raise wrong("dataset", dataset, "a Dataset, an IterableDataset, or a dictionary of them")
    encode = partial(encode_arrow, tok=tok, threads=threads, **options)
    features = _features(datasets, dataset, options)
    if chats is not None:
        options |= {"chat": chats}
        encode = partial(_encode_chats, tok=tok, column=column, output=output, **chats)
        make = datasets.LargeList if large_list else datasets.List
        features = datasets.Features({**features, LOSS_MASK: make(datasets.Value("int8"))})
    removed = [name for name in dataset.column_names or () if name not in features]
    common = {"batched": True, "batch_size": batch_rows, "features": features, "remove_columns": removed}
    form = None if chats is not None else "arrow"
    if isinstance(dataset, datasets.IterableDataset):
        return dataset.with_format(form).map(encode, **common).with_format(None)
    facts = ["jeton.map_dataset", VERSION, dataset._fingerprint, tok.fingerprint, options]
    made = dataset.with_format(form).map(
        encode,
        new_fingerprint=datasets.fingerprint.Hasher.hash(facts),
        desc="Encoding",
        **common,
    )
    return made.with_format(None)


def _chat_options(
    tok: Tokenizer,
    options: Mapping[str, Any],
    mask: Mapping[str, Any] | None,
    max_length: int | None,
    too_long: str,
) -> dict[str, Any]:
    """Returns the checked options for conversations; they are part of the fingerprint."""
    for option in ("append_eos", "prepend_bos", "keep"):
        if options[option]:
            raise ConfigError(f"{keyword(option)} is not supported with {keyword('chat', True)}", option=option)
    if options["output"] == LOSS_MASK:
        raise ConfigError(f"{keyword('output', LOSS_MASK)} is the name of the loss mask")
    if max_length is not None:
        integer(max_length, "max_length", 1)
    choice(too_long, "too_long", TOO_LONG[:-1])
    template = chat_template(tok)
    return {"mask": mask_options(template, mask or {}), "max_length": max_length, "too_long": too_long}


def _encode_chats(
    batch: Mapping[str, list[Any]],
    tok: Tokenizer,
    column: str,
    output: str,
    mask: Mapping[str, Any],
    max_length: int | None,
    too_long: str,
) -> dict[str, list[Any]]:
    """Encodes conversations; returns ids and loss mask of each conversation, or of each part if one was split."""
    fitter = ConversationFitter(tok, None, max_length, too_long)
    chats = [chat for messages in batch[column] for chat in fitter.chats(_without_nulls(messages))]
    return {
        output: [chat.ids for chat in chats],
        LOSS_MASK: [list(map(int, chat.reply_mask(**mask))) for chat in chats],
    }


def _without_nulls(value: Any) -> Any:
    """Removes keys with the value null from JSON. Arrow adds them, because every struct has the fields of all rows."""
    if isinstance(value, Mapping):
        return {name: _without_nulls(one) for name, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


def _features(datasets: Any, dataset: Any, options: dict[str, Any]) -> Any:
    """Returns the features (column types) of the result."""
    kept = {}
    if options["keep"]:
        known = dataset.features
        if known is None:
            raise ConfigError(f"{keyword('keep')} needs a dataset with known features; call resolve_features()")
        missing = next((name for name in options["keep"] if name not in known), None)
        if missing is not None:
            found = ", ".join(map(repr, list(known)[:8]))
            raise ConfigError(f"{keyword('keep', missing)} is not a column of the dataset (it has: {found})")
        kept = {name: known[name] for name in options["keep"]}
    make = datasets.LargeList if options["large_list"] else datasets.List
    return datasets.Features({**kept, options["output"]: make(datasets.Value("int32"))})
