"""Tokenizers that are code: what says so in a repository or folder, and what is done then.

A repository may say that its tokenizer is code of its own: by ``auto_map``, or by a class together with the file that
defines it (QWenTokenizer, tokenization_qwen.py). That code is never run. Where there is also a file that says
everything by itself, a tokenizer.json or tekken.json, that file is loaded and a warning tells of the code; where there
are only parts that the code would put together (a SentencePiece model, a rank file, a list of words), it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from ..errors import UnsupportedFeatureError
from .config import read_object

__all__ = ["SELF_CONTAINED", "code_files", "refuse_code"]

_CODE_FILE = re.compile(r"tokenization_(\w+)\.py", re.ASCII)

# Says everything by itself. Where there is one, other files are not needed, the first before the second.
SELF_CONTAINED = ("tokenizer.json", "tekken.json")


def code_files(names: Iterable[str]) -> list[str]:
    """The Python files for tokenizers among file names.

    Examples:
        >>> code_files(["tokenization_qwen.py", "modeling_qwen.py", "tokenizer.json"])
        ['tokenization_qwen.py']
    """
    return sorted(name for name in names if _CODE_FILE.fullmatch(name))


def refuse_code(name: str, folder: Path, files: Collection[str], code: list[str]) -> None:
    """See the module's description.

    Args:
        name: what messages call the repository or folder.
        folder: where its configuration is.
        files: its files that hold a tokenizer.
        code: its Python files for tokenizers.

    Raises:
        UnsupportedFeatureError: its tokenizer is code, and no file says the same.
    """
    config = _json(folder / "tokenizer_config.json")
    named = _automatic(config) or _automatic(_json(folder / "config.json")) or _defined_here(config, code)
    if named is None:
        return
    whole = next((file for file in SELF_CONTAINED if file in files), None)
    if whole is None:
        raise UnsupportedFeatureError(
            f"the tokenizer of {name} is code beside it ({named}), which Jeton never runs, and there is no "
            f"{' or '.join(SELF_CONTAINED)} that says the same",
            format="hub" if name.startswith("hf:") else "folder",
            place="tokenizer_config.json",
            feature="auto_map",
        )
    import logging  # which few need, and which takes a while to import

    logging.getLogger("jeton").warning(
        "%s also names code of its own (%s), which Jeton never runs: this is its %s", name, named, whole
    )


def _automatic(config: dict[str, Any]) -> str | None:
    """The class in the repository's own code that is its tokenizer: ``auto_map``, in either of its two shapes."""
    mapped = config.get("auto_map")
    classes = mapped.get("AutoTokenizer") if isinstance(mapped, dict) else mapped
    classes = [classes] if isinstance(classes, str) else classes
    return next((name for name in classes if isinstance(name, str)), None) if isinstance(classes, list) else None


def _defined_here(config: dict[str, Any], code: list[str]) -> str | None:
    """The file that defines the tokenizer's class, where there is one."""
    named = config.get("tokenizer_class")
    if not isinstance(named, str):
        return None
    stem = re.sub(r"Tokenizer(Fast)?$", "", named).lower()
    of_class = (f"tokenization{stem}.py", f"tokenization{stem}fast.py")
    return next((name for name in code if name.lower().replace("_", "") in of_class), None)


def _json(path: Path) -> dict[str, Any]:
    return read_object(path) if path.is_file() else {}
