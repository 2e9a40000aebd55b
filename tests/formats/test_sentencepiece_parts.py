"""Hugging Face's components written as a `.model`: equal ids in SentencePiece, or a refusal by name."""

from __future__ import annotations

import itertools
import json
import lzma
import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sentencepiece as spm

import jeton
from jeton.analysis.edge_cases import EDGE_CASES
from jeton.analysis.generated_texts import generate_texts
from jeton.definition import Bpe, Definition, Pieces, Unigram, WordPiece
from jeton.formats import sentencepiece, tokenizer_json
from jeton.formats import sentencepiece_parts as parts
from jeton.formats.sentencepiece_parts import converted
from jeton.tokens.added import AddedToken, with_added_tokens
from tests.formats.test_sentencepiece import TEXTS, model, processor
from tests.selection import amount, rest_is_slow

SPACE = "▁"
ESCAPE = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
PREPEND = {"type": "Prepend", "prepend": SPACE}
LLAMA = {"type": "Sequence", "normalizers": [PREPEND, ESCAPE]}
UNK = {"id": 0, "content": "<unk>", "special": True}
ACCEPTED = ["decoder", "template", "roles"]


def metaspace(scheme: str = "always", *, split: bool = True) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": split}


def decoder(*, strip: bool = False, fallback: bool = False) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"type": "Replace", "pattern": {"String": SPACE}, "content": " "}]
    parts += [{"type": "ByteFallback"}] if fallback else []
    parts += [{"type": "Fuse"}]
    parts += [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if strip else []
    return {"type": "Sequence", "decoders": parts}


def file(
    merges: list[str],
    symbols: str = f"{SPACE}abc",
    *,
    more: tuple[str, ...] = (),
    options: dict[str, Any] | None = None,
    **stages: Any,
) -> bytes:
    """A tokenizer.json of BPE: `<unk>`, the symbols, what the merges make, and `more`."""
    vocab = list(dict.fromkeys(["<unk>", *symbols, *(merge.replace(" ", "") for merge in merges), *more]))
    bpe = {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "merges": merges, **(options or {})}
    bpe["vocab"] = {token: id for id, token in enumerate(vocab)}
    top = {"added_tokens": [UNK], "normalizer": ESCAPE, "decoder": decoder(), "model": bpe}
    return json.dumps({**top, **stages}).encode()


def load(data: bytes) -> jeton.Tokenizer:
    return tokenizer_json.from_bytes(data)


def written(data: bytes, accept_loss: list[str] = ACCEPTED) -> spm.SentencePieceProcessor:
    return processor(sentencepiece.render(load(data), accept_loss))


def refusal(data: bytes, accept_loss: list[str] = ACCEPTED) -> tuple[str | None, str]:
    with pytest.raises(jeton.UnsupportedFeatureError) as caught:
        sentencepiece.render(load(data), accept_loss)
    return caught.value.feature, str(caught.value)


ALL = ["".join(chars) for size in range(1, 8) for chars in itertools.product("abc", repeat=size)]


@pytest.mark.parametrize(
    ("merges", "symbols", "feature"),
    [
        (["a b", "ab c"], "abc", None),
        (["b c", "a b", "a bc"], "abc", None),
        (["b c", "a b", "ab c"], "abc", "merges"),  # by scores abc is a + bc, which no merge joins
        (["a a", "b a", "aa a"], "ab", None),
        (["a b", "a bc", "b c", "ab c"], "abc", None),  # of several splits of `abc`, only the last counts
        (["ab c", "a b", "b a"], "abc", None),  # a lower rank than that of its left part
        (["ab c", "b a", "a b", "ab a"], "abc", "merges"),  # the merges do not form aba, the scores do
        (["a b", "ab c", "b c", "a bc", "c a"], "abc", None),
    ],
)
def test_merges_become_scores_or_are_refused(merges: list[str], symbols: str, feature: str | None) -> None:
    data = file(merges, symbols)
    if feature is not None:
        assert refusal(data)[0] == feature
        return
    tok, theirs = load(data), written(data)
    for text in ALL:
        if set(text) <= set(symbols):
            assert theirs.encode(text) == tok.encode(text), text


def random_merges(rng: random.Random) -> list[str]:
    """Merges of earlier tokens, in order or shuffled; some tokens have several merges."""
    tokens, merges = ["a", "b", "c"], []
    for _ in range(rng.randrange(2, 9)):
        left, right = rng.choice(tokens), rng.choice(tokens)
        if len(left + right) <= 5 and f"{left} {right}" not in merges:
            merges.append(f"{left} {right}")
            tokens.append(left + right)
    if rng.random() < 0.4:
        rng.shuffle(merges)
    return merges


def test_random_merges_that_are_not_refused_give_equal_ids() -> None:
    rng = random.Random(48)
    texts = ["".join(rng.choices("abc", k=rng.randrange(2, 14))) for _ in range(150)]
    equal = refused = wrongly = 0
    for _ in range(250):
        merges = random_merges(rng)
        data = file(merges)
        tok = load(data)
        try:
            theirs = processor(sentencepiece.render(tok, ACCEPTED))
        except jeton.UnsupportedFeatureError as error:
            assert error.feature == "merges"
            refused += 1
            wrongly += len({merge.replace(" ", "") for merge in merges}) == len(merges) == 1
            continue
        equal += 1
        for text in texts:
            assert theirs.encode(text) == tok.encode(text), (merges, text)
    assert equal > 80
    assert refused > 20
    assert not wrongly


@pytest.mark.parametrize("name", ["bpe bytes", "bpe bare", "bpe"])
def test_merges_of_a_model_give_its_scores_again(name: str) -> None:
    """Every split of a piece is a merge in the file, as in files of Hugging Face's converter."""
    theirs = processor(model(name))
    tok = sentencepiece.read(model(name), source=name)
    pieces = with_added_tokens(tok._core.vocabulary().converted_pieces("scores"), tok.added_tokens.items())
    plain = jeton.Tokenizer(
        Definition(
            Bpe("char", unk_token="<unk>", fuse_unk=True, byte_fallback="bytes" in name),
            normalizer=tok.definition.normalizer,
            decoder=tok.definition.decoder,
        ),
        pieces,
    )
    again = processor(sentencepiece.render(plain, ACCEPTED))
    for text in TEXTS:
        assert again.encode(text) == theirs.encode(text), text
    assert [again.id_to_piece(id) for id in range(len(tok))] == [theirs.id_to_piece(id) for id in range(len(tok))]
    assert [again.get_piece_size(), again.bos_id(), again.eos_id()] == [len(tok), theirs.bos_id(), theirs.eos_id()]


BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
FALLBACK: dict[str, Any] = {"more": tuple(BYTES), "options": {"byte_fallback": True}}


@pytest.mark.parametrize(
    "stages",
    [
        {"normalizer": ESCAPE},
        {"normalizer": LLAMA, "decoder": decoder(strip=True)},
        {"normalizer": {"type": "Sequence", "normalizers": [ESCAPE, PREPEND]}, "decoder": decoder(strip=True)},
        {"normalizer": None, "pre_tokenizer": metaspace("never"), "decoder": metaspace("never")},
        {
            "pre_tokenizer": {
                "type": "Split",
                "pattern": {"String": " "},
                "behavior": "MergedWithPrevious",
                "invert": False,
            }
        },
        {
            "symbols": f"{SPACE}abc\n",
            "pre_tokenizer": {
                "type": "Split",
                "pattern": {"Regex": "[^\\n]+|[\\n]+"},
                "behavior": "Isolated",
                "invert": False,
            },
        },
        {**FALLBACK, "decoder": decoder(fallback=True)},
    ],
    ids=str,
)
def test_components_of_equal_ids(stages: dict[str, Any]) -> None:
    data = file(["a b", f"{SPACE} ab", f"{SPACE} a"], **stages)
    tok, theirs = load(data), written(data, [])
    assert tok.definition.model.type == "BPE"
    texts = [
        "",
        " ",
        "  ",
        " a",
        "ab  ab",
        "xy ab\nab ",
        "\n\n",
        "é\u0301ab",
        "<unk> <0x41>",
        f"a{SPACE}{SPACE} ab",
        "ab ab",
    ]
    for text in (*texts, *generate_texts(tok, 300, special=False)):
        ids = tok.encode(text)
        assert theirs.encode(text) == ids, text
        assert theirs.decode(ids) == tok.decode(ids), text


def test_added_tokens_become_user_defined_pieces() -> None:
    added = [UNK, {"id": 5, "content": "<x>"}, {"id": 6, "content": "ab"}, {"id": 7, "content": "<s>", "special": True}]
    data = file([], more=("<x>", "ab", "<s>"), added_tokens=added)
    tok, theirs = load(data), written(data)
    assert [theirs.is_control(id) for id in (5, 6, 7)] == [False, False, True]
    assert theirs.bos_id() == 7
    for text in ("a<x>ab ab", "<x>", "<s>ab<x>", "aab<x", " <x> "):
        assert theirs.encode(text) == tok.encode(text), text


def added(**flags: Any) -> dict[str, Any]:
    return {"more": ("<x>",), "added_tokens": [UNK, {"id": 6, "content": "<x>", **flags}]}


@pytest.mark.parametrize(
    ("feature", "changes"),
    [
        ("user_defined", {**added(), "normalizer": LLAMA}),
        ("user_defined", added(rstrip=True)),
        ("added_tokens", added(special=True, rstrip=True)),
        ("added_tokens", added(special=True, normalized=True)),
        ("vocabulary", {"added_tokens": [UNK, {"id": 2, "content": "a", "special": True}]}),
        ("merges", {"added_tokens": [UNK, {"id": 5, "content": "ab", "special": True}]}),
        ("merges", {"more": ("bb",)}),  # SentencePiece forms every piece
        ("vocabulary", {"more": ("xb",)}),
        ("decoder", {"options": {"byte_fallback": True}}),
        ("vocabulary", {"options": {"byte_fallback": True}, "decoder": decoder(fallback=True)}),
        ("unk_token", {"options": {"unk_token": None}}),
        ("unk_token", {"added_tokens": []}),
        ("fuse_unk", {"options": {"fuse_unk": False}}),
        ("whole_first", {"options": {"ignore_merges": True}}),
        ("model", {"options": {"end_of_word_suffix": "b"}}),
        ("normalizer", {"normalizer": {"type": "NFC"}}),
        ("normalizer", {"normalizer": None}),
        ("normalizer", {"normalizer": PREPEND}),
        ("pretokenizer", {"pre_tokenizer": {"type": "Digits", "individual_digits": True}}),
        ("pretokenizer", {"normalizer": None, "pre_tokenizer": metaspace()}),
        ("pretokenizer", {"normalizer": None, "pre_tokenizer": metaspace("never"), "merges": [f"a {SPACE}"]}),
        (
            "pretokenizer",
            {
                "symbols": "ab\n",
                "merges": ["a \n"],
                "pre_tokenizer": {
                    "type": "Split",
                    "pattern": {"Regex": "[^\\n]+|[\\n]+"},
                    "behavior": "Isolated",
                    "invert": False,
                },
            },
        ),
        ("decoder", {"decoder": None}),
    ],
    ids=str,
)
def test_refusals_name_the_feature(feature: str, changes: dict[str, Any]) -> None:
    changes = {"decoder": decoder(strip=changes.get("normalizer") == LLAMA), **changes}
    data = file(**{"merges": ["a b"], "symbols": f"{SPACE}abc", **changes})
    assert refusal(data, [])[0] == feature


def test_a_first_prefix_is_an_accepted_loss() -> None:
    """Ids are equal for texts that have no added tokens and do not begin with a space."""
    stages = {"normalizer": None, "pre_tokenizer": metaspace("first", split=False), "decoder": metaspace("first")}
    data = file(["a b", f"{SPACE} ab"], **stages)
    assert refusal(data, [])[1].count("pretokenizer") == 1
    tok, theirs = load(data), written(data, ["pretokenizer", "added_tokens"])
    for text in ("ab ab", "a  b ", "xab"):
        assert theirs.encode(text) == tok.encode(text)


def test_unigram_components_are_written() -> None:
    """T5's components around the pieces of a trained model; without accepted losses all are named."""
    data = model("unigram")
    tok = sentencepiece.read(data, source="x")
    theirs = processor(data)
    vocab = [[theirs.id_to_piece(id), theirs.get_score(id)] for id in range(len(tok))]
    top = {
        "added_tokens": [{"id": id, "content": vocab[id][0], "special": True} for id in range(3)],
        "normalizer": {
            "type": "Precompiled",
            "precompiled_charsmap": tok.definition.normalizer[0]["precompiled_charsmap"],
        },
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace()]},
        "decoder": metaspace(),
        "model": {"type": "Unigram", "unk_id": 0, "vocab": vocab},
    }
    file = json.dumps(top).encode()
    names = ["precompiled_charsmap", "pretokenizer", "single_precision", "decoder"]
    feature, message = refusal(file, [])
    assert feature == names[0]
    assert all(name in message for name in names)
    assert "'\\x85'" in refusal(file, names[:1])[1]
    again = written(file, names)
    for text in TEXTS:
        assert again.encode(text) == theirs.encode(text), text
    top["pre_tokenizer"] = metaspace()  # without the removal of repeated spaces
    assert "begins with a space" in refusal(json.dumps(top).encode(), names[:1])[1]


