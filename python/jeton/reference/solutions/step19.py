"""Answers to the exercises of step 19."""


def one_char_len(first: int) -> int:
    """Read the length of a character from its first byte."""
    return 4 if first >= 0xF0 else 3 if first >= 0xE0 else 2 if first >= 0xC0 else 1


def fairseq_id(piece: str, pieces: list[str]) -> int:
    """Look up the id of a piece: first among the special tokens, else its id in the model plus one."""
    special = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": len(pieces) + 1}
    if piece in special:
        return special[piece]
    return pieces.index(piece) + 1 if piece in pieces else special["<unk>"]
