"""GPT-2's pair of files: entries and merges, ``encoder.json`` + ``vocab.bpe`` or ``vocab.json`` + ``merges.txt``.

The files have neither pattern nor special tokens. Without a configuration, the tokenizer is assumed to be GPT-2's: byte
level, GPT-2's pattern, and ``<|endoftext|>`` as special token if it is an entry. A `tokenizer_config.json` in the same
folder can set the class, special tokens, ``add_prefix_space``, ``add_bos_token`` and ``add_eos_token``. The class of
RoBERTa implies its special tokens and its template; the class of Qwen2 implies its pattern and NFC.

Source: openai/gpt-2 src/encoder.py; huggingface/transformers tokenization_gpt2.py, tokenization_roberta.py,
tokenization_qwen2.py (facts).
"""

from __future__ import annotations

import os

from .. import _core
from ..definition import BYTE_LEVEL, Bpe, Definition, template_of
from ..errors import ConfigError, FormatError, UnsupportedFeatureError
from ..tokenizer import Tokenizer
from ..tokens.added import AddedToken, model_entries
from .config import added_tokens, enclosed, with_tokens
from .detection import PAIR_NAMES
from .error_context import error_context, refuse_losses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from ..definition import Component

__all__ = ["partner", "read", "write"]

FORMAT = "vocab.json + merges.txt"
_ENDOFTEXT = "<|endoftext|>"
_GPT2_ROLES = {"bos": _ENDOFTEXT, "eos": _ENDOFTEXT}
_GPT2: Component = {"type": "Pattern", "name": "gpt2"}
_ROBERTA = {"bos": "<s>", "eos": "</s>", "sep": "</s>", "cls": "<s>", "unk": "<unk>", "pad": "<pad>", "mask": "<mask>"}
_CLASSES = ("GPT2Tokenizer", "RobertaTokenizer", "Qwen2Tokenizer", "PreTrainedTokenizer")


