"""`BackendState`: the engine for a `tokenizers.Tokenizer`, rebuilt after each change of the tokenizer.

The `tokenizers.Tokenizer` stays the source of truth. A `Snapshot` has the engine for one state of this tokenizer, and
the values of that state. A later call compares these values with the tokenizer, to detect a change (`changes`). Equal
tokenizers share one engine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

from ...compat.hf_backend import Engine, Unproven
from ...definition import Unigram
from ...formats.tokenizer_json import read_with_facts
from ...util.lazy import cached_property
from ...util.locks import ForkLock
from .changes import DECODER, model_options, stages, version, watch
from .counts import new_counts

__all__ = ["BackendState", "SharedEngine", "Snapshot", "check", "engine_of", "shared_engine"]

READS = 8
CALLS_LEFT = 8
TRIES = 8  # attempts to get equal ids for a text; another thread can set truncation during an attempt
MAX_PROBES = 4_096  # maximum number of normalized added tokens that are encoded
PROBES = ("", " ", "Hello  world's\n\n\tfoo_bar 1234", "na\u00efve \u4eca\u5929 e\u0301 \U0001f44d\u200d", "a" * 40)


class SharedEngine(Engine):
    """Engine with the serialized tokenizer from which it was built.

    Attributes:
        serialized: content of a `tokenizer.json`.
        stages: stages of the tokenizer, as JSON.
        num_entries: number of entries of the tokenizer's model.
    """

    def __init__(self, serialized: str) -> None:
        tok, self.stages, self.num_entries = read_with_facts(serialized.encode(), source="the tokenizer")
        super().__init__(tok)
        self.serialized = serialized
        self._replica: Any = None
        self._spelled: dict[int, str] | None = None
        self._lock = ForkLock()

    @cached_property
    def _odd_ids(self) -> frozenset[int]:
        """Ids for which Hugging Face's `tokens` shows text of the input instead of a fixed token."""
        definition = self.tok.definition
        is_normalized = bool(definition.normalizer)
        odd = {
            id
            for id, token in self.tok.added_tokens.items()
            if token.lstrip or token.rstrip or (token.normalized and is_normalized)
        }
        if isinstance(definition.model, Unigram):
            odd |= {self.tok.token_to_id(definition.model.unk_token)} if definition.model.unk_token else set()
        return frozenset(odd)

    def tokens(self, ids: list[int], backend: Any) -> list[str] | None:
        """Returns the token that each id stands for; None if the ids alone do not determine the tokens.

        Args:
            ids: the ids of a text that was encoded without the tokens of a template.
            backend: a `tokenizers.Tokenizer` of this state.
        """
        if not self._odd_ids.isdisjoint(ids):
            return None
        spelled = self._spelled
        if spelled is None:
            vocab = backend.get_vocab(with_added_tokens=True)
            spelled = self._spelled = dict(zip(vocab.values(), vocab.keys(), strict=True))
        return list(map(spelled.__getitem__, ids))

    def on_replica(self, call: Callable[[Any], Any]) -> Any:
        """Calls a function with a private `tokenizers.Tokenizer`, built from the serialized tokenizer."""
        from tokenizers import Tokenizer

        with self._lock as lock:
            if lock.depth > 1:  # a signal handler runs during a call with the replica
                return call(Tokenizer.from_str(self.serialized))
            if self._replica is None or lock.was_forked:  # at the fork, another thread may have been using the replica
                self._replica = Tokenizer.from_str(self.serialized)
                lock.was_forked = False
            return call(self._replica)


_ENGINES: WeakValueDictionary[bytes, SharedEngine] = WeakValueDictionary()
_lock = ForkLock()


def shared_engine(serialized: str) -> SharedEngine:
    """Returns the engine of a serialized tokenizer, the same object for equal tokenizers.

    Raises:
        JetonError: Jeton does not support the tokenizer.
    """
    key = hashlib.blake2b(serialized.encode(), digest_size=32).digest()
    engine = _ENGINES.get(key)
    if engine is None:
        engine = SharedEngine(serialized)
        with _lock:
            engine = _ENGINES.setdefault(key, engine)
    return engine


def engine_of(backend: Any) -> SharedEngine:
    """Returns the engine for a tokenizer's current state.

    Raises:
        JetonError: Jeton does not support the tokenizer.
        Unproven: the tokenizer gives other ids than its serialized form.
    """
    engine = shared_engine(backend.to_str())
    check(backend, engine)
    return engine


