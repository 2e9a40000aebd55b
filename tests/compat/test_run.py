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


def run(*arguments: str, cwd: Path, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a program. `path`: folder of a library that replaces the installed one."""
    command = [sys.executable, "-m", "jeton.compat.run", *arguments]
    env = None if path is None else {**os.environ, "PYTHONPATH": str(path)}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd, env=env, check=False)


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
        "jeton.compat.tiktoken: no name is missing",  # tiktoken has none of those that the script looks up
    ]


def test_a_script_that_uses_sentencepiece(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SENTENCEPIECE)
    original = tmp_path / "libraries" / "sentencepiece"
    original.mkdir(parents=True)
    (original / "__init__.py").write_text(ORIGINAL)
    (original / "other.py").write_text("")
    done = run("sentencepiece", "script.py", cwd=tmp_path, path=original.parent)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["jeton.compat.sentencepiece [8, 4, 9, 10]", "jeton.compat.sentencepiece"]
    assert done.stderr.splitlines() == [
        "jeton.compat.sentencepiece: no call fell back",
        "jeton.compat.sentencepiece: missing, used 1 times: sentencepiece.SentencePieceProcessor.CalculateEntropy",
        "jeton.compat.sentencepiece: missing, used 1 times: sentencepiece.SentencePieceProcessor.calculate_entropy",
        "jeton.compat.sentencepiece: missing, used 1 times: sentencepiece.other",
    ]


ORIGINAL = """
raise ImportError("the original is imported")
class SentencePieceProcessor:
    def CalculateEntropy(self): ...
def _add_snake_case(kind): ...
"""
SENTENCEPIECE = """
import io, subprocess, sys
import sentencepiece as spm
model = io.BytesIO()
spm.SentencePieceTrainer.train(
    sentence_iterator=iter(["low lower lowest"]), model_writer=model, vocab_size=13, model_type="bpe"
)
sp = spm.SentencePieceProcessor(model_proto=model.getvalue())
print(spm.__name__, sp.encode("lower"), flush=True)
if not hasattr(sp, "CalculateEntropy") and not hasattr(sp, "calculate_entropy") and not hasattr(sp, "count_tokens"):
    try:
        import sentencepiece.other
    except ImportError:
        pass
code = "import sentencepiece; print(sentencepiece.__name__)"
print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip())
"""


WORKERS = """
import multiprocessing, os, subprocess, sys
from concurrent.futures import ProcessPoolExecutor

import tiktoken

def used(_):
    import sentencepiece, tiktoken, tiktoken.load, tiktoken_ext.openai_public
    return tiktoken.__name__, sentencepiece.__name__, used.__module__

if __name__ == "__main__":
    for method in sys.argv[1:]:
        context = multiprocessing.get_context(method)
        with ProcessPoolExecutor(1, mp_context=context) as executor:
            print(method, *next(executor.map(used, [0])))
        process = context.Process(target=print, args=("process",))
        process.start()
        process.join()
    sys.stdout.flush()
    if hasattr(os, "fork"):
        child = os.fork()
        if not child:
            sys.exit(0)
        os.waitpid(child, 0)
"""


@pytest.mark.parametrize("is_module", [False, True], ids=["script", "module"])
@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_workers_use_the_drop_in(tmp_path: Path, method: str, is_module: bool) -> None:
    import multiprocessing

    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this platform has no {method}")
    originals = tmp_path / "libraries"
    for library in ("tiktoken", "sentencepiece"):
        (originals / library).mkdir(parents=True)
        (originals / library / "__init__.py").write_text("")
    (originals / "tiktoken" / "load.py").write_text("")
    (tmp_path / "workers.py").write_text(WORKERS)
    program = ["-m", "workers"] if is_module else ["workers.py"]
    done = run("tiktoken", *program, method, cwd=tmp_path, path=originals)
    assert done.returncode == 0, done.stderr
    main = "__main__" if method == "fork" else "__mp_main__"
    assert done.stdout.splitlines() == [f"{method} jeton.compat.tiktoken sentencepiece {main}", "process"]
    assert done.stderr.splitlines() == [  # once, although a forked process also exits
        "jeton.compat.tiktoken: no call fell back",
        "jeton.compat.tiktoken: no name is missing",
    ]


def test_several_libraries_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "workers.py").write_text(WORKERS)
    done = run("tiktoken,sentencepiece", "workers.py", "spawn", cwd=tmp_path)
    assert done.stdout.splitlines()[0] == "spawn jeton.compat.tiktoken jeton.compat.sentencepiece __mp_main__"
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == [
        "jeton.compat.tiktoken", "jeton.compat.tiktoken", "jeton.compat.sentencepiece", "jeton.compat.sentencepiece",
    ]  # fmt: skip


CODE = """
import os, sys, tiktoken
print(__name__, tiktoken.__name__, sys.argv, sys.path[0], "__file__" in globals(), "annotations" in globals())
def f(x: undefined_name if False else int): ...
print(f.__annotations__, sys.modules["__main__"].f is f, flush=True)
code = "import tiktoken, sys; print(tiktoken.__name__, sys.argv)"
os.execv(sys.executable, [sys.executable, "-c", code, "x"])
"""


def test_code_of_the_command_line_uses_the_drop_in(tmp_path: Path) -> None:
    """Like the interpreter's option ``-c``; a program started by exec uses the drop-in, too."""
    done = run("tiktoken", "-c", CODE, "-m", "1", cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "__main__ jeton.compat.tiktoken ['-c', '-m', '1']  False False",
        "{'x': <class 'int'>} True",
        "jeton.compat.tiktoken ['-c', 'x']",
    ]
    failed = run("tiktoken", "-c", "1 /", cwd=tmp_path)
    assert failed.returncode == 1
    assert 'File "<string>", line 1' in failed.stderr


def test_a_program_runs_as_in_the_interpreter(tmp_path: Path) -> None:
    """Names in ``__main__``, arguments and path are equal, except for the drop-in's folder."""
    shown = (
        "import sys; names = {name: str(value) for name, value in globals().items() if name not in ('__builtins__', "
        "'__loader__', '__spec__', '__cached__', '__annotations__')}; "
        "print(names, __spec__ and __spec__.name, sys.argv, [at for at in sys.path if 'shims' not in at])"
    )
    package = tmp_path / "package"
    package.mkdir()
    for path in (tmp_path / "script.py", package / "__init__.py", package / "__main__.py"):
        path.write_text(shown)
    for program in (["script.py"], ["package"], ["-m", "package"], ["-c", shown]):
        done = run("tiktoken", *program, "a", cwd=tmp_path)
        plain = subprocess.run(
            [sys.executable, *program, "a"], capture_output=True, text=True, cwd=tmp_path, check=True
        )
        assert done.stdout == plain.stdout, done.stderr


def test_exit_codes_are_those_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("import tiktoken, sys; sys.exit(7)")
    assert run("tiktoken", "fails.py", cwd=tmp_path).returncode == 7
    for arguments in (
        (),
        ("tiktoken",),
        ("tiktoken", "-c"),
        ("nothing", "fails.py"),
        ("tiktoken,nothing", "fails.py"),
        ("tiktoken", "absent.py"),
    ):
        done = run(*arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert "usage" in done.stderr or "absent.py" in done.stderr


def test_the_shims_replace_the_library_in_any_process(tmp_path: Path) -> None:
    code = """
import tiktoken_ext.openai_public as public, tiktoken, tiktoken.load
print(public.gpt2, tiktoken.__name__, tiktoken.load.__name__)
"""
    path = os.pathsep.join([str(SHIMS / "tiktoken"), *sys.path])
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
