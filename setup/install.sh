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
    printf '#!/bin/sh\nexit 101\n' >"$policy_dir/policy-rc.d"
    chmod +x "$policy_dir/policy-rc.d"
    POLICYRCD="$policy_dir/policy-rc.d" apt-get -q install -y --no-install-recommends "${missing[@]}"
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
    .venv/bin/pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
    .venv/bin/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
    echo "$wanted" >.venv/installed.sha256
}

policy_dir=$(mktemp -d)
trap 'rm -rf "$policy_dir"' EXIT
install_packages
install_python
"$here/hpl-source.sh"
