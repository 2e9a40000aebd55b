"""An answer to the exercise of step 20: the algorithm of Viterbi."""


def best(word: str, scores: dict[str, float]) -> tuple[list[str], float] | None:
    """Find the segmentation of the highest score, from left to right."""
    ends: list[tuple[float, int] | None] = [(0.0, 0)]  # of each position: best score, and where its last piece begins
    for end in range(1, len(word) + 1):
        found = [
            (before[0] + scores[word[start:end]], start)
            for start in range(end)
            if (before := ends[start]) is not None and word[start:end] in scores
        ]
        ends.append(max(found, default=None))
    last = ends[-1]
    if last is None:
        return None
    pieces: list[str] = []
    end = len(word)
    while end and (back := ends[end]):
        pieces.insert(0, word[back[1] : end])
        end = back[1]
    return pieces, last[0]
