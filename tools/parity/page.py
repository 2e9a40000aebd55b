"""The page that people read, from the tallies of a run.

A cell is the number of strings that were compared; where some differ, how many, in bold. What either side refused is
listed under the tables with the first message.
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
DETAILS = ("decode", "offsets", "spans", "pairs", "ids of no text", "bytes")


_PAGE = """# Parity

Every vocabulary that we were given, in its own library and in Jeton. Made by `tools/parity_table.py`; nothing here is
written by hand.

**{differ} of {compared} comparisons of ids differ**, over {vocabularies} vocabularies.

Run of {date} at commit `{commit}` (engine `{engine}`), with {versions}.

- Corpora: the first 5 MB each of English prose, Chinese, code (CPython's library) and documentation in Spanish,
  Portuguese and Japanese, in pieces of 400 characters; the Universal Declaration of Human Rights in some 380 languages,
  each file whole.
- Generated: {generated} strings a vocabulary, seed {seed}: tokens of the vocabulary glued together, white space,
  combining marks, emoji sequences, Han without spaces, rare scripts, control characters, long runs; every sixth with
  spellings of special tokens, whole and cut.
- Hugging Face always matches special tokens, so its rows are our `special="all"`; SentencePiece never does, so its
  rows are our default. A mode in which a library adds tokens of its own is our `add_special_tokens=True`.
- A cell says how many strings were compared; **in bold** how many differ.
- The first library of a vocabulary is its own. Where another that carries the vocabulary differs from it and from us
  alike, the cell says so.

## Ids

{ids}

## Decoding, offsets, spans

All strings of the corpora and the first {deep} generated ones. *decode*: `decode(ids)` is the library's, for the ids of
the strings; *ids of no text*: for random ids, a tenth of them special. *offsets*: `hf_offsets`, `type_ids` and
`special_tokens_mask` are those of Hugging Face; *pairs*: these for two texts through the template. *spans*:
`byte_spans` are in order and disjoint and, with `dropped`, tile the text. *bytes*: byte strings, most of them no
UTF-8, come back from
`decode_bytes(encode(x))`, and where they are UTF-8 have the ids of their text. (tiktoken's `_encode_bytes` is private
and splits what stands before invalid bytes by rules of its own, so its ids are no yardstick there.)

{details}

{lists}
"""


def render(facts: JSON, vocabularies: Sequence[JSON]) -> str:
    """The whole page.

    Args:
        facts: date, commit, engine, versions, generated, deep, seed, missing.
        vocabularies: name, same_as, error, peer_errors, results (corpus -> tallies).
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


_NOTES = {"refused": "refused", "failed": "the peer fails on", "both": "both refuse", "alone": "where it alone differs"}


def _lists(vocabularies: Sequence[JSON], compared: Sequence[JSON]) -> list[str]:
    lines = ["## Files that are refused", ""]
    refused = [vocab for vocab in vocabularies if vocab["error"] or vocab["peer_errors"]]
    for vocab in refused:
        lines.append(f"- {vocab['name']}: Jeton: {_code(vocab['error'] or 'loads it')}")
        lines += [f"  - the library: {_code(error)}" for error in vocab["peer_errors"]]
    lines += [] if refused else ["None."]
    same = [f"- {vocab['name']}: the same bytes as {vocab['same_as']}" for vocab in vocabularies if vocab["same_as"]]
    lines += ["", "## Files that are compared under another name", "", *(same or ["None."])]
    strings, differences = [], []
    for vocab in compared:
        for corpus, tallies in vocab["results"].items():
            for tally in tallies:
                what = f"{vocab['name']}, {corpus}, {tally['check']}, {tally['library']} {tally['mode']}"
                if tally["reasons"]:
                    strings.append(f"- {what}: {'; '.join(_code(reason) for reason in tally['reasons'][:1])}")
                for example in tally["examples"][:1]:
                    differences.append(
                        f"- {what}: {_code(example['text'])}\n  - ours {_code(example['ours'])}\n"
                        f"  - theirs {_code(example['theirs'])}"
                    )
    lines += ["", "## Strings that one side refuses", "", *(strings or ["None."])]
    lines += ["", "## Differences", "", *(differences or ["None."])]
    return lines


def _code(text: str) -> str:
    text = re.sub(r"(?:/[\w.-]+)+/(?=[\w.-]+:)", "", str(text))  # errors name files with the folder of this machine
    text = " ".join(text.split()).replace("`", "'").replace("|", "¦")
    return f"`{text[:300]}`"
