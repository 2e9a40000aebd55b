"""Plans applied to safetensors files equal a plain computation with whole matrices."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.vocabulary import read_embeddings
from jeton.vocabulary.safetensors_file import SafetensorsFile, from_float, to_float, write_file

WIDTH = 5
PRECISION = {"F64": 1e-12, "F32": 1e-6, "F16": 1e-3, "BF16": 1e-2}


@pytest.fixture(scope="module")
def tok() -> jeton.Tokenizer:
    return jeton.train(["low lower lowest newest"], 266, pattern="gpt2", special_tokens=["<|end|>"], progress=False)


@pytest.fixture(scope="module")
def done(tok: jeton.Tokenizer) -> jeton.Surgery:
    return jeton.add_words(tok, [" slowest", "wider"])


def save(path: Path, tensors: dict[str, tuple[str, np.ndarray[Any, Any]]]) -> None:
    rows = []
    for name, (dtype, values) in tensors.items():
        data = from_float(values, dtype).tobytes() if dtype != "I64" else values.astype("<i8").tobytes()
        rows.append((name, dtype, values.shape, len(data), [data]))
    write_file(path, rows, {"format": "pt"})


def load(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    with SafetensorsFile(path) as file:
        return {
            tensor.name: to_float(np.frombuffer(b"".join(file.blocks(tensor)), np.uint8), tensor.dtype).reshape(
                tensor.shape
            )
            for tensor in file.tensors.values()
            if tensor.dtype != "I64"
        }


def matrices(rows: int, seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    random = np.random.default_rng(seed)
    return {
        "model.embed_tokens.weight": random.normal(size=(rows, WIDTH)),
        "model.layers.0.weight": random.normal(size=(3, 4)),
        "lm_head.weight": random.normal(size=(rows, WIDTH)),
        "lm_head.bias": random.normal(size=rows),
    }


@pytest.mark.parametrize("dtype", ["F64", "F32", "F16", "BF16"])
def test_rows_are_copies_and_means(tok: jeton.Tokenizer, done: jeton.Surgery, dtype: str, tmp_path: Path) -> None:
    padded = 272  # more rows than ids
    save(tmp_path / "in.safetensors", {name: (dtype, values) for name, values in matrices(padded).items()})
    before = load(tmp_path / "in.safetensors")
    shapes = done.plan.apply(tmp_path / "in.safetensors", tmp_path / "out.safetensors", multiple_of=16)
    after = load(tmp_path / "out.safetensors")
    rows = -(-done.tokenizer.vocab_size // 16) * 16
    assert shapes == {
        "model.embed_tokens.weight": [rows, WIDTH],
        "lm_head.weight": [rows, WIDTH],
        "lm_head.bias": [rows],
    }
    assert list(after) == list(before)
    assert (after["model.layers.0.weight"] == before["model.layers.0.weight"]).all()
    for name in shapes:
        assert (after[name][: tok.vocab_size] == before[name][: tok.vocab_size]).all()
        for id in range(tok.vocab_size, done.tokenizer.vocab_size):
            kind, terms = done.plan.of(id)
            assert kind == "mean"
            assert sum(terms.values()) == pytest.approx(1)
            pieces = tok.encode(done.tokenizer.id_to_bytes(id))
            expected = before[name][pieces].mean(axis=0)
            assert after[name][id] == pytest.approx(expected, rel=PRECISION[dtype], abs=PRECISION[dtype] / 8)
        assert (after[name][done.tokenizer.vocab_size :] == 0).all()


def test_rows_follow_their_tokens(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    save(tmp_path / "in.safetensors", {name: ("F32", values) for name, values in matrices(tok.vocab_size).items()})
    before = load(tmp_path / "in.safetensors")["lm_head.weight"]
    for made in (
        jeton.prune(tok, keep=[tok.merges[-2][2]]),
        jeton.renumber(tok, {0: 265, 265: 0}),
        jeton.prune(tok, keep=[tok.merges[-2][2]], compact=False),
        jeton.prune(tok, vocab_size=260),
    ):
        made.plan.verify()
        made.plan.apply(tmp_path / "in.safetensors", tmp_path / "out.safetensors")
        after = load(tmp_path / "out.safetensors")["lm_head.weight"]
        for id in made.tokenizer.vocab:
            old = tok.special_tokens.get("<|end|>") if id in made.tokenizer.special_tokens.values() else None
            old = tok.token_to_id(made.tokenizer.id_to_bytes(id)) if old is None else old
            assert (after[id] == before[old]).all()


def test_rows_of_unused_ids_are_zero(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    save(tmp_path / "in.safetensors", {name: ("F32", values) for name, values in matrices(tok.vocab_size).items()})
    before = load(tmp_path / "in.safetensors")["lm_head.weight"]
    gaps = jeton.prune(tok, keep=[], compact=False)
    assert gaps.plan.of(258) == ("zero", None)
    assert gaps.plan.summary() == f"257 copied, {tok.vocab_size - 257} unused"
    gaps.plan.apply(tmp_path / "in.safetensors", tmp_path / "out.safetensors")
    assert (load(tmp_path / "out.safetensors")["lm_head.weight"][256:265] == 0).all()
    more = jeton.add_words(gaps.tokenizer, ["lo"])  # rows of the old matrix stay, even for unused ids
    more.plan.apply(tmp_path / "in.safetensors", tmp_path / "out.safetensors")
    assert (load(tmp_path / "out.safetensors")["lm_head.weight"][: tok.vocab_size] == before).all()


def test_a_folder_of_shards_is_changed_file_by_file(tok: jeton.Tokenizer, done: jeton.Surgery, tmp_path: Path) -> None:
    folder, out = tmp_path / "model", tmp_path / "more"
    folder.mkdir()
    tensors = matrices(tok.vocab_size)
    first = {name: ("BF16", values) for name, values in tensors.items() if name != "lm_head.weight"}
    save(folder / "model-1.safetensors", {**first, "steps": ("I64", np.arange(3))})
    save(folder / "model-2.safetensors", {"lm_head.weight": ("BF16", tensors["lm_head.weight"])})
    save(folder / "model-3.safetensors", {"other": ("F32", np.ones((2, 2)))})
    weight_map = dict.fromkeys([*first, "steps"], "model-1.safetensors")
    weight_map |= {"lm_head.weight": "model-2.safetensors", "other": "model-3.safetensors"}
    index = {"metadata": {"total_size": 1}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "config.json").write_text(json.dumps({"vocab_size": 1, "hidden_size": WIDTH}))
    (folder / "tokenizer.json").write_text("{}")
    (folder / "LICENSE").write_text("free")
    done.plan.apply(folder, out, multiple_of=64)
    assert sorted(path.name for path in out.iterdir()) == [
        "LICENSE",
        "config.json",
        "model-1.safetensors",
        "model-2.safetensors",
        "model-3.safetensors",
        "model.safetensors.index.json",
    ]
    assert json.loads((out / "config.json").read_text()) == {"vocab_size": 320, "hidden_size": WIDTH}
    saved = json.loads((out / "model.safetensors.index.json").read_text())
    assert saved["weight_map"] == weight_map
    assert saved["metadata"]["total_size"] == 320 * (2 * WIDTH + 1) * 2 + 12 * 2 + 24 + 16
    assert load(out / "model-2.safetensors")["lm_head.weight"].shape == (320, WIDTH)
    assert (out / "model-3.safetensors").read_bytes() == (folder / "model-3.safetensors").read_bytes()
    assert (read_embeddings(out)[: tok.vocab_size] == read_embeddings(folder)).all()
    with pytest.raises(jeton.ConfigError, match="target is the same as source"):
        done.plan.apply(folder, folder)


def test_new_rows_follow_the_seed_or_a_function(tok: jeton.Tokenizer, done: jeton.Surgery, tmp_path: Path) -> None:
    save(tmp_path / "in.safetensors", {name: ("F32", values) for name, values in matrices(tok.vocab_size).items()})
    before = load(tmp_path / "in.safetensors")["lm_head.weight"]
    results = []
    for seed in (0, 0, 1):
        done.plan.by("noise", seed=seed).apply(tmp_path / "in.safetensors", tmp_path / "out.safetensors")
        results.append(load(tmp_path / "out.safetensors")["lm_head.weight"])
    assert (results[0] == results[1]).all()
    assert not (results[0] == results[2]).all()
    new = results[0][tok.vocab_size :]
    assert np.abs(new - before.mean(axis=0)).max() < 6 * before.std(axis=0).max()
    assert np.unique(new.round(6), axis=0).shape == new.shape
    plan = done.plan.by(lambda id, token: {97: 0.25, 98: 1.5} if token.endswith(b"r") else None)
    assert plan.of(done.tokenizer.vocab_size - 1) == ("mean", {97: 0.25, 98: 1.5})
    plan.apply(tmp_path / "in.safetensors", tmp_path / "out.safetensors")
    after = load(tmp_path / "out.safetensors")["lm_head.weight"]
    assert after[-1] == pytest.approx(0.25 * before[97] + 1.5 * before[98], rel=1e-5)
    with pytest.raises(jeton.ConfigError, match="method=400"):
        done.plan.by(lambda id, token: {400: 1.0})


def test_new_rows_are_taken_from_a_donor(tok: jeton.Tokenizer, done: jeton.Surgery, tmp_path: Path) -> None:
    donor = jeton.train([" slowest wider"], 300, pattern="gpt2", progress=False)
    known = jeton.align(done.tokenizer, donor).to_b
    random = np.random.default_rng(1)
    save(tmp_path / "in.safetensors", {name: ("F32", values) for name, values in matrices(tok.vocab_size).items()})
    save(tmp_path / "donor.safetensors", {name: ("F32", values) for name, values in matrices(300, 2).items()})
    plan = done.plan.by("donor", donor=donor)
    plan.verify()
    plan.apply(tmp_path / "in.safetensors", tmp_path / "out.safetensors", donor=tmp_path / "donor.safetensors")
    theirs = load(tmp_path / "donor.safetensors")["lm_head.weight"]
    after = load(tmp_path / "out.safetensors")["lm_head.weight"]
    new = [id for id in range(tok.vocab_size, done.tokenizer.vocab_size) if known[id] >= 0]
    assert new
    for id in new:
        assert plan.of(id) == ("donor", known[id])
        assert (after[id] == theirs[known[id]]).all()
    with pytest.raises(jeton.ConfigError, match="donor="):
        plan.apply(tmp_path / "in.safetensors", tmp_path / "out.safetensors")

    # The donor's rows are a linear map of the old ones, so exact combinations transfer.
    old = random.normal(size=(tok.vocab_size, 64)).astype(np.float32)
    shared = jeton.align(tok, donor).to_b
    embeddings = np.zeros((donor.vocab_size, 64), np.float32)
    embeddings[shared[shared >= 0]] = old[shared >= 0]
    id = new[-1]
    a, b = np.flatnonzero(shared >= 0)[[40, 90]]
    embeddings[known[id]] = 0.5 * old[a] - 2 * old[b]
    omp = done.plan.by("omp", donor=donor, embeddings=embeddings, k=8)
    omp.verify()
    kind, terms = omp.of(id)
    assert kind == "mean"
    assert {old_id: round(weight, 4) for old_id, weight in terms.items()} == {a: 0.5, b: -2.0}
    embeddings[known[id]] = old[a]
    focus = done.plan.by("focus", donor=donor, embeddings=embeddings, k=8)
    focus.verify()
    kind, terms = focus.of(id)
    assert max(terms, key=terms.__getitem__) == a
    assert sum(terms.values()) == pytest.approx(1)
    assert min(terms.values()) > 0
    # Rows of zeros belong to tokens unseen by the donor: such entries keep the mean of their pieces and are no anchors.
    embeddings[known[id]] = embeddings[shared[a]] = 0
    for method in ("omp", "focus"):
        unseen = done.plan.by(method, donor=donor, embeddings=embeddings, k=8)  # type: ignore[arg-type]
        assert unseen.of(id) == done.plan.of(id)
        assert not unseen.noise.size
        embeddings[known[id]] = old[a]
        assert a not in done.plan.by(method, donor=donor, embeddings=embeddings, k=8).of(id)[1]  # type: ignore[arg-type]
        embeddings[known[id]] = 0
    for method in ("omp", "focus"):
        with pytest.raises(jeton.ConfigError, match="embeddings"):
            done.plan.by(method, donor=donor)  # type: ignore[arg-type]


def test_tensors_that_do_not_fit_are_refused(tok: jeton.Tokenizer, done: jeton.Surgery, tmp_path: Path) -> None:
    path, out = tmp_path / "in.safetensors", tmp_path / "out.safetensors"
    save(path, {"model.embed_tokens.weight": ("F32", np.ones((10, 2)))})
    with pytest.raises(jeton.ConfigError, match=r"shape \[10, 2\], but the tokenizer has 266 ids"):
        done.plan.apply(path, out)
    save(path, {"nothing": ("F32", np.ones((300, 2)))})
    with pytest.raises(jeton.ConfigError, match="pass names="):
        done.plan.apply(path, out)
    with pytest.raises(jeton.ConfigError, match="'what'"):
        done.plan.apply(path, out, names=["nothing", "what"])
    assert done.plan.apply(path, out, names=["nothing"]) == {"nothing": [done.tokenizer.vocab_size, 2]}
    save(path, {"lm_head.weight": ("I64", np.ones((300, 2)))})
    with pytest.raises(jeton.UnsupportedFeatureError, match="I64"):
        done.plan.apply(path, out)
    with pytest.raises(FileNotFoundError):
        done.plan.apply(tmp_path / "missing.safetensors", out)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        struct.pack("<Q", 10) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 1) + b"{",
        struct.pack("<Q", 12) + b'{"a": [1,2]}',
        struct.pack("<Q", 1 << 63) + b"{}",
        struct.pack("<Q", 56) + b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,12]}} ' + bytes(12),
        struct.pack("<Q", 56) + b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}} ' + bytes(12),
    ],
)
def test_corrupt_files_are_an_error(done: jeton.Surgery, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "in.safetensors"
    path.write_bytes(data)
    with pytest.raises(jeton.FormatError, match="not a file of safetensors"):
        done.plan.apply(path, tmp_path / "out.safetensors")


def test_the_safetensors_library_reads_the_output(tok: jeton.Tokenizer, done: jeton.Surgery, tmp_path: Path) -> None:
    theirs = pytest.importorskip("safetensors.numpy")
    tensors = {name: values.astype(np.float32) for name, values in matrices(tok.vocab_size).items()}
    theirs.save_file(tensors, tmp_path / "in.safetensors")
    done.plan.apply(tmp_path / "in.safetensors", tmp_path / "out.safetensors")
    after = theirs.load_file(tmp_path / "out.safetensors")
    assert after["lm_head.weight"].shape == (done.tokenizer.vocab_size, WIDTH)
    assert (after["lm_head.weight"][: tok.vocab_size] == tensors["lm_head.weight"]).all()


def test_embeddings_are_read_by_name(tmp_path: Path) -> None:
    path = tmp_path / "in.safetensors"
    values = matrices(8)
    save(path, {name: ("F64", each) for name, each in values.items()})
    assert (read_embeddings(path) == values["model.embed_tokens.weight"].astype(np.float32)).all()
    assert (read_embeddings(path, "lm_head.weight") == values["lm_head.weight"].astype(np.float32)).all()
    with pytest.raises(jeton.ConfigError, match="has no tensor x"):
        read_embeddings(path, "x")
