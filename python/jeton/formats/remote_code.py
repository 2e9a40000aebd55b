"""Detection of tokenizers that need remote code (transformers' ``trust_remote_code``), which is never run.

A repository declares remote code by ``auto_map``, or by a class together with the file that defines it (QWenTokenizer,
tokenization_qwen.py). If the repository also has a self-contained file, a tokenizer.json or tekken.json, that file is
loaded with a warning. If it only has files that the code would combine (a SentencePiece model, a rank file, a
vocab.txt), loading fails. For a rank file, the error says how to load it without the code: by its name if the registry
has it, else with a pattern.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from typing import Any

from ..errors import UnsupportedFeatureError, keyword
from .config import read_object
from .detection import is_rank_file

__all__ = ["SELF_CONTAINED", "code_files", "refuse_code"]

_CODE_FILE = re.compile(r"tokenization_(\w+)\.py", re.ASCII)

# Maximum size of a rank file in bytes. The largest file of the registry has 4 MB.
MAX_RANK_BYTES = 1 << 26

# Files that define a tokenizer completely, in order of precedence.
SELF_CONTAINED = ("tokenizer.json", "tekken.json")


def code_files(names: Iterable[str]) -> list[str]:
    """Selects the names of Python files that define tokenizers: ``tokenization_`` and the name of a model.

    Examples:
        >>> code_files(["tokenization_qwen.py", "modeling_qwen.py", "tokenizer.json"])
        ['tokenization_qwen.py']
    """
    return sorted(name for name in names if _CODE_FILE.fullmatch(name))


def refuse_code(name: str, folder: str | os.PathLike[str], files: Collection[str], code: list[str]) -> None:
    """Rejects a tokenizer that needs remote code. If a self-contained file replaces the code, only logs a warning.

    Args:
        name: name of the repository or folder, for messages.
        folder: folder that contains its configuration.
        files: names of its tokenizer files.
        code: names of its Python files that define tokenizers.

    Raises:
        UnsupportedFeatureError: the tokenizer needs remote code, and there is no self-contained file.
    """
    config = _json(os.path.join(folder, "tokenizer_config.json"))
    named = _automatic(config) or _automatic(_json(os.path.join(folder, "config.json"))) or _defined_here(config, code)
    if named is None:
        return
    whole = next((file for file in SELF_CONTAINED if file in files), None)
    if whole is None:
        raise UnsupportedFeatureError(
            f"the tokenizer of {name} needs remote code ({named}), which Jeton never runs, and there is no "
            f"{' or '.join(SELF_CONTAINED)}{_alternative(folder, files)}",
            format="hub" if name.startswith("hf:") else "folder",
            place="tokenizer_config.json",
            feature="auto_map",
        )
    import logging  # imported here: rarely needed, and slow to import

    logging.getLogger("jeton").warning(
        "%s declares remote code (%s), which Jeton never runs; its %s is loaded instead", name, named, whole
    )


def _automatic(config: dict[str, Any]) -> str | None:
    """Returns the class that ``auto_map`` names, in either of the two forms that ``auto_map`` can have."""
    mapped = config.get("auto_map")
    classes = mapped.get("AutoTokenizer") if isinstance(mapped, dict) else mapped
    classes = [classes] if isinstance(classes, str) else classes
    return next((name for name in classes if isinstance(name, str)), None) if isinstance(classes, list) else None


def _defined_here(config: dict[str, Any], code: list[str]) -> str | None:
    """Returns the Python file that defines the tokenizer's class, or None."""
    named = config.get("tokenizer_class")
    if not isinstance(named, str):
        return None
    stem = re.sub(r"Tokenizer(Fast)?$", "", named).lower()
    of_class = (f"tokenization{stem}.py", f"tokenization{stem}fast.py")
    return next((name for name in code if name.lower().replace("_", "") in of_class), None)


def _alternative(folder: str | os.PathLike[str], files: Iterable[str]) -> str:
    """Returns the end of the error message: how to load a rank file without the code; empty if there is none."""
    for file in sorted(file for file in files if file.endswith((".tiktoken", ".model"))):
        path = os.path.join(folder, file)
        if not os.path.isfile(path) or os.path.getsize(path) > MAX_RANK_BYTES:
            continue
        with open(path, "rb") as opened:
            data = opened.read()
        if not is_rank_file(data):
            continue
        import hashlib

        from .registry import by_content  # imported here: only errors need it

        known = by_content(hashlib.sha256(data).hexdigest())
        if known is not None:
            return f"; without the code, its {file} loads by the name {known.name!r}, or by its path {path!r}"
        return f"; without the code, its {file}, a rank file, loads by its path {path!r} with {keyword('pattern')}"
    return ""


def _json(path: str) -> dict[str, Any]:
    return read_object(path) if os.path.isfile(path) else {}
