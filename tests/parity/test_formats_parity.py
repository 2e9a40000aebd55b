"""Equal ids and text in SentencePiece, mistral-common, HF and tiktoken, with real files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.formats import bpe_pair, sentencepiece, tekken, tiktoken, vocab_txt
from tests.material import CORPUS, TRICKY
from tests.selection import amount

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
TEXTS = [*TRICKY, CORPUS]

MODELS = [
    "mistral-v1.model",
    "mistral-v3.model",
    "spm-unigram-en.model",
    "spm-ja.model",
    "mbart-en-fairseq.sentencepiece.bpe.model",
]


@pytest.fixture(scope="module")
def vocabs(data: Path) -> Path:
    return data / "vocabs"


@pytest.fixture(scope="module")
def laws(data: Path) -> list[str]:
    """An excerpt of the Declaration of Human Rights in each of many languages."""
    files = sorted((data / "udhr").iterdir())[:: amount(1, default=5)]
    return [file.read_text("utf-8", errors="replace")[400:2400] for file in files]


@pytest.mark.parametrize("name", MODELS)
def test_sentencepiece_models_give_equal_ids(name: str, vocabs: Path, laws: list[str]) -> None:
    spm = pytest.importorskip("sentencepiece")
    data = (vocabs / name).read_bytes()
    tok, sp = sentencepiece.read(data, source=name), spm.SentencePieceProcessor(model_proto=data)
    again = spm.SentencePieceProcessor(model_proto=sentencepiece.render(tok, ()))
    for text in TEXTS + laws:
        ids = sp.encode(text)
        assert tok.encode(text) == ids, text
        assert again.encode(text) == ids
        assert tok.decode(ids) == sp.decode(ids)


def test_a_custom_layout_gives_the_ids_of_the_tokenizer_json(vocabs: Path) -> None:
    name = "mbart-en-fairseq"
    theirs = json.loads((vocabs / f"{name}.tokenizer.json").read_bytes())
    layout = {"specials": {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}, "shift": 1, "languages": ["en_XX"]}
    data = (vocabs / f"{name}.sentencepiece.bpe.model").read_bytes()
    tok = sentencepiece.read(data, source=name, layout={**layout, "mask": "<mask>"})
    pieces = [piece for piece, _ in theirs["model"]["vocab"]]
    assert tok.vocab_size == len(pieces)
    same = 21_446  # from here on the file lists other pieces than the model has, 9,551 of them
    assert [tok.id_to_token(id) for id in range(same)] == pieces[:same]
    assert {token["content"]: token["id"] for token in theirs["added_tokens"]} == tok.special_tokens


@pytest.mark.parametrize("name", ["tekken_240718.json", "tekken_240911.json"])
def test_tekken_files_give_equal_ids(name: str, laws: list[str], tmp_path: Path) -> None:
    common: Any = pytest.importorskip("mistral_common")
    from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    path = Path(common.__file__).parent / "data" / name
    tok, theirs = tekken.read(path.read_bytes(), source=name), Tekkenizer.from_file(path)
    tekken.write(tok, tmp_path / name, ())
    again = Tekkenizer.from_file(tmp_path / name)
    assert tok.vocab_size == theirs.n_words == again.n_words
    for text in TEXTS + laws:
        ids = theirs.encode(text, bos=True, eos=False)
        assert tok.encode(text, add_special_tokens=True) == ids, text
        assert again.encode(text, bos=True, eos=False) == ids
        assert tok.decode(ids, skip_special_tokens=True) == theirs.decode(ids)
    for id in range(0, tok.vocab_size, 7):
        assert tok.id_to_bytes(id) == theirs.id_to_byte_piece(id, SpecialTokenPolicy.KEEP)


def test_the_pair_of_gpt2_gives_equal_ids(vocabs: Path, laws: list[str], tmp_path: Path) -> None:
    from tokenizers import ByteLevelBPETokenizer

    vocab, merges = bpe_pair.partner(vocabs / "gpt2.vocab.bpe")
    tok = bpe_pair.read(Path(vocab).read_bytes(), Path(merges).read_bytes(), source="gpt2")
    theirs = ByteLevelBPETokenizer(vocab, merges)
    for text in TEXTS + laws:
        assert tok.encode(text) == theirs.encode(text).ids, text
    files = bpe_pair.render(tok, ())
    assert files["merges.txt"] == Path(merges).read_bytes()
    assert json.loads(files["vocab.json"]) == json.loads(Path(vocab).read_bytes())
    ranks = tmp_path / "gpt2.tiktoken"
    tiktoken.write(tok, ranks, ["pattern", "special_tokens"])
    assert ranks.read_bytes() == (vocabs / "r50k_base.tiktoken").read_bytes()


def test_the_vocabulary_of_bert_gives_equal_ids(vocabs: Path, laws: list[str]) -> None:
    from tokenizers import BertWordPieceTokenizer

    path = vocabs / "bert-uncased.vocab.txt"
    tok = vocab_txt.read(path.read_bytes(), source="bert")
    theirs = BertWordPieceTokenizer(str(path), lowercase=True)
    for text in TEXTS + laws:
        expected = theirs.encode(text)
        assert tok.encode(text, add_special_tokens=True) == expected.ids, text
        assert tok.decode(expected.ids, skip_special_tokens=True) == theirs.decode(expected.ids)
    pair = theirs.encode("the old tale", "a man")
    assert tok.encode("the old tale", "a man", add_special_tokens=True) == pair.ids
    assert jeton.Tokenizer.from_bytes(tok.to_bytes()) == tok
