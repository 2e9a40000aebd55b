"""Random replies of models, and how parsing reads them; prints a table of the templates in a folder.

python -m tests.chat.replies FOLDER [--each 200] [--seed 1]
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import jeton
from jeton.chat.grammar import ReplyGrammar
from jeton.chat.parsing import Reply, ReplyParser
from jeton.chat.prepared import PreparedTemplate, prepare
from jeton.chat.values import num_shared
from jeton.errors import ChatTemplateError

TYPES = {"city": "string", "n": "integer", "x": "number", "b": "boolean", "f": "array", "o": "object", "z": "null"}
MORE = {"array": {"items": {"type": "string"}}, "object": {"additionalProperties": {"type": "string"}}}
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "One of the tools",
            "parameters": {
                "type": "object",
                "properties": {
                    key: {"type": kind, "description": key, **MORE.get(kind, {})}
                    for key, kind in TYPES.items()
                    if kind != "null"
                },
                "required": [],
            },
        },
    }
    for name in ("get_weather", "time")
]
USER = {"role": "user", "content": "What is the weather?"}
# Variables that switch reasoning of templates on or off, or that some templates require.
MODES: list[dict[str, Any]] = [
    {"functions": "[]", "datetime": "today"} | mode
    for mode in (
        {},
        {"enable_thinking": True, "thinking": True, "reasoning": True, "thinking_mode": "thinking", "mode": "thinking"},
        {"enable_thinking": False, "thinking": False},
        {"reasoning_effort": "high"},
    )
]
WORDS = [
    "rain",
    "it's",
    '"quoted"',
    "{a}",
    "[b]",
    "今天",
    "é",
    "😉",
    "1 < 2 & 3 > 2",
    "\n",
    "\n\n",
    "a\tb",
    "\\n",
    "3",
    ", ",
    "</x>",
    "<y>",
    "`",
]
SPECIAL = re.compile(
    r"<[|｜][^<>\s{}'\"]+[|｜]?>|\[/?[A-Z_]{3,}\]|</?s>|\[e~\[|\]~b\]|<\|\"\|>|<SPECIAL_\d+>|<sep>|\]<\]minimax\[>\[|<\w+\|>"
)


def tokenizer(source: str, base: jeton.Tokenizer | None = None) -> jeton.Tokenizer:
    """A tokenizer that has the special tokens which a template writes."""
    tokens = sorted({*SPECIAL.findall(source), "<s>", "</s>"})
    base = base or jeton.Tokenizer.from_merges({id: bytes([id]) for id in range(256)}, [])
    return base.add_tokens([token for token in tokens if token not in base.special_tokens]).with_roles(
        bos="<s>", eos="</s>"
    )


def text(random: Random, words: list[str], most: int = 6) -> str:
    return " ".join(random.choices(words, k=random.randint(1, most))).strip() or "ok"


def value(random: Random, words: list[str], kind: str, depth: int = 0) -> Any:
    if kind == "string":
        return random.choice([text(random, words), "3", "true", "null", "[1]", "{}", "x"])
    if kind == "integer":
        return random.randint(-99, 9999)
    if kind == "number":
        return random.choice([1.5, -0.25, 12, 1e-07])
    if kind == "boolean":
        return random.random() < 0.5
    if kind == "null":
        return None
    inner = random.choices(
        ["string", "integer", "boolean", *(["array", "object"] if depth < 2 else [])], k=random.randint(1, 3)
    )
    if kind == "array":
        return [value(random, words, one, depth + 1) for one in inner]
    return {f"k{n}": value(random, words, one, depth + 1) for n, one in enumerate(inner)}


def replies(random: Random, words: list[str]) -> Iterator[dict[str, Any]]:
    """Yields replies: reasoning or None, content, calls."""
    shapes = [(r, c, n) for r in (0, 1) for c in (0, 1) for n in (0, 1, 2) if c or n]
    while True:
        for has_reasoning, has_content, num_calls in shapes:
            calls = []
            for _n in range(num_calls):
                keys = random.sample(sorted(TYPES), random.randint(0, 4))
                arguments = {key: value(random, words, TYPES[key]) for key in keys}
                calls.append(
                    {
                        "id": f"{random.randrange(10**9):09}",
                        "name": f"{random.choice(['get_weather', 'time'])}",
                        "arguments": arguments,
                    }
                )
            yield {
                "reasoning": text(random, words) if has_reasoning else None,
                "content": text(random, words) if has_content else "",
                "calls": calls,
            }


def ids_of(tok: jeton.Tokenizer, parser: ReplyParser, marked: str) -> list[int]:
    """Encodes text in which special tokens are single characters."""
    ids: list[int] = []
    for piece in re.split(f"({parser._controls.any.pattern})", marked):
        spelled = parser._controls.spelled(piece)
        ids += tok.encode(spelled, special="none" if spelled == piece else "all") if piece else []
    return ids


class Written(NamedTuple):
    """A rendered reply: what a model writes for it, and the fields of the message that the template renders."""

    text: str
    fields: set[str]


def sampled(parser: ReplyParser, grammar: ReplyGrammar, message: Mapping[str, Any], is_exact: bool) -> Written | None:
    """Renders a reply; returns what follows the generation prompt, or unless `is_exact` the part of it that is rendered.

    Returns None if the template refuses the message, or if the prompt opens the reasoning and the message has none.
    """
    try:
        text, runs = parser._template.render([USER, message], add_generation_prompt=False)
    except ChatTemplateError:
        return None
    fields = {(run.origin.field or "").partition("[")[0] for run in runs if run.origin.message == 1}
    if isinstance(message["content"], list):
        fields |= {"reasoning"} if any(run.origin.field == "content[0]" for run in runs) else set()
    fields |= {"reasoning"} & {"reasoning" for name in fields if name in ("thinking", "reasoning_content")}
    marked, prompt = parser._controls.of_text(text, runs), parser._prompt
    if marked.startswith(prompt):
        return Written(marked[len(prompt) :], fields)
    if is_exact or grammar.prompt in grammar.starts("reasoning"):
        return None
    start = num_shared(marked, prompt)
    while start and not (marked[start - 1] in ">\n" or parser._controls.ends(marked[:start])):
        start -= 1
    return Written(marked[start:], fields)


def outcome(reply: Reply, given: Mapping[str, Any], fields: set[str]) -> dict[str, str]:
    """Compares a parsed reply with what was given.

    Returns:
        For each part: ``"ok"``; ``"dropped"``: the template does not render it; ``"text"``: not parsed, with a refusal;
        ``"as reasoning"``: rendered as reasoning is; ``"as numbers"``: texts in undeclared places that are rendered as
        numbers and constants are; or ``"WRONG"``.
    """
    calls = [(call["function"]["name"], call["function"]["arguments"]) for call in reply.tool_calls]
    wanted = [(call["name"], call["arguments"]) for call in given["calls"]]
    found = {}
    for part, got, want in (
        ("reasoning", reply.reasoning or "", given["reasoning"] or ""),
        ("content", reply.content, given["content"]),
        ("calls", calls, wanted),
    ):
        if not want and not got:
            continue
        if got == want:
            found[part] = "ok"
        elif reply.refusal:
            found[part] = "text"
        elif part == "calls" and without_nulls(got) == without_nulls(want)[: len(got)]:
            found[part] = "dropped"
        elif part == "calls" and as_text(got) == as_text(without_nulls(want)):
            found[part] = "as numbers"
        elif part != "calls" and not got and part not in fields:
            found[part] = "dropped"
        elif not given["reasoning"] and reply.reasoning == given["content"]:
            found[part] = "as reasoning"
        else:
            found[part] = "WRONG"
    return found


def without_nulls(data: Any) -> Any:
    """Removes the nulls that some templates do not render."""
    if isinstance(data, dict):
        return {key: without_nulls(item) for key, item in data.items() if item is not None}
    return [without_nulls(item) for item in data if item is not None] if isinstance(data, list | tuple) else data


def as_text(data: Any) -> Any:
    """Replaces numbers and constants by their JSON text."""
    if isinstance(data, dict):
        return {key: as_text(item) for key, item in data.items()}
    if isinstance(data, list | tuple):
        return [as_text(item) for item in data]
    return data if isinstance(data, str) else json.dumps(data)


def parser_for(source: str, mode: Mapping[str, Any], tok: jeton.Tokenizer) -> ReplyParser | None:
    try:
        prepared: PreparedTemplate = prepare(tok, tools=TOOLS, template=source, variables=mode)
        return ReplyParser(tok, prepared, [USER])
    except ChatTemplateError:
        return None


def results(
    source: str, each: int, seed: int, base: jeton.Tokenizer | None = None
) -> tuple[Counter[tuple[str, str]], list[Any]]:
    """Counts the outcomes of random replies with a template; returns also those that are wrong."""
    tok = tokenizer(source, base)
    random = Random(seed)
    counts: Counter[tuple[str, str]] = Counter()
    wrong: list[Any] = []
    known: dict[int, tuple[ReplyParser, ReplyGrammar] | None] = {}

    def prepared(mode: int) -> tuple[ReplyParser, ReplyGrammar] | None:
        if mode not in known:
            parser = parser_for(source, MODES[mode], tok)
            try:
                known[mode] = None if parser is None else (parser, parser._grammar([]))
            except ChatTemplateError:
                known[mode] = None
        return known[mode]

    words = [*WORDS, *SPECIAL.findall(source)[:3]]
    stream = replies(random, words)
    for _ in range(each):
        given = next(stream)
        for is_exact, mode in product((True, False), range(len(MODES))):
            if (found_mode := prepared(mode)) is None:
                continue
            parser, grammar = found_mode
            message = grammar.style.message(given["reasoning"], given["content"], given["calls"])
            written = sampled(parser, grammar, message, is_exact)
            if written is None:
                continue
            reply = parser(ids_of(tok, parser, written.text.rstrip("\n") if random.random() < 0.5 else written.text))
            found = outcome(reply, given, written.fields)
            counts.update(found.items())
            if "WRONG" in found.values() or "text" in found.values():
                wrong.append((given, parser._controls.spelled(written.text), reply, found))
            break
        else:
            counts["reply", "not rendered after the generation prompt"] += 1
    return counts, wrong


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--each", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", default="*")
    options.add_argument("--show", type=int, default=0)
    arguments = options.parse_args()
    print("| template | content | reasoning | tool calls | no reply |\n|---|---|---|---|---|")
    for path in sorted(arguments.folder.glob(f"{arguments.only}.jinja")):
        counts, wrong = results(path.read_text(encoding="utf-8"), arguments.each, arguments.seed)
        cells = [
            ", ".join(f"{count} {kind}" for (name, kind), count in sorted(counts.items()) if name == part) or "–"
            for part in ("content", "reasoning", "calls")
        ]
        print(
            f"| {path.stem} | {' | '.join(cells)} | {sum(n for (name, _), n in counts.items() if name == 'reply')} |",
            flush=True,
        )
        for one in wrong[: arguments.show]:
            print(*map(repr, one), sep="\n    ", end="\n\n")


if __name__ == "__main__":
    main()
