"""Templates: HF's post-processors, read, written and applied by the core."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors

import jeton
from jeton import _core
from jeton.formats.hf_template import read_template, write_template

from ..selection import rest_is_slow

JSON = dict[str, Any]


def byte_level(**options: bool) -> JSON:
    return {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True} | options


def template(single: str, pair: str, special: list[Any]) -> JSON:
    made = processors.TemplateProcessing(single=single, pair=pair, special_tokens=special)
    part: JSON = json.loads(made.__getstate__())
    return part


def sequence(*parts: JSON) -> JSON:
    return {"type": "Sequence", "processors": list(parts)}


LLAMA3 = template("<s> $A", "<s> $A <s>:1 $B:1", [("<s>", 0)])
MANY = {"id": "many", "ids": [1, 0, 1], "tokens": ["</s>", "<s>", "</s>"]}
PROCESSORS: dict[str, JSON | None] = {
    "none": None,
    "bert": {"type": "BertProcessing", "sep": ["</s>", 1], "cls": ["<s>", 0]},
    "roberta": {
        "type": "RobertaProcessing",
        "sep": ["</s>", 1],
        "cls": ["<s>", 0],
        "trim_offsets": True,
        "add_prefix_space": True,
    },
    "roberta as in its file": {
        "type": "RobertaProcessing",
        "sep": ["</s>", 1],
        "cls": ["<s>", 0],
        "trim_offsets": True,
        "add_prefix_space": False,
    },
    "roberta untrimmed": {
        "type": "RobertaProcessing",
        "sep": ["</s>", 1],
        "cls": ["<s>", 0],
        "trim_offsets": False,
        "add_prefix_space": True,
    },
    "byte level": byte_level(),
    "byte level, no prefix": byte_level(add_prefix_space=False),
    "byte level, untrimmed": byte_level(trim_offsets=False),
    "template": template("<s> $A </s>", "<s> $A </s> $B:1 </s>:1", [("<s>", 0), ("</s>", 1)]),
    "template that adds nothing": template("$A", "$A $B:1", []),
    "types of its own": template("$A:7 </s>:3", "$B:2 </s>:9 $A:4", [("</s>", 1)]),
    "many ids": template("many $A many", "$A many $B", [MANY]),
    "repeated": template("$A </s> $A:2", "$A $B:1 $A:3 </s> $B", [("</s>", 1)]),
    "one of a pair": {**template("<s>", "$A $B", [("<s>", 0)]), "pair": [{"Sequence": {"id": "B", "type_id": 5}}]},
    "llama 3": sequence(byte_level(), LLAMA3),
    "llama 3, no prefix": sequence(byte_level(add_prefix_space=False), LLAMA3),
    "untrimmed parts": sequence(
        byte_level(trim_offsets=False), byte_level(), sequence(byte_level(trim_offsets=False), LLAMA3)
    ),
    "empty sequence": sequence(),
}
TEXTS = [
    "",
    " ",
    "a",
    "the cat",
    " the cat ",
    "  the   cat  ",
    "the\ncat \n",
    "é  日本\t",
    "   é",
    " x",
    "\u3000a",
    "a<add> b <add>",
    " <s> a",
]


def hf(processor: JSON | None, prefix: bool) -> Tokenizer:
    """A byte-level BPE that knows a few words, with one added token that has white space at both ends."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = ["Ġt", "he", "Ġthe", "ca", "cat", "Ġcat", "ĠĠ"]
    merges = [("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("c", "a"), ("ca", "t"), ("Ġ", "cat"), ("Ġ", "Ġ")]
    vocab = {token: id for id, token in enumerate(["<s>", "</s>", *alphabet, *words])}
    tok = Tokenizer(models.BPE(vocab, merges))
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=False)
    tok.add_special_tokens(["<s>", "</s>"])
    tok.add_tokens(
        [
            AddedToken(" b ", normalized=False),
            AddedToken("<add> ", normalized=False),
            AddedToken("\u3000", normalized=False),
        ]
    )
    state = json.loads(tok.to_str())
    return Tokenizer.from_str(json.dumps(state | {"post_processor": processor}))


@pytest.mark.parametrize("name", PROCESSORS)
@pytest.mark.parametrize("prefix", [False, True])
def test_hf_gives_equal_columns(name: str, prefix: bool) -> None:
    processor = PROCESSORS[name]
    neutral = read_template(processor)
    plain, with_template = hf(None, prefix), hf(processor, prefix)
    rewritten = write_template(neutral, lambda id: plain.id_to_token(id) or "")
    assert read_template(rewritten) == neutral
    others = [with_template, hf(rewritten, prefix)]
    added = plain.get_added_tokens_decoder()

    def spans(encoding: Any) -> list[tuple[int, int]]:
        if neutral is None or not neutral["trim_offsets"]:
            return list(encoding.offsets)
        found = []
        for i, (id, span) in enumerate(zip(encoding.ids, encoding.offsets, strict=True)):
            token = plain.id_to_token(id)
            content = token.encode() if id in added else _core.read_bytes(token)
            trimmed = _core.trim_offsets(content, id not in added, neutral["add_prefix_space"], i, span)
            assert trimmed == _core.trim_offsets(token.encode(), False, neutral["add_prefix_space"], i, span)
            found.append(trimmed)
        return found

    rng = random.Random(1)
    pairs = [(text, None) for text in TEXTS] + [(rng.choice(TEXTS), rng.choice(TEXTS)) for _ in range(40)]
    for (text, other), special in product(pairs, (False, True)):
        first = plain.encode(text)
        second = None if other is None else plain.encode(other)
        items = json.dumps(neutral or {"single": [{"sequence": "A", "type_id": 0}], "pair": None})
        ids, type_ids, mask, sources = _core.apply_template(
            items, first.ids, None if second is None else second.ids, special
        )
        offsets = [spans(first), [] if second is None else spans(second)]
        places = [(0, 0) if source is None else offsets[source[0]][source[1]] for source in sources]
        for peer in others:
            expected = peer.encode(text, other, add_special_tokens=special)
            assert ids == expected.ids
            assert mask == [bool(number) for number in expected.special_tokens_mask]
            assert places == expected.offsets, (text, other)
            assert type_ids == expected.type_ids
            if name not in ("repeated", "one of a pair"):  # HF keeps one range per text, and guesses if it has none
                assert [None if source is None else source[0] for source in sources] == expected.sequence_ids


def test_numbers_of_added_ids_equal_hf() -> None:
    for name, processor in PROCESSORS.items():
        tok, neutral = hf(processor, False), read_template(PROCESSORS[name])
        for is_pair in (False, True):
            items = [] if neutral is None else neutral["pair" if is_pair else "single"]
            assert sum(len(item.get("ids", ())) for item in items) == tok.num_special_tokens_to_add(is_pair)


def test_names_are_made_unique() -> None:
    items = [{"ids": [1], "type_id": 0}, {"ids": [2], "type_id": 0}, {"sequence": "A", "type_id": 0}]
    neutral = {
        "single": items,
        "pair": [*items, {"sequence": "B", "type_id": 1}],
        "trim_offsets": False,
        "add_prefix_space": False,
    }
    written = write_template(neutral, lambda id: "same")
    assert read_template(written) == neutral


@pytest.mark.parametrize(
    "name",
    rest_is_slow(
        ["roberta-base", "t5-small", "phi-3-mini", "whisper-tiny", "gpt-neox-20b", "falcon"],
        lambda name: name in ("roberta-base", "t5-small"),
        "a template with pairs, and one without",
    ),
)
def test_templates_of_published_files_round_trip(name: str, data: Path) -> None:
    path = data / "vocabs" / f"{name}.tokenizer.json"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    tok = Tokenizer.from_file(str(path))
    file = json.loads(tok.to_str())
    neutral = read_template(file["post_processor"])
    back = Tokenizer.from_str(json.dumps(file | {"post_processor": write_template(neutral, tok.id_to_token)}))
    for text, other in product(TEXTS, (None, *TEXTS[3:6])):
        one, two = tok.encode(text, other), back.encode(text, other)
        assert (one.ids, one.offsets, one.tokens, one.special_tokens_mask) == (
            two.ids,
            two.offsets,
            two.tokens,
            two.special_tokens_mask,
        )
        assert one.type_ids == two.type_ids


@pytest.mark.parametrize(
    ("processor", "named"),
    [
        (sequence(byte_level(), byte_level()), "trim"),
        (sequence(LLAMA3, byte_level()), "follows"),
        (sequence(LLAMA3, LLAMA3), "follows"),
        ({"type": "Shout"}, "Shout"),
    ],
)
def test_unsupported_processors_are_named(processor: JSON, named: str) -> None:
    with pytest.raises(jeton.UnsupportedFeatureError, match=named) as caught:
        read_template(processor)
    assert caught.value.feature
    assert caught.value.place
    assert caught.value.place.startswith("$.post_processor")


@pytest.mark.parametrize(
    ("processor", "place"),
    [
        ("x", "$.post_processor"),
        (sequence({"type": "ByteLevel"}), "$.post_processor.processors[0].trim_offsets"),
        ({"type": "BertProcessing", "sep": ["</s>"], "cls": ["<s>", 0]}, "$.post_processor.sep"),
        ({"type": "BertProcessing", "sep": ["</s>", 1], "cls": ["<s>", -1]}, "$.post_processor.cls[1]"),
        ({**LLAMA3, "special_tokens": {}}, "$.post_processor.single[0].SpecialToken.id"),
        ({**LLAMA3, "special_tokens": {"<s>": {"ids": [True]}}}, "$.post_processor.special_tokens['<s>'].ids"),
        ({**LLAMA3, "single": [{"Sequence": {"id": "B", "type_id": 0}}]}, "$.post_processor.single[0].Sequence.id"),
        (
            {**LLAMA3, "single": [{"Sequence": {"id": "A", "type_id": 2**32}}]},
            "$.post_processor.single[0].Sequence.type_id",
        ),
        ({**LLAMA3, "pair": [{}]}, "$.post_processor.pair[0]"),
    ],
)
def test_errors_have_the_json_path(processor: Any, place: str) -> None:
    with pytest.raises(jeton.FormatError) as caught:
        read_template(processor)
    assert caught.value.place == place


@pytest.mark.parametrize("trims", [True, False])
def test_type_ids_of_overflowing_pairs_equal_hf(trims: bool) -> None:
    """RobertaProcessing also sets type ids of overflowing pieces; equal templates do not. (CLIP's trims no offsets.)"""
    roberta = {**(PROCESSORS["roberta"] or {}), "trim_offsets": trims}
    same = template("<s> $A </s>", "<s> $A </s> </s> $B </s>", [("<s>", 0), ("</s>", 1)])
    for processor in (roberta, same, sequence(byte_level(trim_offsets=trims), same), sequence(byte_level(), roberta)):
        if processor["type"] == "Sequence" and processor["processors"][-1] is roberta and trims:
            continue  # two that trim are refused
        peer = hf(processor, False)
        peer.enable_truncation(10, stride=1)
        first, second = "the cat the cat a", "cat é the the cat cat"
        row = peer.encode(first, second)
        theirs = [row.type_ids, *(piece.type_ids for piece in row.overflowing)]
        tok = jeton.Tokenizer.from_bytes(hf(processor, False).to_str().encode())
        for again in (tok, jeton.Tokenizer.from_bytes(tok.to_bytes())):
            batch = again.encode_batch(
                [first], [second], special="all", add_special_tokens=True, max_length=10, stride=1, overflow=True
            )
            assert [column.tolist() for column in batch.to_dict()["token_type_ids"]] == theirs, processor
        saved = Tokenizer.from_str(tok.to_bytes().decode())
        saved.enable_truncation(10, stride=1)
        row = saved.encode(first, second)
        assert [row.type_ids, *(piece.type_ids for piece in row.overflowing)] == theirs, processor
