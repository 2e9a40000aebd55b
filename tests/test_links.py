"""No writer follows a symbolic link at its target: in a shared folder, another user may have put it there."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import jeton
import jeton.shards
from jeton.cli import main
from jeton.formats.error_context import LOSSES
from jeton.vocabulary.safetensors_file import write_file

from .selection import rest_is_slow

TEXTS = ["low lower lowest"] * 20


def apply(tok: jeton.Tokenizer, out: Path) -> None:
    source = out.parent / "source"
    source.mkdir(exist_ok=True)
    shape = (tok.vocab_size, 2)
    rows = np.zeros(shape, "<f4").tobytes()
    write_file(source / "model.safetensors", [("wte.weight", "F32", shape, len(rows), [rows])], None)
    (source / "config.json").write_text('{"vocab_size": 1}')
    (source / "notes.txt").write_text("notes")
    jeton.add_words(tok, ["xyz"]).plan.apply(source, out)


def shards(tok: jeton.Tokenizer, out: Path) -> None:
    (out.parent / "corpus.txt").write_text("low lower")
    jeton.shards.make(str(out.parent / "corpus.txt"), out, tok, progress=False)


def command(tok: jeton.Tokenizer, out: Path, *args: str) -> None:
    tok.save(out.parent / "in.json")
    main(
        [
            args[0],
            str(out.parent / "in.json"),
            *(str(out / arg[1:]) if arg.startswith("@") else arg for arg in args[1:]),
        ]
    )


WRITERS: dict[str, Callable[[jeton.Tokenizer, Path], object]] = {
    "tokenizer.json": lambda tok, out: tok.save(out / "a.json"),
    "folder": lambda tok, out: tok.with_chat_template("{{ messages }}").save(out, format="folder"),
    "tiktoken": lambda tok, out: tok.save(out / "a.tiktoken", accept_loss=LOSSES),
    "merges.txt": lambda tok, out: tok.save(out, format="merges.txt", accept_loss=LOSSES),
    "vocab": lambda tok, out: tok.save(out / "a.vocab"),
    "counts": lambda _, out: jeton.count_pretokens(TEXTS, progress=False).save(out / "a.jtc"),
    "plot": lambda _, out: jeton.count_pretokens(TEXTS, progress=False).report().plot(out / "a.svg"),
    "checkpoint": lambda _, out: jeton.count_pretokens(TEXTS, limits=jeton.Limits(checkpoint=out), progress=False),
    "shards": shards,
    "weights": apply,
    "convert": lambda tok, out: command(tok, out, "convert", "@a.json", "--strings", "5", "-q"),
    "audit": lambda tok, out: command(tok, out, "audit", "-o", "@a.txt", "-q"),
}
PREDICTABLE = ["run-000001.jtr.tmp"]  # formerly predictable names of temporary files


SLOW = "the other writers, and test_the_plot_is_a_file; drawing takes seconds"


@pytest.mark.parametrize("name", rest_is_slow(WRITERS, lambda name: name != "plot", SLOW))
def test_no_writer_follows_a_link(tmp_path: Path, tok: jeton.Tokenizer, name: str) -> None:
    write = WRITERS[name]
    (tmp_path / "first").mkdir()
    write(tok, tmp_path / "first")
    made = [path.relative_to(tmp_path / "first") for path in (tmp_path / "first").rglob("*") if path.is_file()]
    assert made
    mine, missing = tmp_path / "mine", tmp_path / "missing"
    mine.write_bytes(b"mine")
    for target in (mine, missing):
        out = tmp_path / f"to {target.name}"
        for path in [*made, *map(Path, PREDICTABLE)]:
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            (out / path).symlink_to(target)
        with suppress(jeton.JetonError, OSError):  # reading the existing file may be refused
            write(tok, out)
        assert mine.read_bytes() == b"mine"
        assert not missing.exists()
        assert any(not (out / path).is_symlink() for path in made) or name in ("checkpoint", "shards")


def test_a_damaged_file_of_the_hubs_cache_is_removed_there_only(tmp_path: Path) -> None:
    from jeton.formats.remote import hub

    snapshot, blobs = tmp_path / "models--a--b" / "snapshots" / "c0ffee", tmp_path / "models--a--b" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for file in (blobs / "hash", tmp_path / "mine"):
        file.write_bytes(b"content")
        link = snapshot / "tokenizer.json"
        link.symlink_to(os.path.relpath(file, snapshot))
        hub._remove(link)
        assert not os.path.lexists(link)
    assert not (blobs / "hash").exists()
    assert (tmp_path / "mine").exists()
