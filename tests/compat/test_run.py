"""`python -m jeton.compat.run`, the shims, and `jeton.compat.replace`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import jeton.compat
from jeton.errors import ConfigError
from tests.core_only import run_core_only

SHIMS = Path(jeton.compat.__file__).parent / "shims"
SCRIPT = """
import subprocess, sys
import tiktoken, tiktoken.load
from tiktoken.core import Encoding
import tiktoken_ext.openai_public
assert tiktoken.__name__ == "jeton.compat.tiktoken", tiktoken
ranks = {bytes([byte]): byte for byte in range(256)}
enc = Encoding("e", pat_str="(?s:.+)", mergeable_ranks=ranks, special_tokens={})
print(sys.argv[1:], __name__, enc.encode("hi"), enc.encode_batch(["a\\ud800"]))
try:
    tiktoken.Tokenizer
except AttributeError:
    pass
try:
    enc.vocabulary
except AttributeError:
    pass
try:
    import tiktoken.other
except ImportError:
    pass
code = "import tiktoken; print(tiktoken.__name__)"
print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip())
"""


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "jeton.compat.run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd, check=False)


@pytest.mark.parametrize("is_module", [False, True])
def test_a_script_runs_unchanged(tmp_path: Path, is_module: bool) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = run("tiktoken", *(["-m", "script"] if is_module else ["script.py"]), "--x", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == "['--x', '1'] __main__ [104, 105] [[97, 239, 191, 189]]"
    assert second == "jeton.compat.tiktoken"
    assert done.stderr.splitlines() == [
        "jeton.compat.tiktoken: fell back, 1 times: Encoding.encode_batch: lone surrogates: encoded one by one",
        "jeton.compat.tiktoken: missing, used 1 times: tiktoken.Tokenizer",
        "jeton.compat.tiktoken: missing, used 1 times: tiktoken.Encoding.vocabulary",
        "jeton.compat.tiktoken: missing, used 1 times: tiktoken.other",
    ]


def test_a_script_that_uses_sentencepiece(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SENTENCEPIECE)
    done = run("sentencepiece", "script.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["jeton.compat.sentencepiece [8, 4, 9, 10]", "jeton.compat.sentencepiece"]
    assert done.stderr.splitlines() == [
        "jeton.compat.sentencepiece: no call fell back",
        "jeton.compat.sentencepiece: missing, used 1 times: sentencepiece.SentencePieceProcessor.CalculateEntropy",
        "jeton.compat.sentencepiece: missing, used 1 times: sentencepiece.other",
    ]


SENTENCEPIECE = """
import io, subprocess, sys
import sentencepiece as spm
model = io.BytesIO()
spm.SentencePieceTrainer.train(
    sentence_iterator=iter(["low lower lowest"]), model_writer=model, vocab_size=13, model_type="bpe"
)
sp = spm.SentencePieceProcessor(model_proto=model.getvalue())
print(spm.__name__, sp.encode("lower"), flush=True)
if not hasattr(sp, "CalculateEntropy"):
    try:
        import sentencepiece.other
    except ImportError:
        pass
code = "import sentencepiece; print(sentencepiece.__name__)"
print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip())
"""


def test_exit_codes(tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("import tiktoken, sys; sys.exit(7)")
    assert run("tiktoken", "fails.py", cwd=tmp_path).returncode == 7
    for arguments in ((), ("tiktoken",), ("nothing", "fails.py"), ("tiktoken", "absent.py")):
        done = run(*arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert "usage" in done.stderr or "absent.py" in done.stderr


def test_the_shims_replace_the_library_in_any_process(tmp_path: Path) -> None:
    code = """
import tiktoken_ext.openai_public as public, tiktoken, tiktoken.load
print(public.gpt2, tiktoken.__name__, tiktoken.load.__name__)
"""
    path = os.pathsep.join([str(SHIMS), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, check=True
    )
    assert done.stdout.split()[-2:] == ["jeton.compat.tiktoken", "jeton.compat.tiktoken.load"]


def test_a_library_that_was_imported_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "tiktoken.py").write_text("")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import tiktoken, jeton.compat as c; c.replace('tiktoken')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "tiktoken has been imported already" in done.stderr
    with pytest.raises(ConfigError, match="no drop-in for 'nothing'"):
        jeton.compat.replace("nothing")


def test_only_the_core_dependencies_are_needed(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(ALONE)
    assert run_core_only(tmp_path, "script.py") == "[104, 105] hi uint32 [[104], []]\n"


ALONE = """
import jeton.compat
tiktoken = jeton.compat.replace("tiktoken")
import tiktoken_ext.openai_public
ranks = {bytes([byte]): byte for byte in range(256)}
enc = tiktoken.Encoding("e", pat_str="(?s:.+)", mergeable_ranks=ranks, special_tokens={})
ids = enc.encode("hi")
assert tiktoken.encoding_name_for_model("gpt-4o") == "o200k_base"
assert enc.encode_with_unstable("hi") and "cl100k_base" in tiktoken.list_encoding_names()
assert tiktoken._educational.SimpleBytePairEncoding.from_tiktoken(enc).encode("hi", visualise=None) == ids
print(ids, enc.decode(ids), enc.encode_to_numpy("hi").dtype, enc.encode_batch(["h", ""]))
"""


def test_the_original_is_never_imported() -> None:
    code = """
import sys
import jeton.compat.tiktoken as tiktoken
tiktoken.list_encoding_names()
import jeton.compat.tiktoken._educational
print(sorted(name for name in sys.modules if name.split(".")[0] == "tiktoken"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
