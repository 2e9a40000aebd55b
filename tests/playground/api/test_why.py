"""``why``: the reasons on the page equal those computed from merges, scores and entries of published vocabularies."""

from __future__ import annotations

import json
import lzma
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.definition import Bpe
from jeton.playground.api.token import answer as token
from jeton.playground.api.why import answer
from jeton.playground.catalog import Catalog
from jeton.tokens.kinds import TOKEN, UNUSED

from ...material import tokenizer
from ...selection import rest_is_slow

TEXT = "banana aaaa internationalization, HTTPResponse isn't 12,345.67 naïve\n\t天气很好 今天天气 Größe мама 🦙🦙"
# name -> file in the folder of large data
VOCABULARIES = {
    "o200k": "vocabs/o200k_base.tiktoken",
    "gpt2": "vocabs/gpt2.vocab.bpe",
    "llama3": "vocabs/llama3.tiktoken",
    "qwen2": "gguf/qwen2.gguf.xz",
    "llama2": "gguf/llama-spm.gguf.xz",
    "mistral": "vocabs/mistral-v1.model",
    "phi3": "vocabs/phi-3-mini.tokenizer.json",
}


def opened(data: Path, file: str) -> tuple[Catalog, str]:
    """A playground with one unpacked file, or with GPT-2's two, and the key of its tokenizer."""
    content = (data / file).read_bytes()
    catalog = Catalog(cached=False)
    name = Path(file).name.removesuffix(".xz")
    files: Any = lzma.decompress(content) if file.endswith(".xz") else content
    if name == "gpt2.vocab.bpe":
        files = {"vocab.bpe": content, "encoder.json": (data / "vocabs" / "gpt2.encoder.json").read_bytes()}
    entry = catalog.add(name, files)
    return catalog, entry["key"]


def orders(tok: jeton.Tokenizer) -> tuple[Callable[[int, int], int | None], dict[int, int]]:
    """Two functions that do not use the core's merging: pair -> the order of its merge, or None; order -> its number
    among all, from 1.
    """
    model = tok.definition.model
    if isinstance(model, Bpe) and model.ranks == "merges":
        listed = {(left, right): rank for rank, (left, right, _) in enumerate(tok.merges)}
        return (lambda left, right: listed.get((left, right))), {rank: rank + 1 for rank in range(len(tok.merges))}
    contents = {id: tok._core.content(id) or b"" for id in tok.vocab if tok._core.kind(id) in (TOKEN, UNUSED)}
    found = {content: id for id, content in contents.items()}
    if isinstance(model, Bpe):
        order = {id: id for id in contents}
        numbered = sorted(id for id, content in contents.items() if len(content) > 1)
    else:
        scores = tok._core.scores()
        distinct = sorted({scores[id] for id in contents}, reverse=True)
        place = {score: index for index, score in enumerate(distinct)}
        order = {id: place[scores[id]] for id in contents}
        numbered = list(range(len(distinct)))

    def of_pair(left: int, right: int) -> int | None:
        if left not in contents or right not in contents:
            return None
        return order.get(found.get(contents[left] + contents[right], -1))

    return of_pair, {rank: number for number, rank in enumerate(numbered, start=1)}


def check_merges(facts: dict[str, Any], tok: jeton.Tokenizer) -> int:
    """Checks every step: the pair has the lowest order of all neighbors, and is the leftmost of its equals. Returns the
    number of steps.
    """
    order, numbers = orders(tok)
    steps = 0
    for pretoken in facts["pretokens"]:
        symbols = list(pretoken["start_ids"])
        lengths = pretoken.get("start_lengths") or [facts["names"][id][2] for id in symbols]
        starts = [sum(lengths[:index]) for index in range(len(symbols))]
        for merge in pretoken["merges"]:
            candidates = [(order(*pair), index) for index, pair in enumerate(pairwise(symbols))]
            possible = sorted((rank, index) for rank, index in candidates if rank is not None)
            rank, index = possible[0]
            assert (merge["left"], merge["right"]) == tuple(symbols[index : index + 2])
            assert merge["position"] == starts[index]
            assert merge["rank"] - facts["first_rank"] + 1 == numbers[rank]
            assert merge["num_rivals"] == len(possible) - 1
            listed = [numbers[rank] for rank, _ in possible]
            assert all(rival - facts["first_rank"] + 1 in listed for _, _, rival in merge["rivals"])
            symbols[index : index + 2] = [merge["result"]]
            del starts[index + 1]
            steps += 1
        assert not any(order(*pair) is not None for pair in pairwise(symbols)), "merging stops when nothing merges"
    return steps


def test_reasons_of_a_small_vocabulary() -> None:
    catalog = Catalog(cached=False)
    tok = tokenizer("byte gpt2")
    key = catalog.add("small.json", tok.to_bytes())["key"]
    facts = answer(catalog, {"tokenizer": key, "text": "the oldest tale, naïve"})
    assert check_merges(facts, tok) > 8
    assert (facts["first_rank"], facts["byte_fallback"], facts["continuing_prefix"]) == (0, False, "")


