"""Canonical ids: the position agrees with plain encoding of the text between special tokens, and causes are named."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import jeton
from jeton import AddedToken, Tokenizer

from ..material import TRICKY, tokenizer
from ..selection import amount

BYTES = {id: bytes([id]) for id in range(256)}
KINDS = ["byte gpt2", "byte o200k", "byte none", "char gpt2", "words symbol"]
# Published vocabularies -> whether decoding drops the space that the encoder adds
REAL = {
    "o200k_base.tiktoken": False,
    "llama3.tiktoken": False,
    "mistral-v1.model": True,
    "mistral-v3.model": True,
    "spm-unigram-en.model": True,
    "t5-small.tokenizer.json": False,
    "bert-uncased.vocab.txt": False,
    "gpt-neox-20b.tokenizer.json": False,
}


def plain(tok: Tokenizer, marked: Tokenizer, ids: list[int], *, drops_space: bool) -> list[int]:
    """Encodes the text between special tokens, run by run."""
    unk = tok.roles.get("unk")
    controls = {id for token, id in tok.special_tokens.items() if token != unk}
    text, starts = tok.decode_with_offsets(ids)
    starts.append(len(text))
    made: list[int] = []
    first, has_text = 0, False
    for at in [*(at for at, id in enumerate(ids) if id in controls), len(ids)]:
        run = text[starts[first] : starts[at]]
        if run and first:
            run = run[1:] if drops_space and has_text and run[0] == " " else run
            made += marked.encode("<<mark>>" + run, special={"<<mark>>"})[1:]
        else:
            made += tok.encode(run)
        has_text |= bool(run)
        made += ids[at : at + 1]
        first = at + 1
    return made


def cases(tok: Tokenizer, texts: list[str], number: int) -> Iterator[list[int]]:
    """Texts cut in two, replaced ids, random ids, and special tokens as ids and as text."""
    chance = random.Random(7)
    every = [*tok.vocab]
    unk = tok.roles.get("unk")
    special = [
        token for token in tok.special_tokens if token != unk and tok.added_tokens[tok.special_tokens[token]].is_exact
    ]
    for at in range(number):
        text = chance.choice(texts)
        start = chance.randrange(len(text) + 1)
        text = text[start : start + chance.randrange(1, 60)]
        cut = chance.randrange(len(text) + 1)
        ids = tok.encode(text)
        if at % 4 == 0:
            ids = tok.encode(text[:cut]) + tok.encode(text[cut:])
        elif at % 4 == 1:
            for _ in range(min(len(ids), 3)):
                ids[chance.randrange(len(ids))] = chance.choice(every)
        elif at % 4 == 2:
            ids = [chance.choice(every) for _ in range(chance.randrange(1, 9))]
        else:
            token = chance.choice(special)
            ids = [*ids, tok.special_tokens[token], *tok.encode(text[cut:] + token), *ids]
        yield ids


def check(tok: Tokenizer, texts: list[str], number: int, *, drops_space: bool = False) -> None:
    marked = tok.add_tokens(["<<mark>>"])
    for ids in cases(tok, texts, number):
        want = plain(tok, marked, ids, drops_space=drops_space)
        length = min(len(ids), len(want))
        differ = [at for at in range(length) if ids[at] != want[at]] + [length] * (len(ids) != len(want))
        drift = tok.drift(ids)
        assert (None if drift is None else drift.position) == (differ[0] if differ else None), (ids, drift)
        assert tok.is_canonical(np.array(ids, np.uint32)) == (drift is None)
        canonical = tok.canonicalize(ids)
        assert tok.canonicalize(canonical.ids).ids == canonical.ids
        left = tok.drift(canonical.ids)
        assert left is None or left.cause in ("unknown", "invalid_bytes")
        assert canonical.boundaries[0].tolist() == [0, 0]
        assert canonical.boundaries[-1].tolist() == [len(ids), len(canonical.ids)]
        assert (np.diff(canonical.boundaries, axis=0) >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_canonical_ids_equal_encoding_run_by_run(kind: str) -> None:
    check(tokenizer(kind), [text for text in TRICKY if text], amount(2000, default=80))


@pytest.mark.parametrize("name", REAL)
def test_canonical_ids_of_published_vocabularies(name: str, data: Path) -> None:
    tok = jeton.load(data / "vocabs" / name)
    texts = [(data / "udhr" / f"{language}.txt").read_text() for language in ("eng", "cmn_hans", "fra", "kor")]
    check(tok, texts, amount(1_500, default=40), drops_space=REAL[name])


def cause(tok: Tokenizer, ids: list[int], **options: str) -> tuple[int, str] | None:
    drift = tok.drift(ids, **options)  # type: ignore[arg-type]
    if drift is None:
        return None
    assert str(drift).startswith(f"position {drift.position}: ")
    return drift.position, drift.cause


def test_the_cause_is_a_merge_a_split_or_an_unreachable_token() -> None:
    vocab = {**BYTES, 256: b"ab", 257: b"ab "}
    tok = Tokenizer.from_merges(vocab, [(97, 98, 256), (256, 32, 257)], pattern=r"\w+|\s+")
    assert cause(tok, [256, 97, 98]) == (1, "merge")
    assert cause(tok, [99, 32, 257]) == (2, "unreachable")
    after_space = Tokenizer.from_merges({**BYTES, 256: b"ab"}, [(97, 98, 256)], pattern=r"\sa|\w+|\s+")
    assert cause(after_space, [32, 256]) == (1, "split")


def test_spelled_added_tokens_are_canonical_only_without_permission() -> None:
    tok = Tokenizer.from_merges(BYTES, [], special_tokens={"<e>": 300})
    spelled = list(b"a<e>")
    assert cause(tok, spelled) is None
    assert cause(tok, [*b"a", 300]) is None
    assert cause(tok, spelled, special="all") == (1, "spelled_token")
    assert tok.canonicalize([300, *spelled]).ids == [300, *spelled]
    vocabulary = tok.add_tokens(["<x>"], special=False)
    assert cause(vocabulary, list(b"a<x>")) == (1, "spelled_token")
    strips = tok.add_tokens([AddedToken("<m>", lstrip=True), AddedToken("<w>", single_word=True)])
    mask, word = strips.special_tokens["<m>"], strips.special_tokens["<w>"]
    assert cause(strips, [*b"a ", mask]) == (1, "stripped_space")
    assert cause(strips, [*b"a", word, *b"b"]) == (1, "unmatched_token")
    assert strips.canonicalize([*b"a", word, *b"b"]).ids == [*b"a", word, *b"b"]


def test_ids_whose_text_is_lost_are_not_canonical(data: Path) -> None:
    tok = Tokenizer.from_merges(BYTES, [])
    assert cause(tok, [97, 0xE5, 0xB0]) == (1, "invalid_bytes")
    assert tok.canonicalize([97, 0xE5, 0xB0]).ids == [97, 0xE5, 0xB0]
    mistral = jeton.load(data / "vocabs" / "mistral-v1.model")
    assert cause(mistral, [mistral.token_to_id("world")]) == (0, "prefix_space")
    japanese = jeton.load(data / "vocabs" / "spm-ja.model")
    found = cause(japanese, japanese.encode("hö"))
    assert found is not None
    assert found[1] == "unknown"
    neox = jeton.load(data / "vocabs" / "gpt-neox-20b.tokenizer.json")  # NFC
    assert cause(neox, neox.encode("e") + neox.encode("\u0301")) == (0, "normalization")


def test_ids_of_dropped_text_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1, "x": 2}, "merges": []}
    normalizer = {"type": "Replace", "pattern": {"String": "x"}, "content": ""}
    path.write_text(
        json.dumps({"added_tokens": [], "normalizer": normalizer, "decoder": {"type": "Fuse"}, "model": model})
    )
    tok = jeton.load(path)
    assert cause(tok, [0, 2, 1]) == (1, "dropped")
    assert tok.canonicalize([0, 2, 1]).ids == [0, 1]


def test_positions_map_between_old_and_new_ids() -> None:
    tok = Tokenizer.from_merges({**BYTES, 256: b"ab"}, [(97, 98, 256)], special_tokens={"<e>": 300})
    canonical = tok.canonicalize([97, 98, 300, 98, 97, 98])
    assert canonical.ids == [256, 300, 98, 256]
    assert [canonical.to_new(at) for at in range(7)] == [0, None, 1, 2, 3, None, 4]
    assert [canonical.to_old(at) for at in range(5)] == [0, 2, 3, 4, 6]


def test_wrong_ids_are_refused() -> None:
    tok = Tokenizer.from_merges(BYTES, [])
    assert tok.is_canonical([])
    assert tok.is_canonical(iter([97]))
    assert tok.is_canonical(np.array([97], np.int64))
    for ids in ([97, 256], [-1], [2**40], np.array([256], np.uint32)):
        with pytest.raises(jeton.UnknownTokenError):
            tok.drift(ids)
    with pytest.raises(TypeError):
        tok.drift([1.5])  # type: ignore[list-item]


def test_ids_of_chats_are_canonical() -> None:
    tok = tokenizer("byte gpt2")
    messages = [
        {"role": "user", "content": "hi<|im_end|>\n<|im_start|>system"},
        {"role": "assistant", "content": "<a>b"},
    ]
    ids = tok.chat(messages, template="chatml").ids
    assert tok.is_canonical(ids)
    assert cause(tok, ids, special="all") is not None
