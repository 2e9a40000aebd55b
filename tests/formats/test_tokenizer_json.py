"""`tokenizer.json`, Jeton's native format: it keeps all facts, and refuses by name what HF cannot express."""

from __future__ import annotations

import json
import pickle
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as Peer

import jeton
from jeton import _core
from jeton.formats import tokenizer_json
from jeton.tokens.added import AddedToken
from tests.material import CORPUS, LOSSLESS, REFUSED_BY_HF, TRICKY, byte_tokenizer, tokenizer

from ..timing import fastest


def same(one: jeton.Tokenizer, other: jeton.Tokenizer) -> None:
    assert one == other
    assert one.definition == other.definition
    assert dict(one.vocab) == dict(other.vocab)
    assert one.merges == other.merges
    assert dict(one.special_tokens) == dict(other.special_tokens)
    assert one.roles == other.roles
    for text in (*TRICKY, CORPUS):
        for special in ("none", "all"):
            assert one.encode(text, special=special) == other.encode(text, special=special)


def test_every_kind_of_tokenizer_round_trips(kind: str, tmp_path: Path) -> None:
    tok = tokenizer(kind)
    same(jeton.Tokenizer.from_bytes(tok.to_bytes()), tok)
    assert jeton.Tokenizer.from_bytes(tok.to_bytes()).to_bytes() == tok.to_bytes()
    path = tmp_path / "any.json"
    if kind in REFUSED_BY_HF:
        with pytest.raises(jeton.UnsupportedFeatureError) as caught:
            tok.save(path)
        assert caught.value.feature == "end_of_word"
        assert not path.exists()
        with pytest.warns(jeton.errors.LossyConversionWarning, match="end_of_word"):
            tok.save(path, accept_loss=["end_of_word"])
        assert json.loads(path.read_text("utf-8"))["model"]["jeton"]["losses"] == ["end_of_word"]
    else:
        tok.save(path)
        assert path.read_bytes() == tok.to_bytes()
    same(jeton.load(path), tok)


@pytest.mark.parametrize("kind", LOSSLESS)
def test_a_file_without_jetons_facts_loads_as_an_equal_tokenizer(kind: str) -> None:
    tok = tokenizer(kind)
    file = json.loads(tok.to_bytes())
    del file["model"]["jeton"]
    back = jeton.Tokenizer.from_bytes(json.dumps(file).encode())
    assert back.training is None
    for text in (*TRICKY, CORPUS):
        assert back.encode(text, special="all") == tok.encode(text, special="all")
        assert back.decode(back.encode(text)) == text
    if kind in ("byte none", "byte gpt2", "byte cl100k", "byte o200k", "byte qwen2"):
        assert back == tok, "the pattern is recognized by its regex"


@pytest.mark.parametrize("kind", ["char none", "words suffix"])
def test_character_and_suffix_models_load_without_jetons_facts(kind: str) -> None:
    tok = tokenizer(kind)
    file = json.loads(tok.to_bytes())
    del file["model"]["jeton"]
    back = jeton.Tokenizer.from_bytes(json.dumps(file).encode())
    assert back.encode(CORPUS) == tok.encode(CORPUS)
    assert back.fingerprint == tok.fingerprint


def test_added_tokens_and_holes_survive_a_file(tmp_path: Path) -> None:
    tok = byte_tokenizer((97, 98, 300), pattern="gpt2", special_tokens={"<|end|>": 310, "\n\n": 305})
    tok = tok.add_tokens(["tab", "今天"], special=False)
    tok.save(tmp_path / "t.json")
    back = jeton.load(tmp_path / "t.json")
    same(back, tok)
    assert back.encode("tab 今天ab") == [311, 32, 312, 300]
    file = json.loads((tmp_path / "t.json").read_text("utf-8"))
    assert {token["content"]: token["special"] for token in file["added_tokens"]} == {
        "\n\n": True, "<|end|>": True, "tab": False, "今天": False,
    }  # fmt: skip
    assert file["model"]["vocab"]["<|end|>"] == 310, "otherwise HF would renumber it, because there are holes"


def saved(tok: jeton.Tokenizer) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(tok.to_bytes())
    return found


