"""Translation of keyword arguments in error messages to command-line options.

The library's messages name keyword arguments (``min_frequency=-1 is not …; pass special="all"``). A command's
parameters have the same names, so each keyword is replaced by the option that sets it. A hint with a keyword for which
the command has no option is removed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

__all__ = ["in_options"]

# Keyword of an object that a command constructs -> parameter of the command.
RENAMED = {"from_size": "superwords_from"}
_VALUE = r"\[[^\]]*\]|\{[^}]*\}|'[^']*'|\"[^\"]*\"|[^\s,;:)\]]*"
_KEYWORD = re.compile(rf"(?<![\w.\-\[?&/])([a-z][a-z_]*)=(?!=)({_VALUE})")


def in_options(message: str, params: Sequence[click.Parameter], *, bare: bool = False) -> str:
    """Replaces keyword arguments in a message of the library by options.

    Args:
        message: message of an error or a warning.
        params: the command's parameters.
        bare: whether to replace keywords without a value (``end_of_word marks words``), too; in a message about a
            file's content such a word may be a key of the file.

    Examples:
        >>> option = click.Option(["--vocab-size", "-s"]), click.Option(["--accept-loss"], multiple=True)
        >>> in_options("vocab_size=100 is below the 256 bytes; pass pattern=", option)
        '--vocab-size 100 is below the 256 bytes'
        >>> in_options("to write it, pass accept_loss=['pattern', 'roles']", option)
        'to write it, pass --accept-loss pattern --accept-loss roles'
    """
    options = {param.name: param for param in params if isinstance(param, click.Option)}

    def option(keyword: re.Match[str]) -> str:
        name, value = keyword[1], keyword[2]
        param = options.get(RENAMED.get(name, name))
        if param is None:
            return f"--set {keyword[0]}" if value and "settings" in options else keyword[0]
        spelled = max(param.opts, key=len)
        if param.is_flag or not value:
            return spelled
        values = re.findall(r"'([^']*)'|\"([^\"]*)\"", value) if value[0] in "[{'\"" else [(value, "")]
        return " ".join(f"{spelled} {single or double}" for single, double in values) or spelled

    def is_known(name: str, value: str) -> bool:
        return RENAMED.get(name, name) in options or (bool(value) and "settings" in options)

    first, *rest = message.split("; ")
    hints = [hint for hint in rest if all(is_known(*keyword) for keyword in _KEYWORD.findall(hint))]
    said = "; ".join(_KEYWORD.sub(option, part) for part in [first, *hints])
    if not bare:
        return said
    names = "|".join(name for name in options if "_" in name) or "(?!)"
    return re.sub(rf"(?<![\w.'\"/-])({names})(?![\w.'\"/=])", lambda name: max(options[name[1]].opts, key=len), said)
