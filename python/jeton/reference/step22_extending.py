r"""Step 22. Extending a vocabulary: merging two, adding tokens, forbidding merges.

    python step22_extending.py             also without Jeton
    python -m jeton.reference.step22_extending

A trained tokenizer must learn another language, or a product name, or must stop gluing punctuation to words. These are
three different changes: merge two vocabularies, add entries by hand, and constrain the training.

**Merging two vocabularies.** One is trained on English, one on Chinese, both from 256 bytes with 26 merges:

>>> english, chinese = (train_bytes(text, 256 + 26, split=cl100k) for text in (ENGLISH, CHINESE))
>>> both = merge_vocabularies(english, chinese)
>>> 256 + len(english), 256 + len(chinese), 256 + len(both.merges)
(282, 282, 308)

All ids of the first vocabulary stay. The ids of the second cannot stay, because in both the first merge has the id 256.
So each token of the second vocabulary, in the order of its merges, gets the next free id, unless the first vocabulary
has a token with the same bytes; here there is none, so 282 + 26 makes 308. Both texts are encoded as before:

>>> def tokens(text, merges):
...     spelling, table = vocabulary(BYTES, merges), ranks(merges)
...     return [spelling[id] for part in cl100k(text) for id in encode(list(part.encode()), table)]
>>> [tokens(text, both.merges) == tokens(text, own) for text, own in ((ENGLISH, english), (CHINESE, chinese))]
[True, True]

A *merge* of the second vocabulary cannot be copied either. It says which two ids make the token, but in the merged
tokenizer the merges of the first vocabulary are applied before it and can take these ids apart. So we encode the bytes
of each token with all merges so far. If the result is two tokens, these two become the merge. If it is more, no single
merge makes the token, and the token is left out. Here the first vocabulary has `bc`, and the second `ab`, `cd` and
`abcd`:

>>> one, other = train_bytes("bcbc", 257), train_bytes("abcd ab cd abcd", 259, split=cl100k)
>>> crossed = merge_vocabularies(one, other)
>>> [show(token) for token in vocabulary(BYTES, crossed.merges).values()][256:], crossed.left_out
(["'bc'", "'ab'", "'cd'"], [b'abcd'])
>>> tokens("abcd", other), tokens("abcd", crossed.merges)
([b'abcd'], [b'a', b'bc', b'd'])

**Adding by hand: a token or a word?** An *added token* is found in the text before BPE, wherever its characters occur,
even inside words, like the special tokens of step 7. A *word* is added to the model instead, by merges that come after
all others, so it appears only where BPE leaves its parts side by side. Add `art` to a tokenizer that knows `start`:

>>> merges = train_bytes(START, 256 + 4, split=cl100k)
>>> [show(token) for token in vocabulary(BYTES, merges).values()][256:]
["'st'", "'sta'", "'star'", "'start'"]
>>> encode_added("start art", merges, {"art": 260}), encode_added("start art", add_words(merges, ["art"]), {})
([256, 260, 32, 260], [259, 32, 261])

The added token 260 cuts `start` into `st` and `art`; a model that knows the token `start` (259) no longer sees it. The
word does not change `start`. It needs two new ids, because a merge joins two tokens: first `ar` (260), then `art`
(261).

    added token    control signs, markers of a prompt format, names that must be one id in every context
    word           vocabulary: terms of a field, words of another language

**Rules.** Training can forbid merges. A common rule is that punctuation is not merged. The pattern `cl100k` attaches a
sign to the word after it (step 14), so in Chinese, which has no space after a comma, commas become parts of words:

>>> free = train_bytes(RULE_TEXT, 279, split=cl100k, min_frequency=2)
>>> ruled = train_by_rule(RULE_TEXT, 279, lone_punctuation, split=cl100k, min_frequency=2)
>>> for merges in (free, ruled):
...     print([token.decode() for token in tokens("，我们出去", merges)])
['，我们出去']
['，', '我们出去']

A rule tests the spelling that a merged pair would have. `lone_punctuation` allows the spelling if it is one character,
or has no punctuation mark or symbol, or is a part of one character, because the three bytes of `，` must still be able
to merge.

**After the change.** The model has no rows for the new ids (step 12). Random rows would disturb the model; usually a
new row starts as the mean of the rows of the old tokens that the new token replaces. Then the model must be trained
further on text with the new tokens.

**With Jeton.** The same three changes. The results of `merge_vocab` and `add_words` have a report, and a plan for the
embedding rows. The commands read the files of `english`, `chinese` and `start`, which `save` has written:

    english, chinese = (
        jeton.train([text], vocab_size=282, level="byte", pattern="cl100k", tie_break="first", progress=False)
        for text in (ENGLISH, CHINESE)
    )
    both = jeton.merge_vocab(english, chinese).tokenizer
    start = jeton.train([START], vocab_size=260, level="byte", pattern="cl100k", tie_break="first", progress=False)
    word = jeton.add_words(start, ["art"]).tokenizer
    token = start.add_tokens(["art"], special=False)
    ruled = jeton.train(
        [RULE_TEXT],
        vocab_size=279,
        level="byte",
        pattern="cl100k",
        tie_break="first",
        min_frequency=2,
        rules=jeton.Rules(lone_punctuation=True),
        progress=False,
    )

    $ jeton merge-vocab -t english.json -t chinese.json -o both.json
    $ jeton add-words -t start.json -o word.json art
    $ jeton add-tokens -t start.json -o token.json --plain art
    $ jeton train rule.txt -o rule.json -s 279 --level byte --pattern cl100k --tie-break first --min-frequency 2 \
          --rule lone_punctuation -q

Left out: removing tokens (`jeton.prune`), and learning new merges from a corpus (`jeton.extend`). Next:
step23_questions.py.

Source: the algorithm for merged vocabularies is Jeton's (docs/surgery.md); the three extensions are the exercises of a
Jupyter notebook on BPE, in Chinese, which these lessons began with (step 24).
"""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple
from unicodedata import category

