"""Training speed and memory of Jeton's tie rules and of peers.

``python benchmarks/training.py`` runs all cases, prints a table and replaces ``record/training.csv``. Peers run
in separate environments, created on first use. Each measurement is a new process, for exact memory figures. Runners
alternate in rounds, and medians are reported. Merges are compared first: if runners of a group differ, the difference
is printed instead of times, and the exit code is 4.

In the cases named ``peers`` a call from Python is timed, from a folder of files to a saved file. Peers with other rules
(patterns of ffbpe and gigatoken, characters of SentencePiece) form separate groups, whose merges are only compared
between rounds.

Left out: encoding.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import importlib.metadata
import json
import logging
import os
import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from corpora import SENTENCE, documents, write_corpora, write_documents
from harness import record
from harness.environments import EngineSetup, interpreter

RULES = ("lowest_ids", "first", "highest_pair", "shortest")
DIFFERENT = 4
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
TRAINERS = {
    name: EngineSetup(name, "", packages)
    for name, packages in {
        "jeton": (),
        "tokenizers": ("tokenizers==0.23.3",),
        "rustbpe": ("rustbpe==0.1.0",),
        "ffbpe": ("ffbpe==0.1.10",),
        "gigatoken": ("gigatoken==0.10.0", "awkward==2.14.0", "numpy==2.4.6"),
        "sentencepiece": ("sentencepiece==0.2.3",),
    }.items()
}


@dataclass(frozen=True)
class Runner:
    """A library with options; `same_as` is its group, in which all must learn the same merges."""

    name: str
    library: str
    same_as: str
    options: dict[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Case:
    """A corpus and a vocabulary size, with the runners to compare."""

    name: str
    corpus: str
    vocab_size: int
    pattern: str
    runners: tuple[Runner, ...]


@dataclass(frozen=True)
class Result:
    """Result of one process."""

    seconds: float
    peak_mib: float
    merges: int
    digest: str


def rules(pattern: str, min_frequency: int, *names: str) -> tuple[Runner, ...]:
    """Runners of Jeton for these tie rules."""
    options = {"pattern": pattern, "min_frequency": min_frequency}
    return tuple(Runner(rule, "jeton", rule, {**options, "tie_break": rule}) for rule in names)


def cases(min_frequency: int) -> list[Case]:
    as_hf = {"pattern": "gpt2", "preset": "hf"}
    as_rustbpe = {"pattern": "gpt2", "tie_break": "lowest_ids"}
    peers = (
        Runner("jeton, preset hf", "jeton", "hf", as_hf),
        Runner("tokenizers", "tokenizers", "hf"),
        Runner("jeton, lowest_ids", "jeton", "rustbpe", as_rustbpe),
        Runner("rustbpe", "rustbpe", "rustbpe"),
        Runner("ffbpe", "ffbpe", "ffbpe"),
        Runner("gigatoken", "gigatoken", "gigatoken"),
        Runner("sentencepiece", "sentencepiece", "sentencepiece"),
    )
    return [
        Case("tiny: one sentence", "tiny", 300, "gpt2", peers[:4]),
        *(
            Case(f"peers: {corpus}, {vocab_size:,}", corpus, vocab_size, "gpt2", peers)
            for corpus in ("english", "all")
            for vocab_size in (32_000, 128_000)
        ),
        Case("tie rules: english", "english", 32_000, "o200k", rules("o200k", min_frequency, *RULES)),
        Case("tie rules: 1 MB, no pretokens", "english 1 MB", 32_000, "none", rules("none", min_frequency, *RULES)),
        Case("pathological: one byte", "one byte", 32_000, "none", rules("none", min_frequency, *RULES)),
        Case("pathological: random bytes", "random", 32_000, "none", rules("none", min_frequency, *RULES)),
        Case("large: all corpora", "all", 32_000, "o200k", rules("o200k", min_frequency, "lowest_ids", "first")),
    ]


# ── one measurement, in a separate process ────────────────────────────────────────────────────────────────────────


def measure_here(library: str, path: Path, whole: bool, vocab_size: int, options: dict[str, Any]) -> Result:
    """Trains once. Timed: splitting, counting and learning, from documents in memory to a tokenizer.

    If `path` is a folder, from its files to a saved file. Each library trains on one sentence before, so that imports
    and the first start of threads are not timed.
    """
    learn = LEARN[library]
    if path.is_dir():  # the case is from files to a file
        with tempfile.TemporaryDirectory() as name:
            warm = Path(name, "warm")
            warm.mkdir()
            Path(warm, "0.txt").write_text(SENTENCE * 20, encoding="utf-8")
            learn(Files(warm, Path(name, "warm.out")), 300, options)
            seconds, tokens = learn(Files(path, Path(name, "out")), vocab_size, options)
    else:
        texts = documents(path, whole=whole)
        learn([SENTENCE], 260, options)
        seconds, tokens = learn(texts, vocab_size, options)
    peak_mib = peak_memory()
    digest = hashlib.sha256()
    num_merges = 0
    for token in tokens:  # a token of plain BPE has one derivation, so equal tokens in equal order are equal merges
        digest.update(len(token).to_bytes(8, "little") + token)
        num_merges += 1
    return Result(seconds, peak_mib, num_merges, digest.hexdigest())


def peak_memory() -> float:
    """Peak memory in MiB. On Linux `ru_maxrss` includes the parent's peak, so it is not used there."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2  # bytes, on macOS


