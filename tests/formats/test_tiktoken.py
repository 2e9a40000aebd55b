"""tiktoken's rank files."""

from __future__ import annotations

import base64
import hashlib
import importlib
import random
import time
from dataclasses import replace
from pathlib import Path

import pytest

import jeton
from jeton import _core
from jeton.formats import tiktoken
from jeton.formats.registry import REGISTRY
from tests.material import byte_tokenizer

BYTES = [bytes([byte]) for byte in range(256)]


def rank_file(*tokens: bytes, first: int = 0) -> bytes:
    numbered = enumerate([*BYTES, *tokens], start=first)
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in numbered)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "any.name"
    path.write_bytes(rank_file(b"ab", b"bc", b"abc", b"xyz"))
    return path


def test_a_file_that_is_not_known_needs_a_pattern(path: Path) -> None:
    with pytest.raises(jeton.ConfigError, match="o200k") as caught:
        jeton.load(path)
    assert caught.value.option == "pattern"
    tok = jeton.load(path, pattern="none", special_tokens={"<|end|>": 300})
    assert tok.encode("abc") == [258]
    assert tok.encode("bcab<|end|>", special="all") == [257, 256, 300]
    assert tok.vocab_size == 301
    assert jeton.load(path, "gpt2", {}).special_tokens == {}


def test_a_pretoken_that_is_a_token_is_that_token(path: Path) -> None:
    tok = jeton.load(path, pattern="none")
    assert tok.encode("xyz") == [259], "although no merges form it"
    assert tok.encode("xyzx") == [120, 121, 122, 120]
    explanation = tok.explain("xyz")
    assert explanation.pretokens[0].whole
    assert tok.merges == ((97, 98, 256), (98, 99, 257), (256, 99, 258)), "the file itself has none"


def test_every_loss_is_refused_by_name(path: Path, tmp_path: Path) -> None:
    tok = jeton.load(path, pattern="gpt2")
    spaced = replace(tok.definition, decoder=({"type": "Join", "separator": " "},))
    cases = {
        "special_tokens": tok.add_tokens(["two words"], special=False),
        "decoder": jeton.Tokenizer(spaced, tok._core.vocabulary()),
        "chat_template": tok._with_facts(chat_template="x"),
    }
    for feature, case in cases.items():
        with pytest.raises(jeton.UnsupportedFeatureError) as caught:
            case.save(tmp_path / "x.tiktoken", accept_loss=["pattern"])
        assert caught.value.feature == feature
    many = tok.add_tokens([f"<{number}>" for number in range(2000)])
    with pytest.raises(jeton.UnsupportedFeatureError, match="<0>, <1>, <2>, <3>, <4> and 1,995 more"):
        many.save(tmp_path / "x.tiktoken", accept_loss=["pattern"])


def test_a_saved_rank_file_has_equal_bytes(path: Path, tmp_path: Path) -> None:
    tok = jeton.load(path, pattern="gpt2", special_tokens={"<|end|>": 300})
    out = tmp_path / "out.tiktoken"
    for accepted in ((), ("pattern",), ("special_tokens",)):
        with pytest.raises(jeton.UnsupportedFeatureError) as caught:
            tok.save(out, accept_loss=accepted)
        assert caught.value.feature in ("pattern", "special_tokens")
        assert not out.exists()
    tok.save(out, accept_loss=["pattern", "special_tokens"])
    assert out.read_bytes() == path.read_bytes()
    assert jeton.load(out, pattern="gpt2", special_tokens={"<|end|>": 300}) == tok


def test_pickling_and_saving_keep_the_way_of_ranks(path: Path) -> None:
    tok = jeton.load(path, pattern="none")
    try:
        back = jeton.Tokenizer.from_bytes(tok.to_bytes())
    except jeton.JetonError as error:
        pytest.fail(f"a tokenizer of ranks with an entry that no merges reach cannot be pickled: {error}")
    assert back == tok
    for text in ("xyz", "abcbc", "xyzx"):
        assert back.encode(text) == tok.encode(text)