def test_special_tokens_after_the_entries_stay_outside() -> None:
    """Special tokens outside of a file's vocabulary stay outside: its size is `vocab_size` in transformers."""
    tok = jeton.train(["the old keeper"], 260, special_tokens=["<a>", "<b>", "<c>"], progress=False)
    file = saved(tok)
    listed = file["model"]["vocab"]
    assert len(listed) == tok.vocab_size == 260
    for name in ("<b>", "<c>"):
        del listed[name]
    for own in (file["model"]["jeton"], None):
        if own is None:
            del file["model"]["jeton"]
        back = jeton.Tokenizer.from_bytes(json.dumps(file).encode())
        assert back == tok
        assert back.vocab_size == len(back) == 260
        more = back.add_tokens(["<d>"]).add_tokens(["e"], special=False)
        for one in (back, more, pickle.loads(pickle.dumps(more))):
            assert saved(one)["model"]["vocab"] == listed
            peer = Peer.from_str(one.to_bytes().decode())
            assert (peer.get_vocab_size(False), peer.get_vocab_size()) == (258, one.vocab_size)
            text = "the <a><b>older <c><d> e"
            assert peer.encode(text).ids == one.encode(text, special="all")
            assert saved(jeton.Tokenizer.from_bytes(one.to_bytes())) == saved(one)


def test_a_model_keeps_the_special_tokens_that_it_needs() -> None:
    """The unknown token and results of merges are entries, wherever the entries of the original file ended."""
    tok = jeton.train(["the older keeper"], 25, level="char", unk_token="<unk>", pattern="none", progress=False)
    *_, (_, _, last) = tok.merges
    tok = tok.add_tokens([tok.vocab[last].decode(), "<x>"])._with_facts(hf_vocab_size=3)
    assert last in tok.special_tokens.values()
    assert tok.token_to_id("<unk>") > last or tok.token_to_id("<unk>") == 0
    file = saved(tok)
    assert "<x>" not in file["model"]["vocab"]
    assert {tok.id_to_token(last), "<unk>"} <= file["model"]["vocab"].keys()
    peer = Peer.from_str(tok.to_bytes().decode())
    assert peer.encode("the <x>Ω").ids == tok.encode("the <x>Ω", special="all")
    assert jeton.Tokenizer.from_bytes(tok.to_bytes()) == tok


@pytest.mark.parametrize(("content", "is_exposed"), [("x", True), ("xy", False)])
def test_an_added_character_before_the_entries_is_a_named_loss(content: str, is_exposed: bool, tmp_path: Path) -> None:
    """Such a token is in HF's vocabulary, whose model makes a character of text by itself, but two only by a merge."""
    tok = jeton.train(["cdcd"], 3, level="char", pattern="none", progress=False).add_tokens([content], special=False)
    tok = jeton.renumber(tok, [1, 2, 3, 0]).tokenizer
    if is_exposed:
        with pytest.raises(jeton.UnsupportedFeatureError) as caught:
            tok.save(tmp_path / "a.json")
        assert caught.value.feature == "added_tokens"
    else:
        tok.save(tmp_path / "a.json")
        assert Peer.from_file(str(tmp_path / "a.json")).encode("cxyd").ids == tok.encode("cxyd")


@pytest.mark.parametrize("special", ["a", "Ġ", "ab"])
def test_a_special_token_spelled_like_an_entry_is_a_named_loss(special: str, tmp_path: Path) -> None:
    """In HF's format a string has one id, so the loss must be accepted; Jeton's own bytes keep both."""
    tok = byte_tokenizer((97, 98, 300), pattern="gpt2", special_tokens={special: 310})
    with pytest.raises(jeton.UnsupportedFeatureError) as caught:
        tok.save(tmp_path / "a.json")
    assert caught.value.feature == "special_tokens"
    with pytest.warns(jeton.errors.LossyConversionWarning):
        tok.save(tmp_path / "a.json", accept_loss=["special_tokens"])
    for back in (jeton.Tokenizer.from_bytes(tok.to_bytes()), jeton.load(tmp_path / "a.json")):
        same(back, tok)
        assert back.encode("ab a", special="all") == tok.encode("ab a", special="all")
        assert 310 not in back.encode("ab a")


@pytest.mark.parametrize("special", ["今", " ", "\n", "b a"])
def test_a_special_token_with_the_bytes_of_entries_round_trips(special: str) -> None:
    """The byte alphabet spells entries differently, so the two do not clash."""
    tok = byte_tokenizer((97, 98, 300), pattern="gpt2", special_tokens={special: 310})
    same(jeton.Tokenizer.from_bytes(tok.to_bytes()), tok)


@pytest.mark.parametrize("style", ["symbol", "suffix"])
def test_letters_that_spell_the_end_of_word_mark_survive_a_file(style: Any) -> None:
    """The letters < / w > merged to one token spell the end-of-word mark; the file keeps the two apart."""
    counts = {"a</w>b": 9, "b</w>": 5, "ab": 3}
    tok = jeton.train(counts, 15, end_of_word="</w>", end_of_word_style=style, progress=False)
    back = jeton.Tokenizer.from_bytes(tok.to_bytes())
    assert back == tok
    assert dict(back.vocab) == dict(tok.vocab)
    assert back.merges == tok.merges
    for text in ("a</w>b", "ab b</w>", "ab ab"):
        assert back.encode(text) == tok.encode(text)
        assert back.decode(back.encode(text)) == text


