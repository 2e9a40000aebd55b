"""Bombs: chat templates that create large values from small input, as variants of known ones, by family."""

from __future__ import annotations

import random

__all__ = ["FAMILIES", "bomb"]


class Bombs:
    """Generator of bombs; one method for each family."""

    def __init__(self, seed: int | str) -> None:
        """Seeds the generator."""
        self._random = random.Random(seed)

    def number(self, low: int = 4, high: int = 12) -> int:
        """Random large number; its logarithm is uniform."""
        return int(10 ** self._random.uniform(low, high))

    def text(self) -> str:
        """Expression for a short or long text, of the template or of a message."""
        atom = self._random.choice(
            ["'a'", "'é'", "'今'", "'😀'", "messages[0].content", "messages[2].content", "'a\\tb\\n'"]
        )
        return self._random.choice([atom, f"({atom} * {self.number(0, 6)})"])

    def format(self) -> str:
        n, m = self.number(), self.number(0, 6)
        return self._random.choice([
            f"('{{0:{n}}}' * {m}).format(1)", f"('{{0:99999}}' * {self.number(2, 5)}).format(1)", f"'{{:{{}}}}'.format(1, {n})",
            f"'{{:>{{w}}}}'.format({self.text()}, w={n})", f"'{{:.{n}f}}'.format(1.5)", f"('{{}}' * {n}).format(*([1] * {m}))",
            f"('{{0}}' * {m}).format({self.text()})", f"'{{a:{n}}}'.format(a={self.text()})", f"'{{0[0]:{n}}}'.format([1])",
            f"'{{!r:>{n}}}'.format({self.text()})", f"('{{{{' * {n}).format()", f"'{{:0{n}b}}'.format(1)",
            f"'{{0:{{1}}{{1}}}}'.format(1, {n})", f"({self.text()} ~ '{{:{n}}}').format(1)", f"('{{0!a}}' * {m}).format({self.text()})",
            f"('{{0.real.real}}' * {m}).format({n})", f"'{{0:{n},}}'.format(2 ** 9999)",
        ])  # fmt: skip

    def percent(self) -> str:
        n, m = self.number(), self.number(0, 6)
        return self._random.choice([
            f"'%{n}d' % 1", f"'%*d' % ({n}, 1)", f"'%-*s' % ({n}, {self.text()})", f"'%.{n}f' % 1.5", f"'%.*f' % ({n}, 1.5)",
            f"('%99999d' * {m}) % (([1] * {m}) | list)", f"('%(a)s' * {m}) % {{'a': {self.text()}}}", f"'%(a){n}s' % {{'a': 1}}",
            f"'%{n}d' | format(1)", f"'%(a){n}s' | format(a=1)", f"'%*s' | format({n}, 1)", f"('%%' * {n}) % ()",
            f"'%r' % ([{self.text()}] * {m})", f"'%{n}d' is odd", f"'%{n}d' is divisibleby(3)", f"'%#0{n}x' % 255",
            f"({self.text()} ~ '%{n}d') % 1", f"['%{n}d'] | map('format', 1) | list", f"['%{n}d'] | select('odd') | list",
        ])  # fmt: skip

    def format_map(self) -> str:
        n, m = self.number(), self.number(0, 6)
        return self._random.choice([
            f"'{{a:{n}}}'.format_map({{'a': 1}})", f"('{{a:99999}}' * {m}).format_map({{'a': 1}})",
            f"'{{a:{{b}}}}'.format_map({{'a': 1, 'b': {n}}})", f"('{{a}}' * {m}).format_map(dict(a={self.text()}))",
            f"'{{a:.{n}f}}'.format_map({{'a': 0.5}})", f"('{{role}}' * {n}).format_map(messages[0])",
            f"('{{content}}' * {m}).format_map(messages[0])", f"'{{content:{n}}}'.format_map(messages[0])",
        ])  # fmt: skip

    def translate(self) -> str:
        n, m = self.number(0, 7), self.number(0, 7)
        return self._random.choice([
            f"('a' * {n}).translate({{97: 'b' * {m}}})", f"('a' * {n}).translate(['b' * {m}] * 99)",
            f"('a' * {n}).translate(dict.fromkeys(range(200), 'b' * {m}))", f"(messages[0].content * {n}).translate({{32: 'b' * {m}}})",
            f"('a' * {n}).translate('a'.maketrans({{'a': 'b' * {m}}}))", f"'a'.maketrans('a' * {n}, 'b' * {n})",
            f"('a' * {n}).translate({{97: messages[2].content * {m}}})", f"('\\x01' * {n}).translate('今' * {m})",
        ])  # fmt: skip

    def join(self) -> str:
        n, m = self.number(0, 7), self.number(0, 7)
        return self._random.choice([
            f"('a' * {n}).join('b' * {m})", f"({self.text()}).join({self.text()})", f"('a' * {n}).join(dict.fromkeys(range(9999) | map('string')))",
            f"('a' * {n}).join({{'a': 1, 'b': 2}})", f"(('a' * {n}) * 2).join(['b'] * {m})", f"['a' * {n}] * {m} | join",
            f"('b' * {m}) | join('a' * {n})", f"''.join(['a' * {n}] * {m})", f"{self.text()} | list | join({self.text()})",
            f"messages[0] | join('a' * {n})", f"range(99999) | join('a' * {n})", f"(['a' * {n}] * {m}) | map('upper') | join",
            f"messages | join('a' * {n}, attribute='role')", f"('a' * {n}).join(('b' * {m}).split('b'))", f"messages[2].content.join('b' * {m})",
        ])  # fmt: skip

    def expandtabs(self) -> str:
        n, m = self.number(), self.number(0, 7)
        return self._random.choice([
            f"'\\t'.expandtabs(tabsize={n})", f"'\\t'.expandtabs({n})", f"('\\t' * {m}).expandtabs(tabsize=99999)",
            f"('a\\t' * {m}).expandtabs(**{{'tabsize': {n}}})", f"messages[0].content.expandtabs(tabsize={n})",
            f"(messages[0].content * {m}).expandtabs(*[99999])", f"('\\t' * {m}).expandtabs()", f"('\\t今' * {m}).expandtabs(tabsize={n})",
        ])  # fmt: skip

    def indent(self) -> str:
        n, m = self.number(), self.number(0, 7)
        return self._random.choice([
            f"'a\\nb' | indent(width={n})", f"'a' | indent({n}, first=true)", f"('a\\n' * {m}) | indent(width=99999)",
            f"('a\\n' * {m}) | indent(width='b' * {m})", f"('\\r' * {m}) | indent(width='b' * {m}, blank=true)",
            f"('\\x1c' * {m}) | indent('b' * {m}, true, true)", f"messages[0].content | indent(width={n})",
            f"(messages[2].content * {m}) | indent(first=true, width={n})", f"['a\\nb'] | map('indent', width={n}) | list",
            f"{{'a': [1]}} | tojson(indent={n})", f"[[[1]]] | tojson(indent='a' * {n})", f"'a' | center(width={n})",
            f"'a'.ljust({n})", f"messages[0].content.rjust({n}, 'é')", f"'1'.zfill({n})", f"('a ' * {m}) | wordwrap(1, wrapstring='b' * {m})",
        ])  # fmt: skip

    def strftime_now(self) -> str:
        n, m = self.number(), self.number(0, 7)
        letter = self._random.choice("dYHcsnZ")
        flag = self._random.choice(["", "_", "0", "-", "^", "#", "+", "E", "O"])
        return self._random.choice([
            f"strftime_now('%{flag}{n}{letter}')", f"strftime_now(format='%{flag}{n}{letter}')", f"strftime_now('%{letter}' * {m})",
            f"strftime_now(('%{flag}99999{letter}') * {m})", f"strftime_now('a' * {m})", f"strftime_now('%%%{n}{letter}')",
            f"strftime_now('%{flag}' ~ {n} ~ '{letter}')", f"strftime_now(messages[0].content ~ '%{n}{letter}')",
        ])  # fmt: skip

    def repetition(self) -> str:
        n, m = self.number(), self.number(0, 4)
        items = self._random.choice(
            ["[1]", "['a']", "(1,)", "[[]]", "[messages]", "[messages[0].content]", "[none, 1]"]
        )
        return self._random.choice([
            f"{items} * {n}", f"{n} * {items}", f"({items} * 10000000)", f"({items} * {m}) * {m}", f"(({items} * {m}) | list) * {m}",
            f"[{items} * 1000000] * {m}", f"({items} * 9999999)[::-1]", f"({items} * 999999) + ({items} * {n})",
            f"({items} * {n}) | batch({m}) | list", f"[1] | batch({n}, 0) | list", f"[1] | slice({n}) | list",
            f"({items} * 999999) | slice({m}, 1) | list", f"({items} * 5000000) | map('string') | list",
            f"({items} * 1000000) == ({items} * 1000000)", f"({items} * 5000000) | sort", f"{{'a': {items} * {n}}}",
            f"({items} * 5000000) | unique | list", f"({items} * 3000000) | tojson", f"({items} * 3000000) | string",
            f"dict.fromkeys({items} * {n})", f"namespace(a={items} * {n})", f"cycler(*({items} * {n}))", f"{self.text()} | list",
        ])  # fmt: skip

    def others(self) -> str:
        """Bombs that were found during the fixes of the other families."""
        n, m = self.number(), self.number(0, 7)
        return self._random.choice([
            f"(1).to_bytes({n}, 'big')", f"({self.text()} * {m})[1:]", f"('a' * {m}).rfind('b' ~ 'a' * {m})", f"{self.text()} | title",
            f"('a' * {m}) | wordwrap(1)", f"('-' * {m}) | wordwrap({n})", f"('<a>' * {m}) | striptags", f"('<!---->' * {m}) | striptags",
            f"(['a' * 1000000] * {m}) | sort", f"(['a' * 1000000] * {m}) | max", f"('f' * {m}) | int(base=16)", f"2 ** {n}", f"9 ** 9 ** {m}",
            f"({self.text()}).strip({self.text()})", f"{{}}[('a' * {m},)]", f"{{}}['a' * {m}].b", f"('a' * {m}) * ('b' * {m}) | length",
            f"range({n}) | list", f"([range(99999)] * {m}) | map('list') | list", f"[['ab' * {m}], [1]] | sum(start=[])", f"1.5 | round({n}, 'floor')",
            f"('x,' * {m}).split(',')", f"('x ' * {m}).split()", f"('\\n' * {m}).splitlines()", f"(messages[2].content * {m}) | list",
            f"(messages[2].content * {m}).replace('s', 'b' * {m})", f"('ab' * {m}) | replace('', 'c' * {m})", f"({self.text()}) * {n}",
            f"raise_exception('a' * {m})", f"(['a' * {m}] * {m}) | tojson(ensure_ascii=true)", f"('😀' * {m}) | tojson(ensure_ascii=true)",
            f"([['a' * {m}]] * {m}) == ([['a' * {m}]] * {m})", f"('a' * {m}) in (['b' * {m}] * {m})", f"([1] * {m}).index(2)", "''.join",
            f"'' * {n}", f"(messages[0].content[:0]) * {n}", f"('{{0:' ~ '9' * {m} ~ '}}').format(1)", f"('ŉ' * {m}) | upper", f"('\\x01' * {m}) | list",
        ])  # fmt: skip

    def around(self, bomb: str) -> str:
        """Template that uses an expression in a random way."""
        return self._random.choice([
            "{{{{ ({0}) | length }}}}", "{{{{ {0} }}}}", "{{% set a = {0} %}}{{{{ a | length }}}}", "{{{{ [{0}, {0}] | length }}}}",
            "{{% for i in range(9999) %}}{{% set a = {0} %}}{{% endfor %}}", "{{% if ({0}) %}}yes{{% endif %}}", "{{{{ ({0}) == ({0}) }}}}",
            "{{% macro m() %}}{{{{ {0} }}}}{{% endmacro %}}{{{{ m() | length }}}}", "{{% set b %}}{{{{ {0} }}}}{{% endset %}}{{{{ b | length }}}}",
            "{{% set ns = namespace(l=[]) %}}{{% for i in range(9999) %}}{{% set ns.l = ns.l + [{0}] %}}{{% endfor %}}",
            "{{% filter upper %}}{{{{ {0} }}}}{{% endfilter %}}", "{{{{ ({0}) ~ ({0}) }}}}", "{{{{ 1 if ({0}) is string else 2 }}}}",
            "{{% set ns = namespace(a=none) %}}{{% for i in range(9999) %}}{{% set ns.a = namespace(a=ns.a, b={0}) %}}{{% endfor %}}",
        ]).format(bomb) + "\n"  # fmt: skip


FAMILIES = (
    "format",
    "percent",
    "format_map",
    "translate",
    "join",
    "expandtabs",
    "indent",
    "strftime_now",
    "repetition",
    "others",
)


def bomb(family: str, seed: int, number: int) -> str:
    """Generates the template of a family, a seed and a number."""
    bombs = Bombs(f"{family} {seed} {number}")
    return bombs.around(getattr(bombs, family)())
