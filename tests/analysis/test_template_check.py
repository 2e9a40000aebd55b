"""`chat_check`: each rule on a template with its fault and on one without, and on published templates."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton import Tokenizer
from jeton.analysis import TemplateCheck
from jeton.errors import ChatTemplateError, ConfigError

from ..chat.templates import CHATML, CHATML_WITH_TOOLS, GEMMA, GENERATION, LLAMA2, LLAMA3, PHI3

pytest.importorskip("jinja2")

BYTES = {byte: bytes([byte]) for byte in range(256)}
TOKENS = ("<|im_start|>", "<|im_end|>", "<s>", "</s>", "<think>", "</think>", "<|call|>", "<|user|>", "<|assistant|>")
TOK = Tokenizer.from_merges(BYTES, [], special_tokens={token: 256 + index for index, token in enumerate(TOKENS)})
TOK = TOK.with_roles(eos="<|im_end|>")
# As in GLM: the next header ends a turn.
HEADERS = (
    "{% for m in messages %}{{ '<|' ~ m.role ~ '|>' ~ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
PROMPT_THINKS = CHATML.replace("assistant\n' }}{% endif %}", "assistant\n<think>' }}{% endif %}")
WITH_REASONING = CHATML.replace(
    "message['content'] +",
    "('<think>' + message.reasoning_content if message.reasoning_content else '') + message['content'] +",
)


def checked(template: str, tok: Tokenizer | None = TOK, **variables: Any) -> TemplateCheck:
    return jeton.chat_check(tok, template, variables=variables)


def test_a_sound_template_has_notes_only() -> None:
    found = checked(CHATML)
    assert all(each.severity == "note" for each in found.findings)
    assert {"template-prefix", "template-prompt", "template-stop", "template-tokens", "template-date"} <= set(
        found.passed
    )
    assert not found.skipped
    assert all(all(kind.values()) for kind in found.facts["prefix"].values())


def test_checks_that_need_a_tokenizer_are_skipped_without_one() -> None:
    found = checked(CHATML, None)
    assert set(found.skipped) == {"template-stop", "template-tokens", "template-bos"}
    assert "'<|im_end|>\\n'" in found.skipped["template-stop"]
    of_role = checked(LLAMA2, None)
    assert of_role.facts["stop"]["token"] == "{{ eos_token }}"
    assert "the same as eos" in str(of_role)


PREFIX_KINDS = ("plain", "system", "tools", "tool results", "reasoning", "reasoning and tools")


def test_prefixes_are_checked_by_kind_of_conversation() -> None:
    """A template that drops reasoning from earlier turns, and one that writes a thought into the last turn only."""
    kept = checked(CHATML_WITH_TOOLS).facts["prefix"]
    assert kept["turns"] == dict.fromkeys(PREFIX_KINDS, False)
    assert kept["prompts"] == {**dict.fromkeys(PREFIX_KINDS, True), "reasoning and tools": False}
    dropping = (
        "{% for m in messages %}{{ m.content }}{% if loop.last %}{{ m.reasoning_content }}{% endif %};{% endfor %}"
    )
    found = checked(dropping)
    assert [name for name, each in found.facts["prefix"]["turns"].items() if not each] == [
        "reasoning",
        "reasoning and tools",
    ]
    assert "reasoning: 2 messages" in found["template-prefix"].examples[0].text
    assert "written by message 1 (assistant), reasoning_content" in found["template-prefix"].examples[0].why


def test_a_refused_system_message_counts_as_neither_kept_nor_lost() -> None:
    found = checked(GEMMA)
    assert found.facts["prefix"]["turns"]["system"] is None
    assert found.facts["system"] == "refused"
    assert "System role not supported" in found["template-system"].examples[0].text


def test_wrong_generation_prompts_are_found() -> None:
    assert checked(CHATML).facts["prompt"]["text"] == "<|im_start|>assistant\n"
    wrong = checked(CHATML.replace("assistant\n' }}{% endif %}", "model\n' }}{% endif %}"))
    assert wrong["template-prompt"].severity == "warning"
    thinks = checked(WITH_REASONING.replace("assistant\n' }}{% endif %}", "assistant\n<think>' }}{% endif %}"))
    assert thinks["template-prompt"].severity == "note"
    assert thinks.facts["prompt"]["starts"]["reasoning"] is True
    assert checked(PROMPT_THINKS)["template-prompt"].severity == "warning"


@pytest.mark.parametrize(
    ("template", "eos", "token", "writer", "said"),
    [
        (CHATML, "<|im_end|>", "<|im_end|>", "turn", None),
        (CHATML, "</s>", "<|im_end|>", "turn", "the role eos is </s>"),
        (CHATML, None, "<|im_end|>", "turn", "no token has the role eos"),
        (HEADERS, "<|user|>", "<|user|>", "next turn", "the next message begins with <|user|>"),
        ("{% for m in messages %}{{ m.content }};{% endfor %}", "</s>", None, None, "not end with a special token"),
    ],
)
def test_stop_tokens_that_differ_from_eos_are_found(
    template: str, eos: str | None, token: str | None, writer: str | None, said: str | None
) -> None:
    found = checked(template, TOK.with_roles(eos=eos))
    assert (found.facts["stop"]["token"], found.facts["stop"]["written_by"]) == (token, writer)
    if said is None:
        assert "template-stop" in found.passed
    else:
        assert said in found["template-stop"].summary


def test_a_different_stop_token_after_calls_is_found() -> None:
    template = CHATML_WITH_TOOLS.replace(
        "{{- '<|im_end|>\\n' }}\n    {%- elif message.role == \"tool\"",
        "{{- '<|call|>' if message.tool_calls else '<|im_end|>\\n' }}\n    {%- elif message.role == \"tool\"",
    )
    assert template != CHATML_WITH_TOOLS
    found = checked(template)
    assert found.facts["stop"]["after_call"] == "<|call|>"
    assert found["template-stop"].examples[1].text == "<|call|>"


def test_system_messages_that_are_dropped() -> None:
    template = "{% for m in messages if m.role != 'system' %}{{ m.content }}{% endfor %}"
    assert checked(template)["template-system"].severity == "warning"
    assert "template-system" in checked(CHATML).passed


def test_support_of_tools_is_reported() -> None:
    found = checked(CHATML_WITH_TOOLS).facts["tools"]
    assert found == {
        **dict.fromkeys(("definitions", "calls", "several calls", "results"), "rendered"),
        "arguments": "object",
    }
    one = checked(LLAMA3)
    assert one.facts["tools"]["several calls"] == "refused"
    assert "one tool call at a time" in one["template-tools"].examples[0].why
    assert one["template-tools"].severity == "note"
    names = "{% for t in tools or [] %}{{ t.function.name }}{% endfor %}" + CHATML.replace(
        "message['content']", "(message['content'] ~ message.tool_calls)"
    )
    partly = checked(names)  # without descriptions and parameters
    assert partly.facts["tools"]["definitions"] == "dropped"
    assert partly["template-tools"].severity == "warning"
    assert "does not support tools" in checked(PHI3)["template-tools"].summary


def test_templates_that_need_arguments_as_text_are_found() -> None:
    template = CHATML_WITH_TOOLS.replace("tool_call.arguments | tojson", "'' + tool_call.arguments")
    found = checked(template)
    assert found.facts["tools"]["arguments"] == "text"
    assert found.facts["tools"]["calls"] == "rendered"
    assert "fails on objects" in found["template-tools"].summary


def test_dropped_reasoning_is_found() -> None:
    found = checked(CHATML_WITH_TOOLS).facts["reasoning"]
    assert found == {"last turn": "rendered", "earlier turns": "dropped", "between calls": "rendered"}
    assert "template-reasoning" in checked(CHATML)


def test_text_like_a_special_token_is_reported_if_unknown() -> None:
    found = checked(PHI3)
    assert found.facts["tokens"] == {
        "single": ["<|assistant|>", "<|user|>"],
        "missing": ["<|end|>", "<|system|>", "<|tool|>"],
    }
    assert found["template-tokens"].examples[0].text == "<|end|>"
    assert found["template-tokens"].examples[0].why == "7 ids"
    text = checked("Do <b>not</b> [stop]. <|im_start|>{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}")
    assert text.facts["tokens"]["missing"] == ["</b>", "<b>"]  # the tokenizer has <s> and </s>


def test_a_second_bos_is_found() -> None:
    template = "{{ bos_token }}" + CHATML
    tok = TOK.with_roles(bos="<s>")
    assert "template-bos" in checked(template, tok).passed
    file = json.loads(tok.to_bytes())
    file["model"].pop("jeton", None)  # the stages as Jeton records them
    item = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    tokens = {"<s>": {"id": "<s>", "ids": [tok.special_tokens["<s>"]], "tokens": ["<s>"]}}
    file["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [item, text],
        "pair": [item, text, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": tokens,
    }
    adding = Tokenizer.from_bytes(json.dumps(file).encode()).with_roles(bos="<s>", eos="<|im_end|>")
    assert checked(template, adding)["template-bos"].examples[0].text == "<s>"
    assert "template-bos" in checked(CHATML, adding).passed


def test_special_tokens_spelled_in_messages_are_reported() -> None:
    found = checked(CHATML)
    assert found["template-special"].severity == "note"
    assert found.facts["special"] == {
        "spelled": ["<|im_start|>", "<|im_end|>"],
        "in_ids_of_chat": False,
        "raw": True,
        "steered": False,
    }
    # A template whose own text depends on a message's text.
    steered = CHATML.replace("'<|im_end|>'", "('' if '<|im_end|>' in message['content'] else '<|im_end|>')")
    assert checked(steered).facts["special"]["steered"] is True
    # A template that removes the token from messages.
    removing = "{% for m in messages %}{{ m.content | replace('<|im_end|>', '') }}<|im_end|>{% endfor %}"
    assert checked(removing).facts["special"]["raw"] is False


def test_a_spelled_special_token_that_is_matched_is_an_error() -> None:
    """No known template causes this finding, so one of the tokenizer's methods is replaced."""

    class Careless(Tokenizer):
        def chat(self, messages: Any, **options: Any) -> Any:
            return super().chat(messages, **{**options, "special": "all"})

    careless = Careless.from_merges(
        BYTES, [], special_tokens={token: 256 + index for index, token in enumerate(TOKENS)}
    )
    found = checked(CHATML, careless.with_roles(eos="<|im_end|>"))
    assert found["template-special"].severity == "error"
    assert "injection            special tokens in messages are matched" in str(found)


