"""Runs the common tokenizer tests of transformers on original, accelerated and drop-in tokenizers.

    pip download --no-deps --no-binary :all: transformers==5.23.0 && tar xf transformers-5.23.0.tar.gz
    JETON_TEST_DATA=… python tools/transformers_suite.py transformers-5.23.0 [--only drop-in] [--record FILE]

The three mixins of the source distribution run for seven classes of tokenizers over local vocabularies, without
network. Each mixin runs in three ways:

- original: Jeton is not used;
- accelerated: each fast tokenizer is switched to Jeton at the end of its base class's constructor;
- drop-in: transformers imports `jeton.compat.tokenizers` under the name tokenizers.

The tool prints the tests that pass in one or two of the three ways. For the accelerated tokenizers, it also prints the
share of encode and decode calls that ran on Jeton, and the number of fallbacks for each form of call. For the drop-in,
it also prints the calls that ran on the original library. The exit code is 4 if a test passes on original tokenizers,
but fails on accelerated or drop-in tokenizers. The tool needs the package parameterized.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

DIFFERENT = 4
KINDS = ("original", "accelerated", "drop-in")
MODULES = ("test_tokenization_common", "test_tokenizers_backend_mixin", "test_sentencepiece_backend_mixin")
MIXINS = ("TokenizerTesterMixin", "TokenizersBackendTesterMixin", "SentencePieceBackendTesterMixin")
SAMPLE = (
    "This is a sample of text, na\u00efve and plain, with 3 numbers: 12, 345 and 6,789.\n\n"
    "It has two paragraphs. \u4eca\u5929\u5929\u6c14\u5f88\u597d. \u0939\u093f\u0928\u094d\u0926\u0940 \U0001f44d\n"
)


def write_folders(vocabs: Path, folder: Path) -> dict[str, str]:
    """Writes a folder for each class of tokenizers; returns class → path of the folder."""
    import jeton

    clip_text = (
        " ".join(["low lower lowest newer wider this is a test of the tokenizer"] * 3) + "abcdefghijklmnopqrstuvwxyz"
    )
    clip = jeton.train(
        [clip_text.encode().decode()], 900, level="byte", end_of_word="</w>", end_of_word_style="suffix", progress=False
    )
    clip_file = json.loads(clip.to_bytes())["model"]
    clip_vocab = dict(clip_file["vocab"])
    for token in ("<|startoftext|>", "<|endoftext|>"):
        clip_vocab.setdefault(token, len(clip_vocab))
    clip_merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in clip_file["merges"]]
    files: dict[str, dict[str, Any]] = {
        "GPT2Tokenizer": {
            "vocab.json": vocabs / "gpt2.encoder.json",
            "merges.txt": vocabs / "gpt2.vocab.bpe",
            "config": {"unk_token": "<|endoftext|>", "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"},
        },
        "BertTokenizer": {"vocab.txt": vocabs / "bert-uncased.vocab.txt", "config": {"model_max_length": 512}},
        "RobertaTokenizer": {
            "tokenizer.json": vocabs / "roberta-base.tokenizer.json",
            "config": {"model_max_length": 512},
        },
        "T5Tokenizer": {"tokenizer.json": vocabs / "t5-small.tokenizer.json", "config": {"model_max_length": 512}},
        "LlamaTokenizer": {"tokenizer.model": vocabs / "mistral-v1.model", "config": {"pad_token": "<unk>"}},
        "CLIPTokenizer": {
            "vocab.json": json.dumps(clip_vocab),
            "merges.txt": "#version: 0.2\n" + "\n".join(clip_merges) + "\n",
            "config": {"model_max_length": 77},
        },
        "PreTrainedTokenizerFast": {
            "tokenizer.json": vocabs / "gpt-neox-20b.tokenizer.json",
            "config": {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<|padding|>"},
        },
    }
    for name, content in files.items():
        target = folder / name
        target.mkdir()
        for file, source in content.items():
            if file == "config":
                (target / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name, **source}))
            elif isinstance(source, Path):
                shutil.copy(source, target / file)
            else:
                (target / file).write_text(source, encoding="utf-8")
    return {name: str(folder / name) for name in files}


def prepare(sdist: Path, folder: Path) -> None:
    """Copies the tests. Writes a text file for the tests, because the source distribution does not contain it."""
    tests = folder / "tests"
    (tests / "fixtures").mkdir(parents=True)
    (tests / "__init__.py").write_text("")
    (tests / "fixtures" / "sample_text.txt").write_text(SAMPLE, encoding="utf-8")
    for module in MODULES:
        shutil.copy(sdist / "tests" / f"{module}.py", tests)


def accelerate_all() -> None:
    """Changes the constructor of `TokenizersBackend`, so that each newly constructed tokenizer runs on Jeton."""
    from transformers import TokenizersBackend

    from jeton.integrations.transformers import accelerate

    original = TokenizersBackend.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        accelerate(self, strict=False)

    TokenizersBackend.__init__ = init


class Results(unittest.TestResult):
    """Test result that records the outcome of each test."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: dict[str, str] = {}
        self.reasons: dict[str, str] = {}

    def startTest(self, test: Any) -> None:  # noqa: D102, N802
        super().startTest(test)
        self.outcomes.setdefault(test.id(), "passed")

    def _failed(self, test: Any, error: Any, outcome: str) -> None:
        name = getattr(test, "test_case", test).id()
        self.outcomes[name] = outcome
        self.reasons[name] = f"{error[0].__name__}: {error[1]}"[:300]

    def addError(self, test: Any, err: Any) -> None:  # noqa: D102, N802
        super().addError(test, err)
        self._failed(test, err, "error")

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: D102, N802
        super().addFailure(test, err)
        self._failed(test, err, "failed")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: D102, N802
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._failed(subtest, err, "failed")

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: D102, N802
        super().addSkip(test, reason)
        self.outcomes[test.id()] = "skipped"
        self.reasons[test.id()] = reason


