"""`Plan`: for each new id, the source of its embedding row; stored as columns.

A new row is a copy of an old row, a weighted mean of old rows, a row of a donor model, or noise. The plan is created
together with the tokenizer and contains no matrix; `plan_rows` has its columns, `transplant` derives weights from a
donor's matrix, and `embeddings` applies the plan to files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, keyword
from ..tokenizer import Tokenizer
from ..util.arguments import choice, integer, wrong
from .embeddings import apply_plan
from .plan_rows import PlanRows
from .transplant import donor_rows, mixed_rows

__all__ = ["Plan"]

METHODS = ("mean", "noise", "donor", "focus", "omp")


@dataclass(frozen=True, eq=False)
class Plan(PlanRows):
    """Source of the embedding row of each new id. `Surgery.plan` is a plan; `by` derives a plan with another method.

    Attributes:
        tokenizer_before, tokenizer: the old and the new tokenizer; a matrix has a row for each id below the tokenizer's
            `vocab_size`.
        copied: int64[n]: for each new id, the old id whose row it keeps; -1 if the row has another source.
        mixed: int64[m], ascending: for each term of the weighted means, the new id to whose row the term is added.
        mixed_from: int64[m]: for each term, the old id whose row is weighted.
        weights: float64[m]: weight of each term. The weights of one new id add up to 1, except with ``"omp"``.
        donors: int64[n]: for each new id, the donor model's id whose row it gets; -1 if the row has another source.
        method: name of the method for new entries.
        seed: seed of the noise.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], 260, pattern="gpt2", progress=False)
        >>> plan = jeton.add_words(tok, ["slow"]).plan
        >>> plan.of(256), plan.of(260)
        (('copy', 256), ('mean', {115: 0.5, 257: 0.5}))
    """

    @classmethod
    def make(
        cls,
        before: Tokenizer,
        after: Tokenizer,
        copied: NDArray[np.int64],
        pieces: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
    ) -> Plan:
        """Builds a plan in which entries that are not copied get the means of their pieces.

        Args:
            before, after: the tokenizers.
            copied: the attribute `copied` of the plan.
            pieces: for each piece of a new entry, the entry's new id and the piece's old id; None if there are no new
                entries.
        """
        empty = np.empty(0, np.int64)
        new, old = (empty, empty) if pieces is None else pieces
        return cls(before, after, copied, *_means(new, old), np.full(copied.size, -1, np.int64))

    def of(self, id: int) -> tuple[str, Any]:
        """Returns the source of one row: ``("copy", old id)``, ``("mean", {old id: weight})``, ``("donor", id)``,
        ``("noise", seed)``, or ``("zero", None)`` for an id without an entry.
        """
        id = integer(id, "id", 0, self.num_new - 1)
        if self.copied[id] >= 0:
            return "copy", int(self.copied[id])
        if self.donors[id] >= 0:
            return "donor", int(self.donors[id])
        start, end = np.searchsorted(self.mixed, [id, id + 1])
        if start < end:
            terms = zip(self.mixed_from[start:end].tolist(), self.weights[start:end].tolist(), strict=True)
            return "mean", dict(terms)
        return ("noise", self.seed) if self.tokenizer._core.kind(id) else ("zero", None)

    def summary(self) -> str:
        """Returns the number of rows from each source, as text."""
        means = np.unique(self.mixed).size
        what = "by " + {"mean": "mean of pieces"}.get(self.method, self.method)
        numbers = [
            (int((self.copied >= 0).sum()), "copied"),
            (means, what),
            (int((self.donors >= 0).sum()), "rows of the donor"),
            (self.noise.size, "noise"),
        ]
        unused = self.num_new - sum(number for number, _ in numbers)
        numbers.append((unused, "unused"))
        return ", ".join(f"{number:,} {name}" for number, name in numbers if number) or "no rows"

    def verify(self) -> None:
        """Checks that the plan fits its tokenizers; for example, that all ids exist and that no row has two sources.

        Raises:
            ConfigError: the plan does not fit; the error has the first fault.

        Examples:
            >>> import jeton
            >>> tok = jeton.train(["low lower lowest"], 260, pattern="gpt2", progress=False)
            >>> jeton.add_words(tok, ["slow"]).plan.verify()
        """
        if self.copied.size != self.tokenizer.vocab_size or self.donors.size != self.copied.size:
            raise ConfigError(f"the plan has {self.copied.size} rows for {self.tokenizer.vocab_size} ids")
        if not self.mixed.size == self.mixed_from.size == self.weights.size:
            raise ConfigError("the plan's columns of mixed rows differ in length")
        for name, ids, limit in (
            ("copied", self.copied, self.num_old),
            ("mixed_from", self.mixed_from, self.num_old),
            ("mixed", self.mixed, self.num_new),
        ):
            wrong = ids[(ids >= limit) | (ids < (-1 if name == "copied" else 0))]
            if wrong.size:
                raise ConfigError(f"{name} contains {int(wrong[0])}, which is not an id: ids are 0 to {limit - 1}")
        copies = self.copied[self.copied >= 0]
        if np.unique(copies).size != copies.size:
            raise ConfigError("an old row is copied to two new ids")
        sources = (self.copied >= 0).astype(int) + (self.donors >= 0)
        sources[np.unique(self.mixed)] += 1
        if (sources > 1).any():
            raise ConfigError(f"the new id {int(np.flatnonzero(sources > 1)[0])} has two sources")
        if (np.diff(self.mixed) < 0).any():
            raise ConfigError("the mixed rows are not in ascending order")
        if not np.isfinite(self.weights).all():
            raise ConfigError("a weight is not a finite number")
        moved = self.id_map[list(self.tokenizer_before.special_tokens.values())]
        for (content, _), new in zip(self.tokenizer_before.special_tokens.items(), moved.tolist(), strict=True):
            if new >= 0 and self.tokenizer.special_tokens.get(content) != new:
                raise ConfigError(f"the row of the special token {content!r} would go to the id {new}")

    def to_json(self) -> dict[str, Any]:
        """Returns the plan as JSON: one list per column."""
        return {
            "method": self.method,
            "seed": self.seed,
            "rows_before": self.num_old,
            "rows": self.num_new,
            "copied": self.copied.tolist(),
            "mixed": self.mixed.tolist(),
            "mixed_from": self.mixed_from.tolist(),
            "weights": self.weights.tolist(),
            "donors": self.donors.tolist(),
        }

    def by(
        self,
        method: Literal["mean", "noise", "donor", "focus", "omp"] | Callable[[int, bytes], Mapping[int, float] | None],
        *,
        donor: Tokenizer | None = None,
        embeddings: NDArray[Any] | None = None,
        k: int = 64,
        seed: int = 0,
    ) -> Plan:
        """Returns the plan with another method for the new entries. Copied rows stay copied.

        Args:
            method: ``"mean"``: mean of the old tokens that spell the entry; ``"noise"``: normally distributed around
                the mean of all rows; ``"donor"``: the row of the donor's token with the same bytes, for donors whose
                embeddings are compatible with the model's; ``"focus"``, ``"omp"``: weighted rows of tokens that donor
                and old tokenizer share, with weights from the donor's embeddings; or a function (new id, its bytes) →
                {old id: weight}, or None for noise.
            donor: tokenizer of the donor, for ``"donor"``, ``"focus"`` and ``"omp"``.
            embeddings: float[ids of the donor, width], for ``"focus"`` and ``"omp"``.
            k: maximum number of old tokens that form a row, for ``"focus"`` and ``"omp"``.
            seed: seed of the noise.

        Raises:
            ConfigError: the method is unknown, or its donor is missing; the function returns invalid ids or weights.

        Examples:
            >>> import jeton
            >>> tok = jeton.train(["low lower lowest"], 260, pattern="gpt2", progress=False)
            >>> jeton.add_words(tok, ["slow"]).plan.by(lambda id, token: {256: 1.0}).of(260)
            ('mean', {256: 1.0})

        Source:
            Mean of pieces: Gee et al. 2022, arXiv 2402.09977. FOCUS: Dobler and de Melo 2023, arXiv 2305.14481, section
            3; there the auxiliary embeddings are fastText's. OMP: Goddard and Fernandes Neto 2025, arXiv 2506.06607.
        """
        seed = integer(seed, "seed", 0, (1 << 63) - 1)
        entries = np.array([*self.tokenizer._core.ids()], np.int64)
        new = entries[self.copied[entries] < 0]
        bare = replace(self, mixed=new[:0], mixed_from=new[:0], weights=np.empty(0), seed=seed)
        bare = replace(bare, donors=np.full(self.num_new, -1, np.int64))
        if callable(method):
            mixed = self._by_function(method, new)
            name = getattr(method, "__name__", "function")
            return replace(bare, method=name, mixed=mixed[0], mixed_from=mixed[1], weights=mixed[2])
        choice(method, "method", METHODS)
        if method == "noise":
            return replace(bare, method="noise")
        if method == "mean":
            if self.method != "mean":
                raise ConfigError(f"a plan by {self.method} no longer has the pieces; call by() on Surgery.plan")
            return replace(bare, method="mean", mixed=self.mixed, mixed_from=self.mixed_from, weights=self.weights)
        if not isinstance(donor, Tokenizer):
            raise wrong("donor", donor, f"a Tokenizer, which {keyword('method', method)} needs")
        if method == "donor":
            donors = bare.donors.copy()
            donors[new] = donor_rows(self.tokenizer, donor)[new]
            return replace(bare, method="donor", donors=donors)
        if embeddings is None:
            raise ConfigError(
                f"{keyword('method', method)} needs {keyword('embeddings')}, the donor's matrix", option="embeddings"
            )
        mixed = mixed_rows(method, self, new, donor, embeddings, integer(k, "k", 1))
        return replace(bare, method=method, mixed=mixed[0], mixed_from=mixed[1], weights=mixed[2])

    def _by_function(
        self, weights_of: Callable[[int, bytes], Mapping[int, float] | None], new: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Returns the columns `mixed`, `mixed_from` and `weights`, computed with a user's function."""
        terms: list[tuple[int, int, float]] = []
        for id in new.tolist():
            found = weights_of(id, self.tokenizer.id_to_bytes(id))
            for old, weight in (found or {}).items():
                integer(old, "method", 0, self.num_old - 1)
                terms.append((id, old, float(weight)))
        terms.sort()
        mixed, olds, weights = zip(*terms, strict=True) if terms else ((), (), ())
        return np.array(mixed, np.int64), np.array(olds, np.int64), np.array(weights, np.float64)

    def apply(
        self,
        source: str | os.PathLike[str],
        target: str | os.PathLike[str],
        *,
        names: Sequence[str] | None = None,
        multiple_of: int = 1,
        donor: str | os.PathLike[str] | None = None,
    ) -> dict[str, list[int]]:
        """Writes a model whose embeddings and output head have a row for each new id.

        Tensors are copied in blocks, so memory does not grow with the model. Copied rows stay equal bit for bit.
        Supported types: F32, F16, BF16 and F64.

        Args:
            source: a ``.safetensors`` file, a ``.safetensors.index.json``, or a folder with one of them.
            target: a ``.safetensors`` file if `source` is such a file, else a folder. Other files of the source's
                folder are copied; ``vocab_size`` in the ``config.json`` is updated. `target` must not be `source`.
            names: names of the tensors with a row for each id; None: the usual names in models.
            multiple_of: rows of zeros are appended until the number of rows is a multiple of this.
            donor: the donor model's file, if the plan has rows of a donor.

        Returns:
            Name of each changed tensor -> its new shape.

        Raises:
            ConfigError: there is no such tensor, or it has fewer rows than the old tokenizer has ids, or its type is
                not supported.
            FormatError: a file is corrupt.
        """
        self.verify()
        return apply_plan(self, source, target, names, integer(multiple_of, "multiple_of", 1), donor)


def _means(
    new: NDArray[np.int64], old: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Returns the terms of weighted means: each distinct pair of a new and an old id, weighted by its occurrences."""
    if not new.size:
        return new.astype(np.int64), old.astype(np.int64), np.empty(0)
    pairs, times = np.unique(np.stack([new, old]), axis=1, return_counts=True)
    totals = np.bincount(pairs[0], weights=times)
    return pairs[0], pairs[1], times / totals[pairs[0]]
