"""Selection and rendering of templates: turns of the text, limits of values, and errors."""

from __future__ import annotations

import re
from typing import Any

import pytest

import jeton
from jeton import AddedToken
from jeton.chat.limits import MAX_DEPTH, MAX_SOURCE, RenderBudget
from jeton.chat.provenance import CALLER
from jeton.chat.template import (
    _failure,
    _seen,
    _size,
    choose,
    compiled,
    given_messages,
    is_refusal,
    render,
    templates,
    variables_of,
)
from jeton.errors import ChatTemplateError, ConfigError

jinja2 = pytest.importorskip("jinja2")

HI: list[dict[str, Any]] = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]
BYTES = jeton.Tokenizer.from_merges({byte: bytes([byte]) for byte in range(256)}, [])


# ── selection ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("own", "template", "tools", "expected"),
    [
        ("A", None, False, "A"),
        ("A", None, True, "A"),
        ({"default": "A", "tool_use": "T"}, None, False, "A"),
        ({"default": "A", "tool_use": "T"}, None, True, "T"),
        ({"default": "A", "tool_use": "T"}, "default", True, "A"),
        ({"tool_use": "T"}, None, True, "T"),
        ([{"name": "rag", "template": "R"}, {"template": "A"}], None, False, "A"),
        ([{"name": "rag", "template": "R"}, {"template": "A"}], "rag", False, "R"),
        ({"chatml": "own"}, "chatml", False, "own"),
        (None, "chatml", False, jeton.chat.PRESETS["chatml"].source),
        ("A", "{", False, "{"),
        (None, "a\n", False, "a\n"),
    ],
)
def test_a_template_is_chosen(own: Any, template: str | None, tools: bool, expected: str) -> None:
    assert choose(own, template, tools=tools) == expected


@pytest.mark.parametrize(
    ("own", "template", "message"),
    [
        ({"tool_use": "T"}, None, "several chat templates; pass template= with one of 'tool_use'"),
        (None, None, "no chat template; pass template= with a Jinja template, or with one of 'chatml', "),
        ("A", "b", "there is no chat template 'b'; names: 'default', 'chatml', "),
    ],
)
def test_names_of_templates_are_in_errors(own: Any, template: str | None, message: str) -> None:
    with pytest.raises(ChatTemplateError, match=re.escape(message)):
        choose(own, template, tools=False)


def test_templates_by_name() -> None:
    assert templates({"a": "A", "b": "B"}) == {"a": "A", "b": "B"}
    assert templates([{"name": "a", "template": "A"}, {"template": "B"}]) == {"a": "A", "default": "B"}
    assert templates(({"name": "a", "template": "A"},)) == {"a": "A"}
    for own in (
        7,
        (),
        iter([{"template": "A"}]),
        [{"name": "a", "template": "A"}, 7],
        [{"name": 7, "template": "A"}],
        {"a": "A", "b": 7},
    ):
        with pytest.raises(ChatTemplateError, match="neither a string nor a mapping"):
            templates(own)


