"""Programs that load a tokenizer, encode one text and end: the cold start of each engine, for each format.

A program imports what its library needs to read the format, and prints its times and a digest of the ids. NumPy is
imported only by libraries that import it. Modules are compiled before: the first run of each is not timed.

Left out: running them (`measure`).
"""

from __future__ import annotations

from typing import Any

from .environments import JETON
from .targets import HF, HF_RC

__all__ = ["FORMATS", "program"]

TEXT = "The quick brown fox jumps over 13 lazy dogs; naturally, nobody had asked them. "  # repeated up to 1 KB

FRAME = """
import time
clock = lambda: (time.process_time(), time.perf_counter())
begin = clock()
{imports}
imported = clock()
{load}
loaded = clock()
ids = {encode}
encoded = clock()
import hashlib, json
digest = hashlib.sha256(repr([int(id) for id in ids]).encode()).hexdigest()
print(json.dumps([begin, imported, loaded, encoded, digest]))
"""

_JETON = ("import jeton", "tok = jeton.load({path!r}, **{options!r})", "tok.encode({text!r})")
_JSON_OLD = ("from tokenizers import Tokenizer", "tok = Tokenizer.from_file({path!r})")
_WITHOUT = "tok.encode({text!r}, add_special_tokens=False).ids"
_HF = (*_JSON_OLD, _WITHOUT)
_FASTOKENS = (
    "from fastokens import _native",
    "tok = _native.Tokenizer.from_file({path!r})",
    "tok.encode_ordinary({text!r}).ids",
)
_GIGATOKEN = ("import gigatoken", "tok = gigatoken.Tokenizer({path!r})", "tok.encode({text!r}).tolist()")
_SENTENCEPIECE = (
    "from sentencepiece import SentencePieceProcessor",
    "tok = SentencePieceProcessor(model_file={path!r})",
    "tok.encode({text!r})",
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
                "tok.encode_ordinary({text!r})",
            ),
            "gigatoken": (
                "import gigatoken",
                "tok = gigatoken.Tokenizer.from_tiktoken({path!r}, 'gpt4', {{}})",
                "tok.encode({text!r}).tolist()",
            ),
            "splintr": (
                "import splintr",
                "with open({path!r}, 'rb') as file:\n"
                "    tok = splintr.Tokenizer.from_bytes(file.read(), splintr.CL100K_BASE_PATTERN)",
                "tok.encode_raw({text!r})",
            ),
            "toktok": ("import toktok", "tok = toktok._encoding({name!r})", "tok.encode_ordinary({text!r})"),
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


def program(format: str, engine: str, forms: dict[str, Any], size: int) -> str:
    """Source code of a start.

    Args:
        format: key of `FORMATS`.
        engine: one of its engines.
        forms: the vocabulary's files, as of `Vocabularies.forms`.
        size: bytes of the text.
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
        "text": (TEXT * (size // len(TEXT) + 1))[:size],
    }
    imports, load, encode = (part.format(**facts) for part in engines[engine])
    return FRAME.format(imports=imports, load=load, encode=encode)
