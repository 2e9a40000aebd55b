"""The drop-in for SentencePiece, alone."""

from __future__ import annotations

import copy
import io
import multiprocessing
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton.compat.sentencepiece as sentencepiece
from jeton import _core
from jeton.compat.sentencepiece import SentencePieceNormalizer, SentencePieceProcessor, SentencePieceTrainer
from jeton.errors import ConfigError, FormatError, UnsupportedFeatureError
from tests.core_only import run_core_only

TEXTS = ["low lower lowest", "slow slower slowest", "the new newer newest, the 12 345", "吾輩は猫である"]


def trained(**options: Any) -> bytes:
    model = io.BytesIO()
    SentencePieceTrainer.train(sentence_iterator=iter(TEXTS * 3), model_writer=model, **options)
    return model.getvalue()


@pytest.fixture(scope="module")
def bpe() -> bytes:
    return trained(model_type="bpe", vocab_size=70)


@pytest.fixture(scope="module")
def unigram() -> bytes:
    return trained(model_type="unigram", vocab_size=60, hard_vocab_limit=False)


# ── sampling ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_samples_differ_and_repeat_with_a_seed(kind: str, request: pytest.FixtureRequest) -> None:
    sp = SentencePieceProcessor(model_proto=request.getfixturevalue(kind))

    def drawn() -> list[list[str]]:
        sentencepiece.set_random_generator_seed(7)
        return [sp.encode("slower lowest", out_type=str, enable_sampling=True, alpha=0.3) for _ in range(50)]

    found = drawn()
    assert found == drawn()
    assert len(set(map(tuple, found))) > 3
    assert all(sp.decode(pieces) == "slower lowest" for pieces in found)
    batch = sp.encode(["slower lowest"] * 50, enable_sampling=True, alpha=0.3)
    assert len(set(map(tuple, batch))) > 3


def test_alpha_has_the_meaning_of_each_model(bpe: bytes, unigram: bytes) -> None:
    sp = SentencePieceProcessor(model_proto=bpe)
    assert sp.sample_encode_as_pieces("lower", -1, 1.0) == ["▁", *"lower"]
    assert sp.sample_encode_as_pieces("lower", -1, 0.0) == sp.encode_as_pieces("lower")
    sp = SentencePieceProcessor(model_proto=unigram)
    best = sp.encode_as_pieces("slower lowest")
    sharp = [sp.sample_encode_as_pieces("slower lowest", -1, 50.0) for _ in range(20)]
    flat = [sp.sample_encode_as_pieces("slower lowest", -1, 0.0) for _ in range(20)]
    assert sharp.count(best) > 15 > flat.count(best)
    assert {tuple(sp.sample_encode_as_pieces("lower", 2, 0.1)) for _ in range(40)} <= set(
        map(tuple, sp.nbest_encode_as_pieces("lower", 2))
    )
    with pytest.raises(ValueError, match="nbest_size"):
        sp.sample_encode_as_pieces("lower", 1, 0.1)


def test_the_time_limit_leaves_the_best_one(unigram: bytes) -> None:
    sp = SentencePieceProcessor(model_proto=unigram)
    text = "slower " * 20_000
    sentencepiece.SetNBestTimeout(1)
    try:
        assert sp.nbest_encode(text, nbest_size=20) == [sp.encode(text)]
    finally:
        sentencepiece.SetNBestTimeout(0)


# ── training ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"input_format": "tsv"}, "input_format"),
        ({"input_sentence_size": 1000}, "input_sentence_size"),
        ({"auto_character_coverage": True}, "auto_character_coverage"),
        ({"seed_sentencepieces_file": "x"}, "seed_sentencepieces_file"),
        ({"precompiled_charsmap": "x"}, "precompiled_charsmap"),
    ],
)
def test_an_option_without_support_is_refused_by_name(options: dict[str, Any], name: str) -> None:
    with pytest.raises(ConfigError, match=name) as error:
        trained(model_type="bpe", vocab_size=70, **options)
    assert error.value.option == name