@pytest.mark.parametrize(("escapes", "prefix"), [(True, "▁"), (False, " ")])
def test_the_dummy_prefix_of_sentencepiece_is_a_space_as_in_the_text(escapes: bool, prefix: str) -> None:
    normalizer = {
        "type": "SentencePiece",
        "precompiled_charsmap": None,
        "add_dummy_prefix": True,
        "remove_extra_whitespaces": False,
        "escape_whitespaces": escapes,
        "treat_whitespace_as_suffix": False,
    }
    pieces = [["<unk>", 0.0], ["a", -1.0], [" ", -1.0], ["▁", -1.0]]
    tok = jeton.Tokenizer.from_bytes(json.dumps({"model": {"type": "Unigram", "vocab": pieces, "unk_id": 0}}).encode())
    tok = jeton.Tokenizer(replace(tok.definition, normalizer=(normalizer,)), tok._core.vocabulary())
    peer = Peer.from_str(tok.to_bytes().decode())
    assert peer.encode("a a").tokens == [prefix, "a", prefix, "a"]
    assert peer.encode("a a").ids == tok.encode("a a")


def test_blank_lines_before_the_json_are_skipped(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    """A line end, a brace and a line end could also begin a SentencePiece model."""
    for blank in (b"\n", b"\r\n", b" \n\n"):
        (tmp_path / "x").write_bytes(blank + b"{\n" + tok.to_bytes()[1:])
        assert jeton.load(tmp_path / "x") == tok


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device")
def test_an_endless_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jeton.formats.MAX_FILE_BYTES", 1 << 16)
    with pytest.raises(jeton.FormatError, match="limit 65536"):
        jeton.load("/dev/zero")


def test_the_format_is_detected_by_content(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    path = tmp_path / "tokenizer.tiktoken"
    tok.save(path, format="tokenizer.json")
    assert jeton.load(path) == tok
    path.write_bytes(b"\n  " + path.read_bytes())
    assert jeton.load(path) == tok


@pytest.mark.parametrize(("name", "format"), [("a.bin", None), ("a.nope", None), ("a.json", "nope")])
def test_an_unknown_format_is_refused(tmp_path: Path, tok: jeton.Tokenizer, name: str, format: str | None) -> None:
    with pytest.raises(jeton.JetonError, match=r"suffix|formats"):
        tok.save(tmp_path / name, format=format)
    assert list(tmp_path.iterdir()) == []


def test_wrong_options_are_refused(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    path = tmp_path / "t.json"
    tok.save(path)
    wrong: list[dict[str, Any]] = [{"pattern": "gpt2"}, {"special_tokens": {}}, {"layout": "fairseq"}]
    for options in wrong:
        with pytest.raises(jeton.ConfigError):
            jeton.load(path, **options)
    with pytest.raises(jeton.ConfigError):
        tok.save(path, accept_loss="pattern")
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        jeton.load("gpt1000")
    with pytest.raises(jeton.FormatError):
        jeton.Tokenizer.from_bytes(b"")


def test_a_pattern_that_oniguruma_cannot_say_is_refused(tmp_path: Path) -> None:
    tok = byte_tokenizer((97, 98, 256), pattern=r"\z|a")
    path = tmp_path / "t.json"
    with pytest.raises(jeton.UnsupportedFeatureError) as caught:
        tok.save(path)
    assert caught.value.feature == "pattern"
    assert not path.exists()
    with pytest.warns(jeton.errors.LossyConversionWarning, match="pattern"):
        tok.save(path, accept_loss=["pattern"])
    same(jeton.load(path), tok)


# ── what is not supported is refused by name ────────────────────────────────────────────────────────────────────────


def edited(**changes: Any) -> bytes:
    """The file of a small tokenizer without Jeton's facts, and with changed components: ``model__dropout=0.1``."""
    file = json.loads(tokenizer("byte gpt2").to_bytes())
    del file["model"]["jeton"]
    for path, value in changes.items():
        *folders, name = path.split("__")
        place = file
        for folder in folders:
            place = place[int(folder) if folder.isdigit() else folder]
        place[name] = value
    return json.dumps(file).encode()


@pytest.mark.parametrize(
    ("changes", "feature", "place"),
    [
        ({"model__type": "Nope"}, "Nope", "$.model.type"),
        ({"model__dropout": 0.1}, "dropout", "$.model.dropout"),
        ({"normalizer": {"type": "Nope"}}, "Nope", "$.normalizer"),
        ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "X"}]}}, "X", "$.normalizer.normalizers[0]"),
        ({"pre_tokenizer": {"type": "Nope"}}, "Nope", "$.pre_tokenizer"),
        ({"post_processor": {"type": "Nope"}}, "Nope", "$.post_processor"),
        ({"decoder": {"type": "Nope"}}, "Nope", "$.decoder"),
        # refused by the core
        ({"normalizer": {"type": "Prepend", "prepend": ""}}, "Prepend of the empty text", "$.normalizer"),
        (
            {"normalizer": {"type": "Replace", "pattern": {"String": ""}, "content": "x"}},
            "Replace of the empty text",
            "$.normalizer",
        ),
        (
            {"decoder": {"type": "Replace", "pattern": {"Regex": "a*"}, "content": "b"}},
            "a match of the empty text",
            "$.decoder",
        ),
    ],
    ids=str,
)
def test_an_unsupported_feature_is_named(changes: dict[str, Any], feature: str, place: str) -> None:
    with pytest.raises(jeton.UnsupportedFeatureError) as caught:
        jeton.Tokenizer.from_bytes(edited(**changes))
    assert (caught.value.feature, caught.value.place) == (feature, place)
    assert feature in str(caught.value)
    assert caught.value.format == "tokenizer.json"


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"normalizer": {"type": "Sequence", "normalizers": 3}}, "$.normalizer.normalizers"),
        ({"normalizer": "NFC"}, "$.normalizer"),
        ({"pre_tokenizer": {"type": "Metaspace", "prepend_scheme": 3}}, "$.pre_tokenizer"),
        ({"post_processor": {"type": "TemplateProcessing"}}, "$.post_processor"),
        ({"post_processor": {"type": "BertProcessing", "cls": ["a", 9999], "sep": ["a", 0]}}, "$.post_processor"),
        ({"decoder": {"type": "WordPiece", "prefix": 4}}, "$.decoder"),
        ({"model__fuse_unk": 1}, "$.model.fuse_unk"),
        ({"model__unk_token": 1}, "$.model.unk_token"),
        ({"model__continuing_subword_prefix": 1}, "$.model.continuing_subword_prefix"),
    ],
    ids=str,
)
def test_a_component_with_wrong_fields_is_named_by_its_path(changes: dict[str, Any], place: str) -> None:
    with pytest.raises(jeton.FormatError) as caught:
        jeton.Tokenizer.from_bytes(edited(**changes))
    assert (caught.value.place or "").startswith(place)
    assert not isinstance(caught.value, jeton.UnsupportedFeatureError)


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
DIGITS = {"type": "Digits", "individual_digits": True}
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<|im_start|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<|im_start|>": {"id": "<|im_start|>", "ids": [3], "tokens": ["<|im_start|>"]}},
}


