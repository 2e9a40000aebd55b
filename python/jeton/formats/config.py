"""`tokenizer_config.json` and related files of transformers: roles, chat template and other configuration.

Roles and chat template do not affect ids. Other keys (lengths, padding, keys of other programs) are preserved and
written again. The effect of class and flags on ids is implemented in `layout` and `folder` for SentencePiece models,
and in `vocab_txt` and `bpe_pair` for their files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import _core
from ..definition import Definition
from ..errors import FormatError, UnsupportedFeatureError
from ..tokenizer import Tokenizer

__all__ = [
    "ENTRY",
    "FLAGS",
    "added_tokens",
    "check_added",
    "kept",
    "option",
    "read_config",
    "read_object",
    "render_config",
    "roles_of",
    "special_tokens",
    "with_tokens",
]

# in the order of transformers
_FIRST = tuple(f"{role}_token" for role in ("bos", "eos", "unk", "sep", "pad", "cls", "mask"))
# Above the size of any configuration; chat templates are long.
MAX_BYTES = 1 << 26
_ROLE = "_token"
_ADDED = "added_tokens.json"
# flags of added tokens -> the core's bits
FLAGS = {"lstrip": 1, "rstrip": 2, "single_word": 4, "normalized": 8}
ENTRY = 16  # internal flag: the token is also an entry of the model


def read_config(folder: Path) -> dict[str, Any]:
    """Reads the configuration of a folder; empty if there is none.

    As in transformers, `special_tokens_map.json` adds roles and `chat_template.jinja` the chat template. The content of
    `added_tokens.json` is stored under its file name.

    Raises:
        FormatError: a file is not a JSON object, or not UTF-8.
    """
    config: dict[str, Any] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        path = folder / name
        if path.is_file():
            config |= read_object(path)
    if (folder / _ADDED).is_file():
        config[_ADDED] = read_object(folder / _ADDED)
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
    """Reads a file that is a JSON object.

    Raises:
        FormatError: not a JSON object, or a string has a lone surrogate.
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
        raise FormatError(f"{path}: a string has a lone surrogate", format=path.name, place="$") from None
    except ValueError:  # Python's limit on digits
        raise FormatError(f"{path}: a number of thousands of digits", format=path.name, place="$") from None
    if not isinstance(config, dict):
        raise FormatError(f"{path}: not a JSON object", format=path.name, place="$")
    return config


def option(config: Mapping[str, Any], name: str, default: bool | None) -> bool | None:
    """Reads a boolean; the default if it is null or missing.

    Raises:
        FormatError: not a boolean.
    """
    value = config.get(name)
    if value is not None and not isinstance(value, bool):
        raise FormatError(f"{name} is {value!r:.60}, not true or false", place=f"tokenizer_config.json: {name}")
    return default if value is None else value


def added_tokens(config: Mapping[str, Any]) -> dict[int, tuple[str, bool, int]]:
    """Reads ``added_tokens_decoder``: id -> (content, is special, flags).

    Raises:
        FormatError: it has another structure.

    Examples:
        >>> added_tokens({"added_tokens_decoder": {"7": {"content": "<x>", "special": True, "lstrip": True}}})
        {7: ('<x>', True, 1)}
    """
    added = {}
    try:
        for id, token in (config.get("added_tokens_decoder") or {}).items():
            flags = sum(bit for name, bit in FLAGS.items() if token.get(name))
            if not isinstance(token["content"], str) or not 0 <= int(id) < 1 << 24:
                raise ValueError
            added[int(id)] = (token["content"], bool(token.get("special")), flags)
    except (AttributeError, KeyError, TypeError, ValueError):
        place = "tokenizer_config.json: added_tokens_decoder"
        raise FormatError("added tokens that are not id -> {content, …}", place=place) from None
    return added


def with_tokens(vocabulary: _core.Vocabulary, added: Mapping[int, tuple[str, bool, int]]) -> _core.Vocabulary:
    """Adds the tokens of `added_tokens` to a vocabulary.

    Raises:
        FormatError: an id or content belongs to another entry.
    """
    ids = set(vocabulary.ids())
    entries = set()
    for id, (content, _, _) in added.items():
        if (found := vocabulary.find_any(content.encode())) == id:
            entries.add(id)
        elif found is not None or id in ids:
            raise FormatError(
                f"the added token {content!r:.60} has the id {id}, which contradicts the vocabulary",
                place="tokenizer_config.json: added_tokens_decoder",
            )
    return vocabulary.with_added(
        list(added),
        [content.encode() for content, _, _ in added.values()],
        [special for _, special, _ in added.values()],
        [flags | ENTRY if id in entries else flags for id, (*_, flags) in added.items()],
    )


