"""Each tokenizer in each format: the target's own library reads the file and gives equal ids, or the feature that the
format cannot hold is refused by name.

`OUTCOMES` says which. ``python -m tests.parity.test_conversions`` prints it anew, as the table in docs/converting.md.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import jeton
from jeton.analysis.edge_cases import EDGE_CASES
from jeton.analysis.generated_texts import generate_texts
from jeton.errors import InvalidTextError, UnsupportedFeatureError
from tests.material import CORPUS, SPECIAL
from tests.selection import amount, rest_is_slow

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

STRINGS = amount(2_500, default=100)  # generated, in addition to handwritten ones
LINES = [line for line in CORPUS.splitlines() if line.strip()] + [word for word in CORPUS.split() if word]
RUNS = [f"{before}{' ' * n}{after}" for n in range(2, 50) for before, after in (("", ""), ("a", "the"), ("\n", "("))]
RUNS += ["-" * n for n in range(2, 40)]  # T5's "-" and "--" differ only in the last bit of their scores
Encode = Callable[[str], list[int]]


# ── sources ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _trained(pattern: str, special: Iterable[str] = (), **options: Any) -> jeton.Tokenizer:
    return jeton.train([CORPUS], 400, pattern=pattern, special_tokens=list(special), progress=False, **options)


def _sentencepiece(model_type: str, **options: Any) -> jeton.Tokenizer:
    import sentencepiece

    file = BytesIO()
    options = {"vocab_size": 300, "hard_vocab_limit": False, "minloglevel": 2, "character_coverage": 0.98} | options
    if model_type == "bpe":
        del options["hard_vocab_limit"]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=file, model_type=model_type, **options
    )
    return _from_bytes(file.getvalue(), "a.model")


def _from_bytes(data: bytes, name: str, **options: Any) -> jeton.Tokenizer:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        return jeton.load(path, **options)


def _vocab_txt(*, lowercase: bool) -> jeton.Tokenizer:
    from tokenizers import BertWordPieceTokenizer

    theirs = BertWordPieceTokenizer(lowercase=lowercase)
    theirs.train_from_iterator(LINES, vocab_size=300, show_progress=False)
    tokens = sorted(theirs.get_vocab().items(), key=lambda item: item[1])
    return _from_bytes("".join(f"{token}\n" for token, _ in tokens).encode(), "vocab.txt")


def _hf(kind: str) -> jeton.Tokenizer:
    """A tokenizer.json written by HF."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    special: Any = ["<unk>", "<s>", "</s>"]
    tok: Any
    match kind:
        case "bpe":
            tok = Tokenizer(models.BPE())
            tok.pre_tokenizer, tok.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
            alphabet = pre_tokenizers.ByteLevel.alphabet()
            trainer: Any = trainers.BpeTrainer(
                vocab_size=400, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet, show_progress=False
            )
        case "bpe chars":
            tok = Tokenizer(models.BPE(unk_token="<unk>"))
            tok.pre_tokenizer, tok.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
            trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=special, show_progress=False)
        case "unigram":
            tok = Tokenizer(models.Unigram())
            tok.normalizer = normalizers.NFKC()
            tok.pre_tokenizer, tok.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
            trainer = trainers.UnigramTrainer(
                vocab_size=250, special_tokens=special, unk_token="<unk>", show_progress=False
            )
        case "wordpiece":
            tok = Tokenizer(models.WordPiece(unk_token="[UNK]"))
            tok.normalizer = normalizers.BertNormalizer()
            tok.pre_tokenizer, tok.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
            special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
            trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False)
        case _:
            tok = Tokenizer(models.WordLevel(unk_token="<unk>"))
            tok.pre_tokenizer = pre_tokenizers.Whitespace()
            trainer = trainers.WordLevelTrainer(special_tokens=special, show_progress=False)
    tok.train_from_iterator(LINES, trainer)
    if kind == "wordpiece":
        tok.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
        )
    return _from_bytes(tok.to_str().encode(), "tokenizer.json")


