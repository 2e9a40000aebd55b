"""Causes of a difference between two readers, found by experiment.

Jeton builds a tokenizer for each reader and compares the definitions (`changes`). First, each difference alone is
applied to the first tokenizer. If the ids then equal those of the second reader on all texts, this difference is the
cause. Otherwise, all differences are applied together. Then each difference is left out in turn: it stays out if the
ids are still equal without it. The remaining differences are the causes. So a stated cause is proved for these texts.

If Jeton cannot read a reader's definition, the reader is compared with variants of the first tokenizer: `▁` added at
other positions, no normalizer, another pattern. If no variant gives the reader's ids, the cause is unknown, and only
the differences of the definitions are listed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ... import _core
from ...definition import Bpe, Definition, Pieces, Unigram, WordPiece
from ...errors import JetonError
from ...formats import tokenizer_json
from ...tokenizer import Tokenizer
from ...util.messages import translate
from .changes import Change, Changes
from .marks import prefix_scheme, with_prefix
from .readers import Reader, Refused
from .telling_texts import FRAMED

__all__ = ["Cause", "Results", "causes_of", "causes_of_decoding", "results"]

Ids = list[int] | Refused


class Cause(NamedTuple):
    """Cause of the difference between a reader and the reference.

    Attributes:
        cause: name of the cause, for use in programs, for example ``"legacy"`` or ``"normalizer"``.
        words: the cause in words, with the reader as the subject.
        proven: True if an experiment reproduced the ids of the reader.
        text: the first text whose ids change because of this cause.
        num_texts: number of such texts.
    """

    cause: str
    words: str
    proven: bool
    text: str | None = None
    num_texts: int = 0


@dataclass(frozen=True)
class Results:
    """Ids of one reader.

    Attributes:
        ids: for each text, its ids; None if they are not compared.
        framed: for each text of `FRAMED`, its ids with the tokens of the template; None if the reader adds no tokens.
    """

    ids: list[Ids | None]
    framed: list[Ids] | None

    def differing(self, other: Results) -> list[int]:
        """Returns the indices of texts with different ids. The texts of `FRAMED` are numbered after the other texts."""
        pairs = zip(self.ids, other.ids, strict=True)
        found = [i for i, (a, b) in enumerate(pairs) if a is not None and b is not None and a != b]
        if self.framed is not None and other.framed is not None:
            pairs = zip(self.framed, other.framed, strict=True)
            found += [len(self.ids) + i for i, (a, b) in enumerate(pairs) if a != b]
        return found

    def at(self, index: int) -> Ids | None:
        """Returns the ids at an index that `differing` returned."""
        if index < len(self.ids):
            return self.ids[index]
        return None if self.framed is None else self.framed[index - len(self.ids)]


def results(reader: Reader, texts: Sequence[str], spelled: Sequence[bool]) -> Results:
    """Encodes the texts. `spelled`: for each text, whether it contains the spelling of an added token."""
    ids = [
        None if has_added and not reader.matches_added else reader.ids(text)
        for text, has_added in zip(texts, spelled, strict=True)
    ]
    framed = None if reader.frame is None else [reader.ids(text, framed=True) for text in FRAMED]
    return Results(ids, framed)


def _of_tokenizer(tok: Tokenizer, texts: Sequence[str]) -> Results:
    """Encodes the texts with a tokenizer of Jeton, and returns what `results` returns for a reader."""
    framed = [_encoded(tok, text, add_special_tokens=True) for text in FRAMED]
    try:
        return Results([list(map(int, ids)) for ids in tok.encode_batch(texts, special="all", threads=1)], framed)
    except JetonError:
        return Results([_encoded(tok, text) for text in texts], framed)


def _encoded(tok: Tokenizer, text: str, **options: Any) -> Ids:
    try:
        return tok.encode(text, special="all", **options)
    except JetonError as error:
        return Refused(str(error))


def causes_of(
    ours: Sequence[Reader],
    our_results: Results,
    theirs: Sequence[tuple[Reader, Results]],
    their_results: Results,
    texts: Sequence[str],
) -> list[Cause]:
    """Finds the causes of the difference between two groups of readers.

    Args:
        ours: readers with the ids of the reference.
        our_results: the results of these readers.
        theirs: readers with different ids, each with its results on the texts that it was compared on.
        their_results: the combined results of these readers.
        texts: the texts.
    """
    readers = [reader for reader, _ in theirs]
    search = _Search(texts, our_results, their_results)
    found = search.numbering(ours, readers) or search.by_changes(ours, readers)
    # In the combined results, all differing texts can come from readers without a definition. So the search is repeated
    # with the results of each single reader that has a definition.
    for reader, alone in theirs:
        if not found and reader.twin is not None and our_results.differing(alone):
            found = _Search(texts, our_results, alone).by_changes(ours, [reader])
    found = found or search.by_variants(ours, readers)
    return [_with_remark(cause, readers) if cause.proven else cause for cause in found]


def _with_remark(cause: Cause, readers: Sequence[Reader]) -> Cause:
    """Adds a remark to the cause: the reason why a library uses a definition that differs from that of the file."""
    first = readers[0]
    if first.is_gguf and cause.cause == "pattern":
        if first.pre in ("", "default"):
            pre = translate("tokenizer.ggml.pre is missing, so llama.cpp splits by its default pattern")
            if first.pre:
                pre = translate("tokenizer.ggml.pre is default, so llama.cpp splits by its default pattern")
            return cause._replace(cause="gguf_pre", words=f"{pre}: {cause.words}")
        pre = translate("tokenizer.ggml.pre is {pre}", pre=first.pre)
        return cause._replace(words=f"{pre}: {cause.words}")
    if first.is_gguf and cause.cause == "normalizer":
        words = translate("a GGUF file has no normalizer")
        return cause._replace(words=f"{cause.words} ({words})")
    is_class = all(reader.library.startswith("transformers") for reader in readers)
    if is_class and first.detail not in (
        "",
        "PreTrainedTokenizerFast",
        "TokenizersBackend",
    ):
        words = translate("by the class {name} of transformers", name=first.detail)
        return cause._replace(words=f"{cause.words} ({words})")
    return cause


class _Search:
    """Experiments that find the causes of one difference."""

    def __init__(self, texts: Sequence[str], ours: Results, theirs: Results) -> None:
        self._texts = texts
        self._ours = ours
        self._theirs = theirs
        differing = ours.differing(theirs)
        # differing texts are tested first, because most experiments fail on them
        ids = [i for i in differing if i < len(texts)]
        self._first = ids[:64]

    def numbering(self, ours: Sequence[Reader], theirs: Sequence[Reader]) -> list[Cause]:
        """Returns the cause "numbering" if the tokens are equal and only their ids differ, else []."""
        spell_a, spell_b = (next((one.spell for one in side if one.spell), None) for side in (ours, theirs))
        if spell_a is None or spell_b is None:
            return []
        num_other = 0
        for a, b in zip(self._ours.ids, self._theirs.ids, strict=True):
            if a is None or b is None:
                continue
            if isinstance(a, Refused) or isinstance(b, Refused):
                if a != b:
                    return []
                continue
            if len(a) != len(b) or [spell_a(id) for id in a] != [spell_b(id) for id in b]:
                return []
            num_other += a != b
        if not num_other:
            return []
        return [self._of_all("numbering", translate("it numbers the same tokens differently"))]

    def _of_all(self, cause: str, words: str) -> Cause:
        """Returns a proven cause that explains all differing texts."""
        differing = self._ours.differing(self._theirs)
        return Cause(cause, words, True, [*self._texts, *FRAMED][differing[0]], len(differing))

    def by_changes(self, ours: Sequence[Reader], theirs: Sequence[Reader]) -> list[Cause]:
        """Applies the differences of two definitions to find those that cause different ids."""
        for a, b in self._pairs(ours, theirs):
            if found := self._by_steps(a, b) or self._between(a, b):
                return found
        return []

    def _by_steps(self, a: Tokenizer, b: Tokenizer) -> list[Cause]:
        """Finds causes in two steps: one definition is first converted from SentencePiece's form to Hugging Face's.

        Hugging Face's components do not exactly reproduce SentencePiece's normalizer, so the conversion itself can be a
        cause.
        """
        first, last = (_as_json(tok) for tok in (a, b))
        middle = first or last
        if middle is None or (first is not None and last is not None):
            return []
        over = _of_tokenizer(middle, self._texts)
        found: list[Cause] = []
        for start, end, target in ((a, middle, over), (middle, b, self._theirs)):
            begin = self._ours if start is a else over
            if begin.differing(target):
                step = _Search(self._texts, begin, target)._between(start, end)
                if not step:
                    return []
                found += step
        return sorted(found, key=lambda cause: -cause.num_texts)

    def _between(self, a: Tokenizer, b: Tokenizer) -> list[Cause]:
        """Finds the differences between two tokenizers that change ids; [] if all together do not explain the ids."""
        changes = Changes(a, b)
        # Even if all changes are applied, ids can still differ, because some differences, for example in the kinds of
        # entries, are not in the list of changes.
        if not changes.all or self._mismatches(changes, changes.all):
            return []
        for change in changes.all:
            if not self._mismatches(changes, [change]):
                return [self._cause(changes, change, [])]
        needed = list(changes.all)
        for change in changes.all[::-1]:
            without = [one for one in needed if one is not change]
            if not self._mismatches(changes, without):
                needed = without
        found = [self._cause(changes, one, [other for other in needed if other is not one]) for one in needed]
        return sorted(found, key=lambda cause: -cause.num_texts)

    def _cause(self, changes: Changes, change: Change, others: Sequence[Change]) -> Cause:
        """Returns the cause for a change, with the texts that still differ when only the other changes are applied."""
        places = self._mismatches(changes, others, complete=True)
        num_texts = sum(place < len(self._texts) for place in places) or len(places)
        text = [*self._texts, *FRAMED][places[0]] if places else None
        return Cause(change.cause, change.words, True, text, num_texts)

    def _pairs(self, ours: Sequence[Reader], theirs: Sequence[Reader]) -> Iterator[tuple[Tokenizer, Tokenizer]]:
        """Yields pairs of tokenizers that reproduce the two sides' ids. Pairs with the same model type are first."""
        sides = []
        for readers, wanted in ((ours, self._ours), (theirs, self._theirs)):
            twins = {one.twin.fingerprint: one.twin for one in readers if one.twin is not None}
            found = [tok for tok in (*twins.values(), *map(_as_json, twins.values())) if tok is not None]
            sides.append([tok for tok in found if not _of_tokenizer(tok, self._texts).differing(wanted)])
        pairs = [(a, b) for a in sides[0] for b in sides[1]]
        yield from sorted(pairs, key=lambda pair: type(pair[0].definition.model) is not type(pair[1].definition.model))

    def _mismatches(self, changes: Changes, chosen: Sequence[Change], *, complete: bool = False) -> list[int]:
        """Applies changes. Returns indices of texts whose ids still differ: all indices if `complete`, else some."""
        try:
            tok = changes.apply(chosen)
        except (JetonError, KeyError, ValueError):
            return list(range(len(self._texts)))
        return self._mismatches_of(tok, complete=complete)

    def _mismatches_of(self, tok: Tokenizer, *, complete: bool = False) -> list[int]:
        if not complete:
            some = [self._texts[i] for i in self._first]
            quick = Results([self._theirs.ids[i] for i in self._first], self._theirs.framed)
            if places := _of_tokenizer(tok, some).differing(quick):
                return places
        return _of_tokenizer(tok, self._texts).differing(self._theirs)

    def by_variants(self, ours: Sequence[Reader], theirs: Sequence[Reader]) -> list[Cause]:
        """Tries known variants, for a reader whose definition is unknown or does not reproduce its ids."""
        texts = self._texts
        twins = [one.twin for one in ours if one.twin is not None]
        twin = next((tok for tok in twins if not _of_tokenizer(tok, texts).differing(self._ours)), None)
        if twin is not None:
            for cause, words, tok in _variants(twin):
                if not self._mismatches_of(tok):
                    return [self._of_all(cause, words)]
        other = next((one.twin for one in theirs if one.twin is not None), None)
        if not twins or other is None:
            return [Cause("unknown", translate("no cause was proved: Jeton cannot read its definition"), False)]
        found = [Cause(one.cause, one.words, False) for one in Changes(twins[0], other).all]
        return found or [self._of_refusals()]

    def _of_refusals(self) -> Cause:
        """Returns the cause of a difference between two libraries whose definitions are equal.

        The cause is "unknown_token" if exactly one side refuses the first text with different ids, else "unknown".
        """
        first = self._ours.differing(self._theirs)[0]
        refused = [isinstance(one.at(first), Refused) for one in (self._ours, self._theirs)]
        if refused == [False, True]:
            words = translate("it refuses text that is not in the vocabulary; the reference drops it")
            return self._of_all("unknown_token", words)._replace(proven=self._only_refusals())
        if refused == [True, False]:
            words = translate("it drops text that is not in the vocabulary; the reference refuses it")
            return self._of_all("unknown_token", words)._replace(proven=self._only_refusals())
        return Cause("unknown", translate("no cause was proved: the definitions are equal"), False)

    def _only_refusals(self) -> bool:
        """Tests whether refusals explain all differences: wherever ids differ, exactly one side refuses the text."""
        pairs = zip(self._ours.ids, self._theirs.ids, strict=True)
        differing = [(a, b) for a, b in pairs if a is not None and b is not None and a != b]
        return all(isinstance(a, Refused) != isinstance(b, Refused) for a, b in differing)


