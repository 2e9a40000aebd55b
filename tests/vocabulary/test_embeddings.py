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
from jeton.vocabulary.embeddings import _config, _files, _spelled
from jeton.vocabulary.plan import Plan
from jeton.vocabulary.safetensors_file import SafetensorsFile, Tensor, from_float, to_float, write_file

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


def test_rows_of_a_shape_are_listed_up_to_eight() -> None:
    for shape, expected in (
        ((), "[]"),
        ((3,), "[3]"),
        ((1,) * 8, f"[{', '.join('1' * 8)}]"),
        ((2,) * 9, "[2, 2, 2, 2, 2, 2, 2, 2, …]"),
    ):
        assert _spelled(Tensor("a", "F32", shape, 0, 0)) == expected


@pytest.mark.parametrize("block", [1, 39, 40, 100, 1 << 20])
def test_results_do_not_depend_on_the_size_of_blocks(
    tok: jeton.Tokenizer, done: jeton.Surgery, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, block: int
) -> None:
    """Rows that are copied, means, noise and a donor's, over the boundaries of blocks; rows have 20 bytes."""
    values = matrices(tok.vocab_size + 3)
    save(tmp_path / "in.safetensors", {name: ("F32", each) for name, each in values.items()})
    donor = jeton.Tokenizer.from_merges({0: b"wider", 1: b"x"}, [])
    save(tmp_path / "donor.safetensors", {name: ("F64", each) for name, each in matrices(2, 3).items()})
    plans = [done.plan, done.plan.by("noise", seed=4), done.plan.by("donor", donor=donor, seed=5)]
    plans.append(jeton.renumber(tok, np.roll(np.arange(tok.vocab_size), 7)).plan)
    plans.append(jeton.prune(tok, keep=[], compact=False).plan)

    def results() -> list[dict[str, np.ndarray[Any, Any]]]:
        found = []
        for plan in plans:
            plan.apply(
                tmp_path / "in.safetensors",
                tmp_path / "out.safetensors",
                multiple_of=8,
                donor=tmp_path / "donor.safetensors",
            )
            found.append(load(tmp_path / "out.safetensors"))
        return [*found, {"read": read_embeddings(tmp_path / "in.safetensors")}]

    whole = results()
    monkeypatch.setattr("jeton.vocabulary.embeddings.BLOCK", block)
    monkeypatch.setattr("jeton.vocabulary.safetensors_file.BLOCK", block)
    for one, other in zip(whole, results(), strict=True):
        assert one.keys() == other.keys()
        for name, each in one.items():
            assert (each == other[name]).all()
    assert (whole[-1]["read"] == values["model.embed_tokens.weight"].astype(np.float32)).all()
    theirs = matrices(2, 3)["lm_head.weight"].astype(np.float32)
    assert (whole[2]["lm_head.weight"][done.tokenizer.token_to_id("wider")] == theirs[0]).all()


def test_noise_has_the_mean_and_the_deviation_of_the_old_rows(tmp_path: Path) -> None:
    old = jeton.Tokenizer.from_merges({id: str(id).encode() for id in range(50)}, [])
    new = jeton.Tokenizer.from_merges({id: str(id).encode() for id in range(4050)}, [])
    ids = np.arange(4050)
    plan = Plan.make(old, new, np.where(ids < 50, ids, -1)).by("noise", seed=3)
    random = np.random.default_rng(1)
    rows = random.normal(size=(52, 3)) * [1, 0, 10] + [5, 2, -30]
    rows[50:] = 1e6  # padding
    save(tmp_path / "in.safetensors", {"wte.weight": ("F64", rows), "lm_head.weight": ("F64", rows)})
    plan.apply(tmp_path / "in.safetensors", tmp_path / "out.safetensors")
    after = load(tmp_path / "out.safetensors")
    noise = after["wte.weight"][50:]
    assert noise.mean(axis=0) == pytest.approx(rows[:50].mean(axis=0), abs=1)
    assert noise[:, 1] == pytest.approx(2.0, abs=1e-6)
    assert noise[:, [0, 2]].std(axis=0) == pytest.approx(rows[:50, [0, 2]].std(axis=0), rel=0.05)
    assert abs(np.corrcoef(noise[:, 0], after["lm_head.weight"][50:, 0])[0, 1]) < 0.1  # each tensor has its own


