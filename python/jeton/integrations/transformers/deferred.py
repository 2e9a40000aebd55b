"""`DeferredBackend`: placeholder for a `tokenizers.Tokenizer`. It builds the real tokenizer on demand.

transformers' own constructor and the calls that run on Jeton need only padding, truncation, added tokens and a few
other values. Any other access builds the real tokenizer, which takes over the settings and replaces the placeholder.
"""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

from ...compat.hf_backend import Unproven
from ...errors import JetonError, UnknownTokenError
from ...util.lazy import cached_property
from ...util.locks import ForkLock
from .library import major
from .state import SharedEngine, shared_engine

__all__ = ["DeferredBackend"]

STAGES = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
# If a `tokenizer.json` has no post-processor, transformers 5 adds a post-processor, and needs the real tokenizer for
# that. `_NO_TEMPLATE` detects such files. Only this many bytes at the start of a file are searched, because the
# post-processor precedes the model in the file. A wrong result of the search only costs time.
HEAD = 1 << 16
_NO_TEMPLATE = re.compile(rb'"post_processor"\s*:\s*null')
OWN = frozenset({"engine", "truncation", "padding", "encode_special_tokens", "_real", "_lock", "_empty"})


class DeferredBackend:
    """Placeholder with the settings and some properties of a `tokenizers.Tokenizer`.

    Args:
        engine: Jeton's engine for the tokenizer.
    """

    def __init__(self, engine: SharedEngine) -> None:
        self.engine = engine
        self.truncation: dict[str, Any] | None = None
        self.padding: dict[str, Any] | None = None
        self.encode_special_tokens = False
        self._real: Any = None
        self._lock = ForkLock()

    @classmethod
    def of_file(cls, path: str) -> DeferredBackend | None:
        """Reads a `tokenizer.json`; returns None if Hugging Face's library should read it instead.

        The result is None if Jeton does not support the file, if the file sets padding or truncation, or if
        transformers' constructor would build the real tokenizer anyway. In these cases, the tokenizer gets Jeton's
        engine only at its first call.
        """
        try:
            with Path(path).open("rb") as file:
                data = file.read(HEAD)
                if major() == 5 and _NO_TEMPLATE.search(data):
                    return None
                data += file.read()
            engine = shared_engine(data.decode())
        except (JetonError, Unproven, OSError, ValueError):
            return None
        definition = engine.tok.definition
        return cls(engine) if definition.truncation is None and definition.padding is None else None

    def __deepcopy__(self, memo: Any) -> Any:
        if self._real is not None:
            return copy.deepcopy(self._real)
        found = DeferredBackend(self.engine)
        found.truncation, found.padding = copy.copy(self.truncation), copy.copy(self.padding)
        found.encode_special_tokens = self.encode_special_tokens
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        settings = self.truncation, self.padding, self.encode_special_tokens
        return _unpickled, (self.real() if self._real is not None else self.engine.serialized, *settings)

    def real(self) -> Any:
        """Returns the `tokenizers.Tokenizer`, the same object in each call."""
        with self._lock:
            if self._real is None:
                from tokenizers import Tokenizer

                made = Tokenizer.from_str(self.engine.serialized)
                made.encode_special_tokens = self.encode_special_tokens
                if self.truncation is not None:
                    made.enable_truncation(**self.truncation)
                if self.padding is not None:
                    made.enable_padding(**self.padding)
                if self._real is None:  # false if a signal handler has built it in the meantime
                    self._real = made
            return self._real

    @property
    def is_real(self) -> bool:
        """True once the real tokenizer exists."""
        return self._real is not None

    @cached_property
    def _empty(self) -> Any:
        """Returns a `tokenizers.Tokenizer` with the stages of this tokenizer and an empty model."""
        from tokenizers import Tokenizer

        model = {"type": "BPE", "vocab": {}, "merges": []}
        top = {"version": "1.0", "added_tokens": [], **self.engine.stages, "model": model}
        return Tokenizer.from_str(json.dumps(top))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in STAGES and self._real is None:
            return getattr(self._empty, name)
        return getattr(self.real(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if (name in OWN and self.__dict__.get("_real") is None) or (name in OWN and name.startswith("_")):
            self.__dict__[name] = value
        else:
            setattr(self.real(), name, value)

    # ── settings ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def __getattribute__(self, name: str) -> Any:
        own = object.__getattribute__(self, "__dict__")
        if name in SETTINGS and own.get("_real") is not None:
            return getattr(own["_real"], name)
        return object.__getattribute__(self, name)

    def no_truncation(self) -> None:
        """See `tokenizers.Tokenizer`."""
        self.truncation = None

    def no_padding(self) -> None:
        """See `tokenizers.Tokenizer`."""
        self.padding = None

    def enable_truncation(
        self, max_length: Any, stride: Any = 0, strategy: str = "longest_first", direction: str = "right"
    ) -> None:
        """See `tokenizers.Tokenizer`."""
        is_plain = type(max_length) is int and 0 <= max_length < 1 << 31 and type(stride) is int and stride == 0
        if (
            not is_plain
            or strategy not in ("longest_first", "only_first", "only_second")
            or direction not in ("right", "left")
        ):
            self.real().enable_truncation(max_length, stride=stride, strategy=strategy, direction=direction)
            return
        self.truncation = {"max_length": max_length, "stride": stride, "strategy": strategy, "direction": direction}

    def enable_padding(self, **options: Any) -> None:
        """See `tokenizers.Tokenizer`."""
        known = {
            "direction": "right",
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "[PAD]",
            "length": None,
            "pad_to_multiple_of": None,
        }
        wanted = known | options
        numbers = [wanted["pad_id"], wanted["pad_type_id"], wanted["length"] or 0, wanted["pad_to_multiple_of"] or 0]
        is_plain = all(type(number) is int and 0 <= number < 1 << 31 for number in numbers) and len(wanted) == len(
            known
        )
        if not is_plain or type(wanted["pad_token"]) is not str or wanted["direction"] not in ("right", "left"):
            self.real().enable_padding(**options)
            return
        self.padding = wanted

    # ── facts ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def get_added_tokens_decoder(self) -> dict[int, Any]:
        """See `tokenizers.Tokenizer`."""
        from tokenizers import AddedToken

        return {
            id: AddedToken(token.content, **{flag: getattr(token, flag) for flag in FLAGS})
            for id, token in sorted(self.engine.tok.added_tokens.items())
        }

    def add_special_tokens(self, tokens: Any) -> int:
        """See `tokenizers.Tokenizer`."""
        return 0 if self._has(tokens, is_special=True) else self.real().add_special_tokens(tokens)

    def add_tokens(self, tokens: Any) -> int:
        """See `tokenizers.Tokenizer`."""
        return 0 if self._has(tokens, is_special=False) else self.real().add_tokens(tokens)

    def _has(self, tokens: Any, *, is_special: bool) -> bool:
        """Tests whether the tokenizer already has all of these tokens, with the same flags."""
        from tokenizers import AddedToken

        known = {token.content: token for token in self.engine.tok.added_tokens.values()}
        for token in tokens:  # a short loop: one call adds only a few tokens
            found = known.get(token.content if isinstance(token, AddedToken) else "")
            if found is None or not all(
                getattr(found, flag) == (getattr(token, flag) or (flag == "special" and is_special)) for flag in FLAGS
            ):
                return False
        return True

    def token_to_id(self, token: str) -> int | None:
        """See `tokenizers.Tokenizer`."""
        try:
            return self.engine.tok.token_to_id(token)
        except UnknownTokenError:
            return None

    def id_to_token(self, id: int) -> str | None:
        """See `tokenizers.Tokenizer`."""
        try:
            return self.engine.tok.id_to_token(id)
        except UnknownTokenError:
            return None

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """See `tokenizers.Tokenizer`."""
        return len(self.engine.tok) if with_added_tokens else self.engine.num_entries


SETTINGS = frozenset(
    {
        "truncation", "padding", "encode_special_tokens", "no_truncation", "no_padding", "enable_truncation",
        "enable_padding", "get_added_tokens_decoder", "add_special_tokens", "add_tokens", "token_to_id", "id_to_token",
        "get_vocab_size",
    }
)  # fmt: skip


def _unpickled(source: Any, truncation: Any, padding: Any, splits: bool) -> Any:
    if not isinstance(source, str):
        return source
    found = DeferredBackend(shared_engine(source))
    found.truncation, found.padding, found.encode_special_tokens = truncation, padding, splits
    return found
