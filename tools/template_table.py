"""Compares chat templates with transformers: text and ids of each template for each kind of conversation.

    python tools/template_table.py FOLDER [--tokenizer FILE]

FOLDER has templates as ``*.jinja``. Each is rendered for 12 conversations, without and with the generation prompt, by
`Tokenizer.chat` and by `apply_chat_template` of transformers. Both libraries use the same vocabulary. It includes the
special tokens in the template's literals, so that the ids show which special tokens are matched. A cell has two
letters, one for the rendering without the generation prompt and one for the rendering with it:

    =  equal text and ids
    s  equal text, but other ids: a message, or a message with the template's text next to it, spells a special token.
       Jeton encodes this token as text; with special="all" the ids are equal, too
    R  both refuse
    r  refused by us only, with an error that names the reason
    X  different; the exit code is 4

Reasons of refusals follow the table. A difference is compared a second time, because the time of ``strftime_now`` may
have changed between the two renderings.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jeton
from jeton.errors import ChatTemplateError, ConfigError, SpecialTokenError

DIFFERENT = 4
ROLES = {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "pad": "<pad>"}

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "The weather of a <place>, é & 'more'",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": 'the "city"'},
                    "unit": {"type": "string", "enum": ["c", "f"], "default": "c"},
                    "days": {"type": "array", "items": {"type": "integer"}},
                    "place": {
                        "anyOf": [{"type": "string"}, {"type": "object", "properties": {"x": {"type": "number"}}}]
                    },
                },
                "required": ["city"],
            },
        },
    },
    {"type": "function", "function": {"name": "time", "description": "", "parameters": {"type": "object"}}},
]


def user(content: Any) -> dict[str, Any]:
    """Returns a user's message."""
    return {"role": "user", "content": content}


def reply(content: Any, **more: Any) -> dict[str, Any]:
    """Returns an assistant's message."""
    return {"role": "assistant", "content": content, **more}


def call(arguments: Any, id: str = "abc123xyz") -> dict[str, Any]:
    """Returns a call of the tool."""
    return {"id": id, "type": "function", "function": {"name": "weather", "arguments": arguments}}


def result(content: Any, id: str = "abc123xyz") -> dict[str, Any]:
    """Returns a message with the tool's result."""
    return {"role": "tool", "content": content, "tool_call_id": id, "name": "weather"}


def parts(*texts: str) -> list[dict[str, str]]:
    """Returns the content of a message as a list of parts."""
    return [{"type": "text", "text": text} for text in texts]


SYSTEM = {"role": "system", "content": " Be short. <&> "}
NESTED = {"city": "北京 <x>", "days": [1, 2], "place": {"x": 0.5, "y": None, "z": [True, {"k": 'q"\\\n'}]}}
# name -> (messages, tools)
CONVERSATIONS: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]] | None]] = {
    "plain": ([user("hello <b> & 'x'")], None),
    "system": ([SYSTEM, user("hi\r\nthere"), reply("<b>ok</b> & {{ x }}"), user("\tif")], None),
    "turns": ([user("  hi\n"), reply("\n ok 今天 😉 "), user("again"), reply("2")], None),
    "developer": ([{"role": "developer", "content": "Be terse."}, user("hi"), reply("ok")], None),
    "tools": ([SYSTEM, user("weather?")], TOOLS),
    "call": ([user("weather?"), reply("", tool_calls=[call(NESTED)]), result("rain <x>"), reply("It rains.")], TOOLS),
    "calls": (
        [
            SYSTEM,
            user("weather?"),
            reply(None, tool_calls=[call({"city": "a"}), call({"city": "b"}, "abc123xyy")]),
            result("rain"),
            result("sun", "abc123xyy"),
        ],
        TOOLS,
    ),
    "call as text": ([user("weather?"), reply("wait", tool_calls=[call('{"city": "x"}')]), result("rain")], TOOLS),
    "reasoning": ([user("17 * 3"), reply("51", reasoning_content="ten & three"), user("and?"), reply("x")], None),
    "reasoning, call": (
        [user("w?"), reply("", reasoning_content="hm", tool_calls=[call({"city": "x"})]), result("rain")],
        TOOLS,
    ),
    "parts": ([{"role": "system", "content": parts("a", "b")}, user(parts(" one ", "two")), reply(parts("yes"))], None),
    "image": ([user([*parts("what"), {"type": "image"}, *parts("is it")])], None),
}


class Pair(NamedTuple):
    """The same tokenizer in Jeton and in transformers."""

    ours: jeton.Tokenizer
    theirs: Any


class Outcome(NamedTuple):
    """Result of comparing one rendering.

    Attributes:
        mark: the letter of the table.
        reason: reason of a refusal or of a difference; empty if there is none.
    """

    mark: str
    reason: str = ""


_SPELLINGS = re.compile(r"<[^\s<>'\"{}]{1,60}>|\[/?[A-Z_]{2,}\]")


def special_tokens(source: str) -> list[str]:
    """Returns the texts in a template's literals that have the form of special tokens."""
    from jinja2 import nodes

    from jeton.chat.template import compiled

    tree = compiled(source).template.environment.parse(source)
    texts = [node.data for node in tree.find_all(nodes.TemplateData)]
    texts += [node.value for node in tree.find_all(nodes.Const) if isinstance(node.value, str)]
    return sorted({spelling for text in texts for spelling in _SPELLINGS.findall(text)})


