"""Mixes: a folder for each source, amounts from the counts, and errors of mix files."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.errors import ConfigError, FormatError, ShardError
from jeton.shards.mix import resolved
from jeton.shards.mix_file import MixFile

from .conftest import facts_of, rewrite, stored, texts

Settings = dict[str, Any]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three sources of 200, 100 and 50 rows, the second with another field."""
    folder = tmp_path_factory.mktemp("sources")
    for name, seed, number in (("web", 1, 200), ("code", 2, 100), ("wiki", 3, 50)):
        field = "content" if name == "code" else "text"
        rows = [json.dumps({field: f"{name} {text}"}) for text in texts(seed, number)]
        (folder / f"{name}.jsonl").write_text("\n".join(rows))
    return folder


def mix_of(data: Path, **sources: Settings) -> Settings:
    """A mix; its sources are those of `data`."""
    fields = {"code": {"field": "content"}}
    made = {
        name: {"paths": str(data / f"{name}.jsonl"), **fields.get(name, {}), **one} for name, one in sources.items()
    }
    return {"sources": made}


def make(mix: Any, folder: Path, tok: jeton.Tokenizer, **options: Any) -> jeton.shards.Mix:
    options = {"append_eos": True, "progress": False, "task_bytes": 2000, "format": "bin", **options}
    return jeton.shards.make_mix(mix, folder, tok, **options)


def times(folder: Path) -> dict[str, int]:
    """Modification time of each file of the shards, except the mix itself."""
    return {
        str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file() and path.name != "mix.json"
    }