def _as_json(tok: Tokenizer) -> Tokenizer | None:
    """Replaces SentencePiece's or llama.cpp's components of a tokenizer by components of Hugging Face.

    Returns None if the tokenizer has no such components, or if they cannot be converted. The converted tokenizer can
    give other ids; the caller tests them.
    """
    is_model = isinstance(tok.definition.model, Pieces)
    if not is_model and not any(part["type"] == "SentencePiece" for part in tok.definition.normalizer):
        return None
    try:
        file = json.loads(tokenizer_json.to_bytes(tok))
        del file["model"]["jeton"]
        return tokenizer_json.from_bytes(json.dumps(file, ensure_ascii=False).encode())
    except JetonError:
        return None


def _variants(tok: Tokenizer) -> Iterator[tuple[str, str, Tokenizer]]:
    """Yields cause, description and tokenizer for changes that libraries are known to make."""
    definition = tok.definition
    scheme = prefix_scheme(definition)
    for cause, words, changed in (*_prefixes(definition, scheme), *_normalizers(definition), *_models(definition)):
        try:
            yield cause, words, Tokenizer(changed, tok._core.vocabulary())
        except JetonError:
            continue


_Variant = tuple[str, str, Definition]


def _prefixes(definition: Definition, scheme: str) -> Iterator[_Variant]:
    words: dict[str, Callable[[], str]] = {
        "always": lambda: translate("it adds ▁ before the text and after each added token"),
        "first": lambda: translate("it adds ▁ before the text only"),
        "never": lambda: translate("it does not add ▁"),
    }
    for other in words:
        changed = None if other == scheme else with_prefix(definition, other)
        if changed is not None:
            yield "prefix_space" if "never" in (other, scheme) else "legacy", words[other](), changed
    if definition.is_byte_level:
        space = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False}
        yield (
            "prefix_space",
            translate("it adds a space before the text"),
            replace(definition, pretokenizer=(space, *definition.pretokenizer)),
        )


