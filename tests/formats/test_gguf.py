"""llama.cpp's GGUF."""

from __future__ import annotations

import lzma
import os
import pickle
import random
import struct
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.formats import gguf as reader
from jeton.formats.discovery import find_tokenizers, short_name
from jeton.formats.gguf_pre import PRE
from tests.formats.gguf_writer import gguf, metadata, string
from tests.selection import amount

# In `data/gguf` of the test data, with the texts and ids of llama.cpp's own tests.
FILES = [
    "bert-bge",
    "llama-spm",
    *(
        pytest.param(name, marks=pytest.mark.slow(reason="two files of ten, and small files of each model"))
        for name in ("command-r", "deepseek-llm", "gemma-4", "gpt-2", "llama-bpe", "phi-3", "qwen2", "refact")
    ),
]

BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]
LETTERS = ["l", "o", "w", "e", "r", "Ġ", "!", "1", "2"]
MERGES = ["l o", "lo w", "e r", "Ġ low"]
BPE = [*LETTERS, "lo", "low", "er", "Ġlow", "<s>", "</s>", "<tool>"]
BPE_TYPES = [1] * 13 + [3, 3, 4]


@pytest.mark.parametrize(
    ("pre", "architecture", "strips"),
    [
        ("gpt-2", "gpt2", False),
        ("jina-v2-de", "gpt2", True),
        ("jina-v2-code", "gpt2", True),
        ("gpt-2", "nomic-bert-moe", True),
        ("gpt-2", "jina-bert-v3", True),
    ],
)
def test_masks_that_strip_white_space_by_name(pre: str, architecture: str, strips: bool, tmp_path: Path) -> None:
    values = bpe(tokens=[*BPE, "<mask>"], token_type=[*BPE_TYPES, 3], pre=pre) | {"general.architecture": architecture}
    token = load(tmp_path, values).added_tokens[len(BPE)]
    assert (token.content, token.lstrip, token.rstrip) == ("<mask>", strips, False)


def test_user_defined_pieces_have_no_score(tmp_path: Path) -> None:
    values = unigram()
    tokens = values["tokenizer.ggml.tokens"]
    scores, types = list(values["tokenizer.ggml.scores"]), list(values["tokenizer.ggml.token_type"])
    id = tokens.index("er")
    scores[id], types[id] = -7.0, 4
    tok = load(tmp_path, values | {"tokenizer.ggml.scores": scores, "tokenizer.ggml.token_type": types})
    assert tok._core.scores()[id] == 0.0


def load(tmp_path: Path, values: dict[str, Any], **options: Any) -> jeton.Tokenizer:
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf(values, **options))
    return jeton.load(path)


def bpe(**others: Any) -> dict[str, Any]:
    return metadata("gpt2", **{"tokens": BPE, "pre": "gpt-2", "merges": MERGES, "token_type": BPE_TYPES, **others})


def spm(**others: Any) -> dict[str, Any]:
    tokens = ["<unk>", "<s>", "</s>", *BYTE_TOKENS, "▁", "l", "o", "w", "lo", "low", "▁low", "<", "s", ">", "<s"]
    scores = [0.0] * 259 + [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0, -9.0, -10.0, -11.0]
    types = [2, 3, 3] + [6] * 256 + [1] * 11
    return metadata("llama", tokens=tokens, **{"scores": scores, "token_type": types, **others})


def bert(**others: Any) -> dict[str, Any]:
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁low", "er", "▁!", "▁e"]
    ids = {"bos_token_id": 2, "unknown_token_id": 1, "seperator_token_id": 3, "padding_token_id": 0}
    return metadata("bert", tokens, token_type=[3, 3, 3, 3, 1, 1, 1, 1], **(ids | others))


def unigram(**others: Any) -> dict[str, Any]:
    tokens = ["<pad>", "</s>", "<unk>", "▁low", "▁", "low", "er", "e", "r"]
    scores = [0.0, 0.0, 0.0, -1.0, -2.0, -2.0, -1.0, -3.0, -3.0]
    flags = {"add_space_prefix": True, "remove_extra_whitespaces": True}
    return metadata("t5", tokens, scores=scores, token_type=[3, 3, 2] + [1] * 6, **(flags | others))


def gemma(**others: Any) -> dict[str, Any]:
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>", *BYTE_TOKENS, "▁", "l", "o", "w", "\n", "lo", "▁lo", "\n\n"]
    types = [3, 3, 3, 3] + [6] * 256 + [1] * 8
    given = {"merges": ["l o", "▁ lo", "\n \n"], "token_type": types, "bos_token_id": 2}
    return metadata("gemma4", tokens, **(given | others))