Learned = tuple[float, Iterable[bytes]]


@dataclass(frozen=True)
class Files:
    """A folder of documents, and an output path; iterating reads the documents."""

    folder: Path
    output: Path

    @property
    def paths(self) -> list[Path]:
        return sorted(self.folder.iterdir())

    def __iter__(self) -> Iterator[str]:
        for path in self.paths:
            with open(path, encoding="utf-8", newline="") as file:
                yield file.read()


Texts = list[str] | Files


def learn_jeton(texts: Texts, vocab_size: int, options: dict[str, Any]) -> Learned:
    import jeton

    began = time.perf_counter()
    if isinstance(texts, Files):
        tok = jeton.train(texts.folder, vocab_size, progress=False, **options)
        tok.save(texts.output, format="tokenizer.json")
    else:
        tok = jeton.train(texts, vocab_size, progress=False, **options)
    seconds = time.perf_counter() - began
    return seconds, (tok.vocab[new] for _, _, new in tok.merges)


def learn_tokenizers(texts: Texts, vocab_size: int, options: dict[str, Any]) -> Learned:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, show_progress=False, initial_alphabet=alphabet)
    began = time.perf_counter()
    tok.train_from_iterator(iter(texts), trainer)
    if isinstance(texts, Files):
        tok.save(str(texts.output))
    seconds = time.perf_counter() - began
    spelled = byte_alphabet()
    merges = json.loads(tok.to_str())["model"]["merges"]
    return seconds, (bytes(spelled[character] for character in left + right) for left, right in merges)


def learn_rustbpe(texts: Texts, vocab_size: int, options: dict[str, Any]) -> Learned:
    import rustbpe

    tok = rustbpe.Tokenizer()
    began = time.perf_counter()
    tok.train_from_iterator(iter(texts), vocab_size=vocab_size, pattern=GPT2)
    if isinstance(texts, Files):  # no file format of its own: saves the form that tiktoken reads
        ranks = ((base64.b64encode(bytes(token)).decode(), rank) for token, rank in tok.get_mergeable_ranks())
        texts.output.write_text("".join(f"{token} {rank}\n" for token, rank in ranks))
    seconds = time.perf_counter() - began
    return seconds, (bytes(token) for token, rank in tok.get_mergeable_ranks() if rank >= 256)


def learn_ffbpe(texts: Texts, vocab_size: int, options: dict[str, Any]) -> Learned:
    import ffbpe

    began = time.perf_counter()
    model = ffbpe.train_bpe(iter(texts), vocab_size=vocab_size)
    if isinstance(texts, Files):
        model.save("x", outdir=str(texts.output.parent))
    seconds = time.perf_counter() - began
    return seconds, sorted(model.vocab, key=model.vocab.__getitem__)[256:]


def learn_gigatoken(texts: Texts, vocab_size: int, options: dict[str, Any]) -> Learned:
    import gigatoken

    if not isinstance(texts, Files):
        raise TypeError("gigatoken trains from files")
    began = time.perf_counter()
    result = gigatoken.train_bpe(gigatoken.TextFileSource([str(path) for path in texts.paths]), vocab_size, [])
    with open(texts.output, "wb") as file:
        pickle.dump(result, file)  # no file format of its own
    seconds = time.perf_counter() - began
    vocab = result[0] if isinstance(result, tuple) else result
    return seconds, (repr(entry).encode() for entry in (vocab.items() if isinstance(vocab, dict) else vocab))


def learn_sentencepiece(texts: Texts, vocab_size: int, options: dict[str, Any]) -> Learned:
    import sentencepiece

    if not isinstance(texts, Files):
        raise TypeError("sentencepiece trains from files")
    began = time.perf_counter()
    sentencepiece.SentencePieceTrainer.train(
        input=[str(path) for path in texts.paths],
        model_prefix=str(texts.output),
        vocab_size=vocab_size,
        model_type="bpe",
        byte_fallback=True,
        hard_vocab_limit=False,
        max_sentence_length=1 << 30,
        num_threads=int(os.environ["RAYON_NUM_THREADS"]),
        minloglevel=2,
    )
    seconds = time.perf_counter() - began
    model = sentencepiece.SentencePieceProcessor(model_file=f"{texts.output}.model")
    return seconds, (model.id_to_piece(id).encode() for id in range(model.get_piece_size()))


LEARN = {
    "jeton": learn_jeton,
    "tokenizers": learn_tokenizers,
    "rustbpe": learn_rustbpe,
    "ffbpe": learn_ffbpe,
    "gigatoken": learn_gigatoken,
    "sentencepiece": learn_sentencepiece,
}