def _llama() -> jeton.Tokenizer:
    """The result of HF's converter for a SentencePiece model with byte pieces: HF's components, no facts of Jeton."""
    from tokenizers import Tokenizer

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        _sentencepiece("bpe", vocab_size=500, **IDENTITY, byte_fallback=True).save(path)
        theirs = json.loads(Tokenizer.from_file(str(path)).to_str())
        theirs["model"].pop("jeton", None)
        return _from_bytes(json.dumps(theirs).encode(), "tokenizer.json")


def _with_unused() -> jeton.Tokenizer:
    """A model in which some pieces are unused, as in a restricted vocabulary."""
    from sentencepiece import sentencepiece_model_pb2

    model: Any = sentencepiece_model_pb2.ModelProto()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.model"
        _sentencepiece("bpe", **LLAMA).save(path)
        model.ParseFromString(path.read_bytes())
    for piece in model.pieces[270:300:5]:
        piece.type = 5
    return _from_bytes(model.SerializeToString(), "a.model")


IDENTITY: dict[str, Any] = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
LLAMA: dict[str, Any] = {**IDENTITY, "byte_fallback": True, "vocab_size": 500}

SMALL: dict[str, Callable[[], jeton.Tokenizer]] = {
    "trained, gpt2": lambda: _trained("gpt2"),
    "trained, o200k, special": lambda: _trained("o200k", SPECIAL),
    "trained, characters": lambda: _trained("whitespace", level="char", unk_token="<unk>"),
    ".model bpe, identity, bytes": lambda: _sentencepiece("bpe", **LLAMA),
    ".model bpe, identity": lambda: _sentencepiece("bpe", **IDENTITY),
    ".model bpe, no prefix": lambda: _sentencepiece("bpe", **LLAMA, add_dummy_prefix=False),
    ".model bpe, one space": lambda: _sentencepiece("bpe", **LLAMA | {"remove_extra_whitespaces": True}),
    ".model bpe, user-defined": lambda: _sentencepiece("bpe", **LLAMA, user_defined_symbols=["<sep>", "old"]),
    ".model bpe, unused pieces": _with_unused,
    ".model bpe, nmt_nfkc": lambda: _sentencepiece("bpe"),
    ".model unigram, identity": lambda: _sentencepiece("unigram", **IDENTITY),
    ".model unigram, identity, bytes": lambda: _sentencepiece("unigram", **LLAMA),
    ".model unigram, nmt_nfkc": lambda: _sentencepiece("unigram"),
    ".model unigram, suffix": lambda: _sentencepiece("unigram", **IDENTITY, treat_whitespace_as_suffix=True),
    ".model word": lambda: _sentencepiece("word", **IDENTITY),
    ".model char": lambda: _sentencepiece("char", **IDENTITY),
    "vocab.txt, lowercase": lambda: _vocab_txt(lowercase=True),
    "vocab.txt, cased": lambda: _vocab_txt(lowercase=False),
    **{f"HF {kind}": lambda kind=kind: _hf(kind) for kind in ("bpe", "bpe chars", "unigram", "wordpiece", "wordlevel")},
    "HF llama": _llama,
}


def _vocabs() -> Path:
    return Path(os.environ["JETON_TEST_DATA"]) / "vocabs"


def _tekken() -> jeton.Tokenizer:
    common: Any = pytest.importorskip("mistral_common")
    return jeton.load(Path(common.__file__).parent / "data" / "tekken_240911.json")


REAL: dict[str, Callable[[], jeton.Tokenizer]] = {
    "o200k_base": lambda: jeton.load(_vocabs() / "o200k_base.tiktoken"),
    "r50k_base": lambda: jeton.load(_vocabs() / "r50k_base.tiktoken"),
    "Llama 3, ranks": lambda: jeton.load(_vocabs() / "llama3.tiktoken"),
    "GPT-2, pair": lambda: jeton.load(_vocabs() / "gpt2.vocab.bpe"),
    "Mistral v1, .model": lambda: jeton.load(_vocabs() / "mistral-v1.model"),
    "mBART, .model": lambda: jeton.load(_vocabs() / "mbart-en-fairseq.sentencepiece.bpe.model"),
    "T5, json": lambda: jeton.load(_vocabs() / "t5-small.tokenizer.json"),
    "Phi-3, json": lambda: jeton.load(_vocabs() / "phi-3-mini.tokenizer.json"),
    "RoBERTa, json": lambda: jeton.load(_vocabs() / "roberta-base.tokenizer.json"),
    "GPT-NeoX, json": lambda: jeton.load(_vocabs() / "gpt-neox-20b.tokenizer.json"),
    "BERT, vocab.txt": lambda: jeton.load(_vocabs() / "bert-uncased.vocab.txt"),
    "Mistral, tekken": _tekken,
}


