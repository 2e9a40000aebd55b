"""An answer to the exercise of step 18."""


def pieces(text: str, scores: dict[str, float]) -> list[str]:
    """Join the neighbors with the highest score, the leftmost of equals, as long as there are any."""
    symbols = list(text)
    while True:
        best: tuple[float, int] | None = None
        for at in range(len(symbols) - 1):
            score = scores.get(symbols[at] + symbols[at + 1])
            if score is not None and (best is None or score > best[0]):
                best = score, at
        if best is None:
            return symbols
        at = best[1]
        symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]
