"""Compares two masks of generated text: one from a template's ``{% generation %}``, one derived from its renderings.

    python tools/compare_masks.py FOLDER [FOLDER …] [--texts]

FOLDER has templates (``*.jinja``); those without ``{% generation %}`` are left out. Each template renders ten
conversations. Then its markers are removed, the generated text is derived from the renderings, and the two results are
compared. The table has a line for each template. Below it is a line for each kind of text that only one of the masks
contains: the name of this mask, the number of cases, the kind according to the renderings, and with ``--texts`` an
example. A line "refused" names a conversation for which no mask can be derived.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jeton.chat.masks import differences
from jeton.chat.replies import RenderedMessages, find_replies
from jeton.chat.template import given_messages, has_generation, render
from jeton.errors import ChatTemplateError

# Texts in a template that are special tokens of its tokenizer. The template does not list them, so they are recognized
# by their form.
SPECIAL = re.compile(
    r"<\|[^<>|\s]{1,40}\|>|<｜[^<>｜\s]{1,40}｜>|〈\|[^|]{1,40}\|〉|</?s>|<(?:start|end)_of_\w+>|\[/?[A-Z_]{3,}\]"
    r"|\]~b\]|\[e~\[|<\|[a-z_]+>|<[a-z_]+\|>|<SPECIAL_\d+>|</?(?:user|assistant|sep)>|<(?:bos|eos|pad|unk)>"
    r"|<end_of_utterance>"
)
OWN = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "of a city",
            "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "its name"}}},
        },
    }
]


def user(text: str) -> dict[str, Any]:
    """Returns a message of the user."""
    return {"role": "user", "content": text}


def reply(text: Any, **more: Any) -> dict[str, Any]:
    """Returns a message of the assistant."""
    return {"role": "assistant", "content": text, **more}


def call(city: str, id: str) -> dict[str, Any]:
    """Returns a call of the tool."""
    return {"id": id, "type": "function", "function": {"name": "weather", "arguments": {"city": city}}}


def result(text: str, id: str) -> dict[str, Any]:
    """Returns a message with a result of the tool."""
    return {"role": "tool", "content": text, "tool_call_id": id, "name": "weather"}


CALL, OTHER = call("Paris", "callaaaa1"), call("Rome", "callaaaa2")
CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "one turn": [user("how are you"), reply("well")],
    "turns": [user("one"), reply("uno"), user("two"), reply("dos")],
    "system": [{"role": "system", "content": "be short"}, user("one"), reply("uno"), user("two"), reply("dos")],
    "open": [user("one"), reply("uno"), user("two")],
    "equal texts": [user("assistant"), reply("assistant"), user("assistant"), reply("user")],
    "stripped": [user(" one "), reply("\n uno \n"), user("two"), reply(" dos")],
    "reasoning": [user("one"), reply("uno", reasoning_content="hm"), user("two"), reply("dos", reasoning_content="so")],
    "tool": [user("rain?"), reply("", tool_calls=[CALL]), result("yes", "callaaaa1"), reply("it rains")],
    "tools": [
        user("rain?"),
        reply("wait", tool_calls=[CALL, OTHER]),
        result("yes", "callaaaa1"),
        result("no", "callaaaa2"),
        reply("in Paris"),
        user("thanks"),
        reply("welcome"),
    ],
    "tool call at the end": [user("rain?"), reply("", tool_calls=[CALL])],
}


def _in_parts(message: dict[str, Any]) -> dict[str, Any]:
    """Returns the message with a list as its content, which some templates require."""
    return {**message, "content": [{"type": "text", "text": message["content"]}]}


class Compared(NamedTuple):
    """Result of comparing one template.

    Attributes:
        agree: number of conversations without a difference.
        refused: reasons why no mask could be derived.
        rendered: number of conversations that the template renders.
        kinds: number of differences of each kind. A kind is `MaskDifference.is_marked` and `MaskDifference.reason`.
        examples: text and conversation of the first difference of each kind.
    """

    agree: int
    refused: list[str]
    rendered: int
    kinds: Counter[tuple[bool, str]]
    examples: dict[tuple[bool, str], tuple[str, str]]


def compare(source: str) -> Compared:
    """For all conversations, compares the mask from a template's markers with the mask derived from its renderings."""
    agree = rendered = 0
    refused: list[str] = []
    kinds: Counter[tuple[bool, str]] = Counter()
    examples: dict[tuple[bool, str], tuple[str, str]] = {}
    for name, messages in CONVERSATIONS.items():
        given = {"documents": None, "tools": TOOLS if "tool" in name else None}
        own = {**OWN, "add_generation_prompt": False}
        for form in (messages, [_in_parts(message) for message in messages]):
            seen = given_messages(form)
            try:
                text, _ = render(source, seen, given, own, [])
            except ChatTemplateError:
                text = ""
            if messages[0]["content"].strip() in text:
                break
        else:
            continue
        controls = tuple(sorted({*SPECIAL.findall(source), *SPECIAL.findall(text), *OWN.values()}))
        text, pieces = render(source, seen, given, own, controls)
        rendered += 1
        chat = RenderedMessages(source, seen, given, own, controls)
        try:
            found = differences(chat, text, pieces, find_replies(chat, text, pieces))
        except ChatTemplateError as error:
            refused.append(f"{name}: {error}")
            continue
        agree += not found
        for one in found:
            kind = one.is_marked, re.sub(r"message \d+", "a message", one.reason)
            kinds[kind] += 1
            examples.setdefault(kind, (one.text, name))
    return Compared(agree, refused, rendered, kinds, examples)


def marked_templates(folders: list[Path]) -> Iterator[Path]:
    """Searches the folders for templates with generation markers."""
    for folder in folders:
        for path in sorted(folder.glob("*.jinja")):
            if has_generation(path.read_text(encoding="utf-8")):
                yield path


def main(arguments: list[str]) -> int:
    """Prints the table; returns the exit code."""
    folders = [Path(one) for one in arguments if not one.startswith("--")]
    totals = [0, 0, 0]
    for path in marked_templates(folders):
        found = compare(path.read_text(encoding="utf-8"))
        totals = [a + b for a, b in zip(totals, (found.agree, len(found.refused), found.rendered), strict=True)]
        print(f"{path.stem:40} {found.agree:3} of {found.rendered:3} agree, {len(found.refused)} refused")
        for (is_marked, reason), count in sorted(found.kinds.items()):
            print(f"    {'marked only' if is_marked else 'derived only':13}{count:3}  {reason}", end="")
            print(f"  {found.examples[is_marked, reason]}" if "--texts" in arguments else "")
        for reason in found.refused:
            print(f"    refused          {reason}")
    print(f"{'all':40} {totals[0]:3} of {totals[2]:3} agree, {totals[1]} refused")
    return 0 if totals[2] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
