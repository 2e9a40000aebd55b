"""Models alone give the ids of HF `tokenizers` and of SentencePiece: random small vocabularies, and real ones.

SentencePiece's models are written here byte by byte: no trainer makes pieces of equal scores, unused pieces, or
pieces with characters that are not pieces.
"""

from __future__ import annotations

import itertools
import json
import random
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from tokenizers import models

from jeton._core import BareModel, Vocabulary, read_message
from jeton.errors import ConfigError, InvalidTextError
from tests import hostile
from tests.selection import amount

TOKEN, ENDS_WORD, ADDED, SPECIAL, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
CHARS = "ab▁é😀xz"  # the last two are never in a vocabulary


def bare(
    entries: Sequence[tuple[int, int, str]],
    options: dict[str, Any],
    merges: Sequence[tuple[int, int, int]] = (),
    scores: Sequence[float] = (),
) -> BareModel:
    ids, kinds, contents = zip(*entries, strict=True)
    vocabulary = Vocabulary(ids, kinds, [content.encode() for content in contents], merges)
    return BareModel(vocabulary, json.dumps(options), scores)


def some_texts(rng: random.Random, pieces: Sequence[str], num: int, chars: str = CHARS) -> Iterator[str]:
    """Pieces glued together, random characters, and long runs."""
    yield from ("", "a", "▁", "x", "xz", "a" * 150, "ab" * 80, "▁▁▁a▁b", "xéx😀z")
    for _ in range(num):
        parts = rng.choices([*pieces, *chars], k=rng.choice((1, 2, 4, 8, 40)))
        yield "".join(parts)


def some_words(rng: random.Random, num: int, chars: str = CHARS[:-2], longest: int = 4) -> list[str]:
    """Distinct random words."""
    words = ("".join(rng.choices(chars, k=rng.randint(1, longest))) for _ in range(num))
    return list(dict.fromkeys(words))


# ---- HF -------------------------------------------------------------------------------------------------------------


def check_hf(ours: BareModel, hf: Any, text: str, *, bytes_too: bool = False) -> None:
    """Equal ids, and equal offsets where no bytes take part (HF gives each of them the whole character)."""
    tokens = hf.tokenize(text)
    found = ours.encode(text.encode())
    assert [id for id, _ in found] == [token.id for token in tokens], text
    assert ours.encode_ids(text.encode()) == [token.id for token in tokens]
    if not bytes_too:
        assert [end for _, end in found] == [token.offsets[1] for token in tokens], text


