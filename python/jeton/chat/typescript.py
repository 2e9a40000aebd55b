"""Renders JSON schemas of tools as TypeScript types, the form that gpt-oss was trained with.

Source: `openai-harmony` 0.0.8 (`json_schema_to_typescript` in src/encoding.rs); tests compare its output with Jeton's.
Keywords that `openai-harmony` does not print (``anyOf``, ``$ref``, ``pattern``, …) become ``any`` or are omitted here,
too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from ..errors import ConfigError

__all__ = ["MAX_DEPTH", "tools_section"]

MAX_DEPTH = 100  # depth of nested schemas
_TYPES = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean"}


def tools_section(namespaces: Iterable[Mapping[str, Any]]) -> str:
    """Renders namespaces of tools.

    Args:
        namespaces: ``{"name": …, "description": …, "tools": [{"name": …, "description": …, "parameters": schema}]}``.

    Examples:
        >>> schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        >>> tool = {"name": "weather", "description": "Now.", "parameters": schema}
        >>> print(tools_section([{"name": "functions", "tools": [tool]}]))
        # Tools
        <BLANKLINE>
        ## functions
        <BLANKLINE>
        namespace functions {
        <BLANKLINE>
        // Now.
        type weather = (_: {
        city: string,
        }) => any;
        <BLANKLINE>
        } // namespace functions
    """
    return "\n\n".join(["# Tools", *("\n".join(_namespace(one)) for one in namespaces)])


def _namespace(namespace: Mapping[str, Any]) -> Iterator[str]:
    name, tools = namespace["name"], namespace["tools"]
    comment = "// " if tools else ""
    yield f"## {name}\n"
    yield from (comment + line for line in _lines(namespace.get("description") or ""))
    if not tools:
        return
    yield f"namespace {name} {{\n"
    for tool in tools:
        yield from (f"// {line}" for line in _lines(tool["description"]))
        schema = tool.get("parameters")
        parameter = "" if schema is None else f"_: {_type(schema, '', 0)}"
        yield f"type {tool['name']} = ({parameter}) => any;\n"
    yield f"}} // namespace {name}"


def _lines(text: str) -> list[str]:
    """Splits a text at line feeds; drops a carriage return before a line feed."""
    *lines, last = text.split("\n")
    return [line.removesuffix("\r") for line in lines] + ([last] if last else [])


def _type(schema: Any, indent: str, depth: int) -> str:
    """Renders a schema as a TypeScript type."""
    if depth > MAX_DEPTH:
        raise ConfigError(f"the schema of a tool is nested deeper than {MAX_DEPTH}", option="tools")
    if not isinstance(schema, Mapping):
        return "any"
    variants, kind = schema.get("oneOf"), schema.get("type")
    if isinstance(variants, list):
        return "".join(
            f"\n{indent} | {_nullable(one, indent + '   ', depth)}{_comment(_texts(one, quotes_enums=True))}"
            for one in variants
        )
    if isinstance(kind, list):
        names = ["number" if name == "integer" else name for name in kind if isinstance(name, str)]
        return " | ".join(names) or "any"
    if kind == "object":
        return _object(schema, indent, depth)
    if kind == "array":
        return f"{_type(schema['items'], indent, depth + 1)}[]" if "items" in schema else "Array<any>"
    if kind == "string" and isinstance(schema.get("enum"), list):
        return " | ".join(f'"{value}"' for value in schema["enum"] if isinstance(value, str)) or "string"
    return _TYPES.get(kind, "any") if isinstance(kind, str) else "any"


def _nullable(schema: Any, indent: str, depth: int) -> str:
    text = _type(schema, indent, depth + 1)
    is_nullable = isinstance(schema, Mapping) and schema.get("nullable") is True
    return f"{text} | null" if is_nullable and "null" not in text else text


def _object(schema: Mapping[str, Any], indent: str, depth: int) -> str:
    description, properties, required = schema.get("description"), schema.get("properties"), schema.get("required")
    text = f"{indent}// {description}\n{{\n" if isinstance(description, str) else "{\n"
    names = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
    for name, of in properties.items() if isinstance(properties, Mapping) else ():
        text += "".join(f"{indent}{line}\n" for line in _heading(of))
        mark = "" if name in names else "?"
        if isinstance(of, Mapping) and isinstance(of.get("oneOf"), list):
            text += _choice(f"{name}{mark}", of, indent, depth)
        else:
            default = _texts(of, only="default") if isinstance(of, Mapping) and "oneOf" not in of else []
            text += f"{indent}{name}{mark}: {_nullable(of, indent + '    ', depth)},{_comment(default)}\n"
    return f"{text}{indent}}}"


def _heading(schema: Any) -> Iterator[str]:
    """Yields the comments above a property: its title, description and examples."""
    if not isinstance(schema, Mapping):
        return
    if isinstance(schema.get("title"), str):
        yield f"// {schema['title']}"
        yield "//"
    if "oneOf" not in schema and isinstance(schema.get("description"), str):
        yield f"// {schema['description']}"
    if isinstance(schema.get("examples"), list) and schema["examples"]:
        yield "// Examples:"
        yield from (f'// - "{one}"' for one in schema["examples"] if isinstance(one, str))


def _choice(name: str, schema: Mapping[str, Any], indent: str, depth: int) -> str:
    """Renders a property with ``oneOf``, one line for each variant; the property's own description is not repeated."""
    variants = schema["oneOf"]
    description = schema["description"] if isinstance(schema.get("description"), str) else None
    first = variants[0].get("description") if variants and isinstance(variants[0], Mapping) else None
    is_above = description is not None and description != first
    text = f"{indent}// {description}\n" if is_above else ""
    text += "".join(f"{indent}// {line}\n" for line in _texts(schema, only="default"))
    text += f"{indent}{name}:\n"
    for at, one in enumerate(variants):
        comments = [] if at == 0 and is_above else _texts(one, only="description")
        comments = [*(line for line in comments if line != description), *_texts(one, only="default")]
        text += f"{indent} | {_nullable(one, indent + '   ', depth)}{_comment(comments)}\n"
    return f"{text}{indent},\n"