def test_line_ends_of_windows_are_read(path: Path, tmp_path: Path) -> None:
    windows = tmp_path / "windows"
    windows.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert jeton.load(windows, pattern="none") == jeton.load(path, pattern="none")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda data: data + b"YWJj 300\n", None),  # a token twice
        (lambda data: data + b"eA== 300\n", None),  # a byte twice
        (lambda data: data + b"enp6 258\n", None),  # a rank twice
        (lambda data: data + b"en!p 300\n", "line 261"),
        (lambda data: data + b"enp6\n", "line 261"),
        (lambda data: data + b"enp6 x\n", "line 261"),
        (lambda data: data + b"enp6 -1\n", "line 261"),
        (lambda data: data + b"enp6 4294967296\n", "line 261"),
        (lambda data: data + b"enp6 4000000000\n", "line 261"),
        (lambda data: data + b" 300\n", "line 261"),
        (lambda data: data + b"enp6 300 301\n", "line 261"),
        (lambda data: data[200:], None),  # half a line
        (lambda data: data.split(b"\n", 1)[1], None),  # a byte has no rank
    ],
)
def test_broken_files_are_errors_with_positions(path: Path, change: object, place: str | None) -> None:
    assert callable(change)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(jeton.FormatError) as caught:
        jeton.load(path, pattern="none")
    assert str(path) in str(caught.value)
    if place:
        assert caught.value.place == place


