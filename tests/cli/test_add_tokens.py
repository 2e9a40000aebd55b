"""``jeton add-tokens``, and the roles of ``jeton train``: tokens, roles and chat templates without editing JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jeton
from jeton.chat import PRESETS

from .conftest import CORPUS, Run

MESSAGES = [{"role": "user", "content": "low"}]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my.json"
    jeton.train([CORPUS], 280, special_tokens=["<|end|>"], progress=False).save(path)
    return path


def test_tokens_roles_and_a_template_are_added(run: Run, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "chat"
    roles = ("--eos", "<|im_end|>", "--pad", "<|pad|>", "--chat-template", "chatml")
    result = run("add-tokens", "-t", file, "-o", out, "<think>", "<|end|>", *roles)
    assert (result.code, result.out) == (0, b"")
    old, new = jeton.load(file), jeton.load(out)
    assert list(new.special_tokens)[-5:] == ["<|end|>", "<think>", "<|im_end|>", "<|pad|>", "<|im_start|>"]
    assert new.roles == {"eos": "<|im_end|>", "pad": "<|pad|>"}
    assert new.definition.chat_template == PRESETS["chatml"].source
    assert new.encode("low lower") == old.encode("low lower")
    assert [line.split() for line in result.err.splitlines()[:-2]] == [
        ["added", str(old.vocab_size + i), token]
        for i, token in enumerate(("<think>", "<|im_end|>", "<|pad|>", "<|im_start|>"))
    ]
    assert "roles    eos <|im_end|>, pad <|pad|>" in result.err


def test_a_list_of_plain_tokens(run: Run, file: Path, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("Jeton\r\n\nnewest low\n", encoding="utf-8")
    out = tmp_path / "new.json"
    result = run("add-tokens", "-t", file, "-o", out, "--from", tmp_path / "names.txt", "--plain", "--json")
    facts = json.loads(result.text)
    tok = jeton.load(out)
    assert facts["added"] == {"Jeton": tok.vocab_size - 2, "newest low": tok.vocab_size - 1}
    assert tok.encode("Jeton") == [tok.vocab_size - 2]
    assert (facts["fingerprint"], facts["roles"]) == (tok.fingerprint, {})


def test_a_template_is_read_from_a_file(run: Run, file: Path, tmp_path: Path) -> None:
    template = tmp_path / "mine.jinja"
    template.write_text("{% for m in messages %}{{ m.content }}\n{% endfor %}", encoding="utf-8")
    assert run("add-tokens", "-t", file, "-o", tmp_path / "x.json", "--chat-template", template).code == 0
    assert jeton.load(tmp_path / "x.json").chat(MESSAGES, tokenize=False) == "low\n"


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--chat-template", "nope"), 1, "no chat template 'nope': neither a file, nor one of chatml"),
        (("--eos", ""), 2, "--eos is empty"),
        (("--chat-template", "broken.jinja"), 1, "the chat template has a syntax error in line 1"),
    ],
)
def test_wrong_arguments_write_no_file(
    args: tuple[str, ...],
    code: int,
    message: str,
    run: Run,
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.jinja").write_text("{% if %}", encoding="utf-8")
    result = run("add-tokens", "-t", file, "-o", "x.json", *args)
    assert (result.code, message in result.err) == (code, True), result.err
    assert not Path("x.json").exists()


def test_train_adds_roles_and_a_template(run: Run, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text(CORPUS, encoding="utf-8")
    roles = ("--special-token", "<|a|>", "--eos", "<|im_end|>", "--pad", "<|pad|>", "--chat-template", "chatml")
    assert run("train", tmp_path / "texts.txt", "-o", tmp_path / "chat", "-s", 280, *roles).code == 0
    tok = jeton.load(tmp_path / "chat")
    assert list(tok.special_tokens) == ["<|a|>", "<|im_end|>", "<|pad|>", "<|im_start|>"]
    assert (tok.vocab_size, tok.eos_id, tok.pad_id) == (280, tok.special_tokens["<|im_end|>"], 278)
    assert tok.chat(MESSAGES).ids[0] == tok.special_tokens["<|im_start|>"]


def test_training_with_a_preset_sets_roles(run: Run, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text(CORPUS, encoding="utf-8")
    roles = ("--preset", "minbpe", "--eos", "<|end|>")
    assert run("train", tmp_path / "texts.txt", "-o", tmp_path / "x.json", "-s", 280, *roles).code == 0
    tok = jeton.load(tmp_path / "x.json")
    assert (tok.vocab_size, tok.eos_id) == (281, 280)


@pytest.mark.filterwarnings("ignore")
def test_transformers_pads_and_renders_alike(run: Run, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    (tmp_path / "texts.txt").write_text(CORPUS, encoding="utf-8")
    roles = ("--bos", "<s>", "--eos", "<|im_end|>", "--pad", "<|pad|>", "--mask", "<m>", "--chat-template", "chatml")
    assert run("train", tmp_path / "texts.txt", "-o", tmp_path / "chat", "-s", 290, *roles).code == 0
    tok = jeton.load(tmp_path / "chat")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "chat")
    assert (theirs.bos_token_id, theirs.eos_token_id) == (tok.bos_id, tok.eos_id)
    assert (theirs.pad_token_id, theirs.mask_token_id) == (tok.pad_id, tok.token_to_id(tok.roles["mask"]))
    chat = tok.chat(MESSAGES, add_generation_prompt=True)
    options = {"add_generation_prompt": True}
    assert theirs.apply_chat_template(MESSAGES, tokenize=False, **options) == chat.text
    assert theirs.apply_chat_template(MESSAGES, tokenize=True, return_dict=False, **options) == chat.ids
    first, second = tok.encode("low"), tok.encode("newest lower wide")
    padded = theirs(["low", "newest lower wide"], padding=True)
    assert padded["input_ids"] == [first + [tok.pad_id] * (len(second) - len(first)), second]
