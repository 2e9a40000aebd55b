"""Conversion between tokenizers of Jeton and of transformers, `parity`, and `JetonTokenizer`."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.integrations.transformers import JetonTokenizer, accelerate, deferred, parity, register, to_transformers
from jeton.integrations.transformers.deferred import DeferredBackend
from tests.material import TRICKY, tokenizer

tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is a test dependency")
transformers = pytest.importorskip("transformers", reason="transformers is a test dependency")
pytestmark = pytest.mark.filterwarnings("ignore")  # ignore warnings of transformers

TEXTS = ["the lower world", "  two <mask> 12", "", "na\u00efve </s>\n", *TRICKY[:6]]


# ── from memory ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["small byte-level", "small WordPiece", "small Unigram"])
def test_load_from_memory_equals_the_folder(small: dict[str, Any], name: str, tmp_path: Path) -> None:
    tok = copy.deepcopy(small[name])
    tok.chat_template = "{% for m in messages %}{{ m.content }}{% endfor %}"
    tok.padding_side = "left"
    tok.save_pretrained(tmp_path)
    found, expected = jeton.load(tok), jeton.load(tmp_path)
    assert found == expected
    assert found.roles == expected.roles
    assert found.definition.config == expected.definition.config
    assert found.definition.chat_template == tok.chat_template
    assert jeton.load(accelerate(tok)) == expected


def test_load_accepts_a_backend(original: Any) -> None:
    found = jeton.load(original._tokenizer)
    assert found.encode("the lower", special="all", add_special_tokens=True) == original("the lower")["input_ids"]
    with pytest.raises(jeton.ConfigError, match="pattern"):
        jeton.load(original._tokenizer, pattern="gpt2")


def test_loading_an_unsupported_tokenizer_is_refused(original: Any) -> None:
    original._tokenizer.model.dropout = 0.1
    with pytest.raises(jeton.UnsupportedFeatureError, match="dropout"):
        jeton.load(original)


# ── to transformers ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["byte cl100k", "char none", "words suffix"])
def test_to_transformers_gives_equal_ids(kind: str) -> None:
    tok = tokenizer(kind).with_roles(eos="<|endoftext|>").with_chat_template("{{ messages }}")
    fast = to_transformers(tok)
    assert fast.eos_token == "<|endoftext|>"
    assert fast.chat_template == "{{ messages }}"
    assert fast.name_or_path == ""
    for text in TRICKY:
        assert fast(text)["input_ids"] == tok.encode(text, special="all")
    assert jeton.load(fast).encode("the old") == tok.encode("the old")


def test_conversion_to_jeton_and_back_gives_equal_results(small: dict[str, Any]) -> None:
    for tok in small.values():
        again = to_transformers(jeton.load(tok))
        assert again(TEXTS) == tok(TEXTS)
        assert again.model_max_length == tok.model_max_length
        assert again.special_tokens_map == tok.special_tokens_map


def test_a_loss_needs_a_permission() -> None:
    tok = tokenizer("byte words symbol")
    with pytest.raises(jeton.UnsupportedFeatureError, match="end_of_word"):
        to_transformers(tok)


# ── parity ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_parity_of_equal_tokenizers(original: Any, tmp_path: Path) -> None:
    report = parity(original, TEXTS)
    assert report.is_equal
    assert report.num_texts == len(TEXTS)
    assert report.num_ids > 20
    assert json.loads(json.dumps(report.to_json()))["different"] == {"ids": 0, "offsets": 0, "text": 0}
    (tmp_path / "a.txt").write_text("the lower\n")
    assert parity(accelerate(original), tmp_path / "a.txt").is_equal


def test_parity_shows_differences(original: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from jeton.compat.hf_backend import Engine

    decode = Engine.decode_batch
    monkeypatch.setattr(
        Engine, "decode_batch", lambda self, rows, **options: [t + "!" for t in decode(self, rows, **options)]
    )
    report = parity(original, ["the lower", "world"])
    assert report.different == {"ids": 0, "offsets": 0, "text": 4}
    assert not report.is_equal
    assert report.examples[0].jeton.endswith("!")
    assert "text of 'the lower'" in repr(report)


def test_parity_counts_calls_left_to_the_original() -> None:
    from transformers import PreTrainedTokenizerFast

    backend = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "b": 1}, []))
    report = parity(PreTrainedTokenizerFast(tokenizer_object=backend), ["ab", "ac", "b"])
    assert report.is_equal
    assert report.num_texts == 3
    assert report.on_original == {"InvalidTextError": 1}


# ── JetonTokenizer ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def folder(original: Any, tmp_path: Path) -> Path:
    original.chat_template = "{{ messages[0].content }}"
    original.save_pretrained(tmp_path)
    return tmp_path


def is_deferred(tok: Any) -> bool:
    return type(tok.__dict__["_tokenizer"]) is DeferredBackend


def test_calls_need_no_backend(original: Any, folder: Path) -> None:
    tok = JetonTokenizer.from_pretrained(folder)
    assert tok(TEXTS, padding=True, truncation=True) == original(TEXTS, padding=True, truncation=True)
    assert tok("the lower", "world") == original("the lower", "world")
    assert tok.decode([5, 6, 300]) == original.decode([5, 6, 300])
    assert (tok.pad_token_id, len(tok), tok.vocab_size) == (original.pad_token_id, len(original), original.vocab_size)
    assert tok.added_tokens_decoder == original.added_tokens_decoder
    assert tok.all_special_ids == original.all_special_ids
    chat = [{"role": "user", "content": "the lower"}]
    assert tok.apply_chat_template(chat) == original.apply_chat_template(chat)
    assert is_deferred(tok)


def test_access_to_the_backend_keeps_settings(original: Any, folder: Path) -> None:
    tok = JetonTokenizer.from_pretrained(folder)
    for each in (tok, original):
        each(TEXTS, padding=True, truncation=True)
    backend = tok._tokenizer
    assert type(backend) is tokenizers.Tokenizer
    assert (backend.padding, backend.truncation) == (original._tokenizer.padding, original._tokenizer.truncation)
    assert tok.backend_tokenizer is backend
    for each in (tok, original):
        each.add_tokens(["lower"])
    assert tok("the lower") == original("the lower")
    assert tok.get_vocab() == original.get_vocab()
    other = JetonTokenizer.from_pretrained(folder)
    assert other("the world").word_ids() == original("the world").word_ids()
    assert other.tokenize("the world") == original.tokenize("the world")
    assert other._tokenizer.get_vocab_size() == len(other)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda tok: pickle.loads(pickle.dumps(tok))])
def test_copies_stay_deferred_and_equal(original: Any, folder: Path, again: Any) -> None:
    tok = JetonTokenizer.from_pretrained(folder)
    assert is_deferred(again(tok))
    assert again(tok)(TEXTS) == original(TEXTS)
    tok.add_tokens(["lower"])
    original.add_tokens(["lower"])
    assert again(tok)(TEXTS) == original(TEXTS)


def test_registered_classes_load_and_save(original: Any, folder: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"tokenizer_class": "JetonTokenizer"}))
    register()
    register()
    tok = AutoTokenizer.from_pretrained(folder)
    assert type(tok) is JetonTokenizer
    assert tok(TEXTS) == original(TEXTS)
    tok.save_pretrained(tmp_path / "saved")
    assert (
        json.loads((tmp_path / "saved" / "tokenizer_config.json").read_text())["tokenizer_class"]
        == config["tokenizer_class"]
    )
    plain = AutoTokenizer.from_pretrained(tmp_path / "saved")
    assert type(plain) is PreTrainedTokenizerFast
    assert plain(TEXTS) == original(TEXTS)


def test_backends_and_unsupported_files_are_accepted(original: Any, folder: Path) -> None:
    made = JetonTokenizer(tokenizer_object=original._tokenizer, pad_token="<pad>")
    assert made(TEXTS)["input_ids"] == original(TEXTS)["input_ids"]
    file = json.loads((folder / "tokenizer.json").read_text())
    file["model"]["dropout"] = 0.5  # not supported by Jeton
    (folder / "tokenizer.json").write_text(json.dumps(file))
    assert JetonTokenizer.from_pretrained(folder)("the")["input_ids"]


def test_settings_of_a_deferred_backend_equal_the_library(folder: Path) -> None:
    """Settings behave as in the library, with its errors."""
    ours, theirs = (
        DeferredBackend.of_file(str(folder / "tokenizer.json")),
        tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")),
    )
    assert ours is not None
    calls: list[tuple[str, dict[str, Any]]] = [
        ("enable_truncation", {"max_length": 5}),
        ("enable_truncation", {"max_length": 7, "strategy": "only_first", "direction": "left"}),
        ("enable_padding", {"length": 9, "pad_id": 3, "pad_token": "x"}),
        ("no_padding", {}),
        ("enable_padding", {"direction": "left", "pad_to_multiple_of": 8}),
        ("no_truncation", {}),
        ("enable_truncation", {"max_length": 5, "strategy": "nonsense"}),
        ("enable_padding", {"direction": "up"}),
        ("enable_padding", {"pad_id": -1}),
        ("enable_truncation", {"max_length": -1}),
        ("enable_truncation", {"max_length": 5, "stride": 5}),
        ("enable_truncation", {"max_length": 5, "stride": 2}),
    ]
    for name, options in calls:
        found = []
        for backend in (ours, theirs):
            try:
                found.append(getattr(backend, name)(**options))
            except Exception as error:
                found.append(type(error))
        assert found[0] == found[1], (name, options)
        assert (ours.padding, ours.truncation) == (theirs.padding, theirs.truncation), (name, options)
    assert ours.is_real
    assert ours.get_vocab_size() == theirs.get_vocab_size()
    assert ours.token_to_id("<pad>") == theirs.token_to_id("<pad>")


@pytest.mark.parametrize("has_template", [True, False])
def test_a_file_is_read_once(has_template: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hugging Face's library reads it if transformers 5 adds a template, which needs its tokenizer; else Jeton."""
    source = json.loads(jeton.train(["low lower lowest"], 260, pattern="gpt2", progress=False).to_bytes())
    del source["model"]["jeton"]
    template = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
    source["post_processor"] = template if has_template else None
    (tmp_path / "tokenizer.json").write_text(json.dumps(source), encoding="utf-8")
    readers = []
    engine, real = deferred.shared_engine, deferred.DeferredBackend.real
    monkeypatch.setattr(deferred, "shared_engine", lambda text: (readers.append("jeton"), engine(text))[1])
    monkeypatch.setattr(deferred.DeferredBackend, "real", lambda self: (readers.append("both"), real(self))[1])
    tok = JetonTokenizer(tokenizer_file=str(tmp_path / "tokenizer.json"))
    is_deferred = has_template or transformers.__version__ < "5"
    assert readers == (["jeton"] if is_deferred else [])
    assert tok("low lower")["input_ids"] == [257, 259, 114]
