#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing: Debian packages, the Python environment, HPL's source. Run from the
# project's folder by `make setup`; does nothing when nothing is missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."
python=${PYTHON:-/usr/bin/python3}

missing_packages() {
    sed 's/#.*//' "$here/packages.txt" | while read -r package; do
        [ -z "$package" ] && continue
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' ||
            echo "$package"
    done
}

# Runs a command; what it says is shown only when it fails.
quietly() {
    "$@" >"$scratch/log" 2>&1 || {
        cat "$scratch/log" >&2
        echo "setup: failed: $*" >&2
        exit 4
    }
}

install_packages() {
    local missing
    mapfile -t missing < <(missing_packages)
    [ ${#missing[@]} -eq 0 ] && return
    echo "setup: installing ${missing[*]}"
    if [ "$(id -u)" -ne 0 ]; then
        echo "setup: that needs root. Run: sudo apt-get install ${missing[*]}" >&2
        exit 4
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get -q update
    # Services of these packages are not wanted: the harness starts its own.
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
        our_policy=$policy
    fi
    apt-get -q install -y --no-install-recommends "${missing[@]}"
}

install_python() {
    local wanted
    wanted=$(cat requirements.lock pyproject.toml | sha256sum)
    [ "$(cat .venv/installed.sha256 2>/dev/null)" = "$wanted" ] && return
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
        echo "setup: $python is older than Python 3.11; name another: make setup PYTHON=…" >&2
        exit 4
    }
    echo "setup: making the Python environment .venv with $python"
    rm -rf .venv
    "$python" -m venv .venv
    quietly .venv/bin/pip install --disable-pip-version-check --require-hashes -r requirements.lock
    quietly .venv/bin/pip install --disable-pip-version-check --no-deps --no-build-isolation -e .
    echo "$wanted" >.venv/installed.sha256
}

scratch=$(mktemp -d)
policy=/usr/sbin/policy-rc.d our_policy=
trap 'rm -rf "$scratch"; [ -z "$our_policy" ] || rm -f "$our_policy"' EXIT
install_packages
install_python
"$here/hpl-source.sh"
