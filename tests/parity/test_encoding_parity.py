"""Equal ids and equal text in HF `tokenizers`, `transformers` and `tiktoken`, with the files Jeton writes and reads."""

from __future__ import annotations

import base64
import lzma
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken_ext import openai_public
from tokenizers import Tokenizer

import jeton
from jeton.reference.step08_split import PATTERNS
from tests.material import BYTE_KINDS, CORPUS, KINDS, REFUSED_BY_HF, TRICKY, byte_tokenizer, texts, tokenizer
from tests.selection import amount

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
CARRIED = [kind for kind in KINDS if kind not in REFUSED_BY_HF]


@cache
def in_hf(kind: str) -> Tokenizer:
    return Tokenizer.from_buffer(tokenizer(kind).to_bytes())


def seen(text: str, kind: str) -> str:
    """The text as HF decodes it: in files with an end-of-word symbol, U+E000 stands for the mark."""
    return text.replace("\ue000", "") if kind == "words symbol" else text


def check_hf(tok: jeton.Tokenizer, hf: Tokenizer, text: str) -> None:
    """HF always matches special tokens, so Jeton permits all."""
    ids = tok.encode(text, special="all")
    assert hf.encode(text, add_special_tokens=False).ids == ids
    assert hf.decode(ids, skip_special_tokens=False) == tok.decode(ids)
    assert hf.decode(ids, skip_special_tokens=True) == tok.decode(ids, skip_special_tokens=True)


@pytest.mark.parametrize("kind", CARRIED)
def test_hf_gives_equal_ids_and_text(kind: str) -> None:
    tok, hf = tokenizer(kind), in_hf(kind)
    for text in (*TRICKY, CORPUS):
        check_hf(tok, hf, seen(text, kind))
    assert {
        token: id for token, id in hf.get_vocab(with_added_tokens=True).items() if id in tok.special_tokens.values()
    } == tok.special_tokens
    assert hf.get_vocab_size(with_added_tokens=True) == len(tok)


@pytest.mark.parametrize("kind", [kind for kind in CARRIED if kind != "words symbol"])  # its file has a different mark
def test_hf_gives_equal_words_and_characters(kind: str) -> None:
    tok, hf = tokenizer(kind), in_hf(kind)
    assert hf.get_vocab(with_added_tokens=True) == tok.get_vocab()
    for first, second in zip(TRICKY, TRICKY[3:], strict=False):
        ours, theirs = tok.tokenize(first, second, special="all"), hf.encode(first, second)
        assert ours.ids == theirs.ids
        assert ours.word_ids == theirs.word_ids
        for i in range(len(ours.ids) + 1):
            assert ours.token_to_chars(i) == theirs.token_to_chars(i)
            assert [ours.char_to_token(i, of) for of in (0, 1)] == [theirs.char_to_token(i, of) for of in (0, 1)]


@pytest.mark.parametrize("kind", CARRIED)
@given(data=st.data())
@settings(max_examples=amount(150, default=20))
def test_hf_gives_equal_ids_on_anything(kind: str, data: st.DataObject) -> None:
    check_hf(tokenizer(kind), in_hf(kind), seen(data.draw(texts(kind)), kind))


def test_hf_equals_jeton_with_holes_and_added_tokens() -> None:
    tok = byte_tokenizer((97, 98, 300), (300, 99, 290), pattern="gpt2", special_tokens={"<|end|>": 310, "\n\n": 305})
    tok = tok.add_tokens(["tab", "今天"], special=False)
    hf = Tokenizer.from_buffer(tok.to_bytes())
    for text in ("abc tab 今天<|end|>\n\nab", *TRICKY):
        check_hf(tok, hf, text)


REGEXES = [
    r"\p{L}++(?<=[a-z&&[^b]])|.",
    r"(?s:.)",
    r"a{1,3}+|\p{N}{1,3}+|\s",
    r"\bthe\b|.",
    r"\d+$|[^\n]+",
    r"(?x) the | old # a comment",
    r"(?i:k|ſ|s)+|.",
    r"\w+|\W+",
    r"(?m)^\s|^a|.",
    r"[[:alpha:]]+|[[:^alpha:]]",
    r"(?<!\s)\s+(?=\S)|\S+",
]


@pytest.mark.parametrize("pattern", REGEXES)
def test_hf_splits_alike_by_any_regex(pattern: str) -> None:
    tok = jeton.train([CORPUS], 400, pattern=pattern, progress=False)
    data = tok.to_bytes()
    assert b'"losses"' not in data
    hf = Tokenizer.from_buffer(data)
    for text in (*TRICKY, CORPUS, "the\n old 12\n\nK ſs\n"):
        check_hf(tok, hf, text)


