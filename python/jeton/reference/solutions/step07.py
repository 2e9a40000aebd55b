"""An answer to the second exercise of step 7."""


def chat(messages: list[tuple[str, str]], special: dict[str, int]) -> list[int]:
    """Encode a conversation. Special tokens come only from this function, never from the messages."""
    ids: list[int] = []
    for role, content in messages:
        ids += [special["<|im_start|>"], *f"{role}\n{content}".encode(), special["<|im_end|>"], *b"\n"]
    return ids