@pytest.mark.skipif("JETON_TEST_DATA" not in os.environ, reason="JETON_TEST_DATA names no folder")
@pytest.mark.parametrize("name", FILES)
def test_ids_are_those_of_llama_cpp(name: str, tmp_path: Path) -> None:
    folder = Path(os.environ["JETON_TEST_DATA"]) / "gguf"
    path = tmp_path / f"{name}.gguf"
    path.write_bytes(lzma.decompress((folder / f"{name}.gguf.xz").read_bytes()))
    tok = jeton.load(path)
    texts = (folder / f"{name}.inp.txt").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    expected = [[int(id) for id in line.split()] for line in (folder / f"{name}.out.txt").read_text().split("\n")]
    assert len(texts) > 40
    assert [tok.encode(text) for text in texts] == expected[: len(texts)]


def test_byte_level_bpe_is_read(tmp_path: Path) -> None:
    tok = load(tmp_path, bpe(bos_token_id=13, eos_token_id=14, add_bos_token=True))
    assert tok.encode("low lower") == [10, 12, 11]
    assert tok.encode("low", add_special_tokens=True) == [13, 10]
    assert tok.roles == {"bos": "<s>", "eos": "</s>"}
    assert tok.decode([10, 12, 11]) == "low lower"


def test_control_tokens_are_matched_by_permission_and_user_defined_ones_always(tmp_path: Path) -> None:
    tok = load(tmp_path, bpe())
    assert tok.encode("low<tool>low") == [10, 15, 10]
    assert tok.encode("low</s>", special="all") == [10, 14]
    assert list(tok.special_tokens) == ["<s>", "</s>"]


def test_the_pre_tokenizer_decides_how_numbers_are_split(tmp_path: Path) -> None:
    tokens, merges = [*LETTERS, "12"], ["1 2"]
    for pre, expected in (("gpt-2", [9]), ("starcoder", [7, 8]), ("llama-bpe", [9]), ("default", [9])):
        tok = load(tmp_path, metadata("gpt2", tokens, merges=merges, pre=pre, bos_token_id=0))
        assert tok.encode("12") == expected, pre


def test_a_missing_pre_tokenizer_is_the_default(tmp_path: Path) -> None:
    values = bpe()
    del values["tokenizer.ggml.pre"]
    assert load(tmp_path, values).definition == load(tmp_path, bpe(pre="default")).definition


def test_a_pretoken_that_is_an_entry_is_taken_whole_by_some_pre_tokenizers(tmp_path: Path) -> None:
    tokens, merges = [*LETTERS, "lo", "low"], ["l o"]
    assert load(tmp_path, metadata("gpt2", tokens, merges=merges, pre="llama-bpe", bos_token_id=0)).encode("low") == [
        10
    ]
    assert load(tmp_path, metadata("gpt2", tokens, merges=merges, pre="qwen2")).encode("low") == [9, 2]


def test_the_first_of_equal_merges_counts(tmp_path: Path) -> None:
    tok = load(tmp_path, metadata("gpt2", ["a", "b", "ab", "ba"], merges=["b a", "a b", "b a"], pre="gpt-2"))
    assert tok.encode("aba") == [0, 3]


def test_sentencepiece_bpe_is_read(tmp_path: Path) -> None:
    tok = load(tmp_path, spm())
    assert tok.encode("low low") == [265, 265]
    assert tok.encode("lowé") == [265, 3 + 0xC3, 3 + 0xA9]
    assert tok.encode("low", add_special_tokens=True) == [1, 265]
    assert tok.decode([265, 265]) == "low low"
    # as in llama.cpp, a space is added after every token that is matched as a whole
    assert tok.encode("low<s>low", special="all") == [265, 1, 265]


def test_a_space_is_added_after_user_defined_tokens_too(tmp_path: Path) -> None:
    values = spm()
    values["tokenizer.ggml.tokens"] = [*values["tokenizer.ggml.tokens"], "<tool>"]
    values["tokenizer.ggml.scores"] = [*values["tokenizer.ggml.scores"], 0.0]
    values["tokenizer.ggml.token_type"] = [*values["tokenizer.ggml.token_type"], 4]
    tok = load(tmp_path, values)
    assert tok.encode("low<tool>lowé") == [265, 270, 265, 3 + 0xC3, 3 + 0xA9]
    assert tok.encode("low<s>low", special="all") == [265, 1, 265]
    assert tok.decode(tok.encode("low lowé")) == "low lowé"


def test_add_space_prefix_false_adds_no_space(tmp_path: Path) -> None:
    tok = load(tmp_path, spm(add_space_prefix=False, add_bos_token=False))
    assert tok.encode("low low", add_special_tokens=True) == [264, 265]


def test_word_piece_is_read(tmp_path: Path) -> None:
    tok = load(tmp_path, bert())
    assert tok.encode("LOWER é!", add_special_tokens=True) == [2, 4, 5, 7, 6, 3]
    assert tok.encode("lowx " + "x" * 300) == [1, 1]
    assert tok.roles["sep"] == "[SEP]"


