"""Compares accelerated tokenizers of transformers with the original ones, on generated calls over the whole interface.

    JETON_TEST_DATA=… python tools/compat_calls_transformers.py [--calls 5000] [--seed 0]

Each call is made on an original tokenizer and on an accelerated copy of it. Both must return equal values of the same
types, or raise exceptions of the same type. Afterwards, truncation and padding of their `tokenizers.Tokenizer` must be
equal, too. Some calls change both tokenizers. The exit code is 4 if a call differs. Without JETON_TEST_DATA, only small
tokenizers are compared.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import pickle
import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DIFFERENT = 4
CALLS_PER_TOKENIZER = 40  # number of calls before a fresh copy replaces the tokenizer

# file -> padding token
VOCABULARIES = {
    "bert-uncased.vocab.txt": "[PAD]",
    "falcon.tokenizer.json": "<|endoftext|>",
    "gpt-neox-20b.tokenizer.json": "<|padding|>",
    "mbart-en-fairseq.tokenizer.json": "<pad>",
    "phi-3-mini.tokenizer.json": "<|endoftext|>",
    "roberta-base.tokenizer.json": "<pad>",
    "t5-small.tokenizer.json": "<pad>",
    "whisper-tiny.tokenizer.json": "<|endoftext|>",
    "gpt2.encoder.json": "<|endoftext|>",
}
PIECES = [
    *[
        "the",
        " the",
        "The",
        "lower",
        " low",
        " world",
        "'ll",
        "na\u00efve",
        "e\u0301",
        "\u00dcn\u00ef",
        "zq",
        "HTTPServer",
    ],
    *["0", "12", "345", "1234567", " 2024", "!", "...", "?!", "->", "{}", "<|", "|>", "<s", "[MASK", "</s>", "<pad>"],
    *[" ", "  ", "    ", "\n", "\n\n", "\r\n", "\t", " \n ", "\u00a0", "\u3000", "\x85", "\u200b", "\u2028", "\x00"],
    *[
        "\u4eca\u5929",
        "\u65e5\u672c\u8a9e",
        "\ud55c\uad6d\uc5b4",
        "\u0939\u093f\u0928\u094d\u0926\u0940",
        "\u05e9\u05dc\u05d5\u05dd",
    ],
    *[
        "\U0001f44d",
        "\U0001f469\u200d\U0001f467",
        "\U0001f1e9\U0001f1ea",
        "\U0001d518",
        "\u017f",
        "\u2460",
        "\u2581",
        "\u0120",
        "##ing",
    ],
]
NEW_TOKENS = ["<new>", "[EXTRA]", "lower", "\u4eca", "n\u00e9w", " sp ", "<|im_start|>", "world", "The"]
TEMPLATE = (
    "{% for m in messages %}{{ '<|' + m.role + '|>' }}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}"
    "{% endgeneration %}{% else %}{{ m.content }}{% endif %}{{ '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


# ── tokenizers ───────────────────────────────────────────────────────────────────────────────────────────────────────


def small() -> dict[str, Any]:
    """Returns small tokenizers of the class `PreTrainedTokenizerFast`, by name: byte-level BPE, WordPiece, Unigram."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    import jeton

    text = " ".join(PIECES) * 3 + "".join(PIECES)
    file = json.loads(
        jeton.train(
            [text], 700, pattern="gpt2", special_tokens=["<s>", "</s>", "<pad>", "<mask>"], progress=False
        ).to_bytes()
    )
    file["model"].pop("jeton")
    byte_level = Tokenizer.from_str(json.dumps(file))
    byte_level.post_processor = processors.TemplateProcessing(
        "<s>:3 $A:4 </s>:5", "<s>:6 $A:7 </s>:8 $B:9 </s>:10", [("<s>", 697), ("</s>", 698)]
    )
    id_of = byte_level.token_to_id
    byte_level.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=True),
            processors.TemplateProcessing(
                "<s>:3 $A:4 </s>:5",
                "<s>:6 $A:7 </s>:8 $B:9 </s>:10",
                [("<s>", id_of("<s>")), ("</s>", id_of("</s>"))],
            ),
        ]
    )
    words = [
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[PAD]",
        "[MASK]",
        *"abcdefghijklmnopqrstuvwxyz0123456789.,!?'",
        "the",
        "##er",
        "low",
    ]
    words += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz0123456789"] + ["world", "##ing"]
    piece = Tokenizer(models.WordPiece({word: at for at, word in enumerate(words)}, unk_token="[UNK]"))  # noqa: S106
    piece.normalizer = normalizers.BertNormalizer()
    piece.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    piece.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    piece.decoder = decoders.WordPiece()
    pieces = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), ("<pad>", 0.0), ("\u2581", -2.0), ("\u2581the", -3.0)]
    pieces += [(letter, -5.0 - at / 10) for at, letter in enumerate("abcdefghijklmnopqrstuvwxyz")]
    pieces += [("er", -3.5), ("\u2581lo", -3.7), ("low", -4.0), ("lower", -6.0)]
    unigram = Tokenizer(models.Unigram(pieces, 0, False))
    unigram.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    unigram.pre_tokenizer = pre_tokenizers.Metaspace()
    unigram.decoder = decoders.Metaspace()
    unigram.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", 2)])
    bert = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    mask = AddedToken("<mask>", lstrip=True)
    made = {
        "small byte-level": (byte_level, {"pad_token": "<pad>", "bos_token": "<s>", "mask_token": mask}),
        "small WordPiece": (piece, {"pad_token": "[PAD]", **bert}),
        "small Unigram": (unigram, {"pad_token": "<pad>", "unk_token": "<unk>", "eos_token": "</s>"}),
    }
    return {
        name: PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=30, **options)
        for name, (backend, options) in made.items()
    }


