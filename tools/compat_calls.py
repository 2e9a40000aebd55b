"""Compares `jeton.compat.tiktoken` with tiktoken, on generated calls over the whole interface.

    JETON_TEST_DATA=… python tools/compat_calls.py [--calls 5000] [--seed 0]

Both must return equal values of the same types, or raise exceptions of the same type. Messages that name a disallowed
special token or an unknown token must be equal, too. A panic of the library's core, which no `except Exception`
catches, is counted but not compared. The exit code is 4 if a call differs. If JETON_TEST_DATA is not set, only small
encodings are compared.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import pickle
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

DIFFERENT = 4
URL = "https://openaipublic.blob.core.windows.net/encodings/"
EXACT = (
    "encode",
    "encode_batch",
    "encode_to_numpy",
    "encode_with_unstable",
    "encode_single_token",
    "decode",
    "decode_bytes",
    "decode_single_token_bytes",
    "decode_tokens_bytes",
    "decode_batch",
)
PANIC = "PanicException"

PATTERNS = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "words": r"\w+|[^\w\s]+|\s+",
    "gaps": r"[a-z]+|[0-9]{2}",  # leaves gaps: text between matches is dropped
    "lines": r"[^\n]+\n?|\n",
    "look": r"(?<=a)b+|[^b]+|b|\s+$",
    "all": r"(?s:.+)",
}
SPECIAL = {"<|endoftext|>": 2000, "<|fim_prefix|>": 2001, "[é]": 2002, " <s> ": 2005}
PIECES = [
    *["the", " the", "The", "lower", "low", " world", "'ll", "'s", "naïve", "e\u0301", "Ünï", "ab", "b", "aab", "zq"],
    *[
        "0",
        "12",
        "345",
        "1234567",
        " 2024",
        "!",
        "...",
        "?!",
        "->",
        "\\n",
        "{}",
        "<|",
        "|>",
        "<|endoftext",
        "[é",
        "<s>",
    ],
    *[" ", "  ", "    ", "\n", "\n\n", "\r\n", "\t", " \n ", "\u00a0", "\u3000", "\x85", "\u200b", "\u2028", "\x00"],
    *[
        "今天",
        "天气",
        "日本語",
        "한국어",
        "हिन्दी",
        "நடிகர்",
        "العربية",
        "שלום",
        "👍",
        "👩‍👩‍👧",
        "🇩🇪",
        "𝔘𝔫𝔦",
        "ſ",
        "ǅ",
        "①",
    ],
]
SURROGATES = ["\ud83d", "\udc4d", "\ud83d\udc4d", "a\ud800"]
MODELS = [
    "gpt-4",
    "gpt-4o",
    "gpt-5.2-x",
    "gpt-oss-20b",
    "o1-mini",
    "ft:gpt-4o:x",
    "ft:gpt-4:x",
    "gpt2",
    "davinci",
    "x",
    "",
]


class Call(NamedTuple):
    """A call: the encoding, the method, and the arguments."""

    encoding: str
    name: str
    args: tuple[Any, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        options = [f"{name}={value!r:.200}" for name, value in self.options]
        return f"{self.encoding}.{self.name}({', '.join([f'{arg!r:.200}' for arg in self.args] + options)})"


# ── encodings ────────────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def small_ranks() -> dict[bytes, int]:
    """Returns the ranks of a small vocabulary, which is trained here."""
    import jeton

    text = " ".join(PIECES) * 3 + "".join(PIECES)
    return {token: id for id, token in jeton.train([text], 900, pattern="gpt2", progress=False).vocab.items()}


def encodings() -> dict[str, dict[str, Any]]:
    """Returns name -> arguments of `Encoding`, for all small encodings."""
    ranks = small_ranks()
    rng = random.Random(7)  # noqa: S311
    shuffled = sorted(ranks, key=lambda token: (len(token) > 1, rng.random()))
    made = {
        f"small_{name}": {"pat_str": pattern, "mergeable_ranks": ranks, "special_tokens": SPECIAL}
        for name, pattern in PATTERNS.items()
    }
    gpt2 = PATTERNS["gpt2"]
    made["unordered"] = {
        "mergeable_ranks": {t: i for i, t in enumerate(shuffled)},
        "pat_str": gpt2,
        "special_tokens": {},
    }
    made["far"] = {
        "mergeable_ranks": {token: 3 * rank + 2_000_000 for token, rank in ranks.items()},
        "pat_str": gpt2,
        "special_tokens": {"<|endoftext|>": 4_000_000_000, "<|fim_prefix|>": 7},
    }
    made["shared_id"] = {
        "mergeable_ranks": ranks,
        "pat_str": gpt2,
        "special_tokens": {"<|endoftext|>": 300, "[é]": 30_000_000},
    }
    made["few_bytes"] = {
        "mergeable_ranks": {b"ab": 0, b"low": 1, b"lo": 2, b"b": 3, b" ": 4, b"l": 5, b"the": 6, b"th": 7, b"e": 8},
        "pat_str": PATTERNS["words"],
        "special_tokens": {"<|endoftext|>": 9, "the": 10},
    }
    return made


def published(data: Path | None, folder: str) -> list[str]:
    """Copies the files of published encodings to a cache of tiktoken; returns the names of the encodings."""
    if data is None:
        return []
    vocabs, names = data / "vocabs", []
    r50k = vocabs / "r50k_base.tiktoken"
    files = {name: vocabs / f"{name}.tiktoken" for name in ("r50k_base", "cl100k_base", "o200k_base")}
    contents = {name: path.read_bytes() for name, path in files.items() if path.exists()}
    if r50k.exists():  # p50k_base has the entries of r50k_base, and runs of 2 to 25 spaces
        runs = [base64.b64encode(b" " * length) + b" %d\n" % (50255 + length) for length in range(2, 26)]
        contents["p50k_base"] = r50k.read_bytes() + b"".join(runs)
    for name, content in contents.items():
        key = hashlib.sha1(f"{URL}{name}.tiktoken".encode(), usedforsecurity=False).hexdigest()
        (Path(folder) / key).write_bytes(content)
        names += {"p50k_base": ["p50k_base", "p50k_edit"], "o200k_base": ["o200k_base", "o200k_harmony"]}.get(
            name, [name]
        )
    os.environ["TIKTOKEN_CACHE_DIR"] = folder
    return names


# ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Generator:
    """Generator of random calls of the library's interface."""

    def __init__(self, seed: int, known: dict[str, dict[str, Any]], published: list[str]) -> None:
        self.rng = random.Random(seed)  # noqa: S311
        self.known = known
        self.names = [*known, *published]
        self.published = published

    def text(self, special: list[str], most: int = 12) -> str:
        """Returns a text of pieces, special tokens, and occasionally a surrogate."""
        rng = self.rng
        pool = PIECES + special * 2 if rng.random() < 0.4 else PIECES
        parts = [rng.choice(pool) for _ in range(rng.randint(0, most))]
        if rng.random() < 0.05:
            parts.insert(rng.randint(0, len(parts)), rng.choice(SURROGATES))
        if rng.random() < 0.05:
            parts.append(rng.choice(PIECES) * rng.randint(20, 300))
        return "".join(parts)

    def ids(self, encoding: str) -> Any:
        """Returns random ids, most of them in the vocabulary, in a container of a random, perhaps invalid type."""
        rng = self.rng
        facts = self.known.get(encoding)
        top = 60_000 if facts is None else 1200
        pool = [] if facts is None else [*facts["mergeable_ranks"].values(), *facts["special_tokens"].values()]
        found: list[Any] = [
            rng.choice(pool) if pool and rng.random() < 0.9 else rng.randrange(top) for _ in range(rng.randint(0, 9))
        ]
        if rng.random() < 0.15:
            odd = [-1, 2**32, 2**32 - 1, 10**7, 1 << 20, "a", 1.0, None, True, 50_256, 100_257, 200_018, 201_088]
            found.insert(rng.randint(0, len(found)), rng.choice(odd))
        kinds: list[Callable[[Any], Any]] = [list] * 8 + [
            tuple,
            Lazy,
            set,
            str,
            lambda ids: dict.fromkeys(ids),
            array,
            wide,
        ]
        return rng.choice(kinds)(found)

    def permission(self, special: list[str]) -> tuple[tuple[str, Any], ...]:
        """Returns random arguments `allowed_special` and `disallowed_special`; each of them may be missing."""
        rng = self.rng
        some = {token for token in special if rng.random() < 0.5}
        allowed = ["all", set(), some, frozenset(some), some | {"unknown"}, list(some), {1}, {"\ud800"}, "none"]
        refused = ["all", (), [], some, frozenset({"the"}), ["low", " world"], "b", None, {"<|endoftext|>"}, 5, {3}]
        options = []
        if rng.random() < 0.7:
            options.append(("allowed_special", rng.choice(allowed[:5] * 3 + allowed)))
        if rng.random() < 0.6:
            options.append(("disallowed_special", rng.choice(refused[:4] * 3 + refused)))
        return tuple(options)

    def calls(self, count: int) -> Iterator[Call]:
        """Yields random calls: some call a function of the library, most call a method of an encoding."""
        for _ in range(count):
            yield self.function() if self.rng.random() < 0.12 else self.method()

    def method(self) -> Call:
        """Returns a call of a method or property of an encoding."""
        rng = self.rng
        encoding = rng.choice(self.names)
        facts = self.known.get(encoding)
        special = [
            *(
                facts["special_tokens"]
                if facts
                else ["<|endoftext|>", "<|fim_prefix|>", "<|start|>", "<|reserved_200018|>"]
            )
        ]
        text = self.text(special)
        odd_text = rng.choice([text] * 25 + [text.encode("utf-8", "surrogatepass"), None, 5, Text(text)])
        texts = [self.text(special, 6) for _ in range(rng.randint(0, 5))]
        batch = rng.choice(
            [texts] * 8
            + [tuple(texts), Lazy(texts), text[:9], [*texts, 3], [*texts, b"x"], None, [*texts, Text("low")]]
        )
        threads = (("num_threads", rng.choice([1, 2, 8, 0, -1, None, "2"])),) if rng.random() < 0.3 else ()
        permission = self.permission(special)
        token = rng.choice([*PIECES, *special, "\ud800"])
        piece = rng.choice([token, token.encode("utf-8", "surrogatepass"), text, b"", b"\xff", bytearray(b"ab"), 5])
        ids = self.ids(encoding)
        one = rng.choice(
            [rng.randrange(1300), 50_256, 2000, 100_257, 200_018, 201_088, -1, 2**32, "1", 1.0, True, None]
        )
        data = rng.choice(
            [text.encode("utf-8", "surrogatepass")[: rng.randint(0, 40)], bytes(rng.randbytes(rng.randint(0, 9))), "x"]
        )
        rows = [self.ids(encoding) for _ in range(rng.randint(0, 3))]
        errors = (
            (("errors", rng.choice(["replace", "strict", "ignore", "backslashreplace", "nonsense"])),)
            if rng.random() < 0.4
            else ()
        )
        short = self.text(special, 3)
        choices = [
            *[Call(encoding, "encode", (odd_text,), permission)] * 5,
            *[Call(encoding, "encode_ordinary", (odd_text,))] * 2,
            *[Call(encoding, "encode_to_numpy", (odd_text,), permission)] * 2,
            *[Call(encoding, "encode_batch", (batch,), permission + threads)] * 3,
            Call(encoding, "encode_ordinary_batch", (batch,), threads),
            Call(encoding, "encode_with_unstable", (short,), permission),
            *[Call(encoding, "encode_single_token", (piece,))] * 2,
            *[Call(encoding, "decode", (ids,), errors)] * 2,
            Call(encoding, "decode_bytes", (ids,)),
            *[Call(encoding, "decode_single_token_bytes", (one,))] * 2,
            Call(encoding, "decode_tokens_bytes", (ids,)),
            *[Call(encoding, "decode_with_offsets", (ids,))] * 2,
            Call(encoding, "offsets_of", (text,)),
            Call(encoding, "decode_batch", (rows,), errors + threads),
            Call(encoding, "decode_bytes_batch", (rows,), threads),
            Call(encoding, "is_special_token", (one,)),
            Call(encoding, "_encode_bytes", (data,)),
            Call(encoding, "_encode_single_piece", (piece,)),
            Call(
                encoding,
                "_encode_only_native_bpe",
                (text.encode("utf-8", "ignore").decode() if encoding == "small_gaps" else text,),
            ),
            Call(encoding, "round_trip", (text,)),
            Call(encoding, "_educational", (text[:30].encode("utf-8", "ignore").decode(),)),
            *[Call(encoding, "get", (name,)) for name in PROPERTIES[rng.randrange(len(PROPERTIES)) :][:1]],
        ]
        return rng.choice(choices)

    def function(self) -> Call:
        """Returns a call of a function of the library."""
        rng = self.rng
        lines = [base64.b64encode(piece.encode()) + b" %d" % at for at, piece in enumerate(PIECES[: rng.randint(0, 9)])]
        damage = [
            b"",
            b"abc",
            b"YQ== x",
            b"YQ==  7 ",
            b"Y!Q== 8",
            b"YQ== 9 9",
            b"YQ==\t10",
            b"YQ== +1_1",
            b"!! 3",
            b"YQ== 5\r",
            b"YQ== -4",
        ]
        if rng.random() < 0.7:
            lines.insert(rng.randint(0, len(lines)), rng.choice(damage))
        content = rng.choice([b"\n", b"\r\n"]).join(lines) + rng.choice([b"", b"\n"])
        digest = rng.choice([None, hashlib.sha256(content).hexdigest(), "0" * 64])
        wrong = rng.choice(
            [
                {"mergeable_ranks": {}},
                {"mergeable_ranks": {"a": 1}},
                {"mergeable_ranks": {b"a": -1}},
                {"mergeable_ranks": {b"a": 2**32}},
                {"mergeable_ranks": {b"a": 1.5}},
                {"mergeable_ranks": {b"a": 1, b"b": 1}},
                {"mergeable_ranks": None},
                {"special_tokens": {"<s>": -1}},
                {"special_tokens": {"\ud800": 1}},
                {"special_tokens": {1: 1}},
                {"special_tokens": None},
                {"pat_str": "("},
                {"pat_str": None},
                {"pat_str": "low"},
                {"pat_str": "gpt2"},
                {"explicit_n_vocab": 5},
                {"explicit_n_vocab": 257},
                {"explicit_n_vocab": 0},
                {"unknown": 1},
            ]
        )
        return rng.choice(
            [
                Call("", "encoding_name_for_model", (rng.choice([*MODELS, None]),)),
                Call("", "list_encoding_names"),
                Call("", "get_encoding", (rng.choice(["nothing", None, 5, *self.published]),)),
                Call("", "load", (content, digest)),
                Call("", "dump", (tuple(PIECES[: rng.randint(0, 9)]),)),
                Call("", "data_gym", (rng.choice(["good", "other", "token", "line"]), rng.random() < 0.5)),
                Call("", "construct", (tuple(wrong.items()),)),
                Call(
                    "",
                    "train",
                    (self.text([], 20).encode("utf-8", "ignore").decode() + " low lower", rng.choice([255, 256, 258])),
                ),
            ]
        )


