"""Job scripts. `tools/slurm_array.py` runs that of Slurm under its daemons."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import jeton


@pytest.fixture
def planned(tok: jeton.Tokenizer, tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("low lower\n" * 500)
    folder = tmp_path / "out of 'all'"
    jeton.shards.plan(tmp_path / "a.txt", folder, tok, documents="line", task_bytes=1000)
    return folder


@pytest.mark.parametrize("version", ["1.33", "1.36"])
def test_the_manifest_has_the_schema_of_kubernetes(version: str, planned: Path) -> None:
    validate = pytest.importorskip("kubernetes_validate")
    manifest: dict[str, Any] = json.loads(
        jeton.shards.kubernetes_manifest(planned, jobs=3, cpus=2, image="jeton:1", claim="data")
    )
    validate.validate(manifest, version, strict=True)
    manifest["spec"]["completionModus"] = "Indexed"  # the schema refuses what it does not know
    with pytest.raises(validate.ValidationError):
        validate.validate(manifest, version, strict=True)


def test_the_manifest_of_a_folder(planned: Path) -> None:
    spec = json.loads(jeton.shards.kubernetes_manifest(planned, jobs=30, cpus=2))["spec"]
    assert (spec["completionMode"], spec["completions"]) == ("Indexed", 5)
    pod = spec["template"]["spec"]
    assert pod["containers"][0]["command"][3] == str(planned)
    assert pod["containers"][0]["volumeMounts"][0]["mountPath"] == str(planned.parent)
    assert pod["volumes"][0]["persistentVolumeClaim"] == {"claimName": "CLAIM"}


def test_the_manifest_of_a_url(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """Its pods need no volume."""
    pytest.importorskip("fsspec")
    (tmp_path / "a.txt").write_text("low lower\n")
    jeton.shards.plan(tmp_path / "a.txt", "memory://scripts/out", tok)
    manifest = json.loads(jeton.shards.kubernetes_manifest("memory://scripts/out"))
    pod = manifest["spec"]["template"]["spec"]
    assert pod["containers"][0]["command"][3] == "memory://scripts/out"
    assert not {"volumes", "volumeMounts"} & {*pod, *pod["containers"][0]}
    assert "jeton shards run memory://scripts/out " in jeton.shards.slurm_script("memory://scripts/out")


def test_the_slurm_script_is_valid_and_quotes_its_folder(planned: Path, tmp_path: Path) -> None:
    """bash runs it with a program that prints its arguments in the place of Jeton."""
    script = jeton.shards.slurm_script(planned, jobs=2, cpus=4)
    assert "#SBATCH --array=0-1\n" in script
    fake = tmp_path / "jeton"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    fake.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_CPUS_PER_TASK": "4"}
    shown = subprocess.run(["bash"], input=script, env=environment, capture_output=True, text=True, check=True).stdout
    assert shown.splitlines() == ["shards", "run", str(planned), "--workers", "4", "--progress", "json"]