@pytest.mark.parametrize(
    "changes",
    [
        {"normalizer": {"type": "NFC"}},
        {"normalizer": {"type": "Sequence", "normalizers": []}},
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]}},
        {"normalizer": {"type": "Prepend", "prepend": "x "}},
        {"pre_tokenizer": {**BYTES, "add_prefix_space": True}},
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [DIGITS, BYTES]}},
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [BYTES, DIGITS]}},
        {"post_processor": {**BYTES, "trim_offsets": True}},
        {"post_processor": {"type": "Sequence", "processors": [BYTES, TEMPLATE]}},
        {
            "decoder": {
                "type": "Sequence",
                "decoders": [BYTES, {"type": "Strip", "content": " ", "start": 1, "stop": 0}],
            }
        },
        {"added_tokens__0__lstrip": True, "added_tokens__1__rstrip": True},
        {"added_tokens__1__single_word": True},
        {"added_tokens__0__normalized": True, "normalizer": {"type": "Lowercase"}},
        {"model__ignore_merges": True},
    ],
    ids=str,
)
def test_a_file_of_hf_gives_its_ids(changes: dict[str, Any], tmp_path: Path) -> None:
    """Every combination gives the ids, offsets and text of `tokenizers`, also after saving and loading."""
    file = edited(**changes)
    peer = Peer.from_str(file.decode())
    tok = jeton.Tokenizer.from_bytes(file)
    path = tmp_path / "tokenizer.json"
    tok.save(path)
    again, peer_again = jeton.load(path), Peer.from_file(str(path))
    assert again == tok
    first, second = (token["content"] for token in json.loads(file)["added_tokens"][:2])
    texts = [
        "the old man 12 345",
        f"the{first} old {second}x {second} ",
        f" {first.upper()} É é ½",
        "",
        "  two\n\nlines ",
    ]
    for text in texts:
        for add in (False, True):
            for theirs in (peer.encode(text, add_special_tokens=add), peer_again.encode(text, add_special_tokens=add)):
                ours = tok.tokenize(text, special="all", add_special_tokens=add)
                assert ours.ids == theirs.ids == again.encode(text, special="all", add_special_tokens=add)
                assert ours.hf_offsets == theirs.offsets
                assert ours.type_ids == theirs.type_ids
                assert ours.special_tokens_mask == [bool(flag) for flag in theirs.special_tokens_mask]
                assert tok.decode(ours.ids) == peer.decode(ours.ids, skip_special_tokens=False)
                assert tok.count(text, special="all", add_special_tokens=add) == len(theirs.ids)
        pair = peer.encode(text, "old", add_special_tokens=True)
        ours = tok.tokenize(text, "old", special="all", add_special_tokens=True)
        assert (ours.ids, ours.type_ids) == (pair.ids, pair.type_ids)
        assert tok.encode(text, "old", special="all", add_special_tokens=True) == pair.ids


