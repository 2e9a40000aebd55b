"""Exercise of step 21: WordPiece.

Write `encode_word(word, vocab)`, which encodes a word as BERT does: from the left, take the longest token of `vocab`
with which the rest of the word begins. Tokens inside a word are written with `##` in front. If at any point no token
fits, the whole word becomes `["[UNK]"]`.

>>> encode_word("hugs", {"hu", "##gs", "hug", "##s"}), encode_word("hugx", {"hug"})
(['hug', '##s'], ['[UNK]'])
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from . import Case, Task

INSIDE = (
    "the first token has no ##, all others must have it: `s` at the start is not `##s`",
    "第一个词元没有 ##，其余都必须有：词首的 `s` 不是 `##s`",
)
WHOLE = ("one gap makes all of the word [UNK], also what was found before", "只要有一处匹配不上，整个词就是 [UNK]")


def by_definition(word: str, vocab: set[str]) -> list[str]:
    """Encode a word as the algorithm is defined: repeatedly take the longest matching token."""
    found: list[str] = []
    mark = ""
    while word:
        fits = [token for token in vocab if (mark + word).startswith(token) and len(token) > len(mark)]
        fits = [token for token in fits if token.startswith("##") == bool(mark)]
        if not fits:
            return ["[UNK]"]
        found.append(max(fits, key=len))
        word = word[len(found[-1]) - len(mark) :]
        mark = "##"
    return found


def cases() -> Iterator[Case]:
    """Yield words of few letters."""
    for word, vocab, hint in (
        ("hugs", {"hu", "##gs", "hug", "##s"}, INSIDE),
        ("hugx", {"hug"}, WHOLE),
        ("ss", {"s"}, INSIDE),
        ("gs", {"##gs", "g", "##s"}, INSIDE),
        (
            "abc",
            {"ab", "a", "##bc"},
            ("greedy: after `ab` nothing fits, and it does not go back", "贪心：取 `ab` 之后匹配不上，也不回退"),
        ),
    ):
        yield Case((word, vocab), by_definition(word, vocab), hint)
    rng = random.Random(21)
    for _ in range(40):
        vocab = {rng.choice(["", "##"]) + "".join(rng.choices("ab", k=rng.randrange(1, 4))) for _ in range(8)}
        word = "".join(rng.choices("ab", k=rng.randrange(1, 8)))
        yield Case((word, vocab), by_definition(word, vocab), WHOLE)


TASKS = (Task("encode_word", cases, INSIDE),)
