"""An answer to the exercise of step 20: the algorithm of Viterbi."""


def viterbi(text: str, scores: dict[str, float]) -> tuple[float, list[str]]:
    """Find the segmentation with the highest score, position by position from the left."""
    best: list[tuple[float, int]] = [(0.0, 0)]  # for each position: the best score, and the start of the last piece
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
