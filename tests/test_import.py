"""``import jeton`` is light: what is needed for some calls only is imported by them."""

from __future__ import annotations

import subprocess
import sys

import pytest

import jeton


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.parametrize(
    "name",
    [
        "numpy",
        "tqdm",
        "click",
        "jinja2",
        "regex",
        "tokenizers",
        "tiktoken",
        "transformers",
        "zstandard",
        "huggingface_hub",
        "urllib.request",
    ],
)
def test_importing_loads_none_of(name: str) -> None:
    assert run(f"import sys, jeton; print({name!r} in sys.modules)") == "False\n"


def test_encoding_and_decoding_lists_need_no_numpy() -> None:
    code = """
import sys, jeton
tok = jeton.Tokenizer.from_merges({97: b"a", 98: b"b", 256: b"ab"}, [(97, 98, 256)])
assert tok.decode(tok.encode("abba")) == "abba"
assert len(tok.tokenize("ab")) == tok.count("ab") == 1
assert str(tok.explain("ab"))
assert jeton.Tokenizer.from_bytes(tok.to_bytes()) == tok
print("numpy" in sys.modules, "click" in sys.modules)
"""
    assert run(code) == "False False\n"


def test_every_public_name_is_there() -> None:
    for name in jeton.__all__:
        assert getattr(jeton, name) is not None
    assert sorted(jeton.__all__) == jeton.__all__
    assert jeton.__version__.count(".") == 2
    visible = run("import jeton; print(*sorted(name for name in dir(jeton) if name[0].isupper()))").split()
    assert set(visible) <= set(jeton.__all__)


def test_warnings_at_import_are_none() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import jeton"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
