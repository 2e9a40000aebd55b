"""``jeton convert``: the written file, the comparison, and the outcome of a difference."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton import formats
from jeton.formats import saving
from jeton.formats.error_context import LOSSES
from tests.formats.gguf_writer import gguf, metadata

from .conftest import CORPUS, Run


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer with a bug: it loses the last merge."""
    write = saving._WRITERS["tokenizer.json"]

    def wrong(tok: jeton.Tokenizer, path: Any, accept_loss: Any) -> None:
        special = set(tok.special_tokens.values())
        vocab = {id: token for id, token in tok.vocab.items() if id not in special}
        worse = jeton.Tokenizer.from_merges(vocab, tok.merges[:-1], pattern="gpt2", special_tokens=tok.special_tokens)
        write(worse, path, accept_loss)

    monkeypatch.setitem(saving._WRITERS, "tokenizer.json", wrong)


def left(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("name", ["copy.json", "folder"])
def test_the_output_loads_as_an_equal_tokenizer(
    run: Run, tok: jeton.Tokenizer, path: Path, tmp_path: Path, name: str
) -> None:
    result = run("convert", path, tmp_path / name, "--strings", 300)
    assert result.code == 0
    assert result.out == b""
    assert "same ids, same decoded bytes" in result.err
    assert f"saved    {tmp_path / name}" in result.err
    assert jeton.load(tmp_path / name) == tok
    assert left(tmp_path) == [name]


def test_a_template_and_a_decoder_that_are_accepted_as_lost_are_not_compared(run: Run, tmp_path: Path) -> None:
    vocab = {token: id for id, token in enumerate(["<unk>", "<s>", "▁", "a", "b", "ab", "▁ab"])}
    special = [{"id": id, "content": token, "special": True} for token, id in [*vocab.items()][:2]]
    replaced = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    shown = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "Fuse"}]
    bos = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    processor = {
        "type": "TemplateProcessing",
        "single": [bos, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [bos, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
    }
    model = {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "vocab": vocab, "merges": ["a b", "▁ ab"]}
    file = {"added_tokens": special, "normalizer": replaced, "post_processor": processor, "model": model}
    (tmp_path / "a.json").write_text(json.dumps({**file, "decoder": {"type": "Sequence", "decoders": shown}}))
    refused = run("convert", tmp_path / "a.json", tmp_path / "a.model")
    assert (refused.code, "--accept-loss decoder --accept-loss template" in refused.err) == (1, True)
    accepted = ("--accept-loss", "decoder", "--accept-loss", "template")
    result = run("convert", tmp_path / "a.json", tmp_path / "a.model", "--strings", 100, *accepted)
    assert (result.code, result.out) == (0, b"")
    assert re.search(r"equal    \d+ texts: same ids\n", result.err)
    model["vocab"] = {**vocab, "ba": 7, "aba": 8}
    model["merges"] = ["b a", "a b", "▁ ab", "ab a"]
    (tmp_path / "a.json").write_text(json.dumps({**file, "decoder": None}))
    refused = run("convert", tmp_path / "a.json", tmp_path / "b.model", *accepted)
    assert "these merges: any scores that reproduce their order would also join 'a' and 'ba'" in refused.err
    assert left(tmp_path) == ["a.json", "a.model"]


def test_the_option_to_names_the_format(run: Run, tok: jeton.Tokenizer, path: Path, tmp_path: Path) -> None:
    assert run("convert", path, tmp_path / "a.b", "--to", "folder", "--strings", 10).code == 0
    assert (tmp_path / "a.b" / "tokenizer_config.json").is_file()
    assert run("convert", path, tmp_path / "c", "--to", "tokenizer.json", "--strings", 10).code == 0
    assert (tmp_path / "c").is_file()
    for suffix in (".xyz", ".txt"):
        result = run("convert", path, tmp_path / f"d{suffix}")
        assert (result.code, f"no format has the suffix '{suffix}'" in result.err) == (1, True)
    assert run("convert", path, tmp_path / "d", "--to", "vocab").code == 2
    result = run("convert", path, tmp_path / "d.vocab")
    assert (result.code, "vocabulary dump" in result.err) == (2, True)
    assert left(tmp_path) == ["a.b", "c"]


def test_an_empty_output_name_is_refused(run: Run, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell variable without a value gives an empty name."""
    monkeypatch.chdir(tmp_path)
    assert run("convert", path, "").code == 2
    tok = jeton.load(path)
    with pytest.raises(jeton.ConfigError, match="empty"):
        tok.save("")
    assert left(tmp_path) == []
    tok.save(".")
    with pytest.raises(FileNotFoundError):
        jeton.load("")
    assert jeton.load(".") == tok


def test_a_link_is_named_by_its_own_suffix(run: Run, path: Path, tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(b"old")
    (tmp_path / "my.json").symlink_to("blob")
    assert run("convert", path, tmp_path / "my.json", "--strings", 10).code == 0
    assert jeton.load(tmp_path / "my.json") == jeton.load(path)
    assert (tmp_path / "blob").read_bytes() == b"old"


def test_json_has_the_result(run: Run, tok: jeton.Tokenizer, path: Path, tmp_path: Path) -> None:
    result = run("convert", path, tmp_path / "a.json", "--strings", 300, "--json", "-q")
    facts = json.loads(result.text)
    assert facts.pop("compared") > 500
    assert facts == {
        "input": str(path),
        "output": str(tmp_path / "a.json"),
        "equal": True,
        "refused": 0,
        "same_fingerprint": True,
        "accepted": [],
        "difference": None,
        "model_differences": {},
    }
    assert result.err == ""


@pytest.mark.usefixtures("broken")
def test_a_difference_is_exit_code_4_and_keeps_the_old_file(run: Run, path: Path, tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text("old")
    result = run("convert", path, tmp_path / "out.json", "--strings", 2000)
    assert result.code == 4
    lines = result.text.splitlines()
    assert "differs at" in lines[0]
    assert [line.split()[0] for line in lines[1:]] == ["first", "second"]
    assert f"nothing was written to {tmp_path / 'out.json'}" in result.err
    assert (tmp_path / "out.json").read_text() == "old"
    assert left(tmp_path) == ["out.json"]
    facts = json.loads(run("convert", path, tmp_path / "out.json", "--strings", 2000, "--json").text)
    assert (facts["equal"], facts["output"]) == (False, None)
    difference = facts["difference"]
    assert difference["left"] != difference["right"]
    assert difference["left"][difference["position"]] != difference["right"][difference["position"]]


@pytest.mark.usefixtures("broken")
def test_given_texts_find_differences_that_generated_ones_miss(
    run: Run, tok: jeton.Tokenizer, path: Path, tmp_path: Path
) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("nothing\n" * 20 + CORPUS, encoding="utf-8")
    (tmp_path / "texts" / "b.bin").write_bytes(b"\xff\xfe" + b"x" * 10_000)
    common = ("convert", path, tmp_path / "out.json", "--strings", 0, "-q")
    assert run(*common).code in (0, 4)
    result = run(*common, "--texts", tmp_path / "texts")
    assert result.code == 4


def test_given_texts_add_to_the_comparisons(run: Run, path: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(CORPUS, encoding="utf-8")
    few = json.loads(run("convert", path, tmp_path / "o.json", "--strings", 0, "--json").text)["compared"]
    more = run("convert", path, tmp_path / "o.json", "--strings", 0, "--json", "--texts", tmp_path / "a.txt")
    # the corpus has 21 lines, compared in groups of 8
    assert json.loads(more.text)["compared"] == few + 3


def test_rank_files_convert_with_accepted_losses(run: Run, data: Path, tmp_path: Path) -> None:
    ranks = data / "vocabs" / "cl100k_base.tiktoken"
    common = ("--strings", 200, "--json")
    facts = json.loads(run("convert", ranks, tmp_path / "a.json", *common).text)
    assert facts["equal"]
    assert facts["same_fingerprint"]
    assert run("convert", tmp_path / "a.json", tmp_path / "b.tiktoken", *common).code == 1
    accept = ("--accept-loss", "pattern", "--accept-loss", "special_tokens")
    facts = json.loads(run("convert", tmp_path / "a.json", tmp_path / "b.tiktoken", *accept, *common).text)
    assert facts["equal"]
    assert facts["accepted"] == ["pattern", "special_tokens"]
    assert (tmp_path / "b.tiktoken").read_bytes() == ranks.read_bytes()


def small_ranks() -> bytes:
    import base64

    tokens = [*(bytes([byte]) for byte in range(256)), b"lo", b"low"]
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))


def test_unknown_rank_files_need_a_pattern_for_reading_and_comparing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.tiktoken").write_bytes(small_ranks())
    assert run("convert", tmp_path / "a.tiktoken", tmp_path / "b.json").code == 1
    common = ("--pattern", "gpt2", "--strings", 100)
    assert run("convert", tmp_path / "a.tiktoken", tmp_path / "b.json", *common).code == 0
    assert jeton.load(tmp_path / "b.json").encode("low") == [257]
    result = run("convert", tmp_path / "b.json", tmp_path / "c.tiktoken", "--strings", 100, "--accept-loss", "pattern")
    assert result.code == 0, result.err
    assert (tmp_path / "c.tiktoken").read_bytes() == small_ranks()


def test_an_accepted_loss_is_a_warning(run: Run, tmp_path: Path) -> None:
    words = jeton.train({"low": 5, "lower": 2}, 262, level="byte", end_of_word="</w>", progress=False)
    (tmp_path / "in.json").write_bytes(words.to_bytes())
    assert run("convert", tmp_path / "in.json", tmp_path / "out.json").code == 1
    assert not (tmp_path / "out.json").exists()
    result = run("convert", tmp_path / "in.json", tmp_path / "out.json", "--accept-loss", "end_of_word", "-q")
    assert result.code == 0
    assert result.err.startswith("jeton: warning: end_of_word")
    assert jeton.load(tmp_path / "out.json") == words


@pytest.mark.usefixtures("broken")
def test_a_difference_without_the_accepted_loss_is_not_kept(run: Run, path: Path, tmp_path: Path) -> None:
    result = run("convert", path, tmp_path / "out.json", "--accept-loss", "pattern", "--strings", 2000)
    assert (result.code, left(tmp_path)) == (4, [])


def test_a_difference_under_an_accepted_loss_is_written_with_exit_code_4(run: Run, tmp_path: Path) -> None:
    plain = jeton.train(["low lower lowest"], 260, pattern="gpt2", progress=False)
    lower = replace(plain.definition, normalizer=({"type": "Lowercase"},))
    jeton.Tokenizer(lower, plain._core.vocabulary()).save(tmp_path / "in.json")
    options = ("--accept-loss", "normalizer", "--accept-loss", "pattern", "--strings", 50)
    result = run("convert", tmp_path / "in.json", tmp_path / "out.tiktoken", *options)
    assert (result.code, left(tmp_path)) == (4, ["in.json", "out.tiktoken"])


def test_an_unknown_loss_is_refused(run: Run, path: Path, tmp_path: Path) -> None:
    result = run("convert", path, tmp_path / "out.json", "--accept-loss", "patern")
    assert (result.code, left(tmp_path)) == (1, [])
    assert "'patern', which is not the name of a loss" in result.err
    assert "special_tokens" in result.err


def test_refusals_name_the_option(run: Run, path: Path, tmp_path: Path) -> None:
    result = run("convert", path, tmp_path / "out.tiktoken")
    assert result.code == 1
    assert "pass --accept-loss pattern" in result.err
    assert "accept_loss" not in result.err


def test_every_loss_has_its_name_in_the_list() -> None:
    source = "".join(file.read_text("utf-8") for file in Path(formats.__file__).parent.glob("*.py"))
    names = set(re.findall(r'losses\["(\w+)"\]', source))
    assert names <= set(LOSSES)


def test_an_existing_folder_keeps_its_other_files(run: Run, tok: jeton.Tokenizer, path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model.v1"
    folder.mkdir()
    (folder / "weights").write_text("w")
    assert run("convert", path, folder, "--strings", 10).code == 0
    assert left(folder) == ["tokenizer.json", "tokenizer_config.json", "weights"]
    assert jeton.load(folder) == tok
    assert left(tmp_path) == ["model.v1"]


@pytest.mark.skipif(os.name == "nt", reason="permissions and links as on POSIX")
def test_permissions_stay_and_links_are_replaced(run: Run, path: Path, tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "real.json").chmod(0o600)
    (tmp_path / "link.json").symlink_to("real.json")
    assert run("convert", path, tmp_path / "link.json", "--strings", 10).code == 0
    assert not (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text() == "old"
    assert run("convert", path, tmp_path / "real.json", "--strings", 10).code == 0
    assert (tmp_path / "real.json").stat().st_mode & 0o777 == 0o600
    assert run("convert", path, tmp_path / "fresh.json", "--strings", 10).code == 0
    (tmp_path / "plain").write_text("")
    assert (tmp_path / "fresh.json").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_converting_a_file_onto_itself_keeps_its_bytes(run: Run, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path / "a.json")
    before = (tmp_path / "a.json").read_bytes()
    assert run("convert", tmp_path / "a.json", tmp_path / "a.json", "--strings", 10).code == 0
    assert (tmp_path / "a.json").read_bytes() == before


def test_missing_inputs_and_folders_are_exit_code_1(run: Run, path: Path, tmp_path: Path) -> None:
    assert run("convert", tmp_path / "none.json", tmp_path / "a.json").code == 1
    assert run("convert", path, tmp_path / "no" / "a.json").code == 1
    assert run("convert", path, tmp_path / "a.json", "--texts", tmp_path / "none").code == 1
    assert run("convert", path).code == 2
    assert left(tmp_path) == []


def test_progress_as_json_lines(run: Run, path: Path, tmp_path: Path) -> None:
    result = run("convert", path, tmp_path / "a.json", "--strings", 1000, "--progress", "json", "-q")
    events = [json.loads(line) for line in result.err.splitlines()]
    assert {event["stage"] for event in events} == {"compare"}
    assert events[-1]["done"] == events[-1]["total"]


def test_the_version_of_transformers_that_reads_a_folder(run: Run, tmp_path: Path) -> None:
    tok = jeton.train([CORPUS], 60, preset="sentencepiece", progress=False)
    folder = tmp_path / "folder"
    folder.mkdir()
    tok.save(folder / "tokenizer.model")
    config = {"tokenizer_class": "LlamaTokenizer", "add_prefix_space": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    result = run("convert", folder, tmp_path / "five.json", "--transformers", 5, "--strings", 300)
    assert result.code == 0, result.err
    assert jeton.load(tmp_path / "five.json") == jeton.load(folder, transformers=5)
    assert run("convert", folder, tmp_path / "x.json", "--transformers", 3).code == 2


def test_a_gguf_file_is_copied_and_never_changed(run: Run, tok: jeton.Tokenizer, path: Path, tmp_path: Path) -> None:
    old = tmp_path / "old.gguf"
    tok.save(old)
    before = old.read_bytes()
    assert run("convert", path, tmp_path / "new.gguf", "--like", old, "--strings", 100).code == 0
    assert jeton.load(tmp_path / "new.gguf").encode("lower") == tok.encode("lower")
    result = run("convert", path, tmp_path / "new.json", "--like", old)
    assert (result.code, "--like needs an OUT of the format gguf" in result.err) == (2, True)
    result = run("convert", path, old, "--like", old)
    assert (result.code, "is the file to copy from, which is never changed" in result.err) == (2, True)
    assert old.read_bytes() == before


def test_notes_say_how_the_model_of_a_gguf_file_differs(run: Run, tmp_path: Path) -> None:
    values = metadata("gpt2", [*map(chr, range(97, 123)), "</s>", "ab"], merges=["a b"])
    (tmp_path / "x.gguf").write_bytes(gguf(values))
    result = run("convert", tmp_path / "x.gguf", tmp_path / "x.json", "--strings", 100, "--json")
    assert result.code == 0
    notes = json.loads(result.out)["model_differences"]
    assert [*notes] == ["pre", "special_tokens"]
    assert all(f"note     the model's own tokenizer may differ: {words}" in result.err for words in notes.values())
