"""Where chat templates run: Jinja set up as `transformers` sets it up, with `limits`, and text that keeps its origin.

Jinja's immutable sandbox gives a template no way to Python's insides. Here, moreover, a template reaches nothing that is
not accounted for: operators, comparisons, slices, literals and loops are calls of the `Sandbox` in the code that Jinja
generates (`_Watched`), and methods, filters, tests and functions are those listed here and in `costs`; others are
refused. Jinja's optimizer, which would evaluate constant expressions while it compiles, is off.

What comes out of a text's method or filter as a plain `str` though `Traced` text went in is given its origin again
(`Running.own`).

Left out of Jinja: chance, links, HTML (``lipsum``, ``random``, ``urlize``, ``xmlattr``, ``{% autoescape %}`` …; ``safe``
and ``escape`` give plain text); ``str.encode``, for text that went through bytes has forgotten whose it is.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MappingView
from datetime import datetime
from functools import cache, partial, wraps
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

from jinja2 import Environment, Undefined, nodes, pass_context, pass_environment
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.filters import FILTERS as JINJA_FILTERS
from jinja2.parser import Parser
from jinja2.runtime import BlockReference, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range
from jinja2.tests import TESTS as JINJA_TESTS
from jinja2.utils import Cycler, Joiner, Namespace
from jinja2.visitor import NodeTransformer

from ..errors import ChatTemplateError
from .costs import FILTERS, METHODS, OF_TEXT, check_number, joined
from .formatting import FormatMethod, check_percent
from .limits import MAX_BITS, MAX_STEP, RUN, SLOT, VALUE, Fields, bytes_of, current, is_traced, piece_bytes, width
from .traced import Traced, join, runs_of

__all__ = ["Sandbox", "sandbox"]


# ── the code that Jinja generates ─────────────────────────────────────────────────────────────────────────────────


class _Generation(Extension):
    """``{% generation %} … {% endgeneration %}``: what the model writes."""

    tags = {"generation"}  # noqa: RUF012  (as Jinja has it)

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        call = nodes.Call(nodes.EnvironmentAttribute("generated"), [], [], None, None)
        return nodes.CallBlock(call, [], [], body).set_lineno(line)


class _Watched(NodeTransformer):
    """The template with calls of the sandbox in the place of what Jinja would let Python do directly."""

    def visit_For(self, node: nodes.For, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        target = node.target
        turn: list[nodes.Expr] = [nodes.Name(target.name, "load")] if isinstance(target, nodes.Name) else []
        node.body.insert(0, _told("enter", turn, node))
        if node.test is not None:
            node.test = nodes.And(_called("passed", [], node), node.test).set_lineno(node.lineno)
        return [_told("before", [], node), node, _told("after", [], node)]

    def visit_Output(self, node: nodes.Output, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        node.nodes = [
            nodes.TemplateData(child.value).set_lineno(child.lineno)  # type: ignore[misc]
            if isinstance(child, nodes.Const) and isinstance(child.value, str)
            else child
            for child in node.nodes
        ]
        return node

    def visit_Concat(self, node: nodes.Concat, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        return _called("joined", node.nodes, node)

    def visit_List(self, node: nodes.List, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        return _called("made", [node], node)

    def visit_Tuple(self, node: nodes.Tuple, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        return _called("made", [node], node) if node.ctx == "load" else node

    def visit_Dict(self, node: nodes.Dict, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        for pair in node.items:
            if not isinstance(pair.key, nodes.Const):
                pair.key = _called("key", [pair.key], node)
        return _called("made", [node], node)

    def visit_Getitem(self, node: nodes.Getitem, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        if not isinstance(node.arg, nodes.Slice):
            return node
        bounds = [bound or nodes.Const(None) for bound in (node.arg.start, node.arg.stop, node.arg.step)]
        return _called("sliced", [node.node, *bounds], node)

    def visit_Compare(self, node: nodes.Compare, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        values = [node.expr]
        for operand in node.ops:
            values += (nodes.Const(operand.op), operand.expr)
        return _called("compared", values, node)

    def visit_ScopedEvalContextModifier(self, node: nodes.Node, *args: Any) -> Any:  # noqa: N802
        raise ChatTemplateError("the chat template asks for HTML escaping; a prompt is no HTML", line=node.lineno)


def _called(name: str, values: list[nodes.Expr], near: nodes.Node) -> nodes.Call:
    call = nodes.Call(nodes.EnvironmentAttribute(name), values, [], None, None)
    return call.set_lineno(near.lineno)  # type: ignore[return-value]


def _told(name: str, values: list[nodes.Expr], near: nodes.Node) -> nodes.Node:
    return nodes.ExprStmt(_called(name, values, near)).set_lineno(near.lineno)


class _Generator(CodeGenerator):
    """Calls the sandbox itself where `_Watched` says so, and the rest through `Sandbox.call`."""

    def visit_Call(self, node: nodes.Call, frame: Frame, forward_caller: bool = False) -> None:  # noqa: N802
        if forward_caller or not isinstance(node.node, nodes.EnvironmentAttribute):
            super().visit_Call(node, frame, forward_caller=forward_caller)
            return
        self.write(f"environment.{node.node.name}(")
        for argument in node.args:
            self.visit(argument, frame)
            self.write(", ")
        self.write(")")


class _Undefined(Undefined):
    """Jinja's, with a message that does not repeat a name of any length."""

    @property
    def _undefined_message(self) -> str:
        if not isinstance(self._undefined_name, str | int | None) or len(str(self._undefined_name)) > 100:
            return "an element that is asked for does not exist"
        return super()._undefined_message


