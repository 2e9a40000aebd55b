"""An answer to the exercise of step 15."""

from itertools import pairwise


def parts(token: bytes, ranks: dict[bytes, int]) -> tuple[bytes, bytes] | None:
    """Find the two tokens whose merge made a token."""
    if len(token) == 1:
        return None
    pieces = [token[at : at + 1] for at in range(len(token))]
    while len(pieces) > 2:
        joined = [ranks.get(left + right, len(ranks)) for left, right in pairwise(pieces)]
        at = joined.index(min(joined))  # the leftmost of equals
        pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
    return pieces[0], pieces[1]
