"""Components of Hugging Face: what is written for a definition, and what is read of a file."""

from __future__ import annotations

from typing import Any

import pytest

from jeton import _core
from jeton.definition import BYTE_LEVEL, Bpe, Definition, Pieces, WordPiece, template_of
from jeton.errors import FormatError, UnsupportedFeatureError
from jeton.formats import hf_parts as parts
from jeton.formats.hf_template import read_template, write_template

JSON = dict[str, Any]

GPT2 = {"type": "Pattern", "name": "gpt2"}
SPLIT = {"type": "Split", "pattern": {"Regex": "a+"}, "behavior": "Isolated", "invert": False}
FUSE = {"type": "Fuse"}
JOIN = {"type": "Join", "separator": " "}
LOWERCASE = {"type": "Lowercase"}
BYTES = dict(BYTE_LEVEL)
STRIP_LAST = {"type": "Replace", "pattern": {"Regex": r" \z"}, "content": ""}
SPM_DECODER = {"type": "SentencePiece", "add_dummy_prefix": True, "unk_surface": "?"}
SPM_PARTS = [
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    {"type": "ByteFallback"},
    FUSE,
    {"type": "Strip", "content": " ", "start": 1, "stop": 0},
]


def byte_level(*, use_regex: bool = False) -> JSON:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def replaced(old: str, new: str) -> JSON:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def without(regex: str, content: str = "") -> JSON:
    return {"type": "Replace", "pattern": {"Regex": regex}, "content": content}


def spm(**options: Any) -> JSON:
    names = ("remove_extra_whitespaces", "add_dummy_prefix", "escape_whitespaces", "treat_whitespace_as_suffix")
    return {"type": "SentencePiece", "precompiled_charsmap": None, **dict.fromkeys(names, False), **options}


@pytest.mark.parametrize(
    ("normalizer", "written", "losses"),
    [
        ((), [], []),
        ((LOWERCASE, {"type": "NFC"}), [LOWERCASE, {"type": "NFC"}], []),
        ((spm(),), [], []),
        ((spm(escape_whitespaces=True),), [replaced(" ", "▁")], []),
        ((spm(add_dummy_prefix=True),), [{"type": "Prepend", "prepend": " "}], []),
        (
            (spm(add_dummy_prefix=True, escape_whitespaces=True),),
            [{"type": "Prepend", "prepend": "▁"}, replaced(" ", "▁")],
            [],
        ),
        (
            (spm(remove_extra_whitespaces=True),),
            [without(r"\A +"), without(" {2,}", " "), without(r" +\z")],
            [],
        ),
        (
            (spm(remove_extra_whitespaces=True, escape_whitespaces=True),),
            [without(r"\A +"), without(" {2,}", " "), replaced(" ", "▁"), without(r"\x{2581}+\z")],
            [],
        ),
        ((spm(treat_whitespace_as_suffix=True),), [], []),
        (
            (spm(add_dummy_prefix=True, treat_whitespace_as_suffix=True),),
            [{"type": "Prepend", "prepend": " "}],
            ["treat_whitespace_as_suffix"],
        ),
        (
            (LOWERCASE, spm(precompiled_charsmap="AA")),
            [LOWERCASE, {"type": "Precompiled", "precompiled_charsmap": "AA"}],
            ["precompiled_charsmap"],
        ),
    ],
)
def test_normalizers_are_written(normalizer: Any, written: list[JSON], losses: list[str]) -> None:
    found: dict[str, str] = {}
    assert parts._write_normalizer(normalizer, found) == written
    assert [*found] == losses