@pytest.mark.parametrize(
    ("form", "unit", "severity"),
    [("%Y", "year", "note"), ("%B", "month", "note"), ("%d %b %Y", "day", "note"), ("%H", "hour", "warning"),
     ("%X", "second", "warning")],
)  # fmt: skip
def test_dates_in_templates_are_found(form: str, unit: str, severity: str) -> None:
    found = checked("{{ strftime_now('" + form + "') }}" + CHATML)
    assert found.facts["date"]["unit"] == unit
    assert found["template-date"].severity == severity
    fixed = checked("{{ date_string if date_string is defined else strftime_now('%d') }}" + CHATML, date_string="26")
    assert fixed.facts["date"] is None
    assert fixed.facts["variables"] == ["date_string"]


def test_variables_change_the_findings() -> None:
    template = CHATML.replace("message['content']", "(message.content if keep else message.content | trim)")
    assert "template-content" in checked(template)
    assert "template-content" in checked(template, keep=True).passed


def test_a_template_that_refuses_all_messages_has_no_findings() -> None:
    found = checked("{{ raise_exception('closed') }}")
    assert not found.findings
    assert "closed" in found.skipped["template-prefix"]
    assert str(found).startswith("chat template  refuses the messages")


def test_a_template_with_markers_keeps_prefixes() -> None:
    assert "template-prefix" in checked(GENERATION).passed


