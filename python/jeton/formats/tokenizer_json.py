"""`tokenizer.json`, the format of Hugging Face `tokenizers`, and Jeton's native format.

HF reads the files that Jeton writes, and gives the same ids as Jeton. HF rejects unknown top-level keys but ignores
unknown keys of ``model``, so Jeton's extensions (training facts, the name of the pattern, features that HF lacks) are
in ``model.jeton``. Files without ``model.jeton`` load, too. A file with an unsupported component is rejected, and the
error names it.

HF differs from Jeton on one kind of file: at character level without an unknown token, HF drops unknown characters,
while Jeton raises an error.

The core reads and writes the two large members, ``model.vocab`` and ``model.merges``.
"""

from __future__ import annotations

import json

from .. import _core
from ..definition import Bpe, Definition, Pieces, TrainingFacts, Unigram, WordLevel, WordPiece
from ..errors import ConfigError, FormatError, JetonError, LossyConversionWarning, UnsupportedFeatureError, keyword
from ..tokenizer import Tokenizer
from ..tokens.added import (
    FLAGS,
    AddedToken,
    added_tokens,
    model_entries,
    token_of_json,
    with_added_tokens,
)
from ..tokens.kinds import BYTE, ENDS_WORD, UNREACHABLE, UNUSED
from ..util.record import replace
from .error_context import MAX_LOSSES
from .hf_parts import NORMALIZERS, PipelineJson, read_parts, write_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any, TypeVar

    from ..definition import Model

    JSON = dict[str, Any]
    _T = TypeVar("_T")

__all__ = [
    "check_unreachable",
    "from_bytes",
    "read",
    "read_parsed",
    "read_with_facts",
    "render",
    "stages_of",
    "to_bytes",
    "write",
    "written_members",
]

FORMAT = "tokenizer.json"
STAGES = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_TRANSIENT = ("seconds", "log")  # facts of training that are not written, so that equal tokenizers give equal files


# ── writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def write(tok: Tokenizer, path: str | os.PathLike[str], accept_loss: Collection[str]) -> None:
    """Writes the file, atomically."""
    from ..util.atomic import write_atomically

    data = render(tok, accept_loss)
    with write_atomically(path, streams=True) as file:
        file.write(data)


def to_bytes(tok: Tokenizer) -> bytes:
    """Returns the content of a file for Jeton only. It can have features that HF lacks, without a warning."""
    return render(tok, None)


def to_pickle(tok: Tokenizer) -> bytes:
    """Like `to_bytes`, but omits the merges if they follow from ranks or scores. `from_bytes` reads the output."""
    return render(tok, None, implied=False)


def render(tok: Tokenizer, accept_loss: Collection[str] | None, *, implied: bool = True) -> bytes:
    """Returns the content of the file.

    Args:
        tok: the tokenizer.
        accept_loss: names of features whose loss in HF the caller accepts; None accepts all losses.
        implied: whether to write merges that follow from ranks or scores; Jeton can omit such merges, HF needs them.

    Raises:
        UnsupportedFeatureError: HF would give other ids, and the loss was not accepted by name.
    """
    definition = tok.definition
    parts = write_parts(definition, _free_mark(tok), tok.id_to_token, _contents(tok))
    spelling: dict[str, Any] = {"byte_alphabet": definition.is_byte_level, "end_of_word": parts.mark}
    model, members = _write_model(tok, parts, spelling, implied=implied)
    if accept_loss is not None:
        _refuse_losses(parts.losses, accept_loss)
    model["jeton"] = _own_facts(definition, parts) | _own_columns(tok, parts)
    top = {
        "version": "1.0",
        "truncation": definition.truncation,
        "padding": definition.padding,
        "added_tokens": [_added_token(id, token) for id, token in added_tokens(tok._core).items()],
        "normalizer": parts.normalizer,
        "pre_tokenizer": parts.pre_tokenizer,
        "post_processor": parts.post_processor,
        "decoder": parts.decoder,
    }
    parts_of_file = [_dumps(top)[:-1].encode(), b',"model":', _dumps(model)[:-1].encode()]
    for name, member in members.items():
        parts_of_file += [f',"{name}":'.encode(), member]
    return b"".join([*parts_of_file, b"}}\n"])


