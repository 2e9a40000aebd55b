"""Runs the Slurm script of `jeton shards script slurm` under Slurm's own daemons on loopback, and interrupts some jobs.

    apt-get install --no-install-recommends slurm-wlm munge
    python tools/slurm_array.py [--jobs 8] [--megabytes 64]        as root

Starts munged, slurmctld and slurmd with files in a temporary folder. Submits the script, requeues and cancels some jobs
while they run, submits it again, merges and verifies, and compares the shards with those of a run without Slurm, in
threads of this machine. The exit code is 4 if they differ.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import jeton

DIFFERENT = 4
NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "scancel", "squeue")
CONFIG = """
ClusterName=jeton
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={controller}
SlurmdPort={daemon}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_port() -> int:
    """Returns a port of loopback that no process uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def daemon(command: list[str], log: Path, environment: dict[str, str]) -> Iterator[None]:
    """Runs a daemon in the foreground, and stops it at the end."""
    with log.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=file, env=environment) as process:
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def slurm(folder: Path) -> Iterator[dict[str, str]]:
    """Starts a Slurm cluster whose only node is this machine; yields the environment for Slurm's commands."""
    cpus = os.cpu_count() or 1
    host = socket.gethostname().partition(".")[0]
    for name in ("state", "spool"):
        (folder / name).mkdir()
    config = folder / "slurm.conf"
    ports = {"controller": free_port(), "daemon": free_port()}
    config.write_text(CONFIG.format(folder=folder, host=host, cpus=cpus, **ports))
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    environment = {**os.environ, "SLURM_CONF": str(config), "PATH": f"{os.environ['PATH']}:/usr/sbin"}
    munge = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "log", "seed")]
    commands = {
        "munged": ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *munge],
        "slurmctld": ["slurmctld", "-D", "-i", "-f", str(config)],
        "slurmd": ["slurmd", "-D", "-N", host, "-f", str(config)],
    }
    with ExitStack() as stack:
        for name, command in commands.items():
            stack.enter_context(daemon(command, folder / f"{name}.out", environment))
            time.sleep(1)
        until = time.monotonic() + 60
        while "idle" not in output(["sinfo", "--noheader", "--format=%T"], environment):
            if time.monotonic() > until:
                for log in sorted(folder.glob("*.out")) + sorted(folder.glob("*.log")):
                    print(log.name, log.read_text()[-2000:], sep="\n", file=sys.stderr)
                raise SystemExit("the node is not idle after 60 seconds")
            time.sleep(0.5)
        yield environment


def output(command: list[str], environment: dict[str, str]) -> str:
    """Returns the output of a command; empty if it fails."""
    return subprocess.run(command, env=environment, capture_output=True, text=True).stdout


def submit(script: Path, environment: dict[str, str]) -> str:
    """Submits a script; returns the number of its job."""
    command = ["sbatch", "--parsable", f"--output={script.parent}/job-%A-%a.log", str(script)]
    made = subprocess.run(command, env=environment, capture_output=True, text=True)
    if made.returncode:
        raise SystemExit(f"sbatch failed: {made.stderr}")
    return made.stdout.strip()


def states(job: str, environment: dict[str, str]) -> dict[str, str]:
    """Returns array index -> state, for the pending and running jobs."""
    lines = output(["squeue", "--noheader", "--array", "--format=%K %T", f"--jobs={job}"], environment).splitlines()
    return dict(line.split() for line in lines)


def disturb(job: str, rng: random.Random, environment: dict[str, str]) -> tuple[int, int]:
    """Requeues and cancels jobs while they run; returns the numbers of requeued and of canceled jobs."""
    requeued, canceled = set[str](), set[str]()
    while left := states(job, environment):
        running = [index for index, state in left.items() if state == "RUNNING" and index not in requeued | canceled]
        if running:
            index = rng.choice(running)
            if len(requeued) <= len(canceled):
                subprocess.run(["scontrol", "requeue", f"{job}_{index}"], env=environment, capture_output=True)
                requeued.add(index)
            elif len(canceled) < 3:
                subprocess.run(["scancel", "--signal=KILL", f"{job}_{index}"], env=environment, capture_output=True)
                canceled.add(index)
        time.sleep(0.3)
        # A requeued job waits for some time before it can start again.
        for index, state in left.items():
            if state == "PENDING" and index in requeued:
                subprocess.run(
                    ["scontrol", "update", f"jobid={job}_{index}", "StartTime=now"],
                    env=environment,
                    capture_output=True,
                )
    return len(requeued), len(canceled)


def write_corpus(path: Path, num_bytes: int) -> None:
    """Writes rows of pseudorandom words."""
    rng = random.Random(25)  # noqa: S311
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randrange(1, 9))) for _ in range(5000)]
    with path.open("w") as file:
        while file.tell() < num_bytes:
            file.write(json.dumps({"text": " ".join(rng.choices(words, k=rng.randrange(5, 400)))}) + "\n")


def main() -> None:
    """Runs the jobs, and compares the shards."""
    os.environ["SOURCE_DATE_EPOCH"] = "0"  # the date of all manifests, which are compared
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--megabytes", type=int, default=64)
    arguments = parser.parse_args()
    missing = [name for name in NEEDED if not shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")]
    if missing:
        raise SystemExit(f"not installed: {', '.join(missing)}; apt-get install slurm-wlm munge")
    # In /var/tmp, because munged refuses a folder below a directory that only the directory's owner can read.
    with tempfile.TemporaryDirectory(prefix="jeton-slurm-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        write_corpus(folder / "rows.jsonl", arguments.megabytes << 20)
        task_bytes = max((arguments.megabytes << 20) // (4 * arguments.jobs), 1)
        options = {"append_eos": True, "task_bytes": task_bytes}
        tok = jeton.default()
        jeton.shards.make(folder / "rows.jsonl", folder / "local", tok, progress=False, **options)
        plan = jeton.shards.plan(folder / "rows.jsonl", folder / "out", tok, **options)
        script = folder / "job.sh"
        script.write_text(jeton.shards.slurm_script(folder / "out", jobs=arguments.jobs, cpus=1))
        (folder / "slurm").mkdir()
        with slurm(folder / "slurm") as environment:
            environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
            version = output(["sbatch", "--version"], environment).strip()
            rng, submissions, requeued, canceled = random.Random(1), 0, 0, 0  # noqa: S311
            while not jeton.shards.status(folder / "out").is_complete:
                job = submit(script, environment)
                submissions += 1
                if submissions > 5:
                    raise SystemExit("not complete after 5 submissions")
                if submissions == 1:
                    requeued, canceled = disturb(job, rng, environment)
                while states(job, environment):
                    time.sleep(0.3)
                done = jeton.shards.status(folder / "out")
                print(f"submission {submissions}: {done.done} of {done.total} tasks complete")
        jeton.shards.merge(folder / "out")
        found = jeton.shards.verify(folder / "out", progress=False)
        names = [file.name for file in (folder / "local").glob("shard-*")] + ["manifest.json"]
        _, differ, lost = filecmp.cmpfiles(folder / "local", folder / "out", names, shallow=False)
        print(f"{version}: {plan.num_tasks} tasks, {arguments.jobs} jobs, {submissions} submissions,", end=" ")
        print(f"{requeued} requeued, {canceled} killed; verified: {found.is_valid}; {len(differ + lost)} files differ")
        if differ or lost or not found.is_valid:
            raise SystemExit(DIFFERENT)


if __name__ == "__main__":
    main()
