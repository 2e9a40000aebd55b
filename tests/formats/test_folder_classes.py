"""A SentencePiece model in a folder: the meaning of the class in tokenizer_config.json."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.definition import template_of
from jeton.formats import model_folder
from jeton.tokens.added import model_entries

spm = pytest.importorskip("sentencepiece")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spm")
    (folder / "texts.txt").write_text("low lower lowest new newer newest\n" * 50, encoding="utf-8")
    spm.SentencePieceTrainer.train(
        input=str(folder / "texts.txt"), model_prefix=str(folder / "m"), vocab_size=40, model_type="bpe", minloglevel=2
    )
    return folder / "m.model"


def in_folder(tmp_path: Path, model: Path, **config: Any) -> Path:
    (tmp_path / "tokenizer.model").write_bytes(model.read_bytes())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("config", "before", "after"),
    [
        ({"tokenizer_class": "LlamaTokenizer"}, [1], []),
        ({"tokenizer_class": "LlamaTokenizerFast", "add_bos_token": False}, [], []),
        ({"tokenizer_class": "GemmaTokenizer", "add_eos_token": True}, [1], [2]),
        ({"tokenizer_class": "T5Tokenizer"}, [], [2]),
        ({"tokenizer_class": None}, [], []),
        ({}, [], []),
    ],
    ids=str,
)
def test_classes_that_keep_the_ids(
    config: dict[str, Any], before: list[int], after: list[int], model: Path, tmp_path: Path
) -> None:
    tok = jeton.load(in_folder(tmp_path, model, **config))
    peer = spm.SentencePieceProcessor(model_file=str(model))
    ids = peer.encode("lower newest")
    assert tok.encode("lower newest") == ids
    assert tok.encode("lower newest", add_special_tokens=True) == [*before, *ids, *after]
    pair = tok.encode_batch(["lower"], ["lower"], add_special_tokens=True)
    second = 0 if "T5" in (config.get("tokenizer_class") or "") else 1
    assert pair.type_ids.tolist()[len(pair.ids) // 2 :] == [second] * (len(pair.ids) // 2)


@pytest.mark.parametrize("name", ["ReformerTokenizer", "MyOwnTokenizer"])
def test_a_class_with_special_behavior_is_refused(name: str, model: Path, tmp_path: Path) -> None:
    with pytest.raises(jeton.UnsupportedFeatureError, match=name) as caught:
        jeton.load(in_folder(tmp_path, model, tokenizer_class=name))
    assert caught.value.feature == "tokenizer_class"
    assert jeton.load(tmp_path / "tokenizer.model").encode("low")


SPECIALS = {
    "XGLMTokenizer": {},
    "PegasusTokenizer": {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
    "BarthezTokenizer": {"bos_id": 0, "pad_id": 1, "eos_id": 2, "unk_id": 3},
}


@pytest.mark.parametrize("name", SPECIALS)
def test_xglm_pegasus_and_barthez_equal_their_slow_classes(name: str, tmp_path: Path) -> None:
    """The ids and templates of the slow classes of transformers 4.57, in which SentencePiece encodes."""
    model = tmp_path / "trained.model"
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(["low lower lowest new newer newest"] * 50), model_prefix=str(tmp_path / "trained"),
        vocab_size=40, minloglevel=2, hard_vocab_limit=False, **SPECIALS[name],
    )  # fmt: skip
    peer, tok = (
        spm.SentencePieceProcessor(model_file=str(model)),
        jeton.load(in_folder(tmp_path, model, tokenizer_class=name)),
    )
    shift = {"XGLMTokenizer": 1, "PegasusTokenizer": 103, "BarthezTokenizer": 0}[name]
    size = peer.get_piece_size()
    for text in ("lower newest", " low  x\n", "", "<s> low</s>"):
        pieces = peer.encode(text)
        unk = peer.unk_id()
        assert tok.encode(text) == [tok.special_tokens["<unk>"] if id == unk else id + shift for id in pieces]
    ids, second = tok.encode("lower"), tok.encode("new")
    single, pair = (tok.encode("lower", add_special_tokens=True, **more) for more in ({}, {"pair": "new"}))
    match name:
        case "XGLMTokenizer":
            assert (single, pair) == ([2, *ids], [2, *ids, 2, 2, *second])
            assert [tok.special_tokens[f"<madeupword{i}>"] - size for i in range(7)] == [*range(1, 8)]
            assert tok.vocab_size == size + 8
        case "PegasusTokenizer":
            assert (single, pair) == ([*ids, 1], [*ids, *second, 1])
            expected = {
                "<pad>": 0,
                "</s>": 1,
                "<mask_1>": 2,
                "<mask_2>": 3,
                "<unk_2>": 4,
                "<unk_102>": 104,
                "<unk>": 105,
            }
            assert {token: tok.special_tokens[token] for token in expected} == expected
            assert (tok.vocab_size, tok.roles["mask"]) == (size + 103, "<mask_2>")
        case _:
            assert (single, pair) == ([0, *ids, 2], [0, *ids, 2, 2, *second, 2])
            assert (tok.special_tokens["<mask>"], tok.added_tokens[size].lstrip) == (size, True)
    tok.save(tmp_path / "new")
    assert jeton.load(tmp_path / "new") == tok
    with pytest.raises(jeton.UnsupportedFeatureError, match="transformers=4 is not supported"):
        jeton.load(tmp_path, transformers=4)


@pytest.mark.parametrize("option", [{"offset": 5}, {"mask_token": "<m>"}, {"mask_token_sent": {"content": "<m>"}}])
def test_pegasus_with_other_tokens_is_refused(option: dict[str, Any], model: Path, tmp_path: Path) -> None:
    with pytest.raises(jeton.UnsupportedFeatureError) as caught:
        jeton.load(in_folder(tmp_path, model, tokenizer_class="PegasusTokenizer", **option))
    assert [caught.value.feature] == [*option]


def test_roles_and_the_chat_template_are_read_from_the_configuration(model: Path, tmp_path: Path) -> None:
    config = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "chat_template": "{{ messages }}"}
    tok = jeton.load(in_folder(tmp_path, model, **config))
    assert tok.roles["bos"] == "<s>"
    assert tok.definition.chat_template == "{{ messages }}"


ADDED = {"content": "<pad>", "special": True}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"tokenizer_class": "LlamaTokenizer", "added_tokens_decoder": {"40": ADDED, "1": {"content": "<s>"}}}, 40),
        ({"added_tokens_decoder": {"50": ADDED}, "pad_token": "<pad>"}, 50),
        ({"tokenizer_class": "T5Tokenizer", "extra_ids": 2, "added_tokens_decoder": {"42": ADDED}}, 42),
    ],
    ids=str,
)
def test_special_tokens_behind_the_pieces_are_added(
    config: dict[str, Any], expected: int, model: Path, tmp_path: Path
) -> None:
    tok = jeton.load(in_folder(tmp_path, model, **config))
    bare = jeton.load(model)
    assert tok.special_tokens["<pad>"] == expected
    assert tok.encode("lower<pad>newest", special="all") == [*bare.encode("lower"), expected, *bare.encode("newest")]
    assert tok.encode("lower<pad>") == bare.encode("lower<pad>")
    assert tok.roles.get("pad") == config.get("pad_token")


def test_extra_ids_of_t5_are_special_tokens(model: Path, tmp_path: Path) -> None:
    tok = jeton.load(in_folder(tmp_path, model, tokenizer_class="T5Tokenizer"))
    assert (tok.vocab_size, tok.special_tokens["<extra_id_0>"], tok.special_tokens["<extra_id_99>"]) == (140, 139, 40)
    assert tok.encode("low\u2028<extra_id_0>", special="all") == [*jeton.load(model).encode("low"), 139]
    assert jeton.load(in_folder(tmp_path, model, tokenizer_class="T5Tokenizer", extra_ids=0)) != tok
    with pytest.raises(jeton.FormatError, match="extra_ids"):
        jeton.load(in_folder(tmp_path, model, tokenizer_class="T5Tokenizer", extra_ids=-1))


@pytest.mark.parametrize(
    "added",
    [
        {"40": {"content": "hi", "special": False}},
        {"10": {"content": "<pad>", "special": True}},
        {"40": {"content": "\u2581lower", "special": True}},
    ],
    ids=["not special", "id of a piece", "a piece"],
)
def test_unsupported_added_tokens_are_refused(added: dict[str, Any], model: Path, tmp_path: Path) -> None:
    with pytest.raises(jeton.UnsupportedFeatureError, match="added token") as caught:
        jeton.load(in_folder(tmp_path, model, added_tokens_decoder=added))
    assert caught.value.feature == "added_tokens"


@pytest.mark.parametrize("file", ["tokenizer.model", "vocab.txt", "vocab.json"])
def test_the_older_file_of_added_tokens_needs_a_configuration(file: str, model: Path, tmp_path: Path) -> None:
    (tmp_path / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")
    content = {"tokenizer.model": model.read_bytes(), "vocab.txt": b"[UNK]\nthe\n", "vocab.json": b'{"a": 0}'}[file]
    (tmp_path / file).write_bytes(content)
    (tmp_path / "added_tokens.json").write_text('{"<new>": 50}', encoding="utf-8")
    with pytest.raises(jeton.UnsupportedFeatureError, match="<new>") as caught:
        jeton.load(tmp_path)
    assert caught.value.feature == "added_tokens"
    added = {"50": {"content": "<new>", "special": True}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": added}), encoding="utf-8")
    assert jeton.load(tmp_path).special_tokens["<new>"] == 50


def test_the_configuration_names_the_token_that_is_added(model: Path, tmp_path: Path) -> None:
    tok = jeton.load(in_folder(tmp_path, model, tokenizer_class="LlamaTokenizer", bos_token="</s>"))
    assert tok.encode("low", add_special_tokens=True)[0] == tok.special_tokens["</s>"]
    with pytest.raises(jeton.FormatError, match="add_bos_token"):
        jeton.load(in_folder(tmp_path, model, tokenizer_class="LlamaTokenizer", add_bos_token="false"))


def test_the_real_mbart_by_folder_and_by_layout(data: Path, tmp_path: Path) -> None:
    """Worked example 9: named specials first, everything shifted, language codes, the mask last."""
    file = data / "vocabs" / "mbart-en-fairseq.sentencepiece.bpe.model"
    specials = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    own = jeton.load(file, layout={"specials": specials, "shift": 1, "languages": ["en_XX"], "mask": "<mask>"})
    named = jeton.load(file, layout="fairseq")
    folder = jeton.load(in_folder(tmp_path, file, tokenizer_class="MBartTokenizer", src_lang="en_XX"))
    theirs = jeton.load(data / "vocabs" / "mbart-en-fairseq.tokenizer.json")
    bare = jeton.load(file)
    expected = ["<s>", "<pad>", "</s>", "<unk>", ",", ".", "▁", "s", "▁de", "-"]
    for tok in (own, named, folder, theirs):
        assert [tok.id_to_token(id) for id in range(10)] == expected
    text = "Je suis de Paris, s-de."
    shifted = [id + 1 for id in bare.encode(text)]
    assert own.encode(text) == named.encode(text) == folder.encode(text) == shifted
    code = folder.special_tokens["en_XX"]
    assert folder.encode(text, add_special_tokens=True) == [*shifted, 2, code]
    for tok in (own, theirs):
        assert (tok.special_tokens["en_XX"], tok.special_tokens["<mask>"], tok.vocab_size) == (31997, 31998, 31999)
    assert folder.special_tokens["<mask>"] == folder.vocab_size - 1


def test_a_rank_file_that_is_called_model_has_no_layout(tmp_path: Path) -> None:
    """Kimi's and Llama 3's rank files are called so. The content decides, so the class chooses no layout."""
    ranks = "".join(f"{base64.b64encode(bytes([byte])).decode()} {byte}\n" for byte in range(256))
    (tmp_path / "tiktoken.model").write_text(ranks, encoding="ascii")
    for name in ("TikTokenTokenizer", "MBartTokenizer"):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}), encoding="utf-8")
        assert jeton.load(tmp_path, pattern="gpt2").encode("ab") == [97, 98]


@pytest.fixture(scope="module")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a character map that tokenizer.json cannot express."""
    folder = tmp_path_factory.mktemp("mapped")
    (folder / "rules.tsv").write_text("FB01\t66 69\n", encoding="utf-8")
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(["low lower lowest new newer newest \ufb01rst"] * 50), model_prefix=str(folder / "m"),
        vocab_size=40, normalization_rule_tsv=str(folder / "rules.tsv"), minloglevel=2, hard_vocab_limit=False,
    )  # fmt: skip
    return folder / "m.model"


