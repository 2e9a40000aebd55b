"""Reachability of entries against all short texts, on small random tokenizers of each model."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import jeton
from jeton import _core
from jeton.analysis.auditing.entries import FATES, REACHED, SPELLING, UNDECIDED
from jeton.definition import Bpe, Definition
from jeton.errors import JetonError
from jeton.tokenizer import Tokenizer

from ..selection import amount

CASES = amount(400, default=24)
PRE_TOKENIZERS: list[Any] = [
    None,
    {"type": "Whitespace"},
    {"type": "WhitespaceSplit"},
    {"type": "BertPreTokenizer"},
    {"type": "Punctuation", "behavior": "Isolated"},
    {"type": "Digits", "individual_digits": True},
    {"type": "FixedLength", "length": 2},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    {"type": "Split", "pattern": {"Regex": "[0-9]{1,2}|[a-z]+"}, "behavior": "Isolated", "invert": False},
    {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": False},
    {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": False}, {"type": "Punctuation"}]},
]
NORMALIZERS: list[Any] = [
    None,
    None,
    {"type": "Lowercase"},
    {"type": "NFC"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
    {
        "type": "Sequence",
        "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Strip", "strip_left": True, "strip_right": True},
        ],
    },
]
ALPHABETS = ("ab ", "aA1", "a1.", "ab天", "a▁ ", "é#a")


def texts(alphabet: str, longest: int) -> Iterator[str]:
    for size in range(1, longest + 1):
        for chars in product(alphabet, repeat=size):
            yield "".join(chars)


def loaded(fields: dict[str, Any]) -> Tokenizer:
    whole = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "decoder": None} | fields
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_text(json.dumps(whole), encoding="utf-8")
        return jeton.load(path)


def glued(random: Random, units: list[str], most: int, longest: int = 4) -> list[str]:
    made = {"".join(random.choices(units, k=random.randint(2, longest))) for _ in range(most)}
    return sorted(made - set(units))


def bpe(random: Random, alphabet: str) -> dict[str, Any]:
    entries = list(alphabet)
    merges = []
    for _ in range(random.randint(2, 12)):
        left, right = random.choices(entries, k=2)
        if [left, right] not in merges and len(left + right) <= 4:
            merges.append([left, right])
            entries += [left + right] * (left + right not in entries)
    random.shuffle(merges)  # so that some merges come too late
    for entry in glued(random, list(alphabet), 2):
        entries += [entry] * (entry not in entries)
    options = {"unk_token": None, "fuse_unk": False, "ignore_merges": random.random() < 0.4}
    return {"type": "BPE", "vocab": {entry: id for id, entry in enumerate(entries)}, "merges": merges, **options}


def unigram(random: Random, alphabet: str) -> dict[str, Any]:
    entries = ["<unk>", *alphabet, *glued(random, list(alphabet), 8)]
    vocab = [[entry, round(random.uniform(-9, -1), 2)] for entry in entries]
    return {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": False}


def wordpiece(random: Random, alphabet: str) -> dict[str, Any]:
    units = [char for char in alphabet if char != " "]
    first = units + glued(random, units, 4)
    inner = ["##" + entry for entry in units + glued(random, units, 4)]
    random.shuffle(first)
    entries = ["[UNK]", *dict.fromkeys([*first[: random.randint(1, len(first))], *inner])]
    options = {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    return {"type": "WordPiece", "vocab": {entry: id for id, entry in enumerate(entries)}, **options}


def wordlevel(random: Random, alphabet: str) -> dict[str, Any]:
    entries = ["<unk>", *dict.fromkeys([*alphabet, *glued(random, list(alphabet), 6)])]
    return {"type": "WordLevel", "vocab": {entry: id for id, entry in enumerate(entries)}, "unk_token": "<unk>"}


MODELS: dict[str, Callable[[Random, str], dict[str, Any]]] = {
    "bpe": bpe,
    "unigram": unigram,
    "wordpiece": wordpiece,
    "wordlevel": wordlevel,
}


def random_json(random: Random, model: str, alphabet: str) -> Tokenizer:
    made = MODELS[model](random, alphabet)
    added = []
    if random.random() < 0.3:
        content = random.choice(glued(random, list(alphabet), 4) or ["aa"])
        flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "special"), False)
        added = [{"id": 999, "content": content, "normalized": random.random() < 0.5, **flags}]
    return loaded(
        {
            "model": made,
            "normalizer": random.choice(NORMALIZERS),
            "pre_tokenizer": random.choice(PRE_TOKENIZERS),
            "added_tokens": added,
        }
    )


def random_bytes(random: Random, ranks: bool) -> tuple[Tokenizer, str]:
    """Byte-level BPE whose entries have partial characters: by ranks, or by merges in random order."""
    alphabet = random.choice(["é天a", "aéà", "a1é", "ab\n"])
    data = alphabet.encode() * 2
    contents = [bytes([byte]) for byte in range(256)]
    for _ in range(random.randint(2, 14)):
        at, size = random.randrange(len(data) - 1), random.randint(2, 5)
        contents += [data[at : at + size]] * (data[at : at + size] not in contents)
    pattern = random.choice(["none", "gpt2", "cl100k"])
    if ranks:
        ids = list(range(len(contents)))
        definition = Definition(
            Bpe(ranks="tokens", whole_first=True), pretokenizer=({"type": "Pattern", "name": pattern},)
        )
        return Tokenizer(definition, _core.Vocabulary(ids, [1] * len(ids), contents, [])), alphabet
    vocab = dict(enumerate(contents))
    ids = {content: id for id, content in vocab.items()}
    halves = [(content[:at], content[at:]) for content in contents[256:] for at in range(1, len(content))]
    pairs = [(ids[a], ids[b], ids[a + b]) for a, b in halves if a in ids and b in ids and random.random() < 0.7]
    random.shuffle(pairs)
    return Tokenizer.from_merges(vocab, pairs, pattern=pattern), alphabet


def seen_by_force(tok: Tokenizer, alphabet: str, longest: int) -> set[int]:
    seen: set[int] = set()
    for text in texts(alphabet, longest):
        try:
            seen.update(tok.encode(text))
        except JetonError:
            continue  # a text without an id for a character
    return seen


def check(tok: Tokenizer, alphabet: str, longest: int) -> tuple[np.ndarray, int]:
    """Returns the fates, and the number of undecided entries that a short text reaches."""
    reach = _core.Reachability(tok._core, 20_000)
    fates = np.frombuffer(reach.fates(), "<u4")
    seen = seen_by_force(tok, alphabet, longest)
    missed = 0
    for id in range(fates.size):
        fate = FATES[fates[id]]
        if fates[id] == REACHED:
            text = reach.text(id)
            assert text is not None
            assert id in tok.encode(text.decode()), (id, fate, text)
        else:
            assert reach.text(id) is None
            assert id not in seen or fate == "undecided", (id, fate, tok._core.content(id), tok.definition)
            missed += id in seen
    return fates, missed


@pytest.mark.parametrize("model", MODELS)
def test_reachability_agrees_with_all_short_texts(model: str) -> None:
    fates: list[np.ndarray] = []
    missed = 0
    for case in range(CASES):
        random = Random(f"{model} {case}")
        alphabet = random.choice(ALPHABETS)
        try:
            tok = random_json(random, model, alphabet)
        except JetonError:
            continue  # stages that do not combine
        found, few = check(tok, alphabet, 5)
        fates.append(found)
        missed += few
    joined = np.concatenate(fates)
    assert len(fates) >= CASES // 2
    assert missed <= 0.05 * joined.size
    assert np.count_nonzero(joined == REACHED) > 0
    assert np.count_nonzero(joined >= SPELLING) > 0


def test_reachability_with_a_prefix_space_agrees_with_all_short_texts() -> None:
    byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    fates: list[np.ndarray] = []
    missed = 0
    for case in range(CASES // 2):
        random = Random(f"prefix {case}")
        last, mark = random.choice([(byte_level, "Ġ"), (metaspace, "▁")])
        first = random.choice(
            [{"type": "WhitespaceSplit"}, {"type": "Punctuation"}, {"type": "Digits", "individual_digits": True}]
        )
        normalizer = random.choice(
            [None, {"type": "Replace", "pattern": {"String": random.choice(" ▁")}, "content": "a"}]
        )
        made = bpe(random, f"a{mark}1")
        stages = {"type": "Sequence", "pretokenizers": random.choice([[first, last], [last]])}
        tok = loaded({"model": made, "normalizer": normalizer, "pre_tokenizer": stages})
        found, few = check(tok, "a 1▁" if mark == "▁" else "a 1", 5)
        fates.append(found)
        missed += few
    joined = np.concatenate(fates)
    assert missed <= 0.02 * joined.size
    assert np.count_nonzero(joined >= SPELLING) > 0


@pytest.mark.parametrize("ranks", [True, False])
def test_entries_with_partial_characters_agree_with_all_short_texts(ranks: bool) -> None:
    fates: list[np.ndarray] = []
    missed = 0
    for case in range(CASES // 4):
        tok, alphabet = random_bytes(Random(f"bytes {ranks} {case}"), ranks)
        found, few = check(tok, alphabet, 5)
        fates.append(found)
        missed += few
    joined = np.concatenate(fates)
    assert np.count_nonzero(joined == FATES.index("merges")) > 0
    assert missed == 0
    assert np.count_nonzero(joined == UNDECIDED) <= 0.01 * joined.size
