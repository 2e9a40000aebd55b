"""An answer to the exercise of step 22."""


def join(tokens: list[bytes], others: list[bytes]) -> tuple[list[bytes], list[int]]:
    """Append the tokens that the first vocabulary lacks, and find the new id of each of the second."""
    id_of = {token: id for id, token in enumerate(tokens)}
    new_ids = [id_of.setdefault(token, len(id_of)) for token in others]
    return list(id_of), new_ids