CLASSES = {
    "T5Tokenizer": "spiece.model",
    "LlamaTokenizer": "tokenizer.model",
    "XLMRobertaTokenizer": "sentencepiece.bpe.model",
    "CamembertTokenizer": "sentencepiece.bpe.model",
    "MBartTokenizer": "sentencepiece.bpe.model",
    "MBart50Tokenizer": "sentencepiece.bpe.model",
    "NllbTokenizer": "sentencepiece.bpe.model",
}


@pytest.mark.parametrize("name", CLASSES)
def test_a_folder_that_no_tokenizer_json_holds_is_saved_as_its_class(name: str, mapped: Path, tmp_path: Path) -> None:
    config = {"tokenizer_class": name, "sp_model_kwargs": {}, "padding_side": "left", "eos_token": "</s>"}
    tok = jeton.load(in_folder(tmp_path, mapped, **config))
    tok.save(tmp_path / "new")
    assert {path.name for path in (tmp_path / "new").iterdir()} == {CLASSES[name], "tokenizer_config.json"}
    saved = json.loads((tmp_path / "new" / "tokenizer_config.json").read_text("utf-8"))
    assert {key: value for key, value in saved.items() if key != "added_tokens_decoder"} == config
    pieces, own = (
        spm.SentencePieceProcessor(model_file=str(path)) for path in (mapped, tmp_path / "new" / CLASSES[name])
    )
    ids = range(pieces.get_piece_size())
    assert [own.id_to_piece(id) for id in ids] == [pieces.id_to_piece(id) for id in ids]
    assert [own.get_score(id) for id in ids] == [pieces.get_score(id) for id in ids]
    for text in ("lower \ufb01rst", " new  low"):
        assert own.encode(text) == pieces.encode(text)
    again = jeton.load(tmp_path / "new")
    assert (again, again.roles) == (tok, tok.roles)
    assert again.encode("lower \ufb01rst", add_special_tokens=True) == tok.encode(
        "lower \ufb01rst", add_special_tokens=True
    )