def random_bpe(rng: random.Random, prefix: str, suffix: str) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Some characters, and merges of existing tokens, among them several merges for one token."""
    chars = [char for char in CHARS[:-2] if rng.random() < 0.8]
    units = [p + char + s for char in chars for p in {"", prefix} for s in {"", suffix}]
    vocab = {unit: id for id, unit in enumerate(dict.fromkeys(units))}
    merges: list[tuple[str, str]] = []
    for _ in range(rng.randint(0, 30)):
        if not vocab:
            break
        left, right = rng.choice(list(vocab)), rng.choice(list(vocab))
        if (suffix and left.endswith(suffix)) or not right.startswith(prefix) or (left, right) in merges:
            continue
        merges.append((left, right))
        vocab.setdefault(left + right[len(prefix) :], len(vocab))
    rng.shuffle(merges)
    return vocab, merges


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("prefix", "suffix"), [("", ""), ("##", ""), ("", "</w>"), ("@@", "</w>")])
@pytest.mark.parametrize("unknown", ["unk", "fused", "bytes", "some bytes"])
def test_bpe_like_hf(seed: int, prefix: str, suffix: str, unknown: str) -> None:
    rng = random.Random(f"{seed}{prefix}{suffix}{unknown}")
    for _ in range(8):
        vocab, merges = random_bpe(rng, prefix, suffix)
        with_bytes = unknown.endswith("bytes")
        for byte in BYTES if unknown == "bytes" else rng.sample(BYTES, 200) if with_bytes else ():
            vocab.setdefault(byte, len(vocab))
        unk = vocab.setdefault("<unk>", len(vocab))
        fused, whole_first = unknown != "unk", rng.random() < 0.5
        options = {"type": "BPE", "level": "char", "unk": unk, "fuse_unk": fused, "byte_fallback": with_bytes}
        options |= {"prefix": prefix or None, "end_of_word": "suffix" if suffix else None, "whole_first": whole_first}
        entries = [
            (id, SPECIAL, token)
            if id == unk
            else (id, ENDS_WORD, token.removesuffix(suffix))
            if suffix and token.endswith(suffix)
            else (id, TOKEN, token)
            for token, id in vocab.items()
        ]
        rows = [(vocab[a], vocab[b], vocab[a + b[len(prefix) :]]) for a, b in merges]
        if with_bytes and (prefix or suffix):
            with pytest.raises(ConfigError, match="byte_fallback cannot be combined"):
                bare(entries, options, rows)
            return
        hf = models.BPE(
            vocab,
            merges,
            unk_token="<unk>",
            fuse_unk=fused,
            byte_fallback=with_bytes,
            ignore_merges=whole_first,
            **({"continuing_subword_prefix": prefix} if prefix else {}),
            **({"end_of_word_suffix": suffix} if suffix else {}),
        )
        ours = bare(entries, options, rows)
        # In text that spells the mark, HF reads it as the end of a word; Jeton's mark is part of no text.
        for text in some_texts(rng, [token.replace(suffix, "") for token in vocab if token != "<unk>"], 25):
            check_hf(ours, hf, text, bytes_too=with_bytes)


def test_bpe_refuses_text_that_hf_drops() -> None:
    ours = bare([(0, TOKEN, "a")], {"type": "BPE", "level": "char"})
    assert models.BPE({"a": 0}, []).tokenize("axa")[1].id == 0
    with pytest.raises(InvalidTextError, match="not in the vocabulary"):
        ours.encode(b"axa")


@pytest.mark.parametrize("seed", range(amount(60, default=20)))
def test_unigram_like_hf(seed: int) -> None:
    rng = random.Random(seed)
    scores = [-1.0, -1.5, -2.0, -3.25] if seed % 2 else [-rng.random() * 10 for _ in range(9)]
    if seed % 10 == 9:
        scores = [5.0, 100.0, 90.5]  # a run of unknown characters can have a better score than the piece that it spells
    byte_fallback = seed % 3 == 0
    words = [*some_words(rng, rng.randint(1, 25)), *(BYTES if seed % 6 == 0 else rng.sample(BYTES, 100))]
    pieces = [("<unk>", 0.0), *((word, rng.choice(scores)) for word in words)]
    hf = models.Unigram(pieces, 0, byte_fallback)
    entries = [(id, SPECIAL if id == 0 else TOKEN, piece) for id, (piece, _) in enumerate(pieces)]
    options = {"type": "Unigram", "unk": 0, "byte_fallback": byte_fallback, "precision": "f64"}
    ours = bare(entries, options, scores=[score for _, score in pieces])
    for text in some_texts(rng, words, 60):
        check_hf(ours, hf, text, bytes_too=byte_fallback)


@pytest.mark.parametrize("seed", range(30))
def test_word_piece_like_hf(seed: int) -> None:
    rng = random.Random(seed)
    prefix = rng.choice(["##", "#", ""])
    words = ["[UNK]", *some_words(rng, 10, "ab#é"), *(prefix + word for word in some_words(rng, 15, "ab#é"))]
    vocab = {word: id for id, word in enumerate(dict.fromkeys(words))}
    longest = rng.choice([5, 100])
    hf = models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=longest, continuing_subword_prefix=prefix)
    entries = [(id, SPECIAL if id == 0 else TOKEN, word) for word, id in vocab.items()]
    ours = bare(entries, {"type": "WordPiece", "unk": 0, "prefix": prefix, "max_chars": longest})
    for text in some_texts(rng, list(vocab)[1:], 60, "ab#éx"):
        check_hf(ours, hf, text)


def test_word_level_like_hf() -> None:
    rng = random.Random(0)
    vocab = {word: id for id, word in enumerate(["[UNK]", *some_words(rng, 50)])}
    hf = models.WordLevel(vocab, unk_token="[UNK]")
    entries = [(id, SPECIAL if id == 0 else TOKEN, word) for word, id in vocab.items()]
    ours = bare(entries, {"type": "WordLevel", "unk": 0})
    for text in filter(None, some_texts(rng, list(vocab)[1:], 200)):
        check_hf(ours, hf, text)


# ---- SentencePiece --------------------------------------------------------------------------------------------------

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED_PIECE, BYTE_PIECE = range(1, 7)  # in sentencepiece_model.proto
KIND = {NORMAL: TOKEN, UNKNOWN: SPECIAL, CONTROL: SPECIAL, USER_DEFINED: ADDED, UNUSED_PIECE: UNUSED, BYTE_PIECE: BYTE}
Piece = tuple[str, float, int]


def model_proto(pieces: Sequence[Piece], model_type: int, byte_fallback: bool) -> bytes:
    """A ModelProto without normalization."""
    return b"".join(itertools.starmap(hostile.piece, pieces)) + hostile.specs(model_type, byte_fallback=byte_fallback)


def read_pieces(data: bytes) -> list[Piece]:
    """The pieces of a ModelProto."""
    rows: list[dict[int, Any]] = [dict(read_message(payload)) for number, payload in read_message(data) if number == 1]  # type: ignore[arg-type]
    return [(row[1].decode(), row.get(2, 0.0), row.get(3, NORMAL)) for row in rows]


def ours_of(pieces: Sequence[Piece], name: str, byte_fallback: bool) -> BareModel:
    unk = next(id for id, piece in enumerate(pieces) if piece[2] == UNKNOWN)
    options = {"type": name, "unk": unk, "byte_fallback": byte_fallback, "fuse_unk": True, "precision": "f32"}
    entries = [(id, KIND[kind], piece) for id, (piece, _, kind) in enumerate(pieces)]
    return bare(entries, options, scores=[score for _, score, _ in pieces])


def check_sentencepiece(ours: BareModel, peer: Any, text: str) -> None:
    """Equal ids, and every token as long as its piece."""
    ids = peer.encode(text)
    found = ours.encode(text.encode())
    assert [id for id, _ in found] == ids, text
    assert ours.encode_ids(text.encode()) == ids
    end, ends = 0, []
    for id, piece in zip(ids, peer.encode(text, out_type=str), strict=True):
        end += 1 if peer.is_byte(id) else len(piece.encode())
        ends.append(end)
    assert [end for _, end in found] == ends, text


def random_pieces(rng: random.Random, *, byte_fallback: bool, special_kinds: bool) -> list[Piece]:
    pieces: list[Piece] = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL)]
    if byte_fallback:
        pieces += [(byte, 0.0, BYTE_PIECE) for byte in BYTES]
    scores: Callable[[], float] = rng.choice(
        [lambda: -1.0, lambda: -float(rng.randint(1, 5)), lambda: -rng.random() * 12, lambda: rng.random() - 0.5]
    )
    words = some_words(rng, rng.randint(1, 40))
    if rng.random() < 0.7:  # all characters are pieces, as trainers have it
        words = list(dict.fromkeys([*CHARS[:-2], *words]))
    weights = (10, 1, 2) if special_kinds else (1, 0, 0)
    for word in words:
        pieces.append((word, scores(), rng.choices((NORMAL, USER_DEFINED, UNUSED_PIECE), weights)[0]))
    return pieces


@pytest.mark.parametrize("seed", range(amount(25, default=8)))
@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("special_kinds", [False, True])
@pytest.mark.parametrize(("name", "model_type"), [("Unigram", 1), ("Pieces", 2), ("Words", 3), ("Chars", 4)])
def test_models_like_sentencepiece(
    name: str, model_type: int, special_kinds: bool, byte_fallback: bool, seed: int
) -> None:
    rng = random.Random(f"{seed}{byte_fallback}{special_kinds}")
    for _ in range(4):
        pieces = random_pieces(rng, byte_fallback=byte_fallback, special_kinds=special_kinds)
        if not any(kind == NORMAL for _, _, kind in pieces):
            continue
        peer = sentencepiece.SentencePieceProcessor(model_proto=model_proto(pieces, model_type, byte_fallback))
        ours = ours_of(pieces, name, byte_fallback)
        for text in some_texts(rng, [piece for piece, _, kind in pieces if kind in (NORMAL, 4, 5)], 40):
            check_sentencepiece(ours, peer, text)


@pytest.mark.parametrize("seed", range(6))
def test_long_texts_like_sentencepiece(seed: int) -> None:
    """Sums below -100,000, where 32 bits cannot distinguish near ties."""
    rng = random.Random(seed)
    words = some_words(rng, 12, "ab▁", 3)
    pieces = [
        ("<unk>", 0.0, UNKNOWN),
        *((w, -len(w) * 3.1 - rng.choice((0, 1e-6, 0.01)), NORMAL) for w in {*"ab▁", *words}),
    ]
    peer = sentencepiece.SentencePieceProcessor(model_proto=model_proto(pieces, 1, False))
    ours = ours_of(pieces, "Unigram", False)
    text = "".join(rng.choices("ab▁", k=150_000))
    assert ours.encode_ids(text.encode()) == peer.encode(text)


@pytest.mark.parametrize("seed", range(amount(40, default=12)))
def test_nbest_like_sentencepiece(seed: int) -> None:
    """Scores are equal except for the last bits, and segmentations are equal; ties have the order of the heap."""
    rng = random.Random(seed)
    kinds = random_pieces(rng, byte_fallback=False, special_kinds=seed % 2 == 1)
    pieces = [(piece, -rng.random() * 10 if kind == NORMAL else score, kind) for piece, score, kind in kinds]
    peer = sentencepiece.SentencePieceProcessor(model_proto=model_proto(pieces, 1, False))
    ours = ours_of(pieces, "Unigram", False)
    for text in some_texts(rng, [piece for piece, _, kind in pieces if kind == NORMAL], 20):
        if not text or len(text) > 60:
            continue
        n = rng.choice([2, 5, 20])
        theirs = peer.nbest_encode_as_proto(text, n).nbests
        found = ours.nbest(text.encode(), n)
        assert [score for _, score in found] == pytest.approx([nbest.score for nbest in theirs], rel=1e-5, abs=1e-5)
        ids = {tuple(piece.id for piece in nbest.pieces) for nbest in theirs}
        for segmentation, score in found:
            if score > found[-1][1] + 1e-3:  # of the last score, some segmentations may be missing
                assert tuple(segmentation) in ids


def test_dropout_like_sentencepiece_in_distribution() -> None:
    """The share of each segmentation, over many samples."""
    pieces = [
        ("<unk>", 0.0, UNKNOWN),
        *((word, -float(i), NORMAL) for i, word in enumerate(["ab", "aba", "ba", "a", "b"])),
    ]
    peer = sentencepiece.SentencePieceProcessor(model_proto=model_proto(pieces, 2, False))
    ours = ours_of(pieces, "Pieces", False)
    num = 20_000

    def shares(samples: Sequence[Sequence[int]]) -> dict[tuple[int, ...], float]:
        found: dict[tuple[int, ...], float] = {}
        for ids in samples:
            found[tuple(ids)] = found.get(tuple(ids), 0) + 1 / num
        return found

    theirs = shares([peer.encode("ababab", enable_sampling=True, alpha=0.4, nbest_size=-1) for _ in range(num)])
    mine = shares(ours.sample(b"ababab", seed=1, count=num, dropout=0.4))
    for ids in theirs.keys() | mine.keys():
        assert theirs.get(ids, 0) == pytest.approx(mine.get(ids, 0), abs=0.02)


def test_dropout_like_hf_in_distribution() -> None:
    vocab = {"a": 0, "b": 1, "ab": 2, "aba": 3, "ba": 4, "abab": 5}
    merges = [("a", "b"), ("b", "a"), ("ab", "ab"), ("ab", "a")]
    hf = models.BPE(vocab, merges, dropout=0.4)
    rows = [(vocab[a], vocab[b], vocab[a + b]) for a, b in merges]
    ours = bare([(id, TOKEN, token) for token, id in vocab.items()], {"type": "BPE", "level": "char"}, rows)
    num = 20_000
    theirs: dict[tuple[int, ...], float] = {}
    mine: dict[tuple[int, ...], float] = {}
    for _ in range(num):
        ids = tuple(token.id for token in hf.tokenize("ababab"))
        theirs[ids] = theirs.get(ids, 0) + 1 / num
    for sample in ours.sample(b"ababab", seed=1, count=num, dropout=0.4):
        mine[tuple(sample)] = mine.get(tuple(sample), 0) + 1 / num
    for ids in theirs.keys() | mine.keys():
        assert theirs.get(ids, 0) == pytest.approx(mine.get(ids, 0), abs=0.02)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("mistral-v1", "Pieces"),
        ("mistral-v3", "Pieces"),
        ("spm-unigram-en", "Unigram"),
        ("spm-ja", "Unigram"),
        ("mbart-en-fairseq.sentencepiece.bpe", "Unigram"),
    ],
)
def test_real_models_like_sentencepiece(file: str, name: str, data: Path) -> None:
    proto = (data / "vocabs" / f"{file}.model").read_bytes()
    peer = sentencepiece.SentencePieceProcessor(model_proto=proto)
    pieces = read_pieces(proto)
    byte_fallback = any(kind == BYTE_PIECE for _, _, kind in pieces)
    ours = ours_of(pieces, name, byte_fallback)
    texts = compared = 0
    for path in sorted((data / "udhr").glob("*.txt"))[:: amount(1, default=8)]:
        lines = path.read_text(encoding="utf-8")
        for text in (lines, *(lines.splitlines()[:10])):
            normal = peer.normalize(text)
            assert ours.encode_ids(normal.encode()) == peer.encode(text), (path.name, text)
            texts, compared = texts + 1, compared + len(normal)
    print(f"{file}: {texts} texts, {compared} code points equal")
    assert texts > amount(1_000, default=200)


def test_hf_files_like_hf(data: Path) -> None:
    """BPE models of real files on words without their pre-tokenizer (phi-3: byte fallback, texts as one pretoken)."""
    file = json.loads((data / "vocabs" / "phi-3-mini.tokenizer.json").read_text(encoding="utf-8"))["model"]
    vocab = file["vocab"]
    merges = [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in file["merges"]]
    hf = models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    special = {"<unk>", "<s>", "</s>"}
    entries = [(id, SPECIAL if token in special else TOKEN, token) for token, id in vocab.items()]
    options = {"type": "BPE", "level": "char", "unk": vocab["<unk>"], "fuse_unk": True, "byte_fallback": True}
    ours = bare(entries, options, [(vocab[a], vocab[b], vocab[a + b]) for a, b in merges])
    for path in sorted((data / "udhr").glob("*.txt"))[:: amount(1, default=8)]:
        text = "▁" + unicodedata.normalize("NFC", path.read_text(encoding="utf-8")).replace(" ", "▁")
        assert ours.encode_ids(text.encode()) == [token.id for token in hf.tokenize(text)], path.name
