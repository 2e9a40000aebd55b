"""Text is readable on every color: contrast by WCAG 2.2, for all hues."""

from __future__ import annotations

import colorsys
import re

import pytest

from jeton.drawing.page import CSS
from jeton.drawing.picture import _THEMES
from jeton.drawing.terminal import PALETTE
from jeton.drawing.theme import REPORT_CSS

Color = tuple[float, float, float]  # 0 to 1


def luminance(color: Color) -> float:
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Color, other: Color) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def from_hex(text: str) -> Color:
    digits = "".join(each * 2 for each in text) if len(text) == 3 else text
    red, green, blue = (int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return red, green, blue


def from_hsl(hue: int, saturation: float, lightness: float) -> Color:
    return colorsys.hls_to_rgb(hue / 360, lightness / 100, saturation / 100)


def blended(ink: Color, ground: Color, opacity: float) -> Color:
    red, green, blue = (i * opacity + g * (1 - opacity) for i, g in zip(ink, ground, strict=True))
    return red, green, blue


TONES = sorted({*re.findall(r"--saturation:(\d+)%;--lightness:(\d+)%;--ink:#(\w+)", CSS)})
REPORT = sorted({*re.findall(r"\.jeton-report\{(--bad:[^}]*)\}", REPORT_CSS)})


@pytest.mark.parametrize(("saturation", "lightness", "ink"), TONES)
def test_colors_in_notebooks_have_contrast(saturation: str, lightness: str, ink: str) -> None:
    signs = min(float(opacity) for opacity in re.findall(r"opacity:([.\d]+)", CSS))
    for hue in range(360):
        ground = from_hsl(hue, float(saturation), float(lightness))
        assert contrast(from_hex(ink), ground) >= 7
        assert contrast(blended(from_hex(ink), ground, signs), ground) >= 4.5


def test_both_modes_were_tested() -> None:
    assert len(TONES) == len(REPORT) == 2


GROUNDS = (("fff", "f7f7f7"), ("111", "1e1e1e", "181818"))  # of notebooks


@pytest.mark.parametrize(("colors", "grounds"), [*zip(REPORT, GROUNDS, strict=True)])
def test_colors_in_reports_have_contrast(colors: str, grounds: tuple[str, ...]) -> None:
    for ink in re.findall(r"#(\w+)", colors):
        assert min(contrast(from_hex(ink), from_hex(ground)) for ground in grounds) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colors_in_pictures_have_contrast(theme: str) -> None:
    colors = _THEMES[theme]
    grounds = [from_hex(colors.of(hue)[1:]) for hue in range(360)]
    assert min(contrast(from_hex(colors.ink[1:]), ground) for ground in grounds) >= 7
    assert min(contrast(from_hex(colors.faint[1:]), ground) for ground in grounds) >= 4.5
    assert contrast(from_hex(colors.faint[1:]), from_hex(colors.ground[1:])) >= 4.5


def test_colors_in_terminals_have_contrast() -> None:
    levels = (0, 95, 135, 175, 215, 255)
    hues = []
    for tone in PALETTE:
        red, green, blue = (levels[each] / 255 for each in ((tone - 16) // 36, (tone - 16) // 6 % 6, (tone - 16) % 6))
        assert contrast((red, green, blue), (0, 0, 0)) >= 8
        hues.append(colorsys.rgb_to_hsv(red, green, blue)[0])
    assert hues == sorted(hues)  # a hue is an index into the list
