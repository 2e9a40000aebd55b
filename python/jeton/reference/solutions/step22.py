"""Answers to the exercises of step 22."""

from jeton.reference.step03_merge import Merge
from jeton.reference.step05_encode import encode, ranks


def add_words(merges: list[Merge], words: list[str]) -> list[Merge]:
    """Append merges until each word is one token."""
    result = list(merges)
    for word in words:
        while len(ids := encode(list(word.encode("utf-8")), ranks(result))) > 1:
            result.append(Merge(ids[0], ids[1], 256 + len(result)))
    return result


def join(tokens: list[bytes], others: list[bytes]) -> tuple[list[bytes], list[int]]:
    """Append the tokens that the first vocabulary lacks, and find the new id of each token of the second one."""
    id_of = {token: id for id, token in enumerate(tokens)}
    new_ids = [id_of.setdefault(token, len(id_of)) for token in others]
    return list(id_of), new_ids
