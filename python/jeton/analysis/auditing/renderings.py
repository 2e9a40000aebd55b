"""Conversations for checks of chat templates, and their renderings, with a tokenizer or without.

The messages contain words that no template contains, so each message can be located in a rendering. Without a
tokenizer, the texts of special tokens such as EOS are unknown. Instead of such a text, a rendering contains the name of
the template's variable: ``{{ eos_token }}``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from ...chat import RenderedRun
from ...chat.clock import clock
from ...chat.requests import with_text_arguments
from ...chat.template import choose, render
from ...errors import ChatTemplateError
from ...tokenizer import Tokenizer
from ...tokens.roles import ROLES
from .finding import Example, Finding

__all__ = [
    "CALL",
    "MOMENT",
    "SCENARIOS",
    "TOOLS",
    "Facts",
    "Rendering",
    "Result",
    "Rule",
    "Scenario",
    "Template",
    "finding",
]

Json = dict[str, Any]

MOMENT = datetime(2026, 11, 26, 10, 20, 30)
TOOLS: list[Json] = [
    {
        "type": "function",
        "function": {
            "name": f"Qtool_{name}",
            "description": f"Qdescription {name}",
            "parameters": {
                "type": "object",
                "properties": {f"Qparameter_{name}": {"type": "string", "description": f"Qmeaning {name}"}},
                "required": [f"Qparameter_{name}"],
            },
        },
    }
    for name in ("first", "second")
]
# The id has nine letters or digits, because some templates require this of the ids of tool calls.
CALL: Json = {
    "id": "Qcall1234",
    "type": "function",
    "function": {"name": "Qtool_first", "arguments": {"Qparameter_first": "Qargument"}},
}


class Scenario(NamedTuple):
    """A conversation on which a template is checked.

    Attributes:
        name: name that describes what the conversation contains.
        messages: the messages.
        tools: schemas of functions, or None.
    """

    name: str
    messages: list[Json]
    tools: list[Json] | None = None


def _turn(role: str, text: str, **more: Any) -> Json:
    return {"role": role, "content": f"Q{text}", **more}


_FIRST, _SECOND, _THIRD = (_turn("user", f"{name} question") for name in ("first", "second", "third"))
_ANSWER, _AGAIN = _turn("assistant", "first answer"), _turn("assistant", "second answer")
_SYSTEM = _turn("system", "system text")
_THOUGHT = _turn("assistant", "first answer", reasoning_content="Qfirst reasoning")
_THOUGHT_AGAIN = _turn("assistant", "second answer", reasoning_content="Qsecond reasoning")
_CALLING = {"role": "assistant", "content": "", "tool_calls": [CALL]}
_RESULT = {"role": "tool", "content": "Qresult", "tool_call_id": CALL["id"], "name": "Qtool_first"}
_THINKING_CALL = {**_CALLING, "reasoning_content": "Qfirst reasoning"}

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("plain", [_FIRST, _ANSWER, _SECOND, _AGAIN, _THIRD]),
        Scenario("system", [_SYSTEM, _FIRST, _ANSWER, _SECOND]),
        Scenario("tools", [_FIRST, _ANSWER, _SECOND, _AGAIN], TOOLS),
        Scenario("tool results", [_FIRST, _CALLING, _RESULT, _AGAIN, _THIRD], TOOLS),
        Scenario("reasoning", [_FIRST, _THOUGHT, _SECOND, _THOUGHT_AGAIN, _THIRD]),
        Scenario("reasoning and tools", [_FIRST, _THINKING_CALL, _RESULT, _THOUGHT_AGAIN, _THIRD], TOOLS),
    )
}


class Rendering(NamedTuple):
    """A rendered conversation: its text, and the runs into which it is divided, each with the origin of its text."""

    text: str
    runs: list[RenderedRun]

    def of_template(self) -> list[str]:
        """Returns the pieces of text that the template itself wrote, between texts of the messages."""
        texts, at = [""], 0
        for run in self.runs:
            if run.origin.source == "template":
                texts[-1] += self.text[at : at + run.length]
            elif texts[-1]:
                texts.append("")
            at += run.length
        return texts


@dataclass
class Template:
    """A chat template and its variables.

    Attributes:
        tok: the tokenizer, or None.
        name: as `Tokenizer.chat` takes it: a name, the source, or None.
        variables: variables of the template.
        own: the template's variables for the roles of special tokens, such as ``{"eos_token": "</s>"}``.
        controls: texts of special tokens.
        has_text_arguments: whether the arguments of tool calls are passed as JSON text, because the template fails on
            objects.
        needs_tools: whether the template fails without tools, so that every conversation is rendered with tools.
    """

    tok: Tokenizer | None
    name: str | None
    variables: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        roles = self.tok.roles if self.tok is not None else {role: f"{{{{ {role}_token }}}}" for role in ROLES}
        self.own = {f"{role}_token": token for role, token in roles.items()}
        self.controls = (
            list(self.own.values()) if self.tok is None else [token for token in self.tok.special_tokens if token]
        )
        self.has_text_arguments = self.needs_tools = False
        with suppress(ChatTemplateError):
            asked = SCENARIOS["plain"].messages[:1]
            self.needs_tools = isinstance(self.attempt(asked), str) and not isinstance(self.attempt(asked, TOOLS), str)
            self.has_text_arguments = self._needs_text()

    def source(self, *, tools: bool = False) -> str:
        """Returns the source of the template for conversations with tools (if `tools`) or without tools.

        Raises:
            ChatTemplateError: there is no such template.
        """
        return choose(None if self.tok is None else self.tok.definition.chat_template, self.name, tools=tools)

    def render(
        self,
        messages: Sequence[Json],
        tools: list[Json] | None = None,
        *,
        prompt: bool = False,
        moment: datetime = MOMENT,
        controls: Sequence[str] | None = None,
    ) -> Rendering:
        """Renders a conversation.

        Raises:
            ChatTemplateError: the template refuses the conversation or fails.
        """
        tools = TOOLS if tools is None and self.needs_tools else tools
        given = {"documents": None, **self.variables, "tools": tools}
        own = {**self.own, "add_generation_prompt": prompt}
        seen = with_text_arguments(messages) if self.has_text_arguments else messages
        with clock(moment):
            return Rendering(
                *render(
                    self.source(tools=bool(tools)), seen, given, own, self.controls if controls is None else controls
                )
            )

    def attempt(self, messages: Sequence[Json], tools: list[Json] | None = None, **options: Any) -> Rendering | str:
        """Renders a conversation; if the template refuses it, returns the reason as text."""
        try:
            return self.render(messages, tools, **options)
        except ChatTemplateError as error:
            return str(error)

    def beginnings(self, scenario: Scenario, *, prompt: bool) -> Iterator[tuple[int, Rendering]]:
        """Yields a rendering for each prefix of a conversation's messages, except those that the template refuses.

        Args:
            scenario: the conversation.
            prompt: render only prefixes that the model replies to, and add the generation prompt.
        """
        for number in range(1, len(scenario.messages) + 1):
            if prompt and scenario.messages[number - 1]["role"] not in ("user", "tool"):
                continue
            made = self.attempt(scenario.messages[:number], scenario.tools, prompt=prompt)
            if isinstance(made, Rendering):
                yield number, made

    def ids(self, messages: Sequence[Json], tools: list[Json] | None = None) -> list[int]:
        """Returns the ids of `Tokenizer.chat` for a conversation."""
        if self.tok is None:
            raise RuntimeError("a template without a tokenizer has no ids")
        seen = with_text_arguments(messages) if self.has_text_arguments else messages
        tools = TOOLS if tools is None and self.needs_tools else tools
        with clock(MOMENT):
            ids: list[int] = self.tok.chat(seen, tools=tools, template=self.name, variables=self.variables).ids
        return ids

    def _needs_text(self) -> bool:
        """Tests whether the template fails on tool-call arguments that are an object, but accepts them as JSON text."""
        scenario = SCENARIOS["tool results"]
        if isinstance(self.attempt(scenario.messages[:2], scenario.tools), Rendering):
            return False
        self.has_text_arguments = True
        return isinstance(self.attempt(scenario.messages[:2], scenario.tools), Rendering)


Facts: TypeAlias = dict[str, Any]
Result: TypeAlias = Finding | str | None  # a rule returns a finding, the reason why the rule was skipped, or None
Rule: TypeAlias = Callable[[Template, Facts], Result]


def finding(rule: str, severity: str, summary: str, remedy: str, examples: list[Example], **facts: Any) -> Finding:
    """Builds a finding whose count is the number of its examples."""
    return Finding(rule, severity, summary, remedy, len(examples), tuple(examples), facts)
