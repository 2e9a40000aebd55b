"""Small tokenizers of transformers."""

from __future__ import annotations

import copy
import os
import warnings
from typing import Any

import pytest

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


@pytest.fixture(scope="session")
def small() -> dict[str, Any]:
    """Name → tokenizer; not to be changed."""
    pytest.importorskip("transformers", reason="transformers is a test dependency")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tools.compat_calls_transformers import small

        return small()


@pytest.fixture
def original(small: dict[str, Any]) -> Any:
    """A byte-level tokenizer."""
    return copy.deepcopy(small["small byte-level"])


@pytest.fixture
def fast(small: dict[str, Any]) -> Any:
    """An accelerated copy of it."""
    from jeton.integrations.transformers import accelerate

    return accelerate(copy.deepcopy(small["small byte-level"]))
