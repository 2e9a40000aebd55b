"""Each decoder gives the text that HF `tokenizers` and `sentencepiece` give."""

from __future__ import annotations

import io
import json
import pickle
import random
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers

import jeton
from jeton import _core
from jeton.compat import sentencepiece as our_sentencepiece
from tests.selection import amount, rest_is_slow

JSON = dict[str, Any]
TOKEN, ADDED, SPECIAL, UNUSED, BYTE = 1, 3, 4, 5, 6

# Strings that decoders look for, and similar ones
ATOMS = [
    *["▁", "▁the", "a▁b", "▁▁", "##", "##ing", "#", "</w>", "e</w>", "</w></w>", "|", "||", "<pad>", "a<pad>b", "<pa"],
    *[
        "<0x0A>",
        "<0xE2>",
        "<0x96>",
        "<0x81>",
        "<0xff>",
        "<0x+F>",
        "<0xg0>",
        "<0x0A>x",
        "<0xé>",
        "<0x41>",
        "<0xF0>",
        "<0x9F>",
    ],
    *[
        " ",
        "  ",
        " .",
        " ?",
        ".",
        " ' ",
        "'",
        " n't",
        "n't",
        " 'm",
        "do not",
        " do not",
        " 's",
        " 've",
        " 're",
        " ,b !",
    ],
    *["Ġ", "Ġthe", "Ċ", "é", "日本", "âĸģ", "â", "ĸ", "\ufffd", "x", "xx", "xax", "hello", "\n", "\u0301", "𐐷"],
]
token_lists = st.lists(
    st.one_of(st.sampled_from(ATOMS), st.lists(st.sampled_from(ATOMS), max_size=3).map("".join)), max_size=12
)


def state(decoder: decoders.Decoder) -> list[JSON]:
    """The components of the decoder, without the enclosing Sequence."""
    part = json.loads(decoder.__getstate__())
    return part["decoders"] if part["type"] == "Sequence" else [part]


def llama(start: int = 1) -> list[decoders.Decoder]:
    return [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", start, 0)]


CHAINS: dict[str, decoders.Decoder] = {
    "BPEDecoder": decoders.BPEDecoder(),
    "BPEDecoder ##": decoders.BPEDecoder("##"),
    "BPEDecoder empty": decoders.BPEDecoder(""),
    "ByteFallback": decoders.ByteFallback(),
    "ByteLevel": decoders.ByteLevel(),
    "CTC": decoders.CTC(),
    "CTC raw": decoders.CTC(cleanup=False),
    "CTC others": decoders.CTC("x", "▁", True),
    "CTC empty": decoders.CTC("", "", True),
    "Fuse": decoders.Fuse(),
    "Metaspace": decoders.Metaspace(),
    "Metaspace first": decoders.Metaspace(prepend_scheme="first"),
    "Metaspace never": decoders.Metaspace(prepend_scheme="never"),
    "Metaspace other": decoders.Metaspace("x"),
    "Replace": decoders.Replace("▁", " "),
    "Replace long": decoders.Replace("the", "<0x0A>"),
    "Replace double": decoders.Replace("▁▁", ""),
    "Replace overlap": decoders.Replace("xx", "x"),
    "Replace empty": decoders.Replace("", "-"),
    "Replace regex": decoders.Replace(Regex(r"^\p{L}|(?<=▁)t|n(?='t)"), "é"),
    "Replace regex of the whole": decoders.Sequence(
        [decoders.Fuse(), decoders.Replace(Regex(r"(?<=\w)\s+(?=[.,?!])|<pad>$"), "")]
    ),
    "Strip left": decoders.Strip(" ", 1, 0),
    "Strip left more": decoders.Strip("x", 3, 0),
    "Strip wide": decoders.Strip("▁", 1, 0),
    "WordPiece": decoders.WordPiece(),
    "WordPiece raw": decoders.WordPiece(cleanup=False),
    "WordPiece ▁": decoders.WordPiece("▁", cleanup=True),
    "WordPiece empty": decoders.WordPiece("", cleanup=True),
    "llama": decoders.Sequence(llama()),
    "byte fallback first": decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()]),
    "byte fallback then strip": decoders.Sequence(
        [decoders.ByteFallback(), decoders.Strip("A", 1, 0), decoders.Metaspace()]
    ),
    "gemma": decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]),
    "fused WordPiece": decoders.Sequence([decoders.Fuse(), decoders.WordPiece()]),
    "WordPiece fused": decoders.Sequence([decoders.WordPiece(), decoders.Fuse(), decoders.Replace(" ", "_")]),
    "our mark": decoders.Sequence([decoders.Replace("</w>", "Ġ"), decoders.ByteLevel(), decoders.Strip(" ", 1, 0)]),
    "bytes then text": decoders.Sequence([decoders.ByteLevel(), decoders.WordPiece()]),
    "wav2vec2": decoders.Sequence([decoders.CTC("<pad>", "|", True), decoders.Metaspace()]),
    "nothing": decoders.Sequence([]),
}


