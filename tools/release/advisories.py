#!/usr/bin/env python3
"""Looks up advisories for the packages of this environment: ``python tools/release/advisories.py``.

PyPI lists the advisories of a release in the JSON of the release. The advisories come from the Python Packaging
Advisory Database, which `pip-audit` also reads. The exit code is 1 if there is an advisory, or if PyPI does not answer
for a package. If an index has the JSON of the newest release only, older releases cannot be checked. For crates, use
`cargo deny check advisories`.
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.metadata import distributions
from typing import Any

INDEX = "https://pypi.org/pypi"
OWN = ("jeton", "pip", "setuptools", "wheel")  # not checked: Jeton itself, and installers


def main() -> int:
    """Checks all packages; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--index", default=INDEX, help="address of the JSON interface")
    index: str = parser.parse_args().index
    installed = sorted({(one.name.lower(), one.version) for one in distributions() if one.name.lower() not in OWN})
    findings = [f"{name} {version}: {text}" for name, version in installed for text in check(index, name, version)]
    print("\n".join([*findings, f"{len(installed)} packages, {len(findings)} findings"]))
    return bool(findings)


def check(index: str, name: str, version: str) -> Iterator[str]:
    """Yields the advisories of a release, or the reason why they are unknown."""
    found = get(f"{index}/{name}/{version}/json") or get(f"{index}/{name}/json")
    if found is None or found["info"]["version"] != version:
        yield f"not checked: {index} has {found['info']['version'] if found else 'nothing'}"
        return
    for advisory in found["vulnerabilities"]:
        if not advisory.get("withdrawn"):
            fixed = ", ".join(advisory["fixed_in"]) or "no version"
            yield f"{advisory['id']}, fixed in {fixed}: {advisory.get('summary') or advisory.get('link') or ''}"


def get(address: str) -> dict[str, Any] | None:
    """Returns the JSON at an address; None if the address does not exist (404)."""
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310 - the address of an index
            content: dict[str, Any] = json.load(answer)
            return content
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise


if __name__ == "__main__":
    sys.exit(main())