def test_user_defined_pieces_of_unigram_are_a_loss() -> None:
    """Of "abcd", HF cuts out "bc"; SentencePiece's best path is "ab" "cd"."""
    scores = {"<unk>": 0.0, "a": -3.0, "b": -3.5, "c": -3.6, "d": -3.6, "bc": -9.0, "ab": -4.0, "cd": -1.0}
    top = {
        "added_tokens": [UNK, {"id": 5, "content": "bc"}],
        "normalizer": ESCAPE,
        "decoder": decoder(),
        "model": {"type": "Unigram", "unk_id": 0, "vocab": [*scores.items()]},
    }
    file = json.dumps(top).encode()
    names = [*ACCEPTED, "single_precision"]
    assert refusal(file, names)[0] == "user_defined"
    assert load(file).encode("abcd") == [1, 5, 4]
    assert written(file, [*names, "user_defined"]).encode("abcd") == [6, 7]


def test_components_native_to_sentencepiece_are_not_converted() -> None:
    tok = sentencepiece.read(model("bpe"), source="x")
    losses: dict[str, str] = {}
    assert converted(tok, losses).definition.normalizer == tok.definition.normalizer
    assert sentencepiece.render(tok, ())


# file -> accepted losses that change no id, and texts left out because of the other losses
PUBLISHED: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "vocabs/phi-3-mini.tokenizer.json": (["user_defined", "added_tokens"], ("</s>",)),
    "gguf/llama-spm.gguf.xz": ([], ()),
    "gguf/baichuan.gguf.xz": ([], ()),
    "gguf/phi-3.gguf.xz": (["added_tokens"], ()),
    "gguf/gemma-4.gguf.xz": ([], ()),
}


