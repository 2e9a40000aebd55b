"""Faults of chat templates: renderings that do not continue each other, stop tokens, and changed messages.

Training on a conversation, and a cache of its prefix, need that the rendering of n messages begins that of n + 1.
Generation ends at a stop token, which must end the assistant's turns in the template and be the role `eos`.
"""

from __future__ import annotations

from typing import Any

from ...drawing import visible
from ...errors import ChatTemplateError, MissingDependencyError
from ...tokenizer import Tokenizer
from ...util.messages import translate
from .finding import Example, Finding

__all__ = ["RULES", "rules"]

RULES = ("template-prefix", "template-stop", "template-content", "template-special")
# Contents with marks at both ends that a template may strip, in letters that no template has.
MESSAGES = [
    {"role": "user", "content": "Qfirst question"},
    {"role": "assistant", "content": "Qfirst answer"},
    {"role": "user", "content": "Qsecond question"},
    {"role": "assistant", "content": "Qsecond answer"},
]
PADDED = "  Qpadded\n\n  text \n"


def rules(tok: Tokenizer) -> tuple[dict[str, Finding | None], dict[str, str]]:
    """Name → finding, or None if the rule found nothing; and rules that were skipped, with the reason."""
    if not tok.definition.chat_template:
        return {}, dict.fromkeys(RULES, translate("the tokenizer has no chat template"))
    try:
        found = {
            "template-prefix": _prefix(tok),
            "template-stop": _stop(tok),
            "template-content": _content(tok),
            "template-special": _special(tok),
        }
    except ChatTemplateError as error:
        return {}, dict.fromkeys(RULES, translate("the template refuses the messages: {error}", error=error))
    except MissingDependencyError as error:
        return {}, dict.fromkeys(RULES, str(error))
    return found, {}


def _rendered(tok: Tokenizer, messages: list[dict[str, str]], **options: Any) -> str:
    text: str = tok.chat(messages, tokenize=False, **options)
    return text


def _prefix(tok: Tokenizer) -> Finding | None:
    examples = []
    for number in range(1, len(MESSAGES)):
        for prompt in (False, True):
            if prompt and MESSAGES[number]["role"] != "assistant":
                continue
            shorter = _rendered(tok, MESSAGES[:number], add_generation_prompt=prompt)
            longer = _rendered(tok, MESSAGES[: number + 1])
            if not longer.startswith(shorter):
                at = next(i for i, (a, b) in enumerate(zip(shorter + "\0", longer + "\1", strict=False)) if a != b)
                message = "{number} messages and the generation prompt" if prompt else "{number} messages"
                what = translate(message, number=number)
                why = translate(
                    "at character {number}: {before} becomes {after}",
                    number=at,
                    before=repr(shorter[at : at + 24]),
                    after=repr(longer[at : at + 24]),
                )
                examples.append(Example(what, why))
    if not examples:
        return None
    return Finding(
        "template-prefix",
        "warning",
        translate(
            "{count} beginnings of a conversation, rendered, do not begin the rendering with one more message.",
            count=len(examples),
        ),
        translate("A cached prefix is lost at each turn, and training on whole conversations differs from generation."),
        len(examples),
        tuple(examples),
    )


def _stop(tok: Tokenizer) -> Finding | None:
    text = _rendered(tok, MESSAGES[:2])
    after = text.rpartition(MESSAGES[1]["content"])[2]
    eos = tok.roles.get("eos")
    found = min(
        ((after.find(token), -len(token), token) for token in tok.special_tokens if token and token in after),
        default=None,
    )
    facts = {"eos": eos, "after_answer": after, "stop": found[2] if found else None}
    if found is None:
        problem = translate("The assistant's turn ends with no special token.")
        remedy = translate("Add the eos token at the end of the assistant's turn.")
    elif eos is None:
        problem = translate("The assistant's turn ends with {token}, and no token has the role eos.", token=found[2])
        remedy = translate("Set eos: {call}.", call=f"tok.with_roles(eos={found[2]!r})")
    elif found[2] != eos:
        message = "The assistant's turn ends with {token}, and the role eos is {eos}."
        problem = translate(message, token=found[2], eos=eos)
        remedy = translate("Stop at {token} when you generate: eos alone does not end a turn.", token=found[2])
    else:
        return None
    text_after = visible(after.encode()) or translate("(nothing)")
    example = Example(text_after, translate("text after the assistant's answer"))
    return Finding("template-stop", "warning", problem, remedy, 1, (example,), facts)


def _content(tok: Tokenizer) -> Finding | None:
    examples = []
    for role in ("user", "assistant"):
        messages = [dict(each) for each in MESSAGES[:2]]
        messages[0 if role == "user" else 1]["content"] = PADDED
        if PADDED not in _rendered(tok, messages):
            examples.append(Example(repr(PADDED), translate("is changed in the message of the {role}", role=role)))
    if not examples:
        return None
    return Finding(
        "template-content",
        "note",
        translate("The template changes messages: white space at their ends is removed."),
        translate("Code and tables in messages lose their indentation."),
        len(examples),
        tuple(examples),
    )


def _special(tok: Tokenizer) -> Finding | None:
    """Spelled special tokens of a message: `tok.chat` encodes them as text, other libraries as special tokens."""
    special = next(
        (token for token, id in tok.special_tokens.items() if token.strip() == token != "" and id >= 0), None
    )
    if special is None:
        return None
    message = {"role": "user", "content": f"Qx{special}Qy"}
    text = _rendered(tok, [message])
    if message["content"] not in text:
        return None
    id = tok.special_tokens[special]
    plain = tok.chat([{**message, "content": "QxQy"}]).ids.count(id)
    is_matched = tok.chat([message]).ids.count(id) > plain
    return Finding(
        "template-special",
        "error" if is_matched else "note",
        translate("A special token that a user spells is in the rendered text as it is."),
        translate(
            "Use the ids of tok.chat, which encodes it as text; libraries that encode the rendered text match it."
        ),
        1,
        (Example(visible(message["content"].encode()), translate("in the message of the user"), id),),
        {"in_ids_of_chat": is_matched},
    )