def decode(parts: list[JSON], tokens: list[str], byte_level: bool = False) -> tuple[bytes, str]:
    """Decodes tokens, by a vocabulary that has each of them once."""
    distinct = sorted(set(tokens))
    contents = [token.encode() for token in distinct]
    vocabulary = _core.Vocabulary(list(range(len(contents))), [TOKEN] * len(contents), contents, [])
    return vocabulary.decode_parts(json.dumps(parts), byte_level, [distinct.index(t) for t in tokens], False)


@pytest.mark.parametrize("name", CHAINS)
@given(tokens=token_lists.map(lambda tokens: [token for token in tokens if token]))
@settings(max_examples=amount(400, default=20))
def test_hf_gives_equal_text(name: str, tokens: list[str]) -> None:
    raw, text = decode(state(CHAINS[name]), tokens)
    assert text == CHAINS[name].decode(tokens)
    if "\ufffd" not in text:
        assert raw.decode() == text


REGEX_ATOMS = [
    "a",
    "b",
    "é",
    "▁",
    " ",
    r"\s",
    r"\S",
    r"\w",
    r"\p{L}",
    "[ab]",
    "[^a ]",
    ".",
    r"\n",
    "##",
    r"\.",
    r"\h",
    r"\d",
]
REGEX_ATOMS += ["[[:alpha:]]", "x"]
REGEX_REPEATS = ["", "", "", "+", "*", "?", "{1,2}", "+?", "{2}", "++"]
REGEX_STARTS = ["", "", "^", r"\A", r"\b", "(?<=a)", "(?<!▁)", r"(?<=\s)"]
REGEX_ENDS = ["", "", "$", r"\z", r"\Z", r"\b", "(?=b)", "(?!a)", r"(?= |\z)"]
REGEX_TOKENS = [
    "▁",
    "▁the",
    "a▁b",
    " ",
    "  ",
    "ab",
    "aab",
    "éa",
    "é",
    "##x",
    "x.",
    "a,b",
    ".",
    "\n",
    " a",
    "b \n",
    "A",
    "日本",
]
REGEX_TOKENS += ["<0x41>", "<0xE6>", "<0x97>", "<0xA5>", "1a"]


def a_regex(rng: random.Random, depth: int = 0) -> str:
    def item() -> str:
        if depth < 2 and rng.random() < 0.3:
            alternatives = "|".join(a_regex(rng, depth + 1) for _ in range(rng.randint(1, 3)))
            return rng.choice(["(?:", "(", "(?>", "(?m:"]) + alternatives + ")" + rng.choice(REGEX_REPEATS)
        return rng.choice(REGEX_ATOMS) + rng.choice(REGEX_REPEATS)

    return "".join(item() for _ in range(rng.randint(1, 3)))


