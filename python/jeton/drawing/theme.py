"""Colors of HTML fragments in the theme of the page around them.

The theme of a notebook can differ from the system's. Therefore a fragment sets neither `color-scheme` nor background,
and inherits the text color. All other colors of a fragment are CSS custom properties with one value for light themes
and one for dark themes. If the page declares a theme, this theme selects the value; otherwise, the system's theme does.
"""

from __future__ import annotations

__all__ = ["REPORT_CSS", "themed"]

# CSS selectors that match a light or dark theme of JupyterLab, VS Code, Colab and documentation sites.
_LIGHT = '[data-jp-theme-light="true"],.vscode-light,.vscode-high-contrast-light,[theme="light"],[data-theme="light"]'
_DARK = '[data-jp-theme-light="false"],.vscode-dark,.vscode-high-contrast,[theme="dark"],[data-theme="dark"]'


def themed(selector: str, light: str, dark: str) -> str:
    """Returns a style sheet with declarations for light and dark pages.

    Examples:
        >>> themed(".a", "--ink:#000", "--ink:#fff")[:58]
        '.a{--ink:#000}@media (prefers-color-scheme:dark){.a{--ink:'
    """
    return (
        f"{selector}{{{light}}}@media (prefers-color-scheme:dark){{{selector}{{{dark}}}}}"
        f":is({_LIGHT}) {selector}{{{light}}}:is({_DARK}) {selector}{{{dark}}}"
    )


# Style of reports in notebooks. Colors have a contrast of at least 4.5 : 1 on white and on the dark grays of notebooks.
# The meaning of a color is always repeated by a word or a sign.
REPORT_CSS = (
    themed(
        ".jeton-report",
        "--bad:#b00020;--warn:#8a5300;--note:#1a5fb4;--good:#0b6b2f",
        "--bad:#ff8a80;--warn:#ffb74d;--note:#90caf9;--good:#7bd88f",
    )
    + """
.jeton-report{font:15px/1.5 system-ui,sans-serif;max-width:62rem;text-align:left}
.jeton-report h1{font-size:1.4rem;margin:0 0 .2rem}
.jeton-report h2{font-size:1rem;margin:0}
.jeton-report p{margin:.2rem 0}
.jeton-report .soft{opacity:.75}
.jeton-report section{border-top:1px solid #8888;padding:.6rem 0}
.jeton-report table{border-collapse:collapse;margin:.4rem 0;background:none}
.jeton-report th{font-weight:600;white-space:nowrap}
.jeton-report tr,.jeton-report td,.jeton-report th{background:none;border:0;color:inherit;text-align:left}
.jeton-report td,.jeton-report th{padding:0 1rem 0 0;vertical-align:top;overflow-wrap:anywhere}
.jeton-report .number{text-align:right}
.jeton-report code,.jeton-report .ids{font:13px/1.5 ui-monospace,monospace;background:none;color:inherit}
.jeton-report summary{cursor:pointer}
"""
)
