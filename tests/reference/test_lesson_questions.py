"""Step 23: the figures printed for published vocabularies equal those of the lesson's text and of the engine."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import jeton
import jeton.reference.step23_questions as lesson


def test_the_figures_in_the_text_are_printed(data: Path) -> None:
    chinese = Path(str(lesson.__file__)).with_name("step23_questions.zh.md").read_text("utf-8")
    printed = [line.strip() for line in lesson.report(lesson.published(data / "vocabs")) if line.startswith(" ")]
    assert len(printed) == 69
    for text in (lesson.__doc__ or "", chinese):
        shown = [line.strip() for line in text.splitlines()]
        assert [line for line in printed if line not in shown] == []
        figures = [line for line in shown if line.endswith(" tokens") or any(f" {name} " in line for name in NAMES)]
        assert [line for line in figures if line not in printed and "`" not in line] == []


NAMES = ("r50k", "cl100k", "o200k")


@pytest.mark.slow(reason="five seconds; the figures, and one vocabulary beside Jeton's, remain")
def test_the_lesson_with_published_vocabularies_equals_jeton(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lesson.main(str(data / "vocabs"))
    lesson.beside_jeton(str(data / "vocabs"))
    assert "jeton, o200k: the same ids of 22 texts" in capsys.readouterr().out


def test_a_rank_file_of_the_cache_has_a_hash_in_its_name(tmp_path: Path) -> None:
    (tmp_path / "cl100k_base-223921b7.tiktoken").write_bytes(b"IQ== 0\nIg== 1\n")
    (vocab,) = lesson.published(tmp_path)
    assert vocab[:3] == ("cl100k", {b"!": 0, b'"': 1}, "cl100k")


def test_ids_of_gpt_2_are_those_of_jeton(data: Path) -> None:
    gpt2, vocab = jeton.load(data / "vocabs" / "r50k_base.tiktoken"), lesson.published(data / "vocabs")[0]
    for text in (lesson.ENGLISH, lesson.CHINESE, lesson.CODE, lesson.JSON, lesson.YAML, "127 + 677 = 804"):
        assert lesson.encode(vocab, text) == gpt2.encode(text)


def test_about_one_percent_of_four_digit_numbers_are_tokens_of_gpt_2(data: Path) -> None:
    gpt2 = jeton.load(data / "vocabs" / "r50k_base.tiktoken")
    assert sum(gpt2.count(str(number)) == 1 for number in range(1000, 10_000)) == 88


def test_the_small_vocabulary_has_the_name_of_the_log_as_one_token() -> None:
    assert len(lesson.encode(lesson.small(), " SolidGoldMagikarp")) == 1
    texts = [answer for answers in lesson.QUESTIONS.values() for answer in answers.values()]
    assert len(lesson.QUESTIONS) == 10
    assert sum(isinstance(answer, partial) for answer in texts) == 22
