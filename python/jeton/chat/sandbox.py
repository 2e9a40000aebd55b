"""Where chat templates run: Jinja set up as `transformers` sets it up, with `limits`, and text that keeps its origin.

Jinja's immutable sandbox gives a template no way to Python's insides. What comes out of a call, filter or operator as a
plain `str` though `Traced` text went in is given its origin again (`Running.own`).

Left out of Jinja: chance, links, HTML (``lipsum``, ``random``, ``urlize``, ``xmlattr``, ``{% autoescape %}`` …); and
``str.encode``, for text that went through bytes has forgotten whose it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache, wraps
from types import BuiltinMethodType, MethodType
from typing import Any

from jinja2 import Environment, Undefined, nodes, pass_environment
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from ..errors import ChatTemplateError
from .limits import Fields, check_format, check_numbers, check_product, current, is_traced, result_size, weigh
from .traced import Traced, join, runs_of

__all__ = ["Sandbox", "sandbox"]

_NOT_HERE = ("forceescape", "pprint", "random", "urlencode", "urlize", "xmlattr")
# Filters whose first argument is made text.
_OF_TEXT = {
    "capitalize", "center", "e", "escape", "format", "indent", "lower", "replace", "safe", "string", "striptags",
    "title", "trim", "truncate", "upper", "wordcount", "wordwrap",
}  # fmt: skip


class _Generation(Extension):
    """``{% generation %} … {% endgeneration %}``: what the model writes."""

    tags = {"generation"}  # noqa: RUF012  (as Jinja has it)

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        call = nodes.Call(nodes.EnvironmentAttribute("generated"), [], [], None, None)
        return nodes.CallBlock(call, [], [], body).set_lineno(line)


class _Watched(NodeTransformer):
    """The template with calls put in where something is repeated, or made without a call."""

    def visit_For(self, node: nodes.For, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        target = node.target
        turn: list[nodes.Expr] = [nodes.Name(target.name, "load")] if isinstance(target, nodes.Name) else []
        node.body.insert(0, _told("enter", turn, node))
        return [_told("before", [], node), node, _told("after", [], node)]

    def visit_Concat(self, node: nodes.Concat, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        return _called("joined", node.nodes, node)

    def visit_List(self, node: nodes.List, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        return _called("made", [node], node)

    def visit_Dict(self, node: nodes.Dict, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        return _called("made", [node], node)

    def visit_Tuple(self, node: nodes.Tuple, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        return _called("made", [node], node) if node.ctx == "load" else node

    def visit_ScopedEvalContextModifier(self, node: nodes.Node, *args: Any) -> Any:  # noqa: N802
        raise ChatTemplateError("the chat template asks for HTML escaping; a prompt is no HTML", line=node.lineno)


def _called(name: str, values: list[nodes.Expr], near: nodes.Node) -> nodes.Call:
    call = nodes.Call(nodes.EnvironmentAttribute(name), values, [], None, None)
    return call.set_lineno(near.lineno)  # type: ignore[return-value]


def _told(name: str, values: list[nodes.Expr], near: nodes.Node) -> nodes.Node:
    return nodes.ExprStmt(_called(name, values, near)).set_lineno(near.lineno)


class Sandbox(ImmutableSandboxedEnvironment):
    """The environment of all chat templates. It keeps nothing of a rendering, so one serves all threads."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols], finalize=self.final
        )
        filters = {**self.filters, "tojson": _tojson, "join": _join}
        self.filters = {name: _filter(name, filters[name]) for name in filters if name not in _NOT_HERE}
        del self.globals["lipsum"]
        self.globals |= {
            "dict": _Dict(),
            "namespace": _Namespace,
            "raise_exception": _refuse,
            "strftime_now": lambda format: datetime.now().strftime(format),
        }
        self._own = {self.before, self.enter, self.after, self.joined, self.made, self.generated}

    # ── what `_Watched` and `_Generation` put into templates ──────────────────────────────────────────────────────

    def before(self) -> None:
        """A loop begins."""
        state = current()
        state.turns.append(state.turn)

    def enter(self, value: Any = None) -> None:
        """A turn of it begins, perhaps that of a message."""
        state = current()
        state.charge()
        if isinstance(value, Fields) and value._message is not None:
            state.turn = value._message

    def after(self) -> None:
        """It has ended."""
        state = current()
        state.turn = state.turns.pop()

    def joined(self, *values: Any) -> str:
        """``a ~ b``."""
        return self.concat(map(current().text, values))

    def made(self, value: Any) -> Any:
        """A list, tuple or dict that the template spells."""
        current().charge(weigh(value))
        return value

    def generated(self, caller: Callable[[], str]) -> str:
        """The body of ``{% generation %}``."""
        text = caller()
        return Traced(text, [(length, origin._replace(generated=True)) for length, origin in runs_of(text)])

    # ── what Jinja calls ──────────────────────────────────────────────────────────────────────────────────────────

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        template: nodes.Template = _Watched().visit(super()._parse(source, name, filename))
        return template

    def final(self, value: Any) -> Any:
        """What ``{{ … }}`` prints."""
        return value if isinstance(value, str | Undefined) else current().text(value)

    @staticmethod
    def concat(texts: Iterable[str]) -> str:
        """The output of a macro, a block or a captured ``{% set %}``."""
        state = current()
        pieces = []
        for text in texts:
            state.charge(len(text))
            pieces.append(text)
        return join(pieces)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """What a template may reach."""
        return super().is_safe_attribute(obj, attr, value) and not (isinstance(obj, str) and attr == "encode")

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """Every call but those of filters."""
        if isinstance(__obj, MethodType) and __obj in __self._own:
            return __obj(*args, **_named(kwargs))
        args = tuple(map(_held, args))
        state = current()
        state.charge()
        method = __obj if isinstance(__obj, BuiltinMethodType | MethodType) else getattr(__obj, "__wrapped__", None)
        owner = getattr(method, "__self__", None)
        if not isinstance(owner, str):
            result = super().call(__context, __obj, *args, **kwargs)
            if isinstance(result, list | tuple | Mapping):
                state.charge(weigh(result))
            # What a macro gives has its origins, and objects hand out what they hold.
            return result if isinstance(__obj, Macro) or owner is not None else state.own(result, args, _named(kwargs))
        name = __obj.__name__
        if name in ("format", "format_map"):  # which Jinja wraps
            check_format(owner, (args, _named(kwargs)))
        else:
            check_numbers(name, args)
            state.charge(result_size(name, owner, args))
            if not isinstance(owner, Traced) and is_traced(args):
                __obj = getattr(Traced(owner, runs_of(owner)), name)
        result = super().call(__context, __obj, *args, **kwargs)
        if isinstance(result, list):
            state.charge(len(result))
        return state.own(result, owner, args, _named(kwargs))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Operators that may make something large."""
        state = current()
        if operator == "%" and isinstance(left, str):
            check_format(left, right)
            if not isinstance(left, Traced) and is_traced(right):
                left = Traced(left, runs_of(left))
        elif operator == "+" and isinstance(left, str | list | tuple) and isinstance(right, str | list | tuple):
            state.charge(len(left) + len(right))
        else:
            check_product(operator, left, right)
        result = super().call_binop(context, operator, left, right)
        weigh(result)
        return state.own(result, left, right)


def _filter(name: str, filter: Callable[..., Any]) -> Callable[..., Any]:
    """A filter under the limits, with the origin of its result."""
    takes = 1 if hasattr(filter, "jinja_pass_arg") else 0  # Jinja passes something of its own first

    @wraps(filter)
    def watched(*args: Any, **kwargs: Any) -> Any:
        state = current()
        own, values = args[:takes], [_held(value) for value in args[takes:]]
        check_numbers(name, (*values[1:], *kwargs.values()))
        for value in values:
            weigh(value)
        if name in _OF_TEXT:
            text = state.text(values[0])
            values[0] = Traced(text, runs_of(text)) if is_traced(values[1:]) or is_traced(kwargs) else text
            if name == "format":
                check_format(text, (values[1:], kwargs))
            state.charge(result_size(name, text, tuple(values[1:])))
        elif name == "sum" and any(isinstance(start, list | tuple) for start in (*values[2:], *kwargs.values())):
            raise ChatTemplateError("the chat template adds up lists with |sum, in quadratic time")
        else:
            state.charge()
        result = filter(*own, *values, **kwargs)
        if isinstance(result, list | tuple | Mapping):
            state.charge(weigh(result))
        return state.own(result, values, kwargs)

    return watched


def _named(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """What a template passes by name; Jinja adds its own variables."""
    return {name: value for name, value in kwargs.items() if name not in ("_loop_vars", "_block_vars")}


def _held(value: Any) -> Any:
    """What can be looked at more than once: not what ``map`` and the like yield."""
    if not isinstance(value, Iterator) or isinstance(value, LoopContext):
        return value
    state = current()
    held = []
    for item in value:
        state.charge(1)
        held.append(item)
    return held


# ── what templates may call ───────────────────────────────────────────────────────────────────────────────────────


class _Namespace(Namespace):
    """Jinja's, without names that begin with an underscore, and not printed: it may hold itself."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self = args[0]
        Namespace.__init__(self)
        for name, value in dict(*args[1:], **kwargs).items():
            self[name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        if str(name).startswith("_"):
            raise SecurityError(f"a namespace has no {name!r}: names begin with a letter")
        super().__setitem__(name, value)

    def __repr__(self) -> str:
        return "<namespace>"


class _Dict:
    """`dict`, but not the class: its methods would change what is not to be changed."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, keys: Iterable[Any], value: Any = None) -> dict[Any, Any]:
        return dict.fromkeys(keys, value)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON without the escapes for HTML that Jinja's own filter makes."""
    if isinstance(indent, int) and indent > 100:
        raise ChatTemplateError(f"the chat template indents JSON by {indent}")
    state = current()
    pieces = []
    encoder = json.JSONEncoder(ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    for piece in encoder.iterencode(value):
        state.charge(len(piece))
        pieces.append(piece)
    return "".join(pieces)


@pass_environment
def _join(environment: Environment, value: Iterable[Any], d: str = "", attribute: str | int | None = None) -> str:
    """As Jinja's filter of this name, with origins."""
    items = list(value)
    if attribute is not None:
        for name in str(attribute).split("."):
            items = [environment.getitem(item, int(name) if name.isdigit() else name) for item in items]
    texts = [*map(current().text, items)]
    current().charge(result_size("join", d, (texts,)))
    return Traced(d, runs_of(d)).join(texts)


def _refuse(message: Any = "") -> None:
    raise TemplateError(str(message))


@cache
def sandbox() -> Sandbox:
    """The one environment, made when it is first needed."""
    return Sandbox()