if not __package__:  # run as a file: `python step22_extending.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step01_levels import BYTES, show
from .step02_pairs import count_pairs
from .step03_merge import Merge, merge, vocabulary
from .step04_train import choose, train_bytes
from .step05_encode import encode, ranks
from .step07_special import cut
from .step08_split import split

ENGLISH = "the weather is good today, the wind is good too. the weather of the next week is not good, the wind is not."
CHINESE = "今天的天气很好，今天的风也很好。明天的天气不好，明天的风也不好。今天我们出去走走，明天我们不出去。"
START = "start start start"
RULE_TEXT = "今天很好，我们出去。明天很好，我们出去。"
cl100k = partial(split, pattern="cl100k")


class Merged(NamedTuple):
    """Result of merging two vocabularies: the merges, and the tokens of the second vocabulary that are not added."""

    merges: list[Merge]
    shared: list[bytes]  # tokens that are also in the first vocabulary
    left_out: list[bytes]  # tokens that a single merge cannot make


def merge_vocabularies(first: Sequence[Merge], second: Sequence[Merge]) -> Merged:
    """Append the tokens of the second vocabulary to the first, each with a merge of two tokens that are already there.

    Examples:
        >>> merged = merge_vocabularies([Merge(97, 98, 256)], [Merge(97, 98, 256), Merge(256, 99, 257)])
        >>> [each[:3] for each in merged.merges], merged.shared, merged.left_out
        ([(97, 98, 256), (256, 99, 257)], [b'ab'], [])
    """
    result = Merged(list(first), [], [])
    known = set(vocabulary(BYTES, first).values())
    spelling = vocabulary(BYTES, second)
    for token in (spelling[each.new] for each in second):
        parts = encode(list(token), ranks(result.merges))
        if token in known:
            result.shared.append(token)
        elif len(parts) == 2:
            result.merges.append(Merge(parts[0], parts[1], 256 + len(result.merges)))
        else:
            result.left_out.append(token)
    return result


def add_words(merges: Sequence[Merge], words: Iterable[str]) -> list[Merge]:
    """Append merges that make each word one token: merge the word's first two tokens until only one is left.

    A new merge can also join later parts of the word, as `ab` in `abab`, so the word is encoded again after each merge.

    Examples:
        >>> [each[:3] for each in add_words([Merge(97, 98, 256)], ["abba"])]
        [(97, 98, 256), (256, 98, 257), (257, 97, 258)]
    """
    result = list(merges)
    for word in words:
        while len(ids := encode(list(word.encode("utf-8")), ranks(result))) > 1:
            result.append(Merge(ids[0], ids[1], 256 + len(result)))
    return result


def encode_added(text: str, merges: Sequence[Merge], added: Mapping[str, int]) -> list[int]:
    """Encode a text: first cut it at the added tokens, then split the rest into pretokens and merge.

    Examples:
        >>> encode_added("abXab", [Merge(97, 98, 256)], {"X": 300})
        [256, 300, 256]
    """
    table = ranks(merges)
    ids: list[int] = []
    for piece in cut(text, added, permit="all"):
        if isinstance(piece, int):
            ids.append(piece)
        else:
            ids += [id for pretoken in cl100k(piece) for id in encode(list(pretoken.encode("utf-8")), table)]
    return ids


def lone_punctuation(token: bytes) -> bool:
    r"""Return True for a token without punctuation and symbols, for a single character, and for a part of a character.

    Examples:
        >>> lone_punctuation(b"it"), lone_punctuation("，".encode()), lone_punctuation(b"it's"), lone_punctuation(b"!!")
        (True, True, False, False)
        >>> lone_punctuation(b"\xef\xbc"), lone_punctuation(b"a\xef\xbc")  # the first two bytes of `，`
        (True, False)
    """
    try:
        text = token.decode("utf-8")
    except UnicodeDecodeError as error:
        begins_one = error.start == 0 and error.reason == "unexpected end of data"
        return begins_one or (len(token) < 4 and all(byte >> 6 == 0b10 for byte in token))
    return len(text) < 2 or not any(category(character)[0] in "PS" for character in text)