def test_generated_regexes_replace_as_in_hf() -> None:
    """HF replaces the matches of Oniguruma; only regexes that match the empty text are refused."""
    rng = random.Random(5)
    equal = 0
    while equal < amount(3000, default=200):
        regex = Regex(rng.choice(REGEX_STARTS) + a_regex(rng) + rng.choice(REGEX_ENDS))
        replace = decoders.Replace(regex, rng.choice(["", " ", "-", "ab", r"\1", "é"]))
        llama = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), replace]
        decoder = decoders.Sequence(rng.choice([[replace], [replace, decoders.WordPiece()], llama]))
        tokens = [rng.choice(REGEX_TOKENS) for _ in range(rng.randrange(1, 9))]
        try:
            raw, text = decode(state(decoder), tokens)
        except jeton.ConfigError as error:
            assert error.feature == "a match of the empty text"
            continue
        assert text == decoder.decode(tokens), regex
        if "\ufffd" not in text:
            assert raw.decode() == text
        equal += 1


@given(tokens=token_lists.map(lambda tokens: [token for token in tokens if token]), stop=st.integers(0, 3))
@settings(max_examples=amount(400, default=40))
def test_strip_at_the_end_where_hf_does_not_panic(tokens: list[str], stop: int) -> None:
    long = [token for token in tokens if len(token.strip("x")) > 0 and len(token) >= stop]
    decoder = decoders.Strip("x", 1, stop)
    assert decode(state(decoder), long)[1] == decoder.decode(long)


@given(tokens=token_lists.map(lambda tokens: [token for token in tokens if token]))
@settings(max_examples=amount(200, default=40))
def test_join_is_hf_without_a_decoder(tokens: list[str]) -> None:
    assert decode([{"type": "Join", "separator": " "}], tokens)[1] == " ".join(tokens)


@pytest.mark.parametrize("name", ["ByteLevel", "our mark", "llama", "WordPiece", "bytes then text", "Fuse"])
@given(data=st.data())
@settings(max_examples=amount(300, default=20))
def test_contents_that_are_bytes(name: str, data: st.DataObject) -> None:
    """A byte-level vocabulary stores bytes, HF's stores spellings; added tokens are text in both."""
    raw = data.draw(
        st.lists(st.binary(min_size=1, max_size=4) | st.sampled_from([b" ", b" the", "▁é".encode()]), max_size=8)
    )
    added = data.draw(st.lists(st.sampled_from(ATOMS), max_size=3))
    content = {i: (TOKEN, data) for i, data in enumerate(sorted(set(raw)))}
    content |= {1000 + i: (ADDED, token.encode()) for i, token in enumerate(sorted(set(added)))}
    ids = data.draw(st.permutations(sorted(content)))
    vocabulary = _core.Vocabulary(
        list(content), [kind for kind, _ in content.values()], [data for _, data in content.values()], []
    )
    spelled = [(_core.spell_bytes(data) if kind == TOKEN else data.decode()) for kind, data in map(content.get, ids)]
    _, text = vocabulary.decode_parts(json.dumps(state(CHAINS[name])), True, ids, False)
    assert text == CHAINS[name].decode(spelled)


