r"""Step 23. Ten questions about language models, answered by their tokens.

    python step23_questions.py [FOLDER]    also without Jeton
    python -m jeton.reference.step23_questions [FOLDER]

Why is a model bad at some tasks and expensive for others? Very often because it reads ids, not letters. Each of the ten
questions below is answered by the output of a program. The figures are those of three published vocabularies, `r50k`
(GPT-2, GPT-3), `cl100k` (GPT-4) and `o200k` (GPT-4o): the tokens of a text with `|` between them, and their ids. To
print these figures, pass a folder with the rank files, `r50k_base.tiktoken` and so on, such as Jeton's cache. Without a
folder, the lesson says so and uses a small vocabulary of 321 tokens, which it trains on a story, receipts and a log.

**1. Why is arithmetic hard?** Where a number is cut depends on what was frequent in the corpus. In `6|77` and `8|04`
the first token is the hundreds, but `127` is a single token. The small vocabulary makes the same cuts as GPT-2:

>>> tokens(small(), "127 + 677 = 804")
'127| +| 6|77| =| 8|04   258 288 289 286 290 291 287'

    127 + 677 = 804          r50k    127| +| 6|77| =| 8|04   16799 1343 718 3324 796 807 3023
                             cl100k  127| +| |677| =| |804   6804 489 220 24375 284 220 20417
                             o200k   127| +| |677| =| |804   12807 659 220 45835 314 220 39526
    numbers of 4 digits      r50k    2+2 5,807, 1+3 2,538, 3+1 538, 4 88, 1+2+1 29
                             cl100k  3+1 9,000
                             o200k   3+1 9,000

Of the 9,000 numbers from 1000 to 9999, GPT-2 has 88 as single tokens, and splits the others in four ways. Later
patterns cut numbers into groups of three digits, but from the left: `677|3` plus `127|5` does not align by place value.
Groups from the right would align (`Rules(digits_from_right=True)` in Jeton), and so would single digits.

**2. Why does Chinese cost more than English?** Prices and context windows count tokens. A vocabulary has tokens for
what was frequent in its corpus, and GPT-2's corpus was English. The same sentence in both languages:

    81 characters, English   r50k    17 tokens
                             cl100k  17 tokens
                             o200k   17 tokens
    21 characters, Chinese   r50k    31 tokens
                             cl100k  16 tokens
                             o200k   12 tokens

Each generation is better; `o200k`, trained on more languages, needs fewer tokens for this sentence than for the English
one. This sentence has only frequent characters; other characters cost GPT-2 two or three tokens each.

**3. Why can it not spell?** Because a model sees no letters in a token. In `cl100k`, `.DefaultCellStyle`, a name from
user interfaces, is the id 98518, and this number does not show that the name has four l's. `strawberry` has three
tokens, and its three r's are distributed over them. With spaces between the letters, each letter is a token that can be
counted:

    .DefaultCellStyle        r50k    .|Default|Cell|Style   13 19463 28780 21466
                             cl100k  .DefaultCellStyle   98518
                             o200k   .Default|Cell|Style   23873 5346 3977
    strawberry               r50k    st|raw|berry   301 1831 8396
                             cl100k  str|aw|berry   496 675 15717
                             o200k   st|raw|berry   302 1618 19772
    s t r a w                r50k    s| t| r| a| w   82 256 374 257 266
                             cl100k  s| t| r| a| w   82 259 436 264 289
                             o200k   s| t| r| a| w   82 260 428 261 286

**4. Why do capitals change the answer?** `egg`, `Egg` and `EGG` share no token. The model must learn from text that
they mean the same, for each word:

>>> tokens(small(), "egg"), tokens(small(), "Egg"), tokens(small(), "EGG")
('egg   261', 'E|g|g   69 103 103', 'E|G|G   69 71 71')

    egg                      r50k    egg   33856
                             cl100k  egg   29468
                             o200k   egg   72126
    Egg                      r50k    E|gg   36 1130
                             cl100k  E|gg   36 14736
                             o200k   Egg   109379
    EGG                      r50k    EG|G   7156 38
                             cl100k  EG|G   9560 38
                             o200k   EG|G   21389 38

**5. Why was GPT-2 bad at Python?** Each space of an indentation is a separate token (step 8). Six lines of code take
almost twice as many tokens as later, so only half as much code fits into the context:

    six lines of code        r50k    64 tokens
                             cl100k  35 tokens
                             o200k   35 tokens

**6. Why YAML rather than JSON?** Quotation marks, braces and indentation are tokens, too. The same data in three
formats:

    JSON                     r50k    202 tokens
                             cl100k  83 tokens
                             o200k   83 tokens
    compact JSON             r50k    47 tokens
                             cl100k  42 tokens
                             o200k   43 tokens
    YAML                     r50k    53 tokens
                             cl100k  49 tokens
                             o200k   49 tokens

So YAML is much shorter than indented JSON, and here slightly longer than JSON without white space. Count before you
choose.

**7. Why not end a prompt in a space?** In text, the space belongs to the token of the next word, ` there`. A space at
the end of a prompt is a separate token, 220. After this token the model would have to write `there` without a space,
which it has rarely seen:

>>> tokens(small(), "a time "), tokens(small(), "a time there")
('a| time|    97 309 32', 'a| time| there   97 309 312')

    “a time”                 r50k    a| time   64 640
                             cl100k  a| time   64 892
                             o200k   a| time   64 1058
    “a time ”                r50k    a| time|    64 640 220
                             cl100k  a| time|    64 892 220
                             o200k   a| time|    64 1058 220
    “a time there”           r50k    a| time| there   64 640 612
                             cl100k  a| time| there   64 892 1070
                             o200k   a| time| there   64 1058 1354

**8. Why did one name break GPT-2?** ` SolidGoldMagikarp` is one token, 43453. It is the name of a forum user, whose
very many messages were in the corpus of the tokenizer, but hardly in the corpus of the model. So the row of this id was
hardly trained (step 12), and models answered nonsense when asked to repeat the name. Later vocabularies, trained on
other text, split the name. In the small vocabulary it is one token, too, because of the log in its corpus:

>>> tokens(small(), " SolidGoldMagikarp")
' SolidGoldMagikarp   278'

    “ SolidGoldMagikarp”     r50k     SolidGoldMagikarp   43453
                             cl100k   Solid|Gold|Mag|ik|arp   22925 26509 34015 1609 8035
                             o200k    Solid|Gold|Mag|ik|arp   35764 30717 20101 507 11784

**9. What does <|endoftext|> do in a text?** As plain text it is seven ordinary tokens. If the program permits special
tokens in what users write, it is one id, and for the model the document ends there (step 7):

>>> tokens(small(), "<|endoftext|>")[:27], permitted(small(), "<|endoftext|>")
('<|||e|n|d|o|f|t|e|x|t|||>  ', '320')

    as text                  r50k    <|||end|of|text|||>   27 91 437 1659 5239 91 29
                             cl100k  <|||endo|ft|ext|||>   27 91 8862 728 428 91 29
                             o200k   <|||end|of|text|||>   27 91 419 1440 919 91 29
    permitted                r50k    50256
                             cl100k  100257
                             o200k   199999

**10. Why is 9.11 larger than 9.8?** Both begin with the tokens `9` and `.`. The third token is that of 11 or of 8, and
in whole numbers, dates and versions, 11 comes after 8. With equally many digits, as in 9.80, the tokens align:

    9.11                     r50k    9|.|11   24 13 1157
                             cl100k  9|.|11   24 13 806
                             o200k   9|.|11   24 13 994
    9.8                      r50k    9|.|8   24 13 23
                             cl100k  9|.|8   24 13 23
                             o200k   9|.|8   24 13 23
    9.80                     r50k    9|.|80   24 13 1795
                             cl100k  9|.|80   24 13 1490
                             o200k   9|.|80   24 13 2241

This shows where the difficulty is. Whether a model overcomes it depends on its training.

**With Jeton.** Jeton's small vocabulary, and the published ones if you pass a folder, encode all these texts to the
same ids:

    tok = jeton.train(
        [CORPUS], vocab_size=321, level="byte", pattern="gpt2", tie_break="first", special_tokens=[END], progress=False
    )
    tok.encode("127 + 677 = 804")
    tok.encode("<|endoftext|>", special="none")
    tok.encode("<|endoftext|>", special="all")

    $ jeton train corpus.txt -o small.json -s 321 --level byte --pattern gpt2 --tie-break first \
          --special-token '<|endoftext|>' -q
    $ jeton encode -t small.json '127 + 677 = 804'
    $ jeton encode -t small.json --special none '<|endoftext|>'
    $ jeton encode -t small.json --special all '<|endoftext|>'

See them in color (needs `pip install "jeton[play]"`): while `jeton play --port 7777` runs, this address shows most of
these questions.

    http://127.0.0.1:7777/#view=classics

Next: step24_errata.py.

Source: the questions are those of Andrej Karpathy's lecture "Let's build the GPT Tokenizer" (2024); glitch tokens:
Rumbelow and Watkins 2023, and Land and Bartolo 2024. Rank files: openai/tiktoken (tiktoken_ext/openai_public.py).
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

if not __package__:  # run as a file: `python step23_questions.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step01_levels import BYTES
from .step03_merge import vocabulary
from .step04_train import train_bytes
from .step05_encode import encode_by_rank
from .step07_special import cut
from .step08_split import split
from .step15_gpt4 import read_ranks

END = "<|endoftext|>"
CHINESE = "上一版本的作者不会使用中文版本，我也不能。"
ENGLISH = "The author of the last version cannot use the Chinese version, and neither can I."
CODE = (
    "def mean(numbers):\n    total = 0\n    for number in numbers:\n        if number is not None:\n"
    "            total += number\n    return total / len(numbers)\n"
)
ITEMS = [{"item": "flour", "grams": 250}, {"item": "sugar", "grams": 180}, {"item": "butter", "grams": 120}]
CAKE = {"name": "lemon cake", "serves": 8, "ingredients": ITEMS}
JSON = json.dumps(CAKE, indent=4) + "\n"
COMPACT = json.dumps(CAKE, separators=(",", ":")) + "\n"
YAML = "name: lemon cake\nserves: 8\ningredients:\n" + "".join(
    f"  - item: {each['item']}\n    grams: {each['grams']}\n" for each in ITEMS
)
# The corpus of the small vocabulary: a story, receipts, and a log in which one name is frequent
CORPUS = (
    "once upon a time there was an egg. a berry and a straw, strawberry, a straw: once upon a time there was a "
    "strawberry.\n" + "egg/77/04\n127 + 6 = 8\n" * 8 + "user: SolidGoldMagikarp count: 127\n" * 9
)


class Vocabulary(NamedTuple):
    """Vocabulary: ranks of tokens, the pattern that splits texts, and special tokens."""

    name: str
    rank_of: Mapping[bytes, int]  # bytes of a token -> its rank, which is also its id
    pattern: str  # the name of a pattern in step 8
    special: Mapping[str, int]
    path: Path | None = None  # the rank file from which it was read


def published(folder: Path) -> list[Vocabulary]:
    """Read the vocabularies of GPT-2, GPT-4 and GPT-4o, if their rank files are in the folder.

    Raises:
        FileNotFoundError: If none of the rank files is there.

    Examples:
        >>> published(Path("no-such-folder"))
        Traceback (most recent call last):
            ...
        FileNotFoundError: no-such-folder has no r50k_base.tiktoken, cl100k_base.tiktoken or o200k_base.tiktoken
    """
    found = []
    for name, pattern, end in (("r50k", "gpt2", 50256), ("cl100k", "cl100k", 100257), ("o200k", "o200k", 199999)):
        for path in sorted(folder.glob(f"{name}_base*.tiktoken"))[:1]:  # in Jeton's cache, a hash follows the name
            found.append(Vocabulary(name, read_ranks(path.read_bytes()), pattern, {END: end}, path))
    if not found:
        raise FileNotFoundError(f"{folder} has no r50k_base.tiktoken, cl100k_base.tiktoken or o200k_base.tiktoken")
    return found


@cache
def small() -> Vocabulary:
    """Train the small vocabulary: 256 bytes and 64 merges.

    Examples:
        >>> small().special
        {'<|endoftext|>': 320}
    """
    merges = train_bytes(CORPUS, 320, split=partial(split, pattern="gpt2"))
    return Vocabulary("small", {token: id for id, token in vocabulary(BYTES, merges).items()}, "gpt2", {END: 320})


def encode(vocab: Vocabulary, text: str, permit: str = "none") -> list[int]:
    """Turn text into ids.

    Examples:
        >>> encode(small(), "egg"), encode(small(), "<|endoftext|>", permit="all")
        ([261], [320])
    """
    ids: list[int] = []
    for piece in cut(text, vocab.special, permit):
        if isinstance(piece, int):
            ids.append(piece)
        else:
            for pretoken in split(piece, vocab.pattern):
                ids += encode_by_rank(pretoken.encode("utf-8"), vocab.rank_of)
    return ids


def tokens(vocab: Vocabulary, text: str) -> str:
    """Show the tokens of a text, with `|` between them, and their ids.

    Examples:
        >>> tokens(small(), "an Egg")
        'a|n| |E|g|g   97 110 32 69 103 103'
    """
    spelling = {id: token for token, id in vocab.rank_of.items()}
    ids = encode(vocab, text)
    return f"{'|'.join(spelling[id].decode('utf-8', 'replace') for id in ids)}   {' '.join(map(str, ids))}"


def count(vocab: Vocabulary, text: str) -> str:
    """Count the tokens of a text.

    Examples:
        >>> count(small(), "an Egg")
        '6 tokens'
    """
    return f"{len(encode(vocab, text))} tokens"


def permitted(vocab: Vocabulary, text: str) -> str:
    """Show the ids of a text whose special tokens are permitted.

    Examples:
        >>> permitted(small(), "a<|endoftext|>")
        '97 320'
    """
    return " ".join(map(str, encode(vocab, text, permit="all")))


def digits(vocab: Vocabulary) -> str:
    """Count how the 9,000 numbers of four digits are split: `1+3` means a token of one digit, then one of three.

    Examples:
        >>> digits(small())
        '1+1+1+1 8,284, 1+1+2 256, 1+2+1 251, 2+1+1 185, 3+1 10, 1+3 9, 2+2 5'
    """
    length = {id: len(token) for token, id in vocab.rank_of.items()}
    splits = Counter("+".join(str(length[id]) for id in encode(vocab, str(n))) for n in range(1000, 10_000))
    return ", ".join(f"{split} {number:,}" for split, number in splits.most_common())


Answer = Callable[[Vocabulary], str]
QUESTIONS: dict[str, dict[str, Answer]] = {  # question -> label -> answer
    "1. Why is arithmetic hard?": {
        "127 + 677 = 804": partial(tokens, text="127 + 677 = 804"),
        "numbers of 4 digits": digits,
    },
    "2. Why does Chinese cost more than English?": {
        f"{len(ENGLISH)} characters, English": partial(count, text=ENGLISH),
        f"{len(CHINESE)} characters, Chinese": partial(count, text=CHINESE),
    },
    "3. Why can it not spell?": {
        text: partial(tokens, text=text) for text in (".DefaultCellStyle", "strawberry", "s t r a w")
    },
    "4. Why do capitals change the answer?": {text: partial(tokens, text=text) for text in ("egg", "Egg", "EGG")},
    "5. Why was GPT-2 bad at Python?": {"six lines of code": partial(count, text=CODE)},
    "6. Why YAML rather than JSON?": {
        "JSON": partial(count, text=JSON),
        "compact JSON": partial(count, text=COMPACT),
        "YAML": partial(count, text=YAML),
    },
    "7. Why not end a prompt in a space?": {
        f"“{text}”": partial(tokens, text=text) for text in ("a time", "a time ", "a time there")
    },
    "8. Why did one name break GPT-2?": {"“ SolidGoldMagikarp”": partial(tokens, text=" SolidGoldMagikarp")},
    "9. What does <|endoftext|> do in a text?": {
        "as text": partial(tokens, text=END),
        "permitted": partial(permitted, text=END),
    },
    "10. Why is 9.11 larger than 9.8?": {text: partial(tokens, text=text) for text in ("9.11", "9.8", "9.80")},
}


def report(vocabs: Sequence[Vocabulary]) -> Iterator[str]:
    """Yield the output that answers the ten questions, line by line.

    Examples:
        >>> [line for line in report([small()]) if "egg" in line]
        ['  egg                      small   egg   261']
    """
    for question, answers in QUESTIONS.items():
        yield question
        for label, answer in answers.items():
            for vocab in vocabs:
                yield f"  {label if vocab is vocabs[0] else '':<24} {vocab.name:<7} {answer(vocab)}"


def main(folder: str = "") -> None:
    """Answer the questions for the vocabularies in a folder, or for the small vocabulary."""
    if not folder:
        print("No folder with r50k_base.tiktoken and others is named, so this is a small vocabulary of 321 tokens:")
    print(*report(published(Path(folder)) if folder else [small()]), sep="\n")


def beside_jeton(folder: str = "") -> None:
    """Encode all texts of the questions with Jeton."""
    import jeton

    tok = jeton.train(
        [CORPUS], vocab_size=321, level="byte", pattern="gpt2", tie_break="first", special_tokens=[END], progress=False
    )
    sums, as_text, as_end = encode(small(), "127 + 677 = 804"), encode(small(), END), encode(small(), END, "all")
    assert tok.encode("127 + 677 = 804") == sums
    assert tok.encode("<|endoftext|>", special="none") == as_text
    assert tok.encode("<|endoftext|>", special="all") == as_end
    answers = [answer for by_label in QUESTIONS.values() for answer in by_label.values()]
    texts = [answer.keywords["text"] for answer in answers if isinstance(answer, partial)]
    for vocab in [small(), *(published(Path(folder)) if folder else [])]:
        theirs = jeton.load(vocab.path) if vocab.path else tok
        assert [theirs.encode(text) for text in texts] == [encode(vocab, text) for text in texts]
        print(f"jeton, {vocab.name}: the same ids of {len(texts)} texts")
    with tempfile.TemporaryDirectory() as work, contextlib.chdir(work):
        Path("corpus.txt").write_text(CORPUS, encoding="utf-8")
        jeton_command(
            "jeton train corpus.txt -o small.json -s 321 --level byte --pattern gpt2 --tie-break first"
            " --special-token '<|endoftext|>' -q"
        )
        assert jeton_command("jeton encode -t small.json '127 + 677 = 804'").split() == [str(id) for id in sums]
        printed = jeton_command("jeton encode -t small.json --special none '<|endoftext|>'")
        assert printed.split() == [str(id) for id in as_text]
        assert jeton_command("jeton encode -t small.json --special all '<|endoftext|>'").split() == [str(as_end[0])]


if __name__ == "__main__":
    main(*sys.argv[1:2])
    with_jeton(partial(beside_jeton, *sys.argv[1:2]))
