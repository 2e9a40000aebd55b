"""`tokenizer_config.json` and related files of transformers: roles, chat template and other configuration.

Roles and chat template do not affect ids. Other keys (lengths, padding, keys of other programs) are preserved when the
tokenizer is saved. The effect of class and flags on ids is implemented in `layout` and `folder` for SentencePiece
models, and in `vocab_txt` and `bpe_pair` for files of these formats.
"""

from __future__ import annotations

import json
import os

from ..definition import template_of
from ..errors import ConfigError, FormatError, UnsupportedFeatureError
from ..tokens.added import AddedToken, token_of_json, with_added_tokens
from ..tokens.kinds import MAX_ID
from .detection import ADDED_FILE, CONFIG_FILES, MORE_TEMPLATES, TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from .. import _core
    from ..definition import Component, Definition
    from ..tokenizer import Tokenizer

__all__ = [
    "ADDED_TOKENS",
    "added_tokens",
    "check_added",
    "enclosed",
    "kept",
    "option",
    "read_config",
    "read_object",
    "render_config",
    "roles_of",
    "special_tokens",
    "template_files",
    "with_tokens",
]

# keys of role tokens, in the order of transformers
_FIRST = tuple(f"{role}_token" for role in ("bos", "eos", "unk", "sep", "pad", "cls", "mask"))
# Maximum size of a configuration in bytes. Chat templates can be long, but no known configuration is this large.
MAX_BYTES = 1 << 26
_ROLE = "_token"
ADDED_TOKENS = "added_tokens_decoder"


