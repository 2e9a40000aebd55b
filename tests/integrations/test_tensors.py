"""``return_tensors="pt"`` of accelerated tokenizers; needs torch 2.6 or later, as transformers does.

Neither the test extra nor CI installs it: PyPI's wheel for Linux requires CUDA, and Debian's torch is older.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from jeton.integrations.transformers import accelerate, stats

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is a test dependency")
pytestmark = pytest.mark.filterwarnings("ignore")  # ignore warnings of transformers

TEXTS = ["the lower world", "  two <mask> 12", "naïve </s>\n"]
PADDED = {"padding": True, "pad_to_multiple_of": 4}
CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("the lower",), {}),
    ((TEXTS,), {"padding": True}),
    ((TEXTS,), {**PADDED, "padding_side": "left", "return_special_tokens_mask": True, "return_length": True}),
    ((TEXTS,), {**PADDED, "return_offsets_mapping": True}),
    ((TEXTS, TEXTS[::-1]), {"padding": "max_length", "max_length": 40, "truncation": True}),
    ((TEXTS,), {**PADDED, "max_length": 8, "stride": 2, "truncation": True, "return_overflowing_tokens": True}),
    (([text.split() for text in TEXTS],), {"padding": True, "is_split_into_words": True}),
]


@pytest.mark.parametrize(("arguments", "options"), CALLS)
def test_tensors_equal_the_originals(
    small: dict[str, Any], arguments: tuple[Any, ...], options: dict[str, Any]
) -> None:
    for name, tok in small.items():
        if tok.pad_token is None:
            continue
        fast = accelerate(copy.deepcopy(tok), strict=False)
        expected, found = (each(*arguments, return_tensors="pt", **options) for each in (tok, fast))
        assert list(found) == list(expected), name
        for key, tensor in expected.items():
            assert type(found[key]) is type(tensor)
            assert found[key].dtype == tensor.dtype
            assert torch.equal(found[key], tensor), (name, key)
        assert stats(fast).on_jeton == 1 or stats(fast).fallbacks


def test_rows_of_several_lengths_are_the_same_error(original: Any, fast: Any) -> None:
    messages = []
    for tok in (original, fast):
        with pytest.raises(ValueError, match="padding=True") as error:
            tok(TEXTS, return_tensors="pt")
        messages.append(str(error.value))
    assert messages[0] == messages[1]
