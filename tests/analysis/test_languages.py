"""`languages`: tokens of parallel texts, by their definitions."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import jeton
from jeton.analysis.parallel.registry import FILE, known_language
from jeton.analysis.parallel.texts import PARAGRAPH, parallel_texts
from tests.cli.conftest import Run, run  # noqa: F401  (a fixture)
from tests.material import byte_tokenizer, tokenizer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Parallel texts whose figures are known for a tokenizer of bytes."""
    texts = {"eng": "ten chars!", "rus": "десять букв", "cmn_hans": "十个汉字", "xx_new": "words here", "chr": "Ꭰ"}
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    (tmp_path / ".hidden").write_text("no")
    (tmp_path / "sub").mkdir()
    return tmp_path


def test_figures_equal_a_plain_loop(folder: Path) -> None:
    toks = {"bytes": byte_tokenizer(), "trained": tokenizer("byte o200k")}
    table = jeton.languages(toks, folder, progress=False)
    assert [language.key for language in table.languages] == ["cmn_hans", "eng", "rus", "xx_new"]
    assert table.left_out == ("chr.txt",)
    for language in table.languages:
        text = (folder / f"{language.key}.txt").read_text(encoding="utf-8")
        english = (folder / "eng.txt").read_text(encoding="utf-8")
        for name, tok in toks.items():
            assert table[language.key, name].tokens == len(tok.encode(text))
            assert table.relative(language.key, name) == len(tok.encode(text)) / len(tok.encode(english))


def test_languages_are_described(folder: Path) -> None:
    table = jeton.languages(byte_tokenizer(), folder, progress=False)
    described = {language.key: language[1:] for language in table.languages}
    assert described == {
        "cmn_hans": ("Mandarin Chinese (hans)", "Han", "Sino-Tibetan"),
        "eng": ("English", "Latin", "Indo-European"),
        "rus": ("Russian", "Cyrillic", "Indo-European"),
        "xx_new": ("xx_new", "Latin", "unknown"),
    }


def test_groups_and_gini_equal_plain_python(folder: Path) -> None:
    table = jeton.languages(byte_tokenizer(), folder, progress=False)
    groups = {group.name: group for group in table.groups("script")}
    assert [language.key for language in groups["Latin"].languages] == ["eng", "xx_new"]
    assert groups["Latin"].relative == (median([1.0, 1.0]),)
    assert groups["Latin"].cells[0] == table["eng", "tok"] + table["xx_new", "tok"]
    costs = sorted(cell.tokens for row in table.cells for cell in row)
    pairs = sum(abs(a - b) for a in costs for b in costs)  # the mean difference, over twice the mean
    assert table.gini("tok") == pytest.approx(pairs / (2 * len(costs) * sum(costs)))
    assert next(language.key for language in table.sorted_by().languages) == "rus"


def test_the_paragraph_of_jeton_has_twenty_complete_translations() -> None:
    texts, left_out = parallel_texts(PARAGRAPH, "eng")
    assert len(texts) == 20
    assert not left_out
    assert len({language.script for language in texts}) == 12
    assert all(language.family != "unknown" and text.endswith(b"\n") for language, text in texts.items())


def test_the_registry_is_consistent() -> None:
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    codes = [row["code"] for row in rows] + [row["code2"] for row in rows if row["code2"]]
    assert len(set(codes)) == len(codes)
    assert [row["code"] for row in rows] == sorted(row["code"] for row in rows)
    assert all(len(row["code"]) == 3 and row["name"] and row["family"] for row in rows)
    assert known_language("sw") == known_language("swa")
    assert known_language("q") is None


@pytest.mark.parametrize("figure", ["relative", "bytes_per_token", "chars_per_token", "fertility"])
@pytest.mark.parametrize("by", ["language", "script", "family"])
def test_the_text_has_a_line_for_each_language(folder: Path, by: Any, figure: str) -> None:
    table = jeton.languages({"a": byte_tokenizer(), "b": byte_tokenizer()}, folder, progress=False)
    lines = table.to_terminal(by=by, figure=figure).splitlines()
    num_rows = len(table.languages) if by == "language" else len(table.groups(by))
    assert len(lines) == 2 + num_rows + 1
    assert lines[-1] == "left out as incomplete: chr.txt"
    if figure == "fertility" and by == "script":
        assert next(line for line in lines if line.startswith("Han")).endswith("3.00c")


def test_errors_name_the_missing_or_wrong_text(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(jeton.ConfigError, match="no text named deu to compare with"):
        jeton.languages(byte_tokenizer(), folder, relative_to="deu")
    with pytest.raises(FileNotFoundError):
        jeton.languages(byte_tokenizer(), tmp_path / "none")
    (folder / "eng.md").write_text("twice")
    with pytest.raises(jeton.ConfigError, match="the same name"):
        jeton.languages(byte_tokenizer(), folder)
    (folder / "eng.md").unlink()
    (folder / "deu.txt").write_bytes(b"gr\xfc\xdfe und noch mehr")
    with pytest.raises(jeton.InvalidTextError, match=r"deu\.txt: invalid UTF-8 at byte 2"):
        jeton.languages(byte_tokenizer(), folder)


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_heat_maps_are_reproducible_files(folder: Path, tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    table = jeton.languages({"a$b": byte_tokenizer(), "_c": tokenizer("byte o200k")}, folder, progress=False)
    paths = [tmp_path / f"{number}.{suffix}" for number in (1, 2)]
    for path in paths:
        table.plot(path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    if suffix == "svg":
        assert paths[0].read_text(encoding="utf-8").count("<image") == 2  # a panel, and the scale


def test_the_command_prints_tables_json_and_csv(run: Run, folder: Path) -> None:  # noqa: F811
    table = jeton.languages({"default": jeton.default()}, folder, progress=False)
    assert run("languages", folder, "--by", "script").text == table.to_terminal(by="script") + "\n"
    assert json.loads(run("languages", folder, "--json").text) == table.to_json()
    found = run("languages", folder, "--csv", "--sort", "tokens")
    rows = list(csv.DictReader(io.StringIO(found.text)))
    assert [row["key"] for row in rows] == [language.key for language in table.sorted_by().languages]
    assert "default tokenizer" in found.err
    assert run("languages", folder, "--relative-to", "deu").code == 1
