"""`Surgery`: the result of changing a vocabulary; and functions that build the changed tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import Vocabulary
from ..definition import Definition
from ..tokenizer import Tokenizer
from ..util.readonly import read_only
from .plan import Plan

__all__ = ["Surgery", "built", "renumbered_definition"]

REMOVED = (1 << 32) - 1  # a new id of this value tells the core to remove the entry


@dataclass(frozen=True)
class Surgery:
    """The result of changing a vocabulary: the new tokenizer, the plan for a model's embeddings, and a report.

    Attributes:
        tokenizer: the new tokenizer.
        plan: source of the embedding row of each new id.
        report: figures and lists that describe the change, by name. Ids in it are those of the new tokenizer unless the
            name says otherwise.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], 260, pattern="gpt2", progress=False)
        >>> print(jeton.add_words(tok, ["slow"]))
        add_words: 260 → 261 entries
          words        1
          new_entries  1
          new_merges   1
          unreachable  []
          plan         260 copied, 1 by mean of pieces
    """

    tokenizer: Tokenizer
    plan: Plan
    report: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "report", read_only(dict(self.report)))

    def to_json(self) -> dict[str, Any]:
        """Returns the report, the plan, and the fingerprint of the tokenizer as JSON."""
        return {"report": _plain(self.report), "plan": self.plan.to_json(), "fingerprint": self.tokenizer.fingerprint}

    def __repr__(self) -> str:
        facts = {name: value for name, value in self.report.items() if name not in ("verb", "before", "after")}
        facts["plan"] = self.plan.summary()
        width = max(map(len, facts))
        head = f"{self.report['verb']}: {self.report['before']:,} → {self.report['after']:,} entries"
        return "\n".join([head, *(f"  {name:<{width}}  {_shown(value)}" for name, value in facts.items())])


def built(tok: Tokenizer, vocabulary: Vocabulary, new_ids: NDArray[np.int64] | None = None, **model: Any) -> Tokenizer:
    """Builds a tokenizer with another vocabulary. The facts of the old tokenizer's training are left out.

    Args:
        tok: the old tokenizer.
        vocabulary: the new entries.
        new_ids: int64[n]: for each old id, the new id; None: the old ids are unchanged.
        model: the options of the model that change, with their new values.
    """
    definition = replace(tok.definition, training=None, hf_vocab_size=None)
    if model:
        definition = replace(definition, model=replace(definition.model, **model))
    if new_ids is not None:
        definition = renumbered_definition(definition, new_ids)
    return tok._derived(definition=definition, vocabulary=vocabulary)


def renumbered_definition(definition: Definition, new_ids: NDArray[np.int64]) -> Definition:
    """Returns the definition with the ids of its template and padding renumbered."""
    template, padding = definition.template, definition.padding
    if template is not None:
        template = _renumbered_template(template, new_ids)
    if padding is not None and isinstance(padding.get("pad_id"), int) and 0 <= padding["pad_id"] < new_ids.size:
        padding = {**padding, "pad_id": max(int(new_ids[padding["pad_id"]]), 0)}
    return replace(definition, template=template, padding=padding)


def _renumbered_template(part: Any, new_ids: NDArray[np.int64]) -> Any:
    if isinstance(part, Mapping):
        ids = [int(new_ids[id]) for id in part["ids"]] if "ids" in part else None
        whole = {name: _renumbered_template(value, new_ids) for name, value in part.items() if name != "ids"}
        return whole if ids is None else {**whole, "ids": ids}
    return [_renumbered_template(each, new_ids) for each in part] if isinstance(part, list | tuple) else part


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


MAX_LISTED = 8  # maximum number of values of a list in `repr`


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(each)}" for name, each in value.items()) or "none"
    if isinstance(value, list | tuple) and len(value) > MAX_LISTED:
        return f"{len(value):,}: [{', '.join(map(str, value[:MAX_LISTED]))}, …]"
    return str(list(value) if isinstance(value, tuple) else value)
