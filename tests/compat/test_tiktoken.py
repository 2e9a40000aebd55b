"""The drop-in for tiktoken, alone."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import random
import subprocess
import sys
import threading
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton.compat.tiktoken as tiktoken
from jeton.compat import report
from jeton.compat.tiktoken import Encoding, _educational, load, model, openai_public, registry
from jeton.compat.tiktoken._tiktoken import CoreBPE
from jeton.compat.tiktoken.ranks import RankFile
from jeton.formats.registry import REGISTRY

BYTES = {bytes([byte]): byte for byte in range(256)}


def small(ranks: dict[bytes, int], special: dict[str, int] | None = None, pattern: str = r"\w+|\W+") -> Encoding:
    return Encoding("made", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special or {})


# ── special tokens ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_disallowed_special_token_has_tiktokens_message(enc: Encoding) -> None:
    with pytest.raises(
        ValueError, match=r"Encountered text corresponding to disallowed special token '<\|fim_prefix\|>'"
    ) as error:
        enc.encode("a<|fim_prefix|><|endoftext|>")
    assert type(error.value) is ValueError
    assert "`disallowed_special=(enc.special_tokens_set - {'<|fim_prefix|>'})`" in str(error.value)
    for call in (enc.encode_to_numpy, enc.encode_with_unstable):
        with pytest.raises(ValueError, match="disallowed special token"):
            call("a<|endoftext|>")
    with pytest.raises(ValueError, match="disallowed special token"):
        enc.encode_batch(["a", "a<|endoftext|>"])


def test_special_tokens_need_permission(enc: Encoding) -> None:
    text = "a<|endoftext|>b<|fim_prefix|>"
    assert enc.encode(text, allowed_special="all").count(2000) == 1
    assert enc.encode(text, allowed_special={"<|endoftext|>"}, disallowed_special=()).count(2001) == 0
    with pytest.raises(ValueError, match="fim_prefix"):
        enc.encode(text, allowed_special={"<|endoftext|>"})
    assert enc.encode(text, disallowed_special=()) == enc.encode_ordinary(text)
    with pytest.raises(ValueError, match="'b'"):
        enc.encode(text, allowed_special="all", disallowed_special={"b"})
    with pytest.raises(TypeError):
        enc.encode("a", allowed_special=["<|endoftext|>"])  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        enc.encode(b"a")  # type: ignore[arg-type]


def test_batches_equal_single_texts(enc: Encoding) -> None:
    texts = ["low lower", "", "今天 <s> ", "a\ud83d", "x<|endoftext|>"]
    for options in (
        {"allowed_special": "all"},
        {"disallowed_special": ()},
        {"allowed_special": {" <s> ", "<|endoftext|>"}},
    ):
        expected = [enc.encode(text, **options) for text in texts]  # type: ignore[arg-type]
        assert enc.encode_batch(texts, **options) == expected  # type: ignore[arg-type]
        assert enc.decode_batch(expected) == [enc.decode(ids) for ids in expected]
        assert enc.decode_bytes_batch(expected) == [enc.decode_bytes(ids) for ids in expected]
    assert enc.encode_ordinary_batch(iter(texts)) == [enc.encode_ordinary(text) for text in texts]
    with pytest.raises(TypeError):
        enc.encode_batch(["a", b"b"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="num_threads"):
        enc.encode_batch(["a"], num_threads=0)


def test_lone_surrogates_are_replaced_in_lists_and_refused_in_arrays(enc: Encoding) -> None:
    assert enc.encode("\ud83d\udc4d") == enc.encode("👍")
    assert enc.encode("a\ud83d") == enc.encode("a\ufffd")
    assert enc.encode_ordinary_batch(["a\ud83d", "b"]) == [enc.encode("a\ufffd"), enc.encode("b")]
    with pytest.raises(UnicodeEncodeError):
        enc.encode_to_numpy("a\ud83d")
    with pytest.raises(ValueError, match="disallowed"):  # before the text is repaired
        enc.encode("a\ud83d<|endoftext|>")


# ── odd vocabularies ──────────────────────────────────────────────────────────────────────────────────────────────


def test_special_tokens_that_share_ids() -> None:
    enc = small(BYTES | {b"ab": 256}, {"<a>": 300, "<b>": 300, "<c>": 256})
    assert enc.encode("<a><b><c>ab", allowed_special="all") == [300, 300, 256, 256]
    assert enc.encode_to_numpy("<b>", allowed_special="all").tolist() == [300]
    assert enc.encode_batch(["<b>", "<c>"], allowed_special="all") == [[300], [256]]
    assert enc.decode([300, 256]) == "<a>ab"
    assert [enc.encode_single_token(token) for token in ("<b>", "<c>", "ab")] == [300, 256, 256]
    for id in (301, 302):  # used inside
        with pytest.raises(KeyError):
            enc.decode([id])
        with pytest.raises(KeyError):
            enc.decode_single_token_bytes(id)


def test_ids_up_to_32_bits_are_encoded_and_decoded() -> None:
    far = {token: 3 * rank + 2**24 for token, rank in (BYTES | {b"ab": 256}).items()}
    enc = small(far, {"<s>": 2**32 - 1})
    ids = enc.encode("xab<s>", allowed_special="all")
    assert ids == [far[b"x"], far[b"ab"], 2**32 - 1]
    assert enc.decode_with_offsets(ids) == ("xab<s>", [0, 1, 3])
    assert enc.decode_tokens_bytes(ids) == [b"x", b"ab", b"<s>"]
    assert enc.max_token_value == 2**32 - 1
    with pytest.raises(KeyError, match="Invalid token for decoding: 0"):
        enc.decode([0])


def test_bytes_without_a_rank_are_key_errors() -> None:
    enc = small({b"ab": 0, b"b": 1})
    assert enc.encode("abb") == [0, 1]  # the merge is formed although `a` has no rank
    with pytest.raises(KeyError):
        enc.encode("a")
    with pytest.raises(KeyError):
        enc.decode([2])


def test_text_outside_of_matches_of_the_pattern_is_dropped() -> None:
    assert small(BYTES, pattern="[a-z]+").encode("ab, c") == [97, 98, 99]
    assert small(BYTES, pattern="gpt2").encode("gpt2 x") == list(b"gpt2")  # a regex, not a name


def test_the_empty_token_is_decoded_and_never_encoded() -> None:
    enc = small(BYTES | {b"": 300}, {"": 301, "<s>": 302})
    assert enc.encode("a<s>", allowed_special="all") == [97, 302]
    assert (enc.decode([300, 97, 301]), enc.encode_single_token(b"")) == ("a", 300)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"mergeable_ranks": {}}, ValueError),
        ({"mergeable_ranks": {b"a": 1, b"b": 1}}, ValueError),
        ({"mergeable_ranks": {b"a": -1}}, OverflowError),
        ({"mergeable_ranks": {"a": 1}}, TypeError),
        ({"special_tokens": {1: 1}}, TypeError),
        ({"pat_str": "("}, ValueError),
        ({"explicit_n_vocab": 5}, AssertionError),
    ],
)
def test_wrong_arguments_are_refused(facts: dict[str, Any], wrong: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Encoding("wrong", **(facts | wrong))


# ── ids → text ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_decoding_takes_sequences_and_arrays(enc: Encoding) -> None:
    ids = enc.encode("low lower 今天")
    for same in (tuple(ids), np.array(ids), np.array(ids, np.uint32), np.array(ids, np.int16)):
        assert enc.decode(same) == "low lower 今天"
    for wrong, error in (
        ({1, 2}, TypeError),
        ("a", TypeError),
        ([1.0], TypeError),
        ([-1], OverflowError),
        ([2**32], OverflowError),
    ):
        with pytest.raises(error):
            enc.decode(wrong)  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="Invalid token for decoding: 5000"):
        enc.decode_bytes([97, 5000])
    with pytest.raises(UnicodeDecodeError):
        enc.decode([0xE4], errors="strict")


def test_offsets_are_starts_in_the_text(enc: Encoding) -> None:
    for text in ("", "naïve 今天 👍", "a<|endoftext|>é"):
        decoded, offsets = enc.decode_with_offsets(ids := enc.encode(text, allowed_special="all"))
        starts = [len(enc.decode_bytes(ids[:at]).decode(errors="ignore")) for at in range(len(ids))]
        assert (decoded, offsets) == (text, starts)
    with pytest.raises(UnicodeDecodeError):
        enc.decode_with_offsets([0x80])


# ── unstable text ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_continuations_begin_with_the_unstable_text(enc: Encoding) -> None:
    for text in ("low lo", "the \n", "<|endoftext|>", "", "a 今天", "  "):
        stable, continuations = enc.encode_with_unstable(text, allowed_special="all")
        head = enc.decode_bytes(stable)
        assert text.encode().startswith(head)
        assert all((head + enc.decode_bytes(ids)).startswith(text.encode()) for ids in continuations)
        ids = enc.encode(text, allowed_special="all")
        assert ids[len(stable) :] in [*continuations, []]


def test_bytes_that_are_not_utf8_round_trip(enc: Encoding) -> None:
    for data in ("low 今天".encode()[:-1], b"\xff\xfe", b"", b"low\x80low", "天".encode()[:2] + b"low"):
        assert enc.decode_bytes(enc._encode_bytes(data)) == data
    joined = small(
        BYTES | {b" \xec\x8b": 256, b"\x8b\xa4": 257, b" \xec\x8b\xa4\xed": 258, b" \xec": 259}, pattern="(?s:.+)"
    )
    assert joined._encode_bytes(b" \xec\x8b\xa4\xed") == [258]


# ── pickling, names ───────────────────────────────────────────────────────────────────────────────────────────────


def test_encodings_are_pickled_whole_or_by_name(enc: Encoding, monkeypatch: pytest.MonkeyPatch) -> None:
    again = pickle.loads(pickle.dumps(enc))
    assert again.encode("low<|endoftext|>", allowed_special="all") == enc.encode(
        "low<|endoftext|>", allowed_special="all"
    )
    assert again._mergeable_ranks == enc._mergeable_ranks
    monkeypatch.setitem(registry.ENCODINGS, "small", enc)
    assert len(pickle.dumps(enc)) < 200  # by name
    assert copy.deepcopy(enc).encode("low") == enc.encode("low")


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_encodings_work_in_forked_and_spawned_processes(enc: Encoding, method: str) -> None:
    texts = ["low lower", "naïve 今天", "a\ud83d"]
    expected = [enc.encode(text) for text in texts]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(enc.encode, texts) == expected


def test_token_byte_values_are_sorted() -> None:
    """Covers tokens with equal first bytes, tokens ending in zeros, and a file whose dict was not built."""
    rng = random.Random(4)
    tokens = {bytes(rng.choices(b"\0\1a\xff", k=rng.randrange(1, 14))) for _ in range(3000)}
    tokens |= {b"12345678" + bytes(zeros) for zeros in range(4)} | {bytes([byte]) for byte in range(256)}
    ranks = {token: rank for rank, token in enumerate(tokens)}
    read = RankFile.read(b"".join(b"%s %d\n" % (b64encode(token), rank) for token, rank in ranks.items()))
    for encoder in (ranks, read):
        bpe = CoreBPE(encoder, {}, r"\w+|\W+")
        found = bpe.token_byte_values()
        assert found == sorted(tokens)
        found.clear()
        assert bpe.token_byte_values() == sorted(tokens)
    assert "ranks" not in vars(read)


def test_published_encodings_are_those_of_the_registry(cache: Path) -> None:
    for name in ("r50k_base", "cl100k_base", "o200k_base", "p50k_edit", "gpt2"):
        facts, known = openai_public.ENCODING_CONSTRUCTORS[name](), REGISTRY[name]
        assert facts["special_tokens"] == known.special_tokens
        enc = tiktoken.get_encoding(name)
        assert enc._mergeable_ranks == facts["mergeable_ranks"]
        assert enc is tiktoken.get_encoding(name)
        assert enc.decode(enc.encode("naïve 今天\n\n  x")) == "naïve 今天\n\n  x"
    assert openai_public._SHA256["p50k_base"] == REGISTRY["p50k_base"].sha256
    harmony = tiktoken.get_encoding("o200k_harmony")
    assert harmony.encode("<|start|><|reserved_200018|>", allowed_special="all") == [200006, 200018]
    assert harmony.decode([200018, 200012]) == "<|endofprompt|><|call|>"
    assert {*harmony._special_tokens} - {*REGISTRY["o200k_harmony"].special_tokens} == {"<|reserved_200018|>"}


def test_model_names_map_to_encodings() -> None:
    assert tiktoken.encoding_name_for_model("gpt-4-0314") == "cl100k_base"
    assert model.MODEL_TO_ENCODING["gpt2"] == "gpt2"
    model.MODEL_PREFIX_TO_ENCODING["mine-"] = "r50k_base"
    try:
        assert tiktoken.encoding_name_for_model("mine-1") == "r50k_base"
    finally:
        del model.MODEL_PREFIX_TO_ENCODING["mine-"]
    with pytest.raises(KeyError):
        tiktoken.encoding_name_for_model("mine-1")


def test_unknown_names_are_errors() -> None:
    with pytest.raises(ValueError, match="Unknown encoding cl100k"):
        tiktoken.get_encoding("cl100k")
    with pytest.raises(ValueError, match="str"):
        tiktoken.get_encoding(None)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        tiktoken.no_such_name  # noqa: B018
    known = {"tiktoken.no_such_name"}
    assert any("tiktoken.no_such_name" in line for line in report.lines("tiktoken", lambda: known))


PLUGIN = """
from tiktoken.load import load_tiktoken_bpe
import tiktoken
def mine():
    ranks = {bytes([byte]): byte for byte in range(256)}
    return {"name": "mine", "pat_str": "(?s:.+)", "mergeable_ranks": ranks, "special_tokens": {}}
