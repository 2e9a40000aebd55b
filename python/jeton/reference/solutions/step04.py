"""An answer to the second exercise of step 4."""

from jeton.reference.step02_pairs import count_pairs, most_frequent
from jeton.reference.step03_merge import merge


def tied(text: str, num_merges: int) -> list[int]:
    """Count the pairs that share the highest count, in each round of training."""
    ids, found = list(text.encode("utf-8")), []
    for new in range(256, 256 + num_merges):
        counts = count_pairs([ids])
        if not counts:
            break
        highest = max(counts.values())
        found.append(sum(count == highest for count in counts.values()))
        ids = merge(ids, most_frequent(counts), new)
    return found
