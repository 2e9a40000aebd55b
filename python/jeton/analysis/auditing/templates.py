"""Rules for chat templates: prefixes, generation prompt, stop token, contents, system, tools, reasoning, and the date.

Each rule renders the conversations of `renderings` and looks at the origin of the rendered text. So the rules apply to
any template, and need no list of the special tokens of known models. Training on a conversation, and caching its
prefix, require that the rendering of n messages is a prefix of the rendering of n + 1 messages. Generation ends at a
stop token. This token must end the assistant's turns in the template and have the role `eos`. Rules for other special
tokens are in `template_tokens`.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

from ...chat import has_generation
from ...chat.authors import author, run_at
from ...chat.values import num_shared
from ...drawing import visible
from ...errors import ChatTemplateError, JetonError, MissingDependencyError
from ...tokenizer import Tokenizer
from ...util.messages import translate
from .finding import Example, Finding
from .renderings import CALL, MOMENT, SCENARIOS, TOOLS, Facts, Rendering, Result, Rule, Scenario, Template, finding
from .template_tokens import bos, special, tokens

__all__ = ["RULES", "check", "rules"]

PADDED = "  Qpadded\n\n  text \n"
PLAIN, RESULTS, REASONING = (SCENARIOS[name].messages for name in ("plain", "tool results", "reasoning"))
SYSTEM = SCENARIOS["system"].messages


def rules(tok: Tokenizer) -> tuple[dict[str, Finding | None], dict[str, str]]:
    """Returns name → finding (None if the rule found no fault), and the skipped rules with their reasons."""
    if not tok.definition.chat_template:
        return {}, dict.fromkeys(RULES, translate("the tokenizer has no chat template"))
    try:
        found, skipped, _ = check(Template(tok, None))
    except (ChatTemplateError, MissingDependencyError) as error:
        return {}, dict.fromkeys(RULES, str(error))
    return found, skipped


def check(template: Template) -> tuple[dict[str, Finding | None], dict[str, str], Facts]:
    """Checks a template with all rules.

    Returns:
        A mapping rule → finding (None if the rule found no fault); a mapping skipped rule → reason; and the answers of
        the rules, by the rules' names without ``template-``.

    Raises:
        ChatTemplateError: the template does not exist or is broken.
        MissingDependencyError: Jinja is not installed.
    """
    facts: Facts = {"markers": has_generation(template.source())}  # raises an error if the template is broken
    refused = template.attempt(PLAIN[:2])
    if isinstance(refused, str):
        reason = translate("the template refuses the messages: {error}", error=refused)
        return {}, dict.fromkeys(RULES, reason), facts
    found: dict[str, Finding | None] = {}
    skipped: dict[str, str] = {}
    for name, rule in RULES.items():
        result = rule(template, facts)
        if isinstance(result, str):
            skipped[name] = result
        else:
            found[name] = result
    return found, skipped, facts


# ── continuations ───────────────────────────────────────────────────────────────────────────────────────────────────


def _prefix(template: Template, facts: Facts) -> Result:
    """Finds conversations in which additional messages change the rendering of the earlier messages.

    Each conversation is tested with and without the generation prompt. The rendering is unchanged if it is a prefix of
    the rendering with more messages.
    """
    examples: dict[str, Example] = {}  # change -> example from the first conversation with this change
    kept: dict[str, dict[str, bool | None]] = {"turns": {}, "prompts": {}}
    count = 0
    for kind, prompt in (("turns", False), ("prompts", True)):
        for scenario in SCENARIOS.values():
            made = list(template.beginnings(scenario, prompt=prompt))
            lost = [
                _changed(scenario, shorter, longer, prompt=prompt)
                for shorter, longer in pairwise(made)
                if not longer[1].text.startswith(shorter[1].text)
            ]
            for change, example in lost:
                examples.setdefault(change, example)
            count += len(lost)
            kept[kind][scenario.name] = not lost if len(made) > 1 else None
    facts["prefix"] = kept
    if not examples:
        return None
    return Finding(
        "template-prefix",
        "warning",
        translate(
            "In {count} cases, adding messages changes the rendering of the earlier ones.",
            count=count,
        ),
        translate(
            "The prefix cache is lost at each turn, and training on whole conversations differs from generation."
        ),
        count,
        tuple(examples.values()),
        {"kept": kept},
    )


def _changed(
    scenario: Scenario, shorter: tuple[int, Rendering], longer: tuple[int, Rendering], *, prompt: bool
) -> tuple[str, Example]:
    """Returns a description of how the rendering changes, ``… becomes …``, and an example with the position."""
    (number, before), (_, after) = shorter, longer
    at = num_shared(before.text, after.text)
    message = "{name}: {number} messages and the generation prompt" if prompt else "{name}: {number} messages"
    what = translate(message, name=translate(scenario.name), number=number)
    start = max(0, at - 8)
    change = translate(
        "{before} becomes {after}", before=repr(before.text[start : at + 16]), after=repr(after.text[start : at + 16])
    )
    why = translate(
        "at character {number}: {change}; written by {author}",
        number=at,
        change=change,
        author=author(run_at(before.runs, at) or run_at(after.runs, at), [each["role"] for each in scenario.messages]),
    )
    return change, Example(what, why)


def _prompt(template: Template, facts: Facts) -> Result:
    """Finds the generation prompt, and tests whether rendered replies begin with this prompt.

    For the test, a question is rendered twice: with the generation prompt, and with a reply. The first rendering must
    be a prefix of the second rendering.
    """
    starts: dict[str, bool | None] = {}
    examples = []
    for name in ("plain", "reasoning", "tool results", "reasoning and tools"):
        messages, tools = SCENARIOS[name].messages, SCENARIOS[name].tools
        asked = template.attempt(messages[:1], tools, prompt=True)
        replied = template.attempt(messages[:2], tools)
        if isinstance(asked, str) or isinstance(replied, str):
            starts[name] = None
            continue
        starts[name] = replied.text.startswith(asked.text)
        if not starts[name]:
            examples.append(_changed(SCENARIOS[name], (1, asked), (2, replied), prompt=True)[1])
    before, after = template.attempt(PLAIN[:1]), template.attempt(PLAIN[:1], prompt=True)
    text = None
    if isinstance(before, Rendering) and isinstance(after, Rendering) and after.text.startswith(before.text):
        text = after.text[len(before.text) :]
    facts["prompt"] = {"text": text, "starts": starts}
    if starts["plain"] is not False:
        return None
    if starts["reasoning"]:
        return finding(
            "template-prompt",
            "note",
            translate("Only replies with reasoning begin with the generation prompt."),
            translate("Render replies with their reasoning, or turn reasoning off with the template's variable."),
            examples,
        )
    return finding(
        "template-prompt",
        "warning",
        translate("A rendered reply does not begin with the generation prompt."),
        translate("A model trained on rendered replies would generate after a prompt that it never saw."),
        examples,
    )


def _stop(template: Template, facts: Facts) -> Result:
    """Finds the stop token: the last special token that the template writes after any answer, final or not."""
    end, middle = _after(template, PLAIN, "Qfirst answer", "Qsecond question")
    own = _proved_stop(template) or _last_token(template, end[: num_shared(end, middle)]) or _first_token(template, end)
    tokens = {"turn": own, "next turn": _first_token(template, middle)}
    writer = next((name for name, token in tokens.items() if token is not None), None)
    stop = tokens.get(writer or "")
    eos = template.own.get("eos_token")
    calls = _after(template, RESULTS, "Qargument", "Qresult", TOOLS)
    after_call = _last_token(template, calls[0][: num_shared(*calls)])
    if template.tok is None and writer != "turn":  # without a tokenizer, it is unknown which text is a token
        writer, stop = (None, None) if end or not middle else ("next turn", middle)
    known = {"token": stop, "written_by": writer, "eos": eos, "after_answer": end, "after_call": after_call}
    facts["stop"] = known
    examples = [
        Example(visible(end.encode()) or translate("(nothing)"), translate("text after the assistant's answer"))
    ]
    if after_call is not None and after_call not in (stop, eos):
        examples.append(Example(after_call, translate("ends turns with tool calls")))
    if stop is None and template.tok is None and end:
        return translate("replies end with {text}; whether that is eos is unknown without a tokenizer", text=repr(end))
    if stop is None:
        problem = translate("The assistant's turn does not end with a special token.")
        remedy = translate("Add the eos token at the end of the assistant's turn.")
    elif writer == "next turn":
        message = "The assistant's turn does not end with a special token; the next message begins with {token}."
        problem = translate(message, token=stop)
        remedy = translate(
            "Training on a conversation that ends with the reply does not teach a stop token; stop at {token} "
            "when you generate.",
            token=stop,
        )
    elif eos is None:
        problem = translate("The assistant's turn ends with {token}, but no token has the role eos.", token=stop)
        remedy = translate("Set eos: {call}.", call=f"tok.with_roles(eos={stop!r})")
    elif stop != eos:
        message = "The assistant's turn ends with {token}, but the role eos is {eos}."
        problem = translate(message, token=stop, eos=eos)
        remedy = translate("Stop at {token} when you generate: eos alone does not end a turn.", token=stop)
    elif len(examples) > 1:
        problem = translate("Turns with tool calls end with a different token than answers.")
        remedy = translate("Stop at both tokens when you generate.")
    else:
        return None
    return finding("template-stop", "warning", problem, remedy, examples, **known)


def _proved_stop(template: Template) -> str | None:
    """Returns the stop token that `Tokenizer.chat` finds after the last reply of a conversation, or None."""
    if template.tok is None:
        return None
    tools = TOOLS if template.needs_tools else None
    options: dict[str, Any] = {"template": template.source(tools=bool(tools)), "variables": template.variables}
    try:
        chat = template.tok.chat(PLAIN[:2], tools=tools, **options)
        stops = chat.replies[-1].stops if chat.replies else ()
    except JetonError:  # also raised if the tokenizer cannot encode the text
        return None
    found = [chat.text[start:end].strip() for start, end in stops]
    return next((text for text in found[-1:] if text in template.controls), None)


def _after(
    template: Template, messages: list[Any], mark: str, next_mark: str, tools: list[Any] | None = None
) -> tuple[str, str]:
    """Returns the text after a reply that ends a conversation, and the text between a reply and the next message."""
    end, middle = template.attempt(messages[:2], tools), template.attempt(messages[:3], tools)
    last = "" if isinstance(end, str) or mark not in end.text else end.text.rpartition(mark)[2]
    if isinstance(middle, str) or mark not in middle.text:
        return last, ""
    return last, middle.text.rpartition(next_mark)[0].rpartition(mark)[2]


def _first_token(template: Template, text: str) -> str | None:
    found = min(((text.find(token), -len(token), token) for token in template.controls if token in text), default=None)
    return None if found is None else found[2]


def _last_token(template: Template, text: str) -> str | None:
    found = max(
        ((text.rfind(token) + len(token), len(token), token) for token in template.controls if token in text),
        default=None,
    )
    return None if found is None else found[2]


# ── what is rendered ────────────────────────────────────────────────────────────────────────────────────────────────


def _content(template: Template, facts: Facts) -> Result:
    examples = []
    for role in ("user", "assistant"):
        messages = [dict(each) for each in PLAIN[:2]]
        messages[0 if role == "user" else 1]["content"] = PADDED
        made = template.attempt(messages)
        if isinstance(made, Rendering) and PADDED not in made.text:
            examples.append(Example(repr(PADDED), translate("changed in the message of the {role}", role=role)))
    facts["content"] = not examples
    if not examples:
        return None
    return finding(
        "template-content",
        "note",
        translate("The template changes messages: white space at their ends is removed."),
        translate("Code and tables in messages lose their indentation."),
        examples,
    )


RENDERED, DROPPED, REFUSED = STATUSES = ("rendered", "dropped", "refused")


def _status(made: Rendering | str, *texts: str) -> str:
    """Returns a status: the template refused the conversation, rendered all of the texts, or dropped a text."""
    if isinstance(made, str):
        return REFUSED
    return RENDERED if all(text in made.text for text in texts) else DROPPED


def _system(template: Template, facts: Facts) -> Result:
    made = template.attempt(SYSTEM[:2])
    facts["system"] = status = _status(made, "Qsystem text")
    if status == RENDERED:
        return None
    if isinstance(made, str):
        summary = translate("The template refuses a system message.")
        return finding("template-system", "note", summary, _to_user(), [Example(made, translate("the reason"))])
    return finding("template-system", "warning", translate("The template drops the system message."), _to_user(), [])


def _to_user() -> str:
    return translate("Put its text into the first message of the user.")


def _tools(template: Template, facts: Facts) -> Result:
    """Tests whether the template renders tools completely: definitions, calls, several calls at once, and results."""
    names = [each["function"]["name"] for each in TOOLS]
    details = [text for each in ("first", "second") for text in (f"Qdescription {each}", f"Qparameter_{each}")]
    asked = template.attempt(RESULTS[:1], TOOLS)
    called = template.attempt(RESULTS[:2], TOOLS)
    second = {**CALL, "id": "Qcall5678", "function": {**CALL["function"], "arguments": {"Qparameter_first": "Qother"}}}
    both = {**RESULTS[1], "tool_calls": [CALL, second]}
    made = {
        "definitions": (asked, (*names, *details)),
        "calls": (called, ("Qargument",)),
        "several calls": (template.attempt([RESULTS[0], both], TOOLS), ("Qargument", "Qother")),
        "results": (template.attempt(RESULTS[:3], TOOLS), ("Qresult",)),
    }
    found = {name: _status(rendering, *texts) for name, (rendering, texts) in made.items()}
    if found["calls"] == RENDERED and isinstance(called, Rendering) and isinstance(asked, Rendering):
        is_named = called.text.count(names[0]) > asked.text.count(names[0])
        found["calls"] = RENDERED if is_named else DROPPED
    facts["tools"] = {**found, "arguments": "text" if template.has_text_arguments else "object"}
    examples = [
        Example(translate(name), made[name][0] if isinstance(made[name][0], str) else translate(status))  # type: ignore[arg-type]
        for name, status in found.items()
        if status != RENDERED
    ]
    if not examples and not template.has_text_arguments:
        return None
    if not examples:
        summary = translate("The template requires the arguments of tool calls as JSON text; it fails on objects.")
        return finding("template-tools", "note", summary, "", [], **facts["tools"])
    if RENDERED not in (found["definitions"], found["calls"]):
        summary = translate("The template does not support tools.")
        return finding("template-tools", "note", summary, "", examples, **facts["tools"])
    return finding(
        "template-tools",
        "note" if [each.text for each in examples] == [translate("several calls")] else "warning",
        translate("The template drops part of tool definitions, calls or results."),
        translate("The model does not see what is dropped; use another template, or put it into messages."),
        examples,
        **facts["tools"],
    )


def _reasoning(template: Template, facts: Facts) -> Result:
    with_tools = SCENARIOS["reasoning and tools"]
    found = {
        "last turn": _status(template.attempt(REASONING[:2]), "Qfirst reasoning"),
        "earlier turns": _status(template.attempt(REASONING[:3]), "Qfirst reasoning"),
        "between calls": _status(template.attempt(with_tools.messages[:3], with_tools.tools), "Qfirst reasoning"),
    }
    facts["reasoning"] = found
    if RENDERED in found.values():
        return None
    return finding(
        "template-reasoning",
        "note",
        translate("The template drops the reasoning of messages (reasoning_content)."),
        translate(
            "Put it into the content, if the model expects it there, or set the variable that turns reasoning on."
        ),
        [],
        **found,
    )


# ── the date ────────────────────────────────────────────────────────────────────────────────────────────────────────

# The units are in increasing order, because only the first unit that changes the rendering is reported. A template that
# writes minutes, for example, renders differently after a minute, but also after an hour: the minute is reported.
UNITS = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "month": timedelta(days=31),
    "year": timedelta(days=366),
}


def _date(template: Template, facts: Facts) -> Result:
    """Finds the shortest unit of time after which the same conversation is rendered differently."""
    facts["date"] = None
    for unit, step in UNITS.items():
        for scenario in SCENARIOS.values():
            messages = scenario.messages[:2]
            before = template.attempt(messages, scenario.tools)
            after = template.attempt(messages, scenario.tools, moment=MOMENT + step)
            if isinstance(before, str) or isinstance(after, str) or before.text == after.text:
                continue
            at = num_shared(before.text, after.text)
            facts["date"] = {"unit": unit, "char": at}
            why = translate(
                "at character {number} of {length} before the first message, after a {unit}"
                if at < len(before.text.partition("Q")[0])
                else "at character {number} of {length}, after a {unit}",
                number=at,
                length=len(before.text),
                unit=translate(unit),
            )
            start = max(0, at - 24)
            example = Example(f"{before.text[start : at + 16]!r} / {after.text[start : at + 16]!r}", why)
            return finding(
                "template-date",
                "warning" if step < UNITS["day"] else "note",
                translate(
                    "The template writes the current time, so the rendering changes after a {unit}.",
                    unit=translate(unit),
                ),
                translate("A cached prefix ends there; if the template has a variable for the date, pass a fixed one."),
                [example],
                **facts["date"],
            )
    return None


RULES: dict[str, Rule] = {
    "template-prefix": _prefix,
    "template-prompt": _prompt,
    "template-stop": _stop,
    "template-content": _content,
    "template-system": _system,
    "template-tools": _tools,
    "template-reasoning": _reasoning,
    "template-tokens": tokens,
    "template-bos": bos,
    "template-special": special,
    "template-date": _date,
}
