"""Labels of series, and the day of a figure."""

from __future__ import annotations

import pytest

from jeton.drawing.figures import _source_note, labels
from jeton.errors import ConfigError


@pytest.mark.parametrize("deep", ["b/c/d/e/f/g/h/i/tokenizer.json", "my.json"])
def test_labels_of_different_files_differ(deep: str) -> None:
    names = [f"a/{deep}", f"z/{deep}", f"a/{deep}".replace(".json", ".model")]
    assert len(set(labels(names))) == 3


@pytest.mark.parametrize("epoch", ["1e3", "\u00b2", "9" * 20, "9" * 5000, "tomorrow"])
def test_a_wrong_day_is_an_error_that_names_the_variable(epoch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    with pytest.raises(ConfigError, match="SOURCE_DATE_EPOCH="):
        _source_note()


def test_the_day_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert _source_note().endswith(", 1970-01-02")
