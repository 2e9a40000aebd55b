"""`jeton.compat.tokenizers` in threads and processes, and pickles exchanged with the original."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import jeton.compat.tokenizers as ours

theirs = pytest.importorskip("tokenizers", reason="tokenizers is a test dependency")

VOCAB = {token: id for id, token in enumerate(["[UNK]", "[CLS]", "[SEP]", *"lower", "low", "new", "##er"])}
TEXTS = ["low lower <x>", "new", "LOW new low <x> low"]


def made(library: Any) -> Any:
    """A tokenizer with each kind of component."""
    tok = library.Tokenizer(library.models.WordPiece(VOCAB, unk_token="[UNK]"))
    tok.normalizer = library.normalizers.Sequence([library.normalizers.NFC(), library.normalizers.Lowercase()])
    tok.pre_tokenizer = library.pre_tokenizers.Split(library.Regex(r"\s+"), "removed")
    tok.post_processor = library.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tok.decoder = library.decoders.WordPiece()
    tok.add_tokens([library.AddedToken("<x>", lstrip=True)])
    tok.enable_truncation(5, stride=1)
    tok.enable_padding(pad_id=9)
    return tok


def objects(library: Any) -> list[Any]:
    """One object of each class that can be pickled."""
    tok = made(library)
    models, parts = library.models, library.pre_tokenizers
    return [
        *(tok, tok.normalizer, tok.pre_tokenizer, tok.post_processor, tok.decoder, tok.model, tok.encode(TEXTS[0])),
        *(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]), models.Unigram([("a", -1.0)], 0), models.WordLevel()),
        *(parts.Metaspace(), parts.ByteLevel(), library.normalizers.Replace("a", "b"), library.decoders.CTC()),
        *(library.AddedToken("<x>", lstrip=True), library.processors.RobertaProcessing(("a", 1), ("b", 2))),
        *(library.trainers.BpeTrainer(), library.trainers.UnigramTrainer()),
    ]


def columns(encodings: Any) -> list[Any]:
    """All columns of encodings."""
    return [json.loads(each.__getstate__()) for each in encodings]


# ── pickles ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_states_are_equal_and_load_in_the_other_library() -> None:
    for own, other in zip(objects(ours), objects(theirs), strict=True):
        if isinstance(own, ours.trainers.Trainer):  # the original's repr has the order of a hash table
            continue
        state = own.__getstate__()
        assert state == other.__getstate__()
        shown = repr(own)
        assert repr(other) == shown
        if type(own).__name__ != "Replace":  # the original cannot create an empty object to set its state
            other.__setstate__(state)
        assert repr(other) == shown
        own.__setstate__(state)
        assert repr(own) == shown
        again = pickle.loads(pickle.dumps(own))
        assert type(again) is type(own)
        assert repr(again) == shown


READER = """
import pickle, sys
import jeton.compat
jeton.compat.replace("tokenizers")
with open(sys.argv[1], "rb") as file:
    made = [pickle.loads(each) for each in pickle.load(file)]
print([type(each).__module__.partition("tokenizers")[0] for each in made])
print([each.ids for each in made[0].encode_batch(["low lower <x>"])])
"""


@pytest.mark.slow(reason="imports NumPy in another interpreter; states of both libraries are compared in this one")
def test_pickles_of_the_original_load_under_its_name(tmp_path: Path) -> None:
    given = objects(theirs)
    data = [pickle.dumps(each) for each in given if type(each).__name__ != "Replace"]
    path = tmp_path / "objects.pickle"
    path.write_bytes(pickle.dumps(data))
    done = subprocess.run([sys.executable, "-c", READER, str(path)], capture_output=True, text=True, check=True)
    modules, ids = done.stdout.splitlines()
    assert json.loads(modules.replace("'", '"')) == ["jeton.compat."] * len(data)
    assert json.loads(ids) == [each.ids for each in given[0].encode_batch(["low lower <x>"])]


# ── processes ────────────────────────────────────────────────────────────────────────────────────────────────────────

PROGRAM = """
import jeton.compat
jeton.compat.replace("tokenizers")
import multiprocessing, sys
from tokenizers import Tokenizer, models

def work(tok, text):
    return tok.encode(text).tokens

if __name__ == "__main__":
    tok = Tokenizer(models.WordLevel({"low": 0, "?": 1}, unk_token="?"))
    first = tok.encode("low")                   # its columns are computed in the child of a fork
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print(pool.apply(work, (tok, "low")), pool.apply(work, (tok, "new")), pool.apply(len, (first,)), first.tokens)
"""


@pytest.mark.slow(reason="two interpreters; pickles and a fork are tested in this one")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_receive_tokenizers(method: str, tmp_path: Path) -> None:
    import multiprocessing

    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("not on this system")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run([sys.executable, str(path), method], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["['low']", "['?']", "1", "['low']"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="not on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_encodes_and_changes() -> None:
    tok = made(ours)
    held = tok.encode_batch(TEXTS)
    expected = columns(made(ours).encode_batch(TEXTS))
    stops = threading.Event()

    def work() -> None:
        while not stops.is_set():
            tok.encode_batch(TEXTS)
            tok.post_processor = tok.post_processor

    worker = threading.Thread(target=work)
    worker.start()
    codes = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            tok.add_tokens(["<y>"])
            os._exit(0 if columns(held) == expected == columns(tok.encode_batch(TEXTS)) else 1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    stops.set()
    worker.join()
    assert codes == [0] * 3


# ── threads ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def switch(tok: Any, library: Any, turn: int) -> None:
    """Changes a tokenizer to one of two states."""
    if turn % 2:
        tok.no_truncation()
        tok.no_padding()
    else:
        tok.enable_truncation(5, stride=1)
        tok.enable_padding(pad_id=9)
    tok.normalizer = None if turn % 2 else library.normalizers.Lowercase()


def test_calls_read_a_state_once_while_others_change_it() -> None:
    tok, valid = made(ours), set()
    for turns in ((0, 0), (0, 1), (1, 0), (1, 1)):  # settings and normalizer change in two steps
        other = made(theirs)
        switch(other, theirs, turns[0])
        other.normalizer = None if turns[1] else theirs.normalizers.Lowercase()
        for pads, cuts in ((other.padding, other.truncation), (other.padding, None), (None, other.truncation)):
            other.no_padding() if pads is None else other.enable_padding(**pads)
            other.no_truncation() if cuts is None else other.enable_truncation(**cuts)
            valid.add(json.dumps(columns(other.encode_batch(TEXTS))))
    found: set[str] = set()

    def work() -> None:
        for _ in range(60):
            found.add(json.dumps(columns(tok.encode_batch(TEXTS))))

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for turn in range(60):
        switch(tok, ours, turn)
    for worker in workers:
        worker.join()
    assert found <= valid


@pytest.mark.parametrize("name", ["encode", "encode_batch"])
def test_results_keep_the_state_of_their_call(name: str) -> None:
    def run(library: Any) -> Any:
        tok = made(library)
        found = [tok.encode(text) for text in TEXTS] if name == "encode" else tok.encode_batch(TEXTS)
        tok.normalizer = None
        tok.post_processor.single = "$A"
        tok.decoder.prefix = "@@"
        tok.model.unk_token = "[CLS]"
        tok.add_tokens(["low", "new"])
        tok.no_padding()
        return columns(found)

    assert run(ours) == run(theirs)
