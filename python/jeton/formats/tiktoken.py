"""tiktoken's rank files: one token per line, base64 and rank. The rank of a pair is the rank of its concatenated bytes.

A rank file has neither pattern nor special tokens. If the file is known by its SHA-256, the `registry` supplies the
pattern, the special tokens, and the model's normalizer, roles, template and chat template. If the file is not known,
the caller passes the pattern. A caller's pattern replaces the pattern and the normalizer of a known file. A caller's
special tokens replace the known file's special tokens, roles, template and chat template.

A tokenizer with a list of merges can be written if encoding by ranks always gives the same ids as its merges. This is
proved token by token; if the proof fails, the error names the first token that differs.

Source: openai/tiktoken, tiktoken/load.py and tiktoken_ext/openai_public.py (hashes, special tokens).
"""

from __future__ import annotations

import os

from .. import _core
from ..definition import Bpe, Definition, Pattern, template_of
from ..errors import ConfigError, FormatError, UnsupportedFeatureError, keyword
from ..tokenizer import Tokenizer
from ..tokens.added import special_pairs, with_added_tokens
from ..util.arguments import wrong
from .error_context import refuse_losses
from .registry import REGISTRY, by_content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from .registry import KnownRankFile

__all__ = ["read", "write"]

_PRESETS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "chat", "presets")


def read(
    data: bytes,
    *,
    source: str,
    pattern: str | None,
    special_tokens: Mapping[str, int] | None,
    name: str | None = None,
) -> Tokenizer:
    """Reads a tokenizer from a rank file.

    Args:
        data: content of the file.
        source: name of the file, for messages.
        pattern: replaces pattern and normalizer of a known file.
        special_tokens: replaces the special tokens, roles, template and chat template of a known file.
        name: name of the file in the registry. If several names in the registry have the same content, this argument
            selects one of these names; None selects the first.

    Raises:
        FormatError: a line is not base64, a rank is repeated, a byte has no rank, or the content is not that of `name`.
        ConfigError: the file is not known, and `pattern` is missing.
    """
    import hashlib  # imported here because it loads OpenSSL, which takes 3 ms

    digest = hashlib.sha256(data).hexdigest()
    known = by_content(digest) if name is None else REGISTRY[name]
    if known is not None and known.sha256 != digest:
        raise FormatError(
            f"{source}: the content is not that of {name}; its sha256 is {digest}, not {known.sha256}",
            format="tiktoken",
            place="the whole file",
        )
    if pattern is None:
        if known is None:
            names = ", ".join(Pattern.names())
            raise ConfigError(
                f"{source}: a .tiktoken file contains no pattern, and Jeton does not recognize this one; pass "
                f"{keyword('pattern')} with a name ({names}) or a regex",
                option="pattern",
            )
        pattern, normalizer = known.pattern, known.normalizer
    else:
        normalizer = ()
    facts: dict[str, Any] = {}
    if special_tokens is None:
        special_tokens = known.special_tokens if known else {}
        facts = facts_of(known) if known else {}
    part = Pattern.of(pattern).part()
    definition = Definition(
        Bpe(ranks="tokens", whole_first=True),
        normalizer=normalizer,
        pretokenizer=(part,) if part else (),
        **facts,
    )
    if not hasattr(special_tokens, "items"):
        raise wrong("special_tokens", special_tokens, "a mapping from spelling to id")
    added = special_pairs(special_tokens)
    try:
        vocabulary = _core.Vocabulary.from_ranks(data)
        missing = [byte for byte in range(256) if vocabulary.find(bytes([byte])) is None]
        if missing:
            raise FormatError(
                f"byte 0x{missing[0]:02x} has no rank, so not every text could be encoded", place="the whole file"
            )
        taken = vocabulary.first_of(set(special_tokens.values()))
        if taken is None:
            vocabulary = with_added_tokens(vocabulary, added)
            return Tokenizer(definition, vocabulary)
    except (FormatError, ConfigError) as error:  # reports a repeated rank or token as an error of the file
        raise FormatError(
            f"{source}: {error}", format="tiktoken", place=getattr(error, "place", "its entries")
        ) from None
    raise ConfigError(f"id {taken} belongs to both a special token and a rank", option="special_tokens")


def facts_of(known: KnownRankFile) -> dict[str, Any]:
    """Returns the fields of a `Definition` that a known file determines: roles, template and chat template."""
    template = chat_template = None
    if known.prefix is not None:
        prefix = known.special_tokens[known.prefix]
        template = template_of([prefix, "A"], [prefix, "A", (prefix, 1), ("B", 1)])
    if known.chat is not None:
        # The file is read here, not by `jeton.chat`: importing `jeton.chat` takes as long as reading a small
        # vocabulary.
        with open(os.path.join(_PRESETS, f"{known.chat}.jinja"), encoding="utf-8") as file:
            chat_template = file.read()
    return {"roles": known.roles, "template": template, "chat_template": chat_template}


def write(tok: Tokenizer, path: str | os.PathLike[str], accept_loss: Collection[str]) -> None:
    """Writes a rank file. The format has neither pattern nor special tokens, so the caller must accept their loss.

    Raises:
        UnsupportedFeatureError: the tokenizer's merges are not equivalent to ranks, or a loss was not accepted.
    """
    model, pattern = tok.definition.model, tok.definition.pattern
    if not isinstance(model, Bpe) or not tok.definition.is_byte_level or model.end_of_word is not None:
        raise UnsupportedFeatureError(
            "a .tiktoken file holds only byte-level BPE that does not mark the ends of words",
            format="tiktoken",
            feature="model",
        )
    if model.ranks != "tokens" and (why := tok._core.rank_file_differs()) is not None:
        raise _other("merges", f"merges whose order differs from the ids of their results: {why}")
    losses = {"pattern": f"the pattern {pattern.text!r}" if pattern else "how text is split"}
    if added := [token.content for token in tok.added_tokens.values()]:
        more = f" and {len(added) - 5:,} more" if len(added) > 5 else ""
        losses["special_tokens"] = f"the special and added tokens {', '.join(added[:5])}{more}"
    if tok.definition.template is not None:
        losses["template"] = "what add_special_tokens adds"
    if tok.definition.normalizer:
        losses["normalizer"] = "a normalizer"
    if tok.definition.decoder is not None:
        losses["decoder"] = "a decoder that does more than join bytes"
    if tok.definition.chat_template is not None:
        losses["chat_template"] = "a chat template"
    refuse_losses(losses, accept_loss, "tiktoken", file="a rank file")
    from ..util.atomic import write_atomically

    with write_atomically(path, streams=True) as file:
        file.write(tok._core.rank_file().encode())


def _other(feature: str, what: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(f"a .tiktoken file cannot hold {what}", format="tiktoken", feature=feature)