@cache
def source(name: str) -> jeton.Tokenizer:
    return (SMALL | REAL)[name]()


# ── targets, as their own libraries read them ─────────────────────────────────────────────────────────────────────


def _control(tok: jeton.Tokenizer) -> Encode:
    return lambda text: tok.encode(text, special="all")


def _plain(tok: jeton.Tokenizer) -> Encode:
    return lambda text: tok.encode(text)


def _read_json(path: Path, tok: jeton.Tokenizer) -> tuple[Encode, Encode]:
    from tokenizers import Tokenizer

    theirs = Tokenizer.from_file(str(path))
    return lambda text: list(theirs.encode(text, add_special_tokens=False).ids), _control(tok)


def _read_folder(path: Path, tok: jeton.Tokenizer) -> tuple[Encode, Encode]:
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(str(path))
    return (
        lambda text: list(theirs.encode(text, verbose=False)),
        lambda text: tok.encode(text, special="all", add_special_tokens=True),
    )


def _read_tiktoken(path: Path, tok: jeton.Tokenizer) -> tuple[Encode, Encode]:
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    with mock.patch.dict(os.environ, TIKTOKEN_CACHE_DIR=""):  # else the cache may hold another file that had this path
        ranks = load_tiktoken_bpe(str(path))
    theirs = tiktoken.Encoding("x", pat_str=_regex(tok), mergeable_ranks=ranks, special_tokens=dict(tok.special_tokens))
    return lambda text: theirs.encode(text, allowed_special="all"), _control(tok)


def _regex(tok: jeton.Tokenizer) -> str:
    """The pattern, which a rank file lacks: given by hand."""
    pattern = tok.definition.pattern
    assert pattern is not None
    return pattern.text if pattern.is_regex else str(jeton._core.pattern_text(pattern.text))


def _read_sentencepiece(path: Path, tok: jeton.Tokenizer) -> tuple[Encode, Encode]:
    import sentencepiece

    theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return lambda text: list(theirs.encode(text)), _plain(tok)


def _read_tekken(path: Path, tok: jeton.Tokenizer) -> tuple[Encode, Encode]:
    pytest.importorskip("mistral_common")
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    theirs = Tekkenizer.from_file(path)
    return lambda text: list(theirs.encode(text, bos=False, eos=False)), _plain(tok)


def _read_vocab_txt(path: Path, tok: jeton.Tokenizer) -> tuple[Encode, Encode]:
    from tokenizers import BertWordPieceTokenizer

    lowercase = bool(tok.definition.normalizer[0]["lowercase"])  # the caller gives what the file lacks
    theirs = BertWordPieceTokenizer(str(path), lowercase=lowercase)
    return (
        lambda text: list(theirs.encode(text).ids),
        lambda text: tok.encode(text, special="all", add_special_tokens=True),
    )


def _read_pair(path: Path, tok: jeton.Tokenizer) -> tuple[Encode, Encode]:
    from tokenizers import ByteLevelBPETokenizer

    theirs = ByteLevelBPETokenizer(str(path / "vocab.json"), str(path / "merges.txt"))
    return lambda text: list(theirs.encode(text).ids), _plain(tok)


TARGETS: dict[str, tuple[str, Callable[[Path, jeton.Tokenizer], tuple[Encode, Encode]]]] = {
    "tokenizer.json": ("tokenizer.json", _read_json),
    "folder": ("folder", _read_folder),
    "tiktoken": ("a.tiktoken", _read_tiktoken),
    "sentencepiece": ("a.model", _read_sentencepiece),
    "tekken": ("tekken.json", _read_tekken),
    "vocab.txt": ("vocab.txt", _read_vocab_txt),
    "merges.txt": ("pair", _read_pair),
}
# Losses that change no id of a text, or that are given by hand with a rank file, are accepted and named in the table:
# for a `.model`, the text of special tokens, which SentencePiece decodes to nothing.
HARMLESS = {"template", "roles", "chat_template"}
BY_HAND = {"tiktoken": {"pattern", "special_tokens"}, "sentencepiece": {"decoder"}}


