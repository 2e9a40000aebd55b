"""Removing chosen tokens: published vocabularies in their own libraries, references, refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.analysis.generated_texts import generate_texts
from jeton.definition import template_of
from jeton.errors import ConfigError
from jeton.tokenizer import Tokenizer

from ..selection import ALL, amount, rest_is_slow

TEXTS = amount(3000, default=60)
CORPUS = ["low lower lowest new newer newest wide wider widest the wind and the rain " * 3]

# Published vocabulary -> tokens to remove
PUBLISHED: dict[str, list[str]] = {
    "t5-small.tokenizer.json": [f"<extra_id_{n}>" for n in range(100)],
    "roberta-base.tokenizer.json": ["<mask>", "<unk>"],
    "phi-3-mini.tokenizer.json": ["<|endoftext|>", "<|user|>", "</s>"],
    "whisper-tiny.tokenizer.json": ["<|en|>", "<|zh|>", "<|nocaptions|>"],
    "mbart-en-fairseq.tokenizer.json": ["<mask>", "<pad>"],
    "bert-uncased.vocab.txt": ["[MASK]", "the"],
    "mistral-v1.model": ["<s>"],
    "mistral-v3.model": ["[INST]", "[/INST]"],
    "spm-unigram-en.model": ["</s>", "▁the"],
}


@pytest.fixture
def tok() -> Tokenizer:
    tok = jeton.train(CORPUS, 280, pattern="gpt2", special_tokens=["<s>", "</s>", "<pad>"], progress=False)
    return tok.add_tokens(["low<", "word"], special=False)


def checked_texts(tok: Tokenizer, removed: list[str]) -> list[str]:
    """Texts with special tokens, but none of the removed tokens."""
    ids = {tok.token_to_id(token) for token in removed}
    texts = list(generate_texts(tok, TEXTS + TEXTS // 3, special=True))
    return [text for text in texts if not ids & {*tok.encode(text, special="all")}][:TEXTS]


# Large ones take over a second to save and load twice. By default they keep one case, without transformers.
LARGE = tuple(name for name in PUBLISHED if name.startswith(("t5", "roberta", "whisper", "phi")))
CASES = [(name, compact) for name in PUBLISHED for compact in (True, False)]


@pytest.mark.parametrize(
    ("name", "compact"),
    rest_is_slow(CASES, lambda case: case[1] or case[0] not in LARGE, "smaller files of these formats keep their ids"),
)
def test_other_text_keeps_its_ids(data: Path, tmp_path: Path, name: str, compact: bool) -> None:
    """Except unknown words of WordPiece; the file gives equal ids in its own library."""
    tok = jeton.load(data / "vocabs" / name)
    removed = PUBLISHED[name]
    done = jeton.prune(tok, remove=removed, compact=compact, drop_references=True)
    done.plan.verify()
    made = done.tokenizer
    assert len(made) == len(tok) - len(removed)
    texts = checked_texts(tok, removed)
    assert len(texts) == TEXTS
    unk = tok.token_to_id("[UNK]") if name.startswith("bert") else -1
    for text in texts:
        old = np.array(tok.encode(text, special="all"), np.int64)
        if unk not in old:
            assert made.encode(text, special="all") == done.plan.id_map[old].tolist(), text
    if compact or made.definition.model.type != "Unigram" or made.vocab_size == len(made):
        check_peer(made, tmp_path, name, texts)


def check_peer(tok: Tokenizer, folder: Path, name: str, texts: list[str]) -> None:
    if name.endswith(".model"):
        if tok.vocab_size > len(tok):
            with pytest.raises(jeton.errors.FormatError, match="no holes"):
                tok.save(folder / "m.model")
            return
        processor = pytest.importorskip("sentencepiece").SentencePieceProcessor
        tok.save(folder / "m.model")
        theirs = processor(str(folder / "m.model"))
        assert [theirs.encode(text) for text in texts] == [tok.encode(text) for text in texts]
        for role in ("bos", "eos"):
            id = getattr(theirs, f"{role}_id")()
            assert id == (tok.token_to_id(tok.roles[role]) if role in tok.roles else -1)
        return
    hf = pytest.importorskip("tokenizers")
    expected = [tok.encode(text, special="all", add_special_tokens=True) for text in texts]
    own = hf.Tokenizer.from_str(tok.to_bytes().decode())
    assert [own.encode(text).ids for text in texts] == expected
    if name in LARGE and not ALL:
        return
    tok.save(folder / "saved")
    fast = pytest.importorskip("transformers").AutoTokenizer.from_pretrained(str(folder / "saved"))
    assert fast(texts).input_ids == expected
    assert fast.get_vocab().keys().isdisjoint(PUBLISHED[name])
    assert len(fast) == len(tok)


def test_references_are_refused_by_name_or_dropped(tok: Tokenizer) -> None:
    first, last, pad = (tok.special_tokens[token] for token in ("<s>", "</s>", "<pad>"))
    templates = {"default": "{{ bos_token }}{{ messages[0].content }}", "tool": "{{ messages[0].content }}</s>"}
    tok = tok.with_roles(bos="<s>", pad="<pad>").with_chat_template(templates)
    facts = {
        "template": template_of([first, "A", last]),
        "padding": {"pad_id": pad, "pad_token": "<pad>"},
        "truncation": {"max_length": 8},
        "config": {
            "additional_special_tokens": ["</s>", "x"],
            "end_token": "</s>",
            "add_eos_token": True,
            "more": {"a": ["<s>"]},
        },
    }
    tok = tok._derived(definition=replace(tok.definition, **facts), vocabulary=tok._core.vocabulary())
    with pytest.raises(ConfigError) as error:
        jeton.prune(tok, remove=["<s>", "</s>", "<pad>"])
    for place in (
        *("the role 'bos' (<s>)", "the role 'pad' (<pad>)", "the template (<s>)", "padding (<pad>)"),
        *("the chat template 'default' (<s>)", "the chat template 'tool' (</s>)"),
        *("the configuration's 'end_token' (</s>)", "the configuration's 'more' (<s>)"),
    ):
        assert place in str(error.value)
    assert "additional" not in str(error.value)
    done = jeton.prune(tok, remove=["</s>"], drop_references=True)
    made = done.tokenizer.definition
    assert done.report["dropped_references"] == [
        "the template",
        "the chat template 'tool'",
        "the configuration's 'end_token'",
    ]
    assert (made.roles, made.padding, made.truncation) == (
        {"bos": "<s>", "pad": "<pad>"},
        {"pad_id": pad - 1, "pad_token": "<pad>"},
        {"max_length": 8},
    )
    assert made.config == {"additional_special_tokens": ["x"], "add_eos_token": True, "more": {"a": ["<s>"]}}
    assert [each["name"] for each in made.chat_template] == ["default"]
    assert done.tokenizer.encode("low", add_special_tokens=True)[0] == first
    bare = jeton.prune(tok, remove=["<s>", "</s>", "<pad>"], drop_references=True).tokenizer
    assert (dict(bare.roles), bare.definition.padding, bare.definition.chat_template) == ({}, None, None)
    assert bare.encode("low", add_special_tokens=True) == bare.encode("low")
    assert bare.definition.config == {"additional_special_tokens": ["x"]}  # without bos, no add_eos_token


def test_a_removed_token_leaves_the_default_permission(tok: Tokenizer) -> None:
    made = jeton.prune(tok.with_options(special=["<s>", "</s>"]), remove=["<s>"]).tokenizer
    assert made.encode("</s>") == [made.special_tokens["</s>"]]


def test_tokens_are_removed_with_a_corpus_or_kept_tokens(tok: Tokenizer) -> None:
    text = "low wide"
    made = jeton.prune(tok, [text], remove=["<s>", "word"]).tokenizer
    assert [*made.added_tokens.values()] == [
        each for each in tok.added_tokens.values() if each.content not in ("<s>", "word")
    ]
    assert made.tokenize(text).tokens == tok.tokenize(text).tokens
    assert len(jeton.prune(tok, [text], vocab_size=265, remove=["<s>", "word"]).tokenizer) == 265
    few = jeton.prune(tok, keep=[270], remove=["<pad>"]).tokenizer
    assert few.tokenize(tok.vocab[270]).tokens == [tok.vocab[270]]
    assert "<pad>" not in few.special_tokens
    assert jeton.prune(tok, remove=[]).tokenizer.encode(text) == tok.encode(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"remove": ["nothing like it"]}, "remove: .*nothing like it"),
        ({"remove": ["a"]}, "remove: 'a' is an initial symbol"),
        ({"remove": ["Ġw"]}, "remove: 'Ġw' is merged into 'Ġw[a-z]+', which stays"),
        ({"remove": ["he"]}, "remove: 'he' is merged into 'Ġthe', which stays"),
        ({"remove": ["<s>"], "keep": ["<s>"]}, "keep and remove both contain '<s>'"),
        ({"remove": ["<s>"], "vocab_size": 260}, "remove= and vocab_size= together need a corpus"),
        ({"remove": ["<s>"], "corpus": CORPUS, "vocab_size": 282}, "vocab_size=282 is above 281"),
        ({"remove": "<s>"}, "remove='<s>' is not a list"),
        ({"remove": [9999]}, r"remove\[0\]=9999 is not an integer from 0 to 281"),
    ],
)
def test_invalid_removals_are_refused(tok: Tokenizer, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        jeton.prune(tok, **options)


def test_removing_a_token_that_the_model_needs_is_refused() -> None:
    unigram = jeton.train(CORPUS, 40, preset="unigram", progress=False)
    with pytest.raises(ConfigError, match="is the unknown token of the model"):
        jeton.prune(unigram, remove=[unigram.definition.model.unk_token], drop_references=True)
    vocab = [["<unk>", 0.0], ["a", -1.0], ["b", -1.5], ["ab", -9.0], ["ba", -2.0]]
    facts = {"model": {"type": "Unigram", "vocab": vocab, "unk_id": 0, "byte_fallback": False}}
    tok = Tokenizer.from_bytes(json.dumps(facts).encode())
    with pytest.raises(ConfigError, match="'ab' has the lowest score"):
        jeton.prune(tok, remove=["ab"])


def test_removing_byte_tokens_is_refused(data: Path) -> None:
    with pytest.raises(ConfigError, match="'<0x41>' is an initial symbol"):
        jeton.prune(jeton.load(data / "vocabs" / "mistral-v1.model"), remove=[3 + 0x41])


def test_byte_tokens_of_unigram_stay() -> None:
    """In HF's Unigram, byte tokens are ordinary pieces, which spell unknown characters."""
    bytes_of = [[f"<0x{byte:02X}>", -20.0] for byte in range(256)]
    vocab = [["<unk>", 0.0], *bytes_of, ["a", -1.0], ["b", -1.5], ["ab", -2.0], ["ba", -30.0]]
    facts = {"model": {"type": "Unigram", "vocab": vocab, "unk_id": 0, "byte_fallback": True}}
    tok = Tokenizer.from_bytes(json.dumps(facts).encode())
    assert tok.encode("é") == [1 + 0xC3, 1 + 0xA9]
    with pytest.raises(ConfigError, match="'<0xC3>' is an initial symbol"):
        jeton.prune(tok, remove=["<0xC3>"])
    assert jeton.prune(tok, ["a"]).tokenizer.encode("é") == tok.encode("é")
