"""The Chinese command line: complete catalogs, the choice of a language, and what stays English."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import jeton
from jeton.cli import main
from jeton.cli.help_text import paragraphs
from jeton.drawing.display_width import display_width
from jeton.util.language import LANGUAGES, NESTED, chosen_language, in_language, read_catalog, use_language
from jeton.util.messages import counted, translate
from jeton.util.progress import ProgressEvent, _bar

from .conftest import Run
from .messages import PACKAGE, commands_of_jeton, messages, placeholders

CORE = Path(__file__).parents[2] / "crates"
# Messages of click and of the system, which are not in Jeton's sources.
FOREIGN = {
    *("No such option {name}.", "No such option: {name}", "No such option {name}. Did you mean {names}?"),
    *("No such option {name}. (Did you mean one of: {names}?)", "No such option: {name} Did you mean {names}?"),
    *("No such option: {name} (Possible options: {names})", "No such command {name}."),
    *("No such command {name}. Did you mean {names}?", "No such command {name}. (Did you mean one of: {names}?)"),
    *("Missing option {name}.", "Missing option {name}. Choose from:{choices}", "Missing argument {name}."),
    *("Missing argument {name}. Choose from:{choices}", "Missing command.", "Option {name} requires an argument."),
    *("Option {name} does not take a value.", "Got unexpected extra argument ({arguments})"),
    *("Got unexpected extra arguments ({arguments})", "Invalid value for {name}: {message}"),
    *("{value} is not one of {choices}.", "{value} is not a valid {kind}.", "{value} is not a valid integer."),
    *("{value} is not a valid float.", "{value} is not a valid integer range.", "{value} is not a valid float range."),
    *("{value} is not in the range {range}.", "{kind} {name} does not exist.", "{kind} {name} is a directory."),
    *("{kind} {name} is a file.", "No such file or directory", "Permission denied", "Is a directory"),
    *("Not a directory", "File exists", "No space left on device", "Read-only file system"),
    *(f"EOF while parsing {what}" for what in ("a list", "a string", "a value", "an object")),  # of serde
    "{option} is too small: {characters} characters and {others} other entries need {least}",  # joined by the core
    "messages must be a list of {form}",  # braces of the source
    *(
        "{folder}: no manifest.json",
        "{folder}: no report.json",
        "{folder}: no mix.json",
    ),  # the name is a constant of Jeton
    *(
        f"{{message}} ({place})" for place in ("line {line}", "byte {position}", "piece {index}", "$.{path}")
    ),  # of the core
    *("{message} (line {line}, column {column})", "unknown variant {name}, expected one of {choices}"),  # of serde
}
ENGLISH_LETTERS = re.compile(r"[a-z]{4,}")
CHINESE = re.compile(r"[一-鿿]")


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JETON_LANG", "LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    monkeypatch.setenv("COLUMNS", "80")


# ── catalogs ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_is_translated_and_every_translation_is_used(language: str) -> None:
    catalog, used = read_catalog("strings", language), messages()
    assert sorted(used - set(catalog)) == []
    assert sorted(set(catalog) - used) == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["strings", "errors"])
def test_translations_have_the_placeholders_of_their_messages(name: str, language: str) -> None:
    for message, translation in read_catalog(name, language).items():
        expected = placeholders(message.removeprefix("{kind} ") if message in FOREIGN else message)
        assert placeholders(translation) == expected, message  # click's "Directory 'x' is a file." says the kind twice
        assert translation.strip(), message
        if placeholders(message):  # no other braces, which would read as placeholders
            message.format_map(dict.fromkeys(placeholders(message), ""))
            translation.format_map(dict.fromkeys(placeholders(message), ""))


def test_a_missing_or_other_translation_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks above find a missing translation, an unused one, and a wrong placeholder."""
    catalog = read_catalog("strings", "zh")
    lost = next(iter(catalog))
    changed = {key: text for key, text in catalog.items() if key != lost} | {"no such {message}": "{other}"}
    monkeypatch.setattr(sys.modules[__name__], "read_catalog", lambda name, language: changed)
    with pytest.raises(AssertionError, match=re.escape(repr(lost))):
        test_every_message_is_translated_and_every_translation_is_used("zh")
    with pytest.raises(AssertionError, match=re.escape("no such {message}")):
        test_translations_have_the_placeholders_of_their_messages("strings", "zh")
    monkeypatch.setattr(sys.modules[__name__], "read_catalog", lambda name, language: catalog | {"unused": "x"})
    with pytest.raises(AssertionError, match="unused"):
        test_every_message_is_translated_and_every_translation_is_used("zh")


