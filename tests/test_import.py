"""``import jeton`` is light: modules needed by some calls only are imported by those calls."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import jeton


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.parametrize(
    "name",
    [
        "numpy",
        "tqdm",
        "click",
        "jinja2",
        "regex",
        "tokenizers",
        "tiktoken",
        "transformers",
        "zstandard",
        "huggingface_hub",
        "urllib.request",
    ],
)
def test_importing_jeton_does_not_load(name: str) -> None:
    assert run(f"import sys, jeton; print({name!r} in sys.modules)") == "False\n"


def test_encoding_and_decoding_lists_need_no_numpy() -> None:
    code = """
import sys, jeton
tok = jeton.Tokenizer.from_merges({97: b"a", 98: b"b", 256: b"ab"}, [(97, 98, 256)])
assert tok.decode(tok.encode("abba")) == "abba"
assert len(tok.tokenize("ab")) == tok.count("ab") == 1
assert str(tok.explain("ab"))
assert jeton.Tokenizer.from_bytes(tok.to_bytes()) == tok
print("numpy" in sys.modules, "click" in sys.modules)
"""
    assert run(code) == "False False\n"


# Modules that take long to import, compared with reading a small vocabulary. `json` is imported, and `re`, `functools`,
# `enum` and `collections` with it.
SLOW = ("typing", "dataclasses", "inspect", "pathlib", "contextlib")


@pytest.mark.parametrize(
    "format", ["tokenizer.json", "tiktoken", "vocab.txt", "WordPiece", "merges.txt", "sentencepiece"]
)
def test_loading_and_encoding_import_nothing_slow(format: str, tmp_path: Path) -> None:
    texts, path = ["low lower lowest"], tmp_path / "saved"
    options = {"pattern": "gpt2"} if format == "tiktoken" else {}
    if format in ("vocab.txt", "WordPiece"):
        path.write_text("[UNK]\n[CLS]\n[SEP]\nlow\n", "utf-8")
        if format == "WordPiece":
            jeton.load(path).save(path, format="tokenizer.json")
    elif format == "sentencepiece":
        jeton.train(texts, 13, preset="sentencepiece-unigram", progress=False).save(path, format=format)
    else:
        small = jeton.train(texts, 260, pattern="gpt2", progress=False)
        small.save(path, format=format, accept_loss=["pattern"] if format == "tiktoken" else ())
    if format == "merges.txt":
        path /= "merges.txt"
    code = f"""
import sys
before = set(sys.modules)
import jeton
assert jeton.load({str(path)!r}, **{options!r}).encode("low")
print(*sorted({{*{SLOW!r}}} & ({{*sys.modules}} - before)))
"""
    assert run(code) == "\n"


def test_every_public_name_is_defined() -> None:
    for name in jeton.__all__:
        assert getattr(jeton, name) is not None
    assert sorted(jeton.__all__) == jeton.__all__
    assert jeton.__version__.count(".") == 2
    visible = run("import jeton; print(*sorted(name for name in dir(jeton) if name[0].isupper()))").split()
    assert set(visible) <= set(jeton.__all__)


def test_type_checkers_see_the_public_names() -> None:
    stub = ast.parse(Path(jeton.__file__).with_suffix(".pyi").read_text("utf-8"))
    found: dict[str, str | None] = {}  # name -> its module; None: the name is a module
    for statement in stub.body:
        if isinstance(statement, ast.ImportFrom):
            assert statement.level == 1
            found |= {each.name: statement.module for each in statement.names if each.asname == each.name}
    assert sorted(name for name, module in found.items() if module) == jeton.__all__
    for name, module in found.items():
        imported = importlib.import_module(f"jeton.{module or name}")
        assert getattr(jeton, name) is (getattr(imported, name) if module else imported)


def test_importing_causes_no_warning() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import jeton"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_shards_load_neither_training_nor_plots() -> None:
    unwanted = "('jeton.training', 'jeton.analysis', 'jeton.drawing')"
    assert run(f"import sys, jeton.shards; print([name for name in sys.modules if name in {unwanted}])") == "[]\n"
