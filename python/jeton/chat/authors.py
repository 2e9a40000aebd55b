"""Phrases that say who wrote a piece of a rendered chat: the template, a message, a tool or a variable."""

from __future__ import annotations

from collections.abc import Sequence

from ..util.messages import translate
from .template import RenderedRun

__all__ = ["author", "message_name", "run_at"]


def run_at(runs: Sequence[RenderedRun], char: int) -> RenderedRun | None:
    """Returns the run that contains the character at an index; None at the end of the text."""
    end = 0
    for run in runs:
        end += run.length
        if char < end:
            return run
    return None


def author(run: RenderedRun | None, roles: Sequence[str] = ()) -> str:
    """Returns a phrase for the author of a run.

    Examples:
        >>> from jeton.chat import Origin
        >>> author(RenderedRun(3, Origin("message", 1, field="content"), 1), ["system", "user"])
        'message 1 (user), content'
        >>> author(RenderedRun(3, Origin("template"), 1), ["system", "user"])
        'the template, around message 1 (user)'
    """
    if run is None:
        return translate("(the end of the text)")
    origin = run.origin
    index = run.turn if origin.message is None else origin.message
    role = roles[index] if index is not None and index < len(roles) else ""
    if origin.source in ("template", "mixed"):
        who = translate("the template") if origin.source == "template" else translate("the template and other text")
        return (
            who if index is None else translate("{who}, around {message}", who=who, message=message_name(index, role))
        )
    if origin.message is None:
        field = origin.field or ""
        if field == "tools":
            return translate("the tools")
        if field.startswith("tools["):
            return translate("tool {number}", number=field[6:-1])
        return translate("variable {name}", name=field) if field else translate("several messages or variables")
    if role in ("system", "developer"):
        return translate("the system message")
    field = origin.field or translate("several fields")
    return translate("{message}, {field}", message=message_name(origin.message, role), field=field)


def message_name(index: int, role: str, path: str = "") -> str:
    """Returns a phrase for a message: index, role, and the path in the request if it is not ``messages[index]``."""
    more = ""
    if path and path != f"messages[{index}]":
        more = translate(", {path} of the request", path=path)
    return translate("message {number}", number=index) + (f" ({role}{more})" if role else "")
