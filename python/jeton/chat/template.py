"""Selection and rendering of chat templates.

A template gets plain JSON: a copy of the messages in which every string is a `TracedStr`. The rendered text is returned
with runs that cover it; each run has an origin and a turn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ChatTemplateError, ConfigError, JetonError, keyword
from ..util.optional import import_optional
from .limits import MAX_DEPTH, MAX_SOURCE, VALUE, GivenDict, GivenList, GivenTuple, RenderBudget, running
from .presets import PRESETS
from .provenance import CALLER, Origin, TracedStr, runs_of

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = [
    "REASONING",
    "RenderedRun",
    "choose",
    "given_messages",
    "has_generation",
    "is_refusal",
    "render",
    "templates",
    "variables_of",
]

_FILE = "<chat template>"
# Keys under which messages contain their reasoning, in order of preference. Templates get it under the first two keys,
# as in transformers 5 (`_alias_reasoning_fields` in huggingface/transformers utils/chat_template_utils.py).
REASONING = ("reasoning_content", "thinking", "reasoning")


class RenderedRun(NamedTuple):
    """A run of the rendered text.

    Attributes:
        length: number of characters.
        origin: origin of these characters.
        turn: index of the message whose turn contains them; None for text of the template outside of turns.
    """

    length: int
    origin: Origin
    turn: int | None


# ── selection ───────────────────────────────────────────────────────────────────────────────────────────────────────


def choose(own: Any, template: str | None, *, tools: bool) -> str:
    """Selects the template and returns its source.

    Args:
        own: the tokenizer's chat template: one source, or several by name, as in ``tokenizer_config.json``.
        template: a name in `own` or in `PRESETS`, or a Jinja source.
        tools: whether the chat has tools; if so, the template named ``tool_use`` is preferred.

    Raises:
        ChatTemplateError: there is no template, or no template of this name.

    Examples:
        >>> named = [{"name": "default", "template": "{{ 1 }}"}, {"name": "rag", "template": "{{ 2 }}"}]
        >>> choose(named, "rag", tools=False)
        '{{ 2 }}'
    """
    named = templates(own)
    if template is None:
        wanted = "tool_use" if tools and "tool_use" in named else "default"
        if wanted in named:
            return named[wanted]
        if named:
            raise ChatTemplateError(
                f"the tokenizer has several chat templates; pass {keyword('template')} with one of {_list(named)}"
            )
        raise ChatTemplateError(
            f"the tokenizer has no chat template; pass {keyword('template')} with a Jinja template, or with "
            f"one of {_list(PRESETS)}"
        )
    if not isinstance(template, str):
        raise ConfigError(f"template must be a name or a Jinja template, not {template!r:.60}", option="template")
    if template in named:
        return named[template]
    if template in PRESETS:
        return PRESETS[template].source
    if not any(mark in template for mark in ("{", "\n")):
        known = _list([*named, *PRESETS])
        raise ChatTemplateError(f"there is no chat template {template!r:.60}; names: {known}; or pass a Jinja template")
    return template


def templates(own: Any) -> dict[str, str]:
    """Returns a tokenizer's chat templates: name -> source; a single template is named ``default``.

    Raises:
        ChatTemplateError: `own` is neither a source nor sources by name.

    Examples:
        >>> templates("{{ 1 }}"), templates(None)
        ({'default': '{{ 1 }}'}, {})
    """
    if own is None:
        return {}
    if isinstance(own, str):
        return {"default": own}
    pairs = list(own.items()) if isinstance(own, Mapping) else []
    if isinstance(own, list | tuple) and all(isinstance(one, Mapping) for one in own):
        pairs = [(one.get("name", "default"), one.get("template")) for one in own]
    named = dict(pairs)
    if not named or not all(isinstance(text, str) for pair in named.items() for text in pair):
        raise ChatTemplateError("the tokenizer's chat template is neither a string nor a mapping of names to strings")
    return named


def _list(names: Any) -> str:
    return ", ".join(map(repr, names))


# ── rendering ───────────────────────────────────────────────────────────────────────────────────────────────────────


def render(
    source: str,
    messages: Sequence[Mapping[str, Any]],
    variables: Mapping[str, Any],
    own: Mapping[str, Any],
    controls: Sequence[str],
) -> tuple[str, list[RenderedRun]]:
    """Renders a template.

    Args:
        source: Jinja source.
        messages: the caller's messages.
        variables: the caller's variables, tools included. Their text, like that of messages, never becomes special
            tokens.
        own: the tokenizer's variables, such as ``bos_token``.
        controls: spellings of the special tokens.

    Returns:
        The text, and the runs that cover it.

    Raises:
        ChatTemplateError: the template is broken, rejects the messages, or reaches a limit; the message names the line.
        MissingDependencyError: Jinja is not installed.
    """
    given = {name: _seen(value, CALLER.inside(name), name) for name, value in variables.items()}
    seen = given_messages(messages)
    template = compiled(source).template
    pieces: list[RenderedRun] = []
    texts: list[str] = []
    size = seen._size + sum(map(_size, given.values()))
    with running(RenderBudget(controls, size, template.environment.printable)) as state:  # type: ignore[attr-defined]
        try:
            context = template.new_context({**own, **given, "messages": seen})
            for chunk in template.root_render_func(context):
                state.write(chunk)
                pieces += _pieces(chunk, state.turn)
                texts.append(chunk)
        except JetonError:
            raise
        except Exception as error:  # a template can raise any exception
            raise _failure(error, template, messages) from error
    return "".join(texts), pieces


def given_messages(messages: Sequence[Mapping[str, Any]]) -> GivenList:
    """Copies messages to the form that a template gets.

    A message is returned unchanged if it is already such a copy, made for the same index.

    Raises:
        ConfigError: a message is not JSON, or has no role.
    """
    seen = GivenList(_message(index, message) for index, message in enumerate(messages))
    seen._size = VALUE + sum(message._size for message in seen)
    return seen


def _pieces(chunk: str, turn: int | None) -> list[RenderedRun]:
    """Returns the runs of one expression's output.

    If the expression is outside of all turns, and its output contains text of exactly one message, then the template's
    own text in the output is assigned to the turn of this message.
    """
    runs = runs_of(chunk)
    messages = {origin.message for _, origin in runs if origin.message is not None}
    around = messages.pop() if turn is None and len(messages) == 1 else turn
    return [
        RenderedRun(length, origin, around if origin.message is None else origin.message)
        for length, origin in runs
        if length
    ]


def _message(index: int, message: Mapping[str, Any]) -> GivenDict:
    if isinstance(message, GivenDict) and message._message == index:
        return message
    if not isinstance(message, Mapping):
        hint = "; pass its model_dump()" if callable(getattr(message, "model_dump", None)) else ""
        raise ConfigError(
            f"message {index} is {message!r:.60}, not an object with a role and a content{hint}", option="messages"
        )
    if not isinstance(message.get("role"), str):
        raise ConfigError(f"message {index} has no role", option="messages")
    origin = Origin("message", index)
    # Null values are left out, because templates would print "None".
    kept = {key: value for key, value in message.items() if value is not None}
    thoughts = next((kept[key] for key in REASONING if key in kept), None)
    if thoughts is not None:
        kept = {"thinking": thoughts, **kept, "reasoning_content": thoughts}
    seen = _seen(kept, origin, f"message {index}")
    # The role is treated as the template's own text, so that it can be part of special tokens such as <|user|>.
    if _is_name(message["role"]):
        seen["role"] = message["role"]
    seen._message = index
    return seen  # type: ignore[no-any-return]


def _is_name(role: str) -> bool:
    return role.replace("_", "").replace("-", "").isalnum()


def _seen(value: Any, origin: Origin, where: str, depth: int = 0) -> Any:
    """Copies a JSON value, with every string as a `TracedStr`."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return TracedStr(str.__str__(value), ((len(value), origin),))
    if isinstance(value, int | float):
        return int(value) if isinstance(value, int) else float(value)
    if depth > MAX_DEPTH // 2:
        raise ConfigError(f"{where} is nested too deeply", option="messages")
    if isinstance(value, Mapping):
        fields = GivenDict()
        for key, item in value.items():
            if not isinstance(key, str):
                raise ConfigError(f"{where} has the key {key!r:.60}, which is not a string", option="messages")
            fields[_seen(key, origin, where)] = _seen(item, origin.inside(key), where, depth + 1)
        fields._size = VALUE + sum(_size(item) for pair in fields.items() for item in pair)
        return fields
    if isinstance(value, list | tuple):
        kind = GivenList if isinstance(value, list) else GivenTuple
        items = kind(_seen(item, origin.inside(index), where, depth + 1) for index, item in enumerate(value))
        items._size = VALUE + sum(map(_size, items))
        return items
    raise ConfigError(
        f"{where} has the type {type(value).__name__}; templates accept only JSON values", option="messages"
    )


