"""Explanations in words, JSON, color and HTML, of facts computed by a plain BPE in this file."""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton.compat.sentencepiece import SentencePieceTrainer
from jeton.drawing import described
from jeton.explanation import ExplainedMerge, ExplainedPretoken, Explanation, limits
from tests.material import CORPUS

# Worked example 3's vocabulary, as far as example 4 needs it.
MERGES = {
    (115, 116): 256,
    (101, 114): 257,
    (257, 32): 258,
    (102, 97): 259,
    (259, 256): 260,
    (101, 115): 261,
    (111, 108): 262,
    (262, 100): 263,
    (258, 260): 264,
    (101, 256): 265,
    (0xE5, 0xA4): 266,
    (266, 0xA9): 267,
}
RANKS = {pair: rank for rank, pair in enumerate(MERGES)}
NAMES = {byte: bytes([byte]) for byte in range(256)}
for (left_id, right_id), merged_id in MERGES.items():
    NAMES[merged_id] = NAMES[left_id] + NAMES[right_id]
NAMES[300] = b"<|end|>"


@dataclass(frozen=True)
class Token:
    id: int
    bytes: bytes
    byte_span: tuple[int, int]


def explain(*texts: bytes, max_rivals: int = 3) -> Explanation:
    """The facts that the core computes, by plain BPE: one pretoken for each text; `<|end|>` is a special token."""
    pretokens, tokens, start = [], [], 0
    for text in texts:
        special = text == b"<|end|>"
        ids = [300] if special else list(text)
        start_ids, merges = list(ids), []
        while pairs := sorted({(RANKS[p], *p) for p in pairwise(ids) if p in RANKS}):
            rank, left, right = pairs[0]
            index = next(i for i in range(len(ids)) if ids[i : i + 2] == [left, right])
            rivals = [(a, b, r) for r, a, b in pairs[1:]]
            num_rivals = sum(pair in RANKS for pair in pairwise(ids)) - 1
            position = sum(len(NAMES[id]) for id in ids[:index])
            result = MERGES[left, right]
            merges.append(ExplainedMerge(left, right, rank, result, position, rivals[:max_rivals], num_rivals))
            ids[index : index + 2] = [result]
        pretokens.append(ExplainedPretoken((start, start + len(text)), text, special, start_ids, merges, ids))
        for id in ids:
            tokens.append(Token(id, NAMES[id], (start, start + len(NAMES[id]))))
            start += len(NAMES[id])
    return Explanation(b"".join(texts), pretokens, tokens, NAMES.__getitem__)


def test_worked_example_4_in_words() -> None:
    assert str(explain(b"oldest")) == (
        '"oldest" · 6 bytes · 1 pretoken · 4 merges · 2 tokens\n'
        "\n"
        'pretoken 1: "oldest", bytes 0 to 6\n'
        "  o l d e s t\n"
        "  -- (115, 116) s+t -> st  rank 0, id 256; other candidates: (101, 115) e+s rank 5, (111, 108) o+l rank 6\n"
        "  o l d e st\n"
        "  -- (111, 108) o+l -> ol  rank 6, id 262; other candidates: (101, 256) e+st rank 9\n"
        "  ol d e st\n"
        "  -- (262, 100) ol+d -> old  rank 7, id 263; other candidates: (101, 256) e+st rank 9\n"
        "  old e st\n"
        "  -- (101, 256) e+st -> est  rank 9, id 265\n"
        "  old est\n"
        "  no mergeable pair left: stop\n"
        "  ids [263, 265]"
    )


def test_rivals_that_are_not_listed_are_counted() -> None:
    assert "; other candidates: (101, 115) e+s rank 5; 2 other mergeable positions\n" in str(
        explain(b"oldest", max_rivals=1)
    )
    assert "rank 0, id 256; 1 other mergeable position\n" in str(explain(b"stst"))


def test_sequences_are_replayed() -> None:
    explanation = explain(b"oldest")
    assert list(explanation.sequences(explanation.pretokens[0])) == [
        [111, 108, 100, 101, 115, 116],
        [111, 108, 100, 101, 256],
        [262, 100, 101, 256],
        [263, 101, 256],
        [263, 265],
    ]


@given(st.text("oldestr fa天", max_size=30))
def test_replayed_merges_end_in_the_ids(text: str) -> None:
    explanation = explain(text.encode())
    *_, last = explanation.sequences(explanation.pretokens[0])
    assert last == explanation.pretokens[0].ids


def test_occurrences_of_one_pair_are_replayed_from_the_left() -> None:
    explanation = explain(b"tstsst")
    *_, after_one, last = explanation.sequences(explanation.pretokens[0])
    assert (after_one, last) == ([116, 256, 115, 115, 116], [116, 256, 115, 256])


