"""A file is the old one or the new one, whole, whatever happens."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import jeton
from jeton.atomic import write_atomically

from .material import tokenizer


def test_it_writes(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for content in (b"first", b"second, longer", b""):
        with write_atomically(path) as file:
            file.write(content)
            assert path.exists() == (content != b"first"), "nothing has the name before it is whole"
        assert path.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("error", [OSError("disk"), KeyboardInterrupt(), GeneratorExit(), SystemExit(1)], ids=repr)
def test_an_error_leaves_the_old_file(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")

    def fail() -> None:
        with write_atomically(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_a_folder_that_is_not_there(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    with pytest.raises(FileNotFoundError):
        tok.save(tmp_path / "missing" / "tokenizer.json")


def test_a_file_where_a_folder_is_wanted(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(OSError, match="file"):
        tok.save(tmp_path / "file" / "tokenizer.json")
    with pytest.raises(OSError, match="file"):
        tok.save(tmp_path / "file", format="folder")
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    with write_atomically(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_modes_are_kept_and_new_files_follow_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with write_atomically(path) as file:
        file.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    old = os.umask(0o027)
    try:
        with write_atomically(tmp_path / "b.txt") as file:
            file.write(b"new")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "b.txt").stat().st_mode) == 0o640


# The kernel refuses to write past the limit, as it does on a full disk; only another process can be limited so.
FULL_DISK = """
import errno, resource, sys
import jeton
tok = jeton.load(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
try:
    tok.save(sys.argv[2])
except OSError as error:
    print(error.errno == errno.EFBIG)
else:
    print("saved")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_FSIZE as Linux has it")
@pytest.mark.parametrize("name", ["tokenizer.json", "list.vocab", "folder"])
def test_a_disk_that_fills_leaves_the_old_file_whole(tmp_path: Path, name: str) -> None:
    other, target = tmp_path / "other.json", tmp_path / "out" / name
    tokenizer("byte gpt2").save(other)
    target.parent.mkdir()
    old = tokenizer("byte gpt4")
    old.save(target)
    files = sorted(path for path in target.parent.rglob("*") if path.is_file())
    before = [path.read_bytes() for path in files]
    run = [sys.executable, "-c", FULL_DISK, str(other), str(target), "2000"]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "True\n"
    assert [path.read_bytes() for path in files] == before
    assert sorted(path for path in target.parent.rglob("*") if path.is_file()) == files, "no rest is left behind"
    if name != "list.vocab":
        assert jeton.load(target) == old


def test_a_full_disk_at_the_last_moment(tmp_path: Path, tok: jeton.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Network disks may say only when flushing that there is no room."""
    path = tmp_path / "tokenizer.json"
    path.write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        tok.save(path)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["tokenizer.json"]


KILLED = """
import os, signal, sys
from jeton.atomic import write_atomically
with write_atomically(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL and locks are POSIX's")
def test_the_next_save_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    path = tmp_path / "a [1].txt"
    for _ in range(2):
        subprocess.run([sys.executable, "-c", KILLED, str(path)], timeout=60, check=False)
    others = [tmp_path / ".b.txt.0123456789abcdef.tmp", tmp_path / ".a [1].txt.notes.tmp"]
    for other in others:
        other.write_bytes(b"of another file")
    assert len(list(tmp_path.iterdir())) == 3, "the second one has removed what the first left"
    with write_atomically(path) as outer:
        outer.write(b"whole")
        with write_atomically(path) as inner:  # another writer is at work: its file stays
            inner.write(b"first")
        assert path.read_bytes() == b"first"
    assert path.read_bytes() == b"whole"
    assert sorted(tmp_path.iterdir()) == sorted([path, *others])


@pytest.mark.skipif(os.name != "posix", reason="a name of 255 bytes is POSIX's limit")
def test_errors_name_the_file_that_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(path: Path) -> OSError:
        with pytest.raises(OSError, match=re.escape(str(path))) as caught, write_atomically(path) as file:
            file.write(b"x")
        assert ".tmp" not in str(caught.value)
        assert (caught.value.filename, caught.value.filename2) == (str(path), None)
        return caught.value

    assert isinstance(write(tmp_path / "missing" / "a.txt"), FileNotFoundError)
    (tmp_path / "folder" / "in").mkdir(parents=True)
    assert isinstance(write(tmp_path / "folder"), IsADirectoryError)
    with write_atomically(tmp_path / ("今" * 85)) as file:  # as long as a name can be
        file.write(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "gone" / "b.txt")
    write(tmp_path / "link")
