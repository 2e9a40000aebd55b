"""Templates that would run forever, fill memory or leave the sandbox end quickly in a clear error."""

from __future__ import annotations

import re
import threading
import time
from typing import Any

import pytest

import jeton
from jeton.chat import limits, template
from jeton.errors import ChatTemplateError, ConfigError
from tests.selection import amount

TOK = jeton.Tokenizer.from_merges({byte: bytes([byte]) for byte in range(256)}, [], special_tokens={"<s>": 256})
HI = [{"role": "user", "content": "hi"}]

# Seconds of a rendering. An endless template takes all of them.
MAX_SECONDS = amount(1_000, default=250) / 1_000

ENDLESS = {
    "loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}",
    "loops that print": "{% for a in range(99999) %}{% for b in range(99999) %}xxxxxxxx{% endfor %}{% endfor %}",
    "a range": "{% for a in range(10**12) %}{% endfor %}",
    "itself": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "itself twice": "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "a recursive loop": "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    "a long text": "{{ 'x' * 10**10 }}",
    "a long text, constant": "{{ 'x' * 10000000000 }}",
    "a long message": "{{ messages[0].content * 10**10 }}",
    "a long list": "{{ [0] * 10**10 }}",
    "doubling": "{% set ns = namespace(x='x') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "doubling ~": "{% set ns = namespace(x='x') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    "doubling captured": "{% set ns = namespace(x='x') %}{% for i in range(99) %}{% set y %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = y %}{% endfor %}",
    "doubling by replacing": "{% set ns = namespace(x='xx') %}{% for i in range(99) %}{% set ns.x = ns.x.replace('x', ns.x) %}{% endfor %}",
    "doubling by |replace": "{% set ns = namespace(x='xx') %}{% for i in range(99) %}{% set ns.x = ns.x | replace('x', ns.x) %}{% endfor %}",
    "doubling by joining": "{% set ns = namespace(x='xx') %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] | join %}{% endfor %}",
    "doubling by formatting": "{% set ns = namespace(x='xx') %}{% for i in range(99) %}{% set ns.x = '%s%s' % (ns.x, ns.x) %}{% endfor %}",
    "doubling by .format": "{% set ns = namespace(x='xx') %}{% for i in range(99) %}{% set ns.x = '{0}{0}'.format(ns.x) %}{% endfor %}",
    "doubling a message": "{% set ns = namespace(x=messages[0].content) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "doubling a list": "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "laughs": "{% set ns = namespace(x=['ha']) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
    "laughs compared": "{% set n = namespace(x=['ha'], y=['ha']) %}{% for i in range(99) %}{% set n.x = [n.x, n.x] %}{% set n.y = [n.y, n.y] %}{% endfor %}{{ n.x == n.y }}",
    "laughs in dicts": "{% set ns = namespace(x='ha') %}{% for i in range(99) %}{% set ns.x = {'a': ns.x, 'b': ns.x} %}{% endfor %}{{ ns.x | tojson }}",
    "laughs in dict()": "{% set ns = namespace(x='ha') %}{% for i in range(99) %}{% set ns.x = dict(a=ns.x, b=ns.x) %}{% endfor %}{{ ns.x | string }}",
    "laughs in tuples": "{% set ns = namespace(x='ha') %}{% for i in range(99) %}{% set ns.x = (ns.x, ns.x) %}{% endfor %}{{ ns.x ~ '' }}",
    "much of one text": "{% set x = 'x' * 1000000 %}{% set l = [x] * 90000 %}{{ l | join }}",
    "much of one text as a list": "{% set x = 'x' * 1000000 %}{% set l = [x] * 90000 %}{{ l }}",
    "much of one text as JSON": "{% set x = 'x' * 1000000 %}{% set l = [x] * 90000 %}{{ l | tojson }}",
    "much of one text upper": "{% set x = 'x' * 1000000 %}{% set l = [x] * 90000 %}{{ l | upper }}",
    "much of one text by method": "{% set x = 'x' * 1000000 %}{% set l = [x] * 90000 %}{{ ''.join(l) }}",
    "a wide field": "{{ '%1000000000d' % 1 }}",
    "a wide field, star": "{{ '%*d' % (1000000000, 1) }}",
    "a wide field of format": "{{ '{:1000000000}'.format(1) }}",
    "a wide field, nested": "{{ '{:{}}'.format(1, 1000000000) }}",
    "a wide field, |format": "{{ '%1000000000d' | format(1) }}",
    "a wide center": "{{ 'x' | center(1000000000) }}",
    "a wide .center": "{{ 'x'.center(1000000000) }}",
    "a wide ljust": "{{ messages[0].content.ljust(1000000000) }}",
    "zeros": "{{ '1'.zfill(1000000000) }}",
    "tabs": "{{ '\t'.expandtabs(1000000000) }}",
    "an indent": "{{ 'x\ny' | indent(1000000000) }}",
    "an indent of JSON": "{{ [1] | tojson(indent=1000000000) }}",
    "slices": "{{ [1] | slice(1000000000) | list }}",
    "a batch": "{{ [1] | batch(1000000000, 0) | list }}",
    "a mapped center": "{{ ['x'] | map('center', 1000000000) | list }}",
    "a power": "{{ 9 ** (9 ** 9) }}",
    "a power, stepwise": "{% set ns = namespace(x=9) %}{% for i in range(99) %}{% set ns.x = ns.x * ns.x %}{% endfor %}",
    "a rounding": "{{ 1.5 | round(1000000000, 'floor') }}",
    "a sum of lists": "{{ ([[1]] * 90000) | sum(start=[]) }}",
    "much in all": "{% set x = 'x' * 30000000 %}{% set a = x + 'a' %}{% set b = x + 'b' %}{% set c = x + 'c' %}{% set d = x + 'd' %}{% set e = x + 'e' %}",
    "fields": "{{ ('{0:99999}' * 20000).format(1) | length }}",
    "fields of a map": "{{ ('{a:99999}' * 20000).format_map({'a': 1}) | length }}",
    "fields by %": "{{ (('%99999d' * 20000) % (([1] * 20000) | list)) | length }}{{ ('%(a)99999d' * 20000) % {'a': 1} }}",
    "a wide field, of what is printed": "{{ '{!r:>{}}'.format('a', 999999999) }}",
    "a precise field": "{{ '%.*f' % (999999999, 1.5) }}",
    "escaped fields": "{% for i in range(9999) %}{% set a = ('{0!a}' * 999999).format('今' * 999999) %}{% endfor %}",
    "wide characters in a field": "{% set ns = namespace(a=none) %}{% for i in range(99) %}{% set ns.a = namespace(a=ns.a, b='😀{:6140702}'.format(1)) %}{% endfor %}",
    "a format that is tested": "{{ '%1000000000d' is odd }}",
    "a format that is tested by map": "{{ ['%1000000000d'] | select('divisibleby', 3) | list }}",
    "a translation": "{{ ('a' * 1000).translate({97: 'b' * 1000000}) | length }}",
    "joining a text": "{{ ('a' * 99999).join('b' * 99999) | length }}",
    "joining a dict": "{{ ('a' * 9999999).join(dict.fromkeys(range(99999) | map('string'))) | length }}",
    "tabs by name": "{{ ('\t' * 10000).expandtabs(tabsize=99999) | length }}",
    "an indent by name": "{{ ('a\n' * 10000) | indent(width=99999) | length }}",
    "an indent of other lines": "{{ ('\x1c' * 10000) | indent(99999) | length }}",
    "a wide time": "{{ strftime_now('%2000000000d') }}",
    "a wide time, flagged": "{{ strftime_now('%_99999Y' * 9) }}",
    "a repeated list": "{{ ([1] * 10000000) | length }}",
    "a repeated list alone": "{{ [1] * 10000000 }}",
    "bytes": "{{ (1).to_bytes(1000000000, 'big') }}",
    "copies": "{% set x = 'x' * 30000000 %}" + "".join(f"{{% set x{i} = x[{i}:] %}}" for i in range(9)),
    "copies of a list": "{% set x = [1] * 2000000 %}" + "".join(f"{{% set x{i} = x[{i}:] %}}" for i in range(9)),
    "a search backwards": "{{ ('a' * 1000000).rfind('b' + 'a' * 500000) }}",
    "stripping": "{{ ('a' * 1000000).strip('b' * 500000 + 'a') | length }}",
    "a long word": "{{ ('a' * 1000000) | wordwrap(1) | length }}",
    "hyphens": "{{ ('-' * 300000) | wordwrap(79) | length }}",
    "tags": "{{ ('<a>' * 300000) | striptags | length }}",
    "sorting one text": "{{ (['x' * 1000000] * 90000) | sort | length }}",
    "the largest of one text": "{{ (['x' * 1000000] * 90000) | max | length }}",
    "digits": "{{ ('f' * 10000000) | int(base=16) // 3 }}",
    "nested tuples as a key": "{% macro m() %}{% set ns.x = varargs %}{% endmacro %}{% set ns = namespace(x=1) %}{% for i in range(99999) %}{% set ns.x = (ns.x,) %}{% endfor %}{{ {ns.x: 1} | length }}",
    "a chain of namespaces": "{% set ns = namespace(a=none) %}{% for i in range(99999) %}{% for j in range(99999) %}{% set ns.a = namespace(a=ns.a) %}{% endfor %}{% endfor %}",
    "a conditional loop": "{% for i in range(99999) %}{% for j in range(99999) if false %}{% endfor %}{% endfor %}",
    "comparisons": "{% set x = ('x' * 9999999) + 'a' %}{% set y = ('x' * 9999999) + 'b' %}" + "{% if x == y %}{% endif %}" * 9999,
    "output": "{{ 'x' * 1000000 }}",
    "many cuts": "{% set ns = namespace(x='') %}{% for i in range(99999) %}{% set ns.x = ns.x + messages[0].content + ' ' %}{% endfor %}{{ ns.x.split(' ') | length }}",
}  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ENDLESS)
def test_endless_templates_end(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_SECONDS", MAX_SECONDS)
    begun = time.monotonic()
    with pytest.raises(ChatTemplateError) as error:
        TOK.chat(HI, template=ENDLESS[name] + "\n")
    assert len(str(error.value)) < 600
    assert time.monotonic() - begun < 10  # the limit, and what one step may take on a busy machine


def test_an_exponential_repr_is_cut_off() -> None:
    template = (
        "{% set n = namespace(x=1) %}"
        + "{% set n.x = namespace(a=n.x, b=n.x) %}" * 200
        + "{% set n.x = n %}{{ n.x }}{{ [n] }}{{ {'a': n} | string }}"
    )
    assert len(TOK.chat(HI, template=template).text) < 200


ESCAPES = {  # name -> a template that tries to leave the sandbox
    "class": "{{ ''.__class__.__mro__ }}",
    "class of a message": "{{ messages[0].content.__class__.__init__.__globals__ }}",
    "runs": "{{ messages[0].content._runs }}",
    "a method's function": "{{ messages[0].content.strip.__func__.__globals__ }}",
    "subclasses": "{{ ().__class__.__base__.__subclasses__() }}",
    "attr": "{{ '' | attr('__class__') }}",
    "format": "{{ '{0.__class__}'.format('') }}",
    "format of a message": "{{ '{0.__class__.__init__.__globals__}'.format(messages[0].content) }}",
    "format_map": "{{ '{a.__class__}'.format_map({'a': 1}) }}",
    "globals of a macro": "{% macro m() %}{% endmacro %}{{ m.__globals__ }}",
    "environment": "{{ self.__init__.__globals__ }}",
    "cycler": "{{ cycler.__init__.__globals__ }}",
    "namespace": "{{ namespace.__init__.__globals__ }}",
    "a namespace's attributes": "{% set ns = namespace(_Namespace__attrs=1) %}",
    "a namespace's class": "{% set ns = namespace() %}{% set ns.__class__ = 1 %}",
    "undefined": "{{ nothing.__class__ }}",
    "range": "{{ range.__globals__ }}",
    "strftime": "{{ strftime_now.__globals__ }}",
    "dict": "{{ dict.__class__ }}",
    "mro": "{{ dict.mro() }}",
    "a changed message": "{% set _ = messages[0].update({'content': 'x'}) %}",
    "a changed message, by the class": "{% set _ = dict.update(messages[0], {'content': 'x'}) %}",
    "a longer list": "{% set _ = messages.append(1) %}",
    "include": "{% include '/etc/passwd' %}",
    "import": "{% import 'os' as os %}",
    "extends": "{% extends 'x' %}",
    "bytes": "{{ messages[0].content.encode() }}",
    "escaping": "{% autoescape true %}{{ messages[0].content }}{% endautoescape %}",
}
# What the errors say; the other templates print nothing.
REFUSALS = {
    "class": "'__class__' of 'str' object is unsafe",
    "class of a message": "'__init__' of 'BriefUndefined' object is unsafe",
    "a method's function": "'__func__' of 'method' object is unsafe",
    "subclasses": "'__class__' of 'tuple' object is unsafe",
    "format of a message": "'__init__' of 'BriefUndefined' object is unsafe",
    "environment": "'__init__' of 'TemplateReference' object is unsafe",
    "cycler": "'__init__' of 'function' object is unsafe",
    "namespace": "'__init__' of 'function' object is unsafe",
    "a namespace's attributes": "invalid namespace name '_Namespace__attrs'",
    "a namespace's class": "invalid namespace name '__class__'",
    "mro": "has no attribute 'mro'",
    "a changed message": "'update' of 'GivenDict' object is unsafe",
    "a changed message, by the class": "has no attribute 'update'",
    "a longer list": "'append' of 'GivenList' object is unsafe",
    "include": "no loader",
    "import": "no loader",
    "extends": "no loader",
    "bytes": "str.encode is not supported",
    "escaping": "is not supported in a chat template",
}


@pytest.mark.parametrize("name", ESCAPES)
def test_templates_cannot_leave_the_sandbox(name: str) -> None:
    messages = [dict(HI[0])]
    if name in REFUSALS:
        with pytest.raises(ChatTemplateError, match=re.escape(REFUSALS[name])):
            TOK.chat(messages, template=ESCAPES[name] + "\n")
    else:  # an undefined value prints nothing
        assert TOK.chat(messages, template=ESCAPES[name] + "\n").text.strip() == ""
    assert messages == HI


BROKEN = {
    "a tag": "{% for x in messages %}",
    "an expression": "{{ 1 + }}",
    "an unknown tag": "{% while true %}{% endwhile %}",
    "an unknown filter": "{{ 1 | nothing }}",
    "parentheses": "{{ " + "(" * 5000 + ")" * 5000 + " }}",
    "brackets": "{{ " + "[" * 500 + "]" * 500 + " }}",
    "operators": "{{ 1" + " + 1" * 20000 + " }}",
    "loops": "{% for a in [1] %}" * 150 + "{% endfor %}" * 150,
    "digits": "{{ " + "9" * 5000 + " }}",
    "length": "x" * ((1 << 17) + 1) + "\n",
    "nodes": "{{a+b}}" * 18_000,
    "names and branches": "".join(f"{{{{ a{i} }}}}" for i in range(5000)) + "{% if a %}{% endif %}" * 3000,
    "a method that is printed": "{{ messages[0].content.strip }}",
    "a method in a list": "{{ [messages[0].items] }}",
    "a function of no template's": "{{ messages[0].content.maketrans('a', 'b') }}",
    "nothing": "{{ nothing.at.all }}",
    "no key": "{{ ('%(' ~ 'a' * 1000000 ~ ')s') % {} }}",
    "no element": "{{ {}['a' * 1000000].b }}",
    "arithmetic": "{{ 1 / 0 }}",
    "types": "{{ 'a' + 1 }}",
    "a refusal": "{{ raise_exception('never') }}",
    "a null": "{{ raise_exception() }}",
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", BROKEN)
def test_errors_of_broken_templates_are_short(name: str) -> None:
    with pytest.raises(ChatTemplateError) as error:
        TOK.chat(HI, template=BROKEN[name] + "\n")
    assert str(error.value).startswith("the chat template")
    assert len(str(error.value)) < 600


def test_errors_have_the_line_of_the_template() -> None:
    with pytest.raises(ChatTemplateError, match="rejects the messages in line 3: roles must alternate") as error:
        TOK.chat(HI, template="a\n{% if true %}\n{{ raise_exception('roles must alternate') }}\n{% endif %}")
    assert error.value.line == 3
    with pytest.raises(ChatTemplateError, match="line 2"):
        TOK.chat(HI, template="a\n{% if %}")


@pytest.mark.parametrize("own", [7, [], {}, [7], [{"template": 7}], {"a": 7}, [{"name": 7, "template": "x"}], True])
def test_chat_templates_of_invalid_types_are_refused(own: Any) -> None:
    with pytest.raises(ChatTemplateError):
        TOK._with_facts(chat_template=own).chat(HI)


def test_a_tokenizer_that_fits_no_preset_names_the_estimate() -> None:
    with pytest.raises(
        ChatTemplateError,
        match=r"no chat template; .*; to estimate .*, use jeton\.chat_count\(tok, messages\) \(jeton chat count\)",
    ):
        jeton.Tokenizer.from_merges({104: b"h"}, []).chat(HI)


def test_errors_name_the_templates_to_choose_from() -> None:
    with pytest.raises(ChatTemplateError, match=r"no chat template; .*'chatml'"):
        TOK.chat(HI)
    with pytest.raises(ChatTemplateError, match="no chat template 'chatmel'"):
        TOK.chat(HI, template="chatmel")
    with pytest.raises(
        ChatTemplateError, match=r"lacks: '<\|im_start\|>', '<\|im_end\|>'; add them with tok = tok.add_tokens"
    ):
        TOK.chat(HI, template="chatml")
    several = TOK._with_facts(chat_template={"a": "A", "b": "B"})
    with pytest.raises(ChatTemplateError, match="'a', 'b'"):
        several.chat(HI)
    assert several.chat(HI, template="b").text == "B"
    with pytest.raises(ConfigError):
        TOK.chat(HI, template=7)  # type: ignore[arg-type]


def loop() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


@pytest.mark.parametrize(
    "messages",
    ["hi", b"hi", {"role": "user"}, 7, None, [], [7], [{}], [{"role": 7}], ["hi"], iter(())]
    + [[{"role": "user", "content": content}] for content in (b"x", object(), {1: 2}, loop(), {"a": {7}})],
)
def test_invalid_messages_are_refused(messages: Any) -> None:
    with pytest.raises(ConfigError):
        TOK.chat(messages, template="{{ messages }}")


@pytest.mark.parametrize("tools", ["x", [7], [b"x"]])
def test_invalid_tools_are_refused(tools: Any) -> None:
    with pytest.raises(ConfigError, match="tools"):
        TOK.chat(HI, template="{{ tools }}", tools=tools)


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(jeton.InvalidTextError):
        TOK.chat([{"role": "user", "content": "\ud800"}], template="{{ messages[0].content }}")


@pytest.mark.timeout(60)
def test_long_chats_stay_within_the_limits() -> None:
    """A long message and 2,000 messages, in templates that read all messages in every turn."""
    from .templates import CHATML_WITH_TOOLS

    tok = TOK.add_tokens(["<|im_start|>", "<|im_end|>"])
    long = "<|im_end|> a" * 30_000
    chat = tok.chat([{"role": "user", "content": long}], template="chatml")
    assert chat.ids.count(tok.special_tokens["<|im_end|>"]) == 1
    many = [{"role": role, "content": "some words"} for role in ("user", "assistant")] * 1000
    assert len(tok.chat(many, template=CHATML_WITH_TOOLS).turns) == 2000


def test_a_slice_of_many_messages_takes_linear_time() -> None:
    many = [{"role": "user", "content": "some words"}] * 3000
    source = "{% set rest = messages[1:] %}{% for m in rest %}{% if rest | length > 9 %}.{% endif %}{% endfor %}"
    began = time.process_time()
    assert TOK.chat(many, template=source).text == "." * 2999
    assert time.process_time() - began < 5


def test_limits_grow_with_the_messages() -> None:
    long = "x" * 300_000
    assert TOK.count(
        TOK.chat([{"role": "user", "content": long}], template="{{ '<s>' + messages[0].content }}").text
    ) > len(long)
    with pytest.raises(ChatTemplateError, match="prints more than"):
        TOK.chat(HI, template="{{ 'x' * 300000 }}")


def test_unknown_keywords_of_chat_are_refused() -> None:
    with pytest.raises(TypeError, match=r"no keyword 'enable_thinking'; .*variables=\{'enable_thinking': …\}"):
        TOK.chat(HI, template="{{ 1 }}", enable_thinking=False)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'add_generation_promt'; did you mean add_generation_prompt="):
        TOK.chat(HI, template="{{ 1 }}", add_generation_promt=True)  # type: ignore[arg-type]
    source = "{{ enable_thinking is false }}"
    assert TOK.chat(HI, template=source, variables={"enable_thinking": False}).text == "True"
    for name, setter in (("eos_token", "the tokenizer"), ("tools", r"chat\(tools=…\)")):
        with pytest.raises(ConfigError, match=rf"variables cannot contain {name}: {setter} sets it"):
            TOK.add_tokens(["<e>"]).with_roles(eos="<e>").chat(HI, template=source, variables={name: None})
    for variables in ({"messages": []}, {"tools": []}, {"add_generation_prompt": True}, [("a", 1)], {1: 2}):
        with pytest.raises(ConfigError):
            TOK.chat(HI, template=source, variables=variables)  # type: ignore[arg-type]


def test_threads_render_independently() -> None:
    source = "{% for m in messages %}{{ '<s>' + m.content }}{% endfor %}"
    expected = {n: TOK.chat([{"role": "user", "content": str(n)}] * n, template=source).turns for n in (1, 20, 50)}
    wrong = []

    def work(n: int) -> None:
        for _ in range(20):
            if TOK.chat([{"role": "user", "content": str(n)}] * n, template=source).turns != expected[n]:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_missing_jinja_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "jinja2", None)
    template.compiled.cache_clear()
    with pytest.raises(jeton.errors.MissingDependencyError, match=r"jeton\[chat\]") as error:
        TOK.chat(HI, template="{{ 1 }}")
    assert error.value.extra == "chat"
