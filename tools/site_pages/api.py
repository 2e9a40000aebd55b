"""Pages of the API reference, from signatures and docstrings that griffe reads.

griffe parses the sources and the stub of the core without importing them. For each public name, a page has a heading,
the signature, and the sections of the docstring. The anchor of the heading is the name as users write it
(``jeton.Tokenizer.encode``). A public name in backquotes becomes a link.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import griffe

from jeton import _core

from .examples import fenced_examples
from .public import ApiPage, PublicName

# Sections of a docstring that are lists of items: kind of the section -> title of the section on the page.
ITEM_SECTIONS = {"parameters": "Arguments", "attributes": "Attributes", "returns": "Returns", "yields": "Yields"}
RAISED = {"raises": "Raises", "warns": "Warns"}
CODE = re.compile(r"(?<![`\[])`([A-Za-z_][\w.]*)(\(\))?`(?!`)")
MAX_LINE = 100


class Reference:
    """Documentation of all public names, from griffe."""

    def __init__(self, sources: Path, pages: list[ApiPage]) -> None:
        griffe.stdlib_decorators["jeton.util.lazy.cached_property"] = griffe.stdlib_decorators[
            "functools.cached_property"
        ]
        self._root = griffe.load("jeton", search_paths=[sources], resolve_aliases=True, docstring_parser="google")
        self._document_core(pages)
        self.pages = pages
        # Several pages can have an entry with the same short name. On these pages, the name is a link to the entry of
        # the same page. On all other pages, the name is a link to the first of these entries in the navigation.
        self.anchors = {slug: dict(self._anchors(slug)) for slug in (page.slug for page in pages)}

    def _document_core(self, pages: list[ApiPage]) -> None:
        """Adds docstrings from Rust to public classes and members of the core that have no docstring in the stub."""
        for public in (public for page in pages for public in page.names if public.path.startswith("jeton._core.")):
            found = self.resolve(public)
            runtime = getattr(_core, found.name)
            for one, documented in [(found, runtime), *((m, getattr(runtime, n)) for n, m in found.members.items())]:
                text = inspect.cleandoc(documented.__doc__ or "")
                one.docstring = one.docstring or (griffe.Docstring(text, parent=one) if text else None)

    def _anchors(self, slug: str) -> Iterator[tuple[str, str]]:
        """Yields (name, address) for each name that becomes a link in the docstrings of the page `slug`.

        If a name is yielded several times, the caller uses the last address.
        """
        others = [page for page in self.pages if page.slug != slug]
        own = [page for page in self.pages if page.slug == slug]
        for page in [*others[::-1], *own]:
            for public in page.names:
                short = public.name.rpartition(".")[2]
                for anchor in (public.name, short):
                    yield anchor, f"{page.slug}.md#{public.name}"
                found = self.resolve(public)
                if found.is_class:
                    for member in members(found):
                        for anchor in (f"{public.name}.{member.name}", f"{short}.{member.name}"):
                            yield anchor, f"{page.slug}.md#{public.name}.{member.name}"

    def resolve(self, public: PublicName) -> Any:
        """Returns the definition of a public name.

        Raises:
            LookupError: griffe does not find it.
        """
        found: Any = self._root
        try:
            for part in public.path.split(".")[1:]:
                found = found.members[part]
                found = found.final_target if found.is_alias else found
        except (KeyError, griffe.AliasResolutionError) as error:
            raise LookupError(f"{public.name}: griffe does not find {public.path}") from error
        return found

    def page(self, page: ApiPage) -> str:
        """Returns the Markdown of a page."""
        parts = [f"# {page.title}"]
        if page.opening:
            parts.append(self._linked(page.opening, page.slug))
        parts.append(self._summary(page))
        parts += [self._name(public, page.slug) for public in page.names]
        return "\n\n".join(parts) + "\n"

    def _summary(self, page: ApiPage) -> str:
        rows = [f"| [`{p.name}`](#{p.name}) | {self._line(self.resolve(p), page.slug)} |" for p in page.names]
        return "\n".join(["| name | summary |", "|---|---|", *rows])

    def _line(self, found: Any, slug: str) -> str:
        text = found.docstring.value.strip().partition("\n\n")[0] if found.docstring else value_of(found)
        return self._linked(" ".join(text.split()).replace("|", "\\|"), slug)

    def _name(self, public: PublicName, slug: str) -> str:
        found = self.resolve(public)
        parts = [f"## `{public.name}` {{ #{public.name} }}", *self._body(found, public.name, slug)]
        if found.is_class:
            for member in members(found):
                short = f"{public.name.rpartition('.')[2]}.{member.name}"
                parts.append(f"### `{short}` {{ #{public.name}.{member.name} }}")
                parts += self._body(member, short, slug)
        return "\n\n".join(part for part in parts if part)

    def _body(self, found: Any, name: str, slug: str) -> list[str]:
        return [f"```python\n{text}\n```" for text in signatures(found, name)] + [self._docstring(found, slug)]

    def _docstring(self, found: Any, slug: str) -> str:
        if found.docstring is None:
            return ""
        sections = found.docstring.parse("google", warnings=False)
        return "\n\n".join(text for section in sections if (text := self._section(section, slug)))

    def _section(self, section: Any, slug: str) -> str:
        kind = section.kind.value
        if kind == "text":
            return self._linked(fenced_examples(section.value), slug)
        if kind == "examples":
            blocks = [f"```python\n{text}\n```" if part.value == "examples" else text for part, text in section.value]
            return "\n\n".join(["**Examples**", *blocks])
        if kind == "admonition":
            return f"**{section.title}**\n\n{self._linked(section.value.contents, slug)}"
        if kind in ITEM_SECTIONS:
            lines = [
                f"- `{item.name}`: {item.description}" if getattr(item, "name", "") else f"- {item.description}"
                for item in section.value
            ]
            return self._items(ITEM_SECTIONS[kind], lines, slug)
        if kind in RAISED:
            return self._items(RAISED[kind], [f"- `{i.annotation}`: {i.description}" for i in section.value], slug)
        raise ValueError(f"a docstring has a section of kind {kind!r}, which the reference cannot show")

    def _items(self, title: str, lines: list[str], slug: str) -> str:
        joined = [" ".join(line.split()) for line in lines]
        return f"**{title}**\n\n" + self._linked("\n".join(joined), slug)

    def _linked(self, text: str, slug: str) -> str:
        return link_names(text, self.anchors[slug], slug + ".md")


def members(found: Any) -> list[Any]:
    """Returns the public members of a class that have a docstring.

    The members that the class defines come first, in source order. Members inherited from our classes follow.
    """
    own = [found.members[name] for name in found.members]
    inherited = [member for name, member in found.inherited_members.items() if name not in found.members]
    resolved = [member.final_target if member.is_alias else member for member in [*own, *inherited]]
    return [
        member
        for member in resolved
        if not member.name.startswith("_") and member.docstring and (member.is_function or is_property(member))
    ]


def is_property(member: Any) -> bool:
    """Tests whether a member is a property of any kind. Other attributes are documented in their class's docstring."""
    return bool(member.is_attribute and ("property" in member.labels or "cached" in member.labels))


