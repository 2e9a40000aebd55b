"""tekken.json, Mistral's rank file with pattern and special tokens.

Special tokens have the ids from 0 to ``default_num_special_tokens`` - 1: first the file's special tokens (for old files
without a list, a fixed list), then fillers such as ``<SPECIAL_20>``. The token with rank r has the id r +
``default_num_special_tokens``; ranks beyond ``default_vocab_size`` are dropped. Images, audio and model settings do not
affect ids and are not preserved.

Source: mistralai/mistral-common tokens/tokenizers/tekken.py (facts).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping
from typing import Any

from .. import _core
from ..definition import Bpe, Definition, template_of
from ..errors import ConfigError, FormatError, UnsupportedFeatureError
from ..tokenizer import Tokenizer
from ..tokens.added import model_entries
from ..tokens.kinds import SPECIAL
from ..util.atomic import write_atomically
from .error_context import error_context, refuse_losses

__all__ = ["read", "write"]

FORMAT = "tekken.json"
MAX_SPECIAL = 1 << 16  # maximum number of special tokens; real files have 1,000

_DEFAULT_SPECIAL = """
    <unk> <s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] [/TOOL_RESULTS] [TOOL_CALLS]
    [IMG] <pad> [IMG_BREAK] [IMG_END] [PREFIX] [MIDDLE] [SUFFIX] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [TOOL_CONTENT]