@pytest.mark.parametrize(
    ("level", "pretokenizer", "normalizer", "written", "losses"),
    [
        ("byte", (), (), [byte_level()], []),
        ("char", (), (), [], []),
        ("byte", (GPT2,), (), [byte_level(use_regex=True)], []),
        ("byte", ({"type": "Digits"}, GPT2), (), [{"type": "Digits"}, "gpt2", byte_level()], []),
        ("char", (GPT2,), (), ["gpt2"], []),
        ("char", ({"type": "Pattern", "name": "whitespace"},), (), [{"type": "WhitespaceSplit"}], []),
        ("byte", ({"type": "Pattern", "name": "whitespace"},), (), [{"type": "WhitespaceSplit"}, byte_level()], []),
        ("byte", (BYTES,), (), [BYTES], []),
        ("byte", (GPT2, BYTES), (), ["gpt2", BYTES], []),
        ("byte", (GPT2,), ({"type": "ByteLevel"},), ["gpt2"], []),
        ("char", ({"type": "Pattern", "regex": "a+"},), (), [SPLIT], []),
        ("char", ({"type": "Pattern", "regex": r"\z|a"},), (), [], ["pattern"]),
    ],
)
def test_pre_tokenizers_are_written(
    level: Any, pretokenizer: Any, normalizer: Any, written: list[Any], losses: list[str]
) -> None:
    gpt2, _ = _core.oniguruma_pattern("gpt2", is_regex=False)
    found: dict[str, str] = {}
    definition = Definition(Bpe(level), pretokenizer=pretokenizer, normalizer=normalizer)
    expected = [{**SPLIT, "pattern": {"Regex": gpt2}} if part == "gpt2" else part for part in written]
    assert parts._write_pretokenizer(definition, found) == expected
    assert [*found] == losses


def sequence(*decoders: JSON) -> JSON:
    return {"type": "Sequence", "decoders": [*decoders]}


@pytest.mark.parametrize(
    ("model", "decoder", "written", "losses"),
    [
        (Bpe(), None, BYTES, []),
        (Bpe("char"), None, FUSE, []),
        (WordPiece("u"), None, FUSE, []),
        (Bpe(end_of_word="</w>"), None, sequence(replaced("#", " "), FUSE, STRIP_LAST), []),
        (
            Bpe(end_of_word="</w>", end_of_word_style="suffix"),
            None,
            sequence(replaced("#", "Ġ"), BYTES, STRIP_LAST),
            [],
        ),
        (Bpe("char", end_of_word="</w>", end_of_word_style="suffix"), None, {"type": "BPEDecoder", "suffix": "#"}, []),
        (Bpe(), (JOIN,), None, []),
        (Bpe(), ({**JOIN, "separator": "-"},), None, ["decoder"]),
        (Bpe(), (FUSE,), FUSE, []),
        (Bpe(), (FUSE, STRIP_LAST), sequence(FUSE, STRIP_LAST), []),
        (Bpe(), ({"type": "Respell", "contents": []}, FUSE), FUSE, []),
        (Pieces("u"), (SPM_DECODER,), sequence(*SPM_PARTS), []),
        (Pieces("u"), ({**SPM_DECODER, "add_dummy_prefix": False},), sequence(*SPM_PARTS[:-1]), []),
        (Pieces("u"), ({**SPM_DECODER, "denormalizer": "AA"},), sequence(*SPM_PARTS), ["decoder"]),
        (Pieces("u"), ({**SPM_DECODER, "components": (FUSE,)},), FUSE, []),
        (Pieces("u"), ({**SPM_DECODER, "components": ()},), sequence(*SPM_PARTS), []),
    ],
)
def test_decoders_are_written(model: Any, decoder: Any, written: JSON | None, losses: list[str]) -> None:
    found: dict[str, str] = {}
    assert parts._write_decoder(Definition(model, decoder=decoder), "#", found) == written
    assert [*found] == losses


@pytest.mark.parametrize(("number", "lost"), [(0, False), (1, False), (64, False), (65, True)])
@pytest.mark.parametrize("decoder", [BYTES, sequence(BYTES, FUSE)])
def test_added_tokens_keep_their_text(number: int, lost: bool, decoder: JSON) -> None:
    texts = [f"é{index:03}." for index in reversed(range(number))]
    losses: dict[str, str] = {}
    found = parts._keep_added(decoder, texts, losses)
    assert [*losses] == (["decoder"] if lost else [])
    if lost or not number:
        assert found == decoder
        return
    kept, own = found["decoders"][:number], found["decoders"][number:]
    assert own == (decoder["decoders"] if decoder["type"] == "Sequence" else [decoder])
    assert [one["pattern"]["Regex"] for one in kept] == [rf"\Aé{index:03}\.\z" for index in range(number)]
    assert kept[0] == {"type": "Replace", "pattern": {"Regex": r"\Aé000\.\z"}, "content": "Ã©000."}