def test_tokens_roles_and_a_template_of_the_user_are_saved_with_the_class(mapped: Path, tmp_path: Path) -> None:
    mask = {"content": "<mask>", "special": True, "lstrip": True, "rstrip": True}
    size = jeton.load(in_folder(tmp_path, mapped, tokenizer_class="XLMRobertaTokenizer")).vocab_size
    config = {"tokenizer_class": "XLMRobertaTokenizer", "added_tokens_decoder": {str(size - 1): mask}}
    tok = jeton.load(in_folder(tmp_path, mapped, **config))
    assert tok.added_tokens[size - 1].rstrip, "flags of a token of the layout"
    tok = tok.add_tokens(["<|im_end|>", "<|pad|>"]).with_roles(pad="<|pad|>").with_chat_template("{{ messages }}")
    tok.save(tmp_path / "new")
    saved = json.loads((tmp_path / "new" / "tokenizer_config.json").read_text("utf-8"))
    assert saved["pad_token"] == "<|pad|>"
    assert list(saved["added_tokens_decoder"]) == [str(size - 1), str(size), str(size + 1)]
    assert (tmp_path / "new" / "chat_template.jinja").read_text("utf-8") == "{{ messages }}"
    again = jeton.load(tmp_path / "new")
    assert (again, again.roles, again.definition.chat_template) == (tok, tok.roles, tok.definition.chat_template)
    again.save(tmp_path / "third")
    assert json.loads((tmp_path / "third" / "tokenizer_config.json").read_text("utf-8")) == saved