# ── the environment ───────────────────────────────────────────────────────────────────────────────────────────────

_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "lteq": operator.le,
    "gt": operator.gt,
    "gteq": operator.ge,
    "in": lambda value, values: value in values,
    "notin": lambda value, values: value not in values,
}
_SIMPLE = frozenset({str, Traced, int, float, bool, type(None)})
_OF_MAPPINGS = frozenset({"copy", "get", "items", "keys", "values"})
_OF_SEQUENCES = frozenset({"copy", "count", "index"})
_OF_OTHERS: dict[type, frozenset[str]] = {
    Cycler: frozenset({"next", "reset"}),
    LoopContext: frozenset({"changed", "cycle"}),
    float: frozenset({"is_integer"}),
    int: frozenset({"bit_length", "is_integer"}),
}


class Sandbox(ImmutableSandboxedEnvironment):
    """The environment of all chat templates. It keeps nothing of a rendering, so one serves all threads."""

    code_generator_class = _Generator
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})
    printable = (int, float, complex, type(None), range, Undefined, Namespace, Macro, LoopContext)

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[_Generation, loopcontrols],
            undefined=_Undefined,
            finalize=_final,
            optimized=False,
        )
        own = {**JINJA_FILTERS, "tojson": _tojson, "join": _join}
        self.filters = {name: _filter(name, own[name]) for name in FILTERS}
        self.tests = {name: _test(name, JINJA_TESTS[name]) for name in JINJA_TESTS if name in _TESTS}
        self.globals: dict[str, Any] = {
            "cycler": _cycler,
            "dict": _Dict(),
            "joiner": _joiner,
            "namespace": _namespace,
            "raise_exception": _refuse,
            "range": _range,
            "strftime_now": _strftime_now,
        }
        self._functions = frozenset(self.globals.values())

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        template: nodes.Template = _Watched().visit(super()._parse(source, name, filename))
        return template

    # ── what the generated code calls ─────────────────────────────────────────────────────────────────────────────

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

    def passed(self) -> bool:
        """The condition of a loop looks at a value."""
        current().charge()
        return True

    def after(self) -> None:
        """It has ended."""
        state = current()
        state.turn = state.turns.pop()

    def joined(self, *values: Any) -> str:
        """``a ~ b``."""
        return self.concat(map(current().text, values))

    def made(self, value: Any) -> Any:
        """A list, tuple or dict that the template spells."""
        current().charge(VALUE + 2 * SLOT * len(value))
        return value

    def key(self, value: Any) -> Any:
        """A key of a dict, before it is hashed."""
        if type(value) not in _SIMPLE:
            current().compare(value)
        return value

    def sliced(self, value: Any, start: Any, stop: Any, step: Any) -> Any:
        """``value[start:stop:step]``."""
        state = current()
        wanted = slice(start, stop, step)
        if isinstance(value, str):
            state.step(VALUE * len(runs_of(value)))
            state.afford(bytes_of(value))
            result = value[wanted]
            state.charge(bytes_of(result))
            return result
        if isinstance(value, list | tuple):
            number = len(range(*wanted.indices(len(value))))
            state.charge(VALUE + SLOT * number)
        return value[wanted]

    def compared(self, value: Any, *rest: Any) -> Any:
        """``a < b``, ``a in b``, and chains of them."""
        state = current()
        result: Any = True
        for name, other in zip(rest[::2], rest[1::2], strict=True):
            state.charge()
            if type(value) not in _SIMPLE or type(other) not in _SIMPLE:
                _before_comparison(name, value, other)
            result = _COMPARED[name](value, other)
            if not result:
                break
            value = other
        return result

    def generated(self, caller: Callable[[], str]) -> str:
        """The body of ``{% generation %}``."""
        text = caller()
        return Traced(text, [(length, origin._replace(generated=True)) for length, origin in runs_of(text)])

    @staticmethod
    def concat(texts: Iterable[str]) -> str:
        """The output of a macro, a block or a captured ``{% set %}``."""
        state = current()
        pieces = []
        chars, wide, runs = 0, 1, 0
        for text in texts:
            state.charge(SLOT)
            chars, wide = chars + len(text), max(wide, width(text))
            runs += len(text._runs) if isinstance(text, Traced) else 1
            state.afford(chars * wide + 2 * RUN * runs)
            pieces.append(text)
        result = join(pieces)
        state.charge(bytes_of(result))
        return result

    # ── what Jinja calls ──────────────────────────────────────────────────────────────────────────────────────────

    def getitem(self, obj: Any, argument: Any) -> Any:
        """``obj[argument]``, but for slices."""
        if type(argument) not in _SIMPLE:
            current().compare(argument)
        if isinstance(obj, Traced):
            current().step(VALUE * len(obj._runs))
        return super().getitem(obj, argument)

    def wrap_str_format(self, value: Any) -> Any:
        """``text.format`` and ``text.format_map``."""
        if isinstance(value, MethodType | BuiltinMethodType) and value.__name__ in ("format", "format_map"):
            if isinstance(value.__self__, str):
                return FormatMethod(self, value.__self__, value.__name__)
        return None

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """Every call but those of filters and tests."""
        state = current()
        state.charge(SLOT * len(args))
        if isinstance(__obj, Macro | BlockReference | LoopContext):
            return state.nested(partial(super().call, __context, __obj, *args, **kwargs))
        named = {name: value for name, value in kwargs.items() if name not in ("_loop_vars", "_block_vars")}
        if isinstance(__obj, BuiltinMethodType | MethodType):
            owner, name = __obj.__self__, __obj.__name__
            if isinstance(owner, str):
                return _of_text(owner, name, args, named)
            if owner is __self and name == "generated":
                return __obj(*args, **named)
            if _is_method(owner, name):
                for value in (*args, *named.values()):
                    _before_comparison("in", value, owner)
                state.charge(2 * SLOT * len(owner) if name == "copy" else 0)
                return __obj(*args, **named)
        elif isinstance(__obj, FormatMethod):
            return __obj(state, args, named)
        elif isinstance(__obj, Joiner | Undefined) or (
            isinstance(__obj, FunctionType | _Dict) and __obj in __self._functions
        ):
            return __obj(*args, **named)
        name = getattr(__obj, "__name__", None) or type(__obj).__name__
        raise SecurityError(f"it calls {name}, which is not supported")

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Operators."""
        state = current()
        if operator == "+" and isinstance(left, str) and isinstance(right, str):
            wide = max(width(left), width(right))
            runs = len(runs_of(left)) + len(runs_of(right))
            state.afford((len(left) + len(right)) * wide + 2 * RUN * runs)
            result = left + right
            state.charge(bytes_of(result))
            return result
        if operator == "%" and isinstance(left, str):
            return _percent(left, right)
        if operator == "*":
            for sequence, times in ((left, right), (right, left)):
                if isinstance(sequence, str | list | tuple) and isinstance(times, int):
                    return _repeated(sequence, max(times, 0))
        if operator == "+" and isinstance(left, list | tuple) and isinstance(right, list | tuple):
            state.charge(VALUE + SLOT * (len(left) + len(right)))
            return left + right
        for value in (left, right):
            if not isinstance(value, int | float | complex | Undefined):
                names = " and ".join(type(one).__name__ for one in (left, right))
                raise TypeError(f"unsupported operand types for {operator}: {names}")
            check_number(value)
        if isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length() * max(right, 0) if operator == "**" else left.bit_length() + right.bit_length()
            if bits > MAX_BITS:
                raise TemplateError(f"an integer has more than {MAX_BITS} bits")
        state.charge(VALUE)
        return super().call_binop(context, operator, left, right)


def _percent(format: str, values: Any) -> str:
    """``format % values``."""
    state = current()
    check_percent(state, format, values)
    if is_traced((format, values)):
        format = Traced(format, runs_of(format))
        state.afford(2 * (format.count("%s") + 1) * piece_bytes(format))
    result: str = state.own(format % values, format, values)
    state.charge(bytes_of(result))
    return result


def _repeated(sequence: Any, times: int) -> Any:
    state = current()
    if isinstance(sequence, str):
        runs = RUN + SLOT if isinstance(sequence, Traced) else 0
        state.afford(times * (len(sequence) * width(sequence) + runs * len(runs_of(sequence))) if sequence else 0)
        result: Any = sequence * times
        state.charge(bytes_of(result))
        return result
    state.charge(VALUE + SLOT * len(sequence) * times)
    return sequence * times


def _of_text(owner: str, name: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """A method of a text."""
    state = current()
    if name == "join":
        return joined(state, owner, *args, **named)
    cost = METHODS.get(name)
    if cost is None:
        raise SecurityError(f"it calls str.{name}, which is not supported")
    if not isinstance(owner, Traced) and is_traced((args, named)):
        owner = Traced(owner, runs_of(owner))
    state.step(len(owner) + VALUE * len(runs_of(owner)))
    cost(state, owner, *args, **named)
    result = getattr(owner, name)(*args, **named)
    if isinstance(result, str):
        result = state.own(result, owner, args, named)
        state.charge(bytes_of(result) if result is not owner else 0)
    elif isinstance(result, list | tuple):
        state.charge(VALUE + len(owner) * width(owner) + piece_bytes(owner) * len(result))
    elif isinstance(result, dict):
        state.charge(4 * VALUE * len(result))
    return result


def _is_method(owner: Any, name: str) -> bool:
    """Whether templates may call a method of what is no text."""
    if isinstance(owner, Mapping):
        return name in _OF_MAPPINGS
    if isinstance(owner, list | tuple | range):
        return name in _OF_SEQUENCES
    if isinstance(owner, _Dict):
        return name == "fromkeys"
    return any(isinstance(owner, kind) and name in names for kind, names in _OF_OTHERS.items())


def _before_comparison(name: str, value: Any, other: Any) -> None:
    """Accounts for the work of comparing two values, or one with those in another."""
    state = current()
    if name not in ("in", "notin"):
        state.compare(value, other)
    elif isinstance(other, Mapping):
        state.compare(value)
    elif isinstance(other, str | range):
        state.step(VALUE * len(other))
    elif isinstance(other, list | tuple | MappingView):
        once = state.size(value)
        state.step(once * len(other) if once * len(other) <= MAX_STEP >> 6 else min(once * len(other), state.size(other)))
    else:
        state.compare(value)


@pass_context  # so that Jinja does not call it at compile time
def _final(context: Any, value: Any) -> Any:
    """What ``{{ … }}`` prints."""
    return value if isinstance(value, str | Undefined) else current().text(value)


# ── filters and tests ─────────────────────────────────────────────────────────────────────────────────────────────

_HANDED_THROUGH = frozenset({"d", "default"})
_MAKES_TEXT = frozenset({*OF_TEXT, "filesizeformat", "reverse", "tojson"})
_COMPARE_BY_ATTRIBUTE = frozenset({"groupby", "max", "min", "sort", "unique"})


def _filter(name: str, filter: Callable[..., Any]) -> Callable[..., Any]:
    """A filter under the limits, with the origin of its result."""
    takes = 1 if hasattr(filter, "jinja_pass_arg") else 0  # Jinja passes something of its own first
    cost = FILTERS[name]

    @wraps(filter)
    def watched(*args: Any, **kwargs: Any) -> Any:
        state = current()
        state.charge()
        own, values = args[:takes], [*args[takes:]]
        if name not in _HANDED_THROUGH:
            values = [*map(state.hold, values)]
        if name in OF_TEXT:
            text = state.text(values[0])
            if name == "replace":
                values[1:] = [state.text(value) if not isinstance(value, int) else value for value in values[1:]]
            values[0] = Traced(text, runs_of(text)) if is_traced(values[1:]) or is_traced(kwargs) else text
        if isinstance(values[0], str):
            state.step(len(values[0]) + VALUE * len(runs_of(values[0])))
        elif name in ("first", "last"):
            pass
        if name in _COMPARE_BY_ATTRIBUTE:
            cost(state, *values, **kwargs, environment=own[0])
        else:
            cost(state, *values, **kwargs)
        result = filter(*own, *values, **kwargs)
        if isinstance(result, Iterator):
            return iter(state.hold(result))
        if isinstance(result, str) and name in _MAKES_TEXT:
            # `Markup`, which would escape what it is joined with, becomes plain text.
            plain = result if type(result) in _SIMPLE else str.__str__(result)[:]
            result = state.own(plain, values, kwargs)
            state.charge(bytes_of(result) if result is not values[0] else 0)
        elif isinstance(result, list) and result is not values[0]:
            state.charge(VALUE + SLOT * len(result))
        return result

    return watched


_TESTS: dict[str, str] = {
    **dict.fromkeys(
        "boolean callable defined escaped false filter float integer iterable mapping none number sameas sequence string "
        "test true undefined".split(),
        "free",
    ),
    **dict.fromkeys("== eq equalto != ne > gt greaterthan >= ge < lt lessthan <= le".split(), "eq"),
    "in": "in",
    **dict.fromkeys(("even", "odd", "divisibleby"), "number"),
    **dict.fromkeys(("lower", "upper"), "text"),
}


def _test(name: str, test: Callable[..., Any]) -> Callable[..., Any]:
    """A test under the limits."""
    takes = 1 if hasattr(test, "jinja_pass_arg") else 0
    kind = _TESTS[name]

    @wraps(test)
    def watched(*args: Any, **kwargs: Any) -> Any:
        state = current()
        state.charge()
        values = args[takes:]
        if kind == "number":
            for value in (*values, *kwargs.values()):
                if not isinstance(value, int | float | Undefined):
                    raise TypeError(f"{name} is a test of numbers, not of {type(value).__name__}")
                check_number(value)
        elif kind == "text":
            state.text(values[0])
        elif kind != "free" and (len(values) != 2 or not {*map(type, values)} <= _SIMPLE):
            _before_comparison(kind, values[0], [*values[1:], *kwargs.values()][0])
        return test(*args, **kwargs)

    return watched


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON without the escapes for HTML that Jinja's own filter makes."""
    state = current()
    pieces = []
    encoder = json.JSONEncoder(ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    for piece in encoder.iterencode(value):
        state.charge(SLOT + VALUE + len(piece) * width(piece))
        pieces.append(piece)
    return "".join(pieces)


@pass_environment
def _join(environment: Environment, value: Iterable[Any], d: Any = "", attribute: str | int | None = None) -> str:
    """As Jinja's filter of this name, with origins."""
    state = current()
    items: Any = value
    if attribute is not None:
        parts = [int(name) if name.isdigit() else name for name in state.text(attribute).split(".")]
        items = (_attribute(environment, item, parts) for item in items)
    return joined(state, state.text(d), map(state.text, items))


def _attribute(environment: Environment, item: Any, parts: Iterable[str | int]) -> Any:
    for part in parts:
        item = environment.getitem(item, part)
    return item


# ── functions ─────────────────────────────────────────────────────────────────────────────────────────────────────


class _Namespace(Namespace):
    """Jinja's, without names that begin with an underscore, and not printed: it may hold itself."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self = args[0]
        Namespace.__init__(self)
        for name, value in dict(*args[1:], **kwargs).items():
            self[name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        if not isinstance(name, str) or name.startswith("_"):
            raise SecurityError(f"a namespace has no {str(name)[:40]!r}: names begin with a letter")
        super().__setitem__(name, value)

    def __repr__(self) -> str:
        return "<namespace>"


def _namespace(*args: Any, **kwargs: Any) -> Namespace:
    return _Namespace(_dict(*args, **kwargs))


def _dict(*args: Any, **kwargs: Any) -> dict[Any, Any]:
    state = current()
    held = [state.hold(arg) for arg in args]
    for arg in held:
        if not isinstance(arg, Mapping):  # pairs, of which the first values are hashed
            state.step(state.size(arg))
        state.afford(8 * SLOT * len(arg))
    result: dict[Any, Any] = dict(*held, **kwargs)
    state.charge(8 * VALUE + 8 * SLOT * len(result))
    return result


class _Dict:
    """`dict`, but not the class: its methods would change what is not to be changed."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return _dict(*args, **kwargs)

    def fromkeys(self, keys: Iterable[Any], value: Any = None) -> dict[Any, Any]:
        return _dict((key, value) for key in keys)


def _cycler(*items: Any) -> Cycler:
    current().charge(8 * VALUE)
    return Cycler(*items)


def _joiner(sep: Any = ", ") -> Joiner:
    current().charge(8 * VALUE)
    return Joiner(sep)


def _range(*args: int) -> range:
    current().charge(VALUE)
    return safe_range(*args)


def _refuse(message: Any = "") -> None:
    raise TemplateError(current().text(message)[:500])


_MAX_TIME_FORMAT = 1000
_DIRECTIVE = re.compile(r"%(?![-_^#]?[EO]?[A-Za-z%+])")


def _strftime_now(format: str) -> str:
    """The time, as `datetime.strftime` writes it; without the widths that some C libraries know."""
    if not isinstance(format, str) or len(format) > _MAX_TIME_FORMAT or _DIRECTIVE.search(format.replace("%%", "")):
        raise TemplateError(
            f"strftime_now takes a format of at most {_MAX_TIME_FORMAT} characters, whose fields have no widths"
        )
    state = current()
    text: str = state.own(datetime.now().strftime(format), format)
    state.charge(bytes_of(text))
    return text


@cache
def sandbox() -> Sandbox:
    """The one environment, made when it is first needed."""
    return Sandbox()