def published(data: Path | None, only: tuple[str, ...] = ()) -> dict[str, Any]:
    """Returns tokenizers of the class `PreTrainedTokenizerFast`, by name, for the vocabularies in the data folder."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    import jeton

    found = {}
    for name, pad in VOCABULARIES.items():
        path = (data or Path()) / "vocabs" / name
        if data is not None and path.exists() and (not only or name.partition(".")[0] in only):
            content = path.read_bytes() if path.name.endswith("tokenizer.json") else jeton.load(path).to_bytes()
            backend = Tokenizer.from_buffer(content)
            found[name.partition(".")[0]] = PreTrainedTokenizerFast(
                tokenizer_object=backend, pad_token=pad, model_max_length=512
            )
    return found


# ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Call:
    """A call: its name, a function that makes the call on a given tokenizer, and the arguments as text."""

    name: str
    run: Callable[[Any], Any]
    text: str = ""

    def __str__(self) -> str:
        return f"{self.name}({self.text:.700})"


@dataclass
class Generator:
    """Generator of random calls."""

    seed: int
    special: list[str] = field(default_factory=list)
    vocab_size: int = 100

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)  # noqa: S311

    def text(self, most: int = 12) -> str:
        """Returns a text of pieces and special tokens."""
        rng = self.rng
        pool = PIECES + self.special * 3 if rng.random() < 0.4 else PIECES
        parts = [rng.choice(pool) for _ in range(rng.randint(0, most))]
        if rng.random() < 0.03:
            parts.append(rng.choice(PIECES) * rng.randint(20, 200))
        if rng.random() < 0.02:
            parts.append("\ud83d")
        return "".join(parts)

    def words(self) -> list[str]:
        """Returns the words of a text."""
        return [self.text(2) for _ in range(self.rng.randint(0, 6))]

    def texts(self) -> tuple[Any, Any, bool]:
        """Returns texts, second texts, and whether they are split into words."""
        rng = self.rng
        count = rng.randint(1, 4)
        kind = rng.random()
        if kind < 0.3:
            return self.text(), rng.choice([None, None, self.text(), ""]), False
        if kind < 0.6:
            texts = [self.text() for _ in range(count)]
            pairs: Any = rng.choice([None, [self.text() for _ in texts], tuple(self.text() for _ in texts)])
            return rng.choice([texts, texts, tuple(texts)]), pairs, False
        if kind < 0.7:
            return [(self.text(), self.text()) for _ in range(count)], None, False
        if kind < 0.78:
            return self.words(), rng.choice([None, self.words()]), True
        if kind < 0.9:
            texts = [self.words() for _ in range(count)]
            return texts, rng.choice([None, [self.words() for _ in texts]]), True
        odd: list[Any] = [
            ([], None, False),
            ([[]], None, True),
            ([], None, True),
            (5, None, False),
            (None, None, False),
            (b"bytes", None, False),
            (["a", 5], None, False),
            (["a", None], None, False),
            (["a", "b"], ["c"], False),
            (["a", "b"], "c", False),
            ("a", ["b"], False),
            ("a", 7, False),
            ("a b", None, True),
            ([["a"], "b"], None, True),
            ([(["a"], ["b", "c"])], None, True),
            ([["a", "b"], ["c", "d"]], None, False),
            (["a b", ""], ["", "c"], False),
            (Text("the low"), None, False),
            ([Text("the"), "low"], None, False),
            ({"a": 1}, None, False),
            ([["a", 3]], None, True),
        ]
        found: tuple[Any, Any, bool] = rng.choice(odd)
        return found

    def options(self) -> dict[str, Any]:
        """Returns random keyword arguments for a call of the tokenizer."""
        rng = self.rng
        found: dict[str, Any] = {}

        def sometimes(name: str, share: float, values: list[Any]) -> None:
            if rng.random() < share:
                found[name] = rng.choice(values)

        sometimes("add_special_tokens", 0.3, [False, False, True, 0])
        sometimes("padding", 0.45, [True, True, "longest", "max_length", False, "wrong"])
        sometimes("truncation", 0.45, [True, True, "longest_first", "only_first", "only_second", False, "x"])
        if "truncation" in found or rng.random() < 0.2:
            sometimes("max_length", 0.8, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 24, 40, -1])
            sometimes("stride", 0.3, [0, 1, 2, 3, 5])
            sometimes("return_overflowing_tokens", 0.4, [True, False])
        sometimes("pad_to_multiple_of", 0.1, [1, 4, 8, 0])
        sometimes("padding_side", 0.15, ["left", "right", None])
        sometimes("return_tensors", 0.15, ["np", "np", "pt", "zz"])
        sometimes("return_token_type_ids", 0.25, [True, False, None])
        sometimes("return_attention_mask", 0.15, [True, False])
        sometimes("return_special_tokens_mask", 0.25, [True])
        sometimes("return_offsets_mapping", 0.3, [True])
        sometimes("return_length", 0.15, [True])
        sometimes("split_special_tokens", 0.1, [True, False])
        sometimes("verbose", 0.1, [False])
        return found

    def ids(self) -> Any:
        """Returns ids to decode."""
        rng = self.rng
        row = [rng.randrange(self.vocab_size) for _ in range(rng.randint(0, 9))]
        if rng.random() < 0.1:
            row.insert(rng.randint(0, len(row)), rng.choice([-1, 10**7, 2**32, "a", 1.5, None, True]))
        return row

    def call(self) -> Call:
        """Returns a random call."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.5:
            return self.encode_call()
        if kind < 0.58:
            texts, pairs, is_split = self.texts()
            options = self.options() | ({"is_split_into_words": True} if is_split else {})
            name = rng.choice(["encode", "tokenize"])
            return Call(
                name, lambda tok: getattr(tok, name)(texts, pairs, **options), f"{texts!r}, {pairs!r}, {options}"
            )
        if kind < 0.66:
            return self.chat_call()
        if kind < 0.8:
            return self.decode_call()
        if kind < 0.9:
            return self.alignment_call()
        return self.changing_call()

    def encode_call(self) -> Call:
        """Returns a call of the tokenizer object itself."""
        rng = self.rng
        texts, pairs, is_split = self.texts()
        options = self.options() | ({"is_split_into_words": True} if is_split else {})
        if rng.random() < 0.1:
            options["text_target"] = rng.choice([texts, self.text()])
        reads = rng.random() < 0.3

        def run(tok: Any) -> Any:
            result = tok(texts, pairs, **options)
            return (result, encodings_of(result)) if reads else result

        return Call("call", run, f"{texts!r}, {pairs!r}, {options}")

    def chat_call(self) -> Call:
        """Returns a call of `apply_chat_template`, with or without a mask of the assistant's tokens."""
        rng = self.rng
        roles = ["user", "assistant"]
        chats = [
            [{"role": roles[at % 2], "content": self.text(4)} for at in range(rng.randint(1, 4))]
            for _ in range(rng.randint(1, 2))
        ]
        options: dict[str, Any] = {"chat_template": TEMPLATE, "return_dict": True}
        choice = rng.random()
        if choice < 0.4:
            options["return_assistant_tokens_mask"] = True
        elif choice < 0.7:
            options["add_generation_prompt"] = True
        elif choice < 0.8:
            options["return_dict"] = False
        if rng.random() < 0.3:
            options |= {"padding": True, "truncation": True, "max_length": rng.choice([5, 10, 30])}
        if rng.random() < 0.1 and "return_assistant_tokens_mask" not in options:
            options["return_tensors"] = "np"
        chat = chats if rng.random() < 0.5 else chats[0]
        return Call("chat", lambda tok: tok.apply_chat_template(chat, **options), f"{chat!r}, {options}")

    def decode_call(self) -> Call:
        """Returns a call of `decode` or `batch_decode`, with ids of several types."""
        import numpy as np

        rng = self.rng
        rows = [self.ids() for _ in range(rng.randint(0, 3))]
        row = self.ids()
        options: dict[str, Any] = {}
        if rng.random() < 0.5:
            options["skip_special_tokens"] = rng.choice([True, False, 1])
        if rng.random() < 0.2:
            options["clean_up_tokenization_spaces"] = rng.choice([True, False])
        whole = [id if isinstance(id, int) and 0 <= id < 2**31 else 0 for id in row]
        one = rng.choice([row, row, row, tuple(row), np.array(whole, np.int64), whole[0] if whole else 3])
        many = rng.choice([rows, rows, tuple(rows), np.array([whole, whole], np.int64), [np.array(whole, np.int64)]])
        if rng.random() < 0.5:
            return Call("decode", lambda tok: tok.decode(one, **options), f"{one!r}, {options}")
        name = rng.choice(["batch_decode", "batch_decode", "decode"])
        return Call(name, lambda tok: getattr(tok, name)(many, **options), f"{many!r}, {options}")

    def alignment_call(self) -> Call:
        """Returns a `Call` that encodes texts and then calls a method of the resulting `BatchEncoding`."""
        rng = self.rng
        texts, pairs, is_split = self.texts()
        options = {"is_split_into_words": True} if is_split else {}
        if rng.random() < 0.3:
            options |= {"truncation": True, "max_length": rng.choice([4, 8])}
        at = rng.randint(0, 5)
        method, args = rng.choice(
            [
                ("word_ids", ()),
                ("tokens", ()),
                ("sequence_ids", ()),
                ("char_to_token", (at,)),
                ("char_to_token", (0, at, 1)),
                ("token_to_chars", (at,)),
                ("token_to_word", (at,)),
                ("word_to_tokens", (at,)),
                ("word_to_chars", (at,)),
                ("char_to_word", (at,)),
                ("token_to_sequence", (at,)),
                ("__getitem__", (0,)),
                ("keys", ()),
            ]
        )

        def run(tok: Any) -> Any:
            result = tok(texts, pairs, **options)
            found = getattr(result, method)(*args)
            if method == "keys":
                again = pickle.loads(pickle.dumps(result))  # noqa: S301
                return list(found), type(result.encodings).__mro__[-2:], encodings_of(again), len(result.encodings)
            return encoding(found) if method == "__getitem__" else found

        return Call(f"result.{method}", run, f"{texts!r}, {pairs!r}, {options}, {args}")

    def changing_call(self) -> Call:
        """Returns a call that copies the tokenizer, or changes it in a way that its class supports."""
        rng = self.rng
        name = rng.choice(list(CHANGES))
        token = rng.choice(NEW_TOKENS)
        flags = {flag: rng.random() < 0.3 for flag in ("lstrip", "rstrip", "normalized", "single_word")}
        number = rng.choice([5, 20, 10**30])
        return Call(
            f"change.{name}", lambda tok: CHANGES[name](tok, token, flags, number), f"{token!r}, {flags}, {number}"
        )


