"""Texts that reveal differences between readers of a tokenizer, short texts first.

A reader is a library together with the file that it loads.

The texts are `edge_cases`, spellings of added tokens between different neighbors, the texts of the user, and
`generated_texts`. If the tokenizers of two readers differ, a fast search tries the entries of both vocabularies and
more generated texts. The first few texts that the two tokenizers encode to different ids are added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from ...errors import JetonError
from ...tokenizer import Tokenizer
from ..edge_cases import EDGE_CASES
from ..generated_texts import generate_texts

__all__ = ["FRAMED", "added_token_texts", "spells_added", "telling_texts"]

# Texts that are encoded twice: without the template, and with the tokens added by the template.
FRAMED = ("", "a", "Hello, world!")
NUM_GENERATED = 300
# Maximum number of added tokens for which texts are made. If a tokenizer has thousands of added tokens, most of these
# tokens behave alike.
MAX_ADDED = 48
# If two tokenizers differ, a search tries this many generated texts, and all entries of both vocabularies.
NUM_SEARCHED = 4000
# Maximum number of texts that the search adds for each tokenizer that differs from the first tokenizer.
NUM_FOUND = 3
BATCH = 4096  # number of texts that the search encodes at once


def telling_texts(twins: Sequence[Tokenizer], own: Sequence[str]) -> list[str]:
    """Returns the texts for a comparison of readers (a reader is a library and the file that it loads).

    Args:
        twins: the tokenizers of all readers; the first one is the reference.
        own: texts that the user passed.
    """
    texts = dict.fromkeys(chain(EDGE_CASES, FRAMED, added_token_texts(twins), own))
    first = twins[0] if twins else None
    texts |= dict.fromkeys(generate_texts(first, NUM_GENERATED, special=True))
    if first is not None:
        seen = {first.fingerprint}
        for other in twins[1:]:
            if other.fingerprint not in seen:
                seen.add(other.fingerprint)
                texts |= dict.fromkeys(islice(_search(first, other), NUM_FOUND))
    return list(texts)


def added_token_texts(twins: Sequence[Tokenizer]) -> Iterator[str]:
    """Yields texts with the spelling of added tokens, first the added tokens that differ between the tokenizers."""
    of = [{token.content: (id, token) for id, token in twin.added_tokens.items()} for twin in twins]
    contents = dict.fromkeys(chain.from_iterable(of))
    differing = [content for content in contents if any(one.get(content) != of[0].get(content) for one in of)]
    for content in islice(dict.fromkeys(chain(differing, contents)), MAX_ADDED):
        yield from (content, f"a{content}b", f"a {content} b", f"{content}Hello {content} world", f"{content} Hello")
        yield f"x\n{content}\n{content}y"
        yield from (case for case in (content.lower(), content.upper()) if case != content)


def spells_added(twins: Sequence[Tokenizer], texts: Sequence[str]) -> list[bool]:
    """Tests for each text whether it contains the spelling of an added token."""
    contents = {token.content for twin in twins for token in twin.added_tokens.values()}
    return [any(content in text for content in contents) for text in texts]


def _search(a: Tokenizer, b: Tokenizer) -> Iterator[str]:
    """Yields the entries and generated texts that the two tokenizers encode to different ids."""
    for batch in _batches(chain(_entries(a), _entries(b), generate_texts(a, NUM_SEARCHED, 1, special=True))):
        try:
            left, right = (tok.encode_batch(batch, special="all") for tok in (a, b))
        except JetonError:  # one of the texts cannot be encoded
            continue
        if left.ids.tobytes() == right.ids.tobytes() and left.offsets.tobytes() == right.offsets.tobytes():
            continue
        pairs = zip(batch, left, right, strict=True)
        yield from (text for text, one, other in pairs if one.tobytes() != other.tobytes())


def _entries(tok: Tokenizer) -> Iterator[str]:
    for id in tok._core.ids():
        try:
            yield (tok._core.decoded(id) or b"").decode()
        except UnicodeDecodeError:  # the entry is part of a character
            continue


def _batches(texts: Iterator[str]) -> Iterator[list[str]]:
    while batch := list(islice(texts, BATCH)):
        yield batch