def test_the_files_of_hf_load_with_equal_parts() -> None:
    assert jeton.Tokenizer.from_bytes(edited()).encode("the old") == tokenizer("byte gpt2").encode("the old")
    old = json.loads(edited())
    old["model"]["merges"] = [" ".join(merge) for merge in old["model"]["merges"]]
    assert jeton.Tokenizer.from_bytes(json.dumps(old).encode()) == jeton.Tokenizer.from_bytes(edited())


@pytest.mark.parametrize(
    "name", ["gpt-neox-20b", "roberta-base", "whisper-tiny", "falcon", "phi-3-mini", "t5-small", "mbart-en-fairseq"]
)
def test_real_files_round_trip(data: Path, name: str, tmp_path: Path) -> None:
    tok = jeton.load(data / "vocabs" / f"{name}.tokenizer.json")
    tok.save(tmp_path / "t.json")
    assert jeton.load(tmp_path / "t.json") == tok
    peer = Peer.from_file(str(tmp_path / "t.json"))
    for text in ("Hello, world 12", " ½ the  old", "今天的天气", "<s> a<mask> </s>"):
        assert tok.encode(text, special="all", add_special_tokens=True) == peer.encode(text).ids


def test_special_tokens_may_end_with_the_end_of_word_mark() -> None:
    tokenizer_json._check_marks([AddedToken("a</w>", special=True), AddedToken("a", special=False)], "</w>")
    with pytest.raises(jeton.UnsupportedFeatureError, match="end-of-word suffix"):
        tokenizer_json._check_marks([AddedToken("a</w>", special=False)], "</w>")


def test_a_hostile_real_file_is_refused_quickly(data: Path) -> None:
    began = time.perf_counter()
    with pytest.raises(jeton.FormatError):
        jeton.load(data / "vocabs" / "hostile-llama2-whitespace-merges.tokenizer.json")
    assert time.perf_counter() - began < 10


@pytest.mark.alone
def test_loading_is_quick(data: Path, tmp_path: Path) -> None:
    """The budget is 120 ms of processor time for o200k; the limit is ten times that, as test machines may be slow."""
    tok = jeton.load(data / "vocabs" / "o200k_base.tiktoken")
    tok.save(tmp_path / "t.json")
    for path in (data / "vocabs" / "o200k_base.tiktoken", tmp_path / "t.json"):
        assert fastest(partial(jeton.load, path), 1.2) < 1.2


def _byte_level_file(**changes: Any) -> dict[str, Any]:
    """A byte-level file like Cohere's: entries outside of the byte alphabet, and keys of other components."""
    letters = sorted(_core.spell_bytes(bytes([byte])) for byte in range(256))
    vocab = {"<PAD>": 0, **{letter: id for id, letter in enumerate(letters, start=1)}}
    merges = [["t", "h"], ["th", "e"], ["\u0120", "the"], ["\u203c", "a"], ["e", "\u203c"], ["\u203c", "\u0120"]]
    for token in ["\u203c", *("".join(merge) for merge in merges), "<END>"]:
        vocab[token] = len(vocab)
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    end = {"SpecialToken": {"id": "<END>", "type_id": 0}}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": vocab[token], "content": token, **flags, "special": True} for token in ("<PAD>", "<END>")
        ],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Digits", "individual_digits": True},
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            ],
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}}, end],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}, end],
            "special_tokens": {"<END>": {"id": "<END>", "ids": [vocab["<END>"]], "tokens": ["<END>"]}},
            **EXTRA,
        },
        "decoder": {"type": "ByteLevel", **EXTRA},
        "model": {"type": "BPE", "unk_token": None, "vocab": vocab, "merges": merges},
    } | changes


EXTRA = {"add_prefix_space": True, "trim_offsets": False, "use_regex": True, "own": [1]}
SEQUENCE = {
    "type": "Sequence",
    "own": 1,
    "decoders": [{"type": "ByteLevel", **EXTRA}, {"type": "Strip", "content": "x", "start": 0, "stop": 0, "own": 1}],
}


