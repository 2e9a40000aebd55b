"""`trace=`: the whole sequence before and after each merge, on small input."""

from __future__ import annotations

from typing import Any

import pytest

import jeton


def traced(corpus: Any, vocab_size: int, **options: Any) -> list[str]:
    lines: list[str] = []
    jeton.train(corpus, vocab_size, trace=lines.append, progress=False, **options)
    return lines


def test_the_trace_of_example_2() -> None:
    assert traced(["abcababcaabc"], 260, pattern="none", tie_break="first") == [
        "['a', 'b', 'c', 'a', 'b', 'a', 'b', 'c', 'a', 'a', 'b', 'c']",
        "(97, 98) -> 256 'ab' ×4  ['ab', 'c', 'ab', 'ab', 'c', 'a', 'ab', 'c']",
        "(256, 99) -> 257 'abc' ×3  ['abc', 'ab', 'abc', 'a', 'abc']",
        "(257, 256) -> 258 'abcab' ×1  ['abcab', 'abc', 'a', 'abc']",
        "(258, 257) -> 259 'abcababc' ×1  ['abcababc', 'a', 'abc']",
    ]


def test_trace_true_prints_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    jeton.train(["abab"], 257, pattern="none", trace=True, progress=False)
    assert capsys.readouterr().out == "['a', 'b', 'a', 'b']\n(97, 98) -> 256 'ab' ×2  ['ab', 'ab']\n"


def test_documents_and_pretokens_are_separated() -> None:
    first, second = traced(["ab ab", "ab"], 257, pattern="gpt2")
    assert first == "['a', 'b'] | [' ', 'a', 'b'] | ['a', 'b']"
    assert second == "(97, 98) -> 256 'ab' ×3  ['ab'] | [' ', 'ab'] | ['ab']"


def test_special_tokens_split_the_corpus_and_are_not_shown() -> None:
    lines = traced(["ab<|end|>ab"], 258, pattern="none", special_tokens=["<|end|>"])
    assert lines == ["['a', 'b'] | ['a', 'b']", "(97, 98) -> 256 'ab' ×2  ['ab'] | ['ab']"]


def test_bytes_that_are_not_utf8_are_shown_as_bytes() -> None:
    assert traced(["小"], 257, pattern="none", tie_break="first") == [
        r"[b'\xe5', b'\xb0', b'\x8f']",
        r"(229, 176) -> 256 b'\xe5\xb0' ×1  [b'\xe5\xb0', b'\x8f']",
    ]


@pytest.mark.parametrize(
    ("style", "symbols"),
    [("symbol", "['l', 'o', 'w', '</w>']"), ("suffix", "['l', 'o', 'w</w>']")],
)
def test_words_show_their_mark(style: Any, symbols: str) -> None:
    options: dict[str, Any] = {"end_of_word": "</w>", "end_of_word_style": style}
    lines = traced(["low  low"], 8, **options)
    assert lines[0] == f"{symbols} | {symbols}"
    assert lines[-1].endswith("['low</w>'] | ['low</w>']")
    assert traced({"low": 5}, 8, **options)[0] == symbols


def test_a_trace_of_characters() -> None:
    assert traced(["天气天气"], 3, level="char")[-1] == "(0, 1) -> 2 '天气' ×2  ['天气', '天气']"


def test_the_last_line_equals_the_encoding() -> None:
    text = "old older fast faster fastest best better yes desk mess"
    lines: list[str] = []
    tok = jeton.train([text], 270, pattern="none", tie_break="first", trace=lines.append, progress=False)
    shown = lines[-1].split("  ", 1)[1]
    assert shown == "[" + ", ".join(repr(tok.vocab[id].decode()) for id in tok.encode(text)) + "]"
    assert len(lines) == 1 + len(tok.merges)


def test_a_trace_of_too_much_text_is_refused() -> None:
    with pytest.raises(jeton.ConfigError, match="log=") as caught:
        traced(["ab" * 5_001], 300)
    assert caught.value.option == "trace"