def test_chinese_has_chinese_punctuation() -> None:
    for name in ("strings", "errors"):
        for text in read_catalog(name, "zh").values():
            assert not re.search(r"[一-鿿][,;!?](?!\w)", text), text


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_of_an_error_is_one_of_the_sources(language: str) -> None:
    sources = [(max(clause.split("{}"), key=len), clause) for clause in _clauses()]
    for message in set(read_catalog("errors", language)) - FOREIGN:
        filled = re.sub(r"\{\w+\}", "X", message)
        assert any(
            text in filled and re.fullmatch(_as_pattern(clause), filled, re.DOTALL) for text, clause in sources
        ), message


@pytest.mark.parametrize("package", ["cli", "playground"])
def test_every_message_of_an_interface_is_translated(package: str) -> None:
    """Covers errors that the command line and the server of the page raise themselves, with their hints."""
    with use_language("zh"):
        for message in sorted(_raised(package)):
            for clause in message.split("; "):
                filled = re.sub(r"\{[^}]*\}", "X", clause)
                if filled.strip("X") and " " in filled:
                    assert CHINESE.search(in_language(filled)), clause


@cache
def _clauses() -> set[str]:
    """Clauses of all string literals of the library, in Python and Rust, with `{}` for values."""
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] != "reference":
            for node in ast.walk(ast.parse(path.read_bytes())):
                found.update(_template(node).split("; "))
    for path in CORE.rglob("src/**/*.rs"):
        for text in re.findall(r'"((?:[^"\\]|\\.|\\\n)*)"', path.read_text()):
            plain = re.sub(r"\{[^}]*\}", "{}", re.sub(r"\\\n\s*", "", text).replace('\\"', '"'))
            found.update(plain.split("; "))
    return {clause for clause in found if len(re.sub(r"\{\}|\W", "", clause)) >= 5}


def _raised(package: str) -> Iterator[str]:
    for path in (PACKAGE / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Call) and re.search(
                r"((?<!Runtime)(?<!_Refused)Error|warn|fail)$",
                ast.unparse(node.func),  # refused: not of the page
            ):
                yield from filter(None, map(_template, node.args[:2]))


