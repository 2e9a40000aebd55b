"""Truncation and splitting equal trying every position; growing texts equal encoding the whole again."""

from __future__ import annotations

import copy
import json
import random
import threading
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pytest

import jeton
from jeton import _core
from jeton.calls.cutting import MOST_TOKENS
from tests.material import CORPUS, KINDS, TRICKY, tokenizer
from tests.selection import amount

from ..timing import growth

REAL = (
    "cl100k_base.tiktoken",
    "o200k_base.tiktoken",
    "bert-uncased.vocab.txt",
    "t5-small.tokenizer.json",
    "roberta-base.tokenizer.json",
    "phi-3-mini.tokenizer.json",
    "mistral-v1.model",
    "spm-ja.model",
    "spm-unigram-en.model",
    "mbart-en-fairseq.sentencepiece.bpe.model",
    "mbart-en-fairseq.tokenizer.json",
    "gpt-neox-20b.tokenizer.json",
)
UNITS = ("character", "grapheme", "word", "sentence")
SMALLER = {"sentence": "word", "word": "grapheme", "grapheme": "character", "character": None}
SPECIALS: tuple[Literal["none", "all"], ...] = ("none", "all")
# Text that merges with adjacent text: marks, contractions, white space, pieces of special tokens, long runs.
ODD = (
    *("  ", "\n\n", " \n", "\t", "'s", "'ll", "’", "123", "4567", "é", "e\u0301", "👩‍🔬", "🇫🇷", "今天", "。", "한국"),
    *(
        "नमस्ते",
        "\u200d",
        "ﬁ",
        "…",
        "▁",
        "a",
        "aaaaaaaaaa",
        "<0x0A>",
        "<s>",
        "</s>",
        "<|im_end|>",
        "[MASK]",
        "<a>b",
        "\r\n",
    ),
    *("\u00a0", "\ufeff", "ß", "İ", " ,", "-", "_", "(", "}", "\u3000", "ｶﾞ", "\u0308", "Hello", "WORLD", "don't", " "),
)


@cache
def real(folder: Path, name: str) -> jeton.Tokenizer:
    return jeton.load(folder / "vocabs" / name)


def random_text(rng: random.Random) -> str:
    if rng.random() < 0.4:
        start = rng.randrange(len(CORPUS))
        text = CORPUS[start : start + rng.randrange(1, 60)]
    else:
        text = "".join(rng.choice(ODD) for _ in range(rng.randrange(1, 14)))
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(ODD) + text[at:]


def ends(text: str, at: str) -> list[int]:
    return _core.unit_boundaries(text, at)


