"""Navigation of the site, and the configuration that Zensical reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Entry = Mapping[str, Any]  # {title: page} or {title: [entries]}

GUIDES = {
    "Training": "training.md",
    "Encoding and decoding": "encoding.md",
    "Chat templates": "chat.md",
    "Token shards": "shards.md",
    "Shards at scale": "shards_at_scale.md",
    "Roles of special tokens": "roles.md",
    "Files and names": "files.md",
    "Converting": "converting.md",
    "Migrating": "migrating.md",
    "Comparing": "comparing.md",
    "Differing ids": "doctor.md",
    "Auditing": "auditing.md",
    "Changing vocabularies": "surgery.md",
    "Seeing tokens": "seeing.md",
    "Playground": "playground.md",
    "Default tokenizer": "default.md",
}
FACTS = {
    "Glossary": "glossary.md",
    "Environment and limits": "settings.md",
    "Stability": "stability.md",
    "Parity with other libraries": "parity.md",
    "JSON of the playground": "playground_api.md",
}
HOW = {
    "The encoder": "encoder.md",
    "Spans and cuts": "strategies.md",
    "Memory and start": "memory_and_start.md",
    "The trainer": "trainer.md",
    "Benchmarks": "benchmarks.md",
    "Speed of the encoder": "encoder_speed.md",
    "Costs of the encoder": "encoder_costs.md",
}
REJECTED = {
    name.capitalize(): f"rejected/{name}.md" for name in ("encoding", "training", "formats", "playground", "shards")
}
PROJECT = {
    "Changelog": "project/changelog.md",
    "Contributing": "project/contributing.md",
    "Architecture": "project/architecture.md",
    "All pages": "project/pages.md",
    "Testing": "testing.md",
    "Releasing": "releasing.md",
    "Security": "project/security.md",
}


def navigation(
    api: Mapping[str, str], commands: Mapping[str, str], lessons: Sequence[Entry], decisions: Mapping[str, str]
) -> list[Entry]:
    """Returns the tree of pages: title → page."""
    return [
        {
            "Start": [
                {"Jeton": "index.md"},
                *entries(
                    {"Quick starts": "quick_starts.md", "A complete example": "first_user.md", "中文简介": "zh.md"}
                ),
            ]
        },
        {"Guides": entries(GUIDES)},
        {"Python": entries(api)},
        {"Commands": [{"By example": "command_line.md"}, *entries(commands)]},
        {"Facts": entries(FACTS)},
        {"How it works": [*entries(HOW), {"Decisions": entries(decisions)}, {"Rejected": entries(REJECTED)}]},
        {"Lessons": [{"Overview": "lessons/index.md"}, *lessons, {"Bibliography": "bibliography.md"}]},
        {"Project": entries(PROJECT)},
    ]


def entries(pages: Mapping[str, str]) -> list[Entry]:
    """Returns navigation entries for title → page."""
    return [{title: page} for title, page in pages.items()]


FEATURES = [
    "navigation.footer",
    "navigation.sections",
    "navigation.tabs",
    "navigation.top",
    "navigation.tracking",
    "search.highlight",
]
PALETTES = [
    ("(prefers-color-scheme)", None, "lucide/sun-moon", "Switch to light mode"),
    ("(prefers-color-scheme: light)", "default", "lucide/sun", "Switch to dark mode"),
    ("(prefers-color-scheme: dark)", "slate", "lucide/moon", "Switch to the system's preference"),
]


def configuration(nav: list[Entry], description: str) -> str:
    """Returns `zensical.toml`. Pages load nothing from other hosts, and headings have the same anchors as on GitHub."""
    palettes = ""
    for media, scheme, icon, name in PALETTES:
        palettes += f"[[project.theme.palette]]\nmedia = {json.dumps(media)}\n"
        palettes += f'scheme = "{scheme}"\n' if scheme else ""
        palettes += f'toggle.icon = "{icon}"\ntoggle.name = {json.dumps(name)}\n\n'
    return f"""[project]
site_name = "Jeton"
site_description = {json.dumps(description)}
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false
extra_css = ["site.css"]
nav = {inline(nav)}

[project.theme]
language = "en"
font = false
features = {json.dumps(FEATURES)}

{palettes}[project.markdown_extensions]
admonition = {{}}
attr_list = {{}}
md_in_html = {{}}
tables = {{}}
sane_lists = {{}}
toc.permalink = true
toc.slugify = {{ object = "pymdownx.slugs.slugify", kwds = {{ case = "lower" }} }}
pymdownx.highlight.pygments_lang_class = true
pymdownx.superfences = {{}}
"""


def inline(value: Any) -> str:
    """Returns a tree of entries as TOML on one line."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(k, ensure_ascii=False)} = {inline(v)}" for k, v in value.items()) + " }"
    return "[" + ", ".join(inline(one) for one in value) + "]"
