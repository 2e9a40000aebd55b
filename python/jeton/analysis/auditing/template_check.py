"""`chat_check`: checks a chat template with the rules of `audit`, with a tokenizer or without one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...chat.template import variables_of
from ...drawing.display_width import display_width
from ...errors import ConfigError
from ...tokenizer import Tokenizer
from ...tokens.roles import ROLES
from ...util.arguments import instance
from ...util.messages import translate
from .finding import SEVERITIES
from .renderings import Template
from .report import Audit
from .templates import check

__all__ = ["TemplateCheck", "chat_check"]


GROUPS = {True: "yes: {names}", False: "no: {names}", None: "refused: {names}"}


@dataclass(frozen=True, slots=True, repr=False)
class TemplateCheck(Audit):
    """Findings on a chat template, the most severe first. `str` returns a report in text.

    Attributes:
        findings, passed, skipped: as in `Audit`.
        facts: results of the rules: ``prefix``, ``prompt``, ``stop``, ``content``, ``system``, ``tools``,
            ``reasoning``, ``tokens``, ``bos``, ``special``, ``date``, ``markers`` (whether the template has ``{%
            generation %}``), ``variables`` (those that the template reads) and ``fingerprint`` (the tokenizer's, or
            None).

    Examples:
        >>> import jeton
        >>> found = jeton.chat_check(None, "chatml")
        >>> found.facts["prefix"]["turns"]["plain"], found.facts["tools"]["calls"]
        (True, 'dropped')
    """

    def heading(self) -> str:
        """Returns a table of the rules' answers, which precedes the findings in the report."""
        rows = [*_rows(self.facts)]
        width = max((display_width(name) for name, _ in rows), default=0)
        return "\n".join(f"{name}{' ' * (width - display_width(name))}  {answer}" for name, answer in rows)


def chat_check(
    tok: Tokenizer | None, template: str | None = None, *, variables: Mapping[str, Any] | None = None
) -> TemplateCheck:
    """Checks a chat template: prefixes, stop token, system, tools, reasoning, special tokens, and the date.

    Every answer follows from renderings of conversations. No list of the special tokens of known models is used.

    Args:
        tok: the tokenizer; None: only the checks that need no ids are made.
        template: as in `Tokenizer.chat`; required without a tokenizer.
        variables: variables of the template, as in `Tokenizer.chat`.

    Raises:
        ConfigError: neither a tokenizer nor a template was passed.
        ChatTemplateError: the template does not exist or is broken.
        MissingDependencyError: Jinja is not installed.

    Examples:
        >>> import jeton
        >>> template = "{% for m in messages %}{{ m.role ~ ': ' ~ m.content ~ eos_token }}{% endfor %}"
        >>> found = jeton.chat_check(None, template)
        >>> [each.rule for each in found.findings]
        ['template-tools', 'template-reasoning', 'template-special']
        >>> found["template-tools"].summary
        'The template does not support tools.'
    """
    if tok is None and template is None:
        raise ConfigError("give a tokenizer or a template", option="template")
    if tok is not None:
        instance(tok, "tok", Tokenizer, "a Tokenizer")
    if variables is not None:
        instance(variables, "variables", Mapping, "a mapping of names")
    checked = Template(tok, template, dict(variables or {}))
    found, skipped, facts = check(checked)
    given = {"messages", "tools", "add_generation_prompt", *(f"{role}_token" for role in ROLES)}
    facts["fingerprint"] = None if tok is None else tok.fingerprint
    facts["variables"] = sorted(variables_of(checked.source()) - given)
    findings = sorted(
        (each for each in found.values() if each is not None), key=lambda each: SEVERITIES.index(each.severity)
    )
    return TemplateCheck(tuple(findings), tuple(name for name, each in found.items() if each is None), skipped, facts)


def _rows(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the rows of the table: name and answer."""
    if "prefix" not in facts:
        return [(translate("chat template"), translate("refuses the messages"))]
    prompt, stop, special = facts["prompt"], facts["stop"], facts["special"]
    prompt_text = translate("none") if not prompt["text"] else repr(prompt["text"])
    rows = [
        (translate("prefixes of turns"), _groups(facts["prefix"]["turns"])),
        (translate("prefixes of prompts"), _groups(facts["prefix"]["prompts"])),
        (translate("generation prompt"), prompt_text),
        (translate("starts the reply"), _groups(prompt["starts"])),
        (translate("stop token"), _stop(stop)),
        (translate("system message"), translate(facts["system"])),
        (translate("tools"), _statuses(facts["tools"], but="arguments")),
        (translate("reasoning"), _statuses(facts["reasoning"])),
    ]
    if tokens := facts.get("tokens"):
        answer = translate("{number} are single ids", number=len(tokens["single"]))
        if tokens["missing"]:
            answer += translate("; ") + translate("not single: {texts}", texts=", ".join(tokens["missing"]))
        rows.append((translate("special tokens"), answer))
    spelled = (
        "special tokens in messages are matched"
        if special["in_ids_of_chat"]
        else "special tokens in messages stay text"
    )
    rows.append((translate("injection"), translate(spelled)))
    date = facts["date"]
    rows.append(
        (
            translate("date"),
            translate("not written")
            if date is None
            else translate(
                "written, by the {unit}, at character {number}", unit=translate(date["unit"]), number=date["char"]
            ),
        )
    )
    if facts["variables"]:
        rows.append((translate("variables"), ", ".join(facts["variables"])))
    return rows


def _groups(answers: Mapping[str, bool | None]) -> str:
    """Groups scenarios by their answer, as text: ``yes: plain, system; no: tools``."""
    groups = []
    for answer, message in GROUPS.items():
        names = [translate(name) for name, each in answers.items() if each is answer]
        if names:
            groups.append(translate(message, names=translate(", ").join(names)))
    return translate("; ").join(groups)


def _statuses(answers: Mapping[str, str], but: str = "") -> str:
    groups: dict[str, list[str]] = {}
    for name, status in answers.items():
        if name != but:
            groups.setdefault(status, []).append(translate(name))
    return translate("; ").join(
        translate("{place}: {words}", place=translate(status), words=translate(", ").join(names))
        for status, names in groups.items()
    )


def _stop(stop: Mapping[str, Any]) -> str:
    if stop["token"] is None:
        return (
            translate("none") if not stop["after_answer"] else translate("text {text}", text=repr(stop["after_answer"]))
        )
    words = [stop["token"]]
    if stop["written_by"] == "next turn":
        words.append(translate("written by the next message"))
    if stop["token"] == stop["eos"]:
        words.append(translate("the same as eos"))
    elif stop["eos"] is None or not stop["eos"].startswith("{{"):  # `{{…` stands for eos if there is no tokenizer
        words.append(translate("not eos"))
    if stop["after_call"] not in (None, stop["token"]):
        words.append(translate("after calls: {token}", token=stop["after_call"]))
    return translate("; ").join(words)
