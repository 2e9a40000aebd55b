"""Lookups and `Markup` in templates behave as in Jinja's sandbox with the configuration of transformers."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

import pytest

from jeton.chat.template import render, templates
from jeton.errors import ChatTemplateError

from ..selection import amount

jinja2 = pytest.importorskip("jinja2")


@pytest.mark.parametrize("own", [{}, [], (), 5, {"a": 1}, [{"name": "a"}], [{"template": None}]])
def test_templates_are_a_text_or_texts_by_name(own: Any) -> None:
    with pytest.raises(ChatTemplateError, match="neither a string nor a mapping of names to strings"):
        templates(own)


MESSAGES: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": "<a> & b\nLine 'x' \"y\" 3",
        "n": 5,
        "b": True,
        "_x": "own",
        "list": [1, "s"],
        "tool_calls": [{"function": {"name": "f", "arguments": {"city": "x"}}}],
    },
    {"role": "assistant", "content": "5"},
    {"role": "user", "content": ""},
]

VALUES = {
    "content": "messages[0].content", "empty": "messages[2].content", "role": "messages[0].role", "literal": "'lit<b>'",
    "integer": "7", "float": "1.5", "true": "true", "none": "none", "undefined": "nope", "absent": "messages[0].nope",
    "list": "[1, 'a', c]", "tuple": "(1, c)", "dict": "{'a': 1, '_x': 2}", "message": "messages[0]", "messages": "messages",
    "range": "range(3)", "namespace": "namespace(a=1)", "markup": "'<s>'|safe", "escaped": "c|e", "loop": "loop",
    "iterator": "(messages|map(attribute='role'))", "items": "messages[0].items()", "macro": "mac", "method": "c.upper",
    "cycler": "cycler(1)",
}  # fmt: skip
KEYS = [
    "'content'", "'x'", "'a'", "0", "-1", "99", "none", "1.0", "1.5", "true", "nope", "[1]", "{}", "(1,)", "'upper'",
    "'__class__'", "'_runs'", "'_size'", "'_x'", "'0'", "''", "c", "c|safe", "messages",
]  # fmt: skip
NAMES = [
    "content", "x", "a", "upper", "count", "index", "items", "function", "_runs", "_size", "_message", "_x", "_cut",
    "__class__", "__dict__", "__html__", "real", "append", "striptags", "name", "mro",
]  # fmt: skip
SLICES = ["1:", ":-1", "::-1", "'a':", "none:2", "1.5:", "::0", "true:", "nope:", "c:", "5:1"]

LOOKUPS = [
    *(f"({value})[{key}]{then}" for value in VALUES.values() for key in KEYS for then in ("", " is defined")),
    *(f"({value}).{name}{then}" for value in VALUES.values() for name in NAMES for then in ("", " is defined", ".x")),
    *(f"(c if c else none, {value})[1][{part}]|list" for value in VALUES.values() for part in SLICES),
    *(f"{value}[{part}]{then}" for value in ("5", "none", "'ab'") for part in SLICES for then in ("", " is defined")),
    *(f"({value})|attr({name!r}) is defined" for value in VALUES.values() for name in NAMES),
    *(f"({value})|attr(1)" for value in VALUES.values()),
]
FILTERED = [
    f"messages|{filter}"
    for attribute in ("content.content", "content.0", "content.99", "content.upper.x", "x", "x.y", "_size", "n.x", "list.1")
    for filter in (
        f"map(attribute='{attribute}')|select('defined')|list|length", f"map(attribute='{attribute}', default='D')|list",
        f"selectattr('{attribute}')|list|length", f"rejectattr('{attribute}', 'defined')|list|length",
        f"selectattr('{attribute}', 'undefined')|list|length", f"join('|', attribute='{attribute}')",
        f"sort(attribute='{attribute}')|length", f"groupby('{attribute}')|length", f"unique(attribute='{attribute}')|list|length",
        f"min(attribute='{attribute}')|length", f"sum(attribute='{attribute}')",
    )
]  # fmt: skip
# Iterators: some filters of Jinja take them, others refuse them.
ITERATORS = [
    f"messages|map(attribute='role')|{filter}"
    for filter in ("length", "last", "first", "tojson", "reverse|length", "reverse|first", "list|tojson", "join", "int",
                   "sort", "dictsort", "items|list", "abs", "round", "default('x')|list", "indent", "truncate")
] + ["messages|selectattr('x')|tojson", "[1, 2]|reverse|length", "([1, 2]|reverse)[0]", "range(3)|tojson", "nope|tojson",
     "{'a': messages|map('length')}|tojson", "[1, 2]|truncate", "nope|indent", "nope|wordwrap", "5|indent", "[1]|wordwrap",
     "c|replace('a', 'b', none)", "c|replace(old='a', new=5)", "empty * nope", "c.strip(chars='<')", "c.strip('<')"]  # fmt: skip
MARKUP = [
    "m + c", "c + m", "c + 'x' + m", "m + '<'", "'<' + m", "m + 5", "m + none", "m + nope", "nope + m", "m + m", "m ~ c",
    "(m ~ c) + '<'", "m * 2 + '<'", "2 * m + '<'", "m - 'a'", "'<' in m", "m == '<s>'", "m < 'z'", "[m, '<s>']|unique|list",
    "m|e", "m|e|e + '<'", "m|forceescape + '<'", "m|string + '<'", "m|safe + '<'", "c|e + '<'", "5|e + '<'", "none|e + '<'",
    "[c]|e", "nope|e + '<'", "nope|safe + '<'", "5|safe + '<'", "[m]", "[m]|string + '<'", "{'a': m}", "[m]|tojson", "m|tojson + '<'",
    "m[0] + '<'", "m[1:] + '<'", "m[::-1] + '<'", "m|first + '<'", "m|last + '<'", "m|reverse + '<'", "m|list", "m|length",
    "m.upper() + '<'", "m|upper + '<'", "m.strip('>') + '<'", "m.title() + '<'", "m|title + '<'", "m|trim + '<'", "m|capitalize + '<'",
    "m.replace('s', '<') + '<'", "m|replace('s', '<') + '<'", "c.replace('a', m)", "c|replace('a', m) + '<'", "m.replace('s', '<', count=1)",
    "m.center(9, '*') + '<'", "m.center(9, '<')", "m|center(9) + '<'", "m.ljust(9) + '<'", "m.zfill(9) + '<'", "m.swapcase() + '<'",
    "('ß'|safe).upper() + '<'", "('ß'|safe).casefold() + '<'", "('a\tb'|safe).expandtabs() + '<'", "m.translate({115: '<'}) + '<'",
    "m.removeprefix('<') + '<'", "m.removesuffix('>') + '<'", "m.split('s')[0] + '<'", "m.rsplit('s', 1)", "m.partition('s')[2] + '<'",
    "m.rpartition('s')", "m.splitlines()[0] + '<'", "m.join(['<', 1, none, m]) + '<'", "'<'.join([m]) + '<'", "[m, '<']|join + '<'",
    "[m, '<']|join(m) + '<'", "m.join(c)", "m.format('<')", "('{}<'|safe).format(c) + '<'", "('{}'|safe).format(m)", "'{}'.format(m) + '<'",
    "('{0.x}|{0[x]}<'|safe).format(c)", "('{:>9}<'|safe).format('<')", "('{:>9}'|safe).format(m)", "('{!r}'|safe).format(m)", "('{!s}'|safe).format(m)",
    "('{a}<'|safe).format_map({'a': c})", "('%s<'|safe) % c + '<'", "('%s %s'|safe) % (c, m)", "('%s'|safe) % [c]", "('%s'|safe) % {'a': c}",
    "('%(a)s<'|safe) % {'a': c}", "('%(a)s<'|safe)|format(a=c)", "('%r'|safe) % c", "('%.2s'|safe) % c", "('%5s<'|safe) % m", "('%d<'|safe) % 5 + '<'",
    "('%x'|safe) % 5", "('%c'|safe) % 'a'", "('%s%%'|safe) % c", "('%s'|safe) % nope", "('%s %s'|safe) % c", "'%s' % m + '<'", "'%r' % m",
    "c|indent(m) + '<'", "c|indent(m, true) + '<'", "c|indent(m, true, true) + '<'", "(c|safe)|indent('<') + '<'", "(c|safe)|indent(2, true, true) + '<'",
    "(c|safe)|wordwrap(5) + '<'", "c|wordwrap(5, wrapstring=m) + '<'", "(c|safe)|truncate(9, true, '<<', 0)", "c|truncate(9, true, m, 0)", "c|truncate(9, end=m)",
    "m|striptags + '<'", "m.striptags() + '<'", "('&lt;'|safe).unescape() + '<'", "m.escape('<') + '<'", "m.x is defined", "m is escaped", "c is escaped", "(c|e) is escaped",
    "(m if true else '') + '<'", "(m or '') + '<'", "(m|default('x')) + '<'", "('5'|safe)|int + 1", "m|wordcount", "(m|attr('upper'))() + '<'",
    "messages|map(attribute='content')|map('e')|join('<')", "messages|map(attribute='content')|map('safe')|list", "mac(m) + '<'", "{m: 1}['<s>']",
    "'Use '|safe + c + ' for '|safe + messages[1].content + '\n'|safe + messages[0].tool_calls[0].function|tojson",
]  # fmt: skip
SETUP = (
    "{% macro mac(x='') %}{{ x }}{% endmacro %}{% set c = messages[0].content %}{% set m = '<s>'|safe %}"
    "{% set empty = messages[2].content %}{% for _ in [1] %}{{ EXPRESSION }}{% endfor %}"
)


@cache
def environment() -> Any:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    made.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return made


def outcome(render: Any) -> str | None:
    """The text; None for an error."""
    try:
        text: str = render()
    except ChatTemplateError:
        return None
    except Exception as error:
        assert not isinstance(error, jinja2.TemplateSyntaxError), error
        return None
    return text


def sampled(expressions: list[str], default: int) -> list[str]:
    return random.Random(1).sample(expressions, amount(len(expressions), default=default))


@pytest.mark.parametrize(
    "expressions",
    [sampled(LOOKUPS, 100), sampled(FILTERED, 40), ITERATORS, *(MARKUP[part::2] for part in range(2))],
    ids=["lookups", "filtered", "iterators", "markup", "more markup"],
)
def test_expressions_render_as_in_jinja(expressions: list[str]) -> None:
    """Equal text, or an error in both. Jinja prints an address for values without a text form; Jeton refuses them."""
    rendered = 0
    for expression in expressions:
        source = SETUP.replace("EXPRESSION", expression)
        theirs = outcome(lambda source=source: environment().from_string(source).render(messages=MESSAGES))
        ours = outcome(lambda source=source: render(source, MESSAGES, {}, {}, [])[0])
        if theirs is not None and ours is None and (" at 0x" in theirs or theirs.startswith(("<", "dict_"))):
            continue
        assert ours == theirs, expression
        rendered += ours is not None
    assert rendered > len(expressions) // 3


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{% filter e %}<{{ c }}{% endfilter %}", "&lt;&lt;a&gt;"),
        ("{% set x %}{{ c|safe }}{% endset %}{{ x + '<' }}", "<a><"),
        ("{% set ns = namespace(t='') %}{% for m in [1, 2] %}{% set ns.t = ns.t + (c|e) %}{% endfor %}{{ ns.t + '<' }}", "&lt;a&gt;&lt;a&gt;&lt;"),
        ("{% for char in c|safe %}{{ char + '<' }}{% endfor %}", "<<a<><"),
        ("{{ c.content is defined }}{{ c['content'] is defined }}{{ c[0].type is defined }}", "FalseFalseFalse"),
    ],
)  # fmt: skip
def test_statements_render_as_in_jinja(source: str, text: str) -> None:
    source = "{% set c = messages[0].content %}" + source
    messages = [{"role": "user", "content": "<a>"}]
    assert environment().from_string(source).render(messages=messages) == text
    assert render(source, messages, {}, {}, [])[0] == text