def test_names_that_are_usual(tok: jeton.Tokenizer, done: jeton.Surgery, tmp_path: Path) -> None:
    rows = np.ones((tok.vocab_size, 2))
    names = [
        "output.weight",
        "attention.output.weight",
        "transformer.wte.weight",
        "x.embed_in.weight",
        "embed_out.weight",
    ]
    save(tmp_path / "in.safetensors", dict.fromkeys(names, ("F32", rows)))
    changed = done.plan.apply(tmp_path / "in.safetensors", tmp_path / "out.safetensors")
    assert changed == {name: [done.tokenizer.vocab_size, 2] for name in names if name != "attention.output.weight"}
    changed = done.plan.apply(tmp_path / "in.safetensors", tmp_path / "out.safetensors", names=[names[1], names[4]])
    assert [*changed] == [names[1], names[4]]
    assert (read_embeddings(tmp_path / "in.safetensors", names[1]) == rows).all()
    with SafetensorsFile(tmp_path / "out.safetensors") as opened:
        assert opened.metadata == {"format": "pt"}
        assert list(opened.tensors) == names


@pytest.mark.parametrize(
    ("donors", "message"),
    [
        ({"other.weight": ((2, WIDTH), "F32")}, "there is no tensor 'wte.weight'"),
        ({"wte.weight": ((1, WIDTH), "F32")}, r"has the shape \[1, 5\], which does not fit"),
        ({"wte.weight": ((2, WIDTH + 1), "F32")}, r"has the shape \[2, 6\], which does not fit"),
        ({"wte.weight": ((2,), "F32")}, r"has the shape \[2\], which does not fit"),
        ({"wte.weight": ((2, WIDTH), "F16")}, None),
        ({"wte.weight": ((3, WIDTH), "BF16")}, None),
    ],
)
def test_tensors_of_a_donor(
    tok: jeton.Tokenizer, done: jeton.Surgery, tmp_path: Path, donors: dict[str, Any], message: str | None
) -> None:
    save(tmp_path / "in.safetensors", {"wte.weight": ("F32", np.ones((tok.vocab_size, WIDTH)))})
    folder = tmp_path / "donor"
    folder.mkdir()
    save(folder / "a.safetensors", {"x": ("F32", np.ones(1))})
    save(folder / "b.safetensors", {name: (dtype, np.full(shape, 3.0)) for name, (shape, dtype) in donors.items()})
    weight_map = {"x": "a.safetensors", "y": "b.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    donor = jeton.Tokenizer.from_merges({0: b"x", 1: b"wider"}, [])
    plan = done.plan.by("donor", donor=donor)
    assert plan.of(done.tokenizer.token_to_id("wider")) == ("donor", 1)
    if message:
        with pytest.raises(jeton.ConfigError, match=message):
            plan.apply(tmp_path / "in.safetensors", tmp_path / "out.safetensors", donor=folder)
        return
    plan.apply(tmp_path / "in.safetensors", tmp_path / "out.safetensors", donor=folder)
    assert (load(tmp_path / "out.safetensors")["wte.weight"][done.tokenizer.token_to_id("wider")] == 3).all()


def test_rows_of_half_bytes_are_not_read_from_a_donor(
    tok: jeton.Tokenizer, done: jeton.Surgery, tmp_path: Path
) -> None:
    save(tmp_path / "in.safetensors", {"wte.weight": ("F32", np.ones((tok.vocab_size, WIDTH)))})
    write_file(tmp_path / "donor.safetensors", [("wte.weight", "F4", (2, WIDTH), WIDTH, [bytes(WIDTH)])], None)
    plan = done.plan.by("donor", donor=jeton.Tokenizer.from_merges({0: b"wider", 1: b"x"}, []))
    with pytest.raises(jeton.UnsupportedFeatureError, match="F4"):
        plan.apply(tmp_path / "in.safetensors", tmp_path / "out.safetensors", donor=tmp_path / "donor.safetensors")


def test_a_tensor_without_dimensions_has_no_rows(tok: jeton.Tokenizer, done: jeton.Surgery, tmp_path: Path) -> None:
    save(tmp_path / "in.safetensors", {"lm_head.bias": ("F32", np.array(1.0))})
    with pytest.raises(jeton.ConfigError, match=r"shape \[\], but the tokenizer has 266 ids"):
        done.plan.apply(tmp_path / "in.safetensors", tmp_path / "out.safetensors")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"vocab_size": 1, "x": "é"}, {"vocab_size": 9, "x": "é"}),
        ({"x": 1}, {"x": 1}),
        ({"text_config": {"vocab_size": 1, "y": 2}}, {"text_config": {"vocab_size": 9, "y": 2}}),
        ({"vocab_size": 1, "text_config": {"y": 2}}, {"vocab_size": 9, "text_config": {"y": 2}}),
        ({"text_config": "vocab_size"}, {"text_config": "vocab_size"}),
        ({"vision_config": {"vocab_size": 1}}, {"vision_config": {"vocab_size": 1}}),
    ],
)
def test_configurations_with_the_number_of_ids(tmp_path: Path, config: Any, expected: Any) -> None:
    path = tmp_path / "config.json"
    assert _config(path, 9) is None
    path.write_text(json.dumps(config), encoding="utf-8")
    made = _config(path, 9)
    assert made is not None
    assert json.loads(made) == expected
    assert made.startswith(b'{\n  "'), "indented as in Hugging Face's files"
    assert ("é" in made.decode()) == ("x" in config and config["x"] == "é")