def partner(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Returns the paths of the two files (entries, merges), given the path of one file or of the folder.

    The name of a given file can have a prefix: ``gpt2.vocab.bpe``.

    Raises:
        FileNotFoundError: the second file is missing, the folder has no pair of files, or the file name is not known.
    """
    path = os.fspath(path)
    if os.path.isdir(path):
        for names in PAIR_NAMES:
            vocab, merges = (os.path.join(path, name) for name in names)
            if os.path.isfile(vocab) and os.path.isfile(merges):
                return vocab, merges
        raise FileNotFoundError(
            f"the folder {path} contains neither vocab.json with merges.txt nor encoder.json with vocab.bpe"
        )
    for vocab, merges in PAIR_NAMES:
        for mine, other in ((vocab, merges), (merges, vocab)):
            if path.endswith(mine):
                beside = path.removesuffix(mine) + other
                if not os.path.isfile(beside):
                    name = os.path.basename(beside)
                    raise FileNotFoundError(f"{path} needs {name}, which is not in its folder")
                return (path, beside) if mine == vocab else (beside, path)
    raise FileNotFoundError(
        f"{path} is one of two files; for the other to be found, it must have one of these names:  "
        f"{', '.join(sum(PAIR_NAMES, ()))}"
    )


def read(vocab: bytes, merges: bytes, *, source: str, config: Mapping[str, Any] | None = None) -> Tokenizer:
    """Reads a tokenizer from the contents of its two files, entries and merges.

    Args:
        vocab: JSON object spelling -> id.
        merges: lines of merges.
        source: name of the files, for messages.
        config: content of `tokenizer_config.json`.

    Raises:
        FormatError: the files are broken or contradictory; the error has the line.
        UnsupportedFeatureError: the tokenizer class is not supported.
    """
    config = config or {}
    with error_context(source, FORMAT):
        spelled = _core.SpelledVocabulary.from_pair(vocab, merges)
        kind = str(config.get("tokenizer_class") or "GPT2Tokenizer").removesuffix("Fast")
        if kind not in _CLASSES:
            raise UnsupportedFeatureError(
                f"the tokenizer class {kind!r} is not supported for this pair of files",
                place="tokenizer_config.json: tokenizer_class",
                feature="tokenizer_class",
            )
        roles = _roles(config, kind, spelled)
        added = {id: AddedToken(token) for token in roles.values() if (id := spelled.id(token)) is not None}
        if kind == "RobertaTokenizer" and (mask := spelled.id(roles.get("mask", ""))) is not None:
            added[mask] = AddedToken(roles["mask"], lstrip=True)
        added |= added_tokens(config)
        kept = {id for id, token in added.items() if spelled.id(token.content) == id}
        entries = spelled.read(
            byte_alphabet=True, end_of_word="", added={id: token.content for id, token in added.items()}
        )
        vocabulary = with_tokens(entries, added, kept)
        ids = {token.content: id for id, token in added.items()}
        bos, eos = (ids.get(roles.get(role, "")) for role in ("bos", "eos"))
        template = enclosed(config, bos, eos, (False, False)) if kind in ("GPT2Tokenizer", "Qwen2Tokenizer") else None
        if kind == "RobertaTokenizer" and {"cls", "sep"} <= set(roles):
            template = _around(*(spelled.id(roles[role]) for role in ("cls", "sep")))
        definition = Definition(
            Bpe(),
            normalizer=({"type": "NFC"},) if kind == "Qwen2Tokenizer" else (),
            pretokenizer=(_split(config, kind),),
            template=template,
            roles=roles,
            hf_vocab_size=len(spelled) if vocabulary.next_id() > len(spelled) else None,
            reads_added=True,
        )
        return Tokenizer(definition, vocabulary)


def _split(config: Mapping[str, Any], kind: str) -> Component:
    if kind == "Qwen2Tokenizer":
        return {"type": "Pattern", "name": "qwen2"}
    if config.get("add_prefix_space"):
        return {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    return _GPT2


def _roles(config: Mapping[str, Any], kind: str, spelled: _core.SpelledVocabulary) -> dict[str, str]:
    default = {"RobertaTokenizer": _ROBERTA, "Qwen2Tokenizer": {"eos": _ENDOFTEXT}}.get(kind, _GPT2_ROLES)
    roles = {}
    for role in _ROBERTA:
        token = config.get(f"{role}_token", default.get(role))
        token = token.get("content") if isinstance(token, dict) else token
        if token is not None and not isinstance(token, str):
            raise FormatError(f"{role}_token is not a string", place=f"tokenizer_config.json: {role}_token")
        if token and (spelled.id(token) is not None or f"{role}_token" in config):
            roles[role] = token
    return roles


def _around(cls: int | None, sep: int | None) -> Component:
    return template_of([cls, "A", sep], [cls, "A", sep, sep, "B", sep], trim_offsets=True)


def write(tok: Tokenizer, path: str | os.PathLike[str], accept_loss: Collection[str]) -> None:
    """Writes ``vocab.json`` and ``merges.txt`` into a folder, each atomically; creates the folder if necessary.

    Raises:
        UnsupportedFeatureError: the model is not supported, or a loss was not accepted.
    """
    from pathlib import Path

    from ..util.atomic import write_atomically

    files = render(tok, accept_loss)
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        with write_atomically(folder / name) as file:
            file.write(data)


def render(tok: Tokenizer, accept_loss: Collection[str]) -> dict[str, bytes]:
    """Returns name -> content of the files that `write` writes."""
    definition = tok.definition
    model = definition.model
    if not isinstance(model, Bpe) or model.level != "byte" or model.end_of_word is not None:
        raise _other("model", "a model that is not byte-level BPE, or that marks the ends of words")
    if model.ranks != "merges":
        raise _other("ranks", "ranks: its merges are a list of pairs")
    losses = {}
    if model.whole_first:
        losses["whole_first"] = "the lookup of whole pretokens before merging"
    if model.unk_token is not None and any(tok._core.find(bytes([byte]), False) is None for byte in range(256)):
        losses |= {"unk_token": "the unknown token, which replaces bytes without an entry"}
    if definition.normalizer:
        losses["normalizer"] = "the normalizer"
    if definition.pretokenizer != (_GPT2,):
        losses["pattern"] = "a pre-tokenizer other than GPT-2's"
    if definition.template is not None:
        losses["template"] = "what add_special_tokens adds"
    if definition.decoder not in (None, (BYTE_LEVEL,)):
        losses["decoder"] = "a decoder that does more than join bytes"
    if any(role not in _GPT2_ROLES or token != _ENDOFTEXT for role, token in definition.roles.items()):
        losses["roles"] = f"roles other than that of {_ENDOFTEXT}"
    if definition.chat_template is not None:
        losses["chat_template"] = "a chat template"
    tokens = tok.added_tokens.values()
    if any(token != AddedToken(_ENDOFTEXT) for token in tokens) or model_entries(tok._core):
        losses["special_tokens"] = "which tokens are special or added"
    refuse_losses(losses, accept_loss, FORMAT)
    odd = [token.content for token in tokens if token.content != _ENDOFTEXT and _core.read_bytes(token.content) is None]
    if odd:
        raise _other("special_tokens", f"the token {odd[0]!r:.60}: read as an entry, it would spell no bytes")
    try:
        vocab, clashes, _ = tok._core.vocab_json(byte_alphabet=True, end_of_word="", whole=True)
        merges = tok._core.merges_txt(byte_alphabet=True, end_of_word="")
    except ConfigError as error:
        raise _other("vocabulary", f"this vocabulary: {error}") from None
    if clashes:
        raise _other(
            "special_tokens", f"a special token that is spelled like an entry, {tok.id_to_token(clashes[0])!r}"
        )
    return {"vocab.json": vocab + b"\n", "merges.txt": merges.encode()}


def _other(feature: str, what: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(f"vocab.json and merges.txt cannot hold {what}", format=FORMAT, feature=feature)
