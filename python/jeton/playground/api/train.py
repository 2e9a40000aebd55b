"""``train``: a training run on a pasted text, every step of it.

The page draws the sequences itself, from the symbols of the start and the rank of the merge that removed each border.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, get_args

from ...definition import Level, Pattern, TieBreak
from ...drawing import draw
from ...errors import ConfigError
from ...training import Replay, train
from ...training.replay import replay
from ..catalog import Catalog
from . import request_fields

__all__ = ["MAX_MERGES", "MAX_TEXT_BYTES", "answer"]

# Every step counts all pairs again; these are played back in one or two seconds.
MAX_TEXT_BYTES = 10_000
MAX_MERGES = 500
# An alphabet and the merges: no text of this size has more characters than it has bytes.
MAX_VOCAB_SIZE = MAX_TEXT_BYTES + MAX_MERGES


def answer(catalog: Catalog, request: Mapping[str, Any]) -> dict[str, Any]:
    """The run: `Replay.to_dict`, with looks instead of spellings, and the rules that there are to choose.

    Examples:
        >>> run = answer(Catalog(cached=False), {"text": "abab abab", "vocab_size": 258, "pattern": "gpt2"})
        >>> [(step["id"], step["pair_count"], step["corpus_tokens"]) for step in run["steps"]]
        [(256, 4, 5), (257, 2, 3)]
        >>> run["table"]["257"]["parts"]
        [['text', 'abab', 'abab']]
    """
    text = request_fields.text(request, "text")
    num_bytes = len(text.encode())
    if num_bytes > MAX_TEXT_BYTES:
        raise ConfigError(
            f"every step reads the whole text again, so it may have up to {MAX_TEXT_BYTES:,} bytes; this one has "
            f"{num_bytes:,}",
            option="text",
        )
    level = cast(Level, request_fields.one_of(request, "level", get_args(Level), "byte"))
    tok = train(
        [text],
        request_fields.integer(request, "vocab_size", 276, 1, MAX_VOCAB_SIZE),
        level=level,
        pattern=request_fields.text(request, "pattern", "none" if level == "char" else "o200k"),
        tie_break=cast(TieBreak, request_fields.one_of(request, "tie_break", get_args(TieBreak), "lowest_ids")),
        threads=1,
        progress=False,
    )
    if len(tok.merges) > MAX_MERGES:
        raise ConfigError(
            f"{len(tok.merges):,} merges are too many to watch; a vocabulary of up to "
            f"{tok.vocab_size - len(tok.merges) + MAX_MERGES:,} has {MAX_MERGES:,}",
            option="vocab_size",
        )
    run = replay(tok, [text])
    facts = run.to_dict()
    facts["table"] = _looks(run, facts.pop("tokens"))
    facts["alphabet_size"] = tok.vocab_size - len(tok.merges)
    facts["vocab_size"] = tok.vocab_size
    facts["patterns"] = Pattern.names()
    return facts


def _looks(run: Replay, tokens: Mapping[int, str]) -> dict[str, Any]:
    """Id -> what it looks like; each is drawn alone, for in the table it has no neighbors."""
    drawn = {id: draw([(id, bytes.fromhex(data))]).to_dict()["table"][0] for id, data in tokens.items()}
    return {str(id): look for id, look in drawn.items()}
