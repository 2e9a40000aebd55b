"""Writing of GGUF: writes the tokenizer into the metadata of a copy of another file, or into a file without tensors.

In a copy, the keys of the tokenizer are replaced. Keys with ids for which Jeton has no role (``eot_token_id``, …) get
the new id of the same token. The old chat template is kept if the tokenizer has none. A feature for which llama.cpp
would give different ids is refused with an error that names the feature. llama.cpp has fixed normalizers and a fixed
list of pre-tokenizers (`gguf_pre`). From this list, the writer chooses the pre-tokenizer that splits the most of
`_PROBES` in the same way as the tokenizer. To find other differences, read the file again and compare, as
`jeton convert` does.

Source: ggml-org/llama.cpp src/llama-vocab.cpp, convert_hf_to_gguf.py (types, padding; facts).
"""

from __future__ import annotations

import array
import base64
import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from .. import _core
from ..definition import Bpe, Component, Definition, Pieces, Unigram, WordPiece
from ..errors import ConfigError, FormatError, JetonError, UnsupportedFeatureError
from ..tokenizer import Tokenizer
from ..tokens.added import AddedToken
from ..tokens.kinds import BYTE, TOKEN, UNUSED
from ..util.atomic import write_atomically
from . import gguf
from .error_context import error_context, refuse_losses
from .gguf import KEYS, ROLE_KEYS, SPACE
from .gguf_file import Header, read_header, write_file
from .gguf_pre import PRE, Pre

__all__ = ["write"]

FORMAT = gguf.FORMAT
_TEMPLATE = "tokenizer.chat_template"
_EMBEDDINGS = b"token_embd.weight"
_FILLER_SCORE = -10000.0  # score of unused tokens, as in ggml-org/llama.cpp convert_hf_to_gguf.py
# model -> name of the architecture in a file without tensors
_ARCHITECTURES = {"gpt2": b"gpt2", "gemma4": b"gemma4", "llama": b"llama", "bert": b"bert", "t5": b"t5"}

# Texts on which pre-tokenizers differ: contractions, case beyond ASCII, digits, marks, scripts, signs, and white space.
_PROBES = (
    "I'm DON'T we'LL O'Neill 'tis", "camelCase HTTPServer ПриветМир ÉcoleNormale ǅungla ªº",
    "a1b22c333d4444 12345678", "x=1;y+=2.50$ [a/b/c]\n{d}//\n\n  e", "tab\tnew\nline\r\n\r\n  two   three    \n",
    " lead trail  ", "٣٤٥ ०१२ Ⅷ½²", "école cafe\u0301 नमस्ते ไทยภาษา", "我来到北京清华大学，2024年。",
    "こんにちはカタカナ", "한국어 텍스트", "#!@ ~`^|<>+= _under_score", "¿Qué? «non» “quote”—dash…",
    "emoji 🙂🙂 👩\u200d👧",
    "a\u00a0b\u3000c\u2003d\u0085e", "IMGIMGABZ <sentinel:1>", "New York 'New' (x) \"y\"",
)  # fmt: skip


def write(
    tok: Tokenizer,
    path: str | os.PathLike[str],
    accept_loss: Collection[str],
    like: str | os.PathLike[str] | None = None,
) -> None:
    """Writes the file, atomically.

    Args:
        tok: the tokenizer.
        path: the new file.
        accept_loss: names of accepted losses.
        like: the file to copy; None means a file without tensors.

    Raises:
        UnsupportedFeatureError: llama.cpp does not support the model or a feature.
        ConfigError: `path` is the file to copy, or the vocabulary does not fit that file's embeddings.
        FormatError: `like` is damaged, or not a GGUF file.
    """
    if like is None:
        changes = _changes(tok, accept_loss, {})
        with write_atomically(path, streams=True) as file:
            write_file(file, {"general.architecture": _ARCHITECTURES[changes[f"{KEYS}model"].decode()], **changes})
        return
    if Path(path).exists() and Path(path).samefile(like):
        raise ConfigError(f"{os.fspath(path)} is the file to copy from, which is never changed; choose another output")
    with error_context(os.fspath(like), FORMAT):
        header = read_header(like, _is_wanted, tensors=True)
    changes = _changes(tok, accept_loss, header.values)
    with error_context(os.fspath(like), FORMAT):
        old = _old_tokens(header.values)
        _pad(changes, _num_rows(header, old, os.stat(like).st_size), header.values, old)
        ids = {token: id for id, token in enumerate(changes[f"{KEYS}tokens"])}
        for key, value in header.values.items():
            if key.endswith(".vocab_size"):
                changes[key] = len(changes[f"{KEYS}tokens"])
            elif key.startswith("tokenizer.") and key not in changes:
                new = _kept(key, value, old, ids, has_template=_TEMPLATE in changes)
                if new is not value:  # unchanged keys are copied byte for byte, whatever their type
                    changes[key] = new
        with write_atomically(path, streams=True) as file:
            write_file(file, changes, (like, header))