def test_special_tokens_on_top_of_ranks_are_refused(path: Path) -> None:
    with pytest.raises(jeton.ConfigError, match="258") as caught:
        jeton.load(path, pattern="none", special_tokens={"<|end|>": 258})
    assert caught.value.option == "special_tokens"


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_known_files_are_recognized_by_content(data: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / "renamed.json"
    copy.symlink_to(data / "vocabs" / f"{name}.tiktoken")
    tok = jeton.load(copy)
    assert tok.definition.pattern.text == name.split("_")[0]
    assert tok.special_tokens["<|endoftext|>"] == {"cl100k_base": 100257, "o200k_base": 199999}[name]
    assert tok.vocab_size == {"cl100k_base": 100277, "o200k_base": 200019}[name]
    assert jeton.load(copy, special_tokens={}).special_tokens == {}
    assert jeton.load(copy, pattern="gpt2").definition.pattern.text == "gpt2"
    back = jeton.Tokenizer.from_bytes(tok.to_bytes())
    assert back == tok


@pytest.mark.parametrize("name", ["r50k_base", "llama3"])
def test_published_rank_files_have_registered_special_tokens(data: Path, name: str) -> None:
    tok = jeton.load(data / "vocabs" / f"{name}.tiktoken")
    assert tok.special_tokens == REGISTRY[name].special_tokens
    assert tok.decode(tok.encode("The old man 今天")) == "The old man 今天"


def test_merges_that_are_ranks_are_written(tmp_path: Path) -> None:
    tok = jeton.train(["the old man told the older tale " * 9], 300, pattern="gpt2", progress=False)
    out = tmp_path / "out.tiktoken"
    tok.save(out, accept_loss=["pattern"])
    again = jeton.load(out, pattern="gpt2")
    for text in ("the older man", "told told", " tthhee", "ooooolllddd"):
        assert again.encode(text) == tok.encode(text)


@pytest.mark.parametrize(
    ("merges", "why"),
    [
        ([(97, 98, 257), (98, 99, 256)], "merged before"),  # ids that fall
        (
            [(97, 98, 256), (98, 99, 257), (97, 257, 258)],
            "by rank it would be",
        ),  # ab goes first: never a + bc
        ([(98, 99, 256), (97, 98, 257), (257, 100, 258)], None),
        ([(97, 98, 256), (256, 99, 257)], None),
    ],
)
def test_merges_that_are_not_ranks_are_refused_with_the_reason(
    merges: list[tuple[int, int, int]], why: str | None, tmp_path: Path
) -> None:
    tok = byte_tokenizer(*merges)
    out = tmp_path / "out.tiktoken"
    if why is None:
        tok.save(out, accept_loss=["pattern"])
        return
    with pytest.raises(jeton.UnsupportedFeatureError, match=why) as caught:
        tok.save(out, accept_loss=["pattern"])
    assert caught.value.feature == "merges"
    assert not out.exists()


def test_a_name_with_another_sha256_is_refused(path: Path) -> None:
    with pytest.raises(jeton.FormatError, match="sha256"):
        tiktoken.read(path.read_bytes(), source="x", pattern=None, special_tokens=None, name="p50k_edit")


@pytest.mark.parametrize("is_rising", [True, False], ids=["rising ranks", "falling ranks"])
def test_tokens_of_all_lengths_load_in_linear_time(tmp_path: Path, is_rising: bool) -> None:
    lengths = range(2, 5000)
    tokens = [b"a" * length for length in (lengths if is_rising else reversed(lengths))]
    path = tmp_path / "long.tiktoken"
    path.write_bytes(rank_file(*tokens))
    begin = time.process_time()
    tok = jeton.load(path, pattern="none")
    assert time.process_time() - begin < 5, "trying every split of every token would take minutes"
    peer = pytest.importorskip("tiktoken").Encoding(
        "test",
        pat_str=r"[\s\S]+",
        mergeable_ranks={token: rank for rank, token in enumerate([*BYTES, *tokens])},
        special_tokens={},
    )
    for text in ["a" * 77, "ba" * 30 + "a" * 333 + "b", "a" * 4999, "a" * 5001, "aab" * 100]:
        assert tok.encode(text) == peer.encode(text)
    if is_rising:
        merged = {new: (left, right) for left, right, new in tok.merges}
        assert [merged[255 + length - 1] for length in (2, 3, 4)] == [(97, 97), (256, 97), (256, 256)]
        assert len(merged) == len(tokens)


def test_random_ranks_give_the_ids_of_tiktoken(tmp_path: Path) -> None:
    peer = pytest.importorskip("tiktoken")
    draw = random.Random(7)
    for round in range(20):
        drawn = {bytes(draw.choices(b"abc", k=draw.randint(2, 12))) for _ in range(draw.randint(5, 150))}
        long = {bytes(draw.choices(b"ab", k=draw.randint(65, 300))) for _ in range(3 * (round % 2))}
        tokens = [*sorted(drawn | long)]
        draw.shuffle(tokens)
        path = tmp_path / f"{round}.tiktoken"
        path.write_bytes(rank_file(*tokens))
        tok = jeton.load(path, pattern="none")
        mergeable = {token: rank for rank, token in enumerate([*BYTES, *tokens])}
        theirs = peer.Encoding(str(round), pat_str=r"[\s\S]+", mergeable_ranks=mergeable, special_tokens={})
        for _ in range(60):
            text = b"".join(draw.choices([*tokens, b"a", b"b"], k=draw.randint(1, 8))).decode()
            assert tok.encode(text) == theirs.encode(text)
            assert tok.tokenize(text).ids == theirs.encode(text)


def test_a_given_pattern_replaces_the_facts_of_a_known_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = path.read_bytes()
    qwen = REGISTRY["qwen"]
    known = replace(qwen, sha256=hashlib.sha256(data).hexdigest(), special_tokens={"<|x|>": 300})
    monkeypatch.setattr(tiktoken, "by_content", lambda digest: known if digest == known.sha256 else None)
    text = "e\u0301"  # NFC makes one character of it
    assert jeton.load(path).encode(text) == [*"é".encode()]
    assert jeton.load(path, special_tokens={}).encode(text) == [*"é".encode()]
    tok = jeton.load(path, "qwen2")
    assert (tok.encode(text), tok.definition.normalizer) == ([*text.encode()], ())
    assert tok.special_tokens == {"<|x|>": 300}, "the special tokens stay"
    peer = pytest.importorskip("tiktoken").Encoding(
        "test",
        pat_str=_core.pattern_text("qwen2") or "",
        mergeable_ranks={token: rank for rank, token in enumerate([*BYTES, b"ab", b"bc", b"abc", b"xyz"])},
        special_tokens={"<|x|>": 300},
    )
    assert tok.encode(text) == peer.encode(text)


@pytest.mark.parametrize("name", ["gzip", "bzip2", "xz"])
def test_a_compressed_file_is_an_error_that_names_the_compression(name: str, path: Path) -> None:
    module = importlib.import_module({"gzip": "gzip", "bzip2": "bz2", "xz": "lzma"}[name])
    path.write_bytes(module.compress(path.read_bytes()))
    with pytest.raises(jeton.FormatError, match=rf"compressed \({name}\); decompress it"):
        jeton.load(path, "gpt2")


def test_a_line_that_is_not_base64_is_quoted_up_to_a_limit() -> None:
    ranks = rank_file(b"a") + b"!" * 100_000 + b" 1\n"
    with pytest.raises(jeton.FormatError, match=r'"!+…" is not base64 \(line 258\)') as error:
        tiktoken.read(ranks, source="ranks", pattern="none", special_tokens={})
    assert len(str(error.value)) < 200


@pytest.mark.parametrize(("number", "named"), [(1, "<0>"), (5, "<0>, <1>, <2>, <3>, <4>"), (6, "<4> and 1 more")])
def test_at_most_five_tokens_are_named(path: Path, tmp_path: Path, number: int, named: str) -> None:
    tok = jeton.load(path, pattern="gpt2").add_tokens([f"<{index}>" for index in range(number)])
    with pytest.raises(jeton.UnsupportedFeatureError, match=f"special and added tokens [^;]*{named};"):
        tok.save(tmp_path / "x.tiktoken", accept_loss=["pattern"])
