"""The whole sequence before and after each merge of a training run, for small input.

The learner keeps no sequences, so the run is played back from its merges, in plain Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..definition import Bpe
from ..drawing import quoted
from ..errors import ConfigError
from ..spelling import Spelling
from ..tokenizer import Tokenizer

__all__ = ["trace_training"]

# One line a merge repeats the whole text: past this many bytes nobody reads it, and the output would be quadratic.
MAX_TRACED_BYTES = 10_000


def trace_training(tok: Tokenizer, texts: Sequence[bytes], *, split: bool, write: Callable[[str], None]) -> None:
    """Plays a training run back, one line a merge.

    Args:
        tok: what was trained.
        texts: the documents, or (split=False) the pretokens, that it was trained on.
        split: whether the texts are documents.
        write: gets each line.

    Raises:
        ConfigError: there is too much text to show.

    Examples:
        >>> import jeton
        >>> _ = jeton.train(["abcababcaabc"], 258, pattern="none", tie_break="first", trace=True, progress=False)
        ['a', 'b', 'c', 'a', 'b', 'a', 'b', 'c', 'a', 'a', 'b', 'c']
        (97, 98) -> 256 'ab' ×4  ['ab', 'c', 'ab', 'ab', 'c', 'a', 'ab', 'c']
        (256, 99) -> 257 'abc' ×3  ['abc', 'ab', 'abc', 'a', 'abc']
    """
    size = sum(map(len, texts))
    if size > MAX_TRACED_BYTES:
        raise ConfigError(
            f"trace= writes the whole text once a merge, for small input: {size} bytes are over {MAX_TRACED_BYTES}; "
            "log= has a line a merge for any corpus",
            option="trace",
        )
    sequences = [list(_symbols(tok, pretoken)) for text in texts for pretoken in _pretokens(tok, text, split)]
    spelling = Spelling(tok)
    write(_line(spelling, sequences))
    log = tok.training.log if tok.training else None
    for rank, (left, right, new) in enumerate(tok.merges):
        sequences = [_merge(sequence, left, right, new) for sequence in sequences]
        count = f" ×{log[rank].pair_count}" if log else ""
        write(f"({left}, {right}) -> {new} {quoted(spelling(new))}{count}  {_line(spelling, sequences)}")


def _pretokens(tok: Tokenizer, text: bytes, split: bool) -> Iterator[bytes]:
    if not split:
        yield text
        return
    *_, pretokens, _ = tok._core.tokenize(text, "all")
    added = {content.encode() for _, content, _, _ in tok._core.added_tokens()}
    for start, end, _ in pretokens:
        if text[start:end] not in added:
            yield text[start:end]


def _symbols(tok: Tokenizer, pretoken: bytes) -> Iterator[int]:
    model = tok.definition.model
    if not isinstance(model, Bpe):
        raise RuntimeError(f"a {model.type} model has no merges to trace")
    byte_level = model.level == "byte"
    units = [bytes([byte]) for byte in pretoken] if byte_level else [char.encode() for char in pretoken.decode()]
    suffix = model.end_of_word is not None and model.end_of_word_style == "suffix"
    for index, unit in enumerate(units):
        yield _find(tok, unit, suffix and index == len(units) - 1)
    if model.end_of_word and not suffix:
        yield _find(tok, b"", True)


def _find(tok: Tokenizer, unit: bytes, ends_word: bool) -> int:
    id = tok._core.find(unit, ends_word)
    if id is None:
        raise RuntimeError(f"{unit!r} was trained on and is not in the vocabulary")
    return id


def _merge(sequence: list[int], left: int, right: int, new: int) -> list[int]:
    merged: list[int] = []
    index = 0
    while index < len(sequence):
        if sequence[index : index + 2] == [left, right]:
            merged.append(new)
            index += 2
        else:
            merged.append(sequence[index])
            index += 1
    return merged


def _line(spelling: Spelling, sequences: list[list[int]]) -> str:
    return " | ".join("[" + ", ".join(quoted(spelling(id)) for id in sequence) + "]" for sequence in sequences)