def test_an_index_names_the_files(tok: jeton.Tokenizer, done: jeton.Surgery, tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    (folder / "more").mkdir(parents=True)
    save(folder / "b.safetensors", {"wte.weight": ("F16", np.ones((tok.vocab_size, 2)))})
    save(folder / "model.safetensors", {"wte.weight": ("F16", np.ones((3, 3)))})  # not in the index
    index = folder / "model.safetensors.index.json"
    header = b'{ "bias": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]} }'
    (folder / "c.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"x")
    weight_map = {"wte.weight": "b.safetensors", "bias": "c.safetensors"}
    index.write_text(json.dumps({"metadata": None, "weight_map": weight_map, "x": 1}))
    (folder / "config.json").write_text('{"vocab_size": 1}')
    (folder / "merges.txt").write_text("old")
    (folder / "notes.txt").write_text("new")
    assert done.plan.apply(index, out, multiple_of=4) == {"wte.weight": [276, 2]}
    assert sorted(path.name for path in out.iterdir()) == [
        *("b.safetensors", "c.safetensors", "config.json", index.name, "notes.txt")
    ]
    assert (out / "c.safetensors").read_bytes() == (folder / "c.safetensors").read_bytes()
    assert json.loads((out / index.name).read_text()) == {
        "metadata": {"total_size": 276 * 4 + 1},
        "weight_map": weight_map,
        "x": 1,
    }
    assert json.loads((out / "config.json").read_text()) == {"vocab_size": 276}
    (out / "notes.txt").write_text("own")
    done.plan.apply(folder, out)
    assert (out / "notes.txt").read_text() == "own"
    assert _files(folder) == ([folder / "b.safetensors", folder / "c.safetensors"], json.loads(index.read_text()))
    index.unlink()
    assert _files(folder) == ([folder / "model.safetensors"], None)
    with pytest.raises(FileNotFoundError) as error:
        _files(folder / "d.safetensors")
    assert (error.value.errno, error.value.filename) == (2, str(folder / "d.safetensors"))


def test_the_source_is_not_overwritten(tok: jeton.Tokenizer, done: jeton.Surgery, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save(path, {"wte.weight": ("F32", np.ones((tok.vocab_size, 2)))})
    before = path.read_bytes()
    (tmp_path / "link.safetensors").symlink_to(path)
    for source, target in ((path, path), (path, tmp_path / "link.safetensors"), (tmp_path, tmp_path)):
        with pytest.raises(jeton.ConfigError, match="target is the same as source"):
            done.plan.apply(source, target)
    assert path.read_bytes() == before
    assert done.plan.apply(tmp_path, tmp_path / "out") == {"wte.weight": [done.tokenizer.vocab_size, 2]}
    assert (tmp_path / "out" / "model.safetensors").exists()


def test_values_are_rounded_to_the_nearest() -> None:
    # BF16 has 8 bits of mantissa: 1 + 2^-8 and 1 + 3 * 2^-8 are ties.
    ties = np.array([[1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-8 + 2.0**-16, 1 + 2.0**-9, -1 - 3 * 2.0**-8, 0.0]])
    expected = [1, 1 + 4 * 2.0**-8, 1 + 2.0**-7, 1, -1 - 4 * 2.0**-8, 0]
    assert to_float(from_float(ties, "BF16"), "BF16").tolist() == [expected]
    for dtype, size in (("F64", 8), ("F32", 4), ("F16", 2), ("BF16", 2)):
        values = np.arange(-6.0, 6).reshape(3, 4)
        assert from_float(values, dtype).shape == (3, 4 * size)
        assert (to_float(from_float(values, dtype), dtype) == values).all()


@pytest.mark.parametrize("name", ["a" * size for size in range(1, 10)])
def test_headers_are_padded_to_eight_bytes(tmp_path: Path, name: str) -> None:
    write_file(tmp_path / "a", [(name, "U8", (3,), 3, [b"ab", b"c"])], None)
    data = (tmp_path / "a").read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    assert (length % 8, len(data)) == (0, 8 + length + 3)
    assert json.loads(data[8 : 8 + length]) == {name: {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]}}
    assert len(data[8 : 8 + length].rstrip()) > length - 8
    assert data[-3:] == b"abc"


def test_names_are_written_as_they_are(tmp_path: Path) -> None:
    write_file(tmp_path / "a", [("é", "U8", (1,), 1, [b"a"])], {"ü": "ß"})
    assert '{"__metadata__":{"ü":"ß"},"é":{' in (tmp_path / "a").read_bytes().decode()


def test_headers_have_a_maximum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    write_file(path, [("a", "U8", (1,), 1, [b"a"])], None)
    length = struct.unpack("<Q", path.read_bytes()[:8])[0]
    monkeypatch.setattr("jeton.vocabulary.safetensors_file.MAX_HEADER", length)
    write_file(path, [("a", "U8", (1,), 1, [b"a"])], None)
    SafetensorsFile(path).__exit__()
    monkeypatch.setattr("jeton.vocabulary.safetensors_file.MAX_HEADER", length - 1)
    with pytest.raises(jeton.FormatError, match=f"the header would have {length} bytes, over the maximum"):
        write_file(tmp_path / "b", [("a", "U8", (1,), 1, [b"a"])], None)
    with pytest.raises(jeton.FormatError, match=f"its header has {length} bytes; the maximum is {length - 1}"):
        SafetensorsFile(path)
    path.write_bytes(struct.pack("<Q", 2) + b"{}")
    SafetensorsFile(path).__exit__()
    for data, message in ((b"1234567", "fewer than 8"), (b"\0" * 8, "line 1"), (b"\3" + b"\0" * 7 + b"{}", "longer")):
        path.write_bytes(data)
        with pytest.raises(jeton.FormatError, match=message):
            SafetensorsFile(path)
