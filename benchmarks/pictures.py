"""Draws the pictures of the records of encoding.py.

``python benchmarks/pictures.py`` writes three SVG files to ``docs/pictures/``: throughput on unseen text from
``record/encoding.csv``; worst cases, and scaling with length and threads, from ``record/encoding-worst.csv``. With
RECORD, all pictures for which it has figures are drawn from it.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "benchmarks" / "record"
# Okabe and Ito's color-blind safe colors; Jeton's is the darkest. Markers distinguish engines without color.
STYLES = {
    "jeton": ("#0072B2", "o"),
    "gigatoken": ("#E69F00", "s"),
    "tokenizers 1.0rc": ("#009E73", "^"),
    "fastokens": ("#CC79A7", "D"),
    "toktok": ("#56B4E9", "v"),
    "splintr": ("#D55E00", "P"),
    "tiktoken": ("#999999", "X"),
}
NAMES = {"docs_es_pt_ja": "docs (es, pt, ja)", "udhr": "380 languages"}

Rows = list[dict[str, str]]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("record", type=Path, nargs="?", help="draw from this record only")
    parser.add_argument("--vocab", default="o200k_base", help="vocabulary to draw")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "pictures", help="output folder")
    options = parser.parse_args()
    mpl.rcParams.update(
        {
            "svg.fonttype": "none",  # text stays text
            "svg.hashsalt": "jeton",  # the same record gives the same file
            "font.family": "sans-serif",
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.axisbelow": True,
            "grid.color": "#dddddd",
            "legend.frameon": False,
        }
    )
    drawn = [
        save(draw, read(options.record or RECORDS / record, options.vocab), options.vocab, options.folder / name)
        for name, draw, record in (
            ("encoding-unseen.svg", unseen, "encoding.csv"),
            ("encoding-worst.svg", worst, "encoding-worst.csv"),
            ("encoding-scaling.svg", scaling, "encoding-worst.csv"),
        )
    ]
    return 0 if any(drawn) else 1


def read(path: Path, vocab: str) -> Rows:
    """Reads the rows of a vocabulary."""
    with open(path, encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["vocab"] == vocab]


def save(draw: Callable[[Rows, str], Any], rows: Rows, vocab: str, path: Path) -> bool:
    """Draws one picture, if the record has its figures."""
    figure = draw(rows, vocab)
    if figure is None:
        print(f"{path.name}: the record has no such figures of {vocab}", file=sys.stderr)
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    print(path)
    return True


def unseen(rows: Rows, vocab: str) -> Any:
    """Bars by kind of text, with a color for each engine, and a line from the fastest to the slowest round."""
    rows = [row for row in rows if row["case"].startswith("documents: ") and row["phase"] == "unseen"]
    kinds = list(dict.fromkeys(row["text"] for row in rows))
    engines = [name for name in STYLES if any(row["engine"] == name for row in rows)]
    if not rows:
        return None
    figure, axes = plt.subplots(figsize=(9, 4))
    width = 0.84 / len(engines)
    for i, engine in enumerate(engines):
        mine = {row["text"]: row for row in rows if row["engine"] == engine}
        places = [kinds.index(kind) + (i - (len(engines) - 1) / 2) * width for kind in mine]
        middle = [float(row["median"]) for row in mine.values()]
        low = [max(0.0, float(row["median"]) - float(row["slowest"])) for row in mine.values()]
        high = [max(0.0, float(row["fastest"]) - float(row["median"])) for row in mine.values()]
        bars = axes.bar(places, middle, width * 0.92, color=STYLES[engine][0], label=title(rows, engine))
        axes.errorbar(places, middle, yerr=[low, high], fmt="none", ecolor="#333333", elinewidth=0.8)
        if engine == "jeton":
            axes.bar_label(bars, fmt="%.0f", padding=3, fontsize=8)
    axes.set_xticks(range(len(kinds)), [NAMES.get(kind, kind) for kind in kinds])
    axes.set_ylabel("MB/s, one thread")
    axes.set_title(f"Text never seen before, {vocab}, documents of 2 KB", loc="left")
    axes.grid(axis="y")
    axes.legend(ncols=1, fontsize=8.5, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def worst(rows: Rows, vocab: str) -> Any:
    """Rows of inputs with a marker for each engine; logarithmic."""
    rows = [row for row in rows if row["row"] == "worst" and row["phase"] == "cold"]
    inputs = list(dict.fromkeys(row["text"] for row in rows))
    engines = [name for name in reversed(STYLES) if any(row["engine"] == name for row in rows)]  # Jeton on top
    if not rows:
        return None
    figure, axes = plt.subplots(figsize=(8, 0.28 * len(inputs) + 1.2))
    for engine in engines:
        mine = [row for row in rows if row["engine"] == engine]
        color, marker = STYLES[engine]
        axes.plot(
            [float(row["median"]) for row in mine],
            [inputs.index(row["text"]) for row in mine],
            linestyle="none",
            marker=marker,
            color=color,
            markersize=9 if engine == "jeton" else 6,
            markeredgecolor="white",
            markeredgewidth=0.6,
            label=title(rows, engine),
        )
    axes.set_yticks(range(len(inputs)), inputs)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g"))
    axes.set_xlabel("milliseconds for 1 MB, one thread (less is better); no mark: no answer")
    axes.set_title(f"Worst cases, {vocab}", loc="left")
    axes.grid(axis="both")
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], fontsize=8.5, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def scaling(rows: Rows, vocab: str) -> Any:
    """Left: time of each worst case by length. Right: speedup by threads."""
    lengths = [row for row in rows if row["row"] == "length" and row["phase"] == "cold"]
    threads = [row for row in rows if row["row"] == "threads" and row["phase"] == "unseen"]
    if not lengths or not threads:
        return None
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4))
    draw_lengths(left, lengths)
    left.set_title(f"Jeton: every worst case by length, {vocab}", loc="left", fontsize=10)
    draw_threads(right, threads)
    figure.tight_layout()
    return figure


def draw_lengths(axes: Any, rows: Rows) -> None:
    """A line for each input, with the slowest labeled; a dashed line shows linear growth."""
    slowest = max(rows, key=lambda row: float(row["median"]) * int(row["bytes"]))
    for text in dict.fromkeys(row["text"] for row in rows):
        size = [int(row["bytes"]) / 1e6 for row in rows if row["text"] == text]
        per_mb = [float(row["median"]) for row in rows if row["text"] == text]
        strong = text == slowest["text"]
        color, width = (STYLES["jeton"][0], 1.8) if strong else ("#88B8D8", 1.0)
        times = [ms * mb for ms, mb in zip(per_mb, size, strict=True)]
        axes.plot(size, times, "o-", color=color, linewidth=width, markersize=4, label=text if strong else None)
    shortest, longest = (pick(int(row["bytes"]) for row in rows) / 1e6 for pick in (min, max))
    axes.plot([shortest, longest], [10 * shortest, 10 * longest], "--", color="#333333", label="10 ms for each MB")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g"))
    axes.yaxis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g"))
    axes.set_xlabel("MB")
    axes.set_ylabel("ms")
    axes.grid()
    axes.legend(fontsize=8.5)


def draw_threads(axes: Any, rows: Rows) -> None:
    """Bars by text, with a color for each engine: speed with all threads relative to one."""
    most = max(int(row["threads"]) for row in rows)
    texts = list(dict.fromkeys(row["text"] for row in rows))
    engines = [name for name in STYLES if any(row["engine"] == name for row in rows)]
    width, highest = 0.8 / len(engines), float(most)
    for i, engine in enumerate(engines):
        speed = {(row["text"], int(row["threads"])): float(row["median"]) for row in rows if row["engine"] == engine}
        mine = [text for text in texts if (text, most) in speed and (text, 1) in speed]
        places = [texts.index(text) + (i - (len(engines) - 1) / 2) * width for text in mine]
        times = [speed[text, most] / speed[text, 1] for text in mine]
        highest = max(highest, *times, 0)
        bars = axes.bar(places, times, width * 0.92, color=STYLES[engine][0], label=title(rows, engine))
        axes.bar_label(bars, fmt="%.1f", padding=2, fontsize=8)
    axes.axhline(1, color="#333333", linewidth=0.8)
    axes.set_xticks(range(len(texts)), [text.replace(" of ", ",\n") for text in texts])
    axes.set_ylabel(f"{most} threads, times one thread")
    axes.set_ylim(0, highest * 1.25)
    axes.set_title("Threads, unseen text", loc="left", fontsize=10)
    axes.grid(axis="y")
    axes.legend(fontsize=8.5, ncols=len(engines), loc="upper center")


def title(rows: Rows, engine: str) -> str:
    version = next(row["version"] for row in rows if row["engine"] == engine and row["version"])
    return f"{engine.split()[0]} {version}"


if __name__ == "__main__":
    sys.exit(main())
