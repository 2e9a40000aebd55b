"""The compiled character maps of `jeton.training.character_maps` are those that the core compiles."""

from __future__ import annotations

import io

import pytest

from jeton import _core
from jeton.compat.sentencepiece import SentencePieceNormalizer, SentencePieceTrainer
from jeton.errors import ConfigError
from jeton.training.character_maps import NAMES, character_map
from tests.selection import rest_is_slow

REASON = "compiling takes half a second; nmt_nfkc, the default of training, is compared"


@pytest.mark.parametrize("name", rest_is_slow(NAMES, lambda name: name == "nmt_nfkc", REASON))
def test_files_equal_those_compiled_by_the_core(name: str) -> None:
    """After a change of the rules, ``tools/character_maps.py`` writes the files again."""
    assert character_map(name) == _core.character_map(name, [])


def test_a_name_without_rules_is_an_error() -> None:
    for name in ("identity", "nfd", "../nfkc"):
        with pytest.raises(ConfigError, match="no rules named"):
            character_map(name)


def test_nothing_is_compiled_for_named_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(name: str | None, rules: object) -> bytes:
        raise AssertionError(f"compiled {name}")

    monkeypatch.setattr(_core, "character_map", compiled)
    for name in NAMES:
        SentencePieceNormalizer(rule_name=name)
        model = io.BytesIO()
        SentencePieceTrainer.train(
            sentence_iterator=iter(["low lower lowest"]),
            model_writer=model,
            vocab_size=13,
            model_type="bpe",
            normalization_rule_name=name,
        )
        assert len(model.getvalue()) > 200_000
