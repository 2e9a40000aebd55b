"""Step 21. WordPiece: the longest match first, and pairs chosen by likelihood.

    python step21_wordpiece.py               also without Jeton
    python -m jeton.reference.step21_wordpiece

Pass the path of BERT's `vocab.txt` to encode with it, too; without a path, only the small vocabulary of this lesson is
used.

WordPiece (Schuster and Nakajima 2012; BERT) looks like BPE, but its encoder is different. Its vocabulary is a plain
list of tokens. A token that continues a word is written with `##`, so `##s` and `s` are two tokens, and no mark is
needed for spaces. Before encoding, the text is split into words at white space and punctuation.

**Encoding** takes the longest token with which the word begins, then the longest with which the rest begins. There are
no ranks and no scores. If the rest begins with no token, the *whole* word is `[UNK]`, not only the rest: all or
nothing.

>>> VOCAB
['[UNK]', 'b', 'h', 'p', '##g', '##n', '##s', '##u', '##gs', 'hu', 'hug']
>>> encode_word("hugs", VOCAB), encode_word("bugs", VOCAB), encode_word("mug", VOCAB), encode_word("bum", VOCAB)
(['hug', '##s'], ['b', '##u', '##gs'], ['[UNK]'], ['[UNK]'])

"The longest first" is neither "the lowest rank first" (step 5) nor "the most probable" (step 20). Here it gives `hug`
and `##s`, although `hu` and `##gs` would also be two tokens.

**Training by likelihood.** As in BPE, a pair is merged in each round. The count of a pair is divided by the counts of
both parts. The ratio shows how much more often they occur together than expected from their own frequencies. In a model
in which tokens are drawn independently, it also shows how much *one* merged occurrence raises the likelihood of the
corpus. With the corpus of step 20, the most frequent pair is `##u`+`##g`, 20 times. But `##u` occurs in every word:
20/(36·20) = 0.028. `##g`+`##s` occurs only 5 times, but `##s` occurs nowhere else: 5/(20·5) = 0.05. If all occurrences
are counted together, the order of pairs can be different: the log-likelihood rises by 28.0 with `##u`+`##g`, and by 9.2
with `##g`+`##s`.

>>> words = {word: split_word(word) for word in CORPUS}
>>> for rule in RULES:
...     (left, right), value = best_pair(CORPUS, words, rule)
...     print(f"{rule:<10} {left}+{right} {value:g}")
likelihood ##g+##s 0.05
frequency  ##u+##g 20
>>> train(CORPUS, 3, "likelihood")
['b', 'h', 'p', '##g', '##n', '##s', '##u', '##gs', 'hu', 'hugs']
>>> train(CORPUS, 3, "frequency")
['b', 'h', 'p', '##g', '##n', '##s', '##u', '##ug', '##un', 'hug']

After `##gs`, all pairs have the ratio 1/36, and the first pair is merged; another tie rule would give another
vocabulary. Then `hu`+`##gs` has 5/(15·5), because each `##gs` comes after `hu`: the rule prefers parts that occur only
together, even if they are rare.

**Who uses which rule?** Google has not published the trainer of BERT's vocabulary. The paper of 2012 chooses the merge
that raises the likelihood most; Hugging Face's course describes the rule with the ratio. Hugging Face's
`WordPieceTrainer` merges the most frequent pair: it is Hugging Face's BPE trainer with `##`. TensorFlow Text's learner
does not merge at all; it starts from long substrings and keeps the frequent ones. SentencePiece has no WordPiece.
*Encoding* is the same for all models: BERT, DistilBERT, ELECTRA, MobileBERT.

Jeton's `preset="bert"` reproduces Hugging Face's trainer, so it also merges the most frequent pair; Jeton has no
likelihood rule.

Left out: BERT's normalization before encoding (lower case, accents, a space around each Chinese character). A word of
more than 200 characters (in Hugging Face's code: 100, as here) is `[UNK]` without a search.

**With Jeton.** `beside_jeton` writes the vocabulary to a `vocab.txt`, one token a line, and compares the tokens.

    tok = jeton.load("vocab.txt")
    ids = tok.encode("hugs bugs mug")

    $ jeton encode --tokenizer vocab.txt --format ids "hugs bugs mug"
    $ jeton explain --tokenizer vocab.txt hugs

Source: Schuster and Nakajima 2012; google-research/bert, tokenization.py (encoding); Hugging Face's course, chapter 6.6
(figures); huggingface/tokenizers, models/wordpiece (trainer); tensorflow/text, wordpiece_tokenizer_learner_lib.py.
Next: step11_compression.py.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import chdir
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

if not __package__:  # run as a file: `python step21_wordpiece.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step20_unigram import CORPUS

__all__ = ["RULES", "best_pair", "encode_word", "join", "merge_pair", "split_word", "train"]

RULES = ("likelihood", "frequency")
VOCAB = ["[UNK]", "b", "h", "p", "##g", "##n", "##s", "##u", "##gs", "hu", "hug"]


def encode_word(word: str, vocab: Collection[str], unk: str = "[UNK]", max_chars: int = 100) -> list[str]:
    """Encode a word: take the longest token that matches, again and again. If none matches, the whole word is `unk`.

    Examples:
        >>> encode_word("unaffable", {"un", "##aff", "##able"})
        ['un', '##aff', '##able']
        >>> encode_word("unaffabel", {"un", "##aff", "##able"})
        ['[UNK]']
    """
    tokens: list[str] = []
    start = 0
    while start < len(word) <= max_chars:
        prefix = "##" if start else ""
        ends = (end for end in range(len(word), start, -1) if prefix + word[start:end] in vocab)
        end = next(ends, None)
        if end is None:
            return [unk]
        tokens.append(prefix + word[start:end])
        start = end
    return tokens if len(word) <= max_chars else [unk]


def split_word(word: str) -> list[str]:
    """Split a word into its first symbols: characters, with `##` before all but the first.

    Examples:
        >>> split_word("hugs")
        ['h', '##u', '##g', '##s']
    """
    return [character if at == 0 else "##" + character for at, character in enumerate(word)]


def join(left: str, right: str) -> str:
    """Join two symbols; the right one loses its `##`.

    Examples:
        >>> join("h", "##u"), join("##g", "##s")
        ('hu', '##gs')
    """
    return left + right.removeprefix("##")


def best_pair(
    corpus: Mapping[str, int], words: Mapping[str, Sequence[str]], rule: str
) -> tuple[tuple[str, str], float] | None:
    """Find the pair with the highest value by the rule; return the pair and its value.

    If several pairs have the highest value, take the one that occurs first.

    Args:
        corpus: Word -> number of occurrences.
        words: Word -> its current symbols.
        rule: "likelihood": count(pair) / (count(left) · count(right)); "frequency": count(pair).

    Examples:
        >>> best_pair({"aba": 2}, {"aba": ["a", "##b", "##a"]}, "likelihood")
        (('a', '##b'), 0.5)
    """
    symbols: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for word, count in corpus.items():
        for symbol in words[word]:
            symbols[symbol] += count
        for pair in pairwise(words[word]):
            pairs[pair] += count
    if not pairs:
        return None

    def value(pair: tuple[str, str]) -> float:
        return pairs[pair] if rule == "frequency" else pairs[pair] / (symbols[pair[0]] * symbols[pair[1]])

    best = max(pairs, key=value)  # of several best pairs, the first
    return best, value(best)


def merge_pair(symbols: Sequence[str], pair: tuple[str, str]) -> list[str]:
    """Merge each occurrence of a pair, from left to right and without overlap.

    Examples:
        >>> merge_pair(["a", "##a", "##a", "##a"], ("##a", "##a"))
        ['a', '##aa', '##a']
    """
    merged: list[str] = []
    at = 0
    while at < len(symbols):
        is_pair = tuple(symbols[at : at + 2]) == pair
        merged.append(join(*pair) if is_pair else symbols[at])
        at += 2 if is_pair else 1
    return merged


def train(corpus: Mapping[str, int], num_merges: int, rule: str = "likelihood") -> list[str]:
    """Learn a vocabulary: all initial symbols, sorted, then the result of each merge.

    Raises:
        ValueError: If the rule is unknown.

    Examples:
        >>> train({"ab": 3, "b": 2}, 5)
        ['a', 'b', '##b', 'ab']
    """
    if rule not in RULES:
        raise ValueError(f"rule is {rule!r}, expected one of {', '.join(RULES)}")
    words = {word: split_word(word) for word in corpus}
    alphabet = {symbol for symbols in words.values() for symbol in symbols}
    vocab = sorted(alphabet, key=lambda symbol: (symbol.startswith("##"), symbol))
    for _ in range(num_merges):
        found = best_pair(corpus, words, rule)
        if found is None:
            break
        pair, _value = found
        words = {word: merge_pair(symbols, pair) for word, symbols in words.items()}
        if join(*pair) not in vocab:
            vocab.append(join(*pair))
    return vocab


def beside_jeton() -> None:
    """Encode with Jeton, in Python and on the command line; the tokens must equal those of this lesson."""
    import jeton

    expected = [token for word in ("hugs", "bugs", "mug") for token in encode_word(word, VOCAB)]
    with TemporaryDirectory() as folder, chdir(folder):
        Path("vocab.txt").write_text("\n".join(VOCAB) + "\n", encoding="utf-8")
        tok = jeton.load("vocab.txt")
        ids = tok.encode("hugs bugs mug")
        print("jeton:", [tok.id_to_token(id) for id in ids])
        assert [tok.id_to_token(id) for id in ids] == expected
        printed = jeton_command('jeton encode --tokenizer vocab.txt --format ids "hugs bugs mug"')
        assert [int(id) for id in printed.split()] == ids
        printed = jeton_command("jeton explain --tokenizer vocab.txt hugs")
        assert "hug  id 10; no entry: hugs" in printed


def main(path: str | None = None) -> None:
    """Show both rules on the corpus, encode some words, and encode with a published vocabulary."""
    words = {word: split_word(word) for word in CORPUS}
    for rule in RULES:
        found = best_pair(CORPUS, words, rule)
        print(f"{rule:<10}", found, train(CORPUS, 3, rule))
    for word in ("hugs", "bugs", "mug", "bum"):
        print(f"{word:<5}", encode_word(word, VOCAB))
    if path is None:
        print("No path of a vocab.txt was given: only the vocabulary of this lesson was used.")
        return
    published = dict.fromkeys(Path(path).read_text("utf-8").splitlines())
    for word in ("training", "strawberry", "unaffable"):
        print(f"{Path(path).name}, {len(published):,} tokens: {word}", *encode_word(word, published))


if __name__ == "__main__":
    main(*sys.argv[1:2])
    with_jeton(beside_jeton)
