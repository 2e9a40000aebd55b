"""Generated harmony conversations: every field, tools with schemas of every keyword, texts that spell special tokens."""

from __future__ import annotations

import random
from typing import Any

TEXTS = [
    "hi", "", "  a b ", "今天 😉", "<|end|>x<|start|>", "it's 1234567 ok\n\n", "a\r\nb\r", '{"a": 1}', "don't\tdo",
    "\u00a0x\u2028y", "é ﬀ", "x" * 50, "<|constrain|>", "functions.x to=y", "line\n",
]  # fmt: skip
NAMES = ["a", "city", "x_y", "né", "type", "0"]
DEFAULTS: list[Any] = [
    "c", "", 1, -1, 1.5, 1e30, 1e16, 1e15, 1e-5, 1.5e-7, 0.0001, 123456789.125, 0.0, -0.0, True, False, None,
    [1, "a", []], {"k": 'v " \\ \n é \x01', "f": 1e-6}, 2**63, 2**64, 2**70, -(2**63) - 1,
]  # fmt: skip
ODD_SCHEMAS: list[Any] = [
    True, {}, {"type": "weird"}, {"$ref": "#/x"}, {"anyOf": [{"type": "string"}]}, {"type": []}, {"type": [1, "integer"]},
    {"oneOf": 3}, {"oneOf": {}}, {"oneOf": []},
]  # fmt: skip


def text(rng: random.Random) -> str:
    return "".join(rng.choice(TEXTS) for _ in range(rng.randint(0, 3)))


def schema(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.random()
    if depth > 4:
        return {"type": "string"}
    if kind < 0.05 and depth:
        return rng.choice(ODD_SCHEMAS)
    made: dict[str, Any]
    if kind < 0.3 or not depth:
        made = {"type": "object"}
        if rng.random() < 0.9:
            made["properties"] = {rng.choice(NAMES): schema(rng, depth + 1) for _ in range(rng.randint(0, 4))}
        if rng.random() < 0.5:
            made["required"] = [*rng.sample(NAMES, 2), *([3] if rng.random() < 0.2 else [])]
    elif kind < 0.45:
        made = {"oneOf": [schema(rng, depth + 1) for _ in range(rng.randint(0, 3))]}
        if rng.random() < 0.3:
            made["type"] = rng.choice(["string", "object"])
    elif kind < 0.55:
        made = {"type": "array", **({"items": schema(rng, depth + 1)} if rng.random() < 0.7 else {})}
    elif kind < 0.65:
        made = {"type": rng.choice([["number", "string"], ["integer", "null"], ["string"]])}
    else:
        made = {"type": rng.choice(["string", "number", "integer", "boolean", "null"])}
    options: dict[str, tuple[float, list[Any]]] = {
        "enum": (0.3, [["a", "b"], [], ["x", 1], [1, 2], ['q"\n']]),
        "description": (0.4, ["d1", "d2", "two\nlines", ""]),
        "title": (0.2, ["T", ""]),
        "default": (0.3, DEFAULTS),
        "nullable": (0.2, [True, False]),
        "examples": (0.2, [["e1", "e2"], [], [1], ["a\nb", 2]]),
    }
    return made | {key: rng.choice(values) for key, (share, values) in options.items() if rng.random() < share}


def tool(rng: random.Random) -> dict[str, Any]:
    made = {"name": rng.choice(NAMES), "description": text(rng)}
    return made | ({"parameters": schema(rng)} if rng.random() < 0.8 else {})


def tools(rng: random.Random) -> dict[str, Any]:
    keys = rng.sample(["functions", "browser", "python", "z", "é"], rng.randint(0, 3))
    made: dict[str, Any] = {}
    for key in keys:
        made[key] = {
            "name": key if rng.random() < 0.9 else "other",
            "tools": [tool(rng) for _ in range(rng.randint(0, 3))],
        }
        if rng.random() < 0.5:
            made[key]["description"] = text(rng)
    return made


def content(rng: random.Random, role: str) -> dict[str, Any]:
    made: dict[str, Any]
    if role == "system" and rng.random() < 0.8:
        made = {"type": "system_content"}
        channels = {"valid_channels": rng.choice([["analysis", "commentary", "final"], [], ["x"]])}
        for key, value in {
            "model_identity": rng.choice(["I am a model.", text(rng)]),
            "reasoning_effort": rng.choice(["Low", "Medium", "High"]),
            "conversation_start_date": "2025-06-28",
            "knowledge_cutoff": "2024-06",
            "channel_config": {**channels, "channel_required": rng.random() < 0.7},
            "tools": tools(rng),
        }.items():
            if rng.random() < 0.7:
                made[key] = value
        return made
    if role == "developer" and rng.random() < 0.8:
        made = {"type": "developer_content"}
        if rng.random() < 0.7:
            made["instructions"] = text(rng)
        return made | ({"tools": tools(rng)} if rng.random() < 0.6 else {})
    return {"type": "text", "text": text(rng)}


def message(rng: random.Random) -> dict[str, Any]:
    role = rng.choice(["user", "assistant", "assistant", "assistant", "system", "developer", "tool"])
    made: dict[str, Any] = {"role": role}
    if role == "tool" or rng.random() < 0.1:
        made["name"] = rng.choice(["functions.x", "bob", "a b", "x!", "né"])
    parts = [content(rng, role) for _ in range(rng.choice([1, 1, 1, 0, 2, 3]))]
    is_text = len(parts) == 1 and parts[0]["type"] == "text" and rng.random() < 0.7
    made["content"] = parts[0]["text"] if is_text else parts
    if rng.random() < (0.9 if role == "assistant" else 0.2):
        made["channel"] = rng.choice(["analysis", "commentary", "final", "final", "x y", ""])
    if rng.random() < 0.25:
        made["recipient"] = rng.choice(["functions.x", "all", "assistant", "", "browser.open"])
    if rng.random() < 0.25:
        made["content_type"] = rng.choice(
            ["<|constrain|>json", "<|constrain|> json", "json", "code", "<|constrain|>", ""]
        )
    return made


def conversation(rng: random.Random) -> list[dict[str, Any]]:
    return [message(rng) for _ in range(rng.randint(0, 7))]


def damaged(rng: random.Random, ids: list[int], special: list[int], others: list[int]) -> list[int]:
    """Ids with up to two changes."""
    ids = [*ids]
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
        if not ids:
            break
        at, kind = rng.randrange(len(ids)), rng.random()
        if kind < 0.3:
            del ids[at]
        elif kind < 0.6:
            ids.insert(at, rng.choice(special))
        elif kind < 0.8:
            ids[at] = rng.randrange(256)
        else:
            ids.insert(at, rng.choice(others))
    return ids