def classes(folders: dict[str, str]) -> list[type[unittest.TestCase]]:
    """Returns a class of tests for each pair of a mixin and a class of tokenizers."""
    import transformers

    mixins = [getattr(importlib.import_module(f"tests.{MODULES[at]}"), name) for at, name in enumerate(MIXINS)]
    found = []
    for name, path in folders.items():
        tokenizer = getattr(transformers, name)
        for mixin in mixins:
            facts = {"tokenizer_class": tokenizer, "rust_tokenizer_class": tokenizer, "from_pretrained_id": path}
            facts |= {"from_pretrained_kwargs": {}, "__module__": "tests"}
            label = f"{name}_{mixin.__name__.removesuffix('TesterMixin')}"
            found.append(type(label, (mixin, unittest.TestCase), facts))
    return found


def run(kind: str, sdist: Path) -> dict[str, Any]:
    """Runs the tests of one kind in this process; returns the results."""
    if kind == "drop-in":
        from jeton import compat

        compat.replace("tokenizers")
    from transformers.utils import logging

    logging.set_verbosity(logging.CRITICAL)
    data = Path(os.environ["JETON_TEST_DATA"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(sdist, folder)
        folders = write_folders(data / "vocabs", folder)
        sys.path.insert(0, name)
        os.chdir(name)
        if kind == "accelerated":
            accelerate_all()
        loader, results = unittest.TestLoader(), Results()
        start = time.process_time()
        for case in classes(folders):
            loader.loadTestsFromTestCase(case).run(results)
        spent = time.process_time() - start
        os.chdir("/")
    facts: dict[str, Any] = {"outcomes": results.outcomes, "reasons": results.reasons, "seconds": spent}
    if kind == "accelerated":
        from jeton.integrations.transformers import stats

        facts["stats"] = stats().to_json()
    if kind == "drop-in":
        from jeton.compat import report

        facts["slow"] = report.lines("tokenizers", set)
    return facts


def main() -> int:
    """Runs the command; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sdist", type=Path, help="folder of the unpacked source distribution")
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--record", type=Path, help="JSON file for the outcomes")
    parser.add_argument("--child", choices=KINDS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if "JETON_TEST_DATA" not in os.environ:
        raise SystemExit("set JETON_TEST_DATA to the folder of vocabularies")
    if asked.child:
        asked.record.write_text(json.dumps(run(asked.child, asked.sdist.resolve())))
        return 0
    found: dict[str, dict[str, Any]] = {}
    options = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "TRANSFORMERS_VERBOSITY": "critical"}
    for kind in [asked.only] if asked.only else KINDS:
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            command = [
                sys.executable,
                "-W",
                "ignore",
                __file__,
                str(asked.sdist),
                "--child",
                kind,
                "--record",
                file.name,
            ]
            subprocess.run(command, check=True, env=os.environ | options, stderr=subprocess.DEVNULL)
            found[kind] = json.loads(Path(file.name).read_text())
        outcomes = list(found[kind]["outcomes"].values())
        print(f"{kind}: {outcomes.count('passed')} of {len(outcomes)} pass, {found[kind]['seconds']:.0f} s of CPU time")
    if asked.record:
        asked.record.write_text(json.dumps(found, indent=1))
    if "accelerated" in found:
        stats = found["accelerated"]["stats"]
        print(f"on Jeton: {stats['on_jeton']:,} of the encode and decode calls, {stats['share']:.1%}")
        for shape, count in stats["fallbacks"].items():
            print(f"  {count:,} fell back: {shape}")
    for line in found.get("drop-in", {}).get("slow", ()):
        print(f"  {line}")
    if "original" not in found or len(found) == 1:
        return 0
    passed = {
        kind: {name for name, is_ in facts["outcomes"].items() if is_ == "passed"} for kind, facts in found.items()
    }
    for name in sorted(set.union(*passed.values()) - set.intersection(*passed.values())):
        reasons = [
            f"{kind} {found[kind]['outcomes'].get(name)} ({found[kind]['reasons'].get(name, '')})" for kind in found
        ]
        print(f"{name}: {'; '.join(reasons)}")
    return DIFFERENT if any(passed["original"] - own for own in passed.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
