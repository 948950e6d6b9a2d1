#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the Python environment .venv from requirements.lock, with `make setup`; does nothing when it
# is complete. Compiles what `assay vet` measures with, where there is a C compiler: nodes may have
# none, and jobs may not write here. Installs nothing else, needs no root. PYTHON names the interpreter (3.11 or newer),
# WHEELS a folder of packages that was carried over, for a machine without internet.
set -euo pipefail
cd "$(dirname "$0")/.."

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# The system's interpreter first: hosts of a virtual cluster have it anyhow.
find_python() {
    local candidate
    for candidate in /usr/bin/python3 python3 python3.{14,13,12,11} /usr/bin/python3.{14,13,12,11}; do
        is_new_enough "$candidate" && command -v "$candidate" && return
    done
    echo "setup: no Python 3.11 or newer is on PATH. Load it as a module (module avail python), bring one" \
        "without root (uv python install 3.12; conda create -n py python=3.12), and name it: make setup" \
        "PYTHON=/path/python3" >&2
    exit 4
}

# Runs a command; what it says is shown only when it fails.
quietly() {
    "$@" >"$log" 2>&1 || {
        cat "$log" >&2
        echo "setup: failed: $*" >&2
        [ -n "${WHEELS:-}" ] || echo "setup: without internet, carry the packages over and say" \
            "make setup WHEELS=FOLDER: docs/sites.md, \"Without internet\"" >&2
        exit 4
    }
}

# Unless it is current, or assay vet is not there. That it cannot be made is no error: assay vet names
# what it needs.
measuring_program() {
    [ ! -d plugins/vetting ] || .venv/bin/python -c '
from contextlib import suppress
from plugins.vetting.local import StepError, build_program
with suppress(StepError): build_program()'
}

python=${PYTHON:-$(find_python)}
is_new_enough "$python" || {
    echo "setup: $python is no Python 3.11 or newer; name another: make setup PYTHON=…" >&2
    exit 4
}
wanted=$(cat requirements.lock pyproject.toml | sha256sum)
[ "$(cat .venv/installed.sha256 2>/dev/null)" = "$wanted" ] && {
    measuring_program
    exit 0
}
from=()
if [ -n "${WHEELS:-}" ]; then
    [ -d "$WHEELS" ] || { echo "setup: WHEELS=$WHEELS is no folder" >&2; exit 2; }
    from=(--no-index --find-links "$WHEELS")
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "setup: making the Python environment .venv with $python"
rm -rf .venv
pip=(.venv/bin/pip)
# Where Python has no pip of its own (Debian and Ubuntu have it in python3-venv), an image of the virtual
# cluster has one.
"$python" -m venv .venv >"$log" 2>&1 || {
    rm -rf .venv
    if ! { "$python" -m venv --without-pip .venv &&
        PYTHONPATH=. "$python" -P virtual_cluster/image_command.py get | tee "$log"; }; then
        echo "setup: $python cannot make an environment (on Debian and Ubuntu that is the package" \
            "python3-venv); name another: make setup PYTHON=…" >&2
        exit 4
    fi
    wheels=("$(sed -n '$s/^image [^:]*: //p' "$log")"/usr/share/python-wheels/pip-*.whl)
    pip=(.venv/bin/python "${wheels[0]}/pip")
}
pip+=(install --disable-pip-version-check)
# Site `local` may take an MPI library from PyPI by it.
[ -x .venv/bin/pip ] || quietly "${pip[@]}" --no-index --no-deps "${wheels[0]}"
# Compiled afterwards, on all cores.
quietly "${pip[@]}" "${from[@]}" --no-compile --no-deps --require-hashes -r requirements.lock
.venv/bin/python -m compileall -q -j 0 .venv/lib >"$log" 2>&1 || true # a package may have files of another Python
quietly "${pip[@]}" --no-index --no-deps --no-build-isolation -e .
echo "$wanted" >.venv/installed.sha256
measuring_program
