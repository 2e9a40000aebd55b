"""Job scripts. `tools/slurm_array.py` runs that of Slurm under its daemons."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.errors import ConfigError


@pytest.fixture
def planned(tok: jeton.Tokenizer, tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("low lower\n" * 500)
    folder = tmp_path / "out of 'all'"
    jeton.shards.plan(jeton.Corpus(tmp_path / "a.txt", documents="line"), folder, tok, task_bytes=1000)
    return folder


@pytest.mark.parametrize("version", ["1.33", "1.36"])
def test_the_manifest_has_the_schema_of_kubernetes(version: str, planned: Path) -> None:
    validate = pytest.importorskip("kubernetes_validate")
    manifest: dict[str, Any] = json.loads(
        jeton.shards.kubernetes_manifest(planned, jobs=3, cpus=2, image="jeton:1", claim="data")
    )
    validate.validate(manifest, version, strict=True)
    manifest["spec"]["completionModus"] = "Indexed"  # the schema refuses unknown fields
    with pytest.raises(validate.ValidationError):
        validate.validate(manifest, version, strict=True)


def test_the_manifest_mounts_the_folder(planned: Path) -> None:
    spec = json.loads(jeton.shards.kubernetes_manifest(planned, jobs=30, cpus=2))["spec"]
    assert (spec["completionMode"], spec["completions"]) == ("Indexed", 5)  # no more jobs than tasks
    pod = spec["template"]["spec"]
    assert pod["containers"][0]["env"] == [{"name": "JOB_COMPLETIONS", "value": "5"}]
    command = pod["containers"][0]["command"]
    assert command[-3:] == [str(planned), "--workers", "2"]
    assert pod["containers"][0]["volumeMounts"][0]["mountPath"] == str(planned.parent)
    assert pod["volumes"][0]["persistentVolumeClaim"] == {"claimName": "CLAIM"}


def test_the_manifest_of_a_url_needs_no_volume(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """The pods need no volume."""
    pytest.importorskip("fsspec")
    (tmp_path / "a.txt").write_text("low lower\n")
    jeton.shards.plan(tmp_path / "a.txt", "memory://scripts/out", tok)
    manifest = json.loads(jeton.shards.kubernetes_manifest("memory://scripts/out"))
    pod = manifest["spec"]["template"]["spec"]
    assert "memory://scripts/out" in pod["containers"][0]["command"]
    assert not {"volumes", "volumeMounts"} & {*pod, *pod["containers"][0]}
    assert "jeton shards run memory://scripts/out " in jeton.shards.slurm_script("memory://scripts/out")


@pytest.mark.skipif(shutil.which("bash") is None, reason="the scripts are for a shell")
@pytest.mark.parametrize(("code", "expected"), [(0, 0), (3, 0), (1, 1)])
def test_the_scripts_run_in_a_shell(code: int, expected: int, planned: Path, tmp_path: Path) -> None:
    """A program that prints its arguments takes Jeton's place. Skipped records (exit code 3) do not fail a job."""
    fake = tmp_path / "jeton"
    fake.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@"\nexit {code}\n')
    fake.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_CPUS_PER_TASK": "4", "SLURM_ARRAY_TASK_ID": "1"}
    script = jeton.shards.slurm_script(planned, jobs=2, cpus=4)
    assert "#SBATCH --array=0-1\n#SBATCH --cpus-per-task=4\n" in script
    made = subprocess.run(["bash"], input=script, env=environment, capture_output=True, text=True)
    expected_arguments = ["shards", "run", str(planned), "--job", "1/2", "--workers", "4", "--progress", "json"]
    assert (made.returncode, made.stdout.splitlines()) == (expected, expected_arguments)
    spec = json.loads(jeton.shards.kubernetes_manifest(planned, cpus=2))["spec"]
    [container] = spec["template"]["spec"]["containers"]
    made = subprocess.run(container["command"], env=environment, capture_output=True, text=True)
    expected_arguments = ["shards", "run", str(planned), "--workers", "2"]
    assert (made.returncode, made.stdout.splitlines()) == (expected, expected_arguments)


def test_a_folder_with_a_line_break_is_refused(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("low lower\n")
    jeton.shards.plan(tmp_path / "a.txt", tmp_path / "a\nb", tok)
    for script in (jeton.shards.slurm_script, jeton.shards.kubernetes_manifest):
        with pytest.raises(ConfigError, match="line break"):
            script(tmp_path / "a\nb")


@pytest.mark.parametrize("script", [jeton.shards.slurm_script, jeton.shards.kubernetes_manifest])
def test_a_stage_of_a_plan_that_does_not_shuffle_is_refused(script: Any, planned: Path) -> None:
    with pytest.raises(jeton.ConfigError, match="does not shuffle, so it has no stages; leave out stage="):
        script(planned, stage="shuffle")
