"""Rules of `jeton.audit` equal loops over all entries and short texts, on small random vocabularies."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from itertools import pairwise, product
from random import Random
from typing import Any

import pytest

import jeton
from jeton.tokenizer import Tokenizer

from ..selection import amount
from .test_audit_reach import loaded

CASES = amount(200, default=20)
UNITS = [b"a", b"A", b"1", b"7", b" ", b"\n", b"\t", b"\xe5\xa4\xa9", b"\xe5", b"\xa4\xa9", b"\xc3\xa9", b"e\xcc\x81"]
NORMALIZED = {"Lowercase": str.lower, "NFC": lambda text: unicodedata.normalize("NFC", text)}


def byte_level(random: Random) -> Tokenizer:
    """A tokenizer of all bytes and of merges of random units, with some unused ids."""
    vocab = {id: bytes([id]) for id in range(256)}
    merges = []
    for _ in range(random.randint(3, 14)):
        left, right = random.choices(list(vocab), k=2) if random.random() < 0.5 else (0, 0)
        units = [random.choice(UNITS) for _ in range(random.randint(1, 2))]
        content = vocab[left] + vocab[right] if left else b"".join(units)
        known = {entry: id for id, entry in vocab.items()}
        for end in range(2, len(content) + 1):  # from the left, so that each entry has a merge
            if content[:end] not in known:
                id = max(vocab) + random.randint(1, 3)
                vocab[id] = content[:end]
                known[content[:end]] = id
                merges.append((known[content[: end - 1]], content[end - 1], id))
    return Tokenizer.from_merges(vocab, merges)


def decoded(tok: Tokenizer) -> dict[int, bytes]:
    return {id: tok.id_to_bytes(id) for id in sorted(tok.get_vocab().values())}


def as_text(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def facts(found: jeton.analysis.Audit, rule: str, name: str) -> Any:
    return found[rule].facts[name] if rule in found else []


@pytest.mark.parametrize("seed", range(CASES))
def test_partial_characters_and_holes_equal_a_brute_force_search(seed: int) -> None:
    tok = byte_level(Random(seed))
    entries = decoded(tok)
    found = jeton.audit(tok, progress=False)
    parts = [id for id, content in entries.items() if as_text(content) is None]
    assert facts(found, "partial-characters", "ids") == parts
    whole = {id: text for id, content in entries.items() if (text := as_text(content)) is not None}

    free = sorted(set(range(tok.vocab_size)) - set(entries))
    starts = [id for id in free if id - 1 not in free]
    ends = [id for id in free if id + 1 not in free]
    assert facts(found, "holes", "runs") == list(zip(starts, ends, strict=True))

    by_length: dict[int, int] = defaultdict(int)
    for text in whole.values():
        if text.isascii() and text.isdigit():
            by_length[len(text)] += 1
    assert found["digits"].facts["entries_by_length"] == by_length

    white = [text for text in whole.values() if text.isspace()]
    # Python calls four separators white space that Unicode does not.
    white = [text for text in white if not set(text) & set("\x1c\x1d\x1e\x1f")]
    of_spaces = [text for text in white if not set(text) & set("\n\r\t")]
    measured = found["white-space"].facts
    assert measured["white_space_entries"] == len(white)
    assert measured["longest_run_of_spaces"] == max(map(len, of_spaces), default=0)
    assert measured["entries_with_newline"] == sum("\n" in text or "\r" in text for text in whole.values())
    assert measured["entries_with_tab"] == sum("\t" in text for text in whole.values())
    leading = [text for text in whole.values() if text[0] == " " and text[1:] and not text[1].isspace()]
    assert measured["words_with_leading_space"] == len(leading)

    split = {id for id, text in whole.items() if tok.encode(text) != [id]}
    reached = {id for text in whole.values() for id in tok.encode(text)}
    not_canonical = set(facts(found, "not-canonical", "ids"))
    assert not_canonical <= split
    assert split & reached <= not_canonical  # texts of entries alone are some of the texts that reach one


@pytest.mark.parametrize("name", NORMALIZED)
def test_duplicates_equal_a_brute_force_search(name: str) -> None:
    some = 0
    for seed in range(CASES):
        random = Random(seed)
        letters = ["a", "A", "é", "e\u0301", "É", "e"]
        words = {"".join(random.choices(letters, k=random.randint(1, 2))) for _ in range(12)}
        model = {
            "type": "WordLevel",
            "vocab": {word: id for id, word in enumerate(["<unk>", *sorted(words)])},
            "unk_token": "<unk>",
        }
        tok = loaded({"model": model, "normalizer": {"type": name}, "pre_tokenizer": {"type": "Whitespace"}})
        groups = defaultdict(list)
        for id, word in enumerate(["<unk>", *sorted(words)]):
            groups[NORMALIZED[name](word)].append(id)
        expected = sorted(ids for ids in groups.values() if len(ids) > 1)
        assert facts(jeton.audit(tok, progress=False), "duplicates", "groups") == expected, seed
        some += bool(expected)
    assert some > CASES // 4


def test_special_tokens_in_plain_text_equal_a_brute_force_search() -> None:
    some = 0
    for seed in range(CASES):
        random = Random(seed)
        entries = [["<unk>", 0.0], *([text, round(random.uniform(-4, -1), 2)] for text in "ab<>")]
        special = random.sample(["<a>", "<b>", "a<", "ab"], k=2)
        entries += [[text, round(random.uniform(-9, -1), 2)] for text in special if random.random() < 0.6]
        given = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        ids = {text: next((id for id, entry in enumerate(entries) if entry[0] == text), -1) for text in special}
        added = [{"id": id, "content": text, "special": True, **given} for text, id in ids.items() if id >= 0]
        model = {"type": "Unigram", "unk_id": 0, "vocab": entries, "byte_fallback": False}
        tok = loaded({"model": model, "added_tokens": added})
        texts = ("".join(chars) for size in range(1, 5) for chars in product("ab<>", repeat=size))
        seen = {id for text in texts for id in tok.encode(text)}
        expected = sorted(id for id in ids.values() if id in seen)
        assert facts(jeton.audit(tok, progress=False), "special-from-text", "ids") == expected, seed
        some += bool(added)
    assert some > CASES // 4


def test_entries_unused_on_a_corpus_equal_a_brute_force_search() -> None:
    for seed in range(CASES // 4):
        random = Random(seed)
        tok = byte_level(random)
        corpus = [b"".join(random.choices(UNITS, k=20)).decode("utf-8", "replace") for _ in range(5)]
        found = jeton.audit(tok, corpus, progress=False)
        used = {id for text in corpus for id in tok.encode(text)}
        unreached = {id for rule in ("unreachable", "undecided") for id in facts(found, rule, "ids")}
        unused = facts(found, "unused", "ids")
        assert unused == sorted(set(decoded(tok)) - used - unreached)
        assert all(a < b for a, b in pairwise(unused))
