"""A folder as `transformers` has it: tokenizer.json and, beside it, tokenizer_config.json.

transformers wants ``"tokenizer_class": "PreTrainedTokenizerFast"``; without it, or with another class, some versions
give other ids without a word.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from ..atomic import write_atomically
from ..tokenizer import Tokenizer
from . import tokenizer_json

__all__ = ["tokenizer_file", "write"]


def tokenizer_file(folder: Path) -> Path:
    """The file in a folder that holds the tokenizer.

    Raises:
        FileNotFoundError: there is none.
    """
    path = folder / "tokenizer.json"
    if not path.is_file():
        names = ", ".join(sorted(entry.name for entry in folder.iterdir())[:8]) or "nothing"
        raise FileNotFoundError(f"the folder {folder} holds no tokenizer.json (it holds: {names})")
    return path


def write(tok: Tokenizer, path: str | os.PathLike[str], accept_loss: Collection[str]) -> None:
    """Writes both files into the folder, which is made if it is not there. Each file is replaced in one step."""
    data = tokenizer_json.render(tok, accept_loss)
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        **{f"{role}_token": token for role, token in tok.roles.items()},
    }
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    with write_atomically(folder / "tokenizer.json") as file:
        file.write(data)
    with write_atomically(folder / "tokenizer_config.json") as file:
        file.write((json.dumps(config, indent=2, ensure_ascii=False) + "\n").encode())
