"""Defects that were found once, each with the smallest case that shows it."""

from __future__ import annotations

import json
import os
import pickle
import time
from typing import Any

import pytest

import jeton

from .timing import fastest


def byte_level_with_unk() -> jeton.Tokenizer:
    """A byte-level file with two of the 256 bytes and an unknown token."""
    file = {
        "added_tokens": [{"id": 1, "content": "<unk>", "special": True}],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {"a": 0, "<unk>": 1}, "merges": [], "unk_token": "<unk>"},
    }
    return jeton.Tokenizer.from_bytes(json.dumps(file).encode())


def test_an_unknown_byte_covers_one_byte() -> None:
    tok = byte_level_with_unk()
    assert tok.tokenize("éaé").byte_spans == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    assert len(tok.explain("éé").tokens) == 4


def test_a_vocabulary_without_its_mark_is_refused() -> None:
    tok = jeton.train(["low lower"], 20, end_of_word="</w>", unk_token="<unk>", progress=False)
    file = json.loads(tok.to_bytes())
    mark = file["model"]["jeton"]["end_of_word"]
    file["model"]["vocab"] = {key: id for key, id in file["model"]["vocab"].items() if not key.endswith(mark)}
    file["model"]["merges"] = []
    with pytest.raises(jeton.FormatError, match="mark"):
        jeton.Tokenizer.from_bytes(json.dumps(file).encode())


@pytest.mark.parametrize("style", ["symbol", "suffix"])
@pytest.mark.parametrize(
    ("corpus", "mark"),
    [(["a</w>b a </w> x</w>"], "</w>"), ({"xa": 3}, "x"), (["@@b @@b"], "@"), (["\ue000a \U0010fffda a"], "\ue000")],
)
def test_text_that_spells_the_mark_survives_saving(corpus: Any, mark: str, style: Any) -> None:
    tok = jeton.train(corpus, 40, end_of_word=mark, end_of_word_style=style, progress=False)
    back = pickle.loads(pickle.dumps(tok))
    assert back == tok
    assert dict(back.vocab) == dict(tok.vocab)
    assert back.merges == tok.merges


def test_special_tokens_may_hold_the_private_mark() -> None:
    tok = jeton.train(["low lower"], 30, end_of_word="</w>", special_tokens=["\U0010fffd", "\ue000"], progress=False)
    assert pickle.loads(pickle.dumps(tok)) == tok


@pytest.mark.parametrize(
    "call",
    [
        lambda: jeton.train(["a"], special_tokens=["\ud800"]),
        lambda: jeton.train(["a"], end_of_word="\ud800"),
        lambda: jeton.train(["a"], pattern="\ud800+"),
        lambda: jeton.train({"\ud800": 1}),
        lambda: jeton.train(["a"], vocab_size=2**64),
        lambda: jeton.train(["a"], min_frequency=2**64),
        lambda: jeton.Tokenizer.from_merges({-1: b"a"}, []),
        lambda: jeton.Tokenizer.from_merges({2**32: b"a"}, []),
        lambda: jeton.Tokenizer.from_merges({0: b"a"}, [], special_tokens={"\ud800": 1}),
        lambda: jeton.Tokenizer.from_merges({0: b"a"}, [], special_tokens={"<a>": 2**24}),
        lambda: jeton.Tokenizer.from_merges({0: b"a"}, []).add_tokens(["\ud800"]),
        lambda: jeton.Tokenizer.from_merges({0: b"a"}, []).token_to_id("\ud800"),
        lambda: jeton.Tokenizer.from_merges({0: b"a"}, []).vocab["x"],  # type: ignore[index]
    ],
)
def test_odd_arguments_are_jeton_errors(call: Any) -> None:
    with pytest.raises(jeton.JetonError):
        call()


def test_a_mapping_answers_for_any_key() -> None:
    tok = jeton.Tokenizer.from_merges({0: b"a"}, [])
    assert "x" not in tok.vocab
    assert 0 in tok.vocab
    assert tok.vocab.get(7) is None


def test_a_huge_number_of_threads_is_limited() -> None:
    tok = jeton.Tokenizer.from_merges({97: b"a"}, [])
    assert tok.encode_array("a" * (1 << 21), threads=2**65).shape == (1 << 21,)


