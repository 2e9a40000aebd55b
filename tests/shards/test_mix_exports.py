"""Mixture settings of Megatron and OLMo-core, read back by the rules of their parsers."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.errors import ConfigError, ShardError
from jeton.shards import mixture_settings

from .conftest import texts


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    for name, seed, number in (("web", 1, 200), ("code", 2, 100)):
        (folder / f"{name}.jsonl").write_text(
            "".join(json.dumps({"text": text}) + "\n" for text in texts(seed, number))
        )
    (folder / "none.jsonl").write_text("\n")
    return folder


def make(data: Path, folder: Path, tok: jeton.Tokenizer, mix: dict[str, Any], **options: Any) -> jeton.shards.Mix:
    sources = {name: {"paths": str(data / f"{name}.jsonl"), **one} for name, one in mix.items()}
    options = {"append_eos": True, "progress": False, "task_bytes": 2000, **options}
    return jeton.shards.make_mix({"sources": sources}, folder, tok, **options)


def blend_of(items: list[str]) -> dict[str, float]:
    """Prefix -> weight, as Megatron's `get_blend_from_list` reads a list of even length whose weights are numbers."""
    assert len(items) % 2 == 0
    return dict(zip(items[1::2], map(float, items[::2]), strict=True))


def tokens_of(prefix: str) -> int:
    """Ids of a shard, by the lengths in Megatron's index: magic, version, type, sequences, documents, lengths."""
    head = Path(f"{prefix}.idx").read_bytes()
    assert head[:9] == b"MMIDIDX\x00\x00"
    number = int(np.frombuffer(head, "<i8", 1, 18)[0])
    return int(np.frombuffer(head, "<i4", number, 34).sum())


