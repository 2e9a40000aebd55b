"""Tokenizers derived from tokenizers: for every derivation and default, all methods of the result agree."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

import jeton
from jeton.errors import SpecialTokenError
from jeton.tokenizer import Tokenizer
from jeton.tokens.added import AddedToken
from jeton.vocabulary import first_merges

CORPUS = ["low lower lowest new newer newest wide wider widest the wind and the rain " * 3]
TEXTS = ("", "low<a> lowest<b>", "<a>", "wind<c>rain", "a text without any of them", "new<b>" * 40)


def _template(bos: int, eos: int) -> dict[str, Any]:
    first, text, last = {"ids": [bos], "type_id": 0}, {"sequence": "A", "type_id": 0}, {"ids": [eos], "type_id": 0}
    return {"single": [first, text, last], "pair": None}


def _bytes() -> Tokenizer:
    tok = jeton.train(CORPUS, 300, pattern="gpt2", special_tokens=["<a>", "<b>"], progress=False)
    template = _template(tok.special_tokens["<a>"], tok.special_tokens["<b>"])
    return Tokenizer(replace(tok.definition, template=template), tok._core.vocabulary())


def _chars() -> Tokenizer:
    return jeton.train(CORPUS, 60, level="char", unk_token="<unk>", special_tokens=["<a>", "<b>"], progress=False)


def _unigram() -> Tokenizer:
    return jeton.train(CORPUS, 40, preset="unigram", progress=False).add_tokens(["<a>", "<b>"])


def _wordpiece() -> Tokenizer:
    return jeton.train(CORPUS, 80, preset="bert", progress=False).add_tokens(["<a>", "<b>"])


def _swapped(tok: Tokenizer) -> dict[int, int]:
    first, second = tok.special_tokens["<a>"], tok.special_tokens["<b>"]
    return {first: second, second: first}


def _other() -> Tokenizer:
    return jeton.train(["a quick brown fox " * 4], 270, pattern="gpt2", progress=False)


TOKENIZERS: dict[str, Callable[[], Tokenizer]] = {
    "bytes": _bytes,
    "chars": _chars,
    "unigram": _unigram,
    "wordpiece": _wordpiece,
}
OPTIONS: dict[str, dict[str, Any]] = {
    "none": {},
    "all": {"special": "all"},
    "raise": {"special": "raise"},
    "set": {"special": {"<a>"}},
    "list of all": {"special": ["<a>", "<b>"]},
    "template": {"add_special_tokens": True},
    "all with template": {"special": "all", "add_special_tokens": True},
    "back to none": {"special": "none"},
}
WAYS: dict[str, Callable[[Tokenizer], Tokenizer]] = {
    "itself": lambda tok: tok,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda tok: pickle.loads(pickle.dumps(tok)),
    "with_options": lambda tok: tok.with_options(),
    "with_roles": lambda tok: tok.with_roles(eos="<b>"),
    "with_chat_template": lambda tok: tok.with_chat_template("{{ messages[0].content }}"),
    "with_template": lambda tok: tok.with_template("<a> $A"),
    "add_tokens": lambda tok: tok.add_tokens(["<c>"]),
    "add_tokens, not special": lambda tok: tok.add_tokens([AddedToken("<c>", special=False)], special=False),
    "add_tokens, known": lambda tok: tok.add_tokens(["<a>"]),
    "prune": lambda tok: jeton.prune(tok, corpus=["low lower"]).tokenizer,
    "prune, same ids": lambda tok: jeton.prune(tok, corpus=["low lower"], compact=False).tokenizer,
    "renumber": lambda tok: jeton.renumber(tok, {5: 8, 8: 5, **_swapped(tok)}).tokenizer,
    "first_merges": lambda tok: first_merges(tok, tok.vocab_size - 5),
    "add_words": lambda tok: jeton.add_words(tok, ["slow"]).tokenizer,
    "extend": lambda tok: jeton.extend(tok, ["slow slower"], 1, progress=False).tokenizer,
    "merge_vocab": lambda tok: jeton.merge_vocab(tok, _other()).tokenizer,
}
BPE_ONLY = {"first_merges", "add_words", "extend", "merge_vocab"}


def _outcome(call: Callable[[], Iterable[int] | int]) -> Any:
    try:
        found = call()
    except SpecialTokenError as error:
        return type(error)
    return found if isinstance(found, int) else [int(id) for id in found]


def _verbs(tok: Tokenizer, text: str) -> dict[str, Any]:
    """Ids of a text by each method without options, or the number of tokens by counting methods."""

    def growing() -> list[int]:
        whole, ids = tok.growing(), list[int]()
        for start, stop in pairwise([*range(0, len(text), 3), len(text)]):
            kept, new = whole.append(text[start:stop])
            ids[kept:] = new
        return ids

    found = {
        "encode": lambda: tok.encode(text),
        "encode, bytes": lambda: tok.encode(text.encode()),
        "encode, errors": lambda: tok.encode(text, errors="replace"),
        "encode_array": lambda: tok.encode_array(text),
        "encode_array, threads": lambda: tok.encode_array(text, threads=2),
        "encode_batch": lambda: tok.encode_batch([text])[0],
        "encode_batch, offsets": lambda: tok.encode_batch([text], offsets=True)[0],
        "tokenize": lambda: tok.tokenize(text).ids,
        "tokenize_batch": lambda: tok.tokenize_batch([text])[0].ids,
    }
    counts = {
        "count": lambda: tok.count(text),
        "count_batch": lambda: tok.count_batch([text])[0],
        "count_up_to": lambda: tok.count_up_to(text, 10**6),
    }
    bare = {
        "growing": growing,
        "split": lambda: [
            id for chunk in tok.split(text, 10**6) for id in tok.encode(chunk.text, add_special_tokens=False)
        ],
        "explain": lambda: [id for step in tok.explain(text).to_json()["pretokens"] for id in step["ids"]],
    }
    return {
        **{name: _outcome(call) for name, call in found.items()},
        **{f"number: {name}": _outcome(call) for name, call in counts.items()},
        **{f"no template: {name}": _outcome(call) for name, call in bare.items()},
    }


def _expected(tok: Tokenizer, text: str, special: Any, *, adds: bool) -> dict[str, Any]:
    """Expected results, from explicit options on a tokenizer that was not derived."""
    fresh = Tokenizer(tok.definition, tok._core.vocabulary())
    bare = _outcome(lambda: fresh.encode(text, special=special, add_special_tokens=False))
    whole = _outcome(lambda: fresh.encode(text, special=special, add_special_tokens=adds))
    number = len(whole) if isinstance(whole, list) else whole
    results = {"number": number, "no template": bare}
    return {name: results.get(name.partition(":")[0], whole) for name in _verbs(fresh, "")}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", TOKENIZERS)
def test_methods_of_derived_tokenizers_agree(kind: str, way: str) -> None:
    if kind != "bytes" and way in BPE_ONLY:
        pytest.skip(f"{way} is for BPE at byte level")
    base = TOKENIZERS[kind]()
    for name, options in OPTIONS.items():
        tok = WAYS[way](base.with_options(special="all").with_options(**options) if options else base)
        special = options.get("special", "all") if options else "none"
        adds = options.get("add_special_tokens", False)
        if not isinstance(special, str):
            special = {token for token in special if token in tok.special_tokens}
        for text in TEXTS:
            assert _verbs(tok, text) == _expected(tok, text, special, adds=adds), (name, text)


def test_defaults_do_not_follow_the_callers_set() -> None:
    permitted = {"<a>"}
    tok = _bytes().with_options(special=permitted)
    before = tok.encode("<a><b>")
    permitted.add("<b>")
    assert tok.encode("<a><b>") == before
    assert hash(tok) == hash(pickle.loads(pickle.dumps(tok)))