def train_by_rule(
    text: str,
    vocab_size: int,
    allows: Callable[[bytes], bool],
    *,
    split: Callable[[str], Iterable[str]],
    tie_break: str = "first",
    min_frequency: int = 1,
) -> list[Merge]:
    """Train as in step 4, but skip each pair whose merged token is not permitted by the rule `allows`.

    Examples:
        >>> train_by_rule("a!a!", 300, lone_punctuation, split=lambda text: [text])
        []
    """
    pretokens = Counter(split(text))
    sequences = [list(pretoken.encode("utf-8")) for pretoken in pretokens]
    merges: list[Merge] = []
    while 256 + len(merges) < vocab_size:
        spelling = vocabulary(BYTES, merges)
        counts = count_pairs(sequences, list(pretokens.values()))
        counts = {pair: count for pair, count in counts.items() if allows(spelling[pair[0]] + spelling[pair[1]])}
        sizes = {id: len(token) for id, token in spelling.items()}
        best = choose(counts, tie_break, spelling, sizes)
        if best is None or counts[best] < min_frequency:
            break
        merges.append(Merge(*best, 256 + len(merges), counts[best]))
        sequences = [merge(sequence, best, merges[-1].new) for sequence in sequences]
    return merges


def main() -> None:
    """Merge two vocabularies, add a token and a word, and train with and without a rule."""
    english, chinese = (train_bytes(text, 256 + 26, split=cl100k) for text in (ENGLISH, CHINESE))
    both = merge_vocabularies(english, chinese)
    print(f"256 + {len(english)} and 256 + {len(chinese)} merges become {256 + len(both.merges)} tokens")
    print("  from English:", [show(token) for token in vocabulary(BYTES, english).values()][256:])
    print("  from Chinese:", [show(token) for token in vocabulary(BYTES, both.merges).values()][282:])
    start = train_bytes(START, 260, split=cl100k)
    print("start art")
    print("  with the added token:", encode_added("start art", start, {"art": 260}))
    print("  with the added word: ", encode_added("start art", add_words(start, ["art"]), {}))
    free = train_bytes(RULE_TEXT, 279, split=cl100k, min_frequency=2)
    ruled = train_by_rule(RULE_TEXT, 279, lone_punctuation, split=cl100k, min_frequency=2)
    for name, merges in (("no rule:", free), ("punctuation is not merged:", ruled)):
        print(f"{name:<27}", [show(token) for token in vocabulary(BYTES, merges).values()][256:])


def beside_jeton() -> None:
    """Make the same changes with Jeton."""
    import jeton

    english, chinese = (
        jeton.train([text], vocab_size=282, level="byte", pattern="cl100k", tie_break="first", progress=False)
        for text in (ENGLISH, CHINESE)
    )
    both = jeton.merge_vocab(english, chinese).tokenizer
    start = jeton.train([START], vocab_size=260, level="byte", pattern="cl100k", tie_break="first", progress=False)
    word = jeton.add_words(start, ["art"]).tokenizer
    token = start.add_tokens(["art"], special=False)
    ruled = jeton.train(
        [RULE_TEXT],
        vocab_size=279,
        level="byte",
        pattern="cl100k",
        tie_break="first",
        min_frequency=2,
        rules=jeton.Rules(lone_punctuation=True),
        progress=False,
    )
    ours = merge_vocabularies(*(train_bytes(text, 282, split=cl100k) for text in (ENGLISH, CHINESE))).merges
    of_start = train_bytes(START, 260, split=cl100k)
    word_ids = encode_added("start art", add_words(of_start, ["art"]), {})
    token_ids = encode_added("start art", of_start, {"art": 260})
    by_rule = train_by_rule(RULE_TEXT, 279, lone_punctuation, split=cl100k, min_frequency=2)
    assert [both.merges, ruled.merges] == [tuple(each[:3] for each in merges) for merges in (ours, by_rule)]
    assert [tok.encode("start art") for tok in (word, token)] == [word_ids, token_ids]
    print(f"jeton: {both.vocab_size} entries; word {word_ids}, token {token_ids}; the same merges by the rule")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, tok in {"english": english, "chinese": chinese, "start": start}.items():
            tok.save(f"{name}.json")
        Path("rule.txt").write_text(RULE_TEXT, encoding="utf-8")
        jeton_command("jeton merge-vocab -t english.json -t chinese.json -o both.json")
        jeton_command("jeton add-words -t start.json -o word.json art")
        jeton_command("jeton add-tokens -t start.json -o token.json --plain art")
        jeton_command(
            "jeton train rule.txt -o rule.json -s 279 --level byte --pattern cl100k --tie-break first --min-frequency 2"
            " --rule lone_punctuation -q"
        )
        assert jeton.load("both.json").merges == both.merges
        assert jeton.load("rule.json").merges == ruled.merges
        assert [jeton.load(f"{name}.json").encode("start art") for name in ("word", "token")] == [word_ids, token_ids]


if __name__ == "__main__":
    main()
    with_jeton(beside_jeton)