def test_text_that_hf_drops_without_unknown_token_is_refused() -> None:
    tok = jeton.train(["今天天气好"], 8, level="char", progress=False)
    hf = Tokenizer.from_buffer(tok.to_bytes())
    check_hf(tok, hf, "今天好")
    assert hf.encode("今x天").ids == tok.encode("今天")
    with pytest.raises(jeton.InvalidTextError):
        tok.encode("今x天")


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "r50k_base", "llama3"])
def test_hf_reads_a_converted_rank_file(data: Path, name: str) -> None:
    pattern = {"r50k_base": "gpt2", "llama3": "llama3"}.get(name)
    tok = jeton.load(data / "vocabs" / f"{name}.tiktoken", pattern=pattern)
    hf = Tokenizer.from_buffer(tok.to_bytes())
    for text in (*TRICKY, CORPUS):
        check_hf(tok, hf, text)
    assert jeton.Tokenizer.from_bytes(tok.to_bytes()) == tok


# ── transformers ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.filterwarnings("ignore")  # ignore warnings of transformers at import
@pytest.mark.parametrize("kind", CARRIED)
def test_transformers_loads_the_folder(kind: str, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    tok = tokenizer(kind)
    tok.save(tmp_path / "model")
    loaded: Any = AutoTokenizer.from_pretrained(tmp_path / "model")
    for text in (*TRICKY, CORPUS):
        ids = tok.encode(text, special="all")
        assert loaded(text, add_special_tokens=False)["input_ids"] == ids
        assert loaded.decode(ids, clean_up_tokenization_spaces=False) == tok.decode(ids)
    assert len(loaded) == len(tok)
    assert loaded.unk_token == tok.roles.get("unk")


# ── tiktoken ──────────────────────────────────────────────────────────────────────────────────────────────────────


# From tiktoken_ext/openai_public.py, where they are inside functions that would download the files.
PUBLISHED = {"cl100k_base": PATTERNS["cl100k"], "o200k_base": PATTERNS["o200k"]}


@cache
def in_tiktoken(path: Path, name: str) -> tuple[jeton.Tokenizer, tiktoken.Encoding]:
    """A rank file, read by Jeton and by tiktoken."""
    tok = jeton.load(path, pattern="gpt2" if name == "r50k_base" else None)
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, path.read_bytes().splitlines())}
    pattern = openai_public.r50k_pat_str if name == "r50k_base" else PUBLISHED[name]
    return tok, tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=dict(tok.special_tokens))


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "r50k_base"])
def test_tiktoken_gives_equal_ids(data: Path, name: str) -> None:
    tok, peer = in_tiktoken(data / "vocabs" / f"{name}.tiktoken", name)
    for text in (*TRICKY, CORPUS, *(text * 3 for text in TRICKY)):
        assert tok.encode(text) == peer.encode_ordinary(text)
        ids = tok.encode(text, special="all")
        assert ids == peer.encode(text, allowed_special="all")
        assert tok.decode_bytes(ids) == peer.decode_bytes(ids)


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
@pytest.mark.parametrize("corpus", ["english", "chinese", "code", "docs_es_pt_ja"])
def test_tiktoken_gives_equal_ids_on_real_text(data: Path, name: str, corpus: str) -> None:
    tok, peer = in_tiktoken(data / "vocabs" / f"{name}.tiktoken", name)
    with lzma.open(data / "corpora" / f"{corpus}.txt.xz", "rt", encoding="utf-8") as file:
        text = file.read(amount(1_500_000, default=200_000))
    assert tok.encode_array(text, threads=2).tolist() == peer.encode_ordinary(text)


@pytest.mark.parametrize("kind", [kind for kind in BYTE_KINDS if "words" not in kind and "whitespace" not in kind])
def test_trained_merges_are_ranks_for_tiktoken(kind: str) -> None:
    """Merges learned in order of id form a rank file: merging by list and by rank give equal ids."""
    tok = tokenizer(kind)
    ranks = {content: id for id, content in tok.vocab.items() if id not in tok.special_tokens.values()}
    peer = tiktoken.Encoding("trained", pat_str=r"[\s\S]+", mergeable_ranks=ranks, special_tokens={})
    for text in (*TRICKY, CORPUS):
        pretokens = tok.tokenize(text).pretokens
        data = text.encode()
        assert tok.encode(text) == [id for start, end in pretokens for id in _ranked(peer, data[start:end], ranks)]


def _ranked(peer: tiktoken.Encoding, pretoken: bytes, ranks: dict[bytes, int]) -> list[int]:
    return peer.encode_ordinary(pretoken.decode())
