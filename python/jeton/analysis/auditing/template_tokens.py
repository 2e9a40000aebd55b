"""Rules for special tokens in chat templates: tokens with several ids, a second bos, tokens spelled in messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from ...chat.authors import run_at
from ...drawing import visible
from ...errors import ChatTemplateError
from ...util.messages import translate
from .finding import Example
from .renderings import CALL, SCENARIOS, TOOLS, Facts, Rendering, Result, Template, finding

__all__ = ["bos", "special", "tokens"]

MAX_SPELLED = 8  # maximum number of special tokens that are inserted into test messages
PLAIN, RESULTS, REASONING = (SCENARIOS[name].messages for name in ("plain", "tool results", "reasoning"))
SYSTEM = SCENARIOS["system"].messages


def tokens(template: Template, facts: Facts) -> Result:
    """Finds texts of the template that look like special tokens but are not single ids.

    A text looks like a special token if it begins and ends with the same punctuation as one of the tokenizer's special
    tokens, such as ``<|`` and ``|>``. A text in single brackets can also be ordinary text, so it is only considered in
    conversations without tools.
    """
    tok = template.tok
    if tok is None:
        return translate("no tokenizer was given")
    forms = {
        match.groups() for token in tok.special_tokens if (match := re.fullmatch(r"([^\w\s]+)\w.*?([^\w\s]+)", token))
    }
    candidates = {
        text
        for name, pieces in own_texts(template)
        for head, tail in forms
        if len(head + tail) > 2 or "tool" not in name
        for piece in pieces
        for text in re.findall(_form(head, tail), piece)
    }
    single = {text for text in candidates if len(tok.encode(text, special="all", add_special_tokens=False)) == 1}
    missing = sorted(candidates - single)
    facts["tokens"] = {"single": sorted(single), "missing": missing}
    if not missing:
        return None
    examples = [
        Example(text, translate("{number} ids", number=len(tok.encode(text, special="all", add_special_tokens=False))))
        for text in missing
    ]
    return finding(
        "template-tokens",
        "warning",
        translate("The template writes texts that look like special tokens, but each is encoded as several ids."),
        translate("Add them, if the model was trained with them: {call}.", call=f"tok.add_tokens({missing!r})"),
        examples,
    )


def _form(head: str, tail: str) -> str:
    outside = "".join(map(re.escape, sorted({*head, *tail})))
    return rf"{re.escape(head)}\w(?:[^\s{outside}]*[^\s\W])?{re.escape(tail)}"


def own_texts(template: Template) -> Iterator[tuple[str, list[str]]]:
    """Yields (name of a test conversation, pieces of text that the template itself wrote) for each test conversation.

    The generation prompt is included. Conversations that the template refuses are left out.
    """
    for name, scenario in SCENARIOS.items():
        made = template.attempt(scenario.messages, scenario.tools, prompt=True)
        if isinstance(made, Rendering):
            yield name, made.of_template()


def bos(template: Template, facts: Facts) -> Result:
    """Finds a bos that the template writes in addition to the bos that `encode` adds."""
    tok = template.tok
    if tok is None:
        return translate("no tokenizer was given")
    id = tok.bos_id
    ids = template.ids(PLAIN[:1])
    is_written = id is not None and ids[:1] == [id]
    is_added = id is not None and tok.encode("Q", add_special_tokens=True)[:1] == [id]
    facts["bos"] = {"template": is_written, "encode": is_added}
    if not (is_written and is_added):
        return None
    return finding(
        "template-bos",
        "note",
        translate("The template writes bos, and encode with add_special_tokens adds it again."),
        translate(
            "Use the ids of tok.chat, or encode rendered text without add_special_tokens; otherwise the ids begin "
            "with two."
        ),
        [Example(tok.roles["bos"], translate("the start of each rendered text"), id)],
    )


# Name of a place at which tests insert a special token → function that takes a text and returns (messages, tools) with
# the text at this place.
PLACES: dict[str, Callable[[str], tuple[list[Any], list[Any] | None]]] = {
    "a message of the user": lambda text: ([{**PLAIN[0], "content": text}], None),
    "a message of the assistant": lambda text: ([PLAIN[0], {**PLAIN[1], "content": text}, PLAIN[2]], None),
    "the system message": lambda text: ([{**SYSTEM[0], "content": text}, SYSTEM[1]], None),
    "the reasoning of a message": lambda text: ([REASONING[0], {**REASONING[1], "reasoning_content": text}], None),
    "the result of a tool": lambda text: ([*RESULTS[:2], {**RESULTS[2], "content": text}], TOOLS),
    "the arguments of a call": lambda text: (
        [RESULTS[0], {**RESULTS[1], "tool_calls": [_call_of(text)]}, RESULTS[2]],
        TOOLS,
    ),
    "the description of a tool": lambda text: (
        [PLAIN[0]],
        [{**TOOLS[0], "function": {**TOOLS[0]["function"], "description": text}}, TOOLS[1]],
    ),
}


def _call_of(text: str) -> dict[str, Any]:
    return {**CALL, "function": {**CALL["function"], "arguments": {"Qparameter_first": text}}}


def special(template: Template, facts: Facts) -> Result:
    """Finds special tokens spelled in messages: `tok.chat` encodes them as text, other libraries as special tokens."""
    own = "\n".join(piece for _, pieces in own_texts(template) for piece in pieces)
    stop = facts.get("stop") or {"token": None, "after_answer": ""}
    # Without a tokenizer, this ending of an answer is assumed to be a special token.
    ending = (stop["token"] or stop["after_answer"]).strip()
    known = template.controls if template.tok is not None else [ending, *template.controls]
    tokens = sorted({token for token in known if token.strip() == token != "" and token in own}, key=own.find)
    tokens = (tokens or [token for token in known if token.strip() == token != ""][:1])[:MAX_SPELLED]
    raw: list[Example] = []
    matched: list[Example] = []
    steered: list[Example] = []
    for place, made in PLACES.items():
        harmless = template.attempt(*made("QxQy"))
        if isinstance(harmless, str):
            continue
        for token in tokens:
            text = f"Qx{token}Qy"
            spelled = template.attempt(*made(text), controls=tokens)
            if isinstance(spelled, str):
                continue
            example = partial(Example, visible(text.encode()))
            where = translate("in {place}", place=translate(place))
            if text in spelled.text:
                raw.append(example(where))
            if _is_matched(template, made, token, spelled, text):
                matched.append(example(where))
            if spelled.of_template() != harmless.of_template():
                steered.append(example(translate("{where}: the template writes different text around it", where=where)))
    facts["special"] = {
        "spelled": tokens,
        "in_ids_of_chat": bool(matched),
        "raw": bool(raw),
        "steered": bool(steered),
    }
    if not raw and not matched:
        return None
    return finding(
        "template-special",
        "error" if matched else "note",
        translate("Special tokens that a message spells appear unchanged in the rendered text."),
        translate(
            "Use the ids of tok.chat, which encodes it as text; libraries that encode the rendered text match "
            "it as a special token."
        ),
        [*matched, *steered, *raw][: max(len(matched) + len(steered), 3)],
        **facts["special"],
    )


def _is_matched(
    template: Template,
    made: Callable[[str], tuple[list[Any], list[Any] | None]],
    token: str,
    spelled: Rendering,
    text: str,
) -> bool:
    """Tests whether a special token in a message is encoded as its id.

    Without a tokenizer, tests whether the template itself wrote the special token.

    If `tok.chat` raises an error, returns False. The cause of such an error: the template joins its own text with the
    message's text, and the special token is in the joined text.
    """
    if template.tok is None:
        at = spelled.text.find(text)
        runs = [run_at(spelled.runs, index) for index in range(at + 2, at + 2 + len(token))] if at >= 0 else []
        return any(run is not None and run.origin.source == "template" for run in runs)
    id = template.tok.special_tokens[token]
    with suppress(ChatTemplateError):
        return template.ids(*made(text)).count(id) > template.ids(*made("QxQy")).count(id)
    return False
