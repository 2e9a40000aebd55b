"""Folders of `transformers`: a tokenizer file, tokenizer_config.json, and chat templates.

If a folder has several tokenizer files, the first kind of this list is read: tokenizer.json, tekken.json, a
SentencePiece model, vocab.json with merges.txt, vocab.txt, a rank file, a GGUF file.

The configuration sets the following:

- for every kind of file except GGUF: roles and the chat template;
- also, for a SentencePiece model: the transformers class (it determines the id layout), the template, and the added
  tokens (their ids follow the ids of the pieces);
- also, for vocab.txt: lowercasing;
- for a GGUF file: nothing. The configuration is not read, because the GGUF file contains these settings.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from ..errors import ConfigError, UnsupportedFeatureError
from ..tokenizer import Tokenizer
from ..util.atomic import write_atomically
from . import model_folder, tokenizer_json
from .config import kept, render_config, template_files
from .configured import is_of_class
from .detection import MORE_TEMPLATES, TEMPLATE

__all__ = ["check_templates", "choose", "write"]

# name patterns of tokenizer files, in order of precedence
_NAMES = ("tokenizer.json", "tekken.json", "*.model", "vocab.json", "encoder.json", "vocab.txt", "*.tiktoken", "*.gguf")


def choose(folder: str) -> str:
    """Returns the tokenizer file of a folder.

    Raises:
        FileNotFoundError: the folder has no tokenizer file.
    """
    if found := _first(entry.name for entry in os.scandir(folder) if entry.is_file()):
        return os.path.join(folder, found)
    names = ", ".join(sorted(os.listdir(folder))[:8]) or "nothing"
    raise FileNotFoundError(
        f"the folder {folder} contains no tokenizer: none of {', '.join(_NAMES)} (it contains: {names})"
    )


def _first(names: Iterable[str]) -> str | None:
    """Returns the tokenizer file that is read, given the names of all files in a folder."""
    # Files mmproj*.gguf are sorted last, because they are llama.cpp's projectors, which have no tokenizer.
    names = sorted(names, key=lambda name: (name.startswith("mmproj"), name))
    return next((name for form in _NAMES for name in names if fnmatchcase(name, form)), None)


def check_templates(tok: Tokenizer, folder: Path) -> None:
    """Checks that a destination folder would not keep a chat template of another tokenizer.

    Raises:
        ConfigError: the folder has a chat template that `write` would not overwrite.
    """
    templates = template_files(tok.definition.chat_template)
    for old in (folder / TEMPLATE, *sorted((folder / MORE_TEMPLATES).glob("*.jinja"))):
        name = old.relative_to(folder).as_posix()
        if old.is_file() and name not in templates:
            raise ConfigError(f"{folder} has the {name} of another tokenizer: remove it", option="path")


def write(tok: Tokenizer, path: str | os.PathLike[str], accept_loss: Collection[str]) -> None:
    """Writes the files into the folder, which is created if necessary. Each file is replaced atomically.

    If no tokenizer.json can represent a tokenizer that was loaded from a folder with a `.model`, the tokenizer is
    written as a `.model`, with a configuration that names its transformers class. A chat template is written to a
    separate file, as transformers does. An existing special_tokens_map.json is replaced, too, because it takes
    precedence over the configuration.

    Raises:
        ConfigError: the folder has a file of another tokenizer, which would later be read as part of this tokenizer.
    """
    folder = Path(path)
    files = _files(tok, accept_loss)
    definition = replace(tok.definition, roles=tok.roles)
    if (folder / "special_tokens_map.json").is_file():
        config = json.loads(files["tokenizer_config.json"])
        roles = {f"{role}_token": config[f"{role}_token"] for role in tok.roles if f"{role}_token" in config}
        files["special_tokens_map.json"] = (json.dumps(roles, indent=2, ensure_ascii=False) + "\n").encode()
    _check_precedence(folder, next(iter(files)))
    check_templates(tok, folder)
    templates = template_files(definition.chat_template)
    for name, data in (files | templates).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with write_atomically(folder / name) as file:
            file.write(data)


def _files(tok: Tokenizer, accept_loss: Collection[str]) -> dict[str, bytes]:
    """Returns the tokenizer file and the configuration: name -> content."""
    definition = replace(tok.definition, roles=tok.roles)
    if not is_of_class(definition):
        return {
            "tokenizer.json": tokenizer_json.render(tok, accept_loss),
            "tokenizer_config.json": render_config(definition),
        }
    config = kept(definition.config, definition.roles, keeps_class=False)
    try:
        return _files(tok._with_facts(config=config), accept_loss)
    except UnsupportedFeatureError as error:
        try:
            return model_folder.render(tok)
        except UnsupportedFeatureError as other:
            raise UnsupportedFeatureError(
                f"{error.marked}; and {other.marked}", format=error.format, feature=error.feature
            ) from None


def _check_precedence(folder: Path, name: str) -> None:
    """Checks that the folder has no tokenizer file that would be read instead of the new one.

    Raises:
        ConfigError: the folder has such a file.
    """
    names = [entry.name for entry in folder.iterdir() if entry.is_file()] if folder.is_dir() else []
    first = _first([*names, name])
    if first != name:
        raise ConfigError(
            f"{folder} has the {first} of another tokenizer, which would be loaded instead of {name}: remove it",
            option="path",
        )
