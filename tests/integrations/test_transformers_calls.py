"""Generated calls of accelerated and original tokenizers: `tools/compat_calls_transformers.py`, on few calls."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tools.compat_calls_transformers import differences

from tests.selection import ALL, amount

pytest.importorskip("transformers", reason="transformers is a test dependency")
pytestmark = pytest.mark.filterwarnings("ignore")  # ignore warnings of transformers

DATA = os.environ.get("JETON_TEST_DATA")


def test_generated_calls_of_small_vocabularies_give_equal_results() -> None:
    found, counts, stats = differences(amount(1_200, default=240), 100, None)
    assert not found, "\n".join(found)
    assert len(counts) > 20
    assert stats.share > 0.4


def test_generated_calls_of_published_vocabularies_give_equal_results() -> None:
    if not DATA:
        pytest.skip("JETON_TEST_DATA is not set")
    only = () if ALL else ("bert-uncased", "roberta-base", "t5-small")
    found, counts, _ = differences(amount(960, default=120), 200, Path(DATA), only)
    assert not found, "\n".join(found)
    assert len(counts) > 20