def _without_our_facts(path: Path) -> jeton.Tokenizer:
    """The file as HF reads it: by its parts alone. (Python would spell scores in another way, so not of Unigram.)"""
    top = json.loads(path.read_bytes())
    if top["model"]["type"] == "Unigram":
        return jeton.load(path)
    del top["model"]["jeton"]
    return _from_bytes(json.dumps(top).encode(), "tokenizer.json")


def convert(name: str, target: str, folder: Path) -> tuple[str, list[str], int]:
    """Converts a source to a format and compares the result.

    Returns:
        The feature for which it was refused, or empty; what was accepted as lost; how many texts were compared.
    """
    tok = source(name)
    file, read = TARGETS[target]
    accepted: list[str] = []
    while True:
        try:
            tok.save(folder / file, format=target, accept_loss=accepted)
            break
        except UnsupportedFeatureError as error:
            feature = str(error.feature)
            if feature in accepted or feature not in HARMLESS | BY_HAND.get(target, set()):
                return feature, accepted, 0
            accepted.append(feature)
    given: dict[str, Any] = {}
    if target == "tiktoken":
        pattern = tok.definition.pattern
        assert pattern is not None
        given = {"pattern": pattern.text, "special_tokens": tok.special_tokens}
    again = jeton.load(folder / file, **given)
    theirs, ours = read(folder / file, tok)
    plain = _without_our_facts(folder / file) if target == "tokenizer.json" else again
    compared = 0
    for text in (*EDGE_CASES, *RUNS, *generate_texts(tok, STRINGS, special=True)):
        try:
            expected = ours(text)
        except InvalidTextError:  # without an unknown token HF drops unknown text, which is a documented difference
            continue
        found = theirs(text)
        assert found == expected, f"{name} -> {target}: {text!r}\n  theirs {found}\n  ours   {expected}"
        assert again.encode(text) == tok.encode(text), text
        assert plain.encode(text, special="all") == tok.encode(text, special="all"), text
        assert again.encode(text, special="all") == tok.encode(text, special="all"), text
        compared += 1
    return "", accepted, compared