def test_word_piece_normalizes_as_llama_cpp(tmp_path: Path) -> None:
    tokens = ["[UNK]", "▁low", "▁\u1112", "▁\u0995", "▁\u061d"]
    values = metadata("bert", tokens, token_type=[3, 1, 1, 1, 1], bos_token_id=0, unknown_token_id=0)
    tok = load(tmp_path, values | {"tokenizer.ggml.seperator_token_id": 0})
    assert tok.encode("low\x0blow\x85low") == [1, 1, 1]  # spaces, which BERT's normalizer removes
    assert tok.encode("한 하") == [2, 2]  # the first consonant
    assert tok.encode("\u0995\u09be") == [3]  # a spacing mark is removed
    assert tok.encode("low\u0c04") == [1]  # a mark since Unicode 11
    assert tok.encode("low\u061dlow") == [1, 4, 1]  # punctuation since Unicode 14


def test_unigram_is_read(tmp_path: Path) -> None:
    tok = load(tmp_path, unigram())
    assert tok.encode("  low   lower ", add_special_tokens=True) == [3, 3, 6, 1]
    assert tok.encode("lowxy") == [3, 2]


def test_gemma_is_read(tmp_path: Path) -> None:
    tok = load(tmp_path, gemma())
    assert tok.encode("low lo\n\né", add_special_tokens=True) == [2, 265, 263, 266, 267, 4 + 0xC3, 4 + 0xA9]
    assert tok.decode(tok.encode("low lo\n\né")) == "low lo\n\né"


def test_chat_templates_are_read(tmp_path: Path) -> None:
    one = bpe() | {"tokenizer.chat_template": "{{ messages }}"}
    assert load(tmp_path, one).definition.chat_template == "{{ messages }}"
    more = one | {"tokenizer.chat_templates": ["rag"], "tokenizer.chat_template.rag": "x"}
    named = load(tmp_path, more).definition.chat_template
    assert [dict(template) for template in named] == [
        {"name": "default", "template": "{{ messages }}"},
        {"name": "rag", "template": "x"},
    ]


def test_known_spellings_override_token_types(tmp_path: Path) -> None:
    tokens = [*BPE, "<|im_end|>", "<|fim_suffix|>", "<|channel|>", "<|end|>", "<|return|>", "<|call|>"]
    tok = load(tmp_path, bpe(tokens=tokens, token_type=[*BPE_TYPES, 4, 1, 3, 3, 3, 3]))
    assert [token for token in tok.special_tokens if token in tokens[16:]] == [
        "<|im_end|>", "<|fim_suffix|>", "<|return|>", "<|call|>"
    ]  # fmt: skip
    assert tok.encode("<|channel|><|end|>") == [18, 19]


def test_tokens_of_phi_3_take_ascii_white_space(tmp_path: Path) -> None:
    tok = load(tmp_path, {**spm(), "general.name": "Phi-3 mini"})
    assert tok.added_tokens[2] == jeton.AddedToken("</s>", rstrip=True, ascii_space=True)
    ids = tok.encode("</s>\u00a0l", special="all")
    assert tok.encode("</s> \t\n\u00a0l", special="all") == ids != tok.encode("</s>l", special="all")
    for again in (pickle.loads(pickle.dumps(tok)), jeton.Tokenizer.from_bytes(tok.to_bytes())):
        assert again == tok
        assert again.fingerprint == tok.fingerprint
        assert again.encode("</s> \u00a0l", special="all") == ids
    more = tok.add_tokens(["<new>"])
    assert more.added_tokens[2].ascii_space
    with pytest.raises(jeton.UnsupportedFeatureError, match="added tokens that take ASCII white space only"):
        tok.save(tmp_path / "tokenizer.json", accept_loss=[])


@pytest.mark.parametrize("model", ["rwkv", "plamo2", "hybriddna", "whitespace", "no_vocab"])
def test_other_models_are_refused_by_name(model: str, tmp_path: Path) -> None:
    with pytest.raises(jeton.UnsupportedFeatureError, match=model) as caught:
        load(tmp_path, metadata(model, ["a"]))
    assert caught.value.feature == model


