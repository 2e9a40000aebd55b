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
def test_folders_load_as_in_the_installed_version(name: str, models: Path, tmp_path: Path) -> None:
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


# class -> its special pieces, and configurations
ONLY_5: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "PegasusTokenizer": (
        {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
        [{}, {"additional_special_tokens": ["<mask_1>", "<unk_2>"]}, {"additional_special_tokens": ["<a>"]}],
    ),
    "BarthezTokenizer": (
        {"bos_id": 0, "pad_id": 1, "eos_id": 2, "unk_id": 3},
        [{}, {"add_prefix_space": False}, {"additional_special_tokens": ["<a>"]}],
    ),
    "AlbertTokenizer": (
        {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": ["[CLS]", "[SEP]", "[MASK]"]},
        [{}, {"do_lower_case": False, "keep_accents": True}, {"do_lower_case": False, "add_prefix_space": False}],
    ),
}


@pytest.mark.parametrize("name", ONLY_5)
def test_classes_of_version_5_alone_give_equal_ids(name: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", minversion="5")
    from sentencepiece import SentencePieceTrainer

    special, configs = ONLY_5[name]
    options: dict[str, Any] = {"vocab_size": 400, "hard_vocab_limit": False, "minloglevel": 2, **special}
    lines = iter(model_folders.LINES * 20)
    SentencePieceTrainer.train(sentence_iterator=lines, model_prefix=str(tmp_path / "trained"), **options)
    for number, config in enumerate(configs):
        folder = tmp_path / str(number)
        folder.mkdir()
        file = "sentencepiece.bpe.model" if name == "BarthezTokenizer" else "spiece.model"
        (folder / file).write_bytes((tmp_path / "trained.model").read_bytes())
        text = json.dumps({"tokenizer_class": name, **config})
        (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
        theirs = transformers.AutoTokenizer.from_pretrained(folder)
        tok = jeton.load(folder, transformers=5)
        assert model_folders.differences(theirs, tok, model_folders.texts(tok, amount(3_000, default=100))) == [], (
            config
        )


def _cases() -> list[Any]:
    return [pytest.param(case, id=f"{case['class']} {json.dumps(case['config'])}") for case in RECORDED["folders"]]


def _folder(case: dict[str, Any], tmp_path: Path) -> Path:
    kind = model_folders.CLASSES[case["class"]][0]
    (tmp_path / "model").write_bytes(base64.b64decode(RECORDED["models"][kind]))
    model_folders.write(tmp_path / "folder", tmp_path / "model", case["class"], case["config"])
    return tmp_path / "folder"


@pytest.mark.parametrize("case", _cases())
def test_folders_load_as_in_version_4(case: dict[str, Any], tmp_path: Path) -> None:
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
