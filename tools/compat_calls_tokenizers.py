"""Compares `jeton.compat.tokenizers` with tokenizers, on generated calls over the whole interface.

    JETON_TEST_DATA=… python tools/compat_calls_tokenizers.py [--calls 5000] [--seed 0]

A session creates the same tokenizer with both libraries, and then makes the same calls on both. Some calls change
components, tokens and settings; others encode, decode, serialize or read properties. Both must return equal values of
the same types, or raise exceptions of the same type. Where tokenizers panics, the drop-in must raise an exception.
The exit code is 4 if a call differs. Calls that the drop-in passes to tokenizers are counted. Without the data, only
small vocabularies are compared.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import copy
import io
import json
import os
import pickle
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

DIFFERENT = 4

FILES = (
    "falcon", "gpt-neox-20b", "mbart-en-fairseq", "phi-3-mini", "roberta-base", "t5-small", "whisper-tiny",
)  # fmt: skip
WORDS = [
    "low",
    "lower",
    "lowest",
    "new",
    "newer",
    "wide",
    "don't",
    "naïve",
    "café",
    "é",
    "Straße",
    "ﬁne",
    "12,345",
    "3.14",
    "今天",
    "天気",
    "がぎ",
    "👍\u200d👩",
    "x\u200by",
    "[MASK]",
    "[CLS]",
    "<s>",
    "</s>",
    "<pad>",
    "<mask>",
    "[NEW]",
    "<|x|>",
    "▁a",
    "Ġb",
    "\t",
    "\n",
    "",
    "\r\n",
    "\u3000",
    "\xa0",
    "\x00",
    "�",
    "##",
    "##er",
    "_",
    "-",
    "...",
    "a.b/c@d",
    "AbC",
    "ZZZ",
    "{q}",
    "<0x41>",
]
TOKENS = ("[NEW]", "<|x|>", "low", "er", "NEW Token", "naïve", " sp ", "</w>", "天気", "", "[MASK]", "Straße", "\n")
COLUMNS = (
    "ids", "tokens", "offsets", "word_ids", "type_ids", "special_tokens_mask", "attention_mask", "sequence_ids",
    "n_sequences", "overflowing",
)  # fmt: skip
Spec = tuple[str, str, dict[str, Any]]  # module, class, options

NORMALIZERS: list[Spec] = [
    ("normalizers", "BertNormalizer", {}),
    ("normalizers", "BertNormalizer", {"lowercase": False, "strip_accents": True}),
    ("normalizers", "Lowercase", {}),
    ("normalizers", "NFC", {}),
    ("normalizers", "NFKD", {}),
    ("normalizers", "StripAccents", {}),
    ("normalizers", "Strip", {"left": True, "right": False}),
    ("normalizers", "Prepend", {"prepend": "▁"}),
    ("normalizers", "Replace", {"pattern": " ", "content": "▁"}),
    ("normalizers", "Nmt", {}),
]
PRE_TOKENIZERS: list[Spec] = [
    ("pre_tokenizers", "Whitespace", {}),
    ("pre_tokenizers", "WhitespaceSplit", {}),
    ("pre_tokenizers", "BertPreTokenizer", {}),
    ("pre_tokenizers", "ByteLevel", {"add_prefix_space": False}),
    ("pre_tokenizers", "ByteLevel", {"add_prefix_space": True, "use_regex": True}),
    ("pre_tokenizers", "Metaspace", {}),
    ("pre_tokenizers", "Metaspace", {"prepend_scheme": "never", "split": False}),
    ("pre_tokenizers", "Punctuation", {}),
    ("pre_tokenizers", "Digits", {"individual_digits": True}),
    ("pre_tokenizers", "CharDelimiterSplit", {"delimiter": "-"}),
    ("pre_tokenizers", "Split", {"pattern": " ", "behavior": "merged_with_next"}),
    ("pre_tokenizers", "UnicodeScripts", {}),
]
DECODERS: list[Spec] = [
    ("decoders", "ByteLevel", {}),
    ("decoders", "WordPiece", {}),
    ("decoders", "WordPiece", {"cleanup": False}),
    ("decoders", "Metaspace", {}),
    ("decoders", "BPEDecoder", {"suffix": "</w>"}),
    ("decoders", "ByteFallback", {}),
    ("decoders", "Fuse", {}),
    ("decoders", "Replace", {"pattern": "▁", "content": " "}),
    ("decoders", "CTC", {}),
]
PROCESSORS: list[Spec] = [
    ("processors", "BertProcessing", {"sep": ("[SEP]", 1), "cls_token": ("[CLS]", 0)}),
    ("processors", "RobertaProcessing", {"sep": ("</s>", 1), "cls_token": ("<s>", 0)}),
    ("processors", "RobertaProcessing", {"sep": ("</s>", 1), "cls_token": ("<s>", 0), "trim_offsets": False}),
    ("processors", "ByteLevel", {"trim_offsets": True}),
    (
        "processors",
        "TemplateProcessing",
        {
            "single": "[CLS] $0 [SEP]:1",
            "pair": "[CLS] $A [SEP] $B:1 [SEP]:1",
            "special_tokens": [("[CLS]", 0), ("[SEP]", 1)],
        },
    ),
]
STAGES = {
    "normalizer": NORMALIZERS,
    "pre_tokenizer": PRE_TOKENIZERS,
    "decoder": DECODERS,
    "post_processor": PROCESSORS,
}
VOCAB = [
    *("[CLS]", "[SEP]", "[UNK]", "[MASK]", "<s>", "</s>", "<pad>"),
    *"lowernstidfgabc'",
    *("##e", "##er", "lo", "low", "er", "new", "▁", "▁low", "Ġ", "Ġlow", "##w", "lower", "est", "12"),
]
ENTRIES = {token: id for id, token in enumerate(dict.fromkeys(VOCAB))}
MERGES = [("l", "o"), ("lo", "w"), ("e", "r"), ("low", "er"), ("▁", "low"), ("Ġ", "low")]
MODELS: list[Spec] = [
    ("models", "BPE", {}),
    ("models", "BPE", {"vocab": ENTRIES, "merges": MERGES}),
    ("models", "BPE", {"vocab": ENTRIES, "merges": MERGES, "unk_token": "[UNK]", "fuse_unk": True}),
    ("models", "BPE", {"vocab": ENTRIES, "merges": MERGES, "unk_token": "[UNK]", "ignore_merges": True}),
    ("models", "WordPiece", {"vocab": ENTRIES, "unk_token": "[UNK]"}),
    ("models", "WordLevel", {"vocab": ENTRIES, "unk_token": "[UNK]"}),
    ("models", "Unigram", {"vocab": [(token, -1.0 - id / 8) for token, id in ENTRIES.items()], "unk_id": 2}),
]


class Call(NamedTuple):
    """A call of a session: a name for reports, and a function that is called with the library and the tokenizer."""

    name: str
    run: Callable[[Any, Any], Any]


class Generator:
    """Generator of random calls."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311

    def text(self, most: int = 10) -> str:
        """Returns a text of random words."""
        rng = self.rng
        words = (
            rng.choice(WORDS) if rng.random() < 0.9 else chr(rng.randrange(32, 0x500))
            for _ in range(rng.randint(0, most))
        )
        return rng.choice([" ", " ", ""]).join(words)

    def words(self) -> list[str]:
        """Returns a text that is split into words."""
        return [self.text(2) for _ in range(self.rng.randint(0, 4))]

    def ids(self) -> list[int]:
        """Returns random ids, some of them unknown."""
        rng = self.rng
        return [rng.randrange(60) if rng.random() < 0.8 else rng.randrange(60_000) for _ in range(rng.randint(0, 12))]

    def spec(self, kind: str) -> Spec | None:
        """Returns a random component of a kind."""
        rng, specs = self.rng, STAGES[kind]
        if rng.random() < 0.2:
            return None
        if rng.random() < 0.2 and kind != "post_processor":
            return (specs[0][0], "Sequence", {"parts": [rng.choice(specs) for _ in range(rng.randint(0, 3))]})
        return rng.choice(specs)

    def base(self, folder: Path | None) -> tuple[str, Callable[[Any], Any]]:
        """Returns the name of a random tokenizer, and a function that creates it with a library."""
        rng = self.rng
        if folder is not None and rng.random() < 0.35:
            path = str(folder / f"{rng.choice(FILES)}.tokenizer.json")
            return Path(path).name, lambda lib: lib.Tokenizer.from_file(path)
        model = rng.choice(MODELS)
        stages = {kind: self.spec(kind) for kind in STAGES if rng.random() < 0.7}

        def make(lib: Any) -> Any:
            tok = lib.Tokenizer(made(lib, model))
            for kind, spec in stages.items():
                setattr(tok, kind, None if spec is None else made(lib, spec))
            return tok

        return f"{model[1]} {stages}", make

    def call(self) -> Call:
        """Returns a random call."""
        return self.rng.choice(KINDS)(self)

    # ── kinds of calls ───────────────────────────────────────────────────────────────────────────────────────────────

    def encode(self) -> Call:
        """Returns a call of `encode` that then reads or changes the resulting `Encoding`."""
        rng = self.rng
        is_words, adds = rng.random() < 0.2, rng.random() < 0.7
        give = self.words if is_words else self.text
        first, second = give(), give() if rng.random() < 0.3 else None
        read = self.reading()
        return Call(
            f"encode({first!r}, {second!r}, {is_words}, {adds}) {read.name}",
            lambda lib, tok: read.run(lib, tok.encode(first, second, is_words, adds)),
        )

    def batch(self) -> Call:
        """Returns a call of `encode_batch` or `encode_batch_fast`, or of their asynchronous variants."""
        rng = self.rng
        is_words, adds = rng.random() < 0.2, rng.random() < 0.7
        give = self.words if is_words else self.text
        pairs = rng.choice([0.0, 0.0, 1.0, 0.4])
        given = [(give(), give()) if rng.random() < pairs else give() for _ in range(rng.randint(0, 5))]
        name = rng.choice(
            ["encode_batch", "encode_batch", "encode_batch_fast", "async_encode_batch", "async_encode_batch_fast"]
        )
        column = rng.choice([*COLUMNS, "state"])

        def run(lib: Any, tok: Any) -> Any:
            method = getattr(tok, name)
            found = (
                awaited(lambda: method(given, is_words, adds))
                if name.startswith("async")
                else method(given, is_words, adds)
            )
            return [each if column == "state" else getattr(each, column) for each in found]

        return Call(f"{name}({given!r}, {is_words}, {adds}) {column}", run)

    def background(self) -> Call:
        """Returns a call of `async_encode` or `async_decode_batch`."""
        text, rows = self.text(), [self.ids() for _ in range(3)]
        if self.rng.random() < 0.5:
            return Call(f"async_encode({text!r})", lambda lib, tok: awaited(lambda: tok.async_encode(text)))
        return Call(f"async_decode_batch({rows})", lambda lib, tok: awaited(lambda: tok.async_decode_batch(rows)))

    def reading(self) -> Call:
        """Returns a call that gets an `Encoding` instead of a tokenizer, and reads or changes it."""
        rng = self.rng
        at, of = rng.randrange(12), rng.choice([0, 0, 1, 2])
        length, stride = rng.randrange(12), rng.randrange(4)
        side = rng.choice(["left", "right", "up"])
        column = rng.choice(COLUMNS)
        method = rng.choice(["char_to_token", "char_to_word", "word_to_tokens", "word_to_chars"])
        single = rng.choice(["token_to_chars", "token_to_word", "token_to_sequence"])

        def changed(change: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
            def run(lib: Any, encoding: Any) -> Any:
                change(encoding)
                return encoding

            return run

        return rng.choice(
            [
                Call(column, lambda lib, encoding: getattr(encoding, column)),
                Call(column, lambda lib, encoding: getattr(encoding, column)),
                Call("all", lambda lib, encoding: encoding),
                Call(f"{method}({at}, {of})", lambda lib, encoding: getattr(encoding, method)(at, of)),
                Call(f"{single}({at})", lambda lib, encoding: getattr(encoding, single)(at)),
                Call(
                    f"pad({length}, {side})",
                    changed(lambda encoding: encoding.pad(length, direction=side, pad_id=9)),
                ),
                Call(
                    f"truncate({length}, {stride}, {side})",
                    changed(lambda encoding: encoding.truncate(length, stride, side)),
                ),
                Call(f"set_sequence_id({of})", changed(lambda encoding: encoding.set_sequence_id(of))),
                Call("merge", lambda lib, encoding: lib.Encoding.merge([encoding, encoding], growing_offsets=bool(of))),
                Call("pickle", lambda lib, encoding: (repr(encoding), len(encoding), copied(encoding))),
            ]
        )

    def decode(self) -> Call:
        """Returns a call of `decode` or `decode_batch`."""
        rng = self.rng
        skips = rng.random() < 0.5
        rows = [self.ids() for _ in range(rng.randint(0, 3))]
        if rng.random() < 0.5:
            ids = self.ids()
            return Call(f"decode({ids}, {skips})", lambda lib, tok: tok.decode(ids, skips))
        return Call(f"decode_batch({rows}, {skips})", lambda lib, tok: tok.decode_batch(rows, skips))

    def back(self) -> Call:
        """Returns a call that encodes a text and decodes its ids."""
        text, skips = self.text(), self.rng.random() < 0.5
        return Call(f"decode(encode({text!r}), {skips})", lambda lib, tok: tok.decode(tok.encode(text).ids, skips))

    def stream(self) -> Call:
        """Returns a call that makes several steps of a `DecodeStream`."""
        rng = self.rng
        text, skips, prompt = self.text(), rng.random() < 0.5, self.ids() if rng.random() < 0.3 else None
        width = rng.choice([1, 1, 1, 3])

        def run(lib: Any, tok: Any) -> Any:
            ids = tok.encode(text, add_special_tokens=False).ids
            stream = (
                lib.decoders.DecodeStream(prompt, skips)
                if prompt
                else lib.decoders.DecodeStream(skip_special_tokens=skips)
            )
            steps = ids if width == 1 else [ids[at : at + width] for at in range(0, len(ids), width)]
            return [stream.step(tok, step) for step in steps]

        return Call(f"stream({text!r}, {prompt}, {skips}, {width})", run)

    def vocabulary(self) -> Call:
        """Returns a call that reads the vocabulary."""
        rng = self.rng
        token, id, adds = (
            rng.choice([*TOKENS, *VOCAB]),
            rng.choice([rng.randrange(60), rng.randrange(60_000)]),
            rng.random() < 0.5,
        )
        return rng.choice(
            [
                Call(f"token_to_id({token!r})", lambda lib, tok: tok.token_to_id(token)),
                Call(f"id_to_token({id})", lambda lib, tok: tok.id_to_token(id)),
                Call(f"get_vocab({adds})", lambda lib, tok: sorted(tok.get_vocab(adds).items())[:200]),
                Call(f"get_vocab_size({adds})", lambda lib, tok: tok.get_vocab_size(adds)),
                Call("get_added_tokens_decoder()", lambda lib, tok: tok.get_added_tokens_decoder()),
                Call("num_special_tokens_to_add", lambda lib, tok: tok.num_special_tokens_to_add(adds)),
                Call(
                    "model",
                    lambda lib, tok: (
                        type(tok.model).__name__,
                        tok.model.token_to_id(token),
                        tok.model.id_to_token(id),
                    ),
                ),
                Call(
                    f"model.tokenize({token!r})",
                    lambda lib, tok: [each.as_tuple() for each in tok.model.tokenize(token)],
                ),
            ]
        )

    def tokens(self) -> Call:
        """Returns a call that adds tokens."""
        rng = self.rng
        given = [
            (
                rng.choice(TOKENS),
                {
                    flag: rng.random() < 0.3
                    for flag in ("lstrip", "rstrip", "single_word", "normalized")
                    if rng.random() < 0.3
                },
            )
            for _ in range(rng.randint(0, 3))
        ]
        name = rng.choice(["add_tokens", "add_special_tokens"])

        def run(lib: Any, tok: Any) -> Any:
            return getattr(tok, name)(
                [lib.AddedToken(content, **flags) if flags else content for content, flags in given]
            )

        return Call(f"{name}({given})", run)

    def settings(self) -> Call:
        """Returns a call that changes padding, truncation or the treatment of special tokens."""
        rng = self.rng
        padding = rng.choice(
            [
                {},
                {"length": rng.randrange(16), "pad_id": 6, "pad_token": "<pad>", "pad_type_id": 1},
                {"direction": "left", "pad_to_multiple_of": rng.randrange(5)},
                {"direction": "up"},
            ]
        )
        truncation = {
            "max_length": rng.randrange(2, 14),
            "stride": rng.choice([0, 0, 1, 2, 9]),
            "direction": rng.choice(["left", "right"]),
        }
        truncation["strategy"] = rng.choice(["longest_first", "longest_first", "only_first", "only_second", "none"])
        splits = rng.random() < 0.5

        def switch(lib: Any, tok: Any) -> Any:
            tok.encode_special_tokens = splits
            return tok.encode_special_tokens

        def after(change: Callable[[Any], Any], name: str) -> Callable[[Any, Any], Any]:
            def run(lib: Any, tok: Any) -> Any:
                return change(tok), getattr(tok, name)

            return run

        return rng.choice(
            [
                Call(f"enable_padding({padding})", after(lambda tok: tok.enable_padding(**padding), "padding")),
                Call(
                    f"enable_truncation({truncation})",
                    after(lambda tok: tok.enable_truncation(**truncation), "truncation"),
                ),
                Call("no_padding()", after(lambda tok: tok.no_padding(), "padding")),
                Call("no_truncation()", after(lambda tok: tok.no_truncation(), "truncation")),
                Call(f"encode_special_tokens={splits}", switch),
            ]
        )

    def stage(self) -> Call:
        """Returns a call that assigns a component of the tokenizer, or shows it."""
        rng = self.rng
        kind = rng.choice(list(STAGES))
        spec = self.spec(kind)

        def assign(lib: Any, tok: Any) -> Any:
            setattr(tok, kind, None if spec is None else made(lib, spec))
            return getattr(tok, kind)

        if rng.random() < 0.5:
            return Call(f"{kind} = {spec}", assign)
        return Call(kind, lambda lib, tok: getattr(tok, kind))

    def live(self) -> Call:
        """Returns a call that sets an attribute of a component of the tokenizer."""
        rng = self.rng
        kind, name, value = rng.choice(
            [
                ("normalizer", "lowercase", rng.random() < 0.5),
                ("normalizer", "left", True),
                ("pre_tokenizer", "add_prefix_space", rng.random() < 0.5),
                ("pre_tokenizer", "split", rng.random() < 0.5),
                ("pre_tokenizer", "prepend_scheme", rng.choice(["first", "always", "never", "none"])),
                ("decoder", "prefix", "##"),
                ("decoder", "cleanup", rng.random() < 0.5),
                # The only attribute of a model that is set. After a change of another attribute, `tokenizers` would
                # still use the words that were cached before the change.
                ("model", "unk_token", "[NONE]"),
                ("post_processor", "trim_offsets", rng.random() < 0.5),
            ]
        )

        def run(lib: Any, tok: Any) -> Any:
            part = getattr(tok, kind)
            if not hasattr(part, name):
                return None
            setattr(part, name, value)
            return getattr(part, name)

        return Call(f"{kind}.{name} = {value!r}", run)

    def alone(self) -> Call:
        """Returns a call that creates a component and uses it alone, without a tokenizer."""
        rng = self.rng
        kind = rng.choice(["normalizer", "pre_tokenizer", "decoder"])
        spec, text, tokens = (
            rng.choice(STAGES[kind]),
            self.text(),
            [rng.choice([*VOCAB, *WORDS]) for _ in range(rng.randint(0, 6))],
        )

        def run(lib: Any, tok: Any) -> Any:
            part = made(lib, spec)
            if kind == "normalizer":
                return part.normalize_str(text)
            return part.pre_tokenize_str(text) if kind == "pre_tokenizer" else part.decode(tokens)

        return Call(f"{spec} {tokens if kind == 'decoder' else text!r}", run)

    def serial(self) -> Call:
        """Returns a call that serializes or copies the tokenizer."""
        text = self.text()
        return self.rng.choice(
            [
                Call("to_str()", lambda lib, tok: tok.to_str()),
                Call("str()", lambda lib, tok: str(tok)),
                Call("to_str(pretty=True)", lambda lib, tok: tok.to_str(pretty=True)[:5000]),
                Call("pickle", lambda lib, tok: pickle.loads(pickle.dumps(tok)).encode(text)),  # noqa: S301
                Call("deepcopy", lambda lib, tok: copy.deepcopy(tok).encode(text)),
                Call("from_str", lambda lib, tok: lib.Tokenizer.from_str(tok.to_str()).encode(text)),
                Call("from_buffer", lambda lib, tok: lib.Tokenizer.from_buffer(tok.to_str().encode()).encode(text)),
            ]
        )

    def process(self) -> Call:
        """Returns a call of `post_process`."""
        first, second, adds = self.text(4), self.text(4), self.rng.random() < 0.7
        has_pair = self.rng.random() < 0.5

        def run(lib: Any, tok: Any) -> Any:
            pair = tok.encode(second, add_special_tokens=False) if has_pair else None
            return tok.post_process(tok.encode(first, add_special_tokens=False), pair, adds)

        return Call(f"post_process({first!r}, {second!r}, {adds})", run)

    def wrong(self) -> Call:
        """Returns a call with arguments of wrong types."""
        value = self.rng.choice(
            [None, 1, -1, 1 << 70, 1.5, "text", b"bytes", [1], ["a", 2], {"a": 1}, {1}, ("a", "b", "c"), "\ud800"]
        )
        name = self.rng.choice(
            [
                "encode", "encode_batch", "encode_batch_fast", "decode", "decode_batch", "token_to_id", "id_to_token",
                "add_tokens", "add_special_tokens", "enable_truncation", "get_vocab", "get_vocab_size", "to_str",
                "train", "num_special_tokens_to_add", "post_process", "from_str", "from_buffer", "from_file",
                "normalizer",
                "encode_special_tokens", "model",
            ]
        )  # fmt: skip

        def run(lib: Any, tok: Any) -> Any:
            if name in ("normalizer", "encode_special_tokens", "model"):
                return setattr(copy.deepcopy(tok), name, value)
            return getattr(copy.deepcopy(tok), name)(value)

        return Call(f"{name}({value!r})", run)

    def train(self) -> Call:
        """Returns a call that trains a small model."""
        rng = self.rng
        # `WordPieceTrainer` is left out, because its results in `tokenizers` vary between runs.
        kind = rng.choice(["BpeTrainer", "WordLevelTrainer"])
        texts = ["low lower lowest slow slower", "new newer newest wide wider", self.text(6).replace("\0", "")] * 2
        size = rng.randrange(30, 60)

        def run(lib: Any, tok: Any) -> Any:
            model = {"BpeTrainer": "BPE"}.get(kind, kind.removesuffix("Trainer"))
            own = lib.Tokenizer(getattr(lib.models, model)())
            own.pre_tokenizer = lib.pre_tokenizers.Whitespace()
            trainer = getattr(lib.trainers, kind)(vocab_size=size, special_tokens=["[UNK]"], show_progress=False)
            own.train_from_iterator(texts, trainer)
            found = json.loads(own.to_str())["model"]
            return found if kind == "BpeTrainer" else sorted(found["vocab"])

        return Call(f"{kind}({size}) {texts[2]!r}", run)


KINDS = [
    *[Generator.encode] * 8, *[Generator.batch] * 5, *[Generator.decode] * 2, Generator.back, Generator.back,
    *[Generator.stream] * 2, *[Generator.vocabulary] * 3, *[Generator.tokens] * 2, *[Generator.settings] * 4,
    *[Generator.stage] * 3, Generator.live, *[Generator.alone] * 3, Generator.serial, Generator.process,
    *[Generator.wrong] * 2, Generator.background, Generator.train,
]  # fmt: skip


def copied(encoding: Any) -> Any:
    """Returns a copy of an encoding.

    Calls the two state methods directly. `pickle` calls them too, but must also import the class of the encoding.
    """
    made = type(encoding)()
    made.__setstate__(encoding.__getstate__())
    return made


def made(lib: Any, spec: Spec) -> Any:
    """Creates a component with a library."""
    module, name, options = spec
    cls = getattr(getattr(lib, module), name)
    if name == "Sequence":
        return cls([made(lib, each) for each in options["parts"]])
    return cls(**options)


def awaited(call: Callable[[], Any]) -> Any:
    """Returns the result of a call that returns an awaitable."""

    async def wait() -> Any:
        return await call()

    return asyncio.run(wait())


def plain(value: Any) -> Any:
    """Returns a value together with the name of its type, for comparison across the libraries.

    The items of lists, tuples and dicts are treated likewise.
    """
    name = type(value).__name__
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return name, value
    if isinstance(value, list | tuple):
        return name, [plain(each) for each in value]
    if isinstance(value, dict):
        return name, [(plain(key), plain(each)) for key, each in value.items()]
    if name == "Encoding":
        return name, json.loads(value.__getstate__())
    return name, repr(value)


def outcome(call: Call, lib: Any, tok: Any) -> Any:
    """Returns the value of a call, or its exception."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            value = call.run(lib, tok)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return "raises", type(error).__name__, str(error)
    return "returns", plain(value), ""


def differences(num_calls: int, seed: int, folder: Path | None) -> Iterator[tuple[str, Any, Any] | None]:
    """Yields, for each call, None if its outcomes agree, or else its description and both outcomes."""
    import tokenizers as theirs

    import jeton.compat.tokenizers as ours

    generator = Generator(seed)
    done = 0
    while done < num_calls:
        name, base = generator.base(folder)
        pair = [base(lib) for lib in (theirs, ours)]
        history: list[str] = []
        for _ in range(generator.rng.randint(4, 16)):
            call = generator.call()
            expected, found = outcome(call, theirs, pair[0]), outcome(call, ours, pair[1])
            history.append(call.name)
            done += 1
            if expected[:2] == found[:2] or (is_panic(expected) and found[0] == "raises"):
                yield None
            else:
                yield f"{name}: {'; '.join(history)}", expected, found
            if is_panic(expected) or expected[:2] != found[:2]:
                break  # a panic may leave the tokenizer of `tokenizers` unusable


def is_panic(found: Any) -> bool:
    """Tests whether an outcome is a panic of `tokenizers`."""
    return bool(found[0] == "raises" and found[1] in ("PanicException", "RustPanic"))


def main() -> int:
    """Runs the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=10, help="differences that are shown")
    parser.add_argument("--fallbacks", action="store_true", help="list calls that the drop-in leaves to the original")
    options = parser.parse_args()
    data = os.environ.get("JETON_TEST_DATA")
    folder = Path(data) / "vocabs" if data else None
    from jeton.compat import report

    counts: Counter[bool] = Counter()
    for found in differences(options.calls, options.seed, folder):
        counts[found is None] += 1
        if found is not None and counts[False] <= options.show:
            theirs, ours = str(found[1]), str(found[2])
            at = next((at for at, pair in enumerate(zip(theirs, ours, strict=False)) if len(set(pair)) > 1), 0)
            start = max(at - 200, 0)
            print(
                f"{found[0][-600:]}\n  tokenizers: {theirs[start : at + 200]}\n  jeton:      {ours[start : at + 200]}"
            )
    if options.fallbacks:
        print("\n".join(report.lines("tokenizers", set)))
    by_original = sum(
        int(line.split(", ")[1].split(" ")[0].replace(",", ""))
        for line in report.lines("tokenizers", set)
        if line.startswith("fell back")
    )
    print(
        f"{counts.total():,} calls: {counts[True]:,} equal, {counts[False]:,} different; "
        f"{by_original:,} used the original"
    )
    return DIFFERENT if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main())
