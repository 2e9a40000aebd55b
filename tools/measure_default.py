"""Measures the default tokenizer and three of OpenAI's, and prints the tables of docs/default.md.

    python tools/measure_default.py DATA

DATA contains ``corpora/*.txt.xz``, ``udhr/*.txt`` (the Universal Declaration of Human Rights, each language in a file
named by its ISO 639-3 code) and ``vocabs/*.tiktoken``. The default tokenizer was not trained on any of these texts.
"""

from __future__ import annotations

import lzma
import sys
from collections.abc import Iterable
from pathlib import Path

import jeton

NAMES = ("r50k_base", "cl100k_base", "o200k_base")
CORPORA = {
    "english": "English: fiction, reviews, speeches, news, technical books",
    "chinese": "Chinese: technical texts, classical poetry",
    "docs_es_pt_ja": "Spanish, Portuguese and Japanese documentation",
    "code": "Python code: the standard library",
}
LANGUAGES = {
    "eng": "English", "cmn_hans": "Chinese, simplified", "cmn_hant": "Chinese, traditional", "spa": "Spanish",
    "fra": "French", "deu": "German", "por_BR": "Portuguese", "ita": "Italian", "nld": "Dutch", "rus": "Russian",
    "ukr": "Ukrainian", "bul": "Bulgarian", "pol": "Polish", "ces": "Czech", "hun": "Hungarian", "ron": "Romanian",
    "ell_monotonic": "Greek", "swe": "Swedish", "fin": "Finnish", "tur": "Turkish", "jpn": "Japanese", "kor": "Korean",
    "vie": "Vietnamese", "ind": "Indonesian", "tgl": "Tagalog", "arb": "Arabic", "heb": "Hebrew", "pes_1": "Persian",
    "urd": "Urdu", "hin": "Hindi", "ben": "Bengali", "mar": "Marathi", "guj": "Gujarati", "tam": "Tamil",
    "tha": "Thai", "khm": "Khmer", "mya": "Burmese", "kat": "Georgian", "hye": "Armenian", "swh": "Swahili",
    "yor": "Yoruba", "zul": "Zulu", "amh": "Amharic",
}  # fmt: skip


def rows(toks: list[jeton.Tokenizer], texts: Iterable[tuple[str, bytes]]) -> list[tuple[str, list[float]]]:
    """Returns, for each text that is not empty, its name and the bytes per token of each tokenizer."""
    return [(name, [len(text) / tok.count(text) for tok in toks]) for name, text in texts if text]


def print_table(title: str, measured: Iterable[tuple[str, list[float]]]) -> None:
    """Prints a table in Markdown."""
    print(f"| {title} | default | r50k | cl100k | o200k |\n|---|---|---|---|---|")
    for name, figures in measured:
        print(f"| {name} | {' | '.join(f'{figure:.2f}' for figure in figures)} |")
    print()


def main(folder: Path) -> None:
    """Measures all texts and prints the tables."""
    toks = [jeton.default(), *(jeton.load(folder / "vocabs" / f"{name}.tiktoken") for name in NAMES)]
    places = ((title, folder / "corpora" / f"{name}.txt.xz") for name, title in CORPORA.items())
    print_table("corpus", rows(toks, ((title, lzma.decompress(place.read_bytes())) for title, place in places)))
    declarations = rows(toks, ((path.stem, path.read_bytes()) for path in sorted((folder / "udhr").glob("*.txt"))))
    known = dict(declarations)
    print_table("language", ((title, known[code]) for code, title in LANGUAGES.items()))
    mean = [sum(figures) / len(declarations) for figures in zip(*known.values(), strict=True)]
    worst = sorted(declarations, key=lambda row: row[1][0])[:6]
    print_table("all languages", [(f"mean of {len(declarations)} languages", mean), *worst])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
