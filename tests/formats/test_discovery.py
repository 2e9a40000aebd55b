"""Tokenizers in a folder, by their names and first bytes."""

from __future__ import annotations

from pathlib import Path

from jeton.formats.discovery import find_tokenizers


def test_json_files_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(' {\n"model": {}}')
    (tmp_path / "b.json").write_text("[1]")
    (tmp_path / "c").write_text('{"l": 0}')
    (tmp_path / ".d.json").write_text('{"l": 0}')
    (tmp_path / "empty").mkdir()
    assert [path.name for path in find_tokenizers(tmp_path)] == ["a.json", "c"]
