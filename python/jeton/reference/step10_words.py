r"""Step 10. Words with an end mark, `</w>`, and a lossless encoder.

    python step10_words.py                 also without Jeton
    python -m jeton.reference.step10_words

The BPE that was applied to machine translation in 2016 worked on lists of words with their counts. When a text is cut
at spaces, tokens no longer show where a word ends: `est` is an ending in `newest`, but a beginning in `estimate`. So
each word gets an end mark, `</w>`, in one of two styles.

>>> letters_of("low")  # the mark is a separate letter
['l', 'o', 'w', '</w>']
>>> letters_of("low", style="suffix")  # the mark is part of the last letter
['l', 'o', 'w</w>']

The corpus of the well-known example holds four words:

>>> counts = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
>>> learned = train_words(counts, num_merges=10)
>>> spelling = learned.vocabulary()
>>> [f"{spelling[new].decode()} {count}" for _, _, new, count in learned.merges]
['es 9', 'est 9', 'est</w> 9', 'lo 7', 'low 7', 'ne 6', 'new 6', 'newest</w> 6', 'low</w> 5', 'wi 3']
>>> suffix = train_words(counts, num_merges=4, style="suffix")
>>> [suffix.vocabulary()[new].decode() for _, _, new, _ in suffix.merges]
['es', 'est</w>', 'lo', 'ne']

**Known words.** A word of the corpus need not be encoded again: its tokens are known when training ends.

>>> known = known_words(counts, learned)
>>> known["widest"]
['wi', 'd', 'est</w>']

**Unknown words, by merges.** The encoder of step 5 also works for unknown words, as long as each letter is in the
alphabet.

**Unknown words, longest token first.** Another algorithm needs no merges, only the tokens of the known words. Take the
longest token and cut it out of the word wherever it occurs; continue with the rest of the word and the next longest
token. Length counts letters, and `</w>` is one letter. Of tokens of equal length, the more frequent one
comes first: `tokens_in_use` sorts them by their counts in the corpus.

>>> tokens = tokens_in_use(known, counts)
>>> tokens
['newest</w>', 'low</w>', 'wi', 'd', 'est</w>', 'low', 'e', 'r', '</w>']
>>> longest_first("lowest", tokens)
['low', 'est</w>']

The frequency matters where two tokens of equal length overlap:

>>> few = tokens_in_use({"abc": ["ab", "c"], "bcd": ["bc", "d"]}, {"abc": 1, "bcd": 9})
>>> few
['bc', 'd', 'ab', 'c']
>>> longest_first("abc", few), longest_first("abc", ["ab", "c", "bc", "d"])
(['</u>', 'bc', '</u>'], ['ab', 'c', '</u>'])

**Losing nothing.** A careless version of this encoder drops letters that no token matches: `newer` becomes `e e r
</w>`, and n and w are silently lost. (They are in the alphabet, but training has merged them into longer tokens in
every known word.) Here each run of unmatched letters becomes one unknown token, `</u>`:

>>> longest_first("newer", tokens)
['</u>', 'e', '</u>', 'e', 'r', '</w>']
>>> longest_first("zzzlow", tokens)
['</u>', 'low</w>']

A token is not a regular expression: the dot in `a.` matches only a dot.

>>> longest_first("a.", ["a.", "</w>"]), longest_first("ab", ["a.", "</w>"])
(['a.', '</w>'], ['</u>', '</w>'])

Left out: white space. Cutting at spaces forgets how many there were, so `decode_words` writes one space for each mark.
This is one reason why byte-level tokenizers, which keep every space, have replaced tokenizers of words. Next:
step09_characters.py.

Source: Sennrich, Haddow and Birch 2016, whose program is subword-nmt (suffix style; ties by `highest_pair`).

**With Jeton.** `end_of_word=` adds the mark. The corpus may be words with their counts, or a text that is cut at white
space. Longest token first is not one of Jeton's encoders:

    tok = jeton.train(
        counts, 21, level="char", end_of_word="</w>", end_of_word_style="symbol", tie_break="first", progress=False
    )

    $ jeton train corpus.txt -o tok.json -s 21 --level char --end-of-word '</w>' \
        --end-of-word-style symbol --tie-break first -q
    $ jeton encode -t tok.json widest
    20 9 13
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

if not __package__:  # run as a file: `python step10_words.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step04_train import train
from .step05_encode import encode, ranks
from .step09_characters import Learned, alphabet, to_ids

END = "</w>"
UNKNOWN = "</u>"


def letters_of(word: str, style: str = "symbol", end: str = END) -> list[str]:
    """Split a word into letters; the end mark is a separate "symbol", or a "suffix" of the last letter.

    Raises:
        ValueError: If the style is unknown, or the word is empty.

    Examples:
        >>> letters_of("冬"), letters_of("冬", style="suffix")
        (['冬', '</w>'], ['冬</w>'])
    """
    if not word:
        raise ValueError("an empty word has no letters")
    if style == "symbol":
        return [*word, end]
    if style == "suffix":
        return [*word[:-1], word[-1] + end]
    raise ValueError(f"style is {style!r}, expected 'symbol' or 'suffix'")


def word_alphabet(word_counts: Mapping[str, int], style: str = "symbol", end: str = END) -> dict[int, bytes]:
    """Give an id to each letter of the words and to the end mark, as `character_alphabet` of step 9 does.

    Examples:
        >>> word_alphabet({"low": 5, "lower": 2})
        {0: b'l', 1: b'o', 2: b'w', 3: b'</w>', 4: b'e', 5: b'r'}
        >>> word_alphabet({"low": 5, "lower": 2}, style="suffix")
        {0: b'l', 1: b'o', 2: b'w</w>', 3: b'w', 4: b'e', 5: b'r</w>'}
    """
    return alphabet([letters_of(word, style, end) for word in word_counts], word_counts.values())


def train_words(
    word_counts: Mapping[str, int],
    num_merges: int,
    *,
    style: str = "symbol",
    tie_break: str = "first",
    min_frequency: int = 1,
    end: str = END,
) -> Learned:
    """Train on words with their counts; the words are in order of first appearance.

    Examples:
        >>> train_words({"aa": 3}, 1).merges
        [Merge(left=0, right=0, new=2, count=3)]
    """
    strings = word_alphabet(word_counts, style, end)
    sequences = [to_ids(letters_of(word, style, end), strings) for word in word_counts]
    weights = list(word_counts.values())
    merges = train(sequences, weights, strings, num_merges, tie_break=tie_break, min_frequency=min_frequency)
    return Learned(strings, merges)


def encode_word(word: str, learned: Learned, style: str = "symbol", end: str = END) -> list[int]:
    """Encode one word by the merges.

    Raises:
        ValueError: If a letter is not in the alphabet.

    Examples:
        >>> encode_word("aaa", train_words({"aa": 3}, 1))
        [2, 0, 1]
    """
    return encode(to_ids(letters_of(word, style, end), learned.alphabet), ranks(learned.merges))


def known_words(words: Iterable[str], learned: Learned, style: str = "symbol", end: str = END) -> dict[str, list[str]]:
    """List the tokens of every word of the corpus after training.

    Examples:
        >>> known_words(["aa"], train_words({"aa": 3}, 1))
        {'aa': ['aa', '</w>']}
    """
    spelling = learned.vocabulary()
    return {word: [spelling[id].decode("utf-8") for id in encode_word(word, learned, style, end)] for word in words}


def tokens_in_use(known: Mapping[str, list[str]], word_counts: Mapping[str, int]) -> list[str]:
    """List the tokens of the known words by falling count; tokens with equal counts by first appearance.

    Args:
        known: The tokens of each known word.
        word_counts: The count of each known word.

    Examples:
        >>> tokens_in_use({"low": ["low", "</w>"], "lows": ["low", "s", "</w>"]}, {"low": 5, "lows": 1})
        ['low', '</w>', 's']
        >>> tokens_in_use({"ab": ["ab"], "cd": ["cd"]}, {"ab": 1, "cd": 2})
        ['cd', 'ab']
    """
    counts: Counter[str] = Counter()
    for word, tokens in known.items():
        for token in tokens:
            counts[token] += word_counts[word]
    return sorted(counts, key=lambda token: -counts[token])  # stable: equal counts stay in order of appearance


def longest_first(word: str, tokens: Iterable[str], end: str = END) -> list[str]:
    """Split a word: cut out all occurrences of the longest token, then of the next longest token, and so on.

    Tokens of equal length are cut out in the given order.

    Examples:
        >>> longest_first("aaaab", ["a", "aaa", "b"])
        ['aaa', 'a', 'b', '</u>']
        >>> longest_first("xay", [])
        ['</u>']
    """

    def letters(token: str) -> list[str]:  # an end mark counts as one letter
        body = token.removesuffix(end)
        return [*body, end] if body != token else [*body]

    # The word in pieces: a string is a token that was cut out, a list holds letters that no token has matched yet.
    pieces: list[list[str] | str] = [letters_of(word, end=end)]
    for token in sorted(dict.fromkeys(tokens), key=lambda token: -len(letters(token))):
        wanted = letters(token)
        cut: list[list[str] | str] = []
        for piece in pieces:
            start = at = 0
            while isinstance(piece, list) and wanted and at + len(wanted) <= len(piece):
                if piece[at : at + len(wanted)] == wanted:
                    cut += [piece[start:at], token]
                    start = at = at + len(wanted)
                else:
                    at += 1
            cut.append(piece[start:])
        pieces = [piece for piece in cut if piece]
    return [piece if isinstance(piece, str) else UNKNOWN for piece in pieces]


def decode_words(tokens: Iterable[str], end: str = END) -> str:
    """Join tokens into words with one space between them.

    Examples:
        >>> decode_words(["low", "est</w>", "new", "</w>"])
        'lowest new'
    """
    return "".join(tokens).replace(end, " ").rstrip(" ")


def main() -> None:
    """Split unknown words into tokens in two ways: by taking the longest token first, and by applying the merges."""
    counts = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
    learned = train_words(counts, 10)
    known = known_words(counts, learned)
    print("known:", known)
    for word in ("lowest", "newer", "slow"):
        print(f"{word:<7} longest token first:", longest_first(word, tokens_in_use(known, counts)))
        try:
            print(" " * 7, "by merges:", known_words([word], learned)[word])
        except ValueError as error:
            print(" " * 7, "by merges:", error)


def beside_jeton() -> None:
    """Train on the four words with Jeton, in both styles, and encode known and unknown words."""
    import jeton

    counts = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
    learned = train_words(counts, 10)
    tok = jeton.train(
        counts, 21, level="char", end_of_word="</w>", end_of_word_style="symbol", tie_break="first", progress=False
    )
    assert {id: tok.id_to_token(id).encode() for id in range(21)} == learned.vocabulary()
    assert tok.merges == tuple((left, right, new) for left, right, new, _ in learned.merges)
    for word in (*counts, "lowest", "newer"):
        assert tok.encode(word) == encode_word(word, learned)
    suffix = train_words(counts, 4, style="suffix").merges
    glued = jeton.train(
        counts, 15, level="char", end_of_word="</w>", end_of_word_style="suffix", tie_break="first", progress=False
    )
    assert glued.merges == tuple((left, right, new) for left, right, new, _ in suffix)
    print("jeton:", [tok.id_to_token(new) for _, _, new in tok.merges])
    with TemporaryDirectory() as folder, chdir(folder):
        Path("corpus.txt").write_text(" ".join(f"{word} " * count for word, count in counts.items()), encoding="utf-8")
        jeton_command(
            "jeton train corpus.txt -o tok.json -s 21 --level char --end-of-word '</w>' "
            "--end-of-word-style symbol --tie-break first -q"
        )
        printed = jeton_command("jeton encode -t tok.json widest")
    assert list(map(int, printed.split())) == encode_word("widest", learned)


if __name__ == "__main__":
    main()
    with_jeton(beside_jeton)
