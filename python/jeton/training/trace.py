"""`trace=`: prints a training run on small input, as a `Replay`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import ConfigError
from ..tokenizer import Tokenizer
from .replay import replay_texts

__all__ = ["trace_training"]


def trace_training(
    tok: Tokenizer,
    texts: Sequence[bytes],
    counts: Sequence[int] | None,
    *,
    split: bool,
    write: Callable[[str], None],
) -> None:
    """Replays a training run and writes one line per merge.

    Args:
        tok: the trained tokenizer.
        texts: the documents, or (split=False) the pretokens, that it was trained on.
        counts: count of each text; None: 1.
        split: True if the texts are documents.
        write: called with each line.

    Raises:
        ConfigError: too much text.

    Examples:
        >>> import jeton
        >>> _ = jeton.train(["abcababcaabc"], 258, pattern="none", tie_break="first", trace=True, progress=False)
        ['a', 'b', 'c', 'a', 'b', 'a', 'b', 'c', 'a', 'a', 'b', 'c']
        (97, 98) -> 256 'ab' ×4  ['ab', 'c', 'ab', 'ab', 'c', 'a', 'ab', 'c']
        (256, 99) -> 257 'abc' ×3  ['abc', 'ab', 'abc', 'a', 'abc']
    """
    try:
        run = replay_texts(tok, texts, counts, split=split, top=0)
    except ConfigError as error:
        error.option = "trace"
        raise
    for line in run.lines():
        write(line)
