"""An answer to the second exercise of step 1."""


def utf8(code_point: int) -> list[int]:
    """Compute the UTF-8 bytes of a code point."""
    if code_point <= 0x7F:
        return [code_point]
    rest: list[int] = []  # continuation bytes (10xxxxxx); the last one is computed first
    first, room = 0xC0, 0x20  # the first byte without code point bits, and how many values these bits can have
    while True:
        rest.insert(0, 0x80 | code_point & 0x3F)
        code_point >>= 6
        if code_point < room:
            return [first | code_point, *rest]
        first, room = first | room, room >> 1
