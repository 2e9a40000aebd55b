"""Unigram training: the engine equals a plain version on random corpora.

The plain version has no segments, no suffix array, no chunks and no scaling: substrings are counted one by one, and
sums run over whole words. Pieces must be the same and in the same order, and scores equal to 1e-9.
"""

from __future__ import annotations

import json
import math
import random
from collections import defaultdict
from collections.abc import Iterator

import pytest

import jeton
from jeton import _core
from jeton.definition import Definition, Unigram
from jeton.training.presets import SentencePieceUnigram
from jeton.training.stages import Stages

Words = dict[str, int]
Scores = dict[str, float]  # in the order of ids: characters in order, then longer pieces in order

MARK = "▁"
LONGEST = 6
NUM_CORPORA = 60


# ── the plain version ─────────────────────────────────────────────────────────────────────────────────────────────


def digamma(x: float) -> float:
    """The digamma function, by its recurrence and the first terms of its asymptotic series."""
    shift = 0.0
    while x < 40:
        shift -= 1 / x
        x += 1
    return shift + math.log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4) - 1 / (252 * x**6)


def required(words: Words, coverage: float) -> list[str]:
    """The characters that must be pieces, most frequent first."""
    counts: dict[str, int] = defaultdict(int)
    for word, count in words.items():
        for c in word:
            counts[c] += count
    total, covered, kept = sum(counts.values()), 0, []
    for c in sorted(counts, key=lambda c: (-counts[c], c)):
        if covered / total >= coverage:
            break
        covered += counts[c]
        kept.append(c)
    return kept


def kind(c: str) -> str:
    """The script of a character, for the scripts of these tests; characters of a piece share it."""
    return "letter" if c.isascii() and c.isalpha() else "han" if "一" <= c <= "鿿" or "ぁ" <= c <= "ヿ" else "common"


def may_be_piece(text: str, characters: set[str]) -> bool:
    inner = text[1:] if text[0] == MARK else text
    return set(text) <= characters and MARK not in inner and len({kind(c) for c in inner}) <= 1


Ends = dict[str, set[str | int]]  # word -> what follows it, where that was counted: a space, or the end of a line


def seeds(words: Words, characters: list[str], bug_compatible: bool, behind: Ends) -> Scores:
    """Characters, and the substrings that occur twice and that different characters follow."""
    known = set(characters)
    counts: dict[str, int] = defaultdict(int)
    followers: dict[str, set[str | int]] = defaultdict(set)
    for index, (word, count) in enumerate(words.items()):
        for start in range(len(word)):
            for end in range(start + 1, min(len(word), start + LONGEST) + 1):
                counts[word[start:end]] += count
                # What follows the end of a word is not known, or is always the same.
                ends = behind.get(word, {index, -1 - index} if not bug_compatible else {0})
                after = word[end : end + 1]
                if after and bug_compatible and after not in known:
                    after = "\u2585"
                followers[word[start:end]] |= ({after.encode()[0]} if bug_compatible else {after}) if after else ends
    longer = [
        text
        for text, count in counts.items()
        if len(text) > 1 and count > 1 and len(followers[text]) > 1 and may_be_piece(text, known)
    ]
    weights = {text: counts[text] * len(text) for text in (*sorted(characters), *sorted(longer))}
    return {text: math.log(weight) - math.log(sum(weights.values())) for text, weight in weights.items()}


def edges(word: str, scores: Scores) -> Iterator[tuple[int, int, str | None, float]]:
    """(start, end, piece, score) of all pieces in a word; longer ones first, None for an unknown character."""
    unknown = min(scores.values()) - 10
    for start in range(len(word)):
        for end in range(min(len(word), start + LONGEST), start, -1):
            if word[start:end] in scores:
                yield start, end, word[start:end], scores[word[start:end]]
        if word[start] not in scores:
            yield start, start + 1, None, unknown


