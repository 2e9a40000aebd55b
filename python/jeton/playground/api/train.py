"""``train``: a training run on a short text, with every step.

The page reconstructs the sequences from the initial symbols and the rank of the merge that removed each boundary.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ...definition import Pattern, SymbolLevel, TieBreak
from ...drawing import draw
from ...errors import ConfigError
from ...training import Replay, train
from ...training.replay import replay
from ...training.request import TIE_BREAKS
from ..catalog import Catalog
from . import request_fields

__all__ = ["MAX_MERGES", "MAX_TEXT_BYTES", "answer"]

# Every step counts all pairs again; a replay of this size takes one or two seconds.
MAX_TEXT_BYTES = 10_000
MAX_MERGES = 500
# Upper bound of alphabet and merges: a text has at most as many characters as bytes.
MAX_VOCAB_SIZE = MAX_TEXT_BYTES + MAX_MERGES


def answer(catalog: Catalog, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns `Replay.to_json` of the run with looks instead of bytes, and the known patterns.

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
            f"the text has {num_bytes:,} bytes; the limit of this view is {MAX_TEXT_BYTES:,}",
            option="text",
        )
    level = cast(SymbolLevel, request_fields.one_of(request, "level", ("byte", "char"), "byte"))
    tok = train(
        [text],
        request_fields.integer(request, "vocab_size", 276, 1, MAX_VOCAB_SIZE),
        level=level,
        pattern=request_fields.text(request, "pattern", "none" if level == "char" else "o200k"),
        tie_break=cast(TieBreak, request_fields.one_of(request, "tie_break", TIE_BREAKS, "lowest_ids")),
        threads=1,
        progress=False,
    )
    if len(tok.merges) > MAX_MERGES:
        raise ConfigError(
            f"the run has {len(tok.merges):,} merges; the limit of this view is {MAX_MERGES:,}, a vocabulary size of "
            f"{tok.vocab_size - len(tok.merges) + MAX_MERGES:,}",
            option="vocab_size",
        )
    run = replay(tok, [text])
    facts = run.to_json()
    facts["table"] = _looks(run, facts.pop("tokens"))
    facts["alphabet_size"] = tok.vocab_size - len(tok.merges)
    facts["vocab_size"] = tok.vocab_size
    facts["patterns"] = Pattern.names()
    return facts


def _looks(run: Replay, tokens: Mapping[int, str]) -> dict[str, Any]:
    """Returns id -> look, each drawn without neighbors."""
    drawn = {id: draw([(id, bytes.fromhex(data))]).to_json()["table"][0] for id, data in tokens.items()}
    return {str(id): look for id, look in drawn.items()}
