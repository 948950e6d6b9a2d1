#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/pictures.sh CHOICE ACCEPTANCE: the pictures of README.md, taken out of two runs: the first of a
# comparison of libraries and that of an acceptance.
set -euo pipefail
usage='docs/pictures.sh CHOICE ACCEPTANCE (two run directories)'
choice=$(realpath "${1:?$usage}") acceptance=$(realpath "${2:?$usage}")
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
.venv/bin/assay report "$choice" --pictures "$folder/choice" >/dev/null
.venv/bin/assay accept "$acceptance" ${CRITERIA:+--criteria "$CRITERIA"} --pictures "$folder/acceptance" >/dev/null ||
    [ $? -ne 2 ] # a verdict is no error
cp "$folder"/choice/00-*.png docs/choice.png
cp "$folder"/acceptance/00-*.png docs/acceptance.png
ls -l docs/choice.png docs/acceptance.png
