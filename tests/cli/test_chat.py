"""``jeton chat`` prints the result of `Tokenizer.chat` in every format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jeton

from .conftest import CORPUS, Run

MESSAGES = [{"role": "user", "content": "low<|im_end|>er"}, {"role": "assistant", "content": "今天"}]
TOK = jeton.train([CORPUS], 300, special_tokens=["<|im_start|>", "<|im_end|>"], progress=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    TOK.save(tmp_path / "chat.json")
    return tmp_path / "chat.json"


def test_output_in_each_format(run: Run, path: Path) -> None:
    data = json.dumps(MESSAGES).encode()
    expected = TOK.chat(MESSAGES, template="chatml")
    arguments = ("chat", "-t", path, "--template", "chatml")
    assert run(*arguments, input=data).text == expected.text + "\n"
    assert run(*arguments, "--format", "ids", input=data).text == " ".join(map(str, expected.ids)) + "\n"
    assert "│" in run(*arguments, "--format", "tokens", input=data).text
    answer = json.loads(run(*arguments, "--json", input=data).text)
    assert (answer["text"], answer["ids"], answer["mask"]) == (expected.text, expected.ids, expected.mask)
    assert [turn["role"] for turn in answer["turns"]] == ["user", "assistant"]


def test_tools_variables_and_a_template_file_are_used(run: Run, path: Path, tmp_path: Path) -> None:
    file = tmp_path / "messages.json"
    file.write_text(json.dumps({"messages": MESSAGES, "tools": [{"name": "f"}], "variables": {"mark": "!"}}))
    source = tmp_path / "mine.jinja"
    source.write_text(
        "{{ tools[0].name }} {{ messages[0].content }}{% if add_generation_prompt %}{{ mark }}{% endif %}"
    )
    result = run("chat", "-t", path, "--template", source, "--generation-prompt", file)
    assert result.text == "f low<|im_end|>er!\n"
    ids = run("chat", "-t", path, "--template", "chatml", "--special", "all", "--format", "ids", file).text
    assert ids.split() == list(map(str, TOK.chat(MESSAGES, template="chatml", special="all").ids))


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 100_000, b"7", b"[]", b"{}", b'["x"]', b"\xff"])
def test_invalid_messages_are_an_error(run: Run, path: Path, data: bytes) -> None:
    result = run("chat", "-t", path, "--template", "chatml", input=data)
    assert result.code == 1
    assert result.err.startswith("jeton: ")
    assert len(result.err) < 300


def test_a_missing_template_is_an_error(run: Run, path: Path) -> None:
    result = run("chat", "-t", path, input=json.dumps(MESSAGES).encode())
    assert (result.code, result.out) == (1, b"")
    assert "no chat template" in result.err


# ── jeton chat without a command, check and diff ────────────────────────────────────────────────────────────────────


def test_chat_without_a_subcommand_renders(run: Run, path: Path, tmp_path: Path) -> None:
    file = tmp_path / "messages.json"
    file.write_text(json.dumps(MESSAGES))
    expected = TOK.chat(MESSAGES, template="chatml").text + "\n"
    for arguments in (
        ("-t", path, "--template", "chatml", file),
        (file, "-t", path, "--template", "chatml"),
        ("render", "-t", path, "--template", "chatml", file),
        ("--template", "chatml", "-t", path, "-"),
    ):
        assert run("chat", *arguments, input=file.read_bytes()).text == expected
    text = run("chat", "--help").text
    assert "--generation-prompt" in text
    assert "\n  diff " in text
    assert run("chat", "nothing.json").code == 2


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jinja"
    path.write_text("{{ strftime_now('%Y-%m-%d') }}" + jeton.chat.PRESETS["chatml"].source)
    return path


def test_check_prints_the_librarys_report(run: Run, path: Path, template: Path, tmp_path: Path) -> None:
    source = template.read_text() + "\n"
    found = jeton.chat_check(None, source)
    assert run("chat", "check", template).text == str(found) + "\n"
    assert json.loads(run("chat", "check", template, "--json").text) == json.loads(json.dumps(found.to_json()))
    with_ids = jeton.chat_check(TOK, source)
    assert run("chat", "check", template, "-t", path).text == str(with_ids) + "\n"
    assert run("chat", "check", "chatml", "-t", path).text == str(jeton.chat_check(TOK, "chatml")) + "\n"
    assert run("chat", "check", "chatml").text == str(jeton.chat_check(None, "chatml")) + "\n"
    own = TOK.with_chat_template("chatml")
    own.save(tmp_path / "folder", format="folder")
    for arguments in ((tmp_path / "folder",), ("-t", tmp_path / "folder")):
        assert run("chat", "check", *arguments).text == str(jeton.chat_check(own)) + "\n"


def test_check_passes_variables_to_the_template(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "trims.jinja"
    file.write_text("{% for m in messages %}{{ m.content if keep else m.content | trim }};{% endfor %}")
    assert "template-content\n" in run("chat", "check", file).text
    assert "template-content\n" not in run("chat", "check", file, "--variables", '{"keep": true}').text


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "pass a template"),
        (["chatml", "--variables", "[]"], 2, "--variables is not a JSON object"),
        (["chatml", "--variables", "{"], 1, "--variables is not JSON"),
        (["no-such-template"], 1, "no-such-template"),
        (["no-such-template", "-t", "default"], 1, "there is no chat template 'no-such-template'"),
    ],
)
def test_wrong_arguments_of_check_are_reported(run: Run, arguments: list[str], code: int, said: str) -> None:
    result = run("chat", "check", *arguments)
    assert (result.code, said in result.err) == (code, True), result.err


def test_checking_a_tokenizer_without_template_is_an_error(run: Run, path: Path) -> None:
    result = run("chat", "check", path)
    assert (result.code, f"the tokenizer {path} has no chat template" in result.err) == (1, True)


def test_count_prints_the_librarys_figures(run: Run, path: Path, tmp_path: Path) -> None:
    request = {"messages": [{"role": "user", "content": "hi"}], "functions": [{"name": "f"}]}
    found = jeton.chat_count(TOK, request)
    (file := tmp_path / "request.json").write_text(json.dumps(request))
    assert run("chat", "count", "-t", path, file).text == f"{found}\n"
    assert json.loads(run("chat", "count", "-t", path, "--json", file).text) == found.to_json()
    messages = json.dumps(request["messages"]).encode()
    assert json.loads(run("chat", "count", "-t", path, "--json", input=messages).text)["tokens"] < found.tokens
    code, _, err = run("chat", "count", "-t", path, input=b'[{"role": "user", "content": [{"type": "image_url"}]}]')
    assert code == 1
    assert "messages[0].content[0]: content of type 'image_url' has no published token count" in err


def test_diff_prints_the_first_difference(run: Run, path: Path, template: Path, tmp_path: Path) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    one = {"system": "Today is 2026-11-26.", "messages": MESSAGES[:1]}
    two = {**one, "system": "Today is 2026-11-27."}
    a.write_text(json.dumps(one))
    b.write_text(json.dumps(two))
    arguments = ("chat", "diff", "-t", path, "--template", "chatml")
    found = jeton.chat_diff(TOK, one, two, template="chatml")
    result = run(*arguments, a, b)
    assert (result.text, result.code) == (str(found) + "\n", 4)
    assert json.loads(run(*arguments, a, b, "--json").text) == json.loads(json.dumps(found.to_json()))
    assert run(*arguments, a, "-", input=a.read_bytes()).code == 0
    assert run(*arguments, "--special", "all", a, b).code == 4
    dated = run("chat", "diff", "-t", path, "--template", template, a, a, "--dates", "2026-11-26", "2026-11-27")
    assert (dated.code, dated.text.splitlines()[-1]) == (
        4, "cause    the template writes the date: 2026-11-26 00:00:00 / 2026-11-27 00:00:00",
    )  # fmt: skip
    b.write_text("{")
    broken = run(*arguments, a, b)
    assert (broken.code, "b.json is not JSON" in broken.err) == (1, True)
    b.write_text('[{"role": "user", "content": [{"type": "image"}]}]')
    assert (
        "B: messages[0].content[0]: content of type 'image' is not supported by chat templates"
        in run(*arguments, a, b).err
    )
