"""Tokenizers that add a space at the start of a text, so the ids of a text depend on what is before it."""

from __future__ import annotations

import json

import jeton

# A space is added at the start of a text, and not after a special token.
PREFIXED = jeton.Tokenizer.from_bytes(
    json.dumps(
        {
            "model": {
                "type": "Unigram",
                "unk_id": 0,
                "byte_fallback": True,
                "vocab": [["<unk>", 0.0], *([piece, -3.0] for piece in ["▁", "a", "b", ".", "▁a", "▁b", "ab"])]
                + [[f"<0x{byte:02X}>", -9.0] for byte in range(256)],
            },
            "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True},
            "decoder": {
                "type": "Sequence",
                "decoders": [
                    {"type": "ByteFallback"},
                    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"},
                ],
            },
        }
    ).encode()
).add_tokens(["<end>"])
# As in Mistral's: a space is added at the start of a text and after a special token, and not after other added tokens.
SPM = jeton.train(["a b ab ba a. b."] * 3, 13, preset="sentencepiece", progress=False).add_tokens(
    ["<end>", jeton.AddedToken("</t>", special=False)]
)


def spelled(tok: jeton.Tokenizer, ids: list[int]) -> str:
    """The spellings of ids, separated by spaces."""
    return " ".join(tok.id_to_token(id) for id in ids)
