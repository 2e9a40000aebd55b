"""Audits the vocabularies of a folder, and prints the table of docs/auditing.md.

python tools/audit_vocabularies.py FOLDER
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import jeton

# File -> (name in the table, pattern). Only rank files (.tiktoken) need a pattern; for other files, it is None.
FILES = {
    "r50k_base.tiktoken": ("r50k (GPT-2)", "gpt2"),
    "cl100k_base.tiktoken": ("cl100k", "cl100k"),
    "o200k_base.tiktoken": ("o200k", "o200k"),
    "llama3.tiktoken": ("Llama 3", "llama3"),
    "gpt-neox-20b.tokenizer.json": ("GPT-NeoX", None),
    "falcon.tokenizer.json": ("Falcon", None),
    "whisper-tiny.tokenizer.json": ("Whisper", None),
    "phi-3-mini.tokenizer.json": ("Phi-3", None),
    "mistral-v1.model": ("Mistral v1", None),
    "t5-small.tokenizer.json": ("T5", None),
    "mbart-en-fairseq.tokenizer.json": ("mBART (English)", None),
    "bert-uncased.vocab.txt": ("BERT (excerpt)", None),
}
HEADINGS = "vocabulary|entries|reached|unreachable|of them not bytes|undecided|not alone|partial|private|digits|seconds"


def row(path: Path, name: str, pattern: str | None) -> list[str]:
    """Returns the cells of a vocabulary's row."""
    tok = jeton.load(path, pattern=pattern)
    start = time.process_time()
    found = jeton.audit(tok, progress=False)
    seconds = time.process_time() - start
    fates = found.facts["fates"]

    def count(rule: str) -> int:
        return found[rule].count if rule in found else 0

    reasons = dict(found["unreachable"].facts["by_reason"]) if "unreachable" in found else {}
    bytes_only = reasons.pop("not UTF-8", 0) + reasons.pop("character", 0)
    others = ", ".join(f"{reason} {number:,}" for reason, number in reasons.items())
    return [
        name,
        f"{found.facts['entries']:,}",
        f"{fates['reached']:,}",
        f"{bytes_only + sum(reasons.values()):,}",
        others or "–",
        f"{fates['undecided']:,}",
        f"{count('not-canonical'):,}",
        f"{count('partial-characters'):,}",
        f"{count('private-data'):,}",
        str(found["digits"].facts["longest"]),
        f"{seconds:.1f}",
    ]


def main() -> None:
    """Prints the table in Markdown."""
    parser = argparse.ArgumentParser(description="Audit the vocabularies of a folder.")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    print(f"| {HEADINGS.replace('|', ' | ')} |")
    print(f"|---|{'---:|' * 3}---|{'---:|' * 6}")
    for file, (name, pattern) in FILES.items():
        print(f"| {' | '.join(row(folder / file, name, pattern))} |", flush=True)


if __name__ == "__main__":
    main()