def read_config(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads the configuration of a folder; empty if there is none.

    As in transformers, the roles of `special_tokens_map.json` take precedence if the configuration lacks
    ``added_tokens_decoder``; otherwise they are ignored. Chat templates in separate files take precedence over
    templates in the configuration. The content of `added_tokens.json` is stored under its file name.

    Raises:
        FormatError: a file is not a JSON object, or not UTF-8.
    """
    config: dict[str, Any] = {}
    file, tokens_map, added, _ = (os.path.join(folder, name) for name in CONFIG_FILES)
    if os.path.isfile(file):
        config = read_object(file)
    if os.path.isfile(tokens_map) and ADDED_TOKENS not in config:
        config |= _special_tokens_map(read_object(tokens_map), config)
    if os.path.isfile(added):
        config[ADDED_FILE] = read_object(added)
    if templates := _template_files(folder):
        only = templates.get("default") if len(templates) == 1 else None
        named = [{"name": name, "template": text} for name, text in templates.items()]
        config["chat_template"] = named if only is None else only
    return config


def _special_tokens_map(map: dict[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the entries of `special_tokens_map.json`; a list in it is joined with the configuration's list."""
    for name, tokens in map.items():
        if isinstance(tokens, list) and isinstance(listed := config.get(name), list):
            contents = [_content(token) for token in listed]
            map[name] = listed + [token for token in tokens if _content(token) not in contents]
    return map


def _template_files(folder: str | os.PathLike[str]) -> dict[str, str]:
    """Reads the chat templates that are in separate files: name -> source."""
    files = {"default": os.path.join(folder, TEMPLATE)}
    more = os.path.join(folder, MORE_TEMPLATES)
    if os.path.isdir(more):
        names = sorted(name for name in os.listdir(more) if name.endswith(".jinja"))
        files |= {name.removesuffix(".jinja"): os.path.join(more, name) for name in names}
    return {name: _text(path) for name, path in files.items() if os.path.isfile(path)}


def template_files(template: Any) -> dict[str, bytes]:
    """Returns the files of a chat template, as transformers writes them: path in the folder -> content.

    If the name of any template is not a valid file name, the result is empty; the configuration then lists all
    templates.

    Examples:
        >>> template_files("{{ 1 }}")
        {'chat_template.jinja': b'{{ 1 }}'}
        >>> list(template_files([{"name": "default", "template": "a"}, {"name": "rag", "template": "b"}]))
        ['chat_template.jinja', 'additional_chat_templates/rag.jinja']
    """
    if isinstance(template, str):
        return {TEMPLATE: template.encode()}
    import re

    is_file_name = re.compile(r"\w[\w.\- ]*", re.ASCII).fullmatch
    named = {one.get("name", "default"): one.get("template") for one in template or ()}
    if not all(isinstance(text, str) and is_file_name(name) for name, text in named.items()):
        return {}
    return {
        TEMPLATE if name == "default" else f"{MORE_TEMPLATES}/{name}.jinja": text.encode()
        for name, text in named.items()
    }


def _text(path: str) -> str:
    if os.stat(path).st_size > MAX_BYTES:
        raise FormatError(f"{path}: more than {MAX_BYTES} bytes", format=os.path.basename(path))
    try:
        with open(path, "rb") as file:
            return file.read().decode()
    except UnicodeDecodeError as error:
        place = f"byte {error.start}"
        raise FormatError(f"{path}: not UTF-8", format=os.path.basename(path), place=place) from None


def read_object(path: str) -> dict[str, Any]:
    """Reads a file that is a JSON object.

    Raises:
        FormatError: the file is not a JSON object, or a string has a lone surrogate.
    """
    name = os.path.basename(path)
    text = _text(path)
    try:
        config = json.loads(text)
        json.dumps(config, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise FormatError(f"{path}: not JSON: {error.msg}", format=name, place=place) from None
    except RecursionError:
        raise FormatError(f"{path}: nested too deeply", format=name, place="$") from None
    except UnicodeEncodeError:
        raise FormatError(f"{path}: a string has a lone surrogate", format=name, place="$") from None
    except ValueError:  # an integer exceeds Python's limit on digits
        raise FormatError(f"{path}: a number with thousands of digits", format=name, place="$") from None
    if not isinstance(config, dict):
        raise FormatError(f"{path}: not a JSON object", format=name, place="$")
    return config


def option(config: Mapping[str, Any], name: str, default: bool | None) -> bool | None:
    """Reads a boolean option; returns the default if it is null or missing.

    Raises:
        FormatError: the value is not a boolean.
    """
    value = config.get(name)
    if value is not None and not isinstance(value, bool):
        raise FormatError(f"{name} is {value!r:.60}, not true or false", place=f"tokenizer_config.json: {name}")
    return default if value is None else value


def enclosed(
    config: Mapping[str, Any], bos: int | None, eos: int | None, defaults: tuple[bool, bool], second: int = 1
) -> Component | None:
    """Returns the template that adds bos and eos to each text as ``add_bos_token`` and ``add_eos_token`` demand.

    Args:
        config: content of a `tokenizer_config.json`.
        bos, eos: ids of the tokens; None: the tokenizer has no such token, and none is added.
        defaults: defaults of ``add_bos_token`` and ``add_eos_token``.
        second: type id of the second text of a pair.

    Raises:
        FormatError: a flag is not a boolean.
    """
    # null differs from a missing key: with null, Llama's classes add no bos
    wants_bos = option(config, "add_bos_token", defaults[0] and "add_bos_token" not in config)
    wants_eos = option(config, "add_eos_token", defaults[1])

    first = [bos] if wants_bos and bos is not None else []
    last = [eos] if wants_eos and eos is not None else []
    if not first and not last:
        return None
    single = [*first, "A", *last]
    return template_of(single, [*single, *((of, second) for of in (*first, "B", *last))])


def added_tokens(config: Mapping[str, Any]) -> dict[int, AddedToken]:
    """Reads ``added_tokens_decoder``: id -> token.

    Raises:
        FormatError: ``added_tokens_decoder`` has another structure.

    Examples:
        >>> added_tokens({"added_tokens_decoder": {"7": {"content": "<x>", "special": True}}})[7].content
        '<x>'
    """
    added = {}
    try:
        for id, token in (config.get(ADDED_TOKENS) or {}).items():
            if not 0 <= int(id) <= MAX_ID:
                raise ValueError
            added[int(id)] = token_of_json(token["content"], bool(token.get("special")), token)
    except (AttributeError, KeyError, TypeError, ValueError):
        place = "tokenizer_config.json: added_tokens_decoder"
        raise FormatError("added tokens that are not id -> {content, …}", place=place) from None
    return added


def with_tokens(
    vocabulary: _core.Vocabulary, added: Mapping[int, AddedToken], entries: Iterable[int] = ()
) -> _core.Vocabulary:
    """Adds the tokens of `added_tokens` to a vocabulary.

    Args:
        vocabulary: entries of the file.
        added: id -> added token.
        entries: ids of added tokens to keep as entries of the model. Added tokens that are in `vocabulary` are always
            kept as entries.

    Raises:
        FormatError: an id or content belongs to another entry.
    """
    ids = set(vocabulary.ids())
    kept = {*entries}
    for id, token in added.items():
        if (found := vocabulary.find_any(token.content.encode())) == id:
            kept.add(id)
        elif found is not None or id in ids:
            raise FormatError(
                f"the added token {token.content!r:.60} has the id {id}, which contradicts the vocabulary",
                place="tokenizer_config.json: added_tokens_decoder",
            )
    return with_added_tokens(vocabulary, added.items(), kept)


def check_added(tok: Tokenizer, config: Mapping[str, Any]) -> Tokenizer:
    """Checks that the tokenizer has all tokens of `added_tokens.json`, an older file format without flags.

    Raises:
        UnsupportedFeatureError: a token is missing.
    """
    known = {token.content for token in tok.added_tokens.values()}
    for content in config.get(ADDED_FILE, {}):
        if content not in known:
            raise UnsupportedFeatureError(
                f"{ADDED_FILE} adds {content!r:.60} without the flags for matching; specify them in "
                "added_tokens_decoder of tokenizer_config.json",
                place=ADDED_FILE,
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
            content = _content(token)
            if isinstance(content, str):
                roles[name.removesuffix(_ROLE)] = content
    return roles


def _content(token: Any) -> Any:
    """Returns the content of a token that the configuration gives as a string or as an object."""
    return token.get("content") if isinstance(token, dict) else token


def special_tokens(config: Mapping[str, Any]) -> list[AddedToken]:
    """Returns the special tokens of a configuration, in the order in which transformers adds them.

    Raises:
        FormatError: a token is not Unicode text.

    Examples:
        >>> config = {"zoo_token": "<z>", "pad_token": "<p>", "bos_token": {"content": "<s>", "lstrip": True}}
        >>> [(token.content, token.lstrip) for token in special_tokens(config)]
        [('<s>', True), ('<p>', False), ('<z>', False)]
    """
    named = [name for name in config if name.endswith(_ROLE) and name not in _FIRST]
    tokens = [config.get(name) for name in (*_FIRST, *named)]
    for name in ("model_specific_special_tokens", "extra_special_tokens", "additional_special_tokens"):
        more = config.get(name)
        tokens += more.values() if isinstance(more, dict) else more if isinstance(more, list) else ()
    special: dict[str, AddedToken] = {}
    for token in tokens:
        content = _content(token)
        if isinstance(content, str) and content:
            try:
                special.setdefault(content, token_of_json(content, True, token if isinstance(token, dict) else {}))
            except ConfigError as error:
                raise FormatError(str(error), place="tokenizer_config.json") from None
    return list(special.values())


# Keys that are not preserved. The tokenizer itself contains their content, except for auto_map: this key refers to
# remote code, which is not saved.
_HELD = ("chat_template", ADDED_TOKENS, ADDED_FILE, "auto_map")


def kept(
    config: Mapping[str, Any], roles: Mapping[str, str], *, keeps_class: bool, keeps_added: bool = False
) -> dict[str, Any]:
    """Returns the keys of a configuration that are preserved unchanged.

    Args:
        config: the configuration.
        roles: roles of the tokenizer; other roles are dropped, because transformers would add their tokens.
        keeps_class: whether to keep ``tokenizer_class``: true for a `tokenizer.json`, because the class reads it, and
            for a `.model` that may be saved again. A tokenizer that the class builds from other files would follow
            rules of the class. For these files, the defaults of the class are therefore kept instead of its name.
        keeps_added: whether to keep ``added_tokens_decoder``: true for a `.model` that may be saved again.

    Examples:
        >>> config = {"tokenizer_class": "BertTokenizer", "model_max_length": 512}
        >>> config |= {"pad_token": "[PAD]", "bos_token": "<s>"}
        >>> kept(config, {"pad": "[PAD]"}, keeps_class=False)
        {'model_max_length': 512, 'pad_token': '[PAD]'}
    """
    known = roles_of(config)
    dropped = {f"{role}{_ROLE}" for role in known if known[role] != roles.get(role)}
    dropped |= {*_HELD} - ({ADDED_TOKENS} if keeps_added else set()) | (set() if keeps_class else {"tokenizer_class"})
    stays = {name: value for name, value in config.items() if name not in dropped}
    if not keeps_class:
        name = str(config.get("tokenizer_class")).removesuffix("Fast")
        if name in _NO_SEGMENTS:
            stays.setdefault("model_input_names", ["input_ids", "attention_mask"])
        if name in _PADS_LEFT:
            stays.setdefault("padding_side", "left")
    return stays


# Classes of transformers whose defaults differ from those of `PreTrainedTokenizerFast`.
_PADS_LEFT = ("GemmaTokenizer", "LlamaTokenizer")
_NO_SEGMENTS = (
    "CamembertTokenizer", "CodeLlamaTokenizer", "GPT2Tokenizer", "GemmaTokenizer", "LlamaTokenizer", "MBart50Tokenizer",
    "MBartTokenizer", "NllbTokenizer", "Qwen2Tokenizer", "RobertaTokenizer", "T5Tokenizer", "XLMRobertaTokenizer",
)  # fmt: skip


def render_config(definition: Definition) -> bytes:
    """Renders `tokenizer_config.json`.

    transformers requires a class. ``"PreTrainedTokenizerFast"`` supports any tokenizer.json, other classes only their
    own models. transformers returns segment ids only if the file or the class requests them. The chat template is
    listed only if `template_files` does not write it.
    """
    config = dict(definition.config)
    if "tokenizer_class" not in config:
        config = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False, **config}
        if _has_segments(definition):
            config.setdefault("model_input_names", ["input_ids", "token_type_ids", "attention_mask"])
    spelled = roles_of(config)
    for role, token in definition.roles.items():
        if spelled.get(role) != token:
            config[f"{role}{_ROLE}"] = token
    template = definition.chat_template
    if template is not None and not template_files(template):
        config["chat_template"] = template
    return (json.dumps(config, indent=2, ensure_ascii=False) + "\n").encode()


def _has_segments(definition: Definition) -> bool:
    """Tests whether the template has segment ids other than 0."""
    template = definition.template or {}
    items = (*template.get("single", ()), *(template.get("pair") or ()))
    return any(item.get("type_id") for item in items)