def test_permission_is_made_ready_once_a_call() -> None:
    names = {f"<|{i}|>": 300 + i for i in range(20_000)}
    tok = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [], special_tokens=names)
    permitted = set(list(names)[:19_999])
    assert fastest(lambda: tok.encode_batch(["<|7|>"] * 2_000, special=permitted), 2) < 2


def test_many_added_tokens_load_in_linear_time() -> None:
    names = {f"<|{i}|>": 300 + i for i in range(50_000)}
    tok = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [], special_tokens=names)
    data = tok.to_bytes()
    assert jeton.Tokenizer.from_bytes(data) == tok
    assert fastest(lambda: jeton.Tokenizer.from_bytes(data), 3) < 3


def test_a_huge_token_in_a_rank_file_loads_in_linear_time(tmp_path: Any) -> None:
    import base64

    lines = [base64.b64encode(bytes([i])) + b" %d\n" % i for i in range(256)]
    lines.append(base64.b64encode(b"ab" * 100_000) + b" 256\n")
    path = tmp_path / "huge.tiktoken"
    path.write_bytes(b"".join(lines))

    def loads() -> None:
        tok = jeton.load(path, pattern="none")
        assert tok.encode(b"ab" * 100_000) == [256]
        assert jeton.Tokenizer.from_bytes(tok.to_bytes()) == tok

    assert fastest(loads, 3) < 3


def test_a_huge_id_takes_no_gigabytes() -> None:
    file = {"model": {"type": "BPE", "vocab": {"a": 2**28 - 1}, "merges": []}}
    with pytest.raises(jeton.FormatError):
        jeton.Tokenizer.from_bytes(json.dumps(file).encode())


def test_the_fingerprint_after_training_equals_that_of_the_file() -> None:
    """The fingerprint once copied the training log, and with it the tokenizer."""
    tok = jeton.train(["a天 a天"], 300, special_tokens=["a"], progress=False)
    assert tok.fingerprint == jeton.Tokenizer.from_bytes(tok.to_bytes()).fingerprint


def test_a_long_pretoken_is_explained_in_linear_time() -> None:
    tok = jeton.train(["ab" * 50 + "abc" * 30], 270, pattern="none", progress=False)

    def explains() -> None:
        assert "too long to show" in str(tok.explain("abcab" * 20_000))

    assert fastest(explains, 5) < 5


def foreign(**changes: Any) -> bytes:
    """A small file as HF writes it, with changed top-level members."""
    file: dict[str, Any] = {
        "added_tokens": [],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []},
    }
    return json.dumps(file | changes).encode()


def test_an_added_token_never_takes_the_place_of_an_entry() -> None:
    with pytest.raises(jeton.FormatError, match="id of another token"):
        jeton.Tokenizer.from_bytes(foreign(added_tokens=[{"id": 1, "content": "<x>", "special": True}]))


def test_an_id_that_hf_would_not_give_is_refused() -> None:
    with pytest.raises(jeton.UnsupportedFeatureError, match="would assign 2"):
        jeton.Tokenizer.from_bytes(foreign(added_tokens=[{"id": 20, "content": "<x>", "special": True}]))
    tok = jeton.Tokenizer.from_bytes(foreign(added_tokens=[{"id": 2, "content": "<x>", "special": True}]))
    assert tok.special_tokens == {"<x>": 2}


@pytest.mark.parametrize("kind", ["FooBPE", "", 5, None, "WordPiece", "Unigram", "WordLevel"])
def test_jetons_facts_in_a_file_do_not_override_the_type_of_its_model(kind: object) -> None:
    file = json.loads(jeton.train(["low lower"], 260, pattern="gpt2", progress=False).to_bytes())
    file["model"]["type"] = kind
    with pytest.raises(jeton.FormatError, match="is not the one that Jeton recorded"):
        jeton.Tokenizer.from_bytes(json.dumps(file).encode())
    if kind != "WordLevel":
        del file["model"]["jeton"]
        with pytest.raises(jeton.FormatError):
            jeton.Tokenizer.from_bytes(json.dumps(file).encode())


