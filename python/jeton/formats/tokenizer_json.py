"""`tokenizer.json`, the format of Hugging Face `tokenizers` and Jeton's own.

What Jeton writes, HF reads, with equal ids. HF refuses unknown keys at the top of the file and ignores them inside
``model``, so Jeton's own facts (how it was trained, the name of the pattern, what HF cannot say) stand in
``model.jeton``. A file without them loads too. A file with a part that is not carried yet is refused, and the part
named.

What HF does differently with the same file: at character level without unknown token it drops characters it does not
know, where Jeton raises.

The two big members, ``model.vocab`` and ``model.merges``, are read and written by the core.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Collection
from dataclasses import fields
from operator import methodcaller
from typing import Any, cast

from .. import _core
from ..atomic import write_atomically
from ..definition import Definition, Pattern, TrainingFacts
from ..errors import ConfigError, FormatError, JetonError, LossyConversionWarning, UnsupportedFeatureError
from ..tokenizer import ENDS_WORD, Tokenizer
from .hf_parts import Parts, read_parts, write_parts

__all__ = ["from_bytes", "read", "render", "to_bytes", "write"]

FORMAT = "tokenizer.json"
_TRANSIENT = ("seconds", "log")  # facts of one run, which would make equal tokenizers different files


# ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────


def write(tok: Tokenizer, path: str | os.PathLike[str], accept_loss: Collection[str]) -> None:
    """Writes the file, atomically."""
    data = render(tok, accept_loss)
    with write_atomically(path) as file:
        file.write(data)


def to_bytes(tok: Tokenizer) -> bytes:
    """The file's content, for reading by Jeton only: what HF could not read is accepted without a word."""
    return render(tok, None)


def render(tok: Tokenizer, accept_loss: Collection[str] | None) -> bytes:
    """The file's content.

    Args:
        tok: the tokenizer.
        accept_loss: names of what HF need not understand; None accepts everything.

    Raises:
        UnsupportedFeatureError: HF could not give the same ids, and the loss was not accepted by name.
    """
    definition = tok.definition
    parts = write_parts(definition, _free_mark(tok))
    spelling: dict[str, Any] = {"byte_alphabet": definition.level == "byte", "end_of_word": parts.mark}
    vocab, clashes = tok._core.vocab_json(**spelling)
    if clashes:
        names = ", ".join(repr(tok.id_to_token(id)) for id in clashes[:5])
        parts.losses["special_tokens"] = f"added tokens that are spelled like other entries: {names}"
    merges = tok._core.merges_json(**spelling)
    for name, why in parts.losses.items():
        if accept_loss is not None and name not in accept_loss:
            raise UnsupportedFeatureError(
                f"tokenizer.json cannot hold {why}; accept_loss=[{name!r}] writes a file that says so and that only "
                "Jeton reads exactly",
                format=FORMAT,
                feature=name,
            )
        if accept_loss is not None:
            warnings.warn(
                f"{name}: HF tokenizers will not give the same ids ({why})", LossyConversionWarning, stacklevel=4
            )
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": definition.unk_token,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": parts.mark
        if definition.end_of_word and definition.end_of_word_style == "suffix"
        else None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": definition.whole_first,
        "jeton": _own_facts(definition, parts),
    }
    top = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added_token(*token) for token in tok._core.added_tokens()],
        "normalizer": parts.normalizer,
        "pre_tokenizer": parts.pre_tokenizer,
        "post_processor": None,
        "decoder": parts.decoder,
    }
    head = _dumps(top)[:-1] + ',"model":' + _dumps(model)[:-1]
    return f'{head},"vocab":{vocab},"merges":{merges}}}}}\n'.encode()


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _added_token(id: int, content: str, special: bool) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": id, "content": content, **flags, "special": special}


def _free_mark(tok: Tokenizer) -> str:
    """What the tokens that end a word end in: for a suffix the mark itself, where no other token ends in it, else a
    private-use character that no token holds.
    """
    mark = tok.definition.end_of_word
    if mark is None:
        return ""
    contents = [tok._core.content(id) or b"" for id in tok._core.ids() if tok._core.kind(id) != ENDS_WORD]
    if tok.definition.end_of_word_style == "suffix" and not any(map(methodcaller("endswith", mark.encode()), contents)):
        return mark
    used = b"".join(tok._core.content(id) or b"" for id in tok._core.ids())
    for code in range(0x10FFFD, 0x100000, -1):  # from the far end: U+E000 and its neighbors stand in texts, as icons
        if chr(code).encode() not in used:
            return chr(code)
    raise ConfigError("the vocabulary uses every private-use character; none is left for the end of a word")