@pytest.mark.parametrize(
    "name",
    rest_is_slow(
        ["t5-small", "phi-3-mini", "whisper-tiny", "roberta-base", "gpt-neox-20b", "falcon"],
        lambda name: name in ("t5-small", "phi-3-mini", "whisper-tiny"),
        "Metaspace, byte fallback, byte level with added tokens",
    ),
)
def test_published_files_decode_as_in_hf(name: str, data: Path) -> None:
    """Random ids of a whole vocabulary, special tokens kept and skipped."""
    path = data / "vocabs" / f"{name}.tokenizer.json"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    hf = Tokenizer.from_file(str(path))
    added = hf.get_added_tokens_decoder()
    parts = state(hf.decoder)
    byte_level = parts[0]["type"] == "ByteLevel"
    ids, kinds, contents = [], [], []
    for token, id in sorted(hf.get_vocab().items(), key=lambda item: item[1]):
        if not token:
            continue  # whisper has an empty entry; without a text of its own it decodes to nothing
        spelled = _core.read_bytes(token) if byte_level and id not in added else token.encode()
        assert spelled is not None
        ids.append(id)
        kinds.append(TOKEN if id not in added else SPECIAL if added[id].special else ADDED)
        contents.append(spelled)
    vocabulary = _core.Vocabulary(ids, kinds, contents, [])
    rng = random.Random(3)
    bytes_first = [id for id, content in zip(ids, contents, strict=True) if content.startswith(b"<0x")] or ids[:300]
    for i in range(60):
        some = [
            rng.choice(rng.choice((ids, ids, bytes_first, sorted(added) or ids))) for _ in range(rng.randrange(400))
        ]
        for skip in (False, True):
            _, text = vocabulary.decode_parts(json.dumps(parts), byte_level, some, skip)
            assert text == hf.decode(some, skip_special_tokens=skip), i


@pytest.mark.parametrize(
    "normalizer", [normalizers.Lowercase(), normalizers.Prepend("▁"), normalizers.Replace(" ", "▁"), normalizers.NFC()]
)
@pytest.mark.parametrize("name", ["llama", "Metaspace", "WordPiece", "ByteLevel", "Fuse"])
def test_added_tokens_of_normalized_text_decode_as_in_hf(name: str, normalizer: normalizers.Normalizer) -> None:
    """HF decodes them to their normalized form, and does not skip special ones that normalization changed."""
    hf = Tokenizer(models.WordLevel({"<unk>": 0, "▁a": 1, "##b": 2, "Ġc": 3}, unk_token="<unk>"))
    hf.normalizer, hf.decoder = normalizer, CHAINS[name]
    hf.add_tokens(
        [AddedToken("ABC D", normalized=True), AddedToken("X Y", normalized=False), AddedToken("ＮＦ e\u0301")]
    )
    hf.add_special_tokens([AddedToken("<S T>", normalized=True), AddedToken("<U>", normalized=False)])
    added = hf.get_added_tokens_decoder()
    contents = {id: token for token, id in hf.get_vocab().items()}
    ids = sorted(contents)
    respelled = [(id, normalizer.normalize_str(token.content)) for id, token in added.items() if token.normalized]
    parts = json.dumps([{"type": "Respell", "contents": respelled}, *state(CHAINS[name])])
    kinds = [TOKEN if id not in added else SPECIAL if added[id].special else ADDED for id in ids]
    vocabulary = _core.Vocabulary(ids, kinds, [contents[id].encode() for id in ids], [])
    changed = {id for id, spelling in respelled if added[id].special and spelling != added[id].content}
    rng = random.Random(4)
    for _ in range(100):
        some = [rng.choice(ids) for _ in range(rng.randrange(8))]
        assert vocabulary.decode_parts(parts, False, some, False)[1] == hf.decode(some, skip_special_tokens=False)
        if not changed.intersection(some):
            assert vocabulary.decode_parts(parts, False, some, True)[1] == hf.decode(some)


# SentencePiece


def entries(sp: sentencepiece.SentencePieceProcessor) -> _core.Vocabulary:
    kinds = []
    for id in range(len(sp)):
        special = sp.is_control(id) or sp.is_unknown(id)
        kinds.append(SPECIAL if special else BYTE if sp.is_byte(id) else UNUSED if sp.is_unused(id) else TOKEN)
    return _core.Vocabulary(list(range(len(sp))), kinds, [sp.id_to_piece(id).encode() for id in range(len(sp))], [])


