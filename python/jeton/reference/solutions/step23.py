"""Answers to the exercises of step 23."""

from typing import Any

from jeton.reference.step05_encode import encode_by_rank
from jeton.reference.step08_split import split


def tokens(vocab: Any, text: str) -> str:
    """Show the tokens of a text and their ids."""
    ids = [id for part in split(text, vocab.pattern) for id in encode_by_rank(part.encode("utf-8"), vocab.rank_of)]
    spelling = {id: token for token, id in vocab.rank_of.items()}
    return "|".join(spelling[id].decode("utf-8", "replace") for id in ids) + "   " + " ".join(map(str, ids))


def variants(word: str, tokens: list[bytes]) -> list[bytes]:
    """Find the tokens that spell a word in upper, lower or mixed case, with or without a space in front."""
    found: list[bytes] = []
    for token in tokens:
        try:
            text = token.decode("utf-8")
        except UnicodeDecodeError:
            continue
        if text.removeprefix(" ").lower() == word.lower():
            found.append(token)
    return found