@pytest.mark.parametrize(
    "name", rest_is_slow(PUBLISHED, lambda name: "gemma" not in name, "a vocabulary of 262,144; others are quick")
)
def test_published_files_convert_with_equal_ids(name: str, data: Path, tmp_path: Path) -> None:
    path = data / name
    if path.suffix == ".xz":
        path = tmp_path / path.stem
        path.write_bytes(lzma.decompress((data / name).read_bytes()))
    tok = jeton.load(path)
    accepted, without = PUBLISHED[name]
    theirs = processor(sentencepiece.render(tok, [*accepted, *ACCEPTED, "chat_template"]))
    compared = 0
    for text in (*EDGE_CASES, *generate_texts(tok, amount(3_000, default=300), special=False)):
        if "\0" not in text and not any(token in text for token in without):
            assert theirs.encode(text) == tok.encode(text), text
            compared += 1
    assert compared > amount(3_000, default=400)


SPM = {"type": "SentencePiece"}


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        (Definition(Pieces("u"), normalizer=(SPM,), decoder=(SPM,)), True),
        (Definition(Pieces("u"), normalizer=(SPM,)), False),
        (Definition(Pieces("u"), decoder=(SPM,)), False),
        (Definition(Pieces("u"), normalizer=(SPM, {"type": "NFC"}), decoder=(SPM,)), False),
        (Definition(Unigram("u", single_precision=True), normalizer=(SPM,), decoder=(SPM,)), True),
        (Definition(Unigram("u"), normalizer=(SPM,), decoder=(SPM,)), False),
        (Definition(Bpe("char"), normalizer=(SPM,), decoder=(SPM,)), False),
        (Definition(WordPiece("u"), normalizer=(SPM,), decoder=(SPM,)), True),
    ],
)
def test_stages_that_are_sentencepieces_own(definition: Definition, expected: bool) -> None:
    assert parts.is_sentencepiece(definition) is expected