@pytest.mark.parametrize(
    ("model", "losses", "normalizer"),
    [
        (Bpe(), [], None),
        (Bpe("char", end_of_word="</w>", end_of_word_style="suffix"), [], None),
        (Bpe("char", end_of_word="</w>"), [], without(r"(?<=\S)(?=\s|$)", "#")),
        (Bpe(end_of_word="</w>"), ["end_of_word"], without(r"(?<=\S)(?=\s|$)", "#")),
    ],
)
def test_marks_of_the_end_of_a_word(model: Any, losses: list[str], normalizer: JSON | None) -> None:
    found = parts.write_parts(Definition(model), "#", str, [])
    assert (found.normalizer, [*found.losses], found.mark) == (normalizer, losses, "#")


def test_the_decoder_of_the_user_is_not_changed_for_added_tokens() -> None:
    added = [("é", False)]
    assert parts.write_parts(Definition(Bpe()), "", str, added).decoder["type"] == "Sequence"  # type: ignore[index]
    for definition in (Definition(Bpe(), decoder=(BYTES,)), Definition(Bpe(), decoder=(JOIN,))):
        found = parts.write_parts(definition, "", str, added)
        assert found.decoder == (None if definition.decoder == (JOIN,) else BYTES)


@pytest.mark.parametrize(
    ("top", "byte_level_model", "expected"),
    [
        ({}, True, {"decoder": (JOIN,)}),
        ({"decoder": FUSE}, True, {}),
        ({"decoder": FUSE}, False, {}),
        ({"decoder": byte_level()}, True, {"decoder": (byte_level(),)}),
        (
            {"pre_tokenizer": byte_level(), "decoder": byte_level()},
            True,
            {"is_byte_level": True, "reads_added": True},
        ),
        (
            {"pre_tokenizer": byte_level(use_regex=True), "decoder": byte_level()},
            True,
            {"is_byte_level": True, "reads_added": True, "pretokenizer": (GPT2,)},
        ),
        (
            {"pre_tokenizer": byte_level(use_regex=True), "decoder": byte_level()},
            False,
            {"pretokenizer": (byte_level(use_regex=True),), "decoder": (byte_level(),)},
        ),
        (
            {"pre_tokenizer": {"type": "ByteLevel"}, "decoder": FUSE},
            True,
            {"is_byte_level": True, "pretokenizer": ({"type": "ByteLevel"},), "decoder": (FUSE,)},
        ),
        (
            {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}, "decoder": byte_level()},
            True,
            {"is_byte_level": True, "reads_added": True, "pretokenizer": (GPT2,)},
        ),
        (
            {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [byte_level(), {"type": "Digits"}]}},
            True,
            {"is_byte_level": True, "pretokenizer": (byte_level(), {"type": "Digits"}), "decoder": (JOIN,)},
        ),
        (
            {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [byte_level(), byte_level()]}},
            True,
            {"is_byte_level": True, "pretokenizer": (byte_level(), byte_level()), "decoder": (JOIN,)},
        ),
        (
            {"normalizer": {"type": "ByteLevel"}, "decoder": byte_level()},
            True,
            {"is_byte_level": True, "reads_added": True, "normalizer": ({"type": "ByteLevel"},)},
        ),
        (
            {"pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": FUSE},
            False,
            {"pretokenizer": ({"type": "Pattern", "name": "whitespace"},)},
        ),
        (
            {"pre_tokenizer": {"type": "Whitespace"}, "decoder": {"type": "Sequence", "decoders": [FUSE, FUSE]}},
            False,
            {"pretokenizer": ({"type": "Whitespace"},), "decoder": (FUSE, FUSE)},
        ),
    ],
)
def test_stages_are_read(top: JSON, byte_level_model: bool, expected: JSON) -> None:
    plain = {
        "normalizer": (),
        "pretokenizer": (),
        "decoder": None,
        "reads_added": False,
        "template": None,
        "is_byte_level": False,
    }
    assert parts.read_parts(top, byte_level_model=byte_level_model, suffix="") == {**plain, **expected}