def test_an_own_template_with_the_name_of_a_preset_needs_no_tokens() -> None:
    tok = BYTES.with_chat_template({"chatml": "{{ messages[0].content }}!", "other": "{{ 1 }}"})
    assert tok.chat(HI, template="chatml").text == "hi!"
    assert tok.chat(HI, template="other").text == "1"
    with pytest.raises(ChatTemplateError, match="needs special tokens"):
        tok.chat(HI, template="llama3")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(
            ({"variables": value}, 'variables must be a mapping, such as {"enable_thinking": False}')
            for value in (7, ["a"], "a", {1: 2}, {"a": 1, 2: 3})
        ),
        ({"variables": {"messages": []}}, "variables cannot contain messages: chat(messages=…) sets it"),
        ({"variables": {"tools": []}}, "variables cannot contain tools: chat(tools=…) sets it"),
        ({"variables": {"add_generation_prompt": 1}}, "variables cannot contain add_generation_prompt: chat("),
        ({"variables": {"bos_token": "x"}}, "variables cannot contain bos_token: the tokenizer sets it"),
        ({"variables": {"documents": "x"}}, "documents must be a list of objects with a title and a text"),
        ({"variables": {"documents": ["x"]}}, "documents must be a list of objects with a title and a text"),
        ({"variables": {"documents": {"title": "x"}}}, "documents must be a list of objects with a title and a text"),
        ({"tools": {"name": "f"}}, "tools must be a list of objects (JSON schemas)"),
        ({"tools": [{"name": "f"}, "g"]}, "tools must be a list of objects (JSON schemas)"),
        ({"tools": [{"name": "f"}, len]}, "tools must be a list of objects (JSON schemas); a Python function is not supported"),
        ({"tools": len}, "tools must be a list of objects (JSON schemas)"),
        ({"tools": ""}, "tools must be a list of objects (JSON schemas)"),
        ({"tools": iter([{"name": "f"}])}, "tools must be a list of objects (JSON schemas)"),
    ],
)  # fmt: skip
def test_wrong_variables_are_refused(options: dict[str, Any], message: str) -> None:
    tok = BYTES.add_tokens(["<s>"]).with_roles(bos="<s>")
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}" + ("$" if message.endswith(")") else "")) as caught:
        tok.chat(HI, template="{{ 1 }}", **options)
    assert caught.value.option == ("tools" if "tools" in options else "variables")


def test_variables_of_a_template() -> None:
    tok = BYTES.add_tokens(["<s>", "<e>"]).with_roles(bos="<s>", eos="<e>")
    source = "{{ bos_token }}|{{ eos_token }}|{{ unk_token }}|{{ tools }}|{{ documents }}|{{ day }}|{{ add_generation_prompt }}"
    assert tok.chat(HI, template=source).text == "<s>|<e>||None|None||False"
    options: dict[str, Any] = {"variables": {"documents": ({"title": "x"},), "day": 1}, "tools": ({"name": "f"},)}
    assert tok.chat(HI, template=source, add_generation_prompt=True, **options).text == (
        "<s>|<e>||[{'name': 'f'}]|({'title': 'x'},)|1|True"
    )
    assert tok.chat(HI, template=source, variables={"documents": None}).text == "<s>|<e>||None|None||False"
    assert tok.chat(HI, template=source, tools=[]).text == "<s>|<e>||[]|None||False"


def test_a_template_for_tools_is_chosen() -> None:
    tok = BYTES.with_chat_template({"default": "{{ 'd' }}", "tool_use": "{{ 't' }}"})
    assert tok.chat(HI).text == "d"
    assert tok.chat(HI, tools=[{"name": "f"}]).text == "t"
    assert tok.chat(HI, tools=[]).text == "t"


def test_presets_that_fit_are_named() -> None:
    assert jeton.chat.presets_for(BYTES) == []
    with pytest.raises(ChatTemplateError, match=r"no chat template; .* or add ChatML's special tokens and template"):
        BYTES.chat(HI)
    tokens = [*jeton.chat.PRESETS["chatml"].tokens, *jeton.chat.PRESETS["llama3"].tokens]
    tok = BYTES.add_tokens([AddedToken(token, special=False) for token in dict.fromkeys(tokens)])
    names = jeton.chat.presets_for(tok)
    assert {"chatml", "llama3"} <= {*names}
    numbers = [len(jeton.chat.PRESETS[name].tokens) for name in names]
    assert numbers == sorted(numbers, reverse=True)
    assert all({*jeton.chat.PRESETS[name].tokens} <= {*tokens} for name in names)
    with pytest.raises(ChatTemplateError) as caught:
        tok.chat(HI)
    listed = ", ".join(map(repr, names))
    assert str(caught.value).endswith(
        f"special tokens: {listed}; tok.with_chat_template({names[0]!r}) stores it in the tokenizer"
    )


