#!/usr/bin/env python3
"""Signs and uploads the distributions of a release; the workflow `release` runs it when a tag is pushed.

``--check-only`` checks that `dist/` has the source distribution and one wheel for each platform, and that the version
of each file is the version in the tag. Without this option, each file is signed (Sigstore, with the identity of the
workflow) and uploaded with its attestation by trusted publishing. This works only on GitHub Actions, because no token
is used.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from wheel import PLATFORMS, ROOT

# Platform -> its tag in the file name of a wheel.
TAGS = {
    "manylinux-x86_64": "manylinux_2_17_x86_64",
    "manylinux-aarch64": "manylinux_2_17_aarch64",
    "musllinux-x86_64": "musllinux_1_2_x86_64",
    "musllinux-aarch64": "musllinux_1_2_aarch64",
    "macos-x86_64": "macosx_10_12_x86_64",
    "macos-aarch64": "macosx_11_0_arm64",
    "windows-x86_64": "win_amd64",
    "windows-aarch64": "win_arm64",
}


def main() -> int:
    """Checks, signs and uploads; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--check-only", action="store_true")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="folder of the distributions")
    parser.add_argument("--tag", default=os.environ.get("GITHUB_REF_NAME", ""), help="tag of the release, as v0.1.0")
    options = parser.parse_args()
    files = sorted(path for path in options.dist.iterdir() if path.suffix in (".whl", ".gz"))
    findings = check([path.name for path in files], options.tag)
    print("\n".join([*findings, f"{len(files)} files, {len(findings)} findings"]))
    if findings or options.check_only:
        return int(bool(findings))
    names = [str(path) for path in files]
    subprocess.run([sys.executable, "-m", "pypi_attestations", "sign", *names], check=True)
    attestations = [f"{name}.publish.attestation" for name in names]
    upload = [sys.executable, "-m", "twine", "upload", "--non-interactive", "--attestations", *names, *attestations]
    return subprocess.run(upload, check=False).returncode


def check(names: list[str], tag: str) -> list[str]:
    """Returns the missing, unexpected and wrongly versioned files."""
    if not tag.startswith("v"):
        return [f"the tag is {tag!r}, expected v and a version"]
    version = tag.removeprefix("v")
    expected = {f"jeton-{version}.tar.gz"}
    for platform in PLATFORMS:
        found = [name for name in names if TAGS[platform] in name]
        wheel = f"jeton-{version}-cp311-abi3-"
        if len(found) == 1 and found[0].startswith(wheel):
            expected.add(found[0])
        else:
            expected.add(f"{wheel}…{TAGS[platform]}….whl")
    missing = [f"missing: {name}" for name in sorted(expected - set(names))]
    return missing + [f"unexpected: {name}" for name in sorted(set(names) - expected)]


if __name__ == "__main__":
    sys.exit(main())
