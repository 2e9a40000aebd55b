"""Generated calls of the drop-in for tokenizers and of tokenizers: `tools/compat_calls_tokenizers.py`, on few calls."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tools.compat_calls_tokenizers import differences

from tests.selection import amount

pytest.importorskip("tokenizers", reason="tokenizers is a test dependency")

DATA = os.environ.get("JETON_TEST_DATA")


@pytest.mark.parametrize("seed", range(2))
def test_generated_calls_give_equal_results(seed: int) -> None:
    folder = (
        Path(DATA) / "vocabs" if DATA and amount(1, default=0) else None
    )  # loading files takes the original seconds
    found = [each for each in differences(amount(1_500, default=150), 100 + seed, folder) if each is not None]
    assert not found, "\n".join(map(str, found))