def test_a_tokenizer_that_the_class_would_not_rebuild_is_refused(mapped: Path, tmp_path: Path) -> None:
    tok = jeton.load(in_folder(tmp_path, mapped, tokenizer_class="T5Tokenizer", extra_ids=2))
    with pytest.raises(
        jeton.UnsupportedFeatureError, match=r"character map.*accept_loss.*T5Tokenizer does not rebuild"
    ):
        jeton.vocabulary.prune(tok, keep=range(20)).tokenizer.save(tmp_path / "new")
    with pytest.raises(jeton.UnsupportedFeatureError, match="character map") as caught:  # the role drops the class
        tok.with_roles(eos="<extra_id_0>").save(tmp_path / "new")
    assert "rebuild" not in str(caught.value)
    assert not (tmp_path / "new").exists()


def test_saving_a_model_beside_a_tokenizer_json_is_refused(mapped: Path, tmp_path: Path) -> None:
    tok = jeton.load(in_folder(tmp_path, mapped, tokenizer_class="T5Tokenizer"))
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(jeton.ConfigError, match=r"tokenizer\.json of another tokenizer"):
        tok.save(tmp_path / "new")
    (tmp_path / "new" / "tokenizer.json").unlink()
    tok.save(tmp_path / "new")
    tok.save(tmp_path / "new")  # its own file may be replaced


