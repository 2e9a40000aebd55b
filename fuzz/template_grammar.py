"""Generator of chat templates from a grammar: literals, operators, filters, tests, methods, functions, statements."""

from __future__ import annotations

import random
from functools import partial
from typing import NamedTuple

__all__ = ["Grammar"]

NUMBERS = [0, 1, 2, 3, 7, 16, 99, -1, -7, 1000, 99_999, 10**6, 10**7, 10**8, 2 * 10**9, 2**31, 2**63, 10**12, 10**30]
FLOATS = ["0.5", "1e308", "1.0"]
TEXTS = [
    "", "a", "b", "ab c", "x\\n\\ty", "%s", "%d", "%r", "%5s%%", "%(a)s", "%*d", "%.*f", "%99999999d", "%-9.9999999s", "{}",
    "{0}{0}", "{:9}", "{:99999999}", "{0:{1}}", "{:>{}}", "{!r}", "{a}", "{a:99999}", "{0[0]}", "{0.real}", "{:.999999f}",
    "{:,}", "é", "今", "😀", "\\x01", "\\t\\t\\t", "\\n\\n", "----", "a-b-c", "&\\\"'", "content", "role", "a,b", "0", "1", "9",
    "%Y", "%c", "%2000000000d", "%_999999Y", "upper", "list", "string", "odd", "in", "aaaaaaaaaaaaaaaa",
]  # fmt: skip
SIZES = [0, 1, 2, 3, 9, 99, 999, 9999, 99_999, 10**6, 10**7]
# Operations of templates: (of, name, parameters, result). Kinds: t text, n number, l list, d dict, c condition, a any.
FILTERS = """
    n abs - n|l batch linecount:n,fill_with:a l|t capitalize - t|t center width:n t|l count - n|a default default_value:a,boolean:c a
    d dictsort case_sensitive:c,by:t,reverse:c l|t e - t|n filesizeformat binary:c t|l first - a|t float default:n n|t format a:a,b:n t
    l groupby attribute:t,default:a l|t indent width:n,first:c,blank:c t|t int default:n,base:n n|d items - l|l join d:t,attribute:t t
    t join d:t t|l last - a|l length - n|t list - l|l list - l|t lower - t|l map attribute:t,default:a l|l max attribute:t a|l min - a
    t replace old:t,new:t,count:n t|t reverse - t|l reverse - l|n round precision:n,method:t n|t safe - t|l slice slices:n,fill_with:a l
    l sort reverse:c,case_sensitive:c,attribute:t l|a string - t|t striptags - t|l sum attribute:t,start:n n|t title - t
    a tojson indent:n,ensure_ascii:c,sort_keys:c t|t trim chars:t t|t truncate length:n,killwords:c,end:t,leeway:n t
    l unique case_sensitive:c,attribute:t l|t upper - t|t wordcount - n|t wordwrap width:n,break_long_words:c,wrapstring:t t
    t pprint - t|l random - a|t urlencode - t|t urlize - t|d xmlattr - t|a attr name:t a
"""
METHODS = """
    t capitalize - t|t casefold - t|t center :n,:t t|t count :t,:n n|t endswith :t c|t expandtabs tabsize:n t|t find :t,:n n|t index :t n
    t format :a,:a,a:a,b:n t|t format_map :d t|t isdigit - c|t isprintable - c|t isupper - c|t join :l t|t join :t t|t join :d t
    t ljust :n,:t t|t lower - t|t lstrip :t t|t partition :t l|t removeprefix :t t|t removesuffix :t t|t replace :t,:t,:n t|t rfind :t n
    t rindex :t n|t rjust :n t|t rpartition :t l|t rsplit sep:t,maxsplit:n l|t rstrip :t t|t split sep:t,maxsplit:n l|t split - l
    t splitlines keepends:c l|t startswith :t c|t strip :t t|t swapcase - t|t title - t|t translate :d t|t translate :l t|t upper - t
    t zfill :n t|d get :t,:a a|d items - l|d keys - l|d values - l|d copy - d|l index :a n|l count :a n|l copy - l|n bit_length - n
    t encode :t t|n to_bytes length:n t|n as_integer_ratio - l|t maketrans :t,:t d|l append :a a|d update :d a|n hex - t
"""
ALL_METHODS = sorted({
    name for kind in (str, list, dict, tuple, int, float, bytes, range, type({}.keys())) for name in dir(kind)
    if not name.startswith("_")
} | {"next", "reset", "cycle", "changed", "super", "send", "throw", "mapping", "__class__"})  # fmt: skip
TESTS = {
    "a": "boolean callable defined escaped filter float integer iterable mapping none number sequence string test undefined",
    "n": "divisibleby even ge gt le lt odd eq", "t": "lower upper eq ne lt in", "l": "eq ne in", "d": "eq ne",
}  # fmt: skip
NAMES = {
    "t": ["x", "ns.x", "messages[0].content", "messages[2].content", "messages[0].role", "tools[0].function.name"],
    "n": ["n", "messages[1].n", "(messages | length)"],
    "l": ["l", "messages", "tools", "range(99)", "range(99999)", "messages[1].content"],
    "d": ["d", "messages[0]", "messages[1]", "tools[0].function", "tools[0]"],
}