def _size(value: Any) -> int:
    """Returns the same number as `RenderBudget.size`, for a value that `_seen` returned."""
    if isinstance(value, GivenDict | GivenList | GivenTuple):
        return value._size
    return VALUE + (len(value) if isinstance(value, str) else 0)


class CompiledTemplate(NamedTuple):
    """A compiled template.

    Attributes:
        template: the template.
        has_generation: whether it has a ``{% generation %}`` block.
    """

    template: Template
    has_generation: bool


def has_generation(source: str) -> bool:
    """Tests whether a template has ``{% generation %}`` blocks, which mark the text that the model generates.

    Raises:
        ChatTemplateError: the source is not a valid Jinja template; the message names the line.
        MissingDependencyError: Jinja is not installed.

    Examples:
        >>> has_generation("{% generation %}{{ 1 }}{% endgeneration %}"), has_generation("{# {% generation %} #}")
        (True, False)
    """
    return compiled(source).has_generation


@lru_cache(maxsize=32)
def variables_of(source: str) -> frozenset[str]:
    """Returns the names of the variables that a template reads and does not set itself.

    A name that the template sets in only one branch is included if the template also tests whether it is defined.

    Raises:
        ChatTemplateError, MissingDependencyError: as `has_generation`.

    Examples:
        >>> sorted(variables_of("{% set a = 1 %}{{ a + b }}{{ raise_exception(c) }}"))
        ['b', 'c']
        >>> sorted(variables_of("{% if a is not defined %}{% set a = 1 %}{% endif %}{{ a }}"))
        ['a']
    """
    environment = compiled(source).template.environment
    from jinja2 import nodes
    from jinja2.meta import find_undeclared_variables

    tree = environment.parse(source)
    is_set = {name.name for name in tree.find_all(nodes.Name) if name.ctx != "load"}
    optional = {
        use.node.name
        for use in tree.find_all((nodes.Test, nodes.Filter))
        if use.name in ("defined", "default", "d") and isinstance(use.node, nodes.Name)
    }
    return frozenset(find_undeclared_variables(tree) - environment.globals.keys() - (is_set - optional))