def _own_facts(definition: Definition, parts: Parts) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "level": definition.level,
        "pattern": {"regex" if definition.pattern.is_regex else "name": definition.pattern.text},
        "ranks": definition.ranks,
    }
    if definition.end_of_word is not None:
        facts["end_of_word"] = {
            "name": definition.end_of_word,
            "style": definition.end_of_word_style,
            "spelling": parts.mark,
        }
    if definition.training is not None:
        training = {f.name: getattr(definition.training, f.name) for f in fields(definition.training)}
        facts["training"] = {name: value for name, value in training.items() if name not in _TRANSIENT}
    if parts.losses:
        facts["losses"] = sorted(parts.losses)
    return facts


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────


def from_bytes(data: bytes) -> Tokenizer:
    """Reads what `to_bytes` wrote."""
    return read(data, source="bytes")


def read(data: bytes, *, source: str) -> Tokenizer:
    """A tokenizer from the content of a file.

    Raises:
        FormatError: not JSON, or contradictory; says where.
        UnsupportedFeatureError: a part that is not carried; names it.
    """
    try:
        rest, spelled = _core.read_tokenizer_json(data)
        return _read(json.loads(rest), spelled)
    except UnsupportedFeatureError as error:
        raise UnsupportedFeatureError(
            f"{source}: {error}", format=FORMAT, place=error.place, feature=error.feature
        ) from None
    except FormatError as error:
        raise FormatError(f"{source}: {error}", format=FORMAT, place=error.place) from None
    except JetonError as error:  # entries that contradict each other
        raise FormatError(f"{source}: {error}", format=FORMAT, place="$.model") from None


def _read(top: dict[str, Any], spelled: _core.SpelledVocabulary) -> Tokenizer:
    model = top.get("model")
    if not isinstance(model, dict):
        raise FormatError("there is no model, so this is no tokenizer.json", place="$.model")
    _check_model(top, model, spelled)
    own = model.get("jeton") or {}
    if not isinstance(own, dict):
        raise FormatError("Jeton's own facts are not an object", place="$.model.jeton")
    added = _added_tokens(top, spelled, own)
    parts = _own_parts(own) if own else read_parts(top, model)
    if own and not own.get("losses") and not _same_pipeline(parts, top):
        raise FormatError("Jeton's own facts and the pipeline of the file say different things", place="$.model.jeton")
    byte_level = parts["level"] == "byte"
    vocabulary = spelled.read(
        byte_alphabet=byte_level, end_of_word=parts.pop("spelling"), added={id: content for id, content, _ in added}
    )
    vocabulary = vocabulary.with_added(
        [id for id, _, _ in added], [content.encode() for _, content, _ in added], [special for _, _, special in added]
    )
    special = {content: id for id, content, is_special in added if is_special}
    unk = model.get("unk_token")
    if unk is not None and not isinstance(unk, str):
        raise FormatError("unk_token is not a string", place="$.model.unk_token")
    if unk is not None and unk not in special:
        raise UnsupportedFeatureError(
            f"the unknown token {unk!r} is not among the special tokens", place="$.model.unk_token", feature="unk_token"
        )
    whole_first = model.get("ignore_merges") or False
    if not isinstance(whole_first, bool):
        raise FormatError("ignore_merges is neither true nor false", place="$.model.ignore_merges")
    definition = Definition(unk_token=unk, whole_first=whole_first, training=_training(own), **parts)
    return Tokenizer(definition, vocabulary, special)


def _same_pipeline(parts: dict[str, Any], top: dict[str, Any]) -> bool:
    """Whether HF would do what our own facts say: an edited file must not mean one thing here and another there."""
    definition = Definition(**{name: value for name, value in parts.items() if name != "spelling"})
    expected = write_parts(definition, parts["spelling"])
    written = (expected.normalizer, expected.pre_tokenizer, expected.decoder)
    return written == (top.get("normalizer"), top.get("pre_tokenizer"), top.get("decoder"))


