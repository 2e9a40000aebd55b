"""Step 1. The same text at three levels: bytes, characters, words.

    python step01_levels.py                 also without Jeton
    python -m jeton.reference.step01_levels

A language model does not read text. It reads a list of whole numbers, the *ids*, and a tokenizer is the program
that turns text into ids and ids back into text. So the first question is: which unit of text should one number
represent? There are three obvious answers, and all methods in these lessons are compromises between them.

**Bytes.** Text in a computer is already a list of numbers: its UTF-8 bytes, each from 0 to 255. A letter of English
takes one byte. Most Chinese characters take three, rare ones such as 𠮷 take four.

>>> list("cat".encode("utf-8"))
[99, 97, 116]
>>> list("小".encode("utf-8"))
[229, 176, 143]
>>> [len(character.encode("utf-8")) for character in "aé小𠮷"]
[1, 2, 3, 4]

Only 256 numbers are needed, and they can spell every text in the world. But the lists are long, and a single number
means almost nothing: 229 is the first byte of 小 (`e5 b0 8f`), of 冬 (`e5 86 ac`) and of four thousand others.

**Characters.** One number for each character gives lists a third as long for Chinese. The price is a larger table, with
a number for each character of the training text. A character that is not in the table has no number.

**Words.** One number for each word gives the shortest lists, and numbers that mean something. But English has
hundreds of thousands of words, `fast`, `faster` and `fastest` become three unrelated ids, a misspelling is unknown, and
Chinese does not put spaces between words at all, so a rule that looks for spaces finds one "word" in a sentence.

>>> levels("the cat sat").sizes()
{'bytes': 11, 'characters': 11, 'words': 3}
>>> levels("今天的天气").sizes()
{'bytes': 15, 'characters': 5, 'words': 1}

The usual answer is to start small, with bytes or characters, and to let a program count which neighbors often occur
together, and join them. A frequent word becomes one token, a rare word is spelled with several tokens. With bytes, no
text is ever unknown; with characters, a character that the training text lacks is unknown (step 9). The method is
called byte pair encoding, BPE for short, and steps 2 to 6 build it.

This step leaves out how the pieces are found. Next: step02_pairs.py.

**With Jeton.** A vocabulary without merges shows the levels. `beside_jeton` trains it at byte level and at character
level, and compares the results with `levels`; the command line encodes the same text:

    by_byte = jeton.train([text], 256, level="byte", pattern="none", progress=False)
    by_character = jeton.train([text], 5, level="char", pattern="none", progress=False)

    $ jeton encode -t bytes.json '小 cat'
    229 176 143 32 99 97 116
"""

from __future__ import annotations

from contextlib import chdir
from tempfile import TemporaryDirectory
from typing import NamedTuple

if not __package__:  # run as a file: `python step01_levels.py`
    __import__("running")

from .running import jeton_command, with_jeton

BYTES: dict[int, bytes] = {i: bytes([i]) for i in range(256)}  # id -> spelling, at byte level


class Levels(NamedTuple):
    """A text as bytes, as characters and as words."""

    bytes: list[int]
    characters: list[str]
    words: list[str]

    def sizes(self) -> dict[str, int]:
        """Count the items of each level.

        Examples:
            >>> levels("old oldest").sizes()
            {'bytes': 10, 'characters': 10, 'words': 2}
        """
        return {"bytes": len(self.bytes), "characters": len(self.characters), "words": len(self.words)}


def levels(text: str) -> Levels:
    """Cut `text` into bytes, into characters, and into words at white space.

    A character here is a Unicode code point, the unit of Python's `str`. What a reader sees as one character can
    consist of several code points: the family emoji below is three people, joined by two invisible joiners.

    Examples:
        >>> levels("小 cat").bytes
        [229, 176, 143, 32, 99, 97, 116]
        >>> levels("小 cat").characters
        ['小', ' ', 'c', 'a', 't']
        >>> levels("小 cat").words
        ['小', 'cat']
        >>> levels("👨‍👩‍👧").sizes()
        {'bytes': 18, 'characters': 5, 'words': 1}
    """
    return Levels(list(text.encode("utf-8")), list(text), text.split())


def show(spelling: bytes) -> str:
    r"""Spell a token for the screen: as text if its bytes are valid UTF-8, else as a bytes literal.

    In these lessons a token is always stored as bytes, because it can be a part of a character. The three bytes of 小
    are text; the first two of them are not, and a program that decodes these as text crashes.

    Examples:
        >>> show(b"cat"), show("小".encode())
        ("'cat'", "'小'")
        >>> print(show(b"\xe5\xb0"))
        b'\xe5\xb0'
    """
    try:
        return repr(spelling.decode("utf-8"))
    except UnicodeDecodeError:
        return repr(spelling)


def main() -> None:
    """Print the same sentence at three levels, in English and in Chinese."""
    for text in ("The weather is fine today", "今天的天气很好"):
        cut = levels(text)
        print(text)
        print("  bytes     ", len(cut.bytes), cut.bytes)
        print("  characters", len(cut.characters), cut.characters)
        print("  words     ", len(cut.words), cut.words)


def beside_jeton() -> None:
    """Encode a text with Jeton at byte level and at character level, with vocabularies that have no merges."""
    import jeton

    text = "小 cat"
    by_byte = jeton.train([text], 256, level="byte", pattern="none", progress=False)
    by_character = jeton.train([text], 5, level="char", pattern="none", progress=False)
    assert by_byte.encode(text) == levels(text).bytes
    characters = [by_character.decode([id]) for id in by_character.encode(text)]
    assert characters == levels(text).characters
    print("jeton, bytes:     ", by_byte.encode(text))
    print("jeton, characters:", characters)
    with TemporaryDirectory() as folder, chdir(folder):
        by_byte.save("bytes.json")
        printed = jeton_command("jeton encode -t bytes.json '小 cat'")
    assert list(map(int, printed.split())) == levels(text).bytes


if __name__ == "__main__":
    main()
    with_jeton(beside_jeton)
