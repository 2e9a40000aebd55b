"""Corpora → token shards, and counts of pretokens, on one machine or many.

```text
plan        `Plan`, the data that determines all bytes: planning makes it, tasks cuts inputs into tasks
execution   one task: encoding turns documents into ids, layouts/ has a class a format, counting makes counts
conversations  documents that are chats, with a loss mask
collecting  documents in another order: packing into rows, shuffling in two stages; writers selects
folder      files of a folder of shards, in `storage`: local, or at a URL; outputs: hashed while they are written
sealed      files of JSON with a digest of their own bytes; checks: types and ranges of their entries
running     the tasks that are not complete, by a runner (`jeton.runners`); pace: their rate, for `status`
skipping    records that were skipped: files of rejects, and limits
validity    completions that no longer match the plan, and changes of plans
merging     completion files → manifest and report; joins shards
verification  reads everything again; relocation: inputs that have been moved, or are missing
dataset     `open`: memory-mapped documents, or `rows`, of one or several folders (`opened`)
loader      shuffled batches of rows for training, by `order`; `blend`: of several folders in shares
metadata    fields of the records of documents, beside the shards
hashing     parts of the documents by a hash of their bytes
report      totals, by source (`sources`), as JSON, Markdown and a plot (`report_plot`)
making      all steps in one call, also to add inputs or to repair; splitting: in parts by a hash of the documents;
            mixing: a folder for each source of a mix_file, and amounts (mix, mix_exports); scripts: jobs of arrays
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
