"""Checks the chat templates in a folder, without their tokenizers; prints the table and the figures of docs/chat.md.

python tools/check_templates.py FOLDER
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

import jeton
from jeton.errors import ChatTemplateError

MARKS = {True: "+", False: "–", None: "·"}
HEADINGS = ("template", "turns", "prompts", "prompt starts", "stop", "system", "tools", "reasoning", "date")


def row(name: str, facts: dict[str, Any]) -> list[str]:
    """Returns the cells of a template's row: a mark for each conversation, in the order of the report."""
    stop = facts["stop"]
    return [
        name,
        *("".join(MARKS[each] for each in facts["prefix"][kind].values()) for kind in ("turns", "prompts")),
        "".join(MARKS[each] for each in facts["prompt"]["starts"].values()),
        stop["written_by"] or ("turn" if stop["after_answer"] else "none"),
        facts["system"],
        "/".join(facts["tools"][name] for name in ("definitions", "calls", "several calls", "results")),
        "/".join(facts["reasoning"].values()),
        "–" if facts["date"] is None else facts["date"]["unit"],
    ]


def count(counts: Counter[str], facts: dict[str, Any]) -> None:
    """Adds a template's results to the figures."""
    for kind, kept in facts["prefix"].items():
        counts[f"{kind}: plain conversations keep their prefixes"] += kept["plain"] is True
        counts[f"{kind}: all conversations that are not refused keep their prefixes"] += False not in kept.values()
    starts = facts["prompt"]["starts"]
    counts["the generation prompt starts a plain reply"] += starts["plain"] is True
    counts["the generation prompt starts replies with reasoning only"] += not starts["plain"] and bool(
        starts["reasoning"]
    )
    counts["the next message writes what ends a reply"] += facts["stop"]["written_by"] == "next turn"
    for status in ("rendered", "dropped", "refused"):
        counts[f"system message {status}"] += facts["system"] == status
        counts[f"calls of tools {status}"] += facts["tools"]["calls"] == status
        counts[f"several calls at once {status}"] += facts["tools"]["several calls"] == status
    counts["reasoning of the last turn rendered"] += facts["reasoning"]["last turn"] == "rendered"
    counts["reasoning of earlier turns rendered"] += facts["reasoning"]["earlier turns"] == "rendered"
    counts["contents are stripped"] += not facts["content"]
    counts["the date is written"] += facts["date"] is not None
    counts["a spelled special token is in the text as it is"] += facts["special"]["raw"]
    counts["a spelled special token is matched"] += facts["special"]["in_ids_of_chat"]
    counts["a spelled special token changes what the template writes"] += facts["special"]["steered"]


def main() -> None:
    """Prints the table and the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    paths = sorted(parser.parse_args().folder.glob("*.jinja"))
    print("|" + "|".join(HEADINGS) + "|")
    print("|" + "---|" * len(HEADINGS))
    counts: Counter[str] = Counter()
    for path in paths:
        try:
            found = jeton.chat_check(None, path.read_text(encoding="utf-8"))
        except ChatTemplateError as error:
            found, reason = None, str(error)
        if found is None or "prefix" not in found.facts:
            counts["refused"] += 1
            print(f"|{path.stem}|{reason if found is None else found.skipped['template-prefix']}|")
            continue
        print("|" + "|".join(row(path.stem, dict(found.facts))) + "|")
        count(counts, dict(found.facts))
    print(f"\n{len(paths)} templates")
    for what, number in counts.items():
        print(f"{number:4}  {what}")


if __name__ == "__main__":
    main()