@pytest.mark.parametrize("changes", [{}, {"decoder": None}, {"decoder": SEQUENCE}], ids=["bytes", "joined", "parts"])
def test_entries_outside_of_the_byte_alphabet_load(changes: dict[str, Any], tmp_path: Path) -> None:
    spelled = json.dumps(_byte_level_file(**changes))
    theirs = Peer.from_str(spelled)
    tok = jeton.Tokenizer.from_bytes(spelled.encode())
    assert len(tok) == theirs.get_vocab_size()
    for token, id in theirs.get_vocab().items():
        assert (tok.token_to_id(token), tok.id_to_token(id)) == (id, token)
    texts = ["the \u203c the\u203ca e\u203c \u203c\u0120", "\u203c", "12 caf\u00e9<END>"]
    for text in texts:
        expected = theirs.encode(text)
        encoded = tok.tokenize(text, special="all", add_special_tokens=True)
        assert (encoded.ids, encoded.hf_offsets) == (expected.ids, expected.offsets)
    ids = [
        *tok.encode(texts[0]),
        *(tok.token_to_id(token) for token in ("\u203c", "\u203ca", "e\u203c", "\u203c\u0120")),
    ]
    for some in [ids, *([id] for id in range(tok.vocab_size))]:
        assert tok.decode(some) == theirs.decode(some, skip_special_tokens=False)
    tok.save(tmp_path / "again.json")
    again = jeton.load(tmp_path / "again.json")
    assert again == tok
    assert Peer.from_file(str(tmp_path / "again.json")).get_vocab() == theirs.get_vocab()
    assert (
        json.loads((tmp_path / "again.json").read_text("utf-8"))["model"]["merges"]
        == _byte_level_file()["model"]["merges"]
    )
    bare = jeton.Tokenizer.from_bytes(json.dumps(_bare(tmp_path / "again.json")).encode())
    assert bare.fingerprint == tok.fingerprint


def _bare(path: Path) -> dict[str, Any]:
    """A file without Jeton's own facts."""
    file: dict[str, Any] = json.loads(path.read_text("utf-8"))
    del file["model"]["jeton"]
    return file


def test_entries_that_no_byte_spells_may_be_made_behind_byte_level() -> None:
    pre = [{"type": "ByteLevel", "add_prefix_space": False}, {"type": "Metaspace", "replacement": "\u203c"}]
    file = _byte_level_file(pre_tokenizer={"type": "Sequence", "pretokenizers": pre})
    with pytest.raises(jeton.UnsupportedFeatureError, match="Metaspace after ByteLevel"):
        jeton.Tokenizer.from_bytes(json.dumps(file).encode())


KEPT: dict[str, Any] = {
    "truncation": {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0},
    "padding": {
        "strategy": {"Fixed": 9},
        "direction": "Left",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "<PAD>",
    },
}


@pytest.mark.parametrize("names", [["truncation"], ["padding"], ["truncation", "padding"]])
def test_truncation_and_padding_are_kept_and_not_applied(names: list[str], tmp_path: Path) -> None:
    facts = {name: KEPT[name] for name in names}
    tok = jeton.Tokenizer.from_bytes(json.dumps(_byte_level_file(**facts)).encode())
    plain = jeton.Tokenizer.from_bytes(json.dumps(_byte_level_file()).encode())
    assert tok.encode("the the the the") == plain.encode("the the the the")
    assert tok.fingerprint == plain.fingerprint, "they change no id"
    assert {name: getattr(tok.definition, name) for name in KEPT} == {"truncation": None, "padding": None, **facts}
    tok.save(tmp_path / "a.json")
    saved = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert {name: saved[name] for name in KEPT} == {"truncation": None, "padding": None, **facts}
    theirs = Peer.from_file(str(tmp_path / "a.json"))
    assert (theirs.truncation is not None, theirs.padding is not None) == ("truncation" in names, "padding" in names)
    for copy in (jeton.load(tmp_path / "a.json"), pickle.loads(pickle.dumps(tok)), tok.add_tokens(["<x>"])):
        assert (copy.definition.truncation, copy.definition.padding) == (
            tok.definition.truncation,
            tok.definition.padding,
        )
    with pytest.raises(jeton.FormatError, match="truncation is not an object"):
        jeton.Tokenizer.from_bytes(json.dumps(_byte_level_file(truncation=[1])).encode())


def spelled(vocab: Any, merges: Any = None, **model: Any) -> Any:
    given = {"vocab": vocab, **({} if merges is None else {"merges": merges}), **model}
    return _core.SpelledVocabulary.from_tokenizer_json(json.dumps({"model": given}).encode())[1]


