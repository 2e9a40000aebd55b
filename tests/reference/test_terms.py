"""Chinese texts use the terms of the 术语表 in docs/zh.md, one for each concept."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(
    [
        ROOT / "docs" / "zh.md",
        ROOT / "python" / "jeton" / "reference" / "zh.md",
        *ROOT.glob("docs/**/*.zh.md"),
        *ROOT.glob("docs/pictures/lessons/*.zh.svg"),
        *ROOT.glob("python/jeton/**/*.zh.md"),
        *ROOT.glob("python/jeton/**/strings.zh*.json"),
        *ROOT.glob("python/jeton/**/errors.zh*.json"),
    ]
)

TERMS = {  # forbidden word -> the term to use
    "文字": "文本",
    "编号": "ID; 序号 for the number of an item in a picture",
    "字节层次": "字节级",
    "字节级别": "字节级",
    "字符层次": "字符级",
    "字符级别": "字符级",
    "优先级": "rank（合并次序）, then rank; 优先队列 for a priority queue",
    "次序": "rank（合并次序）, then rank; 顺序 for other orders",
    "令牌": "词元",
    "标记化": "分词",
    "词元化": "分词",
    "特殊标记": "特殊词元",
    "未知标记": "未知词元",
    "词汇表": "词表",
    "词典表": "词表",
    "切法": "切分",
    "预分词": "预切分",
    "正规化": "归一化",
    "标准化": "归一化",
    "规范化": "归一化",
    "一元模型": "一元语言模型（Unigram）",
    "漏洞": "未知字符（OOV）",
    "重演": "重放",
}
# Phrases in which a forbidden word means something else.
PHRASES = (
    "合并次序",  # the term itself
    "文字系统",  # script: Han, Latin, …
    "英文字母",
    "中文字符",
)
LATIN_ID = re.compile(r"(?<![\w`<\[{./-])ids?(?![\w`>\]}./(=-])")


def chinese_text(path: Path) -> str:
    """The text that a reader sees, without code; and without the column of forbidden words in the 术语表."""
    text = path.read_text("utf-8")
    match path.suffix:
        case ".svg":
            root = ElementTree.fromstring(text)
            return "\n".join(label.text or "" for label in root.iter() if not label.tag.endswith("style"))
        case ".json":
            return "\n".join(strings(json.loads(text)))
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "``", text)


def strings(value: object) -> list[str]:
    """All strings of a JSON value that are not keys."""
    if isinstance(value, dict):
        return [text for each in value.values() for text in strings(each)]
    if isinstance(value, list):
        return [text for each in value for text in strings(each)]
    return [value] if isinstance(value, str) else []


def forbidden(text: str) -> list[str]:
    """The lines that have a forbidden word, with the term to write."""
    found = []
    for line in text.splitlines():
        rest = line
        for phrase in PHRASES:
            rest = rest.replace(phrase, "")
        found += [f"{word} → {term}: {line.strip()}" for word, term in TERMS.items() if word in rest]
        if re.search("[\u4e00-\u9fff]", line) and LATIN_ID.search(rest):
            found.append(f"id → ID: {line.strip()}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_chinese_text_uses_the_terms_of_the_table(path: Path) -> None:
    found = forbidden(chinese_text(path))
    if path.suffix == ".json":  # option names and values have no marks there, such as `ids`
        found = [line for line in found if not line.startswith("id →")]
    assert found == []


def test_forbidden_words_are_found_except_in_phrases_and_code() -> None:
    assert len(forbidden("一段文字的编号")) == 2
    assert len(forbidden("每个 id 的开销；词元的ids。")) == 1
    assert forbidden("文字系统；rank（合并次序）；ID") == []
    assert forbidden("`id` and ids, an English line") == []


def test_files_of_each_kind_are_checked() -> None:
    suffixes = {path.name.split(".", 1)[1] for path in FILES}
    assert {"md", "zh.md", "zh.svg"} <= suffixes


def test_the_table_has_the_words_that_it_forbids() -> None:
    table = (ROOT / "docs" / "zh.md").read_text("utf-8").partition("## 术语表")[2]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("|")]
    refused = [word for row in rows[2:] for word in re.findall(r"`(.+?)`", row[-2])]
    assert len(refused) >= 8
    assert [word for word in refused if word not in TERMS] == []