@pytest.mark.parametrize(
    ("part", "name"),
    [
        (PREPEND, "prepend"),
        ({"type": "Prepend", "prepend": " "}, "prepend"),
        ({"type": "Prepend", "prepend": "x"}, ""),
        (ESCAPE, "escape"),
        ({**ESCAPE, "content": "x"}, ""),
        ({**ESCAPE, "pattern": {"String": "  "}}, ""),
        ({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": SPACE}, "collapse"),
        ({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}, ""),
        ({"type": "Strip", "strip_left": False, "strip_right": True}, "strip"),
        ({"type": "Strip", "strip_left": True, "strip_right": True}, ""),
        ({"type": "Strip", "strip_left": False, "strip_right": False}, ""),
        (metaspace(), "metaspace"),
        ({**metaspace(), "replacement": "_"}, ""),
        ({"type": "Pattern", "name": "whitespace"}, "words"),
        ({"type": "Pattern", "name": "gpt2"}, ""),
        ({"type": "Pattern", "regex": "[^\n]+|[\n]+"}, "lines"),
        ({"type": "Pattern", "regex": "[^\\n]+|[\\n]+"}, "lines"),
        ({"type": "Pattern", "regex": "a"}, ""),
        ({"type": "Split", "pattern": {"String": " "}}, "split"),
        ({"type": "Split", "pattern": {"String": " "}, "invert": True}, ""),
        ({"type": "Split", "pattern": {"Regex": " "}}, ""),
        ({"type": "Digits"}, ""),
    ],
)
def test_components_by_name(part: dict[str, Any], name: str) -> None:
    assert parts._name(part) == name


@pytest.mark.parametrize(
    ("part", "scheme"),
    [
        ({}, "always"),
        ({"add_prefix_space": True}, "always"),
        ({"add_prefix_space": False}, "never"),
        ({"prepend_scheme": "first", "add_prefix_space": False}, "first"),
    ],
)
def test_schemes_of_a_metaspace(part: dict[str, Any], scheme: str) -> None:
    assert parts._scheme(part) == scheme


@pytest.mark.parametrize(
    ("model", "feature"),
    [
        (Bpe("char", unk_token="u", fuse_unk=True), None),
        (Bpe("char", unk_token="u", byte_fallback=True), None),
        (Bpe("char", unk_token="u"), "fuse_unk"),
        (Bpe("byte"), "model"),
        (Bpe("char", end_of_word="</w>"), "model"),
        (Bpe("char", continuing_subword_prefix="##"), "model"),
        (Bpe("char", fuse_unk=True, unk_token="u", whole_first=True), "whole_first"),
        (Bpe("byte", ranks="tokens"), "model"),
    ],
)
def test_bpe_that_differs_in_more_than_merges(model: Bpe, feature: str | None) -> None:
    if feature is None:
        parts._check_bpe(model)
        return
    with pytest.raises(jeton.UnsupportedFeatureError) as caught:
        parts._check_bpe(model)
    assert caught.value.feature == feature


STRIP, COLLAPSE = (
    {"type": "Strip", "strip_left": False, "strip_right": True},
    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": SPACE},
)
WORDS, LINES = {"type": "Pattern", "name": "whitespace"}, {"type": "Pattern", "regex": "[^\n]+|[\n]+"}
SPLIT = {"type": "Split", "pattern": {"String": " "}}


@pytest.mark.parametrize(
    ("normalizer", "pretokenizer", "expected", "splits", "losses"),
    [
        ((PREPEND, ESCAPE), (), (True, False), [], []),
        ((ESCAPE, PREPEND), (), (True, False), [], []),
        ((ESCAPE,), (), (False, False), [], []),
        ((ESCAPE,), (SPLIT,), (False, False), [], []),
        ((PREPEND, ESCAPE), (LINES,), (True, False), ["lines"], []),
        ((), (metaspace(),), (True, False), ["spaces"], ["pretokenizer"]),
        ((), (metaspace(split=False),), (True, False), [], ["pretokenizer"]),
        ((), (metaspace("never"),), (False, False), ["spaces"], []),
        ((), (metaspace("first"),), (True, False), ["spaces"], ["pretokenizer", "added_tokens"]),
        ((), (LINES, metaspace("never")), (False, False), ["lines", "spaces"], []),
        ((), (WORDS, metaspace()), (True, True), ["spaces"], ["pretokenizer"]),
        ((STRIP, COLLAPSE), (metaspace(),), (True, True), ["spaces"], ["pretokenizer"]),
        ((STRIP, COLLAPSE), (metaspace("never"),), (False, True), ["spaces"], ["pretokenizer"]),
        ((PREPEND,), (), "normalizer", [], []),
        ((), (), "normalizer", [], []),
        ((), (SPLIT, metaspace()), "normalizer", [], []),
        ((STRIP,), (metaspace(),), "normalizer", [], []),
        (({"type": "NFC"},), (), "normalizer", [], []),
        ((), ({"type": "Digits"},), "pretokenizer", [], []),
        ((SPM,), ({"type": "Digits"},), "normalizer", [], []),
        ((), (metaspace(), LINES), (True, False), ["lines", "spaces"], ["pretokenizer"]),
    ],
)
def test_options_of_the_normalizer(
    normalizer: Any, pretokenizer: Any, expected: Any, splits: list[str], losses: list[str]
) -> None:
    definition = Definition(Bpe("char"), normalizer=normalizer, pretokenizer=pretokenizer)
    fake: Any = SimpleNamespace(definition=definition, added_tokens={0: AddedToken("<unk>")})
    found: dict[str, str] = {}
    if isinstance(expected, str):
        with pytest.raises(jeton.UnsupportedFeatureError) as caught:
            parts._normalizer(fake, found)
        assert caught.value.feature == expected
        return
    options, where = parts._normalizer(fake, found)
    assert (options["add_dummy_prefix"], options["remove_extra_whitespaces"]) == expected
    assert (where, [*found]) == (splits, losses)
    assert (options["precompiled_charsmap"], options["escape_whitespaces"]) == (None, True)
    assert options["treat_whitespace_as_suffix"] is False


NO_PREFIX = {"add_dummy_prefix": False, "remove_extra_whitespaces": False, "precompiled_charsmap": None}


@pytest.mark.parametrize(
    ("token", "options", "expected"),
    [
        (AddedToken("x"), {}, True),
        (AddedToken("x", normalized=True), {}, True),
        (AddedToken("x y"), {}, False),
        (AddedToken(f"{SPACE}x"), {}, False),
        (AddedToken("x", lstrip=True), {}, False),
        (AddedToken("x", rstrip=True), {}, False),
        (AddedToken("x", single_word=True), {}, False),
        (AddedToken("x"), {"add_dummy_prefix": True}, False),
        (AddedToken("x"), {"remove_extra_whitespaces": True}, False),
    ],
)
def test_tokens_that_a_user_defined_piece_matches(token: AddedToken, options: dict[str, Any], expected: bool) -> None:
    assert parts._is_user_defined(token, {**NO_PREFIX, **options}) is expected


@pytest.mark.parametrize(
    ("kinds", "contents", "splits", "message"),
    [
        ([1], [b"a"], [], None),
        ([1, 1], [b"ab", SPACE.encode()], ["spaces"], None),
        ([1, 1], [f"{SPACE}a".encode(), SPACE.encode()], ["spaces"], None),
        ([1, 1], [f"a{SPACE}".encode(), SPACE.encode()], ["spaces"], "with the piece"),
        ([4, 1], [f"a{SPACE}".encode(), SPACE.encode()], ["spaces"], None),
        ([1], [b"a"], ["spaces"], "at the unknown character"),
        ([1, 6], [b"a", b"<0x00>"], ["spaces"], None),
        ([1, 1], [b"a", b"\n"], ["lines"], None),
        ([1, 1], [b"\n\n", b"\n"], ["lines"], None),
        ([1, 1], [b"a\n", b"\n"], ["lines"], "splits at line feeds with the piece"),
        ([1, 1], [b"a\n", SPACE.encode()], ["spaces"], None),
        ([1], [b"a"], ["lines"], "at the unknown character"),
    ],
)
def test_pieces_across_a_boundary(
    kinds: list[int], contents: list[bytes], splits: list[str], message: str | None
) -> None:
    fake: Any = SimpleNamespace(columns=lambda: (range(len(kinds)), kinds, contents, []))
    if message is None:
        parts._check_splits(fake, splits)
        return
    with pytest.raises(jeton.UnsupportedFeatureError, match=message):
        parts._check_splits(fake, splits)


PARTS = decoder()["decoders"]


@pytest.mark.parametrize(
    ("given", "prefix", "fallback", "special", "lost"),
    [
        (PARTS, False, False, {"u"}, False),
        (PARTS, True, False, {"u"}, True),
        (decoder(strip=True)["decoders"], True, False, {"u"}, False),
        (decoder(strip=True)["decoders"], False, False, {"u"}, True),
        (decoder(fallback=True)["decoders"], False, True, {"u"}, False),
        (PARTS, False, True, {"u"}, True),
        (PARTS, False, False, {"u", "<s>"}, True),
        ([metaspace()], True, False, {"u"}, False),
        ([metaspace("never")], True, False, {"u"}, True),
        ([metaspace("never")], False, False, {"u"}, False),
        ([metaspace()], True, True, {"u"}, True),
        (None, False, False, {"u"}, True),
    ],
)
def test_decoders_become_sentencepieces(
    given: Any, prefix: bool, fallback: bool, special: set[str], lost: bool
) -> None:
    losses: dict[str, str] = {}
    model = Bpe("char", unk_token="u", fuse_unk=True, byte_fallback=fallback)
    definition = Definition(model, decoder=None if given is None else tuple(given))
    found = parts._decoder(definition, {**NO_PREFIX, "add_dummy_prefix": prefix}, "u", special, losses)
    assert [*losses] == (["decoder"] if lost else [])
    assert found == {
        "type": "SentencePiece",
        "add_dummy_prefix": prefix,
        "remove_extra_whitespaces": False,
        "treat_whitespace_as_suffix": False,
        "unk_surface": "u",
    }


@pytest.mark.parametrize(
    ("single", "fallback", "expected"),
    [
        (False, False, ["single_precision"]),
        (False, True, ["single_precision", "byte_fallback"]),
        (True, False, []),
        (True, True, []),
    ],
)
def test_losses_of_a_unigram_model(single: bool, fallback: bool, expected: list[str]) -> None:
    pieces = [["<unk>", 0.0], *([[token, -9.0] for token in BYTES] if fallback else []), ["a", -1.0], [SPACE, -2.0]]
    facts = {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": fallback}
    top = {"added_tokens": [UNK], "normalizer": ESCAPE, "decoder": decoder(fallback=fallback), "model": facts}
    tok = load(json.dumps(top).encode())
    definition = replace(tok.definition, model=replace(tok.definition.model, single_precision=single))
    losses: dict[str, str] = {}
    made = converted(jeton.Tokenizer(definition, tok._core.vocabulary()), losses)
    assert [*losses] == expected
    assert made.definition.model == Unigram("<unk>", byte_fallback=fallback, single_precision=True)


@pytest.mark.parametrize(("charsmap", "lost"), [(None, []), ("YWJj", ["user_defined"])])
def test_a_character_map_changes_what_user_defined_pieces_match(charsmap: str | None, lost: list[str]) -> None:
    tok = load(file(["a b"], **added()))
    losses: dict[str, str] = {}
    parts._check_added(tok, tok.added_tokens, "<unk>", {**NO_PREFIX, "precompiled_charsmap": charsmap}, losses)
    assert [*losses] == lost


def test_the_white_space_that_a_character_map_keeps() -> None:
    assert parts._kept_white_space(None) == parts._WHITE_SPACE[0]
