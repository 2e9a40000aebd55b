"""Prints roles, prefix and template of named tokenizers beside the publishers' configurations, as a Markdown table.

    python tools/named_table.py

`docs/roles.md` has the table; `tests/formats/test_named.py` checks that it is current, and compares the registry with
`PUBLISHED` and with published files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jeton.formats.registry import REGISTRY

__all__ = ["PUBLISHED", "Published", "rows"]

_ENDOFTEXT = "<|endoftext|>"
_TIKTOKEN = "tiktoken, `Encoding.eot_token`"


class Published(NamedTuple):
    """Configuration that a publisher states for a tokenizer.

    Attributes:
        roles: role -> special token.
        source: where the roles are published.
        differs: why the registry has other roles; empty if it has the same roles.
        prefix: the special token before a text, and where the publisher states it; None if there is no such token.
        compared: how the roles and the prefix were compared.
        chat: the publisher's chat format, and how the preset was compared with it.
    """

    roles: dict[str, str]
    source: str
    differs: str = ""
    prefix: tuple[str, str] | None = None
    compared: str = ""
    chat: str = "none"


_READ = "read there"
_META = "llama-models `tokenizer.py`"
_INSTRUCT = "eos of the instruction models: "
_BOS = "<|begin_of_text|>"
_TEST = "compared by a test"
PUBLISHED: dict[str, Published] = {
    **{
        name: Published({"eos": _ENDOFTEXT}, _TIKTOKEN, compared=_TEST)
        for name in ("r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base")
    },
    "gpt2": Published(
        {"bos": _ENDOFTEXT, "eos": _ENDOFTEXT, "unk": _ENDOFTEXT},
        "openai-community/gpt2",
        "without unk: no text is unknown",
        compared=_TEST,
    ),
    "o200k_harmony": Published(
        {"bos": "<|startoftext|>", "eos": "<|return|>", "pad": _ENDOFTEXT},
        "openai/gpt-oss-20b",
        compared="read in copies of it",
        chat=f"openai/gpt-oss-120b, {_TEST}",
    ),
    "llama3": Published(
        {"bos": _BOS, "eos": "<|end_of_text|>"},
        "llama3 `tokenizer.py`",
        f"{_INSTRUCT}`<|eot_id|>`",
        (_BOS, "tokenizer.json of Meta-Llama-3-8B"),
        _TEST,
        f"llama3 `ChatFormat`, {_TEST}",
    ),
    "llama3.1": Published(
        {"bos": _BOS, "eos": "<|end_of_text|>", "pad": "<|finetune_right_pad_id|>"},
        _META,
        f"{_INSTRUCT}`<|eot_id|>`",
        (_BOS, "tokenizer.json of Llama-3.1-8B"),
        f"{_READ}; prefix as of llama3",
        f"meta-llama/Llama-3.1-8B-Instruct, {_TEST}",
    ),
    "llama4": Published(
        {"bos": _BOS, "eos": "<|end_of_text|>", "pad": "<|finetune_right_pad|>"},
        _META,
        f"{_INSTRUCT}`<|eot|>`",
        (_BOS, "tokenizer.json of Llama-4-Scout-17B-16E"),
        f"{_READ}; prefix not compared",
        "not compared",
    ),
    "qwen": Published(
        {},
        "Qwen `tokenization_note.md`: bos, eos and pad do not apply",
        compared=_READ,
        chat='ChatML, not as a template; `template="chatml"`',
    ),
    "kimi_k2": Published(
        {"bos": "[BOS]", "eos": "[EOS]", "pad": "[PAD]", "unk": "[UNK]"},
        "moonshotai/Kimi-K2-Instruct",
        "without unk: no text is unknown",
        compared="read in copies of it",
        chat=f"moonshotai/Kimi-K2-Instruct, {_TEST}",
    ),
}


def rows() -> Iterator[str]:
    """Yields the lines of the table."""
    columns = ("name", "`tok.roles`", "before a text", "chat template")
    yield f"| {' | '.join(columns)} | publisher of the roles | compared | publisher of the template |"
    yield "|---|---|---|---|---|---|---|"
    for name, known in REGISTRY.items():
        one = PUBLISHED[name]
        roles = ", ".join(f"{role} `{token}`" for role, token in known.roles.items()) or "none"
        prefix = f"`{known.prefix}`" if known.prefix else "–"
        chat = f"`{known.chat}`" if known.chat else "–"
        source = one.source + (f" ({one.differs})" if one.differs else "")
        yield f"| `{name}` | {roles} | {prefix} | {chat} | {source} | {one.compared} | {one.chat} |".replace(
            "<|", "<\\|"
        ).replace("|>", "\\|>")


if __name__ == "__main__":
    print("\n".join(rows()))
