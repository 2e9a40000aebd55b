"""`parity`: compares a fast tokenizer with Jeton on a corpus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from ...compat.hf_backend import Engine, Unproven
from ...corpus import CorpusLike, open_corpus
from ...errors import UnsupportedFeatureError
from .library import fast_class
from .state import BackendState

__all__ = ["Difference", "Report", "parity"]

TEXTS_AT_ONCE = 256
MAX_EXAMPLES = 10


@dataclass(frozen=True)
class Difference:
    """A text for which the original and Jeton give different results.

    Attributes:
        kind: ``"ids"``, ``"offsets"`` or ``"text"`` (decoded ids).
        text: the text.
        original, jeton: the two results.
    """

    kind: str
    text: str
    original: Any
    jeton: Any


@dataclass(frozen=True)
class Report:
    """Result of `parity`.

    Attributes:
        num_texts: number of texts.
        num_ids: number of ids that the original gives.
        different: number of differences, by kind.
        on_original: number of texts for which Jeton falls back to the original, by reason.
        examples: the first differences.
        name: class of the tokenizer.

    Examples:
        >>> Report(2, 9, {"ids": 0, "offsets": 0, "text": 0}, {}, (), "BertTokenizer").is_equal
        True
    """

    num_texts: int
    num_ids: int
    different: dict[str, int]
    on_original: dict[str, int] = field(default_factory=dict)
    examples: tuple[Difference, ...] = ()
    name: str = ""

    @property
    def is_equal(self) -> bool:
        """True if all results are equal."""
        return not any(self.different.values())

    def to_json(self) -> dict[str, Any]:
        """Returns the report as JSON."""
        return asdict(self) | {"is_equal": self.is_equal}

    def __repr__(self) -> str:
        counts = ", ".join(f"{kind} {count:,}" for kind, count in self.different.items())
        lines = [f"{self.name}: {self.num_texts:,} texts, {self.num_ids:,} ids; different: {counts}"]
        lines += [f"  {count:,} texts on the original: {reason}" for reason, count in self.on_original.items()]
        for one in self.examples:
            lines.append(f"  {one.kind} of {one.text!r:.60}: {one.original!r:.60} and {one.jeton!r:.60}")
        return "\n".join(lines)


def parity(tok: Any, corpus: CorpusLike) -> Report:
    """Compares a fast tokenizer of transformers with Jeton, text by text: ids, offsets and decoded text.

    Args:
        tok: the tokenizer, accelerated or not; it is unchanged.
        corpus: as for `jeton.train`: texts, or paths of files.

    Raises:
        MissingDependencyError: transformers is not installed.
        UnsupportedFeatureError: Jeton does not support the tokenizer.

    Examples:
        >>> from tokenizers import Tokenizer, models
        >>> from transformers import PreTrainedTokenizerFast
        >>> backend = Tokenizer(models.WordLevel({"low": 0, "[UNK]": 1}, unk_token="[UNK]"))
        >>> parity(PreTrainedTokenizerFast(tokenizer_object=backend), ["low", "high"])
        TokenizersBackend: 2 texts, 2 ids; different: ids 0, offsets 0, text 0
    """
    if not isinstance(tok, fast_class()):
        raise TypeError(f"parity takes a PreTrainedTokenizerFast, not {type(tok).__name__}")
    snapshot = BackendState().current(tok._tokenizer)
    engine = snapshot.engine
    if engine is None:
        raise UnsupportedFeatureError(f"Jeton does not support this {type(tok).__name__}: {snapshot.error}")
    found = _Comparison(engine)
    texts = (document.data.decode() for document in open_corpus(corpus))
    while batch := list(islice(texts, TEXTS_AT_ONCE)):
        engine.on_replica(partial(found.add, texts=batch))
    return found.report(type(tok).__name__)


class _Comparison:
    """Running comparison: the differences found so far."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.num_texts = self.num_ids = 0
        self.different = {"ids": 0, "offsets": 0, "text": 0}
        self.on_original: dict[str, int] = {}
        self.examples: list[Difference] = []

    def add(self, backend: Any, texts: list[str]) -> None:
        """Encodes texts with both libraries, and compares the results."""
        backend.no_truncation()
        backend.no_padding()
        self.num_texts += len(texts)
        encodings = backend.encode_batch(texts)
        ids = [encoding.ids for encoding in encodings]
        self.num_ids += sum(map(len, ids))
        try:
            rows = self.engine.encode(texts, offsets=True)
        except Unproven:
            if len(texts) > 1:  # one of the texts is refused; compare each half alone to find it
                self.num_texts -= len(texts)
                self.num_ids -= sum(map(len, ids))
                half = len(texts) // 2
                self.add(backend, texts[:half])
                return self.add(backend, texts[half:])
            return self._refused(backend, texts[0], ids[0])
        self._compare("ids", texts, ids, rows.lists("input_ids"))
        self._compare("offsets", texts, [encoding.offsets for encoding in encodings], rows.lists("offset_mapping"))
        for skips in (False, True):
            decoded = backend.decode_batch(ids, skip_special_tokens=skips)
            self._compare("text", texts, decoded, self.engine.decode_batch(ids, skip_special_tokens=skips))
        return None

    def _refused(self, backend: Any, text: str, ids: list[int]) -> None:
        """Compares only the ids of a text that Jeton refuses to encode with offsets."""
        try:
            found = self.engine.encode_one(text)
        except Unproven as reason:
            self.on_original[str(reason)] = self.on_original.get(str(reason), 0) + 1
        else:
            self._compare("ids", [text], [ids], [found])
            self.on_original["offsets"] = self.on_original.get("offsets", 0) + 1

    def _compare(self, kind: str, texts: list[str], original: list[Any], jeton: list[Any]) -> None:
        if original == jeton:
            return
        for difference in self._differences(kind, texts, original, jeton):
            self.different[kind] += 1
            if len(self.examples) < MAX_EXAMPLES:
                self.examples.append(difference)

    @staticmethod
    def _differences(kind: str, texts: list[str], original: list[Any], jeton: list[Any]) -> Iterator[Difference]:
        for text, theirs, ours in zip(texts, original, jeton, strict=True):
            if theirs != ours:
                yield Difference(kind, text, theirs, ours)

    def report(self, name: str) -> Report:
        """Returns the report."""
        return Report(self.num_texts, self.num_ids, self.different, self.on_original, tuple(self.examples), name)