@cache
def small() -> jeton.Tokenizer:
    """Returns a tokenizer that is trained on the conversations."""
    return jeton.train([json.dumps(CONVERSATIONS)], 500, pattern="gpt2", progress=False)


def pair(source: str, base: jeton.Tokenizer) -> Pair:
    """Adds the special tokens of `ROLES` and of a template to `base`; returns the result for Jeton and transformers."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    tok = base.add_tokens(list(dict.fromkeys([*ROLES.values(), *special_tokens(source)])))._with_facts(roles=ROLES)
    peer = Tokenizer.from_str(tok.to_bytes().decode())
    tokens = {f"{role}_token": token for role, token in ROLES.items()}
    return Pair(tok, PreTrainedTokenizerFast(tokenizer_object=peer, **tokens))


def compare(pair: Pair, source: str, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> Outcome:
    """Renders `messages` in Jeton and in transformers, and compares the two texts and the two lists of ids.

    `options` are arguments of `apply_chat_template`.
    """
    outcome = _compare(pair, source, messages, options)
    # The two renderings of a template with `strftime_now` may differ because the time has changed between them.
    return _compare(pair, source, messages, options) if outcome.mark == "X" else outcome


_KEYWORDS = ("tools", "add_generation_prompt", "continue_final_message")


def _compare(pair: Pair, source: str, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> Outcome:
    known = {name: value for name, value in options.items() if name in _KEYWORDS}
    variables = {name: value for name, value in options.items() if name not in known}
    tok, theirs = pair
    given: dict[str, Any] = {"template": source, "variables": variables, **known}
    text = ids = None
    try:
        text = theirs.apply_chat_template(messages, chat_template=source, tokenize=False, **options)
        ids = theirs.apply_chat_template(messages, chat_template=source, return_dict=False, **options)
    except Exception as error:  # templates may raise any exception
        reason = f"{type(error).__name__}: {error}"
    try:
        chat = tok.chat(messages, **given)
        everything = tok.chat(messages, special="all", **given).ids
    except (ChatTemplateError, ConfigError) as error:
        return Outcome("R" if text is None else "r", str(error))
    if text is None:
        return Outcome("X", f"they refuse: {reason}")
    if chat.text != text:
        return Outcome("X", f"text {chat.text!r}, theirs {text!r}")
    if everything != ids:
        return Outcome("X", f"ids {everything}, theirs {ids}")
    if chat.ids == ids:
        return Outcome("=")
    try:
        tok.chat(messages, special="raise", **given)
    except SpecialTokenError as error:
        return Outcome("s", str(error))
    return Outcome("X", f"ids {chat.ids}, theirs {ids}, and no message spells a special token")


def rows(paths: Sequence[Path], base: jeton.Tokenizer) -> Iterator[tuple[str, dict[str, tuple[Outcome, Outcome]]]]:
    """Yields, for each template, the name of the template and a dictionary with the results.

    Dictionary: name of a conversation -> (outcome without the generation prompt, outcome with the generation prompt).
    """
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            source = file.read()
        tokenizers = pair(source, base)
        cells = {}
        for name, (messages, tools) in CONVERSATIONS.items():
            two = [
                compare(tokenizers, source, messages, {"tools": tools, "add_generation_prompt": prompt})
                for prompt in (False, True)
            ]
            cells[name] = (two[0], two[1])
        yield path.stem, cells


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=str(__doc__), formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--tokenizer", metavar="FILE", help="a tokenizer.json; default: a small vocabulary, trained")
    options = parser.parse_args()
    paths = sorted(options.folder.glob("*.jinja"))
    if not paths:
        parser.error(f"no *.jinja in {options.folder}")
    base = jeton.load(options.tokenizer) if options.tokenizer else small()
    wide = max(len(path.stem) for path in paths)
    print(" " * wide, *CONVERSATIONS, sep=" | ")
    counts: Counter[str] = Counter()
    reasons: Counter[tuple[str, str, str]] = Counter()
    for name, cells in rows(paths, base):
        print(
            name.ljust(wide),
            *("".join(one.mark for one in two).ljust(len(key)) for key, two in cells.items()),
            sep=" | ",
            flush=True,
        )
        for key, two in cells.items():
            counts.update(one.mark for one in two)
            reasons.update((one.mark, f"{name}, {key}", one.reason) for one in two if one.reason)
    for mark, title in {"R": "both refuse", "r": "refused by us", "s": "spelled", "X": "different"}.items():
        for (of, place, reason), number in sorted(reasons.items()):
            if of == mark:
                print(f"{title}: {place} ({number}): {reason}")
    words = {"=": "equal", "s": "equal but for special tokens that messages spell", "R": "both refuse"}
    words |= {"r": "refused by us", "X": "different"}
    print(f"{len(paths)} templates:", ", ".join(f"{counts[mark]} {text}" for mark, text in words.items()))
    return DIFFERENT if counts["X"] else 0


if __name__ == "__main__":
    sys.exit(main())
