"""An answer to the exercise of step 19."""


def fairseq_id(piece: str, pieces: list[str]) -> int:
    """Look up the id of a piece: named specials first, then the id of the model plus one."""
    special = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": len(pieces) + 1}
    if piece in special:
        return special[piece]
    return pieces.index(piece) + 1 if piece in pieces else special["<unk>"]