@pytest.mark.parametrize("is_inside", [False, True])
@pytest.mark.parametrize("level", ["byte", "char"])
def test_decoders_of_a_suffix_are_read(level: Any, is_inside: bool) -> None:
    model = Bpe(level, end_of_word="</w>", end_of_word_style="suffix")
    written = parts._write_decoder(Definition(model), "</w>", {})
    assert written is not None
    flat = written.get("decoders", [written])
    top = {"decoder": written, "pre_tokenizer": byte_level() if level == "byte" else None}
    found = parts.read_parts(top, byte_level_model=True, suffix="</w>", is_inside=is_inside)
    assert (found["decoder"], found["reads_added"]) == (tuple(flat) if is_inside else None, False)
    other = parts.read_parts({**top, "decoder": FUSE}, byte_level_model=True, suffix="</w>")
    assert other["decoder"] == (FUSE,)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (SPLIT, {"type": "Pattern", "regex": "a+"}),
        ({**SPLIT, "invert": True}, None),
        ({**SPLIT, "behavior": "Removed"}, None),
        ({**SPLIT, "pattern": {"String": "a+"}}, None),
        ({**SPLIT, "pattern": "a+"}, None),
        ({**SPLIT, "pattern": {"Regex": 1}}, None),
        ({**SPLIT, "pattern": {"Regex": "("}}, None),
        ({**SPLIT, "pattern": {"Regex": r"\h+"}}, None),
        ({**SPLIT, "pattern": {"Regex": _core.oniguruma_pattern("gpt2", is_regex=False)[0]}}, GPT2),
    ],
)
def test_splits_that_are_patterns(part: JSON, expected: JSON | None) -> None:
    assert parts._read_split(part) == (part if expected is None else expected)


@pytest.mark.parametrize(
    ("spelled", "expected"),
    [
        (None, []),
        (LOWERCASE, [LOWERCASE]),
        ({"type": "Sequence", "normalizers": []}, []),
        (
            {
                "type": "Sequence",
                "normalizers": [
                    {"type": "NFC"},
                    {"type": "Sequence", "normalizers": [LOWERCASE, {"type": "NFD"}]},
                    {"type": "Nmt"},
                ],
            },
            [{"type": "NFC"}, LOWERCASE, {"type": "NFD"}, {"type": "Nmt"}],
        ),
        ("x", "$.normalizer"),
        ({}, "$.normalizer"),
        ({"type": 1}, "$.normalizer"),
        ({"type": "Sequence"}, "$.normalizer.normalizers"),
        ({"type": "Sequence", "normalizers": {}}, "$.normalizer.normalizers"),
        ({"type": "Sequence", "normalizers": [LOWERCASE, {"type": []}]}, "$.normalizer.normalizers[1]"),
        ({"type": "Shout"}, "Shout"),
    ],
)
def test_sequences_are_flattened(spelled: Any, expected: Any) -> None:
    def flat() -> list[JSON]:
        return parts._flatten(spelled, "normalizers", "$.normalizer", "normalizer", parts.NORMALIZERS)

    if isinstance(expected, list):
        assert flat() == expected
        return
    error = UnsupportedFeatureError if expected == "Shout" else FormatError
    with pytest.raises(error) as caught:
        flat()
    assert type(caught.value) is error
    assert caught.value.place == ("$.normalizer" if expected == "Shout" else expected)


# ── templates ───────────────────────────────────────────────────────────────────────────────────────────────────────

ROBERTA = template_of([0, "A", 2], [0, "A", 2, 2, "B", 2])
TRIMMER = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}


def token(id: int) -> str:
    return f"<{id}>"


@pytest.mark.parametrize(
    ("template", "types"),
    [
        (None, None),
        (template_of(["A"], ["A", ("B", 1)]), None),
        ({**template_of(["A"]), "pair": None}, None),
        ({**template_of(["A"], ["A", ("B", 1)]), "trim_offsets": True, "add_prefix_space": True}, "ByteLevel"),
        (template_of(["A"], ["A", "B"]), "TemplateProcessing"),
        (template_of([1, "A"], ["A", ("B", 1)]), "TemplateProcessing"),
        ({**template_of([1, "A"], ["A", ("B", 1)]), "trim_offsets": True}, "ByteLevel TemplateProcessing"),
        ({**ROBERTA, "trim_offsets": True, "add_prefix_space": True}, "RobertaProcessing"),
        (ROBERTA, "TemplateProcessing"),
        ({**ROBERTA, "overflow_type_ids": True}, "RobertaProcessing"),
        ({**ROBERTA, "trim_offsets": True, "overflow_type_ids": False}, "ByteLevel TemplateProcessing"),
    ],
)
def test_templates_are_written_and_read_again(template: JSON | None, types: str | None) -> None:
    written = write_template(template, token)
    flat = [] if written is None else written.get("processors", [written])
    assert " ".join(part["type"] for part in flat) == (types or "")
    again = read_template(written)
    if types is None:
        assert again is None
        return
    assert template is not None
    pair = template["pair"] or template_of(["A"], ["A", ("B", 1)])["pair"]
    assert (again["single"], again["pair"]) == (template["single"], pair)  # type: ignore[index]
    for name in ("trim_offsets", "add_prefix_space"):
        assert again[name] == bool(template.get(name))  # type: ignore[index]
    assert again.get("overflow_type_ids") == template.get("overflow_type_ids")  # type: ignore[union-attr]
    for part in flat:
        if part["type"] == "RobertaProcessing":
            assert (part["cls"], part["sep"]) == (["<0>", 0], ["<2>", 2])
        if part["type"] == "ByteLevel":
            assert part == {**TRIMMER, "add_prefix_space": bool(template.get("add_prefix_space"))}