@pytest.mark.parametrize(
    "name", rest_is_slow(VOCABULARIES, lambda name: name in ("gpt2", "llama2"), "a format of each way to order merges")
)
def test_the_pair_that_merges_was_learned_earliest(data: Path, name: str) -> None:
    catalog, key = opened(data, VOCABULARIES[name])
    tok = catalog.get(key)
    facts = answer(catalog, {"tokenizer": key, "text": TEXT})
    assert check_merges(facts, tok) > 40
    assert [id for pretoken in facts["pretokens"] for id in pretoken["ids"]] == tok.encode(TEXT)
    for pretoken in facts["pretokens"]:
        for merge in pretoken["merges"]:
            shown = token(catalog, {"tokenizer": key, "id": merge["result"]})
            assert shown["first_rank"] == facts["first_rank"]


def test_merge_numbers_of_a_rank_file_and_of_a_list_are_the_same(data: Path) -> None:
    """In the two formats of GPT-2's vocabulary, ranks differ by 256, and merge numbers are equal."""
    steps = []
    for file in ("vocabs/gpt2.vocab.bpe", "vocabs/r50k_base.tiktoken"):
        catalog, key = opened(data, file)
        facts = answer(catalog, {"tokenizer": key, "text": TEXT})
        merges = [merge for pretoken in facts["pretokens"] for merge in pretoken["merges"]]
        steps.append([(merge["result"], merge["rank"] - facts["first_rank"] + 1) for merge in merges])
    assert steps[0] == steps[1]
    assert min(number for _, number in steps[0]) >= 1


def test_the_longest_entry_matches(data: Path) -> None:
    catalog, key = opened(data, "vocabs/bert-uncased.vocab.txt")
    entries = {catalog.get(key).id_to_token(id) for id in range(len(catalog.get(key)))}
    text = "unaffable tokenizers, naïve zzyzx ☃"
    facts = answer(catalog, {"tokenizer": key, "text": text})
    assert facts["continuing_prefix"] == "##"
    for pretoken in facts["pretokens"]:
        word = bytes.fromhex(pretoken["hex"]).decode()
        at = 0
        for start, end, id in pretoken["attempts"]["found"]:
            start, end = (len(bytes.fromhex(pretoken["hex"])[:place].decode()) for place in (start, end))
            prefix = "##" if start else ""
            assert start == at
            assert prefix + word[start:end] in entries
            assert not any(prefix + word[start:longer] in entries for longer in range(end + 1, len(word) + 1))
            assert catalog.get(key).id_to_token(id) == prefix + word[start:end]
            at = end
        stuck = pretoken["attempts"]["stuck_at"]
        assert (stuck is None) == (at == len(word))
        if stuck is not None:
            prefix = "##" if at else ""
            assert not any(prefix + word[at:end] in entries for end in range(at + 1, len(word) + 1))


@pytest.mark.parametrize("file", ["vocabs/t5-small.tokenizer.json", "vocabs/spm-unigram-en.model"])
def test_the_best_segmentation_has_the_highest_sum(data: Path, file: str) -> None:
    catalog, key = opened(data, file)
    facts = answer(catalog, {"tokenizer": key, "text": "internationalization of naïve weather 今天 weather"})
    for pretoken in facts["pretokens"]:
        lattice = pretoken["lattice"]
        length = len(bytes.fromhex(pretoken["hex"]))
        best = {0: 0.0}
        for start, end, _, score in sorted(lattice["edges"], key=lambda edge: (edge[0], edge[1])):
            best[end] = max(best.get(end, -math.inf), best[start] + score)
        assert lattice["best"]["score"] == pytest.approx(best[length], abs=1e-3)
        sums = [lattice["best"]["score"], *(other["score"] for other in lattice["others"])]
        assert sums == sorted(sums, reverse=True)
        lowest = min(catalog.get(key)._core.scores())
        unknown = [edge for edge in lattice["edges"] if edge[2] is None]
        assert all(edge[3] == pytest.approx(lowest - 10, abs=1e-3) for edge in unknown)
        assert len(pretoken["ids"]) <= len(lattice["best"]["edges"])  # consecutive unknown characters are one token


def test_of_equal_sums_the_longer_piece_at_the_end_wins() -> None:
    pieces = [["<unk>", 0], ["a", -1.0], ["bc", -2.0], ["ab", -2.0], ["c", -1.0], ["abc", -3.0], ["b", -1.0]]
    for most, ids in ((4, [1, 2]), (5, [5])):
        tok = jeton.Tokenizer.from_bytes(
            json.dumps({"model": {"type": "Unigram", "unk_id": 0, "vocab": pieces[: most + 1]}}).encode()
        )
        lattice = tok.explain("abc").pretokens[0].lattice
        assert lattice is not None
        assert [edge.id for edge in lattice.best.edges] == ids
        assert lattice.others[0].score == lattice.best.score
