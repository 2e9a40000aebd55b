"""A folder as transformers has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import jeton
from tests.formats.test_sentencepiece import model
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


NAMED: list[dict[str, Any]] = [
    {"pad_token": "<pad>"},
    {"pad_token": "<PAD>", "bos_token": "<s>", "mask_token": "<mask>"},
    {"additional_special_tokens": ["<a>", "<b>"], "eos_token": "</s>", "zoo_token": "<zoo>"},
    {"extra_special_tokens": ["<a>"]},
    {"eos_token": "b", "pad_token": "HELLO"},
    {"pad_token": {"__type": "AddedToken", "content": "<pad>", "lstrip": True, "normalized": True}},
    {"pad_token": ""},
    {"pad_token": "[UNK]", "mask_token": None},
]


@pytest.mark.filterwarnings("ignore")  # what transformers warns of when it is imported is not ours
@pytest.mark.parametrize("named", NAMED)
def test_named_tokens_that_the_file_lacks_are_added_as_transformers_does(named: dict[str, Any], tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    unk = {"id": 0, "content": "[UNK]", "special": True, **dict.fromkeys(("single_word", "lstrip", "rstrip"), False)}
    words = {"[UNK]": 0, "hello": 1, "b": 2, "<mask>": 3}
    file = {
        "version": "1.0",
        "added_tokens": [{**unk, "normalized": False}],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": words},
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(file))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", **named}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    tok = jeton.load(tmp_path)
    theirs = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path)
    added = {id: str(token) for id, token in theirs.added_tokens_decoder.items()}
    assert {id: content for content, id in tok.special_tokens.items()} == added
    if named.get("pad_token"):
        assert tok.roles["pad"] == str(theirs.pad_token)
    for text in ("hello<pad> <PAD> b <mask> HELLO <s> <a></s>", "  <pad>"):
        assert (text, tok.encode(text, special="all")) == (text, theirs.encode(text, add_special_tokens=False))


@pytest.mark.parametrize(
    ("vocab", "config"),
    [
        ({"[UNK]": 0, "a": 7}, {"pad_token": "<pad>"}),  # transformers counts the entries
        ({"[UNK]": 0, "a": 1}, {"added_tokens_decoder": {"9": {"content": "<pad>", "special": True}}}),
    ],
)
def test_a_named_token_whose_id_is_not_the_next_is_refused(
    vocab: dict[str, int], config: dict[str, Any], tmp_path: Path
) -> None:
    file = {"added_tokens": [], "model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": vocab}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(file))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(jeton.UnsupportedFeatureError, match="<pad>"):
        jeton.load(tmp_path)


CODE = [
    {"tokenizer_config.json": {"auto_map": {"AutoTokenizer": ["own.OwnTokenizer", None]}}},
    {"config.json": {"auto_map": {"AutoTokenizer": "own.OwnTokenizer"}}},
    {"tokenizer_config.json": {"tokenizer_class": "OwnTokenizer"}, "tokenization_own.py": {}},
]


@pytest.mark.parametrize("files", CODE)
def test_a_tokenizer_that_is_code_is_refused_or_told(
    files: dict[str, Any], tmp_path: Path, tok: jeton.Tokenizer, caplog: pytest.LogCaptureFixture
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "vocab.txt").write_text("[UNK]\nlow\n")
    with pytest.raises(jeton.UnsupportedFeatureError, match="code"):
        jeton.load(tmp_path)
    assert not caplog.records
    (tmp_path / "tokenizer.json").write_bytes(tok.to_bytes())
    assert jeton.load(tmp_path) == tok
    assert "never runs" in caplog.text


@pytest.mark.parametrize(
    ("said", "adds"), [({}, True), ({"add_bos_token": None}, False), ({"add_bos_token": True}, True)]
)
def test_a_bos_that_is_null_is_not_added(said: dict[str, Any], adds: bool, tmp_path: Path) -> None:
    """As in transformers 4.57; 5.23 agrees save where nothing is said."""
    (tmp_path / "tokenizer.model").write_bytes(model("bpe bytes"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "LlamaTokenizer", **said}))
    tok = jeton.load(tmp_path)
    assert (tok.encode("a", add_special_tokens=True)[0] == tok.special_tokens["<s>"]) is adds
