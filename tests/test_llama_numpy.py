"""`tools/llama_numpy.py`: the forward pass equals a loop over positions and heads; tokenizers from GGUF's metadata."""

from __future__ import annotations

import cmath
import json
import math
from pathlib import Path

import numpy as np
import pytest
from tools import llama_numpy as tool

import jeton

WIDTH, INNER, HEADS, KV_HEADS, LAYERS, IDS = 24, 40, 6, 2, 2, 11
EPSILON, THETA = 1e-5, 100.0


def model_weights() -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    head = WIDTH // HEADS
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (IDS, WIDTH), "output_norm.weight": (WIDTH,)}
    for layer in range(LAYERS):
        for name, shape in {
            "attn_norm": (WIDTH,),
            "ffn_norm": (WIDTH,),
            "attn_q": (WIDTH, WIDTH),
            "attn_k": (KV_HEADS * head, WIDTH),
            "attn_v": (KV_HEADS * head, WIDTH),
            "attn_output": (WIDTH, WIDTH),
            "ffn_gate": (INNER, WIDTH),
            "ffn_up": (INNER, WIDTH),
            "ffn_down": (WIDTH, INNER),
        }.items():
            shapes[f"blk.{layer}.{name}.weight"] = shape
    return {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def loop(weights: dict[str, np.ndarray], ids: list[int]) -> list[list[float]]:
    """States computed position by position, head by head and pair by pair, with rotations as complex numbers."""

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        return x / math.sqrt(sum(v * v for v in x) / len(x) + EPSILON) * weights[name].astype(float)

    def rotated(x: np.ndarray, position: int) -> np.ndarray:
        out = []
        for i in range(0, len(x), 2):
            turned = complex(x[i], x[i + 1]) * cmath.exp(1j * position * THETA ** (-i / len(x)))
            out += [turned.real, turned.imag]
        return np.array(out)

    size = WIDTH // HEADS
    xs = [weights["token_embd.weight"][id].astype(float) for id in ids]
    for layer in range(LAYERS):
        part = {name: weights[f"blk.{layer}.{name}.weight"].astype(float) for name in _names()}
        normed = [norm(x, f"blk.{layer}.attn_norm.weight") for x in xs]
        keys = [part["attn_k"] @ x for x in normed]
        values = [part["attn_v"] @ x for x in normed]
        for position, x in enumerate(normed):
            query, mixed = part["attn_q"] @ x, []
            for head in range(HEADS):
                own = slice(head * size, (head + 1) * size)
                shared = head // (HEADS // KV_HEADS)
                theirs = slice(shared * size, (shared + 1) * size)
                q = rotated(query[own], position)
                scores = [math.exp(q @ rotated(keys[i][theirs], i) / math.sqrt(size)) for i in range(position + 1)]
                mixed.append(sum(score * values[i][theirs] for i, score in enumerate(scores)) / sum(scores))
            xs[position] = xs[position] + part["attn_output"] @ np.concatenate(mixed)
        for position, x in enumerate(xs):
            normed_x = norm(x, f"blk.{layer}.ffn_norm.weight")
            gate = [v / (1 + math.exp(-v)) for v in part["ffn_gate"] @ normed_x]
            xs[position] = x + part["ffn_down"] @ (np.array(gate) * (part["ffn_up"] @ normed_x))
    return [norm(x, "output_norm.weight").tolist() for x in xs]


def _names() -> list[str]:
    return ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]


def test_the_forward_pass_equals_a_loop() -> None:
    weights = model_weights()
    model = tool.Llama(weights, LAYERS, HEADS, KV_HEADS, EPSILON, THETA)
    ids = [3, 1, 4, 1, 5, 9, 2, 6, 5]
    embeddings = weights["token_embd.weight"]
    states = model.hidden(np.array(ids), embeddings)
    expected = loop(weights, ids)
    np.testing.assert_allclose(states, expected, rtol=2e-3, atol=2e-3)
    bits = model.bits(states[:-1], np.array(ids[1:]), embeddings)
    for i, state in enumerate(expected[:-1]):
        logits = embeddings.astype(float) @ state
        probability = math.exp(logits[ids[i + 1]]) / sum(math.exp(logit) for logit in logits)
        assert bits[i] == pytest.approx(-math.log2(probability), rel=2e-3, abs=5e-3)


@pytest.fixture
def facts(tmp_path: Path) -> dict[str, object]:
    path = tmp_path / "trained.json"
    jeton.train(["low lower 2026"], 260, pattern="gpt2", progress=False).save(path)
    made = json.loads(path.read_bytes())
    tokens = sorted(made["model"]["vocab"], key=made["model"]["vocab"].get)
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in made["model"]["merges"]]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": [*tokens, "<|endoftext|>"],
        "tokenizer.ggml.token_type": [*[1] * len(tokens), 3],
        "tokenizer.ggml.merges": merges,
    }


def test_the_tokenizer_of_a_gguf_file_loads(facts: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(tool.tokenizer_json(facts), "utf-8")
    tok = jeton.load(path)
    assert tok.special_tokens == {"<|endoftext|>": 260}
    assert tok.tokenize(" low 2026").tokens == [b" low", b" ", b"2", b"0", b"2", b"6"]


def test_another_tokenizer_of_gguf_is_refused(facts: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="gpt2/llama-bpe"):
        tool.tokenizer_json({**facts, "tokenizer.ggml.pre": "llama-bpe"})
