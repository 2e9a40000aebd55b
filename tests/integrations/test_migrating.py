"""The examples of docs/migrating.md for transformers, executed with the original and with an accelerated tokenizer."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import jeton
from tests.test_docs import blocks, run_doctest

pytest.importorskip("transformers", reason="transformers is a test dependency")
pytestmark = pytest.mark.filterwarnings("ignore")  # ignore warnings of transformers

PAGE = Path(__file__).parents[2] / "docs" / "migrating.md"
TABLE = PAGE.read_text("utf-8").partition("## From transformers\n")[2].partition("\n### ")[0]


@pytest.mark.parametrize("is_accelerated", [False, True])
def test_the_example_runs_with_both(is_accelerated: bool) -> None:
    namespace: dict[str, Any] = {}
    found = [block for block in blocks(PAGE, "python") if ">>>" in block.content]
    used = [found[0], *(block for block in found if "accelerate" in block.content)]
    assert len(used) == 2
    for block in used:
        code = block.content if is_accelerated else block.content.replace(">>> fast = accelerate(fast)\n", "")
        run_doctest(block._replace(content=code), PAGE, namespace)
    stats = namespace["accelerate"].__globals__["stats"](namespace["fast"])
    assert (stats.on_jeton >= 5) == is_accelerated
    assert not stats.fallbacks


def rows() -> list[tuple[str, str]]:
    """The first call of each cell."""
    found = []
    for line in TABLE.replace("\\|", "|").splitlines():
        calls = [re.findall(r"`([^`]+)`", cell) for cell in line.split(" | ")[:2]]
        if line.startswith("| `t") and all(calls) and "(" not in calls[0][0][:1]:
            found.append((calls[0][0], calls[1][0]))
    return [row for row in found if not row[0].startswith(("t.save", "t.apply"))]


@pytest.mark.parametrize(("theirs", "ours"), rows())
def test_each_row_of_the_table(original: Any, theirs: str, ours: str) -> None:
    tok = jeton.load(original).with_options(special="all", add_special_tokens=True)
    names = {"t": original, "tok": tok, "text": "the lower", "texts": ["the", "lower world"], "n": 3, "s": "<s>"}
    expected, found = eval(theirs, dict(names)), eval(ours, dict(names))
    if "input_ids" in ours or "padded" in ours:
        assert found["input_ids"].tolist() == expected["input_ids"]
    elif "encode_batch" in ours:
        assert [tuple(span) for span in found.hf_offsets.tolist()] == [*chain.from_iterable(expected["offset_mapping"])]
    elif "tokenize(text).tokens" in ours:
        ids = tok.encode("the lower", add_special_tokens=False)
        assert [tok.id_to_token(id) for id in ids] == expected
    elif "hf_offsets" in ours:
        assert found == expected["offset_mapping"]
    elif theirs == "t.vocab_size":
        assert found >= expected
    else:
        assert found == expected
