"""Fuzzer of `jeton.load`: any file must give a tokenizer, or a `JetonError` with a location.

    python fuzz/loaders.py run KIND --fuzzer target/release/jeton-fuzz --seconds 60 --seed 1 --findings FOLDER [--real]
    python fuzz/loaders.py replay KIND FILE…

Valid files of each kind are generated here and mutated by `jeton-fuzz mutants`. Each mutant is loaded, used, saved and
loaded again. Properties: only `JetonError` and `OSError` are raised, a `FormatError` has a location, and 5 s and 2 GB
suffice. ``--real`` uses the vocabularies in the folder ``JETON_TEST_DATA``.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import faulthandler
import gc
import io
import itertools
import json
import os
import random
import re
import resource
import shutil
import struct
import subprocess
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jeton

TEXTS = ("low lower 今天 ab", "", " a  b\n<unk><s>\u2581 É don't 123", "🙂" * 20 + "\u0301\x00", "ab" * 400)
MOST_SECONDS = 5.0
MOST_BYTES = 2 << 30
BETWEEN = b"\n=====\n"  # separates two files in one input; as in fuzz/src/targets/formats.rs
CORPUS = ["low lower lowest 今天 newer wider é ab abc 123", "the old man told the old tale, don't we?"] * 3

# kind -> (format in jeton-fuzz, file names, options of load)
KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "tokenizer_json": ("hf_json", "tokenizer.json", {}),
    "ranks": ("ranks", "some.tiktoken", {"pattern": "gpt2"}),
    "sentencepiece": ("sentencepiece", "some.model", {}),
    "tekken": ("tekken", "tekken.json", {}),
    "vocab_txt": ("vocab_txt", "vocab.txt", {}),
    "gpt2_pair": ("merges_txt", "vocab.json", {}),
    "config": ("facts", "tokenizer_config.json", {}),
}


def hf_files() -> Iterator[bytes]:
    """tokenizer.json files of all models, with many components."""
    for options in (
        {"pattern": "gpt2"},
        {"end_of_word": "</w>", "unk_token": "<unk>"},
        {"level": "char", "pattern": "gpt2", "unk_token": "<unk>"},
    ):
        yield jeton.train(CORPUS, 290, special_tokens=["<s>", "<pad>"], progress=False, **options).to_bytes()
    words = [
        "<unk>",
        "[CLS]",
        "[SEP]",
        *"abdehlmnortw 今天",
        "▁",
        "▁low",
        "##er",
        "##e",
        "ow",
        "low",
        "er",
        "Ġ",
        "Ġlow",
    ]
    vocab = {word: i for i, word in enumerate(dict.fromkeys(words))}
    merges = [["o", "w"], ["l", "ow"], ["e", "r"], ["▁", "low"]]
    models: list[dict[str, Any]] = [
        {
            "type": "BPE",
            "vocab": vocab,
            "merges": merges,
            "unk_token": "<unk>",
            "fuse_unk": True,
            "ignore_merges": False,
        },
        {"type": "WordPiece", "vocab": vocab, "unk_token": "<unk>", "continuing_subword_prefix": "##"},
        {"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"},
        {"type": "Unigram", "vocab": [[word, -float(i)] for word, i in vocab.items()], "unk_id": 0},
    ]
    models[2]["max_input_chars_per_word"] = 100
    normalizers: list[Any] = [
        None,
        {
            "type": "Sequence",
            "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}, {"type": "Prepend", "prepend": "▁"}],
        },
        {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    ]
    cutters: list[Any] = [
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        {"type": "BertPreTokenizer"},
        {
            "type": "Sequence",
            "pretokenizers": [{"type": "Digits", "individual_digits": True}, {"type": "WhitespaceSplit"}],
        },
        {"type": "Split", "pattern": {"Regex": "\\s+|\\p{L}+"}, "behavior": "Isolated", "invert": False},
    ]
    decoders: list[Any] = [
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        {"type": "WordPiece", "prefix": "##", "cleanup": True},
        {
            "type": "Sequence",
            "decoders": [
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        None,
    ]
    templates: list[Any] = [
        None,
        {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
        {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]}},
        },
        None,
    ]
    added = [
        {
            "id": i,
            "content": words[i],
            "special": True,
            "lstrip": False,
            "rstrip": False,
            "single_word": False,
            "normalized": False,
        }
        for i in range(3)
    ]
    added.append(
        {
            "id": 60,
            "content": "new",
            "special": False,
            "lstrip": True,
            "rstrip": True,
            "single_word": True,
            "normalized": True,
        }
    )
    for model, normalizer, cutter, decoder, template in zip(
        models, normalizers, cutters, decoders, templates, strict=True
    ):
        file = {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": added,
            "normalizer": normalizer,
            "pre_tokenizer": cutter,
            "post_processor": template,
            "decoder": decoder,
            "model": model,
        }
        yield json.dumps(file, ensure_ascii=False).encode()


def sentencepiece_files() -> Iterator[bytes]:
    """Small models of all types, trained if sentencepiece is installed."""
    try:
        import sentencepiece
    except ImportError:
        return
    for model_type, options in itertools.product(("unigram", "bpe", "char", "word"), ({}, {"byte_fallback": True})):
        if model_type == "word" and options:
            continue
        with contextlib.suppress(RuntimeError):
            out = io.BytesIO()
            size = 300 if options else 40
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(CORPUS),
                model_writer=out,
                model_type=model_type,
                vocab_size=size,
                hard_vocab_limit=False,
                minloglevel=2,
                user_defined_symbols=["<u>"],
                control_symbols=["<c>"],
                normalization_rule_name="nmt_nfkc" if model_type == "bpe" else "identity",  # its map is 240 kB
                **options,
            )
            yield out.getvalue()


def tekken_files() -> Iterator[bytes]:
    """tekken.json files of all versions of the format."""
    tokens = [bytes([i]) for i in range(256)] + [b"ab", b"lo", b"low", " 今".encode()]
    vocab = [
        {"rank": i, "token_bytes": base64.b64encode(token).decode(), "token_str": token.decode("utf-8", "replace")}
        for i, token in enumerate(tokens)
    ]
    specials = [{"rank": i, "token_str": text, "is_control": True} for i, text in enumerate(["<unk>", "<s>", "</s>"])]
    for version in ("v3", "v7"):
        config = {
            "pattern": "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\s+|.",
            "num_vocab_tokens": 260,
            "default_vocab_size": 263,
            "default_num_special_tokens": 3,
            "version": version,
        }
        file: dict[str, Any] = {"config": config, "vocab": vocab}
        if version == "v7":
            file["special_tokens"] = specials
        yield json.dumps(file).encode()


def files(kind: str) -> list[bytes]:
    """Valid files of a kind."""
    ranks = [
        b"%s %d" % (base64.b64encode(token), i)
        for i, token in enumerate([bytes([i]) for i in range(256)] + [b"ab", b"low"])
    ]
    vocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nlow\n##er\na\n##b\n今\n"
    pair = json.dumps({"a": 0, "b": 1, "ab": 2, "Ġ": 3, "Ġab": 4, "<|endoftext|>": 5}, ensure_ascii=False).encode()
    config = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": True,
        "unk_token": "[UNK]",
        "bos_token": {"content": "[CLS]", "__type": "AddedToken"},
        "added_tokens_decoder": {"0": {"content": "[PAD]", "special": True}},
        "chat_template": "{{ messages }}",
        "strip_accents": None,
    }
    made: dict[str, Callable[[], list[bytes]]] = {
        "tokenizer_json": lambda: list(hf_files()),
        "ranks": lambda: [b"\n".join(ranks) + b"\n"],
        "sentencepiece": lambda: list(sentencepiece_files()),
        "tekken": lambda: list(tekken_files()),
        "vocab_txt": lambda: [vocab.encode(), vocab.lower().encode()],
        "gpt2_pair": lambda: [pair + BETWEEN + "#version: 0.2\na b\nĠ ab\n".encode()],
        "config": lambda: [json.dumps(config).encode()],
    }
    return made[kind]()


def real_files(kind: str) -> list[bytes]:
    """Published vocabularies of a kind."""
    folder = Path(os.environ["JETON_TEST_DATA"]) / "vocabs"
    wanted = {
        "tokenizer_json": "*.tokenizer.json",
        "ranks": "*.tiktoken",
        "sentencepiece": "*.model",
        "vocab_txt": "*.vocab.txt",
    }
    if kind == "gpt2_pair":
        return [(folder / "gpt2.encoder.json").read_bytes() + BETWEEN + (folder / "gpt2.vocab.bpe").read_bytes()]
    return [path.read_bytes() for path in sorted(folder.glob(wanted.get(kind, "none")))]


class WrongError(Exception):
    """A property is violated."""


class Loader:
    """Loads, uses and saves inputs, one after the other."""

    def __init__(self, kind: str) -> None:
        _, self.name, self.options = KINDS[kind]
        self.kind = kind
        memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108
        self.folder = Path(tempfile.mkdtemp(prefix="jeton-fuzz-", dir=memory))

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder)

    def load(self, data: bytes) -> jeton.Tokenizer:
        """Loads an input."""
        path = self.folder / self.name
        if self.kind == "gpt2_pair":
            data, _, merges = data.partition(BETWEEN)
            (self.folder / "merges.txt").write_bytes(merges)
        elif self.kind == "config":
            (self.folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nlow\n##er\na\n", "utf-8")
        path.write_bytes(data)
        return jeton.load(self.folder if self.kind == "config" else path, **self.options)

    def check(self, data: bytes) -> tuple[str, str]:
        """Outcome of an input: fine, refused or wrong, and a message."""
        began = time.thread_time()
        try:
            tok = self.load(data)
        except jeton.UnsupportedFeatureError as error:
            return ("refused", str(error)) if len(str(error)) < 2000 else ("wrong", f"long message: {str(error)[:60]}")
        except jeton.FormatError as error:
            if not error.place:
                return "wrong", f"no place: {self.plain(error)}"
            return (
                ("refused", self.plain(error))
                if len(str(error)) < 2000
                else ("wrong", f"long message: {str(error)[:60]}")
            )
        except (jeton.JetonError, OSError) as error:
            return "refused", f"{type(error).__name__} {self.plain(error)}"
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return "wrong", f"load: {self.told(error)}"
        loaded = time.thread_time() - began
        if loaded > MOST_SECONDS:
            return "wrong", f"slow: load takes {loaded:.1f} s"
        try:
            self.use(tok)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            return "wrong", f"use: {self.told(error)}"
        used = time.thread_time() - began - loaded
        return ("wrong", f"slow: use takes {used:.1f} s") if used > 2 * MOST_SECONDS else ("fine", "")

    def plain(self, error: BaseException) -> str:
        """Message of an error, without the path."""
        return str(error).replace(str(self.folder), "")

    def told(self, error: BaseException) -> str:
        """Message of an unexpected error, with its origin."""
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if "jeton" in frame.filename and "loaders" not in frame.filename] or frames
        place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
        return f"{type(error).__name__} at {place}: {self.plain(error)[:300]}"

    def use(self, tok: jeton.Tokenizer) -> None:
        """Encodes, decodes, saves and loads again."""
        for text in TEXTS:
            for special in ("none", "all"):
                with contextlib.suppress(jeton.JetonError):
                    ids = tok.encode(text, special=special)
                    if tok.count(text, special=special) != len(ids):
                        raise WrongError("count is not the number of ids")
                    tok.decode(ids)
                    tok.decode_bytes(ids)
        with contextlib.suppress(jeton.JetonError):
            _ = tok.encode_batch(list(TEXTS)), repr(tok), tok.merges, tok.fingerprint
            json.dumps(tok.explain(TEXTS[0]).to_json())
        for name in ("out.json", "out.tiktoken", "out.model", "out-tekken.json", "out.txt", "out.vocab"):
            with contextlib.suppress(jeton.JetonError):
                tok.save(self.folder / name)
        try:
            data = tok.to_bytes()
        except jeton.JetonError:
            return
        again = jeton.Tokenizer.from_bytes(data)
        if again.fingerprint != tok.fingerprint:
            raise WrongError("from_bytes(to_bytes()) has another fingerprint")


def signature(outcome: tuple[str, str]) -> str:
    """Message without the parts that vary between inputs."""
    head = re.sub(r"(?<![:\w])(0x)?[0-9a-f]*[0-9][0-9a-f]*", "", outcome[1])  # except line numbers of Python
    for quote in "'\"`":
        head = head.partition(quote)[0]
    return f"{outcome[0]} {head[:120]}"


def smaller(data: bytes, is_same: Callable[[bytes], bool], seconds: float) -> bytes:
    """Minimizes an input: removes members and items of JSON, then bytes, while the outcome stays the same."""
    until = time.monotonic() + seconds

    def reduced(value: Any, rebuild: Callable[[Any], Any]) -> Any:
        keys = (
            list(value) if isinstance(value, dict) else list(range(len(value)))[::-1] if isinstance(value, list) else []
        )
        for key in keys:
            if time.monotonic() > until:
                break
            fewer = (
                {k: v for k, v in value.items() if k != key}
                if isinstance(value, dict)
                else value[:key] + value[key + 1 :]
            )
            if is_same(json.dumps(rebuild(fewer), ensure_ascii=False).encode("utf-8", "surrogatepass")):
                value = fewer
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []:

            def put(part: Any, key: Any = key, value: Any = value) -> Any:
                copy = value.copy()
                copy[key] = part
                return rebuild(copy)

            value = value.copy()
            value[key] = reduced(value[key], put)
        return value

    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(data)
        if is_same(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")):
            return json.dumps(reduced(value, lambda whole: whole), ensure_ascii=False).encode("utf-8", "surrogatepass")
    size = len(data) // 2
    while size and time.monotonic() < until:
        at = 0
        while at < len(data) and time.monotonic() < until:
            fewer = data[:at] + data[at + size :]
            if is_same(fewer):
                data = fewer
            else:
                at += size
        size //= 2
    return data


def mutants(fuzzer: str, kind: str, seeds: list[bytes], seed: int) -> Iterator[bytes]:
    """Endless mutants: first the files themselves, then truncated files, then random changes."""
    yield from seeds
    rng = random.Random(seed)  # noqa: S311
    for file in seeds:
        yield from (file[: rng.randrange(len(file) + 1)] for _ in range(10))
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{folder}/{i}" for i in range(len(seeds))]
        for name, file in zip(names, seeds, strict=True):
            Path(name).write_bytes(file)
        command = [fuzzer, "mutants", KINDS[kind][0], "--seed", str(seed), *names]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603
            out = process.stdout
            assert out is not None
            try:
                while head := out.read(4):
                    yield out.read(struct.unpack("<I", head)[0])
            finally:
                process.kill()


def run(arguments: argparse.Namespace) -> None:
    """Loads mutants for a given time; the last line of output is JSON."""
    seeds = real_files(arguments.kind) if arguments.real else files(arguments.kind)
    arguments.findings.mkdir(parents=True, exist_ok=True)
    with Loader(arguments.kind) as loader:
        _run(arguments, loader, seeds)


def _run(arguments: argparse.Namespace, loader: Loader, seeds: list[bytes]) -> None:
    findings: Path = arguments.findings
    executions, fine, told, seen = 0, 0, [], set()
    inputs = mutants(arguments.fuzzer, arguments.kind, seeds, arguments.seed)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    until = time.monotonic() + arguments.seconds
    outcomes: dict[str, int] = {}
    while seeds and time.monotonic() < until:
        data = next(inputs)
        (findings / "current").write_bytes(data)
        faulthandler.dump_traceback_later(60, exit=True)
        outcome = loader.check(data)
        faulthandler.cancel_dump_traceback_later()
        executions += 1
        fine += outcome[0] == "fine"
        sign = signature(outcome)
        outcomes[sign] = outcomes.get(sign, 0) + 1
        if executions % 500 == 0:
            gc.collect()
        if outcome[0] != "wrong" or sign in seen:
            continue
        seen.add(sign)
        name = f"load-{arguments.kind}-{len(seen):03}"
        (findings / f"{name}.found").write_bytes(data)
        (findings / f"{name}.txt").write_text(outcome[1], "utf-8", "replace")

        def is_same(smaller: bytes, sign: str = sign) -> bool:
            return signature(loader.check(smaller)) == sign

        (findings / f"{name}.min").write_bytes(smaller(data, is_same, 10))
        print(f"FINDING load-{arguments.kind} {outcome[1]}\n        {findings / name}.min", flush=True)
        told.append(outcome[1][:300])
    (findings / "current").unlink(missing_ok=True)
    for sign, times in sorted(outcomes.items(), key=lambda item: -item[1])[: arguments.show]:
        print(f"{times:>10} {sign}")
    facts = {"target": f"load-{arguments.kind}", "executions": executions, "fine": fine, "kept": 0, "findings": told}
    print(json.dumps(facts))


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("kind", choices=KINDS)
    running.add_argument("--fuzzer", default="target/release/jeton-fuzz")
    running.add_argument("--seconds", type=float, default=10)
    running.add_argument("--seed", type=int, default=1)
    running.add_argument("--findings", type=Path, default=Path("fuzz/findings"))
    running.add_argument("--show", type=int, default=0)
    running.add_argument("--real", action="store_true")
    replaying = commands.add_parser("replay")
    replaying.add_argument("kind", choices=KINDS)
    replaying.add_argument("files", nargs="+", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "run":
        run(arguments)
        return
    with Loader(arguments.kind) as loader:
        for path in arguments.files:
            print(*loader.check(path.read_bytes()), path, sep="\t")


if __name__ == "__main__":
    main()