def check_added(tok: Tokenizer, config: Mapping[str, Any]) -> Tokenizer:
    """Checks that the tokenizer has all tokens of `added_tokens.json`, an older format without flags.

    Raises:
        UnsupportedFeatureError: a token is missing.
    """
    known = {content for _, content, _, _ in tok._core.added_tokens()}
    for content in config.get(_ADDED, {}):
        if content not in known:
            raise UnsupportedFeatureError(
                f"{_ADDED} adds {content!r:.60} without the flags for matching; specify it by added_tokens_decoder in "
                "tokenizer_config.json",
                place=_ADDED,
                feature="added_tokens",
            )
    return tok


def roles_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Returns role -> special token.

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


def special_tokens(config: Mapping[str, Any]) -> dict[str, int]:
    """Returns special token -> flags of a configuration, in the order in which transformers adds them.

    Examples:
        >>> special_tokens({"zoo_token": "<z>", "pad_token": "<p>", "bos_token": {"content": "<s>", "lstrip": True}})
        {'<s>': 1, '<p>': 0, '<z>': 0}
    """
    named = [name for name in config if name.endswith(_ROLE) and name not in _FIRST]
    tokens = [config.get(name) for name in (*_FIRST, *named)]
    for name in ("model_specific_special_tokens", "extra_special_tokens", "additional_special_tokens"):
        more = config.get(name)
        tokens += more.values() if isinstance(more, dict) else more if isinstance(more, list) else ()
    special: dict[str, int] = {}
    for token in tokens:
        content = token.get("content") if isinstance(token, dict) else token
        if isinstance(content, str) and content:
            flags = sum(bit for name, bit in FLAGS.items() if isinstance(token, dict) and token.get(name))
            special.setdefault(content, flags)
    return special


# Keys whose content is in the tokenizer itself; and auto_map, since remote code is not saved.
_HELD = ("chat_template", "added_tokens_decoder", _ADDED, "auto_map")


def kept(config: Mapping[str, Any], roles: Mapping[str, str], *, keeps_class: bool) -> dict[str, Any]:
    """Returns the keys of a configuration that are preserved unchanged.

    Args:
        config: the configuration.
        roles: roles of the tokenizer; other roles are dropped, because transformers would add their tokens.
        keeps_class: whether to keep ``tokenizer_class``: true for a `tokenizer.json`, which the class reads. From
            another file the class builds a tokenizer by its own rules.

    Examples:
        >>> config = {"tokenizer_class": "BertTokenizer", "model_max_length": 512}
        >>> config |= {"pad_token": "[PAD]", "bos_token": "<s>"}
        >>> kept(config, {"pad": "[PAD]"}, keeps_class=False)
        {'model_max_length': 512, 'pad_token': '[PAD]'}
    """
    known = roles_of(config)
    dropped = {f"{role}{_ROLE}" for role in known if known[role] != roles.get(role)}
    dropped |= {*_HELD} if keeps_class else {*_HELD, "tokenizer_class"}
    return {name: value for name, value in config.items() if name not in dropped}


def render_config(definition: Definition) -> bytes:
    """Renders `tokenizer_config.json`.

    transformers requires a class. ``"PreTrainedTokenizerFast"`` supports any tokenizer.json, other classes only their
    own models. Segment ids must be requested by the file or the class.
    """
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        **definition.config,
    }
    spelled = roles_of(config)
    for role, token in definition.roles.items():
        if spelled.get(role) != token:
            config[f"{role}{_ROLE}"] = token
    if "tokenizer_class" not in definition.config and _has_segments(definition):
        config.setdefault("model_input_names", ["input_ids", "token_type_ids", "attention_mask"])
    if definition.chat_template is not None:
        config["chat_template"] = definition.chat_template
    return (json.dumps(config, indent=2, ensure_ascii=False) + "\n").encode()


def _has_segments(definition: Definition) -> bool:
    """Tests whether the template has segment ids other than 0."""
    template = definition.template or {}
    items = (*template.get("single", ()), *(template.get("pair") or ()))
    return any(item.get("type_id") for item in items)