""".split()  # noqa: SIM905  (a line for each token would take pages)
_ROLES = {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "pad": "<pad>"}


def read(data: bytes, *, source: str) -> Tokenizer:
    """Reads a tokenizer from the content of a file.

    Raises:
        FormatError: the data is not JSON, or contradictory; the error has the JSON path.
    """
    with error_context(source, FORMAT):
        file = _core.TekkenFile(data)
        facts = json.loads(file.rest)
        config = facts.get("config")
        if not isinstance(config, dict):
            raise FormatError("not a tekken.json: it has no config", place="$.config")
        num_special = _number(config, "default_num_special_tokens", MAX_SPECIAL)
        vocab_size = _number(config, "default_vocab_size", num_special + len(file))
        if vocab_size < num_special + 256:
            raise FormatError(f"{vocab_size} tokens are too few for the 256 bytes", place="$.config.default_vocab_size")
        special = _special_tokens(facts, config, num_special)
        vocabulary = file.vocabulary(special, vocab_size - num_special)
        bos = special.index("<s>") if "<s>" in special else None
        definition = Definition(
            Bpe(ranks="tokens", whole_first=True),
            pretokenizer=({"type": "Pattern", "regex": _pattern(config)},),
            template=None if bos is None else _template(bos),
            roles={role: token for role, token in _ROLES.items() if token in special},
        )
        return Tokenizer(definition, vocabulary)


def _number(config: Mapping[str, Any], name: str, most: int) -> int:
    number = config.get(name)
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= most:
        raise FormatError(f"{name} is {number!r}, not a number from 0 to {most}", place=f"$.config.{name}")
    return number


def _pattern(config: Mapping[str, Any]) -> str:
    pattern = config.get("pattern")
    if not isinstance(pattern, str) or not pattern:
        raise FormatError("the pattern is not a string", place="$.config.pattern")
    try:
        _core.split_text("", pattern, is_regex=True)
    except ConfigError as error:
        raise FormatError(str(error), place="$.config.pattern") from None
    return pattern


def _special_tokens(facts: Mapping[str, Any], config: Mapping[str, Any], number: int) -> list[str]:
    given = facts.get("special_tokens")
    if given is None:
        version = re.fullmatch(r"v([0-9]{1,4})", str(config.get("version")))
        if version is None or int(version[1]) > 7:
            raise FormatError(
                "special tokens are missing, which only versions up to v7 allow", place="$.special_tokens"
            )
        given = [{"rank": i, "token_str": token} for i, token in enumerate(_DEFAULT_SPECIAL)]
    if not isinstance(given, list) or len(given) > number:
        raise FormatError(f"not a list of at most {number} special tokens", place="$.special_tokens")
    special = []
    for i, token in enumerate(given):
        place = f"$.special_tokens[{i}]"
        if not isinstance(token, dict) or not isinstance(token.get("token_str"), str) or not token["token_str"]:
            raise FormatError("a special token needs a token_str", place=place)
        if token.get("rank") != i or isinstance(token["rank"], bool):
            raise FormatError(f"expected rank {i}, found {token.get('rank')!r:.60}", place=f"{place}.rank")
        special.append(token["token_str"])
    special += [f"<SPECIAL_{i}>" for i in range(len(special), number)]
    seen: set[str] = set()
    for i, token in enumerate(special):
        if token in seen:
            raise FormatError(f"the special token {token!r} is given twice", place=f"$.special_tokens[{i}]")
        seen.add(token)
    return special


def _template(bos: int) -> dict[str, Any]:
    return template_of([bos, "A"])


def write(tok: Tokenizer, path: str | os.PathLike[str], accept_loss: Collection[str]) -> None:
    """Writes a file, atomically. With this file, mistral-common gives the same ids as the tokenizer.

    Raises:
        UnsupportedFeatureError: the format does not support a feature, or a loss was not accepted.
    """
    data = render(tok, accept_loss)
    with write_atomically(path, streams=True) as file:
        file.write(data)


def render(tok: Tokenizer, accept_loss: Collection[str]) -> bytes:
    """Returns the content of the file that `write` writes."""
    definition, pattern = tok.definition, tok.definition.pattern
    if not isinstance(definition.model, Bpe) or not definition.is_byte_level:
        raise _other("model", "a model that is not byte-level BPE")
    if definition.normalizer:
        raise _other("normalizer", "a normalizer")
    if definition.model.ranks != "tokens" and (why := tok._core.rank_file_differs()) is not None:
        raise _other("merges", f"merges that are not in rank order: {why}")
    text = None if pattern is None else pattern.text if pattern.is_regex else _core.pattern_text(pattern.text)
    if text is None:
        raise _other("pattern", "a pre-tokenizer other than one regex")
    special = [token.content for token in tok.added_tokens.values() if token.special]
    if len(special) > MAX_SPECIAL or any(tok._core.kind(id) != SPECIAL for id in range(len(special))):
        raise _other("special_tokens", "special tokens that do not have the first ids")
    losses = {}
    expected = _template(special.index("<s>")) if "<s>" in special else None
    if definition.template != expected:
        losses["template"] = "what add_special_tokens adds, other than <s>"
    if dict(definition.roles) != {role: token for role, token in _ROLES.items() if token in special}:
        losses["roles"] = "roles other than those that the names of special tokens give"
    if not all(token.is_exact for token in tok.added_tokens.values()) or model_entries(tok._core):
        losses["added_tokens"] = "how added tokens take the white space around them"
    if definition.decoder is not None:
        losses["decoder"] = "a decoder that does more than join bytes"
    if definition.chat_template is not None:
        losses["chat_template"] = "a chat template"
    refuse_losses(losses, accept_loss, FORMAT)
    try:
        vocab = tok._core.tekken_vocab(len(special))
    except ConfigError as error:
        raise _other("vocabulary", f"this vocabulary: {error}") from None
    config = {
        "pattern": text,
        "num_vocab_tokens": tok.vocab_size - len(special),
        "default_vocab_size": tok.vocab_size,
        "default_num_special_tokens": len(special),
        "version": "v7",
    }
    tokens = [{"rank": i, "token_str": token, "is_control": True} for i, token in enumerate(special)]
    head = {"config": config, "special_tokens": tokens}
    return f'{json.dumps(head, ensure_ascii=False)[:-1]}, "vocab": {vocab}}}\n'.encode()


def _other(feature: str, what: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(f"tekken.json cannot hold {what}", format=FORMAT, feature=feature)
