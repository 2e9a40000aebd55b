"""Decoding ids as they arrive equals `decode` for every tokenizer and division, and never retracts text."""

from __future__ import annotations

import codecs
import copy
import dataclasses
import inspect
import itertools
import json
import pickle
import random
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from tests.material import CORPUS, KINDS, TRICKY, byte_tokenizer, tokenizer
from tests.selection import amount

# One of each format and decoder, and those that cannot be decoded id by id.
REAL = (
    "mistral-v1.model",
    "phi-3-mini.tokenizer.json",
    "t5-small.tokenizer.json",
    "bert-uncased.vocab.txt",
    "spm-ja.model",
    "mbart-en-fairseq.tokenizer.json",
    "mbart-en-fairseq.sentencepiece.bpe.model",
    "cl100k_base.tiktoken",
    "roberta-base.tokenizer.json",
    "whisper-tiny.tokenizer.json",
)
ERRORS: tuple[Any, ...] = ("replace", "ignore", "strict")


@cache
def real(folder: Path, name: str) -> jeton.Tokenizer:
    return jeton.load(folder / "vocabs" / name)


def random_ids(rng: random.Random, tok: jeton.Tokenizer, alphabet: list[int]) -> list[int]:
    """Ids of a text, random ids, or ids of `alphabet` that no text encodes to; with special tokens anywhere."""
    ids: list[int] = []
    for _ in range(rng.randrange(1, 5)):
        which = rng.randrange(4)
        if which == 0:
            start = rng.randrange(len(CORPUS))
            ids += tok.encode(CORPUS[start : start + rng.randrange(40)], special="all")
        elif which == 1:
            ids += tok.encode(rng.choice(TRICKY), special="all")
        else:
            ids += rng.choices(alphabet, k=rng.randrange(8))
    return ids


def alphabet_of(rng: random.Random, tok: jeton.Tokenizer) -> list[int]:
    """Some added tokens, short ones, some that begin with `▁`, `##` or `<`, as byte pieces do, and a few others."""
    ids = list(tok.vocab)
    drawn = rng.sample(ids, min(3_000, len(ids)))
    odd = [id for id in ids[:400] + drawn if len(tok.vocab[id]) <= 3 or tok.id_to_token(id)[:1] in "▁#<"]
    return [*drawn[:100], *rng.sample(odd, min(400, len(odd))), *list(tok.added_tokens)[:20]]


def pieces(rng: random.Random, ids: list[int]) -> Iterator[list[int]]:
    """Divides ids at random."""
    at = 0
    while at < len(ids):
        size = rng.choice((0, 1, 1, 1, 2, 3, 7))
        yield ids[at : at + size]
        at += size


def decoded(tok: jeton.Tokenizer, ids: list[int], **options: Any) -> str | int | None:
    """`decode`, or the position of its error."""
    try:
        return tok.decode(ids, **options)
    except jeton.errors.DecodeError as error:
        return error.position


def streamed(rng: random.Random, tok: jeton.Tokenizer, ids: list[int], **options: Any) -> str | int | None:
    """`push` and `finish`, joined, or the position of the error. Checks that the text only grows."""
    stream = tok.stream(**options)
    text = ""
    try:
        for some in pieces(rng, ids):
            more = stream.push(some[0] if len(some) == 1 and rng.random() < 0.5 else some)
            assert stream.text == text + more
            text += more
            if rng.random() < 0.05:
                branch = stream.copy()
                with suppress(jeton.errors.DecodeError):
                    branch.push(ids[:3])
                    branch.finish()
        return text + stream.finish()
    except jeton.errors.DecodeError as error:
        return error.position


def check(tok: jeton.Tokenizer, seed: int, rounds: int) -> None:
    rng = random.Random(seed)
    alphabet = alphabet_of(rng, tok)
    for _ in range(rounds):
        ids = random_ids(rng, tok, alphabet)
        options: dict[str, Any] = {"skip_special_tokens": rng.random() < 0.5, "invalid_utf8": rng.choice(ERRORS)}
        wanted = decoded(tok, ids, **options)
        assert streamed(rng, tok, ids, **options) == wanted, ids
        if not isinstance(wanted, str):
            continue
        cut = rng.randrange(len(ids) + 1)
        final = tok.stream(**options).push(ids[:cut])
        assert wanted.startswith(final)
        stream = tok.stream(ids[:cut], **options)
        text = "".join(map(stream.push, pieces(rng, ids[cut:]))) + stream.finish()
        assert stream.text == text
        check_after_prompt(tok, ids[:cut], wanted, text, final, options)