class Text(str):
    """A subclass of `str`, to test arguments of this type."""

    __slots__ = ()


def _added(tok: Any, token: str, flags: Mapping[str, bool], number: int) -> Any:
    from tokenizers import AddedToken

    return tok.add_tokens([AddedToken(token, **flags)], special_tokens=number == 5)


def _prefix(tok: Any, token: str, flags: Mapping[str, bool], number: int) -> Any:
    part = tok.backend_tokenizer.pre_tokenizer
    part.add_prefix_space = not part.add_prefix_space
    return part.add_prefix_space


def _normalizer(tok: Any, token: str, flags: Mapping[str, bool], number: int) -> Any:
    from tokenizers import normalizers

    made = {5: None, 20: normalizers.Lowercase()}.get(number, normalizers.Replace("low", "high"))
    tok.backend_tokenizer.normalizer = made
    return repr(tok.backend_tokenizer.normalizer)


def _post_processor(tok: Any, token: str, flags: Mapping[str, bool], number: int) -> Any:
    from tokenizers import processors

    pad = tok.pad_token, tok.pad_token_id
    tok._tokenizer.post_processor = processors.TemplateProcessing(f"$A {pad[0]}:2", f"{pad[0]} $A $B:3", [pad])
    return repr(tok._tokenizer.post_processor)


