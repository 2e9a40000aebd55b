"""Parallel texts of a folder: one file for each language, named by its code, as ``eng.txt`` or ``cmn_hans.txt``."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from ..._core import main_script
from ...errors import ConfigError, InvalidTextError, keyword
from .registry import known_language

__all__ = ["PARAGRAPH", "Language", "parallel_texts"]

# The same paragraph in twenty languages, written for Jeton.
PARAGRAPH = Path(__file__).parent / "paragraph"
# A text whose number of characters is below this share of the baseline's is taken as an incomplete translation.
# Complete Chinese text has a share of 0.30.
MIN_SHARE = 0.2


class Language(NamedTuple):
    """Language of a parallel text.

    Attributes:
        key: name of its file without suffix: code and variant, as ``cmn_hans``.
        name: English name, with the variant; the key if the code is unknown.
        script: Unicode name of the script of most characters; ``Japanese`` for Han with kana.
        family: largest language family; ``"unknown"`` if the code is unknown.
    """

    key: str
    name: str
    script: str
    family: str


def parallel_texts(folder: str | os.PathLike[str], baseline: str) -> tuple[dict[Language, bytes], list[str]]:
    """Reads a folder's languages and texts, in order of file name, and returns them with the files that are left out.

    Args:
        folder: folder of files in UTF-8; hidden files and folders in it are ignored.
        baseline: key of the text with which the other texts are compared.

    Raises:
        ConfigError: the baseline has no file, or two files have the same key.
        FileNotFoundError: the folder does not exist.
        InvalidTextError: a file is not UTF-8.

    Examples:
        >>> texts, left_out = parallel_texts(PARAGRAPH, "eng")
        >>> len(texts), left_out, next(iter(texts))
        (20, [], Language(key='arb', name='Arabic', script='Arabic', family='Afro-Asiatic'))
    """
    files: dict[str, Path] = {}
    for path in sorted(Path(folder).iterdir()):
        if path.is_dir() or path.name.startswith("."):
            continue
        if path.stem in files:
            message = (
                f"{path} and {files[path.stem].name} have the same name; a folder of parallel texts needs a "
                "different name for each"
            )
            raise ConfigError(message, option="folder")
        files[path.stem] = path
    if baseline not in files:
        some = ", ".join(list(files)[:8]) + (", …" if len(files) > 8 else "")
        where = "the paragraphs of Jeton" if folder == PARAGRAPH else folder
        message = f"{where}: no text named {baseline} to compare with (it has: {some or 'no files'})"
        raise ConfigError(f"{message}; name another with {keyword('relative_to')}", option="relative_to")
    texts = {key: _read(path) for key, path in files.items()}
    least = MIN_SHARE * len(texts[baseline])
    found, left_out = {}, []
    for key, text in texts.items():
        if key != baseline and len(text) < least:
            left_out.append(files[key].name)
        else:
            found[_language(key, text)] = text.encode()
    return found, left_out


def _read(path: Path) -> str:
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{path}: invalid UTF-8 at byte {error.start:,}"
        raise InvalidTextError(message, position=error.start, source=str(path)) from None


def _language(key: str, text: str) -> Language:
    code, variant = ([*re.split(r"[_.-]", key, maxsplit=1), ""])[:2]
    known = known_language(code.lower())
    script = main_script(text)
    if known is None:
        return Language(key, key, script, "unknown")
    return Language(key, f"{known.name} ({variant})" if variant else known.name, script, known.family)
