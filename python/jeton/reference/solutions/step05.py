"""An answer to the second exercise of step 5."""

from jeton.reference.step05_encode import encode


def unreachable(merges: list[tuple[int, int, int]]) -> list[int]:
    """Find each token for which `encode`, given the token's bytes, returns other ids."""
    spelling = {byte: bytes([byte]) for byte in range(256)}
    ranks = {}
    for rank, (left, right, new) in enumerate(merges):
        spelling[new] = spelling[left] + spelling[right]
        ranks[left, right] = rank, new
    return sorted(new for _, _, new in merges if encode(list(spelling[new]), ranks) != [new])