class Text(str):
    """A subclass of `str`, to test arguments of this type."""

    __slots__ = ()


class Lazy(list[Any]):
    """Items that are passed to the library as an iterator."""


def array(ids: list[Any]) -> Any:
    """Returns an array of 64-bit integers, or the list if NumPy cannot convert it."""
    import numpy as np

    try:
        return np.array(ids)
    except (OverflowError, ValueError, TypeError):
        return ids


def wide(ids: list[Any]) -> Any:
    """Returns an array of unsigned 32-bit integers, or the list if NumPy cannot convert it."""
    import numpy as np

    try:
        return np.array(ids, np.uint32)
    except (OverflowError, ValueError, TypeError):
        return ids


PROPERTIES = [
    "name",
    "n_vocab",
    "max_token_value",
    "eot_token",
    "special_tokens_set",
    "_pat_str",
    "_special_tokens",
    "repr",
    "tokens",
    "ranks",
]

# ── running ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Library:
    """One of the two implementations, with its encodings."""

    def __init__(self, module: ModuleType, known: dict[str, dict[str, Any]]) -> None:
        self.module = module
        self.made = {name: module.Encoding(name, **facts) for name, facts in known.items()}

    def submodule(self, name: str) -> Any:
        """Returns a module of the library's package."""
        from importlib import import_module

        return import_module(f"{self.module.__name__}.{name}")

    def outcome(self, call: Call) -> Any:
        """Returns the `tagged` value of a call, or the exception's type and, if it is compared, the message."""
        args = [iter(arg) if isinstance(arg, Lazy) else arg for arg in call.args]
        try:
            return tagged(self.run(call, args))
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            kind = type(error).__name__
            message = str(error) if kind == "KeyError" or "disallowed special" in str(error) else ""
            return ("raised", kind, message if call.name in EXACT else "")

    def run(self, call: Call, args: list[Any]) -> Any:
        """Executes a call and returns its value."""
        options = dict(call.options)
        if not call.encoding:
            return getattr(self, f"call_{call.name}")(*args)
        enc = self.made.get(call.encoding) or self.module.get_encoding(call.encoding)
        if call.name == "get":
            return {"repr": repr, "tokens": type(enc).token_byte_values, "ranks": ranks_of}.get(
                args[0], attribute(args[0])
            )(enc)
        if call.name == "round_trip":
            again = pickle.loads(pickle.dumps(enc))  # noqa: S301
            return again.name, again.n_vocab, again.encode(args[0], disallowed_special=()), again == enc
        if call.name == "offsets_of":
            return enc.decode_with_offsets(enc.encode(args[0], allowed_special="all"))
        if call.name == "_educational":
            simple = self.submodule("_educational").SimpleBytePairEncoding.from_tiktoken(enc)
            ids = simple.encode(args[0], visualise=None)
            return ids, simple.decode(ids), simple.decode_tokens_bytes(ids)
        result = getattr(enc, call.name)(*args, **options)
        if call.name == "encode_with_unstable":
            return result[0], sorted(result[1])
        return result

    def call_encoding_name_for_model(self, name: Any) -> Any:
        """Calls `encoding_name_for_model`."""
        return self.module.encoding_name_for_model(name)

    def call_list_encoding_names(self) -> Any:
        """Calls `list_encoding_names`."""
        return sorted(self.module.list_encoding_names())

    def call_get_encoding(self, name: Any) -> Any:
        """Calls `get_encoding`."""
        return repr(self.module.get_encoding(name))

    def call_load(self, content: bytes, digest: str | None) -> Any:
        """Calls `load_tiktoken_bpe` on a file with this content."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ranks"
            path.write_bytes(content)
            os.environ["TIKTOKEN_CACHE_DIR"], before = folder, os.environ.get("TIKTOKEN_CACHE_DIR", "")
            try:
                return list(self.submodule("load").load_tiktoken_bpe(str(path), digest).items())
            finally:
                os.environ["TIKTOKEN_CACHE_DIR"] = before

    def call_dump(self, tokens: tuple[str, ...]) -> Any:
        """Calls `dump_tiktoken_bpe`. For tiktoken, writes the file here instead: its function needs blobfile."""
        with tempfile.TemporaryDirectory() as folder:
            path, ranks = Path(folder) / "ranks", {token.encode(): -at % 50 for at, token in enumerate(tokens)}
            if self.module.__name__ == "tiktoken":
                path.write_bytes(
                    b"".join(
                        base64.b64encode(t) + b" %d\n" % r for t, r in sorted(ranks.items(), key=lambda row: row[1])
                    )
                )
            else:
                self.submodule("load").dump_tiktoken_bpe(ranks, str(path))
            return path.read_bytes()

    def call_data_gym(self, kind: str, clobber: bool) -> Any:
        """Calls `data_gym_to_mergeable_bpe_ranks`."""
        printable = [byte for byte in range(256) if chr(byte).isprintable() and byte != 32]
        letters = [chr(byte) for byte in printable] + [chr(256 + at) for at in range(68)]
        vocab = {letter: at for at, letter in enumerate(letters)} | {"lo": 256, "Ġl": 257, "<|endoftext|>": 258}
        merges = "#version\nl o\nĠ l\n"
        if kind == "other":
            vocab["lo"], vocab["Ġl"] = 257, 256
        elif kind == "token":
            vocab["漢"] = 300
        elif kind == "line":
            merges += "a b c\n"
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / "vocab.bpe", Path(folder) / "encoder.json"]
            paths[0].write_text(merges, encoding="utf-8")
            paths[1].write_text(json.dumps(vocab), encoding="utf-8")
            os.environ["TIKTOKEN_CACHE_DIR"], before = "", os.environ.get("TIKTOKEN_CACHE_DIR", "")
            try:
                read = self.submodule("load").data_gym_to_mergeable_bpe_ranks
                return list(read(*map(str, paths), clobber_one_byte_tokens=clobber).items())
            finally:
                os.environ["TIKTOKEN_CACHE_DIR"] = before

    def call_construct(self, wrong: tuple[tuple[str, Any], ...]) -> Any:
        """Calls the constructor, with one argument changed."""
        facts = {
            "pat_str": r"\w+|\W+",
            "mergeable_ranks": {bytes([byte]): byte for byte in range(256)},
            "special_tokens": {"<s>": 256},
        }
        enc = self.module.Encoding("made", **(facts | dict(wrong)))
        return enc.n_vocab, enc.encode("low a b", allowed_special="all"), enc.encode_ordinary("gpt2 low")

    def call_train(self, text: str, vocab_size: int) -> Any:
        """Calls `SimpleBytePairEncoding.train`."""
        return list(self.submodule("_educational").bpe_train(text, vocab_size, r"\w+|\W+", visualise=None).items())


def attribute(name: str) -> Callable[[Any], Any]:
    """Returns a function that reads an attribute."""
    return partial(lambda name, enc: getattr(enc, name), name)


def ranks_of(enc: Any) -> Any:
    """Returns the type of an encoding's ranks, and a hash instead of the ranks, which can be many."""
    return type(enc._mergeable_ranks), hash(tuple(enc._mergeable_ranks.items()))


