"""The piece U+0000 of a `.model`: unused if the model falls back to bytes, as in sentencepiece 0.2.3."""

from __future__ import annotations

from pathlib import Path

import pytest
import sentencepiece
from sentencepiece import sentencepiece_model_pb2

import jeton
import jeton.compat.sentencepiece as drop_in

MODELS = {"unigram": 1, "bpe": 2, "word": 3, "char": 4}
TYPES = {"normal": 1, "unknown": 2, "control": 3, "user-defined": 4, "unused": 5, "byte": 6}
TEXTS = ("\0", "a\0b", "\0\0a", "ab\0", "x\0", "a")


def model(content: str, kind: int, model_type: int, byte_fallback: bool) -> bytes:
    message = sentencepiece_model_pb2.ModelProto()
    message.trainer_spec.model_type = model_type
    message.trainer_spec.byte_fallback = byte_fallback
    message.normalizer_spec.add_dummy_prefix = False
    message.normalizer_spec.remove_extra_whitespaces = False
    pieces = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), (content, -1.0, kind), ("a", -2.0, 1), ("b", -3.0, 1)]
    if byte_fallback:
        pieces += [(f"<0x{byte:02X}>", 0.0, 6) for byte in range(256)]
    for piece, score, type in pieces:
        message.pieces.add(piece=piece, score=score, type=type)
    return message.SerializeToString()


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", MODELS)
def test_a_nul_piece_is_unused_with_byte_fallback(name: str, kind: str, tmp_path: Path) -> None:
    data = model("\0", TYPES[kind], MODELS[name], True)
    theirs, ours = (library.SentencePieceProcessor(model_proto=data) for library in (sentencepiece, drop_in))
    (tmp_path / "nul.model").write_bytes(data)
    tok = jeton.load(tmp_path / "nul.model")
    for text in TEXTS:
        ids = theirs.encode(text)
        assert ours.encode(text) == tok.encode(text) == tok.encode_batch([text])[0].tolist() == ids, text
        assert ours.decode(ids) == tok.decode(ids) == theirs.decode(ids)
        assert ours.encode(text, out_type=str) == theirs.encode(text, out_type=str)
    for id in (2, 3):
        for method in ("is_unused", "is_control", "is_unknown", "is_byte", "get_score", "id_to_piece"):
            assert getattr(ours, method)(id) == getattr(theirs, method)(id), method
        assert ours.decode([id]) == theirs.decode([id])
    assert ours.piece_to_id(["\0", "<0x00>", "a"]) == theirs.piece_to_id(["\0", "<0x00>", "a"])
    tok.save(tmp_path / "again.model")
    assert jeton.load(tmp_path / "again.model").encode("a\0b") == theirs.encode("a\0b")


@pytest.mark.parametrize("content", ["\0", "a\0", "\0a", "\0\0"])
@pytest.mark.parametrize("kind", ["normal", "control", "user-defined", "unused"])
@pytest.mark.parametrize("byte_fallback", [False, True])
def test_other_models_with_a_nul_piece_are_refused_as_by_sentencepiece(
    content: str, kind: str, byte_fallback: bool
) -> None:
    data = model(content, TYPES[kind], MODELS["unigram"], byte_fallback)
    loaded = []
    for library in (sentencepiece, drop_in):
        try:
            library.SentencePieceProcessor(model_proto=data)
            loaded.append(True)
        except RuntimeError:
            loaded.append(False)
    assert loaded[0] == loaded[1]