def _refuse_losses(losses: Mapping[str, str], accept_loss: Collection[str]) -> None:
    """Rejects losses that the caller has not accepted by name, and warns about the accepted ones."""
    for name, why in losses.items():
        if name not in accept_loss:
            raise UnsupportedFeatureError(
                f"tokenizer.json does not support {why}; "
                f"{keyword('accept_loss', list(losses), most=MAX_LOSSES)} writes a file that records the loss, and "
                "that only Jeton reads exactly",
                format=FORMAT,
                feature=name,
            )
    import warnings

    for name, why in losses.items():
        warnings.warn(f"{name}: HF tokenizers will not give the same ids ({why})", LossyConversionWarning, stacklevel=5)


def _write_model(
    tok: Tokenizer, parts: PipelineJson, spelling: dict[str, Any], *, implied: bool
) -> tuple[JSON, dict[str, bytes]]:
    """Returns the small fields of the model, and its large members as JSON in UTF-8."""
    model = tok.definition.model
    if any(part["type"] == "SentencePiece" for part in tok.definition.normalizer):
        parts.losses.update(_sentencepiece_losses(tok))
    if _with_ascii_space(tok):
        parts.losses["added_tokens"] = "added tokens that take ASCII white space only"
    if isinstance(model, Unigram):
        unk = tok.token_to_id(model.unk_token) if model.unk_token else None
        written = tok._core.pieces_json(unk)
        if written is None:
            raise UnsupportedFeatureError(
                "tokenizer.json lists the pieces of a Unigram model by id, and this vocabulary has holes",
                format=FORMAT,
                feature="holes",
            )
        pieces, is_exact = written
        if not is_exact and not model.single_precision:
            parts.losses["scores"] = "scores that HF's number parser cannot reproduce"
        return _fields(tok, parts.mark), {"vocab": pieces.encode()}
    unk = tok.token_to_id(model.unk_token) if model.unk_token and model.unk_token in tok else None
    listed = tok.definition.hf_vocab_size
    num_listed = tok.vocab_size if listed is None else listed
    vocab, clashes, exposed = tok._core.vocab_json(**spelling, unk=unk, num_listed=num_listed)
    if clashes:
        names = ", ".join(repr(tok.id_to_token(id)) for id in clashes[:5])
        parts.losses["special_tokens"] = f"added tokens that are spelled like other entries: {names}"
    if exposed := [id for id in exposed if _is_made_of_text(model, tok.id_to_token(id))]:
        names = ", ".join(repr(tok.id_to_token(id)) for id in exposed[:5])
        parts.losses["added_tokens"] = f"added tokens that the model does not produce from text: {names}"
    members = {"vocab": vocab}
    if isinstance(model, Bpe) and (implied or model.ranks == "merges"):
        members["merges"] = tok._core.merges_json(**spelling)
    elif isinstance(model, Pieces) and implied:
        merges, tied = tok._core.piece_merges_json()
        members["merges"] = merges.encode()
        if tied is not None:
            names = " and ".join(repr(tok.id_to_token(id)) for id in tied)
            parts.losses["scores"] = (
                f"pieces with equal scores, {names}, of which the leftmost in the text is merged first"
            )
    fields = _fields(tok, parts.mark)
    if fields["type"] == "WordLevel" and not isinstance(model, WordLevel):
        parts.losses["model"] = f"SentencePiece's model of {model.type.lower()}"
    return fields, members


def _fields(tok: Tokenizer, mark: str) -> JSON:
    """Returns HF's model without its vocabulary and merges: its type and small fields."""
    model = tok.definition.model
    match model:
        case Unigram():
            unk = tok.token_to_id(model.unk_token) if model.unk_token else None
            return {"type": "Unigram", "unk_id": unk, "byte_fallback": model.byte_fallback}
        case Bpe():
            suffix = model.end_of_word and model.end_of_word_style == "suffix"
            return {
                "type": "BPE",
                "dropout": None,
                "unk_token": model.unk_token,
                "continuing_subword_prefix": model.continuing_subword_prefix,
                "end_of_word_suffix": mark if suffix else None,
                "fuse_unk": model.fuse_unk,
                "byte_fallback": model.byte_fallback,
                "ignore_merges": model.whole_first,
            }
        case WordPiece():
            return {
                "type": "WordPiece",
                "unk_token": model.unk_token,
                "continuing_subword_prefix": model.continuing_subword_prefix,
                "max_input_chars_per_word": model.max_chars_per_word,
            }
        case Pieces():
            return {
                "type": "BPE",
                "unk_token": model.unk_token,
                "fuse_unk": True,
                "byte_fallback": model.byte_fallback,
            }
    return {"type": "WordLevel", "unk_token": model.unk_token}