def check_after_prompt(
    tok: jeton.Tokenizer, prompt: list[int], wanted: str, text: str, final: str, options: dict[str, Any]
) -> None:
    """Checks that the text after a prompt is what the ids add to the prompt's text, `final` or longer."""
    assert wanted.endswith(text), (wanted, text)
    assert len(text) <= len(wanted) - len(final), (wanted, text, final)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(tok.decode_bytes(prompt, skip_special_tokens=options["skip_special_tokens"]))
    ends_incomplete = decoder.getstate()[0] != b""
    if options["invalid_utf8"] == "strict":
        options = options | {"invalid_utf8": "ignore"}
    if ends_incomplete and options["invalid_utf8"] == "replace":
        return  # the character that the ids complete belongs to their text
    alone = tok.decode(prompt, **options)
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(alone, wanted, strict=False)))
    assert text == wanted[same:], (prompt, wanted)


def test_every_kind_equals_decode(kind: str) -> None:
    check(tokenizer(kind), list(KINDS).index(kind), amount(1_000, default=150))


@pytest.mark.parametrize("name", REAL)
def test_every_vocabulary_equals_decode(data: Path, name: str) -> None:
    check(real(data, name), REAL.index(name), amount(3_000, default=200))


def first_match(text: str, stops: Iterable[str]) -> tuple[str, str | None]:
    """The text before the first match, and the match; by definition."""
    found = [(text.find(stop), len(stop), stop) for stop in stops if stop in text]
    if not found:
        return text, None
    start, _, stop = min(found)
    return text[:start], stop


@pytest.mark.parametrize("kind", ["byte gpt2", "char gpt2", "words suffix"])
def test_stop_strings_end_the_text_before_the_first_match(kind: str) -> None:
    tok, rng = tokenizer(kind), random.Random(5)
    alphabet = alphabet_of(rng, tok)
    for _ in range(amount(2_000, default=400)):
        ids = random_ids(rng, tok, alphabet)
        text = tok.decode(ids)
        starts = [rng.randrange(len(text) + 1) for _ in range(rng.randrange(1, 4))]
        stops = [text[at : at + rng.randrange(1, 9)] or "never" for at in starts] + rng.choices(
            ["\n", "e ", "tha"], k=2
        )
        stream = tok.stream(stop=stops)
        out = "".join(map(stream.push, pieces(rng, ids))) + stream.finish()
        assert (out, stream.stopped) == first_match(text, stops), (text, stops)
        assert stream.text == out


def test_text_that_may_begin_a_stop_string_is_held_back() -> None:
    tok = byte_tokenizer()
    stream = tok.stream(stop=["User:", "\n\n"])
    assert [stream.push(id) for id in b"a Us\nUse"] == ["a", " ", "", "", "Us", "\n", "", ""][:8]
    assert stream.stopped is None
    assert [stream.push(id) for id in b"r:x"] == ["", "", ""]
    assert (stream.stopped, stream.text, stream.push(b"more"), stream.finish()) == ("User:", "a Us\n", "", "")
    with pytest.raises(jeton.UnknownTokenError):
        tok.stream(b"a", stop="b").push([5000])
    with pytest.raises(jeton.ConfigError, match=r"stop\[1\] is empty"):
        tok.stream(stop=["a", ""])
    with pytest.raises(jeton.ConfigError, match=r"stop\[0\].*lone surrogate"):
        tok.stream(stop="\ud800")
    assert byte_tokenizer().stream(stop="ab").push(b"xab") == "x"  # one string only


