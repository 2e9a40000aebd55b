"""The comparison of `tools/parity_table.py`, on few strings: vocabularies inside wheels, and the data folder's."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tools.parity import catalog, job
from tools.parity.compare import Difference, Refusal, shrink, untiled
from tools.parity.page import render
from tools.parity.peers import Mode, Peer
from tools.parity.texts import GENERATED

import jeton
from tests.selection import amount

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

pytestmark = pytest.mark.filterwarnings("ignore")  # ignore warnings of peers at import

DATA = os.environ.get("JETON_TEST_DATA")
IN_WHEELS = {vocab.name: vocab for vocab in catalog.of_wheels()}
IN_DATA = {vocab.name: vocab for vocab in catalog.of_data(Path(DATA))} if DATA else {}
STRINGS = amount(500, default=40)
STRINGS_OF_WHEELS = amount(3_000, default=40)


def differences(vocab: catalog.Vocabulary, strings: int) -> list[Any]:
    """Tallies that count a difference, and libraries that do not load."""
    tok, peers = job.opened(vocab)
    assert not isinstance(tok, Refusal), str(tok)
    assert all(isinstance(peer, Peer) for peer in peers), [str(peer) for peer in peers]
    found = job.compare(tok, peers, None, GENERATED, strings)  # type: ignore[arg-type]
    assert {"ids", "spans"} <= {tally["check"] for tally in found}
    assert all(tally["compared"] + tally["refused"] + tally["both"] + tally["failed"] > 0 for tally in found)
    return [tally for tally in found if tally["differ"] or tally["failed"]]


@pytest.mark.parametrize("name", IN_WHEELS)
def test_vocabularies_inside_wheels_have_no_differences(name: str) -> None:
    assert differences(IN_WHEELS[name], STRINGS_OF_WHEELS) == []


@pytest.mark.parametrize("name", [name for name in IN_DATA if not name.startswith("hostile")])
def test_vocabularies_of_the_data_folder(name: str) -> None:
    assert differences(IN_DATA[name], STRINGS) == []


@pytest.mark.parametrize("name", [name for name in IN_DATA if name.startswith("hostile")])
def test_jeton_and_peers_refuse_hostile_files(name: str) -> None:
    tok, peers = job.opened(IN_DATA[name])
    assert isinstance(tok, Refusal)
    assert isinstance(tok.error, jeton.FormatError)
    assert all(isinstance(peer, Refusal) for peer in peers)


@pytest.mark.parametrize("package", ["bpe_openai", "mistral_common", "quicktok"])
def test_vocabularies_of_installed_wheels_are_compared(package: str) -> None:
    """bpe-openai is a test dependency; the others are compared where they are installed."""
    if package != "bpe_openai" and find_spec(package) is None:
        pytest.skip(f"{package} is not installed; its vocabularies are not compared (it brings Pillow, pydantic, …)")
    assert any(name.startswith(package.replace("_", "-")) for name in IN_WHEELS)


# ── the comparison itself ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def wrong() -> list[dict[str, Any]]:
    """A comparison with a peer that errs on one string, fails on another, and decodes without spaces."""
    tok = jeton.train(["low lower lowest"], vocab_size=260, pattern="gpt2", progress=False)

    def encode(texts: list[str]) -> list[list[int]]:
        if any("\x00" in text for text in texts):
            raise ValueError("no")
        return [[*tok.encode(text), 1] if "§" in text else tok.encode(text) for text in texts]

    peer = Peer(
        "wrong",
        (Mode("all", encode),),
        {False: lambda batch: [tok.decode(ids).replace(" ", "") for ids in batch]},
    )
    return job.compare(tok, [peer], None, GENERATED, 600)


def test_differences_from_a_wrong_peer_are_counted(wrong: list[dict[str, Any]]) -> None:
    ids, decode = (next(tally for tally in wrong if tally["check"] == check) for check in ("ids", "decode"))
    assert ids["differ"] > 0
    assert ids["examples"][0]["text"] == repr("§").encode("ascii", "backslashreplace").decode()
    assert ids["failed"] > 0
    assert ids["compared"] + ids["failed"] == 600
    assert decode["differ"] > 0
    assert all(tally["differ"] == 0 for tally in wrong if tally["check"] in ("spans", "bytes"))


def test_the_page_lists_differences(wrong: list[dict[str, Any]]) -> None:
    facts = {"date": "", "commit": "", "engine": "", "versions": [], "generated": 600, "deep": 600, "seed": 0}
    vocab = {"name": "v", "same_as": None, "error": None, "peer_errors": [], "results": {GENERATED: wrong}}
    refused = {"name": "r", "same_as": None, "error": "why", "peer_errors": ["because"], "results": {}}
    page = render(facts, [vocab, refused])
    differ = next(tally["differ"] for tally in wrong if tally["check"] == "ids")
    assert f"**{differ}** of" in page
    assert "'\\xa7'" in page
    assert "`why`" in page
    assert "refused by the library" in page


def test_shrink_keeps_the_difference() -> None:
    assert shrink("a" * 50 + "xy" + "b" * 50, lambda part: "x" in part and "y" in part) == "xy"


def test_untiled_finds_holes_and_overlaps(tok: jeton.Tokenizer) -> None:
    encoding = tok.tokenize("the old tale")
    assert untiled(encoding, "the old tale") is None
    assert "byte" in str(untiled(encoding, "the old tales"))
    spans = encoding.byte_spans
    assert "overlap" in str(untiled(replace(encoding, byte_spans=[spans[0], spans[0], *spans[2:]]), "the old tale"))
    assert "byte" in str(untiled(replace(encoding, byte_spans=[(0, 0), *spans[1:]]), "the old tale"))


def test_a_difference_is_plain_data() -> None:
    assert Difference("a", "b", "c").text == "a"
