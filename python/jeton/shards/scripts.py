"""Job scripts: a Slurm array, and an indexed Job of Kubernetes. Each job runs its share of the tasks of a folder.

Both can be submitted again: complete tasks are not repeated, and what failed is.

Sources: Slurm, sbatch(1); Kubernetes, Job, "Indexed Job for parallel processing" and "Backoff limit per index".
"""

from __future__ import annotations

import json
import os
import shlex

from ..arguments import choice, integer, string
from ..errors import ConfigError
from .folder import ShardFolder

__all__ = ["kubernetes_manifest", "slurm_script"]


def slurm_script(output: str | os.PathLike[str], *, jobs: int = 16, cpus: int = 8, stage: str | None = None) -> str:
    """A script for `sbatch`.

    Args:
        output: a folder with a plan, on a file system that all nodes share.
        jobs: size of the array.
        cpus: cores of each job.
        stage: of a shuffle, which takes two arrays: ``"spool"``, then ``"shuffle"``, with ``--dependency=afterok:JOB``.

    Raises:
        ShardError: there is no plan.
        ConfigError: a shuffle without a stage, or a stage that the plan does not have.

    Examples:
        >>> import jeton, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with open(f"{folder}/a.txt", "w") as file:
        ...     _ = file.write("to be")
        >>> _ = jeton.shards.plan(f"{folder}/a.txt", f"{folder}/out", jeton.default())
        >>> "#SBATCH --array=0-0" in slurm_script(f"{folder}/out")
        True
    """
    folder, jobs = _folder(output, jobs, stage)
    where = shlex.quote(str(folder.path.absolute()))
    after = f"jeton shards merge {where}  &&  jeton shards verify {where}"
    if stage == "spool":
        after = "the array of the stage shuffle: sbatch --dependency=afterok:JOB"
    return f"""#!/bin/bash
# {jobs} jobs, each with its share of the tasks in {folder.path.name}; SLURM_ARRAY_TASK_ID and _COUNT select it.
# After all of them:  {after}
#SBATCH --job-name=jeton-{stage or "shards"}
#SBATCH --array=0-{jobs - 1}
#SBATCH --cpus-per-task={integer(cpus, "cpus", 1)}
#SBATCH --requeue
set -euo pipefail
exec jeton shards run {where}{f" --stage {stage}" if stage else ""} --workers "$SLURM_CPUS_PER_TASK" --progress json
"""


def kubernetes_manifest(
    output: str | os.PathLike[str],
    *,
    jobs: int = 16,
    cpus: int = 8,
    image: str = "IMAGE",
    claim: str = "CLAIM",
    mount: str | None = None,
    stage: str | None = None,
) -> str:
    """A manifest for `kubectl apply`, in JSON, which YAML has as a subset.

    Args:
        output: a folder with a plan, as the pods see it.
        jobs: number of indexes.
        cpus: cores of each pod.
        image: container image with Jeton.
        claim: the persistent volume claim that has the folder and the inputs.
        mount: where pods mount it; None: the parent of the folder.
        stage: of a shuffle, which takes two Jobs: ``"spool"``, then ``"shuffle"``, when the first is complete.

    Raises:
        ShardError: there is no plan.
        ConfigError: a shuffle without a stage, or a stage that the plan does not have.

    Examples:
        >>> import jeton, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with open(f"{folder}/a.txt", "w") as file:
        ...     _ = file.write("to be")
        >>> _ = jeton.shards.plan(f"{folder}/a.txt", f"{folder}/out", jeton.default())
        >>> json.loads(kubernetes_manifest(f"{folder}/out"))["spec"]["completionMode"]
        'Indexed'
    """
    folder, jobs = _folder(output, jobs, stage)
    path = folder.path.absolute()
    integer(cpus, "cpus", 1)
    stage_option = ["--stage", stage] if stage else []
    container = {
        "name": "shards",
        "image": string(image, "image"),
        "command": ["jeton", "shards", "run", str(path), *stage_option, "--workers", str(cpus), "--progress", "json"],
        "env": [{"name": "JOB_COMPLETIONS", "value": str(jobs)}],
        "resources": {"requests": {"cpu": str(cpus)}},
        "volumeMounts": [{"name": "data", "mountPath": mount or str(path.parent)}],
    }
    # Errors in data (1) and usage (2) would only repeat; a pod that is killed is started again.
    policy = [{"action": "FailIndex", "onExitCodes": {"containerName": "shards", "operator": "In", "values": [1, 2]}}]
    spec = {
        "completionMode": "Indexed",
        "completions": jobs,
        "parallelism": jobs,
        "backoffLimitPerIndex": 3,
        "podFailurePolicy": {"rules": policy},
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [container],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": string(claim, "claim")}}],
            }
        },
    }
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"jeton-{stage or 'shards'}"},
        "spec": spec,
    }
    return json.dumps(manifest, indent=2) + "\n"


def _folder(output: str | os.PathLike[str], jobs: int, stage: str | None) -> tuple[ShardFolder, int]:
    """The folder, and the number of jobs: no more than tasks of the stage."""
    folder = ShardFolder(output)
    stages = {known.name: known for known in folder.load_plan().stages}
    if stage is None and len(stages) > 1:
        message = "a shuffle takes two arrays: pass stage='spool' for the first, stage='shuffle' for the second"
        raise ConfigError(message, option="stage")
    if stage is not None:
        choice(stage, "stage", tuple(stages))
    chosen = stages[stage] if stage is not None else next(iter(stages.values()))
    return folder, min(integer(jobs, "jobs", 1), max(len(chosen.tasks), 1))
