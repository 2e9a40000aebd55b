"""Step 18. SentencePiece's BPE: the same merges, chosen by scores.

    python step18_sentencepiece.py           also without Jeton
    python -m jeton.reference.step18_sentencepiece

Pass the path of a published BPE model, such as Mistral's `tokenizer.model`, to encode with it, too; without a path,
only the small models of this lesson are used.

A SentencePiece model stores no merges. It stores *pieces*, each with a score, and two neighbors can merge if their
characters joined are a piece. Training gives the piece of the first merge the score 0, the next piece -1, and so on. So
"the highest score first" means the same as "the lowest rank first" in step 5; if scores are equal, the leftmost pair
is merged first. `▁` (U+2581) stands for a space. The text is one sequence, which is not split into pretokens.

**The agenda.** Scanning all pairs for each merge is slow. SentencePiece links each symbol to its neighbors, `prev` and
`next`, and keeps the pairs that can merge in a priority queue, the *agenda*, ordered by score, then by position. After
a merge only two pairs are new, and `maybe_add_new_symbol_pair` pushes them. The pieces below are in the order of
Mistral 7B's model, except that `▁training` comes last here and is marked as unused.

>>> print(explain("▁the▁training", TRAINING))
▁ t h e ▁ t r a i n i n g
▁t        score   0 at  0  ▁t h e ▁ t r a i n i n g
▁t        score   0 at  4  ▁t h e ▁t r a i n i n g
in        score  -1 at  8  ▁t h e ▁t r a in i n g
in        score  -1 at 10  ▁t h e ▁t r a in in g
he        score  -2 at  2  ▁t he ▁t r a in in g
▁the      score  -3 at  0  ▁the ▁t r a in in g
ing       score  -4 at 10  ▁the ▁t r a in ing
▁th       score  -5 at  0  stale
th        score  -6 at  1  stale
ain       score  -7 at  7  ▁the ▁t r ain ing
tr        score  -8 at  5  stale
▁tr       score  -9 at  4  ▁the ▁tr ain ing
ra        score -10 at  6  stale
ng        score -11 at 11  stale
▁train    score -12 at  4  ▁the ▁train ing
▁training score -13 at  4  ▁the ▁training
16 pushed, 5 stale, 11 merged
▁training is unused: ▁train + ing

**Stale entries.** When `▁` and `t` merge, the entry of `t`+`h` is already in the agenda. Finding and removing this
entry would cost more than it saves. The entry stays, and is dropped when it is popped, because one of its symbols has
become empty, or both symbols together no longer have the stored size. Here 5 of 16 entries are stale; the other 11
merged.

**Unused pieces** (type UNUSED) take part in merging, because other pieces are built from them, but must not be in the
result. `rev_merge` stores the two symbols that formed each unused piece. After the last merge, such a piece is
*re-segmented because unused*, that is, split into these two symbols: `▁training` becomes `▁train` and `ing`.

**User-defined symbols** are cut out of the text before anything else, the longest at each position. These symbols are
*frozen*: no pair with a frozen symbol enters the agenda. Without `<sep>` in the text, `in` and `g` would have merged:

>>> encode("in<sep>ging", TRAINING | {"<sep>": Piece(0.0, "user_defined")})
['in', '<sep>', 'g', 'ing']

**BPE-dropout** (Provilkov 2020) skips each merge with a small probability while a model is trained, so that the model
also sees rare segmentations. It is off by default; the paper uses 0.1. A skipped entry is dropped, but a later merge
can push a pair that covers the same characters. These probabilities are exact, not sampled:

>>> for share, pieces in segmentations("▁newest", NEWEST, dropout=0.1)[:5]:
...     print(f"{share:.2f}", *pieces)
0.69 ▁newest
0.07 ▁ ne west
0.07 ▁n ewest
0.07 ▁newe s t
0.01 ▁n e west

Left out: characters that are not pieces, the normalizer that writes `▁`, and ids (step 19). Scanning all pairs for each
merge, which is slow, gives the same pieces; so does Jeton, which looks up merges in a table of pairs of ids.

**With Jeton.** `beside_jeton` writes the pieces to `training.model`, and gets the same pieces from Jeton. Jeton's
`explain` shows the agenda in the terms of this lesson.

    tok = jeton.load("training.model")
    ids = tok.encode("▁the▁training", dropout=0.0)

    $ jeton encode --tokenizer training.model --format ids ▁the▁training
    $ jeton explain --tokenizer training.model ▁the▁training

Source: google/sentencepiece, src/bpe_model.cc and src/sentencepiece_model.proto (algorithm and field numbers); Kudo
and Richardson 2018; Sennrich, Haddow and Birch 2016; Provilkov, Emelianenko and Voita 2020. Next: step19_xlmr.py.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir
from heapq import heappop, heappush
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

if not __package__:  # run as a file: `python step18_sentencepiece.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .sentencepiece_file import model_type, read_model, write_model

__all__ = ["Entry", "Merging", "Piece", "encode", "explain", "segmentations"]

Skip = Callable[[], bool]  # called before each merge; True skips the merge


class Piece(NamedTuple):
    """Piece of a model: its score, and its kind (normal, unknown, control, user_defined, unused or byte).

    Examples:
        >>> Piece(-3.0)
        Piece(score=-3.0, kind='normal')
    """

    score: float
    kind: str = "normal"


class Entry(NamedTuple):
    """Entry of the agenda. Tuples compare item by item, so the highest score is first, then the leftmost position.

    Examples:
        >>> min(Entry(1.0, 0, 1, "he"), Entry(0.0, 5, 6, "in"), Entry(0.0, 3, 4, "in"))
        Entry(cost=0.0, left=3, right=4, piece='in')
    """

    cost: float  # the negated score, because a heap has the smallest item on top
    left: int
    right: int
    piece: str  # concatenation of the left and the right symbol when the entry was pushed


class Merging:
    """State of a text during merging. A symbol that was merged into its left neighbor is empty.

    Examples:
        >>> merging = Merging("▁the", TRAINING)
        >>> [(entry.left, what) for entry, what in merging.run()]
        [(0, 'merged'), (2, 'merged'), (0, 'merged'), (0, 'stale'), (1, 'stale')]
        >>> merging.symbols, merging.counts["pushed"]
        (['▁the', '', '', ''], 5)
    """

    def __init__(self, text: str, pieces: Mapping[str, Piece]) -> None:
        self.pieces = pieces
        self.symbols, self.frozen = _first_symbols(text, pieces)
        self.prev = [index - 1 for index in range(len(self.symbols))]
        self.next = [*range(1, len(self.symbols)), -1]
        self.agenda: list[Entry] = []
        self.rev_merge: dict[str, tuple[str, str]] = {}  # unused piece -> the two symbols that formed it most recently
        self.counts: Counter[str] = Counter()
        for index in range(1, len(self.symbols)):
            self.maybe_add_new_symbol_pair(index - 1, index)

    def maybe_add_new_symbol_pair(self, left: int, right: int) -> None:
        """Push a pair if both symbols exist, neither is frozen, and together they are a piece."""
        if -1 in (left, right) or self.frozen[left] or self.frozen[right]:
            return
        together = self.symbols[left] + self.symbols[right]
        found = self.pieces.get(together)
        if not found or found.kind not in ("normal", "unused"):
            return
        heappush(self.agenda, Entry(-found.score, left, right, together))
        self.counts["pushed"] += 1
        if found.kind == "unused":
            self.rev_merge[together] = self.symbols[left], self.symbols[right]

    def run(self, skip: Skip = lambda: False) -> Iterator[tuple[Entry, str]]:
        """Pop entries until the agenda is empty; yield each entry with its outcome: merged, stale or skipped."""
        while self.agenda:
            entry = heappop(self.agenda)
            what = "stale" if self._is_stale(entry) else "skipped" if skip() else "merged"
            if what == "merged":
                self._merge(entry.left, entry.right)
            self.counts[what] += 1
            yield entry, what

    def _is_stale(self, entry: Entry) -> bool:
        left, right = self.symbols[entry.left], self.symbols[entry.right]
        return not left or not right or len(left) + len(right) != len(entry.piece)

    def _merge(self, left: int, right: int) -> None:
        self.symbols[left] += self.symbols[right]
        self.symbols[right] = ""
        self.next[left] = self.next[right]
        if self.next[left] != -1:
            self.prev[self.next[left]] = left
        self.maybe_add_new_symbol_pair(self.prev[left], left)
        self.maybe_add_new_symbol_pair(left, self.next[left])

    def resegment(self, piece: str) -> list[str]:
        """Split an unused piece into the symbols that formed it, repeatedly, until no symbol is unused."""
        if piece not in self.rev_merge:
            return [piece]
        left, right = self.rev_merge[piece]
        return self.resegment(left) + self.resegment(right)


def _first_symbols(text: str, pieces: Mapping[str, Piece]) -> tuple[list[str], list[bool]]:
    """Cut the text into the longest matching user-defined pieces, which are frozen, and single characters."""
    defined = sorted((name for name in pieces if pieces[name].kind == "user_defined"), key=len, reverse=True)
    symbols: list[str] = []
    frozen: list[bool] = []
    at = 0
    while at < len(text):
        found = next((piece for piece in defined if text.startswith(piece, at)), "")
        symbols.append(found or text[at])
        frozen.append(bool(found))
        at += len(symbols[-1])
    return symbols, frozen


def encode(text: str, pieces: Mapping[str, Piece], skip: Skip = lambda: False) -> list[str]:
    """Encode a normalized text to pieces. The result also contains the characters that are not pieces.

    Examples:
        >>> encode("▁the", TRAINING), encode("▁the", TRAINING, skip=lambda: True)
        (['▁the'], ['▁', 't', 'h', 'e'])
    """
    merging = Merging(text, pieces)
    for _ in merging.run(skip):
        pass
    return [piece for symbol in merging.symbols if symbol for piece in merging.resegment(symbol)]


def explain(text: str, pieces: Mapping[str, Piece]) -> str:
    """Describe each popped entry and the symbols after it; then the totals, and the parts of each unused piece.

    Examples:
        >>> print(explain("ing", TRAINING))
        i n g
        in        score  -1 at  0  in g
        ing       score  -4 at  0  ing
        ng        score -11 at  1  stale
        3 pushed, 1 stale, 2 merged
    """
    merging = Merging(text, pieces)
    lines = [" ".join(merging.symbols)]
    for entry, what in merging.run():
        after = " ".join(filter(None, merging.symbols)) if what == "merged" else what
        lines.append(f"{entry.piece:<9} score {0.0 - entry.cost:>3g} at {entry.left:>2}  {after}")
    lines.append(", ".join(f"{merging.counts[what]} {what}" for what in ("pushed", "stale", "merged")))
    for piece in filter(merging.rev_merge.__contains__, merging.symbols):
        lines.append(f"{piece} is unused: {' + '.join(merging.resegment(piece))}")
    return "\n".join(lines)


def segmentations(text: str, pieces: Mapping[str, Piece], dropout: float) -> list[tuple[float, list[str]]]:
    """List all possible results of BPE-dropout with their probabilities, the most probable first; for short texts.

    Examples:
        >>> segmentations("ing", {"in": Piece(0), "ing": Piece(-1)}, 0.5)
        [(0.5, ['i', 'n', 'g']), (0.25, ['ing']), (0.25, ['in', 'g'])]
    """
    shares: dict[tuple[str, ...], float] = {}
    # The text is encoded once for each list in `starts`. Item i of the list is true if merge i of this encoding is
    # skipped. All merges after the end of the list are applied.
    starts: list[list[bool]] = [[]]
    for start in starts:
        made: list[bool] = []

        def skip(start: list[bool] = start, made: list[bool] = made) -> bool:
            made.append(start[len(made)] if len(made) < len(start) else False)
            return made[-1]

        result = tuple(encode(text, pieces, skip))
        shares[result] = shares.get(result, 0.0) + prod(dropout if skipped else 1 - dropout for skipped in made)
        starts += [[*made[:index], True] for index in range(len(start), len(made))]
    return sorted(((share, list(result)) for result, share in shares.items()), reverse=True)


def _by_rank(names: str, characters: str) -> dict[str, Piece]:
    """Give each piece a score by its position; characters come last, as in trained models."""
    return {name: Piece(-float(rank)) for rank, name in enumerate([*names.split(), *characters])}


TRAINING = _by_rank("▁t in he ▁the ing ▁th th ain tr ▁tr ra ng ▁train ▁training", "▁theraing")
TRAINING["▁training"] = Piece(TRAINING["▁training"].score, "unused")
NEWEST = _by_rank("▁n ne st we ewe est west ewest ▁newe ▁newest", "▁newst")


def beside_jeton() -> None:
    """Encode, explain and sample with Jeton, in Python and as a command; the results must equal the lesson's."""
    import jeton

    with TemporaryDirectory() as folder, chdir(folder):
        Path("training.model").write_bytes(write_model(TRAINING, "bpe"))
        Path("newest.model").write_bytes(write_model(NEWEST, "bpe"))
        tok = jeton.load("training.model")
        ids = tok.encode("▁the▁training", dropout=0.0)
        print("jeton:", [tok.id_to_token(id) for id in ids])
        assert [tok.id_to_token(id) for id in ids] == encode("▁the▁training", TRAINING)
        printed = jeton_command("jeton encode --tokenizer training.model --format ids ▁the▁training")
        assert [int(id) for id in printed.split()] == ids
        printed = jeton_command("jeton explain --tokenizer training.model ▁the▁training")
        assert "16 pushed, 5 stale, 11 merged" in printed
        assert "▁training, id 14, re-segmented because unused: (13, 5) ▁train+ing" in printed
        newest = jeton.load("newest.model")
    drawn = [newest.encode("▁newest", dropout=0.1, seed=seed) for seed in range(2000)]
    share = drawn.count([newest.token_to_id("▁newest")]) / len(drawn)
    assert abs(share - segmentations("▁newest", NEWEST, dropout=0.1)[0][0]) < 0.05
    print(f"jeton, dropout=0.1: ▁newest is one piece in {share:.2f} of {len(drawn):,} samples")


def main(path: str | None = None) -> None:
    """Explain a text, list the segmentations of another text, and encode with a published model."""
    print(explain("▁the▁training", TRAINING), end="\n\n")
    print(explain("in<sep>ging", TRAINING | {"<sep>": Piece(0.0, "user_defined")}), end="\n\n")
    for share, pieces in segmentations("▁newest", NEWEST, dropout=0.1)[:5]:
        print(f"{share:.2f}", *pieces)
    if path is None:
        print("No path of a BPE .model was given: only the small vocabularies of this lesson were used.")
        return
    data = Path(path).read_bytes()
    if model_type(data) != "bpe":
        raise SystemExit(f"{path} is a {model_type(data)} model: this lesson encodes with BPE models")
    published = {name: Piece(*fields) for name, fields in read_model(data).items()}
    for text in ("▁the▁training", "▁tokenization▁is▁not▁hard"):
        print(f"{path}, {len(published):,} pieces:", *encode(text, published))


if __name__ == "__main__":
    main(*sys.argv[1:2])
    with_jeton(beside_jeton)
