"""Step 9. Characters instead of bytes: an alphabet from the corpus, and characters that it lacks.

    python step09_characters.py                 also without Jeton
    python -m jeton.reference.step09_characters

Everything so far began with the 256 bytes. Training can also begin with characters. Then 天 is one id from the start
and needs no merges of its three bytes:

>>> learned = train_characters("今天天气好，今天天晴", vocab_size=9)
>>> [show(token) for token in learned.alphabet.values()]
["'天'", "'今'", "'气'", "'好'", "'，'", "'晴'"]
>>> [show(token) for token in learned.vocabulary().values()][6:]
["'今天'", "'今天天'", "'今天天气'"]

The ids of bytes are their values. Ids of characters need a rule, so that two trainings give the same ids: the most
frequent character is 0, the next is 1, and of equally frequent characters the first to appear has the lower id. Above,
天 occurs four times, 今 twice, and the others once, in the order of the sentence. Merges get the next ids.
(Training itself does not change: `train` of step 4 does not depend on the meaning of its initial ids.)

**Cost.** China's list of commonly used characters has 3,500, its standard list 8,105, and Unicode has more than 150,000
characters. Each takes an id before the first merge, and a vocabulary cannot be smaller than its alphabet:

>>> train_characters("今天天气好，今天天晴", vocab_size=5)
Traceback (most recent call last):
    ...
ValueError: vocab_size is 5, but the alphabet alone has 6 characters

**Unknown characters.** A user writes 的 or 冬, which the corpus does not contain. Byte-level tokens can spell them,
character-level tokens cannot. A program that just looks them up fails with `KeyError: '的'`, without a position. A
better error names the position:

>>> to_ids("今天的冬天", learned.alphabet)
Traceback (most recent call last):
    ...
ValueError: character '的' (U+7684) at index 2 is not in the alphabet; pass unk= to accept unknown characters

The alternative is to encode each such character as the *unknown token*, a special token with its own id. The program
continues, but the character is lost: the id does not tell which one it was.

>>> to_ids("今天的冬天", learned.alphabet, unk=9)
[1, 0, 9, 9, 0]
>>> ids = encode(to_ids("今天的冬天", learned.alphabet, unk=9), ranks(learned.merges))
>>> decode(ids, {9: b"<unk>"} | learned.vocabulary())
'今天<unk><unk>天'

Watch it (needs `pip install "jeton[play]"`): while `jeton play --port 7777` runs, this address trains on characters.

    http://127.0.0.1:7777/#view=train&text=今天的天气很好，明天的天气不好。&level=char&ties=first&size:=16

Left out: *byte fallback*, which spells an unknown character by its bytes and needs 256 more tokens (steps 18 and 19).
Next: step18_sentencepiece.py.

Source: 现代汉语常用字表 (1988), 3,500 characters; 通用规范汉字表 (2013), 8,105.

**With Jeton.** `level="char"` trains on characters and gives them ids by the same rule; `unk_token=` adds an unknown
token as the last id. Without it, an unknown character is an error:

    tok = jeton.train(
        [text], 10, level="char", pattern="none", tie_break="first", min_frequency=1, unk_token="<unk>", progress=False
    )

    $ jeton train corpus.txt -o tok.json -s 10 --level char --pattern none --tie-break first --unk-token '<unk>' -q
    $ jeton encode -t tok.json 今天的冬天
    6 9 9 0
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

if not __package__:  # run as a file: `python step09_characters.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step01_levels import show
from .step03_merge import Merge, vocabulary
from .step04_train import train
from .step05_encode import encode, ranks
from .step06_decode import decode


class Learned(NamedTuple):
    """Result of training with an alphabet from the corpus."""

    alphabet: dict[int, bytes]  # id -> spelling
    merges: list[Merge]

    def vocabulary(self) -> dict[int, bytes]:
        """Map every id to its bytes.

        Examples:
            >>> Learned({0: b"a", 1: b"b"}, [Merge(0, 1, 2)]).vocabulary()
            {0: b'a', 1: b'b', 2: b'ab'}
        """
        return vocabulary(self.alphabet, self.merges)


def alphabet(words: Iterable[Sequence[str]], weights: Iterable[int]) -> dict[int, bytes]:
    """Give the letters of `words` ids from 0, by falling count; if counts are equal, by first appearance.

    A letter is an item of a word: one character here; in step 10, a character or an end-of-word mark.

    Examples:
        >>> alphabet(["ab", "bc"], [1, 1])
        {0: b'b', 1: b'a', 2: b'c'}
        >>> alphabet(["ab", "bc"], [1, 5])
        {0: b'b', 1: b'c', 2: b'a'}
    """
    counts: Counter[str] = Counter()
    for word, weight in zip(words, weights, strict=True):
        for letter in word:
            counts[letter] += weight
    # sorting is stable, so equal counts stay in order of first appearance
    ordered = sorted(counts, key=lambda letter: -counts[letter])
    return {id: letter.encode("utf-8") for id, letter in enumerate(ordered)}


def character_alphabet(word_counts: Mapping[str, int]) -> dict[int, bytes]:
    """Give each character of a corpus an id. `word_counts` maps the texts of the corpus, in their order, to counts.

    Examples:
        >>> character_alphabet({"low": 5, "lower": 2})
        {0: b'l', 1: b'o', 2: b'w', 3: b'e', 4: b'r'}
    """
    return alphabet(word_counts, word_counts.values())


def to_ids(text: Iterable[str], strings: Mapping[int, bytes], unk: int | None = None) -> list[int]:
    """Look up each character of a text, or each letter of a list.

    Raises:
        ValueError: If a character is not in the alphabet and `unk` is None; the message has its position.

    Examples:
        >>> to_ids("abba", {0: b"b", 1: b"a"})
        [1, 0, 0, 1]
    """
    id_of = {spelling: id for id, spelling in strings.items()}
    ids: list[int] = []
    for index, letter in enumerate(text):
        id = id_of.get(letter.encode("utf-8"), unk)
        if id is None:
            name = f"character {letter!r} (U+{ord(letter):04X})" if len(letter) == 1 else repr(letter)
            raise ValueError(f"{name} at index {index} is not in the alphabet; pass unk= to accept unknown characters")
        ids.append(id)
    return ids


def train_characters(
    text: str | Iterable[str] | Mapping[str, int],
    vocab_size: int,
    *,
    tie_break: str = "first",
    min_frequency: int = 1,
) -> Learned:
    """Train on the characters of a text, of documents, or of texts with their counts.

    Raises:
        ValueError: If the alphabet alone is larger than `vocab_size`.

    Examples:
        >>> train_characters("abab", 3)
        Learned(alphabet={0: b'a', 1: b'b'}, merges=[Merge(left=0, right=1, new=2, count=2)])
    """
    if isinstance(text, str):
        text = [text]
    counts = text if isinstance(text, Mapping) else Counter(text)
    strings = character_alphabet(counts)
    if vocab_size < len(strings):
        raise ValueError(f"vocab_size is {vocab_size}, but the alphabet alone has {len(strings)} characters")
    sequences = [to_ids(doc, strings) for doc in counts]
    room = vocab_size - len(strings)
    weights = list(counts.values())
    return Learned(strings, train(sequences, weights, strings, room, tie_break=tie_break, min_frequency=min_frequency))


def main() -> None:
    """Train on the same sentences by characters, and show the handling of an unknown character."""
    learned = train_characters("the old man told the old tale. 今天的天气，明天的天气。", 30)
    spelling = learned.vocabulary()
    for id, token in spelling.items():
        print(id, show(token), "" if id in learned.alphabet else "merged")
    text = "the cold 冬天"
    for unk in (len(spelling), None):
        try:
            ids = encode(to_ids(text, learned.alphabet, unk), ranks(learned.merges))
            print(text, "->", ids, "->", decode(ids, {**spelling, len(spelling): b"<unk>"}))
        except ValueError as error:
            print(error)


def beside_jeton() -> None:
    """Train on characters with Jeton, and encode unknown characters as the id of an unknown token."""
    import jeton

    text, unseen = "今天天气好，今天天晴", "今天的冬天"
    learned = train_characters(text, vocab_size=9)
    ids = encode(to_ids(unseen, learned.alphabet, unk=9), ranks(learned.merges))
    tok = jeton.train(
        [text], 10, level="char", pattern="none", tie_break="first", min_frequency=1, unk_token="<unk>", progress=False
    )
    assert dict(tok.vocab) == learned.vocabulary() | {9: b"<unk>"}
    assert tok.merges == tuple((left, right, new) for left, right, new, _ in learned.merges)
    assert tok.encode(unseen) == ids
    print("jeton:", unseen, ids, tok.decode(ids))
    with TemporaryDirectory() as folder, chdir(folder):
        Path("corpus.txt").write_text(text, encoding="utf-8")
        jeton_command(
            "jeton train corpus.txt -o tok.json -s 10 --level char --pattern none "
            "--tie-break first --unk-token '<unk>' -q"
        )
        printed = jeton_command("jeton encode -t tok.json 今天的冬天")
    assert list(map(int, printed.split())) == ids


if __name__ == "__main__":
    main()
    with_jeton(beside_jeton)
