"""Replies are parsed by the grammar that renderings of the template give, and proved by rendering them again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.chat import Reply
from jeton.chat.grammar import derive
from jeton.errors import ChatTemplateError, UnknownTokenError

from ..selection import ALL, amount
from .replies import TOOLS, USER, results
from .templates import CHATML, CHATML_WITH_TOOLS, GEMMA, LLAMA3, MACROS, MISTRAL, SPECIAL, ZEPHYR

HEAD = """{% for m in messages %}{% if m.role != 'assistant' %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}\
{% else %}{{ '<|im_start|>assistant\n' }}"""
TAIL = """{{ '<|im_end|>\n' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"""
# In the forms of Qwen3-Coder, GLM, functionary and LFM.
PARAMETERS = (
    HEAD
    + """{{ m.content }}{% for c in m.tool_calls %}{% set c = c.function %}\
{{ '\n<tool_call>\n<function=' + c.name + '>\n' }}{% for k, v in c.arguments|items %}{{ '<parameter=' + k + '>\n' }}\
{{ v if v is string else v|tojson if v is mapping or v is sequence else v|string }}{{ '\n</parameter>\n' }}{% endfor %}\
{{ '</function>\n</tool_call>' }}{% endfor %}"""
    + TAIL
)
PYTHONIC = (
    HEAD
    + """{{ m.content }}{% if m.tool_calls %}{{ '<|tool|>[' }}{% for c in m.tool_calls %}{% set c = c.function %}\
{{ c.name + '(' }}{% for k, v in c.arguments|items %}{{ k + '=' }}{% if v is string %}{{ "'" + v + "'" }}{% else %}{{ v }}\
{% endif %}{% if not loop.last %}{{ ', ' }}{% endif %}{% endfor %}{{ ')' }}{% if not loop.last %}{{ ', ' }}{% endif %}\
{% endfor %}{{ ']' }}{% endif %}"""
    + TAIL
)
CHANNELS = (
    HEAD
    + """{% if m.content %}{{ '>>>all\n' + m.content }}{% endif %}{% for c in m.tool_calls %}\
{{ '>>>' + c.function.name + '\n' + c.function.arguments }}{% endfor %}"""
    + TAIL
)
# In the forms of Gemma 4 and MiniMax M3.
QUOTED = (
    """{% macro w(v) %}{% if v is string %}{{ '<|"|>' + v + '<|"|>' }}{% elif v is mapping %}{{ '{' }}\
{% for k, o in v|items %}{{ k + ':' }}{{ w(o) }}{% if not loop.last %}{{ ',' }}{% endif %}{% endfor %}{{ '}' }}\
{% elif v is sequence %}{{ '[' }}{% for o in v %}{{ w(o) }}{% if not loop.last %}{{ ',' }}{% endif %}{% endfor %}{{ ']' }}\
{% else %}{{ v|tojson }}{% endif %}{% endmacro %}"""
    + HEAD
    + """{{ m.content }}{% for c in m.tool_calls %}\
{{ '<|tool|>' + c.function.name }}{{ w(c.function.arguments) }}{% endfor %}"""
    + TAIL
)
TAGS = (
    """{% macro w(v) %}{% if v is mapping %}{% for k, o in v|items %}{{ '<' + k + '>' }}{{ w(o) }}{{ '</' + k + '>' }}{% endfor %}\
{% elif v is string %}{{ v }}{% elif v is sequence %}{% for o in v %}{{ '<item>' }}{{ w(o) }}{{ '</item>' }}{% endfor %}\
{% else %}{{ v|tojson }}{% endif %}{% endmacro %}"""
    + HEAD
    + """{{ m.content }}{% for c in m.tool_calls %}\
{{ '<|tool|>' + c.function.name + '\n' }}{{ w(c.function.arguments) }}{% endfor %}"""
    + TAIL
)
# The generation prompt opens the reasoning; the next turn writes the stop token.
OPENED = """{% for m in messages %}{% if m.role == 'assistant' %}{{ '<|assistant|>' }}\
{% if m.reasoning_content %}{{ '<think>' + m.reasoning_content.strip() + '</think>' }}{% else %}{{ '</think>' }}{% endif %}\
{{ m.content.strip() }}{% else %}{{ '<|' + m.role + '|>' + m.content }}{% endif %}{% endfor %}\
{% if add_generation_prompt %}{{ '<|assistant|><think>' }}{% endif %}"""


def tokenizer(special: Sequence[str] = SPECIAL) -> jeton.Tokenizer:
    return jeton.Tokenizer.from_merges({id: bytes([id]) for id in range(256)}, []).add_tokens(special)


TOK = tokenizer()
PLAIN = tokenizer([token for token in SPECIAL if "think" not in token])


def parsed(template: str, text: str, tok: jeton.Tokenizer = TOK, messages: Any = (USER,), **variables: Any) -> Reply:
    conv = tok.conversation(list(messages), template=template, tools=TOOLS, variables=variables)
    return conv.parse(tok.encode(text, special="all"))


def calls(reply: Reply) -> list[tuple[str, Any]]:
    return [(call["function"]["name"], call["function"]["arguments"]) for call in reply.tool_calls]


@pytest.mark.parametrize("template", [CHATML, CHATML_WITH_TOOLS, LLAMA3, GEMMA, PARAMETERS, PYTHONIC])
def test_a_reply_of_text_is_content(template: str) -> None:
    stop = {LLAMA3: "<|eot_id|>", GEMMA: "<end_of_turn>"}.get(template, "<|im_end|>")
    reply = parsed(template, "Rain, {a} [b]\n3 < 4." + stop)
    assert reply.content == "Rain, {a} [b]\n3 < 4."
    assert not reply.refusal
    assert not reply.tool_calls
    assert reply.message["content"] == reply.content
    assert reply.is_complete
    assert reply.reasoning is None
    cut = parsed(template, "Rain, {a}")
    assert cut.content == "Rain, {a}"
    assert not cut.is_complete
    assert cut.refusal is None


@pytest.mark.parametrize("tok", [TOK, PLAIN], ids=["special", "text"])
def test_reasoning_is_separated_from_content(tok: jeton.Tokenizer) -> None:
    reply = parsed(CHATML_WITH_TOOLS, "<think>\n17 * 3\nis 51\n</think>\n\n51<|im_end|>", tok)
    assert (reply.reasoning, reply.content, reply.differences) == ("17 * 3\nis 51", "51", ())
    cut = parsed(CHATML_WITH_TOOLS, "<think>\n17 * 3", tok)
    assert (cut.reasoning, cut.content, cut.is_complete, cut.refusal) == ("17 * 3", "", False, None)
    # A reply without the block that the template writes for empty reasoning.
    bare = parsed(CHATML_WITH_TOOLS, "51<|im_end|>", tok)
    assert bare.content == "51"
    assert bare.reasoning is None
    assert "which the reply lacks" in bare.differences[0]
    # A reply with white space that differs from the template's.
    tight = parsed(CHATML_WITH_TOOLS, "<think>17</think>51<|im_end|>", tok)
    assert (tight.reasoning, tight.content) == ("17", "51")
    assert tight.differences


def test_closed_reasoning_in_the_prompt_is_not_in_the_reply() -> None:
    reply = parsed(CHATML_WITH_TOOLS, "51<|im_end|>", enable_thinking=False)
    assert (reply.content, reply.reasoning, reply.differences) == ("51", None, ())


def test_reasoning_that_the_prompt_opens() -> None:
    reply = parsed(OPENED, "hm</think>51<|user|>")
    assert (reply.reasoning, reply.content, reply.is_complete) == ("hm", "51", True)
    assert "stop token '<|user|>'" in reply.differences[0]
    empty = parsed(OPENED, "</think>51")
    assert (empty.reasoning, empty.content) == (None, "51")
    assert empty.differences
    cut = parsed(OPENED, "hm, 51")
    assert (cut.reasoning, cut.content, cut.is_complete) == ("hm, 51", "", False)
    assert "white space" in parsed(OPENED, "\nhm\n</think>\n\n51").differences[0]


def test_calls_in_json_are_parsed() -> None:
    text = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "</tool_call>\\n\\"x\\"", "o": {"a": [1, null]}}}\n</tool_call>'
    reply = parsed(CHATML_WITH_TOOLS, f"<think>\n\n</think>\n\nLet me see.\n{text}\n{text}<|im_end|>")
    assert calls(reply) == [("get_weather", {"city": '</tool_call>\n"x"', "o": {"a": [1, None]}})] * 2
    assert reply.content == "Let me see."
    assert not reply.differences
    assert not reply.refusal
    assert [call["id"] for call in reply.tool_calls] == ["call00000", "call00001"]
    assert reply.message["tool_calls"] == reply.tool_calls


def test_calls_in_differently_formatted_json() -> None:
    text = '{"parameters":{"city":"北京","n":1e2},\n"name":"time"}<|eot_id|>'
    reply = parsed(LLAMA3, text.encode("ascii", "backslashreplace").decode())
    assert calls(reply) == [("time", {"city": "北京", "n": 100.0})]
    assert "formats the arguments" in reply.differences[0]


@pytest.mark.parametrize(
    "json", ['{"name": "time", "arguments": {"n": 1}', '{"name": "time", "arguments": {"n": 1, "n": 2}}', '{"name": "time"}',
             '{"name": "time", "arguments": {"n": NaN}}', '{"name": "time", "arguments": [1]}', '{"name": 1, "arguments": {}}']
)  # fmt: skip
def test_a_malformed_call_stays_text(json: str) -> None:
    text = f"Look:\n<tool_call>\n{json}\n</tool_call>"
    reply = parsed(CHATML_WITH_TOOLS, f"<think>\n\n</think>\n\n{text}<|im_end|>")
    assert reply.content == text
    assert not reply.tool_calls
    assert reply.refusal is not None
    assert "'<tool_call>'" in reply.refusal


def test_a_call_that_is_cut_off_stays_text() -> None:
    whole = "<think>\nhm\n</think>\n\n" + '<tool_call>\n{"name": "time", "arguments": {"city": "x"}}\n</tool_call>'
    for end in range(whole.index("{"), len(whole)):
        reply = parsed(CHATML_WITH_TOOLS, whole[:end])
        assert (reply.reasoning, reply.tool_calls, reply.is_complete) == ("hm", [], False), whole[:end]
        assert reply.content == whole[:end].partition("\n\n")[2]
        assert reply.refusal
    assert calls(parsed(CHATML_WITH_TOOLS, whole)) == [("time", {"city": "x"})]
    cut = parsed(PARAMETERS, "\n<tool_call>\n<function=time>\n<parameter=city>\nPar")
    assert cut.tool_calls == []
    assert cut.refusal


def test_ids_of_calls_are_read_or_continued() -> None:
    text = '[TOOL_CALLS] [{"name": "time", "arguments": {}, "id": "abc123xyz"}, {"name": "time", "arguments": {"n": 2}, "id": "abc123xyy"}]</s>'
    reply = parsed(MISTRAL, text, TOK.with_roles(bos="<s>", eos="</s>"))
    assert [(call["id"], call["function"]["arguments"]) for call in reply.tool_calls] == [
        ("abc123xyz", {}),
        ("abc123xyy", {"n": 2}),
    ]
    # If the template writes no ids, they continue the numbers of the conversation.
    before = [
        USER,
        {"role": "assistant", "content": "", "tool_calls": reply.tool_calls},
        {"role": "tool", "content": "3"},
    ]
    again = parsed(
        CHATML_WITH_TOOLS,
        '<think>\n\n</think>\n\n<tool_call>\n{"name": "time", "arguments": {}}\n</tool_call><|im_end|>',
        messages=before,
    )
    assert again.tool_calls[0]["id"] == "call00002"


def test_calls_with_parameters_in_text() -> None:
    text = (
        "\n<tool_call>\n<function=get_weather>\n<parameter={}>\n{}\n</parameter>\n</function>\n</tool_call><|im_end|>"
    )
    for key, spelled, value in [("n", "3", 3), ("city", "3", "3"), ("city", "null", "null"), ("b", "True", True), ("x", "1.5", 1.5),
                                ("other", "3", 3), ("other", "3 days", "3 days"), ("other", "None", None), ("n", "three", "three"),
                                ("f", '[1, "a"]', [1, "a"]), ("o", '{"a": {}}', {"a": {}}), ("city", "a\n</parameter>\nb", "a\n</parameter>\nb")]:  # fmt: skip
        reply = parsed(PARAMETERS, text.format(key, spelled))
        assert calls(reply) == [("get_weather", {key: value})], (key, spelled)
        assert not reply.refusal
        assert type(calls(reply)[0][1][key]) is type(value)
    assert calls(parsed(PARAMETERS, "\n<tool_call>\n<function=time>\n</function>\n</tool_call>")) == [("time", {})]


def test_calls_in_python_syntax() -> None:
    reply = parsed(PYTHONIC, "So:<|tool|>[get_weather(city='a, b=(1)', n=3, f=['x', 1], b=True), time()]<|im_end|>")
    assert calls(reply) == [("get_weather", {"city": "a, b=(1)", "n": 3, "f": ["x", 1], "b": True}), ("time", {})]
    assert reply.content == "So:"
    assert reply.differences == ()
    assert parsed(PYTHONIC, "So:<|tool|>[get_weather(city=open('x'))]<|im_end|>").refusal


def test_nested_values_are_parsed_by_rules_of_the_template() -> None:
    value = {"f": [[1, "a"], [], {"k": {"l": True}}], "o": {"a": "x, y", "b": None}, "n": -2.5}
    text = '<|tool|>time{f:[[1,<|"|>a<|"|>],[],{k:{l:true}}],o:{a:<|"|>x, y<|"|>,b:null},n:-2.5}<|im_end|>'
    reply = parsed(QUOTED, text)
    assert calls(reply) == [("time", value)]
    assert reply.differences == ()
    assert parsed(QUOTED, text.replace("}]", "}")).refusal
    tags = "<|tool|>time\n<f><item><item>1</item><item>a</item></item><item>x</item></f><o><a>b</a><c><d>2</d></c></o><|im_end|>"
    assert calls(parsed(TAGS, tags)) == [("time", {"f": [[1, "a"], "x"], "o": {"a": "b", "c": {"d": 2}}})]
    deep = "<item>" * 3000
    assert parsed(TAGS, f"<|tool|>time\n<f>{deep}<|im_end|>").tool_calls == []


def test_arguments_as_text_are_kept_and_parsed() -> None:
    reply = parsed(CHANNELS, '>>>all\nlook >>>>time\n{"n": 1}>>>get_weather\n{}<|im_end|>')
    assert (reply.content, calls(reply)) == ("look >", [("time", {"n": 1}), ("get_weather", {})])
    assert reply.message["tool_calls"][0]["function"]["arguments"] == '{"n": 1}'
    assert reply.tool_calls[0]["function"]["arguments"] == {"n": 1}


def test_special_tokens_spelled_as_text_stay_content() -> None:
    conv = TOK.conversation([USER], template=CHATML_WITH_TOOLS)
    end = [TOK.special_tokens["<|im_end|>"]]
    spelled = TOK.encode("<think>\nhm\n</think>\n\nThe token <|im_end|> ends", special="none")
    reply = conv.parse(spelled + end)
    # `<think>` is a special token here; no message renders as its spelled text.
    assert reply.reasoning is None
    assert "<think>" in reply.content
    assert "<|im_end|> ends" in reply.content
    thinking = TOK.encode("<think>\n\n</think>\n\n", special="all")
    quoted = conv.parse(thinking + TOK.encode("Say <|im_end|> or </think>.", special="none") + end)
    assert quoted.refusal == "no message renders as this reply"  # the template splits a message at each `</think>`
    assert quoted.content.endswith("Say <|im_end|> or </think>.")
    inside = conv.parse(thinking + TOK.encode("a") + end + TOK.encode("b") + end)
    assert inside.content.endswith("a<|im_end|>b")
    assert inside.refusal
    assert inside.is_complete


@pytest.mark.parametrize(
    ("template", "stops"),
    [(CHATML_WITH_TOOLS, "<|im_end|>"), (GEMMA, "<end_of_turn>"), (MACROS, "<|return|>"), (OPENED, "<|user|><|tool|>")],
)
def test_tokens_that_end_a_reply(template: str, stops: str) -> None:
    parser = TOK.conversation([USER], template=template).parser()
    assert TOK.decode(parser.stop_ids()) == stops


def test_a_token_between_two_calls_is_not_a_stop_token() -> None:
    template = """{%- for m in messages %}{{ '<|' + m.role + '|>' + m.content }}
    {%- for call in m.tool_calls %}{{ '<tool_call>' + call.function.name + call.function.arguments | tojson + '</tool_call>' }}
    {%- endfor %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"""
    tok = tokenizer(
        [*SPECIAL, *(t for t in ("<|user|>", "<|tool|>", "<tool_call>", "</tool_call>") if t not in SPECIAL)]
    )
    stops = tok.decode(tok.conversation([USER], template=template).parser().stop_ids())
    assert stops == "<|user|><|tool|>"


def test_replies_that_are_not_utf8_are_refused() -> None:
    conv = TOK.conversation([USER], template="chatml")
    broken = conv.parse([0xE4, 0xBD, TOK.special_tokens["<|im_end|>"]])
    assert broken.content == "\ufffd"
    assert broken.refusal.startswith("the reply has bytes that are not UTF-8")
    assert conv.parse([]).content == ""
    assert conv.parse(TOK.encode("\U000f0001")).content == "\U000f0001"
    with pytest.raises(UnknownTokenError):
        conv.parse([10**6])


def test_templates_that_lose_the_content() -> None:
    upper = CHATML.replace("message['content']", "(message['content'] | upper)")
    reply = parsed(upper, "hi<|im_end|>")
    assert reply.content == "hi"
    assert reply.refusal
    with pytest.raises(ChatTemplateError, match="cannot be parsed back"):
        derive(lambda messages, prompt: "".join(f"{message['role']}{len(message['content'])}" for message in messages))


def test_a_parsed_reply_continues_the_conversation() -> None:
    tok = TOK
    conv = tok.conversation([USER], template=CHATML_WITH_TOOLS, tools=TOOLS)
    text = '<think>\nhm\n</think>\n\n<tool_call>\n{"name": "time", "arguments": {"n": 1}}\n</tool_call><|im_end|>'
    sampled = tok.encode(text, special="all")
    reply = conv.parse(sampled)
    conv.add_sampled(sampled, reply.message)
    assert conv.parse(sampled) == reply  # parsing again after the turn is equal
    assert conv.add([{"role": "tool", "content": "12:00", "tool_call_id": reply.tool_calls[0]["id"]}]) is not None
    assert conv.messages[1]["reasoning_content"] == "hm"


@pytest.mark.parametrize("template", [CHATML_WITH_TOOLS, PARAMETERS, PYTHONIC, QUOTED, OPENED, LLAMA3, MACROS, ZEPHYR])
def test_random_replies_parse_back(template: str) -> None:
    counts, wrong = results(template, amount(60, default=24), 7)
    assert sum(count for (part, kind), count in counts.items() if kind == "ok") > 10
    assert not [one for one in wrong if "WRONG" in one[3].values()], wrong[0]


@pytest.mark.parametrize(
    "text",
    ["<tool_call>\n" * 3000, "[" * 5000, '{"a":' * 3000, "\n<tool_call>\n<function=time>\n<parameter=n>\n" * 500],
)
def test_hostile_replies_end(text: str) -> None:
    for template in (CHATML_WITH_TOOLS, PARAMETERS):
        assert parsed(template, text).tool_calls == []


@pytest.mark.parametrize("part", range(12))
def test_replies_of_published_templates_parse_back(part: int, data: Path) -> None:
    paths = sorted((data / "templates").glob("*.jinja"))[part::12]
    if not paths:
        pytest.skip(f"no templates in {data}")
    for path in paths if ALL else paths[:1]:
        counts, wrong = results(path.read_text(encoding="utf-8"), amount(25, default=4), 1)
        assert not wrong, (path.name, wrong[0])
        assert counts["content", "ok"] + counts["reply", "not rendered after the generation prompt"], path.name
