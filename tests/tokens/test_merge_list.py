"""Entries and merges of `Tokenizer.from_merges` are checked."""

from __future__ import annotations

import re
from typing import Any

import pytest

import jeton
from jeton._core import Vocabulary
from jeton.definition import Definition
from jeton.tokens.kinds import MAX_ID, TOKEN
from jeton.tokens.merge_list import _check_ids

VOCAB = {97: b"a", 98: b"b", 256: b"ab"}


class Id(int):
    """An id of a class of the caller's."""


@pytest.mark.parametrize(
    "ids", [[], [0], [MAX_ID], [0, MAX_ID, 7], [Id(0)], [Id(MAX_ID)], [Id(3), 0, MAX_ID], range(5)]
)
def test_integers_in_range_are_ids(ids: Any) -> None:
    _check_ids("vocab", list(ids))


@pytest.mark.parametrize("others", [[], [0, MAX_ID], [Id(0)]])
@pytest.mark.parametrize(
    "id", [-1, MAX_ID + 1, Id(-1), Id(MAX_ID + 1), True, False, "7", 7.0, None, b"7", (7,)], ids=repr
)
def test_other_values_are_no_ids(id: Any, others: list[Any]) -> None:
    with pytest.raises(
        jeton.ConfigError, match=re.escape(f"vocab: {id!r} is not an id: expected an integer from 0 to ")
    ):
        _check_ids("vocab", [*others, id, *others])


@pytest.mark.parametrize("id", [-1, MAX_ID + 1, True, "7", 7.5], ids=repr)
@pytest.mark.parametrize("option", ["vocab", "merges", "special_tokens"])
def test_the_argument_with_a_wrong_id_is_named(option: str, id: Any) -> None:
    vocab = {**VOCAB, id: b"c"} if option == "vocab" else VOCAB
    merges = [(97, 98, 256), (97, id, 256)] if option == "merges" else [(97, 98, 256)]
    special_tokens = {"<s>": 300, "<e>": id} if option == "special_tokens" else {"<s>": 300}
    with pytest.raises(jeton.ConfigError, match=re.escape(f"{option}: {id!r} is not an id")) as caught:
        jeton.Tokenizer.from_merges(vocab, merges, special_tokens=special_tokens)
    assert caught.value.option == option


@pytest.mark.parametrize(
    ("vocab", "merges", "message"),
    [
        ([(97, b"a")], [], "vocab="),
        ({97: "a"}, [], "vocab[97]='a' is not bytes"),
        (VOCAB, {97: 98}, "merges[0]=97 is not a tuple (left id, right id, new id)"),
        (VOCAB, [(97, 98, 256), (97, 98)], "merges[1]=(97, 98) is not a tuple (left id, right id, new id)"),
        (VOCAB, [(97, 98, 256, 0)], "merges[0]=(97, 98, 256, 0) is not a tuple"),
        (VOCAB, [[97, 98, 256]], "merges[0]=[97, 98, 256] is not a tuple"),
        (VOCAB, 7, "merges=7 is not a list of tuples (left id, right id, new id)"),
    ],
)
def test_entries_and_merges_of_other_types_are_refused(vocab: Any, merges: Any, message: str) -> None:
    with pytest.raises(jeton.ConfigError, match=re.escape(message)):
        jeton.Tokenizer.from_merges(vocab, merges)


def test_the_limit_of_ids_is_that_of_the_core() -> None:
    Definition().build(Vocabulary([MAX_ID], [TOKEN], [b"a"], []))
    with pytest.raises(jeton.ConfigError, match=f"id {MAX_ID + 1} is over the highest possible id, {MAX_ID}"):
        Definition().build(Vocabulary([MAX_ID + 1], [TOKEN], [b"a"], []))


def test_an_id_of_an_entry_and_of_a_special_token_is_refused() -> None:
    with pytest.raises(jeton.ConfigError, match="id 97 is given both to an entry of vocab and to a special token"):
        jeton.Tokenizer.from_merges(VOCAB, [], special_tokens={"<s>": 98, "<e>": 97, "<x>": 300})
    tok = jeton.Tokenizer.from_merges(VOCAB, iter([(97, 98, 256)]), special_tokens={"<s>": 300})
    assert tok.encode("ab<s>", special="all") == [256, 300]
