"""SentencePiece's models, and id layouts on top of them."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sentencepiece as spm

import jeton
from jeton.definition import Chars, Pieces, Unigram, Words
from jeton.formats import detection, layout, sentencepiece
from tests.material import CORPUS, TRICKY, tokenizer

MODELS = {
    "unigram": {},
    "unigram bytes": {"byte_fallback": True, "vocab_size": 400},
    "bpe": {"model_type": "bpe"},
    "bpe bytes": {"model_type": "bpe", "byte_fallback": True, "vocab_size": 400},
    "bpe bare": {
        "model_type": "bpe",
        "normalization_rule_name": "identity",
        "add_dummy_prefix": False,
        "remove_extra_whitespaces": False,
    },
    "bpe suffix": {"model_type": "bpe", "treat_whitespace_as_suffix": True},
    "char": {"model_type": "char", "vocab_size": 100},
    "word": {"model_type": "word", "vocab_size": 40},
    "word bytes": {"model_type": "word", "byte_fallback": True, "vocab_size": 300},
    "char bytes": {"model_type": "char", "byte_fallback": True, "vocab_size": 300},
    "symbols": {"user_defined_symbols": ["<x>", "的天"], "control_symbols": ["<ctl>"], "pad_id": 3, "unk_surface": "?"},
}
TEXTS = [text for text in (*TRICKY, CORPUS, "<x> the<x>old 的天气 <ctl>") if "\0" not in text]


@cache
def model(name: str) -> bytes:
    """A model that SentencePiece trains on a few lines."""
    options: dict[str, Any] = {"vocab_size": 150, "hard_vocab_limit": False, **MODELS[name]}
    out = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS.splitlines()), model_writer=out, minloglevel=2, **options
    )
    return out.getvalue()


def processor(data: bytes) -> spm.SentencePieceProcessor:
    return spm.SentencePieceProcessor(model_proto=data)


@pytest.mark.parametrize("name", MODELS)
def test_entries_are_the_pieces(name: str) -> None:
    data = model(name)
    assert detection.is_sentencepiece(data)
    tok, sp = sentencepiece.read(data, source=name), processor(data)
    assert tok.vocab_size == len(tok) == sp.get_piece_size()
    assert [tok.id_to_token(id) for id in range(tok.vocab_size)] == [sp.id_to_piece(id) for id in range(tok.vocab_size)]
    assert tok.special_tokens == {
        sp.id_to_piece(id): id for id in range(tok.vocab_size) if sp.is_control(id) or sp.is_unknown(id)
    }
    roles = {"bos": sp.bos_id(), "eos": sp.eos_id(), "pad": sp.pad_id(), "unk": sp.unk_id()}
    assert {role: tok.special_tokens[token] for role, token in tok.roles.items()} == {
        role: id for role, id in roles.items() if id >= 0
    }


@pytest.mark.parametrize("name", MODELS)
def test_ids_and_text_equal_sentencepieces(name: str) -> None:
    data = model(name)
    tok, sp = sentencepiece.read(data, source=name), processor(data)
    for text in TEXTS:
        ids = tok.encode(text)
        assert ids == sp.encode(text), text
        assert tok.decode(ids) == sp.decode(ids), text


@pytest.mark.parametrize("name", MODELS)
def test_written_models_load_in_sentencepiece(name: str, tmp_path: Path) -> None:
    tok = sentencepiece.read(model(name), source=name)
    path = tmp_path / "out.model"
    sentencepiece.write(tok, path, ())
    assert sentencepiece.read(path.read_bytes(), source=name) == tok
    before, after = processor(model(name)), processor(path.read_bytes())
    for text in TEXTS:
        assert after.encode(text) == before.encode(text), text
    for id in range(before.get_piece_size()):
        assert after.id_to_piece(id) == before.id_to_piece(id)
        assert after.get_score(id) == before.get_score(id)
    for role in ("bos", "eos", "pad", "unk"):
        assert getattr(after, f"{role}_id")() == getattr(before, f"{role}_id")()
    assert after.decode([after.unk_id()]) == before.decode([before.unk_id()])


def test_model_types_are_read() -> None:
    kinds = {"unigram": Unigram, "bpe": Pieces, "char": Chars, "word": Words}
    for name, kind in kinds.items():
        assert isinstance(sentencepiece.read(model(name), source=name).definition.model, kind)


def test_unsupported_features_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(jeton.UnsupportedFeatureError) as caught:
        sentencepiece.write(tokenizer("byte gpt2"), tmp_path / "out.model", ())
    assert caught.value.feature == "model"
    arranged = sentencepiece.read(model("unigram"), source="x", layout="xlm-roberta")
    with pytest.raises(jeton.UnsupportedFeatureError) as caught:
        sentencepiece.write(arranged, tmp_path / "out.model", ())
    assert caught.value.feature == "template"
    assert not list(tmp_path.iterdir())
    sentencepiece.write(arranged, tmp_path / "out.model", ["template", "roles", "added_tokens"])
    again = processor((tmp_path / "out.model").read_bytes())
    for text in TEXTS:
        assert again.encode(text) == arranged.encode(text), "a layout without holes is a model again"


def test_the_fairseq_layout_shifts_ids() -> None:
    plain = sentencepiece.read(model("unigram"), source="x")
    tok = sentencepiece.read(model("unigram"), source="x", layout="fairseq")
    assert [tok.id_to_token(id) for id in range(4)] == ["<s>", "<pad>", "</s>", "<unk>"]
    for id in range(3, plain.vocab_size):
        assert tok.id_to_token(id + 1) == plain.id_to_token(id)
    assert tok.special_tokens["<mask>"] == tok.vocab_size - 1 == plain.vocab_size + 1
    assert tok.roles["mask"] == "<mask>"
    for text in TEXTS:
        assert tok.encode(text) == [3 if id == 0 else id + 1 for id in plain.encode(text)]


def test_a_custom_layout_is_applied() -> None:
    size = processor(model("unigram")).get_piece_size()
    tok = sentencepiece.read(
        model("unigram"),
        source="x",
        layout={
            "specials": {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3},
            "shift": 1,
            "languages": ["en", "fr"],
            "mask": "<m>",
            "template": {"single": ["fr", "A", "</s>"]},
        },
    )
    assert [tok.special_tokens[name] for name in ("en", "fr", "<m>")] == [size + 1, size + 2, size + 3]
    plain = tok.encode("the old tale")
    assert tok.encode("the old tale", add_special_tokens=True) == [size + 2, *plain, 2]


@pytest.mark.parametrize(
    "wrong",
    [
        "fairsec",
        {"shift": 1},
        {"specials": {"<unk>": 3}, "shift": 0},
        {"specials": {"<unk>": 3}, "shfit": 1},
        {"specials": {"<s>": 0}, "shift": 1},
        {"specials": {"<unk>": -1}},
        {"specials": {"<unk>": 0}, "shift": 1 << 31},
        {"specials": {"<unk>": 0}, "languages": ["a", "a"]},
        {"specials": {"<unk>": 0}, "template": {"single": ["<nobody>", "A"]}},
    ],
)
def test_a_layout_that_does_not_fit_is_refused(wrong: Any) -> None:
    with pytest.raises(jeton.ConfigError) as caught:
        sentencepiece.read(model("unigram"), source="x", layout=wrong)
    assert caught.value.option == "layout"


def test_tokenizer_classes_choose_layouts() -> None:
    assert layout.for_class({}) is None
    assert layout.for_class({"tokenizer_class": "T5Tokenizer"}) is None
    for name, languages in (("MBart", 25), ("MBart50", 52), ("Nllb", 202)):
        chosen = layout.for_class({"tokenizer_class": f"{name}TokenizerFast"})
        assert chosen is not None
        assert len(chosen["languages"]) == len(set(chosen["languages"])) == languages
    around = {
        "XLMRobertaTokenizer": ["<s>", "A", "</s>"],
        "CamembertTokenizer": ["<s>", "A", "</s>"],
        "MBartTokenizer": ["A", "</s>", "fr_XX"],
        "MBart50Tokenizer": ["fr_XX", "A", "</s>"],
    }
    for name, single in around.items():
        chosen = layout.for_class({"tokenizer_class": name, "src_lang": "fr_XX"})
        assert chosen is not None
        assert chosen["template"]["single"] == single
    nllb = {"tokenizer_class": "NllbTokenizer", "src_lang": "fra_Latn"}
    for legacy, single in ((True, ["A", "</s>", "fra_Latn"]), (False, ["fra_Latn", "A", "</s>"])):
        chosen = layout.for_class({**nllb, "legacy_behaviour": legacy})
        assert chosen is not None
        assert chosen["template"]["single"] == single
    with pytest.raises(jeton.UnsupportedFeatureError, match="xx_XX"):
        layout.for_class({"tokenizer_class": "MBartTokenizer", "src_lang": "xx_XX"})


def test_the_camembert_layout_shifts_ids() -> None:
    tok = sentencepiece.read(model("unigram"), source="x", layout="camembert")
    plain = processor(model("unigram"))
    assert tok.special_tokens["<s>"] == 5
    assert tok.special_tokens["</s>"] == 6
    assert tok.special_tokens["<mask>"] == plain.get_piece_size() + 4
    assert tok.encode("the", add_special_tokens=True) == [5, *(id + 4 for id in plain.encode("the")), 6]


@pytest.mark.parametrize("name", ["word", "unigram", "bpe", "char"])
@pytest.mark.parametrize("role", ["bos", "eos", "pad"])
def test_a_role_without_a_piece_stays_unset(name: str, role: str, tmp_path: Path) -> None:
    peer = pytest.importorskip("sentencepiece.sentencepiece_model_pb2").ModelProto()
    peer.ParseFromString(model(name))
    if role == "pad":  # a control piece with the default name of the role, and another meaning
        peer.pieces.add(piece="<pad>", score=0, type=3)
    setattr(peer.trainer_spec, f"{role}_piece", "<missing>")
    data = peer.SerializeToString()
    tok = sentencepiece.read(data, source=name)
    assert role not in tok.roles
    tok.save(tmp_path / "a.model")
    again = jeton.load(tmp_path / "a.model")
    assert (again, again.roles) == (tok, tok.roles)
    sp, written = processor(data), processor((tmp_path / "a.model").read_bytes())
    assert [written.bos_id(), written.eos_id(), written.pad_id()] == [sp.bos_id(), sp.eos_id(), sp.pad_id()]
