"""`State`: the components of a tokenizer, and the engine that Jeton builds from them on the next use.

A state is immutable except for its component objects, which callers can change in place. A build records the versions
of the objects that callers hold, and a later use compares them with the current versions. The entries of a model are
stored as two JSON texts: the members `vocab` and `merges` of a `tokenizer.json`. If a component changes in a way that
affects how entries are read, the core writes these two texts again.

An added token gets its id by Hugging Face's rule: the id of an equal entry, or else the next id after all entries and
added tokens.

Source: huggingface/tokenizers, tokenizer/added_vocabulary.rs (`add_tokens`), tokenizer/serialization.rs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from ..._core import SpelledVocabulary, normalize_texts
from ...definition import Bpe, Unigram
from ...errors import FormatError, JetonError, UnknownTokenError, UnsupportedFeatureError
from ...formats.tokenizer_json import check_unreachable, read_parsed, stages_of, written_members
from ...tokenizer import Tokenizer
from ...util.lazy import cached_property
from ...util.record import replace
from ..hf_backend import Engine
from . import models, parts

__all__ = ["KINDS", "Added", "Built", "Frame", "State"]

KINDS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
Members = tuple[bytes, bytes | None]  # JSON of the vocabulary; JSON of the merges, or None
_UTF8_BYTES = (*range(0xC0), *range(0xC2, 0xF5))
NO_VOCAB = (b"{}", b"[]")


class Added(NamedTuple):
    """An added token. It has the fields of an element of ``added_tokens``, in the same order, but no `id`."""

    content: str
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True
    special: bool = False

    @classmethod
    def of_json(cls, facts: Mapping[str, Any]) -> Added:
        """Creates an added token from an element of ``added_tokens``."""
        flags = [facts[name] for name in cls._fields[1:]]
        if not isinstance(facts["content"], str) or not all(isinstance(flag, bool) for flag in flags):
            raise FormatError("an added token has a content and five flags", place="$.added_tokens")
        return cls(facts["content"], *flags)

    def to_json(self, id: int) -> dict[str, Any]:
        """Returns the element of ``added_tokens`` in JSON."""
        return {"id": id, **self._asdict()}


class Spellings(dict[int, str]):
    """Id -> spelling; entries are added when they are looked up."""

    def __init__(self, spell: Callable[[int], str]) -> None:
        super().__init__()
        self._spell = spell

    def __missing__(self, id: int) -> str:
        found = self[id] = self._spell(id)
        return found


class Built(Engine):
    """Engine of a state, with data that results need.

    A result reads this data later than the call that made the result. The data is stored here, so that the result does
    not depend on how the caller's objects change after the call.

    Args:
        tok: the tokenizer.
        state: the state.
        top: components and added tokens of the state, as JSON.
        members: function that returns the vocabulary and the merges of the model, as JSON.
    """

    def __init__(self, tok: Tokenizer, state: State, top: dict[str, Any], members: Callable[[], Members]) -> None:
        super().__init__(tok)
        self.state = state
        self.core = tok._core
        self._top, self._members = top, members
        self._watched = state._watched
        self._replica: Any = None

    @property
    def is_current(self) -> bool:
        """True if no component was changed in place since the build."""
        return all(part.version == version for part, version in self._watched)

    def replica(self, extension: Any, *, is_new: bool) -> Any:
        """Returns a tokenizer of the original package: see `State.replica`."""
        if self.is_current:
            return self.state.replica(extension, is_new=is_new)
        if is_new or self._replica is None:
            top = {**self._top, "added_tokens": sorted(self._top["added_tokens"], key=lambda token: token["id"])}
            model = _model_json(top.pop("model"), self._members())
            self._replica = extension.Tokenizer.from_str(f'{_dumps({"version": "1.0", **top})[:-1]},"model":{model}}}')
        return self._replica

    @cached_property
    def normalized_contents(self) -> dict[int, str]:
        """Id -> normalized content, for added tokens that normalization changes."""
        parts = self.tok.definition.normalizer
        rows = [(id, token.content) for id, token in self.state.added.items() if token.normalized]
        if not parts or not rows:
            return {}
        found = normalize_texts(_parts_json(parts), [content for _, content in rows], [])
        return {id: text for (id, content), (text, _) in zip(rows, found, strict=True) if text != content}

    @cached_property
    def spellings(self) -> Spellings:
        """Id -> the token that Hugging Face shows."""
        known = Spellings(self._spelling)
        known.update({id: token.content for id, token in self.state.added.items()})
        known.update(self.normalized_contents)
        return known

    @cached_property
    def untrimmed_ids(self) -> frozenset[int]:
        """The id of Unigram's unknown token; empty if offsets are not trimmed, or if this token is an added token.

        When Hugging Face's library trims the offsets of an unknown token, it looks at the text that was matched, not at
        the spelling of the token.
        """
        trims = (self.tok.definition.template or {}).get("trim_offsets")
        return self.shown_ids - self.state.added.keys() if trims else frozenset()

    @cached_property
    def _lost(self) -> bytes | None:
        """Bytes that the model leaves out of a text; None if it can also leave out characters of several bytes."""
        model, core = self.tok.definition.model, self.core
        if not isinstance(model, Bpe) or not model.drop_unknown or not self.state.size:
            return b""
        if model.level == "byte":
            return bytes(byte for byte in _UTF8_BYTES if core.find(bytes([byte]), False) is None)
        bytes_alone = model.byte_fallback and all(
            core.find(b"<0x%02X>" % byte, False) is not None for byte in range(256)
        )
        return b"" if bytes_alone else None

    def drops(self, texts: Iterable[str]) -> bool:
        """Tests whether the model might leave out unknown characters of texts, which would shift the offsets."""
        lost = self._lost
        if not lost or self.tok.definition.normalizer:
            return lost != b""
        data = "".join(texts).encode("utf-8", "surrogatepass")
        return len(data.translate(None, lost)) < len(data)

    @cached_property
    def kept_ids(self) -> frozenset[int]:
        """Ids of special tokens that decoding keeps even if special tokens are to be skipped.

        To decide whether to skip a token, Hugging Face's library looks up the normalized content of the token among the
        contents of the special tokens. If normalization changes the content of a special token, this look-up fails and
        the token is kept.
        """
        added = self.state.added
        return frozenset(id for id in self.normalized_contents if added[id].special)

    def _spelling(self, id: int) -> str:
        """Returns the spelling of an entry; an empty text for an id that occurs only in the template."""
        return "" if self.core.content(id) is None else self.tok.id_to_token(id)

    @cached_property
    def shown_ids(self) -> frozenset[int]:
        """Ids whose tokens are shown as the text that they match, not as their spelling.

        They are the ids of Unigram's unknown token and of added tokens that strip spaces.
        """
        model = self.tok.definition.model
        shown = {id for id, token in self.state.added.items() if token.lstrip or token.rstrip}
        if isinstance(model, Unigram) and model.unk_token:
            shown.add(self.tok.token_to_id(model.unk_token))
        return frozenset(shown)

    @cached_property
    def frames(self) -> tuple[Frame | None, Frame | None]:
        """Templates of a single text, first without and then with special tokens.

        A template is None if it does not contain the text exactly once.
        """
        return _frame(self._items[False, False]), _frame(self._items[False, True])

    @cached_property
    def template_names(self) -> dict[int, str]:
        """Id -> name in the template, for ids whose spelling in the vocabulary is different."""
        named = dict(_template_names(self._top["post_processor"]))
        return {id: name for id, name in named.items() if self.core.content(id) is None or self.spellings[id] != name}


class Frame(NamedTuple):
    """What a template adds around a single text.

    Attributes:
        before: type ids of the ids before the text.
        after: type ids of the ids after the text.
        type_id: type id of the text.
        ids: (ids before the text, ids after the text).
    """

    before: list[int]
    after: list[int]
    type_id: int
    ids: tuple[list[int], list[int]]


def _frame(items: Any) -> Frame | None:
    texts = [at for at, item in enumerate(items) if item.text is not None]
    if len(texts) != 1 or items[texts[0]].text != 0:
        return None
    sides = items[: texts[0]], items[texts[0] + 1 :]
    before, after = ([item.type_id for item in side for _ in item.ids] for side in sides)
    first, last = ([id for item in side for id in item.ids] for side in sides)
    return Frame(before, after, items[texts[0]].type_id, (first, last))


def _template_names(processor: Any) -> Iterable[tuple[int, str]]:
    for each in (processor or {}).get("processors", ()):
        yield from _template_names(each)
    for name in ("cls", "sep"):
        if isinstance(pair := (processor or {}).get(name), list):
            yield pair[1], pair[0]
    for special in ((processor or {}).get("special_tokens") or {}).values():
        yield from zip(special["ids"], special["tokens"], strict=False)


def _parts_json(parts: Any) -> str:
    return json.dumps([dict(part) for part in parts], ensure_ascii=False)


class State:
    """Components of a tokenizer.

    Attributes:
        options: JSON of the model, without its vocabulary and merges.
        members: function that returns vocabulary and merges as JSON.
        stages: kind -> JSON of the component of this kind; only used for kinds that are not in `objects`.
        objects: kind -> component object that was returned to a caller or assigned by a caller.
        added: id -> added token.
    """

    __slots__ = (
        "_built",
        "_extra",
        "_ids",
        "_members",
        "_model_version",
        "_replica",
        "_size",
        "_spelled",
        "_tok",
        "_watched",
        "added",
        "error",
        "model",
        "objects",
        "options",
        "stages",
    )

    def __init__(self, options: dict[str, Any], members: Callable[[], Members]) -> None:
        self.options = options
        self._members: Callable[[], Members] = members
        self.model: Any = None
        self.stages: dict[str, Any] = dict.fromkeys(KINDS)
        self.objects: dict[str, Any] = {}
        self.added: dict[int, Added] = {}
        self._ids: dict[str, int] = {}
        # Cached result of `_not_entries`: the texts of the added tokens that are not in the model's vocabulary. None:
        # the result is not computed yet.
        self._extra: frozenset[str] | None = frozenset()
        self._spelled: SpelledVocabulary | None = None
        self._tok: Tokenizer | None = None  # last tokenizer that was built; the next build may share its vocabulary
        self._model_version: Any = None  # `version` of the model's object during the last build
        self._size: int | None = None  # number of entries of the model
        self._built: Built | None = None
        self._replica: Any = None
        self._watched: tuple[tuple[Any, Any], ...] = ()
        self.error: JetonError | None = None

    # ── making one ───────────────────────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def of_json(cls, data: bytes) -> tuple[State, dict[str, Any]]:
        """Reads a `tokenizer.json`.

        Returns:
            The state, and the members of the file without the model's vocabulary and merges.

        Raises:
            JetonError: the file is damaged.
        """
        rest, spelled = SpelledVocabulary.from_tokenizer_json(data)
        top = json.loads(rest)
        options = top.get("model") if isinstance(top, dict) else None
        if not isinstance(options, dict):
            raise FormatError("Model missing.", place="$.model")
        options.pop("jeton", None)  # Jeton's addition to the format; Hugging Face's library ignores it
        state = cls(options, _unused)
        state._spelled, state._size = spelled, len(spelled)
        state.stages = {kind: top.get(kind) for kind in KINDS}
        state._add([Added.of_json(token) for token in top.get("added_tokens") or ()])
        state._members = state._written
        if state._build() is None:
            own = json.loads(data)["model"]
            state._members = lambda: _members_of(own)
        return state, top

    @classmethod
    def of_model(cls, model: Any) -> State:
        """Creates a state that has only a model."""
        state = cls(model.options, model.members)
        state.model = model
        return state

    def with_model(self, model: Any) -> State:
        """Returns a state with another model, in which the ids of added tokens stay the same."""
        made = State.of_model(model)
        made._copy_stages(self)
        made.added, made._ids, made._extra = self.added, self._ids, None
        return made

    def with_stage(self, kind: str, part: Any) -> State:
        """Returns a state with another component of a kind; None removes the component."""
        made = self._derived()
        made.stages[kind] = None
        made.objects[kind] = part
        return made

    def with_tokens(self, tokens: Iterable[Added]) -> tuple[State, int]:
        """Returns a state with more added tokens, and the number of tokens that are new or have changed."""
        made = self._derived()
        made.added, made._ids = dict(self.added), dict(self._ids)
        num_new = made._add(tokens)
        return (made, num_new) if num_new else (self, 0)

    def _derived(self) -> State:
        made = State(self.options, self._members)
        made.model = self.model
        made._copy_stages(self)
        made.added, made._ids, made._extra = self.added, self._ids, self._extra
        made._spelled, made._tok, made._size = self._spelled, self._tok, self._size
        made._model_version = self._model_version
        # The function in `_members` may be a method of an older state: replace it by the method of the new state.
        if self.model is None and self._tok is not None:
            made._members = made._written
        return made

    def _copy_stages(self, other: State) -> None:
        self.stages, self.objects = dict(other.stages), dict(other.objects)

    def _add(self, tokens: Iterable[Added]) -> int:
        """Adds tokens; returns the number of tokens that are new or have changed."""
        num_new, next_id = 0, None
        extra = set(self._not_entries())
        for token in tokens:
            known = self._ids.get(token.content)
            if not token.content or (known is not None and self.added.get(known) == token):
                continue
            id = self.token_to_id(token.content)
            if id is None:
                if next_id is None:
                    next_id = self._next_id()
                id = next_id
                next_id += 1
                extra.add(token.content)
            elif next_id is None:
                # `token` already has an id. `next_id` is for the first token without an id, which may follow later in
                # `tokens`. As in Hugging Face's library, `next_id` is computed before any token is added.
                next_id = self._next_id()
            self._ids[token.content] = id
            self.added[id] = token
            num_new += 1
        self._extra = frozenset(extra)
        return num_new

    def _not_entries(self) -> frozenset[str]:
        """Contents of added tokens that are not entries of the model."""
        if self._extra is None:
            spelled = self.spelled
            self._extra = frozenset(content for content in self._ids if spelled.id(content) is None)
        return self._extra

    def _next_id(self) -> int:
        size, highest = self.size, max(self.added, default=-1)
        return highest + 1 if highest >= size or (size == 0 and self.added) else size

    # ── facts ────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def spelled(self) -> SpelledVocabulary:
        """The vocabulary of the model, in the spelling of its file."""
        if self._spelled is None:
            text = f'{{"model":{_model_json(self.model_options, self.members())}}}'
            _, self._spelled = SpelledVocabulary.from_tokenizer_json(text.encode())
        return self._spelled

    @property
    def model_options(self) -> dict[str, Any]:
        """JSON of the model, without its vocabulary and merges."""
        return self.options if self.model is None else self.model.options

    @property
    def size(self) -> int:
        """Number of entries of the model."""
        if self._size is None:
            self._size = len(self.spelled)
        return self._size

    def members(self) -> Members:
        """Returns the vocabulary and the merges of the model, as JSON."""
        return self._members() if self.model is None else self.model.members()

    def _written(self) -> Members:
        if self._tok is None:
            raise FormatError("a vocabulary that Jeton does not support", place="$.model")
        return _members_of_core(self._tok, self._not_entries(), self.size)

    def token_to_id(self, token: str) -> int | None:
        """Returns the id of an added token or an entry; None if there is none."""
        found = self._ids.get(token)
        return self.entry(token) if found is None else found

    def entry(self, token: str) -> int | None:
        """Returns the id of an entry of the model; None if there is none."""
        if self._spelled is None and self._tok is not None:
            id = self._tok._spelling.entry(token)
            known = self._tok._added.get(token.encode()) if id is None else None
            return id if known is None or token in self._not_entries() else known
        try:
            return self.spelled.id(token)
        except UnicodeEncodeError:
            return None

    def stage(self, kind: str) -> Any:
        """Returns the object of a component, the same object in each call; None if there is no such component."""
        if kind not in self.objects:
            state = self.stages[kind]
            part = self.objects[kind] = None if state is None else parts.from_state(kind, state)
            # Keep the recorded versions of the other objects, so that changes of these objects are still noticed.
            if part is not None:
                self._watched = (*self._watched, (part, part.version))
        return self.objects[kind]

    def model_object(self) -> Any:
        """Returns the model's object, the same object in each call."""
        if self.model is None:
            members, tok = self._members, self._tok
            if tok is not None:  # the model keeps `tok`, because the model can outlive this build of the state
                members = partial(_members_of_core, tok, self._not_entries(), self.size)
            self.model = models.Model.of(self._named_options(), members)
            self._model_version = self.model.version
            self._watched = (*self._watched, (self.model, self.model.version))
        return self.model

    def _named_options(self) -> dict[str, Any]:
        """Returns the options with the model's type, which old files leave out."""
        if "type" in self.options or self._tok is None:
            return self.options
        return {"type": self._tok.definition.model.type, **self.options}

    def stage_json(self, kind: str) -> Any:
        """Returns the JSON of a component."""
        part = self.objects.get(kind)
        return self.stages[kind] if part is None else json.loads(_dumps(part.state))

    def _watch(self) -> None:
        """Records the current version of each component that callers hold; called at the start of a build."""
        seen = [part for part in (self.model, *self.objects.values()) if part is not None]
        self._watched = tuple((part, part.version) for part in seen)

    def id_to_token(self, id: int) -> str | None:
        """Returns the spelling of an id; None if there is no such id.

        The spelling of an added token is the content of the token. If the flag `normalized` of the token is true, the
        spelling is the normalized content.
        """
        built = self.current()
        known = self.added.get(id)
        if built is None:
            if known is None:
                found: str | None = self.model_object().id_to_token(id)
                return found
            normalizer = self.stage("normalizer") if known.normalized else None
            return known.content if normalizer is None else str(normalizer.normalize_str(known.content))
        if known is not None:
            return built.spellings[id]
        try:
            return built.tok.id_to_token(id)
        except UnknownTokenError:
            return None

    def vocab(self, *, with_added: bool) -> dict[str, int]:
        """Returns spelling -> id for all entries of the model, and for the added tokens if `with_added` is true."""
        vocab: dict[str, int] | list[list[Any]] = json.loads(self.members()[0])
        found = {piece: id for id, (piece, _) in enumerate(vocab)} if isinstance(vocab, list) else vocab
        return found | self._ids if with_added else found

    def to_json(self, settings: Mapping[str, Any], *, without_custom: bool = False) -> str:
        """Returns the content of a `tokenizer.json`.

        Args:
            settings: truncation and padding as JSON.
            without_custom: whether components that are Python objects are left out; if false, they cause an error.
        """
        custom = {kind for kind, part in self.objects.items() if part is not None and part.is_custom}
        left_out = custom if without_custom else ()
        top = {
            "version": "1.0",
            **settings,
            "added_tokens": [self.added[id].to_json(id) for id in sorted(self.added)],
            **{kind: None if kind in left_out else self.written(kind) for kind in KINDS},
        }
        return f'{_dumps(top)[:-1]},"model":{self.model_object().json().decode()}}}'

    def written(self, kind: str) -> Any:
        """Returns the JSON of a component, in the form of Hugging Face's library; None if the component is missing."""
        part = self.stage(kind)
        return None if part is None else part.state

    def shown_facts(self, truncation: Any, padding: Any) -> dict[str, Any]:
        """Returns the values that `repr` shows."""
        return {
            "version": "1.0",
            "truncation": truncation,
            "padding": padding,
            "added_tokens": [self.added[id].to_json(id) for id in sorted(self.added)],
            **{kind: self.written(kind) for kind in KINDS},
            "model": self.model_object().state,
        }

    def replica(self, extension: Any, *, is_new: bool) -> Any:
        """Returns a tokenizer of Hugging Face's package in this state; the caller can change the tokenizer's settings.

        Args:
            extension: module of Hugging Face's package.
            is_new: if true, creates a new tokenizer, because another call may be using the cached tokenizer.
        """
        if is_new:
            return self._original(extension)
        versions = tuple(part.version for part in (self.model, *self.objects.values()) if part is not None)
        if self._replica is None or self._replica[0] != versions:
            self._replica = versions, self._original(extension)
        return self._replica[1]

    def _original(self, extension: Any) -> Any:
        made = extension.Tokenizer.from_str(self.to_json({}, without_custom=True))
        for kind, part in self.objects.items():
            if part is not None and part.is_custom:
                setattr(made, kind, part.original())
        return made

    # ── building ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def current(self) -> Built | None:
        """Returns the engine; None if Jeton does not support the state (`error` has the reason)."""
        for part, version in self._watched:
            if part.version != version:
                self._renew(part)
                return self._build()
        if self._built is None and self.error is None:
            return self._build()
        return self._built

    def _renew(self, part: Any) -> None:
        if part is self.model:  # the model's vocabulary may have changed
            self._spelled = self._tok = self._size = self._extra = None

    def _build(self) -> Built | None:
        self._watch()
        try:
            for kind, part in self.objects.items():
                if part is not None and part.is_custom:
                    raise UnsupportedFeatureError(f"the {kind} is a Python object", feature=kind)
            for token in self.added.values():
                if token.single_word and token.content not in self._not_entries():
                    reason = f"the added token {token.content!r} is an entry, which the model may use within words"
                    raise UnsupportedFeatureError(reason, feature="single_word")
            top = self._top()
            tok = self._shared(top) or self._read(top)
        except JetonError as error:
            self._built, self.error = None, error
            return None
        self._tok, self.error = tok, None
        self._model_version = None if self.model is None else self.model.version
        self._spelled = None
        self._built = Built(tok, self, top, self.members if self.model is None else self.model.entries_members())
        return self._built

    def _top(self) -> dict[str, Any]:
        return {
            "added_tokens": [token.to_json(id) for id, token in self.added.items()],
            **{kind: self.stage_json(kind) for kind in KINDS},
            "model": self.model_options,
        }

    def _read(self, top: dict[str, Any]) -> Tokenizer:
        self._size = len(self.spelled)
        return read_parsed(top, self.spelled, source="the tokenizer", drops_unknown=True)

    def _shared(self, top: dict[str, Any]) -> Tokenizer | None:
        """Returns a tokenizer that shares the last build's vocabulary; None if entries may have changed since then."""
        last = self._tok
        if last is None or (self.model is not None and self.model.version != self._model_version):
            return None
        model = last.definition.model
        known = {id: tuple(_flags(token)) for id, token in last.added_tokens.items()}
        if known != {id: tuple(token) for id, token in self.added.items()}:
            return None
        if isinstance(model, Bpe) and model.end_of_word:
            return None
        stages = stages_of(top, byte_level_model=isinstance(model, Bpe))
        if stages.pop("is_byte_level") != last.definition.is_byte_level:
            return None
        made = last._derived(definition=replace(last.definition, **stages), vocabulary=last._core.vocabulary())
        check_unreachable(made)
        return made


