"""Folders with a `.model`: as the installed transformers reads them, and as 4.57.6 does, which is recorded.

`tools/transformers_folders.py --models` compares the whole grid, with either version.
"""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tools.parity import model_folders

import jeton
from tests.material import TESTDATA
from tests.selection import amount

pytest.importorskip("sentencepiece")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
RECORDED = json.loads((TESTDATA / "transformers" / "model_folders.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    model_folders.train(folder)
    return folder


@pytest.mark.parametrize("name", model_folders.CLASSES)
def test_the_installed_version(name: str, models: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    major = int(transformers.__version__.partition(".")[0])
    model = models / f"{model_folders.CLASSES[name][0]}.model"
    model_folders.write(tmp_path / "first", model, name, {})
    if (name, major) == ("NllbTokenizer", 5):
        with pytest.raises(jeton.UnsupportedFeatureError, match="numbers the pieces of NllbTokenizer anew"):
            jeton.load(tmp_path / "first", transformers=5)
        return
    size = model_folders.num_entries(tmp_path / "first")
    step = amount(1, default=16)  # of 67
    for number, config in list(enumerate(model_folders.grid(size)))[::step]:
        folder = tmp_path / str(number)
        theirs = model_folders.made_by(name, model, folder, config)
        tok = jeton.load(folder, transformers=major)
        assert model_folders.differences(theirs, tok, model_folders.texts(tok, amount(300, default=10))) == [], config


def _cases() -> list[Any]:
    return [pytest.param(case, id=f"{case['class']} {json.dumps(case['config'])}") for case in RECORDED["folders"]]


def _folder(case: dict[str, Any], tmp_path: Path) -> Path:
    kind = model_folders.CLASSES[case["class"]][0]
    (tmp_path / "model").write_bytes(base64.b64decode(RECORDED["models"][kind]))
    model_folders.write(tmp_path / "folder", tmp_path / "model", case["class"], case["config"])
    return tmp_path / "folder"


@pytest.mark.parametrize("case", _cases())
def test_version_4(case: dict[str, Any], tmp_path: Path) -> None:
    tok = jeton.load(_folder(case, tmp_path), transformers=4)
    for text, ids, *decoded in zip(RECORDED["texts"], case["ids"], *case["decoded"], strict=True):
        assert tok.encode(text, special="all", add_special_tokens=True) == ids, text
        assert [tok.decode(ids, skip_special_tokens=skip) for skip in (False, True)] == decoded
        stream = tok.stream()
        assert "".join([*(stream.push(id) for id in ids), stream.finish()]) == decoded[0]


@pytest.mark.parametrize("case", _cases())
def test_the_default_decodes_as_version_4(case: dict[str, Any], tmp_path: Path) -> None:
    tok = jeton.load(_folder(case, tmp_path))
    is_gemma = case["class"] == "GemmaTokenizer"  # whose fast class makes <start_of_turn> special
    for ids, shown, skipped in zip(case["ids"], *case["decoded"], strict=True):
        if max(ids, default=0) < len(tok):
            assert tok.decode(ids) == shown
            assert is_gemma or tok.decode(ids, skip_special_tokens=True) == skipped