def _is_wanted(key: str) -> bool:
    return gguf.is_tokenizer_key(key) or key in ("general.alignment", "split.count") or key.endswith(".vocab_size")


# ── the file that is copied ─────────────────────────────────────────────────────────────────────────────────────────


def _old_tokens(values: Mapping[str, Any]) -> list[bytes]:
    tokens = values.get(f"{KEYS}tokens", [])
    return tokens if isinstance(tokens, list) else []


def _num_rows(header: Header, old: list[bytes], num_bytes: int) -> int | None:
    """Returns the number of rows of the embeddings; None if the model has no tensors, here or in other files."""
    if _EMBEDDINGS in header.tensors:
        rows = header.tensors[_EMBEDDINGS][-1]
        if rows > num_bytes:
            raise FormatError(f"{rows} rows do not fit into the file", place=_EMBEDDINGS.decode())
        return rows
    return len(old) if header.num_tensors or header.values.get("split.count", 0) else None


def _pad(changes: dict[str, Any], num_rows: int | None, values: Mapping[str, Any], old: list[bytes]) -> None:
    """Adds unused tokens up to the number of rows; raises an error if the old file uses one of their ids."""
    tokens, types = changes[f"{KEYS}tokens"], changes[f"{KEYS}token_type"]
    if num_rows is None:
        return
    if len(tokens) > num_rows:
        raise ConfigError(
            f"the vocabulary has {len(tokens)} ids, but the file to copy from has embeddings for {num_rows}",
            option="like",
        )
    old_types = values.get(f"{KEYS}token_type")
    old_types = old_types if isinstance(old_types, array.array) else ()
    for id in range(len(tokens), num_rows):
        is_unused = id >= len(old) or old[id].startswith(b"[PAD")
        if not is_unused and not (id < len(old_types) and old_types[id] == gguf.UNUSED_TYPE):
            raise ConfigError(
                f"the vocabulary has {len(tokens)} ids, but the file to copy from has embeddings for "
                f"{num_rows}, among them of "
                f"the token {old[id].decode(errors='replace')!r:.60} with the id {id}",
                option="like",
            )
        tokens.append(b"[PAD%d]" % id)
        types.append(gguf.UNUSED_TYPE)
        if f"{KEYS}scores" in changes:
            changes[f"{KEYS}scores"].append(_FILLER_SCORE)


def _kept(key: str, value: Any, old: list[bytes], ids: Mapping[bytes, int], *, has_template: bool) -> Any:
    """Returns the new value of a key that the tokenizer does not set; None removes the key."""
    if key.startswith(_TEMPLATE):
        return None if has_template else value
    if key == f"{KEYS}token_type_count":
        return value
    if key.endswith("_token_id") and isinstance(value, int) and 0 <= value < len(old):
        return ids.get(old[value])
    if key == f"{KEYS}suppress_tokens" and isinstance(value, array.array):
        return array.array("i", [ids[old[id]] for id in value if 0 <= id < len(old) and old[id] in ids])
    return None


# ── the tokenizer ───────────────────────────────────────────────────────────────────────────────────────────────────