def _backend(tok: Any, token: str, flags: Mapping[str, bool], number: int) -> Any:
    tok.backend_tokenizer.add_special_tokens([token])
    return len(tok)


def _set(name: str, values: list[Any]) -> Callable[..., Any]:
    def change(tok: Any, token: str, flags: Mapping[str, bool], number: int) -> Any:
        setattr(tok, name, values[number % len(values)])
        return getattr(tok, name)

    return change


CHANGES: dict[str, Callable[..., Any]] = {
    "add_tokens": _added,
    "add_special_tokens": lambda tok, token, flags, number: tok.add_special_tokens({"cls_token": token}),
    "backend": _backend,
    "prefix_space": _prefix,
    "normalizer": _normalizer,
    "post_processor": _post_processor,
    "padding_side": _set("padding_side", ["left", "right", "left"]),
    "truncation_side": _set("truncation_side", ["left", "right"]),
    "model_max_length": _set("model_max_length", [10**30, 12, 6]),
    "split_special_tokens": _set("split_special_tokens", [True, False]),
    "model_input_names": _set(
        "model_input_names", [["input_ids"], ["input_ids", "token_type_ids", "attention_mask"], ["attention_mask"]]
    ),
    "pad_token_type_id": _set("_pad_token_type_id", [0, 3]),
    "unk": lambda tok, token, flags, number: setattr(tok.backend_tokenizer.model, "unk_token", token),
    "dropout": lambda tok, token, flags, number: setattr(tok.backend_tokenizer.model, "dropout", None),
    "padding of backend": lambda tok, token, flags, number: tok.backend_tokenizer.enable_padding(length=7),
    "truncation of backend": lambda tok, token, flags, number: tok.backend_tokenizer.enable_truncation(5),
}


