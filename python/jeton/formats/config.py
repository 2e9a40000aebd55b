"""`tokenizer_config.json` and what else stands beside a tokenizer's file in a folder: roles and the chat template.

Roles and chat template change no id. What transformers keeps there beside (lengths, padding) is its own business. What
class and flags mean for ids is not decided here: `layout` and `folder` do for a SentencePiece model, `vocab_txt` and
`bpe_pair` for their files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import FormatError

__all__ = ["read_config", "read_object", "render_config", "roles_of"]

# Larger than any; chat templates are long.
MAX_BYTES = 1 << 26
_ROLE = "_token"


def read_config(folder: Path) -> dict[str, Any]:
    """The configuration in a folder; empty where there is none.

    `special_tokens_map.json` fills in roles, `chat_template.jinja` the chat template, as transformers has it.

    Raises:
        FormatError: a file that is no JSON object, or not UTF-8.
    """
    config: dict[str, Any] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        path = folder / name
        if path.is_file():
            config |= read_object(path)
    template = folder / "chat_template.jinja"
    if template.is_file():
        config["chat_template"] = _text(template)
    return config


def _text(path: Path) -> str:
    if path.stat().st_size > MAX_BYTES:
        raise FormatError(f"{path}: more than {MAX_BYTES} bytes", format=path.name)
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not UTF-8", format=path.name, place=f"byte {error.start}") from None


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object that is a file.

    Raises:
        FormatError: it is none, or holds what no text can be: half a surrogate pair.
    """
    try:
        config = json.loads(_text(path))
        json.dumps(config, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise FormatError(f"{path}: not JSON: {error.msg}", format=path.name, place=place) from None
    except RecursionError:
        raise FormatError(f"{path}: nested too deeply", format=path.name, place="$") from None
    except UnicodeEncodeError:
        raise FormatError(f"{path}: a text holds a lone surrogate", format=path.name, place="$") from None
    except ValueError:  # Python's limit on digits
        raise FormatError(f"{path}: a number of thousands of digits", format=path.name, place="$") from None
    if not isinstance(config, dict):
        raise FormatError(f"{path}: not a JSON object", format=path.name, place="$")
    return config


def roles_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Role -> special token.

    Examples:
        >>> roles_of({"bos_token": "<s>", "pad_token": None, "eos_token": {"content": "</s>"}, "add_bos_token": True})
        {'bos': '<s>', 'eos': '</s>'}
    """
    roles: dict[str, str] = {}
    for name, token in config.items():
        if name.endswith(_ROLE):
            content = token.get("content") if isinstance(token, dict) else token
            if isinstance(content, str):
                roles[name.removesuffix(_ROLE)] = content
    return roles


def render_config(roles: Mapping[str, str], chat_template: Any) -> bytes:
    """The file that transformers reads beside a tokenizer.json.

    transformers wants ``"tokenizer_class": "PreTrainedTokenizerFast"``; without it, or with another class, some
    versions give other ids without a word.
    """
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        **{f"{role}{_ROLE}": token for role, token in roles.items()},
    }
    if chat_template is not None:
        config["chat_template"] = chat_template
    return (json.dumps(config, indent=2, ensure_ascii=False) + "\n").encode()
