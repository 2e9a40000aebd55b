"""The examples of docs/migrating.md for tiktoken, executed with tiktoken, the drop-in and Jeton."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import jeton
import jeton.compat.tiktoken as drop_in
from tests.test_docs import blocks, run_doctest

peer: ModuleType = pytest.importorskip("tiktoken", reason="tiktoken is a test dependency")

PAGE = Path(__file__).parents[2] / "docs" / "migrating.md"
SECTION = PAGE.read_text("utf-8").partition("## From tiktoken\n")[2].partition("\n## ")[0]
ROWS = [
    [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in SECTION.partition("###")[0].splitlines()
    if line.startswith("| `")
]
RANKS = {bytes([byte]): byte for byte in range(256)} | {b"lo": 256, b"low": 257, b" low": 258}
SPECIAL = {"<|endoftext|>": 300}


@pytest.mark.parametrize("library", [peer, drop_in], ids=["tiktoken", "drop-in"])
def test_the_example_runs_with_both(library: ModuleType) -> None:
    namespace: dict[str, Any] = {}
    found = [block for block in blocks(PAGE, "python") if ">>>" in block.content]
    used = [found[0], *(block for block in found if "tiktoken" in block.content)]
    assert len(used) == 2
    for block in used:
        code = block.content.replace(
            "import jeton.compat.tiktoken as tiktoken", f"import {library.__name__} as tiktoken"
        )
        run_doctest(block._replace(content=code), PAGE, namespace)
    assert namespace["tiktoken"] is library


def plain(value: Any) -> Any:
    """Lists instead of arrays and batches."""
    if isinstance(value, jeton.TokenBatch):
        return [ids.tolist() for ids in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize(("theirs", "ours"), [row[:2] for row in ROWS])
def test_each_row_of_the_table(theirs: str, ours: str, data: Path, cache: Path, tmp_path: Path) -> None:
    theirs, ours = theirs.strip("`"), ours.strip("`")
    path = tmp_path / "low.tiktoken"
    drop_in.load.dump_tiktoken_bpe(RANKS, str(path))  # type: ignore[attr-defined]
    pattern = r"\w+| ?[^\w]+"
    tok = jeton.load(path, pattern=pattern, special_tokens=SPECIAL)
    text = "low lower<|endoftext|>" if "special" in theirs else "low naïve"
    if theirs == "enc.encode(text)":
        text = "low lower"
    ids = tok.encode(text)
    names = {
        "text": text,
        "texts": ["low", text],
        "ids": ids,
        "batch": [ids, [258]],
        "id": 258,
        "n": 2,
        "tok": tok,
        "jeton": jeton,
    }
    if theirs.startswith("enc.encode_single_token"):
        names["text"] = " low"
    expected = plain(eval(ours, dict(names)))
    for library in (peer, drop_in):
        enc = library.Encoding("low", pat_str=pattern, mergeable_ranks=RANKS, special_tokens=SPECIAL)
        found = plain(eval(theirs, {**names, "enc": enc, "tiktoken": library}))
        if ours.startswith("jeton.load"):
            assert found.encode(text) == expected.encode(text)
        else:
            assert found == expected, library.__name__


SENTENCEPIECE = PAGE.read_text("utf-8").partition("## From SentencePiece\n")[2].partition("\n## ")[0]
SENTENCEPIECE_ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in SENTENCEPIECE.partition("###")[0].splitlines()
    if line.startswith("| `sp.")
]


@pytest.mark.parametrize("name", ["sentencepiece", "jeton.compat.sentencepiece"])
def test_the_example_of_sentencepiece_runs_with_both(name: str) -> None:
    library = pytest.importorskip(name)
    block = next(block for block in blocks(PAGE, "python") if "import jeton.compat.sentencepiece" in block.content)
    code = block.content.replace(
        "import jeton.compat.sentencepiece as sentencepiece", f"import {name} as sentencepiece"
    )
    namespace: dict[str, Any] = {}
    run_doctest(block._replace(content=code), PAGE, namespace)
    assert namespace["sentencepiece"] is library


@pytest.mark.parametrize("row", SENTENCEPIECE_ROWS, ids=lambda row: row[0])
def test_each_row_of_the_table_of_sentencepiece(row: list[str], tmp_path: Path) -> None:
    import jeton.compat.sentencepiece as drop_in_of_sentencepiece

    library = pytest.importorskip("sentencepiece", reason="sentencepiece is a test dependency")
    path = tmp_path / "m.model"
    by = jeton.training.presets.SentencePieceUnigram(hard_vocab_limit=False)
    jeton.train(["low lower lowest slow"], 40, preset=by, progress=False).save(path)
    tok = jeton.load(path)
    ids = tok.encode("slower low")
    names = {"text": "slower low", "ids": ids, "i": 5, "s": "▁low", "tok": tok}
    theirs, ours = row[0].strip("`").split("`, `"), row[1].strip("`").split("`, `")
    for their, our in zip(theirs, ours, strict=True):
        if "enable_sampling" in their or "add_bos" in their:
            continue  # random; Jeton's template is that of the tokenizer class
        expected = eval(our, dict(names))
        if "nbest" in our:
            expected = [ids for ids, _ in expected]
        for each in (library, drop_in_of_sentencepiece):
            sp = each.SentencePieceProcessor(model_file=str(path))
            assert eval(their, {**names, "sp": sp}) == expected, (each.__name__, their)


def test_the_table_of_the_page_has_rows() -> None:
    assert len(SENTENCEPIECE_ROWS) > 6
    assert len(ROWS) > 15