def test_wrong_arguments_and_broken_templates_are_refused() -> None:
    with pytest.raises(ConfigError, match="a tokenizer or a template"):
        jeton.chat_check(None)
    with pytest.raises(ChatTemplateError, match="no chat template"):
        jeton.chat_check(TOK)
    with pytest.raises(ChatTemplateError, match="syntax error in line 1"):
        checked("{% if %}")
    with pytest.raises(ConfigError, match="tok"):
        jeton.chat_check(7, CHATML)  # type: ignore[arg-type]


def test_audit_and_chat_check_have_the_same_findings() -> None:
    tok = TOK.with_chat_template(CHATML_WITH_TOOLS)
    audited = jeton.audit(tok, progress=False)
    found = jeton.chat_check(tok)
    assert [each for each in audited.findings if each.rule.startswith("template-")] == list(found.findings)
    assert [name for name in audited.passed if name.startswith("template-")] == list(found.passed)


def test_pages_have_the_table() -> None:
    page = checked(CHATML_WITH_TOOLS).to_html()
    assert "prefixes of turns" in page
    assert "template-prefix" in page


@pytest.mark.slow(reason="templates of these tests, above")
def test_figures_of_published_templates(data: Path) -> None:
    """The figures of docs/chat.md, which tools/check_templates.py prints."""
    paths = sorted((data / "templates").glob("*.jinja"))
    if len(paths) != 53:
        pytest.skip(f"other templates than those of the figures: {len(paths)}")
    counts: Counter[str] = Counter()
    for path in paths:
        facts = checked(path.read_text(encoding="utf-8"), None).facts
        if "prefix" not in facts:
            counts["refused"] += 1
            continue
        for kind, kept in facts["prefix"].items():
            counts[f"plain {kind}"] += kept["plain"] is True
            counts[f"all {kind}"] += False not in kept.values()
        counts["date"] += facts["date"] is not None
        counts["matched"] += facts["special"]["in_ids_of_chat"]
        counts["tools"] += facts["tools"]["calls"] == "rendered"
        counts["reasoning"] += facts["reasoning"]["last turn"] == "rendered"
    print(dict(counts))
    assert counts["refused"] == 1
    assert counts["matched"] == 0
