"""Jinja environment of chat templates, configured as in `transformers`, metered by `limits`; records origins of text.

Jinja's immutable sandbox denies a template access to Python's internals. This environment also meters every operation.
Operators, comparisons, slices, literals and loops compile to calls of the `Sandbox` (`compiling`). Methods, filters,
tests and functions are restricted to those listed here and in `costs`, `filters` and `functions`. Jinja's optimizer,
which would evaluate constant expressions at compile time, is off.

If a method or filter returns a plain `str` although an argument was a `TracedStr`, the result is assigned an origin
(`RenderBudget.own`).

Features of Jinja that are left out: randomness, links and HTML (``lipsum``, ``random``, ``urlize``, ``xmlattr``,
``{% autoescape %}`` …), and ``str.encode``, because bytes have no origin.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

from jinja2 import Undefined, nodes, pass_context
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.ext import loopcontrols
from jinja2.lexer import Lexer
from jinja2.runtime import BlockReference, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Cycler, Joiner, Namespace
from markupsafe import Markup

from ..util.lazy import cached_property
from .compiling import BriefUndefined, GenerationBlock, SandboxCodeGenerator, SandboxTransformer
from .costs import METHODS, check_number, joined
from .filters import filters, tests
from .formatting import FormatMethod, check_percent
from .functions import Dict, functions
from .limits import MAX_BITS, RUN, SIMPLE, SLOT, VALUE, GivenDict, bytes_of, current, is_traced, piece_bytes, width
from .markup import TracedMarkup, escaped
from .provenance import TracedStr, join, runs_of

__all__ = ["Sandbox", "sandbox"]


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
# Maximum length of a short text, in characters. If the result of ``a + b`` is longer, its size is checked before the
# operation; a short result is only charged afterwards. A comparison with a longer text is charged by its length.
_SMALL = 1 << 12
_OF_MAPPINGS = frozenset({"copy", "get", "items", "keys", "values"})
_GIVEN: tuple[type, ...] = (
    Markup,
    str,
    dict,
    list,
    tuple,
)  # Jeton's classes for the caller's values and for text derive from these
_NAMES_OF_DICT = frozenset(dir(dict))
_OF_SEQUENCES = frozenset({"copy", "count", "index"})
_OF_OTHERS: dict[type, frozenset[str]] = {
    Cycler: frozenset({"next", "reset"}),
    LoopContext: frozenset({"changed", "cycle"}),
    float: frozenset({"is_integer"}),
    int: frozenset({"bit_length", "is_integer"}),
}


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja environment of all chat templates. It holds no state of a rendering, so all threads share one."""

    code_generator_class = SandboxCodeGenerator
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})
    printable = (int, float, complex, type(None), range, Undefined, Namespace, Macro, LoopContext)

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[GenerationBlock, loopcontrols],
            undefined=BriefUndefined,
            finalize=_final,
            optimized=False,
        )
        self.filters = filters()
        self.tests = tests()
        self.globals = functions()
        self._functions = frozenset({*self.globals.values(), escaped})  # `escaped`: the method `Markup.escape`

    @cached_property
    def lexer(self) -> Lexer:
        """A new lexer, not one from Jinja's own cache, whose lock could block a forked process forever."""
        return Lexer(self)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        template: nodes.Template = SandboxTransformer().visit(super()._parse(source, name, filename))
        return template

    # ── called by the generated code ─────────────────────────────────────────────────────────────────────────────────

    def before(self) -> None:
        """Records the beginning of a loop."""
        state = current()
        state.turns.append(state.turn)

    def enter(self, value: Any = None) -> None:
        """Records the beginning of an iteration; if its value is a message, sets the current turn."""
        state = current()
        state.charge()
        if isinstance(value, GivenDict) and value._message is not None:
            state.turn = value._message

    def passed(self) -> bool:
        """Charges the rendering for evaluating a loop's filter condition."""
        current().charge()
        return True

    def after(self) -> None:
        """Records the end of a loop."""
        state = current()
        state.turn = state.turns.pop()

    def joined(self, *values: Any) -> str:
        """Evaluates ``a ~ b``."""
        return self.concat(map(current().text, values))

    def made(self, value: Any) -> Any:
        """Charges the rendering for the memory of a list, tuple or dict that a literal creates."""
        current().charge(VALUE + 2 * SLOT * len(value))
        return value

    def key(self, value: Any) -> Any:
        """Charges the rendering for hashing a dict key; returns the key."""
        if type(value) not in SIMPLE:
            current().compare(value)
        return value

    def sliced(self, value: Any, start: Any, stop: Any, step: Any) -> Any:
        """Evaluates ``value[start:stop:step]``."""
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

    def sliced_literal(self, value: Any, start: Any, stop: Any, step: Any) -> Any:
        """Evaluates a slice of a literal.

        Jinja itself evaluates such a slice at compile time, as a lookup. Therefore an invalid slice is undefined, and
        raises no error.
        """
        try:
            return self.sliced(value, start, stop, step)
        except (TypeError, LookupError):
            return self.undefined(obj=value, name=None)

    def compared(self, value: Any, *rest: Any) -> Any:
        """Evaluates ``a < b``, ``a in b`` and chained comparisons."""
        state = current()
        result: Any = True
        for name, other in zip(rest[::2], rest[1::2], strict=True):
            state.charge()
            if type(value) not in SIMPLE or type(other) not in SIMPLE:
                if name in ("in", "notin"):
                    state.search(value, other)
                else:
                    state.compare(value, other)
            elif isinstance(other, str) and len(other) > _SMALL:
                state.step(len(other))
            result = _COMPARED[name](value, other)
            if not result:
                break
            value = other
        return result

    def generated(self, caller: Callable[[], str]) -> str:
        """Marks the output of a ``{% generation %}`` block as generated."""
        text = caller()
        return TracedStr(text, [(length, origin._replace(generated=True)) for length, origin in runs_of(text)])

    @staticmethod
    def concat(texts: Iterable[str]) -> str:
        """Concatenates the output of a macro, a block or a captured ``{% set %}``."""
        state = current()
        pieces = []
        chars, wide, runs = 0, 1, 0
        for text in texts:
            state.charge(SLOT)
            chars += len(text)
            wide = wide if text.isascii() else max(wide, width(text))
            runs += len(text._runs) if isinstance(text, TracedStr) else 1
            state.afford(chars * wide + 2 * RUN * runs)
            pieces.append(text)
        result = join(pieces)
        state.charge(bytes_of(result))
        return result

    # ── overrides of Jinja's environment ─────────────────────────────────────────────────────────────────────────────

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Evaluates ``obj[argument]``, except for slices."""
        if type(obj) is GivenDict and type(argument) is str and argument in obj:  # fast path for the most frequent case
            return obj[argument]
        if type(argument) not in SIMPLE:
            current().compare(argument)
        if isinstance(obj, TracedStr):
            current().step(VALUE * len(obj._runs))
        if isinstance(argument, str) and argument.startswith("_"):
            return self._private(obj, argument, super().getitem)
        return super().getitem(obj, argument)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Evaluates ``obj.attribute``."""
        if type(obj) is GivenDict and attribute not in _NAMES_OF_DICT:
            return obj[attribute] if attribute in obj else self.undefined(obj=obj, name=attribute)
        if attribute.startswith("_"):
            return self._private(obj, attribute, super().getattr)
        return super().getattr(obj, attribute)

    def _private(self, obj: Any, name: str, get: Callable[[Any, str], Any]) -> Any:
        """Looks up a name with a leading underscore. Attributes that exist only in Jeton's classes are undefined."""
        given = next((kind for kind in _GIVEN if isinstance(obj, kind)), None)
        if given is None or hasattr(given, name):
            return get(obj, name)
        if isinstance(obj, dict) and name in obj:
            return obj[name]
        return self.undefined(obj=obj, name=name)

    def wrap_str_format(self, value: Any) -> Any:
        """Wraps ``text.format`` and ``text.format_map``."""
        if not isinstance(value, MethodType | BuiltinMethodType) or value.__name__ not in ("format", "format_map"):
            return None
        return FormatMethod(self, value.__self__, value.__name__) if isinstance(value.__self__, str) else None

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """Evaluates all calls except those of filters and tests."""
        state = current()
        state.charge(SLOT * len(args))
        if isinstance(__obj, Macro | BlockReference | LoopContext):
            return state.nested(partial(super().call, __context, __obj, *args, **kwargs))
        named = {name: value for name, value in kwargs.items() if name not in ("_loop_vars", "_block_vars")}
        if isinstance(__obj, BuiltinMethodType | MethodType):
            owner: Any = __obj.__self__
            name = __obj.__name__
            if isinstance(owner, str):
                return _of_text(owner, name, args, named)
            if owner is __self and name == "generated":
                return __obj(*args, **named)
            if _is_method(owner, name):
                for value in (*args, *named.values()):
                    state.search(value, owner)
                    if name == "index":
                        state.printed(value)  # checks its size: the ValueError of `index` quotes the value
                if name == "copy":
                    state.charge(4 * SLOT * len(owner))
                return __obj(*args, **named)
        elif isinstance(__obj, FormatMethod):
            return __obj(state, args, named)
        elif isinstance(__obj, Joiner | Undefined) or (
            isinstance(__obj, FunctionType | Dict) and __obj in __self._functions
        ):
            return __obj(*args, **named)
        name = getattr(__obj, "__name__", None) or type(__obj).__name__
        raise SecurityError(f"the function {name} is not supported")

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Evaluates binary operators."""
        state = current()
        if operator == "+" and isinstance(left, str) and isinstance(right, str):
            if isinstance(left, TracedMarkup) or isinstance(right, TracedMarkup):
                left, right = escaped(left), escaped(right)
            if len(left) + len(right) > _SMALL:
                runs = len(runs_of(left)) + len(runs_of(right))
                state.afford((len(left) + len(right)) * max(width(left), width(right)) + 2 * RUN * runs)
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
            return super().call_binop(context, operator, left, right)
        if isinstance(left, Undefined) or isinstance(right, Undefined):
            return super().call_binop(context, operator, left, right)  # raises an error that names the variable
        for value in (left, right):
            if not isinstance(value, int | float | complex):
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
    """Evaluates ``format % values``."""
    state = current()
    check_percent(state, format, values)
    if is_traced((format, values)):
        format = format if isinstance(format, TracedStr) else TracedStr(format, runs_of(format))
        state.afford(2 * (format.count("%s") + 1) * piece_bytes(format))
    result: str = state.own(format % values, format, values)
    state.charge(bytes_of(result))
    return result


def _repeated(sequence: Any, times: int) -> Any:
    state = current()
    if isinstance(sequence, str):
        runs = RUN + SLOT if isinstance(sequence, TracedStr) else 0
        state.afford(times * (len(sequence) * width(sequence) + runs * len(runs_of(sequence))) if sequence else 0)
        result: Any = sequence * times
        state.charge(bytes_of(result))
        return result
    state.charge(VALUE + SLOT * len(sequence) * times)
    return sequence * times


def _of_text(owner: str, name: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """Calls a method of a string."""
    state = current()
    if name == "join":
        return joined(state, owner, *args, **named)
    cost = METHODS.get(name)
    if cost is None:
        raise SecurityError(f"the method str.{name} is not supported")
    if not isinstance(owner, TracedStr) and (args or named) and is_traced((args, named)):
        owner = TracedStr(owner, runs_of(owner))
    if isinstance(owner, TracedMarkup) and name == "replace" and len(args) > 1:
        args = (args[0], escaped(args[1]), *args[2:])
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
    """Tests whether templates may call a method of a value that is not a string."""
    if isinstance(owner, dict):
        return name in _OF_MAPPINGS
    if isinstance(owner, list | tuple | range):
        return name in _OF_SEQUENCES
    if isinstance(owner, Dict):
        return name == "fromkeys"
    return any(isinstance(owner, kind) and name in names for kind, names in _OF_OTHERS.items())


@pass_context  # prevents Jinja from calling this function at compile time
def _final(context: Any, value: Any) -> Any:
    """Converts the value of ``{{ … }}`` to text."""
    return value if isinstance(value, str | Undefined) else current().text(value)


@cache
def sandbox() -> Sandbox:
    """Returns the shared environment, created on first use."""
    return Sandbox()
