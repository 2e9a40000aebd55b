"""Conversion of Hugging Face's components to SentencePiece's models, for the writer of `.model` files.

SentencePiece has one normalizer, no pre-tokenizer, and pieces with scores. `converted` finds a `.model` with equal ids:
it derives the options of the normalizer from the components around the model, and the scores from the merges. A feature
without an equivalent in SentencePiece is refused, or reported as a loss.

**Merges as scores.** SentencePiece's BPE merges two adjacent symbols if their concatenation is a piece; the highest
score comes first, and among equal scores the leftmost pair. A list of merges gives the pairs explicitly; the lowest
rank comes first. Either way the priority depends on the pair only. So the symbols inside the span of a piece p are
merged in any text as if p were the whole text, until a merge crosses an edge of the span. If two adjacent symbols
concatenate to p in some text, no merge has crossed an edge, and the merges inside the span are the first merges of the
text p. The next merge of the text p joins these two symbols, so this pair is the last merge of p. Hence at most one
pair is ever merged to p: under the scores, this pair is s(p), the last merge of p; under the list of merges, it is
m(p). Under the scores, no other pair that concatenates to p is ever adjacent.

Give each piece p the score -rank(m(p)). If p never results from a merge under the list, give p a score below all of
these scores. Scores and list give equal ids for all texts if

1. s(p) = m(p) for each piece p that results from a merge under the scores;
2. both methods start from the same symbols: each character of a piece is a piece itself, and no merge contains a byte
   token or an added token.

The proof is by induction over the merges of a text. Suppose that both methods have made the same merges so far. Each
adjacent pair that the scores can merge is s(p) of a piece p, and so by (1) a merge of the list. Conversely, each
adjacent pair that the list can merge concatenates to a piece, so the scores can merge it, too. So both methods have the
same candidates, and both choose the same candidate, because the scores descend as the ranks ascend.

The core computes all s(p) and m(p) (`merge_trees`), and `_check_merges` compares them. The score of a piece is its
negative position in the order of these ranks, which a 32-bit float represents exactly. Lists that contain every split
of a piece into two other pieces, as Hugging Face's converter writes them, need no special case.

Source: google/sentencepiece src/bpe_model.cc, src/normalizer.cc; huggingface/tokenizers models/bpe, normalizers,
pre_tokenizers/metaspace.rs (facts). Left out: BPE of bytes, WordPiece and WordLevel, which SentencePiece lacks.
"""

from __future__ import annotations

import json

from .. import _core
from ..definition import Bpe, Definition, Pieces, Unigram
from ..errors import UnsupportedFeatureError
from ..tokenizer import Tokenizer
from ..tokens.added import AddedToken, model_entries, with_added_tokens
from ..tokens.kinds import BYTE, TOKEN
from ..util.record import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..definition import Component

__all__ = ["FORMAT", "converted", "is_sentencepiece", "unsupported"]

FORMAT = "sentencepiece"
SPACE = "▁"
NO_PART = (1 << 32) - 1  # in `merge_trees`, the value of both parts if an entry is not the result of any merge
_BYTES = {f"<0x{byte:02X}>".encode() for byte in range(256)}
_LINES = ("[^\\n]+|[\\n]+", "[^\n]+|[\n]+")  # Gemma 4's pattern that splits at newlines, in its two spellings
# All characters with the property White_Space, except the space. Hugging Face's components split at each of them.
_WHITE_SPACE = "\t\n\v\f\r\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029"
_WHITE_SPACE += "\u202f\u205f\u3000"
_DEFAULT_ROLES = {"bos": "<s>", "eos": "</s>", "pad": "<pad>"}  # spellings by which SentencePiece finds these pieces


def unsupported(feature: str, what: str) -> UnsupportedFeatureError:
    """Returns the error for a feature that a `.model` cannot represent."""
    return UnsupportedFeatureError(f"a SentencePiece model cannot hold {what}", format=FORMAT, feature=feature)