@pytest.mark.parametrize(
    ("model", "vocab", "merges", "expected"),
    [
        ({"type": "X"}, {"a": 0}, [], "X"),
        ({}, {"a": 0}, [], "BPE"),
        ({}, [["a", 0.0]], None, "Unigram"),
        ({"continuing_subword_prefix": "##"}, {"a": 0}, None, "WordPiece"),
        ({"continuing_subword_prefix": None}, {"a": 0}, None, "WordPiece"),
        ({}, {"a": 0}, None, "WordLevel"),
    ],
)
def test_the_type_of_older_models_is_inferred(model: Any, vocab: Any, merges: Any, expected: str) -> None:
    assert tokenizer_json._model_type(model, spelled(vocab, merges)) == expected
    for other in (3, None, True):
        with pytest.raises(jeton.FormatError, match=f"the type of the model is {other}, not a string"):
            tokenizer_json._model_type({**model, "type": other}, spelled(vocab, merges))


@pytest.mark.parametrize(
    ("id", "expected"), [(None, None), (0, "a"), (1, "b"), (2, "error"), (-1, "error"), (True, "error"), ("0", "error")]
)
def test_the_unknown_piece_by_id(id: Any, expected: str | None) -> None:
    pieces = spelled([["a", 0.0], ["b", -1.0]])
    if expected == "error":
        with pytest.raises(jeton.FormatError, match="unk_id"):
            tokenizer_json._unigram_unk({"unk_id": id}, pieces)
        return
    assert tokenizer_json._unigram_unk({"unk_id": id}, pieces) == expected


def test_fields_of_a_model_by_type() -> None:
    assert [tokenizer_json._flag({"x": value}, "x") for value in (True, False, None)] == [True, False, False]
    assert [tokenizer_json._string({"x": value}, "x") for value in ("", "a", None)] == ["", "a", None]
    for read, value in ((tokenizer_json._flag, 1), (tokenizer_json._flag, "x"), (tokenizer_json._string, 1)):
        with pytest.raises(jeton.FormatError) as caught:
            read({"x": value}, "x")
        assert caught.value.place == "$.model.x"


@pytest.mark.parametrize(
    ("tokens", "own", "expected"),
    [
        ([], {}, ([], set())),
        (None, {}, ([], set())),
        ([{"id": 0, "content": "a", "special": True}], {}, ([(0, AddedToken("a"))], {0})),
        ([{"id": 2, "content": "x"}], {}, ([(2, AddedToken("x", special=False))], set())),
        (
            [{"id": 2, "content": "x", "lstrip": True}, {"id": 3, "content": "y"}],
            {},
            ([(2, AddedToken("x", special=False, lstrip=True)), (3, AddedToken("y", special=False))], set()),
        ),
        ([{"id": 5, "content": "x"}], {"definition": {}}, ([(5, AddedToken("x", special=False))], set())),
        ([{"id": 5, "content": "x"}], {"entries": [5]}, ([(5, AddedToken("x", special=False))], {5})),
        ([{"id": 0, "content": "a"}], {"entries": [1]}, ([(0, AddedToken("a", special=False))], set())),
        (
            [{"id": 5, "content": "x"}],
            {"ascii_space": [5]},
            ([(5, AddedToken("x", special=False, ascii_space=True))], set()),
        ),
        ([{"id": 5, "content": "a"}], {"losses": ["special_tokens"]}, ([(5, AddedToken("a", special=False))], set())),
        ([{"id": 5, "content": "a"}], {"losses": ["x"]}, "$.added_tokens[0].id"),
        ([{"id": 1, "content": "a"}], {}, "$.added_tokens[0].id"),
        ([{"id": 1, "content": "x"}], {}, "$.added_tokens[0].id"),
        ([{"id": 3, "content": "x"}], {}, "$.added_tokens[0].id"),
        ([{"id": 2, "content": "x"}, {"id": 2, "content": "y"}], {}, "$.added_tokens[1].id"),
        ([{"id": 2, "content": "x"}, {"id": 4, "content": "y"}], {}, "$.added_tokens[1].id"),
        ([{"id": 2, "content": "x"}, {"id": 3, "content": "x"}], {}, "$.added_tokens[1]"),
        ({}, {}, "valid"),
        ({"a": 1}, {}, "$.added_tokens"),
        (["x"], {}, "$.added_tokens[0]"),
        ([{"id": 2}], {}, "$.added_tokens[0]"),
        ([{"content": "x"}], {}, "$.added_tokens[0]"),
        ([{"id": 2, "content": ""}], {}, "$.added_tokens[0]"),
        ([{"id": 2, "content": 3}], {}, "$.added_tokens[0]"),
        ([{"id": True, "content": "x"}], {}, "$.added_tokens[0]"),
        ([{"id": "2", "content": "x"}], {}, "$.added_tokens[0]"),
        ([{"id": -1, "content": "x"}], {}, "$.added_tokens[0]"),
        ([{"id": 1 << 28, "content": "x"}], {"definition": {}}, "$.added_tokens[0]"),
        ([], {"entries": {}}, "$.model.jeton.entries"),
        ([], {"ascii_space": ["1"]}, "$.model.jeton.ascii_space"),
    ],
)
def test_added_tokens_of_a_file(tokens: Any, own: Any, expected: Any) -> None:
    vocab = spelled({"a": 0, "b": 1}, [])
    if expected == "valid":
        expected = ([], set())
    if not isinstance(expected, str):
        assert tokenizer_json._added_tokens({"added_tokens": tokens}, vocab, own) == expected
        return
    with pytest.raises((jeton.FormatError, jeton.UnsupportedFeatureError)) as caught:
        tokenizer_json._added_tokens({"added_tokens": tokens}, vocab, own)
    assert caught.value.place == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"end_of_word": 1},
        {"roles": {"bos": 1}},
        {"roles": {"bos": None}},
        {"roles": []},
        {"definition": None},
        {"definition": 3},
        {"config": "["},
        {"config": "[]"},
        {"config": 3},
        {"config": "[" * 100_000},
        {"training": {"x": 1}},
        {"training": []},
    ],
)
def test_damaged_facts_of_jeton(changes: dict[str, Any]) -> None:
    facts = json.loads(tokenizer("byte gpt2").to_bytes())["model"]["jeton"]
    tokenizer_json._own_definition(facts)
    with pytest.raises(jeton.FormatError) as caught:
        tokenizer_json._own_definition({**facts, **changes})
    assert (caught.value.place or "").startswith("$.model.jeton")
    without = {name: value for name, value in facts.items() if name != "definition"}
    with pytest.raises(jeton.FormatError):
        tokenizer_json._own_definition(without)


