"""What the page tells: the paragraph in twenty languages, the classics, and recorded answers to these.

`recorded.json` is made by ``tools/record_classics.py`` from the real files, and a test compares it with them.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

__all__ = ["read"]


@cache
def read(name: str) -> Any:
    """The content of one of the files, which nobody changes.

    Examples:
        >>> len(read("paragraph.json"))
        20
    """
    return json.loads(resources.files(__name__).joinpath(name).read_bytes())