def test_only_the_first_sentences_are_read() -> None:
    sentences = (f"word{index} low" for index in range(10_000))
    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=sentences, model_writer=model, vocab_size=60, model_type="word",
        input_sentence_size=101, shuffle_input_sentence="false", hard_vocab_limit="false",
    )  # fmt: skip
    sp = SentencePieceProcessor(model_proto=model.getvalue())
    assert sp.piece_to_id(["▁low", "▁word100"])[0] == 3


def test_a_pretokenizer_splits_the_normalized_text(tmp_path: Path) -> None:
    seen: list[str] = []

    def split(text: str) -> list[str]:
        seen.append(text)
        return list(text)

    data = trained(model_type="bpe", vocab_size=70, hard_vocab_limit=False, pretokenizer=split)
    assert seen[0] == "▁low▁lower▁lowest"
    assert all(len(piece) == 1 for piece in _pieces(data))
    whole = trained(model_type="bpe", vocab_size=70, pretokenizer=lambda text: [text])
    assert whole == trained(model_type="bpe", vocab_size=70)
    data = trained(model_type="bpe", vocab_size=60, hard_vocab_limit=False, pretokenization_delimiter="w")
    assert not any("w" in piece[:-1] or "w" in piece[1:] for piece in _pieces(data))


def _pieces(data: bytes) -> list[str]:
    sp = SentencePieceProcessor(model_proto=data)
    ids = [id for id in range(len(sp)) if not sp.is_control(id) and not sp.is_unknown(id)]
    return sp.id_to_piece(ids)  # type: ignore[no-any-return]


def test_the_model_has_the_given_options(tmp_path: Path) -> None:
    model_pb2 = pytest.importorskip("jeton.compat.sentencepiece.sentencepiece_model_pb2")
    (tmp_path / "a.txt").write_text("\n".join(TEXTS))
    line = f"--input={tmp_path}/a.txt --model_prefix={tmp_path}/m --model_type=bpe --vocab_size=60 --split_digits"
    SentencePieceTrainer.Train(line)
    model = model_pb2.ModelProto.FromString((tmp_path / "m.model").read_bytes())
    assert (model.trainer_spec.split_digits, model.trainer_spec.model_type) == (True, model_pb2.TrainerSpec.BPE)
    assert model.trainer_spec.input == [f"{tmp_path}/a.txt"]
    assert model.normalizer_spec.name == "nmt_nfkc"
    first = (tmp_path / "m.vocab").read_text().splitlines()[:4]
    assert first[:3] == ["<unk>\t0", "<s>\t0", "</s>\t0"]
    assert first[3] == f"{model.pieces[3].piece}\t{model.pieces[3].score:g}"


def test_errors_of_the_iterator_keep_their_class(bpe: bytes) -> None:
    def fails_later() -> Any:
        yield "low"
        raise OSError("gone")

    for iterator, kind in ((iter([3]), ValueError), (fails_later(), RuntimeError), (["low"], TypeError)):
        with pytest.raises(kind):
            SentencePieceTrainer.train(sentence_iterator=iterator, model_writer=io.BytesIO(), vocab_size=60)


# ── normalizer ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_rules_of_a_file_normalize_text(tmp_path: Path) -> None:
    (tmp_path / "rules.tsv").write_text("U+0041 0042\t0061\n0043\n")
    normalizer = SentencePieceNormalizer(rule_tsv=str(tmp_path / "rules.tsv"), add_dummy_prefix=False)
    assert normalizer.normalize("ABACx") == "aAx"
    assert normalizer.decompile() == [("AB", "a"), ("C", "")]
    (tmp_path / "rules.tsv").write_text("zz\t0061\n")
    with pytest.raises(RuntimeError, match="hexadecimal"):
        SentencePieceNormalizer(rule_tsv=str(tmp_path / "rules.tsv"))


# ── processes and threads ─────────────────────────────────────────────────────────────────────────────────────────