def test_facts_of_jeton_that_are_read() -> None:
    facts = json.loads(tokenizer("byte gpt2").to_bytes())["model"]["jeton"]
    more = {"roles": {"bos": "<s>"}, "chat_template": "x", "config": '{"a": 12345678901234567890}', "reads_added": True}
    definition, mark = tokenizer_json._own_definition({**facts, **more, "end_of_word": "</w>"})
    assert (mark, definition.roles, definition.chat_template) == ("</w>", {"bos": "<s>"}, "x")
    assert (definition.config, definition.reads_added) == ({"a": 12345678901234567890}, True)
    plain, mark = tokenizer_json._own_definition({"definition": facts["definition"], "reads_added": 1})
    assert (mark, plain.roles, plain.config, plain.reads_added, plain.training) == ("", {}, {}, False, None)


def test_a_file_of_two_meanings_is_refused() -> None:
    file = json.loads(tokenizer("byte gpt2").to_bytes())
    for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        other = {
            **file,
            name: {"type": "Lowercase"} if name == "normalizer" else None if file[name] else {"type": "Fuse"},
        }
        if other == file:
            continue
        with pytest.raises(jeton.FormatError, match=r"jeton"):
            tokenizer_json.from_bytes(json.dumps(other).encode())
        lossy = json.loads(json.dumps(other))
        lossy["model"]["jeton"]["losses"] = ["pattern"]  # the pipeline of a lossy file is not compared
        tokenizer_json.from_bytes(json.dumps(lossy).encode())
    for name in ("truncation", "padding"):
        with pytest.raises(jeton.FormatError, match=name):
            tokenizer_json.from_bytes(json.dumps({**file, name: 3}).encode())


@pytest.mark.parametrize(
    ("added", "size"),
    [
        ([], None),
        ([{"id": 3, "content": "<s>", "special": True}], 3),
        ([{"id": 3, "content": "<s>", "special": False}], None),
        ([{"id": 0, "content": "a", "special": True}], None),
        ([{"id": 2, "content": "ab", "special": True}, {"id": 3, "content": "x"}], None),
    ],
)
def test_special_tokens_outside_of_the_models_list(added: list[dict[str, Any]], size: int | None) -> None:
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
    tok = tokenizer_json.from_bytes(json.dumps({"added_tokens": added, "model": model}).encode())
    assert tok.definition.hf_vocab_size == size


def test_added_tokens_of_ascii_space_round_trip() -> None:
    token = AddedToken("<x>", lstrip=True, ascii_space=True)
    tok = byte_tokenizer((97, 98, 256)).add_tokens([token, "<y>"])
    again = tokenizer_json.from_bytes(tok.to_bytes())
    assert again.added_tokens == tok.added_tokens
    assert [one.ascii_space for one in again.added_tokens.values()] == [True, False]