def test_an_accepted_loss_gives_a_tokenizer_json(mapped: Path, tmp_path: Path) -> None:
    tok = jeton.load(in_folder(tmp_path, mapped, tokenizer_class="T5Tokenizer"))
    with pytest.warns(jeton.errors.LossyConversionWarning):
        tok.save(tmp_path / "new", accept_loss=["precompiled_charsmap", "single_precision"])
    saved = json.loads((tmp_path / "new" / "tokenizer_config.json").read_text("utf-8"))
    assert saved["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert (tmp_path / "new" / "tokenizer.json").is_file()


def test_albert_with_a_model_is_refused_with_its_reason(mapped: Path, tmp_path: Path) -> None:
    with pytest.raises(jeton.UnsupportedFeatureError, match="digit and a comma") as caught:
        jeton.load(in_folder(tmp_path, mapped, tokenizer_class="AlbertTokenizer"))
    assert caught.value.feature == "tokenizer_class"


@pytest.mark.parametrize("name", ["LlamaTokenizer", "T5Tokenizer"])
def test_legacy_determines_the_prefix_space(name: str, model: Path, tmp_path: Path) -> None:
    """As in transformers 4.57: `▁` before each segment of the text, before the text only, or nowhere."""
    eos = {"eos_token": "</s>"}

    def encode(text: str, **config: Any) -> list[str]:
        tok = jeton.load(in_folder(tmp_path, model, tokenizer_class=name, **config, **eos))
        return [tok.id_to_token(id) for id in tok.encode(text, special="all")]

    always, first, never = ["\u2581low", "</s>", "\u2581low"], ["\u2581low", "</s>", "low"], ["low", "</s>", "low"]
    for legacy, prefix, expected in [
        ({}, {}, always),
        ({"legacy": True}, {"add_prefix_space": True}, always),
        ({"legacy": None}, {}, always),
        ({"legacy": False}, {}, first),
        ({"legacy": False}, {"add_prefix_space": True}, first),
        ({"legacy": False}, {"add_prefix_space": False}, never),
        ({}, {"add_prefix_space": False}, never),
        ({}, {"add_prefix_space": None}, never),
    ]:
        assert "".join(encode("low</s>low", **legacy, **prefix)) == "".join(expected), (legacy, prefix)
    for wrong in ({"legacy": "no"}, {"add_prefix_space": 1}):
        with pytest.raises(jeton.FormatError, match="not true or false"):
            encode("low", **wrong)


@pytest.mark.parametrize("name", CLASSES)
def test_tokens_for_normalized_text_match_raw_text(name: str, model: Path, mapped: Path, tmp_path: Path) -> None:
    """These tokens are matched in the raw text, as by the slow classes, special or not."""
    for file in (model, mapped):
        size = jeton.load(in_folder(tmp_path, file, tokenizer_class=name)).vocab_size
        flags = {"__type": "AddedToken", "normalized": True, "special": True}
        roles = {
            "pad_token": {"content": "<pad>", **flags},
            "mask_token": {"content": "<mask>", "lstrip": True, **flags},
        }
        tok = jeton.load(in_folder(tmp_path, file, tokenizer_class=name, **roles))
        pad, mask = tok.special_tokens["<pad>"], tok.special_tokens["<mask>"]
        assert [id for id in tok.encode("a<pad>low <mask> low", special="all") if id in (pad, mask)] == [pad, mask]
        assert not {pad, mask} & {*tok.encode("a<pad>low <mask> low")}
        if name == "NllbTokenizer":
            size = mask  # listed tokens precede the mask and the languages
        added = {str(size): {"content": "<new>", "normalized": True, "special": False}}
        tok = jeton.load(in_folder(tmp_path, file, tokenizer_class=name, added_tokens_decoder=added))
        assert (tok.added_tokens[size].special, size in tok.encode("low <new> low")) == (False, True)
        tok.save(tmp_path / "new")
        assert jeton.load(tmp_path / "new") == tok


def test_decoding_shows_special_and_added_tokens(model: Path, mapped: Path, tmp_path: Path) -> None:
    text = "low <extra_id_0>\u2028 lower"  # the sentinels strip the white space around them
    for file in (model, mapped):
        tok = jeton.load(in_folder(tmp_path, file, tokenizer_class="T5Tokenizer", eos_token="</s>"))
        ids = tok.encode(text, special="all", add_special_tokens=True)
        assert tok.decode(ids) == "low<extra_id_0> lower</s>"
        assert tok.decode(ids, skip_special_tokens=True) == "low lower"
        assert tok.decode_batch([ids, ids[:2]], skip_special_tokens=False)[0] == tok.decode(ids)
        stream = tok.stream()
        assert "".join([*(stream.push(id) for id in ids), stream.finish()]) == tok.decode(ids)
        assert tok.decode_with_offsets(ids)[0] == tok.decode(ids)
    llama = jeton.load(in_folder(tmp_path, model, tokenizer_class="LlamaTokenizer"))
    assert llama.decode(llama.encode("low lower", add_special_tokens=True)) == "<s> low lower"
    assert jeton.load(model).decode([1, *jeton.load(model).encode("low")]) == "low", "SentencePiece has no text for it"
    with pytest.raises(jeton.UnsupportedFeatureError) as caught:
        llama.save(tmp_path / "x.model", accept_loss=["template"])
    assert caught.value.feature == "decoder"


def test_the_caller_chooses_the_version(model: Path, tmp_path: Path) -> None:
    folder = in_folder(tmp_path, model, tokenizer_class="LlamaTokenizer", eos_token="</s>")
    four, five = (jeton.load(folder, transformers=version) for version in (4, 5))

    def tokens(tok: jeton.Tokenizer, **options: Any) -> str:
        return "".join(tok.id_to_token(id) for id in tok.encode("low</s>low", special="all", **options))

    assert (tokens(four), tokens(five)) == ("\u2581low</s>\u2581low", "\u2581low</s>low")
    assert tokens(four, add_special_tokens=True) == "<s>" + tokens(four), "a missing add_bos_token"
    assert tokens(five, add_special_tokens=True) == tokens(five)
    assert {*four.special_tokens} == {*five.special_tokens} == {"<unk>", "<s>", "</s>"}
    for tok in (four, five):
        tok.save(tmp_path / "new", format="tokenizer.json")
        again = jeton.load(tmp_path / "new")
        assert again == tok
    for wrong, options in [
        (folder, {"transformers": 3}),
        (model, {"transformers": 5}),
        (folder, {"transformers": True}),
    ]:
        with pytest.raises(jeton.ConfigError, match="transformers") as caught:
            jeton.load(wrong, **options)
        assert caught.value.option == "transformers"
    with pytest.raises(jeton.ConfigError, match="transformers"):
        jeton.load(folder, layout="fairseq", transformers=5)
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert" / "vocab.txt").write_text("[UNK]\nlow\n", encoding="utf-8")
    with pytest.raises(jeton.ConfigError, match="transformers= does not apply"):
        jeton.load(tmp_path / "bert", transformers=5)


@pytest.mark.parametrize(
    ("config", "version", "feature"),
    [
        ({}, 5, "tokenizer_class"),
        ({"tokenizer_class": "NllbTokenizer"}, 5, "tokenizer_class"),
        ({"tokenizer_class": "T5Tokenizer"}, 5, "model"),
        ({"tokenizer_class": "LlamaTokenizer", "extra_special_tokens": ["<x>"]}, 4, "extra_special_tokens"),
        ({"tokenizer_class": "LlamaTokenizer", "image_token": "<x>"}, 4, "image_token"),
        ({"tokenizer_class": "LlamaTokenizer", "added_tokens_decoder": {"90": ADDED}}, 4, "added_tokens"),
        ({"tokenizer_class": "GemmaTokenizer"}, 4, "tokenizer_class"),
    ],
    ids=str,
)
def test_features_that_differ_between_versions_are_refused(
    config: dict[str, Any], version: Any, feature: str, model: Path, tmp_path: Path
) -> None:
    with pytest.raises(jeton.UnsupportedFeatureError) as caught:
        jeton.load(in_folder(tmp_path, model, **config, padding_side="left"), transformers=version)
    assert caught.value.feature == feature


def test_nllbs_mask_precedes_the_languages_if_the_configuration_lists_none(model: Path, tmp_path: Path) -> None:
    tok = jeton.load(in_folder(tmp_path, model, tokenizer_class="NllbTokenizer"))
    mask, first = tok.special_tokens["<mask>"], tok.special_tokens["ace_Arab"]
    assert (first - mask, tok.added_tokens[mask].lstrip, tok.vocab_size) == (1, True, first + 202)
    added = {str(id): {"content": token, "special": True} for id, token in ((mask, "ace_Arab"), (mask + 202, "<mask>"))}
    listed = jeton.load(in_folder(tmp_path, model, tokenizer_class="NllbTokenizer", added_tokens_decoder=added))
    assert (listed.special_tokens["ace_Arab"], listed.special_tokens["<mask>"]) == (mask, mask + 202)


def test_a_token_of_the_model_with_another_content_is_refused(model: Path, tmp_path: Path) -> None:
    for content, is_valid in (("<s>", True), ("<x>", False)):
        added = {"1": {"content": content, "special": True, "lstrip": True}}
        folder = in_folder(tmp_path, model, tokenizer_class="LlamaTokenizer", added_tokens_decoder=added)
        if is_valid:
            assert jeton.load(folder).added_tokens[1].lstrip
            continue
        with pytest.raises(
            jeton.UnsupportedFeatureError, match="the added token '<x>' with id 1 is not a special token"
        ):
            jeton.load(folder)


def test_pieces_that_become_added_tokens_stay_pieces(model: Path, tmp_path: Path) -> None:
    piece = jeton.load(model).id_to_token(9)
    added = {"9": {"content": piece, "special": False}}
    folder = in_folder(tmp_path, model, tokenizer_class="LlamaTokenizer", added_tokens_decoder=added)
    tok = jeton.load(folder, transformers=4)
    assert model_entries(tok._core) == [9]
    assert tok.definition.hf_vocab_size is None
    added["40"] = {"content": "<new>", "special": True}
    more = jeton.load(
        in_folder(tmp_path, model, tokenizer_class="LlamaTokenizer", added_tokens_decoder=added), transformers=4
    )
    assert (model_entries(more._core), more.definition.hf_vocab_size) == ([9], 40)


@pytest.mark.parametrize(
    ("name", "kept"), [("LlamaTokenizer", True), ("PreTrainedTokenizerFast", False), ("PreTrainedTokenizer", False)]
)
def test_the_class_is_kept_if_it_reads_models(name: str, kept: bool, model: Path, tmp_path: Path) -> None:
    tok = jeton.load(in_folder(tmp_path, model, tokenizer_class=name, padding_side="left"))
    assert ("tokenizer_class" in tok.definition.config) is kept
    assert tok.definition.config["padding_side"] == "left"


def test_a_template_that_the_class_does_not_rebuild(mapped: Path, tmp_path: Path) -> None:
    """Roles are equal, templates differ."""
    tok = jeton.load(in_folder(tmp_path, mapped, tokenizer_class="T5Tokenizer", extra_ids=2))
    definition = replace(tok.definition, template=template_of([2, "A"]))
    other = tok._derived(definition=definition, vocabulary=tok._core.vocabulary())
    with pytest.raises(
        jeton.UnsupportedFeatureError, match=r"does not rebuild this tokenizer from a \.model: template would"
    ):
        model_folder.render(other)
    assert model_folder.render(tok).keys() == {"spiece.model", "tokenizer_config.json"}


@pytest.mark.parametrize(("version", "special"), [(4, ["<start_of_turn>", "<end_of_turn>"]), (5, [])])
def test_gemmas_turns_are_special_in_version_4(version: Any, special: list[str], tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("low lower lowest new newer newest\n" * 50, encoding="utf-8")
    spm.SentencePieceTrainer.train(
        input=str(tmp_path / "texts.txt"),
        model_prefix=str(tmp_path / "m"),
        vocab_size=45,
        model_type="bpe",
        minloglevel=2,
        user_defined_symbols=["<start_of_turn>", "<end_of_turn>", "<other>"],
        pad_id=0,
        eos_id=1,
        bos_id=2,
        unk_id=3,
    )
    folder = in_folder(tmp_path, tmp_path / "m.model", tokenizer_class="GemmaTokenizer", padding_side="left")
    tok = jeton.load(folder, transformers=version)
    own = ["<start_of_turn>", "<end_of_turn>", "<other>"]
    assert [token for token in own if token in tok.special_tokens] == special
    assert {token.content for token in tok.added_tokens.values()} >= {*own}
