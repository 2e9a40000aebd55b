"""Generated calls of the drop-in for SentencePiece and of sentencepiece: `tools/compat_calls_sentencepiece.py`."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest
from tools.compat_calls_sentencepiece import differences, small_models

import jeton.compat.sentencepiece as drop_in
from tests.selection import amount, rest_is_slow

peer = pytest.importorskip("sentencepiece", reason="sentencepiece is a test dependency")

DATA = os.environ.get("JETON_TEST_DATA")


@pytest.mark.parametrize("seed", range(2))
def test_generated_calls_give_equal_results(seed: int) -> None:
    found, counts = differences(amount(2_000, default=120), 100 + seed, Path(DATA) if DATA else None)
    assert not found, "\n".join(found)
    assert len(counts) > 25


def test_the_drop_in_has_every_public_name() -> None:
    assert {name for name in dir(peer) if name[0].isalpha() and callable(getattr(peer, name))} <= set(dir(drop_in))
    for kind in ("SentencePieceProcessor", "SentencePieceTrainer", "SentencePieceNormalizer"):
        theirs = {name for name in dir(getattr(peer, kind)) if not name.startswith("_")}
        assert theirs - set(dir(getattr(drop_in, kind))) == set()


@pytest.mark.parametrize("name", ["sentencepiece_pb2", "sentencepiece_model_pb2"])
def test_messages_have_equal_descriptors(name: str) -> None:
    descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2")
    ours = importlib.import_module(f"jeton.compat.sentencepiece.{name}").DESCRIPTOR
    try:
        theirs = importlib.import_module(f"sentencepiece.{name}").DESCRIPTOR
    except Exception as error:  # generated for a newer protobuf
        pytest.skip(f"sentencepiece.{name}: {error}")
    found = [descriptor_pb2.FileDescriptorProto.FromString(each.serialized_pb) for each in (theirs, ours)]
    assert found[1] == found[0]


@pytest.mark.parametrize("kind", ["bpe", "bpe_bytes", "word", "char"])
def test_the_files_of_both_trainers_load_in_both(kind: str) -> None:
    data = small_models()[kind]
    ours = drop_in.SentencePieceProcessor(model_proto=data)
    assert ours.serialized_model_proto() == data
    assert peer.SentencePieceProcessor(model_proto=ours.serialized_model_proto()).vocab_size() == len(ours)


@pytest.mark.parametrize("model_type", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "pieces",
    [
        [("<unk>", 2), ("<s>", 3)],
        [("<unk>", 2), ("a\0", 1)],
        [("<unk>", 2), ("a", 1), ("\0", 3)],
        [("<unk>", 2), ("a", 1), ("\0", 5)],
        [("<unk>", 2), ("a", 5)],
        [("<unk>", 2), ("a", 4)],
        [("<unk>", 2), ("", 1)],
        [("<unk>", 2), ("a", 1), ("a", 1)],
        [("a", 1)],
        [],
    ],
    ids=ascii,
)
def test_drop_in_and_original_refuse_equal_models(model_type: int, pieces: list[tuple[str, int]]) -> None:
    pytest.importorskip("google.protobuf")
    model = importlib.import_module("jeton.compat.sentencepiece.sentencepiece_model_pb2").ModelProto()
    model.trainer_spec.model_type = model_type
    for piece, kind in pieces:
        model.pieces.add(piece=piece, type=kind, score=-1.0)
    loads = []
    for module in (peer, drop_in):
        try:
            module.SentencePieceProcessor(model_proto=model.SerializeToString())
            loads.append(True)
        except RuntimeError:
            loads.append(False)
    assert loads[1] == loads[0]


NAMES = rest_is_slow(
    ["nmt_nfkc_cf", "nfkc_cf", "nmt_nfkc", "nfkc"],
    lambda name: name == "nmt_nfkc_cf",
    "one of them has all their rules",
)


@pytest.mark.parametrize("name", NAMES)
def test_named_rules_are_equal(name: str) -> None:
    assert drop_in.SentencePieceNormalizer(rule_name=name).decompile() == (
        peer.SentencePieceNormalizer(rule_name=name).Decompile()
    )


def test_pickles_of_the_original_load() -> None:
    state = peer.SentencePieceProcessor(model_proto=small_models()["bpe"], add_bos=True, out_type=str).__getstate__()
    sp = drop_in.SentencePieceProcessor.__new__(drop_in.SentencePieceProcessor)
    sp.__setstate__(state)
    assert sp.encode("low") == ["<s>", *sp.encode("low", add_bos=False)]
