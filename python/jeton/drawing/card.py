"""Small HTML table of facts, for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable

__all__ = ["to_card"]

_CSS = (
    ".jeton-card{border:1px solid #8888;border-radius:6px;padding:8px 14px;display:inline-block;max-width:100%}"
    ".jeton-card table{border-collapse:collapse}"
    ".jeton-card th,.jeton-card td{padding:1px 14px 1px 0;text-align:left;vertical-align:top;font-weight:normal}"
    ".jeton-card th{opacity:.8;white-space:nowrap}"
    ".jeton-card td{font-family:ui-monospace,monospace;overflow-wrap:anywhere}"
)


def to_card(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Renders a title and rows of name and value as a self-contained HTML fragment without scripts.

    Examples:
        >>> "&lt;s&gt;" in to_card("a", [("special tokens", "<s>")])
        True
    """
    cells = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in rows)
    return f'<div class="jeton-card"><style>{_CSS}</style><b>{html.escape(title)}</b><table>{cells}</table></div>'
