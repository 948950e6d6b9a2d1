#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheels.sh FOLDER: fetches every package of requirements.lock, and the MPI libraries of site local, into FOLDER, checksums verified, with
# `make wheels WHEELS=FOLDER`; a site without internet then installs from it: make setup WHEELS=FOLDER.
# Run it with the site's version of Python and kind of processor (PYTHON names the interpreter).
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-}
[ -n "$folder" ] || { echo "wheels: say where to: make wheels WHEELS=FOLDER" >&2; exit 2; }
python=${PYTHON:-.venv/bin/python}
[ -x "$(command -v "$python")" ] || python=python3
"$python" -m pip download --quiet --disable-pip-version-check --require-hashes \
    --dest "$folder" -r requirements.lock -r assay/onboarding/mpi-wheels.lock
echo "wheels: $(find "$folder" -type f | wc -l) packages, $(du -sh "$folder" | cut -f1), in $folder"
