"""Vocabularies of the benchmark, in the formats that the engines read.

Formats that the data folder lacks are written here: a `tokenizer.json` for a rank file, with the split and the flags of
published ones, and a SentencePiece model for a `tokenizer.json` that was converted from one. Rank files are used
without special tokens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jeton

from .spm_file import write_model

__all__ = ["MODELS", "VOCABULARIES", "Vocabularies"]

# openai/tiktoken tiktoken_ext/openai_public.py
R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
O200K = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
# meta-llama/llama3 llama/tokenizer.py; also in the published tokenizer.json of GPT-4's vocabulary
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# QwenLM/Qwen tokenization_qwen.py
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
# openai/gpt-2 src/encoder.py; the pattern of Hugging Face's `ByteLevel`
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


@dataclass(frozen=True)
class Vocabulary:
    """A vocabulary: its file in the data folder, and options for other formats.

    Attributes:
        name: name in the tables.
        file: file in `vocabs/`.
        kind: "ranks", "json", "model" or "vocab.txt".
        pattern: pattern of a rank file, in tiktoken's dialect.
        hf_pattern: the pattern in the published `tokenizer.json`.
        jeton_options: options of `jeton.load`.
        as_json: whether to convert the file to `tokenizer.json`.
        as_model: whether to convert a `tokenizer.json` to its original SentencePiece model.
        only_model: whether all engines use that model; Hugging Face adds Unigram scores in higher precision.
    """

    name: str
    file: str
    kind: str
    pattern: str = ""
    hf_pattern: str = ""
    jeton_options: dict[str, Any] = field(default_factory=dict)
    as_json: bool = False
    as_model: bool = False
    only_model: bool = False


def ranks(name: str, split: str, hf_split: str, *, file: str = "", **options: Any) -> Vocabulary:
    return Vocabulary(name, f"{file or name}.tiktoken", "ranks", split, hf_split, options)


VOCABULARIES = {
    vocab.name: vocab
    for vocab in (
        ranks("cl100k_base", CL100K, LLAMA3),
        ranks("o200k_base", O200K, O200K),
        ranks("llama3", LLAMA3, LLAMA3),
        ranks("r50k_base", R50K, GPT2),
        ranks("cl100k_base by qwen2", QWEN2, QWEN2, file="cl100k_base", pattern="qwen2", special_tokens={}),
        Vocabulary("gpt-neox", "gpt-neox-20b.tokenizer.json", "json"),
        Vocabulary("falcon", "falcon.tokenizer.json", "json"),
        Vocabulary("mistral-v1", "mistral-v1.model", "model", as_json=True),
        Vocabulary("mistral-v3", "mistral-v3.model", "model"),
        Vocabulary("phi-3-mini", "phi-3-mini.tokenizer.json", "json", as_model=True),
        Vocabulary("t5", "t5-small.tokenizer.json", "json"),
        Vocabulary("t5 .model", "t5-small.tokenizer.json", "json", only_model=True),
        Vocabulary("mbart", "mbart-en-fairseq.tokenizer.json", "json"),
        Vocabulary("mbart .model", "mbart-en-fairseq.sentencepiece.bpe.model", "model"),
        Vocabulary("spm-ja", "spm-ja.model", "model"),
        Vocabulary("gpt2", "gpt2.encoder.json", "merges"),
        Vocabulary("bert", "bert-uncased.vocab.txt", "vocab.txt", as_json=True),
    )
}
MODELS = tuple(name for name in VOCABULARIES if name != "gpt2")  # every pattern and every model, for worst cases


class Vocabularies:
    """Formats of the vocabularies, converted on first use.

    Args:
        data: the folder JETON_TEST_DATA.
        folder: output folder of conversions.
        models: more vocabularies, each a `tokenizer.json`, by name.
    """

    def __init__(self, data: Path, folder: Path, models: Mapping[str, Path]) -> None:
        self.data, self.folder = data / "vocabs", folder
        self.made: dict[str, dict[str, Any]] = {
            name: {"name": name, "jeton": str(path), "jeton_options": {}, "json": str(path)}
            for name, path in models.items()
        }

    def forms(self, name: str) -> dict[str, Any]:
        """Options for a worker: paths by format, and the pattern of a rank file."""
        if name not in self.made:
            vocab = VOCABULARIES[name]
            path = self.data / vocab.file
            if not path.exists():
                raise FileNotFoundError(f"{path}: JETON_TEST_DATA has no such vocabulary")
            stem = self.folder / name.replace(" ", "-").replace(".", "")
            forms: dict[str, Any] = {"name": name, "jeton": str(path), "jeton_options": vocab.jeton_options}
            if vocab.kind == "ranks":
                forms |= {"ranks": str(path), "pattern": vocab.pattern, "special_tokens": {}}
                forms["json"] = rank_json(vocab, path, stem.with_suffix(".json"))
            elif vocab.kind == "json":
                forms["json"] = str(path)
            elif vocab.kind == "model":
                forms["model"] = str(path)
            elif vocab.kind == "merges":
                forms |= {"merges": str(path), "with_merges": str(path.with_name("gpt2.vocab.bpe"))}
            if vocab.as_json:
                made = stem.with_suffix(".json")
                jeton.load(path).save(made)
                forms["json"] = str(made)
            if vocab.as_model or vocab.only_model:
                forms["model"] = str(write_model(path, stem.with_suffix(".model")))
            if vocab.only_model:
                forms["jeton"] = forms["model"]
                del forms["json"]
            self.made[name] = forms
        return self.made[name]


def rank_json(vocab: Vocabulary, path: Path, made: Path) -> str:
    """Writes a rank file as `tokenizer.json`, with the split that engines recognize and without special tokens."""
    jeton.load(path, **{**vocab.jeton_options, "special_tokens": {}}).save(made)
    facts = json.loads(made.read_text("utf-8"))
    facts["added_tokens"] = []
    facts["model"].pop("jeton", None)
    split = {"type": "Split", "pattern": {"Regex": vocab.hf_pattern}, "behavior": "Isolated", "invert": False}
    bytes_of = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    facts["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, bytes_of]}
    if vocab.hf_pattern == GPT2:
        facts["pre_tokenizer"] = {**bytes_of, "use_regex": True}
    made.write_text(json.dumps(facts, ensure_ascii=False), "utf-8")
    return str(made)
