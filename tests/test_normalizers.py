"""Unicode forms equal those of Python, for sequences of marks in every order."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from itertools import product

import pytest

import jeton

BYTES = jeton.Tokenizer.from_merges({id: bytes([id]) for id in range(256)}, [])
BASES = ("a", "\u1100", "\uac00", "\u0b47", "\u00e9", "\ufb01")
# Combining classes 230 (that compose and do not), 220, 202, 240, 1 and 0.
MARKS = (
    "\u0301",
    "\u0305",
    "\u0308",
    "\u0316",
    "\u0323",
    "\u0327",
    "\u0345",
    "\u0338",
    "\u1161",
    "\u11a8",
    "\u0b3e",
    "b",
)


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_forms_of_sequences_of_marks(form: str) -> None:
    tok = jeton.Tokenizer(replace(BYTES.definition, normalizer=({"type": form},)), BYTES._core.vocabulary())
    for base, *marks in product(BASES, MARKS, MARKS, (*MARKS, "")):
        text = base + "".join(marks)
        expected = unicodedata.normalize(form, text)  # type: ignore[arg-type]
        assert tok.decode(tok.encode(text)) == expected, [f"{ord(char):04X}" for char in text]
