"""Layouts of shards. Each format has a class, which writes, reads and joins the files of shards.

```text
base        the interface, ends of documents, memory-mapped documents
megatron    .bin and .idx
raw         ids back to back: nanoGPT, llm.c, datatrove, OLMo
columns     Parquet and Arrow
streaming   MDS and litdata, with an index of all shards
```

Counts of pretokens are not a layout, because they have no ids (`counting`).
"""

from __future__ import annotations

from .base import Documents, Int64, Layout, Places, ShardFacts, ShardWriter, positions, shard_facts
from .columns import Arrow, Parquet
from .megatron import Megatron
from .raw import Bin, Datatrove, LlmC, Olmo
from .streaming import LitData, Mds

__all__ = [
    "COUNTS",
    "FORMATS",
    "LAYOUTS",
    "Documents",
    "Int64",
    "Layout",
    "Places",
    "ShardFacts",
    "ShardWriter",
    "positions",
    "shard_facts",
]

LAYOUTS: dict[str, Layout] = {
    layout.name: layout
    for layout in (Megatron(), Bin(), LlmC(), Datatrove(), Olmo(), Mds(), LitData(), Parquet(), Arrow())
}
COUNTS = "counts"
FORMATS = (*LAYOUTS, COUNTS)