def encoding(one: Any) -> Any:
    """Returns all columns of a `tokenizers.Encoding`."""
    names = (
        "ids",
        "type_ids",
        "tokens",
        "offsets",
        "special_tokens_mask",
        "attention_mask",
        "word_ids",
        "sequence_ids",
    )
    facts = {name: getattr(one, name) for name in names} | {"n_sequences": one.n_sequences, "type": type(one).__name__}
    return facts | {"overflowing": [encoding(other) for other in one.overflowing]}


def encodings_of(result: Any) -> Any:
    """Returns all columns of each `Encoding` that a result contains; None if it has no encodings."""
    return None if result.encodings is None else [encoding(one) for one in result.encodings]


def tagged(value: Any) -> Any:
    """Pairs a value, and each value nested in it, with the name of its type."""
    import numpy as np

    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.shape, tagged(value.tolist())
    if isinstance(value, Mapping):
        facts = [(key, tagged(each)) for key, each in value.items()]
        return type(value).__name__, facts, getattr(value, "_n_sequences", None)
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [tagged(each) for each in value]
    return type(value).__name__, value


def outcome(tok: Any, call: Call) -> Any:
    """Makes a call; returns its outcome, and the tokenizer's settings after it.

    The outcome is the returned value, with the types of all values in it, or the type of the exception. The settings
    are truncation, padding and `encode_special_tokens`.
    """
    try:
        found = tagged(call.run(tok))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        found = "raised", type(error).__name__
    backend = tok._tokenizer
    return found, backend.truncation, backend.padding, backend.encode_special_tokens


