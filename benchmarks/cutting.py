"""Splitting a text into chunks within a limit of tokens: speed, chunks over the limit, comparison with splitters.

``JETON_TEST_DATA=… python benchmarks/cutting.py`` splits text of the corpora with cl100k, and with
semantic-text-splitter, langchain-text-splitters and chonkie in alternating rounds of the same process. For each
splitter it counts the chunks whose own number of tokens, encoded again, exceeds the limit, and whether the chunks
joined are the text. Times are CPU time. Then it times texts of 1 to 8 MB, and 100,000 appends to a growing text.

The splitters are not dependencies of Jeton:
``pip install langchain-text-splitters==1.1.3 chonkie==1.7.0 semantic-text-splitter==0.33.1 tiktoken``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corpora import CORPORA, corpus
from harness import record

import jeton

LIMITS = (32, 512)
SIZES_MB = (1, 2, 4, 8)
APPENDS, APPENDED = 100_000, 10
COLUMNS = ("corpus", "limit", "splitter", "megabytes", "mb_per_s", "times_slower", "chunks", "over_limit", "joins")
Split = Callable[[str], list[str]]


def peers(tok: jeton.Tokenizer, path: Path, limit: int) -> dict[str, Split]:
    """Splitters by name, each with the vocabulary cl100k."""
    import tiktoken
    from chonkie import TokenChunker
    from langchain_text_splitters import Tokenizer as LangchainTokenizer
    from langchain_text_splitters import split_text_on_tokens
    from semantic_text_splitter import TextSplitter
    from tiktoken.load import load_tiktoken_bpe

    encoding = tiktoken.Encoding(
        "cl100k", pat_str=PATTERN, mergeable_ranks=load_tiktoken_bpe(str(path)), special_tokens={}
    )
    own = LangchainTokenizer(
        chunk_overlap=0, tokens_per_chunk=limit, decode=encoding.decode, encode=encoding.encode_ordinary
    )
    chunker = TokenChunker(tokenizer=encoding, chunk_size=limit, chunk_overlap=0)
    semantic = TextSplitter.from_tiktoken_model("gpt-4", limit, trim=False)
    return {
        "langchain-text-splitters": lambda text: split_text_on_tokens(text=text, tokenizer=own),
        "chonkie": lambda text: [chunk.text for chunk in chunker.chunk(text)],
        "semantic-text-splitter": semantic.chunks,
    }


PATTERN = (  # of cl100k
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|"
    r"\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)


def seconds(work: Callable[[], object]) -> float:
    """CPU time of a call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def compared(tok: jeton.Tokenizer, path: Path, name: str, limit: int, size: int, rounds: int) -> list[dict[str, Any]]:
    """Rows of one corpus and limit."""
    text = corpus(name, 0)[: 8 << 20].decode("utf-8", "ignore")
    text = text[len(text) // 2 :].encode()[:size].decode("utf-8", "ignore")
    splitters: dict[str, Split] = {"jeton": lambda text: [chunk.text for chunk in tok.split(text, limit)]}
    splitters |= peers(tok, path, limit)
    took: dict[str, list[float]] = {splitter: [] for splitter in splitters}
    found: dict[str, list[str]] = {}
    for turn in range(rounds + 1):
        for splitter, split in splitters.items():
            if splitter == "semantic-text-splitter" and turn > 1:
                continue  # it takes a hundred times as long
            elapsed = seconds(lambda split=split, splitter=splitter: found.__setitem__(splitter, split(text)))
            if turn or splitter == "semantic-text-splitter":
                took[splitter].append(elapsed)
    ours = statistics.median(took["jeton"])
    rows = []
    for splitter, chunks in found.items():
        median = statistics.median(took[splitter])
        over = sum(count > limit for count in tok.count_batch(chunks))
        rows.append(
            {
                "corpus": name,
                "limit": limit,
                "splitter": splitter,
                "megabytes": f"{len(text.encode()) / 1e6:.2f}",
                "mb_per_s": f"{len(text.encode()) / median / 1e6:.2f}",
                "times_slower": f"{median / ours:.1f}",
                "chunks": len(chunks),
                "over_limit": over,
                "joins": "".join(chunks) == text,
            }
        )
    return rows


def by_size(tok: jeton.Tokenizer, limit: int, rounds: int) -> list[dict[str, Any]]:
    """Rows of texts of several sizes."""
    text = corpus("english", 0)[: SIZES_MB[-1] * 1_100_000].decode("utf-8", "ignore")
    rows = []
    for size in SIZES_MB:
        part = text[: size * 1_000_000]
        median = statistics.median(seconds(lambda part=part: tok.split(part, limit)) for _ in range(rounds))
        rows.append(
            {
                "corpus": "english",
                "limit": limit,
                "splitter": "jeton",
                "megabytes": size,
                "mb_per_s": f"{len(part.encode()) / median / 1e6:.1f}",
            }
        )
    return rows


def growing(tok: jeton.Tokenizer) -> dict[str, Any]:
    """Times appends to a growing text; the ids are compared with those of the whole text."""
    text = corpus("english", 0)[: 2 * APPENDS * APPENDED].decode("utf-8", "ignore")[: APPENDS * APPENDED]
    parts = [text[at : at + APPENDED] for at in range(0, len(text), APPENDED)]
    growing, ids, took = tok.growing(), list[int](), []
    for start in range(0, len(parts), APPENDS // 10):
        took.append(
            seconds(lambda start=start: [growing.append(part) for part in parts[start : start + APPENDS // 10]])
        )
    again = tok.growing()
    for part in parts[: APPENDS // 10]:
        start, new = again.append(part)
        ids[start:] = new
    same = ids == tok.encode("".join(parts[: APPENDS // 10])) and growing.num_tokens == tok.count(text)
    return {"seconds": sum(took), "last tenth / first": took[-1] / took[0], "equal": same}


def main() -> int:
    """Runs the command; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bytes", type=int, default=500_000, help="bytes of each corpus (default: 500,000)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=CORPORA, help="corpora")
    parser.add_argument("--output", type=Path, help="output file (default: replace the record)")
    asked = parser.parse_args()
    if "JETON_TEST_DATA" not in os.environ:
        raise SystemExit("set JETON_TEST_DATA to the folder of corpora and vocabularies")
    path = Path(os.environ["JETON_TEST_DATA"], "vocabs", "cl100k_base.tiktoken")
    tok = jeton.load(path)
    rows = []
    for name in asked.only:
        for limit in LIMITS:
            rows += (new := compared(tok, path, name, limit, asked.bytes, asked.rounds))
            for row in new:
                print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    for row in by_size(tok, 512, asked.rounds):
        rows.append(row)
        print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    print("100,000 appends of 10 characters:", ", ".join(f"{key} {value}" for key, value in growing(tok).items()))
    is_complete = tuple(asked.only) == CORPORA and asked.rounds >= 5
    record.write(asked.output or record.destination("cutting", complete=is_complete), COLUMNS, rows)
    ours = [row for row in rows if row["splitter"] == "jeton"]
    return 4 if any(row.get("over_limit") or row.get("joins") is False for row in ours) else 0


if __name__ == "__main__":
    sys.exit(main())
