"""Pictures of the lessons, drawn from Jeton's results for the lessons' examples.

`canvas` writes SVG and rejects labels that do not fit; `rows` draws sequences of tokens and trees of merges. The
modules `algorithm` (steps 2 to 5), `around` (1, 6 to 10), `applications` (11 to 13), `faster` (14 to 17), `models` (18
to 21) and `vocabularies` (22 to 24) have a function for each lesson.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from . import algorithm, applications, around, faster, models, vocabularies
from .canvas import Canvas, Say

FOLDER = Path(__file__).parents[2] / "docs" / "pictures" / "lessons"
LANGUAGES = ("en", "zh")
PICTURES = {
    "step01_levels": around.levels,
    "step02_pairs": algorithm.pairs,
    "step03_merge": algorithm.merging,
    "step04_train": algorithm.training,
    "step05_encode": algorithm.encoding,
    "step06_decode": around.decoding,
    "step07_special": around.special_tokens,
    "step08_split": around.splitting,
    "step09_characters": around.characters,
    "step10_words": around.words,
    "step11_compression": applications.compression,
    "step12_vectors": applications.vectors,
    "step13_tokenizer": applications.whole,
    "step14_regex": faster.alternatives,
    "step15_gpt4": faster.recovered,
    "step16_fast_encoding": faster.heap,
    "step17_fast_training": faster.counts,
    "step18_sentencepiece": models.agenda,
    "step19_xlmr": models.orders,
    "step20_unigram": models.best,
    "step21_wordpiece": models.two_rules,
    "step22_extending": vocabularies.extended,
    "step23_questions": vocabularies.asked,
    "step24_errata": vocabularies.kinds,
}


def pictures() -> Iterator[tuple[str, str]]:
    """Yields the file name and the SVG of every picture, in both languages."""
    for lesson, draw in PICTURES.items():
        for language in LANGUAGES:
            yield f"{lesson}.{language}.svg", draw(saying(language)).svg()


def saying(language: str) -> Say:
    """Returns a function that selects the English or the Chinese form of a label."""
    return (lambda english, chinese: english) if language == "en" else (lambda english, chinese: chinese)


__all__ = ["FOLDER", "LANGUAGES", "PICTURES", "Canvas", "pictures"]
