r"""Exercise of step 14: the regex, row by row.

Which alternative of GPT-2's pattern matched? Write `which(text, name)`, for the name "gpt2" and ASCII texts. It returns
a list of `(alternative, pretoken)`. The alternatives are 1 the endings 's 't 're 've 'm 'll 'd · 2 an optional space
and letters · 3 an optional space and digits · 4 an optional space and other characters that are not white space · 5
white space that is not followed by another kind of character, `\s+(?!\S)` · 6 white space, `\s+`.

>>> which("I'm 20,  ok", "gpt2")
[(2, 'I'), (1, "'m"), (3, ' 20'), (4, ','), (5, ' '), (2, ' ok')]
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from . import Case, Task

PATTERN = re.compile(
    r"('s|'t|'re|'ve|'m|'ll|'d)|( ?[A-Za-z]+)|( ?[0-9]+)|( ?[^\sA-Za-z0-9]+)|(\s+(?!\S))|(\s+)", re.ASCII
)


def cases() -> Iterator[Case]:
    """Yield ASCII texts, with their pretokens and the number of the alternative that matches each pretoken."""
    rng = random.Random(14)
    fixed = ("", "I'm 20,  ok", "we'll\n\n  see  ", "a\tb", "'tis 'T", "x  ", " \n x")
    for text in (*fixed, *("".join(rng.choices("aZ5 \n\t'sm!", k=rng.randrange(12))) for _ in range(40))):
        yield Case((text, "gpt2"), [(match.lastindex, match[0]) for match in PATTERN.finditer(text)])


TASKS = (
    Task(
        "which",
        cases,
        (
            "give each alternative a group, and ask the match for `lastindex`",
            "给每个分支加一个分组，再看匹配的 `lastindex`",
        ),
    ),
)