def signatures(found: Any, name: str) -> list[str]:
    """Returns the signatures of a function (several if it is overloaded), or the type of a property or a constant."""
    if found.is_module:
        return []
    if found.is_attribute:
        annotation = f": {found.annotation}" if found.annotation else ""
        return [f"{name}{annotation}"] if is_property(found) else [value_of(found)]
    if found.is_class:
        parameters = list(found.parameters) or record_parameters(found)
        return [call(name, parameters, None)] if parameters and "enum" not in str(found.bases).lower() else []
    overloads = getattr(found, "overloads", None) or [found]
    return [call(name, list(one.parameters), one.returns) for one in overloads]


def record_parameters(found: Any) -> list[Any]:
    """Returns the parameters of a class made by `jeton.util.record.record`.

    griffe finds the parameters of dataclasses, but not of these classes.
    """
    if "jeton.util.record.record" not in [decorator.callable_path for decorator in found.decorators]:
        return []
    fields = [one for one in found.attributes.values() if one.annotation and "ClassVar" not in str(one.annotation)]
    fields = [one for one in fields if "property" not in one.labels]
    kind = griffe.ParameterKind.positional_or_keyword
    return [griffe.Parameter(one.name, annotation=one.annotation, kind=kind, default=default(one)) for one in fields]


def default(field: Any) -> Any:
    """Returns the default of a record's field: the assigned value or, if that is `field(…)`, its argument `default`."""
    for argument in getattr(field.value, "arguments", ()):
        if getattr(argument, "name", "") == "default":
            return argument.value
    return field.value


def call(name: str, parameters: list[Any], returns: Any) -> str:
    """Returns a signature as text, on several lines if it is long."""
    shown: list[str] = []
    star = False
    for parameter in parameters:
        if parameter.name in ("self", "cls") or (
            parameter.name.startswith("_") and not parameter.name.startswith("__")
        ):
            continue
        kind = parameter.kind.value if parameter.kind else ""
        if kind == "keyword-only" and not star:
            shown.append("*")
            star = True
        star = star or kind == "variadic positional"
        prefix = {"variadic positional": "*", "variadic keyword": "**"}.get(kind, "")
        text = prefix + parameter.name + (f": {parameter.annotation}" if parameter.annotation else "")
        if parameter.default is not None and not prefix:
            text += f" = {parameter.default}" if parameter.annotation else f"={parameter.default}"
        shown.append(text)
        if kind == "positional-only" and parameter is last_positional_only(parameters):
            shown.append("/")
    result = f" -> {returns}" if returns else ""
    line = f"{name}({', '.join(shown)}){result}"
    if len(line) <= MAX_LINE:
        return line
    return f"{name}(\n" + "".join(f"    {text},\n" for text in shown) + f"){result}"


def last_positional_only(parameters: list[Any]) -> Any:
    """Returns the last positional-only parameter; there must be one. A signature has ``/`` after this parameter."""
    return [p for p in parameters if p.kind and p.kind.value == "positional-only"][-1]


def value_of(found: Any) -> str:
    """Returns a constant with its value."""
    value = str(getattr(found, "value", "") or "")
    annotation = f": {found.annotation}" if getattr(found, "annotation", None) else ""
    return f"{found.name}{annotation}" + (f" = {value}" if value and len(value) <= MAX_LINE else "")


def link_names(text: str, anchors: Mapping[str, str], page: str) -> str:
    """Converts public names in backquotes to links, except in blocks of code."""

    def linked(match: re.Match[str]) -> str:
        target = anchors.get(match[1])
        if target is None:
            return match[0]
        return f"[{match[0]}]({target.removeprefix(page)})"

    parts = re.split(r"(?m)(^```[\s\S]*?^```$|(?:^ {4}(?! *- ).*\n?)+)", text)
    return "".join(part if i % 2 else CODE.sub(linked, part) for i, part in enumerate(parts))