@lru_cache(maxsize=32)
def compiled(source: str) -> CompiledTemplate:
    """Compiles a template; the last 32 are cached.

    Raises:
        ChatTemplateError: the source is not a valid Jinja template; the message names the line.
        MissingDependencyError: Jinja is not installed.
    """
    jinja2 = import_optional("jinja2", "a chat template", "chat")
    from .sandbox import sandbox

    if len(source) > MAX_SOURCE:
        raise ChatTemplateError(f"the chat template has {len(source)} characters; the limit is {MAX_SOURCE}")
    try:
        environment = sandbox()
        tree = environment.parse(source)
        has_generation = any(node.name == "generated" for node in tree.find_all(jinja2.nodes.EnvironmentAttribute))
        code = environment.compile(tree, filename=_FILE)
        template = environment.template_class.from_code(environment, code, environment.make_globals(None))
        return CompiledTemplate(template, has_generation)
    except jinja2.TemplateSyntaxError as error:
        raise ChatTemplateError(
            f"the chat template has a syntax error in line {error.lineno}: {error.message}", line=error.lineno
        ) from error
    except JetonError:
        raise
    except Exception as error:  # for example, Python's own limits on nesting and on digits
        raise ChatTemplateError(f"the chat template cannot be compiled: {error or type(error).__name__}") from error


