"""Comparison of folders with a SentencePiece `.model` between the installed `transformers` and Jeton.

The grid of folders is class × ``legacy`` × ``add_prefix_space`` × flags of added tokens; keys of the configuration can
also be missing or null. For each folder, `AutoTokenizer` and ``jeton.load(folder, transformers=MAJOR)`` must give the
same ids, with and without the template, and the same decoded text, with and without special tokens. The ids from
``jeton.load(folder)`` must equal the ids from the slow or the fast class of transformers 4. The decoded text must equal
the text from the fast class.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jeton
from jeton.analysis.edge_cases import EDGE_CASES
from jeton.analysis.generated_texts import generate_texts

# class -> (kind of its model, name of the file, published model)
CLASSES = {
    "LlamaTokenizer": ("llama", "tokenizer.model", "mistral-v1.model"),
    "CodeLlamaTokenizer": ("llama", "tokenizer.model", "mistral-v1.model"),
    "GemmaTokenizer": ("gemma", "tokenizer.model", None),
    "T5Tokenizer": ("t5", "spiece.model", None),
    "XLMRobertaTokenizer": ("fairseq", "sentencepiece.bpe.model", "spm-ja.model"),
    "CamembertTokenizer": ("fairseq", "sentencepiece.bpe.model", "spm-unigram-en.model"),
    "MBartTokenizer": ("fairseq", "sentencepiece.bpe.model", "mbart-en-fairseq.sentencepiece.bpe.model"),
    "MBart50Tokenizer": ("fairseq", "sentencepiece.bpe.model", "mbart-en-fairseq.sentencepiece.bpe.model"),
    "NllbTokenizer": ("fairseq", "sentencepiece.bpe.model", "mbart-en-fairseq.sentencepiece.bpe.model"),
}
LINES = (
    "The old keeper reads the older weather: the oldest weather, and 12345 more.",
    "今天的天气很好，明天的天气也很好。 naïve café \ufb01rst",
    "def read(path):  # two  spaces\n    return path",
)
TEXTS = (
    "plain text", "<s>G", "<s> G", "a<s>b </s> c", " lead", "  two  spaces ", "", " ", "\n", "a\n\n b\tc", "▁ab ▁",
    "x<new>y <new> z", "<pad>x <pad> y", "x <mask> y<mask>z", "<unk> a<unk>b", "<extra_id_0> a <extra_id_1>b",
    "<a>b <b> c<b>", "<start_of_turn>user\nhi<end_of_turn>", "naïve \ufb01 e\u0301 \u0e01\u0e33", "😉\u200bz",
)  # fmt: skip
_FLAGS = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False, "special": True}


def train(folder: Path, size: int = 400) -> None:
    """Trains a small model of each kind, with the special pieces that the tokenizer classes of this kind expect."""
    from sentencepiece import SentencePieceTrainer

    rules = folder / "rules.tsv"  # a small character map, since the usual ones have 240 KB
    rules.write_text("FB01\t66 69\nE01 E33\tE01 E4D E32\nA\t20\nD\t20\n9\t20\n", encoding="utf-8")
    options: dict[str, Any] = {"vocab_size": size, "hard_vocab_limit": False, "minloglevel": 2}
    mapped = {"normalization_rule_tsv": str(rules)}
    bytes_too = {"model_type": "bpe", "byte_fallback": True, "normalization_rule_name": "identity"}
    bytes_too |= {"remove_extra_whitespaces": False, "allow_whitespace_only_pieces": True}
    turns = ["<start_of_turn>", "<end_of_turn>", "\n\n", "▁▁▁"]
    ids = {"pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3, "bos_piece": "<bos>", "eos_piece": "<eos>"}
    kinds: dict[str, dict[str, Any]] = {
        "llama": bytes_too,
        "gemma": {**bytes_too, **ids, "add_dummy_prefix": False, "user_defined_symbols": turns},
        "t5": {**mapped, "pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
        "fairseq": mapped,
    }
    for kind, more in kinds.items():
        where = {"sentence_iterator": iter(LINES * 20), "model_prefix": str(folder / kind)}
        SentencePieceTrainer.train(**where, **options, **more)


def write(folder: Path, model: Path, name: str, config: dict[str, Any]) -> None:
    """Writes a folder for one class of tokenizers."""
    folder.mkdir()
    shutil.copy(model, folder / CLASSES[name][1])
    text = json.dumps({"tokenizer_class": name, **config})
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")


def num_entries(folder: Path) -> int:
    """Returns the number of entries of the model, without the tokens that are added to it."""
    tok = jeton.load(folder, transformers=4)
    size = tok.definition.hf_vocab_size
    return tok.vocab_size if size is None else size


def _token(content: str, **flags: bool) -> dict[str, Any]:
    return {"content": content, **_FLAGS, **flags}


def tokens(size: int) -> list[dict[str, Any]]:
    """Returns configurations of added tokens; `size` is the id of the first added token."""

    def listed(**flags: bool) -> dict[str, Any]:
        return {"added_tokens_decoder": {str(size): _token("<new>", **flags)}}

    typed = {"__type": "AddedToken"}
    return [
        {},
        {"pad_token": {**typed, **_token("<pad>", normalized=True)}},
        {"mask_token": {**typed, **_token("<mask>", normalized=True, lstrip=True)}, "pad_token": "<pad>"},
        {"additional_special_tokens": ["<a>", {**typed, **_token("<b>", normalized=True)}]},
        listed(special=False, normalized=True),
        listed(special=True, normalized=True, rstrip=True),
        listed(special=False, lstrip=True),
    ]


def grid(size: int) -> Iterator[dict[str, Any]]:
    """Yields the configurations of all folders."""
    for legacy in (None, True, False):
        for prefix in (None, True, False):
            for more in tokens(size):
                given = {"legacy": legacy, "add_prefix_space": prefix}
                yield {**{key: value for key, value in given.items() if value is not None}, **more}
    yield {"legacy": None, "add_prefix_space": None, "add_bos_token": None}
    yield {"add_bos_token": True, "add_eos_token": True}
    yield {"pad_token": "[PAD]", "mask_token": "[MASK]", "cls_token": "[C]"}
    yield {"extra_ids": 2}


def texts(tok: jeton.Tokenizer, num: int) -> list[str]:
    """Returns edge cases and generated texts, with special tokens."""
    edges = [text for text in EDGE_CASES if isinstance(text, str) and not any("\ud800" <= c < "\ue000" for c in text)]
    return [*TEXTS, *edges, *generate_texts(tok, num, 0, special=True)]


def differences(theirs: Any, tok: jeton.Tokenizer, given: list[str]) -> list[str]:
    """Returns a line with an example for each kind of difference."""
    found: dict[str, list[str]] = {}

    def compare(what: str, inputs: Iterable[Any], a: Iterable[Any], b: Iterable[Any]) -> None:
        for text, first, second in zip(inputs, a, b, strict=True):
            if first != second:
                found.setdefault(what, []).append(f"{text!r:.80}: {first!s:.120} -> {second!s:.120}")

    for template in (False, True):
        expected = theirs(given, add_special_tokens=template)["input_ids"]
        rows = [row.tolist() for row in tok.encode_batch(given, special="all", add_special_tokens=template)]
        compare(f"ids, template {template}", given, expected, rows)
    for skip in (False, True):
        read = theirs.batch_decode(expected, skip_special_tokens=skip)
        compare(f"text, skip {skip}", expected, read, tok.decode_batch(expected, skip_special_tokens=skip))
    if len(theirs) != len(tok):
        found["length"] = [f"{len(theirs)} -> {len(tok)}"]
    return [f"{what}: {len(cases)} differ, {cases[0]}" for what, cases in found.items()]


def default_differences(slow: Any, fast: Any, tok: jeton.Tokenizer, given: list[str]) -> list[str]:
    """Compares a tokenizer of ``jeton.load(folder)`` with the slow and the fast class of transformers 4."""
    rows = [row.tolist() for row in tok.encode_batch(given, special="all", add_special_tokens=True)]
    lines = []
    for text, row in zip(given, rows, strict=True):
        expected = slow(text)["input_ids"], fast(text)["input_ids"]
        # The slow T5 does not add eos to a text that ends in eos.
        if row not in expected and row[:-1] != expected[0]:
            lines.append(f"default ids: {text!r:.80}: {expected!s:.200} -> {row!s:.100}")
    turns = type(slow).__name__ == "GemmaTokenizer"  # Gemma's turn tokens are special tokens only for the fast class
    for skip in (False,) if turns else (False, True):
        read = fast.batch_decode(rows, skip_special_tokens=skip)
        decoded = tok.decode_batch(rows, skip_special_tokens=skip)
        pairs = zip(rows, read, decoded, strict=True)
        lines += [f"default text, skip {skip}: {row!s:.60}: {a!r:.80} -> {b!r:.80}" for row, a, b in pairs if a != b]
    return lines[:3]


def compare_all(work: Path, vocabs: Path | None, num: int, wanted: str = "") -> Iterator[tuple[str, str, list[str]]]:
    """Yields name, outcome ("equal", "differs" or "refused") and lines of explanation of each folder of the grid.

    Args:
        work: an empty folder.
        vocabs: folder of published models, which are compared in addition to trained ones; None to compare only trained
            ones.
        num: number of generated texts for each folder.
        wanted: only folders whose names contain this are compared.
    """
    import transformers

    major = int(transformers.__version__.partition(".")[0])
    train(work)
    for name, (kind, _, published) in CLASSES.items():
        models = [("", work / f"{kind}.model")]
        # Published models are compared only without added tokens: `transformers` takes seconds to convert such a model.
        if vocabs is not None and published:
            models.append((f" of {published}", vocabs / published))
        for suffix, model in models:
            first = work / "first"
            write(first, model, name, {})
            size = num_entries(first)
            given = texts(jeton.load(first, transformers=4), num)
            shutil.rmtree(first)
            configs = [config for index, config in enumerate(grid(size)) if not suffix or index % 7 == 0]
            for config in configs:
                label = f"{name}{suffix} {json.dumps(config)}"
                if wanted in label:
                    write(work / "folder", model, name, config)
                    yield label, *_compare(work / "folder", name, config, given, major)
                    shutil.rmtree(work / "folder")


def _compare(folder: Path, name: str, config: dict[str, Any], given: list[str], major: int) -> tuple[str, list[str]]:
    """Compares a folder; returns the outcome (equal, differs or refused) and lines that describe it."""
    import transformers

    try:
        tok = jeton.load(folder, transformers=major)
    except jeton.UnsupportedFeatureError as error:
        return "refused", [str(error).replace(str(folder), "…")]
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    lines = differences(theirs, tok, given)
    # In the cases of `is_odd`, the default (``jeton.load(folder)``) is known to differ from transformers 4:
    # - If the configuration gives the roles of `<pad>` and `<mask>` to other tokens, the default has these tokens, but
    #   also `<pad>` and `<mask>`.
    # - The slow class of T5 numbers additional special tokens before `<extra_id_0>` (docs/files.md).
    # - In CamemBERT, additional special tokens replace the special tokens of the class (docs/files.md).
    # - If a special token is matched in normalized text, and its match includes the white space after the token
    #   (`rstrip`), the slow and the fast class of CamemBERT differ.
    added = [*config.get("added_tokens_decoder", {}).values()]
    is_odd = (
        "cls_token" in config
        or (name in ("T5Tokenizer", "CamembertTokenizer") and "additional_special_tokens" in config)
        or (name == "CamembertTokenizer" and any(token["rstrip"] and token["normalized"] for token in added))
    )
    if major == 4 and not is_odd:
        slow = getattr(transformers, name).from_pretrained(folder)
        try:
            default = jeton.load(folder)
        except jeton.UnsupportedFeatureError as error:
            return "differs" if lines else "refused", [*lines, "default: " + str(error).replace(str(folder), "…")]
        lines += default_differences(slow, theirs, default, given[: len(given) // 10])
    return "differs" if lines else "equal", lines


def golden(work: Path) -> dict[str, Any]:
    """Returns results of `transformers` for some folders of trained models, for tests that run without `transformers`.

    The key ``models`` of the returned dictionary contains the models in base64. Each element of ``folders`` contains
    the class, the configuration, and the results for each text of ``texts``: the ids (template included), and two
    decoded texts, without and with ``skip_special_tokens``.
    """
    import base64

    import transformers

    train(work, 340)
    made: dict[str, Any] = {"transformers": transformers.__version__, "texts": TEXTS, "models": {}, "folders": []}
    for kind in dict.fromkeys(kind for kind, _, _ in CLASSES.values()):
        made["models"][kind] = base64.b64encode((work / f"{kind}.model").read_bytes()).decode()
    for name, (kind, _, _) in CLASSES.items():
        write(work / f"{name}-first", work / f"{kind}.model", name, {})
        size = num_entries(work / f"{name}-first")
        pad, new = tokens(size)[1], tokens(size)[4]
        flags: list[dict[str, Any]] = [{}, {"legacy": False}, {"add_prefix_space": False}, pad, new]
        if name in ("LlamaTokenizer", "T5Tokenizer"):
            flags += [{"legacy": False, "add_prefix_space": False}, {"legacy": None, "add_prefix_space": None}]
        for number, config in enumerate(flags):
            tok = made_by(name, work / f"{kind}.model", work / f"{name}-{number}", config)
            ids = [tok(text)["input_ids"] for text in TEXTS]
            decoded = [tok.batch_decode(ids, skip_special_tokens=skip) for skip in (False, True)]
            made["folders"].append({"class": name, "config": config, "ids": ids, "decoded": decoded})
    return made


def made_by(name: str, model: Path, folder: Path, config: dict[str, Any]) -> Any:
    """Writes a folder, and returns the tokenizer that `AutoTokenizer` loads from it."""
    from transformers import AutoTokenizer

    write(folder, model, name, config)
    return AutoTokenizer.from_pretrained(folder)