def test_the_first_ids_complete_a_character_of_the_prompt() -> None:
    tok = byte_tokenizer()
    stream = tok.stream("né".encode()[:2], stop=["né"])
    assert stream.push(0xA9) == "é"  # stop strings are not searched in the prompt
    assert stream.text == "é"


BYTE_PIECES = ("\n", "<0x0A>", "<0xE4>", "<0xBB>", "<0x8A>", "▁", "a", "b", "▁a")


def byte_pieces(decoder: list[dict[str, Any]]) -> jeton.Tokenizer:
    """A tokenizer with byte fallback and this decoder."""
    parts = [{"type": "ByteFallback"}, {"type": "Fuse"}, *decoder]
    vocab = {piece: id for id, piece in enumerate(("<unk>", *BYTE_PIECES))}
    model = {"type": "BPE", "vocab": vocab, "merges": [["▁", "a"]], "unk_token": "<unk>", "byte_fallback": True}
    whole = {"model": model, "decoder": {"type": "Sequence", "decoders": parts}}
    return jeton.Tokenizer.from_bytes(json.dumps(whole).encode())


SPACE = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}


@pytest.mark.parametrize("decoder", [[SPACE], [SPACE, STRIP], []])
def test_a_prompt_that_ends_in_byte_pieces_is_not_returned(decoder: list[dict[str, Any]]) -> None:
    tok = byte_pieces(decoder)
    id = {piece: at for at, piece in enumerate(("<unk>", *BYTE_PIECES))}
    newline, answer = [id["b"], id["<0x0A>"]], [id["a"], id["b"]]
    for prompt in (newline, [*newline, id["<0x0A>"]], [*newline, id["<0xE4>"], id["<0xBB>"], id["<0x8A>"]]):
        stream = tok.stream(prompt, stop=["\n", "今"])
        assert (stream.push(answer) + stream.finish(), stream.stopped) == ("ab", None)
        stream = tok.stream(prompt, stop="\n")
        assert stream.push([id["a"], id["<0x0A>"], id["b"]]) + stream.finish() == "a"
        assert stream.stopped == "\n"
    stream = tok.stream([*newline, id["<0xE4>"]])
    assert stream.push([id["<0xBB>"], id["<0x8A>"], id["a"]]) == "今a"


def test_a_prompt_may_end_anywhere_in_a_text(data: Path) -> None:
    text, compared = "### Answer:\n 😉 今日は\n\nyes é\n", 0
    for name in ("phi-3-mini.tokenizer.json", "mistral-v1.model", "t5-small.tokenizer.json", "bert-uncased.vocab.txt"):
        tok = real(data, name)
        ids = tok.encode(text)
        whole = tok.decode(ids)
        for cut in range(len(ids) + 1):
            before = tok.decode(ids[:cut], invalid_utf8="replace").rstrip("\ufffd")
            if whole.startswith(before):
                stream = tok.stream(ids[:cut], stop="never")
                assert stream.push(ids[cut:]) + stream.finish() == whole[len(before) :], (name, cut)
                compared += 1
    assert compared > 40


def test_wrong_ids_leave_the_stream_unchanged(tok: jeton.Tokenizer) -> None:
    stream = tok.stream()
    assert stream.push([0xE4, 0xBB]) == ""
    for wrong in (10**6, -1, 2**40, np.int64(-5), [104, 10**6], [-1], np.array([1, 2**40])):
        with pytest.raises(jeton.UnknownTokenError) as caught:
            stream.push(wrong)  # type: ignore[arg-type]
        with pytest.raises(jeton.UnknownTokenError) as wanted:
            tok.decode(np.atleast_1d(wrong).tolist())
        assert str(caught.value) == str(wanted.value)
        assert caught.value.position == wanted.value.position
    for nonsense in ("abc", [[1]], 1.5, None, [1.5]):
        with pytest.raises(TypeError):
            stream.push(nonsense)  # type: ignore[arg-type]
    assert stream.push(0x8A) == "今"
    with pytest.raises(jeton.UnknownTokenError):
        tok.stream([1, 10**6])
    with pytest.raises(jeton.ConfigError, match="invalid_utf8"):
        tok.stream(invalid_utf8="backslashreplace")  # type: ignore[arg-type]


