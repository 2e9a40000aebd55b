"""A file is always the complete old or the complete new one."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import jeton
from jeton.util.atomic import is_stream, write_atomically

from ..material import tokenizer


def test_a_file_has_its_name_only_once_complete(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for content in (b"first", b"second, longer", b""):
        with write_atomically(path) as file:
            file.write(content)
            assert path.exists() == (content != b"first"), "no file has the name before it is complete"
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


def test_a_missing_folder_is_an_error(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    with pytest.raises(FileNotFoundError):
        tok.save(tmp_path / "missing" / "tokenizer.json")


def test_a_file_where_a_folder_is_wanted(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(OSError, match="file"):
        tok.save(tmp_path / "file" / "tokenizer.json")
    with pytest.raises(OSError, match="file"):
        tok.save(tmp_path / "file", format="folder")
    assert (tmp_path / "file").read_bytes() == b"old"


@pytest.mark.parametrize("target", ["mine", "missing"])
def test_a_link_is_replaced_and_its_target_stays(tmp_path: Path, target: str) -> None:
    """Anyone who may write to the folder can put a link there to a file of another user."""
    (tmp_path / "mine").write_bytes(b"old")
    (tmp_path / "link").symlink_to(target)
    with write_atomically(tmp_path / "link") as file:
        file.write(b"new")
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "link").read_bytes() == b"new"
    assert (tmp_path / "mine").read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["link", "mine"]


def test_a_link_counts_as_an_existing_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("missing")
    with pytest.raises(FileExistsError), write_atomically(tmp_path / "link", replace=False) as file:
        file.write(b"new")
    assert os.listdir(tmp_path) == ["link"]


def test_a_link_to_a_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    with pytest.raises(IsADirectoryError), write_atomically(tmp_path / "link") as file:
        file.write(b"new")
    with write_atomically(tmp_path / "link" / "a.txt") as file:  # links to parent folders are followed
        file.write(b"new")
    assert (tmp_path / "folder" / "a.txt").read_bytes() == b"new"


def test_other_hard_links_keep_the_old_content(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"old")
    os.link(tmp_path / "mine", tmp_path / "a.txt")
    with write_atomically(tmp_path / "a.txt") as file:
        file.write(b"new")
    assert ((tmp_path / "mine").read_bytes(), (tmp_path / "a.txt").read_bytes()) == (b"old", b"new")


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_the_mode_of_another_users_file_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    path.chmod(0o4711)
    with write_atomically(path) as file:
        file.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o711, "without the set-user-ID bit"
    path.chmod(0o666)
    other = path.stat().st_uid + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    (tmp_path / "fresh").touch()
    with write_atomically(path) as file:
        file.write(b"new")
    assert path.stat().st_mode == (tmp_path / "fresh").stat().st_mode


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.timeout(20)
def test_stale_temporary_links_and_pipes_are_not_opened(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"old")
    (tmp_path / ".a.txt.0000000000000000.tmp").symlink_to("mine")
    os.mkfifo(tmp_path / ".a.txt.0000000000000001.tmp")
    with write_atomically(tmp_path / "a.txt") as file:
        file.write(b"new")
    assert (tmp_path / "mine").read_bytes() == b"old"
    assert (tmp_path / ".a.txt.0000000000000000.tmp").is_symlink(), "Jeton makes no links"


# ── streams ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def reading(path: Path) -> tuple[threading.Thread, list[bytes]]:
    """Reads a named pipe to its end."""
    found: list[bytes] = []
    thread = threading.Thread(target=lambda: found.append(path.read_bytes()), daemon=True)
    thread.start()
    return thread, found


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.timeout(20)
def test_a_named_pipe_that_a_user_names_is_written_to(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    thread, found = reading(pipe)
    tok.save(pipe)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    thread.join()
    assert found == [tok.to_bytes()]
    thread, found = reading(pipe)

    def fail() -> None:
        with write_atomically(pipe, streams=True) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    with write_atomically(pipe, streams=True) as file:
        file.write(b"whole")
    thread.join()
    assert found == [b"whole"], "nothing is written before the content is complete"
    with write_atomically(pipe) as file:  # as in a cache, whose files no user names
        file.write(b"new")
    assert pipe.read_bytes() == b"new"


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no /dev/fd")
def test_a_descriptor_is_written_to(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    save = "import jeton, sys; tok = jeton.load(sys.argv[1]); print(1); tok.save(sys.argv[2], format='tokenizer.json')"
    tok.save(tmp_path / "a.json")
    run = [sys.executable, "-c", save, str(tmp_path / "a.json")]
    done = subprocess.run([*run, "/dev/fd/1"], capture_output=True, timeout=60, check=True)
    assert done.stdout == b"1\n" + tok.to_bytes()
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([*run, "/dev/stdout"], stdout=out, timeout=60, check=True)
    assert (tmp_path / "out").read_bytes() == b"1\n" + tok.to_bytes()
    assert is_stream("/dev/stderr")
    (tmp_path / "link").symlink_to("/dev/stdout")
    assert not is_stream(tmp_path / "link")


@pytest.mark.skipif(not hasattr(os, "mknod"), reason="no device nodes")
def test_a_device_stays_a_device(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.write_bytes(b"")
    except OSError:
        pytest.skip("only an administrator may make a device node")
    tok.save(device, format="tokenizer.json")
    assert stat.S_ISCHR(device.lstat().st_mode)


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


# The kernel refuses writes past the limit, as on a full disk; the limit needs a separate process.
FULL_DISK = """
import errno, resource, sys
import jeton
tok = jeton.load(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
try:
    tok.save(sys.argv[2])
except OSError as error:
    print(error.errno == errno.EFBIG and str(error.filename).startswith(sys.argv[2]))
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
    assert sorted(path for path in target.parent.rglob("*") if path.is_file()) == files, "no temporary file is left"
    if name != "list.vocab":
        assert jeton.load(target) == old


def test_a_full_disk_at_the_last_moment_leaves_the_old_file(
    tmp_path: Path, tok: jeton.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Network disks may report only at a flush that they are full."""
    path = tmp_path / "tokenizer.json"
    path.write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*tokenizer\.json'"):
        tok.save(path)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["tokenizer.json"]


KILLED = """
import os, signal, sys
from jeton.util.atomic import is_stream, write_atomically
with write_atomically(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL and locks are POSIX's")
def test_the_next_save_removes_files_of_a_killed_one(tmp_path: Path) -> None:
    path = tmp_path / "a [1].txt"
    for _ in range(2):
        subprocess.run([sys.executable, "-c", KILLED, str(path)], timeout=60, check=False)
    others = [tmp_path / ".b.txt.0123456789abcdef.tmp", tmp_path / ".a [1].txt.notes.tmp"]
    for other in others:
        other.write_bytes(b"of another file")
    assert len(list(tmp_path.iterdir())) == 3, "the second process has removed the file of the first"
    with write_atomically(path) as outer:
        outer.write(b"whole")
        with write_atomically(path) as inner:  # the file of another active writer stays
            inner.write(b"first")
        assert path.read_bytes() == b"first"
    assert path.read_bytes() == b"whole"
    assert sorted(tmp_path.iterdir()) == sorted([path, *others])


@pytest.mark.skipif(os.name != "posix", reason="a name of 255 bytes is POSIX's limit")
def test_errors_name_the_given_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(path: Path) -> OSError:
        with pytest.raises(OSError, match=re.escape(str(path))) as caught, write_atomically(path) as file:
            file.write(b"x")
        assert ".tmp" not in str(caught.value)
        assert (caught.value.filename, caught.value.filename2) == (str(path), None)
        return caught.value

    assert isinstance(write(tmp_path / "missing" / "a.txt"), FileNotFoundError)
    (tmp_path / "folder" / "in").mkdir(parents=True)
    assert isinstance(write(tmp_path / "folder"), IsADirectoryError)
    with write_atomically(tmp_path / ("今" * 85)) as file:  # the longest possible name
        file.write(b"x")
