"""Programs that load a tokenizer, encode one text and end: the cold start of each engine, for each format.

A program imports what its library needs to read the format, and prints its times and a digest of the ids. NumPy is
imported only by libraries that import it. Modules are compiled before: the first run of each is not timed.

Left out: running them (`measure`).
"""

from __future__ import annotations

from typing import Any

from .environments import JETON
from .targets import HF, HF_RC

__all__ = ["FIRST_SIZES", "FIRST_TEXTS", "FORMATS", "program"]

TEXT = "The quick brown fox jumps over 13 lazy dogs; naturally, nobody had asked them. "  # repeated up to 1 KB

FIRST_SIZES = {
    "1 KB": 10**3,
    "10 KB": 10**4,
    "100 KB": 10**5,
    "1 MB": 10**6,
    "5 MB": 5 * 10**6,
    "17 MB": 17 * 10**6,
    "100 MB": 10**8,
}

FRAME = """
import time
{read}
clock = lambda: (time.process_time(), time.perf_counter())
begin = clock()
{imports}
imported = clock()
{load}
loaded = clock()
ids = {encode}
encoded = clock()
import array, hashlib, json
digest = hashlib.sha256(array.array("I", ids)).hexdigest()
print(json.dumps([begin, imported, loaded, encoded, digest]))
"""

_JETON = ("import jeton", "tok = jeton.load({path!r}, **{options!r})", "tok.encode(text)")
_JSON_OLD = ("from tokenizers import Tokenizer", "tok = Tokenizer.from_file({path!r})")
_WITHOUT = "tok.encode(text, add_special_tokens=False).ids"
_HF = (*_JSON_OLD, _WITHOUT)
_FASTOKENS = (
    "from fastokens import _native",
    "tok = _native.Tokenizer.from_file({path!r})",
    "tok.encode_ordinary(text).ids",
)
_GIGATOKEN = ("import gigatoken", "tok = gigatoken.Tokenizer({path!r})", "tok.encode(text).tolist()")
_SENTENCEPIECE = (
    "from sentencepiece import SentencePieceProcessor",
    "tok = SentencePieceProcessor(model_file={path!r})",
    "tok.encode(text)",
)

# format -> (vocabulary, form of the file, engine -> statements that import, load and encode)
FORMATS: dict[str, tuple[str, str, dict[str, tuple[str, str, str]]]] = {
    "rank file": (
        "cl100k_base",
        "ranks",
        {
            JETON: _JETON,
            "tiktoken": (
                "import tiktoken\nfrom tiktoken.load import load_tiktoken_bpe",
                "tok = tiktoken.Encoding({name!r}, pat_str={pattern!r}, "
                "mergeable_ranks=load_tiktoken_bpe({path!r}), special_tokens={{}})",
                "tok.encode_ordinary(text)",
            ),
            "gigatoken": (
                "import gigatoken",
                "tok = gigatoken.Tokenizer.from_tiktoken({path!r}, {scheme!r}, {{}})",
                "tok.encode(text).tolist()",
            ),
            "splintr": (
                "import splintr",
                "with open({path!r}, 'rb') as file:\n"
                "    tok = splintr.Tokenizer.from_bytes(file.read(), splintr.{constant}_PATTERN)",
                "tok.encode_raw(text)",
            ),
            "toktok": ("import toktok", "tok = toktok._encoding({name!r})", "tok.encode_ordinary(text)"),
        },
    ),
    "tokenizer.json, byte-level BPE": (
        "cl100k_base",
        "json",
        {JETON: _JETON, HF_RC: _HF, HF: _HF, "fastokens": _FASTOKENS, "gigatoken": _GIGATOKEN},
    ),
    "tokenizer.json, Unigram": ("t5", "json", {JETON: _JETON, HF_RC: _HF, HF: _HF}),
    "tokenizer.json, WordPiece": ("bert", "json", {JETON: _JETON, HF_RC: _HF, HF: _HF}),
    "vocab.txt": (
        "bert",
        "vocab.txt",
        {
            JETON: _JETON,
            HF: ("from tokenizers import BertWordPieceTokenizer", "tok = BertWordPieceTokenizer({path!r})", _WITHOUT),
        },
    ),
    "SentencePiece's BPE": (
        "mistral-v1",
        "model",
        {JETON: _JETON, "sentencepiece": _SENTENCEPIECE, "gigatoken": _GIGATOKEN},
    ),
    "SentencePiece's Unigram": ("mbart .model", "model", {JETON: _JETON, "sentencepiece": _SENTENCEPIECE}),
    "vocab.json with merges.txt": (
        "gpt2",
        "merges",
        {
            JETON: _JETON,
            HF: (
                "from tokenizers import ByteLevelBPETokenizer",
                "tok = ByteLevelBPETokenizer({path!r}, {merges!r})",
                _WITHOUT,
            ),
        },
    ),
}

# format of `FORMATS` -> vocabularies of which a first text is encoded
FIRST_TEXTS = {
    "rank file": ("cl100k_base", "o200k_base"),
    "tokenizer.json, byte-level BPE": ("cl100k_base",),
    "tokenizer.json, WordPiece": ("bert",),
    "vocab.txt": ("bert",),
    "SentencePiece's BPE": ("mistral-v1",),
    "SentencePiece's Unigram": ("mbart .model",),
}


def program(format: str, engine: str, forms: dict[str, Any], size: int, corpus: str | None = None) -> str:
    """Source code of a start.

    Args:
        format: key of `FORMATS`.
        engine: one of its engines.
        forms: the vocabulary's files, as of `Vocabularies.forms`.
        size: bytes of the text.
        corpus: a file that begins with the text, which is repeated if it is shorter; None: a sentence.
    """
    _, form, engines = FORMATS[format]
    path = forms[form] if form in forms else forms["jeton"]
    options = forms["jeton_options"] | ({"special_tokens": {}} if form == "ranks" else {})
    facts = {
        "path": path,
        "options": options,
        "name": forms["name"],
        "pattern": forms.get("pattern"),
        "merges": forms.get("with_merges"),
        "scheme": "o200k" if forms["name"] == "o200k_base" else "gpt4",
        "constant": forms["name"].upper(),
    }
    imports, load, encode = (part.format(**facts) for part in engines[engine])
    read = f"text = {(TEXT * (size // len(TEXT) + 1))[:size]!r}"
    if corpus is not None:
        read = f"size = {size}\nwith open({corpus!r}, 'rb') as file:\n    text = file.read(size)\n"
        read += "text = (text * -(-size // len(text)))[:size].decode('utf-8', 'ignore')"
    return FRAME.format(read=read, imports=imports, load=load, encode=encode)