def check_sentencepiece(sp: sentencepiece.SentencePieceProcessor, part: JSON, seed: int, rounds: int) -> None:
    vocabulary = entries(sp)
    parts = json.dumps([{"type": "SentencePiece", "unk": sp.unk_id(), **part}])
    ids = list(range(len(sp)))
    pieces = [sp.id_to_piece(id) for id in ids]
    groups = [
        ids,
        [id for id in ids if sp.is_byte(id)] or ids,
        [id for id in ids if sp.is_control(id) or sp.is_unknown(id)],
        [id for id in ids if set(pieces[id]) == {"▁"}] or ids,
        [id for id in ids if pieces[id].startswith("▁")] or ids,
        [id for id in ids if pieces[id] in ("<0xE2>", "<0x96>", "<0x81>", "<0xF0>", "<0x9F>", "<0x20>")] or ids,
    ]
    rng = random.Random(seed)
    for _ in range(rounds):
        some = [rng.choice(rng.choice(groups)) for _ in range(rng.randrange(12))]
        _, text = vocabulary.decode_parts(parts, False, some, False)
        assert text == sp.decode(some), [pieces[id] for id in some]


@cache
def trained(**options: Any) -> bytes:
    lines = ["hello world de la mer", "the  cat sat  on the mat", "日本語 テスト do ▁ it", "  it sat "] * 40
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=330 if options.get("byte_fallback") else 70,
        hard_vocab_limit=False,
        minloglevel=2,
        user_defined_symbols=["▁U▁", "V", "▁▁", "<0x0A>x"],
        control_symbols=["<c>", "▁C"],
        **options,
    )
    return model.getvalue()


@pytest.mark.parametrize("model_type", ["bpe", "unigram", "char"])
@pytest.mark.parametrize(
    ("suffix", "dummy", "remove", "fallback"), list(product((False, True), (False, True), (False, True), (False, True)))
)
def test_sentencepiece_gives_equal_text(
    model_type: str, suffix: bool, dummy: bool, remove: bool, fallback: bool
) -> None:
    options = {"add_dummy_prefix": dummy, "remove_extra_whitespaces": remove}
    model = trained(model_type=model_type, treat_whitespace_as_suffix=suffix, byte_fallback=fallback, **options)
    sp = sentencepiece.SentencePieceProcessor(model_proto=model)
    check_sentencepiece(sp, options, 1, 1500)


def test_sentencepiece_has_a_surface_for_the_unknown() -> None:
    sp = sentencepiece.SentencePieceProcessor(model_proto=trained(model_type="bpe", unk_surface="▁?"))
    part = {"add_dummy_prefix": True, "remove_extra_whitespaces": True, "unk_surface": "▁?"}
    check_sentencepiece(sp, part, 2, 500)


DENORMALIZATION = "61\t41\n61 62\t58 59\n20 2E\t2E\n63 64 65\t\n66\t20 20\n65E5\tE9 E9\n65E5 672C\t2581\n"


@cache
def denormalizing(flags: tuple[bool, bool, bool], tsv: str) -> bytes:
    """A model with rules for decoded text, and the flags of their normalizer."""
    fields = []
    for number, value in _core.read_message(
        trained(model_type="bpe", byte_fallback=True, denormalization_rule_tsv=tsv)
    ):
        if number == 5:
            assert isinstance(value, bytes)
            kept = [field for field in _core.read_message(value) if field[0] not in (3, 4, 5)]
            value = _core.write_message([*kept, *((3 + i, int(flag)) for i, flag in enumerate(flags))])
        fields.append((number, value))
    return _core.write_message(fields)