def test_tokens_of_a_template_are_named_once() -> None:
    items = [{"ids": [1, 2], "type_id": 0}, {"ids": [1], "type_id": 0}, {"sequence": "A", "type_id": 0}]
    written = write_template({"single": items, "pair": [*items, {"ids": [1], "type_id": 1}]}, token)
    assert written is not None
    assert written["special_tokens"] == {
        "<1>": {"id": "<1>", "ids": [1], "tokens": ["<1>"]},
        "<1> <2>": {"id": "<1> <2>", "ids": [1, 2], "tokens": ["<1>", "<2>"]},
    }
    assert [*written["special_tokens"]] == ["<1>", "<1> <2>"]
    same = write_template({"single": items, "pair": items}, lambda id: "")
    assert same is not None
    assert [*same["special_tokens"]] == ["", " "]
    equal = write_template(
        {"single": [{"ids": [1], "type_id": 0}, {"ids": [2], "type_id": 0}], "pair": []}, lambda id: "x"
    )
    assert equal is not None
    assert [*equal["special_tokens"]] == ["x", "x (2,)"]


def test_a_template_has_a_limit_of_ids() -> None:
    special = {"x": {"id": "x", "ids": [1] * (1 << 15), "tokens": []}}
    item = {"SpecialToken": {"id": "x", "type_id": 0}}
    part: JSON = {"type": "TemplateProcessing", "special_tokens": special, "pair": []}
    found = read_template({**part, "single": [item] * 2})
    assert found is not None
    assert len(found["single"]) == 2
    with pytest.raises(FormatError, match="adds more than 65536 ids"):
        read_template({**part, "single": [item] * 3})


@pytest.mark.parametrize("id", [0, (1 << 32) - 1, -1, 1 << 32, True, 1.0, "1"])
def test_ids_of_a_template(id: Any) -> None:
    part = {"type": "BertProcessing", "sep": ["s", 0], "cls": ["c", id]}
    if id in (0, (1 << 32) - 1) and type(id) is int:
        assert read_template(part)["single"][0] == {"ids": [id], "type_id": 0}  # type: ignore[index]
        return
    with pytest.raises(FormatError, match="an id must be an integer from 0") as caught:
        read_template(part)
    assert caught.value.place == "$.post_processor.cls[1]"


@pytest.mark.parametrize("cls", [None, "c", ["c"], ["c", 1, 2], [1, 1], {"c": 1}])
def test_a_token_of_a_template_has_its_id(cls: Any) -> None:
    with pytest.raises(FormatError, match="cls must be a token and its id"):
        read_template({"type": "BertProcessing", "sep": ["s", 0], "cls": cls})


@pytest.mark.parametrize(
    "piece",
    [
        "A",
        {},
        {"Text": {"id": "A", "type_id": 0}},
        {"Sequence": "A"},
        {"Sequence": {"id": "A", "type_id": 0}, "SpecialToken": {"id": "x", "type_id": 0}},
        {"Sequence": {"id": "C", "type_id": 0}},
        {"Sequence": {"id": "A"}},
        {"Sequence": {"id": 1, "type_id": 0}},
        {"SpecialToken": {"id": "y", "type_id": 0}},
    ],
)
def test_pieces_of_a_template_that_are_damaged(piece: Any) -> None:
    special = {"x": {"id": "x", "ids": [1], "tokens": ["x"]}}
    with pytest.raises(FormatError) as caught:
        read_template({"type": "TemplateProcessing", "special_tokens": special, "single": [piece], "pair": []})
    assert (caught.value.place or "").startswith("$.post_processor.single[0]")
