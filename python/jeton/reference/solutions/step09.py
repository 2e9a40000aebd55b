"""An answer to the second exercise of step 9."""


def with_fallback(text: str, strings: dict[int, bytes], first: int) -> list[int]:
    """Look up characters; an unknown character becomes the ids of its bytes."""
    id_of = {spelling: id for id, spelling in strings.items()}
    ids: list[int] = []
    for character in text:
        spelling = character.encode("utf-8")
        ids += [id_of[spelling]] if spelling in id_of else [first + byte for byte in spelling]
    return ids