def test_megatron_settings_have_the_weights_of_the_mix(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    made = make(data, tmp_path / "out", tok, {"web": {"weight": 0.7}, "code": {"weight": 0.3}})
    blend = blend_of(mixture_settings(tmp_path / "out", "megatron").split())
    assert sum(blend.values()) == pytest.approx(1)
    for name, source in made.sources.items():
        own = {prefix: weight for prefix, weight in blend.items() if f"/out/{name}/" in prefix}
        assert len(own) > 3
        assert sum(own.values()) == pytest.approx(made.shares[name])
        for prefix, weight in own.items():
            assert weight == pytest.approx(made.shares[name] * tokens_of(prefix) / source.tokens)


def test_megatron_of_joined_shards(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    made = make(data, tmp_path / "out", tok, {"web": {"weight": 0.7}, "code": {"weight": 0.3}}, join=True)
    blend = blend_of(mixture_settings(tmp_path / "out", "megatron").split())
    assert blend == {f"{tmp_path}/out/web/joined/joined": 0.7, f"{tmp_path}/out/code/joined/joined": 0.3}
    assert [tokens_of(prefix) for prefix in blend] == [source.tokens for source in made.sources.values()]


def test_megatron_settings_of_parts(
    data: Path, tok: jeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mix = {"web": {"weight": 0.5}, "code": {"weight": 0.5}}
    make(data, tmp_path / "out", tok, mix, validation={"validation": 0.1, "test": 0.1}, join=True)
    monkeypatch.chdir(tmp_path)
    found = json.loads(mixture_settings("out", "megatron"))
    assert list(found) == ["train", "valid", "test"]  # the keys that Megatron reads
    assert blend_of(found["train"]) == {f"{tmp_path}/out/train/{name}/joined/joined": 0.5 for name in mix}
    sizes = {name: tokens_of(f"{tmp_path}/out/validation/{name}/joined/joined") for name in mix}
    expected = {
        f"{tmp_path}/out/validation/{name}/joined/joined": size / sum(sizes.values()) for name, size in sizes.items()
    }
    assert blend_of(found["valid"]) == expected
    options = {"progress": False, "validation": 0.2}
    jeton.shards.make_split(data / "web.jsonl", tmp_path / "split", tok, **options)
    found = json.loads(mixture_settings("split", "megatron"))
    assert found == {
        "train": ["1.0", f"{tmp_path}/split/train/shard-00000"],
        "valid": ["1.0", f"{tmp_path}/split/validation/shard-00000"],
        "test": None,
    }


def test_megatron_of_ordinary_shards(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    report = jeton.shards.make(data / "web.jsonl", tmp_path / "out", tok, task_bytes=1000, progress=False)
    blend = blend_of(mixture_settings(f"{tmp_path}/out/", "megatron").split())
    assert len(blend) == report.shards
    for prefix, weight in blend.items():
        assert weight == pytest.approx(tokens_of(prefix) / report.tokens)


def yaml_of(text: str) -> dict[str, Any]:
    """The part of YAML that is written: lists of mappings, and texts as in JSON."""
    head, *lines = text.splitlines()
    found: list[dict[str, Any]] = []
    assert lines[0] == "sources:"
    for line in lines[1:]:
        if line.startswith("  - "):
            found.append({})
        if line.startswith("      - "):
            found[-1]["paths"].append(json.loads(line[8:]))
        else:
            key, _, value = line[4:].partition(":")
            found[-1][key] = json.loads(value) if value else []
    return {"head": head, "sources": found}


def test_olmo_settings_have_the_ratios_of_the_mix(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """OLMo-core requires ratios that add up to 1, and in each source at least its share of the requested tokens."""
    mix = {"web": {"weight": 0.4}, "code": {"weight": 0.6, "max_epochs": 2.5}}
    made = make(data, tmp_path / "out", tok, mix, format="olmo", dtype="uint16")
    text = mixture_settings(tmp_path / "out", "olmo")
    found = yaml_of(text)
    assert found["head"] == f"# requested_tokens: {made.tokens}"
    assert sum(source["target_ratio"] for source in found["sources"]) == pytest.approx(1)
    for source in found["sources"]:
        name = source["source_name"]
        sizes = [Path(path).stat().st_size // 2 for path in source["paths"]]
        assert sum(sizes) == made.sources[name].tokens
        needed = int(made.tokens * source["target_ratio"])
        assert int(sum(sizes) * source.get("max_repetition_ratio", 1.0)) >= needed
        assert source["target_ratio"] == made.shares[name]
    assert made.sources["code"].epochs > 1
    assert found["sources"][1]["max_repetition_ratio"] >= made.sources["code"].epochs


def test_a_repetition_is_rounded_up(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    make(data, tmp_path / "out", tok, {"web": {"epochs": Fraction(7, 3)}, "code": {"epochs": 1}}, format="olmo")
    web, code = yaml_of(mixture_settings(tmp_path / "out", "olmo"))["sources"]
    assert web["max_repetition_ratio"] == 2.333334
    assert "max_repetition_ratio" not in code


def test_sources_without_tokens_are_left_out(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    for format in ("olmo", "megatron"):
        make(data, tmp_path / format, tok, {"web": {"epochs": 1}, "none": {"epochs": 1}}, format=format)
        assert "none" not in mixture_settings(tmp_path / format, format)


def test_unsupported_exports_are_refused(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    make(data, tmp_path / "out", tok, {"web": {"weight": 1}}, format="bin")
    with pytest.raises(
        ConfigError, match="out/web has shards of format 'bin', but olmo reads only its own; make them in"
    ):
        mixture_settings(tmp_path / "out", "olmo")
    with pytest.raises(ConfigError, match="system='nemo' is not one of"):
        mixture_settings(tmp_path / "out", "nemo")
    make(data, tmp_path / "white space", tok, {"web": {"weight": 1}})
    with pytest.raises(ConfigError, match="contains white space, at which Megatron splits its file"):
        mixture_settings(tmp_path / "white space", "megatron")
    make(data, tmp_path / "parts", tok, {"web": {"weight": 1}}, validation=0.5, format="olmo")
    with pytest.raises(ConfigError, match=r"parts has parts, but olmo takes one; pass .*parts/train"):
        mixture_settings(tmp_path / "parts", "olmo")
    assert yaml_of(mixture_settings(tmp_path / "parts" / "train", "olmo"))["sources"]
    with pytest.raises(ShardError, match=r"nothing: no mix\.json"):
        mixture_settings(tmp_path / "nothing", "olmo")