def _is_made_of_text(model: Model, token: str) -> bool:
    """Tests whether HF's model can encode a text to `token`, which is an entry but not the result of a merge."""
    return not isinstance(model, Bpe) or model.whole_first or len(token) == 1


def _sentencepiece_losses(tok: Tokenizer) -> dict[str, str]:
    """Returns the differences between HF's and SentencePiece's models: name -> description."""
    model, losses = tok.definition.model, {}
    if not all(token.special for token in tok.added_tokens.values()):
        losses["user_defined"] = "user-defined pieces (HF cuts the text at them, and each part gets a dummy prefix)"
    if tok._core.ids_of(UNUSED):
        losses["unused"] = "unused pieces"
    if isinstance(model, Unigram):
        if model.single_precision:
            losses["single_precision"] = "scores that are added with 32 bits, which can change the best segmentation"
        if model.byte_fallback:
            losses["byte_fallback"] = "byte pieces that text does not match (HF reads the text '<0x0A>' as one)"
    return losses


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _added_token(id: int, token: AddedToken) -> JSON:
    flags = {name: getattr(token, name) for name in FLAGS}
    return {"id": id, "content": token.content, **flags, "special": token.special}


def _contents(tok: Tokenizer) -> list[tuple[str, bool]]:
    """Returns the content of each added token, and whether it is normalized."""
    return [(content, bool(bits & FLAGS["normalized"])) for _, content, _, bits in tok._core.added_tokens()]


def _free_mark(tok: Tokenizer) -> str:
    """Returns the end-of-word mark, which the file appends to tokens that end a word; ``""`` if the model has no mark.

    The mark is the model's suffix if the decoder matches the suffix. The mark is also the model's suffix if every token
    with the suffix at its end is the end of a word. In all other cases, the mark is a private-use character that does
    not occur in any token.
    """
    model = tok.definition.model
    mark = model.end_of_word if isinstance(model, Bpe) else None
    if mark is None or not isinstance(model, Bpe):
        return ""
    if model.end_of_word_style == "suffix" and tok.definition.decoder is not None:
        return mark  # components of the decoder match the suffix, so it must stay
    from operator import methodcaller

    contents = [tok._core.content(id) or b"" for id in tok._core.ids() if tok._core.kind(id) != ENDS_WORD]
    if model.end_of_word_style == "suffix" and not any(map(methodcaller("endswith", mark.encode()), contents)):
        return mark
    used = b"".join(tok._core.content(id) or b"" for id in tok._core.ids())
    for code in range(0x10FFFD, 0x100000, -1):  # descending, because icon fonts use the first private-use code points
        if chr(code).encode() not in used:
            return chr(code)
    raise ConfigError("the vocabulary uses every private-use character; none is left for the end of a word")


def _own_facts(definition: Definition, parts: PipelineJson) -> JSON:
    from dataclasses import fields

    facts: JSON = {"definition": definition.to_json()}
    if parts.mark:
        facts["end_of_word"] = parts.mark
    if definition.reads_added:
        facts["reads_added"] = True
    if definition.roles:
        facts["roles"] = dict(definition.roles)
    if definition.chat_template is not None:
        facts["chat_template"] = definition.chat_template
    if definition.config:  # as a string, because the core's JSON parser rounds large integers
        facts["config"] = json.dumps(definition.config, ensure_ascii=False)
    if definition.training is not None:
        training = {f.name: getattr(definition.training, f.name) for f in fields(definition.training)}
        facts["training"] = {name: value for name, value in training.items() if name not in _TRANSIENT}
    if parts.losses:
        facts["losses"] = sorted(parts.losses)
    return facts


def _with_ascii_space(tok: Tokenizer) -> list[int]:
    return [id for id, token in added_tokens(tok._core).items() if token.ascii_space]


