"""Folders in the layout of transformers."""

from __future__ import annotations

import base64
import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton import _core
from jeton.formats import registry
from jeton.util.record import replace
from tests.formats.test_sentencepiece import model
from tests.material import REFUSED_BY_HF, tokenizer


def test_a_saved_folder_has_both_files_and_loads(kind: str, tmp_path: Path) -> None:
    tok = tokenizer(kind)
    if kind in REFUSED_BY_HF:
        with pytest.raises(jeton.UnsupportedFeatureError):
            tok.save(tmp_path / "made")
        assert not (tmp_path / "made").exists(), "no folder is made for a tokenizer that is refused"
        return
    tok.save(tmp_path / "made")
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["tokenizer.json", "tokenizer_config.json"]
    assert jeton.load(tmp_path / "made") == tok
    assert (tmp_path / "made" / "tokenizer.json").read_bytes() == tok.to_bytes()
    config = json.loads((tmp_path / "made" / "tokenizer_config.json").read_text("utf-8"))
    assert config["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert config.get("unk_token") == tok.roles.get("unk")


def test_an_existing_folder_keeps_its_other_files(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "tokenizer.json").write_bytes(b"old")
    tok.save(tmp_path)
    assert (tmp_path / "model.safetensors").read_bytes() == b"weights"
    assert jeton.load(tmp_path) == tok
    assert jeton.load(str(tmp_path)) == tok


def test_a_folder_whose_name_has_a_suffix(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    for name in ("model-v1.5", "a.json", "vocab.txt"):
        (tmp_path / name).mkdir()
        tok.save(tmp_path / name)
        assert (tmp_path / name / "tokenizer.json").is_file()
        assert jeton.load(tmp_path / name) == tok


def test_files_of_an_earlier_tokenizer_are_replaced_or_refused(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    (tmp_path / "special_tokens_map.json").write_text('{"eos_token": "<|end|>"}')
    tok = tok.add_tokens(["<|end|>"])
    tok.save(tmp_path)
    assert jeton.load(tmp_path).roles == tok.roles
    (tmp_path / "chat_template.jinja").write_text("old")
    with pytest.raises(jeton.ConfigError, match=r"chat_template\.jinja"):
        tok.save(tmp_path)
    tok._with_facts(chat_template="new").save(tmp_path)
    assert jeton.load(tmp_path).definition.chat_template == "new"


def test_chat_templates_are_saved_in_files(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    one = tok._with_facts(chat_template="{{ 1 }}")
    one.save(tmp_path / "one")
    assert (tmp_path / "one" / "chat_template.jinja").read_bytes() == b"{{ 1 }}"
    assert "chat_template" not in json.loads((tmp_path / "one" / "tokenizer_config.json").read_text("utf-8"))
    assert jeton.load(tmp_path / "one").definition.chat_template == "{{ 1 }}"
    named = [{"name": "default", "template": "d"}, {"name": "rag", "template": "r"}]
    several = tok._with_facts(chat_template=named)
    several.save(tmp_path / "two")
    assert (tmp_path / "two" / "additional_chat_templates" / "rag.jinja").read_bytes() == b"r"
    assert jeton.load(tmp_path / "two").definition.chat_template == named
    with pytest.raises(jeton.ConfigError, match=r"additional_chat_templates/rag\.jinja of another tokenizer"):
        one.save(tmp_path / "two")
    odd = tok._with_facts(chat_template=[{"name": "../x", "template": "a"}, {"name": "b", "template": "b"}])
    odd.save(tmp_path / "odd")
    assert sorted(path.name for path in (tmp_path / "odd").iterdir()) == ["tokenizer.json", "tokenizer_config.json"]
    assert jeton.load(tmp_path / "odd").definition.chat_template == odd.definition.chat_template


def test_files_of_templates_precede_the_configuration(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    tok._with_facts(chat_template="file").save(tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text("utf-8"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({**config, "chat_template": "configuration"}))
    assert jeton.load(tmp_path).definition.chat_template == "file"
    (tmp_path / "chat_template.jinja").unlink()
    assert jeton.load(tmp_path).definition.chat_template == "configuration"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("lists_added_tokens", [False, True])
def test_the_map_of_special_tokens_counts_as_in_transformers(
    lists_added_tokens: bool, tmp_path: Path, tok: jeton.Tokenizer
) -> None:
    transformers = pytest.importorskip("transformers")
    tok = tok.add_tokens(["<b>", "<c>", "<d>"])
    tok.with_roles(eos="<a>", additional=["<c>"]).save(tmp_path)
    map = {"eos_token": {"content": "<b>", "lstrip": False}, "pad_token": "<b>"}
    (tmp_path / "special_tokens_map.json").write_text(json.dumps(map))
    if lists_added_tokens:
        config = json.loads((tmp_path / "tokenizer_config.json").read_text("utf-8"))
        flags = dict.fromkeys(("lstrip", "rstrip", "normalized", "single_word"), False)
        added = {id: {"content": token, "special": True, **flags} for token, id in tok.special_tokens.items()}
        config["added_tokens_decoder"] = added
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ours = jeton.load(tmp_path)
    assert (ours.roles.get("eos"), ours.roles.get("pad")) == (theirs.eos_token, theirs.pad_token)
    assert ours.roles["eos"] == ("<a>" if lists_added_tokens else "<b>")


def test_lists_of_special_tokens_are_joined(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    tok.add_tokens(["<c>", "<d>"]).with_roles(additional=["<c>"]).save(tmp_path)
    map = {"additional_special_tokens": ["<c>", {"content": "<d>"}]}
    (tmp_path / "special_tokens_map.json").write_text(json.dumps(map))
    assert jeton.load(tmp_path).definition.config["additional_special_tokens"] == ["<c>", {"content": "<d>"}]


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
def test_a_hostile_configuration_is_an_error(file: str, config: str, tmp_path: Path, tok: jeton.Tokenizer) -> None:
    (tmp_path / file).write_bytes(tok.to_bytes() if file == "tokenizer.json" else b"[PAD]\n[UNK]\nthe\n")
    (tmp_path / "tokenizer_config.json").write_text(config)
    with pytest.raises(jeton.FormatError, match=r"tokenizer_config\.json") as caught:
        jeton.load(tmp_path)
    assert caught.value.place


def test_a_null_chat_template_keeps_that_of_the_tokenizer_file(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    (tmp_path / "tokenizer.json").write_bytes(tok._with_facts(chat_template="kept").to_bytes())
    (tmp_path / "tokenizer_config.json").write_text('{"chat_template": null}')
    assert jeton.load(tmp_path).definition.chat_template == "kept"


def test_the_error_for_a_folder_without_a_tokenizer_lists_its_files(tmp_path: Path) -> None:
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


@pytest.mark.filterwarnings("ignore")  # ignore warnings of transformers at import
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
def test_a_tokenizer_with_code_is_refused_or_warned_of(
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


@pytest.mark.parametrize("is_known", [True, False])
def test_the_error_for_a_rank_file_beside_code_shows_how_to_load_it(
    is_known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Kimi K2's folder."""
    ranks = b"".join(b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256))
    (tmp_path / "tiktoken.model").write_bytes(ranks)
    (tmp_path / "a.model").write_bytes(b"no rank file")
    config = {"auto_map": {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    if is_known:
        known = replace(registry.REGISTRY["kimi_k2"], sha256=hashlib.sha256(ranks).hexdigest())
        monkeypatch.setattr(registry, "_KNOWN", (known,))
    path = str(tmp_path / "tiktoken.model")
    with pytest.raises(jeton.UnsupportedFeatureError) as failure:
        jeton.load(tmp_path)
    how = f"loads by the name 'kimi_k2', or by its path {path!r}"
    other = f"a rank file, loads by its path {path!r} with pattern="
    assert str(failure.value).endswith(
        "; without the code, its tiktoken.model" + (f" {how}" if is_known else f", {other}")
    )
    loaded = jeton.load(path, pattern=None if is_known else "gpt2")
    assert loaded.encode("ab") == [97, 98]
    assert ("[EOS]" in loaded.special_tokens) is is_known


@pytest.mark.parametrize(
    ("said", "adds"), [({}, True), ({"add_bos_token": None}, False), ({"add_bos_token": True}, True)]
)
def test_a_bos_that_is_null_is_not_added(said: dict[str, Any], adds: bool, tmp_path: Path) -> None:
    """As in transformers 4.57; 5.23 differs only where the configuration lacks the key."""
    (tmp_path / "tokenizer.model").write_bytes(model("bpe bytes"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "LlamaTokenizer", **said}))
    tok = jeton.load(tmp_path)
    assert (tok.encode("a", add_special_tokens=True)[0] == tok.special_tokens["<s>"]) is adds


BERT = {
    "[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "the": 5, "old": 6, "##er": 7, "house": 8,
}  # fmt: skip
BYTES = {_core.spell_bytes(bytes([byte])): byte for byte in range(256)}
MORE = {"model_max_length": 10**30, "padding_side": "left", "truncation_side": "left", "own_key": {"a": [1, None]}}


def _folder(kind: str, folder: Path) -> None:
    """Writes a folder as its publisher has it."""
    config: dict[str, Any] = dict(MORE)
    match kind:
        case "vocab.txt":
            (folder / kind).write_text("".join(f"{token}\n" for token in BERT))
            config |= {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
        case "pair":
            (folder / "vocab.json").write_text(json.dumps({**BYTES, "th": 256, "<|endoftext|>": 257}))
            (folder / "merges.txt").write_text("#version: 0.2\nt h\n")
            config |= {"tokenizer_class": "GPT2Tokenizer", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}
            config |= {"unk_token": "<|endoftext|>", "bos_token": "<|endoftext|>"}
        case "tokenizer.json":
            flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
            special = {"<unk>": 0, "<s>": 1, "</s>": 2, "<mask>": 3}
            mask = {"content": "<mask>", **flags, "lstrip": True, "__type": "AddedToken"}
            letters = {letter: id for id, letter in enumerate("\u2581helo", start=4)}
            file = {
                "version": "1.0",
                "added_tokens": [
                    {"id": id, "content": content, **flags, "special": True} for content, id in special.items()
                ],
                "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
                "pre_tokenizer": None,
                "post_processor": None,
                "decoder": {"type": "Fuse"},
                "model": {
                    "type": "BPE",
                    "unk_token": "<unk>",
                    "fuse_unk": True,
                    "vocab": {**special, **letters},
                    "merges": [],
                },
            }
            (folder / kind).write_text(json.dumps(file))
            config |= {
                "tokenizer_class": "LlamaTokenizer",
                "bos_token": "<s>",
                "eos_token": "</s>",
                "unk_token": "<unk>",
            }
            config |= {"mask_token": mask, "add_bos_token": False, "model_input_names": ["input_ids"]}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["vocab.txt", "pair", "tokenizer.json"])
def test_a_saved_folder_is_equal_to_transformers(kind: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    _folder(kind, old)
    tok = jeton.load(old)
    tok.save(new)
    assert pickle.loads(pickle.dumps(tok)).definition == tok.definition
    assert jeton.load(new) == tok
    assert tok.definition.config.items() <= jeton.load(new).definition.config.items()
    before, after = (transformers.AutoTokenizer.from_pretrained(folder) for folder in (old, new))
    for name in ("model_max_length", "padding_side", "truncation_side", "model_input_names", "special_tokens_map"):
        assert getattr(after, name) == getattr(before, name), name
    assert after.init_kwargs["own_key"] == MORE["own_key"]
    for texts in [("the old house", "hello older"), ("hello",)]:
        assert dict(after(*texts)) == dict(before(*texts))
    batch = ["the", "the older house"]
    assert dict(after(batch, padding=True)) == dict(before(batch, padding=True)) if before.pad_token else True
    config = json.loads((new / "tokenizer_config.json").read_text("utf-8"))
    assert MORE.items() <= config.items(), "integers of any size, too"
    own_class = json.loads((old / "tokenizer_config.json").read_text("utf-8"))["tokenizer_class"]
    assert config["tokenizer_class"] == (own_class if kind == "tokenizer.json" else "PreTrainedTokenizerFast")


def test_keys_that_are_not_kept_from_a_configuration(tmp_path: Path) -> None:
    _folder("pair", tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text("utf-8"))
    config |= {"auto_map": {}, "chat_template": "x", "added_tokens_decoder": {}, "cls_token": None}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    tok = jeton.load(tmp_path)
    assert set(config) - set(tok.definition.config) == {
        "auto_map", "chat_template", "added_tokens_decoder", "tokenizer_class",
    }  # fmt: skip
    tok._with_facts(roles={"eos": "<|endoftext|>"}).save(tmp_path / "new")
    saved = json.loads((tmp_path / "new" / "tokenizer_config.json").read_text("utf-8"))
    assert saved["eos_token"] == "<|endoftext|>"
    assert (tmp_path / "new" / "chat_template.jinja").read_text("utf-8") == "x"


def test_segment_ids_are_requested_in_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in BERT))
    jeton.load(tmp_path / "vocab.txt").save(tmp_path / "new")
    config = json.loads((tmp_path / "new" / "tokenizer_config.json").read_text("utf-8"))
    assert config["model_input_names"] == ["input_ids", "token_type_ids", "attention_mask"]
