"""Compares the ids of GGUF files with llama.cpp's, on generated texts.

    python tools/compare_llama_cpp.py FOLDER --library PATH [--texts 3000] [--seed 0] [--pre] [--written]

FOLDER has files ``*.gguf`` or ``*.gguf.xz``. Tokenizers of other formats are first converted by Jeton to GGUF files,
with all losses accepted. llama.cpp comes from the wheel `xllamacpp`, whose shared library ``xllamacpp.abi3.so`` is
called by ctypes. PATH names this library; the wheel need not be installed. With ``--pre``, only the first byte-level
file is compared, under every value of ``tokenizer.ggml.pre``. With ``--written``, Jeton loads each file and writes the
tokenizer into a copy of the file. Then the ids of the copy are compared with llama.cpp's. If the Python package `gguf`
is installed, the copy's metadata and tensors are also compared with those of the file.

Texts that Jeton refuses with an error are counted separately.
"""

from __future__ import annotations

import argparse
import ctypes
import lzma
import random
import struct
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import jeton
from jeton.formats.error_context import LOSSES
from jeton.formats.gguf_pre import PRE

_MOST_IDS = 4  # upper bound of ids per byte of text; vocabularies without byte tokens yield fewer


class LlamaCpp:
    """llama.cpp's vocabulary, loaded from one file."""

    def __init__(self, library: ctypes.CDLL, path: Path, vocab_only: int) -> None:
        self._library = library
        library.llama_model_default_params.restype = _Params
        params = library.llama_model_default_params()
        params.data[vocab_only] = 1
        library.llama_model_load_from_file.restype = ctypes.c_void_p
        library.llama_model_load_from_file.argtypes = [ctypes.c_char_p, _Params]
        self._model = library.llama_model_load_from_file(str(path).encode(), params)
        if not self._model:
            raise ValueError(f"llama.cpp does not load {path}")
        library.llama_model_get_vocab.restype = ctypes.c_void_p
        library.llama_model_get_vocab.argtypes = [ctypes.c_void_p]
        self._vocab = library.llama_model_get_vocab(self._model)
        library.llama_tokenize.argtypes = [
            ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_int32), ctypes.c_int32,
            ctypes.c_bool, ctypes.c_bool,
        ]  # fmt: skip

    def encode(self, text: str, *, adds: bool, special: bool) -> list[int]:
        """Returns the ids of a text."""
        data = text.encode()
        most = _MOST_IDS * len(data) + 16
        ids = (ctypes.c_int32 * most)()
        count = self._library.llama_tokenize(self._vocab, data, len(data), ids, most, adds, special)
        if count < 0:
            raise ValueError(f"llama.cpp has more than {most} ids for {text!r}")
        return list(ids[:count])

    def close(self) -> None:
        """Frees the memory of the vocabulary."""
        self._library.llama_model_free.argtypes = [ctypes.c_void_p]
        self._library.llama_model_free(self._model)


class _Params(ctypes.Structure):
    _fields_ = [("data", ctypes.c_uint8 * 80)]


def vocab_only_offset() -> int:
    """Returns the offset of `vocab_only` in `llama_model_params`, where it follows six pointers and five integers.

    This is the layout of 2026-10.
    """
    return struct.calcsize("PPiiiiiPPPP")


def texts(tok: jeton.Tokenizer, count: int, seed: int) -> Iterator[str]:
    """Yields texts of random parts: tokens, added tokens, characters of many scripts, digits, spaces, contractions."""
    rand = random.Random(seed)  # noqa: S311  (no secrets)
    words = [token for id in rand.sample(range(len(tok)), min(len(tok), 4000)) if (token := _text(tok, id))]
    added = [token.content for token in tok.added_tokens.values()]
    spaces = [" ", "  ", "\n", "\n\n", "\t", "\r\n", "\u00a0", "\u3000", "   ", "\u2003", "\u0085", "\v"]
    ranges = [(0x20, 0x7F), (0xA0, 0x24F), (0x370, 0x5FF), (0x600, 0x6FF), (0x900, 0xDFF), (0xE00, 0xE7F),
              (0x1E00, 0x1FFF), (0x2000, 0x2BFF), (0x3000, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3),
              (0xFF00, 0xFFEF), (0x1F300, 0x1FAFF), (0x300, 0x36F), (0x20000, 0x2A6DF)]  # fmt: skip
    shorts = ["'s", "'S", "'ll", "'Re", "'ſ", "don't", "I'M", "x^2", "$5.00", "a/b\n", "...", "//\n\n", "HTTPServer"]

    def part() -> str:
        match rand.randrange(8):
            case 0 | 1:
                return rand.choice(words)
            case 2:
                return rand.choice(spaces)
            case 3:
                return "".join(rand.choice("0123456789") for _ in range(rand.randint(1, 9)))
            case 4:
                first, last = rand.choice(ranges)
                return "".join(chr(rand.randint(first, last)) for _ in range(rand.randint(1, 4)))
            case 5:
                return rand.choice(shorts)
            case 6:
                return rand.choice(added) if added and rand.random() < 0.3 else rand.choice(words)
            case _:
                return " " + rand.choice(words).strip()

    for _ in range(count):
        yield "".join(part() for _ in range(rand.randint(1, 12)))


