"""Release scripts, run by the workflows: their findings in wheels, distributions and advisories."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools" / "release"))

import advisories  # noqa: E402
import check_wheel  # noqa: E402
import install_wheel  # noqa: E402
import publish  # noqa: E402
import source  # noqa: E402
from wheel import PLATFORMS  # noqa: E402

sys.path.remove(str(ROOT / "tools" / "release"))


def answers(content: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advisories, "get", lambda address: content.get(address.removeprefix("index/")))


def test_advisories_are_listed_unless_withdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [
        {"id": "PYSEC-1", "fixed_in": ["1.1"], "summary": "bad", "withdrawn": None},
        {"id": "PYSEC-2", "fixed_in": [], "summary": None, "link": "there"},
        {"id": "PYSEC-3", "fixed_in": [], "summary": "withdrawn", "withdrawn": "2026-01-01"},
    ]
    answers({"one/1.0/json": {"info": {"version": "1.0"}, "vulnerabilities": listed}}, monkeypatch)
    assert list(advisories.check("index", "one", "1.0")) == [
        "PYSEC-1, fixed in 1.1: bad",
        "PYSEC-2, fixed in no version: there",
    ]


def test_a_release_that_cannot_be_checked_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    answers({"one/json": {"info": {"version": "1.0"}, "vulnerabilities": []}}, monkeypatch)
    assert list(advisories.check("index", "one", "1.0")) == []
    assert list(advisories.check("index", "one", "0.9")) == ["not checked: index has 1.0"]
    assert list(advisories.check("index", "two", "1.0")) == ["not checked: index has nothing"]


@pytest.mark.parametrize(
    ("name", "content", "num_findings"),
    [
        ("jeton/_core.abi3.so", b"\0/home/me/src/lib.rs\0", 1),
        ("jeton/_core.abi3.so", b"/home//Users/\\Users\\locallan", 0),
        ("jeton-1.dist-info/sboms/x.json", b'"path": "/tmp/build/crate"', 1),
        ("jeton/_core.abi3.so", b"/rustc/abc/library/core\0cargo/registry/src/x.rs", 0),
        ("jeton/cli/train.py", b"# /home/me/corpus.txt", 0),
        ("jeton/cli/train.py", f"# {ROOT}/x".encode(), 1),
    ],
)
def test_paths_of_a_machine_are_found(name: str, content: bytes, num_findings: int) -> None:
    assert len(list(check_wheel.machine_paths(name, content))) == num_findings


def test_the_granted_tag_is_read_from_auditwheel() -> None:
    name = "jeton-1.0.0-cp311-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
    report = f'\n{name}\nis consistent with the\nfollowing platform tag: "manylinux_2_34_x86_64".\n\nThe wheel …'
    assert check_wheel.granted_tag(report) == "manylinux_2_34_x86_64"
    assert check_wheel.granted_tag(f"{name}\nis not a platform wheel") is None


def test_placeholders_in_the_metadata_are_found() -> None:
    metadata = b"Name: jeton\nProject-URL: Source, https://%s/jeton\n\nHome-page: https://example.org\n"
    name = "jeton-1.0.0.dist-info/METADATA"
    assert list(check_wheel.placeholders(name, metadata % b"code.test")) == []
    (finding,) = check_wheel.placeholders(name, metadata % b"example.com")
    assert finding.endswith("placeholder: Project-URL: Source, https://example.com/jeton")


def test_an_interpreter_that_crashes_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wheel = tmp_path / "x.whl"
    wheel.touch()
    codes = {"one": 0, "two": -11}
    monkeypatch.setattr(install_wheel, "install", lambda wheel, interpreter: codes[interpreter])
    monkeypatch.setattr(sys, "argv", ["install_wheel.py", str(wheel), "one"])
    assert install_wheel.main() == 0
    monkeypatch.setattr(sys, "argv", ["install_wheel.py", str(wheel), "one", "two"])
    assert install_wheel.main() == 1


def test_a_release_has_one_wheel_for_each_platform() -> None:
    names = [f"jeton-1.0.0-cp311-abi3-{publish.TAGS[platform]}.whl" for platform in PLATFORMS]
    names.append("jeton-1.0.0.tar.gz")
    assert publish.check(names, "v1.0.0") == []
    assert publish.check(names[1:], "v1.0.0") == ["missing: jeton-1.0.0-cp311-abi3-…manylinux_2_17_x86_64….whl"]
    assert publish.check([*names, "other.whl"], "v1.0.0") == ["unexpected: other.whl"]
    assert publish.check(names, "main") == ["the tag is 'main', expected v and a version"]
    assert len(publish.check(names, "v1.0.1")) == 2 * len(names)


def test_crates_are_read_from_the_lock_file() -> None:
    crates = source.locked(ROOT)
    assert len({name for name, _ in crates}) > 50
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    assert ("jeton-core", version) in crates