def tagged(value: Any) -> Any:
    """Returns the name of the value's type and the value; items of a list or tuple are tagged in the same way."""
    kind = type(value).__name__
    if kind == "ndarray":
        return (kind, str(value.dtype), value.tolist())
    if isinstance(value, list | tuple):
        return (kind, [tagged(item) for item in value] if len(value) < 2000 else hash(tuple(map(repr, value))))
    if isinstance(value, set | dict):
        return (kind, repr(sorted(map(repr, value.items() if isinstance(value, dict) else value))))
    return (kind, value)


def differences(calls: int, seed: int, data: Path | None) -> tuple[list[str], Counter[str]]:
    """Runs generated calls; returns the differences, and the number of calls of each name."""
    import tiktoken

    import jeton.compat.tiktoken

    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get("TIKTOKEN_CACHE_DIR")
        try:
            known = encodings()
            generator = Generator(seed, known, published(data, folder))
            peer, ours = Library(tiktoken, known), Library(jeton.compat.tiktoken, known)
            found, counts = [], Counter[str]()
            for call in generator.calls(calls):
                counts[call.name] += 1
                expected, got = peer.outcome(call), ours.outcome(call)
                is_panic = expected[0] == "raised" and expected[1] == PANIC
                counts["panics"] += is_panic
                if expected != got and not is_panic:
                    found.append(f"{call}\n    expected {expected!r:.600}\n    got      {got!r:.600}")
            return found, counts
        finally:
            if before is None:
                os.environ.pop("TIKTOKEN_CACHE_DIR", None)
            else:
                os.environ["TIKTOKEN_CACHE_DIR"] = before


def main() -> int:
    """Compares the two implementations; prints the differences, and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    data = os.environ.get("JETON_TEST_DATA")
    found, counts = differences(options.calls, options.seed, Path(data) if data else None)
    print(*found, sep="\n")
    print(f"{options.calls:,} calls, {len(found):,} differ (seed {options.seed}):", end=" ")
    print(", ".join(f"{name} {count:,}" for name, count in counts.most_common()))
    return DIFFERENT if found else 0


if __name__ == "__main__":
    sys.exit(main())