def is_sentencepiece(definition: Definition) -> bool:
    """Tests whether the stages and the model are SentencePiece's own, so that there is nothing to convert."""
    model = definition.model
    is_own = not isinstance(model, Bpe) and not (isinstance(model, Unigram) and not model.single_precision)
    stages = (definition.normalizer, definition.decoder or ())
    return is_own and all([part["type"] for part in stage] == ["SentencePiece"] for stage in stages)


def converted(tok: Tokenizer, losses: dict[str, str]) -> Tokenizer:
    """Returns the tokenizer with SentencePiece's components.

    Args:
        tok: the tokenizer.
        losses: filled with the differences that a caller can accept: name -> description.

    Raises:
        UnsupportedFeatureError: SentencePiece lacks this type of model, or would merge differently.
    """
    definition = tok.definition
    model = definition.model
    if not isinstance(model, (Bpe, Pieces, Unigram)):
        raise unsupported("model", f"a model of the type {model.type}")
    if isinstance(model, Bpe):
        _check_bpe(model)
    options, splits = _normalizer(tok, losses)
    unk = _unknown(tok, losses)
    vocabulary = _vocabulary(tok, unk, options, losses)
    new_model: Pieces | Unigram
    if isinstance(model, Unigram):
        if not model.single_precision:
            losses["single_precision"] = "scores that are added with 64 bits, which can change the best segmentation"
        if model.byte_fallback and not model.single_precision:
            losses["byte_fallback"] = "byte pieces that text matches (HF reads the text '<0x0A>' as one)"
        new_model = replace(model, unk_token=unk, single_precision=True)
    else:
        new_model = Pieces(unk, byte_fallback=model.byte_fallback)
    _check_splits(vocabulary, splits)
    special = {content for _, content, is_special in vocabulary.added() if is_special}
    roles = {role: token for role, token in _DEFAULT_ROLES.items() if token in special} | dict(definition.roles)
    new = Definition(
        new_model,
        normalizer=({"type": "SentencePiece", **options},),
        decoder=(_decoder(definition, options, unk, special, losses),),
        template=definition.template,
        roles=roles,
        chat_template=definition.chat_template,
    )
    result = Tokenizer(new, vocabulary)
    if isinstance(model, Bpe):
        _check_merges(tok, result)
    return result


# ── text before the model ───────────────────────────────────────────────────────────────────────────────────────────