def _own_columns(tok: Tokenizer, parts: PipelineJson) -> JSON:
    """Returns the vocabulary's columns for which HF's format has no field: scores, kinds, two flags of added tokens."""
    columns: JSON = {}
    model = tok.definition.model
    is_single = isinstance(model, Unigram) and model.single_precision
    if isinstance(model, Pieces) or is_single or "scores" in parts.losses:  # HF's fields do not represent these scores
        columns["scores"] = tok._core.scores()
    if entries := model_entries(tok._core):
        columns["entries"] = entries
    if ids := _with_ascii_space(tok):
        columns["ascii_space"] = ids
    kinds = {str(kind): ids for kind in (UNUSED, BYTE) if (ids := tok._core.ids_of(kind))}
    return {**columns, "kinds": kinds} if kinds else columns


# ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def from_bytes(data: bytes) -> Tokenizer:
    """Reads the output of `to_bytes` or `to_pickle`."""
    return read(data, source="bytes")


def read(data: bytes, *, source: str) -> Tokenizer:
    """Reads a tokenizer from the content of a file.

    Raises:
        FormatError: the data is not JSON, or contradictory; the error has the JSON path.
        UnsupportedFeatureError: a component is not supported; the error names it.
    """
    return read_with_facts(data, source=source)[0]


def read_with_facts(data: bytes, *, source: str) -> tuple[Tokenizer, JSON, int]:
    """Like `read`; also returns the JSON of the stages as in the file, and the number of entries of the model."""

    def facts() -> tuple[Tokenizer, JSON, int]:
        rest, spelled = _core.SpelledVocabulary.from_tokenizer_json(data)
        top = json.loads(rest)
        stages = {name: top.get(name) for name in STAGES} if isinstance(top, dict) else {}
        return _read(top, spelled), stages, len(spelled)

    return _reported(facts, source)


def read_parsed(top: JSON, spelled: _core.SpelledVocabulary, *, source: str, drops_unknown: bool = False) -> Tokenizer:
    """Reads a tokenizer as `read` does, but from the parsed content.

    Args:
        top: the file, without the vocabulary and the merges of its model.
        spelled: the vocabulary and the merges.
        source: name of the file in errors.
        drops_unknown: whether BPE without an unknown token omits unknown characters, as in HF.
    """
    return _reported(lambda: _read(top, spelled, drops_unknown=drops_unknown), source)


def stages_of(top: JSON, *, byte_level_model: bool) -> JSON:
    """Converts a file's stages to `Definition` fields and ``is_byte_level``, for models without end-of-word suffix."""
    return read_parts(top, byte_level_model=byte_level_model, suffix="")


def written_members(tok: Tokenizer) -> tuple[bytes, bytes | None]:
    """Returns ``model.vocab`` and ``model.merges`` in the JSON that HF writes; merges are None if there are none."""
    if isinstance(tok.definition.model, Unigram):  # `render` writes numbers that HF's parser reads as the same scores
        pieces, _ = tok._core.pieces_json(None) or ("[]", True)
        names = [piece for piece, _ in json.loads(pieces)]
        return _dumps(list(zip(names, tok._core.scores(), strict=False))).encode(), None
    parts = PipelineJson(None, None, None, None, _free_mark(tok), {})
    spelling: dict[str, Any] = {"byte_alphabet": tok.definition.is_byte_level, "end_of_word": parts.mark}
    _, members = _write_model(tok, parts, spelling, implied=True)
    return members["vocab"], members.get("merges")


def _reported(read: Callable[[], _T], source: str) -> _T:
    """Calls a function; adds the name of the file and the location in the file to the function's errors."""
    try:
        return read()
    except UnsupportedFeatureError as error:
        raise UnsupportedFeatureError(
            f"{source}: {error.marked}", format=FORMAT, place=error.place, feature=error.feature
        ) from None
    except FormatError as error:
        raise FormatError(f"{source}: {error.marked}", format=FORMAT, place=error.place) from None
    except ConfigError as error:  # components or entries are contradictory or unsupported
        place = _PLACES.get(error.stage, "$.model")
        if error.feature is not None:
            raise UnsupportedFeatureError(
                f"{source}: {error.marked}", format=FORMAT, place=place, feature=error.feature
            ) from None
        raise FormatError(f"{source}: {error.marked}", format=FORMAT, place=place) from None
    except JetonError as error:
        raise FormatError(f"{source}: {error.marked}", format=FORMAT, place="$.model") from None