def test_sources_are_ordinary_folders(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    made = make(mix_of(data, web={"weight": 3}, code={"weight": 1}), tmp_path / "out", tok)
    for name, source in made.sources.items():
        corpus = jeton.Corpus(data / f"{name}.jsonl", field="content" if name == "code" else "text")
        plain = {"append_eos": True, "progress": False, "task_bytes": 2000, "format": "bin"}
        report = jeton.shards.make(corpus, tmp_path / name, tok, **plain)
        assert stored(tmp_path / "out" / name) == stored(tmp_path / name)
        assert (source.documents, source.items, source.tokens) == (report.documents, report.documents, report.tokens)
        assert jeton.shards.verify(tmp_path / "out" / name, progress=False).is_valid
    assert jeton.shards.mix(tmp_path / "out") == made
    assert made.shares == {"web": 0.75, "code": 0.25}


def test_a_changed_mix_reuses_encoded_sources(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    first = make(mix_of(data, web={"weight": 3}, code={"weight": 1}), tmp_path / "out", tok)
    before = times(tmp_path / "out")
    (data / "web.jsonl").rename(tmp_path / "elsewhere")
    (data / "web.jsonl").symlink_to(tmp_path / "elsewhere")  # size and time are equal, so it is not read
    try:
        second = make(mix_of(data, code={"epochs": 2.5}, web={"samples": 50}), tmp_path / "out", tok)
        assert times(tmp_path / "out") == before
        assert second != first
        assert [float(source.epochs) for source in second.sources.values()] == [2.5, 50 / second.sources["web"].items]
        third = make(mix_of(data, web={"weight": 1}, wiki={"weight": 1}), tmp_path / "out", tok)
        assert {name: time for name, time in times(tmp_path / "out").items() if name in before} == before
        assert list(third.sources) == ["web", "wiki"]
        make(mix_of(data, web={"weight": 1}), tmp_path / "out", tok, join=True)
        assert (tmp_path / "out" / "web" / "joined" / "joined.bin").exists()
    finally:
        (data / "web.jsonl").unlink()
        (tmp_path / "elsewhere").rename(data / "web.jsonl")


def test_amounts_are_exact(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """In random mixes, each amount follows its definition, and shares are proportional to weights."""
    everything = mix_of(data, web={"epochs": 1}, code={"epochs": 1}, wiki={"epochs": 1})
    sizes = {name: (one.items, one.tokens) for name, one in make(everything, tmp_path / "out", tok).sources.items()}
    rng = random.Random(3)
    for _ in range(300):
        names = rng.sample(list(sizes), rng.randint(1, 3))
        settings: Settings = {}
        for name in names:
            amount = rng.choice(["weight", "epochs", "tokens", "samples"])
            value = rng.choice([0.1, 1, 2.5, 7]) if amount in ("weight", "epochs") else rng.randint(1, 20)
            settings[name] = {amount: value} | ({} if amount == "epochs" else {"max_epochs": 1000})
        weights = {name: Fraction(str(one["weight"])) for name, one in settings.items() if "weight" in one}
        facts: Settings = {"sources": settings}
        if weights and (len(weights) < len(names) or rng.random() < 0.5):
            facts["tokens"] = 1_000_000
        found = resolved(MixFile.from_json(facts, "mix.json"), tmp_path / "out")
        taken = {name: one.epochs * one.tokens for name, one in found.sources.items()}
        for name, one in settings.items():
            items, _ = sizes[name]
            if "epochs" in one:
                assert found.sources[name].epochs == Fraction(str(one["epochs"]))
            elif "tokens" in one:
                assert taken[name] == one["tokens"]
            elif "samples" in one:
                assert found.sources[name].epochs == Fraction(one["samples"], items)
            else:
                assert taken[name] / weights[name] == taken[next(iter(weights))] / weights[next(iter(weights))]
        if "tokens" in facts:
            assert sum(taken.values()) == 1_000_000
        elif weights:
            assert max(one.epochs for one in found.sources.values()) == 1000
        assert sum(found.shares.values()) == pytest.approx(1)


def test_weights_alone_use_the_largest_total(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    made = make(mix_of(data, web={"weight": 0.5}, code={"weight": 0.5}), tmp_path / "out", tok)
    assert {name: one.epochs == 1 for name, one in made.sources.items()} == {"web": False, "code": True}
    again = make(mix_of(data, web={"weight": 0.5}, code={"weight": 0.5, "max_epochs": 1.5}), tmp_path / "out", tok)
    assert again.tokens == round(made.tokens * 1.5)
    table = again.to_markdown().splitlines()
    assert len(table) == 4
    assert table[3].startswith("| code | ")
    assert table[3].endswith("| 50.00% |")


def test_packed_sources_count_rows(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    made = make(
        mix_of(data, web={"samples": 3}, wiki={"epochs": 1}), tmp_path / "out", tok, pack=32, packing="best_fit"
    )
    web = made.sources["web"]
    assert (web.tokens, web.taken) == (web.items * 32, 96)


def test_validation_of_a_mix_is_one_epoch_of_each_source(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    settings = mix_of(data, web={"weight": 3}, code={"weight": 1})
    made = make(settings, tmp_path / "out", tok, validation={"validation": 0.2})
    assert made.folder == str(tmp_path / "out" / "train")
    held = jeton.shards.mix(tmp_path / "out" / "validation")
    assert {one.epochs for one in held.sources.values()} == {1}
    whole = make(settings, tmp_path / "whole", tok)
    for name, source in whole.sources.items():
        assert made.sources[name].documents + held.sources[name].documents == source.documents
    with pytest.raises(ShardError, match=r"no mix\.json; .* writes it; .*train has one"):
        jeton.shards.mix(tmp_path / "out")
    few = mix_of(data, web={"weight": 3}, wiki={"weight": 1})
    make(few, tmp_path / "few", tok, validation=0.01)
    held = jeton.shards.mix(tmp_path / "few" / "validation")
    assert {name: one.tokens > 0 for name, one in held.sources.items()} == {"web": True, "wiki": False}
    with pytest.raises(ConfigError, match="its sources have no tokens"):
        make(few, tmp_path / "none", tok, validation=0.0001)


def test_a_mix_is_planned_and_run_on_many_machines(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    settings = mix_of(data, web={"weight": 3}, code={"weight": 1})
    plans = jeton.shards.plan_mix(settings, tmp_path / "out", tok, append_eos=True, format="bin", task_bytes=2000)
    with pytest.raises(ShardError, match=r"the source 'web' is not complete: .*web has no manifest"):
        jeton.shards.mix(tmp_path / "out")
    for name in plans:
        jeton.shards.run(tmp_path / "out" / name, progress=False)
        jeton.shards.merge(tmp_path / "out" / name)
    before = times(tmp_path / "out")
    assert jeton.shards.mix(tmp_path / "out") == make(settings, tmp_path / "out", tok)
    assert times(tmp_path / "out") == before


def test_a_mix_is_read_from_a_file(
    data: Path, tok: jeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths are relative to the file, not to the working directory; a string is a number with a unit."""
    (data / "mix.toml").write_text(
        'tokens = "0.5k"\n[sources.web]\npaths = ["web.jsonl", "wik*.jsonl"]\nweight = 1\n'
        '[sources.code]\npaths = "code.jsonl"\nfield = "content"\ntokens = "100"\n'
    )
    monkeypatch.chdir(tmp_path)
    made = make(data / "mix.toml", tmp_path / "out", tok)
    assert {name: source.taken for name, source in made.sources.items()} == {"web": 400, "code": 100}
    assert made.sources["web"].documents == 250
    assert facts_of(tmp_path / "out" / "mix.json") == {
        "version": 1,
        "tokens": "500",
        "sources": {"web": {"weight": "1"}, "code": {"tokens": "100"}},
    }


ONE = '[sources.web]\npaths = "web.jsonl"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"mix\.toml: it has no sources; add \[sources\.NAME\]"),
        ("sources = 3", "it has no sources"),
        ("[sources.web", r"mix\.toml: not TOML"),
        ("seed = 1", r"unknown entry 'seed'; it may have sources, tokens"),
        (f"{ONE}weigth = 1", r"sources\.web: unknown entry 'weigth'; did you mean 'weight'\?"),
        (ONE, r"sources\.web: it has none of weight, epochs, tokens, samples; give one"),
        (f"{ONE}weight = 1\nepochs = 2", r"sources\.web: it has both weight and epochs; give one"),
        (f"{ONE}weight = 0", r"sources\.web: weight is 0; leave the source out"),
        (f"{ONE}weight = -1", r"sources\.web: weight is -1, expected a positive number"),
        (f"{ONE}weight = nan", r"sources\.web: weight is nan, expected a positive number"),
        (f"{ONE}weight = inf", r"sources\.web: weight is inf, expected a positive number"),
        (f"{ONE}weight = true", r"sources\.web: weight is True, expected a positive number"),
        (f'{ONE}tokens = "20X"', r"sources\.web: tokens is '20X', expected a positive number, like 0\.7 or '20B'"),
        (f'{ONE}tokens = "1/0"', r"sources\.web: tokens is '1/0', expected"),
        (f"{ONE}epochs = 5000", r"sources\.web: epochs is 5000, expected 1 to 1,000"),
        (f"{ONE}weight = 1\nmax_epochs = 0.5", r"sources\.web: max_epochs is 0\.5, expected 1 to 1,000"),
        (f"{ONE}epochs = 2\nmax_epochs = 3", r"sources\.web: max_epochs has no effect beside epochs"),
        (f"tokens = 5\n{ONE}epochs = 1", r"tokens is divided among sources with weights, but there are none"),
        (f"{ONE}weight = 1\n[sources.b]\npaths='b'\nepochs = 1", "'web' has a weight, but 'b' has epochs; add tokens"),
        ("[sources.web]\nweight = 1", r"sources\.web: it has no paths; give a path, glob, folder or URL"),
        ("[sources.web]\nweight = 1\npaths = []", r"sources\.web: paths is \[\]; give a path"),
        ("[sources.web]\nweight = 1\npaths = [3]", r"sources\.web: paths is \[3\]; give a path"),
        (f'{ONE}weight = 1\nerrors = "x"', r"sources\.web: errors='x': expected"),
        ('[sources."../web"]\npaths = "web.jsonl"\nweight = 1', r"'\.\./web' is not the name of a folder"),
        ("[sources]\nweb = 3", r"sources\.web: it is not a table with paths and a weight"),
    ],
)
def test_invalid_mix_files_are_refused(
    text: str, message: str, data: Path, tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / "mix.toml").write_text(text)
    with pytest.raises(FormatError, match=message):
        make(tmp_path / "mix.toml", tmp_path / "out", tok)
    assert not (tmp_path / "out").exists()


def test_missing_files_are_errors(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        make(tmp_path / "mix.toml", tmp_path / "out", tok)
    (tmp_path / "mix.toml").write_text(f"{ONE}weight = 1")
    with pytest.raises(FileNotFoundError, match=r"web\.jsonl"):
        make(tmp_path / "mix.toml", tmp_path / "out", tok)
    assert not (tmp_path / "out" / "mix.json").exists()


def test_budgets_beyond_a_source_are_refused(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    out = tmp_path / "out"
    size = make(mix_of(data, web={"epochs": 1}, code={"epochs": 1}), out, tok).sources["web"].tokens
    kept = (out / "mix.json").read_bytes()
    message = (
        rf"'web' has {size:,} tokens, but the mix takes {size * 2:,} \(2 epochs\), and max_epochs permits no repetition"
    )
    with pytest.raises(ConfigError, match=message + "; take less, or set max_epochs = 2"):
        make(mix_of(data, web={"tokens": size * 2}), out, tok)
    with pytest.raises(ConfigError, match=r"1\.005 epochs\), .*; take less, or set max_epochs = 2"):
        make(mix_of(data, web={"samples": 201}), out, tok)
    with pytest.raises(ConfigError, match=r"'web' .* permits at most 3; take less, or set max_epochs = 10"):
        make(mix_of(data, web={"tokens": size * 10, "max_epochs": 3}), out, tok)
    settings = mix_of(data, web={"weight": 1}, code={"epochs": 1})
    with pytest.raises(
        ConfigError, match="tokens is 1, but the sources without a weight already take all of them; give more"
    ):
        make({"tokens": 1, **settings}, out, tok)
    assert (out / "mix.json").read_bytes() == kept
    assert make(mix_of(data, web={"tokens": size * 2, "max_epochs": 2}), out, tok).tokens == 2 * size


def test_sources_with_different_formats_are_refused(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    make(mix_of(data, web={"weight": 1}), tmp_path / "out", tok)
    other = {"progress": False, "format": "megatron", "append_eos": True}
    jeton.shards.make(data / "wiki.jsonl", tmp_path / "out" / "wiki", tok, **other)
    facts = facts_of(tmp_path / "out" / "mix.json")
    rewrite(tmp_path / "out" / "mix.json", facts | {"sources": {**facts["sources"], "wiki": {"weight": 1}}})
    with pytest.raises(ConfigError, match="its sources differ: 'web' has format 'bin', and 'wiki' 'megatron'"):
        jeton.shards.mix(tmp_path / "out")
    with pytest.raises(ConfigError, match="a mix needs ids, but 'web' has counts of pretokens"):
        make(mix_of(data, web={"weight": 1}), tmp_path / "counts", None, format="counts", append_eos=False)  # type: ignore[arg-type]


def test_sources_without_tokens_are_refused(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    (data / "none.jsonl").write_text('{"text": ""}\n')
    with pytest.raises(ConfigError, match="the source 'none' has no tokens; leave it out"):
        make(mix_of(data, web={"weight": 1}, none={"weight": 1}), tmp_path / "out", tok)
    with pytest.raises(ConfigError, match="its sources have no tokens"):
        make(mix_of(data, none={"epochs": 1}), tmp_path / "out", tok)


def test_a_source_that_grows_is_added_to(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    made = make(mix_of(data, web={"weight": 1}), tmp_path / "out", tok)
    changed = mix_of(data, web={"weight": 1})
    changed["sources"]["web"]["paths"] = [str(data / "web.jsonl"), str(data / "wiki.jsonl")]
    both = make(changed, tmp_path / "out", tok)
    assert both == make(changed, tmp_path / "out", tok)
    wiki = make(mix_of(data, wiki={"weight": 1}), tmp_path / "wiki", tok)
    assert both.tokens == made.tokens + wiki.tokens
    with pytest.raises(ConfigError, match=r"out/web was planned with other inputs: .*wiki\.jsonl is no longer one"):
        make(mix_of(data, web={"weight": 1}), tmp_path / "out", tok)
    jeton.shards.plan(data / "wiki.jsonl", tmp_path / "plain", tok)
    with pytest.raises(ConfigError, match="plain has shards of its own; pass another folder"):
        make(mix_of(data, web={"weight": 1}), tmp_path / "plain", tok)


def test_complete_sources_are_checked(
    data: Path, tok: jeton.Tokenizer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Lost shards are made again, and skipped records are reported each time, as by `make`."""
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes((data / "web.jsonl").read_bytes() + b"\nnot a row\n")
    mix = {"sources": {"bad": {"paths": str(bad), "errors": "skip", "weight": 1}}}
    made = make(mix, tmp_path / "out", tok)
    shard = tmp_path / "out" / "bad" / "shard-00001.bin"
    before = shard.read_bytes()
    shard.unlink()
    assert make(mix, tmp_path / "out", tok) == made
    assert shard.read_bytes() == before
    caplog.clear()
    make(mix, tmp_path / "out", tok)
    assert "skipped 1 record" in caplog.text
    with pytest.raises(ShardError, match="1 of 201 records are skipped, more than max_skipped=0"):
        make(mix, tmp_path / "out", tok, max_skipped=0)


def test_damaged_mixes_are_refused(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    make(mix_of(data, web={"weight": 1}), tmp_path / "out", tok)
    path = tmp_path / "out" / "mix.json"
    good, facts = path.read_bytes(), facts_of(path)
    path.write_bytes(good.replace(b'"1"', b'"2"', 1))
    with pytest.raises(FormatError, match="its bytes have changed"):
        jeton.shards.mix(tmp_path / "out")
    for changed in ({"sources": {"../web": {"weight": "1"}}}, {"sources": {"web": {"weight": "x"}}}, {"sources": []}):
        rewrite(path, {**facts, **changed})
        with pytest.raises(FormatError, match=r"mix\.json"):
            jeton.shards.mix(tmp_path / "out")
    rewrite(path, {**facts, "version": 2})
    with pytest.raises(FormatError, match="version 2; this Jeton reads version 1"):
        jeton.shards.mix(tmp_path / "out")


def test_a_loader_reads_the_mix(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """An epoch has the share of each source in the mix, exact to a row; another mix needs no new shards."""
    settings = mix_of(data, web={"epochs": 2}, wiki={"epochs": 0.5}, none={"epochs": 1})
    (data / "none.jsonl").write_text("\n")
    made = make(settings, tmp_path / "out", tok)
    batches = jeton.shards.loader(tmp_path / "out", rows=8)
    names = {str(tmp_path / "out" / name): source for name, source in made.sources.items() if source.tokens}
    assert made.blend().rows(8) == {name: int(one.epochs * (one.tokens // 8)) for name, one in names.items()}
    assert batches.num_rows == sum(made.blend().rows(8).values())
    rows = [row["input_ids"].ravel().tolist() for row in batches]
    web = np.concatenate(stored(tmp_path / "out" / "web"))
    own = [web[at : at + 8].tolist() for at in range(0, len(web) - 7, 8)]
    assert all(rows.count(row) >= 2 * own.count(row) for row in own)
    few = make(mix_of(data, wiki={"epochs": 1}), tmp_path / "out", tok)
    assert jeton.shards.loader(few.folder, rows=8).num_rows == few.tokens // 8


def test_folders_with_folders_are_named(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    make(mix_of(data, web={"epochs": 2}), tmp_path / "out", tok, validation=0.5)
    with pytest.raises(ShardError, match=r"no manifest\.json; it has parts, each a folder of shards: pass .*out/train"):
        jeton.shards.open(tmp_path / "out")
    with pytest.raises(ShardError, match=r"it has a mix of folders of shards, which jeton\.shards\.loader and"):
        jeton.shards.open(tmp_path / "out" / "train")
    for call in (jeton.shards.status, jeton.shards.verify, jeton.shards.repair):
        parts = r"\(no plan\.json\); it has parts, each a folder of shards: pass .*out/train"
        with pytest.raises(ShardError, match=parts):
            call(tmp_path / "out")
        mix = r"\(no plan\.json\); it has a mix .*; otherwise pass the folder of a source"
        with pytest.raises(ShardError, match=mix):
            call(tmp_path / "out" / "train")


def test_folders_of_other_calls_are_refused(data: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """A call without validation= or the mix would put documents for validation next to those for training."""
    settings, rows = mix_of(data, wiki={"weight": 1}), data / "wiki.jsonl"
    calls: dict[str, Any] = {
        "make": lambda out: jeton.shards.plan(rows, out, tok),
        "split": lambda out: jeton.shards.plan_split(rows, out, tok, validation=0.5),
        "mix": lambda out: jeton.shards.plan_mix(settings, out, tok),
        "parts of a mix": lambda out: jeton.shards.plan_mix(settings, out, tok, validation=0.5),
    }
    for first in calls:
        calls[first](tmp_path / first)
        for second in calls:
            if second == first or (first, second) == ("split", "mix"):
                calls[second](tmp_path / second)
            else:
                with pytest.raises(ConfigError, match=r"repeat that call, or pass another|has shards of its own"):
                    calls[second](tmp_path / first)
