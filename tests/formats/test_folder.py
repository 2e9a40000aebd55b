"""A folder as transformers has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jeton
from tests.material import REFUSED_BY_HF, tokenizer


def test_both_files_and_back(kind: str, tmp_path: Path) -> None:
    tok = tokenizer(kind)
    if kind in REFUSED_BY_HF:
        with pytest.raises(jeton.UnsupportedFeatureError):
            tok.save(tmp_path / "made")
        assert not (tmp_path / "made").exists(), "nothing is made before it is clear that it can be"
        return
    tok.save(tmp_path / "made")
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["tokenizer.json", "tokenizer_config.json"]
    assert jeton.load(tmp_path / "made") == tok
    assert (tmp_path / "made" / "tokenizer.json").read_bytes() == tok.to_bytes()
    config = json.loads((tmp_path / "made" / "tokenizer_config.json").read_text("utf-8"))
    assert config["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert config.get("unk_token") == tok.roles.get("unk")


def test_a_folder_that_is_there_keeps_its_other_files(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "tokenizer.json").write_bytes(b"old")
    tok.save(tmp_path)
    assert (tmp_path / "model.safetensors").read_bytes() == b"weights"
    assert jeton.load(tmp_path) == tok
    assert jeton.load(str(tmp_path)) == tok


def test_what_an_earlier_tokenizer_left_is_not_this_ones(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    (tmp_path / "special_tokens_map.json").write_text('{"eos_token": "<|end|>"}')
    tok = tok.add_tokens(["<|end|>"])
    tok.save(tmp_path)
    assert jeton.load(tmp_path).roles == tok.roles
    (tmp_path / "chat_template.jinja").write_text("old")
    with pytest.raises(jeton.ConfigError, match=r"chat_template\.jinja"):
        tok.save(tmp_path)
    tok._with_facts(chat_template="new").save(tmp_path)
    assert jeton.load(tmp_path).definition.chat_template == "new"


def test_folders_in_folders_are_made(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    tok.save(tmp_path / "a" / "b.v1", format="folder")
    assert jeton.load(tmp_path / "a" / "b.v1") == tok


@pytest.mark.parametrize(
    "config",
    [
        '{"model_max_length": 1' + "0" * 5000 + "}",  # Python reads no number of so many digits
        '{"unk_token": "\\ud800"}',
        '{"chat_template": "\\ud800"}',
        "[" * 100_000,
        "[]",
        "{",
    ],
    ids=["digits", "surrogate in a role", "surrogate in the template", "deep", "list", "truncated"],
)
@pytest.mark.parametrize("file", ["tokenizer.json", "vocab.txt"])
def test_a_hostile_configuration(file: str, config: str, tmp_path: Path, tok: jeton.Tokenizer) -> None:
    (tmp_path / file).write_bytes(tok.to_bytes() if file == "tokenizer.json" else b"[PAD]\n[UNK]\nthe\n")
    (tmp_path / "tokenizer_config.json").write_text(config)
    with pytest.raises(jeton.FormatError, match=r"tokenizer_config\.json") as caught:
        jeton.load(tmp_path)
    assert caught.value.place


def test_no_chat_template_is_not_another_one(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    (tmp_path / "tokenizer.json").write_bytes(tok._with_facts(chat_template="kept").to_bytes())
    (tmp_path / "tokenizer_config.json").write_text('{"chat_template": null}')
    assert jeton.load(tmp_path).definition.chat_template == "kept"


def test_a_folder_without_a_tokenizer_says_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(FileNotFoundError, match=r"no tokenizer: none of tokenizer\.json.*config\.json"):
        jeton.load(tmp_path)
