"""Differences of two tokenizers' definitions, as changes that can be applied one by one.

`Changes` lists the differences: components that only one tokenizer has, or that have different options in the two;
options of the model; flags of added tokens; tokens and merges. ``apply`` applies any selection of changes to the first
tokenizer, so that experiments can show which changes affect ids. All changes together give the second tokenizer, apart
from details that change no ids, such as the decoder.

Differences that only make sense together form one change: for example, all components that write `▁`, or the entries of
a vocabulary with its merges and scores.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

from ... import _core
from ...definition import Bpe, Component, Definition, Pieces, Unigram, ordered
from ...tokenizer import Tokenizer
from ...tokens.added import FLAGS, AddedToken, model_entries, with_added_tokens
from ...tokens.kinds import ADDED, SPECIAL, TOKEN
from ...util.messages import translate
from . import wording
from .marks import prefix_scheme, writes_mark

__all__ = ["Change", "Changes"]

_WHOLE = ("whole",)  # key of the change that replaces the whole tokenizer
_MARKS = "marks"  # key of the single change that covers all components that write ▁


@dataclass(frozen=True, eq=False)
class Change:
    """One difference between two definitions.

    Attributes:
        cause: name of the cause, for use in programs, for example ``"normalizer"`` or ``"legacy"``.
        words: the difference in words, with the second tokenizer as the subject.
        key: identifies the change for `Changes.apply`.
    """

    cause: str
    words: str
    key: tuple[Any, ...]


class Changes:
    """The differences between two tokenizers, as a list of `Change`s that can be applied."""

    def __init__(self, a: Tokenizer, b: Tokenizer) -> None:
        self._a, self._b = a, b
        self._sides = (_Entries(a), _Entries(b))
        splits = (a.definition.pretokenizer, b.definition.pretokenizer)
        if any(part["type"] == "ByteLevel" for parts in splits for part in parts):
            splits = (_byte_level(splits[0]), _byte_level(splits[1]))
        self._stages = {
            "normalizer": _segments(a.definition.normalizer, b.definition.normalizer),
            "pretokenizer": _segments(*splits),
        }
        if self._is_another():
            self.all: list[Change] = [Change("vocabulary", self._words_of_another(), _WHOLE)]
            return
        kinds = [any(part["type"] == "SentencePiece" for part in tok.definition.normalizer) for tok in (a, b)]
        self._is_other_kind = kinds[0] != kinds[1]
        self.all = [
            *(self._of_kind() if self._is_other_kind else self._of_stages()),
            *self._of_added_tokens(),
            *self._of_model(),
            *self._of_vocabulary(),
            *self._of_template(),
        ]

    def apply(self, changes: Collection[Change]) -> Tokenizer:
        """Returns the first tokenizer with these changes applied.

        Raises:
            JetonError: these changes cannot be applied without the other changes.
        """
        keys = {change.key for change in changes}
        if self.all and self.all[0].key == _WHOLE:
            return self._b if keys else self._a
        a, b = self._a.definition, self._b.definition
        stages: dict[str, Any] = {
            name: getattr(b if ("stages",) in keys else a, name)
            if self._is_other_kind
            else tuple(part for index, segment in enumerate(segments) for part in _chosen(name, index, segment, keys))
            for name, segments in self._stages.items()
        }
        model = b.model if ("model",) in keys else a.model
        options = {key[1]: getattr(b.model, key[1]) for key in keys if key[0] == "option"}
        if keys & {("vocabulary",), ("merges",)} and isinstance(model, Bpe) and isinstance(b.model, Bpe):
            options["ranks"] = b.model.ranks
        if options:
            model = replace(model, **options)
        template = b.template if ("template",) in keys else a.template
        definition = Definition(model, **stages, decoder=a.decoder, template=template)
        return Tokenizer(definition, self._vocabulary(keys, definition))

    def _is_another(self) -> bool:
        """Tests whether most ids differ in content between the tokenizers, so that no single change is meaningful."""
        ours, theirs = (side.contents for side in self._sides)
        same = sum(theirs.get(id) == content for id, content in ours.items())
        return 2 * same < min(len(ours), len(theirs))

    def _words_of_another(self) -> str:
        words = [wording.of_entries(self._a, self._b, *(side.contents for side in self._sides))]
        models = [wording.model_of(tok.definition.model) for tok in (self._a, self._b)]
        if models[0] != models[1]:
            words.append(translate("its model is {model}, not {other}", model=models[1], other=models[0]))
        return translate("it is another tokenizer: {differences}", differences="; ".join(words))

    def _vocabulary(self, keys: set[tuple[Any, ...]], definition: Definition) -> _core.Vocabulary:
        ours, theirs = self._sides
        added = dict(ours.added)
        from_theirs: set[int] = set()
        for key in sorted((key for key in keys if key[0] in ("flag", "only_a", "only_b")), key=lambda key: key[0]):
            if key[0] == "flag":
                for id in key[2]:
                    added[id] = replace(added[id], **{key[1]: getattr(theirs.added[id], key[1])})
            elif key[0] == "only_a":
                for id in key[1]:
                    del added[id]
            else:  # comes after all removals, because a new token can have the id of a removed one
                added |= {id: theirs.added[id] for id in key[1]}
                from_theirs |= set(key[1])
        source = theirs if ("vocabulary",) in keys else ours
        merges = theirs.merges if keys & {("vocabulary",), ("merges",)} else ours.merges
        scores = theirs.scores if keys & {("vocabulary",), ("scores",)} else ours.scores
        entries = {id for id in added if id in (theirs if id in from_theirs else source).entries}
        return source.built(added, entries, merges, scores, has_scores=isinstance(definition.model, Unigram | Pieces))

    # ── lists of changes ────────────────────────────────────────────────────────────────────────────────────────────

    def _of_kind(self) -> Iterable[Change]:
        """Yields one change that replaces all stages, for the case that only one tokenizer normalizes as SentencePiece.

        Smaller changes are not possible: SentencePiece's and Hugging Face's components cannot be mixed.
        """
        if any(part["type"] == "SentencePiece" for part in self._b.definition.normalizer):
            words = translate("it normalizes as SentencePiece, which tokenizer.json cannot express exactly")
        else:
            words = translate("it normalizes as tokenizers, not exactly as SentencePiece")
        yield Change("normalizer", words, ("stages",))

    def _of_stages(self) -> Iterable[Change]:
        yield from self._of_marks()
        for name in self._stages:
            yield from self._of_stage(name)

    def _of_marks(self) -> Iterable[Change]:
        """Yields one change for all components that write ▁, in the normalizer and the pretokenizer."""
        if not any(segment.is_marks for segments in self._stages.values() for segment in segments):
            return
        a, b = (prefix_scheme(tok.definition) for tok in (self._a, self._b))
        cause, words = wording.of_marks(a, b)
        yield Change(cause, words, (_MARKS,))

    def _of_stage(self, name: str) -> Iterable[Change]:
        differing = [segment for segment in self._stages[name] if not segment.is_equal and not segment.is_marks]
        # If several components differ, they form one change: one pattern is expressed by all of them together.
        if name == "pretokenizer" and len(differing) > 1:
            a, b = (
                [part for part in parts if part] for parts in zip(*((one.a, one.b) for one in differing), strict=True)
            )
            ours, theirs = wording.parts_of(a), wording.parts_of(b)
            words = translate("it splits by {part}, not by {other}", part=theirs, other=ours)
            yield Change("pattern", words, ("stage", name))
            return
        for index, segment in enumerate(self._stages[name]):
            if segment.is_equal or segment.is_marks:
                continue
            for field in segment.fields:
                yield Change(*wording.of_field(name, *segment.values(field)), ("field", name, index, field))
            if not segment.fields:
                yield Change(*wording.of_part(name, segment.a, segment.b), ("part", name, index))

    def _of_added_tokens(self) -> Iterable[Change]:
        ours, theirs = (side.added for side in self._sides)
        common = [id for id in ours if id in theirs and ours[id].content == theirs[id].content]
        for flag in ("special", *FLAGS, "ascii_space"):
            if ids := tuple(id for id in common if getattr(ours[id], flag) != getattr(theirs[id], flag)):
                yield Change("added_token_flags", wording.of_flag(flag, ids, ours, theirs), ("flag", flag, ids))
        if ids := tuple(id for id in theirs if id not in common):
            names = wording.names_of(theirs[id].content for id in ids)
            yield Change("added_tokens", translate("it has added tokens: {names}", names=names), ("only_b", ids))
        if ids := tuple(id for id in ours if id not in common):
            names = wording.names_of(ours[id].content for id in ids)
            yield Change("added_tokens", translate("it lacks added tokens: {names}", names=names), ("only_a", ids))

    def _of_model(self) -> Iterable[Change]:
        a, b = self._a.definition.model, self._b.definition.model
        if type(a) is not type(b):
            words = translate("its model is {model}, not {other}", model=wording.model_of(b), other=wording.model_of(a))
            yield Change("model", words, ("model",))
            return
        for option in vars(a):
            # `ranks` is skipped. It says whether the order of merges is given by a list or by ids; `_of_vocabulary`
            # compares the order itself.
            if option != "ranks" and getattr(a, option) != getattr(b, option):
                yield Change(*wording.of_option(option, getattr(a, option), getattr(b, option)), ("option", option))

    def _of_vocabulary(self) -> Iterable[Change]:
        ours, theirs = self._sides
        if ours.contents != theirs.contents:
            words = wording.of_entries(self._a, self._b, ours.contents, theirs.contents)
            yield Change("vocabulary", words, ("vocabulary",))
        elif ours.merges != theirs.merges:
            count = sum(x != y for x, y in zip(ours.merges, theirs.merges, strict=False))
            count += abs(len(ours.merges) - len(theirs.merges))
            yield Change("merges", translate("{number} of its merges differ", number=f"{count:,}"), ("merges",))
        elif ours.scores != theirs.scores:
            count = sum(x != y for x, y in zip(ours.scores, theirs.scores, strict=False))
            yield Change("scores", translate("{number} of its scores differ", number=f"{count:,}"), ("scores",))

    def _of_template(self) -> Iterable[Change]:
        a, b = (ordered(tok.definition.template) for tok in (self._a, self._b))
        if a != b:
            left, right = (wording.template_of(tok) for tok in (self._a, self._b))
            words = translate("its template is {template}, not {other}", template=right, other=left)
            yield Change("template", words, ("template",))


# ── vocabularies ────────────────────────────────────────────────────────────────────────────────────────────────────


class _Entries:
    """Entries, merges, scores and added tokens of one tokenizer, stored separately.

    A change can thus take some of them from one tokenizer and the rest from the other.
    """

    def __init__(self, tok: Tokenizer) -> None:
        ids, kinds, contents, merges = tok._core.vocabulary().columns()
        self.added: dict[int, AddedToken] = dict(tok.added_tokens)
        self.entries = set(model_entries(tok._core))
        rows = zip(ids, kinds, contents, strict=True)
        model = [row for row in rows if row[0] not in self.added or row[0] in self.entries]
        self.contents = {id: content for id, _, content in model}
        self.kinds = {id: TOKEN if kind in (ADDED, SPECIAL) else kind for id, kind, _ in model}
        self.merges = list(merges)
        if not merges and isinstance(tok.definition.model, Bpe):
            self.merges = list(tok._core.merges())  # for a rank file, the merges derived from ranks
        model_type = tok.definition.model
        scores = tok._core.scores() if isinstance(model_type, Unigram | Pieces) else []
        self.scores = list(scores)  # indexed by id

    def built(
        self,
        added: Mapping[int, AddedToken],
        entries: Collection[int],
        merges: Sequence[tuple[int, int, int]],
        scores: Sequence[float],
        *,
        has_scores: bool,
    ) -> _core.Vocabulary:
        ids = list(self.contents)
        vocabulary = _core.Vocabulary(
            ids,
            [self.kinds[id] for id in ids],
            [self.contents[id] for id in ids],
            merges,
            scores if has_scores else None,
        )
        return with_added_tokens(vocabulary, added.items(), entries)


# ── stages ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Segment:
    """A component of the first tokenizer (`a`) and its counterpart in the second (`b`); a missing component is None."""

    a: Component | None
    b: Component | None

    @property
    def is_equal(self) -> bool:
        return self.a == self.b

    @property
    def is_marks(self) -> bool:
        """Tests whether the components differ and write ▁. A missing component is ignored."""
        return not self.is_equal and all(part is None or writes_mark(part) for part in (self.a, self.b))

    def values(self, field: str) -> tuple[str, str, Any, Any]:
        """Returns the type of the components, the name of the field, and its values in the two components."""
        a, b = self.a or {}, self.b or {}
        return str(a["type"]), field, a.get(field), b.get(field)

    @property
    def fields(self) -> list[str]:
        """Returns the fields that differ, if both components have the same type and several options; else []."""
        if self.a is None or self.b is None or self.a["type"] != self.b["type"] or "regex" in {*self.a, *self.b}:
            return []
        if self.a["type"] == "Pattern":
            return []
        # `trim_offsets` changes no ids
        keys = {*self.a, *self.b} - {"trim_offsets"}
        return sorted(key for key in keys if self.a.get(key) != self.b.get(key))


def _byte_level(parts: Sequence[Component]) -> tuple[Component, ...]:
    """Replaces GPT-2's pattern by the equivalent ByteLevel component of Hugging Face.

    If the other tokenizer has a ByteLevel component, the two components then differ in options only.
    """
    whole = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return tuple(whole if part == {"type": "Pattern", "name": "gpt2"} else part for part in parts)


def _segments(a: Sequence[Component], b: Sequence[Component]) -> list[_Segment]:
    left, right = ([json.dumps(ordered(part), sort_keys=True) for part in parts] for parts in (a, b))
    found: list[_Segment] = []
    for name, i, j, k, l in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():  # noqa: E741
        if name == "equal":
            found += [_Segment(part, part) for part in a[i:j]]
            continue
        ours, theirs = list(a[i:j]), list(b[k:l])
        while ours or theirs:
            types = [part["type"] for part in theirs]
            if ours and ours[0]["type"] in types:
                place = types.index(ours[0]["type"])
                found += [_Segment(None, part) for part in theirs[:place]]
                found.append(_Segment(ours.pop(0), theirs[place]))
                theirs = theirs[place + 1 :]
            elif ours:
                found.append(_Segment(ours.pop(0), None))
            else:
                found.append(_Segment(None, theirs.pop(0)))
    return found


def _chosen(name: str, index: int, segment: _Segment, keys: set[tuple[Any, ...]]) -> Iterable[Component]:
    part = segment.a
    if segment.is_marks:
        part = segment.b if (_MARKS,) in keys else segment.a
    elif keys & {("part", name, index), ("stage", name)}:
        part = segment.b
    elif segment.a is not None and segment.b is not None:
        fields = [field for field in segment.fields if ("field", name, index, field) in keys]
        if fields:
            mixed = {key: value for key, value in segment.a.items() if key not in fields}
            part = mixed | {field: segment.b[field] for field in fields if field in segment.b}
    return () if part is None else (part,)
