"""After `warm_up`, calls import and build nothing; it changes no result."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import jeton

CODE = """
import sys, time
import jeton

def calls(tok):
    ids = tok.encode("Some other text, of 2 lines.\\nThe end.")
    return [
        ids, tok.encode(" a", " b", special="raise", add_special_tokens=True), tok.encode_array("more text").tolist(),
        tok.encode_batch(["a", "b c"], max_length=2, overflow=True, offsets=True).padded(pad_id=0).input_ids.tolist(),
        tok.tokenize("a text").char_spans, tok.count_batch(["x"]), tok.count_up_to("a b", 1), tok.truncate("a b c", 2),
        tok.split("One. Two. Three four.", 4, at="sentence"), tok.growing().append("x"), tok.stream().push(ids[0]),
        tok.decode(ids), tok.decode_batch([ids]),
        tok.chat([{"role": "user", "content": "x"}]).ids,
    ]
"""


def run(code: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "JETON_TABLES"}
    command = [sys.executable, "-c", CODE + code]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=environment).stdout


def test_later_calls_import_nothing() -> None:
    pytest.importorskip("jinja2")
    code = """
tok = jeton.load("default")
cold = {*sys.modules}
tok.warm_up()
warm = {*sys.modules}
calls(tok)
print({"numpy", "jinja2", "jeton.calls.cutting"} <= warm - cold, sorted({*sys.modules} - warm))
"""
    assert run(code) == "True []\n"


def test_counts_of_chats_need_no_package_later_without_a_template() -> None:
    code = """
tok = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, []).warm_up()
warm = {*sys.modules}
jeton.chat_count(tok, [{"role": "user", "content": "x"}])
print({*sys.modules} - warm)
"""
    assert run(code) == "{'jeton.chat.count'}\n"


@pytest.mark.alone
def test_warm_up_builds_tables() -> None:
    code = """
def took(call):
    start = time.process_time()
    call()
    return time.process_time() - start

tok, other = jeton.load("default").warm_up(), jeton.load("default").add_tokens(["<new>"])  # with a core of its own
warm, cold = min(took(tok._core.make_tables) for _ in range(3)), took(other._core.make_tables)
print(warm < cold / 10 or (warm, cold))
"""
    assert run(code) == "True\n"


def test_warm_up_changes_neither_results_nor_the_tokenizer() -> None:
    tok = jeton.train(["low lower lowest"] * 3, 262, pattern="gpt2", progress=False)
    texts = ["low lower", "newest", "", "a" * 1000]
    before = [tok.encode(text) for text in texts]
    fingerprint = tok.fingerprint
    assert tok.warm_up() is tok
    assert tok.warm_up().warm_up() is tok
    assert [tok.encode(text) for text in texts] == before
    assert tok.fingerprint == fingerprint


def test_tokenizers_without_support_for_all_calls_warm_up() -> None:
    few = jeton.Tokenizer.from_merges({97: b"a"}, [])  # only "a" can be encoded
    assert few.warm_up().encode("aa") == [97, 97]
    with pytest.raises(jeton.InvalidTextError):
        few.encode("b")
    nothing = jeton.Tokenizer.from_merges({}, [])
    assert nothing.warm_up().encode("") == []
    refusing = few.with_chat_template("{{ raise_exception('no messages') if messages[0].content != 'x' else 'a' }}")
    assert refusing.warm_up().chat([{"role": "user", "content": "x"}], tokenize=False) == "a"
