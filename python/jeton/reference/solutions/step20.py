"""An answer to the exercise of step 20: the algorithm of Viterbi."""


def viterbi(text: str, scores: dict[str, float]) -> tuple[float, list[str]]:
    """Find the segmentation of the highest score, from left to right."""
    best: list[tuple[float, int]] = [(0.0, 0)]  # of each position: the best score, and where its last piece begins
    for end in range(1, len(text) + 1):
        starts = (start for start in range(end) if text[start:end] in scores)
        best.append(max((best[start][0] + scores[text[start:end]], start) for start in starts))
    pieces: list[str] = []
    end = len(text)
    while end:
        start = best[end][1]
        pieces.insert(0, text[start:end])
        end = start
    return best[-1][0], pieces