def differences(
    calls: int, seed: int, data: Path | None, only: tuple[str, ...] = ()
) -> tuple[list[str], Counter[str], Any]:
    """Runs generated calls on all tokenizers, or on those of `only`.

    Returns:
        The differences, the number of calls by name, and the number of calls that ran on Jeton.
    """
    from transformers.utils import logging

    from jeton.integrations.transformers import accelerate, stats

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    logging.set_verbosity(logging.CRITICAL)
    known = small() | published(data, only)
    names = [name for name in known if not only or name in only]
    found: list[str] = []
    counts: Counter[str] = Counter()
    rng = random.Random(seed)  # noqa: S311
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for first in range(0, calls, CALLS_PER_TOKENIZER):
            name = names[first // CALLS_PER_TOKENIZER % len(names)]
            original, ours = copy.deepcopy(known[name]), accelerate(copy.deepcopy(known[name]))
            special = [*original.all_special_tokens[:6], *NEW_TOKENS[:3]]
            generator = Generator(rng.randrange(1 << 30), special, len(original) + 3)
            done: list[Call] = []
            for _ in range(min(CALLS_PER_TOKENIZER, calls - first)):
                call = generator.call()
                done.append(call)
                counts[call.name] += 1
                expected, got = outcome(original, call), outcome(ours, call)
                if expected != got:
                    changes = [str(before) for before in done if before.name.startswith("change")]
                    found.append(
                        f"{name}: {call}\n  after {changes}\n  original {expected!r:.1500}\n  jeton    {got!r:.1500}"
                    )
                    break  # the two tokenizers may differ from here on
                if generator.rng.random() < 0.01:
                    again: Callable[[Any], Any] = generator.rng.choice([copy.deepcopy, _pickled])
                    original, ours = again(original), again(ours)
                    counts["copy"] += 1
    return found, counts, stats()


def _pickled(tok: Any) -> Any:
    return pickle.loads(pickle.dumps(tok))  # noqa: S301


def main() -> int:
    """Runs the command; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    data = os.environ.get("JETON_TEST_DATA")
    found, counts, stats = differences(asked.calls, asked.seed, Path(data) if data else None)
    import transformers

    for difference in found[:10]:
        print(difference, "\n")
    print(f"transformers {transformers.__version__}: {sum(counts.values()):,} calls, {len(found)} different")
    print(", ".join(f"{name} {count:,}" for name, count in counts.most_common()))
    print(stats)
    return DIFFERENT if found else 0


if __name__ == "__main__":
    sys.exit(main())