@pytest.mark.parametrize(
    ("preset", "field", "value"),
    [
        (None, "dropout", 0.1),
        (None, "unk_token", "low"),
        (None, "fuse_unk", True),
        (None, "byte_fallback", True),
        (None, "ignore_merges", True),
        (None, "continuing_subword_prefix", "##"),
        (None, "end_of_word_suffix", "</w>"),
        ("bert", "max_input_chars_per_word", 7),
        ("bert", "unk_token", "low"),
        ("unigram", "unk_id", 5),
        ("unigram", "byte_fallback", True),
    ],
)
def test_jetons_facts_in_a_file_do_not_override_fields_of_its_model(preset: Any, field: str, value: object) -> None:
    options = {"pattern": "gpt2"} if preset is None else {"preset": preset}
    tok = jeton.train(["low lower lowest"] * 9, 260 if preset is None else 30, progress=False, **options)
    file = json.loads(tok.to_bytes())
    assert file["model"][field] != value
    assert jeton.Tokenizer.from_bytes(json.dumps(file).encode()).definition == tok.definition
    file["model"][field] = value
    with pytest.raises(jeton.FormatError, match="is not the one that Jeton recorded"):
        jeton.Tokenizer.from_bytes(json.dumps(file).encode())


def test_jetons_facts_in_a_file_do_not_override_its_pipeline() -> None:
    file = json.loads(jeton.train(["low lower"], 260, pattern="gpt2", progress=False).to_bytes())
    file["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, file["pre_tokenizer"]]}
    with pytest.raises(jeton.FormatError, match=r"is not the one that Jeton recorded in \$\.model\.jeton"):
        jeton.Tokenizer.from_bytes(json.dumps(file).encode())


def test_counts_that_were_not_cut_at_a_special_token() -> None:
    counts = jeton.count_pretokens(["<s>a<s>a"], pattern="none")
    with pytest.raises(jeton.ConfigError, match="not split"):
        jeton.train(counts, 260, pattern="none", special_tokens=["<s>"])
    counts = jeton.count_pretokens(["<s>a<s>a"], pattern="none", special_tokens=["<s>"])
    assert jeton.train(counts, 260, pattern="none", special_tokens=["<s>"], progress=False).merges == ()


def test_threads_do_not_decide_whether_a_regex_ends() -> None:
    pattern = r"[a-z](?:(?=[a-z]*[0-9])|)|\s+|."
    text = "\n" * (1 << 19) + ("a" * 1300 + "\n") * 400

    def outcome(threads: int) -> str:
        try:
            return str(jeton.count_pretokens([text], pattern=pattern, threads=threads).total)
        except jeton.InvalidTextError as error:
            return str(error)

    assert outcome(1) == outcome(2)


def test_encoding_works_where_no_thread_can_start(tmp_path: Any) -> None:
    import subprocess
    import sys

    pytest.importorskip("resource")
    code = (
        "import numpy, resource, jeton; tok = jeton.Tokenizer.from_merges({97: b'a'}, []);"
        "resource.setrlimit(resource.RLIMIT_NPROC, (1, 1)); resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31));"
        "print(len(tok.encode_array('a' * (1 << 24), threads=256)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "16777216\n", done.stderr


def test_a_counting_error_names_the_document_and_the_byte_in_it() -> None:
    pattern = r"a(?=.*$)|b"
    hard = "<s>" + "b" * 10 + "<s>" + "a" * 5000 + "c"
    with pytest.raises(jeton.InvalidTextError, match=r"corpus\[2\]") as caught:
        jeton.count_pretokens(["b", "<s>b", hard], pattern=pattern, special_tokens=["<s>"])
    assert caught.value.source == "corpus[2]"
    assert caught.value.position is not None
    assert 16 <= caught.value.position < len(hard)


def test_arrays_of_any_alignment_decode() -> None:
    import numpy as np

    tok = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
    crooked = np.frombuffer(b"?" + np.array([104, 105], "<u4").tobytes(), "<u4", offset=1)
    assert tok.decode(crooked) == "hi"
    assert tok.decode(tok.encode_array("")) == ""
    assert tok.decode(np.array([104, 0, 105, 0], np.uint32)[::2]) == "hi"
    assert tok.encode_batch([]).offsets.tolist() == [0]


DOUBLE: Any = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
BYTE_ALPHABET: Any = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
UNSEEN: Any = {"id": 2, "content": "ab", "special": False, "normalized": True}


@pytest.mark.parametrize(
    "file",
    [
        {"normalizer": {"type": "Sequence", "normalizers": [DOUBLE] * 64}},
        {"normalizer": {"type": "Sequence", "normalizers": [DOUBLE] * 64}, "added_tokens": [UNSEEN]},
        {"normalizer": {"type": "Sequence", "normalizers": [{**DOUBLE, "content": "a" * 5000}] * 2}},
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [BYTE_ALPHABET] * 64}},
        {"decoder": {"type": "Sequence", "decoders": [DOUBLE] * 64}},
        {"decoder": {"type": "Sequence", "decoders": [{"type": "BPEDecoder", "suffix": ""}] * 64}},
        {"decoder": {"type": "Sequence", "decoders": [{**DOUBLE, "content": "a" * 5000}] * 2}},
    ],
)
def test_parts_that_multiply_a_text_end_in_an_error(file: dict[str, Any]) -> None:
    model = {"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1}, "unk_token": "<unk>"}

    def use() -> None:
        tok = jeton.Tokenizer.from_bytes(json.dumps({"model": model, **file}).encode())
        tok.encode("aé")
        tok.decode([0, 0])

    with pytest.raises(jeton.JetonError, match="more than"):
        use()


def test_the_best_of_many_words_take_no_gigabytes() -> None:
    pieces = [["<unk>", 0.0], ["a", -1.0], ["aa", -2.1], ["aaa", -3.2], ["b", -4.0], ["ab", -4.5]]
    file = {"pre_tokenizer": {"type": "WhitespaceSplit"}, "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces}}
    tok = jeton.Tokenizer.from_bytes(json.dumps(file).encode())
    ways = tok.nbest("aaa", 20)
    both = [(left + right, a + b) for left, a in ways for right, b in tok.nbest("ab", 20)]
    both.sort(key=lambda way: -way[1])  # a stable sort
    for n in (1, 2, 5, 20):
        assert tok.nbest("aaa ab", n) == both[:n]
    began = time.perf_counter()
    best = tok.nbest("aaaaaaaaab " * 300, 1024)
    assert len(best) == len({tuple(ids) for ids, _ in best}) == 1024
    assert best[0][0] == tok.encode("aaaaaaaaab " * 300)
    assert time.perf_counter() - began < 30


@pytest.mark.skipif("JETON_TEST_DATA" not in os.environ, reason="JETON_TEST_DATA names no folder")
@pytest.mark.timeout(60)
def test_encoding_a_long_run_behind_a_mark_ends() -> None:
    """A megabyte of dashes after a mark: near the end, the same tokens were once dropped and found again forever."""
    tok = jeton.load(os.path.join(os.environ["JETON_TEST_DATA"], "vocabs", "gpt-neox-20b.tokenizer.json"))
    for size in (100_000, 999_999):
        text = "!" + "-" * size
        ids = tok.encode(text)
        assert tok.decode(ids) == text
        assert len(ids) < size // 200


def test_an_added_token_that_is_an_entry_with_an_end_mark_must_be_special() -> None:
    options: dict[str, Any] = {"pattern": "whitespace", "end_of_word": "</w>", "end_of_word_style": "suffix"}
    tok = jeton.train(["low lower x"], 12, level="char", progress=False, **options)
    file = json.loads(tok.to_bytes())
    del file["model"]["jeton"]
    entry = {"id": tok.token_to_id("x</w>"), "content": "x</w>", "special": True, "normalized": False}
    file["added_tokens"] = [entry | {"single_word": False, "lstrip": False, "rstrip": False}]
    assert "x</w>" in jeton.Tokenizer.from_bytes(json.dumps(file).encode()).special_tokens
    file["added_tokens"][0]["special"] = False
    with pytest.raises(jeton.UnsupportedFeatureError, match="is also an entry with the end-of-word suffix"):
        jeton.Tokenizer.from_bytes(json.dumps(file).encode())
