"""Named tokenizers have the roles, the template and the chat template of their publisher."""

from __future__ import annotations

import hashlib
import lzma
import os
import pickle
from base64 import b64encode
from pathlib import Path

import pytest
from tools.named_table import PUBLISHED, rows

import jeton
from jeton.chat import PRESETS
from jeton.errors import UnknownTokenError
from jeton.formats import tiktoken as reader
from jeton.formats.registry import REGISTRY, KnownRankFile

from ..selection import rest_is_slow

RANKS = b"".join(b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256))
SPECIAL = {"<|begin_of_text|>": 256, "<|start_header_id|>": 257, "<|end_header_id|>": 258, "<|eot_id|>": 259}
KNOWN = KnownRankFile(
    "small",
    "https://example.com/small.tiktoken",
    hashlib.sha256(RANKS).hexdigest(),
    "gpt2",
    SPECIAL,
    roles={"bos": "<|begin_of_text|>"},
    prefix="<|begin_of_text|>",
    chat="llama3",
)
MESSAGES = [{"role": "user", "content": "hi"}]
DATA = Path(os.environ.get("JETON_TEST_DATA", ""))
needs_data = pytest.mark.skipif("JETON_TEST_DATA" not in os.environ, reason="JETON_TEST_DATA names no folder")


@pytest.fixture
def known_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A rank file that the registry knows by its content."""
    monkeypatch.setattr(reader, "by_content", {KNOWN.sha256: KNOWN}.get)
    path = tmp_path / "small.tiktoken"
    path.write_bytes(RANKS)
    return path


def test_a_known_file_is_complete(known_file: Path, tmp_path: Path) -> None:
    tok = jeton.load(known_file)
    assert (tok.roles, tok.bos_id) == ({"bos": "<|begin_of_text|>"}, 256)
    assert tok.encode("hi") == list(b"hi")  # the default adds nothing
    assert tok.encode("hi", add_special_tokens=True) == [256, *b"hi"]
    pair = tok.tokenize("h", "i", add_special_tokens=True)
    assert (pair.ids, pair.type_ids) == ([256, *b"h", 256, *b"i"], [0, 0, 1, 1])
    assert tok.definition.chat_template == PRESETS["llama3"].source
    assert tok.chat(MESSAGES).ids == tok.chat(MESSAGES, template="llama3").ids
    tok.save(tmp_path / "folder")
    for copy in (pickle.loads(pickle.dumps(tok)), jeton.load(tmp_path / "folder")):
        assert (copy, copy.roles, copy.definition.chat_template) == (tok, tok.roles, tok.definition.chat_template)


def test_arguments_of_load_replace_facts(known_file: Path) -> None:
    other = jeton.load(known_file, pattern="o200k")
    assert other.roles == jeton.load(known_file).roles
    own = jeton.load(known_file, special_tokens={"<|a|>": 300})
    assert (own.roles, own.definition.template, own.definition.chat_template) == ({}, None, None)


def test_roles_and_chat_template_leave_the_fingerprint() -> None:
    plain = reader.read(RANKS, source="", pattern="gpt2", special_tokens=SPECIAL)
    more = plain.with_roles(bos="<|begin_of_text|>").with_chat_template("llama3")
    assert more.fingerprint == plain.fingerprint


def test_a_missing_role_says_how_to_set_it() -> None:
    tok = reader.read(RANKS, source="", pattern="gpt2", special_tokens=SPECIAL)
    with pytest.raises(UnknownTokenError, match=r"no role 'eos' \(it has none\); tok.with_roles\(eos=…\) sets it"):
        tok.roles["eos"]
    roles = tok.with_roles(bos="<|begin_of_text|>").roles
    with pytest.raises(KeyError, match=r"no role 'eot' \(it has: bos\); the roles are bos, eos, unk"):
        roles["eot"]
    assert (roles.get("eos"), "eos" in roles, {**roles}) == (None, False, {"bos": "<|begin_of_text|>"})
    assert pickle.loads(pickle.dumps(roles)) == roles


@pytest.mark.parametrize("name", REGISTRY)
def test_facts_of_the_registry_equal_those_published(name: str) -> None:
    """Facts are those of the publisher; `tools/named_table.py` names their sources, and the reasons for omissions."""
    known, published = REGISTRY[name], PUBLISHED[name]
    assert known.roles == {role: token for role, token in published.roles.items() if role != "unk"}
    assert known.prefix == (published.prefix[0] if published.prefix else None)
    assert {*known.roles.values(), *([known.prefix] if known.prefix else [])} <= set(known.special_tokens)
    if known.chat is not None:
        assert set(PRESETS[known.chat].tokens) <= set(known.special_tokens)


def test_eos_is_the_token_that_tiktoken_names() -> None:
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)}
    names = [name for name, published in PUBLISHED.items() if "tiktoken" in published.source]
    assert names
    for name in names:
        known = REGISTRY[name]
        theirs = tiktoken.Encoding(name, pat_str=".", mergeable_ranks=ranks, special_tokens=dict(known.special_tokens))
        assert theirs.eot_token == known.special_tokens[known.roles["eos"]]


def test_the_table_of_the_docs_has_the_registered_facts() -> None:
    page = (Path(__file__).parents[2] / "docs" / "roles.md").read_text(encoding="utf-8")
    assert "\n".join(rows()) in page


@needs_data
@pytest.mark.parametrize(
    ("name", "vocabulary"),
    rest_is_slow(
        [("gpt2", "gpt-2"), ("llama3", "llama-bpe")],
        lambda case: case[0] == "gpt2",
        reason="decompresses and reads a vocabulary of 128,000 entries; that of GPT-2 stays",
    ),
)
def test_roles_equal_those_of_llama_cpp(name: str, vocabulary: str, tmp_path: Path) -> None:
    """llama.cpp's vocabularies are converted from the publishers' repositories."""
    path, packed = tmp_path / "model.gguf", DATA / "gguf" / f"{vocabulary}.gguf.xz"
    path.write_bytes(lzma.decompress(packed.read_bytes()))
    theirs = jeton.load(path)
    assert theirs.roles == REGISTRY[name].roles
    prefix = theirs.encode("hi", add_special_tokens=True)[: -len(theirs.encode("hi"))]
    assert [theirs.id_to_token(id) for id in prefix] == ([REGISTRY[name].prefix] if REGISTRY[name].prefix else [])


@needs_data
@pytest.mark.parametrize(
    "name",
    rest_is_slow(
        ["r50k_base", "cl100k_base", "o200k_base", "llama3"],
        lambda name: name == "r50k_base",
        reason="loads a vocabulary of 100,000 or more entries, twice; that of 50,000 stays",
    ),
)
def test_only_a_prefix_changes_the_fingerprint_of_a_named_file(name: str) -> None:
    """Roles and chat template leave the fingerprint of a named tokenizer; a prefix is part of it."""
    known, path = REGISTRY[name], DATA / "vocabs" / f"{name}.tiktoken"
    tok, bare = jeton.load(path), jeton.load(path, special_tokens=known.special_tokens)
    assert (tok.fingerprint == bare.fingerprint) is (known.prefix is None)
    assert tok.roles == known.roles
    prefix = [known.special_tokens[known.prefix]] if known.prefix else []
    assert tok.encode("hi", add_special_tokens=True) == [*prefix, *bare.encode("hi")]