def _normalizers(definition: Definition) -> Iterator[_Variant]:
    parts = definition.normalizer
    for index, part in enumerate(parts):
        words = translate("it lacks the normalizer {part}", part=part["type"])
        yield "normalizer", words, replace(definition, normalizer=(*parts[:index], *parts[index + 1 :]))
    for name in ("NFC", "NFKC", "NFD", "NFKD", "Lowercase", "StripAccents"):
        words = translate("it has the normalizer {part} in addition", part=name)
        yield "normalizer", words, replace(definition, normalizer=({"type": name}, *parts))


def _models(definition: Definition) -> Iterator[_Variant]:
    model = definition.model
    if definition.is_byte_level:
        for name in _core.pattern_names():
            words = translate("it splits by {part}", part=name)
            yield "pattern", words, replace(definition, pretokenizer=({"type": "Pattern", "name": name},))
    if isinstance(model, Bpe):
        flags: Iterable[tuple[str, str]] = (("whole_first", "ignore_merges"), ("byte_fallback", "byte_fallback"))
        for option, name in flags:
            value = not getattr(model, option)
            options: dict[str, Any] = {option: value}
            words = translate("{name} is {value}, not {other}", name=name, value=value, other=not value)
            yield name, words, replace(definition, model=replace(model, **options))
    if isinstance(model, Unigram):
        words = translate("it adds scores in another precision, so near-ties between segmentations resolve differently")
        yield "scores", words, replace(definition, model=replace(model, single_precision=not model.single_precision))
    if isinstance(model, WordPiece):
        normalizer = tuple(
            {**part, "lowercase": not part["lowercase"]} if part["type"] == "BertNormalizer" else part
            for part in definition.normalizer
        )
        yield "normalizer", translate("its lowercase option differs"), replace(definition, normalizer=normalizer)


