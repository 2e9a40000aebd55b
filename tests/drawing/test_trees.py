"""Trees of merges: against a plain recursion, of every kind of model, and of tokens too deep for recursion."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton.drawing import Tree, tree_to_html, tree_to_svg, tree_to_terminal
from jeton.drawing.trees import MAX_NODES

from ..material import KINDS, tokenizer

CHAIN = 5_000


def chain(length: int) -> jeton.Tokenizer:
    """A tokenizer whose longest token is a chain of merges: a, ab, abb, …"""
    vocab = {n: b"a" + b"b" * n for n in range(length)} | {length: b"b"}
    return jeton.Tokenizer.from_merges(vocab, [(n - 1, length, n) for n in range(1, length)])


def plain(tok: jeton.Tokenizer, id: int) -> object:
    """The tree of an id, nested, by the list of merges."""
    merges = {new: (left, right) for left, right, new in reversed(tok.merges)}
    return (id, [plain(tok, part) for part in merges[id]]) if id in merges else (id, [])


def nested(tree: Tree, place: int) -> object:
    node = tree.nodes[place]
    parts = [part for part in (node.left, node.right) if part is not None]
    return (node.id, [nested(tree, part) for part in parts])


def test_the_tree_of_a_token_follows_its_merges() -> None:
    tok = tokenizer("byte gpt2")
    for id in range(256, 256 + len(tok.merges)):
        tree = tok.tree(id)
        assert tree.note == ""
        (root,) = tree.roots
        assert nested(tree, root) == plain(tok, id)
        assert b"".join(tok.id_to_bytes(node.id) for node in tree.nodes if node.left is None) == tok.id_to_bytes(id)
        for node in tree.nodes:
            assert tok.id_to_bytes(node.id) == tok.id_to_bytes(id)[node.start : node.end]
            assert node.rank is None or tok.merges[node.rank][2] == node.id


@given(st.text(max_size=40))
def test_a_text_has_one_tree_for_each_token(text: str) -> None:
    tok = tokenizer("byte gpt2")
    explanation = tok.explain(text)
    for pretoken in explanation.pretokens:
        tree = explanation.tree(pretoken)
        assert [tree.nodes[root].id for root in tree.roots] == list(pretoken.ids)
        walked = [place for place, _ in tree.walk()]
        assert sorted(walked) == list(range(len(tree.nodes)))


@pytest.mark.parametrize("kind", KINDS)
def test_every_entry_of_every_kind_has_a_tree(kind: str) -> None:
    tok = tokenizer(kind)
    for id in tok.vocab:
        tree = tok.tree(id)
        data = tree.to_json()
        assert json.loads(json.dumps(data)) == data
        if len(tree.roots) == 1:
            assert tree.nodes[tree.roots[0]].id == id
        else:
            assert tree.note
        assert len(tree_to_terminal(tree, color=False).splitlines()) == len(tree.nodes) + bool(tree.note)


def test_an_entry_unreachable_by_merges_has_a_note() -> None:
    vocab = {97: b"a", 98: b"b", 99: b"c", 256: b"ab", 257: b"bc", 258: b"abc"}
    tok = jeton.Tokenizer.from_merges(vocab, [(98, 99, 257), (97, 98, 256), (256, 99, 258)])
    tree = tok.tree(258)
    assert tree.note == "id 258 is not reachable by merges: its bytes merge into 2 tokens"
    assert [tree.nodes[root].id for root in tree.roots] == [97, 257]


def test_special_tokens_and_models_without_merges_have_a_single_node() -> None:
    tok = jeton.Tokenizer.from_merges({97: b"a"}, [], special_tokens={"<|end|>": 300})
    assert tok.tree(300).note.startswith("a special token")
    assert [node.id for node in tok.tree(300).nodes] == [300]
    pieces = '{"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["ab", -2.0]]}}'
    assert jeton.Tokenizer.from_bytes(pieces.encode()).tree(1).note == "this model has no merges"
    with pytest.raises(jeton.UnknownTokenError):
        tok.tree(5)


def test_a_deep_tree_is_shown_in_part() -> None:
    tok = chain(CHAIN)
    tree = tok.tree(CHAIN - 1)
    assert (len(tree.nodes), tree.height) == (2 * CHAIN - 1, CHAIN - 1)
    assert len(json.dumps(tree.to_json())) < 4_000_000
    words = tree_to_terminal(tree, color=False)
    assert len(words.splitlines()) <= MAX_NODES + 1
    assert re.search(r"… 9,\d\d\d symbols (deeper|more)$", words)
    page = tree_to_html(tree)
    assert page.count("<ul>") == page.count("</ul>") < 40
    assert page.count("<li>") == page.count("</li>")
    assert tree_to_svg(tree).count("<rect") < 300


def test_a_character_cut_between_parts_is_named() -> None:
    tok = jeton.Tokenizer.from_merges(
        {byte: bytes([byte]) for byte in range(256)} | {256: "天".encode()[:2], 257: "天".encode()},
        [(0xE5, 0xA4, 256), (256, 0xA9, 257)],
    )
    assert tree_to_terminal(tok.tree(257), color=False) == (
        "天  id 257, rank 1\n├─ ⟨天 e5 a4⟩  id 256, rank 0\n│  ├─ ⟨天 e5⟩  id 229\n│  └─ ⟨a4⟩  id 164\n└─ ⟨a9⟩  id 169"
    )
    assert "\x1b[38;5;16;48;5;" in tree_to_terminal(tok.tree(257), color=True)


def test_hostile_entries_are_escaped() -> None:
    tok = jeton.Tokenizer.from_merges({60: b"<", 0x62: b"b", 256: b"<b"}, [(60, 0x62, 256)])
    assert "<b" not in tree_to_html(tok.tree(256)).replace("<b ", "")
    assert "&lt;b" in tree_to_html(tok.tree(256))
    assert "&lt;b" in tree_to_svg(tok.tree(256))


def test_trees_of_published_vocabularies(data: Path) -> None:
    folder = data / "vocabs"
    gpt2 = jeton.load(folder / "r50k_base.tiktoken")
    tree = gpt2.tree(gpt2.token_to_id(b" tokens"))
    assert [tree.looks[place].shown for place, _ in tree.walk()][:3] == ["·tokens", "·to", "·t"]
    mistral = jeton.load(folder / "mistral-v1.model")
    tree = mistral.tree(mistral.token_to_id("▁token"))
    assert tree.note == ""
    assert tree.looks[tree.roots[0]].shown == "▁token"


def test_a_tree_is_printed_as_lines() -> None:
    tok = tokenizer("byte gpt2")
    tree = tok.tree(tok.merges[-1][2])
    assert str(tree) == tree_to_terminal(tree, color=False)
    assert repr(tree) == f"Tree({len(tree.nodes)} nodes, 1 roots)"