@pytest.mark.parametrize("flags", list(product((False, True), repeat=3)))
def test_a_denormalizer_rewrites_decoded_text(flags: tuple[bool, bool, bool], tmp_path: Path) -> None:
    (tmp_path / "rules.tsv").write_text(DENORMALIZATION)
    model = denormalizing(flags, str(tmp_path / "rules.tsv"))
    sp = sentencepiece.SentencePieceProcessor(model_proto=model)
    ours = our_sentencepiece.SentencePieceProcessor(model_proto=model)
    (tmp_path / "one.model").write_bytes(model)
    tok = jeton.load(tmp_path / "one.model")
    tok.save(tmp_path / "two.model")
    again = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "two.model"))
    rng = random.Random(6)
    bytes_first = [sp.piece_to_id(f"<0x{byte:02X}>") for byte in "日 本a.".encode()]
    for _ in range(amount(375, default=60)):
        ids = [rng.choice(rng.choice((range(len(sp)), range(30), bytes_first))) for _ in range(rng.randrange(14))]
        text = sp.decode(ids)
        stream = tok.stream()
        streamed = "".join(stream.push(id) for id in ids) + stream.finish()
        assert text == tok.decode(ids) == streamed == tok.decode_with_offsets(ids)[0] == again.decode(ids)
        assert text == ours.decode(ids) == ours.decode([sp.id_to_piece(id) for id in ids])
        assert tok.decode_batch([ids, ids]) == [text, text] == ours.decode([ids, ids])
        protos = [one.decode(ids, return_type="serialized_proto") for one in (sp, ours)]
        assert protos[0] == protos[1]
        assert offsets(sp, ids) == offsets(ours, ids)
    assert tok == pickle.loads(pickle.dumps(tok))


def offsets(sp: Any, ids: list[int]) -> Any:
    try:
        return sp.decode(ids, return_type="offset_mapping")
    except ValueError:
        return ValueError


def test_the_drop_in_trains_with_rules_of_decoded_text(tmp_path: Path) -> None:
    (tmp_path / "rules.tsv").write_text(DENORMALIZATION)
    options = {"denormalization_rule_tsv": str(tmp_path / "rules.tsv"), "vocab_size": 70, "model_type": "bpe"}
    specs, texts = [], []
    for library in (sentencepiece, our_sentencepiece):
        model = io.BytesIO()
        library.SentencePieceTrainer.train(
            sentence_iterator=iter(["cab abba cde . f", "a b c d e f ."] * 20),
            model_writer=model,
            hard_vocab_limit=False,
            minloglevel=2,
            **options,
        )
        specs.append(dict(_core.read_message(dict(_core.sentencepiece_specs(model.getvalue()))[5])))
        sp = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        texts.append(sp.decode(sp.encode("cab abba cde . f")))
    assert specs[0].pop(2)
    assert specs[1].pop(2)  # the same rules, in other bytes
    assert specs[0] == specs[1]
    assert texts == ["cXY XYbA .   "] * 2


@pytest.mark.filterwarnings("ignore::jeton.errors.LossyConversionWarning")  # of the other losses
def test_formats_without_a_denormalizer_refuse_one(tmp_path: Path) -> None:
    (tmp_path / "rules.tsv").write_text(DENORMALIZATION)
    (tmp_path / "one.model").write_bytes(denormalizing((False, False, False), str(tmp_path / "rules.tsv")))
    tok = jeton.load(tmp_path / "one.model")
    with pytest.raises(jeton.UnsupportedFeatureError, match="denormalizer") as error:
        tok.save(tmp_path / "tokenizer.json", accept_loss=["precompiled_charsmap", "user_defined", "byte_fallback"])
    assert error.value.feature == "decoder"


@pytest.mark.parametrize(
    ("name", "remove"),
    [
        ("mistral-v1", False),
        ("mistral-v3", False),
        ("spm-ja", True),
        ("spm-unigram-en", True),
        ("mbart-en-fairseq.sentencepiece.bpe", True),
    ],
)
def test_published_models_decode_as_in_sentencepiece(name: str, remove: bool, data: Path) -> None:
    path = data / "vocabs" / f"{name}.model"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    sp = sentencepiece.SentencePieceProcessor(model_file=str(path))
    check_sentencepiece(
        sp, {"add_dummy_prefix": True, "remove_extra_whitespaces": remove}, 3, 5 if len(sp) > 10**5 else 30
    )
