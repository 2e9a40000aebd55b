"""HTML renderer of drawings for notebooks: a self-contained fragment without scripts. `to_page` turns it into a page.

Symbols for white space and controls are CSS content, so that copying from the page yields the original text. Gaps are
equal on both sides of a token. Tokens that share a character have a common outline. Text that no token covers has no
color.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator

from ..util.messages import translate
from .drawing import Drawing, Look
from .look_parts import LookPart, LookPartKind
from .theme import themed

__all__ = ["CSS", "look_html", "to_html", "to_page"]


def to_html(drawing: Drawing) -> str:
    """Renders tokens as an HTML fragment. Each token is a ``span``; its tooltip has id and bytes.

    Examples:
        >>> from jeton.drawing import draw
        >>> "&lt;b&gt;" in to_html(draw([(1, b"<b>")]))
        True
    """
    return f'<div class="jeton-tokens"><style>{CSS}</style>{"".join(_spans(drawing))}</div>'


def to_page(title: str, fragment: str) -> str:
    """Returns a page that contains a report's fragment.

    The page follows the reader's light or dark theme. Its ``lang`` attribute is the language of the command line.

    Examples:
        >>> to_page("a < b", "<p>c</p>")[:32]
        '<!doctype html>\\n<html lang="en">'
    """
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    style = "<style>:root{color-scheme:light dark}body{margin:1.5rem;background:light-dark(#fff,#181818)}</style>"
    page = f"<head>{head}<title>{html.escape(title)}</title>{style}</head><body>{fragment}</body>"
    return f'<!doctype html>\n<html lang="{translate("en")}">{page}</html>\n'


# Colors are pastel in the light theme and deep in the dark theme; text has a contrast of at least 7:1 on all of them.
# The gap between tokens is part of the background, because Arabic letters do not join across a margin. Each line has
# the direction of its text (`plaintext`). Bytes and controls are displayed in a left-to-right isolate (U+2066, U+2069).
# The direction marks around the isolate (U+200F, U+200E) give the isolate the direction of the control character, or
# of the character to which the displayed bytes belong.
CSS = (
    themed(
        ".jeton-tokens",
        "--saturation:75%;--lightness:85%;--ink:#111",
        "--saturation:45%;--lightness:22%;--ink:#f4f4f4",
    )
    + ".jeton-tokens{white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.9;"
    "unicode-bidi:plaintext;text-align:start;font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',"
    "monospace,'Apple Color Emoji','Segoe UI Emoji','Noto Color Emoji'}"
    ".jeton-tokens .t{--fill:hsl(var(--h) var(--saturation) var(--lightness));color:var(--ink);padding:1px 0;"
    "border-radius:4px;background:linear-gradient(90deg,transparent 1px,var(--fill) 0 calc(100% - 1px),transparent 0)}"
    ".jeton-tokens .x{display:inline-block;max-width:100%;margin-left:2px;line-height:1.4;font-weight:bold;"
    "background:var(--fill);outline:1px solid currentColor;outline-offset:-1px;border-radius:3px}"
    ".jeton-tokens .g{outline:1px dashed;outline-offset:1px;border-radius:2px;margin:0 2px}"
    ".jeton-tokens s{text-decoration:none}"
    ".jeton-tokens i,.jeton-tokens b{font-style:normal;font-weight:normal;position:relative}"
    ".jeton-tokens i::before,.jeton-tokens b::before{content:attr(data-s);opacity:.75}"
    ".jeton-tokens i.space::before,.jeton-tokens i.tab::before{position:absolute}"
    ".jeton-tokens b::before{content:'\\2066'attr(data-s)'\\2069';font-size:.8em;opacity:.9}"
    ".jeton-tokens b.rtl::before{content:'\\200f\\2066'attr(data-s)'\\2069\\200f'}"
    ".jeton-tokens b.ltr::before{content:'\\200e\\2066'attr(data-s)'\\2069\\200e'}"
    ".jeton-tokens b span{font-size:0;unicode-bidi:isolate}"
)


def _spans(drawing: Drawing) -> Iterator[str]:
    inside = [_inside(look) for look in drawing.table]
    titles = [_title(look) for look in drawing.table]
    gaps = {dropped.before: dropped.parts for dropped in drawing.dropped}
    groups = drawing.groups
    for index, (look, group) in enumerate(zip(drawing.looks, groups, strict=True)):
        begins = index == 0 or groups[index - 1] != group
        ends = index + 1 == len(groups) or groups[index + 1] != group
        if begins and index in gaps:
            yield f"<s>{_parts_html(gaps[index])}</s>"
        if begins and not ends:
            yield '<span class="g">'
        yield _span(drawing.table[look], inside[look], titles[look])
        if ends and not begins:
            yield "</span>"
    if len(groups) in gaps:
        yield f"<s>{_parts_html(gaps[len(groups)])}</s>"


def look_html(look: Look) -> str:
    """Renders one token."""
    return _span(look, _inside(look), _title(look))


def _span(look: Look, inside: str, title: str) -> str:
    return f'<span class="t" style="--h:{look.hue}" title="{title}">{inside}</span>'


def _inside(look: Look) -> str:
    """Renders the parts of a token.

    The spelling of a special token has a rounded border; white space that the token strips is outside of it.
    """
    if not look.special:
        return _parts_html(look.parts)
    first, end = look.spelled
    pill = f'<span class="x">{_parts_html(look.parts[first:end])}</span>'
    return _parts_html(look.parts[:first]) + pill + _parts_html(look.parts[end:])


def _title(look: Look) -> str:
    return html.escape(f"id {look.id} · bytes {look.data[:64].hex(' ')}{' …' if len(look.data) > 64 else ''}")


def _parts_html(parts: Iterable[LookPart]) -> str:
    return "".join(map(_part_html, parts))


def _part_html(part: LookPart) -> str:
    """Renders one part.

    If the displayed form of the part differs from the text to be copied, the form is an attribute of the HTML element,
    and the text is its content.
    """
    if part.shown == part.text:
        return html.escape(part.shown)
    shown, text = html.escape(part.shown), html.escape(_copied(part.text))
    if part.text in (" ", "\t", "\n") and part.kind is not LookPartKind.TEXT:
        return f'<i class="{part.kind.value}" data-s="{shown}">{text}</i>'
    side = f' class="{part.side}"' if part.side else ""
    return f'<b{side} data-s="{shown}"><span>{text}</span></b>' if text else f'<b{side} data-s="{shown}"></b>'


def _copied(text: str) -> str:
    """Removes control characters that HTML forbids or browsers change, except tab and line feed."""
    return "".join(character for character in text if character in "\t\n" or not _is_control(character))


def _is_control(character: str) -> bool:
    return character < " " or "\x7f" <= character <= "\x9f"