_PLACES = {  # stage → JSON path
    None: "$.model",
    "model": "$.model",
    "normalizer": "$.normalizer",
    "pretokenizer": "$.pre_tokenizer",
    "template": "$.post_processor",
    "decoder": "$.decoder",
}


def _read(top: JSON, spelled: _core.SpelledVocabulary, *, drops_unknown: bool = False) -> Tokenizer:
    model = top.get("model")
    if not isinstance(model, dict):
        raise FormatError("not a tokenizer.json: it has no model", place="$.model")
    for name in ("truncation", "padding"):
        if not isinstance(top.get(name), dict | None):
            raise FormatError(f"{name} is not an object", place=f"$.{name}")
    own = model.get("jeton") or {}
    if not isinstance(own, dict):
        raise FormatError("Jeton's own facts are not an object", place="$.model.jeton")
    added, entries = _added_tokens(top, spelled, own)
    definition, mark = _own_definition(own) if own else _their_definition(top, model, spelled)
    if drops_unknown and isinstance(definition.model, Bpe) and definition.model.unk_token is None:
        definition = replace(definition, model=replace(definition.model, drop_unknown=True))
    follow = any(token.special and id >= len(spelled) and spelled.id(token.content) is None for id, token in added)
    definition = replace(
        definition,
        truncation=top.get("truncation"),
        padding=top.get("padding"),
        hf_vocab_size=len(spelled) if follow else None,
    )
    _check_marks([token for id, token in added if id in entries], mark)
    vocabulary = spelled.read(
        byte_alphabet=definition.is_byte_level,
        end_of_word=mark,
        added={id: token.content for id, token in added},
    )
    vocabulary = with_added_tokens(vocabulary, added, entries)
    if own:
        vocabulary = _with_columns(vocabulary, own)
    tok = Tokenizer(definition, vocabulary)
    check_unreachable(tok)
    names = {id: token.content for id, token in added}

    def token(id: int) -> str:
        return names[id] if id in names else tok.id_to_token(id)  # `spelling` is imported by the latter

    if own and not (_same_model(tok, mark, model) and (own.get("losses") or _same_stages(tok, mark, top, token))):
        raise FormatError(
            "the pipeline is not the one that Jeton recorded in $.model.jeton: the file was changed after it was "
            "saved; undo the change, or delete $.model.jeton to load the file as it is",
            place="$.model.jeton",
        )
    return tok


def check_unreachable(tok: Tokenizer) -> None:
    """Rejects components after ByteLevel that produce characters outside the byte alphabet; HF drops such characters.

    Some components produce characters outside the byte alphabet only in rare texts. These components are rejected if
    the vocabulary has an entry with a character outside the byte alphabet, and accepted otherwise.
    """
    if not tok.definition.is_byte_level:
        return
    types = [part["type"] for part in (*tok.definition.normalizer, *tok.definition.pretokenizer)]
    behind = types[types.index("ByteLevel") + 1 :] if "ByteLevel" in types else []
    rewriting = [name for name in behind if name == "Metaspace" or (name in NORMALIZERS and name != "ByteLevel")]
    if outside := [name for name in rewriting if name in ("Metaspace", "NFD", "NFKD")]:
        raise UnsupportedFeatureError(
            f"{outside[0]} after ByteLevel is not supported: it produces characters outside the byte alphabet",
            place="$.pre_tokenizer" if outside[0] == "Metaspace" else "$.normalizer",
            feature=outside[0],
        )
    if rewriting and (ids := tok._core.ids_of(UNREACHABLE)):
        raise UnsupportedFeatureError(
            f"{tok.id_to_token(ids[0])!r} is outside the byte alphabet, and {rewriting[0]} after ByteLevel, which may "
            "produce it, is not supported",
            place="$.pre_tokenizer",
            feature=rewriting[0],
        )


def _check_marks(entries: Iterable[AddedToken], mark: str) -> None:
    """Rejects added tokens that are also entries of the model and end with the end-of-word mark."""
    for token in entries:
        if mark and not token.special and token.content.endswith(mark):
            raise UnsupportedFeatureError(
                f"the added token {token.content!r:.60} is also an entry with the end-of-word suffix, which is not "
                "supported",
                place="$.added_tokens",
                feature="added_tokens",
            )


