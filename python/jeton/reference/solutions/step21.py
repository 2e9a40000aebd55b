"""An answer to the exercise of step 21."""


def encode_word(word: str, vocab: set[str]) -> list[str]:
    """Take the longest token from the left, repeatedly."""
    tokens: list[str] = []
    start = 0
    while start < len(word):
        for end in range(len(word), start, -1):
            token = ("##" if start else "") + word[start:end]
            if token in vocab:
                tokens.append(token)
                start = end
                break
        else:
            return ["[UNK]"]
    return tokens
