"""Shared by many tests: texts that break tokenizers, and a small tokenizer of every kind, trained once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import jeton

TESTDATA = Path(__file__).parents[1] / "testdata"

CORPUS = (
    "The old man told the old tale, and the older man was told: don't we'll I'M HTTPServer 2026 12345.\n"
    "    if x == 10:\n\treturn  [x for x in range(100)]  # naïve café\r\n\r\n"
    "今天的天气很好，明天的天气不好。我们出去走走吧！ 안녕하세요 세계 "
    "สวัสดีชาวโลก مرحبا بالعالم नमस्ते दुनिया 😉👩‍👩‍👧 e\u0301a\u0308\n"
) * 3

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<a>", "<a>b"]

# Rare in corpora and common in bug reports: white space of every kind, case folding beyond ASCII, digits of
# other scripts, combining marks, joiners, text without spaces, long runs, characters of every UTF-8 length.
TRICKY = (
    "",
    " ",
    "the old tale",
    "  two  spaces  ",
    "a \n  ",
    "line\n\n\n  line\r\n\r\n\tline\x0b\x0c\x1c\x85\u2028\u2029end ",
    "nbsp\u00a0and\u3000ideographic\u2003em\u200bzero",
    "don't DON'T we'll WE'LL 'ſ ſ's I'M i'm 'tis",
    "1 12 123 1234 12345 ٣٤٥ ½ Ⅷ 9.11",
    "HTTPServer aB AbCd ǅ ʰ ªº",
    "今天的天气很好，明天的天气不好。",
    "안녕하세요 세계! สวัสดีชาวโลก नमस्ते دنیا",
    "e\u0301 a\u0308\u0304 \u0301alone",
    "😉👩‍👩‍👧🇫🇷\ufe0f",
    "!!!...---///\n/\n!\n",
    "\x00\x01\x7f\u0080\ufeff\ufffd\uffff\U0010ffff",
    "a" * 300,
    "ab" * 150,
    " " * 100 + "x",
    "\n" * 50,
    "<|endoftext|> <|im_start|>user<|im_end|> <a>b<a> <|endof",
    "Ġthe ▁the ##the </w> <unk>",
)

# kind -> options of `jeton.train`
KINDS: dict[str, dict[str, Any]] = {
    "byte none": {"vocab_size": 330, "pattern": "none"},
    **{
        f"byte {name}": {"vocab_size": 400, "pattern": name}
        for name in ("gpt2", "gpt4", "cl100k", "llama3", "qwen2", "qwen3.5", "o200k")
    },
    "byte regex": {"vocab_size": 350, "pattern": r"\p{Lu}?\p{Ll}+|\p{N}"},
    "byte whitespace": {"vocab_size": 350, "pattern": "whitespace"},
    "char none": {"vocab_size": 250, "level": "char"},
    "char gpt2": {"vocab_size": 250, "level": "char", "pattern": "gpt2"},
    "words symbol": {"vocab_size": 250, "end_of_word": "</w>"},
    "words suffix": {"vocab_size": 250, "end_of_word": "</w>", "end_of_word_style": "suffix"},
    "byte words suffix": {"vocab_size": 600, "level": "byte", "end_of_word": "</w>", "end_of_word_style": "suffix"},
    "byte words symbol": {"vocab_size": 350, "level": "byte", "end_of_word": "</w>"},
}
BYTE_KINDS = [kind for kind in KINDS if kind.startswith("byte")]
# Kinds that decode to the encoded text. Words are not among them, because they drop white space.
LOSSLESS = [kind for kind in BYTE_KINDS if not {"whitespace", "words"} & set(kind.split())]
REFUSED_BY_HF = ["byte words symbol"]


@cache
def tokenizer(kind: str) -> jeton.Tokenizer:
    """A small tokenizer with special tokens; at character level with an unknown token."""
    options = dict(KINDS[kind])
    if kind not in BYTE_KINDS:
        options["unk_token"] = "<unk>"
    return jeton.train([CORPUS], **options, special_tokens=SPECIAL, progress=False)


def byte_tokenizer(*merges: tuple[int, int, int], **options: Any) -> jeton.Tokenizer:
    """The 256 bytes and these merges."""
    vocab = {byte: bytes([byte]) for byte in range(256)}
    for left, right, new in merges:
        vocab[new] = vocab[left] + vocab[right]
    return jeton.Tokenizer.from_merges(vocab, merges, **options)


def texts(kind: str) -> st.SearchStrategy[str]:
    """Tokens of a tokenizer glued together, with random text between them; glued tokens find more than random text."""
    tokens = [content.decode() for content in tokenizer(kind).vocab.values() if _is_text(content)]
    piece = st.one_of(st.sampled_from(tokens), st.sampled_from(TRICKY), st.text(max_size=6))
    return st.lists(piece, max_size=12).map("".join)


def byte_strings(kind: str) -> st.SearchStrategy[bytes]:
    """Such texts as bytes, cut anywhere: most are not UTF-8."""
    tokens = list(tokenizer(kind).vocab.values())
    piece = st.one_of(st.sampled_from(tokens), st.binary(max_size=4), st.sampled_from([t.encode() for t in TRICKY]))
    return st.lists(piece, max_size=12).map(b"".join)


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
