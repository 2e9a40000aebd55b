"""Step 24: the libraries that the errata name do what the lesson says."""

from __future__ import annotations

import inspect
import io
import random
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.reference.step04_train import train_bytes
from jeton.reference.step05_encode import encode, ranks
from jeton.reference.step15_gpt4 import read_ranks
from jeton.reference.step24_errata import (
    CL100K_SPECIAL,
    MODEL_TYPES,
    encode_with_dropout,
    fairseq_ids,
    kind,
    model_type,
    sizes,
)

TEXT = ["the weather is good today, the wind is good too.", "today we go out, the weather is not good."]


def test_the_kinds_of_bytes_are_those_of_pythons_codec() -> None:
    seen = {byte: set[str]() for byte in range(256)}
    for code in [*range(0xD800), *range(0xE000, 0x110000)]:
        first, *rest = chr(code).encode()
        seen[first].add(f"begins {1 + len(rest)} bytes" if rest else "ASCII")
        for byte in rest:
            seen[byte].add("continues")
    assert [kind(byte) for byte in range(256)] == ["".join(seen[byte]) or "never" for byte in range(256)]


@pytest.mark.parametrize("name", ["unigram", "bpe", "word", "char"])
def test_the_type_of_a_model_is_read_from_its_bytes(name: str) -> None:
    sentencepiece: Any = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    options = {"vocab_size": 20, "hard_vocab_limit": False, "minloglevel": 2}
    if name in ("word", "char"):
        options |= {"use_all_vocab": True}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT), model_writer=model, model_type=name, **options
    )
    names = dict(zip(["unigram", "bpe", "word", "char"], MODEL_TYPES.values(), strict=True))
    assert model_type(model.getvalue()) == names[name]


def test_names_of_published_models_mislead_about_their_type(data: Path) -> None:
    types = {path.name: model_type(path.read_bytes()) for path in (data / "vocabs").glob("*.model")}
    assert types["mbart-en-fairseq.sentencepiece.bpe.model"] == "Unigram"
    assert types["mistral-v1.model"] == "BPE"
    for name, found in types.items():
        assert (jeton.load(data / "vocabs" / name).definition.model.type == "Unigram") == (found == "Unigram")


def test_transformers_reads_xlm_r_as_unigram() -> None:
    module: Any = pytest.importorskip("transformers.models.xlm_roberta.tokenization_xlm_roberta")
    assert module.VOCAB_FILES_NAMES["vocab_file"] == "sentencepiece.bpe.model"
    assert "Unigram(" in inspect.getsource(module)
    assert "BPE(" not in inspect.getsource(module)


def test_the_ids_of_fairseq_are_those_of_transformers() -> None:
    converters: Any = pytest.importorskip("transformers.convert_slow_tokenizer")
    proto: Any = pytest.importorskip("sentencepiece.sentencepiece_model_pb2").ModelProto()
    pieces = ["<unk>", "<s>", "</s>", *(f"piece {number}" for number in range(3, 50))]
    for piece in pieces:
        proto.pieces.add(piece=piece, score=0.0)
    vocab = converters.XLMRobertaConverter.vocab(None, proto)
    assert {name: id for id, (name, _) in enumerate(vocab)} == fairseq_ids(pieces)
    assert len(vocab) == 50 + 2


def test_sentencepiece_drops_no_merges_unless_asked() -> None:
    sentencepiece: Any = pytest.importorskip("sentencepiece")
    parameters = inspect.signature(sentencepiece.SentencePieceProcessor.__init__).parameters
    assert (parameters["enable_sampling"].default, parameters["alpha"].default) == (False, 0.1)
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT), model_writer=model, model_type="bpe", vocab_size=32, minloglevel=2
    )
    tok = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    assert len({tuple(tok.encode("the weather")) for _ in range(200)}) == 1
    assert len({tuple(tok.encode("the weather", enable_sampling=True, alpha=0.1)) for _ in range(200)}) > 1


def test_dropout_of_0_is_the_encoder_and_of_1_no_merge() -> None:
    rng = random.Random(24)
    table = ranks(train_bytes("abcababcaabc abc cab", 270))
    for _ in range(300):
        ids = rng.choices(list(b"abc "), k=rng.randrange(12))
        assert encode_with_dropout(ids, table, 0.0, rng) == encode(ids, table)
        assert encode_with_dropout(ids, table, 1.0, rng) == ids


def test_the_sizes_of_cl100k(data: Path) -> None:
    rank_of = read_ranks((data / "vocabs" / "cl100k_base.tiktoken").read_bytes())
    found = sizes(rank_of, CL100K_SPECIAL)
    assert found == (100_255, 100_256, 100_261, 100_277)
    tok = jeton.load(data / "vocabs" / "cl100k_base.tiktoken")
    assert (len(tok), tok.vocab_size, tok.special_tokens) == (found.tokens, found.rows, CL100K_SPECIAL)
    tiktoken: Any = pytest.importorskip("tiktoken")
    public: Any = pytest.importorskip("tiktoken_ext.openai_public")
    theirs = tiktoken.Encoding("cl100k", pat_str=".", mergeable_ranks=rank_of, special_tokens=CL100K_SPECIAL)
    assert theirs.n_vocab == found.rows
    assert "ENDOFPROMPT: 100276" in inspect.getsource(public.cl100k_base)


def test_rank_files_without_special_tokens_end_at_the_highest_rank() -> None:
    assert sizes({b"a": 0, b"b": 1}, {}) == (1, 2, 2, 2)