def _texts(schema: Any, *, only: str | None = None, quotes_enums: bool = False) -> list[str]:
    """Returns a schema's description and default for a comment.

    Args:
        schema: the schema.
        only: ``"description"`` or ``"default"``, if only one of them is wanted.
        quotes_enums: whether the default of an enum is put in quotation marks.
    """
    texts: list[str] = []
    if not isinstance(schema, Mapping):
        return texts
    if only != "default" and isinstance(schema.get("description"), str):
        texts.append(schema["description"])
    if only != "description" and "default" in schema:
        default = schema["default"]
        is_enum = isinstance(schema.get("enum"), list) and bool(schema["enum"])
        if isinstance(default, str) and not (is_enum and quotes_enums):
            texts.append(f"default: {default}" if is_enum else f'default: "{default}"')
        else:
            texts.append(f"default: {_json(default)}")
    return texts


def _comment(texts: Sequence[str]) -> str:
    return f" // {' '.join(texts)}" if texts else ""


def _json(value: Any) -> str:
    """Serializes a value as Rust's serde_json does: without spaces, and with its notation of floats."""
    if isinstance(value, float) or (isinstance(value, int) and not -(1 << 63) <= value < 1 << 64):
        return _float(float(value))
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_json, value))}]"
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{_json(key)}:{_json(item)}' for key, item in value.items())}}}"
    return json.dumps(value, ensure_ascii=False)


def _float(value: float) -> str:
    """Returns the shortest decimal notation of a number: ``100.0``, ``0.00001``, ``1e16``, ``1.5e-7``."""
    decimal = Decimal(repr(value)).normalize()
    sign, digits, _ = decimal.as_tuple()
    point = decimal.adjusted() + 1  # number of digits before the decimal point
    text = "".join(map(str, digits))
    if not value:
        text = "0.0"
    elif 0 < point <= 16:
        text = f"{text[:point].ljust(point, '0')}.{text[point:] or '0'}"
    elif -5 < point <= 0:
        text = f"0.{'0' * -point}{text}"
    else:
        text = f"{text[0]}{'.' if text[1:] else ''}{text[1:]}e{point - 1}"
    return "-" * sign + text
