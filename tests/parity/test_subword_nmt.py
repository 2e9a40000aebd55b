"""Equal codes files: `preset="subword-nmt"` and its ``learn-bpe``."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

import jeton
from jeton.training.presets import SubwordNmt
from tests.material import CORPUS
from tests.parity.test_training_parity import read, synthetic
from tests.selection import amount


def codes(text: str, symbols: int, **options: Any) -> str:
    """The file that subword-nmt writes."""
    out = io.StringIO()
    learn_bpe(io.StringIO(text, newline="\n"), out, symbols, **options)
    return out.getvalue()


def ours(text: str, symbols: int, **options: Any) -> jeton.Tokenizer:
    preset = SubwordNmt(symbols=symbols, **options)
    return jeton.train(text.split("\n"), preset=preset, unk_token="<unk>", progress=False)


def check(text: str, symbols: int, **options: Any) -> None:
    theirs = codes(text, symbols, **options)
    tok = ours(text, symbols, **options)
    lines = [f"{tok.id_to_token(left)} {tok.id_to_token(right)}\n" for left, right, _ in tok.merges]
    assert "#version: 0.2\n" + "".join(lines) == theirs
    apply = BPE(io.StringIO(theirs), separator="￭")
    for line in text.split("\n")[:100]:
        pieces = apply.process_line(line).replace("￭ ", "￭").split()
        words = [word.split("￭") for word in pieces]
        tokens = [tok.id_to_token(id).removesuffix("</w>") for id in tok.encode(line)]
        if "<unk>" not in tokens:
            assert tokens == [token for word in words for token in word], line


def plain(seed: int) -> str:
    """Text without the spaces that subword-nmt's regex reads as the end of a symbol."""
    text = synthetic(seed) + "\n" + CORPUS.replace("\r", "")
    return "".join(char if char in " \n" or not char.isspace() else "_" for char in text)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("options", [{}, {"min_frequency": 7}, {"total_symbols": True}], ids=str)
@pytest.mark.parametrize("seed", range(amount(3, default=1)))
def test_generated_corpora_give_equal_merges(seed: int, options: dict[str, Any]) -> None:
    check(plain(seed), 700, **options)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["english", "chinese", "code"])
def test_real_corpora_give_equal_merges(data: Path, name: str) -> None:
    text = read(data, name, amount(700_000, default=50_000))
    check("".join(char if char in " \n" or not char.isspace() else "_" for char in text), amount(1_500, default=250))
