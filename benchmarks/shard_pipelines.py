"""Pipelines of other libraries from JSON Lines to files of ids, for `shards.py`; each has an environment of its own.

Each reads the files of a folder in order, encodes the field "text", appends eos to each document and writes ids. All
run in `threads` processes, the way their documentation describes. Afterwards, untimed, the ids are read back for the
comparison.

```text
megatron   the recipe of Megatron-LM's preprocess_data: a pool encodes single lines; the parent writes .bin and .idx
datatrove  its local executor with JsonlReader and MegatronDocumentTokenizer
datasets   load_dataset("json"), then map in batches with a fast tokenizer of transformers, to its Arrow cache
tiktoken   a pool of processes, each with whole files: encode_ordinary_batch, NumPy, one file of ids each
```
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import struct
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["PIPELINES"]

# name -> pinned packages; the first is the version that is recorded
PIPELINES = {
    "megatron": ("tokenizers==0.23.3", "numpy==2.4.6"),
    "datatrove": ("datatrove[io,processing]==0.10.1", "tokenizers==0.23.3", "numpy==2.4.6"),
    "datasets": ("datasets==5.2.0", "transformers==5.23.0", "tokenizers==0.23.3", "numpy==2.4.6"),
    "tiktoken": ("tiktoken==0.14.0", "numpy==2.4.6"),
}
EOS = "<|endoftext|>"
CHUNK = 32  # lines for a worker at a time, as in Megatron's script

Ids = NDArray[Any]
_state: dict[str, Any] = {}  # of a worker


def files_of(corpus: Path) -> list[Path]:
    return sorted(corpus.iterdir())


# ── Megatron's recipe ─────────────────────────────────────────────────────────────────────────────────────────────────


def start_megatron(tokenizer: str) -> None:
    from tokenizers import Tokenizer

    tok = Tokenizer.from_file(tokenizer)
    tok.encode_special_tokens = True
    _state["tok"], _state["eos"] = tok, tok.token_to_id(EOS)


def encode_line(line: str) -> list[int]:
    return [*_state["tok"].encode(json.loads(line)["text"], add_special_tokens=False).ids, _state["eos"]]


def megatron(corpus: Path, output: Path, vocab: dict[str, Any], threads: int) -> None:
    lengths = []
    with (
        multiprocessing.Pool(threads, start_megatron, (vocab["json"],)) as pool,
        open(output / "ids.bin", "wb") as out,
    ):
        for path in files_of(corpus):
            with open(path, encoding="utf-8") as lines:
                for ids in pool.imap(encode_line, lines, CHUNK):
                    out.write(np.array(ids, np.int32).tobytes())
                    lengths.append(len(ids))
    sizes = np.array(lengths, np.int32)
    starts = np.cumsum(sizes, dtype=np.int64) * 4 - sizes * 4
    with open(output / "ids.idx", "wb") as index:
        index.write(b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, 4, len(sizes), len(sizes) + 1))
        index.write(sizes.tobytes() + starts.tobytes() + np.arange(len(sizes) + 1, dtype=np.int64).tobytes())


def megatron_ids(output: Path) -> Ids:
    return np.fromfile(output / "ids.bin", np.int32)


# ── datatrove ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def datatrove(corpus: Path, output: Path, vocab: dict[str, Any], threads: int) -> None:
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.tokens.megatron_tokenizer import MegatronDocumentTokenizer

    steps = [
        JsonlReader(str(corpus)),
        MegatronDocumentTokenizer(
            output_folder=str(output / "ids"), tokenizer_name_or_path=vocab["json"], eos_token=EOS
        ),
    ]
    LocalPipelineExecutor(
        pipeline=steps, tasks=len(files_of(corpus)), workers=threads, logging_dir=str(output / "logs")
    ).run()


def datatrove_ids(output: Path) -> Ids:
    found = []
    for path in sorted((output / "ids").glob("*.bin")):
        code = path.with_suffix(".idx").read_bytes()[17]
        found.append(np.fromfile(path, {8: "<u2", 4: "<i4"}[code]))
    return np.concatenate(found)


# ── datasets ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def encode_rows(rows: dict[str, list[str]], tok: Any, eos: int) -> dict[str, Any]:
    found = tok(rows["text"], add_special_tokens=False, return_attention_mask=False, return_token_type_ids=False)
    return {"input_ids": [[*ids, eos] for ids in found["input_ids"]]}


def datasets(corpus: Path, output: Path, vocab: dict[str, Any], threads: int) -> None:
    import datasets as library
    from transformers import PreTrainedTokenizerFast

    library.disable_progress_bars()
    tok = PreTrainedTokenizerFast(tokenizer_file=vocab["json"], split_special_tokens=True)
    names = [str(path) for path in files_of(corpus)]
    rows = library.load_dataset("json", data_files=names, split="train", cache_dir=str(output))
    made = rows.map(
        partial(encode_rows, tok=tok, eos=vocab["eos"]),
        batched=True,
        num_proc=threads,
        remove_columns=rows.column_names,
    )
    _state["made"] = made


def datasets_ids(output: Path) -> Ids:
    made = _state["made"].with_format("arrow")
    return np.concatenate([np.asarray(part["input_ids"].combine_chunks().flatten()) for part in made.iter(10_000)])


# ── tiktoken ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def start_tiktoken(vocab: dict[str, Any]) -> None:
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    ranks = load_tiktoken_bpe(vocab["ranks"])
    _state["tok"] = tiktoken.Encoding(
        "shards", pat_str=vocab["pattern"], mergeable_ranks=ranks, special_tokens={EOS: vocab["eos"]}
    )
    _state["eos"] = vocab["eos"]


def encode_file(path: Path, output: Path) -> int:
    with open(path, encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    eos = [_state["eos"]]
    with open(output / f"{path.stem}.bin", "wb") as out:
        for ids in _state["tok"].encode_ordinary_batch(texts, num_threads=1):
            out.write(np.array(ids + eos, np.int32).tobytes())
    return len(texts)


def tiktoken(corpus: Path, output: Path, vocab: dict[str, Any], threads: int) -> None:
    with ProcessPoolExecutor(threads, initializer=start_tiktoken, initargs=(vocab,)) as pool:
        for _ in pool.map(encode_file, files_of(corpus), [output] * len(files_of(corpus))):
            pass


def tiktoken_ids(output: Path) -> Ids:
    return np.concatenate([np.fromfile(path, np.int32) for path in sorted(output.glob("*.bin"))])


def main() -> None:
    name, corpus, output, vocab, threads = sys.argv[1:]
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    Path(output).mkdir(parents=True)
    run, read = globals()[name], globals()[f"{name}_ids"]
    began = time.perf_counter()
    run(Path(corpus), Path(output), json.loads(Path(vocab).read_text("utf-8")), int(threads))
    wall = time.perf_counter() - began
    Path(output).with_suffix(".end").touch()  # the rest is not measured
    ids = read(Path(output)).astype("<i4")
    print(json.dumps({"wall": wall, "tokens": len(ids), "digest": hashlib.sha256(ids.tobytes()).hexdigest()}))


if __name__ == "__main__":
    main()