# ── turns ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # Text that is printed with a message outside of a loop over messages belongs to its turn.
        ("a{{ 'b' + messages[1].content + 'c' }}d", [("a", None), ("b", 1), ("yo", 1), ("c", 1), ("d", None)]),
        # Printed with two messages, it belongs to none.
        ("{{ messages[1].content + '-' + messages[0].content + '.' }}", [("yo", 1), ("-", None), ("hi", 0), (".", None)]),
        # In a loop, text of the template belongs to the turn, whatever is printed with it.
        (
            "{% for m in messages %}<{{ messages[0].content + '!' }}>{% endfor %};",
            [("<", 0), ("hi", 0), ("!>", 0), ("<", 1), ("hi", 0), ("!", 1), (">", 1), (";", None)],
        ),
        ("{{ motto + '.' }}{{ messages[0].content[:0] + '' }}", [("carpe", None), (".", None)]),
    ],
)  # fmt: skip
def test_turns_of_the_template_s_text(source: str, expected: list[tuple[str, int | None]]) -> None:
    text, runs = render(source, HI, {"motto": "carpe"}, {}, [])
    assert text == "".join(part for part, _ in expected)
    assert [run.turn for run in runs for _ in range(run.length)] == [turn for part, turn in expected for _ in part]
    assert all(run.length for run in runs)


# ── values ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def nested(kind: str, depth: int) -> Any:
    """A value in containers of this depth."""
    value: Any = "x"
    for _ in range(depth):
        value = {"dict": {"k": value}, "list": [value], "tuple": (value,)}[kind]
    return value


@pytest.mark.parametrize("kind", ["dict", "list", "tuple"])
def test_values_are_nested_to_half_of_the_limit(kind: str) -> None:
    """A message is at depth 0."""
    deepest = MAX_DEPTH // 2
    text, _ = render(
        "{{ messages[0].content | string | length }}", [{"role": "user", "content": nested(kind, deepest)}], {}, {}, []
    )
    assert int(text) == len(str(nested(kind, deepest)))
    with pytest.raises(ConfigError, match=r"^message 0 is nested too deeply"):
        render("", [{"role": "user", "content": nested(kind, deepest + 1)}], {}, {}, [])
    with pytest.raises(ConfigError, match=r"^tools is nested too deeply"):
        render("", HI, {"tools": nested(kind, deepest + 2)}, {}, [])
    assert render("", HI, {"tools": nested(kind, deepest + 1)}, {}, []) == ("", [])


@pytest.mark.parametrize("value", ["", "abc", 7, 1.5, True, None, [], {}, (), ["a", "bc"], {"a": "bc", "d": 1},
                                   ("a", 2), [{"a": ["b", ("c", "de")]}, None, ""], {"k": {}, "l": []}])  # fmt: skip
