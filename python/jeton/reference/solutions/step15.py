"""Answers to the exercises of step 15."""

import base64
from itertools import pairwise


def read_ranks(file: bytes) -> dict[bytes, int]:
    """Read a rank file."""
    ranks: dict[bytes, int] = {}
    for line in file.splitlines():
        token, rank = line.split(b" ")
        ranks[base64.b64decode(token)] = int(rank)
    return ranks


def halves(token: bytes, ranks: dict[bytes, int]) -> list[bytes]:
    """Find the two tokens whose merge made a token."""
    pieces = [token[at : at + 1] for at in range(len(token))]
    while len(pieces) > 2:
        joined = [ranks.get(left + right, len(ranks)) for left, right in pairwise(pieces)]
        at = joined.index(min(joined))  # of equal ranks, the leftmost
        pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
    return pieces
