"""All checks of one vocabulary on one corpus, with results as plain data.

- Ids are compared on all strings, in every mode of every peer.
- Decoding, offsets and tiling are compared on all strings of the corpora, and on the first 20,000 generated strings.
- The corpus "generated" gets four more checks: of offsets when the template adds tokens, of pairs of strings, of the
  decoding of random ids, and of invalid UTF-8 (only if the tokenizer is byte-level and does not normalize).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import jeton

from .catalog import Vocabulary
from .compare import DEEP, Refusal, compare_bytes, compare_details, compare_ids, compare_pairs, decoded, tried
from .peers import Peer
from .texts import GENERATED, batches, corpus, generated_bytes, generated_ids, generated_texts, head

__all__ = ["compare", "opened"]

PAIRS = 4_000


def opened(vocab: Vocabulary) -> tuple[jeton.Tokenizer | Refusal, list[Peer | Refusal]]:
    """Loads the vocabulary in Jeton and in the peers. A `Refusal` takes the place of a tokenizer that fails to load."""
    return tried(vocab.load), [tried(peer) for peer in vocab.peers]


def compare(
    tok: jeton.Tokenizer,
    peers: Sequence[Peer],
    data: Path | None,
    name: str,
    generated: int,
    said: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Returns the tallies of one vocabulary on one corpus, that is, for one column of the table in docs/parity.md.

    Args:
        tok, peers: tokenizers to compare.
        data: data folder, for corpora.
        name: a corpus, or ``"generated"``.
        generated: number of generated strings.
        said: function that is called with progress messages.
    """
    start = perf_counter()
    make: Callable[[], Iterable[str]]
    if name == GENERATED:
        make = partial(generated_texts, tok, generated)
    elif data is None:
        raise ValueError("corpora are in the data folder")
    else:
        make = partial(corpus, data, name)
    tallies = compare_ids(tok, peers, make())
    said(f"ids in {perf_counter() - start:.0f} s")
    deep = head(make(), DEEP if name == GENERATED else len(list(make())))
    for number, peer in enumerate(peers):
        if number == 0 or peer.details:
            tallies += compare_details(tok, peer, deep, template=False)
            if peer.details and name == GENERATED:
                tallies += compare_details(tok, peer, deep, template=True)
        if peer.decode:
            mode = max(peer.modes, key=lambda mode: mode.template)  # prefers a mode that adds the template's ids
            tallies += decoded(tok, peer, _ids(tok, deep, mode.special, mode.template))
        if name == GENERATED:
            tallies += compare_pairs(tok, peer, deep[: 2 * PAIRS])
            tallies += decoded(tok, peer, generated_ids(tok, min(DEEP, generated)), "random ids")
    if name == GENERATED and tok.definition.is_byte_level and not tok.definition.normalizer:
        tallies.append(compare_bytes(tok, generated_bytes(tok, min(DEEP, generated))))
    said(f"done in {perf_counter() - start:.0f} s")
    return [tally.to_json() for tally in tallies]


def _ids(tok: jeton.Tokenizer, texts: Sequence[str], special: Any, template: bool) -> Iterable[list[int]]:
    for batch in batches(texts):
        ids = tried(lambda batch=batch: tok.encode_batch(batch, special=special, add_special_tokens=template))  # type: ignore[misc]
        if not isinstance(ids, Refusal):
            yield from (one.tolist() for one in ids)
            continue
        for text in batch:
            one = tried(lambda text=text: tok.encode(text, special=special, add_special_tokens=template))  # type: ignore[misc]
            if not isinstance(one, Refusal):
                yield one