def _changes(tok: Tokenizer, accept_loss: Collection[str], old: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the metadata keys of a tokenizer; raises an error for features that cannot be written."""
    definition, model = tok.definition, tok.definition.model
    losses: dict[str, str] = {}
    match model:
        case Bpe(level="byte", end_of_word=None, continuing_subword_prefix=None):
            own = _byte_bpe(tok, old, losses)
        case Bpe(byte_fallback=True, end_of_word=None, continuing_subword_prefix=None):
            own = _escaped_bpe(tok, losses)
        case Pieces(byte_fallback=True):
            own = _pieces(definition, losses)
        case WordPiece(continuing_subword_prefix="##"):
            own = _word_pieces(definition)
        case Unigram(byte_fallback=False):
            own = _unigram(definition, losses)
        case _:
            raise _other("model", f"a model like this one of the type {model.type}")
    kind = own["model"].decode()
    own |= _columns(tok, kind) | _template(tok, kind, losses)
    for role, key in ROLE_KEYS.items():
        token = tok.roles.get(role)
        if token is not None and key not in own:
            own[key] = tok.token_to_id(token)
    if "pre" not in own and f"{KEYS}pre" in old:  # keep it: some values make tokens strip white space, in any model
        own["pre"] = old[f"{KEYS}pre"]
    changes = {f"{KEYS}{key}": value for key, value in own.items()}
    changes |= _chat_template(definition.chat_template)
    # These losses are refused before the call of `_find_losses`, because it reads the metadata back.
    refuse_losses(losses, accept_loss, FORMAT, file="llama.cpp")
    _find_losses(tok, changes, old, losses)
    refuse_losses(losses, accept_loss, FORMAT, file="llama.cpp")
    return changes


def _other(feature: str, what: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(f"llama.cpp does not support {what}", format=FORMAT, feature=feature)


def _columns(tok: Tokenizer, kind: str) -> dict[str, Any]:
    """Returns the tokens, types and scores; gaps between ids become unused tokens."""
    added, core = tok.added_tokens, tok._core
    unk = tok.definition.model.unk_token
    has_scores = kind in ("llama", "t5")
    known = core.scores() if has_scores else []
    tokens, types, scores = [], array.array("i"), array.array("f")
    present = set(core.ids())
    for id in range(tok.vocab_size):
        if id not in present:
            token, of = f"[PAD{id}]", gguf.UNUSED_TYPE
        elif id in added:
            token = added[id].content
            of = gguf.CONTROL_TYPE if added[id].special else gguf.USER_DEFINED_TYPE
        else:
            token = tok.id_to_token(id)
            of = {BYTE: gguf.BYTE_TYPE, UNUSED: gguf.UNUSED_TYPE}.get(core.kind(id), gguf.NORMAL_TYPE)
            if kind == "bert":
                token = token[2:] if token.startswith("##") else f"▁{token}"
        tokens.append(token.encode())
        types.append(gguf.UNKNOWN_TYPE if token == unk and has_scores else of)
        scores.append(known[id] if id < len(known) and id in present else _FILLER_SCORE)
    columns: dict[str, Any] = {"tokens": tokens, "token_type": types}
    return columns | {"scores": scores} if has_scores else columns


def _template(tok: Tokenizer, kind: str, losses: dict[str, str]) -> dict[str, Any]:
    """Returns the keys for the tokens that llama.cpp adds to a text: one before it and one after it."""
    single = (tok.definition.template or {"single": [{"sequence": "A"}]})["single"]
    at = next(i for i, item in enumerate(single) if "sequence" in item)
    before = [id for item in single[:at] for id in item["ids"]]
    after = [id for item in single[at + 1 :] for id in item.get("ids", ())]
    first, last = ("bos", "seperator") if kind == "bert" else ("bos", "eos")
    if (
        len(before) > 1
        or len(after) > 1
        or (kind == "bert" and not (before and after))
        or (kind == "gemma4" and not before)
    ):
        losses["template"] = (
            "what this tokenizer adds to a text: llama.cpp adds at most one token before a text and one after it"
        )
    ids = {f"{first}_token_id": before[0]} if before else {}
    ids |= {f"{last}_token_id": after[0]} if after else {}
    flags = {} if kind == "bert" else {"add_bos_token": bool(before), "add_eos_token": bool(after)}
    return ids | flags


def _chat_template(template: Any) -> dict[str, Any]:
    if template is None:
        return {}
    if isinstance(template, str):
        return {_TEMPLATE: template.encode()}
    named = {one["name"]: one["template"].encode() for one in template}
    default = {_TEMPLATE: named.pop("default")} if "default" in named else {}
    names = {f"{_TEMPLATE}s": [name.encode() for name in named]} if named else {}
    return default | names | {f"{_TEMPLATE}.{name}": text for name, text in named.items()}


# ── models ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _byte_bpe(tok: Tokenizer, old: Mapping[str, Any], losses: dict[str, str]) -> dict[str, Any]:
    if tok.definition.normalizer:
        losses["normalizer"] = f"the normalizer {tok.definition.normalizer[0]['type']}"
    return {"model": b"gpt2", "pre": _nearest_pre(tok, old, losses).encode(), "merges": _merges(tok)}


def _merges(tok: Tokenizer) -> list[bytes]:
    spelled = tok._core.merges_json(byte_alphabet=tok.definition.is_byte_level, end_of_word="")
    return [f"{left} {right}".encode() for left, right in json.loads(spelled)]


def _nearest_pre(tok: Tokenizer, old: Mapping[str, Any], losses: dict[str, str]) -> str:
    """Returns the name of the pre-tokenizer that agrees with the tokenizer on the most probes."""
    own = _splits(tok.definition.pretokenizer, _PROBES)
    first = old.get(f"{KEYS}pre", b"")
    names = sorted(PRE, key=lambda name: name.encode() != first)  # the old file's value first
    best, most, found = "", (-1, False), own
    seen: set[Pre] = set()
    for name in names:
        pre = PRE[name]
        if pre in seen or pre.escapes_spaces:
            continue
        seen.add(pre)
        splits = _splits(gguf.splits_of(pre), _PROBES)
        equal = sum(ours == theirs for ours, theirs in zip(own, splits, strict=True))
        if (score := (equal, pre.whole_first == tok.definition.model.whole_first)) > most:  # type: ignore[union-attr]
            best, most, found = name, score, splits
        if score == (len(_PROBES), True):
            break
    if most[0] < len(_PROBES):
        probe = next(text for text, ours, theirs in zip(_PROBES, own, found, strict=True) if ours != theirs)
        losses["pattern"] = (
            f"how this tokenizer splits text: the nearest of its pre-tokenizers, {best}, splits {probe!r} differently"
        )
    return best


def _splits(pretokenizer: tuple[Component, ...], texts: Collection[str]) -> list[list[tuple[int, int]]]:
    """Returns the byte spans of the pretokens of each text."""
    every_byte = _core.Vocabulary(range(256), [TOKEN] * 256, [bytes([byte]) for byte in range(256)], ())
    core = Tokenizer(Definition(Bpe(), pretokenizer=pretokenizer), every_byte)._core
    return [[pretoken[0] for pretoken in core.explain(text)[0]] for text in texts]


def _escaped_bpe(tok: Tokenizer, losses: dict[str, str]) -> dict[str, Any]:
    definition = tok.definition
    if definition.normalizer != (gguf.replace(" ", SPACE),):
        losses["normalizer"] = f"a normalizer other than one that writes {SPACE} for spaces"
    lines = [line for probe in _PROBES for line in probe.replace(" ", SPACE).split("\n") if line]
    if any(len(spans) > 1 for spans in _splits(definition.pretokenizer, lines)):
        losses["pretokenizer"] = f"the pre-tokenizer {definition.pretokenizer[0]['type']}"
    merges = _merges(tok)
    for merge in merges:
        if b"\n" in merge and (made := merge.replace(b" ", b"", 1)).strip(b"\n"):
            losses["pretokenizer"] = f"a token of a line feed and other characters, {made.decode()!r:.60}"
    return {"model": b"gemma4", "merges": merges}


def _pieces(definition: Definition, losses: dict[str, str]) -> dict[str, Any]:
    match definition.normalizer:
        case ({"type": "SentencePiece", **options},):
            prefixes = bool(options["add_dummy_prefix"])
            if options["precompiled_charsmap"]:
                losses["normalizer"] = "a table of characters (precompiled_charsmap) with this model"
            elif options["remove_extra_whitespaces"] or options["treat_whitespace_as_suffix"]:
                losses["normalizer"] = "removing extra spaces, or spaces at the end of words"
            elif not options["escape_whitespaces"]:
                losses["normalizer"] = "spaces that are not escaped"
            elif prefixes:
                losses["normalizer"] = (
                    "a space at the beginning of a text only: it adds one after each special token, too"
                )
        case parts:
            prefixes = len(parts) > 1
            space = ({"type": "Prepend", "prepend": SPACE},) if prefixes else ()
            if parts != (*space, gguf.replace(" ", SPACE)):
                losses["normalizer"] = f"a normalizer other than one that writes {SPACE} for spaces"
    if definition.pretokenizer:
        losses["pretokenizer"] = f"the pre-tokenizer {definition.pretokenizer[0]['type']}"
    if any(part.get("denormalizer") for part in definition.decoder or ()):
        losses["decoder"] = "a denormalizer, which rewrites decoded text"
    return {"model": b"llama", "add_space_prefix": prefixes}


def _word_pieces(definition: Definition) -> dict[str, Any]:
    options = next((part for part in definition.normalizer if part["type"] == "BertNormalizer"), {})
    lowercase = bool(options.get("lowercase"))
    strips = options.get("strip_accents")
    return {
        "model": b"bert",
        "normalizer.lowercase": lowercase,
        "normalizer.strip_accents": lowercase if strips is None else bool(strips),
    }


def _unigram(definition: Definition, losses: dict[str, str]) -> dict[str, Any]:
    types = [part["type"] for part in definition.pretokenizer]
    options: Mapping[str, Any] = {}
    match definition.normalizer:
        case ({"type": "SentencePiece", **options},) if not types:
            if options["treat_whitespace_as_suffix"] or not options["escape_whitespaces"]:
                losses["normalizer"] = "spaces at the end of words, or spaces that are not escaped"
        case ({"type": "Precompiled", **options}, *_) if types and types[-1] == "Metaspace":
            if "Pattern" in types:  # T5's pipeline, for example, splits at all white space
                losses["pretokenizer"] = "splitting at white space other than spaces"
            options = {**options, "add_dummy_prefix": True, "remove_extra_whitespaces": True}
        case _:
            losses["normalizer"] = "a normalizer other than SentencePiece's"
    if any(part["type"] == "SentencePiece" for part in definition.decoder or ()):
        losses["decoder"] = "SentencePiece's decoder, which shows the unknown token in its own way"
    charsmap = base64.b64decode(options.get("precompiled_charsmap") or "")
    own = {
        "model": b"t5",
        "add_space_prefix": bool(options.get("add_dummy_prefix")),
        "remove_extra_whitespaces": bool(options.get("remove_extra_whitespaces")),
    }
    return own | ({"precompiled_charsmap": array.array("B", charsmap)} if charsmap else {})


# ── losses that are found by reading the file again ─────────────────────────────────────────────────────────────────


def _white_space(token: AddedToken) -> tuple[bool, ...]:
    takes = token.lstrip or token.rstrip
    return token.lstrip, token.rstrip, token.single_word, takes and token.ascii_space


def _find_losses(tok: Tokenizer, changes: Mapping[str, Any], old: Mapping[str, Any], losses: dict[str, str]) -> None:
    named = {key: value for key, value in old.items() if key.startswith("general.")}
    try:
        again = gguf.tokenizer_of({**named, **changes})
    except JetonError as error:
        if losses:
            return
        raise _other("vocabulary", f"this vocabulary: {error.marked}") from None
    mine, theirs = tok.added_tokens, again.added_tokens
    for id, token in mine.items():
        other = theirs.get(id)
        if other is None or (token.content, token.special) != (other.content, other.special):
            losses["special_tokens"] = f"how the added token {token.content!r:.60} is matched"
        elif _white_space(token) != _white_space(other):
            losses["added_tokens"] = f"how the added token {token.content!r:.60} takes the white space around it"
        elif token.normalized and tok.definition.normalizer:
            losses["added_tokens"] = f"the added token {token.content!r:.60}, which is matched in normalized text"
    if more := theirs.keys() - mine.keys():
        losses["special_tokens"] = f"{theirs[min(more)].content!r:.60} as an ordinary token, by its spelling"
    model = tok.definition.model
    if isinstance(model, WordPiece):
        for name in ("normalizer", "pretokenizer"):
            if getattr(tok.definition, name) != getattr(again.definition, name):
                losses[name] = f"BERT's {name} exactly: it differs for some characters beyond ASCII"
        if model != again.definition.model:
            losses["model"] = f"a limit of {model.max_chars_per_word} characters of a word"
    if isinstance(model, Bpe) and model.whole_first != again.definition.model.whole_first:  # type: ignore[union-attr]
        entries = [content for id, content in tok.vocab.items() if id not in mine]
        if tok.encode_batch(entries) != again.encode_batch(entries):
            losses["whole_first"] = "entries that are matched before merging, with this pre-tokenizer"
