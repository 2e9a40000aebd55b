"""Job scripts: a Slurm array, and an indexed Job of Kubernetes. Each job runs its share of the tasks of a folder.

Both can be submitted again: failed tasks are repeated, complete tasks are not.

Sources: Slurm, sbatch(1); Kubernetes, Job, "Indexed Job for parallel processing" and "Backoff limit per index".
"""

from __future__ import annotations

import json
import os
import shlex
from typing import Any

from ..errors import ConfigError, keyword
from ..util.arguments import choice, integer, string, wrong
from .folder import ShardFolder
from .storage import LocalStorage

__all__ = ["kubernetes_manifest", "slurm_script"]

# Exit code 3 is treated as success: records were skipped, which the plan permits; the report lists them.
SKIPPED = "[ $? -eq 3 ]"


def slurm_script(output: str | os.PathLike[str], *, jobs: int = 16, cpus: int = 8, stage: str | None = None) -> str:
    """Returns a script for `sbatch`.

    Args:
        output: a folder with a plan, on a file system that all nodes share, or its URL.
        jobs: size of the array.
        cpus: cores of each job.
        stage: only for a shuffle, whose two stages are separate arrays. Pass ``"spool"`` for the first array. Pass
            ``"shuffle"`` for the second, and submit it with ``--dependency=afterok:JOB``.

    Raises:
        ShardError: the folder has no plan.
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
    where = shlex.quote(folder.storage.absolute())
    after = f"jeton shards merge {where}; jeton shards verify {where}"
    if stage == "spool":
        after = "the array of the stage shuffle: sbatch --dependency=afterok:JOB"
    return f"""#!/bin/bash
# {jobs} jobs, each with its share of the tasks in this folder. To repeat some:  sbatch --array=3,7 SCRIPT
# After all of them:  {after}
#SBATCH --job-name=jeton-{stage or "shards"}
#SBATCH --array=0-{jobs - 1}
#SBATCH --cpus-per-task={integer(cpus, "cpus", 1)}
#SBATCH --requeue
set -euo pipefail
job="$SLURM_ARRAY_TASK_ID/{jobs}"
jeton shards run {where}{f" --stage {stage}" if stage else ""} --job "$job" --workers "$SLURM_CPUS_PER_TASK" \\
    --progress json || {SKIPPED}
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
    """Returns a manifest for `kubectl apply`, in JSON, which is also valid YAML.

    Args:
        output: folder with a plan, given as its path in the pods, or as a URL; with a URL, the pods need no volume.
        jobs: number of indexes of the Job.
        cpus: cores of each pod.
        image: container image with Jeton.
        claim: name of the persistent volume claim with the folder and the inputs.
        mount: path at which the pods mount the volume; None: the parent of the folder.
        stage: only for a shuffle, whose two stages are separate Jobs. Pass ``"spool"`` for the first Job. Pass
            ``"shuffle"`` for the second, and start it when the first is complete.

    Raises:
        ShardError: the folder has no plan.
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
    where = folder.storage.absolute()
    integer(cpus, "cpus", 1)
    options = [*(("--stage", stage) if stage else ()), "--workers", str(cpus)]
    container: dict[str, Any] = {
        "name": "shards",
        "image": string(image, "image"),
        "command": ["sh", "-c", f'jeton shards run "$@" || {SKIPPED}', "jeton", where, *options],
        "env": [{"name": "JOB_COMPLETIONS", "value": str(jobs)}],
        "resources": {"requests": {"cpu": str(cpus)}},
    }
    pod: dict[str, Any] = {"restartPolicy": "Never", "containers": [container]}
    if isinstance(folder.storage, LocalStorage):
        container["volumeMounts"] = [{"name": "data", "mountPath": mount or os.path.dirname(where)}]
        pod["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": string(claim, "claim")}}]
    # Exit code 2 means that the command is wrong: Kubernetes then gives up this index of the Job, because a retry would
    # fail, too. If the failure can be transient (exit code 1), or if the pod is killed, Kubernetes starts a new pod.
    policy = [{"action": "FailIndex", "onExitCodes": {"containerName": "shards", "operator": "In", "values": [2]}}]
    spec = {
        "completionMode": "Indexed",
        "completions": jobs,
        "parallelism": jobs,
        "backoffLimitPerIndex": 3,
        "podFailurePolicy": {"rules": policy},
        "template": {"spec": pod},
    }
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"jeton-{stage or 'shards'}"},
        "spec": spec,
    }
    return json.dumps(manifest, indent=2) + "\n"


def _folder(output: str | os.PathLike[str], jobs: int, stage: str | None) -> tuple[ShardFolder, int]:
    """Returns the folder, and the number of jobs, limited to the number of tasks of the stage."""
    folder = ShardFolder(output)
    if not folder.storage.absolute().isprintable():
        raise wrong("output", folder.storage.absolute(), "a name for a script: it has a line break or the like")
    stages = {known.name: known for known in folder.load_plan().stages}
    if stage is None and len(stages) > 1:
        message = (
            f"a shuffle takes two arrays: pass {keyword('stage', 'spool')} for the first, "
            f"{keyword('stage', 'shuffle')} for the second"
        )
        raise ConfigError(message, option="stage")
    if stage is not None:
        if len(stages) == 1:
            raise ConfigError(
                f"the plan does not shuffle, so it has no stages; leave out {keyword('stage')}", option="stage"
            )
        choice(stage, "stage", tuple(stages))
    chosen = stages[stage] if stage is not None else next(iter(stages.values()))
    return folder, min(integer(jobs, "jobs", 1), max(len(chosen.tasks), 1))
