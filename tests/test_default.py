"""The default tokenizer: frozen ids, no file or network, and a recipe whose sources are all named."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tomllib
import zlib
from fractions import Fraction
from pathlib import Path

import pytest
from tools import train_default as recipe

import jeton
from jeton.chat import PRESETS
from jeton.formats import builtin

from .material import TRICKY

ROOT = Path(__file__).parents[1]
TOOLS = ROOT / "tools"

# A change of either changes ids, and needs a new major version.
FINGERPRINT = "j1:c43f59e9486e9caf4776a65040959b772d62b8646675a893ae8b231a2f719094"
RANKS_SHA256 = "81f5e156baea368b9b15caefc8bb4dbae10318509accff3d1d650780a9e198dd"


def test_ids_are_frozen() -> None:
    assert jeton.default().fingerprint == FINGERPRINT
    ranks = zlib.decompress(Path(builtin.FILE).read_bytes(), 31)
    assert hashlib.sha256(ranks).hexdigest() == RANKS_SHA256
    assert Path(builtin.FILE).stat().st_size < 1_000_000


def test_the_default_has_known_size_special_tokens_and_roles() -> None:
    tok = jeton.default()
    assert tok.vocab_size == len(tok) == 65_536
    assert sorted(tok.special_tokens.values()) == [*range(65_536 - 64, 65_536)]
    assert tok.roles == {"bos": "<|endoftext|>", "eos": "<|endoftext|>", "pad": "<|pad|>"}
    assert tok.encode("<|endoftext|>", special="all") == [65_472]
    assert len(tok.encode("<|endoftext|>")) > 1


def test_the_chat_template_is_chatml() -> None:
    assert PRESETS["chatml"].source == builtin.CHAT_TEMPLATE
    pytest.importorskip("jinja2")
    chat = jeton.default().chat([{"role": "user", "content": "hi"}])
    assert chat.text == "<|im_start|>user\nhi<|im_end|>\n"
    assert chat.ids[0] == jeton.default().special_tokens["<|im_start|>"]


@pytest.mark.parametrize("text", TRICKY)
def test_texts_round_trip(text: str) -> None:
    tok = jeton.default()
    assert tok.decode(tok.encode(text)) == text


def test_the_default_tokenizer_is_loaded_once_and_has_a_name() -> None:
    assert jeton.default() is jeton.default()
    assert jeton.load("default") is jeton.default()
    with pytest.raises(jeton.ConfigError, match="pattern= applies only to files without a pattern"):
        jeton.load("default", pattern="gpt2")


def test_a_file_of_its_name_is_preferred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = jeton.train(["low lower"], 258, progress=False)
    (tmp_path / "default").write_bytes(other.to_bytes())
    monkeypatch.chdir(tmp_path)
    assert jeton.load("default") == other


def test_the_default_tokenizer_needs_no_network_and_few_modules(tmp_path: Path) -> None:
    code = """
import socket, sys
def refuse(*_): raise AssertionError("network")
socket.socket.connect = refuse
import jeton
print(jeton.default().decode(jeton.default().encode("Grüße, 世界!")))
print(sorted({"numpy", "click", "urllib.request", "jeton.chat", "jeton.training"} & {*sys.modules}))
"""
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", "HOME": str(tmp_path)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, env=environment, cwd=tmp_path, timeout=60, check=True)
    assert done.stdout.decode().splitlines() == ["Grüße, 世界!", "[]"]


@pytest.mark.parametrize(("command", "shown"), [("encode", "17418"), ("count", "1"), ("explain", "hel+lo -> hello")])
def test_commands_need_neither_file_nor_network(command: str, shown: str, tmp_path: Path) -> None:
    code = """
import socket
def refuse(*_): raise AssertionError("network")
socket.socket.connect = socket.getaddrinfo = refuse
from jeton.cli import main
main()
"""
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", "HOME": str(tmp_path)}
    argv = [sys.executable, "-c", code, command, "hello"]
    done = subprocess.run(argv, capture_output=True, env=environment, cwd=tmp_path, timeout=60, check=True)
    assert shown in done.stdout.decode()
    assert done.stderr.decode().startswith("jeton: using the default tokenizer")


def test_the_default_tokenizer_is_saved_with_roles_and_chat_template(tmp_path: Path) -> None:
    tok = jeton.default()
    tok.save(tmp_path / "folder")
    again = jeton.load(tmp_path / "folder")
    assert again == tok
    assert again.roles == tok.roles
    assert again.definition.chat_template == tok.definition.chat_template


# ── the recipe ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_each_source_is_pinned_and_named() -> None:
    table = tomllib.loads((TOOLS / "default_sources.toml").read_text("utf-8"))
    notice = (ROOT / "NOTICE").read_text("utf-8")
    for archive in table["archives"]:
        assert re.fullmatch("[0-9a-f]{64}", archive["sha256"]), archive["file"]
        assert archive["texts"]
        assert f"- {archive['file']} ({archive['license']})" in notice
    assert sum(Fraction(str(share)) for share in table["shares"].values()) < 100


def test_catalogs_are_read_without_sources_and_fuzzy_entries() -> None:
    catalog = r"""
msgid ""
msgstr "Language: de\n"

#: a.py:1
msgid "one"
msgstr "eins"

#, fuzzy
msgid "two"
msgstr "zwo"

msgctxt "number"
msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d Datei"
msgstr[1] ""
"%d Dateien \"hier\""

#~ msgid "old"
#~ msgstr "alt"
"""
    assert recipe.read_catalog({}, catalog.encode()) == ["eins", '%d Datei\n%d Dateien "hier"']


def test_texts_are_grouped_and_occur_once() -> None:
    import io
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("x/en.json", '{"a": "one", "b": {"c": ["two"]}}')
        file.writestr("x/de_AT.json", '{"a": "eins", "b": {"c": ["two", "eins"]}}')
        file.writestr("x/a.py", "print()")
        file.writestr("x/min.py", "x" * 2000)
    texts = [
        {"path": r"x/(?P<language>\w+)\.json", "form": "json"},
        {"path": r"x/\w+\.py", "to": "code/python"},
    ]
    groups = recipe.collect([({"file": "a-1-py3-none-any.whl", "texts": texts}, out.getvalue())])
    assert groups == {"code/python": ["print()"], "de": ["eins"], "en": ["one", "two"]}


def test_weights_give_each_group_its_share() -> None:
    sizes = {"en": 4_000_000, "de": 1_000_000, "yo": 10_000, "ab": 100}
    weights = recipe.weigh(sizes, {"en": 50})
    assert min(weights.values()) == 1
    assert weights["yo"] / weights["de"] == pytest.approx(8, rel=0.1)  # the maximum; by square roots: 10
    assert weights["ab"] == weights["yo"]