class Operation(NamedTuple):
    """Filter or method: kind of the value it applies to, parameters, kind of the result."""

    of: str
    name: str
    parameters: list[tuple[str, str]]
    gives: str


def _table(text: str) -> list[Operation]:
    lines = [line.split() for entry in text.split("\n") for line in entry.split("|") if line.strip()]
    rows = []
    for of, name, parameters, gives in lines:
        pairs = [tuple(pair.split(":")) for pair in parameters.split(",")] if parameters != "-" else []
        rows.append(Operation(of, name, pairs, gives))  # type: ignore[arg-type]
    return rows


FILTER_TABLE, METHOD_TABLE = _table(FILTERS), _table(METHODS)


class Grammar:
    """Random templates. Most expressions have the expected types, some have others."""

    def __init__(self, seed: int | str) -> None:
        """Seeds the generator."""
        self._random = random.Random(seed)

    def template(self) -> str:
        """Random template."""
        head = "{% set ns = namespace(x='ab', l=[1]) %}{% set x = 'a-b c' %}{% set n = 3 %}{% set l = ['b', 'a'] %}"
        head += "{% set d = {'a': x, 'content': 'b'} %}{% macro m(a, b=1) %}{{ a }}" + self._random.choice(
            ["", self.statement(1)]
        )
        return head + "{% endmacro %}" + "".join(self.statement(2) for _ in range(self._random.randint(1, 3))) + "\n"

    def statement(self, depth: int) -> str:
        """Random statement."""
        any, of = self._random, self.expression
        name = any.choice("tnld")
        variable = {"t": any.choice(["x", "ns.x"]), "n": "n", "l": any.choice(["l", "ns.l"]), "d": "d"}[name]
        if depth <= 0 or any.random() < 0.3:
            return any.choice(
                [
                    "{{ " + of("a", 3) + " }}",
                    "{{ " + of("t", 4) + " }}",
                    "{% set " + variable + " = " + of(name, 3) + " %}",
                ]
            )
        body = self.statement(depth - 1) + (self.statement(depth - 1) if any.random() < 0.3 else "")
        kind = any.randrange(10)
        if kind < 4:  # a loop whose values may grow
            grown = any.choice([
                "ns.x = ns.x ~ ns.x", "ns.x = ns.x + x", "ns.l = [ns.l, ns.l]", "ns.l = ns.l + ns.l", "ns.l = ns.l * 9", "ns.l = (ns.l,)",
                "ns.x = " + of("t", 2), "ns.l = " + of("l", 2), "ns.l = {'a': ns.l, 'b': ns.l}", "ns.x = ns.x | replace('a', ns.x)",
            ])  # fmt: skip
            test = any.choice(["", "", " if " + of("c", 2)]) + any.choice(["", "", " recursive"])
            values = any.choice(["range(99)", "range(99999)", "messages", of("l", 2), of("t", 2)])
            return "{% for z in " + values + test + " %}" + body + "{% set " + grown + " %}{% endfor %}"
        if kind == 4:
            return "{% if " + of("c", 3) + " %}" + body + "{% else %}" + self.statement(depth - 1) + "{% endif %}"
        if kind == 5:
            return "{% set x %}" + body + "{% endset %}"
        if kind == 6:
            return "{% filter " + self.call(self.operation(FILTER_TABLE, "t"), 1) + " %}" + body + "{% endfilter %}"
        if kind == 7:
            return "{% macro w(a) %}" + body + "{{ caller() }}{% endmacro %}{% call w(1) %}" + body + "{% endcall %}"
        if kind == 8:
            return "{% generation %}" + body + "{% endgeneration %}"
        return "{% with x = " + of("t", 3) + " %}" + body + "{% endwith %}"

    def expression(self, kind: str, depth: int) -> str:
        """Random expression of a kind."""
        any = self._random
        if any.random() < 0.02:
            return self.wild(depth)
        if kind == "a":
            kind = any.choice("ttnldc")
        if kind == "c":
            return self.condition(depth)
        if depth <= 0 or any.random() < 0.15:
            return self.atom(kind)
        inner = partial(self.expression, depth=depth - 1)
        choice = any.randrange(10)
        if choice < 3:
            return self.operated(kind, depth)
        if choice < 6:
            return self.applied(FILTER_TABLE, kind, depth)
        if choice < 8:
            return self.applied(METHOD_TABLE, kind, depth)
        if choice < 9:
            return f"({inner(kind)} if {inner('c')} else {inner(kind)})"
        return self.made(kind, depth)

    def operated(self, kind: str, depth: int) -> str:
        """Random operator with two values."""
        any, inner = self._random, partial(self.expression, depth=depth - 1)
        if kind == "n":
            return f"({inner('n')} {any.choice(['+', '-', '*', '/', '//', '%', '**'])} {inner('n')})"
        if kind == "d":
            return self.made("d", depth)
        if any.random() < 0.4:
            return f"({inner(kind)} * {any.choice(SIZES)})"
        if any.random() < 0.3:
            return f"({inner(kind)})[{any.choice(['1:', '::-1', ':-1', '::2', '99:9999', inner('n') + ':'])}]"
        if kind == "l":
            return f"({inner('l')} + {inner('l')})"
        if any.random() < 0.3:
            field, argument = any.choice(
                [("%s", "a"), ("%r", "a"), ("%d", "n"), ("%9s", "a"), ("%99999d", "n"), ("%.999f", "n"), ("%x", "n")]
            )
            times = any.choice([1, 1, 2, 99, 9999])
            return f"(('{field}' * {times}) % (({self.expression(argument, depth - 1)},) * {times}))"
        return f"({inner('t')} {any.choice(['+ ' + inner('t'), '~ ' + inner('a')])})"

    def applied(self, table: list[Operation], kind: str, depth: int) -> str:
        """Random filter or method."""
        operation = self.operation(table, gives=kind)
        value = self.expression(operation.of, depth - 1)
        called = self.call(operation, depth - 1)
        text = f"({value} | {called})" if table is FILTER_TABLE else f"({value}).{called}"
        if operation.gives == "l" and self._random.random() < 0.6:
            text = f"({text} | list)"
        return text

    def operation(self, table: list[Operation], of: str | None = None, gives: str | None = None) -> Operation:
        """Random operation of a table; unsupported ones are rare."""
        rows = [row for row in table if of in (None, row.of) and gives in (None, row.gives)]
        refused = "pprint random urlencode urlize xmlattr encode to_bytes as_integer_ratio maketrans append update hex"
        common = [row for row in rows if row.name not in refused.split()]
        return self._random.choice(common if common and self._random.random() < 0.98 else rows or table)

    def call(self, operation: Operation, depth: int) -> str:
        """Call with positional and keyword arguments."""
        any = self._random
        if operation.name == "map" and any.random() < 0.7:
            other = self.operation(FILTER_TABLE, any.choice("tl"))
            return f"map('{other.name}'{''.join(', ' + one for one in self.arguments(other, depth))})"
        return f"{operation.name}({', '.join(self.arguments(operation, depth))})"

    def arguments(self, operation: Operation, depth: int) -> list[str]:
        """Arguments for some of the parameters."""
        any = self._random
        parameters = operation.parameters[: any.choice([1, 2, 9])]
        given, named = [], False
        for name, kind in parameters:
            named = bool(name) and (named or any.random() < 0.4)
            given.append(f"{name}=" * named + self.expression(kind, depth))
        return given

    def made(self, kind: str, depth: int) -> str:
        """Literal of a collection, or a call of a function."""
        any, inner = self._random, partial(self.expression, depth=depth - 1)
        return any.choice({
            "t": ["m({0}, b={1})", "strftime_now('%d %B')", "({0} ~ {1})", "cycler({2}, {2}).next()", "joiner({2})()"],
            "n": ["({3} | length)", "({2} | length)"],
            "l": ["[{0}, {1}]", "({0}, {1})", "[{0}]", "({4}).items()", "range({5})", "range({5}, {5}, {5})", "[{3}, {3}]"],
            "d": ["{{'a': {0}, 'b': {1}}}", "dict({4}, a={0})", "dict.fromkeys({3}, {0})", "{{{2}: {3}}}", "dict([({2}, {0})])"],
        }[kind]).format(inner("a"), inner("a"), inner("t"), inner("l"), inner("d"), inner("n"))  # fmt: skip

    def condition(self, depth: int) -> str:
        """Random comparison or test."""
        any = self._random
        kind = any.choice("tnlda")
        value = self.expression(kind, depth - 1)
        if any.random() < 0.5:
            name = any.choice(TESTS[kind].split())
            return (
                f"({value} is {name}({self.expression(kind, depth - 1)}))"
                if name in "divisibleby eq ne ge gt le lt in"
                else f"({value} is {name})"
            )
        operators = ["==", "!=", "in", "not in"] + (["<", ">=", "< 3 <"] if kind in "tnl" else [])
        return f"({value} {any.choice(operators)} {self.expression(kind, depth - 1)})"

    def wild(self, depth: int) -> str:
        """Random operation on a value of any type."""
        any, value = self._random, self.expression("a", depth - 1)
        arguments = ", ".join(self.expression("a", depth - 1) for _ in range(any.randrange(3)))
        return any.choice([
            f"({value}).{any.choice(ALL_METHODS)}({arguments})", f"({value}).{any.choice(ALL_METHODS)}", f"({value} | {any.choice(FILTER_TABLE).name}({arguments}))",
            f"({value})[{arguments or 0}]", f"({value} {any.choice(['+', '-', '*', '/', '//', '%', '**', '<', 'in', '~'])} {self.expression('a', depth - 1)})",
            f"{any.choice(['range', 'dict', 'namespace', 'cycler', 'joiner', 'm', 'loop', 'caller', 'x', 'self.b', 'lipsum'])}({arguments})",
        ])  # fmt: skip

    def atom(self, kind: str) -> str:
        """Random literal or name."""
        any = self._random
        if any.random() < 0.4:
            return any.choice(NAMES[kind])
        if kind == "n":
            return any.choice([str(any.choice(NUMBERS)), str(any.choice(SIZES)), any.choice(FLOATS)])
        if kind == "t":
            return "'" + any.choice(TEXTS).replace("'", "\\'") + "'"
        return any.choice(
            {
                "l": ["[]", "[1]", "['a', 'B']", "(1, 2)", "'abc'"],
                "d": ["{}", "{'a': 1}", "{97: 'bb'}", "{'role': 'x'}"],
            }[kind]
        )