def test_an_unknown_pre_tokenizer_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(jeton.UnsupportedFeatureError, match="'whitespace' is not supported") as caught:
        load(tmp_path, bpe(pre="whitespace"))
    assert caught.value.place == "tokenizer.ggml.pre"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": ["a", "a"]}, "'a' is given twice"),
        ({"tokens": [b"\xff", "a"]}, "not UTF-8"),
        ({"token_type": [1]}, "1 values for 16 tokens"),
        ({"token_type": "x"}, "not an array of the expected type"),
        ({"merges": ["l x"]}, "'l x' must be two tokens"),
        ({"merges": ["lo"]}, "'lo' must be two tokens"),
        ({"add_bos_token": 1}, "neither true nor false"),
        ({"add_bos_token": True, "tokens": ["a", "aa"], "merges": ["a a"], "token_type": [1, 1]}, "get a bos token"),
        ({"bos_token_id": "x"}, "not an integer"),
        ({"pre": 3}, "not a string"),
    ],
)
def test_contradictions_are_errors(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(jeton.FormatError, match=message):
        load(tmp_path, bpe(**change))


def test_a_token_that_is_always_added_is_needed(tmp_path: Path) -> None:
    values = bert()
    del values["tokenizer.ggml.bos_token_id"]  # 101 by default, and there are 8 tokens
    with pytest.raises(jeton.FormatError, match="texts get a bos token, but the file defines none") as caught:
        load(tmp_path, values)
    assert caught.value.place == "tokenizer.ggml.bos_token_id"


def test_a_file_without_a_tokenizer_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(jeton.FormatError, match="the file has no tokenizer"):
        load(tmp_path, {"general.name": "x"})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"GGUF", "ends in the middle"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "version 1 of GGUF"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60), "exceeds the rest"),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + string("k") + struct.pack("<IIQ", 9, 8, 1 << 60),
            "exceeds the rest",
        ),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + string("k") + struct.pack("<IIQ", 9, 9, 1), "arrays of arrays"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + string("k") + struct.pack("<IQ", 99, 0), "unknown type 99"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + 2 * (string("k") + struct.pack("<IB", 0, 1)), "given twice"),
    ],
)
def test_damaged_headers_are_an_error(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(data)
    with pytest.raises(jeton.JetonError, match=message):
        jeton.load(path)


def test_tensors_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.gguf"
    path.write_bytes(gguf(bpe()))
    os.truncate(path, 40 << 30)  # sparse
    assert jeton.load(path).encode("low") == [10]


def test_damaged_files_are_jeton_errors(tmp_path: Path) -> None:
    path, rand = tmp_path / "x.gguf", random.Random(1)
    whole = [gguf(values) for values in (bpe(), spm(), bert(), unigram(), gemma())]
    outcomes = set()
    for i in range(amount(2000, default=200)):
        data = bytearray(whole[i % len(whole)])
        for _ in range(rand.randint(1, 3)):
            at = rand.randrange(4, len(data))
            match rand.randrange(4):
                case 0:
                    data[at] = rand.randrange(256)
                case 1:
                    data[at : at + 8] = rand.choice([b"\xff" * 8, bytes(8), (1 << 40).to_bytes(8, "little")])
                case 2:
                    del data[at : at + rand.randint(1, 9)]
                case _:
                    data.insert(at, rand.randrange(256))
        path.write_bytes(data)
        try:
            jeton.load(path).encode("low")
            outcomes.add("loads")
        except jeton.JetonError as error:
            outcomes.add(type(error).__name__)
    assert outcomes >= {"loads", "FormatError"}


def test_the_gguf_file_of_a_folder_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "mmproj-model.gguf").write_bytes(gguf({"general.architecture": "clip"}))
    (tmp_path / "model-Q4.gguf").write_bytes(gguf(bpe()))
    (tmp_path / "tokenizer_config.json").write_text('{"bos_token": "<other>"}')  # ignored: the GGUF file has all facts
    assert jeton.load(tmp_path).encode("low") == [10]
    assert [path.name for path in find_tokenizers(tmp_path)] == ["mmproj-model.gguf", "model-Q4.gguf"]
    assert short_name(tmp_path / "model-Q4.gguf") == "model-Q4"


def test_version_2_is_read(tmp_path: Path) -> None:
    assert load(tmp_path, bpe(), version=2).encode("low") == [10]


def test_arguments_of_other_formats_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(gguf(bpe()))
    with pytest.raises(jeton.ConfigError, match=r"applies only to files without a pattern"):
        jeton.load(path, pattern="gpt2")


def test_every_pre_tokenizer_splits_without_a_loss(tmp_path: Path) -> None:
    for name, pre in PRE.items():
        tok = load(
            tmp_path,
            bpe(pre=name, bos_token_id=13, unknown_token_id=13, tokens=[*BPE[:12], "▁", *BPE[13:]], merges=MERGES[:3]),
        )
        text = "".join(BPE[:5]) if pre.escapes_spaces else "low lower 12!"
        assert tok.decode(tok.encode(text)) == text, name


def test_the_reader_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(b"GGUF\x03")
    with pytest.raises(jeton.FormatError, match=r"x\.gguf: ") as caught:
        reader.read(str(path))
    assert caught.value.format == "gguf"