ENCODING_CONSTRUCTORS = {"mine": mine}
"""


def test_encodings_of_plugins_are_found(tmp_path: Path) -> None:
    (tmp_path / "tiktoken_ext").mkdir()
    (tmp_path / "tiktoken_ext" / "mine.py").write_text(PLUGIN)
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import jeton.compat.tiktoken as tiktoken
assert tiktoken.get_encoding("mine").encode("hi") == [104, 105]
assert "cl100k_base" in tiktoken.list_encoding_names()
assert sys.modules["tiktoken_ext.mine"].tiktoken is tiktoken
assert "tiktoken" not in sys.modules, "the alias is for the import of plugins only"
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    (tmp_path / "tiktoken_ext" / "wrong.py").write_text("")
    code = code.replace("assert tiktoken.get", "tiktoken.get").replace("import jeton", "import pytest, jeton")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert "tiktoken_ext.wrong does not define ENCODING_CONSTRUCTORS" in done.stderr


def test_threads_share_an_encoding(cache: Path) -> None:
    found: list[Encoding] = []
    threads = [threading.Thread(target=lambda: found.append(tiktoken.get_encoding("r50k_base"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_rank_files_are_cached_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ranks"
    file.write_bytes(b"aA== 0\n")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    assert load.load_tiktoken_bpe(str(file)) == {b"h": 0}
    file.unlink()
    assert load.load_tiktoken_bpe(str(file)) == {b"h": 0}  # from the cache
    with pytest.raises(FileNotFoundError):  # another hash: the cached file is removed and read again
        load.load_tiktoken_bpe(str(file), "0" * 64)
    assert list((tmp_path / "cache").iterdir()) == []
    file.write_bytes(b"aA== 1\n")
    with pytest.raises(ValueError, match="SHA-256"):
        load.load_tiktoken_bpe(str(file), "0" * 64)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert load.cached_path("x") is None
    assert load.load_tiktoken_bpe(str(file)) == {b"h": 1}
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", "/gym")
    assert (load.cached_path("") or "").startswith("/gym/da39a3ee")


def test_rank_files_are_written_and_read(tmp_path: Path, enc: Encoding, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    path = str(tmp_path / "r.tiktoken")
    load.dump_tiktoken_bpe(enc._mergeable_ranks, path)
    assert load.load_tiktoken_bpe(path) == enc._mergeable_ranks
    Path(path).write_bytes(b"aA==  +7 \r\n\naQ==\t1_0")  # only the Python parser accepts it
    assert load.load_tiktoken_bpe(path) == {b"h": 7, b"i": 10}
    Path(path).write_bytes(b"aA== 7\nx\n")
    with pytest.raises(ValueError, match="b'x'"):
        load.load_tiktoken_bpe(path)
    with pytest.raises(ImportError, match="blobfile"):
        load.read_file("gs://x/y")


def test_gpt2s_pair_of_files_has_the_ranks_of_r50k(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    vocabs = data / "vocabs"
    ranks = load.data_gym_to_mergeable_bpe_ranks(str(vocabs / "gpt2.vocab.bpe"), str(vocabs / "gpt2.encoder.json"))
    assert list(ranks.items()) == list(load.load_tiktoken_bpe(str(vocabs / "r50k_base.tiktoken")).items())


def test_the_core_class_encodes(facts: dict[str, Any]) -> None:
    bpe = CoreBPE(facts["mergeable_ranks"], facts["special_tokens"], facts["pat_str"])
    ids = bpe.encode("low<|endoftext|>", {"<|endoftext|>"})
    assert (
        np.frombuffer(bpe.encode_to_tiktoken_buffer("low<|endoftext|>", {"<|endoftext|>"}), np.uint32).tolist() == ids
    )
    assert bpe.token_byte_values() == sorted(facts["mergeable_ranks"])


def test_the_educational_encoder_gives_equal_ids(capsys: pytest.CaptureFixture[str], enc: Encoding) -> None:
    simple = _educational.SimpleBytePairEncoding.from_tiktoken(enc)
    assert simple.encode("low lower", visualise=None) == enc.encode("low lower")
    assert capsys.readouterr().out == ""
    simple.encode("low")
    assert "\x1b[48;5;" in capsys.readouterr().out
    assert _educational.train_simple_encoding().decode([104, 105]) == "hi"
    with pytest.raises(ValueError, match="256"):
        _educational.bpe_train("a", 255, r"\w+")
    with pytest.raises(ValueError, match="empty"):
        _educational.bpe_train("a", 300, r"\w+", visualise=None)
