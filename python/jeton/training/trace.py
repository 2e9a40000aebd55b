"""`trace=`: a training run on small input, as lines of text. What is written is a `Replay`."""

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
    """Plays a training run back, one line a merge.

    Args:
        tok: what was trained.
        texts: the documents, or (split=False) the pretokens, that it was trained on.
        counts: how often each of them occurred; None: once.
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
    try:
        run = replay_texts(tok, texts, counts, split=split, top=0)
    except ConfigError as error:
        error.option = "trace"
        raise
    for line in run.lines():
        write(line)
