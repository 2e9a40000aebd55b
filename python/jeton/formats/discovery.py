"""Discovery of tokenizer files in a folder by their first bytes, and short names for them.

Left out: validation, which is part of loading.
"""

from __future__ import annotations

import re
from pathlib import Path

from . import detection, folder

__all__ = ["GENERIC_NAMES", "find_tokenizers", "short_name"]

HEAD_BYTES = 1 << 16
# Companion files of a tokenizer: configurations, and the second file of a pair.
_BESIDE = re.compile(r".*(?:config|special_tokens_map|added_tokens|index|chat_template)\.json|.*(?:merges\.txt|\.bpe)")
# Suffixes that denote the format; the rest of a file name is the tokenizer's name.
_ENDINGS = re.compile(r"(?:\.(?:tokenizer|encoder|vocab|sentencepiece\.bpe))?\.(?:json|txt|model|tiktoken|gguf)$")
# File names that do not contain the tokenizer's name, in the order in which a folder's files are tried.
GENERIC_NAMES = ("tokenizer.json", "tekken.json", "tokenizer.model", "vocab.json", "encoder.json", "vocab.txt")


def find_tokenizers(place: Path) -> list[Path]:
    """Returns the entries of a folder that look like tokenizers, sorted by name; hidden files and folders are skipped.

    Raises:
        OSError: the place is not a folder, or is not readable.

    Examples:
        >>> import tempfile
        >>> place = Path(tempfile.mkdtemp())
        >>> _ = (place / "my.tiktoken").write_text("aGk= 0")
        >>> _ = (place / "notes.txt").write_text("not a tokenizer")
        >>> [path.name for path in find_tokenizers(place)]
        ['my.tiktoken']
    """
    entries = sorted(entry for entry in place.iterdir() if not entry.name.startswith("."))
    return [entry for entry in entries if _may_be(entry)]


def _may_be(path: Path) -> bool:
    try:
        if path.is_dir():
            folder.choose(str(path))
            return True
        if not path.is_file() or _BESIDE.fullmatch(path.name):
            return False
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:  # the folder is empty or not readable
        return False
    begins = (detection.is_gguf, detection.is_rank_file, detection.is_sentencepiece, detection.is_vocab_txt)
    return re.match(rb"\s*\{\s*\"", head) is not None or any(is_begun(head) for is_begun in begins)


def short_name(path: Path) -> str:
    """Returns a short name for the tokenizer of a file or folder: the file name without the format.

    Examples:
        >>> [short_name(Path(name)) for name in ("o200k_base.tiktoken", "t5-small.tokenizer.json", "gpt2/vocab.json")]
        ['o200k_base', 't5-small', 'gpt2']
    """
    if path.name in GENERIC_NAMES and path.parent.name:
        return path.parent.name
    return _ENDINGS.sub("", path.name) or path.name