def test_ids_of_every_type_are_accepted() -> None:
    stream = byte_tokenizer().stream()
    given: list[Any] = [
        97,
        [98],
        (99,),
        b"d",
        np.uint8(101),
        np.array([102, 103]),
        np.array(104),
        iter([105]),
        range(106, 108),
    ]
    assert "".join(map(stream.push, given)) == "abcdefghijk"


def test_a_finished_or_failed_stream_takes_no_ids(tok: jeton.Tokenizer) -> None:
    stream = tok.stream()
    stream.push(0xE5)
    branch = stream.copy()
    assert (stream.finish(), stream.finish(), stream.text) == ("\ufffd", "", "\ufffd")
    with pytest.raises(jeton.ConfigError, match="finished"):
        stream.push(104)
    assert branch.push([0xB0, 0x8F]) == "小"
    strict = tok.stream(invalid_utf8="strict")
    with pytest.raises(jeton.errors.DecodeError, match=r"at byte 1 \(invalid start byte\); invalid_utf8=") as caught:
        strict.push([104, 0xFF])
    assert (caught.value.position, strict.text) == (1, "h")
    for call in (lambda: strict.push(104), strict.finish):
        with pytest.raises(jeton.ConfigError, match="failed"):
            call()
    strict = tok.stream(invalid_utf8="strict")
    assert strict.push([104, 0xE5]) == "h"
    with pytest.raises(jeton.errors.DecodeError, match="unexpected end of data"):
        strict.finish()


def test_copies_are_independent(tok: jeton.Tokenizer) -> None:
    stream = tok.stream(stop=["abc"])
    stream.push(tok.encode("xab"))
    others = [stream.copy(), copy.copy(stream), copy.deepcopy(stream)]
    assert [other.push(tok.encode("d")) for other in others] == ["abd"] * 3
    stream.push(tok.encode("c"))
    assert (stream.stopped, stream.text, others[0].stopped, others[0].text) == ("abc", "x", None, "xabd")
    assert repr(stream) == "TextStream('x', stopped='abc')"


def test_threads_share_a_stream() -> None:
    tok = byte_tokenizer()
    stream = tok.stream()
    many = [*b"0123456789"] * 300  # more ids than are decoded with the GIL held

    def push(byte: int) -> None:
        for _ in range(200):
            stream.push(byte)
        stream.push(many)

    threads = [threading.Thread(target=push, args=(97 + i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = stream.text
    assert [text.count(letter) for letter in "abcd"] == [200] * 4
    assert text.count("0123456789" * 300) == 4


def test_the_class_is_documented_and_made_by_tokenizers_only() -> None:
    assert "Decoder of ids that arrive one by one" in (inspect.getdoc(jeton.TextStream) or "")
    assert list(inspect.signature(jeton.TextStream.push).parameters) == ["self", "ids"]
    for name in ("push", "finish", "copy", "text", "stopped"):
        assert inspect.getdoc(getattr(jeton.TextStream, name)), name
    with pytest.raises(TypeError):
        jeton.TextStream()
    stream = byte_tokenizer().stream()
    assert stream.push(ids=97) == "a"
    with pytest.raises(TypeError):
        pickle.dumps(stream)
    assert repr(byte_tokenizer().stream()) == "TextStream('')"
    stream.push(b"b" * 40)
    assert repr(stream) == f"TextStream('…{'b' * 40}')"


def test_a_replacement_is_limited_id_by_id_too() -> None:
    """A single component on complete strings takes the path without lists."""
    decoder = [{"type": "Replace", "pattern": {"String": "a"}, "content": "b" * 2_000_000}]
    tok = tokenizer("byte none")
    core = dataclasses.replace(tok.definition, decoder=decoder).build(tok._core.vocabulary())
    for ids in ([97], [97, 97]):
        stream = core.text_stream([], [], errors="replace", skip_special=False)
        with pytest.raises(jeton.ConfigError, match="the decoder produces more than"):
            stream.push(ids[0] if len(ids) == 1 else ids)
        with pytest.raises(jeton.ConfigError, match="failed"):
            stream.push(97)
