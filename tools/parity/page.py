"""Rendering of docs/parity.md from the tallies of a run.

A table cell contains the number of compared strings. If results differ, the number of differences comes first, in bold.
Lists after the tables: refused files, identical files, refused strings and differences. For each comparison, the list
of refused strings has only the message of the first refusal, and the list of differences has only the first difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from .texts import CORPORA, GENERATED

__all__ = ["render"]

JSON: TypeAlias = Mapping[str, Any]
COLUMNS = (*CORPORA, GENERATED)
HEADS = {"docs_es_pt_ja": "docs es, pt, ja", "udhr": "UDHR"}
DETAILS = ("decode", "offsets", "spans", "pairs", "random ids", "bytes")


_PAGE = """# Parity

Comparison of Jeton with the original library of each vocabulary. `tools/parity_table.py` generates this page.

**{differ} of {compared} comparisons of ids differ**, over {vocabularies} vocabularies.

Run of {date} at commit `{commit}` (engine `{engine}`), with {versions}.

- Corpora: the first 5 MB each of English prose, Chinese, code (CPython's library) and documentation in Spanish,
  Portuguese and Japanese, in strings of 400 characters; the Universal Declaration of Human Rights in some 380
  languages, each file as one string.
- Generated: {generated} strings for each vocabulary, seed {seed}: random tokens of the vocabulary, white space,
  combining marks, emoji sequences, Han without spaces, rare scripts, control characters, long runs. Every sixth
  contains special tokens, complete or truncated.
- Hugging Face always matches special tokens, so its rows are compared with `special="all"`. SentencePiece never does,
  so its rows are compared with the default. Modes in which a library adds tokens are compared with
  `add_special_tokens=True`.
- A cell is the number of strings compared; **bold**: the number of differences.
- The first library of a vocabulary is its original one. The cells of other libraries tell how often they differ from
  both the original library and Jeton.

## Ids

{ids}

## Decoding, offsets, spans

All strings of the corpora, and the first {deep} generated ones.

- *decode*: `decode(ids)` equals the library's, for the ids of the strings.
- *random ids*: likewise, for random ids, a tenth of them special tokens.
- *offsets*: `hf_offsets`, `type_ids` and `special_tokens_mask` equal those of Hugging Face.
- *pairs*: likewise, for two texts with the template.
- *spans*: `byte_spans` are ascending and disjoint and, with `dropped`, tile the text.
- *bytes*: `decode_bytes(encode(x))` returns x for byte strings, most of them invalid UTF-8; valid ones have the ids of
  their text. (tiktoken's `_encode_bytes` is private and splits text before invalid bytes differently, so it is not
  compared.)

{details}

{lists}
"""


def render(facts: JSON, vocabularies: Sequence[JSON]) -> str:
    """Renders the page.

    Args:
        facts: mapping with the keys date, commit, engine, versions, generated, deep, seed.
        vocabularies: mappings with the keys name, same_as, error, peer_errors, results (corpus -> tallies).
    """
    compared = [vocab for vocab in vocabularies if not vocab["error"] and not vocab["same_as"] and vocab["results"]]
    tallies = [tally for vocab in compared for result in vocab["results"].values() for tally in result]
    ids = [tally for tally in tallies if tally["check"] == "ids"]
    return (
        _PAGE.format(
            differ=_number(ids, "differ"),
            compared=_number(ids, "compared"),
            vocabularies=len(compared),
            date=facts["date"],
            commit=facts["commit"],
            engine=facts["engine"],
            versions=", ".join(facts["versions"]),
            generated=f"{facts['generated']:,}",
            deep=f"{facts['deep']:,}",
            seed=facts["seed"],
            ids="\n".join(_table(compared, "ids")),
            details="\n".join(_table(compared, *DETAILS)),
            lists="\n".join(_lists(vocabularies, compared)),
        ).rstrip()
        + "\n"
    )


def _number(tallies: Iterable[JSON], name: str) -> str:
    return f"{sum(tally[name] for tally in tallies):,}"


def _table(vocabularies: Sequence[JSON], *checks: str) -> list[str]:
    several = len(checks) > 1
    head = [
        "vocabulary",
        *(["check"] if several else []),
        "library",
        "mode",
        *(HEADS.get(name, name) for name in COLUMNS),
    ]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * (len(head) - len(COLUMNS)) + "---:|" * len(COLUMNS)]
    for vocab in vocabularies:
        rows: dict[tuple[str, str, str], dict[str, JSON]] = {}
        for corpus, tallies in vocab["results"].items():
            for tally in tallies:
                if tally["check"] in checks:
                    rows.setdefault((tally["check"], tally["library"], tally["mode"]), {})[corpus] = tally
        for check, library, mode in sorted(rows, key=lambda row: checks.index(row[0])):
            cells = [_cell(rows[check, library, mode].get(corpus)) for corpus in COLUMNS]
            first = [vocab["name"], *([check] if several else []), library, mode]
            lines.append("| " + " | ".join([*first, *cells]) + " |")
    return lines


def _cell(tally: JSON | None) -> str:
    if tally is None:
        return ""
    compared = f"{tally['compared']:,}"
    if tally["differ"]:
        compared = f"**{tally['differ']:,}** of {compared}"
    notes = [f"{tally[name]:,} {word}" for name, word in _NOTES.items() if tally[name]]
    return compared + "".join(f", {note}" for note in notes)


_NOTES = {
    "refused": "refused by Jeton",
    "failed": "refused by the library",
    "both": "refused by both",
    "alone": "different in this library only",
}


def _lists(vocabularies: Sequence[JSON], compared: Sequence[JSON]) -> list[str]:
    lines = ["## Refused files", ""]
    refused = [vocab for vocab in vocabularies if vocab["error"] or vocab["peer_errors"]]
    for vocab in refused:
        lines.append(f"- {vocab['name']}: Jeton: {_code(vocab['error'] or 'accepted')}")
        lines += [f"  - library: {_code(error)}" for error in vocab["peer_errors"]]
    lines += [] if refused else ["None."]
    same = [f"- {vocab['name']}: identical to {vocab['same_as']}" for vocab in vocabularies if vocab["same_as"]]
    lines += ["", "## Identical files", "", *(same or ["None."])]
    strings, differences = [], []
    for vocab in compared:
        for corpus, tallies in vocab["results"].items():
            for tally in tallies:
                what = f"{vocab['name']}, {corpus}, {tally['check']}, {tally['library']} {tally['mode']}"
                if tally["reasons"]:
                    strings.append(f"- {what}: {'; '.join(_code(reason) for reason in tally['reasons'][:1])}")
                for example in tally["examples"][:1]:
                    differences.append(
                        f"- {what}: {_code(example['text'])}\n  - Jeton: {_code(example['ours'])}\n"
                        f"  - library: {_code(example['theirs'])}"
                    )
    lines += ["", "## Refused strings", "", *(strings or ["None."])]
    lines += ["", "## Differences", "", *(differences or ["None."])]
    return lines


def _code(text: str) -> str:
    text = re.sub(r"(?:/[\w.-]+)+/(?=[\w.-]+:)", "", str(text))  # removes paths of local folders from messages
    text = " ".join(text.split()).replace("`", "'").replace("|", "¦")
    return f"`{text[:300]}`"