def _flags(token: Any) -> Iterable[Any]:
    return (getattr(token, name) for name in Added._fields)


def _members_of_core(tok: Tokenizer, not_entries: Collection[str], size: int) -> Members:
    """Returns the JSON members from which a tokenizer was created.

    Args:
        tok: the tokenizer.
        not_entries: contents of added tokens that are not entries of the model.
        size: number of entries of the model.
    """
    vocab, merges = written_members(tok)
    # If the ids have holes, the id of an added token may be between the ids of two entries. Then `vocab` contains this
    # added token, which is removed here.
    if not_entries and tok.vocab_size > size + len(not_entries):
        kept = {token: id for token, id in json.loads(vocab).items() if token not in not_entries}
        vocab = _dumps(kept).encode()
    return vocab, merges


def _members_of(model: dict[str, Any]) -> Members:
    merges = model.get("merges")
    return _dumps(model["vocab"]).encode(), None if merges is None else _dumps(merges).encode()


def _model_json(options: Mapping[str, Any], members: Members) -> str:
    vocab, merges = members
    rest = "" if merges is None else f',"merges":{merges.decode()}'
    return f'{_dumps(dict(options))[:-1]},"vocab":{vocab.decode()}{rest}}}'


def _unused() -> Members:
    return NO_VOCAB


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