def _check_model(top: dict[str, Any], model: dict[str, Any], spelled: _core.SpelledVocabulary) -> None:
    kind = model.get("type", "BPE" if spelled.has_merges else None)
    if kind != "BPE":
        raise UnsupportedFeatureError(f"the model {kind!r} is not carried yet", place="$.model.type", feature=str(kind))
    if not spelled.has_merges:
        raise FormatError("a BPE model needs a list of merges", place="$.model.merges")
    off: dict[str, tuple[object, ...]] = {
        "dropout": (None, 0, 0.0),
        "continuing_subword_prefix": (None, ""),
        "fuse_unk": (None, False),
        "byte_fallback": (None, False),
    }
    for name, values in off.items():
        if model.get(name) not in values:
            raise UnsupportedFeatureError(
                f"{name}={model[name]!r} is not carried yet", place=f"$.model.{name}", feature=name
            )
    for name in ("truncation", "padding"):
        if top.get(name) is not None:
            raise UnsupportedFeatureError(f"{name} in the file is not carried yet", place=f"$.{name}", feature=name)
    post = top.get("post_processor")
    # ByteLevel only moves the edges of HF's offsets, which are not our spans.
    if post is not None and (not isinstance(post, dict) or post.get("type") != "ByteLevel"):
        kind = post.get("type") if isinstance(post, dict) else post
        raise UnsupportedFeatureError(
            f"the post-processor {kind!r} is not carried yet", place="$.post_processor", feature=str(kind)
        )


def _added_tokens(
    top: dict[str, Any], spelled: _core.SpelledVocabulary, own: dict[str, Any]
) -> list[tuple[int, str, bool]]:
    tokens = top.get("added_tokens") or []
    if not isinstance(tokens, list):
        raise FormatError("added_tokens is not a list", place="$.added_tokens")
    added: list[tuple[int, str, bool]] = []
    seen: set[str] = set()
    highest = -1
    for i, token in enumerate(tokens):
        place = f"$.added_tokens[{i}]"
        id = token.get("id") if isinstance(token, dict) else None
        content = token.get("content") if isinstance(token, dict) else None
        if (
            not isinstance(content, str)
            or not content
            or isinstance(id, bool)
            or not isinstance(id, int)
            or not 0 <= id < 1 << 28
        ):
            raise FormatError("an added token needs an id and a content that is not empty", place=place)
        for flag in ("single_word", "lstrip", "rstrip"):
            if token.get(flag):
                raise UnsupportedFeatureError(
                    f"{flag} of {content!r} is not carried yet", place=f"{place}.{flag}", feature=flag
                )
        in_vocab = spelled.id(content)
        if in_vocab is not None and in_vocab != id and "special_tokens" not in own.get("losses", ()):
            raise FormatError(f"{content!r} has id {id} here and {in_vocab} in model.vocab", place=f"{place}.id")
        if content in seen:
            raise FormatError(f"{content!r} is added twice", place=place)
        seen.add(content)
        if in_vocab is None and not own:
            # HF gives a token that is not in model.vocab the next id, whatever the file says.
            given = max(len(spelled), highest + 1)
            if id != given:
                if spelled.holds(id) or any(id == other for other, _, _ in added):
                    raise FormatError(f"{content!r} has the id of another token, {id}", place=f"{place}.id")
                raise UnsupportedFeatureError(
                    f"{content!r} has id {id}, but HF tokenizers would give it {given}, for it is not in model.vocab",
                    place=f"{place}.id",
                    feature="id",
                )
        highest = max(highest, id)
        added.append((id, content, bool(token.get("special"))))
    return added


def _own_parts(own: dict[str, Any]) -> dict[str, Any]:
    """What a file of ours says of itself."""
    end = own.get("end_of_word")
    pattern = own.get("pattern")
    try:
        if own["level"] not in ("byte", "char") or own.get("ranks", "merges") not in ("merges", "tokens"):
            raise KeyError
        ((kind, text),) = cast("dict[str, str]", pattern).items()
        if not isinstance(text, str):
            raise KeyError
        parts = {
            "level": own["level"],
            "ranks": own.get("ranks", "merges"),
            "pattern": Pattern(text, True) if kind == "regex" else Pattern.of(text),
            "spelling": "",
        }
        if end is not None:
            names = [end["name"], end["spelling"]]
            if end["style"] not in ("symbol", "suffix") or not all(isinstance(name, str) and name for name in names):
                raise KeyError
            parts |= {"end_of_word": end["name"], "end_of_word_style": end["style"], "spelling": end["spelling"]}
    except (KeyError, TypeError, AttributeError, ValueError):
        raise FormatError("Jeton's own facts are incomplete or damaged", place="$.model.jeton") from None
    return parts


def _training(own: dict[str, Any]) -> TrainingFacts | None:
    facts = own.get("training")
    if facts is None:
        return None
    try:
        return TrainingFacts(**facts)
    except TypeError:
        raise FormatError(
            "the facts about training are incomplete or damaged", place="$.model.jeton.training"
        ) from None