def _text(tok: jeton.Tokenizer, id: int) -> str:
    try:
        return tok.decode([id])
    except UnicodeDecodeError:
        return ""


def compare(name: str, path: Path, library: ctypes.CDLL, count: int, seed: int) -> int:
    """Compares one file; prints a line of results, and returns the number of texts that differ."""
    try:
        tok = jeton.load(path)
    except jeton.JetonError as error:
        print(f"{name}: refused: {error}")
        return 0
    theirs = LlamaCpp(library, path, vocab_only_offset())
    differ, refused, examples = 0, 0, []
    for i, text in enumerate(texts(tok, count, seed=len(name) + seed)):
        special = bool(i % 2)
        try:
            ours = tok.encode(text, add_special_tokens=special, special="all" if special else None)
        except jeton.JetonError:
            refused += 1
            continue
        expected = theirs.encode(text, adds=special, special=special)
        if ours != expected:
            differ += 1
            examples.append((text, ours, expected))
    theirs.close()
    print(f"{name}: {count - refused} texts, {differ} differ, {refused} refused", flush=True)
    for text, ours, expected in sorted(examples, key=lambda one: len(one[0]))[:3]:
        print(f"    {text!a:.200}\n        jeton     {ours[:24]}\n        llama.cpp {expected[:24]}", flush=True)
    return differ


def with_pre(data: bytes, pre: str) -> bytes:
    """Returns the file without its tensors, and with another value of ``tokenizer.ggml.pre``."""
    key = struct.pack("<Q", 18) + b"tokenizer.ggml.pre" + struct.pack("<I", 8)
    at = data.index(key) + len(key)
    (size,) = struct.unpack_from("<Q", data, at)
    return data[:at] + struct.pack("<Q", len(pre)) + pre.encode() + data[at + 8 + size :]


def written(path: Path) -> Path:
    """Loads a file and writes the tokenizer into a copy of it; compares both files if `gguf` is installed."""
    new = path.with_suffix(".written.gguf")
    jeton.load(path).save(new, like=path)
    try:
        from gguf import GGUFReader
    except ImportError:
        return new
    one, other = (GGUFReader(file) for file in (path, new))
    for key, field in one.fields.items():
        kept = other.fields.get(key)
        value = None if kept is None else kept.contents()
        if value != field.contents():
            print(f"{path.stem}: {key} is {value!r:.60}, was {field.contents()!r:.60}")
    for mine, theirs in zip(one.tensors, other.tensors, strict=True):
        if mine.name != theirs.name or mine.data.tobytes() != theirs.data.tobytes():
            raise ValueError(f"{path}: the tensor {mine.name} differs")
    return new


def main() -> int:
    """Compares all files of a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--texts", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--library", required=True)
    parser.add_argument("--pre", action="store_true")
    parser.add_argument("--written", action="store_true")
    given = parser.parse_args()
    library = ctypes.CDLL(given.library)
    silent = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)
    library.llama_log_set(silent, None)
    library.llama_backend_init()
    differ, base = 0, None
    with tempfile.TemporaryDirectory() as folder:
        for source in sorted(given.folder.iterdir()):
            path = Path(folder) / source.name.removesuffix(".xz")
            if path.suffix != ".gguf":
                if given.pre or not any(source.name.endswith(suffix) for suffix in (".json", ".model", "vocab.txt")):
                    continue
                path = path.with_suffix(".gguf")
                jeton.load(source).save(path, accept_loss=LOSSES)
                data = path.read_bytes()
            else:
                data = source.read_bytes()
                data = lzma.decompress(data) if source.suffix == ".xz" else data
                path.write_bytes(data)
            if given.pre:
                if b"tokenizer.ggml.pre" in data and b"tokenizer.ggml.model" in data and b"merges" in data:
                    base = base or data
                continue
            if given.written:
                path = written(path)
            differ += compare(path.stem, path, library, given.texts, given.seed)
            path.unlink()
        for pre, rule in PRE.items() if base else ():
            if not rule.escapes_spaces:
                path = Path(folder) / "pre.gguf"
                path.write_bytes(with_pre(base, pre))
                differ += compare(pre, path, library, given.texts, given.seed)
    return min(differ, 1)


if __name__ == "__main__":
    sys.exit(main())