class Plain:
    """Truncation and splitting by trying every boundary, the longest part first."""

    def __init__(self, tok: jeton.Tokenizer, special: Literal["none", "all"]) -> None:
        self._tok = tok
        self._special = special

    def count(self, text: str) -> int:
        return len(self._tok.encode(text, special=self._special))

    def prefix(self, text: str, limit: int, at: str, rest: str = "", until: int | None = None) -> int:
        unit: str | None = at
        while unit:
            for end in reversed(ends(text, unit)):
                if (until is None or end <= until) and self.count(text[:end] + rest) <= limit:
                    return end
            unit = SMALLER[unit]
        return 0

    def suffix(self, text: str, limit: int, at: str) -> int:
        unit: str | None = at
        while unit:
            for start in [0, *ends(text, unit)[:-1]]:
                if self.count(text[start:]) <= limit:
                    return start
            unit = SMALLER[unit]
        return len(text)

    def middle(self, text: str, limit: int, at: str, marker: str) -> str:
        if self.count(text) <= limit:
            return text
        start = self.suffix(text, (limit - self.count(marker)) // 2, at)
        rest = marker + text[start:]
        return text[: self.prefix(text, limit, at, rest, start - 1)] + rest

    def split(self, text: str, limit: int, at: str) -> list[tuple[int, int]]:
        spans = []
        start = 0
        while start < len(text):
            length = self.prefix(text[start:], limit, at)
            if not length:
                raise jeton.ConfigError("too long", position=start)
            spans.append((start, start + length))
            start += length
        return spans


def check(tok: jeton.Tokenizer, rng: random.Random) -> None:
    """Compares all functions on one random text."""
    text, special, at = random_text(rng), rng.choice(SPECIALS), rng.choice(UNITS)
    limit = rng.choice((1, 2, 3, 5, 8, 13, 21))
    plain, options = Plain(tok, special), {"special": special}
    try:
        num_tokens = plain.count(text)
    except jeton.InvalidTextError:  # a character that the vocabulary lacks
        with pytest.raises(jeton.InvalidTextError):
            tok.split(text, 10**6, at=at, **options)  # type: ignore[arg-type]
        return
    assert tok.count_up_to(text, limit, **options) == (num_tokens if num_tokens <= limit else None)  # type: ignore[arg-type]
    cut: Any = {"at": at, **options}
    assert tok.truncate(text, limit, **cut) == text[: plain.prefix(text, limit, at)]
    assert tok.truncate(text, limit, side="left", **cut) == text[plain.suffix(text, limit, at) :]
    marker = rng.choice(("…", "[...]", " ~ ", ""))
    if _encodes(tok, marker) and plain.count(marker) <= limit:
        wanted = plain.middle(text, limit, at, marker)
        if plain.count(wanted) <= limit:  # otherwise the marker leaves too little room, and the suffix gets shorter
            assert tok.truncate(text, limit, side="middle", marker=marker, **cut) == wanted
    try:
        spans = plain.split(text, limit, at)
    except jeton.ConfigError as error:
        with pytest.raises(jeton.ConfigError) as raised:
            tok.split(text, limit, **cut)
        assert raised.value.position == error.position
        return
    chunks = tok.split(text, limit, **cut)
    assert [chunk.char_span for chunk in chunks] == spans
    check_chunks(plain, text, chunks, limit)
    assert "".join(chunk.text for chunk in chunks) == text
    overlap = rng.randrange(limit)
    chunks = tok.split(text, limit, overlap=overlap, **cut)
    check_chunks(plain, text, chunks, limit)
    end = 0
    for chunk in chunks:
        assert chunk.char_span[0] <= end < chunk.char_span[1]
        assert plain.count(text[chunk.char_span[0] : end]) <= overlap
        end = chunk.char_span[1]
    assert end == len(text)


def _encodes(tok: jeton.Tokenizer, text: str) -> bool:
    try:
        tok.encode(text)
    except jeton.InvalidTextError:
        return False
    return True


def check_chunks(plain: Plain, text: str, chunks: list[jeton.Chunk], limit: int) -> None:
    for chunk in chunks:
        assert chunk.text == text[slice(*chunk.char_span)] == text.encode()[slice(*chunk.byte_span)].decode()
        assert chunk.num_tokens == plain.count(chunk.text) <= limit


def check_growth(tok: jeton.Tokenizer, rng: random.Random) -> None:
    """Compares the ids after each append with encoding all of it."""
    text, special = random_text(rng) + random_text(rng), rng.choice(SPECIALS)
    growing = tok.growing(special=special)
    ids: list[int] = []
    at = stable = 0
    while at < len(text):
        part = text[at : at + rng.randrange(1, 9)]
        at += len(part)
        try:
            wanted = tok.encode(text[:at], special=special)
        except jeton.InvalidTextError:
            with pytest.raises(jeton.InvalidTextError):
                growing.append(part)
            return
        start, new = growing.append(part)
        assert start >= stable
        ids[start:] = new
        assert ids == wanted
        stable = growing.stable_tokens
        assert growing.num_tokens == len(growing) == len(ids)


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_and_truncation_equal_trying_every_position(kind: str) -> None:
    rng = random.Random(kind)
    for _ in range(amount(150, default=12)):
        check(tokenizer(kind), rng)
        check_growth(tokenizer(kind), rng)


@pytest.mark.parametrize("language", ["aka_asante", "ceb"])
def test_a_last_chunk_of_unigram_is_counted_as_a_whole(language: str, data: Path) -> None:
    """The sum of token counts between boundaries differs from the count of the whole, because Unigram rounds scores."""
    tok = jeton.load(data / "vocabs" / "mbart-en-fairseq.sentencepiece.bpe.model")
    text = (data / "udhr" / f"{language}.txt").read_text(encoding="utf-8")
    (chunk,) = tok.split(text, 8192)
    assert chunk.num_tokens == tok.count(text)


@pytest.mark.parametrize("name", REAL)
def test_chunks_of_published_vocabularies_equal_trying_every_position(name: str, data: Path) -> None:
    rng = random.Random(name)
    for _ in range(amount(150, default=12)):
        check(real(data, name), rng)
        check_growth(real(data, name), rng)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", TRICKY, ids=range(len(TRICKY)))
def test_chunks_join_to_the_text(kind: str, text: str) -> None:
    tok = tokenizer(kind)
    if not _encodes(tok, text):
        pytest.skip("the vocabulary lacks a character")
    for limit in (8, 100):
        chunks = tok.split(text, limit, at="grapheme")
        assert "".join(chunk.text for chunk in chunks) == text
        check_chunks(Plain(tok, "none"), text, chunks, limit)


LONG = {
    "one letter": "a" * 20_000,
    "letters": "xyzw" * 5_000,
    "Chinese": "今天天气很好我们出去走走吧" * 500,
    "two bytes": "é" * 9_000,
    "marks": "\u0301" * 9_000,
    "Thai": "สวัสดีชาวโลก" * 500,
    "spaces": " " * 9_000,
    "lines": "\n" * 9_000,
    "symbols": "=" * 9_000,
    "digits": "1234567" * 1_000,
    "words and spaces": ("a" * 1_500 + " " * 1_500) * 3,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_long_texts_without_boundaries_fill_chunks(text: str) -> None:
    """Chunks are within the limit, and take no quadratic work, for any text."""
    tok = jeton.default()
    for limit in (7, 400):
        chunks = tok.split(text, limit)
        assert "".join(chunk.text for chunk in chunks) == text
        check_chunks(Plain(tok, "none"), text, chunks, limit)
        assert all(chunk.num_tokens >= 0.9 * limit - 3 for chunk in chunks[:-1])
        fits = min(limit, tok.count(text))
        assert 0.9 * fits - 3 <= tok.count(tok.truncate(text, limit, side="left")) <= limit
        assert tok.count(tok.truncate(text, limit, side="middle")) <= limit


def check_long(tok: jeton.Tokenizer, text: str, limit: int, at: Any) -> None:
    """Compares the first chunks with trying every boundary that the limit of tokens can reach."""
    plain, start = Plain(tok, "none"), 0
    try:
        chunks = tok.split(text, limit, at=at)
    except jeton.ConfigError as error:
        assert error.position is not None
        assert plain.prefix(text[error.position : error.position + 200], limit, at) == 0
        return
    for chunk in chunks[:3]:
        length = plain.prefix(text[start : start + len(chunk.text) + 200], limit, at)
        assert chunk.char_span == (start, start + length)
        start += length


@pytest.mark.parametrize("kind", ["byte none", "byte gpt2", "byte cl100k", "byte llama3", "byte o200k", "char none"])
def test_the_longest_prefix_of_long_texts(kind: str) -> None:
    """The longest of all prefixes, although no boundary occurs for over 1 KiB."""
    rng = random.Random(kind)
    for _ in range(amount(20, default=3)):
        part = rng.choice((rng.choice(tuple(LONG.values()))[:20], "the older keeper", "toldtheoldtale", "oldTOLDold"))
        text = "".join(rng.choice((part, part, "the", "old")) for _ in range(3_000 // len(part)))[:3_000]
        check_long(tokenizer(kind), text, rng.choice((3, 20)), rng.choice(("character", "grapheme")))


@pytest.mark.parametrize("name", REAL)
def test_the_longest_prefix_of_long_texts_for_real_vocabularies(name: str, data: Path) -> None:
    rng, letters = random.Random(name), "etaoinshrdlu"
    for text in rng.sample(tuple(LONG.values()), amount(3, default=1)):
        check_long(real(data, name), text[:1_500], rng.choice((2, 7)), "character")
    check_long(real(data, name), "".join(rng.choice(letters) for _ in range(1_500)), 20, "character")


# Bytes that no UTF-8 text contains, which GPT-NeoX's vocabulary lacks.
NEVER_IN_TEXT = {0xC0, 0xC1, *range(0xF5, 0x100)}


def without_bytes(kind: str, missing: set[int]) -> jeton.Tokenizer:
    """The tokenizer of a kind, without some bytes and the merges that contain them."""
    full = tokenizer(kind)
    content = {id: token for id, token in full.vocab.items() if not missing & set(token)}
    content = {id: token for id, token in content.items() if id not in full.added_tokens}
    merges = [merge for merge in full.merges if set(merge) <= set(content)]
    return jeton.Tokenizer.from_merges(content, merges, pattern=full.definition.pattern.text)


@pytest.mark.parametrize("kind", ["byte none", "byte gpt2", "byte o200k"])
def test_truncation_by_a_vocabulary_without_bytes_that_utf8_never_uses(kind: str) -> None:
    tok = without_bytes(kind, NEVER_IN_TEXT)
    assert len(tok) == len(tokenizer(kind)) - len(NEVER_IN_TEXT) - len(tokenizer(kind).added_tokens)
    rng = random.Random(kind)
    for _ in range(amount(20, default=3)):
        part = rng.choice(
            (rng.choice(tuple(LONG.values()))[:20], "toldtheoldtale", "oldTOLDold", "今天天气很好", "😉é")
        )
        text = "".join(rng.choice((part, part, "the", "old")) for _ in range(1_500 // len(part)))
        check_long(tok, text, rng.choice((3, 20)), rng.choice(("character", "grapheme")))
        if kind != "byte none":
            check_long_suffix(tok, text, rng.choice((3, 20)))
    with pytest.raises(jeton.InvalidTextError):  # bytes that are not UTF-8 remain unknown
        tok.encode(b"old \xff")
    assert tok.decode_bytes(tok.encode(b"old \xe4")) == b"old \xe4"


def test_a_vocabulary_that_lacks_a_byte_of_text_is_cut_within_the_limit() -> None:
    tok = without_bytes("byte gpt2", {*NEVER_IN_TEXT, 0xE4})
    text = "toldtheoldtale" * 200
    chunks = tok.split(text, 20)
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(len(tok.encode(chunk.text)) == chunk.num_tokens <= 20 for chunk in chunks)
    with pytest.raises(jeton.InvalidTextError):
        tok.split("old 今 \u4e00" * 400, 20)


def check_long_suffix(tok: jeton.Tokenizer, text: str, limit: int) -> None:
    """Compares the longest suffix with trying every position that the limit of tokens can reach."""
    found = tok.truncate(text, limit, side="left")
    longer = text[max(0, len(text) - len(found) - 200) :]
    assert found == longer[Plain(tok, "none").suffix(longer, limit, "character") :]


@pytest.mark.parametrize("kind", ["byte gpt2", "byte cl100k", "byte llama3", "byte o200k"])
def test_the_longest_suffix_of_long_texts(kind: str) -> None:
    rng = random.Random(kind)
    for _ in range(amount(20, default=3)):
        part = rng.choice((rng.choice(tuple(LONG.values()))[:20], "oldTOLDold", "toldtheoldtale"))
        text = "".join(rng.choice((part, part, "the", "old")) for _ in range(1_500 // len(part)))
        check_long_suffix(tokenizer(kind), text, rng.choice((3, 20)))


@pytest.mark.parametrize("overlap", [0, 17])
def test_chunks_across_blocks_equal_truncation(overlap: int) -> None:
    """Tokens before the current chunk are dropped; each chunk equals the longest prefix of the remaining text."""
    rng = random.Random(5)
    words = ["天地玄黄", "宇宙洪荒。", "one ", "two, ", "日月盈昃辰宿列張", "\n", "three_four", "寒來暑往 "]
    text = "".join(rng.choice(words) for _ in range(20_000))
    tok = jeton.default()
    chunks = tok.split(text, 40, overlap=overlap)
    assert chunks[-1].char_span[1] == len(text)
    end = 0
    for chunk in chunks:
        start, last = chunk.char_span
        assert start <= end < last
        assert tok.count(text[start:end]) <= overlap
        end = last
        assert chunk.text == text[start:last] == tok.truncate(text[start : start + 1_000], 40)
        assert chunk.byte_span[1] - chunk.byte_span[0] == len(chunk.text.encode())
    assert type(chunk) is jeton.Chunk
    assert chunk._replace(num_tokens=1) == (*chunk[:3], 1)


@pytest.mark.parametrize("form", ["NFC", "NFKD"])
def test_normalized_truncation_is_within_the_limit(form: str) -> None:
    """Exact for text that the form leaves unchanged; otherwise parts are within the limit and join to the text."""
    source = json.loads(tokenizer("byte gpt2").to_bytes())
    del source["model"]["jeton"]
    tok = jeton.Tokenizer.from_bytes(json.dumps({**source, "normalizer": {"type": form}}).encode())
    rng = random.Random(form)
    for _ in range(amount(20, default=3)):
        part = rng.choice(("oldTOLDold", "toldtheoldtale", "今天天气很好", "é", "e\u0301", "한국", "ﬁn", "\u0301"))
        text = "".join(rng.choice((part, part, "the", "old")) for _ in range(1_500 // len(part)))
        limit = rng.choice((3, 20))
        if unicodedata.is_normalized(form, text):
            check_long(tok, text, limit, "character")
            check_long_suffix(tok, text, limit)
        chunks = tok.split(text, 20)
        assert "".join(chunk.text for chunk in chunks) == text
        check_chunks(Plain(tok, "none"), text, chunks, 20)


@pytest.mark.parametrize("run", ["=", "a", " ", "\n", "\u00a0", "天", "👩\u200d🔬", "xyzw"], ids=ascii)
@pytest.mark.parametrize("side", ["left", "middle"])
def test_runs_take_linear_time(run: str, side: Literal["left", "middle"]) -> None:
    tok = jeton.default()
    texts = {size: (run * size)[:size] for size in (6_000, 24_000)}
    limits = {size: max(tok.count(text) // 3, 3) for size, text in texts.items()}

    def cut(size: int) -> str:
        return tok.truncate(texts[size], limits[size], side=side, marker="…")

    assert growth(cut, (6_000, 24_000), 12) < 12  # quadratic: 16
    for size, limit in limits.items():
        assert 0.9 * limit - 3 <= tok.count(cut(size)) <= limit


@pytest.mark.parametrize("pattern", ["gpt2", r"\w+|\W+", None])
def test_the_highest_limit_leaves_text_whole(pattern: str | None) -> None:
    tok = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [], pattern=pattern)
    text = "ab cd " * 500
    assert tok.count_up_to(text, MOST_TOKENS) == len(text)
    for side in ("right", "left", "middle"):
        assert tok.truncate(text, MOST_TOKENS, side=side) == text
    assert len(tok.split(text, MOST_TOKENS)) == 1
    for call in (tok.truncate, tok.split, tok.count_up_to):
        with pytest.raises(jeton.ConfigError, match=r"not an integer from 0 to 2\^62 - 1"):
            call(text, 1 << 62)


def test_a_text_within_the_limit_is_returned_unchanged() -> None:
    tok = jeton.default()
    for side in ("right", "left", "middle"):
        assert tok.truncate("a few words", 100, side=side) == "a few words"
        assert tok.truncate("", 0, side=side, marker="") == ""
    assert tok.split("", 5) == []
    assert tok.count_up_to("", 0) == 0


def test_tokens_of_an_applied_template_count() -> None:
    tok = jeton.default().with_template("<|im_start|> $A <|im_end|>")
    text = "one two three four five six seven"
    added = tok.count("", add_special_tokens=True)
    assert added == 2
    for limit in range(added, 12):
        assert tok.truncate(text, limit, add_special_tokens=True) == tok.truncate(text, limit - added)
        assert tok.count(tok.truncate(text, limit, add_special_tokens=True), add_special_tokens=True) <= limit


def test_wrong_arguments_are_named() -> None:
    tok = jeton.default()
    for call, option in [
        (lambda: tok.truncate("a", -1), "max_tokens"),
        (lambda: tok.truncate("a", 1.5), "max_tokens"),  # type: ignore[arg-type]
        (lambda: tok.truncate(b"a", 1), "text"),  # type: ignore[arg-type]
        (lambda: tok.truncate("a", 1, side="top"), "side"),  # type: ignore[arg-type]
        (lambda: tok.truncate("a", 1, at="line"), "at"),  # type: ignore[arg-type]
        (lambda: tok.truncate("a b c d e", 1, side="middle", marker="[cut here]"), "marker"),
        (lambda: tok.split("a", 0), "max_tokens"),
        (lambda: tok.split("a", 3, overlap=3), "overlap"),
        (lambda: tok.split("a", 3, overlap=-1), "overlap"),
        (lambda: tok.count_up_to("a", -1), "limit"),
        (lambda: tok.count_batch("a text"), "texts"),
    ]:
        with pytest.raises(jeton.ConfigError) as raised:
            call()
        assert raised.value.option == option


def test_errors_have_the_position_in_the_text() -> None:
    tok = jeton.Tokenizer.from_merges(
        {i: bytes([i]) for i in range(256)}, [], special_tokens={"<|x|>": 300}, pattern="gpt2"
    )
    text = "今 words " * 50 + "<|x|> more"
    with pytest.raises(jeton.SpecialTokenError) as refused:
        tok.split(text, 30, special="raise")
    assert refused.value.position == text.index("<|x|>")
    with pytest.raises(jeton.ConfigError, match="3 tokens, more than the limit of 2") as limited:
        tok.split("ab今", 2)
    assert limited.value.position == 2
    with pytest.raises(jeton.InvalidTextError) as invalid:
        tok.truncate("ab\ud800", 2)
    assert invalid.value.position == 2
    growing = tok.growing(special="raise")
    growing.append("今 words")
    with pytest.raises(jeton.SpecialTokenError) as grown:
        growing.append(" and <|x|>")
    assert grown.value.position == len("今 words and ".encode())
    assert growing.append("") == (len(tok.encode("今 words")), [])  # as before


def test_counts_of_a_batch_equal_those_of_its_texts() -> None:
    tok = jeton.default()
    texts = ["one two", "", b"three \xff", CORPUS, "x" * 2_000_000]
    for threads in (1, 3):
        counts = tok.count_batch(texts, threads=threads)
        assert json.loads(json.dumps(counts)) == [tok.count(text) for text in texts]
        assert {type(count) for count in counts} == {int}
    assert tok.count_batch([]) == []
    bert = jeton.train(["one two"] * 9, 18, preset="bert", progress=False)
    assert bert.count_batch(["one", ""], add_special_tokens=True) == [3, 2]
    with pytest.raises(jeton.InvalidTextError, match="text 1") as raised:
        tok.count_batch(["a", "\ud800"])
    assert raised.value.index == 1


def test_a_growing_text_can_be_copied_and_shared() -> None:
    tok = jeton.default()
    growing = tok.growing()
    growing.append("The old man told")
    other = copy.deepcopy(growing)
    other.append(" the tale")
    assert growing.num_tokens == tok.count("The old man told")
    assert other.num_tokens == tok.count("The old man told the tale")
    assert "16 bytes" in repr(growing)
    shared = tok.growing()
    threads = [threading.Thread(target=lambda: [shared.append(" tale") for _ in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared.num_tokens == tok.count(" tale" * 800)
    for wrong in (b"bytes", 5):
        with pytest.raises(TypeError, match="takes a str"):
            growing.append(wrong)  # type: ignore[arg-type]