def _template(node: ast.AST) -> str:
    """The text of a literal or an f-string, with `{}` for values."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"%[sd]", "{}", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values)
    return ""


def _as_pattern(template: str) -> str:
    return ".*".join(map(re.escape, template.split("{}")))


# ── choice of a language ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.GB18030"}, "zh"),
        ({"LANG": "zh_TW.UTF-8"}, "zh"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_US.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh"),
        ({"LC_MESSAGES": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LC_ALL": "", "LANG": "zh_CN"}, "zh"),  # an empty variable counts as unset, as in POSIX
        ({"JETON_LANG": "zh", "LC_ALL": "C"}, "zh"),
        ({"JETON_LANG": "ZH-Hans-CN"}, "zh"),
        ({"JETON_LANG": "en", "LANG": "zh_CN.UTF-8"}, "en"),
        ({"JETON_LANG": "", "LANG": "zh_CN.UTF-8"}, "zh"),
        ({"JETON_LANG": "xx", "LANG": "zh_CN.UTF-8"}, "en"),
        ({"JETON_LANG": "../../zh"}, "en"),
    ],
)
def test_the_environment_chooses_the_language(environ: dict[str, str], language: str) -> None:
    assert chosen_language(environ) == language


def test_a_command_leaves_no_language_behind(run: Run, chinese: None) -> None:
    assert "文本" in run("--help").text
    assert (translate("Options"), counted(2, "token"), in_language("out of memory")) == (
        "Options",
        "2 tokens",
        "out of memory",
    )


# ── output ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("command", commands_of_jeton())
def test_help_is_chinese_and_fits_into_80_columns(run: Run, chinese: None, command: tuple[str, ...]) -> None:
    result = run(*command, "--help")
    assert (result.code, result.err) == (0, "")
    assert result.text.startswith("用法：jeton")
    assert "选项：" in result.text
    examples = False
    for line in result.text.splitlines():
        examples = line.strip() in ("示例：", "从这里开始：") or (examples and line.startswith("    "))
        if examples or "[" in line:  # names of commands and options are not translated, so these lines may be longer
            continue
        assert display_width(line) <= 80, line
        words = re.sub(r"--?[\w-]+|\w*[._/:<]\S*|[A-Z]\S*", "", line)
        assert not ENGLISH_LETTERS.search(words) or CHINESE.search(line) or command, line


def test_help_keeps_the_names_and_examples_of_english_help(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(language: str) -> list[str]:
        monkeypatch.setenv("JETON_LANG", language)
        text = run("train", "--help").text
        return re.findall(r"^  (-[\w-]+(?:, --[\w-]+)?)|^    (jeton .*)$", text, re.MULTILINE)  # type: ignore[return-value]

    assert shown("zh") == shown("en")
    assert len(shown("zh")) > 40


def test_english_help_is_that_of_click(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JETON_LANG", "en")
    assert run("--help").text.startswith("Usage: jeton [OPTIONS] COMMAND [ARGS]...\n\n  Train, run and")


@pytest.mark.parametrize(
    ("args", "code", "line"),
    [
        (["nonsense"], 2, "错误：没有命令 'nonsense'。"),
        (["encode", "--nonsense"], 2, "错误：没有选项 '--nonsense'。"),
        (["train", "x"], 2, "错误：缺少选项 '-o' / '--output'。"),
        (["compare", "text"], 2, "错误：没有指定分词器；请用 -t 逐个指定：jeton compare -t A -t B"),
        (["train", "-o", "x.json"], 2, "错误：缺少参数 'CORPUS...'。"),
        (
            ["train", "x", "-o", "x.json", "-s", "many"],
            2,
            "错误：'-s' / '--vocab-size' 的值无效：'many' 不是整数；写法如 32000、32k 或 1.5M",
        ),
        (
            ["train", "x", "-o", "x.json", "--level", "word"],
            2,
            "错误：'--level' 的值无效：'word' 不在可选值之中：'byte', 'char'。",
        ),
        (["count", "--threads", "0", "x"], 2, "错误：'--threads' 的值无效：0 不在范围 x>=1 之内。"),
        (
            ["encode", "-t", "a", "-t", "b", "x"],
            2,
            "错误：-t / --tokenizer 给出了 2 次，而 encode 只接受一个；jeton compare 接受多个分词器",
        ),
        (["train", "missing", "-o", "x.json"], 1, "jeton: missing: 没有这个文件或目录，也没有匹配的文件"),
        (
            ["count", "-t", "nowhere.json", "x"],
            1,
            "jeton: 没有文件或目录 'nowhere.json'，也没有这个名称的分词器。用 jeton names 查看可用名称；"
            "Hugging Face 上的仓库写作 hf:owner/name，Ollama 的模型写作 ollama:name",
        ),
        (
            ["encode", "-q", "--special", "raise", "a<|endoftext|>"],
            1,
            'jeton: 文本在位置 1 含有特殊词元 "<|endoftext|>"；用 --special all（或 --special <|endoftext|>）'
            "编码为特殊词元，用 --special none 按普通文本编码",
        ),
        (["decode", "-q", "abc"], 2, "错误：参数：'abc' 不是 ID；ID 是 0 至 4294967295 的整数"),
        (
            ["train", "x", "-o", "x.json", "--pattern", "("],
            1,
            "jeton: 模式 `(` 无法编译：`(` 没有对应的 `)`（在字节 1 处）",
        ),
        (
            ["train", "x", "-o", "x.json", "--memory-limit", "1"],
            1,
            'jeton: --memory-limit 1 不是有效的内存大小：应至少 1 MiB，写法如 500_000_000、"500MB" 或 "2GiB"',
        ),
        (["measure", "-q", "--csv", "--json", "x"], 2, "错误：--csv 与 --json 不能同用"),
    ],
)
def test_errors_are_chinese(run: Run, chinese: None, tmp_path: Path, args: list[str], code: int, line: str) -> None:
    result = run(*args)
    assert (result.code, result.out) == (code, b"")
    assert result.err.splitlines()[-1] == line
    if code == 2 and args != ["nonsense"]:
        assert result.err.startswith(f"用法：jeton {args[0]} [OPTIONS]")
        assert f"用“jeton {args[0]} --help”查看帮助。" in result.err


@pytest.mark.parametrize("group", [(), ("shards",)])
def test_a_group_without_arguments_prints_its_help(run: Run, chinese: None, group: tuple[str, ...]) -> None:
    result = run(*group)  # on standard error since click 8.2, before on standard output
    assert result.err + result.text in (text := run(*group, "--help").text, text + "\n")
    assert text.startswith("用法：jeton")


def test_messages_missing_from_the_catalog_stay_english(run: Run, chinese: None) -> None:
    with use_language("zh"):
        assert in_language("something new; pass a folder outside of the corpus") == (
            "something new; 请给出语料以外的目录"
        )
        known = "pass a folder outside of the corpus"  # "；" only between two translations
        assert in_language(f"{known}; {known}; new; {known}") == "；".join(["请给出语料以外的目录"] * 2) + (
            "; new; 请给出语料以外的目录"
        )
        assert in_language("a: b: No such file or directory") == "a: b: 没有这个文件或目录"


def test_kinds_of_files_and_records_are_translated() -> None:
    with use_language("zh"):
        files = "1,203 files are not read: 1,200 .md (a, b.md, …), 2 read already (a.txt, b.txt), 1 hidden (.c), …"
        assert in_language(files) == (
            "有 1,203 个文件未读取：.md 1,200 个（a, b.md, …），已读取过 2 个（a.txt, b.txt），隐藏文件 1 个（.c）, …"
        )
        assert in_language("1 file is not read: 1 .csv without the field 'text' (a.csv)") == (
            "有 1 个文件未读取：没有字段 'text' 的 .csv 1 个（a.csv）"
        )
        assert in_language("all 2 records of a are skipped (not UTF-8, too large)") == (
            "a 的 2 条记录全被跳过（不是 UTF-8，过大）"
        )


def test_errors_with_details_are_translated(run: Run, chinese: None) -> None:
    with use_language("zh"):
        error = "hf:x cannot be downloaded: [Errno -2] Name or service not known. Try again"
        assert in_language(f"{error}; or download the tokenizer's files by other means and load their folder") == (
            "hf:x 无法下载：[Errno -2] Name or service not known。请重试；或用其他方式下载分词器的文件，再加载所在目录"
        )
    assert "分词器没有特殊词元 'bad'；现有 '<|endoftext|>', '" in run("encode", "--special", "bad", "hi").err


@pytest.mark.parametrize("name", NESTED)
def test_nested_messages_are_translated(name: str) -> None:
    assert any(name in placeholders(message) for message in read_catalog("errors", "zh"))


def test_exceptions_are_english_for_callers(chinese: None) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        jeton.train("no-such-folder-anywhere/", progress=False)
    assert not CHINESE.search(str(caught.value))
    assert "tokens" in repr(jeton.compare([jeton.default()], "the"))
    assert not CHINESE.search(str(jeton.default().explain("the")))


def test_warnings_are_chinese(run: Run, chinese: None, path: Path, tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("aab")
    result = run("encode", "-t", path, file)
    assert result.err == f"jeton: 警告：{file} 是文件名，但按文本编码；用 --files 读取文件\n"
    result = run("train", file, "-o", tmp_path / "out.json", "--progress", "none")
    assert result.err.splitlines()[:2] == [
        "jeton: 警告：训练提前结束：共 31744 次合并，完成 2 次后已没有可合并的相邻对；词表有 258 个条目",
        "读取  1 个文档，共 3 字节；1 个预切分片段，去重后 1 个",
    ]


def test_reports_are_chinese_and_json_is_not(
    run: Run, chinese: None, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.json").write_bytes(path.read_bytes())
    Path("a.txt").write_text("low lower\n今天天气", encoding="utf-8")
    Path("b.txt").write_text("new newest", encoding="utf-8")
    for args, words in {
        ("explain", "-t", "small.json", " newest 天"): ("片段 1：", "其他候选：", "没有可合并的相邻对：结束"),
        ("compare", "-t", "small.json", "-t", "default", "low"): ("分词器", "词元数", "独有词元", "处切分位置不同"),
        ("measure", "-t", "small.json", "-t", "default", "a.txt", "b.txt"): (
            "数据源",
            "合计",
            "词元/字",
        ),
        ("languages", "-q"): ("语言", "汉语（官话）", "印欧语系", "词元数（英语为 1）"),
        ("audit", "small.json"): ("建议：", "提示  digits", "未发现问题："),
    }.items():
        text = run(*args, "--progress", "none").text
        assert [word for word in words if word not in text] == []
        as_json = run(*args, "--progress", "none", "--json")
        with monkeypatch.context() as patch:
            patch.setenv("JETON_LANG", "en")
            assert run(*args, "--progress", "none", "--json")[:2] == as_json[:2]
            assert not [word for word in words if word in run(*args, "--progress", "none").text]


def test_the_columns_of_tables_are_aligned(run: Run, chinese: None, path: Path) -> None:
    table = run("compare", "-t", path, "-t", "default", "low 天").text.splitlines()[:3]
    assert len({display_width(line) for line in table}) == 1
    table = run("languages", "-q", "--by", "script").text.splitlines()[1:]
    assert len({display_width(line) for line in table}) == 1


def test_progress_bars_are_chinese() -> None:
    with use_language("zh"), _bar(ProgressEvent("merge", 1, 2, "merges")) as bar:
        assert (bar.desc, bar.unit) == ("学习合并", " 次合并")


def test_help_paragraphs_with_notes_are_whole_messages() -> None:
    text = "Runs.\n\n\b\nExamples:\n  jeton run      in a folder\n  jeton stop"
    assert paragraphs(text)[1] == ("Examples:\n  jeton run      in a folder\n  jeton stop", "")


def test_output_is_utf8_in_any_locale(path: Path) -> None:
    environ = {**os.environ, "JETON_LANG": "zh", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    environ["PYTHONIOENCODING"] = "cp1252"
    command = [sys.executable, "-m", "jeton.cli"]
    shown = subprocess.run([*command, "--help"], env=environ, capture_output=True, check=True)
    assert shown.stdout.decode().startswith("用法：jeton")
    failed = subprocess.run([*command, "count", "-t", "nowhere", "x"], env=environ, capture_output=True, check=False)
    assert failed.returncode == 1
    assert failed.stderr.startswith(b"jeton: ")


def test_no_catalog_is_read_without_need() -> None:
    program = """
import builtins, io, sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
import jeton
tok = jeton.default()
tok.encode("the")
str(tok.explain("the"))
from jeton.cli import main
for args in (["--help"], ["count", "-q", "the"]):
    main(args)
read = {path.rpartition("/")[2] for path in opened if path.endswith(".json")}
print(sorted(read), "jeton.util.language" in sys.modules, file=sys.stderr)
"""
    for language, files in (("en", "[]"), ("zh", "['strings.zh.json']")):
        environ = {**os.environ, "JETON_LANG": language}
        done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, check=True, text=True)
        assert done.stderr.splitlines()[-1] == f"{files} True"


def test_main_returns_codes_in_each_language(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for language in ("en", *LANGUAGES):
        monkeypatch.setenv("JETON_LANG", language)
        assert main(["count", "--nonsense"]) == 2
        assert main(["count", "-t", "nowhere", "x"]) == 1
    capsys.readouterr()