def expected(words: Words, scores: Scores, unknown: str | None) -> dict[str, float]:
    """Expected count of each piece over all segmentations; characters without a piece count for `unknown`."""
    sums = dict.fromkeys(scores, 0.0)
    for word, count in words.items():
        all_edges = list(edges(word, scores))
        before = [1.0] + [0.0] * len(word)
        after = [0.0] * len(word) + [1.0]
        for start, end, _, score in all_edges:
            before[end] += before[start] * math.exp(score)
        for start, end, _, score in sorted(all_edges, key=lambda edge: -edge[0]):
            after[start] += math.exp(score) * after[end]
        for start, end, known, score in all_edges:
            piece = known or unknown
            if piece is not None:
                sums[piece] += count * before[start] * math.exp(score) * after[end] / before[-1]
    return sums


def maximized(words: Words, scores: Scores, unknown: str | None) -> Scores:
    counts = {piece: count for piece, count in expected(words, scores, unknown).items() if count >= 0.5}
    total = digamma(math.fsum(counts.values()))
    return {piece: digamma(count) - total for piece, count in counts.items()}


def best(word: str, scores: Scores, without: str | None = None) -> tuple[float, list[str | None]]:
    """The best segmentation of a word; with `without`, the best one of several pieces."""
    ways: list[tuple[float, list[str | None]]] = [(0.0, [])] + [(-math.inf, [])] * len(word)
    for start, end, piece, score in edges(word, scores):
        if ways[start][0] + score > ways[end][0] and (piece is None or piece != without or start > 0):
            ways[end] = (ways[start][0] + score, [*ways[start][1], piece])
    return ways[-1]


def pruned(words: Words, scores: Scores, wanted: int, unknown: str | None) -> Scores:
    """Drops the pieces whose loss costs least."""
    counts: dict[str | None, int] = defaultdict(int)
    for word, count in words.items():
        for piece in best(word, scores)[1]:
            counts[piece or unknown] += count
    counts[None] = 0
    total = sum(counts.values())
    keep, losses = set(), []
    for index, (piece, score) in enumerate(scores.items()):
        count = counts[piece]
        if count == 0:
            continue
        if len(piece) == 1:
            keep.add(piece)
            continue
        other, parts = best(piece, scores, without=piece)
        if other > score:
            continue
        moved = math.log(total + count * (len(parts) - 1))
        loss = math.log(count / total) - sum(math.log(counts[part or unknown] + count) - moved for part in parts)
        losses.append((-loss * count / total, index, piece))
    most = max(wanted, int(0.75 * len(scores))) - len(keep)
    keep |= {piece for _, _, piece in sorted(losses)[: max(most, 0)]}
    return {piece: score for piece, score in scores.items() if piece in keep}


def train(
    words: Words, vocab_size: int, num_reserved: int, coverage: float, bug_compatible: bool, behind: Ends | None = None
) -> list[tuple[str, float]]:
    """Pieces and scores, the best first."""
    characters = required(words, coverage)
    scores = seeds(words, characters, bug_compatible, behind or {})
    wanted = int(vocab_size * 1.1)
    while True:
        for _ in range(2):
            unknown = characters[0] if bug_compatible and characters[0] in scores else None
            scores = maximized(words, scores, unknown)
        unknown = characters[0] if bug_compatible and characters[0] in scores else None
        before = len(scores)
        scores = pruned(words, scores, wanted, unknown)
        if len(scores) <= wanted or len(scores) == before:
            break
    scores = {
        piece: score for piece, score in scores.items() if len(piece) == 1 or best(piece, scores, piece)[0] <= score
    }
    missing = [c for c in characters if c not in scores]
    worst = min(scores.values())
    chosen = {c: scores.get(c, worst) for c in characters} | {c: worst + 0.0001 * i for i, c in enumerate(missing)}
    longer = sorted((piece for piece in scores if len(piece) > 1), key=lambda piece: (-scores[piece], piece))
    room = vocab_size - num_reserved - len(chosen)
    chosen |= {piece: scores[piece] for piece in longer[:room]}
    return sorted(chosen.items(), key=lambda item: (-item[1], item[0]))