def test_sizes_of_values_are_those_of_the_budget(value: Any) -> None:
    """The budget computes a size if none is stored."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return type(value)(map(plain, value)) if isinstance(value, list | tuple) else value

    expected = RenderBudget([], 0, ()).size(plain(value))
    assert _size(_seen(value, CALLER, "x")) == expected
    messages = [{"role": "user", "content": value}, *HI] if value is not None else HI
    size = RenderBudget([], 0, ()).size
    # A template finds a message's role and content, and nothing else.
    assert given_messages(messages)._size == size([plain(message) for message in messages])


def test_copies_are_used_again_at_their_index() -> None:
    seen = given_messages(HI)
    again = given_messages(seen)
    assert [message is other for message, other in zip(seen, again, strict=True)] == [True, True]
    swapped = given_messages(seen[::-1])
    assert [{**message} for message in swapped] == HI[::-1]
    assert [message["content"]._runs[0][1].message for message in swapped] == [0, 1]


def test_the_limit_of_text_grows_with_variables() -> None:
    source = "{{ 'x' * 300_000 }}".replace("_", "")
    assert len(render(source + "{{ motto }}", HI, {"motto": "x" * 300_000}, {}, [])[0]) == 600_000
    with pytest.raises(ChatTemplateError, match="prints more than"):
        render(source, HI, {"motto": "x"}, {}, [])


def test_values_are_copied_as_json() -> None:
    class Text(str):
        def __str__(self) -> str:
            return "other"

    class Number(int):
        def __str__(self) -> str:
            return "other"

    source = "{{ messages[0].content }}|{{ messages[0].n }}|{{ messages[0].b }}|{{ messages[0].f }}|{{ messages[0].none is defined }}"
    message = {"role": "user", "content": Text("hi"), "n": Number(3), "b": True, "f": 0.5, "none": None}
    assert render(source, [message], {}, {}, [])[0] == "hi|3|True|0.5|False"


class Model:
    """As a message of pydantic."""

    def model_dump(self) -> dict[str, str]:
        return {"role": "user"}

    def __repr__(self) -> str:
        return "Model()"


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (7, "message 1 is 7, not an object with a role and a content"),
        (("user", "hi"), "message 1 is ('user', 'hi'), not an object with a role and a content"),
        (Model(), "message 1 is Model(), not an object with a role and a content; pass its model_dump()"),
        ({"content": "x"}, "message 1 has no role"),
        ({"role": 7}, "message 1 has no role"),
        ({"role": "user", "content": {1: "x"}}, "message 1 has the key 1, which is not a string"),
        ({"role": "user", "content": b"x"}, "message 1 has the type bytes; templates accept only JSON values"),
    ],
)
def test_messages_that_are_no_json_are_named(message: Any, error: str) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(error)}$"):
        given_messages([HI[0], message])


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"reasoning_content": "a"}, "a|a|"),
        ({"thinking": "a"}, "a|a|"),
        ({"reasoning": "a"}, "a|a|a"),
        ({"reasoning_content": "a", "thinking": "b", "reasoning": "c"}, "a|b|c"),
        ({"thinking": "b", "reasoning": "c"}, "b|b|c"),
        ({"reasoning_content": None, "reasoning": "c"}, "c|c|c"),
        ({}, "||"),
    ],
)
def test_reasoning_is_passed_under_the_names_that_templates_read(message: dict[str, Any], expected: str) -> None:
    source = "{{ messages[0].reasoning_content }}|{{ messages[0].thinking }}|{{ messages[0].reasoning }}"
    assert render(source, [{"role": "assistant", **message}], {}, {}, [])[0] == expected


@pytest.mark.parametrize(
    ("role", "source"),
    [("user", "template"), ("a_b-c", "template"), ("тест1", "template"), ("", "message"), ("_-", "message"), ("a b", "message"), ("a|", "message")],
)  # fmt: skip
def test_roles_that_are_names_are_the_template_s_text(role: str, source: str) -> None:
    _, runs = render("{{ messages[0].role + '.' }}", [{"role": role}], {}, {}, [])
    assert [run.origin.source for run in runs] == (
        [source] if source == "template" else ["message"] * bool(role) + ["template"]
    )


# ── limits and errors ───────────────────────────────────────────────────────────────────────────────────────────────


def test_the_longest_source() -> None:
    assert render("x" * MAX_SOURCE, HI, {}, {}, [])[0] == "x" * MAX_SOURCE
    with pytest.raises(ChatTemplateError, match=f"has {MAX_SOURCE + 1} characters; the limit is {MAX_SOURCE}"):
        compiled("x" * (MAX_SOURCE + 1))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KeyError(), "the chat template failed: no such key"),
        (KeyError(7), "the chat template failed: no such key"),
        (KeyError("a" * 200), f"the chat template failed: no key '{'a' * 100}'"),
        (ValueError(), "the chat template failed: ValueError"),
        (ValueError("b" * 900), f"the chat template failed: {'b' * 500}"),
        (RecursionError("maximum"), "the chat template failed: recursion too deep"),
        (TypeError("can only concatenate TracedStr (not 'jeton.chat.limits.GivenDict')"),
         "the chat template failed: can only concatenate str (not 'dict')"),
        (jinja2.exceptions.SecurityError("x"), "the chat template uses something that is not permitted: x"),
        (jinja2.TemplateError("x"), "the chat template rejects the messages: x"),
        (jinja2.TemplateRuntimeError("x"), "the chat template failed: x"),
    ],
)  # fmt: skip
def test_errors_of_a_rendering(error: Exception, message: str) -> None:
    found = _failure(error, compiled("{{ 1 }}").template, HI)
    assert (str(found), found.line) == (message, None)


@pytest.mark.parametrize(
    ("message", "clause"),
    [
        ({"content": "x"}, ""),
        ({"content": ["x"]}, ""),
        ({"content": ("x",)}, ""),
        ({"content": {}}, ""),
        ({"content": None}, ""),
        ({"content": 7}, "the content of message 2 is not text: 7; "),
        ({"content": "7" * 3, "tool_calls": []}, ""),
        ({}, "message 2 has no content; "),
        ({"tool_calls": []}, ""),
        ({"reasoning": "x"}, ""),
        ({"reasoning_content": "x"}, ""),
        ({"thinking": "x"}, ""),
    ],
)
def test_errors_name_a_message_without_text(message: dict[str, Any], clause: str) -> None:
    messages = [*HI, {"role": "user", **message}, {"role": "user"}]
    found = _failure(ValueError("x"), compiled("{{ 1 }}").template, messages)
    assert str(found) == (clause or "message 3 has no content; ") + "the chat template failed: x"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("{{ a.b }}{{ c[d] }}{{ range(2) }}{{ raise_exception('e') }}", "acd"),
        ("{% set a = 1 %}{{ a + b }}", "b"),
        ("{% for a in b %}{{ a }}{{ loop.index }}{% endfor %}", "b"),
        ("{% if a is not defined %}{% set a = 1 %}{% endif %}{{ a }}", "a"),
        ("{% set a = a | default(1) %}{% set b = b | d(2) %}{{ a + b }}", "ab"),
        # Other tests and filters, and those of a part of a variable that is set.
        ("{% if c %}{% set a = 1 %}{% endif %}{{ a is none }}{{ a | upper }}{{ a.b is defined }}", "c"),
        ("{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b) }}", "b"),
        ("", ""),
    ],
)
def test_variables_that_a_template_reads(source: str, names: str) -> None:
    assert variables_of(source) == {*names}


def test_refusals_are_told_from_other_errors() -> None:
    def error(source: str) -> ChatTemplateError:
        with pytest.raises(ChatTemplateError) as caught:
            render(source, HI, {}, {}, [])
        return caught.value

    assert is_refusal(error("{{ raise_exception('no') }}"))
    assert not is_refusal(error("{{ 1 / 0 }}"))
    assert not is_refusal(error("{% if %}"))
    assert not is_refusal(error("{{ nope.a.b }}"))
    assert error("\n{{ raise_exception('no') }}\n\n{{ 1 }}").line == 2
    assert error("{{ 1 / 0 }}\n\n{{ 1 }}").line == 1
    assert str(error("\n{{ raise_exception('no') }}")) == "the chat template rejects the messages in line 2: no"
    assert error("\n\n{% macro m() %}\n{{ 1 / 0 }}{% endmacro %}{{ m() }}").line == 4


def test_pairs_are_not_a_batch_of_conversations() -> None:
    with pytest.raises(ConfigError, match=r"^message 0 is \('user', 'hi'\), not an object with a role"):
        jeton.default().chat([("user", "hi"), ("assistant", "hello")], template="chatml")
