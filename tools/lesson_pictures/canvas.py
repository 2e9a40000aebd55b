"""Pictures in SVG with light and dark colors, in which every label fits.

Pages show the pictures with `<img>`, where the style of the page does not apply: each picture has its own background
and follows `prefers-color-scheme`. Widths of labels are upper bounds for common fonts. A label that is wider than its
box, leaves the picture or overlaps another label is an error, so that a change of Jeton's output cannot silently make
a picture unreadable. Numbers have one decimal, so all machines write the same bytes.
"""

from __future__ import annotations

import colorsys
import html
import unicodedata
from collections.abc import Callable, Iterable
from typing import NamedTuple

Say = Callable[[str, str], str]  # (English, Chinese) -> the label of the picture

# Width in pixels. On a screen that is 390 pixels wide, the margins of the page make the picture smaller, but a label
# of size 12 is still at least 10 pixels high.
WIDTH = 400
MARGIN = 14
ASCENT, DESCENT = 0.8, 0.25  # as fractions of the font size
SANS = "system-ui,-apple-system,'Segoe UI','Noto Sans','Noto Sans CJK SC','DejaVu Sans',sans-serif"
MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Noto Sans Mono CJK SC',monospace"
LIGHT = f"""
text{{font-family:{SANS}}}.mono{{font-family:{MONO};white-space:pre}}
.ground{{fill:#fff;stroke:#d5d9e0}}.ink{{fill:#14171f}}.soft{{fill:#4a5160}}.line{{stroke:#6a7282;fill:none}}
.plain{{fill:#f3f4f7;stroke:#8a92a2}}
.unknown{{fill:#fff;stroke:#b3261e;stroke-dasharray:4 3}}.bar{{fill:#2f4bd8}}.other{{fill:#a9b0bf}}
.plus{{fill:#2f4bd8}}.minus{{fill:#c2571a}}.curve{{fill:none}}
.c0{{stroke:#2f4bd8}}.c1{{stroke:#b3401a}}.c2{{stroke:#1b7a4b}}.c3{{stroke:#8a2fa8}}
""".replace("\n", "")
DARK = """
.ground{fill:#1c1f27;stroke:#3a404d}.ink{fill:#f1f3f7}.soft{fill:#b6bdca}.line{stroke:#8f98a8}
.plain{fill:#2a2e38;stroke:#7d8696}
.unknown{fill:#1c1f27;stroke:#ff8a80}.bar{fill:#9db0ff}.other{fill:#596172}
.plus{fill:#9db0ff}.minus{fill:#ffb38a}
.c0{stroke:#9db0ff}.c1{stroke:#ff9d76}.c2{stroke:#67d6a0}.c3{stroke:#dd9cf2}
""".replace("\n", "")
# (saturation, lightness) of a token's box, and of its border
LIGHT_TOKEN, DARK_TOKEN = ((0.75, 0.86), (0.40, 0.45)), ((0.45, 0.25), (0.45, 0.58))


class Label(NamedTuple):
    """The area that a label covers."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Label) -> bool:
        """Tests whether two areas overlap."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def hue(id: int) -> int:
    """Returns an id's hue in degrees. Multiples of the golden angle spread ids around the circle (Vogel 1979)."""
    return round(id * 137.508) % 360


class Canvas:
    """A picture of fixed width, whose height grows with its content."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.labels: list[Label] = []
        self._bottom = 0.0
        self._parts: list[str] = []
        self._hues: set[int] = set()  # hues of the tokens; each hue has a CSS class

    def text(
        self,
        x: float,
        baseline: float,
        text: str,
        *,
        size: float = 14,
        anchor: str = "start",
        style: str = "ink",
        mono: bool = False,
        limit: float = WIDTH - 2 * MARGIN,
    ) -> None:
        """Writes a label at a position.

        Raises:
            ValueError: the label is wider than `limit`, leaves the picture, or overlaps another label.
        """
        width = text_width(text, size)
        left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        label = Label(text, left, baseline - ASCENT * size, left + width, baseline + DESCENT * size)
        if width > limit + 0.01 or label.left < 0 or label.right > WIDTH or label.top < 0:
            raise ValueError(f"the label {text!r} does not fit: {width:.0f} of {limit:.0f}, from {label.left:.0f}")
        if hidden := [other.text for other in self.labels if label.overlaps(other)]:
            raise ValueError(f"the label {text!r} overlaps {hidden[0]!r}")
        self.labels.append(label)
        self._bottom = max(self._bottom, label.bottom)
        exact = f' textLength="{width:.1f}" lengthAdjust="spacingAndGlyphs"' if mono and text.isascii() else ""
        self._parts.append(
            f'<text x="{x:.1f}" y="{baseline:.1f}" class="{style}{" mono" if mono else ""}" font-size="{size:g}" '
            f'text-anchor="{anchor}"{exact}>{html.escape(text, quote=False)}</text>'
        )

    def box(self, x: float, y: float, width: float, height: float, style: str, *, id: int | None = None) -> None:
        """Draws a rectangle. With `id`, it has the color of this token."""
        if style == "token" and id is not None:
            self._hues.add(hue(id))
            style = f"h{hue(id)}"
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="3" class="{style}"/>'
        )
        self._bottom = max(self._bottom, y + height)

    def token(
        self, x: float, y: float, width: float, label: str, *, id: int | None = None, style: str = "", size: float = 15
    ) -> None:
        """Draws a box, 26 pixels high, with a centered label. The color comes from `style` if given, else from `id`."""
        self.box(x + 1, y, width - 2, 26, style or ("plain" if id is None else "token"), id=id)
        self.text(x + width / 2, y + 18, label, size=size, anchor="middle", mono=True, limit=width - 4)

    def line(self, *points: tuple[float, float], width: float = 1.4, style: str = "line") -> None:
        """Draws a line through points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(f'<polyline points="{path}" class="{style}" stroke-width="{width:g}"/>')
        self._bottom = max(self._bottom, *(y for _, y in points))

    def svg(self) -> str:
        """Returns the content of the SVG file."""
        height = round(self._bottom) + MARGIN
        light, dark = (token_rules(self._hues, colors) for colors in (LIGHT_TOKEN, DARK_TOKEN))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" role="img"><title>{html.escape(self.title, quote=False)}</title>'
            f"<style>{LIGHT}{light}@media(prefers-color-scheme:dark){{{DARK}{dark}}}</style>"
            f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6" class="ground"/>\n'
            + "\n".join(self._parts)
            + "\n</svg>\n"
        )


def token_rules(hues: Iterable[int], colors: tuple[tuple[float, float], tuple[float, float]]) -> str:
    """Returns the CSS of token boxes. Colors are numbers, because few programs except browsers support `hsl`."""
    rules = []
    for degrees in sorted(hues):
        fill, stroke = (hexadecimal(degrees, *color) for color in colors)
        rules.append(f".h{degrees}{{fill:{fill};stroke:{stroke}}}")
    return "".join(rules)


def hexadecimal(degrees: int, saturation: float, lightness: float) -> str:
    """Returns a color as `#rrggbb`."""
    channels = colorsys.hls_to_rgb(degrees / 360, lightness, saturation)
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in channels)


def text_width(text: str, size: float) -> float:
    """Returns an upper bound of a label's width: `size` times 1.35 for an emoji, 1 for a wide character, else 0.61."""
    return sum(map(_character_width, text)) * size


def _character_width(character: str) -> float:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if character >= "\U0001f000":
        return 1.35
    return 1.0 if unicodedata.east_asian_width(character) in "WF" else 0.61
