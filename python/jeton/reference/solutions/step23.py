"""An answer to the exercise of step 23."""


def variants(word: str, tokens: list[bytes]) -> list[bytes]:
    """Find the tokens that spell a word in any capitals, with a space in front or without."""
    found: list[bytes] = []
    for token in tokens:
        try:
            text = token.decode("utf-8")
        except UnicodeDecodeError:
            continue
        if text.removeprefix(" ").lower() == word.lower():
            found.append(token)
    return found
