"""Step 20. Unigram: the most probable segmentation.

    python step20_unigram.py                 also without Jeton
    python -m jeton.reference.step20_unigram

Pass the path of a published Unigram model (XLM-R's, T5's, ALBERT's `.model`) to encode with it, too; without a path,
only the toy model of this lesson is used.

BPE builds tokens up by merging. Unigram (Kudo 2018) works in the opposite direction: it starts from many pieces, gives
each a probability, and drops the pieces that are needed least. The probability of a segmentation is the product of the
probabilities of its pieces, as if each piece were drawn independently. The corpus and the counts are those of chapter 6
of Hugging Face's course:

>>> CORPUS
{'hug': 10, 'pug': 5, 'pun': 12, 'bun': 4, 'hugs': 5}
>>> sum(COUNTS.values()), COUNTS["ug"], COUNTS["hug"]
(210, 20, 15)
>>> scores = log_probabilities(COUNTS)

**Encoding.** A word of n characters has up to 2**(n-1) segmentations. `viterbi` needs only the best segmentation up to
each position: the best one up to i is the best one up to some earlier j, plus the piece from j to i. Scores are natural
logarithms, so the scores of pieces are added. `nbest` keeps the best n segmentations up to each position.

>>> for score, pieces in nbest("unhug", scores, 3):
...     print(f"{score:.2f}", *pieces)
-5.21 un hug
-6.98 u n hug
-7.56 un h ug

**Loss.** The loss measures how surprising the corpus is for the model: the sum of -log p over all words, with the best
segmentation of each. To shrink the vocabulary, remove each piece in turn, and compute how much the loss grows. Without
`hug`, words must be cut into `h` and `ug`, or other pieces. Without `pu`, `pug` is cut into `p` and `ug`, which is
equally probable, so `pu` can be dropped. Single characters are never dropped, because together they can spell
everything.

>>> round(loss(CORPUS, scores), 1)
169.8
>>> costs = removal_costs(CORPUS, scores)
>>> round(costs["hug"], 1), round(costs["pu"], 1)
(23.5, 0.0)
>>> [piece for piece in prune(CORPUS, scores, keep=9)]
['h', 'u', 'g', 'p', 'n', 'b', 's', 'hug', 'ugs']

**EM.** The counts above include all occurrences of a piece, even where no good segmentation uses the piece. Expectation
maximization corrects this. The E step weighs all segmentations by their probabilities, and adds up how often each piece
is *expected* to be used. The sum over all paths is computed as in Viterbi, with a sum in place of the maximum:
`forward` gives the probability of the text before each position, `backward` that of the text after it. Both multiplied
by the probability of a piece between them give the probability of all paths through this piece. The M step takes these
expected counts as the new counts. The probability of the corpus never falls:

>>> model = scores
>>> for _ in range(6):
...     likelihood, model = em_round(CORPUS, model)
...     print(f"{likelihood:.2f}")
-145.55
-126.88
-119.80
-116.15
-115.68
-115.65
>>> [piece for piece, score in model.items() if exp(score) > 0.01]
['g', 'ug', 'p', 'pu', 'n', 'un', 'b', 'bu', 's', 'hug']

`h`, `u`, `hu`, `gs` and `ugs` are hardly used any more. Training alternates between some rounds of EM and pruning,
until the vocabulary has the requested size.

**Sampling.** Because the model has probabilities, a segmentation can be drawn at random instead of taking the best one;
this is *subword regularization*. Beginning at the end of the text, `sample` repeatedly draws the last piece, with a
probability proportional to its share of `forward`. An exponent `alpha` below 1 makes rare segmentations more frequent.

>>> rng = random.Random(1)
>>> Counter(" ".join(sample("hugs", scores, rng, alpha=0.5)) for _ in range(1000)).most_common(3)
[('hu gs', 257), ('h ugs', 241), ('hug s', 213)]

**This toy is not SentencePiece's trainer.** SentencePiece takes its first pieces, a million, from a suffix array of the
corpus. Its M step subtracts a little from each count, by the digamma function (as if probabilities had a prior), and
drops pieces with an expected count below 0.5. It estimates the loss of removing a piece from the second-best
segmentation of the piece itself, without encoding the corpus again, and drops a quarter of the pieces in each round. So
its training gives other results, but *encoding* with given scores is the same.

Left out: user-defined pieces (which get scores so high that they are always preferred), byte fallback (step 19).

**With Jeton.** `beside_jeton` writes the counts as a `.model`. Jeton's `explain` shows the lattice and the next-best
segmentations.

    tok = jeton.load("hug.model")
    ids = tok.encode("unhug")
    paths = tok.explain("unhug").pretokens[0].lattice

    $ jeton encode --tokenizer hug.model --format ids unhug
    $ jeton explain --tokenizer hug.model unhug

Source: Kudo 2018 (Subword Regularization); Hugging Face's course, chapter 6.7 (corpus, counts and losses);
google/sentencepiece, src/unigram_model.cc and src/unigram_model_trainer.cc. Next: step21_wordpiece.py.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import chdir
from math import exp, inf, log
from pathlib import Path
from tempfile import TemporaryDirectory

if not __package__:  # run as a file: `python step20_unigram.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .sentencepiece_file import model_type, read_model, write_model
from .step19_xlmr import normalize

__all__ = [
    "backward",
    "em_round",
    "forward",
    "lattice",
    "log_probabilities",
    "loss",
    "nbest",
    "prune",
    "removal_costs",
    "sample",
    "viterbi",
]

Scores = Mapping[str, float]  # piece -> natural logarithm of its probability
UNKNOWN = 10.0  # the score of an unknown character is this much below the lowest score of a piece
CORPUS = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}
# substrings of the words, except rare long ones, with the number of their occurrences
COUNTS = {"h": 15, "u": 36, "g": 20, "hu": 15, "ug": 20, "p": 17, "pu": 17, "n": 16, "un": 16, "b": 4, "bu": 4, "s": 5}
COUNTS |= {"hug": 15, "gs": 5, "ugs": 5}


def log_probabilities(counts: Mapping[str, float]) -> dict[str, float]:
    """Turn counts into scores: the logarithm of each count's share of the sum. A count of 0 gives minus infinity.

    Examples:
        >>> log_probabilities({"a": 3, "b": 1})
        {'a': -0.2876820724517809, 'b': -1.3862943611198906}
    """
    total = sum(counts.values())
    return {piece: log(count / total) if count else -inf for piece, count in counts.items()}


def lattice(text: str, scores: Scores) -> list[list[tuple[int, float]]]:
    """List the pieces that end at each position: (start, score). If a character is no piece, it is added as unknown.

    Examples:
        >>> lattice("ab", {"a": -1.0, "ab": -2.0})
        [[], [(0, -1.0)], [(0, -2.0), (1, -12.0)]]
    """
    longest, unknown = max(map(len, scores), default=1), min(scores.values(), default=0.0) - UNKNOWN
    edges: list[list[tuple[int, float]]] = [[]]
    for end in range(1, len(text) + 1):
        starts = range(max(0, end - longest), end)
        edges.append([(start, scores[text[start:end]]) for start in starts if text[start:end] in scores])
        if text[end - 1] not in scores:
            edges[end].append((end - 1, unknown))
    return edges


def viterbi(text: str, scores: Scores) -> tuple[float, list[str]]:
    """Find the segmentation with the highest sum of scores; if several have it, the one with the longest last piece.

    Examples:
        >>> viterbi("ab", {"a": -1.0, "b": -1.0, "ab": -2.5})
        (-2.0, ['a', 'b'])
    """
    best: list[tuple[float, int]] = [(0.0, 0)]  # position -> best score up to there, start of the last piece
    for edges in lattice(text, scores)[1:]:
        total, start = max((best[start][0] + score, -start) for start, score in edges)
        best.append((total, -start))
    pieces: list[str] = []
    end = len(text)
    while end:
        pieces.insert(0, text[best[end][1] : end])
        end = best[end][1]
    return best[-1][0], pieces


def nbest(text: str, scores: Scores, n: int) -> list[tuple[float, list[str]]]:
    """Find the `n` segmentations with the highest scores, the best first.

    Examples:
        >>> nbest("ab", {"a": -1.0, "b": -1.0, "ab": -2.5}, 2)
        [(-2.0, ['a', 'b']), (-2.5, ['ab'])]
    """
    best: list[list[tuple[float, list[str]]]] = [[(0.0, [])]]
    for end, edges in enumerate(lattice(text, scores)[1:], start=1):
        found = [
            (before + score, [*pieces, text[start:end]]) for start, score in edges for before, pieces in best[start]
        ]
        best.append(sorted(found, key=lambda path: -path[0])[:n])
    return best[-1]


def forward(text: str, scores: Scores, alpha: float = 1.0) -> list[float]:
    """Return, for each position, the probability of the text before it: the sum over all its segmentations.

    Examples:
        >>> forward("ab", {"a": log(0.5), "b": log(0.25), "ab": log(0.25)})
        [1.0, 0.5, 0.375]
    """
    sums = [1.0]
    for edges in lattice(text, scores)[1:]:
        sums.append(sum(sums[start] * exp(alpha * score) for start, score in edges))
    return sums


def backward(text: str, scores: Scores) -> list[float]:
    """Return, for each position, the probability of the text after it.

    Examples:
        >>> backward("ab", {"a": log(0.5), "b": log(0.25), "ab": log(0.25)})
        [0.375, 0.25, 1.0]
    """
    sums = [0.0] * len(text) + [1.0]
    edges = lattice(text, scores)
    for end in range(len(text), 0, -1):
        for start, score in edges[end]:
            sums[start] += exp(score) * sums[end]
    return sums


def em_round(corpus: Mapping[str, int], scores: Scores) -> tuple[float, dict[str, float]]:
    """Run one round of expectation maximization; return the corpus's log-likelihood before it, and the new scores.

    Examples:
        >>> em_round({"ab": 1}, {"a": log(0.5), "b": log(0.25), "ab": log(0.25)})[1]["ab"] == log(0.5)
        True
    """
    likelihood, expected = 0.0, dict.fromkeys(scores, 0.0)
    for word, count in corpus.items():
        before, after = forward(word, scores), backward(word, scores)
        likelihood += count * log(before[-1])
        for end, edges in enumerate(lattice(word, scores)):
            for start, score in edges:
                expected[word[start:end]] += count * before[start] * exp(score) * after[end] / before[-1]
    return likelihood, log_probabilities(expected)


def loss(corpus: Mapping[str, int], scores: Scores) -> float:
    """Return the loss of the corpus: for each word, -log p of its best segmentation times its count, all added up.

    Examples:
        >>> loss({"a": 2}, {"a": -1.5})
        3.0
    """
    return -sum(count * viterbi(word, scores)[0] for word, count in corpus.items())


def removal_costs(corpus: Mapping[str, int], scores: Scores) -> dict[str, float]:
    """For each piece of several characters, compute how much the loss grows if only this piece is removed.

    Examples:
        >>> removal_costs({"ab": 1}, {"a": -1.0, "b": -1.0, "ab": -1.5})
        {'ab': 0.5}
    """
    now = loss(corpus, scores)
    long = [piece for piece in scores if len(piece) > 1]
    return {piece: loss(corpus, {p: s for p, s in scores.items() if p != piece}) - now for piece in long}


def prune(corpus: Mapping[str, int], scores: Scores, keep: int) -> dict[str, float]:
    """Drop the pieces whose removal costs least, until `keep` pieces are left; never drop single characters.

    Examples:
        >>> prune({"ab": 1}, {"a": -1.0, "b": -1.0, "ab": -1.5}, keep=2)
        {'a': -1.0, 'b': -1.0}
    """
    costs = removal_costs(corpus, scores)
    dropped = sorted(costs, key=lambda piece: round(costs[piece], 9))[: max(0, len(scores) - keep)]
    return {piece: score for piece, score in scores.items() if piece not in dropped}


def sample(text: str, scores: Scores, rng: random.Random, alpha: float = 1.0) -> list[str]:
    """Draw a segmentation at random, weighted by its probability to the power of `alpha`.

    Examples:
        >>> sample("ab", {"a": log(0.5), "b": log(0.5)}, random.Random(0))
        ['a', 'b']
    """
    sums, edges = forward(text, scores, alpha), lattice(text, scores)
    pieces: list[str] = []
    end = len(text)
    while end:
        shares = [sums[start] * exp(alpha * score) for start, score in edges[end]]
        start, _ = rng.choices(edges[end], shares)[0]
        pieces.insert(0, text[start:end])
        end = start
    return pieces


def beside_jeton() -> None:
    """Encode, explain and sample with Jeton; the results must equal those of this lesson."""
    import jeton

    scores = log_probabilities(COUNTS)
    with TemporaryDirectory() as folder, chdir(folder):
        pieces = {piece: (score, "normal") for piece, score in scores.items()}
        Path("hug.model").write_bytes(write_model(pieces, "unigram"))
        tok = jeton.load("hug.model")
        ids = tok.encode("unhug")
        print("jeton:", [tok.id_to_token(id) for id in ids])
        assert [tok.id_to_token(id) for id in ids] == viterbi("unhug", scores)[1]
        paths = tok.explain("unhug").pretokens[0].lattice
        assert paths is not None
        for found, (score, segmentation) in zip([paths.best, *paths.others], nbest("unhug", scores, 3), strict=False):
            assert ["unhug"[edge.start : edge.end] for edge in found.edges] == segmentation
            assert abs(found.score - score) < 1e-5  # scores have 32 bits in SentencePiece's files
        printed = jeton_command("jeton encode --tokenizer hug.model --format ids unhug")
        assert [int(id) for id in printed.split()] == ids
        printed = jeton_command("jeton explain --tokenizer hug.model unhug")
        assert "-5.21 = un (-2.57) + hug (-2.64)" in printed
        assert "next best: -6.98 = u (-1.76) + n (-2.57) + hug (-2.64)" in printed


def main(path: str | None = None) -> None:
    """Print the segmentations, losses and rounds of this lesson, and encode with a published model."""
    scores = log_probabilities(COUNTS)
    for score, pieces in nbest("unhug", scores, 3):
        print(f"unhug {score:.2f}", *pieces)
    print(f"loss {loss(CORPUS, scores):.1f}")
    for piece, cost in sorted(removal_costs(CORPUS, scores).items(), key=lambda item: item[1]):
        print(f"  without {piece:<4} {cost:+.1f}")
    model: Scores = scores
    for number in range(1, 7):
        likelihood, model = em_round(CORPUS, model)
        print(f"EM round {number}: log-likelihood {likelihood:.2f}")
    rng = random.Random(1)  # noqa: S311
    print(Counter(" ".join(sample("hugs", scores, rng, alpha=0.5)) for _ in range(1000)))
    if path is None:
        print("No path of a Unigram .model was given: only the toy of this lesson was used.")
        return
    data = Path(path).read_bytes()
    if model_type(data) != "unigram":
        raise SystemExit(f"{path} is a {model_type(data)} model: this lesson encodes with Unigram models")
    published = {name: score for name, (score, kind) in read_model(data).items() if kind == "normal"}
    for text in ("the training", "internationalization"):
        score, pieces = viterbi(normalize(text), published)
        print(f"{Path(path).name}, {len(published):,} pieces: {score:.2f}", *pieces)


if __name__ == "__main__":
    main(*sys.argv[1:2])
    with_jeton(beside_jeton)
