"""`AddedToken`: flags of added tokens, from the caller to the core and to files."""

from __future__ import annotations

import json
from typing import Any

import pytest

import jeton
from jeton import AddedToken
from jeton._core import Vocabulary
from jeton.definition import Definition
from jeton.tokens.added import FLAGS, model_entries, with_added_tokens
from jeton.tokens.kinds import TOKEN

from ..material import byte_tokenizer

BYTES = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_is_kept(flag: str) -> None:
    token = AddedToken("<x>", special=False, **{flag: True})
    tok = BYTES.add_tokens([token, "<y>"])
    assert tok.added_tokens == {256: token, 257: AddedToken("<y>")}
    again = jeton.Tokenizer.from_bytes(tok.to_bytes())
    assert again.added_tokens == tok.added_tokens
    facts = json.loads(tok.to_bytes())["added_tokens"][0]
    assert {name: facts[name] for name in FLAGS} == {name: name == flag for name in FLAGS}
    assert (token.is_exact, AddedToken("<y>").is_exact) == (False, True)


def test_ascii_space_is_a_flag_of_its_own() -> None:
    tokens = [
        AddedToken("<x>", lstrip=True, ascii_space=True),
        AddedToken("<y>", rstrip=True),
        AddedToken("<z>", ascii_space=True),
    ]
    tok = BYTES.add_tokens(tokens)
    assert list(tok.added_tokens.values()) == tokens
    assert [token.is_exact for token in tokens] == [False] * 3
    wide = "\u3000"
    assert tok.encode(f"a{wide} \t<x>", special="all") == [97, *wide.encode(), 256]
    assert tok.encode(f"<y> {wide}a", special="all") == [257, 97]
    assert tok.encode(" <z> ", special="all") == [32, 258, 32]


def test_flags_control_matching() -> None:
    tok = BYTES.add_tokens([AddedToken("<m>", lstrip=True), AddedToken("cat", special=False, single_word=True)])
    assert tok.encode("a <m>b", special="all") == [97, 256, 98]
    assert tok.encode("cat cats") == [257, 32, *b"cats"]


def test_a_token_that_becomes_special_keeps_its_flags() -> None:
    tok = BYTES.add_tokens([AddedToken("<m>", special=False, rstrip=True)])
    assert tok.add_tokens(["<m>"], special=False) is tok
    assert tok.add_tokens(["<m>"]).added_tokens == {256: AddedToken("<m>", rstrip=True)}
    assert tok.add_tokens([AddedToken("<m>")]).added_tokens == {256: AddedToken("<m>")}


def test_a_special_token_that_the_model_has_keeps_its_id() -> None:
    tok = BYTES.add_tokens(["a", "<x>"])
    assert tok.added_tokens == {97: AddedToken("a"), 256: AddedToken("<x>")}
    assert tok.encode("ab", special="all") == [97, 98]
    assert model_entries(tok._core) == []


def test_tokens_that_exist_are_not_added_again() -> None:
    tok = byte_tokenizer((32, 97, 256)).add_tokens(["<x>", "<x>", AddedToken("<n>", special=False), "<n>"])
    assert tok.added_tokens == {257: AddedToken("<x>"), 258: AddedToken("<n>", special=False)}
    assert tok.add_tokens(["<x>"]) is tok
    assert tok.add_tokens([AddedToken("<x>", lstrip=True)]) is tok
    assert tok.add_tokens([AddedToken("<n>", special=False), AddedToken(" a", special=False)]) is tok
    assert tok.add_tokens([AddedToken(" a")]).added_tokens[259] == AddedToken(" a")  # ` a` is spelled Ġa in files
    assert tok.add_tokens([AddedToken("a")]).added_tokens[97] == AddedToken("a")


def test_an_added_token_that_is_an_entry_stays_an_entry() -> None:
    file = json.loads(BYTES.to_bytes())
    del file["model"]["jeton"]
    file["added_tokens"] = [{"id": file["model"]["vocab"]["a"], "content": "a", "special": False}]
    tok = jeton.Tokenizer.from_bytes(json.dumps(file).encode())
    assert tok.added_tokens == {97: AddedToken("a", special=False)}
    assert model_entries(tok._core) == [97]


@pytest.mark.parametrize(("token", "is_kept"), [(AddedToken("a", special=False), True), (AddedToken("a"), False)])
def test_an_entry_is_kept_if_its_added_token_is_not_special(token: AddedToken, is_kept: bool) -> None:
    vocabulary = Vocabulary([97, 98], [TOKEN] * 2, [b"a", b"b"], [])
    for entries in ((), {97}, [98, 97], [98]):
        core = Definition().build(with_added_tokens(vocabulary, [(97, token)], entries))
        assert model_entries(core) == [97] * (is_kept and 97 in entries)


def test_added_tokens_are_ordered_by_id_and_read_only() -> None:
    tok = jeton.Tokenizer.from_merges({97: b"a"}, [], special_tokens={"<z>": 300, "<b>": 5})
    assert list(tok.added_tokens) == [5, 300]
    with pytest.raises(TypeError):
        tok.added_tokens[7] = AddedToken("<x>")  # type: ignore[index]


def test_two_tokens_of_one_id_are_refused() -> None:
    with pytest.raises(jeton.ConfigError, match="300"):
        jeton.Tokenizer.from_merges({97: b"a"}, [], special_tokens={"<a>": 300, "<b>": 300})


@pytest.mark.parametrize(
    ("facts", "option"),
    [({"content": ""}, "content"), ({"content": b"x"}, "content"), ({"content": "x", "lstrip": 1}, "lstrip")],
)
def test_an_invalid_token_is_refused(facts: dict[str, Any], option: str) -> None:
    with pytest.raises(jeton.ConfigError, match=option):
        AddedToken(**facts)
