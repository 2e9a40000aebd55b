"""Folders saved by other versions of transformers, with configurations that those versions read with equal results.

``tools/transformers_folders.py --golden`` writes and verifies them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jeton

from ..material import TESTDATA

FOLDERS = sorted(path.parent for path in (TESTDATA / "transformers").glob("*/*/expected.json"))


def test_folders_cover_both_versions() -> None:
    assert {path.parent.name[0] for path in FOLDERS} == {"4", "5"}


def num_entries(folder: Path) -> int:
    """Number of entries of the model, without the added tokens after them."""
    if (folder / "tokenizer.json").is_file():
        return len(json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]["vocab"])
    if (folder / "vocab.json").is_file():
        return len(json.loads((folder / "vocab.json").read_text("utf-8")))
    return len((folder / "vocab.txt").read_text("utf-8").splitlines())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name} {path.name}")
def test_the_saved_configuration_equals_the_expected_one(folder: Path, tmp_path: Path) -> None:
    tok = jeton.load(folder)
    tok.save(tmp_path / "new")
    saved = json.loads((tmp_path / "new" / "tokenizer_config.json").read_text("utf-8"))
    assert saved == json.loads((folder / "expected.json").read_text("utf-8"))
    if models := [*folder.glob("*.model")]:  # of a slow class
        assert {path.name for path in (tmp_path / "new").iterdir()} == {models[0].name, "tokenizer_config.json"}
        assert jeton.load(tmp_path / "new" / models[0].name) == jeton.load(models[0])
    else:
        file = json.loads((tmp_path / "new" / "tokenizer.json").read_text("utf-8"))
        assert len(file["model"]["vocab"]) == num_entries(folder), "`vocab_size` of transformers"
    again = jeton.load(tmp_path / "new")
    assert (again, again.roles, again.definition.chat_template) == (tok, tok.roles, tok.definition.chat_template)
    templates = sorted(path.relative_to(folder) for path in folder.rglob("*.jinja"))
    assert sorted(path.relative_to(tmp_path / "new") for path in (tmp_path / "new").rglob("*.jinja")) == templates
    for path in templates:
        assert (tmp_path / "new" / path).read_bytes() == (folder / path).read_bytes()