# ── decoding ────────────────────────────────────────────────────────────────────────────────────────────────────────

_CLEANED = (
    *((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m")),
    *((" 's", "'s"), (" 've", "'ve"), (" 're", "'re")),
)


def _cleaned(text: str) -> str:
    """Changes decoded text as ``clean_up_tokenization_spaces`` of transformers does.

    Source: the list of replacements in huggingface/transformers, tokenization_utils_base.py (clean_up_tokenization).
    """
    for old, new in _CLEANED:
        text = text.replace(old, new)
    return text


def causes_of_decoding(ours: Reader, theirs: Reader, ids: Sequence[list[int]]) -> list[Cause]:
    """Finds the cause if two readers decode equal ids to different texts."""
    left, right = ([one.text(each) for each in ids] for one in (ours, theirs))
    if all(isinstance(a, str) and _cleaned(a) == b for a, b in zip(left, right, strict=True)):
        words = translate("it removes spaces before punctuation (clean_up_tokenization_spaces)")
        return [Cause("clean_up_tokenization_spaces", words, True)]
    if all(isinstance(b, str) and a == _cleaned(b) for a, b in zip(left, right, strict=True)):
        words = translate("it keeps spaces before punctuation (clean_up_tokenization_spaces)")
        return [Cause("clean_up_tokenization_spaces", words, True)]
    a, b = ours.twin, theirs.twin
    if a is not None and b is not None and a.definition.decoder != b.definition.decoder:
        try:
            mixed = Tokenizer(replace(a.definition, decoder=b.definition.decoder), a._core.vocabulary())
            if all(mixed.decode(each) == text for each, text in zip(ids, right, strict=True)):
                return [Cause("decoder", translate("its decoder differs"), True)]
        except JetonError:
            pass
    return [Cause("unknown", translate("no cause was proved"), False)]
