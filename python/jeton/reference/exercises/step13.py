"""Exercises of step 13: the class.

**1.** Write `Tokenizer` again, with what you wrote for the earlier lessons, or with the lessons' functions:
`Tokenizer.train(text, vocab_size, pattern)` is a class method that returns a tokenizer (`pattern` is the name of a
pattern, or None: the text is not split), `encode(text)` returns ids, `decode(ids)` returns text, and `vocab_size` is a
property. Of pairs with equal counts, merge the pair that occurs first.

>>> tok = Tokenizer.train("abab abab", 258, None)
>>> tok.encode("ababab"), tok.decode([257, 97]), tok.vocab_size
([257, 256], 'ababa', 258)

**2.** A file must be validated when it is read. Write `load(text)` for files of this kind: a line `left right` for each
merge, whose new id is 256 for the first, 257 for the second and so on, and lines `special ID SPELLING`. It returns the
merges `(left, right, new)` and a dictionary from spelling to id. Raise a `ValueError` if a merge uses an id that is
neither a byte nor made by an earlier merge, or if a special token has the id of another token.

>>> load("97 98\\n256 99\\nspecial 300 <|end|>\\n")
([(97, 98, 256), (256, 99, 257)], {'<|end|>': 300})
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..step13_tokenizer import Tokenizer
from . import Case, Raises, Task

CORPUS = "old older fast faster fastest best better yes desk mess. It's 2026, it's 2027."


def use(tokenizer: Any, corpus: str, vocab_size: int, pattern: str | None, text: str) -> tuple[list[int], str, int]:
    """Train a tokenizer, then encode and decode a text; return the ids, the decoded text and `vocab_size`."""
    tok = tokenizer.train(corpus, vocab_size, pattern)
    ids = list(tok.encode(text))
    return ids, tok.decode(ids), tok.vocab_size


def tokenizers() -> Iterator[Case]:
    """Yield corpora, patterns, and texts to encode."""
    splits = (
        "split in `train` and in `encode` alike: no merge crosses a pretoken",
        "`train` 和 `encode` 都要先切分：合并不能跨越片段",
    )
    for corpus, vocab_size, pattern, text in (
        ("abab abab", 258, None, "ababab"),
        ("", 256, None, "小"),
        (CORPUS, 280, None, "oldest mess"),
        (CORPUS, 280, "gpt2", "oldest mess in 2026"),
        ("今天的天气很好，今天的风也很好。", 280, "gpt4", "今天 is good\n"),
        ("ab", 300, "gpt2", "ab"),
    ):
        yield Case((corpus, vocab_size, pattern, text), use(Tokenizer, corpus, vocab_size, pattern, text), splits)


def loading() -> Iterator[Case]:
    """Yield valid and invalid files."""
    future = ("a merge may use bytes and ids of earlier merges only", "合并只能使用字节和更早的合并产生的 ID")
    twice = ("this id belongs to a token already", "这个 ID 已经属于另一个词元")
    spaces = ("split the line twice at most: the spelling may hold spaces", "每行最多切两次：字符串里可能有空格")
    yield Case(("",), ([], {}))
    yield Case(("97 98\n256 99\nspecial 300 <|end|>\n",), ([(97, 98, 256), (256, 99, 257)], {"<|end|>": 300}))
    yield Case(("special 256 <|a b|>\n",), ([], {"<|a b|>": 256}), spaces)
    yield Case(("97 256\n",), Raises(ValueError), future)
    yield Case(("97 98\n97 257\n",), Raises(ValueError), future)
    yield Case(("-1 98\n",), Raises(ValueError), future)
    yield Case(("97 98\nspecial 256 <s>\n",), Raises(ValueError), twice)
    yield Case(("special 300 <s>\nspecial 300 <t>\n",), Raises(ValueError), twice)
    yield Case(
        ("ninety 98\n",), Raises(ValueError), ("`int` raises a ValueError itself", "`int` 本身会引发 ValueError")
    )


TASKS = (
    Task(
        "Tokenizer",
        tokenizers,
        (
            "encode each pretoken on its own, and join the lists",
            "逐个片段编码，再把列表连接起来",
        ),
        use,
    ),
    Task(
        "load",
        loading,
        (
            "keep the set of ids that are known so far, and compare each line with it",
            "记录到目前为止已有的 ID，每读一行都与之核对",
        ),
    ),
)