# Name of a Jeton class in error messages of Jinja and Python -> name of the class that a template's author expects.
_CLASSES = {
    "BriefUndefined": "Undefined",
    "GivenDict": "dict",
    "GivenList": "list",
    "GivenTuple": "tuple",
    "TracedMarkup": "Markup",
    "TracedStr": "str",
}
_OWN_CLASS = re.compile(rf"\b(?:jeton\.chat\.\w+\.)?({'|'.join(_CLASSES)})\b")


def _failure(error: Exception, template: Template, messages: Sequence[Mapping[str, Any]]) -> ChatTemplateError:
    """Converts an exception of a rendering to a `ChatTemplateError` that names the template's line."""
    from jinja2 import TemplateError, TemplateRuntimeError
    from jinja2.exceptions import SecurityError

    line = _line(error.__traceback__, template)
    place = f" in line {line}" if line else ""
    if isinstance(error, KeyError):  # its text is only the key
        text = f"no key {error.args[0][:100]!r}" if error.args and isinstance(error.args[0], str) else "no such key"
    else:
        text = str(error)[:500] or type(error).__name__
    if isinstance(error, RecursionError):
        text = "recursion too deep"
    if isinstance(error, SecurityError):
        return ChatTemplateError(f"the chat template uses something that is not permitted{place}: {text}", line=line)
    if isinstance(error, TemplateError) and not isinstance(error, TemplateRuntimeError):
        return ChatTemplateError(f"the chat template rejects the messages{place}: {text}", line=line)
    text = _OWN_CLASS.sub(lambda match: _CLASSES[match[1]], text)
    return ChatTemplateError(
        f"{_unusual(messages, isinstance(error, TypeError))}the chat template failed{place}: {text}", line=line
    )


def _unusual(messages: Sequence[Mapping[str, Any]], is_of_types: bool) -> str:
    """Returns a clause that names the first message whose content is missing or of a wrong type; else an empty text.

    A list as content is named only if `is_of_types`, which means that the template failed with an error about types.
    Many templates accept such a list.
    """
    for index, message in enumerate(messages):
        if "content" not in message:
            if not message.keys() & {"tool_calls", "reasoning_content", "reasoning", "thinking"}:
                return f"message {index} has no content; "
        elif not isinstance(message["content"], str | list | tuple | Mapping | None):
            return f"the content of message {index} is not text: {message['content']!r:.60}; "
        elif is_of_types and isinstance(message["content"], list | tuple):
            return f"the content of message {index} is a list, which this template may not support; "
    return ""


def is_refusal(error: ChatTemplateError) -> bool:
    """Tests whether an error comes from the template's own ``raise_exception``, by which it refuses messages."""
    from jinja2 import TemplateError, TemplateRuntimeError, TemplateSyntaxError

    cause = error.__cause__
    return isinstance(cause, TemplateError) and not isinstance(cause, TemplateSyntaxError | TemplateRuntimeError)


def _line(trace: TracebackType | None, template: Template) -> int | None:
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _FILE:
            line = template.get_corresponding_lineno(trace.tb_lineno)
        trace = trace.tb_next
    return line