def byte_alphabet() -> dict[str, int]:
    """GPT-2's byte alphabet, as in `tokenizers`."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + i): byte for i, byte in enumerate(others)}


def version(library: str) -> str:
    pins = TRAINERS[library].packages
    return pins[0].replace("==", " ") if pins else f"jeton {importlib.metadata.version('jeton')}"


# ── rounds, comparison, report ────────────────────────────────────────────────────────────────────────────────────


def take_turns(
    case: Case, folder: Path, rounds: int, threads: int, pythons: dict[str, Path]
) -> dict[Runner, list[Result]]:
    results: dict[Runner, list[Result]] = {}
    path = folder / case.corpus
    if case.name.startswith("peers"):
        path = folder / f"{case.corpus} documents"
        write_documents(folder / case.corpus, path)
    for turn in range(rounds):
        for runner in case.runners:
            if runner.library not in pythons:
                continue
            print(f"{case.name}: round {turn + 1}, {runner.name}", file=sys.stderr, flush=True)
            whole = case.pattern == "none"
            job = [runner.library, str(path), whole, case.vocab_size, runner.options]
            command = [str(pythons[runner.library]), __file__, "--child", json.dumps(job)]
            environment = {**os.environ, "RAYON_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "true"}
            done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=True)
            results.setdefault(runner, []).append(Result(**json.loads(done.stdout.splitlines()[-1])))
    return results


def differences(results: dict[Runner, list[Result]]) -> list[str]:
    """Runners whose merges differ within their group, or between rounds."""
    found: dict[str, dict[str, set[str]]] = {}
    for runner, rounds in results.items():
        for result in rounds:
            found.setdefault(runner.same_as, {}).setdefault(result.digest, set()).add(f"{runner.name}: {result.merges}")
    return [f"{group}: {list(map(sorted, sides.values()))}" for group, sides in found.items() if len(sides) > 1]


def rows(case: Case, results: dict[Runner, list[Result]], size: int, threads: int) -> Iterable[dict[str, Any]]:
    for runner, rounds in results.items():
        seconds = [result.seconds for result in rounds]
        yield {
            "case": case.name,
            "corpus_bytes": size,
            "vocab_size": case.vocab_size,
            "pattern": case.pattern,
            "min_frequency": runner.options.get("min_frequency", 1),
            "runner": runner.name,
            "version": version(runner.library),
            "threads": threads,
            "rounds": len(rounds),
            "merges": rounds[0].merges,
            "same_merges": runner.same_as,
            "seconds_median": f"{statistics.median(seconds):.4f}",
            "seconds_min": f"{min(seconds):.4f}",
            "seconds_max": f"{max(seconds):.4f}",
            "peak_mib": f"{statistics.median(result.peak_mib for result in rounds):.0f}",
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="number of threads of all runners")
    parser.add_argument("--megabytes", type=float, default=1_000.0, help="maximum size of each corpus")
    # Pairs that occur once are irrelevant, and merging them yields tokens as long as the text.
    parser.add_argument(
        "--min-frequency",
        type=int,
        default=2,
        help="minimum count of merged pairs, in the cases that compare tie rules",
    )
    default = Path.home() / ".cache" / "jeton-bench"
    parser.add_argument("--environments", type=Path, default=default, help="folder of the virtual environments")
    parser.add_argument("--peers", default=",".join(TRAINERS), help="libraries to run, separated by commas")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--output", type=Path, help="output file (default: a complete run replaces its record)")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        logging.disable()  # an early stop is visible in the record: it has fewer merges
        library, path, *rest = json.loads(args.child)
        print(json.dumps(asdict(measure_here(library, Path(path), *rest))))
        return 0
    chosen = [case for case in cases(args.min_frequency) if args.only in case.name]
    if not chosen:
        names = ", ".join(case.name for case in cases(args.min_frequency))
        parser.error(f"no case has {args.only!r} in its name; cases: {names}")
    measured: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = write_corpora(folder, args.megabytes)
        for case in chosen:
            libraries = {runner.library for runner in case.runners} & set(args.peers.split(","))
            pythons = {name: interpreter(TRAINERS[name], args.environments) for name in libraries}
            results = take_turns(case, folder, args.rounds, args.threads, pythons)
            if different := differences(results):
                print(f"{case.name}: different merges, so no times", *different, sep="\n  ")
                return DIFFERENT
            size = (folder / case.corpus).stat().st_size
            found = list(rows(case, results, size, args.threads))
            print(f"\n{case.name} ({source}, {size:,} bytes, {case.vocab_size:,} tokens, pattern {case.pattern})")
            for row in found:
                print("  {runner:<20} {seconds_median:>9} s {peak_mib:>7} MiB {merges:>7} merges".format(**row))
            measured += [{"corpora": source, **row} for row in found]
    complete = not args.only and args.peers == parser.get_default("peers") and source == "JETON_TEST_DATA"
    complete = complete and args.megabytes == parser.get_default("megabytes")
    output = args.output or record.destination("training", complete=complete)
    record.write(output, list(measured[0]), measured)
    print(f"\nrecorded in {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