# ── the comparison ────────────────────────────────────────────────────────────────────────────────────────────────


def make_words(seed: int) -> Words:
    """The words of a number: syllables in three scripts, marks, rare characters, and any counts."""
    rng = random.Random(seed)
    syllables = [rng.choice("abcdefgh") + rng.choice("aeiou") + rng.choice(["", "n", "st"]) for _ in range(8)]
    syllables += ["天", "今天", "かな", ",", "12", "%"][: rng.randint(0, 6)]
    words = {}
    for _ in range(rng.randint(5, 120)):
        word = "".join(rng.choices(syllables, k=rng.randint(1, 5)))
        words[rng.choice([MARK, MARK, MARK, ""]) + word] = rng.randint(1, 5_000)
    return words


def by_engine(
    words: Words, vocab_size: int, preset: SentencePieceUnigram, threads: int, marked: bool = False
) -> list[tuple[str, float]]:
    """Pieces and scores with all their bits; a tokenizer's are rounded as a file holds them."""
    stages = Stages(mark_ends=True) if marked else None
    options = json.loads(preset._unigram_options(vocab_size, 1, stages)) | {"single_precision": False}
    counts = _core.Counts.from_items([(word.encode(), count) for word, count in words.items()])
    reserved = [(0, 4, "<unk>")]
    vocabulary, _ = counts.learn_unigram(json.dumps(options), reserved, _core.Run(threads=threads))
    tok = jeton.Tokenizer(Definition(Unigram("<unk>")), vocabulary)
    scores = tok._core.scores()
    return [(tok.id_to_token(id), scores[id]) for id in range(1, tok.vocab_size)]


@pytest.mark.parametrize("bug_compatible", [True, False])
@pytest.mark.parametrize("seed", range(NUM_CORPORA))
def test_engine_equals_the_plain_version(seed: int, bug_compatible: bool) -> None:
    words = make_words(seed)
    coverage = [1.0, 0.9995, 0.98][seed % 3]
    size = len(required(words, coverage)) + 1 + seed % 40
    preset = SentencePieceUnigram(
        character_coverage=coverage, max_sentencepiece_length=LONGEST, bug_compatible=bug_compatible
    )
    ours = by_engine(words, size, preset, threads=1 + seed % 2)
    plain = train(words, size, 1, coverage, bug_compatible)
    assert [piece for piece, _ in ours] == [piece for piece, _ in plain]
    assert [score for _, score in ours] == pytest.approx([score for _, score in plain], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(NUM_CORPORA))
def test_training_with_line_ends_equals_the_plain_version(seed: int) -> None:
    """Words are counted with a mark where they end a line; a space follows the others."""
    rng = random.Random(seed)
    words, marked = make_words(seed), {}
    behind: Ends = {}
    for word, count in words.items():
        at_end = rng.choice([0, 0, count, rng.randint(1, count)])
        marked |= {text: num for text, num in ((word, count - at_end), (word + "\n", at_end)) if num}
        behind[word] = {MARK.encode()[0]} if not at_end else {0} if at_end == count else {MARK.encode()[0], 0}
    coverage = [1.0, 0.9995, 0.98][seed % 3]
    size = len(required(words, coverage)) + 1 + seed % 40
    preset = SentencePieceUnigram(character_coverage=coverage, max_sentencepiece_length=LONGEST)
    ours = by_engine(marked, size, preset, threads=1 + seed % 2, marked=True)
    plain = train(words, size, 1, coverage, bug_compatible=True, behind=behind)
    assert [piece for piece, _ in ours] == [piece for piece, _ in plain]
    assert [score for _, score in ours] == pytest.approx([score for _, score in plain], rel=1e-9, abs=1e-9)
