"""Small HTML table of names and values, for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable

__all__ = ["to_card"]

_CSS = (
    ".jeton-card{border:1px solid #8888;border-radius:6px;padding:8px 14px;display:inline-block;max-width:100%}"
    ".jeton-card table{border-collapse:collapse}"
    ".jeton-card th,.jeton-card td{padding:1px 14px 1px 0;text-align:left;vertical-align:top;font-weight:normal}"
    ".jeton-card th{opacity:.8;white-space:nowrap}"
    ".jeton-card tr,.jeton-card td,.jeton-card th{background:none;border:0;color:inherit}"
    ".jeton-card td{font-family:ui-monospace,monospace;overflow-wrap:anywhere}"
    ".jeton-card .text{white-space:pre-wrap;overflow-wrap:anywhere;border-top:1px solid #8888;margin-top:4px;"
    "padding-top:4px;font-family:ui-monospace,monospace;text-align:left}"
)


def to_card(title: str, rows: Iterable[tuple[str, str]], text: str = "") -> str:
    """Returns a self-contained HTML fragment without scripts: a title, rows (name, value), and a text below them.

    Examples:
        >>> "&lt;s&gt;" in to_card("a", [("special tokens", "<s>")])
        True
    """
    cells = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in rows)
    below = f'<div class="text">{html.escape(text)}</div>' if text else ""
    head = f"<style>{_CSS}</style><b>{html.escape(title)}</b>"
    return f'<div class="jeton-card">{head}<table>{cells}</table>{below}</div>'
