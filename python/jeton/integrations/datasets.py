"""`map_dataset`: ids of a Hugging Face dataset, encoded in Arrow batches and cached by `datasets`.

The fingerprint of the result is a function of the dataset's, the tokenizer's and the options, so the same call is
answered from the cache, in another process, too. `datasets` itself would hash the pickled function.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..errors import ConfigError, keyword
from ..tokenizer import Tokenizer
from ..util.arguments import integer, wrong
from ..util.optional import import_optional
from .arrow import ArrowEncoder, encode_arrow

__all__ = ["map_dataset"]

BATCH_ROWS = 1000
VERSION = 1  # of the fingerprint: changes with the meaning of an option


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
) -> Any:
    """Encodes a column of a dataset of the package `datasets`.

    Args:
        dataset: a `Dataset`, an `IterableDataset`, or a dictionary of them (`DatasetDict`, …).
        tok: the tokenizer.
        column, output, keep, append_eos, prepend_bos, large_list, threads: as in `encode_arrow`.
        batch_rows: rows that are encoded at a time.

    Returns:
        A dataset of the same kind, with the columns `keep` and `output` and without a format. That of a `Dataset` is in
        the cache of `datasets`; `threads` and `batch_rows` do not change its fingerprint.

    Raises:
        ConfigError: another type, or an invalid option.
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
    options["keep"] = list(keep)
    if isinstance(dataset, datasets.DatasetDict | datasets.IterableDatasetDict):
        more = {"batch_rows": batch_rows, "threads": threads, **options}
        return type(dataset)({name: map_dataset(split, tok, **more) for name, split in dataset.items()})
    if not isinstance(dataset, datasets.Dataset | datasets.IterableDataset):
        raise wrong("dataset", dataset, "a Dataset, an IterableDataset, or a dictionary of them")
    encode = partial(encode_arrow, tok=tok, threads=threads, **options)
    features = _features(datasets, dataset, options)
    removed = [name for name in dataset.column_names or () if name not in features]
    common = {"batched": True, "batch_size": batch_rows, "features": features, "remove_columns": removed}
    if isinstance(dataset, datasets.IterableDataset):
        return dataset.with_format("arrow").map(encode, **common).with_format(None)
    facts = ["jeton.map_dataset", VERSION, dataset._fingerprint, tok.fingerprint, options]
    made = dataset.with_format("arrow").map(
        encode,
        new_fingerprint=datasets.fingerprint.Hasher.hash(facts),
        desc="Encoding",
        **common,
    )
    return made.with_format(None)


def _features(datasets: Any, dataset: Any, options: dict[str, Any]) -> Any:
    """The features of the result."""
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
