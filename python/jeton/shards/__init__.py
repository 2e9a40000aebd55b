"""Corpora → token shards, and counts of pretokens, on one machine or many.

```text
plan           `Plan`: all data that determines the bytes of shards; `planning` makes plans, `tasks` divides inputs
execution      runs one task: `encoding` turns documents into ids, `layouts` writes a format, `counting` writes counts
conversations  encodes documents that are chats, with a loss mask
collecting     writes documents in another order: in packed rows (`packing`) or shuffled (`shuffling`); `writers`
               selects the class that writes the documents of a task
folder         files of a folder of shards, local or at a URL (`storage`); `outputs` hashes files while they are written
sealed         files of JSON with a digest of their own bytes; `checks` validates types and ranges of their entries
running        runs the incomplete tasks, by a runner of `jeton.runners`; `pace` measures their rate, for `status`
skipping       skipped records: files of rejects, and limits
validity       finds completions that no longer match the plan, and changes plans
merging        completions → manifest and report; joins shards into one file
verification   reads everything again and compares; `relocation` finds inputs that were moved, or are missing
dataset        `open`: memory-mapped documents or rows (`rows`), of one or several folders (`opened`)
loader         shuffled batches of rows for training (`order` computes the shuffle); `blend` mixes several folders
metadata       kept fields of the records of documents, in files beside the shards
hashing        divides documents into parts by a hash of their bytes
report         totals, also by source (`sources`), as JSON, Markdown and a plot (`report_plot`)
making         all steps in one call, also to add inputs or to repair; `splitting`: in parts by a hash of the documents;
               `mixing`: a folder for each source of a `mix_file` (`mix`, `mix_exports`); `scripts`: job scripts
```

The output of a task depends only on its pieces of the inputs, the options and its number, not on workers, runners,
batches or interruptions. So tasks can run on any machine, in any order, any number of times.
"""

from __future__ import annotations

from .blend import Blend, blend
from .dataset import ShardDataset, open
from .layouts import FORMATS
from .loader import ShardLoader, loader
from .making import add, make, repair
from .merging import merge
from .metadata import Metadata, metadata
from .mix import Mix, MixedSource, mix
from .mix_exports import mixture_settings
from .mixing import make_mix, plan_mix
from .plan import Plan
from .planning import Status, plan, status
from .report import Report, report
from .rows import PackedRows
from .running import run
from .scripts import kubernetes_manifest, slurm_script
from .splitting import make_split, plan_split
from .verification import Verification, verify

__all__ = [
    "FORMATS",
    "Blend",
    "Metadata",
    "Mix",
    "MixedSource",
    "PackedRows",
    "Plan",
    "Report",
    "ShardDataset",
    "ShardLoader",
    "Status",
    "Verification",
    "add",
    "blend",
    "kubernetes_manifest",
    "loader",
    "make",
    "make_mix",
    "make_split",
    "merge",
    "metadata",
    "mix",
    "mixture_settings",
    "open",
    "plan",
    "plan_mix",
    "plan_split",
    "repair",
    "report",
    "run",
    "slurm_script",
    "status",
    "verify",
]