def test_a_pretoken_that_is_an_entry_is_marked_whole() -> None:
    pretoken = ExplainedPretoken((0, 3), b"old", False, [], [], [263], whole=True)
    explanation = Explanation(b"old", [pretoken], [Token(263, b"old", (0, 3))], NAMES.__getitem__)
    assert str(explanation).endswith("looks up first: ids [263]")
    assert json.loads(json.dumps(explanation.to_json()))["pretokens"][0]["whole"] is True
    assert " · whole</div>" in explanation.html


def test_a_repeated_pretoken_is_explained_once() -> None:
    words = str(explain(b"st", b"er", b"st"))
    assert words.count("-- (115, 116)") == 1
    assert words.endswith('pretoken 3: "st", bytes 4 to 6\n  as pretoken 1: ids [256]')


def test_special_tokens_and_single_symbols_have_no_merges() -> None:
    words = str(explain(b"<|end|>", b"x"))
    assert "  a special token, matched whole: ids [300]\n" in words
    assert words.endswith("  x\n  one symbol: nothing to merge\n  ids [120]")


def test_a_character_cut_between_symbols_is_named() -> None:
    words = str(explain("天".encode()))
    assert "  ⟨天 e5⟩ ⟨a4⟩ ⟨a9⟩\n  -- (229, 164) ⟨e5⟩+⟨a4⟩ -> ⟨e5 a4⟩  rank 10, id 266\n" in words
    assert "\n  ⟨天 e5 a4⟩ ⟨a9⟩\n" in words


def test_json_has_the_documented_schema() -> None:
    data = json.loads(json.dumps(explain(b"old", b"<|end|>").to_json()))
    assert data["text"] == "old<|end|>"
    assert "bytes_hex" not in data
    first, second = data["pretokens"]
    assert first["text"] == "old"
    assert [(m["left"], m["right"], m["rank"], m["result"]) for m in first["merges"]] == [
        (111, 108, 6, 262),
        (262, 100, 7, 263),
    ]
    assert (second["special"], second["merges"], second["byte_span"]) == (True, [], [3, 10])
    assert data["tokens"] == [
        {"id": 263, "bytes_hex": "6f6c64", "byte_span": [0, 3]},
        {"id": 300, "bytes_hex": b"<|end|>".hex(), "byte_span": [3, 10]},
    ]


def test_text_that_is_not_utf8_is_kept_in_the_json() -> None:
    data = json.loads(json.dumps(explain(b"a\xffb").to_json()))
    assert (data["text"], bytes.fromhex(data["bytes_hex"])) == ("a\ufffdb", b"a\xffb")


def test_a_long_text_is_shortened_in_words_and_complete_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_PRETOKENS_SHOWN", 2)
    monkeypatch.setattr(limits, "MAX_MERGES_SHOWN", 3)
    monkeypatch.setattr(limits, "MAX_SYMBOLS_SHOWN", 4)
    monkeypatch.setattr(limits, "MAX_TOKENS_SHOWN", 1)
    explanation = explain(b"oldest", b"x", b"old", b"st")
    words = str(explanation)
    assert "  … 1 merge more: too long to show here; the JSON has them all\n" in words
    assert "  o l d e … 2 more\n" in words
    assert words.endswith("\n… 2 pretokens more with 3 merges: too long to show here; the JSON has them all")
    assert explanation.to_terminal(color=False).endswith("… and 4 more tokens")
    assert "… 2 pretokens more" in explanation.html
    assert "… 1 merge more" in explanation.html
    data = json.loads(json.dumps(explanation.to_json()))
    assert [len(pretoken["merges"]) for pretoken in data["pretokens"]] == [4, 0, 2, 1]


def test_a_long_pretoken_is_explained_without_quadratic_work() -> None:
    n = 200_000
    merges = [ExplainedMerge(115, 116, 0, 256, 2 * i) for i in range(n)]
    pretoken = ExplainedPretoken((0, 2 * n), b"st" * n, False, list(b"st" * n), merges, [256] * n)
    explanation = Explanation(
        b"st" * n, [pretoken], [Token(256, b"st", (2 * i, 2 * i + 2)) for i in range(n)], NAMES.get
    )  # type: ignore[arg-type]
    assert len(str(explanation)) < 20_000
    assert len(explanation.html) < 1_000_000


def test_the_terminal_shows_the_same_words_in_color() -> None:
    explanation = explain(b"oldest", b"<|end|>")
    colored = explanation.to_terminal(color=True)
    assert "\x1b[" in colored
    stripped = re.sub("\x1b\\[[0-9;]*m", "", colored)
    assert "-- (115, 116) s+t -> st  rank 0, id 256" in stripped
    assert stripped.endswith("\n\noldest<|end|>")
    assert explanation.to_terminal(color=False) == str(explanation) + "\n\nold│est│<|end|>"