# source -> target -> the feature for which it is refused, or empty where ids are equal, in the order of `TARGETS`
OUTCOMES: dict[str, tuple[str, ...]] = {
    "trained, gpt2": ("", "", "", "model", "", "model", ""),
    "trained, o200k, special": ("", "", "", "model", "special_tokens", "model", "pattern"),
    "trained, characters": ("", "", "model", "fuse_unk", "model", "model", "model"),
    ".model bpe, identity, bytes": ("", "", "model", "", "model", "model", "model"),
    ".model bpe, identity": ("", "", "model", "", "model", "model", "model"),
    ".model bpe, no prefix": ("", "", "model", "", "model", "model", "model"),
    ".model bpe, one space": ("", "", "model", "", "model", "model", "model"),
    ".model bpe, user-defined": ("user_defined", "user_defined", "model", "", "model", "model", "model"),
    ".model bpe, unused pieces": ("unused", "unused", "model", "", "model", "model", "model"),
    ".model bpe, nmt_nfkc": ("precompiled_charsmap", "precompiled_charsmap", "model", "", "model", "model", "model"),
    ".model unigram, identity": ("single_precision", "single_precision", "model", "", "model", "model", "model"),
    ".model unigram, identity, bytes": ("single_precision", "single_precision", "model", "", "model", "model", "model"),
    ".model unigram, nmt_nfkc": (
        "precompiled_charsmap",
        "precompiled_charsmap",
        "model",
        "",
        "model",
        "model",
        "model",
    ),
    ".model unigram, suffix": (
        "treat_whitespace_as_suffix",
        "treat_whitespace_as_suffix",
        "model",
        "",
        "model",
        "model",
        "model",
    ),
    ".model word": ("model", "model", "model", "", "model", "model", "model"),
    ".model char": ("model", "model", "model", "", "model", "model", "model"),
    "vocab.txt, lowercase": ("", "", "model", "model", "model", "", "model"),
    "vocab.txt, cased": ("", "", "model", "model", "model", "", "model"),
    "HF bpe": ("", "", "", "model", "vocabulary", "model", ""),
    "HF bpe chars": ("", "", "model", "fuse_unk", "model", "model", "model"),
    "HF unigram": ("", "", "model", "normalizer", "model", "model", "model"),
    "HF wordpiece": ("", "", "model", "model", "model", "", "model"),
    "HF wordlevel": ("", "", "model", "model", "model", "model", "model"),
    "HF llama": ("", "", "model", "", "model", "model", "model"),
    "o200k_base": ("", "", "", "model", "special_tokens", "model", "ranks"),
    "r50k_base": ("", "", "", "model", "special_tokens", "model", "ranks"),
    "Llama 3, ranks": ("", "", "", "model", "special_tokens", "model", "ranks"),
    "GPT-2, pair": ("", "", "", "model", "special_tokens", "model", ""),
    "Mistral v1, .model": ("", "", "model", "", "model", "model", "model"),
    "mBART, .model": ("precompiled_charsmap", "precompiled_charsmap", "model", "", "model", "model", "model"),
    "T5, json": ("", "", "model", "precompiled_charsmap", "model", "model", "model"),
    "Phi-3, json": ("", "", "model", "user_defined", "model", "model", "model"),
    "RoBERTa, json": ("", "", "merges", "model", "merges", "model", "special_tokens"),
    "GPT-NeoX, json": ("", "", "merges", "model", "normalizer", "model", "normalizer"),
    "BERT, vocab.txt": ("", "", "model", "model", "model", "", "model"),
    "Mistral, tekken": ("", "", "", "model", "", "model", "ranks"),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", SMALL)
def test_converted_files_give_equal_ids_in_their_library_or_are_refused(name: str, target: str, tmp_path: Path) -> None:
    feature, _, compared = convert(name, target, tmp_path)
    assert feature == dict(zip(TARGETS, OUTCOMES[name], strict=True))[target]
    assert feature or compared > STRINGS * 2 // 5


def _is_quick(case: tuple[str, str]) -> bool:
    """Large vocabularies take seconds to load and save; one of each kind represents the others."""
    name, target = case
    if OUTCOMES[name][list(TARGETS).index(target)]:
        return True  # refused
    if target == "folder":
        return name == "GPT-2, pair"
    return name in ("r50k_base", "GPT-2, pair", "Mistral v1, .model", "T5, json", "BERT, vocab.txt", "Mistral, tekken")


@pytest.mark.parametrize(
    ("name", "target"),
    rest_is_slow(product(REAL, TARGETS), _is_quick, "one of each kind, and every small tokenizer"),
)
def test_published_tokenizers_convert_equally_or_are_refused(
    name: str, target: str, data: Path, tmp_path: Path
) -> None:
    feature, _, compared = convert(name, target, tmp_path)
    assert feature == dict(zip(TARGETS, OUTCOMES[name], strict=True))[target]
    assert feature or compared > STRINGS * 2 // 5


def main(names: list[str]) -> int:
    """Prints the table; with names, only their rows."""
    failed = 0
    print(f"| | {' | '.join(TARGETS)} |\n|---|{'---|' * len(TARGETS)}")
    for name in names or [*SMALL, *(REAL if "JETON_TEST_DATA" in os.environ else ())]:
        row = []
        for target in TARGETS:
            with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    feature, accepted, compared = convert(name, target, Path(folder))
                    without = f", without {', '.join(accepted)}" if accepted else ""
                    row.append(f"no: `{feature}`" if feature else f"{compared:,}{without}")
                except Exception as error:  # the other rows are worth more than the traceback
                    failed += 1
                    row.append("**differs**")
                    print(f"{name} -> {target}: {type(error).__name__}: {error}"[:1500], file=sys.stderr)
        print(f"| {name} | {' | '.join(row)} |", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