def _normalizer(tok: Tokenizer, losses: dict[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Returns the options of the normalizer, and a list of what the pre-tokenizer splits at: "spaces", "lines"."""
    normalizer, pretokenizer = tok.definition.normalizer, tok.definition.pretokenizer
    if [part["type"] for part in normalizer] == ["SentencePiece"] and not pretokenizer:
        return {name: value for name, value in normalizer[0].items() if name != "type"}, []
    charsmap = None
    if normalizer and normalizer[0]["type"] == "Precompiled":
        charsmap, normalizer = normalizer[0]["precompiled_charsmap"], normalizer[1:]
        losses["precompiled_charsmap"] = "a character map that is applied to grapheme clusters, as by HF"
    for stage, parts in (("normalizer", normalizer), ("pretokenizer", pretokenizer)):
        for part in parts:
            if not _name(part):
                raise unsupported(stage, f"the {stage.replace('pret', 'pre-t')} {part['type']}, with these options")
    before, after = [*map(_name, normalizer)], [*map(_name, pretokenizer)]
    splits = ["lines"] if "lines" in after else []
    # if the normalizer escapes the spaces, a split at spaces has no effect
    after = [name for name in after if name != "lines" and not (name == "split" and "escape" in before)]
    scheme = _scheme(pretokenizer[-1]) if after[-1:] == ["metaspace"] else None
    prefix, extra = scheme != "never", False
    match before, after:
        case (["prepend", "escape"] | ["escape", "prepend"], []):
            pass
        case (["escape"], []):
            prefix = False
        case ([], ["metaspace"]):
            if prefix:
                losses["pretokenizer"] = f"a Metaspace that adds no {SPACE} before a text that begins with a space"
        case ([], ["words", "metaspace"]) | (["strip", "collapse"], ["metaspace"]):
            extra = True
            if (kept := _kept_white_space(charsmap)) is not None:
                losses["pretokenizer"] = f"the removal of white space other than spaces, such as {kept!a}"
        case _:
            types = [part["type"] for part in (*normalizer, *pretokenizer)]
            raise unsupported("normalizer", f"this sequence of components: {', '.join(types) or 'none'}")
    if scheme is not None and pretokenizer[-1].get("split", True):
        splits.append("spaces")
    if scheme == "first" and tok.added_tokens:
        losses["added_tokens"] = f"a text after an added token without {SPACE} before it"
    options = {
        "precompiled_charsmap": charsmap,
        "add_dummy_prefix": prefix,
        "remove_extra_whitespaces": extra,
        "escape_whitespaces": True,
        "treat_whitespace_as_suffix": False,
    }
    return options, splits


def _name(part: Component) -> str:
    """Returns a short name for a component that SentencePiece's normalizer can replace; empty for other components."""
    pattern = part.get("pattern") or {}
    match part["type"]:
        case "Prepend" if part["prepend"] in (SPACE, " "):
            return "prepend"
        case "Replace" if (pattern.get("String"), part["content"]) == (" ", SPACE):
            return "escape"
        case "Replace" if (pattern.get("Regex"), part["content"]) == (" {2,}", SPACE):
            return "collapse"
        case "Strip" if part["strip_right"] and not part["strip_left"]:
            return "strip"
        case "Metaspace" if part.get("replacement") == SPACE:
            return "metaspace"
        case "Pattern" if part.get("name") == "whitespace":
            return "words"
        case "Pattern" if part.get("regex") in _LINES:
            return "lines"
        case "Split" if pattern.get("String") == " " and not part.get("invert"):
            return "split"
        case _:
            return ""


def _scheme(metaspace: Component) -> str:
    """Returns the ``prepend_scheme``; older files have ``add_prefix_space`` instead."""
    return str(metaspace.get("prepend_scheme") or ("always" if metaspace.get("add_prefix_space", True) else "never"))


def _kept_white_space(charsmap: str | None) -> str | None:
    """Returns a white-space character, or `▁`, that the character map neither replaces by a space nor removes."""
    chars: list[str] = [*_WHITE_SPACE, SPACE]
    if charsmap is None:
        return chars[0]
    rules = json.dumps([{"type": "Precompiled", "precompiled_charsmap": charsmap}])
    normalized = [text for text, _ in _core.normalize_texts(rules, chars, ())]
    for char, text in zip(chars, normalized, strict=True):
        if text.strip(" "):
            return char
    return None


def _check_splits(vocabulary: _core.Vocabulary, splits: Sequence[str]) -> None:
    """Rejects pieces that span a boundary between pretokens, because SentencePiece would merge across the boundary.

    Without byte fallback, a split at an unknown character is also rejected: SentencePiece would join the unknown
    characters on both sides of the boundary into one unknown token.
    """
    if not splits:
        return
    _, kinds, contents, _ = vocabulary.columns()
    for split, char in (("spaces", SPACE), ("lines", "\n")):
        if split in splits and BYTE not in kinds and char.encode() not in contents:
            raise unsupported("pretokenizer", f"a pre-tokenizer that splits at the unknown character {char!r}")
    for kind, content in zip(kinds, contents, strict=True):
        if kind != TOKEN:
            continue
        if "spaces" in splits and SPACE.encode() in content[1:]:
            raise unsupported(
                "pretokenizer", f"a Metaspace that splits before {SPACE} with the piece {content.decode()!r:.60}"
            )
        if "lines" in splits and b"\n" in content and content.strip(b"\n"):
            raise unsupported(
                "pretokenizer", f"a pattern that splits at line feeds with the piece {content.decode()!r:.60}"
            )


# ── pieces ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _unknown(tok: Tokenizer, losses: dict[str, str]) -> str:
    """Returns the token that becomes the unknown piece."""
    model = tok.definition.model
    unk = model.unk_token
    if unk is None and model.byte_fallback:  # type: ignore[union-attr]
        unk = next((token for token in (tok.roles.get("unk"), "<unk>") if token in tok.special_tokens), None)
    if unk is None:
        raise unsupported("unk_token", "a model without an unknown token")
    if unk not in tok.special_tokens:
        losses["unk_token"] = f"an unknown token that is not special, {unk!r:.60}"
    return unk


def _vocabulary(tok: Tokenizer, unk: str, options: Mapping[str, Any], losses: dict[str, str]) -> _core.Vocabulary:
    """Builds the pieces (control, unknown, user-defined, byte and normal pieces) with their scores."""
    core, model = tok._core, tok.definition.model
    added = dict(tok.added_tokens)
    _check_added(tok, added, unk, options, losses)
    ids, kinds, contents, _ = core.vocabulary().columns()
    unk_id = tok.token_to_id(unk)
    added.setdefault(unk_id, AddedToken(unk))
    rows = [(id, kind, content) for id, kind, content in zip(ids, kinds, contents, strict=True) if id not in added]
    if model.byte_fallback:  # type: ignore[union-attr]
        rows = [(id, BYTE if content in _BYTES else kind, content) for id, kind, content in rows]
    if isinstance(model, Bpe):
        scores = _scores(tok, [id for id, *_ in rows])
    else:
        known = core.scores()
        scores = dict(enumerate(known))
    base = _core.Vocabulary(
        [id for id, *_ in rows],
        [kind for _, kind, _ in rows],
        [content for *_, content in rows],
        (),
        [scores.get(id, 0.0) for id in range(tok.vocab_size)],  # indexed by id
    )
    is_special = {id: token.special or not _is_user_defined(token, options) for id, token in added.items()}
    return with_added_tokens(base, [(id, AddedToken(one.content, is_special[id])) for id, one in added.items()])


def _is_user_defined(token: AddedToken, options: Mapping[str, Any]) -> bool:
    """Tests whether an added token would be matched in the same way as a user-defined piece.

    SentencePiece matches user-defined pieces in the raw text, and adds no dummy prefix after them. A piece with spaces
    or `▁` is also matched in the normalized text.
    """
    flags = token.lstrip or token.rstrip or token.single_word
    plain = SPACE not in token.content and " " not in token.content
    return plain and not flags and not (options["add_dummy_prefix"] or options["remove_extra_whitespaces"])


def _check_added(
    tok: Tokenizer, added: Mapping[int, AddedToken], unk: str, options: Mapping[str, Any], losses: dict[str, str]
) -> None:
    model = tok.definition.model
    # SentencePiece's BPE splits at each user-defined piece; its Unigram can prefer a path that does not use the piece.
    differs = bool(options["precompiled_charsmap"]) or (isinstance(model, Unigram) and not model.single_precision)
    for token in added.values():
        if not token.special and (differs or not _is_user_defined(token, options)):
            losses["user_defined"] = (
                f"the added token {token.content!r:.60}, which is not special and cuts the text before it is normalized"
            )
        elif (token.lstrip or token.rstrip or token.single_word) or (token.special and token.normalized):
            losses["added_tokens"] = f"how the added token {token.content!r:.60} is matched (its flags)"
    if len({token.normalized for token in added.values() if not token.special}) > 1:
        losses["added_tokens"] = "added tokens of which some are matched in normalized text"
    made = [id for id in model_entries(tok._core) if added[id].special and added[id].content != unk]
    if made:
        losses["added_tokens"] = (
            f"the special token {added[made[0]].content!r:.60}, which the model also produces from text"
        )


def _scores(tok: Tokenizer, ids: list[int]) -> dict[int, float]:
    """Returns distinct scores, exact in 32 bits: the lower the rank of a piece's last merge, the higher its score."""
    ranks = {(left, right): rank for rank, (left, right, _) in reversed([*enumerate(tok._core.merges())])}
    last = _last_merges(tok)
    order = sorted(ids, key=lambda id: ranks.get(last[id], len(ranks)))  # stable, so ids break ties
    return {id: float(-place) for place, id in enumerate(order)}


def _last_merges(tok: Tokenizer) -> list[tuple[int, int]]:
    """Returns, for each id, the pair (left, right) that is merged to this id. The pair is the same in every text."""
    _, left, right, _ = (view.cast("B").cast("I").tolist() for view in tok._core.merge_trees())
    return [*zip(left, right, strict=True)]


def _check_bpe(model: Bpe) -> None:
    """Rejects BPE with an option that SentencePiece's BPE lacks. (A list of merges is allowed; it becomes scores.)"""
    if model.level == "byte" or model.ranks != "merges":
        raise unsupported("model", "byte-level BPE")
    if model.end_of_word is not None or model.continuing_subword_prefix is not None:
        raise unsupported("model", "BPE with an end-of-word suffix or a continuing_subword_prefix")
    if model.whole_first:
        raise unsupported("whole_first", "entries that are matched before merging (ignore_merges)")
    if not model.fuse_unk and not model.byte_fallback:
        raise unsupported("fuse_unk", "unknown characters as one token each (fuse_unk=False)")


def _check_merges(tok: Tokenizer, result: Tokenizer) -> None:
    """Checks that the scores give the same ids as the list of merges, by the conditions in the module's docstring."""
    ids, kinds, contents, _ = result._core.vocabulary().columns()
    pieces = {id: content.decode() for id, kind, content in zip(ids, kinds, contents, strict=True) if kind == TOKEN}
    chars = {piece for piece in pieces.values() if len(piece) == 1}
    for piece in pieces.values():
        if missing := set(piece) - chars:
            char = min(missing)
            raise unsupported("vocabulary", f"the piece {piece!r:.60}, because its character {char!r} is not a piece")
    for left, right, made in tok._core.merges():
        if not (left in pieces and right in pieces and made in pieces):
            what = " ".join(repr(tok.id_to_token(id))[:60] for id in (left, right))
            raise unsupported("merges", f"the merge {what}, which contains a byte token or an added token")
    before, after = _last_merges(tok), _last_merges(result)
    for id in pieces:
        if after[id][0] != NO_PART and after[id] != before[id]:
            what = " and ".join(repr(pieces[part])[:60] for part in after[id])
            raise unsupported("merges", f"these merges: any scores that reproduce their order would also join {what}")


# ── decoder ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _decoder(
    definition: Definition, options: Mapping[str, Any], unk: str, special: set[str], losses: dict[str, str]
) -> Component:
    names = [part["type"] for part in definition.decoder or ()]
    has_bytes = bool(definition.model.byte_fallback)  # type: ignore[union-attr]
    space = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
    bytes_too = [{"type": "ByteFallback"}] if has_bytes else []
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if options["add_dummy_prefix"] else []
    plain = [space, *bytes_too, {"type": "Fuse"}, *strip]
    if names == ["SentencePiece"] and definition.decoder is not None:
        return {name: value for name, value in definition.decoder[0].items() if name != "components"}
    if names == ["Metaspace"] and not has_bytes and definition.decoder is not None:
        is_equal = (_scheme(definition.decoder[0]) != "never") == bool(options["add_dummy_prefix"])
    else:
        is_equal = [dict(part) for part in definition.decoder or ()] == plain
    if not is_equal:
        losses["decoder"] = f"the decoder {', '.join(names) or 'that concatenates tokens'}"
    elif special - {unk}:
        losses["decoder"] = "the text of special tokens, which SentencePiece decodes to nothing"
    return {
        "type": "SentencePiece",
        "add_dummy_prefix": options["add_dummy_prefix"],
        "remove_extra_whitespaces": options["remove_extra_whitespaces"],
        "treat_whitespace_as_suffix": False,
        "unk_surface": unk,
    }