def check(backend: Any, engine: Engine) -> None:
    """Compares the ids that a `tokenizers.Tokenizer` and an engine give for a few texts.

    A tokenizer that was changed step by step can differ from its serialized form: normalized added tokens keep the
    normalizer that was set when they were added.
    """
    added = [token.content for token in engine.tok.added_tokens.values() if token.normalized]
    if len(added) > MAX_PROBES:
        raise Unproven(f"more than {MAX_PROBES:,} normalized added tokens")
    texts = [*PROBES, *(f"a {content}b{content}" for content in added)]
    is_split = backend.encode_special_tokens
    for text in texts:
        try:
            found = engine.encode_one(text, add_special_tokens=False, splits_special=is_split)
        except Unproven:  # Jeton cannot encode this text without loss; a call with such a text runs on the original
            continue
        for _ in range(TRIES):
            length = backend.truncation
            if length is not None and len(found) > length["max_length"]:
                break
            expected = backend.encode(text, add_special_tokens=False)
            ids = [id for id, is_real in zip(expected.ids, expected.attention_mask, strict=True) if is_real]
            if ids == found:
                break
        else:
            raise Unproven(f"the ids of {text!r} differ")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state of a tokenizer.

    Attributes:
        backend: the `tokenizers.Tokenizer`.
        version, stages, model, options: values for the comparison with later states.
        engine: None if Jeton does not support the state.
        reason: why Jeton does not support it; None if it does.
        error: the exception that Jeton raised, if any.
    """

    backend: Any
    version: object
    stages: Any
    model: Any
    options: Callable[[Any], Any]
    engine: SharedEngine | None
    reason: str = ""
    error: BaseException | None = field(default=None, repr=False)

    def is_current(self, backend: Any) -> bool:
        """Tests whether a tokenizer is still in this state."""
        if self.backend is not backend or self.version is not version(backend):
            return False
        try:
            found: bool = self.stages == stages(backend, self.options, self.model)
        except Exception:  # a stage implemented in Python cannot be serialized
            return self.stages is None
        return found


class Use:
    """Record of whether any code read the encodings of a result."""

    __slots__ = ("is_read",)

    def __init__(self) -> None:
        self.is_read = False


class BackendState:
    """Engine of a tokenizer, and counts of its calls. A copied or unpickled state is empty and is rebuilt on use."""

    def __init__(self) -> None:
        self.counts = new_counts()
        self._snapshot: Snapshot | None = None
        self._last = Use()
        self._num_read = 0  # increases for each result whose encodings were read, and decreases for other results
        self._num_left = 0  # calls on the original since the last call on Jeton

    def next_use(self) -> Use | None:
        """Returns the `Use` for the next result; None if the call should run on the original tokenizer.

        If the encodings of a result are read, the original library builds them, even if the call ran on Jeton. So if
        the encodings of nearly every result are read, running on Jeton saves no time. Then only one of every
        `CALLS_LEFT` calls runs on Jeton, to notice when encodings are no longer read.
        """
        if self._num_left and self._num_left < CALLS_LEFT:
            self._num_left += 1
            return None
        self._num_read = min(self._num_read + 1, 2 * READS) if self._last.is_read else max(self._num_read - 4, 0)
        self._num_left = int(self._num_read >= READS)
        self._last = Use()
        return self._last

    def __reduce__(self) -> tuple[Any, ...]:
        return BackendState, ()

    def __deepcopy__(self, memo: Any) -> BackendState:
        return BackendState()

    def current(self, backend: Any) -> Snapshot:
        """Returns the snapshot of a tokenizer's current state."""
        last = self._snapshot
        if hasattr(type(backend), "is_real"):  # a `DeferredBackend`
            return self._deferred(backend, last)
        if last is not None and last.is_current(backend):
            return last
        watch()
        snapshot = self._made(backend)
        self._snapshot = snapshot
        return snapshot

    def current_decoder(self, backend: Any) -> Snapshot:
        """Returns the snapshot. To save time, detects only changes of values that affect decoding."""
        last = self._snapshot
        if hasattr(type(backend), "is_real"):
            return self._deferred(backend, last)
        if last is not None and last.backend is backend and last.version is version(backend) and last.stages:
            decoder = backend.decoder
            if last.stages[DECODER] == (decoder and decoder.__getstate__()):
                return last
        return self.current(backend)

    def _deferred(self, backend: Any, last: Snapshot | None) -> Snapshot:
        """Returns the snapshot of a deferred tokenizer, whose state cannot change before the real tokenizer exists."""
        if backend.is_real:
            return self.current(backend.real())
        if last is None or last.backend is not backend:
            last = self._snapshot = Snapshot(backend, None, None, None, type, backend.engine)
        return last

    def _made(self, backend: Any) -> Snapshot:
        seen = version(backend)
        model = backend.model
        options = model_options(model)
        found: Any = None
        try:
            found = stages(backend, options, model)
            if getattr(model, "alpha", None) is not None:  # `alpha` is not serialized
                raise Unproven("a model that samples")
            engine = engine_of(backend)
        except BaseException as error:  # `BaseException`, because panics of the library are not an `Exception`
            if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError)):
                raise
            return Snapshot(backend, seen, found, model, options, None, _reason(error), error)
        return Snapshot(backend, seen, found, model, options, engine)


def _reason(error: BaseException) -> str:
    return f"unsupported tokenizer ({json.dumps(str(error)[:200], ensure_ascii=False)})"