def test_the_html_is_escaped_and_holds_the_merges() -> None:
    explanation = explain(b"<script>", b"old", b"old")
    assert "<script" not in explanation.html
    assert "&lt;script&gt;" in explanation.html
    assert explanation.html.count("<details>") == 1
    assert "<td>7</td><td>(262, 100) ol+d -&gt; old  rank 7, id 263</td><td>old</td>" in explanation.html
    assert explanation._repr_html_() == explanation.html


def test_the_repr_is_short() -> None:
    assert repr(explain(b"oldest")) == 'Explanation("oldest" · 6 bytes · 1 pretoken · 4 merges · 2 tokens)'
    assert len(repr(Explanation("天".encode() * 10_000, [], [], NAMES.__getitem__))) < 250


class TestLongTexts:
    """Of a long text, only shown items are computed and the rest is counted; all are available on access."""

    TEXT = "older men told older tales, 天气 <|end|> and older ones\n" * 60

    @pytest.fixture
    def tok(self) -> jeton.Tokenizer:
        return jeton.train([self.TEXT], 320, pattern="gpt2", special_tokens=["<|end|>"], progress=False)

    def test_lazy_output_equals_that_of_a_complete_explanation(self, tok: jeton.Tokenizer) -> None:
        lazy = tok.explain(self.TEXT, special="all")
        whole = Explanation(lazy.text, list(lazy.pretokens), list(lazy.tokens), lazy.describe, lazy.pattern_parts)
        assert len(lazy.pretokens) > limits.MAX_PRETOKENS_SHOWN
        assert len(lazy.tokens) == tok.count(self.TEXT, special="all")
        assert lazy.num_merges == whole.num_merges > 0
        fresh = tok.explain(self.TEXT, special="all")
        assert fresh.to_terminal(color=True, width=60) == whole.to_terminal(color=True, width=60)
        assert fresh.html == whole.html
        assert fresh.to_json() == whole.to_json()

    def test_only_displayed_items_are_computed(self, tok: jeton.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
        explanation = tok.explain(self.TEXT * 20, special="all")
        for part in ("pretokens", "tokens"):
            monkeypatch.setattr(getattr(explanation, part), "_load", lambda: pytest.fail("everything is computed"))
        assert "too long to show here" in str(explanation)
        assert "more tokens" in explanation.to_terminal(color=False)
        assert explanation.html

    def test_lazy_sequences_support_indices_and_slices(self, tok: jeton.Tokenizer) -> None:
        explanation = tok.explain(self.TEXT)
        tokens = list(tok.tokenize(self.TEXT))
        for index in (0, 5, -1, len(tokens) - 1, slice(3), slice(-3, None), slice(2, 9, 2), slice(9, 2)):
            assert tok.explain(self.TEXT).tokens[index] == tokens[index]  # type: ignore[index]
        with pytest.raises(IndexError):
            explanation.tokens[len(tokens)]
        assert [pretoken.text for pretoken in reversed(explanation.pretokens)][-1] == b"older"


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_control_pieces_are_drawn_as_they_are_spelled(model_type: str, tmp_path: Path) -> None:
    """Control pieces have no bytes: they decode to no text."""
    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter([CORPUS] * 3),
        model_writer=model,
        vocab_size=160,
        model_type=model_type,
        control_symbols=["<ctl>"],
        user_defined_symbols=["<user>"],
        hard_vocab_limit=False,
    )
    (tmp_path / "control.model").write_bytes(model.getvalue())
    tok = jeton.load(tmp_path / "control.model")
    for text in ("<s>", "</s>", "<ctl>", "<unk>", "<s> the</s>", "a<ctl><ctl> <user>e", "<s>" * 3, ""):
        explanation = tok.explain(text, special="all")
        wanted = [look.shown for look in tok.tokenize(text, special="all").drawing()]
        assert [look.shown for look in explanation.drawing] == wanted, text
        assert text == "" or any(look in text for look in wanted), wanted
        assert explanation.html
        assert explanation.to_terminal(color=False)
        assert explanation.to_json()["text"] == text
        assert explanation._repr_html_()


def test_a_special_token_without_spelling_is_drawn_as_its_text() -> None:
    assert [look.shown for look in described(b"<s>", [1], [b""], [(0, 3)], None, {1: b""})] == ["<s>"]
    assert [look.shown for look in described(b"", [1], [b""], [(0, 0)], None, {1: b""})] == ["∅"]
