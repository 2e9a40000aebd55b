"""Records the tokens of real vocabularies for the playground's Classics view.

    python tools/record_classics.py FOLDER      FOLDER contains cl100k_base.tiktoken and other vocabularies

Writes recorded.json. If a vocabulary is not on the machine, the page displays these results, marked as recorded. A test
compares them with the results from the real files.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jeton
from jeton.playground.api.classics import recorded_answer
from jeton.playground.catalog import Catalog
from jeton.playground.data import read

DATA = Path(__file__).parents[1] / "python/jeton/playground/data"


def main(folder: str) -> None:
    """Computes and writes the results of all panels."""
    toks: dict[str, jeton.Tokenizer] = {"bytes": Catalog(cached=False).get("bytes")}
    recorded = {}
    for classic in read("classics.json"):
        answers = []
        for panel in classic["panels"]:
            name = panel["tokenizer"]
            if name not in toks:
                toks[name] = jeton.load(Path(folder) / f"{name}.tiktoken")
            answers.append(recorded_answer(toks[name], panel))
        recorded[classic["id"]] = answers
    lines = [f" {json.dumps(name)}: {json.dumps(answers, ensure_ascii=False)}" for name, answers in recorded.items()]
    (DATA / "recorded.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