def _ids(sp: SentencePieceProcessor) -> list[int]:
    return sp.encode("slower lowest 猫")  # type: ignore[no-any-return]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processors_work_in_forked_and_spawned_processes(bpe: bytes, method: str) -> None:
    sp = SentencePieceProcessor(model_proto=bpe, add_bos=True)
    expected = _ids(sp)
    assert sp.encode([f"low {index}" for index in range(500)], num_threads=4)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(_ids, [sp] * 4) == [expected] * 4


def test_threads_and_copies(unigram: bytes) -> None:
    sp = SentencePieceProcessor(model_proto=unigram)
    texts = [f"slower lowest {index} 猫" for index in range(300)]
    expected = [sp.encode(text, out_type=str) for text in texts]
    results: list[Any] = []
    threads = [
        threading.Thread(target=lambda: results.append(sp.encode(texts, out_type=str, num_threads=2))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4
    for other in (copy.copy(sp), copy.deepcopy(sp), pickle.loads(pickle.dumps(sp))):
        assert other.encode(texts, out_type=str) == expected


# ── the module ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_arrays_are_read_only_views(bpe: bytes) -> None:
    ids = SentencePieceProcessor(model_proto=bpe).encode("lower", return_type="numpy")
    assert (ids.dtype, ids.flags.writeable, type(ids.base.obj).__name__) == (np.int32, False, "VectorBuffer")


def test_unsupported_functions_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeatureError, match="convert_to_flatbuffer"):
        sentencepiece.ConvertToFlatbuffer(model_proto=b"")
    with pytest.raises(AttributeError, match="sentencepiece"):
        sentencepiece.CalculateEntropy  # noqa: B018
    with pytest.raises(RuntimeError, match="No such file"):
        SentencePieceProcessor(model_file=str(tmp_path / "absent.model"))


def test_only_the_core_dependencies_are_needed(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(ALONE)
    assert run_core_only(tmp_path, "script.py") == "[8, 4, 9, 10, 2] ['▁', 'low'] needs protobuf\n"


ALONE = """
import io
import jeton.compat
sentencepiece = jeton.compat.replace("sentencepiece")
model = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(["low lower lowest"]), model_writer=model, vocab_size=13, model_type="bpe"
)
sp = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
assert sp.encode("low", return_type="numpy").tolist() == sp.encode("low")
try:
    sp.encode_as_proto("low")
    why = ""
except ImportError as error:
    why = "needs protobuf" if "need protobuf" in str(error) else str(error)
print(sp.encode("lower", add_eos=True), sp.encode("low", out_type=str), why)
"""


def test_the_original_is_never_imported() -> None:
    code = """
import sys
import jeton.compat.sentencepiece
import jeton.compat.sentencepiece.training_run
import jeton.compat.sentencepiece.sentencepiece_model_pb2
assert not [name for name in sys.modules if name.split(".")[0] == "sentencepiece"]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_specs_of_odd_files_are_found_and_replaced() -> None:
    piece = b"\x0a\x07\x0a\x05<unk>"
    number, wide = b"\x11" + b"x" * 8, b"\x9a\x00\x81\x00z"  # 64 bits; keys and lengths in more bytes than needed
    assert _core.sentencepiece_specs(piece + number + wide) == [(3, b"z")]
    for file, kept in ((piece + number, piece + number), (piece + wide, piece), (number, number)):
        assert _core.with_sentencepiece_specs(file, b"t", b"n", b"") == kept + b"\x12\x01t\x1a\x01n"
        assert _core.with_sentencepiece_specs(file, b"t", b"n", b"d") == kept + b"\x12\x01t\x1a\x01n\x2a\x01d"
    with pytest.raises(FormatError, match="not a message: a group"):
        _core.sentencepiece_specs(b"\x0b")


def test_fields_of_messages_are_checked() -> None:
    assert _core.read_message(_core.write_message([(1, 5), (2, 0.5), (3, b"x")])) == [(1, 5), (2, 0.5), (3, b"x")]
    for number in (0, 1 << 29):
        with pytest.raises(ValueError, match="is not the number of a field"):
            _core.write_message([(number, 1)])
    for value in (-1, 1 << 64, "x"):
        with pytest.raises(TypeError):
            _core.write_message([(1, value)])  # type: ignore[list-item]
