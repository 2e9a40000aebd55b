"""Language model of a GGUF file in NumPy: its tokenizer, and a forward pass of the Llama architecture.

It is meant for small models and short texts: weights are dequantized to float32, and a sequence is computed as one
block without a cache. Needs the package gguf, but only to read files.

Left out: architectures other than ``llama``, scaled RoPE, tokenizers other than ``gpt2`` with the pretokenizer
``smollm``.
Source: Touvron et al. 2023, arXiv 2302.13971; RoPE: Su et al. 2021, arXiv 2104.09864; grouped queries: Ainslie et al.
2023, arXiv 2305.13245. GGUF stores the rows of q and k such that neighboring dimensions are rotated together.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Llama", "read_gguf", "tokenizer_json"]

Floats = NDArray[np.float32]

CONTROL, USER_DEFINED = 3, 4  # token types in GGUF
POSITIONS = 256  # number of positions whose logits are computed at once


@dataclass(frozen=True)
class Llama:
    """Weights and sizes of a model.

    Attributes:
        weights: name in GGUF -> matrix float32[outputs, inputs], or vector.
        layers, heads, kv_heads: number of layers, query heads, and key-value heads.
        epsilon: epsilon of RMSNorm.
        theta: base of the frequencies of RoPE.
    """

    weights: dict[str, Floats]
    layers: int
    heads: int
    kv_heads: int
    epsilon: float
    theta: float

    def hidden(self, ids: NDArray[np.int64], embeddings: Floats) -> Floats:
        """Returns the normalized states after the last layer: float32[len(ids), width]."""
        x = embeddings[ids]
        for layer in range(self.layers):
            x = x + self._attention(self._norm(x, f"blk.{layer}.attn_norm.weight"), layer)
            x = x + self._feed_forward(self._norm(x, f"blk.{layer}.ffn_norm.weight"), layer)
        return self._norm(x, "output_norm.weight")

    def bits(self, states: Floats, ids: NDArray[np.int64], head: Floats) -> NDArray[np.float64]:
        """Returns -log2 of each id's probability: float64[len(ids)]. Row i of `states` predicts `ids[i]`.

        `head` is the output matrix. If the model has tied embeddings, pass the embedding matrix.
        """
        bits = np.empty(len(ids))
        for start in range(0, len(ids), POSITIONS):
            logits = states[start : start + POSITIONS] @ head.T
            logits -= logits.max(axis=1, keepdims=True)
            wanted = logits[np.arange(len(logits)), ids[start : start + POSITIONS]].astype(np.float64)
            total = np.exp(logits).sum(axis=1, dtype=np.float64)
            bits[start : start + POSITIONS] = (np.log(total) - wanted) / np.log(2)
        return bits

    def _norm(self, x: Floats, name: str) -> Floats:
        scale = 1 / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + np.float32(self.epsilon))
        return x * scale * self.weights[name]

    def _linear(self, x: Floats, layer: int, name: str) -> Floats:
        product: Floats = x @ self.weights[f"blk.{layer}.{name}.weight"].T
        return product

    def _attention(self, x: Floats, layer: int) -> Floats:
        length = len(x)
        q, k, v = (self._linear(x, layer, f"attn_{part}").reshape(length, -1, self._head_width(x)) for part in "qkv")
        group = self.heads // self.kv_heads
        # axes of q: key-value head, query of the group, position, dimension
        # axes of k: key-value head, 1, dimension, position
        q = self._rotated(q).reshape(length, self.kv_heads, group, -1).transpose(1, 2, 0, 3)
        k = self._rotated(k).transpose(1, 2, 0)[:, None]
        v = v.transpose(1, 0, 2)[:, None]
        scores = q @ k / np.float32(np.sqrt(q.shape[-1]))
        scores[..., np.triu(np.ones((length, length), bool), 1)] = -np.inf
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed = (scores @ v).transpose(2, 0, 1, 3).reshape(length, -1)
        return self._linear(mixed, layer, "attn_output")

    def _head_width(self, x: Floats) -> int:
        return int(self.weights["blk.0.attn_q.weight"].shape[0]) // self.heads

    def _rotated(self, x: Floats) -> Floats:
        """Applies RoPE to queries or keys [position, head, dimension].

        Each pair of neighboring dimensions is rotated by an angle that depends on the pair and on the position.
        """
        half = x.shape[-1] // 2
        angles = np.arange(len(x))[:, None] * self.theta ** (-np.arange(half) / half)
        cos, sin = (part(angles).astype(np.float32)[:, None] for part in (np.cos, np.sin))
        even, odd = x[..., ::2], x[..., 1::2]
        return np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1).reshape(x.shape)

    def _feed_forward(self, x: Floats, layer: int) -> Floats:
        gate = self._linear(x, layer, "ffn_gate")
        gate = gate / (1 + np.exp(-gate))
        return self._linear(gate * self._linear(x, layer, "ffn_up"), layer, "ffn_down")


def read_gguf(path: Path) -> tuple[Llama, dict[str, Any]]:
    """Returns the model and the metadata of a file.

    Raises:
        ValueError: the model is not a Llama, or has an unsupported part: biases, RoPE scaling, or an output matrix that
            is not the embedding matrix.
    """
    import gguf

    reader = gguf.GGUFReader(path)
    facts = {name: field.contents() for name, field in reader.fields.items()}
    if facts["general.architecture"] != "llama" or any("rope.scaling" in name for name in facts):
        raise ValueError(f"{path}: not a Llama model with plain RoPE")
    weights = {t.name: gguf.dequantize(t.data, t.tensor_type).astype(np.float32) for t in reader.tensors}
    if unknown := [name for name in weights if name.endswith("bias") or name in ("output.weight", "rope_freqs.weight")]:
        raise ValueError(f"{path}: the forward pass has no {unknown[0]}")
    heads = facts["llama.attention.head_count"]
    return Llama(
        weights,
        layers=facts["llama.block_count"],
        heads=heads,
        kv_heads=facts.get("llama.attention.head_count_kv", heads),
        epsilon=facts["llama.attention.layer_norm_rms_epsilon"],
        theta=facts.get("llama.rope.freq_base", 10000.0),
    ), facts


def tokenizer_json(facts: dict[str, Any]) -> str:
    """Converts the tokenizer in the metadata of a GGUF file to the format of ``tokenizer.json``.

    ``smollm`` is a pretokenizer of llama.cpp: it isolates each digit, and then splits by the pattern of GPT-2.

    Raises:
        ValueError: the file has another kind of tokenizer.
    """
    kind = facts["tokenizer.ggml.model"], facts["tokenizer.ggml.pre"]
    if kind != ("gpt2", "smollm"):
        raise ValueError(f"the tokenizer is {'/'.join(kind)}, and only gpt2/smollm is supported")
    tokens, types = facts["tokenizer.ggml.tokens"], facts["tokenizer.ggml.token_type"]
    added = [
        {
            "id": id,
            "content": tokens[id],
            "special": types[id] == CONTROL,
            **dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False),
        }
        for id in range(len(tokens))
        if types[id] in (CONTROL, USER_DEFINED)
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    digits = {"type": "Digits", "individual_digits": True}
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": added,
            "normalizer": None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [digits, byte_level]},
            "post_processor": None,
            "decoder": byte_level,
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": False,
                "byte_fallback": False,
                "vocab": {token: id for id, token in enumerate(tokens)},
                "merges": [merge.split(" ") for merge in facts["tokenizer.ggml.merges"]],
            },
        },
        ensure_ascii=False,
    )