def _with_columns(vocabulary: _core.Vocabulary, own: JSON) -> _core.Vocabulary:
    try:
        for kind, ids in own.get("kinds", {}).items():
            if int(kind) not in (UNUSED, BYTE):
                raise ValueError
            vocabulary = vocabulary.with_kind(int(kind), ids)
        return vocabulary.with_scores(own["scores"]) if "scores" in own else vocabulary
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise FormatError("the columns of the vocabulary are damaged", place="$.model.jeton") from None


def _same_model(tok: Tokenizer, mark: str, model: JSON) -> bool:
    """Tests whether ``model.jeton`` agrees with the type and the small fields of HF's model; see `_same_stages`."""
    return all(model.get(name) == value for name, value in _fields(tok, mark).items())


def _same_stages(tok: Tokenizer, mark: str, top: JSON, token: Callable[[int], str]) -> bool:
    """Tests whether ``model.jeton`` agrees with HF's stages around the model.

    It can disagree if the file was edited; such a file would give different ids in the two libraries.
    """
    expected = write_parts(tok.definition, mark, token, _contents(tok))
    parts = {name: getattr(expected, name) for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder")}
    return all(top.get(name) == part for name, part in parts.items())


def _their_definition(top: JSON, model: JSON, spelled: _core.SpelledVocabulary) -> tuple[Definition, str]:
    """Converts a file without ``model.jeton`` to a definition, and returns it with the end-of-word suffix."""
    kind = _model_type(model, spelled)
    suffix = _string(model, "end_of_word_suffix") or "" if kind == "BPE" else ""
    contents = [token["content"] for token in top.get("added_tokens") or ()]
    is_inside = spelled.holds_inside(suffix) or any(suffix in content for content in contents)
    is_inside = is_inside or any(not text.isascii() and _core.read_bytes(text) is not None for text in contents)
    parts = read_parts(top, byte_level_model=kind == "BPE", suffix=suffix, is_inside=is_inside)
    is_byte_level = parts.pop("is_byte_level")
    unk = _string(model, "unk_token")
    read: Model
    match kind:
        case "BPE":
            if not spelled.has_merges:
                raise FormatError("a BPE model needs a list of merges", place="$.model.merges")
            if model.get("dropout"):
                raise UnsupportedFeatureError(
                    f"dropout={model['dropout']} in the file would make its ids random; remove it from the file, and "
                    "pass encode(dropout=…)",
                    place="$.model.dropout",
                    feature="dropout",
                )
            read = Bpe(
                level="byte" if is_byte_level else "char",
                whole_first=_flag(model, "ignore_merges"),
                end_of_word=suffix or None,
                end_of_word_style="suffix" if suffix else "symbol",
                unk_token=unk,
                fuse_unk=_flag(model, "fuse_unk"),
                byte_fallback=_flag(model, "byte_fallback"),
                continuing_subword_prefix=_string(model, "continuing_subword_prefix") or None,
            )
        case "WordPiece":
            longest = model.get("max_input_chars_per_word", 100)
            if isinstance(longest, bool) or not isinstance(longest, int) or not 0 <= longest < 1 << 32:
                raise FormatError(
                    "max_input_chars_per_word is not an integer from 0", place="$.model.max_input_chars_per_word"
                )
            prefix = _string(model, "continuing_subword_prefix")
            read = WordPiece("[UNK]" if unk is None else unk, "##" if prefix is None else prefix, longest)
        case "WordLevel":
            read = WordLevel("<unk>" if unk is None else unk)
        case "Unigram":
            read = Unigram(_unigram_unk(model, spelled), byte_fallback=_flag(model, "byte_fallback"))
        case _:
            raise UnsupportedFeatureError(
                f"the model {kind!r} is not supported", place="$.model.type", feature=str(kind)
            )
    return Definition(model=read, **parts), suffix


def _model_type(model: JSON, spelled: _core.SpelledVocabulary) -> str:
    """Returns the type of the model; it is inferred for old files, which do not state it."""
    if "type" in model:
        if not isinstance(model["type"], str):
            raise FormatError(f"the type of the model is {model['type']!r:.40}, not a string", place="$.model.type")
        return model["type"]
    if spelled.has_merges:
        return "BPE"
    if spelled.has_scores:
        return "Unigram"
    return "WordPiece" if "continuing_subword_prefix" in model else "WordLevel"


def _unigram_unk(model: JSON, spelled: _core.SpelledVocabulary) -> str | None:
    id = model.get("unk_id")
    if id is None:
        return None
    if isinstance(id, bool) or not isinstance(id, int) or not 0 <= id < len(spelled):
        raise FormatError(
            f"unk_id {id!r:.40} is not an id of the vocabulary, which has {len(spelled)} entries",
            place="$.model.unk_id",
        )
    return spelled.token(id)


def _flag(model: JSON, name: str) -> bool:
    value = model.get(name)
    if value is not None and not isinstance(value, bool):
        raise FormatError(f"{name} is neither true nor false", place=f"$.model.{name}")
    return bool(value)


def _string(model: JSON, name: str) -> str | None:
    value = model.get(name)
    if value is not None and not isinstance(value, str):
        raise FormatError(f"{name} is not a string", place=f"$.model.{name}")
    return value


def _added_tokens(
    top: JSON, spelled: _core.SpelledVocabulary, own: JSON
) -> tuple[list[tuple[int, AddedToken]], set[int]]:
    """Reads ``added_tokens``. Returns (id, token) pairs, and the ids of added tokens that are also in the model."""
    tokens = top.get("added_tokens") or []
    if not isinstance(tokens, list):
        raise FormatError("added_tokens is not a list", place="$.added_tokens")
    own_entries, ascii_space = _own_ids(own, "entries"), _own_ids(own, "ascii_space")
    added: list[tuple[int, AddedToken]] = []
    entries: set[int] = set()
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
        in_vocab = spelled.id(content)
        if in_vocab is not None and in_vocab != id and "special_tokens" not in own.get("losses", ()):
            raise FormatError(f"{content!r} has id {id} here and {in_vocab} in model.vocab", place=f"{place}.id")
        if content in seen:
            raise FormatError(f"{content!r} is added twice", place=place)
        seen.add(content)
        if in_vocab is None and not own:
            # HF ignores the id of a token that is not in model.vocab, and assigns the next id.
            given = max(len(spelled), highest + 1)
            if id != given:
                if spelled.holds(id) or any(id == other for other, _ in added):
                    raise FormatError(f"{content!r} has the id of another token, {id}", place=f"{place}.id")
                raise UnsupportedFeatureError(
                    f"{content!r} has id {id}, but it is not in model.vocab, so HF tokenizers would assign {given}",
                    place=f"{place}.id",
                    feature="id",
                )
        highest = max(highest, id)
        one = token_of_json(content, bool(token.get("special")), token)
        added.append((id, replace(one, ascii_space=True) if id in ascii_space else one))
        if id in own_entries if own else in_vocab is not None:
            entries.add(id)
    return added, entries


def _own_ids(own: JSON, name: str) -> set[int]:
    """Reads the list called `name` in ``model.jeton``, and returns its items: ids of added tokens."""
    ids = own.get(name, [])
    if not isinstance(ids, list) or not all(isinstance(id, int) for id in ids):
        raise FormatError("the columns of the vocabulary are damaged", place=f"$.model.jeton.{name}")
    return set(ids)


def _own_definition(own: JSON) -> tuple[Definition, str]:
    """Reads definition and end-of-word mark from ``model.jeton``."""
    mark = own.get("end_of_word", "")
    roles = own.get("roles", {})
    try:
        if not isinstance(mark, str) or not all(isinstance(name, str) for pair in roles.items() for name in pair):
            raise TypeError
        training = _training(own)
        definition = Definition.from_json(
            own["definition"],
            roles=roles,
            training=training,
            chat_template=own.get("chat_template"),
            config=_own_config(own),
            reads_added=own.get("reads_added") is True,
        )
    except FormatError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError):
        raise FormatError("Jeton's own facts are incomplete or damaged", place="$.model.jeton") from None
    return definition, mark


def _own_config(own: JSON) -> JSON:
    if "config" not in own:
        return {}
    try:
        config = json.loads(own["config"])
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(config, dict):
        raise TypeError("the configuration is not an object")
    return config


def _training(own: JSON) -> TrainingFacts | None:
    facts = own.get("training")
    if facts is None:
        return None
    try:
        return TrainingFacts(**facts)
    except TypeError:
        raise FormatError(
            "the facts about training are incomplete or damaged", place="$.model.jeton.training"
        ) from None
